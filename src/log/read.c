/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes become lines, and texts are kept once. */
#include <string.h>
#include <sys/auxv.h>

#include "nccl_init/log.h"

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

/* The place of a text in the table depends on random bytes of the kernel's: who writes a log cannot make
   names that all have one place. The JSON reader uses the first eight of the sixteen. */
static size_t hash(struct ni_log *log, struct ni_span s)
{
    uint64_t h = log->seed;

    if (h == 0) {
        const char *random = (const char *)getauxval(AT_RANDOM);

        if (random)
            memcpy(&h, random + sizeof(h), sizeof(h));
        h |= 1;
        log->seed = h;
    }
    for (size_t k = 0; k < s.n; k++) {
        h = (h ^ (unsigned char)s.p[k]) * UINT64_C(0x9e3779b97f4a7c15);
        h ^= h >> 32; /* what a byte changes above comes down to the next one */
    }
    return (size_t)h;
}

ni_kept ni_log_keep(struct ni_log *log, struct ni_span s)
{
    size_t i;

    s.n = strnlen(s.p, s.n);
    i = hash(log, s);
    for (i %= NI_COUNT(log->word_at); log->word_at[i] != 0; i = (i + 1) % NI_COUNT(log->word_at))
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
