/* SPDX-License-Identifier: Apache-2.0 */
/* Findings in words and in JSON. */
#include "print/findings.h"

#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/text.h"
#include "print/json_write.h"
#include "print/layout.h"
#include "print/words.h"

void ni_put_finding(struct ni_text *out, const struct ni_finding *f)
{
    const size_t n = strlen(f->message);

    ni_putf(out, "%s: %s: ", ni_severity_text(ni_finding_severity(f->id)), ni_finding_id(f->id));
    ni_quote(out, f->subject);
    ni_put(out, f->subject[0] ? ": " : "");
    ni_quote(out, f->message);
    if (n > 0 && !strchr(".!?", f->message[n - 1]))
        ni_put(out, ".");
    ni_put(out, " ");
    ni_put_hint(out, f);
    ni_put(out, "\n");
}

/* Returns true if both say the same, about two subjects. */
static bool is_same_finding(const struct ni_finding *a, const struct ni_finding *b)
{
    return a->id == b->id && strcmp(a->message, b->message) == 0;
}

void ni_put_subjects(struct ni_text *out, const struct ni_findings *all, unsigned first)
{
    enum { NAMED = 8 };
    const struct ni_finding *f = &all->at[first];
    unsigned n = 0;

    if (!f->subject[0])
        return;
    for (unsigned k = first; k < all->n; k++) {
        if (!is_same_finding(&all->at[k], f))
            continue;
        n++;
        if (n > NAMED)
            continue;
        ni_put(out, k == first ? "" : ", ");
        ni_quote(out, all->at[k].subject);
    }
    if (n > NAMED)
        ni_putf(out, " and %u more", n - NAMED);
}

/* Returns true if an earlier finding says the same: it is shown with the subjects of both. */
static bool is_repeated(const struct ni_findings *all, unsigned at)
{
    for (unsigned i = 0; i < at; i++) {
        if (is_same_finding(&all->at[i], &all->at[at]))
            return true;
    }
    return false;
}

unsigned ni_count_shown_findings(const struct ni_findings *all, enum ni_severity severity)
{
    unsigned n = 0;

    for (unsigned i = 0; i < all->n; i++)
        n += ni_finding_severity(all->at[i].id) == severity && !is_repeated(all, i);
    return n;
}

unsigned ni_list_shown_findings(const struct ni_findings *all, enum ni_severity least,
                                unsigned ret[NI_MAX_FINDINGS])
{
    unsigned n = 0;

    for (int severity = NI_ERROR; severity >= (int)least; severity--) {
        for (unsigned i = 0; i < all->n; i++) {
            if ((int)ni_finding_severity(all->at[i].id) == severity && !is_repeated(all, i))
                ret[n++] = i;
        }
    }
    return n;
}

void ni_put_advice(struct ni_text *out, const struct ni_finding *f)
{
    struct ni_text why = NI_TEXT(NI_FINDING_MESSAGE + 64);
    struct ni_advice advice[NI_MAX_ADVICE];
    const unsigned n = ni_finding_advice(f, advice);

    ni_putf(&why, "Why: %s", f->message);
    ni_put_below(out, why.buf);
    for (unsigned i = 0; i < n; i++) {
        struct ni_text fix = NI_TEXT(NI_FINDING_HINT + 64);

        if (advice[i].who)
            ni_putf(&fix, "Fix (%s): ", advice[i].who);
        else
            ni_put(&fix, "Note: ");
        ni_put(&fix, advice[i].text);
        ni_put_below(out, fix.buf);
    }
    ni_putf(out, "      More: nccl-init explain %s\n", ni_finding_id(f->id));
}

void ni_put_not_shown(struct ni_text *out, unsigned n)
{
    ni_putf(out, "%u more finding%s %s not shown", n, ni_plural(n), ni_is_or_are(n));
}

void ni_put_findings(struct ni_text *out, const struct ni_view *view, enum ni_severity least)
{
    static const struct {
        enum ni_tint tint;
        const char *title;
    } of[] = {
        [NI_INFO] = {NI_PLAIN, "Worth knowing"},
        [NI_WARNING] = {NI_YELLOW, "Warnings: the job is slower, or may fail"},
        [NI_ERROR] = {NI_RED, "Errors: the job fails, or silently loses RDMA"},
    };
    const struct ni_findings *all = view->findings;
    unsigned shown[NI_MAX_FINDINGS];
    const unsigned n = ni_list_shown_findings(all, least, shown);
    int title = -1; /* the severity whose title stands above */

    for (unsigned i = 0; i < n; i++) {
        const struct ni_finding *f = &all->at[shown[i]];
        const enum ni_severity severity = ni_finding_severity(f->id);
        struct ni_text hint = NI_TEXT(NI_FINDING_HINT);
        char head[64];

        if ((int)severity != title)
            ni_putf(out, "\n%s\n", of[severity].title);
        title = (int)severity;
        ni_format(head, sizeof(head), "%s: %s", ni_severity_text(severity), ni_finding_id(f->id));
        ni_put(out, "  ");
        ni_put_tinted(out, view->colour, of[severity].tint, head);
        ni_put(out, f->subject[0] ? ": " : "");
        ni_put_subjects(out, all, shown[i]);
        ni_put(out, "\n");
        ni_put_below(out, f->message);
        ni_put_hint(&hint, f);
        ni_put_below(out, hint.buf);
    }
    if (all->dropped > 0) {
        ni_put(out, "\n");
        ni_put_not_shown(out, all->dropped);
        ni_put(out, "\n");
    }
}

/* ---- in JSON ---- */

void ni_json_finding(struct ni_json *j, const struct ni_finding *f)
{
    struct ni_text hint = NI_TEXT(NI_FINDING_HINT);

    ni_put_hint(&hint, f);
    ni_json_object(j, NULL);
    ni_json_text(j, "id", ni_finding_id(f->id));
    ni_json_text(j, "severity", ni_severity_text(ni_finding_severity(f->id)));
    ni_json_text(j, "subject", f->subject);
    ni_json_text(j, "message", f->message);
    ni_json_text(j, "hint", hint.buf);
    ni_json_end(j);
}

void ni_json_findings(struct ni_json *j, const struct ni_findings *all)
{
    ni_json_array(j, "findings");
    for (int severity = NI_ERROR; severity >= NI_INFO; severity--)
        for (unsigned i = 0; i < all->n; i++)
            if ((int)ni_finding_severity(all->at[i].id) == severity)
                ni_json_finding(j, &all->at[i]);
    ni_json_end(j);
}
