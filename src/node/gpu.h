/* SPDX-License-Identifier: Apache-2.0 */
/* The pod's GPUs, and what GPUDirect RDMA needs of the node. */
#ifndef NCCL_INIT_NODE_GPU_H
#define NCCL_INIT_NODE_GPU_H

#include <stdbool.h>

#include "node/read.h"

/* Returns true if the container has AMD's compute node. */
bool ni_has_amd(struct ni_probe *p);
/* Adds the pod's GPUs, and the first way of GPUDirect RDMA that the node has. */
void ni_probe_gpus(struct ni_probe *p);
/* Adds all ways of GPUDirect RDMA. */
void ni_probe_all_gdr(struct ni_probe *p);
/* Adds the numbers and UUIDs by which launchers name GPUs. */
void ni_probe_gpu_ids(struct ni_probe *p);

#endif
