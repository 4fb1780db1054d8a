/* SPDX-License-Identifier: Apache-2.0 */
/* What cannot be read is not guessed: no weaker source decides whose the HCAs are, no GPUDirect
   level is made for an HCA whose place is unknown, no GID is picked among several addresses. */
#include "findings/device.h"
#include "findings/setting.h"
#include "lib/node_tree.h"
#include "nccl_init/allocation.h"
#include "nccl_init/base.h"
#include "nccl_init/env.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/number.h"
#include "nccl_init/plan.h"
#include "rules/decide.h"
#include "rules/rules.h"

#define MIDR "sys/devices/system/cpu/cpu0/regs/identification/midr_el1"

static struct ni_plan plan;

static void decide(unsigned require)
{
    const struct ni_env env = {pod.entry};
    const struct ni_policy policy = {
        .mode = NI_MODE_AUTO, .memlock = NI_UNLIMITED, .require = require};
    const struct ni_work work = {&pod.inv, &env, &policy, &plan, &pod.f};

    gather();
    memset(&plan, 0, sizeof(plan));
    ni_decide(&work);
}

/* The value of the rule; "": left unset, or not thought of. */
static const char *value(const char *name)
{
    const struct ni_setting *s = ni_plan_get(&plan, name);

    return s && s->origin == NI_FROM_RULE ? s->value : "";
}

static bool is_left_unset(const char *name, const char *why)
{
    const struct ni_setting *s = ni_plan_get(&plan, name);

    return s && s->origin != NI_FROM_RULE && strstr(s->reason, why) != NULL;
}

/* Whether a finding of that kind has these words. */
static bool tells(ni_finding_number id, const char *words)
{
    for (unsigned i = 0; i < pod.f.n; i++) {
        if (pod.f.at[i].id == id && strstr(pod.f.at[i].message, words))
            return true;
    }
    return false;
}

/* ---- whose the HCAs are ---- */

/* An HCA that the interface of this namespace names; what is said of stronger sources comes next. */
static void begin_source(void)
{
    pod_reset(NULL);
    fib("10.0.1.6");
    netdev("net1", "up");
    line("d sys/class/net/net1/device/infiniband/mlx5_6");
    roce("0000:03:00.2", "mlx5_6");
    usual(V4("0a00:0106"), "net1");
}

static void test_source_unread(void **state)
{
    static const struct {
        const char *line[2], *env, *said;
    } unread[] = {
        {{"e dev/infiniband EIO"}, NULL, "dev/infiniband"},
        {{"f dev/infiniband/uverbs0", "e sys/class/infiniband_verbs/uverbs0/ibdev EIO"},
         NULL,
         "sys/class/infiniband_verbs/uverbs0/ibdev"},
        {{"e dev/infiniband/uverbs0 EIO", "f sys/class/infiniband_verbs/uverbs0/ibdev mlx5_6"},
         NULL,
         "dev/infiniband/uverbs0"},
        {{"e sys/bus/pci/devices/0000:05:00.2/infiniband EACCES"},
         "PCIDEVICE_A=0000:05:00.2",
         "sys/bus/pci/devices/0000:05:00.2/infiniband"},
    };
    (void)state;

    for (unsigned i = 0; i < NI_COUNT(unread); i++) {
        begin_source();
        if (unread[i].env)
            set_env(unread[i].env);
        for (unsigned k = 0; k < 2 && unread[i].line[k]; k++)
            line("%s", unread[i].line[k]);
        decide(NI_REQUIRE_RDMA);
        assert_true(pod.inv.source_unread);
        assert_int_equal(pod.inv.source, NI_SRC_NONE);
        assert_true(is_said(unread[i].said));
        assert_int_equal(plan.n_chosen, 0);
        assert_int_equal(plan.transport, NI_NET_TCP);
        assert_string_equal(value("NCCL_IB_DISABLE"), "1");
        assert_string_equal(value("NCCL_IB_HCA"), "");
        assert_true(
            tells(NI_F_HCA_NONE_USABLE, "it cannot be read which RDMA devices the pod was given"));
        assert_true(plan.refuse);
        assert_true(tells(NI_F_REQUIRE_RDMA, "cannot be read"));
    }
}

/* What is not there, or closed by the device cgroup, is an answer: the next source is asked. */
static void test_source_absent(void **state)
{
    (void)state;
    for (int closed = 0; closed <= 1; closed++) {
        begin_source();
        if (closed) {
            line("e dev/infiniband/uverbs0 EPERM");
            line("f sys/class/infiniband_verbs/uverbs0/ibdev mlx5_6");
        }
        decide(NI_REQUIRE_RDMA);
        assert_false(pod.inv.source_unread);
        assert_int_equal(pod.inv.source, NI_SRC_NETDEV);
        assert_string_equal(value("NCCL_IB_HCA"), "=mlx5_6:1");
        assert_true(plan.refuse); /* it has no node that opens */
    }
}

/* ---- the GPUDirect level ---- */

/* A GPU whose driver lends its memory; mlx5_6 meets it at the CPU, mlx5_7 sits where `link` says. */
static void begin_gdr(const char *dir, const char *name)
{
    pod_reset(NULL);
    fib("10.0.1.6 10.0.2.6");
    netdev("net1", "up");
    netdev("net2", "up");
    set_env("PCIDEVICE_A=0000:03:00.2,0000:07:00.2");
    line("f sys/module/nvidia_peermem/version 535.183.01");
    line("f proc/driver/nvidia/version NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01");
    line("f dev/nvidia0");
    line("f proc/driver/nvidia/gpus/0000:06:00.0/information Device Minor: \\t 0");
    line("l sys/bus/pci/devices/0000:06:00.0 "
         "../../../devices/pci0000:00/0000:00:03.0/0000:04:00.0/0000:05:00.0/0000:06:00.0");
    line("f sys/devices/pci0000:00/0000:00:03.0/0000:04:00.0/0000:05:00.0/0000:06:00.0/numa_node "
         "0");
    line("f sys/bus/pci/devices/0000:03:00.0/class 0x020000"); /* the PFs */
    line("f sys/bus/pci/devices/0000:07:00.0/class 0x020000");
    roce("0000:03:00.2", "mlx5_6");
    usual(V4("0a00:0106"), "net1");
    line("l sys/bus/pci/devices/0000:07:00.2 ../../../devices/%s/%s", dir, name);
    line("l sys/class/infiniband/mlx5_7 ../../devices/%s/%s/infiniband/mlx5_7", dir, name);
    line("f sys/devices/%s/%s/numa_node 0", dir, name);
    line("d sys/devices/%s/%s/infiniband/mlx5_7/ports/1", dir, name);
    active("Ethernet", "400 Gb/sec (4X NDR)");
    usual(V4("0a00:0206"), "net2");
}

static const char switch_dir[] = "pci0000:00/0000:00:03.0/0000:04:00.0/0000:05:01.0";
static const char cpu_dir[] = "pci0000:00/0000:00:04.0";

static void test_hca_place_unknown(void **state)
{
    static const char level[] = "NCCL_NET_GDR_LEVEL";
    (void)state;

    begin_gdr(switch_dir, "0000:07:00.2");
    decide(0);
    assert_int_equal(plan.n_chosen, 2);
    assert_string_equal(value(level), "PXB");

    begin_gdr(cpu_dir, "0000:07:00.2");
    decide(0);
    assert_true(is_left_unset(level, "is far from its nearest HCA"));

    /* no host bridge in the link: it may be the one at the switch */
    begin_gdr("odd", "0000:07:00.2");
    decide(0);
    assert_int_equal(plan.n_chosen, 2);
    assert_true(is_left_unset(level, "the place of mlx5_7 on the PCI tree is not known"));
    assert_true(is_said("sys/bus/pci/devices/0000:07:00.2"));

    /* one that has no place at all does not stay beside one that has */
    begin_gdr("virtual/odd", "0000:07:00.2");
    decide(0);
    assert_int_equal(plan.n_chosen, 1);
    assert_true(is_left_unset(level, "is far from its nearest HCA"));
}

static void test_cpu_unread(void **state)
{
    static const char level[] = "NCCL_NET_GDR_LEVEL",
                      why[] = "it cannot be read whether CPU and GPU";
    static const char *const unread[] = {"e " MIDR " EIO", "e " MIDR " EACCES", "f " MIDR " 0x41",
                                         "f " MIDR " 0x00000000410fd4fz"};
    (void)state;

    for (unsigned i = 0; i < NI_COUNT(unread); i++) {
        begin_gdr(cpu_dir, "0000:07:00.2");
        line("%s", unread[i]);
        decide(0);
        assert_true(is_left_unset(level, why));
        assert_true(is_said(MIDR));
    }
    begin_gdr(cpu_dir, "0000:07:00.2");
    line("f " MIDR " 0x00000000410fd0c1"); /* a Neoverse N1 has no C2C */
    decide(0);
    assert_true(is_left_unset(level, "is far from its nearest HCA"));
}

/* ---- the GID ---- */

static void begin_gid(const char *addresses, bool several)
{
    pod_reset(NULL);
    set_env("PCIDEVICE_A=0000:03:00.2");
    if (addresses)
        fib(addresses);
    else
        line("e proc/net/fib_trie EIO");
    netdev("net1", "up");
    roce("0000:03:00.2", "mlx5_6");
    usual(V4("0a00:0106"), "net1");
    if (several) {
        gid(4, V4("0a00:0206"), "IB/RoCE v1", "net1");
        gid(5, V4("0a00:0206"), "RoCE v2", "net1");
    }
}

/* Of an interface of that name in another namespace the row may be as well: which of them is ours
   only the addresses tell. */
static void test_gid_doubtful(void **state)
{
    static const char name[] = "NCCL_IB_GID_INDEX";
    (void)state;

    begin_gid("10.0.2.6", true);
    decide(0);
    assert_string_equal(value(name), "5");
    begin_gid("10.0.1.6 10.0.2.6", true);
    pod.needs = NI_NEED_WHOLE_GIDS;
    decide(0);
    assert_string_equal(value(name), "3");
    begin_gid(NULL, false);
    decide(0);
    assert_string_equal(value(name), "3");
    assert_true(tells(NI_F_GID_OWNER_UNKNOWN, "whether index 3, "));

    begin_gid(NULL, true);
    decide(0);
    assert_int_equal(plan.n_chosen, 1);
    assert_true(is_left_unset(name, "it is not known which GIDs are this pod's"));
    assert_true(tells(NI_F_GID_OWNER_UNKNOWN, "the table has several entries"));
    assert_true(is_said("proc/net/fib_trie"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_source_unread),     cmocka_unit_test(test_source_absent),
        cmocka_unit_test(test_hca_place_unknown), cmocka_unit_test(test_cpu_unread),
        cmocka_unit_test(test_gid_doubtful),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
