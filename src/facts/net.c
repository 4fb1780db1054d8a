/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses, routes and interfaces of this network namespace, all from files: /proc/net belongs to
   the namespace of the reader, /sys/class/net to the one sysfs was mounted in, which in a pod is
   the same. */
#include <string.h>

#include "probe.h"

bool ni_is_local(const struct ni_inventory *inv, const uint8_t ip[NI_GID_BYTES])
{
    for (unsigned i = 0; i < inv->net.n_addr; i++) {
        if (memcmp(inv->net.addr[i].ip, ip, NI_GID_BYTES) == 0)
            return true;
    }
    return false;
}

/* NULL: not one of interest, or no room. Without room the list no longer tells what is not ours:
   *known says so. */
static struct ni_addr *add_addr(struct ni_probe *p, const uint8_t ip[NI_GID_BYTES],
                                enum ni_known *known)
{
    struct ni_net *net = &p->inv->net;
    if (ni_ip_is_loopback(ip) || ni_ip_is_zero(ip))
        return NULL;
    if (net->n_addr == NI_MAX_ADDR) {
        ni_report(p->f, NI_F_FACT_TRUNCATED, "proc/net", "more than %d addresses", NI_MAX_ADDR);
        *known = NI_BAD;
        return NULL;
    }
    struct ni_addr *a = &net->addr[net->n_addr++];
    memcpy(a->ip, ip, NI_GID_BYTES);
    a->ifname[0] = '\0';
    return a;
}

struct fib_ctx {
    struct ni_probe *p;
    enum ni_known known;
    uint8_t ip[NI_GID_BYTES];
    bool have;
    bool table; /* the name of one was met */
};

static bool read_leaf(struct fib_ctx *c, const char *p)
{
    if (ni_has_prefix(p, "|-- ") && ni_parse_ipv4(ni_span_of(p + 4), c->ip) == 0)
        return true;
    c->known = NI_BAD;
    ni_note_odd(c->p, "proc/net/fib_trie", p);
    return false;
}

/* A leaf is "|-- 10.0.103.6", its lines below "/32 host LOCAL" for an address of ours (net/ipv4/
   fib_trie.c fib_trie_seq_show). While both tables are one, each lists all: "Local:" begins anew.
   */
static void fib_line(void *ctx, const char *line)
{
    struct fib_ctx *c = ctx;
    const char *p = line + strspn(line, " ");
    bool name = p == line && (p[0] == 'M' || p[0] == 'L' || p[0] == 'I') && strchr(p, ':');
    c->table = c->table || name;
    if (*line && (!c->table || (!name && p[0] != '|' && p[0] != '+' && p[0] != '/'))) {
        c->known = NI_BAD;
        ni_note_odd(c->p, "proc/net/fib_trie", line);
    }
    if (p[0] == 'L' && strcmp(p, "Local:") == 0)
        c->p->inv->net.n_addr = 0;
    else if (p[0] == '|')
        c->have = read_leaf(c, p);
    else if (c->have && p[0] == '/' && strcmp(p, "/32 host LOCAL") == 0)
        add_addr(c->p, c->ip, &c->known);
}

void ni_probe_addresses(struct ni_probe *p)
{
    struct fib_ctx c = {.p = p, .known = NI_KNOWN};
    int err = ni_lines(p->root, fib_line, &c, "proc/net/fib_trie");
    if (err == 0 && !c.table) {
        c.known = NI_BAD;
        ni_note_odd(p, "proc/net/fib_trie", "");
    }
    p->inv->net.v4_known = err < 0 ? ni_known_of(err) : c.known;
    if (err < 0)
        ni_note_missing(p, "proc/net/fib_trie", err);
}

/* Next word of a line of blanks or tabs. */
static bool word(const char **line, struct ni_span *ret)
{
    const char *p = *line + strspn(*line, " \t");
    size_t n = strcspn(p, " \t");
    *ret = (struct ni_span){p, n};
    *line = p + n;
    return n > 0;
}

/* "fe80...0001 02 40 20 80 eth0": address, ifindex, prefix length, scope, flags, name
   (net/ipv6/addrconf.c if6_seq_show). */
static void if_inet6_line(void *ctx, const char *line)
{
    struct ni_probe *p = ctx;
    struct ni_span w[6];
    uint8_t ip[NI_GID_BYTES];
    uint64_t flags;
    const char *whole = line;
    bool good = true;
    for (unsigned i = 0; i < NI_COUNT(w); i++)
        good = word(&line, &w[i]) && good;
    if (!good || ni_parse_hex_ip(w[0], ip) < 0 || w[5].n >= NI_IF_NAME ||
        ni_parse_hex(w[4], UINT32_MAX, &flags) < 0) {
        ni_note_odd(p, "proc/net/if_inet6", whole);
        p->inv->net.v6_known = NI_BAD;
        return;
    }
    if (flags & (0x40 | 0x08)) /* IFA_F_TENTATIVE, IFA_F_DADFAILED (if_addr.h): not usable */
        return;
    struct ni_addr *a = add_addr(p, ip, &p->inv->net.v6_known);
    if (a && ni_is_name(w[5], NI_IF_NAME)) /* else one that NCCL's lists cannot carry */
        ni_copyn(a->ifname, sizeof(a->ifname), w[5].p, w[5].n);
}

struct route_ctx {
    struct ni_probe *p;
    uint8_t best[NI_MAX_ADDR]; /* 1 + prefix length of the route that named addr[i].ifname */
    uint32_t default_metric;
    enum ni_known known;
    bool header; /* was met: the first line, whatever else there is */
};

static uint32_t from_network(uint64_t le)
{
    /* The file prints the network-order word as the CPU reads it: little-endian on both of ours. */
    return (uint32_t)(((le & 0xff) << 24) | ((le & 0xff00) << 8) | ((le >> 8) & 0xff00) |
                      (le >> 24));
}

static unsigned mask_bits(uint32_t mask)
{
    unsigned n = 0;
    while (n < 32 && mask & (0x80000000u >> n))
        n++;
    return n;
}

/* A connected route names the interface of the addresses in it. */
static void connected(struct route_ctx *c, const struct ni_route *r)
{
    struct ni_net *net = &c->p->inv->net;
    const uint8_t *ip = r->dest;
    unsigned bits = r->bits;
    for (unsigned i = 0; i < net->n_addr; i++) {
        struct ni_addr *a = &net->addr[i];
        if (!ni_ip_is_v4(a->ip) || bits + 1 <= c->best[i] ||
            !ni_ip_same_prefix(a->ip, ip, 96 + bits))
            continue;
        ni_copy(a->ifname, sizeof(a->ifname), r->ifname);
        c->best[i] = (uint8_t)(bits + 1);
    }
}

/* Printed with %d until about Linux 6.15, though it is a u32: the highest are negative. */
static int parse_metric(struct ni_span s, uint64_t *ret)
{
    bool minus = s.n > 0 && s.p[0] == '-';
    int r = ni_parse_u64((struct ni_span){s.p + minus, s.n - minus}, UINT32_MAX, ret);
    if (r == 0 && minus)
        *ret = (uint32_t) - *ret;
    return r;
}

/* Iface Destination Gateway Flags RefCnt Use Metric Mask ... (net/ipv4/fib_trie.c
   fib_route_seq_show). */
static void route_line(void *ctx, const char *line)
{
    struct route_ctx *c = ctx;
    struct ni_net *net = &c->p->inv->net;
    struct ni_span w[11];
    uint64_t dest, gateway, flags, metric, mask;
    const char *whole = line;
    bool good = true;
    if (!*line)
        return;
    if (!c->header && ni_has_prefix(line, "Iface\tDestination\t") && strstr(line, "\tIRTT")) {
        c->header = true;
        return;
    }
    for (unsigned i = 0; i < NI_COUNT(w); i++)
        good = word(&line, &w[i]) && good;
    if (!good || !c->header || w[0].n >= NI_IF_NAME || w[7].n != 8 ||
        ni_parse_hex(w[1], UINT32_MAX, &dest) < 0 || ni_parse_hex(w[2], UINT32_MAX, &gateway) < 0 ||
        ni_parse_hex(w[3], UINT32_MAX, &flags) < 0 || parse_metric(w[6], &metric) < 0 ||
        ni_parse_hex(w[7], UINT32_MAX, &mask) < 0) {
        ni_note_odd(c->p, "proc/net/route", whole);
        c->known = NI_BAD;
        return;
    }
    if (!ni_is_name(w[0], NI_IF_NAME)) /* one that NCCL's lists cannot carry */
        return;
    if (!(flags & 1) || flags & 0x200) /* RTF_UP; RTF_REJECT (include/uapi/linux/route.h) */
        return;
    if (mask == 0 && (!net->default_if[0] || metric < c->default_metric)) {
        ni_copyn(net->default_if, sizeof(net->default_if), w[0].p, w[0].n);
        c->default_metric = (uint32_t)metric;
    }
    struct ni_route r = {.gateway = gateway != 0};
    ni_ip_from_v4(from_network(dest), r.dest);
    r.bits = (uint8_t)mask_bits(from_network(mask));
    ni_copyn(r.ifname, sizeof(r.ifname), w[0].p, w[0].n);
    if (!r.gateway && r.bits > 0)
        connected(c, &r);
    if (net->n_route < NI_MAX_ROUTE) {
        net->route[net->n_route++] = r;
        return;
    }
    ni_report(c->p->f, NI_F_FACT_TRUNCATED, "proc/net/route", "more than %d routes", NI_MAX_ROUTE);
    c->known = NI_BAD;
}

struct route6_ctx {
    struct ni_probe *p;
    char ifname[NI_IF_NAME];
    uint32_t metric;
};

/* dest len src len nexthop metric refcnt use flags iface (net/ipv6/route.c ipv6_route_seq_show). */
static void route6_line(void *ctx, const char *line)
{
    struct route6_ctx *c = ctx;
    struct ni_span w[10];
    uint64_t len, metric, flags;
    const char *whole = line;
    bool good = true;
    for (unsigned i = 0; i < NI_COUNT(w) - 1; i++)
        good = word(&line, &w[i]) && good;
    (void)word(&line, &w[9]); /* none where the route has no interface */
    if (!good || ni_parse_hex(w[1], 128, &len) < 0 || ni_parse_hex(w[5], UINT32_MAX, &metric) < 0 ||
        ni_parse_hex(w[8], UINT32_MAX, &flags) < 0) {
        ni_note_odd(c->p, "proc/net/ipv6_route", whole);
        return;
    }
    if (len != 0 || !ni_is_name(w[9], NI_IF_NAME))
        return;
    if (!(flags & 1) || flags & 0x200 || ni_span_is(w[9], "lo"))
        return;
    if (!c->ifname[0] || metric < c->metric) {
        ni_copyn(c->ifname, sizeof(c->ifname), w[9].p, w[9].n);
        c->metric = (uint32_t)metric;
    }
}

void ni_probe_routes(struct ni_probe *p)
{
    struct route_ctx c = {.p = p, .known = NI_KNOWN};
    int err = ni_lines(p->root, route_line, &c, "proc/net/route");
    if (err == 0 && !c.header) {
        ni_note_odd(p, "proc/net/route", "");
        c.known = NI_BAD;
    }
    p->inv->net.route_known = err < 0 ? ni_known_of(err) : c.known;
    if (err < 0)
        ni_note_missing(p, "proc/net/route", err);
}

void ni_probe_ipv6(struct ni_probe *p)
{
    struct ni_net *net = &p->inv->net;
    net->v6_known = NI_KNOWN;
    int err = ni_lines(p->root, if_inet6_line, p, "proc/net/if_inet6");
    /* No file: the kernel has no IPv6, so there are no addresses. */
    if (err < 0 && ni_known_of(err) != NI_ABSENT)
        net->v6_known = ni_known_of(err);
    if (err < 0)
        ni_note_unreadable(p, "proc/net/if_inet6", err);
    if (net->default_if[0])
        return;
    struct route6_ctx c6 = {.p = p};
    err = ni_lines(p->root, route6_line, &c6, "proc/net/ipv6_route");
    if (err < 0)
        ni_note_unreadable(p, "proc/net/ipv6_route", err);
    else
        ni_copy(net->default_if, sizeof(net->default_if), c6.ifname);
}

/* net/core/net-sysfs.c operstates */
static bool is_operstate(const char *s)
{
    static const char *const states[] = {"unknown", "notpresent", "down", "lowerlayerdown",
                                         "testing", "dormant",    "up"};
    return ni_is_any(s, states, NI_COUNT(states));
}

/* Of an interface that something names here. For --sockets the rule tells. */
static void note_operstate(struct ni_probe *p, const char *name, int err, const char *text)
{
    char path[NI_PATH];
    (void)ni_format(path, sizeof(path), "sys/class/net/%s/operstate", name);
    if (err >= 0)
        ni_note_odd(p, path, text);
    else if (p->ask->sockets)
        ni_note_unreadable(p, path, err);
    else
        ni_note_missing(p, path, err);
}

int ni_add_netdev(struct ni_probe *p, const char *name)
{
    struct ni_inventory *inv = p->inv;
    const struct ni_netdev *known = ni_find_netdev(inv, name);
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
    ni_copy(d->name, sizeof(d->name), name);
    char buf[64];
    ssize_t n = ni_read(p->root, buf, sizeof(buf), "sys/class/net/%s/operstate", name);
    d->known = n < 0 ? ni_known_of((int)n) : is_operstate(buf) ? NI_KNOWN : NI_BAD;
    d->running = n >= 0 && (strcmp(buf, "up") == 0 || strcmp(buf, "unknown") == 0);
    if (d->known != NI_KNOWN)
        note_operstate(p, name, (int)n, buf);
    if (p->ask->all) { /* for people; no rule needs it */
        char path[NI_PATH];
        (void)ni_format(path, sizeof(path), "sys/class/net/%s/mtu", name);
        d->mtu = ni_read_num(p->root, path);
    }
    return (int)inv->n_netdev++;
}
