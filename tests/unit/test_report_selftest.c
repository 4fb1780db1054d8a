/* SPDX-License-Identifier: Apache-2.0 */
/* Trials as text and JSON, for selftest and for doctor --probe. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>
#include <cmocka.h>

#include "test_report_node.h"

static struct ni_trials trials;
static struct ni_diagnosis diagnosis;

static struct ni_trial *trial(const char *name, enum ni_step step, enum ni_trial_end end)
{
    struct ni_trial *t = &trials.at[trials.n++];
    ni_copy(t->hca, sizeof(t->hca), name);
    t->port = 1;
    t->step = step;
    t->end = end;
    t->memlock = NI_UNLIMITED;
    t->bad_at = -1;
    return t;
}

static void roce(struct ni_trial *t, int index, const char *ip)
{
    t->roce = true;
    t->index = index;
    (void)ni_parse_ipv4(ni_span_of(ip), t->gid);
    memcpy(t->seen, t->gid, NI_GID_BYTES);
    t->seen_v2 = true;
}

static void device(struct ni_trial *t, enum ni_known dmabuf)
{
    ni_copy(t->device.firmware, sizeof(t->device.firmware), "28.37.1014");
    t->device.max_mr_size = UINT64_MAX;
    t->device.max_qp = 131072;
    t->device.max_cq = 16777216;
    t->device.max_mr = 16777215;
    t->device.dmabuf = dmabuf;
    t->n_gid = 4;
}

static void measured(struct ni_trial *t)
{
    t->register_us = 15300;
    t->latency_ns = 2149;
    t->write_us = 681;
    t->read_us = 42000;
}

/* One of each kind. */
static int setup(void **state)
{
    (void)state;
    struct ni_trial *t;
    build_node();
    memset(&node.findings, 0, sizeof(node.findings));
    memset(&trials, 0, sizeof(trials));
    trials.size = NI_TRIAL_SIZE;
    trials.bytes = NI_TRIAL_BYTES;
    trials.limit_ms = 10000;
    trials.took_ms = 10093;
    t = trial("mlx5_6", NI_STEP_DONE, NI_TRIAL_ENDED);
    roce(t, 3, "10.0.103.6");
    device(t, NI_KNOWN);
    measured(t);
    t = trial("mlx5_10", NI_STEP_REGISTER, NI_TRIAL_ENDED);
    roce(t, 3, "10.0.105.7");
    device(t, NI_ABSENT);
    t->err = ENOMEM;
    t->memlock = 8 << 20;
    t = trial("mlx5_11", NI_STEP_WRITE, NI_TRIAL_KILLED);
    roce(t, 255, "10.0.106.7");
    t->seen_v2 = false;
    device(t, NI_KNOWN);
    t->register_us = 900;
    t->signal = SIGKILL;
    t = trial("mlx5_12", NI_STEP_OPEN, NI_TRIAL_DIED);
    roce(t, 3, "10.0.107.7");
    memset(t->seen, 0, sizeof(t->seen));
    t->signal = SIGSEGV;
    t = trial("mlx5_13", NI_STEP_DEVICE, NI_TRIAL_STUCK);
    t->roce = true;
    t->index = -1;
    t->memlock = -1;
    t = trial("mlx4_0", NI_STEP_READ, NI_TRIAL_ENDED);
    t->port = 2;
    t->index = -1;
    device(t, NI_ABSENT);
    measured(t);
    t->read_us = 0;
    t->gid_err = EOPNOTSUPP;
    t->wc_status = 4;
    t->vendor_err = 0;
    ni_report(&node.findings, NI_F_EXEC_PID1_NO_INIT, "PID 1", "it is `sh`, no init");
    ni_report(&node.findings, NI_F_VERBS_DMABUF, "mlx5_10/1", "no DMA-BUF");
    ni_report(&node.findings, NI_F_VERBS_MEMLOCK, "mlx5_10/1", "ibv_reg_mr of 64 MiB: ENOMEM");
    node.view.trials = &trials;
    node.view.root = "/";
    return 0;
}

static const char text[] =
    "Self-test: 6 ports to try; HCAs given by PCIDEVICE_* (SR-IOV device plugin)\n"
    "  each port registers 64 MiB, then writes 16 MiB to itself and reads them back\n"
    "\n"
    "  PORT       GID                  REGISTERED  WRITE     READ       LATENCY  DMA-BUF  RESULT\n"
    "  mlx5_6/1   3 10.0.103.6 (v2)    15 ms       197 Gb/s  3.19 Gb/s  2.1 us   yes      passed\n"
    "  mlx5_10/1  3 10.0.105.7 (v2)    -           -         -          -        no       FAILED: "
    "register\n"
    "  mlx5_11/1  255 10.0.106.7 (v1)  900 us      -         -          -        yes      HANGS: "
    "write\n"
    "  mlx5_12/1  3 10.0.107.7         -           -         -          -        -        DIED: "
    "open\n"
    "  mlx5_13/1  -                    -           -         -          -        -        HANGS: "
    "device\n"
    "  mlx4_0/2   by LID               15 ms       197 Gb/s  -          2.1 us   no       FAILED: "
    "read\n"
    "\n"
    "Errors: the job fails, or silently loses RDMA or GPUDirect\n"
    "  error: verbs.memlock: mlx5_10/1\n"
    "      ibv_reg_mr of 64 MiB: ENOMEM\n"
    "      User: start the job with `nccl-init -- COMMAND`, with the right to raise the limit. "
    "Cluster\n"
    "      admin: memlock=-1:-1 in CRI-O's default_ulimits, LimitMEMLOCK=infinity for containerd.\n"
    "\n"
    "Warnings: the job may be slow, or fail later\n"
    "  warning: verbs.dmabuf.none: mlx5_10/1\n"
    "      no DMA-BUF\n"
    "      Cluster admin: load nvidia-peermem, or install an RDMA driver that has DMA-BUF.\n"
    "\n"
    "1 of 6 ports passed in 10.09 s\n";

static void test_text(void **state)
{
    (void)state;
    assert_string_equal(written(ni_put_selftest), text);
}

static void test_one_and_none(void **state)
{
    (void)state;
    trials.n = 1;
    trials.took_ms = 7;
    memset(&node.findings, 0, sizeof(node.findings));
    assert_non_null(strstr(written(ni_put_selftest), "Self-test: 1 port to try; "));
    assert_non_null(strstr(written(ni_put_selftest), "\n1 of 1 port passed in 0.00 s\n"));
    trials.n = 0;
    node.inv.source = NI_SRC_NONE;
    assert_string_equal(
        written(ni_put_selftest),
        "Self-test: no port to try; this pod was given no HCA\n\nNothing was tried.\n");
}

/* Odd sizes, and what is too fast or too slow for its column. */
static void test_numbers(void **state)
{
    static const struct {
        int64_t bytes, us;
        const char *words;
    } cases[] = {
        {INT64_C(1) << 40, 22000000, "  399 Gb/s  "},
        {INT64_C(1) << 40, 1, "  8796093022 Gb/s  "},
        {1, 1000000, "  0.00 Gb/s  "},
        {1250000, 1001, "  9.99 Gb/s  "},
        {1250000, 1000, "  10 Gb/s  "},
    };
    (void)state;
    trials.n = 1;
    for (unsigned i = 0; i < NI_COUNT(cases); i++) {
        trials.bytes = cases[i].bytes;
        trials.at[0].write_us = cases[i].us;
        if (!strstr(written(ni_put_selftest), cases[i].words))
            fail_msg("%s lacks %s", written(ni_put_selftest), cases[i].words);
    }
    trials.at[0].register_us = 9999;
    trials.at[0].latency_ns = 1234567;
    assert_non_null(strstr(written(ni_put_selftest), "  9999 us  "));
    assert_non_null(strstr(written(ni_put_selftest), "  1234.5 us  "));
    trials.at[0].register_us = 0; /* faster than the clock */
    assert_non_null(strstr(written(ni_put_selftest), "(v2)  0 us  "));
}

static void test_colour(void **state)
{
    const char *out;
    (void)state;
    node.view.colour = true;
    out = written(ni_put_selftest);
    assert_non_null(strstr(out, "\033[32mmlx5_6/1"));
    assert_non_null(strstr(out, "\033[31mmlx5_10/1"));
    assert_non_null(strstr(out, "\033[31mmlx5_11/1"));
}

/* A name that sysfs should never give. */
static void test_hostile_name(void **state)
{
    (void)state;
    ni_copy(trials.at[0].hca, sizeof(trials.at[0].hca), "mlx\n\033[2J");
    ni_copy(trials.at[0].device.firmware, sizeof(trials.at[0].device.firmware), "\033[2J\xff");
    assert_null(strstr(written(ni_put_selftest), "\033"));
    assert_null(strstr(written(ni_put_selftest_json), "\033"));
    node.view.diagnosis = &diagnosis;
    assert_null(strstr(written(ni_put_doctor), "\033"));
    json_t *j = json_loads(written(ni_put_selftest_json), JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(j);
    json_decref(j);
}

/* ---- JSON ---- */

/* Every key with its type: s, i, b for true and false, 0 for null, o. */
static const char *types(const json_t *object)
{
    static char buf[1024];
    struct ni_text t = ni_text_on(buf, sizeof(buf));
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)(uintptr_t)object, key, v)
    {
        ni_putf(&t, "%s%s:%s", t.len ? " " : "", key,
                json_is_string(v)    ? "s"
                : json_is_integer(v) ? "i"
                : json_is_boolean(v) ? "b"
                : json_is_null(v)    ? "0"
                : json_is_object(v)  ? "o"
                : json_is_array(v)   ? "a"
                                     : "?");
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
    (void)state;
    json_t *j = parsed(ni_put_selftest_json);
    const json_t *port = json_array_get(json_object_get(j, "ports"), 0);
    const json_t *dev = json_object_get(port, "device");
    assert_string_equal(types(j), "schema:i size:i bytes:i took_ms:i tried:i passed:i ports:a "
                                  "findings:a");
    assert_int(j, "schema", NI_JSON_SCHEMA);
    assert_int(j, "size", 64 << 20);
    assert_int(j, "bytes", 16 << 20);
    assert_int(j, "took_ms", 10093);
    assert_int(j, "tried", 6);
    assert_int(j, "passed", 1);
    assert_int_equal(json_array_size(json_object_get(j, "ports")), 6);
    assert_int_equal(json_array_size(json_object_get(j, "findings")), 3);
    assert_string_equal(
        types(port),
        "name:s port:i tried:b passed:b step:s end:s errno:0 signal:0 device:o gid_index:i "
        "gid:s gid_sysfs:s roce_v2:b memlock:s wc_status:0 vendor_err:0 "
        "register_us:i write_mbps:i read_mbps:i latency_ns:i");
    assert_text(port, "name", "mlx5_6");
    assert_true(json_is_true(json_object_get(port, "passed")));
    assert_true(json_is_true(json_object_get(port, "roce_v2")));
    assert_text(port, "step", "done");
    assert_text(port, "end", "ended");
    assert_text(port, "gid", "10.0.103.6");
    assert_text(port, "gid_sysfs", "10.0.103.6");
    assert_text(port, "memlock", "unlimited");
    assert_int(port, "gid_index", 3);
    assert_int(port, "register_us", 15300);
    assert_int(port, "write_mbps", 197089);
    assert_int(port, "read_mbps", 3195);
    assert_int(port, "latency_ns", 2149);
    assert_string_equal(types(dev),
                        "firmware:s max_qp:i max_cq:i max_mr:i max_mr_size:s gids:i dmabuf:b");
    assert_text(dev, "max_mr_size", "unlimited");
    assert_int(dev, "max_cq", 16777216);
    assert_int(dev, "gids", 4);
    assert_true(json_is_true(json_object_get(dev, "dmabuf")));
    json_decref(j);
}

static void test_json_failed(void **state)
{
    (void)state;
    trials.at[1].device.max_mr_size = (uint64_t)INT64_MAX;
    trials.at[3].err = 12345;
    json_t *j = parsed(ni_put_selftest_json), *ports = json_object_get(j, "ports"), *p;
    p = json_array_get(ports, 1);
    assert_text(p, "errno", "ENOMEM");
    assert_text(p, "step", "register");
    assert_int(p, "memlock", 8 << 20);
    assert_int(json_object_get(p, "device"), "max_mr_size", INT64_MAX);
    assert_true(json_is_null(json_object_get(p, "write_mbps")));
    assert_true(json_is_null(json_object_get(p, "register_us")));
    p = json_array_get(ports, 2);
    assert_text(p, "end", "killed");
    assert_int(p, "signal", SIGKILL);
    assert_true(json_is_false(json_object_get(p, "roce_v2")));
    p = json_array_get(ports, 3);
    assert_text(p, "end", "died");
    assert_int(p, "signal", SIGSEGV);
    assert_int(p, "errno", 12345);
    assert_string_equal(
        types(p),
        "name:s port:i tried:b passed:b step:s end:s errno:i signal:i device:0 gid_index:i "
        "gid:0 gid_sysfs:s roce_v2:0 memlock:s wc_status:0 vendor_err:0 "
        "register_us:0 write_mbps:0 read_mbps:0 latency_ns:0");
    p = json_array_get(ports, 4);
    assert_text(p, "end", "stuck");
    assert_true(json_is_null(json_object_get(p, "gid_index")));
    assert_true(json_is_null(json_object_get(p, "memlock")));
    p = json_array_get(ports, 5);
    assert_int(p, "port", 2);
    assert_int(p, "wc_status", 4);
    assert_int(p, "vendor_err", 0);
    assert_true(json_is_null(json_object_get(p, "gid_index")));
    assert_true(json_is_null(json_object_get(p, "read_mbps")));
    assert_true(json_is_null(json_object_get(json_object_get(p, "device"), "gids")));
    assert_true(json_is_false(json_object_get(json_object_get(p, "device"), "dmabuf")));
    json_decref(j);
}

static void test_json_none(void **state)
{
    (void)state;
    trials.n = 0;
    memset(&node.findings, 0, sizeof(node.findings));
    json_t *j = parsed(ni_put_selftest_json);
    assert_int_equal(json_array_size(json_object_get(j, "ports")), 0);
    assert_int_equal(json_array_size(json_object_get(j, "findings")), 0);
    assert_int(j, "tried", 0);
    json_decref(j);
}

/* ---- doctor --probe ---- */

static void probes(void)
{
    trials.probe = true;
    for (unsigned i = 0; i < trials.n; i++)
        trials.at[i].roce = false; /* not looked at */
    trials.at[1].step = NI_STEP_DONE;
    trials.at[1].err = 0;
    trials.at[2].end = NI_TRIAL_ENDED;
    trials.at[2].step = NI_STEP_OPEN;
    trials.at[2].err = EPERM;
    trials.at[2].signal = 0;
    trials.at[2].device.dmabuf = NI_UNSET;
    trials.at[5].step = NI_STEP_DONE;
    diagnosis = (struct ni_diagnosis){
        .at = {{"hca.node", NI_CHECK_OK}, {"probe.device", NI_CHECK_FOUND}}, .n = 2};
    node.view.diagnosis = &diagnosis;
}

static const char probe_text[] =
    "\nWhat the devices say (libibverbs)\n"
    "  HCA      FIRMWARE    QPS     CQS       MRS       GIDS  DMA-BUF  RESULT\n"
    "  mlx5_6   28.37.1014  131072  16777216  16777215  4     yes      passed\n"
    "  mlx5_10  28.37.1014  131072  16777216  16777215  4     no       passed\n"
    "  mlx5_11  -           -       -         -         -     -        FAILED: open\n"
    "  mlx5_12  -           -       -         -         -     -        DIED: open\n"
    "  mlx5_13  -           -       -         -         -     -        HANGS: device\n"
    "  mlx4_0   28.37.1014  131072  16777216  16777215  -     no       passed\n"
    "\n";

static void test_probes(void **state)
{
    (void)state;
    probes();
    const char *out = written(ni_put_doctor);
    if (!strstr(out, probe_text))
        fail_msg("%s", out);
    assert_non_null(strstr(out, "probe.device"));
    trials.n = 0;
    assert_null(strstr(written(ni_put_doctor), "What the devices say"));
    node.view.trials = NULL; /* doctor without --probe */
    assert_null(strstr(written(ni_put_doctor), "What the devices say"));
}

static void test_probes_json(void **state)
{
    (void)state;
    probes();
    json_t *j = parsed(ni_put_doctor_json), *p;
    assert_int_equal(json_array_size(json_object_get(j, "probes")), 6);
    p = json_array_get(json_object_get(j, "probes"), 0);
    assert_string_equal(types(p),
                        "name:s port:i tried:b passed:b step:s end:s errno:0 signal:0 device:o");
    p = json_array_get(json_object_get(j, "probes"), 2);
    assert_text(p, "errno", "EPERM");
    assert_true(json_is_null(json_object_get(p, "device")));
    json_decref(j);
    node.view.trials = NULL;
    j = parsed(ni_put_doctor_json);
    assert_null(json_object_get(j, "probes"));
    json_decref(j);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup(f, setup)
    const struct CMUnitTest tests[] = {
        CASE(test_text),        CASE(test_one_and_none), CASE(test_numbers),
        CASE(test_colour),      CASE(test_hostile_name), CASE(test_json),
        CASE(test_json_failed), CASE(test_json_none),    CASE(test_probes),
        CASE(test_probes_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
