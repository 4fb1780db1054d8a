/* SPDX-License-Identifier: Apache-2.0 */
/* The hash table finds each text in a table that is full but for one place, and who does not know the
   seed cannot choose texts that stand in each other's way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/index.h"
#include "nccl_init/text.h"
#include <cmocka.h>

enum { ROOM = 1024, NAMES = ROOM - 1, MANY = 64 };

static char name[NAMES][16];
static uint32_t place[ROOM];

static struct ni_span text_of(const void *entries, uint32_t number)
{
    (void)entries;
    return ni_span_of(name[number - 1]);
}

static uint32_t *find(const struct ni_index *index, const char *text)
{
    return ni_index_find(index, ni_span_of(text), text_of, NULL);
}

static void test_finds_all(void **state)
{
    static const uint64_t seeds[] = {0, 1, UINT64_MAX};

    (void)state;
    for (size_t s = 0; s < NI_COUNT(seeds); s++) {
        const struct ni_index index = {place, ROOM, seeds[s]};

        memset(place, 0, sizeof(place));
        for (uint32_t i = 0; i < NAMES; i++) {
            if (i > 0) /* the first is "" */
                assert_true(ni_format(name[i], sizeof(name[i]), "mlx5_%u", i));
            assert_int_equal(*find(&index, name[i]), 0);
            *find(&index, name[i]) = i + 1;
        }
        for (uint32_t i = 0; i < NAMES; i++)
            assert_int_equal(*find(&index, name[i]), i + 1);
        assert_int_equal(*find(&index, "mlx5_"), 0);
        assert_int_equal(*find(&index, "mlx5_1023"), 0);
    }
}

static unsigned place_of(uint64_t seed, const char *text)
{
    return (unsigned)(ni_hash(seed, ni_span_of(text)) % ROOM);
}

/* Names that all have one place by one seed are spread by another. */
static void test_seed_spreads(void **state)
{
    bool used[ROOM] = {false};
    unsigned n = 0, places = 0;

    (void)state;
    for (unsigned i = 0; n < MANY; i++) {
        assert_true(ni_format(name[n], sizeof(name[n]), "host:%u", i));
        n += place_of(1, name[n]) == 0;
    }
    for (unsigned i = 0; i < MANY; i++) {
        const unsigned at = place_of(3, name[i]);

        places += !used[at];
        used[at] = true;
    }
    assert_true(places > MANY / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds_all),
        cmocka_unit_test(test_seed_spreads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
