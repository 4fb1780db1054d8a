/* SPDX-License-Identifier: Apache-2.0 */
/* What --keep-caps and --drop-caps come to, from the process's own sets. */
#include "findings/pod.h"
#include "lib/rules_node.h"
#include "nccl_init/caps.h"
#include "nccl_init/env.h"
#include "nccl_init/findings.h"
#include "nccl_init/known.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "rules/decide.h"
#include "rules/privileges.h"

#define LOCK     ni_cap_bit(CAP_IPC_LOCK)
#define RESOURCE ni_cap_bit(CAP_SYS_RESOURCE)
#define SETPCAP  ni_cap_bit(CAP_SETPCAP)

static const struct ni_cap_names names = {.at = {[CAP_CHOWN] = "CAP_CHOWN",
                                                 [CAP_DAC_OVERRIDE] = "CAP_DAC_OVERRIDE",
                                                 [CAP_SETPCAP] = "CAP_SETPCAP",
                                                 [CAP_IPC_LOCK] = "CAP_IPC_LOCK",
                                                 [CAP_SYS_RESOURCE] = "CAP_SYS_RESOURCE"}};

/* A pod that runs as uid 1000, with file capabilities =p on nccl-init. */
static int non_root(void **state)
{
    node_reset(state);
    node.inv.self.caps_known = NI_KNOWN;
    node.policy.cap_names = names;
    node.inv.self.uid = (struct ni_num){1000, NI_KNOWN};
    node.inv.self.cap_bnd = LOCK | RESOURCE | 1;
    node.inv.self.cap_prm = LOCK | RESOURCE;
    return 0;
}

static int root(void **state)
{
    node_reset(state);
    node.inv.self.caps_known = NI_KNOWN;
    node.policy.cap_names = names;
    node.inv.self.uid = (struct ni_num){0, NI_KNOWN};
    node.inv.self.cap_bnd = node.inv.self.cap_prm = node.inv.self.cap_eff =
        LOCK | RESOURCE | SETPCAP;
    return 0;
}

static uint64_t command(void)
{
    const struct ni_env env = {node.entry};
    const struct ni_work work = {&node.inv, &env, &node.policy, &node.plan, &node.findings};
    return ni_command_caps(&work);
}

static void expect(uint64_t keep, uint64_t drop, uint64_t stuck, uint64_t of_command)
{
    node_decide();
    assert_int_equal(node.plan.caps.keep, keep);
    assert_int_equal(node.plan.caps.drop, drop);
    assert_int_equal(node.plan.caps.stuck, stuck);
    assert_int_equal(command(), of_command);
    assert_int_equal(has(NI_F_CAPS_DROP_BOUNDING), stuck != 0);
}

static const char *why_not_kept(void)
{
    for (unsigned i = 0; i < node.findings.n; i++) {
        if (node.findings.at[i].id == NI_F_CAPS_KEEP_MISSING)
            return node.findings.at[i].message;
    }
    return "";
}

static void test_default(void **state)
{
    non_root(state);
    expect(0, 0, 0, 0);
    root(state);
    expect(0, 0, 0, LOCK | RESOURCE | SETPCAP);
    node_reset(state);
    expect(0, 0, 0, 0);
}

static void test_keep(void **state)
{
    non_root(state);
    node.policy.keep_caps = LOCK;
    expect(LOCK, 0, 0, LOCK);
    assert_string_equal(why_not_kept(), "");
    /* Ambient already: nothing to do. */
    node.inv.self.cap_amb = node.inv.self.cap_inh = LOCK;
    expect(0, 0, 0, LOCK);
    assert_string_equal(why_not_kept(), "");
    /* Permitted, but neither inheritable nor in the bounding set, from which alone that grows. */
    non_root(state);
    node.policy.keep_caps = LOCK;
    node.inv.self.cap_bnd = 0;
    expect(0, 0, 0, 0);
    assert_string_equal(
        why_not_kept(),
        "CAP_IPC_LOCK: not in the bounding set, because the container was not given it");
    node.inv.self.cap_inh = LOCK;
    expect(LOCK, 0, 0, LOCK);
}

static void test_keep_missing(void **state)
{
    non_root(state);
    node.policy.keep_caps = LOCK | 1 | 2;
    node.inv.self.cap_prm = 0;
    expect(0, 0, 0, 0);
    assert_true(ni_has_prefix(why_not_kept(), "CAP_DAC_OVERRIDE: not in the bounding set"));
    node.policy.keep_caps = 1; /* which a setcap for locked memory does not give */
    expect(0, 0, 0, 0);
    assert_non_null(
        strstr(why_not_kept(), "CAP_CHOWN: in the bounding set only, and nccl-init has"));
    node.policy.keep_caps = LOCK;
    expect(0, 0, 0, 0);
    assert_true(
        ni_has_prefix(why_not_kept(), "CAP_IPC_LOCK: in the bounding set only: run setcap"));
    node.inv.self.no_new_privs = (struct ni_num){1, NI_KNOWN};
    node_decide();
    assert_non_null(strstr(why_not_kept(), "no_new_privs disables file capabilities"));
    root(state);
    node.policy.keep_caps = LOCK;
    node.inv.self.cap_prm = node.inv.self.cap_eff = 0;
    node_decide();
    assert_non_null(strstr(why_not_kept(), "dropped from the permitted set"));
}

static void test_drop(void **state)
{
    root(state);
    node.policy.drop_unneeded = true;
    expect(0, RESOURCE, 0, LOCK | SETPCAP);
    node.policy.drop_caps = SETPCAP | 1; /* bit 0 is in no set: nothing to drop */
    expect(0, RESOURCE | SETPCAP, 0, LOCK);
    /* What is to be kept is needed. */
    node.policy.drop_caps = 0;
    node.policy.keep_caps = RESOURCE;
    expect(RESOURCE, 0, 0, LOCK | RESOURCE | SETPCAP);
    /* Named in both lists: dropped, and told. */
    node.policy.drop_caps = RESOURCE;
    expect(0, RESOURCE, 0, LOCK | SETPCAP);
    assert_string_equal(why_not_kept(), "CAP_SYS_RESOURCE: --drop-caps names it too");
}

static void test_stuck(void **state)
{
    root(state);
    node.inv.self.cap_prm = node.inv.self.cap_eff = LOCK | RESOURCE;
    node.policy.drop_caps = LOCK;
    expect(0, LOCK, LOCK, LOCK | RESOURCE); /* root's exec gives it back */
    assert_non_null(strstr(node.findings.at[node.findings.n - 1].message, "runs as root"));
    node.inv.self.no_new_privs = (struct ni_num){1, NI_KNOWN}; /* under which it does not */
    node_decide();
    assert_int_equal(node.plan.caps.stuck, LOCK);
    assert_int_equal(command(), RESOURCE);
    assert_false(has(NI_F_CAPS_DROP_BOUNDING));
    non_root(state);
    node.policy.drop_unneeded = true;
    expect(0, RESOURCE, RESOURCE, 0);
    assert_non_null(strstr(node.findings.at[node.findings.n - 1].message, "has file capabilities"));
}

/* Without /proc, or with --mode=off, the kernel is asked. */
static void test_unknown(void **state)
{
    node_reset(state);
    node.policy.keep_caps = LOCK;
    node.policy.drop_unneeded = true;
    expect(LOCK, RESOURCE, 0, 0);
    node.policy.mode = NI_MODE_OFF;
    expect(LOCK, RESOURCE, 0, 0);
    assert_int_equal(node.findings.n, 0);
}

/* The limit does not count for a command that gets CAP_IPC_LOCK, and does for one that loses it. */
static void test_memlock(void **state)
{
    const struct ni_num low = {65536, NI_KNOWN};
    non_root(state);
    node_rail("mlx5_0", 3, "10.0.1.1", "net1");
    node.inv.self.memlock_soft = node.inv.self.memlock_hard = low;
    node.inv.self.cap_prm = node.inv.self.cap_bnd = LOCK;
    node_decide();
    assert_true(has(NI_F_MEMLOCK_TOO_LOW));
    node.policy.keep_caps = LOCK;
    node_decide();
    assert_false(has(NI_F_MEMLOCK_TOO_LOW));
    root(state);
    node_rail("mlx5_0", 3, "10.0.1.1", "net1");
    node.inv.self.memlock_soft = node.inv.self.memlock_hard = low;
    node.inv.self.cap_prm = node.inv.self.cap_eff = LOCK | SETPCAP;
    node_decide();
    assert_false(has(NI_F_MEMLOCK_TOO_LOW));
    node.policy.drop_caps = LOCK;
    node_decide();
    assert_true(has(NI_F_MEMLOCK_TOO_LOW));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default),      cmocka_unit_test(test_keep),
        cmocka_unit_test(test_keep_missing), cmocka_unit_test(test_drop),
        cmocka_unit_test(test_stuck),        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_memlock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
