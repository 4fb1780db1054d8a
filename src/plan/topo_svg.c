/* SPDX-License-Identifier: Apache-2.0 */
/* The report of topo, as a picture: a row for each GPU and HCA, in the order of the PCI tree. What
   they share of it stands left of them: NUMA node, host bridge, switches. Lines on the right lead
   from each GPU to the ports that it is to use. */
#include "plan/topo_svg.h"

#include <string.h>
#include <unistd.h>

#include "nccl_init/base.h"
#include "nccl_init/gpu.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/pci.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "plan/report.h"
#include "plan/topo.h"
#include "print/devices.h"
#include "print/svg.h"
#include "print/words.h"

enum {
    LEFT = 24,
    TOP = 116,
    ROW = 26,
    HIGH = 22, /* of a row's box */
    NUMA_WIDE = 74,
    BRIDGE_WIDE = 84,
    STEP = 18,               /* of one function on the way down */
    NARROWEST = 470,         /* of the boxes */
    NARROWEST_PICTURE = 860, /* room for the legend */
    LETTER = 7,              /* width, on average, in a wide font */
    FARTHEST = 172,          /* a line goes to the right */
    TIED = 3,                /* HCAs that are named beside a GPU, at most */
    MAX_ROWS = NI_MAX_GPU + NI_MAX_HCA
};

struct row {
    const struct ni_pci *pci;
    int gpu, hca; /* one of them is -1 */
};

struct picture {
    struct row row[MAX_ROWS];
    unsigned n, deepest;
    unsigned box, box_wide; /* where the boxes begin, and how wide they are */
    unsigned words;         /* where the words about the lines begin, right of them */
    unsigned wide;          /* the whole */
};

/* ---- rows, in the order of the tree ---- */

static int64_t numa_of(const struct ni_pci *pci)
{
    return pci->numa.known == NI_KNOWN ? pci->numa.v : -1;
}

static unsigned depth_of(const struct ni_pci *pci)
{
    return pci->known == NI_KNOWN ? pci->depth : 0;
}

/* Compares the places of two devices in the PCI tree: below, at or above 0. A device without a
   place comes last. */
static int order(const struct ni_pci *a, const struct ni_pci *b)
{
    const unsigned da = depth_of(a), db = depth_of(b);

    if ((da == 0) != (db == 0))
        return da == 0 ? 1 : -1;
    if (numa_of(a) != numa_of(b))
        return numa_of(a) < numa_of(b) ? -1 : 1;
    if (a->root_domain != b->root_domain)
        return a->root_domain < b->root_domain ? -1 : 1;
    if (a->root_bus != b->root_bus)
        return a->root_bus < b->root_bus ? -1 : 1;
    for (unsigned i = 0; i < da && i < db; i++) {
        const int c = ni_bdf_cmp(a->at[i], b->at[i]);

        if (c != 0)
            return c;
    }
    return (int)da - (int)db;
}

static void add_row(struct picture *p, struct row row)
{
    unsigned at = p->n;

    p->n++;
    for (; at > 0 && order(p->row[at - 1].pci, row.pci) > 0; at--)
        p->row[at] = p->row[at - 1];
    p->row[at] = row;
    if (depth_of(row.pci) > p->deepest + 1)
        p->deepest = depth_of(row.pci) - 1;
}

static void build(struct picture *p, const struct ni_view *view)
{
    p->n = p->deepest = 0;
    for (unsigned i = 0; i < view->inv->n_gpu; i++)
        add_row(p, (struct row){&view->inv->gpu[i].pci, (int)i, -1});
    for (unsigned i = 0; i < ni_count_shown_hcas(view); i++)
        add_row(p, (struct row){&view->inv->hca[i].pci, -1, (int)i});
    p->box = LEFT + NUMA_WIDE + BRIDGE_WIDE + p->deepest * STEP + 8;
}

/* ---- the tree: each part of it is as high as the rows that share it ---- */

/* Returns how much of their way from the root two devices share: 1: the NUMA node, 2: the host
   bridge too, 3: one function, ... */
static unsigned shared(const struct ni_pci *a, const struct ni_pci *b)
{
    unsigned n = 0;

    if (depth_of(a) == 0 || depth_of(b) == 0 || numa_of(a) != numa_of(b))
        return 0;
    if (a->root_domain != b->root_domain || a->root_bus != b->root_bus)
        return 1;
    while (n < depth_of(a) && n < depth_of(b) && ni_bdf_cmp(a->at[n], b->at[n]) == 0)
        n++;
    return 2 + n;
}

static void put_part(struct ni_text *out, const struct picture *p, unsigned first, unsigned level)
{
    static const char *const fill[] = {"#eeeeee", "#dddddd", "#cccccc"};
    const struct ni_pci *pci = p->row[first].pci;
    unsigned last = first, x = LEFT, wide = NUMA_WIDE;
    struct ni_text name = NI_TEXT(40);

    while (last + 1 < p->n && shared(pci, p->row[last + 1].pci) > level)
        last++;
    if (level == 0) {
        if (numa_of(pci) >= 0)
            ni_putf(&name, "NUMA %lld", (long long)numa_of(pci));
        else
            ni_put(&name, "no NUMA");
    } else if (level == 1) {
        x += NUMA_WIDE;
        wide = BRIDGE_WIDE;
        ni_putf(&name, "pci%04x:%02x", (unsigned)pci->root_domain, (unsigned)pci->root_bus);
    } else {
        x += NUMA_WIDE + BRIDGE_WIDE + (level - 2) * STEP;
        wide = STEP;
        ni_put_bdf(&name, &pci->at[level - 2]);
    }
    ni_putf(out,
            "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" fill=\"%s\" "
            "stroke=\"#fff\"><title>%s</title></rect>\n",
            x, TOP + first * ROW, wide - 2, (last - first) * ROW + HIGH,
            fill[level < 2 ? level : 2], name.buf);
    if (level < 2)
        ni_put_svg_text(out, x + 6, TOP + first * ROW + 15, name.buf);
}

static void put_tree(struct ni_text *out, const struct picture *p)
{
    for (unsigned i = 0; i < p->n; i++) {
        const unsigned depth = depth_of(p->row[i].pci);
        const unsigned known = i == 0 ? 0 : shared(p->row[i - 1].pci, p->row[i].pci);

        for (unsigned level = known; depth > 0 && level < depth + 1; level++)
            put_part(out, p, i, level);
    }
}

/* ---- GPUs and HCAs ---- */

static unsigned count_chosen(const struct ni_view *view, const struct ni_hca *hca)
{
    unsigned n = 0;

    for (unsigned k = 0; k < hca->n_port; k++)
        n += view->plan->port[hca->first_port + (int)k].chosen;
    return n;
}

/* Puts "1: 400G RoCE net1". */
static void put_port_words(struct ni_text *t, const struct ni_view *view, const struct ni_hca *hca,
                           int at)
{
    const struct ni_port *port = &view->inv->port[at];
    struct ni_text netdev = NI_TEXT(80);

    ni_putf(t, "%u:", port->num);
    if (port->mbps.known == NI_KNOWN)
        ni_putf(t, " %gG", (double)port->mbps.v / 1000);
    ni_putf(t, " %s", ni_link_words[port->link].text);
    ni_put_port_netdev(&netdev, view, hca, at);
    if (netdev.len > 0)
        ni_putf(t, " %s", netdev.buf);
}

/* Returns true if the IOMMU translates what this HCA of the pod would read and write of a GPU, which
   with NVLink-C2C has another way to memory: what doctor's check iommu.type calls an error. */
static bool is_translated(const struct ni_view *view, const struct ni_hca *hca)
{
    const struct ni_inventory *inv = view->inv;

    return inv->n_gpu > 0 && !inv->gdr.c2c && ni_is_allocated(hca) && ni_is_translated(hca);
}

static bool is_any_translated(const struct ni_view *view)
{
    for (unsigned i = 0; i < ni_count_shown_hcas(view); i++) {
        if (is_translated(view, &view->inv->hca[i]))
            return true;
    }
    return false;
}

/* Puts "mlx5_6 port 1: 400G RoCE net1, 0000:03:00.2, chosen". If only some of its ports are chosen,
   the word stands beside each port. */
static void put_hca_words(struct ni_text *t, const struct ni_view *view, const struct ni_hca *hca)
{
    const unsigned chosen = count_chosen(view, hca);
    const bool mixed = chosen > 0 && chosen < hca->n_port;

    ni_quote(t, hca->name);
    for (unsigned k = 0; k < hca->n_port; k++) {
        const int at = hca->first_port + (int)k;

        ni_put(t, k > 0 ? ", " : " port ");
        put_port_words(t, view, hca, at);
        if (mixed)
            ni_put(t, view->plan->port[at].chosen ? " (chosen)" : " (left out)");
    }
    ni_put(t, ", ");
    ni_put_hca_address(t, hca);
    if (!ni_is_allocated(hca)) {
        ni_put(t, ", not the pod's");
        return;
    }
    if (!mixed)
        ni_put(t, chosen > 0 ? ", chosen" : ", left out");
    if (chosen == 0 && hca->n_port > 0 && view->plan->port[hca->first_port].why[0])
        ni_putf(t, ": %s", view->plan->port[hca->first_port].why);
    if (is_translated(view, hca))
        ni_put(t, "; the IOMMU translates");
}

static void put_gpu_words(struct ni_text *t, const struct ni_gpu *gpu, int number)
{
    ni_putf(t, "GPU%d, ", number);
    ni_put_bdf(t, &gpu->bdf);
    ni_put(t, gpu->cpus[0] ? ", CPUs " : "");
    ni_quote(t, gpu->cpus);
}

static void put_row_words(struct ni_text *t, const struct ni_view *view, const struct row *row)
{
    if (row->hca >= 0)
        put_hca_words(t, view, &view->inv->hca[row->hca]);
    else
        put_gpu_words(t, &view->inv->gpu[row->gpu], row->gpu);
}

/* Makes the boxes as wide as the longest words need. */
static void fit_boxes(struct picture *p, const struct ni_view *view)
{
    p->box_wide = NARROWEST;
    for (unsigned i = 0; i < p->n; i++) {
        struct ni_text words = NI_TEXT(800);

        put_row_words(&words, view, &p->row[i]);
        const unsigned wide = (unsigned)words.len * LETTER + 2 * 8;
        if (wide > p->box_wide)
            p->box_wide = wide;
    }
}

/* Returns the colours of a row's box. */
static const char *box_style(const struct ni_view *view, const struct row *row)
{
    if (row->hca < 0)
        return "fill=\"#d5e8c8\" stroke=\"#6a9a4a\"";
    if (is_translated(view, &view->inv->hca[row->hca]))
        return "fill=\"#fbd5d5\" stroke=\"#c00000\" stroke-width=\"2\"";
    if (count_chosen(view, &view->inv->hca[row->hca]) > 0)
        return "fill=\"#9ed2f3\" stroke=\"#2b7bb0\"";
    if (ni_is_allocated(&view->inv->hca[row->hca]))
        return "fill=\"#fff\" stroke=\"#2b7bb0\"";
    return "fill=\"#fff\" stroke=\"#888\" stroke-dasharray=\"4 3\"";
}

static void put_boxes(struct ni_text *out, const struct picture *p, const struct ni_view *view)
{
    for (unsigned i = 0; i < p->n; i++) {
        const struct row *row = &p->row[i];
        struct ni_text words = NI_TEXT(800);

        put_row_words(&words, view, row);
        ni_putf(out, "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%d\" rx=\"3\" %s/>\n", p->box,
                TOP + i * ROW, p->box_wide, HIGH, box_style(view, row));
        ni_put_svg_text(out, p->box + 8, TOP + i * ROW + 15, words.buf);
    }
}

/* ---- which GPU uses which port ---- */

static int row_of_hca(const struct picture *p, int hca)
{
    for (unsigned i = 0; i < p->n; i++) {
        if (p->row[i].hca == hca)
            return (int)i;
    }
    return -1;
}

/* Returns the row of the HCA to which a line leads from the GPU of `row`: that of chosen port k.
   -1: the port is not for this GPU. */
static int tied_to(const struct picture *p, const struct ni_view *view, unsigned row, unsigned k)
{
    const int gpu = p->row[row].gpu;

    if (gpu < 0 || (view->plan->gpu_ports[gpu] >> k & 1) == 0)
        return -1;
    return row_of_hca(p, view->inv->port[view->plan->chosen[k]].hca);
}

/* Returns how far, in pixels, the line between two rows goes to the right: the more rows lie
   between them, the farther, so that lines lie beside each other. */
static int reach(int from, int to)
{
    const int rows = from < to ? to - from : from - to;
    const int far = 27 + 9 * rows;

    return far > FARTHEST ? FARTHEST : far;
}

/* Lines of neighbours may have to cross: each GPU's have a colour of their own (Okabe and Ito's, which
   people tell apart who see no red or green). */
static void put_tie(struct ni_text *out, const struct picture *p, int from, int to)
{
    static const char *const colours[] = {"#d55e00", "#0072b2", "#009e73", "#cc79a7"};
    const int x = (int)(p->box + p->box_wide), y1 = TOP + from * ROW + HIGH / 2,
              y2 = TOP + to * ROW + HIGH / 2;
    /* a curve goes three quarters of the way to its control points */
    const int control = x + reach(from, to) * 4 / 3;

    ni_putf(out,
            "<path d=\"M%d %dC%d %d %d %d %d %d\" fill=\"none\" stroke=\"%s\" "
            "stroke-width=\"1.5\"/>\n",
            x, y1, control, y1, control, y2, x, y2,
            colours[(unsigned)p->row[from].gpu % NI_COUNT(colours)]);
}

/* Puts the distances of a GPU's lines, and the HCAs to which they lead: "PXB mlx5_6, SYS mlx5_7".
   Nothing, if it has no line. */
static void put_tie_words(struct ni_text *t, const struct picture *p, const struct ni_view *view,
                          unsigned row)
{
    unsigned n = 0;
    int last = -1;

    for (unsigned k = 0; k < view->plan->n_chosen; k++) {
        const int to = tied_to(p, view, row, k);

        if (to < 0 || to == last)
            continue;
        last = to;
        n++;
        if (n > TIED)
            continue;
        const int hca = p->row[to].hca;
        const enum ni_distance d = view->plan->distance[p->row[row].gpu][hca];

        ni_putf(t, "%s%s ", n > 1 ? ", " : "", ni_distance_text(d));
        ni_quote(t, view->inv->hca[hca].name);
    }
    if (n > TIED)
        ni_putf(t, " and %u more", n - TIED);
}

/* Finds where the words about the lines begin, right of all lines so that none crosses them, and how
   wide the picture is. */
static void fit_words(struct picture *p, const struct ni_view *view)
{
    unsigned far = 0, longest = 0;

    for (unsigned i = 0; i < p->n; i++) {
        struct ni_text words = NI_TEXT(400);

        for (unsigned k = 0; k < view->plan->n_chosen; k++) {
            const int to = tied_to(p, view, i, k);

            if (to >= 0 && (unsigned)reach((int)i, to) > far)
                far = (unsigned)reach((int)i, to);
        }
        put_tie_words(&words, p, view, i);
        if (words.len > longest)
            longest = (unsigned)words.len;
    }
    p->words = p->box + p->box_wide + far + 8;
    p->wide = p->words + longest * LETTER + LEFT;
    if (p->wide < NARROWEST_PICTURE)
        p->wide = NARROWEST_PICTURE;
}

/* Draws the lines of all GPUs, and puts their words beside the GPUs. */
static void put_ties(struct ni_text *out, const struct picture *p, const struct ni_view *view)
{
    for (unsigned i = 0; i < p->n; i++) {
        struct ni_text words = NI_TEXT(400);

        for (unsigned k = 0; k < view->plan->n_chosen; k++) {
            const int to = tied_to(p, view, i, k);

            if (to >= 0)
                put_tie(out, p, (int)i, to);
        }
        put_tie_words(&words, p, view, i);
        if (words.len > 0)
            ni_put_svg_text(out, p->words, TOP + i * ROW + 15, words.buf);
    }
}

/* ---- the whole ---- */

/* Puts the host and the time, or the recording. */
static void put_where(struct ni_text *t, const struct ni_view *view)
{
    char host[80] = "";

    if (strcmp(view->root, "/") != 0) {
        ni_putf(t, "recording %s", view->root);
        return;
    }
    (void)gethostname(host, sizeof(host) - 1);
    ni_putf(t, "host %s, ", host);
    ni_put_now(t);
}

static void put_picture_legend(struct ni_text *out, const struct ni_view *view, bool flat)
{
    if (is_any_translated(view))
        ni_put_svg_text(out, LEFT, 104,
                        "Red: the IOMMU translates. GPUDirect RDMA fails or is very slow there: "
                        "nccl-init explain iommu.translated");
    ni_put_svg_text(out, LEFT, 72,
                    flat ? "The PCI tree is flattened, as in a virtual machine: distances mean "
                           "nothing, and no lines are drawn."
                         : "Lines: the ports for each GPU, and how far they are.");
    ni_put_svg_text(
        out, LEFT, 88,
        "Green: GPUs. Blue: chosen HCAs. White: others; dashed: not the pod's. Grey: PCI "
        "bridges.");
}

void ni_put_topo_svg(struct ni_text *out, const struct ni_view *view)
{
    struct ni_text head = NI_TEXT(1024), where = NI_TEXT(1024);
    const bool flat = ni_flat_gpu(view->inv) >= 0;
    struct picture p;

    build(&p, view);
    fit_boxes(&p, view);
    fit_words(&p, view);
    const unsigned high = TOP + p.n * ROW + LEFT;
    ni_put_transport(&head, view);
    ni_putf(&head, "; %s", ni_source_words[view->inv->source].text);
    put_where(&where, view);
    ni_putf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %u %u\" width=\"%u\" "
            "height=\"%u\" font-family=\"sans-serif\" font-size=\"12\">\n<title>",
            p.wide, high, p.wide, high);
    ni_put_xml(out, head.buf);
    ni_put(out, "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
    ni_put_svg_text(out, LEFT, 28, head.buf);
    ni_put_svg_text(out, LEFT, 48, where.buf);
    put_picture_legend(out, view, flat);
    put_tree(out, &p);
    put_boxes(out, &p, view);
    if (!flat)
        put_ties(out, &p, view);
    if (p.n == 0)
        ni_put_svg_text(out, LEFT, TOP, "There is no GPU and no HCA.");
    ni_put(out, "</svg>\n");
}
