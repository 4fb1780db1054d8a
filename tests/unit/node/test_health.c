/* SPDX-License-Identifier: Apache-2.0 */
/* What doctor reads, from trees: each fact known, absent, denied and malformed. */
#include "lib/sysroot.h"
#include "nccl_init/env.h"
#include "nccl_init/findings.h"
#include "nccl_init/gpu.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/number.h"
#include "nccl_init/pci.h"
#include "nccl_init/process.h"
#include "nccl_init/rdma.h"
#include "node/gather.h"
#include "node/read.h"
#include "sysroot/root.h"

static struct ni_inventory inv;
static struct ni_findings findings;

/* One VF given by PCIDEVICE_X, and what the test adds. */
#define FN "sys/devices/pci0000:00/0000:00:01.0/0000:03:00.2"
#define VF                                                                                       \
    "d " FN "\n"                                                                                 \
    "l sys/bus/pci/devices/0000:03:00.2 ../../../devices/pci0000:00/0000:00:01.0/0000:03:00.2\n" \
    "l sys/class/infiniband/mlx5_6 ../../devices/pci0000:00/0000:00:01.0/0000:03:00.2/"          \
    "infiniband/mlx5_6\n"                                                                        \
    "l " FN "/infiniband/mlx5_6/device ../../../0000:03:00.2\n"                                  \
    "f " FN "/infiniband/mlx5_6/ports/1/state 1: DOWN\n"                                         \
    "f " FN "/infiniband/mlx5_6/ports/1/link_layer Ethernet\n"

static void gather(const char *text, bool health)
{
    static char given[] = "PCIDEVICE_X=0000:03:00.2";
    char *const entry[] = {given, NULL};
    const struct ni_env env = {entry};
    const struct ni_ask ask = {.all = health, .health = health};
    struct ni_root root = tree_of(text);
    memset(&inv, 0, sizeof(inv));
    memset(&findings, 0, sizeof(findings));
    ni_gather(&root, &env, &ask, &inv, &findings);
    ni_root_close(&root);
}

static const struct ni_hca *hca_of(const char *more)
{
    static char text[65536];
    snprintf(text, sizeof(text), "%s%s", VF, more);
    gather(text, true);
    assert_int_equal(inv.n_hca, 1);
    assert_string_equal(inv.hca[0].name, "mlx5_6");
    return &inv.hca[0];
}

static const struct ni_self *self_of(const char *text)
{
    gather(text, true);
    return &inv.self;
}

static void assert_num(struct ni_num n, int64_t v)
{
    assert_int_equal(n.known, NI_KNOWN);
    assert_true(n.v == v);
}

/* ---- RDMA ---- */

#define UVERBS                                                                                 \
    "l sys/class/infiniband_verbs/uverbs9 ../../devices/pci0000:00/0000:00:01.0/0000:03:00.2/" \
    "infiniband_verbs/uverbs9\n"                                                               \
    "f " FN "/infiniband_verbs/uverbs9/ibdev mlx5_6\n"

static const struct ni_uverbs *node_of(const char *text)
{
    (void)hca_of(text);
    return &inv.hca[0].uverbs;
}

static void test_uverbs(void **state)
{
    (void)state;
    const struct ni_uverbs *h = node_of(UVERBS "f dev/infiniband/uverbs9\n");
    assert_int_equal(h->known, NI_KNOWN);
    assert_string_equal(h->name, "uverbs9"); /* not uverbs6 */
    assert_int_equal(h->err, 0);
    h = node_of(UVERBS "d dev/infiniband\n");
    assert_int_equal(h->err, -ENOENT);
    h = node_of(UVERBS "e dev/infiniband/uverbs9 EPERM\n");
    assert_int_equal(h->err, -EPERM);
    h = node_of("d dev/infiniband\n");
    assert_int_equal(h->known, NI_ABSENT);
    h = node_of("d dev\ne " FN "/infiniband_verbs EACCES\n");
    assert_int_equal(h->known, NI_DENIED);
    /* other devices' nodes below the same function */
    h = node_of("d dev\nf " FN "/infiniband_verbs/uverbs8/ibdev mlx5_8\n"
                "l sys/class/infiniband_verbs/uverbs8 ../../devices/pci0000:00/0000:00:01.0/"
                "0000:03:00.2/infiniband_verbs/uverbs8\n"
                "l sys/class/infiniband_verbs/uverbs9 ../../devices/pci0000:00/0000:00:01.0/"
                "0000:03:00.2/infiniband_verbs/uverbs9\n"
                "f " FN "/infiniband_verbs/uverbs9/ibdev mlx5_7\n");
    assert_int_equal(h->known, NI_ABSENT);
    h = node_of(UVERBS); /* a node without a dev/ says nothing of nodes */
    assert_int_equal(h->known, NI_UNSET);
}

static void test_hca_unknown(void **state)
{
    (void)state;
    const struct ni_hca *h = hca_of("");
    assert_string_equal(h->fw, "");
    assert_int_equal(h->netdev_known, NI_ABSENT);
    assert_int_equal(h->handles.known, NI_UNSET);
    assert_int_equal(inv.port[0].phys_state.known, NI_ABSENT);
    assert_int_equal(inv.netns_mode, NI_NETNS_UNKNOWN);
    h = hca_of("f " FN "/infiniband/mlx5_6/ports/1/phys_state LinkUp\n"
               "e " FN "/net EIO\n"
               "f sys/module/ib_core/parameters/netns_mode maybe\n"
               "f sys/fs/cgroup/rdma/rdma.max mlx5_6 hca_handle=x hca_object=7 new=1\n");
    assert_int_equal(inv.port[0].phys_state.known, NI_BAD);
    assert_int_equal(h->netdev_known, NI_DENIED);
    assert_int_equal(inv.netns_mode, NI_NETNS_UNKNOWN);
    assert_int_equal(h->handles.known, NI_BAD);
    assert_num(h->objects, 7); /* of cgroup version 1 */
}

/* The wire's counters are the PF's, where it is to be seen; what its firmware does not tell a VF is no
   fault. The slot is the port above. */
#define PF "sys/devices/pci0000:00/0000:00:01.0/0000:03:00.0"
static void test_links(void **state)
{
    (void)state;
    const struct ni_hca *h =
        hca_of("f " FN "/infiniband/mlx5_6/ports/1/counters/symbol_error 7\n"
               "e " FN "/infiniband/mlx5_6/ports/1/counters/link_downed EINVAL\n"
               "f " FN "/infiniband/mlx5_6/ports/1/hw_counters/out_of_sequence many\n"
               "f " FN
               "/infiniband/mlx5_6/tc/1/traffic_class Global tclass=106\\nsrc_ip=1.2.3.4,tclass=8\n"
               "f " FN "/current_link_width 0\nf " FN "/max_link_width 16\n"
               "f " FN "/current_link_speed Unknown\nf " FN "/max_link_speed 2.5 GT/s PCIe\n"
               "l sys/bus/pci/devices/0000:00:01.0 ../../../devices/pci0000:00/0000:00:01.0\n"
               "f sys/devices/pci0000:00/0000:00:01.0/max_link_width 8\n"
               "f proc/uptime 99.02 1.0\n");
    assert_num(inv.port[0].counter[0], 7);
    assert_int_equal(inv.port[0].counter[2].known, NI_ABSENT);
    assert_int_equal(inv.port[0].counter[7].known, NI_BAD);
    assert_num(inv.port[0].traffic_class, 106);
    assert_num(h->link.most[NI_PCIE_WIDTH], 8);
    assert_int_equal(h->link.now[NI_PCIE_SPEED].known, NI_BAD);
    assert_int_equal(h->link.most[NI_PCIE_SPEED].known, NI_ABSENT); /* nobody knows the slot */
    assert_num(inv.self.uptime, 99);
    gather(
        VF
        "l " FN "/physfn ../0000:03:00.0\nf " FN "/device 0x101e\n"
        "f " FN "/infiniband/mlx5_6/ports/1/counters/symbol_error 7\n"
        "l sys/bus/pci/devices/0000:03:00.0 ../../../devices/pci0000:00/0000:00:01.0/0000:03:00.0\n"
        "l sys/class/infiniband/mlx5_2 "
        "../../devices/pci0000:00/0000:00:01.0/0000:03:00.0/infiniband/mlx5_2\n"
        "l " PF "/infiniband/mlx5_2/device ../../../0000:03:00.0\n"
        "f " PF "/infiniband/mlx5_2/ports/1/state 4: ACTIVE\n"
        "f " PF "/infiniband/mlx5_2/ports/1/counters/symbol_error 3412\n"
        "f " PF "/device 0x1021\nf " PF "/current_link_width 4\n",
        true);
    assert_int_equal(inv.hca[0].kind, 0x1021);
    assert_num(inv.port[0].counter[0], 3412);
    assert_num(inv.hca[0].link.now[NI_PCIE_WIDTH], 4);
}

/* Where a port's counters cannot be read, one finding tells; what can be read of them counts. */
static void test_counters_denied(void **state)
{
    unsigned told = 0;
    (void)state;
    (void)hca_of("f " FN "/infiniband/mlx5_6/ports/1/phys_state 5: LinkUp\n"
                 "e " FN "/infiniband/mlx5_6/ports/1/counters EACCES\n"
                 "e " FN "/infiniband/mlx5_6/ports/1/hw_counters/out_of_sequence EIO\n"
                 "e " FN "/infiniband/mlx5_6/ports/1/hw_counters/packet_seq_err EINVAL\n"
                 "f " FN "/infiniband/mlx5_6/ports/1/hw_counters/np_cnp_sent 7\n");
    for (unsigned i = 0; i < findings.n; i++)
        told += strstr(findings.at[i].subject, "counters") != NULL;
    assert_int_equal(told, 1);
    assert_int_equal(inv.port[0].counter[0].known, NI_DENIED);
    assert_int_equal(inv.port[0].counter[7].known, NI_DENIED);
    assert_int_equal(inv.port[0].counter[8].known, NI_ABSENT);
    assert_num(inv.port[0].counter[15], 7);
}

static void test_host_name(void **state)
{
    (void)state;
    const struct ni_self *h = self_of("f proc/sys/kernel/hostname pod-0\n"
                                      "f etc/hosts # pod-0\\n127.0.0.1 localhost # pod-0\\n"
                                      "127.0.1.1\\tpod-00 pod-0\\n10.0.0.1 pod-0\n");
    assert_int_equal(h->host_known, NI_KNOWN);
    assert_string_equal(h->host_ip, "127.0.1.1");
    h = self_of("f proc/sys/kernel/hostname pod-1\nf etc/hosts 127.0.0.1 pod-10\n");
    assert_int_equal(h->host_known, NI_ABSENT);
    h = self_of("f proc/sys/kernel/hostname pod-1\n");
    assert_int_equal(h->host_known, NI_UNSET);
}

/* `run` and `env` pay for none of it. */
static void test_not_asked(void **state)
{
    (void)state;
    gather(VF UVERBS "f dev/infiniband/uverbs9\nf proc/cmdline iommu=pt\n", false);
    assert_int_equal(inv.n_hca, 1);
    assert_false(inv.for_doctor);
    assert_int_equal(inv.self.cmdline_known, NI_UNSET);
}

/* ---- IOMMU ---- */

static void test_iommu(void **state)
{
    (void)state;
    const struct ni_hca *h =
        hca_of("l " FN "/iommu_group ../../../../kernel/iommu_groups/31\n"
               "f sys/kernel/iommu_groups/31/type DMA-FQ\n"
               "f proc/cmdline BOOT_IMAGE=/vmlinuz ro intel_iommu=on quiet iommu=pt\n");
    assert_int_equal(h->iommu.known, NI_KNOWN);
    assert_string_equal(h->iommu.type, "DMA-FQ");
    assert_string_equal(inv.self.cmdline, "intel_iommu=on iommu=pt");
    h = hca_of("f proc/cmdline ro\n");
    assert_int_equal(h->iommu.known, NI_ABSENT);
    assert_int_equal(inv.self.cmdline_known, NI_KNOWN);
    assert_string_equal(inv.self.cmdline, "");
    h = hca_of("l " FN "/iommu_group ../../../../kernel/iommu_groups/31\n");
    assert_int_equal(h->iommu.known, NI_ABSENT);
    assert_int_equal(inv.self.cmdline_known, NI_ABSENT);
    h = hca_of("l " FN "/iommu_group ../../../../kernel/iommu_groups/31\n"
               "f sys/kernel/iommu_groups/31/type a-type-that-is-far-too-long\n");
    assert_int_not_equal(h->iommu.known, NI_KNOWN);
    assert_string_equal(h->iommu.type, "");
    h = hca_of("l " FN "/iommu_group ../../../../kernel/iommu_groups/31\n"
               "f sys/kernel/iommu_groups/31/type dma-fq\n");
    assert_int_equal(h->iommu.known, NI_BAD);
    assert_string_equal(h->iommu.type, "");
}

/* ---- drivers ---- */

static void test_drivers(void **state)
{
    (void)state;
    const struct ni_drivers *h = &inv.drivers;
    self_of("f sys/module/nvidia/version 570.124.06\n"
            "d sys/module/nvidia_peermem\n"
            "d sys/module/mlx_compat\n"
            "f sys/module/mlx5_core/version 24.10-1.1.4\n"
            "d sys/kernel/mm/memory_peers/nv_mem\n"
            "f proc/sys/kernel/osrelease 5.14.0-570.el9\n"
            "f dev/nvidiactl\n");
    assert_string_equal(h->nvidia_version, "570.124.06");
    assert_int_equal(h->peermem, NI_KNOWN);
    assert_int_equal(h->ofed, NI_KNOWN);
    assert_string_equal(h->mlx5_version, "24.10-1.1.4");
    assert_int_equal(h->peer_api, NI_KNOWN);
    assert_int_equal(h->peer_client, NI_KNOWN);
    assert_string_equal(inv.self.kernel, "5.14.0-570.el9");
    assert_int_equal(h->nvidiactl, NI_KNOWN);
    assert_int_equal(h->uvm, NI_ABSENT);
    self_of("d sys/module/nv_peer_mem\n"
            "d sys/kernel/mm/memory_peers/nv_mem_nc\n");
    assert_string_equal(h->nvidia_version, "");
    assert_int_equal(h->peermem, NI_KNOWN);
    assert_int_equal(h->peer_client, NI_KNOWN);
    assert_int_equal(h->ofed, NI_ABSENT);
    self_of("d sys/module\n");
    assert_int_equal(h->peermem, NI_ABSENT);
}

/* ---- the process ---- */

#define MOUNT(line) \
    "f proc/self/mountinfo 1 0 0:1 / / rw,relatime - overlay overlay rw\\n" line "\n"

static void test_shm(void **state)
{
    (void)state;
    assert_num(self_of(MOUNT("9 1 0:9 / /dev/shm rw,nosuid shared:5 master:6 - tmpfs shm "
                             "rw,size=65536k,inode64"))
                   ->shm,
               INT64_C(64) << 20);
    /* the one on top */
    assert_num(self_of(MOUNT("9 1 0:9 / /dev/shm rw - tmpfs shm rw,size=65536k\\n"
                             "10 9 0:10 / /dev/shm rw - tmpfs tmpfs rw,size=2097152k"))
                   ->shm,
               INT64_C(2) << 30);
    assert_num(self_of(MOUNT("9 1 0:9 / /dev/shm rw - tmpfs tmpfs rw"))->shm, NI_UNLIMITED);
    assert_num(self_of(MOUNT("9 1 0:9 / /dev/shm rw - xfs /dev/sda rw,size=1k"))->shm,
               NI_UNLIMITED);
    assert_int_equal(self_of(MOUNT("9 1 0:9 / /dev/shmem rw - tmpfs shm rw,size=1k"))->shm.known,
                     NI_ABSENT);
    assert_int_equal(self_of(MOUNT("9 1 0:9 / /dev/shm rw - tmpfs shm rw,size=50%"))->shm.known,
                     NI_BAD);
    assert_int_equal(
        self_of(MOUNT("9 1 0:9 / /dev/shm rw - tmpfs shm rw,size=99999999999999999999k"))
            ->shm.known,
        NI_BAD);
    assert_int_equal(self_of("f proc/self/mountinfo 9 1 /dev/shm\n")->shm.known, NI_ABSENT);
    assert_int_equal(self_of("d proc/self\n")->shm.known, NI_UNSET);
}

static void test_init(void **state)
{
    (void)state;
    const struct ni_self *h =
        self_of("f proc/1/comm dumb-init\nf proc/self/status Pid:\\t7\\nNSpid:\\t4711\\t7\n");
    assert_int_equal(h->init_known, NI_KNOWN);
    assert_string_equal(h->init, "dumb-init");
    assert_num(inv.self.pid, 7);
    /* seen from the host, but PID 1 of its own namespace */
    h = self_of("f proc/1/comm systemd\nf proc/self/status Pid:\\t4711\\nNSpid:\\t4711\\t1\n");
    assert_num(inv.self.pid, 1);
    assert_int_equal(h->init_known, NI_UNSET);
    h = self_of("e proc/1/comm EACCES\nf proc/self/status Pid:\\t7\n");
    assert_int_equal(h->init_known, NI_DENIED);
    assert_string_equal(h->init, "");
}

static void test_user_namespace(void **state)
{
    (void)state;
    static const char limited[] = "f proc/self/limits Max locked memory  65536  65536  bytes\n";
    static const char unlimited[] =
        "f proc/self/limits Max locked memory  unlimited  unlimited  bytes\n";
    static const char own[] = "l proc/self/ns/user user:[4026532217]\n";
    char text[512];
    self_of(own);
    assert_int_equal(inv.self.user_namespace, NI_USERNS_OWN);
    self_of("l proc/self/ns/user user:[4026531837]\n");
    assert_int_equal(inv.self.user_namespace, NI_USERNS_INITIAL);
    self_of("l proc/self/ns/user user:[40265\n");
    assert_int_equal(inv.self.user_namespace, NI_USERNS_UNKNOWN);
    self_of("d proc/self\n");
    assert_int_equal(inv.self.user_namespace, NI_USERNS_UNKNOWN);
    /* `run` looks only when it will have to explain */
    snprintf(text, sizeof(text), "%s%s", limited, own);
    gather(text, false);
    assert_int_equal(inv.self.user_namespace, NI_USERNS_OWN);
    snprintf(text, sizeof(text), "%s%s", unlimited, own);
    gather(text, false);
    assert_int_equal(inv.self.user_namespace, NI_USERNS_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uverbs),
        cmocka_unit_test(test_hca_unknown),
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_counters_denied),
        cmocka_unit_test(test_host_name),
        cmocka_unit_test(test_not_asked),
        cmocka_unit_test(test_iommu),
        cmocka_unit_test(test_drivers),
        cmocka_unit_test(test_shm),
        cmocka_unit_test(test_init),
        cmocka_unit_test(test_user_namespace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
