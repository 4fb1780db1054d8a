/* SPDX-License-Identifier: Apache-2.0 */
/* The queue pairs of a rail, by libibverbs. */
#include "rail/queues.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/rdma.h"
#include "rail/verbs.h"

enum {
    MOST_DEPTH = 128, /* of NI_DEPTH, where the rate times a nap and a round trip needs more */
    READS_MAX = 16,   /* RDMA reads in flight, if the device can */
    TIMEOUT = 14,     /* 4.096 us * 2^14: what is not acknowledged for 67 ms is sent again, */
    /* ... so often; then IBV_WC_RETRY_EXC_ERR, after half a second. 7 means for ever on SoftRoCE
       (Linux 6.1 drivers/infiniband/sw/rxe/rxe_comp.c) */
    RETRIES = 6,
    RNR_TIMER = 12, /* as NCCL (2.30.7 transport/net_ib/connect.cc ncclIbQpRtr) */
    HOPS = 255
};

unsigned ni_count_queues(const struct ni_rail_task *task)
{
    return task->n_queue > 0 ? task->n_queue : 1;
}

unsigned ni_queues_of(const struct ni_rail_task *task, enum ni_role role)
{
    const unsigned all = (1U << ni_count_queues(task)) - 1, some = task->queues[role];

    return some != 0 ? some & all : all;
}

void ni_drop_queues(struct ni_queues *queues)
{
    for (enum ni_role role = 0; role < NI_ROLES; role++)
        for (unsigned q = 0; q < NI_MAX_QUEUES; q++)
            if (queues->qp[role][q])
                (void)ibv_destroy_qp(queues->qp[role][q]);
    if (queues->cq)
        (void)ibv_destroy_cq(queues->cq);
    *queues = (struct ni_queues){0};
}

/* Returns a first packet number that packets of an earlier queue pair, or try, do not fit. */
static uint32_t new_psn(void)
{
    return (uint32_t)ni_now_ns() & 0xffffff;
}

unsigned ni_places_of(unsigned set)
{
    unsigned n = 0;

    for_each_queue (q, set)
        n = q + 1;
    return n;
}

/* Returns what the peer has to know of this end, except its queue pairs. */
static struct ni_rail_end describe_end(const struct ni_rail_device *d, enum ni_link link)
{
    const int64_t reads = ni_least(d->attr.max_qp_rd_atom, d->attr.max_qp_init_rd_atom);
    struct ni_rail_end end = {
        .rkey = d->target->rkey,
        .address = (uintptr_t)d->memory,
        .lid = d->port.lid,
        .path_mtu = (uint16_t)ni_mtu_bytes(d->port.active_mtu),
        .most_reads = (uint8_t)ni_least(READS_MAX, reads),
        .global = link != NI_LINK_IB || (d->port.flags & IBV_QPF_GRH_REQUIRED) != 0,
    };

    memcpy(end.gid, d->gid.gid.raw, NI_GID_BYTES);
    return end;
}

/* Returns the number of work requests that each of n queue pairs of a role is to have room for, as
   far as the device tells what it can. */
static unsigned choose_depth(const struct ibv_device_attr *attr, unsigned n)
{
    const int64_t fits = ni_least(attr->max_qp_wr, attr->max_cqe / (int64_t)(2 * n));
    const int64_t depth = ni_least(MOST_DEPTH, fits);

    return depth > NI_DEPTH ? (unsigned)depth : NI_DEPTH;
}

int ni_make_queues(struct ni_queues *queues, const struct ni_rail_device *d,
                   struct ni_rail_task *task, enum ni_role role)
{
    const unsigned set = ni_queues_of(task, role), most = ni_count_queues(task);
    struct ni_rail_end *own = &task->own[role];
    struct ibv_qp_init_attr attr = {
        .cap = {.max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
        .qp_type = IBV_QPT_RC,
        .sq_sig_all = 1,
    };

    if (!queues->cq) { /* twice: completions of a queue pair that began anew may still lie there */
        queues->depth = choose_depth(&d->attr, most);
        queues->cq = ibv_create_cq(d->context, (int)(2 * most * queues->depth), NULL, NULL, 0);
    }
    attr.cap.max_send_wr = queues->depth;
    attr.send_cq = attr.recv_cq = queues->cq;
    *own = describe_end(d, task->rail.link);
    own->n_queue = ni_places_of(set);
    for_each_queue (q, set) {
        struct ibv_qp *qp = queues->cq ? ibv_create_qp(d->pd, &attr) : NULL;

        queues->qp[role][q] = qp;
        if (!qp)
            return ni_verbs_error(NULL);
        own->queue[q] = (struct ni_queue_end){qp->qp_num, new_psn()};
    }
    /* the port itself, until pod 0 names another peer */
    task->peer[NI_ROLES - 1 - role] = *own;
    return 0;
}

int ni_reset_queues(const struct ni_queues *queues, struct ni_rail_task *task, enum ni_role role)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};

    for_each_queue (q, ni_queues_of(task, role)) {
        struct ibv_qp *qp = queues->qp[role][q];
        int err;

        task->own[role].queue[q].psn = new_psn();
        err = qp ? ibv_modify_qp(qp, &attr, IBV_QP_STATE) : EIO;
        if (err != 0)
            return err;
    }
    return 0;
}

/* Returns the attributes for the three states below, for this end of a queue pair and its peer. */
static struct ibv_qp_attr queue_attr(const struct ni_rail_device *d,
                                     const struct ni_rail_task *task, enum ni_role role, unsigned q)
{
    const struct ni_rail_end *own = &task->own[role], *peer = &task->peer[role];
    const uint8_t port = (uint8_t)task->rail.port;
    const uint8_t most = (uint8_t)ni_least(own->most_reads, peer->most_reads);
    const uint8_t reads = most > 0 ? most : 1; /* some devices say 0, and read */
    struct ibv_qp_attr attr = {
        .pkey_index = (uint16_t)task->pkey_index,
        .port_num = port,
        .qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
        .ah_attr = {.port_num = port, .dlid = peer->lid, .sl = (uint8_t)task->service_level},
        .path_mtu = d->port.active_mtu,
        .dest_qp_num = peer->queue[q].qpn,
        .rq_psn = peer->queue[q].psn,
        .max_dest_rd_atomic = reads,
        .min_rnr_timer = RNR_TIMER,
        .sq_psn = own->queue[q].psn,
        .timeout = TIMEOUT,
        .retry_cnt = RETRIES,
        .rnr_retry = RETRIES,
        .max_rd_atomic = reads,
    };

    while (attr.path_mtu > IBV_MTU_256 && ni_mtu_bytes(attr.path_mtu) > peer->path_mtu)
        attr.path_mtu--;
    /* On InfiniBand the GID is used only if a router is between (other subnet prefixes), or one of
       the ports asks for it, as virtual ports do, which share a LID. */
    if (own->global || peer->global || memcmp(own->gid, peer->gid, NI_GID_BYTES / 2) != 0) {
        attr.ah_attr.is_global = 1;
        memcpy(attr.ah_attr.grh.dgid.raw, peer->gid, NI_GID_BYTES);
        attr.ah_attr.grh.sgid_index = (uint8_t)d->gid.gid_index;
        attr.ah_attr.grh.hop_limit = HOPS;
        attr.ah_attr.grh.traffic_class = (uint8_t)task->traffic_class;
    }
    return attr;
}

/* Takes one queue pair to INIT, RTR and RTS. 0 or an errno. */
static int connect_queue(struct ibv_qp *qp, struct ibv_qp_attr attr)
{
    static const struct {
        enum ibv_qp_state state;
        int mask; /* the attributes that it takes */
    } states[] = {
        {IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS},
        {IBV_QPS_RTR, IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                          IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER},
        {IBV_QPS_RTS, IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                          IBV_QP_MAX_QP_RD_ATOMIC},
    };
    int err = 0;

    for (size_t i = 0; i < NI_COUNT(states) && err == 0; i++) {
        attr.qp_state = states[i].state;
        err = ibv_modify_qp(qp, &attr, IBV_QP_STATE | states[i].mask);
    }
    return err;
}

int ni_connect_queues(const struct ni_queues *queues, const struct ni_rail_device *d,
                      const struct ni_rail_task *task, enum ni_role role)
{
    for_each_queue (q, ni_queues_of(task, role)) {
        const int err = connect_queue(queues->qp[role][q], queue_attr(d, task, role, q));

        if (err != 0)
            return err;
    }
    return 0;
}
