/* SPDX-License-Identifier: Apache-2.0 */
/* Pods of one job as processes on loopback: the real hub, leaves and rails' processes, with rails
   that only pretend; and raw connections, for who is no pod. */
#ifndef NCCL_INIT_TEST_PODS_H
#define NCCL_INIT_TEST_PODS_H

#include "findings/job.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "preflight/job.h"
#include "preflight/launcher.h"
#include "preflight/meeting.h"
#include "preflight/participant.h"
#include "preflight/secret.h"
#include "preflight/wire.h"
#include "rail/step.h"
#include "rail/task.h"
#include "system/process.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
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
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { PODS = 5, RAILS = 2, MOST_RESULTS = 256 };

/* Before the 20 s that its pods would wait. Not less: the machine may do much else. */
enum { SOON_MS = 19000, A_MINUTE_MS = 60000, WITHIN_MS = 3000 };

/* LATE_MS: for a machine that does much else; who waits for ever, or for the 60 s of another pod, is later. */
enum { LATE_MS = 30000 };

/* What a rail does instead of `work`. */
enum fault { NO_FAULT, FAILS, LINK_DOWN, HANGS, DIES, POD_DIES, HUB_DIES };

static struct {
    unsigned rank; /* its rails sleep so long in each work of a round */
    int ms;        /* 0: no pod's */
    int64_t rounds_ms;
} stall;

/* Seen by all processes. */
static struct shared {
    struct {
        enum fault fault;
        enum ni_rail_work work;
        unsigned rail;
    } pod[PODS];
    /* of the hub */
    int hub;
    unsigned came; /* pods, while it waits for them */
    bool called, bad;
    unsigned n_result, n_here;
    uint8_t missing[PODS];
    struct ni_pair_result result[MOST_RESULTS];
    struct ni_findings findings;
    /* of each leaf */
    struct {
        int status, pid;
        struct ni_verdict verdict;
    } leaf[PODS];
} * shared;

static unsigned port;
static unsigned need;           /* --need of all pods */
static const char *given[PODS]; /* the secret of each pod; NULL: it has none */
static const struct ni_policy policy;

/* ---- a pod ---- */

static inline struct ni_rail_end end_of(unsigned rank, unsigned rail, unsigned role)
{
    return (struct ni_rail_end){.n_queue = 1,
                                .queue = {{1 + rank * 100 + rail * 10 + role, UINT32_MAX}},
                                .rkey = 7,
                                .address = INT64_MAX,
                                .gid = {0xfe, 0x80, [15] = (uint8_t)rank},
                                .lid = UINT16_MAX,
                                .path_mtu = 4096,
                                .most_reads = 16,
                                .global = true};
}

static inline bool is_end(const struct ni_rail_end *a, struct ni_rail_end b)
{
    return a->n_queue == b.n_queue && a->queue[0].qpn == b.queue[0].qpn &&
           a->queue[0].psn == b.queue[0].psn && a->rkey == b.rkey && a->address == b.address &&
           memcmp(a->gid, b.gid, sizeof(b.gid)) == 0 && a->lid == b.lid &&
           a->path_mtu == b.path_mtu && a->most_reads == b.most_reads && a->global == b.global;
}

static inline void rail(struct ni_rail_task *task, enum ni_rail_work work, void **state)
{
    static const enum ni_pair_step next[] = {NI_PAIR_QUEUES, NI_PAIR_CONNECT, NI_PAIR_CONNECT,
                                             NI_PAIR_SMALL, NI_PAIR_DONE};
    const unsigned rank = (unsigned)strtoul(task->rail.firmware, NULL, 10);
    const enum fault fault =
        shared->pod[rank].work == work && shared->pod[rank].rail == task->number
            ? shared->pod[rank].fault
            : NO_FAULT;

    (void)state;
    if (fault == HANGS)
        (void)pause();
    if (work != NI_WORK_OPEN && stall.ms > 0 && rank == stall.rank)
        (void)poll(NULL, 0, stall.ms);
    if (fault == DIES)
        _exit(1);
    if (fault == POD_DIES || fault == HUB_DIES) {
        (void)kill(fault == HUB_DIES ? shared->hub : shared->leaf[rank].pid, SIGKILL);
        while (fault == POD_DIES)
            (void)pause();
    }
    if (work == NI_WORK_OPEN)
        task->rail.path_mtu = 4096;
    for (unsigned role = 0; role < NI_ROLES; role++) {
        struct ni_pair_result *r = &task->result[role];
        const unsigned other = role == NI_ROLE_INITIATOR ? NI_ROLE_TARGET : NI_ROLE_INITIATOR;

        if (work == NI_WORK_QUEUES)
            r->step = NI_PAIR_QUEUES;
        if (fault == FAILS || fault == LINK_DOWN) {
            r->err = fault == FAILS ? EIO : ENETUNREACH;
            continue;
        }
        if (work == NI_WORK_QUEUES)
            task->own[role] = end_of(task->rank, task->number, role);
        if (work == NI_WORK_MOVE && role == NI_ROLE_INITIATOR) {
            r->latency_ns = 2000;
            r->write_mbps = 100;
            if (!is_end(&task->peer[role], end_of(task->partner[role], task->number, other))) {
                r->step = NI_PAIR_IDENTITY;
                continue;
            }
        }
        if (work != NI_WORK_MOVE || role == NI_ROLE_INITIATOR)
            r->step = next[work];
    }
}

static inline void keep_result(const struct ni_job *job, const struct ni_findings *f, bool bad)
{
    shared->called = true;
    shared->bad = bad;
    shared->n_result = job->n_result < MOST_RESULTS ? job->n_result : MOST_RESULTS;
    if (shared->n_result > 0)
        memcpy(shared->result, job->result, shared->n_result * sizeof(*job->result));
    memcpy(shared->missing, job->missing, job->ranks);
    for (unsigned i = 0; i < job->ranks; i++)
        shared->n_here += job->pod[i].here;
    shared->findings = *f;
}

static inline void keep_hub(void *arg, const char *what, const char *line, enum ni_progress kind)
{
    (void)arg;
    if (strcmp(what, "pods") != 0)
        return;
    if (kind == NI_NEW_PHASE)
        shared->hub = getpid();
    else
        shared->came = (unsigned)strtoul(line, NULL, 10);
}

static inline pid_t fork_child(void)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0)
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    return pid;
}

struct options {
    unsigned rank, ranks, rails;
    int within_ms;
    const char *key, *host;
    unsigned fds; /* the limit, 0: as it is */
    bool named, host_network;
};

#ifdef NCCL_INIT_COVERAGE
extern void __gcov_dump(void); /* of libgcov: _exit alone would not count what this process ran */
#endif

static inline void leave(int status)
{
#ifdef NCCL_INIT_COVERAGE
    __gcov_dump();
#endif
    _exit(status);
}

static inline pid_t start_pod(struct options o)
{
    struct ni_rail all[RAILS] = {{.hca = "fake_0", .port = 1}, {.hca = "fake_1", .port = 1}};
    struct ni_pod pod = {.here = true, .rail = all};
    struct ni_party party = {.source = "peers",
                             .host = "localhost",
                             .port = port,
                             .rank = o.rank,
                             .ranks = o.ranks,
                             .named = o.named};
    struct ni_findings f = {0};
    struct ni_secret secret;
    struct ni_rendezvous m = {.party = &party,
                              .secret = given[o.rank] ? &secret : NULL,
                              .policy = &policy,
                              .need = need,
                              .within_ms = o.within_ms,
                              .rounds_ms = stall.rounds_ms,
                              .host_network = o.host_network,
                              .pod = &pod,
                              .fn = rail,
                              .task = {.rank = o.rank},
                              .progress = keep_hub};
    pid_t pid = fork_child();

    if (pid != 0)
        return pid;
    pod.n_rail = o.rails;
    if (given[o.rank])
        ni_make_secret(given[o.rank], strlen(given[o.rank]), &secret);
    if (o.fds > 0)
        (void)setrlimit(RLIMIT_NOFILE, &(struct rlimit){o.fds, o.fds});
    for (unsigned i = 0; i < RAILS; i++)
        (void)ni_format(all[i].firmware, sizeof(all[i].firmware), "%u", o.rank);
    (void)ni_format(pod.host, sizeof(pod.host), "trainer-%u", o.rank);
    if (o.host)
        (void)ni_copy(pod.host, sizeof(pod.host), o.host);
    (void)ni_copy(party.key, sizeof(party.key), o.key ? o.key : "key");
    shared->leaf[o.rank].pid = getpid();
    shared->leaf[o.rank].status = ni_meet(&m, &shared->leaf[o.rank].verdict, &f);
    if (shared->leaf[o.rank].verdict.job)
        keep_result(shared->leaf[o.rank].verdict.job, &f,
                    shared->leaf[o.rank].verdict.outcome == NI_JOB_BAD);
    leave(shared->leaf[o.rank].verdict.outcome == NI_JOB_BAD);
    return -1;
}

static inline void start_all(pid_t pid[], unsigned ranks, unsigned rails, int within_ms)
{
    for (unsigned rank = 0; rank < ranks; rank++)
        pid[rank] =
            start_pod((struct options){rank, ranks, rails, within_ms, NULL, NULL, 0, false, false});
}

/* The exit status; -1: by a signal. */
static inline int end_of_pod(pid_t pid)
{
    int status = 0;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Until pod 0 knows as many pods. */
static inline void wait_for_pods(unsigned n)
{
    for (int i = 0; i < A_MINUTE_MS / 10; i++) {
        if (*(volatile unsigned *)&shared->came >= n)
            return;
        (void)usleep(10000);
    }
    fail_msg("%u of %u pods came", shared->came, n);
}

static inline const char *line_of(unsigned rank)
{
    return shared->leaf[rank].verdict.line;
}

static inline bool reported(ni_finding_number id, const char *subject, const char *part)
{
    for (unsigned i = 0; i < shared->findings.n; i++) {
        const struct ni_finding *it = &shared->findings.at[i];

        if (it->id == id && strcmp(it->subject, subject) == 0 && strstr(it->message, part))
            return true;
    }
    return false;
}

/* With pod 1, which waits a few seconds, pod 0 says that pod 2 never came. */
static inline void end_without_pod_2(pid_t pod_0)
{
    const pid_t pod_1 =
        start_pod((struct options){1, 3, 1, WITHIN_MS, NULL, NULL, 0, false, false});

    assert_int_equal(end_of_pod(pod_1), 1);
    assert_int_equal(end_of_pod(pod_0), 1);
    assert_int_equal(shared->missing[2], NI_POD_NEVER_CAME);
}

/* ---- who is no pod ---- */

static inline int connect_raw(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const void *address = &at; /* gcc 12 with -Os takes a cast for type punning */
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    for (int i = 0; i < A_MINUTE_MS / 10; i++) {
        if (connect(fd, address, sizeof(at)) == 0)
            return fd;
        (void)usleep(10000);
    }
    fail_msg("no hub");
    return -1;
}

static inline int listen_raw(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    const void *address = &at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    assert_int_equal(bind(fd, address, sizeof(at)), 0);
    assert_int_equal(listen(fd, 8), 0);
    return fd;
}

/* The connection of a pod that looks for pod 0. */
static inline int take_leaf(int listening)
{
    struct pollfd p = {.fd = listening, .events = POLLIN};
    int fd = -1;

    if (poll(&p, 1, A_MINUTE_MS) == 1)
        fd = accept(listening, NULL, NULL);
    assert_true(fd >= 0);
    return fd;
}

static inline void send_raw(int fd, const char *text)
{
    const size_t n = strlen(text);
    const char head[] = {0, 0, (char)(n >> 8), (char)n};

    assert_int_equal(send(fd, head, sizeof(head), MSG_NOSIGNAL), sizeof(head));
    assert_int_equal(send(fd, text, n, MSG_NOSIGNAL), n);
}

static inline size_t length_of(const char *head)
{
    const uint8_t *b = (const uint8_t *)head;

    return (size_t)b[0] << 24 | (size_t)b[1] << 16 | (size_t)b[2] << 8 | b[3];
}

/* What the other end says next, without its head, but that it is there; "" where it hangs up. */
static inline const char *answer(int fd)
{
    static char buf[NI_WIRE_HEAD + NI_MEET_MESSAGE];

    do {
        ssize_t n = recv(fd, buf, NI_WIRE_HEAD, MSG_WAITALL);

        if (n != NI_WIRE_HEAD)
            return "";
        n = recv(fd, buf, length_of(buf), MSG_WAITALL);
        assert_true(n > 0);
        buf[n] = '\0';
    } while (strstr(buf, "\"alive\""));
    return buf;
}

#define HELLO "{\"type\": \"nccl-init preflight\", "
#define WHO(protocol, host) \
    "\"protocol\": " #protocol ", \"version\": \"9.9\", \"pod.host\": \"" host "\""
#define RANK(rank, ranks, key) \
    ", \"party.rank\": " #rank ", \"party.ranks\": " #ranks ", \"party.key\": \"" key "\"}"

static inline void silent(int fd)
{
    (void)fd;
}

/* The hub hangs up on both, on the second not much later. */
static inline void assert_dropped(int first, int second)
{
    struct pollfd p = {.fd = second, .events = POLLIN};

    assert_string_equal(answer(first), "");
    assert_int_equal(poll(&p, 1, 1800), 1);
    assert_string_equal(answer(second), "");
}

static inline unsigned free_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t size = sizeof(at);
    void *address = &at;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(bind(fd, address, sizeof(at)), 0);
    assert_int_equal(getsockname(fd, address, &size), 0);
    (void)close(fd);
    return ntohs(at.sin_port);
}

/* ---- tests ---- */

static inline int set_up(void **state)
{
    (void)state;
    port = free_port();
    memset(given, 0, sizeof(given));
    memset(&stall, 0, sizeof(stall));
    need = 0;
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared == MAP_FAILED ? -1 : 0;
}

static inline int put_away(void **state)
{
    (void)state;
    return munmap(shared, sizeof(*shared));
}

#define STAR(test) cmocka_unit_test_setup_teardown(test, set_up, put_away)

/* Much of it is waiting: several at a time, each with ports, memory and children of its own. */
static inline int run_pods(const char *name, const struct CMUnitTest *tests, size_t n)
{
    enum { AT_A_TIME = 4, MOST_TESTS = 64 };
    int status, failed = 0;

    assert_true(n <= MOST_TESTS);
    for (size_t first = 0; first < AT_A_TIME; first++) {
        struct CMUnitTest mine[MOST_TESTS];
        size_t n_mine = 0;
        const pid_t pid = fork();

        if (pid < 0)
            return 1;
        if (pid > 0)
            continue;
        for (size_t i = first; i < n; i += AT_A_TIME)
            mine[n_mine++] = tests[i];
        exit(_cmocka_run_group_tests(name, mine, n_mine, NULL, NULL));
    }
    for (int i = 0; i < AT_A_TIME; i++)
        failed += wait(&status) < 0 || status != 0;
    return failed;
}

#endif
