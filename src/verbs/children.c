/* SPDX-License-Identifier: Apache-2.0 */
/* A process for each trial. No signal handler and no signal mask: the command that may come after
   finds both as they were. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "try.h"

enum {
    LOOK_MS = 2, /* between looks at the children */
    PROGRESS_MS = 100,
    DEATH_MS = 1000 /* from SIGKILL to giving up */
};

struct ni_trials *ni_trials_map(void)
{
    void *at = mmap(NULL, sizeof(struct ni_trials), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    return at == MAP_FAILED ? NULL : at;
}

void ni_trials_unmap(struct ni_trials *trials)
{
    if (trials)
        (void)munmap(trials, sizeof(*trials));
}

/* A child that hangs must hold nothing of the pod's: not the log that others wait for, no lock. What
   libibverbs prints, the trial tells better. */
static void let_go(void)
{
    enum { USUAL = 1024 }; /* the soft RLIMIT_NOFILE that programs count on */
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (null < 0 || dup2(null, fd) < 0)
            (void)close(fd);
    }
    /* Linux 5.9; older seccomp filters of container runtimes refuse it. */
    if (syscall(SYS_close_range, 3u, ~0u, 0u) != 0)
        for (int fd = STDERR_FILENO + 1; fd < USUAL; fd++)
            (void)close(fd);
}

static void run_child(const struct ni_trials *all, struct ni_trial *t, pid_t parent,
                      const struct ni_trial_hooks *hooks, ni_try_fn *try)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != parent) /* it died before that was in force */
        _exit(1);
    if (hooks->in_child)
        hooks->in_child();
    /* No core: it would take longer than the time there is. RLIMIT_CORE does not hold where cores
       are piped to a program (core(5)). */
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    let_go();
    try(all, t);
    t->end = NI_TRIAL_ENDED;
    _exit(0); /* the kernel takes back what was opened and registered */
}

static void start(struct ni_trials *all, struct ni_trial *t, const struct ni_trial_hooks *hooks,
                  ni_try_fn *try)
{
    const pid_t parent = getpid();
    pid_t pid;

    t->step = NI_STEP_START;
    t->end = NI_TRIAL_RUNNING;
    pid = fork();
    if (pid == 0)
        run_child(all, t, parent, hooks, try);
    t->pid = pid;
    if (pid < 0) {
        t->err = errno;
        t->end = NI_TRIAL_ENDED;
    }
}

/* true: its process is gone. Where SIGCHLD is ignored there is no status to be had (wait(2)). */
static bool is_gone(struct ni_trial *t)
{
    int status = 0;
    pid_t r;

    if (t->pid <= 0)
        return true;
    r = waitpid(t->pid, &status, WNOHANG);
    if (r == 0 || (r < 0 && errno == EINTR))
        return false;
    t->pid = 0;
    if (r > 0 && WIFSIGNALED(status))
        t->signal = WTERMSIG(status);
    return true;
}

static unsigned count_alive(struct ni_trials *trials)
{
    unsigned alive = 0;

    for (unsigned i = 0; i < trials->n; i++)
        alive += !is_gone(&trials->at[i]);
    return alive;
}

/* Until all are gone or the time is over. */
static void wait_until(struct ni_trials *trials, int64_t deadline_ns,
                       const struct ni_trial_hooks *hooks)
{
    const struct timespec look = {.tv_nsec = LOOK_MS * 1000000};
    int64_t told = ni_now_ns();

    while (count_alive(trials) > 0) {
        int64_t now = ni_now_ns();

        if (now >= deadline_ns)
            return;
        if (hooks->progress && now - told >= PROGRESS_MS * INT64_C(1000000)) {
            hooks->progress(trials, hooks->arg);
            told = now;
        }
        (void)nanosleep(&look, NULL);
    }
}

/* Until it is gone, a child may still say how it went. */
static void kill_left(const struct ni_trials *trials, bool killed[])
{
    for (unsigned i = 0; i < trials->n; i++)
        killed[i] = trials->at[i].pid > 0 && kill(trials->at[i].pid, SIGKILL) == 0;
}

static bool is_sigchld_pending(void)
{
    sigset_t pending;

    return sigpending(&pending) == 0 && sigismember(&pending, SIGCHLD) == 1;
}

/* Where SIGCHLD is blocked, that of our children would stay pending over exec. */
static void take_sigchld(void)
{
    static const struct timespec now;
    sigset_t chld;

    (void)sigemptyset(&chld);
    (void)sigaddset(&chld, SIGCHLD);
    if (is_sigchld_pending())
        (void)sigtimedwait(&chld, NULL, &now);
}

void ni_children_run(struct ni_trials *trials, const struct ni_trial_hooks *hooks, ni_try_fn *try)
{
    const int64_t begin = ni_now_ns();
    const bool pending = is_sigchld_pending();
    bool killed[NI_MAX_TRIAL] = {false};

    for (unsigned i = 0; i < trials->n; i++)
        start(trials, &trials->at[i], hooks, try);
    wait_until(trials, begin + trials->limit_ms * 1000000, hooks);
    kill_left(trials, killed);
    wait_until(trials, ni_now_ns() + DEATH_MS * INT64_C(1000000), hooks);
    for (unsigned i = 0; i < trials->n; i++) {
        struct ni_trial *t = &trials->at[i];

        if (t->pid > 0)
            t->end = NI_TRIAL_STUCK;
        else if (t->end == NI_TRIAL_RUNNING)
            t->end = killed[i] ? NI_TRIAL_KILLED : NI_TRIAL_DIED;
    }
    if (!pending)
        take_sigchld();
    trials->took_ms = (ni_now_ns() - begin) / 1000000;
}

void ni_trials_run(struct ni_trials *trials, const struct ni_trial_hooks *hooks)
{
    ni_children_run(trials, hooks, ni_try_port);
}
