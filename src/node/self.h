/* SPDX-License-Identifier: Apache-2.0 */
/* This process, as /proc/self describes it. */
#ifndef NCCL_INIT_NODE_SELF_H
#define NCCL_INIT_NODE_SELF_H

#include "node/read.h"

void ni_probe_self(struct ni_probe *p);
void ni_probe_kernel(struct ni_probe *p); /* its version */

#endif
