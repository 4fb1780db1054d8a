/* SPDX-License-Identifier: Apache-2.0 */
/* Names of capabilities, against libcap's. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/capability.h>

#include <cmocka.h>

#include "nccl_init/core.h"

static void test_each_name(void **state)
{
    (void)state;
    for (unsigned i = 0; i < NI_CAPS; i++) {
        char *theirs = cap_to_name((cap_value_t)i), ours[64], buf[64];
        struct ni_text t = ni_text_on(ours, sizeof(ours));
        unsigned got = 99;

        assert_non_null(theirs);
        assert_int_equal(ni_parse_cap(ni_span_of(theirs + strlen("cap_")), &got), 0);
        assert_int_equal(got, i);
        ni_put_caps(&t, UINT64_C(1) << i);
        assert_int_equal(strcasecmp(ours, theirs), 0);
        assert_true(ni_copy(buf, sizeof(buf), ours + strlen("CAP_")));
        assert_int_equal(ni_parse_cap(ni_span_of(buf), &got), 0);
        assert_int_equal(got, i);
        (void)cap_free(theirs);
    }
}

static void test_bad_names(void **state)
{
    static const char *const bad[] = {"",          "IPC",  "IPC_LOCK ", "CAP_IPC_LOCK",
                                      "IPC_LOCKS", "*all", "14",        "ipc-lock"};
    unsigned got = 99;

    (void)state;
    for (size_t i = 0; i < NI_COUNT(bad); i++)
        assert_int_equal(ni_parse_cap(ni_span_of(bad[i]), &got), -EINVAL);
    assert_int_equal(got, 99);
}

static void test_sets(void **state)
{
    char buf[64];
    struct ni_text t = ni_text_on(buf, sizeof(buf));

    (void)state;
    ni_put_caps(&t, 0);
    assert_string_equal(buf, "");
    ni_put_caps(&t, 1 << NI_CAP_IPC_LOCK | 1 << NI_CAP_SYS_RESOURCE);
    assert_string_equal(buf, "CAP_IPC_LOCK, CAP_SYS_RESOURCE");
    t = ni_text_on(buf, sizeof(buf));
    ni_put_caps(&t, UINT64_C(1) << 63); /* a later kernel's */
    assert_string_equal(buf, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_name),
        cmocka_unit_test(test_bad_names),
        cmocka_unit_test(test_sets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
