/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds: which pairs of pods are tried next. */
#ifndef NCCL_INIT_PREFLIGHT_ROUNDS_H
#define NCCL_INIT_PREFLIGHT_ROUNDS_H

#include <stdbool.h>

#include "preflight/job.h"

/* Adds the pairs of the next round to job->result, which must have room for ranks * n_rail more.
   They follow from the earlier rounds: at most one pair from, and one to, each rail of a pod.
   false: enough is known. */
bool ni_next_round(struct ni_job *job);
/* Returns true if the last round is one of few pairs, which keep the queue pairs that they had. */
bool ni_is_quiet(const struct ni_job *job);
/* Returns the number of the pair's queue pairs that move at once in the last round. */
unsigned ni_batch(const struct ni_job *job, const struct ni_pair_result *x);

#endif
