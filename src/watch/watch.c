/* SPDX-License-Identifier: Apache-2.0 */
/* The verb watch: looks at the counters of rails and interfaces while a job runs. It only reads
   files, takes part in nothing, and no process stays. */
#include "watch/watch.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/board.h"
#include "cli/context.h"
#include "cli/flow.h"
#include "cli/option.h"
#include "cli/options.h"
#include "cli/say.h"
#include "nccl_init/base.h"
#include "nccl_init/errno.h"
#include "nccl_init/inventory.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "nccl_init/traffic.h"
#include "node/gather.h"
#include "node/read.h"
#include "node/traffic.h"
#include "print/layout.h"
#include "print/words.h"
#include "system/process.h"
#include "system/replace.h"
#include "watch/judge.h"
#include "watch/report.h"

/* ---- options ---- */

struct ni_watch_options ni_watch_options;

static const struct ni_option watch_options[] = {
    {
        .name = "for",
        .variable = "watch-for", /* NCCLINIT_FOR has the libraries */
        .verbs = NI_VERB_WATCH,
        .arg = "SECONDS",
        .take = ni_take_seconds,
        .at = offsetof(struct ni_watch_options, seconds),
        .least = 1,
        .most = 86400,
        .help = "how long to watch, such as 10s or 5m; without it until a signal, such as Ctrl-C",
    },
    {
        .name = "every",
        .verbs = NI_VERB_WATCH,
        .arg = "S",
        .initial = "1",
        .take = ni_take_milliseconds,
        .at = offsetof(struct ni_watch_options, every_ms),
        .least = 100,
        .most = 60000,
        .help = "time between two looks at the counters",
    },
    {
        .name = "prometheus",
        .verbs = NI_VERB_WATCH,
        .traits = NI_OPTION_FILE,
        .arg = "FILE",
        .take = ni_take_path,
        .at = offsetof(struct ni_watch_options, prometheus),
        .help = "also write metrics in Prometheus' text format after each look; the file is "
                "replaced as a whole; -: to standard output, once, instead of the report",
    },
};
const struct ni_option_rows ni_watch_rows = {
    watch_options,
    NI_COUNT(watch_options),
    &ni_watch_options,
    sizeof(ni_watch_options),
};

enum { STATUS_UNKNOWN = 2 }; /* it cannot be told what carries the data */

static bool is_prometheus_alone(void)
{
    return ni_watch_options.prometheus && strcmp(ni_watch_options.prometheus, "-") == 0;
}

/* ---- output while it lasts ---- */

/* Writes a line on standard output, if nobody has stopped reading: a write that waits would keep the
   signals out. 0 or -errno. */
static int write_line(const struct ni_text *line)
{
    enum { PATIENCE_MS = 1000 };
    struct pollfd ready = {.fd = STDOUT_FILENO, .events = POLLOUT};

    if (poll(&ready, 1, PATIENCE_MS) == 0)
        return 0;
    return ni_write_all(STDOUT_FILENO, line->buf, line->len);
}

/* Writes the rates since the look before. */
static int write_rates(const struct ni_context *ctx, const struct ni_watch *step)
{
    struct ni_text line = NI_TEXT(4096); /* PIPE_BUF: what poll has said there is room for */
    const time_t now = time(NULL);
    char clock[16];
    struct tm utc;

    if (gmtime_r(&now, &utc) && strftime(clock, sizeof(clock), "%H:%M:%SZ", &utc) > 0)
        ni_put(&line, clock);
    ni_put_watch_line(&line, &ctx->inventory, step);
    ni_put(&line, "\n");
    if (line.cut)
        line.buf[line.len - 1] = '\n';
    return write_line(&line);
}

/* Writes the file of --prometheus. 0 or -errno. */
static int write_metrics(const struct ni_context *ctx, const struct ni_watch *w, const char *path)
{
    struct ni_text text = ni_long_text();
    int r;

    ni_put_watch_metrics(&text, &ctx->inventory, w, (int64_t)time(NULL));
    r = ni_replace_file(path, 0644, ni_write_text, &text);
    ni_free_text(&text);
    return r;
}

/* ---- looks ---- */

/* What a watch needs beside the context. */
struct watching {
    int rail[NI_MAX_PORT];
    unsigned n_rail;
    bool shows;           /* a line for each look goes to standard output */
    struct ni_watch all;  /* since the start */
    struct ni_watch step; /* the last two looks */
    struct ni_traffic now;
};

static void look(const struct ni_context *ctx, struct watching *x)
{
    x->now.at_ms = ni_now_ms();
    ni_read_traffic(&ctx->root, &ctx->inventory, x->rail, x->n_rail, &x->now);
    if (x->all.looks > 0) {
        memset(&x->step, 0, sizeof(x->step));
        ni_watch_add(&x->step, &x->all.last);
        ni_watch_add(&x->step, &x->now);
    }
    ni_watch_add(&x->all, &x->now);
}

/* Shows what the last look saw. 0, or -errno after saying what failed, unless the reader went away. */
static int show_look(struct ni_context *ctx, struct watching *x)
{
    const char *path = ni_watch_options.prometheus;
    struct ni_text line = NI_TEXT(256);
    int r = 0;

    if (path && !is_prometheus_alone()) {
        r = write_metrics(ctx, &x->all, path);
        if (r < 0)
            ni_say(ctx, NI_LOG_ERROR, "%.512s: %s", path, NI_ERRNO(r));
    }
    if (r == 0 && x->shows) {
        r = write_rates(ctx, &x->step);
        if (r < 0 && r != -EPIPE)
            ni_say(ctx, NI_LOG_ERROR, "standard output: %s", NI_ERRNO(r));
        return r;
    }
    if (ni_watch_options.seconds > 0 && r == 0) {
        ni_putf(&line, "%lld of %u s:", (long long)(x->all.ms / 1000), ni_watch_options.seconds);
        ni_put_watch_line(&line, &ctx->inventory, &x->step);
        ni_progress_show(ctx, "", line.buf);
    }
    return r;
}

/* Looks until the time is over or a signal comes. The last look is at the end. 0 or -errno. */
static int watch(struct ni_context *ctx, struct watching *x, struct ni_wait *wait)
{
    const int64_t every = ni_watch_options.every_ms,
                  limit = ni_watch_options.seconds * INT64_C(1000);
    const int64_t start = ni_now_ms();
    int64_t next = start;
    bool over = false;
    int r = 0;

    look(ctx, x);
    while (r == 0 && !over) {
        int64_t now = ni_now_ms();

        next = next + every > now ? next + every : now;
        if (limit > 0 && next > start + limit)
            next = start + limit;
        over = ni_wait_ms(wait, next > now ? next - now : 0);
        look(ctx, x);
        now = ni_now_ms();
        r = show_look(ctx, x);
        over = over || (limit > 0 && now >= start + limit);
    }
    ni_progress_end(ctx);
    return r;
}

/* ---- the end ---- */

/* Returns the exit status of the verdict. */
static int status_of(const struct ni_context *ctx, const struct ni_watch *w)
{
    const struct ni_watch_verdict v = ni_watch_judge(w, &ctx->inventory);

    if (w->looks < 2 || v.by == NI_CARRIER_UNKNOWN)
        return STATUS_UNKNOWN;
    if (v.by != NI_CARRIED_BY_RAILS)
        return NI_EXIT_FAILED;
    return ctx->options.strict && ni_watch_is_half(w, &v) ? NI_EXIT_FAILED : 0;
}

/* Prints the report. Returns the exit status. */
static int print_report(struct ni_context *ctx, const struct ni_watch *w)
{
    const struct ni_view view = ni_flow_view(ctx);
    struct ni_text text = ni_long_text();
    int r;

    if (is_prometheus_alone())
        ni_put_watch_metrics(&text, &ctx->inventory, w, (int64_t)time(NULL));
    else if (ctx->options.json)
        ni_put_watch_json(&text, &view, w);
    else
        ni_put_watch(&text, &view, w);
    r = ni_print_long(ctx, &text);
    return r != 0 ? r : status_of(ctx, w);
}

/* Reads what the rules did not ask for: who shares the devices, and the interfaces of the HCAs. */
static void gather_more(struct ni_context *ctx)
{
    const struct ni_ask ask = {.hcas = ctx->options.policy.hcas};

    ni_gather_more(&ctx->root, &ctx->env, &ask, NI_NEED_NETNS_MODE | NI_NEED_OWN_NETDEVS,
                   &ctx->inventory, &ctx->findings);
}

/* Watches until the end or a signal, then prints the report. Returns the status. */
static int watch_and_report(struct ni_context *ctx, struct watching *x)
{
    struct ni_wait wait;
    int r;

    x->n_rail = ni_watch_rails(&ctx->inventory, &ctx->plan, x->rail);
    x->shows = ni_watch_options.seconds == 0 && !ctx->options.json && !is_prometheus_alone();
    ni_wait_begin(&wait);
    r = watch(ctx, x, &wait);
    ni_root_close(&ctx->root);
    ctx->opened = false;
    if (wait.signal == 0)
        ni_wait_end(&wait); /* a signal that comes from here on ends the program */
    else
        ni_wait_unblock(&wait); /* a second one ends it although the report is not written */
    const int status = r < 0 ? NI_EXIT_FAILED : print_report(ctx, &x->all);
    if (wait.signal != 0)
        ni_wait_end(&wait);
    return status;
}

int ni_cmd_watch(struct ni_context *ctx)
{
    struct watching *x;
    int r;

    if (strcmp(ctx->options.root, "/") != 0)
        return ni_usage(ctx,
                        "`watch` cannot watch a recording, whose counters stand still; it takes "
                        "no --root (NCCLINIT_ROOT)");
    if (ctx->options.json && is_prometheus_alone())
        return ni_usage(ctx, "--json and --prometheus=- both write to standard output");
    r = ni_flow(ctx);
    if (r != 0)
        return r;
    gather_more(ctx);
    /* Nearly 1 MB: as a static object it would be in the writable segment of each `run`. */
    x = calloc(1, sizeof(*x));
    if (!x) {
        ni_say(ctx, NI_LOG_ERROR, "watch: %s", NI_ERRNO(-ENOMEM));
        return NI_EXIT_FAILED;
    }
    r = watch_and_report(ctx, x);
    free(x);
    return r;
}
