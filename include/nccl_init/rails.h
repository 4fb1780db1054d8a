/* SPDX-License-Identifier: Apache-2.0 */
/* The rails of this pod at work: a process for each, so that one that hangs is killed and told. The
   pod's leaf (meet/) asks, verbs/ does. */
#ifndef NCCL_INIT_RAILS_H
#define NCCL_INIT_RAILS_H

#include "nccl_init/job.h"

/* What the other end must know of a queue pair. */
struct ni_rail_end {
    uint32_t qpn, psn, rkey;
    uint64_t address;
    uint32_t length;
    uint8_t gid[NI_GID_BYTES];
    uint16_t lid;
    uint16_t path_mtu;  /* active MTU of the port, bytes */
    uint8_t most_reads; /* RDMA reads in flight that it answers, and starts, at most */
    bool global;        /* InfiniBand: needs a GRH */
};

enum ni_role { NI_ROLE_FROM, NI_ROLE_TO, NI_ROLES };

/* What a rail's process does next. */
enum ni_rail_work {
    NI_WORK_OPEN,    /* device, port, memory; fills `rail` */
    NI_WORK_QUEUES,  /* a queue pair for each role that it has in this round: own[] */
    NI_WORK_CONNECT, /* to peer[] */
    NI_WORK_MOVE,    /* as NI_ROLE_FROM: small writes, identity, bulk, compare */
    NI_WORK_STOP     /* queue pairs are destroyed */
};

/* How long each may take before the process is killed, in ms. Inside there are deadlines of its own:
   2 s without a completion, 3 s for `bytes`; a queue pair gives up after half a second. */
enum {
    NI_RAIL_OPEN_MS = 10000,
    NI_RAIL_QUEUES_MS = 3000, /* NI_RAIL_OPEN_MS more where the device is opened anew */
    NI_RAIL_CONNECT_MS = 4000,
    NI_RAIL_MOVE_MS = 12000, /* and 3 * move_ms */
    NI_RAIL_STOP_MS = 3000
};

/* In memory that the rail's process and the leaf share. */
struct ni_rail_task {
    struct ni_rail rail;
    int traffic_class, service_level, pkey_index; /* as NCCL will set them */
    int64_t bytes;                                /* to move in each direction; 0: by time */
    int move_ms;           /* how long to move, if by time; 0: no bandwidth is measured */
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
};

/* Runs in the rail's process: does `work` on the task. Never returns an error: task->result says. */
typedef void ni_rail_fn(struct ni_rail_task *task, enum ni_rail_work work, void **state);

struct ni_rails {
    unsigned n;
    struct ni_rail_task *task; /* shared memory */
    struct {
        int pid, fd; /* -1: none */
        bool busy;
        enum ni_rail_work work; /* what it does, or did last */
        int64_t until_ms;       /* of what it does now */
    } at[NI_MAX_RAILS];
    ni_rail_fn *fn;
};

/* n processes are started, which wait to be asked: first NI_WORK_OPEN, when each task has what it
   needs. 0 or -errno: nothing was started. */
int ni_rails_start(struct ni_rails *r, unsigned n, const struct ni_rail *rail, ni_rail_fn *fn);
/* Asks every rail that has a role in this round (OPEN, STOP: all). OPEN and QUEUES clear `result`. A
   rail whose process is gone is started anew by NI_WORK_QUEUES, which then opens the device. */
void ni_rails_ask(struct ni_rails *r, enum ni_rail_work work, int64_t limit_ms);
/* The descriptors to poll for reading; their number, at most NI_MAX_RAILS. */
struct pollfd;
unsigned ni_rails_poll(const struct ni_rails *r, struct pollfd *ret);
/* Takes what has come; kills, and marks as silent, what is over its time. true: none is busy.
   *ret_wait_ms: until the next one's time is over. */
bool ni_rails_done(struct ni_rails *r, int *ret_wait_ms);
/* Ends the processes, and waits for them, a second at most. */
void ni_rails_end(struct ni_rails *r);

#endif
