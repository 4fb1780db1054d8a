/* SPDX-License-Identifier: Apache-2.0 */
/* What holds in this pod, or on a recorded node, of what explain shows. */
#ifndef NCCL_INIT_DOCTOR_HERE_H
#define NCCL_INIT_DOCTOR_HERE_H

#include <stdbool.h>

#include "cli/context.h"
#include "doctor/explain_text.h"
#include "nccl_init/text.h"

/* Looks at the node as doctor does, for ni_put_here. *ret_told: it is worth telling of, for it is
   another node, or this machine has an HCA or a GPU. The context is that of the verb explain. 0, or
   an exit status after saying why --root cannot be read. */
int ni_look_here(struct ni_context *ctx, bool *ret_told);
/* Puts what holds there of the topic, below a heading: its findings and settings, and the GIDs if it
   is about their index. Puts nothing if there is nothing to say. */
void ni_put_here(struct ni_context *ctx, struct ni_text *out, const struct ni_topic *topic);

#endif
