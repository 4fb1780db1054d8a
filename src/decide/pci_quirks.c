/* SPDX-License-Identifier: Apache-2.0 */
/* vf.merge: NCCL_IB_MERGE_VFS=0 where the address that NCCL makes of a VF's points at nothing or at
   a host bridge, and 0 harms no other HCA. nic.merge: no fusing of NICs, where NCCL would take two
   HCAs that share a port for a dual-port NIC, or has no place for two. */
#include "rule.h"

static const char merge_vfs[] = "NCCL_IB_MERGE_VFS", merge_nics[] = "NCCL_IB_MERGE_NICS",
                  merge_level[] = "NCCL_NET_MERGE_LEVEL", force_merge[] = "NCCL_NET_FORCE_MERGE";

static bool is_wrong(enum ni_at at)
{
    return at == NI_AT_OTHER || at == NI_AT_NOTHING;
}

static bool is_set_by_rule(const struct ni_work *w, const char *name)
{
    const struct ni_setting *s = ni_plan_get(w->plan, name);
    return s && s->origin == NI_FROM_RULE;
}

/* The switch in force: the rule's, which is 0, or the user's; NCCL's own is 1. */
static bool is_on(const struct ni_work *w, const char *name)
{
    return ni_user_int(w, name, is_set_by_rule(w, name) ? 0 : 1) != 0;
}

/* ---- vf.merge ---- */

/* An HCA that NCCL will look for where it is not; harm: 0 would find this one and lose another.
   SoftRoCE is nowhere, and loses nothing by it. */
static void check_place(const struct ni_work *w, const struct ni_hca *h, bool merged, bool harm)
{
    const enum ni_at at = merged ? h->place.merged : h->place.unmerged;
    if (h->aux[0])
        ni_report(w->f, NI_F_HCA_PLACE_LOST, h->name,
                  "%s is a sub-function: NCCL looks for a PCI device of that name, finds none, and "
                  "counts it as PHB or SYS from every GPU",
                  h->aux);
    else if (is_wrong(at) && !h->pci.none)
        ni_report(w->f, NI_F_HCA_PLACE_LOST, h->name,
                  "NCCL takes its place from the address with %s set to 0 (%02x:%02x.0), where %s "
                  "is%s",
                  merged ? "device and function" : "the function", h->bdf.bus,
                  merged ? 0u : h->bdf.dev, at == NI_AT_OTHER ? "something else" : "nothing",
                  harm && !is_wrong(h->place.unmerged)
                      ? "; NCCL_IB_MERGE_VFS=0 would mend it, and harm another HCA"
                      : "");
}

void ni_rule_vf_merge(const struct ni_work *w)
{
    const struct ni_hca *mended = NULL;
    bool harms = false;
    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        const struct ni_hca *h = ni_chosen(w, i).hca;
        const bool good = h->place.unmerged == NI_AT_ITSELF || h->place.unmerged == NI_AT_NIC;
        if (is_wrong(h->place.merged))
            w->plan->wants |= NI_WANT_UNMERGED;
        if (is_wrong(h->place.merged) && good)
            mended = h;
        harms = harms || (!is_wrong(h->place.merged) && !good);
    }
    if (mended && !harms) {
        char bdf[NI_BDF_TEXT];
        ni_decide_value(w, merge_vfs, "0", "NCCL would take %s (%s) for %02x:00.0, where %s is",
                        mended->name, ni_bdf_text(mended->bdf, bdf), mended->bdf.bus,
                        mended->place.merged == NI_AT_OTHER ? "something else" : "nothing");
    }
    const bool merged = is_on(w, merge_vfs);
    if (!merged)
        w->plan->wants |= NI_WANT_UNMERGED;
    for (unsigned i = 0; i < w->plan->n_chosen; i++)
        check_place(w, ni_chosen(w, i).hca, merged, merged && harms);
    for (unsigned i = 0; i < w->inv->n_hca; i++) {
        const struct ni_nccl_place *place = &w->inv->hca[i].place;
        w->plan->no_place[i] = (merged ? place->merged : place->unmerged) == NI_AT_NOTHING;
    }
}

/* ---- nic.merge ---- */

/* The function that has the port: a VF's PF, or the HCA's own, which a sub-function shares. */
static struct ni_bdf port_of(const struct ni_hca *h)
{
    return h->is_vf ? h->pf : h->bdf;
}

bool ni_share_port(const struct ni_hca *a, const struct ni_hca *b)
{
    return a != b && (a->is_vf || b->is_vf || a->aux[0] || b->aux[0]) && a->has_bdf && b->has_bdf &&
           ni_bdf_cmp(port_of(a), port_of(b)) == 0;
}

/* Ports of one card, or VFs of two such ports: fusing them is right. */
static bool is_one_card(const struct ni_hca *a, const struct ni_hca *b)
{
    const struct ni_bdf p = port_of(a), q = port_of(b);
    return p.domain == q.domain && p.bus == q.bus && p.dev == q.dev && p.fn != q.fn;
}

static bool is_on_one_bus(const struct ni_hca *a, const struct ni_hca *b)
{
    return a->has_bdf && b->has_bdf && a->bdf.domain == b->bdf.domain && a->bdf.bus == b->bdf.bus;
}

static bool has_no_place(const struct ni_work *w, const struct ni_hca *h)
{
    return w->plan->no_place[h - w->inv->hca];
}

/* What is in force. */
struct fusing {
    bool vfs, nics; /* NCCL_IB_MERGE_VFS, NCCL_IB_MERGE_NICS */
    /* NCCL_NET_MERGE_LEVEL, by how it begins, as NCCL reads it (graph/xml.h kvConvertToInt). UNKNOWN
       is PORT, NCCL's default: only what shares a place. LOC, and what NCCL does not know: nothing
       is fused. */
    enum ni_distance level;
};

static struct fusing in_force(const struct ni_work *w)
{
    const char *user = ni_user_value(w, merge_level);
    struct fusing f = {is_on(w, merge_vfs), is_on(w, merge_nics), NI_DIST_LOC};
    if (user ? ni_has_prefix(user, "PORT") : !is_set_by_rule(w, merge_level))
        f.level = NI_DIST_UNKNOWN;
    for (enum ni_distance d = NI_DIST_SYS; user && d >= NI_DIST_PIX; d--) {
        if (ni_has_prefix(user, ni_distance_text(d)))
            f.level = d;
    }
    return f;
}

/* NCCL has one place for both: no device, or the same one. */
static bool share_place(const struct ni_work *w, const struct fusing *f, const struct ni_hca *a,
                        const struct ni_hca *b)
{
    if (has_no_place(w, a) || has_no_place(w, b))
        return has_no_place(w, a) && has_no_place(w, b);
    return is_on_one_bus(a, b) && (ni_share_port(a, b) || f->vfs || a->bdf.dev == b->bdf.dev);
}

/* NCCL_NET_MERGE_LEVEL asks for it. */
static bool is_within_level(const struct ni_work *w, const struct fusing *f, const struct ni_hca *a,
                            const struct ni_hca *b)
{
    if (a == b || f->level == NI_DIST_LOC)
        return false;
    const bool lost = has_no_place(w, a) || has_no_place(w, b);
    const enum ni_distance d = lost ? NI_DIST_PHB : ni_pci_distance(&a->pci, &b->pci);
    return share_place(w, f, a, b) || (d != NI_DIST_UNKNOWN && d <= f->level);
}

bool ni_may_fuse(const struct ni_work *w, const struct ni_hca *a, const struct ni_hca *b)
{
    const struct fusing f = in_force(w);
    return f.nics && is_within_level(w, &f, a, b);
}

/* Why NCCL must not fuse the two; false: it may. */
static bool must_stay_apart(const struct ni_work *w, const struct fusing *f, const struct ni_hca *a,
                            const struct ni_hca *b, struct ni_text *why)
{
    const bool together = share_place(w, f, a, b);
    char pf[NI_BDF_TEXT];
    if (together && has_no_place(w, a))
        ni_putf(why,
                "%s and %s have no place on NCCL's PCI tree: fused, they would leave NCCL without "
                "a network",
                a->name, b->name);
    else if (together && ni_share_port(a, b))
        ni_putf(why, "%s and %s are %s one port (%s): fused, their speed would count twice",
                a->name, b->name, a->is_vf && b->is_vf ? "VFs of" : "PF and VF of",
                ni_bdf_text(port_of(a), pf));
    else if (together && !is_one_card(a, b))
        ni_putf(why, "%s and %s are two NICs that NCCL takes for one: it has one address for both",
                a->name, b->name);
    else if (!f->nics) /* by the user: the rule has not decided yet */
        ni_put(why, "your NCCL_IB_MERGE_NICS=0 alone ends a job with NCCL 2.24.3 and 2.25.1");
    else
        return false;
    return true;
}

/* Both variables: before 2.24.3 NCCL knows the first only. That alone ends a job with 2.24.3 and
   2.25.1 where it forbids what the level asks for (transport/net_ib.cc ncclIbMakeVDeviceInternal,
   graph/topo.cc ncclTopoMakeVnic), and 2.26.2 to 2.26.6 lose the first HCA (ncclTopoAutoMerge); all
   end with a NIC that the user forces. A user who wants NICs fused has them so. */
static void keep_apart(const struct ni_work *w, const struct fusing *f, const char *why)
{
    const bool nics_set = ni_user_value(w, merge_nics);
    const bool level_set = ni_user_value(w, merge_level);
    const bool asks = level_set && f->level != NI_DIST_LOC;
    if (nics_set || (!asks && !ni_user_value(w, force_merge)))
        ni_decide_value(w, merge_nics, "0", "%s", why);
    if (level_set || !nics_set || !f->nics)
        ni_decide_value(w, merge_level, "LOC", "%s",
                        is_set_by_rule(w, merge_nics) ? "the same for NCCL 2.24.3 and later" : why);
}

/* What the user's values lead to: HCAs that are no one card are fused, or the values contradict each
   other. */
static void check_user_values(const struct ni_work *w)
{
    const char *user = ni_user_value(w, merge_level)  ? merge_level
                       : ni_user_value(w, merge_nics) ? merge_nics
                                                      : NULL;
    const char *force = ni_user_value(w, force_merge);
    const struct fusing f = in_force(w);
    struct ni_text names = NI_TEXT(200);
    bool nowhere = false;
    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        const struct ni_hca *a = ni_chosen(w, i).hca;
        bool fused = false;
        for (unsigned k = 0; k < w->plan->n_chosen && !fused; k++) {
            const struct ni_hca *b = ni_chosen(w, k).hca;
            fused = is_within_level(w, &f, a, b) &&
                    (!f.nics || !is_one_card(a, b) || !share_place(w, &f, a, b));
            nowhere = nowhere || (fused && has_no_place(w, a) && has_no_place(w, b));
        }
        if (fused)
            ni_putf(&names, "%s%s", names.len ? ", " : "", a->name);
    }
    if (force && *force && !f.nics)
        ni_report(w->f, NI_F_USER_NICS_FUSED, force_merge,
                  "NCCL_IB_MERGE_NICS=0 forbids it: `Could not force merge NICs`, the job dies");
    else if (user && names.len > 0 && !f.nics)
        ni_report(w->f, NI_F_USER_NICS_FUSED, user,
                  "it asks NCCL to fuse %s, and NCCL_IB_MERGE_NICS=0 forbids it: the job dies with "
                  "NCCL 2.24.3 and 2.25.1",
                  names.buf);
    else if (user && names.len > 0)
        ni_report(w->f, NI_F_USER_NICS_FUSED, user,
                  "NCCL may fuse HCAs that are not one card: %s%s", names.buf,
                  nowhere ? "; without a place on the PCI tree they are no network then, and "
                            "SoftRoCE crashes NCCL 2.21.5 to 2.23.4"
                          : "");
}

void ni_rule_nic_merge(const struct ni_work *w)
{
    const struct fusing f = in_force(w);
    struct ni_text why = NI_TEXT(NI_REASON);
    bool apart = false;
    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        for (unsigned k = i + 1; k < w->plan->n_chosen && !apart; k++) {
            const struct ni_hca *a = ni_chosen(w, i).hca;
            const struct ni_hca *b = ni_chosen(w, k).hca;
            if (a != b && is_on_one_bus(a, b)) /* only then it matters whether they share a port */
                w->plan->wants |= NI_WANT_PFS;
            apart = a != b && must_stay_apart(w, &f, a, b, &why);
        }
    }
    if (apart)
        keep_apart(w, &f, why.buf);
    check_user_values(w);
}
