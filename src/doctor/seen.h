/* SPDX-License-Identifier: Apache-2.0 */
/* Words for what doctor saw. */
#ifndef NCCL_INIT_DOCTOR_SEEN_H
#define NCCL_INIT_DOCTOR_SEEN_H

#include <stdint.h>

#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/text.h"
#include "print/words.h"

/* Numbers of several things: "9000", or "1500 to 9000". */
struct ni_range {
    int64_t least, most;
    unsigned n;
};

/* Adds a number, if it is known. */
void ni_range_add(struct ni_range *range, struct ni_num num);
/* Puts the range in that unit, of that name; nothing if no number is known. */
void ni_put_range(struct ni_text *t, const struct ni_range *range, double unit, const char *name);

/* Returns how the node shares RDMA devices between network namespaces: "shared"; NULL: not known. */
const char *ni_netns_word(const struct ni_inventory *inv);
/* Returns the title of a finding that is no check's: of its subject, by the first word of its id.
   Of a setting that an nccl.conf makes, and not the user's environment: "nccl.conf". */
const char *ni_finding_title(const struct ni_view *view, const struct ni_finding *f);

#endif
