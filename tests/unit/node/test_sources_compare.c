/* SPDX-License-Identifier: Apache-2.0 */
/* What the sources say of each other, variables that are there twice, and JSON of the greatest
   size. */
#include "findings/device.h"
#include "lib/node_tree.h"
#include "nccl_init/allocation.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"

static void node(void)
{
    pod_reset(NULL);
    fib("10.0.1.6");
    roce("0000:03:00.2", "mlx5_9");
    roce("0000:a3:00.2", "mlx5_6");
}

static unsigned count(ni_finding_number id)
{
    unsigned n = 0;
    for (unsigned i = 0; i < pod.f.n; i++)
        n += pod.f.at[i].id == id;
    return n;
}

/* ---- the cross-check ---- */

static void test_variables_differ(void **state)
{
    (void)state;
    node();
    set_env("PCIDEVICE_A=0000:03:00.2");
    set_env("SRIOVNETWORK_PCI_ADDRESSES=0000:03:00.2,0000:a3:00.2");
    gather();
    assert_int_equal(pod.inv.source, NI_SRC_PCIDEVICE);
    assert_int_equal(pod.inv.n_hca, 1); /* the first source decides */
    assert_string_equal(subject_of(NI_F_ALLOC_SOURCES_DIFFER), "0000:a3:00.2");
    assert_int_equal(pod.f.n, 1);
    assert_int_equal(pod.inv.n_allocation, 3);
    assert_int_equal(pod.inv.allocation[1].hca, 0);
    assert_int_equal(pod.inv.allocation[2].hca, -1);
    assert_non_null(strstr(pod.f.at[0].message, "PCIDEVICE_A"));
}

/* Files are opened for the comparison only where people look. */
static void test_files_differ(void **state)
{
    (void)state;
    for (int all = 0; all <= 1; all++) {
        node();
        pod.ask.all = all;
        set_env("PCIDEVICE_A=0000:03:00.2");
        line("f etc/podinfo/network-status [{\"device-info\":{\"pci\":{\"pci-address\":"
             "\"0000:a3:00.2\"}}}]");
        line("f var/run/kubernetes.io/dra-device-attributes/resourceclaims/c/r/d-metadata.json "
             "{\"apiVersion\":\"metadata.resource.k8s.io/v1beta1\",\"kind\":\"DeviceMetadata\","
             "\"requests\":[{\"devices\":[{\"attributes\":{\"resource.kubernetes.io/"
             "pciBusID\":{\"string\":\"0000:07:00.0\"}}}]"
             "}]}");
        gather();
        assert_int_equal(count(NI_F_ALLOC_SOURCES_DIFFER), all ? 2 : 0);
        assert_int_equal(pod.inv.n_allocation, all ? 3 : 1);
        assert_int_equal(pod.inv.source, NI_SRC_PCIDEVICE);
    }
}

/* Sources that know names see more in a container with more rights: no contradiction. Ids of no
   known form are told as such. */
static void test_no_difference(void **state)
{
    (void)state;
    node();
    pod.ask.all = true;
    set_env("PCIDEVICE_A=0000:03:00.2");
    set_env("SRIOVNETWORK_PCI_ADDRESSES=nonsense,0000:03:00.2");
    line("f proc/sys/net/core/netdev_max_backlog 1000");
    for (unsigned i = 0; i < 2; i++) {
        line("f dev/infiniband/uverbs%u", i);
        line("f sys/class/infiniband_verbs/uverbs%u/ibdev mlx5_%s", i, i ? "6" : "9");
    }
    gather();
    assert_int_equal(count(NI_F_ALLOC_SOURCES_DIFFER), 0);
    assert_int_equal(count(NI_F_ALLOC_ID_INVALID), 1);
    assert_int_equal(pod.f.n, 1);
    assert_int_equal(pod.inv.hca[1].allocation, -1); /* mlx5_6 stays visible only */
    unsigned by_name = 0;
    for (unsigned i = 0; i < pod.inv.n_allocation; i++) {
        if (pod.inv.allocation[i].source == NI_SRC_UVERBS &&
            strcmp(pod.inv.allocation[i].id, "mlx5_9") == 0)
            by_name += pod.inv.allocation[i].hca == 0;
    }
    assert_int_equal(by_name, 1);
}

static void test_subfunctions_agree(void **state)
{
    (void)state;
    pod_reset(NULL);
    fib("10.0.1.6");
    set_env("PCIDEVICE_A=mlx5_core.sf.4");
    set_env("SRIOVNETWORK_PCI_ADDRESSES=mlx5_core.sf.4");
    line("l sys/bus/auxiliary/devices/mlx5_core.sf.4 "
         "../../../devices/pci0000:00/0000:00:01.0/0000:03:00.0/mlx5_core.sf.4");
    line("f sys/devices/pci0000:00/0000:00:01.0/0000:03:00.0/class 0x020000");
    line("d sys/devices/pci0000:00/0000:00:01.0/0000:03:00.0/mlx5_core.sf.4/infiniband/mlx5_6/"
         "ports/1");
    active("Ethernet", "400 Gb/sec (4X NDR)");
    gather();
    assert_int_equal(pod.inv.n_hca, 1);
    assert_int_equal(pod.inv.allocation[1].hca, 0);
    assert_int_equal(pod.f.n, 0);
}

/* A name that the second source gives is held against sysfs too. */
static void test_names_differ(void **state)
{
    (void)state;
    node();
    set_env("PCIDEVICE_A=0000:03:00.2");
    set_env("SRIOVNETWORK_VF_DEVICE_a=0000:03:00.2");
    set_env("SRIOVNETWORK_a_RDMA_DEVICE=mlx5_3");
    gather();
    assert_string_equal(subject_of(NI_F_ALLOC_RDMA_DEV_DIFFERS), "0000:03:00.2");
    assert_int_equal(pod.f.n, 1);
}

/* ---- variables that are there twice: the first counts, as in getenv(3) ---- */

static void test_twice(void **state)
{
    static const char *const cases[][2] = {
        {"PCIDEVICE_A=0000:03:00.2", "PCIDEVICE_A=0000:a3:00.2"},
        {"PCIDEVICE_A=0000:03:00.2", "PCIDEVICE_A={\"0000:a3:00.2\":{}}"},
        {"PCIDEVICE_A={\"0000:03:00.2\":{}}", "PCIDEVICE_A=0000:a3:00.2"},
        {"SRIOVNETWORK_PCI_ADDRESSES=0000:03:00.2", "SRIOVNETWORK_PCI_ADDRESSES=0000:a3:00.2"},
        {"SRIOVNETWORK_VF_DEVICE_a=0000:03:00.2", "SRIOVNETWORK_VF_DEVICE_a=0000:a3:00.2"},
        {"NETWORK_STATUS=[{\"device-info\":{\"pci\":{\"pci-address\":\"0000:03:00.2\"}}}]",
         "NETWORK_STATUS=[{\"device-info\":{\"pci\":{\"pci-address\":\"0000:a3:00.2\"}}}]"},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        node();
        set_env("PCIDEVICE_A_NO_SIGN");
        set_env("PCIDEVICE_A.B=");
        set_env(cases[i][0]);
        set_env(cases[i][1]);
        gather();
        assert_int_equal(pod.inv.n_hca, 1);
        if (strcmp(pod.inv.hca[0].name, "mlx5_9") != 0)
            fail_msg("%s", cases[i][1]);
        assert_int_equal(pod.f.n, 0);
    }
    node(); /* an empty one hides what follows */
    set_env("PCIDEVICE_A=");
    set_env("PCIDEVICE_A=0000:03:00.2");
    gather();
    assert_int_equal(pod.inv.n_hca, 0);
    node(); /* names that begin alike are not the same */
    set_env("PCIDEVICE_AB=0000:03:00.2");
    set_env("PCIDEVICE_A=0000:a3:00.2");
    gather();
    assert_int_equal(pod.inv.n_hca, 2);
}

/* Of too many the first by name, wherever they stand in the environment. */
static void test_too_many_variables(void **state)
{
    enum { READ = 256 };
    (void)state;
    for (int backwards = 0; backwards <= 1; backwards++) {
        char entry[64];
        node();
        for (int i = 0; i <= READ; i++) {
            int at = backwards ? READ - i : i;
            snprintf(entry, sizeof(entry), "PCIDEVICE_R%03d=%s", at,
                     at == 5      ? "0000:03:00.2"
                     : at == READ ? "0000:a3:00.2"
                                  : "");
            set_env(entry);
        }
        set_env("PCIDEVICE_R005=0000:a3:00.2"); /* the first of that name counts */
        gather();
        assert_int_equal(pod.inv.n_hca, 1);
        assert_string_equal(pod.inv.hca[0].name, "mlx5_9");
        assert_true(found(NI_F_ALLOC_TOO_MANY));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_variables_differ),   cmocka_unit_test(test_files_differ),
        cmocka_unit_test(test_no_difference),      cmocka_unit_test(test_subfunctions_agree),
        cmocka_unit_test(test_names_differ),       cmocka_unit_test(test_twice),
        cmocka_unit_test(test_too_many_variables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
