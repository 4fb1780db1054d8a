/* SPDX-License-Identifier: Apache-2.0 */
/* What goes to standard output or to a file. */
#include "nccl_init/act.h"
#include "nccl_init/cmd.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int ni_print(struct ni_context *ctx, const struct ni_text *text)
{
    const char *path = ctx->options.output;
    struct ni_text copy = *text;
    int r, fd = STDOUT_FILENO;

    ni_no_command();
    if (path && strcmp(path, "-") != 0)
        fd = ni_open_stream(path);
    else
        path = "standard output";
    if (fd == -EINVAL) {
        r = ni_replace_file(path, 0644, ni_write_text, &copy);
    } else if (fd < 0) {
        r = fd;
    } else {
        r = ni_write_text(fd, &copy);
        /* Some file systems tell only now that nothing was stored. */
        if (fd != STDERR_FILENO && close(fd) != 0 && r == 0 && errno != EINTR)
            r = -errno;
    }
    if (r < 0 && r != -EPIPE)
        ni_say(ctx, NI_LOG_ERROR, "%.512s: %s", path, ni_errno_text(r));
    return r == 0 ? 0 : NI_EXIT_FAILED;
}

int ni_print_view(struct ni_context *ctx, ni_report_fn *put)
{
    const struct ni_view view = ni_flow_view(ctx);
    struct ni_text text = ni_long_text();
    int r;

    put(&text, &view);
    r = ni_print(ctx, &text);
    ni_free_text(&text);
    return r;
}
