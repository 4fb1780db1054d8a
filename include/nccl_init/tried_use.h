/* SPDX-License-Identifier: Apache-2.0 */
/* What the helper says of GPUs before one is tried: NVML's words. Untrusted: the helper has run the
   image's code. */
#ifndef NCCL_INIT_TRIED_USE_H
#define NCCL_INIT_TRIED_USE_H

#include <stdbool.h>
#include <stdint.h>

#include "nccl_init/gpu.h"
#include "nccl_init/text.h"
#include "nccl_init/tried.h"

/* -1: it could not be asked. */
struct ni_gpu_use {
    bool told;
    int64_t error;     /* NVML's, where it does not know the GPU; 0 */
    int64_t mode;      /* compute mode: 0 default, 2 prohibited, 3 exclusive process */
    int64_t mig;       /* 1: it is divided */
    int64_t processes; /* that compute on it */
    int64_t used_mib, free_mib;
};

struct ni_gpu_uses {
    bool whole;
    int64_t nvml;                 /* what its start returned; -1: it did not start */
    char unloaded[NI_TRIED_TEXT]; /* why it was not loaded, in the loader's words */
    struct ni_gpu_use gpu[NI_MAX_GPU];
};

/* Reads the helper's words about these GPUs: lines "version V", "unloaded WORDS", "nvml N", "gpu
   ADDRESS KEY=VALUE...", "end". 0; or -EINVAL: they are none, and *ret is not to be used. A last line
   without its end is left out. */
int ni_read_gpu_uses(const char *words, const struct ni_gpu *gpu, unsigned n,
                     struct ni_gpu_uses *ret);
/* Puts why the GPU is not to be tried; nothing: it may be. busy: also if others use it. need_mib: the
   memory that a trial takes. */
void ni_put_gpu_use(struct ni_text *t, const struct ni_gpu_uses *uses, unsigned gpu, bool busy,
                    int64_t need_mib);

#endif
