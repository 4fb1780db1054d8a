/* SPDX-License-Identifier: Apache-2.0 */
/* --help, made from the tables, so that it cannot differ from what is parsed. */
#include "nccl_init/cmd.h"

#include <string.h>

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
    ni_put(t, "  ");
    if (o->letter != 0)
        ni_putf(t, "-%c, ", o->letter);
    ni_putf(t, "--%s", o->name);
    if (o->arg)
        ni_putf(t, "=%s", o->arg);
    ni_putf(t, "  (%s)\n", o->env);
    put_wrapped(t, o->help);
}

static void put_options(struct ni_text *t, unsigned verbs)
{
    ni_put(t,
           "\nOptions, and the variables that stand for them; the first value is the default:\n");
    for (unsigned i = 0; i < ni_options_count; i++)
        if ((ni_options_table[i].verbs & verbs) != 0)
            put_option(t, &ni_options_table[i]);
    ni_put(t, "  -h, --help\n      this text\n");
}

static void put_program(struct ni_text *t)
{
    ni_put(t, "nccl-init finds the RDMA devices that a pod was given, sets the NCCL variables that "
              "fit\nthem, raises the locked-memory limit, and becomes the command.\n\n"
              "Usage: nccl-init [OPTION...] -- COMMAND [ARG...]\n");
    for (unsigned i = 0; i < ni_verbs_count; i++)
        ni_putf(t, "       nccl-init %s %s\n", ni_verbs_table[i].name, ni_verbs_table[i].synopsis);
    ni_put(t, "       nccl-init --help | --version\n\n");
    for (unsigned i = 0; i < ni_verbs_count; i++) {
        ni_putf(t, "  %s\n", ni_verbs_table[i].name);
        put_wrapped(t, ni_verbs_table[i].help);
    }
    ni_put(t, "\n`nccl-init VERB --help` tells the options of a verb; `nccl-init --` is short for "
              "`nccl-init run --`.\n"
              "Variables that are set already, or set in an nccl.conf, are never changed.\n\n"
              "Exit status of run: the command's; 125 refused or used wrongly, 126 the command "
              "cannot\nbe executed, 127 it was not found. Other verbs: 0, 1 failed, 125 used "
              "wrongly.\n");
}

int ni_cmd_help(struct ni_context *ctx, const struct ni_verb *verb)
{
    char buf[8192];
    struct ni_text t = ni_text_on(buf, sizeof(buf));

    if (verb) {
        ni_putf(&t, "Usage: nccl-init %s %s\n\n", verb->name, verb->synopsis);
        put_wrapped(&t, verb->help);
        put_options(&t, verb->bit);
    } else {
        put_program(&t);
    }
    return ni_print(ctx, &t);
}
