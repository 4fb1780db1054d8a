/* SPDX-License-Identifier: Apache-2.0 */
/* The source that is JSON in a file or a variable: the network-status annotation of Multus. */
#ifndef NCCL_INIT_NODE_SOURCE_JSON_H
#define NCCL_INIT_NODE_SOURCE_JSON_H

#include "node/allocations.h"

ni_source_fn ni_source_netstatus;

#endif
