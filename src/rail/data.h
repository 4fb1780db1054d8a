/* SPDX-License-Identifier: Apache-2.0 */
/* The data of a pair: small writes, who answers, bulk to the partner and back. */
#ifndef NCCL_INIT_RAIL_DATA_H
#define NCCL_INIT_RAIL_DATA_H

#include "rail/device.h"
#include "rail/stream.h"
#include "rail/task.h"

/* Writes who this end is to where the initiator reads it, as the target. */
void ni_show_identity(const struct ni_rail_device *d, const struct ni_rail_task *task);
/* Moves all data, as the initiator with connected queue pairs: all queue pairs at once what is
   small, then some after others what is bulk. task->result[NI_ROLE_INITIATOR] says how it went. */
void ni_move_data(struct ni_streams *streams);

#endif
