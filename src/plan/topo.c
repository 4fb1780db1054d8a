/* SPDX-License-Identifier: Apache-2.0 */
/* The report of topo: distances between ports and GPUs in NCCL's words, and
   a picture of the PCI tree for Graphviz (`dot -Tsvg`). Programs find the distances in the JSON
   of plan. */
#include "plan/topo.h"

#include "nccl_init/gpu.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/pci.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "plan/report.h"
#include "print/devices.h"
#include "print/layout.h"
#include "print/words.h"

/* Returns true if NCCL takes the chosen port for the GPU; several can be alike. Where that is not
   known, and with NVLink-C2C, it is the nearest. */
static bool is_taken(const struct ni_view *view, unsigned gpu, int port)
{
    const struct ni_plan *plan = view->plan;
    const struct ni_taken *taken = ni_plan_taken(plan, view->inv, gpu);
    const struct ni_near *near = &plan->nearest_hca[gpu];

    if (!taken)
        return near->index >= 0 && plan->distance[gpu][view->inv->port[port].hca] == near->distance;
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        if (plan->chosen[i] == port && taken->ports >> i & 1)
            return true;
    }
    return false;
}

/* Puts a row for each port, with a column for the way to each GPU, and the legend. */
static void put_matrix(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_inventory *inv = view->inv;
    struct ni_text table = ni_table_on("PORT\tADDRESS\tNUMA\tNETDEV\tCHOSEN");

    for (unsigned g = 0; g < inv->n_gpu; g++)
        ni_putf(ni_cell(&table), "GPU%u", g);
    for (unsigned i = 0; i < ni_count_shown_hcas(view); i++) {
        const struct ni_hca *hca = &inv->hca[i];

        for (unsigned p = 0; p == 0 || p < hca->n_port; p++) {
            const int at = hca->n_port == 0 ? -1 : hca->first_port + (int)p;
            const bool chosen = at >= 0 && view->plan->port[at].chosen;
            struct ni_text *t = ni_begin_port_row(&table, view, hca, at);

            ni_put_hca_address(ni_cell(t), hca);
            ni_put_num(ni_cell(t), hca->pci.numa);
            ni_put_port_netdev(ni_cell(t), view, hca, at);
            ni_put(ni_cell(t), chosen ? "yes" : "no");
            for (unsigned g = 0; g < inv->n_gpu; g++) {
                ni_putf(ni_cell(t), "%s%s", ni_distance_text(view->plan->distance[g][i]),
                        chosen && is_taken(view, g, at) ? "*" : "");
            }
        }
    }
    ni_put_port_table(out, &table, view);
}

/* Puts the way from each GPU to each other one over PCI; NVLink is not in sysfs. */
static void put_gpu_matrix(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_inventory *inv = view->inv;
    struct ni_text table = ni_table_on("GPU");

    for (unsigned g = 0; g < inv->n_gpu; g++)
        ni_putf(ni_cell(&table), "GPU%u", g);
    for (unsigned a = 0; a < inv->n_gpu; a++) {
        ni_putf(ni_row(&table, NI_PLAIN), "GPU%u", a);
        for (unsigned b = 0; b < inv->n_gpu; b++)
            ni_put(ni_cell(&table),
                   a == b ? "X"
                          : ni_distance_text(ni_pci_distance(&inv->gpu[a].pci, &inv->gpu[b].pci)));
    }
    ni_put(out, "\nGPU to GPU over PCI (sysfs does not show NVLink)\n");
    ni_table_write(out, &table, view->colour);
}

static void put_distance_legend(struct ni_text *out)
{
    ni_put(out, "\nDistances, as NCCL counts them\n"
                "  PIX   through one PCIe switch at most\n"
                "  PXB   through several PCIe switches, not through the CPU\n"
                "  PHB   through the CPU, on one NUMA node (nvidia-smi also calls it NODE)\n"
                "  SYS   from one NUMA node to another\n"
                "  -     not known: sysfs does not show where one of the two is\n"
                "  *     NCCL takes it for this GPU: the fastest path, of those the shortest\n");
}

int ni_flat_gpu(const struct ni_inventory *inv)
{
    for (unsigned i = 0; i < inv->n_gpu; i++) {
        if (inv->gpu[i].pci.known == NI_KNOWN && inv->gpu[i].pci.depth == 1)
            return (int)i;
    }
    return -1;
}

void ni_put_topo(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_inventory *inv = view->inv;
    const int flat = ni_flat_gpu(inv);
    struct ni_text note = NI_TEXT(160);

    ni_put_plan_heading(out, "Topology", view);
    ni_put_gpu_table(out, view);
    if (inv->n_hca > 0)
        put_matrix(out, view);
    if (inv->n_gpu > 1)
        put_gpu_matrix(out, view);
    if (inv->n_gpu > 1 || (inv->n_gpu > 0 && inv->n_hca > 0))
        put_distance_legend(out);
    if (flat >= 0) {
        ni_putf(&note,
                "GPU%d is on the root bus: the PCI tree is flattened, as in a virtual machine, "
                "and distances mean nothing.",
                flat);
        ni_put(out, "\n");
        ni_put_line(out, note.buf);
    }
}

/* ---- the picture: the PCI tree from the host bridges down to GPUs and HCAs, one box for each NUMA
   node. Each GPU and HCA is written with its whole way up: in a strict graph, what is there twice
   is drawn once. Names of GPUs and HCAs are made here, so that only labels carry what was read ----
   */

/* Puts the way to a GPU or an HCA, as "pci0000:00" -- "0000:00:01.1" -- gpu0, in the box of its
   NUMA node. */
static void put_graph_way(struct ni_text *out, const char *id, const struct ni_pci *pci)
{
    const bool box = pci->numa.known == NI_KNOWN && pci->numa.v >= 0;

    if (pci->known != NI_KNOWN || pci->depth == 0)
        return;
    ni_put(out, "  ");
    if (box)
        ni_putf(out, "subgraph cluster%lld { label=\"NUMA node %lld\"; ", (long long)pci->numa.v,
                (long long)pci->numa.v);
    ni_putf(out, "\"pci%04x:%02x\" -- ", (unsigned)pci->root_domain, (unsigned)pci->root_bus);
    for (unsigned i = 0; i + 1U < pci->depth; i++) {
        ni_put(out, "\"");
        ni_put_bdf(out, &pci->at[i]);
        ni_put(out, "\" -- ");
    }
    ni_putf(out, "%s;%s\n", id, box ? " }" : "");
}

/* Puts a GPU or an HCA: its name, which is untrusted, and address; then the way to it. */
static void put_graph_node(struct ni_text *out, const char *id, const char *name,
                           const struct ni_bdf *bdf, const char *style, const struct ni_pci *pci)
{
    struct ni_text t = NI_TEXT(512);

    ni_quote(&t, name);
    ni_putf(out, "  %s [label=\"", id);
    for (const char *c = t.buf; *c; c++) {
        if (*c == '"' || *c == '\\')
            ni_put(out, "\\");
        ni_putn(out, c, 1);
    }
    ni_put(out, bdf ? "\\n" : "");
    ni_put_bdf(out, bdf);
    ni_putf(out, "\", %s];\n", style);
    put_graph_way(out, id, pci);
}

void ni_put_topo_dot(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_inventory *inv = view->inv;
    char id[16], name[16];

    ni_put(out, "strict graph topo {\n"
                "  label=\"filled: the pod's; dashed: other HCAs; dotted: for this GPU\";\n"
                "  labelloc=b; fontname=\"sans-serif\"; fontsize=10; nodesep=0.2; ranksep=0.3;\n"
                "  node [shape=box, fontname=\"sans-serif\", fontsize=10];\n"
                "  edge [fontname=\"sans-serif\", fontsize=9];\n");
    for (unsigned i = 0; i < inv->n_gpu; i++) {
        const struct ni_gpu *gpu = &inv->gpu[i];

        ni_format(id, sizeof(id), "gpu%u", i);
        ni_format(name, sizeof(name), "GPU%u", i);
        put_graph_node(out, id, name, &gpu->bdf, "style=filled, fillcolor=\"#d5e8c8\"", &gpu->pci);
    }
    for (unsigned i = 0; i < ni_count_shown_hcas(view); i++) {
        const struct ni_hca *hca = &inv->hca[i];

        ni_format(id, sizeof(id), "hca%u", i);
        put_graph_node(out, id, hca->name, ni_function_bdf(hca),
                       ni_is_allocated(hca) ? "style=filled, fillcolor=\"#cfe0f5\""
                                            : "style=dashed, fontcolor=\"#606060\"",
                       &hca->pci);
    }
    for (unsigned g = 0; g < inv->n_gpu && ni_flat_gpu(inv) < 0; g++) {
        for (unsigned i = 0; i < view->plan->n_chosen; i++) {
            const int hca = inv->port[view->plan->chosen[i]].hca;

            if (view->plan->gpu_ports[g] >> i & 1)
                ni_putf(out,
                        "  gpu%u -- hca%d [style=dotted, penwidth=2, color=\"#c04000\", "
                        "fontcolor=\"#c04000\", constraint=false, label=\"%s\"];\n",
                        g, hca, ni_distance_text(view->plan->distance[g][hca]));
        }
    }
    ni_put(out, "}\n");
}
