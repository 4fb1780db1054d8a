/* SPDX-License-Identifier: Apache-2.0 */
/* report, private: the parts of the plan for people. Each writes whole lines, and nothing when it
   has nothing to tell. */
#ifndef NCCL_INIT_REPORT_PLAN_TEXT_H
#define NCCL_INIT_REPORT_PLAN_TEXT_H

#include "nccl_init/report.h"
#include "out.h"

/* What was found, and what became of it: plan_tables.c. */
void ni_plan_hcas(struct ni_text *out, const struct ni_view *view);
void ni_plan_verdicts(struct ni_text *out, const struct ni_view *view);
/* Nothing where only one source was asked or said anything. */
void ni_plan_sources(struct ni_text *out, const struct ni_view *view);
void ni_plan_claims(struct ni_text *out, const struct ni_view *view);
void ni_plan_gids(struct ni_text *out, const struct ni_view *view); /* --gids */
void ni_plan_gpus(struct ni_text *out, const struct ni_view *view);

#endif
