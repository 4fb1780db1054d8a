/* SPDX-License-Identifier: Apache-2.0 */
/* topo: how far each GPU is from each HCA. */
#include "nccl_init/cmd.h"

static int write_topo(int fd, void *arg)
{
    const struct ni_context *ctx = arg;
    const struct ni_view view = ni_flow_view(ctx);

    if (ctx->options.json)
        return ni_write_topo_json(fd, &view);
    return ctx->options.dot ? ni_write_topo_dot(fd, &view) : ni_write_topo(fd, &view);
}

int ni_cmd_topo(struct ni_context *ctx, char *const operands[])
{
    int r;

    (void)operands;
    if (ctx->options.json && ctx->options.dot)
        return ni_usage(ctx, "--json and --dot: one of them");
    r = ni_flow_open(ctx);
    if (r != 0)
        return r;
    ni_flow_decide(ctx);
    return ni_output(ctx, write_topo, ctx) == 0 ? 0 : NI_EXIT_FAILED;
}
