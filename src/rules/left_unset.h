/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL's variables that a rule may set, and what NCCL does by itself while one of them is unset. */
#ifndef NCCL_INIT_RULES_LEFT_UNSET_H
#define NCCL_INIT_RULES_LEFT_UNSET_H

#include "rules/decide.h"

/* Says why each variable that a rule may set stays unset, and what NCCL then does by itself. */
void ni_say_left_unset(const struct ni_work *w);

#endif
