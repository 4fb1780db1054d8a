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

/* Compares by time: what stands in front of the first lines, else the order in the file. 0: they are
   in different files, and nothing says which came first. */
static int compare_known_times(const struct ni_log_rank *x, const struct ni_log_rank *y)
{
    const uint64_t since = x->process->since, other = y->process->since;

    if (since != 0 && other != 0 && since != other)
        return since < other ? -1 : 1;
    if (x->process->file == y->process->file)
        return (x > y) - (x < y);
    if (x->process->attempt == 0 || y->process->attempt == 0)
        return 0;
    return compare_numbers(x->process->attempt, y->process->attempt);
}

static int compare_times(const struct ni_log_rank *x, const struct ni_log_rank *y)
{
    const int r = compare_known_times(x, y);

    return r != 0 ? r : (x > y) - (x < y);
}

static int by_place(const void *a, const void *b)
{
    const struct ni_log_rank *x = *(struct ni_log_rank *const *)a;
    const struct ni_log_rank *y = *(struct ni_log_rank *const *)b;
    const int r = compare_places(x, y);

    return r != 0 ? r : compare_times(x, y);
}

/* Compares host, GPU and time. */
static int by_gpu(const void *a, const void *b)
{
    const struct ni_log_rank *x = *(struct ni_log_rank *const *)a;
    const struct ni_log_rank *y = *(struct ni_log_rank *const *)b;
    int r = compare_numbers(x->process->host, y->process->host);

    if (r == 0)
        r = compare_numbers(x->bus, y->bus);
    return r != 0 ? r : compare_times(x, y);
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
static bool is_over_before(const struct ni_log_rank *r, const struct ni_log_rank *next)
{
    const struct ni_log_rank *p = r->process, *q = next->process;

    if (p->file != q->file || p->until >= q->line)
        return false;
    return r->ended || r->aborted || p->warn.file != 0 || q->fault_before > p->line;
}

/* Returns true if `next` is the same rank of a later attempt. Processes that are alone in their job
   may also run side by side, on one GPU. */
static bool is_next_attempt(const struct ni_log_rank *r, const struct ni_log_rank *next)
{
    if (r->process == next->process || ni_log_is_same_rank(r, next) ||
        compare_known_times(r, next) == 0)
        return false;
    return r->size != 1 || r->process->name == next->process->name || is_over_before(r, next);
}

/* Notes the number of the only rank in each file: such a file is that rank's own log. */
static void note_only_ranks(struct ni_log *log)
{
    for (unsigned i = 0; i < log->n_rank; i++) {
        const struct ni_log_rank *r = &log->rank[i];
        uint32_t *only = &log->only_rank[r->process->file];

        if (r->rank < 0)
            continue;
        if (*only == 0 && r->rank < INT32_MAX)
            *only = (uint32_t)r->rank + 1;
        else if (*only != (uint32_t)r->rank + 1)
            *only = UINT32_MAX;
    }
}

/* Marks a rank, and its communicator, as those of an earlier attempt than `next`. */
static void mark_over(struct ni_log *log, struct ni_log_rank *r, struct ni_log_rank *next)
{
    r->earlier = true;
    next->later = true;
    if (r->size > 1 && (r->job != next->job || next->stale))
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

        if (r->rank >= 0 && same_place && is_next_attempt(r, next))
            mark_over(log, r, next);
        if (same_place && ni_log_is_same_rank(r, next) && is_over_before(r, next)) {
            next->stale = true;
            mark_over(log, r, next);
        }
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
        const uint32_t only = log->only_rank[r->process->file];
        const bool moved = r->rank >= 0 && r->rank == next->rank && r->size == next->size &&
                           r->job != next->job && r->process->file == next->process->file &&
                           only != UINT32_MAX && r->process->host != next->process->host &&
                           r->process->until < next->process->line &&
                           (r->size > 1 || is_over_before(r, next));

        if (moved)
            mark_over(log, r, next);
        chain = moved ? chain + 1 : 1;
        log->attempts = chain > log->attempts ? chain : log->attempts;
    }
}

/* Notes from when to when each communicator lived, where all lines of it have times. */
static void note_times(struct ni_log *log)
{
    for (unsigned i = 0; i < log->n_rank; i++) {
        const struct ni_log_rank *r = &log->rank[i], *p = r->process;
        uint64_t *since = &log->job_since[r->job], *till = &log->job_till[r->job];

        if (*since == 0 || p->since < *since)
            *since = p->since;
        if (p->since == 0)
            *till = UINT64_MAX; /* not known */
        else if (p->till > *till)
            *till = p->till;
    }
}

/* Returns true if the first communicator was over, by its times, when the second one began. */
static bool is_job_before(const struct ni_log *log, ni_log_text job, ni_log_text other)
{
    return log->job_till[job] != 0 && log->job_till[other] != UINT64_MAX &&
           log->job_till[job] < log->job_since[other];
}

/* Marks the ranks order[from] to order[end - 1], which have one number, that were over, by the times
   of all lines, when the last one of them began: pods that were made anew, in other files. */
static void mark_followed_of(struct ni_log *log, unsigned from, unsigned end)
{
    struct ni_log_rank *last = log->order[from];
    unsigned over = 0;

    for (unsigned i = from; i < end; i++)
        if (log->job_since[log->order[i]->job] > log->job_since[last->job])
            last = log->order[i];
    for (unsigned i = from; i < end; i++) {
        struct ni_log_rank *r = log->order[i];

        if (r->size != last->size || r->size < 2 || r->job == 0 ||
            !is_job_before(log, r->job, last->job))
            continue;
        mark_over(log, r, last);
        over++;
    }
    log->attempts = over + 1 > log->attempts ? over + 1 : log->attempts;
}

static void mark_followed(struct ni_log *log)
{
    unsigned end;

    note_times(log);
    for (unsigned from = 0; from < log->n_rank; from = end) {
        end = from + 1;
        while (end < log->n_rank && log->order[end]->rank == log->order[from]->rank)
            end++;
        if (log->order[from]->rank >= 0)
            mark_followed_of(log, from, end);
    }
}

/* Marks the communicators of which a rank failed and whose GPU then has a rank of another one: the
   launcher went on with more ranks, or fewer. */
static void mark_resized(struct ni_log *log)
{
    for (unsigned i = 0; i < log->n_rank; i++) {
        const struct ni_log_rank *r = &log->rank[i];

        if (r->size > 1 && (r->aborted || r->process->fell || r->process->warn.file != 0))
            log->job_failed[r->job] = true;
    }
    for (unsigned i = 0; i + 1 < log->n_rank; i++) {
        struct ni_log_rank *r = log->order[i];
        struct ni_log_rank *next = log->order[i + 1];
        const bool same_gpu =
            r->bus != 0 && r->bus == next->bus && r->process->host == next->process->host;

        if (!same_gpu || r->earlier || r->size < 2 || next->size < 2 || r->job == next->job ||
            r->job == 0 || next->job == 0 || !log->job_failed[r->job] ||
            r->process->file != next->process->file || r->process->until >= next->process->line)
            continue;
        mark_over(log, r, next);
        log->attempts = log->attempts < 2 ? 2 : log->attempts;
    }
}

/* Marks the other ranks of the communicators of earlier attempts. */
static void mark_jobs(struct ni_log *log)
{
    for (unsigned i = 0; i < log->n_rank; i++)
        if (log->rank[i].job != 0 && log->job_over[log->rank[i].job] && !log->rank[i].stale)
            log->rank[i].earlier = true;
}

/* Marks processes that warned and ended before NCCL gave them a number, if the last attempt has all
   its ranks, and one of them began after that in the same file. */
static void mark_nameless(struct ni_log *log)
{
    for (unsigned i = 0; i < log->n_rank; i++) {
        const struct ni_log_rank *r = &log->rank[i], *p = r->process;

        if (r->rank >= 0 && !r->earlier && p->line > log->now_last[p->file])
            log->now_last[p->file] = p->line;
    }
    for (unsigned i = 0; i < log->n_rank; i++) {
        struct ni_log_rank *r = &log->rank[i];

        if (r->rank >= 0 || r->process != r || r->next || r->host == 0 || r->warn.file == 0 ||
            log->now_last[r->file] <= r->until)
            continue;
        r->earlier = true;
        log->attempts = log->attempts < 2 ? 2 : log->attempts;
    }
}

/* Notes in which files an earlier attempt stands, and from which line on the last one. */
static void note_history(struct ni_log *log)
{
    log->old_in_order = true;
    for (unsigned i = 0; i < log->n_rank; i++) {
        const struct ni_log_rank *r = &log->rank[i], *p = r->process;
        uint32_t *from = &log->now_from[p->file];

        if (r->earlier)
            log->old_in[p->file] = true;
        if (r->earlier && !r->ended)
            log->old_in_order = false;
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

/* Returns true if all ranks of the communicator are GPUs of this process. */
static bool is_alone(const struct ni_log_rank *process)
{
    int ranks = 0, size = 0;

    for (const struct ni_log_rank *r = process; r; r = r->next) {
        size = r->size > size ? r->size : size;
        ranks += r->rank >= 0 && r->size > 0;
    }
    return size > 0 && ranks == size;
}

/* Returns how many processes there are, if there are several and each is alone in its job; else
   0. */
static unsigned count_alone(const struct ni_log *log)
{
    unsigned n = 0;

    for (unsigned i = 0; i < log->n; i++) {
        const struct ni_log_rank *r = log->order[i];

        if (r->process == r)
            n++;
        if (r->process == r && !is_alone(r))
            return 0;
    }
    return n > 1 ? n : 0;
}

/* Counts the communicators of one size that have the same rank: jobs, or attempts whose order is not
   known. */
static void count_jobs(struct ni_log *log)
{
    unsigned jobs = 1;

    for (unsigned i = 0; i + 1 < log->n; i++) {
        const struct ni_log_rank *r = log->order[i], *next = log->order[i + 1];
        const bool other = r->rank >= 0 && r->rank == next->rank && r->size > 1 &&
                           r->size == next->size && r->job != 0 && next->job != 0 &&
                           r->job != next->job && !r->several && !next->several;

        jobs = other ? jobs + 1 : 1;
        log->jobs = jobs > 1 && jobs > log->jobs ? jobs : log->jobs;
        log->at_once |=
            other && log->job_till[r->job] != UINT64_MAX && log->job_till[next->job] != UINT64_MAX;
    }
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
        mark_followed(log);
        qsort(log->order, log->n_rank, sizeof(void *), by_gpu);
        mark_resized(log);
        mark_jobs(log);
        qsort(log->order, log->n_rank, sizeof(void *), by_number);
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
        if (r->earlier)
            continue;
        r->nth = (int)log->n;
        log->order[log->n++] = r;
    }
    log->alone = count_alone(log);
    count_jobs(log);
}
