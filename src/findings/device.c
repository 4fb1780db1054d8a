/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about the node, and what of it the pod was given: allocations, HCAs, GIDs, GPUs, rails.
   In the order of the ids, as in device.h. */
#include "findings/device.h"

#include "nccl_init/base.h"
#include "nccl_init/findings.h"

const struct ni_finding_kind ni_device_findings[] = {
    {
        .number = NI_F_ALLOC_ID_INVALID,
        .id = "alloc.id.invalid",
        .cost = NI_COST_IGNORED,
        .admin = "find what sets it; device plugins write PCI addresses or auxiliary names.",
    },
    {
        .number = NI_F_ALLOC_INFO_INVALID,
        .id = "alloc.info.invalid",
        .cost = NI_COST_IGNORED,
        .note = "The invalid part is ignored.",
        .admin = "find what writes it.",
    },
    {
        .number = NI_F_ALLOC_METADATA_PENDING,
        .id = "alloc.metadata.pending",
        .cost = NI_COST_SLOWER,
        .user = "wait for it with --wait=30.",
        .admin = "find out why the DRA driver does not write it.",
    },
    {
        .number = NI_F_ALLOC_NO_DEVICE,
        .id = "alloc.no-device",
        .cost = NI_COST_SLOWER,
        .user = "restart the pod, remove the variable if it was copied, or correct --hcas.",
    },
    {
        .number = NI_F_ALLOC_NO_UVERBS,
        .id = "alloc.no-uverbs",
        .cost = NI_COST_RDMA,
        .user = "request an RDMA resource in the pod spec; it brings the device nodes.",
    },
    {
        .number = NI_F_ALLOC_NOT_RDMA,
        .id = "alloc.not-rdma",
        .cost = NI_COST_NOTHING,
        .admin = "if it is a NIC, set isRdma for the resource; otherwise there is nothing to do.",
    },
    {
        .number = NI_F_ALLOC_RDMA_DEV_DIFFERS,
        .id = "alloc.rdma-dev.differs",
        .cost = NI_COST_IGNORED,
        .user = "restart the pod; its variables are older than the last driver reload.",
    },
    {
        .number = NI_F_ALLOC_SOURCES_DIFFER,
        .id = "alloc.sources.differ",
        .cost = NI_COST_IGNORED,
        .note = "The first source decides.",
        .user = "if the device is the pod's, restart the pod.",
    },
    {
        .number = NI_F_ALLOC_TOO_MANY,
        .id = "alloc.too-many",
        .cost = NI_COST_IGNORED,
        .user = "find what sets the variable; no plugin lists so many devices.",
    },
    {
        .number = NI_F_FACT_TRUNCATED,
        .id = "fact.truncated",
        .cost = NI_COST_IGNORED,
        .note = "The rest is ignored.",
        .user = "send the output of `nccl-init snapshot --mask` to the developers.",
    },
    {
        .number = NI_F_FACT_UNREADABLE,
        .id = "fact.unreadable",
        .cost = NI_COST_IGNORED,
        .note = "The decision was made without this file.",
        .admin = "give the pod read access to it.",
    },
    {
        .number = NI_F_GDR_DMABUF_OFF,
        .id = "gdr.dmabuf.off",
        .cost = NI_COST_SLOWER,
        .user = "remove NCCL_DMABUF_ENABLE=0; without peermem, GPUDirect RDMA needs DMA-BUF.",
    },
    {
        .number = NI_F_GDR_DMABUF_RCCL,
        .id = "gdr.dmabuf.rccl",
        .cost = NI_COST_SLOWER,
        .user = "set NCCL_DMABUF_ENABLE=1; before ROCm 7.11 also mount the node's /boot, or RCCL "
                "crashes.",
        .admin = "load a driver with amdkfd's peer memory instead.",
    },
    {
        .number = NI_F_GDR_DRIVER_ORDER,
        .id = "gdr.driver.order",
        .cost = NI_COST_SLOWER,
        .admin = "build the GPU driver after MLNX_OFED or DOCA, or use its open modules.",
    },
    {
        .number = NI_F_GDR_PEERMEM_HIDDEN,
        .id = "gdr.peermem.hidden",
        .cost = NI_COST_NOTHING,
        .user = "use NCCL 2.23.4 or later; older versions do not see this nvidia-peermem.",
    },
    {
        .number = NI_F_GDR_TRIED_BYTES,
        .id = "gdr.tried.bytes",
        .cost = NI_COST_FAILS,
        .user = "start with --gdr=off, or leave this HCA out (--hcas), until it is repaired; a job "
                "that uses this pair computes nonsense.",
        .admin = "check the IOMMU, ACS, ATS and the driver of this node first (iommu.translated), "
                 "then GPU, HCA and the switch between them.",
    },
    {
        .number = NI_F_GDR_TRIED_FAILED,
        .id = "gdr.tried.failed",
        .cost = NI_COST_FAILS,
        .user = "start with --gdr=off, or leave this HCA out (--hcas).",
        .admin = "the message has the step: docs/guides/gpudirect.md says what each one needs of "
                 "the drivers.",
    },
    {
        .number = NI_F_GDR_TRIED_LATE,
        .id = "gdr.tried.late",
        .cost = NI_COST_MAY_FAIL,
        .user =
            "run `nccl-init selftest --try=gpu` again; if it comes again, start with --gdr=off.",
        .admin = "check relaxed ordering and the firmware of HCA and switches.",
    },
    {
        .number = NI_F_GDR_TRIED_LEFT,
        .id = "gdr.tried.left",
        .cost = NI_COST_MAY_FAIL,
        .admin = "look for messages of the GPU's or the HCA's driver in the kernel's log (dmesg); "
                 "often only a restart of the node ends the process.",
    },
    {
        .number = NI_F_GDR_TRIED_SLOW,
        .id = "gdr.tried.slow",
        .cost = NI_COST_SLOWER,
        .admin = "compare the PCIe links of GPU, HCA and the switches between them, and ACS, with "
                 "those of the other pairs (`nccl-init doctor`).",
    },
    {
        .number = NI_F_GDR_UNAVAILABLE,
        .id = "gdr.unavailable",
        .cost = NI_COST_SLOWER,
        .admin = "load nvidia-peermem, or use the open GPU kernel modules (kernel 5.12 or later).",
    },
    {
        .number = NI_F_GDR_UNTRIED,
        .id = "gdr.untried",
        .cost = NI_COST_IGNORED,
        .user = "the message has the reason; try again in the pod of the job, where its GPUs are "
                "free and nccl-init-try is beside nccl-init.",
    },
    {
        .number = NI_F_GID_FAMILY_DIFFERS,
        .id = "gid.family.differs",
        .cost = NI_COST_MAY_FAIL,
        .user = "run `nccl-init plan` in another pod: if its rails have the same families, all is "
                "well.",
        .admin = "give the rail the IPv4 address that it lacks (IPAM).",
    },
    {
        .number = NI_F_GID_INDEX_DIFFERS,
        .id = "gid.index.differs",
        .cost = NI_COST_NOTHING,
        .user = "use NCCL 2.21.5 or later in this pod; it searches on each HCA.",
    },
    {
        .number = NI_F_GID_LINK_LOCAL,
        .id = "gid.link-local",
        .cost = NI_COST_MAY_FAIL,
        .admin = "give the interface an IPv4 or a routable IPv6 address (IPAM).",
    },
    {
        .number = NI_F_GID_NONE,
        .id = "gid.none",
        .cost = NI_COST_SLOWER,
        .user = "attach the pod to the device's network.",
        .admin = "give its interface an address (IPAM).",
    },
    {
        .number = NI_F_GID_OWNER_UNKNOWN,
        .id = "gid.owner.unknown",
        .cost = NI_COST_MAY_FAIL,
        .admin = "let the pod read /proc/net/fib_trie; the entry may be another pod's.",
    },
    {
        .number = NI_F_GID_SEARCH_WRONG,
        .id = "gid.search.wrong",
        .cost = NI_COST_FAILS,
        .admin = "give each port one address, or one subnet that only this pod uses.",
    },
    {
        .number = NI_F_GID_SUBNETS,
        .id = "gid.subnets.mixed",
        .cost = NI_COST_NOTHING,
        .admin_first = true,
        .admin = "give each port one subnet.",
        .user = "until then set NCCL_IB_ADDR_RANGE=SUBNET.",
    },
    {
        .number = NI_F_GID_V1_ONLY,
        .id = "gid.v1-only",
        .cost = NI_COST_MAY_FAIL,
        .admin = "enable RoCE v2 on the port (cma_roce_mode); v1 does not cross subnets.",
    },
    {
        .number = NI_F_GPU_HCA_FAR,
        .id = "gpu.hca.far",
        .cost = NI_COST_SLOWER,
        .admin = "allocate GPUs and HCAs together (DRA, Topology Manager best-effort).",
    },
    {
        .number = NI_F_GPU_HCA_PASSED_OVER,
        .id = "gpu.hca.passed-over",
        .cost = NI_COST_SLOWER,
        .user = "leave the faster HCA out (--hcas), or allow the distance with --gdr and measure.",
        .admin = "give pods HCAs of one speed.",
    },
    {
        .number = NI_F_GPU_NODE_MISSING,
        .id = "gpu.node.missing",
        .cost = NI_COST_FAILS,
        .user = "request the GPU by its resource.",
        .admin = "check the container toolkit.",
    },
    {
        .number = NI_F_GPU_NUMA_EMPTY,
        .id = "gpu.numa.empty",
        .cost = NI_COST_MAY_FAIL,
        .user = "set NCCL_CUMEM_HOST_ENABLE=0 on all ranks of the job.",
        .admin = "populate the memory channels, or let the firmware make one NUMA node of each "
                 "socket.",
    },
    {
        .number = NI_F_GPU_NUMA_OTHERS,
        .id = "gpu.numa.others",
        .cost = NI_COST_NOTHING,
        .note = "Nothing to do for this pod; a job with a pod of both kinds needs "
                "NCCL_CUMEM_HOST_ENABLE=0 on all its ranks.",
        .admin = "populate the memory channels, or let the firmware make one NUMA node of each "
                 "socket.",
    },
    {
        .number = NI_F_HCA_ERRORS_LINK,
        .id = "hca.errors.link",
        .cost = NI_COST_MAY_FAIL,
        .admin = "check the cable and the switch port; numbers that grow mean a failing link.",
    },
    {
        .number = NI_F_HCA_ERRORS_TRANSPORT,
        .id = "hca.errors.transport",
        .cost = NI_COST_NOTHING,
        .admin = "if they grow during a job, check PFC, ECN and dropped packets on the switches.",
    },
    {
        .number = NI_F_HCA_GUID_NONE,
        .id = "hca.guid.none",
        .cost = NI_COST_SLOWER,
        .admin = "write GUIDs to the VF before a pod gets it: ib-kubernetes with ib-sriov-cni, or "
                 "`ip link set PF vf N node_guid GUID` and `port_guid GUID`.",
    },
    {
        .number = NI_F_HCA_LINK_MIXED,
        .id = "hca.link.mixed",
        .cost = NI_COST_SLOWER,
        .note = "NCCL dies if InfiniBand and RoCE are mixed.",
        .user = "request devices of one kind.",
    },
    {
        .number = NI_F_HCA_NAME_INVALID,
        .id = "hca.name.invalid",
        .cost = NI_COST_SLOWER,
        .note = "NCCL_IB_HCA cannot hold this name.",
        .admin = "rename the device (rdma dev set name).",
    },
    {
        .number = NI_F_HCA_NODE_LOST,
        .id = "hca.node.lost",
        .cost = NI_COST_RDMA,
        .admin = "set isRdma: true, so that the device plugin hands out the uverbs node.",
    },
    {
        .number = NI_F_HCA_NODE_MISSING,
        .id = "hca.node.missing",
        .cost = NI_COST_RDMA,
        .user = "request the device by its resource.",
        .admin = "set isRdma, and load ib_uverbs.",
    },
    {
        .number = NI_F_HCA_NONE,
        .id = "hca.none",
        .cost = NI_COST_NOTHING,
        .user = "for RDMA, request an SR-IOV or RDMA resource in the pod spec.",
    },
    {
        .number = NI_F_HCA_NONE_USABLE,
        .id = "hca.none-usable",
        .cost = NI_COST_RDMA,
        .user = "`nccl-init plan` shows the reason for each device; over TCP a job is far slower.",
    },
    {
        .number = NI_F_HCA_NOT_SHOWN,
        .id = "hca.not-shown",
        .cost = NI_COST_NOTHING,
        .note = "Nothing to do: all HCAs of the pod are shown.",
    },
    {
        .number = NI_F_HCA_PLACE_LOST,
        .id = "hca.place.lost",
        .cost = NI_COST_NOTHING,
        .user = "set NCCL_TOPO_FILE if the GPUs are at another CPU. NCCL before 2.20.3 may crash.",
    },
    {
        .number = NI_F_HCA_PORT_DOWN,
        .id = "hca.port.down",
        .cost = NI_COST_SLOWER,
        .user = "attach the device to its network.",
        .admin = "check the link, the cable and, on InfiniBand, the subnet manager.",
    },
    {
        .number = NI_F_HCA_PORT_SLOW,
        .id = "hca.port.slow",
        .cost = NI_COST_NOTHING,
        .note = "Nothing to do if it is a management or storage port.",
        .user = "to use it, name it in --hcas.",
    },
    {
        .number = NI_F_HCA_SOFTROCE_LEFT_OUT,
        .id = "hca.softroce.left-out",
        .cost = NI_COST_NOTHING,
        .note = "Nothing to do: the job uses the HCAs on PCI.",
        .user = "to use it alone, name it in --hcas.",
    },
    {
        .number = NI_F_HCA_SOFTROCE_MIXED,
        .id = "hca.softroce.mixed",
        .cost = NI_COST_MAY_FAIL,
        .user = "name devices of one kind in --hcas.",
    },
    {
        .number = NI_F_HCA_TOO_MANY,
        .id = "hca.too-many",
        .cost = NI_COST_SLOWER,
        .note = "NCCL uses at most 32 ports; the others, in PCI order, are left out.",
        .user = "request fewer.",
    },
    {
        .number = NI_F_HCA_TRAFFIC_CLASS,
        .id = "hca.traffic-class",
        .cost = NI_COST_NOTHING,
        .note = "Nothing to do if the fabric expects this class; NCCL_IB_TC has no effect.",
    },
    {
        .number = NI_F_IB_PKEY_EMPTY,
        .id = "ib.pkey.empty",
        .cost = NI_COST_FAILS,
        .user = "set NCCL_IB_PKEY to the index of the job's partition, the same partition in all "
                "pods.",
        .admin = "let the subnet manager put the port into it.",
    },
    {
        .number = NI_F_IB_PKEY_LIMITED,
        .id = "ib.pkey.limited",
        .cost = NI_COST_MAY_FAIL,
        .user = "set NCCL_IB_PKEY to the index of the full member if the job runs in that "
                "partition, in all pods alike.",
    },
    {
        .number = NI_F_IMEX_CHANNEL_MISSING,
        .id = "imex.channel.missing",
        .cost = NI_COST_SLOWER,
        .user = "claim a ComputeDomain channel (DRA), or set NCCL_MNNVL_ENABLE=0.",
    },
    {
        .number = NI_F_IOMMU_SLOW,
        .id = "iommu.slow",
        .cost = NI_COST_SLOWER,
        .admin = "boot the node with iommu=pt (OpenShift: a MachineConfig).",
    },
    {
        .number = NI_F_IOMMU_TRANSLATED,
        .id = "iommu.translated",
        .cost = NI_COST_FAILS,
        .note = "Locked memory is not the cause.",
        .admin = "boot the node with iommu=pt (OpenShift: a MachineConfig).",
    },
    {
        .number = NI_F_NET_EFA,
        .id = "net.efa",
        .cost = NI_COST_NOTHING,
        .note = "Nothing to do if the image has the OFI plugin (aws-ofi-nccl); without it NCCL "
                "uses TCP.",
    },
    {
        .number = NI_F_NICS_NOT_FUSED,
        .id = "nics.not-fused",
        .cost = NI_COST_NOTHING,
        .user = "if speed counts, leave one of the first two out with --hcas.",
        .admin = "give a pod one VF of each port.",
    },
    {
        .number = NI_F_NVSHMEM_IBGDA,
        .id = "nvshmem.ibgda",
        .cost = NI_COST_MAY_FAIL,
        .admin = "load the GPU driver with NVreg_RegistryDwords=\"PeerMappingOverride=1;\", or "
                 "install GDRCopy (gdrdrv).",
    },
    {
        .number = NI_F_PCI_LINK_SLOW,
        .id = "pci.link.slow",
        .cost = NI_COST_SLOWER,
        .admin = "reseat the card or riser; check the slot's setting and AER errors.",
    },
    {
        .number = NI_F_RAIL_MISSING,
        .id = "rail.missing",
        .cost = NI_COST_SLOWER,
        .user = "request an RDMA device near each GPU.",
        .admin = "allocate them together (Topology Manager, DRA).",
    },
    {
        .number = NI_F_RAIL_MTU_DIFFERS,
        .id = "rail.mtu.differs",
        .cost = NI_COST_SLOWER,
        .admin = "set one MTU for all rails on network attachments, PFs and switches.",
    },
    {
        .number = NI_F_RAIL_MTU_SMALL,
        .id = "rail.mtu.small",
        .cost = NI_COST_NOTHING,
        .admin = "if the switches allow it, set MTU 9000 on attachments, PFs and switches.",
    },
    {
        .number = NI_F_RAIL_RATE_DIFFERS,
        .id = "rail.rate.differs",
        .cost = NI_COST_SLOWER,
        .admin_first = true,
        .admin = "check the cable, the transceiver and the switch port.",
        .user = "until then leave the rail out (--hcas).",
    },
    {
        .number = NI_F_RAIL_SLOW,
        .id = "rail.slow",
        .cost = NI_COST_SLOWER,
        .admin_first = true,
        .admin = "check the cable and the switch port.",
        .user = "to use it as it is, name all rails in --hcas.",
    },
    {
        .number = NI_F_RDMA_CGROUP_LOW,
        .id = "rdma.cgroup.low",
        .cost = NI_COST_MAY_FAIL,
        .admin = "raise rdma.max of the pod's cgroup, or leave it at max.",
    },
    {
        .number = NI_F_RDMA_NETNS_EXCLUSIVE,
        .id = "rdma.netns.exclusive",
        .cost = NI_COST_RDMA,
        .admin = "chain the rdma CNI plugin after sriov, or run `rdma system set netns shared`.",
    },
};
_Static_assert(NI_COUNT(ni_device_findings) == NI_FINDINGS_DEVICE_END - NI_FINDINGS_DEVICE,
               "one row for each");
