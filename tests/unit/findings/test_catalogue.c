/* SPDX-License-Identifier: Apache-2.0 */
/* The catalogue: each row has its number, a permanent id, a cost, and a part of a hint. */
#include "nccl_init/findings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "findings/device.h"
#include "findings/job.h"
#include "findings/log.h"
#include "findings/pages.h"
#include "nccl_init/text.h"

static bool is_printable(const char *s)
{
    for (; *s; s++) {
        if ((unsigned char)*s < 0x20 || (unsigned char)*s >= 0x7f)
            return false;
    }
    return true;
}

/* Ids are dotted, lower case, in order, so each is there once. */
static void test_ids(void **state)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-.";
    ni_finding_number all[NI_MAX_KINDS];
    const unsigned n = ni_list_finding_kinds(all);

    (void)state;
    assert_true(n > 190 && n <= NI_MAX_KINDS);
    for (unsigned i = 0; i < n; i++) {
        const struct ni_finding_kind *kind = ni_finding_kind(all[i]);

        assert_int_equal(kind->number, all[i]);
        assert_int_equal(strspn(kind->id, letters), strlen(kind->id));
        assert_non_null(strchr(kind->id, '.'));
        assert_int_equal(ni_finding_named(ni_span_of(kind->id)), all[i]);
        assert_true(i == 0 || strcmp(ni_finding_id(all[i - 1]), kind->id) < 0);
    }
    assert_int_equal(ni_finding_named(ni_span_of("gid.nonsense")), NI_F_NONE);
    assert_int_equal(ni_finding_named(ni_span_of("")), NI_F_NONE);
}

/* Between the numbers of two subjects, and outside, there is none. */
static void test_numbers(void **state)
{
    ni_finding_number all[NI_MAX_KINDS];
    const unsigned n = ni_list_finding_kinds(all);
    unsigned found = 0;

    (void)state;
    for (unsigned i = 0; i < 2 * NI_F_END; i++)
        found += ni_finding_kind(i)->number != NI_F_NONE;
    assert_int_equal(found, n);
    assert_string_equal(ni_finding_id(NI_F_NONE), "");
    assert_string_equal(ni_finding_id(NI_F_END), "");
}

/* Each says what it costs, and who does what: whole sentences. */
static void test_fields(void **state)
{
    ni_finding_number all[NI_MAX_KINDS];
    const unsigned n = ni_list_finding_kinds(all);

    (void)state;
    for (unsigned i = 0; i < n; i++) {
        const struct ni_finding_kind *kind = ni_finding_kind(all[i]);
        struct ni_text hint = NI_TEXT(NI_FINDING_HINT);
        struct ni_advice advice[NI_MAX_ADVICE];
        const unsigned parts = ni_finding_advice(&(struct ni_finding){.id = all[i]}, advice);

        assert_true(parts > 0);
        assert_true(ni_cost_text(kind->cost)[0]);
        assert_true(!kind->admin_first || (kind->admin && kind->user));
        for (unsigned k = 0; k < parts; k++) {
            const char *text = advice[k].text;

            assert_true(is_printable(text));
            assert_int_equal(text[strlen(text) - 1], '.');
            assert_null(strstr(text, "User:"));
            assert_null(strstr(text, "Cluster admin:"));
        }
        ni_put_hint(&hint, &(struct ni_finding){.id = all[i]});
        assert_false(hint.cut);
    }
}

static void test_hint(void **state)
{
    struct ni_text both = NI_TEXT(NI_FINDING_HINT), note = NI_TEXT(NI_FINDING_HINT),
                   own = NI_TEXT(NI_FINDING_HINT);

    (void)state;
    ni_put_hint(&both, &(struct ni_finding){.id = NI_F_RAIL_SLOW});
    assert_string_equal(both.buf,
                        "Cluster admin: check the cable and the switch port. User: to use it as it "
                        "is, name all rails in --hcas.");
    ni_put_hint(&note, &(struct ni_finding){.id = NI_F_FACT_UNREADABLE});
    assert_string_equal(note.buf,
                        "The decision was made without this file. Cluster admin: give the pod read "
                        "access to it.");
    /* what helps here, in place of what helps mostly */
    ni_put_hint(&own, &(struct ni_finding){.id = NI_F_RAIL_SLOW, .user = "leave it out."});
    assert_string_equal(own.buf,
                        "Cluster admin: check the cable and the switch port. User: leave it out.");
}

/* Each finding about GPUDirect RDMA leads to its trial, but those of AMD and those that come from the
   trial; of these one leads to it again. */
static void test_trial(void **state)
{
    static const char *const no[] = {"gdr.dmabuf.rccl", "gdr.tried.bytes", "gdr.tried.failed",
                                     "gdr.tried.left",  "gdr.tried.slow",  "gdr.untried"};
    ni_finding_number all[NI_MAX_KINDS];
    const unsigned n = ni_list_finding_kinds(all);
    struct ni_text last = NI_TEXT(NI_FINDING_HINT), here = NI_TEXT(NI_FINDING_HINT);

    (void)state;
    for (unsigned i = 0; i < n; i++) {
        const char *id = ni_finding_id(all[i]);
        struct ni_text hint = NI_TEXT(NI_FINDING_HINT);
        bool leads = true;

        if (strncmp(id, "gdr.", 4) != 0)
            continue;
        for (size_t k = 0; k < NI_COUNT(no); k++)
            leads = leads && strcmp(id, no[k]) != 0;
        ni_put_hint(&hint, &(struct ni_finding){.id = all[i]});
        if (leads != (strstr(hint.buf, "`nccl-init selftest --try=gpu`") != NULL))
            fail_msg("%s: %s", id, hint.buf);
    }
    ni_put_hint(&last, &(struct ni_finding){.id = NI_F_GDR_UNAVAILABLE});
    assert_string_equal(last.buf,
                        "Cluster admin: load nvidia-peermem, or use the open GPU kernel modules "
                        "(kernel 5.12 or later). `nccl-init selftest --try=gpu` tries GPUDirect "
                        "RDMA in the pod.");
    ni_put_hint(&here, &(struct ni_finding){.id = NI_F_GDR_UNAVAILABLE, .no_trial = true});
    assert_null(strstr(here.buf, "--try"));
}

/* The cost decides the severity. */
static void test_severity(void **state)
{
    (void)state;
    assert_string_equal(ni_severity_text(ni_finding_severity(NI_F_HCA_NONE)), "info");
    assert_string_equal(ni_severity_text(ni_finding_severity(NI_F_RAIL_SLOW)), "warning");
    assert_string_equal(ni_severity_text(ni_finding_severity(NI_F_JOB_MISSING)), "error");
}

/* Each has a page, and each page is of one. */
static void test_pages(void **state)
{
    ni_finding_number all[NI_MAX_KINDS];

    (void)state;
    assert_int_equal(ni_finding_pages.n, ni_list_finding_kinds(all));
    for (unsigned i = 0; i < ni_finding_pages.n; i++) {
        assert_string_equal(ni_finding_pages.at[i].id, ni_finding_id(all[i]));
        assert_true(strlen(ni_finding_pages.at[i].text) > 40);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids),    cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_fields), cmocka_unit_test(test_hint),
        cmocka_unit_test(test_trial),  cmocka_unit_test(test_severity),
        cmocka_unit_test(test_pages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
