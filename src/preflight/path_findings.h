/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of bad paths. */
#ifndef NCCL_INIT_PREFLIGHT_PATH_FINDINGS_H
#define NCCL_INIT_PREFLIGHT_PATH_FINDINGS_H

#include "nccl_init/findings.h"
#include "preflight/job.h"

/* Reports the paths of each rail that are slow, that fail or lose packets, and that failed once,
   and reports rails on which many packets were sent again. */
void ni_report_paths(const struct ni_job *job, struct ni_findings *f);

#endif
