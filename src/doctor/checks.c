/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of doctor: faults that no variable can correct. None depends on another; the table is
   at the end. */
#include "doctor/checks.h"

#include <string.h>

#include "findings/device.h"
#include "findings/pod.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/gpu.h"
#include "nccl_init/image.h"
#include "nccl_init/inventory.h"
#include "nccl_init/ip.h"
#include "nccl_init/known.h"
#include "nccl_init/net.h"
#include "nccl_init/number.h"
#include "nccl_init/pci.h"
#include "nccl_init/plan.h"
#include "nccl_init/process.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "rules/chosen.h"
#include "rules/decide.h"
#include "rules/hca_node.h"
#include "rules/init_process.h"
#include "rules/slow_rails.h"

/* A check that is being made. */
struct check {
    const struct ni_work *w;
    const struct ni_inventory *inv;
    const struct ni_plan *plan;
    struct ni_findings *f;
    /* Numbers of things that the check could judge, and could not judge. If both are 0 the pod has
       nothing of that kind. */
    unsigned judged, unknown;
    bool reported; /* a rule has reported the fault already */
};

/* Counts one thing that the check looked at. Returns `known`: a fact that is not known is not a
   finding. */
static bool saw(struct check *c, bool known)
{
    c->judged += known;
    c->unknown += !known;
    return known;
}

/* Returns true if the file is known to be there, or known not to be there. */
static bool is_decided(enum ni_known fact)
{
    return fact == NI_KNOWN || fact == NI_ABSENT;
}

/* ---- the pod's RDMA devices: namespace, device node, link, errors ---- */

/* Checks that the pod sees its devices: in exclusive mode a device is seen in one network namespace
   only (drivers/infiniband/core/device.c). */
static void check_netns(struct check *c)
{
    const enum ni_netns_mode mode = c->inv->netns_mode;

    if (mode != NI_NETNS_UNKNOWN || c->inv->n_hca > 0)
        (void)saw(c, mode != NI_NETNS_UNKNOWN);
    if (mode != NI_NETNS_EXCLUSIVE)
        return;
    for (unsigned i = 0; i < c->inv->n_allocation; i++) {
        const struct ni_allocation *a = &c->inv->allocation[i];
        /* one by its device node is named there, but sysfs shows nothing of it */
        const bool hidden = a->hca >= 0 && c->inv->hca[a->hca].n_port == 0;

        if (a->not_rdma || hidden)
            ni_report(c->f, NI_F_RDMA_NETNS_EXCLUSIVE, hidden ? c->inv->hca[a->hca].name : a->id,
                      "netns_mode of this node is exclusive, and this device is not in the pod's "
                      "network namespace: NCCL says `NET/IB : No device found.`");
    }
}

static void check_node(struct check *c, const struct ni_hca *h)
{
    struct ni_text why = NI_TEXT(96);

    (void)saw(c, is_decided(h->uverbs.known));
    if (ni_put_node(&h->uverbs, &why))
        ni_report(c->f, NI_F_HCA_NODE_MISSING, h->name,
                  "%s: NCCL says `NET/IB : Unable to open device %s` and does not use it", why.buf,
                  h->name);
}

/* Counts the ports. The rules hca.ports and ib.pkey have reported what is wrong with them. */
static void check_port(struct check *c, const struct ni_port *port, const char *name)
{
    (void)name;
    c->reported =
        ni_findings_has(c->f, NI_F_HCA_PORT_DOWN) || ni_findings_has(c->f, NI_F_HCA_GUID_NONE) ||
        ni_findings_has(c->f, NI_F_IB_PKEY_EMPTY) || ni_findings_has(c->f, NI_F_IB_PKEY_LIMITED);
    (void)saw(c, port->state.known == NI_KNOWN);
}

/* Checks the limits of the RDMA cgroup: a process has one handle for each HCA that it opens, and
   its PDs, CQs, QPs and MRs together are its objects
   (Documentation/admin-guide/cgroup-v1/rdma.rst). */
static void check_cgroup(struct check *c, const struct ni_hca *h)
{
    enum { FEW_OBJECTS = 2048 }; /* eight ranks need more, for their connections over one HCA */
    const int64_t ranks = c->inv->n_gpu > 0 ? (int64_t)c->inv->n_gpu : 1;

    if (saw(c, h->handles.known == NI_KNOWN && h->objects.known == NI_KNOWN) &&
        (h->handles.v < ranks || h->objects.v < FEW_OBJECTS))
        ni_report(c->f, NI_F_RDMA_CGROUP_LOW, h->name,
                  "the RDMA cgroup allows only hca_handle=%lld hca_object=%lld: NCCL says `Call to "
                  "ibv_create_qp failed with error Resource temporarily unavailable`",
                  (long long)h->handles.v, (long long)h->objects.v);
}

/* Reports the error counters of the link, and those of the transport: "since the driver was loaded,
   62 days at most: symbol_error 3412, link_downed 14". */
static void check_counters(struct check *c, const struct ni_port *port, const char *name)
{
    const struct ni_num uptime = c->inv->self.uptime;
    bool known = false;

    for (int link = 1; link >= 0; link--) {
        struct ni_text t = NI_TEXT(280);
        bool any = false;

        ni_put(&t, "since the driver was loaded");
        if (uptime.known == NI_KNOWN)
            ni_putf(&t, ", %lld days at most", (long long)(uptime.v / 86400) + 1);
        for (unsigned i = 0; i < NI_N_COUNTER; i++) {
            const struct ni_counter *of = &ni_counters[i];
            const struct ni_num n = port->counter[i];

            known = known || n.known == NI_KNOWN;
            if (of->link != link || n.known != NI_KNOWN || n.v < of->least)
                continue;
            ni_putf(&t, "%s%s %lld", any ? ", " : ": ", strchr(of->file, '/') + 1, (long long)n.v);
            any = true;
        }
        if (any)
            ni_report(c->f, link ? NI_F_HCA_ERRORS_LINK : NI_F_HCA_ERRORS_TRANSPORT, name, "%s",
                      t.buf);
    }
    (void)saw(c, known);
}

/* Reports a traffic class that the driver forces: mlx5_ib of MLNX_OFED and DOCA puts it into each
   queue pair that the kernel modifies. */
static void check_traffic_class(struct check *c, const struct ni_port *port, const char *name)
{
    const struct ni_num class = port->traffic_class;

    if (port->link == NI_LINK_ROCE && saw(c, class.known == NI_KNOWN) && class.v >= 0)
        ni_report(c->f, NI_F_HCA_TRAFFIC_CLASS, name,
                  "the driver gives each queue pair traffic class %lld (DSCP %lld), whatever "
                  "NCCL_IB_TC says; queue pairs made through DevX (GIN, IBGDA) keep their own",
                  (long long)class.v, (long long)class.v >> 2);
}

/* ---- the rails: NCCL spreads its traffic evenly, so the slowest one sets the pace ---- */

static void check_rate(struct check *c)
{
    for (unsigned i = 0; i < c->plan->n_chosen; i++)
        (void)saw(c, ni_chosen(c->w, i).port->mbps.known == NI_KNOWN);
    ni_note_slow_rails(c->w);
}

const struct ni_netdev *ni_mtu_netdev(const struct ni_inventory *inv, const struct ni_plan *plan,
                                      int port)
{
    const struct ni_port *p = &inv->port[port];
    const struct ni_hca *hca = &inv->hca[p->hca];
    const int gid = plan->port[port].best;

    if (p->link != NI_LINK_ROCE)
        return NULL;
    if (hca->netdev >= 0)
        return &inv->netdev[hca->netdev];
    return gid >= 0 ? ni_find_netdev(inv, inv->gid[gid].ndev) : NULL;
}

/* Reports rails of 200G and more that all have the MTU of plain Ethernet. RoCE then takes packets of
   1024 bytes (drivers/infiniband/core, ib_addr.h iboe_get_mtu); 4096 need some 100 more. */
static void note_small_mtu(struct check *c, const struct ni_netdev *largest)
{
    enum { PLAIN = 1500, FAST_MBPS = 200000 };
    long long slowest = INT64_MAX;

    for (unsigned i = 0; i < c->plan->n_chosen; i++) {
        const struct ni_num mbps = ni_chosen(c->w, i).port->mbps;

        if (mbps.known != NI_KNOWN)
            return;
        slowest = mbps.v < slowest ? mbps.v : slowest;
    }
    if (largest && largest->mtu.v <= PLAIN && slowest >= FAST_MBPS)
        ni_report(c->f, NI_F_RAIL_MTU_SMALL, largest->name,
                  "MTU %lld on all rails, the slowest of which has %lldG: each RoCE packet carries "
                  "1024 bytes, where an MTU of 4200 or more allows 4096",
                  (long long)largest->mtu.v, slowest / 1000);
}

static void check_mtu(struct check *c)
{
    const struct ni_netdev *small = NULL, *large = NULL;

    for (unsigned i = 0; i < c->plan->n_chosen; i++) {
        const struct ni_chosen r = ni_chosen(c->w, i);
        const struct ni_netdev *d = ni_mtu_netdev(c->inv, c->plan, r.at);
        const bool is_known = d && d->mtu.known == NI_KNOWN;

        if (r.port->link != NI_LINK_ROCE)
            continue;
        (void)saw(c, is_known);
        if (!is_known)
            continue;
        if (!small || d->mtu.v < small->mtu.v)
            small = d;
        if (!large || d->mtu.v > large->mtu.v)
            large = d;
    }
    if (small && small->mtu.v != large->mtu.v)
        ni_report(c->f, NI_F_RAIL_MTU_DIFFERS, small->name,
                  "MTU %lld, but %lld on %s: the rails use packets of different sizes; a switch "
                  "may drop the larger ones, and each loss costs a retry",
                  (long long)small->mtu.v, (long long)large->mtu.v, large->name);
    else if (c->unknown == 0)
        note_small_mtu(c, large);
}

/* ---- the way between the devices: PCIe links, IOMMU, ACS ---- */

static void put_link(struct ni_text *t, const struct ni_num link[NI_PCIE_N])
{
    const long long speed = link[NI_PCIE_SPEED].v;

    ni_putf(t, "x%lld at %lld.%lld GT/s", (long long)link[NI_PCIE_WIDTH].v, speed / 1000,
            speed % 1000 / 100);
}

enum device { HCA, GPU };

/* Reports a PCIe link that runs below what both ends can do. Of a GPU only the width counts,
   because an idle GPU lowers the speed (nvidia-smi: "may be reduced when the GPU is not in use").
   */
static void judge_link(struct check *c, const struct ni_pcie *link, const char *name,
                       enum device device)
{
    const struct ni_num *now = link->now, *most = link->most;
    struct ni_text is = NI_TEXT(48), can = NI_TEXT(48);
    bool known = true, slow = false;

    for (unsigned i = 0; i < NI_PCIE_N; i++) {
        known = known && now[i].known == NI_KNOWN && most[i].known == NI_KNOWN && now[i].v > 0;
        slow = slow || (now[i].v < most[i].v && !(device == GPU && i == NI_PCIE_SPEED));
    }
    if (!saw(c, known) || !slow)
        return;
    put_link(&is, now);
    put_link(&can, most);
    ni_report(c->f, NI_F_PCI_LINK_SLOW, name, "the PCIe link runs %s; device and slot can do %s",
              is.buf, can.buf);
}

static void check_links(struct check *c)
{
    char bdf[NI_BDF_TEXT];

    for (unsigned i = 0; i < c->inv->n_hca; i++) {
        const struct ni_hca *h = &c->inv->hca[i];

        if (ni_is_allocated(h) && h->has_bdf)
            judge_link(c, &h->link, h->name, HCA);
    }
    for (unsigned i = 0; i < c->inv->n_gpu; i++)
        judge_link(c, &c->inv->gpu[i].link, ni_bdf_text(c->inv->gpu[i].bdf, bdf), GPU);
}

/* Checks that the IOMMU does not translate: "DMA" and "DMA-FQ" translate, "identity" does not, and
   without a group there is no IOMMU (drivers/iommu/iommu.c iommu_group_show_type). With NVLink-C2C
   a GPU has another way to memory. */
static void check_iommu(struct check *c, const struct ni_hca *h)
{
    const struct ni_self *s = &c->inv->self;
    const bool fails = c->inv->n_gpu > 0 && !c->inv->gdr.c2c;
    const char *cmdline = "unknown";

    if (s->cmdline_known == NI_KNOWN)
        cmdline = s->cmdline[0] ? s->cmdline : "nothing about it";
    if (h->has_bdf && saw(c, is_decided(h->iommu.known)) && ni_has_prefix(h->iommu.type, "DMA"))
        ni_report(c->f, fails ? NI_F_IOMMU_TRANSLATED : NI_F_IOMMU_SLOW, h->name,
                  "the IOMMU group is of type %s (kernel command line: %s): %s", h->iommu.type,
                  cmdline,
                  fails ? "GPUDirect RDMA fails with IBV_WC_LOC_PROT_ERR (vendor_err 81), or is "
                          "very slow"
                        : "every transfer is slower");
}

/* ---- the GPUs: device nodes, their place beside the HCAs, drivers for GPUDirect RDMA ---- */

/* Returns true if the pod has GPUs of NVIDIA; all GPUs of a pod are of one maker. */
static bool has_nvidia(const struct check *c)
{
    return c->inv->n_gpu > 0 && !c->inv->gpu[0].amd;
}

static void check_gpu_nodes(struct check *c)
{
    static const char *const path[] = {"/dev/nvidiactl", "/dev/nvidia-uvm"};
    const enum ni_known node[] = {c->inv->drivers.nvidiactl, c->inv->drivers.uvm};

    if (!has_nvidia(c))
        return;
    for (unsigned i = 0; i < NI_COUNT(path); i++) {
        if (saw(c, is_decided(node[i])) && node[i] == NI_ABSENT)
            ni_report(
                c->f, NI_F_GPU_NODE_MISSING, path[i],
                "the pod has GPUs, but not this device node: CUDA says `no CUDA-capable device is "
                "detected` or `unknown error`, and ncclCommInitRank fails");
    }
}

/* Returns an HCA below the GPU's PCI switches that the pod was not given, with the link layer in
   use and at least half the rate. NULL: none, or the pod was given another HCA there, chosen or
   not. */
static const struct ni_hca *missing_near(const struct ni_work *w, unsigned gpu)
{
    const struct ni_port *used = ni_chosen(w, 0).port;
    const struct ni_hca *missing = NULL;

    for (unsigned i = 0; i < w->inv->n_port; i++) {
        const struct ni_port *port = &w->inv->port[i];
        const struct ni_hca *h = &w->inv->hca[port->hca];
        const enum ni_distance d = w->plan->distance[gpu][port->hca];

        if (d == NI_DIST_UNKNOWN || d > NI_DIST_PXB)
            continue;
        if (ni_is_allocated(h))
            return NULL;
        if (!missing && ni_is_active(port) && port->link == used->link &&
            port->mbps.known == NI_KNOWN && port->mbps.v * 2 >= used->mbps.v)
            missing = h;
    }
    return w->policy->hcas ? NULL : missing;
}

/* Checks that each GPU has a near HCA. Distances mean nothing on a PCI tree that virtualisation has
   flattened, nor with NVLink-C2C. */
static void check_gpu_place(struct check *c)
{
    const struct ni_inventory *inv = c->inv;

    if (c->plan->n_chosen == 0 || inv->gdr.c2c)
        return;
    c->reported = ni_findings_has(c->f, NI_F_GPU_HCA_PASSED_OVER);
    for (unsigned g = 0; g < inv->n_gpu; g++) {
        const struct ni_near *near = &c->plan->nearest_hca[g];
        const struct ni_pci *pci = &inv->gpu[g].pci;
        const struct ni_hca *missing = missing_near(c->w, g);
        char bdf[NI_BDF_TEXT];

        ni_bdf_text(inv->gpu[g].bdf, bdf);
        if (!saw(c, near->index >= 0 && pci->known == NI_KNOWN && pci->depth > 1))
            continue;
        if (missing)
            ni_report(c->f, NI_F_RAIL_MISSING, bdf,
                      "the node has %s near this GPU (%s), but the pod was not given it; the "
                      "nearest HCA of the pod is %s (%s)",
                      missing->name, ni_distance_text(c->plan->distance[g][missing - inv->hca]),
                      inv->hca[near->index].name, ni_distance_text(near->distance));
        else if (near->distance == NI_DIST_SYS)
            ni_report(c->f, NI_F_GPU_HCA_FAR, bdf,
                      "the pod's nearest HCA, %s, is on another NUMA node (SYS): this GPU's "
                      "traffic crosses the link between the sockets",
                      inv->hca[near->index].name);
    }
}

/* Checks that peer memory and RDMA drivers fit together. NCCL looks for /sys/module/nvidia_peermem
   since 2.23.4, before that only for nv_mem below memory_peers, which some RDMA stacks lack
   (transport/net_ib/gdr.cc ncclIbGdrModuleLoad). The rule gdr.level reports that there is no way at
   all, or one that older NCCL does not see. */
static void check_gdr_drivers(struct check *c)
{
    static const char peermem[] = "nvidia_peermem";
    const struct ni_inventory *inv = c->inv;
    const struct ni_drivers *d = &inv->drivers;
    const enum ni_known open = inv->gdr.open_driver;
    const bool loaded = d->peermem == NI_KNOWN;

    if (!has_nvidia(c) || c->plan->n_chosen == 0)
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
    c->reported = ni_findings_has(c->f, NI_F_GDR_UNAVAILABLE) ||
                  ni_findings_has(c->f, NI_F_GDR_DMABUF_OFF) ||
                  ni_findings_has(c->f, NI_F_GDR_PEERMEM_HIDDEN);
    (void)saw(c, loaded || is_decided(open));
}

/* Checks for an IMEX channel. NCCL asks the driver if NVLink spans nodes (2.30.7 mnnvl.cc); files
   show only the model of the GPU. */
static void check_imex(struct check *c)
{
    const struct ni_drivers *d = &c->inv->drivers;

    if (!ni_has_prefix(c->inv->gpu[0].model, "NVIDIA GB") ||
        ni_user_int(c->w, "NCCL_MNNVL_ENABLE", 2) == 0)
        return;
    if (!saw(c, d->imex == NI_KNOWN) && d->imex == NI_ABSENT)
        ni_report(c->f, NI_F_IMEX_CHANNEL_MISSING, "/dev/nvidia-caps-imex-channels",
                  "the GPU is an %s, and the pod has no IMEX channel: if NVLink spans nodes, "
                  "NCCL ends with `MNNVL ... is available but not working on this system`",
                  c->inv->gpu[0].model);
}

/* Checks for GDRCopy or PeerMappingOverride, of which NVSHMEM's IBGDA needs one on x86; from 3.4.5
   on the CPU helps if both are missing (NVSHMEM's changelog). */
static void check_ibgda(struct check *c)
{
    const struct ni_drivers *d = &c->inv->drivers;

    if ((c->w->policy->targets & NI_FOR_NVSHMEM) == 0 || !has_nvidia(c) ||
        c->inv->gdr.cpu != NI_ABSENT)
        return;
    if (!saw(c, d->peer_mapping == NI_KNOWN || d->gdrdrv == NI_KNOWN) &&
        d->peer_mapping == NI_ABSENT)
        ni_report(c->f, NI_F_NVSHMEM_IBGDA, "/dev/gdrdrv",
                  "%s, and the NVIDIA driver runs without PeerMappingOverride=1: NVSHMEM's IBGDA "
                  "fails before 3.4.5, and later is slow",
                  d->gdrdrv == NI_ABSENT ? "not in the container" : "cannot be opened");
}

/* ---- the container: locked memory, shared memory, host name, PID 1 ---- */

/* Checks that the limit is known. The rule memlock.raise reports one that is too low, and why. */
static void check_memlock(struct check *c)
{
    const struct ni_self *s = &c->inv->self;

    c->reported =
        ni_findings_has(c->f, NI_F_MEMLOCK_LOW) || ni_findings_has(c->f, NI_F_MEMLOCK_TOO_LOW);
    if (!c->reported && c->plan->n_chosen > 0)
        (void)saw(c, s->memlock_soft.known == NI_KNOWN && s->memlock_hard.known == NI_KNOWN);
}

/* Checks the size of /dev/shm: ranks of one node that cannot use NVLink or PCIe exchange data
   through files there, some 10 MB for each connection (transport/shm.cc); runtimes give 64 MiB. */
/* Returns true if CUDA allocates host memory at the GPU's NUMA node: it needs processors and memory
   there. */
static bool has_host_memory(const struct ni_gpu *g)
{
    return g->numa_memory == NI_KNOWN && g->numa_cpus == NI_KNOWN;
}

/* Checks that the ranks of the pod's GPUs share host memory in one way. Since 2.26.3 NCCL tries in
   each process if CUDA allocates host memory at the NUMA node of its GPU, not that of the thread, and
   takes a file in /dev/shm if not (2.26.3 to 2.30.7 misc/cudawrap.cc ncclCuMemHostEnable;
   NVIDIA/nccl#2190). It tries with drivers of CUDA 12.6 and later, 560. */
static void check_host_memory(struct check *c)
{
    enum { CUDA_12_6 = 560 };
    const struct ni_inventory *inv = c->inv;
    const char *driver = inv->drivers.nvidia_version;
    const struct ni_gpu *lacking = NULL;
    unsigned whole = 0;
    uint64_t major;
    char bdf[NI_BDF_TEXT];

    if (!has_nvidia(c) || ni_user_int(c->w, "NCCL_CUMEM_HOST_ENABLE", -1) == 0 ||
        ni_user_int(c->w, "NCCL_CUMEM_ENABLE", -1) == 0)
        return;
    if (ni_parse_u64((struct ni_span){driver, strcspn(driver, ".")}, INT32_MAX, &major) == 0 &&
        major < CUDA_12_6)
        return;
    for (unsigned i = 0; i < inv->n_gpu; i++) {
        const struct ni_gpu *g = &inv->gpu[i];

        whole += has_host_memory(g);
        if (!lacking && (g->numa_memory == NI_ABSENT || g->numa_cpus == NI_ABSENT))
            lacking = g;
    }
    if (lacking && whole > 0)
        ni_report(
            c->f, NI_F_GPU_NUMA_EMPTY, ni_bdf_text(lacking->bdf, bdf),
            "its NUMA node, %lld, has no %s, and that of another GPU has: with NCCL 2.26.3 and "
            "later ranks disagree about how they share host memory, and the job ends with "
            "`Error while attaching to shared memory segment`",
            (long long)lacking->pci.numa.v,
            lacking->numa_memory == NI_ABSENT ? "memory" : "processors");
}

static void check_shm(struct check *c)
{
    static const int64_t by_default = INT64_C(64) << 20, advised = INT64_C(1) << 30;
    const struct ni_num shm = c->inv->self.shm;

    if (c->inv->n_gpu > 0 && saw(c, shm.known == NI_KNOWN) && shm.v < advised)
        ni_report(
            c->f, shm.v <= by_default && c->inv->n_gpu > 1 ? NI_F_SHM_DEFAULT : NI_F_SHM_SMALL,
            "/dev/shm",
            "%lld MiB: NCCL says `Error while creating shared memory segment ... No space left on "
            "device`, then `unhandled system error`; data loaders die of bus errors",
            (long long)(shm.v >> 20));
    check_host_memory(c);
}

static void check_host_name(struct check *c)
{
    const struct ni_self *s = &c->inv->self;
    const struct ni_setting *gloo = ni_plan_get(c->plan, "GLOO_SOCKET_IFNAME");
    uint8_t ip[NI_GID_BYTES];

    if (ni_user_value(c->w, "GLOO_SOCKET_IFNAME") || (gloo && gloo->value[0]))
        return;
    if (saw(c, is_decided(s->host_known)) && s->host_known == NI_KNOWN &&
        (strcmp(s->host_ip, "::1") == 0 ||
         (ni_parse_ipv4(ni_span_of(s->host_ip), ip) == 0 && ni_ip_is_loopback(ip))))
        ni_report(c->f, NI_F_HOST_NAME_LOOPBACK, "/etc/hosts",
                  "the host's own name resolves to %s: Gloo (PyTorch) listens on that address, and "
                  "other pods cannot reach it",
                  s->host_ip);
}

static void check_init(struct check *c)
{
    const struct ni_self *s = &c->inv->self;

    if (saw(c, s->pid.known == NI_KNOWN && (s->pid.v == 1 || s->init_known == NI_KNOWN)))
        ni_note_shell(c->w);
}

/* ---- the image ---- */

/* Reports an HCA that libibverbs of the image cannot drive. It loads the providers that files of
   /etc/libibverbs.d name, and shows no HCA for which none was loaded (rdma-core 56.1
   libibverbs/dynamic_driver.c, init.c). A provider that is found anywhere counts. */
static void check_provider(struct check *c, const struct ni_hca *h, const char *verbs)
{
    const struct ni_image *image = c->inv->image;
    const char *provider = ni_provider_of(h->driver);

    if (!saw(c, provider && image->known == NI_KNOWN))
        return;
    const struct ni_image_file *file = ni_find_in_image(image, NI_IMAGE_PROVIDER, provider);
    if (!file)
        ni_report(
            c->f, NI_F_IMAGE_PROVIDER_MISSING, h->name,
            "this image cannot drive %s: it has /%s, but no provider lib%s-rdmav*.so, so NCCL "
            "finds no such HCA (by the names of files; nothing was loaded)",
            provider, verbs, provider);
    else if (!ni_find_in_image(image, NI_IMAGE_DRIVER, provider))
        ni_report(c->f, NI_F_IMAGE_PROVIDER_MISSING, h->name,
                  "this image cannot drive %s: it has /%s and /%s, but no file of "
                  "/etc/libibverbs.d says `driver %s`, so NCCL finds no such HCA (by the names of "
                  "files; nothing was loaded)",
                  provider, verbs, file->path, provider);
}

/* Checks what NCCL needs of the image for RDMA. Where the image has neither libibverbs nor NCCL, it
   is not the job's, or the command brings its own. */
static void check_image(struct check *c)
{
    const struct ni_image *image = c->inv->image;
    const struct ni_image_file *verbs = ni_find_in_image(image, NI_IMAGE_VERBS, NULL);
    const struct ni_image_file *nccl = ni_find_in_image(image, NI_IMAGE_NCCL, NULL);
    int last = -1;

    if (!image || c->plan->transport != NI_NET_RDMA || c->plan->n_chosen == 0)
        return;
    if (image->late)
        (void)saw(c, false);
    if (!verbs && nccl && saw(c, image->known == NI_KNOWN))
        ni_report(c->f, NI_F_IMAGE_VERBS_MISSING, "libibverbs.so.1",
                  "this image has NCCL (/%s), but no libibverbs where the loader looks: NCCL uses "
                  "sockets, unless the command says where one is (LD_LIBRARY_PATH)",
                  nccl->path);
    for (unsigned i = 0; verbs && i < c->plan->n_chosen; i++) {
        const int hca = ni_chosen(c->w, i).port->hca;

        if (hca != last)
            check_provider(c, &c->inv->hca[hca], verbs->path);
        last = hca;
    }
}

/* ---- the table ---- */

/* A check has one function: for the node as a whole, for each HCA or for each port of the pod. */
static const struct {
    const char *id; /* permanent, dotted */
    void (*whole)(struct check *c);
    void (*hca)(struct check *c, const struct ni_hca *h);
    void (*port)(struct check *c, const struct ni_port *port, const char *name);
} checks[] = {
    {"rdma.netns", .whole = check_netns},       {"hca.node", .hca = check_node},
    {"hca.port", .port = check_port},           {"rdma.cgroup", .hca = check_cgroup},
    {"rail.rate", .whole = check_rate},         {"rail.mtu", .whole = check_mtu},
    {"hca.counters", .port = check_counters},   {"hca.qos", .port = check_traffic_class},
    {"pci.link", .whole = check_links},         {"iommu.type", .hca = check_iommu},
    {"gpu.node", .whole = check_gpu_nodes},     {"gpu.place", .whole = check_gpu_place},
    {"gdr.driver", .whole = check_gdr_drivers}, {"gpu.imex", .whole = check_imex},
    {"nvshmem.ibgda", .whole = check_ibgda},    {"memlock.limit", .whole = check_memlock},
    {"shm.size", .whole = check_shm},           {"host.name", .whole = check_host_name},
    {"pid1.init", .whole = check_init},         {"image.rdma", .whole = check_image},
};

_Static_assert(NI_COUNT(checks) <= NI_MAX_CHECK, "room for each");

static enum ni_check_outcome outcome_of(const struct check *c, bool found)
{
    if (found)
        return NI_CHECK_FOUND;
    if (c->judged > 0)
        return NI_CHECK_OK;
    return c->unknown > 0 ? NI_CHECK_UNKNOWN : NI_CHECK_IDLE;
}

void ni_diagnose(const struct ni_work *w, struct ni_diagnosis *ret)
{
    const struct ni_inventory *inv = w->inv;

    ret->n = 0;
    for (unsigned i = 0; i < NI_COUNT(checks); i++) {
        struct check c = {.w = w, .inv = inv, .plan = w->plan, .f = w->f};
        const unsigned before = w->f->n + w->f->dropped;

        if (checks[i].whole)
            checks[i].whole(&c);
        for (unsigned k = 0; checks[i].hca && k < inv->n_hca; k++) {
            if (ni_is_allocated(&inv->hca[k]))
                checks[i].hca(&c, &inv->hca[k]);
        }
        for (unsigned k = 0; checks[i].port && k < inv->n_port; k++) {
            if (ni_is_allocated(&inv->hca[inv->port[k].hca]))
                checks[i].port(&c, &inv->port[k], ni_port_name(inv, (int)k).text);
        }
        const bool found = c.reported || w->f->n + w->f->dropped > before;
        ret->at[ret->n].id = checks[i].id;
        ret->at[ret->n].outcome = outcome_of(&c, found);
        ret->n++;
    }
}
