/* SPDX-License-Identifier: Apache-2.0 */
/* doctor: what is wrong with this node and pod, whatever the variables say. */
#include "doctor/doctor.h"

#include "cli/dispatch.h"
#include "cli/flow.h"
#include "cli/say.h"
#include "doctor/checks.h"
#include "doctor/report.h"
#include "nccl_init/findings.h"
#include "nccl_init/text.h"
#include "print/layout.h"
#include "print/words.h"
#include "selftest/selftest.h"
#include "selftest/trials.h"

/* --ignore: out of the text, the JSON and the exit status, but for how many there were. */
static void drop_ignored(struct ni_context *ctx, struct ni_diagnosis *diagnosis)
{
    struct ni_findings *f = &ctx->findings;
    unsigned n = 0;

    diagnosis->ignore = ctx->options.ignore;
    for (unsigned i = 0; i < f->n; i++) {
        if (ctx->options.ignore[f->at[i].id])
            diagnosis->ignored[f->at[i].id]++;
        else
            f->at[n++] = f->at[i];
    }
    f->n = n;
}

int ni_cmd_doctor(struct ni_context *ctx)
{
    struct ni_diagnosis diagnosis = {.n = 0};
    const struct ni_trials *trials = NULL;
    struct ni_text text;
    struct ni_view view;
    int r;

    if (ctx->options.json && ctx->options.brief)
        return ni_usage(ctx, "--json and --brief exclude each other");
    r = ni_flow(ctx);
    if (r != 0)
        return r;
    ni_diagnose(&ctx->work, &diagnosis);
    if (ctx->options.probe)
        trials = ni_try_ports(ctx); /* what fails is a finding */
    drop_ignored(ctx, &diagnosis);
    view = ni_flow_view(ctx);
    text = ni_long_text();
    if (ctx->options.json)
        ni_put_doctor_json(&text, &view, &diagnosis, trials);
    else if (ctx->options.brief)
        ni_put_doctor_brief(&text, &view);
    else
        ni_put_doctor(&text, &view, &diagnosis, trials);
    r = ni_print_long(ctx, &text);
    return r != 0 ? r : ni_verdict(ctx);
}
