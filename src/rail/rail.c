/* SPDX-License-Identifier: Apache-2.0 */
/* A rail of this pod, connected by libibverbs to the same rail of two other pods, or in a
   self-test to itself. It writes to one of them, reads from it, and lets the other one do the
   same. All this runs in the rail's own process, which is killed if it hangs. */
#include "rail/rail.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "nccl_init/base.h"
#include "nccl_init/ip.h"
#include "nccl_init/known.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "rail/step.h"

enum {
    PAGE = 4096,
    /* bytes of a pair's window, which bulk uses again and again; the same in all of
       NI_MEET_PROTOCOL */
    WINDOW = 1 << 20,
    SMALL_AT = PAGE / 2, /* the place of small writes */
    SMALL = 8,           /* bytes of a timed write */
    SAMPLES = 64,        /* number of timed writes */
    CHUNK_MIN = 8192,    /* larger than any path MTU, so that a large packet is seen on each pair */
    CHUNK_FIRST = 65536,
    CHUNK_MAX = 1 << 20,
    DEPTH = 8,      /* work requests in flight: the largest fill 400 Gb/s for 160 us */
    READS_MAX = 16, /* RDMA reads in flight, if the device can */
    FLIGHT_NS = 3000000,
    TIMEOUT = 14, /* 4.096 us * 2^14: what is not acknowledged for 67 ms is sent again, */
    /* ... so often; then IBV_WC_RETRY_EXC_ERR, after half a second. 7 means for ever on SoftRoCE
       (Linux 6.1 drivers/infiniband/sw/rxe/rxe_comp.c) */
    RETRIES = 6,
    RNR_TIMER = 12, /* as NCCL (2.30.7 transport/net_ib/connect.cc ncclIbQpRtr) */
    HOPS = 255,
    SPINS = 256, /* empty polls before the processor is offered to others: SoftRoCE needs it */
    WARM_MS = 30,
    DISCARD_PORT = 9,
    /* Between polls while bulk moves: the requests in flight last longer, and a pod may have fewer
       processors than rails, or a quota of them. */
    NAP_NS = 20000
};
#define SECOND   INT64_C(1000000000)
#define PATIENCE (2 * SECOND) /* if this side drops packets there is no completion at all */

/* The bytes that the other end reads first, by which it knows this end. */
struct identity {
    uint64_t session;
    uint32_t rank, partner;
    uint64_t number;
};

struct rail {
    struct ni_rail_task *task;
    enum ni_role role; /* the role of the present step */
    /* the result of opening; a device that failed is not tried again */
    struct ni_pair_result opened;
    struct ibv_device *device;
    struct ibv_context *context;
    struct ibv_device_attr attr;
    struct ibv_port_attr port;
    struct ibv_gid_entry gid;
    struct ibv_pd *pd;
    /* The target: a page with the identity and the small writes, and a window. Then two windows of
       this pod: the data to write, and the data that was read back. */
    uint8_t *memory, *out, *back;
    size_t size, window;
    struct ibv_mr *target, *own; /* the peer has rights to the first only */
    struct ibv_cq *cq;
    struct ibv_qp *qp[NI_ROLES];
    size_t bulk;            /* bytes of the window that were written and read back */
    int64_t moved, took_ns; /* of the last stream */
};

/* A step returns 0, an errno, or FAILED: the completion says more, or the data is wrong. */
enum { FAILED = -1 };

static int64_t now_ns(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * SECOND + now.tv_nsec;
}

/* Returns the errno of a libibverbs call that should have returned an object; 0 if it did. */
static int verbs_error(const void *object)
{
    if (object)
        return 0;
    return errno != 0 ? errno : EIO; /* a library that fails without an errno */
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- the device ---- */

/* Variables that name a file for the job, not for nccl-init. rdma-core 56.1: the first redirects
   all reading (libibverbs/sysfs.c), to the files of the next two libibverbs and mlx5 append
   (libibverbs/init.c verbs_set_log_file, providers/mlx5/mlx5.c open_debug_file). libnl 3.7 reads
   the files of the others (lib/utils.c get_psched_settings). */
static const char *const file_variables[] = {"SYSFS_PATH", "VERBS_LOG_FILE", "MLX5_DEBUG_FILE",
                                             "PROC_NET_PSCHED", "PROC_ROOT"};

static int find_verbs_device(struct rail *r)
{
    struct ni_rail *rail = &r->task->rail;
    struct ibv_device **list;
    int n = 0;

    /* ibv_open_device would wait 5 s for udev to make it (rdma-core 56.1 util/open_cdev.c) */
    if (rail->node_err != 0)
        return rail->node_err;
    for (size_t i = 0; i < NI_COUNT(file_variables); i++)
        (void)unsetenv(file_variables[i]);
    list = ibv_get_device_list(&n);
    for (int i = 0; list && i < n; i++)
        if (strcmp(ibv_get_device_name(list[i]), rail->hca) == 0)
            r->device = list[i];
    if (list && !r->device)
        (void)ni_format(rail->untried, sizeof(rail->untried),
                        "nccl-init has no provider for this device");
    return list && !r->device ? ENODEV : verbs_error(list);
}

static int open_device(struct rail *r)
{
    r->context = ibv_open_device(r->device);
    return verbs_error(r->context);
}

static unsigned mtu_bytes(enum ibv_mtu mtu)
{
    return 128U << mtu;
}

static int ask_port(struct rail *r)
{
    struct ni_rail *rail = &r->task->rail;
    const int err = ibv_query_port(r->context, (uint8_t)rail->port, &r->port);
    __be16 pkey = 0;

    if (err != 0)
        return err;
    rail->path_mtu = mtu_bytes(r->port.active_mtu);
    (void)ibv_query_pkey(r->context, (uint8_t)rail->port, r->task->pkey_index, &pkey);
    rail->pkey = ntohs(pkey);
    return r->port.state == IBV_PORT_ACTIVE ? 0 : ENETDOWN;
}

/* Finds an entry of the GID table for the queue pair. If sysfs and the device differ, the device's
   entry is used: a job would use that, too. */
static int ask_gid(struct rail *r)
{
    struct ni_rail *rail = &r->task->rail;
    const bool roce = rail->link != NI_LINK_IB;
    int err;

    if (rail->index > UINT8_MAX || (roce && rail->index < 0))
        return ERANGE;
    err = ibv_query_gid_ex(r->context, rail->port, rail->index < 0 ? 0 : (uint32_t)rail->index,
                           &r->gid, 0);
    if (err != 0)
        return err;
    rail->v2 = r->gid.gid_type == IBV_GID_TYPE_ROCE_V2;
    if (!roce)
        memcpy(rail->gid, r->gid.gid.raw, NI_GID_BYTES); /* the pods compare its subnet */
    return roce && ni_ip_is_zero(r->gid.gid.raw) ? ENODATA : 0;
}

static int ask_device(struct rail *r)
{
    struct ni_rail *rail = &r->task->rail;
    const int err = ibv_query_device(r->context, &r->attr);

    if (err != 0)
        return err;
    r->task->max_qp = r->attr.max_qp;
    r->task->max_mr = r->attr.max_mr;
    (void)ni_copyn(rail->firmware, sizeof(rail->firmware), r->attr.fw_ver,
                   strnlen(r->attr.fw_ver, sizeof(rail->firmware) - 1));
    r->pd = ibv_alloc_pd(r->context);
    if (!r->pd)
        return verbs_error(r->pd);
    /* NCCL asks in the same way (2.30.7 transport/net_ib/gdr.cc ibDmaBufSupportInitOnce): for an
       invalid descriptor these two errnos mean that the kernel or the driver lacks the call;
       otherwise it is EBADF. */
    (void)ibv_reg_dmabuf_mr(r->pd, 0, 0, 0, -1, 0);
    r->task->dmabuf = errno == EOPNOTSUPP || errno == EPROTONOSUPPORT ? NI_ABSENT : NI_KNOWN;
    /* facts for the comparison; later steps show whether the port can be used */
    (void)ask_port(r);
    if (rail->link == NI_LINK_IB)
        (void)ask_gid(r);
    return 0;
}

static int allocate(struct rail *r)
{
    void *memory;

    if (r->memory)
        return 0;
    r->size = r->task->size > 0 ? (size_t)r->task->size : PAGE + 3 * WINDOW;
    memory = mmap(NULL, r->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return errno;
    r->window = (r->size - PAGE) / 3 / PAGE * PAGE;
    r->memory = memory;
    r->out = r->memory + PAGE + r->window;
    r->back = r->out + r->window;
    return 0;
}

static int register_memory(struct rail *r)
{
    const size_t target = PAGE + r->window;

    if (!r->target)
        r->target =
            ibv_reg_mr(r->pd, r->memory, target,
                       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
    if (r->target && !r->own)
        r->own = ibv_reg_mr(r->pd, r->out, r->size - target, IBV_ACCESS_LOCAL_WRITE);
    return verbs_error(r->own);
}

/* ---- queue pairs ---- */

static void drop_queues(struct rail *r)
{
    for (int i = 0; i < NI_ROLES; i++)
        if (r->qp[i])
            (void)ibv_destroy_qp(r->qp[i]);
    if (r->cq)
        (void)ibv_destroy_cq(r->cq);
    memset(r->qp, 0, sizeof(r->qp));
    r->cq = NULL;
}

/* Writes down what the peer has to know of this role's queue pair. */
static void describe_queue(struct rail *r)
{
    struct ni_rail_task *task = r->task;
    const enum ni_role role = r->role;
    const struct identity it = {task->session, task->rank, task->partner[role], task->number};

    task->own[role] = (struct ni_rail_end){
        .qpn = r->qp[role]->qp_num,
        .psn = (uint32_t)now_ns() & 0xffffff, /* packets of an earlier queue pair do not fit */
        .rkey = r->target->rkey,
        .address = (uintptr_t)r->memory,
        .lid = r->port.lid,
        .path_mtu = (uint16_t)mtu_bytes(r->port.active_mtu),
        .most_reads =
            (uint8_t)least(READS_MAX, least(r->attr.max_qp_rd_atom, r->attr.max_qp_init_rd_atom)),
        .global = task->rail.link != NI_LINK_IB || (r->port.flags & IBV_QPF_GRH_REQUIRED) != 0,
    };
    memcpy(task->own[role].gid, r->gid.gid.raw, NI_GID_BYTES);
    /* the port itself, until pod 0 names another peer */
    task->peer[NI_ROLES - 1 - role] = task->own[role];
    if (role == NI_ROLE_TARGET)
        memcpy(r->memory, &it, sizeof(it));
}

/* Makes the queue pair of this role. 0 or an errno. */
static int make_queue(struct rail *r)
{
    struct ibv_qp_init_attr attr = {
        .cap = {.max_send_wr = DEPTH, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
        .qp_type = IBV_QPT_RC,
        .sq_sig_all = 1,
    };

    if (!r->cq)
        r->cq = ibv_create_cq(r->context, 2 * DEPTH, NULL, NULL, 0);
    attr.send_cq = attr.recv_cq = r->cq;
    r->qp[r->role] = r->cq ? ibv_create_qp(r->pd, &attr) : NULL;
    if (!r->qp[r->role])
        return verbs_error(NULL);
    describe_queue(r);
    return 0;
}

/* ---- connecting ---- */

/* Makes the neighbour known by a datagram to the discard port. Otherwise the kernel waits a second
   for it, even if the answer comes at once (Linux 6.1 drivers/infiniband/core/addr.c, seen in the
   lab). The datagram leaves through the rail's own interface, for a pod has many. */
static void warm(const struct ni_rail *rail, const uint8_t gid[NI_GID_BYTES])
{
    const bool v4 = ni_ip_is_v4(gid); /* as a mapped address it needs IPv6, and bindv6only=0 */
    struct sockaddr_in to4 = {.sin_family = AF_INET, .sin_port = htons(DISCARD_PORT)};
    struct sockaddr_in6 to6 = {.sin6_family = AF_INET6, .sin6_port = htons(DISCARD_PORT)};
    const void *to = v4 ? (const void *)&to4 : &to6;
    int fd = socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return;
    memcpy(&to4.sin_addr, gid + NI_GID_BYTES - sizeof(to4.sin_addr), sizeof(to4.sin_addr));
    memcpy(&to6.sin6_addr, gid, NI_GID_BYTES);
    /* without CAP_NET_RAW since Linux 5.7 */
    if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, rail->netdev,
                   (socklen_t)strlen(rail->netdev)) == 0)
        (void)sendto(fd, "", 1, 0, to, v4 ? sizeof(to4) : sizeof(to6));
    (void)close(fd);
}

/* Returns the attributes for the three states below, for this end and its peer. */
static struct ibv_qp_attr queue_attr(const struct rail *r)
{
    const struct ni_rail_task *task = r->task;
    const struct ni_rail_end *own = &task->own[r->role], *peer = &task->peer[r->role];
    const uint8_t port = (uint8_t)task->rail.port;
    const uint8_t most = (uint8_t)least(own->most_reads, peer->most_reads);
    const uint8_t reads = most > 0 ? most : 1; /* some devices say 0, and read */
    struct ibv_qp_attr attr = {
        .pkey_index = (uint16_t)task->pkey_index,
        .port_num = port,
        .qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
        .ah_attr = {.port_num = port, .dlid = peer->lid, .sl = (uint8_t)task->service_level},
        .path_mtu = r->port.active_mtu,
        .dest_qp_num = peer->qpn,
        .rq_psn = peer->psn,
        .max_dest_rd_atomic = reads,
        .min_rnr_timer = RNR_TIMER,
        .sq_psn = own->psn,
        .timeout = TIMEOUT,
        .retry_cnt = RETRIES,
        .rnr_retry = RETRIES,
        .max_rd_atomic = reads,
    };

    while (attr.path_mtu > IBV_MTU_256 && mtu_bytes(attr.path_mtu) > peer->path_mtu)
        attr.path_mtu--;
    /* On InfiniBand the GID is used only if a router is between (other subnet prefixes), or one of
       the ports asks for it, as virtual ports do, which share a LID. */
    if (own->global || peer->global || memcmp(own->gid, peer->gid, NI_GID_BYTES / 2) != 0) {
        attr.ah_attr.is_global = 1;
        memcpy(attr.ah_attr.grh.dgid.raw, peer->gid, NI_GID_BYTES);
        attr.ah_attr.grh.sgid_index = (uint8_t)r->gid.gid_index;
        attr.ah_attr.grh.hop_limit = HOPS;
        attr.ah_attr.grh.traffic_class = (uint8_t)task->traffic_class;
    }
    return attr;
}

/* Takes the queue pair to INIT, RTR and RTS. 0 or an errno. */
static int connect_queue(struct rail *r)
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
    struct ibv_qp_attr attr = queue_attr(r);
    int err = 0;

    for (size_t i = 0; i < NI_COUNT(states) && err == 0; i++) {
        attr.qp_state = states[i].state;
        err = ibv_modify_qp(r->qp[r->role], &attr, IBV_QP_STATE | states[i].mask);
    }
    return err;
}

/* ---- data ---- */

/* Waits for one completion. */
static int complete(struct rail *r, bool naps)
{
    static const struct timespec nap = {.tv_nsec = NAP_NS};
    const int64_t until = now_ns() + PATIENCE;
    struct ibv_wc wc;
    int n = ibv_poll_cq(r->cq, 1, &wc);

    for (unsigned spin = 1; n == 0; spin++) {
        if (naps)
            (void)nanosleep(&nap, NULL);
        else if (spin % SPINS == 0)
            (void)sched_yield();
        if ((naps || spin % SPINS == 0) && now_ns() >= until)
            return ETIMEDOUT;
        n = ibv_poll_cq(r->cq, 1, &wc);
    }
    if (n < 0) /* the provider's own number, not an errno */
        return EIO;
    if (wc.status == IBV_WC_SUCCESS)
        return 0;
    r->task->result[r->role].wc = (int)wc.status;
    r->task->vendor_err = (int)wc.vendor_err;
    return FAILED;
}

/* One transfer of stream. */
struct stream {
    enum ibv_wr_opcode opcode;
    const uint8_t *own;
    uint64_t remote; /* the peer's memory, from which on it is read or written */
    size_t window;
    int64_t bytes, chunk;
    unsigned flying, depth; /* requests that are posted, and may be */
};

/* Posts requests until as many fly as may, or all bytes are asked for. 0 or an errno. */
static int post_requests(struct rail *r, struct stream *s)
{
    struct ibv_sge sge = {.lkey = r->own->lkey};
    struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = s->opcode}, *bad;

    wr.wr.rdma.rkey = r->task->peer[r->role].rkey;
    while (r->moved < s->bytes && s->flying < s->depth) {
        const size_t offset = (size_t)r->moved % s->window;
        const int64_t room = least((int64_t)(s->window - offset), s->bytes - r->moved);

        sge.addr = (uintptr_t)s->own + offset;
        sge.length = (uint32_t)least(s->chunk, room);
        wr.wr.rdma.remote_addr = s->remote + offset;
        const int err = ibv_post_send(r->qp[r->role], &wr, &bad);
        if (err != 0)
            return err;
        r->moved += sge.length;
        s->flying++;
    }
    return 0;
}

/* Moves `bytes`, or what it can in limit_ns, between the pod's own window and the peer's memory
   from `at` on: over `window` bytes again and again. */
static int stream(struct rail *r, enum ibv_wr_opcode opcode, size_t at, size_t window,
                  int64_t bytes, int64_t limit_ns)
{
    struct stream s = {.opcode = opcode,
                       .own = opcode == IBV_WR_RDMA_READ ? r->back : r->out,
                       .remote = r->task->peer[r->role].address + at,
                       .window = window,
                       .bytes = bytes,
                       .chunk = CHUNK_FIRST,
                       .depth = 1};
    const bool naps = bytes > PAGE;
    const int64_t begin = now_ns();
    int err;

    r->moved = 0;
    do {
        err = post_requests(r, &s);
        if (err == 0)
            err = complete(r, naps);
        if (err != 0)
            return err;
        s.flying--;
        r->took_ns = now_ns() - begin + 1;
        if (s.depth == 1) { /* the first request shows how fast the rail is */
            s.depth = DEPTH;
            s.chunk = r->moved * FLIGHT_NS / r->took_ns / DEPTH / CHUNK_MIN * CHUNK_MIN;
            s.chunk = s.chunk < CHUNK_MIN ? CHUNK_MIN : least(s.chunk, CHUNK_MAX);
        }
        if (r->took_ns >= limit_ns)
            s.bytes = r->moved;
    } while (r->moved < s.bytes || s.flying > 0);
    return 0;
}

static int earlier(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Times small writes, each from the request to its completion, for a second at most. */
static int time_small(struct rail *r)
{
    struct ni_pair_result *result = &r->task->result[r->role];
    int64_t ns[SAMPLES], sum = 0;
    size_t n = 0;

    while (n < SAMPLES && sum < SECOND) {
        const int err = stream(r, IBV_WR_RDMA_WRITE, SMALL_AT, SMALL, SMALL, SECOND);

        if (err != 0)
            return err;
        ns[n++] = r->took_ns;
        sum += r->took_ns;
    }
    qsort(ns, n, sizeof(ns[0]), earlier);
    result->latency_ns = ns[n / 2];
    result->slowest_ns = ns[n - 1];
    return 0;
}

static int read_identity(struct rail *r)
{
    const struct ni_rail_task *task = r->task;
    const struct identity it = {task->session, task->partner[r->role], task->rank, task->number};
    const int err = stream(r, IBV_WR_RDMA_READ, 0, sizeof(it), sizeof(it), SECOND);

    if (err != 0)
        return err;
    return memcmp(&it, r->back, sizeof(it)) == 0 ? 0 : FAILED;
}

/* Fills the window with a pattern. Each word has its place, its sender and receiver, and its queue
   pair, so data of an earlier one cannot pass for it. */
static void fill_pattern(struct rail *r)
{
    const struct ni_rail_task *task = r->task;
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio */
    const uint64_t key = (task->session + task->own[r->role].psn) ^ (uint64_t)task->rank << 40 ^
                         (uint64_t)task->partner[r->role] << 20 ^ task->number;

    for (size_t i = 0; i < r->bulk; i += sizeof(odd)) {
        const uint64_t word = (i / sizeof(odd) + key + 1) * odd;

        memcpy(r->out + i, &word, sizeof(word));
    }
}

/* Moves bulk data one way: writes it, then reads it back. */
static int move_bulk(struct rail *r)
{
    const struct ni_rail_task *task = r->task;
    struct ni_pair_result *result = &r->task->result[r->role];
    const bool writes = result->step == NI_PAIR_WRITE;
    int64_t bytes = CHUNK_FIRST;
    int err;

    if (task->move_ms != 0)
        bytes = task->bytes > 0 ? task->bytes : INT64_MAX;
    if (writes) {
        r->bulk = (size_t)least((int64_t)r->window, bytes); /* the rest is not touched */
        fill_pattern(r);
    }
    err = stream(r, writes ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ, PAGE, r->bulk, bytes,
                 (int64_t)task->move_ms * 1000000);
    r->bulk = (size_t)least((int64_t)r->bulk, r->moved);
    if (err != 0 || bytes <= CHUNK_FIRST)
        return err;
    const int64_t mbps = r->moved * 8 * 1000 / r->took_ns;
    if (writes)
        result->write_mbps = mbps;
    else
        result->read_mbps = mbps;
    return 0;
}

static int compare_bytes(struct rail *r)
{
    return memcmp(r->out, r->back, r->bulk) == 0 ? 0 : FAILED;
}

/* ---- what is asked ---- */

/* Takes the steps of this work, and of earlier works, for each role that has come so far; the steps
   up to the GID once for both roles. */
static void take_steps(struct rail *r, enum ni_rail_work work)
{
    static const struct {
        enum ni_rail_work work;
        int (*take)(struct rail *r);
    } steps[NI_PAIR_DONE] = {
        [NI_PAIR_FIND] = {NI_WORK_OPEN, find_verbs_device},
        [NI_PAIR_OPEN] = {NI_WORK_OPEN, open_device},
        [NI_PAIR_DEVICE] = {NI_WORK_OPEN, ask_device},
        [NI_PAIR_PORT] = {NI_WORK_QUEUES, ask_port},
        [NI_PAIR_ALLOCATE] = {NI_WORK_QUEUES, allocate},
        [NI_PAIR_REGISTER] = {NI_WORK_QUEUES, register_memory},
        [NI_PAIR_GID] = {NI_WORK_QUEUES, ask_gid},
        [NI_PAIR_QUEUES] = {NI_WORK_QUEUES, make_queue},
        [NI_PAIR_CONNECT] = {NI_WORK_CONNECT, connect_queue},
        [NI_PAIR_SMALL] = {NI_WORK_MOVE, time_small},
        [NI_PAIR_IDENTITY] = {NI_WORK_MOVE, read_identity},
        [NI_PAIR_WRITE] = {NI_WORK_MOVE, move_bulk},
        [NI_PAIR_READ] = {NI_WORK_MOVE, move_bulk},
        [NI_PAIR_COMPARE] = {NI_WORK_MOVE, compare_bytes},
    };
    struct ni_rail_task *task = r->task;
    const bool alone =
        task->has[NI_ROLE_INITIATOR] && task->partner[NI_ROLE_INITIATOR] == task->rank;

    for (enum ni_pair_step step = NI_PAIR_FIND; step < NI_PAIR_DONE && steps[step].work <= work;
         step++) {
        const bool both = step < NI_PAIR_QUEUES;
        const enum ni_role last = step < NI_PAIR_SMALL ? NI_ROLE_TARGET : NI_ROLE_INITIATOR;

        for (r->role = NI_ROLE_INITIATOR; r->role <= last; r->role++) {
            struct ni_pair_result *x = &task->result[r->role];
            int err;

            if (x->step != step || x->err != 0 || !(both || task->has[r->role]))
                continue;
            errno = 0;
            err = steps[step].take(r);
            if (err == 0)
                x->step++;
            else if (err != FAILED)
                x->err = err;
            if (both)
                task->result[NI_ROLE_TARGET] = *x;
            else if (alone && err != 0) { /* both roles are the same pair */
                task->result[NI_ROLE_INITIATOR] = task->result[NI_ROLE_TARGET] = *x;
                break;
            }
        }
    }
}

void ni_work_rail(struct ni_rail_task *task, enum ni_rail_work work, void **state)
{
    static const struct timespec answered = {.tv_nsec = WARM_MS * 1000000};
    struct rail *r = *state;

    if (!r) {
        r = *state = calloc(1, sizeof(*r));
        if (!r)
            _exit(1); /* the parent sees that the process is gone */
        r->task = task;
        task->result[NI_ROLE_INITIATOR].step = NI_PAIR_FIND;
        take_steps(r, NI_WORK_OPEN);
        r->opened = task->result[NI_ROLE_INITIATOR];
    }
    if (work == NI_WORK_QUEUES) {
        drop_queues(r);
        task->result[NI_ROLE_INITIATOR] = task->result[NI_ROLE_TARGET] = r->opened;
    }
    if (work == NI_WORK_CONNECT && task->rail.link != NI_LINK_IB) {
        for (enum ni_role i = 0; i < NI_ROLES; i++)
            if (task->has[i])
                warm(&task->rail, task->peer[i].gid);
        (void)nanosleep(&answered, NULL);
    }
    take_steps(r, work);
}
