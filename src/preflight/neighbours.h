/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses that somebody else has. */
#ifndef NCCL_INIT_PREFLIGHT_NEIGHBOURS_H
#define NCCL_INIT_PREFLIGHT_NEIGHBOURS_H

#include <stdbool.h>

#include "nccl_init/findings.h"
#include "preflight/job.h"
#include "rail/step.h"

/* Returns true if the pair failed because its packets went to somebody else. Neither port is at
   fault. */
bool ni_is_misled(const struct ni_pair_result *x);
/* Clears `misled` of the pairs that failed although only a router stood between them. */
void ni_forget_routers(struct ni_job *job);
/* Reports who is not where the others look for it. */
void ni_report_neighbours(const struct ni_job *job, struct ni_findings *f);

#endif
