/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the GPUs: device nodes, their place beside the HCAs, and the drivers that GPUDirect
   RDMA needs. */
#include "check.h"

static bool has_nvidia(const struct ni_inventory *inv)
{
    for (unsigned i = 0; i < inv->n_gpu; i++) {
        if (!inv->gpu[i].amd)
            return true;
    }
    return false;
}

static void judge_node(enum ni_known known, const char *path, struct ni_seen *seen,
                       struct ni_findings *f)
{
    seen->judged += known == NI_KNOWN || known == NI_ABSENT;
    seen->unknown += known != NI_KNOWN && known != NI_ABSENT;
    if (known == NI_ABSENT)
        ni_report(f, NI_F_GPU_NODE_MISSING, path,
                  "there are GPUs, but not this node: CUDA says `no CUDA-capable device is "
                  "detected` or `unknown error`, and so does ncclCommInitRank");
}

enum ni_outcome ni_check_gpu_nodes(const struct ni_facts *facts, const struct ni_plan *plan,
                                   struct ni_findings *f)
{
    const struct ni_health *h = &facts->inv->health;
    struct ni_seen seen = {0};
    (void)plan;
    if (!has_nvidia(facts->inv))
        return NI_CHECK_IDLE;
    judge_node(h->nvidiactl, "/dev/nvidiactl", &seen, f);
    judge_node(h->uvm, "/dev/nvidia-uvm", &seen, f);
    return ni_seen_outcome(&seen);
}

/* Where distances mean something: not on a tree that virtualisation has flattened, not where
   NVLink-C2C leads past it. */
enum ni_outcome ni_check_gpu_place(const struct ni_facts *facts, const struct ni_plan *plan,
                                   struct ni_findings *f)
{
    const struct ni_inventory *inv = facts->inv;
    struct ni_seen seen = {0};
    char bdf[NI_BDF_TEXT];
    if (plan->n_chosen == 0 || inv->gdr.c2c)
        return NI_CHECK_IDLE;
    for (unsigned i = 0; i < inv->n_gpu; i++) {
        const struct ni_near *near = &plan->nearest_hca[i];
        const struct ni_pci *pci = &inv->gpu[i].pci;
        bool known = near->index >= 0 && pci->known == NI_KNOWN && pci->depth > 1;
        seen.judged += known;
        seen.unknown += !known;
        if (known && near->distance == NI_DIST_SYS)
            ni_report(f, NI_F_GPU_HCA_FAR, ni_bdf_text(inv->gpu[i].bdf, bdf),
                      "the nearest of the pod's HCAs, %s, is on another NUMA node (SYS): its "
                      "traffic crosses the link between the sockets",
                      inv->hca[near->index].name);
    }
    return ni_seen_outcome(&seen);
}

/* NCCL looks for /sys/module/nvidia_peermem since 2.23.4, before that only for nv_mem below
   memory_peers, which not each RDMA stack has (transport/net_ib/gdr.cc ncclIbGdrModuleLoad). */
static void judge_loaded(const struct ni_inventory *inv, struct ni_findings *f)
{
    const struct ni_health *h = &inv->health;
    bool dmabuf = ni_has_dmabuf(inv);
    if (h->peer_api == NI_KNOWN && h->peer_client == NI_ABSENT)
        ni_report(f, NI_F_GDR_DRIVER_ORDER, "nvidia_peermem",
                  "the module is loaded, but the RDMA drivers do not know it "
                  "(/sys/kernel/mm/memory_peers has no nv_mem): it was built against others%s",
                  dmabuf ? "; DMA-BUF serves" : ", ibv_reg_mr of GPU memory fails");
    else if (dmabuf)
        ni_report(f, NI_F_GDR_PEERMEM_BOTH, "nvidia_peermem",
                  "nvidia-peermem is loaded, and DMA-BUF is there too (open GPU kernel modules, "
                  "kernel %u.%u)",
                  inv->self.kernel_major, inv->self.kernel_minor);
}

/* That no way is there at all, or one that older NCCL does not see, is told by the rule gdr.level. */
enum ni_outcome ni_check_peermem(const struct ni_facts *facts, const struct ni_plan *plan,
                                 struct ni_findings *f)
{
    const struct ni_inventory *inv = facts->inv;
    const struct ni_health *h = &inv->health;
    if (!has_nvidia(inv) || plan->n_chosen == 0)
        return NI_CHECK_IDLE;
    if (h->peermem_module == NI_KNOWN)
        judge_loaded(inv, f);
    else if (inv->gdr.open_driver == NI_ABSENT && h->ofed == NI_KNOWN)
        ni_report(f, NI_F_GDR_DRIVER_ORDER, "nvidia_peermem",
                  "not loaded, with MLNX_OFED or DOCA and closed GPU modules: if `modprobe "
                  "nvidia-peermem` says Invalid argument, the GPU driver was built before the RDMA "
                  "drivers");
    if (ni_findings_has(f, NI_F_GDR_UNAVAILABLE) || ni_findings_has(f, NI_F_GDR_DMABUF_OFF) ||
        ni_findings_has(f, NI_F_GDR_PEERMEM_HIDDEN))
        return NI_CHECK_FOUND;
    bool known = h->peermem_module == NI_KNOWN || inv->gdr.open_driver == NI_KNOWN ||
                 inv->gdr.open_driver == NI_ABSENT;
    return known ? NI_CHECK_OK : NI_CHECK_UNKNOWN;
}

/* NCCL asks the driver whether NVLink spans nodes (2.30.7 mnnvl.cc); from files only the model can
   be told. */
enum ni_outcome ni_check_imex(const struct ni_facts *facts, const struct ni_plan *plan,
                              struct ni_findings *f)
{
    const struct ni_health *h = &facts->inv->health;
    (void)plan;
    if (!ni_has_prefix(h->gpu_model, "NVIDIA GB") ||
        ni_user_int(facts, "NCCL_MNNVL_ENABLE", 2) == 0)
        return NI_CHECK_IDLE;
    if (h->imex == NI_ABSENT)
        ni_report(f, NI_F_IMEX_CHANNEL_MISSING, "/dev/nvidia-caps-imex-channels",
                  "%s, and no IMEX channel in the pod: where NVLink spans nodes, NCCL ends with "
                  "`MNNVL ... is available but not working on this system`",
                  h->gpu_model);
    return h->imex == NI_KNOWN ? NI_CHECK_OK : NI_CHECK_UNKNOWN;
}

/* A demand of x86; from 3.4.5 on NVSHMEM lets the CPU help where neither is there (its changelog). */
enum ni_outcome ni_check_nvshmem(const struct ni_facts *facts, const struct ni_plan *plan,
                                 struct ni_findings *f)
{
    const struct ni_health *h = &facts->inv->health;
    (void)plan;
    if ((facts->policy->targets & NI_FOR_NVSHMEM) == 0 || !has_nvidia(facts->inv) ||
        facts->inv->gdr.cpu != NI_ABSENT)
        return NI_CHECK_IDLE;
    if (h->peer_mapping == NI_ABSENT && h->gdrdrv != NI_KNOWN)
        ni_report(f, NI_F_NVSHMEM_IBGDA, "/dev/gdrdrv",
                  "%s, and the NVIDIA driver runs without PeerMappingOverride=1: IBGDA fails "
                  "before NVSHMEM 3.4.5 and is slow since",
                  h->gdrdrv == NI_ABSENT ? "not in the container" : "cannot be opened");
    return h->peer_mapping == NI_KNOWN || h->gdrdrv == NI_KNOWN ? NI_CHECK_OK : NI_CHECK_UNKNOWN;
}
