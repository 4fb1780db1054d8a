/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs of the pod, and what GPUDirect RDMA needs of the node. */
#ifndef NCCL_INIT_GPU_H
#define NCCL_INIT_GPU_H

#include <stdbool.h>
#include <stdint.h>

#include "nccl_init/known.h"
#include "nccl_init/pci.h"

enum {
    NI_MAX_GPU = 32 /* NVIDIA and AMD build 16 to a node */
};

struct ni_gpu {
    struct ni_bdf bdf;
    int minor; /* of /dev/nvidiaN, -1 */
    bool amd;
    /* "NVIDIA GB200", "GPU-..."; read for people and for NI_NEED_GPU_IDS; "": unknown */
    char model[64], uuid[48];
    char cpus[128]; /* the CPUs of its NUMA node, "0-55,112-167"; "": not read */
    struct ni_pci pci;
    struct ni_pcie link;                  /* for doctor */
    enum ni_known numa_memory, numa_cpus; /* ABSENT: its NUMA node has none; for doctor */
};

/* The CPU as /proc/cpuinfo of x86 calls it; "": unknown. */
struct ni_cpu {
    char vendor[16]; /* "GenuineIntel" */
    int64_t family, model;
};

/* The facts on which GPUDirect RDMA depends. */
struct ni_gdr {
    enum ni_known peermem; /* KNOWN: nvidia-peermem or nv_peer_mem is loaded */
    enum ni_known listed;  /* ABSENT: NCCL before 2.23.4 does not find it loaded */
    enum ni_known
        open_driver; /* KNOWN: the open GPU kernel modules; ABSENT: the closed ones or no driver */
    enum ni_known cpu; /* the kind of the CPU; ABSENT: it is not arm64 */
    bool c2c;          /* NVLink-C2C joins the CPU, Grace or Vera, and the GPU of a superchip */
    bool gb10;         /* DGX Spark and the like: one memory, no GPUDirect RDMA */
    bool gpus_lost;    /* fewer GPUs are listed than there are device nodes */
    /* the addresses do not show the order in which CUDA or HIP counts the GPUs; read with
       NI_NEED_GPU_IDS */
    bool gpus_unordered;
};

/* What was found when GPU memory was tried (--try=gpu); by GPU, as bits of the plan's chosen ports. All
   0: nothing was tried, or all was well. */
struct ni_gdr_tried {
    uint32_t wrong[NI_MAX_GPU]; /* wrong bytes came */
    uint32_t far[NI_MAX_GPU];   /* they did, and NCCL does not use the pair: beyond its level */
    uint32_t slow[NI_MAX_GPU];  /* below half of what is usual */
};

/* The drivers of the node, and their files in the container; for doctor. */
struct ni_drivers {
    enum ni_known nvidiactl, uvm;        /* dev/nvidiactl, dev/nvidia-uvm */
    enum ni_known ofed;                  /* sys/module/mlx_compat: MLNX_OFED or DOCA-OFED */
    enum ni_known peermem;               /* the module nvidia_peermem or nv_peer_mem */
    enum ni_known peer_api, peer_client; /* sys/kernel/mm/memory_peers; nv_mem below it */
    enum ni_known peer_mapping; /* PeerMappingOverride=1 among the NVIDIA driver's parameters */
    enum ni_known gdrdrv;       /* dev/gdrdrv: GDRCopy */
    enum ni_known imex; /* dev/nvidia-caps-imex-channels has one; read with NVLink-C2C only */
    char mlx5_version[48], nvidia_version[48]; /* "": unknown */
};

#endif
