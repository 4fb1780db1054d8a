/* SPDX-License-Identifier: Apache-2.0 */
/* decide, private: what was seen of the rails of a job. */
#ifndef NCCL_INIT_DECIDE_JOB_H
#define NCCL_INIT_DECIDE_JOB_H

#include "preflight/job.h"

enum { NI_JOB_PARTS = 10000000 /* of a rate */ };

/* Fills job->tally and median. */
void ni_tally(struct ni_job *job);
/* Of the median, in the slower direction. */
int64_t ni_least_percent(const struct ni_rail_tally *t);

typedef bool ni_rail_is(const struct ni_job *job, unsigned rank, unsigned rail);
ni_rail_is ni_takes_part;
/* Pods whose rail of that number is such a one. */
unsigned ni_count_rails(const struct ni_job *job, unsigned rail, ni_rail_is *is);

#endif
