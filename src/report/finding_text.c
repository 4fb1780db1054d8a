/* SPDX-License-Identifier: Apache-2.0 */
#include "finding_text.h"

#include "table.h"

enum { INDENT = 6 };

static void say_line(struct ni_text *out, const char *text)
{
    ni_putf(out, "\n%*s", INDENT, "");
    ni_put_wrapped(out, INDENT, INDENT, text);
}

void ni_say_finding(struct ni_text *out, const struct ni_finding *f, bool colour)
{
    static const enum ni_tint tint_of[] = {
        [NI_INFO] = NI_PLAIN, [NI_WARNING] = NI_YELLOW, [NI_ERROR] = NI_RED};
    const struct ni_finding_kind *kind = ni_finding_kind(f->id);
    enum ni_tint tint = tint_of[kind->severity];
    ni_put(out, "  ");
    ni_tint_on(out, colour, tint);
    ni_putf(out, "%s: %s", ni_severity_text(kind->severity), kind->id);
    ni_tint_off(out, colour, tint);
    if (f->subject[0]) {
        ni_put(out, ": ");
        ni_quote(out, f->subject);
    }
    say_line(out, f->message);
    say_line(out, kind->hint);
    ni_put(out, "\n");
}

void ni_say_findings_from(struct ni_text *out, const struct ni_findings *f, enum ni_severity least,
                          bool colour)
{
    static const struct {
        enum ni_severity severity;
        const char *title;
    } group[] = {
        {NI_ERROR, "Errors: the job fails, or loses RDMA or GPUDirect without a word"},
        {NI_WARNING, "Warnings: slow, or fragile"},
        {NI_INFO, "Worth knowing"},
    };
    for (size_t k = 0; k < NI_COUNT(group) && group[k].severity >= least; k++) {
        if (ni_findings_count(f, group[k].severity) == 0)
            continue;
        ni_putf(out, "\n%s\n", group[k].title);
        for (unsigned i = 0; i < f->n; i++) {
            if (ni_finding_kind(f->at[i].id)->severity == group[k].severity)
                ni_say_finding(out, &f->at[i], colour);
        }
    }
}
