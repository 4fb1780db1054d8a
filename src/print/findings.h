/* SPDX-License-Identifier: Apache-2.0 */
/* Findings in words and in JSON. */
#ifndef NCCL_INIT_PRINT_FINDINGS_H
#define NCCL_INIT_PRINT_FINDINGS_H

#include "nccl_init/findings.h"
#include "nccl_init/text.h"
#include "print/json_write.h"
#include "print/words.h"

/* Returns the number of findings of that severity as they are shown: what is said of several
   subjects is one. */
unsigned ni_count_shown_findings(const struct ni_findings *all, enum ni_severity severity);
/* Lists the findings of at least that severity as they are shown, the worst first, into ret. Returns
   their number. */
unsigned ni_list_shown_findings(const struct ni_findings *all, enum ni_severity least,
                                unsigned ret[NI_MAX_FINDINGS]);
/* Puts the subjects of the findings from `first` on that say the same: "mlx5_6/1, mlx5_7/1". */
void ni_put_subjects(struct ni_text *out, const struct ni_findings *all, unsigned first);
/* Puts why it matters, and who does what, below the line of a finding; and the command that says
   more. */
void ni_put_advice(struct ni_text *out, const struct ni_finding *f);
/* Puts that n findings are not shown: there was no room for them. */
void ni_put_not_shown(struct ni_text *out, unsigned n);
/* Puts the findings of at least that severity, each severity under its title, the worst first. */
void ni_put_findings(struct ni_text *out, const struct ni_view *view, enum ni_severity least);
/* Writes "findings", all of them, the worst first. */
void ni_json_findings(struct ni_json *j, const struct ni_findings *all);

/* Put a finding in one line, "warning: gid.v1-only: mlx5_6/1: message. hint"; write it as a JSON
   object. */
void ni_put_finding(struct ni_text *out, const struct ni_finding *finding);
void ni_json_finding(struct ni_json *j, const struct ni_finding *finding);

#endif
