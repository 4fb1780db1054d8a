/* SPDX-License-Identifier: Apache-2.0 */
/* topo: how far each GPU is from each HCA. */
#include "nccl_init/cmd.h"

int ni_cmd_topo(struct ni_context *ctx, char *const operands[])
{
    int r;

    (void)operands;
    if (ctx->options.json && ctx->options.dot)
        return ni_usage(ctx, "--json and --dot exclude each other");
    r = ni_flow_open(ctx);
    if (r != 0)
        return r;
    ni_flow_decide(ctx);
    if (ctx->options.json)
        return ni_print_view(ctx, ni_put_topo_json);
    return ni_print_view(ctx, ctx->options.dot ? ni_put_topo_dot : ni_put_topo);
}
