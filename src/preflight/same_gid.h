/* SPDX-License-Identifier: Apache-2.0 */
/* One GID in two pods. */
#ifndef NCCL_INIT_PREFLIGHT_SAME_GID_H
#define NCCL_INIT_PREFLIGHT_SAME_GID_H

#include "nccl_init/findings.h"
#include "preflight/job.h"

/* Reports GIDs that pods of different nodes have, and marks their rails as untried: a packet to such
   a GID reaches one of them by chance, so that a trial would blame anybody. */
void ni_find_same_gids(const struct ni_job *job, struct ni_findings *f);

#endif
