/* SPDX-License-Identifier: Apache-2.0 */
/* The NICs that NCCL makes of the chosen ports, and those that it takes for each GPU. NCCL ranks
   bandwidth before distance: of all NICs it takes those with the fastest path to the GPU, and of
   these the nearest (2.30.7 graph/topo.cc ncclTopoGetLocal; the same in 2.18 to 2.32). A path is as
   fast as its slowest part: the port, each PCIe link, the link between two CPUs. Ports that it fuses
   are one NIC, at the switch or CPU that they share (ncclTopoMakeVNics, ncclTopoGetVNicParent).
   Over NVLink a GPU also takes a NIC through another GPU (PXN, graph/paths.cc ncclTopoComputePaths).
   Files do not show NVLink; the names of GPUs do where it joins each one with each other one. */
#include "rules/nccl_nics.h"

#include <string.h>

#include "nccl_init/base.h"
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
#include "rules/pci_quirks.h"

enum {
    NO_LIMIT = 1 << 20 /* of a part whose speed is not known; in units of 100 Mb/s, as all here */
};

/* One NIC in NCCL's eyes. */
struct nic {
    uint32_t ports;           /* bits of plan->chosen; the first one is the lowest */
    const struct ni_hca *hca; /* of the first */
    int hca_at;               /* in the inventory */
    int top;            /* index in the HCA's chain of the switch above the NIC; -1: the CPU */
    int64_t rate, link; /* of all ports together; of the NIC's own PCIe link */
    unsigned lanes;     /* of a fused NIC, also those of the switch above; 0: it is not fused */
    bool fused;
};

struct nics {
    struct nic at[NI_MAX_CHOSEN];
    unsigned n;
};

/* ---- fusing ---- */

/* Returns the distance up to which NCCL fuses ports; LOC: none, PIX and above as the user's level
   says, UNKNOWN: those of one card, its default. */
static enum ni_distance fuse_level(const struct ni_work *w)
{
    static const enum ni_distance levels[] = {NI_DIST_PIX, NI_DIST_PXB, NI_DIST_P2C,
                                              NI_DIST_PXN, NI_DIST_PHB, NI_DIST_SYS};
    const struct ni_setting *nics = ni_plan_get(w->plan, "NCCL_IB_MERGE_NICS");
    const struct ni_setting *s = ni_plan_get(w->plan, "NCCL_NET_MERGE_LEVEL");
    const char *level = s && s->value[0] ? s->value : ni_user_value(w, "NCCL_NET_MERGE_LEVEL");

    if ((nics && nics->origin == NI_FROM_RULE) || ni_user_int(w, "NCCL_IB_MERGE_NICS", 1) == 0)
        return NI_DIST_LOC;
    if (!level || ni_has_prefix(level, "PORT"))
        return NI_DIST_UNKNOWN;
    for (size_t i = 0; i < NI_COUNT(levels); i++) {
        if (ni_has_prefix(level, ni_distance_text(levels[i])))
            return levels[i];
    }
    return NI_DIST_LOC; /* an unknown word is LOC (graph/topo.cc kvConvertToInt, nicPathKvList) */
}

/* Returns true if NCCL fuses a port with the first one of a NIC. */
static bool is_fused(const struct ni_work *w, const struct nic *nic, const struct ni_chosen *c,
                     enum ni_distance level)
{
    const bool *lost = w->plan->no_place;

    if (level == NI_DIST_LOC)
        return false;
    if (c->hca == nic->hca || ni_is_one_place(w, nic->hca, c->hca))
        return true;
    if (level == NI_DIST_UNKNOWN || lost[nic->hca_at] || lost[c->port->hca])
        return false;
    const enum ni_distance d = ni_pci_distance(&nic->hca->pci, &c->hca->pci);
    /* two CPUs: the job dies, or has no network (nic.merge) */
    return d != NI_DIST_UNKNOWN && d <= level && d != NI_DIST_SYS;
}

/* Returns the index in a's chain of the lowest switch above both; -1: none. */
static int shared_switch(const struct ni_pci *a, const struct ni_pci *b)
{
    for (int i = a->depth - 3; i >= 0; i -= 2) {
        for (int j = b->depth - 3; j >= 0; j -= 2) {
            if (ni_bdf_cmp(a->at[i], b->at[j]) == 0)
                return i;
        }
    }
    return -1;
}

static int64_t link_of(const struct ni_pci *pci, int i)
{
    const struct ni_lanes *l = &pci->link[i];

    return l->n > 0 ? (int64_t)l->n * l->each : NO_LIMIT;
}

/* Returns the lanes of the narrowest link from a port up to the switch at index top. */
static unsigned narrowest(const struct ni_pci *pci, int top)
{
    unsigned lanes = 0;

    for (int i = pci->depth - 1; i > top; i -= 2) {
        if (pci->link[i].n > 0 && (lanes == 0 || pci->link[i].n < lanes))
            lanes = pci->link[i].n;
    }
    return lanes;
}

/* Adds a port to a NIC. Ports of one place share its link; others get a made-up function below the
   switch or CPU that they share, with all their lanes (ncclTopoFindLinkWidth). */
static void fuse(const struct ni_work *w, struct nic *nic, const struct ni_chosen *c, unsigned i)
{
    nic->ports |= UINT32_C(1) << i;
    nic->rate += c->port->mbps.known == NI_KNOWN ? c->port->mbps.v / 100 : 0;
    nic->fused = true;
    if (c->hca == nic->hca || ni_is_one_place(w, nic->hca, c->hca))
        return;
    const int shared = shared_switch(&nic->hca->pci, &c->hca->pci);
    if (shared < nic->top)
        nic->top = shared;
    if (nic->lanes == 0)
        nic->lanes = narrowest(&nic->hca->pci, nic->top);
    nic->lanes += narrowest(&c->hca->pci, shared_switch(&c->hca->pci, &nic->hca->pci));
    const struct ni_lanes *first = &nic->hca->pci.link[nic->hca->pci.depth - 1];
    nic->link = nic->lanes > 0 && first->each > 0 ? (int64_t)nic->lanes * first->each : NO_LIMIT;
}

/* Returns the NIC of a port alone. ports: its bit. */
static struct nic single_nic(const struct ni_work *w, const struct ni_port *port, uint32_t ports)
{
    const struct ni_hca *h = &w->inv->hca[port->hca];
    const struct ni_pci *pci = &h->pci;
    struct nic nic = {
        .ports = ports,
        .hca = h,
        .hca_at = port->hca,
        .top = pci->depth - 3,
        .link = NO_LIMIT,
    };

    if (port->mbps.known == NI_KNOWN)
        nic.rate = port->mbps.v / 100;
    if (pci->known == NI_KNOWN)
        nic.link = link_of(pci, pci->depth - 1);
    return nic;
}

/* Makes the NICs, in the order of the ports: each takes the ports after it within the level. */
static void make_nics(const struct ni_work *w, struct nics *ret)
{
    const enum ni_distance level = fuse_level(w);
    uint32_t placed = 0;

    ret->n = 0;
    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        const struct ni_chosen c = ni_chosen(w, i);

        if (placed >> i & 1 || ni_lacks_uverbs(&c.hca->uverbs))
            continue;
        struct nic *nic = &ret->at[ret->n++];
        *nic = single_nic(w, c.port, UINT32_C(1) << i);
        for (unsigned k = i + 1; k < w->plan->n_chosen; k++) {
            const struct ni_chosen other = ni_chosen(w, k);

            if (placed >> k & 1 || ni_lacks_uverbs(&other.hca->uverbs) ||
                __builtin_popcount(nic->ports) == NI_MAX_FUSED || !is_fused(w, nic, &other, level))
                continue;
            fuse(w, nic, &other, k);
            placed |= UINT32_C(1) << k;
        }
    }
}

/* ---- the path between a GPU and a NIC ---- */

struct path {
    enum ni_distance distance;
    int64_t speed;
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Returns what NCCL takes for the link between two CPUs (2.30.7 graph/topo.cc
   ncclTopoGetInterCpuBw, graph/topo.h). Of an unknown CPU the slowest. */
static int64_t between_cpus(const struct ni_cpu *cpu)
{
    enum { SLOWEST = 480, AMD = 1280, SKYLAKE = 800, SAPPHIRE = 1760, EMERALD = 3200 };

    if (strcmp(cpu->vendor, "AuthenticAMD") == 0)
        return AMD;
    if (strcmp(cpu->vendor, "GenuineIntel") != 0 || cpu->family != 6)
        return SLOWEST;
    if (cpu->model >= 0xcf)
        return EMERALD;
    if (cpu->model >= 0x8f)
        return SAPPHIRE;
    return cpu->model >= 0x55 ? SKYLAKE : SLOWEST;
}

/* Returns the slowest link of a chain from index `from` up to the function at `to`, which does not
   count. */
static int64_t climb(const struct ni_pci *pci, int from, int to)
{
    int64_t speed = NO_LIMIT;

    for (int i = from; i >= 0 && i > to; i -= 2)
        speed = least(speed, link_of(pci, i));
    return speed;
}

/* Returns the path to a NIC that NCCL places elsewhere than sysfs does: below the first CPU, or at
   its Data Direct function. Its links are not known. */
static struct path path_elsewhere(const struct ni_work *w, const struct nic *nic, unsigned gpu)
{
    const struct ni_pci *g = &w->inv->gpu[gpu].pci;
    struct path p = {(enum ni_distance)w->plan->distance[gpu][nic->hca_at], nic->rate};

    p.speed = least(p.speed, climb(g, g->depth - 1, p.distance <= NI_DIST_PXB ? 0 : -1));
    return p;
}

static struct path find_path(const struct ni_work *w, const struct nic *nic, unsigned gpu)
{
    const struct ni_pci *g = &w->inv->gpu[gpu].pci, *h = &nic->hca->pci;
    const enum ni_distance own = (enum ni_distance)w->plan->distance[gpu][nic->hca_at];
    struct path p = {own, least(nic->rate, nic->link)};

    if (own == NI_DIST_UNKNOWN || (!nic->fused && own != ni_pci_distance(h, g)))
        return path_elsewhere(w, nic, gpu);
    for (int i = nic->top; i >= 0; i -= 2) {
        for (int j = g->depth - 3; j >= 0; j -= 2) {
            if (ni_bdf_cmp(h->at[i], g->at[j]) != 0)
                continue;
            p.distance = i == nic->top && j == g->depth - 3 ? NI_DIST_PIX : NI_DIST_PXB;
            p.speed = least(p.speed, climb(h, nic->top, i));
            p.speed = least(p.speed, climb(g, g->depth - 1, j));
            return p;
        }
    }
    p.speed = least(p.speed, climb(h, nic->top, -1));
    p.speed = least(p.speed, climb(g, g->depth - 1, -1));
    if (g->numa.known != NI_KNOWN || h->numa.known != NI_KNOWN)
        p.distance = NI_DIST_UNKNOWN;
    else if (g->numa.v == h->numa.v)
        p.distance = NI_DIST_PHB;
    else {
        p.distance = NI_DIST_SYS;
        p.speed = least(p.speed, between_cpus(&w->inv->cpu));
    }
    return p;
}

/* ---- the way through another GPU ---- */

/* Returns true if the name is that of a module of which all on a board are joined by NVLink, by
   switches or directly: SXM since A100. Of those without the word the README of
   NVIDIA/open-gpu-kernel-modules (570) has the names. V100 and bridged PCIe cards reach some only. */
static bool is_module(const char *model)
{
    static const char *const names[] = {
        "NVIDIA H100", "NVIDIA H100 80GB HBM3", "NVIDIA H20",  "NVIDIA H20-3e",
        "NVIDIA H200", "NVIDIA H800",           "NVIDIA B200",
    };

    for (size_t i = 0; i < NI_COUNT(names); i++) {
        if (strcmp(model, names[i]) == 0)
            return true;
    }
    return ni_has_prefix(model, "NVIDIA ") && strstr(model, "SXM");
}

bool ni_may_use_pxn(const struct ni_work *w)
{
    const char *level = ni_user_value(w, "NCCL_P2P_LEVEL");
    const bool apart = level && (ni_has_prefix(level, "LOC") || ni_has_prefix(level, "0"));

    return w->inv->n_gpu > 1 && !apart && ni_user_int(w, "NCCL_PXN_DISABLE", 0) == 0 &&
           ni_user_int(w, "NCCL_P2P_DISABLE", 0) == 0;
}

bool ni_has_nvlink(const struct ni_work *w)
{
    if (w->inv->gdr.c2c || !ni_may_use_pxn(w))
        return false;
    for (unsigned g = 0; g < w->inv->n_gpu; g++) {
        const struct ni_gpu *gpu = &w->inv->gpu[g];

        if (gpu->amd || !is_module(gpu->model))
            return false;
    }
    return true;
}

/* Returns the path to a NIC of the GPU that the others go through, the nearest of those with the
   fastest path; distance UNKNOWN: none, because it is beyond PXB, or takes other NICs itself
   (graph/topo.cc ncclTopoGetLocalGpu). */
static struct path find_relay(const struct ni_work *w, const struct nic *nic)
{
    struct path best = {NI_DIST_UNKNOWN, -1};
    bool taken = false;

    for (unsigned g = 0; g < w->inv->n_gpu; g++) {
        const struct path p = find_path(w, nic, g);

        if (p.distance == NI_DIST_UNKNOWN || p.speed < best.speed ||
            (p.speed == best.speed && p.distance > best.distance))
            continue;
        if (p.speed > best.speed || p.distance < best.distance)
            taken = false;
        best = p;
        taken = taken || (w->plan->taken[g].ports & nic->ports) != 0;
    }
    if (!taken || best.distance > NI_DIST_PXB)
        best.distance = NI_DIST_UNKNOWN;
    return best;
}

/* ---- the NICs of a GPU ---- */

/* Takes the fastest NICs, and of these the nearest. One whose place is not known is not compared.
   relays: of each NIC; NULL: no NVLink. */
static void take_nics(const struct ni_work *w, const struct nics *nics, const struct path *relays,
                      unsigned gpu)
{
    struct ni_taken *t = &w->plan->taken[gpu];
    struct path best = {NI_DIST_UNKNOWN, -1};
    uint32_t unplaced = 0;

    *t = (struct ni_taken){.hca = -1};
    for (unsigned i = 0; i < nics->n; i++) {
        const struct nic *nic = &nics->at[i];
        struct path p = find_path(w, nic, gpu);
        enum ni_distance gdr = p.distance;

        if (relays && relays[i].distance != NI_DIST_UNKNOWN &&
            (relays[i].speed > p.speed || p.distance > NI_DIST_PXN)) {
            p = (struct path){NI_DIST_PXN, relays[i].speed};
            gdr = relays[i].distance;
        }
        if (p.distance == NI_DIST_UNKNOWN) {
            unplaced |= nic->ports;
            continue;
        }
        if (p.distance == NI_DIST_SYS && w->inv->read & NI_NEED_LINKS)
            w->plan->needs |= NI_NEED_CPU;
        if (p.speed > best.speed || (p.speed == best.speed && p.distance < best.distance)) {
            best = p;
            *t = (struct ni_taken){
                .hca = nic->hca_at, .distance = p.distance, .gdr = gdr, .speed = p.speed};
        }
        if (p.speed != best.speed)
            continue;
        t->as_fast |= nic->ports;
        if (p.distance == best.distance) {
            t->ports |= nic->ports;
            t->fused = t->fused || nic->fused;
            t->gdr = gdr > t->gdr ? gdr : t->gdr;
        }
    }
    t->as_fast |= unplaced; /* any of them may be */
}

void ni_want_bandwidth(const struct ni_work *w)
{
    w->plan->needs |= NI_NEED_RATES | NI_NEED_LINKS | NI_NEED_NUMA | NI_NEED_PFS;
    if (w->inv->n_gpu > 1)
        w->plan->needs |= NI_NEED_GPU_IDS;
}

void ni_find_nccl_nics(const struct ni_work *w)
{
    struct path relays[NI_MAX_CHOSEN];
    struct nics nics;

    make_nics(w, &nics);
    for (unsigned g = 0; g < w->inv->n_gpu; g++)
        take_nics(w, &nics, NULL, g);
    if (!(w->inv->read & NI_NEED_RATES) || !ni_has_nvlink(w))
        return;
    for (unsigned i = 0; i < nics.n; i++)
        relays[i] = find_relay(w, &nics.at[i]);
    for (unsigned g = 0; g < w->inv->n_gpu; g++)
        take_nics(w, &nics, relays, g);
}

bool ni_would_be_taken(const struct ni_work *w, const struct ni_port *port)
{
    const struct nic nic = single_nic(w, port, 0);

    for (unsigned g = 0; g < w->inv->n_gpu; g++) {
        const struct ni_taken *t = &w->plan->taken[g];
        const struct path p = find_path(w, &nic, g);

        if (t->hca < 0 || p.distance == NI_DIST_UNKNOWN || p.speed > t->speed ||
            (p.speed == t->speed && p.distance <= t->distance))
            return true;
    }
    return w->inv->n_gpu == 0;
}
