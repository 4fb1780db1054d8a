/* SPDX-License-Identifier: Apache-2.0 */
/* The device of a rail: found, opened, asked, and with memory that its peers may use. */
#ifndef NCCL_INIT_RAIL_DEVICE_H
#define NCCL_INIT_RAIL_DEVICE_H

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>

#include "rail/step.h"
#include "rail/task.h"

enum {
    /* bytes before the window of the target: the identity, and the small writes */
    NI_TARGET_PAGE = 4096,
    /* bytes of a pair's window, which bulk uses again and again; the same in all of
       NI_MEET_PROTOCOL */
    NI_WINDOW = 1 << 20
};

/* All 0: nothing is opened. What it has is the process's until that ends. */
struct ni_rail_device {
    struct ibv_device *device;
    struct ibv_context *context;
    struct ibv_device_attr attr;
    struct ibv_port_attr port;
    struct ibv_gid_entry gid;
    struct ibv_pd *pd;
    /* The target: a page with the identity and the small writes, and a window. Then two windows of
       this pod: the data to write, and the data that was read back. */
    uint8_t *memory, *out, *back;
    size_t size, window;         /* bytes: of all, of a window */
    struct ibv_mr *target, *own; /* the peer has rights to the first only */
};

/* The steps of the device, in their order (enum ni_pair_step). Each returns 0 or an errno. */

/* Finds the rail's HCA in libibverbs' list; rail->untried says why a rail cannot be tried. */
int ni_find_device(struct ni_rail_device *d, struct ni_rail *rail);
int ni_open_device(struct ni_rail_device *d);
/* Asks what it can, and fills the facts of task->rail, max_qp, max_mr and dmabuf. */
int ni_ask_device(struct ni_rail_device *d, struct ni_rail_task *task);
/* Asks its port. ENETDOWN: it is not ACTIVE. */
int ni_ask_port(struct ni_rail_device *d, struct ni_rail_task *task);
/* Allocates so many bytes; 0: for windows of NI_WINDOW bytes. */
int ni_allocate_memory(struct ni_rail_device *d, int64_t size);
int ni_register_memory(struct ni_rail_device *d);
/* Finds an entry of the GID table for the queue pair. If sysfs and the device differ, the device's
   entry is used: a job would use that, too. */
int ni_ask_gid(struct ni_rail_device *d, struct ni_rail *rail);

/* Returns an MTU in bytes. */
unsigned ni_mtu_bytes(enum ibv_mtu mtu);

#endif
