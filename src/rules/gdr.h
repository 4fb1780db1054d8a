/* SPDX-License-Identifier: Apache-2.0 */
/* The rule gdr.level: NCCL_NET_GDR_LEVEL, by the distances between GPUs and HCAs. */
#ifndef NCCL_INIT_RULES_GDR_H
#define NCCL_INIT_RULES_GDR_H

#include <stdbool.h>

#include "nccl_init/inventory.h"
#include "nccl_init/pci.h"
#include "nccl_init/text.h"
#include "rules/decide.h"

ni_rule_fn ni_rule_gdr;
/* Returns true if the node can do GPUDirect RDMA at all, given a GPU and a port; if not, *ret_why
   is the reason, with a finding. */
bool ni_can_gdr(const struct ni_work *w, const char **ret_why);
/* Returns the file from which NCCL takes distances instead of the PCI tree: its path, or the
   variable that names it; NULL: there is none that can be read. */
const char *ni_topo_file(const struct ni_inventory *inv);
/* Returns the NCCL_NET_GDR_LEVEL in force. NCCL ignores a word that it does not know, and goes up to
   PXB. P2C means NVLink-C2C and devices at the same CPU, which is PHB on the PCI tree, and is NCCL's
   default with C2C (NCCL 2.30.7 graph/paths.cc ncclTopoCheckGdr). */
enum ni_distance ni_gdr_level(const struct ni_work *w);
/* Puts the port that NCCL takes for a GPU, or those of a fused NIC: "mlx5_0/1+mlx5_1/1". */
void ni_put_taken(const struct ni_work *w, unsigned gpu, struct ni_text *t);
/* Wants the NUMA nodes, which tell PHB from SYS, and Data Direct functions, if a GPU has no chosen
   HCA below a switch of both. */
void ni_want_numa(const struct ni_work *w);

#endif
