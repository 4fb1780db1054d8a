/* SPDX-License-Identifier: Apache-2.0 */
/* selftest: whether each port does what the job will ask of it. Also before the command, for `run
   --selftest`. */
#include "nccl_init/act.h"
#include "nccl_init/cmd.h"
#include "nccl_init/decide.h"

#include <string.h>

/* 0, or -errno and a finding; nothing to try is one, too. */
static int try_all(struct ni_context *ctx)
{
    const struct ni_work work = ni_flow_work(ctx);
    int r = ni_try_ports(ctx, false);

    if (r == 0 && ctx->trials->n == 0 && ni_wants_trials(&work))
        ni_report(&ctx->findings, NI_F_VERBS_NONE, "self-test", "there is no port to try");
    return r;
}

int ni_cmd_selftest(struct ni_context *ctx, char *const operands[])
{
    int r;

    (void)operands;
    r = ni_flow_as_command(ctx);
    if (r != 0)
        return r;
    if (try_all(ctx) != 0) {
        ni_say_findings(ctx);
        return NI_EXIT_FAILED;
    }
    r = ni_print_view(ctx, ctx->options.json ? ni_put_selftest_json : ni_put_selftest);
    return r != 0 ? r : ni_verdict(ctx);
}

/* What speaks against starting the command; "" for nothing. */
static void put_failure(const struct ni_trials *trials, struct ni_text *why)
{
    const unsigned tried = ni_trials_tried(trials), failed = tried - ni_trials_passed(trials);

    if (trials->n == 0)
        ni_put(why, "there is no port to try");
    else if (failed == 0 && tried < trials->n)
        ni_putf(why, "%u of %u ports could not be tried: nccl-init has no provider for them",
                trials->n - tried, trials->n);
    for (unsigned i = 0; failed > 0 && i < trials->n; i++) {
        const struct ni_trial *it = &trials->at[i];

        if (ni_trial_passed(it) || it->untried)
            continue;
        ni_putf(why, "%u of %u ports failed: %s/%u in step `%s`", failed, tried, it->hca, it->port,
                ni_step_text(it->step));
        return;
    }
}

bool ni_selftest_passes(struct ni_context *ctx, struct ni_text *why)
{
    if (try_all(ctx) != 0)
        ni_put(why, "no self-test could be made");
    else
        put_failure(ctx->trials, why);
    return why->len == 0;
}

bool ni_selftest_allows(struct ni_context *ctx, struct ni_text *why)
{
    const struct ni_work work = ni_flow_work(ctx);
    char buf[NI_REASON];
    struct ni_text failure = ni_text_on(buf, sizeof(buf));

    if (ctx->options.selftest == NI_SELFTEST_OFF || !ni_wants_trials(&work))
        return true;
    (void)ni_selftest_passes(ctx, &failure);
    if (ctx->trials && ctx->trials->n > 0)
        ni_say(ctx, failure.len == 0 ? NI_LOG_INFO : NI_LOG_WARN,
               "self-test: %u of %u ports passed in %lld ms", ni_trials_passed(ctx->trials),
               ctx->trials->n, (long long)ctx->trials->took_ms);
    ni_putf(why, "not started: --selftest=require, and %s", buf);
    return failure.len == 0 || ctx->options.selftest != NI_SELFTEST_REQUIRE;
}
