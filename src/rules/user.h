/* SPDX-License-Identifier: Apache-2.0 */
/* The rule user.values: values of the user stay, and are compared with the node. */
#ifndef NCCL_INIT_RULES_USER_H
#define NCCL_INIT_RULES_USER_H

#include <stdbool.h>

#include "nccl_init/text.h"
#include "rules/decide.h"

ni_rule_fn ni_rule_user;

/* Returns the variable of NCCL, without "NCCL_", that `name` is one or two letters off; empty: the
   name is known, or far from all. */
struct ni_span ni_near_name(struct ni_span name);

/* Return true if a known version of NCCL reads a variable of that name; if the name is a misspelt
   one, as ni_near_name finds it, or in small letters. */
bool ni_is_nccl_name(struct ni_span name);
bool ni_is_misspelt_nccl(struct ni_span name);

#endif
