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
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/context.h"
#include "nccl_init/base.h"
#include "nccl_init/text.h"
#include "rail/step.h"
#include "rail/task.h"
#include "selftest/selftest.h"
#include "selftest/trials.h"
#include <cmocka.h>

/* A busy machine with sanitizers: all that a trial does is done in ENOUGH_MS; what would wait for the limit of those that
   do not hang is later than SLACK_MS. */
enum { ENOUGH_MS = 2000, LONG_MS = 60000, SLACK_MS = 30000 };

static struct ni_trials trials, *const all = &trials;
static struct ni_context ctx;
static ni_rail_fn *bodies[8];
static bool kill_is_lost;
static pid_t hanging; /* the first that should die */

int kill(pid_t pid, int sig)
{
    hanging = hanging == 0 ? pid : hanging;
    return kill_is_lost ? 0 : (int)syscall(SYS_kill, pid, sig);
}

/* ---- what trials do ---- */

static void act(struct ni_rail_task *task, enum ni_rail_work work, void **state)
{
    assert_int_equal(work, NI_WORK_MOVE);
    bodies[task->rail.port](task, work, state);
}

static void passes(struct ni_rail_task *task, enum ni_rail_work work, void **state)
{
    (void)work;
    (void)state;
    task->result[NI_ROLE_INITIATOR].step = NI_PAIR_DONE;
}

static void fails(struct ni_rail_task *task, enum ni_rail_work work, void **state)
{
    (void)work;
    (void)state;
    task->result[NI_ROLE_INITIATOR].step = NI_PAIR_CONNECT;
    task->result[NI_ROLE_INITIATOR].err = ENETUNREACH;
}

static void hangs(struct ni_rail_task *task, enum ni_rail_work work, void **state)
{
    sigset_t every;

    (void)work;
    (void)state;
    task->result[NI_ROLE_INITIATOR].step = NI_PAIR_REGISTER;
    sigfillset(&every);
    sigprocmask(SIG_SETMASK, &every, NULL);
    for (;;)
        pause();
}

/* A sanitizer would turn it into an exit. */
static void crashes(struct ni_rail_task *task, enum ni_rail_work work, void **state)
{
    (void)work;
    (void)state;
    task->result[NI_ROLE_INITIATOR].step = NI_PAIR_OPEN;
    (void)signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
}

static void says_nothing(struct ni_rail_task *task, enum ni_rail_work work, void **state)
{
    (void)work;
    (void)state;
    task->result[NI_ROLE_INITIATOR].step = NI_PAIR_FIND;
    _exit(0);
}

/* Into fields that nobody fills in here: descriptors beside 0 to 2 and the one that it is asked by,
   those of 0 to 2 that are not /dev/null, what ends the process with its parent, whether it leaves a
   core. */
static void looks_around(struct ni_rail_task *task, enum ni_rail_work work, void **state)
{
    int death = 0;

    task->rank = task->number = 0;
    for (int fd = 3; fd < 1024; fd++)
        task->rank += fcntl(fd, F_GETFD) >= 0;
    for (int fd = 0; fd < 3; fd++) {
        struct stat st;

        task->number += fstat(fd, &st) != 0 || st.st_rdev != makedev(1, 3);
    }
    (void)prctl(PR_GET_PDEATHSIG, &death, 0, 0, 0);
    task->vendor_err = death;
    task->traffic_class = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
    passes(task, work, state);
}

/* ---- the process around them ---- */

struct world {
    char fds[4096];
    sigset_t mask;
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
}

/* Runs n trials; all is as it was then. Whether they took that long. */
static void run(unsigned n, int64_t limit_ms, int64_t least_ms)
{
    static struct world before, after;

    all->n = n;
    all->limit_ms = limit_ms;
    look_at(&before);
    assert_int_equal(ni_run_trials(&ctx, &trials, act), 0);
    look_at(&after);
    assert_string_equal(before.fds, after.fds);
    assert_memory_equal(&before.mask, &after.mask, sizeof(sigset_t));
    assert_in_range(all->took_ms, least_ms, least_ms + SLACK_MS);
    if (kill_is_lost) {
        kill_is_lost = false;
        assert_int_equal(kill(hanging, SIGKILL), 0);
        assert_int_equal(waitpid(-1, NULL, 0), hanging);
    }
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void assert_ended(unsigned i, enum ni_pair_step step, bool silent)
{
    assert_int_equal(all->task[i].result[NI_ROLE_INITIATOR].step, step);
    assert_int_equal(all->task[i].result[NI_ROLE_INITIATOR].silent, silent);
}

static int setup(void **state)
{
    (void)state;
    memset(all, 0, sizeof(*all));
    for (unsigned i = 0; i < NI_COUNT(bodies); i++) {
        bodies[i] = passes;
        all->task[i].rail.port = i;
    }
    kill_is_lost = false;
    hanging = 0;
    ctx.own = (struct ni_env){environ};
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
    run(6, ENOUGH_MS, ENOUGH_MS);
    assert_ended(0, NI_PAIR_DONE, false);
    assert_ended(1, NI_PAIR_CONNECT, false);
    assert_int_equal(all->task[1].result[NI_ROLE_INITIATOR].err, ENETUNREACH);
    assert_ended(2, NI_PAIR_REGISTER, true);
    assert_ended(3, NI_PAIR_OPEN, true);
    assert_ended(4, NI_PAIR_FIND, true);
    assert_ended(5, NI_PAIR_DONE, false);
}

static void test_none_waits(void **state)
{
    (void)state;
    run(0, LONG_MS, 0);
    run(8, LONG_MS, 0);
    for (unsigned i = 0; i < 8; i++)
        assert_ended(i, NI_PAIR_DONE, false);
}

/* As in uninterruptible sleep: a second, and no more. */
static void test_does_not_die(void **state)
{
    (void)state;
    kill_is_lost = true;
    bodies[0] = hangs;
    run(2, ENOUGH_MS, ENOUGH_MS + 1000);
    assert_ended(0, NI_PAIR_REGISTER, true);
    assert_ended(1, NI_PAIR_DONE, false);
}

/* Ignored, there is no status of a process. */
static void test_sigchld(void **state)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, old;

    (void)state;
    sigaction(SIGCHLD, &ignore, &old);
    bodies[0] = crashes;
    run(1, LONG_MS, 0);
    assert_ended(0, NI_PAIR_OPEN, true);
    sigaction(SIGCHLD, &old, NULL);
}

/* What hangs holds no descriptor of the pod's, ends with this program, and leaves no core. */
static void test_in_the_process(void **state)
{
    int fd = open("/", O_RDONLY);

    (void)state;
    assert_int_equal(dup2(fd, 1022), 1022);
    bodies[0] = looks_around;
    run(1, LONG_MS, 0);
    assert_ended(0, NI_PAIR_DONE, false);
    assert_int_equal(all->task[0].rank, 1);
    assert_int_equal(all->task[0].number, 0);
    assert_int_equal(all->task[0].vendor_err, SIGKILL);
    assert_int_equal(all->task[0].traffic_class, 0);
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
        _exit(ni_run_trials(&ctx, &trials, act) == -EAGAIN ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(status, 0);
}

/* What a self-test says that SIGTERM ends while a port hangs. */
static void test_who_is_awaited(void **state)
{
    char said[1024] = "";
    int fd[2], status;
    size_t n = 0;
    ssize_t got;
    pid_t pid;

    (void)state;
    assert_int_equal(pipe(fd), 0);
    pid = fork();
    if (pid == 0) {
        (void)dup2(fd[1], STDERR_FILENO);
        (void)close(fd[0]);
        (void)signal(SIGTERM, SIG_DFL);
        ctx.options.log_level = NI_LOG_INFO;
        ctx.options.root = "/nowhere"; /* not the pod's own termination log */
        (void)strcpy(all->task[0].rail.hca, "mlx5_0");
        bodies[0] = hangs;
        all->n = 2;
        all->limit_ms = LONG_MS;
        (void)ni_run_trials(&ctx, &trials, act);
        _exit(1);
    }
    (void)close(fd[1]);
    usleep(ENOUGH_MS * 1000);
    (void)syscall(SYS_kill, pid, SIGTERM);
    while ((got = read(fd[0], said + n, sizeof(said) - 1 - n)) > 0)
        n += (size_t)got;
    (void)close(fd[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    assert_string_equal(
        said,
        "nccl-init: warning: self-test: ended by a signal while it waited: ports: 1 of 2 done; "
        "waiting for mlx5_0/0\n");
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup(f, setup)
    const struct CMUnitTest tests[] = {
        CASE(test_ends),           CASE(test_none_waits),     CASE(test_does_not_die),
        CASE(test_sigchld),        CASE(test_in_the_process), CASE(test_no_process),
        CASE(test_who_is_awaited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
