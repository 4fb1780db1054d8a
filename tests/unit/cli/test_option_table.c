/* SPDX-License-Identifier: Apache-2.0 */
/* The table of options: names, values, words. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "cli/context.h"
#include "cli/option.h"
#include "cli/options.h"
#include "cli/program.h"
#include "lib/args.h"
#include "main.h"
#include "nccl_init/base.h"
#include "nccl_init/env.h"
#include "nccl_init/number.h"
#include "nccl_init/pci.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "run/env.h"
#include <cmocka.h>

/* The values of all options, one behind the other. */
static size_t all_values(char *to, size_t room)
{
    size_t n = sizeof(*options);

    memcpy(to, options, n);
    for (unsigned i = 0; i < ni_main_program.n_rows; i++) {
        const struct ni_option_rows *rows = ni_main_program.rows[i];

        if (!rows->values)
            continue;
        assert_true(n + rows->size <= room);
        memcpy(to + n, rows->values, rows->size);
        n += rows->size;
    }
    return n;
}

/* No variable is there twice, and no verb takes two options of one name. */
static void assert_no_twin(unsigned i)
{
    const struct ni_option *o = ni_option_at(&ni_main_program, i);
    struct ni_text variable = NI_TEXT(64);

    ni_put_variable(&variable, o);
    for (unsigned k = 0; k < i; k++) {
        const struct ni_option *before = ni_option_at(&ni_main_program, k);
        struct ni_text its = NI_TEXT(64);

        ni_put_variable(&its, before);
        assert_string_not_equal(its.buf, variable.buf);
        if (strcmp(before->name, o->name) == 0)
            assert_int_equal(before->verbs & o->verbs & NI_VERBS, 0);
    }
}

static void test_names(void **state)
{
    char buf[64];
    struct ni_text variable = ni_text_on(buf, sizeof(buf));

    (void)state;
    ni_put_variable(&variable, option("snapshot-on-refusal"));
    assert_string_equal(buf, "NCCLINIT_SNAPSHOT_ON_REFUSAL");
    for (unsigned i = 0; i < ni_options_count(&ni_main_program); i++) {
        const struct ni_option *o = ni_option_at(&ni_main_program, i);

        assert_no_twin(i);
        assert_true(o->verbs != 0);
        assert_true(strlen(o->help) > 0);
    }
}

/* Each value that the help names is taken, and what it calls the default changes nothing. */
static void test_values(void **state)
{
    static const struct {
        const char *placeholder, *value;
    } examples[] = {
        {"BYTES", "1234K"},
        {"SECONDS", "1234"},
        {"rails=N", "rails=4"},
        {"CAPABILITY", "ipc_lock"},
        {"FINDING", "shm.default"},
        {"HCA[:PORT]", "mlx5_0:1,mlx5_1"},
        {"N", "3"},
        {"PORT", "18555"},
        {"S", "1.25"},
    };

    (void)state;
    for (unsigned i = 0; i < ni_options_count(&ni_main_program); i++) {
        const struct ni_option *o = ni_option_at(&ni_main_program, i);
        const char *cursor = o->arg;
        static char initial[8192], got[8192];
        size_t n;
        struct ni_span s;

        while (cursor && ni_split(&cursor, '|', &s)) {
            char value[64];

            ni_options_init(&context);
            assert_true(ni_copyn(value, sizeof(value), s.p, s.n));
            if (!cursor && strstr(value, ",..."))
                *strstr(value, ",...") = '\0';
            for (unsigned k = 0; k < NI_COUNT(examples); k++)
                if (strcmp(value, examples[k].placeholder) == 0)
                    assert_true(ni_copy(value, sizeof(value), examples[k].value));
            assert_int_equal(ni_option_take(&context, i, value), 0);
        }
        ni_options_init(&context);
        n = all_values(initial, sizeof(initial));
        if (o->initial)
            assert_int_equal(ni_option_take(&context, i, o->initial), 0);
        if (o->arg)
            assert_int_equal(ni_option_take(&context, i, ""), -EINVAL);
        assert_int_equal(all_values(got, sizeof(got)), n);
        assert_memory_equal(got, initial, n);
    }
}

/* Words are values by their order. */
static void test_words(void **state)
{
    static const struct {
        const char *line;
        int mode, format, level, log_format;
    } cases[] = {
        {"--mode=auto --format=sh --log-level=error --log-format=text", NI_MODE_AUTO, NI_FMT_SH,
         NI_LOG_ERROR, NI_LOG_TEXT},
        {"--mode=rdma --format=k8s --log-level=warn --log-format=json", NI_MODE_RDMA, NI_FMT_K8S,
         NI_LOG_WARN, NI_LOG_JSON},
        {"--mode=tcp --format=docker --log-level=info", NI_MODE_TCP, NI_FMT_DOCKER, NI_LOG_INFO,
         NI_LOG_TEXT},
        {"--mode=off --format=nccl.conf --log-level=debug", NI_MODE_OFF, NI_FMT_CONF, NI_LOG_DEBUG,
         NI_LOG_TEXT},
        {"--format=json", NI_MODE_AUTO, NI_FMT_JSON, NI_LOG_INFO, NI_LOG_TEXT},
    };
    static const char *const yes_no[] = {"0", "1", "false", "TRUE", "no", "yes", "off", "on"};
    static const struct {
        const char *word;
        enum ni_distance level;
    } levels[] = {
        {"PIX", NI_DIST_PIX}, {"PXB", NI_DIST_PXB}, {"PHB", NI_DIST_PHB}, {"SYS", NI_DIST_SYS}};

    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        ni_options_init(&context);
        assert_int_equal(parse(NI_VERB_ENV, cases[i].line), 0);
        assert_int_equal(options->policy.mode, cases[i].mode);
        assert_int_equal(ni_env_options.format, cases[i].format);
        assert_int_equal(options->log_level, cases[i].level);
        assert_int_equal(options->log_format, cases[i].log_format);
    }
    for (size_t i = 0; i < NI_COUNT(levels); i++) {
        assert_int_equal(take("gdr", levels[i].word), 0);
        assert_int_equal(options->policy.gdr, levels[i].level);
    }
    /* as people write them */
    assert_int_equal(
        parse(NI_VERB_ENV, "--mode=TCP --log-level=warning --gdr=phb --memlock=unlimited"), 0);
    assert_int_equal(options->policy.mode, NI_MODE_TCP);
    assert_int_equal(options->log_level, NI_LOG_WARN);
    assert_int_equal(options->policy.gdr, NI_DIST_PHB);
    assert_true(options->policy.memlock == NI_UNLIMITED);
    assert_int_equal(take("memlock", "8Gi"), 0);
    assert_true(options->policy.memlock == INT64_C(8) << 30);
    for (unsigned i = 0; i < NI_COUNT(yes_no); i++) {
        assert_int_equal(take("strict", yes_no[i]), 0);
        assert_int_equal(options->strict, i % 2);
    }
    assert_int_equal(take("strict", "maybe"), -EINVAL);
    assert_int_equal(take("log-level", "warnings"), -EINVAL);
    assert_int_equal(take("memlock", "warning"), -EINVAL);
    assert_int_equal(take("memlock", "BYTES"), -EINVAL);
    assert_int_equal(take("require", "rails=N"), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_names, reset),
        cmocka_unit_test_setup(test_values, reset),
        cmocka_unit_test_setup(test_words, reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
