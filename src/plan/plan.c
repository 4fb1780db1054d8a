/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs plan and topo: what would be done and why; how far each GPU is from each port. */
#include "plan/plan.h"

#include "cli/context.h"
#include "cli/flow.h"
#include "cli/option.h"
#include "cli/say.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/text.h"
#include "plan/answer.h"
#include "plan/report.h"
#include "plan/report_json.h"
#include "plan/topo.h"
#include "plan/topo_svg.h"
#include "rules/rules.h"
#include "rules/slow_rails.h"

/* ---- options ---- */

struct ni_plan_options ni_plan_options;

static const struct ni_option plan_options[] = {
    {
        .name = "dot",
        .verbs = NI_VERB_TOPO,
        .take = ni_take_switch,
        .at = offsetof(struct ni_plan_options, dot),
        .help = "print the PCI tree as a graph for Graphviz",
    },
    {
        .name = "rules",
        .verbs = NI_VERB_PLAN,
        .take = ni_take_switch,
        .at = offsetof(struct ni_plan_options, rules),
        .help = "list the rules: the id of each, what it reads and what it may set",
    },
    {
        .name = "gids",
        .verbs = NI_VERB_PLAN,
        .take = ni_take_switch,
        .at = offsetof(struct ni_plan_options, gids),
        .help = "also list the GID tables of the pod's ports, as show_gids does, and the "
                "owner of each entry",
    },
};
const struct ni_option_rows ni_plan_rows = {
    plan_options,
    NI_COUNT(plan_options),
    &ni_plan_options,
    sizeof(ni_plan_options),
};

int ni_cmd_plan(struct ni_context *ctx)
{
    struct ni_text rules = NI_TEXT(4096);
    const bool json = ctx->options.json, listed = ni_plan_options.rules,
               gids = ni_plan_options.gids;

    if (json + listed + gids > 1)
        return ni_usage(ctx, "--json, --rules and --gids exclude each other");
    if (listed) {
        ni_put_rules(&rules);
        return ni_print(ctx, &rules);
    }
    const int r = ni_flow(ctx);
    if (r != 0)
        return r;
    ni_note_slow_rails(&ctx->work);
    ni_findings_drop_weaker(&ctx->findings);
    if (json)
        return ni_print_view(ctx, ni_put_plan_json);
    if (gids)
        return ni_print_view(ctx, ni_put_plan_with_gids);
    if (ctx->options.all)
        return ni_print_view(ctx, ni_put_plan);
    return ni_print_view(ctx, ni_put_plan_answer);
}

/* Writes the picture of --svg. 0, or an exit status. */
static int draw_topo(struct ni_context *ctx)
{
    ctx->options.output = ctx->options.svg;
    const int status = ni_print_view(ctx, ni_put_topo_svg);
    ctx->options.output = NULL;
    return status;
}

int ni_cmd_topo(struct ni_context *ctx)
{
    if (ctx->options.json && ni_plan_options.dot)
        return ni_usage(ctx, "--json and --dot exclude each other");
    const int r = ni_flow(ctx);
    if (r != 0)
        return r;
    if (ctx->options.svg && draw_topo(ctx) != 0)
        return NI_EXIT_FAILED;
    if (ctx->options.json)
        return ni_print_view(ctx, ni_put_plan_json);
    if (ni_plan_options.dot)
        return ni_print_view(ctx, ni_put_topo_dot);
    if (ctx->options.all)
        return ni_print_view(ctx, ni_put_topo);
    return ni_print_view(ctx, ni_put_topo_answer);
}
