/* SPDX-License-Identifier: Apache-2.0 */
/* The rules vf.merge and nic.merge: NICs that NCCL would fuse or look for in a wrong place. */
#ifndef NCCL_INIT_RULES_PCI_QUIRKS_H
#define NCCL_INIT_RULES_PCI_QUIRKS_H

#include <stdbool.h>

#include "nccl_init/rdma.h"
#include "rules/decide.h"

enum {
    NI_MAX_FUSED = 8 /* ports of one NIC, NCCL 2.30; 4 before (NCCL_NET_MAX_DEVS_PER_NIC) */
};

ni_rule_fn ni_rule_vf_merge, ni_rule_nic_merge;

/* Returns true for VFs or sub-functions of one port, or one of these and its PF. Needs
   NI_NEED_PFS. */
bool ni_share_port(const struct ni_hca *a, const struct ni_hca *b);
/* Returns true if NCCL looks for both HCAs at one address, as for the ports of a card. */
bool ni_is_one_place(const struct ni_work *w, const struct ni_hca *a, const struct ni_hca *b);

#endif
