/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about trials by libibverbs. In the order of the ids, as in verbs.h. */
#include "findings/verbs.h"

#include "findings/commands.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"

const struct ni_finding_kind ni_verbs_findings[] = {
    {
        .number = NI_F_VERBS_CONNECT,
        .id = "verbs.connect",
        .cost = NI_COST_FAILS,
        .user = "leave NCCL_IB_GID_INDEX unset, so that nccl-init chooses.",
        .admin = "check the address (IPAM) and the routes of the port's interface.",
        .command = "Run: nccl-init plan --gids",
    },
    {
        .number = NI_F_VERBS_DMABUF,
        .id = "verbs.dmabuf.none",
        .cost = NI_COST_SLOWER,
        .admin = "load nvidia-peermem, or install an RDMA driver that supports DMA-BUF.",
        .trial = NI_GDR_TRIAL,
    },
    {
        .number = NI_F_VERBS_GID,
        .id = "verbs.gid",
        .cost = NI_COST_FAILS,
        .user = "leave NCCL_IB_GID_INDEX unset, so that nccl-init chooses.",
        .admin = "check the address (IPAM) and the routes of the port's interface.",
        .command = "Run: nccl-init plan --gids",
    },
    {
        .number = NI_F_VERBS_MEMLOCK,
        .id = "verbs.memlock",
        .cost = NI_COST_FAILS,
        .user = "`nccl-init selftest --size=1M` tests the ports within the limit.",
        .admin = "set memlock=-1:-1 in CRI-O's default_ulimits, or LimitMEMLOCK=infinity for "
                 "containerd.",
        .command = "Run: nccl-init selftest --size=1M",
    },
    {
        .number = NI_F_VERBS_NONE,
        .id = "verbs.none",
        .cost = NI_COST_SLOWER,
        .note = "`nccl-init plan --all` shows why a device was left out.",
        .user = "request an RDMA resource in the pod spec. If TCP is meant, add --mode=tcp.",
        .command = "Run: nccl-init plan --all{root}",
    },
    {
        .number = NI_F_VERBS_OPEN,
        .id = "verbs.open",
        .cost = NI_COST_FAILS,
        .user = "request the device by its resource.",
        .admin = "the device plugin must hand out the uverbs node of a device of the pod's own "
                 "network namespace.",
        .command = "In the pod: ls -l /dev/infiniband",
    },
    {
        .number = NI_F_VERBS_PORT,
        .id = "verbs.port",
        .cost = NI_COST_FAILS,
        .user = "attach the device to its network.",
        .admin = "check the link, the cable and, on InfiniBand, the subnet manager.",
        .command = "In the pod: ip link show dev {netdev}\nIn the pod: cat "
                   "/sys/class/infiniband/{hca}/ports/{port}/phys_state",
    },
    {
        .number = NI_F_VERBS_PROCESS,
        .id = "verbs.process",
        .cost = NI_COST_FAILS,
        .admin_first = true,
        .admin = "check the node's kernel log (hung task, firmware, out of memory).",
        .user = "give more time (--deadline) or memory, or raise the limit of processes.",
        .command = "On the node: dmesg",
    },
    {
        .number = NI_F_VERBS_PROTECTION,
        .id = "verbs.protection",
        .cost = NI_COST_FAILS,
        .admin = "boot the node with iommu=pt (OpenShift: a MachineConfig).",
        .command = "Run: kubectl cordon {node}\nOn the node: cat /proc/cmdline",
    },
    {
        .number = NI_F_VERBS_PROVIDER,
        .id = "verbs.provider",
        .cost = NI_COST_IGNORED,
        .user = "test the port with `ib_write_bw` of the image; it uses the same libibverbs as "
                "NCCL.",
        .command = "In the pod: ib_write_bw -d {hca}",
    },
    {
        .number = NI_F_VERBS_RESOURCES,
        .id = "verbs.resources",
        .cost = NI_COST_FAILS,
        .admin = "check the pod's memory limit and its RDMA cgroup (rdma.max).",
        .command = "In the pod: cat /sys/fs/cgroup/rdma.max",
    },
    {
        .number = NI_F_VERBS_TRANSFER,
        .id = "verbs.transfer",
        .cost = NI_COST_FAILS,
        .admin = "check the node's kernel log, the firewall and the spoof check. If data came "
                 "back wrong, take the HCA out of service.",
        .command = "On the node: dmesg",
    },
};
_Static_assert(NI_COUNT(ni_verbs_findings) == NI_FINDINGS_VERBS_END - NI_FINDINGS_VERBS,
               "one row for each");
