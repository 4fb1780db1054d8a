/* SPDX-License-Identifier: Apache-2.0 */
/* --wait: looks again until link, address and GID of the pod's HCAs are there, or the time is
   over. The files are the only thing asked; a look every 50 ms costs less than what is waited for.
   */
#include "nccl_init/act.h"
#include "nccl_init/cmd.h"
#include "nccl_init/decide.h"

#include <string.h>

enum { LOOK_MS = 50 };

static void look_until_ready(struct ni_context *ctx, const struct ni_ask *ask, struct ni_wait *wait)
{
    char first[512], buf[512];
    struct ni_text missing = ni_text_on(first, sizeof(first));
    const unsigned findings = ctx->findings.n, dropped = ctx->findings.dropped;
    const int64_t limit = (int64_t)ctx->options.wait * 1000, start = ni_now_ms();

    buf[0] = '\0';
    ni_look(ctx, ask);
    if (ni_is_ready(&ctx->inventory, &missing))
        return;
    for (int64_t waited; (waited = ni_now_ms() - start) < limit;) {
        if (ni_wait_ms(wait, limit - waited < LOOK_MS ? limit - waited : LOOK_MS))
            return;
        memset(&ctx->inventory, 0, sizeof(ctx->inventory));
        memset(&ctx->plan, 0, sizeof(ctx->plan));
        ctx->findings.n = findings;
        ctx->findings.dropped = dropped;
        ni_look(ctx, ask);
        missing = ni_text_on(buf, sizeof(buf));
        if (ni_is_ready(&ctx->inventory, &missing)) {
            ni_say(ctx, NI_LOG_INFO, "waited %lld ms for %s", (long long)(ni_now_ms() - start),
                   first);
            return;
        }
    }
    ni_report(&ctx->findings, NI_F_WAIT_OVER, "--wait", "after %u s still missing: %s",
              ctx->options.wait, buf[0] ? buf : first);
}

void ni_wait_and_look(struct ni_context *ctx, const struct ni_ask *ask)
{
    struct ni_wait wait;

    if (!ctx->opened || ctx->options.wait == 0 || ctx->root.kind != NI_ROOT_LIVE ||
        ctx->options.policy.mode == NI_MODE_TCP) {
        ni_look(ctx, ask);
        return;
    }
    ni_wait_begin(&wait);
    look_until_ready(ctx, ask, &wait);
    ni_wait_end(&wait); /* which may end the program */
}
