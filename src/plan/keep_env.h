/* SPDX-License-Identifier: Apache-2.0 */
/* Variables in a masked recording: for each, the form in which it is kept. */
#ifndef NCCL_INIT_PLAN_KEEP_ENV_H
#define NCCL_INIT_PLAN_KEEP_ENV_H

#include "nccl_init/text.h"
#include "plan/keep_forms.h"

/* The form of the variable's value; NULL: no variable that the program reads. */
ni_form_fn *ni_variable_form(const struct ni_keep_facts *k, struct ni_span name);

#endif
