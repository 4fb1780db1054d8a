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

enum { MOST_PODS = 130, MOST_RAILS = 8, ROUNDS = 6, TIMED_OUT = 12 };

/* What is broken. */
enum fault_kind {
    PORT,     /* rail r of pod a reaches nobody */
    PATH,     /* rail r between a and b */
    SWITCH,   /* rail r of all pods */
    SLOW_IN,  /* rail r of pod a receives slowly */
    SLOW_OUT, /* ... sends slowly */
    DIES,     /* pod a, before round b */
    OWN,      /* rail r of pod a cannot make a queue pair */
    SILENT,   /* rail r of pod a never says how it went */
    FLAKY,    /* rail r between a and b, in the first round that tries it only */
    SLOW_ALL, /* everything at a fifth of its rate */
    FAULT_KINDS
};
struct fault {
    enum fault_kind kind;
    unsigned a, b, rail;
    int percent; /* of the speed */
};

struct world {
    struct ni_job job;
    struct ni_pod pod[MOST_PODS];
    struct ni_rail rail[MOST_PODS][MOST_RAILS];
    uint8_t missing[MOST_PODS], verdict[MOST_PODS * MOST_RAILS];
    struct ni_rail_tally tally[MOST_PODS * MOST_RAILS];
    struct ni_pair pair[MOST_PODS * MOST_RAILS];
    struct ni_pair_result result[MOST_PODS * MOST_RAILS * ROUNDS];
    struct ni_findings f;
    struct fault fault[4];
    unsigned n_fault;
    uint32_t seed;
};
static struct world w;

static unsigned draw(unsigned below)
{
    w.seed = w.seed * 1664525U + 1013904223U;
    return (w.seed >> 8) % below;
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
                            .cap_result = NI_COUNT(w.result),
                            .result = w.result,
                            .measured = true,
                            .tally = w.tally};
    for (unsigned p = 0; p < ranks; p++) {
        w.pod[p] = (struct ni_pod){.rank = p, .here = true, .transport = NI_NET_RDMA};
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

static void fails(struct ni_pair_result *x, enum ni_pair_step step, int err, int wc, bool silent)
{
    *x = (struct ni_pair_result){.pair = x->pair, .round = x->round, .step = step};
    x->err = err;
    x->wc = wc;
    x->silent = silent;
}

static void meets(const struct fault *k, struct ni_pair_result *x)
{
    const struct ni_pair *p = &x->pair;
    const bool rail = p->rail == k->rail, from = p->from == k->a, to = p->to == k->a;
    const bool between = (from && p->to == k->b) || (to && p->from == k->b);
    const bool first = x->round < (w.job.ranks > 3 ? 2U : 1U);
    if (k->kind == SLOW_ALL) {
        x->write_mbps = x->write_mbps * k->percent / 100;
        x->read_mbps = x->read_mbps * k->percent / 100;
    }
    if (k->kind == DIES && (from || to) && x->round >= k->b) {
        w.missing[k->a] = NI_POD_WENT_AWAY;
        fails(x, NI_PAIR_SMALL, 0, TIMED_OUT, false);
    }
    if (!rail || x->step != NI_PAIR_DONE)
        return;
    if (k->kind == SWITCH || (k->kind == PORT && (from || to)) || (k->kind == PATH && between) ||
        (k->kind == FLAKY && between && first))
        fails(x, k->percent & 1 ? NI_PAIR_SMALL : NI_PAIR_WRITE, 0, TIMED_OUT, false);
    if (k->kind == SILENT && (from || to)) {
        fails(x, NI_PAIR_SMALL, 0, from ? 0 : TIMED_OUT, from);
    }
    if (k->kind == OWN && (from || to)) {
        fails(x, NI_PAIR_QUEUES, ENOMEM, 0, false);
        x->at_to = to;
    }
    if (k->kind == SLOW_IN && to)
        x->write_mbps = x->write_mbps * k->percent / 100;
    if (k->kind == SLOW_IN && from)
        x->read_mbps = x->read_mbps * k->percent / 100;
    if (k->kind == SLOW_OUT && from)
        x->write_mbps = x->write_mbps * k->percent / 100;
    if (k->kind == SLOW_OUT && to)
        x->read_mbps = x->read_mbps * k->percent / 100;
}

/* Runs the rounds; each pod has at most one pair in each role and rail. */
static void run(void)
{
    static uint8_t busy[MOST_PODS][MOST_RAILS];
    struct ni_job *job = &w.job;
    for (;;) {
        const unsigned n = ni_next_round(job, w.pair, job->ranks * job->n_rail);
        const unsigned first = job->n_result;
        if (n == 0)
            break;
        assert_true(job->rounds < ROUNDS);
        memset(busy, 0, sizeof(busy));
        for (unsigned i = 0; i < n; i++) {
            const struct ni_pair *p = &w.pair[i];
            assert_true(p->from < job->ranks && p->to < job->ranks && p->rail < job->n_rail);
            assert_int_not_equal(p->from, p->to);
            assert_false(busy[p->from][p->rail] & 1 || busy[p->to][p->rail] & 2);
            busy[p->from][p->rail] |= 1;
            busy[p->to][p->rail] |= 2;
            assert_int_equal(w.missing[p->from] + w.missing[p->to], 0);
        }
        for (unsigned i = 0; i < n; i++) {
            struct ni_pair_result *x = &w.result[job->n_result++];
            const int64_t rate = w.rail[0][0].mbps.v;
            *x = (struct ni_pair_result){.pair = w.pair[i], .round = job->rounds};
            x->step = NI_PAIR_DONE;
            x->write_mbps = rate * 96 / 100 - draw((unsigned)(rate / 10));
            x->read_mbps = rate * 94 / 100 - draw((unsigned)(rate / 10));
            for (unsigned k = 0; k < w.n_fault; k++)
                meets(&w.fault[k], x);
        }
        /* as they come */
        for (unsigned i = first; i + 1 < job->n_result; i++) {
            const unsigned k = i + draw(job->n_result - i);
            const struct ni_pair_result x = w.result[i];
            w.result[i] = w.result[k];
            w.result[k] = x;
        }
        job->rounds++;
    }
    struct ni_policy policy = {.mode = NI_MODE_AUTO};
    ni_judge_rails(job, &policy, w.verdict, &w.f);
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

/* Several at once, of different rails or pods. */
static void many_faults(void **state)
{
    (void)state;
    for (unsigned trial = 0; trial < 1500; trial++) {
        const unsigned n = 8 + draw(MOST_PODS - 8), rails = 1 + draw(MOST_RAILS);
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
        cmocka_unit_test(all_good),    cmocka_unit_test(one_fault), cmocka_unit_test(many_faults),
        cmocka_unit_test(between_two), cmocka_unit_test(grouped),   cmocka_unit_test(slow_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
