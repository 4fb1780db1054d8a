/* SPDX-License-Identifier: Apache-2.0 */
/* The source that is DRA device metadata (KEP-5304; Kubernetes 1.36 alpha, 1.37 beta). */
#ifndef NCCL_INIT_NODE_SOURCE_DRA_H
#define NCCL_INIT_NODE_SOURCE_DRA_H

#include "node/allocations.h"

ni_source_fn ni_source_dra;

#endif
