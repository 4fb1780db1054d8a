/* SPDX-License-Identifier: Apache-2.0 */
/* What doctor asks of the PCI functions of HCAs and GPUs: width and speed of their links, and whether
   an IOMMU translates what they read and write. */
#include <string.h>

#include "probe.h"

/* "16" lanes, "32.0 GT/s PCIe" (drivers/pci/pci-sysfs.c current_link_width_show and the like). */
static struct ni_num read_link(struct ni_probe *p, struct ni_bdf at, const char *which,
                               unsigned what)
{
    char bdf[NI_BDF_TEXT];
    const bool width = what == NI_PCIE_WIDTH;
    return ni_read_num(p, p->root, NI_OPTIONAL, width ? ni_parse_number : ni_parse_rate,
                       "sys/bus/pci/devices/%s/%s_link_%s", ni_bdf_text(at, bdf), which,
                       width ? "width" : "speed");
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
    char target[NI_PATH], bdf[NI_BDF_TEXT];
    uint64_t group;
    ret->group.known = ni_read_link(p, NI_OPTIONAL, target, sizeof(target),
                                    "sys/bus/pci/devices/%s/iommu_group", ni_bdf_text(at, bdf));
    if (ret->group.known != NI_KNOWN)
        return;
    const char *slash = strrchr(target, '/');
    if (!strstr(target, "/iommu_groups/") || !slash ||
        ni_parse_u64(ni_span_of(slash + 1), INT32_MAX, &group) < 0) {
        ret->group.known = ni_note_odd(p, target);
        return;
    }
    ret->group.v = (int64_t)group;
    ret->type_known = ni_read_file(p, p->root, NI_OPTIONAL, ret->type, sizeof(ret->type),
                                   "sys/kernel/iommu_groups/%u/type", (unsigned)group);
    if (ret->type_known == NI_KNOWN && !ni_is_any(ret->type, types, NI_COUNT(types))) {
        ret->type_known = ni_note_odd(p, ret->type);
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
