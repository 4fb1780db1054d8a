/* SPDX-License-Identifier: Apache-2.0 */
/* Description of a port as a rail of the job. */
#include "rail/describe.h"

#include <errno.h>
#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/inventory.h"
#include "nccl_init/ip.h"
#include "nccl_init/known.h"
#include "nccl_init/net.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "rail/step.h"
#include "rules/decide.h"

/* Which subnets of an interface are meant: the one that has the rail's GID, or the others. */
enum subnets { GIDS_SUBNET, OTHER_SUBNETS };

/* Adds networks to which the rail's interface has a route. */
static void add_subnets(const struct ni_net *net, struct ni_rail *rail, enum subnets which)
{
    const bool v4 = ni_ip_is_v4(rail->gid);
    const struct ni_route *all = v4 ? net->route : net->route6;
    const unsigned n = v4 ? net->n_route : net->n_route6;

    for (unsigned i = 0; i < n && rail->n_subnet < NI_MAX_SUBNETS; i++) {
        const struct ni_route *route = &all[i];
        struct ni_subnet s = {.bits = (uint8_t)((v4 ? 96 : 0) + route->bits)};

        if (strcmp(route->ifname, rail->netdev) != 0)
            continue;
        memcpy(s.ip, route->dest, NI_GID_BYTES);
        const bool has_gid = !route->gateway && ni_ip_same_prefix(s.ip, rail->gid, s.bits);
        if (has_gid == (which == GIDS_SUBNET))
            rail->subnet[rail->n_subnet++] = s;
    }
}

/* Finds the network of the GID, then the others to which its interface has a route: a queue pair's
   packets leave through that interface only (drivers/infiniband/core/addr.c, Linux 6.1). /proc does
   not show routes of other tables than the main one. */
static void find_subnets(const struct ni_net *net, struct ni_rail *rail)
{
    add_subnets(net, rail, GIDS_SUBNET);
    add_subnets(net, rail, OTHER_SUBNETS);
}

void ni_describe_rail(const struct ni_work *w, int at, struct ni_rail *rail)
{
    const struct ni_inventory *inv = w->inv;
    const struct ni_port *port = &inv->port[at];
    const struct ni_hca *hca = &inv->hca[port->hca];
    const struct ni_port_plan *plan = &w->plan->port[at];
    const int gid = plan->gid < 0 ? plan->best : plan->gid;
    const struct ni_netdev *netdev = hca->netdev >= 0 ? &inv->netdev[hca->netdev] : NULL;
    const struct ni_uverbs *node = &hca->uverbs;

    *rail = (struct ni_rail){.port = port->num,
                             .link = port->link,
                             .software = hca->pci.none,
                             .mbps = port->mbps,
                             .node_err = node->known == NI_ABSENT ? ENODEV : -node->err};
    ni_copy(rail->hca, sizeof(rail->hca), hca->name);
    rail->index = -1;
    if (gid >= 0)
        rail->index = plan->nccl_index >= 0 ? plan->nccl_index : inv->gid[gid].index;
    for (unsigned i = 0; i < port->n_gid; i++) {
        const struct ni_gid *g = ni_port_gid(inv, port, i);

        if (g->index != rail->index)
            continue;
        memcpy(rail->gid, g->ip, NI_GID_BYTES);
        rail->v2 = g->type == NI_GID_V2;
        ni_copy(rail->netdev, sizeof(rail->netdev), g->ndev);
        netdev = netdev ? netdev : ni_find_netdev(inv, g->ndev);
        find_subnets(&inv->net, rail);
    }
    if (netdev) {
        rail->netdev_mtu = netdev->mtu;
        if (!rail->netdev[0])
            ni_copy(rail->netdev, sizeof(rail->netdev), netdev->name);
    }
}
