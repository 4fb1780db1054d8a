/* SPDX-License-Identifier: Apache-2.0 */
/* The command's environment: what was there byte for byte, less our own variables, then the
   settings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/env.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "system/exec.h"
#include <cmocka.h>

static struct ni_plan plan;

static void add(const char *name, enum ni_origin origin, const char *value)
{
    struct ni_setting *s = &plan.setting[plan.n_setting++];

    s->name = name;
    s->origin = origin;
    assert_true(ni_copy(s->value, sizeof(s->value), value));
}

static int reset(void **state)
{
    (void)state;
    memset(&plan, 0, sizeof(plan));
    return 0;
}

static void test_kept(void **state)
{
    char bytes[] = "BYTES=\xff\x01\n ";
    char *entry[] = {(char[]){"TWICE=1"},
                     (char[]){"BARE"},
                     (char[]){"NCCLINIT_MODE=tcp"},
                     (char[]){""},
                     (char[]){"=nameless"},
                     bytes,
                     (char[]){"NCCLINIT_="},
                     (char[]){"NCCLINIT=x"},
                     (char[]){"NCCLINIT_BARE"},
                     (char[]){"EMPTY="},
                     (char[]){"xNCCLINIT_MODE=tcp"},
                     (char[]){"TWICE=2"},
                     NULL};
    static const unsigned kept[] = {0, 1, 3, 4, 5, 7, 8, 9, 10, 11};
    const struct ni_env env = {entry};
    char *const *got = ni_command_env(&env, &plan);

    (void)state;
    assert_non_null(got);
    for (unsigned i = 0; i < NI_COUNT(kept); i++)
        assert_ptr_equal(got[i], entry[kept[i]]);
    assert_null(got[NI_COUNT(kept)]);
}

static void test_settings(void **state)
{
    char *entry[] = {(char[]){"NCCL_IB_HCA=mine"}, NULL};
    const struct ni_env env = {entry};
    char *const *got;

    (void)state;
    add("NCCL_IB_DISABLE", NI_FROM_RULE, "0");
    add("NCCL_IB_HCA", NI_FROM_USER, "mine");
    add("NCCL_DEBUG", NI_FROM_CONF, "INFO");
    add("NCCL_IB_GID_INDEX", NI_LEFT_UNSET, "");
    add("NCCL_SOCKET_IFNAME", NI_FROM_RULE, "=net1,net2");
    got = ni_command_env(&env, &plan);
    assert_string_equal(got[0], "NCCL_IB_HCA=mine");
    assert_string_equal(got[1], "NCCL_IB_DISABLE=0");
    assert_string_equal(got[2], "NCCL_SOCKET_IFNAME==net1,net2");
    assert_null(got[3]);
}

/* The longest value that a plan can hold comes whole. */
static void test_longest(void **state)
{
    char *entry[] = {NULL};
    const struct ni_env env = {entry};
    char name[NI_DEV_NAME], value[NI_VALUE];
    char *const *got;

    (void)state;
    memset(name, 'N', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    memset(value, 'v', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    for (unsigned i = 0; i < NI_MAX_SETTING; i++)
        add(name, NI_FROM_RULE, value);
    got = ni_command_env(&env, &plan);
    for (unsigned i = 0; i < NI_MAX_SETTING; i++)
        assert_int_equal(strlen(got[i]), strlen(name) + 1 + strlen(value));
    assert_null(got[NI_MAX_SETTING]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_kept, reset),
        cmocka_unit_test_setup(test_settings, reset),
        cmocka_unit_test_setup(test_longest, reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
