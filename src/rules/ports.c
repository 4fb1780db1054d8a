/* SPDX-License-Identifier: Apache-2.0 */
/* hca.ports: which ports of the pod's HCAs NCCL may use. hca.list: NCCL_IB_HCA, spelt so that every
   NCCL since 2.5.6 reads the same: `=` for exact names, an explicit port, PCI order, never empty
   (an empty list means all). */
#include "rules/ports.h"

#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/errno.h"
#include "nccl_init/findings.h"
#include "nccl_init/given.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/nccl_list.h"
#include "nccl_init/pci.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "rules/chosen.h"
#include "rules/decide.h"
#include "rules/transport.h"

static const char variable[] = "NCCL_IB_HCA";

/* ---- the port by itself ---- */

static bool takes(const struct ni_work *w, const char *list, int at)
{
    const struct ni_port *port = &w->inv->port[at];
    return ni_nccl_match(list, w->inv->hca[port->hca].name, (int)port->num);
}

static bool is_in_option(const struct ni_work *w, int at)
{
    char option[NI_VALUE + 2];
    return !w->policy->hcas || !ni_format(option, sizeof(option), "=%s", w->policy->hcas) ||
           takes(w, option, at);
}

static bool is_in_users_list(const struct ni_work *w, int at)
{
    const char *list = ni_user_value(w, variable);
    return !list || takes(w, list, at);
}

bool ni_is_listed(const struct ni_work *w, int port)
{
    return is_in_option(w, port) && is_in_users_list(w, port);
}

bool ni_is_taken(const struct ni_work *w, int port)
{
    const struct ni_port *p = &w->inv->port[port];
    const struct ni_hca *h = &w->inv->hca[p->hca];
    const bool down = p->state.known == NI_KNOWN && !ni_is_active(p);

    if (w->plan->transport != NI_NET_RDMA || !ni_user_value(w, variable))
        return w->plan->port[port].chosen;
    return ni_is_given(h) && !h->efa && !down && is_in_users_list(w, port);
}

/* As the kernel calls it (drivers/infiniband/core/sysfs.c phys_state_show); read for doctor. */
static const char *physical_state(const struct ni_port *port)
{
    static const char *const text[] = {"?",
                                       "Sleep",
                                       "Polling",
                                       "Disabled",
                                       "PortConfigurationTraining",
                                       "LinkUp",
                                       "LinkErrorRecovery",
                                       "Phy Test"};
    return port->phys_state.known == NI_KNOWN && port->phys_state.v < (int64_t)NI_COUNT(text)
               ? text[port->phys_state.v]
               : NULL;
}

static void judge_port(const struct ni_work *w, unsigned at)
{
    struct ni_port_plan *p = &w->plan->port[at];
    const struct ni_port *port = &w->inv->port[at];
    const struct ni_hca *h = &w->inv->hca[port->hca];
    const struct ni_num state = port->state;
    const char *word = ni_port_state_text(state);
    const char *phys = physical_state(port);
    if (!ni_is_given(h))
        ni_leave_out(w, at, NI_F_COUNT, "not the pod's");
    else if (!is_in_option(w, (int)at))
        ni_leave_out(w, at, NI_F_COUNT, "not in --hcas");
    else if (w->plan->transport != NI_NET_RDMA)
        ni_leave_out(w, at, NI_F_COUNT,
                     ni_tcp_cause(w) ? "TCP was chosen" : "another network was chosen");
    else if (state.known != NI_KNOWN)
        ni_leave_out(w, at, NI_F_HCA_PORT_DOWN, "port state cannot be read (%s)",
                     ni_known_text(state.known));
    else if (!ni_is_active(port))
        ni_leave_out(w, at, NI_F_HCA_PORT_DOWN, "port is %s%s%s",
                     word ? word : "in no state that InfiniBand knows",
                     phys ? ", physical state " : "", phys ? phys : "");
    else if (port->link == NI_LINK_UNKNOWN)
        ni_leave_out(w, at, NI_F_COUNT, "link layer is neither InfiniBand nor Ethernet");
    else if (!is_in_users_list(w, (int)at))
        ni_leave_out(w, at, NI_F_COUNT, "not in your NCCL_IB_HCA");
    else {
        p->chosen = true;
        p->rule = w->plan->rule;
        (void)ni_format(p->why, sizeof(p->why), "given by %s, port ACTIVE",
                        w->inv->claim[h->claim].from);
    }
}

/* ---- the ports beside each other ---- */

/* The user names it, by its whole name: a prefix, or what is left out, may take more than was meant. */
static bool is_named(const struct ni_work *w, int at)
{
    const char *list = ni_user_value(w, variable);
    char exact[NI_VALUE + 2];
    if (w->policy->hcas || !list || *list == '^')
        return w->policy->hcas != NULL;
    list += *list == '=';
    return ni_names_hcas(list) && ni_format(exact, sizeof(exact), "=%s", list) &&
           takes(w, exact, at);
}

/* Where nothing named the HCAs of the pod, a port of less than half the fastest one's rate is the
   management or storage port; a collective runs at the pace of the slowest. */
static void leave_out_slow(const struct ni_work *w)
{
    const struct ni_port *port = w->inv->port;
    long long fastest = 0;
    if (ni_is_told(w->inv->source))
        return;
    w->plan->wants |= NI_WANT_RATES;
    for (unsigned i = 0; i < w->inv->n_port; i++) {
        if (w->plan->port[i].chosen && port[i].mbps.known == NI_KNOWN && port[i].mbps.v > fastest)
            fastest = port[i].mbps.v;
    }
    for (unsigned i = 0; i < w->inv->n_port; i++) {
        const long long mbps = port[i].mbps.v;
        if (!w->plan->port[i].chosen || port[i].mbps.known != NI_KNOWN || mbps * 2 >= fastest ||
            is_named(w, (int)i))
            continue;
        ni_leave_out(w, i, NI_F_HCA_PORT_SLOW, "%lld Gb/s, while the fastest has %lld", mbps / 1000,
                     fastest / 1000);
    }
}

/* InfiniBand and RoCE together kill a job (NCCL 2.30.7 transport/net_ib/connect.cc: incompatible
   link layers, no fallback). The set with more bandwidth stays, InfiniBand when equal. */
static void keep_one_link_layer(const struct ni_work *w)
{
    long long mbps[] = {[NI_LINK_IB] = 0, [NI_LINK_ROCE] = 0};
    bool has[] = {[NI_LINK_IB] = false, [NI_LINK_ROCE] = false};
    for (unsigned i = 0; i < w->inv->n_port; i++) {
        const struct ni_port *port = &w->inv->port[i];
        if (!w->plan->port[i].chosen)
            continue;
        has[port->link] = true;
        mbps[port->link] += port->mbps.known == NI_KNOWN ? port->mbps.v : 0;
    }
    if (!has[NI_LINK_IB] || !has[NI_LINK_ROCE])
        return;
    w->plan->wants |= NI_WANT_RATES;
    const bool roce = mbps[NI_LINK_ROCE] > mbps[NI_LINK_IB];
    for (unsigned i = 0; i < w->inv->n_port; i++) {
        if (w->plan->port[i].chosen && (w->inv->port[i].link == NI_LINK_ROCE) != roce)
            ni_leave_out(w, i, NI_F_HCA_LINK_MIXED, "%s, while the faster set is %s",
                         roce ? "InfiniBand" : "RoCE", roce ? "RoCE" : "InfiniBand");
    }
}

/* SoftRoCE has no PCI path. NCCL before 2.29.7 compares it with that of the HCAs behind it in the
   verbs' list, and 2.21.5 and 2.23.4 with all before it: strcmp(NULL) (transport/net_ib.cc
   ncclIbGetPciPath, ncclIbFindMatchingDev). No variable helps. */
static void leave_out_softroce(const struct ni_work *w)
{
    const struct ni_inventory *inv = w->inv;
    bool pci = false;
    for (unsigned i = 0; i < inv->n_port; i++)
        pci = pci || (w->plan->port[i].chosen && !inv->hca[inv->port[i].hca].pci.none);
    for (unsigned i = 0; pci && i < inv->n_port; i++) {
        if (!w->plan->port[i].chosen || !inv->hca[inv->port[i].hca].pci.none)
            continue;
        if (is_named(w, (int)i))
            ni_report(w->f, NI_F_HCA_SOFTROCE_MIXED, ni_port_name(inv, (int)i).text,
                      "SoftRoCE beside HCAs on PCI may crash NCCL before 2.29.7");
        else
            ni_leave_out(w, i, NI_F_HCA_SOFTROCE_MIXED,
                         "SoftRoCE beside HCAs on PCI may crash NCCL before 2.29.7");
    }
}

void ni_rule_ports(const struct ni_work *w)
{
    const char *list = ni_user_value(w, variable);
    unsigned chosen = 0;
    for (unsigned i = 0; i < w->inv->n_port; i++)
        judge_port(w, i);
    if (list && w->plan->transport == NI_NET_RDMA)
        w->plan->wants |= NI_WANT_UVERBS; /* for user.values */
    leave_out_slow(w);
    keep_one_link_layer(w);
    leave_out_softroce(w);
    for (unsigned i = 0; i < w->inv->n_port; i++)
        chosen += w->plan->port[i].chosen;
    if (list && ni_names_hcas(list) && w->plan->transport == NI_NET_RDMA && chosen == 0)
        ni_report(w->f, NI_F_USER_HCA_NONE, variable, "`%.120s` names no usable port of this pod",
                  list);
}

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

void ni_list_chosen(const struct ni_work *w)
{
    const struct ni_inventory *inv = w->inv;
    int sorted[NI_MAX_PORT];
    unsigned n = 0;
    for (int i = 0; i < (int)inv->n_port; i++) {
        if (!w->plan->port[i].chosen)
            continue;
        unsigned at = n++;
        for (; at > 0 && port_cmp(inv, sorted[at - 1], i) > 0; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = i;
    }
    w->plan->n_chosen = n < NI_MAX_CHOSEN ? n : NI_MAX_CHOSEN;
    memcpy(w->plan->chosen, sorted, w->plan->n_chosen * sizeof(sorted[0]));
    for (unsigned i = w->plan->n_chosen; i < n; i++) {
        ni_leave_out(w, (unsigned)sorted[i], NI_F_HCA_TOO_MANY, "NCCL takes %d ports",
                     NI_MAX_CHOSEN);
        w->plan->port[sorted[i]].rule = "hca.ports";
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
    if (!ni_lacks_node(node))
        return false;
    if (node->known == NI_ABSENT)
        ni_put(t, "the kernel has no uverbs device of it");
    else if (ni_known_of(node->err) == NI_ABSENT)
        ni_putf(t, "/dev/infiniband/%s is not in the container", node->name);
    else
        ni_putf(t, "opening /dev/infiniband/%s gives %s", node->name, NI_ERRNO(node->err));
    return true;
}

void ni_rule_hca_list(const struct ni_work *w)
{
    const unsigned n = w->plan->n_chosen;
    const char *user = ni_user_value(w, variable);
    struct ni_text list = NI_TEXT(NI_VALUE);
    if (n == 0)
        return;
    for (unsigned i = 0; i < n; i++) {
        const struct ni_chosen c = ni_chosen(w, i);
        struct ni_text node = NI_TEXT(96);
        ni_putf(&list, "%s%s:%u", i ? "," : "=", c.hca->name, c.port->num);
        /* doctor has an error for it, with the reason that fits (check.c) */
        if (!w->inv->for_doctor && ni_put_node(&c.hca->uverbs, &node))
            ni_report(w->f, NI_F_HCA_NODE_LOST, c.hca->name,
                      "%s: NCCL leaves this HCA out, and uses sockets if it has no other",
                      node.buf);
    }
    ni_decide_value(w, variable, list.buf,
                    "%sthe pod's ACTIVE %s port%s, PCI order; the second `=` means exact names",
                    user && *user ? "of your list, " : "",
                    ni_chosen(w, 0).port->link == NI_LINK_IB ? "InfiniBand" : "RoCE",
                    n == 1 ? "" : "s");
}
