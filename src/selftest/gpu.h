/* SPDX-License-Identifier: Apache-2.0 */
/* The trial `gpu`: does each HCA carry right bytes to and from the memory of its GPUs? */
#ifndef NCCL_INIT_SELFTEST_GPU_H
#define NCCL_INIT_SELFTEST_GPU_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/context.h"
#include "nccl_init/gpu.h"
#include "nccl_init/inventory.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "nccl_init/tried_gpu.h"
#include "nccl_init/tried_use.h"
#include "print/json_write.h"
#include "print/words.h"
#include "rules/decide.h"
#include "system/helper.h"

/* Which HCAs each GPU is tried with: its own, or every one. */
enum ni_pairs { NI_PAIRS_OWN, NI_PAIRS_ALL };

enum ni_gpu_verdict {
    NI_GPU_UNTRIED,
    NI_GPU_FAILED, /* no bytes came */
    NI_GPU_WRONG,  /* wrong bytes came */
    NI_GPU_LATE,   /* right ones, but not at once */
    NI_GPU_PASSED,
    NI_GPU_VERDICTS
};

struct ni_gpu_pair {
    int gpu, port; /* in the inventory */
    enum ni_gpu_verdict verdict;
    int number; /* by which the helper knows it; -1: it is not asked about it */
    bool slow;  /* passed, at less than half of the usual rate */
    struct ni_tried_pair told;
    char why[160]; /* why it was not tried, or what failed; "": it passed */
};

struct ni_gpu_trial {
    unsigned n, passed, left_out; /* pairs; left_out: beyond NI_MAX_PAIRS */
    struct ni_gpu_pair pair[NI_MAX_PAIRS];
    unsigned n_gpu;
    int gpu[NI_MAX_GPU];                   /* in the inventory, in the order of the pairs */
    int number[NI_MAX_GPU];                /* of gpu[], as that of a pair */
    unsigned n_asked, n_asked_gpu;         /* those that have a number */
    struct ni_tried_pair told[NI_MAX_GPU]; /* of their contexts */
    char untried[NI_REASON];               /* why a pair was not tried, the first reason; "" */
    char library[NI_TRIED_TEXT];           /* the image's libibverbs; "": unknown */
    int64_t took_ms;
    int64_t memlock; /* soft RLIMIT_MEMLOCK of the helper; -1: unknown */
    bool no_gpu;     /* the pod has none: there is nothing that could fail */
    bool left;       /* a process is left that the kernel does not end */
};

/* Lists the pairs: each GPU with the chosen ports that are its own, or with all. All have a number. ret
   must be zeroed. */
void ni_plan_gpus(const struct ni_work *w, enum ni_pairs which, struct ni_gpu_trial *ret);
/* Leaves the GPUs out that NVML says are not to be tried, as others use them (busy: also these), with
   the reason. clear: uses has what it said; else why not. */
void ni_leave_gpus(const struct ni_inventory *inv, const struct ni_gpu_uses *uses, bool busy,
                   const char *unclear, struct ni_gpu_trial *all);
/* Puts the helper's arguments (try/gpu.c): what is the same for all pairs, and one pair. */
void ni_put_pair_order(const struct ni_work *w, struct ni_text *t);
void ni_put_pair_arg(const struct ni_work *w, const struct ni_gpu_pair *p, struct ni_text *t);
/* Judges how the helper ended and what it said: a finding for each pair whose bytes were wrong or did
   not come, one for those that were not tried. */
void ni_judge_gpus(const struct ni_work *w, const struct ni_helper_result *run,
                   struct ni_gpu_trial *all);
/* Runs the helper on the pairs for limit_ms at most, and judges. The caller frees the
   trial; NULL: no memory. */
struct ni_gpu_trial *ni_try_gpus(struct ni_context *ctx, enum ni_pairs which, int64_t limit_ms);
/* Lets the plan of the command follow what was tried: wrong bytes switch GPUDirect RDMA off where a
   library has a switch, slow and wrong pairs leave the maps and lists of --for. */
void ni_follow_gpus(struct ni_context *ctx, const struct ni_gpu_trial *all);

/* Returns whether all pairs passed, for a verdict; *how: how many. With no GPU there is nothing that
   could fail. all NULL: the trial could not be made. */
bool ni_gpus_pass(const struct ni_gpu_trial *all, struct ni_text *how);
/* Returns the lower of both rates, in Mb/s; 0: they were not measured. */
int64_t ni_gpu_pair_rate(const struct ni_gpu_pair *p);
/* Lists the ports of the pairs, in their order. Returns their number. */
unsigned ni_list_gpu_ports(const struct ni_gpu_trial *all, int ports[NI_MAX_CHOSEN]);
/* Returns the pair; NULL: there is none. */
const struct ni_gpu_pair *ni_find_gpu_pair(const struct ni_gpu_trial *all, int gpu, int port);
/* Puts Mb/s as GB/s: "48.9", below 1 "0.08"; "?": not known. */
void ni_put_gigabytes(struct ni_text *t, int64_t mbps);
/* Puts the matrix: a row for each GPU, a column for each port. */
void ni_put_gpu_trial(struct ni_text *out, const struct ni_view *view,
                      const struct ni_gpu_trial *all);
/* Writes the object "gpu". */
void ni_json_gpu_trial(struct ni_json *j, const struct ni_view *view,
                       const struct ni_gpu_trial *all);

#endif
