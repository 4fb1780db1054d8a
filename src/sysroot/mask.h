/* SPDX-License-Identifier: Apache-2.0 */
/* Masking: what identifies the machine is replaced in a recording, the same thing always by the
   same. */
#ifndef NCCL_INIT_SYSROOT_MASK_H
#define NCCL_INIT_SYSROOT_MASK_H

#include <stdbool.h>

#include "nccl_init/text.h"
#include "sysroot/tree.h"

struct ni_mask;

struct ni_mask; /* what stands for what in a masked record: the same for the same */

/* For that record, which must stay, its `above` told. To be freed with ni_mask_free. NULL: no
   memory. */
struct ni_mask *ni_mask_new(const struct ni_tree *t);
void ni_mask_free(struct ni_mask *m);
/* The path of an entry, the target of its link; false: it is left out. */
bool ni_mask_entry_path(struct ni_mask *m, const struct ni_entry *e, struct ni_text *ret);
void ni_mask_target(struct ni_mask *m, const struct ni_entry *e, struct ni_text *ret);
/* The text with MAC addresses, UUIDs and GUIDs replaced. asked: of which file. */
void ni_mask_text(struct ni_mask *m, const char *asked, struct ni_span s, struct ni_text *ret);
/* There were more things than there is room for: the masks are of no use. */
bool ni_mask_is_full(const struct ni_mask *m);

/* For those: "name-3"; a path name by name, but for those that every machine has; whether a device
   or an interface that the record shows has a name that begins so. */
void ni_mask_name(struct ni_mask *m, struct ni_span name, struct ni_text *ret);
void ni_mask_path(struct ni_mask *m, struct ni_span path, struct ni_text *ret);
bool ni_mask_is_shown(const struct ni_mask *m, struct ni_span beginning);

#endif
