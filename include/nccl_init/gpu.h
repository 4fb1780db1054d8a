/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs, and what GPUDirect RDMA needs. */
#ifndef NCCL_INIT_GPU_H
#define NCCL_INIT_GPU_H

#include "nccl_init/core.h"
#include "nccl_init/pci.h"

enum {
    NI_MAX_GPU = 32 /* NVIDIA and AMD build 16 to a node */
};

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

#endif
