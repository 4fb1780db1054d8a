/* SPDX-License-Identifier: Apache-2.0 */
/* The rule gdr.level: NCCL_NET_GDR_LEVEL, the greatest distance between a GPU and the HCA that
   reads its memory. If it is unset, NCCL stops at PXB (2.30.7 graph/paths.cc ncclTopoCheckGdr);
   RCCL goes to PHB for a GPU and an HCA of one EPYC of Zen 2 to Zen 4 (RCCL of ROCm 6.3
   graph/paths.cc ncclTopoCheckGdr, graph/topo.cc). */
#include "rules/gdr.h"

#include "findings/device.h"
#include "findings/setting.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/gpu.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/pci.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "rules/chosen.h"
#include "rules/decide.h"
#include "rules/hca_node.h"
#include "rules/nccl_nics.h"

static const char variable[] = "NCCL_NET_GDR_LEVEL";

/* ---- distances ---- */

/* Returns true if NCCL does not find the device in sysfs: it has room for a PCI domain of four
   digits, cuts the address of one with more, and places the device at a CPU of its own (os/linux.cc
   ncclOsGetPciPath, graph/xml.cc ncclTopoGetXmlFromSys). */
static bool is_cut(const struct ni_pci *pci)
{
    return pci->depth > 0 && ni_is_cut_by_nccl(pci->at[pci->depth - 1]);
}

/* Returns the distance that NCCL counts by the HCA's own place. NCCL puts a NIC without a place
   below the first CPU that it knows (graph/xml.cc ncclTopoFillNet), that of the first GPU; but
   2.24.3 to 2.26.6 take a VF where it is (transport/net_ib.cc ncclIbGetPciPath). So an HCA without
   a place gets the larger of both distances. SoftRoCE has no GPUDirect, and no distance. */
static enum ni_distance own_distance(const struct ni_work *w, unsigned hca, unsigned gpu)
{
    const struct ni_hca *h = &w->inv->hca[hca];
    const struct ni_pci *g = &w->inv->gpu[gpu].pci;
    const struct ni_num *numa = &g->numa, *first = &w->inv->gpu[0].pci.numa;
    const enum ni_distance there = ni_pci_distance(&h->pci, g);

    if (is_cut(&h->pci) || is_cut(g))
        return is_cut(&h->pci) && is_cut(g) ? NI_DIST_PHB : NI_DIST_SYS;
    if (h->pci.none || !w->plan->no_place[hca])
        return there;
    if (numa->known != NI_KNOWN || first->known != NI_KNOWN)
        return NI_DIST_UNKNOWN;
    if (numa->v != first->v)
        return NI_DIST_SYS;
    return h->aux[0] || (there != NI_DIST_UNKNOWN && there < NI_DIST_PHB) ? NI_DIST_PHB : there;
}

/* Returns the distance between a GPU and an HCA. NCCL places an HCA with a Data Direct function
   where that function is; with NCCL_IB_DATA_DIRECT=2 it takes both places, with 0 only the HCA's
   own. */
static enum ni_distance distance(const struct ni_work *w, unsigned hca, unsigned gpu)
{
    const struct ni_pci *direct = &w->inv->hca[hca].data_direct;
    const int64_t mode = ni_user_int(w, "NCCL_IB_DATA_DIRECT", 1);
    const enum ni_distance own = own_distance(w, hca, gpu);

    if (mode <= 0 || direct->known == NI_UNSET || direct->known == NI_ABSENT)
        return own;
    const enum ni_distance through = ni_pci_distance(direct, &w->inv->gpu[gpu].pci);
    if (mode != 2 || through == NI_DIST_UNKNOWN)
        return through;
    return own < through && own != NI_DIST_UNKNOWN ? own : through;
}

/* Finds the nearest HCA of each GPU, among those that NCCL will use; if none of them opens, among
   those that NCCL is told to use. */
static void find_nearest(const struct ni_work *w)
{
    const struct ni_inventory *inv = w->inv;
    bool chosen[NI_MAX_HCA] = {false}, opens[NI_MAX_HCA] = {false}, any_opens = false;

    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        const int h = ni_chosen(w, i).port->hca;

        chosen[h] = true;
        opens[h] = !ni_lacks_uverbs(&inv->hca[h].uverbs);
        any_opens = any_opens || opens[h];
    }
    for (unsigned h = 0; h < inv->n_hca; h++) {
        for (unsigned g = 0; g < inv->n_gpu; g++) {
            const enum ni_distance d = distance(w, h, g);
            struct ni_near *near = &w->plan->nearest_hca[g];

            w->plan->distance[g][h] = (uint8_t)d;
            if ((any_opens ? opens[h] : chosen[h]) && d != NI_DIST_UNKNOWN &&
                (near->index < 0 || d < near->distance))
                *near = (struct ni_near){(int)h, d};
        }
    }
}

void ni_want_numa(const struct ni_work *w)
{
    for (unsigned g = 0; g < w->inv->n_gpu; g++) {
        const struct ni_near *near = &w->plan->nearest_hca[g];

        if (near->index < 0 || near->distance > NI_DIST_PXB)
            w->plan->needs |= NI_NEED_NUMA | NI_NEED_DATA_DIRECT;
    }
}

/* ---- whether at all ---- */

bool ni_can_gdr(const struct ni_work *w, const char **ret_why)
{
    const struct ni_inventory *inv = w->inv;
    const char *dmabuf = ni_user_value(w, "NCCL_DMABUF_ENABLE");
    const bool off = ni_user_int(w, "NCCL_DMABUF_ENABLE", 1) == 0;

    *ret_why = NULL;
    if (inv->gdr.gb10) {
        *ret_why = "a GB10 has no GPUDirect RDMA: CPU and GPU share one memory";
        return false;
    }
    if (inv->gdr.listed == NI_ABSENT && (off || !ni_has_dmabuf(inv)))
        ni_report(w->f, NI_F_GDR_PEERMEM_HIDDEN, "nvidia_peermem",
                  "nvidia-peermem is loaded but not listed in /sys/kernel/mm/memory_peers: NCCL "
                  "before 2.23.4 says `GPU Direct RDMA Disabled`");
    if (inv->gdr.peermem == NI_KNOWN)
        return true;
    if (off) {
        *ret_why =
            ni_is_no_number(dmabuf)
                ? "your NCCL_DMABUF_ENABLE is a word, for NCCL up to 2.31.2 the same as 0, and "
                  "there is no peer memory module"
                : "NCCL_DMABUF_ENABLE=0 and no peer memory module";
        ni_report(w->f, NI_F_GDR_DMABUF_OFF, "NCCL_DMABUF_ENABLE",
                  "NCCL%s leaves DMA-BUF off, and no peer memory module is loaded",
                  ni_user_versions(w, "NCCL_DMABUF_ENABLE"));
        return false;
    }
    if (inv->gpu[0].amd && (!dmabuf || !*dmabuf))
        ni_report(w->f, NI_F_GDR_DMABUF_RCCL, "NCCL_DMABUF_ENABLE",
                  "there is no peer memory module (amdkfd), and RCCL before ROCm 7.12 leaves "
                  "DMA-BUF off");
    if (inv->gpu[0].amd || ni_has_dmabuf(inv))
        return true;
    *ret_why = "there is neither nvidia-peermem nor DMA-BUF (open GPU kernel modules, kernel 5.12)";
    ni_report(w->f, NI_F_GDR_UNAVAILABLE, variable,
              "nvidia-peermem %s, open GPU kernel modules %s, kernel %u.%u",
              ni_known_text(inv->gdr.peermem), ni_known_text(inv->gdr.open_driver),
              inv->self.kernel_major, inv->self.kernel_minor);
    return false;
}

/* ---- the level ---- */

const char *ni_topo_file(const struct ni_inventory *inv)
{
    if (inv->topo_file == NI_KNOWN)
        return "NCCL_TOPO_FILE";
    return inv->system_topo_file ? "/var/run/nvidia-topologyd/virtualTopology.xml" : NULL;
}

/* Returns a GPU without a root port above it, or NULL. Virtualisation shows such a flat tree. */
static const struct ni_gpu *flat_gpu(const struct ni_inventory *inv)
{
    for (unsigned g = 0; g < inv->n_gpu; g++) {
        if (inv->gpu[g].pci.known == NI_KNOWN && inv->gpu[g].pci.depth == 1)
            return &inv->gpu[g];
    }
    return NULL;
}

/* Returns a chosen HCA whose place is not known, and which may be nearer to the GPU than the
   others; NULL. SoftRoCE, which has no place, is not near to any GPU. */
static const struct ni_hca *unknown_hca(const struct ni_work *w, unsigned gpu)
{
    const struct ni_near *near = &w->plan->nearest_hca[gpu];
    const struct ni_hca *unknown = NULL;

    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        const struct ni_chosen c = ni_chosen(w, i);

        if (w->plan->distance[gpu][c.port->hca] == NI_DIST_UNKNOWN && !c.hca->pci.none)
            unknown = c.hca;
    }
    if (near->index < 0)
        return w->inv->gpu[gpu].pci.known == NI_KNOWN ? unknown : NULL;
    return near->distance > NI_DIST_PXB ? unknown : NULL;
}

/* Leaves the level unset where the distance of a GPU is not known. */
static bool are_known(const struct ni_work *w)
{
    const struct ni_inventory *inv = w->inv;
    char bdf[NI_BDF_TEXT];

    for (unsigned g = 0; g < inv->n_gpu; g++) {
        const struct ni_hca *unknown = unknown_hca(w, g);

        if (unknown) {
            ni_decide_value(w, variable, NULL,
                            "the place of %s on the PCI tree is not known; it may be the nearest",
                            unknown->name);
            return false;
        }
        if (w->plan->nearest_hca[g].index < 0) {
            ni_decide_value(w, variable, NULL, "the place of GPU %s on the PCI tree is %s",
                            ni_bdf_text(inv->gpu[g].bdf, bdf),
                            ni_known_text(inv->gpu[g].pci.known));
            return false;
        }
    }
    return true;
}

/* Returns true if a chosen HCA shares a PCI switch with the GPU, wherever NCCL places it. */
static bool shares_switch(const struct ni_work *w, unsigned gpu)
{
    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        const struct ni_hca *h = ni_chosen(w, i).hca;
        const enum ni_distance d = ni_pci_distance(&h->pci, &w->inv->gpu[gpu].pci);

        if (!ni_lacks_uverbs(&h->uverbs) && d != NI_DIST_UNKNOWN && d <= NI_DIST_PXB)
            return true;
    }
    return false;
}

/* Puts a GPU's distance to its nearest HCA, as NCCL counts it, into a reason. */
static void put_distance(const struct ni_work *w, unsigned gpu, struct ni_text *t)
{
    const struct ni_near *near = &w->plan->nearest_hca[gpu];
    const struct ni_hca *h = &w->inv->hca[near->index];
    const struct ni_pci *direct = &h->data_direct;
    char bdf[NI_BDF_TEXT];

    ni_putf(t, "%s to %s, %s", ni_bdf_text(w->inv->gpu[gpu].bdf, bdf), h->name,
            ni_distance_text(near->distance));
    if (direct->known == NI_KNOWN)
        ni_putf(t, "; its Data Direct function is %s",
                ni_bdf_text(direct->at[direct->depth - 1], bdf));
}

/* GPUs, by the distance to their nearest HCA; -1: there is none. */
struct gpus {
    int farthest;
    int misplaced; /* the farthest GPU that shares a switch with an HCA, but not in NCCL's eyes */
    int far;       /* the nearest GPU that shares no switch with an HCA */
};

static struct gpus sort_gpus(const struct ni_work *w)
{
    const struct ni_near *near = w->plan->nearest_hca;
    struct gpus found = {-1, -1, -1};

    for (unsigned g = 0; g < w->inv->n_gpu; g++) {
        if (found.farthest < 0 || near[g].distance > near[found.farthest].distance)
            found.farthest = (int)g;
        if (near[g].distance <= NI_DIST_PXB)
            continue;
        if (!shares_switch(w, g)) {
            if (found.far < 0 || near[g].distance < near[found.far].distance)
                found.far = (int)g;
        } else if (found.misplaced < 0 || near[g].distance > near[found.misplaced].distance) {
            found.misplaced = (int)g;
        }
    }
    return found;
}

/* Decides the level by the distances. NCCL's own level, PXB, stays: many CPUs are slow between PCIe
   devices (NVIDIA/nccl#465, #1151), and for no CPU a measurement is published that says otherwise.
   The level is raised only if NCCL looks for an HCA in the wrong place, and the higher level does
   not also allow a GPU that really is far from its HCA. */
static void decide_by_distance(const struct ni_work *w)
{
    const struct ni_near *near = w->plan->nearest_hca;
    const struct gpus gpus = sort_gpus(w);
    const bool amd = w->inv->gpu[0].amd;
    struct ni_text where = NI_TEXT(160);

    if (gpus.misplaced >= 0 &&
        (gpus.far < 0 || near[gpus.misplaced].distance < near[gpus.far].distance)) {
        put_distance(w, (unsigned)gpus.misplaced, &where);
        ni_decide_value(
            w, variable, ni_distance_text(near[gpus.misplaced].distance),
            "a GPU and an HCA share a PCI switch, but NCCL does not see the HCA there (%s)",
            where.buf);
    } else if (gpus.far >= 0 && w->plan->taken[gpus.far].distance == NI_DIST_PXN) {
        put_distance(w, (unsigned)gpus.far, &where);
        ni_decide_value(w, variable, NULL,
                        "a GPU is far from its nearest HCA (%s): over NVLink NCCL goes through a "
                        "GPU that is near one (PXN)",
                        where.buf);
    } else if (gpus.far >= 0) {
        put_distance(w, (unsigned)gpus.far, &where);
        ni_decide_value(
            w, variable, NULL,
            "a GPU is far from its nearest HCA (%s), and %s does not use GPUDirect RDMA at that "
            "distance, because many CPUs are slow between PCIe devices; --gdr=%s allows it",
            where.buf, amd ? "RCCL usually" : "NCCL", ni_distance_text(near[gpus.far].distance));
    } else if (amd) {
        put_distance(w, (unsigned)gpus.farthest, &where);
        ni_decide_value(
            w, variable, NULL,
            "RCCL's default reaches each GPU's nearest HCA (farthest: %s), and is higher on "
            "some CPUs",
            where.buf);
    } else {
        put_distance(w, (unsigned)gpus.farthest, &where);
        ni_decide_value(w, variable, "PXB",
                        "NCCL's default, which reaches each GPU's nearest HCA (farthest: %s)",
                        where.buf);
    }
}

static void decide_level(const struct ni_work *w)
{
    const char *topo = ni_topo_file(w->inv);
    const struct ni_gpu *flat = flat_gpu(w->inv);
    char bdf[NI_BDF_TEXT];

    if (topo) {
        ni_decide_value(w, variable, NULL,
                        "%s, not the PCI tree, says how far GPUs and HCAs are from each other",
                        topo);
        return;
    }
    if (flat) {
        ni_decide_value(
            w, variable, "SYS",
            "GPU %s is on the root bus: the PCI tree is flat, and distances mean nothing",
            ni_bdf_text(flat->bdf, bdf));
        return;
    }
    ni_want_numa(w);
    if (are_known(w))
        decide_by_distance(w);
}

/* ---- NICs that NCCL takes although they are far ---- */

enum ni_distance ni_gdr_level(const struct ni_work *w)
{
    const bool c2c = w->inv->gdr.c2c && ni_user_int(w, "NCCL_NET_GDR_C2C", 1) != 0;
    const struct ni_setting *s = ni_plan_get(w->plan, variable);
    /* with --for of other libraries only, NCCL's settings are in no plan */
    const char *value = s ? s->value : ni_user_value(w, variable);
    const enum ni_distance level = value ? ni_parse_level(value) : NI_DIST_UNKNOWN;

    if (level == NI_DIST_UNKNOWN || level == NI_DIST_P2C || level == NI_DIST_PXN)
        return c2c ? NI_DIST_PHB : NI_DIST_PXB;
    return level;
}

/* Returns true if another GPU is near the HCA: if NVLink joins both GPUs, NCCL goes through it. */
static bool may_use_nvlink(const struct ni_work *w, unsigned gpu, int hca)
{
    for (unsigned g = 0; g < w->inv->n_gpu; g++) {
        const enum ni_distance d = (enum ni_distance)w->plan->distance[g][hca];

        if (g != gpu && d != NI_DIST_UNKNOWN && d <= NI_DIST_PXB)
            return true;
    }
    return false;
}

void ni_put_taken(const struct ni_work *w, unsigned gpu, struct ni_text *t)
{
    const struct ni_taken *taken = &w->plan->taken[gpu];
    const char *between = "";

    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        if (!(taken->ports >> i & 1) || (!taken->fused && ni_chosen(w, i).port->hca != taken->hca))
            continue;
        ni_putf(t, "%s%s", between, ni_port_name(w->inv, ni_chosen(w, i).at).text);
        between = "+";
    }
}

/* Reports a GPU for which NCCL passes over its near HCA. */
static void note_far_nics(const struct ni_work *w)
{
    const enum ni_distance level = ni_gdr_level(w);
    int told = -1; /* the fused NIC that was reported last; one finding stands for all its GPUs */

    for (unsigned g = 0; g < w->inv->n_gpu; g++) {
        const struct ni_taken *taken = &w->plan->taken[g];
        const struct ni_near *near = &w->plan->nearest_hca[g];
        struct ni_text names = NI_TEXT(160);
        char bdf[NI_BDF_TEXT];

        if (ni_topo_file(w->inv) || taken->hca < 0 || near->index < 0 || near->distance > level ||
            taken->gdr <= level)
            continue;
        if (taken->fused && ni_findings_has(w->f, NI_F_USER_NICS_APART))
            continue;
        ni_put_taken(w, g, &names);
        ni_bdf_text(w->inv->gpu[g].bdf, bdf);
        if (taken->fused && taken->hca == told)
            continue;
        told = taken->fused ? taken->hca : told;
        if (taken->fused)
            ni_report(
                w->f, NI_F_USER_NICS_FUSED, "NCCL_NET_MERGE_LEVEL",
                "NCCL makes one NIC of %s, which is %s from GPU %s: no GPUDirect RDMA, though "
                "%s alone is %s",
                names.buf, ni_distance_text(taken->distance), bdf, w->inv->hca[near->index].name,
                ni_distance_text(near->distance));
        else if (!may_use_nvlink(w, g, taken->hca))
            ni_report(w->f, NI_F_GPU_HCA_PASSED_OVER, bdf,
                      "NCCL takes %s, which is faster, but %s from this GPU, and not %s (%s): no "
                      "GPUDirect RDMA",
                      names.buf, ni_distance_text(taken->distance), w->inv->hca[near->index].name,
                      ni_distance_text(near->distance));
    }
}

/* Switches GPUDirect RDMA off where wrong bytes came on a pair that NCCL uses: its switch is for all. */
static bool is_off_by_trial(const struct ni_work *w)
{
    char bdf[NI_BDF_TEXT];

    for (unsigned g = 0; g < w->inv->n_gpu; g++) {
        const uint32_t wrong = w->inv->gdr_tried.wrong[g] & ~w->inv->gdr_tried.far[g];

        if (wrong == 0)
            continue;
        const int port = w->plan->chosen[__builtin_ctz(wrong)];
        ni_decide_value(w, variable, "LOC", "tried: wrong bytes between GPU %s and %s",
                        ni_bdf_text(w->inv->gpu[g].bdf, bdf), ni_port_name(w->inv, port).text);
        return true;
    }
    return false;
}

void ni_rule_gdr(const struct ni_work *w)
{
    const struct ni_gdr *gdr = &w->inv->gdr;
    const char *value = NULL, *why = NULL;

    find_nearest(w);
    if (w->plan->n_chosen == 0)
        return;
    ni_find_nccl_nics(w);
    if (is_off_by_trial(w))
        return;
    /* without DMA-BUF an older peer memory module may serve */
    if (gdr->peermem != NI_KNOWN &&
        (!ni_has_dmabuf(w->inv) || ni_user_value(w, "NCCL_DMABUF_ENABLE")))
        w->plan->needs |= NI_NEED_ALL_GDR;
    if (w->policy->gdr != NI_DIST_UNKNOWN) {
        value = ni_distance_text(w->policy->gdr);
        why = w->policy->gdr == NI_DIST_LOC ? "--gdr=off: never" : "--gdr";
    } else if (gdr->gpus_lost) {
        why = "there are more GPU device nodes than listed GPUs";
    } else if (w->inv->n_gpu == 0) {
        why = "the pod has no GPU";
    } else if (gdr->cpu == NI_DENIED || gdr->cpu == NI_BAD) {
        why = "it cannot be read whether CPU and GPU are joined by NVLink-C2C";
    } else if (gdr->c2c && !gdr->gb10) {
        why = "CPU and GPU are joined by NVLink-C2C: a level below P2C would switch GPUDirect off "
              "there";
    } else if (ni_can_gdr(w, &why)) {
        decide_level(w);
        note_far_nics(w);
        return;
    }
    ni_decide_value(w, variable, value, "%s", why);
}
