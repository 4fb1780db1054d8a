/* SPDX-License-Identifier: Apache-2.0 */
/* The topology for people: GPUs against HCAs as `nvidia-smi topo -m` draws it, then who the HCAs
   are, then what the words mean. */
#include <string.h>

#include "out.h"
#include "table.h"
#include "topo.h"
#include "words.h"

static void put_count(struct ni_text *out, unsigned n, const char *what)
{
    if (n == 0)
        ni_putf(out, "no %s", what);
    else
        ni_putf(out, "%u %s%s", n, what, ni_plural(n));
}

static void put_heading(struct ni_text *out, const struct ni_topo *topo)
{
    const struct ni_inventory *inv = topo->view->inv;
    ni_put(out, "Topology: ");
    put_count(out, inv->n_gpu, "GPU");
    ni_put(out, ", ");
    put_count(out, inv->n_hca, "HCA");
    if (inv->n_hca > 0)
        ni_putf(out, ", %u kept", topo->n_chosen);
    ni_put(out, "; ");
    ni_put_origin(out, topo->view);
}

/* ---- the matrix ---- */

/* The columns from `from` up to `to`. */
static void put_piece(struct ni_text *out, const struct ni_topo *topo, unsigned from, unsigned to)
{
    const struct ni_inventory *inv = topo->view->inv;
    struct ni_table table;
    ni_table_on(&table, NULL);
    struct ni_text *t = ni_row(&table, NI_PLAIN);
    ni_put(t, "GPU\tADDRESS\tNUMA");
    for (unsigned i = from; i < to; i++) {
        ni_put(t, "\t");
        ni_put_tint(t, i < topo->n_given ? NI_PLAIN : NI_DIM);
        ni_put_port(t, &inv->hca[topo->hca[i]], 0);
    }
    for (unsigned g = 0; g < inv->n_gpu; g++) {
        char bdf[NI_BDF_TEXT];
        t = ni_row(&table, NI_PLAIN);
        ni_putf(t, "GPU%u\t%s\t", g, ni_bdf_text(inv->gpu[g].bdf, bdf));
        ni_put_numa(t, &inv->gpu[g].pci);
        for (unsigned i = from; i < to; i++) {
            bool nearest = ni_topo_nearest(topo->view, g, topo->hca[i]);
            ni_put(t, "\t");
            ni_put_tint(t, nearest ? NI_GREEN : i < topo->n_given ? NI_PLAIN : NI_DIM);
            ni_putf(t, "%s%s", ni_topo_word(topo->view, g, topo->hca[i]), nearest ? "*" : "");
        }
    }
    ni_put(out, "\n");
    ni_table_write(out, &table, topo->view->colour);
}

/* In pieces of as many columns as lines of 100 characters mostly hold; then the pod's HCAs stand by
   themselves. */
static void put_matrix(struct ni_text *out, const struct ni_topo *topo)
{
    enum { COLUMNS = 8 };
    unsigned first = topo->n_chosen > 0 ? topo->n_chosen : topo->n_given;
    unsigned from = 0;
    if (topo->view->inv->n_gpu == 0) {
        ni_put(out, "\nNo GPU was found.\n");
        return;
    }
    do {
        unsigned end = topo->n_hca <= COLUMNS || from >= first ? topo->n_hca : first;
        unsigned to = end - from > COLUMNS ? from + COLUMNS : end;
        put_piece(out, topo, from, to);
        from = to;
    } while (from < topo->n_hca);
}

/* ---- the HCAs ---- */

/* "GPU0,GPU1 PXB": all that are equally near, by the word of the matrix unless it has two. */
static void put_near(struct ni_text *t, const struct ni_topo *topo, int hca)
{
    enum { NAMED = 4 };
    const struct ni_plan *plan = topo->view->plan;
    const struct ni_near *near = &plan->nearest_gpu[hca];
    const char *word = NULL;
    unsigned n = 0;
    if (!ni_has_near(near))
        return;
    for (unsigned i = 0; i < topo->view->inv->n_gpu; i++) {
        if (plan->distance[i][hca] != near->distance)
            continue;
        const char *this = ni_topo_word(topo->view, i, hca);
        word = !word || strcmp(word, this) == 0 ? this : ni_distance_text(near->distance);
        if (n++ < NAMED)
            ni_putf(t, "%sGPU%u", n > 1 ? "," : "", i);
    }
    if (n > NAMED)
        ni_putf(t, " and %u more", n - NAMED);
    ni_putf(t, " %s", word ? word : "-");
}

static void put_kept(struct ni_text *t, const struct ni_plan *plan, const struct ni_hca *hca)
{
    unsigned n = ni_chosen_ports(plan, hca);
    if (n == 0) {
        ni_put(t, "no: ");
        ni_quote(t, ni_why(hca, ni_decision(plan, hca, 0)));
    } else {
        ni_put(t, "yes");
        if (n < hca->n_port)
            ni_putf(t, ", %u of %u ports", n, hca->n_port);
    }
}

static void put_hcas(struct ni_text *out, const struct ni_topo *topo)
{
    struct ni_table table;
    if (topo->n_hca == 0) {
        ni_put(out, "\nNo HCA was found.\n");
        return;
    }
    ni_table_on(&table, "HCA\tADDRESS\tNUMA\tNETDEV\tNEAREST GPU\tKEPT");
    for (unsigned i = 0; i < topo->n_hca; i++) {
        const struct ni_hca *h = &topo->view->inv->hca[topo->hca[i]];
        struct ni_text *t = ni_row(&table, i < topo->n_chosen ? NI_GREEN : NI_DIM);
        ni_put_port(t, h, 0);
        ni_put(t, "\t");
        ni_put_address(t, h);
        ni_put(t, "\t");
        ni_put_numa(t, &h->pci);
        ni_put(t, "\t");
        ni_topo_put_rails(t, topo->view, topo->hca[i]);
        ni_put(t, "\t");
        put_near(t, topo, topo->hca[i]);
        ni_put(t, "\t");
        put_kept(t, topo->view->plan, h);
    }
    ni_put(out, "\n");
    ni_table_write(out, &table, topo->view->colour);
    if (topo->n_other > 0)
        ni_putf(out, "  and %u others that are not the pod's: see --json\n", topo->n_other);
}

/* ---- what it means ---- */

static void put_legend(struct ni_text *out, const struct ni_topo *topo)
{
    if (topo->view->inv->n_gpu > 0 && topo->n_hca > 0)
        ni_put(out, "\n"
                    "  PIX   through one PCIe switch at most\n"
                    "  PXB   through several PCIe switches, not through the CPU\n"
                    "  PHB   through the CPU's host bridge\n"
                    "  NODE  through two host bridges of one NUMA node; NCCL counts it as PHB\n"
                    "  SYS   from one NUMA node to another\n"
                    "  -     not known: sysfs does not show where one of the two is\n"
                    "  *     the nearest of the kept HCAs, as NCCL counts; all that are equally "
                    "near\n");
}

/* To pin a rank to. */
static void put_cpus(struct ni_text *out, const struct ni_inventory *inv)
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
static void put_doubts(struct ni_text *out, const struct ni_topo *topo)
{
    const struct ni_inventory *inv = topo->view->inv;
    for (unsigned i = 0; i < inv->n_gpu && topo->n_hca > 0; i++) {
        if (inv->gpu[i].pci.known == NI_KNOWN && inv->gpu[i].pci.depth == 1) {
            ni_putf(out,
                    "\nGPU%u is on the root bus: the PCI tree is flattened, as in a virtual "
                    "machine, and distances mean nothing.\n",
                    i);
            break;
        }
    }
    if (inv->gdr.c2c && topo->n_hca > 0)
        ni_put(out, "\nCPU and GPU share NVLink-C2C: NCCL may use it, and these distances do not "
                    "count it.\n");
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
    put_heading(out, &topo);
    put_matrix(out, &topo);
    put_hcas(out, &topo);
    put_legend(out, &topo);
    put_cpus(out, view->inv);
    put_doubts(out, &topo);
    return ni_out_end(&o);
}
