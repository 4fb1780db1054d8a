/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the catalogue (nccl_init/findings.h): what only doctor's checks report. */
#ifndef NCCL_INIT_DOCTOR_FINDINGS_H
#define NCCL_INIT_DOCTOR_FINDINGS_H

#define NI_DOCTOR_FINDINGS(X)                                                                     \
    X(GPU_NUMA_EMPTY, "gpu.numa.empty", NI_WARNING,                                               \
      "User: set NCCL_CUMEM_HOST_ENABLE=0 on all ranks of the job. Cluster admin: populate the "  \
      "memory channels, or let the firmware make one NUMA node of each socket.")                  \
    X(HCA_ERRORS_LINK, "hca.errors.link", NI_WARNING,                                             \
      "Cluster admin: check the cable and the switch port; numbers that grow mean a failing "     \
      "link.")                                                                                    \
    X(HCA_ERRORS_TRANSPORT, "hca.errors.transport", NI_INFO,                                      \
      "Cluster admin: if they grow during a job, check PFC, ECN and dropped packets on the "      \
      "switches.")                                                                                \
    X(HCA_TRAFFIC_CLASS, "hca.traffic-class", NI_INFO,                                            \
      "Nothing to do if the fabric expects this class; NCCL_IB_TC has no effect.")                \
    X(HOST_NAME_LOOPBACK, "host.name.loopback", NI_WARNING,                                       \
      "User: start the job with --for=nccl,gloo, which sets GLOO_SOCKET_IFNAME, or "              \
      "correct /etc/hosts (hostAliases).")                                                        \
    X(NVSHMEM_IBGDA, "nvshmem.ibgda", NI_WARNING,                                                 \
      "Cluster admin: load the GPU driver with NVreg_RegistryDwords=\"PeerMappingOverride=1;\", " \
      "or install GDRCopy (gdrdrv).")                                                             \
    X(PCI_LINK_SLOW, "pci.link.slow", NI_WARNING,                                                 \
      "Cluster admin: reseat the card or riser; check the slot's setting and AER errors.")        \
    X(RAIL_MISSING, "rail.missing", NI_WARNING,                                                   \
      "User: request an RDMA device near each GPU. Cluster admin: allocate them together "        \
      "(Topology Manager, DRA).")                                                                 \
    X(RAIL_MTU_DIFFERS, "rail.mtu.differs", NI_WARNING,                                           \
      "Cluster admin: set one MTU for all rails on network attachments, PFs and switches.")       \
    X(RAIL_MTU_SMALL, "rail.mtu.small", NI_INFO,                                                  \
      "Cluster admin: if the switches allow it, set MTU 9000 on attachments, PFs and switches.")  \
    X(SHM_SMALL, "shm.small", NI_WARNING,                                                         \
      "User: give the emptyDir at /dev/shm 1 GiB or more (sizeLimit, or docker --shm-size).")

#endif
