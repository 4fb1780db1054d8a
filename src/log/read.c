/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes become lines. A carriage return ends one too: bars of progress overwrite theirs. */
#include <stdlib.h>
#include <string.h>

#include "machine.h"

struct ni_log *ni_log_new(void)
{
    struct ni_log *log = calloc(1, sizeof(*log));

    if (log)
        log->machine = ni_machine_new();
    if (log && !log->machine) {
        free(log);
        return NULL;
    }
    return log;
}

void ni_log_free(struct ni_log *log)
{
    if (log)
        free(log->machine);
    free(log);
}

/* Takes ESC [ ... letter out (ECMA-48, 5.4), in place. Returns the new end. */
static char *strip_colours(char *p, char *end)
{
    char *to = memchr(p, '\033', (size_t)(end - p));

    if (!to)
        return end;
    for (p = to; p < end; p++) {
        if (*p != '\033' || end - p < 2 || p[1] != '[') {
            *to++ = *p;
            continue;
        }
        for (p += 2; p < end && (*p < '@' || *p > '~'); p++)
            ;
    }
    return to;
}

static void take_lines(struct ni_log *log, char *p, char *end)
{
    while (p < end) {
        char *cr = memchr(p, '\r', (size_t)(end - p));
        char *stop = cr ? cr : end;

        if (stop > p)
            ni_log_line(log, p, strip_colours(p, stop));
        p = stop + 1;
    }
}

char *ni_log_room(struct ni_log *log, size_t *room)
{
    *room = sizeof(log->buf) - log->len;
    return log->buf + log->len;
}

void ni_log_got(struct ni_log *log, const char *file, size_t n)
{
    char *p = log->buf, *end = log->buf + log->len + n, *newline;

    log->file = ni_log_keep(log, ni_span_of(file));
    log->bytes += n;
    while ((newline = memchr(p, '\n', (size_t)(end - p)))) {
        log->line++;
        take_lines(log, p, newline);
        p = newline + 1;
    }
    log->len = (size_t)(end - p);
    /* At the end, and where one line fills all of it, what there is is taken for a line. */
    if (n == 0 || log->len == sizeof(log->buf)) {
        log->line++;
        take_lines(log, p, end);
        log->line -= n != 0;
        log->len = 0;
    }
    memmove(log->buf, p, log->len);
    if (n == 0)
        log->line = 0;
}

/* ---- texts that are kept once ---- */

static uint32_t hash(const char *p, size_t n)
{
    uint32_t h = 2166136261U; /* FNV-1a */

    while (n-- > 0)
        h = (h ^ (unsigned char)*p++) * 16777619U;
    return h;
}

ni_kept ni_log_keep(struct ni_log *log, struct ni_span s)
{
    enum { MASK = 2 * NI_LOG_WORDS - 1 };
    uint32_t i;

    s.n = strnlen(s.p, s.n);
    i = hash(s.p, s.n) & MASK;
    for (; log->word_at[i] != 0; i = (i + 1) & MASK)
        if (ni_span_is(s, ni_log_word(log, log->word_at[i])))
            return log->word_at[i];
    if (s.n == 0 || log->n_word + 1 >= NI_LOG_WORDS || s.n >= NI_LOG_BYTES - log->text_len) {
        log->dropped += s.n > 0;
        return 0;
    }
    log->word[++log->n_word] = log->text_len;
    memcpy(log->text + log->text_len, s.p, s.n);
    log->text_len += (uint32_t)s.n + 1;
    return log->word_at[i] = (ni_kept)log->n_word;
}

const char *ni_log_word(const struct ni_log *log, ni_kept w)
{
    return w == 0 ? "" : log->text + log->word[w];
}
