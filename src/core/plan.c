/* SPDX-License-Identifier: Apache-2.0 */
/* Looking things up in a plan. */
#include <string.h>

#include "nccl_init/plan.h"

const struct ni_setting *ni_plan_get(const struct ni_plan *plan, const char *name)
{
    for (unsigned i = 0; i < plan->n_setting; i++) {
        if (strcmp(plan->setting[i].name, name) == 0)
            return &plan->setting[i];
    }
    return NULL;
}

const char *ni_distance_text(enum ni_distance d)
{
    static const char *const text[] = {"-", "PIX", "PXB", "PHB", "SYS"};
    return text[d];
}
