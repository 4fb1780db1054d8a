/* SPDX-License-Identifier: Apache-2.0 */
/* vf.merge: NCCL_IB_MERGE_VFS=0 where the address that NCCL makes of a VF's points at nothing or at
   a host bridge. nic.merge: NCCL_IB_MERGE_NICS=0 where two HCAs that share a port were given, which
   NCCL would take for a dual-port NIC. */
#include "rule.h"

static const struct ni_hca *chosen_hca(const struct ni_facts *facts, const struct ni_plan *plan,
                                       unsigned i)
{
    return &facts->inv->hca[facts->inv->port[plan->chosen[i]].hca];
}

static bool is_wrong(enum ni_at at)
{
    return at == NI_AT_OTHER || at == NI_AT_NOTHING;
}

void ni_rule_vf_merge(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f)
{
    const struct ni_hca *mended = NULL;
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        const struct ni_hca *h = chosen_hca(facts, plan, i);
        if (!is_wrong(h->place.merged))
            continue;
        if (!is_wrong(h->place.unmerged) && h->place.unmerged != NI_AT_UNREAD)
            mended = h;
        else
            ni_report(f, NI_F_HCA_PLACE_LOST, h->name,
                      "NCCL takes its place from the address with device and function set to 0 "
                      "(%02x:00.0), where %s",
                      h->bdf.bus,
                      h->place.merged == NI_AT_OTHER ? "something else is" : "nothing is");
    }
    if (!mended)
        return;
    char bdf[NI_BDF_TEXT];
    ni_decide_value(facts, plan, "vf.merge", "NCCL_IB_MERGE_VFS", "0", f,
                    "NCCL would take %s (%s) for %02x:00.0, where %s", mended->name,
                    ni_bdf_text(mended->bdf, bdf), mended->bdf.bus,
                    mended->place.merged == NI_AT_OTHER ? "something else is" : "nothing is");
}

/* The function that has the port: a VF's PF, or the HCA's own. */
static struct ni_bdf port_of(const struct ni_hca *h)
{
    return h->is_vf ? h->pf : h->bdf;
}

/* Two VFs of one PF, or a PF and its VF. A sub-function's address is its parent's, but NCCL does
   not take the one for the other. */
bool ni_share_port(const struct ni_hca *a, const struct ni_hca *b)
{
    return a != b && (a->is_vf || b->is_vf) && !a->aux[0] && !b->aux[0] &&
           ni_bdf_cmp(port_of(a), port_of(b)) == 0;
}

void ni_rule_nic_merge(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f)
{
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        for (unsigned k = i + 1; k < plan->n_chosen; k++) {
            const struct ni_hca *a = chosen_hca(facts, plan, i), *b = chosen_hca(facts, plan, k);
            bool one_bus = a->bdf.domain == b->bdf.domain && a->bdf.bus == b->bdf.bus;
            if (!one_bus || !ni_share_port(a, b))
                continue;
            char pf[NI_BDF_TEXT];
            ni_decide_value(facts, plan, "nic.merge", "NCCL_IB_MERGE_NICS", "0", f,
                            "%s and %s are %s one port (%s): fused, their speed would count twice",
                            a->name, b->name, a->is_vf && b->is_vf ? "VFs of" : "PF and VF of",
                            ni_bdf_text(port_of(a), pf));
            return;
        }
    }
}
