/* SPDX-License-Identifier: Apache-2.0 */
/* --wait: looks at the node again until the pod's devices are ready. */
#ifndef NCCL_INIT_CLI_WAIT_H
#define NCCL_INIT_CLI_WAIT_H

#include "cli/context.h"
#include "node/read.h"

/* The same, again and again while --wait allows and something is missing. */
void ni_wait_and_look(struct ni_context *ctx, const struct ni_ask *ask);

#endif
