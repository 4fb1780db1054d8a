/* SPDX-License-Identifier: Apache-2.0 */
/* The queue pairs of a rail, of both roles: made, connected, taken back to where they began. */
#ifndef NCCL_INIT_RAIL_QUEUES_H
#define NCCL_INIT_RAIL_QUEUES_H

#include <infiniband/verbs.h>

#include "rail/device.h"
#include "rail/step.h"
#include "rail/task.h"

enum { NI_DEPTH = 16 }; /* work requests of a queue pair in flight, if no more are needed */

/* All 0: none are made. */
struct ni_queues {
    struct ibv_cq *cq;
    unsigned depth; /* work requests that a queue pair has room for */
    struct ibv_qp *qp[NI_ROLES][NI_MAX_QUEUES];
};

/* Returns the number of queue pairs of each role. */
unsigned ni_count_queues(const struct ni_rail_task *task);
/* Returns the queue pairs of the role that take part, as bits; at least one. */
unsigned ni_queues_of(const struct ni_rail_task *task, enum ni_role role);

/* Returns the number of places that the queue pairs of a set take in a list of all. */
unsigned ni_places_of(unsigned set);

/* Each returns 0 or an errno, and is about the queue pairs of this role that take part. */

/* Makes them, and writes down in task->own[role] what the peer has to know of them. */
int ni_make_queues(struct ni_queues *queues, const struct ni_rail_device *d,
                   struct ni_rail_task *task, enum ni_role role);
/* Takes them to INIT, RTR and RTS, with task->peer[role] at the other end. */
int ni_connect_queues(const struct ni_queues *queues, const struct ni_rail_device *d,
                      const struct ni_rail_task *task, enum ni_role role);
/* Takes them back to RESET. They keep their numbers, by which the switches choose the path. */
int ni_reset_queues(const struct ni_queues *queues, struct ni_rail_task *task, enum ni_role role);

/* Destroys those of both roles. */
void ni_drop_queues(struct ni_queues *queues);

#endif
