/* SPDX-License-Identifier: Apache-2.0 */
/* One look at the node: facts, rules, and the facts that rules ask for. */
#ifndef NCCL_INIT_CLI_LOOK_H
#define NCCL_INIT_CLI_LOOK_H

#include "cli/context.h"
#include "node/read.h"

/* Fills ctx->inventory and ctx->plan, which the caller has zeroed, and adds findings. */
void ni_look(struct ni_context *ctx, const struct ni_ask *ask);

#endif
