/* SPDX-License-Identifier: Apache-2.0 */
/* A judge of paths, as it is planned for decide/: pure, and without a heap. Several queue pairs for each
   pair of pods, each judged by itself. Full rounds find suspects. The same queue pairs are tried again, one
   alone after another, beside a control: a queue pair of the same two ports that was good. What is bad
   even then, where the control is good, is a path; the leaf that all such paths touch is named. */
#ifndef NCCL_INIT_TEST_PATHS_H
#define NCCL_INIT_TEST_PATHS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    PATH_RANKS = 2048,
    PATH_QUEUES = 16,
    PATH_PAIRS = 6 * PATH_RANKS,
    PATH_ROUNDS = 64,
    PATH_PARTS = 1000000, /* of the rate of the slower end */
    NO_LEAF = -1
};

/* What is tunable, and was tuned with the model. */
struct path_rules {
    unsigned queues;         /* of a pair */
    unsigned full;           /* rounds of all pairs */
    int64_t suspect_percent; /* of the median queue pair of its round: less is tried again */
    unsigned again;          /* pairs that are tried again, at most */
    bool turns; /* one after another; else the pairs at once, each its queue pairs in turn */
    int64_t
        slow_percent; /* of what a pair of pods moves in the median: a queue pair that is alone */
    int64_t late_ns;  /* an acknowledgement that takes so long was lost */
    unsigned names;   /* rounds for the name alone */
};
static const struct path_rules path_rules = {
    .queues = 8,
    .full = 2,
    .suspect_percent = 30,
    .again = 8,
    .turns = true,
    .slow_percent = 40,
    .late_ns = 10000000,
    .names = 2,
};

enum path_round { ROUND_ALL, ROUND_AGAIN, ROUND_NAMES };
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
    unsigned since; /* pairs before it are settled */
    enum path_round kind;
    unsigned names;                                              /* such rounds so far */
    int64_t queue_median[PATH_ROUNDS], pair_median[PATH_ROUNDS]; /* of the full ones */
    struct path_pair pair[PATH_PAIRS];
    uint8_t busy[PATH_RANKS];
};

/* What the bad paths have in common. */
struct path_names {
    unsigned n;
    int leaf[2]; /* two: nothing tells which of them */
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
    int64_t low = 0, high = 2 * PATH_PARTS;

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
            p->pair_median[round] = path_median(p, round, true);
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

/* INT64_MAX: none is suspected. */
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

/* Of the worst pairs the queue pairs that are suspected, and the control. */
static inline void add_again(struct paths *p)
{
    const unsigned end = p->n;

    for (unsigned added = 0; added < p->rules.again; added++) {
        const struct path_pair *worst = NULL;
        int64_t least = INT64_MAX;
        struct path_pair *new;

        for (const struct path_pair *x = p->pair + p->since; x < p->pair + end; x++) {
            const int64_t score = worst_of(p, x);

            if (score >= least || (p->busy[x->from] & BUSY_FROM) || (p->busy[x->to] & BUSY_TO))
                continue;
            least = score;
            worst = x;
        }
        new = worst ? path_add(p, worst->from, worst->to) : NULL;
        if (!new)
            return;
        new->of = (unsigned)(worst - p->pair);
        for (unsigned q = 0; q < p->rules.queues; q++)
            new->queue[q].tried = worst->verdict[q] == PATH_SUSPECT || q == control_of(p, worst);
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

/* Suspects that were not tried again are left alone. */
static inline void settle(struct paths *p)
{
    for (const struct path_pair *x = p->pair; x < p->pair + p->n; x++) {
        struct path_pair *of = &p->pair[x->of];
        const int64_t usual = p->pair_median[of->round];
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

/* ---- names ---- */

static inline bool is_bad_path(const struct path_pair *x, unsigned queues)
{
    for (unsigned q = 0; q < queues; q++)
        if (x->verdict[q] >= PATH_SLOW)
            return true;
    return false;
}

/* The leaf that most bad paths touch, of those that do not touch `but`; others with as many. */
static inline unsigned touched_most(const struct paths *p, int but, int leaf[2])
{
    static unsigned count[PATH_RANKS];
    unsigned most = 0, n = 0;

    memset(count, 0, sizeof(count));
    for (const struct path_pair *x = p->pair; x < p->pair + p->n; x++) {
        const int a = p->leaf[x->from], b = p->leaf[x->to];

        if (!is_bad_path(x, p->rules.queues) || a == NO_LEAF || b == NO_LEAF || a == but ||
            b == but)
            continue;
        count[a]++;
        count[b] += a != b;
    }
    for (unsigned i = 0; i < PATH_RANKS; i++)
        most = count[i] > most ? count[i] : most;
    for (unsigned i = 0; i < PATH_RANKS && most > 0; i++)
        if (count[i] == most && n++ < 2)
            leaf[n - 1] = (int)i;
    return n;
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

static inline bool path_next_round(struct paths *p)
{
    const unsigned before = p->n;
    int leaf[2];

    memset(p->busy, 0, sizeof(p->busy));
    if (p->rounds < p->rules.full) {
        const unsigned ahead = p->rounds == 0 ? 1 : p->ranks / (p->rounds + 1);

        p->kind = ROUND_ALL;
        for (unsigned i = 0; i < p->ranks; i++)
            path_add_new(p, i, (i + ahead) % p->ranks);
    } else if (p->kind == ROUND_ALL || p->kind == ROUND_NAMES) {
        find_suspects(p);
        p->kind = ROUND_AGAIN;
        add_again(p);
    } else {
        settle(p);
        if (p->names++ < p->rules.names && touched_most(p, NO_LEAF, leaf) == 2) {
            p->kind = ROUND_NAMES;
            p->since = p->n;
            add_third(p, leaf);
        }
    }
    p->rounds += p->n > before;
    return p->n > before;
}

/* Whether all paths are good; if not, what the bad ones have in common. */
static inline bool path_judge(const struct paths *p, struct path_names *names)
{
    bool good = true;

    *names = (struct path_names){.n = 0};
    for (const struct path_pair *x = p->pair; x < p->pair + p->n; x++)
        good = good && !is_bad_path(x, p->rules.queues);
    names->n = touched_most(p, NO_LEAF, names->leaf);
    return good;
}

#endif
