/* SPDX-License-Identifier: Apache-2.0 */
/* What goes to standard output or to a file. */
#include "nccl_init/act.h"
#include "nccl_init/cmd.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int ni_output(struct ni_context *ctx, int (*write)(int fd, void *arg), void *arg)
{
    const char *path = ctx->options.output;
    struct ni_fsize fsize;
    int r;

    ni_write_begin(&fsize);
    if (path && strcmp(path, "-") != 0) {
        r = ni_replace_file(path, 0644, write, arg);
    } else {
        path = "standard output";
        r = write(STDOUT_FILENO, arg);
        /* Some file systems tell only now that nothing was stored. */
        if (r == 0 && close(STDOUT_FILENO) != 0 && errno != EINTR)
            r = -errno;
    }
    ni_write_end(&fsize);
    if (r < 0 && r != -EPIPE && r != -EILSEQ)
        ni_say(ctx, NI_LOG_ERROR, "%.512s: %s", path, strerror(-r));
    return r;
}

int ni_write_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, p, n);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return -errno;
        p += done;
        n -= (size_t)done;
    }
    return 0;
}

static int write_text(int fd, void *arg)
{
    const struct ni_text *text = arg;
    int r = ni_write_all(fd, text->buf, text->len);

    return r == 0 && text->cut ? -EOVERFLOW : r;
}

int ni_print(struct ni_context *ctx, const struct ni_text *text)
{
    struct ni_text copy = *text;

    return ni_output(ctx, write_text, &copy) == 0 ? 0 : NI_EXIT_FAILED;
}
