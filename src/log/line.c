/* SPDX-License-Identifier: Apache-2.0 */
/* A line of a log, as a value. */
#include "log/line.h"

#include <string.h>

#include "log/patterns.h"
#include "log/state.h"
#include "nccl_init/number.h"
#include "nccl_init/text.h"

/* ---- words ---- */

int ni_log_number(struct ni_span s)
{
    uint64_t v = 0;

    return ni_parse_u64(s, INT32_MAX, &v) < 0 ? -1 : (int)v;
}

bool ni_log_has(struct ni_span s, const char *what)
{
    return memmem(s.p, s.n, what, strlen(what)) != NULL;
}

struct ni_span ni_log_between(struct ni_span s, const char *mark, char stop)
{
    const char *at = memmem(s.p, s.n, mark, strlen(mark)), *end = s.p + s.n;
    const char *from = at ? at + strlen(mark) : end;
    const char *to = memchr(from, stop, (size_t)(end - from));

    return (struct ni_span){from, to ? (size_t)(to - from) : 0};
}

struct ni_span ni_log_after(struct ni_span s, const char *mark)
{
    const char *at = memmem(s.p, s.n, mark, strlen(mark)), *end = s.p + s.n;
    struct ni_span word = {at ? at + strlen(mark) : end, 0};

    while (word.p + word.n < end && !strchr(" ,';<", word.p[word.n]))
        word.n++;
    return word;
}

/* ---- a line ---- */

uint64_t ni_log_time(const struct ni_log_line *l)
{
    static const char form[] = "0000-00-00T00:00:00";
    const size_t n = sizeof(form) - 1;
    const char *limit = l->by ? l->message : l->end;
    const char *stop = limit - l->p > 64 ? l->p + 64 : limit;

    for (const char *p = l->p; stop - p > (ptrdiff_t)n; p++) {
        uint64_t time = 0;
        size_t i = 0;

        for (; i < n; i++) {
            const bool blank = form[i] == 'T' && p[i] == ' ';

            if (form[i] == '0' ? !ni_is_digit(p[i]) : p[i] != form[i] && !blank)
                break;
            if (form[i] == '0')
                time = 10 * time + (uint64_t)(p[i] - '0');
        }
        if (i == n)
            return time;
    }
    return 0;
}

/* Returns "host:pid" of host:pid:tid, without a launcher's prefix that has no blank; or empty. The
   host is that of gethostname up to its first dot (misc/utils.cc getHostName). */
static struct ni_span origin(const char *p, const char *end)
{
    const char *tid = memrchr(p, ':', (size_t)(end - p));
    const char *pid = tid ? memrchr(p, ':', (size_t)(tid - p)) : NULL, *host = pid;

    if (!pid || ni_log_number((struct ni_span){pid + 1, (size_t)(tid - pid) - 1}) < 0 ||
        ni_log_number((struct ni_span){tid + 1, (size_t)(end - tid) - 1}) < 0)
        return (struct ni_span){p, 0};
    while (host > p && ni_is_name((struct ni_span){host - 1, 1}, 3))
        host--;
    return (struct ni_span){host, host < pid ? (size_t)(tid - host) : 0};
}

/* The words before the level, from the last: file:line, (function), [dev], host:pid:tid; a time and a
   launcher's prefix are skipped. */
void ni_log_read_header(struct ni_log_line *l, const char *at)
{
    const char *end = at, *from;

    l->info = at[5] == 'I';
    l->warn = at[5] == 'W';
    l->message = at + 5; /* the level */
    while (l->message < l->end && *l->message != ' ')
        l->message++;
    l->name = (struct ni_span){at, 0};
    for (int i = 0; i < 8 && end > l->p && l->name.n == 0; i++, end = from) {
        while (end > l->p && end[-1] == ' ')
            end--;
        for (from = end; from > l->p && from[-1] != ' ';)
            from--;
        const struct ni_span word = {from, (size_t)(end - from)};

        if (word.n > 2 && *from == '[' && end[-1] == ']' && l->dev < 0)
            l->dev = ni_log_number((struct ni_span){from + 1, word.n - 2});
        if (l->warn && ni_log_has(word, ".cc:"))
            l->source = word;
        l->name = origin(from, end);
    }
}

void ni_log_read_line(struct ni_log_line *l, struct ni_log *log, const char *p, const char *end,
                      enum ni_log_cut cut)
{
    /* Ray adds a count to a line; it is not a part of it. */
    const char *ray = memmem(p, (size_t)(end - p), " [repeated ", 11);
    const char *stop = ray ? ray : end;
    unsigned headers = 0;

    l->log = log;
    l->p = p;
    l->end = end;
    l->cut = cut == NI_LOG_CUT;
    l->faults = 0;
    l->own = 0;
    l->error = NULL;
    l->alone = NULL;
    l->mild = false;
    l->message = p;
    l->name = (struct ni_span){p, 0};
    l->source = (struct ni_span){p, 0};
    l->dev = -1;
    l->info = false;
    l->warn = false;
    l->by = NULL;
    l->n_found = ni_patterns_find(p, stop, l->found, NI_LOG_FOUND);
    l->n_found += ni_patterns_find(stop, end, l->found + l->n_found, NI_LOG_FOUND - l->n_found);
    for (unsigned i = 0; i < l->n_found; i++) {
        const struct ni_pattern *row = l->found[i].row;

        headers += row->take == NI_TAKE_HEADER;
        l->mild |= row->take == NI_TAKE_MILD;
        if ((row->flags & ALONE) != 0 && row->take == NI_TAKE_FAULT)
            l->alone = row;
        if (row->take == NI_TAKE_FAULT) {
            l->faults++;
            l->own += (row->flags & GENERAL) == 0;
        }
        if (row->take == NI_TAKE_ERROR && !l->error)
            l->error = &l->found[i];
    }
    l->is_nccl = headers > 0;
    l->whole = headers < 2;
}

struct ni_log_mark ni_log_mark_of(const struct ni_log_line *l)
{
    return (struct ni_log_mark){
        .file = l->log->file, .line = (uint32_t)l->log->line, .time = ni_log_time(l)};
}

struct ni_span ni_log_message(const struct ni_log_line *l)
{
    return ni_trim((struct ni_span){l->message, (size_t)(l->end - l->message)});
}
