/* SPDX-License-Identifier: Apache-2.0 */
/* Words for the pods of a job. */
#ifndef NCCL_INIT_PREFLIGHT_JOB_H
#define NCCL_INIT_PREFLIGHT_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "nccl_init/findings.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "rail/step.h"

enum {
    NI_MAX_RANKS = 16384, /* pods of one job */
    NI_POD_NAME = 64,     /* a host name has at most 63 characters (RFC 1123) */
    NI_LEFT_OUT = 192,
    NI_PATH_BATCH = 4, /* queue pairs of a pair that move at once, in rounds of many pairs */
    NI_MAX_POD_SETTINGS = 64
};

/* A fact of the pod, or a setting as NCCL will have it there: from the user, nccl.conf or the plan;
   absent if it is unset or NCCL's default. */
struct ni_pod_setting {
    char name[48];   /* the name of a row of ni_job_settings */
    char value[128]; /* a longer value is cut */
};

struct ni_pod {
    bool here;                                 /* the pod came, and its facts are here */
    char host[NI_POD_NAME], node[NI_POD_NAME]; /* node: NODE_NAME, else "" */
    char leaf[NI_POD_NAME]; /* the switch above the node, where something tells it; else "" */
    /* ports of the pod's HCAs that are no rails, and why, for people: "mlx5_1/1: port is DOWN" */
    char left_out[NI_LEFT_OUT];
    enum ni_transport transport;
    unsigned n_setting, n_rail;     /* n_rail: with gaps */
    struct ni_pod_setting *setting; /* n_setting of them; the owner of the pod keeps them */
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
    NI_RAIL_LOSSY,  /* it loses packets with several partners, on all paths, and they do not */
    NI_RAIL_PATH,   /* it fails with some pods, not with all */
    NI_RAIL_FAILED, /* the port is to blame */
    NI_RAIL_VERDICTS
};

/* Speed of data in one direction. 0: not measured. */
struct ni_flow {
    int64_t mbps, percent; /* percent: of the median of all, as parts of the rates */
};

/* Results of the rounds so far for a rail of a pod. 0: not measured. */
struct ni_rail_tally {
    enum ni_rail_verdict verdict;
    /* pairs; without those in which another rail is certainly at fault */
    unsigned passed, failed;
    unsigned misled;   /* pairs whose packets went to somebody else */
    unsigned loses;    /* partners with which it loses packets on all paths: 0, 1, or 2 for more */
    unsigned loses_to; /* the rank of the first of them */
    /* one of these partners loses packets with others as well: it may be what lies between them */
    bool loses_beside;
    /* pairs that it began: how many; how many of them are slow alone, too, of those at its leaf if there
       are any; and the fastest, in percent of the median, of pairs inside leaves if there are any */
    unsigned began, began_settled;
    int64_t began_best;
    unsigned met_slow; /* pairs that others began with it, and that are slow as a whole */
    bool near;         /* it was measured with a partner at its leaf */
    bool began_near;   /* ... with one with which it began */
    bool starved;      /* its pod is to blame for the pairs that it began */
    unsigned measured; /* passed pairs of which both rates are known */
    /* the rank + 1 with which it passed by new queue pairs; 0: none */
    unsigned passed_again;
    uint8_t busy;                 /* roles that it already has in the next round */
    struct ni_flow send, receive; /* the best measurements */
    /* the first median, and the slowest acknowledgement of all */
    int64_t latency_ns, slowest_ns;
    const struct ni_pair_result *failure; /* the failure that says most, or NULL */
};

/* What the pairs of a round are. */
enum ni_round_kind {
    NI_ROUND_ALL,   /* of all pods */
    NI_ROUND_AGAIN, /* some pairs with the same queue pairs: what failed or was late */
    NI_ROUND_ALONE, /* one pair of each rail, so too: what was slow */
    NI_ROUND_PORTS, /* ports that failed or were slow, with others and new queue pairs */
    NI_ROUND_NAMES  /* pods of two leaves with those of others, to tell which leaf it is */
};

struct ni_job {
    unsigned ranks;
    const char *source; /* the source: id of the launcher's row, "pet", "lws", "peers" */
    const char *hosts;  /* the launcher's list of all nodes (ni_put_host_of); NULL: it gives none */
    struct ni_pod *pod; /* by rank */
    uint8_t *missing;   /* enum ni_missing, by rank */
    unsigned n_rail;    /* the largest n_rail of all pods */
    unsigned n_result;
    struct ni_pair_result *result; /* in the order of the rounds */
    unsigned rounds;               /* the number of rounds that were run */
    enum ni_round_kind kind;       /* the kind of the last of them */
    unsigned all, ports, names;    /* how many of these kinds there were */
    unsigned slow_ports;           /* slow ports at the start of the last NI_ROUND_PORTS */
    unsigned since;                /* the first result of the last round whose paths are judged */
    uint8_t alone[NI_MAX_RAILS];   /* rounds of that kind from there on */
    unsigned *circle;              /* room for `ranks`: the order in which pods are neighbours */
    struct ni_rail_tally *tally;   /* by rank and rail: ni_tally_of */
    unsigned need;                 /* so many good pods are enough; 0: all must be good */
    unsigned kept;                 /* pods that are good */
    uint8_t *drop;                 /* by rank: 1: the pod is not kept; NULL: nobody asks */
    /* the median of the full rounds' writes and reads, in parts of the rates: of pairs inside a leaf, or
       of those between leaves if they have more; and of those between leaves */
    int64_t median, far_median;
};

/* How the preflight of a job ended. Pods tell each other the number of one of the first three. */
enum ni_outcome {
    NI_JOB_BAD,
    NI_JOB_UNTESTED, /* nothing is wrong, but no rail was tried: there is none */
    NI_JOB_GOOD,
    NI_JOB_OUTCOMES,
    /* no verdict yet */
    NI_JOB_LATE = NI_JOB_OUTCOMES, /* this pod found no other one in time, and is to judge itself */
    NI_JOB_UNTOLD                  /* there is nothing that says how it ended */
};

/* What stands for an outcome. */
struct ni_outcome_form {
    char byte;        /* what the process that met the pods tells its parent */
    const char *word; /* for people, programs and --once; NULL: none of them meets it */
    int status;       /* the exit status of the verb */
};

/* The verdict of pod 0 on the job; or, if pod 0 was not reached, the reason. */
struct ni_verdict {
    enum ni_outcome outcome;
    bool nobody;              /* this pod found no other one in time */
    char line[704];           /* one line, without its end */
    const struct ni_job *job; /* the results, at pod 0; otherwise NULL */
};

/* Returns true if the pod came and has a rail of that number. */
bool ni_has_rail(const struct ni_job *job, unsigned rank, unsigned rail);
struct ni_rail_tally *ni_tally_of(const struct ni_job *job, unsigned rank, unsigned rail);
/* Puts the ranks that are missing in that way, "ranks 3-9, 12": those whose name is known, because they
   came before or the launcher lists them, with it if they are few: "ranks 7 (node-b7), 12". */
void ni_put_missing(struct ni_text *to, const struct ni_job *job, enum ni_missing how);
/* Puts a pod's name: "trainer-17 (node-b3)", or "rank 17" if it never came. */
void ni_put_pod(struct ni_text *to, const struct ni_job *job, unsigned rank);
/* Puts "rank 3" or "ranks 0-3, 7, ...": the numbers whose entry is `value`, of n. */
void ni_put_numbers(struct ni_text *to, const char *one, const uint8_t *is, unsigned n,
                    uint8_t value);
/* By enum ni_outcome. */
extern const struct ni_outcome_form ni_outcome_forms[];
/* Returns the outcome of that byte; NI_JOB_UNTOLD: none has it. */
enum ni_outcome ni_outcome_of_byte(char byte);
/* Returns the outcome with whose word the text begins; NI_JOB_UNTOLD: none. */
enum ni_outcome ni_outcome_of_word(const char *text);

#endif
