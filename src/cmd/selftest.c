/* SPDX-License-Identifier: Apache-2.0 */
/* selftest: whether each port does what the job will ask of it. Also before the command, for `run
   --selftest`. */
#include "nccl_init/act.h"
#include "nccl_init/cmd.h"
#include "nccl_init/decide.h"

#include <string.h>

static void plan_trials(const struct ni_context *ctx, struct ni_trials *ret)
{
    const struct ni_facts facts = {&ctx->inventory, &ctx->env, &ctx->options.policy};

    ni_plan_trials(&facts, &ctx->plan, ret);
}

static int write_selftest(int fd, void *arg)
{
    const struct ni_context *ctx = arg;
    const struct ni_view view = ni_flow_view(ctx);

    return ctx->options.json ? ni_write_selftest_json(fd, &view) : ni_write_selftest(fd, &view);
}

int ni_cmd_selftest(struct ni_context *ctx, char *const operands[])
{
    int64_t soft, hard;
    int r;

    (void)operands;
    if (strcmp(ctx->options.root, "/") != 0)
        return ni_usage(ctx, "`selftest` uses the devices of this machine; a recorded node has "
                             "none: nccl-init doctor --root=PATH");
    r = ni_flow_open(ctx);
    if (r != 0)
        return r;
    ni_flow_decide(ctx);
    ni_flow_close(ctx);
    /* What a command started by `run` would have. */
    ni_memlock_raise(&ctx->plan, &soft, &hard, &ctx->findings);
    ni_caps_apply(&ctx->plan.caps, &ctx->findings);
    if (ni_try_ports(ctx, plan_trials) != 0) {
        ni_say_findings(ctx);
        return NI_EXIT_FAILED;
    }
    if (ni_output(ctx, write_selftest, ctx) != 0)
        return NI_EXIT_FAILED;
    return ni_verdict(ctx);
}

/* The first that failed; "": none did. */
static void say_failed(const struct ni_trials *trials, struct ni_text *t)
{
    for (unsigned i = 0; i < trials->n; i++) {
        const struct ni_trial *it = &trials->at[i];

        if (ni_trial_passed(it))
            continue;
        ni_putf(t, ": %s/%u in step `%s`", it->hca, it->port, ni_step_text(it->step));
        return;
    }
}

bool ni_selftest_allows(struct ni_context *ctx, struct ni_text *why)
{
    const struct ni_facts facts = {&ctx->inventory, &ctx->env, &ctx->options.policy};
    const bool demanded = ctx->options.selftest == NI_SELFTEST_REQUIRE;
    bool good = false;

    if (ctx->options.selftest == NI_SELFTEST_OFF || !ni_wants_trials(&facts, &ctx->plan))
        return true;
    if (ni_try_ports(ctx, plan_trials) != 0) {
        ni_put(why, "not started: --selftest=require, and no self-test could be made");
    } else if (ctx->trials->n == 0) {
        ni_put(why, "not started: --selftest=require, and there is no port to try");
        ni_say(ctx, NI_LOG_INFO, "self-test: no port to try");
    } else {
        unsigned passed = ni_trials_passed(ctx->trials);

        good = passed == ctx->trials->n;
        ni_say(ctx, good ? NI_LOG_INFO : NI_LOG_WARN, "self-test: %u of %u ports passed in %lld ms",
               passed, ctx->trials->n, (long long)ctx->trials->took_ms);
        ni_putf(why, "not started: --selftest=require, and %u of %u ports failed",
                ctx->trials->n - passed, ctx->trials->n);
        say_failed(ctx->trials, why);
    }
    ni_forget_trials(ctx);
    return good || !demanded;
}
