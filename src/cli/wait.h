/* SPDX-License-Identifier: Apache-2.0 */
/* --wait: looks at the node again until the pod's devices are ready. */
#ifndef NCCL_INIT_CLI_WAIT_H
#define NCCL_INIT_CLI_WAIT_H

#include "cli/context.h"
#include "node/read.h"

/* Calls ni_look, and calls it again while something is missing and --wait allows. */
void ni_wait_and_look(struct ni_context *ctx, const struct ni_ask *ask);

#endif
