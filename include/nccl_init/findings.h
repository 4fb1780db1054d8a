/* SPDX-License-Identifier: Apache-2.0 */
/* core: findings, what the program has to tell people. The catalogue is one table; docs/findings.md
   has a heading per id. */
#ifndef NCCL_INIT_FINDINGS_H
#define NCCL_INIT_FINDINGS_H

#include "nccl_init/core.h"

enum ni_severity { NI_INFO, NI_WARNING, NI_ERROR };

/* X(name, "permanent.id", severity, "hint: an action, and whose"). Ids are never renamed or reused.
   Kept in the order of the ids. */
#define NI_FINDINGS(X)                                                                         \
    X(ALLOC_DUPLICATE, "alloc.duplicate", NI_INFO, "Nothing to do: each device is used once.") \
    X(ALLOC_ID_INVALID, "alloc.id.invalid", NI_WARNING,                                        \
      "Cluster admin: look at what sets the variable: a device plugin writes PCI addresses "   \
      "(0000:3b:00.2) or auxiliary names (mlx5_core.sf.4).")                                   \
    X(ALLOC_INFO_INVALID, "alloc.info.invalid", NI_WARNING,                                    \
      "The JSON is ignored; the plain list decides. Cluster admin: look at what writes the "   \
      "variable.")                                                                             \
    X(ALLOC_NO_DEVICE, "alloc.no-device", NI_WARNING,                                          \
      "The address is not on this node: was the variable copied from another pod or node? "    \
      "User: restart the pod so that the device plugin allocates anew.")                       \
    X(ALLOC_NOT_RDMA, "alloc.not-rdma", NI_INFO,                                               \
      "Nothing to do if the device is no NIC (accelerator, vfio). For a NIC: the cluster "     \
      "admin sets isRdma and a kernel driver with RDMA for the resource.")                     \
    X(ALLOC_NO_UVERBS, "alloc.no-uverbs", NI_WARNING,                                          \
      "User: request an RDMA resource in the pod spec: it brings the device nodes. Without "   \
      "them NCCL says `NET/IB : Unable to open device`.")                                      \
    X(ALLOC_RDMA_DEV_DIFFERS, "alloc.rdma-dev.differs", NI_WARNING,                            \
      "The name from sysfs is used. The pod's variables are older than the node's last "       \
      "driver reload or reboot: user: restart the pod.")                                       \
    X(ALLOC_SOURCES_DIFFER, "alloc.sources.differ", NI_WARNING,                                \
      "The first source decides. If the device is the pod's, its allocation and its network "  \
      "attachment disagree: restart the pod; cluster admin: look at the device plugin.")       \
    X(ALLOC_TOO_MANY, "alloc.too-many", NI_WARNING,                                            \
      "More than any plugin gives: user: look at what sets the variable.")                     \
    X(CAPS_DROP_BOUNDING, "caps.drop.bounding", NI_WARNING,                                    \
      "User: leave the capability out of securityContext.capabilities, or add SETPCAP there, " \
      "so that it can be dropped.")                                                            \
    X(CAPS_KEEP_MISSING, "caps.keep.missing", NI_WARNING,                                      \
      "User: add it to securityContext.capabilities. For CAP_IPC_LOCK of another user than "   \
      "root: also `setcap cap_ipc_lock=p nccl-init` in the image, without no_new_privs.")      \
    X(CONF_HOME_DIFFERS, "conf.home.differs", NI_WARNING,                                      \
      "User: set HOME to the home in /etc/passwd, or name one file in NCCL_CONF_FILE, which "  \
      "NCCL 2.23.4 and later read.")                                                           \
    X(CONF_NVSHMEM, "conf.nvshmem", NI_WARNING,                                                \
      "User: take the line out of the file: to NVSHMEM it counts for more than the "           \
      "environment.")                                                                          \
    X(CONF_UNREADABLE, "conf.unreadable", NI_WARNING,                                          \
      "Make the file readable for the user of the pod, or remove it: NCCL reads it too.")      \
    X(EXEC_PID1_NO_INIT, "exec.pid1.no-init", NI_INFO,                                         \
      "User: `tini -g -- nccl-init -- COMMAND` (docker: --init), or share the PID namespace.") \
    X(FACT_TRUNCATED, "fact.truncated", NI_WARNING,                                            \
      "Those beyond are not looked at. User: tell the developers, with a `nccl-init snapshot " \
      "--mask`.")                                                                              \
    X(FACT_UNREADABLE, "fact.unreadable", NI_WARNING,                                          \
      "The rule that needs this file went without it. Cluster admin: give the pod read "       \
      "access to it.")                                                                         \
    X(GDR_DMABUF_OFF, "gdr.dmabuf.off", NI_ERROR,                                              \
      "User: remove NCCL_DMABUF_ENABLE=0: without a peer memory module DMA-BUF is the only "   \
      "way to GPUDirect RDMA.")                                                                \
    X(GDR_DMABUF_RCCL, "gdr.dmabuf.rccl", NI_WARNING,                                          \
      "User: set NCCL_DMABUF_ENABLE=1; before ROCm 7.11 mount the node's /boot too, "          \
      "or RCCL crashes. Cluster admin: load a driver with amdkfd's peer memory "               \
      "instead.")                                                                              \
    X(GDR_DRIVER_ORDER, "gdr.driver.order", NI_WARNING,                                        \
      "Cluster admin: install MLNX_OFED or DOCA first, then build and install the GPU driver " \
      "anew, then load nvidia-peermem; or use the open GPU kernel modules.")                   \
    X(GDR_PEERMEM_BOTH, "gdr.peermem.both", NI_INFO,                                           \
      "Nothing to do: NCCL uses DMA-BUF where both are there.")                                \
    X(GDR_PEERMEM_HIDDEN, "gdr.peermem.hidden", NI_INFO,                                       \
      "User: use NCCL 2.23.4 or later; older ones do not see this nvidia-peermem.")            \
    X(GDR_UNAVAILABLE, "gdr.unavailable", NI_WARNING,                                          \
      "Cluster admin: load nvidia-peermem, or install the open GPU kernel modules (DMA-BUF, "  \
      "kernel 5.12 or later).")                                                                \
    X(GID_INDEX_DIFFERS, "gid.index.differs", NI_INFO,                                         \
      "User: use no NCCL before 2.21.5 in this pod; later ones search per HCA.")               \
    X(GID_LINK_LOCAL, "gid.link-local", NI_WARNING,                                            \
      "Cluster admin: give the interface an IPv4 or a routable IPv6 address (network "         \
      "attachment, IPAM).")                                                                    \
    X(GID_NONE, "gid.none", NI_WARNING,                                                        \
      "Cluster admin: give the port's interface an address (network attachment, IPAM); "       \
      "without one there is no RoCE GID.")                                                     \
    X(GID_OWNER_UNKNOWN, "gid.owner.unknown", NI_WARNING,                                      \
      "Cluster admin: let the pod read /proc/net/fib_trie, or look at the address yourself: "  \
      "in a shared RDMA namespace the entry may be another pod's.")                            \
    X(GID_SEARCH_WRONG, "gid.search.wrong", NI_ERROR,                                          \
      "No single index and no search setting of NCCL is right for all ports. Cluster admin: "  \
      "give each port one address, or one subnet that only this pod uses.")                    \
    X(GID_SUBNETS, "gid.subnets.mixed", NI_INFO,                                               \
      "User: if tables of other pods have another order, NCCL_IB_ADDR_RANGE=SUBNET keeps all " \
      "ports on one subnet. Cluster admin: one subnet for each port.")                         \
    X(GID_V1_ONLY, "gid.v1-only", NI_WARNING,                                                  \
      "Cluster admin: enable RoCE v2 on the port (cma_roce_mode, firmware); RoCE v1 does not " \
      "cross subnets.")                                                                        \
    X(GPU_HCA_FAR, "gpu.hca.far", NI_WARNING,                                                  \
      "Cluster admin: allocate GPUs and HCAs of one NUMA node together (DRA, or Topology "     \
      "Manager: best-effort, since single-numa-node rejects a pod that needs two nodes); "     \
      "user: request an HCA for each GPU.")                                                    \
    X(GPU_NODE_MISSING, "gpu.node.missing", NI_ERROR,                                          \
      "User: request the GPU by its resource (nvidia.com/gpu) or NVIDIA_VISIBLE_DEVICES; "     \
      "cluster admin: look at the container toolkit. CUDA does not start without the node.")   \
    X(HCA_ERRORS_LINK, "hca.errors.link", NI_WARNING,                                          \
      "Cluster admin: look at cable, transceiver and switch port, and look again later:"       \
      " a number that grows is a link that fails.")                                            \
    X(HCA_ERRORS_TRANSPORT, "hca.errors.transport", NI_INFO,                                   \
      "Cluster admin: if the numbers grow during a job, look at PFC, ECN and the "             \
      "switches' drops.")                                                                      \
    X(HCA_LINK_MIXED, "hca.link.mixed", NI_WARNING,                                            \
      "A job that uses InfiniBand and RoCE ports together dies in NCCL; user: request "        \
      "devices of one kind.")                                                                  \
    X(HCA_NAME_INVALID, "hca.name.invalid", NI_ERROR,                                          \
      "NCCL_IB_HCA cannot carry this name; cluster admin: rename the device (rdma dev set "    \
      "name).")                                                                                \
    X(HCA_NETDEV_NONE, "hca.netdev.none", NI_WARNING,                                          \
      "User: add the network attachment (k8s.v1.cni.cncf.io/networks) that belongs to the "    \
      "resource; a RoCE device without an interface in the pod has no GID.")                   \
    X(HCA_NODE_DENIED, "hca.node.denied", NI_ERROR,                                            \
      "User: request the device by its resource instead of mounting /dev/infiniband, so that " \
      "the runtime also opens it in the device cgroup.")                                       \
    X(HCA_NODE_LOST, "hca.node.lost", NI_WARNING,                                              \
      "Cluster admin: have the device plugin hand out the HCA's uverbs node (isRdma: true); "  \
      "`nccl-init doctor` tells more. User: --require=rdma refuses to start without it.")      \
    X(HCA_NODE_MISSING, "hca.node.missing", NI_ERROR,                                          \
      "Cluster admin: the device plugin must hand out the device's uverbs node (isRdma: "      \
      "true), and ib_uverbs must be loaded on the node.")                                      \
    X(HCA_NONE, "hca.none", NI_INFO,                                                           \
      "For RDMA, user: request an SR-IOV or RDMA resource in the pod spec.")                   \
    X(HCA_NONE_USABLE, "hca.none-usable", NI_ERROR,                                            \
      "User: look at each device's reason in `nccl-init plan`; over TCP a job is far slower.") \
    X(HCA_NOT_SHOWN, "hca.not-shown", NI_INFO,                                                 \
      "Nothing to do: those the pod was given are all there; the list of the others is cut.")  \
    X(HCA_PLACE_LOST, "hca.place.lost", NI_INFO,                                               \
      "NCCL attaches such an HCA to the first CPU; before 2.20.3 the job may die "             \
      "(`Attribute busid of node nic not found`). User: set NCCL_TOPO_FILE if "                \
      "GPUs sit at another CPU, or NCCL is that old.")                                         \
    X(HCA_PORT_DISABLED, "hca.port.disabled", NI_WARNING,                                      \
      "User: add this device's network attachment to the pod; cluster admin: link state auto " \
      "for the VF, and the PF's interface up, with cable and switch port.")                    \
    X(HCA_PORT_DOWN, "hca.port.down", NI_WARNING,                                              \
      "User: is the device attached to the pod's network? Cluster admin: link, cable, switch " \
      "port, subnet manager.")                                                                 \
    X(HCA_PORT_NO_SM, "hca.port.no-sm", NI_WARNING,                                            \
      "Cluster admin: see that a subnet manager runs in the fabric, and on virtual functions " \
      "that it knows their GUIDs.")                                                            \
    X(HCA_PORT_POLLING, "hca.port.polling", NI_WARNING,                                        \
      "Cluster admin: look at cable, transceiver and switch port; the physical link does not " \
      "come up.")                                                                              \
    X(HCA_PORT_SLOW, "hca.port.slow", NI_INFO,                                                 \
      "Nothing to do if it is the management or storage port; to use it, name it in --hcas.")  \
    X(HCA_SOFTROCE_MIXED, "hca.softroce.mixed", NI_WARNING,                                    \
      "User: give the pod RDMA devices of one kind, or name those of one kind (--hcas).")      \
    X(HCA_TOO_MANY, "hca.too-many", NI_WARNING,                                                \
      "NCCL uses 32 ports at most; those beyond, in PCI order, are left out. User: request "   \
      "fewer.")                                                                                \
    X(HCA_TRAFFIC_CLASS, "hca.traffic-class", NI_INFO,                                         \
      "Nothing to do if the fabric expects it; NCCL_IB_TC has no effect.")                     \
    X(HOST_NAME_LOOPBACK, "host.name.loopback", NI_WARNING,                                    \
      "User: --for=nccl,gloo sets GLOO_SOCKET_IFNAME; or mend /etc/hosts (hostAliases, "       \
      "the image's entrypoint).")                                                              \
    X(IMEX_CHANNEL_MISSING, "imex.channel.missing", NI_WARNING,                                \
      "User: claim a ComputeDomain channel (NVIDIA's DRA driver), or set "                     \
      "NCCL_MNNVL_ENABLE=0 where the job uses no NVLink between nodes.")                       \
    X(IOMMU_SLOW, "iommu.slow", NI_WARNING,                                                    \
      "Cluster admin: boot the node with iommu=pt (OpenShift: a MachineConfig); the group's "  \
      "type then reads identity.")                                                             \
    X(IOMMU_TRANSLATED, "iommu.translated", NI_ERROR,                                          \
      "Cluster admin: boot the node with iommu=pt (OpenShift: a MachineConfig); the group's "  \
      "type then reads identity. Raising the memlock limit does not help.")                    \
    X(JOB_ALONE, "job.alone", NI_INFO,                                                         \
      "Nothing to do for a job of one pod; `nccl-init selftest` tries its ports. Else "        \
      "user: tell preflight how many pods there are (--ranks).")                               \
    X(JOB_CPU_DIFFERS, "job.cpu.differs", NI_WARNING,                                          \
      "User: keep a job on nodes of one kind: NCCL tunes its algorithms by the CPU, "          \
      "and ranks that choose differently hang.")                                               \
    X(JOB_DRIVER_DIFFERS, "job.driver.differs", NI_WARNING,                                    \
      "Cluster admin: bring the nodes to one version of the GPU driver.")                      \
    X(JOB_GID_DIFFERS, "job.gid.differs", NI_ERROR,                                            \
      "Cluster admin: give the rail one kind of address and RoCE v2 on all nodes. "            \
      "User: NCCL_IB_ROCE_VERSION_NUM and NCCL_IB_ADDR_FAMILY must be the same in all "        \
      "pods.")                                                                                 \
    X(JOB_GPUS_DIFFER, "job.gpus.differ", NI_WARNING,                                          \
      "User: request the same number of GPUs in all pods: NCCL may hang where ranks "          \
      "per node differ.")                                                                      \
    X(JOB_HOSTID_SAME, "job.hostid.same", NI_ERROR,                                            \
      "User: leave NCCL_HOSTID unset, or give each node its own: pods with the same "          \
      "value take each other for one host, and try shared memory between nodes.")              \
    X(JOB_LINK_DIFFERS, "job.link.differs", NI_ERROR,                                          \
      "InfiniBand and RoCE cannot be mixed. User: name HCAs of one link layer "                \
      "(--hcas); cluster admin: keep the nodes' rails alike.")                                 \
    X(JOB_MISSING, "job.missing", NI_ERROR,                                                    \
      "User: look at these pods (`kubectl get pods -o wide`): pending, restarting, or "        \
      "started with other variables? A NetworkPolicy must let them reach pod 0 on the "        \
      "port of preflight.")                                                                    \
    X(JOB_MTU_DIFFERS, "job.mtu.differs", NI_WARNING,                                          \
      "Cluster admin: set one MTU on the rail's interfaces, and at least that MTU on "         \
      "the switch. Until then NCCL sends smaller packets, also on other connections of "       \
      "these pods.")                                                                           \
    X(JOB_NODE_SHARED, "job.node.shared", NI_INFO,                                             \
      "To NCCL each pod is a host of its own: between them it uses the rails, not "            \
      "NVLink. User: one pod with all GPUs of the node is faster.")                            \
    X(JOB_PATH_FAILED, "job.path.failed", NI_ERROR,                                            \
      "Cluster admin: the ports work, but the path between them does not: look at its "        \
      "switches, routes and filters. NCCL would wait 34 s for it, then fail with "             \
      "IBV_WC_RETRY_EXC_ERR.")                                                                 \
    X(JOB_PATH_UNSTEADY, "job.path.unsteady", NI_WARNING,                                      \
      "Cluster admin: packets of some connections are lost, as when one of several "           \
      "links between switches is broken: look at the error counters of the uplinks.")          \
    X(JOB_PKEY_DIFFERS, "job.pkey.differs", NI_ERROR,                                          \
      "Packets of another partition are dropped. User: NCCL_IB_PKEY is an index: it "          \
      "must lead to the same P_Key in all pods. Cluster admin: look at the partitions "        \
      "of the subnet manager.")                                                                \
    X(JOB_POD_LOST, "job.pod.lost", NI_ERROR,                                                  \
      "User: look why the pod ended: its log, `kubectl describe pod`, the node's "             \
      "memory.")                                                                               \
    X(JOB_RAIL_ALL, "job.rail.all", NI_ERROR,                                                  \
      "Cluster admin: what all pods share on this rail is at fault: its switch, VLAN, "        \
      "routes or filters. UDP port 4791 must pass for RoCE.")                                  \
    X(JOB_RAIL_BELOW, "job.rail.below", NI_WARNING,                                            \
      "Cluster admin: look at the port's speed, PCIe link, cable and congestion on "           \
      "its switch. The slowest rail sets the pace of the job.")                                \
    X(JOB_RAIL_FAILED, "job.rail.failed", NI_ERROR,                                            \
      "Cluster admin: look at the port, its cable and switch port, VLAN and filters. "         \
      "User: until then keep the job off this node, or leave the rail out in all pods "        \
      "(--hcas).")                                                                             \
    X(JOB_RAIL_SLOW, "job.rail.slow", NI_ERROR,                                                \
      "Cluster admin: look at the port's speed, PCIe link, cable and the limits on "           \
      "its switch port. User: until then keep the job off this node: the slowest rail "        \
      "sets the pace.")                                                                        \
    X(JOB_RAIL_UNTRIED, "job.rail.untried", NI_WARNING,                                        \
      "Nothing is known of this rail between the pods. User: `nccl-init selftest` in "         \
      "the pod says more.")                                                                    \
    X(JOB_RAILS_DIFFER, "job.rails.differ", NI_ERROR,                                          \
      "User: request the same RDMA devices in all pods; `nccl-init doctor` there says "        \
      "why one is left out. NCCL with unlike numbers of NICs fails or hangs.")                 \
    X(JOB_RANK_TWICE, "job.rank.twice", NI_ERROR,                                              \
      "User: give each pod a rank of its own; where two pods share one, another rank "         \
      "is missing. Look for a pod of an earlier attempt.")                                     \
    X(JOB_RATE_DIFFERS, "job.rate.differs", NI_WARNING,                                        \
      "Cluster admin: look at the port's speed and cable: NCCL makes all rails as "            \
      "slow as this one.")                                                                     \
    X(JOB_RATE_LOW, "job.rate.low", NI_WARNING,                                                \
      "Cluster admin: all are slow alike: look at the PCIe slots (a 400 Gb/s port "            \
      "needs Gen5 x16), at flow control and at other jobs on the fabric.")                     \
    X(JOB_RDMA_NONE, "job.rdma.none", NI_WARNING,                                              \
      "NCCL will use sockets in all pods. User: request an RDMA resource in the pod "          \
      "spec if this was not meant, and --require=rdma to be told so.")                         \
    X(JOB_REFUSED, "job.refused", NI_INFO,                                                     \
      "It took no part. If it belongs to the job, user: give all pods one image, one "         \
      "number of pods (--ranks) and one key (--job); else a pod of an earlier attempt is "     \
      "still there.")                                                                          \
    X(JOB_SETTING_DIFFERS, "job.setting.differs", NI_ERROR,                                    \
      "User: set the variable alike in all pods, nccl.conf in the images included: "           \
      "NCCL does not compare it, and fails or hangs.")                                         \
    X(JOB_SETTING_SLOWS, "job.setting.slows", NI_WARNING,                                      \
      "User: set the variable alike in all pods, nccl.conf in the images included: "           \
      "one rank that differs makes all of them slower.")                                       \
    X(JOB_SUBNET_DIFFERS, "job.subnet.differs", NI_WARNING,                                    \
      "Cluster admin: give the rail addresses of one subnet, or a route between its "          \
      "subnets; are two rails of the pod swapped?")                                            \
    X(JOB_TRANSPORT_DIFFERS, "job.transport.differs", NI_ERROR,                                \
      "User: NCCL_NET, NCCL_IB_DISABLE, NCCLINIT_MODE and the RDMA devices must be "           \
      "alike in all pods: NCCL with IB in one and sockets in another fails or hangs.")         \
    X(JOB_VERSIONS_DIFFER, "job.versions.differ", NI_INFO,                                     \
      "Nothing to do if the job runs. If it does not, user, cluster admin: install one "       \
      "version everywhere first.")                                                             \
    X(LOG_COMM_ID, "log.comm-id", NI_ERROR,                                                    \
      "User: unset NCCL_COMM_ID: torchrun and mpirun do not need it.")                         \
    X(LOG_CUDA, "log.cuda", NI_ERROR,                                                          \
      "User: compare the driver of the node with the CUDA of the image, and look at the "      \
      "GPU's memory.")                                                                         \
    X(LOG_FAILED, "log.failed", NI_ERROR,                                                      \
      "User: set NCCL_DEBUG=INFO and look at the rank that failed first.")                     \
    X(LOG_GDR, "log.gdr", NI_WARNING,                                                          \
      "User: `nccl-init doctor` in the pod tells why: driver, distance, NCCL_NET_GDR_LEVEL "   \
      "or NCCL_NET_GDR_READ.")                                                                 \
    X(LOG_GPU_SHARED, "log.gpu.shared", NI_ERROR,                                              \
      "User: give each process its own GPU (LOCAL_RANK), and each node its own rank "          \
      "(NODE_RANK).")                                                                          \
    X(LOG_HCA_FATAL, "log.hca.fatal", NI_ERROR,                                                \
      "Cluster admin: look at the node's kernel log, the firmware, and ACS; take the HCA "     \
      "out of service.")                                                                       \
    X(LOG_HCA_PORT, "log.hca.port", NI_WARNING,                                                \
      "Cluster admin: look at cable and switch port, and at who changes the interface's "      \
      "addresses.")                                                                            \
    X(LOG_LIBIBVERBS, "log.libibverbs", NI_WARNING,                                            \
      "User: install libibverbs1 and ibverbs-providers (RHEL: libibverbs) in the image.")      \
    X(LOG_LINES_LOST, "log.lines.lost", NI_INFO, "User: set RAY_DEDUP_LOGS=0 for Ray.")        \
    X(LOG_NONE, "log.none", NI_ERROR,                                                          \
      "User: run the job with NCCL_DEBUG=INFO "                                                \
      "NCCL_DEBUG_SUBSYS=INIT,BOOTSTRAP,ENV,NET,GRAPH and give what it prints.")               \
    X(LOG_NVLS, "log.nvls", NI_WARNING,                                                        \
      "Cluster admin: look at the fabric manager. User: NCCL_NVLS_ENABLE=0 turns "             \
      "NVLink multicast off.")                                                                 \
    X(LOG_PEER_DIED, "log.peer.died", NI_ERROR,                                                \
      "User: find the rank that failed first; its log counts.")                                \
    X(LOG_PEER_REFUSED, "log.peer.refused", NI_ERROR,                                          \
      "User: look whether that pod runs, and which interface it listens on: "                  \
      "NCCL_SOCKET_IFNAME.")                                                                   \
    X(LOG_PEER_SILENT, "log.peer.silent", NI_ERROR,                                            \
      "User: find the rank that failed first; if none died, test rail by rail. Cluster "       \
      "admin: link, MTU, PFC, and a firewall for UDP 4791.")                                   \
    X(LOG_PEER_STRANGER, "log.peer.stranger", NI_WARNING,                                      \
      "User: keep probes, scanners and the service mesh off the job's ports.")                 \
    X(LOG_PEER_UNREACHABLE, "log.peer.unreachable", NI_ERROR,                                  \
      "Cluster admin: look at NetworkPolicy, firewall and routes between the pods. User: "     \
      "NCCL_SOCKET_IFNAME must name the network that joins them.")                             \
    X(LOG_PLAN_DIFFERS, "log.plan.differs", NI_WARNING,                                        \
      "User: look at who sets it: the launcher, the image, an nccl.conf.")                     \
    X(LOG_RAILS_DIFFER, "log.rails.differ", NI_WARNING,                                        \
      "User: request the same number of RDMA devices in each pod.")                            \
    X(LOG_RANKS_CONFLICT, "log.ranks.conflict", NI_ERROR,                                      \
      "User: look at RANK, WORLD_SIZE and MASTER_PORT of each pod, and for processes of an "   \
      "earlier attempt.")                                                                      \
    X(LOG_RANKS_MISSING, "log.ranks.missing", NI_ERROR,                                        \
      "User: look whether these pods run, and give their logs too.")                           \
    X(LOG_RDMA_REMOTE, "log.rdma.remote", NI_ERROR,                                            \
      "User: look in the other rank's log for an event of its HCA or an earlier error.")       \
    X(LOG_RENDEZVOUS, "log.rendezvous", NI_ERROR,                                              \
      "User: look at rank 0's log, MASTER_ADDR and MASTER_PORT.")                              \
    X(LOG_SETTING_DIFFERS, "log.setting.differs", NI_WARNING,                                  \
      "User: give all ranks the same NCCL_* variables; only names and indexes may differ.")    \
    X(LOG_SOCKETS, "log.sockets", NI_ERROR,                                                    \
      "User: `nccl-init doctor` in the pod of these ranks tells why; over TCP a job is far "   \
      "slower.")                                                                               \
    X(LOG_TIMEOUT, "log.timeout", NI_ERROR,                                                    \
      "User: find the rank that is missing or in another collective; then test the rails.")    \
    X(LOG_UNFINISHED, "log.unfinished", NI_WARNING,                                            \
      "User: look at the ranks that have no line, or whose last line is the oldest.")          \
    X(LOG_VERSION_DIFFERS, "log.version.differs", NI_ERROR,                                    \
      "User: start all ranks from the same image.")                                            \
    X(MEMLOCK_HARMLESS, "memlock.harmless", NI_INFO,                                           \
      "Nothing to do: CAP_IPC_LOCK lifts the limit for the command.")                          \
    X(MEMLOCK_LOW, "memlock.low", NI_WARNING,                                                  \
      "Cluster admin, for all pods: memlock=-1:-1 in CRI-O's default_ulimits, "                \
      "LimitMEMLOCK=infinity in a drop-in of containerd; else ibv_reg_mr may fail with "       \
      "ENOMEM.")                                                                               \
    X(MEMLOCK_TOO_LOW, "memlock.too-low", NI_ERROR,                                            \
      "Cluster admin, for all pods: memlock=-1:-1 in CRI-O's default_ulimits, "                \
      "LimitMEMLOCK=infinity in a drop-in of containerd, or ulimits in the pod's "             \
      "securityContext (KEP-5758).")                                                           \
    X(NET_EFA, "net.efa", NI_INFO,                                                             \
      "Nothing to do where the image has the OFI plugin (aws-ofi-nccl); else NCCL goes over "  \
      "TCP.")                                                                                  \
    X(NVSHMEM_IBGDA, "nvshmem.ibgda", NI_WARNING,                                              \
      "Cluster admin: load the nvidia module with "                                            \
      "NVreg_RegistryDwords=\"PeerMappingOverride=1;\", "                                      \
      "or install GDRCopy (gdrdrv) and give its node to the pod.")                             \
    X(OPTION_INVALID, "option.invalid", NI_WARNING,                                            \
      "It is ignored. User: see `nccl-init --help` for what it may be.")                       \
    X(PCI_LINK_SLOW, "pci.link.slow", NI_WARNING,                                              \
      "Cluster admin: reseat the card or its riser, look at the slot's setting in the "        \
      "firmware, and at the kernel log for AER errors.")                                       \
    X(RAIL_FIRMWARE_DIFFERS, "rail.firmware.differs", NI_WARNING,                              \
      "Cluster admin: bring the NICs of the node to one firmware version.")                    \
    X(RAIL_MISSING, "rail.missing", NI_WARNING,                                                \
      "User: request one RDMA device for each GPU, of the resource that is near it. "          \
      "Cluster admin: Topology Manager, or DRA.")                                              \
    X(RAIL_MTU_DIFFERS, "rail.mtu.differs", NI_WARNING,                                        \
      "Cluster admin: one MTU for all rails, in the network attachments, on the PFs and on "   \
      "the switches.")                                                                         \
    X(RAIL_MTU_SMALL, "rail.mtu.small", NI_INFO,                                               \
      "Cluster admin: an MTU of 9000 on PF, VF and switch lets RoCE send packets of 4096 "     \
      "bytes.")                                                                                \
    X(RAIL_RATE_DIFFERS, "rail.rate.differs", NI_WARNING,                                      \
      "Cluster admin: look at cable, transceiver and switch port of the slow rail; user: a "   \
      "slower kind of NIC is better left out with --hcas.")                                    \
    X(RAIL_SLOW, "rail.slow", NI_WARNING,                                                      \
      "Cluster admin: check cable, transceiver, switch port and its speed. User: if "          \
      "it is a storage port, name the rails in --hcas.")                                       \
    X(RDMA_CGROUP_LOW, "rdma.cgroup.low", NI_WARNING,                                          \
      "Cluster admin: raise rdma.max of the pod's cgroup, or leave it at max.")                \
    X(RDMA_CM_MISSING, "rdma.cm.missing", NI_INFO,                                             \
      "Nothing to do for NCCL. For programs that use librdmacm, cluster admin: let the "       \
      "device plugin hand out /dev/infiniband/rdma_cm.")                                       \
    X(RDMA_NETNS_EXCLUSIVE, "rdma.netns.exclusive", NI_ERROR,                                  \
      "Cluster admin: chain the rdma CNI plugin behind sriov in the network attachment, or "   \
      "set the node to shared mode (rdma system set netns shared).")                           \
    X(REQUIRE_GDR, "require.gdr", NI_ERROR,                                                    \
      "The command is not started. Cluster admin: nvidia-peermem or the open GPU kernel "      \
      "modules; user: request GPU and HCA close to each other.")                               \
    X(REQUIRE_GPUS, "require.gpus", NI_ERROR,                                                  \
      "The command is not started. User: request GPUs by their resource (nvidia.com/gpu, "     \
      "amd.com/gpu).")                                                                         \
    X(REQUIRE_MEMLOCK, "require.memlock", NI_ERROR,                                            \
      "The command is not started. Cluster admin: memlock=-1:-1 in CRI-O's default_ulimits, "  \
      "LimitMEMLOCK=infinity for containerd; user: --keep-caps=ipc_lock.")                     \
    X(REQUIRE_RAILS, "require.rails", NI_ERROR,                                                \
      "The command is not started. User: request more RDMA devices; `nccl-init plan` tells "   \
      "why one was left out.")                                                                 \
    X(REQUIRE_RDMA, "require.rdma", NI_ERROR,                                                  \
      "The command is not started. User: request an RDMA resource, or leave the demand out.")  \
    X(REQUIRE_ROCE_V2, "require.roce-v2", NI_ERROR,                                            \
      "The command is not started. User: give each interface an address (network attachment, " \
      "IPAM); cluster admin: RoCE v2 on the port (cma_roce_mode).")                            \
    X(SHM_DEFAULT, "shm.default", NI_ERROR,                                                    \
      "User: mount an emptyDir with medium Memory at /dev/shm (docker: --shm-size=1g or "      \
      "more).")                                                                                \
    X(SHM_SMALL, "shm.small", NI_WARNING,                                                      \
      "User: give the emptyDir at /dev/shm 1 GiB or more (sizeLimit, or docker --shm-size).")  \
    X(SOCKET_NONE, "socket.none", NI_ERROR,                                                    \
      "NCCL dies with `no socket interface found` where no interface has an address. Cluster " \
      "admin: give the pod a network with a routable address, and set its interface up.")      \
    X(SOCKET_UNUSABLE, "socket.unusable", NI_WARNING,                                          \
      "User: name interfaces of the pod that are up and have an address, or leave "            \
      "--sockets=auto.")                                                                       \
    X(USER_ENV_PLUGIN, "user.env-plugin", NI_WARNING,                                          \
      "User: set it to none, or have the plugin pass on what the environment has.")            \
    X(USER_GDR_C2C, "user.gdr-level.c2c", NI_WARNING,                                          \
      "User: unset NCCL_NET_GDR_LEVEL on machines with NVLink-C2C.")                           \
    X(USER_GDR_OFF, "user.gdr-level.off", NI_WARNING,                                          \
      "User: unset NCCL_NET_GDR_LEVEL, so that nccl-init chooses.")                            \
    X(USER_GID_WRONG, "user.gid-index.wrong", NI_ERROR,                                        \
      "User: unset NCCL_IB_GID_INDEX and NCCL_IB_ADDR_*, empty ones too, or name an index "    \
      "that holds a RoCE v2 GID of this pod.")                                                 \
    X(USER_HCA_FOREIGN, "user.ib-hca.foreign", NI_WARNING,                                     \
      "User: unset NCCL_IB_HCA, or name devices of this pod; use '=' for exact names.")        \
    X(USER_HCA_LEFT_OUT, "user.ib-hca.left-out", NI_ERROR,                                     \
      "User: unset NCCL_IB_HCA, or name only ports that the plan keeps: a port without a GID " \
      "of this pod does not connect, a slow one slows all down.")                              \
    X(USER_HCA_NONE, "user.ib-hca.none", NI_ERROR,                                             \
      "User: unset NCCL_IB_HCA, or name devices of this pod: NCCL falls back to TCP "          \
      "silently.")                                                                             \
    X(USER_HCA_PREFIX, "user.ib-hca.prefix", NI_WARNING,                                       \
      "User: begin the list with '=': NCCL_IB_HCA==mlx5_1 is exact, NCCL_IB_HCA=mlx5_1 is a "  \
      "prefix.")                                                                               \
    X(USER_NAME_MISSPELT, "user.name.misspelt", NI_WARNING,                                    \
      "User: correct the name in the pod spec or env file; until then it has no "              \
      "effect.")                                                                               \
    X(USER_NAME_OBSOLETE, "user.name.obsolete", NI_INFO,                                       \
      "User: remove it from the pod spec or env file.")                                        \
    X(USER_NET_NONE, "user.net.none", NI_ERROR,                                                \
      "User: unset NCCL_NET: NCCL then uses RDMA where it can, and else TCP.")                 \
    X(USER_NET_OTHER, "user.net.other", NI_INFO,                                               \
      "Nothing to do: the plugin has its own settings.")                                       \
    X(USER_NICS_FUSED, "user.nics.fused", NI_WARNING,                                          \
      "User: unset NCCL_IB_MERGE_NICS, NCCL_NET_MERGE_LEVEL and NCCL_NET_FORCE_MERGE, "        \
      "so that nccl-init chooses.")                                                            \
    X(USER_SOCKET_FIRST, "user.socket-ifname.first", NI_WARNING,                               \
      "User: name the interface that reaches the other nodes, with '=' "                       \
      "(NCCL_SOCKET_IFNAME==eth0), or unset yours. On one node alone there is nothing to do.") \
    X(USER_SOCKET_NONE, "user.socket-ifname.none", NI_ERROR,                                   \
      "User: unset the variable, or let it fit an interface of the pod that has an address.")  \
    X(USER_TOPO_UNREADABLE, "user.topo-file.unreadable", NI_WARNING,                           \
      "User: unset NCCL_TOPO_FILE, or mount the file into the pod.")                           \
    X(USER_VALUE_EMPTY, "user.value.empty", NI_WARNING,                                        \
      "User: remove the variable, or give it a value: an empty value hides nccl-init's "       \
      "choice and the conf files.")                                                            \
    X(USER_VALUE_IGNORED, "user.value.ignored", NI_WARNING,                                    \
      "User: correct the value, or remove the variable.")                                      \
    X(USER_VLLM_HALF, "user.vllm.half", NI_ERROR,                                              \
      "User: set both variables or none; with neither, --for=vllm writes both where they can " \
      "be right.")                                                                             \
    X(VERBS_CONNECT, "verbs.connect", NI_ERROR,                                                \
      "User: leave NCCL_IB_GID_INDEX unset, so that nccl-init chooses. Cluster admin: "        \
      "look at the interface's address and routes. NCCL fails with the same number.")          \
    X(VERBS_CRASH, "verbs.crash", NI_ERROR,                                                    \
      "User: compare --size, times the number of ports, with the container's memory "          \
      "limit. Cluster admin: look at the node's kernel log.")                                  \
    X(VERBS_DATA, "verbs.data", NI_ERROR,                                                      \
      "Cluster admin: take the HCA out of service, and check its firmware and the "            \
      "node's memory errors.")                                                                 \
    X(VERBS_DMABUF, "verbs.dmabuf.none", NI_WARNING,                                           \
      "Cluster admin: load nvidia-peermem, or install an RDMA driver that has DMA-BUF.")       \
    X(VERBS_GID, "verbs.gid", NI_ERROR,                                                        \
      "User: leave NCCL_IB_GID_INDEX unset, so that nccl-init chooses. Cluster admin: "        \
      "give the port's interface an address (network attachment, IPAM).")                      \
    X(VERBS_GID_DIFFERS, "verbs.gid.differs", NI_WARNING,                                      \
      "User: try again: an address may have come or gone in between. If it stays so, "         \
      "/sys belongs to another network namespace; cluster admin: mount the pod's own.")        \
    X(VERBS_HANG, "verbs.hang", NI_ERROR,                                                      \
      "Cluster admin: look at the node's kernel log (hung task, firmware command); reset "     \
      "the device or reboot the node. User: give a slow device more time (--deadline).")       \
    X(VERBS_MEMLOCK, "verbs.memlock", NI_ERROR,                                                \
      "User: start the job with `nccl-init -- COMMAND`, with the right to raise the "          \
      "limit. Cluster admin: memlock=-1:-1 in CRI-O's default_ulimits, "                       \
      "LimitMEMLOCK=infinity for containerd.")                                                 \
    X(VERBS_NONE, "verbs.none", NI_WARNING,                                                    \
      "User: request an RDMA resource in the pod spec; `nccl-init plan` tells why a device "   \
      "was left out. Where TCP is meant: --mode=tcp.")                                         \
    X(VERBS_OPEN, "verbs.open", NI_ERROR,                                                      \
      "User: request the device by its resource. Cluster admin: the device plugin must "       \
      "hand out the uverbs node of a device of the pod's own network namespace.")              \
    X(VERBS_PORT, "verbs.port", NI_ERROR,                                                      \
      "User: check that the device is attached to the pod's network. Cluster admin: "          \
      "check link, cable, switch port and subnet manager.")                                    \
    X(VERBS_PROCESS, "verbs.process", NI_ERROR,                                                \
      "User: raise the pod's limit of processes, or its memory; each port is tried by a "      \
      "process of its own.")                                                                   \
    X(VERBS_PROTECTION, "verbs.protection", NI_ERROR,                                          \
      "Cluster admin: boot the node with iommu=pt (OpenShift: a MachineConfig). Raising "      \
      "the memlock limit does not help.")                                                      \
    X(VERBS_PROVIDER, "verbs.provider", NI_WARNING,                                            \
      "Nothing to do for NCCL, which uses the image's libibverbs. User: try the port "         \
      "with `ib_write_bw` of the image.")                                                      \
    X(VERBS_RESOURCES, "verbs.resources", NI_ERROR,                                            \
      "Cluster admin: look at the pod's memory limit, its RDMA cgroup (rdma.max), and at "     \
      "who else uses the device.")                                                             \
    X(VERBS_TRANSFER, "verbs.transfer", NI_ERROR,                                              \
      "Cluster admin: look at the node's kernel log, at firewall and spoof check, and "        \
      "whether the interface carries traffic from its own address to itself.")                 \
    X(WAIT_OVER, "wait.over", NI_WARNING,                                                      \
      "User: wait longer (--wait), or look at what should set it up: network attachment, "     \
      "IPAM, link.")

enum ni_finding_id {
#define NI_FINDING_ENUM(name, id, severity, hint) NI_F_##name,
    NI_FINDINGS(NI_FINDING_ENUM)
#undef NI_FINDING_ENUM
        NI_F_COUNT
};

struct ni_finding_kind {
    const char *id;
    enum ni_severity severity;
    const char *hint;
};

struct ni_finding {
    enum ni_finding_id id;
    char subject[96]; /* "mlx5_6/1", "PCIDEVICE_X", a path */
    char message[320];
};

enum { NI_MAX_FINDINGS = 256 };

/* In the order they were reported. When the table is full, later ones are only counted. */
struct ni_findings {
    unsigned n;
    unsigned dropped;
    struct ni_finding at[NI_MAX_FINDINGS];
};

const struct ni_finding_kind *ni_finding_kind(enum ni_finding_id id);
const char *ni_severity_text(enum ni_severity severity); /* "info", "warning", "error" */

/* Adds a finding. Subject and arguments may be untrusted: what is not printable ASCII becomes
   \xHH in the subject and '?' in the message. The same id, subject and message are kept once. */
void ni_report(struct ni_findings *f, enum ni_finding_id id, const char *subject, const char *fmt,
               ...) NI_PRINTF(4, 5);
/* Orders those from index `from` on by subject, id and message: for who finds them in an order that
   means nothing. */
void ni_findings_sort(struct ni_findings *f, unsigned from);
/* How many of exactly this severity. */
unsigned ni_findings_count(const struct ni_findings *f, enum ni_severity severity);
bool ni_findings_has(const struct ni_findings *f, enum ni_finding_id id);

#endif
