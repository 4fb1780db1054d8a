/* SPDX-License-Identifier: Apache-2.0 */
/* The sources beside PCIDEVICE_* and DRA metadata: the SR-IOV DRA driver's variables, network-status,
   device nodes, interfaces, a host network; and what they say of each other. */
#include "findings/device.h"
#include "findings/setting.h"
#include "lib/node_tree.h"
#include "nccl_init/allocation.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/rdma.h"
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

static void node(void)
{
    pod_reset(NULL);
    fib("10.0.1.6");
    roce("0000:03:00.2", "mlx5_9");
    roce("0000:a3:00.2", "mlx5_6");
}

static void assert_given(enum ni_source source, const char *want)
{
    gather();
    assert_string_equal(hcas(), want);
    assert_int_equal(pod.inv.source, want[0] ? source : NI_SRC_NONE);
}

/* ---- SRIOVNETWORK_* ---- */

static void test_sriovnet(void **state)
{
    (void)state;
    node(); /* the list, and devices beside it */
    set_env("SRIOVNETWORK_PCI_ADDRESSES=0000:a3:00.2");
    set_env("SRIOVNETWORK_VF_DEVICE_net-b=0000:03:00.2");
    set_env("SRIOVNETWORK_VF_DEVICE_net-a= 0000:A3:00.2 ");
    set_env("SRIOVNETWORK_VF_DEVICE_none=");
    set_env("SRIOVNETWORK_net-b_RDMA_DEVICE=mlx5_9");
    set_env("SRIOVNETWORK_net-a_RDMA_DEVICE=mlx5_6");
    set_env("SRIOVNETWORK_net-c_RDMA_DEVICE=mlx5_1"); /* of no address */
    set_env("SRIOVNETWORK__RDMA_DEVICE=mlx5_1");
    assert_given(NI_SRC_SRIOVNET, "mlx5_9 mlx5_6");
    assert_int_equal(pod.inv.n_allocation, 2);
    assert_string_equal(pod.inv.allocation[0].from, "SRIOVNETWORK_VF_DEVICE_net-b");
    assert_string_equal(pod.inv.allocation[0].rdma_dev, "mlx5_9");
    assert_string_equal(pod.inv.allocation[1].from, "SRIOVNETWORK_PCI_ADDRESSES");
    assert_string_equal(pod.inv.allocation[1].rdma_dev, "mlx5_6");
    assert_int_equal(pod.f.n, 0);
    node(); /* sysfs decides which name it is */
    set_env("SRIOVNETWORK_VF_DEVICE_a=0000:03:00.2");
    set_env("SRIOVNETWORK_a_RDMA_DEVICE=mlx5_0");
    assert_given(NI_SRC_SRIOVNET, "mlx5_9");
    assert_string_equal(subject_of(NI_F_ALLOC_RDMA_DEV_DIFFERS), "0000:03:00.2");
    node();
    set_env("SRIOVNETWORK_VF_DEVICE_a=0000:03:00.2");
    set_env("SRIOVNETWORK_a_RDMA_DEVICE=../mlx5");
    assert_given(NI_SRC_SRIOVNET, "mlx5_9");
    assert_true(found(NI_F_ALLOC_INFO_INVALID));
    node();
    set_env("SRIOVNETWORK_VF_DEVICE_a=eth7");
    assert_given(NI_SRC_SRIOVNET, "");
    assert_true(found(NI_F_ALLOC_ID_INVALID));
}

/* ---- network-status ---- */

#define INFO(info)   "{\"name\":\"n\",\"interface\":\"net1\"" info "}"
#define PCI(address) ",\"device-info\":{\"type\":\"pci\",\"pci\":{\"pci-address\":\"" address "\"}}"
#define PCI_RDMA(address, rdma) \
    ",\"device-info\":{\"pci\":{\"pci-address\":\"" address "\",\"rdma-device\":" rdma "}}"

static void test_netstatus(void **state)
{
    static const struct {
        const char *json, *want;
        ni_finding_number finding; /* NI_F_NONE: none */
    } cases[] = {
        {"[" INFO(PCI("0000:03:00.2")) "]", "mlx5_9", NI_F_NONE},
        {"[" INFO("") "," INFO(PCI("0000:A3:00.2")) "]", "mlx5_6", NI_F_NONE},
        {"[" INFO(PCI("0000:a3:00.2")) "," INFO(PCI("0000:03:00.2")) "]", "mlx5_9 mlx5_6",
         NI_F_NONE},
        {"[" INFO(PCI("0000:03:00.2")) "," INFO(PCI("0000:03:00.2")) "]", "mlx5_9", NI_F_NONE},
        {"[" INFO(PCI_RDMA("0000:03:00.2", "\"mlx5_9\"")) "]", "mlx5_9", NI_F_NONE},
        {"[" INFO(PCI_RDMA("0000:03:00.2", "\"mlx5_9,mlx5_8\"")) "]", "mlx5_9", NI_F_NONE},
        {"[" INFO(PCI_RDMA("0000:03:00.2", "\"\"")) "]", "mlx5_9", NI_F_NONE},
        {"[" INFO(PCI_RDMA("0000:03:00.2", "{}")) "]", "mlx5_9", NI_F_NONE},
        {"[" INFO(PCI_RDMA("0000:03:00.2", "\"mlx5_0\"")) "]", "mlx5_9",
         NI_F_ALLOC_RDMA_DEV_DIFFERS},
        {"[" INFO(PCI_RDMA("0000:03:00.2", "\"a b\"")) "]", "mlx5_9", NI_F_ALLOC_INFO_INVALID},
        {"[" INFO(PCI("eth0")) "]", "", NI_F_ALLOC_ID_INVALID},
        {"[" INFO("") "]", "", NI_F_NONE}, /* device-info missing */
        {"[" INFO(",\"device-info\":{}") "]", "", NI_F_NONE},
        {"[" INFO(",\"device-info\":[]") ",3,null]", "", NI_F_NONE},
        {"[]", "", NI_F_NONE},
        {"", "", NI_F_NONE}, /* too early: the annotation is not yet written */
        {" \t", "", NI_F_NONE},
        {INFO(PCI("0000:03:00.2")), "", NI_F_ALLOC_INFO_INVALID}, /* not an array */
        {"7", "", NI_F_ALLOC_INFO_INVALID},
        {"[", "", NI_F_ALLOC_INFO_INVALID},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        for (int file = 0; file <= 1; file++) {
            char entry[512];
            node();
            snprintf(entry, sizeof(entry), "NETWORK_STATUS=%s", cases[i].json);
            if (file)
                line("f etc/podinfo/network-status %s", cases[i].json);
            else
                set_env(entry);
            gather();
            bool ok = cases[i].finding == NI_F_NONE ? pod.f.n == 0 : found(cases[i].finding);
            if (strcmp(hcas(), cases[i].want) != 0 || !ok)
                fail_msg("`%s`: %s, %u findings", cases[i].json, hcas(), pod.f.n);
            assert_int_equal(pod.inv.source, cases[i].want[0] ? NI_SRC_NETSTATUS : NI_SRC_NONE);
        }
    }
}

static void test_netstatus_where(void **state)
{
    static const struct {
        const char *ask, *want;
        bool missing;
    } cases[] = {
        {NULL, "mlx5_9", false},
        {"NETWORK_STATUS", "mlx5_9", false},
        {"MINE", "mlx5_6", false},
        {"/etc/mine", "mlx5_6", false},
        {"//etc/podinfo/network-status", "", true}, /* garbage there */
        {"/etc/none", "", true},
        {"NONE", "", true},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        node();
        pod.ask.network_status = cases[i].ask;
        set_env("NETWORK_STATUS=[" INFO(PCI("0000:03:00.2")) "]");
        set_env("MINE=[" INFO(PCI("0000:a3:00.2")) "]");
        line("f etc/mine [" INFO(PCI("0000:a3:00.2")) "]");
        line("f etc/podinfo/network-status garbage");
        gather();
        if (strcmp(hcas(), cases[i].want) != 0)
            fail_msg("%s: %s", cases[i].ask ? cases[i].ask : "-", hcas());
        assert_int_equal(pod.f.n, cases[i].missing);
        if (i >= 5)
            assert_string_equal(subject_of(NI_F_OPTION_INVALID), "--network-status");
    }
    node();
    line("e etc/podinfo/network-status EACCES");
    assert_given(NI_SRC_NETSTATUS, "");
    assert_string_equal(subject_of(NI_F_FACT_UNREADABLE), "etc/podinfo/network-status");
}

/* ---- sources that know names ---- */

static void uverbs(unsigned n, const char *name)
{
    line("f sys/class/infiniband_verbs/uverbs%u/ibdev %s", n, name);
}

/* A node that the device cgroup keeps shut is not the pod's. */
static void test_uverbs_denied(void **state)
{
    (void)state;
    node();
    uverbs(0, "mlx5_6");
    uverbs(1, "mlx5_9");
    line("e dev/infiniband/uverbs0 EACCES");
    line("f dev/infiniband/uverbs1");
    assert_given(NI_SRC_UVERBS, "mlx5_9");
    assert_string_equal(pod.inv.allocation[0].from, "/dev/infiniband/uverbs1");
    assert_int_equal(pod.f.n, 0);
    node();
    uverbs(0, "mlx5_6");
    line("e dev/infiniband/uverbs0 EPERM");
    assert_given(NI_SRC_UVERBS, "");
    node(); /* a node of the driver that has gone, a name that no list can carry */
    line("f dev/infiniband/uverbs0");
    line("f dev/infiniband/uverbs1");
    uverbs(1, "mlx5,6");
    assert_given(NI_SRC_UVERBS, "");
}

static void soft_roce(const char *name, const char *ndev)
{
    line("d sys/devices/virtual/infiniband/%s/ports/1", name);
    active("Ethernet", "2.5 Gb/sec (1X SDR)");
    gid(0, V4("0a00:0106"), "RoCE v2", ndev);
    line("l sys/class/infiniband/%s ../../devices/virtual/infiniband/%s", name, name);
}

/* Its interface is that of the first GID; only here it is the pod's. */
static void test_softroce(void **state)
{
    (void)state;
    pod_reset(NULL);
    fib("10.0.1.6");
    netdev("eth0", "up");
    soft_roce("rxe0", "eth0");
    soft_roce("rxe1", "eth7");
    line("d sys/devices/virtual/infiniband/rxe2/ports/1"); /* without a GID */
    line("l sys/class/infiniband/rxe2 ../../devices/virtual/infiniband/rxe2");
    assert_given(NI_SRC_NETDEV, "rxe0");
    assert_string_equal(pod.inv.allocation[0].from, "eth0");
    assert_false(pod.inv.hca[0].has_bdf);
    assert_int_equal(pod.inv.hca[0].place.merged, NI_AT_NOTHING);
    assert_int_equal(pod.inv.port[0].mbps.v, 2500);
    assert_string_equal(subject_of(NI_F_ALLOC_NO_UVERBS), "/dev/infiniband");
    assert_int_equal(pod.f.n, 1);
}

static void test_host_network(void **state)
{
    (void)state;
    for (int host = 0; host <= 1; host++) {
        node();
        if (host)
            line("f proc/sys/net/core/netdev_max_backlog 1000");
        assert_given(NI_SRC_HOST, host ? "mlx5_9 mlx5_6" : "");
        assert_int_equal(pod.f.n, host); /* no node opens: the devices will not either */
        assert_int_equal(found(NI_F_ALLOC_NO_UVERBS), host);
    }
    node(); /* a node that opens is asked first */
    line("f proc/sys/net/core/netdev_max_backlog 1000");
    line("f dev/infiniband/uverbs0");
    uverbs(0, "mlx5_6");
    assert_given(NI_SRC_UVERBS, "mlx5_6");
    assert_int_equal(pod.f.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sriovnet),        cmocka_unit_test(test_netstatus),
        cmocka_unit_test(test_netstatus_where), cmocka_unit_test(test_uverbs_denied),
        cmocka_unit_test(test_softroce),        cmocka_unit_test(test_host_network),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
