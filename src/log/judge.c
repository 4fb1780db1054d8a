/* SPDX-License-Identifier: Apache-2.0 */
/* The judgement after the last line: ranks, their network, and the findings about them. */
#include "log/judge.h"

#include <stdlib.h>
#include <string.h>

#include "log/cause.h"
#include "log/patterns.h"
#include "log/ranks.h"
#include "log/state.h"
#include "nccl_init/findings.h"
#include "nccl_init/text.h"
#include "print/words.h"
#include "rules/job_settings.h"

/* ---- which ranks there are, and what each is ---- */

static int compare_numbers(int64_t x, int64_t y)
{
    return (x > y) - (x < y);
}

/* Compares host, GPU and rank. */
static int compare_places(const struct ni_log_rank *x, const struct ni_log_rank *y)
{
    int r = compare_numbers(x->rank, y->rank);

    if (r == 0)
        r = compare_numbers(x->size, y->size);
    if (r == 0)
        r = compare_numbers(x->bus, y->bus);
    if (r == 0)
        r = compare_numbers(x->dev, y->dev);
    if (r == 0)
        r = compare_numbers(x->process->host, y->process->host);
    return r;
}

static int by_place(const void *a, const void *b)
{
    const struct ni_log_rank *x = *(struct ni_log_rank *const *)a;
    const struct ni_log_rank *y = *(struct ni_log_rank *const *)b;
    const int r = compare_places(x, y);

    return r != 0 ? r : (x > y) - (x < y);
}

static int by_number(const void *a, const void *b)
{
    const struct ni_log_rank *x = *(struct ni_log_rank *const *)a;
    const struct ni_log_rank *y = *(struct ni_log_rank *const *)b;
    const int r = compare_numbers(x->rank, y->rank);

    return r != 0 ? r : (x > y) - (x < y);
}

static int by_host(const void *a, const void *b)
{
    const struct ni_log_rank *x = *(struct ni_log_rank *const *)a;
    const struct ni_log_rank *y = *(struct ni_log_rank *const *)b;

    return compare_numbers(x->process->host, y->process->host);
}

/* Returns true for two processes that both say they are one rank of one communicator; a restart
   makes another communicator. */
static bool is_same_rank(const struct ni_log_rank *r, const struct ni_log_rank *other)
{
    return r->rank >= 0 && r->rank == other->rank && r->job != 0 && r->job == other->job &&
           r->process->name != other->process->name;
}

/* Returns true if ranks of the job have no line in the log. */
static bool lacks_ranks(const struct ni_log *log)
{
    int size = 0, known = 0;

    for (unsigned i = 0; i < log->n_rank; i++) {
        const struct ni_log_rank *r = log->order[i];

        size = r->size > size ? r->size : size;
        known += r->rank >= 0 && !r->earlier;
    }
    return known < size;
}

/* Marks the ranks of an earlier attempt. The ranks are in the order of their places. */
static void mark_earlier(struct ni_log *log)
{
    for (unsigned i = 0; i + 1 < log->n_rank; i++) {
        struct ni_log_rank *r = log->order[i];
        struct ni_log_rank *next = log->order[i + 1];

        /* a later process has the same place */
        r->earlier =
            compare_places(r, next) == 0 && r->process != next->process && !is_same_rank(r, next);
        next->later = r->earlier;
    }
}

/* Puts the ranks into order, and leaves out those of an earlier attempt. A process that warned
   or stopped before NCCL gave it a number counts if a rank is missing: it may be that one. */
static void sort_ranks(struct ni_log *log)
{
    for (unsigned i = 0; i < log->n_rank; i++)
        log->order[i] = &log->rank[i];
    qsort(log->order, log->n_rank, sizeof(void *), by_place);
    /* false if only warnings were printed: then no line names a rank */
    const bool named = log->n_rank > 0 && log->order[log->n_rank - 1]->rank >= 0;
    if (named)
        mark_earlier(log);
    qsort(log->order, log->n_rank, sizeof(void *), by_number);
    const bool lacks = lacks_ranks(log);
    for (unsigned i = 0; i < log->n_rank; i++) {
        struct ni_log_rank *r = log->order[i];
        const bool failed =
            r->process == r && r->host != 0 && (r->warn.file != 0 || ni_log_is_stopped(r));

        if (named ? r->rank < 0 && !(lacks && failed) : r->host == 0)
            continue;
        log->left_out += r->earlier;
        if (!r->earlier)
            log->order[log->n++] = r;
    }
}

/* Returns the value that NCCL said it took; NULL: it said nothing. */
static const char *rank_value(const struct ni_log *log, const struct ni_log_rank *r,
                              const char *name)
{
    for (unsigned k = 1; k < log->n_name; k++)
        if (r->process->value[k] != 0 && strcmp(ni_log_word(log, log->name[k]), name) == 0)
            return ni_log_word(log, r->process->value[k]);
    return NULL;
}

/* Returns the variable that switches RDMA off; NULL: none does. */
static const char *switched_off(const struct ni_log *log, const struct ni_log_rank *r)
{
    const char *off = rank_value(log, r, "NCCL_IB_DISABLE"), *net = rank_value(log, r, "NCCL_NET");

    if (off && strcmp(off, "0") != 0)
        return "NCCL_IB_DISABLE";
    return net && strcasecmp(net, "socket") == 0 ? "NCCL_NET" : NULL;
}

/* Properties of a rank, a bit each. The first ones are the way of its data between nodes. */
enum {
    UNKNOWN = 1, /* the log does not say */
    LOCAL = 2,   /* one node: no network is needed */
    RDMA = 4,    /* IB, or a plugin of another network */
    SOCKETS = 8,
    NO_RDMA = SOCKETS | UNKNOWN,
    LACKS_GDR = 16,
    MEANT = 32, /* RDMA, or HCAs are named and not switched off */
    WAITING = 64
};

/* Returns the bits above that hold for the rank. */
static unsigned flags_of(const struct ni_log *log, const struct ni_log_rank *r)
{
    const struct ni_log_rank *p = r->process;
    const char *network = ni_log_word(log, p->network);
    /* up to 2.20.3 no line has the number of nodes, but channels to other nodes are printed at the
       start */
    const bool local = r->nodes == 1 || r->size == 1 || (r->nodes == 0 && r->connected);
    unsigned is = r->gdr < r->net ? LACKS_GDR : 0;
    const bool sockets = ni_log_is_sockets(ni_span_of(network), p->tcp);

    if (r->sockets > 0 || (r->net == 0 && !local && sockets))
        is |= SOCKETS;
    else if (r->net > 0 || (!local && *network))
        is |= RDMA | MEANT;
    else
        is |= local ? LOCAL : UNKNOWN;
    if (ni_log_is_stopped(r))
        is |= WAITING;
    if ((p->hcas != 0 || rank_value(log, r, "NCCL_IB_HCA")) && !switched_off(log, r))
        is |= MEANT;
    return is;
}

/* ---- what is told ---- */

/* Returns the marked ranks in words. */
static const char *name_them(struct ni_log *log)
{
    struct ni_text t = ni_text_on(log->who, sizeof(log->who));

    ni_log_put_ranks(&t, log, 1);
    return log->who;
}

/* Marks the ranks with any of these properties. Returns how many. */
static unsigned mark(struct ni_log *log, unsigned what)
{
    unsigned n = 0;

    for (unsigned i = 0; i < log->n; i++) {
        struct ni_log_rank *r = log->order[i];

        r->mark = (r->is & what) != 0;
        n += r->mark;
    }
    return n;
}

/* Puts the meaning of the hit, and its line. */
static void put_hit(struct ni_text *t, const struct ni_log *log, const struct ni_log_hit *h,
                    enum ni_finding_id id)
{
    ni_putf(t, "%s. ", ni_log_cause[id]);
    ni_quote(t, ni_log_word(log, h->file));
    ni_putf(t, ":%u: \"%s\"", (unsigned)h->line, h->quote);
    if (h->count > 1)
        ni_putf(t, " (%u times)", (unsigned)h->count);
}

/* Returns the properties that a rank needs so that a hit with these flags has harmed it: bits of
   `is`. */
static unsigned harmed_by(unsigned flags)
{
    if (flags & WHY)
        return NO_RDMA;
    if (flags & NO_GDR)
        return LACKS_GDR | UNKNOWN;
    if (flags & LATE)
        return WAITING | UNKNOWN;
    return ~0U;
}

/* Reports what the log says, unless a better finding says it or it harms no rank. */
static void report_hit(struct ni_log *log, const struct ni_log_hit *h, struct ni_findings *f)
{
    const unsigned flags = h->flags;
    const unsigned harmful = harmed_by(flags);
    enum ni_finding_id id = h->row->id;
    struct ni_text who = NI_TEXT(96), t = NI_TEXT(320);
    bool harms = log->n == 0;

    if (((id == NI_F_HCA_NONE || id == NI_F_LOG_SOCKETS) && /* judge_network reports it */
         mark(log, SOCKETS) > 0) ||
        ((flags & FOLLOWS) != 0 && ni_findings_has(f, id)) ||
        ((id == NI_F_LOG_TIMEOUT || id == NI_F_LOG_COLLECTIVE) && ni_findings_has(f, id)) ||
        (id == NI_F_LOG_FAILED && ni_findings_count(f, NI_ERROR) > 0))
        return;
    for (unsigned i = 0; i < log->n; i++) {
        struct ni_log_rank *r = log->order[i];

        r->mark = (r->process->said & h->bit) != 0;
        harms |= (r->mark || h->nobodys) && (r->is & harmful) != 0;
        if (flags & NI_PATTERN_INDEX && rank_value(log, r, "NCCL_IB_GID_INDEX"))
            id = NI_F_USER_GID_WRONG;
    }
    if (!harms)
        return;
    ni_put(&who, ni_log_word(log, h->subject));
    ni_putf(&who, "%s%s", who.len > 0 && name_them(log)[0] ? ", " : "", name_them(log));
    put_hit(&t, log, h, id);
    ni_report(f, id, who.buf, "%s", t.buf);
}

/* Finds the first line in which the rank's process says why it uses sockets; NULL: there is none.
   */
static const struct ni_log_hit *find_why(const struct ni_log *log, const struct ni_log_rank *r)
{
    for (unsigned i = 0; i < log->n_hit; i++) {
        const struct ni_log_hit *h = &log->hit[i];

        if ((h->row->flags & WHY) != 0 && (r->process->said & h->bit) != 0)
            return h;
    }
    return NULL;
}

/* Returns true if each marked rank has the same reason: the line, or without one the variable that
   switches RDMA off. */
static bool have_all_reason(const struct ni_log *log, const struct ni_log_hit *h, const char *off)
{
    for (unsigned i = 0; i < log->n; i++) {
        const struct ni_log_rank *r = log->order[i];
        const bool same = h ? (r->process->said & h->bit) != 0 : switched_off(log, r) == off;

        if (r->mark && !same)
            return false;
    }
    return true;
}

enum detail { REASON, REASON_AND_LINE };

/* Puts the first reason that a marked rank gave, and which rank unless all did. */
static void put_socket_reason(struct ni_text *t, const struct ni_log *log, enum detail detail)
{
    for (unsigned i = 0; i < log->n; i++) {
        const struct ni_log_rank *r = log->order[i];
        const struct ni_log_hit *h = find_why(log, r);
        const char *off = switched_off(log, r);

        if (!r->mark || (!h && !off))
            continue;
        if (r->rank >= 0 && !have_all_reason(log, h, off))
            ni_putf(t, "rank %d: ", r->rank);
        if (!h)
            ni_putf(t, "%s is %.16s", off, rank_value(log, r, off));
        else if (detail == REASON_AND_LINE)
            put_hit(t, log, h, h->row->id);
        else
            ni_put(t, ni_log_cause[h->row->id]);
        return;
    }
    ni_put(t, "NCCL gives no reason");
}

static void judge_network(struct ni_log *log, bool rdma, bool gdr, struct ni_findings *f)
{
    const bool meant = rdma || mark(log, MEANT) > 0;
    struct ni_text t = NI_TEXT(300);

    if (mark(log, SOCKETS) > 0) {
        put_socket_reason(&t, log, REASON_AND_LINE);
        ni_report(f, meant ? NI_F_LOG_SOCKETS : NI_F_HCA_NONE, name_them(log),
                  "went over sockets%s: %s", meant ? "" : ", and nothing in the log asks for RDMA",
                  t.buf);
    }
    for (unsigned i = 0; i < log->n; i++) {
        log->net += log->order[i]->net;
        log->gdr += log->order[i]->gdr;
    }
    if (mark(log, LACKS_GDR) > 0)
        ni_report(f, NI_F_LOG_GDR, name_them(log),
                  "%u of %u ends of channels to other nodes have no GPUDirect RDMA",
                  log->net - log->gdr, log->net);
    log->failed = (rdma && (log->n == 0 || mark(log, NO_RDMA) > 0)) ||
                  (gdr && (log->gdr < log->net || (log->net == 0 && mark(log, LOCAL) < log->n)));
}

static void judge_start(struct ni_log *log, struct ni_findings *f)
{
    const int size = log->n > 0 ? log->order[log->n - 1]->size : 0;
    struct ni_text missing = NI_TEXT(96);

    if (ni_findings_has(f, NI_F_LOG_LINES_LOST) || mark(log, WAITING) == 0)
        return;
    ni_log_put_missing(&missing, log);
    ni_log_report_stops(log, f);
    if (log->n > 1 && log->order[0]->rank >= 0 && missing.len > 0)
        ni_report(f, NI_F_LOG_RANKS_MISSING, missing.buf,
                  "of %d ranks, these have no line in the log", size);
}

static void judge_ranks(struct ni_log *log, struct ni_findings *f)
{
    for (unsigned i = 0; i + 1 < log->n; i++) {
        const struct ni_log_rank *r = log->order[i], *next = log->order[i + 1];
        struct ni_text who = NI_TEXT(96);

        if (!is_same_rank(r, next))
            continue;
        ni_putf(&who, "rank %d", r->rank);
        ni_report(f, NI_F_JOB_RANK_TWICE, who.buf,
                  "two processes say that they are this rank of one communicator: %s and %s",
                  ni_log_word(log, r->process->name), ni_log_word(log, next->process->name));
        return;
    }
}

/* Reports each setting that differs between ranks where it must not, or from the plan. */
static void judge_settings(struct ni_log *log, struct ni_findings *f)
{
    for (unsigned k = 0; k < NI_LOG_NAMES; k++) {
        const char *name = k == NI_LOG_VERSION ? "version" : ni_log_word(log, log->name[k]);
        const struct ni_job_setting *row = ni_find_job_setting(name);
        enum ni_finding_id id = NI_F_LOG_VERSION_DIFFERS;
        ni_log_text first = 0, job = 0;
        unsigned others = 0, off_plan = 0;

        if (k != NI_LOG_VERSION)
            id = row ? row->id : NI_F_COUNT;

        for (unsigned i = 0; i < log->n; i++) {
            struct ni_log_rank *r = log->order[i];
            const ni_log_text value = r->process->value[k];
            const ni_log_text its = r->several ? 0 : r->job;

            job = first == 0 ? its : job;
            first = first == 0 ? value : first;
            /* ranks of another job may differ */
            r->mark = value != first && value != 0 && (its == job || its == 0 || job == 0);
            others += r->mark;
            off_plan += value != log->plan[k] && value != 0 && log->plan[k] != 0;
        }
        if (others > 0 && id != NI_F_COUNT && id != NI_F_JOB_HOSTID_SAME)
            ni_report(f, id, name, "%s: the value differs from %s=%s of the others", name_them(log),
                      name, ni_log_word(log, first));
        if (off_plan > 0)
            ni_report(f, NI_F_LOG_PLAN_DIFFERS, name,
                      "the plan has %s, and %u of %u rank%s took another value",
                      ni_log_word(log, log->plan[k]), off_plan, log->n, ni_plural(log->n));
    }
}

/* ---- the first sentence ---- */

bool ni_log_put_hca(struct ni_text *t, const struct ni_log *log, const struct ni_log_rank *r,
                    unsigned number)
{
    const char *network = ni_log_word(log, r->process->network);
    const char *list = ni_log_word(log, r->process->hcas);
    /* other plugins number HCAs in their own way */
    const bool its = *list && (!*network || strncmp(network, "IB", 2) == 0 ||
                               ni_log_is_sockets(ni_span_of(network), false));
    struct ni_span hca = {list, 0};
    unsigned i = 0;

    while (its && i <= number && ni_split(&list, ',', &hca))
        i++;
    if (i > number)
        ni_put_quoted(t, hca.p, hca.n, hca.n);
    else
        ni_putf(t, its ? "fused number %u" : "number %u", number);
    return i > number;
}

/* HCAs of the hosts of a job: the least and the most of a host, and in how many ways they were
   used. */
struct hca_counts {
    unsigned min, max; /* of hosts that have HCAs */
    unsigned hosts;    /* hosts that have HCAs */
    unsigned uses, fused;
    bool connected;
};

/* Counts the HCAs of the ranks of_host[first] to of_host[end - 1], which are of one host. */
static void count_host_hcas(struct ni_log *log, unsigned first, unsigned end, struct hca_counts *to)
{
    unsigned n = 0;

    for (unsigned i = first; i < end; i++) {
        const struct ni_log_rank *r = log->of_host[i];

        to->connected |= r->connected;
        for (unsigned h = 0; h < NI_LOG_HCAS; h++) {
            struct ni_text name = NI_TEXT(320);

            if (r->on_hca[h] == 0)
                continue;
            ni_log_put_hca(&name, log, r, h);
            const ni_log_text word = ni_log_keep(log, ni_span_of(name.buf));
            if (log->hca_of[word] != first + 1)
                n++;
            log->hca_of[word] = (uint16_t)(first + 1);
            to->uses++;
            if (strchr(name.buf, '+') || ni_has_prefix(name.buf, "fused "))
                to->fused++;
        }
    }
    if (n == 0)
        return;
    to->hosts++;
    if (n < to->min)
        to->min = n;
    if (n > to->max)
        to->max = n;
}

/* Puts the number of HCAs that the ranks of a node use. */
static void put_ranks_hcas(struct ni_text *t, struct ni_log *log)
{
    struct hca_counts c = {.min = UINT32_MAX};

    memcpy(log->of_host, log->order, log->n * sizeof(void *));
    qsort(log->of_host, log->n, sizeof(void *), by_host);
    for (unsigned first = 0, next; first < log->n; first = next) {
        const ni_log_text host = log->of_host[first]->process->host;

        next = first;
        while (next < log->n && log->of_host[next]->process->host == host)
            next++;
        count_host_hcas(log, first, next, &c);
    }
    if (c.max == 0) {
        ni_put(t, ", RDMA chosen, but the log shows no channel to another node");
        return;
    }
    ni_putf(t, ", RDMA %s ", c.connected ? "on" : "set up on");
    if (c.min < c.max)
        ni_putf(t, "%u to ", c.min);
    ni_putf(t, "%u %sHCA%s%s%s", c.max, c.fused > 0 && c.fused == c.uses ? "fused " : "",
            ni_plural(c.max), c.hosts > 1 ? " of each node" : "",
            c.fused > 0 && c.fused < c.uses ? ", some fused" : "");
}

/* Puts the state in which the log ends. */
static void put_end(struct ni_text *t, const struct ni_log *log)
{
    unsigned ended = 0;

    for (unsigned i = 0; i < log->n; i++)
        ended += log->order[i]->ended;
    if (ended > 0 && ended == log->n)
        ni_put(t, "; all ended in order");
    if (log->cut_file != 0) {
        ni_put(t, "; ");
        ni_quote(t, ni_log_word(log, log->cut_file));
        ni_put(t, " is cut within a line of NCCL");
    }
    if (log->left_out > 0)
        ni_putf(t, "; %u rank%s of earlier attempts left out", log->left_out,
                ni_plural(log->left_out));
}

/* Puts the number of ranks, or of processes if none is named. */
static void put_count(struct ni_text *t, const struct ni_log *log)
{
    const struct ni_log_rank *last = log->n > 0 ? log->order[log->n - 1] : NULL;
    unsigned nameless = 0;

    while (nameless < log->n && log->order[nameless]->rank < 0)
        nameless++;
    const unsigned named = log->n - nameless;
    if (last && last->size > (int)named)
        ni_putf(t, "%u of %d ranks", named, last->size);
    else if (named > 0)
        ni_putf(t, "%u rank%s", named, ni_plural(named));
    if (nameless > 0)
        ni_putf(t, "%s%u %s%s", named > 0 ? " and " : "", nameless,
                nameless == 1 ? "process" : "processes", named > 0 ? " without a number" : "");
    if (last)
        return;
    if (log->n_rank > 0 || log->version != 0)
        ni_put(t, "no rank named");
    else
        ni_putf(t, "none of %u line%s is from NCCL", (unsigned)log->lines,
                ni_plural((unsigned)log->lines));
}

/* Puts NCCL's version: that of the first rank that has one, else that of the log. */
static void put_version(struct ni_text *t, const struct ni_log *log, const struct ni_findings *f)
{
    ni_log_text version = 0;

    for (unsigned i = 0; version == 0 && i < log->n; i++)
        version = log->order[i]->process->value[NI_LOG_VERSION];
    if (version == 0)
        version = log->version;
    if (version != 0)
        ni_putf(t, ", %s %s%s", log->rccl ? "RCCL" : "NCCL", ni_log_word(log, version),
                ni_findings_has(f, NI_F_LOG_VERSION_DIFFERS) ? " and others" : "");
}

/* Puts the share of channel ends that use GPUDirect RDMA. */
static void put_gdr_share(struct ni_text *t, const struct ni_log *log, bool some_sockets)
{
    if (log->net == 0)
        return;
    if (log->gdr == log->net)
        ni_putf(t, ", GPUDirect on all %u channel ends", log->net);
    else
        ni_putf(t, ", GPUDirect on %u of %u channel ends", log->gdr, log->net);
    if (some_sockets)
        ni_put(t, " over RDMA");
}

/* Puts the network of all ranks, or says that the log does not name it. */
static void put_network_of_job(struct ni_text *t, struct ni_log *log)
{
    const unsigned local = mark(log, LOCAL), rdma = mark(log, RDMA), sockets = mark(log, SOCKETS);

    if (sockets > 0 && local + rdma == 0) {
        ni_put(t, ", over sockets: ");
        put_socket_reason(t, log, REASON);
    } else if (local > 0 && local == log->n) {
        ni_put(t, ", one node: no network needed");
    } else if (rdma > 0) {
        put_ranks_hcas(t, log);
    } else if (log->n_rank > 0 || log->version != 0) {
        ni_put(t, log->info ? ", and no line says which network"
                            : ", and the log does not show which network: set NCCL_DEBUG=INFO");
    }
}

/* Makes the one sentence about the job: its cause of failure, its ranks, version, network, end,
   errors. */
static void make_sentence(struct ni_log *log, struct ni_findings *f)
{
    struct ni_text t = ni_text_on(log->sentence, sizeof(log->sentence));
    const unsigned sockets = mark(log, SOCKETS);
    const bool mixed = sockets > 0 && mark(log, RDMA | LOCAL) > 0;
    const struct ni_finding *cause = ni_log_cause_of(f, mixed);

    log->cause = cause;
    if (cause)
        ni_putf(&t, "%s%s%s; ", cause->subject, cause->subject[0] ? ": " : "", cause->message);
    if (mixed) {
        (void)mark(log, SOCKETS);
        ni_putf(&t, "%s went over sockets: ", name_them(log));
        put_socket_reason(&t, log, REASON);
        ni_put(&t, "; ");
    }
    put_count(&t, log);
    put_version(&t, log, f);
    put_network_of_job(&t, log);
    put_gdr_share(&t, log, sockets > 0);
    put_end(&t, log);
    const unsigned errors = ni_findings_count(f, NI_ERROR);
    if (errors > 0)
        ni_putf(&t, "; %u error%s below", errors, ni_plural(errors));
    log->failed |= errors > 0;
}

void ni_log_judge(struct ni_log *log, bool rdma, bool gdr, struct ni_findings *f)
{
    ni_log_name_ranks(log);
    sort_ranks(log);
    for (unsigned i = 0; i < log->n; i++)
        log->order[i]->is = flags_of(log, log->order[i]);
    if (log->n_rank == 0 && log->n_hit == 0 && log->version == 0)
        ni_report(f, NI_F_LOG_NONE, "",
                  "the log has no `NCCL INFO` or `NCCL WARN`, no version of NCCL or RCCL, and no "
                  "error that goes with them");
    ni_log_find_owners(log);
    ni_log_report_causes(log, f);
    for (unsigned follows = 0; follows <= FOLLOWS; follows++)
        for (unsigned i = 0; i < log->n_hit; i++)
            if ((log->hit[i].row->flags & FOLLOWS) == follows)
                report_hit(log, &log->hit[i], f);
    judge_network(log, rdma, gdr, f);
    judge_ranks(log, f);
    judge_start(log, f);
    judge_settings(log, f);
    ni_log_report_unknown(log, f);
    if (log->dropped > 0)
        ni_report(f, NI_F_FACT_TRUNCATED, "log", "%u fact%s did not fit", log->dropped,
                  ni_plural(log->dropped));
    make_sentence(log, f);
}
