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
#include "findings/pod.h"
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
static struct ni_who who;

static void put_doctor(struct ni_text *out, const struct ni_view *view)
{
    ni_put_doctor(out, view, &who, &diagnosis, NULL);
}

static void put_doctor_json(struct ni_text *out, const struct ni_view *view)
{
    ni_put_doctor_json(out, view, &who, &diagnosis, NULL);
}

static int setup(void **state)
{
    (void)state;
    struct ni_self *self = &node.inv.self;
    struct ni_drivers *d = &node.inv.drivers;
    build_node();
    who = (struct ni_who){.node = "gpu-7", .host = "trainer-0", .time = "2026-11-23 08:30Z"};
    diagnosis = (struct ni_diagnosis){.at = {{&ni_check_node, NI_CHECK_OK},
                                             {&ni_check_port, NI_CHECK_FOUND},
                                             {&ni_check_cgroup, NI_CHECK_UNKNOWN},
                                             {&ni_check_imex, NI_CHECK_IDLE},
                                             {&ni_check_mtu, NI_CHECK_OK}},
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
    assert_non_null(strstr(out, "\n  7 more findings are not shown\n"));
    assert_non_null(strstr(out, "\033["));
    node.view.root = "a\033[31mb";
    node.view.colour = false;
    assert_null(strchr(written(put_doctor), '\033'));
}

static void put_brief(struct ni_text *out, const struct ni_view *view)
{
    ni_put_doctor_brief(out, view, &who);
}

/* Who, the verdict, the worst first with its advice, what is good with the value seen, and what
   cannot be seen. */
static void test_layout(void **state)
{
    (void)state;
    node.view.root = "/";
    const char *out = written(put_doctor);
    assert_true(ni_has_prefix(out, "nccl-init "));
    assert_non_null(strstr(out, "  node gpu-7  pod trainer-0  2026-11-23 08:30Z\n"
                                "NOT READY: 1 error, 1 warning, 1 info (3 HCAs, "));
    const char *error = strstr(out, "\n  error   /dev/shm       ");
    const char *warning = strstr(out, "\n  warning links          ");
    assert_non_null(error);
    assert_non_null(
        strstr(error, "  shm.default  /dev/shm\n      Why: 64 MiB\n      Fix (user): "));
    assert_non_null(strstr(error, "\n      More: nccl-init explain shm.default\n"));
    assert_true(warning > error);
    assert_non_null(strstr(warning, "\n      Fix (cluster admin): "));
    assert_non_null(strstr(warning, "\n  ok      device nodes   "));
    assert_non_null(strstr(warning, "\n  -       not visible from inside the pod: RDMA cgroup\n"));
    for (const char *c = out; *c; c++)
        assert_true(*c == '\n' || (*c >= ' ' && *c <= '~'));
    node.view.utf8 = true;
    assert_non_null(strstr(written(put_doctor), "\n  \xe2\x9c\x97 /dev/shm"));
    assert_non_null(strstr(written(put_doctor), "\n  \xe2\x9c\x93 device nodes"));
    who.node = NULL;
    assert_non_null(strstr(written(put_doctor), "  host trainer-0  2026"));
}

/* Findings that say the same are one block, one line of --brief, and one of the count. */
static void test_counts(void **state)
{
    (void)state;
    ni_report(&node.findings, NI_F_SHM_DEFAULT, "/dev/shm2", "64 MiB");
    const char *out = written(put_brief);
    assert_true(ni_has_prefix(out, "NOT READY: 1 error, 1 warning, 1 info\n"
                                   "error: shm.default: /dev/shm, /dev/shm2: 64 MiB\n"
                                   "warning: hca.port.down: mlx5_8/1: port"));
    who.ready = true;
    node.findings.n = 0;
    node.plan.transport = NI_NET_RDMA;
    node.plan.n_chosen = 1;
    assert_string_equal(written(put_brief), "READY: no findings\n");
    node.plan.n_chosen = 0;
    assert_string_equal(written(put_brief), "READY for TCP only: no findings\n");
    node.plan.transport = NI_NET_TCP;
    assert_string_equal(written(put_brief), "READY for TCP only: no findings\n");
    who.ready = false;
    assert_string_equal(written(put_brief), "NOT READY: no findings\n");
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

static void check_verdict(const char *want)
{
    json_t *j = parse();

    assert_string_equal(text_at(j, "verdict"), want);
    json_decref(j);
}

/* The verdict of the JSON is that of the text. */
static void test_json_verdict(void **state)
{
    (void)state;
    check_verdict("not ready");
    who.ready = true;
    node.plan.transport = NI_NET_RDMA;
    node.plan.n_chosen = 1;
    check_verdict("ready");
    node.plan.port[0].lost = true;
    check_verdict("fewer rails");
    assert_non_null(strstr(written(put_brief), "READY with 1 of 2 rails"));
    node.plan.n_chosen = 0;
    check_verdict("tcp only");
    node.plan.transport = NI_NET_TCP;
    check_verdict("tcp only");
    node.plan.transport = NI_NET_OTHER;
    check_verdict("ready");
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
        cmocka_unit_test_setup(test_layout, setup),
        cmocka_unit_test_setup(test_counts, setup),
        cmocka_unit_test_setup(test_json_verdict, setup),
        cmocka_unit_test_setup(test_json_findings, setup),
        cmocka_unit_test_setup(test_json_facts, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
