/* SPDX-License-Identifier: Apache-2.0 */
/* doctor: what is wrong with this node and pod, whatever the variables say. */
#include "cli/cli.h"
#include "rules/rules.h"

/* --ignore: out of the text, the JSON and the exit status, but for how many there were. */
static void drop_ignored(struct ni_context *ctx)
{
    struct ni_findings *f = &ctx->findings;
    unsigned n = 0;

    ctx->diagnosis.ignore = ctx->options.ignore;
    for (unsigned i = 0; i < f->n; i++) {
        if (ctx->options.ignore[f->at[i].id])
            ctx->diagnosis.ignored[f->at[i].id]++;
        else
            f->at[n++] = f->at[i];
    }
    f->n = n;
}

int ni_cmd_doctor(struct ni_context *ctx)
{
    if (ctx->options.json && ctx->options.brief)
        return ni_usage(ctx, "--json and --brief exclude each other");
    int r = ni_flow(ctx);
    if (r != 0)
        return r;
    ni_diagnose(&ctx->work, &ctx->diagnosis);
    if (ctx->options.probe)
        (void)ni_try_ports(ctx); /* what fails is a finding */
    drop_ignored(ctx);
    r = ni_print_view(ctx, ctx->options.json    ? ni_put_doctor_json
                           : ctx->options.brief ? ni_put_doctor_brief
                                                : ni_put_doctor);
    return r != 0 ? r : ni_verdict(ctx);
}
