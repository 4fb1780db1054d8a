/* SPDX-License-Identifier: Apache-2.0 */
/* Two reliable queue pairs of one port, connected over the port's own GID (or LID), and data through
   them: what a job does, without a peer. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "try.h"

enum {
    DEPTH = 16,      /* work requests in flight */
    CHUNK = 1 << 20, /* bytes of one */
    SMALL = 8,       /* bytes whose way is timed */
    SAMPLES = 64,    /* how often */
    READS = 16,      /* RDMA reads in flight, if the device can */
    TIMEOUT = 14,    /* 4.096 us * 2^14: what is not acknowledged for 67 ms is sent again, */
    RETRIES = 7,     /* so often; then IBV_WC_RETRY_EXC_ERR, after half a second */
    RNR_TIMER = 12,  /* as NCCL (2.30.7 transport/net_ib/connect.cc ncclIbQpRtr) */
    HOPS = 255,
    SPINS = 256 /* empty looks before the processor is offered to others: SoftRoCE needs it */
};

/* core/ and decide/ know the numbers without this library. */
_Static_assert((int)IBV_WC_LOC_QP_OP_ERR == NI_WC_LOC_QP_OP_ERR, "enum ibv_wc_status");
_Static_assert((int)IBV_WC_LOC_PROT_ERR == NI_WC_LOC_PROT_ERR, "enum ibv_wc_status");
_Static_assert((int)IBV_WC_RETRY_EXC_ERR == NI_WC_RETRY_EXC_ERR, "enum ibv_wc_status");
_Static_assert((int)IBV_WC_GENERAL_ERR == NI_WC_GENERAL_ERR, "enum ibv_wc_status");

int64_t ni_now_ns(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- queue pairs ---- */

static bool make_queues(struct ni_loop *loop, struct ni_trial *t)
{
    t->step = NI_STEP_QUEUES;
    errno = 0;
    loop->cq = ibv_create_cq(loop->context, 2 * DEPTH, NULL, NULL, 0);
    if (!loop->cq)
        return ni_failed(t, errno);
    for (int i = 0; i < 2; i++) {
        struct ibv_qp_init_attr attr = {
            .send_cq = loop->cq,
            .recv_cq = loop->cq,
            .cap = {.max_send_wr = DEPTH, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
            .qp_type = IBV_QPT_RC,
            .sq_sig_all = 1,
        };

        errno = 0;
        loop->qp[i] = ibv_create_qp(loop->pd, &attr);
        if (!loop->qp[i])
            return ni_failed(t, errno);
    }
    return true;
}

static int to_init(struct ibv_qp *qp, unsigned port)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_INIT,
        .port_num = (uint8_t)port,
        .qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
    };

    return ibv_modify_qp(qp, &attr,
                         IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static uint8_t at_most(int most, int device)
{
    return (uint8_t)(device < 1 ? 1 : device < most ? device : most);
}

static int to_rtr(const struct ni_loop *loop, int i, const struct ni_trial *t)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_RTR,
        .path_mtu = loop->port.active_mtu,
        .dest_qp_num = loop->qp[1 - i]->qp_num,
        .max_dest_rd_atomic = at_most(READS, loop->device.max_qp_rd_atom),
        .min_rnr_timer = RNR_TIMER,
        .ah_attr = {.port_num = (uint8_t)t->port, .dlid = loop->port.lid},
    };

    /* As NCCL: on InfiniBand by LID, but where the port asks for more. Virtual ports share a LID. */
    if (t->roce || (loop->port.flags & IBV_QPF_GRH_REQUIRED) != 0) {
        attr.ah_attr.is_global = 1;
        attr.ah_attr.grh.dgid = loop->gid;
        attr.ah_attr.grh.sgid_index = t->roce ? (uint8_t)t->index : 0;
        attr.ah_attr.grh.hop_limit = HOPS;
    }
    return ibv_modify_qp(loop->qp[i], &attr,
                         IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                             IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

static int to_rts(const struct ni_loop *loop, int i)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_RTS,
        .timeout = TIMEOUT,
        .retry_cnt = RETRIES,
        .rnr_retry = RETRIES,
        .max_rd_atomic = at_most(READS, loop->device.max_qp_init_rd_atom),
    };

    return ibv_modify_qp(loop->qp[i], &attr,
                         IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                             IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
}

bool ni_loop_connect(struct ni_loop *loop, struct ni_trial *t)
{
    if (!make_queues(loop, t))
        return false;
    t->step = NI_STEP_CONNECT;
    for (int i = 0; i < 2; i++) {
        int err = to_init(loop->qp[i], t->port);

        t->qp_state = IBV_QPS_RESET;
        if (err == 0) {
            t->qp_state = IBV_QPS_INIT;
            err = to_rtr(loop, i, t);
        }
        if (err == 0) {
            t->qp_state = IBV_QPS_RTR;
            err = to_rts(loop, i);
        }
        if (err != 0)
            return ni_failed(t, err);
    }
    return true;
}

/* ---- data ---- */

/* Waits for one completion; a queue pair that gets none ends by its own retries, and a device that
   gives none at all by the parent's patience. */
static bool complete(struct ni_loop *loop, struct ni_trial *t)
{
    struct ibv_wc wc;

    for (unsigned spin = 1;; spin++) {
        int n = ibv_poll_cq(loop->cq, 1, &wc);

        if (n < 0) /* a number of the provider's own, no errno */
            return ni_failed(t, EIO);
        if (n == 1)
            break;
        if (spin % SPINS == 0)
            (void)sched_yield();
    }
    if (wc.status == IBV_WC_SUCCESS)
        return true;
    t->wc_status = (int)wc.status;
    t->vendor_err = (int)wc.vendor_err;
    return false;
}

/* One request of the first queue pair, which moves `n` bytes at `offset` between two of the three
   parts. */
static bool post(struct ni_loop *loop, enum ibv_wr_opcode opcode, size_t offset, size_t n,
                 struct ni_trial *t)
{
    const bool reads = opcode == IBV_WR_RDMA_READ;
    struct ibv_sge sge = {
        .addr = (uintptr_t)(loop->memory + (reads ? 2 * loop->part : 0) + offset),
        .length = (uint32_t)n,
        .lkey = loop->mr->lkey,
    };
    struct ibv_send_wr *bad, wr = {
                                 .sg_list = &sge,
                                 .num_sge = 1,
                                 .opcode = opcode,
                             };
    int err;

    wr.wr.rdma.remote_addr = (uintptr_t)(loop->memory + loop->part + offset);
    wr.wr.rdma.rkey = loop->mr->rkey;
    err = ibv_post_send(loop->qp[0], &wr, &bad);
    return err == 0 || ni_failed(t, err);
}

static int earlier(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* From the request to its completion: there, and the acknowledgement back. */
static bool time_small(struct ni_loop *loop, struct ni_trial *t)
{
    int64_t ns[SAMPLES];

    for (int i = 0; i < SAMPLES; i++) {
        int64_t before = ni_now_ns();

        if (!post(loop, IBV_WR_RDMA_WRITE, 0, SMALL, t) || !complete(loop, t))
            return false;
        ns[i] = ni_now_ns() - before;
    }
    qsort(ns, SAMPLES, sizeof(ns[0]), earlier);
    t->latency_ns = ns[SAMPLES / 2];
    return true;
}

/* `bytes` in all, over and over through a part of the memory. */
static bool stream(struct ni_loop *loop, enum ibv_wr_opcode opcode, int64_t bytes, int64_t *ret_us,
                   struct ni_trial *t)
{
    const size_t window = bytes < (int64_t)loop->part ? (size_t)bytes : loop->part;
    int64_t left = bytes, before = ni_now_ns();
    size_t offset = 0;
    unsigned flying = 0;

    while (left > 0 || flying > 0) {
        if (left > 0 && flying < DEPTH) {
            size_t n = window - offset < CHUNK ? window - offset : CHUNK;

            n = (int64_t)n > left ? (size_t)left : n;
            if (!post(loop, opcode, offset, n, t))
                return false;
            flying++;
            left -= (int64_t)n;
            offset = offset + n == window ? 0 : offset + n;
            continue;
        }
        if (!complete(loop, t))
            return false;
        flying--;
    }
    *ret_us = (ni_now_ns() - before) / 1000;
    return true;
}

/* No byte is where another one could be. By whole words: a part is whole pages. */
static void paint(uint8_t *memory, size_t n, unsigned port)
{
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio */

    for (size_t i = 0; i < n; i += sizeof(odd)) {
        uint64_t word = (i / sizeof(odd) + port + 1) * odd;

        memcpy(memory + i, &word, sizeof(word));
    }
}

static bool compare(const struct ni_loop *loop, size_t n, struct ni_trial *t)
{
    const uint8_t *sent = loop->memory, *back = sent + 2 * loop->part;

    t->step = NI_STEP_COMPARE;
    for (size_t i = 0; i < n; i++) {
        if (sent[i] != back[i]) {
            t->bad_at = (int64_t)i;
            return false;
        }
    }
    return true;
}

bool ni_loop_move(struct ni_loop *loop, int64_t bytes, struct ni_trial *t)
{
    const size_t window = bytes < (int64_t)loop->part ? (size_t)bytes : loop->part;

    paint(loop->memory, window, t->port);
    t->bad_at = -1;
    t->step = NI_STEP_WRITE;
    if (!time_small(loop, t) || !stream(loop, IBV_WR_RDMA_WRITE, bytes, &t->write_us, t))
        return false;
    t->step = NI_STEP_READ;
    return stream(loop, IBV_WR_RDMA_READ, bytes, &t->read_us, t) && compare(loop, window, t);
}
