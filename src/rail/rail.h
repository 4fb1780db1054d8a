/* SPDX-License-Identifier: Apache-2.0 */
/* A rail of this pod, connected by libibverbs to the same rail of two other pods, or in a self-
   test to itself. */
#ifndef NCCL_INIT_RAIL_RAIL_H
#define NCCL_INIT_RAIL_RAIL_H

#include "rail/task.h"

/* verbs: the only code that uses libibverbs. Never on the way of a plain `run`: sysfs decides,
   verbs confirm. For a process of its own: what is opened, allocated and registered ends with it.
   */
ni_rail_fn ni_work_rail;

#endif
