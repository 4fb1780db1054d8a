/* SPDX-License-Identifier: Apache-2.0 */
/* The verb log: it reads what NCCL printed and says what NCCL did. */
#include "log/log.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/context.h"
#include "cli/flow.h"
#include "cli/option.h"
#include "cli/options.h"
#include "cli/say.h"
#include "log/answer.h"
#include "log/judge.h"
#include "log/read.h"
#include "log/report.h"
#include "log/state.h"
#include "log/take.h"
#include "nccl_init/base.h"
#include "nccl_init/errno.h"
#include "nccl_init/text.h"
#include "print/json_read.h"
#include "print/layout.h"
#include "print/words.h"
#include "system/caps.h"
#include "system/exec.h"

/* ---- options ---- */

enum { A_FILE = NI_OPTION_FILE };

struct ni_log_options ni_log_options;

static const struct ni_option log_options[] = {
    {
        .name = "expect",
        .verbs = NI_VERB_LOG,
        .arg = "nothing|rdma|gdr",
        .initial = "nothing",
        .take = ni_take_word,
        .at = offsetof(struct ni_log_options, expect),
        .help =
            "exit with 1 if the log does not show RDMA, or GPUDirect on all channels between nodes",
    },
    {
        .name = "plan",
        .verbs = NI_VERB_LOG,
        .traits = A_FILE,
        .arg = "FILE",
        .take = ni_take_path,
        .at = offsetof(struct ni_log_options, plan),
        .help = "a file that `plan --json` wrote in the pod: its settings are shown beside those "
                "that NCCL used",
    },
};
const struct ni_option_rows ni_log_rows = {
    log_options,
    NI_COUNT(log_options),
    &ni_log_options,
    sizeof(ni_log_options),
};

/* Says what is wrong with the file. */
static int fail_to_read(struct ni_context *ctx, const char *path)
{
    ni_say(ctx, NI_LOG_ERROR, "%.512s: %s", path, NI_ERRNO(-errno));
    return NI_EXIT_REFUSED;
}

static int read_log(struct ni_context *ctx, struct ni_log *log, const char *path)
{
    const bool standard = strcmp(path, "-") == 0;
    const char *name = standard ? "stdin" : path;
    const int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    ssize_t n = fd < 0 ? -1 : 1;

    if (standard && isatty(fd))
        ni_say(ctx, NI_LOG_INFO, "reading standard input; Ctrl-D ends it");
    while (n > 0) {
        size_t room;
        char *to = ni_log_room(log, &room);

        n = read(fd, to, room);
        ni_log_got(log, name, n < 0 ? 0 : (size_t)n);
    }
    if (n < 0)
        return fail_to_read(ctx, path);
    if (!standard)
        (void)close(fd); /* only read */
    return 0;
}

/* Reads the file of --plan into memory that stays. Returns its text; NULL, with errno: it cannot be
   read. */
static char *read_plan_text(const char *path)
{
    enum { SIZE = 1 << 22 }; /* a plan of 512 HCAs has a quarter of this */
    static char *text;       /* once for the process */
    FILE *file = fopen(path, "re");

    text = file ? malloc(SIZE) : NULL;
    const size_t n = text ? fread(text, 1, SIZE - 1, file) : 0;
    if (!text || ferror(file))
        return NULL;
    (void)fclose(file); /* only read */
    text[n] = '\0';
    return text;
}

/* Takes the settings that `plan --json` wrote. */
static int take_plan(struct ni_context *ctx, struct ni_log *log, const char *path)
{
    struct ni_text why = NI_TEXT(JSON_ERROR_TEXT_LENGTH + 64);
    char *text = read_plan_text(path);
    json_t *top, *settings, *setting;
    size_t i;

    if (!text)
        return fail_to_read(ctx, path);
    top = ni_read_json(text, &why);
    settings = json_object_get(top, "settings");
    log->planned = json_is_array(settings);
    json_array_foreach(settings, i, setting)
    {
        const char *name = json_string_value(json_object_get(setting, "name"));
        const char *value = json_string_value(json_object_get(setting, "value"));

        if (name && value)
            ni_log_take_value(log, NULL, ni_span_of(name), ni_span_of(value));
    }
    json_decref(top);
    if (!log->planned)
        ni_say(ctx, NI_LOG_ERROR, "%.512s: not what `plan --json` writes%s%s", path,
               why.len > 0 ? ": " : "", why.buf);
    return log->planned ? 0 : NI_EXIT_REFUSED;
}

static int print_log_report(struct ni_context *ctx, const struct ni_log *log)
{
    const struct ni_view view = ni_flow_view(ctx);
    struct ni_text text = ni_long_text();

    if (ctx->options.json)
        ni_put_log_json(&text, &view, log);
    else if (!ctx->options.all)
        ni_put_log_answer(&text, &view, log, ctx->operands);
    else
        ni_put_log(&text, &view, log);
    return ni_print_long(ctx, &text);
}

/* Reads the file of --plan, then each log. 0, or an exit status after saying what is wrong. */
static int read_logs(struct ni_context *ctx, struct ni_log *log)
{
    static char dash[] = "-", *const standard[] = {dash, NULL};
    char *const *file = *ctx->operands ? ctx->operands : standard;
    int r = 0;

    if (ni_log_options.plan)
        r = take_plan(ctx, log, ni_log_options.plan);
    for (; *file && r == 0; file++)
        r = read_log(ctx, log, *file);
    return r;
}

int ni_cmd_log(struct ni_context *ctx)
{
    const enum ni_expect expect = ni_log_options.expect;
    struct ni_log *log;
    int r = ctx->options.secure ? ni_caps_forsake(0) : 0;

    if (r < 0)
        return ni_refuse_caps(ctx, r);
    log =
        calloc(1, sizeof(*log)); /* 0.2 GiB of addresses, of which a job of 512 ranks uses 2 MiB */
    if (!log)
        return fail_to_read(ctx, "log");
    r = read_logs(ctx, log);
    if (r == 0) {
        ni_log_judge(log, expect >= NI_EXPECT_RDMA, expect == NI_EXPECT_GDR, &ctx->findings);
        r = print_log_report(ctx, log);
        if (r == 0 && log->failed)
            r = NI_EXIT_FAILED;
    }
    free(log);
    return r;
}
