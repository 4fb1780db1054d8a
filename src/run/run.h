/* SPDX-License-Identifier: Apache-2.0 */
/* The verb run: it makes the settings, raises the limit, and becomes the command. */
#ifndef NCCL_INIT_RUN_RUN_H
#define NCCL_INIT_RUN_RUN_H

#include "cli/option.h"
#include "cli/program.h"

struct ni_context;
struct ni_plan;

ni_verb_fn ni_cmd_run;

/* Says on standard error what was decided: the settings in one line, as info, and each with its
   reason, as debug. */
void ni_say_plan(struct ni_context *ctx);

/* Returns true if a rule set a variable: the command would not have it without this program. */
bool ni_has_rule_settings(const struct ni_plan *plan);

struct ni_run_options {
    const char *refusal_snapshot; /* file; NULL: none */
};
extern struct ni_run_options ni_run_options;
/* --selftest, --preflight; those of ni_run_options. */
extern const struct ni_option_rows ni_demand_rows, ni_run_rows;

#endif
