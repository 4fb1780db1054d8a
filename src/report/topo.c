/* SPDX-License-Identifier: Apache-2.0 */
#include "topo.h"

#include <string.h>

static bool is_pods(const struct ni_topo *topo, unsigned hca)
{
    return topo->kept[hca] || topo->view->inv->hca[hca].claim >= 0;
}

static void add(struct ni_topo *topo, unsigned hca)
{
    topo->hca[topo->n_hca++] = (int)hca;
}

void ni_topo_on(struct ni_topo *topo, const struct ni_view *view)
{
    const struct ni_inventory *inv = view->inv;
    *topo = (struct ni_topo){.view = view};
    for (unsigned i = 0; i < view->plan->n_chosen; i++)
        topo->kept[inv->port[view->plan->chosen[i]].hca] = true;
    for (unsigned i = 0; i < inv->n_hca; i++) {
        if (topo->kept[i])
            add(topo, i);
    }
    topo->n_kept = topo->n_hca;
    for (unsigned i = 0; i < inv->n_hca; i++) {
        if (!topo->kept[i] && is_pods(topo, i))
            add(topo, i);
    }
    topo->n_pods = topo->n_hca;
    /* A pod without HCAs of its own: the others are all there is to show. */
    if (topo->n_pods > 0 && inv->n_hca - topo->n_pods > NI_TOPO_FEW) {
        topo->n_other = inv->n_hca - topo->n_pods;
        return;
    }
    for (unsigned i = 0; i < inv->n_hca; i++) {
        if (!is_pods(topo, i))
            add(topo, i);
    }
}

bool ni_topo_placed(const struct ni_pci *pci)
{
    return pci->known == NI_KNOWN && pci->depth > 0;
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

bool ni_topo_nearest(const struct ni_topo *topo, unsigned gpu, int hca)
{
    const struct ni_plan *plan = topo->view->plan;
    const struct ni_near *near = &plan->nearest_hca[gpu];
    return topo->kept[hca] && near->index >= 0 && near->distance != NI_DIST_UNKNOWN &&
           plan->distance[gpu][hca] == near->distance;
}

static unsigned list(const char *name, const char *ret[NI_MAX_PORT], unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (strcmp(ret[i], name) == 0)
            return n;
    }
    ret[n] = name;
    return n + 1;
}

unsigned ni_topo_rails(const struct ni_topo *topo, int hca, const char *ret[NI_MAX_PORT])
{
    const struct ni_inventory *inv = topo->view->inv;
    const struct ni_hca *h = &inv->hca[hca];
    unsigned n = 0;
    for (unsigned i = 0; i < h->n_port; i++) {
        const struct ni_port_plan *pick = &topo->view->plan->port[h->first_port + (int)i];
        if (pick->rule && pick->gid >= 0 && inv->gid[pick->gid].ndev[0])
            n = list(inv->gid[pick->gid].ndev, ret, n);
    }
    if (n == 0 && h->netdev >= 0)
        n = list(inv->netdev[h->netdev].name, ret, n);
    return n;
}

void ni_topo_say_rails(struct ni_text *t, const struct ni_topo *topo, int hca)
{
    const char *name[NI_MAX_PORT];
    unsigned n = ni_topo_rails(topo, hca, name);
    for (unsigned i = 0; i < n; i++) {
        ni_put(t, i > 0 ? "," : "");
        ni_quote(t, name[i]);
    }
}

void ni_topo_say_host_bridge(struct ni_text *t, const struct ni_pci *pci)
{
    ni_putf(t, "pci%04x:%02x", (unsigned)pci->root_domain, (unsigned)pci->root_bus);
}
