/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "queue.h"

enum {
    SAMPLES = 64,   /* how often a small write is timed */
    TIMEOUT = 14,   /* 4.096 us * 2^14: what is not acknowledged for 67 ms is sent again, */
    RETRIES = 6,    /* so often; then IBV_WC_RETRY_EXC_ERR, after half a second. 7 is for ever on
                     SoftRoCE (Linux 6.1 drivers/infiniband/sw/rxe/rxe_comp.c) */
    RNR_TIMER = 12, /* as NCCL (2.30.7 transport/net_ib/connect.cc ncclIbQpRtr) */
    HOPS = 255,
    SPINS = 256 /* empty looks before the processor is offered to others: SoftRoCE needs it */
};

int64_t ni_now_ns(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int fault(int err)
{
    return err != 0 ? err : EIO; /* a library that fails without an errno */
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

int ni_find_device(const char *hca, struct ibv_device **ret)
{
    struct ibv_device **list;
    int n = 0;

    *ret = NULL;
    for (constructor_fn *const *c = __start_ni_verbs_init; c < __stop_ni_verbs_init; c++)
        (*c)();
    for (size_t i = 0; i < NI_COUNT(file_variables); i++)
        (void)unsetenv(file_variables[i]);
    errno = 0;
    list = ibv_get_device_list(&n);
    if (!list)
        return fault(errno);
    for (int i = 0; i < n && !*ret; i++)
        *ret = strcmp(ibv_get_device_name(list[i]), hca) == 0 ? list[i] : NULL;
    return *ret ? 0 : ENODEV;
}

/* Where the node cannot be opened, ibv_open_device waits 5 s for udev to make it (rdma-core 56.1
   util/open_cdev.c), and its errno is that of the wait. So it is opened here first. */
int ni_open_device(struct ibv_device *device, struct ibv_context **ret)
{
    char path[NI_PATH];
    int fd;

    (void)ni_format(path, sizeof(path), "/dev/infiniband/%s", device->dev_name);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return fault(errno);
    (void)close(fd);
    errno = 0;
    *ret = ibv_open_device(device);
    return *ret ? 0 : fault(errno);
}

/* ---- queue pairs ---- */

int ni_make_queue(struct ibv_pd *pd, struct ibv_cq *cq, struct ibv_qp **ret)
{
    struct ibv_qp_init_attr attr = {
        .send_cq = cq,
        .recv_cq = cq,
        .cap = {.max_send_wr = NI_QUEUE_DEPTH,
                .max_recv_wr = 1,
                .max_send_sge = 1,
                .max_recv_sge = 1},
        .qp_type = IBV_QPT_RC,
        .sq_sig_all = 1,
    };

    errno = 0;
    *ret = ibv_create_qp(pd, &attr);
    return *ret ? 0 : fault(errno);
}

uint8_t ni_most_reads(int device)
{
    return (uint8_t)(device < 1 ? 1 : device < NI_QUEUE_READS ? device : NI_QUEUE_READS);
}

int ni_connect_queue(struct ibv_qp *qp, const struct ni_far_end *to, enum ibv_qp_state *ret_state)
{
    struct ibv_qp_attr init = {
        .qp_state = IBV_QPS_INIT,
        .pkey_index = to->pkey_index,
        .port_num = to->port,
        .qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
    };
    struct ibv_qp_attr rtr = {
        .qp_state = IBV_QPS_RTR,
        .path_mtu = to->mtu,
        .dest_qp_num = to->qpn,
        .rq_psn = to->psn,
        .max_dest_rd_atomic = to->answers,
        .min_rnr_timer = RNR_TIMER,
        .ah_attr = {.port_num = to->port, .dlid = to->lid, .sl = to->service_level},
    };
    struct ibv_qp_attr rts = {
        .qp_state = IBV_QPS_RTS,
        .sq_psn = to->own_psn,
        .timeout = TIMEOUT,
        .retry_cnt = RETRIES,
        .rnr_retry = RETRIES,
        .max_rd_atomic = to->starts,
    };
    int err;

    if (to->global) {
        rtr.ah_attr.is_global = 1;
        rtr.ah_attr.grh.dgid = to->gid;
        rtr.ah_attr.grh.sgid_index = to->gid_index;
        rtr.ah_attr.grh.hop_limit = HOPS;
        rtr.ah_attr.grh.traffic_class = to->traffic_class;
    }
    *ret_state = IBV_QPS_RESET;
    err = ibv_modify_qp(qp, &init,
                        IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    if (err != 0)
        return fault(err);
    *ret_state = IBV_QPS_INIT;
    err = ibv_modify_qp(qp, &rtr,
                        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                            IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    if (err != 0)
        return fault(err);
    *ret_state = IBV_QPS_RTR;
    return ibv_modify_qp(qp, &rts,
                         IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                             IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
}

/* ---- data ---- */

static bool failed(struct ni_mover *m, int err)
{
    m->err = fault(err);
    return false;
}

/* Waits for one completion. */
static bool complete(struct ni_mover *m)
{
    const struct timespec nap = {.tv_nsec = m->nap_ns};
    int64_t until = INT64_MAX;
    struct ibv_wc wc;

    for (unsigned spin = 1;; spin++) {
        int n = ibv_poll_cq(m->cq, 1, &wc);

        if (n < 0) /* a number of the provider's own, no errno */
            return failed(m, EIO);
        if (n == 1)
            break;
        if (m->nap_ns == 0 && spin % SPINS != 0)
            continue;
        (void)(m->nap_ns > 0 ? nanosleep(&nap, NULL) : sched_yield());
        if (m->patience_ns == INT64_MAX)
            continue;
        if (until == INT64_MAX)
            until = ni_now_ns() + m->patience_ns;
        else if (ni_now_ns() >= until)
            return failed(m, ETIMEDOUT);
    }
    if (wc.status == IBV_WC_SUCCESS)
        return true;
    m->wc_status = (int)wc.status;
    m->vendor = (int)wc.vendor_err;
    return false;
}

/* One request of n bytes at `offset` of the window. */
static bool post(struct ni_mover *m, enum ibv_wr_opcode opcode, size_t offset, size_t n)
{
    struct ibv_sge sge = {
        .addr = (uintptr_t)((opcode == IBV_WR_RDMA_READ ? m->back : m->out) + offset),
        .length = (uint32_t)n,
        .lkey = m->lkey,
    };
    struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = opcode}, *bad;
    int err;

    wr.wr.rdma.remote_addr = m->remote + offset;
    wr.wr.rdma.rkey = m->rkey;
    err = ibv_post_send(m->qp, &wr, &bad);
    return err == 0 || failed(m, err);
}

bool ni_move_once(struct ni_mover *m, enum ibv_wr_opcode opcode, size_t n)
{
    return post(m, opcode, 0, n) && complete(m);
}

static int earlier(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

bool ni_time_small(struct ni_mover *m, int64_t limit_ns, int64_t *ret_median, int64_t *ret_slowest)
{
    int64_t ns[SAMPLES], begin = ni_now_ns(), before = begin;
    size_t n = 0;

    do {
        int64_t now;

        if (!ni_move_once(m, IBV_WR_RDMA_WRITE, NI_QUEUE_SMALL))
            return false;
        now = ni_now_ns();
        ns[n++] = now - before;
        before = now;
    } while (n < SAMPLES && before - begin < limit_ns);
    qsort(ns, n, sizeof(ns[0]), earlier);
    *ret_median = ns[n / 2];
    *ret_slowest = ns[n - 1];
    return true;
}

bool ni_stream(struct ni_mover *m, enum ibv_wr_opcode opcode, int64_t bytes, int64_t limit_ns,
               int64_t *ret_bytes, int64_t *ret_ns)
{
    int64_t left = bytes, before = ni_now_ns();
    size_t offset = 0;
    unsigned flying = 0;

    *ret_bytes = 0;
    while (left > 0 || flying > 0) {
        if (left > 0 && flying < m->depth) {
            size_t n = m->window - offset < m->chunk ? m->window - offset : m->chunk;

            n = (int64_t)n > left ? (size_t)left : n;
            if (!post(m, opcode, offset, n))
                return false;
            flying++;
            left -= (int64_t)n;
            *ret_bytes += (int64_t)n;
            offset = offset + n == m->window ? 0 : offset + n;
            continue;
        }
        if (!complete(m))
            return false;
        flying--;
        if (limit_ns < INT64_MAX && ni_now_ns() - before >= limit_ns)
            left = 0;
    }
    *ret_ns = ni_now_ns() - before;
    return true;
}

void ni_fill_pattern(uint8_t *to, size_t n, uint64_t key)
{
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio */

    for (size_t i = 0; i < n; i += sizeof(odd)) {
        uint64_t word = (i / sizeof(odd) + key + 1) * odd;

        memcpy(to + i, &word, sizeof(word));
    }
}
