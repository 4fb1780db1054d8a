/* SPDX-License-Identifier: Apache-2.0 */
/* The pod's own interface, which reaches all pods of the job. */
#include "rules/socket_pod.h"

#include <string.h>

#include "nccl_init/inventory.h"
#include "nccl_init/ip.h"
#include "nccl_init/known.h"
#include "nccl_init/net.h"
#include "nccl_init/rdma.h"
#include "rules/decide.h"
#include "rules/socket_address.h"

/* Returns true if the interface carries data: it belongs to an HCA of the pod, or was given to it. */
static bool is_of_rail(const struct ni_work *w, const char *ifname)
{
    const struct ni_inventory *inv = w->inv;

    if (ni_is_allocated_netdev(&inv->net, ifname))
        return true;
    for (unsigned i = 0; i < inv->n_hca; i++) {
        const struct ni_hca *h = &inv->hca[i];

        if (ni_is_allocated(h) && h->netdev >= 0 &&
            strcmp(inv->netdev[h->netdev].name, ifname) == 0)
            return true;
    }
    for (unsigned i = 0; i < inv->n_gid; i++) {
        if (inv->gid[i].owner == NI_OWNER_POD && strcmp(inv->gid[i].ndev, ifname) == 0)
            return true;
    }
    return false;
}

/* Returns the only interface beside the rails that has a routable address, for a pod whose default
   route names none; NULL: there are none or several, or an address may be of any. */
static const char *sole_interface(const struct ni_work *w)
{
    const unsigned by_name =
        NI_NEED_ADDR_NETDEVS | NI_NEED_OWN_NETDEVS | NI_NEED_PHYSICAL | NI_NEED_LOST;
    const struct ni_net *net = &w->inv->net;
    const char *sole = NULL;

    w->plan->needs |= NI_NEED_IPV6; /* the default route of IPv6 may name another */
    if (net->v4_known != NI_KNOWN || net->v6_known != NI_KNOWN || net->route_known != NI_KNOWN)
        return NULL;
    if (w->plan->needs & ~w->inv->read & ~by_name)
        return NULL; /* as in find_others */
    w->plan->needs |= by_name;
    for (unsigned i = 0; i < net->n_addr; i++) {
        const struct ni_addr *a = &net->addr[i];

        if (ni_ip_is_link_local(a->ip) || ni_is_bridge_of_node(a->ifname) ||
            is_of_rail(w, a->ifname))
            continue;
        if (!a->ifname[0] || (sole && strcmp(a->ifname, sole) != 0))
            return NULL;
        sole = a->ifname;
    }
    return sole && ni_find_netdev(w->inv, sole) ? sole : NULL;
}

/* Returns true if the default route is on a rail of which NCCL may take a link-local address. */
static bool is_default_local(const struct ni_work *w)
{
    const char *name = w->inv->net.default_if;

    return name[0] && is_of_rail(w, name) && ni_may_be_local(w, name);
}

/* Returns the first interface beside the rails that has a default route, too; NULL. /proc lists those
   of one prefix by their metric. */
static const char *default_beside_rails(const struct ni_work *w)
{
    const struct ni_net *net = &w->inv->net;

    for (unsigned i = 0; i < net->n_route; i++) {
        const char *name = net->route[i].ifname;

        if (net->route[i].bits == 0 && !is_of_rail(w, name) && !ni_is_bridge_of_node(name) &&
            ni_find_netdev(w->inv, name))
            return name;
    }
    return NULL;
}

/* How the pod's own interface is found. */
enum own_interface { BY_ROUTE, BESIDE_RAILS, SOLE, SOLE_BESIDE_LOCAL };

/* Where the default route is on a rail, a pod of the job that has lost this rail has it on another.
   So an interface beside the rails that has one, too, comes first: it is the same in all pods. */
static const char *own_interface(const struct ni_work *w, enum own_interface *ret_how)
{
    const char *by_route = w->inv->net.default_if;
    const char *beside;

    if (!by_route[0]) {
        *ret_how = SOLE;
        return sole_interface(w);
    }
    beside = is_of_rail(w, by_route) ? default_beside_rails(w) : NULL;
    if (beside) {
        *ret_how = BESIDE_RAILS;
        return beside;
    }
    if (is_default_local(w)) {
        *ret_how = SOLE_BESIDE_LOCAL;
        return sole_interface(w);
    }
    *ret_how = BY_ROUTE;
    return by_route;
}

/* If /sys/class/net cannot be read, the route table decides. */
const char *ni_pod_interface(const struct ni_work *w)
{
    enum own_interface how;
    const char *name = own_interface(w, &how);

    return name && !ni_is_netdev_down(w, name) && ni_has_address(w, name) ? name : NULL;
}

const char *ni_pod_interface_text(const struct ni_work *w)
{
    static const char *const text[] = {
        [BY_ROUTE] = "interface of the default route",
        [BESIDE_RAILS] = "interface of a default route beside the rails",
        [SOLE] = "the only interface beside the rails with a routable address (there is no "
                 "default route)",
        [SOLE_BESIDE_LOCAL] = "the only interface beside the rails with a routable address (that "
                              "of the default route also has a link-local one)",
    };
    enum own_interface how;

    (void)own_interface(w, &how);
    return text[how];
}
