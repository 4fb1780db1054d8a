/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher's variables: number of pods, this pod's number, the address of pod 0, the job's
   key. */
#ifndef NCCL_INIT_PREFLIGHT_LAUNCHER_H
#define NCCL_INIT_PREFLIGHT_LAUNCHER_H

#include <stdbool.h>

#include "nccl_init/env.h"
#include "nccl_init/text.h"

enum { NI_MEET_PEERS = 256 }; /* bytes of a name or address of pod 0 */

/* The pods of the job, from options or the launcher. */
struct ni_party {
    const char *source;       /* id of the launcher's row */
    char host[NI_MEET_PEERS]; /* the name or address of pod 0 */
    unsigned port;
    unsigned rank, ranks;
    const char *hosts; /* the launcher's list of all nodes, by rank; NULL: it gives none */
    char key[128];     /* equal in all pods of this attempt; never shown to anybody */
    bool named;        /* the key is only the name of pod 0, which another job can have, too */
    bool
        stand_aside; /* local rank 0 of this pod acts; of the other members only port and local are set */
    bool first;      /* this is local rank 0 of several processes, which wait for it */
    unsigned others; /* how many they are; 0: not known */
    /* equal in all processes of the pod, and in no other pod of its host's network */
    char local[NI_MEET_PEERS + 256];
};

/* Its options; one that is not given is NULL or negative. */
struct ni_party_options {
    const char *peers, *job, *self; /* self: this machine's own name */
    int rank, ranks;
    unsigned port;
};

/* Finds the job. true: *ret is complete. false: of it only what concerns the processes of this pod is
   set, and `why`, which was empty, names the variables that
   would give it, or the one that is wrong or missing. */
bool ni_find_party(const struct ni_env *env, const struct ni_party_options *options,
                   struct ni_party *ret, struct ni_text *why);

#endif
