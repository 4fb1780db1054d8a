/* SPDX-License-Identifier: Apache-2.0 */
#include "findings.h"

#include <string.h>

#include "nccl_init/report.h"
#include "out.h"
#include "table.h"

/* ---- one ---- */

void ni_put_finding(struct ni_text *out, const struct ni_finding *f)
{
    const struct ni_finding_kind *kind = ni_finding_kind(f->id);
    size_t n = strlen(f->message);
    ni_putf(out, "%s: %s: ", ni_severity_text(kind->severity), kind->id);
    if (f->subject[0]) {
        ni_quote(out, f->subject);
        ni_put(out, ": ");
    }
    ni_quote(out, f->message);
    if (n > 0 && !strchr(".!?", f->message[n - 1]))
        ni_put(out, ".");
    ni_putf(out, " %s\n", kind->hint);
}

void ni_json_finding(struct ni_json *j, const struct ni_finding *f)
{
    const struct ni_finding_kind *kind = ni_finding_kind(f->id);
    ni_json_object(j, NULL);
    ni_json_text(j, "id", kind->id);
    ni_json_text(j, "severity", ni_severity_text(kind->severity));
    ni_json_text(j, "subject", f->subject);
    ni_json_text(j, "message", f->message);
    ni_json_text(j, "hint", kind->hint);
    ni_json_end(j);
}

/* Of several lines. */
static void put_paragraph(struct ni_text *out, const struct ni_finding *f, bool colour)
{
    static const enum ni_tint tint[] = {
        [NI_INFO] = NI_PLAIN, [NI_WARNING] = NI_YELLOW, [NI_ERROR] = NI_RED};
    enum { INDENT = 6 };
    const struct ni_finding_kind *kind = ni_finding_kind(f->id);
    char head[64];
    ni_format(head, sizeof(head), "%s: %s", ni_severity_text(kind->severity), kind->id);
    ni_put(out, "  ");
    ni_put_tinted(out, colour, tint[kind->severity], head);
    if (f->subject[0]) {
        ni_put(out, ": ");
        ni_quote(out, f->subject);
    }
    ni_putf(out, "\n%*s", INDENT, "");
    ni_put_wrapped(out, INDENT, INDENT, f->message);
    ni_putf(out, "\n%*s", INDENT, "");
    ni_put_wrapped(out, INDENT, INDENT, kind->hint);
    ni_put(out, "\n");
}

/* ---- all, the worst first ---- */

static const struct {
    enum ni_severity severity;
    const char *title;
} order[] = {
    {NI_ERROR, "Errors: the job fails, or silently loses RDMA or GPUDirect"},
    {NI_WARNING, "Warnings: slow, or fragile"},
    {NI_INFO, "Worth knowing"},
};

void ni_put_findings(struct ni_text *out, const struct ni_findings *all, enum ni_severity least,
                     bool titles, bool colour)
{
    for (size_t k = 0; k < NI_COUNT(order) && order[k].severity >= least; k++) {
        if (titles && ni_findings_count(all, order[k].severity) > 0)
            ni_putf(out, "\n%s\n", order[k].title);
        for (unsigned i = 0; i < all->n; i++)
            if (ni_finding_kind(all->at[i].id)->severity == order[k].severity)
                put_paragraph(out, &all->at[i], colour);
    }
}

void ni_json_findings(struct ni_json *j, const struct ni_findings *all)
{
    ni_json_array(j, "findings");
    for (size_t k = 0; k < NI_COUNT(order); k++)
        for (unsigned i = 0; i < all->n; i++)
            if (ni_finding_kind(all->at[i].id)->severity == order[k].severity)
                ni_json_finding(j, &all->at[i]);
    ni_json_end(j);
}
