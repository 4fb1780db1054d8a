/* SPDX-License-Identifier: Apache-2.0 */
/* run: the settings, the limit, then the command instead of us. */
#include "nccl_init/act.h"
#include "nccl_init/cmd.h"
#include "nccl_init/decide.h"

#include <string.h>
#include <unistd.h>

static void say_plan(struct ni_context *ctx, int64_t memlock)
{
    const struct ni_view view = ni_flow_view(ctx);
    char buf[NI_SUMMARY];
    struct ni_text summary = ni_text_on(buf, sizeof(buf));

    ni_put_summary(&summary, &view, memlock);
    ni_say_summary(ctx, buf);
    for (unsigned i = 0; i < ctx->plan.n_setting; i++) {
        const struct ni_setting *s = &ctx->plan.setting[i];

        ni_say(ctx, NI_LOG_DEBUG, "%s=%s (%s): %s", s->name,
               s->origin == NI_LEFT_UNSET ? "<unset>" : s->value, s->rule, s->reason);
    }
}

static int start(struct ni_context *ctx, char *const argv[])
{
    char buf[2048];
    struct ni_text why = ni_text_on(buf, sizeof(buf));
    char *const *envp = ni_command_env(&ctx->own, &ctx->plan);
    int status;

    if (!envp) {
        ni_say(ctx, NI_LOG_WARN, "no memory for the settings: the command starts without them");
        envp = ctx->own.entry;
    }
    status = ni_exec(argv, envp, &why);
    ni_last_words(ctx, buf, false);
    return status;
}

int ni_cmd_run(struct ni_context *ctx, char *const operands[])
{
    const struct ni_policy *policy = &ctx->options.policy;
    const struct ni_work work = ni_flow_work(ctx);
    const bool off = policy->mode == NI_MODE_OFF;
    char buf[NI_REASON];
    struct ni_text why = ni_text_on(buf, sizeof(buf));
    const char *refusal = NULL;
    int64_t memlock = -1;

    if (strcmp(ctx->options.root, "/") != 0)
        return ni_usage(ctx, "`run` acts on this machine only; to see what it would do there: "
                             "nccl-init plan --root=PATH");
    if (!operands[0])
        return ni_usage(ctx, "no command: nccl-init run [OPTION...] -- COMMAND [ARG...]");
    if (!off)
        (void)ni_flow_open(ctx); /* what fails is a finding */
    ni_flow_decide(ctx);
    if (!off) {
        ni_note_pid1(&work);
        ni_flow_close(ctx);
        memlock = ni_memlock_raise(&ctx->plan, &ctx->findings);
    }
    ni_caps_apply(&ctx->plan.caps, &ctx->findings);
    if (policy->require != 0 || policy->mode == NI_MODE_RDMA)
        ni_require_memlock(&work, memlock, ni_command_has_cap(NI_CAP_IPC_LOCK));
    if (ctx->plan.refuse) {
        refusal = ctx->plan.refuse_why;
    } else {
        if (!off)
            say_plan(ctx, memlock);
        /* with limits and capabilities as the command will have them */
        if (!ni_selftest_allows(ctx, &why))
            refusal = buf;
    }
    ni_say_findings(ctx);
    if (!refusal && ctx->options.strict && ni_verdict(ctx) != 0)
        refusal = "not started: --strict, and there are warnings or errors";
    if (refusal)
        ni_last_words(ctx, refusal, true);
    else if (ctx->options.preflight == NI_PREFLIGHT_OFF || ni_preflight_allows(ctx))
        return start(ctx, operands);
    ni_leave_snapshot(ctx);
    return NI_EXIT_REFUSED;
}
