/* SPDX-License-Identifier: Apache-2.0 */
/* HCAs, their ports and GID tables. */
#ifndef NCCL_INIT_RDMA_H
#define NCCL_INIT_RDMA_H

#include <stdbool.h>
#include <stdint.h>

#include "nccl_init/base.h"
#include "nccl_init/known.h"
#include "nccl_init/pci.h"

enum {
    NI_MAX_HCA = 64,     /* NCCL uses 32 (MAX_IB_DEVS) */
    NI_MAX_PORT = 128,   /* ports of all HCAs */
    NI_MAX_GID = 16384,  /* non-empty GID entries of all ports */
    NI_GID_TABLE = 4096, /* GID entries looked at per port; rxe has 1024, mlx5 256 */
    NI_MAX_PKEY = 128    /* P_Keys of a port; mlx5 has 128 */
};

enum ni_link { NI_LINK_UNKNOWN, NI_LINK_IB, NI_LINK_ROCE };

/* Of a P_Key (IBTA 10.9.1): the bit of a full member, and the partition's number. */
enum { NI_PKEY_FULL = 0x8000, NI_PKEY_PARTITION = 0x7fff };

/* Numbers of enum ib_port_state, include/rdma/ib_verbs.h. */
enum { NI_PORT_DOWN = 1, NI_PORT_ACTIVE = 4 };

enum ni_gid_type { NI_GID_UNREAD, NI_GID_V1, NI_GID_V2 };

/* The owner of an entry of the table: this network namespace, another one, or unknown. */
enum ni_owner { NI_OWNER_UNKNOWN, NI_OWNER_POD, NI_OWNER_OTHER };

/* One non-empty entry of ports/P/gids. */
struct ni_gid {
    uint8_t ip[NI_GID_BYTES];
    uint16_t index;
    enum ni_gid_type type;
    enum ni_owner owner;
    char ndev[NI_IF_NAME]; /* name only: the kernel does not say of which namespace */
};

/* A counter of errors of a port. It begins when the driver is loaded. */
struct ni_counter {
    const char *file; /* below ports/P */
    bool link;        /* errors of the wire, a VF's are its PF's; false: errors of one function */
    int64_t least;    /* smaller numbers are normal */
};
enum { NI_N_COUNTER = 16 };

struct ni_port {
    int hca;
    unsigned num; /* 1.. */
    struct ni_num state;
    enum ni_link link;
    struct ni_num mbps; /* of `rate` */
    int first_gid;      /* consecutive in the pool, ascending index */
    unsigned n_gid;
    bool gids_lost;     /* an entry, or its type, could not be read */
    unsigned gids_read; /* entries looked at, empty ones included */
    bool gids_ended;    /* the table has no more */
    /* Only of InfiniBand ports, if asked for. */
    struct ni_num guid; /* the port's, of GID 0 */
    uint16_t pkey[NI_MAX_PKEY];
    unsigned n_pkey; /* entries that were read, from index 0 on; 0: not known */
    /* Only of allocated ports, for doctor. */
    struct ni_num phys_state; /* enum ib_port_phys_state, include/rdma/ib_verbs.h */
    struct ni_num counter[NI_N_COUNTER];
    struct ni_num traffic_class; /* that the driver forces on queue pairs; -1: none */
};

/* The device at the place on the PCI tree where NCCL looks for an HCA. NCCL does not read `physfn`:
   it takes the HCA's path and sets the function digit, and by default the device digits too, to 0
   (NCCL 2.30.7 transport/net_ib/init.cc ncclIbGetPciPath). NOTHING: no device has that address; of
   a sub-function NCCL makes `mlx5_core.00.0`, which is not a PCI device, and SoftRoCE has no path.
   */
enum ni_at { NI_AT_UNREAD, NI_AT_ITSELF, NI_AT_NIC, NI_AT_OTHER, NI_AT_NOTHING };

struct ni_nccl_place {
    enum ni_at merged;   /* bus:00.0, with NCCL_IB_MERGE_VFS=1 */
    enum ni_at unmerged; /* bus:dev.0, with 0; read only if that value may be in force */
};

/* /dev/infiniband/uverbsN, which libibverbs opens; N need not be that of mlx5_N. */
struct ni_uverbs {
    char name[24];       /* "uverbs6", as the class calls it */
    enum ni_known known; /* of that name; ABSENT: the kernel made none */
    int err;             /* the result of opening it: 0 or -errno */
};

struct ni_hca {
    char name[NI_DEV_NAME];
    char dir[176];     /* its folder below the root, below its function's if it was found there */
    char function[96]; /* the folder of its PCI or auxiliary function; "" for SoftRoCE */
    bool has_bdf;      /* false: SoftRoCE, or a sub-function whose parent could not be read */
    struct ni_bdf bdf;
    char aux[NI_DEV_NAME]; /* "mlx5_core.sf.4" for a sub-function, whose bdf is its parent's */
    bool is_vf;
    struct ni_bdf pf; /* if is_vf */
    uint16_t kind;    /* PCI device id of the PF, or of the function itself; 0: not read */
    struct ni_nccl_place place;
    struct ni_uverbs uverbs; /* of the pod's HCAs */
    struct ni_num guid;      /* of the node, if asked for */
    bool efa; /* Amazon's: NCCL does not know its link layer, and the OFI plugin drives it */
    struct ni_pci pci;
    /* its Data Direct function (node/data_direct.c), if asked for; ABSENT: it has none; DENIED: it
       may have one, but its address is not known */
    struct ni_pci data_direct;
    int allocation; /* -1: visible, not the pod's */
    int first_port;
    unsigned n_port;
    int netdev;                 /* the function's own netdev in this namespace; -1: none */
    enum ni_known netdev_known; /* ABSENT: it has none in this namespace */
    /* Only of allocated HCAs, for doctor. */
    char fw[32], type[32];    /* fw_ver, hca_type; "": unknown */
    char driver[NI_DEV_NAME]; /* of its function: "mlx5_core"; "": unknown */
    struct ni_pcie link;      /* of a VF: its PF's */
    struct ni_iommu iommu;
    struct ni_num handles, objects; /* RDMA cgroup: hca_handle, hca_object; NI_UNLIMITED for max */
};

/* In exclusive mode an RDMA device is seen in one network namespace only. */
enum ni_netns_mode { NI_NETNS_UNKNOWN, NI_NETNS_SHARED, NI_NETNS_EXCLUSIVE };

/* Returns true if the HCA is allocated to the pod; others are only visible. */
static inline bool ni_is_allocated(const struct ni_hca *h)
{
    return h->allocation >= 0;
}

/* Returns true if the IOMMU translates the addresses of the HCA: "DMA" and "DMA-FQ" do, "identity" does
   not, and without a group there is no IOMMU (drivers/iommu/iommu.c iommu_group_show_type). */
bool ni_is_translated(const struct ni_hca *h);

/* Returns the word of a state, "ACTIVE"; NULL: not known, or a number that IB does not define. */
const char *ni_port_state_text(struct ni_num state);
extern const struct ni_counter ni_counters[NI_N_COUNTER];

#endif
