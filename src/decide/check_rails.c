/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that compare the rails: NCCL spreads its traffic evenly, so the slowest one sets the pace.
   */
#include <string.h>

#include "check.h"

static void put_rate(struct ni_text *t, int64_t mbps)
{
    ni_putf(t, "%lld", (long long)(mbps / 1000));
    if (mbps % 1000)
        ni_putf(t, ".%lld", (long long)(mbps % 1000 / 100));
    ni_put(t, " Gb/s");
}

/* Whether the HCA belongs to a GPU: below one switch with it, or nearer than any chosen HCA. */
static bool is_near(const struct ni_inventory *inv, const struct ni_plan *plan, int hca)
{
    for (unsigned g = 0; g < inv->n_gpu; g++) {
        enum ni_distance d = plan->distance[g][hca];
        if (d != NI_DIST_UNKNOWN && (d <= NI_DIST_PXB || plan->nearest_hca[g].index < 0 ||
                                     d < plan->nearest_hca[g].distance))
            return true;
    }
    return false;
}

void ni_note_slow_rails(const struct ni_facts *facts, const struct ni_plan *plan,
                        struct ni_findings *f)
{
    const struct ni_inventory *inv = facts->inv;
    for (int at = 0; at < (int)inv->n_port; at++) {
        const struct ni_port *port = &inv->port[at];
        const struct ni_hca *hca = &inv->hca[port->hca];
        if (!ni_is_given(hca) || plan->port[at].chosen || !ni_is_listed(facts, at) ||
            port->state.v != NI_PORT_ACTIVE || port->mbps.known != NI_KNOWN || hca->kind == 0 ||
            !is_near(inv, plan, port->hca))
            continue;
        for (unsigned i = 0; i < plan->n_chosen; i++) {
            const struct ni_port *sister = &inv->port[plan->chosen[i]];
            char name[NI_DEV_NAME + 8], other[NI_DEV_NAME + 8];
            if (inv->hca[sister->hca].kind != hca->kind || sister->link != port->link ||
                port->mbps.v * 2 >= sister->mbps.v)
                continue;
            ni_report(f, NI_F_RAIL_SLOW, ni_port_text(inv, at, name),
                      "left out, for it runs at %lld Gb/s; but it is near a GPU, and %s, of the "
                      "same kind (PCI device 0x%04x), runs at %lld: a rail that has lost speed",
                      (long long)(port->mbps.v / 1000), ni_port_text(inv, plan->chosen[i], other),
                      hca->kind, (long long)(sister->mbps.v / 1000));
            break;
        }
    }
}

void ni_check_rate(struct ni_checkup *c)
{
    const struct ni_inventory *inv = c->inv;
    const struct ni_plan *plan = c->plan;
    int fastest = -1;
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        const struct ni_num rate = inv->port[plan->chosen[i]].mbps;
        if (ni_saw(c, rate.known == NI_KNOWN) &&
            (fastest < 0 || rate.v > inv->port[fastest].mbps.v))
            fastest = plan->chosen[i];
    }
    for (unsigned i = 0; fastest >= 0 && i < plan->n_chosen; i++) {
        const struct ni_num rate = inv->port[plan->chosen[i]].mbps;
        const struct ni_num most = inv->port[fastest].mbps;
        char name[NI_DEV_NAME + 8], other[NI_DEV_NAME + 8], slow[32], fast[32];
        struct ni_text s = ni_text_on(slow, sizeof(slow)), q = ni_text_on(fast, sizeof(fast));
        if (rate.known != NI_KNOWN || rate.v >= most.v)
            continue;
        put_rate(&s, rate.v);
        put_rate(&q, most.v);
        ni_report(c->f, NI_F_RAIL_RATE_DIFFERS, ni_port_text(inv, plan->chosen[i], name),
                  "runs at %s, %s at %s: NCCL makes all rails as slow as this one", slow,
                  ni_port_text(inv, fastest, other), fast);
    }
    ni_note_slow_rails(c->facts, plan, c->f);
}

/* An HCA of the node below one PCI switch with the GPU, not the pod's, of the kind of link that is in
   use and not much slower; -1. */
static int neighbour(const struct ni_checkup *c, unsigned gpu)
{
    const struct ni_port *used = &c->inv->port[c->plan->chosen[0]];
    for (unsigned i = 0; i < c->inv->n_port; i++) {
        const struct ni_port *port = &c->inv->port[i];
        const enum ni_distance d = c->plan->distance[gpu][port->hca];
        if (!ni_is_given(&c->inv->hca[port->hca]) && d != NI_DIST_UNKNOWN && d <= NI_DIST_PXB &&
            port->state.known == NI_KNOWN && port->state.v == NI_PORT_ACTIVE &&
            port->link == used->link && port->mbps.known == NI_KNOWN &&
            port->mbps.v * 2 >= used->mbps.v)
            return port->hca;
    }
    return -1;
}

/* The pod's HCA that is nearest to the GPU, chosen or not; -1. */
static int nearest_given(const struct ni_checkup *c, unsigned gpu)
{
    int best = -1;
    for (unsigned h = 0; h < c->inv->n_hca; h++) {
        enum ni_distance d = c->plan->distance[gpu][h];
        if (ni_is_given(&c->inv->hca[h]) && d != NI_DIST_UNKNOWN &&
            (best < 0 || d < c->plan->distance[gpu][best]))
            best = (int)h;
    }
    return best;
}

void ni_check_given(struct ni_checkup *c)
{
    const struct ni_inventory *inv = c->inv;
    struct ni_list gpus;
    int offered = -1, given = -1;
    unsigned first = 0; /* GPU that has an HCA near it, but none of the pod's */
    if (c->plan->n_chosen == 0 || inv->gdr.c2c || c->facts->policy->hcas)
        return;
    ni_list_begin(&gpus);
    for (unsigned g = 0; g < inv->n_gpu; g++) {
        char bdf[NI_BDF_TEXT];
        int own = nearest_given(c, g), other = neighbour(c, g);
        if (!ni_saw(c, own >= 0) || c->plan->distance[g][own] <= NI_DIST_PXB || other < 0)
            continue;
        if (offered < 0) {
            offered = other;
            given = own;
            first = g;
        }
        ni_list_add(&gpus, ni_bdf_text(inv->gpu[g].bdf, bdf));
    }
    if (offered >= 0)
        ni_report(c->f, NI_F_RAIL_MISSING, ni_list_end(&gpus),
                  "the node has %s near this GPU (%s), but the pod was not given it; the nearest "
                  "HCA of the pod is %s (%s)",
                  inv->hca[offered].name, ni_distance_text(c->plan->distance[first][offered]),
                  inv->hca[given].name, ni_distance_text(c->plan->distance[first][given]));
}

/* The interface that bounds a RoCE port: its function's own, else that of its GID; NULL. */
static const struct ni_netdev *netdev_of(const struct ni_checkup *c, int port)
{
    const int own = c->inv->hca[c->inv->port[port].hca].netdev, gid = c->plan->port[port].gid;
    return own >= 0   ? &c->inv->netdev[own]
           : gid >= 0 ? ni_find_netdev(c->inv, c->inv->gid[gid].ndev)
                      : NULL;
}

void ni_check_mtu(struct ni_checkup *c)
{
    /* 4096 bytes and the headers of RoCE (drivers/infiniband/core/verbs.c iboe_get_mtu) */
    enum { FOR_4096 = 4200 };
    const struct ni_netdev *small = NULL, *large = NULL;
    char a[NI_DEV_NAME + 8] = "", b[NI_DEV_NAME + 8] = "";
    for (unsigned i = 0; i < c->plan->n_chosen; i++) {
        const int at = c->plan->chosen[i];
        const struct ni_netdev *d = netdev_of(c, at);
        if (c->inv->port[at].link != NI_LINK_ROCE || !ni_saw(c, d && d->mtu.known == NI_KNOWN) ||
            !d)
            continue;
        if (!small || d->mtu.v < small->mtu.v) {
            small = d;
            ni_port_text(c->inv, at, a);
        }
        if (!large || d->mtu.v > large->mtu.v) {
            large = d;
            ni_port_text(c->inv, at, b);
        }
    }
    if (small && large && small->mtu.v != large->mtu.v)
        ni_report(c->f, NI_F_RAIL_MTU_DIFFERS, a,
                  "MTU %lld on %s, but %lld on %s (%s): the rails use packets of different size, "
                  "and retry where a switch drops those that are too large",
                  (long long)small->mtu.v, small->name, (long long)large->mtu.v, large->name, b);
    else if (small && small->mtu.v < FOR_4096)
        ni_report(c->f, NI_F_RAIL_MTU_SMALL, a,
                  "MTU %lld on %s and all other rails: RoCE packets carry %d bytes instead of 4096",
                  (long long)small->mtu.v, small->name, small->mtu.v < 2200 ? 1024 : 2048);
}

void ni_check_firmware(struct ni_checkup *c)
{
    const struct ni_hca *hca = c->inv->hca;
    for (unsigned i = 0; i < c->inv->n_hca; i++) {
        if (!ni_is_chosen(c->inv, c->plan, (int)i) || !ni_saw(c, hca[i].fw[0] && hca[i].type[0]))
            continue;
        for (unsigned k = 0; k < i; k++) { /* the first of its type is the measure */
            if (!ni_is_chosen(c->inv, c->plan, (int)k) || strcmp(hca[k].type, hca[i].type) != 0)
                continue;
            if (strcmp(hca[k].fw, hca[i].fw) != 0)
                ni_report(c->f, NI_F_RAIL_FIRMWARE_DIFFERS, hca[i].name,
                          "firmware %s, but %s has %s; both are %s", hca[i].fw, hca[k].name,
                          hca[k].fw, hca[i].type);
            break;
        }
    }
}
