/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the GPUs: device nodes, their place beside the HCAs, and the drivers that GPUDirect
   RDMA needs. */
#include "check.h"

static bool has_nvidia(const struct ni_inventory *inv)
{
    return inv->n_gpu > 0 && !inv->gpu[0].amd; /* a pod has one maker's */
}

static void judge_node(struct ni_checkup *c, enum ni_known known, const char *path)
{
    if (ni_saw(c, known == NI_KNOWN || known == NI_ABSENT) && known == NI_ABSENT)
        ni_report(c->f, NI_F_GPU_NODE_MISSING, path,
                  "the pod has GPUs, but not this node: CUDA says `no CUDA-capable device is "
                  "detected` or `unknown error`, and ncclCommInitRank fails");
}

void ni_check_gpu_nodes(struct ni_checkup *c)
{
    if (!has_nvidia(c->inv))
        return;
    judge_node(c, c->inv->drivers.nvidiactl, "/dev/nvidiactl");
    judge_node(c, c->inv->drivers.uvm, "/dev/nvidia-uvm");
}

/* Where distances mean something: not on a tree that virtualisation has flattened, not where
   NVLink-C2C leads past it. */
void ni_check_gpu_place(struct ni_checkup *c)
{
    const struct ni_inventory *inv = c->inv;
    char bdf[NI_BDF_TEXT];
    if (c->plan->n_chosen == 0 || inv->gdr.c2c)
        return;
    for (unsigned i = 0; i < inv->n_gpu; i++) {
        const struct ni_near *near = &c->plan->nearest_hca[i];
        const struct ni_pci *pci = &inv->gpu[i].pci;
        if (ni_saw(c, near->index >= 0 && pci->known == NI_KNOWN && pci->depth > 1) &&
            near->distance == NI_DIST_SYS)
            ni_report(c->f, NI_F_GPU_HCA_FAR, ni_bdf_text(inv->gpu[i].bdf, bdf),
                      "the pod's nearest HCA, %s, is on another NUMA node (SYS): this GPU's "
                      "traffic crosses the link between the sockets",
                      inv->hca[near->index].name);
    }
}

/* NCCL looks for /sys/module/nvidia_peermem since 2.23.4, before that only for nv_mem below
   memory_peers, which not each RDMA stack has (transport/net_ib/gdr.cc ncclIbGdrModuleLoad). That
   there is no way at all, or one that older NCCL does not see, is told by the rule gdr.level. */
void ni_check_gdr_drivers(struct ni_checkup *c)
{
    static const char peermem[] = "nvidia_peermem";
    const struct ni_inventory *inv = c->inv;
    const struct ni_drivers *d = &inv->drivers;
    const enum ni_known open = inv->gdr.open_driver;
    const bool dmabuf = ni_has_dmabuf(inv);
    if (!has_nvidia(inv) || c->plan->n_chosen == 0)
        return;
    if (d->peermem == NI_KNOWN && d->peer_api == NI_KNOWN && d->peer_client == NI_ABSENT)
        ni_report(c->f, NI_F_GDR_DRIVER_ORDER, peermem,
                  "the module is loaded, but the RDMA drivers do not know it "
                  "(/sys/kernel/mm/memory_peers has no nv_mem): it was built against others; %s",
                  dmabuf ? "NCCL uses DMA-BUF instead" : "ibv_reg_mr of GPU memory fails");
    else if (d->peermem == NI_KNOWN && dmabuf)
        ni_report(c->f, NI_F_GDR_PEERMEM_BOTH, peermem,
                  "nvidia-peermem is loaded, and DMA-BUF is there too (open GPU kernel modules, "
                  "kernel %u.%u)",
                  inv->self.kernel_major, inv->self.kernel_minor);
    else if (d->peermem != NI_KNOWN && open == NI_ABSENT && d->ofed == NI_KNOWN)
        ni_report(c->f, NI_F_GDR_DRIVER_ORDER, peermem,
                  "not loaded, with MLNX_OFED or DOCA and closed GPU modules: if `modprobe "
                  "nvidia-peermem` says Invalid argument, the GPU driver was built before the RDMA "
                  "drivers");
    c->told = ni_findings_has(c->f, NI_F_GDR_UNAVAILABLE) ||
              ni_findings_has(c->f, NI_F_GDR_DMABUF_OFF) ||
              ni_findings_has(c->f, NI_F_GDR_PEERMEM_HIDDEN);
    (void)ni_saw(c, d->peermem == NI_KNOWN || open == NI_KNOWN || open == NI_ABSENT);
}

/* NCCL asks the driver whether NVLink spans nodes (2.30.7 mnnvl.cc); from files only the model can
   be told. */
void ni_check_imex(struct ni_checkup *c)
{
    const struct ni_drivers *d = &c->inv->drivers;
    if (!ni_has_prefix(d->gpu_model, "NVIDIA GB") ||
        ni_user_int(c->facts, "NCCL_MNNVL_ENABLE", 2) == 0)
        return;
    (void)ni_saw(c, d->imex == NI_KNOWN);
    if (d->imex == NI_ABSENT)
        ni_report(c->f, NI_F_IMEX_CHANNEL_MISSING, "/dev/nvidia-caps-imex-channels",
                  "the GPU is an %s, and the pod has no IMEX channel: where NVLink spans nodes, "
                  "NCCL ends with `MNNVL ... is available but not working on this system`",
                  d->gpu_model);
}

/* NVSHMEM demands it on x86; from 3.4.5 on it lets the CPU help where neither is there (its
   changelog). */
void ni_check_ibgda(struct ni_checkup *c)
{
    const struct ni_drivers *d = &c->inv->drivers;
    if ((c->facts->policy->targets & NI_FOR_NVSHMEM) == 0 || !has_nvidia(c->inv) ||
        c->inv->gdr.cpu != NI_ABSENT)
        return;
    (void)ni_saw(c, d->peer_mapping == NI_KNOWN || d->gdrdrv == NI_KNOWN);
    if (d->peer_mapping == NI_ABSENT && d->gdrdrv != NI_KNOWN)
        ni_report(c->f, NI_F_NVSHMEM_IBGDA, "/dev/gdrdrv",
                  "%s, and the NVIDIA driver runs without PeerMappingOverride=1: NVSHMEM's IBGDA "
                  "fails before 3.4.5 and is slow since",
                  d->gdrdrv == NI_ABSENT ? "not in the container" : "cannot be opened");
}
