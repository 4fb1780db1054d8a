/* SPDX-License-Identifier: Apache-2.0 */
/* The address that NCCL takes of an interface, and lists of interfaces. */
#include "rules/socket_address.h"

#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/inventory.h"
#include "nccl_init/ip.h"
#include "nccl_init/known.h"
#include "nccl_init/nccl_list.h"
#include "nccl_init/net.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "rules/decide.h"
#include "rules/rails.h"

const char ni_socket_ifname[] = "NCCL_SOCKET_IFNAME";
const char ni_socket_family[] = "NCCL_SOCKET_FAMILY";

static void count_address(const uint8_t ip[NI_GID_BYTES], enum ni_reach *v4, enum ni_reach *v6)
{
    enum ni_reach *of = ni_ip_is_v4(ip) ? v4 : v6;
    const enum ni_reach is = ni_ip_is_link_local(ip) ? NI_THIS_LINK : NI_PEERS;

    if (is > *of)
        *of = is;
}

/* Returns true if an address that the routes do not tie to the interface may be its own: they tie it
   to none, or the interface, too, is in a subnet with it in which other hosts may be. */
static bool may_be_of(const struct ni_net *net, const struct ni_addr *a, const char *ifname)
{
    if (ni_ip_is_link_local(a->ip))
        return false;
    if (!a->ifname[0])
        return true;
    const struct ni_route *subnet = ni_connected_route(net, ifname, a->ip);
    return subnet && subnet->bits > 0;
}

/* Returns the address that NCCL takes of an interface: its first record. The kernel lists all IPv4
   addresses before all IPv6 ones (NCCL 2.30.7 os/linux.cc ncclOsFindInterfaces, by getifaddrs).
   or_unknown: an IPv4 address that the route table ties to no interface (a /32, source routing in
   other tables, two interfaces in one subnet) counts as this one's. own: the address that is the
   interface's, or NULL. */
static struct ni_if_address find_address(const struct ni_work *w, const char *ifname,
                                         bool or_unknown, const uint8_t *own)
{
    const struct ni_net *net = &w->inv->net;
    const char *family = ni_user_value(w, ni_socket_family);
    enum ni_reach v4 = NI_NO_ADDRESS, v6 = NI_NO_ADDRESS;

    for (unsigned i = 0; i < net->n_addr; i++) {
        const struct ni_addr *a = &net->addr[i];

        if (strcmp(a->ifname, ifname) == 0 || (or_unknown && may_be_of(net, a, ifname)))
            count_address(a->ip, &v4, &v6);
    }
    if (own)
        count_address(own, &v4, &v6);
    if (strcmp(ifname, "lo") == 0)
        v4 = NI_THIS_LINK; /* the inventory has no loopback addresses; NCCL skips ::1 */
    if (family && strcmp(family, "AF_INET6") == 0)
        v4 = NI_NO_ADDRESS;
    if (v4 != NI_NO_ADDRESS || (family && strcmp(family, "AF_INET") == 0))
        return (struct ni_if_address){v4, true};
    w->plan->needs |= NI_NEED_IPV6;
    return (struct ni_if_address){v6, false};
}

struct ni_if_address ni_address_of(const struct ni_work *w, const char *ifname)
{
    return find_address(w, ifname, true, NULL);
}

bool ni_has_address(const struct ni_work *w, const char *ifname)
{
    return ni_address_of(w, ifname).reach == NI_PEERS;
}

struct ni_if_address ni_certain_address_of(const struct ni_work *w, const char *ifname,
                                           const uint8_t *own)
{
    return find_address(w, ifname, false, own);
}

/* Returns true if NCCL may take a link-local address of the interface, although it has a routable
   one, too: it takes the first. An address of the scope link, as IPv4LL has, comes before the
   others whenever it was added (net/ipv4/devinet.c __inet_insert_ifa), and /proc does not show the
   order. */
bool ni_may_be_local(const struct ni_work *w, const char *ifname)
{
    const struct ni_inventory *inv = w->inv;
    const char *family = ni_user_value(w, ni_socket_family);

    if (family && strcmp(family, "AF_INET6") == 0)
        return false;
    for (unsigned i = 0; i < inv->net.n_addr; i++) {
        const struct ni_addr *a = &inv->net.addr[i];

        if (ni_ip_is_v4(a->ip) && ni_ip_is_link_local(a->ip) && strcmp(a->ifname, ifname) == 0)
            return true;
    }
    for (unsigned i = 0; i < inv->n_gid; i++) {
        const struct ni_gid *g = &inv->gid[i];

        if (g->owner == NI_OWNER_POD && ni_ip_is_v4(g->ip) && ni_ip_is_link_local(g->ip) &&
            strcmp(g->ndev, ifname) == 0)
            return true;
    }
    return false;
}

/* Returns true if the interface is known to be down: NCCL 2.28.3 and later do not take it
   (IFF_RUNNING). */
bool ni_is_netdev_down(const struct ni_work *w, const char *ifname)
{
    const struct ni_netdev *d = ni_find_netdev(w->inv, ifname);

    return d && d->known == NI_KNOWN && !d->running;
}

/* Returns true for a bridge of Docker, podman or libvirt, which has the same address on each node.
   NCCL by itself takes docker and virbr only if there is nothing else (2.32.3 misc/socket.cc
   ncclFindInterfaces). */
bool ni_is_bridge_of_node(const char *ifname)
{
    static const char *const names[] = {"docker", "podman", "cni-podman", "virbr"};

    for (unsigned i = 0; i < NI_COUNT(names); i++) {
        if (ni_has_prefix(ifname, names[i]))
            return true;
    }
    return false;
}

void ni_add_interface(struct ni_if_list *l, const char *name)
{
    if (l->n < NI_MAX_IFS && !ni_is_any(name, l->name, l->n))
        l->name[l->n++] = name;
}

void ni_put_interfaces(const struct ni_if_list *l, struct ni_text *t)
{
    for (unsigned i = 0; i < l->n; i++)
        ni_putf(t, "%s%s", i ? "," : "", l->name[i]);
}
