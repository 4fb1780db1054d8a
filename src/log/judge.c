/* SPDX-License-Identifier: Apache-2.0 */
/* After the last line: which ranks there are, what they did, and what is told of it. */
#include <stdlib.h>
#include <string.h>

#include "machine.h"
#include "patterns.h"

/* ---- asking ---- */

const struct ni_log_rank *ni_log_rank_of(const struct ni_log *log, unsigned i)
{
    return &log->rank[(uint32_t)log->order[i]];
}

const struct ni_log_process *ni_log_process_of(const struct ni_log *log, unsigned i)
{
    return &log->process[ni_log_rank_of(log, i)->process];
}

const char *ni_log_value(const struct ni_log *log, const struct ni_log_process *p, const char *name)
{
    const size_t n = strlen(name);
    for (unsigned i = 0; i < p->n_var; i++) {
        const char *var = ni_log_word(log, p->var[i]);
        if (strncmp(var, name, n) == 0 && var[n] == '=')
            return var + n + 1;
    }
    return NULL;
}

bool ni_log_name(const char *var, char name[64])
{
    return ni_copyn(name, 64, var, strcspn(var, "="));
}

enum ni_log_way ni_log_way(const struct ni_log *log, const struct ni_log_rank *r)
{
    const char *network = ni_log_word(log, log->process[r->process].network);
    if (r->sockets > 0)
        return NI_WAY_SOCKET;
    if (r->net > 0)
        return NI_WAY_RDMA;
    /* Up to 2.20.3 no line tells the nodes, but channels to other nodes are told at the start. */
    if (r->nodes == 1 || r->size == 1 || (r->nodes == 0 && r->connected))
        return NI_WAY_LOCAL;
    if (*network == '\0')
        return NI_WAY_UNKNOWN;
    return strstr(network, "ocket") ? NI_WAY_SOCKET : NI_WAY_RDMA;
}

static void put_range(struct ni_text *t, int from, int last)
{
    if (from >= 0)
        ni_putf(t, "%s%d", t->len > 0 ? ", " : "", from);
    if (last > from)
        ni_putf(t, "%s%d", last > from + 1 ? "-" : ", ", last);
}

void ni_log_put_ranks(struct ni_text *t, const struct ni_log *log, const unsigned *set,
                      unsigned value)
{
    enum { HOSTS = 4 };
    ni_kept host[HOSTS + 1];
    unsigned n = 0, hosts = 0;
    char buf[160];
    struct ni_text list = ni_text_on(buf, sizeof(buf));
    int from = -1, last = -1;
    for (unsigned i = 0; i < log->n; i++) {
        const struct ni_log_rank *r = ni_log_rank_of(log, i);
        const ni_kept h = log->process[r->process].host;
        unsigned k = 0;
        if (set[i] != value)
            continue;
        n++;
        if (r->rank != last + 1 || from < 0) {
            put_range(&list, from, last);
            from = r->rank;
        }
        last = r->rank;
        while (k < hosts && host[k] != h)
            k++;
        if (k == hosts && k <= HOSTS && h != 0)
            host[hosts++] = h;
    }
    put_range(&list, from, last);
    if (list.len > 0)
        ni_putf(t, "rank%s %s%s", n == 1 ? "" : "s", buf, list.cut ? "..." : "");
    else if (n > 0)
        ni_putf(t, "%u process%s", n, n == 1 ? "" : "es");
    for (unsigned k = 0; k < hosts; k++) {
        ni_put(t, k == 0 ? " (" : ", ");
        ni_quote(t, k == HOSTS ? "..." : ni_log_word(log, host[k]));
    }
    ni_put(t, hosts > 0 ? ")" : "");
}

/* ---- which ranks there are ---- */

static int by_number(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* In its place, GPU and rank, there is a later process: this one was of an earlier attempt. */
static bool is_restarted(const struct ni_log *log, unsigned i)
{
    const struct ni_log_rank *r = ni_log_rank_of(log, i), *q;
    for (unsigned k = i + 1; k < log->n; k++) {
        q = ni_log_rank_of(log, k);
        if (q->rank != r->rank || r->rank < 0)
            return false;
        if (q->size == r->size && q->bus == r->bus && q->dev == r->dev &&
            q->process != r->process &&
            log->process[q->process].host == log->process[r->process].host)
            return true;
    }
    return false;
}

static void sort_ranks(struct ni_log *log)
{
    const bool named = log->n_rank > 0;
    unsigned n = 0;
    /* Only warnings were printed: nothing says which rank a process is. */
    for (unsigned i = 0; !named && i < log->n_process; i++)
        if (log->process[i].host != 0)
            log->rank[log->n_rank++] =
                (struct ni_log_rank){.process = (int)i, .next = -1, .rank = -1};
    log->n = log->n_rank;
    for (unsigned i = 0; i < log->n; i++)
        log->order[i] = (int64_t)log->rank[i].rank * ((int64_t)1 << 32) + i;
    qsort(log->order, log->n, sizeof(log->order[0]), by_number);
    for (unsigned i = 0; i < log->n; i++)
        if (!is_restarted(log, i))
            log->order[n++] = log->order[i];
    log->left_out = log->n - n;
    log->n = n;
}

static bool is_alike(const struct ni_log *log, unsigned a, unsigned b)
{
    const struct ni_log_rank *r = ni_log_rank_of(log, a), *q = ni_log_rank_of(log, b);
    const struct ni_log_process *p = ni_log_process_of(log, a), *o = ni_log_process_of(log, b);
    return p->network == o->network && (p->version == o->version || !p->version || !o->version) &&
           p->gid_index == o->gid_index && p->hcas == o->hcas && r->started == q->started &&
           r->complete == q->complete && ni_log_way(log, r) == ni_log_way(log, q) &&
           (r->gdr == r->net) == (q->gdr == q->net) && (r->gdr == 0) == (q->gdr == 0);
}

static void group_ranks(struct ni_log *log)
{
    unsigned first[NI_LOG_GROUPS], n = 0;
    for (unsigned i = 0; i < log->n; i++) {
        unsigned k = 0;
        while (k < n && !is_alike(log, first[k], i))
            k++;
        if (k == n && n < NI_LOG_GROUPS)
            first[n++] = i;
        log->group[i] = k < n ? k : n - 1;
    }
    log->n_group = n;
}

/* ---- what is told ---- */

struct judge {
    struct ni_log *log;
    const struct ni_log_ask *ask;
    struct ni_findings *f;
    unsigned set[NI_LOG_PROCESSES]; /* 1: the ranks that are spoken of */
    char who[96];                   /* in words */
    unsigned net, gdr;              /* ends of channels to other nodes, with GPUDirect RDMA */
    uint32_t used[NI_LOG_WORDS];    /* of a host: HCAs, a bit each */
};

static const char *name_them(struct judge *j)
{
    struct ni_text t = ni_text_on(j->who, sizeof(j->who));
    ni_log_put_ranks(&t, j->log, j->set, 1);
    return j->who;
}

enum {
    LOCAL = 1 << NI_WAY_LOCAL,
    RDMA = 1 << NI_WAY_RDMA,
    SOCKETS = 1 << NI_WAY_SOCKET,
    NO_RDMA = SOCKETS | 1 << NI_WAY_UNKNOWN,
    /* ... and what else ranks are asked for: */
    NO_GDR = 16,
    MAYBE_NO_GDR = 32, /* a fragment of a log, too */
    MEANT = 64,        /* RDMA, or HCAs are named and not switched off */
    WAITING = 128
};

/* The value of NCCL_IB_DISABLE that switches RDMA off; NULL: none does. */
static const char *switched_off(const struct ni_log *log, const struct ni_log_process *p)
{
    const char *value = ni_log_value(log, p, "NCCL_IB_DISABLE");
    return value && strcmp(value, "0") != 0 ? value : NULL;
}

static bool is_any(const struct ni_log *log, const struct ni_log_rank *r, unsigned what)
{
    const struct ni_log_process *p = &log->process[r->process];
    unsigned is = 1U << ni_log_way(log, r);
    is |= r->gdr < r->net ? NO_GDR | MAYBE_NO_GDR : p->network == 0 ? MAYBE_NO_GDR : 0;
    if (r->started && !r->complete && !r->connected && !r->ended)
        is |= WAITING;
    if ((is & RDMA) != 0 ||
        ((p->hcas != 0 || ni_log_value(log, p, "NCCL_IB_HCA")) && !switched_off(log, p)))
        is |= MEANT;
    return (is & what) != 0;
}

/* Marks the ranks that are any of that. Returns how many. */
static unsigned mark(struct judge *j, unsigned what)
{
    unsigned n = 0;
    for (unsigned i = 0; i < j->log->n; i++)
        n += j->set[i] = is_any(j->log, ni_log_rank_of(j->log, i), what);
    return n;
}

/* What it means, and the line. */
static void put_hit(struct ni_text *t, const struct ni_log *log, const struct ni_log_hit *h,
                    enum ni_finding_id id)
{
    ni_putf(t, "%s. ", ni_log_cause[id]);
    ni_quote(t, ni_log_word(log, h->file));
    ni_putf(t, ":%u: \"%s\"", (unsigned)h->line, h->quote);
    if (h->count > 1)
        ni_putf(t, " (%u times)", (unsigned)h->count);
}

/* The ranks of those who said it are marked. Whether it holds for one of them, or where nobody is
   named for any. */
static bool mark_hit(struct judge *j, const struct ni_log_hit *h, unsigned what)
{
    bool any = j->log->n == 0;
    for (unsigned i = 0; i < j->log->n; i++) {
        const struct ni_log_rank *r = ni_log_rank_of(j->log, i);
        j->set[i] = 0;
        for (unsigned b = 0; b < h->n_by; b++) {
            j->set[i] |= r->process == h->by[b];
            any |= (h->by[b] < 0 || r->process == h->by[b]) && is_any(j->log, r, what);
        }
    }
    return any;
}

static void report_hit(struct judge *j, const struct ni_log_hit *h)
{
    const unsigned flags = ni_patterns[h->row].flags;
    enum ni_finding_id id = ni_patterns[h->row].id;
    char who[96], buf[320];
    struct ni_text w = ni_text_on(who, sizeof(who)), t = ni_text_on(buf, sizeof(buf));
    const unsigned harmful = (flags & NI_ROW_WHY) != 0      ? NO_RDMA
                             : (flags & NI_ROW_NO_GDR) != 0 ? MAYBE_NO_GDR
                                                            : LOCAL | RDMA | NO_RDMA;
    if ((id == NI_F_HCA_NONE && mark(j, SOCKETS) > 0) || /* judge_network tells it */
        ((flags & NI_ROW_FOLLOWS) != 0 && ni_findings_has(j->f, id)) ||
        (id == NI_F_LOG_FAILED && ni_findings_count(j->f, NI_ERROR) > 0) ||
        !mark_hit(j, h, harmful))
        return;
    for (unsigned i = 0; (flags & NI_ROW_INDEX) != 0 && i < j->log->n_process; i++)
        if (ni_log_value(j->log, &j->log->process[i], "NCCL_IB_GID_INDEX"))
            id = NI_F_USER_GID_WRONG;
    ni_put(&w, ni_log_word(j->log, h->subject));
    ni_put(&w, w.len > 0 && name_them(j)[0] ? ", " : "");
    ni_putf(&w, "%s%s", name_them(j), h->n_by == NI_COUNT(h->by) ? " and others" : "");
    put_hit(&t, j->log, h, id);
    ni_report(j->f, id, who, "%s", buf);
}

static void report_hits(struct judge *j)
{
    for (unsigned follows = 0; follows <= NI_ROW_FOLLOWS; follows++)
        for (unsigned i = 0; i < j->log->n_hit; i++)
            if ((ni_patterns[j->log->hit[i].row].flags & NI_ROW_FOLLOWS) == follows)
                report_hit(j, &j->log->hit[i]);
}

/* The first reason that one of the marked gave; with quote also the line. */
static void put_why(struct ni_text *t, const struct judge *j, bool quote)
{
    for (unsigned i = 0; i < j->log->n; i++) {
        const struct ni_log_process *p = ni_log_process_of(j->log, i);
        const char *off = switched_off(j->log, p);
        const struct ni_log_hit *h = &j->log->hit[p->why - (p->why > 0)];
        if (j->set[i] != 1 || (p->why == 0 && !off))
            continue;
        if (p->why == 0)
            ni_putf(t, "NCCL_IB_DISABLE is %.16s", off);
        else if (quote)
            put_hit(t, j->log, h, ni_patterns[h->row].id);
        else
            ni_put(t, ni_log_cause[ni_patterns[h->row].id]);
        return;
    }
    ni_put(t, "NCCL gives no reason");
}

static void judge_network(struct judge *j)
{
    const bool meant = mark(j, MEANT) > 0 || j->ask->rdma || j->ask->gdr;
    char buf[300];
    struct ni_text t = ni_text_on(buf, sizeof(buf));
    unsigned n = mark(j, SOCKETS);
    put_why(&t, j, true);
    if (n > 0)
        ni_report(j->f, meant ? NI_F_LOG_SOCKETS : NI_F_HCA_NONE, name_them(j),
                  "sockets between nodes%s: %s",
                  meant ? "" : ", and nothing in the log asks for RDMA", buf);
    for (unsigned i = 0; i < j->log->n; i++) {
        j->net += ni_log_rank_of(j->log, i)->net;
        j->gdr += ni_log_rank_of(j->log, i)->gdr;
    }
    if (mark(j, NO_GDR) > 0)
        ni_report(j->f, NI_F_LOG_GDR, name_them(j),
                  "%u of %u ends of channels to other nodes have no GPUDirect RDMA",
                  j->net - j->gdr, j->net);
    n = mark(j, NO_RDMA);
    j->log->failed =
        ((j->ask->rdma || j->ask->gdr) && (n > 0 || j->log->n == 0)) ||
        (j->ask->gdr && (j->gdr < j->net || (j->net == 0 && mark(j, LOCAL) < j->log->n)));
}

static void judge_start(struct judge *j)
{
    const struct ni_log *log = j->log;
    const int size = log->n > 0 ? ni_log_rank_of(log, log->n - 1)->size : 0;
    char missing[96];
    struct ni_text t = ni_text_on(missing, sizeof(missing));
    int next = 0;
    bool met = false;
    if (mark(j, WAITING) == 0)
        return;
    for (unsigned i = 0; i <= log->n; i++) {
        const int rank = i < log->n ? ni_log_rank_of(log, i)->rank : size;
        met |= i < log->n && ni_log_rank_of(log, i)->met;
        if (rank > next)
            put_range(&t, next, rank - 1);
        next = rank >= next ? rank + 1 : next;
    }
    ni_report(j->f, NI_F_LOG_UNFINISHED, name_them(j),
              "began to make the communicator and did not end: %s",
              met ? "all ranks met, so a peer died or its connection hangs"
                  : "they wait for other ranks, or for rank 0's address");
    if (log->n > 1 && t.len > 0)
        ni_report(j->f, NI_F_LOG_RANKS_MISSING, missing,
                  "of %d ranks these have no line in the log", size);
}

/* Names and indexes belong to a node. */
static bool may_differ(const char *var)
{
    static const char *const names[] = {"NCCL_HOSTID",    "NCCL_IB_HCA",   "NCCL_IB_GID_INDEX",
                                        "NCCL_SOCKET_",   "NCCL_TOPO_",    "NCCL_DEBUG",
                                        "NCCL_IB_ADDR_R", "NCCL_IB_MERGE", "NCCL_NET_GDR_LEVEL"};
    for (size_t i = 0; i < NI_COUNT(names); i++)
        if (ni_has_prefix(var, names[i]))
            return true;
    return false;
}

/* The names of all variables, each with the first value. */
static void list_variables(struct ni_log *log)
{
    char name[64];
    for (unsigned i = 0; i < log->n_process; i++) {
        for (unsigned v = 0; v < log->process[i].n_var; v++) {
            const char *var = ni_log_word(log, log->process[i].var[v]);
            unsigned k = 0;
            while (k < log->n_name &&
                   strncmp(ni_log_word(log, log->name[k]), var, strcspn(var, "=") + 1) != 0)
                k++;
            if (k == log->n_name && k < NI_COUNT(log->name) && ni_log_name(var, name))
                log->name[log->n_name++] = log->process[i].var[v];
        }
    }
}

/* Marks those that have another value than this one. */
static unsigned mark_others(struct judge *j, const char *name, const char *value)
{
    unsigned n = 0;
    for (unsigned i = 0; i < j->log->n; i++) {
        const char *other = ni_log_value(j->log, ni_log_process_of(j->log, i), name);
        n += j->set[i] = other && strcmp(other, value) != 0;
    }
    return n;
}

static void judge_settings(struct judge *j)
{
    struct ni_log *log = j->log;
    char *const *entry = j->ask->plan ? j->ask->plan->entry : NULL;
    char name[64];
    ni_kept first = 0;
    unsigned n = 0;
    list_variables(log);
    for (unsigned k = 0; k < log->n_name; k++) {
        const char *var = ni_log_word(log, log->name[k]);
        if (!may_differ(var) && ni_log_name(var, name) &&
            mark_others(j, name, var + strlen(name) + 1) > 0)
            ni_report(j->f, NI_F_LOG_SETTING_DIFFERS, name,
                      "%s: another value than %s of the others", name_them(j), var);
    }
    for (; entry && *entry; entry++)
        if (ni_log_name(*entry, name) && mark_others(j, name, *entry + strlen(name) + 1) > 0)
            ni_report(j->f, NI_F_LOG_PLAN_DIFFERS, name,
                      "the plan has %s, and %s took another value", *entry + strlen(name) + 1,
                      name_them(j));
    for (unsigned i = 0; i < log->n; i++) {
        const ni_kept version = ni_log_process_of(log, i)->version;
        first = first == 0 ? version : first;
        n += j->set[i] = version != 0 && version != first;
    }
    if (n > 0)
        ni_report(j->f, NI_F_LOG_VERSION_DIFFERS, name_them(j),
                  "another version of NCCL than %s of the others", ni_log_word(log, first));
}

/* ---- the first sentence ---- */

static void put_number(struct ni_text *t, const struct ni_log *log)
{
    const struct ni_log_rank *last = log->n > 0 ? ni_log_rank_of(log, log->n - 1) : NULL;
    if (!last)
        ni_put(t, log->nccl_lines == 0 && log->version == 0 ? "no line of NCCL" : "no rank named");
    else if (last->size > (int)log->n)
        ni_putf(t, "%u of %d ranks", log->n, last->size);
    else if (last->rank >= 0)
        ni_putf(t, "%u rank%s", log->n, log->n == 1 ? "" : "s");
    else
        ni_putf(t, "%u process%s", log->n, log->n == 1 ? "" : "es");
}

static void put_versions(struct ni_text *t, const struct ni_log *log)
{
    ni_kept seen[4];
    unsigned n = 0;
    for (unsigned i = 0; i <= log->n && n < NI_COUNT(seen); i++) {
        ni_kept v = i < log->n ? ni_log_process_of(log, i)->version : n == 0 ? log->version : 0;
        unsigned k = 0;
        while (k < n && seen[k] != v)
            k++;
        if (k == n && v != 0)
            ni_putf(t, "%s%s", n++ == 0 ? (log->rccl ? ", RCCL " : ", NCCL ") : " and ",
                    ni_log_word(log, seen[k] = v));
    }
}

static void put_hcas(struct ni_text *t, struct judge *j)
{
    unsigned min = NI_LOG_HCAS, max = 0, hosts = 0;
    bool connected = false;
    for (unsigned i = 0; i < j->log->n; i++) {
        const struct ni_log_rank *r = ni_log_rank_of(j->log, i);
        for (unsigned k = 0; k < NI_LOG_HCAS; k++)
            j->used[j->log->process[r->process].host] |= (uint32_t)(r->on_hca[k] > 0) << k;
        connected |= r->connected;
    }
    for (unsigned i = 0; i < NI_LOG_WORDS; i++) {
        const unsigned n = (unsigned)__builtin_popcount(j->used[i]);
        hosts += n > 0;
        min = n > 0 && n < min ? n : min;
        max = n > max ? n : max;
    }
    if (max == 0) {
        ni_put(t, ", RDMA chosen, and no channel to another node in the log");
        return;
    }
    ni_putf(t, ", RDMA %s ", connected ? "on" : "set up on");
    if (min < max)
        ni_putf(t, "%u to ", min);
    ni_putf(t, "%u HCA%s%s", max, max == 1 ? "" : "s", hosts > 1 ? " of each node" : "");
}

static void make_sentence(struct judge *j)
{
    struct ni_log *log = j->log;
    struct ni_text t = ni_text_on(log->sentence, sizeof(log->sentence));
    const unsigned local = mark(j, LOCAL), rdma = mark(j, RDMA), sockets = mark(j, SOCKETS);
    const unsigned errors = ni_findings_count(j->f, NI_ERROR);
    if (sockets > 0 && sockets < log->n) {
        ni_putf(&t, "%s went over sockets: ", name_them(j));
        put_why(&t, j, false);
        ni_put(&t, "; ");
    }
    put_number(&t, log);
    put_versions(&t, log);
    if (log->n == 0 && log->nccl_lines == 0 && log->version == 0) {
        ni_putf(&t, " in %u bytes", (unsigned)log->bytes);
    } else if (sockets > 0 && sockets == log->n) {
        ni_put(&t, ", over sockets: ");
        put_why(&t, j, false);
    } else if (local > 0 && local == log->n) {
        ni_put(&t, ni_log_rank_of(log, 0)->nodes == 1 || ni_log_rank_of(log, 0)->size == 1
                       ? ", one node: no network needed"
                       : ", no channel to another node");
    } else if (rdma > 0) {
        put_hcas(&t, j);
    } else {
        ni_put(&t, ", and the log does not say which network: NCCL_DEBUG=INFO does");
    }
    if (j->net > 0 && j->gdr == 0)
        ni_putf(&t, ", no GPUDirect on any of %u channel ends", j->net);
    else if (j->net > 1 && j->gdr == j->net)
        ni_putf(&t, ", GPUDirect on all %u channel ends", j->net);
    else if (j->net > 0)
        ni_putf(&t, ", GPUDirect on %u of %u channel ends", j->gdr, j->net);
    if (log->left_out > 0)
        ni_putf(&t, "; %u ranks of earlier attempts are left out", log->left_out);
    if (errors > 0)
        ni_putf(&t, "; %u error%s below", errors, errors == 1 ? "" : "s");
}

void ni_log_judge(struct ni_log *log, const struct ni_log_ask *ask, struct ni_findings *f)
{
    struct judge *j = calloc(1, sizeof(*j));
    log->failed = true;
    if (!j)
        return;
    *j = (struct judge){.log = log, .ask = ask, .f = f};
    sort_ranks(log);
    group_ranks(log);
    if (log->nccl_lines == 0 && log->n_hit == 0 && log->version == 0)
        ni_report(f, NI_F_LOG_NONE, "",
                  "no `NCCL INFO`, no `NCCL WARN`, no version of NCCL or RCCL, "
                  "and no error that people see beside them");
    report_hits(j);
    judge_network(j);
    judge_start(j);
    judge_settings(j);
    if (log->dropped > 0)
        ni_report(f, NI_F_FACT_TRUNCATED, "log", "%u facts had no room", log->dropped);
    make_sentence(j);
    log->failed |= ni_findings_count(f, NI_ERROR) > 0;
    free(j);
}
