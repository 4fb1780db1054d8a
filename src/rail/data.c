/* SPDX-License-Identifier: Apache-2.0 */
/* The data of a pair, in the steps from NI_PAIR_SMALL on, each for a set of its queue pairs. */
#include "rail/data.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "nccl_init/known.h"
#include "rail/pattern.h"
#include "rail/queues.h"
#include "rail/resent.h"
#include "rail/step.h"
#include "rail/verbs.h"

enum {
    SMALL_AT = NI_TARGET_PAGE / 2, /* the place of small writes */
    SMALL = 8,                     /* bytes of a timed write */
    SAMPLES = 64,                  /* number of timed writes, if nothing else is asked for */
    /* So long after the first of those that were sent at the same moment: it was lost, and sent
       again after TIMEOUT. What delays all of them is a busy host at either end. */
    LATE_NS = 50000000
};
/* for more timed writes than usual: some are lost, a time-out each */
#define LONG (3 * NI_SECOND_NS)

/* The bytes that the other end reads first, by which it knows this end. */
struct identity {
    uint64_t session;
    uint32_t rank, partner;
    uint64_t number;
};

void ni_show_identity(const struct ni_rail_device *d, const struct ni_rail_task *task)
{
    const struct identity it = {task->session, task->rank, task->partner[NI_ROLE_TARGET],
                                task->number};

    memcpy(d->memory, &it, sizeof(it));
}

static struct ni_pair_result *result_of(const struct ni_streams *streams)
{
    return &streams->task->result[NI_ROLE_INITIATOR];
}

/* Notes how the step went for each queue pair of the set. Returns those that passed. */
static unsigned pass_step(struct ni_streams *streams, unsigned set)
{
    struct ni_pair_result *x = result_of(streams);
    unsigned passed = 0;

    for_each_queue (q, set) {
        const int err = streams->lane[q].err;

        if (err == 0) {
            x->queue[q].step++;
            passed |= 1U << q;
        } else if (err != NI_LANE_FAILED) {
            x->queue[q].err = err;
        }
    }
    return passed;
}

static void set_windows(struct ni_streams *streams, unsigned set, size_t bytes)
{
    for_each_queue (q, set)
        streams->lane[q].window = bytes;
}

/* ---- small writes ---- */

static int earlier(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Returns what the fastest queue pair of the set took; 0: none passed. */
static int64_t fastest_ns(const struct ni_streams *streams, unsigned set)
{
    int64_t first_ns = 0;

    for_each_queue (q, set) {
        const struct ni_lane *lane = &streams->lane[q];

        if (lane->err == 0 && (first_ns == 0 || lane->took_ns < first_ns))
            first_ns = lane->took_ns;
    }
    return first_ns;
}

/* Notes how long the small write of each queue pair took, where the fastest took first_ns. */
static void note_small(struct ni_streams *streams, unsigned set, int64_t first_ns)
{
    for_each_queue (q, set) {
        struct ni_queue_result *one = &result_of(streams)->queue[q];
        const struct ni_lane *lane = &streams->lane[q];

        if (lane->err != 0)
            continue;
        one->slowest_ns = lane->took_ns > one->slowest_ns ? lane->took_ns : one->slowest_ns;
        if (lane->took_ns - first_ns >= LATE_NS)
            one->late++;
    }
}

/* Notes the queue pairs of the set whose write failed. Returns the others. */
static unsigned without_failed(struct ni_streams *streams, unsigned set)
{
    unsigned failed = 0;

    for_each_queue (q, set)
        if (streams->lane[q].err != 0)
            failed |= 1U << q;
    (void)pass_step(streams, failed);
    return set & ~failed;
}

/* Times small writes of all queue pairs at once, each from the request to its completion, for
   one or three seconds at most. Returns those that passed. */
static unsigned time_small(struct ni_streams *streams, unsigned set)
{
    const struct ni_rail_task *task = streams->task;
    const size_t samples = task->small > 0 ? task->small : SAMPLES;
    const int64_t until = ni_now_ns() + (samples > SAMPLES ? LONG : NI_SECOND_NS);
    int64_t ns[NI_MAX_SMALL];
    size_t n = 0;

    set_windows(streams, set, SMALL);
    do {
        const struct ni_stream s = {
            .set = set,
            .opcode = IBV_WR_RDMA_WRITE,
            .at = SMALL_AT,
            .far = SMALL,
            .near = SMALL,
            .bytes = SMALL,
            .limit_ns = NI_SECOND_NS,
        };

        ni_run_stream(streams, &s);
        const int64_t first_ns = fastest_ns(streams, set);
        note_small(streams, set, first_ns);
        if (first_ns > 0)
            ns[n++] = first_ns;
        set = without_failed(streams, set);
    } while (set != 0 && n < samples && ni_now_ns() < until);
    if (n == 0)
        return 0;
    qsort(ns, n, sizeof(ns[0]), earlier);
    result_of(streams)->latency_ns = ns[n / 2];
    return pass_step(streams, set);
}

/* ---- who answers ---- */

/* Reads who answers, by each queue pair. Returns those that reached the right one. */
static unsigned read_identity(struct ni_streams *streams, unsigned set)
{
    const struct ni_rail_task *task = streams->task;
    const struct identity it = {task->session, task->partner[NI_ROLE_INITIATOR], task->rank,
                                task->number};
    const struct ni_stream s = {
        .set = set,
        .opcode = IBV_WR_RDMA_READ,
        .near = sizeof(it),
        .bytes = sizeof(it),
        .limit_ns = NI_SECOND_NS,
    };

    set_windows(streams, set, sizeof(it));
    ni_run_stream(streams, &s);
    for_each_queue (q, set) {
        const uint8_t *answer = streams->device->back + q * sizeof(it);

        if (streams->lane[q].err == 0 && memcmp(&it, answer, sizeof(it)) != 0)
            streams->lane[q].err = NI_LANE_FAILED;
    }
    return pass_step(streams, set);
}

/* ---- bulk ---- */

/* How the queue pairs of a pair share its windows, and the time. */
struct share {
    size_t slice;   /* bytes of a window for each queue pair */
    unsigned parts; /* so many sets of queue pairs move one after another */
};

/* Fills the part of a queue pair with a pattern. Each word has its place, its sender and receiver,
   and its queue pair, so data of an earlier one cannot pass for it. */
static void fill_pattern(const struct ni_streams *streams, unsigned q, uint8_t *out)
{
    const struct ni_rail_task *task = streams->task;
    const enum ni_role role = NI_ROLE_INITIATOR;
    const uint64_t key = (task->session + task->own[role].queue[q].psn + q) ^
                         (uint64_t)task->rank << 40 ^ (uint64_t)task->partner[role] << 20 ^
                         task->number;

    ni_fill_pattern(out, streams->lane[q].window, key);
}

/* Returns the bytes that each queue pair of the set is to move, of those of the task. */
static int64_t bytes_each(const struct ni_rail_task *task, unsigned set, unsigned parts)
{
    const unsigned lanes = (unsigned)__builtin_popcount(set) * parts;

    if (task->move_ms == 0)
        return NI_CHUNK_FIRST;
    return task->bytes > 0 ? (task->bytes - 1) / lanes + 1 : INT64_MAX;
}

/* Notes how fast each queue pair of the set moved, and that no more than this is to be compared. */
static void note_bulk(struct ni_streams *streams, const struct ni_stream *s)
{
    for_each_queue (q, s->set) {
        struct ni_queue_result *one = &result_of(streams)->queue[q];
        struct ni_lane *lane = &streams->lane[q];
        int64_t mbps = 0;

        if (lane->err != 0)
            continue;
        lane->window = (size_t)ni_least((int64_t)lane->window, lane->moved);
        if (s->bytes > NI_CHUNK_FIRST)
            mbps = ni_divide_measured(lane->moved * 8 * 1000, lane->took_ns);
        if (s->opcode == IBV_WR_RDMA_WRITE)
            one->write_mbps = mbps;
        else
            one->read_mbps = mbps;
    }
}

/* Moves bulk data of all queue pairs of the set at once, one way. Returns those that passed. */
static unsigned move_bulk(struct ni_streams *streams, unsigned set, enum ibv_wr_opcode opcode,
                          struct share share)
{
    const struct ni_rail_task *task = streams->task;
    const int64_t slice = (int64_t)share.slice;
    const struct ni_stream s = {
        .set = set,
        .opcode = opcode,
        .at = NI_TARGET_PAGE,
        .far = share.slice,
        .near = share.slice,
        .bytes = bytes_each(task, set, share.parts),
        .limit_ns = (int64_t)task->move_ms * 1000000 / share.parts,
    };

    if (opcode == IBV_WR_RDMA_WRITE) {
        set_windows(streams, set, (size_t)ni_least(slice, s.bytes)); /* the rest is not touched */
        for_each_queue (q, set)
            fill_pattern(streams, q, streams->device->out + q * share.slice);
    }
    ni_run_stream(streams, &s);
    note_bulk(streams, &s);
    return pass_step(streams, set);
}

static unsigned compare_bytes(struct ni_streams *streams, unsigned set, size_t slice)
{
    for_each_queue (q, set) {
        const uint8_t *out = streams->device->out + q * slice;
        const uint8_t *back = streams->device->back + q * slice;
        struct ni_lane *lane = &streams->lane[q];

        if (memcmp(out, back, lane->window) != 0)
            lane->err = NI_LANE_FAILED;
    }
    return pass_step(streams, set);
}

/* Moves bulk data of the set to the partner and back, and compares. Returns those that passed. */
static unsigned move_there_and_back(struct ni_streams *streams, unsigned set, struct share share)
{
    struct ni_pair_result *x = result_of(streams);

    x->step = NI_PAIR_WRITE;
    if (set != 0)
        set = move_bulk(streams, set, IBV_WR_RDMA_WRITE, share);
    if (set != 0) {
        x->step = NI_PAIR_READ;
        set = move_bulk(streams, set, IBV_WR_RDMA_READ, share);
    }
    x->step = NI_PAIR_COMPARE;
    return set != 0 ? compare_bytes(streams, set, share.slice) : 0;
}

/* Counts what the port has sent again since *last, while the queue pairs of the set moved bulk: no
   others of its port did. The kernel may answer from what it read 10 ms before (Linux 6.12
   drivers/infiniband/core/verbs.c rdma_alloc_hw_stats_struct, RDMA_HW_STATS_DEFAULT_LIFESPAN); bulk
   moves for longer. */
static void count_resent(const struct ni_streams *streams, unsigned set, int64_t *last)
{
    const struct ni_rail *rail = &streams->task->rail;
    const int64_t now = ni_count_resent(rail->hca, rail->port);
    const int64_t resent = ni_least(ni_resent_since(*last, now), UINT32_MAX);

    for_each_queue (q, set)
        result_of(streams)->queue[q].resent = (unsigned)resent;
    *last = now;
}

/* ---- all of it ---- */

/* The result of the pair: that of its queue pairs together, if one of them passed; else that of the
   first. sets: so many moved one after another, each for its part of the time. */
static void sum_up(struct ni_pair_result *x, unsigned tried, unsigned passed, unsigned sets)
{
    const struct ni_queue_result *first = &x->queue[__builtin_ctz(passed != 0 ? passed : tried)];

    x->step = first->step;
    x->err = first->err;
    x->wc = first->wc;
    for (unsigned q = 0; q < NI_MAX_QUEUES; q++) {
        const struct ni_queue_result *one = &x->queue[q];

        x->slowest_ns = one->slowest_ns > x->slowest_ns ? one->slowest_ns : x->slowest_ns;
        x->write_mbps += one->write_mbps;
        x->read_mbps += one->read_mbps;
    }
    x->write_mbps = ni_divide_measured(x->write_mbps, sets);
    x->read_mbps = ni_divide_measured(x->read_mbps, sets);
}

/* Takes the first n queue pairs out of the set, or all if there are fewer, and returns them. */
static unsigned take_first(unsigned *set, unsigned n)
{
    unsigned taken = 0;

    for (; n > 0 && *set != 0; n--) {
        const unsigned lowest = *set & -*set;

        taken |= lowest;
        *set &= ~lowest;
    }
    return taken;
}

void ni_move_data(struct ni_streams *streams)
{
    const struct ni_rail_task *task = streams->task;
    const struct ni_rail *rail = &task->rail;
    const unsigned tried = ni_queues_of(task, NI_ROLE_INITIATOR);
    const unsigned batch = task->batch > 0 ? task->batch : 1;
    const unsigned sets = ((unsigned)__builtin_popcount(tried) + batch - 1) / batch;
    const size_t words = streams->device->window / ni_count_queues(task) / sizeof(uint64_t);
    const struct share share = {words * sizeof(uint64_t), sets};
    struct ni_pair_result *x = result_of(streams);
    const int64_t resent_before = ni_count_resent(rail->hca, rail->port);
    int64_t resent = resent_before;
    unsigned live, passed = 0, left = tried;

    x->n_queue = ni_places_of(tried);
    for (unsigned q = 0; q < x->n_queue; q++)
        x->queue[q] = (struct ni_queue_result){.step = NI_PAIR_SMALL};
    live = time_small(streams, tried);
    x->step = NI_PAIR_IDENTITY; /* where it is, for who kills a trial that hangs */
    if (live != 0)
        live = read_identity(streams, live);
    while (left != 0) {
        const unsigned turn = take_first(&left, batch) & live;

        passed |= move_there_and_back(streams, turn, share);
        count_resent(streams, turn, &resent);
    }
    sum_up(x, tried, passed, sets);
    x->resent = ni_resent_since(resent_before, resent);
}
