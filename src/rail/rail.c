/* SPDX-License-Identifier: Apache-2.0 */
/* A rail of this pod, connected by libibverbs to the same rail of two other pods, or in a
   self-test to itself. It writes to one of them, reads from it, and lets the other one do the
   same. All this runs in the rail's own process, which is killed if it hangs. Here are the works
   that the process is asked for, and the order of their steps. */
#include "rail/rail.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "nccl_init/rdma.h"
#include "rail/data.h"
#include "rail/device.h"
#include "rail/neighbour.h"
#include "rail/queues.h"
#include "rail/step.h"
#include "rail/stream.h"
#include "rail/task.h"

enum { WARM_MS = 30 };

struct rail {
    struct ni_rail_task *task;
    /* the result of opening; a device that failed is not tried again */
    struct ni_pair_result opened;
    struct ni_rail_device device;
    struct ni_queues queues;
    struct ni_streams streams;
};

/* Returns true if the rail is its own partner. */
static bool is_alone(const struct ni_rail_task *task)
{
    return task->has[NI_ROLE_INITIATOR] && task->partner[NI_ROLE_INITIATOR] == task->rank;
}

/* Moves the data, as the initiator, if its queue pairs are connected. */
static void move_if_connected(struct rail *r)
{
    struct ni_rail_task *task = r->task;
    const struct ni_pair_result *x = &task->result[NI_ROLE_INITIATOR];

    if (!task->has[NI_ROLE_INITIATOR] || x->step != NI_PAIR_SMALL || x->err != 0)
        return;
    ni_move_data(&r->streams);
    if (is_alone(task) && x->step != NI_PAIR_DONE)
        task->result[NI_ROLE_TARGET] = *x;
}

/* Makes the queue pairs of the role. The target's peer finds there who this end is. */
static int make_queues(struct rail *r, enum ni_role role)
{
    const int err = ni_make_queues(&r->queues, &r->device, r->task, role);

    if (err == 0 && role == NI_ROLE_TARGET)
        ni_show_identity(&r->device, r->task);
    return err;
}

/* Takes one step before the data, for a role if it is one of queue pairs. 0 or an errno. */
static int take_step(struct rail *r, enum ni_pair_step step, enum ni_role role)
{
    struct ni_rail_task *task = r->task;
    struct ni_rail_device *d = &r->device;

    switch (step) {
    case NI_PAIR_FIND:
        return ni_find_device(d, &task->rail);
    case NI_PAIR_OPEN:
        return ni_open_device(d);
    case NI_PAIR_DEVICE:
        return ni_ask_device(d, task);
    case NI_PAIR_PORT:
        return ni_ask_port(d, task);
    case NI_PAIR_ALLOCATE:
        return ni_allocate_memory(d, task->size);
    case NI_PAIR_REGISTER:
        return ni_register_memory(d);
    case NI_PAIR_GID:
        return ni_ask_gid(d, &task->rail);
    case NI_PAIR_QUEUES:
        return make_queues(r, role);
    case NI_PAIR_CONNECT:
        return ni_connect_queues(&r->queues, d, task, role);
    case NI_PAIR_START: /* the process is there, and what follows is data */
    case NI_PAIR_SMALL:
    case NI_PAIR_IDENTITY:
    case NI_PAIR_WRITE:
    case NI_PAIR_READ:
    case NI_PAIR_COMPARE:
    case NI_PAIR_DONE:
        break;
    }
    return EINVAL;
}

/* Returns the last step that belongs to the work, before the data. */
static enum ni_pair_step last_step(enum ni_rail_work work)
{
    switch (work) {
    case NI_WORK_OPEN:
        return NI_PAIR_DEVICE;
    case NI_WORK_QUEUES:
    case NI_WORK_AGAIN:
        return NI_PAIR_QUEUES;
    case NI_WORK_CONNECT:
    case NI_WORK_MOVE:
        break;
    }
    return NI_PAIR_CONNECT;
}

/* Notes in the result of a step how it went: the step after it, or its errno. */
static void note_step(struct ni_pair_result *x, int err)
{
    if (err == 0)
        x->step++;
    else
        x->err = err;
}

/* Takes a step of the device, once for both roles. */
static void take_device_step(struct rail *r, enum ni_pair_step step)
{
    struct ni_pair_result *result = r->task->result;

    if (result[NI_ROLE_INITIATOR].step != step || result[NI_ROLE_INITIATOR].err != 0)
        return;
    errno = 0;
    note_step(&result[NI_ROLE_INITIATOR], take_step(r, step, NI_ROLE_INITIATOR));
    result[NI_ROLE_TARGET] = result[NI_ROLE_INITIATOR];
}

/* Takes a step of the queue pairs, for each role that the rail has and that has come so far. */
static void take_queue_step(struct rail *r, enum ni_pair_step step)
{
    struct ni_rail_task *task = r->task;

    for (enum ni_role role = 0; role < NI_ROLES; role++) {
        struct ni_pair_result *x = &task->result[role];

        if (x->step != step || x->err != 0 || !task->has[role])
            continue;
        errno = 0;
        note_step(x, take_step(r, step, role));
        if (x->err != 0 && is_alone(task)) { /* both roles are the same pair */
            task->result[NI_ROLE_INITIATOR] = task->result[NI_ROLE_TARGET] = *x;
            return;
        }
    }
}

/* Takes the steps of this work, and of earlier works, as far as they were not taken. */
static void take_steps(struct rail *r, enum ni_rail_work work)
{
    const enum ni_pair_step last = last_step(work);

    for (enum ni_pair_step step = NI_PAIR_FIND; step <= last; step++) {
        if (step < NI_PAIR_QUEUES)
            take_device_step(r, step);
        else
            take_queue_step(r, step);
    }
    if (work == NI_WORK_MOVE)
        move_if_connected(r);
}

/* Takes the queue pairs of the last round back to where they began. */
static void begin_again(struct rail *r)
{
    for (enum ni_role role = 0; role < NI_ROLES; role++) {
        struct ni_pair_result *x = &r->task->result[role];

        if (!r->task->has[role])
            continue;
        *x = (struct ni_pair_result){.step = NI_PAIR_QUEUES};
        note_step(x, ni_reset_queues(&r->queues, r->task, role));
    }
}

/* Makes the neighbours of this rail known, before its queue pairs are connected to theirs. */
static void warm_neighbours(const struct ni_rail_task *task)
{
    static const struct timespec answered = {.tv_nsec = WARM_MS * 1000000};

    for (enum ni_role i = 0; i < NI_ROLES; i++)
        if (task->has[i])
            ni_warm_neighbour(task->rail.netdev, task->peer[i].gid);
    (void)nanosleep(&answered, NULL);
}

/* Notes which MAC address the kernel has for each neighbour. */
static void take_neighbours(struct ni_rail_task *task)
{
    for (enum ni_role i = 0; i < NI_ROLES; i++)
        if (task->has[i])
            task->result[i].neighbour = ni_neighbour_mac(task->rail.netdev, task->peer[i].gid);
}

/* Opens the rail's device, in the first work of its process. */
static struct rail *open_rail(struct ni_rail_task *task)
{
    struct rail *r = calloc(1, sizeof(*r));

    if (!r)
        _exit(1); /* the parent sees that the process is gone */
    r->task = task;
    r->streams.task = task;
    r->streams.device = &r->device;
    r->streams.queues = &r->queues;
    task->result[NI_ROLE_INITIATOR].step = NI_PAIR_FIND;
    take_steps(r, NI_WORK_OPEN);
    r->opened = task->result[NI_ROLE_INITIATOR];
    return r;
}

void ni_work_rail(struct ni_rail_task *task, enum ni_rail_work work, void **state)
{
    const bool asks_neighbours = work == NI_WORK_CONNECT && task->rail.link != NI_LINK_IB;
    struct rail *r = *state ? *state : open_rail(task);

    *state = r;
    if (work == NI_WORK_QUEUES) {
        ni_drop_queues(&r->queues);
        task->result[NI_ROLE_INITIATOR] = task->result[NI_ROLE_TARGET] = r->opened;
    }
    if (work == NI_WORK_AGAIN)
        begin_again(r);
    if (asks_neighbours)
        warm_neighbours(task);
    take_steps(r, work);
    if (asks_neighbours)
        take_neighbours(task);
}
