/* SPDX-License-Identifier: Apache-2.0 */
/* gid.pick: each RoCE port's right GID, and which ports have none. RoCE v2, of an address of this
   pod: IPv4, else a routable IPv6, else link-local. The ports that stay are the chosen ones. */
#include <string.h>

#include "rule.h"

static const char rule[] = "gid.pick";

/* How good an entry is; 0: not usable. Of link-local ones IPv4 comes first: NCCL's search takes no
   other. */
enum rank { RANK_NONE, RANK_V1, RANK_LINK_LOCAL, RANK_LINK_LOCAL_V4, RANK_V6, RANK_V4 };

static enum rank rank_of(const struct ni_gid *g)
{
    bool v4 = ni_ip_is_v4(g->ip), link_local = ni_ip_is_link_local(g->ip);
    if (g->own == NI_OWN_FOREIGN || g->type == NI_GID_UNREAD)
        return RANK_NONE;
    if (g->type == NI_GID_V1)
        return link_local && !v4 ? RANK_NONE : RANK_V1;
    if (link_local)
        return v4 ? RANK_LINK_LOCAL_V4 : RANK_LINK_LOCAL;
    return v4 ? RANK_V4 : RANK_V6;
}

/* What comes first: an entry that can be routed, then one that is known to be ours, then its rank.
   */
static unsigned merit(const struct ni_gid *g)
{
    enum rank r = rank_of(g);
    if (r == RANK_NONE || r == RANK_V1)
        return r; /* RoCE v1 only where there is nothing else */
    return (r >= RANK_V6 ? 16u : 0) + (g->own == NI_OWN_OURS ? 8u : 0) + r;
}

int ni_best_gid(const struct ni_inventory *inv, const struct ni_port *port, bool v6)
{
    int best = -1;
    unsigned most = 0;
    for (unsigned i = 0; i < port->n_gid; i++) {
        const struct ni_gid *g = ni_port_gid(inv, port, i);
        if (merit(g) <= most || (v6 && rank_of(g) != RANK_V6))
            continue;
        best = port->first_gid + (int)i;
        most = merit(g);
    }
    return best;
}

static unsigned count_foreign(const struct ni_inventory *inv, const struct ni_port *port)
{
    unsigned foreign = 0;
    for (unsigned i = 0; i < port->n_gid; i++)
        foreign += ni_port_gid(inv, port, i)->own == NI_OWN_FOREIGN;
    return foreign;
}

static void drop_without_gid(const struct ni_inventory *inv, struct ni_plan *plan,
                             struct ni_findings *f, int at)
{
    const struct ni_port *port = &inv->port[at];
    char name[NI_DEV_NAME + 8];
    ni_drop(plan, at, rule, "no RoCE GID of this pod among %u entries", port->n_gid);
    if (count_foreign(inv, port) > 0)
        ni_report(f, NI_F_GID_NONE, ni_port_text(inv, at, name),
                  "none of the %u GIDs is an address of this network namespace; left out",
                  port->n_gid);
    else
        ni_report(f, NI_F_GID_NONE, ni_port_text(inv, at, name),
                  "the GID table holds no usable entry; left out");
}

static void note_owner(const struct ni_inventory *inv, const struct ni_plan *plan,
                       struct ni_findings *f, int at)
{
    char name[NI_DEV_NAME + 8], ip[NI_IP_TEXT];
    const struct ni_gid *g = &inv->gid[plan->port[at].gid];
    ni_report(
        f, NI_F_GID_OWNER_UNKNOWN, ni_port_text(inv, at, name),
        "whether %s at index %u is an address of this pod could not be told: local addresses %s",
        ni_ip_text(g->ip, ip), g->index,
        ni_known_text(ni_ip_is_v4(g->ip) ? inv->net.v4_known : inv->net.v6_known));
}

/* A port whose best is worse than routable RoCE v2, beside better ones or not. */
static void judge_weak(const struct ni_inventory *inv, struct ni_plan *plan, struct ni_findings *f,
                       int at, enum rank rank, enum rank best)
{
    char name[NI_DEV_NAME + 8];
    enum ni_finding_id id = rank == RANK_V1 ? NI_F_GID_V1_ONLY : NI_F_GID_LINK_LOCAL;
    const char *what = rank == RANK_V1 ? "only RoCE v1 GIDs" : "only link-local RoCE v2 GIDs";
    bool beside_better = best > rank;
    if (beside_better)
        ni_drop(plan, at, rule, "%s, while other ports have better", what);
    ni_report(f, id, ni_port_text(inv, at, name), "%s%s", what,
              beside_better ? "; left out" : ": does not cross subnets");
}

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

static void choose(const struct ni_inventory *inv, struct ni_plan *plan, struct ni_findings *f)
{
    int kept[NI_MAX_PORT];
    unsigned n = 0;
    for (unsigned i = 0; i < inv->n_port; i++) {
        if (!plan->port[i].chosen)
            continue;
        unsigned at = n++;
        while (at > 0 && port_cmp(inv, kept[at - 1], (int)i) > 0) {
            kept[at] = kept[at - 1];
            at--;
        }
        kept[at] = (int)i;
    }
    for (unsigned i = 0; i < n; i++) {
        if (plan->n_chosen < NI_MAX_CHOSEN) {
            plan->chosen[plan->n_chosen++] = kept[i];
            continue;
        }
        ni_drop(plan, kept[i], "hca.ports", "NCCL takes %d ports", NI_MAX_CHOSEN);
        ni_report(f, NI_F_HCA_TOO_MANY, inv->hca[inv->port[kept[i]].hca].name,
                  "port %u is beyond the first %d", inv->port[kept[i]].num, NI_MAX_CHOSEN);
    }
}

/* Where nobody named the pod's HCAs, one beside them whose GIDs are all of other network namespaces
   is another pod's, as each sees in the kernel's default mode: no fault. */
static bool is_anothers(const struct ni_inventory *inv, const struct ni_port *port, enum rank best)
{
    return inv->source >= NI_SRC_UVERBS && best > RANK_NONE && port->n_gid > 0 &&
           count_foreign(inv, port) == port->n_gid;
}

void ni_rule_gids(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f)
{
    const struct ni_inventory *inv = facts->inv;
    enum rank rank[NI_MAX_PORT], best = RANK_NONE;
    for (unsigned i = 0; i < inv->n_port; i++) {
        rank[i] = RANK_NONE;
        if (!plan->port[i].chosen || inv->port[i].link != NI_LINK_ROCE)
            continue;
        int gid = ni_best_gid(inv, &inv->port[i], false);
        if (gid < 0)
            continue;
        plan->port[i].gid = gid;
        rank[i] = rank_of(&inv->gid[gid]);
        if (inv->gid[gid].own == NI_OWN_UNKNOWN)
            note_owner(inv, plan, f, (int)i);
        if (rank[i] > best)
            best = rank[i];
    }
    for (unsigned i = 0; i < inv->n_port; i++) {
        if (!plan->port[i].chosen || inv->port[i].link != NI_LINK_ROCE)
            continue;
        if (rank[i] == RANK_NONE && is_anothers(inv, &inv->port[i], best))
            ni_drop(plan, (int)i, rule, "another pod's: all its GIDs are of other namespaces");
        else if (rank[i] == RANK_NONE)
            drop_without_gid(inv, plan, f, (int)i);
        else if (rank[i] < RANK_V6)
            judge_weak(inv, plan, f, (int)i, rank[i], best);
    }
    choose(inv, plan, f);
}
