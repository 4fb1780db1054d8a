/* SPDX-License-Identifier: Apache-2.0 */
/* doctor's checks: what no variable can mend. None depends on another; the table is at the end. */
#include <string.h>

#include "rule.h"

/* One check at work. */
struct check {
    const struct ni_work *w;
    const struct ni_inventory *inv;
    const struct ni_plan *plan;
    struct ni_findings *f;
    /* Of the things it looked at: those that it could judge, and those that it could not. None of
       either: there is nothing of that kind here. */
    unsigned judged, unknown;
    bool told; /* a rule has told what is wrong */
};

/* Counts one thing. Returns known: a fact that is not known is no finding. */
static bool saw(struct check *c, bool known)
{
    c->judged += known;
    c->unknown += !known;
    return known;
}

static bool is_told_apart(enum ni_known fact) /* there, or not there */
{
    return fact == NI_KNOWN || fact == NI_ABSENT;
}

static bool has_told(const struct check *c, enum ni_finding_id id)
{
    return ni_findings_has(c->f, id);
}

/* Names for a subject: as many as fit, then "and N more". */
struct names {
    char buf[80];
    unsigned n, left_out;
};

static void add_name(struct names *names, const char *name)
{
    enum { TAIL = 16 }; /* " and 4294967 more" is not to be expected */
    const size_t len = strlen(names->buf);
    if (len + 2 + strlen(name) + TAIL >= sizeof(names->buf))
        names->left_out++;
    else
        (void)ni_format(names->buf + len, sizeof(names->buf) - len, "%s%s",
                        names->n++ > 0 ? ", " : "", name);
}

static const char *end_names(struct names *names)
{
    const size_t len = strlen(names->buf);
    if (names->left_out > 0)
        (void)ni_format(names->buf + len, sizeof(names->buf) - len, " and %u more",
                        names->left_out);
    return names->buf;
}

/* ---- the pod's RDMA devices: can they be seen and opened, is there a link, what went wrong ---- */

/* In exclusive mode a device is seen in one network namespace only
   (drivers/infiniband/core/device.c). */
static void check_netns(struct check *c)
{
    const enum ni_netns_mode mode = c->inv->netns_mode;
    if (mode != NI_NETNS_UNKNOWN || c->inv->n_hca > 0)
        (void)saw(c, mode != NI_NETNS_UNKNOWN);
    for (unsigned i = 0; mode == NI_NETNS_EXCLUSIVE && i < c->inv->n_claim; i++) {
        if (c->inv->claim[i].state == NI_CLAIM_NOT_RDMA)
            ni_report(c->f, NI_F_RDMA_NETNS_EXCLUSIVE, c->inv->claim[i].id,
                      "each RDMA device of this node is in one network namespace only (netns_mode "
                      "exclusive), and this one is not in the pod's: NCCL says `NET/IB : No device "
                      "found.` and uses sockets");
    }
}

static void check_node(struct check *c, const struct ni_hca *h)
{
    const enum ni_known opens = ni_known_of(h->uverbs.err);
    const bool denied = opens != NI_KNOWN && opens != NI_ABSENT;
    struct ni_text why = NI_TEXT(96);
    (void)saw(c, is_told_apart(h->uverbs.known));
    if (ni_put_node(&h->uverbs, &why))
        ni_report(c->f, denied ? NI_F_HCA_NODE_DENIED : NI_F_HCA_NODE_MISSING, h->name,
                  "%s: NCCL says `NET/IB : Unable to open device %s` and goes without this HCA, "
                  "over sockets if it has no other",
                  why.buf, h->name);
}

/* Why a port is not ACTIVE, as far as its physical state says (enum ib_port_phys_state,
   include/rdma/ib_verbs.h). The rule hca.ports has told that it is not. */
static void check_port(struct check *c, const struct ni_port *port, const char *name)
{
    enum { POLLING = 2, DISABLED = 3, TRAINING = 4, LINK_UP = 5, RECOVERY = 6 };
    const struct ni_hca *h = &c->inv->hca[port->hca];
    const int64_t state = port->phys_state.v;
    c->told = has_told(c, NI_F_HCA_PORT_DOWN);
    if (!saw(c, port->state.known == NI_KNOWN) || port->state.v == NI_PORT_ACTIVE ||
        port->phys_state.known != NI_KNOWN)
        return;
    if (state == DISABLED)
        ni_report(c->f, NI_F_HCA_PORT_DISABLED, name, "physical state Disabled: %s%s",
                  h->is_vf ? "the VF is attached to no network, or its link state is `disable`"
                  : port->link == NI_LINK_ROCE ? "its interface is down or has no carrier"
                                               : "the port is switched off",
                  h->netdev_known == NI_ABSENT ? "; it has no interface in this pod" : "");
    else if (state == POLLING || state == TRAINING || state == RECOVERY)
        ni_report(c->f, NI_F_HCA_PORT_POLLING, name,
                  "physical state %s: the link has no stable signal",
                  state == POLLING    ? "Polling"
                  : state == TRAINING ? "PortConfigurationTraining"
                                      : "LinkErrorRecovery");
    else if (state == LINK_UP && port->link == NI_LINK_IB)
        ni_report(c->f, NI_F_HCA_PORT_NO_SM, name,
                  "the link is up, but no subnet manager has made the port ACTIVE");
}

/* A VF comes with an interface. A shared PF does not: its GIDs are those of macvlan interfaces. */
static void check_netdev(struct check *c, const struct ni_hca *h)
{
    bool active = false, own_gid = false;
    for (unsigned k = 0; k < h->n_port; k++) {
        const struct ni_port *port = &c->inv->port[h->first_port + (int)k];
        active = active || (port->link == NI_LINK_ROCE && ni_is_active(port));
        for (unsigned i = 0; i < port->n_gid; i++)
            own_gid = own_gid || ni_port_gid(c->inv, port, i)->own != NI_OWN_FOREIGN;
    }
    if (!h->is_vf || !active)
        return;
    if (saw(c, is_told_apart(h->netdev_known)) && h->netdev_known == NI_ABSENT && !own_gid)
        ni_report(c->f, NI_F_HCA_NETDEV_NONE, h->name,
                  "the VF's link is up, but its interface is not in this pod: no GID of the VF is "
                  "the pod's, and NCCL ends with `no socket interface found` if NCCL_SOCKET_IFNAME "
                  "names that interface");
}

static void check_cm(struct check *c)
{
    const enum ni_known cm = c->inv->rdma_cm;
    bool any = false;
    for (unsigned i = 0; i < c->inv->n_hca; i++)
        any = any || (ni_is_given(&c->inv->hca[i]) && c->inv->hca[i].uverbs.known == NI_KNOWN);
    if (any && saw(c, cm != NI_UNSET) && cm != NI_KNOWN)
        ni_report(c->f, NI_F_RDMA_CM_MISSING, "/dev/infiniband/rdma_cm",
                  "%s: programs that use librdmacm fail; NCCL does not use it",
                  cm == NI_ABSENT ? "not in the container" : "cannot be opened");
}

/* A process has one handle for each HCA it opens, and objects are its PDs, CQs, QPs and MRs
   together (Documentation/admin-guide/cgroup-v1/rdma.rst). */
static void check_cgroup(struct check *c, const struct ni_hca *h)
{
    enum { FEW_OBJECTS = 2048 }; /* eight ranks, each some connections to its peers over each HCA */
    const int64_t ranks = c->inv->n_gpu > 0 ? (int64_t)c->inv->n_gpu : 1;
    if (saw(c, h->handles.known == NI_KNOWN && h->objects.known == NI_KNOWN) &&
        (h->handles.v < ranks || h->objects.v < FEW_OBJECTS))
        ni_report(c->f, NI_F_RDMA_CGROUP_LOW, h->name,
                  "the RDMA cgroup allows only hca_handle=%lld hca_object=%lld: NCCL says `Call to "
                  "ibv_create_qp failed with error Resource temporarily unavailable`",
                  (long long)h->handles.v, (long long)h->objects.v);
}

/* "62 days at most: symbol_error 3412, link_downed 14" of the wire, or of the function. */
static void judge_counters(struct check *c, const struct ni_port *port, const char *name, bool link)
{
    const struct ni_num uptime = c->inv->self.uptime;
    struct ni_text t = NI_TEXT(280);
    bool any = false;
    ni_put(&t, "since the driver was loaded");
    if (uptime.known == NI_KNOWN)
        ni_putf(&t, ", %lld days at most", (long long)(uptime.v / 86400) + 1);
    for (unsigned i = 0; i < NI_N_COUNTER; i++) {
        const struct ni_counter *of = &ni_counters[i];
        const struct ni_num n = port->counter[i];
        if (of->link != link || n.known != NI_KNOWN || n.v < of->least)
            continue;
        ni_putf(&t, "%s%s %lld", any ? ", " : ": ", strchr(of->file, '/') + 1, (long long)n.v);
        any = true;
    }
    if (any)
        ni_report(c->f, link ? NI_F_HCA_ERRORS_LINK : NI_F_HCA_ERRORS_TRANSPORT, name, "%s", t.buf);
}

static void check_counters(struct check *c, const struct ni_port *port, const char *name)
{
    bool known = false;
    for (unsigned k = 0; k < NI_N_COUNTER; k++)
        known = known || port->counter[k].known == NI_KNOWN;
    if (!saw(c, known))
        return;
    judge_counters(c, port, name, true);
    judge_counters(c, port, name, false);
}

/* mlx5_ib of MLNX_OFED and DOCA puts it into each queue pair that the kernel modifies. */
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

/* Whether the HCA belongs to a GPU: below one switch with it, or nearer than any chosen HCA. */
static bool is_near(const struct ni_work *w, int hca)
{
    for (unsigned g = 0; g < w->inv->n_gpu; g++) {
        const enum ni_distance d = w->plan->distance[g][hca];
        const struct ni_near *near = &w->plan->nearest_hca[g];
        if (d != NI_DIST_UNKNOWN && (d <= NI_DIST_PXB || near->index < 0 || d < near->distance))
            return true;
    }
    return false;
}

void ni_note_slow_rails(const struct ni_work *w)
{
    const struct ni_inventory *inv = w->inv;
    for (int at = 0; at < (int)inv->n_port; at++) {
        const struct ni_port *port = &inv->port[at];
        const struct ni_hca *hca = &inv->hca[port->hca];
        if (!ni_is_given(hca) || w->plan->port[at].chosen || !ni_is_listed(w, at) ||
            port->state.v != NI_PORT_ACTIVE || port->mbps.known != NI_KNOWN || hca->kind == 0 ||
            !is_near(w, port->hca))
            continue;
        for (unsigned i = 0; i < w->plan->n_chosen; i++) {
            const struct ni_chosen sister = ni_chosen(w, i);
            if (sister.hca->kind != hca->kind || sister.port->link != port->link ||
                port->mbps.v * 2 >= sister.port->mbps.v)
                continue;
            ni_report(w->f, NI_F_RAIL_SLOW, ni_port_name(inv, at).text,
                      "left out, for it runs at %lld Gb/s; but it is near a GPU, and %s, of the "
                      "same kind (PCI device 0x%04x), runs at %lld: a rail that has lost speed",
                      (long long)(port->mbps.v / 1000), ni_port_name(inv, sister.at).text,
                      hca->kind, (long long)(sister.port->mbps.v / 1000));
            break;
        }
    }
}

static void check_rate(struct check *c)
{
    struct ni_chosen fastest = {.at = -1};
    for (unsigned i = 0; i < c->plan->n_chosen; i++) {
        const struct ni_chosen r = ni_chosen(c->w, i);
        if (saw(c, r.port->mbps.known == NI_KNOWN) &&
            (fastest.at < 0 || r.port->mbps.v > fastest.port->mbps.v))
            fastest = r;
    }
    for (unsigned i = 0; fastest.at >= 0 && i < c->plan->n_chosen; i++) {
        const struct ni_chosen r = ni_chosen(c->w, i);
        if (r.port->mbps.known == NI_KNOWN && r.port->mbps.v < fastest.port->mbps.v)
            ni_report(
                c->f, NI_F_RAIL_RATE_DIFFERS, ni_port_name(c->inv, r.at).text,
                "runs at %lld Gb/s, %s at %lld Gb/s: NCCL makes all rails as slow as this one",
                (long long)(r.port->mbps.v / 1000), ni_port_name(c->inv, fastest.at).text,
                (long long)(fastest.port->mbps.v / 1000));
    }
    ni_note_slow_rails(c->w);
}

/* An HCA of the node below one PCI switch with the GPU, not the pod's, of the kind of link that is in
   use and not much slower; -1. */
static int neighbour(const struct check *c, unsigned gpu)
{
    const struct ni_port *used = ni_chosen(c->w, 0).port;
    for (unsigned i = 0; i < c->inv->n_port; i++) {
        const struct ni_port *port = &c->inv->port[i];
        const enum ni_distance d = c->plan->distance[gpu][port->hca];
        if (!ni_is_given(&c->inv->hca[port->hca]) && d != NI_DIST_UNKNOWN && d <= NI_DIST_PXB &&
            ni_is_active(port) && port->link == used->link && port->mbps.known == NI_KNOWN &&
            port->mbps.v * 2 >= used->mbps.v)
            return port->hca;
    }
    return -1;
}

/* The pod's HCA that is nearest to the GPU, chosen or not; -1. */
static int nearest_given(const struct check *c, unsigned gpu)
{
    const uint8_t *distance = c->plan->distance[gpu];
    int best = -1;
    for (unsigned h = 0; h < c->inv->n_hca; h++) {
        if (ni_is_given(&c->inv->hca[h]) && distance[h] != NI_DIST_UNKNOWN &&
            (best < 0 || distance[h] < distance[best]))
            best = (int)h;
    }
    return best;
}

static void check_given(struct check *c)
{
    const struct ni_inventory *inv = c->inv;
    struct names gpus = {0};             /* that have an HCA near them, but none of the pod's */
    struct ni_text first = NI_TEXT(320); /* what is said of the first */
    if (c->plan->n_chosen == 0 || inv->gdr.c2c || c->w->policy->hcas)
        return;
    for (unsigned g = 0; g < inv->n_gpu; g++) {
        const uint8_t *distance = c->plan->distance[g];
        const int own = nearest_given(c, g), other = neighbour(c, g);
        char bdf[NI_BDF_TEXT];
        if (!saw(c, own >= 0) || distance[own] <= NI_DIST_PXB || other < 0)
            continue;
        if (gpus.n == 0)
            ni_putf(&first,
                    "the node has %s near this GPU (%s), but the pod was not given it; the "
                    "nearest HCA of the pod is %s (%s)",
                    inv->hca[other].name, ni_distance_text(distance[other]), inv->hca[own].name,
                    ni_distance_text(distance[own]));
        add_name(&gpus, ni_bdf_text(inv->gpu[g].bdf, bdf));
    }
    if (gpus.n > 0)
        ni_report(c->f, NI_F_RAIL_MISSING, end_names(&gpus), "%s", first.buf);
}

static void check_mtu(struct check *c)
{
    /* 4096 bytes and the headers of RoCE (drivers/infiniband/core/verbs.c iboe_get_mtu) */
    enum { FOR_4096 = 4200 };
    const struct ni_netdev *small = NULL, *large = NULL;
    int a = -1, b = -1; /* their ports */
    for (unsigned i = 0; i < c->plan->n_chosen; i++) {
        const struct ni_chosen r = ni_chosen(c->w, i);
        /* the function's own interface bounds a RoCE port, else that of its GID */
        const struct ni_netdev *d = r.hca->netdev >= 0 ? &c->inv->netdev[r.hca->netdev]
                                    : r.gid            ? ni_find_netdev(c->inv, r.gid->ndev)
                                                       : NULL;
        if (r.port->link != NI_LINK_ROCE || !saw(c, d && d->mtu.known == NI_KNOWN) || !d)
            continue;
        if (!small || d->mtu.v < small->mtu.v) {
            small = d;
            a = r.at;
        }
        if (!large || d->mtu.v > large->mtu.v) {
            large = d;
            b = r.at;
        }
    }
    if (!small || !large)
        return;
    if (small->mtu.v != large->mtu.v)
        ni_report(c->f, NI_F_RAIL_MTU_DIFFERS, ni_port_name(c->inv, a).text,
                  "MTU %lld on %s, but %lld on %s (%s): the rails use packets of different size, "
                  "and retry where a switch drops those that are too large",
                  (long long)small->mtu.v, small->name, (long long)large->mtu.v, large->name,
                  ni_port_name(c->inv, b).text);
    else if (small->mtu.v < FOR_4096)
        ni_report(c->f, NI_F_RAIL_MTU_SMALL, ni_port_name(c->inv, a).text,
                  "MTU %lld on %s and all other rails: RoCE packets carry %d bytes instead of 4096",
                  (long long)small->mtu.v, small->name, small->mtu.v < 2200 ? 1024 : 2048);
}

static void check_firmware(struct check *c)
{
    const struct ni_hca *hca = c->inv->hca;
    for (unsigned i = 0; i < c->inv->n_hca; i++) {
        if (!ni_is_chosen(c->w, (int)i) || !saw(c, hca[i].fw[0] && hca[i].type[0]))
            continue;
        unsigned k = 0; /* the first of its type is the measure */
        while (k < i && (!ni_is_chosen(c->w, (int)k) || strcmp(hca[k].type, hca[i].type) != 0))
            k++;
        if (strcmp(hca[k].fw, hca[i].fw) != 0)
            ni_report(c->f, NI_F_RAIL_FIRMWARE_DIFFERS, hca[i].name,
                      "firmware %s, but %s has %s; both are %s", hca[i].fw, hca[k].name, hca[k].fw,
                      hca[i].type);
    }
}

/* ---- the way between the devices: PCIe links, IOMMU, ACS ---- */

static void put_link(struct ni_text *t, const struct ni_num link[NI_PCIE_N])
{
    const long long speed = link[NI_PCIE_SPEED].v;
    ni_putf(t, "x%lld at %lld.%lld GT/s", (long long)link[NI_PCIE_WIDTH].v, speed / 1000,
            speed % 1000 / 100);
}

/* A GPU that idles lowers its speed (nvidia-smi: "may be reduced when the GPU is not in use"). */
static void judge_link(struct check *c, const struct ni_pcie *link, const char *name, bool gpu)
{
    const struct ni_num *now = link->now, *most = link->most;
    struct ni_text is = NI_TEXT(48), can = NI_TEXT(48);
    bool known = true, slow = false;
    for (unsigned i = 0; i < NI_PCIE_N; i++) {
        known = known && now[i].known == NI_KNOWN && most[i].known == NI_KNOWN && now[i].v > 0;
        slow = slow || (now[i].v < most[i].v && !(gpu && i == NI_PCIE_SPEED));
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
        if (ni_is_given(h) && h->has_bdf)
            judge_link(c, &h->link, h->name, false);
    }
    for (unsigned i = 0; i < c->inv->n_gpu; i++)
        judge_link(c, &c->inv->gpu[i].link, ni_bdf_text(c->inv->gpu[i].bdf, bdf), true);
}

/* What the IOMMU translates for. */
struct translated {
    struct names names;
    const struct ni_iommu *first;
};

/* "DMA" and "DMA-FQ" translate, "identity" does not, and without a group there is no IOMMU
   (drivers/iommu/iommu.c iommu_group_show_type). *n: devices looked at. 1: it is translated. */
static unsigned judge_iommu(struct check *c, const struct ni_iommu *iommu, const char *name,
                            struct translated *all, unsigned *n)
{
    const bool known = iommu->type_known == NI_KNOWN;
    if (iommu->group.known == NI_UNSET)
        return 0;
    ++*n;
    if (!saw(c, known || iommu->group.known == NI_ABSENT) || !known ||
        !ni_has_prefix(iommu->type, "DMA"))
        return 0;
    all->first = all->first ? all->first : iommu;
    add_name(&all->names, name);
    return 1;
}

/* The command line explains; it decides nothing, for a device's group may be set otherwise. */
static void put_cmdline(struct ni_text *t, const struct ni_self *self)
{
    if (self->cmdline_known != NI_KNOWN)
        ni_put(t, "kernel command line unknown");
    else if (strstr(self->cmdline, "iommu=pt") || strstr(self->cmdline, "iommu.passthrough=1"))
        ni_putf(t, "although the kernel command line says %s", self->cmdline);
    else
        ni_putf(t, "kernel command line: %s",
                self->cmdline[0] ? self->cmdline : "nothing about it");
}

static void check_iommu(struct check *c)
{
    const struct ni_inventory *inv = c->inv;
    struct translated all = {.first = NULL};
    unsigned hcas = 0, gpus = 0, n_hca = 0, n_gpu = 0;
    char bdf[NI_BDF_TEXT];
    struct ni_text line = NI_TEXT(96);
    for (unsigned i = 0; i < inv->n_hca; i++) {
        const struct ni_hca *h = &inv->hca[i];
        if (ni_is_given(h))
            hcas += judge_iommu(c, &h->iommu, h->name, &all, &n_hca);
    }
    for (unsigned i = 0; n_hca > 0 && i < inv->n_gpu; i++) {
        const struct ni_gpu *g = &inv->gpu[i];
        gpus += judge_iommu(c, &g->iommu, ni_bdf_text(g->bdf, bdf), &all, &n_gpu);
    }
    if (!all.first)
        return;
    put_cmdline(&line, &inv->self);
    /* With NVLink-C2C a GPU has another way to memory: then it is only slow. */
    if (inv->n_gpu > 0 && !inv->gdr.c2c)
        ni_report(c->f, NI_F_IOMMU_TRANSLATED, end_names(&all.names),
                  "IOMMU group %lld is of type %s (%s); the IOMMU translates for %u of %u HCAs and "
                  "%u of %u GPUs: GPUDirect RDMA fails with IBV_WC_LOC_PROT_ERR (vendor_err 81), "
                  "or is very slow",
                  (long long)all.first->group.v, all.first->type, line.buf, hcas, n_hca, gpus,
                  n_gpu);
    else
        ni_report(c->f, NI_F_IOMMU_SLOW, end_names(&all.names),
                  "IOMMU group %lld is of type %s (%s); the IOMMU translates each transfer of %u "
                  "of %u HCAs, which costs time",
                  (long long)all.first->group.v, all.first->type, line.buf, hcas, n_hca);
}

/* Whether ACS sends peer traffic through the root complex stands in the bridges' extended config
   space, of which a pod without CAP_SYS_ADMIN reads the first 64 bytes (drivers/pci/pci-sysfs.c
   pci_read_config). So: unknown, which is no finding. */
static void check_acs(struct check *c, const struct ni_hca *h)
{
    (void)h;
    if (c->inv->n_gpu > 0)
        (void)saw(c, false);
}

/* ---- the GPUs: device nodes, their place beside the HCAs, and the drivers that GPUDirect needs ---- */

static bool has_nvidia(const struct check *c)
{
    return c->inv->n_gpu > 0 && !c->inv->gpu[0].amd; /* a pod has one maker's */
}

static void check_gpu_nodes(struct check *c)
{
    const struct ni_drivers *d = &c->inv->drivers;
    const struct {
        enum ni_known known;
        const char *path;
    } nodes[] = {{d->nvidiactl, "/dev/nvidiactl"}, {d->uvm, "/dev/nvidia-uvm"}};
    for (unsigned i = 0; has_nvidia(c) && i < NI_COUNT(nodes); i++) {
        if (saw(c, is_told_apart(nodes[i].known)) && nodes[i].known == NI_ABSENT)
            ni_report(c->f, NI_F_GPU_NODE_MISSING, nodes[i].path,
                      "the pod has GPUs, but not this node: CUDA says `no CUDA-capable device is "
                      "detected` or `unknown error`, and ncclCommInitRank fails");
    }
}

/* Where distances mean something: not on a tree that virtualisation has flattened, not where
   NVLink-C2C leads past it. */
static void check_gpu_place(struct check *c)
{
    const struct ni_inventory *inv = c->inv;
    char bdf[NI_BDF_TEXT];
    if (c->plan->n_chosen == 0 || inv->gdr.c2c)
        return;
    for (unsigned i = 0; i < inv->n_gpu; i++) {
        const struct ni_near *near = &c->plan->nearest_hca[i];
        const struct ni_pci *pci = &inv->gpu[i].pci;
        if (saw(c, near->index >= 0 && pci->known == NI_KNOWN && pci->depth > 1) &&
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
static void check_gdr_drivers(struct check *c)
{
    static const char peermem[] = "nvidia_peermem";
    const struct ni_inventory *inv = c->inv;
    const struct ni_drivers *d = &inv->drivers;
    const enum ni_known open = inv->gdr.open_driver;
    const bool dmabuf = ni_has_dmabuf(inv), loaded = d->peermem == NI_KNOWN;
    if (!has_nvidia(c) || c->plan->n_chosen == 0)
        return;
    if (loaded && d->peer_api == NI_KNOWN && d->peer_client == NI_ABSENT)
        ni_report(c->f, NI_F_GDR_DRIVER_ORDER, peermem,
                  "the module is loaded, but the RDMA drivers do not know it "
                  "(/sys/kernel/mm/memory_peers has no nv_mem): it was built against others; %s",
                  dmabuf ? "NCCL uses DMA-BUF instead" : "ibv_reg_mr of GPU memory fails");
    else if (loaded && dmabuf)
        ni_report(c->f, NI_F_GDR_PEERMEM_BOTH, peermem,
                  "nvidia-peermem is loaded, and DMA-BUF is there too (open GPU kernel modules, "
                  "kernel %u.%u)",
                  inv->self.kernel_major, inv->self.kernel_minor);
    else if (!loaded && open == NI_ABSENT && d->ofed == NI_KNOWN)
        ni_report(c->f, NI_F_GDR_DRIVER_ORDER, peermem,
                  "not loaded, with MLNX_OFED or DOCA and closed GPU modules: if `modprobe "
                  "nvidia-peermem` says Invalid argument, the GPU driver was built before the RDMA "
                  "drivers");
    c->told = has_told(c, NI_F_GDR_UNAVAILABLE) || has_told(c, NI_F_GDR_DMABUF_OFF) ||
              has_told(c, NI_F_GDR_PEERMEM_HIDDEN);
    (void)saw(c, loaded || is_told_apart(open));
}

/* NCCL asks the driver whether NVLink spans nodes (2.30.7 mnnvl.cc); from files only the model can
   be told. */
static void check_imex(struct check *c)
{
    const struct ni_drivers *d = &c->inv->drivers;
    if (!ni_has_prefix(d->gpu_model, "NVIDIA GB") || ni_user_int(c->w, "NCCL_MNNVL_ENABLE", 2) == 0)
        return;
    if (!saw(c, d->imex == NI_KNOWN) && d->imex == NI_ABSENT)
        ni_report(c->f, NI_F_IMEX_CHANNEL_MISSING, "/dev/nvidia-caps-imex-channels",
                  "the GPU is an %s, and the pod has no IMEX channel: where NVLink spans nodes, "
                  "NCCL ends with `MNNVL ... is available but not working on this system`",
                  d->gpu_model);
}

/* NVSHMEM demands it on x86; from 3.4.5 on it lets the CPU help where neither is there (its
   changelog). */
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
                  "fails before 3.4.5 and is slow since",
                  d->gdrdrv == NI_ABSENT ? "not in the container" : "cannot be opened");
}

/* ---- the container: locked memory, shared memory, host name, PID 1 ---- */

/* The rule memlock.raise tells when it is too low, and why. */
static void check_memlock(struct check *c)
{
    const struct ni_self *s = &c->inv->self;
    const int64_t soft = c->plan->memlock.soft;
    c->told = has_told(c, NI_F_MEMLOCK_LOW) || has_told(c, NI_F_MEMLOCK_TOO_LOW);
    if (c->told || c->plan->n_chosen == 0 ||
        !saw(c, s->memlock_soft.known == NI_KNOWN && s->memlock_hard.known == NI_KNOWN))
        return;
    if (soft < ni_memlock_enough && ni_command_may_lock(c->w))
        ni_report(c->f, NI_F_MEMLOCK_HARMLESS, "RLIMIT_MEMLOCK",
                  "%lld KiB, but CAP_IPC_LOCK is effective, and then the limit does not count",
                  (long long)(soft / 1024));
}

/* Ranks of one node exchange what does not go over NVLink or PCIe through files there, some 10 MB
   for each connection (transport/shm.cc); runtimes give 64 MiB. */
static void check_shm(struct check *c)
{
    static const int64_t by_default = INT64_C(64) << 20, advised = INT64_C(1) << 30;
    const struct ni_num shm = c->inv->self.shm;
    if (c->inv->n_gpu == 0 || !saw(c, shm.known == NI_KNOWN))
        return;
    if (shm.v <= by_default && c->inv->n_gpu > 1)
        ni_report(c->f, NI_F_SHM_DEFAULT, "/dev/shm",
                  "%lld MiB for %u GPUs: NCCL says `Error while creating shared memory segment ... "
                  "No space left on device`, then `unhandled system error`; data loaders die of "
                  "bus errors",
                  (long long)(shm.v >> 20), c->inv->n_gpu);
    else if (shm.v < advised)
        ni_report(c->f, NI_F_SHM_SMALL, "/dev/shm",
                  "%lld MiB: too little for many ranks or data loaders (`No space left on device`, "
                  "bus error)",
                  (long long)(shm.v >> 20));
}

static void check_host_name(struct check *c)
{
    const struct ni_self *s = &c->inv->self;
    const struct ni_setting *gloo = ni_plan_get(c->plan, "GLOO_SOCKET_IFNAME");
    uint8_t ip[NI_GID_BYTES];
    if (ni_user_value(c->w, "GLOO_SOCKET_IFNAME") || (gloo && gloo->value[0]))
        return;
    if (saw(c, is_told_apart(s->host_known)) && s->host_known == NI_KNOWN &&
        (strcmp(s->host_ip, "::1") == 0 ||
         (ni_parse_ipv4(ni_span_of(s->host_ip), ip) == 0 && ni_ip_is_loopback(ip))))
        ni_report(c->f, NI_F_HOST_NAME_LOOPBACK, "/etc/hosts",
                  "the host's own name is %s there: Gloo (PyTorch) listens on that address, and "
                  "other pods cannot reach it",
                  s->host_ip);
}

/* The kernel does not deliver to PID 1 a signal whose disposition is the default one
   (kernel/signal.c sig_task_ignored), and orphans become its children. nccl-init becomes the
   command and changes none of that. init: its name; NULL: it is this process. */
static void report_init(struct ni_findings *f, const char *init)
{
    const char *quote = init ? "`" : "";
    ni_report(f, NI_F_EXEC_PID1_NO_INIT, "PID 1",
              "%s%s%s, no init: SIGTERM may do nothing, orphans stay as zombies", quote,
              init ? init : "the command itself", quote);
}

static bool is_pid1(const struct ni_self *s)
{
    return s->pid.known == NI_KNOWN && s->pid.v == 1;
}

static void check_init(struct check *c)
{
    static const char *const inits[] = {
        "tini",      "tini-static", "docker-init", "podman-init", "dumb-init",   "catatonit",
        "s6-svscan", "systemd",     "init",        "pause",       "supervisord", "runit",
        "runsvdir",  "my_init",     "openrc-init", "kata-agent",  "pid1",
    };
    const struct ni_self *s = &c->inv->self;
    if (saw(c, is_pid1(s) || (s->pid.known == NI_KNOWN && s->init_known == NI_KNOWN)) &&
        (is_pid1(s) || !ni_is_any(s->init, inits, NI_COUNT(inits))))
        report_init(c->f, is_pid1(s) ? NULL : s->init);
}

void ni_note_pid1(const struct ni_work *w)
{
    if (is_pid1(&w->inv->self))
        report_init(w->f, NULL);
}

/* ---- the table ---- */

static const struct {
    const char *id; /* permanent, dotted */
    void (*whole)(struct check *c);
    void (*hca)(struct check *c, const struct ni_hca *h); /* each of the pod's */
    void (*port)(struct check *c, const struct ni_port *port, const char *name);
} checks[] = {
    {"rdma.netns", .whole = check_netns},
    {"hca.node", .hca = check_node},
    {"hca.port", .port = check_port},
    {"hca.netdev", .hca = check_netdev},
    {"rdma.cm", .whole = check_cm},
    {"rdma.cgroup", .hca = check_cgroup},
    {"rail.rate", .whole = check_rate},
    {"rail.given", .whole = check_given},
    {"rail.mtu", .whole = check_mtu},
    {"rail.firmware", .whole = check_firmware},
    {"hca.counters", .port = check_counters},
    {"hca.qos", .port = check_traffic_class},
    {"pci.link", .whole = check_links},
    {"iommu.type", .whole = check_iommu},
    {"pci.acs", .hca = check_acs},
    {"gpu.node", .whole = check_gpu_nodes},
    {"gpu.place", .whole = check_gpu_place},
    {"gdr.driver", .whole = check_gdr_drivers},
    {"gpu.imex", .whole = check_imex},
    {"nvshmem.ibgda", .whole = check_ibgda},
    {"memlock.limit", .whole = check_memlock},
    {"shm.size", .whole = check_shm},
    {"host.name", .whole = check_host_name},
    {"pid1.init", .whole = check_init},
};

static enum ni_outcome outcome_of(bool found, unsigned judged, unsigned unknown)
{
    return found         ? NI_CHECK_FOUND
           : judged > 0  ? NI_CHECK_OK
           : unknown > 0 ? NI_CHECK_UNKNOWN
                         : NI_CHECK_IDLE;
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
            if (ni_is_given(&inv->hca[k]))
                checks[i].hca(&c, &inv->hca[k]);
        }
        for (unsigned k = 0; checks[i].port && k < inv->n_port; k++) {
            if (ni_is_given(&inv->hca[inv->port[k].hca]))
                checks[i].port(&c, &inv->port[k], ni_port_name(inv, (int)k).text);
        }
        const bool found = c.told || w->f->n + w->f->dropped > before;
        ret->at[ret->n++] =
            (struct ni_checked){checks[i].id, outcome_of(found, c.judged, c.unknown)};
    }
}

/* What `doctor --probe` adds: asked of the devices themselves, judged with the trials. */
void ni_diagnose_probes(const struct ni_trials *trials, const struct ni_findings *f,
                        struct ni_diagnosis *ret)
{
    const unsigned n = trials->n;
    const bool dmabuf = ni_findings_has(f, NI_F_VERBS_DMABUF);
    const bool gid = ni_findings_has(f, NI_F_VERBS_GID_DIFFERS);
    unsigned answers = 0, tables = 0;
    for (unsigned i = 0; i < n; i++) {
        const bool answered = trials->at[i].device.dmabuf != NI_UNSET;
        answers += answered;
        tables += answered && trials->at[i].gid_err == 0;
    }
    const struct ni_checked probes[] = {
        {"probe.device", outcome_of(ni_trials_passed(trials) < n, n, 0)},
        {"probe.dmabuf", outcome_of(dmabuf, answers, n - answers)},
        {"probe.gid", outcome_of(gid, tables, n - tables)},
    };
    _Static_assert(NI_COUNT(checks) + NI_COUNT(probes) <= NI_MAX_CHECK, "room for each");
    for (size_t i = 0; i < NI_COUNT(probes); i++)
        ret->at[ret->n++] = probes[i];
}
