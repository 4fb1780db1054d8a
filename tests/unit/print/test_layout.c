/* SPDX-License-Identifier: Apache-2.0 */
/* A table for which there was no memory: it is written up to where it was cut, and no further. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "nccl_init/text.h"
#include "print/layout.h"
#include <cmocka.h>

enum { CAP = 16, ROOM = 64 };

/* Makes a table that takes no more, with the bytes of another row behind it. */
static struct ni_text full_table(void)
{
    char *room = malloc(ROOM);

    assert_non_null(room);
    memset(room, 'x', ROOM);
    room[ROOM - 2] = '\n';
    room[ROOM - 1] = '\0';
    return ni_text_on(room, CAP);
}

static void test_cut_table(void **state)
{
    char buf[256];
    struct ni_text out = ni_text_on(buf, sizeof(buf)), table = full_table();

    (void)state;
    ni_put(ni_row(&table, NI_PLAIN), "A\tB");
    ni_put(ni_row(&table, NI_PLAIN), "one\t2345678901234567890");
    assert_true(table.cut);
    ni_table_write(&out, &table, false);
    assert_string_equal(out.buf, "  A    B\n  one  23456\n");
    assert_true(out.cut);
}

/* The tint of the last row is all that fitted. */
static void test_cut_row(void **state)
{
    char buf[256];
    struct ni_text out = ni_text_on(buf, sizeof(buf)), table = full_table();

    (void)state;
    ni_put(ni_row(&table, NI_PLAIN), "A23456789012");
    ni_put(ni_row(&table, NI_PLAIN), "B");
    ni_table_write(&out, &table, false);
    assert_string_equal(out.buf, "  A23456789012\n  -\n");
    assert_true(out.cut);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut_table),
        cmocka_unit_test(test_cut_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
