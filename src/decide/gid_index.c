/* SPDX-License-Identifier: Apache-2.0 */
/* gid.index: NCCL_IB_GID_INDEX is one number for all HCAs of the process (NVIDIA/nccl#890), so it
   is exported only where one index is right for every chosen port. Else it stays unset and NCCL
   2.21.5 and later search per HCA; NCCL_IB_ADDR_FAMILY and NCCL_IB_ADDR_RANGE are added where they
   make that search end on the right entry. */
#include <string.h>

#include "rule.h"

static const char rule[] = "gid.index";

static const struct ni_port *chosen_port(const struct ni_facts *facts, const struct ni_plan *plan,
                                         unsigned i)
{
    return &facts->inv->port[plan->chosen[i]];
}

/* The entry at `index`, if it serves as well as the port's pick: RoCE v2, as much ours, of the same
   scope, and of the same family unless any_family. Pool index, -1. */
static int serves(const struct ni_facts *facts, const struct ni_plan *plan, unsigned i,
                  unsigned index, bool any_family)
{
    const struct ni_inventory *inv = facts->inv;
    const struct ni_port *port = chosen_port(facts, plan, i);
    int pick = plan->pick[plan->chosen[i]].gid;
    if (pick < 0)
        return -1;
    const struct ni_gid *best = &inv->gid[pick];
    for (unsigned k = 0; k < port->n_gid; k++) {
        const struct ni_gid *g = ni_port_gid(inv, port, k);
        if (g->index != index)
            continue;
        bool same_scope = ni_ip_is_link_local(g->ip) == ni_ip_is_link_local(best->ip);
        bool same_family = any_family || ni_ip_is_v4(g->ip) == ni_ip_is_v4(best->ip);
        bool ok = g->type == NI_GID_V2 && g->own == best->own && same_scope && same_family;
        return ok ? port->first_gid + (int)k : -1;
    }
    return -1;
}

static bool serves_all(const struct ni_facts *facts, struct ni_plan *plan, unsigned index)
{
    int gid[NI_MAX_CHOSEN];
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        gid[i] = serves(facts, plan, i, index, false);
        if (gid[i] < 0)
            return false;
    }
    for (unsigned i = 0; i < plan->n_chosen; i++)
        plan->pick[plan->chosen[i]].gid = gid[i];
    return true;
}

/* The lowest index that is right for all; the first port's picks come first. -1: none. */
static int common_index(const struct ni_facts *facts, struct ni_plan *plan)
{
    const struct ni_inventory *inv = facts->inv;
    const struct ni_port *port = chosen_port(facts, plan, 0);
    int pick = plan->pick[plan->chosen[0]].gid;
    if (pick >= 0 && serves_all(facts, plan, inv->gid[pick].index))
        return inv->gid[pick].index;
    for (unsigned k = 0; k < port->n_gid; k++) {
        unsigned index = ni_port_gid(inv, port, k)->index;
        if (serves_all(facts, plan, index))
            return (int)index;
    }
    return -1;
}

/* Whether NCCL's search ends right on every port; the picks follow it then. *ret_wrong: the first
   port where it does not. */
static bool search_is_right(const struct ni_facts *facts, struct ni_plan *plan,
                            const struct ni_gid_search *how, int *ret_wrong)
{
    int gid[NI_MAX_CHOSEN];
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        unsigned index = ni_nccl_gid_search(facts->inv, chosen_port(facts, plan, i), how);
        gid[i] = serves(facts, plan, i, index, false);
        if (gid[i] < 0 || chosen_port(facts, plan, i)->gids_lost) {
            *ret_wrong = plan->chosen[i];
            return false;
        }
    }
    for (unsigned i = 0; i < plan->n_chosen; i++)
        plan->pick[plan->chosen[i]].gid = gid[i];
    return true;
}

static bool all_v6(const struct ni_facts *facts, const struct ni_plan *plan)
{
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        int gid = plan->pick[plan->chosen[i]].gid;
        const uint8_t *ip = gid < 0 ? NULL : facts->inv->gid[gid].ip;
        if (!ip || ni_ip_is_v4(ip) ||
            ni_ip_is_link_local(ip)) /* NCCL's search takes no link-local */
            return false;
    }
    return true;
}

/* The longest prefix that all picks share, of one family; 0 bits: none. */
static void shared_range(const struct ni_facts *facts, const struct ni_plan *plan,
                         struct ni_gid_search *how)
{
    const struct ni_gid *first = &facts->inv->gid[plan->pick[plan->chosen[0]].gid];
    memcpy(how->range, first->ip, NI_GID_BYTES);
    how->bits =
        how->v6 ? 128 : 127; /* never a single IPv4 address: peers differ in the last bits */
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        const struct ni_gid *g = &facts->inv->gid[plan->pick[plan->chosen[i]].gid];
        while (how->bits > 0 && !ni_ip_same_prefix(how->range, g->ip, how->bits))
            how->bits--;
    }
    if (how->v6 && how->bits > 64)
        how->bits = 64; /* an IPv6 subnet */
    for (unsigned bit = how->bits; bit < 128; bit++)
        how->range[bit / 8] &= (uint8_t) ~(0x80u >> (bit % 8));
    how->ranged = how->bits > (how->v6 ? 0u : 96u);
}

static void put_indexes(const struct ni_facts *facts, const struct ni_plan *plan, struct ni_text *t)
{
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        const struct ni_gid *g = &facts->inv->gid[plan->pick[plan->chosen[i]].gid];
        ni_putf(t, "%s%s %u", i ? ", " : "", facts->inv->hca[chosen_port(facts, plan, i)->hca].name,
                g->index);
    }
}

/* NCCL before 2.26.2 aborts the connection on an entry whose type cannot be read
   (NVIDIA/nccl#1573). The search reads the type of the entry it holds: the empty entry 0, when that
   counts as the wanted family. */
static bool reads_empty(const struct ni_facts *facts, const struct ni_plan *plan,
                        const struct ni_gid_search *how)
{
    for (unsigned i = 0; how->v6 && i < plan->n_chosen; i++) {
        const struct ni_port *port = chosen_port(facts, plan, i);
        if (port->n_gid > 0 && ni_port_gid(facts->inv, port, 0)->index > 0)
            return true;
    }
    return false;
}

static void set_search(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f,
                       const struct ni_gid_search *how)
{
    char text[NI_REASON];
    bool asked = ni_user_int(facts, "NCCL_IB_GID_INDEX", 0) < 0;
    struct ni_text t = ni_text_on(text, sizeof(text));
    put_indexes(facts, plan, &t);
    ni_decide_value(facts, plan, rule, "NCCL_IB_GID_INDEX", NULL, f,
                    "%s (%.200s); NCCL 2.21.5 and later search per HCA",
                    asked ? "you asked for a search" : "no index is right for all", text);
    ni_report(f, NI_F_GID_INDEX_DIFFERS, "NCCL_IB_GID_INDEX",
              "%s (%.120s); NCCL before 2.21.5 would use index 0%s",
              asked ? "left to NCCL's search as you asked" : "ports differ", text,
              reads_empty(facts, plan, how) ? ", before 2.26.2 abort on the empty entry 0" : "");
    if (how->v6)
        ni_decide_value(facts, plan, rule, "NCCL_IB_ADDR_FAMILY", "AF_INET6", f,
                        "all chosen GIDs are IPv6");
    if (!how->ranged)
        return;
    char range[NI_IP_TEXT + 8], ip[NI_IP_TEXT];
    t = ni_text_on(range, sizeof(range));
    ni_putf(&t, "%s/%u", ni_ip_text(how->range, ip), how->v6 ? how->bits : how->bits - 96);
    ni_decide_value(facts, plan, rule, "NCCL_IB_ADDR_RANGE", range, f,
                    "keeps NCCL's search per HCA on this pod's addresses");
}

/* No common index: with which settings does NCCL's own search end right on every port? */
static void decide_search(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f)
{
    int wrong = -1, last_wrong;
    bool v6 = all_v6(facts, plan);
    struct ni_gid_search how = {.v6 = v6, .version = 2};
    if (search_is_right(facts, plan, &how, &wrong)) {
        set_search(facts, plan, f, &how);
        return;
    }
    shared_range(facts, plan, &how);
    if (how.ranged && search_is_right(facts, plan, &how, &last_wrong)) {
        set_search(facts, plan, f, &how);
        return;
    }
    char name[NI_DEV_NAME + 8];
    ni_port_text(facts->inv, wrong, name);
    ni_decide_value(facts, plan, rule, "NCCL_IB_GID_INDEX", NULL, f,
                    "no index is right for all, and NCCL's search is wrong on %s", name);
    ni_report(f, NI_F_GID_SEARCH_WRONG, name,
              "NCCL's search ends on index %u, which is not this pod's RoCE v2 GID",
              ni_nccl_gid_search(facts->inv, &facts->inv->port[wrong],
                                 &(struct ni_gid_search){.v6 = v6, .version = 2}));
}

/* The user's own index on every chosen port. false: none, or a negative one, which means a search.
   */
static bool check_user_index(const struct ni_facts *facts, struct ni_plan *plan,
                             struct ni_findings *f)
{
    const char *user = ni_user_value(facts, "NCCL_IB_GID_INDEX");
    if (!user || !*user)
        return false;
    int64_t index = ni_user_int(facts, "NCCL_IB_GID_INDEX", -1);
    if (index < 0)
        return false;
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        char name[NI_DEV_NAME + 8];
        int at = plan->chosen[i];
        int gid = index < NI_GID_TABLE ? serves(facts, plan, i, (unsigned)index, true) : -1;
        if (gid >= 0)
            plan->pick[at].gid = gid;
        else
            ni_report(
                f, NI_F_USER_GID_WRONG, ni_port_text(facts->inv, at, name),
                "your NCCL_IB_GID_INDEX=%.24s is no RoCE v2 GID of this pod: ibv_modify_qp fails",
                user);
    }
    return true;
}

/* The user's own search settings: does NCCL end right with them? */
static void check_user_search(const struct ni_facts *facts, struct ni_plan *plan,
                              struct ni_findings *f, const struct ni_gid_search *how)
{
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        char name[NI_DEV_NAME + 8];
        unsigned index = ni_nccl_gid_search(facts->inv, chosen_port(facts, plan, i), how);
        int gid = serves(facts, plan, i, index, true);
        if (gid >= 0)
            plan->pick[plan->chosen[i]].gid = gid;
        else
            ni_report(f, NI_F_USER_GID_WRONG, ni_port_text(facts->inv, plan->chosen[i], name),
                      "with your NCCL_IB_ADDR_*, NCCL's search ends on index %u, which is no RoCE "
                      "v2 GID of this pod",
                      index);
    }
    ni_report(f, NI_F_GID_INDEX_DIFFERS, "NCCL_IB_GID_INDEX",
              "left unset for your search settings; NCCL before 2.21.5 does not know them and uses "
              "index 0");
}

/* The addresses of this namespace could not be read, and the table has several to choose from: then
   an interface of the same name may be another namespace's. The port, -1. */
static int doubtful_port(const struct ni_facts *facts, const struct ni_plan *plan)
{
    const struct ni_inventory *inv = facts->inv;
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        const struct ni_port *port = chosen_port(facts, plan, i);
        const struct ni_gid *pick = &inv->gid[plan->pick[plan->chosen[i]].gid];
        bool v4 = ni_ip_is_v4(pick->ip);
        if (ni_ip_is_link_local(pick->ip) ||
            (v4 ? inv->net.v4_known : inv->net.v6_known) == NI_KNOWN)
            continue;
        for (unsigned k = 0; k < port->n_gid; k++) {
            const struct ni_gid *g = ni_port_gid(inv, port, k);
            if (g->type == NI_GID_V2 && g->own == pick->own && ni_ip_is_v4(g->ip) == v4 &&
                !ni_ip_is_link_local(g->ip) && memcmp(g->ip, pick->ip, sizeof(g->ip)) != 0)
                return plan->chosen[i];
        }
    }
    return -1;
}

void ni_rule_gid_index(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f)
{
    if (plan->n_chosen == 0)
        return;
    if (chosen_port(facts, plan, 0)->link == NI_LINK_IB) {
        ni_decide_value(facts, plan, rule, "NCCL_IB_GID_INDEX", NULL, f,
                        "an InfiniBand link: NCCL addresses by LID, or by GID 0");
        return;
    }
    if (facts->inv->gid[plan->pick[plan->chosen[0]].gid].type == NI_GID_V1) {
        ni_decide_value(facts, plan, rule, "NCCL_IB_GID_INDEX", NULL, f,
                        "only RoCE v1 GIDs: left to NCCL");
        return;
    }
    int doubtful = doubtful_port(facts, plan);
    if (doubtful >= 0) {
        char name[NI_DEV_NAME + 8];
        ni_port_text(facts->inv, doubtful, name);
        ni_decide_value(facts, plan, rule, "NCCL_IB_GID_INDEX", NULL, f,
                        "which of the GIDs of %s is this pod's cannot be told", name);
        ni_report(f, NI_F_GID_OWNER_UNKNOWN, name,
                  "several addresses are in the table, and those of this pod cannot be read");
        return;
    }
    struct ni_gid_search how;
    if (ni_user_search(facts, &how)) {
        ni_decide_value(facts, plan, rule, "NCCL_IB_GID_INDEX", NULL, f,
                        "you set how NCCL searches; an index would switch that off");
        check_user_search(facts, plan, f, &how);
        return;
    }
    bool users = check_user_index(facts, plan, f);
    bool search = !users && ni_user_int(facts, "NCCL_IB_GID_INDEX", 0) < 0;
    int index = search ? -1 : common_index(facts, plan);
    if (index < 0 && !users) {
        decide_search(facts, plan, f);
        return;
    }
    char value[16], ip[NI_IP_TEXT];
    struct ni_text t = ni_text_on(value, sizeof(value));
    ni_putf(&t, "%d", index);
    if (index < 0) {
        ni_decide_value(facts, plan, rule, "NCCL_IB_GID_INDEX", NULL, f,
                        "no index is right for all ports");
        return;
    }
    plan->gid_index = index;
    const struct ni_gid *g = &facts->inv->gid[plan->pick[plan->chosen[0]].gid];
    ni_decide_value(facts, plan, rule, "NCCL_IB_GID_INDEX", value, f, "RoCE v2%s on %s, e.g. %s",
                    g->own == NI_OWN_OURS ? " with an address of this pod" : "",
                    plan->n_chosen == 1 ? "the one port" : "every chosen port",
                    ni_ip_text(g->ip, ip));
    if (all_v6(facts, plan))
        ni_decide_value(facts, plan, rule, "NCCL_IB_ADDR_FAMILY", "AF_INET6", f,
                        "the fabric has IPv6 addresses only");
}
