/* SPDX-License-Identifier: Apache-2.0 */
/* A participant: it describes its pod, and tries its rails as the coordinator asks. */
#ifndef NCCL_INIT_PREFLIGHT_PARTICIPANT_H
#define NCCL_INIT_PREFLIGHT_PARTICIPANT_H

#include "cli/progress_table.h"
#include "nccl_init/plan.h"
#include "preflight/job.h"
#include "preflight/launcher.h"
#include "preflight/secret.h"
#include "rail/task.h"

enum {
    NI_MOVE_MS = 3000 /* for data, if pod 0 says so, unless the pod's own option allows more */
};

/* One meeting, as a pod that takes part sees it. Not owned; only `pod` is changed. */
struct ni_rendezvous {
    const struct ni_party *party;
    const struct ni_secret *secret; /* NULL: the job has none, and nothing is authenticated */
    const struct ni_policy *policy; /* for the judgement at pod 0 */
    unsigned need;      /* at pod 0: so many good pods are enough; 0: all must be good */
    bool strict;        /* a warning makes the verdict bad */
    bool host_network;  /* the address of this pod is that of others, too */
    int64_t within_ms;  /* the time in which all must come */
    int64_t rounds_ms;  /* pod 0 begins no round after that; 0: ni_rounds_ms decides */
    struct ni_pod *pod; /* this pod. Facts that its rails find out are put into pod->rail */
    ni_rail_fn *fn;     /* NULL: its rails cannot be tried */
    /* the members that all tasks share; bytes and move_ms are those of rank 0 */
    struct ni_rail_task task;
    /* A row for people: "pods", "12 of 64 came" */
    void (*progress)(void *arg, const char *what, const char *line, enum ni_progress kind);
    void (*begun)(void *arg); /* waiting for pods is over. NULL: nobody asks */
    /* pod 0 has just told all others the verdict. NULL: nobody asks */
    void (*told)(void *arg, enum ni_outcome outcome);
    void *arg;
};

/* Returns how long a pod takes part in rounds, if its own option lets data move for so long. Pod 0
   begins no round after three quarters of it; the command's process waits longer. */
int64_t ni_rounds_ms(int move_ms);

/* Takes part in the preflight, as every pod does. fd: a stream to the coordinator, which needs no
   secret; -1: connect to party->host. 0: *ret is pod 0's verdict; or -errno, and ret->line says
   why. */
int ni_participate(const struct ni_rendezvous *m, int fd, struct ni_verdict *ret);

#endif
