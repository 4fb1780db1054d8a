/* SPDX-License-Identifier: Apache-2.0 */
/* The trial of one port, step by step: the device is found, opened and asked, memory is registered,
   two reliable queue pairs are connected over the port's own GID (or LID), and data goes through
   them: what a job does, without a peer. */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "nccl_init/verbs.h"

enum {
    PAGE = 4096,
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

static int64_t now_ns(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- the device ---- */

/* What registers the providers and libnl's parts: constructors of the static libraries that
   .dev/deps has deferred. None with shared ones, which run them at the start. */
typedef void constructor_fn(void);
extern constructor_fn
    *const __start_ni_verbs_init[] /* NOLINT(bugprone-reserved-identifier): the linker's */
    __attribute__((weak));
extern constructor_fn *const __stop_ni_verbs_init[] /* NOLINT(bugprone-reserved-identifier) */
    __attribute__((weak));

/* Variables that name a file; they are the job's and not ours. rdma-core 56.1: the first redirects
   all reading (libibverbs/sysfs.c), to the files of the next two libibverbs and mlx5 append
   (libibverbs/init.c verbs_set_log_file, providers/mlx5/mlx5.c open_debug_file). libnl 3.7 reads
   those of the others (lib/utils.c get_psched_settings). */
static const char *const file_variables[] = {"SYSFS_PATH", "VERBS_LOG_FILE", "MLX5_DEBUG_FILE",
                                             "PROC_NET_PSCHED", "PROC_ROOT"};

/* libibverbs' list; NULL and errno. */
static struct ibv_device **list_devices(int *ret_n)
{
    *ret_n = 0;
    for (constructor_fn *const *c = __start_ni_verbs_init; c < __stop_ni_verbs_init; c++)
        (*c)();
    for (size_t i = 0; i < NI_COUNT(file_variables); i++)
        (void)unsetenv(file_variables[i]);
    errno = 0;
    return ibv_get_device_list(ret_n);
}

/* Where the node cannot be opened, ibv_open_device waits 5 s for udev to make it (rdma-core 56.1
   util/open_cdev.c), and its errno is that of the wait. So it is opened here first. */
static bool open_device(struct loop *l)
{
    struct ibv_device **list, *device = NULL;
    char path[NI_PATH];
    int n, fd;

    l->t->step = NI_STEP_FIND;
    list = list_devices(&n);
    if (!list)
        return failed(l, errno);
    for (int i = 0; i < n && !device; i++)
        device = strcmp(ibv_get_device_name(list[i]), l->t->hca) == 0 ? list[i] : NULL;
    if (!device)
        return failed(l, ENODEV);
    l->t->step = NI_STEP_OPEN;
    (void)ni_format(path, sizeof(path), "/dev/infiniband/%s", device->dev_name);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return failed(l, errno);
    (void)close(fd);
    errno = 0;
    l->context = ibv_open_device(device);
    return l->context || failed(l, errno);
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
    before = now_ns();
    errno = 0;
    l->mr = ibv_reg_mr(l->pd, l->memory, size,
                       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
    if (!l->mr)
        return failed(l, errno);
    l->t->register_us = (now_ns() - before) / 1000;
    return true;
}

/* ---- queue pairs ---- */

static bool make_queues(struct loop *l)
{
    l->t->step = NI_STEP_QUEUES;
    errno = 0;
    l->cq = ibv_create_cq(l->context, 2 * DEPTH, NULL, NULL, 0);
    for (int i = 0; l->cq && i < 2; i++) {
        struct ibv_qp_init_attr attr = {
            .send_cq = l->cq,
            .recv_cq = l->cq,
            .cap = {.max_send_wr = DEPTH, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
            .qp_type = IBV_QPT_RC,
            .sq_sig_all = 1,
        };

        errno = 0;
        l->qp[i] = ibv_create_qp(l->pd, &attr);
        if (!l->qp[i])
            break;
    }
    return (l->qp[0] && l->qp[1]) || failed(l, errno);
}

static uint8_t at_most(int most, int device)
{
    return (uint8_t)(device < 1 ? 1 : device < most ? device : most);
}

/* One queue pair to the other, each state with what it takes for RC. 0 or errno. */
static int connect_queue(struct loop *l, int i)
{
    struct ni_trial *t = l->t;
    struct ibv_qp_attr init = {
        .qp_state = IBV_QPS_INIT,
        .port_num = (uint8_t)t->port,
        .qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
    };
    struct ibv_qp_attr rtr = {
        .qp_state = IBV_QPS_RTR,
        .path_mtu = l->port.active_mtu,
        .dest_qp_num = l->qp[1 - i]->qp_num,
        .max_dest_rd_atomic = at_most(READS, l->device.max_qp_rd_atom),
        .min_rnr_timer = RNR_TIMER,
        .ah_attr = {.port_num = (uint8_t)t->port, .dlid = l->port.lid},
    };
    struct ibv_qp_attr rts = {
        .qp_state = IBV_QPS_RTS,
        .timeout = TIMEOUT,
        .retry_cnt = RETRIES,
        .rnr_retry = RETRIES,
        .max_rd_atomic = at_most(READS, l->device.max_qp_init_rd_atom),
    };
    int err;

    /* As NCCL: on InfiniBand by LID, but where the port asks for more. Virtual ports share a LID. */
    if (t->roce || (l->port.flags & IBV_QPF_GRH_REQUIRED) != 0) {
        rtr.ah_attr.is_global = 1;
        rtr.ah_attr.grh.dgid = l->gid;
        rtr.ah_attr.grh.sgid_index = t->roce ? (uint8_t)t->index : 0;
        rtr.ah_attr.grh.hop_limit = HOPS;
    }
    t->qp_state = IBV_QPS_RESET;
    err = ibv_modify_qp(l->qp[i], &init,
                        IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    if (err != 0)
        return err;
    t->qp_state = IBV_QPS_INIT;
    err = ibv_modify_qp(l->qp[i], &rtr,
                        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                            IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    if (err != 0)
        return err;
    t->qp_state = IBV_QPS_RTR;
    return ibv_modify_qp(l->qp[i], &rts,
                         IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                             IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
}

static bool connect_queues(struct loop *l)
{
    int err;

    l->t->step = NI_STEP_CONNECT;
    err = connect_queue(l, 0);
    if (err == 0)
        err = connect_queue(l, 1);
    return err == 0 || failed(l, err);
}

/* ---- data ---- */

/* Waits for one completion; a queue pair that gets none ends by its own retries, and a device that
   gives none at all by the parent's patience. */
static bool complete(struct loop *l)
{
    struct ibv_wc wc;

    for (unsigned spin = 1;; spin++) {
        int n = ibv_poll_cq(l->cq, 1, &wc);

        if (n < 0) /* a number of the provider's own, no errno */
            return failed(l, EIO);
        if (n == 1)
            break;
        if (spin % SPINS == 0)
            (void)sched_yield();
    }
    if (wc.status == IBV_WC_SUCCESS)
        return true;
    l->t->wc_status = (int)wc.status;
    l->t->vendor_err = (int)wc.vendor_err;
    return false;
}

/* One request of the first queue pair, which moves `n` bytes at `offset` between two of the three
   parts. */
static bool post(struct loop *l, enum ibv_wr_opcode opcode, size_t offset, size_t n)
{
    const bool reads = opcode == IBV_WR_RDMA_READ;
    struct ibv_sge sge = {
        .addr = (uintptr_t)(l->memory + (reads ? 2 * l->part : 0) + offset),
        .length = (uint32_t)n,
        .lkey = l->mr->lkey,
    };
    struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = opcode}, *bad;
    int err;

    wr.wr.rdma.remote_addr = (uintptr_t)(l->memory + l->part + offset);
    wr.wr.rdma.rkey = l->mr->rkey;
    err = ibv_post_send(l->qp[0], &wr, &bad);
    return err == 0 || failed(l, err);
}

static int earlier(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* From the request to its completion: there, and the acknowledgement back. */
static bool time_small(struct loop *l)
{
    int64_t ns[SAMPLES];

    for (int i = 0; i < SAMPLES; i++) {
        int64_t before = now_ns();

        if (!post(l, IBV_WR_RDMA_WRITE, 0, SMALL) || !complete(l))
            return false;
        ns[i] = now_ns() - before;
    }
    qsort(ns, SAMPLES, sizeof(ns[0]), earlier);
    l->t->latency_ns = ns[SAMPLES / 2];
    return true;
}

/* `bytes` in all, over and over through the first `window` bytes of the parts. */
static bool stream(struct loop *l, enum ibv_wr_opcode opcode, int64_t bytes, size_t window,
                   int64_t *ret_us)
{
    int64_t left = bytes, before = now_ns();
    size_t offset = 0;
    unsigned flying = 0;

    while (left > 0 || flying > 0) {
        if (left > 0 && flying < DEPTH) {
            size_t n = window - offset < CHUNK ? window - offset : CHUNK;

            n = (int64_t)n > left ? (size_t)left : n;
            if (!post(l, opcode, offset, n))
                return false;
            flying++;
            left -= (int64_t)n;
            offset = offset + n == window ? 0 : offset + n;
            continue;
        }
        if (!complete(l))
            return false;
        flying--;
    }
    *ret_us = (now_ns() - before) / 1000;
    return true;
}

/* `bytes` there and back, and compared. */
static bool move_data(struct loop *l, int64_t bytes)
{
    const size_t window = bytes < (int64_t)l->part ? (size_t)bytes : l->part;
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio */
    const uint8_t *back = l->memory + 2 * l->part;
    struct ni_trial *t = l->t;

    /* No byte is where another one could be. By whole words: a part is whole pages. */
    for (size_t i = 0; i < window; i += sizeof(odd)) {
        uint64_t word = (i / sizeof(odd) + t->port + 1) * odd;

        memcpy(l->memory + i, &word, sizeof(word));
    }
    t->bad_at = -1;
    t->step = NI_STEP_WRITE;
    if (!time_small(l) || !stream(l, IBV_WR_RDMA_WRITE, bytes, window, &t->write_us))
        return false;
    t->step = NI_STEP_READ;
    if (!stream(l, IBV_WR_RDMA_READ, bytes, window, &t->read_us))
        return false;
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
