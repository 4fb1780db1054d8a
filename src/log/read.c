/* SPDX-License-Identifier: Apache-2.0 */
/* Reading: bytes of a log become lines. */
#include "log/read.h"

#include <string.h>

#include "log/state.h"
#include "log/take.h"
#include "nccl_init/number.h"
#include "nccl_init/text.h"

/* Cleans a line in place: removes ESC [ ... letter (ECMA-48, 5.4). A line in JSON, as Docker keeps
   it, ends at its \n and has \u003c for '<'. Returns the new end. */
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

/* Takes a line. A carriage return, as of a progress bar, ends a record, too; the one of DOS belongs
   to the newline. */
static void take_line(struct ni_log *log, char *p, char *end, enum ni_log_cut cut)
{
    char *stop;

    log->line++;
    if (end > p && end[-1] == '\r')
        end--;
    stop = memchr(p, '\r', (size_t)(end - p));
    while (stop) {
        ni_log_take_line(log, p, clean(p, stop), NI_LOG_WHOLE);
        p = stop + 1;
        stop = memchr(p, '\r', (size_t)(end - p));
    }
    ni_log_take_line(log, p, clean(p, end), cut);
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
    /* a pipe may give a line byte by byte, so a newline is searched in the new bytes only */
    for (;;) {
        char *newline = memchr(got, '\n', (size_t)(end - got));

        if (!newline)
            break;
        take_line(log, p, newline, NI_LOG_WHOLE);
        p = newline + 1;
        got = p;
    }
    log->len = (size_t)(end - p);
    /* at the end of the file, and if one line fills the buffer, the bytes count as a line */
    if (log->len > 0 && (n == 0 || log->len == sizeof(log->buf))) {
        take_line(log, p, end, NI_LOG_CUT);
        log->line -= n != 0;
        log->len = 0;
    }
    memmove(log->buf, p, log->len);
    if (n > 0)
        return;
    log->lines += log->line;
    log->line = 0;
}
