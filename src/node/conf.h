/* SPDX-License-Identifier: Apache-2.0 */
/* The files in which people set variables for NCCL, RCCL and NVSHMEM. */
#ifndef NCCL_INIT_NODE_CONF_H
#define NCCL_INIT_NODE_CONF_H

#include "node/read.h"

void ni_probe_conf(struct ni_probe *p);
void ni_probe_topo_file(struct ni_probe *p); /* whether it can be read */

#endif
