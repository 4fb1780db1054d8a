/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of libibverbs and of data, injected: what a rail says of them. That rails which are well pass
   is the lab's to show (docs/dev/lab.md). Only where libibverbs is a shared library, which can be taken
   from in front. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/verbs.h"
#include "nccl_init/base.h"
#include "nccl_init/known.h"
#include "rail/rail.h"
#include "rail/step.h"
#include "rail/task.h"
#include <infiniband/verbs.h>

/* What an earlier round wrote there does not pass for what this one writes. */
static void test_lost_bytes(void **state)
{
    (void)state;
    connect_both();
    both(NI_WORK_MOVE);
    expect(0, NI_ROLE_INITIATOR, NI_PAIR_DONE, 0, 0);
    memset(task[0].result, 0, sizeof(task[0].result));
    memset(task[1].result, 0, sizeof(task[1].result));
    connect_both();
    assert_int_equal(fake.n_dropped, N * 3);
    fake.lost = true;
    ni_work_rail(&task[0], NI_WORK_MOVE, &states[0]);
    expect(0, NI_ROLE_INITIATOR, NI_PAIR_COMPARE, 0, 0);
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
        {1, NI_PAIR_SMALL}, {8, NI_PAIR_SMALL}, {9, NI_PAIR_IDENTITY}, {10, NI_PAIR_WRITE}};

    for (unsigned i = 0; i < NI_COUNT(cases); i++) {
        setup(state);
        connect_both();
        task[0].small = 8; /* 64 may take more than their second in a slow build */
        fake.fail_at = cases[i].at;
        fake.status = IBV_WC_RETRY_EXC_ERR;
        ni_work_rail(&task[0], NI_WORK_MOVE, &states[0]);
        expect(0, NI_ROLE_INITIATOR, cases[i].step, 0, IBV_WC_RETRY_EXC_ERR);
    }
    setup(state);
    connect_both();
    task[0].small = 8;
    fake.mute_from = 10;
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
        cmocka_unit_test_setup(test_lost_bytes, setup),
        cmocka_unit_test_setup(test_another_answers, setup),
        cmocka_unit_test_setup(test_wrong_bytes, setup),
        cmocka_unit_test_setup(test_fails, setup),
        cmocka_unit_test_setup(test_does_not_come_so_far, setup),
        cmocka_unit_test_setup(test_untried, setup),
        cmocka_unit_test_setup(test_queues, setup),
        cmocka_unit_test_setup(test_again, setup),
        cmocka_unit_test_setup(test_self_calls, setup),
        cmocka_unit_test_setup(test_self_fails, setup),
        cmocka_unit_test_setup(test_dmabuf, setup),
    };

    return cmocka_run_group_tests(tests, NULL, end);
}
