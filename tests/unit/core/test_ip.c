/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses as text, prefixes bit by bit, kinds of addresses. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/ip.h"
#include <cmocka.h>

static uint64_t seed;

static uint32_t next(void)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(seed >> 33);
}

static void ip_of(const char *text, uint8_t ret[NI_GID_BYTES])
{
    assert_int_equal(inet_pton(AF_INET6, text, ret), 1);
}

/* IPv4 stands without the prefix that it has as a GID. */
static void test_text(void **state)
{
    static const char *const cases[][2] = {
        {"::", "::"},
        {"fe80::1", "fe80::1"},
        {"2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},
        {"::ffff:10.0.103.6", "10.0.103.6"},
        {"::ffff:0.0.0.0", "0.0.0.0"},
        {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        uint8_t ip[NI_GID_BYTES];
        char buf[NI_IP_TEXT];
        ip_of(cases[i][0], ip);
        assert_string_equal(ni_ip_text(ip, buf), cases[i][1]);
    }
}

/* An address with groups that are often zero, so that runs of all kinds occur. */
static void random_ip(uint8_t ip[NI_GID_BYTES])
{
    uint32_t zero = next(), small = next();
    for (unsigned g = 0; g < 8; g++) {
        uint32_t v = zero >> g & 1 ? 0 : small >> g & 1 ? next() % 16 : next();
        ip[2 * g] = (uint8_t)(v >> 8);
        ip[2 * g + 1] = (uint8_t)v;
    }
    if (next() % 8 == 0)
        ni_ip_from_v4(next(), ip);
}

/* Equal up to bit b only, for every b, asked for every length. */
static void test_same_prefix(void **state)
{
    (void)state;
    seed = 2;
    uint8_t a[NI_GID_BYTES], b[NI_GID_BYTES];
    random_ip(a);
    for (unsigned bits = 0; bits <= 128; bits++)
        assert_true(ni_ip_same_prefix(a, a, bits));
    for (unsigned differs = 0; differs < 128; differs++) {
        memcpy(b, a, sizeof(b));
        for (unsigned bit = differs + 1; bit < 128; bit++)
            b[bit / 8] = (uint8_t)(b[bit / 8] ^ ((next() & 1) << (7 - bit % 8)));
        b[differs / 8] = (uint8_t)(b[differs / 8] ^ 0x80u >> differs % 8);
        for (unsigned bits = 0; bits <= 128; bits++)
            assert_int_equal(ni_ip_same_prefix(a, b, bits), bits <= differs);
    }
}

static void test_kinds(void **state)
{
    static const struct {
        const char *text;
        bool zero, v4, link_local, loopback;
    } cases[] = {
        {"::", true, false, false, false},
        {"::1", false, false, false, true},
        {"::2", false, false, false, false},
        {"1::1", false, false, false, false},
        {"::ffff:0.0.0.0", false, true, false, false},
        {"::ffff:127.0.0.1", false, true, false, true},
        {"::ffff:127.255.255.255", false, true, false, true},
        {"::ffff:128.0.0.1", false, true, false, false},
        {"::ffff:169.254.1.1", false, true, true, false},
        {"::ffff:169.253.1.1", false, true, false, false},
        {"::ffff:169.255.1.1", false, true, false, false},
        {"::fffe:10.0.0.1", false, false, false, false},
        {"1::ffff:10.0.0.1", false, false, false, false},
        {"fe80::", false, false, true, false},
        {"fe80::1", false, false, true, false},
        {"febf::1", false, false, true, false},
        {"fec0::1", false, false, false, false},
        {"fe7f::1", false, false, false, false},
        {"fd00::1", false, false, false, false},
        {"7f00::1", false, false, false, false},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        uint8_t ip[NI_GID_BYTES];
        ip_of(cases[i].text, ip);
        assert_int_equal(ni_ip_is_zero(ip), cases[i].zero);
        assert_int_equal(ni_ip_is_v4(ip), cases[i].v4);
        assert_int_equal(ni_ip_is_link_local(ip), cases[i].link_local);
        assert_int_equal(ni_ip_is_loopback(ip), cases[i].loopback);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_same_prefix),
        cmocka_unit_test(test_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
