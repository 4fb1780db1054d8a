/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL's own search for a GID, followed step by step on the table that was read. */
#ifndef NCCL_INIT_RULES_GID_SEARCH_H
#define NCCL_INIT_RULES_GID_SEARCH_H

#include <stdbool.h>

#include "nccl_init/inventory.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "rules/decide.h"

/* The end of the search of NCCL 2.21.5 and later for a port. */
struct ni_gid_end {
    unsigned index;           /* never negative; 0 if no entry fits */
    const struct ni_gid *gid; /* the entry there; NULL: none was read, or it is unproven */
    /* the end is not certain: a row could not be read, or NCCL compares the type of an entry whose
       type it could not read (it then leaves the variable unset) */
    bool unproven;
};

/* Overwrites *selection with the user's own settings; an empty one is NCCL's default. true: the
   user set a variable of the search, and not to nothing. */
bool ni_user_selection(const struct ni_work *w, struct ni_gid_selection *selection);
struct ni_gid_end ni_gid_end(const struct ni_inventory *inv, const struct ni_port *port,
                             const struct ni_gid_selection *selection);

#endif
