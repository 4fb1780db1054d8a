/* SPDX-License-Identifier: Apache-2.0 */
/* Options, read from the command line and from the variables NCCLINIT_*. */
#ifndef NCCL_INIT_CLI_ARGS_H
#define NCCL_INIT_CLI_ARGS_H

#include <stdbool.h>

#include "cli/context.h"
#include "nccl_init/env.h"

/* Both functions read options of ctx->verb that ctx->taken lacks, and add them there. They return
   0, or an exit status after saying what is wrong. */

/* Reads the command line, up to `--` or the first operand; of verbs that take files also the options
   between and behind them. Moves these operands together, at the begin of word, for ctx->operands. */
int ni_args_parse(struct ni_context *ctx, char *word[]);
/* Whose variables they are: this process's, or those of a recording, of which only the options of
   the plan are read. */
enum ni_env_of { NI_ENV_OWN, NI_ENV_RECORDED };
/* Reads the variables NCCLINIT_*, then settles the options. 0, or an exit status after saying what
   is wrong.
   A wrong variable is a usage error. `run` goes on, and so does each verb on a recording: they
   ignore the variable and report a finding. `help`, `version` and `explain` ignore it. A variable
   that names a file is ignored, too, with a finding, if the program has file capabilities.
   A wrong value of a demand (--require) means that the demand is not met. `run` says why and ends.
   For a recording the plan refuses the command; `plan` and `doctor` judge the demands of options
   that only `run` has in the same way. */
int ni_args_env(struct ni_context *ctx, const struct ni_env *env, enum ni_env_of of);

#endif
