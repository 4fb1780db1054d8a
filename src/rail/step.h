/* SPDX-License-Identifier: Apache-2.0 */
/* Words for the steps of a trial, and for its measurements. */
#ifndef NCCL_INIT_RAIL_STEP_H
#define NCCL_INIT_RAIL_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "nccl_init/base.h"
#include "nccl_init/known.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"

enum {
    NI_MAX_RAILS = NI_MAX_CHOSEN,
    NI_MAX_QUEUES = 8, /* queue pairs between two rails: each may take another path */
    NI_MAX_SUBNETS = 8 /* networks that a rail's interface has a route to */
};

/* Returns the first queue pair of the set from this number on; NI_MAX_QUEUES: there is none. */
static inline unsigned ni_next_queue(unsigned set, unsigned from)
{
    while (from < NI_MAX_QUEUES && !(set & 1U << from))
        from++;
    return from;
}

/* Walks the queue pairs of a set of bits, in the order of their numbers. It declares q, so q has no
   parentheses there. */
/* NOLINTBEGIN(bugprone-macro-parentheses) */
#define for_each_queue(q, set) \
    for (unsigned q = ni_next_queue(set, 0); (q) < NI_MAX_QUEUES; (q) = ni_next_queue(set, (q) + 1))
/* NOLINTEND(bugprone-macro-parentheses) */

/* A network that can be reached through the rail's interface. */
struct ni_subnet {
    uint8_t ip[NI_GID_BYTES];
    uint8_t bits; /* 0..128, of the 16 bytes: an IPv4 /24 has 120 */
};

/* One rail: a chosen port, in the order of NCCL_IB_HCA. */
struct ni_rail {
    /* What pod 0 finds out; not sent. */
    bool gap;     /* the pod has no rail of this number; the rest is 0 */
    bool crossed; /* it is in the subnet that another rail has in other pods */
    unsigned own; /* the number that the pod itself gives it */
    char hca[NI_DEV_NAME];
    unsigned port;
    enum ni_link link;
    bool software;           /* SoftRoCE */
    char netdev[NI_IF_NAME]; /* "" unknown */
    int index;               /* index of the GID; -1: none */
    uint8_t gid[NI_GID_BYTES];
    uint64_t mac;             /* of the interface; 0: not known */
    bool v2;                  /* RoCE v2 */
    struct ni_num netdev_mtu; /* bytes */
    struct ni_num mbps;
    unsigned n_subnet; /* 0: not known */
    struct ni_subnet subnet[NI_MAX_SUBNETS];
    /* Facts that the device reports through libibverbs; 0 or "" if it did not. */
    unsigned path_mtu; /* active MTU in bytes: 256 to 4096 */
    uint16_t pkey;
    char firmware[32];
    char untried[96]; /* why this rail cannot be tried, for people; "": it can */
    int node_err;     /* errno of its device node; NCCL does not use the HCA then; not sent */
};

/* The steps of a pair, or of a port that talks to itself, in the order in which they are taken;
   what each end does alone comes first. */
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

/* The verdict on the path that one queue pair takes. */
enum ni_path_verdict {
    NI_PATH_GOOD,    /* or not judged */
    NI_PATH_SUSPECT, /* slow, late or failed among many others, and not tried again */
    NI_PATH_ONCE,    /* it failed, and passed when it was tried again */
    NI_PATH_SLOW,    /* on a quiet fabric, too: this and what follows are bad */
    NI_PATH_LOSSY,   /* acknowledgements come only after a retransmission */
    NI_PATH_BROKEN,
    NI_PATH_VERDICTS
};

/* The result of one queue pair of a pair. */
struct ni_queue_result {
    enum ni_pair_step step; /* NI_PAIR_DONE: all of it passed */
    int err, wc;            /* as those of the pair */
    uint16_t late;          /* of its small writes, how many were sent again on the way */
    uint8_t quick_ways;     /* the ways in which it was not slow in one of its tries alone */
    /* how often its port sent packets again while it moved bulk, and those with it that moved at once */
    unsigned resent;
    enum ni_path_verdict verdict;
    int64_t slowest_ns;            /* of its small writes; 0: not measured */
    int64_t write_mbps, read_mbps; /* 0: not measured */
};

/* The ways of data, as bits: what is written, and what is read. */
enum { NI_WAY_WRITES = 1, NI_WAY_READS = 2 };

/* The ends of a pair, as bits. */
enum { NI_AT_FROM = 1, NI_AT_TO = 2 };

/* The result of a pair. It passed if one of its queue pairs did; else it is the result of the first
   of them. */
struct ni_pair_result {
    struct ni_pair pair;
    unsigned round;         /* 0.. */
    bool full;              /* of a round of all pods */
    bool near;              /* both ends are at one leaf, or nothing tells them apart */
    enum ni_pair_step step; /* NI_PAIR_DONE: all of it passed */
    bool at_to;             /* the step failed at the side of `to` */
    bool silent;            /* no answer in time: killed by its own pod, or its pod went away */
    int err;                /* errno of the step; 0: none */
    int wc;                 /* enum ibv_wc_status of the completion that failed; 0: none */
    int64_t latency_ns, slowest_ns; /* of 64 small writes: median, maximum; 0: not measured */
    int64_t write_mbps, read_mbps;  /* 0: not measured */
    /* how often the port of `from` sent packets again; 0: never, or its driver does not count it */
    int64_t resent;
    /* judged to be the path: both ends reach others, or there are none */
    bool path;
    /* where the neighbour that has the partner's address is not the partner, and the MAC address of
       that neighbour, as `from` sees it and as `to` does */
    unsigned misled;
    uint64_t neighbour, neighbour_to;
    bool software;   /* one of the ports is software RDMA */
    unsigned queues; /* the queue pairs that take part, as bits; 0: all */
    /* the results of data, of which all queue pairs that took part have one; 0: no data moved */
    unsigned n_queue;
    struct ni_queue_result queue[NI_MAX_QUEUES];
    /* the number + 1 of the result whose queue pairs these are, tried again; 0: they are new */
    unsigned again;
    /* of these the good one, which shows what both ports can do; NI_MAX_QUEUES: none */
    uint8_t control;
    /* tried again, its good queue pair lost packets as well: not one path does, but an end */
    bool end_loses;
    bool for_failed;     /* ... for what failed or was late, not for what was slow or sent again */
    unsigned slow_tries; /* how often it was slow alone */
    int64_t rate;        /* of the slower end in Mb/s; 0: not known */
    /* the median of its round and rail, in parts of the rate: of the queue pairs, and of the pairs
       */
    int64_t queue_median, pair_median;
};

/* Numbers of enum ibv_wc_status (rdma-core 56.1 libibverbs/verbs.h). They belong to the kernel's
   interface, so they stay. */
enum {
    NI_WC_LOC_QP_OP = 2,
    NI_WC_LOC_PROT = 4,
    NI_WC_WR_FLUSH = 5,
    NI_WC_REM_ACCESS = 10,
    NI_WC_RETRY_EXC = 12
};

/* Returns the name of such a number, "IBV_WC_RETRY_EXC_ERR"; NULL: it has none here. */
const char *ni_wc_name(int wc);
/* Returns the name of a step, such as "small writes", for people and programs. */
const char *ni_pair_step_text(enum ni_pair_step step);

/* Puts the step that failed, and how: "bulk writes: IBV_WC_RETRY_EXC_ERR (status 12)". */
void ni_put_failure(struct ni_text *t, const struct ni_pair_result *x);

/* Returns the quotient of what was measured, but not 0 of a value above 0: that would say that it was
   not measured, and the slowest rails would pass. */
int64_t ni_divide_measured(int64_t value, int64_t by);

/* Puts a speed in Gb/s, "0.004", "0.31", "9.8", "362"; nothing if it was not measured. */
void ni_put_speed(struct ni_text *t, int64_t mbps);

#endif
