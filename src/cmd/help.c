/* SPDX-License-Identifier: Apache-2.0 */
/* --help, made from the tables, so that it cannot differ from what is parsed. */
#include "nccl_init/cmd.h"

enum { WIDTH = 78, INDENT = 6 };

/* Words of s, broken before WIDTH. */
static void put_wrapped(struct ni_text *t, const char *s)
{
    struct ni_span word;
    size_t column = 0;

    while (ni_split(&s, ' ', &word)) {
        if (column == 0 || column + 1 + word.n > WIDTH) {
            ni_putf(t, "%s%*s", column == 0 ? "" : "\n", INDENT, "");
            column = INDENT;
        } else {
            ni_put(t, " ");
            column++;
        }
        ni_putn(t, word.p, word.n);
        column += word.n;
    }
    ni_put(t, "\n");
}

static void put_option(struct ni_text *t, const struct ni_option *o)
{
    const bool shown = o->initial && ni_has_prefix(o->arg, o->initial);
    char buf[512];
    struct ni_text help = ni_text_on(buf, sizeof(buf));

    ni_put(t, "  ");
    if (o->letter != 0)
        ni_putf(t, "-%c, ", o->letter);
    ni_putf(t, "--%s%s%s  (", o->name, o->arg ? "=" : "", o->arg ? o->arg : "");
    ni_put_variable(t, o);
    ni_put(t, ")\n");
    ni_putf(&help, "%s%s%s", o->help, o->initial && !shown ? "; default " : "",
            o->initial && !shown ? o->initial : "");
    put_wrapped(t, buf);
}

static void put_usage(struct ni_text *t, const char *before, const struct ni_verb *verb)
{
    ni_putf(t, "%snccl-init %s [OPTION...]%s%s\n", before, verb->name, verb->operands ? " " : "",
            verb->operands ? verb->operands : "");
}

static void put_verb(struct ni_text *t, const struct ni_verb *verb)
{
    put_usage(t, "Usage: ", verb);
    ni_put(t, "\n");
    put_wrapped(t, verb->help);
    ni_put(t, "\nOptions and their variables; unless the text says otherwise the first value is "
              "the default:\n");
    for (unsigned i = 0; i < ni_options_count; i++)
        if ((ni_options_table[i].verbs & verb->bit) != 0)
            put_option(t, &ni_options_table[i]);
    ni_put(t, "  -h, --help\n      this text\n");
}

static void put_program(struct ni_text *t)
{
    ni_put(t, "nccl-init finds the RDMA devices that a pod was given, sets the NCCL variables that "
              "fit\nthem, raises the locked-memory limit, and becomes the command.\n\n"
              "Usage: nccl-init [OPTION...] -- COMMAND [ARG...]\n");
    for (unsigned i = 0; i < ni_verbs_count; i++)
        put_usage(t, "       ", &ni_verbs_table[i]);
    ni_put(t, "       nccl-init --help | --version\n\n");
    for (unsigned i = 0; i < ni_verbs_count; i++) {
        ni_putf(t, "  %s\n", ni_verbs_table[i].name);
        put_wrapped(t, ni_verbs_table[i].help);
    }
    ni_put(t, "\n`nccl-init VERB --help` lists the options of a verb. `nccl-init --` is short for "
              "`nccl-init run --`.\n"
              "A variable that is already set, or set in an nccl.conf, is never changed.\n\n"
              "Exit status of run: that of the command; 125 refused or wrong usage, 126 the "
              "command cannot\nbe executed, 127 it was not found. Other verbs: 0 done, 1 failed, "
              "125 wrong usage.\n");
}

int ni_cmd_help(struct ni_context *ctx, const struct ni_verb *verb)
{
    char buf[8192];
    struct ni_text t = ni_text_on(buf, sizeof(buf));

    if (verb)
        put_verb(&t, verb);
    else
        put_program(&t);
    return ni_print(ctx, &t);
}
