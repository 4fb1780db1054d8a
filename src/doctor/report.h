/* SPDX-License-Identifier: Apache-2.0 */
/* The report of doctor, for people and in JSON. */
#ifndef NCCL_INIT_DOCTOR_REPORT_H
#define NCCL_INIT_DOCTOR_REPORT_H

#include "doctor/checks.h"
#include "nccl_init/text.h"
#include "print/words.h"
#include "selftest/trials.h"

/* Put the report: as text, as JSON, in one line. trials: those of --probe; NULL: none were made. */
void ni_put_doctor(struct ni_text *out, const struct ni_view *view,
                   const struct ni_diagnosis *diagnosis, const struct ni_trials *trials);
void ni_put_doctor_json(struct ni_text *out, const struct ni_view *view,
                        const struct ni_diagnosis *d, const struct ni_trials *trials);
ni_report_fn ni_put_doctor_brief;

#endif
