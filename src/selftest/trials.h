/* SPDX-License-Identifier: Apache-2.0 */
/* Trials: each port is tried against itself. */
#ifndef NCCL_INIT_SELFTEST_TRIALS_H
#define NCCL_INIT_SELFTEST_TRIALS_H

#include <stdbool.h>
#include <stdint.h>

#include "rail/step.h"
#include "rail/task.h"
#include "rules/decide.h"

/* All trials of one run. */
struct ni_trials {
    unsigned n, passed;                     /* counted by decide/ */
    int at[NI_MAX_RAILS];                   /* the port in the inventory */
    struct ni_rail_task task[NI_MAX_RAILS]; /* result[NI_ROLE_INITIATOR]: how it went */
    int64_t size;                           /* bytes of memory registered by each */
    int64_t bytes;                          /* written, and read back, by each */
    int64_t limit_ms;                       /* for all */
    int64_t took_ms;
    int64_t memlock; /* soft RLIMIT_MEMLOCK; -1: unknown */
};

/* Returns true if NCCL will use RDMA if it can; false if the user chose something else. */
bool ni_wants_trials(const struct ni_work *w);
/* Plans the trials of a self-test: the chosen ports with the index that NCCL will use, then ports
   that were given to the pod by name and cannot be used. ret must be zeroed. */
void ni_plan_trials(const struct ni_work *w, struct ni_trials *ret);
/* Judges trials that have ended: a finding for each that did not pass, and for each fact that the
   device reports otherwise than sysfs. An inventory that was gathered for doctor tells more. */
void ni_judge_trials(const struct ni_work *w, struct ni_trials *all);

#endif
