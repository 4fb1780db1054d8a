/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of data: requests are posted as fast as the rail carries them, and their completions
   taken. */
#include "rail/stream.h"

#include <errno.h>
#include <sched.h>
#include <time.h>

#include "rail/verbs.h"

enum {
    CHUNK_MIN = 8192, /* larger than any path MTU, so that a large packet is seen on each pair */
    CHUNK_MAX = 1 << 20,
    FLIGHT_NS = 3000000, /* what is in flight takes so long, if there is room for it */
    SPINS = 256, /* empty polls before the processor is offered to others: SoftRoCE needs it */
    /* Between polls while bulk moves: the requests in flight last longer, and a pod may have fewer
       processors than rails, or a quota of them. */
    NAP_NS = 20000,
    /* The first request of a stream shows the rate: a nap would be a part of what it takes. */
    SPIN_NS = 1000000,
    STALL_NS = 5000000 /* between polls: the process did not run */
};
/* if this side drops packets there is no completion at all */
#define PATIENCE (2 * NI_SECOND_NS)

/* Notes the completion for its queue pair. One of an earlier stream, or of a queue pair that has
   failed, is ignored. Returns true if it counts. */
static bool take_completion(struct ni_streams *streams, const struct ibv_wc *wc)
{
    const unsigned q = wc->wr_id % NI_MAX_QUEUES;
    struct ni_lane *lane = &streams->lane[q];

    if (wc->wr_id / NI_MAX_QUEUES != streams->number || lane->flying == 0)
        return false;
    lane->flying--;
    lane->took_ns = ni_now_ns() - streams->begin_ns - streams->stalled_ns + 1;
    if (wc->status == IBV_WC_SUCCESS)
        return true;
    lane->err = NI_LANE_FAILED;
    lane->flying = 0; /* what is in flight is flushed */
    streams->task->result[NI_ROLE_INITIATOR].queue[q].wc = (int)wc->status;
    streams->task->vendor_err = (int)wc->vendor_err;
    return true;
}

/* Waits for one completion. naps: it sleeps between polls, after spin_ns. Without naps, time in which
   this process did not run goes into stalled_ns: a quota of processors makes a completion wait here,
   and it is not late on the wire. 0 or an errno. */
static int complete(struct ni_streams *streams, bool naps, int64_t spin_ns)
{
    static const struct timespec nap = {.tv_nsec = NAP_NS};
    int64_t polled = ni_now_ns();
    const int64_t until = polled + PATIENCE, spin_until = polled + spin_ns;

    for (unsigned spin = 1;; spin++) {
        /* the time before the poll: a process that stood still polls once more */
        const bool over = polled >= until;
        struct ibv_wc wc;
        const int n = ibv_poll_cq(streams->queues->cq, 1, &wc);
        const int64_t now = ni_now_ns();

        if (!naps && now - polled > STALL_NS)
            streams->stalled_ns += now - polled;
        polled = now;
        if (n < 0) /* the provider's own number, not an errno */
            return EIO;
        if (n > 0 && take_completion(streams, &wc))
            return 0;
        if (n == 0 && over)
            return ETIMEDOUT;
        if (n == 0 && naps && now >= spin_until)
            (void)nanosleep(&nap, NULL);
        else if (n == 0 && spin % SPINS == 0)
            (void)sched_yield();
    }
}

/* Posts what the queue pair has room for. */
static void post(struct ni_streams *streams, const struct ni_stream *s, unsigned q)
{
    const struct ni_rail_end *peer = &streams->task->peer[NI_ROLE_INITIATOR];
    const struct ni_rail_device *d = streams->device;
    const uint8_t *own = s->opcode == IBV_WR_RDMA_READ ? d->back : d->out;
    struct ni_lane *lane = &streams->lane[q];
    struct ibv_sge sge = {.lkey = d->own->lkey};
    struct ibv_send_wr *bad, wr = {.sg_list = &sge, .num_sge = 1, .opcode = s->opcode};

    wr.wr_id = streams->number * NI_MAX_QUEUES + q;
    wr.wr.rdma.rkey = peer->rkey;
    while (lane->err == 0 && lane->moved < s->bytes && lane->flying < streams->depth) {
        const size_t offset = (size_t)lane->moved % lane->window;
        const int64_t left = ni_least((int64_t)(lane->window - offset), s->bytes - lane->moved);

        sge.addr = (uintptr_t)own + q * s->near + offset;
        sge.length = (uint32_t)ni_least(streams->chunk, left);
        wr.wr.rdma.remote_addr = peer->address + s->at + q * s->far + offset;
        lane->err = ibv_post_send(streams->queues->qp[NI_ROLE_INITIATOR][q], &wr, &bad);
        if (lane->err != 0)
            return;
        lane->moved += sge.length;
        lane->flying++;
    }
}

/* Posts what the queue pairs of the stream have room for. Returns the number of requests in
   flight. */
static unsigned post_all(struct ni_streams *streams, const struct ni_stream *s)
{
    unsigned flying = 0;

    for_each_queue (q, s->set) {
        if (!streams->over)
            post(streams, s, q);
        flying += streams->lane[q].flying;
    }
    return flying;
}

/* Ends the queue pairs that wait for a completion. */
static void give_up(struct ni_streams *streams, unsigned set, int err)
{
    for_each_queue (q, set) {
        struct ni_lane *lane = &streams->lane[q];

        if (lane->flying == 0)
            continue;
        lane->err = err;
        lane->flying = 0;
    }
}

/* Sets depth and chunk by how fast the rail was so far: first by one request, then when the time
   has doubled, for a request alone shows the round trip more than the rate. */
static void speed_up(struct ni_streams *streams, unsigned set)
{
    int64_t moved = 0, took_ns = 1, most = CHUNK_MAX;
    unsigned lanes = 0;

    for_each_queue (q, set) {
        const struct ni_lane *lane = &streams->lane[q];

        moved += lane->moved;
        if (streams->depth > 1)
            moved -= lane->flying * streams->chunk;
        took_ns = lane->took_ns > took_ns ? lane->took_ns : took_ns;
        most = ni_least(most, (int64_t)lane->window);
        lanes++;
    }
    const int64_t flight = moved > 0 ? moved * FLIGHT_NS / took_ns / lanes : 0;
    const int64_t chunk = flight / NI_DEPTH / CHUNK_MIN * CHUNK_MIN;

    streams->chunk = ni_least(chunk > CHUNK_MIN ? chunk : CHUNK_MIN, most);
    streams->depth = (unsigned)ni_least(streams->queues->depth, flight / streams->chunk);
    streams->depth = streams->depth > NI_DEPTH ? streams->depth : NI_DEPTH;
    streams->next_ns = 2 * took_ns;
}

/* Begins with one request of each queue pair, all together so large that a slow link has not more
   than that to carry in a time-out. */
static void begin(struct ni_streams *streams, unsigned set)
{
    const int64_t share = NI_CHUNK_FIRST / __builtin_popcount(set);

    streams->number++;
    streams->stalled_ns = 0;
    streams->over = false;
    for_each_queue (q, set)
        streams->lane[q] = (struct ni_lane){.window = streams->lane[q].window};
    streams->chunk = share > CHUNK_MIN ? share : CHUNK_MIN;
    streams->depth = 1;
    streams->begin_ns = ni_now_ns();
}

void ni_run_stream(struct ni_streams *streams, const struct ni_stream *s)
{
    begin(streams, s->set);
    while (post_all(streams, s) > 0) {
        const bool first = streams->depth == 1, naps = s->bytes > NI_TARGET_PAGE && !streams->over;
        const int err = complete(streams, naps, first ? SPIN_NS : 0);

        if (err != 0)
            give_up(streams, s->set, err);
        const int64_t passed_ns = ni_now_ns() - streams->begin_ns;
        if (first || passed_ns >= streams->next_ns)
            speed_up(streams, s->set);
        streams->over = passed_ns >= s->limit_ns;
    }
}
