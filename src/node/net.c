/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses, routes and interfaces of this network namespace, all read from files. /proc/net
   belongs to the namespace of the reader, /sys/class/net to the one in which sysfs was mounted;
   in a pod both are the same. */
#include "node/net.h"

#include <arpa/inet.h>
#include <string.h>

#include "findings/device.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/ip.h"
#include "nccl_init/known.h"
#include "nccl_init/nccl_list.h"
#include "nccl_init/net.h"
#include "nccl_init/number.h"
#include "nccl_init/text.h"
#include "node/read.h"

/* ---- what the tables of /proc/net have in common ---- */

struct table {
    struct ni_probe *p;
    bool begun;            /* the heading was read, or there is none: rows follow */
    enum ni_known known;   /* KNOWN, until a line does not have the kernel's form */
    bool leaf;             /* of fib_trie: `ip` is the address of the last leaf */
    enum ni_fib_kind trie; /* of fib_trie: the heading above the present line */
    bool main_is_local;    /* of fib_trie: the two are one, since "Main:" has addresses of ours */
    uint8_t ip[NI_GID_BYTES];
    bool has_default; /* the best default route so far, and its metric */
    uint64_t metric;
};

typedef void line_fn(struct table *t, const char *line);

/* Whether lines with words come before the rows; `line_fn` sets `begun` when it has seen them. */
enum heading { HAS_HEADING, NO_HEADING };

/* Reads a table of /proc/net line by line. Returns KNOWN if the file was read, and every line has
   the form that the kernel writes. */
static enum ni_known read_net_table(struct ni_probe *p, enum heading heading, enum ni_need need,
                                    line_fn *take, const char *path)
{
    struct table t = {.p = p, .begun = heading == NO_HEADING, .known = NI_KNOWN};
    const enum ni_known known = ni_read_text(p, need, path);

    for (char *rest = p->text, *line; ni_line(&rest, &line);)
        take(&t, line);
    if (known == NI_KNOWN && !t.begun)
        ni_note_odd(p, "");
    if (known != NI_KNOWN)
        return known;
    return t.begun ? t.known : NI_BAD;
}

/* Adds an address. NULL: it does not matter, or there is no room. After that the list no longer
   shows which addresses are not ours. */
static struct ni_addr *add_addr(struct table *t, const uint8_t ip[NI_GID_BYTES])
{
    struct ni_net *net = &t->p->inv->net;

    if (ni_ip_is_loopback(ip) || ni_ip_is_zero(ip))
        return NULL;
    if (net->n_addr == NI_MAX_ADDR) {
        ni_report(t->p->f, NI_F_FACT_TRUNCATED, "proc/net", "more than %d addresses", NI_MAX_ADDR);
        t->known = NI_BAD;
        return NULL;
    }
    struct ni_addr *a = &net->addr[net->n_addr++];
    *a = (struct ni_addr){.ifname = ""};
    memcpy(a->ip, ip, NI_GID_BYTES);
    return a;
}

/* Returns true for RTF_UP without RTF_REJECT (include/uapi/linux/route.h). */
static bool is_in_use(uint64_t flags)
{
    return (flags & 0x1) && !(flags & 0x200);
}

/* ---- IPv4 addresses ---- */

/* Returns true if a route may lead through a router: "/0 universe UNICAST". Those of scope link or
   host do not, and a packet to a BLACKHOLE, UNREACHABLE, PROHIBIT or THROW route goes nowhere by
   it. */
static bool may_be_routed(struct ni_span route)
{
    struct ni_span word[3];

    return ni_parse_fib_route(route, word) && ni_span_is(word[2], "UNICAST") &&
           !ni_is_one_of(word[1], "link|host|nowhere");
}

/* Takes a heading of proc/net/fib_trie. Until the first policy rule is added the main and the local
   table are one (net/ipv4/fib_trie.c fib_unmerge), and all of it stands below "Main:" and again
   below "Local:", so the addresses are collected anew. */
static void take_fib_heading(struct table *t, enum ni_fib_kind trie)
{
    t->begun = true;
    t->trie = trie;
    if (trie == NI_FIB_LOCAL)
        t->p->inv->net.n_addr = 0;
}

/* Takes a route: one to this host alone is an address of ours. Routes outside the main table are
   noted, since proc/net/route does not show them. */
static void take_fib_route(struct table *t, struct ni_span route)
{
    const bool is_main = t->trie == NI_FIB_MAIN;

    if (t->leaf && ni_span_is(route, "/32 host LOCAL")) {
        if (is_main)
            t->main_is_local = true;
        (void)add_addr(t, t->ip);
        return;
    }
    if (is_main || (t->trie == NI_FIB_LOCAL && t->main_is_local))
        return;
    if (may_be_routed(route))
        t->p->inv->net.policy_routes = true;
}

static void fib_line(struct table *t, const char *line)
{
    struct ni_fib_line l;
    const enum ni_fib_kind kind = ni_parse_fib_line(ni_span_of(line), &l);

    switch (kind) {
    case NI_FIB_EMPTY:
        return;
    case NI_FIB_MAIN:
    case NI_FIB_LOCAL:
    case NI_FIB_POLICY:
        take_fib_heading(t, kind);
        break;
    case NI_FIB_NODE:
        break;
    case NI_FIB_LEAF:
        t->leaf = true;
        memcpy(t->ip, l.ip, NI_GID_BYTES);
        break;
    case NI_FIB_ROUTE:
        take_fib_route(t, l.text);
        break;
    case NI_FIB_ODD:
        t->leaf = false;
        break;
    }
    if (kind == NI_FIB_ODD || !t->begun)
        t->known = ni_note_odd(t->p, line);
}

void ni_probe_addresses(struct ni_probe *p)
{
    p->inv->net.v4_known =
        read_net_table(p, HAS_HEADING, NI_REQUIRED, fib_line, "proc/net/fib_trie");
}

/* ---- IPv4 routes ---- */

/* Gives the addresses inside a connected route their interface, which the route names. */
static void name_addresses(struct ni_net *net, const struct ni_route *r)
{
    for (unsigned i = 0; i < net->n_addr; i++) {
        struct ni_addr *a = &net->addr[i];

        if (ni_ip_is_v4(a->ip) && r->bits > a->bits &&
            ni_ip_same_prefix(a->ip, r->dest, 96u + r->bits)) {
            ni_copy(a->ifname, sizeof(a->ifname), r->ifname);
            a->bits = r->bits;
        }
    }
}

/* Adds the route of a line of proc/net/route, and remembers the best default route. */
static void route_line(struct table *t, const char *line)
{
    struct ni_net *net = &t->p->inv->net;
    struct ni_route_line w;

    if (*line == '\0')
        return;
    if (!t->begun && ni_is_route_heading(ni_span_of(line))) {
        t->begun = true;
        return;
    }
    if (!t->begun || !ni_parse_route(ni_span_of(line), &w)) {
        t->known = ni_note_odd(t->p, line);
        return;
    }
    const struct ni_span ifname = w.word[0];
    if (!ni_is_name(ifname, NI_IF_NAME) || !is_in_use(w.flags)) /* NCCL cannot carry the name */
        return;
    struct ni_route r = {.gateway = w.gateway != 0};

    ni_copyn(r.ifname, sizeof(r.ifname), ifname.p, ifname.n);
    ni_ip_from_v4(w.dest, r.dest);
    while (r.bits < 32 && w.mask & (0x80000000u >> r.bits))
        r.bits++;
    if (w.mask == 0 && (!t->has_default || w.metric < t->metric)) {
        ni_copy(net->default_if, sizeof(net->default_if), r.ifname);
        t->has_default = true;
        t->metric = w.metric;
    }
    if (!r.gateway && r.bits > 0)
        name_addresses(net, &r);
    if (net->n_route == NI_MAX_ROUTE) {
        ni_report(t->p->f, NI_F_FACT_TRUNCATED, t->p->path, "more than %d routes", NI_MAX_ROUTE);
        t->known = NI_BAD;
        return;
    }
    net->route[net->n_route++] = r;
}

void ni_probe_routes(struct ni_probe *p)
{
    p->inv->net.route_known =
        read_net_table(p, HAS_HEADING, NI_REQUIRED, route_line, "proc/net/route");
}

/* ---- IPv6 ---- */

/* Adds the address of a line of proc/net/if_inet6. */
static void address6_line(struct table *t, const char *line)
{
    enum { TENTATIVE = 0x40, DADFAILED = 0x08 }; /* IFA_F_*, if_addr.h: not usable */
    struct ni_address6_line w;

    if (!ni_parse_address6(ni_span_of(line), &w)) {
        t->known = ni_note_odd(t->p, line);
        return;
    }
    struct ni_addr *a = w.flags & (TENTATIVE | DADFAILED) ? NULL : add_addr(t, w.ip);
    const struct ni_span ifname = w.word[5];
    if (a && ni_is_name(ifname, NI_IF_NAME)) /* NCCL's lists cannot carry other names */
        ni_copyn(a->ifname, sizeof(a->ifname), ifname.p, ifname.n);
}

/* Keeps the route, and its interface if it is the default route with the lowest metric. */
static void keep_route6(struct table *t, const struct ni_route *r, uint64_t metric)
{
    struct ni_net *net = &t->p->inv->net;

    if (r->bits == 0 && (!net->default_if[0] || (t->has_default && metric < t->metric))) {
        ni_copy(net->default_if, sizeof(net->default_if), r->ifname);
        t->has_default = true;
        t->metric = metric;
    }
    if (net->n_route6 < NI_MAX_ROUTE6)
        net->route6[net->n_route6++] = *r;
}

/* Adds the route of a line of proc/net/ipv6_route. */
static void route6_line(struct table *t, const char *line)
{
    const uint64_t local = 0x80000000; /* RTF_LOCAL: to an address of ours */
    struct ni_route r = {.bits = 0};
    struct ni_route6_line w;

    if (!ni_parse_route6(ni_span_of(line), &w)) {
        ni_note_odd(t->p, line);
        return;
    }
    const struct ni_span ifname = w.word[9];
    if (!ni_is_name(ifname, NI_IF_NAME) || !is_in_use(w.flags) || ni_span_is(ifname, "lo") ||
        (w.flags & local) || w.dest[0] == 0xff /* multicast */)
        return;
    memcpy(r.dest, w.dest, NI_GID_BYTES);
    r.bits = (uint8_t)w.len;
    r.gateway = !ni_ip_is_zero(w.gateway);
    ni_copyn(r.ifname, sizeof(r.ifname), ifname.p, ifname.n);
    keep_route6(t, &r, w.metric);
}

void ni_probe_routes6(struct ni_probe *p)
{
    struct ni_net *net = &p->inv->net;
    const bool v4 = net->default_if[0];

    net->n_route6 = 0;
    net->route6_known =
        read_net_table(p, NO_HEADING, NI_OPTIONAL, route6_line, "proc/net/ipv6_route");
    if (!v4 && net->route6_known != NI_KNOWN)
        net->default_if[0] = '\0';
}

void ni_probe_ipv6(struct ni_probe *p)
{
    struct ni_net *net = &p->inv->net;

    net->v6_known = read_net_table(p, NO_HEADING, NI_OPTIONAL, address6_line, "proc/net/if_inet6");
    if (net->v6_known == NI_ABSENT) /* the kernel has no IPv6, so there are no addresses */
        net->v6_known = NI_KNOWN;
    if (!net->default_if[0])
        ni_probe_routes6(p);
}

/* ---- interfaces ---- */

void ni_note_allocated_netdev(struct ni_probe *p, const char *name)
{
    struct ni_net *net = &p->inv->net;

    if (net->n_allocated < NI_MAX_IFS && ni_is_name(ni_span_of(name), NI_IF_NAME) &&
        !ni_is_allocated_netdev(net, name))
        (void)ni_copy(net->given[net->n_allocated++], NI_IF_NAME, name);
}

int ni_add_netdev(struct ni_probe *p, const char *name)
{
    struct ni_inventory *inv = p->inv;
    const struct ni_netdev *known = ni_find_netdev(inv, name);
    char state[64];

    if (known)
        return (int)(known - inv->netdev);
    if (!ni_is_name(ni_span_of(name), NI_IF_NAME))
        return -1;
    if (inv->n_netdev == NI_MAX_NETDEV) {
        ni_report(p->f, NI_F_FACT_TRUNCATED, "sys/class/net", "more than %d interfaces",
                  NI_MAX_NETDEV);
        return -1;
    }
    struct ni_netdev *d = &inv->netdev[inv->n_netdev];
    *d = (struct ni_netdev){.running = false};
    ni_copy(d->name, sizeof(d->name), name);
    /* a variable or source names the interface, so its absence is reported; of --sockets the rule
       reports it */
    d->known = ni_read_file(p, p->root, p->ask->sockets ? NI_OPTIONAL : NI_REQUIRED, state,
                            sizeof(state), "sys/class/net/%s/operstate", name);
    if (d->known == NI_KNOWN && !ni_is_one_of(ni_span_of(state), ni_operstates))
        d->known = ni_note_odd(p, state);
    d->running = strcmp(state, "up") == 0 || strcmp(state, "unknown") == 0;
    if (p->ask->all) /* for people; no rule needs it */
        d->mtu =
            ni_read_num(p, p->root, NI_OPTIONAL, ni_parse_number, "sys/class/net/%s/mtu", name);
    inv->n_netdev++;
    return (int)inv->n_netdev - 1;
}

bool ni_is_local_address(const struct ni_net *net, const uint8_t ip[NI_GID_BYTES])
{
    for (unsigned i = 0; i < net->n_addr; i++) {
        if (memcmp(net->addr[i].ip, ip, NI_GID_BYTES) == 0)
            return true;
    }
    return false;
}
