/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs plan and topo: what would be done and why; how far each GPU is from each port. */
#ifndef NCCL_INIT_PLAN_PLAN_H
#define NCCL_INIT_PLAN_PLAN_H

#include "cli/option.h"
#include "cli/program.h"

ni_verb_fn ni_cmd_plan, ni_cmd_topo;

struct ni_plan_options {
    bool dot, rules, gids;
};
extern struct ni_plan_options ni_plan_options;
extern const struct ni_option_rows ni_plan_rows;

#endif
