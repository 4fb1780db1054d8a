/* SPDX-License-Identifier: Apache-2.0 */
/* --require, --keep-caps, --drop-caps; and which variables are left alone in secure execution. */
#include <errno.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "cli/args.h"
#include "cli/context.h"
#include "cli/option.h"
#include "cli/program.h"
#include "main.h"
#include "nccl_init/base.h"
#include "nccl_init/env.h"
#include "nccl_init/plan.h"
#include <cmocka.h>

static struct ni_context context;

static int reset(void **state)
{
    (void)state;
    context.program = &ni_main_program;
    ni_options_init(&context);
    return 0;
}

static int set(const char *name, const char *value)
{
    for (unsigned i = 0; i < ni_options_count(&ni_main_program); i++)
        if (strcmp(ni_option_at(&ni_main_program, i)->name, name) == 0)
            return ni_option_take(&context, i, value);
    fail_msg("no option %s", name);
    return 0;
}

static void test_require(void **state)
{
    static const char *const bad[] = {"",         "all",    "rdma,",   "rdma,none", "none,rdma",
                                      "rails",    "rails=", "rails=0", "rails=x",   "rails=33",
                                      "rails=-1", "rdna",   "gpus=2",  " rdma",     "rdma memlock"};

    (void)state;
    assert_int_equal(context.options.policy.require, 0);
    assert_int_equal(set("require", "rdma"), 0);
    assert_int_equal(context.options.policy.require, NI_REQUIRE_RDMA);
    assert_int_equal(set("require", "gpus,gdr,memlock,roce-v2,rails=32,rdma"), 0);
    assert_int_equal(context.options.policy.require, NI_REQUIRE_RDMA | NI_REQUIRE_GDR |
                                                         NI_REQUIRE_MEMLOCK | NI_REQUIRE_ROCE_V2 |
                                                         NI_REQUIRE_RAILS | NI_REQUIRE_GPUS);
    assert_int_equal(context.options.policy.rails, 32);
    for (size_t i = 0; i < NI_COUNT(bad); i++) {
        assert_int_equal(set("require", bad[i]), -EINVAL);
        assert_int_equal(context.options.policy.rails, 32);
    }
    assert_int_equal(set("require", "NONE"), 0);
    assert_int_equal(set("require", "Rdma"), 0);
    assert_int_equal(set("require", "none"), 0);
    assert_int_equal(context.options.policy.require, 0);
}

static void test_caps(void **state)
{
    static const char *const bad[] = {"",    "ipc_lock,", "cap_ipc_lock",
                                      "ALL", "14",        "none,ipc_lock"};

    (void)state;
    assert_int_equal(set("keep-caps", "ipc_lock"), 0);
    assert_int_equal(context.options.policy.keep_caps, 1 << CAP_IPC_LOCK);
    assert_int_equal(set("keep-caps", "IPC_LOCK,Sys_Resource"), 0);
    assert_int_equal(context.options.policy.keep_caps, 1 << CAP_IPC_LOCK | 1 << CAP_SYS_RESOURCE);
    assert_int_equal(set("drop-caps", "setpcap"), 0);
    assert_int_equal(context.options.policy.drop_caps, 1 << CAP_SETPCAP);
    assert_false(context.options.policy.drop_unneeded);
    for (size_t i = 0; i < NI_COUNT(bad); i++) {
        assert_int_equal(set("keep-caps", bad[i]), -EINVAL);
        assert_int_equal(set("drop-caps", bad[i]), -EINVAL);
    }
    assert_int_equal(set("keep-caps", "unneeded"), -EINVAL);
    assert_int_equal(context.options.policy.drop_caps, 1 << CAP_SETPCAP);
    assert_int_equal(set("drop-caps", "unneeded"), 0);
    assert_true(context.options.policy.drop_unneeded);
    assert_int_equal(context.options.policy.drop_caps, 0);
    assert_int_equal(set("drop-caps", "Unneeded,net_raw"), 0);
    assert_true(context.options.policy.drop_unneeded);
    assert_int_equal(context.options.policy.drop_caps, 1 << CAP_NET_RAW);
    assert_int_equal(set("drop-caps", "unneeded,none"), -EINVAL);
    assert_int_equal(set("drop-caps", "none"), 0);
    assert_false(context.options.policy.drop_unneeded);
}

/* What names a file; nothing else is left alone. */
static void test_secure(void **state)
{
    static char root[] = "NCCLINIT_ROOT=/r", output[] = "NCCLINIT_OUTPUT=/o";
    static char log[] = "NCCLINIT_TERMINATION_LOG=/t", status[] = "NCCLINIT_NETWORK_STATUS=/n";
    static char mode[] = "NCCLINIT_MODE=tcp";
    static char *entries[] = {root, output, log, status, mode, NULL};
    const struct ni_env env = {entries};

    (void)state;
    for (int secure = 0; secure < 2; secure++) {
        ni_options_init(&context);
        context.options.secure = secure == 1;
        context.verb = NI_VERB_ENV;
        context.taken = 0;
        assert_int_equal(ni_args_env(&context, &env, NI_ENV_OWN), 0);
        assert_int_equal(context.options.policy.mode, NI_MODE_TCP);
        assert_string_equal(context.options.root, secure ? "/" : "/r");
        assert_string_equal(context.options.termination_log,
                            secure ? "/dev/termination-log" : "/t");
        assert_string_equal(context.options.network_status ? context.options.network_status : "-",
                            secure ? "-" : "/n");
        assert_string_equal(context.options.output ? context.options.output : "-",
                            secure ? "-" : "/o");
        assert_int_equal(context.findings.n, secure ? 4 : 0);
    }
    /* The command line may. */
    assert_int_equal(set("root", "/r"), 0);
    assert_string_equal(context.options.root, "/r");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_require, reset),
        cmocka_unit_test_setup(test_caps, reset),
        cmocka_unit_test_setup(test_secure, reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
