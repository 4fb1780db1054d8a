/* SPDX-License-Identifier: Apache-2.0 */
/* The user's own NCCL_SOCKET_IFNAME: the interfaces that NCCL takes by it, and what it cannot do with
   them. */
#include "rules/socket_user.h"

#include <string.h>

#include "findings/setting.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/nccl_list.h"
#include "nccl_init/net.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "rules/decide.h"
#include "rules/socket_address.h"

/* The interface that NCCL takes first of those that the user's list matches: the first that
   getifaddrs lists (NCCL 2.30.7 os/linux.cc ncclOsFindInterfaces). The kernel lists IPv4 before
   IPv6, each by the number of the interface (net/core/rtnetlink.c rtnl_dump_all); lo is the first
   of all. */
struct first {
    const struct ni_netdev *netdev; /* NULL: none */
    struct ni_if_address address;
    bool unsure; /* the number of an interface is not known */
};

static void note_first(struct first *f, const struct ni_netdev *d, struct ni_if_address a)
{
    bool before = f->netdev == NULL;

    if (f->netdev && a.v4 != f->address.v4) {
        before = a.v4;
    } else if (f->netdev && strcmp(f->netdev->name, "lo") != 0) {
        const bool known = d->ifindex.known == NI_KNOWN && f->netdev->ifindex.known == NI_KNOWN;

        before = strcmp(d->name, "lo") == 0 || (known && d->ifindex.v < f->netdev->ifindex.v);
        f->unsure = f->unsure || (!known && strcmp(d->name, "lo") != 0);
    }
    if (before) {
        f->netdev = d;
        f->address = a;
    }
}

/* Reports what NCCL reads otherwise than the user means it: a name that matches nothing, and too
   many names. The length of what NCCL keeps of the list. */
static size_t check_users_list(const struct ni_work *w, const char *user)
{
    const char *cursor = user;
    const char *end;
    unsigned names = 0;

    cursor += *cursor == '^';
    cursor += *cursor == '=';
    end = cursor;
    for (struct ni_span e; ni_split(&cursor, ',', &e);) {
        names += e.n > 0;
        if (names <= NI_MAX_IFS)
            end = e.p + e.n;
        if (*e.p == '=' || *e.p == '^' || memchr(e.p, ' ', e.n))
            ni_report(w->f, NI_F_USER_VALUE_IGNORED, ni_socket_ifname,
                      "`%.*s` matches no interface: NCCL takes all of it as the name", (int)e.n,
                      e.p);
    }
    if (names > NI_MAX_IFS)
        ni_report(w->f, NI_F_USER_VALUE_IGNORED, ni_socket_ifname,
                  "%u names; NCCL silently ignores all after the first %d", names, NI_MAX_IFS);
    return (size_t)(end - user);
}

/* Returns why ranks on other nodes cannot connect to the interface, as words after its name; NULL:
   nothing shows that. */
static const char *why_out_of_reach(const char *ifname, enum ni_reach reach)
{
    if (strcmp(ifname, "lo") == 0)
        return "";
    if (reach == NI_THIS_LINK)
        return " with its link-local address";
    return ni_is_bridge_of_node(ifname) ? ", a bridge with the same address on each node" : NULL;
}

/* Reports the interfaces that NCCL takes after the first one, and to which no other node connects.
   The bootstrap uses the first alone (bootstrap.cc bootstrapNetInit); sockets that carry the data
   use all (transport/net_socket.cc ncclNetSocketInit, both 2.32.3). */
static void check_users_others(const struct ni_work *w, const char *user,
                               const struct ni_if_list *taken, const struct first *first)
{
    for (unsigned i = 0; i < taken->n; i++) {
        const char *name = taken->name[i];
        const char *why = why_out_of_reach(name, ni_address_of(w, name).reach);

        if (why && first->netdev && strcmp(first->netdev->name, name) != 0)
            ni_report(w->f, NI_F_USER_SOCKET_OTHERS, ni_socket_ifname,
                      "`%.100s` also lets NCCL take %s%s: without RDMA the data goes over each "
                      "interface, and ranks on other nodes cannot connect to this one",
                      user, name, why);
    }
}

/* Reports a list by which NCCL takes first an interface that other nodes cannot reach, or finds
   none. none: it matches no interface with an address. */
static void check_users_first(const struct ni_work *w, const char *user, const struct first *first,
                              bool is_first_known, bool none)
{
    const bool lo = first->netdev && strcmp(first->netdev->name, "lo") == 0;
    const bool is_certain = lo || is_first_known; /* the kernel lists lo first */
    const char *why =
        first->netdev ? why_out_of_reach(first->netdev->name, first->address.reach) : NULL;

    if (why && is_certain)
        ni_report(w->f, NI_F_USER_SOCKET_FIRST, ni_socket_ifname,
                  "`%.100s` lets NCCL take %s%s, to which ranks on other nodes cannot connect",
                  user, first->netdev->name, why);
    else if (none)
        ni_report(w->f, NI_F_USER_SOCKET_NONE, ni_socket_ifname,
                  "`%.100s` matches no interface that is up with an address: `no socket interface "
                  "found`",
                  user);
}

/* Fills order with the places of all interfaces, by their names: the table's own order depends on
   what was asked for. */
static void order_netdevs(const struct ni_inventory *inv, uint8_t order[NI_MAX_NETDEV])
{
    for (unsigned i = 0; i < inv->n_netdev; i++) {
        unsigned at = i;

        while (at > 0 && strcmp(inv->netdev[i].name, inv->netdev[order[at - 1]].name) < 0) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = (uint8_t)i;
    }
}

/* A list of one character counts as unset (misc/socket.cc). */
bool ni_take_users_sockets(const struct ni_work *w, struct ni_if_list *l)
{
    const char *user = ni_user_value(w, ni_socket_ifname);
    const char *local = NULL; /* the first interface that has a link-local address only */
    char kept[NI_REASON];
    struct first first = {.netdev = NULL};
    struct ni_if_list taken = {.n = 0};
    uint8_t order[NI_MAX_NETDEV];

    if (user && *user && !user[1])
        ni_report(w->f, NI_F_USER_VALUE_IGNORED, ni_socket_ifname,
                  "`%s` is a single character, which NCCL takes as unset", user);
    if (!user || strlen(user) < 2)
        return false;
    if (ni_copyn(kept, sizeof(kept), user, check_users_list(w, user)))
        user = kept;
    w->plan->needs |= NI_NEED_USERS_NETDEVS;
    order_netdevs(w->inv, order);
    for (unsigned i = 0; i < w->inv->n_netdev; i++) {
        const struct ni_netdev *d = &w->inv->netdev[order[i]];

        if (!d->running || !ni_nccl_match(user, d->name, -1))
            continue;
        const struct ni_if_address a = ni_address_of(w, d->name);

        if (a.reach == NI_PEERS)
            ni_add_interface(l, d->name);
        if (a.reach == NI_THIS_LINK && !local)
            local = d->name;
        if (a.reach == NI_NO_ADDRESS)
            continue;
        note_first(&first, d, a);
        ni_add_interface(&taken, d->name);
    }
    const bool known = w->inv->net.v4_known == NI_KNOWN && (l->n == 0 || !first.unsure);

    check_users_first(w, user, &first, known, l->n == 0 && !local);
    if (w->plan->transport == NI_NET_TCP)
        check_users_others(w, user, &taken, &first);
    if (local && l->n == 0)
        ni_add_interface(l, local);
    return true;
}
