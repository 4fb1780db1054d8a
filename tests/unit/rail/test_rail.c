/* SPDX-License-Identifier: Apache-2.0 */
/* Two pods' rails in one process, and one that talks to itself, against a libibverbs of this file's own, which moves memory for real
   and keeps what it was asked for: how the ends are connected, what moves, and what is said of a
   fault. Only where libibverbs is a shared library, which can be taken from in front. */
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

static bool fails(enum call call)
{
    return fake.calls[call]++ == fake.nth && fake.call == call;
}

/* NULL with errno, as calls do that give an object. */
static void *object(enum call call, void *it)
{
    if (!fails(call))
        return it;
    errno = fake.err;
    return NULL;
}

static int status(enum call call)
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
static void *within(uint64_t addr, size_t n, uint32_t key, bool remote)
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
static int64_t acknowledged_at(const struct ibv_qp *qp, bool reads, uint32_t bytes)
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

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **which)
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

static int poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
    unsigned *done = &fake.done[cq - fake.cq];

    assert_int_equal(n, 1);
    if (*done == 0 || fake.ready_ns[cq - fake.cq][0] > fake.now_ns)
        return 0;
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
static int end(void **state)
{
    (void)state;
    for (unsigned i = 0; i < N; i++)
        free(states[i]);
    memset(states, 0, sizeof(states));
    return 0;
}

static int setup(void **state)
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

static void both(enum ni_rail_work work)
{
    for (unsigned i = 0; i < N; i++)
        ni_work_rail(&task[i], work, &states[i]);
}

/* Up to the connected queue pairs, as the hub leads them. */
static void connect_both(void)
{
    both(NI_WORK_OPEN);
    both(NI_WORK_QUEUES);
    for (unsigned i = 0; i < N; i++)
        for (int role = 0; role < NI_ROLES; role++)
            task[i].peer[role] = task[N - 1 - i].own[NI_ROLES - 1 - role];
    both(NI_WORK_CONNECT);
}

static void expect(unsigned i, enum ni_role role, enum ni_pair_step step, int err, int wc)
{
    assert_int_equal(task[i].result[role].step, step);
    assert_int_equal(task[i].result[role].err, err);
    assert_int_equal(task[i].result[role].wc, wc);
}

static void test_passes(void **state)
{
    (void)state;
    connect_both();
    for (unsigned i = 0; i < N; i++) {
        expect(i, NI_ROLE_INITIATOR, NI_PAIR_SMALL, 0, 0);
        expect(i, NI_ROLE_TARGET, NI_PAIR_SMALL, 0, 0);
        assert_int_equal(task[i].rail.path_mtu, i == 0 ? 4096 : 1024);
        assert_int_equal(task[i].rail.pkey, 0x8002);
    }
    /* the second read what the first wrote, and the other way round */
    both(NI_WORK_MOVE);
    for (unsigned i = 0; i < N; i++) {
        const struct ni_pair_result *r = &task[i].result[NI_ROLE_INITIATOR];

        expect(i, NI_ROLE_INITIATOR, NI_PAIR_DONE, 0, 0);
        assert_true(r->latency_ns > 0 && r->slowest_ns >= r->latency_ns);
        assert_true(r->write_mbps > 0 && r->read_mbps > 0);
    }
    assert_in_range(fake.largest, 8192, 1 << 20); /* larger than any path MTU */
    /* another round has new queue pairs */
    memset(task[0].result, 0, sizeof(task[0].result));
    memset(task[1].result, 0, sizeof(task[1].result));
    connect_both();
    assert_int_equal(fake.n_dropped, N * 3);
    assert_int_equal(task[0].own[NI_ROLE_INITIATOR].queue[0].qpn, 1004);
    both(NI_WORK_MOVE);
    expect(0, NI_ROLE_INITIATOR, NI_PAIR_DONE, 0, 0);
    /* what an earlier round wrote there does not pass for what this one writes */
    memset(task[0].result, 0, sizeof(task[0].result));
    connect_both();
    fake.lost = true;
    ni_work_rail(&task[0], NI_WORK_MOVE, &states[0]);
    expect(0, NI_ROLE_INITIATOR, NI_PAIR_COMPARE, 0, 0);
}

static void test_connects(void **state)
{
    (void)state;
    connect_both();
    assert_int_equal(fake.n_warmed, 4);
    assert_int_equal(fake.warmed, INADDR_LOOPBACK); /* the second's partner */
    for (unsigned q = 0; q < 4; q++) {              /* 0, 1: of the first pod, from and to */
        const struct ibv_qp_attr *rtr = &fake.rtr[q], *rts = &fake.rts[q];
        const unsigned other = q == 0 ? 3 : q == 1 ? 2 : q == 2 ? 1 : 0;

        assert_int_equal(rtr->dest_qp_num, 1000 + other);
        assert_int_equal(rtr->rq_psn, fake.rts[other].sq_psn);
        assert_int_equal(rtr->path_mtu, IBV_MTU_1024);
        assert_int_equal(rtr->max_dest_rd_atomic, 4);
        assert_int_equal(rtr->ah_attr.is_global, 1);
        assert_int_equal(rtr->ah_attr.grh.sgid_index, 3);
        assert_memory_equal(&rtr->ah_attr.grh.dgid, &fake.gid[q < 2].gid, NI_GID_BYTES);
        assert_int_equal(rtr->ah_attr.grh.traffic_class, 106);
        assert_int_equal(rtr->ah_attr.sl, 4);
        assert_int_equal(fake.init[q].pkey_index, 2);
        assert_int_equal(rts->timeout, 14);
        assert_int_equal(rts->retry_cnt, 6); /* 7 is for ever on SoftRoCE */
        assert_int_equal(rts->rnr_retry, 6);
    }
}

/* By LID; by GID too where a router stands between, or a port wants it. */
static void test_infiniband(void **state)
{
    for (int way = 0; way < 3; way++) {
        setup(state);
        task[0].rail.link = task[1].rail.link = NI_LINK_IB;
        task[0].rail.index = task[1].rail.index = -1;
        if (way == 1)
            fake.gid[1].gid.raw[0] = 0xfd;
        if (way == 2)
            fake.port[1].flags = IBV_QPF_GRH_REQUIRED;
        connect_both();
        assert_int_equal(task[1].rail.gid[0], fake.gid[1].gid.raw[0]);
        for (unsigned q = 0; q < 4; q++) {
            assert_int_equal(fake.rtr[q].ah_attr.dlid, q < 2 ? 41 : 40);
            assert_int_equal(fake.rtr[q].ah_attr.is_global, way != 0);
        }
        both(NI_WORK_MOVE);
        expect(1, NI_ROLE_INITIATOR, NI_PAIR_DONE, 0, 0);
    }
}

static void test_another_answers(void **state)
{
    (void)state;
    connect_both();
    task[0].partner[NI_ROLE_INITIATOR] = 9;
    both(NI_WORK_MOVE);
    expect(0, NI_ROLE_INITIATOR, NI_PAIR_IDENTITY, 0, 0);
    expect(1, NI_ROLE_INITIATOR, NI_PAIR_DONE, 0, 0);
}

static void test_wrong_bytes(void **state)
{
    (void)state;
    connect_both();
    fake.corrupt = true;
    ni_work_rail(&task[0], NI_WORK_MOVE, &states[0]);
    expect(0, NI_ROLE_INITIATOR, NI_PAIR_COMPARE, 0, 0);
}

/* The request that fails says in which step; without a completion it is over after two seconds. */
static void test_fails(void **state)
{
    static const struct {
        unsigned at;
        enum ni_pair_step step;
    } cases[] = {
        {1, NI_PAIR_SMALL}, {64, NI_PAIR_SMALL}, {65, NI_PAIR_IDENTITY}, {66, NI_PAIR_WRITE}};

    for (unsigned i = 0; i < NI_COUNT(cases); i++) {
        setup(state);
        connect_both();
        fake.fail_at = cases[i].at;
        fake.status = IBV_WC_RETRY_EXC_ERR;
        ni_work_rail(&task[0], NI_WORK_MOVE, &states[0]);
        expect(0, NI_ROLE_INITIATOR, cases[i].step, 0, IBV_WC_RETRY_EXC_ERR);
    }
    setup(state);
    connect_both();
    fake.mute_from = 66;
    ni_work_rail(&task[0], NI_WORK_MOVE, &states[0]);
    expect(0, NI_ROLE_INITIATOR, NI_PAIR_WRITE, ETIMEDOUT, 0);
}

static void test_does_not_come_so_far(void **state)
{
    (void)state;
    fake.call = MODIFY_QP;
    fake.nth = 1;
    fake.err = ENETUNREACH;
    connect_both();
    both(NI_WORK_MOVE);
    expect(0, NI_ROLE_INITIATOR, NI_PAIR_CONNECT, ENETUNREACH, 0);
    setup(state);
    memset(&fake.gid[1], 0, sizeof(fake.gid[1]));
    connect_both();
    expect(1, NI_ROLE_TARGET, NI_PAIR_GID, ENODATA, 0);
    setup(state);
    fake.port[0].state = IBV_PORT_DOWN;
    connect_both();
    expect(0, NI_ROLE_INITIATOR, NI_PAIR_PORT, ENETDOWN, 0);
    assert_int_equal(task[0].rail.path_mtu, 4096);
    memset(task[0].result, 0, sizeof(task[0].result)); /* of the next round */
    ni_work_rail(&task[0], NI_WORK_QUEUES, &states[0]);
    expect(0, NI_ROLE_INITIATOR, NI_PAIR_PORT, ENETDOWN, 0);
}

static void test_untried(void **state)
{
    (void)state;
    (void)strcpy(task[0].rail.hca, "efa_0");
    both(NI_WORK_OPEN);
    assert_non_null(strstr(task[0].rail.untried, "no provider"));
    assert_string_equal(task[1].rail.untried, "");
    /* its node does not open: libibverbs would wait for 5 s */
    setup(state);
    task[0].rail.node_err = EPERM;
    connect_both();
    assert_string_equal(task[0].rail.untried, "");
    expect(0, NI_ROLE_TARGET, NI_PAIR_FIND, EPERM, 0);
    assert_int_equal(fake.calls[OPEN_DEVICE], 1);
}

/* Without a time nothing is measured, but a large message goes there and back. */
static void test_unmeasured(void **state)
{
    (void)state;
    task[0].move_ms = 0;
    connect_both();
    ni_work_rail(&task[0], NI_WORK_MOVE, &states[0]);
    expect(0, NI_ROLE_INITIATOR, NI_PAIR_DONE, 0, 0);
    assert_int_equal(task[0].result[NI_ROLE_INITIATOR].write_mbps, 0);
    assert_true(fake.largest >= 8192);
    task[1].bytes = 3 << 20;
    task[1].move_ms = 60000;
    ni_work_rail(&task[1], NI_WORK_MOVE, &states[1]);
    expect(1, NI_ROLE_INITIATOR, NI_PAIR_DONE, 0, 0);
    assert_true(task[1].result[NI_ROLE_INITIATOR].write_mbps > 0);
}

/* Of so many bytes what the time allows. */
static void test_has_an_end(void **state)
{
    (void)state;
    task[0].bytes = INT64_MAX;
    connect_both();
    ni_work_rail(&task[0], NI_WORK_MOVE, &states[0]);
    expect(0, NI_ROLE_INITIATOR, NI_PAIR_DONE, 0, 0);
    assert_true(task[0].result[NI_ROLE_INITIATOR].read_mbps > 0);
}

/* A healthy link measures its rate: neither naps of 80 us nor the round trip count, whether one queue pair
   moves or four do. */
static void test_rate(void **state)
{
    static const unsigned gbps[] = {400, 800}, rtt_us[] = {5, 20};

    for (unsigned i = 0; i < 8; i++) {
        const unsigned rate = gbps[i & 1], queues = i & 4 ? 4 : 1;
        const struct ni_pair_result *r = &task[0].result[NI_ROLE_INITIATOR];

        (void)setup(state);
        for (unsigned k = 0; k < N; k++) {
            task[k].n_queue = NI_MAX_QUEUES;
            task[k].queues[NI_ROLE_INITIATOR] = task[k].queues[NI_ROLE_TARGET] = (1U << queues) - 1;
            task[k].batch = queues;
            task[k].move_ms = 20;
            fake.attr[k].max_qp_wr = 32768;
            fake.attr[k].max_cqe = 4194303;
            fake.attr[k].max_qp_init_rd_atom = READS;
        }
        connect_both();
        fake.rate = rate / 8;
        fake.rtt_ns = rtt_us[i >> 1 & 1] * 1000;
        ni_work_rail(&task[0], NI_WORK_MOVE, &states[0]);
        fake.rate = 0;
        expect(0, NI_ROLE_INITIATOR, NI_PAIR_DONE, 0, 0);
        if (r->write_mbps < rate * 950 || r->read_mbps < rate * 950 || r->write_mbps > rate * 1020)
            fail_msg("%u Gb/s, %u us, %u queue pairs: writes %lld, reads %lld", rate,
                     rtt_us[i >> 1 & 1], queues, (long long)r->write_mbps, (long long)r->read_mbps);
    }
}

/* A slow link has not more in flight than it carries in a retransmission time-out. */
static void test_slow_link(void **state)
{
    (void)setup(state);
    task[0].move_ms = task[1].move_ms = 1000;
    fake.attr[0].max_qp_wr = fake.attr[1].max_qp_wr = 32768;
    connect_both();
    fake.rate = 1;
    fake.rtt_ns = 20000;
    ni_work_rail(&task[0], NI_WORK_MOVE, &states[0]);
    fake.rate = 0;
    assert_true(fake.most_behind_ns < 20000000);
}

/* ---- several queue pairs ---- */

/* Each end of each has a partner, and one that fails takes no other with it; in the end it says how, and the pair
   passed. */
static void test_queues(void **state)
{
    const struct ni_pair_result *r = &task[0].result[NI_ROLE_INITIATOR];
    int64_t write = 0;

    (void)state;
    for (unsigned i = 0; i < N; i++) {
        task[i].n_queue = NI_MAX_QUEUES;
        task[i].batch = 4;
    }
    connect_both();
    assert_int_equal(fake.n_qp, N * NI_ROLES * NI_MAX_QUEUES);
    for (unsigned q = 0; q < NI_MAX_QUEUES; q++) {
        const struct ni_queue_end *own = &task[0].own[NI_ROLE_INITIATOR].queue[q];
        const struct ni_queue_end *far = &task[1].own[NI_ROLE_TARGET].queue[q];

        assert_int_equal(fake.rtr[own->qpn - 1000].dest_qp_num, far->qpn);
        assert_int_equal(fake.rtr[far->qpn - 1000].dest_qp_num, own->qpn);
    }
    fake.bad_qp = task[0].own[NI_ROLE_INITIATOR].queue[5].qpn;
    fake.status = IBV_WC_RETRY_EXC_ERR;
    ni_work_rail(&task[0], NI_WORK_MOVE, &states[0]);
    expect(0, NI_ROLE_INITIATOR, NI_PAIR_DONE, 0, 0);
    assert_int_equal(r->n_queue, NI_MAX_QUEUES);
    for (unsigned q = 0; q < NI_MAX_QUEUES; q++) {
        assert_int_equal(r->queue[q].step, q == 5 ? NI_PAIR_SMALL : NI_PAIR_DONE);
        assert_int_equal(r->queue[q].wc, q == 5 ? IBV_WC_RETRY_EXC_ERR : 0);
        assert_int_equal(r->queue[q].write_mbps > 0, q != 5);
        assert_int_equal(r->queue[q].read_mbps > 0, q != 5);
        assert_int_equal(r->queue[q].slowest_ns > 0, q != 5);
        write += r->queue[q].write_mbps;
    }
    assert_int_equal(r->write_mbps, write / 2); /* two batches, one after the other */
    /* those that do not take part are not made */
    setup(state);
    for (unsigned i = 0; i < N; i++) {
        task[i].n_queue = NI_MAX_QUEUES;
        task[i].queues[NI_ROLE_INITIATOR] = task[i].queues[NI_ROLE_TARGET] = 3;
    }
    connect_both();
    assert_int_equal(fake.n_qp, N * NI_ROLES * 2);
    assert_int_equal(task[0].own[NI_ROLE_TARGET].n_queue, 2);
    ni_work_rail(&task[0], NI_WORK_MOVE, &states[0]);
    expect(0, NI_ROLE_INITIATOR, NI_PAIR_DONE, 0, 0);
    assert_int_equal(r->n_queue, 2);
    /* all fail: the pair does */
    setup(state);
    task[0].n_queue = task[1].n_queue = 3;
    connect_both();
    fake.mute_from = 0;
    ni_work_rail(&task[0], NI_WORK_MOVE, &states[0]);
    expect(0, NI_ROLE_INITIATOR, NI_PAIR_SMALL, ETIMEDOUT, 0);
}

/* Those that are tried again keep their numbers; only they move. */
static void test_again(void **state)
{
    uint32_t was[NI_MAX_QUEUES], psn;

    (void)state;
    for (unsigned i = 0; i < N; i++) {
        task[i].n_queue = NI_MAX_QUEUES;
        task[i].batch = 4;
    }
    connect_both();
    for (unsigned q = 0; q < NI_MAX_QUEUES; q++)
        was[q] = task[0].own[NI_ROLE_INITIATOR].queue[q].qpn;
    fake.bad_qp = was[2];
    fake.status = IBV_WC_RETRY_EXC_ERR;
    ni_work_rail(&task[0], NI_WORK_MOVE, &states[0]);
    fake.bad_qp = 0;
    const unsigned made = fake.n_qp;
    /* the pair of the first pod alone: it initiates, the second is its target */
    task[0].has[NI_ROLE_TARGET] = task[1].has[NI_ROLE_INITIATOR] = false;
    task[0].queues[NI_ROLE_INITIATOR] = task[1].queues[NI_ROLE_TARGET] = 1U << 2 | 1U << 6;
    task[0].batch = 1;
    task[0].small = 200;
    psn = task[0].own[NI_ROLE_INITIATOR].queue[2].psn;
    both(NI_WORK_AGAIN);
    assert_int_equal(fake.n_reset, 2 * 2);
    /* what still comes of the first try does not fit */
    assert_int_not_equal(task[0].own[NI_ROLE_INITIATOR].queue[2].psn, psn);
    expect(0, NI_ROLE_INITIATOR, NI_PAIR_CONNECT, 0, 0);
    both(NI_WORK_CONNECT);
    expect(1, NI_ROLE_TARGET, NI_PAIR_SMALL, 0, 0);
    memset(fake.moved, 0, sizeof(fake.moved));
    task[0].bytes = 8192;
    both(NI_WORK_MOVE);
    expect(0, NI_ROLE_INITIATOR, NI_PAIR_DONE, 0, 0);
    assert_int_equal(fake.n_qp, made);
    assert_int_equal(fake.moved[IBV_WR_RDMA_WRITE], 2 * 200 * 8 + 8192);
    for (unsigned q = 0; q < NI_MAX_QUEUES; q++) {
        const bool moved = q == 2 || q == 6;

        assert_int_equal(task[0].own[NI_ROLE_INITIATOR].queue[q].qpn, was[q]);
        assert_int_equal(task[0].result[NI_ROLE_INITIATOR].queue[q].step == NI_PAIR_DONE, moved);
    }
    /* what was never made cannot begin again */
    task[0].n_queue = 0;
    task[0].queues[NI_ROLE_INITIATOR] = 0;
    task[0].has[NI_ROLE_INITIATOR] = false;
    ni_work_rail(&task[0], NI_WORK_QUEUES, &states[0]);
    task[0].has[NI_ROLE_INITIATOR] = true;
    ni_work_rail(&task[0], NI_WORK_AGAIN, &states[0]);
    expect(0, NI_ROLE_INITIATOR, NI_PAIR_QUEUES, EIO, 0);
}

/* ---- one rail, with itself ---- */

/* The processes' memory is the kernel's to take back; here it is the next case's. */
static const struct ni_rail_task *self(int64_t size, int64_t bytes)
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

static void test_self(void **state)
{
    const struct ni_rail_task *t = self(1 << 20, 256 << 10);

    (void)state;
    expect(0, NI_ROLE_INITIATOR, NI_PAIR_DONE, 0, 0);
    assert_int_equal(fake.mr[0].length + fake.mr[1].length, 1 << 20);
    assert_true(t->result[NI_ROLE_INITIATOR].latency_ns > 0 &&
                t->result[NI_ROLE_INITIATOR].write_mbps > 0);
    assert_int_equal(t->dmabuf, NI_KNOWN);
    assert_memory_equal(t->own[NI_ROLE_INITIATOR].gid, fake.gid[0].gid.raw, NI_GID_BYTES);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(fake.rtr[i].dest_qp_num, 1000 + 1 - i);
        assert_memory_equal(&fake.rtr[i].ah_attr.grh.dgid, &fake.gid[0].gid, NI_GID_BYTES);
    }
    assert_true(t->rail.v2);
}

/* Each byte is written and read, beside what is timed and the identity. */
static void test_self_sizes(void **state)
{
    static const int64_t sizes[] = {16384, 16385, 100000, 53477376};
    static const int64_t bytes[] = {1, 7, 8, 9, 4096, 65536, 65537, 2097154, 16777221};

    for (unsigned i = 0; i < NI_COUNT(sizes) * NI_COUNT(bytes); i++) {
        const int64_t n = bytes[i % NI_COUNT(bytes)];

        setup(state);
        self(sizes[i / NI_COUNT(bytes)], n);
        expect(0, NI_ROLE_INITIATOR, NI_PAIR_DONE, 0, 0);
        assert_int_equal(fake.moved[IBV_WR_RDMA_WRITE], 64 * 8 + n);
        assert_int_equal(fake.moved[IBV_WR_RDMA_READ], 24 + n);
    }
}

/* A large region of which little is moved: the rest is not worth the time. */
static void test_self_touches_little(void **state)
{
    unsigned char in_core[64];

    (void)state;
    task[0].partner[NI_ROLE_INITIATOR] = task[0].partner[NI_ROLE_TARGET] = task[0].rank;
    task[0].size = INT64_C(4) << 30;
    task[0].bytes = 4096;
    task[0].move_ms = 60000;
    ni_work_rail(&task[0], NI_WORK_MOVE, &states[0]);
    expect(0, NI_ROLE_INITIATOR, NI_PAIR_DONE, 0, 0);
    for (unsigned part = 0; part < 3; part++) {
        uint8_t *at = (uint8_t *)fake.mr[0].addr + (part << 30) + (1 << 29);

        assert_int_equal(mincore(at, sizeof(in_core) * PAGE, in_core), 0);
        for (unsigned i = 0; i < sizeof(in_core); i++)
            assert_int_equal(in_core[i] & 1, 0);
    }
    (void)munmap(fake.mr[0].addr, (size_t)task[0].size);
}

static void test_self_calls(void **state)
{
    static const struct {
        enum call call;
        unsigned nth;
        int err;
        enum ni_pair_step step;
        int seen; /* 0: err */
    } cases[] = {
        {GET_DEVICE_LIST, 0, ENOSYS, NI_PAIR_FIND, 0},
        {GET_DEVICE_LIST, 0, 0, NI_PAIR_FIND, EIO},
        {OPEN_DEVICE, 0, ENOMEM, NI_PAIR_OPEN, 0},
        {OPEN_DEVICE, 0, 0, NI_PAIR_OPEN, EIO},
        {QUERY_DEVICE, 0, EIO, NI_PAIR_DEVICE, 0},
        {ALLOC_PD, 0, ENOMEM, NI_PAIR_DEVICE, 0},
        {QUERY_PORT, 1, EINVAL, NI_PAIR_PORT, 0}, /* the first is for the other pods */
        {QUERY_GID, 0, ENODATA, NI_PAIR_GID, 0},
        {REG_MR, 0, ENOMEM, NI_PAIR_REGISTER, 0},
        {REG_MR, 1, 0, NI_PAIR_REGISTER, EIO},
        {CREATE_CQ, 0, ENOMEM, NI_PAIR_QUEUES, 0},
        {CREATE_QP, 0, ENOMEM, NI_PAIR_QUEUES, 0},
        {CREATE_QP, 1, ENOSPC, NI_PAIR_QUEUES, 0},
        {MODIFY_QP, 1, ENETUNREACH, NI_PAIR_CONNECT, 0},
        {MODIFY_QP, 5, EINVAL, NI_PAIR_CONNECT, 0},
        {POST_SEND, 0, ENOMEM, NI_PAIR_SMALL, 0},
        {POST_SEND, 64, EINVAL, NI_PAIR_IDENTITY, 0},
        {POST_SEND, 65, EINVAL, NI_PAIR_WRITE, 0},
        /* its number is no errno: providers have their own */
        {POLL_CQ, 0, 2, NI_PAIR_SMALL, EIO},
    };

    for (unsigned i = 0; i < NI_COUNT(cases); i++) {
        setup(state);
        fake.call = cases[i].call;
        fake.nth = cases[i].nth;
        fake.err = cases[i].err;
        self(1 << 20, 4096);
        expect(0, NI_ROLE_INITIATOR, cases[i].step, cases[i].seen ? cases[i].seen : cases[i].err,
               0);
    }
    setup(state);
    self(INT64_C(1) << 60, 4096);
    expect(0, NI_ROLE_INITIATOR, NI_PAIR_ALLOCATE, ENOMEM, 0);
}

static void test_self_fails(void **state)
{
    (void)state;
    fake.fail_at = 66;
    fake.status = IBV_WC_LOC_PROT_ERR;
    assert_int_equal(self(1 << 20, 4096)->vendor_err, 81);
    expect(0, NI_ROLE_INITIATOR, NI_PAIR_WRITE, 0, IBV_WC_LOC_PROT_ERR);
    setup(state);
    fake.corrupt = true;
    self(1 << 20, 4096);
    expect(0, NI_ROLE_INITIATOR, NI_PAIR_COMPARE, 0, 0);
    setup(state);
    fake.port[0].state = IBV_PORT_DOWN;
    self(1 << 20, 4096);
    expect(0, NI_ROLE_INITIATOR, NI_PAIR_PORT, ENETDOWN, 0);
    for (int index = -1; index < 257; index += 257) {
        setup(state);
        task[0].rail.index = index;
        self(1 << 20, 4096);
        expect(0, NI_ROLE_INITIATOR, NI_PAIR_GID, ERANGE, 0);
        assert_int_equal(fake.calls[QUERY_GID], 0);
    }
}

static void test_dmabuf(void **state)
{
    static const struct {
        int err;
        enum ni_known known;
    } cases[] = {{EBADF, NI_KNOWN},
                 {EINVAL, NI_KNOWN},
                 {EOPNOTSUPP, NI_ABSENT},
                 {EPROTONOSUPPORT, NI_ABSENT}};

    for (unsigned i = 0; i < NI_COUNT(cases); i++) {
        setup(state);
        fake.dmabuf_err = cases[i].err;
        assert_int_equal(self(1 << 20, 4096)->dmabuf, cases[i].known);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_passes, setup),
        cmocka_unit_test_setup(test_connects, setup),
        cmocka_unit_test_setup(test_infiniband, setup),
        cmocka_unit_test_setup(test_another_answers, setup),
        cmocka_unit_test_setup(test_wrong_bytes, setup),
        cmocka_unit_test_setup(test_fails, setup),
        cmocka_unit_test_setup(test_does_not_come_so_far, setup),
        cmocka_unit_test_setup(test_untried, setup),
        cmocka_unit_test_setup(test_unmeasured, setup),
        cmocka_unit_test_setup(test_has_an_end, setup),
        cmocka_unit_test_setup(test_rate, setup),
        cmocka_unit_test_setup(test_slow_link, setup),
        cmocka_unit_test_setup(test_queues, setup),
        cmocka_unit_test_setup(test_again, setup),
        cmocka_unit_test_setup(test_self, setup),
        cmocka_unit_test_setup(test_self_sizes, setup),
        cmocka_unit_test_setup(test_self_touches_little, setup),
        cmocka_unit_test_setup(test_self_calls, setup),
        cmocka_unit_test_setup(test_self_fails, setup),
        cmocka_unit_test_setup(test_dmabuf, setup),
    };

    return cmocka_run_group_tests(tests, NULL, end);
}
