/* SPDX-License-Identifier: Apache-2.0 */
/* doctor: what is wrong with this node and pod, whatever the variables say. */
#ifndef NCCL_INIT_DOCTOR_DOCTOR_H
#define NCCL_INIT_DOCTOR_DOCTOR_H

#include "nccl_init/text.h"
#include "print/report.h"
#include "rules/rules.h"
#include "selftest/selftest.h"

enum ni_outcome {
    NI_CHECK_IDLE,    /* nothing of that kind here */
    NI_CHECK_UNKNOWN, /* the facts cannot be read from here: neither good nor bad */
    NI_CHECK_OK,
    NI_CHECK_FOUND /* there are findings */
};

enum { NI_MAX_CHECK = 32 };

struct ni_diagnosis {
    struct {
        const char *id; /* of the check */
        enum ni_outcome outcome;
    } at[NI_MAX_CHECK]; /* in the order of the table */
    unsigned n;
    const bool *ignore;           /* --ignore, by finding; NULL: none */
    unsigned ignored[NI_F_COUNT]; /* findings that do not count for that */
};

/* doctor's checks of what no variable can mend; the inventory was gathered for doctor. */
void ni_diagnose(const struct ni_work *w, struct ni_diagnosis *ret);

/* trials: of --probe; NULL: none were made. */
void ni_put_doctor(struct ni_text *out, const struct ni_view *view,
                   const struct ni_diagnosis *diagnosis, const struct ni_trials *trials);
void ni_put_doctor_json(struct ni_text *out, const struct ni_view *view,
                        const struct ni_diagnosis *d, const struct ni_trials *trials);
ni_report_fn ni_put_doctor_brief;

#endif
