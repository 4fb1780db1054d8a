/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of pictures share. */
#ifndef NCCL_INIT_TEST_SVG_H
#define NCCL_INIT_TEST_SVG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static unsigned count_parts(const char *text, const char *part)
{
    unsigned n = 0;

    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
        n++;
    return n;
}

/* A whole picture: it begins and ends as such, and each group that begins ends. */
static void assert_picture(const char *text)
{
    static const char begin[] = "<svg xmlns=", end[] = "</svg>\n";
    const size_t n = strlen(text);

    assert_true(n > sizeof(begin) + sizeof(end));
    assert_memory_equal(text, begin, sizeof(begin) - 1);
    assert_string_equal(text + n - (sizeof(end) - 1), end);
    assert_int_equal(count_parts(text, "<g"), count_parts(text, "</g>"));
}

#endif
