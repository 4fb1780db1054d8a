/* SPDX-License-Identifier: Apache-2.0 */
/* RLIMIT_MEMLOCK: it is raised, never lowered. */
#ifndef NCCL_INIT_SYSTEM_LIMITS_H
#define NCCL_INIT_SYSTEM_LIMITS_H

#include <stdint.h>

#include "nccl_init/findings.h"
#include "nccl_init/plan.h"

/* Raises RLIMIT_MEMLOCK as the plan says, never lowers it. *ret is the soft limit in force then, in
   bytes, NI_UNLIMITED, or -1 if it cannot be read. A limit that cannot be raised is a finding. 0,
   or -errno: the capability that was raised for it is still effective, and the program must end. */
int ni_memlock_raise(const struct ni_plan *plan, struct ni_findings *f, int64_t *ret);

#endif
