/* SPDX-License-Identifier: Apache-2.0 */
/* The verb of a command line, and the call of its function. */
#include "cli/dispatch.h"

#include <string.h>
#include <sys/stat.h>

#include "cli/args.h"
#include "cli/context.h"
#include "cli/help.h"
#include "cli/option.h"
#include "cli/program.h"
#include "cli/say.h"
#include "cli/screen.h"
#include "nccl_init/findings.h"
#include "nccl_init/guess.h"
#include "nccl_init/text.h"

/* Says that the word is no verb, and which one may be meant. */
static int refuse_verb(struct ni_context *ctx, const char *word)
{
    const struct ni_guess guess = ni_guess_verb(ctx->program, word);
    struct ni_text hint = NI_TEXT(64);

    ni_put(&hint, guess.best.n > 0 ? "" : "; see `nccl-init --help`;");
    ni_put_guess(&hint, &guess, "");
    return ni_usage(ctx,
                    "`%.512s` is not a verb%s to run a program of that name: nccl-init -- %.512s",
                    word, hint.buf, word);
}

/* Says that the first word is a misspelt --version, and returns the exit status. 0: it is not. */
static int refuse_near_version(struct ni_context *ctx, const char *word)
{
    if (!ni_has_prefix(word, "--"))
        return 0;
    struct ni_guess guess = ni_guess_of(ni_span_of(word + 2));

    ni_guess_try(&guess, ni_span_of("version"));
    if (guess.best.n == 0)
        return 0;
    return ni_usage(ctx, "`%.64s` is not an option of `run`; did you mean `--version`?", word);
}

/* The verbs that look at a node without using its devices. */
enum { LOOKS = NI_VERB_PLAN | NI_VERB_TOPO | NI_VERB_DOCTOR | NI_VERB_ENV | NI_VERB_SNAPSHOT };

/* Returns true if the word may name a recorded node: a folder, or a .tree file. */
static bool may_be_root(const char *word)
{
    static const char ending[] = ".tree";
    const size_t n = strlen(word), end = strlen(ending);
    struct stat st;

    if (n > end && strcmp(word + n - end, ending) == 0)
        return true;
    return stat(word, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Says that the verb takes no operand, and what somebody may mean who writes this one. */
static int refuse_operand(struct ni_context *ctx, const struct ni_verb *verb, const char *word)
{
    const struct ni_span id = ni_span_of(word);
    struct ni_text hint = NI_TEXT(1200);

    if (ni_finding_named(id) != NI_F_NONE)
        ni_putf(&hint, "to read about a finding: nccl-init explain %s", word);
    else if ((verb->bit & LOOKS) != 0 && may_be_root(word))
        ni_putf(&hint, "to look at a recorded node: nccl-init %s --root=%.512s", verb->name, word);
    else
        ni_putf(&hint, "to run a program `%s`: nccl-init -- %s %.512s", verb->name, verb->name,
                word);
    return ni_usage(ctx, "`%s` takes no operands; %s", verb->name, hint.buf);
}

/* Checks what stands behind the options. 0, or an exit status after saying what is wrong. */
static int check_operands(struct ni_context *ctx, const struct ni_verb *verb, bool named)
{
    const char *first = *ctx->operands;

    if (!first)
        return 0;
    if (!verb->operands)
        return refuse_operand(ctx, verb, first);
    if (named || ctx->separator)
        return 0;
    if (ni_verb_named(ctx->program, ni_span_of(first)))
        return ni_usage(ctx,
                        "the verb comes first: nccl-init %s [OPTION...]; to run a program of that "
                        "name: nccl-init [OPTION...] -- %s",
                        first, first);
    return ni_usage(ctx, "put `--` before the command: nccl-init [OPTION...] -- %s", first);
}

int ni_main(struct ni_context *ctx, const struct ni_program *program, int argc, char *argv[],
            char *envp[])
{
    const struct ni_verb *verb = &program->verb[0];

    ni_context_init(ctx, program, envp);
    if (argc < 2)
        return ni_usage(ctx, "no command; see `nccl-init --help`");
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
        return ni_cmd_version(ctx);
    const bool named = argv[1][0] != '-';
    if (named)
        verb = ni_verb_named(program, ni_span_of(argv[1]));
    if (!verb)
        return refuse_verb(ctx, argv[1]);
    ctx->verb = verb->bit;
    if ((ctx->verb & (NI_VERB_RUN | NI_VERB_ENV)) == 0)
        ni_screen_width(ctx);
    int r = named ? 0 : refuse_near_version(ctx, argv[1]);
    if (r == 0)
        r = ni_args_parse(ctx, argv + (named ? 2 : 1));
    if (r == 0 && ctx->help)
        return ni_print_help(ctx, named ? verb : NULL);
    if (r == 0)
        r = ni_args_env(ctx, &ctx->own, NI_ENV_OWN);
    if (r == 0)
        r = check_operands(ctx, verb, named);
    return r != 0 ? r : verb->run(ctx);
}
