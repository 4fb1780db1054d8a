/* SPDX-License-Identifier: Apache-2.0 */
/* The topology: how far each HCA is from each GPU, in the words of `nvidia-smi topo -m`. For people
   a table, for programs JSON, for Graphviz (`dot -Tsvg`) a picture of the PCI tree. */
#include "parts.h"

#include <string.h>

/* ---- what the three share ---- */

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

/* Whether no chosen HCA is nearer to the GPU than this chosen one, as NCCL counts. Several can be.
   */
static bool is_nearest(const struct ni_view *view, unsigned gpu, int hca)
{
    const struct ni_near *near = &view->plan->nearest_hca[gpu];
    return ni_is_near(near) && view->plan->distance[gpu][hca] == near->distance &&
           ni_chosen_ports(view, &view->inv->hca[hca]) > 0;
}

/* The interfaces that the HCA's traffic belongs to: those of the GIDs that were picked, else the
   function's own. Returns how many. */
static unsigned netdevs_of(const struct ni_view *view, const struct ni_hca *hca,
                           const char *ret[NI_MAX_PORT])
{
    unsigned n = 0;
    for (unsigned i = 0; i < hca->n_port; i++) {
        const struct ni_gid *gid = ni_picked_gid(view, hca->first_port + (int)i);
        if (gid && gid->ndev[0] && !ni_is_any(gid->ndev, ret, n))
            ret[n++] = gid->ndev;
    }
    if (n == 0 && hca->netdev >= 0)
        ret[n++] = view->inv->netdev[hca->netdev].name;
    return n;
}

static void put_netdevs(struct ni_text *t, const struct ni_view *view, const struct ni_hca *hca)
{
    const char *name[NI_MAX_PORT];
    unsigned n = netdevs_of(view, hca, name);
    for (unsigned i = 0; i < n; i++) {
        ni_put(t, i > 0 ? "," : "");
        ni_quote(t, name[i]);
    }
}

/* Whether the place on the PCI tree is known down to the function. */
static bool is_placed(const struct ni_pci *pci)
{
    return pci->known == NI_KNOWN && pci->depth > 0;
}

static void put_host_bridge(struct ni_text *t, const struct ni_pci *pci) /* "pci0000:20" */
{
    ni_putf(t, "pci%04x:%02x", (unsigned)pci->root_domain, (unsigned)pci->root_bus);
}

/* ---- for people ---- */

static void put_gpus(struct ni_text *out, const struct ni_view *view)
{
    if (view->inv->n_gpu == 0) {
        ni_put(out, "\nNo GPU was found.\n");
        return;
    }
    struct ni_text table = ni_table_on("GPU\tADDRESS\tNUMA\tTO USE\tCPUS OF THE NUMA NODE"),
                   *t = &table;
    for (unsigned i = 0; i < view->inv->n_gpu; i++) {
        const struct ni_gpu *gpu = &view->inv->gpu[i];
        ni_putf(ni_row(t, NI_PLAIN), "GPU%u", i);
        ni_put_bdf(ni_cell(t), &gpu->bdf);
        ni_put_num(ni_cell(t), ni_numa(&gpu->pci));
        ni_put_use(ni_cell(t), view, i);
        ni_put(ni_cell(t), gpu->cpus); /* to pin a rank to */
    }
    ni_put(out, "\n");
    ni_table_write(out, t, view->colour);
}

static void put_hca(struct ni_text *table, const struct ni_view *view, int at, enum ni_tint tint)
{
    const struct ni_hca *hca = &view->inv->hca[at];
    const unsigned chosen = ni_chosen_ports(view, hca);
    struct ni_text *t = ni_row(table, tint);
    ni_quote(t, hca->name);
    ni_put_address(ni_cell(t), hca);
    ni_put_num(ni_cell(t), ni_numa(&hca->pci));
    put_netdevs(ni_cell(t), view, hca);
    ni_put(ni_cell(t), chosen > 0 ? "yes" : "no");
    if (chosen > 0 && chosen < hca->n_port)
        ni_putf(t, ", %u of %u ports", chosen, hca->n_port);
    for (unsigned g = 0; g < view->inv->n_gpu; g++)
        ni_putf(ni_cell(t), "%s%s", pair_word(view, g, at), is_nearest(view, g, at) ? "*" : "");
}

static void put_hcas(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_shown shown = ni_shown_hcas(view);
    if (shown.n == 0) {
        ni_put(out, "\nNo HCA was found.\n");
        return;
    }
    struct ni_text table = ni_table_on("HCA\tADDRESS\tNUMA\tNETDEV\tKEPT");
    for (unsigned g = 0; g < view->inv->n_gpu; g++)
        ni_putf(ni_cell(&table), "GPU%u", g);
    for (unsigned i = 0; i < shown.n; i++)
        put_hca(&table, view, shown.hca[i], i < shown.n_chosen ? NI_GREEN : NI_DIM);
    ni_put(out, "\n");
    ni_table_write(out, &table, view->colour);
    ni_put_hidden(out, &shown);
    if (view->inv->n_gpu > 0)
        ni_put(out, "\n"
                    "  PIX   through one PCIe switch at most\n"
                    "  PXB   through several PCIe switches, not through the CPU\n"
                    "  PHB   through the CPU's host bridge\n"
                    "  NODE  through two host bridges of one NUMA node; NCCL counts it as PHB\n"
                    "  SYS   from one NUMA node to another\n"
                    "  -     not known: sysfs does not show where one of the two is\n"
                    "  *     none of the kept HCAs is nearer to this GPU, as NCCL counts\n");
}

/* Where the distances are not what they seem. */
static void put_doubts(struct ni_text *out, const struct ni_inventory *inv)
{
    for (unsigned i = 0; i < inv->n_gpu && inv->n_hca > 0; i++) {
        if (inv->gpu[i].pci.known == NI_KNOWN && inv->gpu[i].pci.depth == 1) {
            ni_putf(out,
                    "\nGPU%u is on the root bus: the PCI tree is flattened, as in a virtual "
                    "machine, and distances mean nothing.\n",
                    i);
            break;
        }
    }
    if (inv->gdr.c2c && inv->n_hca > 0)
        ni_put(out, "\nCPU and GPU share NVLink-C2C: NCCL may use it, and these distances do not "
                    "count it.\n");
}

void ni_put_topo(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_inventory *inv = view->inv;
    unsigned kept = 0;
    if (view->plan->transport == NI_NET_OFF) {
        ni_put(out, "Topology: nothing is read (mode off)\n");
        return;
    }
    for (unsigned i = 0; i < inv->n_hca; i++)
        kept += ni_chosen_ports(view, &inv->hca[i]) > 0;
    ni_put(out, "Topology: ");
    ni_put_count(out, inv->n_gpu, "GPU");
    ni_put(out, ", ");
    ni_put_count(out, inv->n_hca, "HCA");
    if (inv->n_hca > 0)
        ni_putf(out, ", %u kept", kept);
    ni_put(out, "; ");
    ni_put_origin(out, view);
    put_gpus(out, view);
    put_hcas(out, view);
    put_doubts(out, inv);
}

/* ---- for programs: all GPUs and HCAs, in the order of the inventory; members are named as in the
   plan's JSON where they are the same ---- */

/* From the host bridge down to the function. */
static void path_json(struct ni_json *j, const struct ni_pci *pci)
{
    char bridge[32];
    struct ni_text t = ni_text_on(bridge, sizeof(bridge));
    if (!is_placed(pci)) {
        ni_json_null(j, "path");
        return;
    }
    put_host_bridge(&t, pci);
    ni_json_array(j, "path");
    ni_json_text(j, NULL, bridge);
    for (unsigned i = 0; i < pci->depth; i++)
        ni_json_bdf(j, NULL, &pci->at[i]);
    ni_json_end(j);
}

static void distance_json(struct ni_json *j, const char *key, const char *word)
{
    ni_json_text(j, key, word[0] == '-' ? NULL : word);
}

static void gpu_json(struct ni_json *j, const struct ni_view *view, unsigned g)
{
    const struct ni_inventory *inv = view->inv;
    ni_json_gpu(j, view, g);
    path_json(j, &inv->gpu[g].pci);
    ni_json_array(j, "distances");
    for (unsigned h = 0; h < inv->n_hca; h++) {
        ni_json_object(j, NULL);
        ni_json_text(j, "hca", inv->hca[h].name);
        distance_json(j, "distance", ni_distance_text(view->plan->distance[g][h]));
        distance_json(j, "nvidia_smi", pair_word(view, g, (int)h));
        ni_json_bool(j, "nearest", is_nearest(view, g, (int)h));
        ni_json_end(j);
    }
    ni_json_end(j);
}

/* All GPUs that are equally near. */
static void nearest_gpus_json(struct ni_json *j, const struct ni_view *view, unsigned hca)
{
    const struct ni_near *near = &view->plan->nearest_gpu[hca];
    if (!ni_json_object_or_null(j, "nearest_gpus", ni_is_near(near)))
        return;
    ni_json_array(j, "gpus");
    for (unsigned i = 0; i < view->inv->n_gpu; i++)
        if (view->plan->distance[i][hca] == near->distance)
            ni_json_int(j, NULL, i);
    ni_json_end(j);
    ni_json_text(j, "distance", ni_distance_text(near->distance));
    ni_json_end(j);
}

static void hca_json(struct ni_json *j, const struct ni_view *view, unsigned i)
{
    const struct ni_hca *hca = &view->inv->hca[i];
    const char *netdev[NI_MAX_PORT];
    unsigned n = netdevs_of(view, hca, netdev);
    ni_json_hca(j, hca);
    path_json(j, &hca->pci);
    ni_json_bool(j, "claimed", ni_is_given(hca));
    ni_json_bool(j, "kept", ni_chosen_ports(view, hca) > 0);
    ni_json_array(j, "netdevs");
    for (unsigned k = 0; k < n; k++)
        ni_json_text(j, NULL, netdev[k]);
    ni_json_end(j);
    nearest_gpus_json(j, view, i);
}

void ni_put_topo_json(struct ni_text *out, const struct ni_view *view)
{
    struct ni_json json = ni_json_report(out), *j = &json;
    ni_json_text(j, "root", view->root);
    ni_json_text(j, "transport", ni_transport_words[view->plan->transport]);
    ni_json_text(j, "source", ni_source_words[view->inv->source].json);
    ni_json_bool(j, "c2c", view->inv->gdr.c2c);
    ni_json_list(j, "gpus", view, 0, view->inv->n_gpu, gpu_json);
    ni_json_list(j, "hcas", view, 0, view->inv->n_hca, hca_json);
    ni_json_end(j);
}

/* ---- the picture: the PCI tree from the host bridges down to GPUs and HCAs, one box for each NUMA
   node. Each GPU and HCA is written with its whole way up: in a strict graph, what is there twice
   is drawn once. Names of GPUs and HCAs are made here, so that only labels carry what was read ----
   */

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
    if (!is_placed(pci))
        return;
    ni_put(out, "  ");
    if (box)
        ni_putf(out, "subgraph cluster%lld { label=\"NUMA node %lld\"; ", (long long)pci->numa.v,
                (long long)pci->numa.v);
    ni_put(out, "\"");
    put_host_bridge(out, pci);
    ni_put(out, "\" -- ");
    for (unsigned i = 0; i + 1U < pci->depth; i++)
        ni_putf(out, "\"%s\" -- ", ni_bdf_text(pci->at[i], bdf));
    ni_putf(out, "%s%u;%s\n", leaf, index, box ? " }" : "");
}

static void draw_gpu(struct ni_text *out, const struct ni_gpu *gpu, unsigned i)
{
    char bdf[NI_BDF_TEXT];
    ni_putf(out, "  gpu%u [label=\"GPU%u\\n%s\", style=filled, fillcolor=\"#d5e8c8\"];\n", i, i,
            ni_bdf_text(gpu->bdf, bdf));
    put_way(out, &gpu->pci, "gpu", i);
}

static void draw_hca(struct ni_text *out, const struct ni_view *view, unsigned at, bool given)
{
    const struct ni_hca *hca = &view->inv->hca[at];
    char address[256], netdevs[512];
    struct ni_text a = ni_text_on(address, sizeof(address));
    struct ni_text n = ni_text_on(netdevs, sizeof(netdevs));
    ni_put_address(&a, hca);
    put_netdevs(&n, view, hca);
    ni_putf(out, "  hca%u [label=\"", at);
    put_label(out, hca->name);
    ni_put(out, a.len > 0 ? "\\n" : "");
    put_label(out, address);
    ni_put(out, n.len > 0 ? "\\n" : "");
    put_label(out, netdevs);
    ni_put(out, given ? "\", style=filled, fillcolor=\"#cfe0f5\"];\n"
                      : "\", style=dashed, fontcolor=\"#606060\"];\n");
    put_way(out, &hca->pci, "hca", at);
}

/* Below one switch, all that are equally near; through the CPU, where that says little, the one of
   the plan. */
static void draw_pairs(struct ni_text *out, const struct ni_view *view,
                       const struct ni_shown *shown)
{
    for (unsigned g = 0; g < view->inv->n_gpu; g++) {
        const struct ni_near *near = &view->plan->nearest_hca[g];
        for (unsigned i = 0; i < shown->n_chosen; i++) {
            int hca = shown->hca[i];
            if (is_nearest(view, g, hca) && (near->distance <= NI_DIST_PXB || hca == near->index))
                ni_putf(out,
                        "  gpu%u -- hca%d [style=dotted, penwidth=2, color=\"#c04000\", "
                        "fontcolor=\"#c04000\", constraint=false, label=\"%s\"];\n",
                        g, hca, pair_word(view, g, hca));
        }
    }
}

void ni_put_topo_dot(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_shown shown = ni_shown_hcas(view);
    ni_put(out, "strict graph topo {\n  label=\"");
    if (strcmp(view->root, "/") != 0) {
        put_label(out, view->root);
        ni_put(out, "\\n");
    }
    if (view->inv->n_gpu + shown.n == 0)
        ni_put(out, "no GPU and no HCA");
    else
        ni_put(out, "filled: the pod's; dashed: other HCAs; dotted: the nearest kept HCA");
    if (shown.n_hidden > 0)
        ni_putf(out, "\\n%u other HCAs are left out", shown.n_hidden);
    ni_put(out, "\";\n"
                "  labelloc=b; fontname=\"sans-serif\"; fontsize=10; nodesep=0.2; ranksep=0.3;\n"
                "  node [shape=box, fontname=\"sans-serif\", fontsize=10];\n"
                "  edge [fontname=\"sans-serif\", fontsize=9];\n");
    for (unsigned i = 0; i < view->inv->n_gpu; i++)
        draw_gpu(out, &view->inv->gpu[i], i);
    for (unsigned i = 0; i < shown.n; i++)
        draw_hca(out, view, (unsigned)shown.hca[i], i < shown.n_given);
    draw_pairs(out, view, &shown);
    ni_put(out, "}\n");
}
