/* SPDX-License-Identifier: Apache-2.0 */
/* Output: standard error, the termination log, and standard output or a file. */
#include "cli/say.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/board.h"
#include "cli/context.h"
#include "cli/option.h"
#include "cli/options.h"
#include "cli/place.h"
#include "cli/stderr.h"
#include "findings/pod.h"
#include "nccl_init/base.h"
#include "nccl_init/errno.h"
#include "nccl_init/findings.h"
#include "nccl_init/text.h"
#include "print/command.h"
#include "print/findings.h"
#include "print/json_write.h"
#include "print/words.h"
#include "system/exec.h"
#include "system/replace.h"

enum { GROWS = 6 /* a byte becomes \uHHHH, six bytes, at most */ };

void ni_ignore_sigxfsz(void)
{
    (void)signal(SIGXFSZ, SIG_IGN);
}

/* Puts a message as one line, in the form of --log-format. */
static void put_message(const struct ni_context *ctx, struct ni_text *line, enum ni_log_level level,
                        const char *message)
{
    static const char *const name[] = {"error", "warning", "info", "debug"};

    if (ctx->options.log_format == NI_LOG_JSON) {
        struct ni_json j = ni_json_on(line, NI_JSON_LINE);

        ni_json_object(&j, NULL);
        ni_json_text(&j, "severity", name[level]);
        ni_json_text(&j, "message", message);
        ni_json_end(&j);
    } else {
        ni_put(line, "nccl-init: ");
        if (level != NI_LOG_INFO)
            ni_putf(line, "%s: ", name[level]);
        ni_quote(line, message);
        ni_put(line, "\n");
    }
}

static NI_PRINTF(3, 0) void say(struct ni_context *ctx, enum ni_log_level level, const char *fmt,
                                va_list ap)
{
    char buf[NI_MESSAGE], whole[GROWS * NI_MESSAGE];
    struct ni_text message = ni_text_on(buf, sizeof(buf)), line = ni_text_on(whole, sizeof(whole));

    if (level > ctx->options.log_level)
        return;
    ni_vputf(&message, fmt, ap);
    put_message(ctx, &line, level, buf);
    ni_progress_hide(ctx);
    ni_write_stderr(ctx, &line);
}

void ni_say(struct ni_context *ctx, enum ni_log_level level, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    say(ctx, level, fmt, ap);
    va_end(ap);
}

int ni_usage(struct ni_context *ctx, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    say(ctx, NI_LOG_ERROR, fmt, ap);
    va_end(ap);
    return NI_EXIT_REFUSED;
}

int ni_refuse_caps(struct ni_context *ctx, int err)
{
    return ni_usage(ctx, "nccl-init cannot drop its capabilities, and stops: %s", NI_ERRNO(err));
}

/* Returns true if the line of ni_refuse says what the finding says: its hint comes below that line.
   Only these verbs refuse. */
static bool is_in_refusal(const struct ni_context *ctx, const struct ni_finding *f)
{
    const bool may_refuse = (ctx->verb & (NI_VERB_RUN | NI_VERB_ENV)) != 0;

    return may_refuse && ctx->plan.refuse && f->in_refusal;
}

/* Returns true if the advice of finding i stands in the refusal already: two trials fail for one demand. */
static bool is_advised(const struct ni_context *ctx, unsigned i)
{
    const struct ni_finding *f = &ctx->findings.at[i];

    for (unsigned k = 0; k < i; k++) {
        const struct ni_finding *other = &ctx->findings.at[k];

        if (other->id == f->id && other->user == f->user && is_in_refusal(ctx, other))
            return is_in_refusal(ctx, f);
    }
    return false;
}

/* Puts a blank and the command of the finding; nothing if it has none here. */
static void put_command(const struct ni_context *ctx, struct ni_text *line,
                        const struct ni_finding *f)
{
    struct ni_view view = {.inv = &ctx->inventory,
                           .plan = &ctx->plan,
                           .findings = &ctx->findings,
                           .root = ctx->options.root,
                           .again = &ctx->again};
    struct ni_text command = NI_TEXT(512);

    ni_name_place(ctx, &view);
    if (ni_put_command(&command, &view, f))
        ni_putf(line, " %s", command.buf);
}

static void put_finding(const struct ni_context *ctx, struct ni_text *line,
                        const struct ni_finding *f)
{
    struct ni_json j = ni_json_on(line, NI_JSON_LINE);

    if (ctx->options.log_format == NI_LOG_JSON) {
        ni_json_finding(&j, f);
    } else if (is_in_refusal(ctx, f)) {
        ni_putf(line, "nccl-init: %s: %s: ", ni_severity_text(ni_finding_severity(f->id)),
                ni_finding_id(f->id));
        ni_put_hint(line, f);
        put_command(ctx, line, f);
        ni_put(line, "\n");
    } else {
        ni_put(line, "nccl-init: ");
        ni_put_finding(line, f);
    }
}

static void say_finding(struct ni_context *ctx, const struct ni_finding *f)
{
    char buf[GROWS * 1024];
    struct ni_text line = ni_text_on(buf, sizeof(buf));

    put_finding(ctx, &line, f);
    ni_progress_hide(ctx);
    ni_write_stderr(ctx, &line);
}

void ni_say_findings(struct ni_context *ctx)
{
    static const enum ni_log_level level[] = {
        [NI_ERROR] = NI_LOG_ERROR, [NI_WARNING] = NI_LOG_WARN, [NI_INFO] = NI_LOG_DEBUG};

    while (ctx->n_said < ctx->findings.n) {
        const struct ni_finding *f = &ctx->findings.at[ctx->n_said++];

        if (level[ni_finding_severity(f->id)] <= ctx->options.log_level &&
            (ctx->options.log_format == NI_LOG_JSON || !is_in_refusal(ctx, f)))
            say_finding(ctx, f);
    }
    if (ctx->findings.dropped == ctx->dropped_said)
        return;
    struct ni_text more = NI_TEXT(64);
    ni_put_not_shown(&more, ctx->findings.dropped - ctx->dropped_said);
    ni_say(ctx, NI_LOG_WARN, "%s", more.buf);
    ctx->dropped_said = ctx->findings.dropped;
}

void ni_leave_reason(struct ni_context *ctx, const char *line, enum ni_leave leave)
{
    struct ni_text t = NI_TEXT(NI_TERMINATION_MAX + 1);

    if (strcmp(ctx->options.root, "/") != 0)
        return; /* this pod's log says nothing about another node */
    put_message(ctx, &t, NI_LOG_ERROR, line);
    for (unsigned i = 0; leave == NI_LEAVE_FINDINGS && i < ctx->findings.n && !t.cut; i++) {
        const size_t whole = t.len;

        if (ni_finding_severity(ctx->findings.at[i].id) > NI_INFO &&
            (ctx->options.log_format == NI_LOG_JSON || !is_advised(ctx, i)))
            put_finding(ctx, &t, &ctx->findings.at[i]);
        if (t.cut) /* a line that does not fit is left out as a whole */
            t.buf[whole] = '\0';
    }
    int r = ni_termination_log(ctx->options.termination_log, t.buf);
    if (r < 0)
        ni_say(ctx, NI_LOG_DEBUG, "%s: %s", ctx->options.termination_log, NI_ERRNO(r));
}

void ni_last_words(struct ni_context *ctx, const char *line, enum ni_leave leave)
{
    ni_ignore_sigxfsz();
    ni_say(ctx, NI_LOG_ERROR, "%s", line);
    ni_leave_reason(ctx, line, leave);
}

int ni_refuse(struct ni_context *ctx, const char *reason, enum ni_leave leave)
{
    const char *verdict = ctx->verb == NI_VERB_RUN ? "command not started" : "settings not written";
    const struct ni_finding *first = NULL;
    struct ni_text line = NI_TEXT(NI_MESSAGE);

    ni_putf(&line, "%s: %s", verdict, reason);
    ni_last_words(ctx, line.buf, leave);
    if (ni_findings_has(&ctx->findings, NI_F_EXEC_NO_ROOM))
        return NI_EXIT_REFUSED; /* it has said what helps: what a demand advises does not */
    for (unsigned i = 0; i < ctx->findings.n; i++) { /* who does what, below the reason */
        const struct ni_finding *f = &ctx->findings.at[i];

        if (ctx->options.log_format != NI_LOG_TEXT || !is_in_refusal(ctx, f) || is_advised(ctx, i))
            continue;
        say_finding(ctx, f);
        first = first ? first : f;
    }
    if (first) /* the verdict is also the last line of a terminal */
        ni_say(ctx, NI_LOG_ERROR, "%s; more: nccl-init explain %s", verdict,
               ni_finding_id(first->id));
    return NI_EXIT_REFUSED;
}

const char *ni_output_file(const struct ni_context *ctx)
{
    const char *output = ctx->options.output;

    return output && strcmp(output, "-") != 0 ? output : NULL;
}

int ni_print(struct ni_context *ctx, struct ni_text *text)
{
    return ni_print_as(ctx, text, 0644);
}

int ni_print_as(struct ni_context *ctx, struct ni_text *text, mode_t mode)
{
    const char *path = ni_output_file(ctx);

    ni_ignore_sigxfsz();
    int r = ni_replace_file(path, mode, ni_write_text, text);
    if (r < 0 && r != -EPIPE)
        ni_say(ctx, NI_LOG_ERROR, "%.512s: %s", path ? path : "standard output", NI_ERRNO(r));
    return r == 0 ? 0 : NI_EXIT_FAILED;
}
