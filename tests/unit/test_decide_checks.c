/* SPDX-License-Identifier: Apache-2.0 */
/* doctor's checks of RDMA devices, rails and IOMMU: what is wrong is found, what is right or unknown is not. */
#include "test_doctor_node.h"

/* ---- the whole table ---- */

static void test_healthy(void **state)
{
    (void)state;
    diagnose();
    for (unsigned i = 0; i < node.findings.n; i++)
        print_message("%s: %s\n", ni_finding_kind(node.findings.at[i].id)->id,
                      node.findings.at[i].message);
    assert_int_equal(node.findings.n, 0);
    for (unsigned i = 0; i < diagnosis.n; i++) {
        bool acs = strcmp(diagnosis.at[i].id, "pci.acs") == 0;
        if (diagnosis.at[i].outcome != (acs ? NI_CHECK_UNKNOWN : NI_CHECK_OK))
            fail_msg("%s: %d", diagnosis.at[i].id, (int)diagnosis.at[i].outcome);
    }
}

/* Nothing could be read: not one complaint of a check, and none claims that all is well. */
static void test_unknown(void **state)
{
    (void)state;
    memset(&node.inv.health, 0, sizeof(node.inv.health));
    memset(&node.inv.self, 0, sizeof(node.inv.self));
    for (unsigned i = 0; i < node.inv.n_gpu; i++)
        node.inv.gpu[i].pci.known = NI_DENIED;
    for (unsigned i = 0; i < node.inv.n_hca; i++)
        node.inv.health.hca[i].iommu.group.known = node.inv.hca[i].uverbs.known = NI_DENIED;
    node.inv.gdr = (struct ni_gdr){.peermem = NI_KNOWN, .open_driver = NI_DENIED};
    for (unsigned i = 0; i < node.inv.n_port; i++)
        node.inv.port[i].mbps.known = NI_DENIED;
    diagnose();
    assert_int_equal(node.findings.n, 0);
    for (unsigned i = 0; i < diagnosis.n; i++) {
        bool port = strcmp(diagnosis.at[i].id, "hca.port") == 0; /* states are known */
        /* nothing that would use it; no GPU of that kind, no x86 */
        bool idle = strcmp(diagnosis.at[i].id, "rdma.cm") == 0 ||
                    strcmp(diagnosis.at[i].id, "gpu.imex") == 0 ||
                    strcmp(diagnosis.at[i].id, "nvshmem.ibgda") == 0;
        enum ni_outcome want = port ? NI_CHECK_OK : idle ? NI_CHECK_IDLE : NI_CHECK_UNKNOWN;
        if (diagnosis.at[i].outcome != want)
            fail_msg("%s: %d", diagnosis.at[i].id, (int)diagnosis.at[i].outcome);
    }
}

static void test_empty(void **state)
{
    node_reset(state);
    node_eth0();
    diagnose();
    for (unsigned i = 0; i < diagnosis.n; i++) {
        bool pid1 = strcmp(diagnosis.at[i].id, "pid1.init") == 0 ||
                    strcmp(diagnosis.at[i].id, "host.name") == 0;
        if (diagnosis.at[i].outcome != (pid1 ? NI_CHECK_UNKNOWN : NI_CHECK_IDLE))
            fail_msg("%s: %d", diagnosis.at[i].id, (int)diagnosis.at[i].outcome);
    }
}

static bool is_id(const char *s)
{
    return s[0] && strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789.") == strlen(s);
}

static void test_table(void **state)
{
    unsigned n;
    const struct ni_check *c = ni_checks(&n);
    (void)state;
    assert_true(n > 0 && n <= NI_MAX_CHECK);
    for (unsigned i = 0; i < n; i++) {
        assert_true(is_id(c[i].id));
        assert_true(c[i].reads[0] != '\0');
        for (unsigned k = 0; k < i; k++)
            assert_string_not_equal(c[i].id, c[k].id);
    }
}

/* ---- links ---- */

static void test_pcie(void **state)
{
    struct ni_health *h = &node.inv.health;
    (void)state;
    h->hca[0].link.most[NI_PCIE_WIDTH].v = 32;
    h->gpu_link[0].most[NI_PCIE_SPEED].v = 32000; /* idle */
    diagnose();
    assert_found(NI_F_PCI_LINK_SLOW, "mlx5_6", "x16 at 0.0 GT/s; device and slot can do x32");
    assert_int_equal(node.findings.n, 1);
    h->hca[0].link.most[NI_PCIE_WIDTH].v = 16;
    h->hca[1].link.now[NI_PCIE_SPEED].v = 8;
    diagnose();
    assert_found(NI_F_PCI_LINK_SLOW, "mlx5_7", "x16 at");
    h->hca[1].link.now[NI_PCIE_SPEED].known = NI_BAD;
    diagnose();
    assert_int_equal(outcome("pci.link"), NI_CHECK_OK);
    h->gpu_link[1].now[NI_PCIE_WIDTH].v = 8;
    diagnose();
    assert_found(NI_F_PCI_LINK_SLOW, "0000:14:00.0", "x8 at");
}

static void test_counters(void **state)
{
    struct ni_health *h = &node.inv.health;
    (void)state;
    h->counter[0][2] = known(10);
    h->counter[1][NI_N_COUNTER - 1] = known(1000000);
    h->uptime = known(86400 * 3 + 5);
    diagnose();
    assert_found(NI_F_HCA_ERRORS_LINK, "mlx5_6/1",
                 "since the driver was loaded, 4 days at most: link_downed 10");
    assert_found(NI_F_HCA_ERRORS_TRANSPORT, "mlx5_7/1",
                 "loaded, 4 days at most: np_cnp_sent 1000000");
    for (unsigned i = 0; i < NI_N_COUNTER; i++)
        h->counter[0][i] = known(INT64_MAX);
    diagnose();
    assert_found(NI_F_HCA_ERRORS_LINK, "mlx5_6/1", "excessive_buffer_overrun_errors 9223");
    assert_true(has(NI_F_HCA_ERRORS_TRANSPORT));
}

static void test_host_name(void **state)
{
    (void)state;
    ni_copy(node.inv.health.host_ip, NI_IP_TEXT, "::1");
    diagnose();
    assert_found(NI_F_HOST_NAME_LOOPBACK, "/etc/hosts", "::1");
    node.policy.targets |= NI_FOR_GLOO;
    diagnose();
    assert_int_equal(outcome("host.name"), NI_CHECK_IDLE);
    assert_int_equal(node.findings.n, 0);
}

static void test_nvlink(void **state)
{
    (void)state;
    node.inv.health.imex = NI_ABSENT;
    diagnose();
    assert_found(NI_F_IMEX_CHANNEL_MISSING, "/dev/nvidia-caps-imex-channels", "NVIDIA GB200");
    node_env("NCCL_MNNVL_ENABLE=0");
    diagnose();
    assert_int_equal(outcome("gpu.imex"), NI_CHECK_IDLE);
}

/* ---- RDMA devices ---- */

static void test_netns(void **state)
{
    (void)state;
    node.inv.claim[1].state = NI_CLAIM_NOT_RDMA;
    diagnose();
    assert_false(has(NI_F_RDMA_NETNS_EXCLUSIVE)); /* an accelerator, say */
    node.inv.health.netns_mode = NI_NETNS_EXCLUSIVE;
    diagnose();
    assert_found(NI_F_RDMA_NETNS_EXCLUSIVE, node.inv.claim[1].id, "No device found");
    node.inv.claim[1].state = NI_CLAIM_OK;
    diagnose();
    assert_false(has(NI_F_RDMA_NETNS_EXCLUSIVE));
}

static void test_nodes(void **state)
{
    (void)state;
    node.inv.hca[0].uverbs.err = -2; /* ENOENT */
    node.inv.hca[1].uverbs.err = -1; /* EPERM */
    diagnose();
    assert_found(NI_F_HCA_NODE_MISSING, "mlx5_6", "/dev/infiniband/uverbs0 is not in");
    assert_found(NI_F_HCA_NODE_DENIED, "mlx5_7", "Unable to open device mlx5_7");
    assert_int_equal(outcome("hca.node"), NI_CHECK_FOUND);
    node.inv.hca[0].claim = node.inv.hca[1].claim = -1; /* another pod's */
    diagnose();
    assert_false(has(NI_F_HCA_NODE_MISSING) || has(NI_F_HCA_NODE_DENIED));
    assert_int_equal(outcome("hca.node"), NI_CHECK_IDLE);
}

static void port_is(int64_t state, int64_t phys, enum ni_link link)
{
    node.inv.port[1].state = known(state);
    node.inv.port[1].link = link;
    node.inv.health.phys_state[1] = known(phys);
    diagnose();
    assert_int_equal(outcome("hca.port"), NI_CHECK_FOUND);
    assert_int_equal(
        has(NI_F_HCA_PORT_DISABLED) + has(NI_F_HCA_PORT_POLLING) + has(NI_F_HCA_PORT_NO_SM), 1);
}

static void test_ports(void **state)
{
    (void)state;
    port_is(NI_PORT_DOWN, 3, NI_LINK_ROCE);
    assert_found(NI_F_HCA_PORT_DISABLED, "mlx5_7/1", "attached to no network");
    node.inv.health.hca[1].netdev_known = NI_ABSENT;
    node.inv.hca[1].is_vf = false;
    port_is(NI_PORT_DOWN, 3, NI_LINK_ROCE);
    assert_found(NI_F_HCA_PORT_DISABLED, "mlx5_7/1", "no carrier; it has no interface in this pod");
    port_is(NI_PORT_DOWN, 3, NI_LINK_IB);
    assert_found(NI_F_HCA_PORT_DISABLED, "mlx5_7/1", "switched off");
    port_is(NI_PORT_DOWN, 2, NI_LINK_IB);
    assert_found(NI_F_HCA_PORT_POLLING, "mlx5_7/1", "Polling");
    port_is(NI_PORT_DOWN, 4, NI_LINK_IB);
    assert_found(NI_F_HCA_PORT_POLLING, "mlx5_7/1", "PortConfigurationTraining");
    port_is(NI_PORT_DOWN, 6, NI_LINK_IB);
    assert_found(NI_F_HCA_PORT_POLLING, "mlx5_7/1", "LinkErrorRecovery");
    port_is(NI_PORT_INIT, 5, NI_LINK_IB);
    assert_found(NI_F_HCA_PORT_NO_SM, "mlx5_7/1", "no subnet manager");
}

static void test_ports_without_cause(void **state)
{
    (void)state;
    node.inv.port[1].state = known(NI_PORT_DOWN);
    node.inv.health.phys_state[1] = known(5); /* RoCE needs no subnet manager */
    diagnose();
    assert_false(has(NI_F_HCA_PORT_NO_SM));
    assert_int_equal(outcome("hca.port"), NI_CHECK_FOUND); /* by the rule */
    node.inv.health.phys_state[1].known = NI_ABSENT;
    diagnose();
    assert_true(has(NI_F_HCA_PORT_DOWN));
    assert_false(has(NI_F_HCA_PORT_DISABLED));
    node.inv.hca[1].claim = -1;
    node.inv.health.phys_state[1] = known(3);
    diagnose();
    assert_false(has(NI_F_HCA_PORT_DISABLED));
}

static void test_netdev(void **state)
{
    (void)state;
    node.inv.health.hca[1].netdev_known = NI_ABSENT;
    diagnose();
    assert_false(has(NI_F_HCA_NETDEV_NONE)); /* its GIDs are ours: by macvlan */
    node.inv.gid[2].own = node.inv.gid[3].own = NI_OWN_FOREIGN;
    diagnose();
    assert_found(NI_F_HCA_NETDEV_NONE, "mlx5_7", "no socket interface found");
    node.inv.hca[1].is_vf = false; /* a shared PF has its interface elsewhere */
    diagnose();
    assert_false(has(NI_F_HCA_NETDEV_NONE));
    node.inv.hca[1].is_vf = true;
    node.inv.port[1].link = NI_LINK_IB;
    diagnose();
    assert_false(has(NI_F_HCA_NETDEV_NONE));
}

static void test_cm(void **state)
{
    (void)state;
    node.inv.health.rdma_cm = NI_ABSENT;
    diagnose();
    assert_found(NI_F_RDMA_CM_MISSING, "/dev/infiniband/rdma_cm", "not in the container");
    node.inv.health.rdma_cm = NI_DENIED;
    diagnose();
    assert_found(NI_F_RDMA_CM_MISSING, "/dev/infiniband/rdma_cm", "cannot be opened");
}

static void test_cgroup(void **state)
{
    struct ni_health_hca *h = node.inv.health.hca;
    (void)state;
    h[0].handles = known(2); /* one for each of two GPUs */
    h[0].objects = known(2048);
    diagnose();
    assert_false(has(NI_F_RDMA_CGROUP_LOW));
    h[0].handles = known(1);
    diagnose();
    assert_found(NI_F_RDMA_CGROUP_LOW, "mlx5_6", "hca_handle=1");
    h[0].handles = known(NI_UNLIMITED);
    h[0].objects = known(2000);
    diagnose();
    assert_found(NI_F_RDMA_CGROUP_LOW, "mlx5_6", "hca_object=2000");
    h[0].objects.known = NI_ABSENT;
    h[1].objects.known = NI_ABSENT;
    diagnose();
    assert_int_equal(outcome("rdma.cgroup"), NI_CHECK_UNKNOWN);
}

/* ---- rails ---- */

static void test_rate(void **state)
{
    (void)state;
    node.inv.port[0].mbps = known(200000);
    diagnose();
    assert_found(NI_F_RAIL_RATE_DIFFERS, "mlx5_6/1", "runs at 200 Gb/s, mlx5_7/1 at 400 Gb/s");
    node.inv.port[0].mbps.known = NI_DENIED;
    diagnose();
    assert_false(has(NI_F_RAIL_RATE_DIFFERS));
    node.inv.port[0].mbps = known(2500);
    node.inv.port[0].state = known(NI_PORT_DOWN); /* no rail */
    diagnose();
    assert_false(has(NI_F_RAIL_RATE_DIFFERS));
}

static void test_mtu(void **state)
{
    struct ni_health_hca *h = node.inv.health.hca;
    (void)state;
    h[1].mtu = known(1500);
    diagnose();
    assert_found(NI_F_RAIL_MTU_DIFFERS, "mlx5_7/1",
                 "MTU 1500 on net2, but 9000 on net1 (mlx5_6/1)");
    assert_false(has(NI_F_RAIL_MTU_SMALL));
    h[0].mtu = known(1500);
    diagnose();
    assert_false(has(NI_F_RAIL_MTU_DIFFERS));
    assert_found(NI_F_RAIL_MTU_SMALL, "mlx5_6/1", "1024 bytes instead of 4096");
    h[0].mtu = h[1].mtu = known(4200);
    diagnose();
    assert_false(has(NI_F_RAIL_MTU_SMALL));
    h[1].mtu.known = NI_DENIED;
    diagnose();
    assert_false(has(NI_F_RAIL_MTU_DIFFERS));
}

/* A shared HCA: the interface of the GID, a macvlan, has the say. */
static void test_mtu_of_macvlan(void **state)
{
    (void)state;
    node.inv.health.hca[0].netdev_known = NI_ABSENT;
    node.inv.netdev[0].mtu = known(1500);
    diagnose();
    assert_found(NI_F_RAIL_MTU_DIFFERS, "mlx5_6/1", "MTU 1500 on net1");
}

static void test_firmware(void **state)
{
    struct ni_health_hca *h = node.inv.health.hca;
    (void)state;
    ni_copy(h[1].fw, sizeof(h[1].fw), "28.39.2048");
    diagnose();
    assert_found(NI_F_RAIL_FIRMWARE_DIFFERS, "mlx5_7",
                 "firmware 28.39.2048, mlx5_6 has 28.37.1014; both are MT4126");
    ni_copy(h[1].type, sizeof(h[1].type), "MT4127"); /* another kind of card */
    diagnose();
    assert_false(has(NI_F_RAIL_FIRMWARE_DIFFERS));
    ni_copy(h[1].type, sizeof(h[1].type), "MT4126");
    h[1].fw[0] = '\0';
    diagnose();
    assert_false(has(NI_F_RAIL_FIRMWARE_DIFFERS));
}

/* ---- IOMMU ---- */

static void test_iommu(void **state)
{
    struct ni_health *h = &node.inv.health;
    (void)state;
    ni_copy(h->hca[1].iommu.type, sizeof(h->hca[1].iommu.type), "DMA-FQ");
    ni_copy(h->gpu[0].type, sizeof(h->gpu[0].type), "DMA");
    diagnose();
    assert_found(NI_F_IOMMU_TRANSLATED, "mlx5_7, 0000:04:00.0", "IBV_WC_LOC_PROT_ERR");
    assert_found(NI_F_IOMMU_TRANSLATED, "mlx5_7, 0000:04:00.0",
                 "group 32 is of type DMA-FQ (kernel command line: nothing about it), 1 of 2 HCAs "
                 "and 1 of 2 GPUs");
    ni_copy(h->cmdline, sizeof(h->cmdline), "amd_iommu=on iommu=pt");
    diagnose();
    assert_found(NI_F_IOMMU_TRANSLATED, "mlx5_7, 0000:04:00.0",
                 "although the kernel command line says amd_iommu=on iommu=pt");
    node.inv.gdr.c2c = true;
    diagnose();
    assert_false(has(NI_F_IOMMU_TRANSLATED));
    assert_true(has(NI_F_IOMMU_SLOW));
    node.inv.gdr.c2c = false;
    node.inv.n_gpu = 0;
    diagnose();
    assert_found(NI_F_IOMMU_SLOW, "mlx5_7", "1 of 2 HCAs");
}

/* The groups tell: the command line alone is no finding. */
static void test_iommu_none(void **state)
{
    struct ni_health *h = &node.inv.health;
    (void)state;
    ni_copy(h->cmdline, sizeof(h->cmdline), "intel_iommu=on");
    for (unsigned i = 0; i < 2; i++) {
        h->hca[i].iommu = (struct ni_iommu){.group.known = NI_ABSENT};
        h->gpu[i] = (struct ni_iommu){.group.known = NI_ABSENT};
    }
    diagnose();
    assert_int_equal(node.findings.n, 0);
    assert_int_equal(outcome("iommu.type"), NI_CHECK_OK);
    h->hca[0].iommu = h->hca[1].iommu = h->gpu[0] = h->gpu[1] =
        (struct ni_iommu){.group = known(3), .type_known = NI_DENIED};
    diagnose();
    assert_int_equal(node.findings.n, 0);
    assert_int_equal(outcome("iommu.type"), NI_CHECK_UNKNOWN);
}

/* Sixteen devices: the subject ends in a count, never in half a name. */
static void test_iommu_many(void **state)
{
    (void)state;
    for (unsigned i = node.inv.n_gpu; i < 16; i++) {
        node.inv.gpu[i] = node.inv.gpu[0];
        node.inv.gpu[i].bdf.bus = (uint8_t)(0x80 + i);
        node.inv.n_gpu++;
    }
    for (unsigned i = 0; i < 16; i++)
        node.inv.health.gpu[i] = (struct ni_iommu){known(5), NI_KNOWN, "DMA"};
    diagnose();
    const struct ni_finding *it = finding(NI_F_IOMMU_TRANSLATED);
    assert_non_null(strstr(it->subject, "0000:04:00.0, "));
    assert_non_null(strstr(it->subject, " and 12 more"));
}

/* A full table of findings is still told as such. */
static void test_overflow(void **state)
{
    const struct ni_env env = {node.entry};
    const struct ni_facts facts = {&node.inv, &env, &node.policy};
    (void)state;
    node_decide();
    for (unsigned i = 0; i < NI_MAX_FINDINGS; i++)
        ni_report(&node.findings, NI_F_OPTION_INVALID, "x", "%u", i);
    node.inv.health.uvm = NI_ABSENT;
    ni_diagnose(&facts, &node.plan, &node.findings, &diagnosis);
    assert_int_equal(outcome("gpu.node"), NI_CHECK_FOUND);
    assert_int_equal(node.findings.dropped, 1);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup(f, set_up)
    const struct CMUnitTest tests[] = {
        CASE(test_pcie),       CASE(test_counters), CASE(test_host_name),
        CASE(test_nvlink),     CASE(test_healthy),  CASE(test_unknown),
        CASE(test_empty),      CASE(test_table),    CASE(test_netns),
        CASE(test_nodes),      CASE(test_ports),    CASE(test_ports_without_cause),
        CASE(test_netdev),     CASE(test_cm),       CASE(test_cgroup),
        CASE(test_rate),       CASE(test_mtu),      CASE(test_mtu_of_macvlan),
        CASE(test_firmware),   CASE(test_iommu),    CASE(test_iommu_none),
        CASE(test_iommu_many), CASE(test_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
