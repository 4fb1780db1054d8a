/* SPDX-License-Identifier: Apache-2.0 */
/* The tally: results of each rail, and the pairs to try next. */
#ifndef NCCL_INIT_PREFLIGHT_TALLY_H
#define NCCL_INIT_PREFLIGHT_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#include "preflight/job.h"
#include "rail/step.h"

enum { NI_JOB_PARTS = 10000000 /* parts of a rate */ };

typedef bool ni_rail_is(const struct ni_job *job, unsigned rank, unsigned rail);

/* Fills job->tally and median. */
void ni_tally(struct ni_job *job);
/* Returns the percentage of the median in the slower direction. */
int64_t ni_least_percent(const struct ni_rail_tally *t);
ni_rail_is ni_takes_part;
/* Returns the number of pods whose rail of that number satisfies `is`. */
unsigned ni_count_rails(const struct ni_job *job, unsigned rail, ni_rail_is *is);

/* Adds the pairs of the next round to job->result, which must have room for ranks * n_rail more.
   They follow from the earlier rounds: at most one pair from, and one to, each rail of a pod.
   false: enough is known. */
bool ni_next_round(struct ni_job *job);
/* Returns true if the failure certainly belongs to one end. */
bool ni_is_own(const struct ni_pair_result *x);

#endif
