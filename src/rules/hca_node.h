/* SPDX-License-Identifier: Apache-2.0 */
/* Device nodes of HCAs, /dev/infiniband/uverbsN. */
#ifndef NCCL_INIT_RULES_HCA_NODE_H
#define NCCL_INIT_RULES_HCA_NODE_H

#include <stdbool.h>

#include "nccl_init/rdma.h"
#include "nccl_init/text.h"

/* Returns true if the device node is known to be absent, or not to open. */
bool ni_lacks_uverbs(const struct ni_uverbs *node);
/* Puts the reason why the HCA cannot be opened, as a clause. false: nothing is known to be
   wrong. */
bool ni_put_node(const struct ni_uverbs *node, struct ni_text *t);

#endif
