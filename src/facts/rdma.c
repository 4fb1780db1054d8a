/* SPDX-License-Identifier: Apache-2.0 */
/* RDMA devices: from the ids that the pod was given to HCAs and their ports. Names are read from
   sysfs, never assumed: udev renames devices, and mlx5_N differs from node to node. */
#include <errno.h>
#include <string.h>

#include "probe.h"

/* ---- paths ---- */

/* Whether the function is known by which it was found. */
static bool is_by_function(const struct ni_inventory *inv, const struct ni_hca *hca)
{
    return hca->claim >= 0 && inv->claim[hca->claim].by != NI_BY_NAME;
}

const char *ni_hca_dir(const struct ni_inventory *inv, const struct ni_hca *hca, char buf[NI_PATH])
{
    /* Through the function where it is known: that is the path that was listed. */
    if (is_by_function(inv, hca))
        (void)ni_format(buf, NI_PATH, "sys/bus/%s/devices/%s/infiniband/%s",
                        hca->aux[0] ? "auxiliary" : "pci", inv->claim[hca->claim].id, hca->name);
    else
        (void)ni_format(buf, NI_PATH, "sys/class/infiniband/%s", hca->name);
    return buf;
}

bool ni_function_dir(const struct ni_hca *h, char dir[NI_PATH])
{
    char bdf[NI_BDF_TEXT];
    if (h->aux[0])
        return ni_format(dir, NI_PATH, "sys/bus/auxiliary/devices/%s", h->aux);
    if (h->has_bdf)
        return ni_format(dir, NI_PATH, "sys/bus/pci/devices/%s", ni_bdf_text(h->bdf, bdf));
    return false;
}

const char *ni_port_dir(const struct ni_inventory *inv, int hca, unsigned port,
                        char buf[NI_PORT_PATH])
{
    char dir[NI_PATH];
    (void)ni_format(buf, NI_PORT_PATH, "%s/ports/%u", ni_hca_dir(inv, &inv->hca[hca], dir), port);
    return buf;
}

/* ---- ports ---- */

static enum ni_link read_link(struct ni_probe *p, const struct ni_dir *port)
{
    static const char *const others[] = {"Unspecified", "Unknown"};
    char buf[64];
    if (ni_read_file(p, port, NI_ABSENCE_TELLS, buf, sizeof(buf), "link_layer") < 0)
        return NI_LINK_UNKNOWN;
    if (strcmp(buf, "InfiniBand") == 0)
        return NI_LINK_IB;
    if (strcmp(buf, "Ethernet") == 0)
        return NI_LINK_ROCE;
    if (!ni_is_any(buf, others, NI_COUNT(others)))
        ni_note_odd(p, p->path, buf);
    return NI_LINK_UNKNOWN;
}

/* Class and ids of a function, "0x15b3" (drivers/pci/pci-sysfs.c pci_config_attr); or -errno. */
static int64_t read_hex(struct ni_probe *p, enum ni_absence absence, struct ni_bdf at,
                        const char *file, size_t digits)
{
    char bdf[NI_BDF_TEXT], buf[32];
    uint64_t v;
    ssize_t n = ni_read_file(p, p->root, absence, buf, sizeof(buf), "sys/bus/pci/devices/%s/%s",
                             ni_bdf_text(at, bdf), file);
    if (n < 0)
        return n;
    if (ni_has_prefix(buf, "0x") && strlen(buf) == digits + 2 &&
        ni_parse_hex(ni_span_of(buf + 2), UINT32_MAX, &v) == 0)
        return (int64_t)v;
    ni_note_odd(p, p->path, buf);
    return -EBADMSG;
}

/* Amazon's; the link layer of an EFA reads "Unspecified". */
static bool is_efa(struct ni_probe *p, const struct ni_hca *h)
{
    return h->has_bdf && read_hex(p, NI_ABSENCE_TELLS, h->bdf, "vendor", 4) == 0x1d0f;
}

/* Ports of an HCA are numbered from 1 without a gap (include/rdma/ib_verbs.h rdma_start_port), so
   they are not listed. One that cannot be read may stand for a directory that cannot: the next would
   say the same. */
static void add_ports(struct ni_probe *p, int hca, const struct ni_dir *hca_dir)
{
    struct ni_inventory *inv = p->inv;
    struct ni_hca *h = &inv->hca[hca];
    struct ni_num state = {0, NI_KNOWN};
    for (unsigned num = 1; num <= 255 && state.known != NI_DENIED; num++) {
        const struct ni_dir dir = ni_dir_at(hca_dir, "ports/%u", num);
        state = ni_read_state(p, &dir, NI_ABSENCE_IS_FINE, "state");
        if (state.known == NI_ABSENT) {
            if (num == 1) /* each HCA has one */
                ni_report(p->f, NI_F_FACT_UNREADABLE, p->path, "there is no first port");
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
        if (port->link == NI_LINK_UNKNOWN)
            h->efa = is_efa(p, h);
        h->n_port++;
        ni_probe_first_gids(p, port, &dir);
    }
}

/* "400 Gb/sec (4X NDR)", "2.5 Gb/sec (1X SDR)" (drivers/infiniband/core/sysfs.c rate_show). */
void ni_probe_rates(struct ni_probe *p)
{
    struct ni_inventory *inv = p->inv;
    for (unsigned i = 0; i < inv->n_port; i++) {
        struct ni_port *port = &inv->port[i];
        char dir[NI_PORT_PATH], path[NI_PORT_PATH + 8];
        (void)ni_format(path, sizeof(path), "%s/rate", ni_port_dir(inv, port->hca, port->num, dir));
        port->mbps = ni_read_rate(p, path, " Gb/sec");
        if (port->mbps.known == NI_ABSENT)
            ni_note_missing(p, path, -ENOENT);
    }
}

/* ---- the place on the PCI tree ---- */

/* What is at an address that NCCL would take for the HCA's: class 0x02 is a network controller
   (include/linux/pci_ids.h). */
static enum ni_at what_is_at(struct ni_probe *p, const struct ni_hca *h, struct ni_bdf at)
{
    char bdf[NI_BDF_TEXT];
    if (ni_bdf_cmp(at, h->bdf) == 0)
        return NI_AT_ITSELF;
    int64_t class = read_hex(p, NI_ABSENCE_IS_FINE, at, "class", 6);
    if (class >= 0)
        return class >> 16 == 0x02 ? NI_AT_NIC : NI_AT_OTHER;
    if (class != -ENOENT)
        return NI_AT_UNREAD;
    if (ni_exists(p->root, "sys/bus/pci/devices/%s", ni_bdf_text(at, bdf)) == -ENOENT)
        return NI_AT_NOTHING;
    ni_note_missing(p, p->path, -ENOENT);
    return NI_AT_UNREAD;
}

static void place(struct ni_probe *p, struct ni_hca *h)
{
    if (is_by_function(p->inv, h))
        ni_probe_chain(p, &h->pci, "sys/bus/%s/devices/%s", h->aux[0] ? "auxiliary" : "pci",
                       p->inv->claim[h->claim].id);
    else
        ni_probe_chain(p, &h->pci, "sys/class/infiniband/%s", h->name);
    if (h->pci.known == NI_KNOWN && !h->has_bdf) {
        h->has_bdf = true;
        h->bdf = h->pci.at[h->pci.depth - 1];
    }
    if (h->pci.aux[0])
        ni_copy(h->aux, sizeof(h->aux), h->pci.aux);
    if (h->aux[0] || h->pci.none)
        h->place = (struct ni_nccl_place){NI_AT_NOTHING, NI_AT_NOTHING};
    else if (h->has_bdf && h->claim >= 0)
        h->place.merged = what_is_at(p, h, (struct ni_bdf){h->bdf.domain, h->bdf.bus, 0, 0});
}

void ni_probe_unmerged(struct ni_probe *p)
{
    for (unsigned i = 0; i < p->inv->n_hca; i++) {
        struct ni_hca *h = &p->inv->hca[i];
        if (h->has_bdf && ni_is_given(h) && !h->aux[0])
            h->place.unmerged =
                what_is_at(p, h, (struct ni_bdf){h->bdf.domain, h->bdf.bus, h->bdf.dev, 0});
    }
}

/* ---- the device node ---- */

ssize_t ni_read_ibdev(struct ni_probe *p, enum ni_absence absence, const char *node,
                      char ibdev[NI_DEV_NAME])
{
    return ni_read_file(p, p->root, absence, ibdev, NI_DEV_NAME,
                        "sys/class/infiniband_verbs/%s/ibdev", node);
}

int ni_open_node(struct ni_probe *p, const char *node)
{
    return ni_openable(p->root, "dev/infiniband/%s", node);
}

bool ni_is_uverbs(const char *node)
{
    uint64_t n;
    return ni_has_prefix(node, "uverbs") &&
           ni_parse_u64(ni_span_of(node + strlen("uverbs")), UINT32_MAX, &n) == 0;
}

/* NI_ABSENT: another's; NI_BAD: whose it is cannot be read. */
static enum ni_known is_node_of(struct ni_probe *p, const char *node, const struct ni_hca *h,
                                bool alone)
{
    char ibdev[NI_DEV_NAME];
    if (alone)
        return NI_KNOWN;
    if (ni_read_ibdev(p, NI_ABSENCE_TELLS, node, ibdev) < 0)
        return NI_BAD;
    if (!ni_is_name(ni_span_of(ibdev), sizeof(ibdev))) {
        ni_note_odd(p, p->path, ibdev);
        return NI_BAD;
    }
    return strcmp(ibdev, h->name) == 0 ? NI_KNOWN : NI_ABSENT;
}

/* Below the function where it is known (else NULL): the class lists the whole host. sole: the
   function has no other HCA, so that one node there is this one's. */
static void probe_node(struct ni_probe *p, struct ni_hca *h, const struct ni_dir *function,
                       bool sole)
{
    static const char dev[] = "/dev/infiniband/";
    char path[NI_PATH + 32], dir[NI_PATH];
    struct ni_dir own;
    const struct ni_claim *c = &p->inv->claim[h->claim];
    if (!p->nodes)
        return;
    if (c->source == NI_SRC_UVERBS) { /* which has opened it */
        h->uverbs.known = NI_KNOWN;
        ni_copy(h->uverbs.name, sizeof(h->uverbs.name), c->from + strlen(dev));
        return;
    }
    bool only_nodes = true; /* the class has an abi_version */
    if (!function) {
        only_nodes = ni_function_dir(h, dir);
        own = ni_dir_at(p->root, "%s", only_nodes ? dir : "sys/class");
        function = &own;
    }
    (void)ni_format(path, sizeof(path), "%s/infiniband_verbs", function->path);
    int err = ni_list(function, &p->inner, "infiniband_verbs");
    h->uverbs.known = err < 0 ? ni_known_of(ni_note_unreadable(p, path, err)) : NI_ABSENT;
    for (unsigned i = 0; err == 0 && i < p->inner.n; i++) {
        const char *node = p->inner.name[i];
        if (!ni_is_uverbs(node)) {
            if (only_nodes) {
                ni_note_odd(p, path, node);
                h->uverbs.known = NI_BAD;
            }
            continue;
        }
        const enum ni_known its = is_node_of(p, node, h, sole && p->inner.n == 1);
        if (its == NI_BAD)
            h->uverbs.known = NI_BAD;
        if (its != NI_KNOWN)
            continue;
        h->uverbs.known = NI_KNOWN;
        ni_copy(h->uverbs.name, sizeof(h->uverbs.name), node);
        h->uverbs.err = ni_open_node(p, node);
        return;
    }
}

/* ---- HCAs ---- */

int ni_add_hca(struct ni_probe *p, const char *name, int claim, const struct ni_dir *function,
               bool sole)
{
    struct ni_inventory *inv = p->inv;
    char path[NI_PATH];
    for (unsigned i = 0; i < inv->n_hca; i++) {
        if (strcmp(inv->hca[i].name, name) == 0)
            return (int)i;
    }
    if (inv->n_hca == NI_MAX_HCA) {
        ni_report(p->f, NI_F_FACT_TRUNCATED, "sys/class/infiniband", "more than %d RDMA devices",
                  NI_MAX_HCA);
        return -1;
    }
    int at = (int)inv->n_hca++;
    struct ni_hca *h = &inv->hca[at];
    ni_copy(h->name, sizeof(h->name), name);
    h->claim = claim;
    h->netdev = -1;
    h->first_port = (int)inv->n_port;
    if (claim >= 0 && inv->claim[claim].by == NI_BY_BDF) {
        h->has_bdf = true;
        h->bdf = inv->claim[claim].bdf;
    } else if (claim >= 0 && inv->claim[claim].by == NI_BY_AUX) {
        ni_copy(h->aux, sizeof(h->aux), inv->claim[claim].id);
    }
    place(p, h);
    if (claim >= 0)
        probe_node(p, h, function, sole);
    struct ni_dir dir = function ? ni_dir_at(function, "infiniband/%s", name)
                                 : ni_dir_open(p->root, "%s", ni_hca_dir(inv, h, path));
    add_ports(p, at, &dir);
    if (!function)
        ni_dir_close(&dir);
    return at;
}

/* The devices under one claimed function. */
void ni_resolve_claim(struct ni_probe *p, int claim)
{
    struct ni_names *names = &p->names;
    struct ni_claim *c = &p->inv->claim[claim];
    char below[NI_PATH + 16], shown[NI_DEV_NAME * 4];
    struct ni_dir function = ni_dir_open(p->root, "sys/bus/%s/devices/%s",
                                         c->by == NI_BY_AUX ? "auxiliary" : "pci", c->id);
    (void)ni_format(below, sizeof(below), "%s/infiniband", function.path);
    int err = ni_list(&function, names, "infiniband");
    if (err < 0 || names->n == 0) {
        if (err < 0 && ni_known_of(ni_note_unreadable(p, below, err)) != NI_ABSENT) {
            p->lost = true;
            c->state = NI_CLAIM_UNREAD;
            ni_dir_close(&function);
            return;
        }
        bool there = ni_exists(p->root, "%s", function.path) == 0;
        c->state = there ? NI_CLAIM_NOT_RDMA : NI_CLAIM_NO_DEVICE;
        ni_report(p->f, there ? NI_F_ALLOC_NOT_RDMA : NI_F_ALLOC_NO_DEVICE, c->id,
                  there ? "given by %s, has no RDMA device" : "given by %s, is not in sysfs",
                  c->from);
        ni_dir_close(&function);
        return;
    }
    for (unsigned i = 0; i < names->n; i++) {
        if (!ni_is_name(ni_span_of(names->name[i]), NI_DEV_NAME)) {
            struct ni_text t = ni_text_on(shown, sizeof(shown));
            ni_put_quoted(&t, names->name[i], strlen(names->name[i]), NI_DEV_NAME);
            ni_report(p->f, NI_F_HCA_NAME_INVALID, c->id, "RDMA device name `%s`", shown);
            p->lost = true;
            continue;
        }
        int hca = ni_add_hca(p, names->name[i], claim, &function, names->n == 1);
        c->hca = c->hca < 0 ? hca : c->hca;
    }
    ni_dir_close(&function);
    if (c->rdma_dev[0] && c->hca >= 0 && strcmp(c->rdma_dev, p->inv->hca[c->hca].name) != 0)
        ni_report(p->f, NI_F_ALLOC_RDMA_DEV_DIFFERS, c->id, "%s says rdma_dev %s, sysfs says %s",
                  c->from, c->rdma_dev, p->inv->hca[c->hca].name);
}

/* The PF of a VF: physfn -> ../0000:03:00.0. */
static void read_physfn(struct ni_probe *p, struct ni_hca *h)
{
    char path[NI_PATH], target[NI_PATH], bdf[NI_BDF_TEXT];
    (void)ni_format(path, sizeof(path), "sys/bus/pci/devices/%s/physfn", ni_bdf_text(h->bdf, bdf));
    ssize_t n = ni_readlink(p->root, target, sizeof(target), "%s", path);
    if (n < 0) {
        ni_note_unreadable(p, path, (int)n);
        return;
    }
    const char *slash = strrchr(target, '/');
    h->is_vf = ni_parse_bdf(ni_span_of(slash ? slash + 1 : target), &h->pf) == 0;
    if (!h->is_vf)
        ni_note_odd(p, path, target);
}

void ni_probe_pfs(struct ni_probe *p)
{
    for (unsigned i = 0; i < p->inv->n_hca; i++) {
        struct ni_hca *h = &p->inv->hca[i];
        if (!h->has_bdf)
            continue;
        read_physfn(p, h);
        if (!p->ask->all)
            continue;
        /* The PF's, for a VF's is that of a whole family. Recordings from before have none. */
        int64_t kind = read_hex(p, NI_ABSENCE_IS_FINE, h->is_vf ? h->pf : h->bdf, "device", 4);
        h->kind = kind > 0 ? (uint16_t)kind : 0;
    }
}

/* The class by PCI address, then by name: `order` holds indexes of p->names. */
static unsigned sort_visible(struct ni_probe *p, uint16_t order[NI_MAX_NAMES])
{
    struct ni_bdf bdf[NI_MAX_NAMES];
    unsigned n = 0;
    for (unsigned i = 0; i < p->names.n; i++) {
        if (!ni_is_name(ni_span_of(p->names.name[i]), NI_DEV_NAME))
            continue;
        bdf[i] = ni_class_bdf(p, p->names.name[i]);
        unsigned at = n++;
        while (at > 0 && ni_bdf_cmp(bdf[order[at - 1]], bdf[i]) > 0) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = (uint16_t)i;
    }
    return n;
}

/* All that the class shows: in the shared RDMA namespace mode these are the host's
   (drivers/infiniband/core/device.c). */
void ni_probe_visible(struct ni_probe *p)
{
    struct ni_names *names = &p->names;
    uint16_t order[NI_MAX_NAMES];
    int err = ni_list(p->root, names, "sys/class/infiniband");
    if (err < 0)
        ni_note_unreadable(p, "sys/class/infiniband", err);
    if (names->cut)
        ni_report(p->f, NI_F_FACT_TRUNCATED, "sys/class/infiniband", "more than %d entries",
                  NI_MAX_NAMES);
    unsigned n = sort_visible(p, order);
    for (unsigned i = 0; i < n && p->inv->n_hca < NI_MAX_HCA; i++)
        ni_add_hca(p, names->name[order[i]], -1, NULL, false);
    if (n > p->inv->n_hca)
        ni_report(p->f, NI_F_HCA_NOT_SHOWN, "sys/class/infiniband", "%u RDMA devices, %d are shown",
                  n, NI_MAX_HCA);
}
