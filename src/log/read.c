/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes become lines, and texts are kept once. */
#include <string.h>

#include "log/log.h"
#include "nccl_init/index.h"

/* A line, in place: ESC [ ... letter goes out (ECMA-48, 5.4). One in JSON, as Docker keeps it, ends at
   its \n and has \u003c for '<'. Returns the new end. */
static char *clean(char *p, char *end)
{
    char *to = p, *stop = memmem(p, (size_t)(end - p), "\\n\"", 3);
    const bool json = stop || memmem(p, (size_t)(end - p), "\\u003", 5);
    end = stop ? stop : end;
    if (!json && !memchr(p, '\033', (size_t)(end - p)))
        return end;
    for (; p < end; p++) {
        if (json && end - p > 5 && memcmp(p, "\\u00", 4) == 0) {
            p += 5;
            *p = (char)(ni_hex_digit(p[-1]) * 16 + ni_hex_digit(*p));
        }
        if (*p == '\033' && end - p > 1 && p[1] == '[') {
            for (p += 2; p < end && (*p < '@' || *p > '~'); p++)
                ;
        } else {
            *to++ = *p;
        }
    }
    return to;
}

/* A carriage return, of a bar of progress, ends a record too; that of DOS belongs to the newline. */
static void take_line(struct ni_log *log, char *p, char *end, bool cut)
{
    char *stop;
    log->line++;
    if (end > p && end[-1] == '\r')
        end--;
    for (; (stop = memchr(p, '\r', (size_t)(end - p))); p = stop + 1)
        ni_log_line(log, p, clean(p, stop), false);
    ni_log_line(log, p, clean(p, end), cut);
}

char *ni_log_room(struct ni_log *log, size_t *room)
{
    *room = sizeof(log->buf) - log->len;
    return log->buf + log->len;
}

void ni_log_got(struct ni_log *log, const char *file, size_t n)
{
    char *p = log->buf, *got = log->buf + log->len, *end = got + n;

    log->file = ni_log_keep(log, ni_span_of(file));
    /* A pipe may give a line byte by byte: no newline is in what was there before. */
    for (;;) {
        char *newline = memchr(got, '\n', (size_t)(end - got));

        if (!newline)
            break;
        take_line(log, p, newline, false);
        p = newline + 1;
        got = p;
    }
    log->len = (size_t)(end - p);
    /* At the end, and where one line fills all of it, what there is is taken for a line. */
    if (log->len > 0 && (n == 0 || log->len == sizeof(log->buf))) {
        take_line(log, p, end, true);
        log->line -= n != 0;
        log->len = 0;
    }
    memmove(log->buf, p, log->len);
    if (n == 0)
        log->line = 0;
}

static struct ni_span text_of(const void *entries, uint32_t number)
{
    return ni_span_of(ni_log_word(entries, (ni_kept)number));
}

ni_kept ni_log_keep(struct ni_log *log, struct ni_span s)
{
    struct ni_index index = {log->word_at, NI_COUNT(log->word_at), 0};
    uint32_t *place;

    if (log->seed == 0)
        log->seed = ni_seed();
    index.seed = log->seed;
    s.n = strnlen(s.p, s.n);
    place = ni_index_find(&index, s, text_of, log);
    if (*place != 0)
        return (ni_kept)*place;
    if (s.n == 0 || log->n_word + 1 >= NI_LOG_WORDS || s.n >= NI_LOG_BYTES - log->text_len) {
        log->dropped += s.n > 0;
        return 0;
    }
    log->word[++log->n_word] = log->text_len;
    memcpy(log->text + log->text_len, s.p, s.n);
    log->text_len += (uint32_t)s.n + 1;
    *place = log->n_word;
    return (ni_kept)log->n_word;
}

const char *ni_log_word(const struct ni_log *log, ni_kept w)
{
    return w == 0 ? "" : log->text + log->word[w];
}
