/* SPDX-License-Identifier: Apache-2.0 */
/* The process of the container: the hook raises its limit of locked memory from outside. */
#ifndef NCCL_INIT_HOOK_PROCESS_H
#define NCCL_INIT_HOOK_PROCESS_H

#include <stdbool.h>
#include <sys/resource.h>

#include "hook/container.h"
#include "nccl_init/text.h"
#include "sysroot/root.h"

/* Checks that the process is this container's, and that a limit is below `want`, RLIM_INFINITY or
   bytes. Raises its limits, unless the node is a recorded one. dry: raises nothing, and does not
   check that the container's runtime started this program. */
enum ni_hook_answer ni_hook_raise(const struct ni_dir *top, rlim_t want, bool dry,
                                  struct ni_hook_container *c, struct ni_text *why);

#endif
