/* SPDX-License-Identifier: Apache-2.0 */
/* doctor: what is wrong with this node and pod, whatever the variables say. */
#include "nccl_init/cmd.h"
#include "nccl_init/decide.h"

#include <string.h>

/* --ignore: out of the text, the JSON and the exit status, but for how many there were. */
static void drop_ignored(struct ni_context *ctx)
{
    struct ni_findings *f = &ctx->findings;
    unsigned n = 0;

    for (unsigned i = 0; i < NI_F_COUNT; i++)
        ctx->diagnosis.ignored[i].asked = ctx->options.ignore[i];
    for (unsigned i = 0; i < f->n; i++) {
        if (ctx->options.ignore[f->at[i].id])
            ctx->diagnosis.ignored[f->at[i].id].n++;
        else
            f->at[n++] = f->at[i];
    }
    f->n = n;
}

int ni_cmd_doctor(struct ni_context *ctx, char *const operands[])
{
    const struct ni_work work = ni_flow_work(ctx);
    int r;

    (void)operands;
    if (ctx->options.json && ctx->options.brief)
        return ni_usage(ctx, "--json and --brief exclude each other");
    if (ctx->options.probe && strcmp(ctx->options.root, "/") != 0)
        return ni_usage(ctx, "--probe asks the devices of this machine; a recorded node has none");
    r = ni_flow_open(ctx);
    if (r != 0)
        return r;
    ni_flow_decide(ctx);
    ni_diagnose(&work, &ctx->diagnosis);
    if (ctx->options.probe && ni_try_ports(ctx, true) == 0)
        ni_diagnose_probes(ctx->trials, &ctx->findings, &ctx->diagnosis);
    drop_ignored(ctx);
    r = ni_print_view(ctx, ctx->options.json    ? ni_put_doctor_json
                           : ctx->options.brief ? ni_put_doctor_brief
                                                : ni_put_doctor);
    return r != 0 ? r : ni_verdict(ctx);
}
