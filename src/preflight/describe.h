/* SPDX-License-Identifier: Apache-2.0 */
/* Description of this pod for the others of the job: its rails, and its settings as NCCL will
   have them. */
#ifndef NCCL_INIT_PREFLIGHT_DESCRIBE_H
#define NCCL_INIT_PREFLIGHT_DESCRIBE_H

#include "preflight/job.h"
#include "rail/step.h"
#include "rules/decide.h"

void ni_describe_pod(const struct ni_work *w, struct ni_pod *ret, struct ni_rail *rail,
                     struct ni_pod_setting *setting);
/* Adds one more fact of the pod; "": it is not known. */
void ni_add_setting(struct ni_pod *pod, const char *name, const char *value);

#endif
