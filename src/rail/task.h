/* SPDX-License-Identifier: Apache-2.0 */
/* What the process of a rail is asked to do, and what it answers. */
#ifndef NCCL_INIT_RAIL_TASK_H
#define NCCL_INIT_RAIL_TASK_H

#include <stdbool.h>
#include <stdint.h>

#include "nccl_init/base.h"
#include "nccl_init/known.h"
#include "rail/step.h"

/* The facts of a rail's queue pairs that the other end needs. */
struct ni_rail_end {
    unsigned n_queue;
    struct ni_queue_end {
        uint32_t qpn, psn;
    } queue[NI_MAX_QUEUES];
    uint32_t rkey;
    uint64_t address;
    uint8_t gid[NI_GID_BYTES];
    uint16_t lid;
    uint16_t path_mtu;  /* active MTU of the port, bytes */
    uint8_t most_reads; /* RDMA reads in flight that it answers, and starts, at most */
    bool global;        /* InfiniBand: needs a GRH */
};

enum ni_role { NI_ROLE_INITIATOR, NI_ROLE_TARGET, NI_ROLES };

/* The next work of a rail's process, with all earlier work that was not done: for a pod that is its
   own partner NI_WORK_MOVE is a self-test. */
enum ni_rail_work {
    NI_WORK_OPEN,    /* the device; fills `rail` */
    NI_WORK_QUEUES,  /* queue pairs for each role that it has in this round: own[], no others */
    NI_WORK_AGAIN,   /* instead: takes those of the last round back to where they began, without
                        another number, so that they take the same path: own[] has new psn */
    NI_WORK_CONNECT, /* connects the queue pairs to peer[] */
    NI_WORK_MOVE     /* as NI_ROLE_INITIATOR: small writes, identity, bulk, compare */
};

/* The time that each work may take before the process is killed, plus three times move_ms. Inside,
   a step ends after 2 s without a completion, and a queue pair gives up after half a second. */
enum { NI_RAIL_MS = 12000, NI_MAX_SMALL = 1024 };

/* What a queue pair of two rails can have in flight, in bytes, if their devices can: its part of the
   window so many times. */
enum { NI_WRITES_IN_FLIGHT = 16 << 20, NI_READS_IN_FLIGHT = 2 << 20 };

/* A task, in memory that the rail's process shares with the process that asks it. */
struct ni_rail_task {
    struct ni_rail rail;
    int traffic_class, service_level, pkey_index; /* as NCCL will set them */
    int64_t bytes; /* to move in each direction; 0: as many as move_ms allows */
    int move_ms;   /* how long to move, at most; 0: no bandwidth is measured */
    int64_t size;  /* bytes of memory to register in a self-test */
    /* pod 0's number of this preflight, a part of the pattern and the identity */
    uint64_t session;
    unsigned rank, number;     /* rank of the pod, number of this rail */
    unsigned n_queue;          /* queue pairs of each role, at most; 0: one */
    unsigned batch;            /* of these move bulk at once, as initiator; 0: one */
    unsigned small;            /* timed writes of each, at most NI_MAX_SMALL; 0: 64 */
    unsigned queues[NI_ROLES]; /* those that take part in this round, as bits; 0: all */
    bool has[NI_ROLES];        /* the roles that it has in this round */
    unsigned partner[NI_ROLES];
    struct ni_rail_end own[NI_ROLES], peer[NI_ROLES];
    /* Results by role: .step, .err, .wc, .silent and what was measured. What passed stands at
       the next step: NI_PAIR_CONNECT after NI_WORK_QUEUES, NI_PAIR_SMALL after NI_WORK_CONNECT,
       NI_PAIR_DONE after NI_WORK_MOVE. err: ETIMEDOUT from NI_PAIR_SMALL on: the own device gave no
       completion; 0 with .wc 0 at NI_PAIR_IDENTITY, NI_PAIR_COMPARE: wrong data. .neighbour: who has
       the partner's address on this rail's network, after NI_WORK_CONNECT; 0: nobody, or not known. */
    struct ni_pair_result result[NI_ROLES];
    int max_qp, max_mr;   /* the most that the device can have */
    enum ni_known dmabuf; /* KNOWN: ibv_reg_dmabuf_mr is there; ABSENT: it is not */
    int vendor_err;       /* vendor_err of the completion that failed */
};

/* Runs in the rail's process: does `work` on the task. Never returns an error: task->result says.
   */
typedef void ni_rail_fn(struct ni_rail_task *task, enum ni_rail_work work, void **state);

#endif
