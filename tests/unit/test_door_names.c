/* SPDX-License-Identifier: Apache-2.0 */
/* Listings and lines: order, bounds, and that what is left out does not depend on who lists. */
#include <stdlib.h>

#include "test_door.h"

static struct ni_names names;
static char pool[8192][NI_TREE_NAME];
static const char *order[8192];

static void list_all(unsigned n)
{
    struct ni_listing l;

    ni_listing_begin(&l, &names);
    for (unsigned i = 0; i < n; i++)
        ni_listing_add(&l, order[i]);
    ni_listing_end(&l);
}

static int by_name(const void *a, const void *b)
{
    return ni_natural_cmp(*(const char *const *)a, *(const char *const *)b);
}

static void shuffle(unsigned n, unsigned seed)
{
    for (unsigned i = n; i > 1; i--) {
        seed = seed * 1103515245U + 12345U;
        unsigned k = (seed >> 8) % i;
        const char *t = order[i - 1];
        order[i - 1] = order[k];
        order[k] = t;
    }
}

/* The names in the list are the first of all in natural order, and no more would fit. */
static void check_first(unsigned n)
{
    size_t used = 0;
    unsigned fit = 0;

    qsort(order, n, sizeof(order[0]), by_name);
    while (fit < n && fit < NI_MAX_NAMES && used + strlen(order[fit]) + 1 <= NI_NAMES_TEXT)
        used += strlen(order[fit++]) + 1;
    assert_int_equal(names.n, fit);
    assert_int_equal(names.cut, fit < n);
    for (unsigned i = 0; i < fit; i++)
        assert_string_equal(names.name[i], order[i]);
}

/* n names, in several orders; `width` makes them longer. */
static void check_orders(unsigned n, unsigned width)
{
    for (unsigned seed = 0; seed < 4; seed++) {
        for (unsigned i = 0; i < n; i++) {
            unsigned tail = width ? i % width : 0;
            snprintf(pool[i], sizeof(pool[i]), "mlx5_%u%.*s", i, (int)tail,
                     "....................................................................."
                     ".....................................................................");
            order[seed == 1 ? n - 1 - i : i] = pool[i];
        }
        if (seed > 1)
            shuffle(n, seed);
        list_all(n);
        check_first(n);
    }
}

static void test_order(void **state)
{
    (void)state;
    check_orders(0, 0);
    check_orders(1, 0);
    check_orders(2, 0);
    check_orders(12, 0);
    check_orders(1000, 0);
    check_orders(NI_MAX_NAMES, 0);
    list_all(12);
    assert_string_equal(names.name[2], "mlx5_2");
    assert_string_equal(names.name[10], "mlx5_10");
}

static void test_too_many(void **state)
{
    (void)state;
    check_orders(NI_MAX_NAMES + 1, 0);
    check_orders(8192, 0);
}

static void test_too_long(void **state)
{
    (void)state;
    check_orders(1500, 100);
    check_orders(3000, 120);
}

/* The sibling order of a tree is the file's; a listing's is natural. */
static void test_of_a_tree(void **state)
{
    (void)state;
    struct ni_root root =
        tree_of("f net10\nf net9\nf eth0\nf net1\nf a{0..1}\nf dir/{0..3000} x\n");

    assert_string_equal(list_of(&root, "."), "a{0..1} dir eth0 net1 net9 net10");
    assert_int_equal(ni_list(&root, &names, "dir"), 0);
    assert_int_equal(names.n, NI_MAX_NAMES);
    assert_true(names.cut);
    assert_string_equal(names.name[0], "0");
    assert_string_equal(names.name[NI_MAX_NAMES - 1], "2047");
    assert_int_equal(ni_list(&root, &names, "none"), -ENOENT);
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
    ni_liner_end(&l);
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
        cmocka_unit_test(test_order),    cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_too_long), cmocka_unit_test(test_of_a_tree),
        cmocka_unit_test(test_lines),    cmocka_unit_test(test_long_lines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
