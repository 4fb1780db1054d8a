/* SPDX-License-Identifier: Apache-2.0 */
/* Options from the command line and from NCCLINIT_*. */
#include "nccl_init/cmd.h"

#include <string.h>

static uint64_t bit_of(const struct ni_option *option)
{
    return UINT64_C(1) << (option - ni_options_table);
}

/* The option of that name, or with that variable; NULL: none. */
static const struct ni_option *option_of(struct ni_span name, bool variable)
{
    for (unsigned i = 0; i < ni_options_count; i++) {
        struct ni_text t = NI_TEXT(64);

        if (variable)
            ni_put_variable(&t, &ni_options_table[i]);
        if (ni_span_is(name, variable ? t.buf : ni_options_table[i].name))
            return &ni_options_table[i];
    }
    return NULL;
}

/* A word of the command line that begins with '-'. 0; 1: `next`, the word behind it, is its value; or
   an exit status after saying what is wrong. */
static int take_word(struct ni_context *ctx, const char *word, const char *next)
{
    const char *verb = ni_verb_of(ctx->verb)->name, *value;
    const bool is_long = word[1] == '-';
    const size_t n = is_long ? strcspn(word, "=") : 2;
    const struct ni_span name = {word + 2, n - 2};
    const struct ni_option *option =
        option_of(!is_long && word[1] == 'o' ? ni_span_of("output") : name, false);
    const bool attached = word[n] != '\0', uses_next = option && option->arg && !attached;
    const int shown = n < 64 ? (int)n : 64;
    struct ni_text values = NI_TEXT(160);

    if (!option || (option->verbs & ctx->verb) == 0)
        return ni_usage(ctx, "`%.*s` is not an option of `%s`; see `nccl-init %s --help`", shown,
                        word, verb, verb);
    if (!option->arg && attached)
        return ni_usage(ctx, "`%.*s` takes no value", shown, word);
    if (uses_next && !next)
        return ni_usage(ctx, "`%.*s` needs a value: %s", shown, word, option->arg);
    /* of a switch what its variable would say */
    value = uses_next ? next : attached ? word + n + (word[n] == '=' && is_long) : "1";
    ni_put_values(&values, option);
    if (ni_option_take(option, value, &ctx->options) < 0)
        return ni_usage(ctx, "--%s: `%.64s` is not %s", option->name, value, values.buf);
    ctx->taken |= bit_of(option);
    return uses_next;
}

int ni_args_parse(struct ni_context *ctx, char *const word[])
{
    /* up to the first operand: what follows belongs to the command */
    while (*word && (*word)[0] == '-' && (*word)[1] != '\0') {
        if (strcmp(*word, "--") == 0) {
            ctx->separator = true;
            word++;
            break;
        }
        ctx->help = strcmp(*word, "--help") == 0 || strcmp(*word, "-h") == 0;
        if (ctx->help)
            return 0;
        int r = take_word(ctx, word[0], word[1]);
        if (r > 1)
            return r;
        word += 1 + r;
    }
    ctx->operands = word;
    return 0;
}

int ni_args_env(struct ni_context *ctx, const struct ni_env *env, bool recorded)
{
    const unsigned before = ctx->findings.n;

    for (char *const *e = env->entry; *e; e++) {
        struct ni_span name;
        const char *value;
        bool wrong = true;

        if (!ni_has_prefix(*e, NI_OWN_PREFIX) || !ni_env_split(*e, &name, &value))
            continue;
        struct ni_text why = NI_TEXT(200), subject = NI_TEXT(64);
        const struct ni_option *option = option_of(name, true);
        if (!option) {
            ni_put(&why, "no option has this variable");
        } else if ((recorded && (option->verbs & NI_OPTION_POLICY) == 0) ||
                   (option->verbs & ctx->verb) == 0 || (ctx->taken & bit_of(option)) != 0) {
            continue;
        } else if (ctx->options.secure && (option->verbs & NI_OPTION_FILE) != 0) {
            ni_putf(&why, "nccl-init has file capabilities: only --%s may name a file",
                    option->name);
            wrong = false;
        } else if (ni_option_take(option, value, &ctx->options) < 0) {
            ni_putf(&why, "`%.64s` is not ", value);
            ni_put_values(&why, option);
        }
        if (option)
            ctx->taken |= bit_of(option);
        if (why.len == 0)
            continue;
        ni_put_quoted(&subject, name.p, name.n, 64);
        /* `run` starts the command whatever a ConfigMap says; elsewhere a wrong value is an error. */
        if (wrong && !recorded && ctx->verb != NI_VERB_RUN)
            return ni_usage(ctx, "%s: %s", subject.buf, why.buf);
        ni_report(&ctx->findings, NI_F_OPTION_INVALID, subject.buf, "%s", why.buf);
    }
    ni_findings_sort(&ctx->findings, before);
    return 0;
}
