/* SPDX-License-Identifier: Apache-2.0 */
/* The verb snapshot: this node as a .tree file, with the part of the environment on which the
   plan depends. */
#ifndef NCCL_INIT_SNAPSHOT_SNAPSHOT_H
#define NCCL_INIT_SNAPSHOT_SNAPSHOT_H

#include <stdbool.h>

#include "cli/context.h"
#include "cli/option.h"
#include "cli/program.h"

ni_verb_fn ni_cmd_snapshot;

struct ni_snapshot_options {
    bool mask;
};
extern struct ni_snapshot_options ni_snapshot_options;
extern const struct ni_option_rows ni_snapshot_rows;

/* Does --snapshot-on-refusal; path NULL: it was not given. Clears the inventory, the plan and the
   findings. */
void ni_leave_snapshot(struct ni_context *ctx, const char *path);

#endif
