/* SPDX-License-Identifier: Apache-2.0 */
/* The process's own capabilities, through libcap. */
#ifndef NCCL_INIT_SYSTEM_CAPS_H
#define NCCL_INIT_SYSTEM_CAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "nccl_init/caps.h"
#include "nccl_init/findings.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"

/* Makes a permitted capability effective. false: it was already, or cannot be. */
bool ni_cap_raise(unsigned cap);
/* Makes the capability ineffective. 0, or -errno: it may still be effective. */
int ni_cap_lower(unsigned cap);
/* Makes all capabilities ineffective; permitted ones stay. 0, or -errno: some may be effective. */
int ni_caps_disable(void);
/* Keeps and drops capabilities as the plan says. A refusal to keep one, or to take one out of the
   bounding set, is a finding. 0, or -errno: the process still has a capability that was to be
   dropped, or one that was raised for this, and the program must end. */
int ni_caps_apply(const struct ni_caps *want, const struct ni_cap_names *names,
                  struct ni_findings *f);
/* Drops all capabilities but `keep` from all sets, for good: no execve gives more (no_new_privs). 0
   or -errno. */
int ni_caps_forsake(uint64_t keep);
/* Returns true if the command will have the capability as an effective one. */
bool ni_command_has_cap(unsigned cap);
/* Finds the number of the capability whose name is `word`, in upper or lower case and without
   "CAP_"; its whole name goes into `names`. 0, -EINVAL: libcap knows no such name, or -ENOMEM. */
int ni_cap_by_name(struct ni_span word, struct ni_cap_names *names, unsigned *ret);

#endif
