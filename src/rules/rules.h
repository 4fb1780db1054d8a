/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the rules, in their order. */
#ifndef NCCL_INIT_RULES_RULES_H
#define NCCL_INIT_RULES_RULES_H

#include "nccl_init/text.h"
#include "rules/decide.h"

/* Runs the rules in their order. The plan must be zeroed, or be what an earlier round made of the
   same HCAs, ports and GPUs. The other functions follow it. */
void ni_decide(const struct ni_work *w);
/* Returns the id of the rule at that place in the order; NULL behind the last one. */
const char *ni_rule_id(unsigned at);
/* Puts the id of that rule, the facts that it reads, the variables that it may set. */
void ni_put_rule(struct ni_text *t, unsigned at);
/* Lists all rules so. */
void ni_put_rules(struct ni_text *t);

#endif
