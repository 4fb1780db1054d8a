/* SPDX-License-Identifier: Apache-2.0 */
/* hca.ports: which ports of the pod's HCAs NCCL may use. hca.list: NCCL_IB_HCA, spelt so that every
   NCCL since 2.5.6 reads the same: `=` for exact names, an explicit port, PCI order, never empty
   (an empty list means all). */
#include <string.h>

#include "rule.h"

/* ---- the port by itself ---- */

static const char *put_state(const struct ni_num *state, char buf[48])
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
    const bool active = p->state.known != NI_KNOWN || p->state.v == NI_PORT_ACTIVE;
    return ni_user_value(facts, "NCCL_IB_HCA") && plan->transport == NI_NET_RDMA &&
           !plan->port[port].chosen && ni_is_given(h) && !h->efa && active &&
           is_in_users_list(facts, port);
}

bool ni_put_foreign(const struct ni_facts *facts, const struct ni_plan *plan, struct ni_text *t)
{
    const char *list = ni_user_value(facts, "NCCL_IB_HCA");
    unsigned n = 0;
    if (!list || plan->transport != NI_NET_RDMA)
        return false;
    for (unsigned i = 0; i < facts->inv->n_claim; i++) {
        const struct ni_claim *c = &facts->inv->claim[i];
        if (c->source == NI_SRC_UVERBS && c->hca < 0 && (!*list || ni_nccl_match(list, c->id, -1)))
            ni_putf(t, "%s%s", n++ ? ", " : "", c->id);
    }
    return n > 0;
}

static void judge_port(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f,
                       unsigned at)
{
    struct ni_port_plan *p = &plan->port[at];
    const struct ni_inventory *inv = facts->inv;
    const struct ni_port *port = &inv->port[at];
    const struct ni_hca *h = &inv->hca[port->hca];
    char name[NI_DEV_NAME + 8], state[48];
    if (!ni_is_given(h))
        ni_leave_out(plan, at, "not the pod's");
    else if (!is_in_option(facts, (int)at))
        ni_leave_out(plan, at, "not in --hcas");
    else if (plan->transport == NI_NET_TCP)
        ni_leave_out(plan, at, "TCP was chosen");
    else if (plan->transport == NI_NET_OTHER)
        ni_leave_out(plan, at, "another network plugin is in use");
    else if (port->state.known != NI_KNOWN || port->state.v != NI_PORT_ACTIVE) {
        ni_leave_out(plan, at, "%s", put_state(&port->state, state));
        ni_report(f, NI_F_HCA_PORT_DOWN, ni_port_text(inv, (int)at, name), "%s; left out", state);
    } else if (port->link == NI_LINK_UNKNOWN)
        ni_leave_out(plan, at, "link layer is neither InfiniBand nor Ethernet");
    else if (!is_in_users_list(facts, (int)at))
        ni_leave_out(plan, at, "not in your NCCL_IB_HCA");
    else {
        p->chosen = true;
        p->rule = plan->rule;
        (void)ni_format(p->why, sizeof(p->why), "given by %s, port ACTIVE",
                        inv->claim[h->claim].from);
    }
}

/* ---- the ports beside each other ---- */

/* Where nothing named the HCAs of the pod, a port of less than half the fastest one's rate is the
   management or storage port; a collective runs at the pace of the slowest. */
static void leave_out_slow(const struct ni_inventory *inv, struct ni_plan *plan,
                           struct ni_findings *f)
{
    int64_t fastest = 0;
    if (ni_is_told(inv->source))
        return;
    plan->wants |= NI_WANT_RATES;
    for (unsigned i = 0; i < inv->n_port; i++) {
        const struct ni_num *mbps = &inv->port[i].mbps;
        if (plan->port[i].chosen && mbps->known == NI_KNOWN && mbps->v > fastest)
            fastest = mbps->v;
    }
    for (unsigned i = 0; i < inv->n_port; i++) {
        const struct ni_num *mbps = &inv->port[i].mbps;
        char name[NI_DEV_NAME + 8];
        if (!plan->port[i].chosen || mbps->known != NI_KNOWN || mbps->v * 2 >= fastest)
            continue;
        ni_leave_out(plan, i, "%lld Gb/s, while the fastest has %lld", (long long)(mbps->v / 1000),
                     (long long)(fastest / 1000));
        ni_report(f, NI_F_HCA_PORT_SLOW, ni_port_text(inv, (int)i, name),
                  "%lld Gb/s against %lld; left out", (long long)(mbps->v / 1000),
                  (long long)(fastest / 1000));
    }
}

/* InfiniBand and RoCE together kill a job (NCCL 2.30.7 transport/net_ib/connect.cc: incompatible
   link layers, no fallback). The set with more bandwidth stays, InfiniBand when equal. */
static void keep_one_link_layer(const struct ni_inventory *inv, struct ni_plan *plan,
                                struct ni_findings *f)
{
    static const char *const text[] = {[NI_LINK_IB] = "InfiniBand", [NI_LINK_ROCE] = "RoCE"};
    int64_t mbps[NI_COUNT(text)] = {0};
    unsigned n[NI_COUNT(text)] = {0};
    for (unsigned i = 0; i < inv->n_port; i++) {
        const struct ni_port *port = &inv->port[i];
        if (!plan->port[i].chosen)
            continue;
        n[port->link]++;
        mbps[port->link] += port->mbps.known == NI_KNOWN ? port->mbps.v : 0;
    }
    if (!n[NI_LINK_IB] || !n[NI_LINK_ROCE])
        return;
    plan->wants |= NI_WANT_RATES;
    const bool roce = mbps[NI_LINK_ROCE] > mbps[NI_LINK_IB];
    const enum ni_link keep = roce ? NI_LINK_ROCE : NI_LINK_IB;
    const enum ni_link drop = roce ? NI_LINK_IB : NI_LINK_ROCE;
    for (unsigned i = 0; i < inv->n_port; i++) {
        if (plan->port[i].chosen && inv->port[i].link == drop)
            ni_leave_out(plan, i, "%s, while the faster set is %s", text[drop], text[keep]);
    }
    ni_report(f, NI_F_HCA_LINK_MIXED, text[drop], "%u %s port%s left out: %lld against %lld Gb/s",
              n[drop], text[drop], n[drop] == 1 ? "" : "s", (long long)(mbps[drop] / 1000),
              (long long)(mbps[keep] / 1000));
}

/* SoftRoCE has no PCI path. NCCL before 2.29.7 compares it with that of the HCAs behind it in the
   verbs' list, and 2.21.5 and 2.23.4 with all before it: strcmp(NULL) (transport/net_ib.cc
   ncclIbGetPciPath, ncclIbFindMatchingDev). No variable helps. */
static void leave_out_softroce(const struct ni_facts *facts, struct ni_plan *plan,
                               struct ni_findings *f)
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
                  "NCCL before 2.29.7 may crash with HCAs on PCI beside it; %s",
                  named ? "kept because it was named" : "left out");
        if (!named)
            ni_leave_out(plan, i, "SoftRoCE, while the others are on PCI");
    }
}

static void ports(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f)
{
    const char *list = ni_user_value(facts, "NCCL_IB_HCA");
    unsigned chosen = 0;
    for (unsigned i = 0; i < facts->inv->n_port; i++)
        judge_port(facts, plan, f, i);
    if (list && plan->transport == NI_NET_RDMA)
        plan->wants |= NI_WANT_UVERBS; /* ni_put_foreign */
    leave_out_slow(facts->inv, plan, f);
    keep_one_link_layer(facts->inv, plan, f);
    leave_out_softroce(facts, plan, f);
    for (unsigned i = 0; i < facts->inv->n_port; i++)
        chosen += plan->port[i].chosen;
    if (list && *list && plan->transport == NI_NET_RDMA && chosen == 0)
        ni_report(f, NI_F_USER_HCA_NONE, "NCCL_IB_HCA", "`%.120s` names no usable port of this pod",
                  list);
}

const struct ni_rule ni_rule_ports = {
    "hca.ports", "claims, port states, link layers, rates, --hcas, NCCL_IB_HCA", "which ports",
    ports, false};

/* ---- the list ---- */

/* PCI order, as NCCL sorts (2.29.7 NCCL_IB_DEVICE_PCI_ORDER); what has no PCI address comes last,
   by name. */
static int port_cmp(const struct ni_inventory *inv, int a, int b)
{
    const struct ni_hca *x = &inv->hca[inv->port[a].hca], *y = &inv->hca[inv->port[b].hca];
    if (x->has_bdf != y->has_bdf)
        return x->has_bdf ? -1 : 1;
    int c = x->has_bdf ? ni_bdf_cmp(x->bdf, y->bdf) : 0;
    if (c == 0)
        c = ni_natural_cmp(x->name, y->name);
    return c ? c : (inv->port[a].num > inv->port[b].num) - (inv->port[a].num < inv->port[b].num);
}

void ni_list_chosen(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f)
{
    const struct ni_inventory *inv = facts->inv;
    int sorted[NI_MAX_PORT];
    unsigned n = 0;
    for (unsigned i = 0; i < inv->n_port; i++) {
        if (!plan->port[i].chosen)
            continue;
        unsigned at = n++;
        for (; at > 0 && port_cmp(inv, sorted[at - 1], (int)i) > 0; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = (int)i;
    }
    plan->n_chosen = n < NI_MAX_CHOSEN ? n : NI_MAX_CHOSEN;
    memcpy(plan->chosen, sorted, plan->n_chosen * sizeof(sorted[0]));
    for (unsigned i = plan->n_chosen; i < n; i++) {
        const struct ni_port *port = &inv->port[sorted[i]];
        ni_leave_out(plan, (unsigned)sorted[i], "NCCL takes %d ports", NI_MAX_CHOSEN);
        plan->port[sorted[i]].rule = ni_rule_ports.id;
        ni_report(f, NI_F_HCA_TOO_MANY, inv->hca[port->hca].name, "port %u is beyond the first %d",
                  port->num, NI_MAX_CHOSEN);
    }
}

/* libibverbs opens /dev/infiniband/uverbsN; without it NCCL goes without the device, whatever
   NCCL_IB_HCA says (NCCL 2.30.7 transport/net_ib/init.cc ncclIbInitDevices). */
bool ni_lacks_node(const struct ni_uverbs *node)
{
    return node->known == NI_ABSENT || (node->known == NI_KNOWN && node->err != 0);
}

bool ni_put_node(const struct ni_uverbs *node, struct ni_text *t)
{
    const char *err = ni_errno_name(-node->err);
    if (!ni_lacks_node(node))
        return false;
    if (node->known == NI_ABSENT)
        ni_put(t, "the kernel has no uverbs device of it");
    else if (ni_known_of(node->err) == NI_ABSENT)
        ni_putf(t, "/dev/infiniband/%s is not in the container", node->name);
    else
        ni_putf(t, "opening /dev/infiniband/%s gives %s", node->name, err ? err : "an error");
    return true;
}

static void hca_list(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f)
{
    const struct ni_inventory *inv = facts->inv;
    char value[NI_VALUE], node[96];
    struct ni_text list = ni_text_on(value, sizeof(value));
    if (plan->n_chosen == 0)
        return;
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        const struct ni_hca *h = ni_chosen_hca(facts, plan, i);
        struct ni_text t = ni_text_on(node, sizeof(node));
        ni_putf(&list, "%s%s:%u", i ? "," : "=", h->name, ni_chosen_port(facts, plan, i)->num);
        /* doctor has an error for it, with the reason that fits (check_rdma.c) */
        if (!inv->for_doctor && ni_put_node(&h->uverbs, &t))
            ni_report(f, NI_F_HCA_NODE_LOST, h->name,
                      "%s: NCCL leaves this HCA out, and uses sockets if it has no other", node);
    }
    ni_decide_value(facts, plan, f, "NCCL_IB_HCA", value,
                    "the pod's ACTIVE %s port%s, PCI order; the second `=` means exact names",
                    ni_chosen_port(facts, plan, 0)->link == NI_LINK_IB ? "InfiniBand" : "RoCE",
                    plan->n_chosen == 1 ? "" : "s");
}

const struct ni_rule ni_rule_hca_list = {"hca.list", "chosen ports", "NCCL_IB_HCA", hca_list,
                                         false};
