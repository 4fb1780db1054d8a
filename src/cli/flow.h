/* SPDX-License-Identifier: Apache-2.0 */
/* The first steps of the verbs that read the node: root, environment, facts, decisions. */
#ifndef NCCL_INIT_CLI_FLOW_H
#define NCCL_INIT_CLI_FLOW_H

#include "cli/context.h"
#include "nccl_init/text.h"
#include "print/words.h"

/* Opens the root, chooses the environment, gathers facts and decides. If ctx->acts, it then closes
   the root, raises the limit and sets the capabilities. 0, or an exit status after saying why. */
int ni_flow(struct ni_context *ctx);
/* Gathers facts, and decides. */
void ni_flow_decide(struct ni_context *ctx);
/* Returns NI_EXIT_FAILED if the findings have an error, with --strict also if a warning; else 0. */
int ni_exit_status(const struct ni_context *ctx);
/* Returns everything that a report may show. */
struct ni_view ni_flow_view(const struct ni_context *ctx);
/* Prints a text of ni_long_text as ni_print does, and frees it. */
int ni_print_long(struct ni_context *ctx, struct ni_text *text);
/* Prints the report that `put` makes of the plan. Returns the exit status. */
int ni_print_view(struct ni_context *ctx, ni_report_fn *put);

#endif
