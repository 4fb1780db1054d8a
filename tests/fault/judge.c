/* SPDX-License-Identifier: Apache-2.0 */
/* The judge: same, less, different but true, refused, or wrong. It looks at what came out, never at
   how the program came to it. */
#include <string.h>

#include "cli/context.h"
#include "cli/option.h"
#include "doctor/checks.h"
#include "inject.h"
#include "nccl_init/findings.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "system/exec.h"

static bool is_same_finding(const struct ni_finding *a, const struct ni_finding *b)
{
    return a->id == b->id && strcmp(a->subject, b->subject) == 0 &&
           strcmp(a->message, b->message) == 0;
}

static bool has(const struct ni_findings *f, const struct ni_finding *it)
{
    for (unsigned i = 0; i < f->n; i++)
        if (is_same_finding(&f->at[i], it))
            return true;
    return false;
}

/* Some finding that the clean run has not is about the file that failed. */
static bool is_said(const struct truth *truth, const struct result *clean,
                    const struct ni_context *ctx, const struct passed *at)
{
    if (ctx->findings.dropped > clean->findings.dropped)
        return true; /* that there are more than are shown is said */
    for (unsigned i = 0; i < ctx->findings.n; i++)
        if (!has(&clean->findings, &ctx->findings.at[i]) &&
            names_fault(truth, &ctx->findings.at[i], at))
            return true;
    return false;
}

/* doctor says of a check that it could not be made from inside the pod. */
static bool is_unknown_now(const struct result *clean)
{
    for (unsigned i = 0; i < diagnosis.n && i < clean->diagnosis.n; i++)
        if (diagnosis.at[i].outcome == NI_CHECK_UNKNOWN &&
            clean->diagnosis.at[i].outcome != NI_CHECK_UNKNOWN)
            return true;
    return false;
}

/* A finding of the clean run about something else than an info is gone: id and subject. */
static const struct ni_finding *lost(const struct result *clean, const struct ni_context *ctx)
{
    for (unsigned i = 0; i < clean->findings.n; i++) {
        const struct ni_finding *it = &clean->findings.at[i];
        bool there = ni_finding_severity(it->id) == NI_INFO;
        for (unsigned k = 0; k < ctx->findings.n && !there; k++)
            there = ctx->findings.at[k].id == it->id &&
                    strcmp(ctx->findings.at[k].subject, it->subject) == 0;
        if (!there)
            return it;
    }
    return NULL;
}

/* env writes what the plan says, and nothing else. */
static bool is_written(const struct ni_context *ctx, struct ni_text *why)
{
    char want[NI_MAX_SETTING * (NI_VALUE + 64)];
    struct ni_text t = ni_text_on(want, sizeof(want));
    struct ni_span got = door_output();

    for (unsigned i = 0; i < ctx->plan.n_setting; i++)
        if (ctx->plan.setting[i].origin == NI_FROM_RULE)
            ni_putf(&t, "%s=%s\n", ctx->plan.setting[i].name, ctx->plan.setting[i].value);
    if (got.n == t.len && memcmp(got.p, want, got.n) == 0)
        return true;
    ni_put(why, "what was written is not the plan");
    return false;
}

/* 125: by the plan, with a reason, for something that was demanded and holds without the fault. */
static enum verdict judge_refusal(const struct truth *truth, const struct result *clean,
                                  const struct ni_context *ctx, const struct passed *at,
                                  bool without, struct ni_text *why)
{
    const struct ni_policy *p = &ctx->options.policy;

    if (!ctx->plan.refuse || !ctx->plan.refuse_why[0] || !p->require) {
        ni_put(why, "refused without a demand or a reason");
        return WRONG;
    }
    if (!without && !is_said(truth, clean, ctx, at) && !strstr(ctx->plan.refuse_why, at->path)) {
        ni_put(why, "refused, and nothing tells which file failed");
        return WRONG;
    }
    return REFUSED;
}

enum verdict judge(const struct truth *truth, const struct result *clean,
                   const struct ni_context *ctx, int status, const struct passed *at,
                   enum fault fault, struct ni_text *why)
{
    bool without = may_be_so(at, fault);

    if (status == NI_EXIT_REFUSED && strcmp(at->path, "proc/self/environ") == 0)
        return REFUSED; /* of a recording: what the pod was given is not known, a usage error */
    if (status == NI_EXIT_REFUSED && clean->status != NI_EXIT_REFUSED)
        return judge_refusal(truth, clean, ctx, at, without, why);
    /* NCCL cannot open such an HCA either: without it the demand may hold. */
    const bool lost_hca = at->call == CALL_OPEN && is_said(truth, clean, ctx, at);
    if (clean->status == NI_EXIT_REFUSED && status != NI_EXIT_REFUSED && !without && !lost_hca) {
        ni_put(why, "no longer refused");
        return WRONG;
    }
    if (ctx->verb != NI_VERB_DOCTOR && status != clean->status &&
        clean->status != NI_EXIT_REFUSED) {
        ni_putf(why, "exit status %d", status);
        return WRONG;
    }
    enum verdict v = judge_settings(truth, &clean->plan, ctx, without, why);
    if (v == WRONG)
        return WRONG;
    if (ctx->verb == NI_VERB_ENV && status == 0 && !is_written(ctx, why))
        return WRONG;
    bool said = is_said(truth, clean, ctx, at) || is_unknown_now(clean);
    if (!said && without)
        return v == SAME && !lost(clean, ctx) ? SAME : WITHOUT;
    if (v != SAME && !said) {
        ni_put(why, v == LESS ? "less, and nobody says why" : "different, and nobody says why");
        return WRONG;
    }
    const struct ni_finding *gone = v == SAME && !said ? lost(clean, ctx) : NULL;
    if (gone) {
        ni_putf(why, "%s of %s is gone, and nobody says why", ni_finding_id(gone->id),
                gone->subject);
        return WRONG;
    }
    return v;
}
