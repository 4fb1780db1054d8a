/* SPDX-License-Identifier: Apache-2.0 */
/* The NICs that NCCL makes of the chosen ports, and those that it takes for each GPU. */
#ifndef NCCL_INIT_RULES_NCCL_NICS_H
#define NCCL_INIT_RULES_NCCL_NICS_H

#include "rules/decide.h"

/* Finds for each GPU the ports that NCCL takes (plan->nccl_ports, plan->nccl_hca). plan->distance is
   known. Wants the rates, links and NUMA nodes if want is set; without them the nearest HCAs are
   taken. */
void ni_find_nccl_nics(const struct ni_work *w);
/* Wants the facts by which NCCL compares HCAs beyond their distance. */
void ni_want_bandwidth(const struct ni_work *w);

#endif
