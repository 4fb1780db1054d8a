/* SPDX-License-Identifier: Apache-2.0 */
/* Options from the command line and from NCCLINIT_*. */
#include "nccl_init/cmd.h"

#include <errno.h>
#include <string.h>

static uint64_t bit_of(const struct ni_option *option)
{
    return UINT64_C(1) << (option - ni_options_table);
}

bool ni_option_given(const struct ni_context *ctx, const char *name)
{
    const struct ni_option *o = ni_options_table;

    while (strcmp(o->name, name) != 0)
        o++;
    return (ctx->taken & bit_of(o)) != 0;
}

/* What is wrong, behind the word that it is about. -EINVAL. */
static NI_PRINTF(4, 5) int wrong(struct ni_text *err, const char *word, size_t n, const char *fmt,
                                 ...)
{
    va_list ap;

    ni_put(err, "`");
    ni_put_quoted(err, word, n, 64);
    ni_put(err, "`");
    va_start(ap, fmt);
    ni_vputf(err, fmt, ap);
    va_end(ap);
    return -EINVAL;
}

static int bad_value(struct ni_text *err, const struct ni_option *option, const char *value)
{
    return wrong(err, value, strlen(value), " is not %s", option->arg ? option->arg : "0 or 1");
}

/* The option that a word of the command line names in its first *ret_n bytes; NULL: none. */
static const struct ni_option *named(const char *word, size_t *ret_n)
{
    const bool is_long = word[1] == '-';

    *ret_n = is_long ? strcspn(word, "=") : 2;
    for (unsigned i = 0; i < ni_options_count; i++) {
        const struct ni_option *o = &ni_options_table[i];

        if (is_long ? ni_span_is((struct ni_span){word + 2, *ret_n - 2}, o->name)
                    : o->letter == word[1])
            return o;
    }
    return NULL;
}

/* A word of the command line that begins with '-'. 0; 1: `next`, the word behind it, is its value; or
   -EINVAL. */
static int take_word(unsigned verb, const char *word, const char *next, struct ni_options *ret,
                     struct ni_given *given, struct ni_text *err)
{
    const char *name = ni_verb_of(verb)->name, *value = NULL;
    size_t n;
    const struct ni_option *option = named(word, &n);

    if (!option) {
        ni_put(err, "unknown option ");
        return wrong(err, word, word[1] == '-' ? n : strlen(word), "; see `nccl-init %s --help`",
                     name);
    }
    if ((option->verbs & verb) == 0)
        return wrong(err, word, n, " is not an option of `%s`; see `nccl-init %s --help`", name,
                     name);
    if (word[n] != '\0')
        value = word + n + (word[n] == '=' && word[1] == '-');
    if (!option->arg && value)
        return wrong(err, word, n, " takes no value");
    if (option->arg && !value && !next)
        return wrong(err, word, n, " needs a value: %s", option->arg);
    const bool uses_next = option->arg && !value;
    if (!value) /* of a switch what its variable would say */
        value = uses_next ? next : "1";
    if (ni_option_take(option, value, ret) < 0) {
        ni_putf(err, "--%s: ", option->name);
        return bad_value(err, option, value);
    }
    given->options |= bit_of(option);
    return uses_next;
}

int ni_args_parse(unsigned verb, int first, int argc, char *const argv[], struct ni_options *ret,
                  struct ni_given *given, struct ni_text *err)
{
    int i = first;

    *given = (struct ni_given){.operand = argc};
    for (; i < argc; i++) {
        if (argv[i][0] != '-' || argv[i][1] == '\0')
            break; /* the first operand: what follows belongs to the command */
        if (strcmp(argv[i], "--") == 0) {
            given->separator = true;
            i++;
            break;
        }
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            given->help = true;
            return 0;
        }
        int r = take_word(verb, argv[i], i + 1 < argc ? argv[i + 1] : NULL, ret, given, err);
        if (r < 0)
            return r;
        i += r;
    }
    given->operand = i;
    return 0;
}

/* One variable of ours. 0, or -EINVAL and on `why` what is wrong with it. */
static int take_variable(unsigned verb, const char *name, const char *value, bool recorded,
                         uint64_t *taken, struct ni_options *ret, struct ni_text *why)
{
    const struct ni_option *option = NULL;
    char buf[64];

    for (unsigned i = 0; i < ni_options_count && !option; i++) {
        struct ni_text t = ni_text_on(buf, sizeof(buf));

        ni_put_variable(&t, &ni_options_table[i]);
        if (strcmp(buf, name) == 0)
            option = &ni_options_table[i];
    }
    if (!option) {
        ni_put(why, "no option has this variable");
        return -EINVAL;
    }
    if ((recorded && (option->flags & NI_OPTION_POLICY) == 0) || (option->verbs & verb) == 0 ||
        (*taken & bit_of(option)) != 0)
        return 0;
    *taken |= bit_of(option);
    if (ret->secure && (option->flags & NI_OPTION_FILE) != 0) {
        ni_putf(why, "nccl-init has file capabilities: only --%s may name a file", option->name);
        return 0;
    }
    return ni_option_take(option, value, ret) < 0 ? bad_value(why, option, value) : 0;
}

int ni_args_env(unsigned verb, const struct ni_env *env, bool recorded, uint64_t *taken,
                struct ni_options *ret, struct ni_findings *f, struct ni_text *err)
{
    const unsigned before = f->n;

    for (char *const *e = env->entry; *e; e++) {
        char why_buf[200], name_buf[64];
        struct ni_text why = ni_text_on(why_buf, sizeof(why_buf));
        struct ni_text name_text = ni_text_on(name_buf, sizeof(name_buf));
        struct ni_span name;
        const char *value;

        if (!ni_has_prefix(*e, NI_OWN_PREFIX) || !ni_env_split(*e, &name, &value))
            continue;
        ni_put_quoted(&name_text, name.p, name.n, sizeof(name_buf));
        int r = take_variable(verb, name_buf, value, recorded, taken, ret, &why);
        if (r < 0 && err) {
            ni_putf(err, "%s: %s", name_buf, why_buf);
            return r;
        }
        if (why.len > 0)
            ni_report(f, NI_F_OPTION_INVALID, name_buf, "%s", why_buf);
    }
    ni_findings_sort(f, before);
    return 0;
}
