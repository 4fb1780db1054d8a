/* SPDX-License-Identifier: Apache-2.0 */
/* report, private: findings, in every report alike. */
#ifndef NCCL_INIT_REPORT_FINDINGS_H
#define NCCL_INIT_REPORT_FINDINGS_H

#include "nccl_init/findings.h"
#include "nccl_init/json.h"

/* For people: those of at least that severity, the worst first; each severity under a title of its
   own, or all without one. */
void ni_put_findings(struct ni_text *out, const struct ni_findings *all, enum ni_severity least,
                     bool titles, bool colour);
/* "findings": all of them, the worst first. */
void ni_json_findings(struct ni_json *j, const struct ni_findings *all);

#endif
