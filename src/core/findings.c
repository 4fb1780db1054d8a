/* SPDX-License-Identifier: Apache-2.0 */
/* The catalogue of findings, and the list to which facts, rules and tools append. */
#include <stdlib.h>
#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/text.h"

static const struct ni_finding_kind catalogue[] = {
#define NI_FINDING_KIND(name, id, severity, hint) {id, severity, hint},
    NI_FINDINGS(NI_FINDING_KIND)
#undef NI_FINDING_KIND
};
_Static_assert(NI_COUNT(catalogue) == NI_F_COUNT, "one entry for each id");

const struct ni_finding_kind *ni_finding_kind(enum ni_finding_id id)
{
    return &catalogue[id];
}

const char *ni_severity_text(enum ni_severity severity)
{
    static const char *const text[] = {"info", "warning", "error"};

    return text[severity];
}

void ni_report(struct ni_findings *f, enum ni_finding_id id, const char *subject, const char *fmt,
               ...)
{
    struct ni_finding it = {.id = id};
    bool has[NI_F_COUNT] = {false};
    unsigned again = 0; /* findings with the id of an earlier one */
    struct ni_text s = ni_text_on(it.subject, sizeof(it.subject));

    ni_put_quoted(&s, subject, strlen(subject), sizeof(it.subject));
    struct ni_text m = NI_TEXT(sizeof(it.message));
    struct ni_text message = ni_text_on(it.message, sizeof(it.message));
    va_list ap;
    va_start(ap, fmt);
    ni_vputf(&m, fmt, ap);
    va_end(ap);
    ni_quote(&message, m.buf);
    for (unsigned i = 0; i < f->n; i++) {
        const struct ni_finding *old = &f->at[i];

        if (old->id == id && strcmp(old->subject, it.subject) == 0 &&
            strcmp(old->message, it.message) == 0)
            return;
        again += has[old->id];
        has[old->id] = true;
    }
    if (!has[id] || again < NI_MAX_AGAIN)
        f->at[f->n++] = it;
    else
        f->dropped++;
}

static int cmp(const void *x, const void *y)
{
    const struct ni_finding *a = x, *b = y;
    int order = strcmp(a->subject, b->subject);

    if (order == 0)
        order = (a->id > b->id) - (a->id < b->id);
    return order ? order : strcmp(a->message, b->message);
}

void ni_findings_sort(struct ni_findings *f, unsigned from)
{
    qsort(f->at + from, f->n - from, sizeof(f->at[0]), cmp);
}

unsigned ni_findings_count(const struct ni_findings *f, enum ni_severity severity)
{
    unsigned n = 0;

    for (unsigned i = 0; i < f->n; i++)
        n += catalogue[f->at[i].id].severity == severity;
    return n;
}

bool ni_findings_has(const struct ni_findings *f, enum ni_finding_id id)
{
    for (unsigned i = 0; i < f->n; i++) {
        if (f->at[i].id == id)
            return true;
    }
    return false;
}
