/* SPDX-License-Identifier: Apache-2.0 */
/* Chosen ports, and the HCA, netdev and GID that belong to each. */
#ifndef NCCL_INIT_RULES_CHOSEN_H
#define NCCL_INIT_RULES_CHOSEN_H

#include <stdbool.h>

#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "rules/decide.h"

/* Number i of the chosen ports, 0 to n_chosen - 1, and what belongs to it. */
struct ni_chosen {
    int at; /* in the inventory */
    const struct ni_port *port;
    const struct ni_hca *hca;
    struct ni_port_plan *plan;
    const struct ni_gid *best, *gid; /* NULL: none */
};
struct ni_chosen ni_chosen(const struct ni_work *w, unsigned i);
/* Returns true if one of its ports is chosen. */
bool ni_is_chosen(const struct ni_work *w, int hca);

/* Lists the chosen ports in plan->chosen: in PCI order, as many as NCCL takes. */
void ni_list_chosen(const struct ni_work *w);

#endif
