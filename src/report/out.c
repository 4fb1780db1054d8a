/* SPDX-License-Identifier: Apache-2.0 */
#include "parts.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

/* A parent may have set O_NONBLOCK on a pipe that it shares with us (node does): then wait for the
   reader, as a blocking write would. */
static void wait_for_room(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    (void)poll(&p, 1, -1); /* whatever it says, the next write tells */
}

static void flush(struct ni_text *text)
{
    struct ni_out *o = (struct ni_out *)text;
    size_t done = 0;
    while (o->err == 0 && done < text->len) {
        ssize_t n = write(o->fd, o->buf + done, text->len - done);
        if (n > 0)
            done += (size_t)n;
        else if (n == 0)
            o->err = -EIO; /* POSIX leaves it open; asking again could go on for ever */
        else if (errno == EAGAIN)
            wait_for_room(o->fd);
        else
            o->err = -errno;
    }
    text->len = 0;
}

struct ni_text *ni_out_on(struct ni_out *o, int fd)
{
    o->text = ni_text_on(o->buf, sizeof(o->buf));
    o->text.full = flush;
    o->fd = fd;
    o->err = 0;
    return &o->text;
}

int ni_out_end(struct ni_out *o)
{
    flush(&o->text);
    if (o->text.cut && o->err == 0)
        o->err = -EOVERFLOW;
    return o->err;
}

int ni_write_report(int fd, ni_report_fn *put, const struct ni_view *view)
{
    struct ni_out o;
    put(ni_out_on(&o, fd), view);
    return ni_out_end(&o);
}

void ni_put_wrapped(struct ni_text *out, size_t at, const char *s)
{
    bool first = true;
    while (*s) {
        size_t word = strcspn(s, " "), blanks = strspn(s + word, " ");
        if (!first && at + 1 + word > NI_OUT_COLUMNS) {
            ni_putf(out, "\n%*s", NI_INDENT, "");
            at = NI_INDENT;
        } else if (!first) {
            ni_put(out, " ");
            at++;
        }
        ni_put_quoted(out, s, word, word);
        at += word;
        s += word + blanks;
        first = false;
    }
    ni_put(out, "\n");
}
