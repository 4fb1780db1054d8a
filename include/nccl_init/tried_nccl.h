/* SPDX-License-Identifier: Apache-2.0 */
/* What the helper says of the image's NCCL: two ranks on each GPU, each with its steps. Untrusted: the
   helper has run the image's code. */
#ifndef NCCL_INIT_TRIED_NCCL_H
#define NCCL_INIT_TRIED_NCCL_H

#include <stdbool.h>
#include <stdint.h>

#include "nccl_init/gpu.h"
#include "nccl_init/text.h"
#include "nccl_init/tried.h"

/* The steps of a rank, in their order. */
enum ni_nccl_step {
    NI_NCCL_LOAD,    /* dlopen, ncclGetVersion */
    NI_NCCL_GPU,     /* libcuda, cuInit, the GPU's primary context */
    NI_NCCL_MEMORY,  /* a stream, 32 MiB of GPU memory */
    NI_NCCL_ID,      /* ncclGetUniqueId, which goes to the other rank */
    NI_NCCL_JOIN,    /* ncclCommInitRank */
    NI_NCCL_CONNECT, /* the first ncclAllReduce of 16 MiB */
    NI_NCCL_SUM,     /* the second one */
    NI_NCCL_COMPARE, /* its sums */
    NI_NCCL_LEAVE,   /* ncclCommDestroy */
    NI_NCCL_STEPS
};

enum { NI_NCCL_RANKS = 2, NI_NCCL_BYTES = 16 << 20 };

struct ni_nccl_rank {
    unsigned done; /* steps that are done */
    bool begun;    /* the next one has begun */
    bool failed;   /* ... and failed: `of` returned err */
    bool stopped;  /* it was killed: it had not ended in time, or after the other rank had failed */
    int err, died; /* died: by that signal; 0 */
    char of[32];   /* "cuInit" */
    uint64_t wrong, first; /* sums that are wrong, and the offset of the first in bytes */
    int64_t us[NI_NCCL_STEPS];
};

struct ni_tried_nccl {
    bool whole;
    int version;                  /* ncclGetVersion: 22809; 0: unknown */
    char library[NI_TRIED_TEXT];  /* the file that was loaded; "" */
    char unloaded[NI_TRIED_TEXT]; /* what was not loaded, in the loader's words; "" */
    struct ni_nccl_rank rank[NI_MAX_GPU][NI_NCCL_RANKS];
    bool cut[NI_MAX_GPU]; /* not all is there that NCCL printed for the GPU */
};

/* "join" */
const char *ni_nccl_step_text(enum ni_nccl_step step);
/* Reads the helper's words about n GPUs: lines "version V", "library GPU NUMBER PATH", "unloaded
   WORDS", "at GPU RANK STEP", "done GPU RANK STEP MICROSECONDS", "failed GPU RANK STEP FUNCTION ERROR",
   "wrong GPU RANK COUNT OFFSET", "died GPU RANK SIGNAL", "stopped GPU RANK", "cut GPU", "end". 0; or -EINVAL: they
   are none, and *ret is not to be used. A last line without its end is left out. */
int ni_read_tried_nccl(const char *words, unsigned n, struct ni_tried_nccl *ret);
/* Takes the lines that NCCL printed for that GPU out of standard error, where each stands behind the
   number of its GPU. */
bool ni_next_nccl_line(const char **errors, unsigned gpu, struct ni_span *ret);

#endif
