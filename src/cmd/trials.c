/* SPDX-License-Identifier: Apache-2.0 */
/* Trying ports, for selftest, run --selftest and doctor --probe: all at once, each in a process of
   its own, so that one that hangs or crashes holds up no other. */
#include "nccl_init/act.h"
#include "nccl_init/cmd.h"
#include "nccl_init/decide.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#if NI_HAVE_VERBS
#include "nccl_init/verbs.h"

enum {
    LOOK_MS = 2, /* between looks at the processes */
    PROGRESS_MS = 100,
    DEATH_MS = 1000 /* from SIGKILL to giving up */
};

/* In the trial's process. */
static void run_trial(const struct ni_trials *all, struct ni_trial *t, ni_try_fn *try,
                      const struct ni_wait *wait)
{
    ni_wait_unblock(wait);
    /* Capabilities count as they will in the command: what this program alone has by file
       capabilities ends with it. */
    (void)ni_cap_switch(NI_CAP_IPC_LOCK, ni_command_has_cap(NI_CAP_IPC_LOCK));
    try(all, t);
    t->end = NI_TRIAL_ENDED;
    _exit(0); /* the kernel takes back what was opened and registered */
}

/* "self-test: 2 of 4 done; mlx5_6/1: register" */
static void show_progress(struct ni_context *ctx)
{
    const struct ni_trials *all = ctx->trials;
    const struct ni_trial *slowest = NULL;
    unsigned done = 0;
    char buf[160];
    struct ni_text t = ni_text_on(buf, sizeof(buf));

    for (unsigned i = 0; i < all->n; i++) {
        const struct ni_trial *it = &all->at[i];

        if (it->end != NI_TRIAL_RUNNING)
            done++;
        else if (!slowest || it->step < slowest->step)
            slowest = it;
    }
    ni_putf(&t, "%s: %u of %u done", all->probe ? "probe" : "self-test", done, all->n);
    if (slowest)
        ni_putf(&t, "; %s/%u: %s", slowest->hca, slowest->port, ni_step_text(slowest->step));
    ni_say_progress(ctx, buf);
}

/* Whether the process has ended, with what that says of the trial. Where SIGCHLD is ignored there is
   no status to be had (wait(2)). */
static bool has_ended(pid_t pid, struct ni_trial *t, bool killed)
{
    int status = 0;
    pid_t r = waitpid(pid, &status, WNOHANG);

    if (r == 0 || (r < 0 && errno == EINTR))
        return false;
    if (WIFSIGNALED(status))
        t->signal = WTERMSIG(status);
    if (t->end != NI_TRIAL_ENDED)
        t->end = killed ? NI_TRIAL_KILLED : NI_TRIAL_DIED;
    return true;
}

/* Waits until all have ended, or the deadline is over; while they are not killed yet, also until a
   signal comes that ends this program. pid[i] of what has ended becomes 0. */
static void wait_for_all(struct ni_context *ctx, pid_t pid[], int64_t deadline, bool killed,
                         struct ni_wait *wait)
{
    for (int64_t shown = ni_now_ms();;) {
        int64_t now = ni_now_ms();
        bool any = false;

        for (unsigned i = 0; i < ctx->trials->n; i++) {
            if (pid[i] > 0 && has_ended(pid[i], &ctx->trials->at[i], killed))
                pid[i] = 0;
            any = any || pid[i] > 0;
        }
        if (!any || now >= deadline)
            return;
        if (now - shown >= PROGRESS_MS) {
            show_progress(ctx);
            shown = now;
        }
        if (ni_wait_ms(wait, LOOK_MS) && !killed)
            return;
    }
}

void ni_run_trials(struct ni_context *ctx, ni_try_fn *try)
{
    struct ni_trials *all = ctx->trials;
    const int64_t begin = ni_now_ms();
    pid_t pid[NI_MAX_TRIAL] = {0}; /* not in the shared memory, where a trial could overwrite it */
    const bool was_pending = ni_child_pending();
    struct ni_wait wait;

    ni_wait_begin(&wait);
    for (unsigned i = 0; i < all->n; i++) {
        pid[i] = ni_fork_worker(-1);
        if (pid[i] == 0)
            run_trial(all, &all->at[i], try, &wait);
        if (pid[i] > 0)
            continue;
        all->at[i].err = errno;
        all->at[i].end = NI_TRIAL_ENDED;
    }
    wait_for_all(ctx, pid, begin + all->limit_ms, false, &wait);
    for (unsigned i = 0; i < all->n; i++) {
        if (pid[i] > 0)
            (void)kill(pid[i], SIGKILL);
    }
    wait_for_all(ctx, pid, ni_now_ms() + DEATH_MS, true, &wait);
    for (unsigned i = 0; i < all->n; i++) {
        if (pid[i] <= 0)
            continue;
        all->at[i].end = NI_TRIAL_STUCK;
        all->at[i].pid = pid[i];
    }
    ni_child_forget(was_pending);
    all->took_ms = ni_now_ms() - begin;
    ni_say_progress(ctx, "");
    ni_wait_end(&wait); /* which may end the program */
}

int ni_try_ports(struct ni_context *ctx, bool probe)
{
    const struct ni_work work = ni_flow_work(ctx);
    void *shared =
        mmap(NULL, sizeof(*ctx->trials), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (shared == MAP_FAILED) {
        int err = errno;

        ni_report(&ctx->findings, NI_F_VERBS_PROCESS, "self-test", "no shared memory: %s",
                  ni_errno_text(err));
        return -err;
    }
    ctx->trials = shared;
    ctx->trials->size = ctx->options.size;
    ctx->trials->bytes = ctx->options.bytes;
    ctx->trials->limit_ms = (int64_t)ctx->options.deadline * 1000;
    if (probe)
        ni_plan_probes(&work, ctx->trials);
    else
        ni_plan_trials(&work, ctx->trials);
    ni_run_trials(ctx, ni_try_port);
    ni_judge_trials(&work, ctx->trials);
    return 0;
}
#else
int ni_try_ports(struct ni_context *ctx, bool probe)
{
    (void)probe;
    ni_report(&ctx->findings, NI_F_VERBS_PROCESS, "self-test",
              "this nccl-init was built without libibverbs");
    return -ENOSYS;
}
#endif
