/* SPDX-License-Identifier: Apache-2.0 */
/* A pair of a GPU and an HCA's port: data from one to the other, and back. */
#ifndef NCCL_INIT_TRY_PAIR_H
#define NCCL_INIT_TRY_PAIR_H

#include <stdatomic.h>

#include "nccl_init/tried_gpu.h"
#include "rail/step.h"
#include "try/cuda.h"

/* What is the same for all pairs, but for `pcie`. */
struct ni_pair_order {
    int traffic_class, service_level, pkey_index;
    int move_ms;                  /* how long a rate is measured */
    bool dmabuf, direct, peermem; /* ways that NCCL may take */
    bool relaxed;                 /* relaxed ordering is asked for */
    bool pcie;             /* exports are to be mapped by PCIe (CUDA 12.8), not by NVLink-C2C */
    atomic_int *measuring; /* in shared memory: the process that measures a rate; 0: none */
};

typedef void ni_pair_at_fn(void *ctx, enum ni_gdr_step step);
typedef void ni_pair_end_fn(void *ctx, const struct ni_tried_pair *result);

/* Takes the steps of a pair, in the process of the GPU, whose context is current. `at` is told each
   step before it is taken, `end` how it went, before what the pair has is given back. */
void ni_pair_try(const struct ni_pair_order *order, const struct ni_cuda *cuda, int device,
                 const struct ni_rail *rail, ni_pair_at_fn *at, ni_pair_end_fn *end, void *ctx);

#endif
