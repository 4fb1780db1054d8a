/* SPDX-License-Identifier: Apache-2.0 */
/* gid.pick and gid.index: each port's right GID, and whether one number, a search setting or
   nothing is exported. One scenario each is in the goldens gid-*, rail-link-local, user-gid-*. */
#include "findings/device.h"
#include "findings/setting.h"
#include "lib/rules_node.h"
#include "nccl_init/allocation.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/rdma.h"

enum { V1 = NI_GID_V1, V2 = NI_GID_V2, OURS = NI_OWNER_POD, ALIEN = NI_OWNER_OTHER };

static void gid(unsigned index, const char *ip, int type, int own)
{
    node_gid(index, ip, (enum ni_gid_type)type, (enum ni_owner)own, "net1");
}

/* The index of the port's pick, -1. */
static int picked(int port)
{
    int g = node.plan.port[port].gid;
    return g < 0 ? -1 : node.inv.gid[g].index;
}

static void one_hca(void)
{
    node_reset(NULL);
    node_eth0();
    node_hca("mlx5_6");
}

/* What is better than what, by one port with both: the second is always the one to take. */
static void test_preference(void **state)
{
    static const struct {
        const char *worse;
        int type, owner;
        const char *better;
        int better_type, better_own;
    } cases[] = {
        {"10.9.9.9", V2, ALIEN, "10.0.1.6", V2, OURS},
        {"10.9.9.9", V2, NI_OWNER_UNKNOWN, "10.0.1.6", V2, OURS},
        {"10.9.9.9", V2, NI_OWNER_UNKNOWN, "fd00::6", V2, OURS},
        {"10.9.9.9", V2, ALIEN, "fe80::6", V2, OURS},
        {"10.9.9.9", V2, ALIEN, "10.0.1.6", V2, NI_OWNER_UNKNOWN},
        {"10.0.1.6", V1, OURS, "10.0.1.6", V2, OURS},
        {"10.0.1.6", NI_GID_UNREAD, OURS, "10.0.1.6", V2, OURS},
        {"10.0.1.6", V1, OURS, "fe80::6", V2, OURS},
        {"fe80::6", V2, OURS, "fd00::6", V2, OURS},
        {"fe80::6", V2, OURS, "10.0.1.6", V2, OURS},
        {"fd00::6", V2, OURS, "10.0.1.6", V2, OURS},
        {"fe80::6", V2, OURS, "169.254.1.6", V2, OURS},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        for (int swap = 0; swap <= 1; swap++) { /* wherever in the table */
            one_hca();
            for (int k = 0; k <= 1; k++) {
                if (k == swap)
                    gid((unsigned)k, cases[i].worse, cases[i].type, cases[i].owner);
                else
                    gid((unsigned)k, cases[i].better, cases[i].better_type, cases[i].better_own);
            }
            node_decide();
            if (picked(0) != !swap)
                fail_msg("case %zu: index %d", i, picked(0));
        }
    }
}

/* ---- ports without a good one ---- */

/* In a pod that sees those of others too; named by somebody, or alone, it is a fault. */
static void test_other_pods_hca(void **state)
{
    (void)state;
    node_reset(NULL);
    node_rail("mlx5_6", 3, "10.0.1.6", "net1");
    node_hca("mlx5_7");
    gid(0, "10.9.9.9", V2, ALIEN);
    gid(1, "fe80::9", V2, ALIEN);
    node.inv.source = NI_SRC_UVERBS;
    node_decide();
    assert_setting("NCCL_IB_HCA", "rule", "=mlx5_6:1");
    assert_false(has(NI_F_GID_NONE));
    assert_non_null(strstr(node.plan.port[1].why, "belongs to another pod"));
    node.inv.netns_mode = NI_NETNS_EXCLUSIVE; /* then one that opens is this pod's */
    node_decide();
    assert_setting("NCCL_IB_HCA", "rule", "=mlx5_6:1");
    assert_true(has(NI_F_GID_NONE));
    node.inv.source = NI_SRC_HOST; /* of one that was not opened that is not known */
    node_decide();
    assert_false(has(NI_F_GID_NONE));
    node.inv.source = NI_SRC_PCIDEVICE;
    node_decide();
    assert_true(has(NI_F_GID_NONE));
    node_reset(NULL);
    node_hca("mlx5_7");
    gid(0, "10.9.9.9", V2, ALIEN);
    node.inv.source = NI_SRC_UVERBS;
    node_decide();
    assert_true(has(NI_F_GID_NONE));
}

/* ---- one index or none ---- */

/* Two devices with one address: peers' own differ in the last bits, so the range is never a single
   address. */
static void test_range_is_no_single_address(void **state)
{
    (void)state;
    one_hca();
    gid(1, "192.168.9.9", V2, ALIEN);
    gid(3, "10.0.1.6", V2, OURS);
    node_hca("mlx5_7");
    gid(5, "10.0.1.6", V2, OURS);
    node_decide();
    assert_setting("NCCL_IB_ADDR_RANGE", "rule", "10.0.1.6/31");
}

/* Where IPv4 does not do for all, IPv6 on all of them may: an index, or a search. */
static void test_ipv6_on_all(void **state)
{
    (void)state;
    node_reset(NULL);
    node_hca("mlx5_6");
    gid(3, "fd00::1:6", V2, OURS);
    gid(5, "10.0.1.6", V2, OURS);
    node_hca("mlx5_7");
    gid(3, "fd00::2:6", V2, OURS);
    node_decide();
    assert_setting("NCCL_IB_GID_INDEX", "rule", "3");
    assert_setting("NCCL_IB_ADDR_FAMILY", "rule", "AF_INET6");
    assert_int_equal(picked(0), 3);
    node.inv.gid[2].index = 7;
    node.inv.port[1].gids_read = 8;
    node_decide();
    assert_setting("NCCL_IB_GID_INDEX", "unset", "");
    assert_setting("NCCL_IB_ADDR_FAMILY", "rule", "AF_INET6");
    assert_int_equal(picked(0), 3);
    assert_int_equal(picked(1), 7);
    assert_false(has(NI_F_GID_SEARCH_WRONG));
}

/* The last resort: one index, of IPv4 here and of IPv6 there. */
static void test_either_family(void **state)
{
    (void)state;
    node_reset(NULL);
    node_hca("mlx5_6");
    gid(1, "10.0.2.9", V2, ALIEN);
    gid(3, "fd00::1:6", V2, OURS);
    gid(5, "10.0.1.6", V2, OURS);
    node_hca("mlx5_7");
    gid(3, "10.0.2.6", V2, OURS);
    node_decide();
    assert_setting("NCCL_IB_GID_INDEX", "rule", "3");
    assert_setting("NCCL_IB_ADDR_FAMILY", "unset", "");
    assert_int_equal(picked(0), 3);
}

/* NCCL compares what it has not set: its search is not relied on, unless a range keeps it away. */
static void test_type_unread(void **state)
{
    (void)state;
    node_reset(NULL);
    node_hca("mlx5_6");
    gid(2, "10.0.1.9", NI_GID_UNREAD, ALIEN);
    gid(3, "10.0.1.6", V2, OURS);
    node_hca("mlx5_7");
    gid(5, "10.0.2.6", V2, OURS);
    node_decide();
    assert_setting("NCCL_IB_GID_INDEX", "unset", "");
    assert_true(has(NI_F_GID_SEARCH_WRONG));
    node_ip("192.168.1.9", node.inv.gid[0].ip);
    node_decide();
    assert_setting("NCCL_IB_ADDR_RANGE", "rule", "10.0.0.0/22");
    assert_false(has(NI_F_GID_SEARCH_WRONG));
    node_env("NCCL_IB_ROCE_VERSION_NUM=2");
    node_decide();
    assert_true(has(NI_F_USER_GID_WRONG));
}

/* ---- the user's own ---- */

static void test_users_index(void **state)
{
    static const struct {
        const char *value;
        bool wrong;
    } cases[] = {
        {"3", false},
        {"0x3", false},
        {" 3", false},
        {"5", false},
        {"03", false},
        {"-1", false},
        {"", false},
        {"2", true},
        {"1", true},
        {"4", true},
        {"255", true},
        {"4096", true},
        {"99999999999999999999", false}, /* NCCL takes its default: it searches */
        {"abc", true},
        {"65539", true},       /* 3, if it were cut to 16 bits */
        {"4294967299", false}, /* NCCL keeps it in an int: 3 */
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        char entry[64];
        one_hca();
        gid(0, "10.9.9.9", V2, ALIEN);
        gid(1, "fe80::1", V2, OURS);
        gid(2, "10.0.1.6", V1, OURS);
        gid(3, "10.0.1.6", V2, OURS);
        gid(5, "10.0.1.7", V2, OURS);
        snprintf(entry, sizeof(entry), "NCCL_IB_GID_INDEX=%s", cases[i].value);
        node_env(entry);
        node_decide();
        assert_setting("NCCL_IB_GID_INDEX", "user", cases[i].value);
        if (has(NI_F_USER_GID_WRONG) != cases[i].wrong)
            fail_msg("`%s`", cases[i].value);
    }
}

/* What is at the index that NCCL takes: each fault has words of its own. */
static void test_what_is_there(void **state)
{
    static const struct {
        const char *entry, *said;
    } cases[] = {
        {"NCCL_IB_GID_INDEX=300", "NCCL takes index 300, but the table has 6 entries: NCCL 2.31.2 "
                                  "and later then use no InfiniBand or RoCE at all"},
        {"NCCL_IB_GID_INDEX=6", "but the table has 6 entries"}, /* the first beyond */
        {"NCCL_IB_GID_INDEX=5", NULL},
        {"NCCL_IB_GID_INDEX=4", "NCCL takes index 4, which is empty"},
        {"NCCL_IB_GID_INDEX=3", "index 3, which is link-local"},
        {"NCCL_IB_GID_INDEX=2", "index 2, which is RoCE v1"},
        {"NCCL_IB_GID_INDEX=1", "index 1, which is link-local"},
        {"NCCL_IB_GID_INDEX=0", "index 0, which is another pod's"},
        {"NCCL_IB_GID_INDEX=off", "NCCL up to 2.31.2 takes index 0, which is another pod's"},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        one_hca();
        gid(0, "10.9.9.9", V2, ALIEN);
        gid(1, "fe80::1", V2, OURS);
        gid(2, "10.0.1.6", V1, OURS);
        gid(3, "169.254.7.6", V2, OURS);
        gid(5, "10.0.1.6", V2, OURS);
        node.inv.port[0].gids_ended = true;
        node_env(cases[i].entry);
        node_decide();
        const struct ni_finding *f = NULL;
        for (unsigned k = 0; k < node.findings.n; k++) {
            if (node.findings.at[k].id == NI_F_USER_GID_WRONG)
                f = &node.findings.at[k];
        }
        if (!f != !cases[i].said || (f && !strstr(f->message, cases[i].said)))
            fail_msg("%s: %s", cases[i].entry, f ? f->message : "nothing");
    }
}

/* A table of which the end was not read says nothing of what is beyond. */
static void test_beyond_what_was_read(void **state)
{
    (void)state;
    one_hca();
    gid(3, "10.0.1.6", V2, OURS);
    node_env("NCCL_IB_GID_INDEX=9");
    node_decide();
    assert_true(has(NI_F_USER_GID_WRONG));
    assert_null(strstr(node.findings.at[0].message, "the table has"));
}

/* The search ends on a link-local entry: it takes 169.254/16 for an address like others. */
static void test_search_ends_link_local(void **state)
{
    (void)state;
    one_hca();
    gid(2, "169.254.1.9", V1, OURS);
    gid(3, "169.254.1.9", V2, OURS);
    gid(7, "10.0.1.6", V2, OURS);
    node_hca("mlx5_7");
    gid(3, "169.254.2.9", V2, OURS);
    gid(5, "10.99.2.6", V2, OURS);
    node_env("NCCL_IB_GID_INDEX=-1");
    node_env("NCCL_IB_ADDR_FAMILY=AF_INET");
    node_decide();
    assert_true(has(NI_F_USER_GID_WRONG));
    assert_non_null(strstr(node.findings.at[0].message, "index 3, which is link-local"));
}

/* The user's index that one port lacks: said of that port only; nothing is exported beside it. */
static void test_users_index_on_some_ports(void **state)
{
    (void)state;
    node_reset(NULL);
    node_rail("mlx5_6", 3, "10.0.1.6", "net1");
    node_rail("mlx5_7", 5, "10.0.2.6", "net2");
    node_env("NCCL_IB_GID_INDEX=3");
    node_decide();
    assert_setting("NCCL_IB_GID_INDEX", "user", "3");
    assert_setting("NCCL_IB_ADDR_RANGE", "unset", "");
    assert_int_equal(node.findings.n, 1);
    assert_string_equal(node.findings.at[0].subject, "mlx5_7/1");
}

/* NCCL looks at the index first, and takes an empty one for a search. */
static void test_users_index_and_search(void **state)
{
    (void)state;
    one_hca();
    gid(3, "10.0.1.6", V2, OURS);
    gid(5, "fd00::6", V2, OURS);
    node_env("NCCL_IB_ADDR_FAMILY=AF_INET6");
    node_decide();
    assert_int_equal(node.plan.port[0].nccl_index, 5);
    assert_int_equal(picked(0), 5);
    node_env("NCCL_IB_GID_INDEX=3");
    node_decide();
    assert_int_equal(picked(0), 3);
    assert_int_equal(node.plan.port[0].nccl_index, 3);
    node.entry[1] = (char[]){"NCCL_IB_GID_INDEX="};
    node_decide();
    assert_int_equal(node.plan.port[0].nccl_index, 5);
    assert_int_equal(picked(0), 5);
    node.entry[1] = (char[]){"NCCL_IB_GID_INDEX=9"};
    node_decide();
    assert_int_equal(node.plan.port[0].nccl_index, 9);
    assert_int_equal(picked(0), 3); /* the right one */
    assert_true(has(NI_F_USER_GID_WRONG));
}

/* Index 0 is an index as any other: with it NCCL does not search, so a range that is none decides nothing. */
static void test_range_beside_index(void **state)
{
    (void)state;
    for (int index = -1; index <= 1; index++) {
        char entry[32];

        one_hca();
        gid(0, "10.0.1.6", V2, OURS);
        gid(1, "10.0.1.7", V2, OURS);
        snprintf(entry, sizeof(entry), "NCCL_IB_GID_INDEX=%d", index);
        node_env(entry);
        node_env("NCCL_IB_ADDR_RANGE=none");
        node_decide();
        assert_int_equal(has(NI_F_USER_VALUE_IGNORED), index < 0);
    }
}

/* A rail without IPv4 beside one that has it is told, in either order; link-local is another fault. */
static void test_families_differ(void **state)
{
    static const struct {
        const char *first, *second, *told;
    } cases[] = {
        {"10.0.1.6", "fd00:2::6", "mlx5_7/1"}, {"fd00:1::6", "10.0.2.6", "mlx5_6/1"},
        {"10.0.1.6", "10.0.2.6", NULL},        {"fd00:1::6", "fd00:2::6", NULL},
        {"10.0.1.6", "fe80::6", NULL},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        node_reset(NULL);
        node_eth0();
        node_rail("mlx5_6", 3, cases[i].first, "net1");
        node_rail("mlx5_7", 3, cases[i].second, "net2");
        node_decide();
        assert_int_equal(has(NI_F_GID_FAMILY_DIFFERS), cases[i].told != NULL);
        for (unsigned k = 0; k < node.findings.n; k++) {
            if (node.findings.at[k].id == NI_F_GID_FAMILY_DIFFERS)
                assert_string_equal(node.findings.at[k].subject, cases[i].told);
        }
    }
}

/* A version that surely searches again when a table changes gets no index, unless its search ends wrong. */
static void test_version(void **state)
{
    (void)state;
    for (int version = 23007; version <= 23203; version += 98) { /* 2.30.7, 2.31.5, 2.32.3 */
        node_reset(NULL);
        node_eth0();
        node_rail("mlx5_6", 3, "10.0.1.6", "net1");
        node.inv.nccl_version = version;
        node_decide();
        assert_setting("NCCL_IB_GID_INDEX", version < 23102 ? "rule" : "unset",
                       version < 23102 ? "3" : "");
        assert_int_equal(picked(0), 3);
        assert_false(has(NI_F_GID_INDEX_DIFFERS));
    }
    node_env("NCCL_IB_GID_INDEX=3");
    node_decide();
    assert_setting("NCCL_IB_GID_INDEX", "user", "3");
    one_hca();
    gid(0, "10.9.9.9", V2, ALIEN); /* where a search ends */
    gid(1, "10.0.1.6", V2, OURS);
    node.inv.nccl_version = 23102;
    node_decide();
    assert_int_equal(picked(0), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_preference),
        cmocka_unit_test(test_other_pods_hca),
        cmocka_unit_test(test_range_is_no_single_address),
        cmocka_unit_test(test_ipv6_on_all),
        cmocka_unit_test(test_either_family),
        cmocka_unit_test(test_type_unread),
        cmocka_unit_test(test_users_index),
        cmocka_unit_test(test_what_is_there),
        cmocka_unit_test(test_beyond_what_was_read),
        cmocka_unit_test(test_search_ends_link_local),
        cmocka_unit_test(test_users_index_on_some_ports),
        cmocka_unit_test(test_users_index_and_search),
        cmocka_unit_test(test_range_beside_index),
        cmocka_unit_test(test_families_differ),
        cmocka_unit_test(test_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
