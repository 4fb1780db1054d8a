/* SPDX-License-Identifier: Apache-2.0 */
/* gid.index: NCCL_IB_GID_INDEX is one number for all HCAs of the process (NVIDIA/nccl#890), so it
   is exported only where one index is right for every chosen port. Else it stays unset and NCCL
   2.21.5 and later search per HCA; NCCL_IB_ADDR_FAMILY and NCCL_IB_ADDR_RANGE are added where they
   make that search end on the right entry. */
#include <string.h>

#include "rule.h"

static const char variable[] = "NCCL_IB_GID_INDEX";

/* How NCCL comes to the entries: by one index, or by a search on each port. */
struct way {
    int index; /* -1: by a search */
    struct ni_gid_search search;
};

static const struct way left_alone = {.index = -1, .search = {.version = 2}};

/* A way, and the entry of each chosen port to which it leads. */
struct choice {
    struct way way;
    int gid[NI_MAX_CHOSEN];
};

static const struct ni_port *chosen_port(const struct ni_facts *facts, const struct ni_plan *plan,
                                         unsigned i)
{
    return &facts->inv->port[plan->chosen[i]];
}

static struct ni_gid_end end_of(const struct ni_inventory *inv, const struct ni_port *port,
                                const struct way *way)
{
    if (way->index >= 0)
        return (struct ni_gid_end){.index = (unsigned)way->index};
    return ni_nccl_gid_search(inv, port, &way->search);
}

/* The entry where NCCL ends, if it serves as well as `best`: of its type, as much ours, as routable,
   and of its family unless any_family. Pool index, -1. */
static int serving(const struct ni_inventory *inv, const struct ni_port *port,
                   struct ni_gid_end end, const struct ni_gid *best, bool any_family)
{
    for (unsigned k = 0; !end.unproven && k < port->n_gid; k++) {
        const struct ni_gid *g = ni_port_gid(inv, port, k);
        if (g->index != end.index)
            continue;
        bool same_scope = ni_ip_is_link_local(g->ip) == ni_ip_is_link_local(best->ip);
        bool same_family = any_family || ni_ip_is_v4(g->ip) == ni_ip_is_v4(best->ip);
        bool ok = g->type == best->type && g->own == best->own && same_scope && same_family;
        return ok ? port->first_gid + (int)k : -1;
    }
    return -1;
}

/* Whether c->way leads to an entry on every port that serves as well as the best[] of the port. */
static bool is_right(const struct ni_facts *facts, const struct ni_plan *plan, const int best[],
                     bool any_family, struct choice *c)
{
    const struct ni_inventory *inv = facts->inv;
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        const struct ni_port *port = chosen_port(facts, plan, i);
        c->gid[i] = serving(inv, port, end_of(inv, port, &c->way), &inv->gid[best[i]], any_family);
        if (c->gid[i] < 0)
            return false;
    }
    return true;
}

/* The lowest index that is right for all; the first port's best comes first. */
static bool choose_index(const struct ni_facts *facts, struct ni_plan *plan, const int best[],
                         bool any_family, struct choice *c)
{
    const struct ni_port *port = chosen_port(facts, plan, 0);
    c->way = left_alone;
    c->way.index = facts->inv->gid[best[0]].index;
    if (is_right(facts, plan, best, any_family, c))
        return true;
    plan->wants |= NI_WANT_WHOLE_GIDS;
    for (unsigned k = 0; k < port->n_gid; k++) {
        c->way.index = ni_port_gid(facts->inv, port, k)->index;
        if (is_right(facts, plan, best, any_family, c))
            return true;
    }
    return false;
}

/* NCCL's search takes no link-local IPv6 entry. */
static bool all_v6(const struct ni_inventory *inv, const int gid[], unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        const uint8_t *ip = inv->gid[gid[i]].ip;
        if (ni_ip_is_v4(ip) || ni_ip_is_link_local(ip))
            return false;
    }
    return true;
}

/* The longest prefix that all share, of one family; 0 bits: none. */
static void shared_range(const struct ni_inventory *inv, const int gid[], unsigned n,
                         struct ni_gid_search *how)
{
    memcpy(how->range, inv->gid[gid[0]].ip, NI_GID_BYTES);
    how->bits =
        how->v6 ? 128 : 127; /* never a single IPv4 address: peers differ in the last bits */
    for (unsigned i = 0; i < n; i++) {
        while (how->bits > 0 && !ni_ip_same_prefix(how->range, inv->gid[gid[i]].ip, how->bits))
            how->bits--;
    }
    if (how->v6 && how->bits > 64)
        how->bits = 64; /* an IPv6 subnet */
    for (unsigned bit = how->bits; bit < 128; bit++)
        how->range[bit / 8] &= (uint8_t) ~(0x80u >> (bit % 8));
    how->ranged = how->bits > (how->v6 ? 0u : 96u);
}

/* Which settings make NCCL's own search end right on every port? */
static bool choose_search(const struct ni_facts *facts, const struct ni_plan *plan,
                          const int best[], struct choice *c)
{
    c->way = left_alone;
    c->way.search.v6 = all_v6(facts->inv, best, plan->n_chosen);
    if (is_right(facts, plan, best, false, c))
        return true;
    shared_range(facts->inv, best, plan->n_chosen, &c->way.search);
    return c->way.search.ranged && is_right(facts, plan, best, false, c);
}

/* The first way that is right: to each port's best; where these are the pod's for sure, to IPv6 on all
   ports, or to either family. */
static bool choose(const struct ni_facts *facts, struct ni_plan *plan, bool may_index,
                   struct choice *c)
{
    const struct ni_inventory *inv = facts->inv;
    int best[NI_MAX_CHOSEN], v6[NI_MAX_CHOSEN];
    bool sure = true, sure_v6 = true;
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        best[i] = plan->port[plan->chosen[i]].gid;
        v6[i] = ni_best_gid(inv, chosen_port(facts, plan, i), true);
        sure = sure && inv->gid[best[i]].own == NI_OWN_OURS;
        sure_v6 = sure && sure_v6 && v6[i] >= 0 && inv->gid[v6[i]].own == NI_OWN_OURS;
    }
    if ((may_index && choose_index(facts, plan, best, false, c)) ||
        choose_search(facts, plan, best, c))
        return true;
    if (sure_v6 && ((may_index && choose_index(facts, plan, v6, false, c)) ||
                    choose_search(facts, plan, v6, c)))
        return true;
    if (sure && may_index && choose_index(facts, plan, best, true, c))
        return true;
    c->way = left_alone;
    return is_right(facts, plan, best, true, c);
}

/* What NCCL will do, into the plan: the way in force, and where it ends on each port. The first port
   where that is wrong, -1. by_user: the user's settings make it so. */
static int follow(const struct ni_facts *facts, struct ni_plan *plan, const struct way *way,
                  struct ni_findings *f, bool by_user)
{
    const struct ni_inventory *inv = facts->inv;
    const enum ni_finding_id id = by_user ? NI_F_USER_GID_WRONG : NI_F_GID_SEARCH_WRONG;
    const char *with = by_user ? "with your NCCL_IB_ADDR_*, " : "";
    int wrong = -1;
    plan->gid_index = way->index;
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        char name[NI_DEV_NAME + 8];
        int at = plan->chosen[i];
        struct ni_port_plan *pick = &plan->port[at];
        struct ni_gid_end end = end_of(inv, &inv->port[at], way);
        int gid = serving(inv, &inv->port[at], end, &inv->gid[pick->gid], true);
        pick->nccl_index = end.unproven ? -1 : (int)end.index;
        if (gid >= 0) {
            pick->gid = gid;
            continue;
        }
        wrong = wrong < 0 ? at : wrong;
        ni_port_text(inv, at, name);
        if (way->index >= 0)
            ni_report(f, id, name,
                      "your NCCL_IB_GID_INDEX=%.24s is no RoCE v2 GID of this pod: ibv_modify_qp "
                      "fails",
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
    return wrong;
}

/* Where NCCL asks for a type that cannot be read, a version before 2.26.2 aborts. */
static const char *before_2_26_2(const struct ni_facts *facts, const struct ni_plan *plan,
                                 const struct way *way)
{
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        if (end_of(facts->inv, chosen_port(facts, plan, i), way).unread)
            return "; later ones before 2.26.2 abort on an entry whose type cannot be read";
    }
    return "";
}

static void set_search(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f,
                       const struct choice *c)
{
    const struct ni_gid_search *how = &c->way.search;
    char text[NI_REASON];
    bool asked = ni_user_value(facts, variable) != NULL;
    struct ni_text t = ni_text_on(text, sizeof(text));
    for (unsigned i = 0; i < plan->n_chosen; i++)
        ni_putf(&t, "%s%s %u", i ? ", " : "",
                facts->inv->hca[chosen_port(facts, plan, i)->hca].name,
                facts->inv->gid[c->gid[i]].index);
    ni_decide_value(facts, plan, f, variable, NULL,
                    "%s (%.200s); NCCL 2.21.5 and later search per HCA",
                    asked ? "yours asks for a search" : "no index is right for all", text);
    ni_report(f, NI_F_GID_INDEX_DIFFERS, variable,
              "%s (%.120s); NCCL before 2.21.5 would use index 0%s",
              asked ? "left to NCCL's search as you asked" : "ports differ", text,
              before_2_26_2(facts, plan, &c->way));
    if (how->v6)
        ni_decide_value(facts, plan, f, "NCCL_IB_ADDR_FAMILY", "AF_INET6",
                        "all chosen GIDs are IPv6");
    if (!how->ranged)
        return;
    char range[NI_IP_TEXT + 8], ip[NI_IP_TEXT];
    t = ni_text_on(range, sizeof(range));
    ni_putf(&t, "%s/%u", ni_ip_text(how->range, ip), how->v6 ? how->bits : how->bits - 96);
    ni_decide_value(facts, plan, f, "NCCL_IB_ADDR_RANGE", range,
                    "keeps NCCL's search per HCA on this pod's addresses");
}

static void set_index(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f,
                      const struct choice *c)
{
    char value[16], ip[NI_IP_TEXT];
    struct ni_text t = ni_text_on(value, sizeof(value));
    const struct ni_gid *g = &facts->inv->gid[c->gid[0]];
    ni_putf(&t, "%d", c->way.index);
    ni_decide_value(facts, plan, f, variable, value, "RoCE %s%s on %s, e.g. %s",
                    g->type == NI_GID_V1 ? "v1" : "v2",
                    g->own == NI_OWN_OURS ? " with an address of this pod" : "",
                    plan->n_chosen == 1 ? "the one port" : "every chosen port",
                    ni_ip_text(g->ip, ip));
    if (all_v6(facts->inv, c->gid, plan->n_chosen))
        ni_decide_value(facts, plan, f, "NCCL_IB_ADDR_FAMILY", "AF_INET6",
                        "all chosen GIDs are IPv6");
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

/* The addresses of this namespace could not be read, and the table has several to choose from: then
   an interface of the same name may be another namespace's. The port, -1. */
static int doubtful_port(const struct ni_facts *facts, const struct ni_plan *plan)
{
    const struct ni_inventory *inv = facts->inv;
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        const struct ni_port *port = chosen_port(facts, plan, i);
        const struct ni_gid *pick = &inv->gid[plan->port[plan->chosen[i]].gid];
        bool v4 = ni_ip_is_v4(pick->ip), v1 = pick->type == NI_GID_V1;
        if (v1 && (pick->own != NI_OWN_OURS || port->gids_lost))
            return plan->chosen[i]; /* there may be a v2 one */
        for (unsigned k = 0; v1 && k < port->n_gid; k++) {
            const struct ni_gid *g = ni_port_gid(inv, port, k);
            if (g->type == NI_GID_UNREAD && g->own != NI_OWN_FOREIGN)
                return plan->chosen[i];
        }
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

/* Ports of RoCE: what the rule says, and what will be in force beside what the user has set. */
static void decide(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f)
{
    struct choice c;
    struct way way = left_alone;
    char name[NI_DEV_NAME + 8];
    const char *users = ni_user_value(facts, variable);
    int index = (int)ni_user_int(facts, variable, -1); /* NCCL holds it in an int */
    int doubtful = doubtful_port(facts, plan);
    bool found = doubtful < 0 && choose(facts, plan, !users || index >= 0, &c);
    bool searched = ni_user_search(facts, &way.search);
    if (users || searched) /* they may lead behind the first right entry */
        plan->wants |= NI_WANT_WHOLE_GIDS;
    if (found && !searched) {
        way = c.way;
        (void)ni_user_search(facts, &way.search);
    }
    if (users)
        way.index = index >= 0 ? index : -1;
    bool by_user = index >= 0 || searched || found;
    int wrong = follow(facts, plan, &way, f, by_user);
    if (doubtful >= 0) {
        ni_port_text(facts->inv, doubtful, name);
        ni_decide_value(facts, plan, f, variable, NULL,
                        "which of the GIDs of %s is this pod's cannot be told", name);
        ni_report(f, NI_F_GID_OWNER_UNKNOWN, name,
                  "several entries are in the table, and which are this pod's cannot be read");
    } else if (searched && index < 0) {
        ni_decide_value(facts, plan, f, variable, NULL,
                        "you set how NCCL searches; an index would switch that off");
        ni_report(f, NI_F_GID_INDEX_DIFFERS, variable,
                  "left unset for your search settings; NCCL before 2.21.5 does not know them and "
                  "uses index 0%s",
                  before_2_26_2(facts, plan, &way));
    } else if (found && c.way.index >= 0) {
        set_index(facts, plan, f, &c);
    } else if (by_user && !(found && index < 0)) {
        ni_decide_value(facts, plan, f, variable, NULL, "no index is right for all ports");
    } else if (found) {
        set_search(facts, plan, f, &c);
    } else {
        ni_port_text(facts->inv, wrong, name);
        ni_decide_value(facts, plan, f, variable, NULL,
                        "no index is right for all, and NCCL's search is %s on %s",
                        plan->port[wrong].nccl_index < 0 ? "uncertain" : "wrong", name);
    }
    if (index < 0 && (doubtful >= 0 || (!found && !searched)))
        ni_report(f, NI_F_GID_INDEX_DIFFERS, variable,
                  "left unset; NCCL before 2.21.5 would use index 0%s",
                  before_2_26_2(facts, plan, &way));
    check_user_search(facts, &way, f);
}

static void gid_index(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f)
{
    if (plan->n_chosen == 0)
        return;
    if (chosen_port(facts, plan, 0)->link != NI_LINK_IB) {
        decide(facts, plan, f);
        return;
    }
    struct way way = {.index = (int)ni_user_int(facts, variable, -1)};
    ni_decide_value(facts, plan, f, variable, NULL,
                    "an InfiniBand link: NCCL addresses by LID, or by GID 0");
    (void)ni_user_search(facts, &way.search);
    check_user_search(facts, &way, f); /* 2.21.5 searches on InfiniBand too */
    /* before 2.22.3 ncclIbAccept queries it on InfiniBand too, and uses it for nothing */
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

const struct ni_rule ni_rule_gid_index = {
    .id = "gid.index",
    .reads = "each port's GID",
    .sets = "NCCL_IB_GID_INDEX, NCCL_IB_ADDR_FAMILY, NCCL_IB_ADDR_RANGE",
    .eval = gid_index,
};
