/* SPDX-License-Identifier: Apache-2.0 */
/* Options, read from the command line and from the variables NCCLINIT_*. */
#include "cli/args.h"

#include <ctype.h>
#include <string.h>

#include "cli/context.h"
#include "cli/option.h"
#include "cli/options.h"
#include "cli/program.h"
#include "cli/say.h"
#include "findings/setting.h"
#include "nccl_init/env.h"
#include "nccl_init/findings.h"
#include "nccl_init/guess.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "print/command.h"
#include "print/words.h"
#include "system/exec.h"

/* An option of the program, found by a name; number -1: none. */
struct named {
    const struct ni_option *option;
    int number;
};

static uint64_t bit_of(int number)
{
    return UINT64_C(1) << number;
}

/* Finds the option of that name that the verb takes; if it takes none, that of other verbs. */
static struct named option_named(const struct ni_context *ctx, struct ni_span name)
{
    struct named of_others = {NULL, -1};

    for (unsigned i = 0; i < ni_options_count(ctx->program); i++) {
        const struct ni_option *option = ni_option_at(ctx->program, i);

        if (!ni_span_is(name, option->name))
            continue;
        if ((option->verbs & ctx->verb) != 0)
            return (struct named){option, (int)i};
        if (!of_others.option)
            of_others = (struct named){option, (int)i};
    }
    return of_others;
}

static struct named option_of_variable(const struct ni_program *program, struct ni_span name)
{
    for (unsigned i = 0; i < ni_options_count(program); i++) {
        const struct ni_option *option = ni_option_at(program, i);
        struct ni_text variable = NI_TEXT(64);

        ni_put_variable(&variable, option);
        if (ni_span_is(name, variable.buf))
            return (struct named){option, (int)i};
    }
    return (struct named){NULL, -1};
}

/* A word of the command line that begins with '-', in its parts: "--name=value", "-ovalue". */
struct word {
    struct ni_span name;
    size_t whole;      /* length of the option's name with its dashes, for messages */
    const char *value; /* NULL: none is attached */
};

static struct word split_word(const char *text)
{
    struct word word = {.value = NULL};

    if (text[1] == '-') {
        word.whole = strcspn(text, "=");
        word.name = (struct ni_span){text + 2, word.whole - 2};
        if (text[word.whole] == '=')
            word.value = text + word.whole + 1;
        return word;
    }
    /* -o is the only short option; any other gets an empty name, which no option has */
    word.whole = 2;
    word.name = text[1] == 'o' ? ni_span_of("output") : (struct ni_span){text + 2, 0};
    if (text[2] != '\0')
        word.value = text + 2;
    return word;
}

/* Puts the verbs that take the option: "plan, doctor and topo". */
static void put_verbs(struct ni_text *t, const struct ni_program *program, unsigned verbs)
{
    const char *between = "";

    for (unsigned i = 0; i < program->n_verb; i++) {
        const unsigned bit = program->verb[i].bit;

        if ((verbs & bit) == 0)
            continue;
        verbs &= NI_VERBS & ~bit;
        ni_putf(t, "%s`%s`", between, program->verb[i].name);
        between = (verbs & (verbs - 1)) != 0 ? ", " : " and ";
    }
}

/* Finds the option of this verb that an unknown name is likely to mean. */
static struct ni_guess guess_option(const struct ni_context *ctx, struct ni_span name)
{
    struct ni_guess guess = ni_guess_of(name);

    for (unsigned i = 0; i < ni_options_count(ctx->program); i++) {
        const struct ni_option *option = ni_option_at(ctx->program, i);

        if ((option->verbs & ctx->verb) != 0)
            ni_guess_try(&guess, ni_span_of(option->name));
    }
    ni_guess_try(&guess, ni_span_of("help"));
    return guess;
}

/* Says that the verb has no such option, and whose it is, or which one may be meant. option: what
   has that name; NULL: nothing. */
static int refuse_option(struct ni_context *ctx, const struct ni_option *option,
                         struct ni_span word, struct ni_span name)
{
    const char *verb = ni_verb_of(ctx->program, ctx->verb)->name;
    const struct ni_guess guess = guess_option(ctx, name);
    struct ni_text t = NI_TEXT(512);

    ni_put(&t, "`");
    ni_put_quoted(&t, word.p, word.n, 64);
    ni_putf(&t, "` is not an option of `%s`", verb);
    if (option) {
        ni_put(&t, ", but of ");
        put_verbs(&t, ctx->program, option->verbs);
    } else if (ni_span_is(word, "-v")) {
        ni_put(&t, "; `nccl-init -V` shows the version, `--log-level=debug` says more");
    } else if (guess.best.n > 0) {
        ni_put_guess(&t, &guess, "--");
    } else {
        ni_putf(&t, "; see `nccl-init %s --help`", verb);
    }
    return ni_usage(ctx, "%s", t.buf);
}

/* Adds the text to one of ctx->again. */
static bool add(char to[NI_AGAIN], const char *text)
{
    const size_t n = strlen(to);

    return ni_copy(to + n, NI_AGAIN - n, text);
}

/* Keeps an option of the command line for commands that people paste. How output looks and where it
   goes changes no fact; --root is put by itself, and what --wait waited for has come or not. */
static void keep_for_again(struct ni_context *ctx, const struct ni_option *option,
                           const char *value)
{
    const unsigned looks = NI_VERB_PLAN | NI_VERB_DOCTOR | NI_VERB_TOPO | NI_VERB_SNAPSHOT;
    const bool policy = (option->traits & NI_OPTION_POLICY) != 0;
    struct ni_again *again = &ctx->again;
    struct ni_text word = NI_TEXT(NI_AGAIN);

    if (option->group == NI_GROUP_OUTPUT || (option->group == NI_GROUP_FACTS && !policy))
        return;
    if (!ni_put_option(&word, option->name, option->arg ? value : NULL) ||
        !add(again->own, word.buf) ||
        ((option->verbs & looks) == looks && !add(again->shared, word.buf)))
        again->unsaid = true;
}

/* Takes a word that begins with '-'. 0, or an exit status after saying what is wrong. *uses_next:
   `next`, the word after it, is its value. */
static int take_option_word(struct ni_context *ctx, const char *text, const char *next,
                            bool *uses_next)
{
    enum { SHOWN = 64 };
    const struct word word = split_word(text);
    const struct named named = option_named(ctx, word.name);
    const struct ni_option *option = named.option;
    const int shown = word.whole < SHOWN ? (int)word.whole : SHOWN;
    const char *value = word.value;
    struct ni_text why = NI_TEXT(320);

    *uses_next = false;
    if (!option || (option->verbs & ctx->verb) == 0)
        return refuse_option(ctx, option, (struct ni_span){text, word.whole}, word.name);
    if (!option->arg && value)
        return ni_usage(ctx, "`%.*s` takes no value", shown, text);
    if (!option->arg) {
        value = "1"; /* the value that a switch's variable has */
    } else if (!value) {
        value = next;
        *uses_next = true;
    }
    if (!value)
        return ni_usage(ctx, "`%.*s` needs a value: %s", shown, text, option->arg);
    if (ni_option_take(ctx, (unsigned)named.number, value) < 0) {
        ni_put_wrong(&why, option, value);
        return ni_usage(ctx, "--%s: %s", option->name, why.buf);
    }
    ctx->taken |= bit_of(named.number);
    keep_for_again(ctx, option, value);
    return 0;
}

/* Verbs whose options may also stand behind an operand: `log job.log --json`. What follows the first
   operand of `run` is the command's, and that of `explain` a text. */
enum { MIXED = NI_VERB_LOG | NI_VERB_INSTALL };

int ni_args_parse(struct ni_context *ctx, char *word[])
{
    const bool mixed = (ctx->verb & MIXED) != 0;
    char **operand = word; /* behind the last operand that was found: before the next word */

    ctx->operands = word;
    while (*word) {
        const bool is_operand = (*word)[0] != '-' || (*word)[1] == '\0';
        bool uses_next;
        int status;

        if (is_operand && !mixed)
            break;
        if (is_operand) {
            *operand = *word;
            operand++;
            word++;
            continue;
        }
        if (strcmp(*word, "--") == 0) {
            ctx->separator = true;
            word++;
            break;
        }
        ctx->help = strcmp(*word, "--help") == 0 || strcmp(*word, "-h") == 0;
        if (ctx->help)
            return 0;
        status = take_option_word(ctx, word[0], word[1], &uses_next);
        if (status != 0)
            return status;
        word += uses_next ? 2 : 1;
    }
    if (operand == ctx->operands) {
        ctx->operands = word;
        return 0;
    }
    while (*word) {
        *operand = *word;
        operand++;
        word++;
    }
    *operand = NULL;
    return 0;
}

/* Finds the demand whose variable a misspelt name is likely to mean: at most two letters differ,
   without regard to case. Number -1: none. */
static struct named demand_near(const struct ni_program *program, struct ni_span name)
{
    enum { LETTERS = 2 };
    char upper[NI_EDITS_NAME];

    if (name.n > sizeof(upper))
        return (struct named){NULL, -1};
    for (size_t i = 0; i < name.n; i++)
        upper[i] = (char)toupper((unsigned char)name.p[i]);
    for (unsigned i = 0; i < ni_options_count(program); i++) {
        const struct ni_option *option = ni_option_at(program, i);
        struct ni_text variable = NI_TEXT(NI_EDITS_NAME);

        if ((option->traits & NI_OPTION_DEMAND) == 0)
            continue;
        ni_put_variable(&variable, option);
        if (name.n + LETTERS < variable.len || variable.len + LETTERS < name.n)
            continue;
        if (ni_edits((struct ni_span){upper, name.n}, ni_span_of(variable.buf)) <= LETTERS)
            return (struct named){option, (int)i};
    }
    return (struct named){NULL, -1};
}

/* Joins the findings about unclear demands, from index `from` on, to one reason, for which the plan
   refuses; those for which it has no room are left off. */
static void join_unclear(struct ni_findings *all, unsigned from, struct ni_policy *policy)
{
    for (unsigned i = from; i < all->n; i++) {
        struct ni_finding *f = &all->at[i];
        char line[sizeof(policy->unclear)];

        if (f->id != NI_F_REQUIRE_UNCLEAR ||
            !ni_format(line, sizeof(line), "%s%s%s: %s", policy->unclear,
                       policy->unclear[0] ? "; " : "", f->subject, f->message))
            continue;
        (void)ni_copy(policy->unclear, sizeof(policy->unclear), line);
        f->in_refusal = true;
    }
}

/* The judgement of one variable of the environment. */
enum entry {
    ENTRY_FINE,    /* it was taken, or this verb does not read it */
    ENTRY_LEFT,    /* its value is right, but it was not taken */
    ENTRY_WRONG,   /* its value is wrong: usage error, but for `run` */
    ENTRY_UNCLEAR, /* as above, and it is a demand */
    ENTRY_JUDGED   /* a wrong demand of an option that `run` has and this verb has not */
};

/* Judges a variable that no option has. before: the options that were given in a place that wins
   over this environment. */
static enum entry judge_unknown(const struct ni_program *program, struct ni_span name,
                                const char *value, uint64_t before, struct ni_text *why)
{
    const bool ours = ni_has_prefix(name.p, NI_OWN_PREFIX);
    const struct named near = demand_near(program, name);

    ni_put(why, "no option has this variable");
    if (!near.option || (before & bit_of(near.number)) != 0)
        return ours ? ENTRY_WRONG : ENTRY_FINE;
    ni_put(why, "; did you mean ");
    ni_put_variable(why, near.option);
    ni_put(why, "=");
    ni_put_quoted(why, value, strlen(value), 64);
    ni_put(why, "?");
    return ENTRY_UNCLEAR;
}

/* Takes one NCCLINIT_ variable of an option, if this verb reads it. Puts into *why what is wrong
   with it. */
static enum entry take_entry(struct ni_context *ctx, const struct named *named, const char *value,
                             bool recorded, struct ni_text *why)
{
    const struct ni_option *option = named->option;
    const bool demand = (option->traits & NI_OPTION_DEMAND) != 0;
    const bool own =
        (option->verbs & ctx->verb) != 0 && (!recorded || (option->traits & NI_OPTION_POLICY) != 0);
    const bool to_file = (option->traits & NI_OPTION_FILE) != 0 &&
                         ((option->traits & NI_OPTION_CAREFUL) == 0 || !ctx->options.own_rights);
    const bool judged = demand && (ctx->verb & (NI_VERB_PLAN | NI_VERB_DOCTOR)) != 0;
    int r;

    if ((ctx->taken & bit_of(named->number)) != 0 || (!own && !judged))
        return ENTRY_FINE;
    ctx->taken |= bit_of(named->number);
    if (ctx->options.secure && to_file) {
        ni_putf(why, "nccl-init has file capabilities: only --%s may name a file", option->name);
        return ENTRY_LEFT;
    }
    r = own ? ni_option_take(ctx, (unsigned)named->number, value) : ni_option_check(option, value);
    if (r == 0)
        return ENTRY_FINE;
    ni_put_wrong(why, option, value);
    if (!own)
        return ENTRY_JUDGED;
    return demand ? ENTRY_UNCLEAR : ENTRY_WRONG;
}

/* Returns true if a variable may be meant for this program. The spelling mistake may be in the
   prefix: NCCL_INIT_REQUIRE. */
static bool may_be_ours(const char *entry)
{
    return (entry[0] == 'N' || entry[0] == 'n') && (entry[1] == 'C' || entry[1] == 'c');
}

/* Takes an entry of the environment, or reports what is wrong with it. 0, or an exit status after
   saying what is wrong, for a verb that then stops. before: the options that were given in a place
   that wins over this environment. */
static int read_entry(struct ni_context *ctx, const char *text, bool recorded, uint64_t before)
{
    const bool goes_on =
        recorded || (ctx->verb & (NI_VERB_RUN | (unsigned)NI_VERBS_OF_PROGRAM)) != 0;
    struct ni_text why = NI_TEXT(320), subject = NI_TEXT(64);
    struct named named = {NULL, -1};
    struct ni_span name;
    const char *value;
    enum entry what;

    if (!may_be_ours(text) || !ni_env_split(text, &name, &value))
        return 0;
    if (ni_has_prefix(text, NI_OWN_PREFIX))
        named = option_of_variable(ctx->program, name);
    if (named.option)
        what = take_entry(ctx, &named, value, recorded, &why);
    else
        what = judge_unknown(ctx->program, name, value, before, &why);
    if (what == ENTRY_FINE)
        return 0;
    ni_put_quoted(&subject, name.p, name.n, 64);
    if ((what == ENTRY_WRONG || what == ENTRY_UNCLEAR) && !goes_on)
        return ni_usage(ctx, "%s: %s", subject.buf, why.buf);
    if (what == ENTRY_UNCLEAR || what == ENTRY_JUDGED)
        ni_report(&ctx->findings, NI_F_REQUIRE_UNCLEAR, subject.buf, "%s", why.buf);
    else
        ni_report(&ctx->findings, NI_F_OPTION_INVALID, subject.buf, "%s", why.buf);
    return 0;
}

/* Returns true if the option was given, by the command line or by its variable. */
static bool is_given(const struct ni_context *ctx, const char *name)
{
    const struct named named = option_named(ctx, ni_span_of(name));

    return named.number >= 0 && (ctx->taken & bit_of(named.number)) != 0;
}

int ni_args_env(struct ni_context *ctx, const struct ni_env *env, enum ni_env_of of)
{
    const bool recorded = of == NI_ENV_RECORDED;
    struct ni_policy *policy = &ctx->options.policy;
    const bool runs = ctx->verb == NI_VERB_RUN;
    const unsigned findings = ctx->findings.n;
    const uint64_t before = ctx->taken;

    for (char *const *e = env->entry; *e; e++) {
        const int status = read_entry(ctx, *e, recorded, before);

        if (status != 0)
            return status;
    }
    ni_findings_sort(&ctx->findings, findings);
    join_unclear(&ctx->findings, findings, policy);
    ni_options_settle(&ctx->options, runs, is_given(ctx, "selftest"));
    if (!runs || recorded || !policy->unclear[0])
        return 0;
    return ni_refuse(ctx, policy->unclear, NI_LEAVE_REASON);
}
