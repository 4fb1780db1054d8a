/* SPDX-License-Identifier: Apache-2.0 */
/* --wait: looks at the node again until the HCAs of the pod have link, address and GID and the
   metadata of DRA drivers is written, or the time is over. It only reads files. A look every 50
   ms costs less than the late device costs the job. */
#include "cli/wait.h"

#include <string.h>

#include "cli/context.h"
#include "cli/look.h"
#include "cli/options.h"
#include "cli/say.h"
#include "findings/pod.h"
#include "nccl_init/findings.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "node/read.h"
#include "rules/ready.h"
#include "sysroot/root.h"
#include "system/process.h"

enum { LOOK_MS = 50 };

void ni_wait_and_look(struct ni_context *ctx, const struct ni_ask *ask)
{
    const unsigned findings = ctx->findings.n, dropped = ctx->findings.dropped;
    const int64_t limit = (int64_t)ctx->options.wait * 1000;
    char first[512]; /* what was missing at the first look */
    struct ni_wait wait;
    int64_t start;

    if (!ctx->opened || limit == 0 || ctx->root.kind != NI_ROOT_LIVE ||
        ctx->options.policy.mode == NI_MODE_TCP) {
        ni_look(ctx, ask);
        return;
    }
    first[0] = '\0';
    start = ni_now_ms();
    ni_wait_begin(&wait);
    for (;;) {
        struct ni_text missing = NI_TEXT(sizeof(first));

        ni_look(ctx, ask);
        const bool ready = ni_is_ready(&ctx->inventory, &missing);
        const int64_t waited = ni_now_ms() - start, left = limit - waited;
        if (ready && first[0])
            ni_say(ctx, NI_LOG_INFO, "waited %lld ms for %s", (long long)waited, first);
        else if (!ready && left <= 0)
            ni_report(&ctx->findings, NI_F_WAIT_OVER, "--wait", "after %u s still missing: %s",
                      ctx->options.wait, missing.buf);
        if (ready || left <= 0 || ni_wait_ms(&wait, left < LOOK_MS ? left : LOOK_MS))
            break;
        if (!first[0])
            (void)ni_copy(first, sizeof(first), missing.buf);
        memset(&ctx->inventory, 0, sizeof(ctx->inventory));
        memset(&ctx->plan, 0, sizeof(ctx->plan));
        ctx->findings.n = findings;
        ctx->findings.dropped = dropped;
    }
    ni_wait_end(&wait); /* a signal that arrived meanwhile may end the program here */
}
