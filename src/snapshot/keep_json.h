/* SPDX-License-Identifier: Apache-2.0 */
/* JSON in a masked recording: the members that name the pod's devices. */
#ifndef NCCL_INIT_SNAPSHOT_KEEP_JSON_H
#define NCCL_INIT_SNAPSHOT_KEEP_JSON_H

#include "snapshot/keep_forms.h"

/* Keeps JSON texts, one after the other: of each object the members that the probers read. */
ni_form_fn ni_keep_json;

#endif
