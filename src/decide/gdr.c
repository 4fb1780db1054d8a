/* SPDX-License-Identifier: Apache-2.0 */
/* gdr.level: NCCL_NET_GDR_LEVEL, how far a GPU may be from the HCA that reads its memory. Unset,
   NCCL stops at PXB, so that a GPU behind the CPU loses GPUDirect (NCCL 2.30.7 graph/paths.cc
   ncclTopoCheckGdr). */
#include "rule.h"

static const char variable[] = "NCCL_NET_GDR_LEVEL";

/* ---- distances ---- */

/* How far NCCL counts. What it has no place for it hangs below the first CPU it knows (graph/xml.cc
   ncclTopoFillNet), that of the first GPU; but 2.24.3 to 2.26.6 take a VF where it is
   (transport/net_ib.cc ncclIbGetPciPath). SoftRoCE has no GPUDirect, and no distance. */
static enum ni_distance own_distance(const struct ni_work *w, unsigned hca, unsigned gpu)
{
    const struct ni_hca *h = &w->inv->hca[hca];
    const struct ni_pci *g = &w->inv->gpu[gpu].pci;
    const struct ni_num *numa = &g->numa, *first = &w->inv->gpu[0].pci.numa;
    const enum ni_distance there = ni_pci_distance(&h->pci, g);
    if (h->pci.none || !w->plan->no_place[hca])
        return there;
    if (numa->known != NI_KNOWN || first->known != NI_KNOWN)
        return NI_DIST_UNKNOWN;
    if (numa->v != first->v)
        return NI_DIST_SYS;
    return h->aux[0] || (there != NI_DIST_UNKNOWN && there < NI_DIST_PHB) ? NI_DIST_PHB : there;
}

/* An HCA with a Data Direct function counts where that is; with NCCL_IB_DATA_DIRECT=2 NCCL takes both
   places, with 0 only the HCA's own. */
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

/* The nearest to each GPU of the HCAs that NCCL will use, or, where none opens, of those that it is
   told to. */
static void find_nearest(const struct ni_work *w)
{
    const struct ni_inventory *inv = w->inv;
    bool chosen[NI_MAX_HCA] = {false}, opens[NI_MAX_HCA] = {false}, any_opens = false;
    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        const int h = ni_chosen(w, i).port->hca;
        chosen[h] = true;
        opens[h] = !ni_lacks_node(&inv->hca[h].uverbs);
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
            w->plan->wants |= NI_WANT_NUMA | NI_WANT_DATA_DIRECT;
    }
}

/* ---- whether at all ---- */

bool ni_can_gdr(const struct ni_work *w, const char **ret_why)
{
    const struct ni_inventory *inv = w->inv;
    const char *dmabuf = ni_user_value(w, "NCCL_DMABUF_ENABLE");
    const bool off = ni_user_int(w, "NCCL_DMABUF_ENABLE", 1) == 0;
    *ret_why = NULL;
    if (inv->gdr.listed == NI_ABSENT && (off || !ni_has_dmabuf(inv)))
        ni_report(w->f, NI_F_GDR_PEERMEM_HIDDEN, "nvidia_peermem",
                  "nvidia-peermem is loaded, but not listed in /sys/kernel/mm/memory_peers: NCCL "
                  "before 2.23.4 says `GPU Direct RDMA Disabled`");
    if (inv->gdr.peermem == NI_KNOWN)
        return true;
    if (off) {
        *ret_why = "NCCL_DMABUF_ENABLE=0 and no peer memory module";
        ni_report(w->f, NI_F_GDR_DMABUF_OFF, "NCCL_DMABUF_ENABLE",
                  "DMA-BUF is off, and no peer memory module is loaded");
        return false;
    }
    if (inv->gpu[0].amd && (!dmabuf || !*dmabuf))
        ni_report(w->f, NI_F_GDR_DMABUF_RCCL, "NCCL_DMABUF_ENABLE",
                  "no peer memory module (amdkfd) is there, and RCCL before ROCm 7.12 leaves "
                  "DMA-BUF off");
    if (inv->gpu[0].amd || ni_has_dmabuf(inv))
        return true;
    *ret_why = "neither nvidia-peermem nor DMA-BUF (open GPU kernel modules, kernel 5.12) is there";
    ni_report(w->f, NI_F_GDR_UNAVAILABLE, variable,
              "nvidia-peermem %s, open GPU kernel modules %s, kernel %u.%u",
              ni_known_text(inv->gdr.peermem), ni_known_text(inv->gdr.open_driver),
              inv->self.kernel_major, inv->self.kernel_minor);
    return false;
}

/* ---- the level ---- */

/* The level that lets each GPU reach its nearest HCA, at least NCCL's own. */
static void decide_level(const struct ni_work *w)
{
    const struct ni_inventory *inv = w->inv;
    const struct ni_near *near = w->plan->nearest_hca;
    unsigned farthest = 0;
    char bdf[NI_BDF_TEXT];
    for (unsigned g = 0; g < inv->n_gpu; g++) {
        /* without a root port above the GPU the tree is flat, as virtualisation shows it */
        if (inv->gpu[g].pci.known != NI_KNOWN || inv->gpu[g].pci.depth != 1)
            continue;
        ni_decide_value(w, variable, "SYS",
                        "GPU %s is on the root bus: the PCI tree is flattened, distances mean "
                        "nothing",
                        ni_bdf_text(inv->gpu[g].bdf, bdf));
        return;
    }
    ni_want_numa(w);
    for (unsigned g = 0; g < inv->n_gpu; g++) {
        const struct ni_hca *unknown = NULL; /* may be nearer than what is beyond PXB */
        for (unsigned i = 0; i < w->plan->n_chosen; i++) {
            const struct ni_chosen c = ni_chosen(w, i);
            /* SoftRoCE, which has no place, is not near to anything */
            if (w->plan->distance[g][c.port->hca] == NI_DIST_UNKNOWN && !c.hca->pci.none)
                unknown = c.hca;
        }
        if (unknown && (near[g].index < 0 ? inv->gpu[g].pci.known == NI_KNOWN
                                          : near[g].distance > NI_DIST_PXB)) {
            ni_decide_value(w, variable, NULL,
                            "where %s sits on the PCI tree is not known: it may be the nearest",
                            unknown->name);
            return;
        }
        if (near[g].index < 0) {
            ni_decide_value(w, variable, NULL, "where GPU %s sits on the PCI tree is %s",
                            ni_bdf_text(inv->gpu[g].bdf, bdf),
                            ni_known_text(inv->gpu[g].pci.known));
            return;
        }
        farthest = near[g].distance > near[farthest].distance ? g : farthest;
    }
    near += farthest;
    const struct ni_hca *h = &inv->hca[near->index];
    char direct[NI_BDF_TEXT];
    const bool through = h->data_direct.known == NI_KNOWN;

    if (through)
        ni_bdf_text(h->data_direct.at[h->data_direct.depth - 1], direct);
    ni_decide_value(
        w, variable, ni_distance_text(near->distance > NI_DIST_PXB ? near->distance : NI_DIST_PXB),
        "lets each GPU reach its nearest HCA (farthest: %s to %s, %s%s%s)",
        ni_bdf_text(inv->gpu[farthest].bdf, bdf), h->name, ni_distance_text(near->distance),
        through ? "; its Data Direct function is " : "", through ? direct : "");
}

void ni_rule_gdr(const struct ni_work *w)
{
    const struct ni_gdr *gdr = &w->inv->gdr;
    const char *value = NULL, *why = NULL;
    find_nearest(w);
    if (w->plan->n_chosen == 0)
        return;
    /* without DMA-BUF older peer memory modules count */
    if (gdr->peermem != NI_KNOWN &&
        (!ni_has_dmabuf(w->inv) || ni_user_value(w, "NCCL_DMABUF_ENABLE")))
        w->plan->wants |= NI_WANT_ALL_GDR;
    if (w->policy->gdr != NI_DIST_UNKNOWN) {
        value = ni_distance_text(w->policy->gdr);
        why = w->policy->gdr == NI_DIST_LOC ? "--gdr=off: never" : "--gdr";
    } else if (gdr->gpus_lost) {
        why = "fewer GPUs are listed than there are device nodes";
    } else if (w->inv->n_gpu == 0) {
        why = "the pod has no GPU";
    } else if (gdr->cpu == NI_DENIED || gdr->cpu == NI_BAD) {
        why = "whether CPU and GPU share NVLink-C2C cannot be read";
    } else if (gdr->gb10) {
        why = "a GB10 has no GPUDirect RDMA: CPU and GPU share one memory";
    } else if (gdr->c2c) {
        why = "CPU and GPU share NVLink-C2C: a level below P2C would switch C2C GPUDirect off";
    } else if (ni_can_gdr(w, &why)) {
        decide_level(w);
        return;
    }
    ni_decide_value(w, variable, value, "%s", why);
}
