/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the rails beside each other: NCCL spreads its traffic evenly, so the slowest one sets
   the pace. */
#include "doctor/check.h"
#include "doctor/seen.h"
#include "findings/device.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/net.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "print/words.h"
#include "rules/chosen.h"
#include "rules/slow_rails.h"

/* ---- rail.rate ---- */

static void check_rate(struct ni_judging *c)
{
    for (unsigned i = 0; i < c->plan->n_chosen; i++)
        (void)ni_saw(c, ni_chosen(c->w, i).port->mbps.known == NI_KNOWN);
    ni_note_slow_rails(c->w);
}

static void put_rates(struct ni_text *t, const struct ni_view *view)
{
    struct ni_range rates = {.n = 0};

    for (unsigned i = 0; i < view->plan->n_chosen; i++)
        ni_range_add(&rates, view->inv->port[view->plan->chosen[i]].mbps);
    ni_putf(t, "%u rail%s, ", view->plan->n_chosen, ni_plural(view->plan->n_chosen));
    ni_put_range(t, &rates, 1000, "G");
}

const struct ni_check ni_check_rate = {
    .id = "rail.rate",
    .title = "speed",
    .whole = check_rate,
    .put = put_rates,
    .findings = {NI_F_RAIL_RATE_DIFFERS, NI_F_RAIL_SLOW},
    .beside = {NI_F_HCA_PORT_SLOW},
};

/* ---- rail.mtu ---- */

/* Returns the interface whose MTU a RoCE port has: the function's own, else that of its GID. NULL:
   neither is known, or the port is InfiniBand. port: of the inventory. */
static const struct ni_netdev *mtu_netdev(const struct ni_inventory *inv,
                                          const struct ni_plan *plan, int port)
{
    const struct ni_port *p = &inv->port[port];
    const struct ni_hca *hca = &inv->hca[p->hca];
    const int gid = plan->port[port].best;

    if (p->link != NI_LINK_ROCE)
        return NULL;
    if (hca->netdev >= 0)
        return &inv->netdev[hca->netdev];
    return gid >= 0 ? ni_find_netdev(inv, inv->gid[gid].ndev) : NULL;
}

/* Reports rails of 200G and more that all have the MTU of plain Ethernet. RoCE then takes packets of
   1024 bytes (drivers/infiniband/core, ib_addr.h iboe_get_mtu); 4096 need some 100 more. */
static void note_small_mtu(struct ni_judging *c, const struct ni_netdev *largest)
{
    enum { PLAIN = 1500, FAST_MBPS = 200000 };
    long long slowest = INT64_MAX;

    for (unsigned i = 0; i < c->plan->n_chosen; i++) {
        const struct ni_num mbps = ni_chosen(c->w, i).port->mbps;

        if (mbps.known != NI_KNOWN)
            return;
        slowest = mbps.v < slowest ? mbps.v : slowest;
    }
    if (largest && largest->mtu.v <= PLAIN && slowest >= FAST_MBPS)
        ni_report(c->f, NI_F_RAIL_MTU_SMALL, largest->name,
                  "MTU %lld on all rails, the slowest of which has %lldG: each RoCE packet carries "
                  "1024 bytes, where an MTU of 4200 or more allows 4096",
                  (long long)largest->mtu.v, slowest / 1000);
}

static void check_mtu(struct ni_judging *c)
{
    const struct ni_netdev *small = NULL, *large = NULL;

    for (unsigned i = 0; i < c->plan->n_chosen; i++) {
        const struct ni_chosen r = ni_chosen(c->w, i);
        const struct ni_netdev *d = mtu_netdev(c->inv, c->plan, r.at);
        const bool is_known = d && d->mtu.known == NI_KNOWN;

        if (r.port->link != NI_LINK_ROCE)
            continue;
        (void)ni_saw(c, is_known);
        if (!is_known)
            continue;
        if (!small || d->mtu.v < small->mtu.v)
            small = d;
        if (!large || d->mtu.v > large->mtu.v)
            large = d;
    }
    if (small && small->mtu.v != large->mtu.v)
        ni_report(c->f, NI_F_RAIL_MTU_DIFFERS, small->name,
                  "MTU %lld, but %lld on %s: the rails use packets of different sizes; a switch "
                  "may drop the larger ones, and each loss costs a retry",
                  (long long)small->mtu.v, (long long)large->mtu.v, large->name);
    else if (c->unknown == 0)
        note_small_mtu(c, large);
}

static void put_mtu(struct ni_text *t, const struct ni_view *view)
{
    struct ni_range mtus = {.n = 0};

    for (unsigned i = 0; i < view->plan->n_chosen; i++) {
        const struct ni_netdev *d = mtu_netdev(view->inv, view->plan, view->plan->chosen[i]);

        if (d)
            ni_range_add(&mtus, d->mtu);
    }
    ni_put_range(t, &mtus, 1, "");
}

const struct ni_check ni_check_mtu = {
    .id = "rail.mtu",
    .title = "MTU",
    .whole = check_mtu,
    .put = put_mtu,
    .findings = {NI_F_RAIL_MTU_DIFFERS, NI_F_RAIL_MTU_SMALL},
};
