/* SPDX-License-Identifier: Apache-2.0 */
/* Trials as text and JSON. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>
#include <cmocka.h>

#include "findings/pod.h"
#include "findings/verbs.h"
#include "lib/report_node.h"
#include "nccl_init/allocation.h"
#include "nccl_init/findings.h"
#include "nccl_init/ip.h"
#include "nccl_init/known.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "print/words.h"
#include "rail/step.h"
#include "rail/task.h"
#include "selftest/image.h"
#include "selftest/report.h"
#include "selftest/trials.h"

static struct ni_trials trials;
static struct ni_image_trial image;
static struct ni_selftest all;

static struct ni_rail_task *trial(const char *name, enum ni_pair_step step)
{
    struct ni_rail_task *t = &trials.task[trials.n++];

    ni_copy(t->rail.hca, sizeof(t->rail.hca), name);
    t->rail.port = 1;
    t->rail.link = NI_LINK_ROCE;
    t->rail.index = 3;
    t->result[NI_ROLE_INITIATOR].step = step;
    return t;
}

static void seen(struct ni_rail_task *t, const char *ip, enum ni_known dmabuf)
{
    (void)ni_parse_ipv4(ni_span_of(ip), t->own[NI_ROLE_INITIATOR].gid);
    t->max_qp = 131072;
    t->rail.v2 = true;
    t->dmabuf = dmabuf;
}

static void measured(struct ni_rail_task *t)
{
    t->result[NI_ROLE_INITIATOR].latency_ns = 2149;
    t->result[NI_ROLE_INITIATOR].write_mbps = 197089;
    t->result[NI_ROLE_INITIATOR].read_mbps = 3195;
}

/* One of each kind. */
static void put_selftest(struct ni_text *out, const struct ni_view *view)
{
    ni_put_selftest(out, view, &all);
}

static void put_selftest_json(struct ni_text *out, const struct ni_view *view)
{
    ni_put_selftest_json(out, view, &all);
}

static int setup(void **state)
{
    struct ni_rail_task *t;

    (void)state;
    build_node();
    memset(&node.findings, 0, sizeof(node.findings));
    memset(&trials, 0, sizeof(trials));
    memset(&image, 0, sizeof(image));
    all = (struct ni_selftest){.ports = &trials};
    trials.size = 64 << 20;
    trials.bytes = 16 << 20;
    trials.passed = 1;
    trials.took_ms = 10093;
    t = trial("mlx5_6", NI_PAIR_DONE);
    seen(t, "10.0.103.6", NI_KNOWN);
    measured(t);
    t = trial("mlx5_10", NI_PAIR_REGISTER);
    t->dmabuf = NI_ABSENT;
    t->result[NI_ROLE_INITIATOR].err = ENOMEM;
    t = trial("mlx5_11", NI_PAIR_WRITE);
    seen(t, "10.0.106.7", NI_KNOWN);
    t->rail.index = 255;
    t->rail.v2 = false;
    t = trial("mlx5_12", NI_PAIR_OPEN);
    t->result[NI_ROLE_INITIATOR].err = 12345;
    t = trial("mlx5_13", NI_PAIR_DEVICE);
    t->rail.index = -1;
    t = trial("mlx4_0", NI_PAIR_READ);
    t->rail.port = 2;
    t->rail.link = NI_LINK_IB;
    t->rail.index = -1;
    t->dmabuf = NI_ABSENT;
    measured(t);
    t->result[NI_ROLE_INITIATOR].read_mbps = 0;
    t->result[NI_ROLE_INITIATOR].wc = 4;
    t = trial("mlx5_14", NI_PAIR_REGISTER);
    ni_copy(t->rail.untried, sizeof(t->rail.untried),
            "64 MiB to register, and only 8 MiB can be locked");
    t = trial("mlx5_15", NI_PAIR_REGISTER);
    ni_copy(t->rail.untried, sizeof(t->rail.untried),
            "64 MiB to register, and only 8 MiB can be locked");
    t = trial("efa_0", NI_PAIR_FIND);
    ni_copy(t->rail.untried, sizeof(t->rail.untried), "no provider");
    ni_report(&node.findings, NI_F_EXEC_PID1_NO_INIT, "PID 1", "it is `sh`, no init");
    ni_report(&node.findings, NI_F_VERBS_DMABUF, "mlx5_10/1", "no DMA-BUF");
    ni_report(&node.findings, NI_F_VERBS_MEMLOCK, "mlx5_10/1", "ibv_reg_mr of 64 MiB: ENOMEM");
    node.view.root = "/";
    return 0;
}

static const char text[] =
    "Self-test: 9 ports to try; HCAs given by PCIDEVICE_* (SR-IOV device plugin)\n"
    "  each port registers 64 MiB, then writes 16 MiB to itself and reads them back\n"
    "\n"
    "  PORT       GID                  WRITE Gb/s  READ Gb/s  LATENCY us  DMA-BUF  RESULT\n"
    "  mlx5_6/1   3 10.0.103.6 (v2)    197         3.1        2.1         yes      passed\n"
    "  mlx5_10/1  3                    -           -          -           no       failed: "
    "register\n"
    "  mlx5_11/1  255 10.0.106.7 (v1)  -           -          -           yes      failed: bulk "
    "writes\n"
    "  mlx5_12/1  3                    -           -          -           -        failed: open\n"
    "  mlx5_13/1  -                    -           -          -           -        failed: device\n"
    "  mlx4_0/2   by LID               197         -          2.1         no       failed: bulk "
    "reads\n"
    "  mlx5_14/1  3                    -           -          -           -        not tried: 64 "
    "MiB to register, and only 8 MiB can be locked\n"
    "  mlx5_15/1  3                    -           -          -           -        not tried: 64 "
    "MiB to register, and only 8 MiB can be locked\n"
    "  efa_0/1    3                    -           -          -           -        not tried: no "
    "provider\n"
    "\n"
    "Errors: the job fails, or silently loses RDMA\n"
    "  error: verbs.memlock: mlx5_10/1\n"
    "      ibv_reg_mr of 64 MiB: ENOMEM\n"
    "      User: `nccl-init selftest --size=1M` tests the ports within the limit. Cluster admin: "
    "set\n"
    "      memlock=-1:-1 in CRI-O's default_ulimits, or LimitMEMLOCK=infinity for containerd.\n"
    "\n"
    "Warnings: the job is slower, or may fail\n"
    "  warning: verbs.dmabuf.none: mlx5_10/1\n"
    "      no DMA-BUF\n"
    "      Cluster admin: load nvidia-peermem, or install an RDMA driver that supports DMA-BUF.\n"
    "      `nccl-init selftest --try=gpu` tries GPUDirect RDMA in the pod.\n"
    "\n"
    "1 of 9 ports passed in 10.09 s, 2 not tried: 64 MiB to register, and only 8 MiB can be "
    "locked; not tried: the image's libibverbs (--try=image), GPU memory (--try=gpu), the image's "
    "NCCL (--try=nccl)\n";

static void test_text(void **state)
{
    (void)state;
    assert_string_equal(written(put_selftest), text);
}

static void test_one_and_none(void **state)
{
    (void)state;
    trials.n = 1;
    trials.took_ms = 7;
    memset(&node.findings, 0, sizeof(node.findings));
    assert_non_null(strstr(written(put_selftest), "Self-test: 1 port to try; "));
    assert_non_null(strstr(written(put_selftest),
                           "\n1 of 1 port passed in 0.00 s; not tried: the image's "
                           "libibverbs (--try=image), GPU memory (--try=gpu), the image's NCCL "
                           "(--try=nccl)\n"));
    trials.n = 0;
    node.inv.source = NI_SRC_NONE;
    assert_string_equal(
        written(put_selftest),
        "Self-test: 0 ports to try; this pod was given no HCA\n\nNothing was tried.\n");
}

/* The image's libibverbs, alone and beside the ports. */
static void test_image(void **state)
{
    const char *out;

    (void)state;
    image.n = 2;
    image.passed = 1;
    image.hca[1] = 1;
    image.verdict[0] = NI_IMAGE_PASSED;
    image.verdict[1] = NI_IMAGE_FAILED;
    (void)ni_copy(image.step[1], sizeof(image.step[1]), "find");
    (void)ni_copy(image.library, sizeof(image.library), "/usr/lib/libibverbs.so.1.14.44.0");
    all.image = &image;
    trials.n = 1;
    memset(&node.findings, 0, sizeof(node.findings));
    out = written(put_selftest);
    assert_non_null(strstr(out, "\nThe image's libibverbs, /usr/lib/libibverbs.so.1.14.44.0\n"
                                "  HCA      RESULT\n"
                                "  mlx5_6   passed\n"
                                "  mlx5_10  failed: find\n"));
    assert_non_null(strstr(out,
                           "\n1 of 1 port passed in 10.09 s; the image's libibverbs drives 1 of "
                           "2 HCAs; not tried: GPU memory (--try=gpu), the image's NCCL "
                           "(--try=nccl)\n"));
    (void)ni_copy(image.untried, sizeof(image.untried), "the deadline");
    all.ports = NULL;
    out = written(put_selftest);
    assert_non_null(strstr(out, "Self-test: 2 HCAs to try; "));
    assert_non_null(
        strstr(out, "\nthe image's libibverbs drives 1 of 2 HCAs; not tried: the deadline; "
                    "not tried: the ports (--try=ports), GPU memory (--try=gpu), the image's "
                    "NCCL (--try=nccl)\n"));
    json_t *j = json_loads(written(put_selftest_json), JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(j);
    assert_null(json_object_get(j, "ports"));
    assert_int_equal(json_array_size(json_object_get(json_object_get(j, "image"), "hcas")), 2);
    json_decref(j);
}

static void test_colour(void **state)
{
    const char *out;

    (void)state;
    node.view.colour = true;
    out = written(put_selftest);
    assert_non_null(strstr(out, "\033[32mmlx5_6/1"));
    assert_non_null(strstr(out, "\033[31mmlx5_10/1"));
    assert_non_null(strstr(out, "\033[31mmlx5_11/1"));
}

/* A name that sysfs should never give. */
static void test_hostile_name(void **state)
{
    (void)state;
    struct ni_rail *rail = &trials.task[0].rail;
    ni_copy(rail->hca, sizeof(rail->hca), "mlx\n\033[2J");
    assert_null(strstr(written(put_selftest), "\033"));
    assert_null(strstr(written(put_selftest_json), "\033"));
    json_t *j = json_loads(written(put_selftest_json), JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(j);
    json_decref(j);
}

/* ---- JSON ---- */

/* i, s and so on, "b" for true and false, "0" for null. */
static const char *type(const json_t *v)
{
    static const char *const names[] = {
        [JSON_OBJECT] = "o", [JSON_ARRAY] = "a", [JSON_STRING] = "s", [JSON_INTEGER] = "i",
        [JSON_REAL] = "?",   [JSON_TRUE] = "b",  [JSON_FALSE] = "b",  [JSON_NULL] = "0",
    };

    return names[json_typeof(v)];
}

/* Every key with its type. */
static const char *types(const json_t *object)
{
    static char buf[1024];
    struct ni_text t = ni_text_on(buf, sizeof(buf));
    const char *key;
    json_t *v;

    json_object_foreach((json_t *)(uintptr_t)object, key, v)
    {
        ni_putf(&t, "%s%s:%s", t.len ? " " : "", key, type(v));
    }
    assert_false(t.cut);
    return buf;
}

static json_t *parsed(ni_report_fn *put)
{
    json_error_t error;
    json_t *j = json_loads(written(put), JSON_REJECT_DUPLICATES, &error);

    if (!j)
        fail_msg("%s", error.text);
    return j;
}

static void assert_text(const json_t *object, const char *key, const char *want)
{
    assert_string_equal(json_string_value(json_object_get(object, key)), want);
}

static void assert_int(const json_t *object, const char *key, json_int_t want)
{
    const json_t *v = json_object_get(object, key);

    assert_true(json_is_integer(v));
    assert_int_equal(json_integer_value(v), want);
}

static void test_json(void **state)
{
    static const char port_types[] = "name:s port:i result:s step:s errno:0 max_qp:i max_mr:0 "
                                     "wc_status:0 dmabuf:b gid_index:i gid:s "
                                     "roce_v2:b write_mbps:i read_mbps:i latency_ns:i";

    (void)state;
    json_t *j = parsed(put_selftest_json);
    const json_t *port = json_array_get(json_object_get(j, "ports"), 0);
    assert_string_equal(types(j),
                        "schema:i verdict:s size:i bytes:i took_ms:i passed:i ports:a findings:a");
    assert_int(j, "schema", NI_JSON_SCHEMA);
    assert_int(j, "size", 64 << 20);
    assert_int(j, "took_ms", 10093);
    assert_int(j, "passed", 1);
    assert_int_equal(json_array_size(json_object_get(j, "ports")), 9);
    assert_int_equal(json_array_size(json_object_get(j, "findings")), 3);
    assert_string_equal(types(port), port_types);
    assert_text(port, "name", "mlx5_6");
    assert_text(port, "result", "passed");
    assert_true(json_is_true(json_object_get(port, "roce_v2")));
    assert_true(json_is_true(json_object_get(port, "dmabuf")));
    assert_text(port, "step", "done");
    assert_text(port, "gid", "10.0.103.6");
    assert_int(port, "write_mbps", 197089);
    assert_int(port, "latency_ns", 2149);
    json_decref(j);
}

static void test_json_failed(void **state)
{
    (void)state;
    json_t *j = parsed(put_selftest_json), *ports = json_object_get(j, "ports"), *p;
    p = json_array_get(ports, 1);
    assert_text(p, "errno", "ENOMEM");
    assert_text(p, "step", "register");
    p = json_array_get(ports, 2);
    assert_text(p, "result", "failed");
    assert_true(json_is_false(json_object_get(p, "roce_v2")));
    p = json_array_get(ports, 3);
    assert_text(p, "result", "failed");
    assert_string_equal(types(p), "name:s port:i result:s step:s errno:0 max_qp:0 max_mr:0 "
                                  "wc_status:0 dmabuf:0 gid_index:i gid:0 "
                                  "roce_v2:0 write_mbps:0 read_mbps:0 latency_ns:0");
    p = json_array_get(ports, 4);
    assert_text(p, "result", "failed");
    assert_true(json_is_null(json_object_get(p, "gid_index")));
    p = json_array_get(ports, 5);
    assert_int(p, "port", 2);
    assert_int(p, "wc_status", 4);
    p = json_array_get(ports, 6);
    assert_text(p, "result", "not tried");
    json_decref(j);
}

static void test_json_none(void **state)
{
    (void)state;
    trials.n = 0;
    memset(&node.findings, 0, sizeof(node.findings));
    json_t *j = parsed(put_selftest_json);
    assert_int_equal(json_array_size(json_object_get(j, "ports")), 0);
    assert_int_equal(json_array_size(json_object_get(j, "findings")), 0);
    json_decref(j);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup(f, setup)
    const struct CMUnitTest tests[] = {
        CASE(test_text),        CASE(test_one_and_none), CASE(test_image),
        CASE(test_colour),      CASE(test_hostile_name), CASE(test_json),
        CASE(test_json_failed), CASE(test_json_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
