/* SPDX-License-Identifier: Apache-2.0 */
/* Which HCAs were given to the pod: sources, and what each claims. */
#ifndef NCCL_INIT_ALLOCATION_H
#define NCCL_INIT_ALLOCATION_H

#include <stdbool.h>

#include "nccl_init/base.h"
#include "nccl_init/pci.h"

/* One environment string is 128 KiB (MAX_ARG_STRLEN): about 580 devices of _INFO. */
enum { NI_MAX_ALLOCATION = 640 };

/* In order of trust (docs/usage.md). */
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

/* Whether the source says what was given to the pod. Else it only sees HCAs, and those of other pods
   may be among them. */
static inline bool ni_is_source_certain(enum ni_source source)
{
    return source >= NI_SRC_OPTION && source <= NI_SRC_NETSTATUS;
}

/* What the source calls a device by. */
enum ni_allocated_by {
    NI_BY_NOTHING, /* that is known */
    NI_BY_BDF,
    NI_BY_AUX, /* a sub-function's auxiliary name */
    NI_BY_NAME /* of the RDMA device */
};

/* One device id that somebody gave the pod. */
struct ni_allocation {
    enum ni_source source;
    enum ni_allocated_by by;
    bool not_rdma;        /* a NIC that is there, without infiniband/: vfio, no RDMA driver */
    struct ni_bdf bdf;    /* NI_LAST_BDF: it has none of its own */
    char id[NI_DEV_NAME]; /* as the kernel spells it: "0000:03:00.2", "mlx5_core.sf.4", "mlx5_6" */
    char from[96];        /* variable or file */
    char rdma_dev[NI_DEV_NAME]; /* what the JSON calls it, "" when it does not */
    int hca;                    /* first HCA of the device, -1 */
};

#endif
