/* SPDX-License-Identifier: Apache-2.0 */
/* The rule hca.ports: the ports of the pod's HCAs that NCCL may use. */
#include "rules/ports.h"

#include <string.h>

#include "findings/device.h"
#include "findings/setting.h"
#include "nccl_init/allocation.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/nccl_list.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "rules/decide.h"
#include "rules/hca_node.h"
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

    if (w->plan->transport != NI_NET_RDMA || !ni_user_value(w, variable))
        return w->plan->port[port].chosen;
    return ni_is_allocated(h) && !h->efa && !ni_is_down(p) && !ni_lacks_uverbs(&h->uverbs) &&
           is_in_users_list(w, port);
}

bool ni_is_lost(const struct ni_work *w, int port)
{
    return w->plan->port[port].lost && ni_is_listed(w, port);
}

/* Returns the kernel's word for it (drivers/infiniband/core/sysfs.c phys_state_show); read for
   doctor. */
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

/* Puts the GUIDs of an InfiniBand port that nobody wrote. false: both are there, or not known. A
   subnet manager does not configure such a port. */
static bool put_missing_guids(const struct ni_work *w, const struct ni_port *port,
                              struct ni_text *why)
{
    const struct ni_num node = w->inv->hca[port->hca].guid;
    const bool no_node = node.known == NI_KNOWN && node.v == 0;
    const bool no_port = port->guid.known == NI_KNOWN && port->guid.v == 0;

    if (port->link != NI_LINK_IB)
        return false;
    w->plan->needs |= NI_NEED_GUIDS;
    if (no_node && no_port)
        ni_put(why, "its node and port GUID are 0");
    else if (no_node)
        ni_put(why, "its node GUID is 0");
    else if (no_port)
        ni_put(why, "its port GUID is 0");
    return no_node || no_port;
}

/* Leaves out a port that is not ACTIVE. */
static void leave_out_down(const struct ni_work *w, unsigned at)
{
    const struct ni_port *port = &w->inv->port[at];
    const char *word = ni_port_state_text(port->state);
    const char *phys = physical_state(port);
    struct ni_text guids = NI_TEXT(40);

    if (!word)
        word = "in an unknown state";
    if (put_missing_guids(w, port, &guids))
        ni_leave_out(w, at, NI_F_HCA_GUID_NONE, "port is %s: %s", word, guids.buf);
    else if (phys)
        ni_leave_out(w, at, NI_F_HCA_PORT_DOWN, "port is %s, physical state %s", word, phys);
    else
        ni_leave_out(w, at, NI_F_HCA_PORT_DOWN, "port is %s", word);
}

/* Chooses the port, or leaves it out for the first reason that applies. */
static void judge_port(const struct ni_work *w, unsigned at)
{
    struct ni_port_plan *p = &w->plan->port[at];
    const struct ni_port *port = &w->inv->port[at];
    const struct ni_hca *h = &w->inv->hca[port->hca];
    const struct ni_num state = port->state;

    if (!ni_is_allocated(h))
        ni_leave_out(w, at, NI_F_NONE, "not the pod's");
    else if (!is_in_option(w, (int)at))
        ni_leave_out(w, at, NI_F_NONE, "not in --hcas");
    else if (w->plan->transport != NI_NET_RDMA)
        ni_leave_out(w, at, NI_F_NONE,
                     ni_tcp_cause(w) ? "TCP was chosen" : "another network was chosen");
    else if (state.known != NI_KNOWN)
        ni_leave_out(w, at, NI_F_HCA_PORT_DOWN, "port state cannot be read (%s)",
                     ni_known_text(state.known));
    else if (!ni_is_active(port))
        leave_out_down(w, at);
    else if (port->link == NI_LINK_UNKNOWN)
        ni_leave_out(w, at, NI_F_NONE, "link layer is neither InfiniBand nor Ethernet");
    else if (!is_in_users_list(w, (int)at))
        ni_leave_out(w, at, NI_F_NONE, "not in your NCCL_IB_HCA");
    else {
        p->chosen = true;
        p->rule = w->plan->rule;
        (void)ni_format(p->why, sizeof(p->why), "given by %s, port ACTIVE",
                        w->inv->allocation[h->allocation].from);
    }
}

/* Leaves out the HCAs that cannot be opened, if another one can: NCCL does not use them, so nothing
   is compared with them. If none opens, all stay: NCCL then uses sockets as well, and a file that
   `env` writes may be for a container that has the nodes. */
static void leave_out_closed(const struct ni_work *w)
{
    bool any = false;

    for (unsigned i = 0; i < w->inv->n_port; i++) {
        const struct ni_hca *h = &w->inv->hca[w->inv->port[i].hca];

        any = any || (w->plan->port[i].chosen && !ni_lacks_uverbs(&h->uverbs));
    }
    for (unsigned i = 0; i < w->inv->n_port; i++) {
        const struct ni_hca *h = &w->inv->hca[w->inv->port[i].hca];
        struct ni_text node = NI_TEXT(96);

        if (!w->plan->port[i].chosen || !ni_put_node(&h->uverbs, &node))
            continue;
        /* a check of doctor and the self-test report those that stay */
        if (any || !w->inv->for_doctor)
            ni_report(w->f, NI_F_HCA_NODE_LOST, h->name,
                      "%s: NCCL leaves this HCA out, and uses sockets if it has no other",
                      node.buf);
        if (!any)
            continue;
        ni_leave_out(w, i, NI_F_NONE, "%s", node.buf);
        w->plan->port[i].lost = true;
    }
}

/* ---- the ports beside each other ---- */

/* Returns true if the user's list names the port by its whole name: a prefix, or a list of
   exceptions, may take more than was meant. */
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

/* Leaves out slow ports if no source named the HCAs of the pod. A port with less than half the rate
   of the fastest one is the management or storage port, and a collective runs at the pace of the
   slowest. */
static void leave_out_slow(const struct ni_work *w)
{
    const struct ni_port *port = w->inv->port;
    long long fastest = 0;

    if (ni_is_source_certain(w->inv->source))
        return;
    w->plan->needs |= NI_NEED_RATES;
    for (unsigned i = 0; i < w->inv->n_port; i++) {
        if (w->plan->port[i].chosen && port[i].mbps.known == NI_KNOWN && port[i].mbps.v > fastest)
            fastest = port[i].mbps.v;
    }
    for (unsigned i = 0; i < w->inv->n_port; i++) {
        const long long mbps = port[i].mbps.v;

        if (!w->plan->port[i].chosen || port[i].mbps.known != NI_KNOWN || mbps * 2 >= fastest ||
            is_named(w, (int)i))
            continue;
        ni_leave_out(w, i, NI_F_HCA_PORT_SLOW, "%lld Gb/s, while the fastest port has %lld",
                     mbps / 1000, fastest / 1000);
    }
}

/* Leaves out the ports of one link layer if both are there: InfiniBand and RoCE together kill a job
   (NCCL 2.30.7 transport/net_ib/connect.cc: incompatible link layers, no fallback). The set with
   more bandwidth stays; InfiniBand, if both have the same. */
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
    w->plan->needs |= NI_NEED_RATES;
    const bool roce = mbps[NI_LINK_ROCE] > mbps[NI_LINK_IB];
    const char *why = roce ? "InfiniBand, while the ports that stay are RoCE"
                           : "RoCE, while the ports that stay are InfiniBand";
    for (unsigned i = 0; i < w->inv->n_port; i++) {
        if (w->plan->port[i].chosen && (w->inv->port[i].link == NI_LINK_ROCE) != roce)
            ni_leave_out(w, i, NI_F_HCA_LINK_MIXED, "%s", why);
    }
}

/* SoftRoCE has no PCI path. NCCL before 2.29.7 compares it with that of the HCAs after it in the
   verbs' list, and 2.21.5 and 2.23.4 with all before it: strcmp(NULL) (transport/net_ib.cc
   ncclIbGetPciPath, ncclIbFindMatchingDev). It reads no path of a device that NCCL_IB_HCA leaves
   out (2.21.5 and 2.28.9 ncclIbInit), and no other variable helps. */
const char ni_softroce_mixed[] = "SoftRoCE together with PCI HCAs may crash NCCL before 2.29.7";

bool ni_is_softroce_beside(const struct ni_hca *hca, const struct ni_hca *other)
{
    return hca->pci.none && !other->pci.none;
}

/* Finds a chosen HCA on PCI; NULL. */
static const struct ni_hca *find_chosen_on_pci(const struct ni_work *w)
{
    for (unsigned i = 0; i < w->inv->n_port; i++) {
        const struct ni_hca *hca = &w->inv->hca[w->inv->port[i].hca];

        if (w->plan->port[i].chosen && !hca->pci.none)
            return hca;
    }
    return NULL;
}

static void leave_out_softroce(const struct ni_work *w)
{
    const struct ni_inventory *inv = w->inv;
    const struct ni_hca *other = find_chosen_on_pci(w);

    if (!other)
        return;
    for (unsigned i = 0; i < inv->n_port; i++) {
        if (!w->plan->port[i].chosen || !ni_is_softroce_beside(&inv->hca[inv->port[i].hca], other))
            continue;
        if (is_named(w, (int)i))
            ni_report(w->f, NI_F_HCA_SOFTROCE_MIXED, ni_port_name(inv, (int)i).text, "%s",
                      ni_softroce_mixed);
        else
            ni_leave_out(w, i, NI_F_HCA_SOFTROCE_LEFT_OUT, "%s", ni_softroce_mixed);
    }
}

/* Puts the ports that the user could name: those of the pod that are ACTIVE and open. */
static void put_usable(const struct ni_work *w, struct ni_text *t)
{
    enum { NAMED = 8 };
    unsigned n = 0;

    for (int i = 0; i < (int)w->inv->n_port; i++) {
        const struct ni_hca *h = &w->inv->hca[w->inv->port[i].hca];

        if (!ni_is_allocated(h) || h->efa || !ni_is_active(&w->inv->port[i]) ||
            ni_lacks_uverbs(&h->uverbs))
            continue;
        n++;
        if (n <= NAMED)
            ni_putf(t, "%s%s:%u", n == 1 ? ", which has " : ", ", h->name, w->inv->port[i].num);
    }
    if (n > NAMED)
        ni_putf(t, " and %u more", n - NAMED);
}

/* Reports a list of the user's that names none of the usable ports. */
static void report_none_named(const struct ni_work *w, const char *list)
{
    struct ni_text usable = NI_TEXT(240);

    put_usable(w, &usable);
    ni_report(w->f, NI_F_USER_HCA_NONE, variable, "`%.120s` names no usable port of this pod%s",
              list, usable.buf);
}

void ni_rule_ports(const struct ni_work *w)
{
    const char *list = ni_user_value(w, variable);
    unsigned chosen = 0;

    for (unsigned i = 0; i < w->inv->n_port; i++)
        judge_port(w, i);
    if (list && w->plan->transport == NI_NET_RDMA)
        w->plan->needs |= NI_NEED_UVERBS; /* user.values asks for it */
    leave_out_closed(w);
    leave_out_slow(w);
    keep_one_link_layer(w);
    leave_out_softroce(w);
    for (unsigned i = 0; i < w->inv->n_port; i++)
        chosen += w->plan->port[i].chosen;
    if (list && ni_names_hcas(list) && w->plan->transport == NI_NET_RDMA && chosen == 0)
        report_none_named(w, list);
}
