/* SPDX-License-Identifier: Apache-2.0 */
/* The table of patterns: each is found, those that people paste map to a finding, and
   docs/guides/troubleshooting.md and the table say the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "findings/log.h"
#include "log/judge.h"
#include "log/patterns.h"
#include "log/read.h"
#include "log/state.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include <cmocka.h>

/* What one line alone leads to; the id that was hit first, or NI_F_NONE. */
static ni_finding_number told(const char *line, struct ni_findings *f)
{
    struct ni_log *log = calloc(1, sizeof(*log));
    ni_finding_number id = NI_F_NONE;
    size_t room;

    assert_non_null(log);
    memset(f, 0, sizeof(*f));
    memcpy(ni_log_room(log, &room), line, strlen(line));
    ni_log_got(log, "x.log", strlen(line));
    *ni_log_room(log, &room) = '\n';
    ni_log_got(log, "x.log", 1);
    if (log->n_hit > 0) {
        id = log->hit[0].row->id;
    }
    ni_log_judge(log, false, false, f);
    free(log);
    return id;
}

/* Each row begins with what it is found by, no row before it hides it, and a fault has a cause, a fact
   none. */
static void test_table(void **state)
{
    unsigned words = 0;

    (void)state;
    for (unsigned i = 0; i < ni_patterns_count; i++)
        for (const char *p = ni_patterns[i].text; *p; p++)
            words += *p == '{' || *p == '|';
    assert_true(words <= NI_PATTERN_WORDS);
    for (unsigned i = 0; i < ni_patterns_count; i++) {
        const struct ni_pattern *p = &ni_patterns[i];
        const size_t n = strlen(p->text);
        struct ni_found found[16];

        assert_true(strcspn(p->text, "%") >= 4 && strlen(p->versions) > 0);
        assert_true((p->take == NI_TAKE_FAULT) == (p->id != NI_F_NONE));
        assert_true(p->id == NI_F_NONE || ni_log_cause[p->id]);
        if (strchr(p->text, '%'))
            continue;
        if (ni_patterns_find(p->text, p->text + n, found, 16) == 0 || found[0].row != p)
            fail_msg("%s is not found", p->text);
    }
}

/* Finds the next message at p; words of errors count once in a line. */
static unsigned find_next(const char *p, const char *end, bool error, struct ni_found *next)
{
    unsigned n = ni_patterns_find(p, end, next, 1);

    while (n > 0 && error && next->row->take == NI_TAKE_ERROR)
        n = ni_patterns_find(next->at + 1, end, next, 1);
    return n;
}

/* Words of patterns are looked for once in a line: from wherever it is read, the next message is the same
   as in a line that begins there. */
static void test_words(void **state)
{
    static const char *const parts[] = {
        "ibv_",         "ibv__qp",    "reg_mr failed", " failed with error Cannot",
        " Bad address", "onnect to ", "<1> ",          "<x",
        "refused",      "timed out",  "Got ",          "completion ",
        "status=12",    "error 4,",   "async event",   " mtu 1",
        "GID 3 (0/1)",  "Bootstrap",  ": Using x",     "reset to NCCL_",
    };
    uint32_t random = 1;

    (void)state;
    for (unsigned round = 0; round < 2000; round++) {
        char line[400] = "";
        struct ni_found found[64];

        for (unsigned i = 0; i < 24; i++) {
            random = random * 1664525U + 1013904223U;
            (void)strcat(line, parts[(random >> 16) % NI_COUNT(parts)]);
        }
        const char *end = line + strlen(line);
        const unsigned n = ni_patterns_find(line, end, found, NI_COUNT(found));
        const char *p = line;
        bool error = false;

        assert_true(n < NI_COUNT(found));
        for (unsigned i = 0; i <= n; i++) {
            struct ni_found next;
            const unsigned is = find_next(p, end, error, &next);

            assert_int_equal(is, i < n);
            if (is) {
                assert_ptr_equal(next.at, found[i].at);
                assert_ptr_equal(next.row, found[i].row);
                error |= next.row->take == NI_TAKE_ERROR;
                p = next.at + 1;
            }
        }
    }
}

/* The forty texts that people paste, by their number; where from: NVIDIA/nccl#, NVIDIA/nccl-tests#
   and others as far as they are public. NULL: no finding, and why. */
static const struct {
    const char *line, *id, *from;
} pasted[] = {
    {"h:1:2 [0] NCCL INFO Using network Socket", "hca.none", "1, nccl#1267"},
    {"h:1:2 [0] NCCL INFO NET/IB : No device found.", "hca.none", "2, nccl#952 nccl#955"},
    {"h:1:2 [0] NCCL INFO Failed to open libibverbs.so[.1]", "log.libibverbs", "3, nccl#857"},
    {"libibverbs: Warning: couldn't open config directory '/etc/libibverbs.d'.", "log.libibverbs",
     "4, nccl#955"},
    {"h:1:2 [0] transport/net_ib.cc:526 NCCL WARN NET/IB : Unable to open device mlx5_3",
     "hca.node.missing", "5"},
    {"h:1:2 [0] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'", "gdr.unavailable",
     "6, a run of 2.28.9"},
    {"h:1:2 [0] NCCL INFO GPU Direct RDMA Disabled for GPU 0 / HCA 4 (distance 8 > 5)",
     "gpu.hca.far", "7, a run of 2.28.9"},
    {"h:1:2 [0] NCCL INFO Topology detection: network path (name = mlx5_6) /sys/x is not a PCI "
     "device "
     "(). Attaching to first CPU",
     "hca.place.lost", "8"},
    {"Bootstrap : no socket interface found", "user.socket-ifname.none", "9, a log of 2.18.6"},
    {"NET/Socket : No usable listening interface found", "log.comm-id", "10"},
    {"socketPollConnect: connect returned Connection refused, exceeded error retry count (35)",
     "log.peer.refused", "11, a log of 2.26.2"},
    {"socketStartConnect: Connect to 10.0.0.9<4000> failed : No route to host",
     "log.peer.unreachable", "12, nccl#1311"},
    {"socketStartConnect: Connect to 10.0.0.9<4000> failed : Software caused connection abort",
     "log.peer.refused", "13, nccl#1515 nccl#1099"},
    {"socketProgress: Connection closed by remote peer trainer-1.svc<55912>", "log.peer.died",
     "14, nccl-tests#166"},
    {"socketProgressOpt: Call to recv from 10.0.0.9<4000> failed : Connection reset by peer",
     "log.peer.died", "15, nccl-tests#185"},
    {"socketPollConnect poll() returned 1, no POLLOUT events", "log.peer.unreachable",
     "16, nccl#1618"},
    {"socketFinalizeAccept: wrong type 4 != 3", "log.peer.stranger", "17, nccl-tests#188"},
    {"socketFinalizeAccept: wrong magic 0 != 1", "log.peer.stranger", "17, nccl-tests#248"},
    {"Message truncated : received 1024 bytes instead of 256", "log.version.differs", "18"},
    {"NET/Socket : peer 10.0.0.9<4> message truncated : receiving 524288 bytes instead of 65536",
     "job.setting.differs", "19, a run of 2.28.9"},
    {"Call to ibv_modify_qp failed with error Invalid argument errno 22", "verbs.connect", "20"},
    {"Call to ibv_modify_qp failed with error No such device", "verbs.connect", "21, nccl#925"},
    {"Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_0:1, curr state INIT",
     "verbs.connect", "22, nccl#2013"},
    {"Call to ibv_modify_qp failed with error Network is unreachable", "verbs.connect",
     "23, nccl-tests#185"},
    {"Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory", "log.pinned",
     "24, nccl-tests#206"},
    {"Call to ibv_create_cq failed with error Cannot allocate memory", "log.pinned", "25"},
    {"Call to ibv_reg_mr_iova2 failed with error Bad address", "gdr.driver.order", "26, ucx#8999"},
    {"Call to ibv_reg_dmabuf_mr failed with error Unknown error 524", "verbs.dmabuf.none",
     "27, nixl#1854"},
    {"Call to ibv_create_qp failed with error Resource temporarily unavailable", "rdma.cgroup.low",
     "28"},
    {"NET/IB : Got completion from peer 10.0.0.9<4> with status=12 opcode=1 len=0 vendor err 129",
     "log.peer.silent", "29, nccl#1814"},
    {"NET/IB : Got completion from peer 10.0.0.9<4> with status=42 opcode=12 len=4", NULL, "none"},
    {"NET/IB : Got completion from peer 10.0.0.9<4> with status=1", NULL, "none"},
    {"NET/IB : Got completion from peer fe80::1%ib0<33397> with error 4, opcode 32611, len 32611, "
     "vendor "
     "err 81 (Send)",
     "iommu.translated", "30, nccl#928"},
    {"NET/IB : Got completion from peer 10.0.0.9<4> with status=5 opcode=32656 len=1 vendor err "
     "249",
     "log.peer.silent", "31, nccl#1814"},
    {"NET/IB: Got completion from peer 10.0.0.9<4> with status=IBV_WC_REM_INV_REQ_ERR(9) "
     "opcode=x(1)",
     "log.rdma.remote", "32, nccl#1710"},
    {"NET/IB : mlx5_0:1 async fatal event on QP: local work queue catastrophic error",
     "log.hca.fatal", "33, nccl#1905"},
    {"NET/IB : Got async event : local catastrophic error", "log.hca.fatal", "33, nccl#230"},
    {"NET/IB : mlx5_0:1 unknown event type (18)", "log.hca.port", "34, nccl#1819"},
    {"Try selecting NICs of only one link type using NCCL_IB_HCA", "hca.link.mixed", "35"},
    {"Error while creating shared memory segment /dev/shm/nccl-a (size 1), error: No space left on "
     "device "
     "(28)",
     "shm.default", "36, nccl#290"},
    {"h:1:2 [0] x.cc:1 NCCL WARN Cuda failure 'out of memory'", "log.cuda.memory",
     "37, torchtune#2556"},
    {"Cuda failure 'no CUDA-capable device is detected'", "gpu.node.missing", "37, nccl#955"},
    {"Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 3b000", "log.gpu.shared",
     "38"},
    {"[rank1]:[E ProcessGroupNCCL.cpp:523] [Rank 1] Watchdog caught collective operation timeout: "
     "WorkNCCL(SeqNum=78)",
     "log.timeout", "39"},
    {"but store->get('0') got error: Socket Timeout", "log.rendezvous", "40, vllm#19670"},
    {"[c10d] The client socket has timed out after 600000ms while trying to connect to (h, 1).",
     "log.rendezvous", "40"},
    {"NCCL error in: x.cpp:1, unhandled system error, NCCL version 2.20.5", "log.failed",
     "40, pytorch#39388"},
    {"ncclRemoteError: A call failed possibly due to a network error", "log.failed", "40"},
    {"ncclUnhandledCudaError: Call to CUDA function failed.", "log.failed", "40"},
    {"NET/IB : mlx5_0:1 Got async error event: port error", "log.hca.port", "the format of 2.28.3"},
    {"nccl: Call to send to 10.0.0.9<4000> failed : Broken pipe", "log.peer.died", "2.24.3"},
    {"NET/IB/GIN: Got completion from peer 10.0.0.9<4> with status=13 opcode=1 len=0",
     "log.peer.silent", "the formats of 2.20 to 2.30"},
    {"NET/IB : Got completion from peer 10.0.0.9<4> with status=12", "log.peer.silent", "cut"},
    {"NET/IB : Got completion with error 11, opcode 1, len 0", "log.rdma.remote", "2.8"},
    {"with status=IBV_WC_WR_FLUSH_ERR(5) opcode=IBV_WC_RECV(4): Got completion", NULL,
     "not in order"},
    {"hipIpcGetMemHandle -> 1 (invalid argument)", "log.cuda", "a test of HIP, as people paste it"},
    {"hipIpcGetMemHandle -> 0 (no error)", NULL, "the same on a node that is well"},
    {"nixl._bindings.nixlBackendError: NIXL_ERR_BACKEND", NULL,
     "nixl#149: the reason is in UCX's line before it"},
    {"[c10d] The hostname of the client socket cannot be retrieved. err=-3", NULL, "harmless"},
    {"[W socket.cpp:663] [c10d] The client socket has failed to connect to [trainer-0]:29500 "
     "(errno: 111 - Connection refused).",
     NULL, "vllm#3771: it tries again until its time-out"},
    {"socketPollConnect: connect to 10.0.0.9<4000> returned Connection timed out, exceeded error "
     "retry "
     "count after 35 attempts",
     "log.peer.unreachable", "12, the format of 2.27.3"},
    {"h:1:2 [0] NCCL INFO Call to connect returned Connection refused, retrying", NULL,
     "11: NCCL tries again"},
    {"NCCL version mismatch with remote", "log.version.differs", "the source of 2.24.3"},
    {"Socket magic mismatch from 10.0.0.9<4> (peer 0x1 != expected 0x2), discarding peer "
     "connection",
     "log.peer.stranger", "the library 2.32.3"},
    {"Could not open libibverbs.so.1", "log.libibverbs", "the library 2.32.3"},
    {"Mismatched NCCL git versions detected: rank 0 fingerprint 0x1, rank 1 fingerprint 0x2",
     "log.version.differs", "the library 2.32.3"},
    {"Unrecognized prefix token \"x\" when parsing \"x:y\"", "user.value.ignored",
     "the library 2.31.2"},
    {"No algorithm/protocol nor symKernelId available for function AllReduce", "log.algo.none",
     "the library 2.31.2"},
    {"Could not open XML topology file /x : No such file", "user.topo-file.unreadable", "guide"},
};

static void test_pasted(void **state)
{
    static struct ni_findings f;

    (void)state;
    for (size_t i = 0; i < NI_COUNT(pasted); i++) {
        bool there = false;
        ni_finding_number hit = told(pasted[i].line, &f);

        for (unsigned k = 0; k < f.n; k++)
            there = there || (pasted[i].id && strcmp(ni_finding_id(f.at[k].id), pasted[i].id) == 0);
        if (pasted[i].id ? !there || f.n > 2 : hit != NI_F_NONE)
            fail_msg("%s: %s (%s)", pasted[i].line, hit != NI_F_NONE ? ni_finding_id(hit) : "-",
                     pasted[i].from);
    }
}

/* A whole log, judged. To be freed. */
static struct ni_log *judged(const char *text, struct ni_findings *f)
{
    struct ni_log *log = calloc(1, sizeof(*log));
    const size_t n = strlen(text);
    size_t room;

    assert_non_null(log);
    memset(f, 0, sizeof(*f));
    memcpy(ni_log_room(log, &room), text, n);
    ni_log_got(log, "x.log", n);
    (void)ni_log_room(log, &room);
    ni_log_got(log, "x.log", 0);
    ni_log_judge(log, false, false, f);
    return log;
}

#define INIT(prefix, host, rank, end)                                     \
    prefix host ":7:7 [0] NCCL INFO ncclCommInitRank comm 0x1 rank " rank \
                " nranks 2 cudaDev 0 busId 1 commId 0x2 - Init " end "\n"
#define BOTH INIT("", "a", "0", "COMPLETE") INIT("", "b", "1", "COMPLETE")
#define WAIT(rank, number, name, elements)                                                     \
    "[rank" rank "]:[E ProcessGroupNCCL.cpp:1] [Rank " rank                                    \
    "] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=" number ", OpType=" name \
    ", NumelIn=" elements ", NumelOut=" elements ", Timeout(ms)=600000) ran for 600096 "       \
    "milliseconds before timing out.\n"

/* Logs as launchers mix them, the finding that is the cause, and words of the first sentence. */
static const struct {
    const char *text, *id, *words;
} causes[] = {
    /* whose the exception is: by torch's prefix, kubectl's, Slurm's, MPI's, a time beside it */
    {BOTH
     "[rank1]: Traceback (most recent call last):\n[rank1]:   File \"x\"\n[rank1]: a.b.Mine: x\n",
     "log.exception",
     "rank 1 (b): the program raised an exception, after NCCL's initialisation. x.log:5: "
     "\"a.b.Mine: x\""},
    {INIT("[pod/a/c] ", "a", "0", "COMPLETE") INIT(
         "[pod/b/c] ", "b", "1", "COMPLETE") "[pod/b/c] Traceback (most recent call "
                                             "last):\n[pod/a/c] Step: 1\n[pod/b/c]   File \"x\"\n"
                                             "[pod/a/c] Step: 2\n[pod/b/c] KeyError: 3\n",
     "log.exception",
     "rank 1 (b): the program raised an exception, after NCCL's initialisation. x.log:7: "
     "\"KeyError: 3\""},
    {INIT("0: ", "a", "0", "COMPLETE") INIT(
         "1: ", "b", "1",
         "COMPLETE") "1: Traceback (most recent call last):\n0: Traceback (most recent call "
                     "last):\n1:   File\n0:   File\n"
                     "0: torch.distributed.DistBackendError: NCCL error in: x\n1: ValueError: y\n",
     "log.exception",
     "rank 1 (b): the program raised an exception, after NCCL's initialisation. x.log:8: "
     "\"ValueError: y\""},
    {INIT("[1,0]<stdout>:", "a", "0", "COMPLETE")
         INIT("[1,1]<stdout>:", "b", "1",
              "COMPLETE") "[1,1]<stderr>:Traceback (most recent call last):\n[1,1]<stderr>:  "
                          "File\n[1,1]<stderr>:E: y\n",
     "log.exception",
     "rank 1 (b): the program raised an exception, after NCCL's initialisation. x.log:5: \"E: y\""},
    {INIT("2026-11-23T15:31:58.1Z ", "a", "0",
          "COMPLETE") "2026-11-23T15:31:59.123456789Z Traceback (most recent call "
                      "last):\n2026-11-23T15:32:00Z   File\n"
                      "2026-11-23T15:32:00.12Z E: y\n",
     "log.exception",
     "rank 0 (a): the program raised an exception, after NCCL's initialisation. x.log:4: \"E: y\""},
    {BOTH "[rank0]: terminate called after throwing an instance of 'std::bad_alloc'\n"
          "[rank0]:   what():  std::bad_alloc\n",
     "log.exception",
     "rank 0 (a): the program raised an exception, after NCCL's initialisation: the process got no "
     "more memory of the host (not of the GPU). x.log:4: \"what(): "},
    /* what follows is no cause */
    {BOTH "a:7:7 [0] x.cc:1 NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory\n"
          "[rank0]: Traceback (most recent call last):\n[rank0]:   File\n[rank0]: RuntimeError: "
          "engine died\n",
     "log.pinned", "rank 0 (a): memory could not be pinned for the HCA"},
    {BOTH "a:7:7 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0 busId 1 - Destroy COMPLETE\n"
          "b:7:7 [0] NCCL INFO comm 0x1 rank 1 nranks 2 cudaDev 0 busId 1 - Destroy COMPLETE\n"
          "Traceback (most recent call last):\n  File\nOSError: it was caught\n",
     NULL, "2 ranks"},
    {BOTH "Exception ignored in: <function f at 0x1>\nTraceback (most recent call last):\n  "
          "File\nE: x\n",
     NULL, "2 ranks"},
    {BOTH "[rank0]: Traceback (most recent call last):\n[rank0]:   File\n"
          "[rank0]: torch.multiprocessing.spawn.ProcessRaisedException: \n"
          "[rank0]: Traceback (most recent call last):\n[rank0]:   File\n[rank0]: IndexError: 7\n",
     "log.exception", "x.log:8: \"IndexError: 7\""},
    /* of an earlier attempt */
    {"a:7:7 [0] NCCL INFO Bootstrap: Using eth0:10.0.0.1<0>\n" BOTH
     "[rank0]: Traceback (most recent call last):\n[rank0]:   File\n[rank0]: E: x\n"
     "a:7:7 [0] NCCL INFO Bootstrap: Using eth0:10.0.0.1<0>\n" INIT("", "a", "0", "COMPLETE"),
     NULL, "2 ranks"},
    /* how it ended, as launchers say */
    {BOTH "srun: error: node-2: task 1: Killed\n", "log.exit",
     "rank 1 (b): was ended by signal 9 (SIGKILL)"},
    {BOTH "srun: error: node-2: task 1: Exited with exit code 3\n", "log.exit",
     "rank 1 (b): ended with exit status 3"},
    {BOTH "mpirun noticed that process rank 0 with PID 12 on node n exited on signal 11 (Segm).\n",
     "log.exit", "rank 0 (a): was ended by signal 11 (SIGSEGV)"},
    {BOTH "  rank      : 0 (local_rank: 0)\n  exitcode  : -15 (pid: 7)\nRoot Cause (first observed "
          "failure):\n"
          "  rank      : 1 (local_rank: 1)\n  exitcode  : -7 (pid: 8)\n",
     "log.exit", "rank 1 (b): was ended by signal 7 (SIGBUS)"},
    {BOTH "E1123 api.py:986] failed (exitcode: 0) local_rank: 0 (pid: 7) of binary: x\n", NULL,
     "2 ranks"},
    /* collectives */
    {BOTH WAIT("0", "7", "BROADCAST", "80") WAIT("1", "7", "ALLREDUCE", "80"),
     "log.collective.differs",
     "rank 0 (a) in BROADCAST number 7 of 80 elements; rank 1 (b) in ALLREDUCE number 7 of 80 "},
    {BOTH WAIT("0", "7", "ALLREDUCE", "80") WAIT("1", "7", "ALLREDUCE", "80"), "log.timeout",
     "ranks 0, 1 (a, b): waited 600 s in ALLREDUCE number 7 of 80 elements, as do all ranks of "
     "the log"},
    {BOTH WAIT("0", "7", "ALLREDUCE", "80"), "log.timeout",
     "for rank 1 (b), and the log does not show it waiting"},
    {BOTH WAIT("0", "7", "ALLREDUCE",
               "80") "[rank1]:[E x] Last enqueued NCCL work: 6, last completed NCCL work: 6\n",
     "log.timeout", "for rank 1 (b), whose last collective was number 6"},
    {BOTH "[rank0]: torch.distributed.DistBackendError: Work WorkNCCL(SeqNum=7, OpType=ALLTOALL, "
          "NumelIn=80, NumelOut=90, "
          "Timeout(ms)=15000) timed out in blocking wait.\n",
     "log.timeout",
     "rank 0 (a): waited 15 s in ALLTOALL number 7 of 80 to 90 elements for rank 1 (b)"},
    /* a rank twice is no restart: that makes another communicator */
    {INIT(
         "", "a", "0",
         "START") "a:8:8 [0] NCCL INFO ncclCommInitRank comm 0x1 rank 0 nranks 2 cudaDev 0 busId 1 "
                  "commId 0x2 - Init START\n",
     "job.rank.twice",
     "rank 0: two processes say that they are this rank of one communicator: a:7 and a:8"},
    {"a:7:7 [0] NCCL INFO ncclCommInitRank comm 0x1 rank 0 nranks 1 cudaDev 0 busId 1 commId 0x2 - "
     "Init COMPLETE\n"
     "a:8:8 [0] NCCL INFO ncclCommInitRank comm 0x1 rank 0 nranks 1 cudaDev 0 busId 1 commId 0x3 - "
     "Init COMPLETE\n",
     "log.alone", "2 jobs of one process each"},
    /* the first one had ended: an earlier attempt */
    {"a:7:7 [0] NCCL INFO ncclCommInitRank comm 0x1 rank 0 nranks 1 cudaDev 0 busId 1 commId 0x2 - "
     "Init COMPLETE\n"
     "Traceback (most recent call last):\n  File\nValueError: x\n"
     "a:8:8 [0] NCCL INFO ncclCommInitRank comm 0x1 rank 0 nranks 1 cudaDev 0 busId 1 commId 0x3 - "
     "Init COMPLETE\n",
     NULL, "; attempt 2 of 2; attempt 1: "},
    /* where it stops: who came least far comes first */
    {INIT("", "a", "0", "START")
         INIT("", "b", "1",
              "START") "a:7:7 [0] NCCL INFO Bootstrap timings total 0.1\nb:7:7 [0] NCCL INFO "
                       "Bootstrap timings total 0.1\n"
                       "a:7:7 [0] NCCL INFO NVLS multicast support is not available on dev 0\n",
     "log.unfinished",
     "rank 1 (b): NCCL's initialisation did not end: the log stops while it read the topology"},
    {"a:7:7 [0] NCCL INFO Bootstrap: Using eth0:10.0.0.1<0>\n", "log.unfinished",
     "1 process (a): "},
    {"a:7:7 [0] NCCL INFO Bootstrap: Using eth0:10.0.0.1<0>\n[rank0]:[W x] loss\n"
     "[rank0]:[E x] Last enqueued NCCL work: 0, last completed\n",
     "log.unfinished",
     "rank 0 (a): NCCL's initialisation did not end: the log stops while it chose the network"},
    {INIT("", "a", "0", "START"), "log.unfinished",
     "the log stops in the bootstrap, where the ranks meet, or while it read the topology"},
    {"a:7:7 [0] NCCL INFO NCCL version 2.28.9+cuda12.9\n" INIT("", "a", "0", "START"),
     "log.unfinished", "the log stops in the bootstrap: not all ranks had met"},
    /* the place where an error was tells, too; that of another rank shows that all had met */
    {INIT("", "a", "0", "START") "a:7:7 [0] bootstrap.cc:96 NCCL WARN words\n"
                                 "a:7:7 [0] NCCL INFO transport/net.cc:597 -> 2\n",
     "log.warn", "nccl-init does not know, in NCCL's initialisation, while it set up its channels"},
    {INIT("", "a", "0",
          "START") "a:7:7 [0] NCCL INFO NVLS multicast support is not available on dev 0\n",
     "log.unfinished", "the log stops while it waited for the other ranks' topology"},
    {INIT("", "a", "0",
          "START") "a:7:7 [0] NCCL INFO comm 0x1 rank 0 nRanks 2 nNodes 2 localRanks 1\n",
     "log.unfinished", "the log stops while it computed the channels"},
    {INIT("", "a", "0", "START") "a:7:7 [0] NCCL INFO 2 coll channels, 2 collnet channels\n",
     "log.unfinished", "the log stops in its last step: the ranks of the node wait"},
    {INIT("", "a", "0", "START") "a:7:7 [0] NCCL INFO Trees [0] -1/-1/-1->1->0\n", "log.unfinished",
     "the log stops while it set up its channels and connected the ranks"},
    {INIT("", "a", "0", "START") "a:7:7 [0] NCCL INFO Connected all rings\n", "log.unfinished",
     "the log stops while it connected the ranks, after the rings"},
    {INIT("", "a", "0", "START") "a:7:7 [0] NCCL INFO NVLS comm 0x1 headRank 0 nHeads 8\n",
     "log.unfinished", "the log stops while it set up NVLink multicast (NVLS)"},
    {"a:7:7 [0] NCCL INFO cudaDriverVersion 12090\n", "log.unfinished",
     "the log stops before it had an interface"},
    {INIT("", "a", "0", "START") "a:7:7 [0] NCCL INFO comm 0x1 rank 0 nRan", "log.unfinished",
     "; x.log is cut within a line of NCCL"},
    /* a warning that nobody knows */
    {BOTH "a:7:7 [0] x.cc:1 NCCL WARN Frobnication of the fabric\nncclInternalError: Internal "
          "check failed.\n",
     "log.warn",
     "rank 0 (a): its first NCCL WARN, which nccl-init does not know, after NCCL's initialisation. "
     "x.log:3: \"Frob"},
    /* NCCL's own diagnostics */
    {BOTH
     "a:7 NCCL DIAG [INFO] NCCL environment: mismatch across 2 ranks in comm 0x2 for NCCL_IB_HCA\n",
     NULL, "2 ranks"},
};

static void test_causes(void **state)
{
    static struct ni_findings f;

    (void)state;
    for (size_t i = 0; i < NI_COUNT(causes); i++) {
        struct ni_log *log = judged(causes[i].text, &f);
        const char *id = log->cause ? ni_finding_id(log->cause->id) : NULL;

        if ((id && causes[i].id ? strcmp(id, causes[i].id) != 0 : id != causes[i].id) ||
            !strstr(log->sentence, causes[i].words))
            fail_msg("%s\nis %s: %s", causes[i].text, id ? id : "-", log->sentence);
        free(log);
    }
}

/* A variable that must be equal on all ranks, and one that may differ. */
static void test_diagnostics(void **state)
{
    static struct ni_findings f;
    struct ni_log *log = judged("a:7 NCCL DIAG [INFO] NCCL environment: mismatch across 2 ranks in "
                                "comm 0x2 for NCCL_ALGO\n",
                                &f);

    (void)state;
    assert_true(ni_findings_has(&f, NI_F_LOG_DIAG));
    free(log);
    log = judged("a:7 NCCL DIAG [INFO] NCCL environment: mismatch across 2 ranks in comm 0x2 for "
                 "NCCL_IB_HCA\na:7 NCCL DIAG [OK] ECC: no uncorrected volatile errors\n",
                 &f);
    assert_false(ni_findings_has(&f, NI_F_LOG_DIAG));
    free(log);
}

/* A carriage return divides records, as a newline does; before a newline it is that line's end. */
static void test_carriage_return(void **state)
{
    static const struct {
        const char *text;
        unsigned lines, records, processes;
    } cases[] = {
        {"a:1:2 [0] NCCL INFO x\rb:1:2 [0] NCCL INFO y\n", 1, 2, 2},
        {"a:1:2 [0] NCCL INFO x\r\nb:1:2 [0] NCCL INFO y\r\n", 2, 2, 2},
        {"a:1:2 [0] NCCL INFO x\r\n", 1, 1, 1},
        {"10%\r20%\ra:1:2 [0] NCCL INFO x\n", 1, 3, 1},
        {"a:1:2 [0] NCCL INFO x\n\n", 2, 2, 1},
        {"a:1:2 [0] NCCL INFO x\r\n\r\n", 2, 2, 1},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        struct ni_log *log = calloc(1, sizeof(*log));
        size_t room;
        assert_non_null(log);
        memcpy(ni_log_room(log, &room), cases[i].text, strlen(cases[i].text));
        ni_log_got(log, "x.log", strlen(cases[i].text));
        assert_int_equal(log->line, cases[i].lines);
        assert_int_equal(log->records, cases[i].records);
        assert_int_equal(log->n_rank, cases[i].processes);
        free(log);
    }
}

/* Headings of docs/guides/troubleshooting.md that are no lines of NCCL's: by their sections. */
static bool is_others(const char *section)
{
    static const char *const others[] = {"The pod does not start", "What `doctor` says",
                                         "NCCL's own diagnostics", "Drivers and tools"};

    for (size_t i = 0; i < NI_COUNT(others); i++)
        if (strncmp(section, others[i], strlen(others[i])) == 0)
            return true;
    return false;
}

/* Each heading leads to a finding that its entry lists, and each finding of the table is listed by
   an entry whose heading leads to it. */
static void test_troubleshooting(void **state)
{
    static struct ni_findings f;
    static char section[512], heading[512], line[512];
    static bool listed[NI_F_END];
    FILE *file = fopen("docs/guides/troubleshooting.md", "r");
    ni_finding_number id = NI_F_NONE;
    bool wanted = false;

    (void)state;
    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        if (strncmp(line, "## ", 3) == 0)
            (void)snprintf(section, sizeof(section), "%s", line + 3);
        if (strncmp(line, "### `", 5) == 0) {
            (void)snprintf(heading, sizeof(heading), "%.*s", (int)(strrchr(line, '`') - line - 5),
                           line + 5);
            wanted = !is_others(section) && strncmp(heading, "nccl-init", 9) != 0;
            id = told(heading, &f);
            if (strstr(heading, "Using network Socket"))
                wanted = false; /* judged by all lines: test_pasted */
            if (wanted && id == NI_F_NONE)
                fail_msg("%s leads to no finding", heading);
        }
        if (wanted && strncmp(line, "Findings: ", 10) == 0) {
            char next[512] = "";

            if (strchr(line, ',') && !strchr(line, '.') && fgets(next, sizeof(next), file))
                (void)strncat(line, next, sizeof(line) - strlen(line) - 1);
            (void)snprintf(next, sizeof(next), "`%s`", ni_finding_id(id));
            if (!strstr(line, next))
                fail_msg("%s: the program says %s, the page %s", heading, next, line);
            listed[id] = true;
            wanted = false;
        }
    }
    (void)fclose(file);
    for (unsigned i = 0; i < ni_patterns_count; i++)
        if (ni_patterns[i].take == NI_TAKE_FAULT && !listed[ni_patterns[i].id])
            fail_msg("docs/guides/troubleshooting.md: no entry leads to %s (%s)",
                     ni_finding_id(ni_patterns[i].id), ni_patterns[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),           cmocka_unit_test(test_words),
        cmocka_unit_test(test_pasted),          cmocka_unit_test(test_carriage_return),
        cmocka_unit_test(test_causes),          cmocka_unit_test(test_diagnostics),
        cmocka_unit_test(test_troubleshooting),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
