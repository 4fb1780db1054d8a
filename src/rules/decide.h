/* SPDX-License-Identifier: Apache-2.0 */
/* Writing into the plan, and precedence: the environment, then nccl.conf, then the rule. */
#ifndef NCCL_INIT_RULES_DECIDE_H
#define NCCL_INIT_RULES_DECIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "nccl_init/base.h"
#include "nccl_init/env.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/plan.h"

struct ni_work;

/* Runs a rule: it decides settings or judges ports, in the order of the table (rules.c). */
typedef void ni_rule_fn(const struct ni_work *w);

struct ni_work {
    const struct ni_inventory *inv;
    const struct ni_env *env;
    const struct ni_policy *policy;
    struct ni_plan *plan;
    struct ni_findings *f;
};

const char *ni_user_value(const struct ni_work *w, const char *name);

/* Decides one variable for the running rule. The rest is the reason, one sentence. value NULL: the
   variable is better left unset. A value of the user or of a conf file stays, and the plan says
   what the rule would have set. Only this function knows the precedence. */
void ni_decide_value(const struct ni_work *w, const char *name, const char *value, const char *fmt,
                     ...) NI_PRINTF(4, 5);

/* Reports a variable that the user has set to nothing. file: where; NULL: in the environment. */
void ni_report_empty(const struct ni_work *w, const char *name, const char *file);

/* Leaves the port out for the running rule. The rest is the reason, which the finding has, too.
   NI_F_NONE: no finding. */
void ni_leave_out(const struct ni_work *w, unsigned port, ni_finding_number id, const char *fmt,
                  ...) NI_PRINTF(4, 5);

/* Returns the user's value of that variable (ni_find_user_value) as NCCL reads an integer: strtoll
   with base 0, where a word is 0. Empty, unset or beyond 64 bits: `otherwise` (misc/param.cc).
   2.32.3 takes its default for a word, and says so: ni_user_versions. */
int64_t ni_user_int(const struct ni_work *w, const char *name, int64_t otherwise);
/* Returns true if NCCL finds no digit in the value where it looks for a number. */
bool ni_is_no_number(const char *value);
/* Puts the user's number into a sentence; of a word what NCCL reads from it. */
void ni_put_user_int(const struct ni_work *w, const char *name, struct ni_text *t);
/* Returns " up to 2.31.2" if ni_user_int is right for these versions of NCCL only, else "". */
const char *ni_user_versions(const struct ni_work *w, const char *name);

#endif
