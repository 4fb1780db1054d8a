/* SPDX-License-Identifier: Apache-2.0 */
/* The rule gid.index: one index for all ports, or the family and range for NCCL's own search. */
#ifndef NCCL_INIT_RULES_GID_INDEX_H
#define NCCL_INIT_RULES_GID_INDEX_H

#include <stdbool.h>

#include "nccl_init/rdma.h"
#include "rules/decide.h"

ni_rule_fn ni_rule_gid_index;

/* Whether two entries must both be IPv4 or both IPv6. */
enum ni_family { NI_SAME_FAMILY, NI_ANY_FAMILY };
/* Returns true if the entry (NULL: none) serves as well as `best`: of its type, as much this pod's,
   as routable, and of its family if that counts. */
bool ni_is_as_good(const struct ni_gid *g, const struct ni_gid *best, enum ni_family family);

#endif
