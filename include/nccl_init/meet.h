/* SPDX-License-Identifier: Apache-2.0 */
/* meet: the pods of a job find each other, tell each other what they are, and try their rails. Pod 0
   runs the hub, every pod (pod 0 too) a leaf. All of it runs in a child without capabilities; what
   becomes the command reads nothing of the network. */
#ifndef NCCL_INIT_MEET_H
#define NCCL_INIT_MEET_H

#include "nccl_init/core.h"
#include "nccl_init/findings.h"
#include "nccl_init/job.h"
#include "nccl_init/policy.h"
#include "nccl_init/rails.h"

enum {
    NI_MEET_PORT = 18555, /* below the ephemeral ports, not perftest's 18515 */
    NI_MEET_WITHIN = 120, /* seconds */
    NI_MEET_PROTOCOL = 1,
    NI_MEET_HELLO = 1024,    /* bytes of the first message, at most */
    NI_MEET_MESSAGE = 65536, /* of a later one */
    NI_MEET_PEERS = 256      /* bytes of a name or address of pod 0 */
};

/* Who takes part, as options or the launcher say. */
struct ni_party {
    const char *source;       /* id of the row that told */
    char host[NI_MEET_PEERS]; /* of pod 0; a name or an address */
    unsigned port;
    unsigned rank, ranks;
    char key[128];    /* equal in all pods of this attempt; "": any */
    bool stand_aside; /* another process of this pod acts: local rank is not 0 */
};

/* What the options say of it; what is not given is NULL, -1 or 0. */
struct ni_party_options {
    const char *peers, *job;
    int rank, ranks;
    unsigned port;
};

/* 0: *ret is whole. -ENOENT: nothing tells; why says which variables would. -EINVAL: what tells is
   wrong, or not enough; why says which variable and value. */
int ni_find_party(const struct ni_env *env, const struct ni_party_options *options,
                  struct ni_party *ret, struct ni_text *why);

/* One meeting, as the pod that takes part sees it. Not owned, and not changed but for `pod` and
   `rails`. */
struct ni_meeting {
    const struct ni_party *party;
    const struct ni_policy *policy; /* for what is judged at pod 0 */
    bool strict;                    /* a warning makes the verdict bad */
    int64_t within_ms;              /* until all must have come */
    int64_t bytes;                  /* of rank 0: as in struct ni_rail_task */
    int move_ms;
    /* Of this pod. What its rails find out of themselves (NI_WORK_OPEN) is put into pod->rail. */
    struct ni_pod *pod;
    /* Starts the rails' processes: ni_rails_start, and each task's settings. Called once, in the
       process that asks the rails; 0 or -errno. NULL: this pod has no rails. */
    int (*start)(struct ni_rails *rails, void *arg);
    struct ni_rails *rails;
    /* A line for people, such as "12 of 64 pods have come"; phase: a new phase begins, worth a line
       of a log. NULL: nobody wants it. At pod 0 also called in the hub's process. */
    void (*progress)(void *arg, const char *line, bool phase);
    /* At pod 0, in the hub's process: all that came out, after the others were told. */
    void (*result)(void *arg, const struct ni_job *job, const uint8_t *verdicts,
                   const struct ni_findings *f, bool bad);
    void *arg;
};

/* What pod 0 says of the job; or, where it was not reached, why. */
struct ni_verdict {
    bool good;
    char line[512]; /* without a line end */
};

/* The whole meeting of this pod; at pod 0 it forks the hub, and returns when that has ended.
   Findings of pod 0 are added to f. 0: *ret is pod 0's verdict. -ETIMEDOUT: pod 0 was not there in
   time; -ECONNRESET: it went away; -EPROTO: it refused this pod; or another errno of this machine:
   ret->line tells, and ret->good is false. To be called in a process that has nothing to lose, with
   the usual signals. */
int ni_meet(const struct ni_meeting *m, struct ni_verdict *ret, struct ni_findings *f);

/* ---- the parts of it, for tests ---- */

/* A listening socket on all addresses of this machine, or -errno; EMFILE: this process may not open
   a descriptor for each of `ranks` pods, though its limit was raised. */
int ni_hub_listen(unsigned port, unsigned ranks);
/* The star of pod 0, in a process of its own: what it allocates ends with that. leaf_fd: a stream
   to pod 0's own leaf, -1: none. Closes both. 0: the job is good; 1: bad; or -errno. */
int ni_hub(const struct ni_meeting *m, int listen_fd, int leaf_fd);
/* What every pod does. fd: a stream to the hub, or -1: it connects to party->host. */
int ni_leaf(const struct ni_meeting *m, int fd, struct ni_verdict *ret, struct ni_findings *f);

#endif
