/* SPDX-License-Identifier: Apache-2.0 */
/* The rules caps.command and memlock.raise: capabilities of the command, and RLIMIT_MEMLOCK. */
#ifndef NCCL_INIT_RULES_PRIVILEGES_H
#define NCCL_INIT_RULES_PRIVILEGES_H

#include <stdbool.h>
#include <stdint.h>

#include "nccl_init/process.h"
#include "nccl_init/text.h"
#include "rules/decide.h"

ni_rule_fn ni_rule_memlock, ni_rule_caps;

/* Puts why RLIMIT_MEMLOCK cannot be raised, by the process's own state, and what to change in the
   pod: a clause. */
void ni_memlock_why(const struct ni_work *w, struct ni_text *t);
/* Returns true if the hard limit may be raised: CAP_SYS_RESOURCE is effective, or permitted, and
   counts. */
bool ni_may_raise_memlock(const struct ni_self *s);
/* Returns true if CAP_IPC_LOCK will be effective in the command, and counts: then locked memory is
   not limited (mm/mlock.c can_do_mlock, drivers/infiniband/core/umem.c ib_umem_get). */
bool ni_command_may_lock(const struct ni_work *w);
uint64_t ni_command_caps(const struct ni_work *w);
/* Bytes of locked memory with less than which NCCL may fail, and with less than which it cannot
   even begin. */
extern const int64_t ni_memlock_enough, ni_memlock_hopeless;

#endif
