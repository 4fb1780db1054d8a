/* SPDX-License-Identifier: Apache-2.0 */
/* GID tables: read no farther than needed, to the end where that does not settle it, and whose each
   entry is. */
#include "findings/device.h"
#include "lib/node_tree.h"
#include "nccl_init/allocation.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/pci.h"
#include "nccl_init/rdma.h"

static const struct ni_port *port(unsigned i)
{
    assert_true(i < pod.inv.n_port);
    return &pod.inv.port[i];
}

static const struct ni_gid *entry(unsigned p, unsigned index)
{
    for (unsigned i = 0; i < port(p)->n_gid; i++) {
        const struct ni_gid *g = &pod.inv.gid[port(p)->first_gid + (int)i];
        if (g->index == index)
            return g;
    }
    return NULL;
}

static void given(const char *env)
{
    pod_reset(NULL);
    set_env(env);
    fib("10.0.1.6 10.0.2.6");
    netdev("net1", "up");
    netdev("net2", "up");
}

static void one(void)
{
    given("PCIDEVICE_A=0000:03:00.2");
}

static void two(void)
{
    given("PCIDEVICE_A=0000:03:00.2,0000:04:00.2");
}

/* An entry behind the right one that would be a finding, were it read. */
static void trap(unsigned index)
{
    line("e ./gids/%u EIO", index);
    line("f ./gids/%u %s", index + 1, EMPTY_GID);
}

static void test_stops_early(void **state)
{
    (void)state;
    two();
    roce("0000:03:00.2", "mlx5_6");
    usual(V4("0a00:0106"), "net1");
    trap(4);
    roce("0000:04:00.2", "mlx5_7");
    usual(V4("0a00:0206"), "net2");
    trap(4);
    gather();
    assert_int_equal(pod.f.n, 0);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(port(i)->gids_read, 4);
        assert_int_equal(entry(i, 3)->type, NI_GID_V2);
        assert_int_equal(entry(i, 3)->owner, NI_OWNER_POD);
        assert_int_equal(entry(i, 2)->type, NI_GID_V1);
        assert_string_equal(entry(i, 3)->ndev, i ? "net2" : "net1");
    }
}

static void test_whole_when_asked(void **state)
{
    (void)state;
    static const char *const users[] = {
        /* an index, or what steers NCCL's search, may lead behind what settles it */
        "NCCL_IB_GID_INDEX=7",
        "NCCL_IB_ADDR_RANGE=10.0.1.0/24",
        "NCCL_IB_ADDR_FAMILY=AF_INET6",
        "NCCL_IB_ROCE_VERSION_NUM=1",
    };
    for (size_t why = 0; why <= 2 * NI_COUNT(users); why++) {
        one();
        if (why == 0)
            pod.needs = NI_NEED_WHOLE_GIDS;
        else if (why <= NI_COUNT(users))
            set_env(users[why - 1]);
        else
            line("f etc/nccl.conf %s", users[why - NI_COUNT(users) - 1]);
        roce("0000:03:00.2", "mlx5_6");
        usual(V4("0a00:0106"), "net1");
        trap(4);
        gather();
        if (port(0)->gids_read != 6)
            fail_msg("case %zu: read up to %u", why, port(0)->gids_read);
        assert_int_equal(port(0)->n_gid, 4);
        assert_true(found(NI_F_FACT_UNREADABLE)); /* the EIO */
        assert_int_equal(entry(0, 1)->type, NI_GID_V2);
    }
}

static void test_whole_when_ports_disagree(void **state)
{
    (void)state;
    two();
    roce("0000:03:00.2", "mlx5_6");
    usual(V4("0a00:0106"), "net1");
    gid(4, V4("0a00:0907"), "RoCE v2", "net9");
    roce("0000:04:00.2", "mlx5_7");
    line("f ./gids/{0..3} %s", EMPTY_GID);
    line("e ./gid_attrs/types/{0..3} EINVAL");
    gid(4, LOCAL_GID, "RoCE v2", "net2");
    gid(5, V4("0a00:0206"), "RoCE v2", "net2");
    gid(6, V4("0a00:0a0a"), "RoCE v2", "net3");
    gather();
    assert_int_equal(pod.f.n, 0);
    assert_int_equal(port(0)->gids_read, 5);
    assert_int_equal(port(1)->gids_read, 7);
    assert_int_equal(port(0)->n_gid, 5);
    assert_int_equal(port(1)->n_gid, 3);
    assert_null(entry(1, 3));
    assert_int_equal(entry(0, 1)->type, NI_GID_V2); /* passed over at first, completed now */
    assert_string_equal(entry(0, 0)->ndev, "net1");
    assert_int_equal(entry(0, 4)->owner, NI_OWNER_OTHER);
    assert_int_equal(entry(1, 5)->owner, NI_OWNER_POD);
    assert_int_equal(entry(1, 6)->owner, NI_OWNER_OTHER);
    for (unsigned p = 0; p < 2; p++) {
        for (unsigned i = 1; i < port(p)->n_gid; i++) {
            const struct ni_gid *g = &pod.inv.gid[port(p)->first_gid + (int)i];
            assert_true(g[-1].index < g->index); /* in order, together */
        }
    }
}

/* Whole tables bring the interfaces anew: the index that an HCA holds is of the new list, though its
   interface was read for doctor before. */
static void test_interfaces_anew(void **state)
{
    (void)state;
    two();
    pod.ask.health = true;
    rdma("0000:03:00.2", "mlx5_6");
    line("f ./state 1: DOWN");
    line("f ./link_layer Ethernet");
    roce("0000:04:00.2", "mlx5_7");
    usual(V4("0a00:0909"), "net2"); /* not ours: no right entry */
    line("d sys/devices/pci0000:00/0000:00:01.0/0000:03:00.2/net/net1");
    line("d sys/devices/pci0000:00/0000:00:01.0/0000:04:00.2/net/net2");
    gather();
    assert_true(pod.inv.read & NI_NEED_WHOLE_GIDS);
    for (int i = 0; i < 2; i++) {
        int at = pod.inv.hca[i].netdev;
        assert_in_range(at, 0, (int)pod.inv.n_netdev - 1);
        assert_string_equal(pod.inv.netdev[at].name, i ? "net2" : "net1");
    }
}

static void test_holes(void **state)
{
    (void)state;
    one();
    roce("0000:03:00.2", "mlx5_6");
    line("e ./gids/0 EINVAL");
    line("f ./gids/1 %s", EMPTY_GID);
    line("f ./gids/2 %s", V4("0a00:0106"));
    line("e ./gid_attrs/types/2 EINVAL"); /* not visible in this namespace */
    line("e ./gid_attrs/ndevs/2 EINVAL");
    gid(3, V4("0a00:0106"), "RoCE v2", "net1");
    gather();
    assert_int_equal(pod.f.n, 0);
    assert_int_equal(port(0)->gids_read, 4);
    assert_int_equal(port(0)->n_gid, 2);
    assert_int_equal(entry(0, 2)->type, NI_GID_UNREAD);
    assert_int_equal(entry(0, 3)->type, NI_GID_V2);
}

static void test_unreadable(void **state)
{
    static const char *const lines[] = {
        "e ./gids/0 EIO",
        "e ./gids/0 EACCES",
        "f ./gids/0 garbage",
        "f ./gids/0 fe80::1",
        "f ./gids/0 0000:0000:0000:0000:0000:ffff:0a00:0106\ne ./gid_attrs/types/0 EIO",
        "f ./gids/0 0000:0000:0000:0000:0000:ffff:0a00:0106\nf ./gid_attrs/types/0 RoCE v3",
        "f ./gids/0 0000:0000:0000:0000:0000:ffff:0a00:0106\nf ./gid_attrs/types/0 ",
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(lines); i++) {
        one();
        roce("0000:03:00.2", "mlx5_6");
        line("%s", lines[i]);
        gid(1, V4("0a00:0106"), "RoCE v2", "net1");
        gather();
        if (pod.f.n != 1 || !found(NI_F_FACT_UNREADABLE) ||
            !strstr(subject_of(NI_F_FACT_UNREADABLE), "mlx5_6/ports/1/gid"))
            fail_msg("`%s`: %u, %s", lines[i], pod.f.n, subject_of(NI_F_FACT_UNREADABLE));
        assert_int_equal(entry(0, 1)->owner, NI_OWNER_POD); /* the rest goes on */
    }
}

/* Whose an entry is, with the tables read and without. */
static void test_owners(void **state)
{
    (void)state;
    one();
    line("f proc/net/if_inet6 fd000000000000000000000000000006 03 40 00 80     net1\\n"
         "fe8000000000000000000000000000aa 03 40 20 80     net1");
    roce("0000:03:00.2", "mlx5_6");
    gid(0, LOCAL_GID, "RoCE v2", "net1");
    gid(1, "fe80:0000:0000:0000:0000:0000:0000:00aa", "RoCE v2", "net1");
    gid(2, "fd00:0000:0000:0000:0000:0000:0000:0006", "RoCE v2", "net1");
    gid(3, "fd00:0000:0000:0000:0000:0000:0000:0007", "RoCE v2", "net1");
    gid(4, V4("0a00:0907"), "RoCE v2", "net1"); /* its interface only has our interface's name */
    gid(5, LOCAL_GID, "RoCE v2", "eth7");
    gather();
    assert_int_equal(entry(0, 1)->owner, NI_OWNER_POD);
    assert_int_equal(entry(0, 2)->owner, NI_OWNER_POD);
    assert_int_equal(entry(0, 3)->owner, NI_OWNER_OTHER);
    assert_int_equal(entry(0, 4)->owner, NI_OWNER_OTHER);
    assert_int_equal(entry(0, 5)->owner, NI_OWNER_OTHER);
    assert_int_equal(entry(0, 0)->owner,
                     NI_OWNER_OTHER); /* net1 is not known to be the function's */
    line("f sys/devices/pci0000:00/0000:00:01.0/0000:03:00.2/net/net1/mtu 1500");
    gather();
    assert_int_equal(entry(0, 0)->owner, NI_OWNER_POD);
    assert_int_equal(entry(0, 4)->owner, NI_OWNER_OTHER);
}

/* Two pods in networks that are kept apart, with the same address on a net1 each: which net1 is here
   tells its own function. */
static void same_address(const char *env)
{
    static const char *const bdf[] = {"0000:03:00.2", "0000:04:00.2"};
    static const char *const name[] = {"mlx5_6", "mlx5_7"};
    pod_reset(NULL);
    if (env)
        set_env(env);
    fib("10.0.1.6");
    netdev("net1", "up");
    line("l sys/class/net/net1/device ../../../devices/pci0000:00/0000:00:01.0/0000:03:00.2");
    for (unsigned i = 0; i < 2; i++) {
        line("f dev/infiniband/uverbs%u", i);
        line("f sys/class/infiniband_verbs/uverbs%u/ibdev %s", i, name[i]);
        roce(bdf[i], name[i]);
        usual(V4("0a00:0106"), "net1");
    }
    gather();
}

static void test_owners_same_address(void **state)
{
    (void)state;
    same_address(NULL);
    assert_int_equal(pod.inv.source, NI_SRC_UVERBS);
    assert_int_equal(entry(0, 3)->owner, NI_OWNER_POD);
    assert_int_equal(entry(1, 3)->owner, NI_OWNER_OTHER);
    /* what the pod was given by name is not doubted */
    same_address("PCIDEVICE_A=0000:04:00.2");
    assert_int_equal(entry(0, 3)->owner, NI_OWNER_POD);
}

/* SoftRoCE above a NIC that has an RDMA function of its own is ours. */
static void test_owners_softroce(void **state)
{
    (void)state;
    pod_reset(NULL);
    fib("10.0.1.6");
    netdev("eth0", "up");
    line("l sys/class/net/eth0/device ../../../devices/pci0000:00/0000:03:00.0");
    line("d sys/devices/pci0000:00/0000:03:00.0/infiniband/bnxt_re0");
    line("f dev/infiniband/uverbs0");
    line("f sys/class/infiniband_verbs/uverbs0/ibdev rxe0");
    line("l sys/class/infiniband/rxe0 ../../devices/virtual/infiniband/rxe0");
    line("d sys/devices/virtual/infiniband/rxe0/ports/1");
    active("Ethernet", "2.5 Gb/sec (1X SDR)");
    usual(V4("0a00:0106"), "eth0");
    gather();
    assert_int_equal(pod.inv.source, NI_SRC_UVERBS);
    assert_int_equal(entry(0, 3)->owner, NI_OWNER_POD);
}

static void test_owners_unknown(void **state)
{
    (void)state;
    pod_reset(NULL);
    set_env("PCIDEVICE_A=0000:03:00.2");
    line("e proc/net/fib_trie EACCES");
    line("e proc/net/if_inet6 EACCES");
    netdev("net1", "up");
    roce("0000:03:00.2", "mlx5_6");
    gid(0, V4("0a00:0106"), "RoCE v2", "net1");
    gid(1, V4("0a00:0107"), "RoCE v2", "net9"); /* an interface that is not here */
    gid(2, LOCAL_GID, "RoCE v2", "net1");       /* every pod may have net1 and this address */
    gid(3, "fd00:0000:0000:0000:0000:0000:0000:0006", "RoCE v2", "net1");
    gid(4, "fd00:0000:0000:0000:0000:0000:0000:0007", "RoCE v2", "net9");
    line("f ./gids/5 %s", V4("0a00:0108"));
    line("f ./gid_attrs/types/5 RoCE v2");
    gather();
    assert_int_equal(entry(0, 0)->owner, NI_OWNER_UNKNOWN);
    assert_int_equal(entry(0, 1)->owner, NI_OWNER_OTHER);
    assert_int_equal(entry(0, 2)->owner, NI_OWNER_OTHER);
    assert_int_equal(entry(0, 3)->owner, NI_OWNER_UNKNOWN);
    assert_int_equal(entry(0, 4)->owner, NI_OWNER_OTHER);
    assert_int_equal(entry(0, 5)->owner, NI_OWNER_UNKNOWN); /* of no interface */
    assert_int_equal(pod.inv.net.v4_known, NI_DENIED);
    assert_string_equal(subject_of(NI_F_FACT_UNREADABLE), "proc/net/fib_trie");
    line("f sys/devices/pci0000:00/0000:00:01.0/0000:03:00.2/net/net1/mtu 1500");
    gather();
    assert_int_equal(entry(0, 0)->owner, NI_OWNER_POD); /* the function's own */
    assert_int_equal(entry(0, 2)->owner, NI_OWNER_POD);
    assert_int_equal(entry(0, 1)->owner, NI_OWNER_OTHER);
}

static void test_not_where_it_is_useless(void **state)
{
    (void)state;
    two();
    rdma("0000:03:00.2", "mlx5_6");
    active("InfiniBand", "400 Gb/sec (4X NDR)");
    line("e ./gids/0 EIO");
    rdma("0000:04:00.2", "mlx5_7");
    line("f ./state 1: DOWN");
    line("f ./link_layer Ethernet");
    line("f ./rate 400 Gb/sec (4X NDR)");
    line("f ./gids/0 0000:0000:0000:0000:0000:0000:0000:0000");
    gather();
    assert_int_equal(port(0)->gids_read, 0);
    assert_int_equal(pod.inv.read & NI_NEED_LOST, NI_NEED_LOST); /* in other pods it may be up */
    assert_int_equal(pod.inv.n_gid, 0);
    assert_false(found(NI_F_FACT_UNREADABLE));
}

static void test_longest_table(void **state)
{
    (void)state;
    one();
    roce("0000:03:00.2", "mlx5_6");
    line("f ./gids/{0..%d} %s", NI_GID_TABLE, EMPTY_GID);
    gather();
    assert_int_equal(port(0)->gids_read, NI_GID_TABLE);
    assert_true(found(NI_F_FACT_TRUNCATED));
    given("PCIDEVICE_A=0000:03:00.2,0000:04:00.2,0000:05:00.2,0000:06:00.2,0000:07:00.2");
    for (unsigned i = 3; i <= 7; i++) {
        char bdf[NI_BDF_TEXT], name[NI_DEV_NAME];
        snprintf(name, sizeof(name), "mlx5_%u", i);
        roce(ni_bdf_text((struct ni_bdf){0, (uint8_t)i, 0, 2}, bdf), name);
        line("f ./gids/{0..%d} %s", NI_GID_TABLE, LOCAL_GID);
    }
    gather();
    assert_int_equal(pod.inv.n_gid, NI_MAX_GID);
    assert_true(found(NI_F_FACT_TRUNCATED));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stops_early),
        cmocka_unit_test(test_whole_when_asked),
        cmocka_unit_test(test_whole_when_ports_disagree),
        cmocka_unit_test(test_interfaces_anew),
        cmocka_unit_test(test_holes),
        cmocka_unit_test(test_unreadable),
        cmocka_unit_test(test_owners),
        cmocka_unit_test(test_owners_same_address),
        cmocka_unit_test(test_owners_softroce),
        cmocka_unit_test(test_owners_unknown),
        cmocka_unit_test(test_not_where_it_is_useless),
        cmocka_unit_test(test_longest_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
