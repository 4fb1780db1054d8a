/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that compare the rails: NCCL spreads its traffic evenly, so the slowest one sets the pace.
   */
#include <string.h>

#include "check.h"

static void say_rate(struct ni_text *t, int64_t mbps)
{
    ni_putf(t, "%lld", (long long)(mbps / 1000));
    if (mbps % 1000)
        ni_putf(t, ".%lld", (long long)(mbps % 1000 / 100));
    ni_put(t, " Gb/s");
}

/* Whether the HCA belongs to a GPU: below one switch with it, or nearer than any HCA in use. */
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
                      "%lld Gb/s and left out, but near a GPU and of the same kind as %s (PCI "
                      "device 0x%04x), which runs at %lld: a rail that has lost speed",
                      (long long)(port->mbps.v / 1000), ni_port_text(inv, plan->chosen[i], other),
                      hca->kind, (long long)(sister->mbps.v / 1000));
            break;
        }
    }
}

enum ni_outcome ni_check_rate(const struct ni_facts *facts, const struct ni_plan *plan,
                              struct ni_findings *f)
{
    const struct ni_inventory *inv = facts->inv;
    struct ni_seen seen = {0};
    int fastest = -1;
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        const struct ni_port *port = &inv->port[plan->chosen[i]];
        bool known = port->mbps.known == NI_KNOWN;
        seen.judged += known;
        seen.unknown += !known;
        if (known && (fastest < 0 || port->mbps.v > inv->port[fastest].mbps.v))
            fastest = plan->chosen[i];
    }
    for (unsigned i = 0; fastest >= 0 && i < plan->n_chosen; i++) {
        const struct ni_port *port = &inv->port[plan->chosen[i]];
        char name[NI_DEV_NAME + 8], other[NI_DEV_NAME + 8], slow[32], fast[32];
        struct ni_text s = ni_text_on(slow, sizeof(slow)), q = ni_text_on(fast, sizeof(fast));
        if (port->mbps.known != NI_KNOWN || port->mbps.v >= inv->port[fastest].mbps.v)
            continue;
        say_rate(&s, port->mbps.v);
        say_rate(&q, inv->port[fastest].mbps.v);
        ni_report(f, NI_F_RAIL_RATE_DIFFERS, ni_port_text(inv, plan->chosen[i], name),
                  "runs at %s, %s at %s: all rails go at the pace of this one", slow,
                  ni_port_text(inv, fastest, other), fast);
    }
    ni_note_slow_rails(facts, plan, f);
    return ni_seen_outcome(&seen);
}

/* An HCA of the node below one PCI switch with the GPU, not the pod's, of the kind of link that is in
   use and not much slower; -1. */
static int neighbour(const struct ni_inventory *inv, const struct ni_plan *plan, unsigned gpu)
{
    const struct ni_port *used = &inv->port[plan->chosen[0]];
    for (unsigned i = 0; i < inv->n_port; i++) {
        const struct ni_port *port = &inv->port[i];
        if (!ni_is_given(&inv->hca[port->hca]) &&
            plan->distance[gpu][port->hca] != NI_DIST_UNKNOWN &&
            plan->distance[gpu][port->hca] <= NI_DIST_PXB && port->state.known == NI_KNOWN &&
            port->state.v == NI_PORT_ACTIVE && port->link == used->link &&
            port->mbps.known == NI_KNOWN && port->mbps.v * 2 >= used->mbps.v)
            return port->hca;
    }
    return -1;
}

/* The pod's HCA that is nearest to the GPU, in use or not; -1. */
static int nearest_given(const struct ni_inventory *inv, const struct ni_plan *plan, unsigned gpu)
{
    int best = -1;
    for (unsigned h = 0; h < inv->n_hca; h++) {
        enum ni_distance d = plan->distance[gpu][h];
        if (ni_is_given(&inv->hca[h]) && d != NI_DIST_UNKNOWN &&
            (best < 0 || d < plan->distance[gpu][best]))
            best = (int)h;
    }
    return best;
}

enum ni_outcome ni_check_given(const struct ni_facts *facts, const struct ni_plan *plan,
                               struct ni_findings *f)
{
    const struct ni_inventory *inv = facts->inv;
    struct ni_seen seen = {0};
    struct ni_list gpus;
    int offered = -1, given = -1;
    unsigned of = 0;
    if (plan->n_chosen == 0 || inv->gdr.c2c || facts->policy->hcas)
        return NI_CHECK_IDLE;
    ni_list_begin(&gpus);
    for (unsigned g = 0; g < inv->n_gpu; g++) {
        char bdf[NI_BDF_TEXT];
        int own = nearest_given(inv, plan, g), other = neighbour(inv, plan, g);
        seen.judged += own >= 0;
        seen.unknown += own < 0;
        if (own < 0 || plan->distance[g][own] <= NI_DIST_PXB || other < 0)
            continue;
        if (offered < 0) {
            offered = other;
            given = own;
            of = g;
        }
        ni_list_add(&gpus, ni_bdf_text(inv->gpu[g].bdf, bdf));
    }
    if (offered >= 0)
        ni_report(f, NI_F_RAIL_MISSING, ni_list_end(&gpus),
                  "the node has %s near it (%s), which the pod was not given; the nearest of the "
                  "pod's own is %s (%s)",
                  inv->hca[offered].name, ni_distance_text(plan->distance[of][offered]),
                  inv->hca[given].name, ni_distance_text(plan->distance[of][given]));
    return ni_seen_outcome(&seen);
}

/* The MTU that bounds a RoCE port: its function's own interface, else that of its GID. */
static struct ni_num port_mtu(const struct ni_inventory *inv, const struct ni_plan *plan, int port,
                              const char **ret_ifname)
{
    const struct ni_health_hca *h = &inv->health.hca[inv->port[port].hca];
    int gid = plan->port[port].gid;
    *ret_ifname = h->netdev;
    if (h->netdev_known == NI_KNOWN)
        return h->mtu;
    const struct ni_netdev *d = gid < 0 ? NULL : ni_find_netdev(inv, inv->gid[gid].ndev);
    if (!d)
        return (struct ni_num){0, NI_UNSET};
    *ret_ifname = d->name;
    return d->mtu;
}

enum ni_outcome ni_check_mtu(const struct ni_facts *facts, const struct ni_plan *plan,
                             struct ni_findings *f)
{
    enum {
        FOR_4096 = 4200
    }; /* 4096 bytes and the headers of RoCE (drivers/infiniband/core/verbs.c iboe_get_mtu) */
    const struct ni_inventory *inv = facts->inv;
    const char *small_if = "", *large_if = "", *ifname;
    int small = -1, large = -1;
    int64_t least = 0, most = 0;
    struct ni_seen seen = {0};
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        int at = plan->chosen[i];
        if (inv->port[at].link != NI_LINK_ROCE)
            continue;
        struct ni_num mtu = port_mtu(inv, plan, at, &ifname);
        bool known = mtu.known == NI_KNOWN;
        seen.judged += known;
        seen.unknown += !known;
        if (known && (small < 0 || mtu.v < least)) {
            small = at;
            least = mtu.v;
            small_if = ifname;
        }
        if (known && (large < 0 || mtu.v > most)) {
            large = at;
            most = mtu.v;
            large_if = ifname;
        }
    }
    char a[NI_DEV_NAME + 8], b[NI_DEV_NAME + 8];
    if (small >= 0 && least != most)
        ni_report(f, NI_F_RAIL_MTU_DIFFERS, ni_port_text(inv, small, a),
                  "MTU %lld on %s, but %lld on %s (%s): a rail of its own size, and retries where "
                  "the switch drops what is too large",
                  (long long)least, small_if, (long long)most, large_if,
                  ni_port_text(inv, large, b));
    else if (small >= 0 && most < FOR_4096)
        ni_report(f, NI_F_RAIL_MTU_SMALL, ni_port_text(inv, small, a),
                  "MTU %lld on %s and all other rails: RoCE packets carry %d bytes instead of 4096",
                  (long long)most, small_if, most < 2200 ? 1024 : 2048);
    return ni_seen_outcome(&seen);
}

enum ni_outcome ni_check_firmware(const struct ni_facts *facts, const struct ni_plan *plan,
                                  struct ni_findings *f)
{
    const struct ni_inventory *inv = facts->inv;
    const struct ni_health_hca *health = inv->health.hca;
    struct ni_seen seen = {0};
    for (unsigned i = 0; i < inv->n_hca; i++) {
        if (!ni_is_kept(inv, plan, i))
            continue;
        bool known = health[i].fw[0] && health[i].type[0];
        seen.judged += known;
        seen.unknown += !known;
        for (unsigned k = 0; known && k < i; k++) { /* the first of its type is the measure */
            if (!ni_is_kept(inv, plan, k) || strcmp(health[k].type, health[i].type) != 0)
                continue;
            if (strcmp(health[k].fw, health[i].fw) != 0)
                ni_report(f, NI_F_RAIL_FIRMWARE_DIFFERS, inv->hca[i].name,
                          "firmware %s, %s has %s; both are %s", health[i].fw, inv->hca[k].name,
                          health[k].fw, health[i].type);
            break;
        }
    }
    return ni_seen_outcome(&seen);
}
