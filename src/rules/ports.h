/* SPDX-License-Identifier: Apache-2.0 */
/* hca.ports: */
#ifndef NCCL_INIT_RULES_PORTS_H
#define NCCL_INIT_RULES_PORTS_H

#include <stdbool.h>

#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "rules/decide.h"

ni_rule_fn ni_rule_ports, ni_rule_hca_list;

/* Left in by --hcas and by the user's NCCL_IB_HCA, where there are such. */
bool ni_is_listed(const struct ni_work *w, int port);
/* NCCL will use the port if it can: it is chosen, or the user's NCCL_IB_HCA takes it whatever the plan
   says. */
bool ni_is_taken(const struct ni_work *w, int port);
/* Lists the chosen ports in plan->chosen: in PCI order, as many as NCCL takes. */
void ni_list_chosen(const struct ni_work *w);
/* The HCA's device node is known not to be there, or not to open. */
bool ni_lacks_node(const struct ni_uverbs *node);
/* What is wrong with the HCA's device node, as a clause; false for nothing that is known. */
bool ni_put_node(const struct ni_uverbs *node, struct ni_text *t);

#endif
