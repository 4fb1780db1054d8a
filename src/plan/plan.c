/* SPDX-License-Identifier: Apache-2.0 */
/* plan: what would be done, and why. topo: how far each GPU is from each port. */
#include "plan/plan.h"

#include "cli/dispatch.h"
#include "cli/flow.h"
#include "cli/options.h"
#include "cli/say.h"
#include "nccl_init/text.h"
#include "plan/report.h"
#include "plan/report_json.h"
#include "plan/topo.h"
#include "rules/rules.h"
#include "rules/slow_rails.h"

int ni_cmd_plan(struct ni_context *ctx)
{
    struct ni_text rules = NI_TEXT(4096);
    const struct ni_options *o = &ctx->options;

    if (o->json ? o->rules || o->gids : o->rules && o->gids)
        return ni_usage(ctx, "--json, --rules and --gids exclude each other");
    if (o->rules) {
        ni_put_rules(&rules);
        return ni_print(ctx, &rules);
    }
    const int r = ni_flow(ctx);
    if (r != 0)
        return r;
    ni_note_slow_rails(&ctx->work);
    return ni_print_view(ctx, o->json ? ni_put_plan_json : ni_put_plan);
}

int ni_cmd_topo(struct ni_context *ctx)
{
    if (ctx->options.json && ctx->options.dot)
        return ni_usage(ctx, "--json and --dot exclude each other");
    const int r = ni_flow(ctx);
    if (r != 0)
        return r;
    return ni_print_view(ctx, ctx->options.json  ? ni_put_plan_json
                              : ctx->options.dot ? ni_put_topo_dot
                                                 : ni_put_topo);
}
