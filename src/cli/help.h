/* SPDX-License-Identifier: Apache-2.0 */
/* help and version. The help is made of the tables of verbs and options, so it cannot differ
   from what is parsed. */
#ifndef NCCL_INIT_CLI_HELP_H
#define NCCL_INIT_CLI_HELP_H

#include "cli/context.h"
#include "cli/program.h"

/* The verbs help and version. */
ni_verb_fn ni_cmd_help, ni_cmd_version;
/* Prints the help of a verb; NULL: of the program. An exit status. */
int ni_print_help(struct ni_context *ctx, const struct ni_verb *verb);

#endif
