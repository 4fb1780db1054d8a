/* SPDX-License-Identifier: Apache-2.0 */
/* --help and --version. The help is made of the tables of verbs and options, so it cannot differ
   from what is parsed. */
#ifndef NCCL_INIT_CLI_HELP_H
#define NCCL_INIT_CLI_HELP_H

#include "cli/context.h"
#include "cli/program.h"

/* Prints the help of the verb, or that of the program for NULL. Both return the exit status. */
int ni_cmd_help(struct ni_context *ctx, const struct ni_verb *verb);
int ni_cmd_version(struct ni_context *ctx);

#endif
