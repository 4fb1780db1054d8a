/* SPDX-License-Identifier: Apache-2.0 */
/* The catalogue of findings: looking one up, and its words. */
#include <stdlib.h>
#include <string.h>

#include "findings/device.h"
#include "findings/job.h"
#include "findings/log.h"
#include "findings/pod.h"
#include "findings/setting.h"
#include "findings/verbs.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/text.h"

/* The numbers of a subject are from `first` to before `end`. */
static const struct {
    const struct ni_finding_kind *rows;
    unsigned first, end;
} subjects[] = {
    {ni_device_findings, NI_FINDINGS_DEVICE, NI_FINDINGS_DEVICE_END},
    {ni_pod_findings, NI_FINDINGS_POD, NI_FINDINGS_POD_END},
    {ni_setting_findings, NI_FINDINGS_SETTING, NI_FINDINGS_SETTING_END},
    {ni_job_findings, NI_FINDINGS_JOB, NI_FINDINGS_JOB_END},
    {ni_verbs_findings, NI_FINDINGS_VERBS, NI_FINDINGS_VERBS_END},
    {ni_log_findings, NI_FINDINGS_LOG, NI_FINDINGS_LOG_END},
};

_Static_assert((unsigned)NI_FINDINGS_DEVICE_END <= NI_FINDINGS_POD, "no number twice");
_Static_assert((unsigned)NI_FINDINGS_POD_END <= NI_FINDINGS_SETTING, "no number twice");
_Static_assert((unsigned)NI_FINDINGS_SETTING_END <= NI_FINDINGS_JOB, "no number twice");
_Static_assert((unsigned)NI_FINDINGS_JOB_END <= NI_FINDINGS_VERBS, "no number twice");
_Static_assert((unsigned)NI_FINDINGS_VERBS_END <= NI_FINDINGS_LOG, "no number twice");
_Static_assert((unsigned)NI_FINDINGS_LOG_END <= NI_F_END, "no number twice");

enum {
    KINDS =
        (NI_FINDINGS_DEVICE_END - NI_FINDINGS_DEVICE) + (NI_FINDINGS_POD_END - NI_FINDINGS_POD) +
        (NI_FINDINGS_SETTING_END - NI_FINDINGS_SETTING) + (NI_FINDINGS_JOB_END - NI_FINDINGS_JOB) +
        (NI_FINDINGS_VERBS_END - NI_FINDINGS_VERBS) + (NI_FINDINGS_LOG_END - NI_FINDINGS_LOG)
};
_Static_assert((int)KINDS <= (int)NI_MAX_KINDS, "room for the first of each");

/* What a finding costs the job decides its severity (docs/reference/findings.md, Severity). */
static const struct {
    enum ni_severity severity;
    const char *words;
} costs[] = {
    [NI_COST_FAILS] = {NI_ERROR, "the job fails"},
    [NI_COST_RDMA] = {NI_ERROR, "RDMA is lost"},
    [NI_COST_DEMAND] = {NI_ERROR, "a demand is not met"},
    [NI_COST_SLOWER] = {NI_WARNING, "the job is slower"},
    [NI_COST_MAY_FAIL] = {NI_WARNING, "the job may fail"},
    [NI_COST_IGNORED] = {NI_WARNING, "something is ignored"},
    [NI_COST_NOTHING] = {NI_INFO, "nothing is lost"},
};

static const struct ni_finding_kind none = {.number = NI_F_NONE, .id = "", .cost = NI_COST_NOTHING};

const struct ni_finding_kind *ni_finding_kind(ni_finding_number number)
{
    for (unsigned i = 0; i < NI_COUNT(subjects); i++) {
        if (number >= subjects[i].first && number < subjects[i].end)
            return &subjects[i].rows[number - subjects[i].first];
    }
    return &none;
}

const char *ni_finding_id(ni_finding_number number)
{
    return ni_finding_kind(number)->id;
}

enum ni_severity ni_finding_severity(ni_finding_number number)
{
    return costs[ni_finding_kind(number)->cost].severity;
}

const char *ni_cost_text(enum ni_cost cost)
{
    return costs[cost].words;
}

ni_finding_number ni_finding_named(struct ni_span id)
{
    for (unsigned i = 0; i < NI_COUNT(subjects); i++) {
        for (unsigned k = 0; k < subjects[i].end - subjects[i].first; k++) {
            const struct ni_finding_kind *kind = &subjects[i].rows[k];

            if (ni_span_is(id, kind->id))
                return kind->number;
        }
    }
    return NI_F_NONE;
}

static int cmp_ids(const void *x, const void *y)
{
    const ni_finding_number *a = x, *b = y;

    return strcmp(ni_finding_id(*a), ni_finding_id(*b));
}

unsigned ni_list_finding_kinds(ni_finding_number ret[NI_MAX_KINDS])
{
    unsigned n = 0;

    for (unsigned i = 0; i < NI_COUNT(subjects); i++) {
        for (unsigned number = subjects[i].first; number < subjects[i].end; number++)
            ret[n++] = number;
    }
    qsort(ret, n, sizeof(ret[0]), cmp_ids);
    return n;
}

const char *ni_severity_text(enum ni_severity severity)
{
    static const char *const text[] = {"info", "warning", "error"};

    return text[severity];
}

/* ---- the hint ---- */

unsigned ni_finding_advice(const struct ni_finding *f, struct ni_advice ret[NI_MAX_ADVICE])
{
    const struct ni_finding_kind *kind = ni_finding_kind(f->id);
    const struct ni_advice note = {NULL, "", kind->note};
    const struct ni_advice user = {"user", "User: ", f->user ? f->user : kind->user};
    const struct ni_advice admin = {"cluster admin",
                                    "Cluster admin: ", f->admin ? f->admin : kind->admin};
    const struct ni_advice trial = {NULL, "", f->no_trial ? NULL : kind->trial};
    struct ni_advice all[NI_MAX_ADVICE] = {note, user, admin, trial};
    unsigned n = 0;

    if (kind->admin_first) {
        all[1] = admin;
        all[2] = user;
    }
    for (unsigned i = 0; i < NI_MAX_ADVICE; i++) {
        if (all[i].text && *all[i].text)
            ret[n++] = all[i];
    }
    return n;
}

void ni_put_hint(struct ni_text *t, const struct ni_finding *f)
{
    struct ni_advice advice[NI_MAX_ADVICE];
    const unsigned n = ni_finding_advice(f, advice);

    for (unsigned i = 0; i < n; i++) {
        ni_put(t, i > 0 ? " " : "");
        ni_put(t, advice[i].label);
        ni_put(t, advice[i].text);
    }
}
