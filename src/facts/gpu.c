/* SPDX-License-Identifier: Apache-2.0 */
/* The pod's GPUs, and what GPUDirect RDMA needs of the node. sysfs shows every GPU of the host; the
   pod's are those with a device node. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "probe.h"

static const char gpus_dir[] = "proc/driver/nvidia/gpus";

static void add_gpu(struct ni_probe *p, const char *id, int minor, bool amd)
{
    struct ni_inventory *inv = p->inv;
    struct ni_bdf bdf;
    char text[NI_BDF_TEXT], dir[NI_PATH];
    if (ni_parse_bdf(ni_span_of(id), &bdf) < 0)
        return;
    if (inv->n_gpu == NI_MAX_GPU) {
        ni_report(p->f, NI_F_FACT_TRUNCATED, gpus_dir, "more than %d GPUs", NI_MAX_GPU);
        return;
    }
    unsigned at = inv->n_gpu++;
    while (at > 0 && ni_bdf_cmp(inv->gpu[at - 1].bdf, bdf) > 0) {
        inv->gpu[at] = inv->gpu[at - 1];
        at--;
    }
    struct ni_gpu *g = &inv->gpu[at];
    *g = (struct ni_gpu){.bdf = bdf, .minor = minor, .amd = amd};
    (void)ni_format(dir, sizeof(dir), "sys/bus/pci/devices/%s", ni_bdf_text(bdf, text));
    ni_probe_chain(p, &g->pci, dir);
    if (!p->ask->all)
        return;
    /* For people; drivers/pci/pci-sysfs.c local_cpulist_show. */
    (void)ni_read_file(p, p->root, NI_OPTIONAL, g->cpus, sizeof(g->cpus), "%s/local_cpulist", dir);
    if (g->cpus[strspn(g->cpus, "0123456789,-")]) {
        ni_note_odd(p, g->cpus);
        g->cpus[0] = '\0';
    }
}

static bool is_denied(int err)
{
    return err == -EACCES || err == -EPERM;
}

/* For who demands GPUs: that a node is there does not say that it opens. 0 or -errno; the worst is
   kept. */
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

/* Which /dev/nvidiaN are in the container, as bits; how many. */
static unsigned nvidia_nodes(struct ni_probe *p, uint64_t *ret_minors)
{
    unsigned n = 0;
    bool any_opens = false;
    *ret_minors = 0;
    if (!p->nodes && ni_exists(p->root, "%s", gpus_dir) == -ENOENT)
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
        p->inv->gpu_node[0] = '\0'; /* the device cgroup's answer: that one is not the pod's */
    if (n > 0 && try_node(p, "nvidiactl") == 0) /* CUDA needs both */
        (void)try_node(p, "nvidia-uvm");
    return n;
}

/* "Device Minor: \t 3" of proc/driver/nvidia/gpus/BDF/information. */
static void minor_line(void *ctx, const char *line)
{
    int *minor = ctx;
    uint64_t v;
    if (ni_has_prefix(line, "Device Minor:") &&
        ni_parse_u64(ni_trim(ni_span_of(line + 13)), 63, &v) == 0)
        *minor = (int)v;
}

/* Leaves only PCI addresses of a listing: a driver's directory also has bind, unbind, new_id, ...
   */
static unsigned keep_addresses(struct ni_names *names)
{
    unsigned n = 0;
    for (unsigned i = 0; i < names->n; i++) {
        struct ni_bdf bdf;
        if (ni_parse_bdf(ni_span_of(names->name[i]), &bdf) == 0)
            names->name[n++] = names->name[i];
    }
    names->n = n;
    return n;
}

/* "GPU-" and 36 characters; `?` for each digit where the driver has not asked the GPU yet. */
static bool is_uuid(const char *s)
{
    return ni_has_prefix(s, "GPU-") && strspn(s + 4, "0123456789abcdef-?") == 36 && !s[40];
}

struct gpu_id {
    char model[64], uuid[sizeof(((struct ni_gpu *)0)->uuid)];
};

static void id_line(void *ctx, const char *line)
{
    struct gpu_id *id = ctx;
    struct ni_span s;
    if (ni_has_prefix(line, "Model:")) {
        s = ni_trim(ni_span_of(line + 6));
        (void)ni_copyn(id->model, sizeof(id->model), s.p, s.n);
    } else if (ni_has_prefix(line, "GPU UUID:")) {
        s = ni_trim(ni_span_of(line + 9));
        (void)ni_copyn(id->uuid, sizeof(id->uuid), s.p, s.n);
    }
}

/* CUDA counts the fastest GPUs first, so equal ones by their addresses. HIP sees those of which the
   pod has a render node, while sysfs shows the host's. */
void ni_probe_gpu_ids(struct ni_probe *p)
{
    struct ni_inventory *inv = p->inv;
    char first[sizeof(((struct gpu_id *)0)->model)] = "";
    char bdf[NI_BDF_TEXT];
    unsigned nodes = 0;
    if (inv->n_gpu > 0 && inv->gpu[0].amd) {
        ni_read_names(p, p->root, NI_REQUIRED, &p->names, "dev/dri");
        for (unsigned i = 0; i < p->names.n; i++)
            nodes += ni_has_prefix(p->names.name[i], "renderD");
        inv->gdr.gpus_unordered = nodes != inv->n_gpu;
        return;
    }
    for (unsigned i = 0; i < inv->n_gpu; i++) {
        struct gpu_id id = {"", ""};
        if (ni_read_lines(p, NI_OPTIONAL, id_line, &id, "%s/%s/information", gpus_dir,
                          ni_bdf_text(inv->gpu[i].bdf, bdf)) == NI_KNOWN &&
            (!id.model[0] || !is_uuid(id.uuid)))
            ni_report(p->f, NI_F_FACT_UNREADABLE, p->path, "it tells no model, or no UUID");
        ni_copy(inv->gpu[i].uuid, sizeof(inv->gpu[i].uuid), id.uuid);
        if (i == 0)
            ni_copy(first, sizeof(first), id.model);
        if (!id.model[0] || strcmp(id.model, first) != 0)
            inv->gdr.gpus_unordered = true;
    }
}

static int read_minor(struct ni_probe *p, const char *bdf)
{
    int minor = -1;
    if (ni_read_lines(p, NI_REQUIRED, minor_line, &minor, "%s/%s/information", gpus_dir, bdf) ==
            NI_KNOWN &&
        minor < 0)
        ni_report(p->f, NI_F_FACT_UNREADABLE, p->path, "it tells no minor number");
    return minor;
}

/* The NVIDIA driver lists its GPUs under /proc; the container toolkit leaves only the pod's there
   in some modes, all in others. As many as there are device nodes: all are the pod's. Else each
   one's minor number tells. */
static bool probe_nvidia(struct ni_probe *p)
{
    static const char driver_dir[] = "sys/bus/pci/drivers/nvidia";
    uint64_t minors;
    const unsigned nodes = nvidia_nodes(p, &minors);
    if (nodes == 0)
        return false;
    const bool numbered = ni_list(p->root, &p->names, "%s", gpus_dir) == 0 && p->names.n > 0;
    if (!numbered &&
        ni_read_names(p, p->root, NI_OPTIONAL, &p->names, "%s", driver_dir) != NI_KNOWN)
        return false;
    const unsigned gpus = keep_addresses(&p->names);
    p->inv->gdr.gpus_lost = nodes > gpus;
    if (nodes > gpus)
        ni_report(p->f, NI_F_FACT_UNREADABLE, numbered ? gpus_dir : driver_dir,
                  "%u GPUs for %u device nodes", gpus, nodes);
    else if (nodes < gpus && !numbered)
        ni_report(p->f, NI_F_FACT_UNREADABLE, gpus_dir,
                  "which of %u GPUs the %u device nodes are is not told; all count", gpus, nodes);
    const bool all = !numbered || nodes >= gpus;
    for (unsigned i = 0; i < gpus; i++) {
        const char *id = p->names.name[i];
        int minor = numbered && (!all || p->ask->all) ? read_minor(p, id) : -1;
        if (all || (minor >= 0 && minors >> minor & 1))
            add_gpu(p, id, minor, false);
    }
    return true;
}

/* amdgpu's compute node is one for all GPUs; without it ROCm has none. */
static const char kfd[] = "dev/kfd";

static void probe_amd(struct ni_probe *p)
{
    if (ni_is_there(p, kfd) != NI_KNOWN)
        return;
    (void)try_node(p, "kfd");
    ni_read_names(p, p->root, NI_REQUIRED, &p->names, "sys/bus/pci/drivers/amdgpu");
    for (unsigned i = 0; i < p->names.n; i++)
        add_gpu(p, p->names.name[i], -1, true);
}

static void open_driver_line(void *ctx, const char *line)
{
    enum ni_known *known = ctx;
    if (strstr(line, "Open Kernel Module"))
        *known = NI_KNOWN;
}

/* Peer memory other than nvidia-peermem: the files NCCL looks at (2.30.7 transport/net_ib/gdr.cc
   ncclIbGdrModuleLoad), and RCCL (2.30.4, same file): where it lies depends on the kernel. */
static enum ni_known probe_memory_peers(struct ni_probe *p, enum ni_known known)
{
    static const char *const nvidia[] = {
        "sys/kernel/mm/memory_peers/nv_mem/version",
        "sys/kernel/mm/memory_peers/nv_mem_nc/version",
    };
    static const char *const amd[] = {
        "sys/kernel/mm/memory_peers/amdkfd/version",
        "sys/kernel/memory_peers/amdkfd/version",
        "sys/memory_peers/amdkfd/version",
    };
    const bool is_amd = p->inv->gpu[0].amd;
    const char *const *file = is_amd ? amd : nvidia;
    for (size_t i = 0; i < (is_amd ? NI_COUNT(amd) : NI_COUNT(nvidia)) && known != NI_KNOWN; i++) {
        enum ni_known this = ni_is_there(p, "%s", file[i]);
        known = this == NI_ABSENT ? known : this;
    }
    return known;
}

/* The CPUs that are one piece with their GPU, by implementer and part (arch/arm64/include/asm/
   cputype.h): Neoverse V2 (Grace), NVIDIA's Olympus (Vera), Cortex-X925 and A725 (GB10). Only
   arm64 kernels have the file. */
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
    gdr->c2c = cpu == NEOVERSE_V2 || cpu == OLYMPUS;
    gdr->gb10 = cpu == CORTEX_X925 || cpu == CORTEX_A725;
}

static void find_gpus(struct ni_probe *p)
{
    if (p->gpus_found)
        return;
    p->gpus_found = true;
    if (!probe_nvidia(p))
        probe_amd(p);
}

bool ni_has_amd(struct ni_probe *p)
{
    if (ni_is_there(p, kfd) != NI_KNOWN)
        return false;
    find_gpus(p);
    return p->inv->n_gpu > 0 && p->inv->gpu[0].amd;
}

/* What DMA-BUF needs. */
static void probe_dmabuf(struct ni_probe *p)
{
    enum ni_known open = NI_ABSENT;
    const enum ni_known known =
        ni_read_lines(p, NI_OPTIONAL, open_driver_line, &open, "proc/driver/nvidia/version");
    p->inv->gdr.open_driver = known == NI_KNOWN ? open : known;
    ni_probe_kernel(p);
}

void ni_probe_gpus(struct ni_probe *p)
{
    struct ni_gdr *gdr = &p->inv->gdr;
    find_gpus(p);
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
