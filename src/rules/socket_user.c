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

/* Returns true if the kernel lists the interface before the first one found so far. */
static bool is_before(struct first *f, const struct ni_netdev *d, struct ni_if_address a)
{
    const struct ni_netdev *other = f->netdev;

    if (a.v4 != f->address.v4)
        return a.v4;
    if (strcmp(other->name, "lo") == 0)
        return false;
    if (strcmp(d->name, "lo") == 0)
        return true;
    if (d->ifindex.known != NI_KNOWN || other->ifindex.known != NI_KNOWN) {
        f->unsure = true;
        return false;
    }
    return d->ifindex.v < other->ifindex.v;
}

static void note_first(struct first *f, const struct ni_netdev *d, struct ni_if_address a)
{
    if (!f->netdev || is_before(f, d, a)) {
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

/* The interfaces that the user's list matches. */
struct matched {
    struct ni_if_list routable; /* other nodes may connect to them */
    const char *local;          /* the first that has a link-local address only; NULL */
    struct ni_if_list taken;    /* NCCL takes them: they have any address */
    struct first first;
};

/* Fills order with the indexes of all interfaces, sorted by name: the table's own order depends on
   which facts were read. */
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

/* Finds the interfaces that the list matches and that are up with an address. */
static void match_netdevs(const struct ni_work *w, const char *user, struct matched *m)
{
    uint8_t order[NI_MAX_NETDEV];

    order_netdevs(w->inv, order);
    for (unsigned i = 0; i < w->inv->n_netdev; i++) {
        const struct ni_netdev *d = &w->inv->netdev[order[i]];

        if (!d->running || !ni_nccl_match(user, d->name, -1))
            continue;
        const struct ni_if_address a = ni_address_of(w, d->name);

        if (a.reach == NI_NO_ADDRESS)
            continue;
        if (a.reach == NI_PEERS)
            ni_add_interface(&m->routable, d->name);
        else if (!m->local)
            m->local = d->name;
        note_first(&m->first, d, a);
        ni_add_interface(&m->taken, d->name);
    }
}

/* Reports the interfaces that NCCL takes after the first one, and to which no other node connects.
   The bootstrap uses the first alone (bootstrap.cc bootstrapNetInit); sockets that carry the data
   use all (transport/net_socket.cc ncclNetSocketInit, both 2.32.3). */
static void check_users_others(const struct ni_work *w, const char *user, const struct matched *m)
{
    const struct ni_netdev *first = m->first.netdev;

    for (unsigned i = 0; first && i < m->taken.n; i++) {
        const char *name = m->taken.name[i];
        const char *why = why_out_of_reach(name, ni_address_of(w, name).reach);

        if (why && strcmp(first->name, name) != 0)
            ni_report(w->f, NI_F_USER_SOCKET_OTHERS, ni_socket_ifname,
                      "`%.100s` also lets NCCL take %s%s: without RDMA the data goes over each "
                      "interface, and ranks on other nodes cannot connect to this one",
                      user, name, why);
    }
}

/* Returns true if it is certain which interface NCCL takes first. The kernel lists lo before all. */
static bool is_first_certain(const struct ni_work *w, const struct matched *m)
{
    if (strcmp(m->first.netdev->name, "lo") == 0)
        return true;
    if (w->inv->net.v4_known != NI_KNOWN)
        return false;
    return m->routable.n == 0 || !m->first.unsure;
}

/* Puts the interfaces that the user could name: those that are up with an address that peers reach. */
static void put_usable(const struct ni_work *w, struct ni_text *t)
{
    enum { NAMED = 8 };
    uint8_t order[NI_MAX_NETDEV] = {0};
    unsigned n = 0;

    order_netdevs(w->inv, order);
    for (unsigned i = 0; i < w->inv->n_netdev; i++) {
        const struct ni_netdev *d = &w->inv->netdev[order[i]];

        if (!d->running || ni_address_of(w, d->name).reach != NI_PEERS)
            continue;
        n++;
        if (n <= NAMED)
            ni_putf(t, "%s%s", n == 1 ? " (" : ", ", d->name);
    }
    if (n > NAMED)
        ni_putf(t, " and %u more", n - NAMED);
    ni_put(t, n > 0 ? ")" : "");
}

/* Reports a list by which NCCL takes first an interface that other nodes cannot reach, or finds
   none. */
static void check_users_first(const struct ni_work *w, const char *user, const struct matched *m)
{
    const struct ni_netdev *d = m->first.netdev;

    if (!d) {
        struct ni_text usable = NI_TEXT(240);

        put_usable(w, &usable);
        ni_report(
            w->f, NI_F_USER_SOCKET_NONE, ni_socket_ifname,
            "`%.100s` matches no interface that is up with an address%s: `no socket interface "
            "found`",
            user, usable.buf);
        return;
    }
    const char *why = why_out_of_reach(d->name, m->first.address.reach);

    if (why && is_first_certain(w, m))
        ni_report(w->f, NI_F_USER_SOCKET_FIRST, ni_socket_ifname,
                  "`%.100s` lets NCCL take %s%s, to which ranks on other nodes cannot connect",
                  user, d->name, why);
}

/* A list of one character counts as unset (misc/socket.cc). */
bool ni_take_users_sockets(const struct ni_work *w, struct ni_if_list *l)
{
    const char *user = ni_user_value(w, ni_socket_ifname);
    char kept[NI_REASON];
    struct matched m = {.local = NULL};

    if (user && *user && !user[1])
        ni_report(w->f, NI_F_USER_VALUE_IGNORED, ni_socket_ifname,
                  "`%s` is a single character, which NCCL takes as unset", user);
    if (!user || strlen(user) < 2)
        return false;
    if (ni_copyn(kept, sizeof(kept), user, check_users_list(w, user)))
        user = kept;
    w->plan->needs |= NI_NEED_USERS_NETDEVS;
    match_netdevs(w, user, &m);
    check_users_first(w, user, &m);
    if (w->plan->transport == NI_NET_TCP)
        check_users_others(w, user, &m);
    *l = m.routable;
    if (m.local && l->n == 0)
        ni_add_interface(l, m.local);
    return true;
}
