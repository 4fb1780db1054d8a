/* SPDX-License-Identifier: Apache-2.0 */
/* gpu.hcas: which of the chosen ports each GPU is to use. NCCL chooses for itself; this is for
   libraries that do not, and for launchers. And which GPU is this process's, where a launcher has
   started it as one of several on the node. */
#include <string.h>

#include "rule.h"

/* ---- which ports ---- */

/* As the PCI tree has it: what other libraries see has nothing to do with where NCCL looks for an
   HCA. On the root bus the tree is flat, and says nothing. */
static enum ni_distance distance(const struct ni_work *w, unsigned gpu, unsigned i)
{
    const struct ni_pci *g = &w->inv->gpu[gpu].pci, *h = &ni_chosen(w, i).hca->pci;
    return g->known != NI_KNOWN || g->depth == 1 || h->none ? NI_DIST_UNKNOWN
                                                            : ni_pci_distance(h, g);
}

/* The ports whose HCAs open, else all, as bits. */
static uint32_t usable(const struct ni_work *w)
{
    uint32_t all = 0, open = 0;
    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        all |= UINT32_C(1) << i;
        if (!ni_lacks_node(&ni_chosen(w, i).hca->uverbs))
            open |= UINT32_C(1) << i;
    }
    return open ? open : all;
}

/* The nearest of these ports to a GPU; none where one might be nearer whose distance is not known. */
static uint32_t nearest(const struct ni_work *w, uint32_t ports, unsigned gpu,
                        enum ni_distance *ret)
{
    uint32_t bits = 0;
    bool unknown = false;
    *ret = NI_DIST_UNKNOWN;
    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        const enum ni_distance d = distance(w, gpu, i);
        if (!(ports >> i & 1))
            continue;
        if (d == NI_DIST_UNKNOWN) {
            unknown = true;
            continue;
        }
        if (!bits || d < *ret) {
            *ret = d;
            bits = 0;
        }
        if (d == *ret)
            bits |= UINT32_C(1) << i;
    }
    return unknown && *ret > NI_DIST_PXB ? 0 : bits;
}

/* Each GPU gets one of its nearest ports for its own, which as few others as can be use; then those
   that are as near and nobody's own. GPUs that are nearer to theirs choose first: whoever is farther
   from all has more to choose from. */
void ni_rule_gpu_hcas(const struct ni_work *w)
{
    const unsigned per_gpu = NI_FOR_UCX | NI_FOR_NIXL | NI_FOR_VLLM;
    uint32_t near[NI_MAX_GPU] = {0}, taken = 0;
    uint8_t own[NI_MAX_GPU] = {0}, users[NI_MAX_CHOSEN] = {0};
    enum ni_distance at[NI_MAX_GPU];
    if (w->inv->gdr.gpus_lost || w->plan->n_chosen == 0 ||
        !(w->policy->gpu_map || w->policy->targets & per_gpu))
        return;
    ni_want_numa(w);
    const uint32_t ports = usable(w);
    for (unsigned g = 0; g < w->inv->n_gpu; g++)
        near[g] = nearest(w, ports, g, &at[g]);
    for (enum ni_distance d = NI_DIST_PIX; d <= NI_DIST_SYS; d++) {
        for (unsigned g = 0; g < w->inv->n_gpu; g++) {
            unsigned least = NI_MAX_CHOSEN;
            for (unsigned i = 0; near[g] && at[g] == d && i < w->plan->n_chosen; i++) {
                if (near[g] >> i & 1 && (least == NI_MAX_CHOSEN || users[i] < users[least]))
                    least = i;
            }
            if (least == NI_MAX_CHOSEN)
                continue;
            own[g] = (uint8_t)least;
            users[least]++;
            taken |= UINT32_C(1) << least;
        }
    }
    for (unsigned g = 0; g < w->inv->n_gpu; g++)
        w->plan->gpu_ports[g] = near[g] ? (near[g] & ~taken) | UINT32_C(1) << own[g] : 0;
}

/* ---- which GPU ---- */

/* The GPUs that CUDA or HIP shows to this process, in its order; -1: one that is not known. */
struct visible {
    int gpu[NI_MAX_GPU];
    unsigned n;
    bool counted; /* by numbers, not by UUIDs */
};

/* "GPU-" and a UUID's beginning, "MIG-GPU-UUID/1/0"; of "MIG-UUID" the GPU is not told. */
static int gpu_of_id(const struct ni_work *w, struct ni_span id)
{
    const struct ni_inventory *inv = w->inv;
    int found = -1;
    if (inv->n_gpu == 1)
        return 0;
    if (ni_has_prefix(id.p, "MIG-")) {
        const char *slash = memchr(id.p, '/', id.n);
        id = (struct ni_span){id.p + 4, slash ? (size_t)(slash - id.p) - 4 : id.n - 4};
    }
    for (unsigned g = 0; g < inv->n_gpu && id.n > 4; g++) {
        if (strncmp(inv->gpu[g].uuid, id.p, id.n) != 0)
            continue;
        if (found >= 0)
            return -1;
        found = (int)g;
    }
    return found;
}

/* Leaves those of the list. It ends at the first entry that means no GPU (CUDA C++ Programming Guide,
   CUDA_VISIBLE_DEVICES). */
static void narrow(const struct ni_work *w, struct visible *v, const char *list)
{
    const struct visible from = *v;
    struct ni_span item;
    uint64_t k;
    v->n = 0;
    v->counted = false;
    while (v->n < NI_MAX_GPU && ni_split(&list, ',', &item)) {
        item = ni_trim(item);
        if (ni_parse_u64(item, NI_MAX_GPU, &k) == 0 && k < from.n) {
            v->gpu[v->n++] = from.gpu[k];
            v->counted = true;
        } else if (ni_has_prefix(item.p, "GPU-") || ni_has_prefix(item.p, "MIG-")) {
            v->gpu[v->n++] = gpu_of_id(w, item);
        } else {
            return;
        }
    }
}

static struct visible visible_gpus(const struct ni_work *w)
{
    const bool amd = w->inv->n_gpu > 0 && w->inv->gpu[0].amd;
    const char *rocr = amd ? ni_env_get(w->env, "ROCR_VISIBLE_DEVICES") : NULL;
    const char *hip = amd ? ni_env_get(w->env, "HIP_VISIBLE_DEVICES") : NULL;
    const char *cuda = hip ? hip : ni_env_get(w->env, "CUDA_VISIBLE_DEVICES");
    struct visible v = {.n = 0, .counted = true};
    while (v.n < w->inv->n_gpu) {
        v.gpu[v.n] = (int)v.n;
        v.n++;
    }
    if (rocr)
        narrow(w, &v, rocr);
    if (cuda)
        narrow(w, &v, cuda);
    return v;
}

/* Number of this process among those of the node, and how many there are. */
static const struct launcher {
    const char *rank, *size;
} launchers[] = {
    {"LOCAL_RANK", "LOCAL_WORLD_SIZE"},                           /* torchrun */
    {"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"}, /* Open MPI */
    {"MPI_LOCALRANKID", "MPI_LOCALNRANKS"},                       /* MPICH, Intel MPI */
    {"SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE"}, /* srun: "8", "8(x2)", "8(x2),4" */
};

/* What is in the way of taking the GPU of that number; NULL: nothing. */
static const char *obstacle(const struct ni_work *w, const struct launcher *l,
                            const struct visible *v, uint64_t *ret_rank)
{
    const char *size = ni_env_get(w->env, l->size);
    const char *order = ni_env_get(w->env, "CUDA_DEVICE_ORDER");
    struct ni_span n;
    uint64_t ranks = 0;
    if (ni_parse_u64(ni_span_of(ni_env_get(w->env, l->rank)), UINT32_MAX, ret_rank) < 0)
        return "is no number";
    if (v->n == 0)
        return "is set, but no GPU is visible";
    if (v->n > 1 && size) {
        n = (struct ni_span){size, strcspn(size, "(")};
        if (strchr(size, ',') || ni_parse_u64(n, UINT32_MAX, &ranks) < 0)
            return "is set, but how many processes this node has is not told";
        if (ranks == 1)
            return "is set, but this is the node's one process for several GPUs";
        if (ranks > v->n)
            return "is set, but the node has more processes than GPUs";
    }
    *ret_rank = v->n == 1 ? 0 : *ret_rank;
    if (*ret_rank >= v->n)
        return "is beyond the GPUs that are visible";
    if (v->counted && w->inv->gdr.gpus_unordered && w->inv->n_gpu > 1 &&
        (w->inv->gpu[0].amd || !order || strcmp(order, "PCI_BUS_ID") != 0))
        return "is set, but how its GPUs are counted is not told by their addresses";
    return v->gpu[*ret_rank] < 0 ? "is set, but the visible GPU has a name that tells no address"
                                 : NULL;
}

int ni_rank_gpu(const struct ni_work *w, struct ni_text *why)
{
    const struct launcher *l = launchers;
    uint64_t rank;
    char bdf[NI_BDF_TEXT];
    while (l < launchers + NI_COUNT(launchers) && !ni_env_get(w->env, l->rank))
        l++;
    if (l == launchers + NI_COUNT(launchers))
        return -1;
    if (w->inv->n_gpu > 1)
        w->plan->wants |= NI_WANT_GPU_IDS;
    const struct visible v = visible_gpus(w);
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
