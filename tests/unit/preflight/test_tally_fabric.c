/* SPDX-License-Identifier: Apache-2.0 */
/* Protects: the model of a fabric, by which the judge of paths is measured, is what it says: no link
   carries more than it can, rates are max-min fair, the hash is uniform, a seed gives the same job again,
   and where nothing is in the way all get the full rate. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../../preflight/two_tier.h"

#define CLOSE 1e-9

static struct net net; /* large: not on the stack */
static struct flow flows[NET_FLOWS], again[NET_FLOWS];
static double used[NET_LINKS], most[NET_LINKS];

/* A round in which each writes to the one `ahead`, by so many queue pairs; how many flows. */
static unsigned make_round(unsigned pods, unsigned ahead, unsigned queues, struct flow *flow)
{
    unsigned n = 0;

    for (unsigned p = 0; p < pods; p++)
        for (unsigned q = 0; q < queues; q++)
            flow[n++] =
                (struct flow){.from = p, .to = (p + ahead) % pods, .queue = p * NET_QUEUES + q};
    return n;
}

/* One of many jobs, healthy and not. */
static unsigned make_job(unsigned i, struct flow *flow)
{
    static const struct shape shapes[] = {{64, 32, 32, 32, .places = 0},
                                          {100, 32, 32, 32, .places = 0},
                                          {96, 16, 8, 8, .places = 0},
                                          {256, 32, 32, 8, .places = 0},
                                          {64, 32, 32, 1, .places = 0}};
    const struct shape *s = &shapes[i % 5];
    unsigned n;

    build_net(&net, s, i % 2, i);
    net.packets = 3e6;
    net.fault = (struct fault){.kind = (enum fault_kind)(i % FAULT_KINDS),
                               .leaf = i % net.leaves,
                               .uplink = i % s->uplinks,
                               .place = i % s->pods,
                               .ways = 1 + i % 3,
                               .part = i % FAULT_KINDS == LOSSY ? 0.01 : 0.1};
    n = make_round(s->pods, 1 + i % (s->pods - 1), 1 + i % 8, flow);
    move_flows(&net, flow, n);
    return n;
}

static void add_up(unsigned n)
{
    memset(used, 0, sizeof(used));
    memset(most, 0, sizeof(most));
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < flows[i].hops; k++) {
            const unsigned link = flows[i].link[k];

            used[link] += flows[i].rate;
            most[link] = flows[i].rate > most[link] ? flows[i].rate : most[link];
        }
}

enum { JOBS = 60 };

static void no_link_carries_more_than_it_can(void **state)
{
    (void)state;
    for (unsigned j = 0; j < JOBS; j++) {
        add_up(make_job(j, flows));
        for (unsigned link = 0; link < NET_LINKS; link++)
            if (used[link] > capacity_of(&net, link) + CLOSE)
                fail_msg("job %u: link %u carries %f", j, link, used[link]);
    }
}

/* Each flow crosses a full link on which none gets more, or is limited itself: then no rate can grow
   unless a smaller one, or one as small, sinks. */
static void rates_are_max_min_fair(void **state)
{
    (void)state;
    for (unsigned j = 0; j < JOBS; j++) {
        const unsigned n = make_job(j, flows);

        add_up(n);
        for (unsigned i = 0; i < n; i++) {
            const struct flow *f = &flows[i];
            bool held = f->dead || (f->limit > 0 && f->rate >= f->limit - CLOSE);

            for (unsigned k = 0; k < f->hops; k++) {
                const unsigned link = f->link[k];

                held = held || (used[link] >= capacity_of(&net, link) - CLOSE &&
                                f->rate >= most[link] - CLOSE);
            }
            if (!held || (f->rate <= 0 && !f->dead))
                fail_msg("job %u: flow %u has %f, and could have more", j, i, f->rate);
        }
    }
}

/* Pearson's statistic: with d degrees of freedom d in the mean, and a deviation of sqrt(2 d). */
static void must_be_even(const unsigned *count, unsigned cells, unsigned draws, const char *what)
{
    const double mean = (double)draws / cells, d = cells - 1;
    double sum = 0;

    for (unsigned i = 0; i < cells; i++)
        sum += (count[i] - mean) * (count[i] - mean) / mean;
    if (fabs(sum - d) > 5 * sqrt(2 * d))
        fail_msg("%s: %f where %f is even", what, sum, d);
}

static void the_hash_is_uniform(void **state)
{
    enum { UPLINKS = 32, DRAWS = 200000 };
    static unsigned up[UPLINKS], down[UPLINKS], both[UPLINKS * UPLINKS];
    static const struct shape shapes[] = {{64, 32, UPLINKS, UPLINKS, .places = 0},
                                          {64, 32, UPLINKS, 8, .places = 0},
                                          {64, 32, UPLINKS, 1, .places = 0}};
    unsigned there[NET_HOPS], back[NET_HOPS];

    (void)state;
    for (unsigned s = 0; s < 3; s++) {
        const unsigned width = UPLINKS / shapes[s].spines;

        build_net(&net, &shapes[s], false, 7 + s);
        memset(up, 0, sizeof(up));
        memset(down, 0, sizeof(down));
        memset(both, 0, sizeof(both));
        for (unsigned i = 0; i < DRAWS; i++) {
            unsigned u, d;

            assert_int_equal(route(&net, i % 32, 32 + i / 32 % 32, i / 1024, there), NET_HOPS);
            assert_int_equal(route(&net, 32 + i / 32 % 32, i % 32, i / 1024, back), NET_HOPS);
            u = there[1] - link_up(&net, 0, 0);
            d = there[2] - link_down(&net, 1, 0);
            assert_true(u < UPLINKS && d < UPLINKS && u / width == d / width);
            up[u]++;
            down[d]++;
            both[u * UPLINKS + back[1] - link_up(&net, 1, 0)]++;
        }
        must_be_even(up, UPLINKS, DRAWS, "uplinks");
        must_be_even(down, UPLINKS, DRAWS, "downlinks");
        must_be_even(both, UPLINKS * UPLINKS, DRAWS, "there and back");
    }
}

static void a_seed_gives_the_same_job_again(void **state)
{
    unsigned same = 0;

    (void)state;
    for (unsigned j = 0; j < JOBS; j++) {
        const unsigned n = make_job(j, flows);

        (void)make_job(j + 1, again); /* what was before does not matter */
        assert_int_equal(make_job(j, again), n);
        assert_memory_equal(flows, again, n * sizeof(flows[0]));
    }
    build_net(&net, &(struct shape){64, 32, 32, 32, .places = 0}, true, 1);
    for (unsigned p = 0; p < 64; p++)
        used[p] = net.place[p];
    build_net(&net, &(struct shape){64, 32, 32, 32, .places = 0}, true, 2);
    for (unsigned p = 0; p < 64; p++)
        same += used[p] == net.place[p];
    assert_true(same < 16);
}

static void one_leaf_gives_all_pairs_the_full_rate(void **state)
{
    (void)state;
    for (unsigned queues = 1; queues <= NET_QUEUES; queues++)
        for (unsigned ahead = 1; ahead < 32; ahead += 5) {
            const unsigned n = make_round(32, ahead, queues, flows);

            build_net(&net, &(struct shape){32, 32, 1, 1, .places = 0}, ahead % 2, ahead);
            move_flows(&net, flows, n);
            for (unsigned i = 0; i < n; i++)
                if (fabs(flows[i].rate * queues - 1) > CLOSE)
                    fail_msg("%u queue pairs: flow %u has %f", queues, i, flows[i].rate);
        }
}

/* One queue pair of 32 crosses the cable in one direction; a dead one takes those whose acknowledgements
   cross it, too. */
static void a_fault_hits_those_that_cross_it(void **state)
{
    enum { PODS = 64, QUEUES = 16 };
    static const double part[FAULT_KINDS] = {[LOSSY] = 0.01, [SLOW] = 0.1};
    const unsigned n = make_round(PODS, PODS / 2, QUEUES, flows);

    (void)state;
    for (enum fault_kind kind = DEAD; kind <= SLOW; kind++) {
        unsigned hit = 0, dead = 0;
        double rate = 0;

        build_net(&net, &(struct shape){PODS, 32, 32, 32, .places = 0}, false, 3);
        net.packets = 3e6;
        net.fault = (struct fault){
            .kind = kind, .leaf = 1, .uplink = 5, .ways = WAY_UP, .part = part[kind]};
        move_flows(&net, flows, n);
        for (unsigned i = 0; i < n; i++) {
            const bool crosses = flows[i].link[1] == link_up(&net, 1, 5);

            hit += crosses;
            dead += flows[i].dead;
            rate += crosses ? flows[i].rate : 0;
            assert_true(!crosses || flows[i].from >= 32);
            assert_int_equal(flows[i].lost > 0, kind == LOSSY && crosses);
            assert_true(kind != LOSSY || !crosses || flows[i].rate < 0.06);
        }
        assert_in_range(hit, 6, 32); /* of 512 */
        if (kind == DEAD)
            assert_in_range(dead, hit + 6, hit + 32);
        else
            assert_int_equal(dead, 0);
        if (kind == DEAD)
            assert_true(rate == 0);
        if (kind == SLOW)
            assert_true(fabs(rate - 0.1) < CLOSE);
    }
}

/* What is lost is acknowledged late, also where the device repairs what it loses. */
static void loss_is_seen_in_late_acknowledgements(void **state)
{
    enum { DRAWS = 10000, SMALL = 64, SMALL_QUIET = 1024 };
    const unsigned limit = (unsigned)(1 / ACK_TIMEOUT_S); /* in a second */
    struct flow f = {.rate = 0.1};
    struct dice d = {1};
    unsigned late = 0;

    (void)state;
    assert_int_equal(late_acks(&net, &f, SMALL_QUIET, &d), 0);
    f.lost = 0.01;
    for (unsigned i = 0; i < DRAWS; i++)
        late += late_acks(&net, &f, SMALL, &d) > 0; /* 1 - 0.99^64 = 0.474 */
    assert_in_range(late, DRAWS * 45 / 100, DRAWS * 50 / 100);
    late = 0;
    for (unsigned i = 0; i < DRAWS; i++) {
        const unsigned n = late_acks(&net, &f, SMALL_QUIET, &d);

        assert_true(n <= limit);
        late += n >= 3;
    }
    assert_true(late > DRAWS * 99 / 100);
    assert_true(packets_left(SELECTIVE, 3e6, 0.01) > 2.9e6);
    assert_true(packets_left(GO_BACK_N, 3e6, 0.01) < 0.2e6);
    assert_true(packets_left(GO_BACK_N, 3e6, 0) > 2.99e6);
}

/* As many as are asked for, and a flow that is alone shares its links with them. */
static void other_jobs_take_their_share(void **state)
{
    const struct shape shape = {64, 32, 32, 32, .places = 0};
    unsigned n, at[NET_LINKS] = {0};

    (void)state;
    build_net(&net, &shape, false, 11);
    net.others = 2;
    n = add_others(&net, flows, 0);
    assert_in_range(n, 200, 320); /* 2 on each of 128 links */
    for (unsigned i = 0; i < n; i++)
        at[flows[i].link[0]]++;
    for (unsigned q = 0; q < 100; q++) {
        unsigned up, down;

        flows[0] = (struct flow){.from = 0, .to = 32, .queue = q};
        move_flows(&net, flows, 1);
        up = at[flows[0].link[1]];
        down = at[flows[0].link[2]];
        assert_true(fabs(flows[0].rate * (1 + (up > down ? up : down)) - 1) < CLOSE);
    }
}

/* Each pod has a place of its own, in the order of the ranks or not. */
static void a_job_may_have_any_places(void **state)
{
    static unsigned leaf[NET_PODS];
    static bool taken[NET_PODS];

    (void)state;
    for (unsigned random = 0; random < 2; random++) {
        const struct shape shape = {64, 32, 32, 32, .places = 1000};
        unsigned behind = 0;

        build_net(&net, &shape, random, 5);
        memset(taken, 0, sizeof(taken));
        for (unsigned p = 0; p < 64; p++) {
            assert_true(net.place[p] < 1000 && !taken[net.place[p]]);
            taken[net.place[p]] = true;
            behind += p > 0 && net.place[p] < net.place[p - 1];
        }
        assert_int_equal(behind > 0, random);
        assert_in_range(list_leaves(&net, leaf), 20, 32);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_link_carries_more_than_it_can),
        cmocka_unit_test(rates_are_max_min_fair),
        cmocka_unit_test(the_hash_is_uniform),
        cmocka_unit_test(a_seed_gives_the_same_job_again),
        cmocka_unit_test(one_leaf_gives_all_pairs_the_full_rate),
        cmocka_unit_test(a_fault_hits_those_that_cross_it),
        cmocka_unit_test(loss_is_seen_in_late_acknowledgements),
        cmocka_unit_test(other_jobs_take_their_share),
        cmocka_unit_test(a_job_may_have_any_places),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
