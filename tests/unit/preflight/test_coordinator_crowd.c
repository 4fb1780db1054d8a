/* SPDX-License-Identifier: Apache-2.0 */
/* What a pod with eight rails costs pod 0: many leaves as processes, whose rails are done at once.
   NI_CROWD=N: so many pods, for docs/dev/performance.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/ip.h"
#include "nccl_init/known.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "preflight/job.h"
#include "preflight/launcher.h"
#include "preflight/meeting.h"
#include "preflight/participant.h"
#include "rail/processes.h"
#include "rail/step.h"
#include "rail/task.h"
#include "system/process.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { USUAL = 200, PODS_OF_LEAF = 16 };

/* What docs/reference/preflight.md (What it costs) promises for each pod. */
static const struct {
    unsigned rails;
    long kib;
} promised[] = {{8, 21}, {16, 42}};

static unsigned rails;

static struct {
    long peak_kib;
    unsigned results, passed, rounds;
    int64_t begun_ms, took_ms;
} * shared;

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

/* ---- rails without processes: before those of the archive ---- */

static struct ni_rail_task tasks[NI_MAX_RAILS];

void ni_rails_ask(struct ni_rails *r, enum ni_rail_work work, int64_t limit_ms)
{
    static const enum ni_pair_step next[] = {NI_PAIR_QUEUES, NI_PAIR_CONNECT, NI_PAIR_CONNECT,
                                             NI_PAIR_SMALL, NI_PAIR_DONE};

    (void)limit_ms;
    for (unsigned i = 0; i < r->n; i++)
        for (unsigned role = 0; role < NI_ROLES; role++) {
            tasks[i].result[role] = (struct ni_pair_result){
                .step = next[work], .latency_ns = 2000, .write_mbps = 391000, .read_mbps = 390000};
            tasks[i].own[role] =
                (struct ni_rail_end){.n_queue = 1, .queue = {{1, 0}}, .path_mtu = 4096};
        }
}

bool ni_rails_done(struct ni_rails *r, int64_t most_ms)
{
    (void)r;
    (void)most_ms;
    return true;
}

void ni_put_awaited_rails(struct ni_text *t, const struct ni_rails *r)
{
    (void)t; /* none is */
    (void)r;
}

void ni_rails_end(struct ni_rails *r)
{
    (void)r;
}

int ni_rails_start(struct ni_rails *r, unsigned n, ni_rail_fn *fn)
{
    (void)fn;
    r->n = n;
    r->task = tasks;
    return 0;
}

static void no_rail(struct ni_rail_task *task, enum ni_rail_work work, void **state)
{
    (void)task;
    (void)work;
    (void)state;
}

/* ---- pods ---- */

static void look(const struct ni_job *job)
{
    char line[128];
    FILE *status = fopen("/proc/self/status", "re");

    shared->took_ms = ni_now_ms() - shared->begun_ms;
    while (status && fgets(line, sizeof(line), status))
        (void)sscanf(line, "VmHWM: %ld", &shared->peak_kib);
    shared->results = job->n_result;
    shared->rounds = job->rounds;
    for (unsigned i = 0; i < job->n_result; i++)
        shared->passed += job->result[i].step == NI_PAIR_DONE;
}

static void note_begin(void *arg, const char *what, const char *line, enum ni_progress kind)
{
    (void)arg;
    (void)line;
    if (kind == NI_NEW_PHASE && strcmp(what, "round 1") == 0)
        shared->begun_ms = ni_now_ms();
}

static pid_t start_pod(unsigned port, unsigned rank, unsigned ranks)
{
    static const struct ni_policy policy;
    static struct ni_rail rail[NI_MAX_RAILS];
    static struct ni_findings f;
    struct ni_pod pod = {.here = true, .n_rail = rails, .rail = rail, .transport = NI_NET_RDMA};
    struct ni_party party = {.source = "peers", .host = "127.0.0.1", .port = port, .key = "key"};
    const struct ni_rendezvous m = {.party = &party,
                                    .policy = &policy,
                                    .within_ms = 100000,
                                    .task = {.move_ms = 1},
                                    .pod = &pod,
                                    .fn = no_rail,
                                    .progress = note_begin};
    struct ni_verdict verdict;
    pid_t pid = fork();
    int r;

    if (pid != 0)
        return pid;
    party.rank = rank;
    party.ranks = ranks;
    (void)ni_format(pod.host, sizeof(pod.host), "trainer-%u", rank);
    (void)ni_format(pod.node, sizeof(pod.node), "node-%u", rank);
    (void)ni_format(pod.leaf, sizeof(pod.leaf), "leaf-%u", rank / PODS_OF_LEAF);
    for (unsigned i = 0; i < rails; i++) {
        (void)ni_format(rail[i].hca, sizeof(rail[i].hca), "mlx5_%u", i);
        rail[i].port = 1;
        rail[i].link = NI_LINK_ROCE;
        ni_ip_from_v4(0x0a000000 + (i << 16) + rank, rail[i].gid);
        rail[i].v2 = true;
        rail[i].path_mtu = 4096;
        rail[i].mbps = (struct ni_num){400000, NI_KNOWN};
        rail[i].n_subnet = 1;
        rail[i].subnet[0].bits = 112;
        memcpy(rail[i].subnet[0].ip, rail[i].gid, NI_GID_BYTES);
        rail[i].subnet[0].ip[14] = rail[i].subnet[0].ip[15] = 0;
    }
    r = ni_meet(&m, &verdict, &f);
    if (verdict.job)
        look(verdict.job);
    _exit(r == 0 && verdict.outcome != NI_JOB_BAD ? 0 : 1);
}

static unsigned free_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t size = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    void *address = &at; /* gcc 12 with -Os takes a cast for type punning */

    assert_int_equal(bind(fd, address, sizeof(at)), 0);
    assert_int_equal(getsockname(fd, address, &size), 0);
    (void)close(fd);
    return ntohs(at.sin_port);
}

/* The peak of pod 0's hub in KiB. */
static long meet(unsigned ranks)
{
    const unsigned port = free_port();
    unsigned bad = 0;
    int status;

    memset(shared, 0, sizeof(*shared));
    for (unsigned rank = 0; rank < ranks; rank++)
        assert_true(start_pod(port, rank, ranks) > 0);
    for (unsigned rank = 0; rank < ranks; rank++)
        bad += wait(&status) > 0 && status != 0;
    assert_int_equal(bad, 0);
    assert_true(shared->rounds > 0 && shared->results >= ranks * rails);
    assert_int_equal(shared->passed, shared->results);
    return shared->peak_kib;
}

static void test_memory(void **state)
{
    const char *many = getenv("NI_CROWD");
    const unsigned n = many ? (unsigned)strtoul(many, NULL, 10) : USUAL;

    (void)state;
    for (size_t i = 0; i < NI_COUNT(promised); i++) {
        rails = promised[i].rails;
        const long few = meet(4), all = meet(n);

        print_message("%u pods with %u rails: %u rounds in %lld ms, %.1f KiB for each at pod 0\n",
                      n, rails, shared->rounds, (long long)shared->took_ms,
                      (double)(all - few) / (n - 4));
#ifndef __SANITIZE_ADDRESS__ /* which keeps what was freed */
        assert_true(all - few < (long)(n - 4) * promised[i].kib);
#endif
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_memory)};

    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared == MAP_FAILED ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
