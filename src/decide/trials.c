/* SPDX-License-Identifier: Apache-2.0 */
/* What a self-test tries: the ports that the job will use, as it will use them, and those that were
   given to the pod by name and cannot be used, so that the device itself says why. */
#include <string.h>

#include "check.h"
#include "rule.h"

static void add(const struct ni_facts *facts, const struct ni_plan *plan, struct ni_trials *to,
                int at)
{
    const struct ni_inventory *inv = facts->inv;
    const struct ni_port *port = &inv->port[at];
    const struct ni_port_plan *pick = &plan->port[at];
    struct ni_trial *t = &to->at[to->n++];
    ni_copy(t->hca, sizeof(t->hca), inv->hca[port->hca].name);
    t->at = at;
    t->port = port->num;
    t->roce = port->link == NI_LINK_ROCE;
    t->index = -1;
    if (t->roce && pick->gid >= 0)
        t->index = pick->nccl_index >= 0 ? pick->nccl_index : inv->gid[pick->gid].index;
    else if (t->roce && !to->probe) /* a port without a GID of the pod's: the index may be forced */
        t->index = (int)ni_user_int(facts, "NCCL_IB_GID_INDEX", -1);
    for (unsigned i = 0; i < port->n_gid; i++) {
        if (ni_port_gid(inv, port, i)->index == t->index)
            memcpy(t->gid, ni_port_gid(inv, port, i)->ip, NI_GID_BYTES);
    }
}

/* Named by somebody, and left out because it does not work: no link, no GID. What was left out by
   choice (--hcas, NCCL_IB_HCA, link layer, number) is nobody's fault. */
static bool is_missed(const struct ni_facts *facts, const struct ni_plan *plan, int at)
{
    const struct ni_inventory *inv = facts->inv;
    const struct ni_port *port = &inv->port[at];
    if (!ni_is_given(&inv->hca[port->hca]) || !ni_is_told(inv->source) ||
        !ni_is_listed(facts, at) ||
        ni_is_chosen(inv, plan, port->hca)) /* of two ports one may be without a cable */
        return false;
    return (port->state.known == NI_KNOWN && port->state.v != NI_PORT_ACTIVE) ||
           (port->link == NI_LINK_ROCE && ni_best_gid(inv, port, false) < 0);
}

bool ni_wants_trials(const struct ni_facts *facts, const struct ni_plan *plan)
{
    return plan->transport != NI_NET_OFF && plan->transport != NI_NET_OTHER && !ni_wants_tcp(facts);
}

void ni_plan_trials(const struct ni_facts *facts, const struct ni_plan *plan, struct ni_trials *ret)
{
    if (!ni_wants_trials(facts, plan))
        return;
    for (unsigned i = 0; i < plan->n_chosen; i++)
        add(facts, plan, ret, plan->chosen[i]);
    for (unsigned i = 0; i < facts->inv->n_port; i++) {
        if (is_missed(facts, plan, (int)i))
            add(facts, plan, ret, (int)i);
    }
}

void ni_plan_probes(const struct ni_facts *facts, const struct ni_plan *plan, struct ni_trials *ret)
{
    const struct ni_inventory *inv = facts->inv;
    ret->probe = true;
    for (unsigned i = 0; i < inv->n_hca; i++) {
        if (ni_is_given(&inv->hca[i]) && inv->hca[i].n_port > 0)
            add(facts, plan, ret, inv->hca[i].first_port);
    }
}
