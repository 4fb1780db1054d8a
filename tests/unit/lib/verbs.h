/* SPDX-License-Identifier: Apache-2.0 */
/* A libibverbs of the tests' own, in front of the shared one, for faults that no lab has: it moves
   memory for real, keeps what it was asked for, and fails where a test says so. Two pods' rails in
   one process use it, or one that talks to itself. */
#ifndef NCCL_INIT_TEST_VERBS_H
#define NCCL_INIT_TEST_VERBS_H

#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "nccl_init/base.h"
#include "nccl_init/known.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "rail/rail.h"
#include "rail/step.h"
#include "rail/task.h"
#include <infiniband/verbs.h>

#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr

enum { N = 2, MRS = 8, QPS = 64, CQS = 8, PAGE = 4096, DEPTH = 16, WAITING = 2048 };
enum { READS = 16, POLL_NS = 50, NAP_NS = 80000, MOST_WR = 128, ALL_OF_IT = 8 << 20 };

/* Which call fails. */
enum call {
    NONE,
    GET_DEVICE_LIST,
    OPEN_DEVICE,
    QUERY_DEVICE,
    ALLOC_PD,
    QUERY_PORT,
    QUERY_GID,
    REG_MR,
    CREATE_CQ,
    CREATE_QP,
    MODIFY_QP,
    POST_SEND,
    POLL_CQ,
    CALLS
};

static struct {
    struct ibv_device device[N], *list[N + 1];
    struct ibv_context context[N];
    struct ibv_pd pd[N];
    struct ibv_port_attr port[N];
    struct ibv_gid_entry gid[N];
    struct ibv_device_attr attr[N];
    struct ibv_mr mr[MRS];
    struct ibv_qp qp[QPS];
    struct ibv_qp_attr init[QPS], rtr[QPS], rts[QPS];
    struct ibv_cq cq[CQS];
    unsigned done[CQS]; /* completions that wait */
    struct ibv_wc wc[CQS][WAITING];
    unsigned bad_qp;  /* the number of a queue pair whose requests fail; 0: none */
    unsigned n_reset; /* queue pairs that began anew */
    unsigned n_mr, n_qp, n_cq, n_dropped;
    size_t largest;     /* bytes of a request */
    unsigned mute_from; /* requests from this one on get no completion */
    unsigned posted, fail_at;
    enum ibv_wc_status status; /* of the request fail_at */
    bool corrupt;              /* what is read in bulk */
    bool lost;                 /* what is written in bulk */
    enum call call;
    unsigned nth; /* of those calls; the first is 0 */
    int err;
    unsigned calls[CALLS];
    int dmabuf_err;
    unsigned n_warmed;                    /* datagrams to an IPv4 address */
    in_addr_t warmed;                     /* the last */
    uint64_t moved[IBV_WR_RDMA_READ + 1]; /* bytes */
    /* A link in virtual time. rate: bytes a nanosecond; 0: there is no link, and time is real. */
    int64_t now_ns, rtt_ns, free_ns; /* free_ns: when it has sent all it was given */
    unsigned rate;
    int64_t ready_ns[CQS][WAITING]; /* by completion that waits */
    int64_t read_ns[QPS][READS];    /* when the last reads of a queue pair are over, in a circle */
    unsigned n_read[QPS];
    int64_t most_behind_ns; /* of data that waits for the link */
    int64_t stands_ns;      /* so long the process stands still, behind a poll that found nothing */
} fake;

int clock_gettime(clockid_t clock, struct timespec *ret)
{
    if (fake.rate == 0)
        return (int)syscall(SYS_clock_gettime, clock, ret);
    fake.now_ns += POLL_NS;
    *ret =
        (struct timespec){.tv_sec = fake.now_ns / 1000000000, .tv_nsec = fake.now_ns % 1000000000};
    return 0;
}

/* A nap on a machine with the usual timer slack. */
int nanosleep(const struct timespec *nap, struct timespec *left)
{
    if (fake.rate == 0)
        return (int)syscall(SYS_nanosleep, nap, left);
    fake.now_ns += NAP_NS > nap->tv_nsec ? NAP_NS : nap->tv_nsec;
    return 0;
}

static inline bool fails(enum call call)
{
    return fake.calls[call]++ == fake.nth && fake.call == call;
}

/* NULL with errno, as calls do that give an object. */
static inline void *object(enum call call, void *it)
{
    if (!fails(call))
        return it;
    errno = fake.err;
    return NULL;
}

static inline int status(enum call call)
{
    return fails(call) ? fake.err : 0;
}

/* A kernel without IPv6 and netlink, with all interfaces. */
int socket(int family, int type, int protocol)
{
    errno = EAFNOSUPPORT;
    return family == AF_INET ? (int)syscall(SYS_socket, family, type, protocol) : -1;
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
    (void)fd;
    (void)value;
    return level == SOL_SOCKET && name == SO_BINDTODEVICE && size == strlen("none") ? 0 : -1;
}

ssize_t sendto(int fd, const void *from, size_t n, int flags, __CONST_SOCKADDR_ARG to,
               socklen_t size)
{
    const struct sockaddr_in *at = (const void *)to.__sockaddr__;

    (void)fd;
    (void)from;
    (void)flags;
    assert_int_equal(size, sizeof(*at));
    assert_int_equal(at->sin_family, AF_INET);
    assert_int_equal(at->sin_port, htons(9));
    fake.n_warmed++;
    fake.warmed = ntohl(at->sin_addr.s_addr);
    return (ssize_t)n;
}

struct ibv_device **ibv_get_device_list(int *n)
{
    assert_null(getenv("SYSFS_PATH"));
    *n = N;
    return object(GET_DEVICE_LIST, fake.list);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
    return device->name;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
    struct ibv_context *c = &fake.context[device - fake.device];

    c->device = device;
    return object(OPEN_DEVICE, c);
}

int ibv_close_device(struct ibv_context *context)
{
    (void)context;
    return 0;
}

int ibv_query_device(struct ibv_context *c, struct ibv_device_attr *attr)
{
    *attr = fake.attr[c - fake.context];
    return status(QUERY_DEVICE);
}

int ibv_query_port(struct ibv_context *c, uint8_t port, struct _compat_ibv_port_attr *attr)
{
    assert_int_equal(port, 1);
    memcpy(attr, &fake.port[c - fake.context], sizeof(fake.port[0]));
    return status(QUERY_PORT);
}

int ibv_query_pkey(struct ibv_context *c, uint8_t port, int index, __be16 *pkey)
{
    (void)c;
    assert_int_equal(port, 1);
    *pkey = htobe16((uint16_t)(0x8000 + index));
    return 0;
}

int _ibv_query_gid_ex(struct ibv_context *c, uint32_t port, uint32_t index,
                      struct ibv_gid_entry *entry, uint32_t flags, size_t size)
{
    assert_int_equal(port, 1);
    assert_int_equal(flags, 0);
    assert_int_equal(size, sizeof(*entry));
    *entry = fake.gid[c - fake.context];
    entry->gid_index = index;
    return status(QUERY_GID);
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *c)
{
    struct ibv_pd *pd = &fake.pd[c - fake.context];

    pd->context = c;
    return object(ALLOC_PD, pd);
}

/* An invalid descriptor, as NCCL does it. */
struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
                                 int fd, int access)
{
    (void)pd;
    assert_int_equal(offset | length | iova, 0);
    assert_int_equal(fd, -1);
    assert_int_equal(access, 0);
    errno = fake.dmabuf_err;
    return NULL;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
    struct ibv_mr *mr = &fake.mr[fake.n_mr];

    *mr = (struct ibv_mr){.pd = pd,
                          .addr = addr,
                          .length = length,
                          .lkey = 100 + fake.n_mr,
                          .rkey = (access & IBV_ACCESS_REMOTE_WRITE) != 0 ? 200 + fake.n_mr : 0};
    fake.n_mr++;
    return object(REG_MR, mr);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
                                unsigned int access)
{
    assert_int_equal(iova, (uintptr_t)addr);
    return ibv_reg_mr(pd, addr, length, (int)access);
}

struct ibv_cq *ibv_create_cq(struct ibv_context *c, int cqe, void *cq_context,
                             struct ibv_comp_channel *channel, int vector)
{
    (void)cq_context;
    (void)channel;
    (void)vector;
    assert_true(cqe >= DEPTH);
    fake.cq[fake.n_cq].context = c;
    return object(CREATE_CQ, &fake.cq[fake.n_cq++]);
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
    fake.done[cq - fake.cq] = 0;
    fake.n_dropped++;
    return 0;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    struct ibv_qp *qp = &fake.qp[fake.n_qp];

    assert_ptr_equal(attr->recv_cq, attr->send_cq);
    assert_int_equal(attr->qp_type, IBV_QPT_RC);
    assert_int_equal(attr->sq_sig_all, 1);
    assert_true(attr->cap.max_send_wr >= DEPTH);
    assert_true(attr->cap.max_send_wr == DEPTH || attr->cap.max_send_wr <= MOST_WR);
    *qp = (struct ibv_qp){.context = pd->context,
                          .pd = pd,
                          .send_cq = attr->send_cq,
                          .qp_num = 1000 + fake.n_qp,
                          .state = IBV_QPS_RESET};
    fake.n_qp++;
    return object(CREATE_QP, qp);
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
    qp->state = IBV_QPS_ERR;
    fake.n_dropped++;
    return 0;
}

/* What each state takes for RC (include/rdma/ib_verbs.h ib_modify_qp_is_ok), no more. */
int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    static const int masks[] = {
        [IBV_QPS_INIT] = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
        [IBV_QPS_RTR] = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                        IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
        [IBV_QPS_RTS] = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                        IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC,
    };
    struct ibv_qp_attr *to[] = {
        [IBV_QPS_INIT] = fake.init, [IBV_QPS_RTR] = fake.rtr, [IBV_QPS_RTS] = fake.rts};
    int err = status(MODIFY_QP);

    if (attr->qp_state == IBV_QPS_RESET) {
        assert_int_equal(mask, IBV_QP_STATE);
        fake.n_reset++;
        qp->state = IBV_QPS_RESET;
        return err;
    }
    assert_int_equal(attr->qp_state, qp->state + 1);
    assert_int_equal(mask, masks[attr->qp_state]);
    if (err != 0)
        return err;
    to[attr->qp_state][qp - fake.qp] = *attr;
    qp->state = attr->qp_state;
    return 0;
}

/* Within memory of that key. */
static inline void *within(uint64_t addr, size_t n, uint32_t key, bool remote)
{
    for (unsigned i = 0; i < fake.n_mr; i++) {
        const uintptr_t begin = (uintptr_t)fake.mr[i].addr;

        if ((remote ? fake.mr[i].rkey : fake.mr[i].lkey) != key)
            continue;
        assert_in_range(addr, begin, begin + fake.mr[i].length - n);
        return (void *)(uintptr_t)addr;
    }
    fail_msg("no such key: %u", key);
    return NULL;
}

/* When the request of so many bytes is acknowledged: the link carries one after another, and a device
   has not more than READS reads of a queue pair in flight. */
static inline int64_t acknowledged_at(const struct ibv_qp *qp, bool reads, uint32_t bytes)
{
    const unsigned at = (unsigned)(qp - fake.qp);
    int64_t *last = &fake.read_ns[at][fake.n_read[at] % READS];
    int64_t begin_ns = fake.now_ns > fake.free_ns ? fake.now_ns : fake.free_ns;

    if (fake.rate == 0)
        return 0;
    if (reads && *last > begin_ns)
        begin_ns = *last;
    fake.free_ns = begin_ns + bytes / fake.rate + 1;
    if (fake.free_ns - fake.now_ns > fake.most_behind_ns)
        fake.most_behind_ns = fake.free_ns - fake.now_ns;
    if (reads) {
        *last = fake.free_ns + fake.rtt_ns;
        fake.n_read[at]++;
    }
    return fake.free_ns + fake.rtt_ns;
}

static inline int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **which)
{
    const struct ibv_sge *sge = wr->sg_list;
    uint8_t *own = within(sge->addr, sge->length, sge->lkey, false);
    uint8_t *far = within(wr->wr.rdma.remote_addr, sge->length, wr->wr.rdma.rkey, true);
    const bool reads = wr->opcode == IBV_WR_RDMA_READ;

    (void)which;
    if (fails(POST_SEND))
        return fake.err;
    assert_int_equal(qp->state, IBV_QPS_RTS);
    assert_true(fake.done[qp->send_cq - fake.cq] < WAITING);
    const bool again = fake.rate > 0 && fake.moved[wr->opcode] > ALL_OF_IT; /* the same bytes */

    fake.moved[wr->opcode] += sge->length;
    if (again)
        ;
    else if (reads || !fake.lost || sge->length <= 64)
        memcpy(reads ? own : far, reads ? far : own, sge->length);
    if (fake.corrupt && reads && sge->length > 64)
        own[sge->length - 1] ^= 1;
    fake.largest = sge->length > fake.largest ? sge->length : fake.largest;
    if (++fake.posted > fake.mute_from)
        return 0;
    const unsigned cq = (unsigned)(qp->send_cq - fake.cq);
    const bool bad = fake.posted == fake.fail_at || qp->qp_num == fake.bad_qp;
    fake.ready_ns[cq][fake.done[cq]] = acknowledged_at(qp, reads, sge->length);
    fake.wc[cq][fake.done[cq]++] = (struct ibv_wc){.wr_id = wr->wr_id,
                                                   .qp_num = qp->qp_num,
                                                   .status = bad ? fake.status : IBV_WC_SUCCESS,
                                                   .vendor_err = 81};
    return 0;
}

static inline int poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
    unsigned *done = &fake.done[cq - fake.cq];

    assert_int_equal(n, 1);
    if (*done == 0 || fake.ready_ns[cq - fake.cq][0] > fake.now_ns) {
        fake.now_ns += fake.stands_ns;
        fake.stands_ns = 0;
        return 0;
    }
    if (fails(POLL_CQ))
        return -fake.err;
    struct ibv_wc *waiting = fake.wc[cq - fake.cq];
    *wc = waiting[0];
    --*done;
    memmove(waiting, waiting + 1, *done * sizeof(*wc));
    memmove(fake.ready_ns[cq - fake.cq], fake.ready_ns[cq - fake.cq] + 1, *done * sizeof(int64_t));
    return 1;
}

/* ---- two rails ---- */

static struct ni_rail_task task[N];
static void *states[N];

/* A rail's process would end instead. */
static inline int end(void **state)
{
    (void)state;
    for (unsigned i = 0; i < N; i++)
        free(states[i]);
    memset(states, 0, sizeof(states));
    return 0;
}

static inline int setup(void **state)
{
    (void)end(state);
    memset(&fake, 0, sizeof(fake));
    memset(task, 0, sizeof(task));
    fake.mute_from = UINT32_MAX;
    fake.dmabuf_err = EBADF;
    (void)setenv("SYSFS_PATH", "/elsewhere", 1);
    for (unsigned i = 0; i < N; i++) {
        (void)ni_format(fake.device[i].name, sizeof(fake.device[i].name), "mlx5_%u", i);
        fake.list[i] = &fake.device[i];
        fake.context[i].ops.post_send = post_send;
        fake.context[i].ops.poll_cq = poll_cq;
        fake.port[i].state = IBV_PORT_ACTIVE;
        fake.port[i].active_mtu = i == 0 ? IBV_MTU_4096 : IBV_MTU_1024;
        fake.port[i].lid = (uint16_t)(40 + i);
        fake.gid[i].gid.raw[10] = fake.gid[i].gid.raw[11] = 0xff;
        fake.gid[i].gid.raw[12] = 127;
        fake.gid[i].gid.raw[15] = (uint8_t)(1 + i);
        fake.gid[i].gid_type = IBV_GID_TYPE_ROCE_V2;
        fake.attr[i].max_qp_rd_atom = 16;
        fake.attr[i].max_qp_init_rd_atom = i == 0 ? 16 : 4;
        (void)ni_copy(task[i].rail.hca, sizeof(task[i].rail.hca), fake.device[i].name);
        (void)ni_copy(task[i].rail.netdev, sizeof(task[i].rail.netdev), "none");
        task[i].rail.port = 1;
        task[i].rail.link = NI_LINK_ROCE;
        task[i].rail.index = 3;
        task[i].rank = i;
        task[i].number = 5;
        task[i].session = 77;
        task[i].move_ms = 1;
        task[i].pkey_index = 2;
        task[i].service_level = 4;
        task[i].traffic_class = 106;
        for (int role = 0; role < NI_ROLES; role++) {
            task[i].has[role] = true;
            task[i].partner[role] = N - 1 - i;
        }
    }
    return 0;
}

static inline void both(enum ni_rail_work work)
{
    for (unsigned i = 0; i < N; i++)
        ni_work_rail(&task[i], work, &states[i]);
}

/* Up to the connected queue pairs, as the hub leads them. */
static inline void connect_both(void)
{
    both(NI_WORK_OPEN);
    both(NI_WORK_QUEUES);
    for (unsigned i = 0; i < N; i++)
        for (int role = 0; role < NI_ROLES; role++)
            task[i].peer[role] = task[N - 1 - i].own[NI_ROLES - 1 - role];
    both(NI_WORK_CONNECT);
}

static inline void expect(unsigned i, enum ni_role role, enum ni_pair_step step, int err, int wc)
{
    assert_int_equal(task[i].result[role].step, step);
    assert_int_equal(task[i].result[role].err, err);
    assert_int_equal(task[i].result[role].wc, wc);
}

/* ---- one rail, with itself ---- */

/* The processes' memory is the kernel's to take back; here it is the next case's. */
static inline const struct ni_rail_task *self(int64_t size, int64_t bytes)
{
    (void)end(NULL);
    task[0].size = size;
    task[0].bytes = bytes;
    task[0].move_ms = 60000;
    task[0].partner[NI_ROLE_INITIATOR] = task[0].partner[NI_ROLE_TARGET] = task[0].rank;
    ni_work_rail(&task[0], NI_WORK_MOVE, &states[0]);
    if (fake.n_mr > 0)
        (void)munmap(fake.mr[0].addr, (size_t)size);
    return &task[0];
}

#endif
