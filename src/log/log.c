/* SPDX-License-Identifier: Apache-2.0 */
/* log: what NCCL did, from what it printed. */
#include "log/log.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "system/system.h"

/* Says what is wrong with the file. */
static int fail(struct ni_context *ctx, const char *path)
{
    ni_say(ctx, NI_LOG_ERROR, "%.512s: %s", path, NI_ERRNO(-errno));
    return NI_EXIT_REFUSED;
}

static int read_log(struct ni_context *ctx, const char *path)
{
    const bool standard = strcmp(path, "-") == 0;
    const int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    ssize_t n = fd < 0 ? -1 : 1;
    while (n > 0) {
        size_t room;
        char *to = ni_log_room(ctx->log, &room);
        n = read(fd, to, room);
        ni_log_got(ctx->log, standard ? "stdin" : path, n < 0 ? 0 : (size_t)n);
    }
    if (n < 0)
        return fail(ctx, path);
    if (!standard)
        (void)close(fd); /* only read */
    return 0;
}

/* The settings of `plan --json`. */
static int read_plan(struct ni_context *ctx, const char *path)
{
    enum { SIZE = 1 << 22 }; /* a plan of 512 HCAs has a quarter of this */
    static char *text;       /* once for the process */
    struct ni_text why = NI_TEXT(JSON_ERROR_TEXT_LENGTH + 64);
    FILE *file = fopen(path, "re");
    text = file ? malloc(SIZE) : NULL;
    const size_t n = text ? fread(text, 1, SIZE - 1, file) : 0;
    json_t *top, *settings, *setting;
    size_t i;
    if (!text || ferror(file))
        return fail(ctx, path);
    (void)fclose(file); /* only read */
    text[n] = '\0';
    top = ni_read_json(text, false, &why);
    settings = json_object_get(top, "settings");
    ctx->log->planned = json_is_array(settings);
    json_array_foreach(settings, i, setting)
    {
        const char *name = json_string_value(json_object_get(setting, "name"));
        const char *value = json_string_value(json_object_get(setting, "value"));
        if (name && value)
            ni_log_take_value(ctx->log, NULL, ni_span_of(name), ni_span_of(value));
    }
    json_decref(top);
    if (!ctx->log->planned)
        ni_say(ctx, NI_LOG_ERROR, "%.512s: not what `plan --json` writes%s%s", path,
               why.len > 0 ? ": " : "", why.buf);
    return ctx->log->planned ? 0 : NI_EXIT_REFUSED;
}

int ni_cmd_log(struct ni_context *ctx)
{
    static char dash[] = "-", *const standard[] = {dash, NULL};
    const enum ni_expect expect = ctx->options.expect;
    int r = ctx->options.secure ? ni_caps_forsake(0) : 0;
    if (r < 0)
        return ni_caps_stay(ctx, r);
    ctx->log = calloc(1, sizeof(*ctx->log)); /* 5 MiB, of which a job of 512 ranks uses one */
    r = !ctx->log ? fail(ctx, "log") : ctx->options.plan ? read_plan(ctx, ctx->options.plan) : 0;
    for (char *const *file = *ctx->operands ? ctx->operands : standard; *file && r == 0; file++)
        r = read_log(ctx, *file);
    if (r != 0)
        return r;
    ni_log_judge(ctx->log, expect >= NI_EXPECT_RDMA, expect == NI_EXPECT_GDR, &ctx->findings);
    r = ni_print_view(ctx, ctx->options.json ? ni_put_log_json : ni_put_log);
    return r == 0 && ctx->log->failed ? NI_EXIT_FAILED : r;
}
