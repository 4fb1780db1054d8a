/* SPDX-License-Identifier: Apache-2.0 */
/* plan: what would be done, and why. */
#include "nccl_init/cmd.h"
#include "nccl_init/decide.h"

/* The table as it is run, for people who look for the rule that decided. */
static int list_rules(struct ni_context *ctx)
{
    char buf[8192];
    struct ni_text t = ni_text_on(buf, sizeof(buf));
    unsigned n;
    const struct ni_rule *rules = ni_rules(&n);

    for (unsigned i = 0; i < n; i++)
        ni_putf(&t, "%s%s\n    reads  %s\n    sets   %s\n", i ? "\n" : "", rules[i].id,
                rules[i].reads, rules[i].sets);
    return ni_print(ctx, &t);
}

int ni_cmd_plan(struct ni_context *ctx, char *const operands[])
{
    const struct ni_work work = ni_flow_work(ctx);
    int r;

    (void)operands;
    if (ctx->options.rules)
        return list_rules(ctx);
    r = ni_flow_open(ctx);
    if (r != 0)
        return r;
    ni_flow_decide(ctx);
    ni_note_slow_rails(&work);
    return ni_print_view(ctx, ctx->options.json ? ni_put_plan_json : ni_put_plan);
}
