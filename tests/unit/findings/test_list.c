/* SPDX-License-Identifier: Apache-2.0 */
/* The list of findings: bounded, without repetitions, printable whatever comes in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "findings/device.h"
#include "findings/pod.h"
#include "findings/setting.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/text.h"
#include <cmocka.h>

static struct ni_findings f;

static int reset(void **state)
{
    (void)state;
    memset(&f, 0, sizeof(f));
    return 0;
}

static void test_kept_in_order_and_once(void **state)
{
    (void)state;
    ni_report(&f, NI_F_GID_NONE, "mlx5_6/1", "message %d", 1);
    ni_report(&f, NI_F_HCA_NONE, "mlx5_6/1", "message %d", 1);
    ni_report(&f, NI_F_GID_NONE, "mlx5_7/1", "message %d", 1);
    ni_report(&f, NI_F_GID_NONE, "mlx5_6/1", "message %d", 2);
    for (int i = 0; i < 3; i++) {
        ni_report(&f, NI_F_GID_NONE, "mlx5_6/1", "message %d", 1);
        ni_report(&f, NI_F_GID_NONE, "mlx5_6/1", "message %d", 2);
    }
    assert_int_equal(f.n, 4);
    assert_int_equal(f.dropped, 0);
    assert_int_equal(f.at[1].id, NI_F_HCA_NONE);
    assert_string_equal(f.at[2].subject, "mlx5_7/1");
    assert_string_equal(f.at[3].message, "message 2");
    assert_true(ni_findings_has(&f, NI_F_GID_NONE));
    assert_false(ni_findings_has(&f, NI_F_GID_V1_ONLY));
    assert_int_equal(ni_findings_count(&f, NI_WARNING), 3);
    assert_int_equal(ni_findings_count(&f, NI_INFO), 1);
    assert_int_equal(ni_findings_count(&f, NI_ERROR), 0);
}

/* What cannot be tried on this node is not offered there. */
static void test_no_trial(void **state)
{
    static const ni_finding_number trials[] = {NI_F_GPU_HCA_FAR, NI_F_GPU_HCA_PASSED_OVER};

    (void)state;
    for (size_t i = 0; i < NI_COUNT(trials); i++) {
        struct ni_text here = NI_TEXT(NI_FINDING_HINT), amd = NI_TEXT(NI_FINDING_HINT);

        ni_put_hint(&here, &(struct ni_finding){.id = trials[i]});
        assert_non_null(strstr(here.buf, "--try=gpu"));
        f.no_trial = true;
        ni_put_hint(&amd, ni_report(&f, trials[i], "0000:1b:00.0", "it is far"));
        assert_null(strstr(amd.buf, "--try"));
    }
}

/* However many there are, of each id one is kept, so that no severity is lost. Whatever the order, the
   same number is left out. */
static void test_overflow(void **state)
{
    const unsigned kept = NI_MAX_AGAIN + 2;
    ni_finding_number all[NI_MAX_KINDS];
    unsigned n;

    (void)state;
    for (unsigned late = 0; late < 2; late++) {
        memset(&f, 0, sizeof(f));
        if (!late)
            ni_report(&f, NI_F_GID_SEARCH_WRONG, "port", "an error");
        for (unsigned i = 0; i < kept - 1 + 7; i++)
            ni_report(&f, NI_F_GID_NONE, "port", "%u", i);
        if (late)
            ni_report(&f, NI_F_GID_SEARCH_WRONG, "port", "an error");
        assert_int_equal(f.n, kept);
        assert_int_equal(f.dropped, 7);
        assert_int_equal(ni_findings_count(&f, NI_WARNING), kept - 1);
        assert_int_equal(ni_findings_count(&f, NI_ERROR), 1);
    }
    n = ni_list_finding_kinds(all);
    for (unsigned i = 0; i < n; i++)
        ni_report(&f, all[i], "x", "the first of its id, mostly");
    assert_int_equal(f.n, n + NI_MAX_AGAIN);
    for (unsigned i = 0; i < n; i++)
        assert_true(ni_findings_has(&f, all[i]));
    assert_int_equal(f.dropped, 9);
}

/* Of two findings about one fact the stronger stays, of two facts both. */
static void test_weaker(void **state)
{
    (void)state;
    ni_report(&f, NI_F_HCA_PORT_SLOW, "mlx5_1/1", "100 Gb/s");
    ni_report(&f, NI_F_HCA_PORT_SLOW, "mlx5_9/1", "25 Gb/s");
    ni_report(&f, NI_F_RAIL_SLOW, "mlx5_1/1", "100 Gb/s");
    ni_report(&f, NI_F_GDR_PEERMEM_HIDDEN, "nvidia_peermem", "not listed");
    ni_report(&f, NI_F_FACT_UNREADABLE, "sys/class/infiniband/mlx5_7/ports/1/state", "ENOENT");
    ni_report(&f, NI_F_FACT_UNREADABLE, "sys/class/infiniband/mlx5_70", "ENOENT");
    ni_report(&f, NI_F_FACT_UNREADABLE, "proc/mlx5_7", "ENOENT");
    ni_findings_drop_weaker(&f);
    assert_int_equal(f.n, 6);
    assert_string_equal(f.at[0].subject, "mlx5_9/1");
    ni_report(&f, NI_F_RDMA_NETNS_EXCLUSIVE, "mlx5_7", "exclusive");
    ni_report(&f, NI_F_GDR_DRIVER_ORDER, "modules", "order");
    ni_findings_drop_weaker(&f);
    assert_int_equal(f.n, 6);
    assert_false(ni_findings_has(&f, NI_F_GDR_PEERMEM_HIDDEN));
    assert_string_equal(f.at[2].subject, "sys/class/infiniband/mlx5_70");
    assert_string_equal(f.at[3].subject, "proc/mlx5_7");
}

/* A weaker finding that is left out takes no error away: each kind against each other. */
static void test_weaker_severity(void **state)
{
    ni_finding_number all[NI_MAX_KINDS];
    const unsigned n = ni_list_finding_kinds(all);

    (void)state;
    for (unsigned a = 0; a < n; a++) {
        for (unsigned b = 0; b < n; b++) {
            reset(NULL);
            ni_report(&f, all[a], "x", "m");
            ni_report(&f, all[b], "x", "m");
            const enum ni_severity was = ni_finding_severity(all[a]);
            const enum ni_severity too = ni_finding_severity(all[b]);
            ni_findings_drop_weaker(&f);
            assert_true(f.n > 0);
            assert_true(ni_findings_count(&f, was > too ? was : too) > 0);
        }
    }
}

static bool printable(const char *s)
{
    for (; *s; s++) {
        if ((unsigned char)*s < 0x20 || (unsigned char)*s >= 0x7f)
            return false;
    }
    return true;
}

static void test_printable_and_bounded(void **state)
{
    char every[256], longest[1000];

    (void)state;
    for (int i = 0; i < 255; i++)
        every[i] = (char)(i + 1);
    every[255] = '\0';
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    ni_report(&f, NI_F_GID_NONE, "a\nb\x1b[31m\xff", "%s", "a\nb\x1b[31m\xff");
    assert_string_equal(f.at[0].subject, "a\\x0ab\\x1b[31m\\xff");
    assert_string_equal(f.at[0].message, "a\\x0ab\\x1b[31m\\xff");
    ni_report(&f, NI_F_GID_NONE, every, "%s", every);
    ni_report(&f, NI_F_GID_NONE, longest, "%s", longest);
    ni_report(&f, NI_F_GID_NONE, "%s%n", "%s", "%s%n");
    assert_int_equal(f.n, 4);
    for (unsigned i = 0; i < f.n; i++) {
        assert_true(printable(f.at[i].subject));
        assert_true(printable(f.at[i].message));
    }
    assert_int_equal(strlen(f.at[2].subject), sizeof(f.at[2].subject) - 1);
    assert_int_equal(strlen(f.at[2].message), sizeof(f.at[2].message) - 1);
    assert_string_equal(f.at[3].subject, "%s%n");
    ni_report(&f, NI_F_GID_NONE, longest, "%s", longest); /* the same, cut at the same place */
    assert_int_equal(f.n, 4);
}

static void test_sorted(void **state)
{
    (void)state;
    ni_report(&f, NI_F_WAIT_OVER, "--wait", "first, and stays so");
    ni_report(&f, NI_F_USER_VALUE_EMPTY, "NCCL_B", "2");
    ni_report(&f, NI_F_USER_NAME_MISSPELT, "NCCL_B", "2");
    ni_report(&f, NI_F_USER_NAME_MISSPELT, "NCCL_B", "1");
    ni_report(&f, NI_F_USER_VALUE_EMPTY, "NCCL_A", "3");
    ni_findings_sort(&f, 1);
    assert_int_equal(f.n, 5);
    assert_int_equal(f.at[0].id, NI_F_WAIT_OVER);
    assert_string_equal(f.at[1].subject, "NCCL_A");
    assert_string_equal(f.at[2].message, "1");
    assert_int_equal(f.at[3].id, NI_F_USER_NAME_MISSPELT);
    assert_int_equal(f.at[4].id, NI_F_USER_VALUE_EMPTY);
    ni_findings_sort(&f, f.n);
    assert_string_equal(f.at[1].subject, "NCCL_A");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_kept_in_order_and_once, reset),
        cmocka_unit_test_setup(test_no_trial, reset),
        cmocka_unit_test_setup(test_overflow, reset),
        cmocka_unit_test_setup(test_weaker, reset),
        cmocka_unit_test_setup(test_weaker_severity, reset),
        cmocka_unit_test_setup(test_printable_and_bounded, reset),
        cmocka_unit_test_setup(test_sorted, reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
