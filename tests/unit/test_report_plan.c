/* SPDX-License-Identifier: Apache-2.0 */
/* The plan as JSON, and what no golden case shows of its text; of a node built by hand. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>
#include <cmocka.h>

#include "test_report_node.h"

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
    const char *text = written(ni_write_plan);
    assert_non_null(
        strstr(text, "\n  rxe0       -             -             -       -     -     -  "));
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
    const char *text = written(ni_write_plan);
    assert_non_null(strstr(text, "\n\033[31mThe command would not be started: no RDMA\033[0m\n"));
    assert_non_null(strstr(text, "\n  \033[32mmlx5_6/1   0000:03:00.2"));
    assert_non_null(strstr(text, "\n  \033[2mmlx5_8/1   0000:c4:00.2"));
    assert_non_null(strstr(text, "\n  \033[32mNCCL_IB_DISABLE=0\033[0m\n"));
    assert_non_null(strstr(text, "\n  \033[33mNCCL_SOCKET_IFNAME=eth0\033[0m\n"));
    assert_non_null(strstr(text, "\n  \033[31merror: gdr.dmabuf.off\033[0m: NCCL_DMABUF"));
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
    assert_string_equal(written(ni_write_plan),
                        "Plan: nothing is decided (mode off); nothing gives this pod an HCA\n"
                        "\nNo HCA was found.\n"
                        "\nLocked memory: soft limit absent; hard limit -\n"
                        "\nNo findings. `nccl-init doctor` checks the node.\n");
}

/* Whoever chooses a value or a name must not reach the terminal of who looks at the plan. */
static void test_plan_hostile(void **state)
{
    (void)state;
    ni_copy(node.plan.setting[3].value, NI_VALUE, "a\n\033[2J\x9b\xff");
    ni_copy(node.plan.setting[4].file, 64, "/\033]0;x\007\xc2\x9b" /* U+009B */);
    ni_copy(node.inv.claim[4].id, NI_DEV_NAME, "\033c\n");
    ni_copy(node.inv.netdev[0].name, NI_IF_NAME, "n\tt\x80");
    node.view.root = "dir\n\033[31m";
    const char *text = written(ni_write_plan);
    assert_null(strchr(text, '\033'));
    assert_non_null(strstr(text, "; root dir\\x0a\\x1b[31m\n"));
    assert_non_null(strstr(text, "\n  NCCL_SOCKET_IFNAME=a\\x0a\\x1b[2J\\x9b\\xff\n"));
    assert_non_null(strstr(text, "\n  \\x1bc\\x0a"));
    assert_non_null(strstr(text, "  n\\x09t\\x80 "));
    text = written(ni_write_plan_json);
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
    const char *at = strstr(written(ni_write_plan), "  NCCL_SOCKET_IFNAME=\\x01");
    assert_non_null(at);
    at += strlen("  NCCL_SOCKET_IFNAME=");
    assert_int_equal(strcspn(at, "\n"), 4 * (sizeof(value) - 1));
    memset(value, '\xff', sizeof(value) - 1);
    ni_copy(node.plan.setting[3].value, NI_VALUE, value);
    json_t *j = json_loads(written(ni_write_plan_json), 0, NULL);
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
    for (unsigned i = 0; i < 20; i++)
        claim("0000:77:00.0", NI_CLAIM_NO_DEVICE, -1);
    node.findings.dropped = 7;
    const char *text = written(ni_write_plan);
    assert_non_null(strstr(text, "  60 others  dropped   hca.ports  not the pod's\n"));
    assert_non_null(strstr(text, "\n  and 6 more\n"));
    assert_non_null(strstr(text, "\n  and 7 more\n"));
    assert_non_null(strstr(text, "\n  mlx5_8/1   dropped   hca.ports  port is DOWN\n"));
}

/* ---- JSON ---- */

static const char *text_at(json_t *obj, const char *key)
{
    const char *s = json_string_value(json_object_get(obj, key));
    return s ? s : "(none)";
}

static bool null_at(json_t *obj, const char *key)
{
    return json_is_null(json_object_get(obj, key));
}

static void check_ports(json_t *hcas)
{
    json_t *vf = json_array_get(hcas, 0), *down = json_array_get(hcas, 2);
    json_t *port = json_array_get(json_object_get(vf, "ports"), 0);
    json_t *gid_obj = json_object_get(port, "gid");
    assert_int_equal(json_array_size(hcas), 6);
    assert_string_equal(text_at(vf, "name"), "mlx5_6");
    assert_string_equal(text_at(vf, "pci"), "0000:03:00.2");
    assert_string_equal(text_at(vf, "parent"), "0000:03:00.0");
    assert_true(null_at(vf, "auxiliary"));
    assert_int_equal(json_integer_value(json_object_get(vf, "numa")), 0);
    assert_string_equal(text_at(json_object_get(vf, "netdev"), "name"), "net1");
    assert_string_equal(text_at(json_object_get(vf, "nearest_gpu"), "pci"), "0000:06:00.0");
    assert_string_equal(text_at(json_object_get(vf, "nearest_gpu"), "distance"), "PXB");
    assert_string_equal(text_at(port, "state"), "ACTIVE");
    assert_int_equal(json_integer_value(json_object_get(port, "mbps")), 400000);
    assert_true(json_is_true(json_object_get(port, "kept")));
    assert_int_equal(json_integer_value(json_object_get(gid_obj, "index")), 3);
    assert_string_equal(text_at(gid_obj, "address"), "10.0.103.6");
    assert_string_equal(text_at(gid_obj, "type"), "v2");
    assert_true(null_at(down, "numa"));
    port = json_array_get(json_object_get(down, "ports"), 0);
    assert_true(json_is_false(json_object_get(port, "kept")));
    assert_string_equal(text_at(port, "why"), "port is DOWN");
    assert_true(null_at(port, "gid"));
    assert_true(null_at(json_array_get(hcas, 5), "pci"));
}

static void check_settings(json_t *settings)
{
    static const char *const origin[] = {"rule", "rule", "rule", "user", "conf", "unset"};
    assert_int_equal(json_array_size(settings), NI_COUNT(origin));
    for (size_t i = 0; i < NI_COUNT(origin); i++)
        assert_string_equal(text_at(json_array_get(settings, i), "origin"), origin[i]);
    assert_string_equal(text_at(json_array_get(settings, 1), "value"), "=mlx5_6:1,mlx5_10:1");
    assert_string_equal(text_at(json_array_get(settings, 1), "rule"), "hca.list");
    assert_string_equal(text_at(json_array_get(settings, 4), "file"), "/etc/nccl.conf");
    assert_true(null_at(json_array_get(settings, 5), "value"));
}

static void test_plan_json(void **state)
{
    (void)state;
    const char *text = written(ni_write_plan_json);
    json_error_t error;
    json_t *j = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    assert_non_null(j);
    assert_true(ni_has_prefix(text, "{\n  \"schema\": 1,\n  \"root\": \"h100.tree\",\n"));
    assert_string_equal(text + strlen(text) - 3, "\n}\n");
    assert_string_equal(text_at(j, "transport"), "rdma");
    assert_string_equal(text_at(j, "link"), "roce");
    assert_string_equal(text_at(j, "source"), "pcidevice");
    assert_true(null_at(j, "refuse"));
    assert_int_equal(json_array_size(json_object_get(j, "claims")), 5);
    assert_string_equal(text_at(json_array_get(json_object_get(j, "claims"), 4), "state"),
                        "bad-id");
    check_ports(json_object_get(j, "hcas"));
    assert_true(null_at(json_array_get(json_object_get(j, "gpus"), 2), "nearest_hca"));
    assert_true(json_is_false(json_object_get(json_object_get(j, "gdr"), "peermem")));
    check_settings(json_object_get(j, "settings"));
    json_t *memlock = json_object_get(j, "memlock");
    assert_int_equal(json_integer_value(json_object_get(memlock, "soft")), 8 << 20);
    assert_string_equal(text_at(memlock, "hard"), "unlimited");
    assert_string_equal(text_at(memlock, "raise_soft_to"), "unlimited");
    assert_true(null_at(memlock, "raise_hard_to"));
    assert_int_equal(json_array_size(json_object_get(j, "findings")), 3);
    json_decref(j);
}

static void test_subfunction(void **state)
{
    (void)state;
    struct ni_hca *h = &node.inv.hca[0];
    h->is_vf = false;
    ni_copy(h->aux, sizeof(h->aux), "mlx5_core.sf.4");
    h->bdf = pci("0000:03:00.0");
    assert_non_null(
        strstr(written(ni_write_plan), "\n  mlx5_6/1   mlx5_core.sf.4  0000:03:00.0  ACTIVE"));
    json_t *j = json_loads(written(ni_write_plan_json), 0, NULL);
    json_t *sf = json_array_get(json_object_get(j, "hcas"), 0);
    assert_true(null_at(sf, "pci"));
    assert_string_equal(text_at(sf, "auxiliary"), "mlx5_core.sf.4");
    assert_string_equal(text_at(sf, "parent"), "0000:03:00.0");
    json_decref(j);
}

static void test_full_disk(void **state)
{
    (void)state;
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(ni_write_plan(fd, &node.view), -ENOSPC);
    assert_int_equal(ni_write_plan_json(fd, &node.view), -ENOSPC);
    close(fd);
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
        cmocka_unit_test_setup(test_plan_json, setup),
        cmocka_unit_test_setup(test_subfunction, setup),
        cmocka_unit_test_setup(test_full_disk, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
