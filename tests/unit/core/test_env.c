/* SPDX-License-Identifier: Apache-2.0 */
/* The environment as getenv(3) reads it, and device lists as NCCL reads them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/env.h"
#include "nccl_init/nccl_list.h"
#include "nccl_init/text.h"
#include <cmocka.h>

static void test_get(void **state)
{
    char *entry[] = {(char[]){"NCCL_IB_HCA_X=other"},
                     (char[]){"novalue"},
                     (char[]){"=C:=odd"},
                     (char[]){"NCCL_IB_HCA==mlx5_0"},
                     (char[]){"NCCL_IB_HCA=second"},
                     (char[]){"EMPTY="},
                     (char[]){"EMPTY=full"},
                     (char[]){"NCCL_IB=short"},
                     NULL};
    char *none[] = {NULL};
    const struct ni_env env = {entry}, empty = {none};
    (void)state;
    assert_string_equal(ni_env_get(&env, "NCCL_IB_HCA"), "=mlx5_0"); /* the first one */
    assert_string_equal(ni_env_get(&env, "NCCL_IB"), "short");
    assert_string_equal(ni_env_get(&env, "NCCL_IB_HCA_X"), "other");
    assert_string_equal(ni_env_get(&env, "EMPTY"), "");
    assert_null(ni_env_get(&env, "novalue"));
    assert_null(ni_env_get(&env, "NCCL_I"));
    assert_null(ni_env_get(&env, "EMPTY2"));
    assert_null(ni_env_get(&env, "nccl_ib"));
    assert_null(ni_env_get(&empty, "NCCL_IB"));
}

static void test_split(void **state)
{
    struct ni_span name;
    const char *value;
    (void)state;
    assert_true(ni_env_split("A=b", &name, &value));
    assert_true(ni_span_is(name, "A"));
    assert_string_equal(value, "b");
    assert_true(ni_env_split("NCCL_SOCKET_IFNAME==eth0=", &name, &value));
    assert_true(ni_span_is(name, "NCCL_SOCKET_IFNAME"));
    assert_string_equal(value, "=eth0=");
    assert_true(ni_env_split("A=", &name, &value));
    assert_string_equal(value, "");
    assert_false(ni_env_split("A", &name, &value));
    assert_false(ni_env_split("", &name, &value));
    assert_false(ni_env_split("=x", &name, &value));
    assert_false(ni_env_split("=", &name, &value));
}

/* Which of these devices a list selects: one letter each. */
static const struct {
    const char *name;
    int port;
    char letter;
} devices[] = {
    {"mlx5_0", 1, 'a'},  {"mlx5_0", 2, 'A'},   {"mlx5_1", 1, 'b'},
    {"mlx5_10", 1, 'c'}, {"mlx5_100", 1, 'd'}, {"mlx5_bond_0", 1, 'e'},
};

struct match {
    const char *list, *want;
};

static void check(const struct match *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char got[NI_COUNT(devices) + 1], *p = got;
        for (size_t d = 0; d < NI_COUNT(devices); d++) {
            if (ni_nccl_match(cases[i].list, devices[d].name, devices[d].port))
                *p++ = devices[d].letter;
        }
        *p = '\0';
        if (strcmp(got, cases[i].want) != 0)
            fail_msg("`%s` selects `%s`, not `%s`", cases[i].list, got, cases[i].want);
    }
}

static void test_match_grammar(void **state)
{
    static const struct match cases[] = {
        /* all, or none */
        {"", "aAbcde"},
        {"=", "aAbcde"},
        {",", "aAbcde"},
        {",,", "aAbcde"},
        {"=,", "aAbcde"},
        {":1", "aAbcde"},
        {"^", ""},
        {"^=", ""},
        {"^,", ""},
        /* prefix and exact */
        {"mlx5_1", "bcd"},
        {"=mlx5_1", "b"},
        {"mlx5", "aAbcde"},
        {"=mlx5", ""},
        {"mlx5_1000", ""},
        {"MLX5_1", ""},
        {"mlx5_0,mlx5_1", "aAbcd"},
        {"=mlx5_0,mlx5_1", "aAb"},
        {"=mlx5_1,mlx5_1", "b"},
        {"=mlx5_1,mlx5_0", "aAb"},
        {",mlx5_10", "cd"},
        {"=mlx5_10,", "c"},
        {"=a,=b", ""},
        {"=mlx5_0,=mlx5_1", "aA"}, /* the second is the literal `=mlx5_1` */
        {"mlx5_bond", "e"},
        {"=mlx5_bond_0", "e"},
        /* exclusion; both marks are read once, in this order */
        {"^mlx5_1", "aAe"},
        {"^=mlx5_1", "aAcde"},
        {"=^mlx5_1", ""},
        {"^mlx5_0,^mlx5_1", "bcde"},
        {"^nothing", "aAbcde"},
        {"^^mlx5_1", "aAbcde"},
        {"==mlx5_1", ""},
        /* nothing is trimmed */
        {" =mlx5_1", ""},
        {"= mlx5_1", ""},
        {"=mlx5_0, mlx5_1", "aA"},
        {"=mlx5_1 ", ""},
        {"=mlx5_1\n", ""},
        {"=mlx5_0,mlx5_1\n", "aA"},
    };
    (void)state;
    check(cases, NI_COUNT(cases));
}

static void test_match_ports(void **state)
{
    static const struct match cases[] = {
        {"=mlx5_0:1", "a"},
        {"=mlx5_0:2", "A"},
        {"=mlx5_0:3", ""},
        {"=mlx5_0:01", "a"},
        {"=mlx5_0:", "aA"},
        {"=mlx5_0:0", ""},
        {"=mlx5_0:x", ""},
        {"=mlx5_0:1x", "a"},
        {"=mlx5_0:1:0:1", "a"},
        {"=mlx5_0::0:0", "aA"},
        {"=mlx5_0:11", ""},
        {"=mlx5_0:4294967297", "a"},
        {"mlx5_1:1", "bcd"},
        {"mlx5_1:2", ""},
        {"=mlx5_0:2,mlx5_1:1", "Ab"},
        {"=mlx5_0:2,mlx5_0:1", "aA"},
        {"^=mlx5_0:2", "abcde"},
        {"^mlx5_1:2", "aAbcde"},
        {"=:1,mlx5_1", "b"},
    };
    (void)state;
    check(cases, NI_COUNT(cases));
    assert_true(ni_nccl_match("=mlx5_0:2", "mlx5_0", -1)); /* interfaces have no port */
    assert_true(ni_nccl_match("=mlx5_0:0", "mlx5_0", -1));
    assert_false(ni_nccl_match("^=eth0:7", "eth0", -1));
    assert_true(ni_nccl_match("eth", "eth0", -1));
    assert_false(ni_nccl_match("eth0", "eth", -1));
}

/* atoi(3) skips blanks and takes a sign. */
static void test_match_port_is_atoi(void **state)
{
    static const struct match cases[] = {
        {"=mlx5_0: 1", "a"}, {"=mlx5_0:\t2", "A"}, {"=mlx5_0:+2", "A"},
        {"=mlx5_0:-2", ""},  {"=mlx5_0:1 ", "a"},
    };
    (void)state;
    check(cases, NI_COUNT(cases));
}

/* MAX_IB_DEVS: the 33rd entry and later are dropped silently. */
static void test_match_entries_beyond_32(void **state)
{
    char list[1024];
    (void)state;
    struct ni_text t = ni_text_on(list, sizeof(list));
    for (int i = 0; i < 31; i++)
        ni_putf(&t, "%sx%d", i ? "," : "=", i);
    ni_put(&t, ",mlx5_0,mlx5_1");
    assert_true(ni_nccl_match(list, "x0", 1));
    assert_true(ni_nccl_match(list, "mlx5_0", 1));
    assert_false(ni_nccl_match(list, "mlx5_1", 1));
}

/* What lists nothing takes all. */
static void test_names_hcas(void **state)
{
    static const char *const all[] = {"", "=", ",", "=,,", ":1", ",:1"};
    static const char *const some[] = {"m", "=m", ",mlx5_0:1", "^", "^,", "^mlx5_0", "x,"};
    (void)state;
    for (unsigned i = 0; i < NI_COUNT(all); i++)
        assert_false(ni_names_hcas(all[i]));
    for (unsigned i = 0; i < NI_COUNT(some); i++)
        assert_true(ni_names_hcas(some[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_get),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_match_grammar),
        cmocka_unit_test(test_match_ports),
        cmocka_unit_test(test_match_port_is_atoi),
        cmocka_unit_test(test_names_hcas),
        cmocka_unit_test(test_match_entries_beyond_32),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
