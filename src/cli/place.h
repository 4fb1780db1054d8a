/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the place where this process runs, for commands that people paste. */
#ifndef NCCL_INIT_CLI_PLACE_H
#define NCCL_INIT_CLI_PLACE_H

#include "cli/context.h"
#include "print/words.h"

/* Names the node and the namespace of this pod in a view, as far as somebody told them. Nothing if
   the facts are of another place: a recording has neither. */
void ni_name_place(const struct ni_context *ctx, struct ni_view *view);

#endif
