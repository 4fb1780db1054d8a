/* SPDX-License-Identifier: Apache-2.0 */
/* The rules vf.merge and nic.merge. vf.merge: NCCL_IB_MERGE_VFS=0 if the address that NCCL makes
   of a VF's address has no NIC or has a host bridge, and if 0 harms no other HCA. nic.merge: no
   fusing of NICs if NCCL would take two HCAs that share a port for a dual-port NIC, or finds no
   place for two. */
#include "rules/pci_quirks.h"

#include "findings/device.h"
#include "findings/setting.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/pci.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "rules/chosen.h"
#include "rules/decide.h"
#include "rules/ports.h"

static const char merge_vfs[] = "NCCL_IB_MERGE_VFS", merge_nics[] = "NCCL_IB_MERGE_NICS",
                  merge_level[] = "NCCL_NET_MERGE_LEVEL", force_merge[] = "NCCL_NET_FORCE_MERGE";

static bool is_wrong(enum ni_at at)
{
    return at == NI_AT_OTHER || at == NI_AT_NOTHING;
}

/* Returns true if NCCL will take the VFs of a card for one place (NCCL_IB_MERGE_VFS): that is its
   default, unless the rule sets 0 or the user says otherwise. */
static bool merges_vfs(const struct ni_work *w)
{
    const struct ni_setting *s = ni_plan_get(w->plan, merge_vfs);

    return !(s && s->origin == NI_FROM_RULE) && ni_user_int(w, merge_vfs, 1) != 0;
}

/* ---- vf.merge ---- */

/* Sets NCCL_IB_MERGE_VFS=0 if NCCL then finds the place of an HCA that it would not find otherwise,
   and loses that of no other; if not, says why the variable stays unset. */
static void decide_merge_vfs(const struct ni_work *w)
{
    const struct ni_hca *helped = NULL, *harmed = NULL;

    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        const struct ni_hca *h = ni_chosen(w, i).hca;
        const bool good = h->place.unmerged == NI_AT_ITSELF || h->place.unmerged == NI_AT_NIC;

        if (is_wrong(h->place.merged))
            w->plan->needs |= NI_NEED_UNMERGED;
        if (is_wrong(h->place.merged) && good)
            helped = h;
        if (!is_wrong(h->place.merged) && !good)
            harmed = h;
    }
    if (helped && !harmed) {
        char bdf[NI_BDF_TEXT];

        ni_decide_value(w, merge_vfs, "0",
                        "NCCL would look for %s (%s) at %02x:00.0, where there is %s", helped->name,
                        ni_bdf_text(helped->bdf, bdf), helped->bdf.bus,
                        helped->place.merged == NI_AT_OTHER ? "another device" : "no device");
    } else if (helped) {
        ni_decide_value(w, merge_vfs, NULL,
                        "with 0 NCCL would find the PCI place of %s, but no longer that of %s",
                        helped->name, harmed->name);
    } else if (w->plan->n_chosen > 0) {
        ni_decide_value(w, merge_vfs, NULL, "0 would not change where NCCL finds the chosen HCAs");
    }
}

/* Reports each chosen HCA that NCCL does not find on its PCI tree. */
static void report_lost_places(const struct ni_work *w, bool merged)
{
    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        const struct ni_hca *h = ni_chosen(w, i).hca;
        const enum ni_at at = merged ? h->place.merged : h->place.unmerged;
        const char *why = "no device has the address NCCL looks at";

        if (at == NI_AT_OTHER)
            why = "another device has the address NCCL looks at";
        if (h->aux[0])
            why = "it is a sub-function";
        if (h->has_bdf && ni_is_cut_by_nccl(h->bdf))
            ni_report(
                w->f, NI_F_HCA_PLACE_LOST, h->name,
                "NCCL does not find it on the PCI tree, and takes it to be far from each GPU: "
                "its PCI domain has more than four digits, and NCCL cuts them off");
        else if (!h->pci.none && (h->aux[0] || is_wrong(at))) /* SoftRoCE loses nothing by it */
            ni_report(w->f, NI_F_HCA_PLACE_LOST, h->name,
                      "NCCL does not find it on the PCI tree, and places it at the first CPU: %s",
                      why);
    }
}

void ni_rule_vf_merge(const struct ni_work *w)
{
    bool merged;

    decide_merge_vfs(w);
    merged = merges_vfs(w);
    if (!merged)
        w->plan->needs |= NI_NEED_UNMERGED;
    report_lost_places(w, merged);
    for (unsigned i = 0; i < w->inv->n_hca; i++) {
        const struct ni_nccl_place *place = &w->inv->hca[i].place;

        w->plan->no_place[i] = (merged ? place->merged : place->unmerged) == NI_AT_NOTHING;
    }
}

/* ---- nic.merge ---- */

/* Returns the function that has the port: a VF's PF, or the HCA's own, which a sub-function
   shares. */
static struct ni_bdf port_of(const struct ni_hca *h)
{
    return h->is_vf ? h->pf : h->bdf;
}

bool ni_share_port(const struct ni_hca *a, const struct ni_hca *b)
{
    return a != b && (a->is_vf || b->is_vf || a->aux[0] || b->aux[0]) && a->has_bdf && b->has_bdf &&
           ni_bdf_cmp(port_of(a), port_of(b)) == 0;
}

/* Returns true for two ports of one card, or VFs of two such ports, which NCCL may fuse. */
static bool is_one_card(const struct ni_hca *a, const struct ni_hca *b)
{
    const struct ni_bdf p = port_of(a), q = port_of(b);

    return p.domain == q.domain && p.bus == q.bus && p.dev == q.dev && p.fn != q.fn;
}

static bool is_on_one_bus(const struct ni_hca *a, const struct ni_hca *b)
{
    return a->has_bdf && b->has_bdf && a->bdf.domain == b->bdf.domain && a->bdf.bus == b->bdf.bus;
}

bool ni_is_one_place(const struct ni_work *w, const struct ni_hca *a, const struct ni_hca *b)
{
    return is_on_one_bus(a, b) && (merges_vfs(w) || a->bdf.dev == b->bdf.dev);
}

/* Returns true if NCCL must not fuse the two, although it would: it has one place for both, without
   a device or with the same one. *why says so. */
static bool must_stay_apart(const struct ni_work *w, const struct ni_hca *a, const struct ni_hca *b,
                            struct ni_text *why)
{
    const bool *no_place = w->plan->no_place, lost = no_place[a - w->inv->hca];
    const bool shared = ni_share_port(a, b);
    char pf[NI_BDF_TEXT];

    if (a == b || lost != no_place[b - w->inv->hca] || (!lost && !is_on_one_bus(a, b)))
        return false;
    if (!lost && !shared && (is_one_card(a, b) || (!merges_vfs(w) && a->bdf.dev != b->bdf.dev)))
        return false;
    ni_putf(why, "%s and %s ", a->name, b->name);
    if (lost)
        ni_put(why,
               "have no place on NCCL's PCI tree; if they were fused, NCCL would have no network");
    else if (shared)
        ni_putf(why, "are %s one port (%s); if they were fused, their speed would count twice",
                a->is_vf && b->is_vf ? "VFs of" : "PF and VF of", ni_bdf_text(port_of(a), pf));
    else
        ni_put(why, "are two NICs that NCCL takes for one, because it has one address for both");
    return true;
}

/* Returns true for two ports of one card that NCCL fuses unless it is told to fuse nothing. */
static bool are_dual_port(const struct ni_work *w, const struct ni_port *x, const struct ni_port *y)
{
    const struct ni_hca *a = &w->inv->hca[x->hca], *b = &w->inv->hca[y->hca];
    const bool lost = w->plan->no_place[x->hca] || w->plan->no_place[y->hca];

    return !lost && ni_is_one_place(w, a, b) && (a == b || is_one_card(a, b));
}

/* Finds the first two such ports that NCCL will take; false: there are none. */
static bool find_dual_port(const struct ni_work *w, int port[2])
{
    const struct ni_inventory *inv = w->inv;

    for (port[1] = 1; port[1] < (int)inv->n_port; port[1]++) {
        if (!ni_is_taken(w, port[1]))
            continue;
        for (port[0] = 0; port[0] < port[1]; port[0]++) {
            if (ni_is_taken(w, port[0]) &&
                are_dual_port(w, &inv->port[port[0]], &inv->port[port[1]]))
                return true;
        }
    }
    return false;
}

/* Reports a dual-port card that is no longer fused. Fusing is switched for all NICs: no variable
   leaves out two of them (2.30.7 graph/topo.cc ncclTopoAutoMerge). NCCL_NET_FORCE_MERGE could name
   the others, but a name that NCCL does not find ends the job (ncclTopoForceMerge), and NCCL before
   2.24.3 does not know it. */
static void report_not_fused(const struct ni_work *w, const char *why)
{
    int port[2];

    if (find_dual_port(w, port))
        ni_report(w->f, NI_F_NICS_NOT_FUSED, merge_nics,
                  "%s; so NCCL does not fuse %s and %s either, which are two ports of one card: "
                  "each connection uses one of them instead of both",
                  why, ni_port_name(w->inv, port[0]).text, ni_port_name(w->inv, port[1]).text);
}

/* The HCAs that NCCL will take, in PCI order. */
struct taken {
    const struct ni_hca *hca[NI_MAX_HCA];
    unsigned n;
};

static void list_taken(const struct ni_work *w, struct taken *t)
{
    t->n = 0;
    for (int i = 0; i < (int)w->inv->n_port; i++) {
        const struct ni_hca *h = &w->inv->hca[w->inv->port[i].hca];

        if (ni_is_taken(w, i) && (t->n == 0 || t->hca[t->n - 1] != h))
            t->hca[t->n++] = h;
    }
}

/* Finds two HCAs at different CPUs that SYS fuses; false: there are none, or it is not known. NCCL
   fuses eight ports in their order, then the next eight (2.30.7 graph/topo.cc ncclTopoAutoMerge). */
static bool find_far_pair(const struct ni_work *w, const struct ni_hca *pair[2])
{
    unsigned n = 0;

    for (int i = 0; i < (int)w->inv->n_port; i++) {
        const struct ni_hca *h = &w->inv->hca[w->inv->port[i].hca];

        if (!ni_is_taken(w, i))
            continue;
        if (n % NI_MAX_FUSED == 0)
            pair[0] = h;
        n++;
        pair[1] = h;
        if (pair[0]->pci.numa.known == NI_KNOWN && h->pci.numa.known == NI_KNOWN &&
            pair[0]->pci.numa.v != h->pci.numa.v)
            return true;
    }
    return false;
}

/* Reports a level that fuses NICs through the CPU. NCCL 2.30.7 refuses two NUMA nodes
   (graph/topo.cc ncclTopoGetVNicParent), older ones put the NIC where nothing finds it; all need
   the PCI address of the first (ncclTopoMakePciParent). */
static void check_wide_level(const struct ni_work *w, const char *level, const struct taken *t)
{
    const bool sys = ni_has_prefix(level, "SYS");
    const struct ni_hca *pair[2] = {NULL, NULL};

    if (t->n < 2 || !(sys || ni_has_prefix(level, "PHB")))
        return;
    if (sys) {
        w->plan->needs |= NI_NEED_NUMA;
        if (find_far_pair(w, pair))
            ni_report(w->f, NI_F_USER_NICS_APART, merge_level,
                      "SYS fuses %s and %s, which are at different CPUs: the job dies (`Fusing NET "
                      "devices from different NUMA domains is not supported`); NCCL before 2.30.7 "
                      "has no network",
                      pair[0]->name, pair[1]->name);
    }
    for (unsigned i = 0; i < t->n; i++) {
        if (!w->plan->no_place[t->hca[i] - w->inv->hca])
            continue;
        ni_report(
            w->f, NI_F_USER_NICS_FUSED, merge_level,
            "%.3s fuses NICs through the CPU, and %s has no place on NCCL's PCI tree: the job "
            "may die (`Can't find busId of child 0`)",
            level, t->hca[i]->name);
        return;
    }
}

/* Leaves fusing to NCCL, for no two HCAs must be kept apart. */
static void leave_fusing(const struct ni_work *w, const struct taken *t)
{
    const char *why = t->n == 1 ? "NCCL has one HCA" : "no two NICs have to be kept apart";

    if (t->n == 0)
        return;
    ni_decide_value(w, merge_nics, NULL, "%s", why);
    ni_decide_value(w, merge_level, NULL, "%s", why);
}

/* Returns true if two of the HCAs must not be fused; *why: which, and why. Those on one bus may be
   of one port, which their PFs show. */
static bool is_fusing_wrong(const struct ni_work *w, const struct taken *t, struct ni_text *why)
{
    for (unsigned i = 0; i < t->n; i++) {
        for (unsigned k = i + 1; k < t->n; k++) {
            const struct ni_hca *a = t->hca[i], *b = t->hca[k];

            if (is_on_one_bus(a, b))
                w->plan->needs |= NI_NEED_PFS;
            if (must_stay_apart(w, a, b, why))
                return true;
        }
    }
    return false;
}

/* Returns true if the user's level asks for fused NICs. */
static bool asks_to_fuse(const struct ni_work *w)
{
    const char *level = ni_user_value(w, merge_level);

    return level && *level && !ni_has_prefix(level, "LOC");
}

/* Reports values of the user that fuse what must stay apart, or contradict each other. apart: why
   the HCAs must not be fused; NULL: they may. */
static void check_fusing(const struct ni_work *w, const struct taken *t, const char *apart)
{
    const char *nics = ni_user_value(w, merge_nics), *level = ni_user_value(w, merge_level);
    const char *force = ni_user_value(w, force_merge);
    const bool off = ni_user_int(w, merge_nics, 1) == 0, asks = asks_to_fuse(w);
    struct ni_text zero = NI_TEXT(120);

    ni_put_user_int(w, merge_nics, &zero);
    if (asks && (!off || ni_is_no_number(nics))) /* 2.32.3 takes no word for 0 */
        check_wide_level(w, level, t);
    if (off && ((force && *force) || (asks && t->n > 1)))
        ni_report(w->f, NI_F_USER_NICS_FUSED, merge_nics,
                  "%s forbids what your %s asks for: the job may die", zero.buf,
                  asks ? merge_level : force_merge);
    else if (apart && (asks || (nics && !level && !off)))
        ni_report(w->f, NI_F_USER_NICS_FUSED, asks ? merge_level : merge_nics, "%s", apart);
}

/* Decides both variables, because NCCL before 2.24.3 knows the first only. The first alone ends a
   job with 2.24.3 and 2.25.1 if it forbids what the level asks for (transport/net_ib.cc
   ncclIbMakeVDeviceInternal, graph/topo.cc ncclTopoMakeVnic), and 2.26.2 to 2.26.6 lose the first
   HCA (ncclTopoAutoMerge); all end with a NIC that the user forces. A user who asks for fused NICs
   gets them. */
void ni_rule_nic_merge(const struct ni_work *w)
{
    const char *nics = ni_user_value(w, merge_nics), *level = ni_user_value(w, merge_level);
    const char *force = ni_user_value(w, force_merge);
    const bool off = ni_user_int(w, merge_nics, 1) == 0;
    const bool asks = asks_to_fuse(w);
    struct ni_text why = NI_TEXT(NI_REASON);
    struct taken t;

    list_taken(w, &t);
    const bool several = t.n > 1;
    const bool apart = is_fusing_wrong(w, &t, &why);
    check_fusing(w, &t, apart ? why.buf : NULL);
    if (!apart && !(off && several)) {
        leave_fusing(w, &t);
        return;
    }
    if (!apart)
        ni_put(&why, "with your NCCL_IB_MERGE_NICS=0 alone a job ends with NCCL 2.24.3 and 2.25.1");
    if (apart && !nics && !level && !force)
        report_not_fused(w, why.buf);
    if (nics || !(asks || force))
        ni_decide_value(w, merge_nics, "0", "%s", why.buf);
    else
        ni_decide_value(w, merge_nics, NULL, "your %s asks for fused NICs",
                        asks ? merge_level : force_merge);
    if (level || !nics || off)
        ni_decide_value(w, merge_level, "LOC", "%s",
                        nics ? why.buf : "the same for NCCL 2.24.3 and later");
    else
        ni_decide_value(w, merge_level, NULL, "your %s allows fused NICs", merge_nics);
}
