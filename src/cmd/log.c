/* SPDX-License-Identifier: Apache-2.0 */
/* log: what NCCL did, from what it printed. */
#include "nccl_init/log.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nccl_init/act.h"
#include "nccl_init/cmd.h"

static ssize_t read_some(int fd, char *to, size_t room)
{
    ssize_t n;

    do
        n = read(fd, to, room);
    while (n < 0 && errno == EINTR);
    return n;
}

static int read_all(struct ni_log *log, const char *name, int fd)
{
    ssize_t n;

    do {
        size_t room;
        char *to = ni_log_room(log, &room);

        n = read_some(fd, to, room);
        ni_log_got(log, name, n < 0 ? 0 : (size_t)n);
    } while (n > 0);
    return n < 0 ? -errno : 0;
}

static int read_file(struct ni_context *ctx, struct ni_log *log, const char *path)
{
    const bool standard = strcmp(path, "-") == 0;
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    int r = fd < 0 ? -errno : read_all(log, standard ? "stdin" : path, fd);

    if (fd >= 0 && !standard)
        (void)close(fd); /* only read */
    if (r < 0)
        ni_say(ctx, NI_LOG_ERROR, "%.512s: %s", path, ni_errno_text(r));
    return r;
}

/* The file's text, to be freed; NULL after saying why not. */
static char *read_text(struct ni_context *ctx, const char *path)
{
    enum { MAX = 1 << 22 }; /* a plan of 512 HCAs has a quarter of this */
    char *text = malloc(MAX);
    const int fd = text ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY) : -1;
    ssize_t n = fd < 0 ? -1 : 1;
    size_t len = 0;

    while (n > 0 && len + 1 < MAX) {
        n = read_some(fd, text + len, MAX - 1 - len);
        len += n > 0 ? (size_t)n : 0;
    }
    if (n < 0) {
        ni_say(ctx, NI_LOG_ERROR, "%.512s: %s", path, ni_errno_text(errno));
        free(text);
        text = NULL;
    } else {
        text[len] = '\0';
    }
    if (fd >= 0)
        (void)close(fd); /* only read */
    return text;
}

/* The settings of `plan --json` as an environment. false after saying why not. */
static bool read_plan(struct ni_context *ctx, char *entry[], size_t max)
{
    char buf[JSON_ERROR_TEXT_LENGTH + 64];
    struct ni_text why = ni_text_on(buf, sizeof(buf));
    char *text = read_text(ctx, ctx->options.plan);
    json_t *top = text ? ni_read_json(text, &why) : NULL, *setting;
    const json_t *settings = json_object_get(top, "settings");
    const bool is_plan = json_is_array(settings);
    size_t i, n = 0;

    json_array_foreach(settings, i, setting)
    {
        const char *name = json_string_value(json_object_get(setting, "name"));
        const char *value = json_string_value(json_object_get(setting, "value"));

        if (name && value && n + 1 < max && asprintf(&entry[n], "%s=%s", name, value) > 0)
            n++;
    }
    entry[n] = NULL;
    if (text && !is_plan)
        ni_say(ctx, NI_LOG_ERROR, "%.512s: not what `plan --json` writes%s%s", ctx->options.plan,
               why.len > 0 ? ": " : "", buf);
    json_decref(top);
    free(text);
    return is_plan;
}

/* The JSON of thousands of ranks is longer than all that was kept of the log: it goes out as it is
   made. */
struct stream {
    struct ni_text text;
    int err;
    char buf[1 << 16];
};

static void flush(struct ni_text *text)
{
    struct stream *s = (struct stream *)text;

    s->err = s->err < 0 ? s->err : ni_write_all(STDOUT_FILENO, s->buf, text->len);
    text->len = 0;
}

static int print(struct ni_context *ctx)
{
    static struct stream s;
    const struct ni_view view = ni_flow_view(ctx);

    s.text = ni_text_on(s.buf, sizeof(s.buf));
    s.text.full = flush;
    ni_no_command();
    (ctx->options.json ? ni_put_log_json : ni_put_log)(&s.text, &view);
    if (s.err == 0)
        return ni_print(ctx, &s.text);
    if (s.err != -EPIPE)
        ni_say(ctx, NI_LOG_ERROR, "standard output: %s", ni_errno_text(s.err));
    return NI_EXIT_FAILED;
}

int ni_cmd_log(struct ni_context *ctx, char *const operands[])
{
    static char dash[] = "-", *const standard[] = {dash, NULL};
    static char *entry[128];
    const struct ni_env plan = {entry};
    const struct ni_log_ask ask = {.rdma = ctx->options.expect >= NI_EXPECT_RDMA,
                                   .gdr = ctx->options.expect == NI_EXPECT_GDR,
                                   .plan = ctx->options.plan ? &plan : NULL};
    struct ni_log *log;
    int r = ctx->options.secure ? ni_caps_renounce() : 0;

    if (r < 0)
        return ni_usage(ctx, "the kernel does not let the program give up its capabilities: %s",
                        ni_errno_text(r));
    if (ctx->options.plan && !read_plan(ctx, entry, NI_COUNT(entry)))
        return NI_EXIT_REFUSED;
    log = ni_log_new();
    if (!log) {
        ni_say(ctx, NI_LOG_ERROR, "%s", ni_errno_text(ENOMEM));
        return NI_EXIT_FAILED;
    }
    for (operands = operands[0] ? operands : standard; *operands && r == 0; operands++)
        r = read_file(ctx, log, *operands) < 0 ? NI_EXIT_REFUSED : 0;
    if (r == 0) {
        ni_log_judge(log, &ask, &ctx->findings);
        ctx->log = log;
        ctx->planned = ask.plan;
        r = print(ctx);
        r = r == 0 && log->failed ? NI_EXIT_FAILED : r;
    }
    ni_log_free(log);
    return r;
}
