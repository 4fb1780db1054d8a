/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the pod's RDMA devices: can they be seen and opened, is there a link, and what went wrong
   on it. */
#include <string.h>

#include "check.h"

/* In exclusive mode a device is seen in one network namespace only
   (drivers/infiniband/core/device.c). */
void ni_check_netns(struct ni_checkup *c)
{
    const struct ni_inventory *inv = c->inv;
    if (inv->netns_mode != NI_NETNS_UNKNOWN || inv->n_hca > 0)
        (void)ni_saw(c, inv->netns_mode != NI_NETNS_UNKNOWN);
    for (unsigned i = 0; inv->netns_mode == NI_NETNS_EXCLUSIVE && i < inv->n_claim; i++) {
        if (inv->claim[i].state == NI_CLAIM_NOT_RDMA)
            ni_report(c->f, NI_F_RDMA_NETNS_EXCLUSIVE, inv->claim[i].id,
                      "each RDMA device of this node is in one network namespace only (netns_mode "
                      "exclusive), and this one is not in the pod's: NCCL says `NET/IB : No device "
                      "found.` and uses sockets");
    }
}

void ni_check_nodes(struct ni_checkup *c)
{
    for (unsigned i = 0; i < c->inv->n_hca; i++) {
        const struct ni_hca *h = &c->inv->hca[i];
        const enum ni_known node = h->uverbs.known, opens = ni_known_of(h->uverbs.err);
        char why[96];
        struct ni_text t = ni_text_on(why, sizeof(why));
        if (!ni_is_given(h))
            continue;
        (void)ni_saw(c, node == NI_KNOWN || node == NI_ABSENT);
        if (ni_put_node(&h->uverbs, &t))
            ni_report(c->f,
                      opens == NI_KNOWN || opens == NI_ABSENT ? NI_F_HCA_NODE_MISSING
                                                              : NI_F_HCA_NODE_DENIED,
                      h->name,
                      "%s: NCCL says `NET/IB : Unable to open device %s` and goes without this "
                      "HCA, over sockets if it has no other",
                      why, h->name);
    }
    c->told =
        ni_findings_has(c->f, NI_F_HCA_NODE_MISSING) || ni_findings_has(c->f, NI_F_HCA_NODE_DENIED);
}

/* Why a port is not ACTIVE, as far as its physical state says (enum ib_port_phys_state,
   include/rdma/ib_verbs.h). */
static void judge_port(struct ni_checkup *c, unsigned at)
{
    enum { POLLING = 2, DISABLED = 3, TRAINING = 4, LINK_UP = 5, RECOVERY = 6 };
    const struct ni_port *port = &c->inv->port[at];
    const struct ni_hca *hca = &c->inv->hca[port->hca];
    const int64_t state = port->phys_state.v;
    char name[NI_DEV_NAME + 8];
    ni_port_text(c->inv, (int)at, name);
    if (state == DISABLED)
        ni_report(c->f, NI_F_HCA_PORT_DISABLED, name, "physical state Disabled: %s%s",
                  hca->is_vf ? "the VF is attached to no network, or its link state is `disable`"
                  : port->link == NI_LINK_ROCE ? "its interface is down or has no carrier"
                                               : "the port is switched off",
                  hca->netdev_known == NI_ABSENT ? "; it has no interface in this pod" : "");
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

void ni_check_ports(struct ni_checkup *c)
{
    for (unsigned i = 0; i < c->inv->n_port; i++) {
        const struct ni_port *port = &c->inv->port[i];
        if (ni_is_given(&c->inv->hca[port->hca]) && ni_saw(c, port->state.known == NI_KNOWN) &&
            port->state.v != NI_PORT_ACTIVE && port->phys_state.known == NI_KNOWN)
            judge_port(c, i);
    }
    c->told = ni_findings_has(c->f, NI_F_HCA_PORT_DOWN); /* by the rule hca.ports */
}

static bool has_own_gid(const struct ni_inventory *inv, const struct ni_port *port)
{
    for (unsigned i = 0; i < port->n_gid; i++) {
        if (ni_port_gid(inv, port, i)->own != NI_OWN_FOREIGN)
            return true;
    }
    return false;
}

/* A VF comes with an interface. A shared PF does not: its GIDs are those of macvlan interfaces. */
void ni_check_netdevs(struct ni_checkup *c)
{
    for (unsigned i = 0; i < c->inv->n_hca; i++) {
        const struct ni_hca *h = &c->inv->hca[i];
        bool active = false, own_gid = false;
        for (unsigned k = 0; k < h->n_port; k++) {
            const struct ni_port *port = &c->inv->port[h->first_port + (int)k];
            active = active || (port->link == NI_LINK_ROCE && port->state.known == NI_KNOWN &&
                                port->state.v == NI_PORT_ACTIVE);
            own_gid = own_gid || has_own_gid(c->inv, port);
        }
        if (!ni_is_given(h) || !h->is_vf || !active)
            continue;
        (void)ni_saw(c, h->netdev_known == NI_KNOWN || h->netdev_known == NI_ABSENT);
        if (h->netdev_known == NI_ABSENT && !own_gid)
            ni_report(c->f, NI_F_HCA_NETDEV_NONE, h->name,
                      "the VF's link is up, but its interface is not in this pod: no GID of the VF "
                      "is the pod's, and NCCL ends with `no socket interface found` if "
                      "NCCL_SOCKET_IFNAME names that interface");
    }
}

void ni_check_cm(struct ni_checkup *c)
{
    const enum ni_known cm = c->inv->rdma_cm;
    bool any = false;
    for (unsigned i = 0; i < c->inv->n_hca; i++)
        any = any || (ni_is_given(&c->inv->hca[i]) && c->inv->hca[i].uverbs.known == NI_KNOWN);
    if (any && ni_saw(c, cm != NI_UNSET) && cm != NI_KNOWN)
        ni_report(c->f, NI_F_RDMA_CM_MISSING, "/dev/infiniband/rdma_cm",
                  "%s: programs that use librdmacm fail; NCCL does not use it",
                  cm == NI_ABSENT ? "not in the container" : "cannot be opened");
}

/* A process has one handle for each HCA it opens, and objects are its PDs, CQs, QPs and MRs
   together (Documentation/admin-guide/cgroup-v1/rdma.rst). */
void ni_check_cgroup(struct ni_checkup *c)
{
    enum { FEW_OBJECTS = 2048 }; /* eight ranks, each some connections to its peers over each HCA */
    const int64_t ranks = c->inv->n_gpu > 0 ? (int64_t)c->inv->n_gpu : 1;
    for (unsigned i = 0; i < c->inv->n_hca; i++) {
        const struct ni_hca *h = &c->inv->hca[i];
        if (ni_is_given(h) &&
            ni_saw(c, h->handles.known == NI_KNOWN && h->objects.known == NI_KNOWN) &&
            (h->handles.v < ranks || h->objects.v < FEW_OBJECTS))
            ni_report(
                c->f, NI_F_RDMA_CGROUP_LOW, h->name,
                "the RDMA cgroup allows only hca_handle=%lld hca_object=%lld: NCCL says `Call "
                "to ibv_create_qp failed with error Resource temporarily unavailable`",
                (long long)h->handles.v, (long long)h->objects.v);
    }
}

/* "62 days at most: symbol_error 3412, link_downed 14" of the wire, or of the function. */
static void judge_counters(struct ni_checkup *c, unsigned at, bool link)
{
    const struct ni_port *port = &c->inv->port[at];
    const struct ni_num uptime = c->inv->self.uptime;
    char name[NI_DEV_NAME + 8], list[280];
    struct ni_text t = ni_text_on(list, sizeof(list));
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
        ni_report(c->f, link ? NI_F_HCA_ERRORS_LINK : NI_F_HCA_ERRORS_TRANSPORT,
                  ni_port_text(c->inv, (int)at, name), "%s", list);
}

void ni_check_counters(struct ni_checkup *c)
{
    for (unsigned i = 0; i < c->inv->n_port; i++) {
        const struct ni_port *port = &c->inv->port[i];
        bool known = false;
        for (unsigned k = 0; k < NI_N_COUNTER; k++)
            known = known || port->counter[k].known == NI_KNOWN;
        if (!ni_is_given(&c->inv->hca[port->hca]) || !ni_saw(c, known))
            continue;
        judge_counters(c, i, true);
        judge_counters(c, i, false);
    }
}

/* mlx5_ib of MLNX_OFED and DOCA puts it into each queue pair that the kernel modifies. */
void ni_check_traffic_class(struct ni_checkup *c)
{
    for (unsigned i = 0; i < c->inv->n_port; i++) {
        const struct ni_port *port = &c->inv->port[i];
        const struct ni_num class = port->traffic_class;
        char name[NI_DEV_NAME + 8];
        if (ni_is_given(&c->inv->hca[port->hca]) && port->link == NI_LINK_ROCE &&
            ni_saw(c, class.known == NI_KNOWN) && class.v >= 0)
            ni_report(c->f, NI_F_HCA_TRAFFIC_CLASS, ni_port_text(c->inv, (int)i, name),
                      "the driver gives each queue pair traffic class %lld (DSCP %lld), whatever "
                      "NCCL_IB_TC says; queue pairs made through DevX (GIN, IBGDA) keep their own",
                      (long long)class.v, (long long)class.v >> 2);
    }
}
