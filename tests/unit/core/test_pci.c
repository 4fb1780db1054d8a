/* SPDX-License-Identifier: Apache-2.0 */
/* PCI addresses as text, and switches as NCCL sees them: two functions at a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/known.h"
#include "nccl_init/pci.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include <cmocka.h>

static void chain(struct ni_pci *pci, const char *text)
{
    struct ni_span s;
    memset(pci, 0, sizeof(*pci));
    while (text && *text && ni_split(&text, ' ', &s))
        assert_int_equal(ni_parse_bdf(s, &pci->at[pci->depth++]), 0);
    pci->known = NI_KNOWN;
}

/* As %04x:%02x:%02x.%x prints it. */
static void test_text(void **state)
{
    static const struct {
        struct ni_bdf bdf;
        const char *want;
    } cases[] = {
        {{0, 0, 0, 0}, "0000:00:00.0"},
        {{0xf, 0xab, 0x1f, 7}, "000f:ab:1f.7"},
        {{0xffff, 0xff, 0, 1}, "ffff:ff:00.1"},
        {{0x10000, 1, 2, 3}, "10000:01:02.3"},
        {{0x123456, 1, 2, 3}, "123456:01:02.3"},
        {{0xf0000000, 1, 2, 3}, "f0000000:01:02.3"},
        {{UINT32_MAX, 0xff, 0x1f, 7}, "ffffffff:ff:1f.7"},
        {{UINT32_MAX, 0xff, 0xff, 0xff}, "ffffffff:ff:ff.7"}, /* "none": it fits all the same */
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        char buf[NI_BDF_TEXT];
        memset(buf, 'x', sizeof(buf));
        assert_ptr_equal(ni_bdf_text(cases[i].bdf, buf), buf);
        assert_string_equal(buf, cases[i].want);
    }
}

#define UP "0000:00:01.0 0000:01:00.0 " /* root port, upstream port */

static void test_switch(void **state)
{
    static const struct {
        const char *a, *b;
        int want;
    } cases[] = {
        {UP "0000:02:00.0 0000:03:00.0", UP "0000:02:01.0 0000:04:00.0", 1},
        {UP "0000:02:00.0 0000:03:00.0", UP "0000:02:00.0 0000:03:00.1", 1},
        /* one of them a switch further down */
        {UP "0000:02:00.0 0000:03:00.0 0000:04:00.0 0000:05:00.0", UP "0000:02:01.0 0000:09:00.0",
         2},
        {UP "0000:02:00.0 0000:03:00.0 0000:04:00.0 0000:05:00.0",
         UP "0000:02:01.0 0000:09:00.0 0000:0a:00.0 0000:0b:00.0", 2},
        {UP "0000:02:00.0 0000:03:00.0 0000:04:00.0 0000:05:00.0",
         UP "0000:02:00.0 0000:03:00.0 0000:04:01.0 0000:06:00.0", 1},
        /* a root port is no switch */
        {"0000:00:01.0 0000:03:00.0", "0000:00:01.0 0000:03:00.1", 0},
        {"0000:00:01.0 0000:03:00.0", "0000:00:02.0 0000:04:00.0", 0},
        {"0000:00:05.0", "0000:00:05.0", 0},
        {"0000:00:05.0", UP "0000:02:00.0 0000:03:00.0", 0},
        {UP "0000:02:00.0 0000:03:00.0", "0000:80:01.0 0000:81:00.0 0000:82:00.0 0000:83:00.0", 0},
        {"", "", 0},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        struct ni_pci a, b;
        chain(&a, cases[i].a);
        chain(&b, cases[i].b);
        static const enum ni_distance far[] = {NI_DIST_UNKNOWN, NI_DIST_PIX, NI_DIST_PXB};
        const enum ni_distance want = far[cases[i].want]; /* NUMA nodes are not known */
        if (ni_pci_distance(&a, &b) != want || ni_pci_distance(&b, &a) != want)
            fail_msg("case %zu: %s", i, ni_distance_text(ni_pci_distance(&a, &b)));
        a.known = NI_ABSENT; /* what is not known is not compared */
        assert_int_equal(ni_pci_distance(&a, &b), NI_DIST_UNKNOWN);
        assert_int_equal(ni_pci_distance(&b, &a), NI_DIST_UNKNOWN);
    }
}

/* A large part with its length in two bytes, a small one in the tag; 0x78 ends the data. */
static void test_vpd(void **state)
{
    static const struct {
        const char *vpd;
        size_t n;
        const char *want; /* NULL: there is none */
    } cases[] = {
#define VPD(bytes, want) {bytes, sizeof(bytes) - 1, want}
        VPD("\x90\x07\x00V3\x04"
            "abcd"
            "\x78",
            "abcd"),
        VPD("\x82\x02\x00hi\x90\x0c\x00PN\x02XYV3\x04"
            "abcd"
            "\x78",
            "abcd"),
        VPD("\x0a"
            "ab\x90\x07\x00V3\x04"
            "abcd",
            "abcd"),
        VPD("\x91\x07\x00V3\x04"
            "abcd\x78",
            NULL), /* the part that can be written */
        VPD("\x78\x90\x07\x00V3\x04"
            "abcd",
            NULL), /* behind the end */
        VPD("\x90\x07\x00V3\x05"
            "abcd\x78",
            NULL), /* longer than the part */
        VPD("\x90\x08\x00V3\x04"
            "abcd",
            NULL), /* ... than the data */
        VPD("\x90\x07", NULL),
        VPD("\x90\x02\x00V3", NULL),
        VPD("\x90\x03\x00V3\x00\x78", NULL),
        VPD("\x90\x07\x00V3\x04"
            "ab\x00"
            "d\x78",
            NULL),
        VPD("\x90\x07\x00VU\x04"
            "abcd\x78",
            NULL),
        VPD("", NULL),
#undef VPD
    };
    char uuid[NI_VPD_UUID];
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        const bool found = ni_vpd_uuid((struct ni_span){cases[i].vpd, cases[i].n}, uuid);
        if (found != (cases[i].want != NULL) || (found && strcmp(uuid, cases[i].want) != 0))
            fail_msg("case %zu", i);
    }
    char longest[NI_VPD_UUID + 6] = "\x90\x43\x00V3\x40"; /* 64 letters have no room */
    memset(longest + 6, 'a', NI_VPD_UUID);
    assert_false(ni_vpd_uuid((struct ni_span){longest, sizeof(longest)}, uuid));
    longest[1]--;
    longest[5]--;
    assert_true(ni_vpd_uuid((struct ni_span){longest, sizeof(longest) - 1}, uuid));
    assert_int_equal(strlen(uuid), NI_VPD_UUID - 1);
}

static void test_plan(void **state)
{
    static struct ni_plan plan;
    (void)state;
    assert_null(ni_plan_get(&plan, "A"));
    plan.n_setting = 2;
    plan.setting[0].name = "AB";
    plan.setting[1].name = "A";
    plan.setting[2].name = "C";
    assert_ptr_equal(ni_plan_get(&plan, "A"), &plan.setting[1]);
    assert_ptr_equal(ni_plan_get(&plan, "AB"), &plan.setting[0]);
    assert_null(ni_plan_get(&plan, "C"));
    assert_string_equal(ni_distance_text(NI_DIST_UNKNOWN), "-");
    assert_string_equal(ni_distance_text(NI_DIST_PIX), "PIX");
    assert_string_equal(ni_distance_text(NI_DIST_PXB), "PXB");
    assert_string_equal(ni_distance_text(NI_DIST_PHB), "PHB");
    assert_string_equal(ni_distance_text(NI_DIST_SYS), "SYS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_switch),
        cmocka_unit_test(test_vpd),
        cmocka_unit_test(test_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
