/* SPDX-License-Identifier: Apache-2.0 */
/* socket.ifname: every name written is up with an address, since NCCL dies on any other list. One
   scenario each is in the goldens bond, rail-link-local, ib-with-ipoib, ib-without-ipoib. */
#include "findings/setting.h"
#include "lib/rules_node.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/known.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"

static const char var[] = "NCCL_SOCKET_IFNAME";

static void two_rails(void)
{
    node_reset(NULL);
    node_rail("mlx5_6", 3, "10.0.1.6", "net1");
    node_rail("mlx5_7", 3, "10.0.2.6", "net2");
    node_eth0();
}

/* With several rails the pod's own interface, whatever is down; one rail is one network. */
static void test_rails(void **state)
{
    (void)state;
    two_rails();
    node_decide();
    assert_setting(var, "rule", "=eth0");
    node.inv.netdev[0].running = false;
    node_decide();
    assert_setting(var, "rule", "=eth0");
    node.inv.netdev[2].running = false; /* eth0: nothing else is left */
    node_decide();
    assert_setting(var, "rule", "=net2");
    node.inv.netdev[0].running = true;
    node_decide();
    assert_setting(var, "rule", "=net1,net2");
    node.inv.netdev[0].running = node.inv.netdev[1].running = false;
    node_decide();
    assert_setting(var, "unset", "");
    node_reset(NULL);
    node_rail("mlx5_6", 3, "10.0.1.6", "net1");
    node_eth0();
    node_decide();
    assert_setting(var, "rule", "=net1");
}

/* InfiniBand: each has an IPoIB interface, and one of these has lost its address in this pod. */
static void test_rails_of_ipoib(void **state)
{
    (void)state;
    for (int both = 0; both <= 1; both++) {
        node_reset(NULL);
        for (int i = 0; i < 2; i++) {
            char name[24], ib[24], ip[24];
            snprintf(name, sizeof(name), "mlx5_%d", i);
            snprintf(ib, sizeof(ib), "ib%d", i);
            snprintf(ip, sizeof(ip), "10.0.%d.6", i);
            node_hca(name);
            node.inv.port[i].link = NI_LINK_IB;
            node.inv.hca[i].netdev = node_netdev(ib, true);
            if (both || i > 0)
                node_addr(ip, ib);
        }
        node_eth0();
        node_decide();
        assert_setting(var, "rule", "=eth0");
        node.policy.sockets = "rails";
        node_decide();
        assert_setting(var, "rule", both ? "=ib0,ib1" : "=ib1");
    }
}

/* An entry of which nobody knows whose it is: its interface must have an address by the tables. */
static void test_rail_of_unknown_owner(void **state)
{
    (void)state;
    node_reset(NULL);
    node_hca("mlx5_6");
    node_gid(3, "10.0.1.6", NI_GID_V2, NI_OWNER_UNKNOWN, "net1");
    node_netdev("net1", true);
    node_eth0();
    node_decide();
    assert_setting(var, "rule", "=eth0");
    node_addr("fe80::6", "net1");
    node_decide();
    assert_setting(var, "rule", "=eth0"); /* link-local serves no peer */
    node_addr("10.0.1.6", "");
    node_decide();
    assert_setting(var, "rule", "=eth0"); /* an address of some interface is not one of this */
    node_addr("10.0.1.6", "net1");
    node_decide();
    assert_setting(var, "rule", "=net1");
}

static void test_pod_interface(void **state)
{
    (void)state;
    node_reset(NULL);
    node_eth0();
    node_decide();
    assert_setting(var, "rule", "=eth0");
    node.inv.net.addr[0].ifname[0] = '\0'; /* Calico: a /32, no connected route */
    node_decide();
    assert_setting(var, "rule", "=eth0");
    node.inv.netdev[0].running = false; /* no /sys/class/net: the route table is believed */
    node.inv.netdev[0].known = NI_DENIED;
    node_decide();
    assert_setting(var, "rule", "=eth0");
    node.inv.netdev[0].known = NI_KNOWN;
    node_decide();
    assert_setting(var, "unset", "");
    assert_true(has(NI_F_SOCKET_NONE)); /* the address can only be that of eth0, which is down */
    node_netdev("eth1", true);
    node_decide();
    assert_false(has(NI_F_SOCKET_NONE)); /* there is an address, on whatever */
}

static void test_no_address(void **state)
{
    (void)state;
    node_reset(NULL);
    node_eth0();
    node.inv.net.n_addr = 0;
    node_decide();
    assert_setting(var, "unset", "");
    assert_true(has(NI_F_SOCKET_NONE));
    node.inv.net.v4_known = NI_DENIED; /* not known is not none */
    node_decide();
    assert_false(has(NI_F_SOCKET_NONE));
    node.inv.net.v4_known = NI_KNOWN;
    node.inv.net.v6_known = NI_UNSET;
    node_decide();
    assert_false(has(NI_F_SOCKET_NONE));
    node.inv.net.v6_known = NI_KNOWN;
    node_addr("fe80::2", "eth0");
    node_decide();
    assert_setting(var, "unset", "");
    assert_true(has(NI_F_SOCKET_NONE));
    node_addr("10.0.1.6", "net1"); /* whether net1 is up is not known */
    node_decide();
    assert_false(has(NI_F_SOCKET_NONE));
    node_netdev("net1", false);
    node_decide();
    assert_true(has(NI_F_SOCKET_NONE));
    node.inv.netdev[1].running = true;
    node_decide();
    assert_false(has(NI_F_SOCKET_NONE));
}

static void test_option(void **state)
{
    static const struct {
        const char *option, *want;
        bool unusable;
    } cases[] = {
        {"net1", "=net1", false},      {"net2,net1", "=net2,net1", false},
        {"net1,net1", "=net1", false}, {"pod", "=eth0", false},
        {"down", "=eth0", true},       {"down,net2", "=net2", true},
        {"bare", "=eth0", true},       {"missing", "=eth0", true},
        {"net", "=eth0", true},        {"net1,missing,eth0", "=net1,eth0", true},
        {"zeroconf", "=eth0", true},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        two_rails();
        node_netdev("down", false);
        node_addr("10.7.0.1", "down");
        node_netdev("bare", true);
        node_netdev("zeroconf", true); /* link-local: other nodes do not reach it */
        node_addr("169.254.1.6", "zeroconf");
        node.policy.sockets = cases[i].option;
        node_decide();
        const struct ni_setting *s = ni_plan_get(&node.plan, var);
        if (strcmp(s->value, cases[i].want) != 0 || has(NI_F_SOCKET_UNUSABLE) != cases[i].unusable)
            fail_msg("`%s`: %s", cases[i].option, s->value);
    }
}

/* torchcomms takes the value for the beginning of one name. */
static void test_torchcomms(void **state)
{
    (void)state;
    two_rails();
    node.policy.targets = NI_FOR_TORCHCOMMS;
    node_decide();
    assert_setting(var, "rule", "eth0");
    node.policy.sockets = "net2,net1";
    node_decide();
    assert_setting(var, "rule", "net2");
    node.policy.sockets = NULL;
    node.inv.netdev[2].running = false; /* eth0 */
    node_decide();
    assert_setting(var, "rule", "net1");
    assert_true(exported("NCCL_IB_HCA")); /* its library is NCCL */
    node_env("NCCL_SOCKET_IFNAME=net1");
    node_decide();
    assert_false(has(NI_F_USER_VALUE_IGNORED));
    node_reset(NULL);
    two_rails();
    node_env("NCCL_SOCKET_IFNAME=net1,net2");
    node_decide();
    assert_false(has(NI_F_USER_VALUE_IGNORED));
    node.policy.targets = NI_FOR_TORCHCOMMS;
    node_decide();
    assert_true(has(NI_F_USER_VALUE_IGNORED));
}

static void test_sixteen(void **state)
{
    char list[512];
    (void)state;
    node_reset(NULL);
    struct ni_text t = ni_text_on(list, sizeof(list));
    for (unsigned i = 0; i < 20; i++) {
        char name[16], ip[16], ndev[NI_IF_NAME];
        snprintf(name, sizeof(name), "mlx5_%u", i);
        snprintf(ip, sizeof(ip), "10.0.%u.6", i);
        snprintf(ndev, sizeof(ndev), "a23456789012_%02u", i);
        node_rail(name, 3, ip, ndev);
        ni_putf(&t, "%s%s", i ? "," : "", ndev);
    }
    for (int option = 0; option <= 1; option++) {
        node.policy.sockets = option ? list : NULL;
        node_decide();
        const struct ni_setting *s = ni_plan_get(&node.plan, var);
        assert_int_equal(node.plan.n_chosen, 20);
        assert_string_equal(s->value + strlen(s->value) - 16, ",a23456789012_15");
        assert_int_equal(strlen(s->value), 16 * 16);
    }
}

static void test_gid_without_interface(void **state)
{
    (void)state;
    node_reset(NULL);
    node_hca("mlx5_6");
    node_gid(3, "10.0.1.6", NI_GID_V2, NI_OWNER_POD, ""); /* ndevs could not be read */
    node_eth0();
    node_decide();
    assert_setting(var, "rule", "=eth0");
    node.inv.hca[0].netdev = node_netdev("net1", true);
    node_addr("10.0.1.6", "net1");
    node_decide();
    assert_setting(var, "rule", "=net1");
}

/* NCCL_SOCKET_FAMILY: of the GIDs, and of the addresses of an interface. */
static void test_family(void **state)
{
    static const struct {
        const char *family, *rails, *pod;
    } cases[] = {
        {"NCCL_SOCKET_FAMILY=AF_INET", "=eth0", "=eth0"},
        {"NCCL_SOCKET_FAMILY=AF_INET6", "=net2", ""},
        {"NCCL_SOCKET_FAMILY=AF_INET4", "=eth0", "=eth0"}, /* NCCL knows no such */
        {"NCCL_SOCKET_FAMILY=", "=eth0", "=eth0"},
        {"NCCL_DEBUG=INFO", "=eth0", "=eth0"},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        node_reset(NULL);
        node_env(cases[i].family);
        node_rail("mlx5_6", 3, "10.0.1.6", "net1");
        node_rail("mlx5_7", 3, "fd00::6", "net2");
        node_eth0();
        node_decide();
        assert_setting(var, "rule", cases[i].rails);
        node.inv.n_hca = node.inv.n_port = 0;
        node_decide();
        assert_setting(var, cases[i].pod[0] ? "rule" : "unset", cases[i].pod);
    }
}

/* The user's own list, held against addresses: those that cannot be read are not none. */
static void test_users_list_of_unread_addresses(void **state)
{
    (void)state;
    two_rails();
    node_env("NCCL_SOCKET_IFNAME=net1");
    node.inv.net.n_addr = 0;
    node_addr("fe80::6", "net1");
    node_decide();
    assert_true(has(NI_F_USER_SOCKET_FIRST)); /* no IPv4 address: link-local is all it has */
    node.inv.net.v4_known = NI_DENIED;
    node_decide();
    assert_false(has(NI_F_USER_SOCKET_FIRST));
    assert_false(has(NI_F_USER_SOCKET_NONE));
}

/* Default routes on a rail and beside it: the pod that has lost this rail chooses as the others do. */
static void test_default_on_rail(void **state)
{
    static const char *const with[] = {"net1", "eth0", "net2"};
    struct ni_net *net = &node.inv.net;

    (void)state;
    for (unsigned lost = 0; lost <= 1; lost++) {
        node_reset(NULL);
        node_rail("mlx5_6", 3, "10.0.1.6", "net1");
        node_rail("mlx5_7", 3, "10.0.2.6", "net2");
        node_eth0();
        for (unsigned i = lost; i < NI_COUNT(with); i++)
            (void)ni_copy(net->route[net->n_route++].ifname, NI_IF_NAME, with[i]);
        (void)ni_copy(net->default_if, NI_IF_NAME, with[lost]);
        node_decide();
        assert_setting(var, "rule", "=eth0");
    }
}

/* The reason for which no interface is named tells an address that is missing from a route. */
static void test_why_none(void **state)
{
    static const struct {
        const char *second, *reason;
    } cases[] = {
        {"fe80::1", "no interface is known to be up with a routable address"},
        {"10.128.2.26", "there is no default route to say which interface reaches other nodes"},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        node_reset(NULL);
        node_netdev("eth0", true);
        node_netdev("eth1", true);
        node_addr(i == 0 ? "fe80::2" : "10.128.3.26", "eth0");
        node_addr(cases[i].second, "eth1");
        node_decide();
        const struct ni_setting *s = ni_plan_get(&node.plan, "NCCL_SOCKET_IFNAME");
        assert_non_null(s);
        assert_string_equal(s->value, "");
        assert_string_equal(s->reason, cases[i].reason);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rails),
        cmocka_unit_test(test_rails_of_ipoib),
        cmocka_unit_test(test_rail_of_unknown_owner),
        cmocka_unit_test(test_pod_interface),
        cmocka_unit_test(test_no_address),
        cmocka_unit_test(test_option),
        cmocka_unit_test(test_torchcomms),
        cmocka_unit_test(test_sixteen),
        cmocka_unit_test(test_gid_without_interface),
        cmocka_unit_test(test_family),
        cmocka_unit_test(test_users_list_of_unread_addresses),
        cmocka_unit_test(test_default_on_rail),
        cmocka_unit_test(test_why_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
