/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of rails and interfaces. A look costs an open file for each counter, 4 to 8 us; the
   driver asks its firmware at most each 10 ms (include/rdma/ib_verbs.h
   RDMA_HW_STATS_DEFAULT_LIFESPAN). */
#include "node/traffic.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "nccl_init/base.h"
#include "nccl_init/inventory.h"
#include "nccl_init/ip.h"
#include "nccl_init/known.h"
#include "nccl_init/number.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "nccl_init/traffic.h"
#include "node/forms.h"
#include "sysroot/files.h"
#include "sysroot/root.h"

/* Reads a counter, and multiplies it by its unit. BAD: it is not a number of digits, or more than
   fits. */
static struct ni_num read_counter(const struct ni_dir *dir, const char *file, int64_t unit)
{
    struct ni_num n = {0, NI_BAD};
    char buf[32];
    const ssize_t got = ni_read(dir, buf, sizeof(buf), "%s", file);
    uint64_t value;

    /* a VF's firmware may have no counters of the wire: EINVAL */
    if (got < 0) {
        n.known = got == -EINVAL ? NI_ABSENT : ni_known_of(got);
        return n;
    }
    if (ni_parse_u64((struct ni_span){buf, (size_t)got}, (uint64_t)(INT64_MAX / unit), &value) < 0)
        return n;
    return (struct ni_num){(int64_t)value * unit, NI_KNOWN};
}

/* Adds two counters; one that is absent counts nothing if the other one is there. */
static struct ni_num add(struct ni_num a, struct ni_num b)
{
    if (b.known == NI_ABSENT || b.known == NI_UNSET)
        return a;
    if (a.known == NI_ABSENT || a.known == NI_UNSET)
        return b;
    if (a.known != NI_KNOWN)
        return a;
    if (b.known != NI_KNOWN)
        return b;
    if (a.v > INT64_MAX - b.v)
        return (struct ni_num){0, NI_BAD};
    return (struct ni_num){a.v + b.v, NI_KNOWN};
}

/* ---- rails ---- */

/* The files of a source, and the unit in which they count. */
struct byte_files {
    const char *out[2], *in[2]; /* the second: NULL, or what is added */
    int64_t unit;
};

/* port_xmit_data counts octets divided by 4 (Documentation/ABI/stable/sysfs-class-infiniband). mlx5
   fills it with the RDMA bytes of this function (mad.c pma_cnt_ext_assign), others with those of the
   port. ionic has RDMA bytes of its own; bnxt_re hw_counters.c and efa_verbs.c have tx_bytes; irdma
   verbs.c counts octets of IP. */
static const struct byte_files byte_files[NI_N_BYTE_SOURCE] = {
    [NI_BYTES_PORT_DATA] = {{"counters/port_xmit_data", NULL}, {"counters/port_rcv_data", NULL}, 4},
    [NI_BYTES_UCAST] = {{"hw_counters/tx_rdma_ucast_bytes", NULL},
                        {"hw_counters/rx_rdma_ucast_bytes", NULL},
                        1},
    [NI_BYTES_HW] = {{"hw_counters/tx_bytes", NULL}, {"hw_counters/rx_bytes", NULL}, 1},
    [NI_BYTES_IP] = {{"hw_counters/ip4OutOctets", "hw_counters/ip6OutOctets"},
                     {"hw_counters/ip4InOctets", "hw_counters/ip6InOctets"},
                     1},
};

static struct ni_num read_bytes(const struct ni_dir *dir, const char *const file[2], int64_t unit)
{
    struct ni_num n = read_counter(dir, file[0], unit);

    if (file[1])
        n = add(n, read_counter(dir, file[1], unit));
    return n;
}

/* A device without the wide counters has those of 32 bits, which stop at their most (IBTA 16.1.3.5;
   drivers/infiniband/core/sysfs.c pma_table). */
static bool is_full(struct ni_num n)
{
    return n.known == NI_KNOWN && n.v == INT64_C(4) * UINT32_MAX;
}

static void read_rail_bytes(const struct ni_dir *dir, struct ni_rail_traffic *rail)
{
    for (int s = NI_BYTES_PORT_DATA; s < NI_N_BYTE_SOURCE; s++) {
        rail->out = read_bytes(dir, byte_files[s].out, byte_files[s].unit);
        rail->in = read_bytes(dir, byte_files[s].in, byte_files[s].unit);
        if (rail->out.known == NI_ABSENT && rail->in.known == NI_ABSENT)
            continue;
        rail->source = (enum ni_byte_source)s;
        rail->full = s == NI_BYTES_PORT_DATA && (is_full(rail->out) || is_full(rail->in));
        return;
    }
}

/* Reads the GID table, which ends with the first row that is absent. An empty row is EINVAL, or a
   zero. */
static void read_gids(const struct ni_dir *dir, struct ni_rail_traffic *rail)
{
    for (unsigned i = 0; i < NI_GID_TABLE; i++) {
        struct ni_watched_gid gid = {.index = (uint16_t)i};
        char buf[64];
        const ssize_t n = ni_read(dir, buf, sizeof(buf), "gids/%u", i);

        if (n == -ENOENT) {
            rail->gids_known = i > 0 ? NI_KNOWN : NI_ABSENT;
            return;
        }
        if (n == -EINVAL)
            continue;
        if (n < 0 || ni_parse_gid(ni_span_of(buf), gid.ip) < 0) {
            rail->gids_known = n < 0 ? ni_known_of(n) : NI_BAD;
            return;
        }
        if (ni_ip_is_zero(gid.ip))
            continue;
        rail->gids_cut = rail->n_gid == NI_WATCHED_GIDS;
        if (rail->gids_cut) {
            rail->gids_known = NI_KNOWN;
            return;
        }
        rail->gid[rail->n_gid++] = gid;
    }
    rail->gids_known = NI_KNOWN;
    rail->gids_cut = true;
}

static void read_rail(const struct ni_root *root, const struct ni_inventory *inv,
                      struct ni_rail_traffic *rail)
{
    const struct ni_port *port = &inv->port[rail->port];
    const struct ni_dir top = ni_dir_top(root);
    struct ni_dir dir = ni_dir_open(&top, "%s/ports/%u", inv->hca[port->hca].dir, port->num);
    char buf[64];
    const ssize_t n = ni_read(&dir, buf, sizeof(buf), "state");

    rail->state.known = n < 0 ? ni_known_of(n) : NI_BAD;
    if (n >= 0 && ni_parse_state(buf, &rail->state.v))
        rail->state.known = NI_KNOWN;
    rail->has_counters = ni_look_up(&dir, "counters") == 0 || ni_look_up(&dir, "hw_counters") == 0;
    if (rail->has_counters) {
        read_rail_bytes(&dir, rail);
        for (unsigned i = 0; i < NI_N_TRAFFIC_COUNTER; i++)
            rail->counter[i] = read_counter(&dir, ni_traffic_counters[i].file, 1);
    }
    if (port->link == NI_LINK_ROCE)
        read_gids(&dir, rail);
    ni_dir_close(&dir);
}

/* ---- interfaces ---- */

/* ARPHRD_INFINIBAND, include/uapi/linux/if_arp.h. */
enum { TYPE_IPOIB = 32 };

static void read_interface(const struct ni_dir *dir, struct ni_if_traffic *netif)
{
    static const char *const troubles[] = {"statistics/rx_errors", "statistics/tx_errors",
                                           "statistics/rx_dropped", "statistics/tx_dropped"};
    const struct ni_num type = read_counter(dir, "type", 1);

    netif->ipoib = type.known == NI_KNOWN && type.v == TYPE_IPOIB;
    netif->out = read_counter(dir, "statistics/tx_bytes", 1);
    netif->in = read_counter(dir, "statistics/rx_bytes", 1);
    for (unsigned i = 0; i < NI_COUNT(troubles); i++)
        netif->errors = add(netif->errors, read_counter(dir, troubles[i], 1));
}

static struct ni_names
    names; /* of the directory that is listed now: 80 KiB are not for the stack */

/* Returns true if the interface is that of the port: its function's, or one of its GIDs has it. */
static bool is_ports_own(const struct ni_inventory *inv, const struct ni_port *port,
                         const char *name)
{
    const struct ni_hca *h = &inv->hca[port->hca];

    if (h->netdev >= 0 && strcmp(inv->netdev[h->netdev].name, name) == 0)
        return true;
    for (unsigned i = 0; i < port->n_gid; i++) {
        if (strcmp(ni_port_gid(inv, port, i)->ndev, name) == 0)
            return true;
    }
    return false;
}

/* The order in which interfaces are read: a host's network has one for each of its pods, and they are
   not to displace those of its cards. */
enum if_place { PLACE_RAIL, PLACE_DEVICE, PLACE_VIRTUAL, PLACE_NONE };

static enum if_place place_of(const struct ni_root *root, const struct ni_inventory *inv,
                              const struct ni_traffic *rails, const char *name)
{
    const struct ni_dir top = ni_dir_top(root);

    /* the class also has a file, bonding_masters */
    if (strcmp(name, "lo") == 0 || strcmp(name, "bonding_masters") == 0 ||
        !ni_is_name(ni_span_of(name), NI_IF_NAME))
        return PLACE_NONE;
    for (unsigned i = 0; i < rails->n_rail; i++) {
        if (is_ports_own(inv, &inv->port[rails->rail[i].port], name))
            return PLACE_RAIL;
    }
    return ni_look_up(&top, "sys/class/net/%s/device", name) == 0 ? PLACE_DEVICE : PLACE_VIRTUAL;
}

static void add_interface(const struct ni_root *root, struct ni_traffic *ret, const char *name)
{
    const struct ni_dir top = ni_dir_top(root);
    struct ni_if_traffic *netif;

    if (ret->n_if == NI_MAX_WATCHED_IF) {
        ret->ifs_cut = true;
        return;
    }
    netif = &ret->netif[ret->n_if++];
    *netif = (struct ni_if_traffic){.ipoib = false};
    (void)ni_copy(netif->name, sizeof(netif->name), name);
    struct ni_dir dir = ni_dir_open(&top, "sys/class/net/%s", name);
    read_interface(&dir, netif);
    ni_dir_close(&dir);
}

/* Reads the interfaces of this namespace: the class lists no others (fs/sysfs, net_ns tag). */
static void read_interfaces(const struct ni_root *root, const struct ni_inventory *inv,
                            struct ni_traffic *ret)
{
    const struct ni_dir top = ni_dir_top(root);
    const int r = ni_list(&top, &names, "sys/class/net");
    uint8_t place[NI_MAX_NAMES];

    ret->ifs_known = r < 0 ? ni_known_of(r) : NI_KNOWN;
    ret->ifs_cut = names.cut;
    for (unsigned i = 0; i < names.n; i++)
        place[i] = (uint8_t)place_of(root, inv, ret, names.name[i]);
    for (int p = PLACE_RAIL; p < PLACE_NONE; p++) {
        for (unsigned i = 0; i < names.n; i++) {
            if (place[i] == p)
                add_interface(root, ret, names.name[i]);
        }
    }
}

void ni_read_traffic(const struct ni_root *root, const struct ni_inventory *inv, const int rail[],
                     unsigned n, struct ni_traffic *ret)
{
    const struct ni_dir top = ni_dir_top(root);

    ret->n_rail = ret->n_if = 0;
    ret->n_hca = ni_list(&top, &names, "sys/class/infiniband") == 0 ? names.n : 0;
    for (; ret->n_rail < n && ret->n_rail < NI_MAX_PORT; ret->n_rail++) {
        struct ni_rail_traffic *one = &ret->rail[ret->n_rail];

        *one = (struct ni_rail_traffic){.port = rail[ret->n_rail]};
        read_rail(root, inv, one);
    }
    read_interfaces(root, inv, ret);
}
