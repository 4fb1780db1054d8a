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

#include "nccl_init/job.h"

#include "../preflight/fabric.h"

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
                            .measured = true,
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
    return w.verdict[pod * w.job.n_rail + rail];
}

/* What the rail must have been found to be. */
static enum ni_rail_verdict expected(unsigned pod, unsigned rail)
{
    enum ni_rail_verdict ret = NI_RAIL_GOOD;
    for (unsigned i = 0; i < w.n_fault; i++) {
        const struct fault *k = &w.fault[i];
        if (k->kind == DIES && pod == k->a)
            return NI_RAIL_ABSENT;
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
        fprintf(stderr, "%s: %s: %s\n", ni_finding_kind(w.f.at[i].id)->id, w.f.at[i].subject,
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

static unsigned found(enum ni_finding_id id)
{
    unsigned n = 0;
    for (unsigned i = 0; i < w.f.n; i++)
        n += w.f.at[i].id == id;
    return n;
}

static void only(enum ni_finding_id id, unsigned n, const char *subject, const char *part)
{
    if (w.f.n != n || found(id) != n || (n > 0 && !strstr(w.f.at[0].subject, subject)) ||
        (n > 0 && !strstr(w.f.at[0].message, part))) {
        explain();
        fail_msg("not only %u of %s about %s", n, ni_finding_kind(id)->id, subject);
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
        only(NI_F_JOB_ALONE, 0, "", "");
        assert_int_equal(w.job.rounds, sizes[i] > 3 ? 2 : 1);
    }
}

/* One fault of each kind that a pod, a port or a path can have, in jobs of three pods and more. */
static void one_fault(void **state)
{
    static const struct {
        enum fault_kind kind;
        enum ni_finding_id id;
        int percent;
    } rows[] = {
        {PORT, NI_F_JOB_RAIL_FAILED, 1},    {PORT, NI_F_JOB_RAIL_FAILED, 0},
        {SILENT, NI_F_JOB_RAIL_FAILED, 0},  {OWN, NI_F_JOB_RAIL_FAILED, 0},
        {SWITCH, NI_F_JOB_RAIL_ALL, 1},     {SLOW_IN, NI_F_JOB_RAIL_SLOW, 10},
        {SLOW_OUT, NI_F_JOB_RAIL_SLOW, 25}, {SLOW_OUT, NI_F_JOB_RAIL_BELOW, 60},
        {DIES, NI_F_JOB_POD_LOST, 0},       {PATH, NI_F_JOB_PATH_FAILED, 0},
        {FLAKY, NI_F_JOB_PATH_UNSTEADY, 1},
    };
    (void)state;
    for (unsigned trial = 0; trial < 1500; trial++) {
        const size_t row = trial % NI_COUNT(rows);
        const unsigned n = sizes[1 + draw(NI_COUNT(sizes) - 1)], rails = 1 + draw(MOST_RAILS);
        const unsigned a = draw(n), rail = draw(rails);
        char subject[64] = "";
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
        else
            snprintf(subject, sizeof(subject), "rail %u of pod-%u (node-%u, mlx5_%u)", rail, a, a,
                     rail);
        only(rows[row].id, 1, subject, "");
    }
}

/* What its own device says of it in the second round says more than the dead path of the first. */
static void goes_down(void **state)
{
    (void)state;
    build(4, 2, 400000);
    w.fault[w.n_fault++] = (struct fault){DOWN, 3, 0, 1, 0};
    run();
    only(NI_F_JOB_RAIL_FAILED, 1, "rail 1 of pod-3", "cannot be used in its pod; ");
    only(NI_F_JOB_RAIL_FAILED, 1, "rail 1 of pod-3", "ENETDOWN");
}

/* Several at once, of different rails or pods. */
static void many_faults(void **state)
{
    (void)state;
    for (unsigned trial = 0; trial < 1500; trial++) {
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
    only(NI_F_JOB_PATH_FAILED, 1, "rail 1", "between pod-0 (node-0) and pod-1 (node-1)");
    assert_int_equal(verdict_of(0, 1), NI_RAIL_PATH);
    assert_int_equal(verdict_of(1, 0), NI_RAIL_GOOD);
    assert_int_equal(w.job.rounds, 2);

    build(2, 2, 400000);
    w.fault[w.n_fault++] = (struct fault){SLOW_IN, 1, 0, 1, 10};
    run();
    only(NI_F_JOB_RAIL_SLOW, 1, "rail 1", "between pod-0 (node-0) and pod-1 (node-1)");

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
    only(NI_F_JOB_RAIL_FAILED, 1, "rails 0-3 of pod-17 (node-17)", "reaches nobody");

    build(128, 8, 400000);
    for (unsigned p = 0; p < 128; p += 5) { /* 26 pods */
        for (unsigned r = 0; r < 8; r++)
            (void)snprintf(w.rail[p][r].untried, sizeof(w.rail[p][r].untried), "iWARP");
    }
    run();
    assert_int_equal(w.f.n, 8);
    assert_int_equal(found(NI_F_JOB_RAIL_UNTRIED), 8);
    assert_non_null(strstr(w.f.at[7].message, "in 26 pods in all: ranks 0, 5, 10"));

    build(128, 8, 400000);
    for (unsigned p = 0; p < 128; p++)
        (void)snprintf(w.rail[p][3].untried, sizeof(w.rail[p][3].untried), "iWARP");
    run();
    only(NI_F_JOB_RAIL_UNTRIED, 1, "rail 3", "in 128 of 128 pods");
}

/* A whole rail that is slow against the others; and all of them against their rate. */
static void slow_together(void **state)
{
    (void)state;
    build(16, 4, 400000);
    for (unsigned p = 0; p < 1; p++)
        w.fault[w.n_fault++] = (struct fault){SLOW_ALL, 0, 0, 0, 40};
    run();
    only(NI_F_JOB_RATE_LOW, 1, "all rails", "their rate 400.0 Gb/s");

    /* software RDMA varies by itself: six tenths of the median are told of hardware only */
    build(4, 1, 2500);
    w.fault[w.n_fault++] = (struct fault){SLOW_OUT, 1, 0, 0, 65};
    run();
    only(NI_F_JOB_ALONE, 0, "", "");
    build(4, 1, 2500);
    w.fault[w.n_fault++] = (struct fault){SLOW_OUT, 1, 0, 0, 30};
    run();
    only(NI_F_JOB_RAIL_SLOW, 1, "rail 0 of pod-1", "Gb/s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_good),      cmocka_unit_test(one_fault),   cmocka_unit_test(goes_down),
        cmocka_unit_test(many_faults),   cmocka_unit_test(between_two), cmocka_unit_test(grouped),
        cmocka_unit_test(slow_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
