/* SPDX-License-Identifier: Apache-2.0 */
/* The first screen of log: what ended the job, in one sentence, and the job in another. */
#include "log/answer.h"

#include <string.h>

#include "log/state.h"
#include "nccl_init/findings.h"
#include "nccl_init/text.h"
#include "print/answer.h"
#include "print/command.h"
#include "print/layout.h"
#include "print/readiness.h"
#include "print/words.h"

/* Returns the length of the first sentence of a message; the quote of a log begins another. */
static size_t first_sentence(const char *message)
{
    const char *end = strstr(message, ". ");

    return end ? (size_t)(end - message) : strlen(message);
}

/* Returns the length of the part of the sentence that tells of the job: behind it errors are counted. */
static size_t job_length(const struct ni_log *log)
{
    return log->job_end - log->job_at;
}

static const char *headline(const struct ni_log *log)
{
    if (log->not_known)
        return "NOT KNOWN: ";
    return log->failed ? "FAILED: " : "";
}

static void put_verdict(struct ni_text *out, const struct ni_view *view, const struct ni_log *log)
{
    const struct ni_finding *cause = log->cause;

    ni_put(out, headline(log));
    if (cause) {
        ni_putf(out, "%s%s", cause->subject, cause->subject[0] ? ": " : "");
        ni_putn(out, cause->message, first_sentence(cause->message));
    } else {
        ni_putn(out, log->sentence + log->job_at, job_length(log));
    }
    ni_put(out, " (");
    ni_put_counts(out, view->findings);
    ni_put(out, ")");
}

static enum ni_tint tint_of(const struct ni_view *view, const struct ni_log *log)
{
    if (log->failed && !log->not_known)
        return NI_RED;
    return log->not_known || ni_findings_count(view->findings, NI_WARNING) > 0 ? NI_YELLOW
                                                                               : NI_PLAIN;
}

void ni_put_log_answer(struct ni_text *out, const struct ni_view *view, const struct ni_log *log,
                       char *const files[])
{
    struct ni_text verdict = NI_TEXT(2048), job = NI_TEXT(sizeof(log->sentence) + 1);
    struct ni_text above = NI_TEXT(4096), all = NI_TEXT(4096);

    bool said = true;

    put_verdict(&verdict, view, log);
    if (log->cause) {
        ni_putn(&job, log->sentence + log->job_at, job_length(log));
        ni_put(&above, "  ");
        ni_put_paragraph(&above, 2, job.buf);
    }
    ni_put(&all, "nccl-init log --all");
    for (; *files; files++)
        said = said && ni_put_path(&all, *files);
    ni_put_answer(out, view,
                  &(struct ni_answer){
                      .verdict = verdict.buf,
                      .tint = tint_of(view, log),
                      .first = log->cause,
                      .above = above.buf,
                      .below = "",
                      .all = said ? all.buf : NULL,
                  });
}
