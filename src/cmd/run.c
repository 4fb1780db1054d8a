/* SPDX-License-Identifier: Apache-2.0 */
/* run: the settings, the limit, then the command instead of us. */
#include "nccl_init/act.h"
#include "nccl_init/cmd.h"
#include "nccl_init/decide.h"

#include <string.h>
#include <unistd.h>

enum { WHY = 2048 };

static int refuse(struct ni_context *ctx, const char *line)
{
    ni_last_words(ctx, line, true);
    ni_leave_snapshot(ctx);
    return NI_EXIT_REFUSED;
}

static void say_settings(struct ni_context *ctx)
{
    for (unsigned i = 0; i < ctx->plan.n_setting; i++) {
        const struct ni_setting *s = &ctx->plan.setting[i];

        ni_say(ctx, NI_LOG_DEBUG, "%s=%s (%s): %s", s->name,
               s->origin == NI_LEFT_UNSET ? "<unset>" : s->value, s->rule, s->reason);
    }
}

/* Facts and decisions. 0 or an exit status. */
static int look(struct ni_context *ctx, const struct ni_facts *facts)
{
    int r = ni_flow_open(ctx);

    if (r != 0)
        return r;
    ni_flow_decide(ctx);
    ni_note_pid1(facts, &ctx->findings);
    ni_flow_close(ctx);
    return 0;
}

static void say_summary(struct ni_context *ctx, int64_t memlock)
{
    const struct ni_view view = ni_flow_view(ctx);

    if (ctx->options.log_level >= NI_LOG_INFO && ni_stderr_ready(ctx))
        (void)ni_write_summary(STDERR_FILENO, &view, memlock,
                               ctx->options.log_format == NI_LOG_JSON);
    say_settings(ctx);
}

/* --selftest, with limits and capabilities as the command will have them. 0 or an exit status. */
static int try_ports(struct ni_context *ctx)
{
    char buf[NI_REASON];
    struct ni_text why = ni_text_on(buf, sizeof(buf));

    if (ni_selftest_allows(ctx, &why))
        return 0;
    ni_say_findings(ctx);
    return refuse(ctx, buf);
}

/* The plan, put into force as far as it concerns this process. 0 or an exit status. */
static int prepare(struct ni_context *ctx)
{
    const struct ni_facts facts = {&ctx->inventory, &ctx->env, &ctx->options.policy};
    const bool off = ctx->options.policy.mode == NI_MODE_OFF;
    int64_t soft = -1, hard;

    if (off) {
        ni_flow_decide(ctx);
    } else {
        int r = look(ctx, &facts);

        if (r != 0)
            return r;
        ni_memlock_raise(&ctx->plan, &soft, &hard, &ctx->findings);
    }
    ni_caps_apply(&ctx->plan.caps, &ctx->findings);
    if (ctx->options.policy.require != 0 || ctx->options.policy.mode == NI_MODE_RDMA)
        ni_require_memlock(&facts, &ctx->plan, soft, ni_command_has_cap(NI_CAP_IPC_LOCK),
                           &ctx->findings);
    if (ctx->plan.refuse) {
        ni_say_findings(ctx);
        return refuse(ctx, ctx->plan.refuse_why);
    }
    if (!off)
        say_summary(ctx, soft);
    return try_ports(ctx);
}

static int start(struct ni_context *ctx, char *const argv[])
{
    char buf[WHY];
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
    int r;

    if (strcmp(ctx->options.root, "/") != 0)
        return ni_usage(ctx, "`run` acts on this machine only; to see what it would do there: "
                             "nccl-init plan --root=PATH");
    if (!operands[0])
        return ni_usage(ctx, "no command: nccl-init run [OPTION...] -- COMMAND [ARG...]");
    r = prepare(ctx);
    if (r != 0)
        return r;
    ni_say_findings(ctx);
    if (ctx->options.strict && (ni_findings_count(&ctx->findings, NI_WARNING) > 0 ||
                                ni_findings_count(&ctx->findings, NI_ERROR) > 0))
        return refuse(ctx, "not started: --strict, and there are warnings or errors");
    return start(ctx, operands);
}
