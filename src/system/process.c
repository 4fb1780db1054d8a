/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting that a signal ends, and child processes for work that may hang or crash, such as a
   device's. */
#include "system/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "nccl_init/base.h"

/* The kernel drops a signal with default disposition that is sent to the init of a PID namespace,
   unless it is blocked (Linux 6.12 kernel/signal.c sig_task_ignored, sig_ignored). So those that
   end a program are blocked while we wait, and taken by rt_sigtimedwait. Those that are ignored or
   blocked already are left alone. */
static const int ending[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};

int64_t ni_now_ms(void)
{
    struct timespec t;

    if (clock_gettime(CLOCK_MONOTONIC, &t) < 0)
        return INT64_MAX;
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void ni_wait_begin(struct ni_wait *w)
{
    sigset_t old;

    w->signal = 0;
    (void)sigemptyset(&w->blocked);
    if (sigprocmask(SIG_BLOCK, NULL, &old) != 0) /* a seccomp filter */
        (void)sigfillset(&old);
    for (size_t i = 0; i < NI_COUNT(ending); i++) {
        struct sigaction action;

        if (sigismember(&old, ending[i]) == 0 && sigaction(ending[i], NULL, &action) == 0 &&
            action.sa_handler == SIG_DFL)
            (void)sigaddset(&w->blocked, ending[i]);
    }
    (void)sigprocmask(SIG_BLOCK, &w->blocked, NULL);
}

bool ni_wait_ms(struct ni_wait *w, int64_t ms)
{
    const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    /* musl's sigtimedwait(3) begins anew after an interruption. 64 signals are 8 bytes. */
    int sig = (int)syscall(SYS_rt_sigtimedwait, &w->blocked, NULL, &t, (size_t)8);

    if (sig > 0 && w->signal == 0)
        w->signal = sig;
    if (sig < 0 && errno != EAGAIN && errno != EINTR) /* a seccomp filter */
        (void)nanosleep(&t, NULL);
    return w->signal != 0;
}

/* It has bits of its own, because musl's sigprocmask(3) leaves signals 32 to 34 out of the old
   mask. */
void ni_wait_unblock(const struct ni_wait *w)
{
    (void)sigprocmask(SIG_UNBLOCK, &w->blocked, NULL);
}

void ni_wait_end(struct ni_wait *w)
{
    const bool ended = ni_wait_ms(w, 0);

    ni_wait_unblock(w);
    if (!ended)
        return;
    /* the parent learns the signal, so that a shell ends its script, as after any Ctrl-C; as an
       init the process survives this */
    (void)raise(w->signal);
    _exit(128 + w->signal);
}

/* ---- children ---- */

static bool is_pending(int sig)
{
    sigset_t set;

    return sigpending(&set) == 0 && sigismember(&set, sig) == 1;
}

/* Returns true if a child has ended and waits to be reaped. It goes on waiting. */
static bool has_dead_child(void)
{
    siginfo_t info = {.si_pid = 0};

    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
}

void ni_children_begin(struct ni_children *c)
{
    c->pending = is_pending(SIGCHLD);
    c->dead = has_dead_child();
}

/* Reaps the child if it has ended, or all ended members of the group if pid is below 0. true: some
   still run. */
static bool is_left(pid_t pid)
{
    pid_t reaped;

    do
        reaped = waitpid(pid, NULL, WNOHANG);
    while (reaped > 0 || (reaped < 0 && errno == EINTR));
    return reaped == 0;
}

/* Kills the group. When its first process dies, its children go to the process that adopts orphans:
   PID 1, or a subreaper. If that is this process, it reaps them here. It does not become a
   subreaper: orphans of others would then be the command's children, too. */
static void end_group(pid_t group)
{
    static const struct timespec ms = {.tv_nsec = 1000000};
    enum { DEATH_MS = 1000 }; /* from SIGKILL until it gives up */
    const int64_t until = ni_now_ms() + DEATH_MS;

    (void)kill(-group, SIGKILL);
    (void)kill(group, SIGKILL); /* if it could not lead a group (a seccomp filter) */
    while ((is_left(group) || is_left(-group) || kill(-group, 0) == 0) && ni_now_ms() < until)
        (void)nanosleep(&ms, NULL);
}

void ni_children_end(const struct ni_children *c, pid_t group)
{
    static const struct timespec now = {0};
    sigset_t set;

    if (group > 0)
        end_group(group);
    /* Takes the pending SIGCHLD, if the caller blocks that signal. If a child of others ended, too,
       the signal is also theirs, and stays. */
    if (c->pending || !is_pending(SIGCHLD) || (has_dead_child() && !c->dead))
        return;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD);
    (void)syscall(SYS_rt_sigtimedwait, &set, NULL, &now, (size_t)8);
}

/* Closes the descriptors from first to last. Linux before 5.9 and some seccomp filters lack
   close_range(2): then it ends at the limit of descriptors, or where trying each takes too long. */
static void close_from_to(unsigned first, unsigned last)
{
    enum { MOST = 1 << 20 };
    struct rlimit limit = {.rlim_cur = MOST};

    if (first > last || syscall(SYS_close_range, first, last, 0U) == 0)
        return;
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur > MOST)
        limit.rlim_cur = MOST;
    for (unsigned fd = first; fd <= last && fd < limit.rlim_cur; fd++)
        (void)close((int)fd);
}

void ni_close_from(unsigned first)
{
    close_from_to(first, UINT_MAX);
}

/* Closes all descriptors but `keep`: a process that hangs must hold no log for which others wait,
   and no lock. Messages of a library are lost; the caller has better ones. */
static void close_all(int keep)
{
    const unsigned kept = keep > STDERR_FILENO ? (unsigned)keep : STDERR_FILENO;
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (null < 0 || dup2(null, fd) < 0)
            (void)close(fd);
    }
    close_from_to(STDERR_FILENO + 1, kept - 1);
    close_from_to(kept + 1, UINT_MAX);
}

pid_t ni_fork(void)
{
    const pid_t parent = getpid();
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != parent) /* the parent died before PR_SET_PDEATHSIG was in force */
        _exit(1);
    return 0;
}

pid_t ni_fork_group(void)
{
    pid_t pid = ni_fork();

    if (pid < 0)
        return pid;
    /* parent and child both do this, so the order does not matter */
    (void)setpgid(pid, pid);
    if (pid == 0)
        (void)signal(SIGTTOU,
                     SIG_IGN); /* it may write to the terminal from the background (stty tostop) */
    return pid;
}

pid_t ni_fork_worker(int keep)
{
    pid_t pid = ni_fork();

    if (pid != 0)
        return pid;
    /* a core would take too long; RLIMIT_CORE has no effect if cores are piped to a program
       (core(5)) */
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    close_all(keep);
    return 0;
}

/* Waits for the child's end. false: it still runs after that time. */
static bool wait_for(pid_t pid, int64_t limit_ms, int *ret_status)
{
    static const struct timespec ms = {.tv_nsec = 1000000};
    const int64_t until = ni_now_ms() + limit_ms;

    for (;;) {
        const pid_t ended = waitpid(pid, ret_status, WNOHANG);

        if (ended != 0 && !(ended < 0 && errno == EINTR))
            return true; /* also if SIGCHLD is ignored, and the kernel has reaped it */
        if (ni_now_ms() >= until)
            return false;
        (void)nanosleep(&ms, NULL);
    }
}

bool ni_work_beside(int keep, void (*work)(void *ctx), void *ctx, int64_t limit_ms)
{
    enum { DEATH_MS = 100 };
    int status = 0;
    const pid_t pid = ni_fork_worker(keep);

    if (pid < 0)
        return false;
    if (pid == 0) {
        work(ctx);
        _exit(0);
    }
    if (wait_for(pid, limit_ms, &status))
        return status == 0;
    (void)kill(pid, SIGKILL);
    (void)wait_for(pid, DEATH_MS, &status);
    return false;
}
