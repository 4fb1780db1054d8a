/* SPDX-License-Identifier: Apache-2.0 */
/* Environment files: what is written is read back by each reader byte for byte, or nothing is written at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/report_readers.h"
#include "nccl_init/base.h"
#include "nccl_init/inventory.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "print/words.h"
#include "run/envfile.h"

static struct ni_plan plan;
static struct ni_inventory no_gpu;

static struct ni_setting *add(const char *name, const char *val, enum ni_origin origin)
{
    struct ni_setting *s = &plan.setting[plan.n_setting++];
    s->name = name;
    s->rule = "test.rule";
    s->origin = origin;
    assert_true(ni_copy(s->value, sizeof(s->value), val));
    return s;
}

/* Puts the plan into `text`; returns the setting that the format cannot carry. */
static const struct ni_setting *write_text(enum ni_format format)
{
    const struct ni_view view = {.inv = &no_gpu, .plan = &plan};
    struct ni_text t = ni_text_on(text, sizeof(text));
    const struct ni_setting *bad = ni_put_env(&t, &view, format);
    assert_false(t.cut);
    text_len = t.len;
    return bad;
}

/* ---- tests ---- */

enum {
    SH = 1 << NI_FMT_SH,
    K8S = 1 << NI_FMT_K8S,
    DOCKER = 1 << NI_FMT_DOCKER,
    CONF = 1 << NI_FMT_CONF
};
enum { JSON = 1 << NI_FMT_JSON, ALL = SH | K8S | DOCKER | CONF | JSON };

static const struct nasty {
    const char *value;
    unsigned carried_by;
} nasty[] = {
    {"", ALL},
    {"3", ALL},
    {"=mlx5_6:1,mlx5_10:1", ALL},
    {"^=lo,docker0", ALL},
    {"#no comment", ALL},
    {"x # y", ALL},
    {"$HOME `id` $(id) ${X:-1} * ~ !%^&()[]{}|;<>?", ALL},
    {"a\\nb \\\\ c", ALL},
    {"-n", ALL},
    {" leading", ALL & ~DOCKER},
    {"trailing ", ALL & ~DOCKER},
    {"\ttab\t", ALL & ~DOCKER},
    {"ends in \\", ALL & ~DOCKER},
    {"\"quoted\"", ALL & ~DOCKER},
    {"'", ALL & ~K8S & ~DOCKER},
    {"'quoted'", ALL & ~K8S & ~DOCKER},
    {"it's", ALL & ~K8S},
    {"a''b'", ALL & ~K8S},
    {"two\nlines", SH | K8S | JSON},
    {"\n", SH | K8S | JSON},
    {"ends in\n", SH | K8S | JSON},
    {"dos\r\nlines", SH | JSON},
    {"ends in CR\r", SH | K8S | JSON},
    {"C\rR", SH | K8S | JSON},
    {"\xc3\xbc \xe2\x82\xac \xf0\x9f\x8c\x8d", ALL & ~DOCKER},
    {"\xff", SH | CONF},
    {"\xc0\xaf", SH | CONF},         /* '/' in two bytes */
    {"\xe0\x80\xaf", SH | CONF},     /* and in three */
    {"\xed\xa0\x80", SH | CONF},     /* a surrogate */
    {"\xf4\x90\x80\x80", SH | CONF}, /* U+110000 */
    {"cut \xe2\x82", SH | CONF},
    {"\x01\x1b[31m\x7f", ALL & ~DOCKER},
};

static void one_value(enum ni_format format, const char *val, bool carried)
{
    memset(&plan, 0, sizeof(plan));
    add("NCCL_BEFORE", "b", NI_FROM_RULE);
    struct ni_setting *s = add("NCCL_X", val, NI_FROM_RULE);
    add("NCCL_AFTER", "a", NI_FROM_RULE);
    if (!carried) {
        assert_ptr_equal(write_text(format), s);
        assert_int_equal(text_len, 0);
        return;
    }
    assert_null(write_text(format));
    check_readers(format, "NCCL_BEFORE", "b");
    check_readers(format, "NCCL_X", val);
    check_readers(format, "NCCL_AFTER", "a");
}

static void test_nasty_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < NI_COUNT(nasty); i++) {
        for (unsigned f = 0; f <= NI_FMT_JSON; f++)
            one_value((enum ni_format)f, nasty[i].value, nasty[i].carried_by & (1U << f));
    }
}

static void test_conf_length(void **state)
{
    char v[1025];
    (void)state;
    memset(v, 'x', sizeof(v) - 1);
    v[1024] = '\0';
    one_value(NI_FMT_CONF, v, false);
    one_value(NI_FMT_SH, v, true);
    v[1023] = '\0';
    one_value(NI_FMT_CONF, v, true);
}

static void test_literal_forms(void **state)
{
    static const char *const want[] = {
        [NI_FMT_SH] = "export NCCL_IB_HCA='=mlx5_6:1'\nexport NCCL_X='it'\\''s'\n",
        [NI_FMT_K8S] = "NCCL_IB_HCA='=mlx5_6:1'\nNCCL_X='its'\n",
        [NI_FMT_DOCKER] = "NCCL_IB_HCA==mlx5_6:1\nNCCL_X=its\n",
        [NI_FMT_CONF] = "NCCL_IB_HCA==mlx5_6:1\nNCCL_X=its\n",
        [NI_FMT_JSON] = "{\n  \"NCCL_IB_HCA\": \"=mlx5_6:1\",\n  \"NCCL_X\": \"its\"\n}\n",
    };
    (void)state;
    for (unsigned f = 0; f <= NI_FMT_JSON; f++) {
        memset(&plan, 0, sizeof(plan));
        add("NCCL_IB_HCA", "=mlx5_6:1", NI_FROM_RULE);
        add("NCCL_X", f == NI_FMT_SH ? "it's" : "its", NI_FROM_RULE);
        assert_null(write_text((enum ni_format)f));
        assert_string_equal(text, want[f]);
    }
}

/* What the user or a file set is neither written nor in the way. */
static void test_only_ours(void **state)
{
    (void)state;
    for (unsigned f = 0; f <= NI_FMT_JSON; f++) {
        memset(&plan, 0, sizeof(plan));
        add("NCCL_USER", "'\n\xff", NI_FROM_USER);
        add("NCCL_CONF", "'\n\xff", NI_FROM_CONF);
        add("NCCL_UNSET", "", NI_LEFT_UNSET);
        assert_null(write_text((enum ni_format)f));
        assert_string_equal(text, f == NI_FMT_JSON ? "{}\n" : "");
    }
}

/* NCCL would set it, when UCX has long read its own environment. */
static void test_not_nccls(void **state)
{
    (void)state;
    for (unsigned f = 0; f <= NI_FMT_JSON; f++) {
        memset(&plan, 0, sizeof(plan));
        add("UCX_NET_DEVICES", "mlx5_6:1", NI_FROM_RULE);
        assert_true((write_text((enum ni_format)f) != NULL) == (f == NI_FMT_CONF));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nasty_values),  cmocka_unit_test(test_conf_length),
        cmocka_unit_test(test_literal_forms), cmocka_unit_test(test_only_ours),
        cmocka_unit_test(test_not_nccls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
