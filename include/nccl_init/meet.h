/* SPDX-License-Identifier: Apache-2.0 */
/* meet: the pods of a job find each other, tell each other what they are, and try their rails. Pod 0
   runs the hub, every pod (pod 0 too) a leaf. All of it runs in a child without capabilities; what
   becomes the command reads nothing of the network. */
#ifndef NCCL_INIT_MEET_H
#define NCCL_INIT_MEET_H

#include "nccl_init/core.h"
#include "nccl_init/job.h"
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
    char key[128];    /* equal in all pods of this attempt */
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

#endif
