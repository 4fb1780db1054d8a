/* SPDX-License-Identifier: Apache-2.0 */
/* The report of doctor, for people and in JSON. */
#ifndef NCCL_INIT_DOCTOR_REPORT_H
#define NCCL_INIT_DOCTOR_REPORT_H

#include <stdbool.h>

#include "doctor/checks.h"
#include "nccl_init/text.h"
#include "print/words.h"
#include "selftest/trials.h"

/* Of which pod the report is, and when. */
struct ni_who {
    const char *node; /* NODE_NAME; NULL: not told */
    char host[80];    /* the pod's name, or that of the host */
    char time[24];    /* "2026-11-23 08:30Z" */
    bool ready;       /* the exit status is 0 */
};

/* The first screen, and all. trials: of --probe; NULL: none were made. */
void ni_put_doctor_answer(struct ni_text *out, const struct ni_view *view, const struct ni_who *who,
                          const struct ni_diagnosis *diagnosis, const struct ni_trials *trials);
void ni_put_doctor(struct ni_text *out, const struct ni_view *view, const struct ni_who *who,
                   const struct ni_diagnosis *diagnosis, const struct ni_trials *trials);
void ni_put_doctor_json(struct ni_text *out, const struct ni_view *view, const struct ni_who *who,
                        const struct ni_diagnosis *d, const struct ni_trials *trials);
void ni_put_doctor_brief(struct ni_text *out, const struct ni_view *view, const struct ni_who *who);

#endif
