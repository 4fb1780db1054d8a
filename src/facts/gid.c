/* SPDX-License-Identifier: Apache-2.0 */
/* The GID tables of the active RoCE ports. A table has up to 1,024 entries, an answer needs four: each
   is read up to its first right entry (ni_gid_is_right), and whole where a rule asks for that. */
#include <errno.h>
#include <string.h>

#include "probe.h"

/* One entry of a table; an error other than "no such entry" and EINVAL is told. `gids` ends somewhere,
   and what belongs to an entry is there with it. */
static ssize_t read_entry(struct ni_probe *p, const struct ni_dir *port, const char *table,
                          unsigned index, char *buf, size_t cap)
{
    ssize_t n = ni_read(port, buf, cap, "%s/%u", table, index);
    if (n < 0 && n != -EINVAL) {
        (void)ni_format(p->path, sizeof(p->path), "%s/%s/%u", port->path, table, index);
        (strcmp(table, "gids") == 0 ? ni_note_unreadable : ni_note_missing)(p, p->path, (int)n);
    }
    return n;
}

static void note_odd(struct ni_probe *p, const struct ni_dir *port, const char *table,
                     unsigned index, const char *text)
{
    (void)ni_format(p->path, sizeof(p->path), "%s/%s/%u", port->path, table, index);
    ni_note_odd(p, p->path, text);
}

/* gid_attrs/types/N reads "IB/RoCE v1" or "RoCE v2", and fails with EINVAL for an entry that is
   empty or not visible in this namespace (drivers/infiniband/core/sysfs.c _show_port_gid_attr).
   *lost: NCCL may read there what was not read here. */
static enum ni_gid_type read_type(struct ni_probe *p, const struct ni_dir *port, unsigned index,
                                  bool *lost)
{
    static const char table[] = "gid_attrs/types";
    char buf[64];
    ssize_t n = read_entry(p, port, table, index, buf, sizeof(buf));
    *lost = *lost || (n < 0 && n != -EINVAL);
    if (n < 0)
        return NI_GID_UNREAD;
    if (strcmp(buf, "RoCE v2") == 0)
        return NI_GID_V2;
    if (strcmp(buf, "IB/RoCE v1") == 0 || strcmp(buf, "RoCE v1") == 0)
        return NI_GID_V1;
    *lost = true;
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
    if (ni_is_told(p->inv->claim[h->claim].source) || h->pci.none)
        return NI_OWN_OURS;
    if (!ndev[0])
        return NI_OWN_FOREIGN; /* not taken while it cannot be told */
    (void)ni_format(dir, sizeof(dir), "sys/class/net/%s/device/infiniband", ndev);
    int err = ni_list(p->root, &p->inner, "%s", dir);
    if (err < 0 && ni_known_of(ni_note_unreadable(p, dir, err)) != NI_ABSENT)
        return NI_OWN_FOREIGN;
    for (unsigned i = 0; i < p->inner.n; i++) {
        if (strcmp(p->inner.name[i], h->name) == 0)
            return NI_OWN_OURS;
    }
    return p->inner.n > 0 ? NI_OWN_FOREIGN : NI_OWN_OURS;
}

/* By its interface, where the address does not tell. The function's own netdev is this namespace's:
   its directory lists no others (fs/sysfs, net_ns tag). An interface that is not here is somebody
   else's; one of that name may be, and every namespace may have a link-local address. */
static enum ni_own whose_interface(struct ni_probe *p, const struct ni_hca *h,
                                   const struct ni_gid *g)
{
    char path[NI_PATH];
    if (h->netdev >= 0 && strcmp(p->inv->netdev[h->netdev].name, g->ndev) == 0)
        return NI_OWN_OURS;
    if (!g->ndev[0])
        return NI_OWN_UNKNOWN;
    (void)ni_format(path, sizeof(path), "sys/class/net/%s", g->ndev);
    int err = ni_exists(p->root, "%s", path);
    if (err < 0)
        ni_note_unreadable(p, path, err);
    return err == 0 && !ni_ip_is_link_local(g->ip) ? NI_OWN_UNKNOWN : NI_OWN_FOREIGN;
}

static enum ni_own whose(struct ni_probe *p, const struct ni_hca *h, const struct ni_gid *g)
{
    const struct ni_net *net = &p->inv->net;
    bool v4 = ni_ip_is_v4(g->ip);
    if (ni_is_local(p->inv, g->ip))
        return owner_of(p, h, g->ndev);
    if (v4 ? net->v4_known == NI_KNOWN : net->v6_known == NI_KNOWN && !ni_ip_is_link_local(g->ip))
        return NI_OWN_FOREIGN;
    return whose_interface(p, h, g);
}

/* whole: else what is no IPv4 is left untyped, and nothing is read behind the first right entry. */
static void read_table(struct ni_probe *p, struct ni_port *port, const struct ni_dir *dir,
                       bool whole)
{
    struct ni_inventory *inv = p->inv;
    const struct ni_port before = *port;
    const unsigned from = inv->n_gid;
    uint8_t ip[NI_GID_BYTES];
    port->first_gid = (int)from;
    port->n_gid = 0;
    port->gids_lost = false;
    for (port->gids_read = 0; port->gids_read < NI_GID_TABLE; port->gids_read++) {
        enum entry e = read_gid(p, dir, port->gids_read, ip);
        if (e == ENTRY_END) {
            port->gids_complete = true;
            return;
        }
        port->gids_lost = port->gids_lost || e == ENTRY_BAD;
        if (e != ENTRY_GID)
            continue;
        if (inv->n_gid == NI_MAX_GID) {
            ni_report(p->f, NI_F_FACT_TRUNCATED, inv->hca[port->hca].name,
                      "more than %d GID entries on the node", NI_MAX_GID);
            inv->n_gid = from;
            *port = before; /* what was read stays */
            return;
        }
        struct ni_gid *g = &inv->gid[inv->n_gid++];
        port->n_gid++;
        *g = (struct ni_gid){.index = (uint16_t)port->gids_read};
        memcpy(g->ip, ip, sizeof(g->ip));
        if (!whole && !ni_ip_is_v4(ip))
            continue;
        g->type = read_type(p, dir, g->index, &port->gids_lost);
        if (whole || g->type == NI_GID_V2) {
            read_ndev(p, dir, g);
            g->own = whose(p, &inv->hca[port->hca], g);
        }
        if (!whole && ni_gid_is_right(inv, g)) {
            port->gids_read++;
            return;
        }
    }
    ni_report(p->f, NI_F_FACT_TRUNCATED, dir->path, "GID table longer than %d", NI_GID_TABLE);
}

static bool has_gids(const struct ni_inventory *inv, const struct ni_port *port)
{
    return ni_is_given(&inv->hca[port->hca]) && port->link == NI_LINK_ROCE &&
           port->state.known == NI_KNOWN && port->state.v == NI_PORT_ACTIVE;
}

void ni_probe_first_gids(struct ni_probe *p, struct ni_port *port, const struct ni_dir *dir)
{
    if (has_gids(p->inv, port))
        read_table(p, port, dir, false);
}

void ni_probe_whole_gids(struct ni_probe *p)
{
    struct ni_inventory *inv = p->inv;
    for (unsigned i = 0; i < inv->n_port; i++) {
        char path[NI_PORT_PATH];
        struct ni_port *port = &inv->port[i];
        if (!has_gids(inv, port))
            continue;
        struct ni_dir dir =
            ni_dir_open(p->root, "%s", ni_port_dir(inv, port->hca, port->num, path));
        read_table(p, port, &dir, true);
        ni_dir_close(&dir);
    }
}
