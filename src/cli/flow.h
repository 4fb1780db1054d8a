/* SPDX-License-Identifier: Apache-2.0 */
/* The first steps of all verbs but log and install: root, environment, facts, decisions. */
#ifndef NCCL_INIT_CLI_FLOW_H
#define NCCL_INIT_CLI_FLOW_H

#include "cli/context.h"
#include "nccl_init/text.h"
#include "print/words.h"

/* Opens the root, chooses the environment, gathers and decides; for the command, and for verbs that
   use the devices as it will, then closes the root, raises the limit and sets the capabilities. 0,
   or an exit status after saying why. */
int ni_flow(struct ni_context *ctx);
/* Gathers and decides. */
void ni_flow_decide(struct ni_context *ctx);
/* NI_EXIT_FAILED when there is an error among the findings, with --strict also a warning; else 0.
   */
int ni_exit_status(const struct ni_context *ctx);
struct ni_view ni_flow_view(const struct ni_context *ctx);
/* ... a text of ni_long_text, which it frees; a report of the plan. */
int ni_print_long(struct ni_context *ctx, struct ni_text *text);
int ni_print_view(struct ni_context *ctx, ni_report_fn *put);

#endif
