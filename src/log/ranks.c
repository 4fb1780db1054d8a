/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks in words. */
#include "log/ranks.h"

#include "log/state.h"
#include "nccl_init/text.h"
#include "print/words.h"

void ni_log_put_range(struct ni_text *t, int from, int last)
{
    if (from >= 0)
        ni_putf(t, "%s%d", t->len > 0 ? ", " : "", from);
    if (last > from)
        ni_putf(t, "%s%d", last > from + 1 ? "-" : ", ", last);
}

void ni_log_add_rank(uint64_t *set, int rank)
{
    if (rank >= 0 && rank < NI_LOG_RAISED)
        set[rank / 64] |= UINT64_C(1) << (rank % 64);
}

bool ni_log_has_rank(const uint64_t *set, int rank)
{
    return rank >= 0 && rank < NI_LOG_RAISED && (set[rank / 64] & UINT64_C(1) << (rank % 64)) != 0;
}

unsigned ni_log_put_set(struct ni_text *t, const uint64_t *set, int end, bool in)
{
    unsigned n = 0;
    int from = -1;

    for (int rank = 0; rank <= end; rank++) {
        const bool wanted = rank < end && ni_log_has_rank(set, rank) == in;

        n += wanted;
        if (wanted && from < 0)
            from = rank;
        if (!wanted && from >= 0) {
            ni_log_put_range(t, from, rank - 1);
            from = -1;
        }
    }
    return n;
}

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

/* Puts the numbers of the marked ranks, as ranges, into an empty text. Returns how many ranks have
   a number. */
static unsigned put_marked_ranges(struct ni_text *t, const struct ni_log *log, unsigned mark)
{
    unsigned numbered = 0;
    int from = -1, last = -1;

    for (unsigned i = 0; i < log->n && !t->cut; i++) {
        const struct ni_log_rank *r = log->order[i];

        if (r->mark != mark)
            continue;
        numbered += r->rank >= 0;
        if ((r->rank != last && r->rank != last + 1) || from < 0) {
            ni_log_put_range(t, from, last);
            from = r->rank;
        }
        last = r->rank;
    }
    ni_log_put_range(t, from, last);
    return numbered;
}

void ni_log_put_hosts(struct ni_text *t, const struct ni_log *log, unsigned mark)
{
    enum { HOSTS = 4 };
    ni_log_text host[HOSTS + 1]; /* the last one stands for all others */
    unsigned hosts = 0;

    for (unsigned i = 0; i < log->n && hosts <= HOSTS; i++) {
        const struct ni_log_rank *r = log->order[i];
        unsigned k = 0;

        if (r->mark != mark || r->process->host == 0)
            continue;
        while (k < hosts && host[k] != r->process->host)
            k++;
        if (k == hosts && k <= HOSTS)
            host[hosts++] = r->process->host;
    }
    for (unsigned k = 0; k < hosts; k++) {
        ni_put(t, k == 0 ? " (" : ", ");
        ni_quote(t, k == HOSTS ? "..." : ni_log_word(log, host[k]));
    }
    ni_put(t, hosts > 0 ? ")" : "");
}

void ni_log_put_ranks(struct ni_text *t, const struct ni_log *log, unsigned mark)
{
    struct ni_text list = NI_TEXT(160);
    const unsigned numbered = put_marked_ranges(&list, log, mark);
    unsigned n = 0;

    for (unsigned i = 0; i < log->n && list.len == 0; i++)
        n += log->order[i]->mark == mark;
    if (list.len > 0)
        ni_putf(t, "rank%s %s%s", ni_plural(numbered), list.buf, list.cut ? "..." : "");
    else if (n > 0)
        ni_putf(t, "%u process%s", n, n == 1 ? "" : "es");
    ni_log_put_hosts(t, log, mark);
}
