/* SPDX-License-Identifier: Apache-2.0 */
/* The topology as a picture, for Graphviz (`dot -Tsvg`): the PCI tree from the host bridges down to
   GPUs and HCAs, one box for each NUMA node. Each GPU and HCA is written with its whole way up: in
   a strict graph, what is there twice is drawn once. Names of GPUs and HCAs are made here, so that
   only labels carry what was read. */
#include <string.h>

#include "out.h"
#include "topo.h"
#include "words.h"

/* Untrusted text inside a quoted string of the dot language. */
static void put_label(struct ni_text *out, const char *text)
{
    char buf[1024];
    struct ni_text t = ni_text_on(buf, sizeof(buf));
    ni_quote(&t, text);
    for (const char *c = buf; *c; c++) {
        if (*c == '"' || *c == '\\')
            ni_put(out, "\\");
        ni_putn(out, c, 1);
    }
}

/* "pci0000:00" -- "0000:00:01.1" -- gpu0, in the box of its NUMA node. */
static void put_way(struct ni_text *out, const struct ni_pci *pci, const char *leaf, unsigned index)
{
    bool box = pci->numa.known == NI_KNOWN && pci->numa.v >= 0;
    char bdf[NI_BDF_TEXT];
    if (!ni_topo_placed(pci))
        return;
    ni_put(out, "  ");
    if (box)
        ni_putf(out, "subgraph cluster%lld { label=\"NUMA node %lld\"; ", (long long)pci->numa.v,
                (long long)pci->numa.v);
    ni_put(out, "\"");
    ni_topo_put_host_bridge(out, pci);
    ni_put(out, "\" -- ");
    for (unsigned i = 0; i + 1U < pci->depth; i++)
        ni_putf(out, "\"%s\" -- ", ni_bdf_text(pci->at[i], bdf));
    ni_putf(out, "%s%u;%s\n", leaf, index, box ? " }" : "");
}

static void put_gpus(struct ni_text *out, const struct ni_inventory *inv)
{
    for (unsigned i = 0; i < inv->n_gpu; i++) {
        char bdf[NI_BDF_TEXT];
        ni_putf(out, "  gpu%u [label=\"GPU%u\\n%s\", style=filled, fillcolor=\"#d5e8c8\"];\n", i, i,
                ni_bdf_text(inv->gpu[i].bdf, bdf));
        put_way(out, &inv->gpu[i].pci, "gpu", i);
    }
}

static void put_hcas(struct ni_text *out, const struct ni_topo *topo)
{
    for (unsigned i = 0; i < topo->n_hca; i++) {
        const unsigned at = (unsigned)topo->hca[i];
        const struct ni_hca *hca = &topo->view->inv->hca[at];
        char lines[512];
        struct ni_text t = ni_text_on(lines, sizeof(lines));
        ni_putf(out, "  hca%u [label=\"", at);
        put_label(out, hca->name);
        ni_put_address(&t, hca);
        if (t.len > 0)
            ni_put(out, "\\n");
        put_label(out, lines);
        t = ni_text_on(lines, sizeof(lines));
        ni_topo_put_rails(&t, topo->view, (int)at);
        if (t.len > 0)
            ni_put(out, "\\n");
        put_label(out, lines);
        ni_put(out, i < topo->n_given ? "\", style=filled, fillcolor=\"#cfe0f5\"];\n"
                                      : "\", style=dashed, fontcolor=\"#606060\"];\n");
        put_way(out, &hca->pci, "hca", at);
    }
}

/* Below one switch, all that are equally near; through the CPU, where that says little, the one of
   the plan. */
static void put_pairs(struct ni_text *out, const struct ni_topo *topo)
{
    for (unsigned g = 0; g < topo->view->inv->n_gpu; g++) {
        const struct ni_near *near = &topo->view->plan->nearest_hca[g];
        for (unsigned i = 0; i < topo->n_chosen; i++) {
            int hca = topo->hca[i];
            if (ni_topo_nearest(topo->view, g, hca) &&
                (near->distance <= NI_DIST_PXB || hca == near->index))
                ni_putf(out,
                        "  gpu%u -- hca%d [style=dotted, penwidth=2, color=\"#c04000\", "
                        "fontcolor=\"#c04000\", constraint=false, label=\"%s\"];\n",
                        g, hca, ni_topo_word(topo->view, g, hca));
        }
    }
}

int ni_write_topo_dot(int fd, const struct ni_view *view)
{
    struct ni_out o;
    struct ni_topo topo;
    struct ni_text *out = ni_out_on(&o, fd);
    ni_topo_on(&topo, view);
    ni_put(out, "strict graph topo {\n  label=\"");
    if (strcmp(view->root, "/") != 0) {
        put_label(out, view->root);
        ni_put(out, "\\n");
    }
    if (view->inv->n_gpu + topo.n_hca == 0)
        ni_put(out, "no GPU and no HCA");
    else
        ni_put(out, "filled: the pod's; dashed: other HCAs; dotted: the nearest kept HCA");
    if (topo.n_other > 0)
        ni_putf(out, "\\n%u other HCAs are left out", topo.n_other);
    ni_put(out, "\";\n"
                "  labelloc=b; fontname=\"sans-serif\"; fontsize=10; nodesep=0.2; ranksep=0.3;\n"
                "  node [shape=box, fontname=\"sans-serif\", fontsize=10];\n"
                "  edge [fontname=\"sans-serif\", fontsize=9];\n");
    put_gpus(out, view->inv);
    put_hcas(out, &topo);
    put_pairs(out, &topo);
    ni_put(out, "}\n");
    return ni_out_end(&o);
}
