/* SPDX-License-Identifier: Apache-2.0 */
/* Progress on standard error: on a terminal a table that fills, in a log now and then a line. */
#ifndef NCCL_INIT_CLI_PROGRESS_H
#define NCCL_INIT_CLI_PROGRESS_H

#include "cli/context.h"
#include "cli/progress_table.h"

/* Shows how far something is: in a row of the table, or as a line of the log, `who` and `what` before it. */
void ni_progress(struct ni_context *ctx, const char *who, const char *what, const char *line,
                 enum ni_progress kind);

#endif
