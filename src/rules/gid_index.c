/* SPDX-License-Identifier: Apache-2.0 */
/* The rule gid.index. NCCL_IB_GID_INDEX is one number for all HCAs of the process
   (NVIDIA/nccl#890), so it is set only if one index is right for every chosen port. Else it
   stays unset, and NCCL 2.21.5 and later search on each HCA; NCCL_IB_ADDR_FAMILY and
   NCCL_IB_ADDR_RANGE are set if that search needs them to end on the right entry. */
#include "rules/gid_index.h"

#include <string.h>

#include "findings/device.h"
#include "findings/setting.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/ip.h"
#include "nccl_init/known.h"
#include "nccl_init/net.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "rules/chosen.h"
#include "rules/decide.h"
#include "rules/gid_pick.h"
#include "rules/gid_search.h"

static const char variable[] = "NCCL_IB_GID_INDEX", family[] = "NCCL_IB_ADDR_FAMILY",
                  range[] = "NCCL_IB_ADDR_RANGE";

static const struct ni_gid_selection plain_search = {.index = -1, .version = 2};

bool ni_is_as_good(const struct ni_gid *g, const struct ni_gid *best, enum ni_family which)
{
    return g && g->type == best->type && g->owner == best->owner &&
           ni_ip_is_link_local(g->ip) == ni_ip_is_link_local(best->ip) &&
           (which == NI_ANY_FAMILY || ni_ip_is_v4(g->ip) == ni_ip_is_v4(best->ip));
}

/* Returns true if the selection leads every chosen port to an entry as good as preferred[] of the
   port. */
static bool is_right(const struct ni_work *w, const struct ni_gid_selection *selection,
                     const struct ni_gid *const preferred[], enum ni_family which)
{
    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        if (!ni_is_as_good(ni_gid_end(w->inv, ni_chosen(w, i).port, selection).gid, preferred[i],
                           which))
            return false;
    }
    return true;
}

/* ---- the choice of a selection ---- */

/* Returns true if all are routable IPv6: NCCL's search takes no link-local IPv6 entry. */
static bool are_routable_v6(const struct ni_work *w, const struct ni_gid *const preferred[])
{
    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        if (ni_ip_is_v4(preferred[i]->ip) || ni_ip_is_link_local(preferred[i]->ip))
            return false;
    }
    return true;
}

/* Finds an index that is right for all ports: that of the first port's wanted entry, or else the
   lowest. false: there is none, and *ret is of no use. */
static bool find_index(const struct ni_work *w, const struct ni_gid *const preferred[],
                       enum ni_family which, struct ni_gid_selection *ret)
{
    const struct ni_port *port = ni_chosen(w, 0).port;

    *ret = plain_search;
    for (unsigned i = 0; i <= port->n_gid; i++) {
        ret->index = (i == 0 ? preferred[0] : ni_port_gid(w->inv, port, i - 1))->index;
        if (is_right(w, ret, preferred, which))
            return true;
        w->plan->needs |= NI_NEED_WHOLE_GIDS;
    }
    return false;
}

/* Finds the longest prefix of one family that all wanted entries share; ranged: there is one. */
static void find_range(const struct ni_work *w, const struct ni_gid *const preferred[],
                       struct ni_gid_selection *how)
{
    memcpy(how->range, preferred[0]->ip, NI_GID_BYTES);
    /* an IPv6 subnet; never a single IPv4 address: peers differ in the last bits */
    how->bits = how->v6 ? 64 : 127;
    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        while (how->bits > 0 && !ni_ip_same_prefix(how->range, preferred[i]->ip, how->bits))
            how->bits--;
    }
    for (unsigned bit = how->bits; bit < 128; bit++)
        how->range[bit / 8] &= (uint8_t) ~(0x80u >> (bit % 8));
    how->ranged = how->bits > (how->v6 ? 0u : 96u);
}

/* Finds a search that ends on the right entry of every port: first NCCL's own, then one for IPv6 if
   all ports preferred that, then one within a range. */
static bool find_search(const struct ni_work *w, const struct ni_gid *const preferred[],
                        struct ni_gid_selection *ret)
{
    *ret = plain_search;
    ret->v6 = are_routable_v6(w, preferred);
    if (is_right(w, ret, preferred, NI_SAME_FAMILY))
        return true;
    find_range(w, preferred, ret);
    return ret->ranged && is_right(w, ret, preferred, NI_SAME_FAMILY);
}

/* Finds the first selection that is right: one that leads to each port's best entry; or, if these
   surely belong to the pod, to IPv6 on all ports, or to either family. */
static bool find_selection(const struct ni_work *w, bool may_index, struct ni_gid_selection *ret)
{
    const struct ni_gid *best[NI_MAX_CHOSEN] = {0}, *v6[NI_MAX_CHOSEN] = {0};
    bool sure = true, sure_v6 = true;

    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        const struct ni_chosen c = ni_chosen(w, i);
        const int routable = ni_best_routable_v6(w->inv, c.port);

        best[i] = c.best;
        v6[i] = routable < 0 ? NULL : &w->inv->gid[routable];
        sure = sure && c.best->owner == NI_OWNER_POD;
        sure_v6 = sure && sure_v6 && v6[i] && v6[i]->owner == NI_OWNER_POD;
    }
    if ((may_index && find_index(w, best, NI_SAME_FAMILY, ret)) || find_search(w, best, ret))
        return true;
    if (sure_v6 &&
        ((may_index && find_index(w, v6, NI_SAME_FAMILY, ret)) || find_search(w, v6, ret)))
        return true;
    if (sure && may_index && find_index(w, best, NI_ANY_FAMILY, ret))
        return true;
    *ret = plain_search;
    return is_right(w, ret, best, NI_ANY_FAMILY);
}

/* Returns true if the command's NCCL surely searches anew when the table of a port changes, so that an
   index would keep it from an address that comes back on another row. 2.31.2 and later do
   (transport/net_ib/connect.cc ncclIbEventGidChange). */
static bool searches_again(const struct ni_work *w)
{
    return w->inv->nccl_version >= 23102;
}

/* Finds the selection to set: an index if it may be one; a search before that, if NCCL keeps it up to
   date. */
static bool choose_selection(const struct ni_work *w, bool may_index, struct ni_gid_selection *ret)
{
    if (searches_again(w)) {
        w->plan->needs |= NI_NEED_WHOLE_GIDS;
        if (find_selection(w, false, ret))
            return true;
    }
    return find_selection(w, may_index, ret);
}

/* Returns the first chosen port whose right entry may not be its best, because the type of an entry
   beside a v1 one, or the owner of an entry, was not read; -1: none. */
static int doubtful_port(const struct ni_work *w)
{
    const struct ni_net *net = &w->inv->net;

    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        const struct ni_chosen c = ni_chosen(w, i);
        const bool v1 = c.best->type == NI_GID_V1;
        const bool read = (ni_ip_is_v4(c.best->ip) ? net->v4_known : net->v6_known) == NI_KNOWN;
        bool doubt = v1 && (c.best->owner != NI_OWNER_POD || c.port->gids_lost);

        for (unsigned k = 0; k < c.port->n_gid && !doubt; k++) {
            const struct ni_gid *g = ni_port_gid(w->inv, c.port, k);

            if (v1)
                doubt = g->type == NI_GID_UNREAD && g->owner != NI_OWNER_OTHER;
            else /* an interface of the same name may be another namespace's */
                doubt = !read && !ni_ip_is_link_local(c.best->ip) &&
                        ni_is_as_good(g, c.best, NI_SAME_FAMILY) &&
                        memcmp(g->ip, c.best->ip, sizeof(g->ip)) != 0;
        }
        if (doubt)
            return c.at;
    }
    return -1;
}

/* ---- what is told and set ---- */

/* Puts what is wrong with the entry on which NCCL's selection ends. best: the port's right one. */
static void put_what_is_there(const struct ni_port *port, const struct ni_gid_end *end,
                              const struct ni_gid *best, struct ni_text *t)
{
    const struct ni_gid *g = end->gid;

    if (!g && port->gids_ended && end->index >= port->gids_read)
        /* ncclIbGidInfoQuery, when NCCL starts; seen with 2.31.2 and 2.32.3 (tests/nccl) */
        ni_putf(t,
                ", but the table has %u entries: NCCL 2.31.2 and later then use no InfiniBand or "
                "RoCE at all, older ones cannot connect",
                port->gids_read);
    else if (!g)
        ni_put(t, ", which is empty");
    else if (g->owner == NI_OWNER_OTHER)
        ni_put(t, ", which is another pod's");
    else if (ni_ip_is_link_local(g->ip) && !ni_ip_is_link_local(best->ip))
        ni_put(t, ", which is link-local");
    else if (g->type == NI_GID_V1 && best->type != NI_GID_V1)
        ni_put(t, ", which is RoCE v1");
    else
        ni_put(t, ", which is not a RoCE v2 GID of this pod");
}

/* Reports a port on which NCCL's selection does not end on a right entry. */
static void report_wrong_end(const struct ni_work *w, const struct ni_chosen *c,
                             const struct ni_gid_end *end, bool by_user)
{
    const ni_finding_number id = by_user ? NI_F_USER_GID_WRONG : NI_F_GID_SEARCH_WRONG;
    struct ni_text what = NI_TEXT(200);

    if (end->unproven) {
        ni_report(w->f, id, ni_port_name(w->inv, c->at).text,
                  "NCCL's search meets an entry that cannot be read; it may not end at index %u",
                  end->index);
        return;
    }
    put_what_is_there(c->port, end, c->best, &what);
    ni_report(w->f, id, ni_port_name(w->inv, c->at).text, "NCCL%s takes index %u%s",
              ni_user_versions(w, variable), end->index, what.buf);
}

/* Writes into the plan what NCCL will do: the selection in force, the entry on which it ends for
   each port, and the port's GID, which is that entry if it is as good as the port's best. */
static void plan_selection(const struct ni_work *w, const struct ni_gid_selection *selection,
                           bool by_user)
{
    w->plan->gid_selection = *selection;
    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        const struct ni_chosen c = ni_chosen(w, i);
        const struct ni_gid_end end = ni_gid_end(w->inv, c.port, selection);

        c.plan->nccl_index = end.unproven ? -1 : (int)end.index;
        const bool right = ni_is_as_good(end.gid, c.best, NI_ANY_FAMILY);
        c.plan->gid = right ? (int)(end.gid - w->inv->gid) : c.plan->best;
        if (!right)
            report_wrong_end(w, &c, &end, by_user);
    }
}

/* Sets the index of that selection. first: the entry to which it leads on the first port. */
static void set_index(const struct ni_work *w, int index, const struct ni_gid *first)
{
    char value[16], ip[NI_IP_TEXT];

    if (index < 0 && searches_again(w)) {
        ni_decide_value(
            w, variable, NULL,
            "NCCL 2.31.2 and later, as --nccl names it, searches again when the table of "
            "a port changes, and an index would keep it from that");
        return;
    }
    if (index < 0 || !first) {
        ni_decide_value(
            w, variable, NULL,
            "no single index is right for all ports, but NCCL's own search finds the right "
            "GIDs");
        return;
    }
    const char *type = first->type == NI_GID_V1 ? "v1" : "v2";
    const char *whose = first->owner == NI_OWNER_POD ? " with an address of this pod" : "";
    const char *where = w->plan->n_chosen == 1 ? "the one port" : "every chosen port";
    (void)ni_format(value, sizeof(value), "%d", index);
    ni_decide_value(w, variable, value, "RoCE %s%s on %s, e.g. %s", type, whose, where,
                    ni_ip_text(first->ip, ip));
}

/* Sets the family and the range of NCCL's search. v6: all chosen GIDs are IPv6. */
static void set_search(const struct ni_work *w, const struct ni_gid_selection *selection, bool v6)
{
    const char *needless = selection->index >= 0
                               ? "NCCL_IB_GID_INDEX selects the GID"
                               : "NCCL's search ends on the right GIDs without it";
    char value[NI_IP_TEXT + 8], ip[NI_IP_TEXT];

    if (v6)
        ni_decide_value(w, family, "AF_INET6", "all chosen GIDs are IPv6");
    else
        ni_decide_value(w, family, NULL, "%s", needless);
    if (selection->ranged &&
        ni_format(value, sizeof(value), "%s/%u", ni_ip_text(selection->range, ip),
                  selection->v6 ? selection->bits : selection->bits - 96))
        ni_decide_value(w, range, value,
                        "limits NCCL's search on each HCA to this pod's addresses");
    else
        ni_decide_value(w, range, NULL, "%s", needless);
}

/* Sets the variables that make NCCL select so. Of the index the plan says what the rule would set
   without the user's value. */
static void set_selection(const struct ni_work *w, const struct ni_gid_selection *selection)
{
    const struct ni_gid *entry[NI_MAX_CHOSEN] = {0};
    struct ni_gid_selection said;

    (void)choose_selection(w, true, &said);
    for (unsigned i = 0; i < w->plan->n_chosen; i++)
        entry[i] = ni_gid_end(w->inv, ni_chosen(w, i).port, &said).gid;
    set_index(w, said.index, entry[0]);
    set_search(w, selection, selection->index >= 0 ? are_routable_v6(w, entry) : selection->v6);
}

static void leave_search(const struct ni_work *w, const char *why)
{
    ni_decide_value(w, family, NULL, "%s", why);
    ni_decide_value(w, range, NULL, "%s", why);
}

/* Leaves the index and the search alone, and says why. doubtful: see doubtful_port. */
static void leave_selection(const struct ni_work *w, int doubtful, bool user_searches,
                            int user_index)
{
    const char *reason = "no index is right for all ports";

    if (doubtful >= 0) {
        reason = "it is not known which GIDs are this pod's";
        ni_report(w->f, NI_F_GID_OWNER_UNKNOWN, ni_port_name(w->inv, doubtful).text,
                  "the table has several entries that may be this pod's, and it cannot be read "
                  "which of them are");
    } else if (user_searches && user_index < 0) {
        reason = "you set how NCCL searches; an index would switch that off";
    }
    ni_decide_value(w, variable, NULL, "%s", reason);
    leave_search(w, user_searches ? "NCCL searches as you set it" : reason);
}

/* ---- the rule ---- */

static void report_range(const struct ni_work *w, const struct ni_gid_selection *selection)
{
    const char *value = ni_user_value(w, range);

    if (selection->no_range)
        ni_report(w->f, NI_F_USER_VALUE_IGNORED, range,
                  "`%.60s` has a negative mask, so it contains no address, and NCCL takes GID 0 of "
                  "each port",
                  value);
    else
        ni_report(w->f, NI_F_USER_VALUE_IGNORED, range,
                  "`%.60s` is not an address of the family with /bits: NCCL ignores it, or crashes "
                  "(2.21.5, 2.22.3)",
                  value);
}

/* Reports rails of which one has an IPv4 GID and another only IPv6: a network that has no address
   left gives such a pod, and its peers go by their IPv4 GIDs. GIDs of two families do not reach
   each other. */
static void check_gid_families(const struct ni_work *w)
{
    int with = -1, without = -1;

    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        const struct ni_chosen c = ni_chosen(w, i);
        const bool sure = ni_gid_is_routable_v2(c.best) && c.best->owner == NI_OWNER_POD;

        if (sure && ni_ip_is_v4(c.best->ip))
            with = c.at;
        else if (sure)
            without = c.at;
    }
    if (with >= 0 && without >= 0)
        ni_report(w->f, NI_F_GID_FAMILY_DIFFERS, ni_port_name(w->inv, without).text,
                  "it has IPv6 GIDs only, and %s has an IPv4 one: pods that have IPv4 on all rails "
                  "use that, and do not reach an IPv6 GID of this pod",
                  ni_port_name(w->inv, with).text);
}

/* Decides how NCCL is to select GIDs on RoCE: by index, by search, or as the user has set it. */
static void for_roce(const struct ni_work *w)
{
    const char *user = ni_user_value(w, variable);
    const int doubtful = doubtful_port(w);
    /* the selection that the rule finds, and the one that will be in force */
    struct ni_gid_selection found_selection, selection = plain_search;
    const bool user_searches = ni_user_selection(w, &selection);
    const int user_index = selection.index;
    bool found = false;

    if (doubtful < 0 && user)
        found = find_selection(w, user_index >= 0, &found_selection);
    else if (doubtful < 0)
        found = choose_selection(w, true, &found_selection);
    check_gid_families(w);
    if (user || user_searches) /* the user's selection may end after the first right entry */
        w->plan->needs |= NI_NEED_WHOLE_GIDS;
    if (found && !user_searches) {
        selection = found_selection;
        /* variables that the user set to nothing count, too */
        (void)ni_user_selection(w, &selection);
    }
    plan_selection(w, &selection, user_index >= 0 || user_searches || found);

    if (found && (user_index < 0 ? !user_searches : found_selection.index >= 0))
        set_selection(w, &found_selection);
    else
        leave_selection(w, doubtful, user_searches, user_index);
    if (selection.index < 0 && !searches_again(w))
        ni_report(w->f, NI_F_GID_INDEX_DIFFERS, variable,
                  "no index is set, and NCCL before 2.21.5 does not search for one");
    if (selection.index < 0 && (selection.bad_range || selection.no_range))
        report_range(w, &selection);
}

void ni_rule_gid_index(const struct ni_work *w)
{
    static const char no_choice[] = "an InfiniBand link has no GIDs to choose from";
    const int index = (int)ni_user_int(w, variable, 0);

    if (w->plan->n_chosen == 0)
        return;
    if (ni_chosen(w, 0).port->link == NI_LINK_ROCE) {
        for_roce(w);
        return;
    }
    ni_decide_value(w, variable, NULL, "%s", no_choice);
    leave_search(w, no_choice);
    /* 2.21.5 searches on InfiniBand, too. Before 2.22.3 ncclIbAccept queries the GID of the index,
       even of -1, and does not use it. */
    if (index != 0)
        ni_report(w->f, NI_F_USER_VALUE_IGNORED, variable,
                  "has no effect on InfiniBand; NCCL before 2.22.3 reads GID %d of each port, and "
                  "fails if there is none",
                  index);
}
