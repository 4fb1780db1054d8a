/* SPDX-License-Identifier: Apache-2.0 */
/* The GID tables of the active RoCE ports. A table has up to 1,024 entries, an answer needs four:
   each is read up to its first right entry (ni_gid_is_right), and whole where a rule asks for that.
   */
#include "node/gid.h"

#include <errno.h>
#include <string.h>

#include "findings/device.h"
#include "nccl_init/allocation.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/ip.h"
#include "nccl_init/known.h"
#include "nccl_init/net.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "node/net.h"
#include "node/read.h"
#include "sysroot/files.h"
#include "sysroot/root.h"

/* The answer for a row of a table. END: the table has no such row; EMPTY: the row is empty, or
   empty for this namespace, which the kernel also says by EINVAL (drivers/infiniband/core/sysfs.c
   _show_port_gid_attr); LOST: it cannot be read, but NCCL may be able to. */
enum row { ROW_END, ROW_EMPTY, ROW_LOST, ROW_TEXT };

/* Reads a row of a port's table. The optional table, `gids`, ends with the first row that is
   absent; for each of its rows the other tables must have one. The path is made for a finding only,
   since most of what `run` reads are such rows. */
static enum row read_row(struct ni_probe *p, const struct ni_dir *port, enum ni_need need,
                         const char *table, unsigned index, char buf[64])
{
    const ssize_t n = ni_read(port, buf, 64, "%s/%u", table, index);

    if (n >= 0)
        return ROW_TEXT;
    if (n == -EINVAL)
        return ROW_EMPTY;
    (void)ni_format(p->path, sizeof(p->path), "%s/%s/%u", port->path, table, index);
    ni_note(p, need, n);
    return n == -ENOENT && need == NI_OPTIONAL ? ROW_END : ROW_LOST;
}

static enum row note_odd(struct ni_probe *p, const struct ni_dir *port, const char *table,
                         unsigned index, const char *text)
{
    (void)ni_format(p->path, sizeof(p->path), "%s/%s/%u", port->path, table, index);
    (void)ni_note_odd(p, text);
    return ROW_LOST;
}

static enum row read_gid(struct ni_probe *p, const struct ni_dir *port, unsigned index,
                         uint8_t ip[NI_GID_BYTES])
{
    char buf[64];
    const enum row row = read_row(p, port, NI_OPTIONAL, "gids", index, buf);

    if (row != ROW_TEXT)
        return row;
    if (ni_parse_gid(ni_span_of(buf), ip) < 0)
        return note_odd(p, port, "gids", index, buf);
    return ni_ip_is_zero(ip) ? ROW_EMPTY : ROW_TEXT;
}

static enum row read_type(struct ni_probe *p, const struct ni_dir *port, struct ni_gid *g)
{
    static const char table[] = "gid_attrs/types";
    char buf[64];
    const enum row row = read_row(p, port, NI_REQUIRED, table, g->index, buf);

    if (row != ROW_TEXT)
        return row;
    if (!ni_is_one_of(ni_span_of(buf), ni_gid_types))
        return note_odd(p, port, table, g->index, buf);
    g->type = strcmp(buf, "RoCE v2") == 0 ? NI_GID_V2 : NI_GID_V1;
    return ROW_TEXT;
}

static void read_ndev(struct ni_probe *p, const struct ni_dir *port, struct ni_gid *g)
{
    static const char table[] = "gid_attrs/ndevs";
    char buf[64];

    if (read_row(p, port, NI_REQUIRED, table, g->index, buf) != ROW_TEXT)
        return;
    if (ni_is_name(ni_span_of(buf), NI_IF_NAME))
        ni_copy(g->ndev, sizeof(g->ndev), buf);
    else
        (void)note_odd(p, port, table, g->index, buf);
}

/* Returns the owner of a GID whose interface has a name that here another function's interface has.
   If nobody named the pod's HCAs, HCAs of other pods may be among them, and their networks may use
   our addresses. SoftRoCE has no function, whatever function its interface has. */
static enum ni_owner owner_of(struct ni_probe *p, const struct ni_hca *h, const char *ndev)
{
    if (ni_is_source_certain(p->inv->allocation[h->allocation].source) || h->pci.none)
        return NI_OWNER_POD;
    if (!ndev[0])
        return NI_OWNER_OTHER; /* nothing shows whose it is, so it is not taken */
    const enum ni_known known = ni_read_names(p, p->root, NI_OPTIONAL, &p->inner,
                                              "sys/class/net/%s/device/infiniband", ndev);
    if (known != NI_KNOWN && known != NI_ABSENT)
        return NI_OWNER_OTHER;
    for (unsigned i = 0; i < p->inner.n; i++) {
        if (strcmp(p->inner.name[i], h->name) == 0)
            return NI_OWNER_POD;
    }
    return p->inner.n > 0 ? NI_OWNER_OTHER : NI_OWNER_POD;
}

/* Returns the owner of a GID by its interface, if the address does not show it. The function's own
   netdev belongs to this namespace, for its directory lists no others (fs/sysfs, net_ns tag). An
   interface that is not here belongs to another namespace. One whose name is here may, too; and
   every namespace may have a link-local address. */
static enum ni_owner whose_interface(struct ni_probe *p, const struct ni_hca *h,
                                     const struct ni_gid *g)
{
    if (h->netdev >= 0 && strcmp(p->inv->netdev[h->netdev].name, g->ndev) == 0)
        return NI_OWNER_POD;
    if (!g->ndev[0])
        return NI_OWNER_UNKNOWN;
    return ni_is_there(p, "sys/class/net/%s", g->ndev) == NI_KNOWN && !ni_ip_is_link_local(g->ip)
               ? NI_OWNER_UNKNOWN
               : NI_OWNER_OTHER;
}

static enum ni_owner find_owner(struct ni_probe *p, const struct ni_hca *h, const struct ni_gid *g)
{
    const struct ni_net *net = &p->inv->net;
    bool v4 = ni_ip_is_v4(g->ip);

    if (ni_is_local_address(net, g->ip))
        return owner_of(p, h, g->ndev);
    if (v4 ? net->v4_known == NI_KNOWN : net->v6_known == NI_KNOWN && !ni_ip_is_link_local(g->ip))
        return NI_OWNER_OTHER;
    return whose_interface(p, h, g);
}

enum extent { TO_FIRST_RIGHT, WHOLE_TABLE };

/* Reads a port's GID table. TO_FIRST_RIGHT stops after the first right entry, and does not read the
   type of an entry that is not IPv4. */
static void read_gid_table(struct ni_probe *p, struct ni_port *port, const struct ni_dir *dir,
                           enum extent extent)
{
    const bool whole = extent == WHOLE_TABLE;
    struct ni_inventory *inv = p->inv;
    const struct ni_port before = *port;
    const unsigned from = inv->n_gid;
    uint8_t ip[NI_GID_BYTES];

    port->first_gid = (int)from;
    port->n_gid = 0;
    port->gids_lost = port->gids_ended = false;
    for (port->gids_read = 0; port->gids_read < NI_GID_TABLE; port->gids_read++) {
        const enum row row = read_gid(p, dir, port->gids_read, ip);

        port->gids_ended = row == ROW_END;
        if (port->gids_ended)
            return;
        port->gids_lost = port->gids_lost || row == ROW_LOST;
        if (row != ROW_TEXT)
            continue;
        if (inv->n_gid == NI_MAX_GID) {
            ni_report(p->f, NI_F_FACT_TRUNCATED, inv->hca[port->hca].name,
                      "more than %d GID entries on the node", NI_MAX_GID);
            inv->n_gid = from;
            *port = before; /* the rows of the first read stay */
            return;
        }
        struct ni_gid *g = &inv->gid[inv->n_gid++];
        port->n_gid++;
        *g = (struct ni_gid){.index = (uint16_t)port->gids_read};
        memcpy(g->ip, ip, sizeof(g->ip));
        if (!whole && !ni_ip_is_v4(ip))
            continue;
        if (read_type(p, dir, g) == ROW_LOST)
            port->gids_lost = true;
        if (whole || g->type == NI_GID_V2) {
            read_ndev(p, dir, g);
            g->owner = find_owner(p, &inv->hca[port->hca], g);
        }
        if (!whole && ni_gid_is_right(inv, g)) {
            port->gids_read++;
            return;
        }
    }
    ni_report(p->f, NI_F_FACT_TRUNCATED, dir->path, "the GID table has more than %d entries",
              NI_GID_TABLE);
}

static bool is_pods_roce(const struct ni_inventory *inv, const struct ni_port *port)
{
    return ni_is_allocated(&inv->hca[port->hca]) && port->link == NI_LINK_ROCE;
}

/* Returns true if the GIDs of the port matter: NCCL_IB_GID_INDEX is for RoCE ports that the pod can
   use. */
static bool needs_gids(const struct ni_inventory *inv, const struct ni_port *port)
{
    return is_pods_roce(inv, port) && ni_is_active(port);
}

void ni_probe_first_gids(struct ni_probe *p, struct ni_port *port, const struct ni_dir *dir)
{
    if (needs_gids(p->inv, port))
        read_gid_table(p, port, dir, TO_FIRST_RIGHT);
}

static void read_again(struct ni_probe *p, struct ni_port *port, enum extent extent)
{
    struct ni_dir dir = ni_dir_open(p->root, "%s/ports/%u", p->inv->hca[port->hca].dir, port->num);

    read_gid_table(p, port, &dir, extent);
    ni_dir_close(&dir);
}

void ni_probe_whole_gids(struct ni_probe *p)
{
    for (unsigned i = 0; i < p->inv->n_port; i++) {
        if (needs_gids(p->inv, &p->inv->port[i]))
            read_again(p, &p->inv->port[i], WHOLE_TABLE);
    }
}

void ni_probe_lost_gids(struct ni_probe *p)
{
    for (unsigned i = 0; i < p->inv->n_port; i++) {
        if (is_pods_roce(p->inv, &p->inv->port[i]) && !ni_is_active(&p->inv->port[i]))
            read_again(p, &p->inv->port[i], TO_FIRST_RIGHT);
    }
}
