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
/* NCCLINIT_*; recorded: only options of the plan. Then the options are settled. For `run` and in a
   recording what is wrong is ignored and a finding; for help, version and explain it is
   ignored; so is an option that names a file in secure
   execution. But a demand that cannot be understood is not met: `run` says why and ends; in a
   recording, and of an option of `run` alone for `plan` and `doctor`, the plan will refuse. */
int ni_args_env(struct ni_context *ctx, const struct ni_env *env, bool recorded);

#endif
