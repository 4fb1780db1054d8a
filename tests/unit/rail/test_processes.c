/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of the rails: what hangs or crashes is told, and holds up no other; and none is left. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rail/processes.h"
#include "rail/step.h"
#include "rail/task.h"
#include "system/process.h"
#include <cmocka.h>

enum { N = 3, GOOD = 0, BAD = 1 };

/* For a busy machine: what a rail does is done in ENOUGH_MS; LONG_MS is for what none waits for. */
enum { ENOUGH_MS = 2000, LONG_MS = 60000 };

/* What the rail BAD does is told by its service level; `bytes` counts what the same process did. */
enum { WELL, HANGS, CRASHES };

static void work(struct ni_rail_task *task, enum ni_rail_work what, void **state)
{
    static int64_t calls;

    *state = task;
    task->bytes = ++calls;
    task->size = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
    if (what == NI_WORK_QUEUES && task->service_level == HANGS)
        for (;;)
            (void)pause();
    if (what == NI_WORK_QUEUES && task->service_level == CRASHES)
        (void)raise(SIGKILL);
    for (int i = 0; i < NI_ROLES; i++)
        if (what == NI_WORK_QUEUES && task->has[i])
            task->result[i].step = NI_PAIR_CONNECT;
}

static int64_t ask(struct ni_rails *r, enum ni_rail_work what, int64_t limit_ms)
{
    const int64_t begin = ni_now_ms();

    ni_rails_ask(r, what, limit_ms);
    while (!ni_rails_done(r, INT32_MAX))
        ;
    return ni_now_ms() - begin;
}

static struct ni_rails rails;

static int start(void **state)
{
    (void)state;
    if (ni_rails_start(&rails, N, work) != 0)
        return -1;
    for (unsigned i = 0; i < N; i++)
        rails.task[i].has[NI_ROLE_INITIATOR] = rails.task[i].has[NI_ROLE_TARGET] = true;
    return 0;
}

static int end(void **state)
{
    (void)state;
    ni_rails_end(&rails);
    return waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD ? 0 : -1; /* no child is left */
}

static void expect(unsigned i, enum ni_pair_step step, bool silent)
{
    for (int role = 0; role < NI_ROLES; role++) {
        assert_int_equal(rails.task[i].result[role].step, step);
        assert_int_equal(rails.task[i].result[role].silent, silent);
    }
}

static void test_all_well(void **state)
{
    (void)state;
    ask(&rails, NI_WORK_OPEN, LONG_MS);
    ask(&rails, NI_WORK_QUEUES, LONG_MS);
    for (unsigned i = 0; i < N; i++) {
        expect(i, NI_PAIR_CONNECT, false);
        assert_int_equal(rails.task[i].bytes, 2);
    }
}

/* What they measure has naps in it, which end on time. The command's own are as they were. */
static void test_naps(void **state)
{
    const int own = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);

    (void)state;
    assert_true(own > 1);
    ask(&rails, NI_WORK_OPEN, LONG_MS);
    for (unsigned i = 0; i < N; i++)
        assert_int_equal(rails.task[i].size, 1);
    assert_int_equal(prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0), own);
}

static void stays_silent(int how, int64_t least_ms)
{
    int64_t took;

    ask(&rails, NI_WORK_OPEN, LONG_MS);
    rails.task[BAD].service_level = how;
    took = ask(&rails, NI_WORK_QUEUES, ENOUGH_MS);
    assert_in_range(took, least_ms, LONG_MS / 2);
    expect(GOOD, NI_PAIR_CONNECT, false);
    expect(BAD, NI_PAIR_START, true);
    /* nor is there another process in a later round */
    rails.task[BAD].service_level = WELL;
    ask(&rails, NI_WORK_QUEUES, LONG_MS);
    expect(BAD, NI_PAIR_START, true);
    assert_int_equal(rails.task[GOOD].bytes, 3);
}

static void test_hangs(void **state)
{
    (void)state;
    stays_silent(HANGS, ENOUGH_MS);
}

static void test_crashes(void **state)
{
    (void)state;
    stays_silent(CRASHES, 0);
}

/* A rail without a role is not asked; the role TO has nothing to do while data moves. */
static void test_roles(void **state)
{
    (void)state;
    ask(&rails, NI_WORK_OPEN, LONG_MS);
    rails.task[2].has[NI_ROLE_INITIATOR] = rails.task[2].has[NI_ROLE_TARGET] = false;
    ask(&rails, NI_WORK_QUEUES, LONG_MS);
    assert_int_equal(rails.task[2].bytes, 1);
    expect(2, NI_PAIR_START, false);
    (void)kill(rails.at[BAD].pid, SIGKILL);
    ask(&rails, NI_WORK_MOVE, LONG_MS);
    assert_true(rails.task[BAD].result[NI_ROLE_INITIATOR].silent);
    assert_false(rails.task[BAD].result[NI_ROLE_TARGET].silent);
}

/* The rails' processes do not outlive the one that started them. */
static void test_orphans(void **state)
{
    int fd[2];
    pid_t pid, rail = 0;

    (void)state;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    assert_int_equal(pipe(fd), 0);
    pid = fork();
    if (pid == 0) {
        if (start(NULL) == 0 && write(fd[1], &rails.at[0].pid, sizeof(rail)) == sizeof(rail))
            (void)pause();
        _exit(1);
    }
    assert_int_equal(read(fd[0], &rail, sizeof(rail)), sizeof(rail));
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(waitpid(rail, NULL, 0), rail);
    (void)close(fd[0]);
    (void)close(fd[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_all_well, start, end),
        cmocka_unit_test_setup_teardown(test_naps, start, end),
        cmocka_unit_test_setup_teardown(test_hangs, start, end),
        cmocka_unit_test_setup_teardown(test_crashes, start, end),
        cmocka_unit_test_setup_teardown(test_roles, start, end),
        cmocka_unit_test(test_orphans),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
