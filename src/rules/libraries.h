/* SPDX-License-Identifier: Apache-2.0 */
/* The rule for.libraries: the same choice for the other libraries that --for names. */
#ifndef NCCL_INIT_RULES_LIBRARIES_H
#define NCCL_INIT_RULES_LIBRARIES_H

#include "nccl_init/text.h"
#include "rules/decide.h"

ni_rule_fn ni_rule_libraries;

/* Puts the names of all variables that the rule may set: "NAME, NAME, ...". */
void ni_put_library_variables(struct ni_text *t);

#endif
