/* SPDX-License-Identifier: Apache-2.0 */
/* What is not written yet. */
#include <string.h>

#include "nccl_init/decide.h"
#include "nccl_init/job.h"

void ni_describe_pod(const struct ni_facts *facts, const struct ni_plan *plan, struct ni_pod *ret,
                     struct ni_rail *rail, struct ni_pod_setting *setting)
{
    (void)facts;
    (void)plan;
    ret->rail = rail;
    ret->setting = setting;
    ret->n_rail = ret->n_setting = 0;
}

void ni_compare_pods(const struct ni_job *job, const struct ni_policy *policy,
                     struct ni_findings *f)
{
    (void)job;
    (void)policy;
    (void)f;
}

unsigned ni_next_round(const struct ni_job *job, struct ni_pair *ret, unsigned cap)
{
    unsigned n = 0;
    for (unsigned r = 0; job->rounds == 0 && r < job->n_rail; r++) {
        for (unsigned p = 0; job->ranks > 1 && p < job->ranks && n < cap; p++)
            ret[n++] = (struct ni_pair){p, (p + 1) % job->ranks, r};
    }
    return n;
}

void ni_judge_rails(const struct ni_job *job, const struct ni_policy *policy, uint8_t *ret,
                    struct ni_findings *f)
{
    (void)policy;
    (void)f;
    memset(ret, NI_RAIL_UNTRIED, (size_t)job->ranks * job->n_rail);
}
