/* SPDX-License-Identifier: Apache-2.0 */
/* hca.ports and hca.list: which ports NCCL gets, and how the list is spelt. One scenario each is in the
   goldens all-ports-down, pci-domain, dual-port, many-visible. */
#include "findings/device.h"
#include "findings/setting.h"
#include "lib/rules_node.h"
#include "nccl_init/allocation.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/known.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"

static void four(void)
{
    static const char *const names[] = {"mlx5_0", "mlx5_1", "mlx5_10", "rocep1s0f1"};
    node_reset(NULL);
    for (unsigned i = 0; i < NI_COUNT(names); i++) {
        char ip[16], ndev[8];
        snprintf(ip, sizeof(ip), "10.0.%u.6", i);
        snprintf(ndev, sizeof(ndev), "net%u", i + 1);
        node_rail(names[i], 3, ip, ndev);
    }
    node_eth0();
}

static void test_port_states(void **state)
{
    static const struct {
        struct ni_num port;
        const char *why;
    } cases[] = {
        {{0, NI_KNOWN}, "port is NOP"},
        {{NI_PORT_DOWN, NI_KNOWN}, "port is DOWN"},
        {{2, NI_KNOWN}, "port is INIT"},
        {{3, NI_KNOWN}, "port is ARMED"},
        {{5, NI_KNOWN}, "port is ACTIVE_DEFER"},
        {{6, NI_KNOWN}, "port is in an unknown state"},
        {{NI_PORT_ACTIVE, NI_ABSENT}, "port state cannot be read (absent)"},
        {{NI_PORT_ACTIVE, NI_DENIED}, "port state cannot be read (denied)"},
        {{NI_PORT_ACTIVE, NI_BAD}, "port state cannot be read (malformed)"},
        {{NI_PORT_ACTIVE, NI_UNSET}, "port state cannot be read (unread)"},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        four();
        node.inv.port[2].state = cases[i].port;
        node_decide();
        assert_setting("NCCL_IB_HCA", "rule", "=mlx5_0:1,mlx5_1:1,rocep1s0f1:1");
        assert_false(node.plan.port[2].chosen);
        assert_string_equal(node.plan.port[2].why, cases[i].why);
        assert_string_equal(node.plan.port[2].rule, "hca.ports");
        assert_true(has(NI_F_HCA_PORT_DOWN));
        assert_string_equal(node.findings.at[0].subject, "mlx5_10/1");
    }
}

static void test_one_link_layer(void **state)
{
    static const struct {
        int64_t ib, roce; /* Mb/s of each of two ports */
        const char *want;
    } cases[] = {
        {400000, 200000, "=mlx5_0:1,mlx5_1:1"}, {200000, 400000, "=mlx5_10:1,rocep1s0f1:1"},
        {400000, 400000, "=mlx5_0:1,mlx5_1:1"}, /* InfiniBand when equal */
        {-1, 1, "=mlx5_10:1,rocep1s0f1:1"},     /* -1: cannot be read */
        {-1, -1, "=mlx5_0:1,mlx5_1:1"},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        four();
        for (unsigned p = 0; p < 4; p++) {
            int64_t v = p < 2 ? cases[i].ib : cases[i].roce;
            node.inv.port[p].link = p < 2 ? NI_LINK_IB : NI_LINK_ROCE;
            node.inv.port[p].mbps = (struct ni_num){v, v < 0 ? NI_DENIED : NI_KNOWN};
        }
        node_decide();
        assert_setting("NCCL_IB_HCA", "rule", cases[i].want);
        assert_true(has(NI_F_HCA_LINK_MIXED));
        assert_int_equal(node.plan.n_chosen, 2);
    }
    four();
    node.inv.port[0].link = NI_LINK_IB; /* one InfiniBand port, down: nothing is mixed */
    node.inv.port[0].state.v = NI_PORT_DOWN;
    node_decide();
    assert_false(has(NI_F_HCA_LINK_MIXED));
    assert_int_equal(node.plan.n_chosen, 3);
}

static void test_slow_port(void **state)
{
    static const struct {
        enum ni_source source;
        int64_t mbps;
        unsigned n;
    } cases[] = {
        {NI_SRC_UVERBS, 25000, 3},    {NI_SRC_NETDEV, 25000, 3},  {NI_SRC_HOST, 25000, 3},
        {NI_SRC_PCIDEVICE, 25000, 4}, {NI_SRC_OPTION, 25000, 4},  {NI_SRC_SRIOVNET, 25000, 4},
        {NI_SRC_UVERBS, 200000, 4},   {NI_SRC_UVERBS, 199999, 3},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        four();
        node.inv.source = cases[i].source;
        node.inv.port[1].mbps.v = cases[i].mbps;
        node_decide();
        assert_int_equal(node.plan.n_chosen, cases[i].n);
        assert_int_equal(has(NI_F_HCA_PORT_SLOW), cases[i].n == 3);
    }
    four();
    node.inv.source = NI_SRC_UVERBS;
    node.inv.port[1].mbps = (struct ni_num){1, NI_DENIED}; /* not known is not slow */
    node_decide();
    assert_int_equal(node.plan.n_chosen, 4);
    four();
    node.inv.source = NI_SRC_UVERBS;
    node.inv.port[1].mbps.v = 25000;
    node_env("NCCL_IB_HCA=mlx5_0,mlx5_1"); /* the user names it: NCCL uses it */
    node_decide();
    assert_true(node.plan.port[1].chosen);
    assert_false(has(NI_F_USER_HCA_LEFT_OUT));
    four();
    node.inv.source = NI_SRC_UVERBS;
    node.inv.port[1].mbps.v = 25000;
    node_env("NCCL_IB_HCA=mlx5"); /* a prefix takes more than was meant */
    node_decide();
    assert_false(node.plan.port[1].chosen);
    assert_true(has(NI_F_USER_HCA_EXTRA));
}

static void test_more_than_32(void **state)
{
    (void)state;
    node_reset(NULL);
    node_eth0();
    for (unsigned i = 0; i < 40; i++) {
        char name[NI_DEV_NAME], ip[16];
        snprintf(name, sizeof(name), "a_name_as_long_as_the_kernel_has_room_for_with_a_num_at_%05u",
                 i);
        snprintf(ip, sizeof(ip), "10.0.%u.6", i);
        node_hca(name);
        node_gid(3, ip, NI_GID_V2, NI_OWNER_POD, "net1");
    }
    node_decide();
    const struct ni_setting *s = ni_plan_get(&node.plan, "NCCL_IB_HCA");
    assert_int_equal(node.plan.n_chosen, 32);
    assert_non_null(strstr(s->value, "at_00031:1"));
    assert_null(strstr(s->value, "at_00032"));
    assert_string_equal(s->value + strlen(s->value) - 2, ":1"); /* not cut */
    assert_true(has(NI_F_HCA_TOO_MANY));
    assert_true(node.plan.port[31].chosen);
    assert_false(node.plan.port[32].chosen);
    assert_int_equal(node.findings.n, 8);
}

static void test_users_list(void **state)
{
    static const struct {
        const char *list;
        unsigned chosen; /* as bits */
        bool foreign;
    } cases[] = {
        {"=mlx5_1", 2, false},   {"mlx5_1", 6, false},
        {"=mlx5_1:1", 2, false}, {"=mlx5_1:2", 0, true},
        {"^mlx5_1", 9, false},   {"^=mlx5_1", 13, false},
        {"=mlx5_3", 0, true},    {"=mlx5", 0, true},
        {"mlx5", 7, false},      {"=mlx5_0, mlx5_1", 1, true},
        {" mlx5_0", 0, true},    {"=", 15, false},
        {"^", 0, true},          {"", 15, false},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        char entry[64];
        unsigned chosen = 0;
        four();
        snprintf(entry, sizeof(entry), "NCCL_IB_HCA=%s", cases[i].list);
        node_env(entry);
        node_decide();
        for (unsigned k = 0; k < node.plan.n_chosen; k++)
            chosen |= 1u << node.plan.chosen[k];
        /* nothing at all is one error; one name of several is a warning */
        bool foreign = has(chosen ? NI_F_USER_HCA_FOREIGN : NI_F_USER_HCA_NONE);
        if (chosen != cases[i].chosen || foreign != cases[i].foreign)
            fail_msg("`%s`: %#x", cases[i].list, chosen);
        if (cases[i].chosen)
            assert_setting("NCCL_IB_HCA", "user", cases[i].list);
        if (cases[i].foreign)
            assert_int_equal(exported("NCCL_IB_DISABLE"), chosen != 0); /* theirs to say */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_port_states), cmocka_unit_test(test_one_link_layer),
        cmocka_unit_test(test_slow_port),   cmocka_unit_test(test_more_than_32),
        cmocka_unit_test(test_users_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
