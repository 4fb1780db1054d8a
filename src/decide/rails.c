/* SPDX-License-Identifier: Apache-2.0 */
/* rail.cross: NCCL_CROSS_NIC=0 where each rail is a subnet of its own and no route leads from one
   to another: NCCL's default of 2 lets a ring leave on one rail and arrive on another, which there
   hangs in ibv_modify_qp until ETIMEDOUT. */
#include <string.h>

#include "rule.h"

struct rail {
    const struct ni_gid *gid;
    const struct ni_route *subnet; /* the connected route of its address */
};

static bool holds(const struct ni_route *r, const struct ni_gid *g)
{
    return ni_ip_same_prefix(r->dest, g->ip, 96u + r->bits);
}

/* The most specific connected route of the rail's interface that holds its address; NULL. */
static const struct ni_route *subnet_of(const struct ni_net *net, const struct ni_gid *g)
{
    const struct ni_route *best = NULL;
    for (unsigned i = 0; i < net->n_route; i++) {
        const struct ni_route *r = &net->route[i];
        if (!r->gateway && strcmp(r->ifname, g->ndev) == 0 && holds(r, g) &&
            (!best || r->bits > best->bits))
            best = r;
    }
    return best;
}

/* Whether a router on `from`'s interface leads to `to`'s subnet. */
static bool is_routed(const struct ni_net *net, const struct rail *from, const struct rail *to)
{
    for (unsigned i = 0; i < net->n_route; i++) {
        const struct ni_route *r = &net->route[i];
        if (r->gateway && strcmp(r->ifname, from->gid->ndev) == 0 && holds(r, to->gid))
            return true;
    }
    return false;
}

static bool overlap(const struct rail *a, const struct rail *b)
{
    unsigned bits = a->subnet->bits < b->subnet->bits ? a->subnet->bits : b->subnet->bits;
    return ni_ip_same_prefix(a->subnet->dest, b->subnet->dest, 96u + bits);
}

static bool are_isolated(const struct ni_net *net, const struct rail *rail, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        for (unsigned k = 0; k < n; k++) {
            if (i != k && (overlap(&rail[i], &rail[k]) || is_routed(net, &rail[i], &rail[k])))
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
            inside =
                inside || ni_ip_same_prefix(ip, rail[k].subnet->dest, 96u + rail[k].subnet->bits);
            taken = taken || memcmp(ip, rail[k].gid->ip, NI_GID_BYTES) == 0;
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
        if (g->type == NI_GID_V2 && g->own == NI_OWN_OURS && holds(subnet, g))
            return true;
    }
    return false;
}

/* Two ports that are both in two subnets, and NCCL takes another of them on each: in a pod whose
   tables have another order it takes them the other way round. */
static void check_order(const struct ni_facts *facts, const struct ni_plan *plan,
                        const struct rail *rail, struct ni_findings *f)
{
    const struct ni_port *first = ni_chosen_port(facts, plan, 0);
    for (unsigned i = 1; i < plan->n_chosen; i++) {
        char name[NI_DEV_NAME + 8], a[NI_IP_TEXT], b[NI_IP_TEXT];
        if (overlap(&rail[0], &rail[i]) || !has_entry_in(facts->inv, first, rail[i].subnet) ||
            !has_entry_in(facts->inv, ni_chosen_port(facts, plan, i), rail[0].subnet))
            continue;
        ni_report(f, NI_F_GID_SUBNETS, ni_port_text(facts->inv, plan->chosen[i], name),
                  "its GID is in %s/%u, that of %s in %s/%u, and both ports are in both subnets",
                  ni_ip_text(rail[i].subnet->dest, a), rail[i].subnet->bits,
                  facts->inv->hca[first->hca].name, ni_ip_text(rail[0].subnet->dest, b),
                  rail[0].subnet->bits);
        return;
    }
}

static void rails(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f)
{
    const struct ni_inventory *inv = facts->inv;
    struct rail rail[NI_MAX_CHOSEN];
    if (plan->n_chosen < 2 || inv->net.route_known != NI_KNOWN)
        return;
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        int gid = plan->port[plan->chosen[i]].gid;
        if (gid < 0 || !ni_ip_is_v4(inv->gid[gid].ip))
            return; /* InfiniBand, or IPv6: not told by the IPv4 routes */
        rail[i].gid = &inv->gid[gid];
        rail[i].subnet = subnet_of(&inv->net, rail[i].gid);
        if (!rail[i].subnet)
            return; /* source routing keeps its routes in tables that /proc does not show */
    }
    if (has_spare_address(&inv->net, rail, plan->n_chosen))
        plan->wants |= NI_WANT_WHOLE_GIDS;
    check_order(facts, plan, rail, f);
    if (are_isolated(&inv->net, rail, plan->n_chosen))
        ni_decide_value(
            facts, plan, f, "NCCL_CROSS_NIC", "0",
            "each of %u rails is a subnet of its own and no route leads from one to another",
            plan->n_chosen);
}

const struct ni_rule ni_rule_rails = {"rail.cross", "addresses, IPv4 routes", "NCCL_CROSS_NIC",
                                      rails, false};
