/* SPDX-License-Identifier: Apache-2.0 */
/* What only doctor asks for: facts that no variable can mend. */
#ifndef NCCL_INIT_HEALTH_H
#define NCCL_INIT_HEALTH_H

#include "nccl_init/core.h"
#include "nccl_init/gpu.h"
#include "nccl_init/net.h"
#include "nccl_init/rdma.h"

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

#endif
