/* SPDX-License-Identifier: Apache-2.0 */
/* Rails that are slower than the others: NCCL spreads its traffic evenly, so the slowest sets the
   pace. */
#include "rules/slow_rails.h"

#include "findings/device.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/pci.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "rules/chosen.h"
#include "rules/decide.h"
#include "rules/nccl_nics.h"
#include "rules/ports.h"

/* Returns true if the HCA belongs to a GPU: no CPU is between them, or it is nearer than any chosen
   HCA. */
static bool is_near(const struct ni_work *w, int hca)
{
    for (unsigned g = 0; g < w->inv->n_gpu; g++) {
        const enum ni_distance d = w->plan->distance[g][hca];
        const struct ni_near *near = &w->plan->nearest_hca[g];

        if (d != NI_DIST_UNKNOWN && (d <= NI_DIST_PXB || near->index < 0 || d < near->distance))
            return true;
    }
    return false;
}

/* Finds the chosen port with the highest rate; .at is -1 if no rate is known. like: only among those
   of the same kind of HCA and link as this port; NULL: among all. */
static struct ni_chosen find_fastest(const struct ni_work *w, const struct ni_port *like)
{
    struct ni_chosen fastest = {.at = -1};

    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        const struct ni_chosen c = ni_chosen(w, i);

        if (like && (c.hca->kind != w->inv->hca[like->hca].kind || c.port->link != like->link))
            continue;
        if (c.port->mbps.known == NI_KNOWN &&
            (fastest.at < 0 || c.port->mbps.v > fastest.port->mbps.v))
            fastest = c;
    }
    return fastest;
}

/* Returns what a slow port costs, chosen or left out: NCCL may not use it at all. */
static const char *cost_of(const struct ni_work *w, int at)
{
    if (!w->plan->port[at].chosen)
        return ni_would_be_taken(w, &w->inv->port[at])
                   ? "left out, but it is near a GPU and of the same kind: it is a rail that has "
                     "lost "
                     "speed"
                   : "left out, but it is near a GPU and of the same kind: it is a rail that has "
                     "lost "
                     "speed. Named in --hcas it would be idle: NCCL has a faster one for each GPU";

    unsigned taking = 0, known = 0;

    for (unsigned g = 0; g < w->inv->n_gpu; g++) {
        known += w->plan->taken[g].hca >= 0;
        for (unsigned i = 0; i < w->plan->n_chosen; i++)
            taking += w->plan->chosen[i] == at && w->plan->taken[g].ports >> i & 1;
    }
    if (known > 0 && known == w->inv->n_gpu && taking == 0)
        return "NCCL has a faster one for each GPU, and leaves it idle";
    return "NCCL makes all rails as slow as this one";
}

void ni_note_slow_rails(const struct ni_work *w)
{
    const struct ni_inventory *inv = w->inv;

    for (int at = 0; at < (int)inv->n_port; at++) {
        const struct ni_port *port = &inv->port[at];
        const struct ni_hca *hca = &inv->hca[port->hca];
        const bool chosen = w->plan->port[at].chosen;
        /* it was left out as slow, but is not a management port */
        const bool rail = ni_is_allocated(hca) && ni_is_listed(w, at) && ni_is_active(port) &&
                          hca->kind != 0 && is_near(w, port->hca);
        const struct ni_chosen fastest = find_fastest(w, chosen ? NULL : port);

        if (!(chosen || rail) || port->mbps.known != NI_KNOWN || fastest.at < 0 ||
            port->mbps.v * (chosen ? 1 : 2) >= fastest.port->mbps.v)
            continue;
        ni_report(w->f, chosen ? NI_F_RAIL_RATE_DIFFERS : NI_F_RAIL_SLOW,
                  ni_port_name(inv, at).text, "runs at %lld Gb/s, %s at %lld Gb/s: %s",
                  (long long)(port->mbps.v / 1000), ni_port_name(inv, fastest.at).text,
                  (long long)(fastest.port->mbps.v / 1000), cost_of(w, at));
    }
}
