/* SPDX-License-Identifier: Apache-2.0 */
/* A judge of paths, as it is planned for decide/: pure, and without a heap. Several queue pairs for each
   pair of pods, each judged by itself. After each full round its suspects are tried again with the same
   queue pairs, while these are there: what failed, or lost something, at once; what was slow one pair
   alone after another, for those that collide in the hash would only collide again. Beside each runs a
   control, a queue pair of the same two ports that was good. What is bad even then, where the control is
   good, is a path; the leaf that all such paths touch is named. */
#ifndef NCCL_INIT_TEST_PATHS_H
#define NCCL_INIT_TEST_PATHS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    PATH_RANKS = 2048,
    PATH_QUEUES = 16,
    PATH_PAIRS = 6 * PATH_RANKS,
    PATH_ROUNDS = 128,
    PATH_PARTS = 1000000, /* of the rate of the slower end */
    NO_LEAF = -1
};

/* What is tunable, and was tuned with the model. */
struct path_rules {
    unsigned queues;         /* of a pair */
    unsigned batch;          /* of these at once, in full rounds */
    unsigned full;           /* rounds of all pairs */
    int64_t suspect_percent; /* of the median queue pair of its round: less is tried again */
    int64_t
        slow_percent; /* of what a pair of pods moves in the median: a queue pair that is alone */
    int64_t late_ns;  /* an acknowledgement that takes so long was lost */
    unsigned failed;  /* pairs that are tried again at once, at most, */
    unsigned alone;   /* and one after another, at most, for each full round */
    unsigned enough;  /* pairs of a full round that are certainly bad */
    unsigned names;   /* rounds for the name alone, at most */
};
static const struct path_rules path_rules = {
    .queues = 8,
    .batch = 4,
    .full = 2,
    .suspect_percent = 30,
    .slow_percent = 40,
    .late_ns = 10000000,
    .failed = 16,
    .alone = 6,
    .enough = 3,
    .names = 2,
};

enum path_round {
    ROUND_ALL,    /* all pods, new queue pairs */
    ROUND_NAMES,  /* pods of two leaves with others, new queue pairs */
    ROUND_FAILED, /* some pairs again at once, each its queue pairs one after another */
    ROUND_ALONE   /* one pair again, so too */
};
enum path_verdict { PATH_GOOD, PATH_SUSPECT, PATH_SLOW, PATH_LOSSY, PATH_BROKEN };

/* One queue pair in one round, as the leaf reports it. */
struct path_try {
    bool tried, failed;
    int64_t write, read; /* in parts of the rate */
    int64_t slowest_ns;
};

struct path_pair {
    unsigned from, to, round;
    unsigned of; /* the pair whose queue pairs these are; itself: they are new */
    struct path_try queue[PATH_QUEUES];
    enum path_verdict verdict[PATH_QUEUES]; /* of its own */
};

struct paths {
    unsigned ranks;
    struct path_rules rules;
    const int *leaf; /* by rank: what a label of the node tells; NO_LEAF */
    unsigned n, rounds;
    unsigned since; /* the first pair of the last full round, or of that for a name */
    enum path_round kind;
    unsigned all, alone, names; /* such rounds so far; alone: since then */
    int64_t queue_median[PATH_ROUNDS], pair_median[PATH_ROUNDS]; /* of the full ones */
    struct path_pair pair[PATH_PAIRS];
    uint8_t busy[PATH_RANKS];
};

/* What the bad paths have in common. */
struct path_names {
    unsigned n; /* 0: no label tells; 2: nothing tells which of them; 3: nothing */
    int leaf[2];
};

/* ---- medians ---- */

static inline int64_t rate_in(const struct paths *p, const struct path_pair *x, unsigned i,
                              bool total)
{
    const unsigned q = i / 2;
    int64_t sum = 0;

    if (!total)
        return i % 2 ? x->queue[q].read : x->queue[q].write;
    for (unsigned k = 0; k < p->rules.queues; k++)
        sum += i % 2 ? x->queue[k].read : x->queue[k].write;
    return sum;
}

/* Of the queue pairs of a round, or of its pairs of pods; what failed is none. By bisection: there is no
   room to sort in. */
static inline int64_t path_median(const struct paths *p, unsigned round, bool total)
{
    const unsigned n = total ? 2 : 2 * p->rules.queues;
    int64_t low = 0, high = PATH_QUEUES * PATH_PARTS;

    while (low + 1 < high) {
        const int64_t middle = low + (high - low) / 2;
        unsigned below = 0, above = 0;

        for (const struct path_pair *x = p->pair; x < p->pair + p->n; x++)
            for (unsigned i = 0; i < n && x->round == round; i++) {
                const int64_t rate = rate_in(p, x, i, total);

                below += rate > 0 && rate <= middle;
                above += rate > middle;
            }
        if (below > above)
            high = middle;
        else
            low = middle;
    }
    return high;
}

/* ---- which pairs ---- */

enum { BUSY_FROM = 1, BUSY_TO = 2 };

static inline struct path_pair *path_add(struct paths *p, unsigned from, unsigned to)
{
    struct path_pair *x = &p->pair[p->n];

    if (from == to || p->n == PATH_PAIRS || (p->busy[from] & BUSY_FROM) || (p->busy[to] & BUSY_TO))
        return NULL;
    p->busy[from] |= BUSY_FROM;
    p->busy[to] |= BUSY_TO;
    memset(x, 0, sizeof(*x));
    x->from = from;
    x->to = to;
    x->round = p->rounds;
    x->of = p->n++;
    return x;
}

static inline void path_add_new(struct paths *p, unsigned from, unsigned to)
{
    struct path_pair *x = path_add(p, from, to);

    for (unsigned q = 0; x && q < p->rules.queues; q++)
        x->queue[q].tried = true;
}

/* The worse, the less: failed, late, then in percent of the median. */
static inline int64_t path_score(const struct paths *p, const struct path_pair *x, unsigned q)
{
    const struct path_try *t = &x->queue[q];
    const int64_t least = t->write < t->read ? t->write : t->read;

    if (t->failed)
        return -2;
    return t->slowest_ns >= p->rules.late_ns ? -1 : least * 100 / p->queue_median[x->round];
}

/* Marks suspects of the rounds since. Where all queue pairs of a pair are, it is no path: the port's rules
   see to it. */
static inline void find_suspects(struct paths *p)
{
    unsigned round = UINT32_MAX;

    for (struct path_pair *x = p->pair + p->since; x < p->pair + p->n; x++) {
        unsigned suspects = 0;

        if (x->round != round) {
            round = x->round;
            p->queue_median[round] = path_median(p, round, false);
            p->pair_median[round] = path_median(p, round, true) * p->rules.batch / p->rules.queues;
        }
        for (unsigned q = 0; q < p->rules.queues; q++) {
            const bool bad = path_score(p, x, q) < p->rules.suspect_percent;

            x->verdict[q] = bad ? PATH_SUSPECT : PATH_GOOD;
            suspects += bad;
        }
        if (suspects == p->rules.queues && suspects > 1)
            memset(x->verdict, 0, sizeof(x->verdict));
    }
}

/* Of the queue pairs that are suspected; INT64_MAX: there are none. */
static inline int64_t worst_of(const struct paths *p, const struct path_pair *x)
{
    int64_t worst = INT64_MAX;

    for (unsigned q = 0; q < p->rules.queues; q++) {
        const int64_t score = x->verdict[q] == PATH_SUSPECT ? path_score(p, x, q) : INT64_MAX;

        worst = score < worst ? score : worst;
    }
    return worst;
}

/* The best queue pair of x, which shows that both ports are able; not one that is suspected. */
static inline unsigned control_of(const struct paths *p, const struct path_pair *x)
{
    unsigned best = UINT32_MAX;
    int64_t most = 0;

    for (unsigned q = 0; q < p->rules.queues; q++) {
        const struct path_try *t = &x->queue[q];
        const int64_t least = t->write < t->read ? t->write : t->read;

        if (x->verdict[q] == PATH_GOOD && !t->failed && least > most) {
            most = least;
            best = q;
        }
    }
    return best;
}

/* The pair that has the worst suspect, of those whose ports are free; NULL. */
static inline const struct path_pair *find_worst(const struct paths *p, unsigned end)
{
    const struct path_pair *worst = NULL;
    int64_t least = INT64_MAX;

    for (const struct path_pair *x = p->pair + p->since; x < p->pair + end; x++) {
        const int64_t score = worst_of(p, x);

        if (score >= least || (p->busy[x->from] & BUSY_FROM) || (p->busy[x->to] & BUSY_TO))
            continue;
        least = score;
        worst = x;
    }
    return worst;
}

/* Tries a pair again: its suspects that failed or lost something, or those that were slow; and the
   control. */
static inline void add_again(struct paths *p, const struct path_pair *worst, bool failed)
{
    struct path_pair *x = path_add(p, worst->from, worst->to);
    const unsigned control = control_of(p, worst);

    if (!x)
        return;
    x->of = (unsigned)(worst - p->pair);
    for (unsigned q = 0; q < p->rules.queues; q++) {
        const bool is_failed = path_score(p, worst, q) < 0;

        x->queue[q].tried =
            q == control || (worst->verdict[q] == PATH_SUSPECT && is_failed == failed);
    }
}

static inline void add_failed(struct paths *p)
{
    const unsigned end = p->n;

    while (p->n < end + p->rules.failed) {
        const struct path_pair *worst = find_worst(p, end);

        if (!worst || worst_of(p, worst) >= 0)
            return;
        add_again(p, worst, true);
    }
}

/* ---- what a quiet round says ---- */

static inline bool is_bad(const struct paths *p, const struct path_try *t, int64_t usual,
                          enum path_verdict *how)
{
    const int64_t least = t->write < t->read ? t->write : t->read;

    *how = t->failed ? PATH_BROKEN : t->slowest_ns >= p->rules.late_ns ? PATH_LOSSY : PATH_SLOW;
    return *how != PATH_SLOW || least * 100 < usual * p->rules.slow_percent;
}

/* What the last round says of the queue pairs that it tried again. At once with others a rate says
   nothing. */
static inline void settle(struct paths *p)
{
    for (const struct path_pair *x = p->pair + p->since; x < p->pair + p->n; x++) {
        struct path_pair *of = &p->pair[x->of];
        const int64_t usual = p->kind == ROUND_ALONE ? p->pair_median[of->round] : 0;
        const unsigned control = control_of(p, of);
        enum path_verdict how;

        if (x->round + 1 != p->rounds || x == of)
            continue;
        for (unsigned q = 0; q < p->rules.queues; q++)
            if (x->queue[q].tried && q != control)
                of->verdict[q] = is_bad(p, &x->queue[q], usual, &how) ? how : PATH_GOOD;
        if (control < p->rules.queues && is_bad(p, &x->queue[control], usual, &how))
            memset(of->verdict, 0, sizeof(of->verdict)); /* not the path: a port */
    }
}

static inline bool is_bad_path(const struct paths *p, const struct path_pair *x)
{
    for (unsigned q = 0; q < p->rules.queues; q++)
        if (x->verdict[q] >= PATH_SLOW)
            return true;
    return false;
}

/* Pairs of the last full round that are certainly bad. */
static inline unsigned count_bad(const struct paths *p)
{
    unsigned n = 0;

    for (const struct path_pair *x = p->pair + p->since; x < p->pair + p->n; x++)
        n += is_bad_path(p, x);
    return n;
}

/* ---- names ---- */

/* Bad paths of which one end is at that leaf. */
static inline unsigned count_at(const struct paths *p, int leaf)
{
    unsigned n = 0;

    for (const struct path_pair *x = p->pair; x < p->pair + p->n; x++)
        n += is_bad_path(p, x) && (p->leaf[x->from] == leaf || p->leaf[x->to] == leaf);
    return n;
}

/* The leaves that most bad paths touch; more than two are not told. */
static inline void find_names(const struct paths *p, struct path_names *names)
{
    unsigned most = 0;

    names->n = 0;
    for (const struct path_pair *x = p->pair; x < p->pair + p->n; x++)
        for (unsigned end = 0; end < 2 && is_bad_path(p, x); end++) {
            const int leaf = p->leaf[end == 0 ? x->from : x->to];
            const unsigned n = leaf == NO_LEAF ? 0 : count_at(p, leaf);
            bool known = false;

            if (n > most) {
                most = n;
                names->n = 0;
            }
            for (unsigned i = 0; i < names->n && i < 2; i++)
                known = known || names->leaf[i] == leaf;
            if (n == 0 || n < most || known)
                continue;
            if (names->n < 2)
                names->leaf[names->n] = leaf;
            names->n += names->n < 3;
        }
}

/* Pods of the two leaves with pods of others, by new queue pairs, in both roles; none where the job has
   no others. */
static inline void add_third(struct paths *p, const int leaf[2])
{
    unsigned third = 0, inside = 0;

    for (unsigned i = 0; i < p->ranks; i++) {
        const bool in = p->leaf[i] == leaf[0] || p->leaf[i] == leaf[1];

        inside += in;
        third += !in && p->leaf[i] != NO_LEAF;
    }
    for (unsigned i = 0, at = 0, k = 0; third > 0 && i < p->ranks; i++) {
        if (p->leaf[i] != leaf[0] && p->leaf[i] != leaf[1])
            continue;
        /* spread over the others */
        for (unsigned skip = third > inside ? third / inside : 1; skip > 0; skip--)
            do {
                at = (at + 1) % p->ranks;
            } while (p->leaf[at] == leaf[0] || p->leaf[at] == leaf[1] || p->leaf[at] == NO_LEAF);
        if (k++ < third) {
            path_add_new(p, i, at);
            path_add_new(p, at, i);
        }
    }
}

/* ---- the rounds ---- */

/* Each with the next, then with those half of the job away, a third, ... */
static inline void add_all(struct paths *p)
{
    const unsigned ahead = p->all == 0 ? 1 : p->ranks / (p->all + 1);

    p->kind = ROUND_ALL;
    p->since = p->n;
    p->all++;
    p->alone = 0;
    for (unsigned i = 0; i < p->ranks; i++)
        path_add_new(p, i, (i + ahead) % p->ranks);
}

/* One pair, unless enough is known of this round. */
static inline void add_alone(struct paths *p)
{
    const struct path_pair *worst = find_worst(p, p->n);

    if (!worst || p->alone++ == p->rules.alone || count_bad(p) >= p->rules.enough)
        return;
    p->kind = ROUND_ALONE;
    add_again(p, worst, false);
}

/* Where nothing tells which of two leaves it is. */
static inline void add_names(struct paths *p)
{
    struct path_names names;

    find_names(p, &names);
    if (names.n != 2 || p->names++ == p->rules.names)
        return;
    p->kind = ROUND_NAMES;
    p->since = p->n;
    p->alone = 0;
    add_third(p, names.leaf);
}

static inline bool path_next_round(struct paths *p)
{
    const unsigned before = p->n;

    memset(p->busy, 0, sizeof(p->busy));
    if (p->rounds > 0 && p->kind <= ROUND_NAMES) {
        find_suspects(p);
        add_failed(p);
        p->kind = ROUND_FAILED;
    } else if (p->rounds > 0) {
        settle(p);
    }
    if (p->n == before && p->rounds > 0)
        add_alone(p);
    if (p->n == before && p->all < p->rules.full)
        add_all(p);
    if (p->n == before)
        add_names(p);
    p->rounds += p->n > before;
    return p->n > before;
}

/* Whether all paths are good; if not, what the bad ones have in common. */
static inline bool path_judge(const struct paths *p, struct path_names *names)
{
    bool good = true;

    for (const struct path_pair *x = p->pair; x < p->pair + p->n; x++)
        good = good && !is_bad_path(p, x);
    find_names(p, names);
    return good;
}

#endif
