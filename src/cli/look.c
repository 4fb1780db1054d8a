/* SPDX-License-Identifier: Apache-2.0 */
/* One look at the node: facts, rules, and the facts that rules ask for. */
#include "cli/look.h"

#include "cli/context.h"
#include "node/gather.h"
#include "node/read.h"
#include "rules/rules.h"

/* Gathers, and runs the rules. The rules name the facts that they lack; these are read, and the
   rules run again. Each round reads facts that were not read before, so there are few rounds. */
void ni_look(struct ni_context *ctx, const struct ni_ask *ask)
{
    unsigned needs = 0;

    if (ctx->opened)
        ni_gather(&ctx->root, &ctx->env, ask, &ctx->inventory, &ctx->findings);
    ctx->findings.no_trial = ctx->inventory.n_gpu > 0 && ctx->inventory.gpu[0].amd;
    do {
        const unsigned n = ctx->findings.n, dropped = ctx->findings.dropped;

        ni_decide(&ctx->work);
        needs = ctx->opened && !ask->off ? ctx->plan.needs & ~ctx->inventory.read : 0;
        if (needs != 0) {
            ctx->findings.n = n;
            ctx->findings.dropped = dropped;
            ni_gather_more(&ctx->root, &ctx->env, ask, needs, &ctx->inventory, &ctx->findings);
        }
    } while (needs != 0);
}
