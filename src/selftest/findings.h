/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the catalogue (nccl_init/findings.h): what only selftest reports. */
#ifndef NCCL_INIT_SELFTEST_FINDINGS_H
#define NCCL_INIT_SELFTEST_FINDINGS_H

#define NI_SELFTEST_FINDINGS(X)                                                                   \
    X(VERBS_MEMLOCK, "verbs.memlock", NI_ERROR,                                                   \
      "User: `nccl-init selftest --size=1M` tests the ports within the limit. Cluster admin: "    \
      "set memlock=-1:-1 in CRI-O's default_ulimits, or LimitMEMLOCK=infinity for containerd.")   \
    X(VERBS_NONE, "verbs.none", NI_WARNING,                                                       \
      "`nccl-init plan` shows why a device was left out. User: request an RDMA "                  \
      "resource in the pod spec. If TCP is meant, add --mode=tcp.")                               \
    X(VERBS_OPEN, "verbs.open", NI_ERROR,                                                         \
      "User: request the device by its resource. Cluster admin: the device plugin must hand out " \
      "the uverbs node of a device of the pod's own network namespace.")                          \
    X(VERBS_PORT, "verbs.port", NI_ERROR,                                                         \
      "User: attach the device to its network. Cluster admin: check the link, the "               \
      "cable and, on InfiniBand, the subnet manager.")                                            \
    X(VERBS_PROCESS, "verbs.process", NI_ERROR,                                                   \
      "Cluster admin: check the node's kernel log (hung task, firmware, out of memory). User: "   \
      "give more time (--deadline) or memory, or raise the limit of processes.")                  \
    X(VERBS_PROTECTION, "verbs.protection", NI_ERROR,                                             \
      "Cluster admin: boot the node with iommu=pt (OpenShift: a MachineConfig).")                 \
    X(VERBS_PROVIDER, "verbs.provider", NI_WARNING,                                               \
      "User: test the port with `ib_write_bw` of the image; it uses the same libibverbs as "      \
      "NCCL.")                                                                                    \
    X(VERBS_RESOURCES, "verbs.resources", NI_ERROR,                                               \
      "Cluster admin: check the pod's memory limit and its RDMA cgroup (rdma.max).")              \
    X(VERBS_TRANSFER, "verbs.transfer", NI_ERROR,                                                 \
      "Cluster admin: check the node's kernel log, the firewall and the spoof check. If data "    \
      "came back wrong, take the HCA out of service.")

#endif
