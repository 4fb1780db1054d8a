/* SPDX-License-Identifier: Apache-2.0 */
/* Which rails of different pods belong together. */
#ifndef NCCL_INIT_PREFLIGHT_ALIGN_H
#define NCCL_INIT_PREFLIGHT_ALIGN_H

#include "nccl_init/findings.h"
#include "preflight/job.h"
#include "rail/step.h"

/* Returns the most specific route of that rail's interface to the other's GID, or NULL. */
const struct ni_subnet *ni_routed_subnet(const struct ni_rail *from, const struct ni_rail *to);
/* Finds the rail's own subnet: the most specific that it is in. false: it is in none. */
bool ni_own_subnet(const struct ni_rail *r, struct ni_subnet *ret);

/* Moves the rails of each pod that has fewer or more than most, so that those in one subnet have one
   number: pod->rail must have room for job->n_rail, and has gaps then. Reports pods whose rails are
   in each other's subnets, and marks these rails as untried. */
void ni_align_rails(struct ni_job *job, struct ni_findings *f);

#endif
