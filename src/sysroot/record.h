/* SPDX-License-Identifier: Apache-2.0 */
/* Recording: each call below a root leaves what it found, as a .tree file. */
#ifndef NCCL_INIT_SYSROOT_RECORD_H
#define NCCL_INIT_SYSROOT_RECORD_H

#include <stddef.h>

#include "nccl_init/text.h"
#include "sysroot/root.h"
#include "sysroot/tree.h"

/* Records everything that the access meets, also the links on the way. */
void ni_record(const struct ni_dir *dir, const char *path, enum ni_access access);

/* Begins to record each call below the root. 0 or -errno. */
int ni_root_record(struct ni_root *root);

/* Returns the entries of a record that are written, in order, with `above` set in all; the caller
   frees them. NULL: no memory. */
struct ni_entry *ni_record_entries(struct ni_tree *t, size_t *ret_n);
/* Puts a record in .tree form: header, a comment line, then the entries. 0; or -errno, and the text
   is of no use. */
int ni_record_text(struct ni_tree *record, const char *header, struct ni_text *ret);
/* Adds content that is no file below the root (the environment), or stands for one, to the record.
   Without a record it does nothing. 0 or -errno. */
int ni_record_add(const struct ni_root *root, const char *path, const char *value, size_t len);
/* Adds it as ni_record_add does; that the record has something else there is no fault. */
void ni_record_offer(const struct ni_root *root, const char *path, const char *value, size_t len);

#endif
