/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded text never writes behind its end and says when it was cut; the order of names is total.
   */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/text.h"
#include <cmocka.h>

/* A text of `cap` bytes in the middle of bytes that must not change. */
static struct {
    char before[8], buf[32], after[8];
} room;

static struct ni_text text_of(size_t cap)
{
    memset(&room, '#', sizeof(room));
    return ni_text_on(room.buf, cap);
}

static void assert_text(const struct ni_text *t, const char *want, bool cut)
{
    assert_string_equal(t->buf, want);
    assert_int_equal(t->len, strlen(want));
    assert_int_equal(t->cut, cut);
    for (size_t i = t->cap; i < sizeof(room.buf); i++)
        assert_int_equal(room.buf[i], '#');
}

static void test_put_fits_and_cuts(void **state)
{
    (void)state;
    struct ni_text t = text_of(6);
    assert_text(&t, "", false);
    ni_put(&t, "abc");
    ni_put(&t, "");
    ni_putn(&t, "defg", 2);
    assert_text(&t, "abcde", false); /* full is not cut */
    ni_put(&t, "");
    assert_text(&t, "abcde", false);
    ni_put(&t, "f");
    assert_text(&t, "abcde", true);
    ni_put(&t, "");
    assert_text(&t, "abcde", true); /* for good */
    t = text_of(4);
    ni_put(&t, "abcdefgh");
    assert_text(&t, "abc", true);
    t = text_of(1);
    ni_put(&t, "");
    assert_text(&t, "", false);
    ni_put(&t, "a");
    assert_text(&t, "", true);
}

static void test_putf_fits_and_cuts(void **state)
{
    (void)state;
    struct ni_text t = text_of(6);
    ni_putf(&t, "%d", 12345);
    assert_text(&t, "12345", false);
    ni_putf(&t, "%s", "");
    assert_text(&t, "12345", false);
    ni_putf(&t, "%d", 6);
    assert_text(&t, "12345", true);
    t = text_of(6);
    ni_putf(&t, "%s", "ab");
    ni_putf(&t, "%s-%s", "cd", "ef");
    assert_text(&t, "abcd-", true);
    ni_putf(&t, "x");
    assert_text(&t, "abcd-", true);
    t = text_of(6);
    ni_putf(&t, "%06d", 1); /* one byte too long: the NUL counts */
    assert_text(&t, "00000", true);
    t = text_of(1);
    ni_putf(&t, "%s", "");
    assert_text(&t, "", false);
}

/* Room for one doubling, then none. */
static char larger[32];

static void grow_once(struct ni_text *t)
{
    if (t->buf == larger) {
        t->full = NULL;
        return;
    }
    memcpy(larger, t->buf, t->len + 1);
    t->buf = larger;
    t->cap = 16;
}

/* A text that grows takes what fits, and of what does not fit as much as there is room for. */
static void test_putf_grows(void **state)
{
    char small[8];
    struct ni_text t = ni_text_on(small, sizeof(small));

    (void)state;
    t.full = grow_once;
    ni_putf(&t, "%s-%d", "abc", 1);
    assert_string_equal(t.buf, "abc-1");
    ni_putf(&t, "%s-%d", "defg", 2);
    assert_string_equal(t.buf, "abc-1defg-2");
    assert_false(t.cut);
    ni_putf(&t, "%s", "");
    assert_int_equal(t.len, strlen("abc-1defg-2"));

    t = ni_text_on(small, sizeof(small));
    t.full = grow_once;
    memset(larger, '#', sizeof(larger) - 1);
    ni_putf(&t, "%d%s", 1, "23456789012345678901234567890");
    assert_string_equal(t.buf, "123456789012345");
    assert_int_equal(t.len, 15);
    assert_true(t.cut);
}

static void test_quoted(void **state)
{
    static const char bytes[] = "a b\x01\x7f\x80\xff\n\t~\\";
    (void)state;
    char buf[64];
    struct ni_text t = ni_text_on(buf, sizeof(buf));
    ni_put_quoted(&t, bytes, sizeof(bytes) - 1, 64);
    assert_string_equal(buf, "a b\\x01\\x7f\\x80\\xff\\x0a\\x09~\\");
    assert_false(t.cut);
    t = ni_text_on(buf, sizeof(buf));
    ni_put_quoted(&t, "abc", 3, 3);
    assert_string_equal(buf, "abc");
    t = ni_text_on(buf, sizeof(buf));
    ni_put_quoted(&t, "abcd", 4, 3);
    assert_string_equal(buf, "abc...");
    t = ni_text_on(buf, sizeof(buf));
    ni_put_quoted(&t, "\0x", 2, 5); /* counted, not NUL-terminated */
    assert_string_equal(buf, "\\x00x");
    t = text_of(6);
    ni_put_quoted(&t, "\n\n", 2, 5);
    assert_text(&t, "\\x0a\\", true);
}

static void test_copy_is_whole_or_empty(void **state)
{
    (void)state;
    char buf[4] = "old";
    assert_true(ni_copy(buf, sizeof(buf), "abc"));
    assert_string_equal(buf, "abc");
    assert_false(ni_copy(buf, sizeof(buf), "abcd"));
    assert_string_equal(buf, "");
    assert_true(ni_copyn(buf, sizeof(buf), "abcdef", 2));
    assert_string_equal(buf, "ab");
    assert_true(ni_copyn(buf, sizeof(buf), "abcdef", 0));
    assert_string_equal(buf, "");
    assert_false(ni_copyn(buf, sizeof(buf), "abcdef", SIZE_MAX));
    assert_false(ni_copy(buf, 1, "a"));
    assert_true(ni_copy(buf, 1, ""));
    assert_true(ni_has_prefix("mlx5_10", "mlx5_1"));
    assert_true(ni_has_prefix("a", ""));
    assert_false(ni_has_prefix("ml", "mlx"));
}

static void test_split(void **state)
{
    static const struct {
        const char *text, *want; /* the pieces, each in brackets */
    } cases[] = {
        {"", "[]"}, {"a", "[a]"}, {",", "[][]"}, {"a,b,", "[a][b][]"}, {",,a", "[][][a]"},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        char buf[64];
        struct ni_text t = ni_text_on(buf, sizeof(buf));
        const char *cursor = cases[i].text;
        struct ni_span s;
        while (ni_split(&cursor, ',', &s)) {
            ni_put(&t, "[");
            ni_putn(&t, s.p, s.n);
            ni_put(&t, "]");
        }
        assert_string_equal(buf, cases[i].want);
        assert_null(cursor);
        assert_false(ni_split(&cursor, ',', &s));
    }
}

static void test_trim(void **state)
{
    static const char *const cases[][2] = {
        {"", ""}, {" \t\r\n", ""}, {"a", "a"}, {" a b ", "a b"}, {"\ta\r\n", "a"}, {"\va", "\va"},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        struct ni_span s = ni_trim(ni_span_of(cases[i][0]));
        assert_true(ni_span_is(s, cases[i][1]));
    }
    assert_true(ni_span_is((struct ni_span){"abc", 2}, "ab"));
    assert_false(ni_span_is((struct ni_span){"abc", 2}, "a"));
    assert_false(ni_span_is((struct ni_span){"abc", 2}, "abc"));
}

/* ---- the order of names ---- */

/* Names of which a careless order would take some for equal, or run in a circle. */
static const char *const nasty[] = {
    "",       "0",        "00",       "000",     "0a",        "00a",      "01",          "1",
    "1a",     "2",        "9",        "0010",    "010",       "10",       "a",           "a0",
    "a00",    "a0b",      "a00b",     "a01",     "a1",        "a1-",      "a01b00",      "a01b0",
    "a1b0",   "a01b1",    "a1b2",     "a2",      "a10",       "aa",       "mlx5",        "mlx5_0",
    "mlx5_1", "mlx5_1_2", "mlx5_2",   "mlx5_10", "mlx5_10_1", "mlx5_100", "mlx5_bond_0", "mlx10_0",
    "mlx_",   "\x7f",     "\xc3\xa9", "\xff"};

static int sign(int v)
{
    return v < 0 ? -1 : v > 0;
}

static void test_natural_order_of_pairs(void **state)
{
    static const char *const pairs[][2] = {
        {"mlx5_2", "mlx5_10"},
        {"mlx5_9", "mlx5_10"},
        {"mlx5_09", "mlx5_10"},
        {"mlx5_1", "mlx5_bond_0"}, /* musl's strverscmp has them the other way */
        {"eth0", "eth1"},
        {"net1", "net1-0"},
        {"uverbs2", "uverbs10"},
        {"a1b9", "a1b10"},
        {"mlx5_0", "mlx5_00"},
        {"a7b", "a07a"},
        {"", "a"},
        {"Z", "a"},
        {"a9", "a10"},
        {"18446744073709551615", "18446744073709551616"},
        {"18446744073709551616", "018446744073709551617"},
        {"x99999999999999999999", "x100000000000000000000"}};
    (void)state;
    for (size_t i = 0; i < NI_COUNT(pairs); i++) {
        assert_int_equal(sign(ni_natural_cmp(pairs[i][0], pairs[i][1])), -1);
        assert_int_equal(sign(ni_natural_cmp(pairs[i][1], pairs[i][0])), 1);
    }
}

/* Equal only for equal strings, antisymmetric, transitive over every triple. */
static void test_natural_order_is_total(void **state)
{
    enum { N = NI_COUNT(nasty) };
    static int cmp[N][N];
    (void)state;
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < N; j++) {
            cmp[i][j] = sign(ni_natural_cmp(nasty[i], nasty[j]));
            assert_int_equal(cmp[i][j] == 0, i == j);
        }
    }
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < N; j++) {
            assert_int_equal(cmp[i][j], -cmp[j][i]);
            for (size_t k = 0; k < N; k++)
                assert_false(cmp[i][j] < 0 && cmp[j][k] < 0 && cmp[i][k] >= 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_put_fits_and_cuts),
        cmocka_unit_test(test_putf_fits_and_cuts),
        cmocka_unit_test(test_putf_grows),
        cmocka_unit_test(test_quoted),
        cmocka_unit_test(test_copy_is_whole_or_empty),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_trim),
        cmocka_unit_test(test_natural_order_of_pairs),
        cmocka_unit_test(test_natural_order_is_total),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
