/* SPDX-License-Identifier: Apache-2.0 */
/* help and version. The help is made of the tables of verbs and options, so it cannot differ from
   what is parsed. The version also names the libraries that are linked in. */
#include "cli/help.h"

#include <jansson.h>
#include <string.h>

#include "cli/context.h"
#include "cli/flow.h"
#include "cli/option.h"
#include "cli/program.h"
#include "cli/say.h"
#include "cli/screen.h"
#include "nccl_init/guess.h"
#include "nccl_init/text.h"
#include "print/layout.h"

enum { WIDTH = 78 };

static void put_below(struct ni_text *t, const char *s)
{
    ni_put(t, "      ");
    ni_put_wrapped(t, ni_columns(WIDTH), 6, s);
}

static void put_option_help(struct ni_text *t, const struct ni_option *o)
{
    /* where the values of `arg` begin with the default, the reader sees it there */
    const bool names_default = o->initial && !ni_has_prefix(o->arg, o->initial);
    struct ni_text help = NI_TEXT(512);

    ni_put(t, strcmp(o->name, "output") == 0 ? "  -o, " : "  ");
    ni_putf(t, "--%s", o->name);
    if (o->arg)
        ni_putf(t, "=%s", o->arg);
    ni_put(t, "  (");
    ni_put_variable(t, o);
    ni_put(t, ")\n");
    ni_put(&help, o->help);
    if (names_default)
        ni_putf(&help, "; default %s", o->initial);
    put_below(t, help.buf);
}

/* Puts the options of the verb that are of one group, below its title; nothing if there is none. */
static void put_option_group(struct ni_text *t, const struct ni_program *program,
                             const struct ni_verb *verb, enum ni_group group)
{
    static const char *const title[] = {
        [NI_GROUP_OWN] = "Options of this verb",
        [NI_GROUP_DECISION] = "What is decided",
        [NI_GROUP_LIMITS] = "Locked memory and capabilities of the command",
        [NI_GROUP_DEMANDS] = "What must hold",
        [NI_GROUP_SELFTEST] = "Self-test",
        [NI_GROUP_PREFLIGHT] = "Preflight",
        [NI_GROUP_FACTS] = "Where facts come from",
        [NI_GROUP_OUTPUT] = "Output",
    };
    bool begun = false;

    for (unsigned i = 0; i < ni_options_count(program); i++) {
        const struct ni_option *option = ni_option_at(program, i);

        if ((option->verbs & verb->bit) == 0 || option->group != group)
            continue;
        if (!begun)
            ni_putf(t, "\n%s:\n", title[group]);
        begun = true;
        put_option_help(t, option);
    }
}

static void put_verb(struct ni_text *t, const struct ni_program *program,
                     const struct ni_verb *verb)
{
    ni_putf(t, "Usage: nccl-init %s [OPTION...]", verb->name);
    if (verb->operands)
        ni_putf(t, " %s", verb->operands);
    ni_put(t, "\n\n");
    put_below(t, verb->help);
    ni_putf(t, "\nExamples:\n%s", verb->examples);
    ni_put(t, "\n");
    ni_put_paragraph(
        t, 0,
        "An option can also be set by the environment variable in parentheses. Unless the "
        "text says otherwise, the first value is the default.");
    for (int group = NI_GROUP_OWN; group <= NI_GROUP_OUTPUT; group++)
        put_option_group(t, program, verb, (enum ni_group)group);
    ni_put(t, "  -h, --help\n      this text\n");
    ni_put(t, "\nSee also: ");
    ni_put_wrapped(t, ni_columns(WIDTH), sizeof("See also:"), verb->see_also);
}

static void put_program(struct ni_text *t, const struct ni_program *program)
{
    ni_put_paragraph(
        t, 0,
        "nccl-init finds the RDMA devices that a pod was given, sets the NCCL variables "
        "that fit them, raises the locked-memory limit, and becomes the command.");
    ni_put(t, "\nUsage: nccl-init [OPTION...] -- COMMAND [ARG...]\n"
              "       nccl-init VERB [OPTION...] [OPERAND...]\n"
              "       nccl-init --help | --version | -V\n\n"
              "Examples:\n"
              "  # start a job with the settings that fit this pod\n"
              "  nccl-init -- torchrun train.py\n"
              "  # what would be set, and why\n"
              "  nccl-init plan\n");
    for (unsigned i = 0; i < program->n_verb; i++) {
        if (program->verb[i].group)
            ni_putf(t, "\n%s:\n", program->verb[i].group);
        ni_putf(t, "  %s\n", program->verb[i].name);
        put_below(t, program->verb[i].help);
    }
    ni_put(t, "\n");
    ni_put_paragraph(
        t, 0,
        "`nccl-init help VERB` lists the options of a verb. `nccl-init --` is short for "
        "`nccl-init run --`. A variable that is already set, or set in an nccl.conf, is "
        "never changed.");
    ni_put(t, "\n");
    ni_put_paragraph(
        t, 0,
        "Exit status of run: that of the command; 125 refused or wrong usage, 126 the "
        "command cannot be executed, 127 it was not found. Other verbs: 0 done, 1 failed, "
        "125 wrong usage.");
    ni_put(t,
           "\nSee also: nccl-init(8), docs/reference/usage.md, docs/guides/troubleshooting.md\n");
}

int ni_print_help(struct ni_context *ctx, const struct ni_verb *verb)
{
    struct ni_text t = ni_long_text();

    ctx->options.output = NULL; /* a file for settings */
    ni_screen_width(ctx);       /* also for that of `run` */
    if (verb)
        put_verb(&t, ctx->program, verb);
    else
        put_program(&t, ctx->program);
    return ni_print_long(ctx, &t);
}

int ni_cmd_help(struct ni_context *ctx)
{
    const char *name = ctx->operands[0];
    const struct ni_verb *verb = NULL;
    struct ni_guess guess;
    struct ni_text hint = NI_TEXT(64);

    if (!name)
        return ni_print_help(ctx, NULL);
    if (ctx->operands[1])
        return ni_usage(ctx, "`help` takes one verb, not `%.512s` too", ctx->operands[1]);
    verb = ni_verb_named(ctx->program, ni_span_of(name));
    if (verb)
        return ni_print_help(ctx, verb);
    guess = ni_guess_verb(ctx->program, name);
    ni_put_guess(&hint, &guess, "");
    return ni_usage(ctx, "`%.512s` is not a verb%s", name,
                    guess.best.n > 0 ? hint.buf : "; see `nccl-init --help`");
}

#define TEXT_OF(...) #__VA_ARGS__
#define TEXT(...)    TEXT_OF(__VA_ARGS__)

int ni_cmd_version(struct ni_context *ctx)
{
    struct ni_text t = NI_TEXT(512);

    ni_put(&t, "nccl-init " NCCL_INIT_VERSION "\n");
    ni_put(&t, "libibverbs (rdma-core " NI_RDMA_CORE_VERSION ")");
#ifdef RDMA_STATIC_PROVIDERS
    ni_put(&t, ", providers " TEXT(RDMA_STATIC_PROVIDERS));
#endif
    ni_put(&t, "\nlibnl " NI_LIBNL_VERSION "\n");
    ni_put(&t, "libcap " NI_LIBCAP_VERSION "\n");
    ni_put(&t, "libmd " NI_LIBMD_VERSION "\n");
    ni_putf(&t, "jansson %s\n", jansson_version_str());
    return ni_print(ctx, &t);
}
