/* SPDX-License-Identifier: Apache-2.0 */
/* Who disturbs pods that meet, or is refused: strangers, twins, the slow, pods of another attempt. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "findings/job.h"
#include "lib/pods.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/text.h"
#include "preflight/job.h"
#include "system/process.h"

/* Those who are refused hear why; the job hears of those who could be its own. */
static void test_refused(void **state)
{
    static const struct {
        const char *hello, *no, *host, *finding;
    } row[] = {
        {HELLO WHO(4, "old-1") RANK(1, 2, "another"), "its key is not that of pod 0", "strangers",
         "4 connections came without the key or secret of the job; the last one from 127.0.0.1"},
        {HELLO WHO(4, "old-1") RANK(1, 2, ""), "its key is not", NULL, NULL},
        {HELLO WHO(4, "old-1") ", \"party.rank\": 1, \"party.ranks\": 2}", "its key is not", NULL,
         NULL},
        {HELLO WHO(9, "old-1") RANK(7, 9, "ke"), "its key is not", NULL, NULL},
        {HELLO WHO(2, "old-2") RANK(1, 2, "key"), "nccl-init speaks protocol 2", "127.0.0.1",
         "speaks 4"},
        {HELLO WHO(4, "odd-1") RANK(1, 3, "key"), "pod 0 is rank 0 of 2", "127.0.0.1", "of 3 pods"},
        {HELLO WHO(4, "\\u001b[2J\\u00e9") RANK(5, 9, "key"), "rank 5 of 9", "127.0.0.1",
         "of 9 pods"},
        {"{\"type\": \"hello\", \"magic\": \"nccl\"}", "", NULL, NULL},
        {"GET / HTTP/1.1\r\nHost: trainer-0\r\n\r\n", "", NULL, NULL},
        {HELLO WHO(4, "h") RANK(-1, 2, "key"), "", NULL, NULL},
        {HELLO WHO(4, "h") RANK(1e99, 2, "key"), "", NULL, NULL},
        {HELLO WHO(4, "h") RANK(99999999999999999999, 2, "key"), "", NULL, NULL},
        {HELLO WHO(4, "h") RANK(NaN, 2, "key"), "", NULL, NULL},
        {HELLO WHO(4, "h") RANK("1", 2, "key"), "", NULL, NULL},
        {"{\"type\": \"facts\"}", "", NULL, NULL},
        {"{\"type\": \"verdict\", \"verdict.line\": \"good\", \"verdict.outcome\": 2, "
         "\"findings\": []}",
         "", NULL, NULL},
    };
    pid_t pid[2] = {start_pod((struct options){0, 2, 1, 20000, NULL, NULL, 0, false, false}), 0};

    (void)state;
    for (unsigned i = 0; i < NI_COUNT(row); i++) {
        int fd = connect_raw();
        const char *a;

        send_raw(fd, row[i].hello);
        a = answer(fd);
        if (row[i].no[0] ? !strstr(a, row[i].no) || !strstr(a, "\"no\"") : a[0])
            fail_msg("row %u: %s", i, a);
        if (strstr(a, "`") || strstr(a, "another") != strstr(a, "another job")) /* a key */
            fail_msg("row %u: %s", i, a);
        assert_int_equal(recv(fd, (char[1]){0}, 1, 0) <= 0, 1);
        (void)close(fd);
    }
    pid[1] = start_pod((struct options){1, 2, 1, 20000, NULL, NULL, 0, false, false});
    assert_int_equal(end_of_pod(pid[0]), 0);
    assert_int_equal(end_of_pod(pid[1]), 0);
    for (unsigned i = 0; i < NI_COUNT(row); i++)
        if (row[i].host && !reported(NI_F_JOB_REFUSED, row[i].host, row[i].finding))
            fail_msg("row %u: no finding", i);
    assert_int_equal(ni_findings_count(&shared->findings, NI_ERROR), 0);
    for (unsigned i = 0; i < shared->findings.n; i++)
        assert_true(!strstr(shared->findings.at[i].message, "old-") &&
                    !strstr(shared->findings.at[i].message, "9.9")); /* nothing that they said */
}

/* Who resets his connection has an address all the same: he is not "this pod". */
static void test_reset(void **state)
{
    static const char *const hellos[] = {
        HELLO WHO(4, "odd-1") RANK(1, 3, "key"),
        HELLO WHO(4, "odd-1") RANK(1, 2, "another"),
    };
    static const struct linger reset = {1, 0};
    pid_t pid[2] = {start_pod((struct options){0, 2, 1, 20000, NULL, NULL, 0, false, false}), 0};

    (void)state;
    (void)close(connect_raw());
    (void)kill(pid[0], SIGSTOP); /* until both are reset */
    for (unsigned i = 0; i < NI_COUNT(hellos); i++) {
        const int fd = connect_raw();

        send_raw(fd, hellos[i]);
        assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
        (void)close(fd);
    }
    (void)kill(pid[0], SIGCONT);
    (void)usleep(200000);
    pid[1] = start_pod((struct options){1, 2, 1, 20000, NULL, NULL, 0, false, false});
    for (unsigned k = 0; k < 2; k++)
        assert_int_equal(end_of_pod(pid[k]), 0);
    assert_true(reported(NI_F_JOB_REFUSED, "127.0.0.1", "of 3 pods"));
    assert_true(reported(NI_F_JOB_REFUSED, "strangers", "1 connection came "));
    assert_true(reported(NI_F_JOB_REFUSED, "strangers", "the last one from 127.0.0.1"));
}

/* Who has no key takes no rank, neither one that is missing nor that of a live pod, and makes no error;
   nor does it end the waiting. */
static void test_no_key_no_rank(void **state)
{
    static const char *const hellos[] = {
        HELLO WHO(4, "stranger") RANK(1, 3, ""),
        HELLO WHO(4, "stranger") RANK(2, 3, "other"),
        HELLO WHO(4, "stranger") ", \"within_ms\": 1, \"party.rank\": 1, \"party.ranks\": 3}",
    };
    pid_t pid[3] = {start_pod((struct options){0, 3, 1, 20000, NULL, NULL, 0, false, false}), 0, 0};

    (void)state;
    pid[1] = start_pod((struct options){1, 3, 1, 20000, NULL, NULL, 0, false, false});
    wait_for_pods(2);
    for (unsigned i = 0; i < NI_COUNT(hellos); i++) {
        int fd = connect_raw();

        send_raw(fd, hellos[i]);
        assert_non_null(strstr(answer(fd), "its key is not that of pod 0"));
        (void)close(fd);
    }
    (void)usleep(1000000);
    pid[2] = start_pod((struct options){2, 3, 1, 20000, NULL, NULL, 0, false, false});
    for (unsigned i = 0; i < 3; i++)
        if (end_of_pod(pid[i]) != 0)
            fail_msg("%u: %s", i, line_of(i));
    assert_int_equal(ni_findings_count(&shared->findings, NI_ERROR), 0);
    assert_true(reported(NI_F_JOB_REFUSED, "strangers", "3 connections"));
}

/* Without a key another job can have the same pod 0: on a host network it has the same address. */
static void meet_without_key(bool host_network, ni_finding_number id)
{
    pid_t pid[2];

    for (unsigned k = 0; k < 2; k++)
        pid[k] = start_pod((struct options){k, 2, 1, 20000, NULL, NULL, 0, true, host_network});
    for (unsigned k = 0; k < 2; k++)
        assert_int_equal(end_of_pod(pid[k]), 0);
    assert_true(reported(id, "key", "the job has no key but the name of pod 0"));
}

static void test_no_key(void **state)
{
    (void)state;
    meet_without_key(false, NI_F_JOB_KEY_NAME);
}

static void test_no_key_on_host(void **state)
{
    (void)state;
    meet_without_key(true, NI_F_JOB_KEY_HOST);
}

/* However many strangers come, there is room for what is wrong with the job; one that says it is pod 0
   does not make it bad. */
static void test_many_refused(void **state)
{
    char hello[256];
    pid_t pid = start_pod((struct options){0, 2, 1, 3000, NULL, NULL, 0, false, false});
    unsigned refused = 0;
    int fd = connect_raw();

    (void)state;
    send_raw(fd, HELLO WHO(4, "posed-0") RANK(0, 2, "key"));
    assert_non_null(strstr(answer(fd), "pod 0 is rank 0"));
    (void)close(fd);
    for (unsigned i = 0; i < NI_MAX_AGAIN; i++) {
        fd = connect_raw();
        (void)ni_format(hello, sizeof(hello),
                        HELLO WHO(4, "old") ", \"party.rank\": 1, \"party.ranks\": %u, "
                                            "\"party.key\": \"key\"}",
                        i + 3);
        send_raw(fd, hello);
        (void)answer(fd);
        (void)close(fd);
    }
    (void)end_of_pod(pid);
    for (unsigned i = 0; i < shared->findings.n; i++)
        refused += shared->findings.at[i].id == NI_F_JOB_REFUSED;
    assert_int_equal(refused, 16);
    assert_true(ni_findings_has(&shared->findings, NI_F_JOB_MISSING));
    assert_non_null(strstr(
        line_of(0), "(refused: 127.0.0.1: it is rank 0 of 2 pods, pod 0 is rank 0 of 2; and "));
    assert_false(ni_findings_has(&shared->findings, NI_F_JOB_RANK_TWICE));
}

/* Sends for ever what has no end, until the hub hangs up. */
static pid_t disturb(void (*how)(int fd))
{
    pid_t pid = fork_child();
    int fd;

    if (pid != 0)
        return pid;
    fd = connect_raw();
    how(fd);
    (void)pause();
    _exit(0);
}

static void one_byte_at_a_time(int fd)
{
    const char hello[] = HELLO WHO(4, "slow") RANK(1, 3, "key");

    (void)send(fd, "\0\0\0\xff", 4, MSG_NOSIGNAL);
    for (size_t i = 0; i < sizeof(hello) - 1 && send(fd, hello + i, 1, MSG_NOSIGNAL) == 1; i++)
        (void)usleep(300000);
}

static void ten_megabytes(int fd)
{
    static char nonsense[1 << 16];

    memset(nonsense, 'A', sizeof(nonsense));
    for (int i = 0; i < 160 && send(fd, nonsense, sizeof(nonsense), MSG_NOSIGNAL) > 0;)
        i++;
}

static void nonsense_after_welcome(int fd)
{
    send_raw(fd, HELLO WHO(4, "trainer-1") RANK(1, 3, "key"));
    (void)answer(fd);
    (void)send(fd, "\0\0\xff\xff{", 5, MSG_NOSIGNAL); /* half a message, of rank 1 */
}

static void says_nothing(int fd)
{
    (void)fd;
}

static void too_long(int fd)
{
    (void)send(fd, "\xff\xff\xff\xff{}", 6, MSG_NOSIGNAL);
}

static void stops_in_head(int fd)
{
    (void)send(fd, "\0\0", 2, MSG_NOSIGNAL);
}

/* All of them at once, and 300 that say nothing: the pods meet as if they were alone. Rank 1 comes a
   second time from the same host, and so replaces who took its name. */
static void test_disturbed(void **state)
{
    static void (*const how[])(int) = {one_byte_at_a_time, ten_megabytes, nonsense_after_welcome,
                                       says_nothing,       too_long,      stops_in_head};
    pid_t bad[NI_COUNT(how)], pid[3];
    int idle[300];
    int64_t begin;

    (void)state;
    pid[0] = start_pod((struct options){0, 3, 1, 20000, NULL, NULL, 0, false, false});
    for (unsigned i = 0; i < NI_COUNT(how); i++)
        bad[i] = disturb(how[i]);
    for (unsigned i = 0; i < NI_COUNT(idle); i++)
        idle[i] = connect_raw();
    (void)usleep(300000);
    begin = ni_now_ms();
    for (unsigned i = 1; i < 3; i++)
        pid[i] = start_pod((struct options){i, 3, 1, 20000, NULL, NULL, 0, false, false});
    for (unsigned i = 0; i < 3; i++)
        if (end_of_pod(pid[i]) != 0)
            fail_msg("%u: %d %s", i, shared->leaf[i].status, line_of(i));
    assert_true(ni_now_ms() - begin < SOON_MS); /* the first of `how` would take a minute */
    assert_int_equal(shared->n_here, 3);
    for (unsigned i = 0; i < NI_COUNT(how); i++) {
        (void)kill(bad[i], SIGKILL);
        (void)waitpid(bad[i], NULL, 0);
    }
    for (unsigned i = 0; i < NI_COUNT(idle); i++)
        (void)close(idle[i]);
}

/* Who is slow with its hello or facts, or in the middle of a message, is hung up on. */
static void test_slow_is_dropped(void **state)
{
    pid_t pid = start_pod((struct options){0, 3, 1, A_MINUTE_MS, NULL, NULL, 0, false, false});
    int idle = connect_raw(), half = connect_raw(), greeted = connect_raw();
    const int64_t begin = ni_now_ms();

    (void)state;
    (void)send(half, "\0\0\1\0{", 5, MSG_NOSIGNAL);
    send_raw(greeted, HELLO WHO(4, "stranger") RANK(2, 3, "key"));
    assert_non_null(strstr(answer(greeted), "welcome"));
    assert_dropped(idle, half);
    assert_string_equal(answer(greeted), "");
    assert_true(ni_now_ms() - begin > 4000 && ni_now_ms() - begin < A_MINUTE_MS / 2);
    (void)close(idle);
    (void)close(half);
    (void)close(greeted);
    end_without_pod_2(pid);
}

/* Two live pods with one rank: the second is told to come later, and both are named. */
static void test_twins(void **state)
{
    pid_t pid[3] = {start_pod((struct options){0, 2, 1, 20000, NULL, NULL, 0, false, false}), 0, 0};
    int fd = connect_raw();

    (void)state;
    send_raw(fd, HELLO WHO(4, "trainer-1") RANK(1, 2, "key"));
    assert_non_null(strstr(answer(fd), "welcome"));
    pid[1] = start_pod((struct options){1, 2, 1, WITHIN_MS, NULL, "other-1", 0, false, false});
    assert_int_equal(end_of_pod(pid[1]), 1);
    assert_int_equal(shared->leaf[1].status, -ETIMEDOUT);
    assert_non_null(strstr(line_of(1), "rank 1 is also that of trainer-1"));
    pid[2] = start_pod(
        (struct options){1, 2, 1, 20000, NULL, NULL, 0, false, false}); /* trainer-1 itself */
    assert_int_equal(end_of_pod(pid[2]), 1);
    assert_int_equal(end_of_pod(pid[0]), 1);
    assert_int_equal(shared->n_here, 2);
    assert_true(reported(NI_F_JOB_RANK_TWICE, "other-1", "trainer-1"));
    (void)close(fd);
}

/* The pod whose rank a dead one had takes its place once that is given up, and the job is good. */
static void test_second_takes_over(void **state)
{
    pid_t pid[2] = {start_pod((struct options){0, 2, 1, 12000, NULL, NULL, 0, false, false}), 0};
    int fd = connect_raw();

    (void)state;
    send_raw(fd, HELLO WHO(4, "dead-1") RANK(1, 2, "key"));
    assert_non_null(strstr(answer(fd), "welcome"));
    pid[1] = start_pod((struct options){1, 2, 1, 12000, NULL, "other-1", 0, false, false});
    assert_int_equal(end_of_pod(pid[1]), 0);
    assert_int_equal(end_of_pod(pid[0]), 0);
    assert_false(reported(NI_F_JOB_RANK_TWICE, "other-1", ""));
    (void)close(fd);
}

/* A pod with the key of an earlier attempt goes on asking until its time is over, and says why. */
static void test_old_key(void **state)
{
    pid_t pid[2] = {start_pod((struct options){0, 2, 1, 2000, NULL, NULL, 0, false, false}),
                    start_pod((struct options){1, 2, 1, 1000, "old", NULL, 0, false, false})};

    (void)state;
    assert_int_equal(end_of_pod(pid[1]), 1);
    assert_int_equal(shared->leaf[1].status, -ETIMEDOUT);
    assert_non_null(strstr(line_of(1), "its key is not that of pod 0"));
    assert_null(strstr(line_of(1), "`"));
    assert_int_equal(end_of_pod(pid[0]), 1);
    assert_int_equal(shared->missing[1], NI_POD_NEVER_CAME);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STAR(test_refused),
        STAR(test_reset),
        STAR(test_no_key),
        STAR(test_no_key_on_host),
        STAR(test_no_key_no_rank),
        STAR(test_disturbed),
        STAR(test_many_refused),
        STAR(test_twins),
        STAR(test_slow_is_dropped),
        STAR(test_old_key),
        STAR(test_second_takes_over),
    };

    return run_pods("strangers", tests, NI_COUNT(tests));
}
