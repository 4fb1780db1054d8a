/* SPDX-License-Identifier: Apache-2.0 */
/* Paths: each queue pair of a pair of pods is judged by itself, for the switches send each of them
   over one of several equal paths, by a hash of its number. What is suspected in a round of many
   pairs is tried again with the same queue pairs: what failed, or lost something, at once; what was
   slow one pair after another, because those that share a link would only share it again. Beside
   them runs a control, a queue pair of the same two ports that was good. What is bad even then,
   where the control is good, is a bad path. */
#include "preflight/paths.h"

#include <string.h>

#include "nccl_init/base.h"
#include "preflight/job.h"
#include "preflight/tally.h"
#include "rail/step.h"

/* The limits were chosen by the model of a fabric, tests/preflight/fabric.c. */
enum {
    SUSPECT = 30, /* percent of the median queue pair of its round: less is tried again */
    /* the same where they are few: of a path at a tenth of its rate that no other takes a queue pair has
       two fifths of the median, and of a busy fabric some have that everywhere */
    SUSPECT_ALONE = 50,
    FEW = 6,
    SUSPECT_PAIR = 40, /* percent of the median pair: less, and all its queue pairs are */
    SLOW = 40,         /* percent of what a pair moves in the median, of a queue pair alone */
    /* the same, of one that had SUSPECT or more, for others' flows leave it a third; and of what good queue
       pairs have alone */
    SLOW_ALONE = 20,
    /* so often it is slow before it is called that, apart in time: others may have filled it, or
       flow control stopped it, for a moment */
    TRIES = 4,
    /* percent of the rate: who resends and has less shares the path with others, and a full switch
       without flow control drops packets */
    FULL = 70,
    LOSSY = 3,   /* late acknowledgements on a quiet fabric; fewer may be a host's */
    FAILED = -2, /* scores below all others */
    LATE = -1,
    UNMEASURED = 100,
    RESENDS = 101 /* ... above them: what is slow is tried first */
};

/* ---- medians ---- */

/* What is measured in a round: the speed of each queue pair or of each pair, both ways; and how
   alike the two ways of each are, in percent. */
enum measure { QUEUE_SPEED, PAIR_SPEED, QUEUE_ALIKE, PAIR_ALIKE };

static int64_t alike(int64_t a, int64_t b)
{
    if (a <= 0 || b <= 0)
        return 0;
    return a < b ? a * 100 / b : b * 100 / a;
}

/* Returns the number of measurements of a pair. */
static unsigned count_measured(const struct ni_pair_result *x, enum measure what)
{
    static const unsigned of_each[] = {
        [QUEUE_SPEED] = 2, [PAIR_SPEED] = 2, [QUEUE_ALIKE] = 1, [PAIR_ALIKE] = 1};
    const bool queues = what == QUEUE_SPEED || what == QUEUE_ALIKE;

    return of_each[what] * (queues ? x->n_queue : 1);
}

/* Returns the measurement number i of a pair; 0: there is none. */
static int64_t measure(const struct ni_pair_result *x, unsigned i, enum measure what)
{
    const enum ni_way way = i % 2 ? NI_READS : NI_WRITES;
    int64_t mbps;

    switch (what) {
    case QUEUE_SPEED:
        mbps = way == NI_READS ? x->queue[i / 2].read_mbps : x->queue[i / 2].write_mbps;
        return ni_share_of_rate(x, mbps, way, 1);
    case PAIR_SPEED:
        mbps = way == NI_READS ? x->read_mbps : x->write_mbps;
        return ni_share_of_rate(x, mbps, way, ni_moved_at_once(x));
    case QUEUE_ALIKE:
        return alike(x->queue[i].write_mbps, x->queue[i].read_mbps);
    case PAIR_ALIKE:
        return alike(x->write_mbps, x->read_mbps);
    }
    return 0;
}

/* The measurements of one kind of a rail in the last round, of pairs inside leaves or between them. */
struct sample {
    const struct ni_job *job;
    unsigned rail;
    bool near;
    enum measure what;
};

static void count_sample(const void *of, int64_t middle, struct ni_around *ret)
{
    const struct sample *s = of;

    for (unsigned k = s->job->since; k < s->job->n_result; k++) {
        const struct ni_pair_result *x = &s->job->result[k];
        const unsigned n = count_measured(x, s->what);

        for (unsigned i = 0; i < n && x->pair.rail == s->rail && x->near == s->near; i++) {
            const int64_t it = measure(x, i, s->what);

            ret->below += it > 0 && it <= middle;
            ret->above += it > middle;
        }
    }
}

/* Returns the median of those that were measured; 0: none was. */
static int64_t median_in(const struct ni_job *job, unsigned rail, bool near, enum measure what)
{
    const struct sample sample = {job, rail, near, what};
    const int64_t median = ni_median(count_sample, &sample);

    return median < INT32_MAX ? median : 0;
}

/* ---- suspects ---- */

/* Returns true if a port of the pair is to blame, whose rules see to it. */
static bool has_bad_port(const struct ni_job *job, const struct ni_pair *pair)
{
    return ni_is_bad_port(job, pair->from, pair->rail) || ni_is_bad_port(job, pair->to, pair->rail);
}

/* Returns the queue pairs of a pair that have a result, as bits. */
static unsigned queues_of(const struct ni_pair_result *x)
{
    return (1U << x->n_queue) - 1;
}

/* Returns those of them that were asked for. */
static unsigned tried_queues(const struct ni_pair_result *x)
{
    return x->queues == 0 ? queues_of(x) : x->queues & queues_of(x);
}

/* Returns the slower direction of a pair, in parts of the rate. */
static int64_t least_of_pair(const struct ni_pair_result *x)
{
    const int64_t write = measure(x, 0, PAIR_SPEED), read = measure(x, 1, PAIR_SPEED);

    return write < read ? write : read;
}

/* Returns the slower direction of a queue pair, in parts of the rate. */
static int64_t least_of(const struct ni_pair_result *x, unsigned q)
{
    const int64_t write = measure(x, 2 * q, QUEUE_SPEED);
    const int64_t read = measure(x, 2 * q + 1, QUEUE_SPEED);

    return write < read ? write : read;
}

/* Returns true if packets were sent again while the queue pair moved. Devices with adaptive
   retransmission do so after microseconds: no acknowledgement is late, and the rate hardly tells it.
   SoftRoCE loses packets when the host is busy. */
static bool resends(const struct ni_pair_result *x, unsigned q)
{
    return !x->software && x->queue[q].resent >= NI_MANY_RESENT;
}

/* Rates a queue pair: the worse, the less; in percent of the median, where it was measured. Which
   of its queue pairs a host with software RDMA serves first says nothing: there the pair counts. */
static int64_t score_of(const struct ni_pair_result *x, unsigned q)
{
    const int64_t least = x->software ? least_of_pair(x) : least_of(x, q);
    const int64_t median = x->software ? x->pair_median : x->queue_median;

    if (x->queue[q].step != NI_PAIR_DONE)
        return FAILED;
    if (x->queue[q].late > 0)
        return LATE;
    if (resends(x, q) && least * 100 >= median * SUSPECT)
        return RESENDS + INT32_MAX / x->queue[q].resent;
    return median > 0 && least > 0 ? least * 100 / median : UNMEASURED;
}

/* What is suspected in a round, in percent of its medians. */
struct limits {
    int64_t queue, pair;
};

/* Returns the limit for one kind of measurement. A path is slow both ways in few pairs; where the
   two ways of most pairs differ, the measurement itself is so rough, and by chance twice as rough.
   */
static int64_t suspect_below(const struct ni_job *job, unsigned rail, bool near, enum measure alike,
                             int64_t most)
{
    const int64_t percent = median_in(job, rail, near, alike), limit = percent * percent / 100;

    return limit > 0 && limit < most ? limit : most;
}

/* Marks the suspects of one pair. If all of them are, they must be slow together as well: a pair
   that shares its port's rate with nobody else. */
static void suspect(struct ni_pair_result *x, const struct limits *limits)
{
    const int64_t least = least_of_pair(x);
    const bool slow = least > 0 && least * 100 < x->pair_median * limits->pair;
    const int64_t enough = x->software ? 0 : limits->queue;
    unsigned suspects = 0, tried = 0;

    for_each_queue (q, tried_queues(x)) {
        const bool bad = score_of(x, q) < enough || slow || resends(x, q);

        x->queue[q].verdict = bad ? NI_PATH_SUSPECT : NI_PATH_GOOD;
        suspects += bad;
        tried++;
    }
    if (suspects < tried || slow)
        return;
    for_each_queue (q, queues_of(x))
        if (score_of(x, q) >= 0 && !resends(x, q))
            x->queue[q].verdict = NI_PATH_GOOD;
}

/* Counts the queue pairs of a rail that have less than that, in percent of the median. */
static unsigned count_below(const struct ni_job *job, unsigned rail, bool near, int64_t limit)
{
    unsigned n = 0;

    for (unsigned k = job->since; k < job->n_result; k++) {
        const struct ni_pair_result *x = &job->result[k];

        if (x->pair.rail != rail || x->near != near || x->step != NI_PAIR_DONE)
            continue;
        for_each_queue (q, tried_queues(x)) {
            const int64_t least = least_of(x, q);

            n += least > 0 && least * 100 < x->queue_median * limit;
        }
    }
    return n;
}

/* Marks the suspects of a rail among the pairs inside leaves, or among those between them. */
static void suspect_like(struct ni_job *job, unsigned rail, bool near)
{
    const int64_t queue = median_in(job, rail, near, QUEUE_SPEED);
    const int64_t pair = median_in(job, rail, near, PAIR_SPEED);
    struct limits limits = {suspect_below(job, rail, near, QUEUE_ALIKE, SUSPECT_ALONE),
                            suspect_below(job, rail, near, PAIR_ALIKE, SUSPECT_PAIR)};

    for (unsigned k = job->since; k < job->n_result; k++) {
        struct ni_pair_result *x = &job->result[k];

        if (x->pair.rail != rail || x->near != near)
            continue;
        x->queue_median = queue;
        x->pair_median = pair;
    }
    if (limits.queue > SUSPECT && count_below(job, rail, near, limits.queue) > FEW)
        limits.queue = SUSPECT;
    for (unsigned k = job->since; k < job->n_result; k++) {
        struct ni_pair_result *x = &job->result[k];

        if (x->pair.rail == rail && x->near == near && x->step == NI_PAIR_DONE)
            suspect(x, &limits);
    }
}

void ni_find_suspects(struct ni_job *job)
{
    for (unsigned r = 0; r < job->n_rail; r++) {
        suspect_like(job, r, false);
        suspect_like(job, r, true);
    }
}

/* Returns the worst score of the pair's suspects that failed or were late, or of those that were
   slow; INT64_MAX: there are none. */
static int64_t worst_score(const struct ni_pair_result *x, enum ni_suspects kind)
{
    int64_t worst = INT64_MAX;

    for_each_queue (q, queues_of(x)) {
        if (x->queue[q].verdict != NI_PATH_SUSPECT)
            continue;
        const int64_t score = score_of(x, q);

        if ((score < 0) == (kind == NI_SUSPECTS_FAILED) && score < worst)
            worst = score;
    }
    return worst;
}

const struct ni_pair_result *ni_worst_suspect(const struct ni_job *job, unsigned rail,
                                              enum ni_suspects kind)
{
    const struct ni_pair_result *worst = NULL;
    int64_t least = INT64_MAX;

    for (unsigned k = job->since; k < job->n_result; k++) {
        const struct ni_pair_result *x = &job->result[k];

        if (x->pair.rail != rail || x->again != 0 || !ni_is_free(job, &x->pair) ||
            (kind == NI_SUSPECTS_SLOW && has_bad_port(job, &x->pair)))
            continue;
        const int64_t score = worst_score(x, kind);

        if (score >= least)
            continue;
        least = score;
        worst = x;
    }
    return worst;
}

/* Returns true if the queue pair may be the control of suspects of that kind: it is no suspect; or, beside
   what failed or was late, only one whose port sent something again, as all do where full switches drop
   packets. */
static bool may_control(const struct ni_pair_result *x, unsigned q, enum ni_suspects kind,
                        bool strict)
{
    if (x->queue[q].step != NI_PAIR_DONE)
        return false;
    if (x->queue[q].verdict == NI_PATH_GOOD)
        return true;
    return !strict && kind == NI_SUSPECTS_FAILED && x->queue[q].verdict == NI_PATH_SUSPECT &&
           score_of(x, q) > UNMEASURED;
}

/* Returns the control: the fastest queue pair of x among those that may be it. It is tried again with the
   suspects, and shows that both ports can be fast. NI_MAX_QUEUES: there is none. */
static unsigned control_of(const struct ni_pair_result *x, enum ni_suspects kind)
{
    unsigned best = NI_MAX_QUEUES;

    for (unsigned strict = 2; strict-- > 0 && best == NI_MAX_QUEUES;) {
        int64_t most = -1;

        for_each_queue (q, queues_of(x)) {
            if (!may_control(x, q, kind, strict == 1))
                continue;
            const int64_t least = least_of(x, q);

            if (least <= most)
                continue;
            most = least;
            best = q;
        }
    }
    return best;
}

bool ni_is_good_pair(const struct ni_pair_result *x)
{
    if (x->step != NI_PAIR_DONE)
        return false;
    for_each_queue (q, tried_queues(x))
        if (x->queue[q].step != NI_PAIR_DONE || x->queue[q].verdict != NI_PATH_GOOD)
            return false;
    return true;
}

unsigned ni_queues_again(const struct ni_pair_result *x, enum ni_suspects kind,
                         uint8_t *ret_control)
{
    const unsigned control = control_of(x, kind);
    unsigned set = control < NI_MAX_QUEUES ? 1U << control : 0;

    for_each_queue (q, queues_of(x))
        if (x->queue[q].verdict == NI_PATH_SUSPECT &&
            (score_of(x, q) < 0) == (kind == NI_SUSPECTS_FAILED))
            set |= 1U << q;
    *ret_control = (uint8_t)control;
    return set;
}

/* ---- what a quiet round says ---- */

/* Returns the ways in which a queue pair has less than that, in parts of the rate. */
static unsigned ways_below(const struct ni_pair_result *x, unsigned q, int64_t limit)
{
    const enum measure what = x->software ? PAIR_SPEED : QUEUE_SPEED;
    const unsigned i = x->software ? 0 : 2 * q;
    const bool writes = measure(x, i, what) < limit;
    const bool reads = measure(x, i + 1, what) < limit;
    unsigned ways = 0;

    if (writes)
        ways |= NI_WAY_WRITES;
    if (reads)
        ways |= NI_WAY_READS;
    return ways;
}

/* What queue pairs have alone, in parts of the rate. */
struct alone {
    int64_t
        usual; /* what a pair moves in the median, but not more than `best`; 0: others move as well */
    int64_t best; /* of those that are good; 0: none was tried */
};

/* Returns the rate below which a queue pair of the pair is slow alone. */
static int64_t slow_below(const struct ni_pair_result *of, unsigned q, const struct alone *alone)
{
    const int64_t score = score_of(of, q);
    const bool mild = score >= SUSPECT && score < UNMEASURED &&
                      least_of_pair(of) * 100 >= of->pair_median * SUSPECT_PAIR;
    const int64_t of_usual = alone->usual * (mild ? SLOW_ALONE : SLOW) / 100;
    const int64_t of_best = alone->best * SLOW_ALONE / 100;

    return of_usual > of_best ? of_usual : of_best;
}

/* Judges a queue pair that was tried again. usual: what a pair moves in the median; 0: its rate and
   what it sent again say nothing, for others moved as well. slow: less is slow. */
static enum ni_path_verdict judge(const struct ni_pair_result *x, unsigned q, int64_t usual,
                                  int64_t slow)
{
    if (x->queue[q].step != NI_PAIR_DONE)
        return NI_PATH_BROKEN;
    if (x->queue[q].late >= LOSSY)
        return NI_PATH_LOSSY;
    const int64_t least = x->software ? least_of_pair(x) : least_of(x, q);

    if (usual > 0 && resends(x, q) && least * 100 >= FULL * (int64_t)NI_JOB_PARTS)
        return NI_PATH_LOSSY;
    return least > 0 && least < slow ? NI_PATH_SLOW : NI_PATH_GOOD;
}

/* Returns true if it takes several tries to believe that: others may have filled the path, or made a
   switch drop packets, for a moment. An acknowledgement that is late shows the loss itself. */
static bool needs_tries(const struct ni_pair_result *x, unsigned q, enum ni_path_verdict verdict)
{
    return verdict == NI_PATH_SLOW || (verdict == NI_PATH_LOSSY && x->queue[q].late < LOSSY);
}

/* Returns true if the queue pair is tried again for what its port sent again, and for nothing else: it
   was not slow, and others may fill its path now. */
static bool only_resends(const struct ni_pair_result *of, unsigned q)
{
    return score_of(of, q) > UNMEASURED &&
           least_of_pair(of) * 100 >= of->pair_median * SUSPECT_PAIR;
}

/* Notes the ways in which a queue pair is slow in this try. Returns true if one of them was slow in all of
   its tries: a bad path is slow the same way each time, flow control stops one way and then the other. */
static bool is_slow_each_time(const struct ni_pair_result *x, struct ni_pair_result *of, unsigned q,
                              int64_t below)
{
    const unsigned slow = ways_below(x, q, below);

    of->queue[q].quick_ways |= (uint8_t)~slow;
    return (slow & ~(unsigned)of->queue[q].quick_ways) != 0;
}

/* Judges the queue pairs of a pair by another try. Returns true if enough is known of those that it
   takes several tries to believe. */
static bool settle_queues(const struct ni_pair_result *x, struct ni_pair_result *of,
                          const struct alone *alone, unsigned control)
{
    const unsigned asked = x->queues & queues_of(of);
    bool again = false;

    for_each_queue (q, asked) {
        const bool failed = of->queue[q].step != NI_PAIR_DONE;
        const int64_t below = slow_below(of, q, alone);
        enum ni_path_verdict is = NI_PATH_GOOD;

        /* what did not come so far as to move data says nothing of the path */
        if (tried_queues(x) & 1U << q)
            is = judge(x, q, alone->usual, below);
        if (is == NI_PATH_SLOW && (only_resends(of, q) || !is_slow_each_time(x, of, q, below)))
            is = NI_PATH_GOOD;
        again = again || needs_tries(x, q, is);
        if (q == control)
            continue;
        of->queue[q].verdict = failed && is == NI_PATH_GOOD ? NI_PATH_ONCE : is;
    }
    of->slow_tries += again;
    if (of->slow_tries >= TRIES)
        return true;
    for_each_queue (q, asked)
        if (q != control && needs_tries(x, q, of->queue[q].verdict))
            of->queue[q].verdict = NI_PATH_SUSPECT; /* to be tried once more */
    return false;
}

/* Finds what queue pairs of the rail have alone, where the last round was of such. One has only a part of
   the rate where a port has several planes, each with some of its queue pairs; and more than a pair has in
   a round of all, where the fabric gives each pod a part of its rate. */
static struct alone find_alone(const struct ni_job *job, const struct ni_pair_result *of)
{
    struct alone alone = {0, 0};

    if (job->kind != NI_ROUND_ALONE)
        return alone;
    for (unsigned k = job->since; k < job->n_result && !of->software; k++) {
        const struct ni_pair_result *x = &job->result[k];

        if (x->again == 0 || x->for_failed || x->pair.rail != of->pair.rail)
            continue;
        if (!(tried_queues(x) & 1U << x->control))
            continue;
        const int64_t least = least_of(x, x->control);

        alone.best = least > alone.best ? least : alone.best;
    }
    alone.usual = of->pair_median;
    if (alone.best > 0 && 2 * alone.best < alone.usual) /* less of a difference may be chance */
        alone.usual = alone.best;
    return alone;
}

/* Judges a pair by another try of its queue pairs. */
static void settle_path(const struct ni_job *job, const struct ni_pair_result *x,
                        struct ni_pair_result *of)
{
    const struct alone alone = find_alone(job, of);
    const unsigned control = x->control;
    const bool settled = settle_queues(x, of, &alone, control);
    unsigned late = 0, lossy = 0, tried = 0;

    for_each_queue (q, x->queues & queues_of(of)) {
        if (q == control)
            continue;
        lossy += of->queue[q].verdict >= NI_PATH_LOSSY;
        late += x->queue[q].late;
        tried++;
    }
    /* several paths at once, and none was good before */
    of->end_loses = of->end_loses || (control == NI_MAX_QUEUES && tried > 1 && lossy == tried);
    if (control == NI_MAX_QUEUES || !(tried_queues(x) & 1U << control))
        return;
    const struct ni_queue_result *beside = &x->queue[control];
    const enum ni_path_verdict its = judge(x, control, alone.usual, alone.usual * SLOW / 100);
    of->end_loses = of->end_loses || beside->step != NI_PAIR_DONE ||
                    (beside->late > 0 && late + beside->late >= LOSSY) ||
                    (settled && its == NI_PATH_LOSSY);
    if (its == NI_PATH_LOSSY && !settled)
        return;
    if (its == NI_PATH_GOOD || of->end_loses)
        return;
    for_each_queue (q, queues_of(of))
        of->queue[q].verdict = NI_PATH_GOOD; /* not the path: a port, whose rules see to it */
}

void ni_settle_paths(struct ni_job *job)
{
    for (unsigned k = job->n_result; k-- > 0 && job->result[k].round + 1 == job->rounds;) {
        const struct ni_pair_result *x = &job->result[k];

        if (x->again != 0)
            settle_path(job, x, &job->result[x->again - 1]);
    }
}

/* ---- bad paths ---- */

bool ni_is_bad_path(const struct ni_job *job, const struct ni_pair_result *x)
{
    bool bad = false;

    for_each_queue (q, queues_of(x))
        bad = bad || x->queue[q].verdict >= NI_PATH_SLOW;
    return bad && !has_bad_port(job, &x->pair) &&
           !ni_tally_of(job, x->pair.from, x->pair.rail)->starved;
}

void ni_mark_path_ends(struct ni_job *job)
{
    for (unsigned k = 0; k < job->n_result; k++) {
        const struct ni_pair_result *x = &job->result[k];
        struct ni_rail_tally *ends[] = {ni_tally_of(job, x->pair.from, x->pair.rail),
                                        ni_tally_of(job, x->pair.to, x->pair.rail)};

        if (!ni_is_bad_path(job, x))
            continue;
        for (unsigned i = 0; i < NI_COUNT(ends); i++)
            if (ends[i]->verdict == NI_RAIL_GOOD)
                ends[i]->verdict = NI_RAIL_PATH;
    }
}

unsigned ni_count_bad_paths(const struct ni_job *job, unsigned rail, unsigned since)
{
    unsigned n = 0;

    for (unsigned k = since; k < job->n_result; k++)
        n += job->result[k].pair.rail == rail && ni_is_bad_path(job, &job->result[k]);
    return n;
}

/* ---- names ---- */

bool ni_is_failed_path(const struct ni_job *job, const struct ni_pair_result *x)
{
    return x->path && !ni_passed_again(job, &x->pair);
}

static const char *leaf_of(const struct ni_job *job, unsigned rank)
{
    return job->pod[rank].here ? job->pod[rank].leaf : "";
}

/* Returns the number of such pairs of the rail of which one end is at that leaf. */
static unsigned count_at(const struct ni_job *job, unsigned rail, ni_pair_is *is, const char *leaf)
{
    unsigned n = 0;

    for (unsigned k = 0; k < job->n_result; k++) {
        const struct ni_pair_result *x = &job->result[k];
        const bool touches = strcmp(leaf_of(job, x->pair.from), leaf) == 0 ||
                             strcmp(leaf_of(job, x->pair.to), leaf) == 0;

        n += x->pair.rail == rail && touches && is(job, x);
    }
    return n;
}

/* Keeps the leaves that most bad pairs touch: adds this one, that `touched` of them touch, if no
   other has more, and drops those that have fewer. */
static void take_leaf(struct ni_path_names *names, const char *leaf, unsigned touched)
{
    if (touched > names->touched) {
        names->touched = touched;
        names->n = 0;
    }
    for (unsigned i = 0; i < names->n && i < NI_PATH_NAMES; i++)
        if (strcmp(names->leaf[i], leaf) == 0)
            return;
    if (touched < names->touched)
        return;
    if (names->n < NI_PATH_NAMES)
        names->leaf[names->n] = leaf;
    names->n += names->n <= NI_PATH_NAMES;
}

struct ni_path_names ni_name_paths(const struct ni_job *job, unsigned rail, ni_pair_is *is)
{
    struct ni_path_names names = {.bad = 0};

    for (unsigned k = 0; k < job->n_result; k++) {
        const struct ni_pair_result *x = &job->result[k];

        if (x->pair.rail != rail || !is(job, x))
            continue;
        names.bad++;
        for (unsigned end = 0; end < 2; end++) {
            const char *leaf = leaf_of(job, end == 0 ? x->pair.from : x->pair.to);

            if (leaf[0])
                take_leaf(&names, leaf, count_at(job, rail, is, leaf));
        }
    }
    return names;
}
