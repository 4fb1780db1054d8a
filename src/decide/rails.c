/* SPDX-License-Identifier: Apache-2.0 */
/* rail.cross: NCCL_CROSS_NIC=0 where each rail is a subnet of its own and no route leads from one
   to another: NCCL's default of 2 lets a ring leave on one rail and arrive on another, which there
   hangs in ibv_modify_qp until ETIMEDOUT. */
#include <string.h>

#include "rule.h"

static const char variable[] = "NCCL_CROSS_NIC";

static bool holds(const struct ni_route *r, const uint8_t ip[NI_GID_BYTES])
{
    return ni_ip_same_prefix(r->dest, ip, 96u + r->bits);
}

const struct ni_route *ni_route_to(const struct ni_net *net, const char *ifname,
                                   const uint8_t ip[NI_GID_BYTES], bool gateway)
{
    const struct ni_route *best = NULL;
    for (unsigned i = 0; i < net->n_route; i++) {
        const struct ni_route *r = &net->route[i];
        if (r->gateway == gateway && strcmp(r->ifname, ifname) == 0 && holds(r, ip) &&
            (!best || r->bits > best->bits))
            best = r;
    }
    return best;
}

enum ni_path ni_path_between(const struct ni_net *net, const struct ni_end *a,
                             const struct ni_end *b)
{
    const struct ni_route *subnet_a = ni_route_to(net, a->ifname, a->ip, false);
    const struct ni_route *subnet_b = ni_route_to(net, b->ifname, b->ip, false);

    if (!subnet_a || !subnet_b)
        return NI_PATH_UNKNOWN; /* source routing keeps its routes in tables that /proc does not show */
    if (holds(subnet_a, subnet_b->dest) || holds(subnet_b, subnet_a->dest))
        return NI_PATH_THERE; /* one network */
    if (ni_route_to(net, a->ifname, b->ip, true) || ni_route_to(net, b->ifname, a->ip, true))
        return NI_PATH_THERE; /* a router */
    return NI_PATH_NONE;
}

bool ni_rails_are_apart(const struct ni_work *w)
{
    const struct ni_net *net = &w->inv->net;
    const unsigned n = w->plan->n_chosen;
    struct ni_end end[NI_MAX_CHOSEN];

    if (n < 2 || net->route_known != NI_KNOWN)
        return false;
    for (unsigned i = 0; i < n; i++) {
        const struct ni_gid *gid = ni_chosen(w, i).gid;

        if (!gid || !ni_ip_is_v4(gid->ip))
            return false; /* InfiniBand, or IPv6: the IPv4 routes do not say */
        end[i] = (struct ni_end){gid->ndev, gid->ip};
        for (unsigned k = 0; k < i; k++) {
            if (ni_path_between(net, &end[i], &end[k]) != NI_PATH_NONE)
                return false;
        }
    }
    return true;
}

static bool share_data_direct(const struct ni_hca *a, const struct ni_hca *b)
{
    const struct ni_pci *x = &a->data_direct, *y = &b->data_direct;

    return a != b && x->known == NI_KNOWN && y->known == NI_KNOWN &&
           ni_bdf_cmp(x->at[x->depth - 1], y->at[y->depth - 1]) == 0;
}

/* The user relies on 0 where no route leads from rail to rail. NCCL does not promise it (NVIDIA/nccl#836):
   rings and trees do cross (#2345, open in August 2026), and the two ports of a card with Data Direct were
   one to it (#2097; 2.29.3 transport/net_ib/init.cc ncclIbGetPciPath). */
static void check_users(const struct ni_work *w)
{
    if (!ni_user_value(w, variable) || ni_user_int(w, variable, 2) != 0)
        return;
    for (unsigned i = 1; i < w->plan->n_chosen; i++) {
        const struct ni_hca *a = ni_chosen(w, i - 1).hca, *b = ni_chosen(w, i).hca;

        if (share_data_direct(a, b))
            ni_report(
                w->f, NI_F_USER_CROSS_NIC, variable,
                "0 does not keep %s and %s apart: both have one Data Direct function, and NCCL "
                "before 2.29.7 takes them for one port",
                a->name, b->name);
    }
    ni_report(
        w->f, NI_F_USER_CROSS_NIC, variable,
        "0 does not keep all traffic on its rail: NCCL may still connect two rails, as rings and "
        "trees do in NVIDIA/nccl#2345; no route leads from one to another, and such a connection "
        "fails after minutes");
}

/* The tables of two ports may have their entries in another order, and NCCL then swaps the two. */
static void check_subnets(const struct ni_work *w)
{
    const struct ni_net *net = &w->inv->net;
    const struct ni_gid *first = ni_chosen(w, 0).gid;

    for (unsigned i = 1; i < w->plan->n_chosen; i++) {
        const struct ni_gid *gid = ni_chosen(w, i).gid;
        const struct ni_end here = {first->ndev, first->ip}, there = {gid->ndev, gid->ip};
        const struct ni_route *a = ni_route_to(net, here.ifname, here.ip, false);
        const struct ni_route *b = ni_route_to(net, there.ifname, there.ip, false);

        if (!holds(a, b->dest) && !holds(b, a->dest) &&
            ni_route_to(net, here.ifname, there.ip, false) &&
            ni_route_to(net, there.ifname, here.ip, false))
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

        if (!gid || !ni_ip_is_v4(gid->ip) || !ni_route_to(net, gid->ndev, gid->ip, false))
            return false;
    }
    return net->route_known == NI_KNOWN;
}

void ni_rule_rails(const struct ni_work *w)
{
    if (w->plan->n_chosen < 2 || !have_subnets(w))
        return;
    check_subnets(w);
    if (!ni_rails_are_apart(w))
        return;
    ni_decide_value(w, variable, "0",
                    "each of %u rails is a subnet of its own and no route leads from one to "
                    "another",
                    w->plan->n_chosen);
    check_users(w);
}
