/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds: which pairs of pods are tried next. Full rounds try each rail with its neighbours, which are
   those of its leaf where the leaves are known, and with those half of the job away; if most neighbours
   were of one leaf, with those a quarter of the job away, too. After each of them its suspected paths are tried again, with the
   same queue pairs. Then each port that failed or was slow is tried with partners that passed; and
   where two leaves may be the cause of bad paths, pods of both with those of other leaves. */
#include "preflight/rounds.h"

#include <string.h>

#include "preflight/circle.h"
#include "preflight/job.h"
#include "preflight/paths.h"
#include "preflight/tally.h"
#include "rail/step.h"

enum {
    MOST_AGAIN = 16, /* pairs of a rail that are tried again at once */
    MOST_ALONE = 6,  /* ... and one after another, for each full round; */
    MOST_SOFT = 2,   /* of software RDMA, whose speed varies, so that there are always some */
    /* Queue pairs of software RDMA: processors move its data, and more of them only wait. */
    SOFT_QUEUES = 2,
    ENOUGH = 3,     /* bad paths of a full round: no more are looked for */
    MOST_PORTS = 3, /* rounds for ports: each is quieter than the one before */
    MOST_NAMES = 2,
    LEAST_THIRD = 7 /* so many pods or fewer have met each other in two full rounds */
};

/* Returns true if pairs inside leaves and pairs between leaves were tried: the neighbours were at one
   leaf, so that few pairs have crossed the fabric. */
static bool tells_leaves(const struct ni_job *job)
{
    bool near = false, far = false;

    for (unsigned i = 0; i < job->n_result; i++) {
        near = near || job->result[i].near;
        far = far || !job->result[i].near;
    }
    return near && far;
}

/* Returns the number of rounds in which each rail takes part. */
static unsigned full_rounds(const struct ni_job *job)
{
    if (job->ranks > LEAST_THIRD && tells_leaves(job))
        return 3;
    return job->ranks > 3 ? 2 : 1; /* with three pods each is a neighbour of both others */
}

/* Adds a pair, unless an end of it is gone or has that role already. Returns it, or NULL. */
static struct ni_pair_result *add_pair(struct ni_job *job, unsigned from, unsigned to,
                                       unsigned rail)
{
    const struct ni_pair pair = {from, to, rail};
    struct ni_pair_result *x = &job->result[job->n_result];

    if (from == to || !ni_is_free(job, &pair))
        return NULL;
    ni_tally_of(job, from, rail)->busy |= NI_SENDS;
    ni_tally_of(job, to, rail)->busy |= NI_RECEIVES;
    *x = (struct ni_pair_result){.pair = pair, .round = job->rounds};
    x->near = ni_is_near(job, &pair);
    x->rate = ni_pair_rate(job, &pair);
    x->software = job->pod[from].rail[rail].software || job->pod[to].rail[rail].software;
    x->queues = x->software ? (1U << SOFT_QUEUES) - 1 : 0;
    job->n_result++;
    return x;
}

/* ---- rounds of many ---- */

/* Returns the next pod after `p`, in a circle, whose rail satisfies `is`; there must be one. */
static unsigned next_of(const struct ni_job *job, unsigned p, unsigned rail, ni_rail_is *is)
{
    do {
        p = p + 1 < job->ranks ? p + 1 : 0;
    } while (!is(job, p, rail));
    return p;
}

/* Returns the end of the ring that begins at that place of the circle: pods of one leaf. One that is
   alone at its leaf is in the ring of those before it, or behind it. */
static unsigned end_of_ring(const struct ni_job *job, unsigned rail, unsigned n, unsigned begin)
{
    unsigned i = begin + 1;

    for (; i < n; i++) {
        const struct ni_pair before = {job->circle[i - 1], job->circle[i], rail};
        const bool alone =
            i + 1 == n ||
            !ni_is_near(job, &(struct ni_pair){job->circle[i], job->circle[i + 1], rail});

        if (i > begin + 1 && !alone && !ni_is_near(job, &before))
            break;
    }
    return i;
}

/* Adds a pair of each pod with the next one of its leaf, so that every rail has both roles at once. */
static void add_leaf_rings(struct ni_job *job, unsigned rail)
{
    const unsigned n = ni_draw_circle(job, rail);
    unsigned end;

    for (unsigned begin = 0; begin < n; begin = end) {
        end = end_of_ring(job, rail, n, begin);
        for (unsigned i = begin; i < end; i++)
            add_pair(job, job->circle[i], job->circle[i + 1 < end ? i + 1 : begin], rail);
    }
}

/* Adds a pair of each pod with the one `ahead` of it in the circle. */
static void add_ring(struct ni_job *job, unsigned rail, unsigned ahead)
{
    const unsigned n = ni_draw_circle(job, rail);

    for (unsigned i = 0; i < n; i++)
        add_pair(job, job->circle[i], job->circle[(i + ahead) % n], rail);
}

static bool is_good(const struct ni_job *job, unsigned rank, unsigned rail)
{
    return ni_tally_of(job, rank, rail)->verdict == NI_RAIL_GOOD;
}

/* Adds for each bad port a pair in both roles, with good rails that were not its partners before, if
   there are enough; if no rail is good, the ring again with new queue pairs. */
static void add_bad_ports(struct ni_job *job, unsigned rail)
{
    const unsigned bad = ni_count_rails(job, rail, ni_is_bad_port);
    const unsigned good = ni_count_rails(job, rail, is_good);

    if (bad == 0)
        return;
    if (good == 0) {
        add_leaf_rings(job, rail);
        return;
    }
    /* the first partner is not its neighbour */
    unsigned partner = next_of(job, job->ranks - 1, rail, ni_is_bad_port) + 1;
    for (enum ni_busy role = NI_SENDS; role <= NI_RECEIVES; role++) {
        unsigned p = job->ranks - 1;

        for (unsigned i = 0; i < bad && i < good; i++) {
            p = next_of(job, p, rail, ni_is_bad_port);
            partner = next_of(job, partner, rail, is_good);
            if (role == NI_SENDS)
                add_pair(job, p, partner, rail);
            else
                add_pair(job, partner, p, rail);
        }
    }
}

/* Begins a round whose paths are judged: its results are those from `since` on. */
static void judge_from(struct ni_job *job, unsigned since, enum ni_round_kind kind)
{
    job->kind = kind;
    job->since = since;
    memset(job->alone, 0, sizeof(job->alone));
}

/* Adds the pairs of all pods. */
static void add_all(struct ni_job *job)
{
    const unsigned before = job->n_result;

    for (unsigned r = 0; r < job->n_rail; r++) {
        const unsigned n = ni_count_rails(job, r, ni_takes_part);

        if (job->all == 0 && n > 1)
            add_leaf_rings(job, r);
        else if (n > 3)
            add_ring(job, r, n / (2 * job->all));
    }
    for (unsigned i = before; i < job->n_result; i++)
        job->result[i].full = true;
    job->all++;
    judge_from(job, before, NI_ROUND_ALL);
}

static bool is_slow(const struct ni_job *job, unsigned rank, unsigned rail)
{
    return ni_tally_of(job, rank, rail)->verdict == NI_RAIL_SLOW;
}

/* Adds each pair whose path failed once more, with new queue pairs. */
static void add_failed_paths(struct ni_job *job)
{
    const unsigned before = job->n_result; /* add_pair appends to these results */

    for (unsigned i = 0; i < before; i++) {
        const struct ni_pair *pair = &job->result[i].pair;

        if (job->result[i].path)
            (void)add_pair(job, pair->from, pair->to, pair->rail);
    }
}

/* Adds pairs for ports that failed or were slow; in the first such round also the pairs whose path
   failed. Slow ports are tried in up to three rounds, while each has fewer of them than the one
   before: the fewer pairs move data at once, the less they slow each other. */
static void add_port_pairs(struct ni_job *job)
{
    unsigned slow = 0;

    for (unsigned r = 0; r < job->n_rail; r++)
        slow += ni_count_rails(job, r, is_slow);
    if (job->ports == MOST_PORTS)
        return;
    if (job->ports > 0 && (slow == 0 || slow >= job->slow_ports))
        return;
    if (job->ports == 0)
        add_failed_paths(job);
    for (unsigned r = 0; r < job->n_rail; r++)
        add_bad_ports(job, r);
    job->slow_ports = slow;
    job->ports++;
    job->kind = NI_ROUND_PORTS;
}

/* ---- the same queue pairs again ---- */

/* Tries a pair again with the queue pairs that it had. */
static void add_again(struct ni_job *job, const struct ni_pair_result *of, enum ni_suspects kind)
{
    struct ni_pair_result *x = add_pair(job, of->pair.from, of->pair.to, of->pair.rail);

    if (!x)
        return;
    x->again = (unsigned)(of - job->result) + 1;
    x->for_failed = kind == NI_SUSPECTS_FAILED;
    x->queues = ni_queues_again(of, kind, &x->control);
}

/* Tries the good queue pair of another pair alone, too, which has no port of the suspected pair: all of that
   one are suspected, so none of it shows what a queue pair has alone. */
static void add_reference(struct ni_job *job, const struct ni_pair_result *suspect)
{
    const struct ni_pair *pair = &suspect->pair;
    const unsigned before = job->n_result;

    for (unsigned k = job->since; k < before && job->n_result == before; k++) {
        const struct ni_pair_result *of = &job->result[k];
        const bool apart = of->pair.from != pair->from && of->pair.from != pair->to &&
                           of->pair.to != pair->from && of->pair.to != pair->to;

        if (of->again == 0 && of->pair.rail == pair->rail && of->near == suspect->near && apart &&
            ni_is_good_pair(of))
            add_again(job, of, NI_SUSPECTS_SLOW);
    }
}

/* Adds what failed or was late in the last round, the worst first. */
static void add_failed(struct ni_job *job)
{
    job->kind = NI_ROUND_AGAIN;
    for (unsigned r = 0; r < job->n_rail; r++)
        for (unsigned n = 0; n < MOST_AGAIN; n++) {
            const struct ni_pair_result *worst = ni_worst_suspect(job, r, NI_SUSPECTS_FAILED);

            if (!worst)
                break;
            add_again(job, worst, NI_SUSPECTS_FAILED);
        }
}

/* Adds one pair of each rail, unless enough is known of the last full round. */
static void add_alone(struct ni_job *job)
{
    const unsigned before = job->n_result;

    for (unsigned r = 0; r < job->n_rail; r++) {
        const struct ni_pair_result *worst = ni_worst_suspect(job, r, NI_SUSPECTS_SLOW);

        if (!worst || job->alone[r] >= (worst->software ? MOST_SOFT : MOST_ALONE) ||
            ni_count_bad_paths(job, r, job->since) >= ENOUGH)
            continue;
        if (worst->slow_tries == 0)
            job->alone[r]++;
        add_again(job, worst, NI_SUSPECTS_SLOW);
        if (worst->slow_tries > 0 && job->result[job->n_result - 1].control == NI_MAX_QUEUES)
            add_reference(job, worst);
    }
    if (job->n_result > before)
        job->kind = NI_ROUND_ALONE;
}

/* ---- rounds for a name ---- */

static bool is_at(const struct ni_job *job, unsigned rank, const char *leaf)
{
    return strcmp(job->pod[rank].leaf, leaf) == 0;
}

/* Returns true if the pod takes part, and its leaf is known. */
static bool has_leaf(const struct ni_job *job, unsigned rank, unsigned rail)
{
    return ni_takes_part(job, rank, rail) && job->pod[rank].leaf[0];
}

static bool is_in_names(const struct ni_job *job, unsigned rank, const struct ni_path_names *names)
{
    return is_at(job, rank, names->leaf[0]) || is_at(job, rank, names->leaf[1]);
}

/* Adds pairs of the pods of two leaves with pods of others, in both roles; none where the job has
   no others. */
static void add_third(struct ni_job *job, unsigned rail, const struct ni_path_names *names)
{
    unsigned third = 0, inside = 0, at = 0, used = 0;

    for (unsigned p = 0; p < job->ranks; p++) {
        if (!has_leaf(job, p, rail))
            continue;
        if (is_in_names(job, p, names))
            inside++;
        else
            third++;
    }
    if (inside == 0)
        return;
    for (unsigned p = 0; p < job->ranks && used < third; p++) {
        if (!has_leaf(job, p, rail) || !is_in_names(job, p, names))
            continue;
        for (unsigned skip = third > inside ? third / inside : 1; skip > 0; skip--)
            do { /* spread over the others */
                at = (at + 1) % job->ranks;
            } while (!has_leaf(job, at, rail) || is_in_names(job, at, names));
        (void)add_pair(job, p, at, rail);
        (void)add_pair(job, at, p, rail);
        used++;
    }
}

/* Adds pairs where nothing tells which of two leaves it is. */
static void add_names(struct ni_job *job)
{
    const unsigned before = job->n_result;

    for (unsigned r = 0; r < job->n_rail && job->names < MOST_NAMES; r++) {
        const struct ni_path_names names = ni_name_paths(job, r, ni_is_bad_path);

        if (names.n == 2)
            add_third(job, r, &names);
    }
    if (job->n_result == before)
        return;
    job->names++;
    judge_from(job, before, NI_ROUND_NAMES);
}

/* ---- the next round ---- */

bool ni_is_quiet(const struct ni_job *job)
{
    return job->kind == NI_ROUND_AGAIN || job->kind == NI_ROUND_ALONE;
}

unsigned ni_batch(const struct ni_job *job, const struct ni_pair_result *x)
{
    /* together they show what the path can do: the host shares its time among them as it likes */
    return ni_is_quiet(job) && !x->software ? 1 : NI_PATH_BATCH;
}

bool ni_next_round(struct ni_job *job)
{
    const unsigned before = job->n_result;

    ni_tally(job);
    if (job->rounds > 0 && (job->kind == NI_ROUND_ALL || job->kind == NI_ROUND_NAMES)) {
        ni_find_suspects(job);
        add_failed(job);
    } else if (job->rounds > 0 && ni_is_quiet(job)) {
        ni_settle_paths(job);
    }
    if (job->n_result == before && job->rounds > 0 && job->kind != NI_ROUND_PORTS)
        add_alone(job);
    if (job->n_result == before && job->all < full_rounds(job))
        add_all(job);
    if (job->n_result == before && job->rounds > 0 && job->names == 0)
        add_port_pairs(job);
    if (job->n_result == before && job->rounds > 0)
        add_names(job);
    job->rounds += job->n_result > before;
    return job->n_result > before;
}
