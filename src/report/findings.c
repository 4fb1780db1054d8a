/* SPDX-License-Identifier: Apache-2.0 */
#include "parts.h"

#include <string.h>

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

void ni_put_finding_line(struct ni_text *out, const struct ni_finding *f, bool json)
{
    if (json) {
        struct ni_json j = ni_json_on(out, false);
        ni_json_finding(&j, f);
    } else {
        ni_put(out, "nccl-init: ");
        ni_put_finding(out, f);
    }
}

/* Of several lines. */
static void put_paragraph(struct ni_text *out, const struct ni_finding *f, bool colour)
{
    static const enum ni_tint tint[] = {
        [NI_INFO] = NI_PLAIN, [NI_WARNING] = NI_YELLOW, [NI_ERROR] = NI_RED};
    const struct ni_finding_kind *kind = ni_finding_kind(f->id);
    char head[64];
    ni_format(head, sizeof(head), "%s: %s", ni_severity_text(kind->severity), kind->id);
    ni_put(out, "  ");
    ni_put_tinted(out, colour, tint[kind->severity], head);
    if (f->subject[0]) {
        ni_put(out, ": ");
        ni_quote(out, f->subject);
    }
    ni_put(out, "\n");
    ni_put_below(out, f->message);
    ni_put_below(out, kind->hint);
}

void ni_put_findings(struct ni_text *out, const struct ni_view *view, enum ni_severity least)
{
    static const char *const title[] = {
        [NI_INFO] = "Worth knowing",
        [NI_WARNING] = "Warnings: the job may be slow, or fail later",
        [NI_ERROR] = "Errors: the job fails, or silently loses RDMA or GPUDirect",
    };
    const struct ni_findings *all = view->findings;
    for (int severity = NI_ERROR; severity >= (int)least; severity--) {
        if (ni_findings_count(all, (enum ni_severity)severity) > 0)
            ni_putf(out, "\n%s\n", title[severity]);
        for (unsigned i = 0; i < all->n; i++)
            if ((int)ni_finding_kind(all->at[i].id)->severity == severity)
                put_paragraph(out, &all->at[i], view->colour);
    }
    if (all->dropped > 0)
        ni_putf(out, "\n%u more findings than there is room for\n", all->dropped);
}

/* ---- in JSON ---- */

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

void ni_json_findings(struct ni_json *j, const struct ni_findings *all)
{
    ni_json_array(j, "findings");
    for (int severity = NI_ERROR; severity >= NI_INFO; severity--)
        for (unsigned i = 0; i < all->n; i++)
            if ((int)ni_finding_kind(all->at[i].id)->severity == severity)
                ni_json_finding(j, &all->at[i]);
    ni_json_end(j);
}
