/* SPDX-License-Identifier: Apache-2.0 */
/* Progress on standard error: on a terminal a table that fills, in a log now and then a line. */
#include "cli/progress.h"

#include <string.h>

#include "cli/board.h"
#include "cli/context.h"
#include "cli/options.h"
#include "cli/progress_table.h"
#include "cli/say.h"
#include "nccl_init/text.h"
#include "system/process.h"

enum {
    /* in a log: between two lines, if they differ, or not */
    CHANGED_MS = 10000,
    SAME_MS = 30000
};

/* Returns true if a log is to have the line now. */
static bool is_due(struct ni_progress_table *t, const char *line, enum ni_progress kind)
{
    const char *tail = strrchr(line, ';'); /* the time that is left */
    const size_t n = tail ? (size_t)(tail - line) : strlen(line);
    const bool same = strlen(t->said) == n && strncmp(t->said, line, n) == 0;
    const int64_t now = ni_now_ms();

    if (kind != NI_NEW_PHASE && t->said_ms == 0) /* what takes less needs no line */
        t->said_ms = now;
    if (kind != NI_NEW_PHASE && now - t->said_ms < (same ? SAME_MS : CHANGED_MS))
        return false;
    t->said_ms = now;
    (void)ni_copyn(t->said, sizeof(t->said), line, n < sizeof(t->said) ? n : sizeof(t->said) - 1);
    return true;
}

void ni_progress(struct ni_context *ctx, const char *who, const char *what, const char *line,
                 enum ni_progress kind)
{
    ni_progress_show(ctx, what, line);
    if (!ni_progress_is_live(ctx) && is_due(&ctx->progress, line, kind))
        ni_say(ctx, NI_LOG_INFO, "%s: %s: %s", who, what, line);
}
