/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the pod's RDMA devices: namespace, device nodes, ports, cgroup, errors. */
#include <inttypes.h>
#include <string.h>

#include "doctor/check.h"
#include "doctor/seen.h"
#include "findings/device.h"
#include "nccl_init/findings.h"
#include "nccl_init/gpu.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/number.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "print/words.h"
#include "rules/hca_node.h"

/* ---- rdma.netns ---- */

/* Checks that the pod sees its devices: in exclusive mode a device is seen in one network namespace
   only (drivers/infiniband/core/device.c). */
static void check_netns(struct ni_judging *c)
{
    const enum ni_netns_mode mode = c->inv->netns_mode;

    if (mode != NI_NETNS_UNKNOWN || c->inv->n_hca > 0)
        (void)ni_saw(c, mode != NI_NETNS_UNKNOWN);
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

static void put_netns(struct ni_text *t, const struct ni_view *view)
{
    const char *word = ni_netns_word(view->inv);

    ni_put(t, word ? word : "");
}

const struct ni_check ni_check_netns = {
    .id = "rdma.netns",
    .title = "RDMA netns",
    .whole = check_netns,
    .put = put_netns,
    .findings = {NI_F_RDMA_NETNS_EXCLUSIVE},
};

/* ---- hca.node ---- */

static void check_node(struct ni_judging *c, const struct ni_hca *h)
{
    struct ni_text why = NI_TEXT(96);

    (void)ni_saw(c, ni_is_decided(h->uverbs.known));
    if (ni_put_node(&h->uverbs, &why))
        ni_report(c->f, NI_F_HCA_NODE_MISSING, h->name,
                  "%s: NCCL says `NET/IB : Unable to open device %s` and does not use it", why.buf,
                  h->name);
}

static void put_nodes(struct ni_text *t, const struct ni_view *view)
{
    const unsigned n = ni_allocated_hcas(view->inv);
    unsigned open = 0;

    for (unsigned i = 0; i < n; i++)
        open += !ni_lacks_uverbs(&view->inv->hca[i].uverbs);
    ni_putf(t, "%u of %u open", open, n);
}

const struct ni_check ni_check_node = {
    .id = "hca.node",
    .title = "device nodes",
    .hca = check_node,
    .put = put_nodes,
    .findings = {NI_F_HCA_NODE_MISSING},
    .beside = {NI_F_HCA_NODE_LOST, NI_F_ALLOC_NO_UVERBS},
};

/* ---- hca.port ---- */

/* Counts the ports. The rules hca.ports and ib.pkey have reported what is wrong with them. */
static void check_port(struct ni_judging *c, const struct ni_port *port, const char *name)
{
    (void)name;
    (void)ni_saw(c, port->state.known == NI_KNOWN);
}

static void put_links(struct ni_text *t, const struct ni_view *view)
{
    const struct ni_inventory *inv = view->inv;
    struct ni_range rates = {.n = 0};
    unsigned n = 0, active = 0;

    for (unsigned i = 0; i < inv->n_port; i++) {
        const struct ni_port *port = &inv->port[i];

        if (!ni_is_allocated(&inv->hca[port->hca]))
            continue;
        n++;
        active += ni_is_active(port);
        if (ni_is_active(port))
            ni_range_add(&rates, port->mbps);
    }
    ni_putf(t, "%u of %u ACTIVE", active, n);
    ni_put(t, rates.n > 0 ? ", " : "");
    ni_put_range(t, &rates, 1000, "G");
}

const struct ni_check ni_check_port = {
    .id = "hca.port",
    .title = "links",
    .port = check_port,
    .put = put_links,
    .findings = {NI_F_HCA_PORT_DOWN, NI_F_HCA_GUID_NONE, NI_F_IB_PKEY_EMPTY, NI_F_IB_PKEY_LIMITED},
};

/* ---- rdma.cgroup ---- */

/* Checks the limits of the RDMA cgroup: a process has one handle for each HCA that it opens, and
   its PDs, CQs, QPs and MRs together are its objects
   (Documentation/admin-guide/cgroup-v1/rdma.rst). */
static void check_cgroup(struct ni_judging *c, const struct ni_hca *h)
{
    enum { FEW_OBJECTS = 2048 }; /* eight ranks need more, for their connections over one HCA */
    const int64_t ranks = c->inv->n_gpu > 0 ? (int64_t)c->inv->n_gpu : 1;

    if (ni_saw(c, h->handles.known == NI_KNOWN && h->objects.known == NI_KNOWN) &&
        (h->handles.v < ranks || h->objects.v < FEW_OBJECTS))
        ni_report(c->f, NI_F_RDMA_CGROUP_LOW, h->name,
                  "the RDMA cgroup allows only hca_handle=%lld hca_object=%lld: NCCL says `Call to "
                  "ibv_create_qp failed with error Resource temporarily unavailable`",
                  (long long)h->handles.v, (long long)h->objects.v);
}

/* Puts how many objects the RDMA cgroup allows on an HCA, the lowest of the pod's HCAs. */
static void put_cgroup(struct ni_text *t, const struct ni_view *view)
{
    struct ni_range objects = {.n = 0};

    for (unsigned i = 0; i < ni_allocated_hcas(view->inv); i++)
        ni_range_add(&objects, view->inv->hca[i].objects);
    if (objects.n > 0 && objects.least == NI_UNLIMITED)
        ni_put(t, "no limit");
    else if (objects.n > 0)
        ni_putf(t, "%" PRId64 " objects", objects.least);
}

const struct ni_check ni_check_cgroup = {
    .id = "rdma.cgroup",
    .title = "RDMA cgroup",
    .hca = check_cgroup,
    .put = put_cgroup,
    .findings = {NI_F_RDMA_CGROUP_LOW},
};

/* ---- hca.counters ---- */

/* Reports the error counters of the link, and those of the transport: "since the driver was loaded,
   62 days at most: symbol_error 3412, link_downed 14". */
static void check_counters(struct ni_judging *c, const struct ni_port *port, const char *name)
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
    (void)ni_saw(c, known);
}

const struct ni_check ni_check_counters = {
    .id = "hca.counters",
    .title = "error counters",
    .port = check_counters,
    .findings = {NI_F_HCA_ERRORS_LINK, NI_F_HCA_ERRORS_TRANSPORT},
};

/* ---- hca.qos ---- */

/* Reports a traffic class that the driver forces: mlx5_ib of MLNX_OFED and DOCA puts it into each
   queue pair that the kernel modifies. */
static void check_traffic_class(struct ni_judging *c, const struct ni_port *port, const char *name)
{
    const struct ni_num class = port->traffic_class;

    if (port->link == NI_LINK_ROCE && ni_saw(c, class.known == NI_KNOWN) && class.v >= 0)
        ni_report(c->f, NI_F_HCA_TRAFFIC_CLASS, name,
                  "the driver gives each queue pair traffic class %lld (DSCP %lld), whatever "
                  "NCCL_IB_TC says; queue pairs made through DevX (GIN, IBGDA) keep their own",
                  (long long)class.v, (long long)class.v >> 2);
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

const struct ni_check ni_check_qos = {
    .id = "hca.qos",
    .title = "traffic class",
    .port = check_traffic_class,
    .put = put_traffic_class,
    .findings = {NI_F_HCA_TRAFFIC_CLASS},
};
