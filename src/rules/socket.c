/* SPDX-License-Identifier: Apache-2.0 */
/* The rule socket.ifname: NCCL_SOCKET_IFNAME, exact names. NCCL dies with "no socket interface
   found" if none of the names is up with an address (NCCL 2.30.7 bootstrap.cc bootstrapNetInit),
   so such a name is never written. */
#include "rules/socket.h"

#include <string.h>

#include "findings/setting.h"
#include "nccl_init/allocation.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/ip.h"
#include "nccl_init/known.h"
#include "nccl_init/nccl_list.h"
#include "nccl_init/net.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "rules/chosen.h"
#include "rules/decide.h"
#include "rules/ports.h"
#include "rules/rails.h"
#include "rules/socket_address.h"
#include "rules/socket_pod.h"
#include "rules/socket_user.h"

bool ni_sockets_are_v6(const struct ni_work *w)
{
    const char *list = w->plan->sockets;
    char name[NI_IF_NAME];
    struct ni_span s;

    while (ni_split(&list, ',', &s)) {
        if (!ni_copyn(name, sizeof(name), s.p, s.n) || !*name)
            return false;
        const struct ni_if_address a = ni_address_of(w, name);
        if (a.v4 || a.reach == NI_NO_ADDRESS)
            return false;
    }
    return true;
}

const char *ni_named_sockets(const struct ni_policy *policy)
{
    static const char *const words[] = {"pod", "rails"};
    const char *option = policy->sockets;

    return option && !ni_is_any(option, words, NI_COUNT(words)) ? option : NULL;
}

static bool is_option(const struct ni_work *w, const char *word)
{
    return w->policy->sockets && strcmp(w->policy->sockets, word) == 0;
}

static void add_pod_interface(struct ni_if_list *l, const char *pod)
{
    ni_add_interface(l, pod);
    l->pod = true;
}

/* Adds the interfaces of --sockets=LIST, and reports those that cannot serve. */
static void add_option(const struct ni_work *w, struct ni_if_list *l)
{
    const char *cursor = w->policy->sockets;
    struct ni_span s;

    while (l->n < NI_MAX_IFS && ni_split(&cursor, ',', &s)) {
        char name[NI_IF_NAME];

        if (!ni_copyn(name, sizeof(name), s.p, s.n))
            continue;
        const struct ni_netdev *d = ni_find_netdev(w->inv, name);
        const enum ni_reach reach = ni_address_of(w, name).reach;
        const bool up = d && d->running;

        if (up && reach == NI_PEERS)
            ni_add_interface(l, d->name);
        else if (up && reach == NI_THIS_LINK)
            ni_report(w->f, NI_F_SOCKET_UNUSABLE, name,
                      "named by --sockets, but it has only a link-local address (169.254.0.0/16, "
                      "fe80::/10), to which ranks on other nodes cannot connect");
        else
            ni_report(w->f, NI_F_SOCKET_UNUSABLE, name,
                      "named by --sockets, but not up with an address in this network namespace");
    }
}

/* Returns the interface of a chosen port: for RoCE the one that has the GID's address, for InfiniBand
   the IPoIB one. "": it has none. */
static const char *interface_of(const struct ni_work *w, const struct ni_chosen *c)
{
    if (c->gid && c->gid->ndev[0])
        return c->gid->ndev;
    w->plan->needs |= NI_NEED_OWN_NETDEVS;
    return c->hca->netdev >= 0 ? w->inv->netdev[c->hca->netdev].name : "";
}

/* Adds the interfaces of the chosen ports. */
static void add_rails(const struct ni_work *w, struct ni_if_list *l)
{
    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        const struct ni_chosen c = ni_chosen(w, i);
        const struct ni_netdev *d = ni_find_netdev(w->inv, interface_of(w, &c));
        const uint8_t *own = NULL;

        if (!d || !d->running)
            continue;
        if (c.gid && c.gid->ndev[0] && c.gid->owner == NI_OWNER_POD)
            own = c.gid->ip;
        if (ni_certain_address_of(w, d->name, own).reach != NI_PEERS)
            continue;
        if (is_option(w, "rails") || !ni_may_be_local(w, d->name))
            ni_add_interface(l, d->name);
    }
}

/* ---- sockets that carry the data: without RDMA ---- */

/* Returns true if the interface may carry data between nodes: it has a device, or was given to the
   pod. Others are bridges, overlays and the like: docker0, cni0 and flannel.1 have one address on
   every node. */
static bool may_carry(const struct ni_work *w, const struct ni_netdev *d)
{
    return d->running && (d->physical || ni_is_allocated_netdev(&w->inv->net, d->name)) &&
           ni_has_address(w, d->name);
}

/* Finds the interfaces beside the pod's own one that NCCL alone would use. While facts are to be
   read that an earlier rule lacks, a port may yet be found, and then nobody asks for these. */
static void find_others(const struct ni_work *w, const char *pod, struct ni_if_list *others)
{
    const struct ni_net *net = &w->inv->net;

    if (w->plan->needs & ~w->inv->read & ~(unsigned)NI_NEED_PHYSICAL)
        return;
    for (unsigned i = 0; i < net->n_addr; i++) {
        if (!pod || strcmp(net->addr[i].ifname, pod) != 0)
            w->plan->needs |= NI_NEED_PHYSICAL;
    }
    if (!(w->inv->read & NI_NEED_PHYSICAL))
        return;
    for (unsigned i = 0; i < w->inv->n_netdev; i++) {
        const struct ni_netdev *d = &w->inv->netdev[i];

        if (!(pod && strcmp(d->name, pod) == 0) && may_carry(w, d))
            ni_add_interface(others, d->name);
    }
}

/* Returns an IPv4 address in a subnet of the interface: its own, or its neighbour's if two
   interfaces are in one subnet. */
static const uint8_t *ipv4_of(const struct ni_net *net, const char *ifname)
{
    for (unsigned i = 0; i < net->n_addr; i++) {
        const uint8_t *ip = net->addr[i].ip;
        const struct ni_route *subnet =
            ni_ip_is_v4(ip) ? ni_connected_route(net, ifname, ip) : NULL;

        if (subnet && subnet->bits > 0)
            return ip;
    }
    return NULL;
}

/* Returns the worst path between any two interfaces of the list: a pod with one of them down must
   still reach the other pods. */
static enum ni_path worst_path(const struct ni_work *w, const struct ni_if_list *l)
{
    const struct ni_net *net = &w->inv->net;
    enum ni_path worst = NI_PATH_THERE;

    for (unsigned i = 0; i < l->n; i++) {
        for (unsigned k = 0; k < i; k++) {
            const struct ni_end a = {l->name[i], ipv4_of(net, l->name[i])};
            const struct ni_end b = {l->name[k], ipv4_of(net, l->name[k])};
            const enum ni_path path = a.ip && b.ip ? ni_path_between(net, &a, &b) : NI_PATH_UNKNOWN;

            if (path == NI_PATH_NONE)
                return NI_PATH_NONE;
            if (path == NI_PATH_UNKNOWN)
                worst = NI_PATH_UNKNOWN;
        }
    }
    return worst;
}

/* Returns an interface that was given to the pod and cannot serve, or NULL: in other pods it may
   serve, and they name it. */
static const char *lost_interface(const struct ni_work *w)
{
    const struct ni_net *net = &w->inv->net;

    for (unsigned i = 0; i < net->n_allocated; i++) {
        const struct ni_netdev *d = ni_find_netdev(w->inv, net->given[i]);

        if (!d || !d->running || !ni_has_address(w, d->name))
            return net->given[i];
    }
    return NULL;
}

static void report_left_out(const struct ni_work *w, const struct ni_if_list *others,
                            const char *why)
{
    struct ni_text names = NI_TEXT(NI_MAX_IFS * (NI_IF_NAME + 1) + 1);

    ni_put_interfaces(others, &names);
    ni_report(w->f, NI_F_SOCKET_LEFT_OUT, ni_socket_ifname,
              "left out %s, which NCCL would also use: %s, so a pod in which one is down may not "
              "reach the others",
              names.buf, why);
}

/* Keeps only interfaces whose names begin with "ib", if there are any, as NCCL alone does (2.28.9
   misc/socket.cc ncclFindInterfaces). */
static void keep_ipoib(struct ni_if_list *l)
{
    unsigned n = 0;

    for (unsigned i = 0; i < l->n; i++) {
        if (ni_has_prefix(l->name[i], "ib"))
            l->name[n++] = l->name[i];
    }
    if (n > 0)
        l->n = n;
}

/* Says why the interfaces beside the pod's own one may not reach all pods. false: nothing shows that. */
static bool doubt_about_others(const struct ni_work *w, const struct ni_if_list *others,
                               struct ni_text *ret_why)
{
    const char *lost = lost_interface(w);

    if (lost) {
        ni_putf(ret_why, "the pod was also given %s, which is down or has no address", lost);
        return true;
    }
    switch (worst_path(w, others)) {
    case NI_PATH_THERE:
        return false;
    case NI_PATH_NONE:
        ni_put(ret_why, "no route leads from one to another");
        break;
    case NI_PATH_UNKNOWN:
        ni_put(ret_why, "the routes do not show how one reaches another");
        break;
    }
    return true;
}

static const char *choose_for_data(const struct ni_work *w, struct ni_if_list *l)
{
    const bool all = is_option(w, "rails");
    const char *pod = ni_pod_interface(w);
    struct ni_if_list others = {.n = 0};
    struct ni_text why = NI_TEXT(160);

    if (!is_option(w, "pod"))
        find_others(w, pod, &others);
    const bool doubt = doubt_about_others(w, &others, &why);

    if (pod)
        add_pod_interface(l, pod);
    if (others.n == 0)
        return pod ? "" : NULL;
    if (doubt && !all) {
        report_left_out(w, &others, why.buf);
        return pod ? "; the others may not reach all pods"
                   : "no interface of a default route can be used, and the others may not reach "
                     "all pods";
    }
    for (unsigned i = 0; i < others.n; i++)
        ni_add_interface(l, others.name[i]);
    keep_ipoib(l);
    l->pod = pod && !all;
    if (all)
        return "--sockets=rails: all interfaces of the pod that carry data";
    return pod ? ", and those that the pod has for data" : "interfaces that the pod has for data";
}

/* ---- sockets beside RDMA: they carry only NCCL's bootstrap ---- */

/* Returns true if a port that the pod certainly was given is left out, for whatever reason: pods in
   which it is used name its interface. */
static bool lacks_port(const struct ni_work *w)
{
    const struct ni_inventory *inv = w->inv;

    for (unsigned i = 0; ni_is_source_certain(inv->source) && i < inv->n_port; i++) {
        if (ni_is_allocated(&inv->hca[inv->port[i].hca]) && !w->plan->port[i].chosen &&
            ni_is_listed(w, (int)i))
            return true;
    }
    return false;
}

/* Returns the interface of a rail and its address: those of its GID, or of IPoIB. ifname NULL: it has
   none. */
static struct ni_end end_of_rail(const struct ni_work *w, int port, const struct ni_gid *gid)
{
    const struct ni_hca *h = &w->inv->hca[w->inv->port[port].hca];
    const char *own = h->netdev >= 0 ? w->inv->netdev[h->netdev].name : NULL;

    if (gid && gid->ndev[0] && !ni_ip_is_link_local(gid->ip))
        return (struct ni_end){gid->ndev, gid->ip};
    w->plan->needs |= NI_NEED_OWN_NETDEVS;
    return (struct ni_end){own, own ? ipv4_of(&w->inv->net, own) : NULL};
}

/* Returns true if the pod was given rails with two or more interfaces, up or not; a rail of an unknown
   network counts as one. The connected route of an interface that lost its link stays, and the
   kernel sends by it (net/ipv4/fib_semantics.c fib_sync_down_dev; ignore_routes_with_linkdown is 0):
   a pod in which one rail is down reaches no pod that listens on that rail, even if the others are
   in one network or routed. Seen with NCCL 2.27.7, 2.31.2 and 2.32.3 in two network namespaces. */
static bool has_several_rails(const struct ni_work *w)
{
    struct ni_given_rails rails;
    struct ni_if_list names = {.n = 0};

    ni_given_rails(w, &rails);
    for (unsigned i = 0; i < rails.n; i++) {
        const struct ni_end end = end_of_rail(w, rails.port[i], rails.gid[i]);

        if (end.ifname) /* NULL: InfiniBand without IPoIB, which sockets never use */
            ni_add_interface(&names, end.ifname);
    }
    return names.n + (rails.unknown >= 0) > 1;
}

/* Returns an interface of a chosen port of which NCCL may take a link-local address; NULL. */
static const char *local_rail(const struct ni_work *w)
{
    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        const struct ni_chosen c = ni_chosen(w, i);
        const char *name = end_of_rail(w, c.at, c.gid).ifname;

        if (name && ni_may_be_local(w, name))
            return name;
    }
    return NULL;
}

/* Says why the rails may not reach all pods; NULL: they do. */
static const char *doubt_about_rails(const struct ni_work *w)
{
    if (is_option(w, "rails"))
        return NULL;
    if (has_several_rails(w))
        return ": a pod in which one of several rails is down could not reach the others over them";
    if (lacks_port(w))
        return ": a port that the pod was given is out of use, and the other pods may have it";
    if (local_rail(w))
        return ": a rail's interface also has a link-local address (169.254.0.0/16), and NCCL "
               "takes the first of its addresses";
    return NULL;
}

static const char *choose_for_bootstrap(const struct ni_work *w, struct ni_if_list *l)
{
    const bool only_pod = is_option(w, "pod");
    const char *doubt = doubt_about_rails(w);
    const char *pod = only_pod || doubt ? ni_pod_interface(w) : NULL;

    if (pod) {
        add_pod_interface(l, pod);
        return only_pod ? "" : doubt;
    }
    if (!only_pod)
        add_rails(w, l);
    if (l->n > 0 && w->inv->net.v4_known != NI_KNOWN)
        return "interfaces of the chosen ports, up; their addresses cannot be read";
    if (l->n > 0)
        return "interfaces of the chosen ports, up and with an address";
    pod = ni_pod_interface(w);
    if (pod) {
        add_pod_interface(l, pod);
        return ": no chosen port has one with an address";
    }
    if (local_rail(w))
        return "NCCL may take a link-local address of a rail's interface first, and no other "
               "interface is certain to reach the other pods";
    return NULL;
}

/* ---- a pod without a default route ---- */

/* Returns true if NCCL by itself takes an interface whose name begins with "ib", and that has only a
   link-local address: it looks for such names first (2.32.3 misc/socket.cc ncclFindInterfaces). */
static bool takes_local_ipoib(const struct ni_work *w)
{
    const struct ni_net *net = &w->inv->net;
    bool local = false;

    for (unsigned i = 0; i < net->n_addr; i++) {
        const char *name = net->addr[i].ifname;
        const struct ni_netdev *d = ni_find_netdev(w->inv, name);

        if (!ni_has_prefix(name, "ib") || !d || !d->running)
            continue;
        if (ni_address_of(w, name).reach == NI_PEERS)
            return false;
        local = true;
    }
    return local;
}

/* Adds the interfaces that NCCL would take if it did not take such an interface. */
static const char *choose_beside_ipoib(const struct ni_work *w, struct ni_if_list *l)
{
    const struct ni_net *net = &w->inv->net;

    if (net->default_if[0] || !takes_local_ipoib(w))
        return NULL;
    for (unsigned i = 0; i < net->n_addr; i++) {
        const struct ni_netdev *d = ni_find_netdev(w->inv, net->addr[i].ifname);

        if (d && d->running && !ni_is_bridge_of_node(d->name) && ni_has_address(w, d->name))
            ni_add_interface(l, d->name);
    }
    return "there is no default route, and NCCL alone takes an interface called ib that has only a "
           "link-local address";
}

/* Finds the interfaces to name. Returns why these; NULL: none is up with an address. */
static const char *find_interfaces(const struct ni_work *w, struct ni_if_list *l)
{
    if (ni_named_sockets(w->policy))
        add_option(w, l);
    if (l->n > 0)
        return "--sockets";
    const bool rdma = w->plan->transport == NI_NET_RDMA;
    const char *why = rdma ? choose_for_bootstrap(w, l) : choose_for_data(w, l);
    if (l->n > 0)
        return why;
    const char *beside = choose_beside_ipoib(w, l);
    return l->n > 0 ? beside : why;
}

/* Returns true if the interface that has the address is down, as far as that is known: of an address
   that no route ties to one, if all interfaces are. A bridge of the node leads nowhere else. */
static bool is_out_of_use(const struct ni_work *w, const struct ni_addr *a)
{
    const struct ni_inventory *inv = w->inv;
    bool any = false;

    if (a->ifname[0])
        return ni_is_netdev_down(w, a->ifname) || ni_is_bridge_of_node(a->ifname);
    for (unsigned i = 0; i < inv->n_netdev; i++) {
        if (inv->netdev[i].running || inv->netdev[i].known != NI_KNOWN)
            return false;
        any = true;
    }
    return any;
}

/* The addresses of the pod: the first that is link-local, the first that is of no use, and whether
   one is routable, or one of the family that the user wants. */
struct sorted {
    const struct ni_addr *local, *down;
    bool routable, of_family;
};

/* Returns true if the user's NCCL_SOCKET_FAMILY leaves out the address. */
static bool is_left_out(const struct ni_work *w, const struct ni_addr *a)
{
    const char *family = ni_user_value(w, ni_socket_family);

    if (!family)
        return false;
    return strcmp(family, ni_ip_is_v4(a->ip) ? "AF_INET6" : "AF_INET") == 0;
}

static struct sorted sort_addresses(const struct ni_work *w)
{
    const struct ni_net *net = &w->inv->net;
    struct sorted found = {NULL, NULL, false, false};

    for (unsigned i = net->n_addr; i-- > 0;) {
        const struct ni_addr *a = &net->addr[i];

        if (ni_ip_is_link_local(a->ip))
            found.local = a;
        else if (is_out_of_use(w, a))
            found.down = a;
        else
            found.routable = true;
        found.of_family = found.of_family || (!ni_ip_is_link_local(a->ip) && !is_out_of_use(w, a) &&
                                              !is_left_out(w, a));
    }
    return found;
}

/* Reports that no routable address of the pod is of use. down: the first of them. */
static void report_down(const struct ni_work *w, const struct ni_addr *down)
{
    char ip[NI_IP_TEXT];

    ni_ip_text(down->ip, ip);
    if (!down->ifname[0])
        ni_report(w->f, NI_F_SOCKET_NONE, ni_socket_ifname,
                  "the pod has the routable address %s, but all its interfaces are down", ip);
    else if (!ni_is_netdev_down(w, down->ifname))
        ni_report(w->f, NI_F_SOCKET_NONE, ni_socket_ifname,
                  "%s has the routable address %s, which other nodes do not reach, and no other "
                  "interface that is up has one that they reach",
                  down->ifname, ip);
    else
        ni_report(
            w->f, NI_F_SOCKET_NONE, ni_socket_ifname,
            "%s has the routable address %s, but is down; no interface that is up has one that "
            "other nodes reach",
            down->ifname, ip);
}

/* Reports that the pod has no routable address at all. local: a link-local one, or NULL. */
static void report_unroutable(const struct ni_work *w, const struct ni_addr *local)
{
    char ip[NI_IP_TEXT];

    if (local && local->ifname[0])
        ni_report(w->f, NI_F_SOCKET_NONE, ni_socket_ifname,
                  "no interface of this pod has a routable address: %s has only %s, which is "
                  "link-local",
                  local->ifname, ni_ip_text(local->ip, ip));
    else
        ni_report(w->f, NI_F_SOCKET_NONE, ni_socket_ifname,
                  "no interface of this pod has a routable address");
}

/* Reports that the user's NCCL_SOCKET_FAMILY leaves no address, unless the interfaces are the user's
   own, too. of_family: an address of the family that other nodes may reach is there. */
static void report_family(const struct ni_work *w, bool of_family)
{
    const char *family = ni_user_value(w, ni_socket_family);
    const bool routed = w->inv->net.default_if[0] != '\0';

    if (!family || ni_user_value(w, ni_socket_ifname) || (of_family && !routed))
        return;
    if (strcmp(family, "AF_INET") != 0 && strcmp(family, "AF_INET6") != 0)
        return;
    const char *lacks = "no interface that is up has a";
    if (routed)
        lacks = "the interface of the default route has no";
    ni_report(w->f, NI_F_USER_SOCKET_NONE, ni_socket_family, "%s routable address of %s", lacks,
              family);
}

/* Asks for facts by which an interface may yet be named. Reports if no address is routable and up, or
   if the user's NCCL_SOCKET_FAMILY rules out what is there; otherwise nothing. */
static void report_none(const struct ni_work *w)
{
    const struct ni_net *net = &w->inv->net;

    w->plan->needs |= NI_NEED_IPV6;
    if (net->v4_known != NI_KNOWN || net->v6_known != NI_KNOWN)
        return;
    /* with whole GID tables a port may yet be found, and then nobody asks for more interfaces */
    if ((w->plan->needs & ~w->inv->read & NI_NEED_WHOLE_GIDS) == 0)
        w->plan->needs |= NI_NEED_ADDR_NETDEVS;
    const struct sorted found = sort_addresses(w);
    if (found.routable)
        report_family(w, found.of_family);
    else if (found.down)
        report_down(w, found.down);
    else
        report_unroutable(w, found.local);
}

/* Returns why no interface is named. */
static const char *why_none(const struct ni_work *w)
{
    const struct sorted found = sort_addresses(w);

    if (!found.routable)
        return "no interface is known to be up with a routable address";
    return w->inv->net.default_if[0]
               ? "the default route's interface is not known to be up with an address for this"
               : "there is no default route to say which interface reaches other nodes";
}

/* Keeps one interface: torchcomms and its ncclx take the whole value for the beginning of one name,
   before their #2457 of May 2026 (ctran getInterfaceAddress). The pod's own network reaches all
   pods. */
static const char *keep_one(const struct ni_work *w, struct ni_if_list *l, const char *why)
{
    const char *pod = w->policy->sockets ? NULL : ni_pod_interface(w);

    l->n = 1;
    if (!pod)
        return why;
    l->name[0] = pod;
    l->pod = true;
    return "";
}

static void check_torchcomms(const struct ni_work *w)
{
    const char *user = ni_user_value(w, ni_socket_ifname);

    if (w->policy->targets & NI_FOR_TORCHCOMMS && user && strpbrk(user, ",=^"))
        ni_report(w->f, NI_F_USER_VALUE_IGNORED, ni_socket_ifname,
                  "`%.100s` is not one plain name: torchcomms before its #2457 takes all of it for "
                  "the beginning of an interface's name, and finds none",
                  user);
}

void ni_rule_sockets(const struct ni_work *w)
{
    struct ni_text value = NI_TEXT(NI_MAX_IFS * (NI_IF_NAME + 1) + 2);
    struct ni_if_list l = {.n = 0}, users = {.n = 0};
    const bool by_user = ni_take_users_sockets(w, &users);

    if (w->plan->transport == NI_NET_OTHER)
        return;
    check_torchcomms(w);
    const char *why = find_interfaces(w, &l);
    if (l.n == 0) {
        ni_decide_value(w, ni_socket_ifname, NULL, "%s", why ? why : why_none(w));
        report_none(w);
        return;
    }
    const bool one = w->policy->targets & NI_FOR_TORCHCOMMS;
    if (one)
        why = keep_one(w, &l, why);
    else
        ni_put(&value, "=");
    ni_put_interfaces(&l, &value);
    const char *whose = l.pod ? ni_pod_interface_text(w) : "";
    const char *form = one ? "; one plain name, because torchcomms reads no list" : "";
    ni_decide_value(w, ni_socket_ifname, value.buf, "%s%s%s", whose, why, form);
    struct ni_text t = ni_text_on(w->plan->sockets, sizeof(w->plan->sockets));
    ni_put_interfaces(by_user ? &users : &l, &t);
}
