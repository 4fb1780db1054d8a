/* SPDX-License-Identifier: Apache-2.0 */
/* doctor: what is wrong with this node and pod, whatever the variables say. */
#include "nccl_init/cmd.h"
#include "nccl_init/decide.h"

static int write_doctor(int fd, void *arg)
{
    const struct ni_context *ctx = arg;
    const struct ni_view view = ni_flow_view(ctx);

    return ctx->options.json ? ni_write_doctor_json(fd, &view) : ni_write_doctor(fd, &view);
}

int ni_cmd_doctor(struct ni_context *ctx, char *const operands[])
{
    const struct ni_facts facts = {&ctx->inventory, &ctx->env, &ctx->options.policy};
    int r = ni_flow_open(ctx);

    (void)operands;
    if (r != 0)
        return r;
    ni_flow_decide(ctx);
    ni_diagnose(&facts, &ctx->plan, &ctx->findings, &ctx->diagnosis);
    if (ni_output(ctx, write_doctor, ctx) != 0)
        return NI_EXIT_FAILED;
    return ni_findings_count(&ctx->findings, NI_ERROR) > 0 ||
                   (ctx->options.strict && ni_findings_count(&ctx->findings, NI_WARNING) > 0)
               ? NI_EXIT_FAILED
               : 0;
}
