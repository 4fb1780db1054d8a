/* SPDX-License-Identifier: Apache-2.0 */
/* gid.index: NCCL_IB_GID_INDEX is one number for all HCAs of the process (NVIDIA/nccl#890), so it
   is exported only where one index is right for every chosen port. Else it stays unset and NCCL
   2.21.5 and later search per HCA; NCCL_IB_ADDR_FAMILY and NCCL_IB_ADDR_RANGE are added where they
   make that search end on the right entry. */
#include <string.h>

#include "rule.h"

static const char variable[] = "NCCL_IB_GID_INDEX";

/* ---- how NCCL comes to an entry, and where it ends ---- */

struct way {
    int index; /* one for all ports; -1: a search on each */
    struct ni_gid_search search;
};

static const struct way plain_search = {.index = -1, .search = {.version = 2}};

static struct ni_gid_end end_of(const struct ni_inventory *inv, const struct ni_port *port,
                                const struct way *way)
{
    if (way->index >= 0)
        return (struct ni_gid_end){.index = (unsigned)way->index};
    return ni_nccl_gid_search(inv, port, &way->search);
}

/* The entry at `end`, -1: none is known. Index into the inventory's GIDs. */
static int entry_at(const struct ni_inventory *inv, const struct ni_port *port,
                    struct ni_gid_end end)
{
    for (unsigned i = 0; !end.unproven && i < port->n_gid; i++) {
        if (ni_port_gid(inv, port, i)->index == end.index)
            return port->first_gid + (int)i;
    }
    return -1;
}

/* Whether the entry (-1: none) serves as well as `best`: of its type, as much this pod's, as
   routable, and of its family unless any_family. */
static bool is_as_good(const struct ni_inventory *inv, int entry, const struct ni_gid *best,
                       bool any_family)
{
    const struct ni_gid *g = entry < 0 ? NULL : &inv->gid[entry];
    return g && g->type == best->type && g->own == best->own &&
           ni_ip_is_link_local(g->ip) == ni_ip_is_link_local(best->ip) &&
           (any_family || ni_ip_is_v4(g->ip) == ni_ip_is_v4(best->ip));
}

/* Whether the way leads every chosen port to an entry as good as want[] of the port. */
static bool is_right(const struct ni_facts *facts, const struct ni_plan *plan,
                     const struct way *way, const int want[], bool any_family)
{
    const struct ni_inventory *inv = facts->inv;
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        const struct ni_port *port = ni_chosen_port(facts, plan, i);
        const int entry = entry_at(inv, port, end_of(inv, port, way));
        if (!is_as_good(inv, entry, &inv->gid[want[i]], any_family))
            return false;
    }
    return true;
}

/* ---- the choice of a way ---- */

/* NCCL's search takes no link-local IPv6 entry. */
static bool are_routable_v6(const struct ni_inventory *inv, const int want[], unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        const uint8_t *ip = inv->gid[want[i]].ip;
        if (ni_ip_is_v4(ip) || ni_ip_is_link_local(ip))
            return false;
    }
    return true;
}

/* The lowest index that is right for all; that of the first port's wanted entry comes first. */
static bool find_index(const struct ni_facts *facts, struct ni_plan *plan, const int want[],
                       bool any_family, struct way *ret)
{
    const struct ni_port *port = ni_chosen_port(facts, plan, 0);
    *ret = plain_search;
    ret->index = facts->inv->gid[want[0]].index;
    if (is_right(facts, plan, ret, want, any_family))
        return true;
    plan->wants |= NI_WANT_WHOLE_GIDS;
    for (unsigned i = 0; i < port->n_gid; i++) {
        ret->index = ni_port_gid(facts->inv, port, i)->index;
        if (is_right(facts, plan, ret, want, any_family))
            return true;
    }
    return false;
}

/* The longest prefix that all share, of one family; none: not ranged. */
static void find_range(const struct ni_inventory *inv, const int want[], unsigned n,
                       struct ni_gid_search *how)
{
    memcpy(how->range, inv->gid[want[0]].ip, NI_GID_BYTES);
    /* an IPv6 subnet; never a single IPv4 address: peers differ in the last bits */
    how->bits = how->v6 ? 64 : 127;
    for (unsigned i = 0; i < n; i++) {
        while (how->bits > 0 && !ni_ip_same_prefix(how->range, inv->gid[want[i]].ip, how->bits))
            how->bits--;
    }
    for (unsigned bit = how->bits; bit < 128; bit++)
        how->range[bit / 8] &= (uint8_t) ~(0x80u >> (bit % 8));
    how->ranged = how->bits > (how->v6 ? 0u : 96u);
}

/* A search that ends right on every port: as it is, of IPv6 where all want that, then within a
   range. */
static bool find_search(const struct ni_facts *facts, const struct ni_plan *plan, const int want[],
                        struct way *ret)
{
    *ret = plain_search;
    ret->search.v6 = are_routable_v6(facts->inv, want, plan->n_chosen);
    if (is_right(facts, plan, ret, want, false))
        return true;
    find_range(facts->inv, want, plan->n_chosen, &ret->search);
    return ret->search.ranged && is_right(facts, plan, ret, want, false);
}

/* The first way that is right: to each port's best entry; where these are the pod's for sure, to
   IPv6 on all ports, or to either family. */
static bool find_way(const struct ni_facts *facts, struct ni_plan *plan, bool may_index,
                     struct way *ret)
{
    const struct ni_inventory *inv = facts->inv;
    int best[NI_MAX_CHOSEN] = {0}, v6[NI_MAX_CHOSEN] = {0};
    bool sure = true, sure_v6 = true;
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        best[i] = plan->port[plan->chosen[i]].gid;
        v6[i] = ni_best_gid(inv, ni_chosen_port(facts, plan, i), true);
        sure = sure && inv->gid[best[i]].own == NI_OWN_OURS;
        sure_v6 = sure && sure_v6 && v6[i] >= 0 && inv->gid[v6[i]].own == NI_OWN_OURS;
    }
    if (may_index && find_index(facts, plan, best, false, ret))
        return true;
    if (find_search(facts, plan, best, ret))
        return true;
    if (sure_v6 && may_index && find_index(facts, plan, v6, false, ret))
        return true;
    if (sure_v6 && find_search(facts, plan, v6, ret))
        return true;
    if (sure && may_index && find_index(facts, plan, best, true, ret))
        return true;
    *ret = plain_search;
    return is_right(facts, plan, ret, best, true);
}

/* Whether another entry than `best` may be the right one: its type, or whose it is, was not read. */
static bool is_doubtful(const struct ni_inventory *inv, const struct ni_port *port,
                        const struct ni_gid *best)
{
    const bool v1 = best->type == NI_GID_V1, v4 = ni_ip_is_v4(best->ip);
    const bool read = (v4 ? inv->net.v4_known : inv->net.v6_known) == NI_KNOWN;
    if (v1 && (best->own != NI_OWN_OURS || port->gids_lost))
        return true;
    for (unsigned i = 0; i < port->n_gid; i++) {
        const struct ni_gid *g = ni_port_gid(inv, port, i);
        if (v1 && g->type == NI_GID_UNREAD && g->own != NI_OWN_FOREIGN)
            return true; /* it may be a v2 one */
        /* An interface of the same name may be another namespace's. */
        if (!read && !ni_ip_is_link_local(best->ip) && g->type == NI_GID_V2 &&
            g->own == best->own && ni_ip_is_v4(g->ip) == v4 && !ni_ip_is_link_local(g->ip) &&
            memcmp(g->ip, best->ip, sizeof(g->ip)) != 0)
            return true;
    }
    return false;
}

/* The first chosen port of which that is so, -1. */
static int doubtful_port(const struct ni_facts *facts, const struct ni_plan *plan)
{
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        const int at = plan->chosen[i];
        if (is_doubtful(facts->inv, &facts->inv->port[at], &facts->inv->gid[plan->port[at].gid]))
            return at;
    }
    return -1;
}

/* ---- what is told and set ---- */

static void report_wrong(const struct ni_facts *facts, const struct way *way, int at,
                         struct ni_gid_end end, bool by_user, struct ni_findings *f)
{
    const enum ni_finding_id id = by_user ? NI_F_USER_GID_WRONG : NI_F_GID_SEARCH_WRONG;
    const char *with = by_user ? "with your NCCL_IB_ADDR_*, " : "";
    char name[NI_DEV_NAME + 8];
    ni_port_text(facts->inv, at, name);
    if (way->index >= 0)
        ni_report(f, id, name,
                  "your NCCL_IB_GID_INDEX=%.24s is no RoCE v2 GID of this pod: ibv_modify_qp fails",
                  ni_user_value(facts, variable));
    else if (end.unproven)
        ni_report(f, id, name,
                  "%sNCCL's search compares the type of an entry that cannot be read: where it "
                  "ends is not certain",
                  with);
    else
        ni_report(f, id, name,
                  "%sNCCL's search ends on index %u, which is no RoCE v2 GID of this pod", with,
                  end.index);
}

/* Writes what NCCL will do into the plan: the way in force, where it ends on each port, and that
   entry where it is as good as the port's best. The first port where it is not, -1. */
static int plan_way(const struct ni_facts *facts, struct ni_plan *plan, const struct way *way,
                    bool by_user, struct ni_findings *f)
{
    const struct ni_inventory *inv = facts->inv;
    int wrong = -1;
    plan->gid_index = way->index;
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        const int at = plan->chosen[i];
        const struct ni_gid_end end = end_of(inv, &inv->port[at], way);
        const int entry = entry_at(inv, &inv->port[at], end);
        struct ni_port_plan *p = &plan->port[at];
        p->nccl_index = end.unproven ? -1 : (int)end.index;
        if (is_as_good(inv, entry, &inv->gid[p->gid], true)) {
            p->gid = entry;
        } else {
            report_wrong(facts, way, at, end, by_user, f);
            wrong = wrong < 0 ? at : wrong;
        }
    }
    return wrong;
}

static void report_unset(const struct ni_facts *facts, const struct ni_plan *plan,
                         const struct way *way, const char *why, struct ni_findings *f)
{
    bool aborts = false;
    for (unsigned i = 0; i < plan->n_chosen; i++)
        aborts = aborts || end_of(facts->inv, ni_chosen_port(facts, plan, i), way).unread;
    ni_report(f, NI_F_GID_INDEX_DIFFERS, variable, "%s; NCCL before 2.21.5 uses index 0%s", why,
              aborts ? "; later ones before 2.26.2 abort on an entry whose type cannot be read"
                     : "");
}

/* Sets what makes NCCL go that way. */
static void set_way(const struct ni_facts *facts, struct ni_plan *plan, const struct way *way,
                    struct ni_findings *f)
{
    const struct ni_inventory *inv = facts->inv;
    const struct ni_gid_search *how = &way->search;
    const bool asked = ni_user_value(facts, variable) != NULL;
    char indexes[NI_REASON], why[200], value[NI_IP_TEXT + 8], ip[NI_IP_TEXT];
    struct ni_text t = ni_text_on(indexes, sizeof(indexes));
    int entry[NI_MAX_CHOSEN];
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        const struct ni_port *port = ni_chosen_port(facts, plan, i);
        entry[i] = entry_at(inv, port, end_of(inv, port, way));
        ni_putf(&t, "%s%s %u", i ? ", " : "", inv->hca[port->hca].name, inv->gid[entry[i]].index);
    }
    if (way->index >= 0) {
        const struct ni_gid *g = &inv->gid[entry[0]];
        (void)ni_format(value, sizeof(value), "%d", way->index);
        ni_decide_value(facts, plan, f, variable, value, "RoCE %s%s on %s, e.g. %s",
                        g->type == NI_GID_V1 ? "v1" : "v2",
                        g->own == NI_OWN_OURS ? " with an address of this pod" : "",
                        plan->n_chosen == 1 ? "the one port" : "every chosen port",
                        ni_ip_text(g->ip, ip));
    } else {
        ni_decide_value(facts, plan, f, variable, NULL,
                        "%s (%.200s); NCCL 2.21.5 and later search per HCA",
                        asked ? "yours asks for a search" : "no index is right for all", indexes);
        (void)ni_format(why, sizeof(why), "%s (%.120s)",
                        asked ? "left to NCCL's search as you asked" : "ports differ", indexes);
        report_unset(facts, plan, way, why, f);
    }
    if (way->index >= 0 ? are_routable_v6(inv, entry, plan->n_chosen) : how->v6)
        ni_decide_value(facts, plan, f, "NCCL_IB_ADDR_FAMILY", "AF_INET6",
                        "all chosen GIDs are IPv6");
    if (how->ranged && ni_format(value, sizeof(value), "%s/%u", ni_ip_text(how->range, ip),
                                 how->v6 ? how->bits : how->bits - 96))
        ni_decide_value(facts, plan, f, "NCCL_IB_ADDR_RANGE", value,
                        "keeps NCCL's search per HCA on this pod's addresses");
}

/* Settings of the search that NCCL ignores. */
static void check_user_search(const struct ni_facts *facts, const struct way *way,
                              struct ni_findings *f)
{
    static const char *const names[] = {"NCCL_IB_ADDR_FAMILY", "NCCL_IB_ADDR_RANGE",
                                        "NCCL_IB_ROCE_VERSION_NUM"};
    const char *range = ni_user_value(facts, names[1]);
    for (unsigned i = 0; way->index >= 0 && i < NI_COUNT(names); i++) {
        const char *v = ni_user_value(facts, names[i]);
        if (v && *v)
            ni_report(f, NI_F_USER_VALUE_IGNORED, names[i],
                      "without effect: your NCCL_IB_GID_INDEX=%d switches NCCL's search off",
                      way->index);
    }
    if (way->index < 0 && way->search.bad_range)
        ni_report(f, NI_F_USER_VALUE_IGNORED, names[1],
                  "`%.60s` is no address of the family with /bits: NCCL ignores it%s", range,
                  strchr(range, '/') ? "" : ", and 2.21.5 and 2.22.3 crash");
}

/* ---- the rule ---- */

static void for_roce(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f)
{
    const char *user = ni_user_value(facts, variable);
    const int user_index = (int)ni_user_int(facts, variable, -1); /* NCCL holds it in an int */
    const int doubtful = doubtful_port(facts, plan);
    struct way found_way, way = plain_search; /* what the rule finds, what will be in force */
    char name[NI_DEV_NAME + 8];

    const bool found = doubtful < 0 && find_way(facts, plan, !user || user_index >= 0, &found_way);
    const bool user_searches = ni_user_search(facts, &way.search);
    if (user || user_searches) /* they may lead behind the first right entry */
        plan->wants |= NI_WANT_WHOLE_GIDS;
    if (found && !user_searches) {
        way = found_way;
        (void)ni_user_search(facts, &way.search); /* those that the user set, but empty */
    }
    if (user)
        way.index = user_index >= 0 ? user_index : -1;
    const bool by_user = user_index >= 0 || user_searches || found;
    const int wrong = plan_way(facts, plan, &way, by_user, f);

    if (doubtful >= 0) {
        ni_port_text(facts->inv, doubtful, name);
        ni_decide_value(facts, plan, f, variable, NULL,
                        "which of the GIDs of %s is this pod's is not known", name);
        ni_report(f, NI_F_GID_OWNER_UNKNOWN, name,
                  "several entries are in the table, and which are this pod's cannot be read");
        if (user_index < 0)
            report_unset(facts, plan, &way, "left unset", f);
    } else if (user_searches && user_index < 0) {
        ni_decide_value(facts, plan, f, variable, NULL,
                        "you set how NCCL searches; an index would switch that off");
        report_unset(facts, plan, &way, "left unset for your search settings", f);
    } else if (found && (found_way.index >= 0 || user_index < 0)) {
        set_way(facts, plan, &found_way, f);
    } else if (user_index >= 0) {
        ni_decide_value(facts, plan, f, variable, NULL, "no index is right for all ports");
    } else {
        ni_decide_value(facts, plan, f, variable, NULL,
                        "no index is right for all, and NCCL's search is %s on %s",
                        plan->port[wrong].nccl_index < 0 ? "uncertain" : "wrong",
                        ni_port_text(facts->inv, wrong, name));
        report_unset(facts, plan, &way, "left unset", f);
    }
    check_user_search(facts, &way, f);
}

/* NCCL addresses by LID, or by GID 0. 2.21.5 searches on InfiniBand, too; before 2.22.3 ncclIbAccept
   queries the GID of the index, and uses it for nothing. */
static void for_ib(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f)
{
    struct way way = {.index = (int)ni_user_int(facts, variable, -1)};
    ni_decide_value(facts, plan, f, variable, NULL,
                    "an InfiniBand link: NCCL addresses by LID, or by GID 0");
    (void)ni_user_search(facts, &way.search);
    check_user_search(facts, &way, f);
    if (way.index > 0)
        ni_report(
            f, NI_F_USER_VALUE_IGNORED, variable,
            "without effect on InfiniBand; NCCL before 2.22.3 reads that GID of each port and "
            "fails where the table is shorter");
    else if ((int)ni_user_int(facts, variable, 0) < 0)
        ni_report(f, NI_F_USER_VALUE_IGNORED, variable,
                  "without effect on InfiniBand; NCCL before 2.21.5 knows no negative index: it "
                  "reads GID %d of each port and fails",
                  way.index);
}

static void gid_index(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f)
{
    if (plan->n_chosen == 0)
        return;
    if (ni_chosen_port(facts, plan, 0)->link == NI_LINK_IB)
        for_ib(facts, plan, f);
    else
        for_roce(facts, plan, f);
}

const struct ni_rule ni_rule_gid_index = {
    "gid.index", "each port's GID", "NCCL_IB_GID_INDEX, NCCL_IB_ADDR_FAMILY, NCCL_IB_ADDR_RANGE",
    gid_index, false};
