/* SPDX-License-Identifier: Apache-2.0 */
/* Sources of the pod's HCAs, asked in order of trust. */
#ifndef NCCL_INIT_NODE_SOURCES_H
#define NCCL_INIT_NODE_SOURCES_H

#include "node/read.h"

/* Asks the sources, in order of trust. Each adds allocations. */
void ni_probe_sources(struct ni_probe *p);
/* Asks for the nodes that open, if another source decided. */
void ni_probe_uverbs(struct ni_probe *p);

#endif
