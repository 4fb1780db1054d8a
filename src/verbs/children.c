/* SPDX-License-Identifier: Apache-2.0 */
/* A process for each trial. No signal handler and no signal mask, but what hooks->sleep has: the
   command that may come after finds both as they were. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
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
        hooks->in_child(hooks->arg);
    /* No core: it would take longer than the time there is. RLIMIT_CORE does not hold where cores
       are piped to a program (core(5)). */
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    let_go();
    try(all, t);
    t->end = NI_TRIAL_ENDED;
    _exit(0); /* the kernel takes back what was opened and registered */
}

/* What the parent alone knows and believes: a trial may scribble over the memory they share. */
struct child {
    pid_t pid; /* 0: none, or gone */
    bool killed;
};

static void start(struct ni_trials *all, struct ni_trial *t, const struct ni_trial_hooks *hooks,
                  ni_try_fn *try, struct child *child)
{
    const pid_t parent = getpid();
    pid_t pid;

    t->step = NI_STEP_START;
    t->end = NI_TRIAL_RUNNING;
    pid = fork();
    if (pid == 0)
        run_child(all, t, parent, hooks, try);
    if (pid < 0) {
        t->err = errno;
        t->end = NI_TRIAL_ENDED;
        return;
    }
    t->pid = pid;
    child->pid = pid;
}

/* How a trial ended whose process is gone. */
static void settle(struct ni_trial *t, const struct child *child, int status)
{
    t->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (t->end != NI_TRIAL_ENDED)
        t->end = child->killed ? NI_TRIAL_KILLED : NI_TRIAL_DIED;
    if ((unsigned)t->step >= NI_STEP_N || t->n_gid > NI_TRIAL_GIDS) {
        t->step = NI_STEP_START;
        t->end = NI_TRIAL_DIED;
        t->n_gid = 0;
    }
}

/* true: its process is gone. Where SIGCHLD is ignored there is no status to be had (wait(2)). */
static bool is_gone(struct ni_trial *t, struct child *child)
{
    int status = 0;
    pid_t r;

    if (child->pid == 0)
        return true;
    r = waitpid(child->pid, &status, WNOHANG);
    if (r == 0 || (r < 0 && errno == EINTR))
        return false;
    child->pid = 0;
    settle(t, child, r > 0 ? status : 0);
    return true;
}

/* Until all are gone, the time is over or, unless they are being killed, a sleep says so. */
static void wait_until(struct ni_trials *trials, struct child child[], unsigned n,
                       int64_t deadline_ns, bool killed, const struct ni_trial_hooks *hooks)
{
    int64_t told = ni_now_ns();

    for (;;) {
        int64_t now = ni_now_ns();
        unsigned alive = 0;

        for (unsigned i = 0; i < n; i++)
            alive += !is_gone(&trials->at[i], &child[i]);
        if (alive == 0 || now >= deadline_ns)
            return;
        if (hooks->progress && now - told >= PROGRESS_MS * INT64_C(1000000)) {
            hooks->progress(trials, hooks->arg);
            told = now;
        }
        if (hooks->sleep(LOOK_MS, hooks->arg) && !killed)
            return;
    }
}

/* Until it is gone, a child may still say how it went. */
static void kill_left(struct child child[], unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        child[i].killed = child[i].pid > 0 && kill(child[i].pid, SIGKILL) == 0;
}

/* Whether children come into another PID namespace (unshare or nsenter without a fork): the first
   would be its init, and when that ends nobody there can fork any more, the command neither. */
static bool has_foreign_children(void)
{
    struct stat own, theirs;

    return stat("/proc/self/ns/pid", &own) == 0 &&
           stat("/proc/self/ns/pid_for_children", &theirs) == 0 &&
           (own.st_dev != theirs.st_dev || own.st_ino != theirs.st_ino);
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

/* false: none was started. */
static bool start_all(struct ni_trials *trials, unsigned n, const struct ni_trial_hooks *hooks,
                      ni_try_fn *try, struct child child[])
{
    const bool foreign = has_foreign_children();

    for (unsigned i = 0; i < n; i++) {
        if (!foreign) {
            start(trials, &trials->at[i], hooks, try, &child[i]);
            continue;
        }
        trials->at[i].err = EXDEV;
        trials->at[i].end = NI_TRIAL_ENDED;
    }
    return n > 0 && !foreign;
}

void ni_children_run(struct ni_trials *trials, const struct ni_trial_hooks *hooks, ni_try_fn *try)
{
    const int64_t begin = ni_now_ns(), limit = trials->limit_ms * 1000000;
    const bool pending = is_sigchld_pending();
    const unsigned n = trials->n;
    struct child child[NI_MAX_TRIAL] = {0};

    if (start_all(trials, n, hooks, try, child)) {
        wait_until(trials, child, n, begin + limit, false, hooks);
        kill_left(child, n);
        wait_until(trials, child, n, ni_now_ns() + DEATH_MS * INT64_C(1000000), true, hooks);
    }
    for (unsigned i = 0; i < n; i++) {
        trials->at[i].pid = child[i].pid;
        if (child[i].pid > 0)
            trials->at[i].end = NI_TRIAL_STUCK;
    }
    trials->n = n;
    if (!pending)
        take_sigchld();
    trials->took_ms = (ni_now_ns() - begin) / 1000000;
}

void ni_trials_run(struct ni_trials *trials, const struct ni_trial_hooks *hooks)
{
    ni_children_run(trials, hooks, ni_try_port);
}
