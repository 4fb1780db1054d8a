/* SPDX-License-Identifier: Apache-2.0 */
/* decide, private: what comparing the pods and judging their rails share. */
#ifndef NCCL_INIT_DECIDE_JOB_H
#define NCCL_INIT_DECIDE_JOB_H

#include "nccl_init/job.h"

/* "rank 3", "ranks 0-3, 7 and 12 more": those of n that `has` says. */
typedef bool ni_has_fn(const void *of, unsigned i);
void ni_put_numbers(struct ni_text *to, const char *one, ni_has_fn *has, const void *of,
                    unsigned n);
/* "rail 2", "rails 0-3": by bits. */
void ni_put_rails(struct ni_text *to, uint32_t rails);
/* Whether the pod came and is still there. */
bool ni_is_here(const struct ni_job *job, unsigned rank);
/* Its rail of that number; NULL. */
const struct ni_rail *ni_rail_of(const struct ni_job *job, unsigned rank, unsigned rail);

/* Whether a route of `from` leads to the GID of `to`; false, too, if no route is known. */
bool ni_leads_to(const struct ni_rail *from, const struct ni_rail *to);

/* ---- job_tally.c ---- */

enum {
    NI_JOB_SLOW = 70,      /* percent of the median: less is told */
    NI_JOB_SLOW_SOFT = 50, /* ... of rails below NI_JOB_HARD: software RDMA varies by itself */
    NI_JOB_HALF = 50,      /* less is an error */
    NI_JOB_LOW = 74,       /* percent of the rate: 0.8 of what packets of 1024 bytes leave of it */
    NI_JOB_HARD = 10000,   /* Mb/s: slower HCAs are not built */
    NI_JOB_NAMED = 8       /* pods that have a finding of their own */
};

/* What is known of one rail of a pod; the worst last. */
enum ni_tally_state {
    NI_TALLY_ABSENT,
    NI_TALLY_UNTRIED,
    NI_TALLY_GOOD,
    NI_TALLY_BELOW, /* slow, but not below NI_JOB_HALF */
    NI_TALLY_SLOW,
    NI_TALLY_PATH,
    NI_TALLY_FAILED,
    NI_TALLY_STATES
};

/* The median of the flows of one round, by writes or reads, between rails of one rate. */
struct ni_pace {
    unsigned round;
    int64_t mbps, median[2];
};
enum { NI_MAX_PACE = 32 };
struct ni_paces {
    unsigned n;
    struct ni_pace at[NI_MAX_PACE];
};

/* Whose fault a pair's failure is, by itself: bits. */
enum { NI_BLAME_FROM = 1, NI_BLAME_TO = 2 };
unsigned ni_blame(const struct ni_job *job, const struct ni_pair_result *x);
/* Fills job->tally; *ret: the medians it went by. */
void ni_tally(const struct ni_job *job, struct ni_paces *ret);
/* By which the flows of this result are measured; NULL. */
const struct ni_pace *ni_pace_of(const struct ni_job *job, const struct ni_paces *all,
                                 const struct ni_pair_result *x);
struct ni_rail_tally *ni_tally_of(const struct ni_job *job, unsigned rank, unsigned rail);
/* Failed, though both ends reach others. */
bool ni_is_path(const struct ni_job *job, const struct ni_pair_result *x);
/* The full rounds, which each rail takes part in; what follows are the suspects. */
unsigned ni_full_rounds(const struct ni_job *job);
/* Pods whose rail of that number takes part. */
unsigned ni_count_rail(const struct ni_job *job, unsigned rail);

#endif
