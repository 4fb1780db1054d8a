/* SPDX-License-Identifier: Apache-2.0 */
/* vf.merge: NCCL_IB_MERGE_VFS=0 where the address that NCCL makes of a VF's points at nothing or at
   a host bridge, and 0 harms no other HCA. nic.merge: no fusing of NICs, where NCCL would take two
   HCAs that share a port for a dual-port NIC, or has no place for two. */
#include "rule.h"

static const char merge_vfs[] = "NCCL_IB_MERGE_VFS";

static const struct ni_hca *chosen_hca(const struct ni_facts *facts, const struct ni_plan *plan,
                                       unsigned i)
{
    return &facts->inv->hca[facts->inv->port[plan->chosen[i]].hca];
}

static enum ni_at place(const struct ni_hca *h, bool merged)
{
    return merged ? h->place.merged : h->place.unmerged;
}

static bool is_wrong(enum ni_at at)
{
    return at == NI_AT_OTHER || at == NI_AT_NOTHING;
}

/* NCCL_IB_MERGE_VFS in force: ours, or the user's. */
static bool merges_vfs(const struct ni_facts *facts, const struct ni_plan *plan)
{
    const struct ni_setting *s = ni_plan_get(plan, merge_vfs);
    return ni_user_int(facts, merge_vfs, s && s->origin == NI_FROM_RULE ? 0 : 1) != 0;
}

bool ni_has_no_place(const struct ni_facts *facts, const struct ni_plan *plan,
                     const struct ni_hca *h)
{
    return place(h, merges_vfs(facts, plan)) == NI_AT_NOTHING;
}

/* An HCA that NCCL will look for where it is not. SoftRoCE is nowhere, and loses nothing by it. */
static void note_lost(const struct ni_hca *h, bool merged, bool zero_harms, struct ni_findings *f)
{
    if (h->aux[0])
        ni_report(f, NI_F_HCA_PLACE_LOST, h->name,
                  "%s is a sub-function: NCCL looks for a PCI device of that name, finds none, and "
                  "counts it as PHB or SYS from every GPU",
                  h->aux);
    else if (is_wrong(place(h, merged)) && !h->pci.none)
        ni_report(f, NI_F_HCA_PLACE_LOST, h->name,
                  "NCCL takes its place from the address with %s set to 0 (%02x:%02x.0), where %s "
                  "is%s",
                  merged ? "device and function" : "the function", h->bdf.bus,
                  merged ? 0u : h->bdf.dev,
                  place(h, merged) == NI_AT_OTHER ? "something else" : "nothing",
                  zero_harms ? "; NCCL_IB_MERGE_VFS=0 would mend it, and harm another HCA" : "");
}

void ni_rule_vf_merge(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f)
{
    const struct ni_hca *mended = NULL;
    bool harms = false;
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        const struct ni_hca *h = chosen_hca(facts, plan, i);
        bool good = h->place.unmerged == NI_AT_ITSELF || h->place.unmerged == NI_AT_NIC;
        if (is_wrong(h->place.merged) && good)
            mended = h;
        harms = harms || (!is_wrong(h->place.merged) && !good);
    }
    if (mended && !harms) {
        char bdf[NI_BDF_TEXT];
        ni_decide_value(facts, plan, "vf.merge", merge_vfs, "0", f,
                        "NCCL would take %s (%s) for %02x:00.0, where %s is", mended->name,
                        ni_bdf_text(mended->bdf, bdf), mended->bdf.bus,
                        mended->place.merged == NI_AT_OTHER ? "something else" : "nothing");
    }
    const bool merged = merges_vfs(facts, plan);
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        const struct ni_hca *h = chosen_hca(facts, plan, i);
        note_lost(h, merged, merged && harms && !is_wrong(h->place.unmerged), f);
    }
}

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

/* Both variables: before 2.24.3 NCCL knows the first only, and 2.24.3 and 2.25.1 end with
   ncclInvalidUsage where it forbids what the level asks for (transport/net_ib.cc
   ncclIbMakeVDeviceInternal, graph/topo.cc ncclTopoMakeVnic); so do all with a NIC that the user
   forces. Where the user has set one, the other is left alone. */
static void keep_apart(const struct ni_facts *facts, struct ni_plan *plan, const char *why,
                       struct ni_findings *f)
{
    static const char nics[] = "NCCL_IB_MERGE_NICS", level[] = "NCCL_NET_MERGE_LEVEL";
    const bool nics_set = ni_user_value(facts, nics), level_set = ni_user_value(facts, level);
    if (nics_set || (!level_set && !ni_user_value(facts, "NCCL_NET_FORCE_MERGE")))
        ni_decide_value(facts, plan, "nic.merge", nics, "0", f, "%s", why);
    if (level_set || !nics_set)
        ni_decide_value(facts, plan, "nic.merge", level, "LOC", f, "%s",
                        ni_plan_get(plan, nics) ? "the same for NCCL 2.24.3 and later" : why);
}

void ni_rule_nic_merge(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f)
{
    char why[NI_REASON], pf[NI_BDF_TEXT];
    struct ni_text t = ni_text_on(why, sizeof(why));
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        for (unsigned k = i + 1; k < plan->n_chosen; k++) {
            const struct ni_hca *a = chosen_hca(facts, plan, i), *b = chosen_hca(facts, plan, k);
            bool nowhere = ni_has_no_place(facts, plan, a), b_too = ni_has_no_place(facts, plan, b);
            bool one_bus = a->bdf.domain == b->bdf.domain && a->bdf.bus == b->bdf.bus;
            if (nowhere && b_too)
                ni_putf(&t,
                        "%s and %s have no place on NCCL's PCI tree: fused, they would leave NCCL "
                        "without a network",
                        a->name, b->name);
            else if (!nowhere && !b_too && one_bus && ni_share_port(a, b))
                ni_putf(&t, "%s and %s are %s one port (%s): fused, their speed would count twice",
                        a->name, b->name, a->is_vf && b->is_vf ? "VFs of" : "PF and VF of",
                        ni_bdf_text(port_of(a), pf));
            else
                continue;
            keep_apart(facts, plan, why, f);
            return;
        }
    }
}
