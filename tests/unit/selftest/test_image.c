/* SPDX-License-Identifier: Apache-2.0 */
/* What the helper's words and its end are said to mean: which HCAs the image cannot drive, and that
   nobody is blamed for what another limit, right or signal may cause. */
#include "lib/doctor_node.h"

#include "findings/pod.h"
#include "nccl_init/env.h"
#include "nccl_init/findings.h"
#include "nccl_init/number.h"
#include "nccl_init/text.h"
#include "rules/decide.h"
#include "selftest/image.h"
#include "selftest/trials.h"
#include "system/helper.h"
#include <errno.h>
#include <signal.h>

static struct ni_helper_result run;
static struct ni_image_trial all;
static const struct ni_trials *ports;

#define LOADED "version 0.1.0\nlibrary /usr/lib/libibverbs.so.1.14.44.0\nlist 0\n"
#define SECOND "hca mlx5_7 done 0\nend\n"

static void judge(const char *words, const char *errors)
{
    static struct ni_env env;
    const struct ni_work work = {&node.inv, &env, &node.policy, &node.plan, &node.findings};

    env = (struct ni_env){node.entry};
    node_decide();
    node.findings.n = 0;
    memset(&all, 0, sizeof(all));
    all.memlock = NI_UNLIMITED;
    ni_plan_image(&work, &all);
    assert_int_equal(all.n, 2);
    (void)ni_copy(run.words, sizeof(run.words), words);
    (void)ni_copy(run.errors, sizeof(run.errors), errors);
    ni_judge_image(&work, &run, ports, &all);
}

/* "failed find, passed": the HCAs' results; then how many findings. */
static void assert_results(const char *want, unsigned findings)
{
    static const char *const words[] = {"untried", "failed", "passed"};
    char buf[256];
    struct ni_text t = ni_text_on(buf, sizeof(buf));

    for (unsigned i = 0; i < all.n; i++)
        ni_putf(&t, "%s%s%s%s", i > 0 ? ", " : "", words[all.verdict[i]], all.step[i][0] ? " " : "",
                all.step[i]);
    assert_string_equal(buf, want);
    assert_int_equal(node.findings.n, findings);
}

/* What this program's own libibverbs did with the same port: how far it came. */
static void own_trial(enum ni_pair_step step, bool silent)
{
    static struct ni_trials own;

    own.n = 1;
    own.at[0] = 0;
    own.task[0].result[NI_ROLE_INITIATOR].step = step;
    own.task[0].result[NI_ROLE_INITIATOR].silent = silent;
    ports = &own;
}

static int begin(void **state)
{
    (void)set_up(state);
    node.entry[0] = NULL;
    (void)ni_copy(node.inv.hca[0].driver, sizeof(node.inv.hca[0].driver), "bnxt_en");
    (void)ni_copy(node.inv.hca[1].driver, sizeof(node.inv.hca[1].driver), "mlx5_core");
    memset(&run, 0, sizeof(run));
    run.state = NI_HELPER_ENDED;
    ports = NULL;
    return 0;
}

static void test_passed(void **state)
{
    struct ni_text how = NI_TEXT(NI_REASON);

    (void)state;
    judge(LOADED "at mlx5_6\nhca mlx5_6 done 0\nat mlx5_7\n" SECOND, "");
    assert_results("passed, passed", 0);
    assert_true(ni_image_passes(&all, &how));
    assert_string_equal(how.buf, "the image's libibverbs drives 2 of 2 HCAs");
}

static void test_no_provider(void **state)
{
    (void)state;
    judge(LOADED "hca mlx5_6 find 19\n" SECOND, "");
    assert_results("failed find, passed", 1);
    assert_found(
        NI_F_IMAGE_PROVIDER_MISSING, "mlx5_6",
        "this image cannot drive bnxt_re: its /usr/lib/libibverbs.so.1.14.44.0 was loaded");
    judge(LOADED "hca mlx5_6 find 19\n" SECOND,
          "libibverbs: Warning: couldn't load driver 'libbnxt_re-rdmav34.so': x\n");
    assert_found(NI_F_IMAGE_PROVIDER_MISSING, "mlx5_6",
                 "could not load 'libbnxt_re-rdmav34.so': x");
    node_env("SYSFS_PATH=/x");
    judge(LOADED "hca mlx5_6 find 19\n" SECOND, "");
    assert_found(NI_F_IMAGE_PROVIDER_MISSING, "mlx5_6", "SYSFS_PATH is set");
}

static void test_abi(void **state)
{
    (void)state;
    judge(LOADED "hca mlx5_6 find 19\n" SECOND,
          "libibverbs: Warning: Driver bnxt_re does not support the kernel ABI of 6 (supports 1 to "
          "1) for device /sys/class/infiniband/mlx5_6\n");
    assert_results("failed find, passed", 1);
    assert_found(NI_F_IMAGE_ABI, "mlx5_6",
                 "this image cannot drive bnxt_re: its provider supports versions 1 to 1");
    judge("version 0.1.0\nlibrary /l\nlist 38\nend\n",
          "libibverbs: Fatal: kernel ABI version 7 doesn't match library version 6.\n");
    assert_results("failed list, failed list", 1);
    assert_found(NI_F_IMAGE_ABI, "libibverbs.so.1", "kernel ABI version 7");
}

/* Words of other libraries are no words of libibverbs, and change nothing where there is a list. */
static void test_strangers_words(void **state)
{
    static const char stranger[] = "ERROR: ld.so: object 'x doesn't match library version' cannot "
                                   "be loaded as audit interface\n";
    static const char apart[] = "x doesn't match library version\nkernel ABI version 7\n";

    (void)state;
    judge(LOADED "at mlx5_6\nhca mlx5_6 done 0\nat mlx5_7\n" SECOND, stranger);
    assert_results("passed, passed", 0);
    judge(LOADED "at mlx5_6\nhca mlx5_6 done 0\nat mlx5_7\n" SECOND,
          "libibverbs: Fatal: kernel ABI version 7 doesn't match library version 6.\n");
    assert_results("passed, passed", 0);
    judge("version 0.1.0\nlibrary /l\nlist 38\nend\n", stranger);
    assert_results("failed list, failed list", 1);
    assert_found(NI_F_IMAGE_OPEN, "libibverbs.so.1", "gives no list of HCAs: ENOSYS");
    judge("version 0.1.0\nlibrary /l\nlist 38\nend\n", apart);
    assert_found(NI_F_IMAGE_OPEN, "libibverbs.so.1", "gives no list of HCAs: ENOSYS");
}

static void test_library(void **state)
{
    (void)state;
    judge("version 0.1.0\nunloaded /l/libibverbs.so.1: invalid ELF header\nend\n", "");
    assert_results("failed load, failed load", 1);
    assert_found(NI_F_IMAGE_LOAD, "libibverbs.so.1",
                 "this image has none that loads: /l/libibverbs.so.1: invalid ELF header");
    /* a program with an RPATH finds others */
    judge("version 0.1.0\nunloaded libibverbs.so.1: cannot open shared object file\nend\n", "");
    assert_results("untried, untried", 1);
    assert_found(NI_F_IMAGE_UNTRIED, "--try=image", "an RPATH of its own, such as conda's, may");
    assert_found(NI_F_IMAGE_UNTRIED, "--try=image", ": libibverbs.so.1: cannot open shared object");
    judge("version 0.1.0\nlibrary /l\nlist 12\nend\n", "");
    assert_results("failed list, failed list", 1);
    assert_found(NI_F_IMAGE_OPEN, "libibverbs.so.1", "gives no list of HCAs: ENOMEM");
    own_trial(NI_PAIR_FIND, false);
    judge("version 0.1.0\nlibrary /l\nlist 12\nend\n", "");
    assert_results("untried, failed list", 2);
}

static void test_open(void **state)
{
    (void)state;
    judge(LOADED "at mlx5_6\nhca mlx5_6 open 22\n" SECOND, "");
    assert_results("failed open, passed", 1);
    assert_found(NI_F_IMAGE_OPEN, "mlx5_6", "fails at step `open`: EINVAL");
    own_trial(NI_PAIR_DONE, false);
    judge(LOADED "at mlx5_6\nhca mlx5_6 open 22\n" SECOND, "");
    assert_results("failed open, passed", 1);
    assert_found(NI_F_IMAGE_OPEN, "mlx5_6", "own libibverbs opens it");
    own_trial(NI_PAIR_DEVICE, false);
    judge(LOADED "at mlx5_6\nhca mlx5_6 open 22\n" SECOND, "");
    assert_found(NI_F_IMAGE_OPEN, "mlx5_6", "own libibverbs opens it");
}

/* Where this program's own libibverbs fails as well, it may be the device, and nobody is blamed. */
static void test_both_fail(void **state)
{
    (void)state;
    own_trial(NI_PAIR_OPEN, false);
    judge(LOADED "at mlx5_6\nhca mlx5_6 open 22\n" SECOND, "");
    assert_results("untried, passed", 1);
    assert_found(NI_F_IMAGE_UNTRIED, "--try=image",
                 "mlx5_6: nccl-init's own libibverbs fails there, too, so it may be the device: "
                 "the image's /usr");
    own_trial(NI_PAIR_DEVICE, false);
    judge(LOADED "at mlx5_6\nhca mlx5_6 device 5\n" SECOND, "");
    assert_results("untried, passed", 1);
    own_trial(NI_PAIR_QUEUES, false);
    judge(LOADED "at mlx5_6\nhca mlx5_6 queue 12\n" SECOND, "");
    assert_results("untried, passed", 1);
    assert_found(NI_F_IMAGE_UNTRIED, "--try=image", "fails there, too");
    own_trial(NI_PAIR_CONNECT, false);
    judge(LOADED "at mlx5_6\nhca mlx5_6 queue 12\n" SECOND, "");
    assert_results("failed queue, passed", 1);
    assert_found(NI_F_IMAGE_OPEN, "mlx5_6", "own libibverbs makes its queues");
    /* it did not come to its queues: that says nothing of them */
    own_trial(NI_PAIR_GID, false);
    judge(LOADED "at mlx5_6\nhca mlx5_6 queue 12\n" SECOND, "");
    assert_results("failed queue, passed", 1);
    if (node.findings.n == 1 && strstr(node.findings.at[0].message, "own libibverbs"))
        fail_msg("`%s`", node.findings.at[0].message);
    own_trial(NI_PAIR_FIND, false);
    judge(LOADED "hca mlx5_6 find 19\n" SECOND, "");
    assert_results("untried, passed", 1);
    judge(LOADED "hca mlx5_6 find 19\n" SECOND,
          "libibverbs: Warning: couldn't load driver 'libbnxt_re-rdmav34.so': x\n");
    assert_results("failed find, passed", 1);
    own_trial(NI_PAIR_OPEN, true); /* the device hangs in both */
    run.state = NI_HELPER_LATE;
    judge(LOADED "at mlx5_6\n", "");
    assert_results("untried, untried", 1);
}

/* The helper has no capability and a limit of its own: what these may cause is not tried. */
static void test_limited(void **state)
{
    (void)state;
    judge(LOADED "at mlx5_6\nhca mlx5_6 open 13\n" SECOND, "");
    assert_results("untried, passed", 1);
    assert_found(NI_F_IMAGE_UNTRIED, "--try=image",
                 "mlx5_6 does not open for a process without capabilities");
    /* the RDMA cgroup, or a device that is full */
    judge(LOADED "at mlx5_6\nhca mlx5_6 open 11\n" SECOND, "");
    assert_results("untried, passed", 1);
    assert_found(NI_F_IMAGE_UNTRIED, "--try=image", "rdma.max");
    judge(LOADED "at mlx5_6\nhca mlx5_6 queue 11\n" SECOND, "");
    assert_results("untried, passed", 1);
    judge(LOADED "at mlx5_6\nhca mlx5_6 queue 12\n" SECOND, "");
    assert_results("failed queue, passed", 1);
    all.memlock = 65536;
    node.findings.n = 0;
    all.verdict[0] = all.passed = 0;
    all.step[0][0] = '\0';
    const struct ni_env env = {node.entry};
    const struct ni_work work = {&node.inv, &env, &node.policy, &node.plan, &node.findings};
    ni_judge_image(&work, &run, ports, &all);
    assert_results("untried, passed", 1);
    assert_found(NI_F_IMAGE_UNTRIED, "--try=image", "64 KiB can be locked");
}

static void test_unfinished(void **state)
{
    (void)state;
    run.state = NI_HELPER_DIED;
    run.err = SIGSEGV;
    judge(LOADED "at mlx5_6\n", "");
    assert_results("failed open, untried", 2);
    assert_found(NI_F_IMAGE_OPEN, "mlx5_6", "dies by signal 11");
    assert_found(NI_F_IMAGE_UNTRIED, "--try=image", "died by signal 11");
    run.err = SIGKILL; /* the kernel, without memory */
    judge(LOADED "at mlx5_6\n", "");
    assert_results("untried, untried", 1);
    run.state = NI_HELPER_LATE;
    judge(LOADED "at mlx5_6\n", "");
    assert_results("failed open, untried", 2);
    assert_found(NI_F_IMAGE_OPEN, "mlx5_6", "hangs while it opens it");
    judge("", "");
    assert_results("untried, untried", 1);
}

static void assert_untried(enum ni_helper_state how, int err, const char *words, const char *why)
{
    struct ni_text verdict = NI_TEXT(2 * NI_REASON);

    run.state = how;
    run.err = err;
    judge(words, "ld.so: version GLIBC_2.28 not found\n");
    assert_results("untried, untried", 1);
    assert_found(NI_F_IMAGE_UNTRIED, "--try=image", why);
    assert_false(ni_image_passes(&all, &verdict));
    if (!strstr(verdict.buf, why))
        fail_msg("`%s` lacks `%s`", verdict.buf, why);
}

static void test_untried(void **state)
{
    (void)state;
    assert_untried(NI_HELPER_MISSING, 0, "", "is not beside this program");
    assert_untried(NI_HELPER_UNREAD, EACCES, "", "cannot be read: EACCES");
    assert_untried(NI_HELPER_OTHER, 0, "", "is not the one that was built with this program");
    (void)ni_copy(run.version, sizeof(run.version), "0.0.9");
    assert_untried(NI_HELPER_OTHER, 0, "", "is of version 0.0.9, not ");
    assert_untried(NI_HELPER_DENIED, ENOENT, "", "this image has no glibc");
    assert_untried(NI_HELPER_DENIED, EACCES, "", "a mount with noexec");
    assert_untried(NI_HELPER_BABBLES, 0, "", "it said more than 64 KiB");
    assert_untried(NI_HELPER_ENDED, 127, "", "ended with status 127: ld.so: version GLIBC_2.28");
    assert_untried(NI_HELPER_ENDED, 0, "hello\n", "cannot be understood");
    assert_untried(NI_HELPER_ENDED, 0, LOADED, "ended before its end");
    assert_untried(NI_HELPER_ENDED, 0, LOADED "hca other done 0\nend\n", "left it out");
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup(f, begin)
    const struct CMUnitTest tests[] = {
        CASE(test_passed),    CASE(test_no_provider),     CASE(test_abi),
        CASE(test_library),   CASE(test_strangers_words), CASE(test_open),
        CASE(test_both_fail), CASE(test_limited),         CASE(test_unfinished),
        CASE(test_untried),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
