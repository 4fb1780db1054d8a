/* SPDX-License-Identifier: Apache-2.0 */
/* The trial of one port, step by step: the device is found, opened and asked, memory is registered,
   two reliable queue pairs are connected over the port's own GID (or LID), and data goes through
   them: what a job does, without a peer. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "nccl_init/verbs.h"
#include "queue.h"

enum { PAGE = 4096 };

/* What a trial holds, until its process ends. */
struct loop {
    struct ni_trial *t;
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_mr *mr;
    struct ibv_cq *cq;
    struct ibv_qp *qp[2];
    struct ibv_device_attr device;
    struct ibv_port_attr port;
    union ibv_gid gid;
    uint8_t *memory; /* three parts of `part` bytes: sent, written, read back */
    size_t part;
};

/* Notes the errno of the step; false. */
static bool failed(struct loop *l, int err)
{
    l->t->err = err != 0 ? err : EIO; /* a library that fails without an errno */
    return false;
}

/* ---- the device ---- */

static bool open_device(struct loop *l)
{
    struct ibv_device *device;
    int err;

    l->t->step = NI_STEP_FIND;
    err = ni_find_device(l->t->hca, &device);
    if (err != 0)
        return failed(l, err);
    l->t->step = NI_STEP_OPEN;
    err = ni_open_device(device, &l->context);
    return err == 0 || failed(l, err);
}

static void read_gids(struct loop *l)
{
    struct ni_trial *t = l->t;
    struct ibv_gid_entry *entry = calloc(NI_TRIAL_GIDS, sizeof(*entry));
    ssize_t n = entry ? ibv_query_gid_table(l->context, entry, NI_TRIAL_GIDS, 0) : -ENOMEM;

    t->gid_err = n < 0 ? (int)-n : 0;
    t->n_gid = n < 0 ? 0 : (unsigned)n;
    for (unsigned i = 0; i < t->n_gid; i++) {
        struct ni_trial_gid *to = &t->table[i];

        memcpy(to->ip, entry[i].gid.raw, NI_GID_BYTES);
        to->index = (uint16_t)entry[i].gid_index;
        to->port = (uint8_t)entry[i].port_num;
        to->v2 = entry[i].gid_type == IBV_GID_TYPE_ROCE_V2;
    }
    free(entry);
}

/* As NCCL finds out (2.30.7 transport/net_ib/gdr.cc ibDmaBufSupportInitOnce): a descriptor that is
   none gives these two where the kernel or the driver lacks the call, else EBADF. */
static enum ni_known ask_dmabuf(struct ibv_pd *pd)
{
    struct ibv_mr *mr;

    errno = 0;
    mr = ibv_reg_dmabuf_mr(pd, 0, 0, 0, -1, 0);
    if (mr)
        (void)ibv_dereg_mr(mr);
    return !mr && (errno == EOPNOTSUPP || errno == EPROTONOSUPPORT) ? NI_ABSENT : NI_KNOWN;
}

static bool ask_device(struct loop *l)
{
    struct ni_trial_device *to = &l->t->device;
    int err;

    l->t->step = NI_STEP_DEVICE;
    err = ibv_query_device(l->context, &l->device);
    if (err != 0)
        return failed(l, err);
    (void)ni_copyn(to->firmware, sizeof(to->firmware), l->device.fw_ver,
                   strnlen(l->device.fw_ver, sizeof(to->firmware) - 1));
    to->max_mr_size = l->device.max_mr_size;
    to->max_qp = l->device.max_qp;
    to->max_cq = l->device.max_cq;
    to->max_mr = l->device.max_mr;
    read_gids(l);
    errno = 0;
    l->pd = ibv_alloc_pd(l->context);
    if (!l->pd)
        return failed(l, errno);
    to->dmabuf = ask_dmabuf(l->pd);
    return true;
}

/* ---- the port and the memory ---- */

static bool ask_port(struct loop *l)
{
    int err;

    l->t->step = NI_STEP_PORT;
    err = ibv_query_port(l->context, (uint8_t)l->t->port, &l->port);
    if (err != 0)
        return failed(l, err);
    l->t->port_state = (int)l->port.state;
    l->t->phys_state = l->port.phys_state;
    return l->port.state == IBV_PORT_ACTIVE;
}

/* Where sysfs and the device differ, what the device says is tried: that is what a job would use. */
static bool ask_gid(struct loop *l)
{
    struct ni_trial *t = l->t;
    struct ibv_gid_entry entry = {.gid_index = 0};
    int err;

    t->step = NI_STEP_GID;
    if (t->index < 0 && t->roce)
        return false;
    if (t->index > UINT8_MAX) /* struct ibv_global_route has no room for more, NCCL neither */
        return failed(l, ERANGE);
    err = ibv_query_gid_ex(l->context, t->port, t->roce ? (uint32_t)t->index : 0, &entry, 0);
    if (err != 0)
        return failed(l, err);
    l->gid = entry.gid;
    memcpy(t->seen, entry.gid.raw, NI_GID_BYTES);
    t->seen_v2 = entry.gid_type == IBV_GID_TYPE_ROCE_V2;
    return !t->roce || !ni_ip_is_zero(t->seen) || failed(l, ENODATA);
}

static bool register_memory(struct loop *l, size_t size)
{
    int64_t before;

    l->t->step = NI_STEP_ALLOCATE;
    l->memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (l->memory == MAP_FAILED)
        return failed(l, errno);
    l->part = size / 3 / PAGE * PAGE;
    l->t->step = NI_STEP_REGISTER;
    before = ni_now_ns();
    errno = 0;
    l->mr = ibv_reg_mr(l->pd, l->memory, size,
                       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
    if (!l->mr)
        return failed(l, errno);
    l->t->register_us = (ni_now_ns() - before) / 1000;
    return true;
}

/* ---- queue pairs ---- */

static bool make_queues(struct loop *l)
{
    int err = 0;

    l->t->step = NI_STEP_QUEUES;
    errno = 0;
    l->cq = ibv_create_cq(l->context, 2 * NI_QUEUE_DEPTH, NULL, NULL, 0);
    if (!l->cq)
        return failed(l, errno);
    for (int i = 0; i < 2 && err == 0; i++)
        err = ni_make_queue(l->pd, l->cq, &l->qp[i]);
    return err == 0 || failed(l, err);
}

/* One queue pair to the other. */
static bool connect_queues(struct loop *l)
{
    struct ni_trial *t = l->t;
    struct ni_far_end to = {
        .port = (uint8_t)t->port,
        .mtu = l->port.active_mtu,
        .gid = l->gid,
        .gid_index = t->roce ? (uint8_t)t->index : 0,
        .lid = l->port.lid,
        .answers = ni_most_reads(l->device.max_qp_rd_atom),
        .starts = ni_most_reads(l->device.max_qp_init_rd_atom),
    };
    int err = 0;

    /* As NCCL: on InfiniBand by LID, but where the port asks for more. Virtual ports share a LID. */
    to.global = t->roce || (l->port.flags & IBV_QPF_GRH_REQUIRED) != 0;
    t->step = NI_STEP_CONNECT;
    for (int i = 0; i < 2 && err == 0; i++) {
        enum ibv_qp_state state;

        to.qpn = l->qp[1 - i]->qp_num;
        err = ni_connect_queue(l->qp[i], &to, &state);
        t->qp_state = (int)state;
    }
    return err == 0 || failed(l, err);
}

/* ---- data ---- */

/* `bytes` there and back, and compared. */
static bool move_data(struct loop *l, int64_t bytes)
{
    const size_t window = bytes < (int64_t)l->part ? (size_t)bytes : l->part;
    const uint8_t *back = l->memory + 2 * l->part;
    struct ni_trial *t = l->t;
    struct ni_mover m = {
        .qp = l->qp[0],
        .cq = l->cq,
        .out = l->memory,
        .back = l->memory + 2 * l->part,
        .remote = (uintptr_t)(l->memory + l->part),
        .lkey = l->mr->lkey,
        .rkey = l->mr->rkey,
        .window = window,
        .depth = NI_QUEUE_DEPTH,
        .chunk = NI_QUEUE_CHUNK,
        .patience_ns = INT64_MAX, /* the parent ends what gets no completion */
    };
    int64_t moved, ns, slowest;
    bool passed;

    /* No byte is where another one could be. By whole words: a part is whole pages. */
    ni_fill_pattern(l->memory, (window + 7) / 8 * 8, t->port);
    t->bad_at = -1;
    t->step = NI_STEP_WRITE;
    passed = ni_time_small(&m, INT64_MAX, &t->latency_ns, &slowest) &&
             ni_stream(&m, IBV_WR_RDMA_WRITE, bytes, INT64_MAX, &moved, &ns);
    if (passed) {
        t->write_us = ns / 1000;
        t->step = NI_STEP_READ;
        passed = ni_stream(&m, IBV_WR_RDMA_READ, bytes, INT64_MAX, &moved, &ns);
    }
    t->err = m.err;
    t->wc_status = m.wc_status;
    t->vendor_err = m.vendor;
    if (!passed)
        return false;
    t->read_us = ns / 1000;
    t->step = NI_STEP_COMPARE;
    for (size_t i = 0; i < window; i++) {
        if (l->memory[i] != back[i]) {
            t->bad_at = (int64_t)i;
            return false;
        }
    }
    return true;
}

/* ---- all steps ---- */

void ni_try_port(const struct ni_trials *all, struct ni_trial *t)
{
    struct loop l = {.t = t};
    struct rlimit limit;

    t->memlock = -1;
    if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0)
        t->memlock =
            limit.rlim_cur >= (rlim_t)NI_UNLIMITED ? NI_UNLIMITED : (int64_t)limit.rlim_cur;
    if (!open_device(&l) || !ask_device(&l))
        return;
    if (!all->probe && !(ask_port(&l) && ask_gid(&l) && register_memory(&l, (size_t)all->size) &&
                         make_queues(&l) && connect_queues(&l) && move_data(&l, all->bytes)))
        return;
    t->step = NI_STEP_DONE;
}
