/* SPDX-License-Identifier: Apache-2.0 */
/* Whether an IOMMU translates what the pod's HCAs and GPUs read and write. The type of the group
   tells; the kernel command line only explains it. */
#include <string.h>

#include "probe.h"

/* drivers/iommu/iommu.c iommu_group_show_type */
static bool is_type(const char *s)
{
    static const char *const types[] = {"identity", "DMA",       "DMA-FQ",
                                        "blocked",  "unmanaged", "unknown"};
    return ni_is_any(s, types, NI_COUNT(types));
}

static void probe_group(struct ni_probe *p, struct ni_bdf at, struct ni_iommu *ret)
{
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
    (void)ni_format(path, sizeof(path), "sys/kernel/iommu_groups/%u/type", (unsigned)group);
    n = ni_read(p->root, ret->type, sizeof(ret->type), "%s", path);
    ret->type_known = n < 0 ? ni_known_of(ni_note_unreadable(p, path, (int)n)) : NI_KNOWN;
    if (n >= 0 && !is_type(ret->type)) {
        ni_note_odd(p, path, ret->type);
        ret->type_known = NI_BAD;
    }
    if (ret->type_known != NI_KNOWN)
        ret->type[0] = '\0';
}

/* Whatever names an IOMMU: iommu=pt, intel_iommu=on, iommu.passthrough=1,
   arm-smmu-v3.disable_bypass=0. */
static void probe_cmdline(struct ni_probe *p)
{
    struct ni_health *health = &p->inv->health;
    char buf[NI_PAGE];
    ssize_t n = ni_read(p->root, buf, sizeof(buf), "proc/cmdline");
    struct ni_text t = ni_text_on(health->cmdline, sizeof(health->cmdline));
    health->cmdline_known = n < 0 ? ni_known_of((int)n) : NI_KNOWN;
    if (n < 0)
        return;
    const char *rest = buf;
    struct ni_span word;
    while (ni_split(&rest, ' ', &word)) {
        if (!memmem(word.p, word.n, "iommu", 5) && !memmem(word.p, word.n, "smmu", 4))
            continue;
        ni_put(&t, t.len > 0 ? " " : "");
        ni_put_quoted(&t, word.p, word.n, 40);
    }
}

void ni_health_iommu(struct ni_probe *p)
{
    struct ni_inventory *inv = p->inv;
    for (unsigned i = 0; i < inv->n_hca; i++) {
        if (inv->hca[i].claim >= 0 && inv->hca[i].has_bdf)
            probe_group(p, inv->hca[i].bdf, &inv->health.hca[i].iommu);
    }
    for (unsigned i = 0; i < inv->n_gpu; i++)
        probe_group(p, inv->gpu[i].bdf, &inv->health.gpu[i]);
    probe_cmdline(p);
}
