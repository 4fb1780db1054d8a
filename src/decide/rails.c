/* SPDX-License-Identifier: Apache-2.0 */
/* rail.cross: NCCL_CROSS_NIC=0 where each rail is a subnet of its own and no route leads from one
   to another: NCCL's default of 2 lets a ring leave on one rail and arrive on another, which there
   hangs in ibv_modify_qp until ETIMEDOUT. */
#include <string.h>

#include "rule.h"

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

void ni_rule_rails(const struct ni_work *w)
{
    const struct ni_net *net = &w->inv->net;
    const unsigned n = w->plan->n_chosen;
    const struct ni_gid *gid[NI_MAX_CHOSEN];
    const struct ni_route *subnet[NI_MAX_CHOSEN]; /* the connected route of its address */
    if (n < 2 || net->route_known != NI_KNOWN)
        return;
    for (unsigned i = 0; i < n; i++) {
        gid[i] = ni_chosen(w, i).gid;
        if (!gid[i] || !ni_ip_is_v4(gid[i]->ip))
            return; /* InfiniBand, or IPv6: not told by the IPv4 routes */
        subnet[i] = ni_route_to(net, gid[i]->ndev, gid[i]->ip, false);
        if (!subnet[i])
            return; /* source routing keeps its routes in tables that /proc does not show */
    }
    for (unsigned i = 1; i < n; i++) { /* where tables have another order NCCL swaps the two */
        if (!holds(subnet[0], subnet[i]->dest) && !holds(subnet[i], subnet[0]->dest) &&
            ni_route_to(net, gid[0]->ndev, gid[i]->ip, false) &&
            ni_route_to(net, gid[i]->ndev, gid[0]->ip, false))
            ni_report(w->f, NI_F_GID_SUBNETS, ni_port_name(w->inv, w->plan->chosen[i]).text,
                      "its GID and that of %s are in different subnets, and each port has an "
                      "address in both",
                      ni_port_name(w->inv, w->plan->chosen[0]).text);
    }
    for (unsigned i = 0; i < n; i++) {
        for (unsigned k = 0; k < n; k++) {
            if (i != k && (holds(subnet[i], subnet[k]->dest) ||
                           ni_route_to(net, gid[i]->ndev, gid[k]->ip, true)))
                return; /* they overlap, or a router leads from one to the other */
        }
    }
    ni_decide_value(
        w, "NCCL_CROSS_NIC", "0",
        "each of %u rails is a subnet of its own and no route leads from one to another", n);
}
