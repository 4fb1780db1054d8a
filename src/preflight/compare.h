/* SPDX-License-Identifier: Apache-2.0 */
/* Comparison of the pods: their facts, and the results of the rounds, become findings. */
#ifndef NCCL_INIT_PREFLIGHT_COMPARE_H
#define NCCL_INIT_PREFLIGHT_COMPARE_H

#include "nccl_init/findings.h"
#include "nccl_init/plan.h"
#include "preflight/job.h"

/* Compares the facts of the pods. Each disagreement becomes one finding, which groups the pods by
   value and names the minority. */
void ni_compare_pods(const struct ni_job *job, const struct ni_policy *policy,
                     struct ni_findings *f);

/* Judges all rounds: findings, and job->tally. */
void ni_judge_rails(struct ni_job *job, struct ni_findings *f);

#endif
