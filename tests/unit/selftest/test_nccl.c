/* SPDX-License-Identifier: Apache-2.0 */
/* What the trial of NCCL is said to mean: the words of the helper and the output of NCCL 2.28.9, as they were on an H200
   with a fault planted each (tests/try/nccl), and words made up where no machine showed them. */
#include "lib/doctor_node.h"

#include "findings/log.h"
#include "findings/pod.h"
#include "findings/setting.h"
#include "nccl_init/env.h"
#include "nccl_init/findings.h"
#include "nccl_init/text.h"
#include "rules/decide.h"
#include "selftest/nccl.h"
#include "system/helper.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>

static struct ni_helper_result run;
static struct ni_nccl_trial all;
static enum ni_transport transport;

static void read_file(const char *job, const char *end, char *to, size_t cap)
{
    char path[128];

    (void)snprintf(path, sizeof(path), "tests/try/nccl/%s.%s", job, end);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    const size_t n = fread(to, 1, cap - 1, file);
    assert_true(n < cap - 1);
    to[n] = '\0';
    (void)fclose(file);
}

static void judge(void)
{
    static struct ni_env env;
    const struct ni_work work = {&node.inv, &env, &node.policy, &node.plan, &node.findings};

    env = (struct ni_env){node.entry};
    node.plan.transport = transport;
    node.findings.n = 0;
    all = (struct ni_nccl_trial){.n = 1, .asked = 1, .limit_ms = 12000};
    ni_judge_nccl(&work, &run, &all);
}

/* Judges what was seen on a machine. */
static void judge_job(const char *job)
{
    read_file(job, "words", run.words, sizeof(run.words));
    read_file(job, "log", run.errors, sizeof(run.errors));
    judge();
}

static void judge_words(const char *words)
{
    (void)ni_copy(run.words, sizeof(run.words), words);
    run.errors[0] = '\0';
    judge();
}

static void assert_verdict(enum ni_nccl_verdict verdict, unsigned findings)
{
    assert_int_equal(all.gpu[0].verdict, verdict);
    assert_int_equal(all.passed, verdict == NI_NCCL_PASSED);
    for (unsigned i = 0; node.findings.n != findings && i < node.findings.n; i++)
        print_message("%s: %s\n", ni_finding_id(node.findings.at[i].id),
                      node.findings.at[i].message);
    assert_int_equal(node.findings.n, findings);
}

#define GPU "0000:04:00.0"

static int begin(void **state)
{
    (void)set_up(state);
    node.entry[0] = NULL;
    memset(&run, 0, sizeof(run));
    run.state = NI_HELPER_ENDED;
    transport = NI_NET_TCP;
    return 0;
}

static void test_passed(void **state)
{
    struct ni_text how = NI_TEXT(NI_REASON);

    (void)state;
    judge_job("sockets");
    assert_verdict(NI_NCCL_PASSED, 0);
    assert_string_equal(all.gpu[0].network, "Socket");
    assert_int_equal(all.version, 22809);
    assert_true(all.gpu[0].us[NI_NCCL_SUM] > 0);
    assert_true(ni_nccl_passes(&all, &how));
    assert_string_equal(how.buf, "the image's NCCL works on 1 of 1 GPU");
    transport = NI_NET_RDMA;
    judge_job("hca");
    assert_int_equal(all.gpu[0].verdict, NI_NCCL_PASSED);
    assert_string_equal(all.gpu[0].network, "IB");
    assert_true(all.gpu[0].ends > 0);
    assert_int_equal(all.gpu[0].gdr, all.gpu[0].ends);
}

/* It runs, and not as the job is to run. */
static void test_sockets_in_place_of_rdma(void **state)
{
    (void)state;
    transport = NI_NET_RDMA;
    judge_job("sockets");
    assert_int_equal(all.gpu[0].verdict, NI_NCCL_FAILED);
    assert_found(NI_F_LOG_SOCKETS, GPU, "went over sockets");
}

static void test_planted(void **state)
{
    static const struct {
        const char *job;
        enum ni_nccl_step step;
        ni_finding_number cause;
        const char *words;
    } jobs[] = {
        {"ifname", NI_NCCL_ID, NI_F_USER_SOCKET_NONE, "NCCL finds no interface"},
        {"net-ib", NI_NCCL_JOIN, NI_F_USER_NET_NONE, "the network that NCCL_NET demands"},
        {"env", NI_NCCL_JOIN, NI_F_USER_NET_NONE, "the ENV plugin /opt/fleet/libnccl-env-fleet.so"},
        {"shm", NI_NCCL_CONNECT, NI_F_SHM_DEFAULT, "/dev/shm is full"},
        {"proto", NI_NCCL_JOIN, NI_F_USER_VALUE_IGNORED, "NCCL_ALGO or NCCL_PROTO"},
        {"topo2", NI_NCCL_JOIN, NI_F_USER_TOPO_UNREADABLE, "NCCL_TOPO_FILE"},
        {"retry", NI_NCCL_CONNECT, NI_F_LOG_PEER_SILENT, "does not answer"},
    };

    (void)state;
    for (unsigned i = 0; i < NI_COUNT(jobs); i++) {
        judge_job(jobs[i].job);
        assert_int_equal(all.gpu[0].verdict, NI_NCCL_FAILED);
        assert_int_equal(all.gpu[0].step, jobs[i].step);
        assert_found(jobs[i].cause, GPU, jobs[i].words);
        assert_found(NI_F_IMAGE_NCCL_FAILED, GPU, ni_finding_id(jobs[i].cause));
    }
}

static void test_conf(void **state)
{
    (void)state;
    node.inv.n_conf = 1;
    (void)ni_copy(node.inv.conf[0].name, NI_DEV_NAME, "NCCL_NET");
    (void)ni_copy(node.inv.conf[0].file, NI_DEV_NAME, "etc/nccl.conf");
    judge_job("net-ib");
    assert_found(NI_F_USER_NET_NONE, GPU, "; etc/nccl.conf sets NCCL_NET");
}

static void test_plugin(void **state)
{
    (void)state;
    node_env("NCCL_NET_PLUGIN=nonesuch");
    judge_job("plugin");
    assert_verdict(NI_NCCL_PASSED, 1);
    assert_found(NI_F_IMAGE_NCCL_PLUGIN, GPU, "nonesuch libnccl-net-nonesuch.so");
    judge_job("net-ib"); /* libnccl-net.so is not there in most images */
    assert_found(NI_F_IMAGE_NCCL_PLUGIN, GPU, "libnccl-net.so");
    node.entry[0] = NULL;
    node_env("NCCL_NET_PLUGIN=none");
    judge_job("net-ib");
    assert_false(ni_findings_has(&node.findings, NI_F_IMAGE_NCCL_PLUGIN));
}

static void test_cuda(void **state)
{
    (void)state;
    judge_job("memory");
    assert_verdict(NI_NCCL_UNTRIED, 0);
    assert_string_equal(all.untried,
                        "cuDevicePrimaryCtxRetain returned 2: it has too little free memory");
    node_env("CUDA_VISIBLE_DEVICES=9");
    judge_job("visible");
    assert_verdict(NI_NCCL_UNTRIED, 0);
    assert_string_equal(all.untried, "cuInit returned 100: CUDA_VISIBLE_DEVICES=9 leaves no GPU");
    judge_words("version 1\nat 0 0 load\ndone 0 0 load 5\nat 0 0 gpu\nfailed 0 0 gpu "
                "cuDeviceGetByPCIBusId 101\nend\n");
    assert_verdict(NI_NCCL_UNTRIED, 0);
    assert_string_equal(all.untried,
                        "cuDeviceGetByPCIBusId returned 101: CUDA_VISIBLE_DEVICES=9 hides it");
    node.entry[0] = NULL;
    judge_words("version 1\nat 0 0 load\ndone 0 0 load 5\nat 0 0 gpu\nfailed 0 0 gpu cuInit "
                "802\nend\n");
    assert_verdict(NI_NCCL_FAILED, 2);
    assert_found(NI_F_LOG_CUDA_FABRIC, GPU, "Fabric Manager does not run");
    judge_words("version 1\nat 0 0 load\ndone 0 0 load 5\nat 0 0 gpu\nfailed 0 0 gpu cuInit "
                "805\nend\n");
    assert_verdict(NI_NCCL_UNTRIED, 0);
    assert_string_equal(all.untried, "cuInit returned 805: the MPS server refuses it (805)");
    judge_words("version 1\nat 0 0 load\ndone 0 0 load 5\nat 0 0 gpu\nfailed 0 0 gpu "
                "cuDevicePrimaryCtxRetain 46\nend\n");
    assert_verdict(NI_NCCL_UNTRIED, 0);
    judge_words("version 1\nat 0 0 load\ndone 0 0 load 5\nat 0 0 gpu\ndone 0 0 gpu 5\nat 0 0 "
                "memory\nfailed 0 0 memory cuStreamCreate 999\nend\n");
    assert_verdict(NI_NCCL_UNTRIED, 0);
    assert_string_equal(all.untried, "cuStreamCreate returned 999: CUDA error 999");
    judge_words("version 1\nat 0 0 load\ndone 0 0 load 5\nat 0 0 gpu\nunloaded libcuda.so.1: "
                "no\nfailed 0 0 gpu dlopen 79\nend\n");
    assert_verdict(NI_NCCL_UNTRIED, 0);
    assert_string_equal(all.untried, "this image has no libcuda: libcuda.so.1: no");
}

/* A rank that hangs in NCCL; one that hangs in the driver, which says nothing of NCCL. */
static void test_hang(void **state)
{
    (void)state;
    judge_job("hang");
    assert_int_equal(all.gpu[0].verdict, NI_NCCL_FAILED);
    assert_int_equal(all.gpu[0].step, NI_NCCL_CONNECT);
    assert_found(NI_F_IMAGE_NCCL_FAILED, GPU,
                 "step `connect`: it had not ended when the time was over, after 10.1 s");
    judge_words("version 1\nat 0 0 load\ndone 0 0 load 5\nat 0 0 gpu\nstopped 0 0\nend\n");
    assert_verdict(NI_NCCL_UNTRIED, 0);
    run.state = NI_HELPER_LATE; /* ... so that it cannot even be killed */
    judge_words("version 1\nat 0 0 load\ndone 0 0 load 5\nat 0 0 gpu\n");
    assert_verdict(NI_NCCL_UNTRIED, 0);
}

#define UP_TO_JOIN                                                                                \
    "version 1\nat 0 0 load\ndone 0 0 load 5\nat 0 0 gpu\ndone 0 0 gpu 5\nat 0 0 memory\ndone 0 " \
    "0 memory 5\nat 0 0 id\ndone 0 0 id 5\nat 0 0 join\n"

/* Ranks that come to the step join as in UP_TO_JOIN, and then fail in their own ways. */
static void judge_pair(const char *first, const char *second)
{
    char words[2048];

    (void)snprintf(words, sizeof(words),
                   UP_TO_JOIN "at 0 1 load\ndone 0 1 load 5\nat 0 1 gpu\ndone 0 1 gpu 5\nat 0 1 "
                              "memory\ndone 0 1 memory 5\nat 0 1 id\ndone 0 1 id 5\nat 0 1 join\n"
                              "%s%send\n",
                   first, second);
    judge_words(words);
}

/* What one rank meets because the other one is gone says nothing. */
static void test_culprit(void **state)
{
    (void)state;
    judge_pair("failed 0 0 join ncclCommInitRank 6\n", "died 0 1 9\n");
    assert_verdict(NI_NCCL_UNTRIED, 0);
    assert_string_equal(all.untried, "a rank died by signal 9 in step `join`");
    judge_pair("failed 0 0 join ncclCommInitRank 2\n", "died 0 1 11\n");
    assert_found(NI_F_IMAGE_NCCL_FAILED, GPU, "a rank died by signal 11");
    judge_pair("failed 0 0 join ncclCommInitRank 6\n", "failed 0 1 join ncclCommInitRank 5\n");
    assert_found(NI_F_IMAGE_NCCL_FAILED, GPU, "returned 5, invalid usage");
    judge_pair("failed 0 0 join ncclCommInitRank 6\n", "stopped 0 1\n");
    assert_found(NI_F_IMAGE_NCCL_FAILED, GPU, "returned 6, remote error");
}

/* Sums that are right, and an NCCL that does not say over which network, or whose lines are not all
   there. */
static void test_no_evidence(void **state)
{
    static const char why[] = "what NCCL printed does not show over which network";

    (void)state;
    transport = NI_NET_RDMA;
    judge_job("hca");
    assert_int_equal(all.gpu[0].verdict, NI_NCCL_PASSED);
    run.cut = true;
    judge();
    assert_int_equal(all.gpu[0].verdict, NI_NCCL_UNTRIED);
    assert_string_equal(all.untried, why);
    run.cut = false;
    char *end = strstr(run.words, "end\n");
    assert_non_null(end);
    (void)ni_copy(end, 16, "cut 0\nend\n");
    judge();
    assert_int_equal(all.gpu[0].verdict, NI_NCCL_UNTRIED);
    judge_job("hca");
    run.errors[0] = '\0';
    judge();
    assert_verdict(NI_NCCL_UNTRIED, 0);
    assert_string_equal(all.untried, why);
    transport = NI_NET_TCP;
    judge();
    assert_verdict(NI_NCCL_PASSED, 0);
}

/* Room for the job's one pool for each GPU, and not for the trial's two. */
static void test_shm(void **state)
{
    (void)state;
    node.inv.self.shm = (struct ni_num){INT64_C(64) << 20, NI_KNOWN};
    judge_job("shm");
    assert_verdict(NI_NCCL_UNTRIED, 0);
    assert_true(ni_has_prefix(all.untried, "the trial needs twice the job's /dev/shm"));
    node.inv.self.shm.v = INT64_C(32) << 20;
    judge_job("shm");
    assert_int_equal(all.gpu[0].verdict, NI_NCCL_FAILED);
    node.inv.self.shm.v = INT64_C(128) << 20; /* others fill it */
    judge_job("shm");
    assert_int_equal(all.gpu[0].verdict, NI_NCCL_FAILED);
}

static void assert_unfit(const char *entry, const char *words)
{
    static struct ni_env env;
    const struct ni_work work = {&node.inv, &env, &node.policy, &node.plan, &node.findings};
    struct ni_text why = NI_TEXT(NI_REASON);

    env = (struct ni_env){node.entry};
    node.entry[0] = (char *)(uintptr_t)entry;
    node.entry[1] = NULL;
    ni_put_unfit(&why, &work);
    if (words ? !strstr(why.buf, words) : why.len > 0)
        fail_msg("%s: `%s`", entry ? entry : "", why.buf);
}

/* Settings that fit the job, and not two ranks on one GPU. */
static void test_unfit(void **state)
{
    static const char several[] = "a value for several GPUs of a node";

    (void)state;
    assert_unfit(NULL, NULL);
    assert_unfit("NCCL_ALGO=NVLS", several);
    assert_unfit("NCCL_ALGO=nvlstree,collnetdirect", several);
    assert_unfit("NCCL_ALGO=allreduce:nvls;broadcast:ring", several);
    assert_unfit("NCCL_ALGO=^ring,tree", several);
    assert_unfit("NCCL_ALGO=nvls,ring", NULL);
    assert_unfit("NCCL_ALGO=^nvls", NULL);
    assert_unfit("NCCL_ALGO=broadcast:nvls", NULL);
    assert_unfit("NCCL_ALGO=nonesuch", NULL); /* an error of its own */
    assert_unfit("NCCL_GRAPH_FILE=/etc/graph.xml", several);
    node.inv.n_conf = 1;
    (void)ni_copy(node.inv.conf[0].name, NI_DEV_NAME, "NCCL_COMM_ID");
    (void)ni_copy(node.inv.conf[0].file, NI_DEV_NAME, "etc/nccl.conf");
    assert_unfit(NULL, "etc/nccl.conf sets NCCL_COMM_ID");
}

/* The report names each variable that is another one than the job's. */
static void test_changed(void **state)
{
    static const char *const names[] = {"NCCL_HOSTID, NCCL_IB_HCA, NCCL_DEBUG, ",
                                        "NCCL_TOPO_DUMP_FILE,",
                                        "NCCL_GRAPH_DUMP_FILE,",
                                        "LD_DEBUG_OUTPUT,",
                                        "MALLOC_TRACE,",
                                        "VERBS_LOG_FILE,",
                                        "MLX5_DEBUG_FILE\n"};
    static char buf[8192];
    const struct ni_view view = {.inv = &node.inv, .plan = &node.plan};
    struct ni_text out = ni_text_on(buf, sizeof(buf));

    (void)state;
    judge_job("sockets");
    ni_put_nccl_trial(&out, &view, &all);
    for (unsigned i = 0; i < NI_COUNT(names); i++) {
        if (!strstr(out.buf, names[i]))
            fail_msg("no %s in %s", names[i], out.buf);
    }
}

static void test_death_and_sums(void **state)
{
    (void)state;
    judge_words(UP_TO_JOIN "died 0 0 11\nend\n");
    assert_verdict(NI_NCCL_FAILED, 1);
    assert_found(NI_F_IMAGE_NCCL_FAILED, GPU, "step `join`: a rank died by signal 11");
    judge_words(UP_TO_JOIN "died 0 0 9\nend\n"); /* for want of memory */
    assert_verdict(NI_NCCL_UNTRIED, 0);
    judge_words(UP_TO_JOIN "done 0 0 join 5\nat 0 0 connect\ndone 0 0 connect 5\nat 0 0 sum\ndone "
                           "0 0 sum 5\nat 0 0 compare\nwrong 0 0 7 4096\nfailed 0 0 compare sums "
                           "84\nend\n");
    assert_verdict(NI_NCCL_FAILED, 1);
    assert_found(NI_F_IMAGE_NCCL_SUMS, GPU,
                 "7 of 4194304 sums are wrong, the first at byte 4096 of 16777216");
}

static void test_library(void **state)
{
    (void)state;
    judge_words("version 1\nat 0 0 load\nunloaded /opt/libnccl.so.2: not there\nfailed 0 0 load "
                "dlopen 79\nend\n");
    assert_verdict(NI_NCCL_FAILED, 1);
    assert_found(NI_F_IMAGE_NCCL_FAILED, GPU, "step `load`: /opt/libnccl.so.2: not there");
    judge_words("version 1\nat 0 0 load\nunloaded libnccl.so.2: cannot open shared object file: No "
                "such file or directory\nfailed 0 0 load dlopen 79\nend\n");
    assert_verdict(NI_NCCL_UNTRIED, 0);
    assert_true(ni_has_prefix(all.untried, "no NCCL was found in the image"));
}

static void assert_untried(enum ni_helper_state how, int err, const char *words, const char *why)
{
    struct ni_text verdict = NI_TEXT(2 * NI_REASON);

    run.state = how;
    run.err = err;
    judge_words(words);
    assert_verdict(NI_NCCL_UNTRIED, 0);
    assert_false(ni_nccl_passes(&all, &verdict));
    if (!strstr(verdict.buf, why))
        fail_msg("`%s` lacks `%s`", verdict.buf, why);
}

static void test_untried(void **state)
{
    (void)state;
    assert_untried(NI_HELPER_MISSING, 0, "", "is not beside this program");
    assert_untried(NI_HELPER_DENIED, EACCES, "", "a mount with noexec");
    assert_untried(NI_HELPER_ENDED, 127, "", "ended with status 127");
    assert_untried(NI_HELPER_ENDED, 0, "hello\n", "cannot be understood");
    assert_untried(NI_HELPER_ENDED, 0, "version 1\nend\n", "left it out");
    assert_untried(NI_HELPER_ENDED, 0, "version 1\n", "ended before its end");
    assert_untried(NI_HELPER_DIED, SIGKILL, UP_TO_JOIN, "died by signal 9");
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup(f, begin)
    const struct CMUnitTest tests[] = {
        CASE(test_passed),  CASE(test_sockets_in_place_of_rdma),
        CASE(test_planted), CASE(test_conf),
        CASE(test_plugin),  CASE(test_cuda),
        CASE(test_hang),    CASE(test_death_and_sums),
        CASE(test_library), CASE(test_untried),
        CASE(test_culprit), CASE(test_no_evidence),
        CASE(test_shm),     CASE(test_unfit),
        CASE(test_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
