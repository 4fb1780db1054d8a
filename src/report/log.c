/* SPDX-License-Identifier: Apache-2.0 */
/* What NCCL's log tells: one sentence, the ranks grouped where they are equal, settings and what
   became of them, findings. */
#include "nccl_init/log.h"

#include <string.h>

#include "parts.h"

/* ---- the ranks ---- */

static const char *state_of(const struct ni_log_rank *r)
{
    if (r->ended)
        return "ended in order";
    if (r->connected)
        return "connected";
    return r->complete ? "ready" : r->met ? "met the others" : r->started ? "waits for others" : "";
}

static void put_gid(struct ni_text *row, const struct ni_log *log, const struct ni_log_process *p)
{
    if (p->gid_index >= 0)
        ni_putf(row, "%d %s", p->gid_index, ni_log_word(log, p->gid));
}

/* "mlx5_6:1/RoCE (16), mlx5_7:1/RoCE (16)": those with ends of channels. */
static void put_hcas(struct ni_text *t, const char *list, const unsigned on_hca[NI_LOG_HCAS])
{
    struct ni_span hca = {list, 0};
    const char *comma = "";
    for (unsigned i = 0; i < NI_LOG_HCAS; i++) {
        const bool named = list && *list && ni_split(&list, ',', &hca);
        if (on_hca[i] == 0)
            continue;
        ni_put(t, comma);
        comma = ", ";
        if (named)
            ni_put_quoted(t, hca.p, hca.n, hca.n);
        else
            ni_putf(t, "number %u", i);
        ni_putf(t, " (%u)", on_hca[i]);
    }
}

/* Of several that are alike the first is shown, and the sum of their channels. */
static void put_group(struct ni_text *table, const struct ni_log *log, unsigned group,
                      enum ni_tint tint)
{
    const struct ni_log_process *p = &log->process[0];
    const struct ni_log_rank *r = &log->rank[0];
    ni_kept version = log->version;
    unsigned ends = 0, gdr = 0, on_hca[NI_LOG_HCAS] = {0};
    for (unsigned i = log->n; i-- > 0;) {
        if (log->group[i] != group)
            continue;
        r = ni_log_rank_of(log, i);
        p = ni_log_process_of(log, i);
        version = p->version != 0 ? p->version : version;
        ends += r->net + r->sockets;
        gdr += r->gdr;
        for (unsigned k = 0; k < NI_LOG_HCAS; k++)
            on_hca[k] += r->on_hca[k];
    }
    ni_log_put_ranks(ni_row(table, tint), log, log->group, group);
    ni_quote(ni_cell(table), ni_log_word(log, version));
    ni_quote(ni_cell(table), ni_log_word(log, p->network));
    ni_cell(table);
    if (ends > 0)
        ni_putf(table, "%u of %u", gdr, ends);
    put_gid(ni_cell(table), log, p);
    ni_put(ni_cell(table), state_of(r));
    put_hcas(ni_cell(table), ni_log_word(log, p->hcas), on_hca);
}

static void put_ranks(struct ni_text *out, const struct ni_log *log, bool colour)
{
    struct ni_text table;
    unsigned size[NI_LOG_GROUPS] = {0}, biggest = 0;
    if (log->n == 0)
        return;
    table = ni_table_on("RANKS\tNCCL\tNETWORK\tGPUDIRECT\tGID\tSTATE\tCHANNEL ENDS ON");
    for (unsigned i = 0; i < log->n; i++)
        size[log->group[i]]++;
    for (unsigned g = 0; g < log->n_group; g++)
        biggest = size[g] > size[biggest] ? g : biggest;
    for (unsigned g = 0; g < log->n_group; g++)
        put_group(&table, log, g, g == biggest ? NI_PLAIN : NI_YELLOW);
    ni_put(out, "\n");
    ni_table_write(out, &table, colour);
}

/* ---- the settings ---- */

/* What NCCL made of the value, where the log says it. */
static void put_outcome(struct ni_text *t, const struct ni_log *log, const struct ni_log_process *p,
                        const char *name)
{
    if (strcmp(name, "NCCL_IB_HCA") == 0)
        ni_quote(t, ni_log_word(log, p->hcas));
    else if (strcmp(name, "NCCL_SOCKET_IFNAME") == 0)
        ni_quote(t, ni_log_word(log, p->boot));
    else if (strcmp(name, "NCCL_NET") == 0 || strcmp(name, "NCCL_IB_DISABLE") == 0)
        ni_quote(t, ni_log_word(log, p->network));
    else if (strcmp(name, "NCCL_IB_GID_INDEX") == 0)
        put_gid(t, log, p);
}

/* A row for each value that some rank has. */
static void put_values(struct ni_text *table, const struct ni_view *view, const char *name)
{
    static unsigned set[NI_LOG_PROCESSES]; /* which value a rank has, from 1 */
    const struct ni_log *log = view->log;
    const char *planned = view->planned ? ni_env_get(view->planned, name) : NULL;
    unsigned values = 0;
    memset(set, 0, sizeof(set));
    for (unsigned i = 0; i < log->n && values < 8; i++) {
        const char *value = ni_log_value(log, ni_log_process_of(log, i), name);
        unsigned n = 0;
        if (!value || set[i] != 0)
            continue;
        values++;
        for (unsigned k = i; k < log->n; k++) {
            const char *other = ni_log_value(log, ni_log_process_of(log, k), name);
            if (other && strcmp(value, other) == 0) {
                set[k] = values;
                n++;
            }
        }
        ni_putf(ni_row(table, values == 1 ? NI_PLAIN : NI_YELLOW), "%s=", name);
        ni_quote(table, value);
        ni_cell(table);
        if (n == log->n)
            ni_put(table, "all");
        else
            ni_log_put_ranks(table, log, set, values);
        put_outcome(ni_cell(table), log, ni_log_process_of(log, i), name);
        if (view->planned)
            ni_quote(ni_cell(table), planned ? planned : "");
    }
}

static void put_settings(struct ni_text *out, const struct ni_view *view)
{
    struct ni_text table;
    char name[64];
    if (view->log->n_name == 0)
        return;
    table = ni_table_on(view->planned ? "NCCL SAYS IT TOOK\tRANKS\tAND USED\tPLAN"
                                      : "NCCL SAYS IT TOOK\tRANKS\tAND USED");
    for (unsigned k = 0; k < view->log->n_name; k++)
        if (ni_log_name(ni_log_word(view->log, view->log->name[k]), name))
            put_values(&table, view, name);
    ni_put(out, "\n");
    ni_table_write(out, &table, view->colour);
}

void ni_put_log(struct ni_text *out, const struct ni_view *view)
{
    ni_quote(out, view->log->sentence);
    ni_put(out, "\n");
    put_ranks(out, view->log, view->colour);
    put_settings(out, view);
    ni_put_findings(out, view, NI_INFO);
}

/* ---- for programs ---- */

static void rank_json(struct ni_json *j, const struct ni_view *view, unsigned i)
{
    static const char *const way[] = {"unknown", "local", "rdma", "sockets"};
    const struct ni_log *log = view->log;
    const struct ni_log_rank *r = ni_log_rank_of(log, i);
    const struct ni_log_process *p = ni_log_process_of(log, i);
    const char *list = ni_log_word(log, p->hcas);
    struct ni_span hca;
    char name[64];
    ni_json_int_or_null(j, "rank", r->rank >= 0, r->rank);
    ni_json_text_or_null(j, "host", ni_log_word(log, p->host));
    ni_json_text_or_null(j, "version", ni_log_word(log, p->version ? p->version : log->version));
    ni_json_text_or_null(j, "network", ni_log_word(log, p->network));
    ni_json_text(j, "way", way[ni_log_way(log, r)]);
    ni_json_array(j, "hcas");
    for (unsigned k = 0; list && *list && k < NI_LOG_HCAS && ni_split(&list, ',', &hca); k++) {
        ni_json_object(j, NULL);
        ni_json_text(j, "name", ni_copyn(name, sizeof(name), hca.p, hca.n) ? name : NULL);
        ni_json_int(j, "channels", r->on_hca[k]);
        ni_json_end(j);
    }
    ni_json_end(j);
    ni_json_object(j, "gdr");
    ni_json_int(j, "channels", r->gdr);
    ni_json_int(j, "of", (int64_t)r->net + r->sockets);
    ni_json_end(j);
    ni_json_int_or_null(j, "gid_index", p->gid_index >= 0, p->gid_index);
    ni_json_text_or_null(j, "gid", ni_log_word(log, p->gid));
    ni_json_text_or_null(j, "bootstrap", ni_log_word(log, p->boot));
    ni_json_bool(j, "complete", r->complete);
    ni_json_object(j, "variables");
    for (unsigned v = 0; v < p->n_var; v++)
        if (ni_log_name(ni_log_word(log, p->var[v]), name))
            ni_json_text(j, name, ni_log_word(log, p->var[v]) + strlen(name) + 1);
    ni_json_end(j);
}

void ni_put_log_json(struct ni_text *out, const struct ni_view *view)
{
    struct ni_json json = ni_json_report(out), *j = &json;
    ni_json_text(j, "sentence", view->log->sentence);
    ni_json_bool(j, "failed", view->log->failed);
    ni_json_list(j, "ranks", view, 0, view->log->n, rank_json);
    ni_json_findings(j, view->findings);
    ni_json_end(j);
}
