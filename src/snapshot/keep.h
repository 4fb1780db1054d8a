/* SPDX-License-Identifier: Apache-2.0 */
/* Files in a masked recording, and the part of each that is kept. */
#ifndef NCCL_INIT_SNAPSHOT_KEEP_H
#define NCCL_INIT_SNAPSHOT_KEEP_H

#include <stdbool.h>

#include "snapshot/masked.h"

/* Puts the part of a file's content that a masked recording may have. ctx: struct ni_keep_facts. */
ni_keep_fn ni_keep_file;
/* Returns true if a row says what is kept of a file that was read by that path. Without one it is
   recorded without its content. */
bool ni_keeps_file(const char *asked);

#endif
