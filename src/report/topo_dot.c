/* SPDX-License-Identifier: Apache-2.0 */
/* The topology as a picture, for Graphviz (`dot -Tsvg`): the PCI tree from the host bridges down to
   GPUs and HCAs, one box for each NUMA node. Names of nodes are made here, so that only labels
   carry what was read. */
#include <string.h>

#include "out.h"
#include "topo.h"

enum { MAX_LEAF = NI_MAX_GPU + NI_MAX_HCA };

/* A GPU or an HCA. */
struct leaf {
    bool gpu;
    int index; /* in the inventory */
    const struct ni_pci *pci;
    int64_t numa; /* of its host bridge; -1: not told */
    bool drawn;
};

struct picture {
    struct ni_text *out;
    const struct ni_topo *topo;
    struct leaf leaf[MAX_LEAF]; /* those without a place on the tree last */
    unsigned n_leaf, n_placed;
};

/* ---- what is drawn ---- */

static bool same_root(const struct ni_pci *a, const struct ni_pci *b)
{
    return a->root_domain == b->root_domain && a->root_bus == b->root_bus;
}

/* The functions of one host bridge are all in its NUMA node; the first that knows it tells. */
static int64_t numa_of(const struct picture *p, const struct ni_pci *pci)
{
    for (unsigned i = 0; i < p->n_placed; i++) {
        const struct ni_pci *other = p->leaf[i].pci;
        if (same_root(other, pci) && other->numa.known == NI_KNOWN && other->numa.v >= 0)
            return other->numa.v;
    }
    return -1;
}

/* By address, but the last host bridge first: dot draws trees that hang together by nothing from
   right to left. */
static bool is_before(const struct leaf *a, const struct leaf *b)
{
    const struct ni_pci *x = a->pci, *y = b->pci;
    if (x->root_domain != y->root_domain)
        return x->root_domain > y->root_domain;
    if (x->root_bus != y->root_bus)
        return x->root_bus > y->root_bus;
    return ni_bdf_cmp(x->at[x->depth - 1], y->at[y->depth - 1]) < 0;
}

static void add_leaf(struct picture *p, struct leaf leaf)
{
    unsigned at = p->n_leaf++;
    while (ni_topo_placed(leaf.pci) && at > 0 && is_before(&leaf, &p->leaf[at - 1])) {
        p->leaf[at] = p->leaf[at - 1];
        at--;
    }
    p->leaf[at] = leaf;
}

static void add_leaves(struct picture *p, bool placed)
{
    const struct ni_inventory *inv = p->topo->view->inv;
    for (unsigned i = 0; i < inv->n_gpu; i++) {
        if (ni_topo_placed(&inv->gpu[i].pci) == placed)
            add_leaf(p, (struct leaf){.gpu = true, .index = (int)i, .pci = &inv->gpu[i].pci});
    }
    for (unsigned i = 0; i < p->topo->n_hca; i++) {
        int hca = p->topo->hca[i];
        if (ni_topo_placed(&inv->hca[hca].pci) == placed)
            add_leaf(p, (struct leaf){.index = hca, .pci = &inv->hca[hca].pci});
    }
}

static void collect(struct picture *p)
{
    add_leaves(p, true);
    p->n_placed = p->n_leaf;
    for (unsigned i = 0; i < p->n_placed; i++)
        p->leaf[i].numa = numa_of(p, p->leaf[i].pci);
    add_leaves(p, false);
}

/* ---- nodes ---- */

/* Inside a quoted string of the dot language. */
static void put_label(struct ni_text *out, const char *text)
{
    enum { ROOM = 1024 };
    char buf[ROOM];
    struct ni_text t = ni_text_on(buf, sizeof(buf));
    ni_put_quoted(&t, text, strlen(text), ROOM / 4 - 1);
    for (const char *c = buf; *c; c++) {
        if (*c == '"' || *c == '\\')
            ni_put(out, "\\");
        ni_putn(out, c, 1);
    }
}

static void put_leaf_id(struct ni_text *out, const struct leaf *leaf)
{
    ni_putf(out, "%s%d", leaf->gpu ? "gpu" : "hca", leaf->index);
}

/* The node above at[i]: a bridge, or the host bridge. */
static void put_upper_id(struct ni_text *out, const struct ni_pci *pci, unsigned i)
{
    char buf[32];
    struct ni_text t = ni_text_on(buf, sizeof(buf));
    if (i == 0)
        ni_topo_say_host_bridge(&t, pci);
    else
        ni_bdf_text(pci->at[i - 1], buf);
    ni_putf(out, "\"%s\"", buf);
}

static void write_gpu(struct picture *p, const struct leaf *leaf)
{
    const struct ni_gpu *gpu = &p->topo->view->inv->gpu[leaf->index];
    char bdf[NI_BDF_TEXT];
    ni_putf(p->out, "gpu%d [label=\"GPU%d\\n%s\", style=filled, fillcolor=\"#d5e8c8\"];\n",
            leaf->index, leaf->index, ni_bdf_text(gpu->bdf, bdf));
}

static void write_hca(struct picture *p, const struct leaf *leaf)
{
    const struct ni_hca *hca = &p->topo->view->inv->hca[leaf->index];
    const bool pods = p->topo->kept[leaf->index] || hca->claim >= 0;
    char rails[512], bdf[NI_BDF_TEXT];
    struct ni_text t = ni_text_on(rails, sizeof(rails));
    ni_topo_say_rails(&t, p->topo, leaf->index);
    ni_putf(p->out, "hca%d [label=\"", leaf->index);
    put_label(p->out, hca->name);
    if (hca->aux[0] || hca->has_bdf) {
        ni_put(p->out, "\\n");
        put_label(p->out, hca->aux[0] ? hca->aux : ni_bdf_text(hca->bdf, bdf));
    }
    if (t.len > 0) {
        ni_put(p->out, "\\n");
        put_label(p->out, rails);
    }
    ni_put(p->out, pods ? "\", style=filled, fillcolor=\"#cfe0f5\"];\n"
                        : "\", style=dashed, fontcolor=\"#606060\"];\n");
}

/* Whether a leaf that is drawn already brought at[i] of this one. */
static bool is_drawn(const struct picture *p, const struct ni_pci *pci, unsigned i)
{
    for (unsigned k = 0; k < p->n_placed; k++) {
        const struct ni_pci *other = p->leaf[k].pci;
        if (p->leaf[k].drawn && i + 1 < other->depth && ni_bdf_cmp(other->at[i], pci->at[i]) == 0)
            return true;
    }
    return false;
}

static bool is_root_drawn(const struct picture *p, const struct ni_pci *pci)
{
    for (unsigned k = 0; k < p->n_placed; k++) {
        if (p->leaf[k].drawn && same_root(p->leaf[k].pci, pci))
            return true;
    }
    return false;
}

static void write_edge_above(struct picture *p, const struct ni_pci *pci, unsigned i)
{
    ni_put(p->out, "    ");
    put_upper_id(p->out, pci, i);
    ni_put(p->out, " -- ");
}

/* The leaf, and what of its way up is not there yet. */
static void write_branch(struct picture *p, struct leaf *leaf)
{
    const struct ni_pci *pci = leaf->pci;
    char buf[32];
    struct ni_text t = ni_text_on(buf, sizeof(buf));
    ni_topo_say_host_bridge(&t, pci);
    if (!is_root_drawn(p, pci))
        ni_putf(p->out, "    \"%s\" [label=\"host bridge\\n%s\", style=\"rounded,bold\"];\n", buf,
                buf);
    for (unsigned i = 0; i + 1U < pci->depth; i++) {
        if (is_drawn(p, pci, i))
            continue;
        ni_bdf_text(pci->at[i], buf);
        ni_putf(p->out, "    \"%s\" [label=\"%s\", style=rounded, fontsize=9, height=0.25];\n", buf,
                buf);
        write_edge_above(p, pci, i);
        ni_putf(p->out, "\"%s\";\n", buf);
    }
    ni_put(p->out, "    ");
    if (leaf->gpu)
        write_gpu(p, leaf);
    else
        write_hca(p, leaf);
    write_edge_above(p, pci, pci->depth - 1U);
    put_leaf_id(p->out, leaf);
    ni_put(p->out, ";\n");
    leaf->drawn = true;
}

static void write_cluster(struct picture *p, int64_t numa, unsigned number)
{
    ni_putf(p->out, "  subgraph cluster%u {\n", number);
    if (numa >= 0)
        ni_putf(p->out, "    label=\"NUMA node %lld\";\n", (long long)numa);
    else
        ni_put(p->out, "    label=\"NUMA node not told\";\n");
    for (unsigned i = 0; i < p->n_placed; i++) {
        if (p->leaf[i].numa == numa)
            write_branch(p, &p->leaf[i]);
    }
    ni_put(p->out, "  }\n");
}

/* NUMA nodes in their order, the untold first. */
static void write_tree(struct picture *p)
{
    int64_t last = -2;
    for (unsigned number = 0; number < p->n_placed; number++) {
        int64_t next = INT64_MAX;
        bool more = false;
        for (unsigned i = 0; i < p->n_placed; i++) {
            if (p->leaf[i].numa > last && p->leaf[i].numa <= next) {
                next = p->leaf[i].numa;
                more = true;
            }
        }
        if (!more)
            break;
        write_cluster(p, next, number);
        last = next;
    }
    for (unsigned i = p->n_placed; i < p->n_leaf; i++) {
        ni_put(p->out, "  ");
        if (p->leaf[i].gpu)
            write_gpu(p, &p->leaf[i]);
        else
            write_hca(p, &p->leaf[i]);
    }
}

/* ---- who is near whom ---- */

/* Below one switch, all that are equally near; through the CPU, where that says little, the one of
   the plan. */
static void write_pairs(struct picture *p)
{
    const struct ni_topo *topo = p->topo;
    const struct ni_plan *plan = topo->view->plan;
    for (unsigned g = 0; g < topo->view->inv->n_gpu; g++) {
        const struct ni_near *near = &plan->nearest_hca[g];
        for (unsigned i = 0; i < topo->n_kept; i++) {
            int hca = topo->hca[i];
            if (ni_topo_nearest(topo, g, hca) &&
                (near->distance <= NI_DIST_PXB || hca == near->index))
                ni_putf(p->out,
                        "  gpu%u -- hca%d [style=dotted, penwidth=2, color=\"#c04000\", "
                        "fontcolor=\"#c04000\", constraint=false, label=\"%s\"];\n",
                        g, hca, ni_topo_word(topo->view, g, hca));
        }
    }
}

static void write_title(struct picture *p)
{
    const struct ni_topo *topo = p->topo;
    ni_put(p->out, "  label=\"");
    if (strcmp(topo->view->root, "/") != 0) {
        put_label(p->out, topo->view->root);
        ni_put(p->out, "\\n");
    }
    if (p->n_leaf == 0)
        ni_put(p->out, "no GPU and no HCA");
    else
        ni_put(p->out, "filled: the pod's; dashed: other HCAs; dotted: the nearest kept HCA");
    if (topo->n_other > 0)
        ni_putf(p->out, "\\n%u other HCAs are left out", topo->n_other);
    ni_put(p->out, "\";\n");
}

int ni_write_topo_dot(int fd, const struct ni_view *view)
{
    struct ni_out o;
    struct ni_topo topo;
    struct ni_text *out = ni_out_on(&o, fd);
    struct picture p = {.out = out, .topo = &topo};
    ni_topo_on(&topo, view);
    collect(&p);
    ni_put(out, "graph topo {\n");
    write_title(&p);
    ni_put(out, "  labelloc=b; fontname=\"sans-serif\"; fontsize=10; nodesep=0.2; ranksep=0.3;\n"
                "  node [shape=box, fontname=\"sans-serif\", fontsize=10];\n"
                "  edge [fontname=\"sans-serif\", fontsize=9];\n");
    write_tree(&p);
    write_pairs(&p);
    ni_put(out, "}\n");
    return ni_out_end(&o);
}
