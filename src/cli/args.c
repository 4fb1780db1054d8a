/* SPDX-License-Identifier: Apache-2.0 */
/* Options from the command line and from NCCLINIT_*. */
#include "cli/args.h"

#include <ctype.h>
#include <string.h>

#include "cli/dispatch.h"
#include "cli/options.h"
#include "cli/say.h"
#include "cli/verbs.h"
#include "nccl_init/env.h"
#include "nccl_init/findings.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "system/exec.h"

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
    const char *verb = ni_verb_of(ctx)->name, *value;
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

/* The demand whose variable this name, which no option has, is likely to mean: at most two letters
   differ, and their case does not count. NULL: none. */
static const struct ni_option *demand_near(struct ni_span name)
{
    enum { LETTERS = 2 };
    char upper[NI_EDITS_NAME];

    if (name.n > sizeof(upper))
        return NULL;
    for (size_t i = 0; i < name.n; i++)
        upper[i] = (char)toupper((unsigned char)name.p[i]);
    for (unsigned i = 0; i < ni_options_count; i++) {
        struct ni_text variable = NI_TEXT(NI_EDITS_NAME);

        if ((ni_options_table[i].verbs & NI_OPTION_DEMAND) == 0)
            continue;
        ni_put_variable(&variable, &ni_options_table[i]);
        if (name.n + LETTERS < variable.len || variable.len + LETTERS < name.n)
            continue;
        if (ni_edits((struct ni_span){upper, name.n}, ni_span_of(variable.buf)) <= LETTERS)
            return &ni_options_table[i];
    }
    return NULL;
}

/* The demands that cannot be understood, of the findings from index `from` on, become one reason, as
   long as there is room. */
static void put_unclear(const struct ni_findings *all, unsigned from, struct ni_policy *policy)
{
    for (unsigned i = from; i < all->n; i++) {
        const struct ni_finding *f = &all->at[i];
        char line[sizeof(policy->unclear)];

        if (f->id == NI_F_REQUIRE_UNCLEAR &&
            ni_format(line, sizeof(line), "%s%s%s: %s", policy->unclear,
                      policy->unclear[0] ? "; " : "", f->subject, f->message))
            (void)ni_copy(policy->unclear, sizeof(policy->unclear), line);
    }
}

enum entry {
    ENTRY_FINE,    /* taken, or nothing that this verb reads */
    ENTRY_LEFT,    /* right, and not taken */
    ENTRY_WRONG,   /* for verbs other than `run` wrong usage */
    ENTRY_UNCLEAR, /* the same, and it is a demand */
    ENTRY_JUDGED   /* a demand that cannot be understood, of an option that only `run` has */
};

/* `before`: the options that the command line gave, or whoever counts more than this environment. */
static enum entry judge_unknown(struct ni_span name, const char *value, uint64_t before,
                                struct ni_text *why)
{
    const bool ours = ni_has_prefix(name.p, NI_OWN_PREFIX);
    const struct ni_option *near = demand_near(name);

    ni_put(why, "no option has this variable");
    if (!near || (before & bit_of(near)) != 0)
        return ours ? ENTRY_WRONG : ENTRY_FINE;
    ni_put(why, "; did you mean ");
    ni_put_variable(why, near);
    ni_put(why, "=");
    ni_put_quoted(why, value, strlen(value), 64);
    ni_put(why, "?");
    return ENTRY_UNCLEAR;
}

static enum entry take_entry(struct ni_context *ctx, const struct ni_option *option,
                             const char *value, bool recorded, struct ni_text *why)
{
    const bool demand = (option->verbs & NI_OPTION_DEMAND) != 0;
    const bool own =
        (option->verbs & ctx->verb) != 0 && (!recorded || (option->verbs & NI_OPTION_POLICY) != 0);
    const bool to_file = (option->verbs & NI_OPTION_FILE) != 0 &&
                         ((option->verbs & NI_OPTION_CAREFUL) == 0 || !ctx->options.own_rights);
    const bool judged = demand && (ctx->verb & (NI_VERB_PLAN | NI_VERB_DOCTOR)) != 0;
    struct ni_options unused;

    if ((ctx->taken & bit_of(option)) != 0 || (!own && !judged))
        return ENTRY_FINE;
    ctx->taken |= bit_of(option);
    if (ctx->options.secure && to_file) {
        ni_putf(why, "nccl-init has file capabilities: only --%s may name a file", option->name);
        return ENTRY_LEFT;
    }
    if (ni_option_take(option, value, own ? &ctx->options : &unused) == 0)
        return ENTRY_FINE;
    if (*value) {
        ni_put(why, "`");
        ni_put_quoted(why, value, strlen(value), 64);
        ni_put(why, "`");
    } else {
        ni_put(why, "the empty value");
    }
    ni_put(why, " is not ");
    ni_put_values(why, option);
    if (!own)
        return ENTRY_JUDGED;
    return demand ? ENTRY_UNCLEAR : ENTRY_WRONG;
}

/* Whether a variable may be meant for this program. The slip may be in the prefix: NCCL_INIT_REQUIRE. */
static bool may_be_ours(const char *entry)
{
    return (entry[0] == 'N' || entry[0] == 'n') && (entry[1] == 'C' || entry[1] == 'c');
}

int ni_args_env(struct ni_context *ctx, const struct ni_env *env, bool recorded)
{
    struct ni_policy *policy = &ctx->options.policy;
    const bool runs = ctx->verb == NI_VERB_RUN;
    const unsigned findings = ctx->findings.n;
    const uint64_t before = ctx->taken;

    for (char *const *e = env->entry; *e; e++) {
        struct ni_text why = NI_TEXT(256), subject = NI_TEXT(64);
        const struct ni_option *option;
        struct ni_span name;
        const char *value;
        enum entry what;

        if (!may_be_ours(*e) || !ni_env_split(*e, &name, &value))
            continue;
        option = ni_has_prefix(*e, NI_OWN_PREFIX) ? option_of(name, true) : NULL;
        if (option)
            what = take_entry(ctx, option, value, recorded, &why);
        else
            what = judge_unknown(name, value, before, &why);
        if (what == ENTRY_FINE)
            continue;
        ni_put_quoted(&subject, name.p, name.n, 64);
        if ((what == ENTRY_WRONG || what == ENTRY_UNCLEAR) && !recorded && !runs)
            return ni_usage(ctx, "%s: %s", subject.buf, why.buf);
        if (what == ENTRY_UNCLEAR || what == ENTRY_JUDGED)
            ni_report(&ctx->findings, NI_F_REQUIRE_UNCLEAR, subject.buf, "%s", why.buf);
        else
            ni_report(&ctx->findings, NI_F_OPTION_INVALID, subject.buf, "%s", why.buf);
    }
    ni_findings_sort(&ctx->findings, findings);
    put_unclear(&ctx->findings, findings, policy);
    ni_options_settle(&ctx->options, runs);
    if (!runs || recorded || !policy->unclear[0])
        return 0;
    ni_last_words(ctx, policy->unclear, false);
    return NI_EXIT_REFUSED;
}
