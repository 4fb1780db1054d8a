/* SPDX-License-Identifier: Apache-2.0 */
/* How often packets were sent again between two looks at the counters of a port. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nccl_init/base.h"
#include "rail/resent.h"

static void test_since(void **state)
{
    static const struct {
        int64_t before, after, since;
    } row[] = {
        {10, 12, 2}, {10, 10, 0},       {0, INT64_MAX, INT64_MAX},
        {-1, -1, 0},                    /* no such counter */
        {-1, 12, 0},                    /* it came meanwhile, with a past of its own */
        {12, 3, 0},  {INT64_MAX, 0, 0}, /* the device was reset */
        {10, -1, 0},                    /* the device is gone */
    };

    (void)state;
    for (size_t i = 0; i < NI_COUNT(row); i++)
        assert_int_equal(ni_resent_since(row[i].before, row[i].after), row[i].since);
    assert_int_equal(ni_count_resent("no-such-hca", 1), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_since)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
