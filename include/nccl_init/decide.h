/* SPDX-License-Identifier: Apache-2.0 */
/* decide: from inventory, environment and policy to a plan. Pure: no system call, proved by the
   archive's symbols. */
#ifndef NCCL_INIT_DECIDE_H
#define NCCL_INIT_DECIDE_H

#include "nccl_init/core.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/plan.h"

/* All that a rule may look at. */
struct ni_facts {
    const struct ni_inventory *inv;
    const struct ni_env *env;
    const struct ni_policy *policy;
};

/* One decision. The table's order is the order of evaluation and of the settings. */
struct ni_rule {
    const char *id;    /* permanent, dotted */
    const char *reads; /* what of the inventory */
    const char *sets;  /* which variables, or what of the plan */
    void (*eval)(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f);
};

/* The ordered table; *ret_n rules. */
const struct ni_rule *ni_rules(unsigned *ret_n);

/* Runs the table. plan must be zeroed. */
void ni_decide(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f);

/* --require=memlock, judged by `run` when the limit was raised. soft: the soft limit in force in
   bytes, -1 unknown; may_lock: CAP_IPC_LOCK will be effective for the command. What does not hold
   makes the plan refuse. */
void ni_require_memlock(const struct ni_facts *facts, struct ni_plan *plan, int64_t soft,
                        bool may_lock, struct ni_findings *f);
/* The same by what the plan says, for verbs that raise nothing. */
void ni_require_planned_memlock(const struct ni_facts *facts, struct ni_plan *plan,
                                struct ni_findings *f);

/* One check of doctor: what no variable can mend. */
struct ni_check {
    const char *id;    /* permanent, dotted */
    const char *reads; /* what of the inventory and the plan */
    /* What it saw; with findings added it is NI_CHECK_FOUND whatever it says. */
    enum ni_outcome (*eval)(const struct ni_facts *facts, const struct ni_plan *plan,
                            struct ni_findings *f);
};

/* The ordered table; *ret_n checks. */
const struct ni_check *ni_checks(unsigned *ret_n);

/* Runs the table on an inventory whose health was gathered, after ni_decide. */
void ni_diagnose(const struct ni_facts *facts, const struct ni_plan *plan, struct ni_findings *f,
                 struct ni_diagnosis *ret);

/* For `run`: the finding about PID 1 when this process is it. */
void ni_note_pid1(const struct ni_facts *facts, struct ni_findings *f);

/* Whether each port of the pod's HCAs has link, interface, address and GID, as far as a wait can
   mend that. What is missing is added to *missing as "mlx5_6/1: link, ...". */
bool ni_is_ready(const struct ni_inventory *inv, struct ni_text *missing);

#endif
