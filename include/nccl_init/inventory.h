/* SPDX-License-Identifier: Apache-2.0 */
/* What flows from facts/ to decide/ and report/: the machine and the container as they were read.
   Plain data, linked by index into fixed pools; -1 is "none". Filled by ni_gather (facts.h), never
   changed afterwards. */
#ifndef NCCL_INIT_INVENTORY_H
#define NCCL_INIT_INVENTORY_H

#include "nccl_init/core.h"

enum {
    NI_MAX_CLAIM =
        640, /* one environment string is 128 KiB (MAX_ARG_STRLEN): about 580 devices of _INFO */
    NI_MAX_HCA = 64,     /* NCCL uses 32 (MAX_IB_DEVS) */
    NI_MAX_PORT = 128,   /* ports of all HCAs */
    NI_MAX_GID = 16384,  /* non-empty GID entries of all ports; a table completed is held twice */
    NI_MAX_NETDEV = 64,  /* interfaces looked at */
    NI_MAX_ROUTE = 1024, /* IPv4 routes of the main table */
    NI_MAX_ADDR =
        4096, /* addresses of this network namespace; kube-proxy IPVS binds one per service */
    NI_MAX_GPU = 32,     /* NVIDIA and AMD build 16 to a node */
    NI_MAX_CONF = 256,   /* settings of nccl.conf, rccl.conf and nvshmem.conf files */
    NI_MAX_DEPTH = 24,   /* PCI functions from the root to a device */
    NI_GID_TABLE = 4096, /* GID entries looked at per port; rxe has 1024, mlx5 256 */
    NI_CONF_VALUE = 1024 /* NCCL 2.30.7 misc/param.cc: name and value 1023 bytes */
};

/* ---- PCI ---- */

/* The functions from the host bridge down to the device, as the target of sys/bus/pci/devices/BDF
   lists them. */
struct ni_pci {
    enum ni_known known;
    uint32_t root_domain; /* "pci0000:00" */
    uint8_t root_bus;
    uint8_t depth;                  /* at[depth - 1] is the device itself */
    struct ni_bdf at[NI_MAX_DEPTH]; /* at[0] lies on the root bus */
    bool none;                      /* SoftRoCE: a device of no bus */
    char aux[NI_DEV_NAME]; /* below the function: a sub-function, "mlx5_core.sf.4"; else "" */
    struct ni_num numa;    /* -1 where the firmware tells none */
};

/* Whether NCCL sees a PCI switch above both: it climbs two functions at a time, so that a switch
   (upstream and downstream port) is one step and a root port none (NCCL 2.30.7 graph/xml.cc
   ncclTopoGetXmlFromSys). 0: none; 1: the same first switch; 2: only higher ones. */
int ni_pci_switch(const struct ni_pci *a, const struct ni_pci *b);

/* ---- which HCAs were given to the pod ---- */

/* Design 4.1, in order of trust. */
enum ni_source {
    NI_SRC_NONE,
    NI_SRC_OPTION,    /* --hcas=LIST */
    NI_SRC_PCIDEVICE, /* sriov-network-device-plugin */
    NI_SRC_SRIOVNET,  /* SRIOVNETWORK_*, dra-driver-sriov */
    NI_SRC_DRA,       /* device metadata files, KEP-5304 */
    NI_SRC_NETSTATUS, /* k8s.v1.cni.cncf.io/network-status of Multus */
    NI_SRC_UVERBS,    /* openable /dev/infiniband/uverbsN */
    NI_SRC_NETDEV,    /* HCA whose netdev is in this network namespace */
    NI_SRC_HOST       /* host network: all */
};

enum ni_claim_state {
    NI_CLAIM_BAD_ID,    /* neither a PCI address nor an auxiliary name */
    NI_CLAIM_NO_DEVICE, /* not in sysfs */
    NI_CLAIM_NOT_RDMA,  /* there, but without infiniband/: accelerator, vfio, no RDMA driver */
    NI_CLAIM_UNREAD,    /* there, but sysfs does not tell what it is */
    NI_CLAIM_OK
};

/* One device id that somebody gave the pod. */
struct ni_claim {
    enum ni_source source;
    enum ni_claim_state state;
    char id[NI_DEV_NAME];       /* "0000:03:00.2", "mlx5_core.sf.4" */
    char from[96];              /* variable or file */
    char rdma_dev[NI_DEV_NAME]; /* what the JSON calls it, "" when it does not */
    int hca;                    /* first HCA of the device, -1 */
};

/* ---- RDMA ---- */

enum ni_link { NI_LINK_UNKNOWN, NI_LINK_IB, NI_LINK_ROCE };

/* enum ib_port_state, include/rdma/ib_verbs.h */
enum ni_port_state {
    NI_PORT_NOP,
    NI_PORT_DOWN,
    NI_PORT_INIT,
    NI_PORT_ARMED,
    NI_PORT_ACTIVE,
    NI_PORT_ACTIVE_DEFER
};

/* "ACTIVE"; NULL: a number that IB does not define. */
const char *ni_port_state_text(int64_t state);

enum ni_gid_type { NI_GID_UNREAD, NI_GID_V1, NI_GID_V2 };

/* Whether an entry of the table belongs to this network namespace. */
enum ni_own { NI_OWN_UNKNOWN, NI_OWN_OURS, NI_OWN_FOREIGN };

/* One non-empty entry of ports/P/gids. */
struct ni_gid {
    uint8_t ip[NI_GID_BYTES];
    uint16_t index;
    enum ni_gid_type type;
    enum ni_own own;
    char ndev[NI_IF_NAME]; /* name only: the kernel does not say of which namespace */
};

struct ni_port {
    int hca;
    unsigned num; /* 1.. */
    struct ni_num state;
    enum ni_link link;
    struct ni_num mbps; /* of `rate` */
    int first_gid;      /* consecutive in the pool, ascending index */
    unsigned n_gid;
    /* false: reading stopped at the first GID that is right (facts.h struct ni_ask) */
    bool gids_complete;
    bool gids_lost;     /* an entry could not be read */
    unsigned gids_read; /* entries looked at, empty ones included */
};

/* NCCL does not read `physfn`: it takes the HCA's place on the PCI tree from its path with the
   function digit, and by default the device digits too, set to 0 (NCCL 2.30.7
   transport/net_ib/init.cc ncclIbGetPciPath). What is at those addresses? Of a sub-function NCCL
   makes `mlx5_core.00.0`, no PCI device; SoftRoCE has no path: NOTHING. */
enum ni_at { NI_AT_UNREAD, NI_AT_ITSELF, NI_AT_NIC, NI_AT_OTHER, NI_AT_NOTHING };

struct ni_nccl_place {
    enum ni_at merged;   /* bus:00.0, with NCCL_IB_MERGE_VFS=1 */
    enum ni_at unmerged; /* bus:dev.0, with 0; read only where that value may come to be in force */
};

/* /dev/infiniband/uverbsN, which libibverbs opens; N need not be that of mlx5_N. */
struct ni_uverbs {
    char name[24];       /* "uverbs6", as the class calls it */
    enum ni_known known; /* of that name; ABSENT: the kernel made none. UNSET: not looked at */
    int err;             /* of opening it: 0 or -errno */
};

struct ni_hca {
    char name[NI_DEV_NAME];
    bool has_bdf; /* false: SoftRoCE, or a sub-function whose parent could not be read */
    struct ni_bdf bdf;
    char aux[NI_DEV_NAME]; /* "mlx5_core.sf.4" for a sub-function, whose bdf is its parent's */
    bool is_vf;
    struct ni_bdf pf; /* if is_vf */
    uint16_t kind;    /* PCI device id of the PF, or of the function itself; 0: not read */
    struct ni_nccl_place place;
    struct ni_uverbs uverbs; /* of the pod's HCAs */
    bool efa; /* Amazon's: its port has no link layer of NCCL's, the OFI plugin drives it */
    struct ni_pci pci;
    int claim; /* -1: visible, not the pod's */
    int first_port;
    unsigned n_port;
    int netdev; /* the function's own netdev in this namespace, -1 */
};

/* ---- network ---- */

struct ni_netdev {
    char name[NI_IF_NAME];
    enum ni_known known; /* ABSENT: not in this namespace */
    /* operstate up or unknown: what IFF_RUNNING is made of (net/core/dev.c dev_get_flags) */
    bool running;
    struct ni_num mtu;
    struct ni_num ifindex; /* of those that the user's NCCL_SOCKET_IFNAME means */
};

struct ni_addr {
    uint8_t ip[NI_GID_BYTES];
    char ifname[NI_IF_NAME]; /* "" where the route table does not tell */
};

/* One IPv4 route of the main table; the others are not in /proc. */
struct ni_route {
    uint8_t dest[NI_GID_BYTES];
    uint8_t bits; /* 0..32 */
    bool gateway; /* goes through a router */
    char ifname[NI_IF_NAME];
};

struct ni_net {
    enum ni_known v4_known, v6_known, route_known;
    unsigned n_addr, n_route;
    char default_if[NI_IF_NAME];      /* of the IPv4, else the IPv6 default route; "" */
    struct ni_addr addr[NI_MAX_ADDR]; /* loopback left out */
    struct ni_route route[NI_MAX_ROUTE];
};

/* ---- GPUs and what GPUDirect RDMA needs ---- */

struct ni_gpu {
    struct ni_bdf bdf;
    int minor; /* of /dev/nvidiaN, -1 */
    bool amd;
    char cpus[128]; /* "0-55,112-167": those of its NUMA node; "" where not read */
    struct ni_pci pci;
};

struct ni_gdr {
    enum ni_known peermem; /* KNOWN: nvidia-peermem or nv_peer_mem is loaded */
    enum ni_known listed;  /* ABSENT: as NCCL before 2.23.4 looks for it, it is not */
    enum ni_known
        open_driver; /* KNOWN: the open GPU kernel modules; ABSENT: the closed ones or no driver */
    enum ni_known cpu; /* its kind; ABSENT: the kernel is not arm64's */
    bool c2c;          /* Grace, Vera: CPU and GPU share NVLink-C2C */
    bool gb10;         /* DGX Spark and its kin: one memory, no GPUDirect RDMA */
    bool gpus_lost;    /* fewer GPUs are listed than there are device nodes */
};

/* ---- the process ---- */

#define NI_UNLIMITED INT64_MAX

/* "unlimited", "64 KiB"; the largest unit that leaves no fraction. */
void ni_put_bytes(struct ni_text *t, int64_t bytes);

/* Whether capabilities count: the kernel asks for them in the initial user namespace. */
enum ni_userns { NI_USERNS_UNKNOWN, NI_USERNS_INITIAL, NI_USERNS_OWN };

struct ni_self {
    struct ni_num memlock_soft, memlock_hard; /* bytes, NI_UNLIMITED */
    struct ni_num nofile_soft, nofile_hard;   /* descriptors */
    enum ni_known caps_known;
    uint64_t cap_eff, cap_prm, cap_bnd, cap_inh, cap_amb;
    struct ni_num uid, real_uid;         /* effective, real */
    struct ni_num pid;                   /* in the process's own PID namespace */
    struct ni_num no_new_privs;          /* 0, 1 */
    struct ni_num seccomp;               /* 0 none, 1 strict, 2 filter */
    enum ni_userns user_namespace;       /* read only where the memlock limit is not unlimited */
    unsigned kernel_major, kernel_minor; /* 0.0: unknown */
};

/* ---- what only doctor asks for: facts that no variable can mend ---- */

/* The IOMMU group of a function. */
struct ni_iommu {
    struct ni_num group;      /* ABSENT: no IOMMU is in the way */
    enum ni_known type_known; /* of `type` */
    char type[16]; /* "identity", "DMA", "DMA-FQ" (drivers/iommu/iommu.c iommu_group_show_type) */
};

/* A PCIe link: lanes, and thousandths of GT/s; now, and the most that both its ends can. */
enum { NI_PCIE_WIDTH, NI_PCIE_SPEED, NI_PCIE_N };
struct ni_pcie {
    struct ni_num now[NI_PCIE_N], most[NI_PCIE_N];
};

/* A counter of a port that tells of trouble; the drivers count from when they are loaded. */
struct ni_counter {
    const char *file; /* below ports/P */
    bool link;        /* of the wire, so a VF's are its PF's; else what a function saw go wrong */
    int64_t least;    /* fewer mean nothing */
};
enum { NI_N_COUNTER = 16 };
extern const struct ni_counter ni_counters[NI_N_COUNTER];

/* By HCA of the inventory; read for the pod's only. */
struct ni_health_hca {
    enum ni_known netdev_known; /* of the function's own netdev; ABSENT: none in this namespace */
    char netdev[NI_IF_NAME];
    struct ni_num mtu;     /* of that netdev */
    char fw[32], type[32]; /* fw_ver, hca_type; "" where unknown */
    struct ni_pcie link;   /* of a VF: its PF's */
    struct ni_iommu iommu;
    struct ni_num handles, objects; /* RDMA cgroup: hca_handle, hca_object; NI_UNLIMITED for max */
};

enum ni_netns_mode { NI_NETNS_UNKNOWN, NI_NETNS_SHARED, NI_NETNS_EXCLUSIVE };

struct ni_health {
    bool asked;
    struct ni_health_hca hca[NI_MAX_HCA];
    struct ni_num phys_state[NI_MAX_PORT]; /* enum ib_port_phys_state; the pod's ports */
    struct ni_num counter[NI_MAX_PORT][NI_N_COUNTER];
    struct ni_num traffic_class[NI_MAX_PORT]; /* that the driver forces on queue pairs */
    struct ni_num uptime;                     /* seconds since boot */
    struct ni_iommu gpu[NI_MAX_GPU];
    struct ni_pcie gpu_link[NI_MAX_GPU];
    enum ni_known cmdline_known;
    char cmdline[160];     /* what of the kernel command line is about the IOMMU; "" for nothing */
    enum ni_known rdma_cm; /* dev/infiniband/rdma_cm */
    enum ni_known nvidiactl, uvm;        /* dev/nvidiactl, dev/nvidia-uvm */
    enum ni_netns_mode netns_mode;       /* of RDMA devices */
    enum ni_known visible;               /* sys/class/infiniband; KNOWN: at least one device */
    enum ni_known ofed;                  /* sys/module/mlx_compat: MLNX_OFED or DOCA-OFED */
    enum ni_known nvidia;                /* the NVIDIA driver */
    enum ni_known peermem_module;        /* nvidia_peermem or nv_peer_mem */
    enum ni_known peer_api, peer_client; /* sys/kernel/mm/memory_peers; nv_mem below it */
    enum ni_known peer_mapping; /* PeerMappingOverride=1 among the NVIDIA driver's parameters */
    enum ni_known gdrdrv;       /* dev/gdrdrv: GDRCopy */
    enum ni_known imex; /* dev/nvidia-caps-imex-channels has one; read with NVLink-C2C only */
    char gpu_model[48]; /* "NVIDIA GB200"; read with NVLink-C2C only */
    char mlx5_version[48], nvidia_version[48], kernel[72]; /* "" where unknown */
    /* bytes of /dev/shm; NI_UNLIMITED: mounted without a size; ABSENT: no mount; UNSET: not told */
    struct ni_num shm;
    enum ni_known nosuid;     /* KNOWN: this program lies on a nosuid mount; ABSENT: it does not */
    enum ni_known host_known; /* KNOWN: /etc/hosts has this host's name; ABSENT: it has not */
    char host_ip[NI_IP_TEXT]; /* ... at that address */
    enum ni_known init_known;
    char init[16]; /* the command name of PID 1 */
};

/* ---- nccl.conf, rccl.conf, nvshmem.conf ---- */

struct ni_conf_entry {
    char name[NI_DEV_NAME];
    char value[NI_CONF_VALUE];
    char file[NI_DEV_NAME + 64];
    bool overrides; /* of nvshmem.conf: it wins over the environment, and the last one counts */
};

/* Counts, what there is one of, and the beginnings of pools lie close together: a page that is not
   touched costs nothing, and each one that is costs half as much as opening a file. */
struct ni_inventory {
    unsigned n_claim, n_hca, n_port, n_gid, n_netdev, n_gpu, n_conf;
    enum ni_source source;   /* which source decided */
    bool source_unread;      /* none did: one could not be read, and no weaker one was asked */
    enum ni_known topo_file; /* NCCL_TOPO_FILE; UNSET when the user names none */
    /* GPUs demanded: the first of their nodes that does not open, and its -errno; "" */
    char gpu_node[24];
    int gpu_node_err;
    /* an HCA that is not the pod's, though the user's NCCL_IB_HCA, a list without '=', takes it */
    char users_foreign_hca[NI_DEV_NAME];
    struct ni_gdr gdr;
    struct ni_self self;
    struct ni_net net;
    struct ni_netdev netdev[NI_MAX_NETDEV];
    struct ni_port port[NI_MAX_PORT];
    struct ni_gpu gpu[NI_MAX_GPU]; /* in PCI order */
    /* the pod's first, then, if asked for, the others that are visible; each in PCI order */
    struct ni_hca hca[NI_MAX_HCA];
    struct ni_claim claim[NI_MAX_CLAIM];
    struct ni_conf_entry conf[NI_MAX_CONF];
    struct ni_gid gid[NI_MAX_GID];
    struct ni_health health;
};

/* ---- looking things up; what is returned lies in the inventory or the environment ---- */

/* The interface of that name, among those looked at; NULL. */
const struct ni_netdev *ni_find_netdev(const struct ni_inventory *inv, const char *name);

/* How many of the HCAs are the pod's, usable or not. */
unsigned ni_given_hcas(const struct ni_inventory *inv);

/* Whether GPU memory can be registered as a DMA-BUF: the open GPU kernel modules, and Linux 5.12
   (drivers/infiniband/core/umem_dmabuf.c). false also where either is not known. */
bool ni_has_dmabuf(const struct ni_inventory *inv);

/* The user's own value: of the environment, else of the first nccl.conf that has it; NULL.
   *ret_file: that file, NULL for the environment and for none; ret_file may be NULL. Set but empty
   counts as set, and hides the conf files (NCCL 2.30.7 misc/param.cc). */
const char *ni_find_user_value(const struct ni_env *env, const struct ni_inventory *inv,
                               const char *name, const char **ret_file);

/* What of a file wins over the environment; NULL. */
const struct ni_conf_entry *ni_find_override(const struct ni_inventory *inv, const char *name);

#endif
