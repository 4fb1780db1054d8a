/* SPDX-License-Identifier: Apache-2.0 */
/* env: the settings in a form that something else reads. */
#include "nccl_init/act.h"
#include "nccl_init/cmd.h"

#include <errno.h>

struct request {
    const struct ni_context *ctx;
    const struct ni_setting *bad;
};

static int write_settings(int fd, void *arg)
{
    struct request *r = arg;

    return ni_write_env(fd, &r->ctx->plan, r->ctx->options.format, &r->bad);
}

int ni_cmd_env(struct ni_context *ctx, char *const operands[])
{
    struct request request = {.ctx = ctx};
    int r = ni_flow_open(ctx);

    (void)operands;
    if (r != 0)
        return r;
    ni_flow_decide(ctx);
    ni_say_findings(ctx);
    if (ctx->plan.refuse) {
        /* Of another node this pod's termination log says nothing. */
        if (ctx->root.kind == NI_ROOT_LIVE)
            ni_last_words(ctx, ctx->plan.refuse_why, true);
        else
            ni_say(ctx, NI_LOG_ERROR, "%s", ctx->plan.refuse_why);
        return NI_EXIT_REFUSED;
    }
    r = ni_output(ctx, write_settings, &request);
    if (r == -EILSEQ)
        ni_say(ctx, NI_LOG_ERROR, "%s: this format cannot carry the value `%s`",
               request.bad ? request.bad->name : "?", request.bad ? request.bad->value : "");
    return r == 0 ? 0 : NI_EXIT_FAILED;
}
