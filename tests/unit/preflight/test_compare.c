/* SPDX-License-Identifier: Apache-2.0 */
/* Protects: of the pods of a job exactly the culprit is named, and nobody else, whatever is broken
   and however many there are. A fabric is simulated: the rounds ask for pairs, the fabric says how
   they went, the judge names. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../preflight/fabric.h"
#include "findings/job.h"
#include "lib/trials.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/ip.h"
#include "nccl_init/known.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "preflight/compare.h"
#include "preflight/job.h"
#include "preflight/rounds.h"
#include "rail/step.h"

/* SoftRoCE */
static void soften(void)
{
    for (unsigned p = 0; p < w.job.ranks; p++)
        w.rail[p][0].software = true;
}

static void build(unsigned ranks, unsigned rails, int64_t mbps)
{
    const uint32_t seed = w.seed;
    memset(&w, 0, sizeof(w));
    w.seed = seed;
    w.job = (struct ni_job){.ranks = ranks,
                            .pod = w.pod,
                            .missing = w.missing,
                            .n_rail = rails,
                            .result = w.result,
                            .circle = w.circle,
                            .tally = w.tally};
    for (unsigned p = 0; p < ranks; p++) {
        w.pod[p] = (struct ni_pod){.here = true, .transport = NI_NET_RDMA};
        w.pod[p].n_rail = rails;
        w.pod[p].rail = w.rail[p];
        snprintf(w.pod[p].host, NI_POD_NAME, "pod-%u", p);
        snprintf(w.pod[p].node, NI_POD_NAME, "node-%u", p);
        for (unsigned r = 0; r < rails; r++) {
            w.rail[p][r] = (struct ni_rail){.port = 1, .link = NI_LINK_ROCE, .v2 = true};
            w.rail[p][r].mbps = (struct ni_num){mbps, NI_KNOWN};
            snprintf(w.rail[p][r].hca, NI_DEV_NAME, "mlx5_%u", r);
            ni_ip_from_v4(0x0a000000U + (r << 16) + p, w.rail[p][r].gid);
        }
    }
}

static enum ni_rail_verdict verdict_of(unsigned pod, unsigned rail)
{
    return w.tally[pod * w.job.n_rail + rail].verdict;
}

/* What the rail must have been found to be. */
static enum ni_rail_verdict expected(unsigned pod, unsigned rail)
{
    enum ni_rail_verdict ret = NI_RAIL_GOOD;
    for (unsigned i = 0; i < w.n_fault; i++) {
        const struct fault *k = &w.fault[i];
        if (k->kind == DIES && pod == k->a)
            return NI_RAIL_GONE;
        if (rail != k->rail)
            continue;
        if (k->kind == SWITCH ||
            ((k->kind == PORT || k->kind == OWN || k->kind == SILENT) && pod == k->a))
            ret = NI_RAIL_FAILED;
        if (k->kind == PATH && (pod == k->a || pod == k->b))
            ret = NI_RAIL_PATH;
        if ((k->kind == SLOW_IN || k->kind == SLOW_OUT) && pod == k->a)
            ret = NI_RAIL_SLOW;
    }
    return ret;
}

static void explain(void)
{
    fprintf(stderr, "%u pods, %u rails\n", w.job.ranks, w.job.n_rail);
    for (unsigned i = 0; i < w.n_fault; i++)
        fprintf(stderr, "fault %d: a %u b %u rail %u percent %d\n", (int)w.fault[i].kind,
                w.fault[i].a, w.fault[i].b, w.fault[i].rail, w.fault[i].percent);
    for (unsigned i = 0; i < w.f.n; i++)
        fprintf(stderr, "%s: %s: %s\n", ni_finding_id(w.f.at[i].id), w.f.at[i].subject,
                w.f.at[i].message);
}

static void check_verdicts(void)
{
    for (unsigned p = 0; p < w.job.ranks; p++) {
        for (unsigned r = 0; r < w.job.n_rail; r++) {
            if (verdict_of(p, r) != expected(p, r)) {
                explain();
                fail_msg("rail %u of pod %u: %d, not %d", r, p, (int)verdict_of(p, r),
                         (int)expected(p, r));
            }
        }
    }
    if (w.f.n > 20) {
        explain();
        fail_msg("%u findings", w.f.n);
    }
}

static unsigned found(ni_finding_number id)
{
    unsigned n = 0;
    for (unsigned i = 0; i < w.f.n; i++)
        n += w.f.at[i].id == id;
    return n;
}

static void only(ni_finding_number id, unsigned n, const char *subject, const char *part)
{
    if (w.f.n != n || found(id) != n || (n > 0 && !strstr(w.f.at[0].subject, subject)) ||
        (n > 0 && !strstr(w.f.at[0].message, part))) {
        explain();
        fail_msg("not only %u of %s about %s", n, ni_finding_id(id), subject);
    }
}

static const unsigned sizes[] = {2, 3, 4, 5, 17, 128};

static void all_good(void **state)
{
    (void)state;
    for (size_t i = 0; i < NI_COUNT(sizes); i++) {
        build(sizes[i], 1 + (unsigned)i, 400000);
        run();
        check_verdicts();
        assert_int_equal(w.f.n, 0);
        assert_int_equal(w.job.rounds, sizes[i] > 3 ? 2 : 1);
    }
}

/* One fault of each kind that a pod, a port or a path can have, in jobs of three pods and more. */
static void one_fault(void **state)
{
    static const struct {
        enum fault_kind kind;
        ni_finding_number id;
        int percent;
    } rows[] = {
        {PORT, NI_F_JOB_RAIL_FAILED, 1},    {PORT, NI_F_JOB_RAIL_FAILED, 0},
        {SILENT, NI_F_JOB_RAIL_FAILED, 0},  {OWN, NI_F_JOB_RAIL_FAILED, 0},
        {SWITCH, NI_F_JOB_RAIL_ALL, 1},     {SLOW_IN, NI_F_JOB_RAIL_SLOW, 10},
        {SLOW_OUT, NI_F_JOB_RAIL_SLOW, 25}, {SLOW_OUT, NI_F_JOB_RAIL_SLOW, 60},
        {DIES, NI_F_JOB_POD_LOST, 0},       {PATH, NI_F_JOB_PATH_FAILED, 0},
        {FLAKY, NI_F_JOB_PATH_UNSTEADY, 1},
    };
    (void)state;
    for (unsigned trial = 0; trial < TRIALS(1500); trial++) {
        const size_t row = trial % NI_COUNT(rows);
        const unsigned n = sizes[1 + draw(NI_COUNT(sizes) - 1)], rails = 1 + draw(MOST_RAILS);
        const unsigned a = draw(n), rail = draw(rails);
        char subject[64] = "", part[64] = "";
        build(n, rails, 400000);
        /* paths of the pairs that are tried: the neighbours, and half of the job away */
        const unsigned b = (a + (n > 3 && draw(2) ? n / 2 : 1)) % n;
        w.fault[w.n_fault++] = (struct fault){rows[row].kind, a, b, rail, rows[row].percent};
        if (rows[row].kind == DIES)
            w.fault[0].b = draw(n > 3 ? 2 : 1);
        run();
        if (n == 3 && (rows[row].kind == PATH || rows[row].kind == FLAKY)) {
            if (found(rows[row].id) != 1)
                explain();
            assert_int_equal(found(rows[row].id), 1);
            continue;
        }
        check_verdicts();
        if (rows[row].kind == PATH || rows[row].kind == FLAKY || rows[row].kind == SWITCH)
            snprintf(subject, sizeof(subject), "rail %u", rail);
        else if (rows[row].kind == DIES)
            snprintf(subject, sizeof(subject), "pod-%u (node-%u)", a, a);
        else {
            snprintf(subject, sizeof(subject), "rail %u (mlx5_%u)", rail, rail);
            snprintf(part, sizeof(part), "pod-%u (node-%u): ", a, a);
        }
        only(rows[row].id, 1, subject, part);
    }
}

/* What its own device says of it in the second round says more than the dead path of the first. */
static void goes_down(void **state)
{
    (void)state;
    build(4, 2, 400000);
    w.fault[w.n_fault++] = (struct fault){DOWN, 3, 0, 1, 0};
    run();
    only(NI_F_JOB_RAIL_FAILED, 1, "rail 1 (mlx5_1)", "pod-3 (node-3): cannot be used in its pod; ");
    only(NI_F_JOB_RAIL_FAILED, 1, "rail 1 (mlx5_1)", "ENETDOWN");
}

/* "find" says nothing to who reads it: what it means is told. */
static void not_listed(void **state)
{
    (void)state;
    build(4, 2, 400000);
    w.fault[w.n_fault++] = (struct fault){OWN, 3, 0, 1, 1};
    run();
    only(NI_F_JOB_RAIL_FAILED, 1, "rail 1 (mlx5_1)",
         "find: ENODEV: libibverbs does not list the HCA");
}

/* Several at once, of different rails or pods. */
static void many_faults(void **state)
{
    (void)state;
    for (unsigned trial = 0; trial < TRIALS(1500); trial++) {
        const unsigned n = 8 + draw(122), rails = 1 + draw(MOST_RAILS);
        build(n, rails, 400000);
        w.n_fault = 2 + draw(3);
        for (unsigned i = 0; i < w.n_fault; i++) {
            static const enum fault_kind kinds[] = {PORT,     SILENT, OWN, SLOW_IN,
                                                    SLOW_OUT, DIES,   PATH};
            /* pods that are no partners of each other's in the full rounds */
            const unsigned a = i * (n / w.n_fault / 2 > 1 ? 2 : 1);
            w.fault[i] = (struct fault){kinds[draw(7)], a, (a + 1) % n, draw(rails), 10};
            if (w.fault[i].kind == DIES)
                w.fault[i].b = draw(2);
            if (w.fault[i].kind == PATH && i + 1 < w.n_fault)
                w.fault[i].kind = PORT;
            if (w.fault[i].kind == PATH && (a + 1) % n == w.fault[0].a)
                w.fault[i].kind = OWN;
        }
        run();
        check_verdicts();
    }
}

/* With two pods nobody can say which. */
static void between_two(void **state)
{
    (void)state;
    build(2, 2, 400000);
    w.fault[w.n_fault++] = (struct fault){PORT, 1, 0, 1, 1};
    run();
    only(NI_F_JOB_PATH_FAILED, 1, "rail 1", "between two pods (either may be at fault): pod-");
    assert_int_equal(verdict_of(0, 1), NI_RAIL_PATH);
    assert_int_equal(verdict_of(1, 0), NI_RAIL_GOOD);
    assert_int_equal(w.job.rounds, 2);

    build(2, 2, 400000);
    w.fault[w.n_fault++] = (struct fault){SLOW_IN, 1, 0, 1, 10};
    run();
    only(NI_F_JOB_RAIL_SLOW, 1, "rail 1", "between two pods (either may be at fault): pod-");

    /* but what could not be made in one pod is that pod's */
    build(2, 2, 400000);
    w.fault[w.n_fault++] = (struct fault){OWN, 1, 0, 1, 0};
    run();
    assert_int_equal(found(NI_F_JOB_RAIL_FAILED), 1);
    assert_int_equal(verdict_of(1, 1), NI_RAIL_FAILED);
    assert_int_equal(verdict_of(0, 1), NI_RAIL_UNTRIED);
}

/* All rails of a pod are one finding; many pods are a few. */
static void grouped(void **state)
{
    (void)state;
    build(64, 4, 400000);
    for (unsigned r = 0; r < 4; r++)
        w.fault[w.n_fault++] = (struct fault){PORT, 17, 0, r, 1};
    run();
    only(NI_F_JOB_RAIL_FAILED, 1, "rails 0-3", "pod-17 (node-17): reaches nobody");

    build(128, 8, 400000);
    for (unsigned p = 0; p < 128; p += 5) { /* 26 pods */
        for (unsigned r = 0; r < 8; r++)
            (void)snprintf(w.rail[p][r].untried, sizeof(w.rail[p][r].untried), "iWARP");
    }
    run();
    only(NI_F_JOB_RAIL_UNTRIED, 1, "rails 0-7",
         "pod-0 (node-0), pod-5 (node-5) and 24 more: was not tried");

    build(128, 8, 400000);
    for (unsigned p = 0; p < 128; p++)
        (void)snprintf(w.rail[p][3].untried, sizeof(w.rail[p][3].untried), "iWARP");
    run();
    only(NI_F_JOB_RAIL_UNTRIED, 1, "rail 3", "and 126 more: ");
}

/* A whole rail that is slow against the others; and all of them against their rate. */
static void slow_together(void **state)
{
    (void)state;
    build(16, 4, 400000);
    w.fault[w.n_fault++] = (struct fault){SLOW_ALL, 0, 0, 0, 40};
    run();
    only(NI_F_JOB_RATE_LOW, 1, "all rails", "% of their rate");
    build(4, 1, 10000);
    w.fault[w.n_fault++] = (struct fault){SLOW_ALL, 0, 0, 0, 40};
    run();
    only(NI_F_JOB_RATE_LOW, 1, "all rails", "% of their rate");
    build(4, 1, 10000);
    w.fault[w.n_fault++] = (struct fault){SLOW_OUT, 1, 0, 0, 65};
    run();
    only(NI_F_JOB_RAIL_SLOW, 1, "rail 0 (mlx5_0)", "pod-1 (node-1): sends at most ");

    /* software RDMA varies by itself: six tenths of the median are told of hardware only */
    build(4, 1, 10000); /* of a veth */
    soften();
    w.fault[w.n_fault++] = (struct fault){SLOW_ALL, 0, 0, 0, 40};
    w.fault[w.n_fault++] = (struct fault){SLOW_OUT, 1, 0, 0, 65};
    run();
    assert_int_equal(w.f.n, 0);
    build(4, 1, 2500);
    soften();
    w.fault[w.n_fault++] = (struct fault){SLOW_OUT, 1, 0, 0, 30};
    run();
    only(NI_F_JOB_RAIL_SLOW, 1, "rail 0 (mlx5_0)", "pod-1 (node-1): sends at most ");
}

/* Of ports with an unknown rate nothing is said of it, and they are no measure of the others. */
static void unknown_rate(void **state)
{
    (void)state;
    for (unsigned lacking = 1; lacking <= 4; lacking += 3) {
        build(4, 1, 100000);
        for (unsigned p = 0; p < lacking; p++)
            w.rail[p][0].mbps = (struct ni_num){.known = NI_BAD};
        w.fault[w.n_fault++] = (struct fault){SLOW_ALL, 0, 0, 0, 10};
        w.fault[w.n_fault++] = (struct fault){SLOW_ALL, 0, 0, 0, 5};
        run();
        only(NI_F_JOB_RATE_LOW, lacking < 4, "all rails", "the median is 0 % of their rate");
    }
    for (unsigned lacking = 1; lacking <= 4; lacking += 3) { /* 1 and 4 are partners of 5 */
        build(8, 1, 400000);
        w.rail[lacking][0].mbps = (struct ni_num){.known = NI_BAD};
        w.fault[w.n_fault++] = (struct fault){SLOW_OUT, 5, 0, 0, 30};
        run();
        only(NI_F_JOB_RAIL_SLOW, 1, "rail 0 (mlx5_0)", "pod-5 (node-5): sends at most ");
    }
    build(3, 1, 400000); /* one pair is measured, which does not tell whose fault it is */
    w.rail[2][0].mbps = (struct ni_num){.known = NI_BAD};
    w.fault[w.n_fault++] = (struct fault){SLOW_OUT, 0, 0, 0, 30};
    run();
    assert_int_equal(found(NI_F_JOB_RAIL_SLOW), 0);
}

static void place(unsigned pod, unsigned subnet)
{
    ni_ip_from_v4(0x0a000000U + (subnet << 8) + pod + 1, w.rail[pod][0].gid);
}

static void route(unsigned pod, unsigned subnet)
{
    struct ni_subnet s = {.bits = 120};
    ni_ip_from_v4(0x0a000000U + (subnet << 8), s.ip);
    w.rail[pod][0].subnet[w.rail[pod][0].n_subnet++] = s;
}

/* Each pod has a subnet of its own, routed; the odd one's is not, whichever rank it has. */
static void own_subnets(void **state)
{
    (void)state;
    for (unsigned odd = 0; odd < 6; odd += 5) {
        build(6, 1, 400000);
        for (unsigned p = 0; p < 6; p++) {
            place(p, p);
            route(p, p);
            if (p != odd)
                w.rail[p][0].subnet[w.rail[p][0].n_subnet++] =
                    (struct ni_subnet){.ip = {[10] = 0xff, 0xff, 10}, .bits = 104};
        }
        ni_ip_from_v4(0xc0a80101U, w.rail[odd][0].gid);
        ni_ip_from_v4(0xc0a80100U, w.rail[odd][0].subnet[0].ip);
        ni_compare_pods(&w.job, &w.policy, &w.f);
        only(NI_F_JOB_SUBNET_DIFFERS, 1, "rail 0",
             odd ? "192.168.1.0/24 on pod-5" : "192.168.1.0/24 on pod-0");
    }
}

/* A pod with another link layer hides no other disagreement, and has no MTU of theirs. */
static void foreign_pod(void **state)
{
    (void)state;
    for (unsigned p = 0; p < 6; p += 5) {
        build(6, 1, 400000);
        for (unsigned i = 0; i < 6; i++)
            w.rail[i][0].netdev_mtu = (struct ni_num){i == 3 ? 1500 : 9000, NI_KNOWN};
        w.rail[p][0].link = NI_LINK_IB;
        w.rail[p][0].path_mtu = 4096;
        w.rail[4][0].mbps.v = 100000;
        ni_compare_pods(&w.job, &w.policy, &w.f);
        assert_int_equal(found(NI_F_JOB_LINK_DIFFERS), 1);
        assert_int_equal(found(NI_F_JOB_MTU_DIFFERS), 1);
        assert_int_equal(found(NI_F_JOB_RATE_DIFFERS), 1);
        for (unsigned i = 0; i < w.f.n; i++)
            if (w.f.at[i].id == NI_F_JOB_MTU_DIFFERS)
                assert_non_null(strstr(w.f.at[i].message, "9000 on 4 others"));
    }
}

/* One pod has routes to two subnets, which have none to each other. */
static void hub_of_subnets(void **state)
{
    (void)state;
    for (unsigned hub = 0; hub < 6; hub += 5) {
        const unsigned odd = 5 - hub;
        build(6, 1, 400000);
        for (unsigned p = 0; p < 6; p++) {
            const unsigned own = p == hub ? 1 : p == odd ? 3 : 2;
            place(p, own);
            route(p, own);
            if (p != hub)
                route(p, 1);
        }
        route(hub, 2);
        route(hub, 3);
        ni_compare_pods(&w.job, &w.policy, &w.f);
        only(NI_F_JOB_SUBNET_DIFFERS, 1, "rail 0",
             odd ? "10.0.3.0/24 on pod-5" : "10.0.3.0/24 on pod-0");
    }
}

/* More pairs fail, of pods half the job apart both ways, than pods have a word for; one that passed
   again is told although both are slow. */
static void paths(void **state)
{
    static const unsigned pairs[][2] = {{1, 2}, {2, 8}, {1, 7}, {7, 8}};
    (void)state;
    build(12, 1, 400000);
    for (size_t i = 0; i < NI_COUNT(pairs); i++)
        w.fault[w.n_fault++] = (struct fault){PATH, pairs[i][0], pairs[i][1], 0, 1};
    run();
    only(NI_F_JOB_PATH_FAILED, 1, "rail 0", "; 6 pairs in all");
    build(8, 1, 400000);
    w.fault[w.n_fault++] = (struct fault){FLAKY, 1, 2, 0, 1};
    w.fault[w.n_fault++] = (struct fault){SLOW_OUT, 1, 0, 0, 30};
    w.fault[w.n_fault++] = (struct fault){SLOW_OUT, 2, 0, 0, 30};
    run();
    assert_int_equal(found(NI_F_JOB_PATH_UNSTEADY), 1);
}

/* A pod that has fewer rails than others says why; one that has as many is not asked. */
static void left_out(void **state)
{
    static struct ni_pod_setting setting[6];
    (void)state;
    build(6, 2, 400000);
    for (unsigned p = 0; p < 6; p++) {
        w.pod[p].setting = &setting[p];
        w.pod[p].n_setting = 1;
        setting[p] = (struct ni_pod_setting){"rails", "2"};
        strcpy(w.pod[p].left_out, "mlx5_9/1: not in --hcas");
    }
    ni_compare_pods(&w.job, &w.policy, &w.f);
    only(NI_F_JOB_RAILS_DIFFER, 0, "", "");
    strcpy(setting[4].value, "1");
    w.rail[4][0].gap = true; /* aligned */
    strcpy(w.pod[4].left_out, "mlx5_0/1: port is DOWN");
    ni_compare_pods(&w.job, &w.policy, &w.f);
    only(NI_F_JOB_RAILS_DIFFER, 1, "rails",
         "1 on pod-4 (node-4), 2 on 5 others; pod-4 (node-4) left out mlx5_0/1: port is DOWN");
    memset(&w.f, 0, sizeof(w.f));
    w.pod[4].left_out[0] = '\0';
    ni_compare_pods(&w.job, &w.policy, &w.f);
    only(NI_F_JOB_RAILS_DIFFER, 1, "rails", "1 on pod-4 (node-4), 2 on 5 others");
    assert_null(strstr(w.f.at[0].message, "left out"));
    /* the first with too few says nothing, but another does */
    memset(&w.f, 0, sizeof(w.f));
    strcpy(setting[1].value, "1");
    w.rail[1][0].gap = true;
    w.pod[1].left_out[0] = '\0';
    strcpy(w.pod[4].left_out, "mlx5_0/1: port is DOWN");
    ni_compare_pods(&w.job, &w.policy, &w.f);
    only(NI_F_JOB_RAILS_DIFFER, 1, "rails",
         "1 on pod-1 (node-1), pod-4 (node-4), 2 on 4 others; pod-4 (node-4) left out mlx5_0/1: "
         "port "
         "is DOWN");
}

/* Two bad paths are named, and the others counted: one of them is not many. */
static void counted_paths(void **state)
{
    static const char *const more[] = {"", "", ", and 1 more pair; ", ", and 2 more pairs; "};
    (void)state;
    for (unsigned n = 1; n <= NI_COUNT(more); n++) {
        build(16, 1, 400000);
        for (unsigned i = 0; i < n; i++)
            w.fault[w.n_fault++] = (struct fault){QUEUE_BROKEN, 3 * i, 3 * i + 1, 0, 0};
        run();
        only(NI_F_JOB_PATH_BROKEN, 1, "rail 0", more[n - 1]);
    }
}

/* Each test draws the same numbers, whatever ran before it. */
static int reset(void **state)
{
    (void)state;
    w.seed = 0;
    return 0;
}

/* Numbers the pods so that the leaf of rank p is p % leaves. */
static void label(unsigned leaves)
{
    for (unsigned p = 0; p < w.job.ranks; p++)
        snprintf(w.pod[p].leaf, NI_POD_NAME, "leaf-%u", p % leaves);
}

static unsigned count_far(unsigned leaves)
{
    unsigned n = 0;

    for (unsigned i = 0; i < w.job.n_result; i++)
        n += w.result[i].pair.from % leaves != w.result[i].pair.to % leaves;
    return n;
}

/* In the first round pods of one leaf are neighbours, whatever their ranks: no pair
   leaves it. Labels tell the leaf, or subnets, which it routes. Without either ranks are the order. */
static void leaf_first(void **state)
{
    enum { PODS = 32, LEAVES = 4 };
    (void)state;
    build(PODS, 2, 400000);
    label(LEAVES);
    assert_true(ni_next_round(&w.job));
    assert_int_equal(w.job.n_result, 2 * PODS);
    assert_int_equal(count_far(LEAVES), 0);

    build(PODS, 1, 400000);
    for (unsigned p = 0; p < PODS; p++) {
        place(p, p % LEAVES);
        for (unsigned s = 0; s < LEAVES; s++)
            route(p, s);
    }
    assert_true(ni_next_round(&w.job));
    assert_int_equal(count_far(LEAVES), 0);

    build(PODS, 1, 400000);
    assert_true(ni_next_round(&w.job));
    for (unsigned p = 0; p < PODS; p++)
        assert_int_equal(w.result[p].pair.to, (p + 1) % PODS);
}

/* Pairs between leaves have 45 % of their rate: a port at half of it is found, with its partners at
   its leaf, and nobody else is blamed. Nor is a healthy pod that is alone at its leaf. */
static void thin_spine(void **state)
{
    (void)state;
    for (unsigned trial = 0; trial < TRIALS(200); trial++) {
        const unsigned n = 8 + draw(121), leaves = 2 + draw(n / 4), a = draw(n);

        build(n, 1, 400000);
        label(leaves);
        strcpy(w.pod[(a + 1) % n].leaf, "leaf-alone");
        if (trial % 4 > 0)
            w.fault[w.n_fault++] = (struct fault){SLOW_IN, a, 0, 0, 50};
        w.fault[w.n_fault++] = (struct fault){THIN, 0, 0, 0, 45};
        run();
        if (trial % 4 == 0) {
            assert_int_equal(found(NI_F_JOB_RAIL_SLOW) + found(NI_F_JOB_PATH_SLOW), 0);
            continue;
        }
        char name[32];

        snprintf(name, sizeof(name), "pod-%u (node-%u): ", a, a);
        only(NI_F_JOB_RAIL_SLOW, 1, "rail 0 (mlx5_0)", name);
    }
}

/* Below the same fabric a starved pod shows with its partners at its leaf alone; no leaf is blamed. */
static void thin_spine_starved(void **state)
{
    (void)state;
    for (unsigned trial = 0; trial < TRIALS(200); trial++) {
        const unsigned n = 8 + draw(121), leaves = 2 + draw(n / 4), a = draw(n);
        char name[32];

        build(n, 1, 400000);
        label(leaves);
        w.fault[w.n_fault++] = (struct fault){STARVED, a, 0, 0, 25};
        w.fault[w.n_fault++] = (struct fault){THIN, 0, 0, 0, 45};
        run();
        snprintf(name, sizeof(name), "pod-%u (node-%u)", a, a);
        only(NI_F_JOB_POD_SLOW, 1, name, "");
    }
}

/* A partner with a slower port does not hide a port at half its rate, and is not blamed. */
static void generations(void **state)
{
    (void)state;
    for (unsigned trial = 0; trial < TRIALS(200); trial++) {
        const unsigned n = 8 + draw(121), a = 2 * draw(n / 2);
        char name[32];

        build(n, 1, 400000);
        for (unsigned p = 1; p < n; p += 2)
            w.rail[p][0].mbps.v = 200000;
        w.fault[w.n_fault++] = (struct fault){HALF_PORT, a, 0, 0, 0};
        run();
        snprintf(name, sizeof(name), "pod-%u (node-%u): ", a, a);
        only(NI_F_JOB_RAIL_SLOW, 1, "rail 0 (mlx5_0)", name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(all_good, reset),
        cmocka_unit_test_setup(one_fault, reset),
        cmocka_unit_test_setup(goes_down, reset),
        cmocka_unit_test_setup(many_faults, reset),
        cmocka_unit_test_setup(between_two, reset),
        cmocka_unit_test_setup(grouped, reset),
        cmocka_unit_test_setup(slow_together, reset),
        cmocka_unit_test_setup(unknown_rate, reset),
        cmocka_unit_test_setup(not_listed, reset),
        cmocka_unit_test_setup(foreign_pod, reset),
        cmocka_unit_test_setup(hub_of_subnets, reset),
        cmocka_unit_test_setup(own_subnets, reset),
        cmocka_unit_test_setup(paths, reset),
        cmocka_unit_test_setup(counted_paths, reset),
        cmocka_unit_test_setup(left_out, reset),
        cmocka_unit_test_setup(leaf_first, reset),
        cmocka_unit_test_setup(thin_spine, reset),
        cmocka_unit_test_setup(generations, reset),
        cmocka_unit_test_setup(thin_spine_starved, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
