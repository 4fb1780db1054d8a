/* SPDX-License-Identifier: Apache-2.0 */
/* env: the settings in a form that something else reads. */
#ifndef NCCL_INIT_RUN_ENV_H
#define NCCL_INIT_RUN_ENV_H

#include "cli/options.h"
#include "cli/program.h"
#include "nccl_init/text.h"

ni_verb_fn ni_cmd_env;

/* In the order of the words of --format. */
enum ni_format { NI_FMT_SH, NI_FMT_K8S, NI_FMT_DOCKER, NI_FMT_CONF, NI_FMT_JSON };
struct ni_env_options {
    enum ni_format format;
};
extern struct ni_env_options ni_env_options;
extern const struct ni_option_rows ni_env_rows;

#endif
