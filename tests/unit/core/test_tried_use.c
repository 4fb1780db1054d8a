/* SPDX-License-Identifier: Apache-2.0 */
/* Which GPUs are not tried, by what NVML says of them; and that words of others count for nothing. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/gpu.h"
#include "nccl_init/text.h"
#include "nccl_init/tried_use.h"
#include <cmocka.h>

static const struct ni_gpu gpus[] = {{.bdf = {0, 6, 0, 0}}, {.bdf = {0x10, 0x1a, 0, 0}}};
static struct ni_gpu_uses uses;

static int read_words(const char *words)
{
    return ni_read_gpu_uses(words, gpus, NI_COUNT(gpus), &uses);
}

static void assert_why(const char *of_gpu, bool busy, const char *want)
{
    char words[512];
    struct ni_text t = ni_text_on(words, sizeof(words)), why = NI_TEXT(512);

    ni_putf(&t, "version 0.1.0\n%s", of_gpu);
    assert_int_equal(read_words(words), 0);
    ni_put_gpu_use(&why, &uses, 0, busy, 3072);
    assert_string_equal(why.buf, want);
}

#define FREE " used=4 free=143000\nend\n"

static void test_why_not(void **state)
{
    (void)state;
    assert_why("nvml 0\ngpu 0000:06:00.0 mode=0 mig=0 processes=0" FREE, false, "");
    assert_why("nvml 0\ngpu 0000:06:00.0 mode=0 processes=0" FREE, false, ""); /* before A100 */
    assert_why("nvml 0\ngpu 0000:06:00.0 mode=0 mig=1 processes=0" FREE, true, "MIG divides it");
    assert_why("nvml 0\ngpu 0000:06:00.0 mode=3 mig=0 processes=0" FREE, true,
               "its compute mode is EXCLUSIVE_PROCESS: a trial needs several processes");
    assert_why("nvml 0\ngpu 0000:06:00.0 mode=2 mig=0 processes=0" FREE, true,
               "its compute mode is PROHIBITED");
    assert_why("nvml 0\ngpu 0000:06:00.0 mode=0 mig=0 processes=2" FREE, false,
               "it is in use: 2 processes; --busy tries it all the same");
    assert_why("nvml 0\ngpu 0000:06:00.0 mode=0 mig=0 processes=2" FREE, true, "");
    /* in a PID namespace of its own NVML shows no processes of others */
    assert_why("nvml 0\ngpu 0000:06:00.0 mode=0 processes=0 used=90000 free=53000\nend\n", false,
               "it is in use: 90000 MiB of its memory; --busy tries it all the same");
    assert_why("nvml 0\ngpu 0000:06:00.0 mode=0 processes=1 used=142000 free=700\nend\n", true,
               "too little GPU memory: 700 MiB are free, and a trial takes 3072 MiB");
    assert_why("nvml 0\ngpu 0000:06:00.0 error=6\nend\n", false,
               "it is not known whether it is in use: NVML does not know the GPU: its error 6; "
               "--busy tries it all the same");
    assert_why("nvml 9\nend\n", false,
               "it is not known whether it is in use: NVML does not start: its error 9; --busy "
               "tries it all the same");
    assert_why("unloaded libnvidia-ml.so.1: not there\nend\n", false,
               "it is not known whether it is in use: libnvidia-ml.so.1: not there; --busy tries "
               "it all the same");
    assert_why("unloaded libnvidia-ml.so.1: not there\nend\n", true, "");
    assert_why("", false,
               "it is not known whether it is in use: NVML did not say; --busy tries it all the "
               "same");
}

static void test_each_gpu(void **state)
{
    struct ni_text why = NI_TEXT(512);

    (void)state;
    assert_int_equal(read_words("version 0.1.0\nnvml 0\ngpu 0000:06:00.0 mode=0 processes=0"
                                " used=1 free=2\n"
                                "gpu 0010:1a:00.0 mode=3\nend\n"),
                     0);
    ni_put_gpu_use(&why, &uses, 1, true, 1);
    assert_true(ni_has_prefix(why.buf, "its compute mode is EXCLUSIVE"));
}

static void test_none_of_its_words(void **state)
{
    static const char *const bad[] = {
        "",
        "nvml 0\n",
        "version 1\nversion 1\n",
        "version 1\ngpu 0000:06:00.0 mode=0\n",
        "version 1\nnvml 0\ngpu 0000:07:00.0 mode=0\n",
        "version 1\nnvml 0\ngpu 0000:06:00.0 mode=0\ngpu 0000:06:00.0 mode=0\n",
        "version 1\nnvml 0\ngpu 0000:06:00.0 mode=-1\n",
        "version 1\nnvml 0\ngpu 0000:06:00.0 mode\n",
        "version 1\nnvml 0\ngpu 0000:06:00.0 colour=1\n",
        "version 1\nnvml 0\nnvml 0\n",
        "version 1\nnvml x\n",
        "version 1\nunloaded\n",
        "version 1\nend\nnvml 0\n",
        "version 1\nhello\n",
    };

    (void)state;
    for (unsigned i = 0; i < NI_COUNT(bad); i++) {
        if (read_words(bad[i]) != -EINVAL)
            fail_msg("taken: %s", bad[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_why_not),
        cmocka_unit_test(test_each_gpu),
        cmocka_unit_test(test_none_of_its_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
