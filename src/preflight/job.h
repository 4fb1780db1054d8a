/* SPDX-License-Identifier: Apache-2.0 */
/* The pods of one job: what each tells of itself, what is tried between them, and what came out.
   Plain data of `preflight`: filled by meet/ at pod 0, judged by decide/, told by report/. */
#ifndef NCCL_INIT_JOB_H
#define NCCL_INIT_JOB_H

#include "nccl_init/core.h"
#include "nccl_init/findings.h"
#include "nccl_init/plan.h"

enum {
    NI_MAX_RANKS = 16384, /* pods of one job */
    NI_MAX_RAILS = NI_MAX_CHOSEN,
    NI_POD_NAME = 64,   /* a host name has at most 63 characters (RFC 1123) */
    NI_MAX_SUBNETS = 8, /* networks that a rail's interface has a route to */
    NI_MAX_POD_SETTINGS = 64
};

/* ---- what a pod tells ---- */

/* A network that can be reached through the rail's interface. */
struct ni_subnet {
    uint8_t ip[NI_GID_BYTES];
    uint8_t bits; /* 0..128, of the 16 bytes: an IPv4 /24 has 120 */
};

/* One rail: a chosen port, in the order of NCCL_IB_HCA. */
struct ni_rail {
    char hca[NI_DEV_NAME];
    unsigned port;
    enum ni_link link;
    bool software;           /* SoftRoCE */
    char netdev[NI_IF_NAME]; /* "" unknown */
    int index;               /* of the GID; -1: none */
    uint8_t gid[NI_GID_BYTES];
    bool v2;                  /* RoCE v2 */
    struct ni_num netdev_mtu; /* bytes */
    struct ni_num mbps;
    unsigned n_subnet; /* 0: not known */
    struct ni_subnet subnet[NI_MAX_SUBNETS];
    /* What the device says through libibverbs; 0, "": it has not. */
    unsigned path_mtu; /* active MTU in bytes: 256 to 4096 */
    uint16_t pkey;
    char firmware[32];
    char untried[96]; /* why this rail cannot be tried, for people; "": it can */
    int node_err;     /* errno of its device node, which NCCL leaves out then, too; not sent */
};

/* A fact of the pod, or a setting as NCCL will have it there: the user's, of nccl.conf, or ours; none
   where it is unset, or NCCL's default. */
struct ni_pod_setting {
    char name[48];   /* of a row of ni_job_settings */
    char value[128]; /* longer ones are cut */
};

/* What must be equal in all pods, as NCCL itself compares nothing. */
struct ni_job_setting {
    const char *name;
    const char *otherwise; /* NCCL's default, "" for none: the same as unset. NULL: where a pod does
                              not tell it, it is not known, and not compared */
    enum ni_finding_id id; /* where it differs */
};
enum { NI_N_JOB_SETTING = 42 };
extern const struct ni_job_setting ni_job_settings[NI_N_JOB_SETTING];
/* The row of that name; NULL. */
const struct ni_job_setting *ni_find_job_setting(const char *name);

struct ni_pod {
    bool here;                                 /* it came and told */
    char host[NI_POD_NAME], node[NI_POD_NAME]; /* node: NODE_NAME, else "" */
    enum ni_transport transport;
    unsigned n_setting, n_rail;
    struct ni_pod_setting *setting; /* as many; the owner of the pod keeps them */
    struct ni_rail *rail;
};

/* ---- what is tried ---- */

/* The steps of a pair, or of a port that talks to itself, in the order in which they are taken; what
   each end does alone comes first. */
enum ni_pair_step {
    NI_PAIR_START,    /* the rail's process */
    NI_PAIR_FIND,     /* in libibverbs' list of devices */
    NI_PAIR_OPEN,     /* /dev/infiniband/uverbsN */
    NI_PAIR_DEVICE,   /* its attributes, protection domain, DMA-BUF */
    NI_PAIR_PORT,     /* ACTIVE */
    NI_PAIR_ALLOCATE, /* memory */
    NI_PAIR_REGISTER,
    NI_PAIR_GID,      /* of the index */
    NI_PAIR_QUEUES,   /* queue pairs at both ends */
    NI_PAIR_CONNECT,  /* to RTR and RTS */
    NI_PAIR_SMALL,    /* writes of 8 bytes, timed */
    NI_PAIR_IDENTITY, /* the header that the other end wrote is read: who answered */
    NI_PAIR_WRITE,    /* bulk, in messages larger than the path MTU */
    NI_PAIR_READ,
    NI_PAIR_COMPARE, /* what came back is what was sent */
    NI_PAIR_DONE
};

/* `from` writes to, and reads from, the same rail of `to`. */
struct ni_pair {
    unsigned from, to; /* ranks */
    unsigned rail;
};

/* How a pair went. */
struct ni_pair_result {
    struct ni_pair pair;
    unsigned round;         /* 0.. */
    enum ni_pair_step step; /* NI_PAIR_DONE: all of it passed */
    bool at_to;             /* the step failed at `to`'s side */
    bool silent;            /* no answer in time: killed by its own pod, or its pod went away */
    int err;                /* errno of the step; 0: none */
    int wc;                 /* enum ibv_wc_status of the completion that failed; 0: none */
    int64_t latency_ns, slowest_ns; /* of 64 small writes: median, maximum; 0: not measured */
    int64_t write_mbps, read_mbps;  /* 0: not measured */
    bool path;                      /* as judged: both ends reach others, or there are none */
};

/* "small writes": for people and programs. */
const char *ni_pair_step_text(enum ni_pair_step step);

/* ---- what pod 0 knows at the end ---- */

enum ni_missing { NI_POD_CAME, NI_POD_NEVER_CAME, NI_POD_WENT_AWAY };

/* What became of one rail of a pod. */
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

/* How fast data went one way. 0: not measured. */
struct ni_flow {
    int64_t mbps, percent; /* of the median of all, as parts of the rates */
};

/* What the rounds so far tell of one rail of a pod. 0: not measured. */
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

/* What pod 0 says of the job; or, where it was not reached, why. */
struct ni_verdict {
    bool good;
    char line[704];           /* without a line end */
    const struct ni_job *job; /* at pod 0 what came out, else NULL */
};

struct ni_rail_tally *ni_tally_of(const struct ni_job *job, unsigned rank, unsigned rail);
/* "trainer-17 (node-b3)"; "rank 17" where it never came. */
void ni_put_pod(struct ni_text *to, const struct ni_job *job, unsigned rank);
/* Gb/s, "0.31", "9.8", "362"; nothing where it was not measured. */
void ni_put_speed(struct ni_text *t, int64_t mbps);
/* The first sentence of the result, with "good: " or "bad: " in front. */
void ni_put_verdict(struct ni_text *to, const struct ni_job *job, const struct ni_findings *f,
                    bool bad);

/* ---- decide/: pure ---- */

/* What this pod tells of itself. rail, setting: room for NI_MAX_RAILS, NI_MAX_POD_SETTINGS, which
   *ret keeps. host, node, and the fact "CPU" are the caller's to add. */
struct ni_work;
void ni_describe_pod(const struct ni_work *w, struct ni_pod *ret, struct ni_rail *rail,
                     struct ni_pod_setting *setting);
/* One more thing that the pod tells; "": it is not known. */
void ni_add_setting(struct ni_pod *pod, const char *name, const char *value);

/* Compares what the pods told: one finding for each disagreement, which groups by value and names
   the minority. */
void ni_compare_pods(const struct ni_job *job, const struct ni_policy *policy,
                     struct ni_findings *f);

/* Adds the pairs of the next round to job->result, which has room for ranks * n_rail more; they are
   made of what the rounds before gave: at most one pair from, and one to, each rail of a pod. false:
   enough is known. */
bool ni_next_round(struct ni_job *job);
/* The failure is that of one end, for certain. */
bool ni_is_own(const struct ni_pair_result *x);

/* Judges all rounds: findings, and job->tally. */
void ni_judge_rails(struct ni_job *job, struct ni_findings *f);

#endif
