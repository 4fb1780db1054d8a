/* SPDX-License-Identifier: Apache-2.0 */
/* The rule gid.pick: the right GID of each RoCE port, and ports that have none. The right one is
   RoCE v2, of an address of this pod: IPv4, else a routable IPv6, else link-local. */
#include "rules/gid_pick.h"

#include "findings/device.h"
#include "nccl_init/allocation.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/ip.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "rules/chosen.h"
#include "rules/decide.h"

/* The worth of an entry. Among link-local ones IPv4 comes first: NCCL's search takes no other. */
enum worth { UNUSABLE, ROCE_V1, LINK_LOCAL, LINK_LOCAL_V4, ROUTABLE_V6, ROUTABLE_V4 };

static enum worth worth_of(const struct ni_gid *g)
{
    const bool v4 = ni_ip_is_v4(g->ip), link_local = ni_ip_is_link_local(g->ip);

    if (g->owner == NI_OWNER_OTHER || g->type == NI_GID_UNREAD)
        return UNUSABLE;
    if (g->type == NI_GID_V1)
        return link_local && !v4 ? UNUSABLE : ROCE_V1;
    if (link_local)
        return v4 ? LINK_LOCAL_V4 : LINK_LOCAL;
    return v4 ? ROUTABLE_V4 : ROUTABLE_V6;
}

/* Returns true if a is better than b: of two RoCE v2 entries the one that can be routed, then the
   one that is known to be this pod's, then the one that is worth more. RoCE v1 counts only if there
   is nothing else. b: may be NULL. */
static bool is_better(const struct ni_gid *a, const struct ni_gid *b)
{
    const enum worth x = worth_of(a), y = b ? worth_of(b) : UNUSABLE;

    if (x <= ROCE_V1 || y <= ROCE_V1)
        return x > y;
    if ((x >= ROUTABLE_V6) != (y >= ROUTABLE_V6))
        return x >= ROUTABLE_V6;
    if ((a->owner == NI_OWNER_POD) != (b->owner == NI_OWNER_POD))
        return a->owner == NI_OWNER_POD;
    return x > y;
}

static int find_best_gid(const struct ni_inventory *inv, const struct ni_port *port,
                         bool only_routable_v6)
{
    int best = -1;

    for (unsigned i = 0; i < port->n_gid; i++) {
        const struct ni_gid *g = ni_port_gid(inv, port, i);

        if (only_routable_v6 && worth_of(g) != ROUTABLE_V6)
            continue;
        if (is_better(g, best < 0 ? NULL : &inv->gid[best]))
            best = port->first_gid + (int)i;
    }
    return best;
}

int ni_best_gid(const struct ni_inventory *inv, const struct ni_port *port)
{
    return find_best_gid(inv, port, false);
}

int ni_best_routable_v6(const struct ni_inventory *inv, const struct ni_port *port)
{
    return find_best_gid(inv, port, true);
}

bool ni_has_routable_gid(const struct ni_inventory *inv, const struct ni_port *port)
{
    const int best = ni_best_gid(inv, port);

    return best >= 0 && ni_gid_is_routable_v2(&inv->gid[best]);
}

/* Returns true if the HCA of a port whose GIDs all belong to other network namespaces is another
   pod's. No source named this pod's HCAs, and in the kernel's default mode each pod sees all. In
   exclusive mode a device opens in its own network namespace alone (drivers/infiniband/core
   uverbs_main.c ib_uverbs_open), so one that opened is this pod's, and its interface was left
   behind. */
static bool is_another_pods(const struct ni_work *w)
{
    if (ni_is_source_certain(w->inv->source))
        return false;
    w->plan->needs |= NI_NEED_NETNS_MODE;
    return w->inv->netns_mode != NI_NETNS_EXCLUSIVE || w->inv->source != NI_SRC_UVERBS;
}

/* Reports a port whose best entry is worse than routable RoCE v2, or leaves it out. best: the worth
   of the best entry of all ports. */
static void judge_weak(const struct ni_work *w, unsigned at, enum worth worth, enum worth best)
{
    const struct ni_port *port = &w->inv->port[at];
    const ni_finding_number id = worth == ROCE_V1 ? NI_F_GID_V1_ONLY : NI_F_GID_LINK_LOCAL;
    const char *what = worth == ROCE_V1 ? "only RoCE v1 GIDs" : "only link-local RoCE v2 GIDs";
    unsigned foreign = 0;

    for (unsigned i = 0; i < port->n_gid; i++)
        foreign += ni_port_gid(w->inv, port, i)->owner == NI_OWNER_OTHER;
    if (worth > UNUSABLE && best > worth)
        ni_leave_out(w, at, id, "%s, while other ports have better ones", what);
    else if (worth > UNUSABLE)
        ni_report(w->f, id, ni_port_name(w->inv, (int)at).text, "%s, which do not cross subnets",
                  what);
    else if (best > UNUSABLE && foreign && foreign == port->n_gid && is_another_pods(w))
        ni_leave_out(w, at, NI_F_NONE,
                     "belongs to another pod (all its GIDs are in other network namespaces)");
    else
        ni_leave_out(w, at, NI_F_GID_NONE, "no RoCE GID of this pod among %u entries", port->n_gid);
}

void ni_rule_gids(const struct ni_work *w)
{
    const struct ni_inventory *inv = w->inv;
    enum worth worth[NI_MAX_PORT], best = UNUSABLE;
    char ip[NI_IP_TEXT];

    for (unsigned i = 0; i < inv->n_port; i++) {
        struct ni_port_plan *p = &w->plan->port[i];

        worth[i] = UNUSABLE;
        if (!p->chosen || inv->port[i].link != NI_LINK_ROCE)
            continue;
        p->best = ni_best_gid(inv, &inv->port[i]);
        const struct ni_gid *g = p->best < 0 ? NULL : &inv->gid[p->best];
        if (!g || !ni_gid_is_right(inv, g))
            w->plan->needs |= NI_NEED_WHOLE_GIDS;
        if (!g)
            continue;
        worth[i] = worth_of(g);
        best = worth[i] > best ? worth[i] : best;
        if (g->owner == NI_OWNER_UNKNOWN)
            ni_report(w->f, NI_F_GID_OWNER_UNKNOWN, ni_port_name(inv, (int)i).text,
                      "it is not known whether index %u, %s, is an address of this pod", g->index,
                      ni_ip_text(g->ip, ip));
    }
    for (unsigned i = 0; i < inv->n_port; i++) {
        if (w->plan->port[i].chosen && inv->port[i].link == NI_LINK_ROCE && worth[i] < ROUTABLE_V6)
            judge_weak(w, i, worth[i], best);
    }
    ni_list_chosen(w); /* no later rule leaves a port out */
}
