/* SPDX-License-Identifier: Apache-2.0 */
/* A pod of two rails, and looks at its counters. For the tests of watch. */
#ifndef NCCL_INIT_TEST_WATCH_NODE_H
#define NCCL_INIT_TEST_WATCH_NODE_H

#include "nccl_init/traffic.h"
#include "node/traffic.h"
#include "node_tree.h"
#include "sysroot/root.h"
#include "watch/judge.h"

/* The ports of the two functions of the pod, by the paths that the prober takes, without links. */
#define AT(n) "sys/bus/pci/devices/0000:0" n ":00.2/infiniband/mlx5_" n "/ports/1"

static struct ni_watch seen;
static struct ni_traffic now;
static const int rails[] = {0, 1};

static inline void clear(void)
{
    pod.t = ni_text_on(pod.text, sizeof(pod.text));
}

static inline void begin(const char *link)
{
    pod_reset(NULL);
    memset(&seen, 0, sizeof(seen));
    pod.needs = NI_NEED_OWN_NETDEVS | NI_NEED_NETNS_MODE;
    set_env("PCIDEVICE_X=0000:03:00.2,0000:04:00.2");
    line("f sys/module/ib_core/parameters/netns_mode Y");
    rdma("0000:03:00.2", "mlx5_3");
    active(link, "400 Gb/sec (4X NDR)");
    line("d sys/devices/pci0000:00/0000:00:01.0/0000:03:00.2/net/net1");
    rdma("0000:04:00.2", "mlx5_4");
    active(link, "400 Gb/sec (4X NDR)");
    gather();
    assert_int_equal(pod.inv.n_port, 2);
    clear();
}

/* Looks at what the test has written since begin, or the look before. */
static inline void look(int64_t at_ms)
{
    struct ni_root root;

    open_tree(&root);
    now.at_ms = at_ms;
    ni_read_traffic(&root, &pod.inv, rails, 2, &now);
    ni_root_close(&root);
    ni_watch_add(&seen, &now);
    clear();
}

static inline void data(const char *at, long long out, long long in)
{
    line("f %s/state 4: ACTIVE", at);
    line("f %s/counters/port_xmit_data %lld", at, out / 4);
    line("f %s/counters/port_rcv_data %lld", at, in / 4);
}

static inline void traffic(const char *name, const char *type, long long out, long long in)
{
    line("f sys/class/net/%s/type %s", name, type);
    line("f sys/class/net/%s/statistics/tx_bytes %lld", name, out);
    line("f sys/class/net/%s/statistics/rx_bytes %lld", name, in);
}

#define G 1000000000LL

#endif
