/* SPDX-License-Identifier: Apache-2.0 */
/* What only doctor asks for, beside what the rules want: */
#ifndef NCCL_INIT_NODE_HEALTH_H
#define NCCL_INIT_NODE_HEALTH_H

#include "node/read.h"

void ni_probe_health(struct ni_probe *p);

#endif
