/* SPDX-License-Identifier: Apache-2.0 */
/* Pods of one job as processes on loopback: the real hub, leaves and rails' processes, with rails
   that only pretend; and those who disturb: strangers, twins, the slow, the dying. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PODS = 5, RAILS = 2, MOST_RESULTS = 256 };

/* Before the 20 s that its pods would wait. Not less: the machine may do much else. */
enum { SOON_MS = 19000, A_MINUTE_MS = 60000, WITHIN_MS = 3000 };

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

static struct ni_rail_end end_of(unsigned rank, unsigned rail, unsigned role)
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

static bool is_end(const struct ni_rail_end *a, struct ni_rail_end b)
{
    return a->n_queue == b.n_queue && a->queue[0].qpn == b.queue[0].qpn &&
           a->queue[0].psn == b.queue[0].psn && a->rkey == b.rkey && a->address == b.address &&
           memcmp(a->gid, b.gid, sizeof(b.gid)) == 0 && a->lid == b.lid &&
           a->path_mtu == b.path_mtu && a->most_reads == b.most_reads && a->global == b.global;
}

static void rail(struct ni_rail_task *task, enum ni_rail_work work, void **state)
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

static void keep_result(const struct ni_job *job, const struct ni_findings *f, bool bad)
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

static void keep_hub(void *arg, const char *line, enum ni_progress kind)
{
    (void)arg;
    if (kind == NI_NEW_PHASE && strstr(line, "waiting for"))
        shared->hub = getpid();
    if (kind == NI_SAME_PHASE && strstr(line, "pods came so far"))
        shared->came = (unsigned)strtoul(line, NULL, 10);
}

static pid_t fork_child(void)
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

static void leave(int status)
{
#ifdef NCCL_INIT_COVERAGE
    __gcov_dump();
#endif
    _exit(status);
}

static pid_t start_pod(struct options o)
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

/* The exit status; -1: by a signal. */
static int end_of_pod(pid_t pid)
{
    int status = 0;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Until pod 0 knows as many pods. */
static void wait_for_pods(unsigned n)
{
    for (int i = 0; i < A_MINUTE_MS / 10; i++) {
        if (*(volatile unsigned *)&shared->came >= n)
            return;
        (void)usleep(10000);
    }
    fail_msg("%u of %u pods came", shared->came, n);
}

static const char *line_of(unsigned rank)
{
    return shared->leaf[rank].verdict.line;
}

/* ---- who is no pod ---- */

static int connect_raw(void)
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

static int listen_raw(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    const void *address = &at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    assert_int_equal(bind(fd, address, sizeof(at)), 0);
    assert_int_equal(listen(fd, 8), 0);
    return fd;
}

static void send_raw(int fd, const char *text)
{
    const size_t n = strlen(text);
    const char head[] = {0, 0, (char)(n >> 8), (char)n};

    assert_int_equal(send(fd, head, sizeof(head), MSG_NOSIGNAL), sizeof(head));
    assert_int_equal(send(fd, text, n, MSG_NOSIGNAL), n);
}

static size_t length_of(const char *head)
{
    const uint8_t *b = (const uint8_t *)head;

    return (size_t)b[0] << 24 | (size_t)b[1] << 16 | (size_t)b[2] << 8 | b[3];
}

/* What the other end says next, without its head, but that it is there; "" where it hangs up. */
static const char *answer(int fd)
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

static bool reported(ni_finding_number id, const char *subject, const char *part)
{
    for (unsigned i = 0; i < shared->findings.n; i++) {
        const struct ni_finding *it = &shared->findings.at[i];

        if (it->id == id && strcmp(it->subject, subject) == 0 && strstr(it->message, part))
            return true;
    }
    return false;
}

static unsigned free_port(void)
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

static int set_up(void **state)
{
    (void)state;
    port = free_port();
    memset(given, 0, sizeof(given));
    memset(&stall, 0, sizeof(stall));
    need = 0;
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared == MAP_FAILED ? -1 : 0;
}

static int put_away(void **state)
{
    (void)state;
    return munmap(shared, sizeof(*shared));
}

static void start_all(pid_t pid[], unsigned ranks, unsigned rails, int within_ms)
{
    for (unsigned rank = 0; rank < ranks; rank++)
        pid[rank] =
            start_pod((struct options){rank, ranks, rails, within_ms, NULL, NULL, 0, false, false});
}

/* ---- tests ---- */

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

/* With pod 1, which waits a few seconds, pod 0 says that pod 2 never came. */
static void end_without_pod_2(pid_t pod_0)
{
    const pid_t pod_1 =
        start_pod((struct options){1, 3, 1, WITHIN_MS, NULL, NULL, 0, false, false});

    assert_int_equal(end_of_pod(pod_1), 1);
    assert_int_equal(end_of_pod(pod_0), 1);
    assert_int_equal(shared->missing[2], NI_POD_NEVER_CAME);
}

/* The hub hangs up on both, on the second not much later. */
static void assert_dropped(int first, int second)
{
    struct pollfd p = {.fd = second, .events = POLLIN};

    assert_string_equal(answer(first), "");
    assert_int_equal(poll(&p, 1, 1800), 1);
    assert_string_equal(answer(second), "");
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

/* ---- a secret ---- */

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

/* ---- a pod 0 that is none ---- */

/* LATE_MS: for a machine that does much else; who waits for ever, or for the 60 s of another pod, is later. */
enum { LATE_MS = 30000 };

/* The connection of a pod that looks for pod 0. */
static int take_leaf(int listening)
{
    struct pollfd p = {.fd = listening, .events = POLLIN};
    int fd = -1;

    if (poll(&p, 1, A_MINUTE_MS) == 1)
        fd = accept(listening, NULL, NULL);
    assert_true(fd >= 0);
    return fd;
}

static void silent(int fd)
{
    (void)fd;
}

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

/* ---- ... of a job with a secret ---- */

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

#define STAR(test) cmocka_unit_test_setup_teardown(test, set_up, put_away)

/* Half a minute of waiting: several at a time, each with ports, memory and children of its own. */
int main(void)
{
    enum { AT_A_TIME = 4 };
    const struct CMUnitTest tests[] = {
        STAR(test_all_good),
        STAR(test_bad_rails),
        STAR(test_need),
        STAR(test_both_ends_fail),
        STAR(test_pod_dies),
        STAR(test_refused),
        STAR(test_reset),
        STAR(test_no_key),
        STAR(test_no_key_on_host),
        STAR(test_no_key_no_rank),
        STAR(test_pod_0_misbehaves),
        STAR(test_pod_0_stands_still),
        STAR(test_pod_0_goes_on_for_ever),
        STAR(test_shorter_patience),
        STAR(test_one_never_comes),
        STAR(test_disturbed),
        STAR(test_many_refused),
        STAR(test_half_an_answer),
        STAR(test_twins),
        STAR(test_slow_is_dropped),
        STAR(test_old_key),
        STAR(test_secret),
        STAR(test_no_secret_no_rank),
        STAR(test_secret_not_at_pod_0),
        STAR(test_secret_silent),
        STAR(test_secret_misbehaves),
        STAR(test_secret_recorded),
        STAR(test_proxy),
        STAR(test_hub_dies),
        STAR(test_port_taken),
        STAR(test_port_taken_at_first),
        STAR(test_second_takes_over),
        STAR(test_stalls),
        STAR(test_stalls_a_little),
        STAR(test_few_descriptors),
        STAR(test_inherited_descriptors),
        STAR(test_gone_after_facts),
    };
    struct CMUnitTest mine[NI_COUNT(tests)];
    size_t n = 0;
    int status, failed = 0;

    for (size_t first = 0; first < AT_A_TIME; first++) {
        const pid_t pid = fork();
        if (pid < 0)
            return 1;
        if (pid > 0)
            continue;
        for (size_t i = first; i < NI_COUNT(tests); i += AT_A_TIME)
            mine[n++] = tests[i];
        exit(_cmocka_run_group_tests("star", mine, n, NULL, NULL));
    }
    for (int i = 0; i < AT_A_TIME; i++)
        failed += wait(&status) < 0 || status != 0;
    return failed;
}
