/* SPDX-License-Identifier: Apache-2.0 */
/* What the helper says is untrusted: words that are none of its own count for nothing, and those of
   libibverbs are read for the right device alone. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/text.h"
#include "nccl_init/tried.h"
#include <cmocka.h>

static struct ni_tried tried;

static void test_whole(void **state)
{
    (void)state;
    assert_int_equal(
        ni_read_tried("version 0.1.0\nlibrary /usr/lib/libibverbs.so.1.14.44.0\nlist 0\n"
                      "at mlx5_0\nhca mlx5_0 done 0\nat bnxt_re0\nhca bnxt_re0 open 12\n"
                      "hca mlx5_1 find 19\nend\n",
                      &tried),
        0);
    assert_true(tried.whole && tried.listed);
    assert_string_equal(tried.library, "/usr/lib/libibverbs.so.1.14.44.0");
    assert_int_equal(tried.n_hca, 3);
    assert_int_equal(ni_find_tried(&tried, "bnxt_re0")->step, NI_TRIED_OPEN);
    assert_int_equal(ni_find_tried(&tried, "bnxt_re0")->err, ENOMEM);
    assert_int_equal(ni_find_tried(&tried, "mlx5_0")->step, NI_TRIED_DONE);
    assert_null(ni_find_tried(&tried, "mlx5_10"));
}

/* A helper that was killed: what it said before counts, and where it was is known. */
static void test_cut_short(void **state)
{
    (void)state;
    assert_int_equal(
        ni_read_tried("version 0.1.0\nlibrary /l\nlist 0\nhca a done 0\nat b\nhca b do", &tried),
        0);
    assert_false(tried.whole);
    assert_true(ni_find_tried(&tried, "a")->told);
    assert_false(ni_find_tried(&tried, "b")->told);
    assert_int_equal(
        ni_read_tried("version 0.1.0\nunloaded libibverbs.so.1: cannot open\nend\n", &tried), 0);
    assert_string_equal(tried.unloaded, "libibverbs.so.1: cannot open");
    assert_int_equal(ni_read_tried("version 0.1.0\nlibrary /l\nlist 38\nend\n", &tried), 0);
    assert_int_equal(tried.list_err, ENOSYS);
}

static void test_lies(void **state)
{
    static const char *const wrong[] = {
        "",
        "version 0.1.0",                              /* no whole line */
        "end\n",                                      /* no version */
        "version 0.1.0\nversion 0.1.0\nend\n",        /* twice */
        "version 0.1.0\nhello\nend\n",                /* a word of no one */
        "version 0.1.0\n\nend\n",                     /* an empty line */
        "version 0.1.0\nend\nlist 0\n",               /* after the end */
        "version 0.1.0\nhca a done 0\nend\n",         /* no list */
        "version 0.1.0\nlist 0\nlist 0\nend\n",       /* two lists */
        "version 0.1.0\nlist x\nend\n",               /* no number */
        "version 0.1.0\nlist 99999\nend\n",           /* no errno */
        "version 0.1.0\nlist 0\nhca a done 1\nend\n", /* a step that passed has no errno */
        "version 0.1.0\nlist 0\nhca a open 0\nend\n",
        "version 0.1.0\nlist 0\nhca a open -1\nend\n",
        "version 0.1.0\nlist 0\nhca a b 1\nend\n",
        "version 0.1.0\nlist 0\nhca a open 1 2\nend\n",
        "version 0.1.0\nlist 0\nhca a\nend\n",
        "version 0.1.0\nlist 0\nhca a,b done 0\nend\n",
        "version 0.1.0\nlist 0\nhca a done 0\nhca a done 0\nend\n",
        "version 0.1.0\nlist 0\nat a\nhca b done 0\nend\n",
        "version 0.1.0\nlibrary\nend\n",
        "version 0.1.0\nlist 0\nunloaded x\nend\n",
    };

    (void)state;
    for (size_t i = 0; i < NI_COUNT(wrong); i++) {
        if (ni_read_tried(wrong[i], &tried) != -EINVAL)
            fail_msg("taken: `%s`", wrong[i]);
    }
}

/* More HCAs than a plan has, and lines longer than any. */
static void test_bounds(void **state)
{
    char buf[8192];
    struct ni_text t = ni_text_on(buf, sizeof(buf));

    (void)state;
    ni_put(&t, "version 0.1.0\nlist 0\n");
    for (unsigned i = 0; i < NI_MAX_TRIED; i++)
        ni_putf(&t, "hca d%u done 0\n", i);
    assert_int_equal(ni_read_tried(buf, &tried), 0);
    ni_put(&t, "hca more done 0\n");
    assert_int_equal(ni_read_tried(buf, &tried), -EINVAL);
    t = ni_text_on(buf, sizeof(buf));
    ni_put(&t, "version 0.1.0\nunloaded ");
    for (unsigned i = 0; i < 600; i++)
        ni_put(&t, "x");
    ni_put(&t, "\nend\n");
    assert_int_equal(ni_read_tried(buf, &tried), 0);
    assert_int_equal(strlen(tried.unloaded), NI_TRIED_TEXT - 1);
    t = ni_text_on(buf, sizeof(buf));
    ni_put(&t, "version 0.1.0\nunloaded ");
    for (unsigned i = 0; i < 2000; i++)
        ni_put(&t, "x");
    ni_put(&t, "\nend\n");
    assert_int_equal(ni_read_tried(buf, &tried), -EINVAL);
}

/* The words of rdma-core 56.1 libibverbs/init.c match_device. */
static void test_driver_abi(void **state)
{
    static const char errors[] =
        "libibverbs: Warning: couldn't load driver 'libhns-rdmav34.so': libhns-rdmav34.so: cannot "
        "open shared object file: No such file or directory\n"
        "libibverbs: Warning: Driver bnxt_re does not support the kernel ABI of 6 (supports 1 to "
        "1) "
        "for device /sys/class/infiniband/bnxt_re10\n"
        "libibverbs: Warning: Driver mlx4 does not support the kernel ABI of 9 (supports 3 to 4) "
        "for device /sys/class/infiniband/bnxt_re1\n";
    struct ni_driver_abi abi;
    struct ni_span words;

    (void)state;
    assert_true(ni_find_driver_abi(errors, "bnxt_re1", &abi));
    assert_string_equal(abi.provider, "mlx4");
    assert_true(ni_find_driver_abi(errors, "bnxt_re10", &abi));
    assert_string_equal(abi.provider, "bnxt_re");
    assert_int_equal(abi.kernel, 6);
    assert_int_equal(abi.least, 1);
    assert_int_equal(abi.most, 1);
    assert_false(ni_find_driver_abi(errors, "bnxt_re", &abi));
    assert_false(
        ni_find_driver_abi("Warning: Driver x does not support the kernel ABI of 6", "x", &abi));
    assert_true(ni_find_unloaded_provider(errors, "hns", &words));
    assert_memory_equal(words.p, "'libhns-rdmav34.so': ", 21);
    assert_false(ni_find_unloaded_provider(errors, "mlx5", &words));
}

static void test_library_abi(void **state)
{
    struct ni_span words;

    (void)state;
    assert_true(ni_find_library_abi("x\nlibibverbs: Fatal: kernel ABI version 7 doesn't match "
                                    "library version 6.\ny\n",
                                    &words));
    assert_int_equal(words.n, strlen("kernel ABI version 7 doesn't match library version 6."));
    assert_memory_equal(words.p, "kernel ABI version 7 doesn't", 28);
    assert_false(ni_find_library_abi("x doesn't match library version 6\n", &words));
    assert_false(
        ni_find_library_abi("doesn't match library version 6 kernel ABI version 7", &words));
    assert_false(
        ni_find_library_abi("kernel ABI version 7\ndoesn't match library version 6\n", &words));
    assert_false(ni_find_library_abi("", &words));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),      cmocka_unit_test(test_cut_short),
        cmocka_unit_test(test_lies),       cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_driver_abi), cmocka_unit_test(test_library_abi),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
