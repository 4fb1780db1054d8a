/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of bad paths. */
#ifndef NCCL_INIT_PREFLIGHT_PATH_FINDINGS_H
#define NCCL_INIT_PREFLIGHT_PATH_FINDINGS_H

#include "nccl_init/findings.h"
#include "nccl_init/text.h"
#include "preflight/job.h"
#include "preflight/paths.h"

/* Puts the leaf that most of the rail's pairs touch of which `is` holds; nothing if no pod knows its
   own, or too many leaves are equal: "9 of 9 bad pairs touch leaf-3; ". */
void ni_put_leaf_of_pairs(struct ni_text *t, const struct ni_job *job, unsigned rail,
                          ni_pair_is *is);

/* Reports the paths of each rail that are slow, that fail or lose packets, and that failed once,
   and reports rails on which many packets were sent again. */
void ni_report_paths(const struct ni_job *job, struct ni_findings *f);

#endif
