/* SPDX-License-Identifier: Apache-2.0 */
/* The word that somebody meant who wrote another one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/guess.h"
#include "nccl_init/text.h"
#include <cmocka.h>

static const char *const words[] = {"run",  "env",      "plan",      "doctor", "topo", "selftest",
                                    "rdma", "snapshot", "preflight", "log",    "off"};

static void test_guess(void **state)
{
    static const struct {
        const char *word, *want; /* "": none is near */
    } cases[] = {
        {"docter", "doctor"},
        {"pln", "plan"},
        {"plna", "plan"},
        {"PLAM", "plan"},
        {"rmda", "rdma"},
        {"snap", "snapshot"},
        {"pre", "preflight"},
        {"tpoo", "topo"},
        {"prefligth", "preflight"},
        {"slef-test", "selftest"},
        {"ofn", "off"},
        {"true", ""},
        {"echo", ""},
        {"python", ""},
        {"", ""},
        {"pr", ""},
        {"bash", ""},
        {"ls", ""},
        {"o", ""},
        {"rm", ""},
    };
    char longer[NI_EDITS_NAME + 2];

    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        struct ni_guess guess = ni_guess_of(ni_span_of(cases[i].word));

        for (size_t k = 0; k < NI_COUNT(words); k++)
            ni_guess_try(&guess, ni_span_of(words[k]));
        if (!ni_span_is(guess.best, cases[i].want))
            fail_msg("%s: %.*s", cases[i].word, (int)guess.best.n, guess.best.p);
    }
    /* what is too long has no room in the table of ni_edits */
    memset(longer, 'a', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    struct ni_guess guess = ni_guess_of(ni_span_of(longer));
    ni_guess_try(&guess, ni_span_of(longer));
    assert_int_equal(guess.best.n, 0);
    guess = ni_guess_of(ni_span_of(longer + 1));
    ni_guess_try(&guess, ni_span_of(longer));
    assert_int_equal(guess.best.n, 0);
    ni_guess_try(&guess, ni_span_of(longer + 2));
    assert_int_equal(guess.best.n, NI_EDITS_NAME - 1);
}

static void test_words(void **state)
{
    struct ni_guess guess = ni_guess_of(ni_span_of("mod"));
    char buf[64];
    struct ni_text t = ni_text_on(buf, sizeof(buf));

    (void)state;
    ni_put_guess(&t, &guess, "--");
    assert_string_equal(buf, "");
    ni_guess_try(&guess, ni_span_of("mode"));
    ni_put_guess(&t, &guess, "--");
    assert_string_equal(buf, "; did you mean `--mode`?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_guess),
        cmocka_unit_test(test_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
