/* SPDX-License-Identifier: Apache-2.0 */
/* Recording: each call below a root leaves what it found, as a .tree file. */
#ifndef NCCL_INIT_SYSROOT_RECORD_H
#define NCCL_INIT_SYSROOT_RECORD_H

#include <stddef.h>

#include "nccl_init/text.h"
#include "sysroot/root.h"
#include "sysroot/tree.h"

struct ni_mask;

/* Puts the part of a file's content that may stand in a masked record. asked: the path by which it
   was read. */
typedef void ni_keep_fn(void *ctx, struct ni_mask *m, const char *asked, struct ni_span content,
                        struct ni_text *ret);

/* Records everything that the access meets, also the links on the way. */
void ni_record(const struct ni_dir *dir, const char *path, enum ni_access access);

/* Begins to record each call below the root. 0 or -errno. */
int ni_root_record(struct ni_root *root);

/* Puts the record in .tree form: header, a comment line, then the entries. keep: the record is
   masked, so of each file it has only the part that keep puts, with MAC addresses, GUIDs and UUIDs
   masked, and names that people choose are replaced; NULL: it has everything. 0; or -errno, and the
   text is of no use. */
int ni_record_text(const struct ni_root *root, const char *header, ni_keep_fn *keep, void *ctx,
                   struct ni_text *ret);
/* Adds content that is no file below the root (the environment) to the record. 0 or -errno. */
int ni_record_add(const struct ni_root *root, const char *path, const char *value, size_t len);

#endif
