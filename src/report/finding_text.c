/* SPDX-License-Identifier: Apache-2.0 */
#include "finding_text.h"

#include "table.h"

enum { INDENT = 6 };

static void say_line(struct ni_out *o, const char *text)
{
    ni_out_putf(o, "\n%*s", INDENT, "");
    ni_out_wrapped(o, INDENT, INDENT, text);
}

void ni_say_finding(struct ni_out *o, const struct ni_finding *f, bool colour)
{
    static const enum ni_tint tint_of[] = {
        [NI_INFO] = NI_PLAIN, [NI_WARNING] = NI_YELLOW, [NI_ERROR] = NI_RED};
    const struct ni_finding_kind *kind = ni_finding_kind(f->id);
    enum ni_tint tint = tint_of[kind->severity];
    ni_out_put(o, "  ");
    ni_tint_on(o, colour, tint);
    ni_out_putf(o, "%s: %s", ni_severity_text(kind->severity), kind->id);
    ni_tint_off(o, colour, tint);
    if (f->subject[0]) {
        ni_out_put(o, ": ");
        ni_out_quoted(o, f->subject);
    }
    say_line(o, f->message);
    say_line(o, kind->hint);
    ni_out_put(o, "\n");
}

void ni_say_findings_from(struct ni_out *o, const struct ni_findings *f, enum ni_severity least,
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
        ni_out_putf(o, "\n%s\n", group[k].title);
        for (unsigned i = 0; i < f->n; i++) {
            if (ni_finding_kind(f->at[i].id)->severity == group[k].severity)
                ni_say_finding(o, &f->at[i], colour);
        }
    }
}
