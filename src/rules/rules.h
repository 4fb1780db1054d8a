/* SPDX-License-Identifier: Apache-2.0 */
/* decide: from inventory, environment and policy to a plan. Pure: no system call, proved by the
   archive's symbols. */
#ifndef NCCL_INIT_DECIDE_H
#define NCCL_INIT_DECIDE_H

#include "nccl_init/env.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"

struct ni_work {
    const struct ni_inventory *inv;
    const struct ni_env *env;
    const struct ni_policy *policy;
    struct ni_plan *plan;
    struct ni_findings *f;
};

/* The user's value of that variable (ni_find_user_value) as NCCL reads an integer: strtoll base 0,
   garbage is 0; empty, unset or beyond 64 bits is `otherwise` (misc/param.cc). */
int64_t ni_user_int(const struct ni_work *w, const char *name, int64_t otherwise);

/* The interfaces that --sockets names; NULL: it has a word, or was not given. */
const char *ni_named_sockets(const struct ni_policy *policy);

/* Runs the rules in their order. The plan must be zeroed, or be what an earlier round made of the same
   HCAs, ports and GPUs. The other functions follow it. */
void ni_decide(const struct ni_work *w);
/* Each rule: its id, what it reads, what it may set. */
void ni_put_rules(struct ni_text *t);

/* --require=memlock, and what any demand of RDMA needs; judged by `run` when the limit was raised.
   soft: the soft limit in force in bytes, -1 unknown; may_lock: CAP_IPC_LOCK will be effective for
   the command. What does not hold makes the plan refuse. */
void ni_require_memlock(const struct ni_work *w, int64_t soft, bool may_lock);
/* The same by what the plan says, for verbs that raise nothing. */
void ni_require_planned_memlock(const struct ni_work *w);

/* A demand that is judged later does not hold: the first of these bits that is demanded, if one is.
   The plan refuses. */
void ni_refuse_demand(const struct ni_work *w, unsigned bits, const char *why);

/* For `plan`, which doctor's check of rates includes: rails that are slower than others. */
void ni_note_slow_rails(const struct ni_work *w);

/* For `run`, which doctor's check includes: PID 1 is no init. */
void ni_note_init(const struct ni_work *w);
/* Whether a process of that name is an init. */
bool ni_is_init(const char *name);
/* Whether NCCL reads a variable of that name, as far as is known; whether the name is a slip of one. */
bool ni_is_nccl_name(struct ni_span name);
bool ni_is_nccl_slip(struct ni_span name);

/* Whether each port of the pod's HCAs has link, interface, address and GID, as far as a wait can
   mend that. What is missing is added to *missing as "mlx5_6/1: link, ...". */
bool ni_is_ready(const struct ni_inventory *inv, struct ni_text *missing);

#endif
