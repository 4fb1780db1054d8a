/* SPDX-License-Identifier: Apache-2.0 */
/* What the lab has not: InfiniBand, links of 400 Gb/s, what queue pairs are set to. Only where libibverbs
   is a shared library. */
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "lib/verbs.h"
#include "nccl_init/base.h"
#include "nccl_init/rdma.h"
#include "rail/rail.h"
#include "rail/step.h"
#include "rail/task.h"
#include <infiniband/verbs.h>

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

/* A process that got no processor for longer than a completion may take: it came meanwhile, and was not
   late. */
static void test_stands_still(void **state)
{
    const struct ni_pair_result *r = &task[0].result[NI_ROLE_INITIATOR];

    (void)setup(state);
    connect_both();
    fake.rate = 1;
    fake.rtt_ns = 20000;
    fake.stands_ns = INT64_C(3000000000);
    ni_work_rail(&task[0], NI_WORK_MOVE, &states[0]);
    fake.rate = 0;
    assert_int_equal(fake.stands_ns, 0);
    expect(0, NI_ROLE_INITIATOR, NI_PAIR_DONE, 0, 0);
    assert_true(r->queue[0].slowest_ns < 1000000);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_connects, setup),
        cmocka_unit_test_setup(test_infiniband, setup),
        cmocka_unit_test_setup(test_has_an_end, setup),
        cmocka_unit_test_setup(test_rate, setup),
        cmocka_unit_test_setup(test_slow_link, setup),
        cmocka_unit_test_setup(test_stands_still, setup),
        cmocka_unit_test_setup(test_self_sizes, setup),
        cmocka_unit_test_setup(test_self_touches_little, setup),
    };

    return cmocka_run_group_tests(tests, NULL, end);
}
