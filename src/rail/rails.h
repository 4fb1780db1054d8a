/* SPDX-License-Identifier: Apache-2.0 */
/* The rails of this pod at work: a process for each, so that one that hangs is killed and told. The
   pod's leaf (meet/) or the self-test asks, verbs/ does. */
#ifndef NCCL_INIT_RAILS_H
#define NCCL_INIT_RAILS_H

#include "nccl_init/base.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "rules/rules.h"

enum {
    NI_MAX_RAILS = NI_MAX_CHOSEN,
    NI_MAX_SUBNETS = 8 /* networks that a rail's interface has a route to */
};

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

/* Gb/s, "0.31", "9.8", "362"; nothing where it was not measured. */
void ni_put_speed(struct ni_text *t, int64_t mbps);

/* The port as a rail of the job: with the index that NCCL will use, and what is known of it. */
void ni_describe_rail(const struct ni_work *w, int at, struct ni_rail *rail);

/* What the other end must know of a queue pair. */
struct ni_rail_end {
    uint32_t qpn, psn, rkey;
    uint64_t address;
    uint8_t gid[NI_GID_BYTES];
    uint16_t lid;
    uint16_t path_mtu;  /* active MTU of the port, bytes */
    uint8_t most_reads; /* RDMA reads in flight that it answers, and starts, at most */
    bool global;        /* InfiniBand: needs a GRH */
};

enum ni_role { NI_ROLE_FROM, NI_ROLE_TO, NI_ROLES };

/* What a rail's process does next, with all that was not done before: of a pod that is its own partner
   NI_WORK_MOVE is a self-test. */
enum ni_rail_work {
    NI_WORK_OPEN,    /* the device; fills `rail` */
    NI_WORK_QUEUES,  /* a queue pair for each role that it has in this round: own[], no others */
    NI_WORK_CONNECT, /* to peer[] */
    NI_WORK_MOVE     /* as NI_ROLE_FROM: small writes, identity, bulk, compare */
};

/* How long each may take before the process is killed, and three times move_ms. Inside there is a
   deadline of its own: 2 s without a completion; a queue pair gives up after half a second. */
enum { NI_RAIL_MS = 12000 };

/* In memory that the rail's process and the leaf share. */
struct ni_rail_task {
    struct ni_rail rail;
    int traffic_class, service_level, pkey_index; /* as NCCL will set them */
    int64_t bytes;         /* to move in each direction; 0: as many as move_ms allows */
    int move_ms;           /* how long to move, at most; 0: no bandwidth is measured */
    int64_t size;          /* of a self-test: bytes of memory to register */
    uint64_t session;      /* of pod 0: what the pattern and the identity are made of */
    unsigned rank, number; /* of the pod, of this rail */
    bool has[NI_ROLES];    /* in this round */
    unsigned partner[NI_ROLES];
    struct ni_rail_end own[NI_ROLES], peer[NI_ROLES];
    /* How it went, by role: .step, .err, .wc, .silent and what was measured. What passed stands at
       the next step: NI_PAIR_CONNECT after NI_WORK_QUEUES, NI_PAIR_SMALL after NI_WORK_CONNECT,
       NI_PAIR_DONE after NI_WORK_MOVE. err: ETIMEDOUT from NI_PAIR_SMALL on: the own device gave no
       completion; 0 with .wc 0 at NI_PAIR_IDENTITY, NI_PAIR_COMPARE: wrong data. */
    struct ni_pair_result result[NI_ROLES];
    int max_qp, max_mr;   /* how many the device has at most */
    enum ni_known dmabuf; /* KNOWN: ibv_reg_dmabuf_mr is there; ABSENT: it is not */
    int vendor_err;       /* of the completion that failed */
};

/* Runs in the rail's process: does `work` on the task. Never returns an error: task->result says. */
typedef void ni_rail_fn(struct ni_rail_task *task, enum ni_rail_work work, void **state);

/* verbs: the only code that uses libibverbs. Never on the way of a plain `run`: sysfs decides, verbs
   confirm. For a process of its own: what is opened, allocated and registered ends with it. */
ni_rail_fn ni_work_rail;

struct ni_rails {
    unsigned n;
    struct ni_rail_task *task; /* shared memory */
    struct {
        int pid, fd; /* -1: none */
        bool busy;
    } at[NI_MAX_RAILS];
    enum ni_rail_work work; /* what they do, or did last */
    int64_t until_ms;       /* of what they do now */
};

/* n processes are started, which wait to be asked: first NI_WORK_OPEN, when each task has what it
   needs. 0 or -errno: nothing was started. */
int ni_rails_start(struct ni_rails *r, unsigned n, ni_rail_fn *fn);
/* Asks every rail that has a role in this round (OPEN: all). OPEN and QUEUES clear `result`. A rail
   whose process is gone is silent from then on. */
void ni_rails_ask(struct ni_rails *r, enum ni_rail_work work, int64_t limit_ms);
/* Waits so long at most, and takes what has come; kills, and marks as silent, what is over its time.
   true: none is busy. */
bool ni_rails_done(struct ni_rails *r, int64_t most_ms);
/* Ends the processes, and waits for them, a second at most: one may hang in the kernel even then. */
void ni_rails_end(struct ni_rails *r);

#endif
