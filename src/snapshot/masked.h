/* SPDX-License-Identifier: Apache-2.0 */
/* A masked record: of each recorded file the part that may be kept, with names that stand for
   others. */
#ifndef NCCL_INIT_SNAPSHOT_MASKED_H
#define NCCL_INIT_SNAPSHOT_MASKED_H

#include "nccl_init/text.h"
#include "sysroot/tree.h"

struct ni_mask;

/* Puts the part of a file's content that may stand in a masked record. asked: the path by which it
   was read. */
typedef void ni_keep_fn(void *ctx, struct ni_mask *m, const char *asked, struct ni_span content,
                        struct ni_text *ret);

/* Puts a record in .tree form, as ni_record_text does, but masked: of each file it has only the part
   that keep puts, with MAC addresses, GUIDs and UUIDs masked, and names that people choose are
   replaced. 0; or -errno, and the text is of no use. */
int ni_masked_text(struct ni_tree *record, const char *header, ni_keep_fn *keep, void *ctx,
                   struct ni_text *ret);

#endif
