/* SPDX-License-Identifier: Apache-2.0 */
/* Standard error, which must neither kill nor hold the command that waits to be started. */
#include "cli/stderr.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/context.h"
#include "nccl_init/text.h"

enum { PATIENCE_MS = 1000 };

/* Returns true unless standard error is a file that may not grow by n bytes: beyond RLIMIT_FSIZE
   (`ulimit -f`) a write raises SIGXFSZ (mm/filemap.c generic_write_check_limits). */
static bool has_room(size_t n)
{
    struct rlimit limit;
    struct stat st;

    if (getrlimit(RLIMIT_FSIZE, &limit) < 0 || fstat(STDERR_FILENO, &st) < 0 ||
        !S_ISREG(st.st_mode))
        return true;
    off_t at = lseek(STDERR_FILENO, 0, SEEK_CUR);
    return (rlim_t)(at > st.st_size ? at : st.st_size) + n <= limit.rlim_cur;
}

/* Returns true if n bytes can be written. A line must neither kill nor hold the command that waits
   to be started, and its signal mask and dispositions must not change. So poll comes first: without
   a reader a write would raise SIGPIPE, and into a full pipe it would wait for ever. The last
   reader may go away between the two calls; that risk stays. If poll itself fails (a signal, a
   seccomp filter) the line is written: silence would be worse than the risk. */
static bool stderr_ready(struct ni_context *ctx, size_t n)
{
    struct pollfd p = {.fd = STDERR_FILENO, .events = POLLOUT};

    if (!ctx->stderr_dead) {
        int r = poll(&p, 1, PATIENCE_MS);

        ctx->stderr_dead =
            r == 0 || (r > 0 && (p.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) || !has_room(n);
    }
    return !ctx->stderr_dead;
}

void ni_write_stderr(struct ni_context *ctx, const struct ni_text *line)
{
    const char *s = line->buf;
    size_t n = line->len;

    while (n > 0 && stderr_ready(ctx, n)) {
        ssize_t done = write(STDERR_FILENO, s, n);

        if (done <= 0)
            break;
        s += done;
        n -= (size_t)done;
    }
}
