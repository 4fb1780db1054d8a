/* SPDX-License-Identifier: Apache-2.0 */
/* A pair of a GPU and an HCA's port, connected to itself by the code of rails. GPU memory is taken by
   the way that NCCL would take, is written and read by the HCA, and looked at by CUDA. */
#include "try/pair.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "nccl_init/base.h"
#include "rail/device.h"
#include "rail/pattern.h"
#include "rail/queues.h"
#include "rail/stream.h"
#include "rail/task.h"
#include "rail/verbs.h"
#include "try/verbs.h"

enum {
    BUFFER = 4 << 20,   /* of GPU memory; there are two */
    WINDOW = NI_WINDOW, /* of it, of host memory: what is moved and compared */
    SET = 1,            /* one queue pair */
    LATE_MS = 50,       /* then bytes that were wrong are looked at again */
    MEASURE_MS = 5000   /* as long a pair waits for another that measures */
};

/* CUdevice_attribute, CUpointer_attribute, CUmemRangeHandleType, its flag (cuda.h of CUDA 12.8) */
enum {
    DMA_BUF_SUPPORTED = 124,
    SYNC_MEMOPS = 6,
    DMA_BUF_FD = 1,
    MAPPING_PCIE = 1,
    OLD_DRIVER = 11070, /* before it NCCL takes no DMA-BUF (2.30.7 init.cc dmaBufSupported) */
    TOO_OLD = 801       /* CUDA_ERROR_NOT_SUPPORTED */
};

/* Memory that the HCA may use. */
struct memory {
    uint64_t at;
    struct ibv_mr *mr;
};

struct pair {
    const struct ni_pair_order *order;
    const struct ni_cuda *cuda;
    int device;
    struct ni_rail_device hca;     /* with host memory: `out` to send from, `back` to receive in */
    struct ni_rail_task task, own; /* own: of the queue pair that is connected to itself */
    struct ni_queues queues, flush;
    struct memory gpu[2], out, back; /* out and back: of the host */
    uint8_t *look;                   /* as much host memory, for CUDA */
    int fd[2];                       /* DMA-BUF descriptors of the buffers; -1: none */
    struct ni_tried_pair *ret;
};

/* ---- results ---- */

static bool is(struct pair *p, int err)
{
    p->ret->err = err < 0 ? EIO : err;
    return err == 0;
}

static bool cuda_is(struct pair *p, int r)
{
    p->ret->cuda = r;
    return r == 0;
}

/* ---- streams ---- */

/* Moves bytes between local and remote memory. false: *ret says why; ETIME: it is so slow that not all
   were moved. */
static bool move(struct pair *p, bool by_itself, enum ibv_wr_opcode opcode,
                 const struct memory *local, const struct memory *remote, int64_t bytes,
                 int64_t limit_ns, int64_t *ret_mbps)
{
    static uint64_t number; /* of streams: completions of an earlier one are known by it */
    struct ni_rail_task *task = by_itself ? &p->own : &p->task;
    struct ni_rail_device device = p->hca;
    struct ni_streams streams = {
        .task = task,
        .device = &device,
        .queues = by_itself ? &p->flush : &p->queues,
        .number = number,
    };
    const struct ni_stream s = {.set = SET, .opcode = opcode, .bytes = bytes, .limit_ns = limit_ns};
    struct ni_lane *lane = &streams.lane[0];

    device.out = device.back = (uint8_t *)(uintptr_t)local->at;
    device.own = local->mr;
    task->peer[NI_ROLE_INITIATOR].address = remote->at;
    task->peer[NI_ROLE_INITIATOR].rkey = remote->mr->rkey;
    lane->window = (size_t)ni_least(bytes, WINDOW);
    ni_run_stream(&streams, &s);
    number = streams.number;
    if (ret_mbps)
        *ret_mbps = lane->took_ns > 0 ? lane->moved * 8 * 1000 / lane->took_ns : 0;
    p->ret->wc = task->result[NI_ROLE_INITIATOR].queue[0].wc;
    p->ret->err = lane->err > 0 ? lane->err : 0;
    if (lane->err != 0)
        return false;
    return is(p, bytes == INT64_MAX || lane->moved == bytes ? 0 : ETIME);
}

/* Flushes as NCCL does: by a read of one byte, by a queue pair that is connected to itself (2.30.7
   transport/net_ib/p2p.cc ncclIbIflush). */
static bool flush(struct pair *p, const struct memory *gpu)
{
    return move(p, true, IBV_WR_RDMA_READ, &p->back, gpu, 1, NI_SECOND_NS, NULL);
}

/* ---- bytes ---- */

static uint64_t new_key(void)
{
    uint64_t key = (uint64_t)ni_now_ns();

    if (getrandom(&key, sizeof(key), GRND_NONBLOCK) != sizeof(key))
        key *= UINT64_C(0x9e3779b97f4a7c15);
    return key;
}

/* Lets CUDA write the pattern into GPU memory. A copy may end before its bytes are there (CUDA, API
   synchronization behavior). */
static bool put_on_gpu(struct pair *p, const struct memory *gpu, uint64_t key)
{
    ni_fill_pattern(p->look, WINDOW, key);
    return cuda_is(p, p->cuda->to_device(gpu->at, p->look, WINDOW)) &&
           cuda_is(p, p->cuda->finish());
}

static bool compare_on_gpu(struct pair *p, const struct memory *gpu, uint64_t key,
                           struct ni_difference *ret)
{
    if (!cuda_is(p, p->cuda->to_host(p->look, gpu->at, WINDOW)))
        return false;
    *ret = ni_compare_pattern(p->look, WINDOW, key);
    return true;
}

static bool compare(struct pair *p, const struct memory *to, uint64_t key,
                    struct ni_difference *ret)
{
    if (to == &p->gpu[0] || to == &p->gpu[1])
        return flush(p, to) && compare_on_gpu(p, to, key, ret);
    *ret = ni_compare_pattern((const uint8_t *)(uintptr_t)to->at, WINDOW, key);
    return true;
}

/* Moves a pattern, by RDMA WRITE or READ, and compares it. What is wrong is looked at once more. */
static bool move_pattern(struct pair *p, enum ibv_wr_opcode opcode, const struct memory *from,
                         const struct memory *to, struct ni_difference *ret)
{
    static const struct timespec later = {.tv_nsec = LATE_MS * 1000000};
    const struct memory *local = from, *remote = to;
    const uint64_t key = new_key();

    if (opcode == IBV_WR_RDMA_READ) { /* the reader's own memory is where the bytes go */
        local = to;
        remote = from;
    }
    if (from == &p->out)
        ni_fill_pattern(p->hca.out, WINDOW, key);
    else if (!put_on_gpu(p, from, key))
        return false;
    if (!move(p, false, opcode, local, remote, WINDOW, 5 * NI_SECOND_NS, NULL) ||
        !compare(p, to, key, ret))
        return false;
    if (ret->n == 0)
        return true;
    (void)nanosleep(&later, NULL);
    if (!compare(p, to, key, ret))
        return false;
    p->ret->late += ret->n == 0;
    return true;
}

/* The same, by one buffer of the GPU; where that is wrong by the other, and where this is right by the
   first one again: what is wrong once in a buffer does not count. `to` is the host's memory, or NULL:
   the other buffer; so is `from`. */
static bool try_bytes(struct pair *p, enum ibv_wr_opcode opcode, const struct memory *from,
                      const struct memory *to)
{
    static const unsigned order[] = {0, 1, 0};
    struct ni_difference differs = {.n = 1};
    uint64_t once = 0;

    for (unsigned i = 0; i < NI_COUNT(order); i++) {
        const struct memory *one = &p->gpu[order[i]], *other = &p->gpu[1 - order[i]];
        const struct memory *sends = from ? from : one;
        const struct memory *receives = to;

        if (!receives)
            receives = from ? one : other;
        if (!move_pattern(p, opcode, sends, receives, &differs))
            return false;
        if (i == 0)
            once = differs.n;
        if (once == 0 || (i > 0 && differs.n > 0))
            break;
    }
    if (differs.n == 0 && once > 0)
        p->ret->once = once;
    p->ret->wrong = differs.n;
    p->ret->first = differs.first;
    p->ret->holds = differs.holds;
    p->ret->of = WINDOW;
    return differs.n == 0;
}

/* ---- rates ---- */

/* Measures both ways, while no other pair of this trial does: GPUs may share a switch. Without its
   turn it measures nothing. */
static bool measure(struct pair *p)
{
    static const struct timespec ms = {.tv_nsec = 1000000};
    const int64_t limit = (int64_t)p->order->move_ms * 1000000,
                  until = ni_now_ns() + MEASURE_MS * INT64_C(1000000);
    int none = 0;

    while (!atomic_compare_exchange_strong(p->order->measuring, &none, (int)getpid())) {
        none = 0;
        if (ni_now_ns() >= until)
            return true;
        (void)nanosleep(&ms, NULL);
    }
    const bool passed = move(p, false, IBV_WR_RDMA_WRITE, &p->out, &p->gpu[0], INT64_MAX, limit,
                             &p->ret->in_mbps) &&
                        move(p, false, IBV_WR_RDMA_WRITE, &p->gpu[0], &p->back, INT64_MAX, limit,
                             &p->ret->out_mbps);
    atomic_store(p->order->measuring, 0);
    return passed;
}

/* ---- GPU memory ---- */

/* Chooses the way as NCCL does: DMA-BUF where the driver, CUDA and the HCA have it (2.30.7 init.cc
   dmaBufSupported, transport/net_ib/gdr.cc), by Data Direct where the HCA has that (init.cc
   ncclIbInit), else peer memory. */
static enum ni_gdr_way choose_way(const struct pair *p)
{
    int supported = 0;

    if (p->order->dmabuf && p->cuda->export_range && p->cuda->version(&supported) == 0 &&
        supported >= OLD_DRIVER &&
        p->cuda->attribute(&supported, DMA_BUF_SUPPORTED, p->device) == 0 && supported &&
        p->task.dmabuf == NI_KNOWN)
        return p->order->direct && ni_verbs_has_direct(p->hca.context) ? NI_WAY_DIRECT
                                                                       : NI_WAY_DMABUF;
    return p->order->peermem ? NI_WAY_PEERMEM : NI_WAY_NONE;
}

static bool allocate(struct pair *p)
{
    const unsigned on = 1;

    for (unsigned i = 0; i < NI_COUNT(p->gpu); i++) {
        ni_device_address at = 0;

        if (!cuda_is(p, p->cuda->alloc(&at, BUFFER)))
            return false;
        p->gpu[i].at = at;
        if (p->cuda->set_pointer_attribute) /* copies of CUDA end before others begin */
            (void)p->cuda->set_pointer_attribute(&on, SYNC_MEMOPS, at);
        if (!cuda_is(p, p->cuda->fill(at, (unsigned)new_key(), BUFFER / sizeof(unsigned))) ||
            !cuda_is(p, p->cuda->finish()))
            return false;
    }
    return true;
}

/* Exports the memory as DMA-BUF, if that is the way. */
static bool export_gpu(struct pair *p)
{
    const unsigned long long flags = p->order->pcie ? MAPPING_PCIE : 0;

    p->ret->way = choose_way(p);
    for (unsigned i = 0; i < NI_COUNT(p->gpu); i++) {
        if (p->ret->way != NI_WAY_DIRECT && p->ret->way != NI_WAY_DMABUF)
            break;
        if (!cuda_is(p, p->cuda->export_range(&p->fd[i], p->gpu[i].at, BUFFER, DMA_BUF_FD, flags)))
            return false;
    }
    return p->ret->way != NI_WAY_NONE;
}

/* Registers GPU memory with the rights that NCCL asks for. */
static bool register_gpu(struct pair *p)
{
    const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                       IBV_ACCESS_REMOTE_ATOMIC | (p->order->relaxed ? ni_verbs_relaxed() : 0);
    const bool direct = p->ret->way == NI_WAY_DIRECT;

    for (unsigned i = 0; i < NI_COUNT(p->gpu); i++) {
        struct memory *gpu = &p->gpu[i];

        errno = 0;
        if (p->fd[i] < 0)
            gpu->mr = ni_verbs_register_address(p->hca.pd, gpu->at, BUFFER, access);
        else
            gpu->mr =
                ni_verbs_register_dmabuf(p->hca.pd, gpu->at, BUFFER, p->fd[i], access, direct);
        if (!is(p, ni_verbs_error(gpu->mr)))
            return false;
    }
    return true;
}

/* ---- the HCA ---- */

static bool open_hca(struct pair *p)
{
    return is(p, ni_find_device(&p->hca, &p->task.rail)) && is(p, ni_open_device(&p->hca)) &&
           is(p, ni_ask_device(&p->hca, &p->task));
}

static bool take_host_memory(struct pair *p)
{
    if (!is(p, ni_allocate_memory(&p->hca, 0)) || !is(p, ni_register_memory(&p->hca)))
        return false;
    p->look = malloc(WINDOW);
    /* written by the HCA as its target, so that it may be by all ways */
    p->back = (struct memory){(uintptr_t)p->hca.memory + NI_TARGET_PAGE, p->hca.target};
    p->out = (struct memory){(uintptr_t)p->hca.out, p->hca.own};
    return is(p, p->look ? 0 : ENOMEM);
}

static bool connect_queues(struct pair *p)
{
    p->own = p->task;
    for (enum ni_role role = 0; role < NI_ROLES; role++) {
        if (!is(p, ni_make_queues(&p->queues, &p->hca, &p->task, role)))
            return false;
    }
    if (!is(p, ni_make_queues(&p->flush, &p->hca, &p->own, NI_ROLE_INITIATOR)))
        return false;
    p->own.peer[NI_ROLE_INITIATOR] = p->own.own[NI_ROLE_INITIATOR];
    for (enum ni_role role = 0; role < NI_ROLES; role++) {
        if (!is(p, ni_connect_queues(&p->queues, &p->hca, &p->task, role)))
            return false;
    }
    return is(p, ni_connect_queues(&p->flush, &p->hca, &p->own, NI_ROLE_INITIATOR));
}

/* Lets the port reach itself without a GPU: what fails here is the port's. */
static bool try_port(struct pair *p)
{
    struct ni_difference differs;

    if (!move_pattern(p, IBV_WR_RDMA_WRITE, &p->out, &p->back, &differs))
        return false;
    p->ret->late = 0;
    return is(p, differs.n == 0 ? 0 : EBADMSG);
}

static bool take_step(struct pair *p, enum ni_gdr_step step)
{
    switch (step) {
    case NI_GDR_OPEN:
        return open_hca(p);
    case NI_GDR_PORT:
        return is(p, ni_ask_port(&p->hca, &p->task)) && is(p, ni_ask_gid(&p->hca, &p->task.rail));
    case NI_GDR_HOST:
        return take_host_memory(p);
    case NI_GDR_CONNECT:
        return connect_queues(p);
    case NI_GDR_PORT_DATA:
        return try_port(p);
    case NI_GDR_ALLOCATE:
        return allocate(p);
    case NI_GDR_EXPORT:
        return export_gpu(p);
    case NI_GDR_REGISTER:
        return register_gpu(p);
    case NI_GDR_IN:
        return try_bytes(p, IBV_WR_RDMA_WRITE, &p->out, NULL);
    case NI_GDR_READ:
        return try_bytes(p, IBV_WR_RDMA_READ, NULL, &p->back);
    case NI_GDR_OUT:
        return try_bytes(p, IBV_WR_RDMA_WRITE, NULL, &p->back);
    case NI_GDR_ACROSS:
        return try_bytes(p, IBV_WR_RDMA_WRITE, NULL, NULL);
    case NI_GDR_RATE:
        return measure(p);
    case NI_GDR_CONTEXT: /* it is the GPU's */
    case NI_GDR_DONE:
    case NI_GDR_STEPS:
        break;
    }
    return true;
}

/* Gives back what the next pair of this GPU takes anew. The device stays open: closing gives no more. */
static void let_go(struct pair *p)
{
    ni_drop_queues(&p->queues);
    ni_drop_queues(&p->flush);
    for (unsigned i = 0; i < NI_COUNT(p->gpu); i++) {
        if (p->gpu[i].mr)
            (void)ibv_dereg_mr(p->gpu[i].mr);
        if (p->fd[i] >= 0)
            (void)close(p->fd[i]);
        if (p->gpu[i].at)
            (void)p->cuda->free(p->gpu[i].at);
    }
    if (p->hca.target)
        (void)ibv_dereg_mr(p->hca.target);
    if (p->hca.own)
        (void)ibv_dereg_mr(p->hca.own);
    if (p->hca.memory)
        (void)munmap(p->hca.memory, p->hca.size);
    free(p->look);
}

void ni_pair_try(const struct ni_pair_order *order, const struct ni_cuda *cuda, int device,
                 const struct ni_rail *rail, ni_pair_at_fn *at, ni_pair_end_fn *end, void *ctx)
{
    struct ni_tried_pair ret = {.holds = -1};
    struct pair p = {.order = order, .cuda = cuda, .device = device, .fd = {-1, -1}, .ret = &ret};
    const int64_t begin = ni_now_ns();
    bool passed = true;

    p.task.rail = *rail;
    p.task.traffic_class = order->traffic_class;
    p.task.service_level = order->service_level;
    p.task.pkey_index = order->pkey_index;
    for (enum ni_gdr_step step = NI_GDR_OPEN; step < NI_GDR_DONE && passed; step++) {
        ret.step = step;
        at(ctx, step);
        passed = take_step(&p, step);
    }
    if (passed)
        ret.step = NI_GDR_DONE;
    ret.took_us = (ni_now_ns() - begin) / 1000;
    end(ctx, &ret);
    let_go(&p);
}
