/* SPDX-License-Identifier: Apache-2.0 */
/* HCAs and their ports, read from sysfs. */
#ifndef NCCL_INIT_NODE_RDMA_H
#define NCCL_INIT_NODE_RDMA_H

#include <stdbool.h>

#include "nccl_init/base.h"
#include "nccl_init/known.h"
#include "node/read.h"

void ni_resolve_allocation(struct ni_probe *p, int allocation);
void ni_probe_visible(struct ni_probe *p);
/* Reads the GUIDs of the pod's InfiniBand ports that are not ACTIVE, and of their HCAs. */
void ni_probe_guids(struct ni_probe *p);
/* Reads the P_Keys of the pod's InfiniBand ports: up to the first full member, or all. */
void ni_probe_pkeys(struct ni_probe *p, bool all);
/* Adds facts of HCAs: NI_NEED_UNMERGED, NI_NEED_PFS, NI_NEED_RATES. */
void ni_probe_hcas(struct ni_probe *p, unsigned needs);
/* Returns true for the name uverbsN; reads the name of its RDMA device. */
bool ni_is_uverbs(const char *node);
enum ni_known ni_read_ibdev(struct ni_probe *p, enum ni_need need, const char *node,
                            char ibdev[NI_DEV_NAME]);

#endif
