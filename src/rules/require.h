/* SPDX-License-Identifier: Apache-2.0 */
/* The rule require: demands, and whether the command may start. */
#ifndef NCCL_INIT_RULES_REQUIRE_H
#define NCCL_INIT_RULES_REQUIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "rules/decide.h"

ni_rule_fn ni_rule_require;

/* Judges --require=memlock, and the memory that any demand of RDMA needs; for `run`, when the limit
   was raised. soft: the soft limit in force in bytes, -1 unknown; may_lock: CAP_IPC_LOCK will be
   effective for the command. If a demand does not hold the plan refuses. */
void ni_require_memlock(const struct ni_work *w, int64_t soft, bool may_lock);
/* Judges the demand for locked memory by the plan, for verbs that raise nothing. */
void ni_require_planned_memlock(const struct ni_work *w);

/* Refuses a demand that is judged after the plan: the first of these bits that is demanded, if
   any. */
void ni_refuse_demand(const struct ni_work *w, unsigned bits, const char *why);

#endif
