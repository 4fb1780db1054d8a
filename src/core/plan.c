/* SPDX-License-Identifier: Apache-2.0 */
/* Look-ups in the plan. */
#include <string.h>

#include "nccl_init/inventory.h"
#include "nccl_init/plan.h"

const struct ni_setting *ni_plan_get(const struct ni_plan *plan, const char *name)
{
    for (unsigned i = 0; i < plan->n_setting; i++) {
        if (strcmp(plan->setting[i].name, name) == 0)
            return &plan->setting[i];
    }
    return NULL;
}

const struct ni_taken *ni_plan_taken(const struct ni_plan *plan, const struct ni_inventory *inv,
                                     unsigned gpu)
{
    return inv->gdr.c2c || plan->taken[gpu].hca < 0 ? NULL : &plan->taken[gpu];
}
