/* SPDX-License-Identifier: Apache-2.0 */
/* What the helper's words of GPU memory are said to mean: which pair returned wrong bytes, and that
   nobody is blamed for what a deadline, a limit, CUDA or the port itself may cause. */
#include "lib/doctor_node.h"
#include "lib/svg.h"

#include "findings/device.h"
#include "nccl_init/env.h"
#include "nccl_init/findings.h"
#include "nccl_init/number.h"
#include "nccl_init/text.h"
#include "nccl_init/tried_gpu.h"
#include "print/json_write.h"
#include "print/layout.h"
#include "rules/decide.h"
#include "selftest/gpu.h"
#include "selftest/gpu_svg.h"
#include "system/helper.h"
#include <jansson.h>

static struct ni_helper_result run;
static struct ni_gpu_trial all;
static enum ni_pairs which;
static int64_t limit; /* of memory that can be locked */

#define GPUS                                                    \
    "version 0.1.0\nlibrary /usr/lib/libibverbs.so.1.14.44.0\n" \
    "gpu 0 done driver=12080 us=560000\ngpu 1 done driver=12080 us=570000\n"
#define SECOND "pair 1 done way=dma-buf in=391000 out=389000 us=51000\nend\n"

static void judge(const char *words)
{
    static struct ni_env env;
    const struct ni_work work = {&node.inv, &env, &node.policy, &node.plan, &node.findings};

    env = (struct ni_env){node.entry};
    node_decide();
    node.findings.n = 0;
    memset(&all, 0, sizeof(all));
    all.memlock = limit;
    ni_plan_gpus(&work, which, &all);
    (void)ni_copy(run.words, sizeof(run.words), words);
    ni_judge_gpus(&work, &run, &all);
}

/* "wrong host-to-gpu, passed": the pairs' results; then how many findings. */
static void assert_results(const char *want, unsigned findings)
{
    static const char *const words[] = {"untried", "failed", "wrong", "late", "passed"};
    char buf[256];
    struct ni_text t = ni_text_on(buf, sizeof(buf));

    for (unsigned i = 0; i < all.n; i++)
        ni_putf(&t, "%s%s", i > 0 ? ", " : "", words[all.pair[i].verdict]);
    assert_string_equal(buf, want);
    assert_int_equal(node.findings.n, findings);
}

static int begin(void **state)
{
    (void)set_up(state);
    node.entry[0] = NULL;
    memset(&run, 0, sizeof(run));
    run.state = NI_HELPER_ENDED;
    which = NI_PAIRS_OWN;
    limit = NI_UNLIMITED;
    return 0;
}

static void test_pairs(void **state)
{
    (void)state;
    judge(GPUS
          "at 0 open\npair 0 done way=dma-buf in=390000 out=380000 us=50000\nat 1 rate\n" SECOND);
    assert_int_equal(all.n, 2);
    assert_int_equal(all.pair[0].gpu, 0);
    assert_int_equal(all.pair[0].port, 0);
    assert_int_equal(all.pair[1].gpu, 1);
    assert_int_equal(all.pair[1].port, 1);
    assert_results("passed, passed", 0);
    which = NI_PAIRS_ALL;
    judge(GPUS "end\n");
    assert_int_equal(all.n, 4);
    assert_int_equal(all.pair[1].gpu, 0);
    assert_int_equal(all.pair[1].port, 1);
    assert_results("untried, untried, untried, untried", 1);
}

/* A GPU that others use is not asked about: the other one is number 0 then. */
static void test_in_use(void **state)
{
    static struct ni_gpu_uses uses;
    static struct ni_env env;
    const struct ni_work work = {&node.inv, &env, &node.policy, &node.plan, &node.findings};

    (void)state;
    judge(GPUS "end\n");
    node.findings.n = 0;
    memset(&all, 0, sizeof(all));
    memset(&uses, 0, sizeof(uses));
    uses.whole = true;
    for (unsigned i = 0; i < 2; i++)
        uses.gpu[i] = (struct ni_gpu_use){.told = true, .free_mib = 80000, .processes = i == 0};
    ni_plan_gpus(&work, NI_PAIRS_OWN, &all);
    ni_leave_gpus(&node.inv, &uses, false, "", &all);
    assert_int_equal(all.n_asked, 1);
    assert_int_equal(all.n_asked_gpu, 1);
    (void)ni_copy(run.words, sizeof(run.words),
                  "version 1\nlibrary /l\ngpu 0 done\npair 0 done way=dma-buf in=1 out=1\nend\n");
    ni_judge_gpus(&work, &run, &all);
    assert_results("untried, passed", 1);
    assert_found(NI_F_GDR_UNTRIED, "--try=gpu", "GPU 0000:04:00.0: it is in use: 1 process");
    memset(&all, 0, sizeof(all));
    ni_plan_gpus(&work, NI_PAIRS_OWN, &all);
    ni_leave_gpus(&node.inv, &uses, true, "", &all);
    assert_int_equal(all.n_asked, 2);
    ni_leave_gpus(&node.inv, &uses, true, "no NVML", &all);
    assert_int_equal(all.n_asked, 0);
}

static void test_wrong(void **state)
{
    struct ni_text how = NI_TEXT(NI_REASON), mixed = NI_TEXT(NI_REASON);

    (void)state;
    judge(GPUS
          "pair 0 host-to-gpu way=peermem wrong=8192 of=1048576 first=12288 holds=20480\n" SECOND);
    assert_results("wrong, passed", 1);
    assert_found(
        NI_F_GDR_TRIED_BYTES, "0000:04:00.0 mlx5_6/1",
        "step `host-to-gpu` by peermem: 8192 of 1048576 bytes are wrong, also when they are "
        "moved again; the first is at 12288, where those of 20480 are");
    assert_false(ni_gpus_pass(&all, &how));
    assert_string_equal(how.buf, "GPU memory: 1 of 2 pairs of GPU and port passed, 1 wrong bytes");
    judge(GPUS "pair 0 host-to-gpu way=dma-buf wrong=64 of=1048576 first=0\npair 1 open err=13\n");
    assert_results("wrong, untried", 2);
    assert_found(NI_F_GDR_UNTRIED, "--try=gpu", "not tried with all pairs: 0000:14:00.0 mlx5_7/1");
    assert_false(ni_gpus_pass(&all, &mixed));
    assert_non_null(strstr(mixed.buf,
                           "0 of 2 pairs of GPU and port passed, 1 wrong bytes, 1 not tried "
                           "(0000:14:00.0 mlx5_7/1: step `open`"));
    judge(GPUS "pair 0 gpu-to-gpu way=dma-buf wrong=64 of=1048576 first=0\n" SECOND);
    assert_found(NI_F_GDR_TRIED_BYTES, "0000:04:00.0 mlx5_6/1", "the first is at 0");
}

/* Pairs beyond what the helper takes are told. */
static void test_left_out(void **state)
{
    static struct ni_env env;
    const struct ni_work work = {&node.inv, &env, &node.policy, &node.plan, &node.findings};
    struct ni_text how = NI_TEXT(NI_REASON);

    (void)state;
    judge(GPUS "end\n");
    node.findings.n = 0;
    for (unsigned i = 0; i < all.n; i++)
        all.pair[i].why[0] = '\0';
    all.untried[0] = '\0';
    all.left_out = 3;
    (void)ni_copy(run.words, sizeof(run.words), GPUS "pair 0 done way=dma-buf in=1 out=1\n" SECOND);
    ni_judge_gpus(&work, &run, &all);
    assert_results("passed, passed", 1);
    assert_found(NI_F_GDR_UNTRIED, "--try=gpu", "3 pairs beyond the first 128 were left out");
    assert_false(ni_gpus_pass(&all, &how));
}

static void test_failed(void **state)
{
    static const struct {
        const char *line, *words;
    } failures[] = {
        {"export way=dma-buf cuda=801", "step `export` by dma-buf: CUDA error 801 (not supported)"},
        {"register way=dma-buf err=14", "step `register` by dma-buf: EFAULT"},
        {"host-to-gpu way=dma-buf wc=10", "status 10 (IBV_WC_REM_ACCESS_ERR)"},
        {"gpu-to-host way=dma-buf err=110", "the HCA returns no completion"},
        {"host-to-gpu died=11", "step `host-to-gpu`: its process dies by signal 11"},
    };

    (void)state;
    for (size_t i = 0; i < NI_COUNT(failures); i++) {
        char words[512];

        snprintf(words, sizeof(words), GPUS "pair 0 %s\n" SECOND, failures[i].line);
        judge(words);
        assert_results("failed, passed", 1);
        assert_found(NI_F_GDR_TRIED_FAILED, "0000:04:00.0 mlx5_6/1", failures[i].words);
    }
}

/* Late bytes are never called wrong. */
static void test_late(void **state)
{
    (void)state;
    judge(GPUS "pair 0 done way=dma-buf late=2 in=1 out=1\n" SECOND);
    assert_results("late, passed", 1);
    assert_found(NI_F_GDR_TRIED_LATE, "0000:04:00.0 mlx5_6/1",
                 "only when they were looked at again");
    judge(GPUS "pair 0 done way=dma-buf once=8192 in=1 out=1\n" SECOND);
    assert_results("late, passed", 1);
    assert_found(NI_F_GDR_TRIED_LATE, "0000:04:00.0 mlx5_6/1", "8192 bytes were wrong once");
}

static void test_untried(void **state)
{
    static const struct {
        const char *line, *words;
    } reasons[] = {
        {"export", "neither DMA-BUF nor nvidia-peermem"},
        {"open err=13", "step `open` of the port itself: EACCES"},
        {"gpu-memory cuda=2", "too little free memory"},
        {"host-to-gpu died=9", "killed by signal 9"},
        {"connect died=11", "step `connect`: its process died by signal 11"},
        {"register way=dma-buf err=11", "rdma.max"},
        {"host-to-host wc=12", "step `host-to-host` of the port itself: status 12"},
        {"host-to-host err=74", "step `host-to-host` of the port itself: wrong bytes"},
        {"host-to-gpu way=dma-buf cuda=214", "step `host-to-gpu`: the GPU: CUDA reports an ECC"},
        {"gpu-to-host way=dma-buf err=62", "step `gpu-to-host`: too slow to be tried"},
        {"context died=11", "its GPU could not be opened again: its process dies by signal 11"},
        {"context cuda=46", "could not be opened again: CUDA error 46"},
    };

    (void)state;
    for (size_t i = 0; i < NI_COUNT(reasons); i++) {
        char words[512];

        snprintf(words, sizeof(words), GPUS "pair 0 %s\n" SECOND, reasons[i].line);
        judge(words);
        assert_results("untried, passed", 1);
        assert_found(NI_F_GDR_UNTRIED, "--try=gpu", reasons[i].words);
    }
}

/* Host memory was registered before: a limit of it is not why GPU memory is not. */
static void test_limit(void **state)
{
    (void)state;
    limit = 64 << 10;
    judge(GPUS "pair 0 register way=peermem err=12\n" SECOND);
    assert_results("failed, passed", 1);
    judge(GPUS "pair 0 host-memory err=12\n" SECOND);
    assert_found(NI_F_GDR_UNTRIED, "--try=gpu", "no memory could be pinned");
}

/* GPU memory is mapped by PCIe where NCCL has it so: beside NVLink-C2C, but not over it. */
static void test_arguments(void **state)
{
    static struct ni_env env;
    const struct ni_work work = {&node.inv, &env, &node.policy, &node.plan, &node.findings};
    static char no_c2c[] = "NCCL_NET_GDR_C2C=0", pkey[] = "NCCL_IB_PKEY=3",
                strict[] = "NCCL_IB_PCI_RELAXED_ORDERING=0";
    static const struct {
        bool c2c;
        enum ni_distance distance;
        char *variable;
        const char *mapping;
    } cases[] = {
        {false, NI_DIST_PXB, NULL, ",0"}, {true, NI_DIST_PXB, NULL, ",1"},
        {true, NI_DIST_PHB, NULL, ",0"},  {true, NI_DIST_PHB, no_c2c, ",1"},
        {true, NI_DIST_SYS, NULL, ",1"},  {true, NI_DIST_UNKNOWN, NULL, ",0"},
    };

    (void)state;
    judge(GPUS "end\n");
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        struct ni_text t = NI_TEXT(128);

        node.entry[0] = cases[i].variable;
        node.entry[1] = NULL;
        env = (struct ni_env){node.entry};
        node.inv.gdr.c2c = cases[i].c2c;
        node.plan.distance[0][0] = (uint8_t)cases[i].distance;
        ni_put_pair_arg(&work, &all.pair[0], &t);
        assert_string_equal(t.buf + t.len - 2, cases[i].mapping);
    }
    struct ni_text t = NI_TEXT(128), own = NI_TEXT(128);
    node.inv.gdr.peermem = NI_ABSENT;
    node.entry[0] = NULL;
    ni_put_pair_order(&work, &t);
    assert_string_equal(t.buf, "0,0,0,20,11");
    node.entry[0] = strict;
    node.entry[1] = pkey;
    node.entry[2] = NULL;
    ni_put_pair_order(&work, &own);
    assert_string_equal(own.buf, "0,0,3,20,3");
}

/* The GPU's own reasons are of all its pairs. */
static void test_contexts(void **state)
{
    (void)state;
    judge("version 0.1.0\nlibrary /l\ngpu 0 context cuda=46\ngpu 1 done\n" SECOND);
    assert_results("untried, passed", 1);
    assert_found(NI_F_GDR_UNTRIED, "--try=gpu", "GPU 0000:04:00.0: another process has it");
    judge("version 0.1.0\nlibrary /l\ngpu 0 context mode=2\ngpu 1 done\n" SECOND);
    assert_found(NI_F_GDR_UNTRIED, "--try=gpu", "compute mode is PROHIBITED");
    judge("version 0.1.0\nlibrary /l\ngpu 0 context died=11\ngpu 1 done\n" SECOND);
    assert_found(NI_F_GDR_UNTRIED, "--try=gpu", "CUDA dies by signal 11");
    judge("version 0.1.0\nlibrary /l\ngpu 0 context err=5\ngpu 1 done\n" SECOND);
    assert_found(NI_F_GDR_UNTRIED, "--try=gpu", "CUDA ends its process while it makes a context");
    judge("version 0.1.0\nlibrary /l\ngpu 0 context err=11\ngpu 1 done\n" SECOND);
    assert_found(NI_F_GDR_UNTRIED, "--try=gpu", "no process could be started for it: EAGAIN");
    judge("version 0.1.0\nlibrary /l\nunloaded libcuda.so.1: cannot open\nend\n");
    assert_results("untried, untried", 1);
    assert_found(NI_F_GDR_UNTRIED, "--try=gpu", "no CUDA that loads: libcuda.so.1: cannot open");
    run.state = NI_HELPER_MISSING;
    judge("");
    assert_found(NI_F_GDR_UNTRIED, "--try=gpu", "nccl-init-try is not beside this program");
}

static void test_deadline(void **state)
{
    (void)state;
    run.state = NI_HELPER_LATE;
    judge(GPUS "at 0 register\nat 1 open\npair 1 done way=dma-buf in=1 out=1\n");
    assert_results("untried, passed", 1);
    assert_found(NI_F_GDR_UNTRIED, "--try=gpu",
                 "0000:04:00.0 mlx5_6/1: it hung, or was not done, at step `register` when the "
                 "deadline came");
    judge("version 0.1.0\nlibrary /l\ngpu 1 done\n"
          "pair 1 done way=dma-buf in=1 out=1\n");
    assert_found(NI_F_GDR_UNTRIED, "--try=gpu", "its context was not made until the deadline");
}

/* A process that SIGKILL does not end is told, beside what was not tried for it. */
static void test_left(void **state)
{
    (void)state;
    run.state = NI_HELPER_LATE;
    run.left = true;
    judge(GPUS "at 0 register\n");
    assert_results("untried, untried", 2);
    assert_found(NI_F_GDR_TRIED_LEFT, "--try=gpu", "has not ended after SIGKILL");
}

/* Words that cannot be: nobody is judged by them. */
static void test_hostile(void **state)
{
    static const char *const words[] = {
        "",
        "pair 0 done\n",
        "version 1\npair 2 done\n",
        "version 1\npair 0 nothing\n",
        "version 1\npair 0 done wrong=8\n",
        "version 1\npair 0 done\npair 0 done\n",
        "version 1\ngpu 0 done in=99999999999\n",
        "version 1\nat 0 open err=1\n",
        "version 1\npair 0 done x=1\n",
        "version 1\npair 0 done in\n",
        "version 1\nend\nend\n",
        "version 1\npair 99999999999999999999 done\n",
        "version 1\npair 0 done way=ship\n",
    };

    (void)state;
    for (size_t i = 0; i < NI_COUNT(words); i++) {
        judge(words[i]);
        assert_results("untried, untried", 1);
        assert_found(NI_F_GDR_UNTRIED, "--try=gpu", "cannot be understood");
    }
}

#define RATES                                                                               \
    GPUS "pair 0 done way=dma-buf in=400000 out=400000\npair 1 done way=dma-buf in=90000 "  \
         "out=400000\n"                                                                     \
         "pair 2 done way=dma-buf in=390000 out=380000\npair 3 done way=dma-buf in=390000 " \
         "out=400000\n"                                                                     \
         "end\n"

/* The picture: the rates and the way, or what went wrong, and below why. */
static void test_svg(void **state)
{
    struct ni_text out = ni_long_text();
    const struct ni_view view = {
        .inv = &node.inv, .plan = &node.plan, .findings = &node.findings, .root = "/"};

    (void)state;
    judge(GPUS
          "pair 0 host-to-gpu way=peermem wrong=8192 of=1048576 first=12288 holds=20480\n" SECOND);
    ni_put_gpu_svg(&out, &view, &all);
    assert_picture(out.buf);
    assert_non_null(strstr(out.buf, ">48.9 / 48.6</text>"));
    assert_non_null(strstr(out.buf, ">dma-buf</text>"));
    assert_non_null(strstr(out.buf, "<g fill=\"#ffffff\"><title>0000:04:00.0 mlx5_6/1: WRONG"));
    assert_non_null(strstr(out.buf, ">at 12288</text>"));
    assert_non_null(strstr(out.buf, ">0000:04:00.0 mlx5_6/1: step `host-to-gpu` by peermem: 8192"));
    assert_int_equal(count_parts(out.buf, "#c00000\" stroke=\"#c00000\""),
                     2); /* its cell, the legend */
    out.len = 0;
    judge(GPUS "pair 0 register way=dma-buf err=12\npair 1 open err=13\nend\n");
    ni_put_gpu_svg(&out, &view, &all);
    assert_non_null(strstr(out.buf, ">failed</text>"));
    assert_non_null(strstr(out.buf, ">register</text>"));
    assert_non_null(strstr(out.buf, ">not tried</text>"));
    assert_non_null(strstr(out.buf, ">open</text>"));
    ni_free_text(&out);
}

/* A pair below half of the median of its kind is slow; of two of a kind it is not known which. */
static void test_slow(void **state)
{
    (void)state;
    which = NI_PAIRS_ALL;
    judge(RATES);
    assert_results("passed, passed, passed, passed", 0);
    for (unsigned i = 0; i < 2; i++)
        node_chain(&node.inv.gpu[i].pci, "0000:20:00.0 0000:21:00.0", 0);
    for (unsigned i = 0; i < 2; i++)
        node_chain(&node.inv.hca[i].pci, "0000:30:00.0 0000:31:00.0", 0);
    judge(RATES);
    assert_results("passed, passed, passed, passed", 1);
    assert_true(all.pair[1].slow);
    assert_found(NI_F_GDR_TRIED_SLOW, "0000:04:00.0 mlx5_7/1",
                 "90 Gb/s to or from GPU memory, and 390 is the median of pairs as near");
}

static void test_matrix(void **state)
{
    struct ni_text out = ni_long_text();
    const struct ni_view view = {.inv = &node.inv, .plan = &node.plan, .findings = &node.findings};

    (void)state;
    judge(GPUS "pair 0 host-to-gpu way=dma-buf wrong=8192 of=1048576 first=12288\n" SECOND);
    all.took_ms = 1234;
    ni_put_gpu_trial(&out, &view, &all);
    assert_string_equal(
        out.buf, "\nGPU memory, by dma-buf, 1.23 s; GB/s from host to GPU / from GPU to host\n"
                 "  GPU           mlx5_6/1     mlx5_7/1\n"
                 "  0000:04:00.0  WRONG BYTES  -\n"
                 "  0000:14:00.0  -            48.9/48.6\n");
    ni_free_text(&out);
    out = ni_long_text();
    struct ni_json json = ni_json_on(&out, NI_JSON_LINE), *j = &json;
    ni_json_object(j, NULL);
    ni_json_gpu_trial(j, &view, &all);
    ni_json_end(j);
    json_t *read = json_loads(out.buf, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(read);
    const json_t *pair = json_array_get(json_object_get(json_object_get(read, "gpu"), "pairs"), 0);
    assert_string_equal(json_string_value(json_object_get(pair, "result")), "wrong bytes");
    assert_int_equal(json_integer_value(json_object_get(pair, "wrong_first")), 12288);
    json_decref(read);
    ni_free_text(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_pairs, begin),    cmocka_unit_test_setup(test_wrong, begin),
        cmocka_unit_test_setup(test_failed, begin),   cmocka_unit_test_setup(test_late, begin),
        cmocka_unit_test_setup(test_untried, begin),  cmocka_unit_test_setup(test_contexts, begin),
        cmocka_unit_test_setup(test_deadline, begin), cmocka_unit_test_setup(test_hostile, begin),
        cmocka_unit_test_setup(test_left, begin),     cmocka_unit_test_setup(test_in_use, begin),
        cmocka_unit_test_setup(test_svg, begin),      cmocka_unit_test_setup(test_slow, begin),
        cmocka_unit_test_setup(test_matrix, begin),   cmocka_unit_test_setup(test_left_out, begin),
        cmocka_unit_test_setup(test_limit, begin),    cmocka_unit_test_setup(test_arguments, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
