/* SPDX-License-Identifier: Apache-2.0 */
/* doctor as JSON, of a node built by hand; as text what the goldens do not show: colour, findings that
   found no room. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>
#include <cmocka.h>

#include "doctor/checks.h"
#include "doctor/report.h"
#include "lib/report_node.h"
#include "nccl_init/base.h"
#include "nccl_init/gpu.h"
#include "nccl_init/known.h"
#include "nccl_init/number.h"
#include "nccl_init/pci.h"
#include "nccl_init/process.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "print/words.h"

static struct ni_diagnosis diagnosis;

static void put_doctor(struct ni_text *out, const struct ni_view *view)
{
    ni_put_doctor(out, view, &diagnosis, NULL);
}

static void put_doctor_json(struct ni_text *out, const struct ni_view *view)
{
    ni_put_doctor_json(out, view, &diagnosis, NULL);
}

static int setup(void **state)
{
    (void)state;
    struct ni_self *self = &node.inv.self;
    struct ni_drivers *d = &node.inv.drivers;
    build_node();
    diagnosis = (struct ni_diagnosis){.at = {{"hca.node", NI_CHECK_OK},
                                             {"hca.port", NI_CHECK_FOUND},
                                             {"rdma.cgroup", NI_CHECK_UNKNOWN},
                                             {"gpu.imex", NI_CHECK_IDLE},
                                             {"rail.mtu", NI_CHECK_OK}},
                                      .n = 5};
    ni_copy(self->kernel, sizeof(self->kernel), "5.14.0");
    ni_copy(d->nvidia_version, sizeof(d->nvidia_version), "570.124.06");
    node.inv.netns_mode = NI_NETNS_SHARED;
    node.inv.for_doctor = true;
    d->ofed = NI_KNOWN;
    node.inv.hca[0].iommu = (struct ni_iommu){NI_KNOWN, "identity"};
    self->memlock_soft = known(NI_UNLIMITED);
    return 0;
}

static void test_dropped_and_colour(void **state)
{
    (void)state;
    node.findings.dropped = 7;
    node.view.colour = true;
    const char *out = written(put_doctor);
    assert_non_null(strstr(out, "\n7 more findings are not shown\n"));
    assert_non_null(strstr(out, "\033["));
    node.view.root = "a\033[31mb";
    node.view.colour = false;
    assert_null(strchr(written(put_doctor), '\033'));
}

static json_t *parse(void)
{
    json_error_t err;
    json_t *j = json_loads(written(put_doctor_json), JSON_REJECT_DUPLICATES, &err);
    if (!j)
        fail_msg("%s", err.text);
    return j;
}

static const char *text_at(json_t *j, const char *key)
{
    return json_string_value(json_object_get(j, key));
}

static int64_t int_at(json_t *j, const char *key)
{
    json_t *v = json_object_get(j, key);
    assert_true(json_is_integer(v));
    return json_integer_value(v);
}

static void test_json_findings(void **state)
{
    static const char *const ids[] = {"shm.default", "hca.port.down", "alloc.not-rdma"};
    json_t *j = parse(), *findings = json_object_get(j, "findings");
    json_t *checks = json_object_get(j, "checks");
    (void)state;
    assert_int_equal(int_at(j, "schema"), NI_JSON_SCHEMA);
    assert_string_equal(text_at(j, "root"), "h100.tree");
    assert_int_equal(int_at(j, "errors"), 1);
    assert_int_equal(int_at(j, "warnings"), 1);
    assert_int_equal(int_at(j, "infos"), 1);
    assert_int_equal(json_array_size(findings), NI_COUNT(ids));
    for (size_t i = 0; i < NI_COUNT(ids); i++) /* worst first */
        assert_string_equal(text_at(json_array_get(findings, i), "id"), ids[i]);
    assert_non_null(text_at(json_array_get(findings, 0), "hint"));
    assert_int_equal(json_array_size(checks), 5);
    assert_string_equal(text_at(json_array_get(checks, 1), "outcome"), "findings");
    assert_string_equal(text_at(json_array_get(checks, 2), "outcome"), "unknown");
    assert_string_equal(text_at(json_array_get(checks, 3), "outcome"), "idle");
    json_decref(j);
}

static void test_json_facts(void **state)
{
    json_t *j = parse();
    json_t *hcas = json_object_get(j, "hcas"), *first = json_array_get(hcas, 0);
    json_t *process = json_object_get(j, "process");
    (void)state;
    assert_int_equal(json_array_size(hcas), 3); /* the pod's */
    assert_string_equal(text_at(first, "name"), "mlx5_6");
    assert_string_equal(text_at(first, "iommu"), "identity");
    assert_true(json_is_null(json_object_get(json_array_get(hcas, 1), "iommu")));
    assert_true(
        json_is_true(json_object_get(json_array_get(json_object_get(first, "ports"), 0), "kept")));
    assert_int_equal(json_array_size(json_object_get(j, "gpus")), 3);
    assert_string_equal(text_at(json_object_get(j, "node"), "rdma_netns"), "shared");
    assert_true(json_is_true(json_object_get(json_object_get(j, "node"), "nvidia_open")));
    assert_int_equal(json_integer_value(json_object_get(process, "memlock_soft")), -1);
    json_decref(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_dropped_and_colour, setup),
        cmocka_unit_test_setup(test_json_findings, setup),
        cmocka_unit_test_setup(test_json_facts, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
