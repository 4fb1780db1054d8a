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
#include "preflight/tally.h"
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
enum { MOST_PODS = FABRIC_PODS, MOST_RAILS = 8, ROUNDS = 6, TIMED_OUT = 12 };

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
    DOWN,     /* the link of rail r of pod a goes down in the first round */
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
    uint8_t missing[MOST_PODS];
    struct ni_rail_tally tally[MOST_PODS * MOST_RAILS];
    struct ni_pair_result result[MOST_PODS * MOST_RAILS * ROUNDS];
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
    if (k->kind == OWN && rail && from && x->step <= NI_PAIR_QUEUES)
        x->at_to = false; /* both ends: that of `from` is told */
    if (!rail || x->step != NI_PAIR_DONE)
        return;
    if (k->kind == SWITCH || (k->kind == PORT && (from || to)) || (k->kind == PATH && between) ||
        (k->kind == FLAKY && between && first))
        fails(x, k->percent & 1 ? NI_PAIR_SMALL : NI_PAIR_WRITE, 0, TIMED_OUT, false);
    if (k->kind == SILENT && (from || to)) {
        fails(x, NI_PAIR_SMALL, 0, from ? 0 : TIMED_OUT, from);
    }
    if (k->kind == OWN && (from || to)) {
        fails(x, k->percent == 1 ? NI_PAIR_FIND : NI_PAIR_QUEUES, k->percent == 1 ? ENODEV : ENOMEM,
              0, false);
        x->at_to = to;
    }
    if (k->kind == DOWN && (from || to)) {
        if (x->round == 0)
            fails(x, NI_PAIR_WRITE, 0, TIMED_OUT, false);
        else
            fails(x, NI_PAIR_START, ENETDOWN, 0, false);
        x->at_to = x->round > 0 && to;
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
static inline void run(void)
{
    static uint8_t busy[MOST_PODS][MOST_RAILS];
    struct ni_job *job = &w.job;
    for (unsigned first = 0; ni_next_round(job); first = job->n_result) {
        must(job->rounds <= ROUNDS && job->n_result <= NI_COUNT(w.result));
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
