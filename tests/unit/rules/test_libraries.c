/* SPDX-License-Identifier: Apache-2.0 */
/* for.libraries: the same choice in the words of UCX, NVSHMEM and Gloo. */
#include "lib/rules_node.h"
#include "nccl_init/base.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"

static const char ucx[] = "UCX_NET_DEVICES", ucx_index[] = "UCX_IB_GID_INDEX";
static const char shmem[] = "NVSHMEM_HCA_LIST", shmem_index[] = "NVSHMEM_IB_GID_INDEX",
                  shmem_sock[] = "NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME";
static const char gloo[] = "GLOO_SOCKET_IFNAME", nccl[] = "NCCL_SOCKET_IFNAME";

enum { ALL = NI_FOR_NCCL | NI_FOR_NVSHMEM | NI_FOR_UCX | NI_FOR_GLOO };

static void two_rails(unsigned targets, unsigned second_index)
{
    node_reset(NULL);
    node_rail("mlx5_6", 3, "10.0.1.6", "net1");
    node_rail("mlx5_7", second_index, "10.0.2.6", "net2");
    node_eth0();
    node.policy.targets = targets;
}

/* Exactly the variables of those that were asked for. */
static void test_who(void **state)
{
    (void)state;
    for (unsigned targets = 0; targets <= ALL; targets++) {
        two_rails(targets, 3);
        node_decide();
        bool u = targets & NI_FOR_UCX, s = targets & NI_FOR_NVSHMEM, g = targets & NI_FOR_GLOO;
        bool n = targets == 0 || targets & NI_FOR_NCCL;
        assert_setting(ucx, u ? "rule" : "none", u ? "mlx5_6:1,mlx5_7:1" : "");
        assert_setting(ucx_index, u ? "rule" : "none", u ? "3" : "");
        assert_setting(shmem, s ? "rule" : "none", s ? "mlx5_6:1,mlx5_7:1" : "");
        assert_setting(shmem_index, s ? "rule" : "none", s ? "3" : "");
        assert_setting(shmem_sock, s ? "rule" : "none", s ? "=eth0" : "");
        assert_setting(gloo, g ? "rule" : "none", g ? "eth0" : "");
        assert_setting(nccl, n ? "rule" : "none", n ? "=eth0" : "");
        assert_setting("NCCL_IB_HCA", n ? "rule" : "none", n ? "=mlx5_6:1,mlx5_7:1" : "");
        for (unsigned i = 0; !n && i < node.plan.n_setting; i++)
            assert_false(ni_has_prefix(node.plan.setting[i].name, "NCCL_"));
    }
}

static void test_without_rdma(void **state)
{
    (void)state;
    two_rails(ALL, 3);
    node.policy.mode = NI_MODE_TCP;
    node_decide();
    assert_setting(ucx, "rule", "eth0");
    assert_setting(ucx_index, "none", "");
    assert_setting(shmem, "none", "");
    assert_setting(shmem_index, "none", "");
    assert_setting(shmem_sock, "rule", "=eth0");
    assert_setting(gloo, "rule", "eth0");
    node_reset(NULL); /* not even an interface */
    node.policy.targets = ALL;
    node_decide();
    assert_setting(ucx, "none", "");
    assert_setting(shmem_sock, "none", "");
    assert_setting(gloo, "none", "");
    two_rails(ALL, 3);
    node.policy.mode = NI_MODE_OFF;
    node_decide();
    assert_int_equal(node.plan.n_setting, 0);
}

static void test_infiniband(void **state)
{
    (void)state;
    node_reset(NULL);
    node_hca("mlx5_6");
    node.inv.port[0].link = NI_LINK_IB;
    node.policy.targets = ALL;
    node_eth0();
    node_decide();
    assert_setting(ucx, "rule", "mlx5_6:1");
    assert_setting(ucx_index, "unset", "");
    assert_setting(gloo, "rule", "eth0");
}

/* The interfaces that the user's list means, by their names: a prefix and `^` are NCCL's alone. */
static void test_users_sockets(void **state)
{
    static const struct {
        const char *user, *want; /* NULL: nothing is written */
    } cases[] = {
        {"net", "=net1,net2"},
        {"=net2", "=net2"},
        {"=net", NULL},
        {"net1,eth", "=eth0,net1"},
        {"^net", "=eth0"},
        {"^=net1", "=eth0,net2"},
        {"ib0", NULL},
        {"e", "=eth0"}, /* one character is as good as unset to NCCL: the rule's */
        {"", "=eth0"},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        for (int conf = 0; conf <= 1; conf++) {
            char entry[64];
            two_rails(NI_FOR_GLOO | NI_FOR_NVSHMEM, 3); /* whatever NCCL itself is told */
            snprintf(entry, sizeof(entry), "NCCL_SOCKET_IFNAME=%s", cases[i].user);
            if (conf)
                node_conf(nccl, cases[i].user);
            else
                node_env(entry);
            node_decide();
            const char *want = cases[i].want ? cases[i].want : "=";
            const struct ni_setting *s = ni_plan_get(&node.plan, shmem_sock);
            if (strcmp(s ? s->value : "=", want) != 0)
                fail_msg("`%s`: %s", cases[i].user, s ? s->value : "none");
            char first[8];
            snprintf(first, sizeof(first), "%.4s", strlen(cases[i].user) < 2 ? "eth0" : want + 1);
            assert_setting(gloo, *first ? "rule" : "none", first);
        }
    }
}

/* An interface that the user's prefix also names, but which cannot serve, is not written. */
static void test_users_prefix_serves(void **state)
{
    (void)state;
    two_rails(ALL, 3);
    node_netdev("net3", false);
    node_addr("10.0.3.6", "net3");
    node_netdev("net4", true);
    node_env("NCCL_SOCKET_IFNAME=net");
    node_decide();
    assert_setting(nccl, "user", "net");
    assert_setting(shmem_sock, "rule", "=net1,net2");
}

/* What of the user's the value would undo (NVSHMEM), or what refuses it (UCX). */
static void test_users_way(void **state)
{
    static const struct {
        const char *user, *name;
    } cases[] = {
        {"UCX_IB_ROCE_SUBNETS=10.0.0.0/8", ucx_index},
        {"NVSHMEM_HCA_PE_MAPPING=mlx5_6:1:1,mlx5_7:1:1", shmem},
        {"NVSHMEM_IB_ADDR_RANGE=10.0.0.0/8", shmem_index},
        {"UCX_IB_ROCE_SUBNETS=", NULL},
        {"NVSHMEM_HCA_PE_MAPPING=", NULL},
        {"NVSHMEM_IB_ADDR_RANGE=", NULL},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        two_rails(ALL, 3);
        node_env(cases[i].user);
        node_decide();
        for (unsigned n = 0; n < 3; n++) {
            const char *name = (const char *[]){ucx_index, shmem, shmem_index}[n];
            assert_string_equal(origin_text(name), name == cases[i].name ? "unset" : "rule");
        }
    }
}

/* vLLM sets what its list names, not what has such a name in its own; without a map it sets nothing. */
static void test_vllm_names(void **state)
{
    static const struct {
        const char *vars, *origin;
    } cases[] = {
        {"MY_UCX_NET_DEVICES:1", "rule"},        {"UCX_NET_DEVICES_OLD", "rule"},
        {"NCCL_IB_HCA:UCX_NET_DEVICES", "rule"}, {"UCX_NET_DEVICES:1", "unset"},
        {"MY_NIC, UCX_NET_DEVICES ", "unset"},   {"UCX_NET_DEVICES:1:2,MY_NIC:1", "unset"},
    };

    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        char entry[96];

        two_rails(NI_FOR_UCX | NI_FOR_VLLM, 3);
        node_env("VLLM_GPU_NIC_PCIE_MAPPING=0000:06:00.0=0000:03:00.2");
        snprintf(entry, sizeof(entry), "VLLM_NIC_SELECTION_VARS=%s", cases[i].vars);
        node_env(entry);
        node_decide();
        if (strcmp(origin_text(ucx), cases[i].origin) != 0)
            fail_msg("`%s`: %s", cases[i].vars, origin_text(ucx));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who),
        cmocka_unit_test(test_without_rdma),
        cmocka_unit_test(test_infiniband),
        cmocka_unit_test(test_users_sockets),
        cmocka_unit_test(test_users_prefix_serves),
        cmocka_unit_test(test_users_way),
        cmocka_unit_test(test_vllm_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
