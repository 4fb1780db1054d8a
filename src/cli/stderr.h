/* SPDX-License-Identifier: Apache-2.0 */
/* Standard error, which must neither kill nor hold the command that waits to be started. */
#ifndef NCCL_INIT_CLI_STDERR_H
#define NCCL_INIT_CLI_STDERR_H

#include "cli/context.h"
#include "nccl_init/text.h"

/* Writes a text on standard error, unless nobody reads it. */
void ni_write_stderr(struct ni_context *ctx, const struct ni_text *line);

#endif
