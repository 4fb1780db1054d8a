/* SPDX-License-Identifier: Apache-2.0 */
/* The plan: what was found, what became of it, what comes out and why, and what is wrong. For
   people a value or a reason is never cut; only names and addresses stand in columns. For programs
   what is not known is null, and indexes become names, so that an object can be read alone.
   The topology: how far each port is from each GPU, in the words of `nvidia-smi topo -m`; and for
   Graphviz (`dot -Tsvg`) a picture of the PCI tree. For programs the plan's JSON tells it. */
#include "print/parts.h"

#include <inttypes.h>
#include <string.h>

/* ---- addresses and numbers ---- */

/* "7", or how the fact stands: "-" when it was not asked for, "absent", "denied", "malformed". */
static void put_num(struct ni_text *t, struct ni_num n)
{
    if (n.known == NI_KNOWN)
        ni_putf(t, "%" PRId64, n.v);
    else
        ni_put(t, n.known == NI_UNSET ? "-" : ni_known_text(n.known));
}

/* Nothing for NULL. */
static void put_bdf(struct ni_text *t, const struct ni_bdf *bdf)
{
    char buf[NI_BDF_TEXT];
    if (bdf)
        ni_put(t, ni_bdf_text(*bdf, buf));
}

/* "0000:03:00.2", "mlx5_core.sf.4"; nothing for SoftRoCE. */
static void put_address(struct ni_text *t, const struct ni_hca *hca)
{
    if (hca->aux[0])
        ni_quote(t, hca->aux);
    else
        put_bdf(t, hca->has_bdf ? &hca->bdf : NULL);
}

/* Its PCI address, NULL for a sub-function. */
static const struct ni_bdf *own_bdf(const struct ni_hca *hca)
{
    return hca->has_bdf && !hca->aux[0] ? &hca->bdf : NULL;
}

/* The PF of a VF, the PCI device of a sub-function; NULL. */
static const struct ni_bdf *parent_of(const struct ni_hca *hca)
{
    return hca->is_vf ? &hca->pf : hca->has_bdf && hca->aux[0] ? &hca->bdf : NULL;
}

/* ---- the first line, and the summary of `run` ---- */

static const struct ni_words transports[] = {
    [NI_NET_OFF] = {"off", "nothing is decided (mode off)"},
    [NI_NET_RDMA] = {"rdma", "RDMA, but this pod has no usable port"},
    [NI_NET_TCP] = {"tcp", "TCP sockets, no RDMA"},
    [NI_NET_OTHER] = {"other", "another network plugin, left alone"},
};

static const struct {
    const char *json, *mark; /* the latter behind a value in the summary */
    enum ni_tint tint;
} origins[] = {
    [NI_FROM_RULE] = {"rule", "", NI_GREEN},
    [NI_FROM_USER] = {"user", " (user)", NI_YELLOW},
    [NI_FROM_CONF] = {"conf", " (nccl.conf)", NI_YELLOW},
    [NI_LEFT_UNSET] = {"unset", "", NI_PLAIN},
};

/* The link layer of the chosen ports. */
static enum ni_link plan_link(const struct ni_view *view)
{
    const struct ni_plan *plan = view->plan;
    return plan->n_chosen > 0 ? view->inv->port[plan->chosen[0]].link : NI_LINK_UNKNOWN;
}

/* The GID of that port of the inventory; NULL. */
static const struct ni_gid *gid_of(const struct ni_view *view, int port)
{
    const struct ni_port_plan *plan = &view->plan->port[port];
    const int gid = plan->gid < 0 ? plan->best : plan->gid;
    return plan->rule && gid >= 0 ? &view->inv->gid[gid] : NULL;
}

/* "RDMA over RoCE, 4 ports" */
static void put_transport(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_plan *plan = view->plan;
    if (plan->transport == NI_NET_RDMA && plan->n_chosen > 0)
        ni_putf(out, "RDMA over %s, %u port%s", ni_link_words[plan_link(view)].text, plan->n_chosen,
                ni_plural(plan->n_chosen));
    else
        ni_put(out, transports[plan->transport].text);
}

/* The settings come last: a line that is too long loses the end of them, which `plan` shows. Those of
   other libraries follow from NCCL's. */
void ni_put_summary(struct ni_text *out, const struct ni_view *view, int64_t memlock)
{
    enum { SHOWN = 200 }; /* of a value that somebody else set */
    ni_put(out, "auto-detected ");
    put_transport(out, view);
    ni_putf(out, "; %s; memlock ", ni_source_words[view->inv->source].text);
    if (memlock < 0)
        ni_put(out, "unknown");
    else
        ni_put_bytes(out, memlock);
    ni_put(out, ";");
    for (unsigned i = 0; i < view->plan->n_setting; i++) {
        const struct ni_setting *s = &view->plan->setting[i];
        if (s->origin == NI_LEFT_UNSET || !ni_has_prefix(s->name, "NCCL_"))
            continue;
        ni_putf(out, " %s=", s->name);
        ni_put_quoted(out, s->value, strlen(s->value),
                      s->origin == NI_FROM_RULE ? NI_VALUE : SHOWN);
        ni_put(out, origins[s->origin].mark);
    }
}

static void put_heading(struct ni_text *out, const char *title, const struct ni_view *view)
{
    ni_putf(out, "%s: ", title);
    put_transport(out, view);
    ni_put(out, "; ");
    ni_put_origin(out, view);
    if (view->plan->refuse) {
        char line[sizeof(view->plan->refuse_why) + 64];
        ni_format(line, sizeof(line), "The command would not be started: %s",
                  view->plan->refuse_why);
        ni_put_tinted(out, view->colour, NI_RED, line);
        ni_put(out, "\n");
    }
}

/* ---- HCAs: a line for each port ---- */

static const char *const gid_type[] = {
    [NI_GID_UNREAD] = "unread", [NI_GID_V1] = "v1", [NI_GID_V2] = "v2"};

/* How many HCAs are shown to people: those that were given, which come first, and the others unless
   they are many beside them. */
static unsigned shown_hcas(const struct ni_inventory *inv)
{
    enum { FEW = 8 };
    const unsigned given = ni_given_hcas(inv);
    return given > 0 && inv->n_hca - given > FEW ? given : inv->n_hca;
}

static void put_ports(struct ni_text *out, struct ni_text *table, const struct ni_view *view)
{
    const unsigned n = view->inv->n_hca - shown_hcas(view->inv);
    ni_put(out, "\nHCAs\n");
    ni_table_write(out, table, view->colour);
    if (n > 0)
        ni_putf(out, "  and %u others that are not the pod's: see --json\n", n);
}

/* Begins a row with the port's name, "mlx5_6/1". at: the port in the inventory; -1: sysfs shows none. */
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

/* The interface of the port's GID, which for a macvlan or VLAN is not the function's own; else that. */
static void put_netdev(struct ni_text *t, const struct ni_view *view, const struct ni_hca *hca,
                       int at)
{
    const struct ni_gid *gid = at < 0 ? NULL : gid_of(view, at);
    const struct ni_netdev *dev = gid ? ni_find_netdev(view->inv, gid->ndev) : NULL;
    if (!dev && hca->netdev >= 0)
        dev = &view->inv->netdev[hca->netdev];
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
    const struct ni_gid *gid = at < 0 ? NULL : gid_of(view, at);
    const char *state = ni_port_state_text(port->state);
    struct ni_text *t = port_row(table, view, hca, at);
    put_address(ni_cell(t), hca);
    put_bdf(ni_cell(t), parent_of(hca));
    ni_cell(t);
    if (state)
        ni_put(t, state);
    else
        put_num(t, port->state);
    ni_put(ni_cell(t), at < 0 ? "" : ni_link_words[port->link].text);
    ni_cell(t);
    if (port->mbps.known == NI_KNOWN) /* sysfs has one decimal at most: "400G", "2.5G" */
        ni_putf(t, "%gG", (double)port->mbps.v / 1000);
    else
        put_num(t, port->mbps);
    put_num(ni_cell(t), hca->pci.numa);
    put_netdev(ni_cell(t), view, hca, at);
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
    static const struct ni_port_plan none;
    const struct ni_port_plan *plan = at < 0 ? &none : &view->plan->port[at];
    struct ni_text *t = port_row(table, view, hca, at);
    ni_put(ni_cell(t), !plan->rule ? "not used" : plan->chosen ? "chosen" : "left out");
    ni_put(ni_cell(t), plan->rule ? plan->rule : "");
    ni_quote(ni_cell(t), plan->rule ? plan->why
                         : at < 0   ? "sysfs shows no port"
                                    : "nothing was decided");
}

/* What each is, and what became of those that are the pod's or chosen; of the others there is only
   one thing to say. */
static void put_hcas(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_inventory *inv = view->inv;
    const unsigned given = ni_given_hcas(inv), others = inv->n_hca - given;
    if (inv->n_hca == 0) {
        ni_put(out, "\nNo HCA was found.\n");
        return;
    }
    struct ni_text ports =
        ni_table_on("PORT\tADDRESS\tVF/SF OF\tSTATE\tLINK\tRATE\tNUMA\tNETDEV\tGID");
    struct ni_text verdicts = ni_table_on("PORT\tUSE\tRULE\tWHY");
    for (unsigned i = 0; i < shown_hcas(inv); i++) {
        const struct ni_hca *hca = &inv->hca[i];
        for (unsigned p = 0; p == 0 || p < hca->n_port; p++) {
            const int at = hca->n_port == 0 ? -1 : hca->first_port + (int)p;
            put_port(&ports, view, hca, at);
            if (i < given)
                put_verdict(&verdicts, view, hca, at);
        }
    }
    if (others > 0)
        ni_putf(ni_row(&verdicts, NI_DIM), "%u other%s\tnot used\t\tnot the pod's", others,
                ni_plural(others));
    put_ports(out, &ports, view);
    ni_put(out, "\nChosen or left out\n");
    ni_table_write(out, &verdicts, view->colour);
}

/* What each source names; the first of them decides. */
static void put_sources(struct ni_text *out, const struct ni_inventory *inv)
{
    if (inv->n_claim > 0)
        ni_put(out, "\nSources\n");
    for (unsigned s = NI_SRC_NONE; s <= NI_SRC_HOST; s++) {
        struct ni_text t = ni_long_text();
        for (unsigned i = 0; i < inv->n_claim; i++) {
            const struct ni_claim *c = &inv->claim[i];
            if (c->source == s)
                ni_putf(&t, "%s%s%s", t.len > 0 ? ", " : "",
                        c->hca < 0 ? c->id : inv->hca[c->hca].name,
                        c->hca < 0 ? " (not used)" : "");
        }
        ni_put_item(out, ni_source_words[s].json, t.buf);
        ni_free_text(&t);
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
    struct ni_text table =
                       ni_table_on("GPU\tADDRESS\tDEVICE\tNUMA\tNEAREST HCA\tTO USE\tCPUS NEAR"),
                   *t = &table;
    for (unsigned i = 0; i < inv->n_gpu; i++) {
        const struct ni_gpu *gpu = &inv->gpu[i];
        const struct ni_near *near = &view->plan->nearest_hca[i];
        ni_putf(ni_row(t, NI_PLAIN), "GPU%u", i);
        put_bdf(ni_cell(t), &gpu->bdf);
        ni_put(ni_cell(t), gpu->amd ? "AMD" : "");
        if (!gpu->amd && gpu->minor >= 0)
            ni_putf(t, "/dev/nvidia%d", gpu->minor);
        put_num(ni_cell(t), gpu->pci.numa);
        ni_cell(t);
        if (near->index >= 0) {
            ni_quote(t, inv->hca[near->index].name);
            ni_putf(t, " %s", ni_distance_text(near->distance));
        }
        ni_cell(t);
        for (unsigned k = 0, n = 0; k < view->plan->n_chosen; k++) {
            const struct ni_port *port = &inv->port[view->plan->chosen[k]];
            if ((view->plan->gpu_ports[i] >> k & 1) == 0)
                continue;
            ni_put(t, n++ > 0 ? ", " : "");
            ni_quote(t, inv->hca[port->hca].name);
            ni_putf(t, "/%u", port->num);
        }
        ni_put(ni_cell(t), gpu->cpus); /* to pin a rank to */
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
            ni_quote(ni_row(t, gid == gid_of(view, (int)p) ? NI_GREEN : NI_PLAIN),
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
static void put_set(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_plan *plan = view->plan;
    bool any = false;

    for (unsigned i = 0; i < plan->n_setting; i++) {
        const struct ni_setting *s = &plan->setting[i];
        char line[NI_VALUE + NI_DEV_NAME], why[NI_REASON + 256];

        if (s->origin == NI_LEFT_UNSET)
            continue;
        ni_put(out, any ? "" : "\nSettings\n");
        any = true;
        ni_format(line, sizeof(line), "%s=%s", s->name, s->value);
        const char *whose = s->origin == NI_FROM_USER ? "user's environment" : s->file;
        ni_format(why, sizeof(why), "%s%srule %s%s%s", whose, whose[0] ? ", " : "", s->rule,
                  s->reason[0] ? ": " : "", s->reason);
        ni_put(out, "  ");
        ni_put_tinted(out, view->colour, origins[s->origin].tint, line);
        ni_put(out, "\n");
        ni_put_below(out, why);
    }
}

/* Both stay unset for one reason, and with one consequence. */
static bool are_unset_alike(const struct ni_setting *a, const struct ni_setting *b)
{
    const bool alike = a->by_itself == b->by_itself ||
                       (a->by_itself && b->by_itself && strcmp(a->by_itself, b->by_itself) == 0);

    return b->origin == NI_LEFT_UNSET && alike && strcmp(a->reason, b->reason) == 0;
}

/* One more name of a list whose last line is so wide. */
static void put_name(struct ni_text *out, size_t *width, const char *name)
{
    enum { COLUMNS = 100 };
    const size_t n = strlen(", ") + strlen(name);

    if (*width == 0 || *width + n > COLUMNS) {
        ni_put(out, *width == 0 ? "  " : ",\n  ");
        *width = 0;
    } else {
        ni_put(out, ", ");
    }
    ni_put(out, name);
    *width += n;
}

/* An entry for the setting and those behind it that stay unset like it; none if one before it has named
   it. */
static void put_unset_entry(struct ni_text *out, const struct ni_plan *plan, unsigned at)
{
    const struct ni_setting *s = &plan->setting[at];
    struct ni_text why = NI_TEXT(NI_REASON + 512);
    size_t width = 0;
    bool one_rule = true;

    for (unsigned i = 0; i < at; i++) {
        if (are_unset_alike(s, &plan->setting[i]))
            return;
    }
    for (unsigned i = at; i < plan->n_setting; i++) {
        const struct ni_setting *other = &plan->setting[i];

        if (!are_unset_alike(s, other))
            continue;
        put_name(out, &width, other->name);
        one_rule = one_rule && strcmp(s->rule, other->rule) == 0;
    }
    if (one_rule)
        ni_putf(&why, "rule %s: ", s->rule);
    ni_put(&why, s->reason);
    if (s->by_itself)
        ni_putf(&why, "; NCCL then %s", s->by_itself);
    ni_put(out, "\n");
    ni_put_below(out, why.buf);
}

static void put_left_unset(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_plan *plan = view->plan;
    bool any = false;

    for (unsigned i = 0; i < plan->n_setting; i++) {
        if (plan->setting[i].origin != NI_LEFT_UNSET)
            continue;
        ni_put(out, any ? "" : "\nLeft unset\n");
        any = true;
        put_unset_entry(out, plan, i);
    }
}

/* The limit that `to` raises the limit `now` to; absent where it stays. */
static struct ni_num raised(struct ni_num now, int64_t to)
{
    const int64_t from = now.known == NI_KNOWN ? now.v : 0;

    if (to > from)
        return (struct ni_num){to, NI_KNOWN};
    return (struct ni_num){.known = NI_ABSENT};
}

static void put_limit(struct ni_text *out, const char *which, struct ni_num now, int64_t to)
{
    const struct ni_num more = raised(now, to);

    ni_put(out, which);
    if (now.known == NI_KNOWN)
        ni_put_bytes(out, now.v);
    else
        put_num(out, now);
    if (more.known == NI_KNOWN) {
        ni_put(out, ", raised to ");
        ni_put_bytes(out, more.v);
    }
}

void ni_put_plan(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_limit *limit = &view->plan->memlock;
    const struct ni_self *self = &view->inv->self;
    put_heading(out, "Plan", view);
    put_hcas(out, view);
    put_sources(out, view->inv);
    put_gpus(out, view);
    put_gids(out, view);
    put_set(out, view);
    put_left_unset(out, view);
    put_limit(out, "\nLocked memory: soft limit ", self->memlock_soft, limit->soft);
    put_limit(out, "; hard limit ", self->memlock_hard, limit->hard);
    if (limit->harmless)
        ni_put(out, "; harmless: the command will have CAP_IPC_LOCK");
    ni_put(out, "\n");
    ni_put_findings(out, view, NI_INFO);
    if (view->findings->n == 0)
        ni_put(out, "\nNo findings. `nccl-init doctor` checks the node.\n");
}

/* ---- topo: how far each port is from each GPU ---- */

/* As `nvidia-smi topo -m` calls the pair: NCCL's word, but NODE where a PHB leads over two host
   bridges; "-": unknown. */
static const char *pair_word(const struct ni_view *view, unsigned gpu, int hca)
{
    const struct ni_pci *a = &view->inv->gpu[gpu].pci;
    const struct ni_pci *b = &view->inv->hca[hca].pci;
    enum ni_distance d = view->plan->distance[gpu][hca];
    if (d == NI_DIST_PHB && (a->root_domain != b->root_domain || a->root_bus != b->root_bus))
        return "NODE";
    return ni_distance_text(d);
}

static void put_matrix(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_inventory *inv = view->inv;
    struct ni_text table = ni_table_on("PORT\tADDRESS\tNUMA\tNETDEV\tCHOSEN");
    for (unsigned g = 0; g < inv->n_gpu; g++)
        ni_putf(ni_cell(&table), "GPU%u", g);
    for (unsigned i = 0; i < shown_hcas(inv); i++) {
        const struct ni_hca *hca = &inv->hca[i];
        for (unsigned p = 0; p == 0 || p < hca->n_port; p++) {
            const int at = hca->n_port == 0 ? -1 : hca->first_port + (int)p;
            const bool chosen = at >= 0 && view->plan->port[at].chosen;
            struct ni_text *t = port_row(&table, view, hca, at);
            put_address(ni_cell(t), hca);
            put_num(ni_cell(t), hca->pci.numa);
            put_netdev(ni_cell(t), view, hca, at);
            ni_put(ni_cell(t), chosen ? "yes" : "no");
            for (unsigned g = 0; g < inv->n_gpu; g++) {
                /* several can be the nearest, as NCCL counts */
                const struct ni_near *near = &view->plan->nearest_hca[g];
                const bool nearest =
                    chosen && near->index >= 0 && view->plan->distance[g][i] == near->distance;
                ni_putf(ni_cell(t), "%s%s", pair_word(view, g, (int)i), nearest ? "*" : "");
            }
        }
    }
    put_ports(out, &table, view);
    if (inv->n_gpu > 0)
        ni_put(out, "\n"
                    "  PIX   through one PCIe switch at most\n"
                    "  PXB   through several PCIe switches, not through the CPU\n"
                    "  PHB   through the CPU's host bridge\n"
                    "  NODE  through two host bridges of one NUMA node; NCCL counts it as PHB\n"
                    "  SYS   from one NUMA node to another\n"
                    "  -     not known: sysfs does not show where one of the two is\n"
                    "  *     none of the chosen HCAs is nearer to this GPU, as NCCL counts\n");
}

void ni_put_topo(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_inventory *inv = view->inv;
    put_heading(out, "Topology", view);
    put_gpus(out, view);
    if (inv->n_hca == 0)
        return;
    put_matrix(out, view);
    for (unsigned i = 0; i < inv->n_gpu; i++) {
        if (inv->gpu[i].pci.known == NI_KNOWN && inv->gpu[i].pci.depth == 1) {
            ni_putf(
                out,
                "\nGPU%u is on the root bus: the PCI tree is flattened, as in a virtual machine, "
                "and distances mean nothing.\n",
                i);
            break;
        }
    }
}

/* ---- the picture: the PCI tree from the host bridges down to GPUs and HCAs, one box for each NUMA
   node. Each GPU and HCA is written with its whole way up: in a strict graph, what is there twice
   is drawn once. Names of GPUs and HCAs are made here, so that only labels carry what was read ----
   */

/* A GPU or an HCA: its name, which is untrusted, and address; then the way to it, as
   "pci0000:00" -- "0000:00:01.1" -- gpu0, in the box of its NUMA node. */
static void put_leaf(struct ni_text *out, const char *leaf, const char *name,
                     const struct ni_bdf *bdf, const char *style, const struct ni_pci *pci)
{
    const bool box = pci->numa.known == NI_KNOWN && pci->numa.v >= 0;
    struct ni_text t = NI_TEXT(512);
    ni_quote(&t, name);
    ni_putf(out, "  %s [label=\"", leaf);
    for (const char *c = t.buf; *c; c++) {
        if (*c == '"' || *c == '\\')
            ni_put(out, "\\");
        ni_putn(out, c, 1);
    }
    ni_put(out, bdf ? "\\n" : "");
    put_bdf(out, bdf);
    ni_putf(out, "\", %s];\n", style);
    if (pci->known != NI_KNOWN || pci->depth == 0)
        return;
    ni_put(out, "  ");
    if (box)
        ni_putf(out, "subgraph cluster%lld { label=\"NUMA node %lld\"; ", (long long)pci->numa.v,
                (long long)pci->numa.v);
    ni_putf(out, "\"pci%04x:%02x\" -- ", (unsigned)pci->root_domain, (unsigned)pci->root_bus);
    for (unsigned i = 0; i + 1U < pci->depth; i++) {
        ni_put(out, "\"");
        put_bdf(out, &pci->at[i]);
        ni_put(out, "\" -- ");
    }
    ni_putf(out, "%s;%s\n", leaf, box ? " }" : "");
}

void ni_put_topo_dot(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_inventory *inv = view->inv;
    char leaf[16], name[16];
    ni_put(out,
           "strict graph topo {\n"
           "  label=\"filled: the pod's; dashed: other HCAs; dotted: the nearest chosen HCA\";\n"
           "  labelloc=b; fontname=\"sans-serif\"; fontsize=10; nodesep=0.2; ranksep=0.3;\n"
           "  node [shape=box, fontname=\"sans-serif\", fontsize=10];\n"
           "  edge [fontname=\"sans-serif\", fontsize=9];\n");
    for (unsigned i = 0; i < inv->n_gpu; i++) {
        const struct ni_gpu *gpu = &inv->gpu[i];
        ni_format(leaf, sizeof(leaf), "gpu%u", i);
        ni_format(name, sizeof(name), "GPU%u", i);
        put_leaf(out, leaf, name, &gpu->bdf, "style=filled, fillcolor=\"#d5e8c8\"", &gpu->pci);
    }
    for (unsigned i = 0; i < shown_hcas(inv); i++) {
        const struct ni_hca *hca = &inv->hca[i];
        ni_format(leaf, sizeof(leaf), "hca%u", i);
        put_leaf(out, leaf, hca->name, own_bdf(hca),
                 ni_is_given(hca) ? "style=filled, fillcolor=\"#cfe0f5\""
                                  : "style=dashed, fontcolor=\"#606060\"",
                 &hca->pci);
    }
    for (unsigned g = 0; g < inv->n_gpu; g++) {
        const struct ni_near *near = &view->plan->nearest_hca[g];
        if (near->index >= 0)
            ni_putf(out,
                    "  gpu%u -- hca%d [style=dotted, penwidth=2, color=\"#c04000\", "
                    "fontcolor=\"#c04000\", constraint=false, label=\"%s\"];\n",
                    g, near->index, pair_word(view, g, near->index));
    }
    ni_put(out, "}\n");
}

/* ---- JSON: a member is never renamed or given another meaning without a new NI_JSON_SCHEMA; new
   ones may come ---- */

static void claim_json(struct ni_json *j, const struct ni_view *view, unsigned i)
{
    const struct ni_claim *c = &view->inv->claim[i];
    ni_json_text(j, "id", c->id);
    ni_json_text(j, "from", c->from);
    ni_json_text(j, "source", ni_source_words[c->source].json);
    ni_json_text(j, "hca", c->hca < 0 ? NULL : view->inv->hca[c->hca].name);
}

static void port_json(struct ni_json *j, const struct ni_view *view, unsigned i)
{
    const struct ni_port *port = &view->inv->port[i];
    const struct ni_port_plan *plan = &view->plan->port[i];
    const struct ni_gid *gid = gid_of(view, (int)i);
    char ip[NI_IP_TEXT];
    ni_json_int(j, "port", port->num);
    ni_json_text(j, "state", ni_port_state_text(port->state));
    ni_json_text(j, "link", ni_link_words[port->link].json);
    ni_json_num(j, "mbps", port->mbps);
    if (gid) {
        ni_json_object(j, "gid");
        ni_json_int(j, "index", gid->index);
        ni_json_text(j, "address", ni_ip_text(gid->ip, ip));
        ni_json_text(j, "type", gid->type == NI_GID_UNREAD ? NULL : gid_type[gid->type]);
        ni_json_text_or_null(j, "netdev", gid->ndev);
        ni_json_end(j);
    } else {
        ni_json_text(j, "gid", NULL);
    }
    ni_json_int_or_null(j, "nccl_index", plan->nccl_index >= 0, plan->nccl_index);
    ni_json_bool(j, "kept", plan->chosen);
    ni_json_text(j, "rule", plan->rule);
    ni_json_text_or_null(j, "why", plan->why);
}

static void hca_json(struct ni_json *j, const struct ni_view *view, unsigned i)
{
    const struct ni_hca *hca = &view->inv->hca[i];
    const struct ni_netdev *own = hca->netdev < 0 ? NULL : &view->inv->netdev[hca->netdev];
    ni_json_text(j, "name", hca->name);
    ni_json_bdf(j, "pci", own_bdf(hca));
    ni_json_text_or_null(j, "auxiliary", hca->aux);
    ni_json_bdf(j, "parent", parent_of(hca));
    ni_json_num(j, "numa", hca->pci.numa);
    ni_json_text(j, "claimed_by", hca->claim < 0 ? NULL : view->inv->claim[hca->claim].from);
    ni_json_text(j, "netdev", own ? own->name : NULL);
    if (view->inv->for_doctor) {
        ni_json_text_or_null(j, "type", hca->type);
        ni_json_text_or_null(j, "firmware", hca->fw);
        ni_json_num(j, "mtu", own ? own->mtu : (struct ni_num){0, NI_UNSET});
        ni_json_text_or_null(j, "iommu", hca->iommu.type);
    }
    ni_json_list(j, "ports", view, hca->first_port, hca->n_port, port_json);
}

void ni_json_gpu(struct ni_json *j, const struct ni_view *view, unsigned at)
{
    const struct ni_gpu *gpu = &view->inv->gpu[at];
    ni_json_int(j, "gpu", at);
    ni_json_bdf(j, "pci", &gpu->bdf);
    ni_json_int_or_null(j, "minor", gpu->minor >= 0, gpu->minor);
    ni_json_text(j, "vendor", gpu->amd ? "amd" : "nvidia");
    ni_json_num(j, "numa", gpu->pci.numa);
    ni_json_text_or_null(j, "cpus", gpu->cpus);
    ni_json_array(j, "use");
    for (unsigned i = 0; i < view->plan->n_chosen; i++) {
        const struct ni_port *port = &view->inv->port[view->plan->chosen[i]];
        const struct ni_hca *hca = &view->inv->hca[port->hca];
        if (!(view->plan->gpu_ports[at] >> i & 1))
            continue;
        ni_json_object(j, NULL);
        ni_json_text(j, "hca", hca->name);
        ni_json_int(j, "port", port->num);
        ni_json_bdf(j, "pci", own_bdf(hca));
        ni_json_end(j);
    }
    ni_json_end(j);
}

static void gpu_json(struct ni_json *j, const struct ni_view *view, unsigned i)
{
    const struct ni_near *near = &view->plan->nearest_hca[i];
    ni_json_gpu(j, view, i);
    ni_json_array(j, "distances");
    for (unsigned h = 0; h < view->inv->n_hca; h++) {
        const enum ni_distance d = view->plan->distance[i][h];
        ni_json_object(j, NULL);
        ni_json_text(j, "hca", view->inv->hca[h].name);
        ni_json_text(j, "distance", d == NI_DIST_UNKNOWN ? NULL : ni_distance_text(d));
        ni_json_end(j);
    }
    ni_json_end(j);
    if (near->index < 0) {
        ni_json_text(j, "nearest_hca", NULL);
        return;
    }
    ni_json_object(j, "nearest_hca");
    ni_json_text(j, "hca", view->inv->hca[near->index].name);
    ni_json_text(j, "distance", ni_distance_text(near->distance));
    ni_json_end(j);
}

void ni_json_devices(struct ni_json *j, const struct ni_view *view, unsigned n_hca)
{
    ni_json_list(j, "hcas", view, 0, n_hca, hca_json);
    ni_json_list(j, "gpus", view, 0, view->inv->n_gpu, gpu_json);
}

static void setting_json(struct ni_json *j, const struct ni_view *view, unsigned i)
{
    const struct ni_setting *s = &view->plan->setting[i];
    ni_json_text(j, "name", s->name);
    ni_json_text(j, "value", s->origin == NI_LEFT_UNSET ? NULL : s->value);
    ni_json_text(j, "origin", origins[s->origin].json);
    ni_json_text_or_null(j, "rule", s->rule);
    ni_json_text_or_null(j, "file", s->origin == NI_FROM_CONF ? s->file : NULL);
    ni_json_text_or_null(j, "reason", s->reason);
    ni_json_text_or_null(j, "by_itself", s->by_itself);
}

/* The limits of before, and those that `run` raises them to. */
static void memlock_json(struct ni_json *j, const struct ni_view *view)
{
    const struct ni_limit *to = &view->plan->memlock;
    const struct ni_self *self = &view->inv->self;
    ni_json_object(j, "memlock");
    ni_json_bytes(j, "soft", self->memlock_soft);
    ni_json_bytes(j, "hard", self->memlock_hard);
    ni_json_bytes(j, "soft_raised_to", raised(self->memlock_soft, to->soft));
    ni_json_bytes(j, "hard_raised_to", raised(self->memlock_hard, to->hard));
    ni_json_bool(j, "harmless", to->harmless);
    ni_json_end(j);
}

void ni_put_plan_json(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_inventory *inv = view->inv;
    const struct ni_plan *plan = view->plan;
    struct ni_json json = ni_json_report(out), *j = &json;
    ni_json_text(j, "root", view->root);
    ni_json_text(j, "transport", transports[plan->transport].json);
    ni_json_text(j, "link", ni_link_words[plan_link(view)].json);
    ni_json_text(j, "source", ni_source_words[inv->source].json);
    ni_json_text(j, "refuse", plan->refuse ? plan->refuse_why : NULL);
    ni_json_list(j, "claims", view, 0, inv->n_claim, claim_json);
    ni_json_devices(j, view, inv->n_hca);
    ni_json_list(j, "settings", view, 0, plan->n_setting, setting_json);
    memlock_json(j, view);
    ni_json_findings(j, view->findings);
    ni_json_end(j);
}
