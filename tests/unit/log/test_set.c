/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of ranks, beside an array that says the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "log/set.h"
#include "nccl_init/text.h"
#include <cmocka.h>

static void assert_put(const struct ni_log_set *set, const char *want)
{
    struct ni_text t = NI_TEXT(200);

    ni_log_set_put(&t, set);
    assert_string_equal(t.buf, want);
}

static void test_put(void **state)
{
    static const int numbers[] = {7, 0, 1, 2, 12, 3, 64, 63, 7};
    struct ni_log_set set = {0};
    struct ni_text rest = NI_TEXT(200);

    (void)state;
    assert_put(&set, "");
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        ni_log_set_add(&set, numbers[i]);
    assert_int_equal(set.n, 8); /* one came twice */
    assert_put(&set, "0-3, 7, 12, 63, 64");
    assert_int_equal(ni_log_set_put_rest(&rest, &set, 14), 8);
    assert_string_equal(rest.buf, "4-6, 8-11, 13");
}

/* What has no room is not in it, and harms nothing. */
static void test_room(void **state)
{
    struct ni_log_set set = {0};

    (void)state;
    ni_log_set_add(&set, -1);
    ni_log_set_add(&set, NI_LOG_RANKS);
    assert_int_equal(set.n, 0);
    ni_log_set_add(&set, NI_LOG_RANKS - 1);
    assert_int_equal(set.n, 1);
    assert_true(ni_log_set_has(&set, NI_LOG_RANKS - 1));
    assert_false(ni_log_set_has(&set, NI_LOG_RANKS));
    assert_false(ni_log_set_has(&set, -1));
    assert_put(&set, "131071");
}

static void test_invert(void **state)
{
    struct ni_log_set set = {0};

    (void)state;
    ni_log_set_add(&set, 2);
    ni_log_set_invert(&set, 4);
    assert_int_equal(set.n, 3);
    assert_put(&set, "0, 1, 3");
    ni_log_set_invert(&set, 4);
    assert_int_equal(set.n, 1);
    assert_put(&set, "2");
    ni_log_set_invert(&set, 3);
    ni_log_set_invert(&set, 3);
    assert_put(&set, "2");
}

/* Numbers drawn at random, and an array of bools. */
static void test_model(void **state)
{
    enum { END = 300 };
    bool model[END] = {false};
    struct ni_log_set set = {0};
    uint32_t random = 1;

    (void)state;
    for (unsigned round = 0; round < 500; round++) {
        random = random * 1664525U + 1013904223U;
        const int number = (int)((random >> 16) % END);
        unsigned n = 0;

        if (round % 50 == 49) {
            ni_log_set_invert(&set, END);
            for (int i = 0; i < END; i++)
                model[i] = !model[i];
        } else {
            ni_log_set_add(&set, number);
            model[number] = true;
        }
        for (int i = 0; i < END; i++) {
            n += model[i];
            assert_int_equal(ni_log_set_has(&set, i), model[i]);
        }
        assert_int_equal(set.n, n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_put),
        cmocka_unit_test(test_room),
        cmocka_unit_test(test_invert),
        cmocka_unit_test(test_model),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
