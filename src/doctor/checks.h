/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of doctor: faults that no variable can correct. None depends on another; the table is
   at the end. */
#ifndef NCCL_INIT_DOCTOR_CHECKS_H
#define NCCL_INIT_DOCTOR_CHECKS_H

#include <stdbool.h>

#include "nccl_init/findings.h"
#include "rules/decide.h"

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

/* doctor's checks of faults that no variable can correct; the inventory was gathered for doctor. */
void ni_diagnose(const struct ni_work *w, struct ni_diagnosis *ret);

#endif
