/* SPDX-License-Identifier: Apache-2.0 */
/* Variables in a masked recording, and the form in which each is kept. */
#ifndef NCCL_INIT_SNAPSHOT_KEEP_ENV_H
#define NCCL_INIT_SNAPSHOT_KEEP_ENV_H

#include "nccl_init/text.h"
#include "snapshot/keep_forms.h"

/* Returns the form of the variable's value; NULL: the program does not read the variable. */
ni_form_fn *ni_variable_form(const struct ni_keep_facts *k, struct ni_span name);

#endif
