/* SPDX-License-Identifier: Apache-2.0 */
/* What each check of doctor saw: its title and the value, for people. The values are those of the
   inventory that checks.c judges. */
#include "doctor/seen.h"

#include <inttypes.h>
#include <string.h>

#include "doctor/checks.h"
#include "findings/device.h"
#include "findings/pod.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/gpu.h"
#include "nccl_init/image.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/net.h"
#include "nccl_init/number.h"
#include "nccl_init/pci.h"
#include "nccl_init/plan.h"
#include "nccl_init/process.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "print/words.h"
#include "rules/hca_node.h"

/* ---- numbers of several things: "9000", or "1500 to 9000" ---- */

struct range {
    int64_t least, most;
    unsigned n;
};

static void add_to_range(struct range *range, struct ni_num num)
{
    if (num.known != NI_KNOWN)
        return;
    if (range->n == 0 || num.v < range->least)
        range->least = num.v;
    if (range->n == 0 || num.v > range->most)
        range->most = num.v;
    range->n++;
}

static void put_range(struct ni_text *t, const struct range *range, double unit, const char *name)
{
    if (range->n == 0)
        return;
    if (range->least != range->most)
        ni_putf(t, "%g%s to ", (double)range->least / unit, name);
    ni_putf(t, "%g%s", (double)range->most / unit, name);
}

/* ---- the HCAs and ports of the pod ---- */

const char *ni_netns_word(const struct ni_inventory *inv)
{
    static const char *const words[] = {[NI_NETNS_UNKNOWN] = NULL,
                                        [NI_NETNS_SHARED] = "shared",
                                        [NI_NETNS_EXCLUSIVE] = "exclusive"};

    return words[inv->netns_mode];
}

static void put_netns(struct ni_text *t, const struct ni_view *view)
{
    const char *word = ni_netns_word(view->inv);

    ni_put(t, word ? word : "");
}

static void put_nodes(struct ni_text *t, const struct ni_view *view)
{
    const unsigned n = ni_allocated_hcas(view->inv);
    unsigned open = 0;

    for (unsigned i = 0; i < n; i++)
        open += !ni_lacks_node(&view->inv->hca[i].uverbs);
    ni_putf(t, "%u of %u open", open, n);
}

static void put_links(struct ni_text *t, const struct ni_view *view)
{
    const struct ni_inventory *inv = view->inv;
    struct range rates = {.n = 0};
    unsigned n = 0, active = 0;

    for (unsigned i = 0; i < inv->n_port; i++) {
        const struct ni_port *port = &inv->port[i];

        if (!ni_is_allocated(&inv->hca[port->hca]))
            continue;
        n++;
        active += ni_is_active(port);
        if (ni_is_active(port))
            add_to_range(&rates, port->mbps);
    }
    ni_putf(t, "%u of %u ACTIVE", active, n);
    ni_put(t, rates.n > 0 ? ", " : "");
    put_range(t, &rates, 1000, "G");
}

static void put_rates(struct ni_text *t, const struct ni_view *view)
{
    struct range rates = {.n = 0};

    for (unsigned i = 0; i < view->plan->n_chosen; i++)
        add_to_range(&rates, view->inv->port[view->plan->chosen[i]].mbps);
    ni_putf(t, "%u rail%s, ", view->plan->n_chosen, ni_plural(view->plan->n_chosen));
    put_range(t, &rates, 1000, "G");
}

static void put_mtu(struct ni_text *t, const struct ni_view *view)
{
    struct range mtus = {.n = 0};

    for (unsigned i = 0; i < view->plan->n_chosen; i++) {
        const struct ni_netdev *d = ni_mtu_netdev(view->inv, view->plan, view->plan->chosen[i]);

        if (d)
            add_to_range(&mtus, d->mtu);
    }
    put_range(t, &mtus, 1, "");
}

/* Puts how many objects the RDMA cgroup allows on an HCA, the lowest of the pod's HCAs. */
static void put_cgroup(struct ni_text *t, const struct ni_view *view)
{
    struct range objects = {.n = 0};

    for (unsigned i = 0; i < ni_allocated_hcas(view->inv); i++)
        add_to_range(&objects, view->inv->hca[i].objects);
    if (objects.n > 0 && objects.least == NI_UNLIMITED)
        ni_put(t, "no limit");
    else if (objects.n > 0)
        ni_putf(t, "%" PRId64 " objects", objects.least);
}

static void put_traffic_class(struct ni_text *t, const struct ni_view *view)
{
    for (unsigned i = 0; i < view->inv->n_port; i++) {
        const struct ni_num class = view->inv->port[i].traffic_class;

        if (class.known != NI_KNOWN || !ni_is_allocated(&view->inv->hca[view->inv->port[i].hca]))
            continue;
        if (class.v >= 0)
            ni_putf(t, "%" PRId64 " for all", class.v);
        else
            ni_put(t, "the job's own");
        return;
    }
}

/* ---- ways between devices ---- */

static void put_pcie(struct ni_text *t, const struct ni_view *view)
{
    const struct ni_inventory *inv = view->inv;
    struct range lanes = {.n = 0};

    for (unsigned i = 0; i < ni_allocated_hcas(inv); i++)
        add_to_range(&lanes, inv->hca[i].link.now[NI_PCIE_WIDTH]);
    for (unsigned i = 0; i < inv->n_gpu; i++)
        add_to_range(&lanes, inv->gpu[i].link.now[NI_PCIE_WIDTH]);
    put_range(t, &lanes, 1, lanes.most == 1 ? " lane" : " lanes");
}

static void put_iommu(struct ni_text *t, const struct ni_view *view)
{
    const char *type = NULL;

    for (unsigned i = 0; i < ni_allocated_hcas(view->inv); i++) {
        const struct ni_hca *hca = &view->inv->hca[i];
        const char *own = hca->iommu.type;

        if (!hca->has_bdf || (hca->iommu.known != NI_KNOWN && hca->iommu.known != NI_ABSENT))
            continue;
        if (hca->iommu.known == NI_ABSENT)
            own = "none";
        if (!type || ni_has_prefix(own, "DMA"))
            type = own;
    }
    if (type && ni_has_prefix(type, "DMA"))
        ni_put(t, "translates: ");
    ni_quote(t, type ? type : "");
}

static void put_place(struct ni_text *t, const struct ni_view *view)
{
    enum ni_distance farthest = NI_DIST_UNKNOWN;

    for (unsigned i = 0; i < view->inv->n_gpu; i++) {
        const struct ni_near *near = &view->plan->nearest_hca[i];
        const struct ni_taken *taken = ni_plan_taken(view->plan, view->inv, i);
        const enum ni_distance its = taken ? taken->distance : near->distance;

        if (near->index >= 0 && its > farthest)
            farthest = its;
    }
    if (farthest != NI_DIST_UNKNOWN)
        ni_putf(t, "%s at most", ni_distance_text(farthest));
}

/* ---- drivers of the GPUs ---- */

static void put_gpu_nodes(struct ni_text *t, const struct ni_view *view)
{
    const struct ni_drivers *d = &view->inv->drivers;
    const bool ctl = d->nvidiactl == NI_KNOWN, uvm = d->uvm == NI_KNOWN;

    ni_put(t, ctl ? "nvidiactl" : "");
    ni_put(t, ctl && uvm ? ", " : "");
    ni_put(t, uvm ? "nvidia-uvm" : "");
    ni_put(t, ctl || uvm ? "" : "none");
}

static void put_gdr(struct ni_text *t, const struct ni_view *view)
{
    const struct ni_inventory *inv = view->inv;
    const bool dmabuf = ni_has_dmabuf(inv), peermem = inv->gdr.peermem == NI_KNOWN;

    ni_put(t, peermem ? "peer memory module" : "");
    ni_put(t, peermem && dmabuf ? ", " : "");
    ni_put(t, dmabuf ? "DMA-BUF" : "");
    ni_put(t, peermem || dmabuf ? "" : "no way found");
}

static void put_imex(struct ni_text *t, const struct ni_view *view)
{
    ni_put(t, view->inv->drivers.imex == NI_KNOWN ? "present" : "missing");
}

static void put_ibgda(struct ni_text *t, const struct ni_view *view)
{
    const struct ni_drivers *d = &view->inv->drivers;

    if (d->peer_mapping == NI_KNOWN)
        ni_put(t, "PeerMappingOverride=1");
    else
        ni_put(t, d->gdrdrv == NI_KNOWN ? "GDRCopy" : "missing");
}

/* ---- the container ---- */

static void put_memlock(struct ni_text *t, const struct ni_view *view)
{
    const struct ni_num soft = view->inv->self.memlock_soft;
    const struct ni_limit *to = &view->plan->memlock;

    if (soft.known != NI_KNOWN)
        return;
    ni_put_bytes(t, soft.v);
    if (to->soft > soft.v) {
        ni_put(t, ", would be raised to ");
        ni_put_bytes(t, to->soft);
    }
}

static void put_shm(struct ni_text *t, const struct ni_view *view)
{
    if (view->inv->self.shm.known == NI_KNOWN)
        ni_put_bytes(t, view->inv->self.shm.v);
}

static void put_host_name(struct ni_text *t, const struct ni_view *view)
{
    const struct ni_self *s = &view->inv->self;

    if (s->host_known == NI_KNOWN)
        ni_quote(t, s->host_ip);
    else
        ni_put(t, s->host_known == NI_ABSENT ? "not in /etc/hosts" : "");
}

static void put_pid1(struct ni_text *t, const struct ni_view *view)
{
    const struct ni_self *s = &view->inv->self;

    if (s->pid.known == NI_KNOWN && s->pid.v == 1)
        ni_put(t, "the command itself");
    else
        ni_quote(t, s->init);
}

/* ---- the image ---- */

static void put_image_version(struct ni_text *t, const struct ni_image *image,
                              enum ni_image_kind kind, const char *name)
{
    const struct ni_image_file *f = ni_find_in_image(image, kind, NULL);

    if (!f)
        return;
    ni_putf(t, "%s%s", t->len > 0 ? ", " : "", name);
    ni_put(t, f->version[0] ? " " : "");
    ni_quote(t, f->version);
}

/* "libibverbs 1.14.56.1 with mlx5, NCCL 2.28.9" */
static void put_image(struct ni_text *t, const struct ni_view *view)
{
    const struct ni_image *image = view->inv->image;
    const char *last = NULL;
    struct ni_text own = NI_TEXT(256);

    put_image_version(&own, image, NI_IMAGE_VERBS, "libibverbs");
    for (unsigned i = 0; own.len > 0 && i < view->plan->n_chosen; i++) {
        const struct ni_port *port = &view->inv->port[view->plan->chosen[i]];
        const char *provider = ni_provider_of(view->inv->hca[port->hca].driver);

        if (!provider || provider == last || !ni_find_in_image(image, NI_IMAGE_PROVIDER, provider))
            continue;
        ni_putf(&own, "%s%s", last ? " and " : " with ", provider);
        last = provider;
    }
    put_image_version(&own, image, NI_IMAGE_NCCL, "NCCL");
    put_image_version(&own, image, NI_IMAGE_RCCL, "RCCL");
    ni_put(t, own.buf);
}

/* ---- the table ---- */

static const struct {
    const char *id, *title;
    void (*put)(struct ni_text *t, const struct ni_view *view);
} rows[] = {
    {"rdma.netns", "RDMA netns", put_netns},    {"hca.node", "device nodes", put_nodes},
    {"hca.port", "links", put_links},           {"rdma.cgroup", "RDMA cgroup", put_cgroup},
    {"rail.rate", "speed", put_rates},          {"rail.mtu", "MTU", put_mtu},
    {"hca.counters", "error counters", NULL},   {"hca.qos", "traffic class", put_traffic_class},
    {"pci.link", "PCIe links", put_pcie},       {"iommu.type", "IOMMU", put_iommu},
    {"gpu.node", "GPU control", put_gpu_nodes}, {"gpu.place", "GPU to HCA", put_place},
    {"gdr.driver", "GPUDirect", put_gdr},       {"gpu.imex", "IMEX channel", put_imex},
    {"nvshmem.ibgda", "IBGDA", put_ibgda},      {"memlock.limit", "memlock", put_memlock},
    {"shm.size", "/dev/shm", put_shm},          {"host.name", "host name", put_host_name},
    {"pid1.init", "PID 1", put_pid1},           {"image.rdma", "image", put_image},
};

const char *ni_check_title(const char *id)
{
    for (unsigned i = 0; i < NI_COUNT(rows); i++) {
        if (strcmp(rows[i].id, id) == 0)
            return rows[i].title;
    }
    return id;
}

void ni_put_seen(struct ni_text *t, const char *id, const struct ni_view *view)
{
    for (unsigned i = 0; i < NI_COUNT(rows); i++) {
        if (strcmp(rows[i].id, id) == 0 && rows[i].put)
            rows[i].put(t, view);
    }
}

const char *ni_check_of_finding(ni_finding_number id)
{
    static const struct {
        ni_finding_number finding;
        const char *check;
    } of[] = {
        {NI_F_RDMA_NETNS_EXCLUSIVE, "rdma.netns"},
        {NI_F_HCA_NODE_MISSING, "hca.node"},
        {NI_F_HCA_NODE_LOST, "hca.node"},
        {NI_F_ALLOC_NO_UVERBS, "hca.node"},
        {NI_F_GPU_HCA_PASSED_OVER, "gpu.place"},
        {NI_F_HCA_PORT_DOWN, "hca.port"},
        {NI_F_HCA_GUID_NONE, "hca.port"},
        {NI_F_IB_PKEY_EMPTY, "hca.port"},
        {NI_F_IB_PKEY_LIMITED, "hca.port"},
        {NI_F_RDMA_CGROUP_LOW, "rdma.cgroup"},
        {NI_F_RAIL_RATE_DIFFERS, "rail.rate"},
        {NI_F_RAIL_SLOW, "rail.rate"},
        {NI_F_HCA_PORT_SLOW, "rail.rate"},
        {NI_F_RAIL_MTU_DIFFERS, "rail.mtu"},
        {NI_F_RAIL_MTU_SMALL, "rail.mtu"},
        {NI_F_HCA_ERRORS_LINK, "hca.counters"},
        {NI_F_HCA_ERRORS_TRANSPORT, "hca.counters"},
        {NI_F_HCA_TRAFFIC_CLASS, "hca.qos"},
        {NI_F_PCI_LINK_SLOW, "pci.link"},
        {NI_F_IOMMU_TRANSLATED, "iommu.type"},
        {NI_F_IOMMU_SLOW, "iommu.type"},
        {NI_F_GPU_NODE_MISSING, "gpu.node"},
        {NI_F_GPU_HCA_FAR, "gpu.place"},
        {NI_F_RAIL_MISSING, "gpu.place"},
        {NI_F_GDR_DRIVER_ORDER, "gdr.driver"},
        {NI_F_GDR_PEERMEM_HIDDEN, "gdr.driver"},
        {NI_F_GDR_UNAVAILABLE, "gdr.driver"},
        {NI_F_GDR_DMABUF_OFF, "gdr.driver"},
        {NI_F_IMEX_CHANNEL_MISSING, "gpu.imex"},
        {NI_F_NVSHMEM_IBGDA, "nvshmem.ibgda"},
        {NI_F_MEMLOCK_LOW, "memlock.limit"},
        {NI_F_MEMLOCK_TOO_LOW, "memlock.limit"},
        {NI_F_GPU_NUMA_EMPTY, "shm.size"},
        {NI_F_SHM_DEFAULT, "shm.size"},
        {NI_F_SHM_SMALL, "shm.size"},
        {NI_F_HOST_NAME_LOOPBACK, "host.name"},
        {NI_F_EXEC_PID1_NO_INIT, "pid1.init"},
        {NI_F_IMAGE_PROVIDER_MISSING, "image.rdma"},
        {NI_F_IMAGE_VERBS_MISSING, "image.rdma"},
    };

    for (unsigned i = 0; i < NI_COUNT(of); i++) {
        if (of[i].finding == id)
            return of[i].check;
    }
    return NULL;
}

const char *ni_finding_title(const struct ni_view *view, const struct ni_finding *f)
{
    static const char *const titles[][2] = {
        {"alloc.", "allocation"},  {"caps.", "capabilities"}, {"conf.", "nccl.conf"},
        {"fact.", "facts"},        {"gdr.", "GPUDirect"},     {"gid.", "GIDs"},
        {"hca.", "HCAs"},          {"net.", "network"},       {"nics.", "NICs"},
        {"option.", "options"},    {"require.", "demands"},   {"socket.", "interfaces"},
        {"user.", "your setting"}, {"verbs.", "self-test"},
    };
    const struct ni_setting *setting = ni_plan_get(view->plan, f->subject);

    if (setting && setting->origin == NI_FROM_CONF)
        return "nccl.conf";
    for (unsigned i = 0; i < NI_COUNT(titles); i++) {
        if (ni_has_prefix(ni_finding_id(f->id), titles[i][0]))
            return titles[i][1];
    }
    return "node";
}
