/* SPDX-License-Identifier: Apache-2.0 */
/* What the rounds mean: a port, a path, a rail of all, or a pod is to blame; each is one finding, and
   those beyond a few are told together. */
#include <stdlib.h>
#include <string.h>

#include "job.h"

enum { MESSAGE = 320, SUBJECT = 96 };

struct judge {
    const struct ni_job *job;
    struct ni_findings *f;
    struct ni_paces paces;
};

/* ---- why a pair failed ---- */

/* enum ibv_wc_status (rdma-core 56.1 libibverbs/verbs.h) */
static const char *wc_name(int wc)
{
    static const struct {
        int wc;
        const char *name;
    } names[] = {
        {4, "IBV_WC_LOC_PROT_ERR"},    {5, "IBV_WC_WR_FLUSH_ERR"}, {9, "IBV_WC_REM_INV_REQ_ERR"},
        {10, "IBV_WC_REM_ACCESS_ERR"}, {11, "IBV_WC_REM_OP_ERR"},  {12, "IBV_WC_RETRY_EXC_ERR"},
    };
    for (size_t i = 0; i < NI_COUNT(names); i++) {
        if (names[i].wc == wc)
            return names[i].name;
    }
    return "completion error";
}

/* "bulk writes: IBV_WC_RETRY_EXC_ERR; ..." */
static void put_why(struct ni_text *t, const struct ni_job *job, const struct ni_pair_result *x)
{
    enum { RETRY_EXC = 12 };
    const struct ni_rail *from = ni_rail_of(job, x->pair.from, x->pair.rail);
    const struct ni_rail *to = ni_rail_of(job, x->pair.to, x->pair.rail);
    const char *name = ni_errno_name(x->err);
    ni_putf(t, "%s: ", ni_pair_step_text(x->step));
    if (x->silent)
        ni_put(t, "no answer in time");
    else if (x->wc)
        ni_putf(t, "%s (status %d)", wc_name(x->wc), x->wc);
    else if (x->step == NI_PAIR_IDENTITY)
        ni_put(t, "another port answered: is an address there twice?");
    else if (x->step == NI_PAIR_COMPARE)
        ni_put(t, "other bytes came back than were sent");
    else
        ni_putf(t, "%s", name ? name : "failed");
    if (from && to && from->n_subnet > 0 && to->n_subnet > 0 &&
        !(ni_leads_to(from, to) && ni_leads_to(to, from)))
        ni_put(t, "; their routes do not lead to each other's subnet");
    else if (x->step > NI_PAIR_IDENTITY && x->wc == RETRY_EXC)
        ni_put(t, "; small ones passed: large packets are dropped (MTU of a switch?)");
}

/* Of the failures that count against the rail of this pod the one that says most: that it never
   answered, what its own device said, else the first, whatever order they came in; NULL. A link that
   goes down while data moves looks like any dead path, and only in the next round like itself. */
static const struct ni_pair_result *failure_of(const struct judge *j, unsigned rank, unsigned rail)
{
    const struct ni_pair_result *best = NULL;
    uint64_t least = 0;
    for (unsigned i = 0; i < j->job->n_result; i++) {
        const struct ni_pair_result *x = &j->job->result[i];
        const unsigned blame = x->pair.rail == rail ? ni_blame(j->job, x) : 0;
        const bool from = x->pair.from == rank, at = rank == (x->at_to ? x->pair.to : x->pair.from);
        const bool own = blame != (NI_BLAME_FROM | NI_BLAME_TO);
        const uint64_t order = (uint64_t) !(x->silent && at) << 41 | (uint64_t)!own << 40 |
                               (uint64_t)x->round << 32 | (uint64_t)!from;
        if (!(from && (blame & NI_BLAME_FROM)) && !(x->pair.to == rank && (blame & NI_BLAME_TO)))
            continue;
        if (!best || order < least) {
            best = x;
            least = order;
        }
    }
    return best;
}

/* ---- what is told of a rail ---- */

static void put_failed(const struct judge *j, unsigned rank, unsigned rail, struct ni_text *t)
{
    const struct ni_pair_result *x = failure_of(j, rank, rail);
    if (!x)
        return;
    const bool own = ni_blame(j->job, x) != (NI_BLAME_FROM | NI_BLAME_TO);
    ni_put(t, own ? "cannot be used in its pod; " : "reaches nobody; ");
    put_why(t, j->job, x);
}

static void put_gbps(struct ni_text *t, int64_t mbps)
{
    if (mbps < 1000)
        ni_putf(t, "0.%02lld Gb/s", (long long)mbps / 10);
    else
        ni_putf(t, "%lld.%lld Gb/s", (long long)mbps / 1000, (long long)mbps % 1000 / 100);
}

static void put_slow(const struct judge *j, unsigned rank, unsigned rail, struct ni_text *t)
{
    const struct ni_rail_tally *y = ni_tally_of(j->job, rank, rail);
    int64_t median = 0;
    for (unsigned i = 0; i < j->job->n_result && median == 0; i++) {
        const struct ni_pair_result *x = &j->job->result[i];
        const struct ni_pace *pace =
            x->pair.rail == rail && (x->pair.from == rank || x->pair.to == rank)
                ? ni_pace_of(j->job, &j->paces, x)
                : NULL;
        median = pace ? pace->median[0] : 0;
    }
    ni_putf(t, "at best sends %u %% and receives %u %% of the median, ", y->best_out, y->best_in);
    put_gbps(t, median);
}

static void put_untried(const struct judge *j, unsigned rank, unsigned rail, struct ni_text *t)
{
    const char *why = ni_rail_of(j->job, rank, rail)->untried;
    ni_putf(t, "was not tried: %s", why[0] ? why : "it had no partner");
}

static const struct kind {
    enum ni_tally_state state;
    enum ni_finding_id one, all;
    void (*put)(const struct judge *j, unsigned rank, unsigned rail, struct ni_text *t);
} kinds[] = {
    {NI_TALLY_FAILED, NI_F_JOB_RAIL_FAILED, NI_F_JOB_RAIL_ALL, put_failed},
    {NI_TALLY_SLOW, NI_F_JOB_RAIL_SLOW, NI_F_JOB_RAIL_SLOW, put_slow},
    {NI_TALLY_BELOW, NI_F_JOB_RAIL_BELOW, NI_F_JOB_RAIL_BELOW, put_slow},
    {NI_TALLY_UNTRIED, NI_F_JOB_RAIL_UNTRIED, NI_F_JOB_RAIL_UNTRIED, put_untried},
};

/* The first rail with that state; ranks if none. *ret_n: how many have it. */
static unsigned first_with(const struct ni_job *job, unsigned rail, enum ni_tally_state state,
                           unsigned *ret_n)
{
    unsigned first = job->ranks;
    *ret_n = 0;
    for (unsigned p = job->ranks; p-- > 0;) {
        if (ni_tally_of(job, p, rail)->state == state) {
            first = p;
            ++*ret_n;
        }
    }
    return first;
}

/* Of two that are both so, and have only each other, it is between them: true, and told. */
static bool tell_between(const struct judge *j, unsigned rail, unsigned a, const struct kind *kind)
{
    const struct ni_job *job = j->job;
    unsigned b = a + 1;
    char subject[SUBJECT], message[MESSAGE];
    struct ni_text s = ni_text_on(subject, sizeof(subject)),
                   t = ni_text_on(message, sizeof(message));
    const struct ni_pair_result *x = failure_of(j, a, rail);
    while (b < job->ranks && ni_tally_of(job, b, rail)->state != kind->state)
        b++;
    if (kind->state == NI_TALLY_UNTRIED || b == job->ranks || ni_count_rail(job, rail) != 2 ||
        (x && ni_blame(job, x) != (NI_BLAME_FROM | NI_BLAME_TO)))
        return false;
    ni_put_rails(&s, 1U << rail);
    ni_put(&t, "between ");
    ni_put_pod(&t, job, a);
    ni_put(&t, " and ");
    ni_put_pod(&t, job, b);
    ni_put(&t, "; which of them is not told by two pods; ");
    if (x)
        put_why(&t, job, x);
    else
        kind->put(j, a, rail, &t);
    if (kind->state == NI_TALLY_FAILED)
        ni_tally_of(job, a, rail)->state = ni_tally_of(job, b, rail)->state = NI_TALLY_PATH;
    ni_report(j->f, kind->state == NI_TALLY_FAILED ? NI_F_JOB_PATH_FAILED : kind->one, subject,
              "%s", message);
    return true;
}

/* More than half of the pods: it is not a port. true: told. */
static bool tell_all(const struct judge *j, unsigned rail, const struct kind *kind)
{
    const struct ni_job *job = j->job;
    const unsigned of = ni_count_rail(job, rail);
    unsigned n, first = first_with(job, rail, kind->state, &n);
    char subject[SUBJECT], message[MESSAGE];
    struct ni_text s = ni_text_on(subject, sizeof(subject)),
                   t = ni_text_on(message, sizeof(message));
    if (n == 2 && tell_between(j, rail, first, kind))
        return true;
    if (n < 3 || n * 2 <= of)
        return false;
    ni_put_rails(&s, 1U << rail);
    ni_putf(&t, "in %u of %u pods, as on ", n, of > n ? of : n);
    ni_put_pod(&t, job, first);
    ni_put(&t, ": ");
    kind->put(j, first, rail, &t);
    ni_report(j->f, kind->all, subject, "%s", message);
    return true;
}

struct of_mask {
    const struct ni_job *job;
    uint32_t rails;
    enum ni_tally_state state;
};

static uint32_t rails_with(const struct of_mask *of, unsigned rank)
{
    uint32_t ret = 0;
    for (unsigned r = 0; r < of->job->n_rail; r++) {
        if ((of->rails >> r & 1) && ni_tally_of(of->job, rank, r)->state == of->state)
            ret |= 1U << r;
    }
    return ret;
}

static bool has_rail_with(const void *of, unsigned rank)
{
    return rails_with(of, rank) != 0;
}

/* "rail 2 of trainer-17 (node-b3, mlx5_7)" */
static void put_rails_of(struct ni_text *t, const struct ni_job *job, unsigned rank, uint32_t rails)
{
    const struct ni_pod *pod = &job->pod[rank];
    unsigned rail = 0;
    while (!(rails >> rail & 1))
        rail++;
    ni_put_rails(t, rails);
    ni_put(t, " of ");
    ni_put_pod(t, job, rank);
    if (rails != 1U << rail)
        return;
    if (t->buf[t->len - 1] == ')')
        t->len--;
    else
        ni_put(t, " (");
    ni_putf(t, "%s%s)", t->buf[t->len - 1] == '(' ? "" : ", ", pod->rail[rail].hca);
}

/* A finding for each of the first pods, and one for all others. */
static void tell_pods(const struct judge *j, uint32_t rails, const struct kind *kind)
{
    const struct of_mask of = {j->job, rails, kind->state};
    unsigned told = 0, n = 0, p = 0;
    char subject[SUBJECT], message[MESSAGE];
    for (unsigned k = 0; k < j->job->ranks; k++)
        n += has_rail_with(&of, k);
    for (; told < n && (told < NI_JOB_NAMED - 1 || n == NI_JOB_NAMED); p++) {
        const uint32_t its = rails_with(&of, p);
        unsigned rail = 0;
        struct ni_text s = ni_text_on(subject, sizeof(subject));
        struct ni_text t = ni_text_on(message, sizeof(message));
        if (!its)
            continue;
        while (!(its >> rail & 1))
            rail++;
        put_rails_of(&s, j->job, p, its);
        kind->put(j, p, rail, &t);
        ni_report(j->f, kind->one, subject, "%s", message);
        told++;
    }
    if (told == n)
        return;
    struct ni_text t = ni_text_on(message, sizeof(message));
    ni_putf(&t, "likewise in %u pods in all: ", n);
    ni_put_numbers(&t, "rank", has_rail_with, &of, j->job->ranks);
    ni_report(j->f, kind->one, "more rails", "%s", message);
}

static void tell(const struct judge *j, const struct kind *kind)
{
    uint32_t rails = 0;
    for (unsigned r = 0; r < j->job->n_rail; r++) {
        if (!tell_all(j, r, kind))
            rails |= 1U << r;
    }
    tell_pods(j, rails, kind);
}

/* ---- paths and pods ---- */

static bool is_unsteady(const struct ni_job *job, const struct ni_pair_result *x)
{
    const struct ni_rail_tally *t = ni_tally_of(job, x->pair.from, x->pair.rail);
    return t->again == x->pair.to + 1 && t->again_passed;
}

/* One finding for the paths of a rail: the first, and how many there are. */
static void tell_paths(const struct judge *j, unsigned rail, bool unsteady)
{
    const struct ni_job *job = j->job;
    const struct ni_pair_result *first = NULL;
    unsigned n = 0;
    char subject[SUBJECT], message[MESSAGE];
    struct ni_text s = ni_text_on(subject, sizeof(subject)),
                   t = ni_text_on(message, sizeof(message));
    for (unsigned i = 0; i < job->n_result; i++) {
        const struct ni_pair_result *x = &job->result[i];
        if (x->pair.rail != rail || !ni_is_path(job, x) || is_unsteady(job, x) != unsteady)
            continue;
        if (!unsteady) {
            ni_tally_of(job, x->pair.from, rail)->state = NI_TALLY_PATH;
            ni_tally_of(job, x->pair.to, rail)->state = NI_TALLY_PATH;
        }
        n += x->round < ni_full_rounds(job);
        if (!first || x->round < first->round ||
            (x->round == first->round && x->pair.from < first->pair.from))
            first = x;
    }
    if (!first)
        return;
    ni_put_rails(&s, 1U << rail);
    ni_put(&t, "from ");
    ni_put_pod(&t, job, first->pair.from);
    ni_put(&t, " to ");
    ni_put_pod(&t, job, first->pair.to);
    if (n > 1)
        ni_putf(&t, ", and %u more pair%s", n - 1, n > 2 ? "s" : "");
    ni_put(&t,
           unsteady ? ": failed once, and passed with new queue pairs; " : ": both reach others; ");
    put_why(&t, job, first);
    ni_report(j->f, unsteady ? NI_F_JOB_PATH_UNSTEADY : NI_F_JOB_PATH_FAILED, subject, "%s",
              message);
}

static bool went_away(const void *of, unsigned rank)
{
    return ((const struct ni_job *)of)->missing[rank] == NI_POD_WENT_AWAY;
}

static void tell_lost(const struct judge *j)
{
    unsigned n = 0, first = 0;
    char subject[SUBJECT], message[MESSAGE];
    struct ni_text s = ni_text_on(subject, sizeof(subject)),
                   t = ni_text_on(message, sizeof(message));
    for (unsigned p = j->job->ranks; p-- > 0;) {
        n += went_away(j->job, p);
        first = went_away(j->job, p) ? p : first;
    }
    if (n == 0)
        return;
    ni_put_pod(&s, j->job, first);
    ni_put(&t, "went away before the end, or stopped answering");
    if (n > 1) {
        ni_putf(&t, ", as did others; %u in all: ", n);
        ni_put_numbers(&t, "rank", went_away, j->job, j->job->ranks);
    }
    ni_report(j->f, NI_F_JOB_POD_LOST, subject, "%s", message);
}

/* No rail stands out, but all are far from what they could do. */
static void tell_low(const struct judge *j)
{
    for (unsigned i = 0; i < j->paces.n; i++) {
        const struct ni_pace *p = &j->paces.at[i];
        const int64_t best = p->median[0] > p->median[1] ? p->median[0] : p->median[1];
        char message[MESSAGE];
        struct ni_text t = ni_text_on(message, sizeof(message));
        if (p->mbps < NI_JOB_HARD || best <= 0 || best * 100 >= p->mbps * NI_JOB_LOW)
            continue;
        ni_put(&t, "the median is ");
        put_gbps(&t, best);
        ni_put(&t, ", their rate ");
        put_gbps(&t, p->mbps);
        ni_report(j->f, NI_F_JOB_RATE_LOW, "all rails", "%s", message);
        return;
    }
}

void ni_judge_rails(const struct ni_job *job, uint8_t *ret, struct ni_findings *f)
{
    static const uint8_t verdict[NI_TALLY_STATES] = {
        [NI_TALLY_ABSENT] = NI_RAIL_ABSENT, [NI_TALLY_UNTRIED] = NI_RAIL_UNTRIED,
        [NI_TALLY_GOOD] = NI_RAIL_GOOD,     [NI_TALLY_BELOW] = NI_RAIL_SLOW,
        [NI_TALLY_SLOW] = NI_RAIL_SLOW,     [NI_TALLY_PATH] = NI_RAIL_PATH,
        [NI_TALLY_FAILED] = NI_RAIL_FAILED,
    };
    struct judge j = {.job = job, .f = f};
    ni_tally(job, &j.paces);
    tell_lost(&j);
    for (size_t i = 0; i < NI_COUNT(kinds); i++) {
        if (job->rounds > 0)
            tell(&j, &kinds[i]);
    }
    for (unsigned r = 0; r < job->n_rail; r++) {
        tell_paths(&j, r, false);
        tell_paths(&j, r, true);
    }
    tell_low(&j);
    for (size_t i = 0; i < (size_t)job->ranks * job->n_rail; i++)
        ret[i] = verdict[job->tally[i].state];
}
