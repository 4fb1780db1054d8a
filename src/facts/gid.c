/* SPDX-License-Identifier: Apache-2.0 */
/* The GID tables of the active RoCE ports. A table has up to 1,024 entries, an answer needs four:
   each port is read up to its first entry that is right without doubt (RoCE v2, IPv4, of an address
   of this namespace), and to the end only when that does not settle it. Ascending and lowest first,
   as NCCL searches (2.30.7 transport/net_ib/connect.cc ncclUpdateGidIndex), so what lies behind
   cannot change the answer. */
#include <errno.h>
#include <string.h>

#include "probe.h"

/* One entry of a table; an error other than "no such entry" and EINVAL is noted. */
static ssize_t read_entry(struct ni_probe *p, const struct ni_dir *port, const char *table,
                          unsigned index, char *buf, size_t cap)
{
    ssize_t n = ni_read(port, buf, cap, "%s/%u", table, index);
    if (n < 0 && n != -EINVAL) {
        char path[NI_PATH + 64];
        (void)ni_format(path, sizeof(path), "%s/%s/%u", port->path, table, index);
        /* `gids` ends somewhere, and what belongs to an entry is there with it */
        (strcmp(table, "gids") == 0 ? ni_note_unreadable : ni_note_missing)(p, path, (int)n);
    }
    return n;
}

static void note_odd(struct ni_probe *p, const struct ni_dir *port, const char *table,
                     unsigned index, const char *text)
{
    char path[NI_PATH + 64];
    (void)ni_format(path, sizeof(path), "%s/%s/%u", port->path, table, index);
    ni_note_odd(p, path, text);
}

/* gid_attrs/types/N reads "IB/RoCE v1" or "RoCE v2", and fails with EINVAL for an entry that is
   empty or not visible in this namespace (drivers/infiniband/core/sysfs.c _show_port_gid_attr). */
static enum ni_gid_type read_type(struct ni_probe *p, const struct ni_dir *port, unsigned index)
{
    static const char table[] = "gid_attrs/types";
    char buf[64];
    if (read_entry(p, port, table, index, buf, sizeof(buf)) < 0)
        return NI_GID_UNREAD;
    if (strcmp(buf, "RoCE v2") == 0)
        return NI_GID_V2;
    if (strcmp(buf, "IB/RoCE v1") == 0 || strcmp(buf, "RoCE v1") == 0)
        return NI_GID_V1;
    note_odd(p, port, table, index, buf);
    return NI_GID_UNREAD;
}

static void read_ndev(struct ni_probe *p, const struct ni_dir *port, struct ni_gid *g)
{
    char buf[64];
    static const char table[] = "gid_attrs/ndevs";
    if (read_entry(p, port, table, g->index, buf, sizeof(buf)) < 0)
        return;
    if (ni_is_name(ni_span_of(buf), NI_IF_NAME))
        ni_copy(g->ndev, sizeof(g->ndev), buf);
    else
        note_odd(p, port, table, g->index, buf);
}

/* An entry of its own for the port at the end of the pool; NULL when there is no room. */
static struct ni_gid *new_gid(struct ni_probe *p, struct ni_port *port)
{
    struct ni_inventory *inv = p->inv;
    if (inv->n_gid == NI_MAX_GID) {
        ni_report(p->f, NI_F_FACT_TRUNCATED, inv->hca[port->hca].name,
                  "more than %d GID entries on the node", NI_MAX_GID);
        return NULL;
    }
    if (port->n_gid == 0)
        port->first_gid = (int)inv->n_gid;
    port->n_gid++;
    return &inv->gid[inv->n_gid++];
}

enum entry { ENTRY_END, ENTRY_EMPTY, ENTRY_BAD, ENTRY_GID };

static enum entry read_gid(struct ni_probe *p, const struct ni_dir *port, unsigned index,
                           uint8_t ip[NI_GID_BYTES])
{
    static const char table[] = "gids";
    char buf[64];
    ssize_t n = read_entry(p, port, table, index, buf, sizeof(buf));
    if (n < 0)
        return n == -ENOENT ? ENTRY_END : n == -EINVAL ? ENTRY_EMPTY : ENTRY_BAD;
    if (ni_parse_gid(ni_span_of(buf), ip) < 0) {
        note_odd(p, port, table, index, buf);
        return ENTRY_BAD;
    }
    return ni_ip_is_zero(ip) ? ENTRY_EMPTY : ENTRY_GID;
}

/* The interface of that name here is another function's. Where nobody named the pod's HCAs, those of
   other pods may be among them, and in networks that are kept apart these may have our addresses.
   SoftRoCE is of no function, whatever else its interface's function has. */
static enum ni_own owner_of(struct ni_probe *p, const struct ni_hca *h, const char *ndev)
{
    char dir[NI_PATH];
    if (p->inv->claim[h->claim].source < NI_SRC_UVERBS || !ndev[0] || h->pci.none)
        return NI_OWN_OURS;
    (void)ni_format(dir, sizeof(dir), "sys/class/net/%s/device/infiniband", ndev);
    int err = ni_list(p->root, &p->inner, "%s", dir);
    if (err < 0 && ni_known_of(ni_note_unreadable(p, dir, err)) != NI_ABSENT)
        return NI_OWN_FOREIGN; /* not taken while it cannot be told */
    for (unsigned i = 0; i < p->inner.n; i++) {
        if (strcmp(p->inner.name[i], h->name) == 0)
            return NI_OWN_OURS;
    }
    return p->inner.n > 0 ? NI_OWN_FOREIGN : NI_OWN_OURS;
}

/* Whose entry it is. The address decides; a link-local one, which every namespace may have, goes by
   the function's own netdev: that directory lists only netdevs of this namespace (fs/sysfs, net_ns
   tag). */
static enum ni_own whose(struct ni_probe *p, const struct ni_port *port, const struct ni_gid *g)
{
    const struct ni_inventory *inv = p->inv;
    const struct ni_hca *h = &inv->hca[port->hca];
    bool v4 = ni_ip_is_v4(g->ip);
    if (ni_is_local(inv, g->ip))
        return owner_of(p, h, g->ndev);
    if (v4 && inv->net.v4_known == NI_KNOWN)
        return NI_OWN_FOREIGN;
    if (!v4 && !ni_ip_is_link_local(g->ip) && inv->net.v6_known == NI_KNOWN)
        return NI_OWN_FOREIGN;
    if (h->netdev >= 0 && strcmp(inv->netdev[h->netdev].name, g->ndev) == 0)
        return NI_OWN_OURS;
    if (!g->ndev[0])
        return NI_OWN_UNKNOWN;
    /* An interface that is not here is somebody else's; one of that name may be. */
    char path[NI_PATH];
    (void)ni_format(path, sizeof(path), "sys/class/net/%s", g->ndev);
    int err = ni_exists(p->root, "%s", path);
    if (err < 0)
        ni_note_unreadable(p, path, err);
    return err == 0 && !ni_ip_is_link_local(g->ip) ? NI_OWN_UNKNOWN : NI_OWN_FOREIGN;
}

/* While the addresses are not all known, what lies behind may be as much ours. */
static bool settles(const struct ni_inventory *inv, const struct ni_gid *g)
{
    return g->type == NI_GID_V2 && g->own == NI_OWN_OURS && ni_ip_is_v4(g->ip) &&
           !ni_ip_is_link_local(g->ip) && g->ndev[0] && inv->net.v4_known == NI_KNOWN;
}

/* Reads on from port->gids_read, below `end`. Stops behind the first GID that settles it unless
   `to_end`. */
static void scan(struct ni_probe *p, struct ni_port *port, const struct ni_dir *dir, bool to_end,
                 unsigned end)
{
    while (port->gids_read < end) {
        uint8_t ip[NI_GID_BYTES];
        enum entry e = read_gid(p, dir, port->gids_read, ip);
        if (e == ENTRY_END) {
            port->gids_complete = true;
            return;
        }
        unsigned index = port->gids_read++;
        port->gids_lost = port->gids_lost || e == ENTRY_BAD;
        if (e != ENTRY_GID)
            continue;
        struct ni_gid *g = new_gid(p, port);
        if (!g)
            return;
        memcpy(g->ip, ip, sizeof(g->ip));
        g->index = (uint16_t)index;
        if (!to_end && !ni_ip_is_v4(ip))
            continue; /* its type matters only where no IPv4 entry is right: see complete() */
        g->type = read_type(p, dir, index);
        if (g->type == NI_GID_V2 || to_end) {
            read_ndev(p, dir, g);
            g->own = whose(p, port, g);
        }
        if (!to_end && settles(p->inv, g))
            return;
    }
    if (end == NI_GID_TABLE)
        ni_report(p->f, NI_F_FACT_TRUNCATED, dir->path, "GID table longer than %d", NI_GID_TABLE);
}

/* The table of one port below `end`: what the first scan passed over, then the rest. Moves the port's
   entries to the end of the pool, so that they stay consecutive. */
static void complete(struct ni_probe *p, struct ni_port *port, const struct ni_dir *dir,
                     unsigned end)
{
    int from = port->first_gid;
    unsigned n = port->n_gid;
    if (n > NI_MAX_GID - p->inv->n_gid) {
        ni_report(p->f, NI_F_FACT_TRUNCATED, dir->path, "more than %d GID entries on the node",
                  NI_MAX_GID);
        return; /* what was read stays */
    }
    port->n_gid = 0;
    for (unsigned i = 0; i < n; i++) {
        struct ni_gid *g = new_gid(p, port);
        if (!g)
            return;
        *g = p->inv->gid[from + (int)i];
        if (g->type == NI_GID_UNREAD)
            g->type = read_type(p, dir, g->index);
        if (!g->ndev[0])
            read_ndev(p, dir, g);
        g->own = whose(p, port, g);
    }
    if (!port->gids_complete)
        scan(p, port, dir, true, end);
}

static bool wants_gids(const struct ni_inventory *inv, const struct ni_port *port)
{
    return inv->hca[port->hca].claim >= 0 && port->link == NI_LINK_ROCE &&
           port->state.known == NI_KNOWN && port->state.v == NI_PORT_ACTIVE;
}

/* The right GID on which the first scan of the port ended; NULL. */
static const struct ni_gid *right_gid(const struct ni_inventory *inv, const struct ni_port *port)
{
    const struct ni_gid *last =
        port->n_gid ? &inv->gid[port->first_gid + (int)port->n_gid - 1] : NULL;
    return last && settles(inv, last) ? last : NULL;
}

/* Whether each port ended on a right GID, all at the same index. */
static bool settled(const struct ni_inventory *inv)
{
    int index = -1;
    for (unsigned i = 0; i < inv->n_port; i++) {
        if (!wants_gids(inv, &inv->port[i]))
            continue;
        const struct ni_gid *right = right_gid(inv, &inv->port[i]);
        if (!right || (index >= 0 && index != right->index))
            return false;
        index = right->index;
    }
    return true;
}

static bool share_subnet(const struct ni_net *net, const struct ni_addr *a, const struct ni_addr *b)
{
    for (unsigned i = 0; i < net->n_route; i++) {
        const struct ni_route *r = &net->route[i];
        if (!r->gateway && r->bits > 0 && ni_ip_same_prefix(a->ip, r->dest, 96u + r->bits) &&
            ni_ip_same_prefix(b->ip, r->dest, 96u + r->bits))
            return true;
    }
    return false;
}

/* Whether the interface has that one IPv4 address. Connected routes name the interfaces of
   addresses, but of two addresses in one subnet either may be another interface's. */
static bool has_one_address(const struct ni_net *net, const char *ifname)
{
    enum { MOST = 128 }; /* comparing each with each must not take longer than reading tables */
    unsigned n = 0;
    if (net->v4_known != NI_KNOWN || net->route_known != NI_KNOWN || net->n_addr > MOST)
        return false;
    for (unsigned i = 0; i < net->n_addr; i++) {
        const struct ni_addr *a = &net->addr[i];
        if (!ni_ip_is_v4(a->ip))
            continue;
        if (!a->ifname[0])
            return false; /* it may be this one's */
        for (unsigned k = 0; k < i; k++) {
            if (share_subnet(net, a, &net->addr[k]))
                return false;
        }
        n += strcmp(a->ifname, ifname) == 0;
    }
    return n == 1;
}

/* Whether the interface is a function's own and none is stacked on it: the addresses of VLANs,
   macvlans and bonds are in the table too (drivers/infiniband/core/roce_gid_mgmt.c), and
   net/core/dev.c netdev_adjacent_sysfs_add shows these as upper_NAME and lower_NAME. */
static bool stands_alone(struct ni_probe *p, const char *ifname)
{
    char dir[NI_PATH];
    bool function = false;
    (void)ni_format(dir, sizeof(dir), "sys/class/net/%s", ifname);
    int err = ni_list(p->root, &p->inner, "%s", dir);
    if (err < 0)
        ni_note_unreadable(p, dir, err);
    for (unsigned i = 0; i < p->inner.n; i++) {
        const char *name = p->inner.name[i];
        if (ni_has_prefix(name, "upper_") || ni_has_prefix(name, "lower_"))
            return false;
        function = function || strcmp(name, "device") == 0;
    }
    return function && !p->inner.cut;
}

/* Whether NCCL's search for IPv4 may end elsewhere than on the right GID of the port: on another
   pod's, or by a type that cannot be read (decide/gid_search.c). Then IPv6 is looked at too. */
static bool search_strays(const struct ni_inventory *inv, const struct ni_port *port)
{
    for (unsigned i = 0; i + 1 < port->n_gid; i++) {
        const struct ni_gid *g = &inv->gid[port->first_gid + (int)i];
        if (ni_ip_is_v4(g->ip) && g->type != NI_GID_V1)
            return true;
    }
    return port->gids_lost;
}

/* Each port has a right GID, but at different indexes. What lies behind it does not move NCCL's own
   search (decide/gid_search.c), but may hold an index that is right for all. A port with no second
   right entry names the only one that can be; two that name different ones: none can. Below which
   index the tables are to be read: NI_GID_TABLE for their ends. */
static unsigned end_of_search(struct ni_probe *p)
{
    const struct ni_inventory *inv = p->inv;
    int only = -1;
    if (!ni_takes_all(p))
        return NI_GID_TABLE;
    for (unsigned i = 0; i < inv->n_port; i++) {
        if (!wants_gids(inv, &inv->port[i]))
            continue;
        const struct ni_gid *right = right_gid(inv, &inv->port[i]);
        if (!right || search_strays(inv, &inv->port[i]))
            return NI_GID_TABLE;
        if (!has_one_address(&inv->net, right->ndev) || !stands_alone(p, right->ndev))
            continue;
        if (only >= 0 && only != right->index)
            return 0;
        only = right->index;
    }
    return only < 0 ? NI_GID_TABLE : (unsigned)only + 1;
}

/* The user's own index, or own search, may end on an entry behind what settled it. */
static bool user_decides(const struct ni_probe *p)
{
    static const char *const names[] = {"NCCL_IB_GID_INDEX", "NCCL_IB_ADDR_FAMILY",
                                        "NCCL_IB_ADDR_RANGE", "NCCL_IB_ROCE_VERSION_NUM"};
    for (unsigned i = 0; i < NI_COUNT(names); i++) {
        if (ni_users(p, names[i]))
            return true;
    }
    return false;
}

void ni_probe_first_gids(struct ni_probe *p, const struct ni_hca *h, const struct ni_dir *dir)
{
    for (unsigned i = 0; i < h->n_port; i++) {
        struct ni_port *port = &p->inv->port[h->first_port + (int)i];
        if (!wants_gids(p->inv, port))
            continue;
        const struct ni_dir port_dir = ni_dir_at(dir, "ports/%u", port->num);
        scan(p, port, &port_dir, false, NI_GID_TABLE);
    }
}

void ni_probe_gids(struct ni_probe *p)
{
    struct ni_inventory *inv = p->inv;
    p->settled = settled(inv);
    bool whole = p->ask->all_gids || user_decides(p);
    if (p->settled && !whole)
        return;
    unsigned end = whole ? NI_GID_TABLE : end_of_search(p);
    ni_probe_ipv6(p);
    for (unsigned i = 0; i < inv->n_port; i++) {
        struct ni_port *port = &inv->port[i];
        if (!wants_gids(inv, port))
            continue;
        char path[NI_PORT_PATH];
        struct ni_dir dir =
            ni_dir_open(p->root, "%s", ni_port_dir(inv, port->hca, port->num, path));
        ni_probe_own_netdev(p, &inv->hca[port->hca]);
        complete(p, port, &dir, end);
        ni_dir_close(&dir);
    }
}
