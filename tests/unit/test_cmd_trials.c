/* SPDX-License-Identifier: Apache-2.0 */
/* Trials that pass, hang, crash and do not die, and what is left of them in the process that the
   command will get. What a trial does is this file's own; so is kill, to have one that does not die.
   Signals to the program: tests/exec/signals.sh; that trials end with it: tests/vm. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "nccl_init/act.h"
#include "nccl_init/cmd.h"

enum { SLACK_MS = 900 /* a busy machine with sanitizers */ };

static struct ni_context ctx;
static struct ni_trials *all;
static ni_try_fn *bodies[8];
static bool kill_is_lost;

int kill(pid_t pid, int sig)
{
    return kill_is_lost ? 0 : (int)syscall(SYS_kill, pid, sig);
}

/* ---- what trials do ---- */

static void act(const struct ni_trials *trials, struct ni_trial *t)
{
    bodies[t - trials->at](trials, t);
}

static void passes(const struct ni_trials *trials, struct ni_trial *t)
{
    (void)trials;
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
    sigset_t every;

    (void)trials;
    t->step = NI_STEP_REGISTER;
    sigfillset(&every);
    sigprocmask(SIG_SETMASK, &every, NULL);
    for (;;)
        pause();
}

/* A sanitizer would turn it into an exit. */
static void crashes(const struct ni_trials *trials, struct ni_trial *t)
{
    (void)trials;
    t->step = NI_STEP_OPEN;
    (void)signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
}

static void says_nothing(const struct ni_trials *trials, struct ni_trial *t)
{
    (void)trials;
    t->step = NI_STEP_FIND;
    _exit(0);
}

/* Into fields that nobody fills in here: descriptors beside 0 to 2, those of them that are not
   /dev/null, what ends the process with its parent, whether it leaves a core. */
static void looks_around(const struct ni_trials *trials, struct ni_trial *t)
{
    int death = 0;

    t->index = t->vendor_err = 0;
    for (int fd = 3; fd < 1024; fd++)
        t->index += fcntl(fd, F_GETFD) >= 0;
    for (int fd = 0; fd < 3; fd++) {
        struct stat st;

        t->vendor_err += fstat(fd, &st) != 0 || st.st_rdev != makedev(1, 3);
    }
    (void)prctl(PR_GET_PDEATHSIG, &death, 0, 0, 0);
    t->err = death;
    t->qp_state = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
    passes(trials, t);
}

/* ---- the process around them ---- */

struct world {
    char fds[4096];
    sigset_t mask, pending;
};

static void look_at(struct world *w)
{
    DIR *dir = opendir("/proc/self/fd");
    struct ni_text t = ni_text_on(w->fds, sizeof(w->fds));

    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir)) != NULL;)
        ni_putf(&t, "%s ", e->d_name);
    closedir(dir);
    sigprocmask(SIG_SETMASK, NULL, &w->mask);
    sigpending(&w->pending);
}

/* Runs n trials; all is as it was then. Whether they took that long. */
static void run(unsigned n, int64_t limit_ms, int64_t least_ms)
{
    static struct world before, after;
    int status;

    all->n = n;
    all->limit_ms = limit_ms;
    look_at(&before);
    ni_run_trials(&ctx, act);
    look_at(&after);
    assert_string_equal(before.fds, after.fds);
    assert_memory_equal(&before.mask, &after.mask, sizeof(sigset_t));
    assert_memory_equal(&before.pending, &after.pending, sizeof(sigset_t));
    assert_in_range(all->took_ms, least_ms, least_ms + SLACK_MS);
    for (unsigned i = 0; i < n; i++) {
        if (all->at[i].end != NI_TRIAL_STUCK)
            continue;
        kill_is_lost = false;
        assert_int_equal(kill(all->at[i].pid, SIGKILL), 0);
        assert_int_equal(waitpid(all->at[i].pid, &status, 0), all->at[i].pid);
    }
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void assert_ended(unsigned i, enum ni_trial_end end, enum ni_step step, int sig)
{
    assert_int_equal(all->at[i].end, end);
    assert_int_equal(all->at[i].step, step);
    assert_int_equal(all->at[i].signal, sig);
}

static int setup(void **state)
{
    (void)state;
    memset(all, 0, sizeof(*all));
    for (unsigned i = 0; i < NI_COUNT(bodies); i++)
        bodies[i] = passes;
    kill_is_lost = false;
    return 0;
}

/* ---- tests ---- */

/* One that hangs or dies takes nothing from the others. */
static void test_ends(void **state)
{
    (void)state;
    bodies[1] = fails;
    bodies[2] = hangs;
    bodies[3] = crashes;
    bodies[4] = says_nothing;
    run(6, 200, 200);
    assert_ended(0, NI_TRIAL_ENDED, NI_STEP_DONE, 0);
    assert_ended(1, NI_TRIAL_ENDED, NI_STEP_CONNECT, 0);
    assert_int_equal(all->at[1].err, ENETUNREACH);
    assert_ended(2, NI_TRIAL_KILLED, NI_STEP_REGISTER, SIGKILL);
    assert_ended(3, NI_TRIAL_DIED, NI_STEP_OPEN, SIGSEGV);
    assert_ended(4, NI_TRIAL_DIED, NI_STEP_FIND, 0);
    assert_ended(5, NI_TRIAL_ENDED, NI_STEP_DONE, 0);
    assert_int_equal(ni_trials_passed(all), 2);
}

static void test_none_waits(void **state)
{
    (void)state;
    run(0, 10000, 0);
    run(8, 10000, 0);
    assert_int_equal(ni_trials_passed(all), 8);
}

/* As in uninterruptible sleep: a second, and no more. */
static void test_does_not_die(void **state)
{
    (void)state;
    kill_is_lost = true;
    bodies[0] = hangs;
    run(2, 100, 1100);
    assert_ended(0, NI_TRIAL_STUCK, NI_STEP_REGISTER, 0);
    assert_ended(1, NI_TRIAL_ENDED, NI_STEP_DONE, 0);
}

/* Ignored, there is no status of a process. Blocked, that of the trials is not left pending for the
   command, and one that was pending before is. */
static void test_sigchld(void **state)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, old;
    sigset_t chld, mask;

    (void)state;
    sigaction(SIGCHLD, &ignore, &old);
    bodies[0] = crashes;
    run(1, 10000, 0);
    assert_ended(0, NI_TRIAL_DIED, NI_STEP_OPEN, 0);
    sigaction(SIGCHLD, &old, NULL);
    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);
    sigprocmask(SIG_BLOCK, &chld, &mask);
    setup(NULL);
    run(1, 10000, 0);
    (void)kill(getpid(), SIGCHLD);
    run(1, 10000, 0);
    sigprocmask(SIG_SETMASK, &mask, NULL);
}

/* What hangs holds no descriptor of the pod's, ends with this program, and leaves no core. */
static void test_in_the_process(void **state)
{
    int fd = open("/", O_RDONLY);

    (void)state;
    assert_int_equal(dup2(fd, 1022), 1022);
    bodies[0] = looks_around;
    run(1, 10000, 0);
    assert_ended(0, NI_TRIAL_ENDED, NI_STEP_DONE, 0);
    assert_int_equal(all->at[0].index, 0);
    assert_int_equal(all->at[0].vendor_err, 0);
    assert_int_equal(all->at[0].err, SIGKILL);
    assert_int_equal(all->at[0].qp_state, 0);
    assert_int_equal(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), 1); /* ours is as it was */
    close(1022);
    close(fd);
}

/* The limit on processes does not bind root. */
static void test_no_process(void **state)
{
    const struct rlimit none = {0, 0};
    int status;
    pid_t pid = fork();

    (void)state;
    if (pid == 0) {
        if ((geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) ||
            setrlimit(RLIMIT_NPROC, &none) != 0)
            _exit(77);
        all->n = 2;
        all->limit_ms = 10000;
        ni_run_trials(&ctx, act);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) == 77 || ni_trials_passed(all) == 2)
        skip();
    for (unsigned i = 0; i < 2; i++) {
        assert_ended(i, NI_TRIAL_ENDED, NI_STEP_START, 0);
        assert_int_equal(all->at[i].err, EAGAIN);
    }
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup(f, setup)
    const struct CMUnitTest tests[] = {
        CASE(test_ends),    CASE(test_none_waits),     CASE(test_does_not_die),
        CASE(test_sigchld), CASE(test_in_the_process), CASE(test_no_process),
    };
    all = ctx.trials =
        mmap(NULL, sizeof(*all), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return all == MAP_FAILED ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
