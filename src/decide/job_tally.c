/* SPDX-License-Identifier: Apache-2.0 */
/* What was seen of each rail, and which pairs to try next. Two full rounds try each rail with its
   neighbours, and with those half of the job away; then what failed or was slow is tried once more
   with partners that passed. */
#include <errno.h>
#include <string.h>

#include "job.h"

struct ni_rail_tally *ni_tally_of(const struct ni_job *job, unsigned rank, unsigned rail)
{
    return &job->tally[(size_t)rank * job->n_rail + rail];
}

unsigned ni_full_rounds(const struct ni_job *job)
{
    return job->ranks > 3 ? 2 : 1; /* of three pods each is a neighbour of both others */
}

static bool takes_part(const struct ni_job *job, unsigned rank, unsigned rail)
{
    const struct ni_rail *r = ni_rail_of(job, rank, rail);
    return r && ni_is_here(job, rank) && !r->untried[0];
}

unsigned ni_count_rail(const struct ni_job *job, unsigned rail)
{
    unsigned n = 0;
    for (unsigned p = 0; p < job->ranks; p++)
        n += takes_part(job, p, rail);
    return n;
}

/* ---- how fast ---- */

/* What the slower end of the pair could do; 0: not known. */
static int64_t rate_of(const struct ni_job *job, const struct ni_pair *pair)
{
    const struct ni_rail *a = ni_rail_of(job, pair->from, pair->rail);
    const struct ni_rail *b = ni_rail_of(job, pair->to, pair->rail);
    if (!a || !b || a->mbps.known != NI_KNOWN || b->mbps.known != NI_KNOWN)
        return 0;
    const int64_t mbps = a->mbps.v < b->mbps.v ? a->mbps.v : b->mbps.v;
    return mbps > 0 && mbps < INT32_MAX ? mbps : 0; /* another pod told it */
}

static int64_t speed(const struct ni_pair_result *x, int read)
{
    return x->step != NI_PAIR_DONE ? 0 : read ? x->read_mbps : x->write_mbps;
}

/* How many flows of that kind there are, up to `most`; *ret_top: the fastest. */
static unsigned count_flows(const struct ni_job *job, const struct ni_pace *of, int read,
                            int64_t most, int64_t *ret_top)
{
    unsigned n = 0;
    for (unsigned i = 0; i < job->n_result; i++) {
        const struct ni_pair_result *x = &job->result[i];
        const int64_t v = speed(x, read);
        if (x->round != of->round || v <= 0 || v > most || rate_of(job, &x->pair) != of->mbps)
            continue;
        n++;
        *ret_top = v > *ret_top ? v : *ret_top;
    }
    return n;
}

/* The upper one of an even number: of two ends of which one is slow, the other is the measure. By
   bisection, for there is no room to sort in. */
static int64_t median_of(const struct ni_job *job, const struct ni_pace *of, int read)
{
    int64_t low = 0, high = 0, ignored = 0;
    const unsigned n = count_flows(job, of, read, INT64_MAX, &high);
    while (low + 1 < high) {
        const int64_t middle = low + (high - low) / 2;
        if (count_flows(job, of, read, middle, &ignored) > n / 2)
            high = middle;
        else
            low = middle;
    }
    return high;
}

/* Of the full rounds: later ones have few pairs, which are measured by the last full one. */
const struct ni_pace *ni_pace_of(const struct ni_job *job, const struct ni_paces *all,
                                 const struct ni_pair_result *x)
{
    const int64_t mbps = rate_of(job, &x->pair);
    const struct ni_pace *ret = NULL;
    for (unsigned i = 0; i < all->n; i++) {
        if (all->at[i].mbps == mbps && all->at[i].round <= x->round)
            ret = &all->at[i];
    }
    return ret;
}

static void find_paces(const struct ni_job *job, struct ni_paces *all)
{
    all->n = 0;
    for (unsigned i = 0; job->measured && i < job->n_result && all->n < NI_MAX_PACE; i++) {
        const struct ni_pair_result *x = &job->result[i];
        const struct ni_pace *old = ni_pace_of(job, all, x);
        if (x->round >= ni_full_rounds(job) || (old && old->round == x->round))
            continue;
        struct ni_pace *pace = &all->at[all->n++];
        *pace = (struct ni_pace){.round = x->round, .mbps = rate_of(job, &x->pair)};
        for (int read = 0; read < 2; read++)
            pace->median[read] = median_of(job, pace, read);
    }
}

static void add_flow(uint8_t *n, uint8_t *best, int64_t v, int64_t median)
{
    const int64_t percent = median > 0 ? v * 100 / median : 0;
    if (v <= 0 || median <= 0)
        return;
    *n = (uint8_t)(*n < UINT8_MAX ? *n + 1 : *n);
    if (percent > *best)
        *best = (uint8_t)(percent < UINT8_MAX ? percent : UINT8_MAX);
}

static bool is_slow(const struct ni_job *job, unsigned rank, unsigned rail, unsigned percent)
{
    const struct ni_rail_tally *t = ni_tally_of(job, rank, rail);
    const struct ni_rail *r = ni_rail_of(job, rank, rail);
    const bool soft = !r || r->mbps.known != NI_KNOWN || r->mbps.v < NI_JOB_HARD;
    const unsigned least = soft && percent > NI_JOB_SLOW_SOFT ? NI_JOB_SLOW_SOFT : percent;
    return (t->n_out > 1 && t->best_out < least) || (t->n_in > 1 && t->best_in < least);
}

/* ---- who ---- */

/* What a device could not do before a packet left it is its own; and so is a link that is down, and
   a GID that is gone (drivers/infiniband/core, Linux 6.1). */
unsigned ni_blame(const struct ni_job *job, const struct ni_pair_result *x)
{
    const bool own = x->step == NI_PAIR_START || x->step == NI_PAIR_QUEUES ||
                     (x->step == NI_PAIR_CONNECT &&
                      (x->err == ENODATA || x->err == ENODEV || x->err == ENETUNREACH));
    if (x->step == NI_PAIR_DONE || !ni_is_here(job, x->pair.from) || !ni_is_here(job, x->pair.to))
        return 0;
    return !own ? NI_BLAME_FROM | NI_BLAME_TO : x->at_to ? NI_BLAME_TO : NI_BLAME_FROM;
}

bool ni_is_path(const struct ni_job *job, const struct ni_pair_result *x)
{
    return ni_blame(job, x) == (NI_BLAME_FROM | NI_BLAME_TO) &&
           ni_tally_of(job, x->pair.from, x->pair.rail)->passed > 0 &&
           ni_tally_of(job, x->pair.to, x->pair.rail)->passed > 0;
}

static void count(const struct ni_job *job, const struct ni_paces *paces,
                  const struct ni_pair_result *x)
{
    struct ni_rail_tally *from = ni_tally_of(job, x->pair.from, x->pair.rail);
    struct ni_rail_tally *to = ni_tally_of(job, x->pair.to, x->pair.rail);
    const unsigned blame = ni_blame(job, x);
    const struct ni_pace *pace = ni_pace_of(job, paces, x);
    if (x->step == NI_PAIR_DONE) {
        from->passed++;
        to->passed++;
    }
    from->failed = (uint16_t)(from->failed + ((blame & NI_BLAME_FROM) != 0));
    to->failed = (uint16_t)(to->failed + ((blame & NI_BLAME_TO) != 0));
    if (x->round >= ni_full_rounds(job)) {
        from->again = x->pair.to + 1;
        from->again_passed = x->step == NI_PAIR_DONE;
    }
    if (pace) {
        add_flow(&from->n_out, &from->best_out, speed(x, 0), pace->median[0]);
        add_flow(&to->n_in, &to->best_in, speed(x, 0), pace->median[0]);
        add_flow(&to->n_out, &to->best_out, speed(x, 1), pace->median[1]);
        add_flow(&from->n_in, &from->best_in, speed(x, 1), pace->median[1]);
    }
}

void ni_tally(const struct ni_job *job, struct ni_paces *ret)
{
    memset(job->tally, 0, (size_t)job->ranks * job->n_rail * sizeof(job->tally[0]));
    find_paces(job, ret);
    for (unsigned i = 0; i < job->n_result; i++)
        count(job, ret, &job->result[i]);
    for (unsigned p = 0; p < job->ranks; p++) {
        for (unsigned r = 0; r < job->n_rail; r++) {
            struct ni_rail_tally *t = ni_tally_of(job, p, r);
            if (!ni_is_here(job, p) || !ni_rail_of(job, p, r))
                t->state = NI_TALLY_ABSENT;
            else if (t->passed + t->failed == 0)
                t->state = NI_TALLY_UNTRIED;
            else if (t->passed == 0)
                t->state = NI_TALLY_FAILED;
            else
                t->state = is_slow(job, p, r, NI_JOB_HALF)   ? NI_TALLY_SLOW
                           : is_slow(job, p, r, NI_JOB_SLOW) ? NI_TALLY_BELOW
                                                             : NI_TALLY_GOOD;
        }
    }
}

/* ---- which pairs next ---- */

struct plan {
    const struct ni_job *job;
    struct ni_pair *pair;
    unsigned n, cap;
};

/* The next pod behind `p`, round and round, whose rail takes part; one does. */
static unsigned next_of(const struct ni_job *job, unsigned p, unsigned rail)
{
    do {
        p = p + 1 < job->ranks ? p + 1 : 0;
    } while (!takes_part(job, p, rail));
    return p;
}

static bool add_pair(struct plan *plan, unsigned from, unsigned to, unsigned rail)
{
    struct ni_rail_tally *a = ni_tally_of(plan->job, from, rail);
    struct ni_rail_tally *b = ni_tally_of(plan->job, to, rail);
    if (from == to || (a->busy & NI_BLAME_FROM) || (b->busy & NI_BLAME_TO) || plan->n == plan->cap)
        return false;
    a->busy |= NI_BLAME_FROM;
    b->busy |= NI_BLAME_TO;
    plan->pair[plan->n++] = (struct ni_pair){from, to, rail};
    return true;
}

/* Each with the one `ahead` of it, which is a partner for everybody in both roles at once. */
static void add_ring(struct plan *plan, unsigned rail, unsigned n, unsigned ahead)
{
    const unsigned first = next_of(plan->job, plan->job->ranks - 1, rail);
    unsigned from = first, to = first;
    for (unsigned i = 0; i < ahead; i++)
        to = next_of(plan->job, to, rail);
    for (unsigned i = 0; i < n; i++) {
        (void)add_pair(plan, from, to, rail);
        from = next_of(plan->job, from, rail);
        to = next_of(plan->job, to, rail);
    }
}

static bool is_suspect(const struct ni_job *job, unsigned rank, unsigned rail)
{
    const enum ni_tally_state s = ni_tally_of(job, rank, rail)->state;
    return takes_part(job, rank, rail) &&
           (s == NI_TALLY_FAILED || s == NI_TALLY_SLOW || s == NI_TALLY_BELOW);
}

/* The next good rail from *at on that is free in that role; false: none is left. */
static bool find_good(const struct plan *plan, unsigned rail, unsigned role, unsigned *at,
                      unsigned *left)
{
    for (; *left > 0; --*left, *at = *at + 1 < plan->job->ranks ? *at + 1 : 0) {
        const struct ni_rail_tally *t = ni_tally_of(plan->job, *at, rail);
        if (takes_part(plan->job, *at, rail) && t->state == NI_TALLY_GOOD && !(t->busy & role))
            return true;
    }
    return false;
}

/* Each suspect in both roles with good ones that were not its partners before, if there are enough;
   without any good one the ring again, with new queue pairs. */
static void add_suspects(struct plan *plan, unsigned rail)
{
    const struct ni_job *job = plan->job;
    unsigned first = 0, good = 0, to, from, left_to = job->ranks, left_from = job->ranks;
    for (unsigned p = job->ranks; p-- > 0;) {
        first = is_suspect(job, p, rail) ? p : first;
        good += takes_part(job, p, rail) && ni_tally_of(job, p, rail)->state == NI_TALLY_GOOD;
    }
    if (!is_suspect(job, first, rail))
        return;
    if (good == 0) {
        add_ring(plan, rail, ni_count_rail(job, rail), 1);
        return;
    }
    to = (first + 2) % job->ranks;
    from = (first + 3) % job->ranks;
    for (unsigned p = first; p < job->ranks; p++) {
        if (!is_suspect(job, p, rail))
            continue;
        if (find_good(plan, rail, NI_BLAME_TO, &to, &left_to))
            (void)add_pair(plan, p, to, rail);
        if (find_good(plan, rail, NI_BLAME_FROM, &from, &left_from))
            (void)add_pair(plan, from, p, rail);
    }
}

unsigned ni_next_round(const struct ni_job *job, struct ni_pair *ret, unsigned cap)
{
    struct plan plan = {.job = job, .pair = ret, .cap = cap};
    const unsigned full = ni_full_rounds(job);
    struct ni_paces paces;
    ni_tally(job, &paces);
    for (unsigned r = 0; job->rounds < full && r < job->n_rail; r++) {
        const unsigned n = ni_count_rail(job, r);
        if (job->rounds == 0 ? n > 1 : n > 3)
            add_ring(&plan, r, n, job->rounds == 0 ? 1 : n / 2);
    }
    if (plan.n > 0 || job->rounds == 0 || job->rounds > full)
        return plan.n;
    for (unsigned i = 0; i < job->n_result; i++) { /* a path: the same pair again */
        const struct ni_pair *pair = &job->result[i].pair;
        if (ni_is_path(job, &job->result[i]))
            (void)add_pair(&plan, pair->from, pair->to, pair->rail);
    }
    for (unsigned r = 0; r < job->n_rail; r++)
        add_suspects(&plan, r);
    return plan.n;
}
