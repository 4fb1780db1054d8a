/* SPDX-License-Identifier: Apache-2.0 */
/* socket.ifname: NCCL_SOCKET_IFNAME, exact names. NCCL dies with "no socket interface found" when
   none of the names is up with an address (NCCL 2.30.7 bootstrap.cc bootstrapNetInit), so such a
   name is never written. */
#include <string.h>

#include "rule.h"

static const char variable[] = "NCCL_SOCKET_IFNAME", family_variable[] = "NCCL_SOCKET_FAMILY";

/* ---- the address that NCCL takes of an interface ---- */

enum family { ANY_FAMILY, ONLY_V4, ONLY_V6 };

/* NCCL looks at one family only where NCCL_SOCKET_FAMILY says so (misc/socket.cc, os/linux.cc). */
static enum family users_family(const struct ni_work *w)
{
    const char *family = ni_user_value(w, family_variable);
    if (family && strcmp(family, "AF_INET") == 0)
        return ONLY_V4;
    return family && strcmp(family, "AF_INET6") == 0 ? ONLY_V6 : ANY_FAMILY;
}

/* Who can connect to an address. */
enum reach { NO_ADDRESS, THIS_LINK, PEERS };

struct address {
    enum reach reach;
    bool v4;
};

static void add_address(const uint8_t ip[NI_GID_BYTES], enum reach *v4, enum reach *v6)
{
    enum reach *of = ni_ip_is_v4(ip) ? v4 : v6;
    const enum reach is = ni_ip_is_link_local(ip) ? THIS_LINK : PEERS;
    *of = is > *of ? is : *of;
}

/* NCCL takes the first record of an interface: the kernel lists all IPv4 addresses before all IPv6
   ones (NCCL 2.30.7 os/linux.cc ncclOsFindInterfaces, by getifaddrs). An IPv4 address whose interface
   the route table does not tell (a /32, source routing in other tables, two interfaces in one subnet)
   may be this one's: or_unknown. own: one that is, or NULL. */
static struct address address_of(const struct ni_work *w, const char *ifname, bool or_unknown,
                                 const uint8_t *own)
{
    const struct ni_net *net = &w->inv->net;
    const enum family family = users_family(w);
    enum reach v4 = NO_ADDRESS, v6 = NO_ADDRESS;
    for (unsigned i = 0; i < net->n_addr; i++) {
        const struct ni_addr *a = &net->addr[i];
        bool its = strcmp(a->ifname, ifname) == 0;
        if (!its && or_unknown && !ni_ip_is_link_local(a->ip)) {
            const struct ni_route *r = a->ifname[0] ? ni_route_to(net, ifname, a->ip, false) : NULL;
            its = !a->ifname[0] || (r && r->bits > 0); /* others may be in its subnet, too */
        }
        if (its)
            add_address(a->ip, &v4, &v6);
    }
    if (own)
        add_address(own, &v4, &v6);
    if (strcmp(ifname, "lo") == 0)
        v4 = THIS_LINK; /* loopback addresses are no facts; NCCL skips ::1 */
    if (family == ONLY_V6)
        v4 = NO_ADDRESS;
    if (v4 != NO_ADDRESS || family == ONLY_V4)
        return (struct address){v4, true};
    w->plan->wants |= NI_WANT_IPV6;
    return (struct address){v6, false};
}

static bool has_address(const struct ni_work *w, const char *ifname)
{
    return address_of(w, ifname, true, NULL).reach == PEERS;
}

bool ni_sockets_are_v6(const struct ni_work *w)
{
    const char *list = w->plan->sockets;
    char name[NI_IF_NAME];
    struct ni_span s;
    while (ni_split(&list, ',', &s)) {
        if (!ni_copyn(name, sizeof(name), s.p, s.n) || !*name)
            return false;
        const struct address a = address_of(w, name, true, NULL);
        if (a.v4 || a.reach == NO_ADDRESS)
            return false;
    }
    return true;
}

/* ---- the interface that NCCL takes ---- */

/* From a list, whatever its order: the first in the order of the kernel's numbers, those with an IPv4
   address before the others. NULL: none. running: NCCL looks whether it is up (2.28.3 and later). */
static const struct ni_netdev *first_of(const struct ni_work *w, const char *list, bool running)
{
    const struct ni_inventory *inv = w->inv;
    const struct ni_netdev *first = NULL;
    int64_t least = INT64_MAX;
    for (unsigned i = 0; i < inv->n_netdev; i++) {
        const struct ni_netdev *d = &inv->netdev[i];
        if ((running && d->known == NI_KNOWN && !d->running) || !ni_nccl_match_if(list, d->name))
            continue;
        const struct address a = address_of(w, d->name, true, NULL);
        int64_t number = d->ifindex.known == NI_KNOWN ? d->ifindex.v : UINT32_MAX;
        if (strcmp(d->name, "lo") == 0)
            number = 1; /* LOOPBACK_IFINDEX (drivers/net/loopback.c) */
        number += a.v4 ? 0 : INT64_C(1) << 32;
        if (a.reach == NO_ADDRESS || number >= least)
            continue;
        first = d;
        least = number;
    }
    return first;
}

/* NCCL takes a list of one character as unset (misc/socket.cc ncclFindInterfaces). */
static bool is_set(const char *list)
{
    return list && strlen(list) >= 2;
}

/* By the user's list, or by the lists that NCCL tries without one. */
static const struct ni_netdev *nccl_takes(const struct ni_work *w, bool running)
{
    static const char *const own[] = {"ib", "^docker,lo", "docker", "lo"};
    const char *list = ni_user_value(w, variable);
    const struct ni_netdev *first = NULL;
    w->plan->wants |= is_set(list) ? NI_WANT_USERS_NETDEVS : NI_WANT_ALL_NETDEVS;
    if (is_set(list))
        return first_of(w, list, running);
    for (unsigned i = 0; i < NI_COUNT(own) && !first; i++)
        first = first_of(w, own[i], running);
    return first;
}

/* Where /sys/class/net cannot be read the route table is believed. */
const char *ni_pod_interface(const struct ni_work *w)
{
    const char *name = w->inv->net.default_if;
    if (!name[0]) {
        w->plan->wants |= NI_WANT_IPV6; /* its default route may tell */
        return NULL;
    }
    const struct ni_netdev *d = ni_find_netdev(w->inv, name);
    const bool down = d && d->known == NI_KNOWN && !d->running;
    return !down && has_address(w, name) ? name : NULL;
}

/* ---- what the user set ---- */

/* No interface has a routable address of the one family that NCCL is to look at. */
static bool lacks_family(const struct ni_work *w)
{
    const struct ni_net *net = &w->inv->net;
    const enum family family = users_family(w);
    if (family == ONLY_V6)
        w->plan->wants |= NI_WANT_IPV6;
    if (family == ANY_FAMILY || (family == ONLY_V4 ? net->v4_known : net->v6_known) != NI_KNOWN)
        return false;
    for (unsigned i = 0; i < net->n_addr; i++) {
        if (ni_ip_is_v4(net->addr[i].ip) == (family == ONLY_V4) &&
            !ni_ip_is_link_local(net->addr[i].ip))
            return false;
    }
    return true;
}

/* What NCCL takes by the user's list, or by its own search where there is none. */
static void check_first(const struct ni_work *w)
{
    const char *list = ni_user_value(w, variable);
    const struct ni_netdev *first = nccl_takes(w, true);
    const struct ni_netdev *old = nccl_takes(w, false);
    const enum ni_finding_id id = list ? NI_F_USER_SOCKET_FIRST : NI_F_SOCKET_NONE;
    char older[NI_IF_NAME + 48] = "", by[160] = "without NCCL_SOCKET_IFNAME NCCL takes";
    if (list)
        (void)ni_format(by, sizeof(by), "`%.100s`%s lets NCCL take", list,
                        is_set(list) ? "" : ", which counts as unset,");
    if (old && old != first)
        (void)ni_format(older, sizeof(older), "; before 2.28.3 NCCL takes %s, which is down",
                        old->name);
    if (!first && is_set(list))
        ni_report(w->f, NI_F_USER_SOCKET_NONE, variable,
                  "`%.100s` matches no interface that is up with an address: `no socket interface "
                  "found`%s",
                  list, older);
    if (!first || (!is_set(list) && !w->inv->net.all_listed))
        return;
    const char *flaw = strcmp(first->name, "lo") == 0
                           ? ": ranks on other nodes cannot connect to it"
                       : !has_address(w, first->name) ? ", which has only a link-local address"
                                                      : "";
    if (*flaw || *older)
        ni_report(w->f, *flaw ? id : NI_F_USER_SOCKET_FIRST, variable, "%s %s%s%s", by, first->name,
                  flaw, older);
}

void ni_check_user_sockets(const struct ni_work *w)
{
    const char *list = ni_user_value(w, variable), *cursor = list;
    struct ni_span e;
    unsigned n = 0;
    if (lacks_family(w)) {
        ni_report(w->f, NI_F_USER_SOCKET_NONE, family_variable,
                  "no interface of the pod has a routable address of %s: NCCL takes a link-local "
                  "one, or none",
                  ni_user_value(w, family_variable));
        return;
    }
    if (!list)
        return;
    while (ni_split(&cursor, ',', &e))
        n += e.n > 0;
    if (n > NI_MAX_IFS)
        ni_report(w->f, NI_F_USER_VALUE_IGNORED, variable,
                  "%u names; NCCL drops those beyond %d silently", n, NI_MAX_IFS);
    check_first(w);
}

/* ---- the rule ---- */

struct list {
    const char *name[NI_MAX_IFS];
    unsigned n;
};

static void add(struct list *l, const char *name)
{
    if (l->n < NI_MAX_IFS && !ni_is_any(name, l->name, l->n))
        l->name[l->n++] = name;
}

static void put_names(const struct list *l, struct ni_text *t)
{
    for (unsigned i = 0; i < l->n; i++)
        ni_putf(t, "%s%s", i ? "," : "", l->name[i]);
}

/* --sockets=LIST */
static void add_option(const struct ni_work *w, struct list *l)
{
    const char *cursor = w->policy->sockets;
    struct ni_span s;
    while (l->n < NI_MAX_IFS && ni_split(&cursor, ',', &s)) {
        char name[NI_IF_NAME];
        if (!ni_copyn(name, sizeof(name), s.p, s.n))
            continue;
        const struct ni_netdev *d = ni_find_netdev(w->inv, name);
        if (d && d->running && has_address(w, name))
            add(l, d->name);
        else
            ni_report(w->f, NI_F_SOCKET_UNUSABLE, name, "named by --sockets, but %s",
                      !d || d->known != NI_KNOWN ? "not in this network namespace"
                      : d->running               ? "without address"
                                                 : "down");
    }
}

/* The interfaces of the chosen ports: for RoCE the one that owns the GID's address, for InfiniBand
   the IPoIB one. */
static void add_rails(const struct ni_work *w, struct list *l)
{
    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        const struct ni_chosen c = ni_chosen(w, i);
        const bool has_ndev = c.gid && c.gid->ndev[0];
        const char *name = has_ndev ? c.gid->ndev : "";
        if (!has_ndev)
            w->plan->wants |= NI_WANT_OWN_NETDEVS;
        if (!has_ndev && c.hca->netdev >= 0)
            name = w->inv->netdev[c.hca->netdev].name;
        const struct ni_netdev *d = ni_find_netdev(w->inv, name);
        const uint8_t *own = has_ndev && c.gid->own == NI_OWN_OURS ? c.gid->ip : NULL;
        if (d && d->running && address_of(w, d->name, false, own).reach == PEERS)
            add(l, d->name);
    }
}

/* The interfaces to name, and why these; NULL: there is none. */
static const char *find_interfaces(const struct ni_work *w, struct list *l)
{
    const char *option = w->policy->sockets;
    const bool listed = option && strcmp(option, "pod") != 0;
    const bool rails = w->plan->transport == NI_NET_RDMA && (listed || !option);
    if (listed)
        add_option(w, l);
    if (l->n > 0)
        return "--sockets";
    if (rails)
        add_rails(w, l);
    if (l->n > 0)
        return w->inv->net.v4_known == NI_KNOWN
                   ? "interfaces of the chosen ports, up and with an address"
                   : "interfaces of the chosen ports, up; their addresses cannot be read";
    const char *pod = ni_pod_interface(w);
    if (!pod)
        return NULL;
    add(l, pod);
    return rails ? "interface of the default route: no chosen port has one with an address"
                 : "interface of the default route";
}

/* What the user's own list means here: the interfaces it matches that have an address. */
static void take_users_list(const struct ni_work *w, struct list *l)
{
    const char *user = ni_user_value(w, variable);
    if (!is_set(user))
        return;
    l->n = 0;
    for (unsigned i = 0; i < w->inv->n_netdev; i++) {
        const struct ni_netdev *d = &w->inv->netdev[i];
        if (d->running && ni_nccl_match_if(user, d->name) && has_address(w, d->name))
            add(l, d->name);
    }
    const struct ni_netdev *first = nccl_takes(w, true);
    if (l->n == 0 && first)
        add(l, first->name);
}

static void report_none(const struct ni_work *w)
{
    const struct ni_net *net = &w->inv->net;
    w->plan->wants |= NI_WANT_IPV6;
    if (net->v4_known != NI_KNOWN || net->v6_known != NI_KNOWN)
        return;
    if (net->n_addr == 0)
        ni_report(w->f, NI_F_SOCKET_NONE, variable,
                  "no interface of this pod has an address but loopback");
    else if (ni_user_value(w, variable) || lacks_family(w))
        return; /* told where that is judged */
    else if (users_family(w) != ANY_FAMILY)
        ni_report(w->f, NI_F_USER_SOCKET_NONE, family_variable,
                  "the interface of the default route has no routable address of %s: NCCL takes "
                  "the first that has any, a link-local one too",
                  ni_user_value(w, family_variable));
    else
        check_first(w);
}

void ni_rule_sockets(const struct ni_work *w)
{
    struct ni_text value = NI_TEXT(NI_MAX_IFS * (NI_IF_NAME + 1) + 2);
    struct list l = {.n = 0};
    if (w->plan->transport == NI_NET_OTHER)
        return;
    const char *why = find_interfaces(w, &l);
    if (!why) {
        ni_decide_value(w, variable, NULL, "no interface is known to be up with an address");
        report_none(w);
        return;
    }
    ni_put(&value, "=");
    put_names(&l, &value);
    ni_decide_value(w, variable, value.buf, "%s", why);
    take_users_list(w, &l);
    struct ni_text t = ni_text_on(w->plan->sockets, sizeof(w->plan->sockets));
    put_names(&l, &t);
}
