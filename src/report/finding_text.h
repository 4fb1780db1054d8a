/* SPDX-License-Identifier: Apache-2.0 */
/* report, private: a finding for people, the same in every report. */
#ifndef NCCL_INIT_REPORT_FINDING_TEXT_H
#define NCCL_INIT_REPORT_FINDING_TEXT_H

#include "nccl_init/findings.h"
#include "out.h"

void ni_say_finding(struct ni_text *out, const struct ni_finding *f, bool colour);
/* Those of at least that severity, worst first, under a title for each severity. */
void ni_say_findings_from(struct ni_text *out, const struct ni_findings *f, enum ni_severity least,
                          bool colour);

#endif
