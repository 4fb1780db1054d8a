/* SPDX-License-Identifier: Apache-2.0 */
/* The devices allocated to the pod: the sources that name them, and each device that one names. */
#ifndef NCCL_INIT_ALLOCATION_H
#define NCCL_INIT_ALLOCATION_H

#include <stdbool.h>

#include "nccl_init/base.h"
#include "nccl_init/pci.h"

/* One environment string has at most 128 KiB (MAX_ARG_STRLEN), about 580 devices of _INFO. */
enum { NI_MAX_ALLOCATION = 640 };

/* The sources of the pod's devices, in order of trust (docs/reference/rules.md, "Which devices are
   the pod's"): name, word in JSON, words for people. */
#define NI_SOURCES(X)                                                             \
    X(NONE, "none", "this pod was given no HCA")                                  \
    X(OPTION, "option", "HCAs named by --hcas")                                   \
    X(PCIDEVICE, "pcidevice", "HCAs given by PCIDEVICE_* (SR-IOV device plugin)") \
    X(SRIOVNET, "sriovnet", "HCAs given by SRIOVNETWORK_* (SR-IOV DRA driver)")   \
    X(DRA, "dra", "HCAs given by DRA device metadata")                            \
    X(NETSTATUS, "network-status", "HCAs given by network-status (Multus)")       \
    X(UVERBS, "uverbs", "HCAs found by their open device nodes")                  \
    X(NETDEV, "netdev", "HCAs with an interface in this network namespace")       \
    X(HOST, "host", "all HCAs of the host (host network)")

enum ni_source {
#define NI_SOURCE_MEMBER(name, word, text) NI_SRC_##name,
    NI_SOURCES(NI_SOURCE_MEMBER)
#undef NI_SOURCE_MEMBER
        NI_N_SOURCE
};

/* Returns true if the source names the allocated devices. Other sources see HCAs, which may be
   those of other pods. */
static inline bool ni_is_source_certain(enum ni_source source)
{
    return source >= NI_SRC_OPTION && source <= NI_SRC_NETSTATUS;
}

/* The kind of id by which a source names a device. */
enum ni_allocated_by {
    NI_BY_NOTHING, /* the id has no known form */
    NI_BY_BDF,
    NI_BY_AUX, /* a sub-function's auxiliary name */
    NI_BY_NAME /* of the RDMA device */
};

/* One device that a source names as the pod's. */
struct ni_allocation {
    enum ni_source source;
    enum ni_allocated_by by;
    bool not_rdma;        /* the NIC exists, but without an RDMA device: vfio, no RDMA driver */
    struct ni_bdf bdf;    /* NI_LAST_BDF: it has no address of its own */
    char id[NI_DEV_NAME]; /* as the kernel spells it: "0000:03:00.2", "mlx5_core.sf.4", "mlx5_6" */
    char from[96];        /* variable or file */
    char rdma_dev[NI_DEV_NAME]; /* the name of its RDMA device in the JSON; "": it has none */
    int hca;                    /* first HCA of the device; -1: none */
};

#endif
