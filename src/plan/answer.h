/* SPDX-License-Identifier: Apache-2.0 */
/* The first screens of plan and topo. */
#ifndef NCCL_INIT_PLAN_ANSWER_H
#define NCCL_INIT_PLAN_ANSWER_H

#include <stdbool.h>

#include "print/words.h"

ni_report_fn ni_put_plan_answer, ni_put_topo_answer;
/* Returns true if nothing that the plan knows forbids the start of the job. */
bool ni_plan_is_ready(const struct ni_view *view);

#endif
