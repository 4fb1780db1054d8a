/* SPDX-License-Identifier: Apache-2.0 */
/* The coordinator, in pod 0: it meets the other pods and leads them through the rounds. */
#ifndef NCCL_INIT_PREFLIGHT_MEETING_H
#define NCCL_INIT_PREFLIGHT_MEETING_H

#include <stdbool.h>
#include <stdint.h>

#include "nccl_init/findings.h"
#include "preflight/job.h"
#include "preflight/participant.h"

/* Runs the whole meeting of this pod. Findings of pod 0 are added to f. 0: *ret is pod 0's verdict.
   -ETIMEDOUT: pod 0 was not there in time, or refused this pod; -ECONNRESET: it went away; or
   another errno: ret->line says why, and ret->outcome is NI_JOB_BAD. Call it in a process of its own with
   the usual signals: its memory is freed when the process ends. */
int ni_meet(const struct ni_rendezvous *m, struct ni_verdict *ret, struct ni_findings *f);

#endif
