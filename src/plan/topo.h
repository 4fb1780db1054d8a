/* SPDX-License-Identifier: Apache-2.0 */
/* The report of topo: distances between GPUs and HCAs in the words of `nvidia-smi topo -m`, and
   the PCI tree for Graphviz. */
#ifndef NCCL_INIT_PLAN_TOPO_H
#define NCCL_INIT_PLAN_TOPO_H

#include "print/words.h"

/* Put the matrix of ports and GPUs; the PCI tree for Graphviz. */
ni_report_fn ni_put_topo, ni_put_topo_dot;

#endif
