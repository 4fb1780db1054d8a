/* SPDX-License-Identifier: Apache-2.0 */
/* Words for the pods of a job. */
#ifndef NCCL_INIT_PREFLIGHT_JOB_H
#define NCCL_INIT_PREFLIGHT_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/flow.h"
#include "nccl_init/findings.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "rail/step.h"

enum {
    NI_MAX_RANKS = 16384, /* pods of one job */
    NI_POD_NAME = 64,     /* a host name has at most 63 characters (RFC 1123) */
    NI_MAX_POD_SETTINGS = 64
};

/* A fact of the pod, or a setting as NCCL will have it there: the user's, of nccl.conf, or ours;
   none where it is unset, or NCCL's default. */
struct ni_pod_setting {
    char name[48];   /* of a row of ni_job_settings */
    char value[128]; /* longer ones are cut */
};

struct ni_pod {
    bool here;                                 /* it came and told */
    char host[NI_POD_NAME], node[NI_POD_NAME]; /* node: NODE_NAME, else "" */
    enum ni_transport transport;
    unsigned n_setting, n_rail;
    struct ni_pod_setting *setting; /* as many; the owner of the pod keeps them */
    struct ni_rail *rail;
};

enum ni_missing { NI_POD_CAME, NI_POD_NEVER_CAME, NI_POD_WENT_AWAY };

/* The verdict on a rail of a pod. */
enum ni_rail_verdict {
    NI_RAIL_ABSENT, /* the pod has no such rail */
    NI_RAIL_GONE,   /* the pod is not there */
    NI_RAIL_UNTRIED,
    NI_RAIL_GOOD,
    NI_RAIL_SLOW,
    NI_RAIL_PATH,   /* fails with some, not with all */
    NI_RAIL_FAILED, /* the port is to blame */
    NI_RAIL_VERDICTS
};

/* Speed of data in one direction. 0: not measured. */
struct ni_flow {
    int64_t mbps, percent; /* of the median of all, as parts of the rates */
};

/* Results of the rounds so far for a rail of a pod. 0: not measured. */
struct ni_rail_tally {
    enum ni_rail_verdict verdict;
    unsigned passed, failed;              /* pairs; not what is certainly another's fault */
    unsigned measured;                    /* of the passed ones: both rates are known */
    unsigned passed_again;                /* by new queue pairs with this rank + 1; 0: with none */
    uint8_t busy;                         /* roles that it has in the round that is being made */
    struct ni_flow send, receive;         /* the best */
    int64_t latency_ns, slowest_ns;       /* the first median, the worst of all */
    const struct ni_pair_result *failure; /* that says most; NULL */
};

struct ni_job {
    unsigned ranks;
    const char *source; /* who told: id of the launcher's row, "pet", "lws", "peers" */
    struct ni_pod *pod; /* by rank */
    uint8_t *missing;   /* enum ni_missing, by rank */
    unsigned n_rail;    /* the largest n_rail of all pods */
    unsigned n_result;
    struct ni_pair_result *result; /* in the order of the rounds */
    unsigned rounds;               /* that were run */
    struct ni_rail_tally *tally;   /* by rank and rail: ni_tally_of */
    int64_t median;                /* of all writes and reads, in parts of the rates */
};

/* The verdict of pod 0 on the job; or, if pod 0 was not reached, the reason. */
struct ni_verdict {
    bool good;
    char line[704];           /* without a line end */
    const struct ni_job *job; /* at pod 0 what came out, else NULL */
};

struct ni_rail_tally *ni_tally_of(const struct ni_job *job, unsigned rank, unsigned rail);
/* "trainer-17 (node-b3)"; "rank 17" where it never came. */
void ni_put_pod(struct ni_text *to, const struct ni_job *job, unsigned rank);
/* The first sentence of the result, with "good: " or "bad: " in front. */
void ni_put_verdict(struct ni_text *to, const struct ni_job *job, const struct ni_findings *f,
                    bool bad);

#endif
