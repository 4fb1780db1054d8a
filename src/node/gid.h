/* SPDX-License-Identifier: Apache-2.0 */
/* The GID tables of the active RoCE ports. */
#ifndef NCCL_INIT_NODE_GID_H
#define NCCL_INIT_NODE_GID_H

#include "nccl_init/rdma.h"
#include "node/read.h"
#include "sysroot/root.h"

void ni_probe_first_gids(struct ni_probe *p, struct ni_port *port, const struct ni_dir *dir);
void ni_probe_whole_gids(struct ni_probe *p);
/* Reads the GIDs of RoCE ports that the pod was given and that are not ACTIVE. */
void ni_probe_lost_gids(struct ni_probe *p);

#endif
