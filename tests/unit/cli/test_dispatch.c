/* SPDX-License-Identifier: Apache-2.0 */
/* The program as a whole, for what a shell cannot ask: argument vectors without a name, texts that
   must not be cut. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/context.h"
#include "cli/dispatch.h"
#include "cli/option.h"
#include "cli/program.h"
#include "main.h"
#include "nccl_init/text.h"
#include "system/exec.h"
#include <cmocka.h>

static struct ni_context context;

/* The program with these arguments; what it writes goes nowhere. */
static int call(int argc, char *argv[])
{
    static char *envp[] = {NULL};
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC), out = dup(1), err = dup(2), status;

    (void)fflush(NULL);
    memset(&context, 0, sizeof(context));
    (void)dup2(null, 1);
    (void)dup2(null, 2);
    status = ni_main(&context, &ni_main_program, argc, argv, envp);
    (void)dup2(out, 1);
    (void)dup2(err, 2);
    close(null);
    close(out);
    close(err);
    return status;
}

/* X9; and Linux 5.18 and later make one empty argument of an empty vector. */
static void test_empty_vector(void **state)
{
    char *nothing[] = {NULL}, *one[] = {(char[]){""}, NULL};
    char *empty_verb[] = {(char[]){"nccl-init"}, (char[]){""}, NULL};

    (void)state;
    assert_int_equal(call(0, nothing), NI_EXIT_REFUSED);
    assert_int_equal(call(1, one), NI_EXIT_REFUSED);
    assert_int_equal(call(2, empty_verb), NI_EXIT_REFUSED);
}

static void test_help_fits(void **state)
{
    char name[32], help[] = "--help", version[] = "--version";
    char *of_verb[] = {(char[]){"nccl-init"}, name, help, NULL};
    char *of_program[] = {of_verb[0], help, NULL}, *of_version[] = {of_verb[0], version, NULL};

    (void)state;
    for (unsigned i = 0; i < ni_main_program.n_verb; i++) {
        assert_true(ni_copy(name, sizeof(name), ni_main_program.verb[i].name));
        assert_int_equal(call(3, of_verb), 0); /* 1 if the text was cut */
    }
    assert_int_equal(call(2, of_program), 0);
    assert_int_equal(call(2, of_version), 0);
}

/* A verb has one bit of its own, and each option is one of some verb. */
static void test_verbs(void **state)
{
    unsigned all = 0;

    (void)state;
    for (unsigned i = 0; i < ni_main_program.n_verb; i++) {
        unsigned bit = ni_main_program.verb[i].bit;

        assert_true(bit != 0 && (bit & (bit - 1)) == 0);
        assert_int_equal(all & bit, 0);
        all |= bit;
    }
    assert_true(ni_options_count(&ni_main_program) <= 64); /* a set of them is a uint64_t */
    for (unsigned i = 0; i < ni_options_count(&ni_main_program); i++)
        assert_int_equal(ni_option_at(&ni_main_program, i)->verbs & ~all, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty_vector),
        cmocka_unit_test(test_help_fits),
        cmocka_unit_test(test_verbs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
