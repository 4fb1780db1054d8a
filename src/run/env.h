/* SPDX-License-Identifier: Apache-2.0 */
/* The verb env: the settings in a form that other programs read. */
#ifndef NCCL_INIT_RUN_ENV_H
#define NCCL_INIT_RUN_ENV_H

#include "cli/option.h"
#include "cli/program.h"
#include "nccl_init/text.h"
#include "run/envfile.h"

ni_verb_fn ni_cmd_env;

struct ni_env_options {
    enum ni_format format;
};
extern struct ni_env_options ni_env_options;
extern const struct ni_option_rows ni_env_rows;

#endif
