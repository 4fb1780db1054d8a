/* SPDX-License-Identifier: Apache-2.0 */
/* An inventory and an environment drawn from numbers: random ones in a test of decide/, the bytes of an
   input in fuzzing. */
#ifndef NCCL_INIT_TEST_DECIDE_DRAW_H
#define NCCL_INIT_TEST_DECIDE_DRAW_H

#include "nccl_init/allocation.h"
#include "nccl_init/base.h"
#include "nccl_init/env.h"
#include "nccl_init/gpu.h"
#include "nccl_init/known.h"
#include "nccl_init/pci.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "rules_node.h"

/* The next number, of 0 to below - 1; who includes this says where it comes from. */
static unsigned next(unsigned below);

static inline bool often(void)
{
    return next(8) != 0;
}

static const char *const ips[] = {"10.0.1.6",    "10.0.1.7", "10.0.2.6", "192.168.9.9", "fe80::6",
                                  "169.254.1.1", "fd00::6",  "fd00::7",  "2001:db8::1", "10.9.9.9"};
static const char *const ifs[] = {"net1", "net2", "eth0", "ib0", ""};

static inline void random_port(int hca, unsigned num)
{
    struct ni_port *p = node_port(hca, num);
    p->state.v = often() ? NI_PORT_ACTIVE : next(6);
    p->state.known = often() ? NI_KNOWN : (enum ni_known)next(5);
    p->link = often() ? NI_LINK_ROCE : (enum ni_link)next(3);
    p->mbps = (struct ni_num){next(3) * 200000, often() ? NI_KNOWN : NI_DENIED};
    unsigned index = next(3);
    for (unsigned n = next(6); n > 0; n--, index += 1 + next(2))
        node_gid(index, ips[next(NI_COUNT(ips))], (enum ni_gid_type)(often() ? 2 : next(3)),
                 (enum ni_owner)(often() ? 1 : next(3)), ifs[next(NI_COUNT(ifs))]);
}

static inline void random_hca(unsigned i)
{
    char name[16];
    snprintf(name, sizeof(name), "mlx5_%u", i);
    int at = node_hca(name);
    struct ni_hca *h = &node.inv.hca[at];
    node.inv.n_port--; /* ports of our own */
    h->n_port = 0;
    h->allocation = often() ? h->allocation : -1;
    h->bdf.dev = (uint8_t)next(4);
    h->is_vf = next(2);
    h->pf = (struct ni_bdf){0, (uint8_t)next(2), 0, 0};
    h->place.merged = (enum ni_at)next(5);
    h->place.unmerged = (enum ni_at)next(5);
    if (often())
        node_chain(&h->pci, next(2) ? "0000:00:01.0 0000:01:00.0" : "0000:00:05.0", next(2));
    for (unsigned n = 1 + next(2); n > 0; n--)
        random_port(at, n);
}

static inline void random_env(void)
{
    static const char *const entries[] = {
        "NCCL_IB_HCA==mlx5_0",
        "NCCL_IB_HCA=mlx5_1",
        "NCCL_IB_HCA=",
        "NCCL_IB_HCA=^mlx5_0",
        "NCCL_IB_GID_INDEX=3",
        "NCCL_IB_GID_INDEX=",
        "NCCL_IB_GID_INDEX=-1",
        "NCCL_SOCKET_IFNAME=eth9",
        "NCCL_SOCKET_IFNAME=",
        "NCCL_NET_GDR_LEVEL=SYS",
        "NCCL_IB_DISABLE=0",
        "NCCL_IB_DISABLE=1",
        "NCCL_NET=IB",
        "NCCL_NET_PLUGIN=none",
        "NCCL_IB_ADDR_FAMILY=AF_INET6",
        "NCCL_IB_ADDR_RANGE=bogus",
        "NCCL_DMABUF_ENABLE=0",
        "NCCL_CROSS_NIC=1",
        "NCCL_IB_MERGE_VFS=1",
        "NCCL_IB_MERGE_NICS=1",
    };
    for (unsigned n = next(2) * next(4); n > 0; n--) {
        const char *e = entries[next(NI_COUNT(entries))];
        struct ni_span name;
        const char *value;
        char buf[NI_DEV_NAME];
        assert_true(ni_env_split(e, &name, &value));
        ni_copyn(buf, sizeof(buf), name.p, name.n);
        if (next(3))
            node_env(e);
        else
            node_conf(buf, value);
    }
}

static inline void random_libraries(void)
{
    static const char *const entries[] = {
        "LOCAL_RANK=0",
        "LOCAL_RANK=1",
        "SLURM_LOCALID=1",
        "SLURM_STEP_TASKS_PER_NODE=2(x2)",
        "CUDA_VISIBLE_DEVICES=1,0",
        "CUDA_VISIBLE_DEVICES=GPU-1",
        "UCX_NET_DEVICES=mlx5_0:1",
        "VLLM_GPU_NIC_PCIE_MAPPING=",
        "VLLM_GPU_NIC_PCIE_MAPPING=03:00.0=03:00.2",
        "VLLM_NIC_SELECTION_VARS=UCX_NET_DEVICES, NVSHMEM_HCA_LIST:1",
    };
    if (next(2) == 0)
        return;
    node.policy.targets = NI_FOR_NCCL | next(NI_FOR_ALL);
    for (unsigned n = next(3); n > 0; n--)
        node_env(entries[next(NI_COUNT(entries))]);
    for (unsigned g = 0; g < node.inv.n_gpu; g++)
        ni_copy(node.inv.gpu[g].uuid, sizeof(node.inv.gpu[g].uuid), next(2) ? "GPU-1" : "GPU-2");
    node.inv.gdr.gpus_unordered = !often();
}

static inline void random_node(void)
{
    node_reset(NULL);
    node.policy.mode = (enum ni_mode)(often() ? NI_MODE_AUTO : next(3));
    node.policy.gdr = often() || next(2) ? NI_DIST_UNKNOWN : NI_DIST_LOC;
    node.policy.sockets = often() ? NULL : next(2) ? "pod" : "net1,eth0,nix";
    for (unsigned i = 0; i < NI_COUNT(ifs); i++) {
        if (ifs[i][0] && often())
            node_netdev(ifs[i], often());
    }
    for (unsigned i = next(6); i > 0; i--)
        node_addr(ips[next(NI_COUNT(ips))], ifs[next(NI_COUNT(ifs))]);
    if (often())
        ni_copy(node.inv.net.default_if, NI_IF_NAME, ifs[next(4)]);
    for (unsigned i = 0, n = next(4); i < n; i++)
        random_hca(i);
    node.inv.source = (enum ni_source)(1 + next(NI_SRC_HOST));
    for (unsigned i = next(3); i > 0; i--) {
        struct ni_gpu *g = &node.inv.gpu[node.inv.n_gpu++];
        node_chain(&g->pci, next(2) ? "0000:00:01.0 0000:02:00.0" : "0000:00:02.0 0000:03:00.0",
                   next(2));
        g->bdf = g->pci.at[1];
    }
    node.inv.gdr.peermem = often() ? NI_KNOWN : NI_ABSENT;
    random_env();
    random_libraries();
}

#endif
