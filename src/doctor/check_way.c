/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the ways between devices: PCIe links, IOMMU, the place of the GPUs beside the HCAs. */
#include "doctor/check.h"
#include "doctor/seen.h"
#include "findings/device.h"
#include "nccl_init/findings.h"
#include "nccl_init/gpu.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/pci.h"
#include "nccl_init/plan.h"
#include "nccl_init/process.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "print/words.h"
#include "rules/chosen.h"
#include "rules/decide.h"

/* ---- pci.link ---- */

static void put_link(struct ni_text *t, const struct ni_num link[NI_PCIE_N])
{
    const long long speed = link[NI_PCIE_SPEED].v;

    ni_putf(t, "x%lld at %lld.%lld GT/s", (long long)link[NI_PCIE_WIDTH].v, speed / 1000,
            speed % 1000 / 100);
}

enum device { HCA, GPU };

/* Reports a PCIe link that runs below what both ends can do. Of a GPU only the width counts,
   because an idle GPU lowers the speed (nvidia-smi: "may be reduced when the GPU is not in use").
   */
static void judge_link(struct ni_judging *c, const struct ni_pcie *link, const char *name,
                       enum device device)
{
    const struct ni_num *now = link->now, *most = link->most;
    struct ni_text is = NI_TEXT(48), can = NI_TEXT(48);
    bool known = true, slow = false;

    for (unsigned i = 0; i < NI_PCIE_N; i++) {
        known = known && now[i].known == NI_KNOWN && most[i].known == NI_KNOWN && now[i].v > 0;
        slow = slow || (now[i].v < most[i].v && !(device == GPU && i == NI_PCIE_SPEED));
    }
    if (!ni_saw(c, known) || !slow)
        return;
    put_link(&is, now);
    put_link(&can, most);
    ni_report(c->f, NI_F_PCI_LINK_SLOW, name, "the PCIe link runs %s; device and slot can do %s",
              is.buf, can.buf);
}

static void check_links(struct ni_judging *c)
{
    char bdf[NI_BDF_TEXT];

    for (unsigned i = 0; i < c->inv->n_hca; i++) {
        const struct ni_hca *h = &c->inv->hca[i];

        if (ni_is_allocated(h) && h->has_bdf)
            judge_link(c, &h->link, h->name, HCA);
    }
    for (unsigned i = 0; i < c->inv->n_gpu; i++)
        judge_link(c, &c->inv->gpu[i].link, ni_bdf_text(c->inv->gpu[i].bdf, bdf), GPU);
}

static void put_pcie(struct ni_text *t, const struct ni_view *view)
{
    const struct ni_inventory *inv = view->inv;
    struct ni_range lanes = {.n = 0};

    for (unsigned i = 0; i < ni_allocated_hcas(inv); i++)
        ni_range_add(&lanes, inv->hca[i].link.now[NI_PCIE_WIDTH]);
    for (unsigned i = 0; i < inv->n_gpu; i++)
        ni_range_add(&lanes, inv->gpu[i].link.now[NI_PCIE_WIDTH]);
    ni_put_range(t, &lanes, 1, lanes.most == 1 ? " lane" : " lanes");
}

const struct ni_check ni_check_link = {
    .id = "pci.link",
    .title = "PCIe links",
    .whole = check_links,
    .put = put_pcie,
    .findings = {NI_F_PCI_LINK_SLOW},
};

/* ---- iommu.type ---- */

/* Checks that the IOMMU does not translate. With NVLink-C2C a GPU has another way to memory. */
static void check_iommu(struct ni_judging *c, const struct ni_hca *h)
{
    const struct ni_self *s = &c->inv->self;
    const bool fails = c->inv->n_gpu > 0 && !c->inv->gdr.c2c;
    const char *cmdline = "unknown", *harm = "every transfer is slower";
    ni_finding_number id = NI_F_IOMMU_SLOW;

    if (s->cmdline_known == NI_KNOWN)
        cmdline = s->cmdline[0] ? s->cmdline : "nothing about it";
    if (fails) {
        id = NI_F_IOMMU_TRANSLATED;
        harm = "GPUDirect RDMA fails with IBV_WC_LOC_PROT_ERR (vendor_err 81), or is very slow";
    }
    if (h->has_bdf && ni_saw(c, ni_is_decided(h->iommu.known)) && ni_is_translated(h))
        ni_report(c->f, id, h->name, "the IOMMU group is of type %s (kernel command line: %s): %s",
                  h->iommu.type, cmdline, harm);
}

static void put_iommu(struct ni_text *t, const struct ni_view *view)
{
    const char *type = NULL;

    for (unsigned i = 0; i < ni_allocated_hcas(view->inv); i++) {
        const struct ni_hca *hca = &view->inv->hca[i];
        const char *own = hca->iommu.type;

        if (!hca->has_bdf || (hca->iommu.known != NI_KNOWN && hca->iommu.known != NI_ABSENT))
            continue;
        if (hca->iommu.known == NI_ABSENT)
            own = "none";
        if (!type || ni_has_prefix(own, "DMA"))
            type = own;
    }
    if (type && ni_has_prefix(type, "DMA"))
        ni_put(t, "translates: ");
    ni_quote(t, type ? type : "");
}

const struct ni_check ni_check_iommu = {
    .id = "iommu.type",
    .title = "IOMMU",
    .hca = check_iommu,
    .put = put_iommu,
    .findings = {NI_F_IOMMU_TRANSLATED, NI_F_IOMMU_SLOW},
};

/* ---- gpu.place ---- */

/* Returns an HCA below the GPU's PCI switches that the pod was not given, with the link layer in
   use and at least half the rate. NULL: none, or the pod was given another HCA there, chosen or
   not. */
static const struct ni_hca *missing_near(const struct ni_work *w, unsigned gpu)
{
    const struct ni_port *used = ni_chosen(w, 0).port;
    const struct ni_hca *missing = NULL;

    for (unsigned i = 0; i < w->inv->n_port; i++) {
        const struct ni_port *port = &w->inv->port[i];
        const struct ni_hca *h = &w->inv->hca[port->hca];
        const enum ni_distance d = w->plan->distance[gpu][port->hca];

        if (d == NI_DIST_UNKNOWN || d > NI_DIST_PXB)
            continue;
        if (ni_is_allocated(h))
            return NULL;
        if (!missing && ni_is_active(port) && port->link == used->link &&
            port->mbps.known == NI_KNOWN && port->mbps.v * 2 >= used->mbps.v)
            missing = h;
    }
    return w->policy->hcas ? NULL : missing;
}

/* Checks that each GPU has a near HCA. Distances mean nothing on a PCI tree that virtualisation has
   flattened, nor with NVLink-C2C. */
static void check_gpu_place(struct ni_judging *c)
{
    const struct ni_inventory *inv = c->inv;

    if (c->plan->n_chosen == 0 || inv->gdr.c2c)
        return;
    for (unsigned g = 0; g < inv->n_gpu; g++) {
        const struct ni_near *near = &c->plan->nearest_hca[g];
        const struct ni_taken *taken = ni_plan_taken(c->plan, inv, g);
        const bool relayed = taken && taken->distance == NI_DIST_PXN;
        const struct ni_pci *pci = &inv->gpu[g].pci;
        const struct ni_hca *missing = missing_near(c->w, g);
        char bdf[NI_BDF_TEXT];

        ni_bdf_text(inv->gpu[g].bdf, bdf);
        if (!ni_saw(c, near->index >= 0 && pci->known == NI_KNOWN && pci->depth > 1))
            continue;
        if (missing)
            ni_report(c->f, NI_F_RAIL_MISSING, bdf,
                      "the node has %s near this GPU (%s), but the pod was not given it; the "
                      "nearest HCA of the pod is %s (%s)",
                      missing->name, ni_distance_text(c->plan->distance[g][missing - inv->hca]),
                      inv->hca[near->index].name, ni_distance_text(near->distance));
        else if (near->distance == NI_DIST_SYS && !relayed)
            ni_report(c->f, NI_F_GPU_HCA_FAR, bdf,
                      "the pod's nearest HCA, %s, is on another NUMA node (SYS): this GPU's "
                      "traffic crosses the link between the sockets",
                      inv->hca[near->index].name);
    }
}

static void put_place(struct ni_text *t, const struct ni_view *view)
{
    enum ni_distance farthest = NI_DIST_UNKNOWN;

    for (unsigned i = 0; i < view->inv->n_gpu; i++) {
        const struct ni_near *near = &view->plan->nearest_hca[i];
        const struct ni_taken *taken = ni_plan_taken(view->plan, view->inv, i);
        const enum ni_distance its = taken ? taken->distance : near->distance;

        if (near->index >= 0 && its > farthest)
            farthest = its;
    }
    if (farthest != NI_DIST_UNKNOWN)
        ni_putf(t, "%s at most", ni_distance_text(farthest));
}

const struct ni_check ni_check_place = {
    .id = "gpu.place",
    .title = "GPU to HCA",
    .whole = check_gpu_place,
    .put = put_place,
    .findings = {NI_F_RAIL_MISSING, NI_F_GPU_HCA_FAR, NI_F_GPU_HCA_PASSED_OVER},
};
