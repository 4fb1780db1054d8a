/* SPDX-License-Identifier: Apache-2.0 */
/* Chosen ports, and what belongs to each. */
#include "rules/chosen.h"

#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "rules/decide.h"

struct ni_chosen ni_chosen(const struct ni_work *w, unsigned i)
{
    const int at = w->plan->chosen[i];
    const struct ni_port *port = &w->inv->port[at];
    struct ni_port_plan *plan = &w->plan->port[at];
    return (struct ni_chosen){at,
                              port,
                              &w->inv->hca[port->hca],
                              plan,
                              plan->best < 0 ? NULL : &w->inv->gid[plan->best],
                              plan->gid < 0 ? NULL : &w->inv->gid[plan->gid]};
}

bool ni_is_chosen(const struct ni_work *w, int hca)
{
    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        if (ni_chosen(w, i).port->hca == hca)
            return true;
    }
    return false;
}
