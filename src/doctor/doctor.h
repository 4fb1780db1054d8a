/* SPDX-License-Identifier: Apache-2.0 */
/* doctor: what is wrong with this node and pod, whatever the variables say. */
#ifndef NCCL_INIT_DOCTOR_DOCTOR_H
#define NCCL_INIT_DOCTOR_DOCTOR_H

#include "cli/verbs.h"

ni_verb_fn ni_cmd_doctor;

#endif
