/* SPDX-License-Identifier: Apache-2.0 */
/* env: the settings in a form that something else reads. */
#ifndef NCCL_INIT_RUN_ENV_H
#define NCCL_INIT_RUN_ENV_H

#include "cli/verbs.h"

ni_verb_fn ni_cmd_env;

#endif
