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

#include "findings/device.h"
#include "lib/report_node.h"
#include "nccl_init/allocation.h"
#include "nccl_init/findings.h"
#include "nccl_init/number.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "plan/report.h"
#include "print/findings.h"
#include "print/json_write.h"
#include "print/words.h"

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
static const int64_t *limit = &memlock;

static void summary(struct ni_text *out, const struct ni_view *view)
{
    ni_put_summary(out, view, limit);
}

static void test_summary_rdma(void **state)
{
    (void)state;
    assert_string_equal(written(summary),
                        "auto-detected RDMA over RoCE, 2 ports; HCAs given by PCIDEVICE_* (SR-IOV "
                        "device plugin); memlock unlimited; NCCL_IB_DISABLE=0 "
                        "NCCL_IB_HCA==mlx5_6:1,mlx5_10:1 NCCL_IB_GID_INDEX=3 "
                        "NCCL_SOCKET_IFNAME=eth0 (user) NCCL_NET_GDR_LEVEL=PHB (nccl.conf)");
    node.plan.setting[2].origin = NI_LEFT_UNSET;
    ni_copy(node.plan.setting[3].value, NI_VALUE, "eth0\n");
    node.inv.source = NI_SRC_UVERBS;
    node.plan.n_chosen = 1;
    memlock = 65537;
    assert_string_equal(
        written(summary),
        "auto-detected RDMA over RoCE, 1 port; HCAs found by their open device nodes; "
        "memlock 65537 B; NCCL_IB_DISABLE=0 NCCL_IB_HCA==mlx5_6:1,mlx5_10:1 "
        "NCCL_SOCKET_IFNAME=eth0\\x0a (user) NCCL_NET_GDR_LEVEL=PHB (nccl.conf)");
    memlock = NI_UNLIMITED;
}

static void test_summary_others(void **state)
{
    (void)state;
    node.plan.n_setting = 0;
    node.plan.transport = NI_NET_OTHER;
    memlock = -1;
    setting("NCCL_NET_PLUGIN", NI_FROM_USER, "net.transport", "ofi", "");
    setting("UCX_NET_DEVICES", NI_FROM_RULE, "lib.ucx", "mlx5_6:1", "");
    assert_string_equal(
        written(summary),
        "auto-detected another network plugin, left alone; HCAs given by PCIDEVICE_* "
        "(SR-IOV device plugin); memlock unknown; NCCL_NET_PLUGIN=ofi (user)");
    limit = NULL;
    assert_string_equal(written(summary),
                        "auto-detected another network plugin, left alone; HCAs given by "
                        "PCIDEVICE_* (SR-IOV device plugin); NCCL_NET_PLUGIN=ofi (user)");
    limit = &memlock;
    memlock = NI_UNLIMITED;
}

static void finding_text(struct ni_text *out, const struct ni_view *view)
{
    ni_put_finding(out, &view->findings->at[0]);
}

static void finding_json(struct ni_text *out, const struct ni_view *view)
{
    struct ni_json j = ni_json_on(out, NI_JSON_LINE);

    ni_json_finding(&j, &view->findings->at[0]);
}

static void test_finding(void **state)
{
    char want[512];
    struct ni_text hint = NI_TEXT(NI_FINDING_HINT);
    (void)state;
    ni_put_hint(&hint, &(struct ni_finding){.id = NI_F_HCA_PORT_DOWN});
    snprintf(want, sizeof(want),
             "warning: hca.port.down: mlx5_8/1: port is DOWN, not ACTIVE; left out. %s\n",
             hint.buf);
    assert_string_equal(written(finding_text), want);
    const char *text = written(finding_json);
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
    json_t *j = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_string_equal(text_at(j, "id"), "hca.port.down");
    assert_string_equal(text_at(j, "severity"), "warning");
    assert_string_equal(text_at(j, "subject"), "mlx5_8/1");
    assert_string_equal(text_at(j, "hint"), hint.buf);
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
