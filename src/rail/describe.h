/* SPDX-License-Identifier: Apache-2.0 */
/* Description of a port as a rail of the job. */
#ifndef NCCL_INIT_RAIL_DESCRIBE_H
#define NCCL_INIT_RAIL_DESCRIBE_H

#include "rail/step.h"
#include "rules/decide.h"

/* Describes the port as a rail of the job: the index that NCCL will use, and its known facts. */
void ni_describe_rail(const struct ni_work *w, int at, struct ni_rail *rail);

#endif
