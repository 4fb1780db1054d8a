/* SPDX-License-Identifier: Apache-2.0 */
/* The tally: results of each rail, and the pairs to try next. Two full rounds try each rail with
   its neighbours, and with those half of the job away. Then each rail that failed or was slow is
   tried once more with partners that passed. */
#include "preflight/tally.h"

#include <errno.h>
#include <string.h>

#include "cli/flow.h"
#include "nccl_init/known.h"
#include "preflight/job.h"
#include "rail/step.h"

enum {
    SLOW = 70, /* percent of the median: a rail below it is slow */
    HALF = 50  /* the same for software RDMA, whose speed varies */
};
enum role { SENDS = 1, RECEIVES = 2 };

/* Returns the number of rounds in which each rail takes part; later ones are for suspects. */
static unsigned full_rounds(const struct ni_job *job)
{
    return job->ranks > 3 ? 2 : 1; /* with three pods each is a neighbour of both others */
}

static bool is_here(const struct ni_job *job, unsigned rank)
{
    return job->pod[rank].here && job->missing[rank] == NI_POD_CAME;
}

bool ni_takes_part(const struct ni_job *job, unsigned rank, unsigned rail)
{
    const struct ni_pod *pod = &job->pod[rank];

    return is_here(job, rank) && rail < pod->n_rail && !pod->rail[rail].untried[0];
}

unsigned ni_count_rails(const struct ni_job *job, unsigned rail, ni_rail_is *is)
{
    unsigned n = 0;

    for (unsigned p = 0; p < job->ranks; p++)
        n += is(job, p, rail);
    return n;
}

/* ---- how each did ---- */

/* Returns the rate of a rail in Mb/s; 0: not known. */
static int64_t rate_of(const struct ni_job *job, unsigned rank, unsigned rail)
{
    const struct ni_num mbps = job->pod[rank].rail[rail].mbps;

    return mbps.known == NI_KNOWN && mbps.v > 0 && mbps.v < INT32_MAX ? mbps.v : 0;
}

/* Returns the speed of a write or a read as a share of the rate of the slower end; 0 if a rate is
   not known. */
static int64_t share_of(const struct ni_job *job, const struct ni_pair_result *x, int64_t mbps)
{
    const int64_t from = rate_of(job, x->pair.from, x->pair.rail);
    const int64_t to = rate_of(job, x->pair.to, x->pair.rail);

    if (x->step != NI_PAIR_DONE || from == 0 || to == 0)
        return 0;
    const int64_t share = mbps * NI_JOB_PARTS / (from < to ? from : to);
    return share < INT32_MAX ? share : INT32_MAX;
}

/* Returns the median of all writes and reads; the upper one of an even number: if one of two ends
   is slow, the other is the measure. It is found by bisection, because there is no room to sort in.
   */
static int64_t median_of(const struct ni_job *job)
{
    int64_t low = 0, high = INT32_MAX;

    while (low + 1 < high) {
        const int64_t middle = low + (high - low) / 2;
        unsigned below = 0, above = 0;

        for (unsigned i = 0; i < 2 * job->n_result; i++) {
            const struct ni_pair_result *x = &job->result[i / 2];
            const int64_t share = share_of(job, x, i % 2 ? x->read_mbps : x->write_mbps);

            below += share > 0 && share <= middle;
            above += share > middle;
        }
        if (below > above)
            high = middle;
        else
            low = middle;
    }
    return high;
}

/* Keeps the better measurement. If one of the two rates is not known there is none. */
static void take_best(struct ni_flow *best, const struct ni_job *job,
                      const struct ni_pair_result *x, int64_t mbps)
{
    const int64_t share = share_of(job, x, mbps);
    const int64_t full = share * 100 / job->median, percent = share > 0 && full == 0 ? 1 : full;

    best->mbps = mbps > best->mbps ? mbps : best->mbps;
    best->percent = percent > best->percent ? percent : best->percent;
}

/* Returns true if the fault is the device's own: a step that failed before a packet left it, a link
   that is down, or a GID that is gone (drivers/infiniband/core, Linux 6.1). */
bool ni_is_own(const struct ni_pair_result *x)
{
    return x->step <= NI_PAIR_QUEUES ||
           (x->step == NI_PAIR_CONNECT &&
            (x->err == ENODATA || x->err == ENODEV || x->err == ENETUNREACH));
}

/* Rates a failure of a rail by how much it says; of equal ones the first counts. A failure of its
   own device says most, or that the device never answered: a link that goes down while data moves
   looks like any dead path, and only in the next round like a link that is down. A partner that
   never answered says least. */
static int says(const struct ni_pair_result *x, unsigned rank)
{
    const bool here = rank == (x->at_to ? x->pair.to : x->pair.from);

    return ni_is_own(x) || (x->silent && here) ? 2 : !x->silent;
}

/* Counts a result for the rail that had this role in it: a success, or a failure for which this
   rail may be the cause. */
static void count(const struct ni_job *job, const struct ni_pair_result *x, enum role role)
{
    const struct ni_pair *pair = &x->pair;
    const unsigned rank = role == SENDS ? pair->from : pair->to;
    struct ni_rail_tally *t = ni_tally_of(job, rank, pair->rail);

    if (x->step == NI_PAIR_DONE) {
        t->passed++;
        t->measured += share_of(job, x, x->write_mbps) > 0;
        take_best(role == SENDS ? &t->send : &t->receive, job, x, x->write_mbps);
        take_best(role == SENDS ? &t->receive : &t->send, job, x, x->read_mbps);
        t->latency_ns = t->latency_ns ? t->latency_ns : x->latency_ns;
        t->slowest_ns = x->slowest_ns > t->slowest_ns ? x->slowest_ns : t->slowest_ns;
        if (role == SENDS && x->round >= full_rounds(job))
            t->passed_again = pair->to + 1;
    } else if (is_here(job, pair->from) && is_here(job, pair->to) &&
               (!ni_is_own(x) || x->at_to == (role == RECEIVES))) {
        t->failed++;
        if (!t->failure || says(x, rank) > says(t->failure, rank))
            t->failure = x;
    }
}

int64_t ni_least_percent(const struct ni_rail_tally *t)
{
    return t->send.percent < t->receive.percent ? t->send.percent : t->receive.percent;
}

static enum ni_rail_verdict verdict_of(const struct ni_job *job, unsigned rank, unsigned rail)
{
    const struct ni_rail_tally *t = ni_tally_of(job, rank, rail);

    if (!is_here(job, rank))
        return NI_RAIL_GONE;
    if (rail >= job->pod[rank].n_rail)
        return NI_RAIL_ABSENT;
    if (t->passed == 0)
        return t->failed > 0 ? NI_RAIL_FAILED : NI_RAIL_UNTRIED;
    if (t->measured < 2 || t->send.percent == 0 || t->receive.percent == 0)
        return NI_RAIL_GOOD;
    const int64_t enough = job->pod[rank].rail[rail].software ? HALF : SLOW;
    return ni_least_percent(t) < enough ? NI_RAIL_SLOW : NI_RAIL_GOOD;
}

/* Judges a pair that failed: it is the path if both ends passed with others. Then neither end is
   blamed alone. two: only two pods have the rail. */
static void judge_path(const struct ni_job *job, struct ni_pair_result *x, bool two)
{
    struct ni_rail_tally *from = ni_tally_of(job, x->pair.from, x->pair.rail);
    struct ni_rail_tally *to = ni_tally_of(job, x->pair.to, x->pair.rail);
    struct ni_rail_tally *const ends[] = {from, to};
    const bool failed = x->round < full_rounds(job) && x->step != NI_PAIR_DONE && !ni_is_own(x);
    const bool gone = from->verdict == NI_RAIL_GONE || to->verdict == NI_RAIL_GONE;

    x->path = failed && !gone && ((from->passed > 0 && to->passed > 0) || two);
    for (unsigned k = 0; x->path && k < NI_COUNT(ends); k++) {
        if (ends[k]->verdict != NI_RAIL_PATH)
            ends[k]->failure = x;
        if (from->passed_again != x->pair.to + 1)
            ends[k]->verdict = NI_RAIL_PATH;
    }
}

void ni_tally(struct ni_job *job)
{
    bool two[NI_MAX_RAILS];

    memset(job->tally, 0, (size_t)job->ranks * job->n_rail * sizeof(job->tally[0]));
    job->median = median_of(job);
    for (unsigned i = 0; i < job->n_result; i++) {
        count(job, &job->result[i], SENDS);
        count(job, &job->result[i], RECEIVES);
    }
    for (unsigned r = 0; r < job->n_rail; r++) {
        two[r] = ni_count_rails(job, r, ni_takes_part) == 2;
        for (unsigned p = 0; p < job->ranks; p++)
            ni_tally_of(job, p, r)->verdict = verdict_of(job, p, r);
    }
    for (unsigned i = 0; i < job->n_result; i++)
        judge_path(job, &job->result[i], two[job->result[i].pair.rail]);
}

/* ---- which pairs next ---- */

static void add_pair(struct ni_job *job, unsigned from, unsigned to, unsigned rail)
{
    struct ni_rail_tally *a = ni_tally_of(job, from, rail), *b = ni_tally_of(job, to, rail);

    if (from == to || (a->busy & SENDS) || (b->busy & RECEIVES))
        return;
    a->busy |= SENDS;
    b->busy |= RECEIVES;
    job->result[job->n_result++] =
        (struct ni_pair_result){.pair = {from, to, rail}, .round = job->rounds};
}

/* Returns the next pod after `p`, in a circle, whose rail satisfies `is`; there must be one. */
static unsigned next_of(const struct ni_job *job, unsigned p, unsigned rail, ni_rail_is *is)
{
    do {
        p = p + 1 < job->ranks ? p + 1 : 0;
    } while (!is(job, p, rail));
    return p;
}

/* Adds a pair of each pod with the one `ahead` of it, so that every rail has both roles at once. */
static void add_ring(struct ni_job *job, unsigned rail, unsigned n, unsigned ahead)
{
    unsigned from = next_of(job, job->ranks - 1, rail, ni_takes_part), to = from;

    for (unsigned i = 0; i < ahead; i++)
        to = next_of(job, to, rail, ni_takes_part);
    for (unsigned i = 0; i < n; i++) {
        add_pair(job, from, to, rail);
        from = next_of(job, from, rail, ni_takes_part);
        to = next_of(job, to, rail, ni_takes_part);
    }
}

static bool is_suspect(const struct ni_job *job, unsigned rank, unsigned rail)
{
    const enum ni_rail_verdict v = ni_tally_of(job, rank, rail)->verdict;

    return v == NI_RAIL_FAILED || v == NI_RAIL_SLOW;
}

static bool is_good(const struct ni_job *job, unsigned rank, unsigned rail)
{
    return ni_tally_of(job, rank, rail)->verdict == NI_RAIL_GOOD;
}

/* Adds for each suspect a pair in both roles, with good rails that were not its partners before, if
   there are enough; if no rail is good, the ring again with new queue pairs. */
static void add_suspects(struct ni_job *job, unsigned rail)
{
    const unsigned suspects = ni_count_rails(job, rail, is_suspect);
    const unsigned good = ni_count_rails(job, rail, is_good);

    if (suspects == 0)
        return;
    if (good == 0) {
        add_ring(job, rail, ni_count_rails(job, rail, ni_takes_part), 1);
        return;
    }
    /* the first partner is not its neighbour */
    unsigned partner = next_of(job, job->ranks - 1, rail, is_suspect) + 1;
    for (enum role role = SENDS; role <= RECEIVES; role++) {
        unsigned p = job->ranks - 1;

        for (unsigned i = 0; i < suspects && i < good; i++) {
            p = next_of(job, p, rail, is_suspect);
            partner = next_of(job, partner, rail, is_good);
            add_pair(job, role == SENDS ? p : partner, role == SENDS ? partner : p, rail);
        }
    }
}

bool ni_next_round(struct ni_job *job)
{
    const unsigned full = full_rounds(job), before = job->n_result;

    ni_tally(job);
    for (unsigned r = 0; job->rounds < full && r < job->n_rail; r++) {
        const unsigned n = ni_count_rails(job, r, ni_takes_part);

        if (job->rounds == 0 ? n > 1 : n > 3)
            add_ring(job, r, n, job->rounds == 0 ? 1 : n / 2);
    }
    if (job->n_result == before && job->rounds > 0 && job->rounds <= full) {
        for (unsigned i = 0; i < before; i++) { /* a bad path: the same pair again */
            const struct ni_pair *pair = &job->result[i].pair;

            if (job->result[i].path)
                add_pair(job, pair->from, pair->to, pair->rail);
        }
        for (unsigned r = 0; r < job->n_rail; r++)
            add_suspects(job, r);
    }
    job->rounds += job->n_result > before;
    return job->n_result > before;
}
