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
#include "rail/neighbour.h"
#include "rail/resent.h"
#include "rail/step.h"

enum {
    PAGE = 4096,
    /* bytes of a pair's window, which bulk uses again and again; the same in all of
       NI_MEET_PROTOCOL */
    WINDOW = 1 << 20,
    SMALL_AT = PAGE / 2, /* the place of small writes */
    SMALL = 8,           /* bytes of a timed write */
    SAMPLES = 64,        /* number of timed writes, if nothing else is asked for */
    /* So long after the first of those that were sent at the same moment: it was lost, and sent
       again after TIMEOUT. What delays all of them is a busy host at either end. */
    LATE_NS = 50000000,
    CHUNK_MIN = 8192, /* larger than any path MTU, so that a large packet is seen on each pair */
    CHUNK_FIRST = 65536,
    CHUNK_MAX = 1 << 20,
    DEPTH = 16,          /* work requests of a queue pair in flight, */
    MOST_DEPTH = 128,    /* ... or so many where the rate times a nap and a round trip needs them */
    READS_MAX = 16,      /* RDMA reads in flight, if the device can */
    FLIGHT_NS = 3000000, /* what is in flight takes so long, if there is room for it */
    TIMEOUT = 14,        /* 4.096 us * 2^14: what is not acknowledged for 67 ms is sent again, */
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
    NAP_NS = 20000,
    /* The first request of a stream shows the rate: a nap would be a part of what it takes. */
    SPIN_NS = 1000000,
    STALL_NS = 5000000 /* between polls: the process did not run */
};
#define SECOND   INT64_C(1000000000)
#define LONG     (3 * SECOND) /* for more timed writes than usual: some are lost, a time-out each */
#define PATIENCE (2 * SECOND) /* if this side drops packets there is no completion at all */

/* The bytes that the other end reads first, by which it knows this end. */
struct identity {
    uint64_t session;
    uint32_t rank, partner;
    uint64_t number;
};

/* One queue pair in a stream of data. */
struct lane {
    size_t window;          /* bytes of its part of the windows, which it uses again and again */
    int64_t moved, took_ns; /* took_ns: until its last completion */
    unsigned flying;        /* requests */
    int err;
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
    unsigned depth; /* work requests that a queue pair has room for */
    struct ibv_qp *qp[NI_ROLES][NI_MAX_QUEUES];
    struct lane lane[NI_MAX_QUEUES];
    uint64_t streams; /* the number of the stream, a part of the number of its requests */
    int64_t begin_ns, stalled_ns;
    int64_t next_ns; /* when depth and chunk of the stream are set anew, from begin_ns on */
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

/* Returns true if the rail is its own partner. */
static bool is_alone(const struct ni_rail_task *task)
{
    return task->has[NI_ROLE_INITIATOR] && task->partner[NI_ROLE_INITIATOR] == task->rank;
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
    if (rail->link != NI_LINK_IB)
        rail->mac = ni_own_mac(rail->netdev);
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

/* Returns the number of queue pairs of each role. */
static unsigned count_queues(const struct rail *r)
{
    return r->task->n_queue > 0 ? r->task->n_queue : 1;
}

/* Returns the queue pairs of the role that take part, as bits. */
static unsigned queues_of(const struct rail *r, enum ni_role role)
{
    const unsigned all = (1U << count_queues(r)) - 1, some = r->task->queues[role];

    return some != 0 ? some & all : all;
}

/* Returns the number of places that the queue pairs of a set take in a list of all. */
static unsigned count_in(unsigned set)
{
    unsigned n = 0;

    while (set >> n != 0)
        n++;
    return n;
}

static void drop_queues(struct rail *r)
{
    for (unsigned i = 0; i < NI_ROLES * NI_MAX_QUEUES; i++)
        if (r->qp[i / NI_MAX_QUEUES][i % NI_MAX_QUEUES])
            (void)ibv_destroy_qp(r->qp[i / NI_MAX_QUEUES][i % NI_MAX_QUEUES]);
    if (r->cq)
        (void)ibv_destroy_cq(r->cq);
    memset(r->qp, 0, sizeof(r->qp));
    r->cq = NULL;
}

/* Returns a first packet number that packets of an earlier queue pair, or try, do not fit. */
static uint32_t new_psn(void)
{
    return (uint32_t)now_ns() & 0xffffff;
}

/* Returns what the peer has to know of this end, except its queue pairs. */
static struct ni_rail_end describe_end(const struct rail *r, unsigned n_queue)
{
    struct ni_rail_end end = {
        .n_queue = n_queue,
        .rkey = r->target->rkey,
        .address = (uintptr_t)r->memory,
        .lid = r->port.lid,
        .path_mtu = (uint16_t)mtu_bytes(r->port.active_mtu),
        .most_reads =
            (uint8_t)least(READS_MAX, least(r->attr.max_qp_rd_atom, r->attr.max_qp_init_rd_atom)),
        .global = r->task->rail.link != NI_LINK_IB || (r->port.flags & IBV_QPF_GRH_REQUIRED) != 0,
    };

    memcpy(end.gid, r->gid.gid.raw, NI_GID_BYTES);
    return end;
}

/* Returns the number of work requests that each queue pair is to have room for, as far as the device
   tells what it can. */
static unsigned choose_depth(const struct rail *r)
{
    const int64_t most = least(MOST_DEPTH, r->attr.max_qp_wr);
    const int64_t fits = r->attr.max_cqe / (int64_t)(2 * count_queues(r));

    return least(most, fits) > DEPTH ? (unsigned)least(most, fits) : DEPTH;
}

/* Makes the queue pairs of this role, and writes down what the peer has to know of them. 0 or an
   errno. */
static int make_queues(struct rail *r)
{
    struct ni_rail_task *task = r->task;
    const enum ni_role role = r->role;
    const struct identity it = {task->session, task->rank, task->partner[role], task->number};
    const unsigned set = queues_of(r, role), n = count_in(set);
    struct ni_rail_end *own = &task->own[role];
    struct ibv_qp_init_attr attr = {
        .cap = {.max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
        .qp_type = IBV_QPT_RC,
        .sq_sig_all = 1,
    };

    if (!r->cq)
        r->depth = choose_depth(r);
    attr.cap.max_send_wr = r->depth;
    if (!r->cq) /* twice: completions of a queue pair that began anew may still lie there */
        r->cq = ibv_create_cq(r->context, (int)(2 * count_queues(r) * r->depth), NULL, NULL, 0);
    attr.send_cq = attr.recv_cq = r->cq;
    *own = describe_end(r, n);
    for (unsigned q = 0; q < n; q++) {
        if (!(set & 1U << q))
            continue;
        r->qp[role][q] = r->cq ? ibv_create_qp(r->pd, &attr) : NULL;
        if (!r->qp[role][q])
            return verbs_error(NULL);
        own->queue[q] = (struct ni_queue_end){r->qp[role][q]->qp_num, new_psn()};
    }
    /* the port itself, until pod 0 names another peer */
    task->peer[NI_ROLES - 1 - role] = *own;
    if (role == NI_ROLE_TARGET)
        memcpy(r->memory, &it, sizeof(it));
    return 0;
}

/* Takes the queue pairs of this role that take part back to RESET. They keep their numbers, by
   which the switches choose the path. 0 or an errno. */
static int reset_queues(struct rail *r)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};
    const unsigned set = queues_of(r, r->role);
    int err = 0;

    for (unsigned q = 0; q < NI_MAX_QUEUES && err == 0; q++) {
        if (!(set & 1U << q))
            continue;
        r->task->own[r->role].queue[q].psn = new_psn();
        err = r->qp[r->role][q] ? ibv_modify_qp(r->qp[r->role][q], &attr, IBV_QP_STATE) : EIO;
    }
    return err;
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

/* Returns the attributes for the three states below, for this end of a queue pair and its peer. */
static struct ibv_qp_attr queue_attr(const struct rail *r, unsigned q)
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

/* Takes one queue pair of this role to INIT, RTR and RTS. 0 or an errno. */
static int connect_queue(struct rail *r, unsigned q)
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
    struct ibv_qp_attr attr = queue_attr(r, q);
    int err = 0;

    for (size_t i = 0; i < NI_COUNT(states) && err == 0; i++) {
        attr.qp_state = states[i].state;
        err = ibv_modify_qp(r->qp[r->role][q], &attr, IBV_QP_STATE | states[i].mask);
    }
    return err;
}

/* Connects the queue pairs of this role that take part. 0 or an errno. */
static int connect_queues(struct rail *r)
{
    const unsigned set = queues_of(r, r->role);
    int err = 0;

    for (unsigned q = 0; q < NI_MAX_QUEUES && err == 0; q++)
        if (set & 1U << q)
            err = connect_queue(r, q);
    return err;
}

/* ---- completions ---- */

/* Notes the completion for its queue pair. One of an earlier stream, or of a queue pair that has
   failed, is ignored. Returns true if it counts. */
static bool take_completion(struct rail *r, const struct ibv_wc *wc)
{
    struct lane *lane = &r->lane[wc->wr_id % NI_MAX_QUEUES];

    if (wc->wr_id / NI_MAX_QUEUES != r->streams || lane->flying == 0)
        return false;
    lane->flying--;
    lane->took_ns = now_ns() - r->begin_ns - r->stalled_ns + 1;
    if (wc->status == IBV_WC_SUCCESS)
        return true;
    lane->err = FAILED;
    lane->flying = 0; /* what is in flight is flushed */
    r->task->result[r->role].queue[wc->wr_id % NI_MAX_QUEUES].wc = (int)wc->status;
    r->task->vendor_err = (int)wc->vendor_err;
    return true;
}

/* Waits for one completion; naps, where it may, after spin_ns. Time in which this process does not
   run is noted: a pod may have a quota of processors, and what waits for it is not lost on the way.
   0 or an errno. */
static int complete(struct rail *r, bool naps, int64_t spin_ns)
{
    static const struct timespec nap = {.tv_nsec = NAP_NS};
    int64_t polled = now_ns();
    const int64_t until = polled + PATIENCE, spin_until = polled + spin_ns;

    for (unsigned spin = 1;; spin++) {
        struct ibv_wc wc;
        const int n = ibv_poll_cq(r->cq, 1, &wc);
        const int64_t now = now_ns();

        if (!naps && now - polled > STALL_NS)
            r->stalled_ns += now - polled;
        polled = now;
        if (n < 0) /* the provider's own number, not an errno */
            return EIO;
        if (n > 0 && take_completion(r, &wc))
            return 0;
        if (n == 0 && now >= until)
            return ETIMEDOUT;
        if (n == 0 && naps && now >= spin_until)
            (void)nanosleep(&nap, NULL);
        else if (n == 0 && spin % SPINS == 0)
            (void)sched_yield();
    }
}

/* ---- data ---- */

/* What all queue pairs of a set do at once: each moves `bytes`, or what it can in limit_ns, between
   its own part of this pod's window and of the peer's memory, over its lane's window again and
   again. */
struct stream {
    unsigned set; /* of queue pairs, as bits */
    enum ibv_wr_opcode opcode;
    size_t at;        /* the place in the peer's memory */
    size_t far, near; /* from the part of one queue pair to that of the next: there, and here */
    int64_t bytes, limit_ns;
    int64_t chunk;  /* bytes of a request, at most */
    unsigned depth; /* requests in flight, of each */
};

/* Posts what the queue pair has room for. */
static void post(struct rail *r, const struct stream *s, unsigned q)
{
    const struct ni_rail_end *peer = &r->task->peer[r->role];
    const uint8_t *own = s->opcode == IBV_WR_RDMA_READ ? r->back : r->out;
    struct lane *lane = &r->lane[q];
    struct ibv_sge sge = {.lkey = r->own->lkey};
    struct ibv_send_wr *bad, wr = {.sg_list = &sge, .num_sge = 1, .opcode = s->opcode};

    wr.wr_id = r->streams * NI_MAX_QUEUES + q;
    wr.wr.rdma.rkey = peer->rkey;
    while (lane->err == 0 && lane->moved < s->bytes && lane->flying < s->depth) {
        const size_t offset = (size_t)lane->moved % lane->window;
        const int64_t left = least((int64_t)(lane->window - offset), s->bytes - lane->moved);

        sge.addr = (uintptr_t)own + q * s->near + offset;
        sge.length = (uint32_t)least(s->chunk, left);
        wr.wr.rdma.remote_addr = peer->address + s->at + q * s->far + offset;
        lane->err = ibv_post_send(r->qp[r->role][q], &wr, &bad);
        if (lane->err != 0)
            return;
        lane->moved += sge.length;
        lane->flying++;
    }
}

/* Sets depth and chunk by how fast the rail was so far: first by one request, then when the time
   has doubled, for a request alone shows the round trip more than the rate. */
static void speed_up(struct rail *r, struct stream *s)
{
    int64_t moved = 0, took_ns = 1, most = CHUNK_MAX;
    unsigned lanes = 0;

    for (unsigned q = 0; q < NI_MAX_QUEUES; q++) {
        const struct lane *lane = &r->lane[q];

        if (!(s->set & 1U << q))
            continue;
        moved += lane->moved - (s->depth > 1 ? lane->flying * s->chunk : 0);
        took_ns = lane->took_ns > took_ns ? lane->took_ns : took_ns;
        most = least(most, (int64_t)lane->window);
        lanes++;
    }
    const int64_t flight = moved > 0 ? moved * FLIGHT_NS / took_ns / lanes : 0;
    const int64_t chunk = flight / DEPTH / CHUNK_MIN * CHUNK_MIN;

    s->chunk = least(chunk > CHUNK_MIN ? chunk : CHUNK_MIN, most);
    s->depth = (unsigned)least(r->depth, flight / s->chunk);
    s->depth = s->depth > DEPTH ? s->depth : DEPTH;
    r->next_ns = 2 * took_ns;
}

/* Runs the stream; each lane of the set then says how it went. */
static void run_stream(struct rail *r, struct stream *s)
{
    unsigned flying;

    r->streams++;
    r->stalled_ns = 0;
    for (unsigned q = 0; q < NI_MAX_QUEUES; q++)
        r->lane[q] = (struct lane){.window = r->lane[q].window};
    /* all lanes together, so that a slow link has not more than that to carry in a time-out */
    s->chunk = CHUNK_FIRST / __builtin_popcount(s->set);
    s->chunk = s->chunk < CHUNK_MIN ? CHUNK_MIN : s->chunk;
    s->depth = 1;
    r->begin_ns = now_ns();
    do {
        int err = 0;

        flying = 0;
        for (unsigned q = 0; q < NI_MAX_QUEUES; q++) {
            if (!(s->set & 1U << q))
                continue;
            post(r, s, q);
            flying += r->lane[q].flying;
        }
        if (flying > 0)
            err = complete(r, s->bytes > PAGE, s->depth == 1 ? SPIN_NS : 0);
        for (unsigned q = 0; q < NI_MAX_QUEUES && err != 0; q++) {
            if (r->lane[q].flying == 0)
                continue;
            r->lane[q].err = err;
            r->lane[q].flying = 0;
        }
        const int64_t passed_ns = now_ns() - r->begin_ns;
        if (s->depth == 1 || passed_ns >= r->next_ns)
            speed_up(r, s);
        if (passed_ns >= s->limit_ns)
            s->bytes = 0;
    } while (flying > 0);
}

/* Notes how the step went for each queue pair of the set. Returns those that passed. */
static unsigned pass_step(struct rail *r, unsigned set)
{
    struct ni_pair_result *x = &r->task->result[r->role];
    unsigned passed = 0;

    for (unsigned q = 0; q < NI_MAX_QUEUES; q++) {
        if (!(set & 1U << q))
            continue;
        if (r->lane[q].err == 0) {
            x->queue[q].step++;
            passed |= 1U << q;
        } else if (r->lane[q].err != FAILED) {
            x->queue[q].err = r->lane[q].err;
        }
    }
    return passed;
}

static int earlier(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Notes how long the small write of each queue pair took. Returns what the fastest took; 0: none
   passed. */
static int64_t note_small(struct rail *r, unsigned set)
{
    int64_t first_ns = 0;

    for (unsigned q = 0; q < NI_MAX_QUEUES; q++)
        if ((set & 1U << q) && r->lane[q].err == 0 &&
            (first_ns == 0 || r->lane[q].took_ns < first_ns))
            first_ns = r->lane[q].took_ns;
    for (unsigned q = 0; q < NI_MAX_QUEUES; q++) {
        struct ni_queue_result *one = &r->task->result[r->role].queue[q];
        const int64_t took_ns = r->lane[q].took_ns;

        if (!(set & 1U << q) || r->lane[q].err != 0)
            continue;
        one->slowest_ns = took_ns > one->slowest_ns ? took_ns : one->slowest_ns;
        one->late += took_ns - first_ns >= LATE_NS;
    }
    return first_ns;
}

/* Times small writes of all queue pairs at once, each from the request to its completion, for
   one or three seconds at most. Returns those that passed. */
static unsigned time_small(struct rail *r, unsigned set)
{
    struct ni_pair_result *x = &r->task->result[r->role];
    const size_t samples = r->task->small > 0 ? r->task->small : SAMPLES;
    const int64_t until = now_ns() + (samples > SAMPLES ? LONG : SECOND);
    int64_t ns[NI_MAX_SMALL];
    size_t n = 0;

    for (unsigned q = 0; q < NI_MAX_QUEUES; q++)
        r->lane[q].window = SMALL;
    do {
        struct stream s = {set, IBV_WR_RDMA_WRITE, SMALL_AT, SMALL, SMALL, SMALL, SECOND, SMALL, 1};

        run_stream(r, &s);
        const int64_t first_ns = note_small(r, set);
        if (first_ns > 0)
            ns[n++] = first_ns;
        for (unsigned q = 0; q < NI_MAX_QUEUES; q++)
            if ((set & 1U << q) && r->lane[q].err != 0)
                set &= ~(pass_step(r, 1U << q) | 1U << q);
    } while (set != 0 && n < samples && now_ns() < until);
    if (n == 0)
        return 0;
    qsort(ns, n, sizeof(ns[0]), earlier);
    x->latency_ns = ns[n / 2];
    return pass_step(r, set);
}

/* Reads who answers, by each queue pair. Returns those that reached the right one. */
static unsigned read_identity(struct rail *r, unsigned set)
{
    const struct ni_rail_task *task = r->task;
    const struct identity it = {task->session, task->partner[r->role], task->rank, task->number};
    struct stream s = {set, IBV_WR_RDMA_READ, 0, 0, sizeof(it), sizeof(it), SECOND, 0, 1};

    for (unsigned q = 0; q < NI_MAX_QUEUES; q++)
        r->lane[q].window = sizeof(it);
    run_stream(r, &s);
    for (unsigned q = 0; q < NI_MAX_QUEUES; q++)
        if ((set & 1U << q) && r->lane[q].err == 0 &&
            memcmp(&it, r->back + q * sizeof(it), sizeof(it)) != 0)
            r->lane[q].err = FAILED;
    return pass_step(r, set);
}

/* Fills the part of a queue pair with a pattern. Each word has its place, its sender and receiver,
   and its queue pair, so data of an earlier one cannot pass for it. */
static void fill_pattern(struct rail *r, unsigned q, uint8_t *out)
{
    const struct ni_rail_task *task = r->task;
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio */
    const uint64_t key = (task->session + task->own[r->role].queue[q].psn + q) ^
                         (uint64_t)task->rank << 40 ^ (uint64_t)task->partner[r->role] << 20 ^
                         task->number;

    for (size_t i = 0; i < r->lane[q].window; i += sizeof(odd)) {
        const uint64_t word = (i / sizeof(odd) + key + 1) * odd;

        memcpy(out + i, &word, sizeof(word));
    }
}

/* Moves bulk data of all queue pairs of the set at once, one way. Returns those that passed.
   parts: of the time and of the bytes, for so many sets move one after another. */
static unsigned move_bulk(struct rail *r, unsigned set, size_t slice, unsigned parts)
{
    const struct ni_rail_task *task = r->task;
    struct ni_pair_result *x = &r->task->result[r->role];
    const bool writes = x->queue[__builtin_ctz(set)].step == NI_PAIR_WRITE;
    const unsigned lanes = (unsigned)__builtin_popcount(set) * parts;
    struct stream s = {
        set, writes ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ, PAGE, slice, slice, CHUNK_FIRST, 0, 0,
        1};

    if (task->move_ms != 0)
        s.bytes = task->bytes > 0 ? (task->bytes - 1) / lanes + 1 : INT64_MAX;
    s.limit_ns = (int64_t)task->move_ms * 1000000 / parts;
    const bool measured = s.bytes > CHUNK_FIRST;
    for (unsigned q = 0; q < NI_MAX_QUEUES && writes; q++) {
        if (!(set & 1U << q))
            continue;
        r->lane[q].window = (size_t)least((int64_t)slice, s.bytes); /* the rest is not touched */
        fill_pattern(r, q, r->out + q * slice);
    }
    run_stream(r, &s);
    for (unsigned q = 0; q < NI_MAX_QUEUES; q++) {
        struct lane *lane = &r->lane[q];

        if (!(set & 1U << q) || lane->err != 0)
            continue;
        lane->window = (size_t)least((int64_t)lane->window, lane->moved);
        const int64_t mbps =
            measured ? ni_divide_measured(lane->moved * 8 * 1000, lane->took_ns) : 0;

        if (writes)
            x->queue[q].write_mbps = mbps;
        else
            x->queue[q].read_mbps = mbps;
    }
    return pass_step(r, set);
}

static unsigned compare_bytes(struct rail *r, unsigned set, size_t slice)
{
    for (unsigned q = 0; q < NI_MAX_QUEUES; q++)
        if ((set & 1U << q) &&
            memcmp(r->out + q * slice, r->back + q * slice, r->lane[q].window) != 0)
            r->lane[q].err = FAILED;
    return pass_step(r, set);
}

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

/* Counts what the port has sent again since *last, while the queue pairs of the set moved bulk: no others
   of its port did. The kernel may answer from what it read 10 ms before (Linux 6.12
   drivers/infiniband/core/verbs.c rdma_alloc_hw_stats_struct, RDMA_HW_STATS_DEFAULT_LIFESPAN); bulk
   moves for longer. */
static void count_resent(struct rail *r, unsigned set, int64_t *last)
{
    const struct ni_rail *rail = &r->task->rail;
    const int64_t now = ni_count_resent(rail->hca, rail->port);
    const int64_t resent = least(ni_resent_since(*last, now), UINT32_MAX);

    for (unsigned q = 0; q < NI_MAX_QUEUES; q++)
        if (set & 1U << q)
            r->task->result[r->role].queue[q].resent = (unsigned)resent;
    *last = now;
}

/* Moves all data, as the initiator: all queue pairs at once what is small, then some after others
   what is bulk. */
static void move_data(struct rail *r)
{
    const struct ni_rail_task *task = r->task;
    const unsigned tried = queues_of(r, r->role), batch = task->batch > 0 ? task->batch : 1;
    const unsigned sets = ((unsigned)__builtin_popcount(tried) + batch - 1) / batch;
    const size_t slice = r->window / count_queues(r) / sizeof(uint64_t) * sizeof(uint64_t);
    struct ni_pair_result *x = &r->task->result[r->role];
    const int64_t resent_before = ni_count_resent(task->rail.hca, task->rail.port);
    int64_t resent = resent_before;
    unsigned live, passed = 0, turn = 0;

    x->n_queue = count_in(tried);
    for (unsigned q = 0; q < x->n_queue; q++)
        x->queue[q] = (struct ni_queue_result){.step = NI_PAIR_SMALL};
    live = time_small(r, tried);
    x->step = NI_PAIR_IDENTITY; /* where it is, for who kills a trial that hangs */
    if (live != 0)
        live = read_identity(r, live);
    for (unsigned q = 0, set = 0; q < x->n_queue; q++) {
        if (tried & 1U << q) {
            set |= live & 1U << q;
            turn++;
        }
        if (turn < batch && q + 1 < x->n_queue)
            continue;
        const unsigned moved = set;

        for (int way = 0; way < 2 && set != 0; way++) {
            x->step = way == 0 ? NI_PAIR_WRITE : NI_PAIR_READ;
            set = move_bulk(r, set, slice, sets);
        }
        x->step = NI_PAIR_COMPARE;
        if (set != 0)
            passed |= compare_bytes(r, set, slice);
        count_resent(r, moved, &resent);
        set = turn = 0;
    }
    sum_up(x, tried, passed, sets);
    x->resent = ni_resent_since(resent_before, resent);
}

/* ---- what is asked ---- */

/* Moves the data, as the initiator, if its queue pairs are connected. */
static void move_if_connected(struct rail *r)
{
    struct ni_rail_task *task = r->task;
    const struct ni_pair_result *x = &task->result[NI_ROLE_INITIATOR];

    if (!task->has[NI_ROLE_INITIATOR] || x->step != NI_PAIR_SMALL || x->err != 0)
        return;
    move_data(r);
    if (is_alone(task) && x->step != NI_PAIR_DONE)
        task->result[NI_ROLE_TARGET] = *x;
}

/* Takes the steps of this work, and of earlier works, for each role that has come so far; the steps
   up to the GID once for both roles. */
static void take_steps(struct rail *r, enum ni_rail_work work)
{
    static const struct {
        enum ni_rail_work work;
        int (*take)(struct rail *r);
    } steps[NI_PAIR_SMALL] = {
        [NI_PAIR_FIND] = {NI_WORK_OPEN, find_verbs_device},
        [NI_PAIR_OPEN] = {NI_WORK_OPEN, open_device},
        [NI_PAIR_DEVICE] = {NI_WORK_OPEN, ask_device},
        [NI_PAIR_PORT] = {NI_WORK_QUEUES, ask_port},
        [NI_PAIR_ALLOCATE] = {NI_WORK_QUEUES, allocate},
        [NI_PAIR_REGISTER] = {NI_WORK_QUEUES, register_memory},
        [NI_PAIR_GID] = {NI_WORK_QUEUES, ask_gid},
        [NI_PAIR_QUEUES] = {NI_WORK_QUEUES, make_queues},
        [NI_PAIR_CONNECT] = {NI_WORK_CONNECT, connect_queues},
    };
    struct ni_rail_task *task = r->task;

    for (enum ni_pair_step step = NI_PAIR_FIND; step < NI_PAIR_SMALL && steps[step].work <= work;
         step++) {
        const bool both = step < NI_PAIR_QUEUES;

        for (r->role = NI_ROLE_INITIATOR; r->role <= NI_ROLE_TARGET; r->role++) {
            struct ni_pair_result *x = &task->result[r->role];
            int err;

            if (x->step != step || x->err != 0 || !(both || task->has[r->role]))
                continue;
            errno = 0;
            err = steps[step].take(r);
            if (err == 0)
                x->step++;
            else
                x->err = err;
            if (both)
                task->result[NI_ROLE_TARGET] = *x;
            else if (is_alone(task) && err != 0) { /* both roles are the same pair */
                task->result[NI_ROLE_INITIATOR] = task->result[NI_ROLE_TARGET] = *x;
                break;
            }
        }
    }
    r->role = NI_ROLE_INITIATOR;
    if (work == NI_WORK_MOVE)
        move_if_connected(r);
}

/* Takes the queue pairs of the last round back to where they began. */
static void begin_again(struct rail *r)
{
    for (r->role = NI_ROLE_INITIATOR; r->role <= NI_ROLE_TARGET; r->role++) {
        struct ni_pair_result *x = &r->task->result[r->role];
        int err;

        if (!r->task->has[r->role])
            continue;
        *x = (struct ni_pair_result){.step = NI_PAIR_QUEUES};
        err = reset_queues(r);
        if (err == 0)
            x->step++;
        else
            x->err = err;
    }
}

/* Makes the neighbours of this rail known, before its queue pairs are connected to theirs. */
static void warm_neighbours(const struct ni_rail_task *task)
{
    static const struct timespec answered = {.tv_nsec = WARM_MS * 1000000};

    for (enum ni_role i = 0; i < NI_ROLES; i++)
        if (task->has[i])
            warm(&task->rail, task->peer[i].gid);
    (void)nanosleep(&answered, NULL);
}

/* Notes which MAC address the kernel has for each neighbour. */
static void take_neighbours(struct ni_rail_task *task)
{
    for (enum ni_role i = 0; i < NI_ROLES; i++)
        if (task->has[i])
            task->result[i].neighbour = ni_neighbour_mac(task->rail.netdev, task->peer[i].gid);
}

/* Opens the rail's device, in the first work of its process. */
static struct rail *open_rail(struct ni_rail_task *task)
{
    struct rail *r = calloc(1, sizeof(*r));

    if (!r)
        _exit(1); /* the parent sees that the process is gone */
    r->task = task;
    task->result[NI_ROLE_INITIATOR].step = NI_PAIR_FIND;
    take_steps(r, NI_WORK_OPEN);
    r->opened = task->result[NI_ROLE_INITIATOR];
    return r;
}

void ni_work_rail(struct ni_rail_task *task, enum ni_rail_work work, void **state)
{
    const bool asks_neighbours = work == NI_WORK_CONNECT && task->rail.link != NI_LINK_IB;
    struct rail *r = *state ? *state : open_rail(task);

    *state = r;
    if (work == NI_WORK_QUEUES) {
        drop_queues(r);
        task->result[NI_ROLE_INITIATOR] = task->result[NI_ROLE_TARGET] = r->opened;
    }
    if (work == NI_WORK_AGAIN)
        begin_again(r);
    if (asks_neighbours)
        warm_neighbours(task);
    take_steps(r, work);
    if (asks_neighbours)
        take_neighbours(task);
}
