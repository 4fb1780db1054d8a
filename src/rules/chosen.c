/* SPDX-License-Identifier: Apache-2.0 */
/* Chosen ports, and the HCA, netdev and GID that belong to each. */
#include "rules/chosen.h"

#include <string.h>

#include "findings/device.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/pci.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "rules/decide.h"

struct ni_chosen ni_chosen(const struct ni_work *w, unsigned i)
{
    const int at = w->plan->chosen[i];
    const struct ni_port *port = &w->inv->port[at];
    struct ni_port_plan *plan = &w->plan->port[at];
    struct ni_chosen c = {.at = at, .port = port, .hca = &w->inv->hca[port->hca], .plan = plan};

    if (plan->best >= 0)
        c.best = &w->inv->gid[plan->best];
    if (plan->gid >= 0)
        c.gid = &w->inv->gid[plan->gid];
    return c;
}

bool ni_is_chosen(const struct ni_work *w, int hca)
{
    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        if (ni_chosen(w, i).port->hca == hca)
            return true;
    }
    return false;
}

/* Returns the place of an HCA in PCI order; one without an address comes after all others. */
static struct ni_bdf place_of(const struct ni_hca *h)
{
    return h->has_bdf ? h->bdf : NI_LAST_BDF;
}

static int compare_ports(const struct ni_inventory *inv, int a, int b)
{
    const struct ni_port *p = &inv->port[a], *q = &inv->port[b];
    const struct ni_hca *x = &inv->hca[p->hca], *y = &inv->hca[q->hca];
    const int order = ni_pci_order(place_of(x), x->name, place_of(y), y->name);

    if (order != 0 || p->num == q->num)
        return order;
    return p->num < q->num ? -1 : 1;
}

void ni_list_chosen(const struct ni_work *w)
{
    const struct ni_inventory *inv = w->inv;
    int sorted[NI_MAX_PORT];
    unsigned n = 0;

    for (int i = 0; i < (int)inv->n_port; i++) {
        if (!w->plan->port[i].chosen)
            continue;
        unsigned at = n;
        n++;
        for (; at > 0 && compare_ports(inv, sorted[at - 1], i) > 0; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = i;
    }
    w->plan->n_chosen = n < NI_MAX_CHOSEN ? n : NI_MAX_CHOSEN;
    memcpy(w->plan->chosen, sorted, w->plan->n_chosen * sizeof(sorted[0]));
    for (unsigned i = w->plan->n_chosen; i < n; i++) {
        ni_leave_out(w, (unsigned)sorted[i], NI_F_HCA_TOO_MANY, "NCCL takes %d ports",
                     NI_MAX_CHOSEN);
        w->plan->port[sorted[i]].rule = "hca.ports";
    }
}
