/* SPDX-License-Identifier: Apache-2.0 */
/* Options, read from the command line and from the variables NCCLINIT_*. */
#ifndef NCCL_INIT_CLI_ARGS_H
#define NCCL_INIT_CLI_ARGS_H

#include <stdbool.h>

#include "cli/context.h"
#include "nccl_init/env.h"

/* Both functions read options of ctx->verb that ctx->taken lacks, and add them there. They return
   0, or an exit status after saying what is wrong. */

/* Reads the command line, up to `--` or the first operand. */
int ni_args_parse(struct ni_context *ctx, char *const word[]);
/* Reads the variables NCCLINIT_*, then settles the options. recorded: reads only options of the
   plan. A wrong variable is a usage error; for `run` and in a recording it is a finding and
   ignored, and so is a variable that names a file in secure execution. `help`, `version` and
   `explain` ignore it. But a demand that cannot be understood is a demand not met: `run` says why
   and ends; for a recording the plan refuses the command, and so it does in `plan` and `doctor` for
   a demand of an option that only `run` has. */
int ni_args_env(struct ni_context *ctx, const struct ni_env *env, bool recorded);

#endif
