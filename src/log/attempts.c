/* SPDX-License-Identifier: Apache-2.0 */
/* Attempts: a launcher that starts a job again writes into the same log. What an earlier attempt
   said is history, not the verdict. */
#include "log/attempts.h"

#include <stdlib.h>

#include "log/stage.h"
#include "log/state.h"

static int compare_numbers(int64_t x, int64_t y)
{
    return (x > y) - (x < y);
}

/* Compares rank, GPU and host. */
static int compare_places(const struct ni_log_rank *x, const struct ni_log_rank *y)
{
    int r = compare_numbers(x->rank, y->rank);

    if (r == 0)
        r = compare_numbers(x->size, y->size);
    if (r == 0)
        r = compare_numbers(x->bus, y->bus);
    if (r == 0)
        r = compare_numbers(x->dev, y->dev);
    if (r == 0)
        r = compare_numbers(x->process->host, y->process->host);
    return r;
}

static int by_place(const void *a, const void *b)
{
    const struct ni_log_rank *x = *(struct ni_log_rank *const *)a;
    const struct ni_log_rank *y = *(struct ni_log_rank *const *)b;
    const int r = compare_places(x, y);

    return r != 0 ? r : (x > y) - (x < y);
}

static int by_number(const void *a, const void *b)
{
    const struct ni_log_rank *x = *(struct ni_log_rank *const *)a;
    const struct ni_log_rank *y = *(struct ni_log_rank *const *)b;
    const int r = compare_numbers(x->rank, y->rank);

    return r != 0 ? r : (x > y) - (x < y);
}

bool ni_log_is_same_rank(const struct ni_log_rank *r, const struct ni_log_rank *other)
{
    return r->rank >= 0 && r->rank == other->rank && r->job != 0 && r->job == other->job &&
           r->process->name != other->process->name;
}

/* Returns true if ranks of the job have no line in the log. */
static bool lacks_ranks(const struct ni_log *log)
{
    int size = 0, known = 0;

    for (unsigned i = 0; i < log->n_rank; i++) {
        const struct ni_log_rank *r = log->order[i];

        size = r->size > size && !r->earlier ? r->size : size;
        known += r->rank >= 0 && !r->earlier;
    }
    return known < size;
}

/* ---- which process came after which ---- */

/* Returns true if the first process had failed or ended when the second one wrote its first line
   into the same file. */
static bool is_over_before(const struct ni_log *log, const struct ni_log_rank *r,
                           const struct ni_log_rank *next)
{
    const struct ni_log_rank *p = r->process, *q = next->process;

    if (p->file != q->file || p->until >= q->line)
        return false;
    if (r->ended || r->aborted || p->warn.file != 0)
        return true;
    for (unsigned i = 0; i < log->n_note; i++) {
        const struct ni_log_note *note = &log->note[i];

        if ((note->said == NI_SAID_EXCEPTION || note->said == NI_SAID_END) &&
            note->quote.file == p->file && note->quote.line > p->line && note->quote.line < q->line)
            return true;
    }
    return false;
}

/* Returns true if `next` is the same rank of a later attempt. Processes that are alone in their job
   may also run side by side, on one GPU. */
static bool is_next_attempt(const struct ni_log *log, const struct ni_log_rank *r,
                            const struct ni_log_rank *next)
{
    if (r->process == next->process || ni_log_is_same_rank(r, next))
        return false;
    return r->size != 1 || r->process->name == next->process->name || is_over_before(log, r, next);
}

/* Notes the number of the only rank in each file: such a file is that rank's own log. */
static void note_only_ranks(struct ni_log *log)
{
    for (unsigned i = 0; i < log->n_rank; i++) {
        const struct ni_log_rank *r = &log->rank[i];
        uint16_t *only = &log->only_rank[r->process->file];

        if (r->rank < 0)
            continue;
        if (*only == 0 && r->rank < UINT16_MAX - 1)
            *only = (uint16_t)(r->rank + 1);
        else if (*only != r->rank + 1)
            *only = UINT16_MAX;
    }
}

/* Marks a rank, and its communicator, as those of an earlier attempt than `next`. */
static void mark_over(struct ni_log *log, struct ni_log_rank *r, struct ni_log_rank *next)
{
    r->earlier = true;
    next->later = true;
    if (r->size > 1 && r->job != next->job)
        log->job_over[r->job] = true;
}

/* Marks what is earlier: a later process has the same place. Pods that are made anew have new names:
   then the rank's own log shows it. */
static void mark_earlier(struct ni_log *log)
{
    unsigned chain = 1;

    log->attempts = 1;
    note_only_ranks(log);
    for (unsigned i = 0; i + 1 < log->n_rank; i++) {
        struct ni_log_rank *r = log->order[i];
        struct ni_log_rank *next = log->order[i + 1];
        const bool same_place = compare_places(r, next) == 0;

        if (r->rank >= 0 && same_place && is_next_attempt(log, r, next))
            mark_over(log, r, next);
        chain = r->earlier && same_place ? chain + 1 : 1;
        log->attempts = chain > log->attempts ? chain : log->attempts;
    }
}

/* Marks a rank whose own log goes on with the same rank of another job, under another host. */
static void mark_moved(struct ni_log *log)
{
    unsigned chain = 1;

    for (unsigned i = 0; i + 1 < log->n_rank; i++) {
        struct ni_log_rank *r = log->order[i];
        struct ni_log_rank *next = log->order[i + 1];
        const uint16_t only = log->only_rank[r->process->file];
        const bool moved = r->rank >= 0 && r->rank == next->rank && r->size == next->size &&
                           r->job != next->job && r->process->file == next->process->file &&
                           only != UINT16_MAX && r->process->host != next->process->host &&
                           r->process->until < next->process->line &&
                           (r->size > 1 || is_over_before(log, r, next));

        if (moved)
            mark_over(log, r, next);
        chain = moved ? chain + 1 : 1;
        log->attempts = chain > log->attempts ? chain : log->attempts;
    }
}

/* Marks the other ranks of the communicators of earlier attempts. */
static void mark_jobs(struct ni_log *log)
{
    for (unsigned i = 0; i < log->n_rank; i++)
        if (log->rank[i].job != 0 && log->job_over[log->rank[i].job])
            log->rank[i].earlier = true;
}

/* Marks processes that warned and ended before NCCL gave them a number, if the last attempt has all
   its ranks, and one of them began after that in the same file. */
static void mark_nameless(struct ni_log *log)
{
    for (unsigned i = 0; i < log->n_rank; i++) {
        struct ni_log_rank *r = &log->rank[i];

        if (r->rank >= 0 || r->process != r || r->next || r->host == 0 || r->warn.file == 0)
            continue;
        for (unsigned k = 0; k < log->n_rank && !r->earlier; k++) {
            const struct ni_log_rank *later = &log->rank[k];

            r->earlier = later->rank >= 0 && !later->earlier && later->process->host == r->host &&
                         later->process->file == r->file && later->process->line > r->until;
        }
        if (r->earlier && log->attempts < 2)
            log->attempts = 2;
    }
}

/* Notes in which files an earlier attempt stands, and from which line on the last one. */
static void note_history(struct ni_log *log)
{
    for (unsigned i = 0; i < log->n_rank; i++) {
        const struct ni_log_rank *r = &log->rank[i], *p = r->process;
        uint32_t *from = &log->now_from[p->file];

        if (r->earlier)
            log->old_in[p->file] = true;
        else if (r->rank >= 0 && (*from == 0 || p->line < *from))
            *from = p->line;
    }
}

bool ni_log_is_history(const struct ni_log *log, ni_log_text file, uint32_t line)
{
    return log->old_in[file] && (log->now_from[file] == 0 || line < log->now_from[file]);
}

bool ni_log_is_nobodys(const struct ni_log *log, const struct ni_log_hit *h)
{
    return h->nobodys_file != 0 && !ni_log_is_history(log, h->nobodys_file, h->nobodys_line);
}

/* ---- all ---- */

/* Returns true if the log has several processes, and each is alone in its job. */
static bool are_alone(const struct ni_log *log)
{
    for (unsigned i = 0; i < log->n; i++)
        if (log->order[i]->size != 1 || log->order[i]->process != log->order[i]->process->process)
            return false;
    return log->n > 1 && log->order[0]->process != log->order[log->n - 1]->process;
}

/* A process that warned or stopped before NCCL gave it a number counts if a rank is missing: it may
   be that one. */
void ni_log_sort_ranks(struct ni_log *log)
{
    for (unsigned i = 0; i < log->n_rank; i++)
        log->order[i] = &log->rank[i];
    qsort(log->order, log->n_rank, sizeof(void *), by_place);
    /* false if only warnings were printed: then no line names a rank */
    const bool named = log->n_rank > 0 && log->order[log->n_rank - 1]->rank >= 0;
    if (named)
        mark_earlier(log);
    qsort(log->order, log->n_rank, sizeof(void *), by_number);
    if (named) {
        mark_moved(log);
        mark_jobs(log);
    }
    const bool lacks = lacks_ranks(log);
    if (named && !lacks)
        mark_nameless(log);
    note_history(log);
    for (unsigned i = 0; i < log->n_rank; i++) {
        struct ni_log_rank *r = log->order[i];
        const bool failed =
            r->process == r && r->host != 0 && (r->warn.file != 0 || ni_log_is_stopped(r));

        if (named ? r->rank < 0 && !(lacks && failed) : r->host == 0)
            continue;
        if (!r->earlier)
            log->order[log->n++] = r;
    }
    log->alone = are_alone(log);
}
