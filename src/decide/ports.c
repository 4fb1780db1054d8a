/* SPDX-License-Identifier: Apache-2.0 */
/* hca.ports: which ports of the pod's HCAs NCCL may use. hca.list: NCCL_IB_HCA, spelt so that every
   NCCL since 2.5.6 reads the same: `=` for exact names, an explicit port, PCI order, never empty
   (an empty list means all). */
#include <string.h>

#include "rule.h"

static const char rule_ports[] = "hca.ports";

/* "port is DOWN", "port state denied" */
static const char *state_text(const struct ni_num *state, char buf[48])
{
    const char *word = state->known == NI_KNOWN ? ni_port_state_text(state->v) : NULL;
    struct ni_text t = ni_text_on(buf, 48);
    if (word)
        ni_putf(&t, "port is %s", word);
    else if (state->known == NI_KNOWN)
        ni_putf(&t, "port is in state %lld", (long long)state->v);
    else
        ni_putf(&t, "port state cannot be read (%s)", ni_known_text(state->known));
    return buf;
}

static bool is_in_option(const struct ni_facts *facts, int at)
{
    const struct ni_port *port = &facts->inv->port[at];
    char option[NI_VALUE + 2];
    return !facts->policy->hcas || !ni_format(option, sizeof(option), "=%s", facts->policy->hcas) ||
           ni_nccl_match(option, facts->inv->hca[port->hca].name, (int)port->num);
}

static bool is_in_users_list(const struct ni_facts *facts, int at)
{
    const struct ni_port *port = &facts->inv->port[at];
    const char *list = ni_user_value(facts, "NCCL_IB_HCA");
    return !list || !*list || ni_nccl_match(list, facts->inv->hca[port->hca].name, (int)port->num);
}

bool ni_is_listed(const struct ni_facts *facts, int port)
{
    return is_in_option(facts, port) && is_in_users_list(facts, port);
}

bool ni_takes_left_out(const struct ni_facts *facts, const struct ni_plan *plan, int port)
{
    const struct ni_port *p = &facts->inv->port[port];
    const struct ni_hca *h = &facts->inv->hca[p->hca];
    /* what cannot be read may be ACTIVE */
    bool active = p->state.known != NI_KNOWN || p->state.v == NI_PORT_ACTIVE;
    return ni_user_value(facts, "NCCL_IB_HCA") && plan->transport == NI_NET_RDMA &&
           !plan->port[port].chosen && ni_is_given(h) && !h->efa && active &&
           is_in_users_list(facts, port);
}

bool ni_put_foreign(const struct ni_facts *facts, const struct ni_plan *plan, struct ni_text *t)
{
    const char *list = ni_user_value(facts, "NCCL_IB_HCA");
    unsigned n = 0;
    for (unsigned i = 0; list && plan->transport == NI_NET_RDMA && i < facts->inv->n_claim; i++) {
        const struct ni_claim *c = &facts->inv->claim[i];
        if (c->source == NI_SRC_UVERBS && c->hca < 0 && (!*list || ni_nccl_match(list, c->id, -1)))
            ni_putf(t, "%s%s", n++ ? ", " : "", c->id);
    }
    return n > 0;
}

/* The port by itself: state and link. */
static void judge_port(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f,
                       int at)
{
    const struct ni_inventory *inv = facts->inv;
    const struct ni_port *port = &inv->port[at];
    char name[NI_DEV_NAME + 8], state[48];
    if (!ni_is_given(&inv->hca[port->hca]))
        ni_drop(plan, at, rule_ports, "not the pod's");
    else if (!is_in_option(facts, at))
        ni_drop(plan, at, rule_ports, "not in --hcas");
    else if (plan->transport == NI_NET_TCP)
        ni_drop(plan, at, rule_ports, "TCP was chosen");
    else if (plan->transport == NI_NET_OTHER)
        ni_drop(plan, at, rule_ports, "another network plugin is in use");
    else if (port->state.known != NI_KNOWN || port->state.v != NI_PORT_ACTIVE) {
        ni_drop(plan, at, rule_ports, "%s", state_text(&port->state, state));
        ni_report(f, NI_F_HCA_PORT_DOWN, ni_port_text(inv, at, name), "%s; left out", state);
    } else if (port->link == NI_LINK_UNKNOWN)
        ni_drop(plan, at, rule_ports, "link layer is neither InfiniBand nor Ethernet");
    else if (!is_in_users_list(facts, at))
        ni_drop(plan, at, rule_ports, "not in your NCCL_IB_HCA");
    else
        ni_keep(plan, at, rule_ports, "given by %s, port ACTIVE",
                inv->claim[inv->hca[port->hca].claim].from);
}

/* InfiniBand and RoCE together kill a job (NCCL 2.30.7 transport/net_ib/connect.cc: incompatible
   link layers, no fallback). The set with more bandwidth stays, InfiniBand when equal. */
static void one_link(const struct ni_inventory *inv, struct ni_plan *plan, struct ni_findings *f)
{
    int64_t mbps[3] = {0};
    unsigned n[3] = {0};
    for (unsigned i = 0; i < inv->n_port; i++) {
        if (plan->port[i].chosen) {
            n[inv->port[i].link]++;
            mbps[inv->port[i].link] +=
                inv->port[i].mbps.known == NI_KNOWN ? inv->port[i].mbps.v : 0;
        }
    }
    if (!n[NI_LINK_IB] || !n[NI_LINK_ROCE])
        return;
    enum ni_link loser = mbps[NI_LINK_ROCE] > mbps[NI_LINK_IB] ? NI_LINK_IB : NI_LINK_ROCE;
    const char *name = loser == NI_LINK_IB ? "InfiniBand" : "RoCE";
    for (unsigned i = 0; i < inv->n_port; i++) {
        if (plan->port[i].chosen && inv->port[i].link == loser)
            ni_drop(plan, (int)i, rule_ports, "%s, while the faster set is %s", name,
                    loser == NI_LINK_IB ? "RoCE" : "InfiniBand");
    }
    ni_report(f, NI_F_HCA_LINK_MIXED, name, "%u %s port%s left out: %lld against %lld Gb/s",
              n[loser], name, n[loser] == 1 ? "" : "s", (long long)(mbps[loser] / 1000),
              (long long)(mbps[loser == NI_LINK_IB ? NI_LINK_ROCE : NI_LINK_IB] / 1000));
}

/* SoftRoCE has no PCI path. NCCL before 2.29.7 compares it with that of the HCAs behind it in the
   verbs' list, and 2.21.5 and 2.23.4 with all before it: strcmp(NULL) (transport/net_ib.cc
   ncclIbGetPciPath, ncclIbFindMatchingDev). No variable helps. */
static void one_bus(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f)
{
    const struct ni_inventory *inv = facts->inv;
    const char *list = ni_user_value(facts, "NCCL_IB_HCA");
    const bool named = facts->policy->hcas || (list && *list);
    bool pci = false;
    for (unsigned i = 0; i < inv->n_port; i++)
        pci = pci || (plan->port[i].chosen && !inv->hca[inv->port[i].hca].pci.none);
    for (unsigned i = 0; pci && i < inv->n_port; i++) {
        char name[NI_DEV_NAME + 8];
        if (!plan->port[i].chosen || !inv->hca[inv->port[i].hca].pci.none)
            continue;
        ni_report(f, NI_F_HCA_SOFTROCE_MIXED, ni_port_text(inv, (int)i, name),
                  "with HCAs on PCI beside it NCCL before 2.29.7 may crash; %s",
                  named ? "kept, for it was named" : "left out");
        if (!named)
            ni_drop(plan, (int)i, rule_ports, "SoftRoCE, while the others are on PCI");
    }
}

/* Where nothing named the HCAs of the pod, a port of less than half the fastest one's rate is the
   management or storage port; a collective runs at the pace of the slowest. */
static void one_speed(const struct ni_inventory *inv, struct ni_plan *plan, struct ni_findings *f)
{
    int64_t fastest = 0;
    for (unsigned i = 0; i < inv->n_port; i++) {
        if (plan->port[i].chosen && inv->port[i].mbps.known == NI_KNOWN &&
            inv->port[i].mbps.v > fastest)
            fastest = inv->port[i].mbps.v;
    }
    for (unsigned i = 0; inv->source >= NI_SRC_UVERBS && i < inv->n_port; i++) {
        const struct ni_num *mbps = &inv->port[i].mbps;
        char name[NI_DEV_NAME + 8];
        if (!plan->port[i].chosen || mbps->known != NI_KNOWN || mbps->v * 2 >= fastest)
            continue;
        ni_drop(plan, (int)i, rule_ports, "%lld Gb/s, while the fastest has %lld",
                (long long)(mbps->v / 1000), (long long)(fastest / 1000));
        ni_report(f, NI_F_HCA_PORT_SLOW, ni_port_text(inv, (int)i, name),
                  "%lld Gb/s against %lld; left out", (long long)(mbps->v / 1000),
                  (long long)(fastest / 1000));
    }
}

/* The user's list names nothing that the pod has. */
static void check_user_list(const struct ni_facts *facts, const struct ni_plan *plan,
                            struct ni_findings *f)
{
    const char *list = ni_user_value(facts, "NCCL_IB_HCA");
    if (!list || !*list || plan->transport != NI_NET_RDMA)
        return;
    for (unsigned i = 0; i < facts->inv->n_port; i++) {
        if (plan->port[i].chosen)
            return;
    }
    ni_report(f, NI_F_USER_HCA_NONE, "NCCL_IB_HCA", "`%.120s` names no usable port of this pod",
              list);
}

void ni_rule_ports(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f)
{
    for (unsigned i = 0; i < facts->inv->n_port; i++)
        judge_port(facts, plan, f, (int)i);
    one_speed(facts->inv, plan, f);
    one_link(facts->inv, plan, f);
    one_bus(facts, plan, f);
    check_user_list(facts, plan, f);
}

/* libibverbs opens /dev/infiniband/uverbsN; without it NCCL goes without the device, whatever
   NCCL_IB_HCA says (NCCL 2.30.7 transport/net_ib/init.cc ncclIbInitDevices). */
bool ni_put_node(const struct ni_uverbs *node, struct ni_text *t)
{
    const char *err = ni_errno_name(-node->err);
    if (node->known == NI_ABSENT)
        ni_put(t, "the kernel has no uverbs device of it");
    else if (node->known != NI_KNOWN || node->err == 0)
        return false;
    else if (ni_known_of(node->err) == NI_ABSENT)
        ni_putf(t, "/dev/infiniband/%s is not in the container", node->name);
    else
        ni_putf(t, "opening /dev/infiniband/%s gives %s", node->name, err ? err : "an error");
    return true;
}

/* doctor has an error for it, with the reason that fits (check_rdma.c). */
static void note_node(const struct ni_facts *facts, const struct ni_hca *h, struct ni_findings *f)
{
    char buf[96];
    struct ni_text t = ni_text_on(buf, sizeof(buf));
    if (!facts->inv->health.asked && ni_put_node(&h->uverbs, &t))
        ni_report(f, NI_F_HCA_NODE_LOST, h->name,
                  "%s: NCCL goes without this HCA, over sockets where it has no other", buf);
}

void ni_rule_hca_list(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f)
{
    static const char rule[] = "hca.list", name[] = "NCCL_IB_HCA";
    const struct ni_inventory *inv = facts->inv;
    if (plan->n_chosen == 0)
        return;
    char value[NI_VALUE];
    struct ni_text t = ni_text_on(value, sizeof(value));
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        const struct ni_port *port = &inv->port[plan->chosen[i]];
        note_node(facts, &inv->hca[port->hca], f);
        ni_putf(&t, "%s%s:%u", i ? "," : "=", inv->hca[port->hca].name, port->num);
    }
    ni_decide_value(facts, plan, rule, name, value, f,
                    "the pod's ACTIVE %s port%s, PCI order; the second `=` means exact names",
                    inv->port[plan->chosen[0]].link == NI_LINK_IB ? "InfiniBand" : "RoCE",
                    plan->n_chosen == 1 ? "" : "s");
}
