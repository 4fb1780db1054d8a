/* SPDX-License-Identifier: Apache-2.0 */
/* The context: one invocation of the program. */
#include "cli/context.h"

#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "cli/option.h"
#include "cli/options.h"
#include "cli/program.h"
#include "rules/decide.h"

void ni_context_init(struct ni_context *ctx, const struct ni_program *program, char *const envp[])
{
    ctx->program = program;
    ni_options_init(ctx);
    ctx->own.entry = ctx->env.entry = envp;
    ctx->work = (struct ni_work){&ctx->inventory, &ctx->env, &ctx->options.policy, &ctx->plan,
                                 &ctx->findings};
}

/* Returns the struct into which option number i writes: that of its room, or the common one. */
static void *struct_of_option(struct ni_context *ctx, unsigned i)
{
    void *of_tool = ni_option_values(ctx->program, i);

    return of_tool ? of_tool : &ctx->options;
}

int ni_option_take(struct ni_context *ctx, unsigned i, const char *value)
{
    const struct ni_option *option = ni_option_at(ctx->program, i);

    return option->take(option, value, (char *)struct_of_option(ctx, i) + option->at);
}

int ni_option_check(const struct ni_option *option, const char *value)
{
    struct ni_options unused;

    memset(&unused, 0, sizeof(unused));
    return option->take(option, value, (char *)&unused + option->at);
}

void ni_options_init(struct ni_context *ctx)
{
    const struct ni_program *program = ctx->program;

    memset(&ctx->options, 0, sizeof(ctx->options));
    for (unsigned i = 0; i < program->n_rows; i++) {
        if (program->rows[i]->values)
            memset(program->rows[i]->values, 0, program->rows[i]->size);
    }
    for (unsigned i = 0; i < ni_options_count(program); i++) {
        const char *initial = ni_option_at(program, i)->initial;

        if (initial)
            (void)ni_option_take(ctx, i, initial);
    }
    ctx->options.secure = getauxval(AT_SECURE) != 0;
    /* with equal ids, file capabilities are the only other rights, and start.c put them down */
    ctx->options.own_rights = getuid() == geteuid() && getgid() == getegid();
}
