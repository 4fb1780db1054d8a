/* SPDX-License-Identifier: Apache-2.0 */
/* What a self-test tries: the ports that the job will use, as it will use them, and those that were
   given to the pod by name and cannot be used, so that the device itself says why. */
#include <string.h>

#include "rule.h"

/* The index on which NCCL will end. */
static int index_of(const struct ni_facts *facts, const struct ni_plan *plan, int at)
{
    int gid = plan->port[at].gid, users = (int)ni_user_int(facts, "NCCL_IB_GID_INDEX", -1);
    if (users >= 0)
        return users;
    if (plan->port[at].nccl_index >= 0)
        return plan->port[at].nccl_index;
    return gid < 0 ? -1 : facts->inv->gid[gid].index;
}

static struct ni_trial *add(const struct ni_facts *facts, struct ni_trials *to, int at)
{
    const struct ni_inventory *inv = facts->inv;
    if (to->n == NI_MAX_TRIAL)
        return NULL;
    struct ni_trial *t = &to->at[to->n++];
    ni_copy(t->hca, sizeof(t->hca), inv->hca[inv->port[at].hca].name);
    t->at = at;
    t->port = inv->port[at].num;
    t->roce = inv->port[at].link == NI_LINK_ROCE;
    t->index = -1;
    return t;
}

static void add_port(const struct ni_facts *facts, const struct ni_plan *plan, struct ni_trials *to,
                     int at)
{
    const struct ni_inventory *inv = facts->inv;
    const struct ni_port *port = &inv->port[at];
    struct ni_trial *t = add(facts, to, at);
    if (!t || !t->roce)
        return;
    t->index = index_of(facts, plan, at);
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
    const struct ni_hca *hca = &inv->hca[port->hca];
    const char *rule = plan->port[at].rule;
    if (!ni_is_given(hca) || inv->source >= NI_SRC_UVERBS || plan->port[at].chosen || !rule ||
        !ni_is_listed(facts, at))
        return false;
    /* of a card with two ports one may be without a cable */
    for (unsigned i = 0; i < hca->n_port; i++) {
        if (plan->port[hca->first_port + (int)i].chosen)
            return false;
    }
    bool down = port->state.known == NI_KNOWN && port->state.v != NI_PORT_ACTIVE;
    return down ||
           (port->link == NI_LINK_ROCE && plan->port[at].gid < 0 && strcmp(rule, "gid.pick") == 0);
}

bool ni_wants_trials(const struct ni_facts *facts, const struct ni_plan *plan)
{
    return plan->transport != NI_NET_OFF && plan->transport != NI_NET_OTHER && !ni_wants_tcp(facts);
}

void ni_plan_trials(const struct ni_facts *facts, const struct ni_plan *plan, struct ni_trials *ret)
{
    ret->n = 0;
    if (!ni_wants_trials(facts, plan))
        return;
    for (unsigned i = 0; i < plan->n_chosen; i++)
        add_port(facts, plan, ret, plan->chosen[i]);
    for (unsigned i = 0; i < facts->inv->n_port; i++) {
        if (is_missed(facts, plan, (int)i))
            add_port(facts, plan, ret, (int)i);
    }
}

void ni_plan_probes(const struct ni_facts *facts, struct ni_trials *ret)
{
    const struct ni_inventory *inv = facts->inv;
    ret->n = 0;
    ret->probe = true;
    for (unsigned i = 0; i < inv->n_hca; i++) {
        if (ni_is_given(&inv->hca[i]) && inv->hca[i].n_port > 0)
            (void)add(facts, ret, inv->hca[i].first_port);
    }
}
