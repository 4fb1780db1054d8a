/* SPDX-License-Identifier: Apache-2.0 */
/* What was watched: for people, as JSON, and in Prometheus' text format. */
#include "watch/report.h"

#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/inventory.h"
#include "nccl_init/ip.h"
#include "nccl_init/known.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "nccl_init/traffic.h"
#include "print/json_write.h"
#include "print/layout.h"
#include "print/words.h"
#include "watch/judge.h"

static struct ni_port_name rail_name(const struct ni_watch *w, const struct ni_inventory *inv,
                                     unsigned rail)
{
    return ni_port_name(inv, w->last.rail[rail].port);
}

static const char *counter_name(unsigned i)
{
    return strchr(ni_traffic_counters[i].file, '/') + 1;
}

/* ---- for people ---- */

/* Returns true if the rail has counters of that kind, and their sum is no zero that a full one hides.
   */
static bool is_trouble_known(const struct ni_watch *w, unsigned rail, enum ni_trouble kind)
{
    bool known = false, full = false;

    for (unsigned i = 0; i < NI_N_TRAFFIC_COUNTER; i++) {
        if (ni_traffic_counters[i].kind != kind)
            continue;
        known = known || w->rail[rail].counter[i].ms > 0;
        full = full || ni_is_full_counter(i, w->last.rail[rail].counter[i]);
    }
    return known && (!full || ni_rail_trouble(w, rail, kind) > 0);
}

/* Puts the sum of the counters; nothing if it is not known. */
static void put_trouble(struct ni_text *t, const struct ni_watch *w, unsigned rail,
                        enum ni_trouble kind)
{
    if (is_trouble_known(w, rail, kind))
        ni_put_u64(t, (uint64_t)ni_rail_trouble(w, rail, kind));
}

static enum ni_tint tint_of(const struct ni_watched_rail *rail, enum ni_untold why)
{
    if (why != NI_TOLD)
        return NI_YELLOW;
    return ni_gain_rate(&rail->out) >= NI_CARRIES || ni_gain_rate(&rail->in) >= NI_CARRIES
               ? NI_GREEN
               : NI_PLAIN;
}

static void put_rails(struct ni_text *out, const struct ni_view *view, const struct ni_watch *w)
{
    struct ni_text table = ni_table_on("RAIL\tSTATE\tOUT\tIN\tRETRANSMISSIONS\tERRORS\tNOTE");

    for (unsigned i = 0; i < w->n_rail; i++) {
        const struct ni_watched_rail *rail = &w->rail[i];
        const enum ni_untold why = ni_rail_untold(w, view->inv, i);
        const char *state = ni_port_state_text(w->last.rail[i].state);
        struct ni_text *t = ni_row(&table, tint_of(rail, why));

        ni_quote(t, rail_name(w, view->inv, i).text);
        ni_put(ni_cell(t), state ? state : "");
        ni_put_rate(ni_cell(t), ni_gain_rate(&rail->out));
        ni_put_rate(ni_cell(t), ni_gain_rate(&rail->in));
        put_trouble(ni_cell(t), w, i, NI_TROUBLE_RESENT);
        put_trouble(ni_cell(t), w, i, NI_TROUBLE_ERROR);
        ni_cell(t);
        if (why != NI_TOLD)
            ni_put(t, "cannot be told");
        else if (rail->out.back || rail->in.back)
            ni_put(t, "began anew meanwhile");
        else if (ni_rail_is_shared(w, view->inv, i))
            ni_put(t, "other pods, too");
    }
    ni_table_write(out, &table, view->colour);
}

static void put_interfaces(struct ni_text *out, const struct ni_view *view,
                           const struct ni_watch *w)
{
    struct ni_text table = ni_table_on("INTERFACE\tOUT\tIN\tERRORS AND DROPS");

    for (unsigned i = 0; i < w->n_if; i++) {
        const struct ni_watched_if *netif = &w->netif[i];
        struct ni_text *t = ni_row(&table, NI_PLAIN);

        ni_quote(t, netif->name);
        ni_put_rate(ni_cell(t), ni_gain_rate(&netif->out));
        ni_put_rate(ni_cell(t), ni_gain_rate(&netif->in));
        ni_cell(t);
        if (netif->errors.ms > 0)
            ni_put_u64(t, (uint64_t)netif->errors.sum);
    }
    ni_table_write(out, &table, view->colour);
}

/* Puts whether there may be interfaces that the table does not have. */
static void put_unwatched(struct ni_text *out, const struct ni_watch *w)
{
    if (w->ifs_cut)
        ni_putf(out, "  more than %d interfaces: the rest is not watched\n", NI_MAX_WATCHED_IF);
    if (w->ifs_unlisted)
        ni_put(out, "  the interfaces could not be listed\n");
}

/* Puts the counters that grew or are full, a line for each rail. */
static void put_grown(struct ni_text *out, const struct ni_view *view, const struct ni_watch *w)
{
    for (unsigned i = 0; i < w->n_rail; i++) {
        struct ni_text line = NI_TEXT(2048);

        for (unsigned k = 0; k < NI_N_TRAFFIC_COUNTER; k++) {
            const struct ni_gain *g = &w->rail[i].counter[k];

            if (g->sum > 0)
                ni_putf(&line, "%s%s +%lld", line.len > 0 ? ", " : "", counter_name(k),
                        (long long)g->sum);
            if (ni_is_full_counter(k, w->last.rail[i].counter[k]))
                ni_putf(&line, "%s%s is full", line.len > 0 ? ", " : "", counter_name(k));
        }
        if (line.len == 0)
            continue;
        ni_put(out, "  ");
        ni_quote(out, rail_name(w, view->inv, i).text);
        ni_putf(out, ": %s\n", line.buf);
    }
}

static const char *gid_text(const struct ni_watched_gid *gid, char buf[NI_IP_TEXT])
{
    return ni_ip_is_zero(gid->ip) ? "empty" : ni_ip_text(gid->ip, buf);
}

static void put_changes(struct ni_text *out, const struct ni_view *view, const struct ni_watch *w)
{
    for (unsigned i = 0; i < w->n_change; i++) {
        const struct ni_gid_change *c = &w->change[i];
        char was[NI_IP_TEXT], is[NI_IP_TEXT];

        ni_put(out, "  ");
        ni_quote(out, rail_name(w, view->inv, c->rail).text);
        ni_putf(out, ": GID %u was %s, then %s\n", c->was.index, gid_text(&c->was, was),
                gid_text(&c->is, is));
    }
    if (w->changes_cut)
        ni_put(out, "  more GIDs changed\n");
}

void ni_put_watch(struct ni_text *out, const struct ni_view *view, const struct ni_watch *w)
{
    const struct ni_watch_verdict v = ni_watch_judge(w, view->inv);
    struct ni_text sentence = NI_TEXT(2048);

    ni_putf(out, "Watched for %lld.%lld s, %u looks; ", (long long)(w->ms / 1000),
            (long long)(w->ms % 1000 / 100), w->looks);
    ni_put_origin(out, view);
    ni_put(out, "\n");
    if (w->n_rail > 0)
        put_rails(out, view, w);
    if (w->n_if > 0)
        put_interfaces(out, view, w);
    put_unwatched(out, w);
    put_grown(out, view, w);
    put_changes(out, view, w);
    ni_put_watch_sentence(&sentence, w, view->inv, &v);
    ni_put(out, "\n");
    ni_put_line(out, sentence.buf);
}

/* ---- a line for each look ---- */

static void put_both(struct ni_text *out, const char *name, const struct ni_gain *sent,
                     const struct ni_gain *received)
{
    ni_put(out, "  ");
    ni_quote(out, name);
    ni_put(out, " ");
    if (sent->ms == 0 && received->ms == 0) {
        ni_put(out, "?");
        return;
    }
    ni_put_rate(out, ni_gain_rate(sent));
    ni_put(out, " out ");
    ni_put_rate(out, ni_gain_rate(received));
    ni_put(out, " in");
}

/* Returns the interface of the busiest direction; NULL: there is none. */
static const struct ni_watched_if *busiest(const struct ni_watch *w)
{
    const struct ni_watched_if *most = NULL;
    int64_t rate = -1;

    for (unsigned i = 0; i < w->n_if; i++) {
        const struct ni_watched_if *netif = &w->netif[i];
        const int64_t out = ni_gain_rate(&netif->out), in = ni_gain_rate(&netif->in);
        const int64_t its = out > in ? out : in;

        if (!most || its > rate) {
            most = netif;
            rate = its;
        }
    }
    return most;
}

void ni_put_watch_line(struct ni_text *out, const struct ni_inventory *inv,
                       const struct ni_watch *w)
{
    const struct ni_watched_if *netif = busiest(w);
    static const char *const words[NI_N_TROUBLE] = {"retransmissions", "errors"};
    unsigned n[NI_N_TROUBLE] = {0};

    for (unsigned i = 0; i < w->n_rail; i++) {
        put_both(out, rail_name(w, inv, i).text, &w->rail[i].out, &w->rail[i].in);
        for (int k = 0; k < NI_N_TROUBLE; k++)
            n[k] += ni_rail_trouble(w, i, (enum ni_trouble)k) > 0;
    }
    if (netif)
        put_both(out, netif->name, &netif->out, &netif->in);
    for (int k = 0; k < NI_N_TROUBLE; k++) {
        if (n[k] > 0)
            ni_putf(out, "  %s on %u rail%s", words[k], n[k], ni_plural(n[k]));
    }
}

/* ---- in JSON ---- */

static const char *const carrier_words[] = {
    [NI_CARRIED_BY_RAILS] = "rails",
    [NI_CARRIED_BY_SOCKETS] = "sockets",
    [NI_CARRIED_BY_NOTHING] = "nothing",
    [NI_CARRIER_UNKNOWN] = "unknown",
};
static const char *const untold_words[NI_N_UNTOLD] = {
    [NI_TOLD] = NULL,
    [NI_UNTOLD_SOFTWARE] = "software",
    [NI_UNTOLD_NAMESPACE] = "namespace",
    [NI_UNTOLD_NO_COUNTER] = "no-counter",
    [NI_UNTOLD_UNREADABLE] = "unreadable",
    [NI_UNTOLD_FULL] = "full",
    [NI_UNTOLD_LOST] = "lost",
};
static const char *const source_words[NI_N_BYTE_SOURCE] = {
    [NI_BYTES_NONE] = NULL,
    [NI_BYTES_PORT_DATA] = "port_xmit_data",
    [NI_BYTES_UCAST] = "tx_rdma_ucast_bytes",
    [NI_BYTES_HW] = "tx_bytes",
    [NI_BYTES_IP] = "ip4OutOctets",
};

static void json_rate(struct ni_json *j, const char *key, const struct ni_gain *g)
{
    const int64_t rate = ni_gain_rate(g);

    ni_json_int_or_null(j, key, rate >= 0, rate);
}

static void json_bytes(struct ni_json *j, const struct ni_gain *out, const struct ni_gain *in)
{
    json_rate(j, "out_bytes_per_second", out);
    json_rate(j, "in_bytes_per_second", in);
    ni_json_int_or_null(j, "out_bytes", out->ms > 0, out->sum);
    ni_json_int_or_null(j, "in_bytes", in->ms > 0, in->sum);
    ni_json_bool(j, "began_anew", out->back || in->back);
}

static void json_trouble(struct ni_json *j, const char *key, const struct ni_watch *w,
                         unsigned rail, enum ni_trouble kind)
{
    ni_json_int_or_null(j, key, is_trouble_known(w, rail, kind), ni_rail_trouble(w, rail, kind));
}

static void json_counters(struct ni_json *j, const struct ni_watched_rail *rail)
{
    ni_json_object(j, "counters");
    for (unsigned i = 0; i < NI_N_TRAFFIC_COUNTER; i++) {
        if (rail->counter[i].ms > 0)
            ni_json_int(j, counter_name(i), rail->counter[i].sum);
    }
    ni_json_end(j);
}

static void json_rail(struct ni_json *j, const struct ni_inventory *inv, const struct ni_watch *w,
                      unsigned i)
{
    const struct ni_port *port = &inv->port[w->last.rail[i].port];
    const struct ni_watched_rail *rail = &w->rail[i];

    ni_json_object(j, NULL);
    ni_json_text(j, "name", inv->hca[port->hca].name);
    ni_json_int(j, "port", port->num);
    ni_json_text(j, "state", ni_port_state_text(w->last.rail[i].state));
    json_bytes(j, &rail->out, &rail->in);
    ni_json_text(j, "counted_by", source_words[w->last.rail[i].source]);
    ni_json_text(j, "untold", untold_words[ni_rail_untold(w, inv, i)]);
    ni_json_bool(j, "shared", ni_rail_is_shared(w, inv, i));
    json_trouble(j, "retransmissions", w, i, NI_TROUBLE_RESENT);
    json_trouble(j, "errors", w, i, NI_TROUBLE_ERROR);
    json_counters(j, rail);
    ni_json_end(j);
}

static void json_interfaces(struct ni_json *j, const struct ni_watch *w)
{
    ni_json_array(j, "interfaces");
    for (unsigned i = 0; i < w->n_if; i++) {
        const struct ni_watched_if *netif = &w->netif[i];

        ni_json_object(j, NULL);
        ni_json_text(j, "name", netif->name);
        json_bytes(j, &netif->out, &netif->in);
        ni_json_int_or_null(j, "errors", netif->errors.ms > 0, netif->errors.sum);
        ni_json_end(j);
    }
    ni_json_end(j);
}

static void json_gid(struct ni_json *j, const char *key, const struct ni_watched_gid *gid)
{
    char ip[NI_IP_TEXT];

    ni_json_text(j, key, ni_ip_is_zero(gid->ip) ? NULL : ni_ip_text(gid->ip, ip));
}

static void json_changes(struct ni_json *j, const struct ni_inventory *inv,
                         const struct ni_watch *w)
{
    ni_json_array(j, "gid_changes");
    for (unsigned i = 0; i < w->n_change; i++) {
        const struct ni_gid_change *c = &w->change[i];
        const struct ni_port *port = &inv->port[w->last.rail[c->rail].port];

        ni_json_object(j, NULL);
        ni_json_text(j, "name", inv->hca[port->hca].name);
        ni_json_int(j, "port", port->num);
        ni_json_int(j, "index", c->was.index);
        json_gid(j, "was", &c->was);
        json_gid(j, "is", &c->is);
        ni_json_end(j);
    }
    ni_json_end(j);
}

void ni_put_watch_json(struct ni_text *out, const struct ni_view *view, const struct ni_watch *w)
{
    const struct ni_watch_verdict v = ni_watch_judge(w, view->inv);
    struct ni_json json = ni_json_report(out), *j = &json;
    struct ni_text sentence = NI_TEXT(2048);

    ni_put_watch_sentence(&sentence, w, view->inv, &v);
    ni_json_int(j, "watched_ms", w->ms);
    ni_json_int(j, "looks", w->looks);
    ni_json_text(j, "source", ni_source_words[view->inv->source].json);
    ni_json_text(j, "carried_by", carrier_words[w->looks < 2 ? NI_CARRIER_UNKNOWN : v.by]);
    ni_json_text(j, "sentence", sentence.buf);
    ni_json_int(j, "carrying", v.carrying);
    ni_json_int(j, "untold", v.untold);
    ni_json_array(j, "rails");
    for (unsigned i = 0; i < w->n_rail; i++)
        json_rail(j, view->inv, w, i);
    ni_json_end(j);
    json_interfaces(j, w);
    ni_json_bool(j, "interfaces_complete", !w->ifs_cut && !w->ifs_unlisted);
    json_changes(j, view->inv, w);
    ni_json_end(j);
}

/* ---- metrics ---- */

static void put_metric(struct ni_text *t, const char *name, const char *type, const char *help)
{
    ni_putf(t, "# HELP nccl_init_watch_%s %s\n# TYPE nccl_init_watch_%s %s\n", name, help, name,
            type);
}

/* Puts a sample without a label. */
static void put_plain(struct ni_text *t, const char *name, const char *help, int64_t value)
{
    put_metric(t, name, "gauge", help);
    ni_putf(t, "nccl_init_watch_%s %lld\n", name, (long long)value);
}

/* Puts a sample of a rail; names of devices and interfaces have no character to escape (ni_is_name).
   */
static void put_of_rail(struct ni_text *t, const char *name, const struct ni_inventory *inv,
                        const struct ni_watch *w, unsigned rail, const char *direction,
                        int64_t value)
{
    const struct ni_port *port = &inv->port[w->last.rail[rail].port];

    ni_putf(t, "nccl_init_watch_%s{hca=\"%s\",port=\"%u\"", name, inv->hca[port->hca].name,
            port->num);
    if (direction)
        ni_putf(t, ",direction=\"%s\"", direction);
    ni_putf(t, "} %lld\n", (long long)value);
}

static void put_of_if(struct ni_text *t, const char *name, const char *ifname,
                      const char *direction, struct ni_num value)
{
    if (value.known == NI_KNOWN)
        ni_putf(t, "nccl_init_watch_%s{interface=\"%s\",direction=\"%s\"} %lld\n", name, ifname,
                direction, (long long)value.v);
}

static void put_rail_bytes(struct ni_text *t, const struct ni_inventory *inv,
                           const struct ni_watch *w)
{
    static const char name[] = "rail_bytes_total";

    put_metric(t, name, "counter", "Bytes that the rail carried, as its driver counts them.");
    for (unsigned i = 0; i < w->n_rail; i++) {
        const struct ni_rail_traffic *rail = &w->last.rail[i];

        if (rail->out.known == NI_KNOWN && !rail->full)
            put_of_rail(t, name, inv, w, i, "out", rail->out.v);
        if (rail->in.known == NI_KNOWN && !rail->full)
            put_of_rail(t, name, inv, w, i, "in", rail->in.v);
    }
}

/* Puts the sum of the counters of a kind, of each rail that has one. */
static void put_rail_trouble(struct ni_text *t, const struct ni_inventory *inv,
                             const struct ni_watch *w, enum ni_trouble kind, const char *name,
                             const char *help)
{
    put_metric(t, name, "counter", help);
    for (unsigned i = 0; i < w->n_rail; i++) {
        int64_t sum = 0;
        bool known = false;

        for (unsigned k = 0; k < NI_N_TRAFFIC_COUNTER; k++) {
            const struct ni_num n = w->last.rail[i].counter[k];

            if (ni_traffic_counters[k].kind != kind || n.known != NI_KNOWN)
                continue;
            known = true;
            sum = n.v > INT64_MAX - sum ? INT64_MAX : sum + n.v;
        }
        if (known)
            put_of_rail(t, name, inv, w, i, NULL, sum);
    }
}

void ni_put_watch_metrics(struct ni_text *out, const struct ni_inventory *inv,
                          const struct ni_watch *w, int64_t time)
{
    const struct ni_watch_verdict v = ni_watch_judge(w, inv);

    put_plain(out, "time_seconds", "When this was written, in Unix time.", time);
    put_plain(out, "rails", "Rails of the pod.", v.n_rail);
    put_plain(out, "rails_carrying", "Rails that carried data since the start.", v.carrying);
    put_plain(out, "rails_untold", "Rails of which it cannot be told.", v.untold);
    put_plain(out, "gids_changed", "GIDs that changed since the start.", w->n_change);
    put_rail_bytes(out, inv, w);
    put_rail_trouble(out, inv, w, NI_TROUBLE_RESENT, "rail_retransmissions_total",
                     "Counters of the driver that mean that data was sent again.");
    put_rail_trouble(out, inv, w, NI_TROUBLE_ERROR, "rail_errors_total",
                     "Counters of the driver that mean an error.");
    put_metric(out, "interface_bytes_total", "counter", "Bytes that the interface carried.");
    for (unsigned i = 0; i < w->last.n_if; i++) {
        const struct ni_if_traffic *netif = &w->last.netif[i];

        put_of_if(out, "interface_bytes_total", netif->name, "out", netif->out);
        put_of_if(out, "interface_bytes_total", netif->name, "in", netif->in);
    }
}
