/* SPDX-License-Identifier: Apache-2.0 */
/* The way from a plan to trials that ended: for selftest, run --selftest and doctor --probe. */
#include "nccl_init/act.h"
#include "nccl_init/cmd.h"
#include "nccl_init/decide.h"

#include <errno.h>

#if NI_HAVE_VERBS
#include "nccl_init/verbs.h"

/* What the hooks get. */
struct watch {
    struct ni_context *ctx;
    struct ni_wait wait;
};

/* Capabilities count as they will in the command: what this program alone has by file capabilities
   ends with it. */
static void as_the_command(void *arg)
{
    ni_wait_unblock(&((struct watch *)arg)->wait);
    (void)ni_cap_switch(NI_CAP_IPC_LOCK, ni_command_has_cap(NI_CAP_IPC_LOCK));
}

/* "self-test: 2 of 4 ports done; mlx5_6/1: register" */
static void show_progress(const struct ni_trials *trials, void *arg)
{
    const struct ni_trial *slowest = NULL;
    unsigned done = 0;
    char buf[160];
    struct ni_text t = ni_text_on(buf, sizeof(buf));

    for (unsigned i = 0; i < trials->n; i++) {
        const struct ni_trial *it = &trials->at[i];

        if (it->end != NI_TRIAL_RUNNING)
            done++;
        else if (!slowest || it->step < slowest->step)
            slowest = it;
    }
    ni_putf(&t, "%s: %u of %u done", trials->probe ? "probe" : "self-test", done, trials->n);
    if (slowest)
        ni_putf(&t, "; %s/%u: %s", slowest->hca, slowest->port, ni_step_text(slowest->step));
    ni_say_progress(((struct watch *)arg)->ctx, buf);
}

static bool nap(int64_t ms, void *arg)
{
    return ni_wait_ms(&((struct watch *)arg)->wait, ms);
}

int ni_try_ports(struct ni_context *ctx,
                 void (*plan)(const struct ni_context *ctx, struct ni_trials *ret))
{
    const struct ni_facts facts = {&ctx->inventory, &ctx->env, &ctx->options.policy};
    struct watch watch = {.ctx = ctx};
    const struct ni_trial_hooks hooks = {as_the_command, show_progress, nap, &watch};

    ctx->trials = ni_trials_map();
    if (!ctx->trials) {
        int err = errno;

        ni_report(&ctx->findings, NI_F_VERBS_PROCESS, "self-test", "no shared memory: %s",
                  ni_errno_text(err));
        return -err;
    }
    ctx->trials->size = ctx->options.size;
    ctx->trials->bytes = ctx->options.bytes;
    ctx->trials->limit_ms = (int64_t)ctx->options.deadline * 1000;
    plan(ctx, ctx->trials);
    ni_wait_begin(&watch.wait);
    ni_trials_run(ctx->trials, &hooks);
    ni_say_progress(ctx, "");
    ni_wait_end(&watch.wait); /* which may end the program */
    ni_judge_trials(&facts, ctx->trials, &ctx->findings);
    return 0;
}

void ni_forget_trials(struct ni_context *ctx)
{
    ni_trials_unmap(ctx->trials);
    ctx->trials = NULL;
}
#else
int ni_try_ports(struct ni_context *ctx,
                 void (*plan)(const struct ni_context *ctx, struct ni_trials *ret))
{
    (void)plan;
    ni_report(&ctx->findings, NI_F_VERBS_PROCESS, "self-test",
              "this nccl-init was built without libibverbs");
    return -ENOSYS;
}

void ni_forget_trials(struct ni_context *ctx)
{
    ctx->trials = NULL;
}
#endif
