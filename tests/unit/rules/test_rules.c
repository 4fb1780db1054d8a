/* SPDX-License-Identifier: Apache-2.0 */
/* Who wins: environment, conf file, rule. What mode and the user's network do to the whole plan.
   PCI distances. Each mode is in the goldens mode-*. */
#include "findings/setting.h"
#include "lib/rules_node.h"
#include "nccl_init/base.h"
#include "nccl_init/env.h"
#include "nccl_init/findings.h"
#include "nccl_init/known.h"
#include "nccl_init/pci.h"
#include "nccl_init/plan.h"
#include "rules/decide.h"
#include "rules/rules.h"

static void two_rails(void)
{
    node_reset(NULL);
    node_rail("mlx5_6", 3, "10.0.103.6", "net1");
    node_rail("mlx5_7", 3, "10.0.104.6", "net2");
    node_eth0();
}

/* ---- precedence, by a variable whose rule wants `=mlx5_6:1,mlx5_7:1` ---- */

static void test_precedence(void **state)
{
    static const char rule[] = "=mlx5_6:1,mlx5_7:1";
    static const struct {
        const char *env, *conf; /* NULL: not set */
        const char *origin, *value;
        bool empty; /* said to be empty */
    } cases[] = {
        {NULL, NULL, "rule", rule, false},
        {"=mlx5_6", NULL, "user", "=mlx5_6", false},
        {NULL, "=mlx5_7", "conf", "=mlx5_7", false},
        {"=mlx5_6", "=mlx5_7", "user", "=mlx5_6", false},
        {rule, NULL, "user", rule, false},
        {"", NULL, "user", "", true},
        {"", "=mlx5_7", "user", "", true}, /* set but empty hides the file */
        {NULL, "", "conf", "", true},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        char entry[128];
        two_rails();
        snprintf(entry, sizeof(entry), "NCCL_IB_HCA=%s", cases[i].env ? cases[i].env : "");
        if (cases[i].env)
            node_env(entry);
        if (cases[i].conf)
            node_conf("NCCL_IB_HCA", cases[i].conf);
        node_decide();
        assert_setting("NCCL_IB_HCA", cases[i].origin, cases[i].value);
        assert_int_equal(has(NI_F_USER_VALUE_EMPTY), cases[i].empty);
        const struct ni_setting *s = ni_plan_get(&node.plan, "NCCL_IB_HCA");
        assert_string_equal(s->file, strcmp(cases[i].origin, "conf") == 0 ? "/etc/nccl.conf" : "");
        assert_true(s->reason[0] != '\0');
    }
}

/* The first of several is the one that counts, and names that only begin alike are others. */
static void test_precedence_of_entries(void **state)
{
    (void)state;
    two_rails();
    node_env("NCCL_IB_HCA_OLD=x");
    node_env("NCCL_IB_HC=x");
    node_env("NCCL_IB_HCA==mlx5_7");
    node_env("NCCL_IB_HCA==mlx5_6");
    node_conf("NCCL_IB_GID_INDEX", "3");
    node_conf("NCCL_IB_GID_INDEX", "5");
    node_decide();
    assert_setting("NCCL_IB_HCA", "user", "=mlx5_7");
    assert_setting("NCCL_IB_GID_INDEX", "conf", "3");
    assert_int_equal(node.plan.n_chosen, 1);
    assert_int_equal(node.plan.chosen[0], 1);
}

/* A value longer than the plan has room for is cut, not overrun; what is exported is never that
   long. */
static void test_long_user_value(void **state)
{
    static char value[NI_VALUE + 100], entry[sizeof(value) + 16];
    char *entries[] = {entry, NULL};
    const struct ni_env env = {entries};
    (void)state;
    two_rails();
    memset(value, 'x', sizeof(value) - 1);
    memcpy(value, "mlx5,", 5);
    snprintf(entry, sizeof(entry), "NCCL_IB_HCA=%s", value);
    const struct ni_work work = {&node.inv, &env, &node.policy, &node.plan, &node.findings};
    memset(&node.plan, 0, sizeof(node.plan));
    ni_decide(&work);
    const struct ni_setting *s = ni_plan_get(&node.plan, "NCCL_IB_HCA");
    assert_int_equal(s->origin, NI_FROM_USER);
    assert_int_equal(strlen(s->value), NI_VALUE - 1);
}

/* ---- which transport ---- */

static void test_transport(void **state)
{
    static const struct {
        const char *env;
        enum ni_mode mode;
        enum ni_transport want;
    } cases[] = {
        {"X=", NI_MODE_AUTO, NI_NET_RDMA},
        {"X=", NI_MODE_RDMA, NI_NET_RDMA},
        {"X=", NI_MODE_TCP, NI_NET_TCP},
        {"X=", NI_MODE_OFF, NI_NET_OFF},
        {"NCCL_IB_DISABLE=1", NI_MODE_AUTO, NI_NET_TCP},
        {"NCCL_IB_DISABLE=2", NI_MODE_AUTO, NI_NET_TCP},
        {"NCCL_IB_DISABLE=0", NI_MODE_AUTO, NI_NET_RDMA},
        {"NCCL_IB_DISABLE=0x0", NI_MODE_AUTO, NI_NET_RDMA},
        {"NCCL_IB_DISABLE=", NI_MODE_AUTO, NI_NET_RDMA},
        {"NCCL_IB_DISABLE=true", NI_MODE_AUTO, NI_NET_RDMA}, /* NCCL reads it as 0 */
        {"NCCL_NET=Socket", NI_MODE_AUTO, NI_NET_TCP},
        {"NCCL_NET=socket", NI_MODE_AUTO, NI_NET_TCP},
        {"NCCL_NET=IB", NI_MODE_AUTO, NI_NET_RDMA},
        {"NCCL_NET=ib", NI_MODE_AUTO, NI_NET_RDMA},
        {"NCCL_NET=IBext_v8", NI_MODE_AUTO, NI_NET_RDMA},
        {"NCCL_NET=", NI_MODE_AUTO, NI_NET_RDMA},
        {"NCCL_NET=AWS Libfabric", NI_MODE_AUTO, NI_NET_OTHER},
        {"NCCL_NET_PLUGIN=aws-ofi", NI_MODE_AUTO, NI_NET_OTHER},
        {"NCCL_NET_PLUGIN=none", NI_MODE_AUTO, NI_NET_RDMA},
        {"NCCL_NET_PLUGIN=", NI_MODE_AUTO, NI_NET_RDMA},
        {"NCCL_NET=FasTrak", NI_MODE_OFF, NI_NET_OFF},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        two_rails();
        node_env(cases[i].env);
        node.policy.mode = cases[i].mode;
        node_decide();
        if (node.plan.transport != cases[i].want)
            fail_msg("%s: transport %d", cases[i].env, (int)node.plan.transport);
        assert_int_equal(has(NI_F_USER_NET_OTHER), cases[i].want == NI_NET_OTHER);
        assert_int_equal(node.plan.n_chosen, cases[i].want == NI_NET_RDMA ? 2 : 0);
        if (cases[i].want == NI_NET_OFF)
            assert_int_equal(node.plan.n_setting, 0);
        for (unsigned k = 0; k < node.plan.n_setting && cases[i].want == NI_NET_OTHER; k++)
            assert_false(exported(node.plan.setting[k].name));
    }
}

/* What is said of TCP is true: never with InfiniBand alone allowed, and with NCCL_IB_DISABLE held at
   0 only by a list that takes no device. */
static void test_no_port(void **state)
{
    static const struct {
        const char *first, *second;
        enum ni_transport transport;
        const char *disable, *list; /* as the rule says, NULL: it does not export */
        bool dies;
    } cases[] = {
        {"X=", "Y=", NI_NET_TCP, "1", NULL, false},
        {"NCCL_IB_DISABLE=0", "X=", NI_NET_TCP, NULL, "^", false},
        {"NCCL_IB_DISABLE=x", "X=", NI_NET_TCP, NULL, "^", false},
        {"NCCL_IB_DISABLE=", "X=", NI_NET_TCP, NULL, "^", false},
        {"NCCL_IB_DISABLE=0", "NCCL_IB_HCA=", NI_NET_RDMA, NULL, NULL, false},
        {"NCCL_IB_DISABLE=1", "X=", NI_NET_TCP, NULL, NULL, false},
        {"NCCL_NET=IB", "X=", NI_NET_RDMA, NULL, NULL, true},
        {"NCCL_NET=ib", "NCCL_IB_DISABLE=0", NI_NET_RDMA, NULL, NULL, true},
        {"NCCL_NET=Socket", "X=", NI_NET_TCP, "1", NULL, false},
    };
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        node_reset(state);
        node_eth0();
        node_hca("mlx5_6"); /* given, without a GID */
        node_env(cases[i].first);
        node_env(cases[i].second);
        node_decide();
        const struct ni_setting *list = ni_plan_get(&node.plan, "NCCL_IB_HCA");
        if (node.plan.transport != cases[i].transport ||
            exported("NCCL_IB_DISABLE") != (cases[i].disable != NULL) ||
            exported("NCCL_IB_HCA") != (cases[i].list != NULL) ||
            (cases[i].list && strcmp(list->value, cases[i].list) != 0) ||
            has(NI_F_USER_NET_NONE) != cases[i].dies)
            fail_msg("case %zu", i);
        for (unsigned k = 0; k < node.findings.n; k++) {
            if (strstr(node.findings.at[k].message, "TCP is used"))
                assert_int_equal(node.plan.transport, NI_NET_TCP);
        }
    }
    node_reset(state);
    node_rail("mlx5_6", 3, "10.0.1.6", "net1");
    node_env("NCCL_NET=IB");
    node.policy.mode = NI_MODE_TCP;
    node_decide();
    assert_int_equal(node.plan.transport, NI_NET_RDMA);
    assert_setting("NCCL_IB_DISABLE", "rule", "0");
    assert_true(has(NI_F_OPTION_INVALID));
    node_env("NCCL_IB_DISABLE=1");
    node.policy.require = NI_REQUIRE_RDMA;
    node_decide();
    assert_true(has(NI_F_USER_NET_NONE));
    assert_true(node.plan.refuse);
}

/* NCCL compares the whole value with the names of its networks. */
static void test_name_of_no_network(void **state)
{
    static const char *const no_names[] = {"NCCL_NET=", "NCCL_NET=none", "NCCL_NET=IB ",
                                           "NCCL_NET=IB\n", "NCCL_NET= Socket"};
    for (size_t i = 0; i < NI_COUNT(no_names); i++) {
        node_reset(state);
        node_rail("mlx5_6", 3, "10.0.1.6", "net1");
        node_env(no_names[i]);
        node_decide();
        if (node.plan.transport != NI_NET_RDMA || !has(NI_F_USER_NET_NONE))
            fail_msg("%s", no_names[i]);
    }
    node_reset(state);
    node_rail("mlx5_6", 3, "10.0.1.6", "net1");
    node_env("NCCL_NET_PLUGIN=none");
    node_decide();
    assert_false(has(NI_F_USER_NET_NONE));
    assert_int_equal(node.plan.transport, NI_NET_RDMA);
}

static void test_rdma_demanded_but_user_prevents_it(void **state)
{
    static const char *const users[] = {"NCCL_IB_HCA==mlx5_0", "NCCL_IB_HCA=^mlx5",
                                        "NCCL_IB_DISABLE=1", "NCCL_NET=Socket"};
    (void)state;
    for (size_t i = 0; i < NI_COUNT(users); i++) {
        two_rails();
        node.policy.require = node.policy.short_forms = NI_REQUIRE_RDMA;
        node_env(users[i]);
        node_decide();
        assert_int_equal(node.plan.n_chosen, 0);
        if (!node.plan.refuse)
            fail_msg("%s: the command would start without RDMA", users[i]);
    }
}

/* No variable is decided twice. */
static void test_table(void **state)
{
    (void)state;
    two_rails();
    node_decide();
    for (unsigned i = 0; i < node.plan.n_setting; i++) {
        for (unsigned k = 0; k < i; k++)
            assert_string_not_equal(node.plan.setting[i].name, node.plan.setting[k].name);
    }
    assert_null(ni_plan_get(&node.plan, "NCCL_IB_HC"));
    assert_null(ni_plan_get(&node.plan, ""));
}

/* ---- distance ---- */

#define SW "0000:00:01.0 0000:01:00.0 0000:02:0"

static void test_distance(void **state)
{
    static const struct {
        const char *a, *b;
        int64_t numa_a, numa_b;
        enum ni_distance want;
    } cases[] = {
        /* one switch: root port, upstream, downstream port, device */
        {SW "0.0 0000:03:00.0", SW "1.0 0000:04:00.0", 0, 0, NI_DIST_PIX},
        {SW "0.0 0000:03:00.0", SW "0.0 0000:03:00.1", 0, 0, NI_DIST_PIX},
        {SW "0.0 0000:03:00.0", SW "1.0 0000:04:00.0", 0, 1, NI_DIST_PIX},
        /* a switch below a switch */
        {SW "0.0 0000:03:00.0 0000:04:00.0 0000:05:00.0",
         SW "0.0 0000:03:00.0 0000:04:01.0 0000:06:00.0", 0, 0, NI_DIST_PIX},
        {SW "0.0 0000:03:00.0 0000:04:00.0 0000:05:00.0", SW "1.0 0000:09:00.0", 0, 0, NI_DIST_PXB},
        {SW "0.0 0000:03:00.0 0000:04:00.0 0000:05:00.0",
         SW "1.0 0000:09:00.0 0000:0a:00.0 0000:0b:00.0", 0, 0, NI_DIST_PXB},
        /* root ports of one CPU, of two; a root port is no switch */
        {"0000:00:01.0 0000:01:00.0", "0000:00:02.0 0000:02:00.0", 0, 0, NI_DIST_PHB},
        {"0000:00:01.0 0000:01:00.0", "0000:00:01.0 0000:01:00.1", 0, 0, NI_DIST_PHB},
        {"0000:00:01.0 0000:01:00.0", "0000:80:01.0 0000:81:00.0", 0, 0, NI_DIST_PHB},
        {"0000:00:01.0 0000:01:00.0", "0000:80:01.0 0000:81:00.0", 0, 1, NI_DIST_SYS},
        {SW "0.0 0000:03:00.0", "0000:00:02.0 0000:0a:00.0", 1, 1, NI_DIST_PHB},
        /* on the root bus itself */
        {"0000:00:05.0", "0000:00:06.0", 0, 0, NI_DIST_PHB},
        {"0000:00:05.0", SW "0.0 0000:03:00.0", 0, 1, NI_DIST_SYS},
        {"0000:00:05.0", "0000:00:05.0", -1, -1, NI_DIST_PHB},
        /* the same numbers in another domain are another switch */
        {SW "0.0 0000:03:00.0", "0001:00:01.0 0001:01:00.0 0001:02:00.0 0001:03:00.0", 0, 1,
         NI_DIST_SYS},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        struct ni_pci a, b;
        node_chain(&a, cases[i].a, cases[i].numa_a);
        node_chain(&b, cases[i].b, cases[i].numa_b);
        if (ni_pci_distance(&a, &b) != cases[i].want || ni_pci_distance(&b, &a) != cases[i].want)
            fail_msg("case %zu: %s", i, ni_distance_text(ni_pci_distance(&a, &b)));
    }
}

static void test_distance_unknown(void **state)
{
    struct ni_pci a, b;
    (void)state;
    node_chain(&a, SW "0.0 0000:03:00.0", 0);
    node_chain(&b, "0000:00:02.0 0000:0a:00.0", 0);
    b.numa.known = NI_DENIED;
    assert_int_equal(ni_pci_distance(&a, &b), NI_DIST_UNKNOWN);
    assert_int_equal(ni_pci_distance(&b, &a), NI_DIST_UNKNOWN);
    node_chain(&b, SW "1.0 0000:04:00.0", 0);
    b.numa.known = NI_ABSENT; /* not needed below one switch */
    assert_int_equal(ni_pci_distance(&a, &b), NI_DIST_PIX);
    b.known = NI_BAD;
    assert_int_equal(ni_pci_distance(&a, &b), NI_DIST_UNKNOWN);
    assert_int_equal(ni_pci_distance(&b, &a), NI_DIST_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_precedence),
        cmocka_unit_test(test_precedence_of_entries),
        cmocka_unit_test(test_long_user_value),
        cmocka_unit_test(test_transport),
        cmocka_unit_test(test_no_port),
        cmocka_unit_test(test_name_of_no_network),
        cmocka_unit_test(test_rdma_demanded_but_user_prevents_it),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_distance),
        cmocka_unit_test(test_distance_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
