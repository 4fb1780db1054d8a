/* SPDX-License-Identifier: Apache-2.0 */
/* Listings and lines: order and bounds. */
#include "test_door.h"

static struct ni_names names;

static void test_of_a_tree(void **state)
{
    (void)state;
    struct ni_root root =
        tree_of("f net10\nf net9\nf eth0\nf net1\nf a{0..1}\nf dir/{0..3000} x\n");

    assert_string_equal(list_of(&root, "."), "a{0..1} dir eth0 net1 net9 net10");
    assert_int_equal(ni_list(TOP(&root), &names, "dir"), 0);
    assert_int_equal(names.n, NI_MAX_NAMES);
    assert_true(names.cut);
    assert_int_equal(ni_list(TOP(&root), &names, "none"), -ENOENT);
    assert_int_equal(names.n, 0);
    assert_false(names.cut);
    ni_root_close(&root);
}

/* ---- lines ---- */

static void check_lines(const char *text, size_t n, size_t piece, const char *want)
{
    static char got[65536];
    struct ni_text out = ni_text_on(got, sizeof(got));
    struct ni_liner l = {.line = add_line, .ctx = &out};

    for (size_t at = 0; at < n; at += piece)
        assert_int_equal(ni_liner_feed(&l, text + at, n - at < piece ? n - at : piece), 0);
    if (l.len > 0)
        assert_int_equal(ni_liner_feed(&l, "\n", 1), 0);
    assert_string_equal(got, want);
}

static void test_lines(void **state)
{
    (void)state;
    static const char text[] = "one\n\n\nfour\nfive";

    for (size_t piece = 1; piece < sizeof(text); piece++)
        check_lines(text, sizeof(text) - 1, piece, "one|||four|five|");
    check_lines("", 0, 1, "");
    check_lines("\n", 1, 1, "|");
    struct ni_liner l = {.line = add_line};
    assert_int_equal(ni_liner_feed(&l, "a\0b", 3), -EILSEQ);
}

static void test_long_lines(void **state)
{
    (void)state;
    static char text[3 * NI_PAGE], want[4 * NI_PAGE];

    memset(text, 'x', sizeof(text));
    text[NI_PAGE - 1] = '\n'; /* 4095 bytes: whole */
    text[2 * NI_PAGE] = '\n'; /* 4096 bytes: cut */
    memcpy(text + sizeof(text) - 4, "\nend", 4);
    struct ni_text out = ni_text_on(want, sizeof(want));
    ni_putf(&out, "%.*s|%.*s|", NI_PAGE - 1, text, NI_PAGE - 1, text + NI_PAGE);
    ni_putf(&out, "%.*s|end|", NI_PAGE - 1 - 4, text + 2 * NI_PAGE + 1);
    for (size_t piece = 1; piece <= sizeof(text); piece = piece * 3 + 1)
        check_lines(text, sizeof(text), piece, want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_of_a_tree),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_long_lines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
