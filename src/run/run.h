/* SPDX-License-Identifier: Apache-2.0 */
/* run: the settings, the limit, then the command instead of us. */
#ifndef NCCL_INIT_RUN_RUN_H
#define NCCL_INIT_RUN_RUN_H

#include "cli/verbs.h"

ni_verb_fn ni_cmd_run;

#endif
