/* SPDX-License-Identifier: Apache-2.0 */
/* What goes to standard error and to the termination log. */
#include "nccl_init/act.h"
#include "nccl_init/cmd.h"

#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE = 1024, MAX_LINE = 8192, PATIENCE_MS = 1000 };

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
    return (rlim_t)(at > st.st_size ? at : st.st_size) + MAX_LINE <= limit.rlim_cur;
}

/* A line must neither kill nor hold the command that waits to be started, and dispositions and mask
   are not ours to change. So ask first: without a reader a write would raise SIGPIPE, into a full
   pipe it would wait for ever. That the last reader goes between the two calls is left to chance.
   */
bool ni_stderr_ready(struct ni_context *ctx)
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

static void write_line(struct ni_context *ctx, const char *s, size_t n)
{
    while (n > 0 && ni_stderr_ready(ctx)) {
        ssize_t done = write(STDERR_FILENO, s, n);

        if (done <= 0)
            break;
        s += done;
        n -= (size_t)done;
    }
}

/* s holds printable ASCII only. */
static void put_json(struct ni_text *t, const char *s)
{
    ni_put(t, "\"");
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            ni_put(t, "\\");
        ni_putn(t, s, 1);
    }
    ni_put(t, "\"");
}

static void say(struct ni_context *ctx, enum ni_log_level level, const char *message)
{
    static const char *const names[] = {"error", "warning", "info", "debug"};
    char quoted_buf[LINE], line_buf[2 * LINE + 64];
    struct ni_text quoted = ni_text_on(quoted_buf, sizeof(quoted_buf));
    struct ni_text line = ni_text_on(line_buf, sizeof(line_buf));

    ni_put_quoted(&quoted, message, strlen(message), LINE);
    if (ctx->options.log_json) {
        ni_putf(&line, "{\"severity\": \"%s\", \"message\": ", names[level]);
        put_json(&line, quoted_buf);
        ni_put(&line, "}\n");
    } else {
        ni_putf(&line, "nccl-init: %s: %s\n", names[level], quoted_buf);
    }
    write_line(ctx, line.buf, line.len);
}

void ni_say(struct ni_context *ctx, enum ni_log_level level, const char *fmt, ...)
{
    char buf[LINE];
    struct ni_text t = ni_text_on(buf, sizeof(buf));
    va_list ap;

    if (level > ctx->options.log_level)
        return;
    va_start(ap, fmt);
    ni_vputf(&t, fmt, ap);
    va_end(ap);
    say(ctx, level, buf);
}

void ni_say_progress(struct ni_context *ctx, const char *line)
{
    char buf[LINE];
    struct pollfd ready = {.fd = STDERR_FILENO, .events = POLLOUT};
    struct ni_text t = ni_text_on(buf, sizeof(buf));

    if (ctx->options.log_level < NI_LOG_INFO || ctx->options.log_json ||
        (!*line && !ctx->progress) || !isatty(STDERR_FILENO))
        return;
    /* never at the cost of time: on a stopped terminal it is left out */
    if (poll(&ready, 1, 0) != 1 || (ready.revents & POLLOUT) == 0)
        return;
    ctx->progress = *line != '\0';
    ni_putf(&t, "\r%s\033[K", line); /* ECMA-48: erase to the end of the line */
    write_line(ctx, t.buf, t.len);
}

int ni_usage(struct ni_context *ctx, const char *fmt, ...)
{
    char buf[LINE];
    struct ni_text t = ni_text_on(buf, sizeof(buf));
    va_list ap;

    va_start(ap, fmt);
    ni_vputf(&t, fmt, ap);
    va_end(ap);
    say(ctx, NI_LOG_ERROR, buf);
    return NI_EXIT_REFUSED;
}

static bool is_wanted(const struct ni_context *ctx, const struct ni_finding *finding)
{
    switch (ni_finding_kind(finding->id)->severity) {
    case NI_ERROR:
        return true;
    case NI_WARNING:
        return ctx->options.log_level >= NI_LOG_WARN;
    case NI_INFO:
        break;
    }
    return ctx->options.log_level >= NI_LOG_DEBUG;
}

void ni_say_findings(struct ni_context *ctx)
{
    for (unsigned i = 0; i < ctx->findings.n; i++)
        if (is_wanted(ctx, &ctx->findings.at[i]) && ni_stderr_ready(ctx))
            (void)ni_write_finding(STDERR_FILENO, &ctx->findings.at[i], ctx->options.log_json);
    if (ctx->findings.dropped > 0)
        ni_say(ctx, NI_LOG_WARN, "%u more findings than there is room for", ctx->findings.dropped);
}

/* What a program reads: one object, never cut. Findings that do not fit are left out. */
static void put_object(struct ni_context *ctx, struct ni_text *t, const char *line, bool findings)
{
    static const char end[] = "]}\n";
    const char *before = "";

    ni_put(t, "{\"severity\": \"error\", \"message\": ");
    put_json(t, line);
    ni_put(t, ", \"findings\": [");
    for (unsigned i = 0; findings && i < ctx->findings.n; i++) {
        const struct ni_finding *it = &ctx->findings.at[i];
        const struct ni_finding_kind *kind = ni_finding_kind(it->id);
        size_t len = t->len;

        if (kind->severity == NI_INFO)
            continue;
        ni_putf(t, "%s{\"id\": \"%s\", \"severity\": \"%s\", \"subject\": ", before, kind->id,
                ni_severity_text(kind->severity));
        put_json(t, it->subject);
        ni_put(t, ", \"message\": ");
        put_json(t, it->message);
        ni_put(t, ", \"hint\": ");
        put_json(t, kind->hint);
        ni_put(t, "}");
        before = ", ";
        if (t->cut || t->cap - t->len < sizeof(end)) {
            t->len = len;
            t->buf[len] = '\0';
            t->cut = false;
            break;
        }
    }
    ni_put(t, end);
}

/* What `kubectl describe pod` shows. */
static void put_lines(struct ni_context *ctx, struct ni_text *t, const char *line, bool findings)
{
    ni_putf(t, "nccl-init: %s\n", line);
    for (unsigned i = 0; findings && i < ctx->findings.n; i++) {
        const struct ni_finding *it = &ctx->findings.at[i];
        const struct ni_finding_kind *kind = ni_finding_kind(it->id);

        if (kind->severity != NI_INFO)
            ni_putf(t, "%s: %s: %s: %s. %s\n", ni_severity_text(kind->severity), kind->id,
                    it->subject, it->message, kind->hint);
    }
}

void ni_last_words(struct ni_context *ctx, const char *line, bool findings)
{
    char quoted_buf[LINE], buf[NI_TERMINATION_MAX + 1];
    struct ni_text quoted = ni_text_on(quoted_buf, sizeof(quoted_buf));
    struct ni_text t = ni_text_on(buf, sizeof(buf));
    int r;

    ni_no_command();
    say(ctx, NI_LOG_ERROR, line);
    ni_put_quoted(&quoted, line, strlen(line), LINE);
    (ctx->options.log_json ? put_object : put_lines)(ctx, &t, quoted_buf, findings);
    r = ni_termination_log(ctx->options.termination_log, buf);
    if (r < 0)
        ni_say(ctx, NI_LOG_DEBUG, "%s: %s", ctx->options.termination_log, ni_errno_text(r));
}
