/* SPDX-License-Identifier: Apache-2.0 */
/* What doctor looked at. */
#ifndef NCCL_INIT_DIAGNOSIS_H
#define NCCL_INIT_DIAGNOSIS_H

#include "nccl_init/core.h"
#include "nccl_init/findings.h"

enum ni_outcome {
    NI_CHECK_IDLE,    /* nothing of that kind here */
    NI_CHECK_UNKNOWN, /* the facts cannot be read from here: neither good nor bad */
    NI_CHECK_OK,
    NI_CHECK_FOUND /* there are findings */
};

struct ni_checked {
    const char *id; /* of the check */
    enum ni_outcome outcome;
};

enum { NI_MAX_CHECK = 32 };

struct ni_diagnosis {
    struct ni_checked at[NI_MAX_CHECK]; /* in the order of the table */
    unsigned n;
    struct {
        bool asked; /* --ignore */
        unsigned n; /* findings that do not count for that */
    } ignored[NI_F_COUNT];
};

#endif
