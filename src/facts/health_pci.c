/* SPDX-License-Identifier: Apache-2.0 */
/* What doctor asks of the PCI functions of HCAs and GPUs: width and speed of their links, and whether
   an IOMMU translates what they read and write. */
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
   without that nobody knows what the slot can do. */
static void probe_link(struct ni_probe *p, struct ni_bdf at, const struct ni_pci *pci,
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

/* The type of the group tells (drivers/iommu/iommu.c iommu_group_show_type). */
static void probe_iommu(struct ni_probe *p, struct ni_bdf at, struct ni_iommu *ret)
{
    static const char *const types[] = {"identity", "DMA",       "DMA-FQ",
                                        "blocked",  "unmanaged", "unknown"};
    char path[NI_PATH], target[NI_PATH], bdf[NI_BDF_TEXT];
    uint64_t group;
    (void)ni_format(path, sizeof(path), "sys/bus/pci/devices/%s/iommu_group", ni_bdf_text(at, bdf));
    ssize_t n = ni_readlink(p->root, target, sizeof(target), "%s", path);
    if (n < 0) {
        ret->group.known = ni_known_of(ni_note_unreadable(p, path, (int)n));
        return;
    }
    const char *slash = strrchr(target, '/');
    if (!strstr(target, "/iommu_groups/") || !slash ||
        ni_parse_u64(ni_span_of(slash + 1), INT32_MAX, &group) < 0) {
        ret->group.known = NI_BAD;
        ni_note_odd(p, path, target);
        return;
    }
    ret->group = (struct ni_num){(int64_t)group, NI_KNOWN};
    n = ni_read_file(p, p->root, NI_ABSENCE_IS_FINE, ret->type, sizeof(ret->type),
                     "sys/kernel/iommu_groups/%u/type", (unsigned)group);
    ret->type_known = ni_known_of(n < 0 ? (int)n : 0);
    if (n >= 0 && !ni_is_any(ret->type, types, NI_COUNT(types))) {
        ni_note_odd(p, p->path, ret->type);
        ret->type_known = NI_BAD;
        ret->type[0] = '\0';
    }
}

void ni_health_pci(struct ni_probe *p)
{
    struct ni_inventory *inv = p->inv;
    for (unsigned i = 0; i < inv->n_hca; i++) {
        struct ni_hca *h = &inv->hca[i];
        if (!ni_is_given(h) || !h->has_bdf)
            continue;
        probe_link(p, h->is_vf ? h->pf : h->bdf, &h->pci, &h->link);
        probe_iommu(p, h->bdf, &h->iommu);
    }
    for (unsigned i = 0; i < inv->n_gpu; i++) {
        struct ni_gpu *g = &inv->gpu[i];
        probe_link(p, g->bdf, &g->pci, &g->link);
        probe_iommu(p, g->bdf, &g->iommu);
    }
}
