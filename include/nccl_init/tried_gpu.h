/* SPDX-License-Identifier: Apache-2.0 */
/* What the helper says of GPU memory: GPUs, and pairs of a GPU and an HCA's port, by their numbers in
   its arguments. Untrusted: the helper has run the image's code. */
#ifndef NCCL_INIT_TRIED_GPU_H
#define NCCL_INIT_TRIED_GPU_H

#include <stdbool.h>
#include <stdint.h>

#include "nccl_init/gpu.h"
#include "nccl_init/tried.h"

/* what is said of so many fits into NI_HELPER_WORDS */
enum { NI_MAX_PAIRS = 128 };

/* The steps of a pair, in their order. */
enum ni_gdr_step {
    NI_GDR_CONTEXT,   /* of the GPU: cuInit, the device, its primary context */
    NI_GDR_OPEN,      /* the HCA found, opened and asked */
    NI_GDR_PORT,      /* ACTIVE; its GID */
    NI_GDR_HOST,      /* host memory allocated and registered */
    NI_GDR_CONNECT,   /* queue pairs: two that talk to each other, one that talks to itself */
    NI_GDR_PORT_DATA, /* RDMA WRITE from host to host, compared */
    NI_GDR_ALLOCATE,  /* GPU memory */
    NI_GDR_EXPORT,    /* its DMA-BUF descriptor */
    NI_GDR_REGISTER,  /* with the HCA */
    NI_GDR_IN,        /* RDMA WRITE from host to GPU, flushed, compared */
    NI_GDR_READ,      /* RDMA READ from GPU to host, compared */
    NI_GDR_OUT,       /* RDMA WRITE from GPU to host, compared */
    NI_GDR_ACROSS,    /* RDMA WRITE from GPU memory to GPU memory, flushed, compared */
    NI_GDR_RATE,
    NI_GDR_DONE,
    NI_GDR_STEPS
};
const char *ni_gdr_step_text(enum ni_gdr_step step);

/* The way of the HCA to GPU memory. */
enum ni_gdr_way {
    NI_WAY_NONE,
    NI_WAY_DIRECT,  /* mlx5dv_reg_dmabuf_mr with Data Direct */
    NI_WAY_DMABUF,  /* ibv_reg_dmabuf_mr */
    NI_WAY_PEERMEM, /* ibv_reg_mr of the address, by nvidia-peermem */
    NI_WAYS
};
const char *ni_gdr_way_text(enum ni_gdr_way way);

/* How a pair, or a GPU, went. */
struct ni_tried_pair {
    bool begun, told;      /* begun, and not told: what it was at when the helper ended is `step` */
    enum ni_gdr_step step; /* the step that failed; NI_GDR_DONE */
    enum ni_gdr_way way;
    int err, wc, cuda, died; /* errno; status of a completion; CUresult; signal; 0: none */
    /* wrong bytes, twice: how many of how many, where, what is there (-1: nothing of it) */
    uint64_t wrong, of, first;
    int64_t holds;
    unsigned late; /* so many times bytes were right only when they were looked at again */
    uint64_t once; /* so many bytes stayed wrong, and were right when they were moved again */
    int64_t in_mbps, out_mbps, took_us;
    /* of NI_GDR_CONTEXT only */
    int64_t mode, driver; /* compute mode; cuDriverGetVersion */
};

struct ni_tried_gpus {
    bool whole;
    char version[32];
    char library[NI_TRIED_TEXT];  /* the file of libibverbs; "": it was not loaded */
    char unloaded[NI_TRIED_TEXT]; /* what was not loaded, in the loader's words */
    struct ni_tried_pair gpu[NI_MAX_GPU];
    struct ni_tried_pair pair[NI_MAX_PAIRS];
};

/* Reads the helper's words about n_gpu GPUs and n_pair pairs: lines "version V", "library PATH",
   "unloaded WORDS", "gpu N STEP KEY=VALUE...", "at N STEP", "pair N STEP KEY=VALUE...", "end". 0, or
   -EINVAL: they are none, and *ret is not to be used. A last line without its end is left out. */
int ni_read_tried_gpus(const char *words, unsigned n_gpu, unsigned n_pair,
                       struct ni_tried_gpus *ret);

#endif
