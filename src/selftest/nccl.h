/* SPDX-License-Identifier: Apache-2.0 */
/* The trial `nccl`: do two ranks on each GPU, as two nodes, sum data by the image's NCCL in the job's
   environment? */
#ifndef NCCL_INIT_SELFTEST_NCCL_H
#define NCCL_INIT_SELFTEST_NCCL_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/context.h"
#include "nccl_init/gpu.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "nccl_init/tried_nccl.h"
#include "print/json_write.h"
#include "print/words.h"
#include "rules/decide.h"
#include "system/helper.h"

enum ni_nccl_verdict { NI_NCCL_UNTRIED, NI_NCCL_FAILED, NI_NCCL_PASSED };

/* How it went with a GPU. */
struct ni_nccl_gpu {
    int gpu;    /* in the inventory */
    int number; /* in the helper's words; -1: it was not asked about this one */
    enum ni_nccl_verdict verdict;
    enum ni_nccl_step step; /* the one that failed */
    /* as the helper gets it: the address, and behind "=" NCCL_IB_HCA; without: the job's as it is */
    char pair[NI_BDF_TEXT + NI_VALUE];
    char network[NI_REASON];   /* as NCCL says it: "IB"; "": it did not come so far */
    unsigned ends, gdr;        /* of channels, and those with GPUDirect RDMA */
    int64_t us[NI_NCCL_STEPS]; /* of the slower rank; 0: not done */
};

struct ni_nccl_trial {
    unsigned n, passed, asked;
    struct ni_nccl_gpu gpu[NI_MAX_GPU];
    char untried[NI_REASON];     /* why a GPU was not tried, the first of them; "": all were */
    char path[NI_IMAGE_PATH];    /* the library that was asked for; "-": the loader's */
    char library[NI_TRIED_TEXT]; /* the one that was loaded; "": none */
    int version;                 /* 22809; 0: unknown */
    bool named;                  /* by --nccl */
    int64_t limit_ms, took_ms;
};

/* Puts why two ranks on one GPU cannot show what the job's settings do; nothing: they can. */
void ni_put_unfit(struct ni_text *why, const struct ni_work *w);
/* Judges what the helper said of the GPUs of the trial: a finding for each cause. */
void ni_judge_nccl(const struct ni_work *w, const struct ni_helper_result *run,
                   struct ni_nccl_trial *all);
/* Tries it, for limit_ms at most, and judges. The caller frees the trial. NULL: no memory. */
struct ni_nccl_trial *ni_try_nccl(struct ni_context *ctx, int64_t limit_ms);

/* Returns whether NCCL works on all GPUs, for a verdict; *how: on how many. */
bool ni_nccl_passes(const struct ni_nccl_trial *all, struct ni_text *how);
/* Puts the library, the variables that the trial changed, and a row for each GPU. */
void ni_put_nccl_trial(struct ni_text *out, const struct ni_view *view,
                       const struct ni_nccl_trial *all);
/* Writes the object "nccl". */
void ni_json_nccl_trial(struct ni_json *j, const struct ni_view *view,
                        const struct ni_nccl_trial *all);

#endif
