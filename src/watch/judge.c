/* SPDX-License-Identifier: Apache-2.0 */
/* What rails and interfaces carried, from looks at their counters, and the verdict. */
#include "watch/judge.h"

#include <string.h>

#include "nccl_init/allocation.h"
#include "nccl_init/base.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "nccl_init/traffic.h"
#include "print/words.h"

/* ---- which rails ---- */

/* Returns true if NCCL is to use the port, or would if it were up and its node opened; an EFA is used
   through a plugin. An ephemeral container has no device nodes. */
static bool is_rail(const struct ni_inventory *inv, const struct ni_plan *plan, unsigned port)
{
    const struct ni_hca *h = &inv->hca[inv->port[port].hca];

    return ni_is_allocated(h) && (plan->port[port].chosen || plan->port[port].lost || h->efa);
}

unsigned ni_watch_rails(const struct ni_inventory *inv, const struct ni_plan *plan,
                        int rail[NI_MAX_PORT])
{
    unsigned n = 0;

    for (unsigned i = 0; i < inv->n_port; i++) {
        if (is_rail(inv, plan, i))
            rail[n++] = (int)i;
    }
    if (n > 0)
        return n;
    for (unsigned i = 0; i < inv->n_port; i++) {
        if (ni_is_allocated(&inv->hca[inv->port[i].hca]))
            rail[n++] = (int)i;
    }
    return n;
}

/* ---- counters ---- */

/* More bytes in a millisecond, 10 TB/s, come from no port: the counter was set to another value. */
#define BELIEVABLE INT64_C(10000000000)

static void gain(struct ni_gain *g, struct ni_num before, struct ni_num now, int64_t ms)
{
    if (before.known == NI_KNOWN && now.known != NI_KNOWN)
        g->gone = true;
    if (before.known != NI_KNOWN || now.known != NI_KNOWN || ms <= 0)
        return;
    const int64_t grown = now.v - before.v;
    if (grown < 0 || grown / BELIEVABLE > ms || g->sum > INT64_MAX - grown) {
        g->back = true;
        return;
    }
    g->sum += grown;
    g->ms += ms;
}

int64_t ni_gain_rate(const struct ni_gain *g)
{
    if (g->ms <= 0)
        return -1;
    return g->sum / g->ms * 1000 + g->sum % g->ms * 1000 / g->ms;
}

static void gain_rail(struct ni_watched_rail *rail, const struct ni_rail_traffic *before,
                      const struct ni_rail_traffic *now, int64_t ms)
{
    /* another source counts other bytes */
    if (before->source == now->source) {
        gain(&rail->out, before->out, now->out, ms);
        gain(&rail->in, before->in, now->in, ms);
    } else {
        rail->out.gone = rail->in.gone = true;
    }
    for (unsigned i = 0; i < NI_N_TRAFFIC_COUNTER; i++) {
        if (!ni_is_full_counter(i, before->counter[i]))
            gain(&rail->counter[i], before->counter[i], now->counter[i], ms);
    }
}

/* ---- interfaces ---- */

static const struct ni_if_traffic *if_named(const struct ni_traffic *t, const char *name)
{
    for (unsigned i = 0; i < t->n_if; i++) {
        if (strcmp(t->netif[i].name, name) == 0)
            return &t->netif[i];
    }
    return NULL;
}

/* Finds the interface, or adds it. NULL: there is no room. */
static struct ni_watched_if *watched_if(struct ni_watch *w, const struct ni_if_traffic *now)
{
    struct ni_watched_if *netif;

    for (unsigned i = 0; i < w->n_if; i++) {
        if (strcmp(w->netif[i].name, now->name) == 0)
            return &w->netif[i];
    }
    if (w->n_if == NI_MAX_WATCHED_IF)
        return NULL;
    netif = &w->netif[w->n_if++];
    (void)ni_copy(netif->name, sizeof(netif->name), now->name);
    netif->ipoib = now->ipoib;
    return netif;
}

static void gain_interfaces(struct ni_watch *w, const struct ni_traffic *now, int64_t ms)
{
    for (unsigned i = 0; i < now->n_if; i++) {
        const struct ni_if_traffic *is = &now->netif[i], *was = if_named(&w->last, is->name);
        struct ni_watched_if *netif = watched_if(w, is);

        w->ifs_cut = w->ifs_cut || !netif;
        if (!netif || !was)
            continue;
        gain(&netif->out, was->out, is->out, ms);
        gain(&netif->in, was->in, is->in, ms);
        gain(&netif->errors, was->errors, is->errors, ms);
    }
}

/* ---- GIDs ---- */

static const struct ni_watched_gid *gid_at(const struct ni_rail_traffic *rail, unsigned index)
{
    for (unsigned i = 0; i < rail->n_gid; i++) {
        if (rail->gid[i].index == index)
            return &rail->gid[i];
    }
    return NULL;
}

static bool is_noted(const struct ni_watch *w, unsigned rail, unsigned index)
{
    for (unsigned i = 0; i < w->n_change; i++) {
        const struct ni_gid_change *c = &w->change[i];

        if (c->rail == rail && (c->was.index == index || c->is.index == index))
            return true;
    }
    return false;
}

/* Notes that a row changed, if it is the first time. was, is: NULL where the row is empty. */
static void note_change(struct ni_watch *w, unsigned rail, unsigned index,
                        const struct ni_watched_gid *was, const struct ni_watched_gid *is)
{
    struct ni_gid_change *c;

    if (is_noted(w, rail, index))
        return;
    w->changes_cut = w->changes_cut || w->n_change == NI_MAX_GID_CHANGE;
    if (w->n_change == NI_MAX_GID_CHANGE)
        return;
    c = &w->change[w->n_change++];
    *c = (struct ni_gid_change){.rail = rail};
    c->was.index = c->is.index = (uint16_t)index;
    if (was)
        memcpy(c->was.ip, was->ip, sizeof(was->ip));
    if (is)
        memcpy(c->is.ip, is->ip, sizeof(is->ip));
}

/* Returns the first row that is not known, if the table was not read to its end. */
static unsigned end_of_table(const struct ni_rail_traffic *rail)
{
    return rail->gids_cut && rail->n_gid > 0 ? rail->gid[rail->n_gid - 1].index + 1U : NI_GID_TABLE;
}

static void compare_gids(struct ni_watch *w, unsigned rail, const struct ni_rail_traffic *now)
{
    const struct ni_rail_traffic *first = &w->first.rail[rail];
    const unsigned end =
        end_of_table(first) < end_of_table(now) ? end_of_table(first) : end_of_table(now);

    if (first->gids_known != NI_KNOWN || now->gids_known != NI_KNOWN)
        return;
    for (unsigned i = 0; i < first->n_gid; i++) {
        const struct ni_watched_gid *was = &first->gid[i], *is = gid_at(now, was->index);

        if (was->index < end && (!is || memcmp(was->ip, is->ip, sizeof(was->ip)) != 0))
            note_change(w, rail, was->index, was, is);
    }
    for (unsigned i = 0; i < now->n_gid; i++) {
        const struct ni_watched_gid *is = &now->gid[i];

        if (is->index < end && !gid_at(first, is->index))
            note_change(w, rail, is->index, NULL, is);
    }
}

/* ---- looks ---- */

void ni_watch_add(struct ni_watch *w, const struct ni_traffic *now)
{
    const int64_t ms = now->at_ms - w->last.at_ms;

    w->ifs_cut = w->ifs_cut || now->ifs_cut;
    w->ifs_unlisted = w->ifs_unlisted || now->ifs_known != NI_KNOWN;
    if (w->looks == 0) {
        w->first = *now;
        w->n_rail = now->n_rail;
        for (unsigned i = 0; i < now->n_if; i++)
            (void)watched_if(w, &now->netif[i]);
    } else {
        for (unsigned i = 0; i < w->n_rail && i < now->n_rail; i++) {
            gain_rail(&w->rail[i], &w->last.rail[i], &now->rail[i], ms);
            compare_gids(w, i, &now->rail[i]);
        }
        gain_interfaces(w, now, ms);
        w->ms = now->at_ms - w->first.at_ms;
    }
    w->looks++;
    w->last = *now;
}

/* ---- rails ---- */

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Returns the bytes a second of the busier direction; -1: neither is known. */
static int64_t busier(const struct ni_gain *out, const struct ni_gain *in)
{
    return larger(ni_gain_rate(out), ni_gain_rate(in));
}

/* Returns true if the counter is there, and was known for half of the time or more: then its rate is
   that of all the time. */
static bool is_whole(const struct ni_watch *w, const struct ni_gain *g, struct ni_num last)
{
    return last.known == NI_KNOWN && g->ms > 0 && g->ms >= w->ms - g->ms;
}

static bool rail_carries(const struct ni_watch *w, unsigned rail)
{
    const struct ni_watched_rail *is = &w->rail[rail];
    const struct ni_rail_traffic *last = &w->last.rail[rail];

    return (is_whole(w, &is->out, last->out) && ni_gain_rate(&is->out) >= NI_CARRIES) ||
           (is_whole(w, &is->in, last->in) && ni_gain_rate(&is->in) >= NI_CARRIES);
}

/* Returns the reason for which a rail without a counter of bytes has none. */
static enum ni_untold why_none(const struct ni_rail_traffic *now, const struct ni_inventory *inv)
{
    const struct ni_hca *h = &inv->hca[inv->port[now->port].hca];

    if (!h->function[0] && !h->has_bdf)
        return NI_UNTOLD_SOFTWARE;
    /* drivers/infiniband/core/sysfs.c setup_port: only the device itself has counters, not its image
       in another namespace */
    if (!now->has_counters && inv->netns_mode != NI_NETNS_EXCLUSIVE)
        return NI_UNTOLD_NAMESPACE;
    return NI_UNTOLD_NO_COUNTER;
}

/* Returns true if the counter was there once, and what it counted says too little. */
static bool is_lost(const struct ni_watch *w, const struct ni_gain *g, struct ni_num last)
{
    return (g->ms > 0 || g->gone || g->back) && !is_whole(w, g, last);
}

enum ni_untold ni_rail_untold(const struct ni_watch *w, const struct ni_inventory *inv,
                              unsigned rail)
{
    const struct ni_rail_traffic *now = &w->last.rail[rail];
    const struct ni_watched_rail *is = &w->rail[rail];

    if (rail_carries(w, rail))
        return NI_TOLD;
    if (now->full)
        return NI_UNTOLD_FULL;
    if (is_whole(w, &is->out, now->out) && is_whole(w, &is->in, now->in))
        return NI_TOLD;
    if (is_lost(w, &is->out, now->out) || is_lost(w, &is->in, now->in))
        return NI_UNTOLD_LOST;
    if (now->source == NI_BYTES_NONE)
        return why_none(now, inv);
    if (now->out.known == NI_ABSENT || now->in.known == NI_ABSENT)
        return NI_UNTOLD_NO_COUNTER;
    return now->out.known == NI_KNOWN && now->in.known == NI_KNOWN ? NI_UNTOLD_LOST
                                                                   : NI_UNTOLD_UNREADABLE;
}

const char *ni_untold_text(enum ni_untold why)
{
    static const char elsewhere[] = "no counters are shown here; while RDMA devices are shared by "
                                    "network namespaces, only the host's network has them";
    static const char lost[] =
        "its counters were missing at the end, or were missing or began anew "
        "for most of the time";
    static const char *const text[NI_N_UNTOLD] = {
        [NI_TOLD] = "",
        [NI_UNTOLD_SOFTWARE] =
            "it is software RDMA, and its bytes are among those of its interface",
        [NI_UNTOLD_NAMESPACE] = elsewhere,
        [NI_UNTOLD_NO_COUNTER] = "its driver counts no bytes",
        [NI_UNTOLD_UNREADABLE] = "its counters cannot be read",
        [NI_UNTOLD_FULL] = "its counter has 32 bits, and is full",
        [NI_UNTOLD_LOST] = lost,
    };

    return text[why];
}

bool ni_rail_is_shared(const struct ni_watch *w, const struct ni_inventory *inv, unsigned rail)
{
    const struct ni_hca *h = &inv->hca[inv->port[w->last.rail[rail].port].hca];
    const bool whole = h->has_bdf && !h->is_vf && !h->aux[0];
    const bool given = h->allocation >= 0 &&
                       inv->allocation[h->allocation].source != NI_SRC_OPTION &&
                       ni_is_source_certain(inv->allocation[h->allocation].source);

    return whole && !given && inv->netns_mode != NI_NETNS_EXCLUSIVE;
}

int64_t ni_rail_trouble(const struct ni_watch *w, unsigned rail, enum ni_trouble kind)
{
    int64_t sum = 0;

    for (unsigned i = 0; i < NI_N_TRAFFIC_COUNTER; i++) {
        const int64_t grown = w->rail[rail].counter[i].sum;

        if (ni_traffic_counters[i].kind == kind)
            sum = sum > INT64_MAX - grown ? INT64_MAX : sum + grown;
    }
    return sum;
}

/* ---- the verdict ---- */

/* Returns the interface that carries most; -1: none carries data. What a rail's own interface has are
   sockets, too: no driver is known that counts RDMA in both. SoftRoCE has it in the interface alone. */
static int busiest_interface(const struct ni_watch *w, bool only_ipoib)
{
    int64_t most = NI_CARRIES - 1;
    int at = -1;

    for (unsigned i = 0; i < w->n_if; i++) {
        const struct ni_watched_if *netif = &w->netif[i];
        const int64_t rate = busier(&netif->out, &netif->in);

        if (rate > most && (netif->ipoib || !only_ipoib)) {
            most = rate;
            at = (int)i;
        }
    }
    return at;
}

/* Returns true if three quarters or more of what the rails carry are the packets of IPoIB, and these
   are data. */
static bool is_by_ip(const struct ni_watch *w, const struct ni_watch_verdict *v)
{
    const int64_t rails = v->out / 2 + v->in / 2;
    int64_t ip = 0;

    for (unsigned i = 0; i < w->n_if; i++) {
        const int64_t out = ni_gain_rate(&w->netif[i].out), in = ni_gain_rate(&w->netif[i].in);

        if (w->netif[i].ipoib)
            ip += larger(out, 0) / 2 + larger(in, 0) / 2;
    }
    return ip >= rails - rails / 4 && busiest_interface(w, true) >= 0;
}

static int64_t add_rate(int64_t sum, int64_t rate)
{
    return rate > 0 && sum <= INT64_MAX - rate ? sum + rate : sum;
}

struct ni_watch_verdict ni_watch_judge(const struct ni_watch *w, const struct ni_inventory *inv)
{
    struct ni_watch_verdict v = {.n_rail = w->n_rail};

    for (unsigned i = 0; i < w->n_rail; i++) {
        const bool carries = rail_carries(w, i);
        const enum ni_untold why = ni_rail_untold(w, inv, i);

        v.carrying += carries;
        v.untold += why != NI_TOLD;
        v.shared += carries && ni_rail_is_shared(w, inv, i);
        if (why != NI_UNTOLD_LOST) {
            v.out = add_rate(v.out, ni_gain_rate(&w->rail[i].out));
            v.in = add_rate(v.in, ni_gain_rate(&w->rail[i].in));
        }
        for (int k = 0; k < NI_N_TROUBLE; k++)
            v.trouble[k] = add_rate(v.trouble[k], ni_rail_trouble(w, i, (enum ni_trouble)k));
    }
    v.by_ip = v.carrying > 0 && is_by_ip(w, &v);
    v.busiest = busiest_interface(w, false);
    /* in an ephemeral container nothing may tell which of the HCAs are the pod's */
    v.n_stranger = w->n_rail == 0 ? w->last.n_hca : 0;
    if (v.carrying > 0 && !v.by_ip)
        v.by = NI_CARRIED_BY_RAILS;
    else if (v.untold > 0 || v.n_stranger > 0)
        v.by = NI_CARRIER_UNKNOWN;
    else if (v.busiest >= 0)
        v.by = NI_CARRIED_BY_SOCKETS;
    else
        v.by = w->ifs_cut || w->ifs_unlisted ? NI_CARRIER_UNKNOWN : NI_CARRIED_BY_NOTHING;
    return v;
}

bool ni_watch_is_half(const struct ni_watch *w, const struct ni_watch_verdict *v)
{
    const struct ni_watched_if *netif = v->busiest >= 0 ? &w->netif[v->busiest] : NULL;

    if (v->by != NI_CARRIED_BY_RAILS)
        return false;
    if (v->carrying + v->untold < v->n_rail)
        return true;
    return netif && busier(&netif->out, &netif->in) > larger(v->out, v->in);
}

/* ---- the sentence ---- */

void ni_put_rate(struct ni_text *t, int64_t rate)
{
    static const char *const unit[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s"};
    int64_t whole = rate, rest = 0;
    unsigned i = 0;

    if (rate < 0) {
        ni_put(t, "?");
        return;
    }
    for (; whole >= 1000 && i + 1 < NI_COUNT(unit); i++) {
        rest = whole % 1000;
        whole /= 1000;
    }
    ni_put_u64(t, (uint64_t)whole);
    if (i > 0 && whole < 10)
        ni_putf(t, ".%02lld", (long long)(rest / 10));
    else if (i > 0 && whole < 100)
        ni_putf(t, ".%lld", (long long)(rest / 100));
    ni_putf(t, " %s", unit[i]);
}

static const char *name_of(const struct ni_watch *w, const struct ni_inventory *inv, unsigned rail,
                           struct ni_port_name *room)
{
    *room = ni_port_name(inv, w->last.rail[rail].port);
    return room->text;
}

/* A kind of rails that a sentence names. */
typedef bool is_kind_fn(const struct ni_watch *w, const struct ni_inventory *inv, unsigned rail);

/* Puts the names of the rails of a kind: "a, b and 3 more". Returns their number. */
static unsigned put_names(struct ni_text *t, const struct ni_watch *w,
                          const struct ni_inventory *inv, is_kind_fn *is_kind)
{
    enum { SHOWN = 4 };
    struct ni_port_name room;
    unsigned n = 0;

    for (unsigned i = 0; i < w->n_rail; i++) {
        if (!is_kind(w, inv, i))
            continue;
        if (n < SHOWN) {
            ni_put(t, n > 0 ? ", " : "");
            ni_quote(t, name_of(w, inv, i, &room));
        }
        n++;
    }
    if (n > SHOWN)
        ni_putf(t, " and %u more", n - SHOWN);
    return n;
}

static bool is_silent(const struct ni_watch *w, const struct ni_inventory *inv, unsigned rail)
{
    return ni_rail_untold(w, inv, rail) == NI_TOLD && !rail_carries(w, rail);
}

static bool is_carrying_and_shared(const struct ni_watch *w, const struct ni_inventory *inv,
                                   unsigned rail)
{
    return rail_carries(w, rail) && ni_rail_is_shared(w, inv, rail);
}

/* Puts of which rails it cannot be told, and why: those that have the reason of the first one, and how
   many have another one. */
static void put_untold(struct ni_text *t, const struct ni_watch *w, const struct ni_inventory *inv,
                       unsigned untold)
{
    enum ni_untold why = NI_TOLD;
    struct ni_port_name room;
    unsigned n = 0;

    for (unsigned i = 0; i < w->n_rail; i++) {
        const enum ni_untold its = ni_rail_untold(w, inv, i);

        if (its != NI_TOLD && n == 0) {
            ni_quote(t, name_of(w, inv, i, &room));
            why = its;
        }
        n += its != NI_TOLD && its == why;
    }
    if (n > 1)
        ni_putf(t, " and %u other%s", n - 1, ni_plural(n - 1));
    ni_putf(t, ": %s", ni_untold_text(why));
    if (untold > n)
        ni_putf(t, "; nor of %u more, for another reason", untold - n);
}

static void put_rails(struct ni_text *t, const struct ni_watch *w, const struct ni_inventory *inv,
                      const struct ni_watch_verdict *v)
{
    ni_putf(t, "%u of %u rail%s carr%s data, ", v->carrying, v->n_rail, ni_plural(v->n_rail),
            v->carrying == 1 ? "ies" : "y");
    ni_put_rate(t, v->out);
    ni_put(t, " out and ");
    ni_put_rate(t, v->in);
    ni_put(t, " in");
    if (v->carrying + v->untold < v->n_rail) {
        ni_put(t, "; ");
        const unsigned n = put_names(t, w, inv, is_silent);
        ni_put(t, n == 1 ? " carries none" : " carry none");
    }
    if (v->untold > 0) {
        ni_put(t, "; it cannot be told of ");
        put_untold(t, w, inv, v->untold);
    }
}

static void put_interface(struct ni_text *t, const struct ni_watch *w, int at)
{
    const struct ni_watched_if *netif = &w->netif[at];

    ni_quote(t, netif->name);
    ni_put(t, " carries ");
    ni_put_rate(t, busier(&netif->out, &netif->in));
}

static void put_sockets(struct ni_text *t, const struct ni_watch *w,
                        const struct ni_watch_verdict *v)
{
    put_interface(t, w, v->busiest);
    if (v->by_ip && w->netif[v->busiest].ipoib) {
        ni_put(t, " by IP over its rail, which carries little else");
    } else if (v->by_ip) {
        ni_put(t, ", and rails little but IP: ");
        put_interface(t, w, busiest_interface(w, true));
    } else if (v->n_rail > 0) {
        ni_put(t, ", no rail does");
    } else {
        ni_put(t, "; there is no HCA");
    }
}

/* Puts why it is not known that nothing carries data. */
static void put_unwatched(struct ni_text *t, const struct ni_watch *w,
                          const struct ni_watch_verdict *v)
{
    ni_put(t, "it cannot be told what carries data: ");
    if (w->ifs_unlisted) {
        ni_put(t, v->n_rail > 0 ? "no rail reaches 1 MB/s" : "there is no HCA");
        ni_put(t, ", but the interfaces could not be listed");
        return;
    }
    ni_put(t, v->n_rail > 0 ? "no rail and " : "there is no HCA, and ");
    ni_putf(t,
            "no interface that was watched reaches 1 MB/s, but there are more than %d interfaces",
            NI_MAX_WATCHED_IF);
}

static void put_unknown(struct ni_text *t, const struct ni_watch *w, const struct ni_inventory *inv,
                        const struct ni_watch_verdict *v)
{
    if (v->n_stranger == 0 && v->untold == 0) {
        put_unwatched(t, w, v);
        return;
    }
    ni_put(t, "it cannot be told whether rails carry data, ");
    if (v->n_stranger > 0)
        ni_putf(t, "for none of the %u HCA%s here is known to be this pod's: --hcas names them",
                v->n_stranger, ni_plural(v->n_stranger));
    else
        put_untold(t, w, inv, v->untold);
}

/* Puts what else was seen: retransmissions, errors, GIDs. */
static void put_troubles(struct ni_text *t, const struct ni_watch *w,
                         const struct ni_inventory *inv, const struct ni_watch_verdict *v)
{
    const long long resent = (long long)v->trouble[NI_TROUBLE_RESENT];
    const long long errors = (long long)v->trouble[NI_TROUBLE_ERROR];
    struct ni_port_name room;

    if (resent > 0)
        ni_putf(t, "; %lld retransmission%s", resent, resent == 1 ? "" : "s");
    if (errors > 0)
        ni_putf(t, "; %lld error%s", errors, errors == 1 ? "" : "s");
    if (w->n_change == 0)
        return;
    ni_putf(t, "; GID %u of ", w->change[0].was.index);
    ni_quote(t, name_of(w, inv, w->change[0].rail, &room));
    if (w->n_change > 1)
        ni_putf(t, " and %u other%s", w->n_change - 1, ni_plural(w->n_change - 1));
    ni_put(t, " changed");
}

void ni_put_watch_sentence(struct ni_text *t, const struct ni_watch *w,
                           const struct ni_inventory *inv, const struct ni_watch_verdict *v)
{
    if (w->looks < 2) {
        ni_put(t, "nothing was watched: it takes two looks");
        return;
    }
    switch (v->by) {
    case NI_CARRIED_BY_RAILS:
        put_rails(t, w, inv, v);
        break;
    case NI_CARRIED_BY_SOCKETS:
        put_sockets(t, w, v);
        break;
    case NI_CARRIED_BY_NOTHING:
        ni_put(t, "nothing carries data: ");
        if (v->n_rail > 0)
            ni_put(t, "no rail and no interface reaches 1 MB/s");
        else
            ni_put(t, "no interface reaches 1 MB/s, and there is no HCA");
        break;
    case NI_CARRIER_UNKNOWN:
        put_unknown(t, w, inv, v);
        break;
    }
    if (v->busiest >= 0 && v->by != NI_CARRIED_BY_SOCKETS) {
        ni_put(t, "; ");
        put_interface(t, w, v->busiest);
    }
    if (v->shared > 0 && v->by == NI_CARRIED_BY_RAILS) {
        ni_put(t, "; other pods' data may be in it: ");
        const unsigned n = put_names(t, w, inv, is_carrying_and_shared);
        ni_put(t, n == 1 ? " is a whole HCA" : " are whole HCAs");
    }
    put_troubles(t, w, inv, v);
}
