/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict on a job: which pods it keeps, how it ended, and the sentence. */
#ifndef NCCL_INIT_PREFLIGHT_VERDICT_H
#define NCCL_INIT_PREFLIGHT_VERDICT_H

#include <stdbool.h>

#include "nccl_init/findings.h"
#include "nccl_init/text.h"
#include "preflight/job.h"

/* Fills job->drop and job->kept, of which job->drop has room for all pods. A pod is kept if it came,
   all of its rails are good, and no pair of it failed but with a pod whose own port is to blame. Where
   all bad pairs of a rail touch one leaf, the pods of that leaf are dropped, not their partners. */
void ni_find_kept(struct ni_job *job);
/* Judges the job by its findings. strict: a warning counts as an error. */
enum ni_outcome ni_outcome_of(const struct ni_job *job, const struct ni_findings *f, bool strict);
/* Takes the commands of kubectl from the findings of a job of Slurm: its steps are no pods. */
void ni_drop_kubectl(const struct ni_job *job, struct ni_findings *f);
/* Puts the first sentence of the result, with "good: ", "bad: " or "not tested: " in front. */
void ni_put_verdict(struct ni_text *to, const struct ni_job *job, const struct ni_findings *f,
                    enum ni_outcome outcome);

/* Puts the line with the command, or the option of sbatch, that keeps the next attempt off the nodes whose ports are to blame;
   nothing where the verdict has one, no node is known, or so many are to blame that something else is. */
void ni_put_keep_off(struct ni_text *to, const struct ni_job *job);

#endif
