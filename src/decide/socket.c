/* SPDX-License-Identifier: Apache-2.0 */
/* socket.ifname: NCCL_SOCKET_IFNAME, exact names. NCCL dies with "no socket interface found" when
   none of the names is up with an address (NCCL 2.30.7 bootstrap.cc bootstrapNetInit), so such a
   name is never written. */
#include <string.h>

#include "rule.h"

static const char rule[] = "socket.ifname", variable[] = "NCCL_SOCKET_IFNAME";

struct list {
    const char *name[NI_MAX_IFS];
    unsigned n;
};

static void add(struct list *l, const char *name)
{
    for (unsigned i = 0; i < l->n; i++) {
        if (strcmp(l->name[i], name) == 0)
            return;
    }
    if (l->n < NI_MAX_IFS)
        l->name[l->n++] = name;
}

enum family { ANY_FAMILY, ONLY_V4, ONLY_V6 };

/* NCCL looks at one family only where NCCL_SOCKET_FAMILY says so (misc/socket.cc, os/linux.cc). */
static enum family users_family(const struct ni_facts *facts)
{
    const char *family = ni_user_value(facts, "NCCL_SOCKET_FAMILY");
    if (family && strcmp(family, "AF_INET") == 0)
        return ONLY_V4;
    return family && strcmp(family, "AF_INET6") == 0 ? ONLY_V6 : ANY_FAMILY;
}

/* Not link-local, and of that family. */
static bool serves_peers(const uint8_t ip[NI_GID_BYTES], enum family family)
{
    return !ni_ip_is_link_local(ip) &&
           (family == ANY_FAMILY || ni_ip_is_v4(ip) == (family == ONLY_V4));
}

bool ni_has_address(const struct ni_facts *facts, const char *ifname, bool or_unknown)
{
    const struct ni_net *net = &facts->inv->net;
    enum family family = users_family(facts);
    for (unsigned i = 0; i < net->n_addr; i++) {
        const struct ni_addr *a = &net->addr[i];
        if (serves_peers(a->ip, family) &&
            (strcmp(a->ifname, ifname) == 0 || (or_unknown && !a->ifname[0])))
            return true;
    }
    return false;
}

/* The interfaces of the chosen ports: for RoCE the one that owns the GID's address, for InfiniBand
   the IPoIB one. */
static void rail_interfaces(const struct ni_facts *facts, const struct ni_plan *plan,
                            struct list *l)
{
    const struct ni_inventory *inv = facts->inv;
    enum family family = users_family(facts);
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        const struct ni_port *port = &inv->port[plan->chosen[i]];
        int gid = plan->pick[plan->chosen[i]].gid;
        int own = inv->hca[port->hca].netdev;
        const struct ni_netdev *d = NULL;
        bool addressed = false;
        if (gid >= 0 && inv->gid[gid].ndev[0]) {
            d = ni_find_netdev(inv, inv->gid[gid].ndev);
            addressed = inv->gid[gid].own == NI_OWN_OURS && serves_peers(inv->gid[gid].ip, family);
        } else if (own >= 0) {
            d = &inv->netdev[own];
        }
        if (d && d->running && (addressed || ni_has_address(facts, d->name, false)))
            add(l, d->name);
    }
}

/* Where /sys/class/net cannot be read the route table is believed. */
const char *ni_pod_interface(const struct ni_facts *facts)
{
    const struct ni_inventory *inv = facts->inv;
    const char *name = inv->net.default_if;
    if (!name[0])
        return NULL;
    const struct ni_netdev *d = ni_find_netdev(inv, name);
    bool down = d && d->known == NI_KNOWN && !d->running;
    return !down && ni_has_address(facts, name, true) ? name : NULL;
}

/* --sockets=LIST */
static void option_list(const struct ni_facts *facts, struct list *l, char (*names)[NI_IF_NAME],
                        struct ni_findings *f)
{
    const char *cursor = facts->policy->sockets;
    struct ni_span s;
    while (l->n < NI_MAX_IFS && ni_split(&cursor, ',', &s)) {
        char *name = names[l->n];
        if (!ni_copyn(name, NI_IF_NAME, s.p, s.n))
            continue;
        const struct ni_netdev *d = ni_find_netdev(facts->inv, name);
        if (d && d->running && ni_has_address(facts, name, true))
            add(l, name);
        else
            ni_report(f, NI_F_SOCKET_UNUSABLE, name, "named by --sockets, but %s",
                      !d || d->known != NI_KNOWN ? "not in this network namespace"
                      : d->running               ? "without address"
                                                 : "down");
    }
}

static void put_names(const struct list *l, struct ni_text *t)
{
    for (unsigned i = 0; i < l->n; i++)
        ni_putf(t, "%s%s", i ? "," : "", l->name[i]);
}

/* What the user's own list means here: the interfaces it matches that can serve. */
static void users_interfaces(const struct ni_facts *facts, struct list *l)
{
    const struct ni_inventory *inv = facts->inv;
    const char *user = ni_user_value(facts, variable);
    if (!user || strlen(user) < 2)
        return;
    l->n = 0;
    for (unsigned i = 0; i < inv->n_netdev; i++) {
        const struct ni_netdev *d = &inv->netdev[i];
        if (d->running && ni_nccl_match(user, d->name, -1) && ni_has_address(facts, d->name, true))
            add(l, d->name);
    }
}

static void write_list(const struct ni_facts *facts, struct ni_plan *plan, struct list *l,
                       struct ni_findings *f, const char *why)
{
    char value[NI_MAX_IFS * (NI_IF_NAME + 1) + 2];
    struct ni_text t = ni_text_on(value, sizeof(value));
    ni_put(&t, "=");
    put_names(l, &t);
    ni_decide_value(facts, plan, rule, variable, value, f, "%s", why);
    users_interfaces(facts, l);
    t = ni_text_on(plan->sockets, sizeof(plan->sockets));
    put_names(l, &t);
}

void ni_rule_sockets(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f)
{
    const struct ni_inventory *inv = facts->inv;
    const char *option = facts->policy->sockets, *pod = ni_pod_interface(facts);
    char names[NI_MAX_IFS][NI_IF_NAME];
    struct list l = {.n = 0};
    if (plan->transport == NI_NET_OTHER)
        return;
    bool want_pod = option && strcmp(option, "pod") == 0;
    if (option && !want_pod)
        option_list(facts, &l, names, f);
    if (l.n > 0) {
        write_list(facts, plan, &l, f, "--sockets");
        return;
    }
    if (!want_pod && plan->transport == NI_NET_RDMA)
        rail_interfaces(facts, plan, &l);
    if (l.n > 0) {
        write_list(facts, plan, &l, f, "interfaces of the chosen ports, up and with an address");
        return;
    }
    if (pod) {
        add(&l, pod);
        write_list(facts, plan, &l, f,
                   plan->transport == NI_NET_RDMA && !want_pod
                       ? "interface of the default route: no chosen port has one with an address"
                       : "interface of the default route");
        return;
    }
    ni_decide_value(facts, plan, rule, variable, NULL, f,
                    "no interface is known to be up with an address");
    if (inv->net.v4_known == NI_KNOWN && inv->net.v6_known == NI_KNOWN && inv->net.n_addr == 0)
        ni_report(f, NI_F_SOCKET_NONE, variable,
                  "no interface of this pod has an address but loopback");
}
