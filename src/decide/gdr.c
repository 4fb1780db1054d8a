/* SPDX-License-Identifier: Apache-2.0 */
/* gdr.level: NCCL_NET_GDR_LEVEL, how far a GPU may be from the HCA that reads its memory. Unset,
   NCCL stops at PXB, so that a GPU behind the CPU loses GPUDirect (NCCL 2.30.7 graph/paths.cc
   ncclTopoCheckGdr). */
#include "rule.h"

static const char variable[] = "NCCL_NET_GDR_LEVEL";

/* ---- distances ---- */

static enum ni_distance farther(enum ni_distance a, enum ni_distance b)
{
    return a > b ? a : b;
}

/* How far NCCL counts. What it has no place for it hangs below the first CPU it knows (graph/xml.cc
   ncclTopoFillNet), that of the first GPU; but 2.24.3 to 2.26.6 take a VF where it is
   (transport/net_ib.cc ncclIbGetPciPath). SoftRoCE has no GPUDirect, and no distance. */
static enum ni_distance distance(const struct ni_facts *facts, const struct ni_plan *plan,
                                 const struct ni_hca *h, const struct ni_gpu *g)
{
    const struct ni_num *numa = &g->pci.numa, *first = &facts->inv->gpu[0].pci.numa;
    const enum ni_distance there = ni_pci_distance(&h->pci, &g->pci);
    if (h->pci.none || !ni_has_no_place(facts, plan, h))
        return there;
    if (numa->known != NI_KNOWN || first->known != NI_KNOWN)
        return NI_DIST_UNKNOWN;
    const enum ni_distance lost = numa->v == first->v ? NI_DIST_PHB : NI_DIST_SYS;
    if (h->aux[0] || lost == NI_DIST_SYS)
        return lost;
    return there == NI_DIST_UNKNOWN ? there : farther(there, lost);
}

static void take_nearer(struct ni_near *near, unsigned index, enum ni_distance d)
{
    if (d != NI_DIST_UNKNOWN && (near->index < 0 || d < near->distance))
        *near = (struct ni_near){(int)index, d};
}

/* The nearest GPU of each HCA; the nearest of each GPU's HCAs that NCCL will use, or, where none
   opens, of those that it is told to. */
static void find_nearest(const struct ni_facts *facts, struct ni_plan *plan)
{
    const struct ni_inventory *inv = facts->inv;
    const bool fused = ni_user_value(facts, "NCCL_NET_MERGE_LEVEL");
    if (fused)
        plan->wants |= NI_WANT_NUMA; /* which NICs NCCL fuses, and where these hang */
    bool chosen[NI_MAX_HCA] = {false}, opens[NI_MAX_HCA] = {false}, any_opens = false;
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        const int h = ni_chosen_port(facts, plan, i)->hca;
        chosen[h] = true;
        opens[h] = !ni_lacks_node(&inv->hca[h].uverbs);
        any_opens = any_opens || opens[h];
    }
    for (unsigned h = 0; h < inv->n_hca; h++) {
        for (unsigned g = 0; g < inv->n_gpu; g++) {
            enum ni_distance d = distance(facts, plan, &inv->hca[h], &inv->gpu[g]);
            /* a fused NIC hangs where its HCAs meet (graph/topo.cc ncclTopoMakePciParent) */
            for (unsigned k = 0; fused && d != NI_DIST_UNKNOWN && chosen[h] && k < inv->n_hca;
                 k++) {
                if (chosen[k] && ni_may_fuse(facts, plan, &inv->hca[h], &inv->hca[k]))
                    d = farther(d, distance(facts, plan, &inv->hca[k], &inv->gpu[g]));
            }
            plan->distance[g][h] = (uint8_t)d;
            take_nearer(&plan->nearest_gpu[h], g, d);
            if (chosen[h] && (opens[h] || !any_opens))
                take_nearer(&plan->nearest_hca[g], h, d);
        }
    }
}

void ni_want_numa(const struct ni_facts *facts, struct ni_plan *plan)
{
    for (unsigned g = 0; g < facts->inv->n_gpu; g++) {
        const struct ni_near *near = &plan->nearest_hca[g];
        if (near->index < 0 || near->distance > NI_DIST_PXB)
            plan->wants |= NI_WANT_NUMA;
    }
}

/* ---- whether at all ---- */

bool ni_can_gdr(const struct ni_facts *facts, struct ni_findings *f, const char **ret_why)
{
    const struct ni_inventory *inv = facts->inv;
    const char *dmabuf = ni_user_value(facts, "NCCL_DMABUF_ENABLE");
    const bool off = dmabuf && *dmabuf && ni_user_int(facts, "NCCL_DMABUF_ENABLE", 1) == 0;
    *ret_why = NULL;
    if (inv->gdr.listed == NI_ABSENT && (off || !ni_has_dmabuf(inv)))
        ni_report(f, NI_F_GDR_PEERMEM_HIDDEN, "nvidia_peermem",
                  "nvidia-peermem is loaded, but not listed in /sys/kernel/mm/memory_peers: NCCL "
                  "before 2.23.4 says `GPU Direct RDMA Disabled`");
    if (inv->gdr.peermem == NI_KNOWN)
        return true;
    if (off) {
        *ret_why = "NCCL_DMABUF_ENABLE=0 and no peer memory module";
        ni_report(f, NI_F_GDR_DMABUF_OFF, "NCCL_DMABUF_ENABLE",
                  "DMA-BUF is switched off and no peer memory module is loaded: every byte goes "
                  "through host memory");
        return false;
    }
    if (inv->gpu[0].amd && (!dmabuf || !*dmabuf))
        ni_report(f, NI_F_GDR_DMABUF_RCCL, "NCCL_DMABUF_ENABLE",
                  "no peer memory module (amdkfd) is there, and RCCL before ROCm 7.12 leaves "
                  "DMA-BUF off: every byte goes through host memory");
    if (inv->gpu[0].amd || ni_has_dmabuf(inv))
        return true;
    *ret_why = "neither nvidia-peermem nor DMA-BUF (open GPU kernel modules, kernel 5.12) is there";
    ni_report(f, NI_F_GDR_UNAVAILABLE, variable,
              "nvidia-peermem %s, open GPU kernel modules %s, kernel %u.%u",
              ni_known_text(inv->gdr.peermem), ni_known_text(inv->gdr.open_driver),
              inv->self.kernel_major, inv->self.kernel_minor);
    return false;
}

/* ---- the level ---- */

/* A chosen HCA whose distance to a GPU is not known, though it may be nearer than what is beyond
   PXB. What has no place, SoftRoCE, is not near to anything. NULL: none. */
static const struct ni_hca *hca_without_distance(const struct ni_facts *facts,
                                                 const struct ni_plan *plan)
{
    for (unsigned g = 0; g < facts->inv->n_gpu; g++) {
        const struct ni_near *near = &plan->nearest_hca[g];
        const bool far = near->index < 0 ? facts->inv->gpu[g].pci.known == NI_KNOWN
                                         : near->distance > NI_DIST_PXB;
        for (unsigned i = 0; far && i < plan->n_chosen; i++) {
            const int h = ni_chosen_port(facts, plan, i)->hca;
            if (plan->distance[g][h] == NI_DIST_UNKNOWN && !facts->inv->hca[h].pci.none)
                return &facts->inv->hca[h];
        }
    }
    return NULL;
}

/* The level that lets each GPU reach its nearest HCA, at least NCCL's own. */
static void decide_level(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f)
{
    const struct ni_inventory *inv = facts->inv;
    const struct ni_hca *h = hca_without_distance(facts, plan);
    const struct ni_near *near = plan->nearest_hca;
    unsigned farthest = 0;
    char bdf[NI_BDF_TEXT];
    for (unsigned g = 0; g < inv->n_gpu; g++) {
        /* without a root port above the GPU the tree is flat, as virtualisation shows it */
        if (inv->gpu[g].pci.known != NI_KNOWN || inv->gpu[g].pci.depth != 1)
            continue;
        ni_decide_value(facts, plan, f, variable, "SYS",
                        "GPU %s is on the root bus: the PCI tree is flattened, distances mean "
                        "nothing",
                        ni_bdf_text(inv->gpu[g].bdf, bdf));
        return;
    }
    ni_want_numa(facts, plan);
    if (h) {
        ni_decide_value(facts, plan, f, variable, NULL,
                        "where %s sits on the PCI tree is not known: it may be the nearest",
                        h->name);
        return;
    }
    for (unsigned g = 0; g < inv->n_gpu; g++) {
        if (near[g].index < 0) {
            ni_decide_value(
                facts, plan, f, variable, NULL, "where GPU %s sits on the PCI tree is %s",
                ni_bdf_text(inv->gpu[g].bdf, bdf), ni_known_text(inv->gpu[g].pci.known));
            return;
        }
        farthest = near[g].distance > near[farthest].distance ? g : farthest;
    }
    near += farthest;
    ni_decide_value(facts, plan, f, variable,
                    ni_distance_text(near->distance > NI_DIST_PXB ? near->distance : NI_DIST_PXB),
                    "lets each GPU reach its nearest HCA (farthest: %s to %s, %s)",
                    ni_bdf_text(inv->gpu[farthest].bdf, bdf), inv->hca[near->index].name,
                    ni_distance_text(near->distance));
}

static void gdr(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f)
{
    const struct ni_inventory *inv = facts->inv;
    const struct ni_policy *policy = facts->policy;
    const char *value = NULL, *why = NULL;
    find_nearest(facts, plan);
    if (plan->n_chosen == 0)
        return;
    /* without DMA-BUF older peer memory modules count */
    if (inv->gdr.peermem != NI_KNOWN &&
        (!ni_has_dmabuf(inv) || ni_user_value(facts, "NCCL_DMABUF_ENABLE")))
        plan->wants |= NI_WANT_ALL_GDR;
    if (policy->gdr == NI_GDR_OFF) {
        value = "LOC";
        why = "--gdr=off: never";
    } else if (policy->gdr == NI_GDR_LEVEL) {
        value = ni_distance_text(policy->gdr_level);
        why = "--gdr";
    } else if (inv->gdr.gpus_lost) {
        why = "fewer GPUs are listed than there are device nodes";
    } else if (inv->n_gpu == 0) {
        why = "the pod has no GPU";
    } else if (inv->gdr.cpu == NI_DENIED || inv->gdr.cpu == NI_BAD) {
        why = "whether CPU and GPU share NVLink-C2C cannot be read";
    } else if (inv->gdr.gb10) {
        why = "a GB10 has no GPUDirect RDMA: CPU and GPU share one memory";
    } else if (inv->gdr.c2c) {
        why = "CPU and GPU share NVLink-C2C: a level below P2C would switch C2C GPUDirect off";
    } else if (ni_can_gdr(facts, f, &why)) {
        decide_level(facts, plan, f);
        return;
    }
    ni_decide_value(facts, plan, f, variable, value, "%s", why);
}

const struct ni_rule ni_rule_gdr = {"gdr.level", "GPUs, PCI tree, peermem, DMA-BUF", variable, gdr,
                                    false};
