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
#include "preflight/hosts.h"

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

/* Puts the name of a pod that is not there, as far as it is known; nothing if it is not. */
static void put_known_name(struct ni_text *to, const struct ni_job *job, unsigned rank)
{
    if (job->pod[rank].host[0])
        ni_put(to, job->pod[rank].host);
    else if (job->hosts)
        ni_put_host_of(to, job->hosts, rank);
}

static bool has_known_name(const struct ni_job *job, unsigned rank)
{
    struct ni_text name = NI_TEXT(NI_POD_NAME);

    put_known_name(&name, job, rank);
    return name.len > 0;
}

/* Puts the numbers whose entry is `value`, of n. job: they are ranks, which stand with their names if they
   are few; NULL: they have none. */
static void put_numbers(struct ni_text *to, const char *one, const uint8_t *is, unsigned n,
                        uint8_t value, const struct ni_job *job)
{
    enum { MOST = 12, NAMED = 4 }; /* runs, and names, that a message has room for */
    unsigned runs = 0, total = 0;

    for (unsigned i = 0; i < n; i++)
        total += is[i] == value;
    const bool few = job && total <= NAMED;

    ni_putf(to, "%s%s ", one, ni_plural(total));
    for (unsigned i = 0, last; i < n; i = last + 1) {
        struct ni_text name = NI_TEXT(NI_POD_NAME);

        last = i;
        if (is[i] != value)
            continue;
        if (few)
            put_known_name(&name, job, i);
        while (name.len == 0 && last + 1 < n && is[last + 1] == value &&
               !(few && has_known_name(job, last + 1)))
            last++;
        if (runs == MOST) {
            ni_put(to, ", ...");
            return;
        }
        ni_putf(to, "%s%u", runs > 0 ? ", " : "", i);
        runs++;
        if (last > i)
            ni_putf(to, "-%u", last);
        if (name.len == 0)
            continue;
        ni_put(to, " (");
        ni_quote(to, name.buf);
        ni_put(to, ")");
    }
}

void ni_put_numbers(struct ni_text *to, const char *one, const uint8_t *is, unsigned n,
                    uint8_t value)
{
    put_numbers(to, one, is, n, value, NULL);
}

void ni_put_missing(struct ni_text *to, const struct ni_job *job, enum ni_missing how)
{
    put_numbers(to, "rank", job->missing, job->ranks, (uint8_t)how, job);
}
