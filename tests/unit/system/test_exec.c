/* SPDX-License-Identifier: Apache-2.0 */
/* What a shell cannot ask of a failed exec; the rest, the walk through PATH too, is in
   tests/exec/failures.sh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "nccl_init/text.h"
#include "system/exec.h"
#include <cmocka.h>

static char why_buf[2048];
static bool too_big;

/* ni_exec in this process, which must fail. */
static void fails(char *const argv[], char *const envp[], int expected, const char *part)
{
    struct ni_text why = ni_text_on(why_buf, sizeof(why_buf));

    assert_int_equal(ni_exec(argv, envp, &why, &too_big), expected);
    if (!strstr(why_buf, part))
        fail_msg("`%s` is not in: %s", part, why_buf);
    assert_null(strchr(why_buf, '\n'));
}

static void test_no_name(void **state)
{
    char path[] = "PATH=a:b", name[] = "no\nne";
    char *argv[] = {name, NULL}, *envp[] = {path, NULL}, *empty[] = {NULL};

    (void)state;
    fails(argv, envp, NI_EXIT_NOT_FOUND, "`no\\x0ane`");
    fails(empty, envp, NI_EXIT_NOT_FOUND, "empty");
}

static void test_too_big(void **state)
{
    static char big[200 * 1024] = "BIG=";
    char name[] = "/bin/sh", path[] = "PATH=/";
    char *argv[] = {name, NULL}, *envp[] = {path, big, NULL};

    (void)state;
    memset(big + strlen(big), 'x', sizeof(big) - strlen(big) - 1);
    fails(argv, envp, NI_EXIT_NOT_EXECUTABLE,
          "`/bin/sh`: E2BIG (Argument list too long): one argument or variable may have at most "
          "128 KiB");
    assert_true(too_big);
    name[0] = '\0';
    fails(argv, envp, NI_EXIT_NOT_FOUND, "empty");
    assert_false(too_big);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_name),
        cmocka_unit_test(test_too_big),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
