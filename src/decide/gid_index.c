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
    const unsigned index = (unsigned)way->index;
    if (way->index >= 0)
        return (struct ni_gid_end){.index = index, .gid = ni_gid_at(inv, port, index)};
    return ni_nccl_gid_search(inv, port, &way->search);
}

/* Whether the entry (NULL: none) serves as well as `best`: of its type, as much this pod's, as
   routable, and of its family unless any_family. */
static bool is_as_good(const struct ni_gid *g, const struct ni_gid *best, bool any_family)
{
    return g && g->type == best->type && g->own == best->own &&
           ni_ip_is_link_local(g->ip) == ni_ip_is_link_local(best->ip) &&
           (any_family || ni_ip_is_v4(g->ip) == ni_ip_is_v4(best->ip));
}

/* Whether the way leads every chosen port to an entry as good as want[] of the port. */
static bool is_right(const struct ni_work *w, const struct way *way,
                     const struct ni_gid *const want[], bool any_family)
{
    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        if (!is_as_good(end_of(w->inv, ni_chosen(w, i).port, way).gid, want[i], any_family))
            return false;
    }
    return true;
}

/* ---- the choice of a way ---- */

/* NCCL's search takes no link-local IPv6 entry. */
static bool are_routable_v6(const struct ni_work *w, const struct ni_gid *const want[])
{
    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        if (ni_ip_is_v4(want[i]->ip) || ni_ip_is_link_local(want[i]->ip))
            return false;
    }
    return true;
}

/* The lowest index that is right for all; that of the first port's wanted entry comes first. */
static bool find_index(const struct ni_work *w, const struct ni_gid *const want[], bool any_family,
                       struct way *ret)
{
    const struct ni_port *port = ni_chosen(w, 0).port;
    *ret = plain_search;
    ret->index = want[0]->index;
    if (is_right(w, ret, want, any_family))
        return true;
    w->plan->wants |= NI_WANT_WHOLE_GIDS;
    for (unsigned i = 0; i < port->n_gid; i++) {
        ret->index = ni_port_gid(w->inv, port, i)->index;
        if (is_right(w, ret, want, any_family))
            return true;
    }
    return false;
}

/* The longest prefix that all share, of one family; none: not ranged. */
static void find_range(const struct ni_work *w, const struct ni_gid *const want[],
                       struct ni_gid_search *how)
{
    memcpy(how->range, want[0]->ip, NI_GID_BYTES);
    /* an IPv6 subnet; never a single IPv4 address: peers differ in the last bits */
    how->bits = how->v6 ? 64 : 127;
    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        while (how->bits > 0 && !ni_ip_same_prefix(how->range, want[i]->ip, how->bits))
            how->bits--;
    }
    for (unsigned bit = how->bits; bit < 128; bit++)
        how->range[bit / 8] &= (uint8_t) ~(0x80u >> (bit % 8));
    how->ranged = how->bits > (how->v6 ? 0u : 96u);
}

/* A search that ends right on every port: as it is, of IPv6 where all want that, then within a
   range. */
static bool find_search(const struct ni_work *w, const struct ni_gid *const want[], struct way *ret)
{
    *ret = plain_search;
    ret->search.v6 = are_routable_v6(w, want);
    if (is_right(w, ret, want, false))
        return true;
    find_range(w, want, &ret->search);
    return ret->search.ranged && is_right(w, ret, want, false);
}

/* The first way that is right: to each port's best entry; where these are the pod's for sure, to
   IPv6 on all ports, or to either family. */
static bool find_way(const struct ni_work *w, bool may_index, struct way *ret)
{
    const struct ni_gid *best[NI_MAX_CHOSEN] = {0}, *v6[NI_MAX_CHOSEN] = {0};
    bool sure = true, sure_v6 = true;
    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        const struct ni_chosen c = ni_chosen(w, i);
        const int routable = ni_best_gid(w->inv, c.port, true);
        best[i] = c.gid;
        v6[i] = routable < 0 ? NULL : &w->inv->gid[routable];
        sure = sure && c.gid->own == NI_OWN_OURS;
        sure_v6 = sure && sure_v6 && v6[i] && v6[i]->own == NI_OWN_OURS;
    }
    if ((may_index && find_index(w, best, false, ret)) || find_search(w, best, ret))
        return true;
    if (sure_v6 && ((may_index && find_index(w, v6, false, ret)) || find_search(w, v6, ret)))
        return true;
    if (sure && may_index && find_index(w, best, true, ret))
        return true;
    *ret = plain_search;
    return is_right(w, ret, best, true);
}

/* Whether another entry than the port's best may be the right one: its type, or whose it is, was
   not read. */
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
        if (!read && !ni_ip_is_link_local(best->ip) && is_as_good(g, best, false) && !v1 &&
            memcmp(g->ip, best->ip, sizeof(g->ip)) != 0)
            return true;
    }
    return false;
}

/* The first chosen port of which that is so, -1. */
static int doubtful_port(const struct ni_work *w)
{
    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        const struct ni_chosen c = ni_chosen(w, i);
        if (is_doubtful(w->inv, c.port, c.gid))
            return c.at;
    }
    return -1;
}

/* ---- what is told and set ---- */

static void report_wrong(const struct ni_work *w, const struct way *way, int at,
                         struct ni_gid_end end, bool by_user)
{
    const enum ni_finding_id id = by_user ? NI_F_USER_GID_WRONG : NI_F_GID_SEARCH_WRONG;
    const char *with = by_user ? "with your NCCL_IB_ADDR_*, " : "";
    const struct ni_port_name name = ni_port_name(w->inv, at);
    if (way->index >= 0)
        ni_report(w->f, id, name.text,
                  "your NCCL_IB_GID_INDEX=%.24s is no RoCE v2 GID of this pod: ibv_modify_qp fails",
                  ni_user_value(w, variable));
    else if (end.unproven)
        ni_report(w->f, id, name.text,
                  "%sNCCL's search compares the type of an entry that cannot be read: where it "
                  "ends is not certain",
                  with);
    else
        ni_report(w->f, id, name.text,
                  "%sNCCL's search ends on index %u, which is no RoCE v2 GID of this pod", with,
                  end.index);
}

/* Writes what NCCL will do into the plan: the way in force, where it ends on each port, and that
   entry where it is as good as the port's best. The first port where it is not, -1. */
static int plan_way(const struct ni_work *w, const struct way *way, bool by_user)
{
    int wrong = -1;
    w->plan->gid_index = way->index;
    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        const struct ni_chosen c = ni_chosen(w, i);
        const struct ni_gid_end end = end_of(w->inv, c.port, way);
        c.plan->nccl_index = end.unproven ? -1 : (int)end.index;
        if (is_as_good(end.gid, c.gid, true)) {
            c.plan->gid = (int)(end.gid - w->inv->gid);
        } else {
            report_wrong(w, way, c.at, end, by_user);
            wrong = wrong < 0 ? c.at : wrong;
        }
    }
    return wrong;
}

static void report_unset(const struct ni_work *w, const struct way *way, const char *why)
{
    bool aborts = false;
    for (unsigned i = 0; i < w->plan->n_chosen; i++)
        aborts = aborts || end_of(w->inv, ni_chosen(w, i).port, way).unread;
    ni_report(w->f, NI_F_GID_INDEX_DIFFERS, variable, "%s; NCCL before 2.21.5 uses index 0%s", why,
              aborts ? "; later ones before 2.26.2 abort on an entry whose type cannot be read"
                     : "");
}

/* Sets what makes NCCL go that way. */
static void set_way(const struct ni_work *w, const struct way *way)
{
    const struct ni_gid_search *how = &way->search;
    const bool asked = ni_user_value(w, variable) != NULL;
    char why[200], value[NI_IP_TEXT + 8], ip[NI_IP_TEXT];
    struct ni_text indexes = NI_TEXT(NI_REASON);
    const struct ni_gid *entry[NI_MAX_CHOSEN] = {0};
    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        const struct ni_chosen c = ni_chosen(w, i);
        entry[i] = end_of(w->inv, c.port, way).gid;
        ni_putf(&indexes, "%s%s %u", i ? ", " : "", c.hca->name, entry[i]->index);
    }
    if (way->index >= 0) {
        const struct ni_gid *g = entry[0];
        (void)ni_format(value, sizeof(value), "%d", way->index);
        ni_decide_value(
            w, variable, value, "RoCE %s%s on %s, e.g. %s", g->type == NI_GID_V1 ? "v1" : "v2",
            g->own == NI_OWN_OURS ? " with an address of this pod" : "",
            w->plan->n_chosen == 1 ? "the one port" : "every chosen port", ni_ip_text(g->ip, ip));
    } else {
        ni_decide_value(w, variable, NULL, "%s (%.200s); NCCL 2.21.5 and later search per HCA",
                        asked ? "yours asks for a search" : "no index is right for all",
                        indexes.buf);
        (void)ni_format(why, sizeof(why), "%s (%.120s)",
                        asked ? "left to NCCL's search as you asked" : "ports differ", indexes.buf);
        report_unset(w, way, why);
    }
    if (way->index >= 0 ? are_routable_v6(w, entry) : how->v6)
        ni_decide_value(w, "NCCL_IB_ADDR_FAMILY", "AF_INET6", "all chosen GIDs are IPv6");
    if (how->ranged && ni_format(value, sizeof(value), "%s/%u", ni_ip_text(how->range, ip),
                                 how->v6 ? how->bits : how->bits - 96))
        ni_decide_value(w, "NCCL_IB_ADDR_RANGE", value,
                        "keeps NCCL's search per HCA on this pod's addresses");
}

/* Settings of the search that NCCL ignores. */
static void check_user_search(const struct ni_work *w, const struct way *way)
{
    static const char *const names[] = {"NCCL_IB_ADDR_FAMILY", "NCCL_IB_ADDR_RANGE",
                                        "NCCL_IB_ROCE_VERSION_NUM"};
    const char *range = ni_user_value(w, names[1]);
    for (unsigned i = 0; way->index >= 0 && i < NI_COUNT(names); i++) {
        const char *v = ni_user_value(w, names[i]);
        if (v && *v)
            ni_report(w->f, NI_F_USER_VALUE_IGNORED, names[i],
                      "without effect: your NCCL_IB_GID_INDEX=%d switches NCCL's search off",
                      way->index);
    }
    if (way->index < 0 && way->search.bad_range)
        ni_report(w->f, NI_F_USER_VALUE_IGNORED, names[1],
                  "`%.60s` is no address of the family with /bits: NCCL ignores it%s", range,
                  strchr(range, '/') ? "" : ", and 2.21.5 and 2.22.3 crash");
}

/* ---- the rule ---- */

static void for_roce(const struct ni_work *w)
{
    const char *user = ni_user_value(w, variable), *unset = "left unset";
    const int user_index = (int)ni_user_int(w, variable, -1); /* NCCL holds it in an int */
    const int doubtful = doubtful_port(w);
    struct way found_way, way = plain_search; /* what the rule finds, what will be in force */
    char reason[NI_REASON] = "no index is right for all ports";

    const bool found = doubtful < 0 && find_way(w, !user || user_index >= 0, &found_way);
    const bool user_searches = ni_user_search(w, &way.search);
    if (user || user_searches) /* they may lead behind the first right entry */
        w->plan->wants |= NI_WANT_WHOLE_GIDS;
    if (found && !user_searches) {
        way = found_way;
        (void)ni_user_search(w, &way.search); /* those that the user set, but empty */
    }
    if (user)
        way.index = user_index >= 0 ? user_index : -1;
    const int wrong = plan_way(w, &way, user_index >= 0 || user_searches || found);

    if (found && (user_index < 0 ? !user_searches : found_way.index >= 0)) {
        set_way(w, &found_way);
    } else {
        if (doubtful >= 0) {
            const struct ni_port_name name = ni_port_name(w->inv, doubtful);
            (void)ni_format(reason, sizeof(reason),
                            "which of the GIDs of %s is this pod's is not known", name.text);
            ni_report(w->f, NI_F_GID_OWNER_UNKNOWN, name.text,
                      "several entries are in the table, and which are this pod's cannot be read");
        } else if (user_searches && user_index < 0) {
            unset = "left unset for your search settings";
            ni_copy(reason, sizeof(reason),
                    "you set how NCCL searches; an index would switch that off");
        } else if (user_index < 0) {
            (void)ni_format(reason, sizeof(reason),
                            "no index is right for all, and NCCL's search is %s on %s",
                            w->plan->port[wrong].nccl_index < 0 ? "uncertain" : "wrong",
                            ni_port_name(w->inv, wrong).text);
        }
        ni_decide_value(w, variable, NULL, "%s", reason);
        if (user_index < 0)
            report_unset(w, &way, unset);
    }
    check_user_search(w, &way);
}

/* NCCL addresses by LID, or by GID 0. 2.21.5 searches on InfiniBand, too; before 2.22.3 ncclIbAccept
   queries the GID of the index, and uses it for nothing. */
static void for_ib(const struct ni_work *w)
{
    struct way way = {.index = (int)ni_user_int(w, variable, -1)};
    ni_decide_value(w, variable, NULL, "an InfiniBand link: NCCL addresses by LID, or by GID 0");
    (void)ni_user_search(w, &way.search);
    check_user_search(w, &way);
    if (way.index > 0)
        ni_report(w->f, NI_F_USER_VALUE_IGNORED, variable,
                  "without effect on InfiniBand; NCCL before 2.22.3 reads that GID of each port "
                  "and fails where the table is shorter");
    else if ((int)ni_user_int(w, variable, 0) < 0)
        ni_report(w->f, NI_F_USER_VALUE_IGNORED, variable,
                  "without effect on InfiniBand; NCCL before 2.21.5 knows no negative index: it "
                  "reads GID %d of each port and fails",
                  way.index);
}

void ni_rule_gid_index(const struct ni_work *w)
{
    if (w->plan->n_chosen == 0)
        return;
    if (ni_chosen(w, 0).port->link == NI_LINK_IB)
        for_ib(w);
    else
        for_roce(w);
}
