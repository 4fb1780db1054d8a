/* SPDX-License-Identifier: Apache-2.0 */
/* run: the settings, the limit, then the command instead of us. */
#include "nccl_init/act.h"
#include "nccl_init/cmd.h"
#include "nccl_init/decide.h"

#include <string.h>
#include <unistd.h>

static void say_plan(struct ni_context *ctx)
{
    const struct ni_view view = ni_flow_view(ctx);
    char buf[NI_MESSAGE];
    struct ni_text summary = ni_text_on(buf, sizeof(buf));

    ni_put_summary(&summary, &view, ctx->memlock);
    ni_say(ctx, NI_LOG_INFO, "%s", buf);
    for (unsigned i = 0; i < ctx->plan.n_setting; i++) {
        const struct ni_setting *s = &ctx->plan.setting[i];

        ni_say(ctx, NI_LOG_DEBUG, "%s=%s (%s): %s", s->name,
               s->origin == NI_LEFT_UNSET ? "<unset>" : s->value, s->rule, s->reason);
    }
}

static int start(struct ni_context *ctx)
{
    struct ni_text why = NI_TEXT(2048);
    char *const *envp = ni_command_env(&ctx->own, &ctx->plan);
    int status;

    if (!envp) {
        ni_say(ctx, NI_LOG_WARN, "no memory for the settings: the command starts without them");
        envp = ctx->own.entry;
    }
    status = ni_exec(ctx->operands, envp, &why);
    ni_last_words(ctx, why.buf, false);
    return status;
}

int ni_cmd_run(struct ni_context *ctx)
{
    const struct ni_policy *policy = &ctx->options.policy;
    const bool off = policy->mode == NI_MODE_OFF;
    const char *refusal = NULL;

    if (!*ctx->operands)
        return ni_usage(ctx, "no command: nccl-init run [OPTION...] -- COMMAND [ARG...]");
    int r = ni_flow(ctx); /* what cannot be read is a finding */
    if (r != 0)
        return r;
    ni_note_init(&ctx->work);
    if (policy->require != 0)
        ni_require_memlock(&ctx->work, ctx->memlock, ni_command_has_cap(CAP_IPC_LOCK));
    if (!ctx->plan.refuse && !off)
        say_plan(ctx);
    if (!ctx->plan.refuse)
        ni_selftest_first(ctx); /* with limits and capabilities as the command will have them */
    ni_say_findings(ctx);
    if (ctx->plan.refuse)
        refusal = ctx->plan.refuse_why;
    else if (ctx->options.strict && ni_verdict(ctx) != 0)
        refusal = "not started: --strict, and there are warnings or errors";
    if (refusal)
        ni_last_words(ctx, refusal, true);
    else if (ctx->options.preflight == NI_DEMAND_OFF || ni_preflight_allows(ctx))
        return start(ctx);
    ni_leave_snapshot(ctx);
    return NI_EXIT_REFUSED;
}
