/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses, routes and interfaces as /proc/net and /sys/class/net tell them. */
#include "findings/device.h"
#include "lib/node_tree.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/ip.h"
#include "nccl_init/known.h"
#include "nccl_init/net.h"
#include "nccl_init/text.h"

#define ROUTE(iface, dest, gateway, flags, metric, mask)                                           \
    "\\n" iface "\\t" dest "\\t" gateway "\\t" flags "\\t0\\t0\\t" metric "\\t" mask "\\t0\\t0\\t" \
    "0"

/* "10.0.1.6 net1, 10.128.2.26 ?": address and interface, in the order of the tables. */
static const char *addresses(void)
{
    static char buf[1024];
    struct ni_text t = ni_text_on(buf, sizeof(buf));
    for (unsigned i = 0; i < pod.inv.net.n_addr; i++) {
        const struct ni_addr *a = &pod.inv.net.addr[i];
        char ip[NI_IP_TEXT];
        ni_putf(&t, "%s%s %s", i ? ", " : "", ni_ip_text(a->ip, ip),
                a->ifname[0] ? a->ifname : "?");
    }
    return buf;
}

static void begin(const char *ips)
{
    pod_reset(NULL);
    pod.needs = NI_NEED_IPV6;
    fib(ips);
}

static void test_connected_routes(void **state)
{
    (void)state;
    begin("10.0.103.6 10.128.2.26 10.0.104.6");
    line(ROUTES ROUTE("eth0", "00000000", "0102800A", "0003", "0", "00000000")
             ROUTE("eth0", "0002800A", "00000000", "0001", "0", "00FEFFFF")
                 ROUTE("net1", "0067000A", "00000000", "0001", "0", "00FFFFFF")
                     ROUTE("eth0", "0000000A", "0102800A", "0003", "0", "000000FF"));
    netdev("eth0", "up");
    gather();
    /* net2's route is in a table of its own: no file tells whose 10.0.104.6 is */
    assert_string_equal(addresses(), "10.0.103.6 net1, 10.128.2.26 eth0, 10.0.104.6 ?");
    assert_string_equal(pod.inv.net.default_if, "eth0");
    assert_int_equal(pod.inv.net.route_known, NI_KNOWN);
    assert_int_equal(pod.inv.net.v6_known, NI_KNOWN); /* no if_inet6: a kernel without IPv6 */
    assert_int_equal(pod.f.n, 0);
}

/* The longest prefix names the interface, in whatever order the routes come. */
static void test_longest_prefix(void **state)
{
    (void)state;
    for (int swap = 0; swap <= 1; swap++) {
        begin("10.0.103.6");
        line(swap ? ROUTES ROUTE("wide", "0000000A", "00000000", "0001", "0", "000000FF")
                        ROUTE("net1", "0067000A", "00000000", "0001", "0", "00FFFFFF")
                  : ROUTES ROUTE("net1", "0067000A", "00000000", "0001", "0", "00FFFFFF")
                        ROUTE("wide", "0000000A", "00000000", "0001", "0", "000000FF"));
        gather();
        assert_string_equal(addresses(), "10.0.103.6 net1");
    }
}

static void test_default_route(void **state)
{
    static const struct {
        const char *routes, *want;
    } cases[] = {
        {"", ""},
        {ROUTE("net1", "00000000", "0101000A", "0003", "100", "00000000")
             ROUTE("eth0", "00000000", "0102800A", "0003", "0", "00000000"),
         "eth0"},
        {ROUTE("eth0", "00000000", "0102800A", "0003", "0", "00000000")
             ROUTE("net1", "00000000", "0101000A", "0003", "100", "00000000"),
         "eth0"},
        {ROUTE("eth0", "00000000", "0102800A", "0003", "50", "00000000")
             ROUTE("net1", "00000000", "0101000A", "0003", "50", "00000000"),
         "eth0"},
        {ROUTE("net1", "00000000", "0101000A", "0002", "0", "00000000") /* not up */
         ROUTE("eth0", "00000000", "0102800A", "0003", "9", "00000000"),
         "eth0"},
        {ROUTE("net1", "00000000", "00000000", "0201", "0", "00000000") /* rejects */
         ROUTE("eth0", "00000000", "0102800A", "0003", "9", "00000000"),
         "eth0"},
        {ROUTE("eth0", "00000000", "00000000", "0001", "0", "00000000"), "eth0"}, /* no router */
        {ROUTE("net1", "00000000", "0101000A", "0003", "-16769024", "00000000")   /* 4278198272 */
         ROUTE("eth0", "00000000", "0102800A", "0003", "2147483647", "00000000"),
         "eth0"},
        {"\\ngarbage\\neth0\\t00000000\\n", ""},
        {ROUTE("eth0", "00000000", "0102800A", "0003", "x", "00000000"), ""},
        {ROUTE("e,h0", "00000000", "0102800A", "0003", "0", "00000000"), ""},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        begin("10.128.2.26");
        line("%s%s", ROUTES, cases[i].routes);
        gather();
        if (strcmp(pod.inv.net.default_if, cases[i].want) != 0)
            fail_msg("case %zu: %s", i, pod.inv.net.default_if);
        if (cases[i].want[0])
            assert_int_equal(pod.inv.net.route_known, NI_KNOWN);
    }
}

#define V6LINE(dest, len, metric, flags, iface)                                                  \
    dest " " len " 00000000000000000000000000000000 00 fe800000000000000000000000000001 " metric \
         " 00000001 00000000 " flags "     " iface
#define V6ROUTE(dest, len, metric, flags, iface) V6LINE(dest, len, metric, flags, iface) "\\n"
#define ANY                                      "00000000000000000000000000000000"

static void test_default_route_ipv6(void **state)
{
    (void)state;
    begin("");
    pod.bare = true; /* the IPv4 routes come later */
    line("f proc/net/if_inet6 fd000000000000000000000000000026 02 40 00 80     eth0");
    line("f proc/net/ipv6_route %s",
         V6ROUTE("fd000000000000000000000000000000", "40", "00000001", "00000001", "net2")
             V6ROUTE(ANY, "00", "ffffffff", "00200200", "lo")
                 V6ROUTE(ANY, "00", "00000400", "00000003", "net1")
                     V6ROUTE(ANY, "00", "00000001", "00200200", "  ") /* of no interface */
         V6ROUTE(ANY, "00", "00000064", "00000003", "eth0")
             V6LINE(ANY, "00", "00000001", "00000002", "net3"));
    gather();
    assert_string_equal(pod.inv.net.default_if, "eth0");
    assert_string_equal(addresses(), "fd00::26 eth0");
    assert_false(is_said("proc/net/ipv6_route"));
    line(ROUTES ROUTE("ipv4", "00000000", "0102800A", "0003", "999", "00000000"));
    gather();
    assert_string_equal(pod.inv.net.default_if, "ipv4");
}

static void test_if_inet6(void **state)
{
    (void)state;
    begin("10.0.1.6");
    line("f proc/net/if_inet6 "
         "00000000000000000000000000000001 01 80 10 80       lo\\n"
         "fe8000000000000000420afffe006706 26 40 20 80     net1\\n"
         "fd000000000000000000000000000006 26 40 00 40     net1\\n" /* tentative */
         "fd000000000000000000000000000007 26 40 00 88     net1\\n" /* its check failed */
         "fd000000000000000000000000000008 26 40 00 20     net1\\n" /* deprecated: still there */
         "fd000000000000000000000000000009 26 40 00 c0     net1\\n"
         "fd00000000000000000000000000000  26 40 00 80     net1\\n"  /* short */
         "fd00000000000000000000000000000a 26 40 00 80\\n"           /* no name */
         "fd00000000000000000000000000000b 126 40 00 80     net2\\n" /* as printed from 256 on */
         "fd00000000000000000000000000000c 26 40 00 80     a23456789012345\\n"
         "fd00000000000000000000000000000e 26 40 00 80     veth+e@1\\n"
         "fd00000000000000000000000000000d 26 40 00 80     a234567890123456");
    gather();
    assert_string_equal(addresses(), "10.0.1.6 ?, fe80::42:aff:fe00:6706 net1, fd00::8 net1, "
                                     "fd00::b net2, fd00::c a23456789012345, fd00::e ?");
}

static void test_fib_trie(void **state)
{
    (void)state;
    begin("");
    pod_reset(NULL);
    line("f proc/net/fib_trie Main:\\n  +-- 0.0.0.0/0 3 0 5\\n     |-- 0.0.0.0\\n"
         "        /0 universe UNICAST\\n     +-- 10.0.1.0/24 2 0 2\\n        |-- 10.0.1.0\\n"
         "           /24 link UNICAST\\n        |-- 10.0.1.6\\n           /32 host LOCAL\\n"
         "        |-- 10.0.1.7\\n           /32 link UNICAST\\n           /32 host LOCAL\\n"
         "        |-- 10.0.1.8\\n           /32 universe UNICAST\\n        |-- 10.0.1.255\\n"
         "           /32 link BROADCAST\\n        |-- 10.0.1.300\\n           /32 host LOCAL\\n"
         "        |-- 127.0.0.1\\n           /32 host LOCAL\\nLocal:\\n        |-- 10.0.1.6\\n"
         "           /32 host LOCAL\\n        |-- 10.0.1.7\\n           /32 host LOCAL\\n"
         "        |-- 10.0.2.0\\n           /31 host LOCAL"); /* one table shown twice */
    gather();
    assert_string_equal(addresses(), "10.0.1.6 ?, 10.0.1.7 ?");
}

/* Tables beside main whose routes may lead through a router. Texts as Linux 6.18 writes them. */
static void test_policy_tables(void **state)
{
    static const char one[] = "Main:\\n     |-- 0.0.0.0\\n        /0 universe UNICAST\\n"
                              "     |-- 10.0.1.6\\n        /32 host LOCAL\\n"
                              "Local:\\n     |-- 0.0.0.0\\n        /0 universe UNICAST\\n"
                              "     |-- 10.0.1.6\\n        /32 host LOCAL";
    static const char apart[] = "Main:\\n  |-- 0.0.0.0\\n     /0 universe UNICAST\\n"
                                "Local:\\n  |-- 10.0.1.6\\n     /32 host LOCAL\\n";
    static const struct {
        const char *before, *tables, *behind;
        bool routed;
    } cases[] = {
        {"", one, "", false}, /* main's default route, listed twice */
        {"", apart, "", false},
        {"Id 101:\\n  |-- 0.0.0.0\\n     /0 universe UNICAST\\n", apart, "", true},
        {"Id 101:\\n  |-- 0.0.0.0\\n     /0 universe UNICAST tos=16\\n", apart, "", true},
        {"Id 101:\\n  |-- 0.0.0.0\\n     /0 site UNICAST\\n", apart, "", true},
        {"Id 101:\\n  |-- 0.0.0.0\\n     /0 scope=200 UNICAST\\n", apart, "", true},
        {"", apart, "Id 511:\\n  |-- 10.0.2.0\\n     /24 universe UNICAST\\n", true},
        {"Id 101:\\n  |-- 10.0.1.0\\n     /24 link UNICAST\\n", apart, "", false},
        {"Id 101:\\n  |-- 10.0.1.9\\n     /32 host UNICAST\\n", apart, "", false},
        {"Id 101:\\n  |-- 0.0.0.0\\n     /0 universe BLACKHOLE\\n", apart, "", false},
        {"Id 101:\\n  |-- 0.0.0.0\\n     /0 universe UNREACHABLE\\n", apart, "", false},
        {"Id 101:\\n  |-- 0.0.0.0\\n     /0 universe PROHIBIT\\n", apart, "", false},
        {"Id 101:\\n  |-- 0.0.0.0\\n     /0 universe THROW\\n", apart, "", false},
        {"", apart, "  |-- 10.0.2.0\\n     /24 universe UNICAST\\n", true}, /* in table local */
    };

    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        begin("");
        pod_reset(NULL);
        line("f proc/net/fib_trie %s%s%s", cases[i].before, cases[i].tables, cases[i].behind);
        gather();
        assert_int_equal(pod.inv.net.v4_known, NI_KNOWN);
        assert_string_equal(addresses(), "10.0.1.6 ?");
        assert_int_equal(pod.inv.net.policy_routes, cases[i].routed);
    }
}

/* The routes of a node with thousands of peers. */
static void test_long_fib_trie(void **state)
{
    static const char node[] = "        |-- 10.9.1.0\\n           /24 universe UNICAST\\n";
    const size_t n = sizeof(node) - 1, times = 25000;
    char *text = malloc(n * times + 1);

    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < times; i++)
        memcpy(text + i * n, node, n + 1);
    begin("");
    pod_reset(NULL);
    line("f proc/net/fib_trie Main:\\n%s        |-- 10.0.1.6\\n           /32 host LOCAL", text);
    free(text);
    gather();
    assert_int_equal(pod.inv.net.v4_known, NI_KNOWN);
    assert_string_equal(addresses(), "10.0.1.6 ?");
}

static void test_denied(void **state)
{
    static const struct {
        const char *path;
        size_t at; /* of the state in ni_net */
    } files[] = {
        {"proc/net/fib_trie", offsetof(struct ni_net, v4_known)},
        {"proc/net/route", offsetof(struct ni_net, route_known)},
        {"proc/net/if_inet6", offsetof(struct ni_net, v6_known)},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(files); i++) {
        for (int absent = 0; absent <= 1; absent++) {
            enum ni_known known;
            pod_reset(NULL);
            pod.needs = NI_NEED_IPV6;
            pod.bare = true;
            if (!absent)
                line("e %s EACCES", files[i].path);
            gather();
            memcpy(&known, (const char *)&pod.inv.net + files[i].at, sizeof(known));
            /* A kernel without IPv6 has no if_inet6; the others are always there. */
            assert_int_equal(is_said(files[i].path), !absent || i != 2);
            if (!absent)
                assert_int_equal(known, NI_DENIED);
            else
                assert_int_equal(known, i == 2 ? NI_KNOWN : NI_ABSENT);
        }
    }
}

static void test_operstate(void **state)
{
    static const struct {
        const char *line;
        bool running;
        enum ni_known known;
    } cases[] = {
        {"f sys/class/net/eth0/operstate up", true, NI_KNOWN},
        {"f sys/class/net/eth0/operstate unknown", true, NI_KNOWN}, /* tun, some virtual ones */
        {"f sys/class/net/eth0/operstate down", false, NI_KNOWN},
        {"f sys/class/net/eth0/operstate lowerlayerdown", false, NI_KNOWN},
        {"f sys/class/net/eth0/operstate dormant", false, NI_KNOWN},
        {"f sys/class/net/eth0/operstate upper", false, NI_BAD},
        {"e sys/class/net/eth0/operstate EACCES", false, NI_DENIED},
        {"# none", false, NI_ABSENT},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        begin("10.128.2.26");
        line(ROUTES ROUTE("eth0", "00000000", "0102800A", "0003", "0", "00000000"));
        line("%s", cases[i].line);
        gather();
        assert_int_equal(pod.inv.n_netdev, 1);
        assert_int_equal(pod.inv.netdev[0].running, cases[i].running);
        assert_int_equal(pod.inv.netdev[0].known, cases[i].known);
        assert_int_equal(is_said("sys/class/net/eth0/operstate"), cases[i].known != NI_KNOWN);
    }
}

static void test_too_many(void **state)
{
    (void)state;
    pod_reset(NULL);
    ni_put(&pod.t, "f proc/net/fib_trie Main:\\n");
    for (unsigned i = 0; i < NI_MAX_ADDR + 5; i++)
        ni_putf(&pod.t, "|-- 10.1.%u.%u\\n/32 host LOCAL\\n", i / 200, i % 200 + 1);
    line("%s", "");
    gather();
    assert_int_equal(pod.inv.net.n_addr, NI_MAX_ADDR);
    assert_true(found(NI_F_FACT_TRUNCATED));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_connected_routes), cmocka_unit_test(test_longest_prefix),
        cmocka_unit_test(test_default_route),    cmocka_unit_test(test_default_route_ipv6),
        cmocka_unit_test(test_if_inet6),         cmocka_unit_test(test_fib_trie),
        cmocka_unit_test(test_policy_tables),    cmocka_unit_test(test_long_fib_trie),
        cmocka_unit_test(test_denied),           cmocka_unit_test(test_operstate),
        cmocka_unit_test(test_too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
