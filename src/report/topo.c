/* SPDX-License-Identifier: Apache-2.0 */
#include "topo.h"

#include <string.h>

#include "words.h"

enum rank { CHOSEN, GIVEN, OTHER };

static enum rank rank_of(const struct ni_view *view, const struct ni_hca *hca)
{
    if (ni_chosen_ports(view->plan, hca) > 0)
        return CHOSEN;
    return ni_is_given(hca) ? GIVEN : OTHER;
}

static unsigned add(struct ni_topo *topo, enum rank rank)
{
    const struct ni_inventory *inv = topo->view->inv;
    for (unsigned i = 0; i < inv->n_hca; i++)
        if (rank_of(topo->view, &inv->hca[i]) == rank)
            topo->hca[topo->n_hca++] = (int)i;
    return topo->n_hca;
}

void ni_topo_on(struct ni_topo *topo, const struct ni_view *view)
{
    const unsigned n = view->inv->n_hca;
    *topo = (struct ni_topo){.view = view};
    topo->n_chosen = add(topo, CHOSEN);
    topo->n_given = add(topo, GIVEN);
    /* A pod without HCAs of its own: the others are all there is to show. */
    if (topo->n_given > 0 && n - topo->n_given > NI_TOPO_FEW)
        topo->n_other = n - topo->n_given;
    else
        add(topo, OTHER);
}

const char *ni_topo_word(const struct ni_view *view, unsigned gpu, int hca)
{
    const struct ni_pci *a = &view->inv->gpu[gpu].pci;
    const struct ni_pci *b = &view->inv->hca[hca].pci;
    enum ni_distance d = view->plan->distance[gpu][hca];
    if (d == NI_DIST_PHB && (a->root_domain != b->root_domain || a->root_bus != b->root_bus))
        return "NODE";
    return ni_distance_text(d);
}

bool ni_topo_nearest(const struct ni_view *view, unsigned gpu, int hca)
{
    const struct ni_plan *plan = view->plan;
    const struct ni_near *near = &plan->nearest_hca[gpu];
    return ni_has_near(near) && plan->distance[gpu][hca] == near->distance &&
           ni_chosen_ports(plan, &view->inv->hca[hca]) > 0;
}

static unsigned add_name(const char *name, const char *ret[NI_MAX_PORT], unsigned n)
{
    if (ni_is_any(name, ret, n))
        return n;
    ret[n] = name;
    return n + 1;
}

unsigned ni_topo_rails(const struct ni_view *view, int hca, const char *ret[NI_MAX_PORT])
{
    const struct ni_inventory *inv = view->inv;
    const struct ni_hca *h = &inv->hca[hca];
    unsigned n = 0;
    for (unsigned i = 0; i < h->n_port; i++) {
        const struct ni_port_plan *decision = ni_decision(view->plan, h, i);
        if (decision && decision->gid >= 0 && inv->gid[decision->gid].ndev[0])
            n = add_name(inv->gid[decision->gid].ndev, ret, n);
    }
    if (n == 0 && h->netdev >= 0)
        ret[n++] = inv->netdev[h->netdev].name;
    return n;
}

void ni_topo_put_rails(struct ni_text *t, const struct ni_view *view, int hca)
{
    const char *name[NI_MAX_PORT];
    unsigned n = ni_topo_rails(view, hca, name);
    for (unsigned i = 0; i < n; i++) {
        ni_put(t, i > 0 ? "," : "");
        ni_quote(t, name[i]);
    }
}

bool ni_topo_placed(const struct ni_pci *pci)
{
    return pci->known == NI_KNOWN && pci->depth > 0;
}

void ni_topo_put_host_bridge(struct ni_text *t, const struct ni_pci *pci)
{
    ni_putf(t, "pci%04x:%02x", (unsigned)pci->root_domain, (unsigned)pci->root_bus);
}
