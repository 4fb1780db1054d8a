/* SPDX-License-Identifier: Apache-2.0 */
/* What is read only where it decides: rates, NUMA nodes, old peer memory, what is at the places
   that NCCL makes up. */
#include "findings/device.h"
#include "lib/node_tree.h"
#include "nccl_init/allocation.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/pci.h"
#include "nccl_init/rdma.h"

#define SWITCH "sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0"

static void begin(const char *env)
{
    pod_reset(NULL);
    fib("10.0.1.6 10.0.2.6");
    netdev("net1", "up");
    netdev("net2", "up");
    if (env)
        set_env(env);
}

/* A function at a path below sys/devices/, with its NUMA node. */
static void function(const char *path, const char *bdf)
{
    line("l sys/bus/pci/devices/%s ../../../../%s/%s", bdf, path, bdf);
    line("f %s/%s/numa_node 1", path, bdf);
}

/* A RoCE device below the switch, settled: its right GID is at 3. */
static void hca_below_switch(const char *bdf, const char *name, const char *ip, const char *ndev)
{
    function(SWITCH "/0000:02:00.0", bdf);
    line("l sys/class/infiniband/%s ../../../" SWITCH "/0000:02:00.0/%s/infiniband/%s", name, bdf,
         name);
    line("d " SWITCH "/0000:02:00.0/%s/infiniband/%s/ports/1", bdf, name);
    active("Ethernet", "400 Gb/sec (4X NDR)");
    usual(ip, ndev);
}

static void gpu(unsigned n, const char *path, const char *bdf)
{
    line("f dev/nvidia%u", n);
    line("f proc/driver/nvidia/gpus/%s/information Device Minor: \\t %u", bdf, n);
    function(path, bdf);
}

/* ---- rates ---- */

static enum ni_known rate_of(unsigned port)
{
    assert_true(port < pod.inv.n_port);
    return pod.inv.port[port].mbps.known;
}

static void test_rates(void **state)
{
    (void)state;
    for (int ib = 0; ib <= 1; ib++) {
        for (int all = 0; all <= 1; all++) {
            begin("PCIDEVICE_A=0000:03:00.2,0000:04:00.2");
            pod.ask.all = all;
            roce("0000:03:00.2", "mlx5_6");
            rdma("0000:04:00.2", "mlx5_7");
            active(ib ? "InfiniBand" : "Ethernet", "200 Gb/sec (4X HDR)");
            gather();
            for (unsigned i = 0; i < 2; i++)
                assert_int_equal(rate_of(i), ib || all ? NI_KNOWN : NI_UNSET);
            if (ib)
                assert_int_equal(pod.inv.port[1].mbps.v, 200000);
        }
    }
}

/* A name that the user gave counts as given; a node that merely opens may be the storage port. */
static void test_rates_by_source(void **state)
{
    (void)state;
    begin(NULL);
    roce("0000:03:00.2", "mlx5_6");
    pod.ask.hcas = "mlx5_6";
    gather();
    assert_int_equal(pod.inv.source, NI_SRC_OPTION);
    assert_int_equal(rate_of(0), NI_UNSET);
    pod.ask.hcas = NULL;
    line("f dev/infiniband/uverbs0");
    line("f sys/class/infiniband_verbs/uverbs0/ibdev mlx5_6");
    gather();
    assert_int_equal(pod.inv.source, NI_SRC_UVERBS);
    assert_int_equal(rate_of(0), NI_KNOWN);
}

/* ---- NUMA nodes ---- */

static void near_gpu(void)
{
    line("f sys/bus/pci/devices/0000:03:00.0/class 0x020000");
    hca_below_switch("0000:03:00.2", "mlx5_6", V4("0a00:0106"), "net1");
    gpu(0, SWITCH "/0000:02:01.0", "0000:05:00.0");
}

static bool numa_read(void)
{
    assert_true(pod.inv.n_hca > 0 && pod.inv.n_gpu > 0);
    bool hca = pod.inv.hca[0].pci.numa.known != NI_UNSET;
    assert_int_equal(hca, pod.inv.gpu[0].pci.numa.known != NI_UNSET); /* both or none */
    return hca;
}

static void test_numa_not_below_one_switch(void **state)
{
    (void)state;
    begin("PCIDEVICE_A=0000:03:00.2");
    near_gpu();
    gather();
    assert_int_equal(ni_pci_distance(&pod.inv.hca[0].pci, &pod.inv.gpu[0].pci), NI_DIST_PIX);
    assert_false(numa_read());
    pod.ask.all = true; /* for people */
    gather();
    assert_true(numa_read());
    assert_int_equal(pod.inv.gpu[0].pci.numa.v, 1);
}

/* A GPU elsewhere, however many sit beside the HCA. */
static void test_numa_of_far_gpu(void **state)
{
    (void)state;
    begin("PCIDEVICE_A=0000:03:00.2");
    near_gpu();
    line("f sys/module/nvidia_peermem/version 570");
    gpu(1, "sys/devices/pci0000:80/0000:80:01.0", "0000:81:00.0");
    gather();
    assert_int_equal(pod.inv.n_gpu, 2);
    assert_true(numa_read());
    assert_int_equal(pod.inv.gpu[1].pci.numa.known, NI_KNOWN);
}

/* ---- peer memory ---- */

/* With the open driver and a kernel of 5.12 DMA-BUF is there: then the old modules are not looked for, except for people. */
static void test_old_peermem(void **state)
{
    static const char *const open_driver =
        "f proc/driver/nvidia/version NVIDIA UNIX Open Kernel Module";
    (void)state;
    for (int all = 0; all <= 1; all++) {
        begin("PCIDEVICE_A=0000:03:00.2");
        pod.ask.all = all;
        near_gpu();
        line("%s", open_driver);
        line("f proc/sys/kernel/osrelease 5.14.0");
        line("f sys/kernel/mm/memory_peers/nv_mem/version 1.2");
        gather();
        assert_int_equal(pod.inv.gdr.open_driver, NI_KNOWN);
        assert_int_equal(pod.inv.gdr.peermem, all ? NI_KNOWN : NI_ABSENT);
    }
    for (int all = 0; all <= 1; all++) { /* one way is enough to run */
        begin("PCIDEVICE_A=0000:03:00.2");
        pod.needs = all ? NI_NEED_ALL_GDR : 0;
        near_gpu();
        line("%s", open_driver);
        line("f sys/module/nvidia_peermem/version 580.1");
        gather();
        assert_int_equal(pod.inv.gdr.peermem, NI_KNOWN);
        assert_int_equal(pod.inv.gdr.open_driver, all ? NI_KNOWN : NI_UNSET);
        assert_int_equal(pod.inv.gdr.listed, all ? NI_ABSENT : NI_UNSET);
    }
}

/* ---- what is at the addresses that NCCL makes of an HCA's ---- */

static void test_place(void **state)
{
    static const struct {
        const char *bdf, *merged, *unmerged; /* class files; NULL: nothing is there */
        struct ni_nccl_place want;
    } cases[] = {
        {"0000:03:00.0", NULL, NULL, {NI_AT_ITSELF, NI_AT_UNREAD}},
        {"0000:03:00.2", "f %s 0x020000", NULL, {NI_AT_NIC, NI_AT_UNREAD}},
        {"0000:03:00.2", "f %s 0x020700", NULL, {NI_AT_NIC, NI_AT_UNREAD}}, /* InfiniBand */
        {"0000:03:04.2", "f %s 0x060400", "f %s 0x020000", {NI_AT_OTHER, NI_AT_NIC}},
        {"0000:03:04.2", "f %s 0x060400", "f %s 0x030200", {NI_AT_OTHER, NI_AT_OTHER}},
        {"0000:03:04.2", NULL, "f %s 0x020000", {NI_AT_NOTHING, NI_AT_NIC}},
        {"0000:03:04.2", NULL, NULL, {NI_AT_NOTHING, NI_AT_NOTHING}},
        {"0000:03:04.0", NULL, NULL, {NI_AT_NOTHING, NI_AT_ITSELF}},
        {"0000:03:04.2", "e %s EACCES", "f %s 0x020000", {NI_AT_UNREAD, NI_AT_UNREAD}},
        {"0000:03:04.2", "f %s 0x060400", "e %s EIO", {NI_AT_OTHER, NI_AT_UNREAD}},
        {"0000:03:04.2", "f %s ", NULL, {NI_AT_UNREAD, NI_AT_UNREAD}},
        {"0000:03:04.2", "f %s 7", NULL, {NI_AT_UNREAD, NI_AT_UNREAD}},
        {"0001:03:00.2", "f %s 0x020000", NULL, {NI_AT_NOTHING, NI_AT_NOTHING}}, /* domain 0 */
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        char entry[64];
        snprintf(entry, sizeof(entry), "PCIDEVICE_A=%s", cases[i].bdf);
        begin(entry);
        roce(cases[i].bdf, "mlx5_6");
        usual(V4("0a00:0106"), "net1");
        const char *const at[] = {cases[i].merged, cases[i].unmerged};
        bool denied = false;
        for (unsigned k = 0; k < 2; k++) {
            if (!at[k])
                continue;
            line("%c sys/bus/pci/devices/0000:03:%s/class%s", at[k][0], k ? "04.0" : "00.0",
                 at[k] + 4);
            denied = denied || at[k][0] == 'e' || strlen(at[k]) < sizeof("f %s 0x02");
        }
        gather();
        const struct ni_nccl_place *got = &pod.inv.hca[0].place;
        if (got->merged != cases[i].want.merged || got->unmerged != cases[i].want.unmerged)
            fail_msg("case %zu: %d %d", i, (int)got->merged, (int)got->unmerged);
        assert_int_equal(found(NI_F_FACT_UNREADABLE), denied);
    }
}

/* An HCA that is only visible is not worth a file. */
static void test_place_of_others(void **state)
{
    (void)state;
    begin("PCIDEVICE_A=0000:03:00.0");
    pod.ask.all = true;
    roce("0000:03:00.0", "mlx5_6");
    roce("0000:04:00.2", "mlx5_7");
    line("e sys/bus/pci/devices/0000:04:00.0/class EIO");
    gather();
    assert_int_equal(pod.inv.n_hca, 2);
    assert_int_equal(pod.inv.hca[1].place.merged, NI_AT_UNREAD);
    assert_int_equal(pod.f.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rates),
        cmocka_unit_test(test_rates_by_source),
        cmocka_unit_test(test_numa_not_below_one_switch),
        cmocka_unit_test(test_numa_of_far_gpu),
        cmocka_unit_test(test_old_peermem),
        cmocka_unit_test(test_place),
        cmocka_unit_test(test_place_of_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
