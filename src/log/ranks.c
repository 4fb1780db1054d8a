/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks in words. */
#include "log/ranks.h"

#include "log/set.h"
#include "log/state.h"
#include "nccl_init/text.h"
#include "print/words.h"

void ni_log_put_missing(struct ni_text *t, const struct ni_log *log)
{
    const int size = log->n > 0 ? log->order[log->n - 1]->size : 0;
    int next = 0;

    for (unsigned i = 0; i <= log->n; i++) {
        const int rank = i < log->n ? log->order[i]->rank : size;

        if (rank > next)
            ni_log_put_range(t, next, rank - 1);
        next = rank >= next ? rank + 1 : next;
    }
}

/* Puts the numbers of the ranks, as ranges, into an empty text. Returns how many ranks have a
   number. */
static unsigned put_ranges(struct ni_text *t, const struct ni_log *log,
                           const struct ni_log_set *ranks)
{
    unsigned numbered = 0;
    int from = -1, last = -1;

    for (int i = 0; i < ranks->end && !t->cut; i++) {
        const int rank = log->order[i]->rank;

        if (!ni_log_set_has(ranks, i))
            continue;
        numbered += rank >= 0;
        if ((rank != last && rank != last + 1) || from < 0) {
            ni_log_put_range(t, from, last);
            from = rank;
        }
        last = rank;
    }
    ni_log_put_range(t, from, last);
    return numbered;
}

void ni_log_put_hosts(struct ni_text *t, const struct ni_log *log, const struct ni_log_set *ranks)
{
    enum { HOSTS = 4 };
    ni_log_text host[HOSTS + 1]; /* the last one stands for all others */
    unsigned hosts = 0;

    for (int i = 0; i < ranks->end && hosts <= HOSTS; i++) {
        const ni_log_text its = log->order[i]->process->host;
        unsigned k = 0;

        if (!ni_log_set_has(ranks, i) || its == 0)
            continue;
        while (k < hosts && host[k] != its)
            k++;
        if (k == hosts && k <= HOSTS)
            host[hosts++] = its;
    }
    for (unsigned k = 0; k < hosts; k++) {
        ni_put(t, k == 0 ? " (" : ", ");
        ni_quote(t, k == HOSTS ? "..." : ni_log_word(log, host[k]));
    }
    ni_put(t, hosts > 0 ? ")" : "");
}

void ni_log_put_ranks(struct ni_text *t, const struct ni_log *log, const struct ni_log_set *ranks)
{
    struct ni_text list = NI_TEXT(160);
    const unsigned numbered = put_ranges(&list, log, ranks);

    if (list.len > 0)
        ni_putf(t, "rank%s %s%s", ni_plural(numbered), list.buf, list.cut ? "..." : "");
    else if (ranks->n > 0)
        ni_putf(t, "%u process%s", ranks->n, ranks->n == 1 ? "" : "es");
    ni_log_put_hosts(t, log, ranks);
}
