/* SPDX-License-Identifier: Apache-2.0 */
/* Trials whose bodies pass, hang, crash and make a mess, and what is left of them in the process that
   the command will get. The bodies are this file's own; so is kill, to have one that does not die. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "nccl_init/act.h"
#include "verbs/try.h"

enum {
    SLACK_MS = 900, /* a busy machine with sanitizers */
    SIGNALS = 64
};

static struct ni_trials *all;
static ni_try_fn *bodies[NI_MAX_TRIAL];
static bool kill_is_lost;

int kill(pid_t pid, int sig)
{
    return kill_is_lost ? 0 : (int)syscall(SYS_kill, pid, sig);
}

/* ---- bodies ---- */

static void act(const struct ni_trials *trials, struct ni_trial *t)
{
    bodies[t - trials->at](trials, t);
}

static void passes(const struct ni_trials *trials, struct ni_trial *t)
{
    (void)trials;
    t->latency_ns = 1000 + t->port;
    t->step = NI_STEP_DONE;
}

static void fails(const struct ni_trials *trials, struct ni_trial *t)
{
    (void)trials;
    t->step = NI_STEP_CONNECT;
    t->err = ENETUNREACH;
}

static void hangs(const struct ni_trials *trials, struct ni_trial *t)
{
    (void)trials;
    t->step = NI_STEP_REGISTER;
    for (;;)
        pause();
}

static void defends_itself(const struct ni_trials *trials, struct ni_trial *t)
{
    sigset_t every;

    for (int sig = 1; sig <= SIGNALS; sig++)
        (void)signal(sig, SIG_IGN);
    sigfillset(&every);
    sigprocmask(SIG_SETMASK, &every, NULL);
    hangs(trials, t);
}

static void spins(const struct ni_trials *trials, struct ni_trial *t)
{
    (void)trials;
    for (;;)
        t->latency_ns++;
}

static void stops(const struct ni_trials *trials, struct ni_trial *t)
{
    (void)trials;
    t->step = NI_STEP_OPEN;
    raise(SIGSTOP);
}

/* A sanitizer would turn it into an exit. */
static void crashes(const struct ni_trials *trials, struct ni_trial *t)
{
    (void)trials;
    t->step = NI_STEP_OPEN;
    (void)signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
}

static void is_killed(const struct ni_trials *trials, struct ni_trial *t)
{
    (void)trials;
    t->step = NI_STEP_ALLOCATE;
    raise(SIGKILL);
}

static void says_nothing(const struct ni_trials *trials, struct ni_trial *t)
{
    (void)trials;
    t->step = NI_STEP_FIND;
    _exit(0);
}

static bool nap(int64_t ms, void *arg)
{
    const struct timespec t = {.tv_nsec = ms * 1000000};

    (void)arg;
    (void)nanosleep(&t, NULL);
    return false;
}

static const struct ni_trial_hooks plain = {.sleep = nap};

/* ---- the process around them ---- */

struct world {
    char fds[8192];
    sigset_t mask, pending;
    void (*handler[SIGNALS + 1])(int);
    int flags[SIGNALS + 1];
    struct rlimit core;
    pid_t group;
};

static void list_fds(char *buf, size_t cap)
{
    DIR *dir = opendir("/proc/self/fd");
    struct ni_text t = ni_text_on(buf, cap);

    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        char link[64] = "";

        if (e->d_name[0] == '.' || atoi(e->d_name) == dirfd(dir)) /* NOLINT: the kernel's number */
            continue;
        (void)!readlinkat(dirfd(dir), e->d_name, link, sizeof(link) - 1);
        ni_putf(&t, "%s=%s\n", e->d_name, link);
    }
    closedir(dir);
    assert_false(t.cut);
}

static void look_at(struct world *w)
{
    memset(w, 0, sizeof(*w));
    list_fds(w->fds, sizeof(w->fds));
    sigprocmask(SIG_SETMASK, NULL, &w->mask);
    sigpending(&w->pending);
    for (int sig = 1; sig <= SIGNALS; sig++) {
        struct sigaction action = {.sa_flags = 0};

        (void)sigaction(sig, NULL, &action);
        w->handler[sig] = action.sa_handler;
        w->flags[sig] = action.sa_flags;
    }
    getrlimit(RLIMIT_CORE, &w->core);
    w->group = getpgrp();
}

static int64_t now_ms(void)
{
    return ni_now_ns() / 1000000;
}

/* Runs n trials and looks whether the world is as it was. The milliseconds it took. */
static int64_t run_with(unsigned n, int64_t limit_ms, const struct ni_trial_hooks *hooks)
{
    static struct world before, after;
    int64_t begin = now_ms(), took;

    all->n = n;
    all->limit_ms = limit_ms;
    look_at(&before);
    ni_children_run(all, hooks, act);
    took = now_ms() - begin;
    look_at(&after);
    assert_string_equal(before.fds, after.fds);
    assert_memory_equal(&before.mask, &after.mask, sizeof(sigset_t));
    assert_memory_equal(&before.pending, &after.pending, sizeof(sigset_t));
    assert_memory_equal(before.handler, after.handler, sizeof(before.handler));
    assert_memory_equal(before.flags, after.flags, sizeof(before.flags));
    assert_memory_equal(&before.core, &after.core, sizeof(before.core));
    assert_int_equal(before.group, after.group);
    assert_in_range(all->took_ms, 0, took + 1);
    return took;
}

static int64_t run(unsigned n, int64_t limit_ms)
{
    return run_with(n, limit_ms, &plain);
}

static void assert_no_child(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void assert_passed(unsigned i)
{
    assert_int_equal(all->at[i].end, NI_TRIAL_ENDED);
    assert_true(ni_trial_passed(&all->at[i]));
    assert_int_equal(all->at[i].latency_ns, 1000 + i);
    assert_int_equal(all->at[i].signal, 0);
}

static void assert_ended(unsigned i, enum ni_trial_end end, enum ni_step step, int sig)
{
    assert_false(ni_trial_passed(&all->at[i]));
    assert_int_equal(all->at[i].end, end);
    assert_int_equal(all->at[i].step, step);
    assert_int_equal(all->at[i].signal, sig);
}

static int setup(void **state)
{
    (void)state;
    all = ni_trials_map();
    if (!all)
        return -1;
    for (unsigned i = 0; i < NI_MAX_TRIAL; i++) {
        all->at[i].port = i;
        bodies[i] = passes;
    }
    kill_is_lost = false;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ni_trials_unmap(all);
    return 0;
}

/* ---- how each ends ---- */

static void test_nothing(void **state)
{
    (void)state;
    assert_in_range(run(0, 10000), 0, SLACK_MS);
    assert_int_equal(ni_trials_passed(all), 0);
    ni_trials_unmap(NULL);
}

static void test_passes(void **state)
{
    (void)state;
    bodies[2] = fails;
    assert_in_range(run(4, 10000), 0, SLACK_MS);
    assert_passed(0);
    assert_passed(1);
    assert_passed(3);
    assert_ended(2, NI_TRIAL_ENDED, NI_STEP_CONNECT, 0);
    assert_int_equal(all->at[2].err, ENETUNREACH);
    assert_int_equal(ni_trials_passed(all), 3);
    assert_no_child();
}

static void test_hangs(void **state)
{
    static ni_try_fn *const hanging[] = {hangs, defends_itself, spins, stops};
    static const enum ni_step step[] = {NI_STEP_REGISTER, NI_STEP_REGISTER, NI_STEP_START,
                                        NI_STEP_OPEN};

    (void)state;
    for (unsigned i = 0; i < NI_COUNT(hanging); i++)
        bodies[2 * i] = hanging[i];
    assert_in_range(run(2 * NI_COUNT(hanging), 300), 300, 300 + SLACK_MS);
    for (unsigned i = 0; i < NI_COUNT(hanging); i++) {
        assert_ended(2 * i, NI_TRIAL_KILLED, step[i], SIGKILL);
        assert_passed(2 * i + 1);
    }
    assert_no_child();
}

static void test_dies(void **state)
{
    (void)state;
    bodies[0] = crashes;
    bodies[1] = is_killed;
    bodies[2] = says_nothing;
    assert_in_range(run(4, 10000), 0, SLACK_MS);
    assert_ended(0, NI_TRIAL_DIED, NI_STEP_OPEN, SIGSEGV);
    assert_ended(1, NI_TRIAL_DIED, NI_STEP_ALLOCATE, SIGKILL); /* not by us */
    assert_ended(2, NI_TRIAL_DIED, NI_STEP_FIND, 0);
    assert_passed(3);
    assert_no_child();
}

/* As in uninterruptible sleep. */
static void test_does_not_die(void **state)
{
    pid_t pid;

    (void)state;
    kill_is_lost = true;
    bodies[0] = hangs;
    all->n = 2;
    all->limit_ms = 100;
    ni_children_run(all, &plain, act);
    kill_is_lost = false;
    assert_in_range(all->took_ms, 1100, 1100 + SLACK_MS);
    assert_int_equal(all->at[0].end, NI_TRIAL_STUCK);
    assert_int_equal(all->at[0].step, NI_STEP_REGISTER);
    assert_passed(1);
    pid = all->at[0].pid;
    assert_true(pid > 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_no_child();
}

/* All of them, none for long. */
static void test_many(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 32; i++)
        bodies[i] = i % 16 == 15 ? spins : defends_itself;
    assert_in_range(run(33, 1000), 1000, 1000 + SLACK_MS);
    for (unsigned i = 0; i < 32; i++)
        assert_int_equal(all->at[i].end, NI_TRIAL_KILLED);
    assert_passed(32);
    assert_no_child();
    for (unsigned i = 0; i < NI_MAX_TRIAL; i++)
        bodies[i] = passes;
    memset(all, 0, sizeof(*all));
    assert_in_range(run(NI_MAX_TRIAL, 10000), 0, SLACK_MS);
    assert_int_equal(ni_trials_passed(all), NI_MAX_TRIAL);
}

/* ---- signals ---- */

static volatile sig_atomic_t alarms;

static void on_alarm(int sig)
{
    (void)sig;
    alarms++;
}

/* Interrupted all the time, it keeps its time. */
static void test_interrupted(void **state)
{
    const struct itimerval often = {{0, 3000}, {0, 3000}}, never = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = on_alarm}, old;

    (void)state;
    sigaction(SIGALRM, &action, &old);
    setitimer(ITIMER_REAL, &often, NULL);
    bodies[0] = hangs;
    assert_in_range(run(2, 300), 300, 300 + SLACK_MS);
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &old, NULL);
    assert_true(alarms > 10);
    assert_ended(0, NI_TRIAL_KILLED, NI_STEP_REGISTER, SIGKILL);
    assert_passed(1);
    assert_no_child();
}

/* Then the kernel takes the children away, and there is no status. */
static void test_sigchld_ignored(void **state)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, old;

    (void)state;
    sigaction(SIGCHLD, &ignore, &old);
    bodies[1] = hangs;
    bodies[2] = crashes;
    assert_in_range(run(3, 300), 300, 300 + SLACK_MS);
    sigaction(SIGCHLD, &old, NULL);
    assert_passed(0);
    assert_int_equal(all->at[1].end, NI_TRIAL_KILLED);
    assert_int_equal(all->at[2].end, NI_TRIAL_DIED);
    assert_no_child();
}

/* What is pending stays so over exec: the command would get a signal of ours. */
static void test_sigchld_blocked(void **state)
{
    sigset_t chld, pending, old;

    (void)state;
    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);
    sigprocmask(SIG_BLOCK, &chld, &old);
    bodies[1] = hangs;
    bodies[2] = crashes;
    run(3, 100);
    sigpending(&pending);
    assert_false(sigismember(&pending, SIGCHLD));
    /* One that was there before is not ours to take. */
    raise(SIGCHLD);
    run(3, 100);
    sigpending(&pending);
    assert_true(sigismember(&pending, SIGCHLD));
    sigprocmask(SIG_SETMASK, &old, NULL);
    assert_no_child();
}

/* ---- what others have ---- */

/* Children that this process had before, as a shell has that execs us. */
static void test_other_children(void **state)
{
    int status;
    pid_t dead = fork(), living;

    (void)state;
    if (dead == 0)
        _exit(7);
    living = fork();
    if (living == 0)
        hangs(NULL, &(struct ni_trial){0});
    assert_true(dead > 0 && living > 0);
    bodies[1] = hangs;
    run(3, 100);
    assert_passed(0);
    assert_int_equal(waitpid(living, &status, WNOHANG), 0);
    assert_int_equal(waitpid(dead, &status, WNOHANG), dead);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
    assert_int_equal(kill(living, SIGKILL), 0);
    assert_int_equal(waitpid(living, &status, 0), living);
    assert_no_child();
}

/* In the child: how many descriptors beside 0 to 2, and whether those are /dev/null. */
static void counts_fds(const struct ni_trials *trials, struct ni_trial *t)
{
    int n = 0;

    for (int fd = 3; fd < 4096; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    t->index = n;
    for (int fd = 0; fd < 3; fd++) {
        struct stat st;

        if (fstat(fd, &st) != 0 || st.st_rdev != makedev(1, 3))
            t->index += 10000;
    }
    passes(trials, t);
}

static void test_no_descriptor(void **state)
{
    enum { MANY = 200 };
    int fd[MANY];

    (void)state;
    for (unsigned i = 0; i < MANY; i++)
        fd[i] = open(i % 2 ? "/dev/zero" : "/", i % 3 ? O_RDONLY : O_RDONLY | O_CLOEXEC);
    assert_true(fd[MANY - 1] >= 0);
    assert_int_equal(dup2(fd[0], 1022), 1022);
    bodies[0] = counts_fds;
    run(1, 10000);
    assert_int_equal(all->at[0].index, 0);
    close(1022);
    for (unsigned i = 0; i < MANY; i++)
        close(fd[i]);
}

static struct {
    int read, write;
    unsigned looks, ended;
    const struct ni_trials *trials;
} ours = {.read = -1, .write = -1};

/* While the child hangs, the one writer left goes. */
static void close_writer(const struct ni_trials *trials, void *arg)
{
    struct pollfd p = {.fd = ours.read, .events = POLLIN};

    assert_ptr_equal(arg, &ours);
    ours.trials = trials;
    ours.looks++;
    if (ours.write >= 0)
        close(ours.write);
    ours.write = -1;
    ours.ended += poll(&p, 1, 0) == 1 && (p.revents & POLLHUP) != 0;
}

static void test_holds_no_pipe(void **state)
{
    const struct ni_trial_hooks hooks = {.progress = close_writer, .sleep = nap, .arg = &ours};
    int fd[2];

    (void)state;
    assert_int_equal(pipe(fd), 0);
    ours.read = fd[0];
    ours.write = fd[1];
    bodies[0] = hangs;
    all->n = 1;
    all->limit_ms = 550;
    ni_children_run(all, &hooks, act);
    assert_ptr_equal(ours.trials, all);
    assert_in_range(ours.looks, 3, 6); /* every tenth of a second */
    assert_int_equal(ours.ended, ours.looks);
    close(fd[0]);
}

static void talks(const struct ni_trials *trials, struct ni_trial *t)
{
    for (int fd = 0; fd < 16; fd++)
        (void)!write(fd, "noise", 5);
    passes(trials, t);
}

static void test_says_nothing(void **state)
{
    int file = memfd_create("out", MFD_CLOEXEC), saved[3];
    struct stat st;

    (void)state;
    assert_true(file >= 0);
    for (int i = 0; i < 3; i++) {
        saved[i] = dup(i);
        dup2(file, i);
    }
    bodies[0] = talks;
    all->n = 1;
    all->limit_ms = 10000;
    ni_children_run(all, &plain, act);
    for (int i = 0; i < 3; i++) {
        dup2(saved[i], i);
        close(saved[i]);
    }
    assert_passed(0);
    assert_int_equal(fstat(file, &st), 0);
    assert_int_equal(st.st_size, 0);
    close(file);
}

/* Without 0 to 2 it is the same. */
static void test_closed_streams(void **state)
{
    int saved[3];

    (void)state;
    for (int i = 0; i < 3; i++) {
        saved[i] = fcntl(i, F_DUPFD, 20);
        close(i);
    }
    bodies[0] = counts_fds;
    bodies[1] = hangs;
    all->n = 2;
    all->limit_ms = 100;
    ni_children_run(all, &plain, act);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(fcntl(i, F_GETFD), -1);
        dup2(saved[i], i);
        close(saved[i]);
    }
    assert_int_equal(all->at[0].end, NI_TRIAL_ENDED);
    assert_int_equal(all->at[0].index, 0);
    assert_int_equal(all->at[1].end, NI_TRIAL_KILLED);
}

/* ---- in the child ---- */

static int hooked;

static void hook(void *arg)
{
    *(int *)arg = getpid();
}

/* A core of registered memory would take longer than the time there is, and a handler that cores
   are piped to gets them whatever the limit is (core(5)). */
static void looks_around(const struct ni_trials *trials, struct ni_trial *t)
{
    int death = 0;

    (void)prctl(PR_GET_PDEATHSIG, &death, 0, 0, 0);
    t->index = death;
    t->err = hooked == getpid();
    t->qp_state = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
    passes(trials, t);
}

static void test_in_child(void **state)
{
    const struct ni_trial_hooks hooks = {.in_child = hook, .sleep = nap, .arg = &hooked};

    (void)state;
    bodies[0] = looks_around;
    run_with(1, 10000, &hooks);
    assert_passed(0);
    assert_int_equal(all->at[0].index, SIGKILL);
    assert_int_equal(all->at[0].err, 1);
    assert_int_equal(all->at[0].qp_state, 0);
    assert_int_equal(hooked, 0);
    assert_int_equal(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), 1); /* ours is as it was */
}

/* ---- in a process of their own ---- */

static pid_t in_process(void (*body)(void))
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        body();
        _exit(0);
    }
    return pid;
}

static void run_without_processes(void)
{
    const struct rlimit none = {0, 0};

    if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0)
        _exit(77);
    if (setrlimit(RLIMIT_NPROC, &none) != 0)
        _exit(77);
    ni_children_run(all, &plain, act);
    _exit(0);
}

static void test_fork_fails(void **state)
{
    int status;
    pid_t pid;

    (void)state;
    all->n = 3;
    all->limit_ms = 10000;
    pid = in_process(run_without_processes);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77 || ni_trials_passed(all) == 3)
        skip(); /* the limit does not bind */
    assert_int_equal(WEXITSTATUS(status), 0);
    for (unsigned i = 0; i < 3; i++) {
        assert_ended(i, NI_TRIAL_ENDED, NI_STEP_START, 0);
        assert_int_equal(all->at[i].err, EAGAIN);
    }
    assert_in_range(all->took_ms, 0, SLACK_MS);
}

/* As a kernel before 5.9, or a seccomp filter of that time. */
static void run_without_close_range(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog prog = {NI_COUNT(code), code};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0) != 0 ||
        syscall(SYS_close_range, ~0u, ~0u, 0u) == 0)
        _exit(77);
    (void)dup2(STDOUT_FILENO, 900);
    ni_children_run(all, &plain, act);
}

static void test_no_close_range(void **state)
{
    int status;
    pid_t pid;

    (void)state;
    bodies[0] = counts_fds;
    all->n = 1;
    all->limit_ms = 10000;
    pid = in_process(run_without_close_range);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_passed(0);
    assert_int_equal(all->at[0].index, 0);
}

static void run_hanging(void)
{
    ni_children_run(all, &plain, act);
}

/* ---- a signal to the program ---- */

/* As src/cmd/trials.c has them. */
static bool wait_nap(int64_t ms, void *arg)
{
    return ni_wait_ms(arg, ms);
}

static void wait_in_child(void *arg)
{
    ni_wait_unblock(arg);
}

static uint64_t kernel_mask(void)
{
    uint64_t mask = 0;

    (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, NULL, &mask, sizeof(mask));
    return mask;
}

/* Runs trials for a second. Status 9: not all is as it was. */
static void run_waiting(void)
{
    struct ni_wait wait;
    const struct ni_trial_hooks hooks = {wait_in_child, NULL, wait_nap, &wait};
    const uint64_t before = kernel_mask();

    all->limit_ms = 1000;
    ni_wait_begin(&wait);
    ni_children_run(all, &hooks, act);
    if (waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD)
        all->at[0].bad_at = 1; /* a child is left */
    ni_wait_end(&wait);
    _exit(kernel_mask() == before ? 0 : 9);
}

/* As in uninterruptible sleep: a second, and no more. */
static void run_undying(void)
{
    kill_is_lost = true;
    run_waiting();
}

/* The wait status of run_waiting, that many milliseconds after sig was sent to it. */
static int signal_to(int sig, void (*body)(void), int64_t *ret_ms)
{
    const struct timespec look = {.tv_nsec = 1000000};
    int64_t sent;
    int status;
    pid_t pid;

    memset(all, 0, sizeof(*all));
    all->n = 3;
    bodies[0] = hangs;
    bodies[1] = defends_itself;
    bodies[2] = stops;
    pid = in_process(body);
    for (unsigned i = 0; i < 5000 && all->at[2].step != NI_STEP_OPEN; i++)
        nanosleep(&look, NULL);
    if (sig != 0)
        assert_int_equal(kill(pid, sig), 0);
    sent = now_ms();
    assert_int_equal(waitpid(pid, &status, 0), pid);
    *ret_ms = now_ms() - sent;
    assert_int_equal(all->at[0].bad_at, body == run_undying);
    return status;
}

/* In a PID namespace of its own, as its init. */
static void run_as_init(void)
{
    const struct timespec soon = {.tv_nsec = 100000000};
    int status;
    pid_t pid;

    if (unshare(CLONE_NEWPID) != 0)
        _exit(77);
    pid = fork();
    if (pid == 0)
        run_waiting();
    nanosleep(&soon, NULL);
    (void)kill(pid, SIGTERM);
    _exit(waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 99);
}

static void run_ignoring(void)
{
    (void)signal(SIGTERM, SIG_IGN);
    run_waiting();
}

static void run_all_blocked(void)
{
    const uint64_t every = ~UINT64_C(0);

    (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &every, NULL, sizeof(every));
    run_waiting();
}

static void test_signals(void **state)
{
    static const int ending[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    const struct rlimit none = {0, 0};
    int64_t ms;
    int status;

    (void)state;
    (void)setrlimit(RLIMIT_CORE, &none);
    for (size_t i = 0; i < NI_COUNT(ending); i++) {
        status = signal_to(ending[i], run_waiting, &ms);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), ending[i]);
        assert_in_range(ms, 0, 500); /* with sanitizers; tests/exec/signals.sh asks for 100 */
    }
    /* Others are none of its business: the mask is as before, and so are the children of it. */
    status = signal_to(0, run_waiting, &ms);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(all->at[i].end, NI_TRIAL_KILLED);
    assert_true(ms > 500);
    /* Ignored or blocked: it goes on. */
    status = signal_to(SIGTERM, run_ignoring, &ms);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_true(ms > 500);
    status = signal_to(SIGTERM, run_all_blocked, &ms);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_true(ms > 500);
}

static void test_signals_init(void **state)
{
    int64_t ms;
    int status = signal_to(0, run_as_init, &ms);

    (void)state;
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 128 + SIGTERM);
    assert_in_range(ms, 0, 800);
}

static void test_signals_stuck(void **state)
{
    int64_t ms;
    int status;

    (void)state;
    status = signal_to(SIGTERM, run_undying, &ms);
    assert_true(WIFSIGNALED(status));
    assert_in_range(ms, 1000, 1000 + SLACK_MS);
}

/* Killed itself, the program leaves none behind. */
static void test_parent_dies(void **state)
{
    const struct timespec look = {.tv_nsec = 1000000};
    int status;
    pid_t pid, orphan;

    (void)state;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    bodies[0] = defends_itself;
    all->n = 1;
    all->limit_ms = 60000;
    pid = in_process(run_hanging);
    orphan = 0; /* the trial may run before its parent has noted its number */
    for (unsigned i = 0; i < 5000 && (orphan <= 0 || all->at[0].step != NI_STEP_REGISTER); i++) {
        nanosleep(&look, NULL);
        orphan = *(volatile int *)&all->at[0].pid;
    }
    assert_true(orphan > 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    for (unsigned i = 0; i < 5000 && waitpid(orphan, &status, WNOHANG) == 0; i++)
        nanosleep(&look, NULL);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
    assert_no_child();
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0), 0);
}

/* ---- the table ---- */

/* Lines of /proc/self/maps about shared anonymous memory. */
static unsigned shared_mappings(void)
{
    FILE *f = fopen("/proc/self/maps", "re");
    char line[512];
    unsigned n = 0;

    assert_non_null(f);
    while (fgets(line, sizeof(line), f))
        n += strstr(line, "/dev/zero (deleted)") != NULL;
    (void)fclose(f);
    return n;
}

static void test_map(void **state)
{
    unsigned before = shared_mappings();
    struct ni_trials *second = ni_trials_map();

    (void)state;
    assert_non_null(second);
    assert_int_equal(shared_mappings(), before + 1);
    for (size_t i = 0; i < sizeof(*second); i += 4096)
        assert_int_equal(((const char *)second)[i], 0);
    ni_trials_unmap(second);
    assert_int_equal(shared_mappings(), before);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(test_nothing),         CASE(test_passes),
        CASE(test_hangs),           CASE(test_dies),
        CASE(test_does_not_die),    CASE(test_many),
        CASE(test_interrupted),     CASE(test_sigchld_ignored),
        CASE(test_sigchld_blocked), CASE(test_other_children),
        CASE(test_no_descriptor),   CASE(test_holds_no_pipe),
        CASE(test_says_nothing),    CASE(test_closed_streams),
        CASE(test_in_child),        CASE(test_fork_fails),
        CASE(test_no_close_range),  CASE(test_signals),
        CASE(test_signals_init),    CASE(test_signals_stuck),
        CASE(test_parent_dies),     CASE(test_map),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
