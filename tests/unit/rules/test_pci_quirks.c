/* SPDX-License-Identifier: Apache-2.0 */
/* rail.cross, vf.merge and nic.merge: what NCCL has to be told because it reads addresses as text.
   */
#include "findings/device.h"
#include "findings/setting.h"
#include "lib/rules_node.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/net.h"
#include "nccl_init/pci.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"

static void route(const char *dest, unsigned bits, bool gateway, const char *ifname)
{
    struct ni_route *r = &node.inv.net.route[node.inv.net.n_route++];
    node_ip(dest, r->dest);
    r->bits = (uint8_t)bits;
    r->gateway = gateway;
    ni_copy(r->ifname, sizeof(r->ifname), ifname);
}

static void two_rails(const char *a, const char *b)
{
    node_reset(NULL);
    node_rail("mlx5_6", 3, a, "net1");
    node_rail("mlx5_7", 3, b, "net2");
    node_eth0();
    route("10.128.0.0", 14, false, "eth0");
    route("0.0.0.0", 0, true, "eth0");
}

static void test_rails_are_islands(void **state)
{
    static const char var[] = "NCCL_CROSS_NIC";
    (void)state;
    two_rails("10.0.1.6", "10.0.2.6");
    node_decide();
    assert_setting(var, "unset", ""); /* no connected route is known */
    route("10.0.1.0", 24, false, "net1");
    node_decide();
    assert_setting(var, "unset", "");
    route("10.0.2.0", 24, false, "net2");
    node_decide();
    assert_setting(var, "rule", "0");
    route("192.168.0.0", 16, true, "net1"); /* leads elsewhere */
    node_decide();
    assert_setting(var, "rule", "0");
    route("10.0.2.0", 23, true, "net1"); /* from one rail to the other */
    node_decide();
    assert_setting(var, "unset", "");
    two_rails("10.0.1.6", "10.0.1.7");
    route("10.0.1.0", 24, false, "net1");
    route("10.0.1.0", 24, false, "net2");
    node_decide();
    assert_setting(var, "unset", ""); /* one subnet */
    two_rails("10.0.1.6", "10.0.2.6");
    route("10.0.0.0", 16, false, "net1"); /* one holds the other */
    route("10.0.2.0", 24, false, "net2");
    node_decide();
    assert_setting(var, "unset", "");
    for (int swap = 0; swap <= 1; swap++) { /* the longest prefix is the rail's subnet */
        two_rails("10.0.1.6", "10.0.2.6");
        route(swap ? "10.0.0.0" : "10.0.1.0", swap ? 16 : 24, false, "net1");
        route(swap ? "10.0.1.0" : "10.0.0.0", swap ? 24 : 16, false, "net1");
        route("10.0.2.0", 24, false, "net2");
        node_decide();
        assert_setting(var, "rule", "0");
    }
    two_rails("10.0.1.6", "10.0.2.6");
    route("10.0.1.0", 24, false, "net1");
    route("10.0.2.0", 24, false, "net2");
    node.inv.port[1].state.v = NI_PORT_DOWN;
    node_decide();
    assert_setting(var, "rule", "0"); /* the other pods have both rails */
    node.inv.port[1].n_gid = 0;
    node_decide();
    assert_setting(var, "unset", ""); /* the network of the second one is not known */
    assert_true(node.plan.needs & NI_NEED_LOST);
}

/* What is not known may lead from one rail to the other. */
static void test_rails_may_be_routed(void **state)
{
    static const char var[] = "NCCL_CROSS_NIC";
    struct ni_net *net = &node.inv.net;

    (void)state;
    two_rails("10.0.1.6", "10.0.2.6");
    route("10.0.1.0", 24, false, "net1");
    route("10.0.2.0", 24, false, "net2");
    node_decide();
    assert_setting(var, "rule", "0");
    net->policy_routes = true;
    node_decide();
    assert_setting(var, "unset", "");
    net->policy_routes = false;
    net->v4_known = NI_DENIED; /* the other tables cannot be seen */
    node_decide();
    assert_setting(var, "unset", "");
    net->v4_known = NI_KNOWN;
    net->route_known = NI_BAD;
    node_decide();
    assert_setting(var, "unset", "");
    net->route_known = NI_KNOWN;
    route("0.0.0.0", 0, true, "net2"); /* a default route over a rail */
    node_decide();
    assert_setting(var, "unset", "");
}

static void route6(const char *dest, unsigned bits, bool gateway, const char *ifname)
{
    struct ni_route *r = &node.inv.net.route6[node.inv.net.n_route6++];

    node_ip(dest, r->dest);
    r->bits = (uint8_t)bits;
    r->gateway = gateway;
    ni_copy(r->ifname, sizeof(r->ifname), ifname);
}

static void test_ipv6_rails(void **state)
{
    static const char var[] = "NCCL_CROSS_NIC";
    struct ni_net *net = &node.inv.net;

    (void)state;
    two_rails("fd00:1::6", "fd00:2::6");
    node_decide();
    assert_true(node.plan.needs & NI_NEED_ROUTES6);
    assert_setting(var, "unset", ""); /* the routes were not read */
    net->route6_known = NI_KNOWN;
    node_decide();
    assert_setting(var, "unset", ""); /* no connected route is known */
    route6("fd00:1::", 64, false, "net1");
    route6("fd00:2::", 64, false, "net2");
    route6("::", 0, true, "eth0");
    net->policy_routes = true; /* of IPv4 */
    node_decide();
    assert_setting(var, "rule", "0");
    net->route6_known = NI_BAD;
    node_decide();
    assert_setting(var, "unset", "");
    net->route6_known = NI_KNOWN;
    net->n_route6 = NI_MAX_ROUTE6; /* there may be more */
    node_decide();
    assert_setting(var, "unset", "");
    net->n_route6 = 3;
    route6("::", 0, true, "net2");
    node_decide();
    assert_setting(var, "unset", "");
    net->n_route6 = 3;
    node_ip("10.0.1.6", node.inv.gid[1].ip); /* two families */
    route("10.0.1.0", 24, false, "net1");
    net->policy_routes = false;
    node_decide();
    assert_setting(var, "unset", "");
    two_rails("fe80::1", "fe80::2");
    route6("fe80::", 64, false, "net1");
    route6("fe80::", 64, false, "net2");
    net->route6_known = NI_KNOWN;
    node_decide();
    assert_setting(var, "unset", "");
}

static void test_vf_merge(void **state)
{
    static const struct {
        enum ni_at merged, unmerged;
        const char *origin;
        bool lost;
    } cases[] = {
        {NI_AT_ITSELF, NI_AT_UNREAD, "unset", false},  {NI_AT_NIC, NI_AT_UNREAD, "unset", false},
        {NI_AT_UNREAD, NI_AT_UNREAD, "unset", false},  {NI_AT_OTHER, NI_AT_ITSELF, "rule", false},
        {NI_AT_OTHER, NI_AT_NIC, "rule", false},       {NI_AT_NOTHING, NI_AT_NIC, "rule", false},
        {NI_AT_NOTHING, NI_AT_NOTHING, "unset", true}, {NI_AT_OTHER, NI_AT_OTHER, "unset", true},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        two_rails("10.0.1.6", "10.0.2.6");
        node.inv.hca[0].place = (struct ni_nccl_place){NI_AT_ITSELF, NI_AT_ITSELF};
        node.inv.hca[1].place = (struct ni_nccl_place){cases[i].merged, cases[i].unmerged};
        node_decide();
        assert_setting("NCCL_IB_MERGE_VFS", cases[i].origin, cases[i].origin[0] == 'r' ? "0" : "");
        assert_int_equal(has(NI_F_HCA_PLACE_LOST), cases[i].lost);
    }
    two_rails("10.0.1.6", "10.0.2.6"); /* a port that is not used needs nothing */
    node.inv.hca[1].place = (struct ni_nccl_place){NI_AT_OTHER, NI_AT_ITSELF};
    node.inv.port[1].state.v = NI_PORT_DOWN;
    node_decide();
    assert_setting("NCCL_IB_MERGE_VFS", "unset", "");
}

/* Two that NCCL hangs below the CPU would be fused there, and be no network: both variables, but
   the user's one alone. */
static void test_no_place(void **state)
{
    (void)state;
    two_rails("10.0.1.6", "10.0.2.6");
    node.inv.hca[0].place = node.inv.hca[1].place =
        (struct ni_nccl_place){NI_AT_NOTHING, NI_AT_NOTHING};
    node_decide();
    assert_setting("NCCL_IB_MERGE_NICS", "rule", "0");
    assert_setting("NCCL_NET_MERGE_LEVEL", "rule", "LOC");
    node_env("NCCL_IB_MERGE_NICS=1");
    node_decide();
    assert_setting("NCCL_IB_MERGE_NICS", "user", "1");
    assert_setting("NCCL_NET_MERGE_LEVEL", "unset", "");
    node.n_env = 0;
    node_env("NCCL_NET_MERGE_LEVEL=PIX");
    node_decide();
    assert_setting("NCCL_IB_MERGE_NICS", "unset", "");
    assert_setting("NCCL_NET_MERGE_LEVEL", "user", "PIX");
    node.n_env = 0;
    node_env("NCCL_NET_FORCE_MERGE=mlx5_6,mlx5_7"); /* fails with the former */
    node_decide();
    assert_setting("NCCL_IB_MERGE_NICS", "unset", "");
    assert_setting("NCCL_NET_MERGE_LEVEL", "rule", "LOC");
    node.n_env = 0;
    node_env("NOTHING=1");
    node.inv.hca[1].place = (struct ni_nccl_place){NI_AT_NOTHING, NI_AT_ITSELF}; /* mended */
    node_decide();
    assert_setting("NCCL_IB_MERGE_VFS", "rule", "0");
    assert_setting("NCCL_IB_MERGE_NICS", "unset", "");
}

/* Two VFs of one port keep NCCL from fusing a card with two ports, which is told. */
static void test_dual_port_pays(void **state)
{
    (void)state;
    for (int on_two_functions = 0; on_two_functions <= 1; on_two_functions++) {
        two_rails("10.0.1.6", "10.0.1.7");
        for (int i = 0; i < 2; i++) {
            struct ni_hca *h = &node.inv.hca[i];

            h->bdf = (struct ni_bdf){0, 3, 0, (uint8_t)(2 + i)};
            h->is_vf = true;
            h->pf = (struct ni_bdf){0, 3, 0, 0};
        }
        node_decide();
        assert_setting("NCCL_IB_MERGE_NICS", "rule", "0");
        assert_false(has(NI_F_NICS_NOT_FUSED));
        node.inv.hca[node_rail("mlx5_8", 3, "10.0.2.6", "net3")].bdf = (struct ni_bdf){0, 9, 0, 0};
        node.inv.hca[node_rail("mlx5_9", 3, "10.0.3.6", "net4")].bdf = (struct ni_bdf){0, 9, 0, 1};
        if (!on_two_functions) {
            node.inv.port[3].hca = 2;
            node.inv.port[3].num = 2;
        }
        node_decide();
        assert_setting("NCCL_IB_MERGE_NICS", "rule", "0");
        assert_true(has(NI_F_NICS_NOT_FUSED));
        node.inv.port[3].state.v = NI_PORT_DOWN;
        node_decide();
        assert_false(has(NI_F_NICS_NOT_FUSED)); /* one port of the card is used */
        node.inv.port[3].state.v = NI_PORT_ACTIVE;
        node.inv.port[1].state.v = NI_PORT_DOWN;
        node_decide();
        assert_false(has(NI_F_NICS_NOT_FUSED)); /* fused */
        node.inv.port[1].state.v = NI_PORT_ACTIVE;
        node_env("NCCL_IB_MERGE_NICS=0");
        node_decide();
        assert_false(has(NI_F_NICS_NOT_FUSED)); /* the user's own choice */
    }
}

static void test_nic_merge(void **state)
{
    static const struct ni_bdf pf = {0, 3, 0, 0}, other = {0, 3, 0, 1};
    (void)state;
    for (int vf = 0; vf < 8; vf++) {
        for (int same = 0; same <= 1; same++) {
            uint8_t bus = vf & 4 ? 3 : 4; /* NCCL fuses what is 03:00.0 to it: one bus */
            two_rails("10.0.1.6", "10.0.2.6");
            node.inv.hca[0].bdf = (struct ni_bdf){0, 3, 0, 2};
            node.inv.hca[1].bdf = (struct ni_bdf){0, bus, 0, 3};
            node.inv.hca[0].is_vf = vf & 1;
            node.inv.hca[1].is_vf = vf & 2;
            node.inv.hca[0].pf = pf;
            node.inv.hca[1].pf = same ? pf : other;
            node_decide();
            bool want = vf == 7 && same;
            assert_setting("NCCL_IB_MERGE_NICS", want ? "rule" : "unset", want ? "0" : "");
        }
    }
    for (int first = 0; first <= 1; first++) { /* a PF and its VF, in either order */
        for (int own = 0; own <= 1; own++) {
            two_rails("10.0.1.6", "10.0.2.6");
            node.inv.hca[first].bdf = own ? pf : other;
            node.inv.hca[!first].bdf = (struct ni_bdf){0, 3, 2, 2};
            node.inv.hca[!first].is_vf = true;
            node.inv.hca[!first].pf = pf;
            node_decide();
            assert_setting("NCCL_IB_MERGE_NICS", own ? "rule" : "unset", own ? "0" : "");
        }
    }
    two_rails("10.0.1.6", "10.0.2.6"); /* a sub-function has its parent's address */
    node.inv.hca[0].bdf = pf;
    ni_copy(node.inv.hca[0].aux, sizeof(node.inv.hca[0].aux), "mlx5_core.sf.4");
    node.inv.hca[0].place.merged = node.inv.hca[0].place.unmerged = NI_AT_NOTHING;
    node.inv.hca[1].bdf = (struct ni_bdf){0, 3, 0, 2};
    node.inv.hca[1].is_vf = true;
    node.inv.hca[1].pf = pf;
    node_decide();
    assert_setting("NCCL_IB_MERGE_NICS", "unset", "");
    for (int off = 0; off <= 1; off++) { /* two cards on one bus of a virtual machine */
        two_rails("10.0.1.6", "10.0.2.6");
        node.inv.hca[0].bdf = (struct ni_bdf){0, 3, 1, 0};
        node.inv.hca[1].bdf = (struct ni_bdf){0, 3, 2, 0};
        node_env(off ? "NCCL_IB_MERGE_VFS=0" : "NOTHING=1");
        node_decide();
        assert_setting("NCCL_IB_MERGE_NICS", off ? "unset" : "rule", off ? "" : "0");
    }
    node_reset(NULL); /* two ports of one device are no two VFs */
    node_hca("mlx4_0");
    node_gid(3, "10.0.1.6", NI_GID_V2, NI_OWNER_POD, "net1");
    node_port(0, 2);
    node_gid(3, "10.0.2.6", NI_GID_V2, NI_OWNER_POD, "net2");
    node.inv.hca[0].is_vf = true;
    node_decide();
    assert_setting("NCCL_IB_MERGE_NICS", "unset", "");
}

/* Two ports with one Data Direct function are one to older NCCL; told only where the user relies on 0. */
static void test_one_data_direct(void **state)
{
    (void)state;
    for (int same = 0; same <= 1; same++) {
        for (int zero = 0; zero <= 1; zero++) {
            two_rails("10.0.1.6", "10.0.2.6");
            route("10.0.1.0", 24, false, "net1");
            route("10.0.2.0", 24, false, "net2");
            node_chain(&node.inv.hca[0].data_direct, "0000:00:01.0 0000:08:00.0", 0);
            node_chain(&node.inv.hca[1].data_direct,
                       same ? "0000:00:01.0 0000:08:00.0" : "0000:00:02.0 0000:09:00.0", 0);
            node_env(zero ? "NCCL_CROSS_NIC=0" : "NCCL_CROSS_NIC=2");
            node_decide();
            unsigned n = 0;
            for (unsigned i = 0; i < node.findings.n; i++)
                n += node.findings.at[i].id == NI_F_USER_CROSS_NIC;
            assert_int_equal(n, zero ? 1 + same : 0);
        }
    }
}

/* Returns true if a finding of that kind has these words. */
static bool tells(ni_finding_number id, const char *words)
{
    for (unsigned i = 0; i < node.findings.n; i++) {
        if (node.findings.at[i].id == id && strstr(node.findings.at[i].message, words))
            return true;
    }
    return false;
}

/* A word where NCCL reads a number: the finding names the word, and what each version reads. */
static void test_words(void **state)
{
    static const char off[] =
        "`off`, which NCCL up to 2.31.2 reads as 0, and 2.32.3 as its default";
    static const char no[] = "`no`, which NCCL up to 2.31.2 reads as 0, and 2.32.3 as its default";

    (void)state;
    two_rails("10.0.1.6", "10.0.2.6");
    route("10.0.1.0", 24, false, "net1");
    route("10.0.2.0", 24, false, "net2");
    node_env("NCCL_CROSS_NIC=off");
    node_env("NCCL_IB_MERGE_NICS=no");
    node_env("NCCL_NET_MERGE_LEVEL=SYS");
    node_chain(&node.inv.hca[0].pci, "0000:00:01.0 0000:03:00.0", 0);
    node_chain(&node.inv.hca[1].pci, "0000:80:01.0 0000:83:00.0", 1);
    node_decide();
    assert_true(tells(NI_F_USER_CROSS_NIC, off));
    assert_true(tells(NI_F_USER_NICS_FUSED, no));
    assert_true(tells(NI_F_USER_NICS_APART, "at different CPUs")); /* 2.32.3 fuses */
}

/* The user's list takes what the plan leaves out, here for its missing GID: NCCL fuses both. */
static void test_merge_of_users_list(void **state)
{
    (void)state;
    for (int listed = 0; listed <= 1; listed++) {
        two_rails("10.0.1.6", "10.0.2.6");
        for (unsigned i = 0; i < 2; i++) {
            struct ni_hca *h = &node.inv.hca[i];
            snprintf(h->aux, sizeof(h->aux), "mlx5_core.sf.%u", i + 4);
            h->bdf = (struct ni_bdf){0, 3, 0, 0};
            h->place.merged = h->place.unmerged = NI_AT_NOTHING;
        }
        node.inv.port[1].n_gid = 0;
        if (listed)
            node_env("NCCL_IB_HCA=mlx5");
        node_decide();
        assert_int_equal(node.plan.n_chosen, 1);
        assert_setting("NCCL_IB_MERGE_NICS", listed ? "rule" : "unset", listed ? "0" : "");
    }
}

/* A level that fuses through the CPU. */
static void test_wide_level(void **state)
{
    static const struct {
        const char *level;
        bool far, lost, told; /* at two CPUs; the second has no place */
    } cases[] = {
        {"SYS", false, false, false}, {"SYS", true, false, true}, {"SYS", false, true, true},
        {"PHB", true, false, false},  {"PHB", false, true, true}, {"PXB", true, false, false},
        {"PXB", false, true, false},  {"LOC", true, true, false},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        char entry[64];
        two_rails("10.0.1.6", "10.0.2.6");
        node_chain(&node.inv.hca[0].pci, "0000:00:01.0 0000:03:00.0", 0);
        node_chain(&node.inv.hca[1].pci, "0000:80:01.0 0000:83:00.0", cases[i].far);
        if (cases[i].lost)
            node.inv.hca[1].place.merged = node.inv.hca[1].place.unmerged = NI_AT_NOTHING;
        snprintf(entry, sizeof(entry), "NCCL_NET_MERGE_LEVEL=%s", cases[i].level);
        node_env(entry);
        node_decide();
        if (has(cases[i].far ? NI_F_USER_NICS_APART : NI_F_USER_NICS_FUSED) != cases[i].told)
            fail_msg("case %zu", i);
        node.inv.port[1].state.v = NI_PORT_DOWN; /* one is fused with none */
        node_decide();
        assert_false(has(NI_F_USER_NICS_FUSED) || has(NI_F_USER_NICS_APART));
    }
}

/* Eight ports are one NIC, and the next ones another: those of two CPUs are apart if the first CPU
   has eight. */
static void test_wide_level_of_many(void **state)
{
    (void)state;
    for (unsigned first = 7; first <= 9; first++) {
        node_reset(NULL);
        node_env("NCCL_NET_MERGE_LEVEL=SYS");
        for (unsigned i = 0; i < 10; i++) {
            char name[16], chain[40], netdev[16], address[16];
            snprintf(name, sizeof(name), "mlx5_%u", i);
            snprintf(netdev, sizeof(netdev), "net%u", i + 1);
            snprintf(address, sizeof(address), "10.0.%u.6", i + 1);
            snprintf(chain, sizeof(chain), "0000:%02x:01.0 0000:%02x:00.0", i * 16, i * 16 + 3);
            node_rail(name, i * 16 + 3, address, netdev);
            node_chain(&node.inv.hca[i].pci, chain, i >= first);
        }
        node_decide();
        assert_int_equal(has(NI_F_USER_NICS_APART), first != 8);
    }
}

/* What the user's NCCL_IB_MERGE_NICS=0 forbids must be asked for, and there must be two to fuse. */
static void test_user_forbids_fusing(void **state)
{
    static const struct {
        const char *level;
        bool one, two; /* told with one HCA, with two */
    } cases[] = {
        {"NCCL_NET_MERGE_LEVEL=PORT", false, true},
        {"NCCL_NET_MERGE_LEVEL=PIX", false, true},
        {"NCCL_NET_MERGE_LEVEL=LOC", false, false},
        {"NCCL_NET_MERGE_LEVEL=", false, false},
        {"NCCL_NET_FORCE_MERGE=mlx5_6,mlx5_7", true, true},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        two_rails("10.0.1.6", "10.0.2.6");
        node_env("NCCL_IB_MERGE_NICS=0");
        node_env(cases[i].level);
        node_decide();
        assert_int_equal(has(NI_F_USER_NICS_FUSED), cases[i].two);
        node.inv.port[1].state.v = NI_PORT_DOWN;
        node_decide();
        assert_int_equal(has(NI_F_USER_NICS_FUSED), cases[i].one);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rails_are_islands),
        cmocka_unit_test(test_rails_may_be_routed),
        cmocka_unit_test(test_ipv6_rails),
        cmocka_unit_test(test_vf_merge),
        cmocka_unit_test(test_no_place),
        cmocka_unit_test(test_dual_port_pays),
        cmocka_unit_test(test_nic_merge),
        cmocka_unit_test(test_one_data_direct),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_merge_of_users_list),
        cmocka_unit_test(test_wide_level),
        cmocka_unit_test(test_wide_level_of_many),
        cmocka_unit_test(test_user_forbids_fusing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
