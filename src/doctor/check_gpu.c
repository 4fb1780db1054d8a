/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the GPUs: their device nodes, and drivers for GPUDirect RDMA, NVLink and IBGDA. */
#include "doctor/check.h"
#include "findings/device.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/gpu.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "print/words.h"
#include "rules/decide.h"

/* ---- gpu.node ---- */

static void check_gpu_nodes(struct ni_judging *c)
{
    static const char *const path[] = {"/dev/nvidiactl", "/dev/nvidia-uvm"};
    const enum ni_known node[] = {c->inv->drivers.nvidiactl, c->inv->drivers.uvm};

    if (!ni_has_nvidia(c))
        return;
    for (unsigned i = 0; i < NI_COUNT(path); i++) {
        if (ni_saw(c, ni_is_decided(node[i])) && node[i] == NI_ABSENT)
            ni_report(
                c->f, NI_F_GPU_NODE_MISSING, path[i],
                "the pod has GPUs, but not this device node: CUDA says `no CUDA-capable device is "
                "detected` or `unknown error`, and ncclCommInitRank fails");
    }
}

/* Puts which of two things are there; NULL: it is not. none: what to put if neither is. */
static void put_present(struct ni_text *t, const char *first, const char *second, const char *none)
{
    if (!first && !second)
        ni_put(t, none);
    if (first)
        ni_put(t, first);
    if (first && second)
        ni_put(t, ", ");
    if (second)
        ni_put(t, second);
}

static void put_gpu_nodes(struct ni_text *t, const struct ni_view *view)
{
    const struct ni_drivers *d = &view->inv->drivers;
    const char *control = d->nvidiactl == NI_KNOWN ? "nvidiactl" : NULL;
    const char *memory = d->uvm == NI_KNOWN ? "nvidia-uvm" : NULL;

    put_present(t, control, memory, "none");
}

const struct ni_check ni_check_gpu_node = {
    .id = "gpu.node",
    .title = "GPU control",
    .whole = check_gpu_nodes,
    .put = put_gpu_nodes,
    .findings = {NI_F_GPU_NODE_MISSING},
};

/* ---- gdr.driver ---- */

/* Checks that peer memory and RDMA drivers fit together. NCCL looks for /sys/module/nvidia_peermem
   since 2.23.4, before that only for nv_mem below memory_peers, which some RDMA stacks lack
   (transport/net_ib/gdr.cc ncclIbGdrModuleLoad). The rule gdr.level reports that there is no way at
   all, or one that older NCCL does not see. */
static void check_gdr_drivers(struct ni_judging *c)
{
    static const char peermem[] = "nvidia_peermem";
    const struct ni_inventory *inv = c->inv;
    const struct ni_drivers *d = &inv->drivers;
    const enum ni_known open = inv->gdr.open_driver;
    const bool loaded = d->peermem == NI_KNOWN;

    if (!ni_has_nvidia(c) || c->plan->n_chosen == 0)
        return;
    if (loaded && d->peer_api == NI_KNOWN && d->peer_client == NI_ABSENT)
        ni_report(c->f, NI_F_GDR_DRIVER_ORDER, peermem,
                  "the module is loaded, but the RDMA drivers do not know it "
                  "(/sys/kernel/mm/memory_peers has no nv_mem): it was built for other drivers; %s",
                  ni_has_dmabuf(inv) ? "NCCL uses DMA-BUF instead"
                                     : "ibv_reg_mr of GPU memory fails");
    else if (!loaded && open == NI_ABSENT && d->ofed == NI_KNOWN)
        ni_report(c->f, NI_F_GDR_DRIVER_ORDER, peermem,
                  "not loaded, with MLNX_OFED or DOCA and closed GPU modules: if `modprobe "
                  "nvidia-peermem` says Invalid argument, the GPU driver was built before the RDMA "
                  "drivers");
    (void)ni_saw(c, loaded || ni_is_decided(open));
}

static void put_gdr(struct ni_text *t, const struct ni_view *view)
{
    const struct ni_inventory *inv = view->inv;
    const char *module = inv->gdr.peermem == NI_KNOWN ? "peer memory module" : NULL;
    const char *dmabuf = ni_has_dmabuf(inv) ? "DMA-BUF" : NULL;

    put_present(t, module, dmabuf, "no way found");
}

const struct ni_check ni_check_gdr = {
    .id = "gdr.driver",
    .title = "GPUDirect",
    .whole = check_gdr_drivers,
    .put = put_gdr,
    .findings = {NI_F_GDR_DRIVER_ORDER, NI_F_GDR_PEERMEM_HIDDEN, NI_F_GDR_UNAVAILABLE,
                 NI_F_GDR_DMABUF_OFF},
};

/* ---- gpu.imex ---- */

/* Checks for an IMEX channel. NCCL asks the driver if NVLink spans nodes (2.30.7 mnnvl.cc); files
   show only the model of the GPU. */
static void check_imex(struct ni_judging *c)
{
    const struct ni_drivers *d = &c->inv->drivers;

    if (!ni_has_prefix(c->inv->gpu[0].model, "NVIDIA GB") ||
        ni_user_int(c->w, "NCCL_MNNVL_ENABLE", 2) == 0)
        return;
    if (!ni_saw(c, d->imex == NI_KNOWN) && d->imex == NI_ABSENT)
        ni_report(c->f, NI_F_IMEX_CHANNEL_MISSING, "/dev/nvidia-caps-imex-channels",
                  "the GPU is an %s, and the pod has no IMEX channel: if NVLink spans nodes, "
                  "NCCL ends with `MNNVL ... is available but not working on this system`",
                  c->inv->gpu[0].model);
}

static void put_imex(struct ni_text *t, const struct ni_view *view)
{
    ni_put(t, view->inv->drivers.imex == NI_KNOWN ? "present" : "missing");
}

const struct ni_check ni_check_imex = {
    .id = "gpu.imex",
    .title = "IMEX channel",
    .whole = check_imex,
    .put = put_imex,
    .findings = {NI_F_IMEX_CHANNEL_MISSING},
};

/* ---- nvshmem.ibgda ---- */

/* Checks for GDRCopy or PeerMappingOverride, of which NVSHMEM's IBGDA needs one on x86; from 3.4.5
   on the CPU helps if both are missing (NVSHMEM's changelog). */
static void check_ibgda(struct ni_judging *c)
{
    const struct ni_drivers *d = &c->inv->drivers;

    if ((c->w->policy->targets & NI_FOR_NVSHMEM) == 0 || !ni_has_nvidia(c) ||
        c->inv->gdr.cpu != NI_ABSENT)
        return;
    if (!ni_saw(c, d->peer_mapping == NI_KNOWN || d->gdrdrv == NI_KNOWN) &&
        d->peer_mapping == NI_ABSENT)
        ni_report(c->f, NI_F_NVSHMEM_IBGDA, "/dev/gdrdrv",
                  "%s, and the NVIDIA driver runs without PeerMappingOverride=1: NVSHMEM's IBGDA "
                  "fails before 3.4.5, and later is slow",
                  d->gdrdrv == NI_ABSENT ? "not in the container" : "cannot be opened");
}

static void put_ibgda(struct ni_text *t, const struct ni_view *view)
{
    const struct ni_drivers *d = &view->inv->drivers;

    if (d->peer_mapping == NI_KNOWN)
        ni_put(t, "PeerMappingOverride=1");
    else
        ni_put(t, d->gdrdrv == NI_KNOWN ? "GDRCopy" : "missing");
}

const struct ni_check ni_check_ibgda = {
    .id = "nvshmem.ibgda",
    .title = "IBGDA",
    .whole = check_ibgda,
    .put = put_ibgda,
    .findings = {NI_F_NVSHMEM_IBGDA},
};
