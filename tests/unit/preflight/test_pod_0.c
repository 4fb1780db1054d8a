/* SPDX-License-Identifier: Apache-2.0 */
/* A pod 0 that is none, goes wrong, or cannot serve its port. */
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

#include "lib/pods.h"
#include "nccl_init/base.h"
#include "rail/task.h"
#include "system/process.h"

static void trickles(int fd)
{
    (void)answer(fd);
    (void)send(fd, "\0\0\xff\xff", 4, MSG_NOSIGNAL);
    while (send(fd, "{", 1, MSG_NOSIGNAL) == 1)
        (void)usleep(200000);
}

static void huge(int fd)
{
    (void)answer(fd);
    (void)send(fd, "\xff\xff\xff\xff{}", 6, MSG_NOSIGNAL);
}

/* More time than there is, as protocol 2 had it. */
static void promises(int fd)
{
    (void)answer(fd);
    send_raw(fd, "{\"type\": \"welcome\", \"within_ms\": 9000000000000000000}");
}

static void says_it_is_there(int fd)
{
    static const char alive[] = "\0\0\0\x11{\"type\": \"alive\"}";

    promises(fd);
    while (send(fd, alive, sizeof(alive) - 1, MSG_NOSIGNAL) > 0)
        (void)usleep(100000);
}

static void says_it_at_once(int fd)
{
    static const char alive[] = "\0\0\0\x11{\"type\": \"alive\"}";

    promises(fd);
    while (send(fd, alive, sizeof(alive) - 1, MSG_NOSIGNAL) > 0)
        continue;
}

/* Whatever pod 0 does, a pod waits for the others as long as it was told to, and hardly longer. */
static void test_pod_0_misbehaves(void **state)
{
    static void (*const how[])(int) = {silent,   trickles,         huge,
                                       promises, says_it_is_there, says_it_at_once};
    int listening = listen_raw();

    (void)state;
    for (unsigned i = 0; i < NI_COUNT(how); i++) {
        pid_t bad = fork_child(), pid;
        const int64_t begin = ni_now_ms();

        while (bad == 0)
            how[i](take_leaf(listening));
        pid = start_pod((struct options){1, 2, 1, WITHIN_MS, NULL, NULL, 0, false, false});
        assert_int_equal(end_of_pod(pid), 1);
        if (ni_now_ms() - begin > WITHIN_MS + LATE_MS)
            fail_msg("%u: %lld ms", i, (long long)(ni_now_ms() - begin));
        (void)kill(bad, SIGKILL);
        (void)waitpid(bad, NULL, 0);
    }
    (void)close(listening);
}

/* Pod 0 is stopped while it waits for a third pod. */
static void test_pod_0_stands_still(void **state)
{
    enum { MEET_MS = 8000 };
    const int64_t begin = ni_now_ms();
    pid_t pid[2];

    (void)state;
    for (unsigned i = 0; i < 2; i++)
        pid[i] = start_pod((struct options){i, 3, 1, MEET_MS, NULL, NULL, 0, false, false});
    wait_for_pods(2);
    assert_int_equal(kill(pid[0], SIGSTOP), 0);
    assert_int_equal(end_of_pod(pid[1]), 1);
    assert_true(ni_now_ms() - begin < MEET_MS + LATE_MS);
    assert_non_null(strstr(line_of(1), "pod 0 no longer answers"));
    (void)kill(pid[0], SIGKILL);
    (void)waitpid(pid[0], NULL, 0);
}

/* Pod 0 has begun, and then is silent; or asks for data for weeks. */
static void test_pod_0_goes_on_for_ever(void **state)
{
    enum { SILENT_MS = 10000 }; /* leaf.c */
    int listening = listen_raw();
    const int64_t begin = ni_now_ms();
    pid_t pid = start_pod((struct options){1, 2, 1, WITHIN_MS, NULL, NULL, 0, false, false});
    int fd = take_leaf(listening);

    (void)state;
    shared->pod[1].fault = HANGS;
    shared->pod[1].work = NI_WORK_QUEUES;
    promises(fd);
    assert_non_null(strstr(answer(fd), "\"facts\""));
    send_raw(fd, "{\"type\": \"do\", \"work\": 1, \"move_ms\": 536870911, "
                 "\"item\": [{\"partner\": 0}]}");
    assert_non_null(strstr(answer(fd), "\"done\""));
    assert_true(ni_now_ms() - begin < NI_RAIL_MS + 3 * 3000 + LATE_MS);
    assert_int_equal(end_of_pod(pid), 1);
    assert_true(ni_now_ms() - begin < NI_RAIL_MS + 3 * 3000 + SILENT_MS + 2 * LATE_MS);
    (void)close(fd);
    (void)close(listening);
}

/* A proxy in front of pod 0 that takes connections and hangs up is no pod 0. */
static void test_proxy(void **state)
{
    pid_t pid[2] = {0, start_pod((struct options){1, 2, 1, 10000, NULL, NULL, 0, false, false})};
    int fd = listen_raw();

    (void)state;
    assert_true(fd >= 0);
    for (int taken = 0; taken < 2;) {
        int c = accept(fd, NULL, NULL);

        taken += c >= 0;
        if (c >= 0)
            (void)close(c);
        (void)usleep(1000);
    }
    (void)close(fd);
    pid[0] = start_pod((struct options){0, 2, 1, 10000, NULL, NULL, 0, false, false});
    assert_int_equal(end_of_pod(pid[0]), 0);
    assert_int_equal(end_of_pod(pid[1]), 0);
}

/* Pod 0 dies in a round: the others say so at once. */
static void test_hub_dies(void **state)
{
    const int64_t begin = ni_now_ms();
    pid_t pid[2];

    (void)state;
    shared->pod[0].fault = HUB_DIES;
    shared->pod[0].work = NI_WORK_CONNECT;
    shared->pod[1] = shared->pod[0];
    start_all(pid, 2, 1, 20000);
    assert_int_equal(end_of_pod(pid[0]), -1);
    assert_int_equal(end_of_pod(pid[1]), 1);
    assert_int_equal(shared->leaf[1].status, -ECONNRESET);
    assert_non_null(
        strstr(line_of(1), "pod 0 hung up: it went away, or another process of this pod"));
    assert_true(ni_now_ms() - begin < SOON_MS);
    assert_false(shared->called);
}

/* The port is another's: pod 0 tries again until its time is over, and says so. */
static void test_port_taken(void **state)
{
    int fd = listen_raw();
    const int64_t begin = ni_now_ms();
    pid_t pid = start_pod((struct options){0, 2, 1, 2000, NULL, NULL, 0, false, false});

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(end_of_pod(pid), 1);
    assert_true(ni_now_ms() - begin >= 2000);
    assert_true(ni_now_ms() - begin < 2000 + LATE_MS);
    assert_int_equal(shared->leaf[0].status, -EADDRINUSE);
    assert_non_null(strstr(line_of(0), "cannot serve port"));
    (void)close(fd);
}

/* It is free again when the process that had it has ended, as an earlier pod 0 that terminates. */
static void test_port_taken_at_first(void **state)
{
    const pid_t other = fork_child();
    pid_t pid[2];

    (void)state;
    if (other == 0) {
        (void)listen_raw();
        (void)usleep(1500000);
        leave(0);
    }
    (void)close(connect_raw()); /* from here on the port is taken */
    start_all(pid, 2, 1, 20000);
    assert_int_equal(end_of_pod(other), 0);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(end_of_pod(pid[i]), 0);
    assert_true(shared->called && !shared->bad);
    assert_int_equal(shared->n_here, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STAR(test_pod_0_misbehaves),
        STAR(test_pod_0_stands_still),
        STAR(test_pod_0_goes_on_for_ever),
        STAR(test_proxy),
        STAR(test_hub_dies),
        STAR(test_port_taken),
        STAR(test_port_taken_at_first),
    };

    return run_pods("pod_0", tests, NI_COUNT(tests));
}
