/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of doctor: faults that no variable can correct. */
#ifndef NCCL_INIT_DOCTOR_CHECKS_H
#define NCCL_INIT_DOCTOR_CHECKS_H

#include <stdbool.h>

#include "doctor/check.h"
#include "nccl_init/findings.h"
#include "rules/decide.h"

enum ni_check_outcome {
    NI_CHECK_IDLE,    /* the pod has nothing of that kind */
    NI_CHECK_UNKNOWN, /* the facts cannot be read from inside the pod */
    NI_CHECK_OK,
    NI_CHECK_FOUND /* there are findings */
};

/* The outcomes of all checks, in the order of the table. */
struct ni_diagnosis {
    struct {
        const struct ni_check *check;
        enum ni_check_outcome outcome;
    } at[NI_MAX_CHECK];
    unsigned n;
    const bool *ignore;         /* the findings that --ignore names; NULL: none */
    unsigned ignored[NI_F_END]; /* numbers of findings that were left out for that */
};

/* Makes all checks of an inventory that was gathered for doctor. Reports findings. */
void ni_diagnose(const struct ni_work *w, struct ni_diagnosis *ret);

/* Returns the check whose fact the finding is about; NULL: a rule or a prober found it. */
const struct ni_check *ni_check_of(ni_finding_number finding);

#endif
