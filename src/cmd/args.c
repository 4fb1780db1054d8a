/* SPDX-License-Identifier: Apache-2.0 */
/* Options from the command line and from NCCLINIT_*. */
#include "nccl_init/cmd.h"

#include <errno.h>
#include <string.h>

static void put(struct ni_text *t, const char *s, size_t n)
{
    ni_put(t, "`");
    ni_put_quoted(t, s, n, 64);
    ni_put(t, "`");
}

static const struct ni_option *by_name(struct ni_span name)
{
    for (unsigned i = 0; i < ni_options_count; i++)
        if (ni_span_is(name, ni_options_table[i].name))
            return &ni_options_table[i];
    return NULL;
}

static const struct ni_option *by_letter(char letter)
{
    for (unsigned i = 0; i < ni_options_count; i++)
        if (ni_options_table[i].letter != 0 && ni_options_table[i].letter == letter)
            return &ni_options_table[i];
    return NULL;
}

static const struct ni_option *by_variable(struct ni_span name)
{
    for (unsigned i = 0; i < ni_options_count; i++) {
        char buf[64];
        struct ni_text t = ni_text_on(buf, sizeof(buf));

        ni_put_variable(&t, &ni_options_table[i]);
        if (ni_span_is(name, buf))
            return &ni_options_table[i];
    }
    return NULL;
}

static uint64_t bit_of(const struct ni_option *option)
{
    return UINT64_C(1) << (option - ni_options_table);
}

bool ni_option_given(const struct ni_context *ctx, const char *name)
{
    return (ctx->taken & bit_of(by_name(ni_span_of(name)))) != 0;
}

/* What a bad value should have been. */
static void put_expected(struct ni_text *t, const struct ni_option *option, const char *value)
{
    put(t, value, strlen(value));
    ni_putf(t, " is not %s", option->arg ? option->arg : "0 or 1");
}

/* One word of the command line that begins with '-', taken apart. */
struct word {
    const struct ni_option *option; /* NULL: unknown */
    const char *value;              /* in the same word, NULL if none */
    size_t name_len;                /* of the word up to the value, for messages */
};

static struct word take_apart(const char *arg)
{
    struct word w = {.name_len = strlen(arg)};

    if (arg[1] == '-') {
        const char *eq = strchr(arg, '=');

        if (eq) {
            w.name_len = (size_t)(eq - arg);
            w.value = eq + 1;
        }
        w.option = by_name((struct ni_span){arg + 2, w.name_len - 2});
    } else {
        w.option = by_letter(arg[1]);
        if (w.option && arg[2] != '\0') {
            w.name_len = 2;
            w.value = arg + 2;
        }
    }
    return w;
}

/* Checks the option against the verb and its value; *used_next: the value is the next word. */
static int take_option(unsigned verb, const char *arg, const char *next, struct ni_options *ret,
                       struct ni_given *given, bool *used_next, struct ni_text *err)
{
    struct word w = take_apart(arg);
    const char *name = ni_verb_of(verb)->name;

    *used_next = false;
    if (!w.option) {
        ni_put(err, "unknown option ");
        put(err, arg, w.name_len);
        ni_putf(err, "; see `nccl-init %s --help`", name);
        return -EINVAL;
    }
    if ((w.option->verbs & verb) == 0) {
        put(err, arg, w.name_len);
        ni_putf(err, " is not an option of `%s`; see `nccl-init %s --help`", name, name);
        return -EINVAL;
    }
    if (!w.option->arg && w.value) {
        put(err, arg, w.name_len);
        ni_put(err, " takes no value");
        return -EINVAL;
    }
    if (w.option->arg && !w.value) {
        if (!next) {
            put(err, arg, w.name_len);
            ni_putf(err, " needs a value: %s", w.option->arg);
            return -EINVAL;
        }
        w.value = next;
        *used_next = true;
    }
    if (!w.value)
        w.value = "1"; /* what the variable of a switch would say */
    if (ni_option_take(w.option, w.value, ret) < 0) {
        ni_putf(err, "--%s: ", w.option->name);
        put_expected(err, w.option, w.value);
        return -EINVAL;
    }
    given->options |= bit_of(w.option);
    return 0;
}

int ni_args_parse(unsigned verb, int first, int argc, char *const argv[], struct ni_options *ret,
                  struct ni_given *given, struct ni_text *err)
{
    int i = first;

    *given = (struct ni_given){.operand = argc};
    for (; i < argc; i++) {
        bool used_next;
        int r;

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
        r = take_option(verb, argv[i], i + 1 < argc ? argv[i + 1] : NULL, ret, given, &used_next,
                        err);
        if (r < 0)
            return r;
        i += used_next;
    }
    given->operand = i;
    return 0;
}

/* One variable of ours. 0, or -EINVAL and on `why` what is wrong with it. */
static int take_variable(unsigned verb, struct ni_span name, const char *value, bool recorded,
                         uint64_t *taken, struct ni_options *ret, struct ni_text *why)
{
    const struct ni_option *option = by_variable(name);

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
    if (ni_option_take(option, value, ret) < 0) {
        put_expected(why, option, value);
        return -EINVAL;
    }
    return 0;
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
        int r;

        if (!ni_has_prefix(*e, NI_OWN_PREFIX) || !ni_env_split(*e, &name, &value))
            continue;
        r = take_variable(verb, name, value, recorded, taken, ret, &why);
        ni_put_quoted(&name_text, name.p, name.n, sizeof(name_buf));
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
