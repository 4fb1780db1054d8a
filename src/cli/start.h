/* SPDX-License-Identifier: Apache-2.0 */
/* The first steps of the program, before it reads its command line. */
#ifndef NCCL_INIT_CLI_START_H
#define NCCL_INIT_CLI_START_H

#include "cli/context.h"

/* Fills closed descriptors 0 to 2, and puts file capabilities down. 0, or an exit status after
   saying why. */
int ni_start(struct ni_context *ctx);

#endif
