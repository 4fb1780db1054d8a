/* SPDX-License-Identifier: Apache-2.0 */
/* A job with a secret: who has another one or none, and who recorded a session. */
#include <errno.h>
#include <poll.h>
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
#include "preflight/job.h"
#include "preflight/secret.h"
#include "preflight/wire.h"
#include "system/process.h"

#define NONCE "{\"type\": \"nonce\", \"nonce\": \"00112233445566778899aabbccddeeff\"}"

static void give_all(const char *secret)
{
    for (unsigned i = 0; i < PODS; i++)
        given[i] = secret;
}

static void test_secret(void **state)
{
    pid_t pid[4];

    (void)state;
    give_all("sesame");
    start_all(pid, 4, RAILS, 20000);
    for (unsigned i = 0; i < 4; i++)
        if (end_of_pod(pid[i]) != 0)
            fail_msg("%u: %s", i, line_of(i));
    assert_int_equal(shared->n_here, 4);
    assert_false(ni_findings_has(&shared->findings, NI_F_JOB_REFUSED));
}

/* Who has not the secret, though the key, takes no rank, neither one that is missing nor that of a
   live pod, makes no error, and ends no waiting. The pods among them hear why. */
static void test_no_secret_no_rank(void **state)
{
    static const char *const hellos[] = {
        HELLO WHO(4, "stranger") RANK(1, 3, "key"),
        HELLO WHO(4, "stranger") ", \"within_ms\": 1" RANK(2, 3, "key"),
    };
    static const char *const after_nonce[] = {
        HELLO WHO(4, "stranger") RANK(2, 3, "key"), NONCE, "{}",
        "0123456789abcdef0123456789abcdef" HELLO WHO(4, "stranger") RANK(2, 3, "key")};
    pid_t pid[3], without, other;

    (void)state;
    give_all("sesame");
    for (unsigned i = 0; i < 2; i++)
        pid[i] = start_pod((struct options){i, 3, 1, 20000, NULL, NULL, 0, false, false});
    wait_for_pods(2);
    for (unsigned i = 0; i < NI_COUNT(hellos); i++) {
        int fd = connect_raw();

        send_raw(fd, hellos[i]);
        assert_non_null(strstr(answer(fd), "it has no secret (--job-secret), and pod 0 has one"));
        assert_string_equal(answer(fd), "");
        (void)close(fd);
    }
    for (unsigned i = 0; i < NI_COUNT(after_nonce); i++) {
        int fd = connect_raw();

        send_raw(fd, NONCE);
        assert_non_null(strstr(answer(fd), "\"nonce\": \""));
        send_raw(fd, after_nonce[i]);
        assert_non_null(answer(fd)); /* of which it cannot make a code */
        assert_string_equal(answer(fd), "");
        (void)close(fd);
    }
    given[2] = NULL;
    without = start_pod((struct options){2, 3, 1, WITHIN_MS, NULL, NULL, 0, false, false});
    assert_int_equal(end_of_pod(without), 1);
    assert_non_null(strstr(line_of(2), "pod 0 refused this pod: it has no secret (--job-secret)"));
    given[2] = "Sesame";
    other = start_pod((struct options){2, 3, 1, WITHIN_MS, NULL, NULL, 0, false, false});
    assert_int_equal(end_of_pod(other), 1);
    assert_string_equal(line_of(2), "pod 0 has another secret than this pod (--job-secret)");
    given[2] = "sesame";
    pid[2] = start_pod((struct options){2, 3, 1, 20000, NULL, NULL, 0, false, false});
    for (unsigned i = 0; i < 3; i++)
        if (end_of_pod(pid[i]) != 0)
            fail_msg("%u: %s", i, line_of(i));
    assert_int_equal(shared->n_here, 3);
    assert_int_equal(ni_findings_count(&shared->findings, NI_ERROR), 0);
    assert_true(reported(NI_F_JOB_REFUSED, "strangers", "the last one from 127.0.0.1"));
}

/* Pod 0 has no secret: a pod that has one does not talk to it. */
static void test_secret_not_at_pod_0(void **state)
{
    pid_t pid[2];

    (void)state;
    given[1] = "sesame";
    for (unsigned i = 0; i < 2; i++)
        pid[i] = start_pod((struct options){i, 2, 1, WITHIN_MS, NULL, NULL, 0, false, false});
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(end_of_pod(pid[i]), 1);
    assert_non_null(strstr(line_of(1), "pod 0 has no secret, and this pod has one"));
    assert_int_equal(shared->missing[1], NI_POD_NEVER_CAME);
    assert_true(reported(NI_F_JOB_REFUSED, "strangers", "without the key or secret of the job"));
}

/* Who says nothing, or nothing after the nonce, is hung up on. */
static void test_secret_silent(void **state)
{
    int64_t begin;
    int idle, greeted;
    pid_t pid;

    (void)state;
    give_all("sesame");
    pid = start_pod((struct options){0, 3, 1, A_MINUTE_MS, NULL, NULL, 0, false, false});
    idle = connect_raw();
    greeted = connect_raw();
    begin = ni_now_ms();
    (void)usleep(2000000);
    send_raw(greeted, NONCE);
    assert_non_null(strstr(answer(greeted), "nonce"));
    assert_dropped(idle, greeted); /* the nonce gave it no time */
    assert_true(ni_now_ms() - begin > 4000 && ni_now_ms() - begin < A_MINUTE_MS / 2);
    (void)close(idle);
    (void)close(greeted);
    end_without_pod_2(pid);
}

static void begins_without_nonce(int fd)
{
    (void)answer(fd);
    send_raw(fd, "{\"type\": \"alive\", \"begun\": 1}");
    (void)answer(fd);
}

static void has_no_secret(int fd)
{
    (void)answer(fd);
    send_raw(fd, NONCE);
    /* one message: the pod hangs up at the first that has no code */
    send_raw(fd, "{\"type\": \"verdict\", \"verdict.line\": \"good\", \"verdict.outcome\": 2}");
    (void)answer(fd);
}

static void says_it_again(int fd)
{
    char buf[4096];
    ssize_t n;

    do { /* the pod's own words */
        n = recv(fd, buf, sizeof(buf), 0);
    } while (n > 0 && send(fd, buf, (size_t)n, MSG_NOSIGNAL) == n);
}

/* It changes no verdict, and holds a pod no longer than it waits for the others. */
static void test_secret_misbehaves(void **state)
{
    static const struct {
        void (*how)(int);
        const char *line;
    } row[] = {
        {silent, "no longer answers"},
        {begins_without_nonce, "pod 0 has no secret, and this pod has one"},
        {has_no_secret, "pod 0 has another secret than this pod"},
        {says_it_again, "pod 0 has another secret than this pod"},
    };
    int listening = listen_raw();

    (void)state;
    given[1] = "sesame";
    for (unsigned i = 0; i < NI_COUNT(row); i++) {
        pid_t bad = fork_child(), pid;
        const int64_t begin = ni_now_ms();

        while (bad == 0) {
            int fd = take_leaf(listening);

            row[i].how(fd);
            if (row[i].how != silent)
                (void)close(fd);
        }
        pid = start_pod((struct options){1, 2, 1, WITHIN_MS, NULL, NULL, 0, false, false});
        assert_int_equal(end_of_pod(pid), 1);
        if (ni_now_ms() - begin > WITHIN_MS + LATE_MS || !strstr(line_of(1), row[i].line))
            fail_msg("%u: %lld ms: %s", i, (long long)(ni_now_ms() - begin), line_of(1));
        (void)kill(bad, SIGKILL);
        (void)waitpid(bad, NULL, 0);
    }
    (void)close(listening);
}

struct recording {
    char bytes[65536];
    size_t n;
};

/* Copies what is there, and keeps it. false: the end. */
static bool pass_on(int from, int to, struct recording *r)
{
    const ssize_t n = recv(from, r->bytes + r->n, sizeof(r->bytes) - r->n, MSG_DONTWAIT);

    if (n > 0)
        assert_int_equal(send(to, r->bytes + r->n, (size_t)n, MSG_NOSIGNAL), n);
    r->n += n > 0 ? (size_t)n : 0;
    return n > 0 || (n < 0 && errno == EAGAIN);
}

/* Stands between a pod and pod 0 until the pod has told its facts. */
static void record(int pod, int hub, struct recording *up, struct recording *down)
{
    struct pollfd p[2] = {{.fd = pod, .events = POLLIN}, {.fd = hub, .events = POLLIN}};

    while (!memmem(up->bytes, up->n, "\"facts\"", 7) && poll(p, 2, SOON_MS) > 0)
        assert_true(pass_on(pod, hub, up) && pass_on(hub, pod, down));
}

/* Who recorded a session has neither the place of its pod by that, which is gone, nor is pod 0 for
   it. */
static void test_secret_recorded(void **state)
{
    static struct recording up, down;
    const unsigned own = port;
    int listening, hub, pod;
    size_t nonce;
    pid_t pid[3], bad;

    (void)state;
    give_all("sesame");
    pid[0] = start_pod((struct options){0, 3, 1, 20000, NULL, NULL, 0, false, false});
    hub = connect_raw();
    port = free_port();
    listening = listen_raw();
    pid[1] = start_pod((struct options){1, 3, 1, 20000, NULL, NULL, 0, false, false});
    pod = take_leaf(listening);
    record(pod, hub, &up, &down);
    (void)kill(pid[1], SIGKILL);
    (void)waitpid(pid[1], NULL, 0);
    (void)close(pod);
    (void)close(hub);

    bad = fork_child(); /* a pod 0 by the recording */
    while (bad == 0) {
        pod = take_leaf(listening);
        (void)answer(pod);
        (void)send(pod, down.bytes, down.n, MSG_NOSIGNAL);
        (void)answer(pod);
        (void)close(pod);
    }
    pid[1] = start_pod((struct options){1, 3, 1, 1000, NULL, NULL, 0, false, false});
    assert_int_equal(end_of_pod(pid[1]), 1);
    assert_string_equal(line_of(1), "pod 0 has another secret than this pod (--job-secret)");
    (void)kill(bad, SIGKILL);
    (void)waitpid(bad, NULL, 0);
    (void)close(listening);

    port = own;
    hub = connect_raw(); /* a pod by the recording */
    nonce = NI_WIRE_HEAD + length_of(up.bytes);
    assert_int_equal(send(hub, up.bytes, nonce, MSG_NOSIGNAL), nonce);
    assert_non_null(strstr(answer(hub), "\"nonce\""));
    assert_int_equal(send(hub, up.bytes + nonce, up.n - nonce, MSG_NOSIGNAL), up.n - nonce);
    assert_null(strstr(answer(hub) + NI_CODE_BYTES, "welcome"));
    assert_string_equal(answer(hub), "");
    (void)close(hub);
    for (unsigned i = 1; i < 3; i++)
        pid[i] = start_pod((struct options){i, 3, 1, 20000, NULL, NULL, 0, false, false});
    for (unsigned i = 0; i < 3; i++)
        if (end_of_pod(pid[i]) != 0)
            fail_msg("%u: %s", i, line_of(i));
    assert_true(reported(NI_F_JOB_REFUSED, "strangers", "1 connection came"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STAR(test_secret),        STAR(test_no_secret_no_rank), STAR(test_secret_not_at_pod_0),
        STAR(test_secret_silent), STAR(test_secret_misbehaves), STAR(test_secret_recorded),
    };

    return run_pods("job_secret", tests, NI_COUNT(tests));
}
