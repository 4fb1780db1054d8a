/* SPDX-License-Identifier: Apache-2.0 */
/* facts: bytes that come in pieces, handed on as lines. */
#include <errno.h>
#include <string.h>

#include "door.h"

/* What is beyond the buffer is dropped: the line comes cut. */
static void append(struct ni_liner *l, const char *s, size_t n)
{
    size_t room = sizeof(l->buf) - 1 - l->len;
    size_t take = n < room ? n : room;

    memcpy(l->buf + l->len, s, take);
    l->len += take;
}

static void flush(struct ni_liner *l)
{
    l->buf[l->len] = '\0';
    l->len = 0;
    l->line(l->ctx, l->buf);
}

int ni_liner_feed(struct ni_liner *l, const char *s, size_t n)
{
    if (memchr(s, '\0', n))
        return -EILSEQ;
    while (n > 0) {
        const char *end = memchr(s, '\n', n);
        size_t len = end ? (size_t)(end - s) : n;
        append(l, s, len);
        if (!end)
            return 0;
        flush(l);
        s += len + 1;
        n -= len + 1;
    }
    return 0;
}

/* A last line needs no newline. */
void ni_liner_end(struct ni_liner *l)
{
    if (l->len > 0)
        flush(l);
}
