/* SPDX-License-Identifier: Apache-2.0 */
/* plan: what would be done, and why; how far each GPU is from each HCA; the node as a .tree file. */
#ifndef NCCL_INIT_PLAN_PLAN_H
#define NCCL_INIT_PLAN_PLAN_H

#include "cli/cli.h"
#include "nccl_init/text.h"
#include "print/report.h"

ni_report_fn ni_put_plan, ni_put_plan_json;
/* Ports against GPUs in the words of `nvidia-smi topo -m`; the PCI tree for Graphviz. */
ni_report_fn ni_put_topo, ni_put_topo_dot;
/* What `run` says of the plan: "auto-detected ...", without a newline. memlock: the soft limit in force,
   -1 if unknown. */
void ni_put_summary(struct ni_text *out, const struct ni_view *view, int64_t memlock);
/* --snapshot-on-refusal, if it was given; what was gathered and decided is gone then. */
void ni_leave_snapshot(struct ni_context *ctx);

#endif
