/* SPDX-License-Identifier: Apache-2.0 */
/* The verb doctor: faults of this node and pod, whatever the variables say. */
#ifndef NCCL_INIT_DOCTOR_DOCTOR_H
#define NCCL_INIT_DOCTOR_DOCTOR_H

#include "cli/option.h"
#include "cli/program.h"
#include "nccl_init/findings.h"
#include "nccl_init/guess.h"

ni_verb_fn ni_cmd_doctor;

struct ni_doctor_options {
    bool ignore[NI_F_END]; /* findings that do not count */
    bool probe, brief;
};
extern struct ni_doctor_options ni_doctor_options;
extern const struct ni_option_rows ni_doctor_rows;

/* Finds the finding whose id is likely to be meant. */
void ni_guess_finding(struct ni_guess *guess);

#endif
