/* SPDX-License-Identifier: Apache-2.0 */
/* Which HCAs are the pod's: the variables, and the sources that count where no variable names one.
   */
#include "findings/device.h"
#include "lib/node_tree.h"
#include "nccl_init/allocation.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/text.h"

/* "mlx5_6 mlx5_7": the HCAs that were given, in their order. */
static const char *hcas(void)
{
    static char buf[1024];
    struct ni_text t = ni_text_on(buf, sizeof(buf));
    for (unsigned i = 0; i < pod.inv.n_hca; i++) {
        if (pod.inv.hca[i].allocation >= 0)
            ni_putf(&t, "%s%s", t.len ? " " : "", pod.inv.hca[i].name);
    }
    return buf;
}

/* Three functions; the names are not in the order of the addresses. */
static void node_with(const char *env)
{
    pod_reset(NULL);
    fib("10.0.1.6");
    roce("0000:03:00.2", "mlx5_9");
    roce("0000:a3:00.2", "mlx5_6");
    roce("10000:03:00.2", "rocep1s0f1");
    if (env)
        set_env(env);
}

static void test_lists(void **state)
{
    static const struct {
        const char *env, *want;
    } cases[] = {
        {"PCIDEVICE_A=0000:03:00.2,0000:a3:00.2", "mlx5_9 mlx5_6"},
        {"PCIDEVICE_A=0000:a3:00.2,0000:03:00.2", "mlx5_9 mlx5_6"}, /* PCI order */
        {"PCIDEVICE_A=10000:03:00.2,0000:a3:00.2", "mlx5_6 rocep1s0f1"},
        {"PCIDEVICE_A=0000:A3:00.2", "mlx5_6"},
        {"PCIDEVICE_A=00010000:03:00.2", "rocep1s0f1"},
        {"PCIDEVICE_A=0000:03:00.2;0000:a3:00.2", "mlx5_9 mlx5_6"},
        {"PCIDEVICE_A=0000:03:00.2 0000:a3:00.2", "mlx5_9 mlx5_6"},
        {"PCIDEVICE_A= 0000:03:00.2,, 0000:a3:00.2,\n", "mlx5_9 mlx5_6"},
        {"PCIDEVICE_OPENSHIFT_IO_A-B.C=0000:03:00.2", "mlx5_9"},
        {"PCIDEVICE_X_INFO=0000:03:00.2", "mlx5_9"}, /* a resource named `info` */
        {"PCIDEVICE_X=[\"0000:03:00.2\"]", ""},
        {"PCIDEVICE_A=", ""},
        {"PCIDEVICE=0000:03:00.2", ""},
        {"XPCIDEVICE_A=0000:03:00.2", ""},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        node_with(cases[i].env);
        gather();
        if (strcmp(hcas(), cases[i].want) != 0)
            fail_msg("`%s`: %s", cases[i].env, hcas());
        assert_int_equal(pod.inv.source, cases[i].want[0] ? NI_SRC_PCIDEVICE : NI_SRC_NONE);
    }
}

static void test_several_variables(void **state)
{
    (void)state;
    node_with("PCIDEVICE_B=0000:03:00.2");
    set_env("PATH=/bin");
    set_env("PCIDEVICE_NOVALUE");
    set_env("PCIDEVICE_A=0000:A3:00.2,0000:03:00.2");
    gather();
    assert_string_equal(hcas(), "mlx5_9 mlx5_6");
    assert_int_equal(pod.inv.n_allocation, 2);
    assert_string_equal(pod.inv.allocation[0].from, "PCIDEVICE_A"); /* by name, not by place */
    assert_int_equal(pod.f.n, 0);
}

static void test_one_device_spelt_twice(void **state)
{
    (void)state;
    node_with("PCIDEVICE_A=0000:a3:00.2,0000:A3:00.2,000000a3:a3:00.2");
    set_env("PCIDEVICE_A_INFO={\"00000000:A3:00.2\":{}}");
    gather();
    assert_string_equal(hcas(), "mlx5_6");
    assert_int_equal(pod.inv.n_allocation, 2);
    assert_string_equal(pod.inv.allocation[0].id, "0000:a3:00.2");
}

/* Of a variable that is there twice the first counts, as everywhere (core.h). */
static void test_variable_twice(void **state)
{
    (void)state;
    node_with("PCIDEVICE_A=0000:a3:00.2");
    set_env("PCIDEVICE_A=0000:03:00.2");
    gather();
    assert_string_equal(hcas(), "mlx5_6");
}

static void test_states_of_claims(void **state)
{
    (void)state;
    node_with("PCIDEVICE_A=0000:03:00.2,0000:65:00.0,0000:66:00.0,../../etc,0000:67:00.8,\x1b[1m");
    line("f sys/bus/pci/devices/0000:65:00.0/vendor 0x8086");
    gather();
    assert_string_equal(hcas(), "mlx5_9");
    assert_true(found(NI_F_ALLOC_ID_INVALID));
    assert_string_equal(subject_of(NI_F_ALLOC_NOT_RDMA), "0000:65:00.0");
    assert_string_equal(subject_of(NI_F_ALLOC_NO_DEVICE), "0000:66:00.0");
    assert_int_equal(pod.f.n, 5);
    unsigned bad_ids = 0;
    for (unsigned i = 0; i < pod.inv.n_allocation; i++) {
        const struct ni_allocation *c = &pod.inv.allocation[i];
        bad_ids += c->by == NI_BY_NOTHING;
        assert_int_equal(c->not_rdma, strcmp(c->id, "0000:65:00.0") == 0);
    }
    assert_int_equal(bad_ids, 3);
}

/* ---- JSON ---- */

static void test_info(void **state)
{
    static const struct {
        const char *json;
        const char *want;
        ni_finding_number finding; /* NI_F_NONE: none */
    } cases[] = {
        {"{\"0000:a3:00.2\":{\"rdma\":{\"rdma_dev\":\"mlx5_6\"}}}", "mlx5_9",
         NI_F_NONE}, /* the list counts */
        {" {\"0000:A3:00.2\":{}} ", "mlx5_9", NI_F_NONE},
        {"{\"0000:03:00.2\":{\"rdma\":{\"rdma_dev\":\"mlx5_9\"}}}", "mlx5_9", NI_F_NONE},
        {"{\"0000:03:00.2\":{\"rdma\":{\"rdma_dev\":\"mlx5_8\"}}}", "mlx5_9",
         NI_F_ALLOC_RDMA_DEV_DIFFERS},
        {"{\"0000:03:00.2\":{\"rdma\":{\"rdma_dev\":\"a,b\"}}}", "mlx5_9", NI_F_ALLOC_INFO_INVALID},
        {"{\"0000:03:00.2\":{\"rdma\":{\"rdma_dev\":5}}}", "mlx5_9", NI_F_ALLOC_INFO_INVALID},
        {"{\"0000:03:00.2\":[]}", "mlx5_9", NI_F_ALLOC_INFO_INVALID},
        {"{\"0000:03:00.2\":{},\"0000:03:00.2\":{}}", "mlx5_9", NI_F_ALLOC_INFO_INVALID},
        {"{\"0000:a3:00.2\":{}", "mlx5_9", NI_F_ALLOC_INFO_INVALID},
        {"{\"0000:a3:00.2\":{}} x", "mlx5_9", NI_F_ALLOC_INFO_INVALID},
        {"{", "mlx5_9", NI_F_ALLOC_INFO_INVALID},
        {"{\"a\":[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]}", "mlx5_9", NI_F_ALLOC_INFO_INVALID},
        {"{\"nonsense\":{}}", "mlx5_9", NI_F_NONE},
        {"{}", "mlx5_9", NI_F_NONE},
        {"{\"[[[[[[[[[[[[[[[[[[[\\\"\":3}", "mlx5_9", NI_F_ALLOC_INFO_INVALID},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        char entry[256];
        node_with("PCIDEVICE_A=0000:03:00.2");
        snprintf(entry, sizeof(entry), "PCIDEVICE_A_INFO=%s", cases[i].json);
        set_env(entry);
        gather(); /* `run` does not read it */
        assert_int_equal(pod.f.n, 0);
        pod.ask.all = true;
        gather();
        bool ok = cases[i].finding == NI_F_NONE ? pod.f.n == 0 : found(cases[i].finding);
        if (strcmp(hcas(), cases[i].want) != 0 || !ok)
            fail_msg("`%s`: %s, %u findings", cases[i].json, hcas(), pod.f.n);
    }
}

static void test_info_alone(void **state)
{
    (void)state;
    node_with("PCIDEVICE_A_INFO={\"0000:a3:00.2\":{\"generic\":{}},\"0000:03:00.2\":{}}");
    gather();
    assert_string_equal(hcas(), "mlx5_9 mlx5_6");
    assert_int_equal(pod.inv.source, NI_SRC_PCIDEVICE);
}

/* ---- the other sources ---- */

static void uverbs(unsigned n, const char *name)
{
    line("f dev/infiniband/uverbs%u", n);
    line("f sys/class/infiniband_verbs/uverbs%u/ibdev %s", n, name);
}

/* The number of the node is not the number of the device; the HCAs are in PCI order all the same
   (inventory.h). */
static void test_uverbs(void **state)
{
    (void)state;
    node_with("PCIDEVICE_A=0000:65:00.0"); /* no NIC: does not decide */
    uverbs(0, "rocep1s0f1");
    uverbs(2, "mlx5_6");
    uverbs(10, "mlx5_9");
    line("f dev/infiniband/rdma_cm");
    line("f sys/class/infiniband_verbs/uverbs11/ibdev mlx5_8"); /* not in the pod */
    gather();
    assert_int_equal(pod.inv.source, NI_SRC_UVERBS);
    assert_int_equal(pod.inv.n_hca, 3);
    assert_true(pod.inv.hca[0].has_bdf);
    assert_string_equal(hcas(), "mlx5_9 mlx5_6 rocep1s0f1");
}

static void test_option_order(void **state)
{
    (void)state;
    node_with("PCIDEVICE_A=10000:03:00.2");
    pod.ask.hcas = "mlx5_6:1,mlx5_9,mlx5_77,mlx5_6";
    gather();
    assert_int_equal(pod.inv.source, NI_SRC_OPTION);
    assert_string_equal(subject_of(NI_F_ALLOC_NO_DEVICE), "mlx5_77");
    assert_string_equal(hcas(), "mlx5_9 mlx5_6");
    pod_reset(NULL); /* without an address: by name, as people count */
    line("d sys/class/infiniband/a00/ports/1");
    line("d sys/class/infiniband/a0/ports/1");
    pod.ask.hcas = "a00,a0";
    gather();
    assert_string_equal(pod.inv.allocation[0].id, "a0");
    assert_string_equal(pod.inv.allocation[1].id, "a00");
}

static void test_precedence_of_sources(void **state)
{
    (void)state;
    node_with("PCIDEVICE_A=0000:03:00.2");
    uverbs(0, "mlx5_6");
    gather();
    assert_int_equal(pod.inv.source, NI_SRC_PCIDEVICE);
    assert_string_equal(hcas(), "mlx5_9");
    node_with("SRIOVNETWORK_PCI_ADDRESSES=0000:A3:00.2");
    uverbs(0, "mlx5_9");
    gather();
    assert_int_equal(pod.inv.source, NI_SRC_SRIOVNET);
    assert_string_equal(hcas(), "mlx5_6");
    node_with(NULL);
    gather();
    assert_int_equal(pod.inv.source, NI_SRC_NONE);
    assert_int_equal(pod.inv.n_hca, 0);
    assert_int_equal(pod.f.n, 0);
}

static void test_netdevs(void **state)
{
    (void)state;
    node_with(NULL);
    line("l sys/class/net/net1 ../../devices/pci0000:00/0000:00:01.0/0000:a3:00.2/net/net1");
    line("f sys/devices/pci0000:00/0000:00:01.0/0000:a3:00.2/net/net1/operstate up");
    line(
        "l sys/devices/pci0000:00/0000:00:01.0/0000:a3:00.2/net/net1/device ../../../0000:a3:00.2");
    netdev("eth0", "up");
    gather();
    assert_int_equal(pod.inv.source, NI_SRC_NETDEV);
    assert_string_equal(hcas(), "mlx5_6");
}

static void test_too_many(void **state)
{
    static char entry[1 << 14];
    (void)state;
    struct ni_text t = ni_text_on(entry, sizeof(entry));
    ni_put(&t, "PCIDEVICE_A=");
    for (unsigned i = 0; i < NI_MAX_ALLOCATION + 3; i++)
        ni_putf(&t, "%04x:00:00.0,", i + 16);
    node_with(entry);
    gather();
    assert_int_equal(pod.inv.n_allocation, NI_MAX_ALLOCATION);
    assert_true(found(NI_F_ALLOC_TOO_MANY));
    assert_true(pod.f.n > NI_MAX_AGAIN);
    assert_true(pod.f.dropped > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_several_variables),
        cmocka_unit_test(test_one_device_spelt_twice),
        cmocka_unit_test(test_variable_twice),
        cmocka_unit_test(test_states_of_claims),
        cmocka_unit_test(test_info),
        cmocka_unit_test(test_info_alone),
        cmocka_unit_test(test_uverbs),
        cmocka_unit_test(test_option_order),
        cmocka_unit_test(test_precedence_of_sources),
        cmocka_unit_test(test_netdevs),
        cmocka_unit_test(test_too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
