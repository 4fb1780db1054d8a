/* SPDX-License-Identifier: Apache-2.0 */
/* The verb explain: the page of a finding. */
#ifndef NCCL_INIT_DOCTOR_EXPLAIN_H
#define NCCL_INIT_DOCTOR_EXPLAIN_H

#include "cli/program.h"

ni_verb_fn ni_cmd_explain;

#endif
