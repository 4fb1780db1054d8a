/* SPDX-License-Identifier: Apache-2.0 */
/* The topology for people: GPUs against HCAs as `nvidia-smi topo -m` draws it, then who the HCAs
   are, then what the words mean. */
#include <string.h>

#include "out.h"
#include "table.h"
#include "topo.h"
#include "words.h"

enum {
    LINE = 100, /* a matrix that is wider comes in several pieces */
    CELL = 5,   /* "NODE*" */
    NEAR = 4,   /* so many equally near GPUs are named */
    NAME_TEXT = 4 * NI_DEV_NAME
};

/* ---- the matrix ---- */

struct matrix {
    struct ni_text *out;
    const struct ni_topo *topo;
    size_t gpu, address, numa; /* widths */
    size_t pad;                /* blanks owed to the cell before; a line's last one gets none */
};

static void put_cell(struct matrix *m, const char *text, size_t width, enum ni_tint tint)
{
    ni_putf(m->out, "%*s  ", (int)m->pad, "");
    ni_tint_on(m->out, m->topo->view->colour, tint);
    ni_put(m->out, text);
    ni_tint_off(m->out, m->topo->view->colour, tint);
    m->pad = width - strlen(text);
}

static void end_line(struct matrix *m)
{
    ni_put(m->out, "\n");
    m->pad = 0;
}

/* The HCA's name as it is shown, and the width of its column. */
static size_t name_of(const struct matrix *m, unsigned column, char buf[NAME_TEXT])
{
    struct ni_text t = ni_text_on(buf, NAME_TEXT);
    ni_say_port(&t, &m->topo->view->inv->hca[m->topo->hca[column]], 0);
    return t.len > CELL ? t.len : CELL;
}

static const char *numa_of(const struct ni_pci *pci, char buf[32])
{
    struct ni_text t = ni_text_on(buf, 32);
    if (pci->known == NI_KNOWN)
        ni_say_num(&t, pci->numa);
    return t.len > 0 ? buf : "-";
}

static void measure(struct matrix *m)
{
    const struct ni_inventory *inv = m->topo->view->inv;
    char buf[32];
    m->gpu = inv->n_gpu > 10 ? strlen("GPU10") : strlen("GPU0");
    m->address = strlen("ADDRESS");
    m->numa = strlen("NUMA");
    for (unsigned i = 0; i < inv->n_gpu; i++) {
        size_t address = strlen(ni_bdf_text(inv->gpu[i].bdf, buf));
        size_t numa = strlen(numa_of(&inv->gpu[i].pci, buf));
        m->address = address > m->address ? address : m->address;
        m->numa = numa > m->numa ? numa : m->numa;
    }
}

static void write_row(struct matrix *m, unsigned gpu, unsigned from, unsigned to)
{
    const struct ni_gpu *g = &m->topo->view->inv->gpu[gpu];
    char buf[32], name[NAME_TEXT];
    struct ni_text t = ni_text_on(buf, sizeof(buf));
    ni_putf(&t, "GPU%u", gpu);
    put_cell(m, buf, m->gpu, NI_PLAIN);
    put_cell(m, ni_bdf_text(g->bdf, buf), m->address, NI_PLAIN);
    put_cell(m, numa_of(&g->pci, buf), m->numa, NI_PLAIN);
    for (unsigned i = from; i < to; i++) {
        int hca = m->topo->hca[i];
        bool nearest = ni_topo_nearest(m->topo, gpu, hca);
        t = ni_text_on(buf, sizeof(buf));
        ni_putf(&t, "%s%s", ni_topo_word(m->topo->view, gpu, hca), nearest ? "*" : "");
        put_cell(m, buf, name_of(m, i, name),
                 nearest               ? NI_GREEN
                 : i < m->topo->n_pods ? NI_PLAIN
                                       : NI_DIM);
    }
    end_line(m);
}

static void write_piece(struct matrix *m, unsigned from, unsigned to)
{
    char name[NAME_TEXT];
    ni_put(m->out, "\n");
    put_cell(m, "GPU", m->gpu, NI_PLAIN);
    put_cell(m, "ADDRESS", m->address, NI_PLAIN);
    put_cell(m, "NUMA", m->numa, NI_PLAIN);
    for (unsigned i = from; i < to; i++) {
        size_t width = name_of(m, i, name);
        put_cell(m, name, width, i < m->topo->n_pods ? NI_PLAIN : NI_DIM);
    }
    end_line(m);
    for (unsigned i = 0; i < m->topo->view->inv->n_gpu; i++)
        write_row(m, i, from, to);
}

/* How many columns from `from` on, up to `limit`, stand on one line; at least one. */
static unsigned columns_of(const struct matrix *m, unsigned from, unsigned limit)
{
    size_t width = 2 + m->gpu + 2 + m->address + 2 + m->numa;
    char name[NAME_TEXT];
    unsigned n = 0;
    while (from + n < limit) {
        width += 2 + name_of(m, from + n, name);
        if (n > 0 && width > LINE)
            break;
        n++;
    }
    return n;
}

static void write_matrix(struct ni_text *out, const struct ni_topo *topo)
{
    struct matrix m = {.out = out, .topo = topo};
    unsigned from = 0;
    if (topo->view->inv->n_gpu == 0) {
        ni_put(out, "\nNo GPU was found.\n");
        return;
    }
    measure(&m);
    bool whole = columns_of(&m, 0, topo->n_hca) == topo->n_hca;
    /* in pieces, the kept HCAs stand by themselves; without such, the pod's */
    unsigned first = topo->n_kept > 0 ? topo->n_kept : topo->n_pods;
    do {
        unsigned limit = !whole && from < first ? first : topo->n_hca;
        unsigned n = columns_of(&m, from, limit);
        write_piece(&m, from, from + n);
        from += n;
    } while (from < topo->n_hca);
}

/* ---- the HCAs ---- */

enum { H_NAME, H_ADDRESS, H_NUMA, H_NETDEV, H_GPU, H_KEPT, H_N };

/* "GPU0,GPU1 PXB": all that are equally near, by the word of the matrix unless it has two. */
static void say_near(struct ni_text *t, const struct ni_topo *topo, int hca)
{
    const struct ni_plan *plan = topo->view->plan;
    const struct ni_near *near = &plan->nearest_gpu[hca];
    const char *word = NULL;
    unsigned n = 0;
    if (near->index < 0 || near->distance == NI_DIST_UNKNOWN)
        return;
    for (unsigned i = 0; i < topo->view->inv->n_gpu; i++) {
        if (plan->distance[i][hca] != near->distance)
            continue;
        const char *this = ni_topo_word(topo->view, i, hca);
        word = !word || strcmp(word, this) == 0 ? this : ni_distance_text(near->distance);
        if (n++ < NEAR)
            ni_putf(t, "%sGPU%u", t->len > 0 ? "," : "", i);
    }
    if (n > NEAR)
        ni_putf(t, " and %u more", n - NEAR);
    ni_putf(t, " %s", word ? word : "-");
}

static void say_kept(struct ni_text *t, const struct ni_topo *topo, int hca)
{
    const struct ni_hca *h = &topo->view->inv->hca[hca];
    const struct ni_port_plan *first = &topo->view->plan->port[h->first_port];
    unsigned n = 0;
    for (unsigned i = 0; i < h->n_port; i++)
        n += first[i].rule && first[i].chosen;
    if (topo->kept[hca] && n < h->n_port)
        ni_putf(t, "yes, %u of %u ports", n, h->n_port);
    else if (topo->kept[hca])
        ni_put(t, "yes");
    else if (h->n_port == 0)
        ni_put(t, "no: sysfs shows no port");
    else if (!first->rule)
        ni_put(t, h->claim < 0 ? "no: not the pod's" : "no: nothing was decided");
    else {
        ni_put(t, "no: ");
        ni_quote(t, first->why);
    }
}

static void hca_row(const void *ctx, unsigned i, struct ni_row *row)
{
    const struct ni_topo *topo = ctx;
    int hca = topo->hca[i];
    const struct ni_hca *h = &topo->view->inv->hca[hca];
    char bdf[NI_BDF_TEXT];
    row->tint = topo->kept[hca] ? NI_GREEN : NI_DIM;
    ni_say_port(&row->cell[H_NAME], h, 0);
    if (h->aux[0])
        ni_quote(&row->cell[H_ADDRESS], h->aux);
    else if (h->has_bdf)
        ni_put(&row->cell[H_ADDRESS], ni_bdf_text(h->bdf, bdf));
    if (h->pci.known == NI_KNOWN)
        ni_say_num(&row->cell[H_NUMA], h->pci.numa);
    ni_topo_say_rails(&row->cell[H_NETDEV], topo, hca);
    say_near(&row->cell[H_GPU], topo, hca);
    say_kept(&row->cell[H_KEPT], topo, hca);
}

static void write_hcas(struct ni_text *out, const struct ni_topo *topo)
{
    static const char *const head[H_N] = {"HCA",    "ADDRESS",     "NUMA",
                                          "NETDEV", "NEAREST GPU", "KEPT"};
    if (topo->n_hca == 0) {
        ni_put(out, "\nNo HCA was found.\n");
        return;
    }
    ni_put(out, "\n");
    const struct ni_table table = {head, H_N, topo->n_hca, hca_row, topo, topo->view->colour};
    ni_table_write(out, &table);
    if (topo->n_other > 0)
        ni_putf(out, "  and %u others that are not the pod's: see --json\n", topo->n_other);
}

/* ---- the words ---- */

static bool occurs(const struct ni_topo *topo, const char *word)
{
    for (unsigned g = 0; g < topo->view->inv->n_gpu; g++) {
        for (unsigned i = 0; i < topo->n_hca; i++) {
            if (strcmp(ni_topo_word(topo->view, g, topo->hca[i]), word) == 0)
                return true;
        }
    }
    return false;
}

/* The largest number of marks in one line of the matrix. */
static unsigned most_marks(const struct ni_topo *topo)
{
    unsigned most = 0;
    for (unsigned g = 0; g < topo->view->inv->n_gpu; g++) {
        unsigned n = 0;
        for (unsigned i = 0; i < topo->n_kept; i++)
            n += ni_topo_nearest(topo, g, topo->hca[i]);
        most = n > most ? n : most;
    }
    return most;
}

static void write_legend(struct ni_text *out, const struct ni_topo *topo)
{
    static const struct {
        const char *word, *means;
    } legend[] = {
        {"PIX", "through one PCIe switch at most"},
        {"PXB", "through several PCIe switches, not through the CPU"},
        {"PHB", "through the CPU's host bridge"},
        {"NODE", "through two host bridges of one NUMA node; NCCL counts it as PHB"},
        {"SYS", "from one NUMA node to another"},
        {"-", "not known: sysfs does not tell where one of the two sits"},
    };
    unsigned marks = most_marks(topo);
    if (topo->view->inv->n_gpu == 0 || topo->n_hca == 0)
        return;
    ni_put(out, "\n");
    for (size_t i = 0; i < NI_COUNT(legend); i++) {
        if (occurs(topo, legend[i].word))
            ni_putf(out, "  %-4s  %s\n", legend[i].word, legend[i].means);
    }
    if (marks > 0)
        ni_putf(out, "  *     the nearest of the kept HCAs, as NCCL counts%s\n",
                marks > 1 ? "; equally near ones are all marked" : "");
}

/* To pin a rank to. */
static void write_cpus(struct ni_text *out, const struct ni_inventory *inv)
{
    bool any = false;
    for (unsigned i = 0; i < inv->n_gpu; i++) {
        if (!inv->gpu[i].cpus[0])
            continue;
        ni_putf(out, "%s  GPU%-3u %s\n", any ? "" : "\nCPUs of each GPU's NUMA node\n", i,
                inv->gpu[i].cpus);
        any = true;
    }
}

/* Where the distances are not what they seem. */
static void write_doubts(struct ni_text *out, const struct ni_topo *topo)
{
    const struct ni_inventory *inv = topo->view->inv;
    for (unsigned i = 0; i < inv->n_gpu && topo->n_hca > 0; i++) {
        if (inv->gpu[i].pci.known == NI_KNOWN && inv->gpu[i].pci.depth == 1) {
            ni_putf(out,
                    "\nGPU%u is on the root bus: the PCI tree is flattened, as in a virtual "
                    "machine, and distances tell nothing.\n",
                    i);
            break;
        }
    }
    if (inv->gdr.c2c && topo->n_hca > 0)
        ni_put(out, "\nCPU and GPU share NVLink-C2C: NCCL may go that way, which these distances "
                    "do not count.\n");
}

static void write_count(struct ni_text *out, unsigned n, const char *what)
{
    if (n == 0)
        ni_putf(out, "no %s", what);
    else
        ni_putf(out, "%u %s%s", n, what, n == 1 ? "" : "s");
}

static void write_header(struct ni_text *out, const struct ni_topo *topo)
{
    const struct ni_view *view = topo->view;
    ni_put(out, "Topology: ");
    write_count(out, view->inv->n_gpu, "GPU");
    ni_put(out, ", ");
    write_count(out, view->inv->n_hca, "HCA");
    if (view->inv->n_hca > 0)
        ni_putf(out, ", %u kept", topo->n_kept);
    ni_putf(out, "; %s", ni_say_source(view->inv->source));
    if (strcmp(view->root, "/") != 0) {
        ni_put(out, "; root ");
        ni_quote(out, view->root);
    }
    ni_put(out, "\n");
}

int ni_write_topo(int fd, const struct ni_view *view)
{
    struct ni_out o;
    struct ni_topo topo;
    struct ni_text *out = ni_out_on(&o, fd);
    ni_topo_on(&topo, view);
    if (view->plan->transport == NI_NET_OFF) {
        ni_put(out, "Topology: nothing is read (mode off)\n");
        return ni_out_end(&o);
    }
    write_header(out, &topo);
    write_matrix(out, &topo);
    write_hcas(out, &topo);
    write_legend(out, &topo);
    write_cpus(out, view->inv);
    write_doubts(out, &topo);
    return ni_out_end(&o);
}
