/* SPDX-License-Identifier: Apache-2.0 */
/* The rule gpu.hcas: the chosen ports that each GPU is to use, for libraries and launchers that
   do not choose. NCCL chooses for itself. Also the GPU of this process, if a launcher started it
   as one of several on the node. */
#include "rules/gpu_hcas.h"

#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/env.h"
#include "nccl_init/gpu.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/number.h"
#include "nccl_init/pci.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "rules/chosen.h"
#include "rules/decide.h"
#include "rules/gdr.h"
#include "rules/hca_node.h"

/* ---- which ports ---- */

/* Returns the ports nearest to a GPU whose HCAs open, by the PCI tree: where NCCL places an HCA
   does not matter to other libraries. nccl: only ports with the fastest path count. None if an HCA
   whose distance is not known might be nearer, or on the root bus, where the tree is flat. */
static uint32_t nearest_ports(const struct ni_work *w, unsigned gpu, bool nccl,
                              enum ni_distance *ret)
{
    const struct ni_pci *pci = &w->inv->gpu[gpu].pci;
    const struct ni_taken *taken = &w->plan->taken[gpu];
    const uint32_t fast = nccl && taken->hca >= 0 ? taken->as_fast : UINT32_MAX;
    uint32_t bits = 0;
    bool unknown = false;

    *ret = NI_DIST_UNKNOWN;
    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        const struct ni_hca *h = ni_chosen(w, i).hca;
        const bool flat = pci->known != NI_KNOWN || pci->depth == 1 || h->pci.none;
        const enum ni_distance d = flat ? NI_DIST_UNKNOWN : ni_pci_distance(&h->pci, pci);

        if (ni_lacks_uverbs(&h->uverbs) || !(fast >> i & 1))
            continue;
        unknown |= d == NI_DIST_UNKNOWN;
        if (d == NI_DIST_UNKNOWN || (bits && d > *ret))
            continue;
        bits = (bits && d == *ret ? bits : 0) | UINT32_C(1) << i;
        *ret = d;
    }
    return unknown && *ret > NI_DIST_PXB ? 0 : bits;
}

/* Takes the ports out that were slow or wrong when they were tried with this GPU, if others are left. */
static uint32_t without_bad(const struct ni_work *w, unsigned gpu, uint32_t ports)
{
    const struct ni_gdr_tried *tried = &w->inv->gdr_tried;
    const uint32_t good = ports & ~(tried->wrong[gpu] | tried->slow[gpu]);

    return good != 0 ? good : ports;
}

uint32_t ni_bad_ports(const struct ni_work *w, unsigned gpu, uint32_t *near)
{
    enum ni_distance at;

    *near = w->inv->gdr.gpus_lost ? 0 : nearest_ports(w, gpu, false, &at);
    return *near & ~without_bad(w, gpu, *near);
}

/* Gives each GPU one of its nearest ports, the one that the fewest GPUs were given so far; then
   those of its nearest ports that no GPU was given. GPUs that are nearer to their ports choose
   first, since a GPU that is far from all has more to choose from. */
void ni_rule_gpu_hcas(const struct ni_work *w)
{
    uint32_t near[NI_MAX_GPU], own[NI_MAX_GPU] = {0}, taken = 0;
    uint8_t n_given[NI_MAX_CHOSEN] = {0};
    enum ni_distance at[NI_MAX_GPU];
    const bool nccl = !(w->policy->targets & NI_FOR_BY_GPU); /* no other library asks */

    if (w->inv->gdr.gpus_lost || w->plan->n_chosen == 0 ||
        !(w->policy->gpu_map || w->policy->targets & NI_FOR_BY_GPU))
        return;
    ni_want_numa(w);
    for (unsigned g = 0; g < w->inv->n_gpu; g++)
        near[g] = without_bad(w, g, nearest_ports(w, g, nccl, &at[g]));
    for (enum ni_distance d = NI_DIST_PIX; d <= NI_DIST_SYS; d++) {
        for (unsigned g = 0; g < w->inv->n_gpu; g++) {
            if (!near[g] || at[g] != d)
                continue;
            unsigned least = (unsigned)__builtin_ctz(near[g]);
            for (unsigned i = least; i < w->plan->n_chosen; i++) {
                if (near[g] >> i & 1 && n_given[i] < n_given[least])
                    least = i;
            }
            n_given[least]++;
            own[g] = UINT32_C(1) << least;
            taken |= own[g];
        }
    }
    for (unsigned g = 0; g < w->inv->n_gpu; g++)
        w->plan->gpu_ports[g] = near[g] ? (near[g] & ~taken) | own[g] : 0;
}

/* ---- which GPU ---- */

/* The GPUs that CUDA or HIP shows to this process, in its order; -1: it is not known which one. */
struct visible {
    int gpu[NI_MAX_GPU];
    unsigned n;
    bool by_number; /* GPUs are named by numbers, in the order of CUDA_DEVICE_ORDER */
};

/* Keeps only the GPUs of the list: numbers, or "GPU-" with the beginning of a UUID; "MIG-UUID" does
   not show its GPU. The list ends at the first entry that means no GPU (CUDA C++ Programming Guide,
   CUDA_VISIBLE_DEVICES). */
static void narrow(const struct ni_work *w, struct visible *v, const char *list)
{
    const struct visible from = *v;
    struct ni_span item;
    uint64_t k;

    v->n = 0;
    v->by_number = false;
    while (v->n < NI_MAX_GPU && ni_split(&list, ',', &item)) {
        int gpu = w->inv->n_gpu == 1 ? 0 : -1;

        item = ni_trim(item);
        if (ni_parse_u64(item, NI_MAX_GPU, &k) == 0 && k < from.n) {
            gpu = from.gpu[k];
            v->by_number = true;
        } else if (!ni_has_prefix(item.p, "GPU-") && !ni_has_prefix(item.p, "MIG-")) {
            return;
        }
        for (unsigned g = 0, fit = 0; g < w->inv->n_gpu; g++) {
            if (strncmp(w->inv->gpu[g].uuid, item.p, item.n) != 0)
                continue;
            gpu = fit == 0 ? (int)g : -1; /* an entry that fits two GPUs means neither */
            fit++;
        }
        v->gpu[v->n] = gpu;
        v->n++;
    }
}

/* Returns the reason why the GPU of that number cannot be taken; NULL: it can. */
static const char *obstacle(const struct ni_work *w, const struct ni_launcher *l,
                            const struct visible *v, uint64_t *rank)
{
    const char *size = ni_env_get(w->env, l->size);
    const char *order = ni_env_get(w->env, "CUDA_DEVICE_ORDER");
    uint64_t ranks = 0;

    if (!size && l->rank == ni_slurm_rank)
        /* a batch script, since each step has the variable (Slurm common/env.c
           env_array_for_step) */
        size = "1";
    *rank = UINT64_MAX;
    (void)ni_parse_u64(ni_span_of(ni_env_get(w->env, l->rank)), UINT32_MAX, rank);
    if (v->n > 1 && size &&
        (strchr(size, ',') ||
         ni_parse_u64((struct ni_span){size, strcspn(size, "(")}, UINT32_MAX, &ranks) < 0 ||
         ranks == 1 || ranks > v->n))
        return "is set, but it is not known that the node has one process for each GPU";
    *rank = v->n == 1 ? 0 : *rank;
    if (*rank >= v->n)
        return "does not match a visible GPU";
    /* Slurm counts the GPUs that a device cgroup leaves from 0 (common/gres.c
       gres_use_local_device_index) */
    const bool some = v->by_number && v->n < w->inv->n_gpu && v->gpu[0] == 0;
    if (v->gpu[*rank] < 0 || (some && ni_env_get(w->env, ni_slurm_rank)) ||
        (v->by_number && w->inv->gdr.gpus_unordered && w->inv->n_gpu > 1 &&
         (w->inv->gpu[0].amd || !order || strcmp(order, "PCI_BUS_ID") != 0)))
        return "is set, but the address of that GPU is not known";
    return NULL;
}

int ni_rank_gpu(const struct ni_work *w, struct ni_text *why)
{
    const struct ni_launcher *l = ni_find_launcher(w->env);
    const bool amd = w->inv->n_gpu > 0 && w->inv->gpu[0].amd;
    const char *rocr = amd ? ni_env_get(w->env, "ROCR_VISIBLE_DEVICES") : NULL;
    const char *hip = amd ? ni_env_get(w->env, "HIP_VISIBLE_DEVICES") : NULL;
    const char *cuda = hip ? hip : ni_env_get(w->env, "CUDA_VISIBLE_DEVICES");
    struct visible v = {.n = 0, .by_number = true};
    char bdf[NI_BDF_TEXT];
    uint64_t rank;

    if (!l)
        return -1;
    if (w->inv->n_gpu > 1)
        w->plan->needs |= NI_NEED_GPU_IDS;
    for (; v.n < w->inv->n_gpu; v.n++)
        v.gpu[v.n] = (int)v.n;
    if (rocr)
        narrow(w, &v, rocr);
    if (cuda)
        narrow(w, &v, cuda);
    const char *no = obstacle(w, l, &v, &rank);
    ni_putf(why, "%s=", l->rank);
    ni_put_quoted(why, ni_env_get(w->env, l->rank), strlen(ni_env_get(w->env, l->rank)), 16);
    if (no) {
        ni_putf(why, " %s", no);
        return -1;
    }
    ni_putf(why, ", GPU %s", ni_bdf_text(w->inv->gpu[v.gpu[rank]].bdf, bdf));
    return v.gpu[rank];
}
