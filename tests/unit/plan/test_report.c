/* SPDX-License-Identifier: Apache-2.0 */
/* What no golden case shows of the plan; of a node built by hand. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>
#include <cmocka.h>

#include "lib/report_node.h"
#include "nccl_init/base.h"
#include "nccl_init/known.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "plan/report.h"
#include "plan/report_json.h"

static int setup(void **state)
{
    (void)state;
    build_node();
    return 0;
}

/* An HCA that the goldens have not: one without ports. */
static void test_plan_no_port(void **state)
{
    (void)state;
    assert_null(strstr(written(ni_put_plan), "rxe0"));
    node.view.all = true;
    const char *text = written(ni_put_plan);
    assert_non_null(strstr(text, "\n  The last 3 are not the pod's: not used\n"));
    assert_non_null(strstr(text,
                           "\n  rxe0       -             -             -       -     -     -   "
                           "    -            -\n"));
    for (unsigned i = 3; i < 6; i++)
        node.inv.hca[i].allocation = 0; /* those that were given come first */
    text = written(ni_put_plan);
    assert_non_null(strstr(text, "\n  rxe0       not used  -          sysfs shows no port\n"));
    assert_null(strstr(text, " \n"));
    assert_null(strchr(text, '\033'));
}

static void test_plan_colour(void **state)
{
    (void)state;
    node.view.colour = true;
    node.plan.refuse = true;
    ni_copy(node.plan.refuse_why, sizeof(node.plan.refuse_why), "no RDMA");
    const char *text = written(ni_put_plan);
    assert_non_null(strstr(text, "\n\033[31mThe command would not be started: no RDMA\033[0m\n"));
    assert_non_null(strstr(text, "\n  \033[32mmlx5_6/1   0000:03:00.2"));
    assert_non_null(strstr(text, "\n  \033[2mmlx5_8/1   0000:c4:00.2"));
    assert_non_null(strstr(text, "\n  \033[32mNCCL_IB_DISABLE     0\033[0m\n"));
    assert_non_null(strstr(text, "\n  \033[33mNCCL_SOCKET_IFNAME  eth0\033[0m\n"));
    assert_non_null(strstr(text, "\n  \033[31merror: shm.default\033[0m: /dev/shm"));
    assert_non_null(strstr(text, "\n  \033[33mwarning: hca.port.down\033[0m: mlx5_8/1"));
}

static void test_plan_of_nothing(void **state)
{
    (void)state;
    memset(&node.inv, 0, sizeof(node.inv));
    memset(&node.plan, 0, sizeof(node.plan));
    memset(&node.findings, 0, sizeof(node.findings));
    node.view.root = "/";
    node.inv.self.memlock_soft.known = NI_ABSENT;
    assert_string_equal(written(ni_put_plan),
                        "Plan: nothing is decided (mode off); this pod was given no HCA\n"
                        "\nNo findings. `nccl-init doctor` checks the node.\n"
                        "\nLocked memory: soft limit absent; hard limit -\n"
                        "\nNo HCA was found.\n");
}

/* Whoever chooses a value or a name must not reach the terminal of who looks at the plan. */
static void test_plan_hostile(void **state)
{
    (void)state;
    ni_copy(node.plan.setting[3].value, NI_VALUE, "a\n\033[2J\x9b\xff");
    ni_copy(node.plan.setting[4].file, 64, "/\033]0;x\007\xc2\x9b" /* U+009B */);
    ni_copy(node.inv.netdev[0].name, NI_IF_NAME, "n\tt\x80");
    node.view.root = "dir\n\033[31m";
    const char *text = written(ni_put_plan);
    assert_null(strchr(text, '\033'));
    assert_non_null(strstr(text, "; root dir\\x0a\\x1b[31m\n"));
    assert_non_null(strstr(text, "\n  NCCL_SOCKET_IFNAME  a\\x0a\\x1b[2J\\x9b\\xff\n"));
    assert_non_null(strstr(text, "  n\\x09t\\x80 "));
    text = written(ni_put_plan_json);
    for (const char *c = text; *c; c++)
        assert_true(*c == '\n' || (*c >= ' ' && *c <= '~'));
    json_t *j = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_string_equal(json_string_value(json_object_get(j, "root")), "dir\n\033[31m");
    json_decref(j);
}

static void test_plan_long_value(void **state)
{
    char value[NI_VALUE];
    (void)state;
    memset(value, '\001', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    ni_copy(node.plan.setting[3].value, NI_VALUE, value);
    const char *at = strstr(written(ni_put_plan), "  NCCL_SOCKET_IFNAME  \\x01");
    assert_non_null(at);
    at += strlen("  NCCL_SOCKET_IFNAME  ");
    assert_int_equal(strcspn(at, "\n"), 4 * (sizeof(value) - 1));
    memset(value, '\xff', sizeof(value) - 1);
    ni_copy(node.plan.setting[3].value, NI_VALUE, value);
    json_t *j = json_loads(written(ni_put_plan_json), 0, NULL);
    json_t *s = json_array_get(json_object_get(j, "settings"), 3);
    assert_int_equal(json_string_length(json_object_get(s, "value")), 4 * (sizeof(value) - 1));
    json_decref(j);
}

static void test_plan_full(void **state)
{
    (void)state;
    while (node.inv.n_hca < NI_MAX_HCA) {
        hca("mlx5_99", "0000:99:00.1", NULL, false);
        pick(false, "not the pod's", -1);
    }
    node.findings.dropped = 7;
    const char *text = written(ni_put_plan);
    assert_non_null(
        strstr(text, "\n  61 other HCAs are not the pod's and not used: --all shows them\n"));
    assert_non_null(strstr(text, "\n7 more findings are not shown\n"));
    assert_non_null(strstr(text, "\n  mlx5_8/1   left out  hca.ports  port is DOWN\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_plan_no_port, setup),
        cmocka_unit_test_setup(test_plan_colour, setup),
        cmocka_unit_test_setup(test_plan_of_nothing, setup),
        cmocka_unit_test_setup(test_plan_hostile, setup),
        cmocka_unit_test_setup(test_plan_long_value, setup),
        cmocka_unit_test_setup(test_plan_full, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
