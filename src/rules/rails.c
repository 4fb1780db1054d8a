/* SPDX-License-Identifier: Apache-2.0 */
/* The rule rail.cross: NCCL_CROSS_NIC=0 if each rail is a subnet of its own and no route of any
   table leads from one to another. NCCL's default of 2 lets a ring leave on one rail and arrive
   on another; there the job hangs in ibv_modify_qp until ETIMEDOUT. */
#include "rules/rails.h"

#include <string.h>

#include "findings/device.h"
#include "findings/setting.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/ip.h"
#include "nccl_init/known.h"
#include "nccl_init/net.h"
#include "nccl_init/pci.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "rules/chosen.h"
#include "rules/decide.h"
#include "rules/gid_pick.h"
#include "rules/ports.h"

static const char variable[] = "NCCL_CROSS_NIC";

/* ---- which network an address is in, and what a route leads to ---- */

static bool holds(const struct ni_route *r, bool v4, const uint8_t ip[NI_GID_BYTES])
{
    const unsigned bits = v4 ? 96u + r->bits : r->bits;

    return ni_ip_same_prefix(r->dest, ip, bits);
}

enum hop { CONNECTED, THROUGH_ROUTER };

/* Returns the most specific route of that kind from an interface to an address; NULL: none. */
static const struct ni_route *find_route(const struct ni_net *net, const struct ni_end *from,
                                         const uint8_t to[NI_GID_BYTES], enum hop hop)
{
    const bool v4 = ni_ip_is_v4(to);
    const struct ni_route *all = v4 ? net->route : net->route6, *best = NULL;
    const unsigned n = v4 ? net->n_route : net->n_route6;

    for (unsigned i = 0; i < n; i++) {
        const struct ni_route *r = &all[i];

        if (r->gateway == (hop == THROUGH_ROUTER) && strcmp(r->ifname, from->ifname) == 0 &&
            holds(r, v4, to) && (!best || r->bits > best->bits))
            best = r;
    }
    return best;
}

const struct ni_route *ni_connected_route(const struct ni_net *net, const char *ifname,
                                          const uint8_t ip[NI_GID_BYTES])
{
    const struct ni_end from = {ifname, ip};

    return ni_ip_is_v4(ip) ? find_route(net, &from, ip, CONNECTED) : NULL;
}

/* Returns the connected route of the end's network, or NULL. */
static const struct ni_route *subnet_of(const struct ni_net *net, const struct ni_end *end)
{
    return find_route(net, end, end->ip, CONNECTED);
}

static bool are_one_subnet(const struct ni_route *x, const struct ni_route *y, bool v4)
{
    return holds(x, v4, y->dest) || holds(y, v4, x->dest);
}

static bool are_one_network(const struct ni_net *net, const struct ni_end *a,
                            const struct ni_end *b)
{
    return are_one_subnet(subnet_of(net, a), subnet_of(net, b), ni_ip_is_v4(a->ip));
}

/* Returns true if all routes through a router are known: proc/net/route has those of the main
   table, no file has those of policy rules. */
static bool are_routes_known(const struct ni_net *net, bool v4)
{
    if (v4)
        return net->route_known == NI_KNOWN && net->v4_known == NI_KNOWN && !net->policy_routes;
    return net->route6_known == NI_KNOWN && net->n_route6 < NI_MAX_ROUTE6;
}

enum ni_path ni_path_between(const struct ni_net *net, const struct ni_end *a,
                             const struct ni_end *b)
{
    const struct ni_route *x = subnet_of(net, a), *y = subnet_of(net, b);
    const bool v4 = ni_ip_is_v4(a->ip);

    if (v4 != ni_ip_is_v4(b->ip) || !x || !y)
        return NI_PATH_UNKNOWN;
    if (are_one_subnet(x, y, v4))
        return NI_PATH_THERE;
    if (find_route(net, a, b->ip, THROUGH_ROUTER) || find_route(net, b, a->ip, THROUGH_ROUTER))
        return NI_PATH_THERE;
    return are_routes_known(net, v4) ? NI_PATH_NONE : NI_PATH_UNKNOWN;
}

/* ---- the rails of the pod ---- */

/* Adds a port that is out of use in this pod. What its GID table or its interface still shows tells
   the network. */
static void add_lost(const struct ni_work *w, int at, struct ni_given_rails *ret)
{
    const struct ni_inventory *inv = w->inv;
    const struct ni_port *port = &inv->port[at];
    const int best = port->link == NI_LINK_ROCE ? ni_best_gid(inv, port) : -1;
    /* a port of the other link layer would change the choice of all */
    const bool alike = ret->n > 0 && inv->port[ret->port[0]].link == port->link;
    const bool known = port->link == NI_LINK_IB
                           ? inv->hca[port->hca].netdev >= 0
                           : best >= 0 && ni_gid_is_routable_v2(&inv->gid[best]);

    w->plan->needs |= NI_NEED_LOST;
    if (!alike || !known) {
        ret->unknown = at;
    } else if (ret->n < NI_MAX_CHOSEN) {
        ret->port[ret->n] = at;
        ret->gid[ret->n] = best < 0 ? NULL : &inv->gid[best];
        ret->n++;
    }
}

void ni_given_rails(const struct ni_work *w, struct ni_given_rails *ret)
{
    const struct ni_plan *plan = w->plan;

    *ret = (struct ni_given_rails){.n = plan->n_chosen, .unknown = -1};
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        ret->port[i] = plan->chosen[i];
        ret->gid[i] = ni_chosen(w, i).gid;
    }
    for (int i = 0; i < (int)w->inv->n_port; i++) {
        if (ni_is_lost(w, i))
            add_lost(w, i, ret);
    }
}

/* Puts why the two rails may or may not be one network, as a clause. */
static void put_rails_reason(const struct ni_work *w, const struct ni_given_rails *rails,
                             unsigned a, unsigned b, enum ni_path path, const struct ni_end end[],
                             struct ni_text *why)
{
    const struct ni_net *net = &w->inv->net;
    const struct ni_port_name x = ni_port_name(w->inv, rails->port[a]);
    const struct ni_port_name y = ni_port_name(w->inv, rails->port[b]);
    const bool v4 = ni_ip_is_v4(end[a].ip);
    const unsigned lost = subnet_of(net, &end[a]) ? b : a;
    char ip[NI_IP_TEXT];

    if (path == NI_PATH_THERE && are_one_network(net, &end[a], &end[b]))
        ni_putf(why, "%s and %s are in one network", y.text, x.text);
    else if (path == NI_PATH_THERE)
        ni_putf(why, "a route leads from one rail to another: %s and %s", y.text, x.text);
    else if (v4 != ni_ip_is_v4(end[b].ip))
        ni_putf(why, "the GIDs of %s and %s are of different address families", y.text, x.text);
    else if ((v4 ? net->route_known : net->route6_known) != NI_KNOWN)
        ni_put(why, "the routes cannot be read");
    else if (!subnet_of(net, &end[lost]))
        ni_putf(why, "the network of %s is not known: no route shows one for %s",
                lost == a ? x.text : y.text, ni_ip_text(end[lost].ip, ip));
    else if (v4 && net->policy_routes)
        ni_put(why, "a routing table other than main (`ip rule`) may lead from one rail to "
                    "another, and /proc does not show it (set 0 yourself if none does)");
    else
        ni_put(why, "not all routes can be read");
}

/* Finds the path between the two rails that are closest to being one network. NONE: all rails are
   apart; otherwise *why is a clause. */
static enum ni_path path_of_rails(const struct ni_work *w, const struct ni_given_rails *rails,
                                  struct ni_text *why)
{
    struct ni_end end[NI_MAX_CHOSEN];

    if (rails->n < 2) {
        if (rails->unknown >= 0)
            ni_putf(why, "the network of %s, which is out of use in this pod, is not known",
                    ni_port_name(w->inv, rails->unknown).text);
        else
            ni_put(why, "the pod has one rail");
        return NI_PATH_UNKNOWN;
    }
    for (unsigned i = 0; i < rails->n; i++) {
        const struct ni_gid *gid = rails->gid[i];

        if (!gid || ni_ip_is_link_local(gid->ip)) {
            if (w->inv->port[rails->port[i]].link == NI_LINK_IB)
                ni_put(why, "IP routes say nothing about an InfiniBand fabric");
            else
                ni_putf(why, "%s has no routable address",
                        ni_port_name(w->inv, rails->port[i]).text);
            return NI_PATH_UNKNOWN;
        }
        if (!ni_ip_is_v4(gid->ip))
            w->plan->needs |= NI_NEED_ROUTES6;
        end[i] = (struct ni_end){gid->ndev, gid->ip};
        for (unsigned k = 0; k < i; k++) {
            const enum ni_path path = ni_path_between(&w->inv->net, &end[i], &end[k]);

            if (path == NI_PATH_NONE)
                continue;
            put_rails_reason(w, rails, i, k, path, end, why);
            return path;
        }
    }
    return NI_PATH_NONE;
}

/* ---- the rule ---- */

static bool share_data_direct(const struct ni_hca *a, const struct ni_hca *b)
{
    const struct ni_pci *x = &a->data_direct, *y = &b->data_direct;

    return a != b && x->known == NI_KNOWN && y->known == NI_KNOWN &&
           ni_bdf_cmp(x->at[x->depth - 1], y->at[y->depth - 1]) == 0;
}

/* Reports a 0 of the user while no route leads from rail to rail. NCCL does not promise that traffic
   keeps to its rail (NVIDIA/nccl#836): rings and trees do cross (#2345, open in August 2026), and
   NCCL took the two ports of a card with Data Direct for one (#2097; 2.29.3
   transport/net_ib/init.cc ncclIbGetPciPath). */
static void check_users(const struct ni_work *w)
{
    struct ni_text zero = NI_TEXT(120);

    if (!ni_user_value(w, variable) || ni_user_int(w, variable, 2) != 0)
        return;
    ni_put_user_int(w, variable, &zero);
    for (unsigned i = 1; i < w->plan->n_chosen; i++) {
        const struct ni_hca *a = ni_chosen(w, i - 1).hca, *b = ni_chosen(w, i).hca;

        if (share_data_direct(a, b))
            ni_report(w->f, NI_F_USER_CROSS_NIC, variable,
                      "%s does not keep %s and %s apart: they share one Data Direct function, and "
                      "NCCL before 2.29.7 takes them for one port",
                      zero.buf, a->name, b->name);
    }
    ni_report(
        w->f, NI_F_USER_CROSS_NIC, variable,
        "%s does not keep all traffic on its rail: NCCL may still connect two rails, as rings and "
        "trees do in NVIDIA/nccl#2345; no route leads from one to another, and such a connection "
        "fails after minutes",
        zero.buf);
}

/* Reports two ports that each have an address in both of their subnets: if a table in another pod
   has another order, NCCL swaps the two rails there. */
static void check_subnets(const struct ni_work *w)
{
    const struct ni_net *net = &w->inv->net;
    const struct ni_gid *first = ni_chosen(w, 0).gid;

    for (unsigned i = 1; i < w->plan->n_chosen; i++) {
        const struct ni_gid *gid = ni_chosen(w, i).gid;
        const struct ni_end here = {first->ndev, first->ip}, there = {gid->ndev, gid->ip};

        if (!are_one_network(net, &here, &there) &&
            ni_connected_route(net, here.ifname, there.ip) &&
            ni_connected_route(net, there.ifname, here.ip))
            ni_report(w->f, NI_F_GID_SUBNETS, ni_port_name(w->inv, w->plan->chosen[i]).text,
                      "its GID and that of %s are in different subnets, and each port has an "
                      "address in both",
                      ni_port_name(w->inv, w->plan->chosen[0]).text);
    }
}

static bool have_subnets(const struct ni_work *w)
{
    const struct ni_net *net = &w->inv->net;

    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        const struct ni_gid *gid = ni_chosen(w, i).gid;

        if (!gid || !ni_ip_is_v4(gid->ip) || !ni_connected_route(net, gid->ndev, gid->ip))
            return false;
    }
    return net->route_known == NI_KNOWN;
}

/* Puts the features that 0 takes away, by NCCL's own sources: alternating rings (2.20.3 to 2.30.7
   graph/connect.cc ncclTopoPostset); GIN, of all ranks in 2.29.2 and 2.29.3 (init.cc), and between
   rails later (dev_runtime.cc: GIN_CONNECTION_FULL is ncclInvalidArgument), and the RMA of the
   host. */
void ni_rule_rails(const struct ni_work *w)
{
    struct ni_text why = NI_TEXT(NI_REASON);
    struct ni_given_rails rails;

    if (w->plan->n_chosen == 0)
        return;
    ni_given_rails(w, &rails);
    const enum ni_path path = path_of_rails(w, &rails, &why);
    if (w->plan->n_chosen > 1 && have_subnets(w))
        check_subnets(w);
    if (path != NI_PATH_NONE) {
        ni_decide_value(w, variable, NULL, "%s", why.buf);
        return;
    }
    ni_decide_value(
        w, variable, "0",
        "each of %u rails is a subnet of its own, and no route leads from one to "
        "another; with 0 NCCL has no rings that use two rails in turn, and since 2.29.2 "
        "no GIN between rails and no host RMA",
        rails.n);
    check_users(w);
}
