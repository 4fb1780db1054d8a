/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the way between the devices: PCIe links, IOMMU, ACS. */
#include <string.h>

#include "check.h"

static void put_link(struct ni_text *t, const struct ni_num link[NI_PCIE_N])
{
    const long long speed = link[NI_PCIE_SPEED].v;
    ni_putf(t, "x%lld at %lld.%lld GT/s", (long long)link[NI_PCIE_WIDTH].v, speed / 1000,
            speed % 1000 / 100);
}

/* A GPU that idles lowers its speed (nvidia-smi: "may be reduced when the GPU is not in use"). */
static void judge_link(struct ni_checkup *c, const struct ni_pcie *link, const char *name, bool gpu)
{
    const struct ni_num *now = link->now, *most = link->most;
    char is[48], can[48];
    struct ni_text a = ni_text_on(is, sizeof(is)), b = ni_text_on(can, sizeof(can));
    bool known = true, slow = false;
    for (unsigned i = 0; i < NI_PCIE_N; i++) {
        known = known && now[i].known == NI_KNOWN && most[i].known == NI_KNOWN && now[i].v > 0;
        slow = slow || (now[i].v < most[i].v && !(gpu && i == NI_PCIE_SPEED));
    }
    if (!ni_saw(c, known) || !slow)
        return;
    put_link(&a, now);
    put_link(&b, most);
    ni_report(c->f, NI_F_PCI_LINK_SLOW, name, "the PCIe link runs %s; device and slot can do %s",
              is, can);
}

void ni_check_links(struct ni_checkup *c)
{
    char bdf[NI_BDF_TEXT];
    for (unsigned i = 0; i < c->inv->n_hca; i++) {
        const struct ni_hca *h = &c->inv->hca[i];
        if (ni_is_given(h) && h->has_bdf)
            judge_link(c, &h->link, h->name, false);
    }
    for (unsigned i = 0; i < c->inv->n_gpu; i++)
        judge_link(c, &c->inv->gpu[i].link, ni_bdf_text(c->inv->gpu[i].bdf, bdf), true);
}

/* Devices of one kind, and how many of them the IOMMU translates. */
struct tally {
    unsigned n, translated;
};

/* "DMA" and "DMA-FQ" translate, "identity" does not, and without a group there is no IOMMU
   (drivers/iommu/iommu.c iommu_group_show_type). */
static bool is_translated(struct ni_checkup *c, const struct ni_iommu *iommu, struct tally *t)
{
    if (iommu->group.known == NI_UNSET)
        return false;
    t->n++;
    bool known = iommu->type_known == NI_KNOWN;
    bool translated = ni_saw(c, known || iommu->group.known == NI_ABSENT) && known &&
                      ni_has_prefix(iommu->type, "DMA");
    t->translated += translated;
    return translated;
}

/* The command line explains; it decides nothing, for a device's group may be set otherwise. */
static void put_cmdline(struct ni_text *t, const struct ni_self *self)
{
    if (self->cmdline_known != NI_KNOWN)
        ni_put(t, "kernel command line unknown");
    else if (strstr(self->cmdline, "iommu=pt") || strstr(self->cmdline, "iommu.passthrough=1"))
        ni_putf(t, "although the kernel command line says %s", self->cmdline);
    else
        ni_putf(t, "kernel command line: %s",
                self->cmdline[0] ? self->cmdline : "nothing about it");
}

void ni_check_iommu(struct ni_checkup *c)
{
    const struct ni_inventory *inv = c->inv;
    const struct ni_iommu *first = NULL; /* that translates */
    struct tally hcas = {0}, gpus = {0};
    struct ni_list names;
    char bdf[NI_BDF_TEXT], line[96];
    struct ni_text t = ni_text_on(line, sizeof(line));
    ni_list_begin(&names);
    for (unsigned i = 0; i < inv->n_hca; i++) {
        const struct ni_hca *h = &inv->hca[i];
        if (!ni_is_given(h) || !is_translated(c, &h->iommu, &hcas))
            continue;
        first = first ? first : &h->iommu;
        ni_list_add(&names, h->name);
    }
    for (unsigned i = 0; hcas.n > 0 && i < inv->n_gpu; i++) {
        const struct ni_gpu *g = &inv->gpu[i];
        if (!is_translated(c, &g->iommu, &gpus))
            continue;
        first = first ? first : &g->iommu;
        ni_list_add(&names, ni_bdf_text(g->bdf, bdf));
    }
    put_cmdline(&t, &inv->self);
    /* With NVLink-C2C a GPU has another way to memory: then it is only slow. */
    if (first && inv->n_gpu > 0 && !inv->gdr.c2c)
        ni_report(c->f, NI_F_IOMMU_TRANSLATED, ni_list_end(&names),
                  "IOMMU group %lld is of type %s (%s); the IOMMU translates for %u of %u HCAs and "
                  "%u of %u GPUs: GPUDirect RDMA fails with IBV_WC_LOC_PROT_ERR (vendor_err 81), "
                  "or is very slow",
                  (long long)first->group.v, first->type, line, hcas.translated, hcas.n,
                  gpus.translated, gpus.n);
    else if (first)
        ni_report(c->f, NI_F_IOMMU_SLOW, ni_list_end(&names),
                  "IOMMU group %lld is of type %s (%s); the IOMMU translates each transfer of %u "
                  "of %u HCAs, which costs time",
                  (long long)first->group.v, first->type, line, hcas.translated, hcas.n);
}

/* Whether ACS sends peer traffic through the root complex stands in the bridges' extended config
   space, of which a pod without CAP_SYS_ADMIN reads the first 64 bytes (drivers/pci/pci-sysfs.c
   pci_read_config). So: unknown, which is no finding. */
void ni_check_acs(struct ni_checkup *c)
{
    for (unsigned i = 0; c->inv->n_gpu > 0 && i < c->inv->n_hca; i++) {
        if (ni_is_given(&c->inv->hca[i]))
            (void)ni_saw(c, false);
    }
}
