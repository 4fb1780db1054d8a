/* SPDX-License-Identifier: Apache-2.0 */
/* The rule gid.pick: each port's best GID. */
#ifndef NCCL_INIT_RULES_GID_PICK_H
#define NCCL_INIT_RULES_GID_PICK_H

#include <stdbool.h>

#include "nccl_init/inventory.h"
#include "nccl_init/rdma.h"
#include "rules/decide.h"

ni_rule_fn ni_rule_gids;

/* Return the port's best entry for this pod, of all entries or of the routable IPv6 ones. Of equal
   ones it is that with the lowest index, as in NCCL's search. An index into the inventory's GIDs,
   or -1. */
int ni_best_gid(const struct ni_inventory *inv, const struct ni_port *port);
int ni_best_routable_v6(const struct ni_inventory *inv, const struct ni_port *port);
/* Returns true if that entry is RoCE v2 with an address that routers carry. Its owner may not be
   known. */
bool ni_has_routable_gid(const struct ni_inventory *inv, const struct ni_port *port);

#endif
