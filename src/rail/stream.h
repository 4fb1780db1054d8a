/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of data from the rail to its partner, or back, by several queue pairs at once. */
#ifndef NCCL_INIT_RAIL_STREAM_H
#define NCCL_INIT_RAIL_STREAM_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rail/device.h"
#include "rail/queues.h"
#include "rail/step.h"
#include "rail/task.h"

/* bytes of the first request of a stream, at most */
enum { NI_CHUNK_FIRST = 65536 };

/* What all queue pairs of a set do at once: each moves `bytes`, or what it can in limit_ns, between
   its own part of this pod's window and of the peer's memory, over its lane's window again and
   again. */
struct ni_stream {
    unsigned set; /* of queue pairs, as bits; not 0 */
    enum ibv_wr_opcode opcode;
    size_t at;        /* the place in the peer's memory */
    size_t far, near; /* from the part of one queue pair to that of the next: there, and here */
    int64_t bytes, limit_ns;
};

/* One queue pair in a stream. */
struct ni_lane {
    size_t window;          /* bytes of its part of the windows, which it uses again and again */
    int64_t moved, took_ns; /* took_ns: until its last completion */
    unsigned flying;        /* requests */
    int err;                /* 0, an errno, or NI_LANE_FAILED */
};

/* The completion says more, or the data is wrong. */
enum { NI_LANE_FAILED = -1 };

/* The streams of a rail, one after another, as the initiator. */
struct ni_streams {
    struct ni_rail_task *task;
    const struct ni_rail_device *device;
    const struct ni_queues *queues;
    struct ni_lane lane[NI_MAX_QUEUES];
    /* of the present stream */
    uint64_t number; /* a part of the number of its requests */
    int64_t begin_ns, stalled_ns;
    int64_t chunk;   /* bytes of a request, at most */
    unsigned depth;  /* requests in flight, of each queue pair */
    int64_t next_ns; /* when depth and chunk are set anew, from begin_ns on */
    bool over;       /* its time is: nothing more is posted */
};

/* Runs the stream. The window of each lane of the set is the caller's to set before; each lane then
   says how it went. A failed completion stands in the task, too. */
void ni_run_stream(struct ni_streams *streams, const struct ni_stream *s);

#endif
