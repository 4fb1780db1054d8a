/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of the plan: one line for each port. Those of the pod come first; on a node with many
   others they may scroll away. */
#include <string.h>

#include "plan_text.h"
#include "table.h"
#include "topo.h"
#include "words.h"

struct line {
    int hca;
    int port; /* -1: an HCA without ports */
};

struct lines {
    const struct ni_view *view;
    struct line at[NI_MAX_PORT + NI_MAX_HCA];
    unsigned n;
};

static void add_hca(struct lines *lines, int hca)
{
    const struct ni_hca *h = &lines->view->inv->hca[hca];
    if (h->n_port == 0)
        lines->at[lines->n++] = (struct line){hca, -1};
    for (unsigned i = 0; i < h->n_port; i++)
        lines->at[lines->n++] = (struct line){hca, h->first_port + (int)i};
}

static void list_ports(struct lines *lines, const struct ni_view *view)
{
    const struct ni_inventory *inv = view->inv;
    lines->view = view;
    lines->n = 0;
    for (unsigned i = 0; i < inv->n_hca; i++) {
        if (inv->hca[i].claim >= 0)
            add_hca(lines, (int)i);
    }
    for (unsigned i = 0; i < inv->n_hca; i++) {
        if (inv->hca[i].claim < 0)
            add_hca(lines, (int)i);
    }
}

/* Nothing was decided about it: an HCA that is not the pod's, or one without ports. */
static bool unjudged(const struct lines *lines, unsigned i)
{
    int port = lines->at[i].port;
    return port < 0 || !lines->view->plan->port[port].rule;
}

static enum ni_tint tint_of(const struct lines *lines, unsigned i)
{
    return !unjudged(lines, i) && lines->view->plan->port[lines->at[i].port].chosen ? NI_GREEN
                                                                                    : NI_DIM;
}

/* ---- what was found ---- */

enum {
    H_DEVICE,
    H_ADDRESS,
    H_PARENT,
    H_STATE,
    H_LINK,
    H_RATE,
    H_NUMA,
    H_GPU,
    H_NETDEV,
    H_GID,
    H_N
};

static const char *const hca_head[H_N] = {
    [H_DEVICE] = "DEVICE", [H_ADDRESS] = "ADDRESS", [H_PARENT] = "VF/SF OF",
    [H_STATE] = "STATE",   [H_LINK] = "LINK",       [H_RATE] = "RATE",
    [H_NUMA] = "NUMA",     [H_GPU] = "NEAREST GPU", [H_NETDEV] = "NETDEV",
    [H_GID] = "GID",
};

static void say_address(struct ni_row *row, const struct ni_hca *hca)
{
    char bdf[NI_BDF_TEXT];
    if (hca->aux[0]) {
        ni_quote(&row->cell[H_ADDRESS], hca->aux);
        if (hca->has_bdf)
            ni_put(&row->cell[H_PARENT], ni_bdf_text(hca->bdf, bdf));
        return;
    }
    if (hca->has_bdf)
        ni_put(&row->cell[H_ADDRESS], ni_bdf_text(hca->bdf, bdf));
    if (hca->is_vf)
        ni_put(&row->cell[H_PARENT], ni_bdf_text(hca->pf, bdf));
}

/* The interface of the port's GID, which for a macvlan or VLAN is not the function's own; else
   that. */
static void say_netdev(struct ni_text *t, const struct ni_inventory *inv, const struct ni_hca *hca,
                       int gid)
{
    const struct ni_netdev *dev = gid < 0 ? NULL : ni_find_netdev(inv, inv->gid[gid].ndev);
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

/* In topo's words, and NCCL's where that is another one. */
static void say_distance(struct ni_text *t, const struct ni_view *view, int gpu, int hca)
{
    const char *word = ni_topo_word(view, (unsigned)gpu, hca);
    ni_putf(t, " %s%s", word, strcmp(word, "NODE") == 0 ? "=PHB" : "");
}

static void say_near_gpu(struct ni_text *t, const struct ni_view *view, int hca)
{
    char bdf[NI_BDF_TEXT];
    const struct ni_near *near = &view->plan->nearest_gpu[hca];
    if (near->index < 0 || near->distance == NI_DIST_UNKNOWN)
        return;
    ni_putf(t, "GPU%d %s", near->index, ni_bdf_text(view->inv->gpu[near->index].bdf, bdf));
    say_distance(t, view, near->index, hca);
}

static void hca_row(const void *ctx, unsigned i, struct ni_row *row)
{
    const struct lines *lines = ctx;
    const struct ni_inventory *inv = lines->view->inv;
    const struct ni_plan *plan = lines->view->plan;
    const struct line *line = &lines->at[i];
    const struct ni_hca *hca = &inv->hca[line->hca];

    row->tint = tint_of(lines, i);
    ni_say_port(&row->cell[H_DEVICE], hca, line->port < 0 ? 0 : inv->port[line->port].num);
    say_address(row, hca);
    if (hca->pci.known == NI_KNOWN)
        ni_say_num(&row->cell[H_NUMA], hca->pci.numa);
    say_near_gpu(&row->cell[H_GPU], lines->view, line->hca);
    say_netdev(&row->cell[H_NETDEV], inv, hca, line->port < 0 ? -1 : plan->port[line->port].gid);
    if (line->port < 0)
        return;
    const struct ni_port *port = &inv->port[line->port];
    ni_say_state(&row->cell[H_STATE], port->state);
    ni_put(&row->cell[H_LINK], ni_say_link(port->link));
    ni_say_rate(&row->cell[H_RATE], port->mbps);
    int gid = plan->port[line->port].gid;
    if (!unjudged(lines, i) && gid >= 0) {
        char ip[NI_IP_TEXT];
        int nccl = plan->port[line->port].nccl_index;
        if (nccl >= 0 && nccl != inv->gid[gid].index)
            ni_putf(&row->cell[H_GID], "%d instead of ", nccl);
        ni_putf(&row->cell[H_GID], "%u %s (%s)", (unsigned)inv->gid[gid].index,
                ni_ip_text(inv->gid[gid].ip, ip), ni_word_gid_type(inv->gid[gid].type));
    }
}

void ni_plan_hcas(struct ni_text *out, const struct ni_view *view)
{
    struct lines lines;
    list_ports(&lines, view);
    if (lines.n == 0) {
        ni_put(out, "\nNo HCA was found.\n");
        return;
    }
    ni_put(out, "\nHCAs\n");
    const struct ni_table table = {hca_head, H_N, lines.n, hca_row, &lines, view->colour};
    ni_table_write(out, &table);
}

/* ---- what became of it ---- */

enum { V_DEVICE, V_USE, V_RULE, V_WHY, V_N };

/* On a node with a thousand VFs nearly all ports are dropped for one reason: they are not the
   pod's. One line tells that. */
struct verdicts {
    struct lines shown;
    struct line alike; /* the first of them */
    unsigned n_alike;
};

static bool is_other(const struct ni_view *view, const struct line *line)
{
    return view->inv->hca[line->hca].claim < 0 &&
           (line->port < 0 || !view->plan->port[line->port].chosen);
}

static bool same_verdict(const struct ni_view *view, const struct line *a, const struct line *b)
{
    if (a->port < 0 || b->port < 0)
        return a->port < 0 && b->port < 0;
    const struct ni_port_plan *x = &view->plan->port[a->port], *y = &view->plan->port[b->port];
    if (!x->rule || !y->rule)
        return !x->rule && !y->rule;
    return strcmp(x->rule, y->rule) == 0 && strcmp(x->why, y->why) == 0;
}

/* Takes those that are like the first such line out of `shown`, and puts that first one at the end.
   */
static void fold_others(struct verdicts *v, const struct ni_view *view)
{
    struct lines *lines = &v->shown;
    unsigned kept = 0;
    list_ports(lines, view);
    v->n_alike = 0;
    for (unsigned i = 0; i < lines->n; i++) {
        const struct line line = lines->at[i];
        if (is_other(view, &line) && (v->n_alike == 0 || same_verdict(view, &v->alike, &line))) {
            if (v->n_alike++ == 0)
                v->alike = line;
        } else {
            lines->at[kept++] = line;
        }
    }
    if (v->n_alike > 0)
        lines->at[kept++] = v->alike;
    lines->n = kept;
}

static void verdict_row(const void *ctx, unsigned i, struct ni_row *row)
{
    const struct verdicts *v = ctx;
    const struct lines *lines = &v->shown;
    const struct line *line = &lines->at[i];
    const struct ni_inventory *inv = lines->view->inv;
    const struct ni_hca *hca = &inv->hca[line->hca];

    row->tint = tint_of(lines, i);
    if (v->n_alike > 1 && i + 1 == lines->n)
        ni_putf(&row->cell[V_DEVICE], "%u others", v->n_alike);
    else
        ni_say_port(&row->cell[V_DEVICE], hca, line->port < 0 ? 0 : inv->port[line->port].num);
    if (unjudged(lines, i)) {
        ni_put(&row->cell[V_USE], "not used");
        ni_put(&row->cell[V_WHY], line->port < 0   ? "sysfs shows no port"
                                  : hca->claim < 0 ? "not the pod's"
                                                   : "nothing was decided");
        return;
    }
    const struct ni_port_plan *pick = &lines->view->plan->port[line->port];
    ni_put(&row->cell[V_USE], pick->chosen ? "kept" : "dropped");
    ni_put(&row->cell[V_RULE], pick->rule);
    ni_quote(&row->cell[V_WHY], pick->why);
}

void ni_plan_verdicts(struct ni_text *out, const struct ni_view *view)
{
    static const char *const head[V_N] = {"DEVICE", "USE", "RULE", "WHY"};
    struct verdicts v;
    fold_others(&v, view);
    if (v.shown.n == 0)
        return;
    ni_put(out, "\nKept or dropped\n");
    const struct ni_table table = {head, V_N, v.shown.n, verdict_row, &v, view->colour};
    ni_table_write(out, &table);
}

/* ---- ids that gave no HCA ---- */

enum { SHOWN_CLAIMS = 16 }; /* more of them are not read, and the findings name each */

struct lost {
    const struct ni_claim *at[SHOWN_CLAIMS];
    unsigned n, more;
};

static void claim_row(const void *ctx, unsigned i, struct ni_row *row)
{
    const struct ni_claim *c = ((const struct lost *)ctx)->at[i];
    ni_quote(&row->cell[0], c->id);
    ni_quote(&row->cell[1], c->from);
    ni_put(&row->cell[2], ni_say_claim(c->state));
}

void ni_plan_claims(struct ni_text *out, const struct ni_view *view)
{
    struct lost lost = {.n = 0};
    const struct ni_inventory *inv = view->inv;
    for (unsigned i = 0; i < inv->n_claim; i++) {
        const struct ni_claim *c = &inv->claim[i];
        bool later = inv->source != NI_SRC_NONE && c->source > inv->source;
        if (c->hca >= 0 || later) /* what later sources say: ni_plan_sources */
            continue;
        if (lost.n < SHOWN_CLAIMS)
            lost.at[lost.n++] = c;
        else
            lost.more++;
    }
    if (lost.n == 0)
        return;
    ni_put(out, "\nGiven to the pod, but no HCA\n");
    const struct ni_table table = {NULL, 3, lost.n, claim_row, &lost, view->colour};
    ni_table_write(out, &table);
    if (lost.more > 0)
        ni_putf(out, "  and %u more\n", lost.more);
}

/* ---- GID tables, on request ---- */

enum { D_DEVICE, D_INDEX, D_GID, D_TYPE, D_NETDEV, D_WHOSE, D_N };

static void gid_row(const void *ctx, unsigned i, struct ni_row *row)
{
    static const char *const whose[] = {
        [NI_OWN_UNKNOWN] = "-", [NI_OWN_OURS] = "this pod's", [NI_OWN_FOREIGN] = "another's"};
    const struct ni_view *view = ctx;
    const struct ni_port *port = view->inv->port;
    char ip[NI_IP_TEXT];
    while (i >= port->n_gid)
        i -= (port++)->n_gid;
    int at = port->first_gid + (int)i;
    const struct ni_gid *gid = &view->inv->gid[at];
    row->tint = view->plan->port[port - view->inv->port].gid == at ? NI_GREEN : NI_PLAIN;
    ni_say_port(&row->cell[D_DEVICE], &view->inv->hca[port->hca], port->num);
    ni_putf(&row->cell[D_INDEX], "%u", (unsigned)gid->index);
    ni_put(&row->cell[D_GID], ni_ip_text(gid->ip, ip));
    ni_put(&row->cell[D_TYPE], ni_word_gid_type(gid->type));
    ni_quote(&row->cell[D_NETDEV], gid->ndev);
    ni_put(&row->cell[D_WHOSE], whose[gid->own]);
}

void ni_plan_gids(struct ni_text *out, const struct ni_view *view)
{
    static const char *const head[D_N] = {"DEVICE", "INDEX", "GID", "TYPE", "NETDEV", "WHOSE"};
    unsigned n = 0;
    for (unsigned i = 0; i < view->inv->n_port; i++)
        n += view->inv->port[i].n_gid;
    if (!view->gids || n == 0)
        return;
    ni_put(out, "\nGIDs of the pod's ports\n");
    const struct ni_table table = {head, D_N, n, gid_row, view, view->colour};
    ni_table_write(out, &table);
}

/* ---- GPUs ---- */

enum { G_GPU, G_ADDRESS, G_DEVICE, G_NUMA, G_HCA, G_N };

static void gpu_row(const void *ctx, unsigned i, struct ni_row *row)
{
    const struct ni_view *view = ctx;
    const struct ni_gpu *gpu = &view->inv->gpu[i];
    const struct ni_near *near = &view->plan->nearest_hca[i];
    char bdf[NI_BDF_TEXT];

    ni_putf(&row->cell[G_GPU], "GPU%u", i);
    ni_put(&row->cell[G_ADDRESS], ni_bdf_text(gpu->bdf, bdf));
    if (gpu->amd)
        ni_put(&row->cell[G_DEVICE], "AMD");
    else if (gpu->minor >= 0)
        ni_putf(&row->cell[G_DEVICE], "/dev/nvidia%d", gpu->minor);
    if (gpu->pci.known == NI_KNOWN)
        ni_say_num(&row->cell[G_NUMA], gpu->pci.numa);
    if (near->index >= 0 && near->distance != NI_DIST_UNKNOWN) {
        ni_say_port(&row->cell[G_HCA], &view->inv->hca[near->index], 0);
        say_distance(&row->cell[G_HCA], view, (int)i, near->index);
    }
}

static const char *loaded(enum ni_known known)
{
    return known == NI_KNOWN ? "loaded" : known == NI_ABSENT ? "not loaded" : "unknown";
}

void ni_plan_gpus(struct ni_text *out, const struct ni_view *view)
{
    static const char *const head[G_N] = {"GPU", "ADDRESS", "DEVICE", "NUMA", "NEAREST HCA"};
    const struct ni_gdr *gdr = &view->inv->gdr;
    if (view->inv->n_gpu == 0)
        return;
    ni_put(out, "\nGPUs\n");
    const struct ni_table table = {head, G_N, view->inv->n_gpu, gpu_row, view, view->colour};
    ni_table_write(out, &table);
    ni_putf(out, "  GPUDirect RDMA: peer memory module %s", loaded(gdr->peermem));
    if (!view->inv->gpu[0].amd)
        ni_putf(out, ", open kernel modules %s", loaded(gdr->open_driver));
    ni_put(out, gdr->c2c ? ", NVLink-C2C\n" : "\n");
}
