/* SPDX-License-Identifier: Apache-2.0 */
/* The verb run: it makes the settings, raises the limit, and becomes the command. */
#include "run/run.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/context.h"
#include "cli/flow.h"
#include "cli/option.h"
#include "cli/options.h"
#include "cli/say.h"
#include "findings/pod.h"
#include "nccl_init/base.h"
#include "nccl_init/errno.h"
#include "nccl_init/findings.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "plan/report.h"
#include "preflight/preflight.h"
#include "print/words.h"
#include "rules/init_process.h"
#include "rules/require.h"
#include "selftest/selftest.h"
#include "selftest/trials.h"
#include "snapshot/snapshot.h"
#include "system/caps.h"
#include "system/exec.h"

/* ---- options ---- */

enum { DEMAND = NI_OPTION_DEMAND, A_FILE = NI_OPTION_FILE };

static const struct ni_option demand_options[] = {
    {
        .name = "selftest",
        .group = NI_GROUP_DEMANDS,
        .verbs = NI_VERB_RUN,
        .traits = DEMAND,
        .arg = "off|warn|require",
        .initial = "off",
        .take = ni_take_word,
        .at = offsetof(struct ni_options, policy.selftest),
        .help = "test each port first; require: short for --require=selftest",
    },
    {
        .name = "preflight",
        .group = NI_GROUP_DEMANDS,
        .verbs = NI_VERB_RUN,
        .traits = DEMAND,
        .arg = "off|warn|require",
        .initial = "off",
        .take = ni_take_word,
        .at = offsetof(struct ni_options, policy.preflight),
        .help = "test the rails between all pods first; require: short for --require=preflight",
    },
};
const struct ni_option_rows ni_demand_rows = {
    demand_options,
    NI_COUNT(demand_options),
    NULL,
    0,
};

struct ni_run_options ni_run_options;

static const struct ni_option run_options[] = {
    {
        .name = "snapshot-on-refusal",
        .group = NI_GROUP_DEMANDS,
        .verbs = NI_VERB_RUN,
        .traits = A_FILE,
        .arg = "FILE",
        .take = ni_take_path,
        .at = offsetof(struct ni_run_options, refusal_snapshot),
        .help = "if the command is not started, record the node in FILE, as `snapshot --mask` "
                "does",
    },
};
const struct ni_option_rows ni_run_rows = {
    run_options,
    NI_COUNT(run_options),
    &ni_run_options,
    sizeof(ni_run_options),
};

void ni_say_plan(struct ni_context *ctx)
{
    const struct ni_view view = ni_flow_view(ctx);
    char buf[NI_MESSAGE];
    struct ni_text summary = ni_text_on(buf, sizeof(buf));

    ni_put_summary(&summary, &view, ctx->acts ? &ctx->memlock : NULL);
    ni_say(ctx, NI_LOG_INFO, "%s", buf);
    for (unsigned i = 0; i < ctx->plan.n_setting; i++) {
        const struct ni_setting *s = &ctx->plan.setting[i];

        ni_say(ctx, NI_LOG_DEBUG, "%s=%s (%s): %s", s->name,
               s->origin == NI_LEFT_UNSET ? "<unset>" : s->value, s->rule, s->reason);
    }
}

bool ni_has_rule_settings(const struct ni_plan *plan)
{
    for (unsigned i = 0; i < plan->n_setting; i++) {
        if (plan->setting[i].origin == NI_FROM_RULE)
            return true;
    }
    return false;
}

/* Says why a demand or --strict stops the command; NULL: neither does. preflight: how it ended;
   NI_JOB_UNTOLD: it was not done yet, or is not asked for. */
static const char *refusal_of(const struct ni_context *ctx, enum ni_outcome preflight)
{
    if (ctx->plan.refuse)
        return ctx->plan.refuse_why;
    if (!ctx->options.strict)
        return NULL;
    if (preflight == NI_JOB_BAD)
        return "--strict, and the preflight is bad";
    return ni_exit_status(ctx) != 0 ? "--strict, and there are warnings or errors" : NULL;
}

/* Starts the command with the settings. If memory or the kernel's bound on arguments and
   environment prevents that, it starts without them, unless something is demanded. Returns only if
   the command was not started: an exit status, or 0 and *refusal says why. */
static int start(struct ni_context *ctx, const char **refusal)
{
    static const char no_room[] = "the environment of the command has no room for the settings";
    char reason[2048];
    struct ni_text why = ni_text_on(reason, sizeof(reason)), lost = NI_TEXT(128);
    char *const *envp = ni_command_env(&ctx->own, &ctx->plan);
    bool too_big = false;
    int status = 0;

    if (envp)
        status = ni_exec(ctx->operands, envp, &why, &too_big);
    if (!envp || (too_big && ni_has_rule_settings(&ctx->plan))) {
        ni_putf(&lost, "%s (%s)", no_room, ni_errno_name(envp ? E2BIG : ENOMEM));
        ni_report(&ctx->findings, NI_F_EXEC_NO_ROOM, ctx->operands[0], "%s", lost.buf);
        ni_refuse_demand(&ctx->work, ~0U, lost.buf);
        *refusal = refusal_of(ctx, NI_JOB_UNTOLD);
        ni_say_findings(ctx);
        if (*refusal)
            return 0;
        envp = ni_command_env(&ctx->own, NULL);
        why = ni_text_on(reason, sizeof(reason));
        status = ni_exec(ctx->operands, envp ? envp : ctx->own.entry, &why, &too_big);
    }
    (void)ni_refuse(ctx, why.buf, NI_LEAVE_REASON);
    return status;
}

int ni_cmd_run(struct ni_context *ctx)
{
    const struct ni_policy *policy = &ctx->options.policy;
    const bool off = policy->mode == NI_MODE_OFF;
    const struct ni_trials *trials = NULL;
    enum ni_outcome preflight = NI_JOB_UNTOLD;
    const char *refusal = NULL;

    if (!*ctx->operands)
        return ni_usage(ctx, "no command: nccl-init run [OPTION...] -- COMMAND [ARG...]");
    ctx->acts = true;
    int r = ni_flow(ctx); /* facts that cannot be read become findings */
    if (r != 0)
        return r;
    ni_note_init(&ctx->work);
    if (policy->require != 0)
        ni_require_memlock(&ctx->work, ctx->memlock, ni_command_has_cap(CAP_IPC_LOCK));
    if (!ctx->plan.refuse && !off)
        ni_say_plan(ctx);
    if (!ctx->plan.refuse)
        trials =
            ni_selftest_first(ctx); /* with limits and capabilities as the command will have them */
    ni_say_findings(ctx);
    refusal = refusal_of(ctx, NI_JOB_UNTOLD);
    if (!refusal && policy->preflight != NI_DEMAND_OFF)
        preflight = ni_preflight_first(ctx, trials);
    /* a demand that the preflight does not meet has refused the command already */
    const bool refused = preflight == NI_JOB_BAD && policy->preflight == NI_DEMAND_REQUIRE;
    if (preflight == NI_JOB_BAD && !refused)
        refusal = refusal_of(ctx, preflight);
    if (!refusal && !refused) {
        r = start(ctx, &refusal);
        if (!refusal)
            return r;
    }
    if (refusal)
        (void)ni_refuse(ctx, refusal, NI_LEAVE_FINDINGS);
    ni_leave_snapshot(ctx, ni_run_options.refusal_snapshot);
    return NI_EXIT_REFUSED;
}
