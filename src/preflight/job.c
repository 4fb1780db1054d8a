/* SPDX-License-Identifier: Apache-2.0 */
/* Words for the pods of a job. */
#include "preflight/job.h"
#include "print/words.h"

#include <string.h>

#include "cli/say.h"
#include "findings/job.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/text.h"

const struct ni_outcome_form ni_outcome_forms[] = {
    [NI_JOB_BAD] = {'b', "bad", NI_EXIT_FAILED},
    [NI_JOB_UNTESTED] = {'n', "not tested", 0},
    [NI_JOB_GOOD] = {'g', "good", 0},
    [NI_JOB_LATE] = {'l', NULL, NI_EXIT_FAILED},
};

enum ni_outcome ni_outcome_of_byte(char byte)
{
    for (unsigned i = 0; i < NI_COUNT(ni_outcome_forms); i++) {
        if (ni_outcome_forms[i].byte == byte)
            return (enum ni_outcome)i;
    }
    return NI_JOB_UNTOLD;
}

enum ni_outcome ni_outcome_of_word(const char *text)
{
    for (unsigned i = 0; i < NI_JOB_OUTCOMES; i++) {
        if (ni_has_prefix(text, ni_outcome_forms[i].word))
            return (enum ni_outcome)i;
    }
    return NI_JOB_UNTOLD;
}

struct ni_rail_tally *ni_tally_of(const struct ni_job *job, unsigned rank, unsigned rail)
{
    return &job->tally[(size_t)rank * job->n_rail + rail];
}

bool ni_has_rail(const struct ni_job *job, unsigned rank, unsigned rail)
{
    const struct ni_pod *pod = &job->pod[rank];

    return pod->here && rail < pod->n_rail && !pod->rail[rail].gap;
}

void ni_put_pod(struct ni_text *to, const struct ni_job *job, unsigned rank)
{
    const struct ni_pod *pod = &job->pod[rank];

    if (!pod->here || !pod->host[0]) {
        ni_putf(to, "rank %u", rank);
        return;
    }
    ni_quote(to, pod->host);
    if (pod->node[0] && strcmp(pod->node, pod->host) != 0) {
        ni_put(to, " (");
        ni_quote(to, pod->node);
        ni_put(to, ")");
    }
}

void ni_put_numbers(struct ni_text *to, const char *one, const uint8_t *is, unsigned n,
                    uint8_t value)
{
    enum { MOST = 12 }; /* runs that a message has room for */
    unsigned runs = 0, total = 0;

    for (unsigned i = 0; i < n; i++)
        total += is[i] == value;
    ni_putf(to, "%s%s ", one, ni_plural(total));
    for (unsigned i = 0, last; i < n; i = last + 1) {
        last = i;
        if (is[i] != value)
            continue;
        while (last + 1 < n && is[last + 1] == value)
            last++;
        if (runs == MOST) {
            ni_put(to, ", ...");
            return;
        }
        ni_putf(to, "%s%u", runs > 0 ? ", " : "", i);
        runs++;
        if (last > i)
            ni_putf(to, "-%u", last);
    }
}
