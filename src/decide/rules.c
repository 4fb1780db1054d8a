/* SPDX-License-Identifier: Apache-2.0 */
/* The table of decisions, in the order in which they run. */
#include <stddef.h>
#include <string.h>

#include "rule.h"

static const struct ni_rule *const rules[] = {
    &ni_rule_transport, &ni_rule_ports,     &ni_rule_gids,    &ni_rule_ib_disable,
    &ni_rule_hca_list,  &ni_rule_gid_index, &ni_rule_sockets, &ni_rule_rails,
    &ni_rule_vf_merge,  &ni_rule_nic_merge, &ni_rule_gdr,     &ni_rule_libraries,
    &ni_rule_user,      &ni_rule_memlock,   &ni_rule_caps,    &ni_rule_require,
};

const struct ni_rule *const *ni_rules(unsigned *ret_n)
{
    *ret_n = NI_COUNT(rules);
    return rules;
}

void ni_decide(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f)
{
    memset(plan, 0, offsetof(struct ni_plan, nearest_hca)); /* behind it: only what is in use */
    plan->gid_index = -1;
    for (unsigned i = 0; i < facts->inv->n_port; i++)
        plan->port[i] = (struct ni_port_plan){.gid = -1, .nccl_index = -1};
    for (unsigned i = 0; i < facts->inv->n_hca; i++)
        plan->nearest_gpu[i].index = -1;
    for (unsigned i = 0; i < facts->inv->n_gpu; i++)
        plan->nearest_hca[i].index = -1;
    for (unsigned i = 0; i < NI_COUNT(rules); i++) {
        if (plan->transport == NI_NET_OFF && !rules[i]->when_off)
            continue;
        plan->rule = rules[i]->id;
        rules[i]->eval(facts, plan, f);
    }
}
