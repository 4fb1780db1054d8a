/* SPDX-License-Identifier: Apache-2.0 */
/* Health of the links of HCAs and GPUs: PCIe width and speed, error counters of ports, the traffic
   class that a driver forces. */
#include <errno.h>
#include <string.h>

#include "probe.h"

/* "16" lanes, "32.0 GT/s PCIe" (drivers/pci/pci-sysfs.c current_link_width_show and the like). */
static struct ni_num read_link(struct ni_probe *p, struct ni_bdf at, const char *which,
                               unsigned what)
{
    char path[NI_PATH], bdf[NI_BDF_TEXT];
    (void)ni_format(path, sizeof(path), "sys/bus/pci/devices/%s/%s_link_%s", ni_bdf_text(at, bdf),
                    which, what == NI_PCIE_WIDTH ? "width" : "speed");
    return what == NI_PCIE_WIDTH ? ni_note_num(p, path) : ni_read_rate(p, path, " GT/s");
}

/* `at` is the function that has the link; its other end is the bridge above it on the chain, and
   without that nobody knows what the slot can. */
static void probe_pcie(struct ni_probe *p, struct ni_bdf at, const struct ni_pci *pci,
                       struct ni_pcie *ret)
{
    if (pci->known != NI_KNOWN || pci->depth < 2)
        return;
    for (unsigned i = 0; i < NI_PCIE_N; i++) {
        struct ni_num device = read_link(p, at, "max", i);
        struct ni_num port = read_link(p, pci->at[pci->depth - 2], "max", i);
        ret->now[i] = read_link(p, at, "current", i);
        ret->most[i] = port.known != NI_KNOWN || port.v < device.v ? port : device;
    }
}

/* -EINVAL: the firmware does not tell a VF the counters of the wire. */
static struct ni_num read_counter(struct ni_probe *p, const char *path)
{
    char buf[64];
    uint64_t v;
    ssize_t n = ni_read(p->root, buf, sizeof(buf), "%s", path);
    if (n == -EINVAL)
        return (struct ni_num){0, NI_ABSENT};
    if (n < 0)
        return (struct ni_num){0, ni_known_of(ni_note_unreadable(p, path, (int)n))};
    if (ni_parse_u64(ni_span_of(buf), INT64_MAX, &v) < 0) {
        ni_note_odd(p, path, buf);
        return (struct ni_num){0, NI_BAD};
    }
    return (struct ni_num){(int64_t)v, NI_KNOWN};
}

/* The HCA that has the wire: a VF's PF, where it is to be seen. */
static int wire_of(const struct ni_inventory *inv, int hca)
{
    for (unsigned i = 0; inv->hca[hca].is_vf && i < inv->n_hca; i++) {
        if (inv->hca[i].has_bdf && ni_bdf_cmp(inv->hca[i].bdf, inv->hca[hca].pf) == 0)
            return (int)i;
    }
    return hca;
}

/* A pod on a network of its own sees devices without counters, unless RDMA devices are separated by
   network namespace (drivers/infiniband/core/sysfs.c ib_setup_port_attrs). */
static void probe_counters(struct ni_probe *p, int port)
{
    const struct ni_port *of = &p->inv->port[port];
    char dir[2][NI_PORT_PATH], path[NI_PORT_PATH + 64];
    ni_port_dir(p->inv, of->hca, of->num, dir[false]);
    ni_port_dir(p->inv, wire_of(p->inv, of->hca), of->num, dir[true]);
    bool there[2];
    for (unsigned link = 0; link < 2; link++) {
        (void)ni_format(path, sizeof(path), "%s/%scounters", dir[link], link ? "" : "hw_");
        there[link] = ni_is_there(p, path) == NI_KNOWN;
    }
    for (unsigned i = 0; i < NI_N_COUNTER; i++) {
        if (!there[ni_counters[i].link])
            continue;
        (void)ni_format(path, sizeof(path), "%s/%s", dir[ni_counters[i].link], ni_counters[i].file);
        p->inv->health.counter[port][i] = read_counter(p, path);
    }
}

/* "Global tclass=106" and rules by address (MLNX_OFED and DOCA only, mlx5_ib traffic_class_show). */
static void probe_traffic_class(struct ni_probe *p, int port)
{
    static const char global[] = "Global tclass=";
    const struct ni_port *of = &p->inv->port[port];
    char dir[NI_PATH], path[NI_PATH + 64], buf[NI_PAGE];
    uint64_t v;
    (void)ni_format(path, sizeof(path), "%s/tc/%u/traffic_class",
                    ni_hca_dir(p->inv, &p->inv->hca[of->hca], dir), of->num);
    ssize_t n = ni_read(p->root, buf, sizeof(buf), "%s", path);
    if (n < 0) {
        p->inv->health.traffic_class[port].known = ni_known_of(ni_note_unreadable(p, path, (int)n));
        return;
    }
    p->inv->health.traffic_class[port] = (struct ni_num){-1, NI_KNOWN};
    if (!ni_has_prefix(buf, global))
        return;
    const char *digits = buf + sizeof(global) - 1;
    if (ni_parse_u64((struct ni_span){digits, strcspn(digits, "\n")}, UINT8_MAX, &v) < 0)
        ni_note_odd(p, path, buf);
    else
        p->inv->health.traffic_class[port].v = (int64_t)v;
}

void ni_health_links(struct ni_probe *p)
{
    struct ni_inventory *inv = p->inv;
    char buf[64];
    uint64_t v;
    for (unsigned i = 0; i < inv->n_hca; i++) {
        const struct ni_hca *h = &inv->hca[i];
        if (h->claim < 0)
            continue;
        if (h->has_bdf)
            probe_pcie(p, h->is_vf ? h->pf : h->bdf, &h->pci, &inv->health.hca[i].link);
        for (int port = h->first_port; port < h->first_port + (int)h->n_port; port++) {
            probe_counters(p, port);
            probe_traffic_class(p, port);
        }
    }
    for (unsigned i = 0; i < inv->n_gpu; i++)
        probe_pcie(p, inv->gpu[i].bdf, &inv->gpu[i].pci, &inv->health.gpu_link[i]);
    /* "12345.67 ..." */
    if (ni_read(p->root, buf, sizeof(buf), "proc/uptime") > 0 &&
        ni_parse_u64((struct ni_span){buf, strcspn(buf, ".")}, INT32_MAX, &v) == 0)
        inv->health.uptime = (struct ni_num){(int64_t)v, NI_KNOWN};
}
