/* SPDX-License-Identifier: Apache-2.0 */
/* The plan for people: what was found, what became of it, what comes out and why, and what is
   wrong. A value or a reason is never cut; only names and addresses stand in columns. */
#include <string.h>

#include "findings.h"
#include "nccl_init/report.h"
#include "out.h"
#include "table.h"
#include "topo.h"
#include "words.h"

enum { INDENT = 6 }; /* of what explains the line above */

static void put_heading(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_plan *plan = view->plan;
    ni_put(out, "Plan: ");
    switch (plan->transport) {
    case NI_NET_OFF:
        ni_put(out, "nothing is decided (mode off)");
        break;
    case NI_NET_RDMA:
        if (plan->n_chosen == 0)
            ni_put(out, "RDMA, but this pod has no usable port");
        else
            ni_putf(out, "RDMA over %s, %u port%s", ni_say_link[ni_plan_link(view->inv, plan)],
                    plan->n_chosen, ni_plural(plan->n_chosen));
        break;
    case NI_NET_TCP:
        ni_put(out, "TCP sockets, no RDMA");
        break;
    case NI_NET_OTHER:
        ni_put(out, "another network plugin, left alone");
        break;
    }
    ni_put(out, "; ");
    ni_put_origin(out, view);
    if (plan->refuse) {
        char line[NI_REASON + 64];
        ni_format(line, sizeof(line), "The command would not be started: %s", plan->refuse_why);
        ni_put_tinted(out, view->colour, NI_RED, line);
        ni_put(out, "\n");
    }
}

/* ---- HCAs: a line for each port ---- */

struct line {
    const struct ni_hca *hca;
    const struct ni_port *port;      /* NULL: an HCA without ports */
    const struct ni_port_plan *plan; /* NULL: nothing was decided about it */
};

enum { MAX_LINE = NI_MAX_PORT + NI_MAX_HCA };

/* The pod's come first; on a node with many others they may scroll away. */
static unsigned list_ports(const struct ni_view *view, struct line lines[MAX_LINE])
{
    const struct ni_inventory *inv = view->inv;
    unsigned n = 0;
    for (int given = 1; given >= 0; given--) {
        for (unsigned i = 0; i < inv->n_hca; i++) {
            const struct ni_hca *hca = &inv->hca[i];
            if (ni_is_given(hca) != (given == 1))
                continue;
            for (unsigned p = 0; p < hca->n_port; p++)
                lines[n++] = (struct line){hca, &inv->port[hca->first_port + (int)p],
                                           ni_decision(view->plan, hca, p)};
            if (hca->n_port == 0)
                lines[n++] = (struct line){.hca = hca};
        }
    }
    return n;
}

static bool is_chosen(const struct line *line)
{
    return line->plan && line->plan->chosen;
}

/* The interface of the port's GID, which for a macvlan or VLAN is not the function's own; else
   that. */
static void put_netdev(struct ni_text *t, const struct ni_inventory *inv, const struct line *line)
{
    int gid = line->plan ? line->plan->gid : -1;
    const struct ni_netdev *dev = gid < 0 ? NULL : ni_find_netdev(inv, inv->gid[gid].ndev);
    if (!dev && line->hca->netdev >= 0)
        dev = &inv->netdev[line->hca->netdev];
    if (!dev)
        return;
    ni_quote(t, dev->name);
    if (dev->known != NI_KNOWN)
        ni_putf(t, " (%s)", ni_known_text(dev->known));
    else if (!dev->running)
        ni_put(t, " (down)");
}

/* In topo's words, and NCCL's where that is another one. */
static void put_distance(struct ni_text *t, const struct ni_view *view, int gpu, int hca)
{
    const char *word = ni_topo_word(view, (unsigned)gpu, hca);
    ni_putf(t, " %s%s", word, strcmp(word, "NODE") == 0 ? "=PHB" : "");
}

static void put_nearest_gpu(struct ni_text *t, const struct ni_view *view, const struct ni_hca *hca)
{
    const int at = (int)(hca - view->inv->hca);
    const struct ni_near *near = &view->plan->nearest_gpu[at];
    char bdf[NI_BDF_TEXT];
    if (!ni_has_near(near))
        return;
    ni_putf(t, "GPU%d %s", near->index, ni_bdf_text(view->inv->gpu[near->index].bdf, bdf));
    put_distance(t, view, near->index, at);
}

static void put_gid(struct ni_text *t, const struct ni_inventory *inv, const struct line *line)
{
    char ip[NI_IP_TEXT];
    if (!line->plan || line->plan->gid < 0)
        return;
    const struct ni_gid *gid = &inv->gid[line->plan->gid];
    int nccl = line->plan->nccl_index;
    if (nccl >= 0 && nccl != gid->index)
        ni_putf(t, "%d instead of ", nccl);
    ni_putf(t, "%u %s (%s)", (unsigned)gid->index, ni_ip_text(gid->ip, ip),
            ni_word_gid_type[gid->type]);
}

static void put_hcas(struct ni_text *out, const struct ni_view *view, const struct line *lines,
                     unsigned n)
{
    struct ni_table table;
    if (n == 0) {
        ni_put(out, "\nNo HCA was found.\n");
        return;
    }
    ni_put(out, "\nHCAs\n");
    ni_table_on(&table, "DEVICE\tADDRESS\tVF/SF OF\tSTATE\tLINK\tRATE\tNUMA\tNEAREST GPU\tNETDEV\t"
                        "GID");
    for (unsigned i = 0; i < n; i++) {
        const struct line *line = &lines[i];
        const struct ni_bdf *parent = ni_parent(line->hca);
        struct ni_text *t = ni_row(&table, is_chosen(line) ? NI_GREEN : NI_DIM);
        char bdf[NI_BDF_TEXT];
        ni_put_port(t, line->hca, line->port ? line->port->num : 0);
        ni_put(t, "\t");
        ni_put_address(t, line->hca);
        ni_putf(t, "\t%s\t", parent ? ni_bdf_text(*parent, bdf) : "");
        if (line->port) {
            ni_put_state(t, line->port->state);
            ni_putf(t, "\t%s\t", ni_say_link[line->port->link]);
            ni_put_rate(t, line->port->mbps);
        } else {
            ni_put(t, "\t\t");
        }
        ni_put(t, "\t");
        ni_put_numa(t, &line->hca->pci);
        ni_put(t, "\t");
        put_nearest_gpu(t, view, line->hca);
        ni_put(t, "\t");
        put_netdev(t, view->inv, line);
        ni_put(t, "\t");
        put_gid(t, view->inv, line);
    }
    ni_table_write(out, &table, view->colour);
}

/* ---- what became of each ---- */

static bool same_verdict(const struct line *a, const struct line *b)
{
    return strcmp(a->plan ? a->plan->rule : "", b->plan ? b->plan->rule : "") == 0 &&
           strcmp(ni_why(a->hca, a->plan), ni_why(b->hca, b->plan)) == 0;
}

static void put_verdict(struct ni_table *table, const struct line *line, unsigned alike)
{
    struct ni_text *t = ni_row(table, is_chosen(line) ? NI_GREEN : NI_DIM);
    if (alike > 1)
        ni_putf(t, "%u others", alike);
    else
        ni_put_port(t, line->hca, line->port ? line->port->num : 0);
    ni_putf(t, "\t%s\t%s\t",
            is_chosen(line) ? "kept"
            : line->plan    ? "dropped"
                            : "not used",
            line->plan ? line->plan->rule : "");
    ni_quote(t, ni_why(line->hca, line->plan));
}

/* Most of the others are dropped for one reason: they are not the pod's. One line tells that. */
static void put_verdicts(struct ni_text *out, const struct ni_view *view, const struct line *lines,
                         unsigned n)
{
    const struct line *other = NULL; /* the first of those */
    unsigned alike = 0;
    struct ni_table table;
    if (n == 0)
        return;
    ni_put(out, "\nKept or dropped\n");
    ni_table_on(&table, "DEVICE\tUSE\tRULE\tWHY");
    for (unsigned i = 0; i < n; i++) {
        const struct line *line = &lines[i];
        if (ni_is_given(line->hca) || is_chosen(line) || (other && !same_verdict(other, line))) {
            put_verdict(&table, line, 1);
            continue;
        }
        other = other ? other : line;
        alike++;
    }
    if (other)
        put_verdict(&table, other, alike);
    ni_table_write(out, &table, view->colour);
}

/* ---- who gave them ---- */

/* "names the same 4", "names 3 of the 4; not used: 0000:03:00.3" */
static void put_other_source(struct ni_text *t, const struct ni_inventory *inv,
                             enum ni_source source, unsigned decided)
{
    enum { SHOWN = 8 };
    unsigned same = 0, more = 0;
    for (unsigned i = 0; i < inv->n_claim; i++)
        same += inv->claim[i].source == source && inv->claim[i].hca >= 0;
    if (same == decided)
        ni_putf(t, "names the same %u", same);
    else
        ni_putf(t, "names %u of the %u", same, decided);
    for (unsigned i = 0; i < inv->n_claim; i++) {
        const struct ni_claim *c = &inv->claim[i];
        if (c->source != source || c->hca >= 0)
            continue;
        if (more++ < SHOWN)
            ni_putf(t, "%s%s", more == 1 ? "; not used: " : ", ", c->id);
    }
    if (more > SHOWN)
        ni_putf(t, " and %u more", more - SHOWN);
}

/* Nothing where only one source was asked or said anything. */
static void put_sources(struct ni_text *out, const struct ni_inventory *inv)
{
    unsigned decided = 0, n[NI_SRC_HOST + 1] = {0};
    bool others = false;
    for (unsigned i = 0; i < inv->n_claim; i++) {
        const struct ni_claim *c = &inv->claim[i];
        n[c->source]++;
        decided += c->source == inv->source && c->hca >= 0;
        others = others || (inv->source != NI_SRC_NONE && c->source > inv->source);
    }
    if (!others)
        return;
    ni_put(out, "\nSources\n");
    for (unsigned s = inv->source; s <= NI_SRC_HOST; s++) {
        char buf[1024];
        struct ni_text t = ni_text_on(buf, sizeof(buf));
        if (n[s] == 0)
            continue;
        if (s == inv->source)
            ni_putf(&t, "decided: %u HCA%s", decided, ni_plural(decided));
        else
            put_other_source(&t, inv, (enum ni_source)s, decided);
        ni_putf(out, "  %s: ", ni_say_source_short[s]);
        ni_put_wrapped(out, strlen(ni_say_source_short[s]) + 4, INDENT, buf);
        ni_put(out, "\n");
    }
}

/* What gave no HCA, of the sources that were asked before one decided. */
static void put_lost_claims(struct ni_text *out, const struct ni_view *view)
{
    enum { SHOWN = 16 }; /* more of them are not read, and the findings name each */
    const struct ni_inventory *inv = view->inv;
    struct ni_table table;
    unsigned n = 0;
    for (unsigned i = 0; i < inv->n_claim; i++) {
        const struct ni_claim *c = &inv->claim[i];
        if (c->hca >= 0 || (inv->source != NI_SRC_NONE && c->source > inv->source))
            continue;
        if (n++ == 0)
            ni_table_on(&table, NULL);
        if (n > SHOWN)
            continue;
        struct ni_text *t = ni_row(&table, NI_PLAIN);
        ni_quote(t, c->id);
        ni_put(t, "\t");
        ni_quote(t, c->from);
        ni_putf(t, "\t%s", ni_say_claim[c->state]);
    }
    if (n == 0)
        return;
    ni_put(out, "\nGiven to the pod, but no HCA\n");
    ni_table_write(out, &table, view->colour);
    if (n > SHOWN)
        ni_putf(out, "  and %u more\n", n - SHOWN);
}

/* ---- GPUs, GIDs ---- */

static const char *loaded(enum ni_known known)
{
    return known == NI_KNOWN ? "loaded" : known == NI_ABSENT ? "not loaded" : "unknown";
}

static void put_gpus(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_inventory *inv = view->inv;
    struct ni_table table;
    if (inv->n_gpu == 0)
        return;
    ni_put(out, "\nGPUs\n");
    ni_table_on(&table, "GPU\tADDRESS\tDEVICE\tNUMA\tNEAREST HCA");
    for (unsigned i = 0; i < inv->n_gpu; i++) {
        const struct ni_gpu *gpu = &inv->gpu[i];
        const struct ni_near *near = &view->plan->nearest_hca[i];
        struct ni_text *t = ni_row(&table, NI_PLAIN);
        char bdf[NI_BDF_TEXT];
        ni_putf(t, "GPU%u\t%s\t", i, ni_bdf_text(gpu->bdf, bdf));
        if (gpu->amd)
            ni_put(t, "AMD");
        else if (gpu->minor >= 0)
            ni_putf(t, "/dev/nvidia%d", gpu->minor);
        ni_put(t, "\t");
        ni_put_numa(t, &gpu->pci);
        ni_put(t, "\t");
        if (ni_has_near(near)) {
            ni_put_port(t, &inv->hca[near->index], 0);
            put_distance(t, view, (int)i, near->index);
        }
    }
    ni_table_write(out, &table, view->colour);
    ni_putf(out, "  GPUDirect RDMA: peer memory module %s", loaded(inv->gdr.peermem));
    if (!inv->gpu[0].amd)
        ni_putf(out, ", open kernel modules %s", loaded(inv->gdr.open_driver));
    ni_put(out, inv->gdr.c2c ? ", NVLink-C2C\n" : "\n");
}

/* The whole tables, with --gids. */
static void put_gids(struct ni_text *out, const struct ni_view *view)
{
    static const char *const whose[] = {
        [NI_OWN_UNKNOWN] = "", [NI_OWN_OURS] = "this pod's", [NI_OWN_FOREIGN] = "another's"};
    const struct ni_inventory *inv = view->inv;
    struct ni_table table;
    if (!view->gids || inv->n_gid == 0)
        return;
    ni_put(out, "\nGIDs of the pod's ports\n");
    ni_table_on(&table, "DEVICE\tINDEX\tGID\tTYPE\tNETDEV\tWHOSE");
    for (unsigned p = 0; p < inv->n_port; p++) {
        const struct ni_port *port = &inv->port[p];
        for (unsigned i = 0; i < port->n_gid; i++) {
            int at = port->first_gid + (int)i;
            const struct ni_gid *gid = &inv->gid[at];
            struct ni_text *t = ni_row(&table, view->plan->port[p].gid == at ? NI_GREEN : NI_PLAIN);
            char ip[NI_IP_TEXT];
            ni_put_port(t, &inv->hca[port->hca], port->num);
            ni_putf(t, "\t%u\t%s\t%s\t", (unsigned)gid->index, ni_ip_text(gid->ip, ip),
                    ni_word_gid_type[gid->type]);
            ni_quote(t, gid->ndev);
            ni_putf(t, "\t%s", whose[gid->own]);
        }
    }
    ni_table_write(out, &table, view->colour);
}

/* ---- what comes out ---- */

/* On lines of its own: whose it is, the rule, the reason. */
static void put_reason(struct ni_text *out, const struct ni_setting *s)
{
    char buf[NI_REASON + 256];
    struct ni_text t = ni_text_on(buf, sizeof(buf));
    if (s->origin == NI_FROM_USER)
        ni_put(&t, "user's environment, ");
    else if (s->origin == NI_FROM_CONF)
        ni_putf(&t, "%s, ", s->file);
    ni_putf(&t, "rule %s%s%s", s->rule, s->reason[0] ? ": " : "", s->reason);
    ni_putf(out, "\n%*s", INDENT, "");
    ni_put_wrapped(out, INDENT, INDENT, buf);
    ni_put(out, "\n");
}

/* NAME=VALUE on a line of its own, so that it can be copied whatever its length. */
static void put_settings(struct ni_text *out, const struct ni_view *view, bool unset)
{
    const struct ni_plan *plan = view->plan;
    bool any = false;
    for (unsigned i = 0; i < plan->n_setting; i++) {
        const struct ni_setting *s = &plan->setting[i];
        char line[NI_VALUE + NI_DEV_NAME];
        if ((s->origin == NI_LEFT_UNSET) != unset)
            continue;
        if (!any)
            ni_put(out, unset ? "\nLeft unset\n" : "\nSettings\n");
        any = true;
        ni_format(line, sizeof(line), "%s%s%s", s->name, unset ? "" : "=", s->value);
        ni_put(out, "  ");
        ni_put_tinted(out, view->colour,
                      unset                       ? NI_PLAIN
                      : s->origin == NI_FROM_RULE ? NI_GREEN
                                                  : NI_YELLOW,
                      line);
        put_reason(out, s);
    }
}

static void put_limit(struct ni_text *out, struct ni_num now, bool raise, int64_t to)
{
    if (now.known == NI_KNOWN)
        ni_put_bytes(out, now.v);
    else
        ni_put_num(out, now);
    if (raise) {
        ni_put(out, ", raised to ");
        ni_put_bytes(out, to);
    }
}

static void put_memlock(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_limit *limit = &view->plan->memlock;
    const struct ni_self *self = &view->inv->self;
    ni_put(out, "\nLocked memory: soft limit ");
    put_limit(out, self->memlock_soft, limit->raise_soft, limit->soft);
    ni_put(out, "; hard limit ");
    put_limit(out, self->memlock_hard, limit->raise_hard, limit->hard);
    ni_put(out, "\n");
}

static void put_findings(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_findings *all = view->findings;
    if (all->n == 0) {
        ni_put(out, "\nNo findings. `nccl-init doctor` checks the node.\n");
        return;
    }
    ni_put(out, "\nFindings\n");
    ni_put_findings(out, all, NI_INFO, false, view->colour);
    if (all->dropped > 0)
        ni_putf(out, "  and %u more\n", all->dropped);
}

int ni_write_plan(int fd, const struct ni_view *view)
{
    struct line lines[MAX_LINE];
    unsigned n = list_ports(view, lines);
    struct ni_out o;
    struct ni_text *out = ni_out_on(&o, fd);
    put_heading(out, view);
    put_hcas(out, view, lines, n);
    put_verdicts(out, view, lines, n);
    put_sources(out, view->inv);
    put_lost_claims(out, view);
    put_gpus(out, view);
    put_gids(out, view);
    put_settings(out, view, false);
    put_settings(out, view, true);
    put_memlock(out, view);
    put_findings(out, view);
    return ni_out_end(&o);
}
