/* SPDX-License-Identifier: Apache-2.0 */
/* Measured values: what is small is not taken for what was not measured. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nccl_init/base.h"
#include "nccl_init/text.h"
#include "rail/step.h"

static void test_divide(void **state)
{
    static const struct {
        int64_t value, by, want;
    } row[] = {
        {0, 1000, 0}, /* not measured */
        {1, 1000, 1}, {999, 1000, 1}, {1000, 1000, 1}, {1999, 1000, 1}, {2000, 1000, 2},
    };

    (void)state;
    for (size_t i = 0; i < NI_COUNT(row); i++)
        assert_int_equal(ni_divide_measured(row[i].value, row[i].by), row[i].want);
}

/* A rail that crawls is not shown as one that stands still. */
static void test_speeds(void **state)
{
    static const struct {
        int64_t mbps;
        const char *text;
    } row[] = {{0, ""},       {4, "0.004"},  {36, "0.03"},   {999, "0.99"},
               {1000, "1.0"}, {9876, "9.8"}, {362600, "362"}};
    (void)state;
    for (size_t i = 0; i < NI_COUNT(row); i++) {
        char buf[16];
        struct ni_text t = ni_text_on(buf, sizeof(buf));
        ni_put_speed(&t, row[i].mbps);
        assert_string_equal(buf, row[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_divide),
        cmocka_unit_test(test_speeds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
