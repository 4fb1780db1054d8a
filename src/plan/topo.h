/* SPDX-License-Identifier: Apache-2.0 */
/* The report of topo: distances between GPUs and HCAs in NCCL's words, and the PCI tree for
   Graphviz. */
#ifndef NCCL_INIT_PLAN_TOPO_H
#define NCCL_INIT_PLAN_TOPO_H

#include "print/words.h"

/* Returns the first GPU on a root bus, which shows that the PCI tree is flattened; -1. */
int ni_flat_gpu(const struct ni_inventory *inv);
/* Ports against GPUs, GPUs against GPUs; the PCI tree for Graphviz. */
ni_report_fn ni_put_topo, ni_put_topo_dot;

#endif
