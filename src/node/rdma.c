/* SPDX-License-Identifier: Apache-2.0 */
/* HCAs and their ports, found from the ids of the allocations. Names are read from sysfs, never
   assumed: udev renames devices, and mlx5_N differs from node to node. */
#include "node/rdma.h"

#include <errno.h>
#include <string.h>

#include "findings/device.h"
#include "nccl_init/allocation.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/number.h"
#include "nccl_init/pci.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "node/gid.h"
#include "node/pci.h"
#include "node/read.h"
#include "sysroot/files.h"
#include "sysroot/root.h"

/* ---- ports ---- */

static enum ni_link read_link(struct ni_probe *p, const struct ni_dir *port)
{
    char buf[64];

    if (ni_read_file(p, port, NI_REQUIRED, buf, sizeof(buf), "link_layer") != NI_KNOWN)
        return NI_LINK_UNKNOWN;
    if (strcmp(buf, "InfiniBand") == 0)
        return NI_LINK_IB;
    if (strcmp(buf, "Ethernet") == 0)
        return NI_LINK_ROCE;
    if (!ni_is_one_of(ni_span_of(buf), ni_link_layers))
        ni_note_odd(p, buf);
    return NI_LINK_UNKNOWN;
}

/* Reads a number of a function: its class, vendor or device (drivers/pci/pci-sysfs.c
   pci_config_attr). */
static struct ni_num read_id(struct ni_probe *p, enum ni_need need, struct ni_bdf at,
                             const char *file)
{
    char bdf[NI_BDF_TEXT];

    return ni_read_num(p, p->root, need, ni_parse_0x, "sys/bus/pci/devices/%s/%s",
                       ni_bdf_text(at, bdf), file);
}

/* Adds the ports of an HCA. They are numbered from 1 without a gap (include/rdma/ib_verbs.h
   rdma_start_port), so the directory is not listed. If one cannot be read the next ones cannot
   either, and are not tried. */
static void add_ports(struct ni_probe *p, int hca, const struct ni_dir *hca_dir)
{
    struct ni_inventory *inv = p->inv;
    struct ni_hca *h = &inv->hca[hca];
    struct ni_num state = {0, NI_KNOWN};

    for (unsigned num = 1; num <= 255 && state.known != NI_DENIED; num++) {
        const struct ni_dir dir = ni_dir_at(hca_dir, "ports/%u", num);

        state = ni_read_num(p, &dir, NI_OPTIONAL, ni_parse_state, "state");
        if (state.known == NI_ABSENT) {
            if (num == 1) /* each HCA has a port 1 */
                ni_report(p->f, NI_F_FACT_UNREADABLE, p->path, "port 1 is missing");
            return;
        }
        if (inv->n_port == NI_MAX_PORT) {
            ni_report(p->f, NI_F_FACT_TRUNCATED, h->name, "more than %d ports on the node",
                      NI_MAX_PORT);
            return;
        }
        struct ni_port *port = &inv->port[inv->n_port++];
        *port = (struct ni_port){.hca = hca, .num = num, .first_gid = -1, .state = state};
        port->link = read_link(p, &dir);
        /* the link layer of an EFA is "Unspecified" */
        if (port->link == NI_LINK_UNKNOWN && h->has_bdf)
            h->efa = read_id(p, NI_REQUIRED, h->bdf, "vendor").v == 0x1d0f; /* Amazon's */
        h->n_port++;
        ni_probe_first_gids(p, port, &dir);
    }
}

/* ---- the place on the PCI tree ---- */

/* Returns the kind of thing at an address that NCCL would take for the HCA's: class 0x02 is a
   network controller (include/linux/pci_ids.h). */
static enum ni_at what_is_at(struct ni_probe *p, const struct ni_hca *h, struct ni_bdf at)
{
    char bdf[NI_BDF_TEXT];

    if (ni_bdf_cmp(at, h->bdf) == 0)
        return NI_AT_ITSELF;
    const struct ni_num class = read_id(p, NI_OPTIONAL, at, "class");
    if (class.known == NI_KNOWN)
        return class.v >> 16 == 0x02 ? NI_AT_NIC : NI_AT_OTHER;
    if (class.known != NI_ABSENT)
        return NI_AT_UNREAD;
    if (ni_look_up(p->root, "sys/bus/pci/devices/%s", ni_bdf_text(at, bdf)) == -ENOENT)
        return NI_AT_NOTHING;
    ni_note(p, NI_REQUIRED, -ENOENT);
    return NI_AT_UNREAD;
}

/* Finds what NCCL meets where it looks for the HCA on the PCI tree. */
static void probe_nccl_place(struct ni_probe *p, struct ni_hca *h)
{
    if (h->aux[0] || h->pci.none)
        h->place = (struct ni_nccl_place){NI_AT_NOTHING, NI_AT_NOTHING};
    else if (h->has_bdf && h->allocation >= 0)
        h->place.merged = what_is_at(p, h, (struct ni_bdf){h->bdf.domain, h->bdf.bus, 0, 0});
}

/* Finds the HCA's place on the PCI tree. function: the one by which the HCA was found; NULL: it was
   found by name, and the link in its class shows its function. */
static void place(struct ni_probe *p, struct ni_hca *h, const struct ni_dir *function)
{
    char bdf[NI_BDF_TEXT];

    if (function) { /* the listed path shows it already */
        (void)ni_format(h->function, sizeof(h->function), "%s", function->path);
        (void)ni_format(h->dir, sizeof(h->dir), "%s/infiniband/%s", h->function, h->name);
    } else {
        (void)ni_format(h->dir, sizeof(h->dir), "sys/class/infiniband/%s", h->name);
    }
    ni_probe_chain(p, &h->pci, function ? h->function : h->dir);
    if (h->pci.known == NI_KNOWN && !h->has_bdf) {
        h->has_bdf = true;
        h->bdf = h->pci.at[h->pci.depth - 1];
    }
    if (h->pci.aux[0])
        ni_copy(h->aux, sizeof(h->aux), h->pci.aux);
    if (!function && h->aux[0])
        (void)ni_format(h->function, sizeof(h->function), "sys/bus/auxiliary/devices/%s", h->aux);
    else if (!function && h->has_bdf)
        (void)ni_format(h->function, sizeof(h->function), "sys/bus/pci/devices/%s",
                        ni_bdf_text(h->bdf, bdf));
    probe_nccl_place(p, h);
}

/* ---- the device node ---- */

enum ni_known ni_read_ibdev(struct ni_probe *p, enum ni_need need, const char *node,
                            char ibdev[NI_DEV_NAME])
{
    const enum ni_known known = ni_read_file(p, p->root, need, ibdev, NI_DEV_NAME,
                                             "sys/class/infiniband_verbs/%s/ibdev", node);

    if (known != NI_KNOWN || ni_is_name(ni_span_of(ibdev), NI_DEV_NAME))
        return known;
    /* another source already gave the device, or nobody asks for more */
    if (p->inv->source == NI_SRC_NONE || ni_find_user_value(p->env, p->inv, "NCCL_IB_HCA", NULL))
        ni_report(p->f, NI_F_HCA_NAME_INVALID, p->path, "RDMA device name `%s`", ibdev);
    return NI_BAD;
}

bool ni_is_uverbs(const char *node)
{
    uint64_t n;

    return ni_has_prefix(node, "uverbs") &&
           ni_parse_u64(ni_span_of(node + strlen("uverbs")), UINT32_MAX, &n) == 0;
}

/* Returns NI_KNOWN if the listed node is the HCA's, NI_ABSENT if it is not, NI_BAD if nothing shows
   it. only: no other device can have it. */
static enum ni_known is_node_of(struct ni_probe *p, const struct ni_hca *h, const char *node,
                                bool only)
{
    char ibdev[NI_DEV_NAME];

    if (!ni_is_uverbs(node)) /* the class also has a file abi_version */
        return h->function[0] ? ni_note_odd(p, node) : NI_ABSENT;
    if (only)
        return NI_KNOWN;
    if (ni_read_ibdev(p, NI_REQUIRED, node, ibdev) != NI_KNOWN)
        return NI_BAD;
    return strcmp(ibdev, h->name) == 0 ? NI_KNOWN : NI_ABSENT;
}

/* Finds the HCA's uverbs node: below its function if that is known, for the class lists those of
   the whole host. sole: the function has no other HCA, so its only node belongs to this one. */
static void probe_node(struct ni_probe *p, struct ni_hca *h, const struct ni_dir *function,
                       bool sole)
{
    static const char dev[] = "/dev/infiniband/";
    const struct ni_allocation *c = &p->inv->allocation[h->allocation];

    if (!p->has_dev)
        return;
    if (c->source == NI_SRC_UVERBS) { /* that source has opened the node */
        h->uverbs.known = NI_KNOWN;
        ni_copy(h->uverbs.name, sizeof(h->uverbs.name), c->from + strlen(dev));
        return;
    }
    const struct ni_dir by_name =
        ni_dir_at(p->root, "%s", h->function[0] ? h->function : "sys/class");
    const enum ni_known listed = ni_read_names(p, function ? function : &by_name, NI_OPTIONAL,
                                               &p->inner, "infiniband_verbs");
    h->uverbs.known = listed == NI_KNOWN ? NI_ABSENT : listed;
    for (unsigned i = 0; i < p->inner.n; i++) {
        const char *node = p->inner.name[i];
        const enum ni_known its = is_node_of(p, h, node, sole && p->inner.n == 1);

        if (its == NI_BAD)
            h->uverbs.known = NI_BAD;
        if (its != NI_KNOWN)
            continue;
        h->uverbs.known = NI_KNOWN;
        ni_copy(h->uverbs.name, sizeof(h->uverbs.name), node);
        h->uverbs.err = ni_openable(p->root, "dev/infiniband/%s", node);
        return;
    }
}

/* ---- HCAs ---- */

/* Adds the HCA with its ports, or finds it. Returns its index; -1: no room. allocation: the one
   that gave it, or -1; function: its function if known, and whether that has no other HCA. */
static int add_hca(struct ni_probe *p, const char *name, int allocation,
                   const struct ni_dir *function, bool sole)
{
    struct ni_inventory *inv = p->inv;

    for (unsigned i = 0; i < inv->n_hca; i++) {
        if (strcmp(inv->hca[i].name, name) == 0)
            return (int)i;
    }
    if (inv->n_hca == NI_MAX_HCA) {
        ni_report(p->f, NI_F_FACT_TRUNCATED, "sys/class/infiniband", "more than %d RDMA devices",
                  NI_MAX_HCA);
        return -1;
    }
    const int at = (int)inv->n_hca;
    struct ni_hca *h = &inv->hca[at];
    inv->n_hca++;
    ni_copy(h->name, sizeof(h->name), name);
    h->allocation = allocation;
    h->netdev = -1;
    h->first_port = (int)inv->n_port;
    if (allocation >= 0 && inv->allocation[allocation].by == NI_BY_BDF) {
        h->has_bdf = true;
        h->bdf = inv->allocation[allocation].bdf;
    } else if (allocation >= 0 && inv->allocation[allocation].by == NI_BY_AUX) {
        ni_copy(h->aux, sizeof(h->aux), inv->allocation[allocation].id);
    }
    place(p, h, function);
    if (allocation >= 0)
        probe_node(p, h, function, sole);
    struct ni_dir dir =
        function ? ni_dir_at(function, "infiniband/%s", name) : ni_dir_open(p->root, "%s", h->dir);
    add_ports(p, at, &dir);
    if (!function)
        ni_dir_close(&dir);
    return at;
}

/* Adds an HCA of which only the name is known, not the function. Returns as add_hca. */
static int add_named_hca(struct ni_probe *p, const char *name, int allocation)
{
    return add_hca(p, name, allocation, NULL, false);
}

/* Returns true for a function that may be a NIC without RDMA device here, because another driver or
   namespace has it: it is a network controller (0x02, 0x0c06; include/linux/pci_ids.h), or its
   class is not known. */
static bool is_nic(struct ni_probe *p, const struct ni_allocation *c)
{
    struct ni_num class = {0, NI_ABSENT};

    if (c->by == NI_BY_BDF)
        class = read_id(p, NI_OPTIONAL, c->bdf, "class");
    return class.known != NI_KNOWN || class.v >> 16 == 0x02 || class.v >> 8 == 0x0c06;
}

/* Reports why an allocation gives no HCA: its function is not there, or has no RDMA device. */
static void report_no_hca(struct ni_probe *p, struct ni_allocation *c,
                          const struct ni_dir *function)
{
    const bool there = ni_look_up(p->root, "%s", function->path) == 0;

    if (there)
        ni_report(p->f, NI_F_ALLOC_NOT_RDMA, c->id, "given by %s, but has no RDMA device", c->from);
    else
        ni_report(p->f, NI_F_ALLOC_NO_DEVICE, c->id, "given by %s, but is not in sysfs", c->from);
    c->not_rdma = there && is_nic(p, c);
}

void ni_resolve_allocation(struct ni_probe *p, int allocation)
{
    struct ni_allocation *c = &p->inv->allocation[allocation];

    if (c->by == NI_BY_NAME)
        c->hca = add_named_hca(p, c->id, allocation);
    if (c->by == NI_BY_NAME || c->by == NI_BY_NOTHING)
        return;
    struct ni_dir function = ni_dir_open(p->root, "sys/bus/%s/devices/%s",
                                         c->by == NI_BY_AUX ? "auxiliary" : "pci", c->id);
    const enum ni_known listed = ni_read_names(p, &function, NI_OPTIONAL, &p->names, "infiniband");
    for (unsigned i = 0; i < p->names.n; i++) {
        const char *name = p->names.name[i];

        if (ni_is_name(ni_span_of(name), NI_DEV_NAME)) {
            const int hca = add_hca(p, name, allocation, &function, p->names.n == 1);

            c->hca = c->hca < 0 ? hca : c->hca;
        } else {
            ni_report(p->f, NI_F_HCA_NAME_INVALID, c->id, "RDMA device name `%.64s`", name);
            p->inv->n_unnamed++;
            p->lost = true;
        }
    }
    if (listed != NI_KNOWN && listed != NI_ABSENT)
        p->lost = true;
    else if (p->names.n == 0)
        report_no_hca(p, c, &function);
    ni_dir_close(&function);
}

/* Reads the PF of a VF from the link physfn -> ../0000:03:00.0. */
static void read_physfn(struct ni_probe *p, struct ni_hca *h)
{
    char target[NI_PATH], bdf[NI_BDF_TEXT];

    if (ni_read_link(p, NI_OPTIONAL, target, sizeof(target), "sys/bus/pci/devices/%s/physfn",
                     ni_bdf_text(h->bdf, bdf)) != NI_KNOWN)
        return;
    const char *slash = strrchr(target, '/');
    h->is_vf = ni_parse_bdf(ni_span_of(slash ? slash + 1 : target), &h->pf) == 0;
    if (!h->is_vf)
        ni_note_odd(p, target);
}

void ni_probe_hcas(struct ni_probe *p, unsigned needs)
{
    struct ni_inventory *inv = p->inv;

    for (unsigned i = 0; i < inv->n_hca; i++) {
        struct ni_hca *h = &inv->hca[i];

        if (needs & NI_NEED_UNMERGED && h->has_bdf && ni_is_allocated(h) && !h->aux[0])
            h->place.unmerged =
                what_is_at(p, h, (struct ni_bdf){h->bdf.domain, h->bdf.bus, h->bdf.dev, 0});
        if (needs & NI_NEED_PFS && h->has_bdf) {
            read_physfn(p, h);
            if (p->ask->all) /* the device id of the PF: that of a VF stands for a whole family */
                h->kind = (uint16_t)read_id(p, NI_OPTIONAL, h->is_vf ? h->pf : h->bdf, "device").v;
        }
    }
    for (unsigned i = 0; i < inv->n_port && needs & NI_NEED_RATES; i++) {
        struct ni_port *port = &inv->port[i]; /* drivers/infiniband/core/sysfs.c rate_show */

        port->mbps = ni_read_num(p, p->root, NI_REQUIRED, ni_parse_rate, "%s/ports/%u/rate",
                                 inv->hca[port->hca].dir, port->num);
    }
}

/* Adds all HCAs that the class shows. In the shared RDMA namespace mode they are those of the host
   (drivers/infiniband/core/device.c). */
void ni_probe_visible(struct ni_probe *p)
{
    static const char class[] = "sys/class/infiniband";
    const struct ni_names *names = &p->names;
    unsigned n = 0;

    ni_read_names(p, p->root, NI_OPTIONAL, &p->names, class);
    if (names->cut)
        ni_report(p->f, NI_F_FACT_TRUNCATED, class, "more than %d entries", NI_MAX_NAMES);
    for (unsigned i = 0; i < names->n; i++) {
        const bool is_hca = ni_is_name(ni_span_of(names->name[i]), NI_DEV_NAME);

        n += is_hca;
        if (is_hca && p->inv->n_hca < NI_MAX_HCA)
            add_named_hca(p, names->name[i], -1);
    }
    if (n > p->inv->n_hca)
        ni_report(p->f, NI_F_HCA_NOT_SHOWN, class, "%u RDMA devices, %d are shown", n, NI_MAX_HCA);
}

/* ---- InfiniBand: GUIDs and P_Keys ---- */

/* Returns true for an InfiniBand port of the pod. */
static bool is_ib(const struct ni_inventory *inv, const struct ni_port *port)
{
    return ni_is_allocated(&inv->hca[port->hca]) && port->link == NI_LINK_IB;
}

void ni_probe_guids(struct ni_probe *p)
{
    struct ni_inventory *inv = p->inv;

    for (unsigned i = 0; i < inv->n_port; i++) {
        struct ni_port *port = &inv->port[i];
        struct ni_hca *h = &inv->hca[port->hca];

        if (!is_ib(inv, port) || !ni_is_down(port))
            continue;
        h->guid = ni_read_num(p, p->root, NI_OPTIONAL, ni_parse_guid, "%s/node_guid", h->dir);
        port->guid = ni_read_num(p, p->root, NI_OPTIONAL, ni_parse_guid, "%s/ports/%u/gids/0",
                                 h->dir, port->num);
    }
}

/* Reads a port's P_Key table (drivers/infiniband/core/sysfs.c show_port_pkey). */
static void read_pkeys(struct ni_probe *p, struct ni_port *port, bool all)
{
    struct ni_dir dir = ni_dir_open(p->root, "%s/ports/%u", p->inv->hca[port->hca].dir, port->num);
    struct ni_num pkey;

    port->n_pkey = 0;
    do {
        pkey = ni_read_num(p, &dir, NI_OPTIONAL, ni_parse_0x, "pkeys/%u", port->n_pkey);
        if (pkey.known != NI_KNOWN)
            break;
        port->pkey[port->n_pkey++] = (uint16_t)pkey.v;
    } while (port->n_pkey < NI_MAX_PKEY && (all || (pkey.v & NI_PKEY_FULL) == 0));
    if (pkey.known != NI_KNOWN && pkey.known != NI_ABSENT)
        port->n_pkey = 0; /* half a table says nothing */
    ni_dir_close(&dir);
}

void ni_probe_pkeys(struct ni_probe *p, bool all)
{
    for (unsigned i = 0; i < p->inv->n_port; i++) {
        struct ni_port *port = &p->inv->port[i];

        if (is_ib(p->inv, port) && ni_is_active(port))
            read_pkeys(p, port, all);
    }
}
