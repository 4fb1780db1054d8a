/* SPDX-License-Identifier: Apache-2.0 */
/* The verb completion: the scripts for shells, which the build puts into the program. */
#include "about/completion.h"

#include <string.h>

#include "cli/context.h"
#include "cli/flow.h"
#include "cli/say.h"
#include "nccl_init/base.h"
#include "nccl_init/text.h"
#include "print/layout.h"

static const struct {
    const char *shell, *script;
} scripts[] = {
    {"bash", ni_completion_bash},
    {"zsh", ni_completion_zsh},
    {"fish", ni_completion_fish},
};

int ni_cmd_completion(struct ni_context *ctx)
{
    const char *shell = ctx->operands[0];
    struct ni_text out;

    if (!shell || ctx->operands[1])
        return ni_usage(ctx, "`completion` takes one shell: bash, zsh or fish");
    for (unsigned i = 0; i < NI_COUNT(scripts); i++) {
        if (strcmp(shell, scripts[i].shell) != 0)
            continue;
        out = ni_long_text();
        ni_put(&out, scripts[i].script);
        return ni_print_long(ctx, &out);
    }
    return ni_usage(ctx, "there is no completion for `%.64s`, only for bash, zsh and fish", shell);
}
