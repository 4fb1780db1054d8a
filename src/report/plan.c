/* SPDX-License-Identifier: Apache-2.0 */
/* The plan: what was found, what became of it, what comes out and why, and what is wrong. For
   people a value or a reason is never cut; only names and addresses stand in columns. For programs
   what is not known is null, and indexes become names, so that an object can be read alone. */
#include "parts.h"

#include <inttypes.h>

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
            ni_putf(out, "RDMA over %s, %u port%s", ni_link_words[ni_plan_link(view)],
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

static const char *const gid_type[] = {
    [NI_GID_UNREAD] = "unread", [NI_GID_V1] = "v1", [NI_GID_V2] = "v2"};

/* "400G", "2.5G" */
static void put_rate(struct ni_text *t, struct ni_num mbps)
{
    if (mbps.known != NI_KNOWN)
        ni_put_num(t, mbps);
    else if (mbps.v % 1000 == 0)
        ni_putf(t, "%" PRId64 "G", mbps.v / 1000);
    else /* sysfs has one decimal at most (drivers/infiniband/core/sysfs.c rate_show) */
        ni_putf(t, "%" PRId64 ".%" PRId64 "G", mbps.v / 1000, mbps.v % 1000 / 100);
}

/* Begins the row with the port's name: "mlx5_6/1". at: the port in the inventory, as below; -1: sysfs
   shows none. */
static struct ni_text *port_row(struct ni_text *table, const struct ni_view *view,
                                const struct ni_hca *hca, int at)
{
    bool chosen = at >= 0 && view->plan->port[at].chosen;
    struct ni_text *t = ni_row(table, chosen ? NI_GREEN : NI_DIM);
    ni_quote(t, hca->name);
    if (at >= 0)
        ni_putf(t, "/%u", view->inv->port[at].num);
    return t;
}

/* The interface of the port's GID, which for a macvlan or VLAN is not the function's own; else
   that. */
static void put_netdev(struct ni_text *t, const struct ni_inventory *inv, const struct ni_hca *hca,
                       const struct ni_gid *gid)
{
    const struct ni_netdev *dev = gid ? ni_find_netdev(inv, gid->ndev) : NULL;
    if (!dev && hca->netdev >= 0)
        dev = &inv->netdev[hca->netdev];
    if (!dev)
        return;
    ni_quote(t, dev->name);
    if (dev->known != NI_KNOWN)
        ni_putf(t, " (%s)", ni_known_text(dev->known));
    else if (!dev->running)
        ni_put(t, " (down)");
}

static void put_port(struct ni_text *table, const struct ni_view *view, const struct ni_hca *hca,
                     int at)
{
    static const struct ni_port none;
    const struct ni_port *port = at < 0 ? &none : &view->inv->port[at];
    const struct ni_gid *gid = at < 0 ? NULL : ni_picked_gid(view, at);
    const char *state = ni_state_word(port->state);
    struct ni_text *t = port_row(table, view, hca, at);
    ni_put_address(ni_cell(t), hca);
    ni_put_bdf(ni_cell(t), ni_parent(hca));
    ni_cell(t);
    if (state)
        ni_put(t, state);
    else
        ni_put_num(t, port->state);
    ni_put(ni_cell(t), at < 0 ? "" : ni_link_words[port->link]);
    put_rate(ni_cell(t), port->mbps);
    ni_put_num(ni_cell(t), ni_numa(&hca->pci));
    put_netdev(ni_cell(t), view->inv, hca, gid);
    ni_cell(t);
    if (gid) {
        const int nccl = view->plan->port[at].nccl_index;
        char ip[NI_IP_TEXT];
        ni_putf(t, "%u %s (%s)", (unsigned)gid->index, ni_ip_text(gid->ip, ip),
                gid_type[gid->type]);
        if (nccl >= 0 && nccl != gid->index)
            ni_putf(t, ", but NCCL takes %d", nccl);
    }
}

static void put_verdict(struct ni_text *table, const struct ni_view *view, const struct ni_hca *hca,
                        int at)
{
    const struct ni_port_plan *plan = at < 0 ? NULL : &view->plan->port[at];
    const bool judged = plan && plan->rule;
    struct ni_text *t = port_row(table, view, hca, at);
    ni_put(ni_cell(t), !judged ? "not used" : plan->chosen ? "kept" : "dropped");
    ni_put(ni_cell(t), judged ? plan->rule : "");
    ni_quote(ni_cell(t), judged ? plan->why : plan ? "nothing was decided" : "sysfs shows no port");
}

/* What each is, and what became of those that are the pod's or chosen; of the others there is only
   one thing to say. */
static void put_hcas(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_inventory *inv = view->inv;
    const struct ni_shown shown = ni_shown_hcas(view);
    const unsigned others = inv->n_hca - shown.n_given;
    if (inv->n_hca == 0) {
        ni_put(out, "\nNo HCA was found.\n");
        return;
    }
    struct ni_text ports =
        ni_table_on("PORT\tADDRESS\tVF/SF OF\tSTATE\tLINK\tRATE\tNUMA\tNETDEV\tGID");
    struct ni_text verdicts = ni_table_on("PORT\tUSE\tRULE\tWHY");
    for (unsigned i = 0; i < shown.n; i++) {
        const struct ni_hca *hca = &inv->hca[shown.hca[i]];
        for (unsigned p = 0; p == 0 || p < hca->n_port; p++) {
            const int at = hca->n_port == 0 ? -1 : hca->first_port + (int)p;
            put_port(&ports, view, hca, at);
            if (i < shown.n_given)
                put_verdict(&verdicts, view, hca, at);
        }
    }
    if (others > 0)
        ni_putf(ni_row(&verdicts, NI_DIM), "%u other%s\tnot used\t\tnot the pod's", others,
                ni_plural(others));
    ni_put(out, "\nHCAs\n");
    ni_table_write(out, &ports, view->colour);
    ni_put_hidden(out, &shown);
    ni_put(out, "\nKept or dropped\n");
    ni_table_write(out, &verdicts, view->colour);
}

/* ---- who gave them ---- */

/* The source that decided, and what those behind it name; nothing where none of them was asked or
   said anything. */
static void put_sources(struct ni_text *out, const struct ni_inventory *inv)
{
    enum { SHOWN = 8 };
    unsigned decided = 0;
    bool any = false;
    for (unsigned s = inv->source; s != NI_SRC_NONE && s <= NI_SRC_HOST; s++) {
        unsigned same = 0, more = 0;
        char line[1024], left[1024];
        struct ni_text t = ni_text_on(left, sizeof(left));
        for (unsigned i = 0; i < inv->n_claim; i++) {
            const struct ni_claim *c = &inv->claim[i];
            same += c->source == s && c->hca >= 0;
            if (c->source == s && c->hca < 0 && more++ < SHOWN)
                ni_putf(&t, "%s%s", more == 1 ? "; not used: " : ", ", c->id);
        }
        if (s == inv->source)
            decided = same;
        if (s == inv->source || same + more == 0)
            continue;
        if (!any)
            ni_putf(out, "\nSources\n  %s: %u HCA%s; this source decides\n",
                    ni_source_words[inv->source].brief, decided, ni_plural(decided));
        any = true;
        if (more > SHOWN)
            ni_putf(&t, " and %u more", more - SHOWN);
        ni_format(line, sizeof(line), same == decided ? "the same %u%s" : "%u of them%s", same,
                  left);
        ni_put_item(out, ni_source_words[s].brief, line);
    }
}

/* ---- GPUs, GIDs ---- */

static const char *loaded(enum ni_known known)
{
    return known == NI_KNOWN ? "loaded" : known == NI_ABSENT ? "not loaded" : "unknown";
}

static void put_gpus(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_inventory *inv = view->inv;
    if (inv->n_gpu == 0)
        return;
    struct ni_text table = ni_table_on("GPU\tADDRESS\tDEVICE\tNUMA\tNEAREST HCA\tTO USE"),
                   *t = &table;
    for (unsigned i = 0; i < inv->n_gpu; i++) {
        const struct ni_gpu *gpu = &inv->gpu[i];
        const struct ni_near *near = &view->plan->nearest_hca[i];
        ni_putf(ni_row(t, NI_PLAIN), "GPU%u", i);
        ni_put_bdf(ni_cell(t), &gpu->bdf);
        ni_put(ni_cell(t), gpu->amd ? "AMD" : "");
        if (!gpu->amd && gpu->minor >= 0)
            ni_putf(t, "/dev/nvidia%d", gpu->minor);
        ni_put_num(ni_cell(t), ni_numa(&gpu->pci));
        ni_cell(t);
        if (ni_is_near(near)) {
            ni_quote(t, inv->hca[near->index].name);
            ni_putf(t, " %s", ni_distance_text(near->distance));
        }
        ni_put_use(ni_cell(t), view, i);
    }
    ni_put(out, "\nGPUs\n");
    ni_table_write(out, t, view->colour);
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
    if (!view->gids || inv->n_gid == 0)
        return;
    struct ni_text table = ni_table_on("PORT\tINDEX\tGID\tTYPE\tNETDEV\tWHOSE"), *t = &table;
    for (unsigned p = 0; p < inv->n_port; p++) {
        const struct ni_port *port = &inv->port[p];
        for (unsigned i = 0; i < port->n_gid; i++) {
            const struct ni_gid *gid = &inv->gid[port->first_gid + (int)i];
            char ip[NI_IP_TEXT];
            ni_quote(ni_row(t, gid == ni_picked_gid(view, (int)p) ? NI_GREEN : NI_PLAIN),
                     inv->hca[port->hca].name);
            ni_putf(t, "/%u\t%u\t%s\t%s\t", port->num, (unsigned)gid->index,
                    ni_ip_text(gid->ip, ip), gid_type[gid->type]);
            ni_quote(t, gid->ndev);
            ni_put(ni_cell(t), whose[gid->own]);
        }
    }
    ni_put(out, "\nGIDs of the pod's ports\n");
    ni_table_write(out, t, view->colour);
}

/* ---- what comes out ---- */

/* NAME=VALUE on a line of its own, so that it can be copied whatever its length; then whose it is,
   the rule, the reason. */
static void put_settings(struct ni_text *out, const struct ni_view *view)
{
    static const enum ni_tint tint[] = {[NI_FROM_RULE] = NI_GREEN,
                                        [NI_FROM_USER] = NI_YELLOW,
                                        [NI_FROM_CONF] = NI_YELLOW,
                                        [NI_LEFT_UNSET] = NI_PLAIN};
    const struct ni_plan *plan = view->plan;
    if (plan->n_setting > 0)
        ni_put(out, "\nSettings\n");
    for (unsigned i = 0; i < plan->n_setting; i++) {
        const struct ni_setting *s = &plan->setting[i];
        char line[NI_VALUE + NI_DEV_NAME], why[NI_REASON + 256];
        ni_format(line, sizeof(line), "%s%s%s", s->name,
                  s->origin == NI_LEFT_UNSET ? " is left unset" : "=", s->value);
        ni_format(why, sizeof(why), "%s%srule %s%s%s",
                  s->origin == NI_FROM_USER   ? "user's environment"
                  : s->origin == NI_FROM_CONF ? s->file
                                              : "",
                  s->origin == NI_FROM_USER || s->origin == NI_FROM_CONF ? ", " : "", s->rule,
                  s->reason[0] ? ": " : "", s->reason);
        ni_put(out, "  ");
        ni_put_tinted(out, view->colour, tint[s->origin], line);
        ni_put(out, "\n");
        ni_put_below(out, why);
    }
}

static void put_limit(struct ni_text *out, const char *which, struct ni_num now, bool raise,
                      int64_t to)
{
    ni_put(out, which);
    if (now.known == NI_KNOWN)
        ni_put_bytes(out, now.v);
    else
        ni_put_num(out, now);
    if (raise) {
        ni_put(out, ", raised to ");
        ni_put_bytes(out, to);
    }
}

void ni_put_plan(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_limit *limit = &view->plan->memlock;
    const struct ni_self *self = &view->inv->self;
    put_heading(out, view);
    put_hcas(out, view);
    put_sources(out, view->inv);
    put_gpus(out, view);
    put_gids(out, view);
    put_settings(out, view);
    put_limit(out, "\nLocked memory: soft limit ", self->memlock_soft, limit->raise_soft,
              limit->soft);
    put_limit(out, "; hard limit ", self->memlock_hard, limit->raise_hard, limit->hard);
    ni_put(out, "\n");
    ni_put_findings(out, view, NI_INFO);
    if (view->findings->n == 0)
        ni_put(out, "\nNo findings. `nccl-init doctor` checks the node.\n");
}

/* ---- JSON: a member is never renamed or given another meaning without a new NI_JSON_SCHEMA; new
   ones may come ---- */

static void claim_json(struct ni_json *j, const struct ni_view *view, unsigned i)
{
    static const char *const state[] = {[NI_CLAIM_BAD_ID] = "bad-id",
                                        [NI_CLAIM_NO_DEVICE] = "no-device",
                                        [NI_CLAIM_NOT_RDMA] = "not-rdma",
                                        [NI_CLAIM_UNREAD] = "unread",
                                        [NI_CLAIM_OK] = "ok"};
    const struct ni_claim *c = &view->inv->claim[i];
    ni_json_text(j, "id", c->id);
    ni_json_text(j, "from", c->from);
    ni_json_text(j, "source", ni_source_words[c->source].json);
    ni_json_text(j, "state", state[c->state]);
    ni_json_text_or_null(j, "rdma_dev", c->rdma_dev);
    ni_json_text(j, "hca", c->hca < 0 ? NULL : view->inv->hca[c->hca].name);
}

static void gid_json(struct ni_json *j, const struct ni_gid *gid)
{
    char ip[NI_IP_TEXT];
    if (!gid) {
        ni_json_null(j, "gid");
        return;
    }
    ni_json_object(j, "gid");
    ni_json_int(j, "index", gid->index);
    ni_json_text(j, "address", ni_ip_text(gid->ip, ip));
    ni_json_text(j, "type", gid->type == NI_GID_UNREAD ? NULL : gid_type[gid->type]);
    ni_json_text_or_null(j, "netdev", gid->ndev);
    ni_json_end(j);
}

static void port_json(struct ni_json *j, const struct ni_view *view, unsigned i)
{
    const struct ni_port *port = &view->inv->port[i];
    const struct ni_port_plan *plan = &view->plan->port[i];
    const char *state = ni_state_word(port->state);
    ni_json_int(j, "port", port->num);
    if (state)
        ni_json_text(j, "state", state);
    else
        ni_json_num(j, "state", port->state);
    ni_json_link(j, port->link);
    ni_json_num(j, "mbps", port->mbps);
    gid_json(j, ni_picked_gid(view, (int)i));
    ni_json_bool(j, "kept", plan->chosen);
    ni_json_text(j, "rule", plan->rule);
    ni_json_text_or_null(j, "why", plan->why);
}

static void netdev_json(struct ni_json *j, const struct ni_inventory *inv, int index)
{
    if (!ni_json_object_or_null(j, "netdev", index >= 0))
        return;
    const struct ni_netdev *dev = &inv->netdev[index];
    ni_json_text(j, "name", dev->name);
    ni_json_bool_or_null(j, "running", dev->known == NI_KNOWN, dev->running);
    ni_json_num(j, "mtu", dev->mtu);
    ni_json_end(j);
}

static void hca_json(struct ni_json *j, const struct ni_view *view, unsigned i)
{
    const struct ni_inventory *inv = view->inv;
    const struct ni_hca *hca = &inv->hca[i];
    const struct ni_near *near = &view->plan->nearest_gpu[i];
    ni_json_hca(j, hca);
    ni_json_text(j, "claimed_by", hca->claim < 0 ? NULL : inv->claim[hca->claim].from);
    netdev_json(j, inv, hca->netdev);
    if (ni_json_object_or_null(j, "nearest_gpu", ni_is_near(near))) {
        ni_json_int(j, "gpu", near->index);
        ni_json_bdf(j, "pci", &inv->gpu[near->index].bdf);
        ni_json_text(j, "distance", ni_distance_text(near->distance));
        ni_json_end(j);
    }
    ni_json_list(j, "ports", view, hca->first_port, hca->n_port, port_json);
}

static void gpu_json(struct ni_json *j, const struct ni_view *view, unsigned i)
{
    const struct ni_near *near = &view->plan->nearest_hca[i];
    ni_json_gpu(j, view, i);
    if (ni_json_object_or_null(j, "nearest_hca", ni_is_near(near))) {
        ni_json_text(j, "hca", view->inv->hca[near->index].name);
        ni_json_text(j, "distance", ni_distance_text(near->distance));
        ni_json_end(j);
    }
}

static void setting_json(struct ni_json *j, const struct ni_view *view, unsigned i)
{
    static const char *const origin[] = {[NI_FROM_RULE] = "rule",
                                         [NI_FROM_USER] = "user",
                                         [NI_FROM_CONF] = "conf",
                                         [NI_LEFT_UNSET] = "unset"};
    const struct ni_setting *s = &view->plan->setting[i];
    ni_json_text(j, "name", s->name);
    ni_json_text(j, "value", s->origin == NI_LEFT_UNSET ? NULL : s->value);
    ni_json_text(j, "origin", origin[s->origin]);
    ni_json_text_or_null(j, "rule", s->rule);
    ni_json_text_or_null(j, "file", s->origin == NI_FROM_CONF ? s->file : NULL);
    ni_json_text_or_null(j, "reason", s->reason);
}

static void memlock_json(struct ni_json *j, const struct ni_self *self,
                         const struct ni_limit *limit)
{
    ni_json_object(j, "memlock");
    ni_json_bytes(j, "soft", self->memlock_soft);
    ni_json_bytes(j, "hard", self->memlock_hard);
    ni_json_bytes(j, "raise_soft_to",
                  (struct ni_num){limit->soft, limit->raise_soft ? NI_KNOWN : NI_UNSET});
    ni_json_bytes(j, "raise_hard_to",
                  (struct ni_num){limit->hard, limit->raise_hard ? NI_KNOWN : NI_UNSET});
    ni_json_end(j);
}

void ni_put_plan_json(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_inventory *inv = view->inv;
    const struct ni_plan *plan = view->plan;
    struct ni_json json = ni_json_report(out), *j = &json;
    ni_json_text(j, "root", view->root);
    ni_json_text(j, "transport", ni_transport_words[plan->transport]);
    ni_json_link(j, ni_plan_link(view));
    ni_json_text(j, "source", ni_source_words[inv->source].json);
    ni_json_text(j, "refuse", plan->refuse ? plan->refuse_why : NULL);
    ni_json_int_or_null(j, "gid_index", plan->transport == NI_NET_RDMA && plan->gid_index >= 0,
                        plan->gid_index);
    ni_json_list(j, "claims", view, 0, inv->n_claim, claim_json);
    ni_json_list(j, "hcas", view, 0, inv->n_hca, hca_json);
    ni_json_list(j, "gpus", view, 0, inv->n_gpu, gpu_json);
    ni_json_object(j, "gdr");
    ni_json_yes_no(j, "peermem", inv->gdr.peermem);
    ni_json_yes_no(j, "open_driver", inv->gdr.open_driver);
    ni_json_bool(j, "c2c", inv->gdr.c2c);
    ni_json_end(j);
    ni_json_list(j, "settings", view, 0, plan->n_setting, setting_json);
    memlock_json(j, &inv->self, &plan->memlock);
    ni_json_findings(j, view->findings);
    ni_json_int(j, "findings_dropped", view->findings->dropped);
    ni_json_end(j);
}
