/* SPDX-License-Identifier: Apache-2.0 */
#include "out.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void ni_out_on(struct ni_out *o, int fd)
{
    o->fd = fd;
    o->err = 0;
    o->len = 0;
}

/* A parent may have set O_NONBLOCK on a pipe that it shares with us (node does): then wait for the
   reader, as a blocking write would. */
static void wait_for_room(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    (void)poll(&p, 1, -1); /* whatever it says, the next write tells */
}

static void flush(struct ni_out *o)
{
    size_t done = 0;
    while (o->err == 0 && done < o->len) {
        ssize_t n = write(o->fd, o->buf + done, o->len - done);
        if (n > 0)
            done += (size_t)n;
        else if (n == 0)
            o->err = -EIO; /* POSIX leaves it open; asking again could go on for ever */
        else if (errno == EAGAIN)
            wait_for_room(o->fd);
        else
            o->err = -errno;
    }
    o->len = 0;
}

void ni_out_putn(struct ni_out *o, const char *s, size_t n)
{
    while (n > 0) {
        size_t room = sizeof(o->buf) - o->len;
        size_t part = n < room ? n : room;
        memcpy(o->buf + o->len, s, part);
        o->len += part;
        s += part;
        n -= part;
        if (o->len == sizeof(o->buf))
            flush(o);
    }
}

void ni_out_put(struct ni_out *o, const char *s)
{
    ni_out_putn(o, s, strlen(s));
}

void ni_out_putf(struct ni_out *o, const char *fmt, ...)
{
    for (int attempt = 0; attempt < 2; attempt++) {
        size_t room = sizeof(o->buf) - o->len;
        va_list ap;
        va_start(ap, fmt);
        int n = vsnprintf(o->buf + o->len, room, fmt, ap);
        va_end(ap);
        if (n >= 0 && (size_t)n < room) {
            o->len += (size_t)n;
            return;
        }
        flush(o); /* the second time there is the whole buffer */
    }
    if (o->err == 0)
        o->err = -EOVERFLOW;
}

void ni_out_quoted(struct ni_out *o, const char *s)
{
    enum { PIECE = 64, GROWS = 4 }; /* one byte becomes \xHH at most */
    size_t n = strlen(s);
    while (n > 0) {
        size_t part = n < PIECE ? n : PIECE;
        char buf[PIECE * GROWS + 1];
        struct ni_text t = ni_text_on(buf, sizeof(buf));
        ni_put_quoted(&t, s, part, part);
        ni_out_putn(o, t.buf, t.len);
        s += part;
        n -= part;
    }
}

void ni_out_wrapped(struct ni_out *o, size_t at, size_t indent, const char *s)
{
    bool first = true;
    while (*s) {
        size_t word = strcspn(s, " "), blanks = strspn(s + word, " ");
        if (!first && at + 1 + word > NI_OUT_COLUMNS) {
            ni_out_putf(o, "\n%*s", (int)indent, "");
            at = indent;
        } else if (!first) {
            ni_out_put(o, " ");
            at++;
        }
        for (size_t i = 0; i < word; i++) {
            char one[2] = {s[i], '\0'};
            ni_out_quoted(o, one);
        }
        at += word;
        s += word + blanks;
        first = false;
    }
}

int ni_out_end(struct ni_out *o)
{
    flush(o);
    return o->err;
}
