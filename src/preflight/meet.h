/* SPDX-License-Identifier: Apache-2.0 */
/* meet: the pods of a job find each other, tell each other what they are, and try their rails. Pod 0
   runs the hub, every pod (pod 0 too) a leaf. All of it runs in a child without capabilities; what
   becomes the command reads nothing of the network. */
#ifndef NCCL_INIT_MEET_H
#define NCCL_INIT_MEET_H

#include "cli/cli.h"
#include "nccl_init/env.h"
#include "nccl_init/findings.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "preflight/job.h"
#include "rail/rails.h"

enum { NI_MEET_PEERS = 256 }; /* bytes of a name or address of pod 0 */

/* Who takes part, as options or the launcher say. */
struct ni_party {
    const char *source;       /* id of the row that told */
    char host[NI_MEET_PEERS]; /* of pod 0; a name or an address */
    unsigned port;
    unsigned rank, ranks;
    char key[128];    /* equal in all pods of this attempt; never shown to anybody */
    bool named;       /* the key is only the name of pod 0, which another job can have, too */
    bool stand_aside; /* local rank 0 of this pod acts, and no more is told */
};

/* true: *ret is whole. false: `why`, which was empty, says which variables would tell, or which is wrong,
   or what is not told. */
bool ni_find_party(const struct ni_env *env, const struct ni_party_options *options,
                   struct ni_party *ret, struct ni_text *why);

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
