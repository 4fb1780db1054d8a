/* SPDX-License-Identifier: Apache-2.0 */
/* The report of log: one sentence, the ranks in groups of equals, the settings and their effect,
   the findings. */
#include "log/report.h"

#include <string.h>

#include "log/cause.h"
#include "log/judge.h"
#include "log/ranks.h"
#include "log/set.h"
#include "log/stage.h"
#include "log/state.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/text.h"
#include "print/findings.h"
#include "print/json_write.h"
#include "print/layout.h"
#include "print/words.h"

/* ---- the ranks ---- */

static const char *state_of(const struct ni_log_rank *r)
{
    if (r->ended)
        return "ended in order";
    if (r->aborted)
        return "aborted";
    if (r->started && ni_log_is_stopped(r))
        return "not ready";
    if (r->connected)
        return "connected";
    if (r->complete)
        return "ready";
    return "";
}

static bool is_alike(const struct ni_log_rank *r, const struct ni_log_rank *q)
{
    const struct ni_log_rank *p = r->process, *o = q->process;
    const ni_log_text version = p->value[NI_LOG_VERSION], other = o->value[NI_LOG_VERSION];

    return p->network == o->network && (version == other || version == 0 || other == 0) &&
           p->gid_index == o->gid_index && p->hcas == o->hcas && r->is == q->is &&
           strcmp(state_of(r), state_of(q)) == 0 && (r->gdr == 0) == (q->gdr == 0);
}

/* Ranks that are alike: one row of the table. */
struct rank_group {
    const struct ni_log_rank *first;
    struct ni_log_set ranks;
    unsigned ends, gdr, on_hca[NI_LOG_HCAS];
    ni_log_text version;
    bool other_gids; /* its ranks have different GIDs */
};

/* Gathers the ranks that are like order[from], adds up their numbers and adds them to `done`. all:
   every rank that is not done. */
static void gather_group(struct rank_group *g, const struct ni_log *log, unsigned from, bool all,
                         struct ni_log_set *done)
{
    g->first = log->order[from];
    for (unsigned k = from; k < log->n; k++) {
        const struct ni_log_rank *q = log->order[k];

        if (ni_log_set_has(done, (int)k) || (!all && !is_alike(g->first, q)))
            continue;
        ni_log_set_add(&g->ranks, (int)k);
        ni_log_set_add(done, (int)k);
        if (q->process->gid != g->first->process->gid)
            g->other_gids = true;
        if (g->version == 0)
            g->version = q->process->value[NI_LOG_VERSION];
        g->ends += q->net + q->sockets;
        g->gdr += q->gdr;
        for (unsigned h = 0; h < NI_LOG_HCAS; h++)
            g->on_hca[h] += q->on_hca[h];
    }
}

/* Puts the row of the ranks that NCCL treats like order[from]; likewise. */
NI_LOG_OWN_FRAME static void put_group_row(struct ni_text *table, const struct ni_log *log,
                                           unsigned from, bool all, struct ni_log_set *done)
{
    struct rank_group group = {0}, *g = &group;
    const struct ni_log_rank *p = log->order[from]->process;
    const char *comma = "";

    gather_group(g, log, from, all, done);
    ni_log_put_ranks(ni_row(table, 2 * g->ranks.n < log->n ? NI_YELLOW : NI_PLAIN), log, &g->ranks);
    ni_quote(ni_cell(table), ni_log_word(log, g->version ? g->version : log->version));
    ni_quote(ni_cell(table), ni_log_word(log, p->network));
    ni_cell(table);
    if (g->ends > 0)
        ni_putf(table, "%u of %u", g->gdr, g->ends);
    ni_cell(table);
    if (p->gid_index >= 0)
        ni_putf(table, "%d%s %s", p->gid_index, g->other_gids ? ", e.g." : "",
                ni_log_word(log, p->gid));
    ni_put(ni_cell(table), state_of(g->first));
    ni_cell(table);
    for (unsigned h = 0; h < NI_LOG_HCAS; h++) {
        if (g->on_hca[h] == 0)
            continue;
        ni_put(table, comma);
        comma = ", ";
        ni_log_put_hca(table, log, g->first, h);
        ni_putf(table, " (%u)", g->on_hca[h]);
    }
}

/* Puts a row for each group of equal ranks; the last row has the rest. */
static void put_ranks(struct ni_text *out, const struct ni_log *log, bool colour)
{
    enum { GROUPS = 64 };
    struct ni_log_set done = {0};
    struct ni_text table;
    unsigned groups = 0;

    if (log->n == 0)
        return;
    table = ni_table_on("RANKS\tNCCL\tNETWORK\tGPUDIRECT\tGID\tSTATE\tCHANNEL ENDS ON");
    for (unsigned i = 0; i < log->n; i++) {
        if (ni_log_set_has(&done, (int)i))
            continue;
        groups++;
        put_group_row(&table, log, i, groups >= GROUPS, &done);
    }
    ni_put(out, "\n");
    ni_table_write(out, &table, colour);
}

/* ---- the first words of each rank ---- */

static void put_quote(struct ni_text *out, const struct ni_log *log,
                      const struct ni_log_quote *quote)
{
    const char *text = ni_log_word(log, quote->text);

    ni_put(out, "    ");
    ni_quote(out, ni_log_word(log, quote->file));
    ni_putf(out, ":%u: ", (unsigned)quote->line);
    ni_put_quoted(out, text, strlen(text), 160);
    ni_put(out, "\n");
}

static ni_log_text warn_of(const struct ni_log_rank *r)
{
    return r->process->warn.text;
}

static ni_log_text exception_of(const struct ni_log_rank *r)
{
    return r->exception ? r->exception->quote.text : 0;
}

/* Puts the first words of order[from], and the ranks that have the same, which are added to
   `done`. */
NI_LOG_OWN_FRAME static void put_words(struct ni_text *out, const struct ni_log *log, unsigned from,
                                       struct ni_log_set *done)
{
    const struct ni_log_rank *r = log->order[from];
    struct ni_log_set ranks = {0};

    for (unsigned k = from; k < log->n; k++) {
        const struct ni_log_rank *other = log->order[k];

        if (warn_of(other) != warn_of(r) || exception_of(other) != exception_of(r))
            continue;
        ni_log_set_add(&ranks, (int)k);
        ni_log_set_add(done, (int)k);
    }
    ni_put(out, "  ");
    ni_log_put_ranks(out, log, &ranks);
    ni_put(out, "\n");
    if (warn_of(r) != 0)
        put_quote(out, log, &r->process->warn);
    if (exception_of(r) != 0)
        put_quote(out, log, &r->exception->quote);
}

/* Puts the first NCCL WARN and the first exception; ranks with the same share a line. */
static void put_first_words(struct ni_text *out, const struct ni_log *log)
{
    enum { GROUPS = 16 };
    struct ni_log_set done = {0};
    unsigned group = 0;

    for (unsigned i = 0; i < log->n; i++) {
        const struct ni_log_rank *r = log->order[i];

        if (ni_log_set_has(&done, (int)i) || (warn_of(r) == 0 && exception_of(r) == 0))
            continue;
        if (group == 0)
            ni_put(out, "\nThe first NCCL WARN of each rank, and the first exception\n");
        group++;
        if (group > GROUPS) {
            ni_put(out, "  ... of other ranks: --json has them\n");
            return;
        }
        put_words(out, log, i, &done);
    }
}

/* ---- the settings ---- */

/* Puts the ranks that have the value of order[from], or all that have one if `rest`, and adds them to
   `done`. For NCCL_IB_HCA they must also have found the same HCAs. */
NI_LOG_OWN_FRAME static void put_ranks_of_value(struct ni_text *table, const struct ni_log *log,
                                                unsigned name, unsigned from, bool rest,
                                                struct ni_log_set *done)
{
    const bool hcas = strcmp(ni_log_word(log, log->name[name]), "NCCL_IB_HCA") == 0;
    const struct ni_log_rank *p = log->order[from]->process;
    struct ni_log_set ranks = {0};

    for (unsigned k = from; k < log->n; k++) {
        const struct ni_log_rank *q = log->order[k]->process;
        const bool same = q->value[name] == p->value[name] && (!hcas || q->hcas == p->hcas);

        if (ni_log_set_has(done, (int)k) || q->value[name] == 0 || !(rest || same))
            continue;
        ni_log_set_add(&ranks, (int)k);
        ni_log_set_add(done, (int)k);
    }
    if (ranks.n == log->n)
        ni_put(table, "all");
    else
        ni_log_put_ranks(table, log, &ranks);
}

/* Puts the thing that NCCL found by the value: its HCAs, or its interface. */
static void put_found(struct ni_text *table, const struct ni_log *log, const char *word,
                      const struct ni_log_rank *p)
{
    const char *boot = ni_log_word(log, p->boot);

    if (strcmp(word, "NCCL_IB_HCA") == 0)
        ni_quote(table, ni_log_word(log, p->hcas));
    else if (strcmp(word, "NCCL_SOCKET_IFNAME") == 0)
        ni_put_quoted(table, boot, strcspn(boot, ":"), 64);
}

/* Puts a row for each value that ranks have of the variable; the ninth row has the rest. */
static void put_values(struct ni_text *table, const struct ni_log *log, unsigned name)
{
    enum { LAST_ROW = 9 };
    const char *word = ni_log_word(log, log->name[name]);
    struct ni_log_set done = {0};
    unsigned values = 0;
    ni_log_text first = 0;

    for (unsigned i = 0; i < log->n; i++) {
        const struct ni_log_rank *p = log->order[i]->process;

        if (p->value[name] == 0 || ni_log_set_has(&done, (int)i))
            continue;
        values++;
        const bool rest = values == LAST_ROW;
        if (first == 0)
            first = p->value[name];
        if (!table->buf)
            *table = ni_table_on(log->planned ? "NCCL SAYS IT TOOK\tRANKS\tAND FOUND\tPLAN"
                                              : "NCCL SAYS IT TOOK\tRANKS\tAND FOUND");
        ni_putf(ni_row(table, p->value[name] == first ? NI_PLAIN : NI_YELLOW), "%s=", word);
        ni_quote(table, rest ? "..." : ni_log_word(log, p->value[name]));
        put_ranks_of_value(ni_cell(table), log, name, i, rest, &done);
        ni_cell(table);
        if (rest)
            ni_put(table, "...");
        else
            put_found(table, log, word, p);
        if (log->planned)
            ni_quote(ni_cell(table), ni_log_word(log, log->plan[name]));
    }
}

void ni_put_log(struct ni_text *out, const struct ni_view *view, const struct ni_log *log)
{
    struct ni_text table = {0};

    ni_put_wrapped(out, ni_columns(100), 0, log->sentence);
    put_ranks(out, log, view->colour);
    for (unsigned k = 1; k < log->n_name; k++)
        put_values(&table, log, k);
    if (table.buf) {
        ni_put(out, "\n");
        ni_table_write(out, &table, view->colour);
    }
    put_first_words(out, log);
    ni_put_findings(out, view, NI_INFO);
}

/* ---- for programs ---- */

/* Writes {"at": "0.log:49", "quote": "..."}; null: there is none. */
static void quote_json(struct ni_json *j, const struct ni_log *log, const char *key,
                       const struct ni_log_quote *quote)
{
    struct ni_text at = NI_TEXT(512);

    if (!quote || quote->file == 0) {
        ni_json_text(j, key, NULL);
        return;
    }
    ni_json_object(j, key);
    ni_put(&at, ni_log_word(log, quote->file));
    ni_putf(&at, ":%u", (unsigned)quote->line);
    ni_json_text(j, "at", at.buf);
    ni_json_text(j, "quote", ni_log_word(log, quote->text));
    ni_json_end(j);
}

/* Writes the collective in which the rank waits, and the one that it called last. */
static void waiting_json(struct ni_json *j, const struct ni_log *log, const struct ni_log_rank *r)
{
    const struct ni_log_note *wait = r->wait;

    ni_json_int_or_null(j, "last_collective", r->called >= 0, r->called);
    if (!wait) {
        ni_json_text(j, "waiting", NULL);
        return;
    }
    ni_json_object(j, "waiting");
    ni_json_text(j, "collective", ni_log_word(log, wait->collective));
    ni_json_int(j, "number", wait->number);
    ni_json_int_or_null(j, "elements_in", wait->in != UINT64_MAX, (int64_t)(wait->in & INT64_MAX));
    ni_json_int_or_null(j, "elements_out", wait->out != UINT64_MAX,
                        (int64_t)(wait->out & INT64_MAX));
    ni_json_end(j);
}

static void end_json(struct ni_json *j, const struct ni_log_rank *r)
{
    const struct ni_log_note *end = r->end;
    const bool stopped = ni_log_is_stopped(r);

    ni_json_int_or_null(j, "exit_status", end && end->number >= 0, end ? end->number : 0);
    ni_json_int_or_null(j, "signal", end && end->number < 0, end ? -(int64_t)end->number : 0);
    ni_json_text(j, "stopped", stopped ? ni_log_step_word(r) : NULL);
}

/* Returns the word for how a rank ended; NULL: the log does not show its end. */
static const char *ending_of(const struct ni_log_rank *r)
{
    if (r->ended)
        return "in order";
    if (r->exception)
        return "exception";
    if (r->end && r->end->said == NI_SAID_END)
        return r->end->number < 0 ? "signal" : "exit";
    return r->aborted ? "aborted" : NULL;
}

/* Returns the word for what a rank waits for; NULL: the log does not show that it waits. */
static const char *awaited_by(const struct ni_log_rank *r)
{
    static const char *const words[] = {
        [NI_STEP_START] = "ranks",
        [NI_STEP_TOPOLOGY] = "topology",
        [NI_STEP_CHANNELS] = "connections",
        [NI_STEP_RINGS] = "connections",
        [NI_STEP_NVLS] = "nvls",
        [NI_STEP_LAST] = "node",
    };

    if (ending_of(r))
        return NULL;
    if (r->wait)
        return "collective";
    if (r->begun != 0 && r->complete)
        return "communicator";
    if (!ni_log_is_stopped(r))
        return NULL;
    const enum ni_log_step step = ni_log_stopped_step(r);

    return step < NI_COUNT(words) ? words[step] : NULL;
}

/* Writes how far the rank came, what it waits for, and how it ended. */
static void life_json(struct ni_json *j, const struct ni_log_rank *r)
{
    ni_json_text(j, "stage", ni_log_stage_word(ni_log_stage_of(r)));
    ni_json_text(j, "waits_for", awaited_by(r));
    ni_json_text(j, "ended", ending_of(r));
}

/* Writes the ranks of earlier attempts, in the order of the log. */
static void earlier_json(struct ni_json *j, const struct ni_log *log)
{
    ni_json_array(j, "earlier");
    for (unsigned i = 0; i < log->n_rank; i++) {
        const struct ni_log_rank *r = &log->rank[i];

        if (!r->earlier)
            continue;
        ni_json_object(j, NULL);
        ni_json_int_or_null(j, "rank", r->rank >= 0, r->rank);
        ni_json_text_or_null(j, "host", ni_log_word(log, r->process->host));
        life_json(j, r);
        ni_json_end(j);
    }
    ni_json_end(j);
}

/* Returns how many HCAs the list of a rank's NCCL has. */
static unsigned count_listed(const struct ni_log *log, const struct ni_log_rank *r)
{
    const char *list = ni_log_word(log, r->process->hcas);
    unsigned n = *list != '\0';

    for (; *list; list++)
        n += *list == ',';
    return n;
}

/* Writes the HCAs of a rank: those that its NCCL lists, and those that its channels name. */
static void hcas_json(struct ni_json *j, const struct ni_log *log, const struct ni_log_rank *r)
{
    const unsigned most = count_listed(log, r);

    ni_json_array(j, "hcas");
    for (unsigned k = 0; k < NI_LOG_HCAS && (k < most || r->net > 0); k++) {
        struct ni_text name = NI_TEXT(320);

        if (k >= most && r->on_hca[k] == 0)
            continue;
        const bool listed = ni_log_put_hca(&name, log, r, k);

        if (!listed && r->on_hca[k] == 0)
            continue;
        ni_json_object(j, NULL);
        ni_json_int(j, "number", k);
        ni_json_text(j, "name", listed ? name.buf : NULL);
        ni_json_int(j, "channels", r->on_hca[k]);
        ni_json_end(j);
    }
    ni_json_end(j);
}

/* Writes the members of one rank. */
static void rank_json(struct ni_json *j, const struct ni_log *log, unsigned i)
{
    const struct ni_log_rank *r = log->order[i], *p = r->process;
    const ni_log_text version = p->value[NI_LOG_VERSION];

    ni_json_int_or_null(j, "rank", r->rank >= 0, r->rank);
    ni_json_text_or_null(j, "host", ni_log_word(log, p->host));
    ni_json_text_or_null(j, "version", ni_log_word(log, version ? version : log->version));
    ni_json_text_or_null(j, "network", ni_log_word(log, p->network));
    ni_json_text_or_null(j, "sockets", ni_log_word(log, p->boot));
    ni_json_text(j, "state", state_of(r));
    life_json(j, r);
    end_json(j, r);
    quote_json(j, log, "first_warn", &p->warn);
    quote_json(j, log, "first_exception", r->exception ? &r->exception->quote : NULL);
    waiting_json(j, log, r);
    hcas_json(j, log, r);
    ni_json_object(j, "gdr");
    ni_json_int(j, "channels", r->gdr);
    ni_json_int(j, "of", (int64_t)r->net + r->sockets);
    ni_json_end(j);
    ni_json_int_or_null(j, "gid_index", p->gid_index >= 0, p->gid_index);
    ni_json_text_or_null(j, "gid", ni_log_word(log, p->gid));
    ni_json_object(j, "variables");
    for (unsigned k = 1; k < log->n_name; k++)
        if (p->value[k] != 0)
            ni_json_text(j, ni_log_word(log, log->name[k]), ni_log_word(log, p->value[k]));
    ni_json_end(j);
}

void ni_put_log_json(struct ni_text *out, const struct ni_view *view, const struct ni_log *log)
{
    struct ni_json json = ni_json_report(out), *j = &json;
    const struct ni_finding *cause = log->cause;

    ni_json_text(j, "sentence", log->sentence);
    ni_json_text(j, "cause", cause ? ni_finding_id(cause->id) : NULL);
    ni_json_bool(j, "failed", log->failed);
    ni_json_array(j, "ranks");
    for (unsigned i = 0; i < log->n; i++) {
        ni_json_object(j, NULL);
        rank_json(j, log, i);
        ni_json_end(j);
    }
    ni_json_end(j);
    ni_json_int(j, "attempts", log->attempts > 0 ? log->attempts : 1);
    earlier_json(j, log);
    ni_json_findings(j, view->findings);
    ni_json_end(j);
}
