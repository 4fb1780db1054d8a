/* SPDX-License-Identifier: Apache-2.0 */
/* One option: how its value is read, and what it may be. */
#include "cli/option.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "nccl_init/base.h"
#include "nccl_init/caps.h"
#include "nccl_init/env.h"
#include "nccl_init/nccl_list.h"
#include "nccl_init/number.h"
#include "nccl_init/pci.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "system/caps.h"

static const char more[] = ",..."; /* what ends the values of a list */

static bool is_list(const struct ni_option *option)
{
    const size_t n = option->arg ? strlen(option->arg) : 0;

    return n >= sizeof(more) && strcmp(option->arg + n - (sizeof(more) - 1), more) == 0;
}

/* Finds the next word of the option's values, as ni_split finds an element. */
static bool next_word(const struct ni_option *option, const char **rest, struct ni_span *ret)
{
    const bool found = ni_split(rest, '|', ret);

    if (found && !*rest && is_list(option))
        ret->n -= sizeof(more) - 1;
    return found;
}

/* Returns true if both are the same word. Case does not count. */
static bool is_same_word(struct ni_span a, struct ni_span b)
{
    return a.n == b.n && strncasecmp(a.p, b.p, a.n) == 0;
}

/* Returns the value that people write in another way; s if it is none. */
static struct ni_span usual_word(const struct ni_option *option, struct ni_span s)
{
    const char *end = option->also ? strchr(option->also, '=') : NULL;

    if (!end || !is_same_word(s, (struct ni_span){option->also, (size_t)(end - option->also)}))
        return s;
    return ni_span_of(end + 1);
}

/* Returns the number of the option's value that `s` is: 0 for the first; -1: none. */
static int option_value(const struct ni_option *option, struct ni_span s)
{
    const struct ni_span usual = usual_word(option, s);
    const char *rest = option->arg;
    struct ni_span word;

    for (int i = 0; next_word(option, &rest, &word); i++) {
        if (is_same_word(word, usual))
            return i;
    }
    return -1;
}

/* Takes one of the option's words. at: an enum whose values are in the order of the words. */
int ni_take_word(const struct ni_option *option, const char *text, void *at)
{
    int i = option_value(option, ni_span_of(text));

    if (i < 0)
        return -EINVAL;
    *(unsigned *)at = (unsigned)i;
    return 0;
}

/* Takes "1", "yes", "true" or "on", or the other of each pair. Case does not count. at: a bool. */
int ni_take_switch(const struct ni_option *option, const char *text, void *at)
{
    static const char *const words[] = {"0", "1", "false", "true", "no", "yes", "off", "on"};

    (void)option;
    for (unsigned i = 0; i < NI_COUNT(words); i++) {
        if (strcasecmp(text, words[i]) != 0)
            continue;
        *(bool *)at = i % 2 == 1;
        return 0;
    }
    return -EINVAL;
}

/* Takes a path that is not empty. at: a const char *. */
int ni_take_path(const struct ni_option *option, const char *text, void *at)
{
    (void)option;
    if (*text == '\0')
        return -EINVAL;
    *(const char **)at = text;
    return 0;
}

/* Takes a variable's name, or the path of a file. at: a const char *. */
int ni_take_variable_or_path(const struct ni_option *option, const char *text, void *at)
{
    if ((*text != '/' && strpbrk(text, "/=")) || strlen(text) >= NI_PATH)
        return -EINVAL;
    return ni_take_path(option, text, at);
}

/* Takes a number within the option's bounds. at: an unsigned. `auto` is -1, if `least` is -1. */
int ni_take_number(const struct ni_option *option, const char *text, void *at)
{
    const bool is_auto = option->least < 0 && strcmp(text, "auto") == 0;
    uint64_t n = (uint64_t)-1;

    if (!is_auto && (ni_parse_u64(ni_span_of(text), (uint64_t)option->most, &n) < 0 ||
                     (int64_t)n < option->least))
        return -EINVAL;
    *(unsigned *)at = (unsigned)n;
    return 0;
}

/* Takes seconds, or with s, m, h. at: an unsigned, seconds; so are the bounds. */
int ni_take_seconds(const struct ni_option *option, const char *text, void *at)
{
    static const struct {
        char letter;
        unsigned seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}};
    const size_t n = strlen(text);
    struct ni_span digits = {text, n};
    unsigned unit = 1;
    uint64_t count;

    for (unsigned i = 0; n > 1 && i < NI_COUNT(units); i++) {
        if (tolower((unsigned char)text[n - 1]) == units[i].letter) {
            digits.n = n - 1;
            unit = units[i].seconds;
        }
    }
    if (ni_parse_u64(digits, (uint64_t)option->most / unit, &count) < 0 ||
        (int64_t)(count * unit) < option->least)
        return -EINVAL;
    *(unsigned *)at = (unsigned)(count * unit);
    return 0;
}

/* Bytes, or with K, M, G for 1024, 1024^2, 1024^3. at: an int64_t within the option's bounds. */
int ni_take_bytes(const struct ni_option *option, const char *text, void *at)
{
    return ni_parse_bytes(text, option->least, option->most, at);
}

/* Takes bytes, `max` for unlimited, or `keep` for -1. at: an int64_t. */
int ni_take_memlock(const struct ni_option *option, const char *text, void *at)
{
    const int i = option_value(option, ni_span_of(text));

    if (i != 0 && i != 1)
        return ni_take_bytes(option, text, at);
    *(int64_t *)at = i == 0 ? NI_UNLIMITED : -1;
    return 0;
}

/* Takes a level of GPUDirect RDMA. at: an enum ni_distance. */
int ni_take_gdr(const struct ni_option *option, const char *text, void *at)
{
    enum ni_distance *level = at;

    char upper[8] = "";

    switch (option_value(option, ni_span_of(text))) {
    case -1:
        return -EINVAL;
    case 0: /* auto */
        *level = NI_DIST_UNKNOWN;
        return 0;
    case 1: /* off */
        *level = NI_DIST_LOC;
        return 0;
    default: /* a word of three letters */
        for (size_t i = 0; text[i]; i++)
            upper[i] = (char)toupper((unsigned char)text[i]);
        *level = ni_parse_level(upper);
        return 0;
    }
}

/* Names that NCCL's own lists can carry, shorter than the option's bound, with ports if the other
   is 1; or the option's first value, which becomes NULL. at: a const char *. */
int ni_take_names(const struct ni_option *option, const char *text, void *at)
{
    const char *rest = text;
    struct ni_span item;

    if (option_value(option, ni_span_of(text)) == 0) {
        *(const char **)at = NULL;
        return 0;
    }
    if (strlen(text) >= NI_VALUE)
        return -EINVAL;
    while (ni_split(&rest, ',', &item)) {
        struct ni_span name = item, digits;
        uint64_t port = 1;

        if (option->least == 1 && ni_split_port(item, &name, &digits) &&
            ni_parse_u64(digits, UINT8_MAX, &port) < 0)
            return -EINVAL;
        if (port == 0 || !ni_is_name(name, (size_t)option->most))
            return -EINVAL;
    }
    *(const char **)at = text;
    return 0;
}

/* Takes a list of words. at: an unsigned whose bits are in the order of the words; the last word is
   all of them. */
int ni_take_targets(const struct ni_option *option, const char *text, void *at)
{
    struct ni_span item;
    unsigned bits = 0;

    while (ni_split(&text, ',', &item)) {
        int i = option_value(option, item);

        if (i < 0)
            return -EINVAL;
        bits |= 1U << i;
    }
    const unsigned all = (unsigned)option->most;
    *(unsigned *)at = bits & all ? all - 1 : bits;
    return 0;
}

const char *ni_items_of_list(const char *text)
{
    return strcasecmp(text, "none") == 0 ? NULL : text;
}

/* Takes the list of --require. The option's words are `none`, then one for each bit, in order;
   rails=N has a number. at: a struct ni_policy. */
int ni_take_require(const struct ni_option *option, const char *text, void *at)
{
    struct ni_policy *policy = at;
    struct ni_span item;
    unsigned bits = 0;
    uint64_t most = 0, rails = 0;

    text = ni_items_of_list(text);
    while (ni_split(&text, ',', &item)) {
        const bool is_rails = ni_has_prefix(item.p, "rails=");
        int i = option_value(option, is_rails ? ni_span_of("rails=N") : item);

        if (is_rails &&
            ni_parse_u64((struct ni_span){item.p + 6, item.n - 6}, NI_MAX_CHOSEN, &rails) < 0)
            return -EINVAL;
        if (i <= 0 || (is_rails && rails == 0))
            return -EINVAL;
        most = rails > most ? rails : most;
        bits |= 1U << (i - 1);
    }
    /* a second --require adds to the first; only `none` takes demands back */
    policy->require = bits ? policy->require | bits : 0;
    policy->rails = bits ? policy->rails : 0;
    if (most > policy->rails)
        policy->rails = (unsigned)most;
    return 0;
}

/* The capabilities of a list, and whether the word `unneeded` stands in it. */
struct cap_list {
    uint64_t set;
    bool unneeded;
};

/* Reads a list of capabilities, in which `unneeded` may stand if `with_word`. 0 or -errno. */
static int read_caps(const char *text, struct ni_policy *policy, bool with_word,
                     struct cap_list *ret)
{
    struct cap_list list = {.set = 0};
    struct ni_span item;
    unsigned cap;

    text = ni_items_of_list(text);
    while (ni_split(&text, ',', &item)) {
        const bool word = with_word && is_same_word(item, ni_span_of("unneeded"));
        /* the capability of that word, so that its name is known for messages */
        const struct ni_span name = word ? ni_span_of("sys_resource") : item;
        const int r = ni_cap_by_name(name, &policy->cap_names, &cap);

        if (r < 0)
            return r;
        if (word)
            list.unneeded = true;
        else
            list.set |= ni_cap_bit(cap);
    }
    *ret = list;
    return 0;
}

int ni_take_keep_caps(const struct ni_option *option, const char *text, void *at)
{
    struct ni_policy *policy = at;
    struct cap_list list;
    const int r = read_caps(text, policy, false, &list);

    (void)option;
    if (r == 0)
        policy->keep_caps = list.set;
    return r;
}

int ni_take_drop_caps(const struct ni_option *option, const char *text, void *at)
{
    struct ni_policy *policy = at;
    struct cap_list list;
    const int r = read_caps(text, policy, true, &list);

    (void)option;
    if (r == 0) {
        policy->drop_caps = list.set;
        policy->drop_unneeded = list.unneeded;
    }
    return r;
}

/* Takes seconds with up to three digits after a point. at: an unsigned, in milliseconds, as are the
   bounds. */
int ni_take_milliseconds(const struct ni_option *option, const char *text, void *at)
{
    const size_t n = strlen(text), end = n > 1 && text[n - 1] == 's' ? n - 1 : n;
    const size_t point = strcspn(text, "."), whole = point < end ? point : end;
    const size_t part = end - whole;
    char digits[16];

    static const char zeros[] = "000";
    const char *behind_point = "";
    size_t decimals = 0;
    const char *missing = zeros; /* as many as make a thousandth of the last digit */

    if (whole == 0 || part == 1 || part > sizeof(".123") - 1)
        return -EINVAL;
    if (part > 0) {
        decimals = part - 1;
        behind_point = text + whole + 1;
        missing = zeros + decimals;
    }
    if (!ni_format(digits, sizeof(digits), "%.*s%.*s%s", (int)whole, text, (int)decimals,
                   behind_point, missing))
        return -EINVAL;
    return ni_take_number(option, digits, at);
}

/* ---- what is wrong with a value ---- */

/* Returns true if the word of `arg` stands for values: BYTES, HCA[:PORT]. */
static bool is_placeholder(const struct ni_option *option, struct ni_span word)
{
    for (size_t i = 0; i < word.n; i++) {
        if (islower((unsigned char)word.p[i]))
            return false;
    }
    return option->take != ni_take_gdr;
}

/* Puts "one of: auto, rdma, tcp, off". */
static void put_expected(struct ni_text *t, const struct ni_option *option)
{
    const int64_t unit = option->take == ni_take_milliseconds ? 1000 : 1;
    const bool bounded = unit > 1 || option->take == ni_take_number ||
                         option->take == ni_take_seconds || option->take == ni_take_bytes;
    const char *arg = option->arg ? option->arg : "1|0";
    const char *rest = arg, *between = "";
    struct ni_span word;

    if (is_list(option))
        ni_put(t, "a list of: ");
    else if (strchr(arg, '|'))
        ni_put(t, "one of: ");
    while (ni_split(&rest, '|', &word)) {
        ni_put(t, between);
        ni_putn(t, word.p, word.n - (!rest && is_list(option) ? sizeof(more) - 1 : 0));
        between = ", ";
    }
    if (bounded)
        ni_putf(t, " from %lld to %lld", (long long)(option->least < 0 ? 0 : option->least / unit),
                (long long)(option->most / unit));
}

/* Finds the word that an item of the value is likely to mean. */
static struct ni_guess guess_item(const struct ni_option *option, struct ni_span item)
{
    struct ni_guess guess = ni_guess_of(item);
    const char *rest = option->arg;
    struct ni_span word;

    while (next_word(option, &rest, &word)) {
        if (!is_placeholder(option, word))
            ni_guess_try(&guess, word);
    }
    if (option->suggest)
        option->suggest(&guess);
    return guess;
}

/* Returns true if the item is a word of the option, or has a number of its own: rails=4. */
static bool is_option_word(const struct ni_option *option, struct ni_span item)
{
    return option_value(option, item) >= 0 || memchr(item.p, '=', item.n);
}

/* Puts the word that is likely to be meant by the first item for which there is one. */
static void put_guessed_item(struct ni_text *t, const struct ni_option *option, const char *value)
{
    struct ni_guess guess = ni_guess_of((struct ni_span){value, 0});
    struct ni_span item;

    while (guess.best.n == 0 && ni_split(&value, ',', &item)) {
        const struct ni_guess of_item = guess_item(option, item);

        if (!is_option_word(option, item) && of_item.edits > 0)
            guess = of_item;
    }
    ni_put_guess(t, &guess, "");
}

void ni_put_wrong(struct ni_text *t, const struct ni_option *option, const char *value)
{
    if (*value) {
        ni_put(t, "`");
        ni_put_quoted(t, value, strlen(value), 64);
        ni_put(t, "`");
    } else {
        ni_put(t, "the empty value");
    }
    ni_put(t, " is not valid; expected ");
    put_expected(t, option);
    if (option->arg)
        put_guessed_item(t, option, value);
}

void ni_put_variable(struct ni_text *t, const struct ni_option *option)
{
    ni_put(t, NI_OWN_PREFIX);
    for (const char *p = option->variable ? option->variable : option->name; *p; p++) {
        char c = (char)(*p == '-' ? '_' : toupper((unsigned char)*p));

        ni_putn(t, &c, 1);
    }
}
