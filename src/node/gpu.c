/* SPDX-License-Identifier: Apache-2.0 */
/* The pod's GPUs, and what GPUDirect RDMA needs of the node. sysfs shows every GPU of the host; the
   pod's are those with a device node. */
#include "node/gpu.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "findings/device.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/gpu.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/number.h"
#include "nccl_init/pci.h"
#include "nccl_init/text.h"
#include "node/pci.h"
#include "node/read.h"
#include "node/self.h"
#include "sysroot/files.h"

static const char gpus_dir[] = "proc/driver/nvidia/gpus";

/* Reads the driver's lines about a GPU. */
static void read_gpu_info(struct ni_probe *p, enum ni_need need, struct ni_gpu *g)
{
    char bdf[NI_BDF_TEXT], path[NI_PATH];

    (void)ni_format(path, sizeof(path), "%s/%s/information", gpus_dir, ni_bdf_text(g->bdf, bdf));
    if (ni_read_text(p, need, path) != NI_KNOWN)
        return;
    for (char *rest = p->text, *line; ni_line(&rest, &line);) {
        struct ni_span value;
        const enum ni_gpu_line kind = ni_parse_gpu_line(ni_span_of(line), &value);
        int64_t minor;

        if (kind == NI_GPU_MODEL)
            (void)ni_copyn(g->model, sizeof(g->model), value.p, value.n);
        else if (kind == NI_GPU_UUID)
            (void)ni_copyn(g->uuid, sizeof(g->uuid), value.p, value.n);
        else if (kind == NI_GPU_MINOR && ni_parse_int(value, INT32_MAX, &minor))
            g->minor = (int)minor;
    }
    if (g->minor < 0 || !g->model[0] || !g->uuid[0])
        ni_report(p->f, NI_F_FACT_UNREADABLE, p->path, "it has no model, UUID or minor number");
}

static void add_gpu(struct ni_probe *p, const struct ni_gpu *gpu)
{
    struct ni_inventory *inv = p->inv;
    char text[NI_BDF_TEXT], dir[NI_PATH];

    if (inv->n_gpu == NI_MAX_GPU) {
        ni_report(p->f, NI_F_FACT_TRUNCATED, gpus_dir, "more than %d GPUs", NI_MAX_GPU);
        return;
    }
    unsigned at = inv->n_gpu;
    inv->n_gpu++;
    for (; at > 0 && ni_bdf_cmp(inv->gpu[at - 1].bdf, gpu->bdf) > 0; at--)
        inv->gpu[at] = inv->gpu[at - 1];
    struct ni_gpu *g = &inv->gpu[at];
    *g = *gpu;
    (void)ni_format(dir, sizeof(dir), "sys/bus/pci/devices/%s", ni_bdf_text(g->bdf, text));
    ni_probe_chain(p, &g->pci, dir);
    if (!p->ask->all && !p->ask->gpu_facts)
        return;
    /* no rule needs it, people read it (drivers/pci/pci-sysfs.c local_cpulist_show) */
    (void)ni_read_file(p, p->root, NI_OPTIONAL, g->cpus, sizeof(g->cpus), "%s/local_cpulist", dir);
}

static bool is_denied(int err)
{
    return err == -EACCES || err == -EPERM;
}

/* Opens a device node, for pods that demand GPUs: a node that is there may still not open. 0 or
   -errno; the worst answer is kept. */
static int try_node(struct ni_probe *p, const char *name)
{
    struct ni_inventory *inv = p->inv;
    int err = p->ask->gpus ? ni_openable(p->root, "dev/%s", name) : 0;

    if (err < 0 && (!inv->gpu_node[0] || is_denied(inv->gpu_node_err))) {
        ni_copy(inv->gpu_node, sizeof(inv->gpu_node), name);
        inv->gpu_node_err = err;
    }
    return err;
}

/* Finds the /dev/nvidiaN of the container, as bits, and tries to open them. Returns their number.
   */
static unsigned nvidia_nodes(struct ni_probe *p, uint64_t *ret_minors)
{
    unsigned n = 0;
    bool any_opens = false;

    *ret_minors = 0;
    if (!p->has_dev && ni_look_up(p->root, "%s", gpus_dir) == -ENOENT)
        return 0;
    ni_read_names(p, p->root, NI_REQUIRED, &p->names, "dev");
    for (unsigned i = 0; i < p->names.n; i++) {
        uint64_t minor;
        const char *name = p->names.name[i];

        if (ni_has_prefix(name, "nvidia") && ni_parse_u64(ni_span_of(name + 6), 63, &minor) == 0) {
            *ret_minors |= UINT64_C(1) << minor;
            any_opens = try_node(p, name) == 0 || any_opens;
            n++;
        }
    }
    if (any_opens && is_denied(p->inv->gpu_node_err))
        p->inv->gpu_node[0] = '\0'; /* the device cgroup refuses it: it is not the pod's */
    if (n > 0 && try_node(p, "nvidiactl") == 0) /* CUDA needs both */
        (void)try_node(p, "nvidia-uvm");
    return n;
}

/* Gives the GPUs their numbers. CUDA counts the fastest first, and equal ones by their addresses.
   HIP sees those that have a render node in the pod, while sysfs shows those of the host. */
void ni_probe_gpu_ids(struct ni_probe *p)
{
    struct ni_inventory *inv = p->inv;
    unsigned nodes = 0;

    if (inv->n_gpu > 0 && inv->gpu[0].amd) {
        ni_read_names(p, p->root, NI_REQUIRED, &p->names, "dev/dri");
        for (unsigned i = 0; i < p->names.n; i++)
            nodes += ni_has_prefix(p->names.name[i], "renderD");
        inv->gdr.gpus_unordered = nodes != inv->n_gpu;
        return;
    }
    for (unsigned i = 0; i < inv->n_gpu; i++) {
        struct ni_gpu *g = &inv->gpu[i];

        if (!g->model[0])
            read_gpu_info(p, NI_OPTIONAL, g);
        if (!g->model[0] || strcmp(g->model, inv->gpu[0].model) != 0)
            inv->gdr.gpus_unordered = true;
    }
}

/* The GPUs that NVIDIA's driver lists. */
struct driver_gpus {
    struct ni_bdf at[64]; /* the driver has at most 32 (nvlimits.h NV_MAX_DEVICES) */
    unsigned n;
    bool numbered; /* they are listed under /proc, which has the minor number of each */
};

static const char driver_dir[] = "sys/bus/pci/drivers/nvidia";

/* Lists the GPUs of NVIDIA's driver: those under /proc, or else those that are bound to it. Returns
   false if neither list can be read. */
static bool list_driver_gpus(struct ni_probe *p, struct driver_gpus *ret)
{
    ret->n = 0;
    ret->numbered = ni_list(p->root, &p->names, "%s", gpus_dir) == 0 && p->names.n > 0;
    if (!ret->numbered &&
        ni_read_names(p, p->root, NI_OPTIONAL, &p->names, "%s", driver_dir) != NI_KNOWN)
        return false;
    /* the driver's directory also has bind, unbind, new_id, ... */
    for (unsigned i = 0; i < p->names.n && ret->n < NI_COUNT(ret->at); i++)
        ret->n += ni_parse_bdf(ni_span_of(p->names.name[i]), &ret->at[ret->n]) == 0;
    return true;
}

/* Reports device nodes that have no GPU, or that cannot be matched to the GPUs. */
static void report_unmatched_nodes(struct ni_probe *p, const struct driver_gpus *gpus,
                                   unsigned nodes)
{
    if (nodes > gpus->n)
        ni_report(p->f, NI_F_FACT_UNREADABLE, gpus->numbered ? gpus_dir : driver_dir,
                  "%u GPUs are listed for %u device nodes", gpus->n, nodes);
    else if (nodes < gpus->n && !gpus->numbered)
        ni_report(p->f, NI_F_FACT_UNREADABLE, gpus_dir,
                  "cannot match %u device nodes to %u GPUs; all are counted", nodes, gpus->n);
}

/* Adds the pod's NVIDIA GPUs. The driver lists GPUs under /proc; the container toolkit leaves only
   the pod's there in some modes, all in others. If there are as many as device nodes, all are the
   pod's. Otherwise the minor number of each one shows it. */
static bool probe_nvidia(struct ni_probe *p)
{
    struct driver_gpus gpus;
    uint64_t minors;
    const unsigned nodes = nvidia_nodes(p, &minors);

    if (nodes == 0 || !list_driver_gpus(p, &gpus))
        return false;
    p->inv->gdr.gpus_lost = nodes > gpus.n;
    report_unmatched_nodes(p, &gpus, nodes);
    const bool all = !gpus.numbered || nodes >= gpus.n;
    for (unsigned i = 0; i < gpus.n; i++) {
        struct ni_gpu g = {.bdf = gpus.at[i], .minor = -1};

        if (gpus.numbered && (!all || p->ask->all || p->ask->gpu_facts))
            read_gpu_info(p, NI_REQUIRED, &g);
        if (all || (g.minor >= 0 && minors >> g.minor & 1))
            add_gpu(p, &g);
    }
    return true;
}

/* All GPUs share amdgpu's compute node; without it ROCm has no GPU. */
bool ni_has_amd(struct ni_probe *p)
{
    return ni_is_there(p, "dev/kfd") == NI_KNOWN;
}

static void probe_amd(struct ni_probe *p)
{
    if (!ni_has_amd(p))
        return;
    (void)try_node(p, "kfd");
    ni_read_names(p, p->root, NI_REQUIRED, &p->names, "sys/bus/pci/drivers/amdgpu");
    for (unsigned i = 0; i < p->names.n; i++) {
        struct ni_gpu g = {.minor = -1, .amd = true};

        if (ni_parse_bdf(ni_span_of(p->names.name[i]), &g.bdf) == 0)
            add_gpu(p, &g);
    }
}

/* Looks for peer memory other than nvidia-peermem, by the files at which NCCL looks (2.30.7
   transport/net_ib/gdr.cc ncclIbGdrModuleLoad), and RCCL (2.30.4, the same file): the path depends
   on the kernel. */
static enum ni_known probe_memory_peers(struct ni_probe *p, enum ni_known known)
{
    static const struct {
        const char *file;
        bool amd;
    } peers[] = {
        {"sys/kernel/mm/memory_peers/nv_mem/version", false},
        {"sys/kernel/mm/memory_peers/nv_mem_nc/version", false},
        {"sys/kernel/mm/memory_peers/amdkfd/version", true},
        {"sys/kernel/memory_peers/amdkfd/version", true},
        {"sys/memory_peers/amdkfd/version", true},
    };

    for (size_t i = 0; i < NI_COUNT(peers) && known != NI_KNOWN; i++) {
        if (peers[i].amd != p->inv->gpu[0].amd)
            continue;
        enum ni_known this = ni_is_there(p, "%s", peers[i].file);
        known = this == NI_ABSENT ? known : this;
    }
    return known;
}

/* Returns true if a GPU's name can be that of a superchip: GH200, GB200, GB300, VR200. Others, as
   H100 or RTX PRO 6000, are PCIe cards, also beside a Grace. A name that is not known can be one.
   */
static bool may_be_superchip(const char *model)
{
    static const char maker[] = "NVIDIA ";
    const char *name = ni_has_prefix(model, maker) ? model + sizeof(maker) - 1 : model;

    if (*name == '\0')
        return true;
    return (*name == 'G' || *name == 'V') && name[1] >= 'A' && name[1] <= 'Z' &&
           ni_is_digit(name[2]);
}

/* Returns true if a GPU may be part of a superchip: NVLink-C2C joins a Grace or Vera to the GPU of
   its own superchip. NCCL asks the driver's NVML (2.30.7 graph/xml.cc ncclTopoGetXmlFromGpu); of
   the driver's files only the GPU's name shows it. */
static bool may_have_superchip(struct ni_probe *p)
{
    for (unsigned i = 0; i < p->inv->n_gpu; i++) {
        struct ni_gpu *g = &p->inv->gpu[i];

        if (!g->model[0])
            read_gpu_info(p, NI_OPTIONAL, g);
        if (may_be_superchip(g->model))
            return true;
    }
    return false;
}

/* Reads whether the CPU is that of a superchip, by implementer and part
   (arch/arm64/include/asm/cputype.h): Neoverse V2 (Grace), NVIDIA's Olympus (Vera), Cortex-X925 and
   A725 (GB10). Only arm64 kernels have the file. */
static void probe_cpu(struct ni_probe *p)
{
    enum { NEOVERSE_V2 = 0x41d4f, CORTEX_X925 = 0x41d85, CORTEX_A725 = 0x41d87, OLYMPUS = 0x4e010 };
    struct ni_gdr *gdr = &p->inv->gdr;
    /* "0x%016llx" (arch/arm64/kernel/cpuinfo.c CPUREGS_ATTR_RO) */
    const struct ni_num midr =
        ni_read_num(p, p->root, NI_OPTIONAL, ni_parse_0x,
                    "sys/devices/system/cpu/cpu0/regs/identification/midr_el1");
    const int64_t cpu = (midr.v >> 24 & 0xff) << 12 | (midr.v >> 4 & 0xfff);

    gdr->cpu = midr.known;
    gdr->c2c = (cpu == NEOVERSE_V2 || cpu == OLYMPUS) && may_have_superchip(p);
    gdr->gb10 = cpu == CORTEX_X925 || cpu == CORTEX_A725;
}

/* Reads the facts on which DMA-BUF depends. */
static void probe_dmabuf(struct ni_probe *p)
{
    enum ni_known known = ni_read_text(p, NI_OPTIONAL, "proc/driver/nvidia/version");

    if (known == NI_KNOWN && !ni_is_open_driver(ni_span_of(p->text)))
        known = NI_ABSENT;
    p->inv->gdr.open_driver = known;
    ni_probe_kernel(p);
}

void ni_probe_gpus(struct ni_probe *p)
{
    struct ni_gdr *gdr = &p->inv->gdr;

    if (!probe_nvidia(p))
        probe_amd(p);
    if (p->inv->n_gpu == 0)
        return;
    probe_cpu(p);
    if (p->inv->gpu[0].amd) {
        gdr->peermem = probe_memory_peers(p, NI_ABSENT);
        return;
    }
    gdr->peermem = ni_is_there(p, "sys/module/nvidia_peermem/version");
    if (gdr->peermem != NI_KNOWN)
        probe_dmabuf(p);
}

void ni_probe_all_gdr(struct ni_probe *p)
{
    struct ni_gdr *gdr = &p->inv->gdr;

    if (p->inv->n_gpu == 0 || p->inv->gpu[0].amd)
        return;
    if (gdr->open_driver == NI_UNSET)
        probe_dmabuf(p);
    if (gdr->peermem == NI_KNOWN)
        gdr->listed = probe_memory_peers(p, NI_ABSENT);
    else
        gdr->peermem = probe_memory_peers(p, gdr->peermem);
}
