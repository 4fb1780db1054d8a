/* SPDX-License-Identifier: Apache-2.0 */
/* What the helper says of NCCL is untrusted: words that are none of its own count for nothing. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/text.h"
#include "nccl_init/tried_nccl.h"
#include <cmocka.h>

static struct ni_tried_nccl tried;

#define BEGUN  "version 0.1.0\nat 0 0 load\n"
#define LOADED BEGUN "library 0 22809 /opt/lib/libnccl.so.2.28.9\ndone 0 0 load 2000\n"

static void test_good(void **state)
{
    (void)state;
    assert_int_equal(
        ni_read_tried_nccl(LOADED "at 0 1 load\ndone 0 1 load 1\nat 0 0 gpu\nfailed 0 0 gpu cuInit "
                                  "802\nat 0 1 gpu\nstopped 0 1\ndied 1 0 11\nend\n",
                           2, &tried),
        0);
    assert_true(tried.whole);
    assert_int_equal(tried.version, 22809);
    assert_string_equal(tried.library, "/opt/lib/libnccl.so.2.28.9");
    const struct ni_nccl_rank *x = &tried.rank[0][0];
    assert_int_equal(x->done, NI_NCCL_GPU);
    assert_int_equal(x->us[NI_NCCL_LOAD], 2000);
    assert_true(x->failed);
    assert_string_equal(x->of, "cuInit");
    assert_int_equal(x->err, 802);
    assert_true(tried.rank[0][1].begun && tried.rank[0][1].stopped);
    assert_int_equal(tried.rank[1][0].died, 11);
}

/* A helper that was killed: what it said before counts, and where it was is known. */
static void test_cut_short(void **state)
{
    (void)state;
    assert_int_equal(ni_read_tried_nccl(LOADED "at 0 0 gpu\ndone 0 0 g", 1, &tried), 0);
    assert_false(tried.whole);
    assert_int_equal(tried.rank[0][0].done, NI_NCCL_GPU);
    assert_true(tried.rank[0][0].begun);
    assert_int_equal(
        ni_read_tried_nccl("version 0.1.0\nunloaded libnccl.so.2: x\nunloaded y\n", 1, &tried), 0);
    assert_string_equal(tried.unloaded, "libnccl.so.2: x");
}

static void test_wrong_sums(void **state)
{
    static const char *const names[] = {"load", "gpu", "memory", "id", "join", "connect", "sum"};
    char words[2048];
    struct ni_text t = ni_text_on(words, sizeof(words));

    (void)state;
    ni_put(&t, "version 0.1.0\n");
    for (unsigned i = 0; i < NI_COUNT(names); i++)
        ni_putf(&t, "at 0 1 %s\ndone 0 1 %s 5\n", names[i], names[i]);
    ni_put(&t, "at 0 1 compare\nwrong 0 1 7 4096\nfailed 0 1 compare sums 84\nend\n");
    assert_int_equal(ni_read_tried_nccl(words, 1, &tried), 0);
    assert_int_equal(tried.rank[0][1].wrong, 7);
    assert_int_equal(tried.rank[0][1].first, 4096);
}

static void test_none_of_its_words(void **state)
{
    static const char *const bad[] = {
        "",
        "at 0 0 load\n",
        "version 0.1.0\nversion 0.1.0\n",
        BEGUN "at 0 0 load\n",
        BEGUN "done 0 0 gpu 5\n",
        BEGUN "done 0 0 load\n",
        BEGUN "done 0 0 load 99999999999999\n",
        BEGUN "failed 0 0 load dlopen 0\n",
        BEGUN "failed 0 0 load a/b 1\n",
        BEGUN "failed 0 0 load dlopen 1\nat 0 0 gpu\n",
        BEGUN "wrong 0 0 7 0\n",
        BEGUN "died 0 0 0\n",
        BEGUN "died 0 0 9\nstopped 0 0\n",
        BEGUN "stopped 0 0\ndone 0 0 load 1\n",
        "version 0.1.0\ndone 0 0 load 5\n",
        "version 0.1.0\nat 1 0 load\n",
        "version 0.1.0\nat 0 2 load\n",
        "version 0.1.0\nat 0\n",
        "version 0.1.0\nlibrary 0 22809\n",
        "version 0.1.0\nlibrary 0 x /l\n",
        "version 0.1.0\nend\nat 0 0 load\n",
        "version 0.1.0\nrm -rf\n",
    };

    (void)state;
    for (unsigned i = 0; i < NI_COUNT(bad); i++) {
        if (ni_read_tried_nccl(bad[i], 1, &tried) != -EINVAL)
            fail_msg("taken: %s", bad[i]);
    }
    assert_int_equal(ni_read_tried_nccl("version 0.1.0\n", NI_MAX_GPU + 1, &tried), -EINVAL);
}

static void test_lines_of_a_gpu(void **state)
{
    const char *errors = "0 vm:1:1 [0] NCCL INFO a\nx\n1 b\n\n0 c\n99999 d\n0 cut";
    struct ni_span line;

    (void)state;
    assert_true(ni_next_nccl_line(&errors, 0, &line));
    assert_true(ni_span_is(line, "vm:1:1 [0] NCCL INFO a"));
    assert_true(ni_next_nccl_line(&errors, 0, &line));
    assert_true(ni_span_is(line, "c"));
    assert_true(ni_next_nccl_line(&errors, 0, &line));
    assert_true(ni_span_is(line, "cut"));
    assert_false(ni_next_nccl_line(&errors, 0, &line));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),           cmocka_unit_test(test_cut_short),
        cmocka_unit_test(test_wrong_sums),     cmocka_unit_test(test_none_of_its_words),
        cmocka_unit_test(test_lines_of_a_gpu),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
