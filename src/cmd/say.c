/* SPDX-License-Identifier: Apache-2.0 */
/* What goes to standard error and to the termination log. */
#include "nccl_init/act.h"
#include "nccl_init/cmd.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LINE = 1024,
    GROWS = 6, /* a byte becomes \uHHHH at most */
    PATIENCE_MS = 1000
};

/* Whether a file that standard error leads to may grow by a line. Past RLIMIT_FSIZE (`ulimit -f`) a
   write raises SIGXFSZ (mm/filemap.c generic_write_check_limits). */
static bool has_room(void)
{
    struct rlimit limit;
    struct stat st;

    if (getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY ||
        fstat(STDERR_FILENO, &st) < 0 || !S_ISREG(st.st_mode))
        return true;
    off_t at = lseek(STDERR_FILENO, 0, SEEK_CUR);
    return (rlim_t)(at > st.st_size ? at : st.st_size) + GROWS * LINE <= limit.rlim_cur;
}

void ni_no_command(void)
{
    (void)signal(SIGXFSZ, SIG_IGN);
}

/* A line must neither kill nor hold the command that waits to be started, and dispositions and mask
   are not ours to change. So ask first: without a reader a write would raise SIGPIPE, into a full
   pipe it would wait for ever. That the last reader goes between the two calls is left to chance.
   */
static bool stderr_ready(struct ni_context *ctx)
{
    struct pollfd p = {.fd = STDERR_FILENO, .events = POLLOUT};

    if (ctx->stderr_dead)
        return false;
    int r = poll(&p, 1, PATIENCE_MS);
    /* Where nobody answers (a signal, a seccomp filter) silence would be worse than the risk. */
    ctx->stderr_dead =
        r == 0 || (r > 0 && (p.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) || !has_room();
    return !ctx->stderr_dead;
}

static void write_line(struct ni_context *ctx, const struct ni_text *line)
{
    const char *s = line->buf;
    size_t n = line->len;

    while (n > 0 && stderr_ready(ctx)) {
        ssize_t done = write(STDERR_FILENO, s, n);

        if (done <= 0)
            break;
        s += done;
        n -= (size_t)done;
    }
}

/* labelled: a text begins with its level. */
static void say(struct ni_context *ctx, enum ni_log_level level, bool labelled, const char *message)
{
    static const char *const names[] = {"error", "warning", "info", "debug"};
    char buf[GROWS * LINE + 64];
    struct ni_text line = ni_text_on(buf, sizeof(buf));

    if (ctx->options.log_format == NI_LOG_JSON) {
        struct ni_json j = ni_json_on(&line, false);
        ni_json_object(&j, NULL);
        ni_json_text(&j, "severity", names[level]);
        ni_json_text(&j, "message", message);
        ni_json_end(&j);
    } else {
        ni_putf(&line, "nccl-init: %s%s", labelled ? names[level] : "", labelled ? ": " : "");
        ni_quote(&line, message);
        ni_put(&line, "\n");
    }
    write_line(ctx, &line);
}

static NI_PRINTF(3, 0) void vsay(struct ni_context *ctx, enum ni_log_level level, const char *fmt,
                                 va_list ap)
{
    char buf[LINE];
    struct ni_text t = ni_text_on(buf, sizeof(buf));

    if (level > ctx->options.log_level)
        return;
    ni_vputf(&t, fmt, ap);
    say(ctx, level, true, buf);
}

void ni_say_summary(struct ni_context *ctx, const char *summary)
{
    if (ctx->options.log_level >= NI_LOG_INFO)
        say(ctx, NI_LOG_INFO, false, summary);
}

void ni_say(struct ni_context *ctx, enum ni_log_level level, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsay(ctx, level, fmt, ap);
    va_end(ap);
}

int ni_usage(struct ni_context *ctx, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsay(ctx, NI_LOG_ERROR, fmt, ap);
    va_end(ap);
    return NI_EXIT_REFUSED;
}

void ni_say_progress(struct ni_context *ctx, const char *line)
{
    char buf[LINE];
    struct pollfd ready = {.fd = STDERR_FILENO, .events = POLLOUT};
    struct ni_text t = ni_text_on(buf, sizeof(buf));

    if (ctx->options.log_level < NI_LOG_INFO || ctx->options.log_format == NI_LOG_JSON ||
        (!*line && !ctx->progress) || !isatty(STDERR_FILENO))
        return;
    /* never at the cost of time: on a stopped terminal it is left out */
    if (poll(&ready, 1, 0) != 1 || (ready.revents & POLLOUT) == 0)
        return;
    ctx->progress = *line != '\0';
    ni_putf(&t, "\r%s\033[K", line); /* ECMA-48: erase to the end of the line */
    write_line(ctx, &t);
}

static bool is_wanted(const struct ni_context *ctx, const struct ni_finding *finding)
{
    static const enum ni_log_level level[] = {
        [NI_ERROR] = NI_LOG_ERROR, [NI_WARNING] = NI_LOG_WARN, [NI_INFO] = NI_LOG_DEBUG};

    return level[ni_finding_kind(finding->id)->severity] <= ctx->options.log_level;
}

void ni_say_findings(struct ni_context *ctx)
{
    for (unsigned i = 0; i < ctx->findings.n; i++) {
        char buf[GROWS * LINE];
        struct ni_text line = ni_text_on(buf, sizeof(buf));

        if (!is_wanted(ctx, &ctx->findings.at[i]))
            continue;
        ni_put_finding_line(&line, &ctx->findings.at[i], ctx->options.log_format == NI_LOG_JSON);
        write_line(ctx, &line);
    }
    if (ctx->findings.dropped > 0)
        ni_say(ctx, NI_LOG_WARN, "%u more findings than there is room for", ctx->findings.dropped);
}

/* For a program: one object, never cut. Findings that do not fit are left out. */
static void put_object(struct ni_context *ctx, struct ni_text *t, const char *line, bool findings)
{
    static const char end[] = "]}\n";
    struct ni_json j = ni_json_on(t, false);

    ni_json_object(&j, NULL);
    ni_json_text(&j, "severity", ni_severity_text(NI_ERROR));
    ni_json_text(&j, "message", line);
    ni_json_array(&j, "findings");
    for (unsigned i = 0; findings && i < ctx->findings.n; i++) {
        const struct ni_finding *it = &ctx->findings.at[i];
        struct ni_text before = *t;
        struct ni_json at = j;

        if (ni_finding_kind(it->id)->severity == NI_INFO)
            continue;
        ni_json_finding(&j, it);
        if (t->cut || t->cap - t->len < sizeof(end)) {
            *t = before;
            j = at;
            break;
        }
    }
    ni_json_end(&j);
    ni_json_end(&j);
}

/* What `kubectl describe pod` shows. */
static void put_lines(struct ni_context *ctx, struct ni_text *t, const char *line, bool findings)
{
    ni_put(t, "nccl-init: ");
    ni_quote(t, line);
    ni_put(t, "\n");
    for (unsigned i = 0; findings && i < ctx->findings.n; i++)
        if (ni_finding_kind(ctx->findings.at[i].id)->severity != NI_INFO)
            ni_put_finding(t, &ctx->findings.at[i]);
}

void ni_leave_reason(struct ni_context *ctx, const char *line, bool findings)
{
    char buf[NI_TERMINATION_MAX + 1];
    struct ni_text t = ni_text_on(buf, sizeof(buf));
    int r;

    (ctx->options.log_format == NI_LOG_JSON ? put_object : put_lines)(ctx, &t, line, findings);
    r = ni_termination_log(ctx->options.termination_log, buf);
    if (r < 0)
        ni_say(ctx, NI_LOG_DEBUG, "%s: %s", ctx->options.termination_log, ni_errno_text(r));
}

void ni_last_words(struct ni_context *ctx, const char *line, bool findings)
{
    ni_no_command();
    say(ctx, NI_LOG_ERROR, true, line);
    ni_leave_reason(ctx, line, findings);
}
