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
    int r, fd = STDOUT_FILENO;

    ni_no_command();
    if (path && strcmp(path, "-") != 0)
        fd = ni_open_stream(path);
    else
        path = "standard output";
    if (fd == -EINVAL) {
        r = ni_replace_file(path, 0644, write, arg);
    } else if (fd < 0) {
        r = fd;
    } else {
        r = write(fd, arg);
        /* Some file systems tell only now that nothing was stored. */
        if (fd != STDERR_FILENO && close(fd) != 0 && r == 0 && errno != EINTR)
            r = -errno;
    }
    if (r < 0 && r != -EPIPE && r != -EILSEQ)
        ni_say(ctx, NI_LOG_ERROR, "%.512s: %s", path, ni_errno_text(r));
    return r;
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

struct shown {
    struct ni_context *ctx;
    ni_report_fn *put;
};

static int write_view(int fd, void *arg)
{
    const struct shown *shown = arg;
    const struct ni_view view = ni_flow_view(shown->ctx);

    return ni_write_report(fd, shown->put, &view);
}

int ni_print_view(struct ni_context *ctx, ni_report_fn *put)
{
    struct shown shown = {ctx, put};

    return ni_output(ctx, write_view, &shown) == 0 ? 0 : NI_EXIT_FAILED;
}
