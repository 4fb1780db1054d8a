/* SPDX-License-Identifier: Apache-2.0 */
/* The strict parsers: the whole text or nothing, and the result is written on success only. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/ip.h"
#include "nccl_init/known.h"
#include "nccl_init/number.h"
#include "nccl_init/pci.h"
#include "nccl_init/text.h"
#include <cmocka.h>

static const uint64_t untouched = 0xdeadbeefcafef00d;

struct number {
    const char *text;
    uint64_t max;
    int err;
    uint64_t want;
};

static void check_numbers(int (*parse)(struct ni_span, uint64_t, uint64_t *),
                          const struct number *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t v = untouched;
        int err = parse(ni_span_of(cases[i].text), cases[i].max, &v);
        if (err != cases[i].err || v != (err ? untouched : cases[i].want))
            fail_msg("`%s`: %d, %llu", cases[i].text, err, (unsigned long long)v);
    }
}

static void test_decimal(void **state)
{
    static const struct number cases[] = {
        {"0", 0, 0, 0},
        {"1", 0, -ERANGE, 0},
        {"00", 0, 0, 0},
        {"255", 255, 0, 255},
        {"256", 255, -ERANGE, 0},
        {"0000000000000000000000000000255", 255, 0, 255},
        {"18446744073709551615", UINT64_MAX, 0, UINT64_MAX},
        {"18446744073709551616", UINT64_MAX, -ERANGE, 0},
        {"18446744073709551625", UINT64_MAX, -ERANGE, 0},
        {"36893488147419103232", UINT64_MAX, -ERANGE, 0}, /* 2^65: wraps to 0 */
        {"99999999999999999999999999999999999999", UINT64_MAX, -ERANGE, 0},
        {"", 255, -EINVAL, 0},
        {" 1", 255, -EINVAL, 0},
        {"1 ", 255, -EINVAL, 0},
        {"1\n", 255, -EINVAL, 0},
        {"+1", 255, -EINVAL, 0},
        {"-1", UINT64_MAX, -EINVAL, 0},
        {"-0", 255, -EINVAL, 0},
        {"0x1", 255, -EINVAL, 0},
        {"a", 255, -EINVAL, 0},
        {"1a", 255, -EINVAL, 0},
        {"1.0", 255, -EINVAL, 0},
        {"18446744073709551616x", UINT64_MAX, -EINVAL, 0}, /* no number before it is too large */
    };
    (void)state;
    check_numbers(ni_parse_u64, cases, NI_COUNT(cases));
    uint64_t v = untouched;
    assert_int_equal(ni_parse_u64((struct ni_span){"123", 2}, 255, &v), 0);
    assert_int_equal(v, 12);
    assert_int_equal(ni_parse_u64((struct ni_span){"1\0002", 3}, 255, &v), -EINVAL);
}

static void test_hex(void **state)
{
    static const struct number cases[] = {
        {"0", 0, 0, 0},
        {"fF", 255, 0, 255},
        {"100", 255, -ERANGE, 0},
        {"ffffffffffffffff", UINT64_MAX, 0, UINT64_MAX},
        {"10000000000000000", UINT64_MAX, -ERANGE, 0},
        {"0000000000000000000000001", 1, 0, 1},
        {"", 255, -EINVAL, 0},
        {"0x1", 255, -EINVAL, 0},
        {"g", 255, -EINVAL, 0},
        {"/", 255, -EINVAL, 0},
        {":", 255, -EINVAL, 0},
        {"@", 255, -EINVAL, 0},
        {"`", 255, -EINVAL, 0},
        {"-1", 255, -EINVAL, 0},
    };
    (void)state;
    check_numbers(ni_parse_hex, cases, NI_COUNT(cases));
}

/* ---- PCI addresses ---- */

static void test_bdf(void **state)
{
    static const struct {
        const char *text;
        struct ni_bdf want;
        const char *kernel; /* as the kernel spells it */
    } cases[] = {
        {"0000:00:00.0", {0, 0, 0, 0}, "0000:00:00.0"},
        {"0000:3b:00.2", {0, 0x3b, 0, 2}, "0000:3b:00.2"},
        {"0000:FF:1F.7", {0, 0xff, 0x1f, 7}, "0000:ff:1f.7"},
        {"ABCD:ab:0c.0", {0xabcd, 0xab, 0x0c, 0}, "abcd:ab:0c.0"},
        {"10000:e1:00.0", {0x10000, 0xe1, 0, 0}, "10000:e1:00.0"},
        {"ffffffff:ff:1f.7", {0xffffffff, 0xff, 0x1f, 7}, "ffffffff:ff:1f.7"},
        {"00000001:02:03.4", {1, 2, 3, 4}, "0001:02:03.4"},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        struct ni_bdf got = {9, 9, 9, 9};
        char buf[NI_BDF_TEXT];
        assert_int_equal(ni_parse_bdf(ni_span_of(cases[i].text), &got), 0);
        assert_int_equal(got.domain, cases[i].want.domain);
        assert_int_equal(got.bus, cases[i].want.bus);
        assert_int_equal(got.dev, cases[i].want.dev);
        assert_int_equal(got.fn, cases[i].want.fn);
        assert_string_equal(ni_bdf_text(got, buf), cases[i].kernel);
    }
}

static void test_bdf_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "3b:00.2",
        "000:3b:00.2",       /* short domain */
        "100000000:3b:00.2", /* 33 bits */
        "000000000:3b:00.2", /* nine digits, whatever they say */
        "0000:3b:20.0",      /* device 32 */
        "0000:3b:00.8",      /* function 8 */
        "0000:3b:00.",
        "0000:3b:00.10",
        "0000:3b:00-2",
        "0000-3b:00.2",
        "0000:3b-00.2",
        "0000:3g:00.2",
        "000g:3b:00.2",
        "0000:3b:00.2 ",
        " 0000:3b:00.2",
        "0000:3b:00.2\n",
        "0000:3b:0.02",
        "0x00:3b:00.2",
        "+000:3b:00.2",
        "0000::3b:00.2",
        "mlx5_core.sf.4",
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(bad); i++) {
        struct ni_bdf got = {9, 9, 9, 9};
        if (ni_parse_bdf(ni_span_of(bad[i]), &got) != -EINVAL || got.domain != 9 || got.fn != 9)
            fail_msg("`%s` was taken", bad[i]);
    }
}

static void test_bdf_order(void **state)
{
    static const char *const order[] = {
        "0000:00:00.0", "0000:00:00.1", "0000:00:01.0", "0000:00:1f.7",  "0000:01:00.0",
        "0000:ff:00.0", "0001:00:00.0", "00ff:00:00.0", "10000:00:00.0", "ffffffff:00:00.0",
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(order); i++) {
        for (size_t j = 0; j < NI_COUNT(order); j++) {
            struct ni_bdf a = {0}, b = {0};
            assert_int_equal(ni_parse_bdf(ni_span_of(order[i]), &a), 0);
            assert_int_equal(ni_parse_bdf(ni_span_of(order[j]), &b), 0);
            assert_int_equal(ni_bdf_cmp(a, b), i < j ? -1 : i > j);
        }
    }
}

static void test_aux_ids(void **state)
{
    static const char longest[] =
        "a123456789a123456789a123456789a123456789a123456789a1234567.sf.4"; /* 63 bytes */
    static const char *const good[] = {"mlx5_core.sf.4", "mlx5_core.sf.0", "a.b.4294967295",
                                       "ice.iwarp.1", longest};
    static const char *const bad[] = {
        "",
        "mlx5_core",
        "mlx5_core.sf",
        "mlx5_core.sf.",
        ".sf.4",
        "mlx5_core..4",
        "mlx5_core.sf.4.5",
        "mlx5_core.sf.x",
        "a.b.-1",
        "a.b.4294967296",
        "a.b.4 ",
        "a/b.c.4",
        "../x.y.4",
        "mlx5_core.sf.4\n",
        "...4",
        "0000:3b:00.2",
        "a123456789a123456789a123456789a123456789a123456789a12345678.sf.4",
    };
    (void)state;
    assert_int_equal(strlen(longest), NI_DEV_NAME - 1);
    for (size_t i = 0; i < NI_COUNT(good); i++) {
        if (!ni_is_aux_id(ni_span_of(good[i])))
            fail_msg("`%s` was refused", good[i]);
    }
    for (size_t i = 0; i < NI_COUNT(bad); i++) {
        if (ni_is_aux_id(ni_span_of(bad[i])))
            fail_msg("`%s` was taken", bad[i]);
    }
}

/* ---- GIDs and addresses ---- */

static void test_gid(void **state)
{
    static const uint8_t want[NI_GID_BYTES] = {0xfe, 0x80, 0,    0,    0, 0,    0,    0,
                                               0xa0, 0x88, 0xc2, 0x03, 0, 0x27, 0xc4, 0x10};
    static const char *const bad[] = {
        "",
        "fe80::1",
        "fe80:0000:0000:0000:a088:c203:0027",
        "fe80:0000:0000:0000:a088:c203:0027:c4",
        "fe80:0000:0000:0000:a088:c203:0027:c410:",
        "fe80:0000:0000:0000:a088:c203:0027:c410:0000",
        "fe80:0000:0000:0000:a088:c203:0027:c41g",
        "fe80:0000:0000:0000:a088:c203:0027-c410",
        "fe80:0000:0000:0000:a088:c203:00270c410",
        "fe800000:0000:0000:0000:a088:c203:0027",
        "fe8:00000:0000:0000:a088:c203:0027:c410",
        "fe80000000000000a088c2030027c410",
        " fe80:0000:0000:0000:a088:c203:0027:c410",
        "fe80:0000:0000:0000:a088:c203:0027:c410\n",
    };
    uint8_t got[NI_GID_BYTES];
    (void)state;
    assert_int_equal(ni_parse_gid(ni_span_of("fe80:0000:0000:0000:a088:c203:0027:c410"), got), 0);
    assert_memory_equal(got, want, sizeof(want));
    assert_int_equal(ni_parse_gid(ni_span_of("FE80:0000:0000:0000:A088:C203:0027:C410"), got), 0);
    assert_memory_equal(got, want, sizeof(want));
    for (size_t i = 0; i < NI_COUNT(bad); i++) {
        if (ni_parse_gid(ni_span_of(bad[i]), got) != -EINVAL)
            fail_msg("`%s` was taken", bad[i]);
    }
    assert_int_equal(ni_parse_hex_ip(ni_span_of("fe80000000000000a088c2030027c410"), got), 0);
    assert_memory_equal(got, want, sizeof(want));
    assert_int_equal(ni_parse_hex_ip(ni_span_of("fe80000000000000a088c2030027c41"), got), -EINVAL);
    assert_int_equal(ni_parse_hex_ip(ni_span_of("fe80000000000000a088c2030027c4100"), got),
                     -EINVAL);
    assert_int_equal(ni_parse_hex_ip(ni_span_of("fe80000000000000a088c2030027c4xx"), got), -EINVAL);
    assert_int_equal(ni_parse_hex_ip(ni_span_of(""), got), -EINVAL);
}

static void test_ipv4(void **state)
{
    static const uint8_t want[NI_GID_BYTES] = {0, 0, 0,    0,    0,  0, 0,   0,
                                               0, 0, 0xff, 0xff, 10, 0, 103, 255};
    static const char *const bad[] = {
        "",          ".",        "1.2.3",     "1.2.3.",     "1.2.3.4.",   ".1.2.3.4",
        "1.2.3.4.5", "1..2.3",   "256.0.0.1", "1.2.3.256",  "1.2.3.0004", "1.2.3.-4",
        "1.2.3.+4",  "1.2.3.4 ", " 1.2.3.4",  "1.2.3.4/24", "0x1.2.3.4",  "1.2.3.a",
        "::1",       "1,2,3,4",  "16909060",  "010.2.3.4",  "1.2.3.00",
    };
    uint8_t got[NI_GID_BYTES], other[NI_GID_BYTES];
    (void)state;
    assert_int_equal(ni_parse_ipv4(ni_span_of("10.0.103.255"), got), 0);
    assert_memory_equal(got, want, sizeof(want));
    assert_int_equal(ni_parse_ipv4((struct ni_span){"10.0.103.255", 9}, got), -EINVAL);
    assert_int_equal(ni_parse_ipv4((struct ni_span){"10.0.103.255", 10}, got), 0);
    assert_int_equal(got[15], 2);
    ni_ip_from_v4(UINT32_C(0x0a0067ff), other);
    assert_memory_equal(other, want, sizeof(want));
    for (size_t i = 0; i < NI_COUNT(bad); i++) {
        if (ni_parse_ipv4(ni_span_of(bad[i]), got) != -EINVAL)
            fail_msg("`%s` was taken", bad[i]);
    }
}

/* ---- names, and how a fact stands ---- */

static void test_names(void **state)
{
    static const char *const good[] = {"mlx5_0", "rocep1s0f1", "net1-0", "a",
                                       "...",    ".a",         "-",      "eth0.100"};
    static const char *const bad[] = {"",      ".",   "..",  "a b", "a,b",  "a:b",      "^a",
                                      "=a",    "a=b", "a/b", "a\n", "a\t",  "\xc3\xa9", "a\x7f",
                                      "a@if3", "a*",  "a$b", "a;b", "a\"b", "a'b"};
    (void)state;
    for (size_t i = 0; i < NI_COUNT(good); i++) {
        if (!ni_is_name(ni_span_of(good[i]), NI_DEV_NAME))
            fail_msg("`%s` was refused", good[i]);
    }
    for (size_t i = 0; i < NI_COUNT(bad); i++) {
        if (ni_is_name(ni_span_of(bad[i]), NI_DEV_NAME))
            fail_msg("`%s` was taken", bad[i]);
    }
    assert_true(ni_is_name(ni_span_of("a23456789012345"), NI_IF_NAME));
    assert_false(ni_is_name(ni_span_of("a234567890123456"), NI_IF_NAME));
    assert_false(ni_is_name((struct ni_span){"a\0b", 3}, NI_IF_NAME));
}

static void test_known(void **state)
{
    static const struct {
        int err;
        enum ni_known want;
    } cases[] = {
        {0, NI_KNOWN},        {-ENOENT, NI_ABSENT}, {-ENOTDIR, NI_ABSENT}, {-ENODEV, NI_ABSENT},
        {-EOVERFLOW, NI_BAD}, {-EILSEQ, NI_BAD},    {-EACCES, NI_DENIED},  {-EPERM, NI_DENIED},
        {-EIO, NI_DENIED},    {-EINVAL, NI_DENIED}, {-ELOOP, NI_DENIED},   {-ENOMEM, NI_DENIED},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++)
        assert_int_equal(ni_known_of(cases[i].err), cases[i].want);
    for (int k = NI_UNSET; k <= NI_KNOWN; k++) {
        for (int j = NI_UNSET; j < k; j++)
            assert_string_not_equal(ni_known_text((enum ni_known)k),
                                    ni_known_text((enum ni_known)j));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decimal),   cmocka_unit_test(test_hex),
        cmocka_unit_test(test_bdf),       cmocka_unit_test(test_bdf_refused),
        cmocka_unit_test(test_bdf_order), cmocka_unit_test(test_aux_ids),
        cmocka_unit_test(test_gid),       cmocka_unit_test(test_ipv4),
        cmocka_unit_test(test_names),     cmocka_unit_test(test_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
