/* SPDX-License-Identifier: Apache-2.0 */
/* The verb of a command line, and the call of its function. */
#include "cli/dispatch.h"

#include <string.h>

#include "cli/args.h"
#include "cli/context.h"
#include "cli/help.h"
#include "cli/program.h"
#include "cli/say.h"
#include "nccl_init/text.h"

int ni_main(struct ni_context *ctx, const struct ni_program *program, int argc, char *argv[],
            char *envp[])
{
    const struct ni_verb *verb = &program->verb[0];

    ni_context_init(ctx, program, envp);
    if (argc < 2)
        return ni_usage(ctx, "no command; see `nccl-init --help`");
    if (strcmp(argv[1], "--version") == 0)
        return ni_cmd_version(ctx);
    const bool named = argv[1][0] != '-';
    if (named)
        verb = ni_verb_named(program, ni_span_of(argv[1]));
    if (!verb)
        return ni_usage(ctx,
                        "`%s` is not a verb; see `nccl-init --help`; to run it: nccl-init -- %s",
                        argv[1], argv[1]);
    ctx->verb = verb->bit;
    int r = ni_args_parse(ctx, argv + (named ? 2 : 1));
    if (r == 0 && ctx->help)
        return ni_cmd_help(ctx, named ? verb : NULL);
    if (r == 0)
        r = ni_args_env(ctx, &ctx->own, false);
    if (r != 0)
        return r;
    if (*ctx->operands && !verb->operands)
        return ni_usage(ctx,
                        "`%s` takes no operands; to run a program of that name: nccl-init -- %s",
                        verb->name, verb->name);
    if (*ctx->operands && !named && !ctx->separator)
        return ni_usage(ctx, "put `--` before the command: nccl-init [OPTION...] -- %s",
                        *ctx->operands);
    return verb->run(ctx);
}
