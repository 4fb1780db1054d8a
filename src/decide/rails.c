/* SPDX-License-Identifier: Apache-2.0 */
/* rail.cross: NCCL_CROSS_NIC=0 where each rail is a subnet of its own and no route leads from one
   to another: NCCL's default of 2 lets a ring leave on one rail and arrive on another, which there
   hangs in ibv_modify_qp until ETIMEDOUT. */
#include <string.h>

#include "rule.h"

struct rail {
    struct ni_chosen port;
    const struct ni_route *subnet; /* the connected route of its address */
};

static bool holds(const struct ni_route *r, const uint8_t ip[NI_GID_BYTES])
{
    return ni_ip_same_prefix(r->dest, ip, 96u + r->bits);
}

const struct ni_route *ni_route_to(const struct ni_net *net, const char *ifname,
                                   const uint8_t ip[NI_GID_BYTES], bool gateway)
{
    const struct ni_route *best = NULL;
    for (unsigned i = 0; i < net->n_route; i++) {
        const struct ni_route *r = &net->route[i];
        if (r->gateway == gateway && strcmp(r->ifname, ifname) == 0 && holds(r, ip) &&
            (!best || r->bits > best->bits))
            best = r;
    }
    return best;
}

static bool overlap(const struct rail *a, const struct rail *b)
{
    return holds(a->subnet, b->subnet->dest) || holds(b->subnet, a->subnet->dest);
}

static bool are_isolated(const struct ni_net *net, const struct rail *rail, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        for (unsigned k = 0; k < n; k++) {
            if (i != k && (overlap(&rail[i], &rail[k]) ||
                           ni_route_to(net, rail[i].port.gid->ndev, rail[k].port.gid->ip, true)))
                return false;
        }
    }
    return true;
}

/* Whether an address of this pod that is no rail's GID lies in a rail's subnet: its entry may stand
   behind the right one. */
static bool has_spare_address(const struct ni_net *net, const struct rail *rail, unsigned n)
{
    for (unsigned i = 0; i < net->n_addr; i++) {
        const uint8_t *ip = net->addr[i].ip;
        bool inside = false, taken = false;
        for (unsigned k = 0; k < n; k++) {
            inside = inside || holds(rail[k].subnet, ip);
            taken = taken || memcmp(ip, rail[k].port.gid->ip, NI_GID_BYTES) == 0;
        }
        if (inside && !taken)
            return true;
    }
    return false;
}

/* Whether the port has an own RoCE v2 entry in that subnet. */
static bool has_entry_in(const struct ni_inventory *inv, const struct ni_port *port,
                         const struct ni_route *subnet)
{
    for (unsigned i = 0; i < port->n_gid; i++) {
        const struct ni_gid *g = ni_port_gid(inv, port, i);
        if (g->type == NI_GID_V2 && g->own == NI_OWN_OURS && holds(subnet, g->ip))
            return true;
    }
    return false;
}

/* Two ports that are both in two subnets, and NCCL takes another of them on each: in a pod whose
   tables have another order it takes them the other way round. */
static void check_order(const struct ni_work *w, const struct rail *rail)
{
    for (unsigned i = 1; i < w->plan->n_chosen; i++) {
        const struct rail *first = &rail[0], *r = &rail[i];
        char a[NI_IP_TEXT], b[NI_IP_TEXT];
        if (overlap(first, r) || !has_entry_in(w->inv, first->port.port, r->subnet) ||
            !has_entry_in(w->inv, r->port.port, first->subnet))
            continue;
        ni_report(w->f, NI_F_GID_SUBNETS, ni_port_name(w->inv, r->port.at).text,
                  "its GID is in %s/%u, that of %s in %s/%u, and both ports are in both subnets",
                  ni_ip_text(r->subnet->dest, a), r->subnet->bits, first->port.hca->name,
                  ni_ip_text(first->subnet->dest, b), first->subnet->bits);
        return;
    }
}

void ni_rule_rails(const struct ni_work *w)
{
    const struct ni_net *net = &w->inv->net;
    const unsigned n = w->plan->n_chosen;
    struct rail rail[NI_MAX_CHOSEN];
    if (n < 2 || net->route_known != NI_KNOWN)
        return;
    for (unsigned i = 0; i < n; i++) {
        const struct ni_chosen c = ni_chosen(w, i);
        if (!c.gid || !ni_ip_is_v4(c.gid->ip))
            return; /* InfiniBand, or IPv6: not told by the IPv4 routes */
        rail[i] = (struct rail){c, ni_route_to(net, c.gid->ndev, c.gid->ip, false)};
        if (!rail[i].subnet)
            return; /* source routing keeps its routes in tables that /proc does not show */
    }
    if (has_spare_address(net, rail, n))
        w->plan->wants |= NI_WANT_WHOLE_GIDS;
    check_order(w, rail);
    if (are_isolated(net, rail, n))
        ni_decide_value(
            w, "NCCL_CROSS_NIC", "0",
            "each of %u rails is a subnet of its own and no route leads from one to another", n);
}
