/* SPDX-License-Identifier: Apache-2.0 */
/* Facts that doctor asks for beyond those of the rules: drivers, counters, the container. */
#ifndef NCCL_INIT_NODE_HEALTH_H
#define NCCL_INIT_NODE_HEALTH_H

#include "node/read.h"

void ni_probe_health(struct ni_probe *p);
/* Reads whether RDMA devices belong to network namespaces. */
void ni_probe_netns_mode(struct ni_probe *p);

#endif
