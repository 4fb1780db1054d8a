/* SPDX-License-Identifier: Apache-2.0 */
/* The report of plan: the verdict, findings, settings with their reasons, the pod's HCAs and their
   use, GPUs. A value or a reason is never cut. */
#include "plan/report.h"

#include <inttypes.h>
#include <string.h>

#include "findings/device.h"
#include "nccl_init/allocation.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/gpu.h"
#include "nccl_init/inventory.h"
#include "nccl_init/ip.h"
#include "nccl_init/known.h"
#include "nccl_init/net.h"
#include "nccl_init/number.h"
#include "nccl_init/pci.h"
#include "nccl_init/plan.h"
#include "nccl_init/process.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "print/devices.h"
#include "print/findings.h"
#include "print/image.h"
#include "print/layout.h"
#include "print/words.h"

/* ---- addresses and numbers ---- */

void ni_put_num(struct ni_text *t, struct ni_num n)
{
    if (n.known == NI_KNOWN)
        ni_putf(t, "%" PRId64, n.v);
    else
        ni_put(t, n.known == NI_UNSET ? "-" : ni_known_text(n.known));
}

void ni_put_bdf(struct ni_text *t, const struct ni_bdf *bdf)
{
    char buf[NI_BDF_TEXT];

    if (bdf)
        ni_put(t, ni_bdf_text(*bdf, buf));
}

void ni_put_hca_address(struct ni_text *t, const struct ni_hca *hca)
{
    if (hca->aux[0])
        ni_quote(t, hca->aux);
    else
        ni_put_bdf(t, hca->has_bdf ? &hca->bdf : NULL);
}

/* ---- the first line, and the summary of `run` ---- */

const struct ni_words ni_transport_words[] = {
    [NI_NET_OFF] = {"off", "nothing is decided (mode off)"},
    [NI_NET_RDMA] = {"rdma", "RDMA, but this pod has no usable port"},
    [NI_NET_TCP] = {"tcp", "TCP sockets, no RDMA"},
    [NI_NET_OTHER] = {"other", "another network plugin, left alone"},
};

const struct ni_origin_words ni_origin_words[] = {
    [NI_FROM_RULE] = {"rule", "", NI_GREEN},
    [NI_FROM_USER] = {"user", " (user)", NI_YELLOW},
    [NI_FROM_CONF] = {"conf", " (nccl.conf)", NI_YELLOW},
    [NI_LEFT_UNSET] = {"unset", "", NI_PLAIN},
};

enum ni_link ni_plan_link(const struct ni_view *view)
{
    const struct ni_plan *plan = view->plan;

    return plan->n_chosen > 0 ? view->inv->port[plan->chosen[0]].link : NI_LINK_UNKNOWN;
}

/* "RDMA over RoCE, 4 ports" */
void ni_put_transport(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_plan *plan = view->plan;

    if (plan->transport == NI_NET_RDMA && plan->n_chosen > 0)
        ni_putf(out, "RDMA over %s, %u port%s", ni_link_words[ni_plan_link(view)].text,
                plan->n_chosen, ni_plural(plan->n_chosen));
    else
        ni_put(out, ni_transport_words[plan->transport].text);
}

/* The settings come last, because a line that is too long loses its end, and `plan` shows them,
   too. Settings of other libraries are left out: they follow from NCCL's. */
void ni_put_summary(struct ni_text *out, const struct ni_view *view, const int64_t *memlock)
{
    enum { SHOWN = 200 }; /* of a value that somebody else set */

    ni_put(out, "auto-detected ");
    ni_put_transport(out, view);
    ni_putf(out, "; %s;", ni_source_words[view->inv->source].text);
    if (memlock) {
        ni_put(out, " memlock ");
        if (*memlock < 0)
            ni_put(out, "unknown");
        else
            ni_put_bytes(out, *memlock);
        ni_put(out, view->plan->memlock.harmless ? " (harmless: CAP_IPC_LOCK);" : ";");
    }
    for (unsigned i = 0; i < view->plan->n_setting; i++) {
        const struct ni_setting *s = &view->plan->setting[i];

        if (s->origin == NI_LEFT_UNSET || !ni_has_prefix(s->name, "NCCL_"))
            continue;
        ni_putf(out, " %s=", s->name);
        ni_put_quoted(out, s->value, strlen(s->value),
                      s->origin == NI_FROM_RULE ? NI_VALUE : SHOWN);
        ni_put(out, ni_origin_words[s->origin].mark);
    }
}

void ni_put_plan_heading(struct ni_text *out, const char *title, const struct ni_view *view)
{
    struct ni_text whole = ni_long_text();

    ni_putf(&whole, "%s: ", title);
    ni_put_transport(&whole, view);
    ni_put(&whole, "; ");
    ni_put_origin(&whole, view);
    ni_put_line(out, whole.buf);
    ni_free_text(&whole);
    if (view->plan->refuse) {
        char line[sizeof(view->plan->refuse_why) + 64];

        ni_format(line, sizeof(line), "The command would not be started: %s",
                  view->plan->refuse_why);
        ni_put_tinted(out, view->colour, NI_RED, line);
        ni_put(out, "\n");
    }
}

/* ---- HCAs: a line for each port ---- */

void ni_put_port_table(struct ni_text *out, struct ni_text *table, const struct ni_view *view)
{
    const unsigned others = view->inv->n_hca - ni_allocated_hcas(view->inv);
    const bool shown = ni_count_shown_hcas(view) == view->inv->n_hca;

    ni_put(out, "\nHCAs\n");
    ni_table_write(out, table, view->colour);
    if (others == 0)
        return;
    if (others == view->inv->n_hca)
        ni_put(out, "  None is the pod's: not used\n");
    else if (shown)
        ni_putf(out, "  The last %u %s not the pod's: not used\n", others,
                others == 1 ? "is" : "are");
    else if (others == 1)
        ni_put(out, "  1 other HCA is not the pod's and not used: --all shows it\n");
    else
        ni_putf(out, "  %u other HCAs are not the pod's and not used: --all shows them\n", others);
}

struct ni_text *ni_begin_port_row(struct ni_text *table, const struct ni_view *view,
                                  const struct ni_hca *hca, int at)
{
    bool chosen = at >= 0 && view->plan->port[at].chosen;
    struct ni_text *t = ni_row(table, chosen ? NI_GREEN : NI_DIM);

    ni_quote(t, hca->name);
    if (at >= 0)
        ni_putf(t, "/%u", view->inv->port[at].num);
    return t;
}

void ni_put_port_netdev(struct ni_text *t, const struct ni_view *view, const struct ni_hca *hca,
                        int at)
{
    const struct ni_gid *gid = at < 0 ? NULL : ni_port_gid_used(view, at);
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

/* Puts the row of one port: what sysfs shows, and its GID. at: -1 for an HCA without ports. */
static void put_port(struct ni_text *table, const struct ni_view *view, const struct ni_hca *hca,
                     int at)
{
    static const struct ni_port none;
    const struct ni_port *port = at < 0 ? &none : &view->inv->port[at];
    const struct ni_gid *gid = at < 0 ? NULL : ni_port_gid_used(view, at);
    const char *state = ni_port_state_text(port->state);
    struct ni_text *t = ni_begin_port_row(table, view, hca, at);

    ni_put_hca_address(ni_cell(t), hca);
    ni_put_bdf(ni_cell(t), ni_parent_bdf(hca));
    ni_cell(t);
    if (state)
        ni_put(t, state);
    else
        ni_put_num(t, port->state);
    ni_put(ni_cell(t), at < 0 ? "" : ni_link_words[port->link].text);
    ni_cell(t);
    if (port->mbps.known == NI_KNOWN) /* sysfs has one decimal at most: "400G", "2.5G" */
        ni_putf(t, "%gG", (double)port->mbps.v / 1000);
    else
        ni_put_num(t, port->mbps);
    ni_put_num(ni_cell(t), hca->pci.numa);
    ni_put_port_netdev(ni_cell(t), view, hca, at);
    ni_cell(t);
    if (gid) {
        const int nccl = view->plan->port[at].nccl_index;
        char ip[NI_IP_TEXT];

        ni_putf(t, "%u %s (%s)", (unsigned)gid->index, ni_ip_text(gid->ip, ip),
                ni_gid_type_words[gid->type]);
        if (nccl >= 0 && nccl != gid->index)
            ni_putf(t, ", but NCCL takes %d", nccl);
    }
}

static void put_port_verdict(struct ni_text *table, const struct ni_view *view,
                             const struct ni_hca *hca, int at)
{
    static const struct ni_port_plan none;
    const struct ni_port_plan *plan = at < 0 ? &none : &view->plan->port[at];
    struct ni_text *t = ni_begin_port_row(table, view, hca, at);

    if (!plan->rule) {
        ni_put(ni_cell(t), "not used");
        ni_put(ni_cell(t), "");
        ni_put(ni_cell(t), at < 0 ? "sysfs shows no port" : "nothing was decided");
        return;
    }
    ni_put(ni_cell(t), plan->chosen ? "chosen" : "left out");
    ni_put(ni_cell(t), plan->rule);
    ni_quote(ni_cell(t), plan->why);
}

/* Puts each HCA, and the use of those that are the pod's. */
static void put_hca_tables(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_inventory *inv = view->inv;
    const unsigned given = ni_allocated_hcas(inv);

    if (inv->n_hca == 0) {
        ni_put(out, "\nNo HCA was found.\n");
        return;
    }
    struct ni_text ports =
        ni_table_on("PORT\tADDRESS\tVF/SF OF\tSTATE\tLINK\tRATE\tNUMA\tNETDEV\tGID");
    struct ni_text verdicts = ni_table_on("PORT\tUSE\tRULE\tWHY");
    for (unsigned i = 0; i < ni_count_shown_hcas(view); i++) {
        const struct ni_hca *hca = &inv->hca[i];

        for (unsigned p = 0; p == 0 || p < hca->n_port; p++) {
            const int at = hca->n_port == 0 ? -1 : hca->first_port + (int)p;

            put_port(&ports, view, hca, at);
            if (i < given)
                put_port_verdict(&verdicts, view, hca, at);
        }
    }
    ni_put_port_table(out, &ports, view);
    if (given == 0) {
        ni_free_text(&verdicts);
        return;
    }
    ni_put(out, "\nChosen or left out\n");
    ni_table_write(out, &verdicts, view->colour);
}

/* Puts the HCAs that each source names; the first source decides. */
static void put_sources(struct ni_text *out, const struct ni_inventory *inv)
{
    if (inv->n_allocation > 0)
        ni_put(out, "\nSources\n");
    for (unsigned s = NI_SRC_NONE; s < NI_N_SOURCE; s++) {
        struct ni_text t = ni_long_text();

        for (unsigned i = 0; i < inv->n_allocation; i++) {
            const struct ni_allocation *c = &inv->allocation[i];

            if (c->source != s)
                continue;
            ni_put(&t, t.len > 0 ? ", " : "");
            if (c->hca < 0)
                ni_putf(&t, "%s (not used)", c->id);
            else
                ni_put(&t, inv->hca[c->hca].name);
        }
        ni_put_item(out, ni_source_words[s].json, t.buf);
        ni_free_text(&t);
    }
}

/* ---- GPUs, GIDs ---- */

/* Returns why the node's drivers give no way, or that it is not known. */
static const char *no_gdr_way(const struct ni_inventory *inv)
{
    static const char unread[] = "not known: the modules that are loaded cannot be read";

    if (inv->gdr.gb10)
        return "none: CPU and GPU share one memory";
    if (inv->gdr.peermem != NI_ABSENT)
        return unread;
    if (inv->gdr.open_driver == NI_ABSENT)
        return "no way: neither the open GPU kernel modules nor a peer memory module is loaded";
    if (inv->gdr.open_driver != NI_KNOWN)
        return unread;
    if (inv->self.kernel_major == 0)
        return "not known: the kernel's version cannot be read, and DMA-BUF needs 5.12";
    return "no way: DMA-BUF needs kernel 5.12, and no peer memory module is loaded";
}

/* Puts by which way GPUDirect RDMA goes, as far as the node's drivers decide; what a user switched off
   is a finding. */
static void put_gdr_line(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_inventory *inv = view->inv;
    const bool peermem = inv->gdr.peermem == NI_KNOWN;
    const bool dmabuf = ni_has_dmabuf(inv) || (inv->gpu[0].amd && inv->gdr.peermem == NI_ABSENT);
    struct ni_text t = NI_TEXT(256);

    if (ni_findings_has(view->findings, NI_F_GDR_DMABUF_OFF))
        ni_put(&t, "no way: DMA-BUF is switched off (gdr.dmabuf.off)");
    else if (inv->gdr.gb10 || !(dmabuf || peermem))
        ni_put(&t, no_gdr_way(inv));
    else
        ni_putf(&t, "by %s%s", dmabuf ? "DMA-BUF" : "the peer memory module",
                dmabuf && peermem ? ", or else by the peer memory module" : "");
    if (ni_findings_has(view->findings, NI_F_GDR_DMABUF_RCCL))
        ni_put(&t, ", which may not work here (gdr.dmabuf.rccl)");
    ni_put(&t, inv->gdr.c2c ? "; GPUs and CPUs are linked by NVLink-C2C" : "");
    ni_put_item(out, "GPUDirect RDMA", t.buf);
}

/* Puts the NIC that NCCL takes for a GPU, one of several alike, and how far it is: of a fused one all
   its ports. Where that is not known, and with NVLink-C2C, the nearest HCA. */
static void put_taken(struct ni_text *t, const struct ni_view *view, unsigned gpu)
{
    const struct ni_inventory *inv = view->inv;
    const struct ni_taken *taken = ni_plan_taken(view->plan, inv, gpu);
    const struct ni_near *near = &view->plan->nearest_hca[gpu];
    const char *plus = "";

    if (!taken && near->index < 0)
        return;
    if (!taken || !taken->fused)
        ni_quote(t, inv->hca[taken ? taken->hca : near->index].name);
    for (unsigned i = 0; taken && taken->fused && i < view->plan->n_chosen; i++) {
        if (!(taken->ports >> i & 1))
            continue;
        ni_putf(t, "%s%s", plus, ni_port_name(inv, view->plan->chosen[i]).text);
        plus = "+";
    }
    ni_putf(t, " %s", ni_distance_text(taken ? taken->distance : near->distance));
}

/* Puts the row of one GPU: where it is, the NIC that NCCL takes, the ports that it is to use. */
static void put_gpu_row(struct ni_text *t, const struct ni_view *view, unsigned i)
{
    const struct ni_inventory *inv = view->inv;
    const struct ni_gpu *gpu = &inv->gpu[i];
    const char *comma = "";

    ni_putf(ni_row(t, NI_PLAIN), "GPU%u", i);
    ni_put_bdf(ni_cell(t), &gpu->bdf);
    ni_put(ni_cell(t), gpu->amd ? "AMD" : "");
    if (!gpu->amd && gpu->minor >= 0)
        ni_putf(t, "/dev/nvidia%d", gpu->minor);
    ni_put_num(ni_cell(t), gpu->pci.numa);
    put_taken(ni_cell(t), view, i);
    ni_cell(t);
    for (unsigned k = 0; k < view->plan->n_chosen; k++) {
        const struct ni_port *port = &inv->port[view->plan->chosen[k]];

        if ((view->plan->gpu_ports[i] >> k & 1) == 0)
            continue;
        ni_put(t, comma);
        comma = ", ";
        ni_quote(t, inv->hca[port->hca].name);
        ni_putf(t, "/%u", port->num);
    }
    ni_put(ni_cell(t), gpu->cpus); /* for people who pin a rank */
}

void ni_put_gpu_table(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_inventory *inv = view->inv;

    if (inv->n_gpu == 0)
        return;
    struct ni_text table = ni_table_on("GPU\tADDRESS\tDEVICE\tNUMA\tNCCL TAKES\tTO USE\tCPUS NEAR");
    for (unsigned i = 0; i < inv->n_gpu; i++)
        put_gpu_row(&table, view, i);
    ni_put(out, "\nGPUs\n");
    ni_table_write(out, &table, view->colour);
    put_gdr_line(out, view);
}

/* Puts the whole GID tables, for --gids. */
static void put_gids(struct ni_text *out, const struct ni_view *view)
{
    static const char *const whose[] = {
        [NI_OWNER_UNKNOWN] = "", [NI_OWNER_POD] = "this pod's", [NI_OWNER_OTHER] = "another's"};
    const struct ni_inventory *inv = view->inv;

    if (inv->n_gid == 0)
        return;
    struct ni_text table = ni_table_on("PORT\tINDEX\tGID\tTYPE\tNETDEV\tWHOSE"), *t = &table;
    for (unsigned p = 0; p < inv->n_port; p++) {
        const struct ni_port *port = &inv->port[p];

        for (unsigned i = 0; i < port->n_gid; i++) {
            const struct ni_gid *gid = &inv->gid[port->first_gid + (int)i];
            char ip[NI_IP_TEXT];

            ni_quote(ni_row(t, gid == ni_port_gid_used(view, (int)p) ? NI_GREEN : NI_PLAIN),
                     inv->hca[port->hca].name);
            ni_putf(t, "/%u\t%u\t%s\t%s\t", port->num, (unsigned)gid->index,
                    ni_ip_text(gid->ip, ip), ni_gid_type_words[gid->type]);
            ni_quote(t, gid->ndev);
            ni_put(ni_cell(t), whose[gid->owner]);
        }
    }
    ni_put(out, "\nGIDs of the pod's ports\n");
    ni_table_write(out, t, view->colour);
}

/* ---- settings, limits, the whole report ---- */

/* Returns the length of the longest name among the settings that have a value. */
static int widest_name(const struct ni_plan *plan)
{
    size_t width = 0;

    for (unsigned i = 0; i < plan->n_setting; i++) {
        const struct ni_setting *s = &plan->setting[i];

        if (s->origin != NI_LEFT_UNSET && strlen(s->name) > width)
            width = strlen(s->name);
    }
    return (int)width;
}

/* Name and value in columns, the value whole whatever its length; below it whose it is, the rule,
   the reason. */
static void put_set(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_plan *plan = view->plan;
    const int width = widest_name(plan);
    bool any = false;

    for (unsigned i = 0; i < plan->n_setting; i++) {
        const struct ni_setting *s = &plan->setting[i];
        char line[NI_VALUE + 2 * NI_DEV_NAME];
        struct ni_text why = NI_TEXT(NI_REASON + 256);

        if (s->origin == NI_LEFT_UNSET)
            continue;
        ni_put(out, any ? "" : "\nSettings\n");
        any = true;
        ni_format(line, sizeof(line), "%-*s  %s", width, s->name, s->value);
        const char *whose = s->origin == NI_FROM_USER ? "user's environment" : s->file;
        if (whose[0])
            ni_putf(&why, "%s, ", whose);
        ni_putf(&why, "rule %s", s->rule);
        if (s->reason[0])
            ni_putf(&why, ": %s", s->reason);
        ni_put(out, "  ");
        ni_put_tinted(out, view->colour, ni_origin_words[s->origin].tint, line);
        ni_put(out, "\n");
        ni_put_below(out, why.buf);
    }
}

bool ni_is_of_conf_alone(const struct ni_view *view, unsigned i)
{
    const struct ni_conf_entry *e = &view->inv->conf[i];

    return !e->overrides && ni_has_prefix(e->name, "NCCL_") && !ni_plan_get(view->plan, e->name) &&
           ni_find_conf(view->inv, e->name) == e;
}

/* Puts the variables of NCCL that its configuration files set and that no rule decides: an image may
   bring them, and the environment does not show them. */
static void put_conf(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_inventory *inv = view->inv;
    bool any = false;

    for (unsigned i = 0; i < inv->n_conf; i++) {
        const struct ni_conf_entry *e = &inv->conf[i];

        if (!ni_is_of_conf_alone(view, i))
            continue;
        ni_put(out, any ? "" : "\nAlso set in files, if the environment does not set them\n");
        any = true;
        ni_put(out, "  ");
        ni_quote(out, e->name);
        ni_put(out, "  ");
        ni_put_quoted(out, e->value, strlen(e->value), 200);
        ni_putf(out, "  (%s)\n", e->file);
    }
}

/* Returns true if both stay unset for one reason, and with one consequence. */
static bool are_unset_alike(const struct ni_setting *a, const struct ni_setting *b)
{
    const bool alike = a->by_itself == b->by_itself ||
                       (a->by_itself && b->by_itself && strcmp(a->by_itself, b->by_itself) == 0);

    return b->origin == NI_LEFT_UNSET && alike && strcmp(a->reason, b->reason) == 0;
}

/* Puts one more name of a list. *width: the width of its last line; 0 before the first name. */
static void put_setting_name(struct ni_text *out, size_t *width, const char *name)
{
    const size_t n = strlen(", ") + strlen(name);

    if (*width == 0 || *width + n > ni_columns(100)) {
        ni_put(out, *width == 0 ? "  " : ",\n  ");
        *width = 0;
    } else {
        ni_put(out, ", ");
    }
    ni_put(out, name);
    *width += n;
}

/* Puts an entry for the setting and the later ones that stay unset like it; nothing, if the entry
   of an earlier setting has named it. */
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
        put_setting_name(out, &width, other->name);
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

struct ni_num ni_raised_limit(struct ni_num now, int64_t to)
{
    const int64_t from = now.known == NI_KNOWN ? now.v : 0;

    if (to > from)
        return (struct ni_num){to, NI_KNOWN};
    return (struct ni_num){.known = NI_ABSENT};
}

static void put_limit(struct ni_text *out, const char *which, struct ni_num now, int64_t to)
{
    const struct ni_num more = ni_raised_limit(now, to);

    ni_put(out, which);
    if (now.known == NI_KNOWN)
        ni_put_bytes(out, now.v);
    else
        ni_put_num(out, now);
    if (more.known == NI_KNOWN) {
        ni_put(out, ", would be raised to ");
        ni_put_bytes(out, more.v);
    }
}

void ni_put_plan(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_limit *limit = &view->plan->memlock;
    const struct ni_self *self = &view->inv->self;
    struct ni_text memlock = NI_TEXT(256);

    ni_put_plan_heading(out, "Plan", view);
    ni_put_findings(out, view, NI_INFO);
    if (view->findings->n == 0)
        ni_put(out, "\nNo findings. `nccl-init doctor` checks the node.\n");
    else
        ni_put(out, "\nMore about a finding: nccl-init explain ID\n");
    put_set(out, view);
    put_conf(out, view);
    put_left_unset(out, view);
    put_limit(&memlock, "Locked memory: soft limit ", self->memlock_soft, limit->soft);
    put_limit(&memlock, "; hard limit ", self->memlock_hard, limit->hard);
    if (limit->harmless)
        ni_put(&memlock, "; harmless: the command will have CAP_IPC_LOCK");
    ni_put(out, "\n");
    ni_put_line(out, memlock.buf);
    put_hca_tables(out, view);
    put_sources(out, view->inv);
    ni_put_gpu_table(out, view);
    ni_put_image(out, view);
}

void ni_put_plan_with_gids(struct ni_text *out, const struct ni_view *view)
{
    ni_put_plan(out, view);
    put_gids(out, view);
}
