/* SPDX-License-Identifier: Apache-2.0 */
/* Recording: each call below a root leaves what it found, as a .tree file. */
#ifndef NCCL_INIT_SYSROOT_RECORD_H
#define NCCL_INIT_SYSROOT_RECORD_H

#include <stddef.h>

#include "nccl_init/text.h"
#include "sysroot/root.h"
#include "sysroot/tree.h"

struct ni_mask;

/* Puts what of a file's content may stand in a masked record. asked: the path by which it was read.
   */
typedef void ni_keep_fn(void *ctx, struct ni_mask *m, const char *asked, struct ni_span content,
                        struct ni_text *ret);

/* Puts what the access meets into the record, links on the way too. */
void ni_record(const struct ni_dir *dir, const char *path, enum ni_access access);

/* From now on, record each call below the root. 0 or -errno. */
int ni_root_record(struct ni_root *root);

/* Puts what was recorded in .tree form: header, a comment line, then the entries. keep: the record
   is masked: of each file's content only what it puts is there, with MAC addresses, GUIDs and UUIDs
   replaced, and paths of people's choosing have other names; NULL: all is there. 0 or -errno: then
   the text is of no use. */
int ni_record_text(const struct ni_root *root, const char *header, ni_keep_fn *keep, void *ctx,
                   struct ni_text *ret);
/* Adds a file that is no file below the root (the environment) to the record. 0 or -errno. */
int ni_record_add(const struct ni_root *root, const char *path, const char *value, size_t len);

#endif
