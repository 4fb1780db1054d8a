/* SPDX-License-Identifier: Apache-2.0 */
/* A fabric that is not there: the rounds ask for pairs, it says how they went, the judge names. */
#ifndef NCCL_INIT_TEST_FABRIC_H
#define NCCL_INIT_TEST_FABRIC_H

#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/known.h"
#include "nccl_init/plan.h"
#include "preflight/compare.h"
#include "preflight/job.h"
#include "preflight/paths.h"
#include "preflight/rounds.h"
#include "rail/step.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(bool holds)
{
    if (!holds)
        abort();
}

#ifndef FABRIC_PODS
#define FABRIC_PODS 130
#endif
enum { MOST_PODS = FABRIC_PODS, MOST_RAILS = 8, ROUNDS = 48, TIMED_OUT = 12 };
enum { RESULTS = MOST_PODS * MOST_RAILS * 10, BAD_QUEUE = 1, LATE = 5, LATE_NS = 70000000 };

/* What is broken, by these words in a case of tests/preflight. */
enum fault_kind {
    PORT,     /* rail r of pod a reaches nobody */
    PATH,     /* rail r between a and b */
    SWITCH,   /* rail r of all pods */
    SLOW_IN,  /* rail r of pod a receives slowly */
    SLOW_OUT, /* ... sends slowly */
    DIES,     /* pod a, before round b */
    OWN,      /* rail r of pod a cannot make a queue pair; with 1 %: libibverbs does not list it */
    SILENT,   /* rail r of pod a never says how it went */
    FLAKY,    /* rail r between a and b, in the first round that tries it only */
    DOWN, /* the link of rail r of pod a goes down in the first round; with 1 % after it has sent */
    SLOW_ALL, /* everything at a fifth of its rate */
    /* One of the queue pairs of rail r from a to b, each time: */
    QUEUE_SLOW,   /* is slow */
    QUEUE_LOSSY,  /* has an acknowledgement that comes late */
    QUEUE_BROKEN, /* fails */
    QUEUE_ONCE,   /* fails, in the first round that tries it only */
    PAIR_SLOW,    /* all of them are slow */
    RESENT,       /* rail r of pod a sends packets again while all pods move data, that often */
    STRANGER,     /* somebody else has the address of rail r of pod a */
    STARVED,      /* what pod a begins on rail r is slow */
    CABLE,        /* rail r of pod a loses packets on all paths, or on those to pod b */
    ROUTER,       /* a router answers for the address of rail r of each pod; a: its number */
    CUT,          /* rail r of the pods of a's leaf reaches that leaf only */
    SLOW_LEAF,    /* ... is slow */
    SLOW_RAIL,    /* rail r of all pods is slow */
    HALF_PORT,    /* rail r of pod a moves half of its rate, and not less with a slower partner */
    THIN, /* pairs of rail r between leaves get no more than that part of the rate, if all move */
    /* No acknowledgement is late, but packets are sent again, that often: */
    QUEUE_RESENDS, /* of one of the queue pairs of rail r from a to b, each time */
    CABLE_RESENDS, /* of all queue pairs of rail r of pod a, each time */
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
    uint8_t missing[MOST_PODS], drop[MOST_PODS];
    unsigned circle[MOST_PODS];
    struct ni_rail_tally tally[MOST_PODS * MOST_RAILS];
    struct ni_pair_result result[RESULTS];
    struct ni_findings f;
    struct ni_policy policy;
    struct fault fault[20];
    unsigned n_fault;
    uint32_t seed;
};
static struct world w; /* large: not on the stack */

static inline unsigned draw(unsigned below)
{
    w.seed = w.seed * 1664525U + 1013904223U;
    return (w.seed >> 8) % below;
}

static void fails(struct ni_pair_result *x, enum ni_pair_step step, int err, int wc, bool silent)
{
    *x = (struct ni_pair_result){.pair = x->pair,
                                 .round = x->round,
                                 .full = x->full,
                                 .again = x->again,
                                 .for_failed = x->for_failed,
                                 .software = x->software,
                                 .queues = x->queues,
                                 .rate = x->rate,
                                 .step = step};
    x->err = err;
    x->wc = wc;
    x->silent = silent;
}

static bool is_at_leaf(unsigned rank, const struct fault *k)
{
    return strcmp(w.pod[rank].leaf, w.pod[k->a].leaf) == 0;
}

/* Lets the pair have no more than that part of its rate. */
static void limit_pair(struct ni_pair_result *x, int percent)
{
    const int64_t most = x->rate * percent / 100;

    x->write_mbps = x->write_mbps < most ? x->write_mbps : most;
    x->read_mbps = x->read_mbps < most ? x->read_mbps : most;
}

static void slow_down(struct ni_pair_result *x, int percent)
{
    x->write_mbps = x->write_mbps * percent / 100;
    x->read_mbps = x->read_mbps * percent / 100;
}

/* What is broken of several pods at once. */
static void meets_many(const struct fault *k, struct ni_pair_result *x)
{
    const bool from = is_at_leaf(x->pair.from, k), to = is_at_leaf(x->pair.to, k);

    if (x->pair.rail != k->rail || x->step != NI_PAIR_DONE)
        return;
    if (k->kind == CUT && from != to)
        fails(x, NI_PAIR_SMALL, 0, TIMED_OUT, false);
    if (k->kind == THIN && x->full && strcmp(w.pod[x->pair.from].leaf, w.pod[x->pair.to].leaf) != 0)
        limit_pair(x, k->percent);
    if (k->kind == SLOW_RAIL || (k->kind == SLOW_LEAF && (from || to)))
        slow_down(x, k->percent);
}

static void meets(const struct fault *k, struct ni_pair_result *x)
{
    const struct ni_pair *p = &x->pair;
    const bool rail = p->rail == k->rail, from = p->from == k->a, to = p->to == k->a;
    const bool between = (from && p->to == k->b) || (to && p->from == k->b);
    const bool first = x->full;
    if (k->kind == SLOW_ALL) {
        x->write_mbps = x->write_mbps * k->percent / 100;
        x->read_mbps = x->read_mbps * k->percent / 100;
    }
    if (k->kind == DIES && (from || to) && x->round >= k->b) {
        w.missing[k->a] = NI_POD_WENT_AWAY;
        fails(x, NI_PAIR_SMALL, 0, TIMED_OUT, false);
    }
    if (k->kind == OWN && rail && from && x->step <= NI_PAIR_QUEUES)
        x->at_to = false; /* both ends: that of `from` is told */
    if (k->kind == ROUTER && rail) {
        if (!(x->misled & NI_AT_FROM))
            x->neighbour = 0x525400000100 + k->a;
        if (!(x->misled & NI_AT_TO))
            x->neighbour_to = 0x525400000100 + k->a;
        x->misled = NI_AT_FROM | NI_AT_TO;
    }
    if (!rail || x->step != NI_PAIR_DONE)
        return;
    if (k->kind == SWITCH || (k->kind == PORT && (from || to)) || (k->kind == PATH && between) ||
        (k->kind == FLAKY && between && first))
        fails(x, k->percent & 1 ? NI_PAIR_SMALL : NI_PAIR_WRITE, 0, TIMED_OUT, false);
    if (k->kind == STRANGER && (from || to)) {
        fails(x, NI_PAIR_SMALL, 0, TIMED_OUT, false);
        x->misled = to ? NI_AT_FROM : NI_AT_TO;
        x->neighbour = x->neighbour_to = 0x525400000001;
    }
    if (k->kind == SILENT && (from || to)) {
        fails(x, NI_PAIR_SMALL, 0, from ? 0 : TIMED_OUT, from);
    }
    if (k->kind == OWN && (from || to)) {
        fails(x, k->percent == 1 ? NI_PAIR_FIND : NI_PAIR_QUEUES, k->percent == 1 ? ENODEV : ENOMEM,
              0, false);
        x->at_to = to;
    }
    if (k->kind == DOWN && (from || to)) {
        if (x->round > 0)
            fails(x, NI_PAIR_START, ENETDOWN, 0, false);
        else if (to || k->percent == 0)
            fails(x, NI_PAIR_WRITE, 0, TIMED_OUT, false);
        x->at_to = x->round > 0 && to;
    }
    if (k->kind == RESENT && from && x->full)
        x->resent = k->percent;
    if (k->kind == PAIR_SLOW && from && p->to == k->b) {
        x->write_mbps = x->write_mbps * k->percent / 100;
        x->read_mbps = x->read_mbps * k->percent / 100;
    }
    if (k->kind == STARVED && from) {
        x->write_mbps = x->write_mbps * k->percent / 100;
        x->read_mbps = x->read_mbps * k->percent / 100;
    }
    if (k->kind == HALF_PORT && (from || to)) {
        const int64_t half = w.rail[k->a][k->rail].mbps.v / 2;

        x->write_mbps = x->write_mbps < half ? x->write_mbps : half;
        x->read_mbps = x->read_mbps < half ? x->read_mbps : half;
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

/* Whether the queue pair takes part. */
static bool takes_part(const struct ni_pair_result *x, unsigned q)
{
    return x->queues == 0 || (x->queues & 1U << q);
}

/* What of a pair's queue pairs is broken. */
static void meets_queue(const struct fault *k, struct ni_pair_result *x)
{
    struct ni_queue_result *queue = &x->queue[BAD_QUEUE];
    const bool it = x->pair.rail == k->rail && x->pair.from == k->a && x->pair.to == k->b;

    if (!it || !takes_part(x, BAD_QUEUE))
        return;
    if (k->kind == QUEUE_SLOW) {
        queue->write_mbps = queue->write_mbps * k->percent / 100;
        queue->read_mbps = queue->read_mbps * k->percent / 100;
    }
    if (k->kind == QUEUE_LOSSY) {
        queue->slowest_ns = LATE_NS;
        queue->late = LATE;
    }
    if (k->kind == QUEUE_RESENDS)
        queue->resent = (unsigned)k->percent;
    if (k->kind == QUEUE_BROKEN || (k->kind == QUEUE_ONCE && x->again == 0))
        *queue = (struct ni_queue_result){.step = NI_PAIR_SMALL, .wc = TIMED_OUT};
}

/* What is sent again by all queue pairs: those of a cable always, others while all pods move data. */
static void meets_resends(const struct fault *k, struct ni_pair_result *x)
{
    const bool from = x->pair.from == k->a, to = x->pair.to == k->a;
    const bool resends =
        (k->kind == RESENT && from && x->full) || (k->kind == CABLE_RESENDS && (from || to));

    for (unsigned q = 0; q < x->n_queue && resends && x->pair.rail == k->rail; q++)
        if (takes_part(x, q))
            x->queue[q].resent = (unsigned)k->percent;
}

/* A cable loses packets of all queue pairs, but for the first in a round of many. */
static void meets_cable(const struct fault *k, struct ni_pair_result *x)
{
    const unsigned other = x->pair.from == k->a ? x->pair.to : x->pair.from;

    if (k->kind != CABLE || x->pair.rail != k->rail || (x->pair.from != k->a && x->pair.to != k->a))
        return;
    if (k->b != 0 && other != k->b)
        return;
    for (unsigned q = 0; q < x->n_queue; q++) {
        if (!takes_part(x, q) || (q == 0 && x->again == 0))
            continue;
        x->queue[q].slowest_ns = LATE_NS;
        x->queue[q].late = LATE;
    }
}

/* The queue pairs of a pair, all alike but for what is broken; then what they move together. */
static void share_out(struct ni_pair_result *x)
{
    const unsigned batch = ni_batch(&w.job, x);
    int64_t write = 0, read = 0;
    unsigned n = 0;

    if (x->step < NI_PAIR_SMALL || x->silent)
        return;
    for (unsigned q = 0; q < NI_MAX_QUEUES; q++)
        if (takes_part(x, q)) {
            x->queue[q] = (struct ni_queue_result){.step = x->step, .err = x->err, .wc = x->wc};
            x->n_queue = q + 1;
            n++;
        }
    const unsigned at_once = n < batch ? n : batch;
    for (unsigned q = 0; q < x->n_queue; q++)
        if (takes_part(x, q)) {
            x->queue[q].write_mbps = x->write_mbps / at_once;
            x->queue[q].read_mbps = x->read_mbps / at_once;
        }
    for (unsigned k = 0; k < w.n_fault && x->step == NI_PAIR_DONE; k++)
        meets_queue(&w.fault[k], x);
    for (unsigned k = 0; k < w.n_fault && x->step == NI_PAIR_DONE; k++)
        meets_cable(&w.fault[k], x);
    for (unsigned k = 0; k < w.n_fault && x->step == NI_PAIR_DONE; k++)
        meets_resends(&w.fault[k], x);
    for (unsigned q = 0; q < x->n_queue; q++) {
        write += x->queue[q].write_mbps;
        read += x->queue[q].read_mbps;
    }
    x->write_mbps = write / ((n + batch - 1) / batch);
    x->read_mbps = read / ((n + batch - 1) / batch);
}

/* Runs the rounds; each pod has at most one pair in each role and rail. */
static inline void run(void)
{
    static uint8_t busy[MOST_PODS][MOST_RAILS];
    struct ni_job *job = &w.job;
    for (unsigned first = 0; ni_next_round(job); first = job->n_result) {
        must(job->rounds <= ROUNDS && job->n_result + MOST_PODS * MOST_RAILS <= RESULTS);
        memset(busy, 0, sizeof(busy));
        for (unsigned i = first; i < job->n_result; i++) {
            const struct ni_pair *p = &w.result[i].pair;
            must(p->from < job->ranks && p->to < job->ranks && p->rail < job->n_rail);
            must(p->from != p->to);
            must(!(busy[p->from][p->rail] & 1 || busy[p->to][p->rail] & 2));
            busy[p->from][p->rail] |= 1;
            busy[p->to][p->rail] |= 2;
            must(!w.missing[p->from] && !w.missing[p->to]);
        }
        for (unsigned i = first; i < job->n_result; i++) {
            struct ni_pair_result *x = &w.result[i];
            const struct ni_num mbps = w.rail[x->pair.from][x->pair.rail].mbps;
            const int64_t rate = mbps.known == NI_KNOWN ? mbps.v : 100000;
            x->step = NI_PAIR_DONE;
            x->write_mbps = rate * 96 / 100 - draw((unsigned)(rate / 10));
            x->read_mbps = rate * 94 / 100 - draw((unsigned)(rate / 10));
            for (unsigned k = 0; k < w.n_fault; k++)
                meets(&w.fault[k], x);
            for (unsigned k = 0; k < w.n_fault; k++)
                meets_many(&w.fault[k], x);
            share_out(x);
        }
        /* as they come */
        for (unsigned i = first; i + 1 < job->n_result; i++) {
            const unsigned k = i + draw(job->n_result - i);
            const struct ni_pair_result x = w.result[i];
            w.result[i] = w.result[k];
            w.result[k] = x;
        }
    }
    ni_judge_rails(job, &w.f);
}

#endif
