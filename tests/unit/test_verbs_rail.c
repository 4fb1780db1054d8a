/* SPDX-License-Identifier: Apache-2.0 */
/* Two pods' rails in one process, against a libibverbs of this file's own, which moves memory for real
   and keeps what it was asked for: how the ends are connected, what moves, and what is said of a
   fault. Only where libibverbs is a shared library, which can be taken from in front. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include <infiniband/verbs.h>

#include "nccl_init/verbs.h"

#undef ibv_query_port
#undef ibv_reg_mr

enum { N = 2, MRS = 8, QPS = 16, CQS = 8 };

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
    unsigned n_mr, n_qp, n_cq, n_dropped;
    size_t largest;     /* bytes of a request */
    unsigned mute_from; /* requests from this one on get no completion */
    unsigned posted, fail_at;
    enum ibv_wc_status status; /* of the request fail_at */
    bool corrupt;              /* what is read in bulk */
    int modify_err;
} fake;

int open(const char *path, int flags, ...)
{
    return (int)syscall(SYS_openat, AT_FDCWD,
                        strncmp(path, "/dev/inf", 8) == 0 ? "/dev/null" : path, flags, 0600);
}

struct ibv_device **ibv_get_device_list(int *n)
{
    *n = N;
    return fake.list;
}

const char *ibv_get_device_name(struct ibv_device *device)
{
    return device->name;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
    struct ibv_context *c = &fake.context[device - fake.device];

    c->device = device;
    return c;
}

int ibv_close_device(struct ibv_context *context)
{
    (void)context;
    return 0;
}

int ibv_query_device(struct ibv_context *c, struct ibv_device_attr *attr)
{
    *attr = fake.attr[c - fake.context];
    return 0;
}

int ibv_query_port(struct ibv_context *c, uint8_t port, struct _compat_ibv_port_attr *attr)
{
    assert_int_equal(port, 1);
    memcpy(attr, &fake.port[c - fake.context], sizeof(fake.port[0]));
    return 0;
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
    (void)index;
    assert_int_equal(port, 1);
    assert_int_equal(flags, 0);
    assert_int_equal(size, sizeof(*entry));
    *entry = fake.gid[c - fake.context];
    return 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *c)
{
    struct ibv_pd *pd = &fake.pd[c - fake.context];

    pd->context = c;
    return pd;
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
    return mr;
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
    assert_true(cqe >= 64);
    fake.cq[fake.n_cq].context = c;
    return &fake.cq[fake.n_cq++];
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

    *qp = (struct ibv_qp){.context = pd->context,
                          .pd = pd,
                          .send_cq = attr->send_cq,
                          .qp_num = 1000 + fake.n_qp,
                          .state = IBV_QPS_RESET};
    fake.n_qp++;
    return qp;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
    qp->state = IBV_QPS_ERR;
    fake.n_dropped++;
    return 0;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    struct ibv_qp_attr *to[] = {
        [IBV_QPS_INIT] = fake.init, [IBV_QPS_RTR] = fake.rtr, [IBV_QPS_RTS] = fake.rts};

    assert_true((mask & IBV_QP_STATE) != 0);
    assert_int_equal(attr->qp_state, qp->state + 1);
    if (attr->qp_state == IBV_QPS_RTR && fake.modify_err != 0)
        return fake.modify_err;
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

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    const struct ibv_sge *sge = wr->sg_list;
    uint8_t *own = within(sge->addr, sge->length, sge->lkey, false);
    uint8_t *far = within(wr->wr.rdma.remote_addr, sge->length, wr->wr.rdma.rkey, true);
    const bool reads = wr->opcode == IBV_WR_RDMA_READ;

    (void)bad;
    assert_int_equal(qp->state, IBV_QPS_RTS);
    memcpy(reads ? own : far, reads ? far : own, sge->length);
    if (fake.corrupt && reads && sge->length > 64)
        own[sge->length - 1] ^= 1;
    fake.largest = sge->length > fake.largest ? sge->length : fake.largest;
    if (++fake.posted <= fake.mute_from)
        fake.done[qp->send_cq - fake.cq]++;
    return 0;
}

static int poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
    unsigned *done = &fake.done[cq - fake.cq];

    assert_int_equal(n, 1);
    if (*done == 0)
        return 0;
    --*done;
    wc->status = fake.posted - *done == fake.fail_at ? fake.status : IBV_WC_SUCCESS;
    wc->vendor_err = 0;
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
    for (unsigned i = 0; i < N; i++) {
        (void)ni_format(fake.device[i].name, sizeof(fake.device[i].name), "mlx5_%u", i);
        fake.list[i] = &fake.device[i];
        fake.context[i].ops.post_send = post_send;
        fake.context[i].ops.poll_cq = poll_cq;
        fake.port[i].state = IBV_PORT_ACTIVE;
        fake.port[i].active_mtu = i == 0 ? IBV_MTU_4096 : IBV_MTU_1024;
        fake.port[i].lid = (uint16_t)(40 + i);
        fake.gid[i].gid.raw[10] = fake.gid[i].gid.raw[11] = 0xff;
        fake.gid[i].gid.raw[12] = 127; /* the datagram to it goes nowhere */
        fake.gid[i].gid.raw[15] = (uint8_t)(1 + i);
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
        expect(i, NI_ROLE_FROM, NI_PAIR_SMALL, 0, 0);
        expect(i, NI_ROLE_TO, NI_PAIR_SMALL, 0, 0);
        assert_true(task[i].rail.asked);
        assert_int_equal(task[i].rail.path_mtu, i == 0 ? 4096 : 1024);
        assert_int_equal(task[i].rail.pkey, 0x8002);
    }
    /* the second read what the first wrote, and the other way round */
    both(NI_WORK_MOVE);
    for (unsigned i = 0; i < N; i++) {
        const struct ni_pair_result *r = &task[i].result[NI_ROLE_FROM];

        expect(i, NI_ROLE_FROM, NI_PAIR_DONE, 0, 0);
        assert_true(r->latency_ns > 0 && r->slowest_ns >= r->latency_ns);
        assert_true(r->write_mbps > 0 && r->read_mbps > 0);
    }
    assert_in_range(fake.largest, 8192, 256 << 10); /* larger than any path MTU */
    /* another round has new queue pairs */
    both(NI_WORK_STOP);
    assert_int_equal(fake.n_dropped, N * 3);
    memset(task[0].result, 0, sizeof(task[0].result));
    memset(task[1].result, 0, sizeof(task[1].result));
    connect_both();
    assert_int_equal(task[0].own[NI_ROLE_FROM].qpn, 1004);
    both(NI_WORK_MOVE);
    expect(0, NI_ROLE_FROM, NI_PAIR_DONE, 0, 0);
}

static void test_connects(void **state)
{
    (void)state;
    connect_both();
    for (unsigned q = 0; q < 4; q++) { /* 0, 1: of the first pod, from and to */
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
        for (unsigned q = 0; q < 4; q++) {
            assert_int_equal(fake.rtr[q].ah_attr.dlid, q < 2 ? 41 : 40);
            assert_int_equal(fake.rtr[q].ah_attr.is_global, way != 0);
        }
        both(NI_WORK_MOVE);
        expect(1, NI_ROLE_FROM, NI_PAIR_DONE, 0, 0);
    }
}

static void test_another_answers(void **state)
{
    (void)state;
    connect_both();
    task[0].partner[NI_ROLE_FROM] = 9;
    both(NI_WORK_MOVE);
    expect(0, NI_ROLE_FROM, NI_PAIR_IDENTITY, 0, 0);
    expect(1, NI_ROLE_FROM, NI_PAIR_DONE, 0, 0);
}

static void test_wrong_bytes(void **state)
{
    (void)state;
    connect_both();
    fake.corrupt = true;
    ni_work_rail(&task[0], NI_WORK_MOVE, &states[0]);
    expect(0, NI_ROLE_FROM, NI_PAIR_COMPARE, 0, 0);
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
        expect(0, NI_ROLE_FROM, cases[i].step, 0, IBV_WC_RETRY_EXC_ERR);
    }
    setup(state);
    connect_both();
    fake.mute_from = 66;
    ni_work_rail(&task[0], NI_WORK_MOVE, &states[0]);
    expect(0, NI_ROLE_FROM, NI_PAIR_WRITE, ETIMEDOUT, 0);
}

static void test_does_not_come_so_far(void **state)
{
    (void)state;
    fake.modify_err = ENETUNREACH;
    connect_both();
    both(NI_WORK_MOVE);
    expect(0, NI_ROLE_FROM, NI_PAIR_CONNECT, ENETUNREACH, 0);
    setup(state);
    memset(&fake.gid[1], 0, sizeof(fake.gid[1]));
    connect_both();
    expect(1, NI_ROLE_TO, NI_PAIR_QUEUES, ENODATA, 0);
    setup(state);
    fake.port[0].state = IBV_PORT_DOWN;
    connect_both();
    expect(0, NI_ROLE_FROM, NI_PAIR_START, ENETDOWN, 0);
    assert_true(task[0].rail.asked);
    fake.port[0].state = IBV_PORT_ACTIVE; /* the next round opens it again */
    memset(task[0].result, 0, sizeof(task[0].result));
    ni_work_rail(&task[0], NI_WORK_QUEUES, &states[0]);
    expect(0, NI_ROLE_FROM, NI_PAIR_CONNECT, 0, 0);
}

static void test_untried(void **state)
{
    (void)state;
    fake.device[1].transport_type = IBV_TRANSPORT_IWARP;
    (void)strcpy(task[0].rail.hca, "efa_0");
    both(NI_WORK_OPEN);
    assert_non_null(strstr(task[0].rail.untried, "no provider"));
    assert_non_null(strstr(task[1].rail.untried, "iWARP"));
}

/* Without a time nothing is measured, but a large message goes there and back. */
static void test_unmeasured(void **state)
{
    (void)state;
    task[0].move_ms = 0;
    connect_both();
    ni_work_rail(&task[0], NI_WORK_MOVE, &states[0]);
    expect(0, NI_ROLE_FROM, NI_PAIR_DONE, 0, 0);
    assert_int_equal(task[0].result[NI_ROLE_FROM].write_mbps, 0);
    assert_true(fake.largest >= 8192);
    task[1].bytes = 3 << 20;
    ni_work_rail(&task[1], NI_WORK_MOVE, &states[1]);
    expect(1, NI_ROLE_FROM, NI_PAIR_DONE, 0, 0);
    assert_true(task[1].result[NI_ROLE_FROM].write_mbps > 0);
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
    };

    return cmocka_run_group_tests(tests, NULL, end);
}
