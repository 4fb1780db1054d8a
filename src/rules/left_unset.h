/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL's variables that a rule may set, and what NCCL does by itself while one of them is unset. */
#ifndef NCCL_INIT_RULES_LEFT_UNSET_H
#define NCCL_INIT_RULES_LEFT_UNSET_H

#include <stdbool.h>

#include "nccl_init/text.h"
#include "rules/decide.h"

/* A variable of NCCL's that a rule may set. */
struct ni_variable {
    const char *name;
    const char *rule;      /* the rule that may set it */
    bool rdma;             /* NCCL reads it only for RDMA */
    const char *by_itself; /* what NCCL does while it is unset, words behind "NCCL" */
};
/* Returns the variable at that place of the table; NULL behind the last one. */
const struct ni_variable *ni_variable_at(unsigned at);

/* Says why each variable that a rule may set stays unset, and what NCCL then does by itself. */
void ni_say_left_unset(const struct ni_work *w);

/* Returns the rule that may set the variable of NCCL's; NULL: none may. *by_itself is what NCCL does
   while it is unset, words behind "NCCL": on RoCE, where that depends on the network. */
const char *ni_rule_of_variable(struct ni_span name, const char **by_itself);

#endif
