/* SPDX-License-Identifier: Apache-2.0 */
/* hook: which rules of linux.resources.devices let a container use a device, against the kernel's way
   to count them: each rule in its order sets or clears the bits that it names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hook/container.h"
#include "nccl_init/base.h"
#include "nccl_init/number.h"
#include "nccl_init/text.h"
#include "sysroot/root.h"
#include "sysroot/tree.h"
#include <cmocka.h>

enum { MAJOR = 231, MINOR = 192, ROUNDS = 20000, MOST = 5 };

static const struct ni_root *node(void)
{
    char text[] = "l sys/dev/char/231:192/subsystem ../../../../class/infiniband_verbs\n"
                  "l sys/dev/char/231:193/subsystem ../../../../class/infiniband_verbs\n";
    static struct ni_root root = {.kind = NI_ROOT_TREE, .fd = -1};
    unsigned line;

    root.tree = calloc(1, sizeof(*root.tree));
    assert_non_null(root.tree);
    assert_int_equal(ni_tree_parse(root.tree, text, strlen(text), &line), 0);
    return &root;
}

static unsigned draw(unsigned n)
{
    static uint64_t x = 88172645463325252U; /* xorshift64: the same in each run */

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return (unsigned)(x % n);
}

/* A rule, and what it does to the bits of 231:192. */
static void add_rule(struct ni_text *t, unsigned *bits)
{
    static const char *const types[] = {"", "\"type\": \"a\", ", "\"type\": \"c\", ",
                                        "\"type\": \"b\", "};
    static const char *const accesses[] = {"rwm", "rw", "r", "w", "m"};
    static const unsigned masks[] = {7, 3, 1, 2, 4};
    const unsigned type = draw(NI_COUNT(types)), access = draw(NI_COUNT(accesses));
    const bool allow = draw(2), any_major = draw(3) == 0, any_minor = draw(3) == 0;
    const int major = draw(4) ? MAJOR : 1, minor = draw(4) ? MINOR : MINOR + 2;

    ni_putf(t, "%s{\"allow\": %s, %s\"access\": \"%s\"", t->len ? ", " : "",
            allow ? "true" : "false", types[type], accesses[access]);
    if (!any_major)
        ni_putf(t, ", \"major\": %d", major);
    if (!any_minor)
        ni_putf(t, ", \"minor\": %d", minor);
    ni_put(t, "}");
    if (type == 3 || (!any_major && major != MAJOR) || (!any_minor && minor != MINOR))
        return;
    *bits = allow ? *bits | masks[access] : *bits & ~masks[access];
}

static void test_rules(void **state)
{
    const struct ni_root *root = node();
    const struct ni_dir top = ni_dir_top(root);
    unsigned yes = 0;

    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct ni_text rules = NI_TEXT(1024), text = NI_TEXT(2048), why = NI_TEXT(500);
        struct ni_hook_container c;
        unsigned bits = 0;

        for (unsigned n = draw(MOST + 1); n > 0; n--)
            add_rule(&rules, &bits);
        ni_putf(&text,
                "{\"linux\": {\"devices\": [{\"type\": \"c\", \"major\": %d, \"minor\": %d}], "
                "\"resources\": {\"devices\": [%s]}}}",
                MAJOR, MINOR, rules.buf);
        enum ni_hook_answer answer = ni_hook_config(&top, text.buf, true, &c, &why);
        if ((answer == NI_HOOK_YES) != ((bits & 3) == 3))
            fail_msg("%s: %d, %s", text.buf, (int)answer, why.buf);
        yes += answer == NI_HOOK_YES;
    }
    assert_in_range(yes, ROUNDS / 20, ROUNDS / 2);
    ni_tree_free(root->tree);
}

static void test_limits(void **state)
{
    static const struct {
        const char *soft;
        int64_t want;
    } rows[] = {
        {"0", 0},
        {"65536", 65536},
        {"9223372036854774784", 9223372036854774784}, /* the last double below 2^63 */
        {"9223372036854775808", NI_UNLIMITED},
        {"18446744073709551615", NI_UNLIMITED},
    };
    const struct ni_root *root = node();
    const struct ni_dir top = ni_dir_top(root);

    (void)state;
    for (size_t i = 0; i < NI_COUNT(rows); i++) {
        struct ni_text text = NI_TEXT(2048), why = NI_TEXT(500);
        struct ni_hook_container c;

        ni_putf(&text,
                "{\"process\": {\"rlimits\": [{\"type\": \"RLIMIT_MEMLOCK\", \"soft\": %s}]}, "
                "\"linux\": "
                "{\"resources\": {\"devices\": [{\"allow\": true, \"type\": \"c\", \"major\": 231, "
                "\"minor\": 193, \"access\": \"rw\"}]}}}",
                rows[i].soft);
        assert_int_equal(ni_hook_config(&top, text.buf, false, &c, &why), NI_HOOK_YES);
        assert_int_equal(c.minor, 193);
        assert_true(c.listed == rows[i].want);
    }
    ni_tree_free(root->tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rules), cmocka_unit_test(test_limits)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
