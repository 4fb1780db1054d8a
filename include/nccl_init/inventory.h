/* SPDX-License-Identifier: Apache-2.0 */
/* The inventory: machine and container as they were read. It flows from node/ to rules/ and the
   reports. Plain data, linked by index into fixed pools; -1 is "none". ni_gather and
   ni_gather_more (node/gather.h) fill it, and nothing else changes it. Each subject has a header
   of its own. */
#ifndef NCCL_INIT_INVENTORY_H
#define NCCL_INIT_INVENTORY_H

#include <stdbool.h>

#include "nccl_init/allocation.h"
#include "nccl_init/base.h"
#include "nccl_init/env.h"
#include "nccl_init/gpu.h"
#include "nccl_init/image.h"
#include "nccl_init/known.h"
#include "nccl_init/net.h"
#include "nccl_init/process.h"
#include "nccl_init/rdma.h"

enum {
    NI_MAX_CONF = 256,   /* settings of nccl.conf, rccl.conf and nvshmem.conf files */
    NI_CONF_VALUE = 1024 /* NCCL 2.30.7 misc/param.cc: name and value 1023 bytes */
};

/* One setting of nccl.conf, rccl.conf or nvshmem.conf. */
struct ni_conf_entry {
    char name[NI_DEV_NAME];
    char value[NI_CONF_VALUE];
    char file[NI_DEV_NAME + 64];
    bool overrides; /* of nvshmem.conf: it wins over the environment, and the last one counts */
};

/* Facts that are read only if a rule asks for them, because they decide nothing in most pods: bits
   of ni_plan.needs and of ni_inventory.read. */
enum ni_fact {
    NI_NEED_IPV6 = 1,        /* IPv6 addresses; the IPv6 default route if IPv4 has none */
    NI_NEED_OWN_NETDEVS = 2, /* the interface of each given function with an ACTIVE port */
    NI_NEED_DATA_DIRECT = 4, /* the HCAs' functions near the GPUs */
    NI_NEED_WHOLE_GIDS = 8,  /* whole GID tables; else only up to the first right entry */
    NI_NEED_UVERBS =
        16, /* the HCAs that open in the pod, allocated or not: allocations of NI_SRC_UVERBS */
    NI_NEED_UNMERGED = 32,        /* the place of each HCA for NCCL with NCCL_IB_MERGE_VFS=0 */
    NI_NEED_PFS = 64,             /* PFs of VFs */
    NI_NEED_RATES = 128,          /* rates of ports */
    NI_NEED_NUMA = 256,           /* NUMA nodes of GPUs and HCAs */
    NI_NEED_ALL_GDR = 512,        /* all ways of GPUDirect RDMA; else one is enough */
    NI_NEED_USERS_NETDEVS = 1024, /* interfaces that the user's NCCL_SOCKET_IFNAME matches */
    NI_NEED_ADDR_NETDEVS = 2048,  /* interfaces that have an address */
    NI_NEED_ROUTES6 = 4096,       /* IPv6 routes: of rails with IPv6, and for preflight */
    NI_NEED_GPU_IDS = 8192,       /* the number and the UUID by which a launcher names each GPU */
    NI_NEED_PHYSICAL = 16384,     /* for each interface with an address: it has a device, or not */
    NI_NEED_GUIDS = 32768,        /* GUIDs of InfiniBand ports that are not ACTIVE */
    NI_NEED_PKEYS = 65536,        /* P_Keys of InfiniBand ports, up to the first full member */
    NI_NEED_ALL_PKEYS = 131072,   /* whole P_Key tables */
    NI_NEED_NETNS_MODE = 262144,  /* netns_mode */
    NI_NEED_LOST = 524288,        /* of given ports that are not ACTIVE: GIDs, interfaces */
    NI_NEED_LINKS = 1048576,      /* PCIe links of GPUs, HCAs and the switches above them */
    NI_NEED_CPU = 2097152         /* the CPU's vendor, family and model */
};

/* Small members and the beginnings of pools lie close together: a page that is not touched costs
   nothing, and a page that is touched costs half as much as opening a file. */
struct ni_inventory {
    unsigned n_allocation, n_hca, n_port, n_gid, n_netdev, n_gpu, n_conf;
    unsigned n_unnamed;      /* given RDMA devices with a name that NCCL's lists cannot carry */
    unsigned read;           /* NI_NEED_*: the facts that were read beyond those for every pod */
    enum ni_source source;   /* the source that decided */
    bool source_unread;      /* no source decided: one was unreadable, and weaker ones not asked */
    char pending[96];        /* DRA metadata that its driver has not yet written; "" */
    bool uverbs_unread;      /* for a node of /dev/infiniband it is not known if it opens */
    enum ni_known topo_file; /* NCCL_TOPO_FILE; UNSET when the user names none */
    bool system_topo_file;   /* of nvidia-topologyd, which NCCL loads if the user names none */
    /* GPUs demanded: the first of their nodes that does not open, and its -errno; "" */
    char gpu_node[24];
    int gpu_node_err;
    int nccl_version; /* of the library that the user names, as ncclGetVersion: 23102; 0: unknown */
    const struct ni_image *image;  /* of node/image.c; NULL: nobody asked */
    bool for_doctor;               /* the facts for doctor were read, too */
    enum ni_netns_mode netns_mode; /* of RDMA devices */
    struct ni_gdr gdr;
    struct ni_gdr_tried gdr_tried;
    struct ni_cpu cpu;
    struct ni_drivers drivers;
    char numa_bare[64]; /* NUMA nodes with processors and no memory, "1, 3"; for doctor */
    struct ni_self self;
    struct ni_net net;
    struct ni_netdev netdev[NI_MAX_NETDEV];
    struct ni_port port[NI_MAX_PORT];
    struct ni_gpu gpu[NI_MAX_GPU]; /* in PCI order */
    /* the pod's first, in PCI order, then, if asked for, the others that are visible, by name */
    struct ni_hca hca[NI_MAX_HCA];
    struct ni_allocation allocation[NI_MAX_ALLOCATION];
    struct ni_conf_entry conf[NI_MAX_CONF];
    struct ni_gid gid[NI_MAX_GID];
};

/* "mlx5_6/1", the subject of findings about a port. */
struct ni_port_name {
    char text[NI_DEV_NAME + 8];
};

/* Finds the interface of that name, among those that were read; NULL. */
const struct ni_netdev *ni_find_netdev(const struct ni_inventory *inv, const char *name);

/* Returns true if network-status or DRA metadata say that the interface was allocated to the pod.
   */
bool ni_is_allocated_netdev(const struct ni_net *net, const char *name);

/* Returns true if the entry is RoCE v2, and routers carry its address. */
bool ni_gid_is_routable_v2(const struct ni_gid *g);
/* Returns true if no later entry can be better: RoCE v2, IPv4, an address of this pod for sure.
   NCCL's own search starts at index 0 as well and stays on the first such (2.30.7
   transport/net_ib/connect.cc ncclUpdateGidIndex). */
bool ni_gid_is_right(const struct ni_inventory *inv, const struct ni_gid *g);

/* Returns the number of HCAs that are the pod's, usable or not. */
unsigned ni_allocated_hcas(const struct ni_inventory *inv);

/* Returns true if GPU memory can be registered as a DMA-BUF: the open GPU kernel modules, and Linux
   5.12 (drivers/infiniband/core/umem_dmabuf.c). Returns false if either is not known. */
bool ni_has_dmabuf(const struct ni_inventory *inv);

/* Finds the user's own value: in the environment, else in the first nccl.conf that has it; NULL.
   *ret_file: that file, NULL for the environment and for none; ret_file may be NULL. A variable
   that is set but empty counts as set, and hides the conf files (NCCL 2.30.7 misc/param.cc). */
const char *ni_find_user_value(const struct ni_env *env, const struct ni_inventory *inv,
                               const char *name, const char **ret_file);

/* Finds the first entry of that name in the files that the environment wins over (nccl.conf); NULL.
   */
const struct ni_conf_entry *ni_find_conf(const struct ni_inventory *inv, const char *name);
/* Finds it in the files that win over the environment (nvshmem.conf); NULL. */
const struct ni_conf_entry *ni_find_overriding_conf(const struct ni_inventory *inv,
                                                    const char *name);

struct ni_port_name ni_port_name(const struct ni_inventory *inv, int port);
/* Returns true if the port is known to be ACTIVE. */
bool ni_is_active(const struct ni_port *port);
/* Returns true if the port is known not to be ACTIVE. */
bool ni_is_down(const struct ni_port *port);
/* Returns entry i among the entries that were read of the port's GID table. */
const struct ni_gid *ni_port_gid(const struct ni_inventory *inv, const struct ni_port *port,
                                 unsigned i);
/* Returns the entry with that index; NULL: it was not read. */
const struct ni_gid *ni_gid_at(const struct ni_inventory *inv, const struct ni_port *port,
                               unsigned index);

#endif
