/* SPDX-License-Identifier: Apache-2.0 */
/* Data Direct: the function of a ConnectX that reaches GPU memory by a way of its own. */
#ifndef NCCL_INIT_NODE_DATA_DIRECT_H
#define NCCL_INIT_NODE_DATA_DIRECT_H

#include "node/read.h"

void ni_probe_data_direct(struct ni_probe *p);

#endif
