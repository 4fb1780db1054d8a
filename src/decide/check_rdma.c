/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the pod's RDMA devices: can they be seen, opened, and is there a link. */
#include <string.h>

#include "check.h"

/* In exclusive mode a device is seen in one network namespace only
   (drivers/infiniband/core/device.c). */
enum ni_outcome ni_check_visible(const struct ni_facts *facts, const struct ni_plan *plan,
                                 struct ni_findings *f)
{
    const struct ni_inventory *inv = facts->inv;
    (void)plan;
    if (inv->health.netns_mode == NI_NETNS_UNKNOWN)
        return inv->n_hca > 0 ? NI_CHECK_UNKNOWN : NI_CHECK_IDLE;
    if (inv->health.netns_mode == NI_NETNS_SHARED)
        return NI_CHECK_OK;
    for (unsigned i = 0; i < inv->n_claim; i++) {
        const struct ni_claim *c = &inv->claim[i];
        if (c->state == NI_CLAIM_NOT_RDMA)
            ni_report(f, NI_F_RDMA_NETNS_EXCLUSIVE, c->id,
                      "RDMA devices are separated by network namespace (netns_mode exclusive) and "
                      "this one's is not in the pod's: `NET/IB : No device found.`, sockets are "
                      "used");
    }
    return NI_CHECK_OK;
}

static void note_node(const struct ni_hca *h, struct ni_findings *f)
{
    enum ni_known known = ni_known_of(h->uverbs.err);
    char buf[96];
    struct ni_text t = ni_text_on(buf, sizeof(buf));
    if (ni_put_node(&h->uverbs, &t))
        ni_report(f,
                  known == NI_KNOWN || known == NI_ABSENT ? NI_F_HCA_NODE_MISSING
                                                          : NI_F_HCA_NODE_DENIED,
                  h->name,
                  "%s: `NET/IB : Unable to open device %s`, NCCL goes without this HCA, over "
                  "sockets where it has no other",
                  buf, h->name);
}

enum ni_outcome ni_check_nodes(const struct ni_facts *facts, const struct ni_plan *plan,
                               struct ni_findings *f)
{
    const struct ni_inventory *inv = facts->inv;
    struct ni_seen seen = {0};
    (void)plan;
    for (unsigned i = 0; i < inv->n_hca; i++) {
        const enum ni_known known = inv->hca[i].uverbs.known;
        if (!ni_is_given(&inv->hca[i]))
            continue;
        seen.judged += known == NI_KNOWN || known == NI_ABSENT;
        seen.unknown += known != NI_KNOWN && known != NI_ABSENT;
        note_node(&inv->hca[i], f);
    }
    return ni_findings_has(f, NI_F_HCA_NODE_MISSING) || ni_findings_has(f, NI_F_HCA_NODE_DENIED)
               ? NI_CHECK_FOUND
               : ni_seen_outcome(&seen);
}

/* enum ib_port_phys_state, include/rdma/ib_verbs.h */
enum {
    PHYS_POLLING = 2,
    PHYS_DISABLED = 3,
    PHYS_TRAINING = 4,
    PHYS_LINK_UP = 5,
    PHYS_RECOVERY = 6
};

static void judge_port(const struct ni_inventory *inv, unsigned at, struct ni_findings *f)
{
    const struct ni_port *port = &inv->port[at];
    const struct ni_hca *hca = &inv->hca[port->hca];
    const struct ni_health_hca *h = &inv->health.hca[port->hca];
    char name[NI_DEV_NAME + 8];
    ni_port_text(inv, (int)at, name);
    switch (inv->health.phys_state[at].v) {
    case PHYS_DISABLED:
        ni_report(f, NI_F_HCA_PORT_DISABLED, name, "physical state Disabled: %s%s",
                  hca->is_vf ? "the VF is attached to no network, or its link state is disable"
                  : port->link == NI_LINK_ROCE ? "its interface is down or has no carrier"
                                               : "the port is switched off",
                  h->netdev_known == NI_ABSENT ? "; it has no interface in this pod" : "");
        break;
    case PHYS_POLLING:
    case PHYS_TRAINING:
    case PHYS_RECOVERY:
        ni_report(f, NI_F_HCA_PORT_POLLING, name, "physical state %s: no stable signal on the link",
                  inv->health.phys_state[at].v == PHYS_POLLING    ? "Polling"
                  : inv->health.phys_state[at].v == PHYS_TRAINING ? "PortConfigurationTraining"
                                                                  : "LinkErrorRecovery");
        break;
    case PHYS_LINK_UP:
        if (port->link == NI_LINK_IB)
            ni_report(f, NI_F_HCA_PORT_NO_SM, name,
                      "the link is up, but the port is not ACTIVE: no subnet manager has "
                      "configured it");
        break;
    default:
        break;
    }
}

enum ni_outcome ni_check_ports(const struct ni_facts *facts, const struct ni_plan *plan,
                               struct ni_findings *f)
{
    const struct ni_inventory *inv = facts->inv;
    struct ni_seen seen = {0};
    (void)plan;
    for (unsigned i = 0; i < inv->n_port; i++) {
        const struct ni_port *port = &inv->port[i];
        if (!ni_is_given(&inv->hca[port->hca]))
            continue;
        bool known = port->state.known == NI_KNOWN;
        seen.judged += known;
        seen.unknown += !known;
        if (known && port->state.v != NI_PORT_ACTIVE && inv->health.phys_state[i].known == NI_KNOWN)
            judge_port(inv, i, f);
    }
    /* The rule hca.ports has told which are down. */
    return ni_findings_has(f, NI_F_HCA_PORT_DOWN) ? NI_CHECK_FOUND : ni_seen_outcome(&seen);
}

static bool has_own_gid(const struct ni_inventory *inv, const struct ni_hca *h)
{
    for (unsigned i = 0; i < h->n_port; i++) {
        const struct ni_port *port = &inv->port[h->first_port + (int)i];
        for (unsigned k = 0; k < port->n_gid; k++) {
            if (ni_port_gid(inv, port, k)->own != NI_OWN_FOREIGN)
                return true;
        }
    }
    return false;
}

static bool has_active_roce(const struct ni_inventory *inv, const struct ni_hca *h)
{
    for (unsigned i = 0; i < h->n_port; i++) {
        const struct ni_port *port = &inv->port[h->first_port + (int)i];
        if (port->link == NI_LINK_ROCE && port->state.known == NI_KNOWN &&
            port->state.v == NI_PORT_ACTIVE)
            return true;
    }
    return false;
}

/* A VF comes with an interface. A shared PF does not: its GIDs are those of macvlan interfaces. */
enum ni_outcome ni_check_netdevs(const struct ni_facts *facts, const struct ni_plan *plan,
                                 struct ni_findings *f)
{
    const struct ni_inventory *inv = facts->inv;
    struct ni_seen seen = {0};
    (void)plan;
    for (unsigned i = 0; i < inv->n_hca; i++) {
        const struct ni_hca *h = &inv->hca[i];
        enum ni_known netdev = inv->health.hca[i].netdev_known;
        if (!ni_is_given(&inv->hca[i]) || !h->is_vf || !has_active_roce(inv, h))
            continue;
        bool known = netdev == NI_KNOWN || netdev == NI_ABSENT;
        seen.judged += known;
        seen.unknown += !known;
        if (netdev == NI_ABSENT && !has_own_gid(inv, h))
            ni_report(f, NI_F_HCA_NETDEV_NONE, h->name,
                      "the VF's link is up, but its interface is not in this pod: none of its GIDs "
                      "is the pod's, and an NCCL_SOCKET_IFNAME that names it ends in `no socket "
                      "interface found`");
    }
    return ni_seen_outcome(&seen);
}

enum ni_outcome ni_check_cm(const struct ni_facts *facts, const struct ni_plan *plan,
                            struct ni_findings *f)
{
    const struct ni_inventory *inv = facts->inv;
    bool any = false;
    (void)plan;
    for (unsigned i = 0; i < inv->n_hca; i++)
        any = any || (ni_is_given(&inv->hca[i]) && inv->hca[i].uverbs.known == NI_KNOWN);
    if (!any)
        return NI_CHECK_IDLE;
    if (inv->health.rdma_cm == NI_UNSET)
        return NI_CHECK_UNKNOWN;
    if (inv->health.rdma_cm != NI_KNOWN)
        ni_report(f, NI_F_RDMA_CM_MISSING, "/dev/infiniband/rdma_cm",
                  "%s: rdma_create_event_channel of librdmacm fails; NCCL does not use it",
                  inv->health.rdma_cm == NI_ABSENT ? "not in the container" : "cannot be opened");
    return NI_CHECK_OK;
}

/* A process has one handle for each HCA it opens, and objects are its PDs, CQs, QPs and MRs
   together (Documentation/admin-guide/cgroup-v1/rdma.rst). */
enum ni_outcome ni_check_cgroup(const struct ni_facts *facts, const struct ni_plan *plan,
                                struct ni_findings *f)
{
    enum { FEW_OBJECTS = 2048 }; /* eight ranks, each some connections to its peers over each HCA */
    const struct ni_inventory *inv = facts->inv;
    int64_t ranks = inv->n_gpu > 0 ? (int64_t)inv->n_gpu : 1;
    struct ni_seen seen = {0};
    (void)plan;
    for (unsigned i = 0; i < inv->n_hca; i++) {
        const struct ni_health_hca *h = &inv->health.hca[i];
        if (!ni_is_given(&inv->hca[i]))
            continue;
        if (h->handles.known != NI_KNOWN || h->objects.known != NI_KNOWN) {
            seen.unknown++;
            continue;
        }
        seen.judged++;
        if (h->handles.v < ranks || h->objects.v < FEW_OBJECTS)
            ni_report(f, NI_F_RDMA_CGROUP_LOW, inv->hca[i].name,
                      "the RDMA cgroup allows hca_handle=%lld hca_object=%lld: `Call to "
                      "ibv_create_qp failed with error Resource temporarily unavailable`",
                      (long long)h->handles.v, (long long)h->objects.v);
    }
    return ni_seen_outcome(&seen);
}
