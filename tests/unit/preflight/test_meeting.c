/* SPDX-License-Identifier: Apache-2.0 */
/* Pods that meet: what their rails do, who is missing, who stalls or dies. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "findings/job.h"
#include "lib/pods.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "preflight/job.h"
#include "rail/step.h"
#include "rail/task.h"
#include "system/process.h"

/* Pods in any order, pod 0 last: all pairs of the ring meet the ends they should. */
static void test_all_good(void **state)
{
    const int64_t begin = ni_now_ms();
    pid_t pid[4];

    (void)state;
    for (unsigned i = 4; i-- > 0;)
        pid[i] = start_pod((struct options){i, 4, RAILS, 20000, NULL, NULL, 0, false, false});
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(end_of_pod(pid[i]), 0);
        assert_int_equal(shared->leaf[i].status, 0);
        assert_non_null(strstr(line_of(i), "good"));
    }
    assert_true(ni_now_ms() - begin < SOON_MS);
    assert_true(shared->called && !shared->bad);
    assert_int_equal(shared->n_here, 4);
    assert_true(shared->n_result >= 4 * RAILS);
    for (unsigned i = 0; i < shared->n_result; i++) {
        const struct ni_pair_result *r = &shared->result[i];

        assert_int_equal(r->step, NI_PAIR_DONE);
        assert_false(r->silent || r->at_to || r->err);
        assert_int_equal(r->latency_ns, 2000);
        assert_int_equal(r->write_mbps, 100);
        if (r->round == 0)
            assert_int_equal(r->pair.to, (r->pair.from + 1) % 4);
    }
}

/* The result of round 0 from `from`, of that rail. */
static const struct ni_pair_result *result_of(unsigned from, unsigned of_rail)
{
    for (unsigned i = 0; i < shared->n_result; i++) {
        const struct ni_pair_result *r = &shared->result[i];

        if (r->round == 0 && r->pair.from == from && r->pair.rail == of_rail)
            return r;
    }
    fail_msg("no result of %u rail %u", from, of_rail);
    return NULL;
}

/* A rail that fails, hangs or dies in a step is told with its step and side; the others pass. */
static void test_bad_rails(void **state)
{
    static const struct {
        enum fault fault;
        enum ni_rail_work work;
        enum ni_pair_step step;
        bool silent, at_to_of_1; /* of pair 1 -> 2, whose `to` is at fault */
    } row[] = {
        {FAILS, NI_WORK_QUEUES, NI_PAIR_QUEUES, false, true},
        {FAILS, NI_WORK_CONNECT, NI_PAIR_CONNECT, false, true},
        {DIES, NI_WORK_CONNECT, NI_PAIR_CONNECT, true, true},
        {HANGS, NI_WORK_CONNECT, NI_PAIR_CONNECT, true, true},
        {FAILS, NI_WORK_MOVE, NI_PAIR_SMALL, false, false},
        {DIES, NI_WORK_MOVE, NI_PAIR_SMALL, true, false},
    };
    pid_t pid[4];

    (void)state;
    for (unsigned i = 0; i < NI_COUNT(row); i++) {
        const struct ni_pair_result *r;

        memset(shared, 0, sizeof(*shared));
        shared->pod[2].fault = row[i].fault;
        shared->pod[2].work = row[i].work;
        shared->pod[2].rail = 1;
        start_all(pid, 4, RAILS, 20000);
        for (unsigned k = 0; k < 4; k++)
            (void)end_of_pod(pid[k]);
        assert_true(shared->called);
        r = result_of(2, 1);
        if (r->step != row[i].step || r->silent != row[i].silent)
            fail_msg("row %u: step %d silent %d err %d", i, r->step, r->silent, r->err);
        assert_int_equal(r->err, row[i].fault == FAILS ? EIO : 0);
        assert_false(r->at_to);
        if (row[i].at_to_of_1) {
            assert_int_equal(result_of(1, 1)->step, row[i].step);
            assert_true(result_of(1, 1)->at_to);
        }
        for (unsigned k = 0; k < 4; k++)
            assert_int_equal(result_of(k, 0)->step, NI_PAIR_DONE);
        assert_int_equal(result_of(0, 1)->step, NI_PAIR_DONE);
    }
}

/* Where three good pods are enough, the one whose port fails is told that the others go on without it;
   where four are needed, all hear that. */
static void test_need(void **state)
{
    pid_t pid[4];

    (void)state;
    for (need = 3; need <= 4; need++) {
        memset(shared, 0, sizeof(*shared));
        shared->pod[2].fault = FAILS;
        shared->pod[2].work = NI_WORK_QUEUES;
        shared->pod[2].rail = 1;
        start_all(pid, 4, RAILS, 20000);
        for (unsigned k = 0; k < 4; k++)
            assert_int_equal(end_of_pod(pid[k]), need == 4 || k == 2);
        assert_non_null(strstr(line_of(2), need == 3
                                               ? "bad: the job goes on without this pod: good: "
                                               : "3 of 4 pods are good, and 4 are needed"));
        assert_non_null(strstr(line_of(1), need == 3 ? "good: 3 of 4 pods are kept, drop rank 2; "
                                                     : "3 of 4 pods are good, and 4 are needed"));
    }
}

/* Where both ends of a pair fail, each pod hears of its own device; and of two that fail together the
   one whose link is down. */
static void test_both_ends_fail(void **state)
{
    pid_t pid[4];

    (void)state;
    for (unsigned k = 0; k < 4; k++) {
        shared->pod[k].fault = FAILS;
        shared->pod[k].work = NI_WORK_QUEUES;
    }
    start_all(pid, 4, 1, 20000);
    for (unsigned k = 0; k < 4; k++)
        (void)end_of_pod(pid[k]);
    for (unsigned k = 0; k < 4; k++) {
        assert_int_equal(result_of(k, 0)->step, NI_PAIR_QUEUES);
        assert_int_equal(result_of(k, 0)->err, EIO);
        assert_false(result_of(k, 0)->at_to);
    }
    memset(shared, 0, sizeof(*shared));
    for (unsigned k = 1; k < 3; k++) {
        shared->pod[k].fault = k == 1 ? FAILS : LINK_DOWN;
        shared->pod[k].work = NI_WORK_CONNECT;
    }
    start_all(pid, 4, 1, 20000);
    for (unsigned k = 0; k < 4; k++)
        (void)end_of_pod(pid[k]);
    assert_true(result_of(1, 0)->at_to);
    assert_int_equal(result_of(1, 0)->err, ENETUNREACH);
    assert_false(result_of(2, 0)->at_to);
    assert_int_equal(result_of(2, 0)->err, ENETUNREACH);
    assert_true(result_of(0, 0)->at_to);
    assert_int_equal(result_of(0, 0)->err, EIO);
}

/* A pod that dies in a round: its pairs are silent, it went away, the others end soon. */
static void test_pod_dies(void **state)
{
    static const enum ni_rail_work works[] = {NI_WORK_QUEUES, NI_WORK_CONNECT, NI_WORK_MOVE};
    pid_t pid[4];

    (void)state;
    for (unsigned i = 0; i < NI_COUNT(works); i++) {
        const int64_t begin = ni_now_ms();

        memset(shared, 0, sizeof(*shared));
        shared->pod[3].fault = POD_DIES;
        shared->pod[3].work = works[i];
        start_all(pid, 4, 1, 20000);
        for (unsigned k = 0; k < 4; k++)
            assert_int_equal(end_of_pod(pid[k]), k == 3 ? -1 : 1);
        assert_true(ni_now_ms() - begin < SOON_MS);
        assert_true(shared->called && shared->bad);
        assert_int_equal(shared->missing[3], NI_POD_WENT_AWAY);
        assert_int_equal(shared->missing[2], NI_POD_CAME);
        assert_true(result_of(3, 0)->silent);
        assert_int_equal(result_of(0, 0)->step, NI_PAIR_DONE);
    }
}

static void test_one_never_comes(void **state)
{
    pid_t pid[3];

    (void)state;
    for (unsigned rank = 0; rank < 3; rank++)
        pid[rank] = start_pod((struct options){rank, 4, 1, 1000, NULL, NULL, 0, false, false});
    for (unsigned rank = 0; rank < 3; rank++)
        assert_int_equal(end_of_pod(pid[rank]), 1);
    assert_true(shared->called && shared->bad);
    assert_int_equal(shared->n_here, 3);
    assert_int_equal(shared->missing[3], NI_POD_NEVER_CAME);
    assert_int_equal(shared->missing[0], NI_POD_CAME);
    for (unsigned rank = 0; rank < 3; rank++)
        assert_non_null(strstr(line_of(rank), "bad"));
}

/* A pod that ends in the middle of an answer is missed at once; one that stops there, before it had to
   answer. */
static void test_half_an_answer(void **state)
{
    (void)state;
    for (unsigned stops = 0; stops < 2; stops++) {
        pid_t pid = start_pod((struct options){0, 2, 1, 20000, NULL, NULL, 0, false, false});
        int fd = connect_raw();
        int64_t begin;

        send_raw(fd, HELLO WHO(4, "trainer-1") RANK(1, 2, "key"));
        assert_non_null(strstr(answer(fd), "welcome"));
        send_raw(fd, "{\"type\": \"facts\", \"pod.host\": \"trainer-1\", \"setting\": [], "
                     "\"rail\": [{\"hca\": \"fake_0\", \"port\": 1, \"subnet\": []}]}");
        assert_non_null(strstr(answer(fd), "\"do\""));
        begin = ni_now_ms();
        (void)send(fd, "\0\0\1\0{", 5, MSG_NOSIGNAL);
        if (stops == 0)
            (void)close(fd);
        assert_int_equal(end_of_pod(pid), 1);
        assert_int_equal(shared->missing[1], NI_POD_WENT_AWAY);
        assert_true(ni_now_ms() - begin > (stops ? 9000 : -1));
        assert_true(ni_now_ms() - begin < (stops ? 14500 : 9000));
        if (stops == 1)
            (void)close(fd);
    }
}

/* Its facts and its end come together: nothing else comes that would tell that it is gone. */
static void test_gone_after_facts(void **state)
{
    pid_t pid[3] = {start_pod((struct options){0, 3, 1, 12000, NULL, NULL, 0, false, false}), 0, 0};
    int fd = connect_raw();

    (void)state;
    send_raw(fd, HELLO WHO(4, "dead-1") RANK(1, 3, "key"));
    assert_non_null(strstr(answer(fd), "welcome"));
    assert_int_equal(kill(pid[0], SIGSTOP), 0);
    send_raw(fd, "{\"type\": \"facts\", \"pod.host\": \"dead-1\", \"setting\": [], \"rail\": []}");
    (void)close(fd);
    assert_int_equal(kill(pid[0], SIGCONT), 0);
    pid[1] = start_pod((struct options){1, 3, 1, 12000, NULL, "other-1", 0, false, false});
    pid[2] = start_pod((struct options){2, 3, 1, 12000, NULL, NULL, 0, false, false});
    for (unsigned i = 3; i-- > 0;)
        assert_int_equal(end_of_pod(pid[i]), 0);
}

/* What the pod was started with takes descriptors between those of the connections. */
static void test_inherited_descriptors(void **state)
{
    enum { INHERITED = 400 };
    static int fd[INHERITED];
    pid_t pid[2];

    (void)state;
    for (unsigned i = 0; i < INHERITED; i++)
        fd[i] = dup(STDERR_FILENO);
    start_all(pid, 2, 1, 10000);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(end_of_pod(pid[i]), 0);
    for (unsigned i = 0; i < INHERITED; i++)
        (void)close(fd[i]);
}

/* A pod that waits shorter than pod 0 still hears who is missing. */
static void test_shorter_patience(void **state)
{
    const int64_t begin = ni_now_ms();
    pid_t pid[2];

    (void)state;
    for (unsigned i = 0; i < 2; i++)
        pid[i] = start_pod(
            (struct options){i, 3, 1, i == 0 ? 60000 : WITHIN_MS, NULL, NULL, 0, false, false});
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(end_of_pod(pid[i]), 1);
    assert_true(ni_now_ms() - begin < WITHIN_MS + LATE_MS);
    assert_non_null(strstr(line_of(1), "1 of 3 pods never came: rank 2"));
}

/* A pod that answers each request in time, but so late that the rounds take too long, is the one
   that is named: while it owes an answer, or after all have answered. */
static void stalls(int ms, int64_t rounds_ms)
{
    pid_t pid[4];

    stall.rank = 2;
    stall.ms = ms;
    stall.rounds_ms = rounds_ms;
    start_all(pid, 4, 1, 20000);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(end_of_pod(pid[i]), 1);
    assert_true(shared->called && shared->bad);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(shared->missing[i], i == 2 ? NI_POD_WENT_AWAY : NI_POD_CAME);
    assert_true(reported(NI_F_JOB_POD_LOST, "trainer-2", "1 of 4 pods"));
    for (unsigned i = 0; i < shared->findings.n; i++)
        assert_true(shared->findings.at[i].id == NI_F_JOB_POD_LOST ||
                    ni_finding_severity(shared->findings.at[i].id) != NI_ERROR);
    assert_null(strstr(line_of(1), "pod 0 "));
}

static void test_stalls(void **state)
{
    (void)state;
    stalls(4500, 6000);
}

static void test_stalls_a_little(void **state)
{
    (void)state;
    stalls(700, 1000);
}

/* A limit of descriptors that is too low for so many pods is said at once. */
static void test_few_descriptors(void **state)
{
    pid_t pid =
        start_pod((struct options){.ranks = 300, .rails = 1, .within_ms = 20000, .fds = 256});

    (void)state;
    assert_int_equal(end_of_pod(pid), 1);
    assert_int_equal(shared->leaf[0].status, -EMFILE);
    assert_non_null(strstr(line_of(0), "ulimit"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STAR(test_all_good),         STAR(test_bad_rails),       STAR(test_need),
        STAR(test_both_ends_fail),   STAR(test_pod_dies),        STAR(test_shorter_patience),
        STAR(test_one_never_comes),  STAR(test_half_an_answer),  STAR(test_stalls),
        STAR(test_stalls_a_little),  STAR(test_few_descriptors), STAR(test_inherited_descriptors),
        STAR(test_gone_after_facts),
    };

    return run_pods("meeting", tests, NI_COUNT(tests));
}
