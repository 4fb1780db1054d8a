/* SPDX-License-Identifier: Apache-2.0 */
/* What watch says of two rails and an interface whose counters a tree shows at several times. */
#include "lib/watch_node.h"
#include "nccl_init/allocation.h"
#include "nccl_init/known.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"

static void assert_says(enum ni_carrier by, const char *words)
{
    const struct ni_watch_verdict v = ni_watch_judge(&seen, &pod.inv);
    struct ni_text t = NI_TEXT(2048);

    ni_put_watch_sentence(&t, &seen, &pod.inv, &v);
    assert_string_equal(t.buf, words);
    assert_int_equal(v.by, by);
}

static void test_rails(void **state)
{
    (void)state;
    begin("Ethernet");
    data(AT("3"), 400, 0);
    data(AT("4"), 0, 0);
    traffic("eth0", "1", 5, 5);
    traffic("lo", "772", 5, 5);
    look(1000);
    assert_says(NI_CARRIER_UNKNOWN, "nothing was watched: it takes two looks");
    data(AT("3"), 400 + 20 * G, 10 * G);
    data(AT("4"), 18 * G, 10 * G);
    traffic("eth0", "1", 100000, 5);
    traffic("lo", "772", 50 * G, 5);
    look(3000);
    assert_says(NI_CARRIED_BY_RAILS, "2 of 2 rails carry data, 19.0 GB/s out and 10.0 GB/s in");
    assert_int_equal(seen.rail[0].out.sum, 20 * G);
    assert_int_equal(ni_gain_rate(&seen.rail[1].out), 9 * G);
    /* a rail that is silent, and an interface that carries more */
    memset(&seen, 0, sizeof(seen));
    for (int i = 0; i < 2; i++) {
        data(AT("3"), i * 20 * G, i * G);
        data(AT("4"), i * 20000, 0);
        traffic("eth0", "1", i * 600 * G, 5);
        look(1000 + i * 40000);
    }
    assert_says(NI_CARRIED_BY_RAILS,
                "1 of 2 rails carries data, 500 MB/s out and 25.0 MB/s in; mlx5_4/1 carries none; "
                "eth0 carries 15.0 GB/s");
}

static void test_sockets(void **state)
{
    (void)state;
    begin("Ethernet");
    for (int i = 0; i < 2; i++) {
        data(AT("3"), 4000, 4000 + i * 4000);
        data(AT("4"), 0, 0);
        traffic("eth0", "1", i * 9 * G, i * 8 * G);
        traffic("net1", "1", i * 2 * G, 0);
        look(1000 + i * 1000);
    }
    assert_says(NI_CARRIED_BY_SOCKETS, "eth0 carries 9.00 GB/s, no rail does");
    /* nothing at all */
    memset(&seen, 0, sizeof(seen));
    for (int i = 0; i < 2; i++) {
        data(AT("3"), 4000, 4000 + i * 4000);
        data(AT("4"), 0, 0);
        traffic("eth0", "1", i * 9000, 0);
        look(1000 + i * 1000);
    }
    assert_says(NI_CARRIED_BY_NOTHING,
                "nothing carries data: no rail and no interface reaches 1 MB/s");
}

/* TCP over IPoIB goes through the port, too. */
static void test_ipoib(void **state)
{
    (void)state;
    begin("InfiniBand");
    for (int i = 0; i < 2; i++) {
        data(AT("3"), i * 9200000000LL, i * 8200000000LL);
        data(AT("4"), 0, 0);
        traffic("net1", "32", i * 9 * G, i * 8 * G);
        look(1000 + i * 1000);
    }
    assert_says(NI_CARRIED_BY_SOCKETS,
                "net1 carries 9.00 GB/s by IP over its rail, which carries little else");
}

static void look_ipoib(long long rail, long long ipoib, long long eth0)
{
    begin("InfiniBand");
    for (int i = 0; i < 2; i++) {
        data(AT("3"), i * rail, i * rail);
        data(AT("4"), 0, 0);
        traffic("net1", "32", i * ipoib, i * ipoib);
        traffic("eth0", "1", i * eth0, 0);
        look(1000 + i * 1000);
    }
}

static void test_ipoib_bounds(void **state)
{
    (void)state;
    /* the rail reaches 1 MB/s with its headers, IPoIB without them does not */
    look_ipoib(1090000, 986000, 0);
    assert_says(NI_CARRIED_BY_RAILS,
                "1 of 2 rails carries data, 1.09 MB/s out and 1.09 MB/s in; mlx5_4/1 carries none");
    /* most goes elsewhere */
    look_ipoib(2 * 1000000, 1900000, 5 * G);
    assert_says(NI_CARRIED_BY_SOCKETS,
                "eth0 carries 5.00 GB/s, and rails little but IP: net1 carries 1.90 MB/s");
}

/* Drivers count RDMA for the rail alone: what the rail's own interface has are sockets. */
static void test_sockets_beside_rail(void **state)
{
    struct ni_watch_verdict v;

    (void)state;
    begin("Ethernet");
    for (int i = 0; i < 2; i++) {
        data(AT("3"), i * 749000000LL, i * 749000000LL);
        data(AT("4"), i * 749000000LL, 0);
        traffic("net1", "1", i * 1600000000LL, i * 824000000LL);
        look(1000 + i * 1000);
    }
    assert_says(NI_CARRIED_BY_RAILS,
                "2 of 2 rails carry data, 1.49 GB/s out and 749 MB/s in; net1 carries 1.60 GB/s");
    v = ni_watch_judge(&seen, &pod.inv);
    assert_true(ni_watch_is_half(&seen, &v));
    /* nearly as much as its rail */
    seen.netif[0].out.sum = 824000000LL;
    assert_says(NI_CARRIED_BY_RAILS,
                "2 of 2 rails carry data, 1.49 GB/s out and 749 MB/s in; net1 carries 824 MB/s");
}

static void test_untold(void **state)
{
    (void)state;
    begin("Ethernet");
    /* another namespace's devices have no counters */
    for (int i = 0; i < 2; i++) {
        line("f %s/state 4: ACTIVE", AT("3"));
        line("f %s/state 4: ACTIVE", AT("4"));
        traffic("eth0", "1", i * 2 * G, 0);
        look(1000 + i * 1000);
    }
    assert_says(NI_CARRIER_UNKNOWN,
                "it cannot be told whether rails carry data, mlx5_3/1 and 1 other: no counters are "
                "shown here; while RDMA devices are shared by network namespaces, only the host's "
                "network has them; eth0 carries 2.00 GB/s");
    pod.inv.netns_mode = NI_NETNS_EXCLUSIVE;
    assert_int_equal(ni_rail_untold(&seen, &pod.inv, 0), NI_UNTOLD_NO_COUNTER);
    pod.inv.hca[0].function[0] = '\0';
    pod.inv.hca[0].has_bdf = false;
    assert_int_equal(ni_rail_untold(&seen, &pod.inv, 0), NI_UNTOLD_SOFTWARE);
    assert_says(
        NI_CARRIER_UNKNOWN,
        "it cannot be told whether rails carry data, mlx5_3/1: it is software RDMA, and its "
        "bytes are among those of its interface; nor of 1 more, for another reason; eth0 "
        "carries 2.00 GB/s");
}

static enum ni_untold untold_of(const char *out, const char *in)
{
    begin("Ethernet");
    for (int i = 0; i < 3; i++) {
        line("%c %s/counters/port_xmit_data %s", out[0] == 'E' ? 'e' : 'f', AT("3"), out);
        line("%c %s/counters/port_rcv_data %s", in[0] == 'E' ? 'e' : 'f', AT("3"), in);
        data(AT("4"), 0, 0);
        look(1000 + i * 1000);
    }
    return ni_rail_untold(&seen, &pod.inv, 0);
}

static void test_odd_counters(void **state)
{
    (void)state;
    assert_int_equal(untold_of("1", "1"), NI_TOLD);
    assert_int_equal(untold_of("0", "2305843009213693951"), NI_TOLD);
    /* more than 2^63 bytes, a sign, a word, nothing, two lines */
    assert_int_equal(untold_of("1", "2305843009213693952"), NI_UNTOLD_UNREADABLE);
    assert_int_equal(untold_of("-1", "1"), NI_UNTOLD_UNREADABLE);
    assert_int_equal(untold_of("N/A", "1"), NI_UNTOLD_UNREADABLE);
    assert_int_equal(untold_of("", "1"), NI_UNTOLD_UNREADABLE);
    assert_int_equal(untold_of("1\\n2", "1"), NI_UNTOLD_UNREADABLE);
    assert_int_equal(untold_of("1000000000000000000000000000000000000000", "1"),
                     NI_UNTOLD_UNREADABLE);
    assert_int_equal(untold_of("EACCES", "1"), NI_UNTOLD_UNREADABLE);
    /* a VF without counters of the wire */
    assert_int_equal(untold_of("EINVAL", "EINVAL"), NI_UNTOLD_NO_COUNTER);
    assert_int_equal(untold_of("1", "EINVAL"), NI_UNTOLD_NO_COUNTER);
    /* 32 bits, which stop */
    assert_int_equal(untold_of("4294967295", "1"), NI_UNTOLD_FULL);
    assert_int_equal(untold_of("4294967294", "1"), NI_TOLD);
}

static void test_back(void **state)
{
    (void)state;
    begin("Ethernet");
    data(AT("3"), 90 * G, 0);
    data(AT("4"), 0, 0);
    look(1000);
    data(AT("3"), 100 * G, 0);
    data(AT("4"), 0, 0);
    look(2000);
    data(AT("3"), 4, 0); /* the driver was loaded anew */
    data(AT("4"), 0, 0);
    look(3000);
    data(AT("3"), 10 * G + 4, 0);
    data(AT("4"), 9000000 * G, 0); /* no port does that */
    look(4000);
    assert_true(seen.rail[0].out.back && seen.rail[1].out.back);
    assert_int_equal(seen.rail[0].out.sum, 20 * G);
    assert_int_equal(seen.rail[0].out.ms, 2000);
    assert_says(NI_CARRIED_BY_RAILS,
                "1 of 2 rails carries data, 10.0 GB/s out and 0 B/s in; mlx5_4/1 carries none");
    /* the device is gone: what was seen before stays */
    traffic("eth0", "1", 5, 5);
    look(5000);
    assert_true(seen.rail[0].out.gone);
    assert_int_equal(seen.last.rail[0].state.known, NI_ABSENT);
    assert_int_equal(ni_gain_rate(&seen.rail[0].out), 10 * G);
    /* it vanished before anything was seen */
    memset(&seen, 0, sizeof(seen));
    data(AT("3"), 4, 0);
    data(AT("4"), 4, 0);
    look(1000);
    data(AT("4"), 4, 0);
    look(2000);
    assert_int_equal(ni_rail_untold(&seen, &pod.inv, 0), NI_UNTOLD_LOST);
    assert_int_equal(ni_rail_untold(&seen, &pod.inv, 1), NI_TOLD);
}

/* A rate of a part of the time says nothing of all of it. */
static void test_rail_lost(void **state)
{
    (void)state;
    begin("Ethernet");
    for (int i = 0; i < 11; i++) {
        if (i < 3)
            data(AT("3"), i * G / 10, 0);
        data(AT("4"), 0, 0);
        look(1000 + i * 200);
    }
    assert_int_equal(ni_rail_untold(&seen, &pod.inv, 0), NI_UNTOLD_LOST);
    assert_says(
        NI_CARRIER_UNKNOWN,
        "it cannot be told whether rails carry data, mlx5_3/1: its counters were missing at "
        "the end, or were missing or began anew for most of the time");
    /* nor does that of one which came late */
    memset(&seen, 0, sizeof(seen));
    for (int i = 0; i < 11; i++) {
        if (i > 7)
            data(AT("3"), i * G / 10, 0);
        data(AT("4"), 0, 0);
        look(1000 + i * 200);
    }
    assert_int_equal(ni_rail_untold(&seen, &pod.inv, 0), NI_UNTOLD_LOST);
    assert_int_equal(ni_watch_judge(&seen, &pod.inv).carrying, 0);
    /* a short gap does no harm */
    memset(&seen, 0, sizeof(seen));
    for (int i = 0; i < 11; i++) {
        if (i != 5)
            data(AT("3"), i * G / 10, 0);
        data(AT("4"), 0, 0);
        look(1000 + i * 200);
    }
    assert_says(NI_CARRIED_BY_RAILS,
                "1 of 2 rails carries data, 500 MB/s out and 0 B/s in; mlx5_4/1 carries none");
}

/* Somebody sets the counters to zero again and again. */
static void test_reset_often(void **state)
{
    static const int counted[] = {9000, 4, 3, 2, 1, 0, 400};

    (void)state;
    begin("Ethernet");
    for (unsigned i = 0; i < NI_COUNT(counted); i++) {
        data(AT("3"), counted[i] * 4LL, counted[i] * 4LL);
        data(AT("4"), 0, 0);
        look(1000 + i * 1000);
    }
    assert_int_equal(ni_rail_untold(&seen, &pod.inv, 0), NI_UNTOLD_LOST);
    assert_int_equal(ni_watch_judge(&seen, &pod.inv).by, NI_CARRIER_UNKNOWN);
}

static void other(const char *out, const char *in, enum ni_byte_source source)
{
    begin("Ethernet");
    for (int i = 0; i < 2; i++) {
        line("f %s/hw_counters/%s %d", AT("3"), out, 5 + i * 2000000000);
        line("f %s/hw_counters/%s %d", AT("3"), in, 6 + i * 1000000000);
        data(AT("4"), 0, 0);
        look(1000 + i * 1000);
    }
    assert_int_equal(seen.last.rail[0].source, source);
    assert_int_equal(ni_gain_rate(&seen.rail[0].out), 2 * G);
    assert_int_equal(ni_gain_rate(&seen.rail[0].in), G);
}

static void test_drivers(void **state)
{
    (void)state;
    other("tx_bytes", "rx_bytes", NI_BYTES_HW);
    other("tx_rdma_ucast_bytes", "rx_rdma_ucast_bytes", NI_BYTES_UCAST);
    other("ip4OutOctets", "ip4InOctets", NI_BYTES_IP);
    other("ip6OutOctets", "ip6InOctets", NI_BYTES_IP);
}

static void test_troubles(void **state)
{
    (void)state;
    begin("Ethernet");
    for (int i = 0; i < 2; i++) {
        data(AT("3"), i * 2 * G, 0);
        data(AT("4"), i * 2 * G, 0);
        line("f %s/hw_counters/packet_seq_err %d", AT("3"), 7 + i * 12);
        line("f %s/hw_counters/out_of_sequence %d", AT("4"), 3 + i);
        line("f %s/hw_counters/local_ack_timeout_err x", AT("4"));
        line("f %s/gids/3 " V4("0a00:0105"), AT("3"));
        line("f %s/gids/0 fe80:0000:0000:0000:0000:00ff:fe00:0001", AT("3"));
        line("e %s/gids/1 EINVAL", AT("3"));
        line("f %s/gids/2 " EMPTY_GID, AT("3"));
        look(1000 + i * 1000);
    }
    assert_int_equal(ni_rail_trouble(&seen, 0, NI_TROUBLE_RESENT), 12);
    assert_says(NI_CARRIED_BY_RAILS,
                "2 of 2 rails carry data, 4.00 GB/s out and 0 B/s in; 12 retransmissions; 1 error");
    assert_int_equal(seen.last.rail[0].n_gid, 2);
    /* the address went away, and came back: it was away all the same */
    for (int i = 2; i < 4; i++) {
        data(AT("3"), i * 2 * G, 0);
        data(AT("4"), i * 2 * G, 0);
        line("f %s/gids/0 fe80:0000:0000:0000:0000:00ff:fe00:0001", AT("3"));
        line("f %s/gids/1 " V4("0a00:0106"), AT("3"));
        if (i == 3)
            line("f %s/gids/2 " EMPTY_GID "\nf %s/gids/3 " V4("0a00:0105"), AT("3"), AT("3"));
        look(1000 + i * 1000);
    }
    assert_int_equal(seen.n_change, 2);
    assert_int_equal(seen.change[0].was.index, 3);
    assert_int_equal(seen.change[1].is.index, 1);
    assert_says(
        NI_CARRIED_BY_RAILS,
        "2 of 2 rails carry data, 4.00 GB/s out and 0 B/s in; 12 retransmissions; 1 error; GID 3 "
        "of mlx5_3/1 and 1 other changed");
}

/* The counters of InfiniBand's ports stop at their most. */
static void test_full_troubles(void **state)
{
    (void)state;
    begin("Ethernet");
    for (int i = 0; i < 3; i++) {
        data(AT("3"), i * 2 * G, 0);
        data(AT("4"), i * 2 * G, 0);
        line("f %s/counters/symbol_error 65535", AT("3"));
        line("f %s/counters/link_downed %d", AT("3"), i == 0 ? 250 : 255);
        line("f %s/counters/local_link_integrity_errors 15", AT("3"));
        line("f %s/counters/excessive_buffer_overrun_errors 14", AT("3"));
        look(1000 + i * 1000);
    }
    assert_int_equal(seen.rail[0].counter[9].ms, 0);   /* symbol_error */
    assert_int_equal(seen.rail[0].counter[11].sum, 5); /* it grew until it was full */
    assert_int_equal(seen.rail[0].counter[11].ms, 1000);
    assert_int_equal(seen.rail[0].counter[13].ms, 0);
    assert_int_equal(seen.rail[0].counter[14].ms, 2000);
}

/* A row that does not parse is no change. */
static void test_gid_unreadable(void **state)
{
    (void)state;
    begin("Ethernet");
    for (int i = 0; i < 2; i++) {
        data(AT("3"), 0, 0);
        data(AT("4"), 0, 0);
        line("f %s/gids/0 %s", AT("3"), i == 0 ? V4("0a00:0105") : "hostile");
        look(1000 + i * 1000);
    }
    assert_int_equal(seen.last.rail[0].gids_known, NI_BAD);
    assert_int_equal(seen.n_change, 0);
}

static void test_gid_bound(void **state)
{
    (void)state;
    begin("Ethernet");
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < NI_WATCHED_GIDS + 20; k++)
            line("f %s/gids/%d 0000:0000:0000:0000:0000:ffff:0a00:%04x", AT("3"), k,
                 (unsigned)(k == NI_WATCHED_GIDS + 1 ? i : k));
        look(1000 + i * 1000);
    }
    assert_int_equal(seen.last.rail[0].n_gid, NI_WATCHED_GIDS);
    assert_true(seen.last.rail[0].gids_cut);
    assert_int_equal(seen.n_change, 0); /* it is beyond what is watched */
    /* all others change: as many are kept as there is room for */
    for (int k = 0; k < NI_WATCHED_GIDS + 20; k++)
        line("f %s/gids/%d 0000:0000:0000:0000:0000:ffff:0b00:%04x", AT("3"), k, (unsigned)k);
    for (int k = 0; k < 4; k++)
        line("f %s/gids/%d 0000:0000:0000:0000:0000:ffff:0b00:%04x", AT("4"), k, (unsigned)k);
    look(3000);
    assert_int_equal(seen.n_change, NI_MAX_GID_CHANGE);
}

static void test_many_interfaces(void **state)
{
    (void)state;
    begin("Ethernet");
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < NI_MAX_WATCHED_IF + 5; k++) {
            char name[16];

            snprintf(name, sizeof(name), "veth%d", k);
            traffic(name, "1", i * (k + 1) * 10000000LL, 0);
        }
        line("f sys/class/net/bonding_masters bond0");
        line("f sys/class/net/bad{name/statistics/tx_bytes %d", i * 2000000000);
        look(1000 + i * 1000);
    }
    assert_int_equal(seen.n_if, NI_MAX_WATCHED_IF);
    assert_true(seen.last.ifs_cut);
    /* one that is there later has no rate before its second look */
    memset(&seen, 0, sizeof(seen));
    traffic("eth0", "1", 0, 0);
    look(1000);
    traffic("eth0", "1", 0, 0);
    traffic("net9", "1", 70 * G, 0);
    look(2000);
    assert_int_equal(ni_gain_rate(&seen.netif[1].out), -1);
    traffic("net9", "1", 71 * G, 0);
    look(3000);
    assert_int_equal(ni_gain_rate(&seen.netif[1].out), G);
}

/* A host's network has the interfaces of all its pods. */
static void test_interfaces_of_host(void **state)
{
    (void)state;
    begin("Ethernet");
    for (int i = 0; i < 2; i++) {
        data(AT("3"), 0, 0);
        data(AT("4"), 0, 0);
        for (int k = 0; k < 70; k++) {
            char name[16];

            snprintf(name, sizeof(name), "cali%d", k);
            traffic(name, "1", 0, 0);
        }
        traffic("eth0", "1", i * G, 0);
        line("d sys/class/net/eth0/device");
        traffic("net1", "1", i * 2000000, 0); /* a rail's, and no device of its own is shown */
        look(1000 + i * 1000);
    }
    assert_string_equal(seen.netif[0].name, "net1");
    assert_says(NI_CARRIED_BY_SOCKETS, "eth0 carries 1.00 GB/s, no rail does");
    for (unsigned i = 0; i < seen.n_if; i++)
        seen.netif[i].out.sum = 0;
    assert_says(NI_CARRIER_UNKNOWN,
                "it cannot be told what carries data: no rail and no interface that was watched "
                "reaches 1 MB/s, but there are more than 64 interfaces");
}

static void test_interfaces_unlisted(void **state)
{
    (void)state;
    begin("Ethernet");
    for (int i = 0; i < 2; i++) {
        data(AT("3"), 0, 0);
        data(AT("4"), 0, 0);
        line("e sys/class/net EACCES");
        look(1000 + i * 1000);
    }
    assert_says(NI_CARRIER_UNKNOWN,
                "it cannot be told what carries data: no rail reaches 1 MB/s, but the interfaces "
                "could not be listed");
}

static void test_shared(void **state)
{
    (void)state;
    begin("Ethernet");
    for (int i = 0; i < 2; i++) {
        data(AT("3"), i * 2 * G, 0);
        data(AT("4"), i * 2 * G, 0);
        look(1000 + i * 1000);
    }
    assert_false(ni_rail_is_shared(&seen, &pod.inv, 0)); /* the device plugin gave it */
    pod.inv.allocation[pod.inv.hca[1].allocation].source = NI_SRC_UVERBS;
    assert_says(NI_CARRIED_BY_RAILS,
                "2 of 2 rails carry data, 4.00 GB/s out and 0 B/s in; other pods' "
                "data may be in it: mlx5_4/1 is a whole HCA");
    pod.inv.hca[1].is_vf = true;
    assert_false(ni_rail_is_shared(&seen, &pod.inv, 1));
    pod.inv.hca[1].is_vf = false;
    pod.inv.netns_mode = NI_NETNS_EXCLUSIVE;
    assert_false(ni_rail_is_shared(&seen, &pod.inv, 1));
}

/* An ephemeral container in the network of a pod with InfiniBand: sysfs shows the HCAs of all pods. */
static void test_strangers(void **state)
{
    struct ni_root root;

    (void)state;
    begin("InfiniBand");
    for (int i = 0; i < 2; i++) {
        line("d sys/class/infiniband/mlx5_0");
        line("d sys/class/infiniband/mlx5_1");
        traffic("eth0", "1", i * 2 * G, 0);
        open_tree(&root);
        now.at_ms = 1000 + i * 1000;
        ni_read_traffic(&root, &pod.inv, rails, 0, &now);
        ni_root_close(&root);
        ni_watch_add(&seen, &now);
        pod.t = ni_text_on(pod.text, sizeof(pod.text));
    }
    assert_says(
        NI_CARRIER_UNKNOWN,
        "it cannot be told whether rails carry data, for none of the 2 HCAs here is known to be "
        "this pod's: --hcas names them; eth0 carries 2.00 GB/s");
    seen.last.n_hca = 0;
    assert_says(NI_CARRIED_BY_SOCKETS, "eth0 carries 2.00 GB/s; there is no HCA");
}

static void test_rates(void **state)
{
    static const struct {
        int64_t rate;
        const char *text;
    } is[] = {{-1, "?"},
              {0, "0 B/s"},
              {999, "999 B/s"},
              {1000, "1.00 kB/s"},
              {9999, "9.99 kB/s"},
              {12345678, "12.3 MB/s"},
              {38 * G, "38.0 GB/s"},
              {INT64_MAX, "9223 PB/s"}};

    (void)state;
    for (unsigned i = 0; i < NI_COUNT(is); i++) {
        struct ni_text t = NI_TEXT(32);

        ni_put_rate(&t, is[i].rate);
        assert_string_equal(t.buf, is[i].text);
    }
}

static void test_half(void **state)
{
    struct ni_watch_verdict v;

    (void)state;
    begin("Ethernet");
    for (int i = 0; i < 2; i++) {
        data(AT("3"), i * 2 * G, 0);
        data(AT("4"), i * 2 * G, 0);
        traffic("eth0", "1", i * 3 * G, 0);
        look(1000 + i * 1000);
    }
    v = ni_watch_judge(&seen, &pod.inv);
    assert_false(ni_watch_is_half(&seen, &v));
    seen.netif[0].out.sum = 5 * G;
    v = ni_watch_judge(&seen, &pod.inv);
    assert_true(ni_watch_is_half(&seen, &v)); /* more than all rails */
    seen.netif[0].out.sum = 0;
    seen.rail[1].out.sum = 0;
    v = ni_watch_judge(&seen, &pod.inv);
    assert_true(ni_watch_is_half(&seen, &v)); /* a rail carries none */
}

static void test_which(void **state)
{
    static struct ni_plan plan;
    int rail[NI_MAX_PORT];

    (void)state;
    begin("Ethernet");
    assert_int_equal(pod.inv.n_port, 2);
    memset(&plan, 0, sizeof(plan));
    plan.port[1].chosen = true;
    assert_int_equal(ni_watch_rails(&pod.inv, &plan, rail), 1);
    assert_int_equal(rail[0], 1);
    plan.port[0].lost = true;
    assert_int_equal(ni_watch_rails(&pod.inv, &plan, rail), 2);
    /* none is chosen, as with NCCL_IB_DISABLE=1: all that the pod was given */
    memset(&plan, 0, sizeof(plan));
    assert_int_equal(ni_watch_rails(&pod.inv, &plan, rail), 2);
    assert_int_equal(rail[1], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rails),
        cmocka_unit_test(test_sockets),
        cmocka_unit_test(test_ipoib),
        cmocka_unit_test(test_ipoib_bounds),
        cmocka_unit_test(test_sockets_beside_rail),
        cmocka_unit_test(test_rail_lost),
        cmocka_unit_test(test_reset_often),
        cmocka_unit_test(test_interfaces_of_host),
        cmocka_unit_test(test_interfaces_unlisted),
        cmocka_unit_test(test_full_troubles),
        cmocka_unit_test(test_untold),
        cmocka_unit_test(test_odd_counters),
        cmocka_unit_test(test_back),
        cmocka_unit_test(test_drivers),
        cmocka_unit_test(test_troubles),
        cmocka_unit_test(test_gid_unreadable),
        cmocka_unit_test(test_gid_bound),
        cmocka_unit_test(test_many_interfaces),
        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_strangers),
        cmocka_unit_test(test_rates),
        cmocka_unit_test(test_half),
        cmocka_unit_test(test_which),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
