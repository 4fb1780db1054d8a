/* SPDX-License-Identifier: Apache-2.0 */
/* What `run` says on stderr: the summary line and the findings. */
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

static const char *text_at(json_t *obj, const char *key)
{
    const char *s = json_string_value(json_object_get(obj, key));
    return s ? s : "(none)";
}

static int64_t memlock = NI_UNLIMITED;

static void summary(struct ni_text *out, const struct ni_view *view)
{
    ni_put_summary(out, view, memlock);
}

static void test_summary_rdma(void **state)
{
    (void)state;
    assert_string_equal(written(summary),
                        "auto-detected 2 HCAs mlx5_6:1,mlx5_10:1 (PCIDEVICE), RoCE v2 "
                        "GID index 3, sockets eth0 (user), GDR PHB (nccl.conf), memlock unlimited");
    for (unsigned i = 3; i < 5; i++)
        node.plan.setting[i].origin = NI_FROM_RULE;
    ni_copy(node.plan.setting[3].value, NI_VALUE, "=net1,net3");
    node.plan.setting[2].origin = NI_LEFT_UNSET;
    node.inv.source = NI_SRC_UVERBS;
    memlock = 65536;
    assert_string_equal(written(summary),
                        "auto-detected 2 HCAs mlx5_6:1,mlx5_10:1 (/dev/infiniband), RoCE "
                        "v2 GID index left to NCCL, sockets net1,net3, GDR PHB, memlock 64 KiB");
    node.plan.setting[1].origin = NI_FROM_USER;
    ni_copy(node.plan.setting[1].value, NI_VALUE, "mlx5_6\n");
    node.plan.setting[2].origin = NI_FROM_USER;
    node.plan.setting[4].origin = NI_LEFT_UNSET;
    node.plan.n_chosen = 1;
    memlock = 65537;
    assert_string_equal(written(summary),
                        "auto-detected 1 HCA mlx5_6:1 (/dev/infiniband), RoCE GID index "
                        "3 (user), sockets net1,net3, GDR left to NCCL, NCCL_IB_HCA=mlx5_6\\x0a "
                        "(user), memlock 65537 B");
    memlock = NI_UNLIMITED;
}

static void test_summary_others(void **state)
{
    (void)state;
    node.plan.n_setting = 0;
    node.inv.port[0].link = NI_LINK_IB;
    setting("NCCL_SOCKET_IFNAME", NI_FROM_RULE, "socket.ifname", "=eth0", "");
    assert_string_equal(written(summary), "auto-detected 2 HCAs mlx5_6:1,mlx5_10:1 (PCIDEVICE), "
                                          "InfiniBand, sockets eth0, memlock unlimited");
    node.plan.transport = NI_NET_TCP;
    assert_string_equal(written(summary), "auto-detected TCP over eth0, 6 HCAs not used, "
                                          "memlock unlimited");
    node.inv.n_hca = 0;
    assert_string_equal(written(summary), "auto-detected TCP over eth0, no HCA, memlock unlimited");
    node.plan.transport = NI_NET_OTHER;
    setting("NCCL_NET_PLUGIN", NI_FROM_USER, "net.transport", "ofi", "");
    assert_string_equal(written(summary), "auto-detected another network plugin, left alone, "
                                          "NCCL_NET_PLUGIN=ofi (user), memlock unlimited");
    node.plan.transport = NI_NET_OFF;
    node.plan.n_setting = 0;
    assert_string_equal(written(summary), "auto-detected nothing (mode off), memlock unlimited");
}

static void finding_text(struct ni_text *out, const struct ni_view *view)
{
    ni_put_finding_line(out, &view->findings->at[0], false);
}

static void finding_json(struct ni_text *out, const struct ni_view *view)
{
    ni_put_finding_line(out, &view->findings->at[0], true);
}

static void test_finding(void **state)
{
    char want[512];
    const char *hint = ni_finding_kind(NI_F_HCA_PORT_DOWN)->hint;
    (void)state;
    snprintf(
        want, sizeof(want),
        "nccl-init: warning: hca.port.down: mlx5_8/1: port is DOWN, not ACTIVE; left out. %s\n",
        hint);
    assert_string_equal(written(finding_text), want);
    const char *text = written(finding_json);
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
    json_t *j = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_string_equal(text_at(j, "id"), "hca.port.down");
    assert_string_equal(text_at(j, "severity"), "warning");
    assert_string_equal(text_at(j, "subject"), "mlx5_8/1");
    assert_string_equal(text_at(j, "hint"), hint);
    json_decref(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_summary_rdma, setup),
        cmocka_unit_test_setup(test_summary_others, setup),
        cmocka_unit_test_setup(test_finding, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
