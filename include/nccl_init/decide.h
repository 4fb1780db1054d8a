/* SPDX-License-Identifier: Apache-2.0 */
/* decide: from inventory, environment and policy to a plan. Pure: no system call, proved by the
   archive's symbols. */
#ifndef NCCL_INIT_DECIDE_H
#define NCCL_INIT_DECIDE_H

#include "nccl_init/core.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/plan.h"
#include "nccl_init/trial.h"

/* What decisions are made from, and what they are written to. */
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

/* One decision. A rule keeps nothing between its calls: it may run again on a new plan. */
struct ni_rule {
    const char *id;    /* permanent, dotted */
    const char *reads; /* what of the inventory */
    const char *sets;  /* which variables, or what of the plan */
    void (*eval)(const struct ni_work *w);
    bool when_off; /* with --mode=off, too, which decides no setting */
};

/* The rules in the order in which they run, which is that of the settings; *ret_n of them. */
const struct ni_rule *ni_rules(unsigned *ret_n);

/* Runs the table. The plan must be zeroed, or be what an earlier round made of the same HCAs, ports
   and GPUs. The other functions follow it. */
void ni_decide(const struct ni_work *w);

/* --require=memlock, and what any demand of RDMA needs; judged by `run` when the limit was raised.
   soft: the soft limit in force in bytes, -1 unknown; may_lock: CAP_IPC_LOCK will be effective for
   the command. What does not hold makes the plan refuse. */
void ni_require_memlock(const struct ni_work *w, int64_t soft, bool may_lock);
/* The same by what the plan says, for verbs that raise nothing. */
void ni_require_planned_memlock(const struct ni_work *w);

/* doctor's checks of what no variable can mend, on an inventory that was gathered for doctor
   (facts.h struct ni_ask). */
void ni_diagnose(const struct ni_work *w, struct ni_diagnosis *ret);

/* Whether NCCL will use RDMA if it can; false where the user chose something else. */
bool ni_wants_trials(const struct ni_work *w);
/* What a self-test is to try: the chosen ports with the index that NCCL will use, then ports that
   were given to the pod by name and cannot be used. ret must be zeroed; at and n are filled in. */
void ni_plan_trials(const struct ni_work *w, struct ni_trials *ret);
/* The same for `doctor --probe`: one for each HCA of the pod. */
void ni_plan_probes(const struct ni_work *w, struct ni_trials *ret);
/* What ended trials mean: a finding for each that did not pass, and for what the device says
   otherwise than sysfs. Marks those that could not be tried. An inventory that was gathered
   for doctor tells more. */
void ni_judge_trials(const struct ni_work *w, struct ni_trials *trials);
/* What the probes looked at, for doctor's list; after ni_judge_trials. */
void ni_diagnose_probes(const struct ni_trials *trials, const struct ni_findings *f,
                        struct ni_diagnosis *ret);

/* For `plan`, which doctor's check of rates includes: ports left out as slow that are rails. */
void ni_note_slow_rails(const struct ni_work *w);

/* For `run`: the finding about PID 1 when this process is it. */
void ni_note_pid1(const struct ni_work *w);

/* Whether each port of the pod's HCAs has link, interface, address and GID, as far as a wait can
   mend that. What is missing is added to *missing as "mlx5_6/1: link, ...". */
bool ni_is_ready(const struct ni_inventory *inv, struct ni_text *missing);

#endif
