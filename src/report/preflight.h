/* SPDX-License-Identifier: Apache-2.0 */
/* report, private: what the reports of a preflight share. */
#ifndef NCCL_INIT_REPORT_PREFLIGHT_H
#define NCCL_INIT_REPORT_PREFLIGHT_H

#include "nccl_init/report.h"

/* What was measured of one rail of a pod. */
struct ni_job_cell {
    int64_t send_mbps, receive_mbps;    /* the best; 0: not measured */
    int64_t latency_ns, slowest_ns;     /* the first median, the worst of all; 0: not measured */
    const struct ni_pair_result *first; /* that failed; NULL */
};

/* One for each rail of each pod, as the verdicts are; to be freed. NULL: no memory. */
struct ni_job_cell *ni_job_cells(const struct ni_job *job);
/* The slower of both directions; 0: not measured. */
int64_t ni_job_speed(const struct ni_job_cell *cell);
/* Gb/s, "0.31", "9.8", "362"; nothing where it was not measured. */
void ni_put_speed(struct ni_text *t, int64_t mbps);
/* "good", "slow", "failed", ...; by enum ni_rail_verdict. */
extern const char *const ni_word_rail[];

#endif
