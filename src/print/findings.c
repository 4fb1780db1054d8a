/* SPDX-License-Identifier: Apache-2.0 */
/* Findings in words and in JSON. */
#include "print/findings.h"

#include <string.h>

#include "nccl_init/findings.h"
#include "nccl_init/text.h"
#include "print/json_write.h"
#include "print/layout.h"
#include "print/words.h"

void ni_put_finding(struct ni_text *out, const struct ni_finding *f)
{
    const struct ni_finding_kind *kind = ni_finding_kind(f->id);
    size_t n = strlen(f->message);

    ni_putf(out, "%s: %s: ", ni_severity_text(kind->severity), kind->id);
    ni_quote(out, f->subject);
    ni_put(out, f->subject[0] ? ": " : "");
    ni_quote(out, f->message);
    if (n > 0 && !strchr(".!?", f->message[n - 1]))
        ni_put(out, ".");
    ni_putf(out, " %s\n", kind->hint);
}

/* Returns true if both say the same, about two subjects. */
static bool is_same_finding(const struct ni_finding *a, const struct ni_finding *b)
{
    return a->id == b->id && strcmp(a->message, b->message) == 0;
}

/* Those that say the same are told as one, with as many subjects as a line holds. */
void ni_put_findings(struct ni_text *out, const struct ni_view *view, enum ni_severity least)
{
    static const struct {
        enum ni_tint tint;
        const char *title;
    } of[] = {
        [NI_INFO] = {NI_PLAIN, "Worth knowing"},
        [NI_WARNING] = {NI_YELLOW, "Warnings: the job may be slow, or fail later"},
        [NI_ERROR] = {NI_RED, "Errors: the job fails, or silently loses RDMA or GPUDirect"},
    };
    enum { NAMED = 8 };
    const struct ni_findings *all = view->findings;

    for (int severity = NI_ERROR; severity >= (int)least; severity--) {
        if (ni_findings_count(all, (enum ni_severity)severity) > 0)
            ni_putf(out, "\n%s\n", of[severity].title);
        for (unsigned i = 0; i < all->n; i++) {
            const struct ni_finding *f = &all->at[i];
            const struct ni_finding_kind *kind = ni_finding_kind(f->id);
            char head[64];
            unsigned first = 0, n = 0;

            while (!is_same_finding(&all->at[first], f))
                first++;
            if ((int)kind->severity != severity || first < i)
                continue;
            ni_format(head, sizeof(head), "%s: %s", ni_severity_text(kind->severity), kind->id);
            ni_put(out, "  ");
            ni_put_tinted(out, view->colour, of[severity].tint, head);
            for (unsigned k = i; k < all->n && f->subject[0]; k++) {
                if (!is_same_finding(&all->at[k], f))
                    continue;
                n++;
                if (n > NAMED)
                    continue;
                ni_put(out, k == i ? ": " : ", ");
                ni_quote(out, all->at[k].subject);
            }
            if (n > NAMED)
                ni_putf(out, " and %u more", n - NAMED);
            ni_put(out, "\n");
            ni_put_below(out, f->message);
            ni_put_below(out, kind->hint);
        }
    }
    if (all->dropped > 0)
        ni_putf(out, "\n%u more findings are not shown\n", all->dropped);
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
