/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of what stands between the devices: IOMMU and ACS. */
#include <string.h>

#include "check.h"

/* What the devices of one kind have in front of them. */
struct tally {
    struct ni_seen seen;
    unsigned n, translated;
    const struct ni_iommu *first; /* that is translated */
};

/* "DMA" and "DMA-FQ" translate, "identity" does not, and without a group there is no IOMMU
   (drivers/iommu/iommu.c iommu_group_show_type). */
static void judge(struct tally *t, const struct ni_iommu *iommu, const char *name,
                  struct ni_list *names)
{
    if (iommu->group.known == NI_UNSET)
        return;
    t->n++;
    if (iommu->group.known == NI_ABSENT || iommu->type_known == NI_KNOWN)
        t->seen.judged++;
    else
        t->seen.unknown++;
    if (iommu->type_known != NI_KNOWN || !ni_has_prefix(iommu->type, "DMA"))
        return;
    if (!t->first)
        t->first = iommu;
    t->translated++;
    ni_list_add(names, name);
}

/* The command line explains; it decides nothing, for a device's group may be set otherwise. */
static void say_cmdline(struct ni_text *t, const struct ni_health *h)
{
    if (h->cmdline_known != NI_KNOWN)
        ni_put(t, "kernel command line unknown");
    else if (strstr(h->cmdline, "iommu=pt") || strstr(h->cmdline, "iommu.passthrough=1"))
        ni_putf(t, "although the kernel command line says %s", h->cmdline);
    else
        ni_putf(t, "kernel command line: %s", h->cmdline[0] ? h->cmdline : "nothing about it");
}

enum ni_outcome ni_check_iommu(const struct ni_facts *facts, const struct ni_plan *plan,
                               struct ni_findings *f)
{
    const struct ni_inventory *inv = facts->inv;
    struct tally hca = {0}, gpu = {0};
    struct ni_list names;
    char bdf[NI_BDF_TEXT], line[96];
    struct ni_text t = ni_text_on(line, sizeof(line));
    (void)plan;
    ni_list_begin(&names);
    for (unsigned i = 0; i < inv->n_hca; i++) {
        if (ni_is_given(&inv->hca[i]))
            judge(&hca, &inv->health.hca[i].iommu, inv->hca[i].name, &names);
    }
    for (unsigned i = 0; hca.seen.judged + hca.seen.unknown > 0 && i < inv->n_gpu; i++)
        judge(&gpu, &inv->health.gpu[i], ni_bdf_text(inv->gpu[i].bdf, bdf), &names);
    const struct ni_iommu *first = hca.first ? hca.first : gpu.first;
    say_cmdline(&t, &inv->health);
    /* With NVLink-C2C a GPU has another way to memory: then it is only slow. */
    if (first && inv->n_gpu > 0 && !inv->gdr.c2c)
        ni_report(f, NI_F_IOMMU_TRANSLATED, ni_list_end(&names),
                  "IOMMU group %lld is of type %s (%s), %u of %u HCAs and %u of %u GPUs are "
                  "translated: GPUDirect RDMA ends in IBV_WC_LOC_PROT_ERR (vendor_err 81), or "
                  "crawls",
                  (long long)first->group.v, first->type, line, hca.translated, hca.n,
                  gpu.translated, gpu.n);
    else if (first)
        ni_report(f, NI_F_IOMMU_SLOW, ni_list_end(&names),
                  "IOMMU group %lld is of type %s (%s): each transfer of %u of %u HCAs is "
                  "translated",
                  (long long)first->group.v, first->type, line, hca.translated, hca.n);
    struct ni_seen seen = {hca.seen.judged + gpu.seen.judged, hca.seen.unknown + gpu.seen.unknown};
    return ni_seen_outcome(&seen);
}

/* Whether ACS sends peer traffic through the root complex stands in the bridges' extended config
   space, of which a pod without CAP_SYS_ADMIN reads the first 64 bytes (drivers/pci/pci-sysfs.c
   pci_read_config). So: unknown, which is no finding. */
enum ni_outcome ni_check_acs(const struct ni_facts *facts, const struct ni_plan *plan,
                             struct ni_findings *f)
{
    const struct ni_inventory *inv = facts->inv;
    (void)plan;
    (void)f;
    for (unsigned i = 0; i < inv->n_hca; i++) {
        if (ni_is_given(&inv->hca[i]) && inv->n_gpu > 0)
            return NI_CHECK_UNKNOWN;
    }
    return NI_CHECK_IDLE;
}
