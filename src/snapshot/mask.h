/* SPDX-License-Identifier: Apache-2.0 */
/* Masking: what identifies the machine is replaced in a recording, the same thing always by the
   same. */
#ifndef NCCL_INIT_SNAPSHOT_MASK_H
#define NCCL_INIT_SNAPSHOT_MASK_H

#include <stdbool.h>

#include "nccl_init/text.h"
#include "sysroot/tree.h"

struct ni_mask;

struct ni_mask; /* the masks of a record: the same thing always has the same mask */

/* Makes the masks for that record, which must stay, with its `above` set. Free them with
   ni_mask_free. NULL: no memory. */
struct ni_mask *ni_mask_new(const struct ni_tree *t);
void ni_mask_free(struct ni_mask *m);
/* Puts the masked path of an entry, or target of a link. false: the entry is left out. */
bool ni_mask_entry_path(struct ni_mask *m, const struct ni_entry *e, struct ni_text *ret);
void ni_mask_target(struct ni_mask *m, const struct ni_entry *e, struct ni_text *ret);
/* Puts the text with MAC addresses, UUIDs and GUIDs masked. asked: the path of its file. */
void ni_mask_text(struct ni_mask *m, const char *asked, struct ni_span s, struct ni_text *ret);
/* Returns true if there were more things than there is room for: the masks are of no use then. */
bool ni_mask_is_full(const struct ni_mask *m);

/* Functions that keep content call these. Puts a masked name, "name-3". */
void ni_mask_name(struct ni_mask *m, struct ni_span name, struct ni_text *ret);
/* Puts a path name by name, without masking usual names. */
void ni_mask_path(struct ni_mask *m, struct ni_span path, struct ni_text *ret);
/* Returns the name of a device or an interface that the record shows and that begins so; NULL. */
const char *ni_mask_shown(const struct ni_mask *m, struct ni_span beginning);
/* Puts such a name, or its beginning, as paths of the record have it: a MAC address or GUID in it,
   as in enxb8cef6a1b2c3, is masked. */
void ni_mask_device(struct ni_mask *m, const char *name, size_t n, struct ni_text *ret);

#endif
