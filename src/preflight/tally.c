/* SPDX-License-Identifier: Apache-2.0 */
/* The tally: the results of each rail, and the verdict on it. */
#include "preflight/tally.h"

#include <errno.h>
#include <string.h>

#include "nccl_init/known.h"
#include "preflight/job.h"
#include "preflight/neighbours.h"
#include "rail/step.h"
#include "rail/task.h"

enum {
    SLOW = 70,      /* percent of the median: a rail below it is slow */
    HALF = 50,      /* the same for software RDMA, whose speed varies */
    SLOW_PAIR = 40, /* percent of the median pair: less is slow as a whole (paths.c SUSPECT_PAIR) */
    STARVED = 60    /* the same for the pairs that a pod begins, one of which is slow alone, too */
};

static bool is_here(const struct ni_job *job, unsigned rank)
{
    return job->pod[rank].here && job->missing[rank] == NI_POD_CAME;
}

bool ni_is_free(const struct ni_job *job, const struct ni_pair *pair)
{
    return is_here(job, pair->from) && is_here(job, pair->to) &&
           !(ni_tally_of(job, pair->from, pair->rail)->busy & NI_SENDS) &&
           !(ni_tally_of(job, pair->to, pair->rail)->busy & NI_RECEIVES);
}

bool ni_takes_part(const struct ni_job *job, unsigned rank, unsigned rail)
{
    return is_here(job, rank) && ni_has_rail(job, rank, rail) &&
           !job->pod[rank].rail[rail].untried[0];
}

bool ni_is_bad_port(const struct ni_job *job, unsigned rank, unsigned rail)
{
    const enum ni_rail_verdict v = ni_tally_of(job, rank, rail)->verdict;

    return v == NI_RAIL_FAILED || v == NI_RAIL_SLOW || v == NI_RAIL_LOSSY;
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

int64_t ni_pair_rate(const struct ni_job *job, const struct ni_pair *pair)
{
    const int64_t from = rate_of(job, pair->from, pair->rail);
    const int64_t to = rate_of(job, pair->to, pair->rail);

    return from < to ? from : to;
}

unsigned ni_moved_at_once(const struct ni_pair_result *x)
{
    const unsigned all = x->queues != 0 ? (unsigned)__builtin_popcount(x->queues) : NI_MAX_QUEUES;

    if (x->again != 0 && !x->software)
        return 1;
    return all < NI_PATH_BATCH ? all : NI_PATH_BATCH;
}

/* Returns the rate that so many queue pairs can reach over the round trip of the pair. */
static int64_t rate_in_flight(const struct ni_pair_result *x, enum ni_way way, unsigned queues)
{
    const int64_t bytes = way == NI_WRITES ? NI_WRITES_IN_FLIGHT : NI_READS_IN_FLIGHT;

    if (x->software || x->latency_ns <= 0)
        return x->rate;
    const int64_t mbps = bytes * queues * 8 * 1000 / x->latency_ns;
    return mbps > 0 && mbps < x->rate ? mbps : x->rate;
}

int64_t ni_share_of_rate(const struct ni_pair_result *x, int64_t mbps, enum ni_way way,
                         unsigned queues)
{
    const int64_t rate = rate_in_flight(x, way, queues);
    const int64_t share = rate > 0 ? mbps * NI_JOB_PARTS / rate : 0;

    return share < INT32_MAX ? share : INT32_MAX;
}

/* Returns the share of a pair that passed; 0 of another. */
static int64_t share_of(const struct ni_pair_result *x, enum ni_way way)
{
    const int64_t mbps = way == NI_WRITES ? x->write_mbps : x->read_mbps;

    return x->step == NI_PAIR_DONE ? ni_share_of_rate(x, mbps, way, ni_moved_at_once(x)) : 0;
}

int64_t ni_median(ni_count_around *count, const void *of)
{
    int64_t low = 0, high = INT32_MAX;

    while (low + 1 < high) {
        const int64_t middle = low + (high - low) / 2;
        struct ni_around around = {0, 0};

        count(of, middle, &around);
        if (around.below > around.above)
            high = middle;
        else
            low = middle;
    }
    return high;
}

/* The pairs inside leaves, or those between leaves. */
struct shares {
    const struct ni_job *job;
    bool near;
};

/* Counts the writes and reads of the full rounds, in which all rails share the fabric. */
static void count_shares(const void *of, int64_t middle, struct ni_around *ret)
{
    const struct shares *s = of;

    for (unsigned i = 0; i < 2 * s->job->n_result; i++) {
        const struct ni_pair_result *x = &s->job->result[i / 2];

        if (!x->full || x->near != s->near)
            continue;
        const int64_t share = share_of(x, i % 2 ? NI_READS : NI_WRITES);

        ret->below += share > 0 && share <= middle;
        ret->above += share > middle;
    }
}

/* Finds the medians. Below a fabric that gives each pod a part of its rate, pairs inside a leaf have
   more: like is compared with like. */
static void find_medians(struct ni_job *job)
{
    const int64_t near = ni_median(count_shares, &(struct shares){job, true});
    const int64_t far = ni_median(count_shares, &(struct shares){job, false});
    const bool none = near == INT32_MAX;

    job->far_median = far;
    job->median = none || (far > near && far < INT32_MAX) ? far : near;
}

/* Returns true if the pair says how fast the port is: its partner is as fast, and no round trip
   between leaves limits it, if it has partners at its leaf. */
static bool shows_port(const struct ni_job *job, const struct ni_pair_result *x, unsigned rank)
{
    const struct ni_rail_tally *t = ni_tally_of(job, rank, x->pair.rail);
    const unsigned queues = ni_moved_at_once(x);
    const bool limited = rate_in_flight(x, NI_READS, queues) < x->rate;

    return x->rate >= rate_of(job, rank, x->pair.rail) && (x->near || !t->near || !limited);
}

/* Keeps the better measurement. If one of the two rates is not known there is none. */
static void take_best(struct ni_rail_tally *t, bool sends, const struct ni_job *job,
                      const struct ni_pair_result *x, enum ni_way way)
{
    struct ni_flow *best = sends ? &t->send : &t->receive;
    const int64_t median = t->near ? job->median : job->far_median;
    const int64_t percent = ni_divide_measured(share_of(x, way) * 100, median);
    const int64_t mbps = way == NI_WRITES ? x->write_mbps : x->read_mbps;
    const bool writer = sends == (way == NI_WRITES);

    best->mbps = mbps > best->mbps ? mbps : best->mbps;
    if (shows_port(job, x, writer ? x->pair.from : x->pair.to) && percent > best->percent)
        best->percent = percent;
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
   rail may be the cause. What only tries paths again does not count. */
static void count(const struct ni_job *job, const struct ni_pair_result *x, enum ni_busy role)
{
    const struct ni_pair *pair = &x->pair;
    const unsigned rank = role == NI_SENDS ? pair->from : pair->to;
    struct ni_rail_tally *t = ni_tally_of(job, rank, pair->rail);

    if (x->again != 0)
        return;
    if (ni_is_misled(x)) {
        t->misled++;
        return;
    }
    if (x->step == NI_PAIR_DONE) {
        t->passed++;
        t->measured += share_of(x, NI_WRITES) > 0;
        take_best(t, role == NI_SENDS, job, x, NI_WRITES);
        take_best(t, role == NI_RECEIVES, job, x, NI_READS);
        t->latency_ns = t->latency_ns ? t->latency_ns : x->latency_ns;
        t->slowest_ns = x->slowest_ns > t->slowest_ns ? x->slowest_ns : t->slowest_ns;
        if (role == NI_SENDS && !x->full)
            t->passed_again = pair->to + 1;
    } else if (is_here(job, pair->from) && is_here(job, pair->to) &&
               (!ni_is_own(x) || x->at_to == (role == NI_RECEIVES))) {
        t->failed++;
        if (!t->failure || says(x, rank) > says(t->failure, rank))
            t->failure = x;
    }
}

int64_t ni_least_percent(const struct ni_rail_tally *t)
{
    return t->send.percent < t->receive.percent ? t->send.percent : t->receive.percent;
}

bool ni_passed_again(const struct ni_job *job, const struct ni_pair *pair)
{
    return ni_tally_of(job, pair->from, pair->rail)->passed_again == pair->to + 1;
}

/* Returns true if the port failed by itself in one of its trials. That it passed before is no
   excuse: its link may have gone down in the middle. */
static bool fails_by_itself(const struct ni_rail_tally *t)
{
    return t->failure && ni_is_own(t->failure);
}

static enum ni_rail_verdict verdict_of(const struct ni_job *job, unsigned rank, unsigned rail)
{
    const struct ni_rail_tally *t = ni_tally_of(job, rank, rail);

    if (!is_here(job, rank))
        return NI_RAIL_GONE;
    if (!ni_has_rail(job, rank, rail))
        return NI_RAIL_ABSENT;
    if (fails_by_itself(t))
        return NI_RAIL_FAILED;
    if (t->passed == 0)
        return t->failed > 0 ? NI_RAIL_FAILED : NI_RAIL_UNTRIED;
    if (t->loses > 1 && !t->loses_beside)
        return NI_RAIL_LOSSY;
    if (t->measured < 2 || t->send.percent == 0 || t->receive.percent == 0)
        return NI_RAIL_GOOD;
    const int64_t enough = job->pod[rank].rail[rail].software ? HALF : SLOW;
    return ni_least_percent(t) < enough ? NI_RAIL_SLOW : NI_RAIL_GOOD;
}

/* Judges a pair that failed: it is the path if both ends passed with others, and neither fails by
   itself. Then neither end is blamed alone; a pair that failed only once leaves their verdicts as
   they are. two: only two pods have the rail, so there are no others to pass with. */
static void judge_path(const struct ni_job *job, struct ni_pair_result *x, bool two)
{
    struct ni_rail_tally *from = ni_tally_of(job, x->pair.from, x->pair.rail);
    struct ni_rail_tally *to = ni_tally_of(job, x->pair.to, x->pair.rail);
    struct ni_rail_tally *const ends[] = {from, to};
    const bool failed = x->full && x->step != NI_PAIR_DONE && !ni_is_own(x) && !ni_is_misled(x);
    const bool gone = from->verdict == NI_RAIL_GONE || to->verdict == NI_RAIL_GONE;
    const bool own = fails_by_itself(from) || fails_by_itself(to);
    const bool both_passed = from->passed > 0 && to->passed > 0;
    const bool passed_later = ni_passed_again(job, &x->pair);

    x->path = failed && !gone && !own && (both_passed || two);
    if (!x->path)
        return;
    for (unsigned k = 0; k < NI_COUNT(ends); k++) {
        if (ends[k]->verdict != NI_RAIL_PATH)
            ends[k]->failure = x;
        if (!passed_later)
            ends[k]->verdict = NI_RAIL_PATH;
    }
}

/* Notes that the rail lost packets with that partner, whatever the path. */
static void note_loss(struct ni_rail_tally *t, unsigned partner)
{
    if (t->loses == 0)
        t->loses_to = partner;
    if (t->loses == 0 || t->loses_to != partner)
        t->loses++;
}

/* Notes for the two ends of a pair that loses packets that both lose them with others, too. The cable
   of one port loses with all partners, and each of these loses with this port alone. Where both ends
   lose with others, the fault may lie between two groups of pods. */
static void compare_losses(const struct ni_job *job, const struct ni_pair_result *x)
{
    struct ni_rail_tally *from = ni_tally_of(job, x->pair.from, x->pair.rail);
    struct ni_rail_tally *to = ni_tally_of(job, x->pair.to, x->pair.rail);

    if (!x->end_loses || from->loses < 2 || to->loses < 2)
        return;
    from->loses_beside = true;
    to->loses_beside = true;
}

/* Notes of a pair of a full round what it says about its ends beyond its speed. */
static void note_ends(struct ni_job *job, const struct ni_pair_result *x)
{
    struct ni_rail_tally *from = ni_tally_of(job, x->pair.from, x->pair.rail);
    struct ni_rail_tally *to = ni_tally_of(job, x->pair.to, x->pair.rail);
    const int64_t write = share_of(x, NI_WRITES), read = share_of(x, NI_READS);
    const int64_t least = write < read ? write : read;
    unsigned slow = 0, settled = 0;

    if (x->end_loses) {
        note_loss(from, x->pair.to);
        note_loss(to, x->pair.from);
    }
    if (!x->full || x->step != NI_PAIR_DONE)
        return;
    for (unsigned q = 0; q < x->n_queue; q++) {
        const enum ni_path_verdict v = x->queue[q].verdict;

        slow += x->queue[q].step == NI_PAIR_DONE && (v == NI_PATH_SUSPECT || v == NI_PATH_SLOW);
        settled += v == NI_PATH_SLOW;
    }
    /* a queue pair is also suspected for what its port sent again, where full switches drop packets */
    const bool whole = slow > 0 && slow == x->n_queue && least * 100 < x->pair_median * SLOW_PAIR;

    to->met_slow += whole;
    /* pairs between leaves may all be slow: they show that a pod is not, but not that it is */
    const int64_t usual = from->began_near ? job->median : x->pair_median;
    const int64_t percent = usual > 0 ? least * 100 / usual : 100;

    from->began++;
    from->began_settled += whole && settled > 0 && (x->near || !from->began_near);
    if (percent > from->began_best && (!from->began_near || shows_port(job, x, x->pair.from)))
        from->began_best = percent;
}

/* Finds the pods that are slow where they begin, with every partner, and never where others begin:
   the device answers those by itself, and only what a pod begins needs its processors. */
static void find_starved(struct ni_job *job)
{
    for (unsigned p = 0; p < job->ranks; p++) {
        unsigned began = 0, settled = 0, met = 0;
        int64_t best = 0;

        for (unsigned r = 0; r < job->n_rail; r++) {
            const struct ni_rail_tally *t = ni_tally_of(job, p, r);

            began += t->began;
            settled += t->began_settled;
            met += t->met_slow;
            best = t->began_best > best ? t->began_best : best;
        }
        for (unsigned r = 0; r < job->n_rail; r++) {
            struct ni_rail_tally *t = ni_tally_of(job, p, r);

            t->starved = settled > 0 && best < STARVED && met == 0 && (began > 1 || t->began_near);
        }
    }
}

/* Notes for the ends of a pair inside a leaf that they were measured there. */
static void note_near(const struct ni_job *job, const struct ni_pair_result *x)
{
    if (!x->near || x->again != 0 || share_of(x, NI_WRITES) == 0)
        return;
    ni_tally_of(job, x->pair.from, x->pair.rail)->near = true;
    ni_tally_of(job, x->pair.from, x->pair.rail)->began_near = true;
    ni_tally_of(job, x->pair.to, x->pair.rail)->near = true;
}

void ni_tally(struct ni_job *job)
{
    bool two[NI_MAX_RAILS];

    ni_forget_routers(job);
    memset(job->tally, 0, (size_t)job->ranks * job->n_rail * sizeof(job->tally[0]));
    find_medians(job);
    for (unsigned i = 0; i < job->n_result; i++)
        note_near(job, &job->result[i]);
    for (unsigned i = 0; i < job->n_result; i++) {
        count(job, &job->result[i], NI_SENDS);
        count(job, &job->result[i], NI_RECEIVES);
        note_ends(job, &job->result[i]);
    }
    for (unsigned i = 0; i < job->n_result; i++)
        compare_losses(job, &job->result[i]);
    find_starved(job);
    for (unsigned r = 0; r < job->n_rail; r++) {
        two[r] = ni_count_rails(job, r, ni_takes_part) == 2;
        for (unsigned p = 0; p < job->ranks; p++)
            ni_tally_of(job, p, r)->verdict = verdict_of(job, p, r);
    }
    for (unsigned i = 0; i < job->n_result; i++)
        judge_path(job, &job->result[i], two[job->result[i].pair.rail]);
}
