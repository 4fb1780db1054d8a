/* SPDX-License-Identifier: Apache-2.0 */
/* Pod 0's star: */
#ifndef NCCL_INIT_PREFLIGHT_COORDINATOR_H
#define NCCL_INIT_PREFLIGHT_COORDINATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/flow.h"
#include "nccl_init/findings.h"
#include "nccl_init/plan.h"
#include "preflight/job.h"
#include "preflight/launcher.h"
#include "rail/rail.h"

/* One meeting, as the pod that takes part sees it. Not owned, and not changed but for `pod`. */
struct ni_meeting {
    const struct ni_party *party;
    const struct ni_policy *policy; /* for what is judged at pod 0 */
    bool strict;                    /* a warning makes the verdict bad */
    bool host_network;              /* the address of this pod is that of others, too */
    int64_t within_ms;              /* until all must have come */
    struct ni_pod *pod; /* this one. What its rails find out of themselves is put into pod->rail */
    ni_rail_fn *fn;     /* NULL: its rails cannot be tried */
    struct ni_rail_task task; /* what they all have; bytes and move_ms are those of rank 0 */
    /* A line for people, such as "12 of 64 pods have come"; phase: a new phase begins, worth a line
       of a log. At pod 0 in two processes. */
    void (*progress)(void *arg, const char *line, bool phase);
    void (*begun)(void *arg); /* waiting for pods is over. NULL: nobody asks */
    void *arg;
};

/* The whole meeting of this pod. Findings of pod 0 are added to f. 0: *ret is pod 0's verdict.
   -ETIMEDOUT: pod 0 was not there in time, or refused this pod; -ECONNRESET: it went away; or another
   errno: ret->line tells, and ret->good is false. To be called in a process that has nothing to lose,
   with the usual signals: what it allocates ends with that. */
int ni_meet(const struct ni_meeting *m, struct ni_verdict *ret, struct ni_findings *f);

#endif
