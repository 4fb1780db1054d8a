/* SPDX-License-Identifier: Apache-2.0 */
/* doctor's checks where the golden nodes do not lead: nothing known, thresholds from both sides, and
   what looks wrong but is not. The texts are the goldens'. */
#include "doctor/checks.h"
#include "findings/device.h"
#include "findings/pod.h"
#include "lib/doctor_node.h"
#include "nccl_init/base.h"
#include "nccl_init/env.h"
#include "nccl_init/findings.h"
#include "nccl_init/gpu.h"
#include "nccl_init/image.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/net.h"
#include "nccl_init/number.h"
#include "nccl_init/pci.h"
#include "nccl_init/plan.h"
#include "nccl_init/process.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "rules/decide.h"
#include "rules/init_process.h"

/* Diagnosed, there is this one finding, and none other. */
static void expect(ni_finding_number id, const char *subject)
{
    diagnose();
    assert_found(id, subject, "");
    for (unsigned i = 0; i < node.findings.n; i++)
        assert_int_equal(node.findings.at[i].id, id);
}

static void expect_none(void)
{
    diagnose();
    if (node.findings.n > 0)
        fail_msg("%s", ni_finding_id(node.findings.at[0].id));
}

/* ---- the whole table ---- */

static void test_healthy(void **state)
{
    (void)state;
    expect_none();
    for (unsigned i = 0; i < diagnosis.n; i++) {
        if (diagnosis.at[i].outcome != NI_CHECK_OK)
            fail_msg("%s: %d", diagnosis.at[i].check->id, (int)diagnosis.at[i].outcome);
    }
}

/* Nothing could be read: not one complaint of a check, and none claims that all is well. */
static void test_unknown(void **state)
{
    static const char *const idle[] = {"gpu.imex", "nvshmem.ibgda"};
    (void)state;
    memset(&node.inv.drivers, 0, sizeof(node.inv.drivers));
    memset(&node.inv.self, 0, sizeof(node.inv.self));
    node.inv.netns_mode = NI_NETNS_UNKNOWN;
    for (unsigned i = 0; i < node.inv.n_gpu; i++) {
        struct ni_gpu *g = &node.inv.gpu[i];
        *g = (struct ni_gpu){.bdf = g->bdf, .pci.known = NI_DENIED};
    }
    for (unsigned i = 0; i < node.inv.n_hca; i++) {
        struct ni_hca *h = &node.inv.hca[i];
        struct ni_port *p = &node.inv.port[i];
        h->link = (struct ni_pcie){0};
        h->iommu = (struct ni_iommu){.known = NI_DENIED};
        h->uverbs.known = h->netdev_known = NI_DENIED;
        h->netdev = -1;
        h->handles = h->objects = p->phys_state = p->counter[0] = p->traffic_class = p->mbps =
            (struct ni_num){0, NI_DENIED};
        node.inv.netdev[i].mtu.known = NI_DENIED;
    }
    node.inv.gdr = (struct ni_gdr){.peermem = NI_KNOWN, .open_driver = NI_DENIED};
    image = (struct ni_image){.known = NI_DENIED, .late = true};
    expect_none();
    for (unsigned i = 0; i < diagnosis.n; i++) {
        const char *id = diagnosis.at[i].check->id;
        enum ni_check_outcome want = strcmp(id, "hca.port") == 0
                                         ? NI_CHECK_OK /* states are known */
                                     : ni_is_any(id, idle, NI_COUNT(idle)) ? NI_CHECK_IDLE
                                                                           : NI_CHECK_UNKNOWN;
        if (diagnosis.at[i].outcome != want)
            fail_msg("%s: %d", id, (int)diagnosis.at[i].outcome);
    }
}

static void test_empty(void **state)
{
    static const char *const unknown[] = {"pid1.init", "host.name"};
    node_reset(state);
    node_eth0();
    diagnose();
    for (unsigned i = 0; i < diagnosis.n; i++) {
        bool open = ni_is_any(diagnosis.at[i].check->id, unknown, NI_COUNT(unknown));
        if (diagnosis.at[i].outcome != (open ? NI_CHECK_UNKNOWN : NI_CHECK_IDLE))
            fail_msg("%s: %d", diagnosis.at[i].check->id, (int)diagnosis.at[i].outcome);
    }
}

/* A check whose finding finds no room is not ok. */
static void test_overflow(void **state)
{
    const struct ni_env env = {node.entry};
    const struct ni_work work = {&node.inv, &env, &node.policy, &node.plan, &node.findings};
    (void)state;
    node_decide();
    for (unsigned i = 0; i <= NI_MAX_AGAIN; i++)
        ni_report(&node.findings, NI_F_GPU_NODE_MISSING, "x", "%u", i);
    node.inv.drivers.uvm = NI_ABSENT;
    ni_diagnose(&work, &diagnosis);
    assert_int_equal(outcome("gpu.node"), NI_CHECK_FOUND);
    assert_int_equal(node.findings.dropped, 1);
}

/* ---- RDMA devices ---- */

static void test_netns(void **state)
{
    (void)state;
    node.inv.allocation[1].not_rdma = true;
    expect_none(); /* an accelerator, say */
    node.inv.netns_mode = NI_NETNS_EXCLUSIVE;
    expect(NI_F_RDMA_NETNS_EXCLUSIVE, node.inv.allocation[1].id);
}

static void test_nodes(void **state)
{
    (void)state;
    node.inv.hca[0].uverbs.err = -2; /* ENOENT */
    node.inv.hca[1].uverbs.err = -1; /* EPERM */
    diagnose();
    assert_found(NI_F_HCA_NODE_MISSING, "mlx5_6", "/dev/infiniband/uverbs0 is not in");
    node.inv.hca[0].uverbs.err = 0;
    diagnose();
    assert_found(NI_F_HCA_NODE_MISSING, "mlx5_7", "Unable to open device mlx5_7");
    node.inv.hca[0].allocation = node.inv.hca[1].allocation = -1; /* another pod's */
    diagnose();
    assert_false(has(NI_F_HCA_NODE_MISSING));
    assert_int_equal(outcome("hca.node"), NI_CHECK_IDLE);
}

static void test_ports(void **state)
{
    (void)state;
    node.inv.port[1].state = known(NI_PORT_DOWN);
    node.inv.port[1].phys_state = known(3);
    diagnose();
    assert_int_equal(outcome("hca.port"), NI_CHECK_FOUND);
    assert_found(NI_F_HCA_PORT_DOWN, "mlx5_7/1", "port is DOWN, physical state Disabled; left out");
    node.inv.port[1].phys_state = known(15);
    diagnose();
    assert_found(NI_F_HCA_PORT_DOWN, "mlx5_7/1", "port is DOWN; left out");
}

static void test_cgroup(void **state)
{
    struct ni_hca *h = node.inv.hca;
    (void)state;
    h[0].handles = known(2); /* one for each of two GPUs */
    h[0].objects = known(2048);
    expect_none();
    h[0].handles = known(1);
    expect(NI_F_RDMA_CGROUP_LOW, "mlx5_6");
    h[0].handles = known(NI_UNLIMITED);
    h[0].objects = known(2047);
    expect(NI_F_RDMA_CGROUP_LOW, "mlx5_6");
}

static void test_counters(void **state)
{
    struct ni_port *p = node.inv.port;
    (void)state;
    p[0].counter[2] = known(9);
    p[1].counter[NI_N_COUNTER - 1] = known(999999);
    expect_none();
    p[0].counter[2] = known(10);
    node.inv.self.uptime = known(86400 * 3 + 5);
    expect(NI_F_HCA_ERRORS_LINK, "mlx5_6/1");
    assert_found(NI_F_HCA_ERRORS_LINK, "mlx5_6/1", "loaded, 4 days at most: link_downed 10");
    for (unsigned i = 0; i < NI_N_COUNTER; i++)
        p[0].counter[i] = known(INT64_MAX);
    diagnose(); /* all of them fit */
    assert_found(NI_F_HCA_ERRORS_LINK, "mlx5_6/1", "excessive_buffer_overrun_errors 9223");
    assert_true(has(NI_F_HCA_ERRORS_TRANSPORT));
}

/* ---- rails ---- */

static void test_rate(void **state)
{
    (void)state;
    node.inv.port[0].mbps = known(200000);
    expect(NI_F_RAIL_RATE_DIFFERS, "mlx5_6/1");
    node.inv.port[0].mbps.known = NI_DENIED;
    expect_none();
    node.inv.port[0].mbps = known(2500);
    node.inv.port[0].state = known(NI_PORT_DOWN); /* no rail */
    diagnose();
    assert_false(has(NI_F_RAIL_RATE_DIFFERS));
}

static void test_mtu(void **state)
{
    struct ni_netdev *d = node.inv.netdev;
    (void)state;
    d[1].mtu = known(1500);
    expect(NI_F_RAIL_MTU_DIFFERS, "net2");
    d[0].mtu = known(1500);
    expect(NI_F_RAIL_MTU_SMALL, "net1");
    node.inv.port[0].mbps = node.inv.port[1].mbps = known(100000);
    expect_none();
    node.inv.port[0].mbps = node.inv.port[1].mbps = known(400000);
    d[1].mtu = (struct ni_num){1500, NI_DENIED};
    expect_none();
}

/* A shared HCA: the interface of the GID, a macvlan, has the say. */
static void test_mtu_of_macvlan(void **state)
{
    (void)state;
    node.inv.hca[0].netdev_known = NI_ABSENT;
    node.inv.hca[0].netdev = -1;
    node.inv.netdev[0].mtu = known(1500);
    expect(NI_F_RAIL_MTU_DIFFERS, "net1");
}

/* ---- PCI ---- */

static void test_links(void **state)
{
    struct ni_pcie *first = &node.inv.hca[0].link;
    (void)state;
    node.inv.gpu[0].link.most[NI_PCIE_SPEED].v = 32000; /* idle */
    expect_none();
    node.inv.gpu[0].link.most[NI_PCIE_WIDTH].v = 32;
    expect(NI_F_PCI_LINK_SLOW, "0000:04:00.0");
    node.inv.gpu[0].link.most[NI_PCIE_WIDTH].v = 16;
    first->now[NI_PCIE_SPEED].v = 8;
    expect(NI_F_PCI_LINK_SLOW, "mlx5_6");
    first->now[NI_PCIE_SPEED].known = NI_BAD;
    expect_none();
}

static void iommu_is(struct ni_iommu *iommu, const char *type)
{
    *iommu = (struct ni_iommu){.known = NI_KNOWN};
    ni_copy(iommu->type, sizeof(iommu->type), type);
}

static void test_iommu(void **state)
{
    (void)state;
    iommu_is(&node.inv.hca[1].iommu, "DMA-FQ");
    expect(NI_F_IOMMU_TRANSLATED, "mlx5_7");
    assert_found(NI_F_IOMMU_TRANSLATED, "mlx5_7", "type DMA-FQ (kernel command line: nothing");
    node.inv.gdr.c2c = true;
    diagnose();
    assert_false(has(NI_F_IOMMU_TRANSLATED));
    assert_true(has(NI_F_IOMMU_SLOW));
    node.inv.gdr.c2c = false;
    node.inv.n_gpu = 0;
    diagnose();
    assert_found(NI_F_IOMMU_SLOW, "mlx5_7", "every transfer is slower");
}

/* The groups tell: the command line alone is no finding. */
static void test_iommu_none(void **state)
{
    struct ni_inventory *inv = &node.inv;
    (void)state;
    ni_copy(inv->self.cmdline, sizeof(inv->self.cmdline), "intel_iommu=on");
    for (unsigned i = 0; i < 2; i++)
        inv->hca[i].iommu = (struct ni_iommu){.known = NI_ABSENT};
    expect_none();
    assert_int_equal(outcome("iommu.type"), NI_CHECK_OK);
}

/* ---- GPUs and their drivers ---- */

static void test_gpu_nodes(void **state)
{
    (void)state;
    node.inv.drivers.uvm = NI_ABSENT;
    expect(NI_F_GPU_NODE_MISSING, "/dev/nvidia-uvm");
    node.inv.gpu[0].amd = node.inv.gpu[1].amd = true;
    diagnose();
    assert_false(has(NI_F_GPU_NODE_MISSING));
}

static void test_gpu_place(void **state)
{
    (void)state;
    node_chain(&node.inv.gpu[0].pci, "0000:80:01.0 0000:81:00.0 0000:82:00.0 0000:83:00.0", 3);
    diagnose();
    assert_true(has(NI_F_GPU_HCA_FAR));
    node_chain(&node.inv.gpu[0].pci, "0000:00:05.0", 3); /* flattened by a hypervisor */
    diagnose();
    assert_false(has(NI_F_GPU_HCA_FAR));
}

static void test_gdr_drivers(void **state)
{
    struct ni_drivers *d = &node.inv.drivers;
    (void)state;
    node.inv.gdr.peermem = d->peermem = d->peer_api = d->peer_client = NI_KNOWN;
    expect_none(); /* beside DMA-BUF */
    node.inv.gdr.open_driver = NI_ABSENT;
    expect_none();
    d->peer_client = NI_ABSENT;
    expect(NI_F_GDR_DRIVER_ORDER, "nvidia_peermem");
    d->peer_api = node.inv.gdr.listed = NI_ABSENT;
    expect(NI_F_GDR_PEERMEM_HIDDEN, "nvidia_peermem"); /* by the rule */
    assert_int_equal(outcome("gdr.driver"), NI_CHECK_FOUND);
}

static void test_imex(void **state)
{
    (void)state;
    node.inv.drivers.imex = NI_ABSENT;
    expect(NI_F_IMEX_CHANNEL_MISSING, "/dev/nvidia-caps-imex-channels");
    node_env("NCCL_MNNVL_ENABLE=0");
    diagnose();
    assert_int_equal(outcome("gpu.imex"), NI_CHECK_IDLE);
}

/* ---- the container ---- */

static void test_shm(void **state)
{
    (void)state;
    node.inv.self.shm = known(INT64_C(64) << 20);
    expect(NI_F_SHM_DEFAULT, "/dev/shm");
    node.inv.self.shm = known((INT64_C(1) << 30) - 1);
    expect(NI_F_SHM_SMALL, "/dev/shm");
    node.inv.self.shm = known(INT64_C(1) << 30);
    expect_none();
    node.inv.self.shm = known(INT64_C(64) << 20);
    node.inv.n_gpu = 1;
    diagnose();
    assert_true(has(NI_F_SHM_SMALL));
    node.inv.n_gpu = 0; /* nobody uses NCCL here */
    diagnose();
    assert_false(has(NI_F_SHM_SMALL));
}

static void test_host_name(void **state)
{
    (void)state;
    ni_copy(node.inv.self.host_ip, NI_IP_TEXT, "::1");
    expect(NI_F_HOST_NAME_LOOPBACK, "/etc/hosts");
    node.policy.targets |= NI_FOR_GLOO;
    expect_none();
    assert_int_equal(outcome("host.name"), NI_CHECK_IDLE);
}

static void test_init(void **state)
{
    const struct ni_env env = {node.entry};
    const struct ni_work work = {&node.inv, &env, &node.policy, &node.plan, &node.findings};
    struct ni_self *self = &node.inv.self;
    (void)state;
    ni_copy(self->init, sizeof(self->init), "torchrun"); /* as in most pods */
    expect_none();
    ni_copy(self->init, sizeof(self->init), "bash");
    expect(NI_F_EXEC_PID1_NO_INIT, "PID 1");
    memset(&node.findings, 0, sizeof(node.findings));
    self->init_known = NI_UNSET; /* `run` does not read it, and speaks of itself only */
    ni_note_init(&work);
    assert_int_equal(node.findings.n, 0);
    ni_copy(self->init, sizeof(self->init), "tini");
    self->pid = known(1);
    memset(&node.findings, 0, sizeof(node.findings));
    ni_note_init(&work);
    assert_int_equal(node.findings.n, 1);
}

/* A provider that may be where nobody could look is no finding, nor is one for an unknown driver. */
static void test_image(void **state)
{
    (void)state;
    image.n_file = 2;
    expect(NI_F_IMAGE_PROVIDER_MISSING, node.inv.hca[0].name);
    image.file[1].name[0] = '\0';
    expect(NI_F_IMAGE_PROVIDER_MISSING, node.inv.hca[0].name);
    image.known = NI_DENIED;
    expect_none();
    assert_int_equal(outcome("image.rdma"), NI_CHECK_UNKNOWN);
    image.known = NI_KNOWN;
    for (unsigned i = 0; i < node.inv.n_hca; i++)
        (void)ni_copy(node.inv.hca[i].driver, sizeof(node.inv.hca[i].driver), "new_nic");
    expect_none();
    assert_int_equal(outcome("image.rdma"), NI_CHECK_UNKNOWN);
    image.n_file = 0;
    expect_none();
    assert_int_equal(outcome("image.rdma"), NI_CHECK_IDLE);
    node.inv.image = NULL;
    expect_none();
    assert_int_equal(outcome("image.rdma"), NI_CHECK_IDLE);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup(f, set_up)
    const struct CMUnitTest tests[] = {
        CASE(test_healthy),   CASE(test_unknown),   CASE(test_empty),
        CASE(test_overflow),  CASE(test_netns),     CASE(test_nodes),
        CASE(test_ports),     CASE(test_cgroup),    CASE(test_counters),
        CASE(test_rate),      CASE(test_mtu),       CASE(test_mtu_of_macvlan),
        CASE(test_links),     CASE(test_iommu),     CASE(test_iommu_none),
        CASE(test_gpu_nodes), CASE(test_gpu_place), CASE(test_gdr_drivers),
        CASE(test_imex),      CASE(test_shm),       CASE(test_host_name),
        CASE(test_init),      CASE(test_image),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
