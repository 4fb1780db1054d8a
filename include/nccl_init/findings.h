/* SPDX-License-Identifier: Apache-2.0 */
/* Findings: what the program reports to people. The catalogue is one table; docs/findings.md has
   a heading for each id. */
#ifndef NCCL_INIT_FINDINGS_H
#define NCCL_INIT_FINDINGS_H

#include <stdbool.h>

#include "nccl_init/base.h"

enum ni_severity { NI_INFO, NI_WARNING, NI_ERROR };

/* The catalogue: X(name, "permanent.id", severity, "hint: an action, and whose"). Ids are never
   renamed or reused. The rows are in the order of the ids. */
#define NI_FINDINGS(X)                                                                            \
    X(ALLOC_ID_INVALID, "alloc.id.invalid", NI_WARNING,                                           \
      "Cluster admin: find what sets it; device plugins write PCI addresses or auxiliary names.") \
    X(ALLOC_INFO_INVALID, "alloc.info.invalid", NI_WARNING,                                       \
      "The invalid part is ignored. Cluster admin: find what writes it.")                         \
    X(ALLOC_METADATA_PENDING, "alloc.metadata.pending", NI_WARNING,                               \
      "User: wait for it with --wait=30. Cluster admin: find out why the DRA driver does not "    \
      "write it.")                                                                                \
    X(ALLOC_NO_DEVICE, "alloc.no-device", NI_WARNING,                                             \
      "User: restart the pod, remove the variable if it was copied, or correct --hcas.")          \
    X(ALLOC_NOT_RDMA, "alloc.not-rdma", NI_INFO,                                                  \
      "Cluster admin: if it is a NIC, set isRdma for the resource; otherwise there is nothing "   \
      "to do.")                                                                                   \
    X(ALLOC_NO_UVERBS, "alloc.no-uverbs", NI_ERROR,                                               \
      "User: request an RDMA resource in the pod spec; it brings the device nodes.")              \
    X(ALLOC_RDMA_DEV_DIFFERS, "alloc.rdma-dev.differs", NI_WARNING,                               \
      "User: restart the pod; its variables are older than the last driver reload.")              \
    X(ALLOC_SOURCES_DIFFER, "alloc.sources.differ", NI_WARNING,                                   \
      "The first source decides. User: if the device is the pod's, restart the pod.")             \
    X(ALLOC_TOO_MANY, "alloc.too-many", NI_WARNING,                                               \
      "User: find what sets the variable; no plugin lists so many devices.")                      \
    X(CAPS_DROP_BOUNDING, "caps.drop.bounding", NI_WARNING,                                       \
      "User: remove it from securityContext.capabilities, or add SETPCAP there.")                 \
    X(CAPS_KEEP_MISSING, "caps.keep.missing", NI_WARNING,                                         \
      "User: add it to securityContext.capabilities and remove it from --drop-caps. For "         \
      "CAP_IPC_LOCK without root, also run `setcap cap_ipc_lock=p nccl-init` in the image, and "  \
      "do not set no_new_privs.")                                                                 \
    X(CONF_CRLF, "conf.crlf", NI_WARNING,                                                         \
      "User: convert the file to Unix line ends: `sed -i 's/\\r$//' FILE`.")                      \
    X(CONF_FILE_OLD, "conf.file.old", NI_INFO,                                                    \
      "Nothing to do with NCCL 2.23.4 or later. User: with an older NCCL, mount the file as "     \
      "/etc/nccl.conf.")                                                                          \
    X(CONF_HOME_DIFFERS, "conf.home.differs", NI_WARNING,                                         \
      "User: set HOME to the home in /etc/passwd, or set NCCL_CONF_FILE (NCCL 2.23.4+).")         \
    X(CONF_NVSHMEM, "conf.nvshmem", NI_WARNING,                                                   \
      "User: remove the line; NVSHMEM prefers the file to the environment.")                      \
    X(CONF_UNREADABLE, "conf.unreadable", NI_WARNING,                                             \
      "User: make the file readable for the pod's user, or remove it; NCCL reads it too.")        \
    X(EXEC_NO_ROOM, "exec.no-room", NI_ERROR,                                                     \
      "The command starts without them, unless --require or a short form of it is given. User: "  \
      "pass large values as files, or raise the stack limit (ulimit -s).")                        \
    X(EXEC_PID1_NO_INIT, "exec.pid1.no-init", NI_INFO,                                            \
      "User: start `tini -g -- nccl-init -- COMMAND` (docker: --init), or share the PID "         \
      "namespace.")                                                                               \
    X(FACT_TRUNCATED, "fact.truncated", NI_WARNING,                                               \
      "The rest is ignored. User: send the output of `nccl-init snapshot --mask` to the "         \
      "developers.")                                                                              \
    X(FACT_UNREADABLE, "fact.unreadable", NI_WARNING,                                             \
      "The decision was made without this file. Cluster admin: give the pod read access to it.")  \
    X(GDR_DMABUF_OFF, "gdr.dmabuf.off", NI_WARNING,                                               \
      "User: remove NCCL_DMABUF_ENABLE=0; without peermem, GPUDirect RDMA needs DMA-BUF.")        \
    X(GDR_DMABUF_RCCL, "gdr.dmabuf.rccl", NI_WARNING,                                             \
      "User: set NCCL_DMABUF_ENABLE=1; before ROCm 7.11 also mount the node's /boot, or RCCL "    \
      "crashes. Cluster admin: or load a driver with amdkfd's peer memory.")                      \
    X(GDR_DRIVER_ORDER, "gdr.driver.order", NI_WARNING,                                           \
      "Cluster admin: build the GPU driver after MLNX_OFED or DOCA, or use its open modules.")    \
    X(GDR_PEERMEM_HIDDEN, "gdr.peermem.hidden", NI_INFO,                                          \
      "User: use NCCL 2.23.4 or later; older versions do not see this nvidia-peermem.")           \
    X(GDR_UNAVAILABLE, "gdr.unavailable", NI_WARNING,                                             \
      "Cluster admin: load nvidia-peermem, or use the open GPU kernel modules (kernel 5.12 or "   \
      "later).")                                                                                  \
    X(GID_INDEX_DIFFERS, "gid.index.differs", NI_INFO,                                            \
      "User: use NCCL 2.21.5 or later in this pod; it searches on each HCA.")                     \
    X(GID_LINK_LOCAL, "gid.link-local", NI_WARNING,                                               \
      "Cluster admin: give the interface an IPv4 or a routable IPv6 address (IPAM).")             \
    X(GID_NONE, "gid.none", NI_WARNING,                                                           \
      "User: attach the pod to the device's network. Cluster admin: give its interface an "       \
      "address (IPAM).")                                                                          \
    X(GID_OWNER_UNKNOWN, "gid.owner.unknown", NI_WARNING,                                         \
      "Cluster admin: let the pod read /proc/net/fib_trie; the entry may be another pod's.")      \
    X(GID_SEARCH_WRONG, "gid.search.wrong", NI_ERROR,                                             \
      "Cluster admin: give each port one address, or one subnet that only this pod uses.")        \
    X(GID_SUBNETS, "gid.subnets.mixed", NI_INFO,                                                  \
      "Cluster admin: give each port one subnet. User: or set NCCL_IB_ADDR_RANGE=SUBNET.")        \
    X(GID_V1_ONLY, "gid.v1-only", NI_WARNING,                                                     \
      "Cluster admin: enable RoCE v2 on the port (cma_roce_mode); v1 does not cross subnets.")    \
    X(GPU_HCA_FAR, "gpu.hca.far", NI_WARNING,                                                     \
      "Cluster admin: allocate GPUs and HCAs together (DRA, Topology Manager best-effort).")      \
    X(GPU_NODE_MISSING, "gpu.node.missing", NI_ERROR,                                             \
      "User: request the GPU by its resource. Cluster admin: check the container toolkit.")       \
    X(HCA_ERRORS_LINK, "hca.errors.link", NI_WARNING,                                             \
      "Cluster admin: check the cable and the switch port; numbers that grow mean a failing "     \
      "link.")                                                                                    \
    X(HCA_ERRORS_TRANSPORT, "hca.errors.transport", NI_INFO,                                      \
      "Cluster admin: if they grow during a job, check PFC, ECN and dropped packets on the "      \
      "switches.")                                                                                \
    X(HCA_LINK_MIXED, "hca.link.mixed", NI_WARNING,                                               \
      "NCCL dies if InfiniBand and RoCE are mixed. User: request devices of one kind.")           \
    X(HCA_NAME_INVALID, "hca.name.invalid", NI_WARNING,                                           \
      "NCCL_IB_HCA cannot hold this name. Cluster admin: rename the device (rdma dev set name).") \
    X(HCA_NODE_LOST, "hca.node.lost", NI_ERROR,                                                   \
      "Cluster admin: set isRdma: true, so that the device plugin hands out the uverbs node.")    \
    X(HCA_NODE_MISSING, "hca.node.missing", NI_ERROR,                                             \
      "User: request the device by its resource. Cluster admin: set isRdma, and load ib_uverbs.") \
    X(HCA_NONE, "hca.none", NI_INFO,                                                              \
      "User: for RDMA, request an SR-IOV or RDMA resource in the pod spec.")                      \
    X(HCA_NONE_USABLE, "hca.none-usable", NI_ERROR,                                               \
      "User: `nccl-init plan` shows the reason for each device; over TCP a job is far slower.")   \
    X(HCA_NOT_SHOWN, "hca.not-shown", NI_INFO,                                                    \
      "Nothing to do: all HCAs of the pod are shown; only the list of the others is cut.")        \
    X(HCA_PLACE_LOST, "hca.place.lost", NI_INFO,                                                  \
      "User: set NCCL_TOPO_FILE if the GPUs are at another CPU. NCCL before 2.20.3 may crash.")   \
    X(HCA_PORT_DOWN, "hca.port.down", NI_WARNING,                                                 \
      "User: attach the device to its network. Cluster admin: check the link, the cable and, on " \
      "InfiniBand, the subnet manager.")                                                          \
    X(HCA_PORT_SLOW, "hca.port.slow", NI_INFO,                                                    \
      "Nothing to do if it is a management or storage port. User: to use it, name it in --hcas.") \
    X(HCA_SOFTROCE_MIXED, "hca.softroce.mixed", NI_WARNING,                                       \
      "User: request RDMA devices of one kind, or name devices of one kind in --hcas.")           \
    X(HCA_TOO_MANY, "hca.too-many", NI_WARNING,                                                   \
      "NCCL uses at most 32 ports; the others, in PCI order, are left out. User: request fewer.") \
    X(HCA_TRAFFIC_CLASS, "hca.traffic-class", NI_INFO,                                            \
      "Nothing to do if the fabric expects this class; NCCL_IB_TC has no effect.")                \
    X(HOST_NAME_LOOPBACK, "host.name.loopback", NI_WARNING,                                       \
      "User: add --for=nccl,gloo, which sets GLOO_SOCKET_IFNAME, or fix /etc/hosts "              \
      "(hostAliases).")                                                                           \
    X(IMEX_CHANNEL_MISSING, "imex.channel.missing", NI_WARNING,                                   \
      "User: claim a ComputeDomain channel (DRA), or set NCCL_MNNVL_ENABLE=0.")                   \
    X(IOMMU_SLOW, "iommu.slow", NI_WARNING,                                                       \
      "Cluster admin: boot the node with iommu=pt (OpenShift: a MachineConfig).")                 \
    X(IOMMU_TRANSLATED, "iommu.translated", NI_ERROR,                                             \
      "Cluster admin: boot the node with iommu=pt (OpenShift: a MachineConfig). Locked memory "   \
      "is not the cause.")                                                                        \
    X(JOB_CPU_DIFFERS, "job.cpu.differs", NI_WARNING,                                             \
      "User: run the job on one kind of CPU; NCCL tunes itself by it, and unequal tuning can "    \
      "hang the job.")                                                                            \
    X(JOB_GID_SAME, "job.gid.same", NI_ERROR,                                                     \
      "Cluster admin: check the IPAM of the rail's network, and give each pod an address of its " \
      "own.")                                                                                     \
    X(JOB_GPUS_DIFFER, "job.gpus.differ", NI_WARNING,                                             \
      "User: request the same number of GPUs in all pods; otherwise NCCL may hang.")              \
    X(JOB_HOSTID_SAME, "job.hostid.same", NI_ERROR,                                               \
      "User: leave NCCL_HOSTID unset, or give each node its own value.")                          \
    X(JOB_KEY_HOST, "job.key.host", NI_WARNING,                                                   \
      "User: give all pods of the job one key that no other job has: --job=KEY.")                 \
    X(JOB_KEY_NAME, "job.key.name", NI_INFO,                                                      \
      "User: to keep pods of other attempts out, give all pods one key: --job=KEY.")              \
    X(JOB_LINK_DIFFERS, "job.link.differs", NI_ERROR,                                             \
      "Cluster admin: give the rail one link layer, RoCE v2 and one kind of address. User: set "  \
      "NCCL_IB_ROCE_VERSION_NUM and NCCL_IB_ADDR_FAMILY to the same value in all pods, or leave " \
      "the rail out (--hcas).")                                                                   \
    X(JOB_MISSING, "job.missing", NI_ERROR,                                                       \
      "User: check whether these pods are pending or restarting (`kubectl get pods -o wide`). A " \
      "NetworkPolicy must let them reach pod 0 on the port of preflight.")                        \
    X(JOB_MTU_DIFFERS, "job.mtu.differs", NI_WARNING,                                             \
      "Cluster admin: set one MTU on all interfaces of the rail, and at least that on the "       \
      "switch.")                                                                                  \
    X(JOB_PATH_FAILED, "job.path.failed", NI_ERROR,                                               \
      "Cluster admin: the ports work; check the switches, routes and filters between them.")      \
    X(JOB_PATH_UNSTEADY, "job.path.unsteady", NI_WARNING,                                         \
      "Cluster admin: check the error counters of the uplinks; packets of some connections are "  \
      "lost, as when one of several links between switches is broken.")                           \
    X(JOB_PKEY_DIFFERS, "job.pkey.differs", NI_ERROR,                                             \
      "Cluster admin: make all ports of the rail full members of one partition. User: "           \
      "NCCL_IB_PKEY is an index; set it so that it leads to one P_Key in all pods.")              \
    X(JOB_POD_LOST, "job.pod.lost", NI_ERROR,                                                     \
      "User: check the pod's log, `kubectl describe pod` and the node's memory.")                 \
    X(JOB_RAIL_ALL, "job.rail.all", NI_ERROR,                                                     \
      "Cluster admin: check what all pods share on this rail: its switch, VLAN, routes and "      \
      "filters. RoCE needs UDP port 4791.")                                                       \
    X(JOB_RAIL_FAILED, "job.rail.failed", NI_ERROR,                                               \
      "Cluster admin: check the port, cable, switch port, VLAN and filters. User: keep the job "  \
      "off this node, or leave the rail out in all pods (--hcas).")                               \
    X(JOB_RAIL_SLOW, "job.rail.slow", NI_ERROR,                                                   \
      "Cluster admin: check the port's speed, PCIe link, cable and switch port. User: keep the "  \
      "job off this node; the slowest rail sets the pace.")                                       \
    X(JOB_RAIL_UNTRIED, "job.rail.untried", NI_WARNING,                                           \
      "User: run `nccl-init selftest` in the pod; it says more about the port.")                  \
    X(JOB_RAILS_DIFFER, "job.rails.differ", NI_ERROR,                                             \
      "User: request the same RDMA devices in all pods, and run `nccl-init doctor` in them.")     \
    X(JOB_RANK_TWICE, "job.rank.twice", NI_ERROR,                                                 \
      "User: give each pod a rank of its own; look for a pod of an earlier attempt.")             \
    X(JOB_RATE_DIFFERS, "job.rate.differs", NI_WARNING,                                           \
      "Cluster admin: check the port's speed and cable; all rails become as slow as this one.")   \
    X(JOB_RATE_LOW, "job.rate.low", NI_WARNING,                                                   \
      "Cluster admin: all rails are equally slow; check the PCIe slots (a 400 Gb/s port needs "   \
      "Gen5 x16), flow control and other jobs on the fabric.")                                    \
    X(JOB_RDMA_NONE, "job.rdma.none", NI_WARNING,                                                 \
      "User: request an RDMA resource in the pod spec. If TCP is meant, add --mode=tcp.")         \
    X(JOB_REFUSED, "job.refused", NI_INFO,                                                        \
      "User: give all pods of the job one image, one --ranks and one key (--job).")               \
    X(JOB_SETTING_DIFFERS, "job.setting.differs", NI_ERROR,                                       \
      "User: set it to the same value in all pods; NCCL does not compare it, and fails or "       \
      "hangs.")                                                                                   \
    X(JOB_SETTING_SLOWS, "job.setting.slows", NI_WARNING,                                         \
      "User: set it to the same value in all pods; one rank that differs makes all of them "      \
      "slower.")                                                                                  \
    X(JOB_SOFTWARE_DIFFERS, "job.software.differs", NI_WARNING,                                   \
      "User: run the same image in all pods. Cluster admin: install one GPU driver and one "      \
      "firmware on all nodes.")                                                                   \
    X(JOB_SUBNET_DIFFERS, "job.subnet.differs", NI_WARNING,                                       \
      "Cluster admin: give the rail one subnet, or routes between its subnets; check whether "    \
      "two rails are swapped.")                                                                   \
    X(JOB_TRANSPORT_DIFFERS, "job.transport.differs", NI_ERROR,                                   \
      "User: give all pods the same RDMA devices, NCCL_NET, NCCL_IB_DISABLE and NCCLINIT_MODE; "  \
      "with IB in one pod and sockets in another NCCL fails or hangs.")                           \
    X(LOG_ALGO, "log.algo.none", NI_ERROR,                                                        \
      "User: unset NCCL_ALGO and NCCL_PROTO, or name a pair that supports this collective.")      \
    X(LOG_COLLECTIVE, "log.collective.differs", NI_ERROR,                                         \
      "User: all ranks must call the same collectives, in the same order, with the same sizes.")  \
    X(LOG_COMM_ID, "log.comm-id", NI_ERROR,                                                       \
      "User: unset NCCL_COMM_ID; torchrun and mpirun do not need it.")                            \
    X(LOG_CUDA, "log.cuda", NI_ERROR,                                                             \
      "User: compare the node's driver with the image's CUDA, and check the GPU's memory.")       \
    X(LOG_DIAG, "log.diag", NI_WARNING,                                                           \
      "User: read all NCCL DIAG lines; NCCL_IB_HCA is allowed to differ from pod to pod.")        \
    X(LOG_EXCEPTION, "log.exception", NI_ERROR,                                                   \
      "User: read the traceback in this rank's log; the other ranks' errors follow from it.")     \
    X(LOG_EXIT, "log.exit", NI_ERROR,                                                             \
      "User: read this rank's own log. Signal 9 often comes from the kernel's OOM killer.")       \
    X(LOG_FAILED, "log.failed", NI_ERROR,                                                         \
      "User: set NCCL_DEBUG=INFO and look at the rank that failed first.")                        \
    X(LOG_FILES, "log.files", NI_ERROR,                                                           \
      "Cluster admin: raise the limit of open files (LimitNOFILE of the runtime, ulimits).")      \
    X(LOG_GDR, "log.gdr", NI_WARNING, "User: run `nccl-init doctor` in the pod; it says why.")    \
    X(LOG_GPU_SHARED, "log.gpu.shared", NI_ERROR,                                                 \
      "User: give each process its own GPU (LOCAL_RANK), and each node its own NODE_RANK.")       \
    X(LOG_HCA_FATAL, "log.hca.fatal", NI_ERROR,                                                   \
      "Cluster admin: check the kernel log, the firmware and ACS; take the HCA out of service.")  \
    X(LOG_HCA_PORT, "log.hca.port", NI_WARNING,                                                   \
      "Cluster admin: check the cable and the switch port, and find what changes the addresses.") \
    X(LOG_LEFT, "log.left", NI_ERROR,                                                             \
      "User: look in this rank's program for the reason; the log does not show it.")              \
    X(LOG_LIBIBVERBS, "log.libibverbs", NI_WARNING,                                               \
      "User: install libibverbs1 and ibverbs-providers (RHEL: libibverbs) in the image.")         \
    X(LOG_LINES_LOST, "log.lines.lost", NI_INFO, "User: set RAY_DEDUP_LOGS=0 for Ray.")           \
    X(LOG_NONE, "log.none", NI_ERROR,                                                             \
      "User: run with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,BOOTSTRAP,ENV,NET,GRAPH.")           \
    X(LOG_PEER_DIED, "log.peer.died", NI_ERROR,                                                   \
      "User: find the rank that failed first, and read its log.")                                 \
    X(LOG_PEER_REFUSED, "log.peer.refused", NI_ERROR,                                             \
      "User: check whether that pod runs, and check its NCCL_SOCKET_IFNAME.")                     \
    X(LOG_PEER_SILENT, "log.peer.silent", NI_ERROR,                                               \
      "User: find the rank that failed first. Cluster admin: check link, MTU, PFC and firewall.") \
    X(LOG_PEER_STRANGER, "log.peer.stranger", NI_WARNING,                                         \
      "User: keep probes, scanners and the service mesh off the job's ports.")                    \
    X(LOG_PEER_UNREACHABLE, "log.peer.unreachable", NI_ERROR,                                     \
      "Cluster admin: check NetworkPolicies and routes. User: check NCCL_SOCKET_IFNAME.")         \
    X(LOG_PLAN_DIFFERS, "log.plan.differs", NI_WARNING,                                           \
      "User: find what sets it: the launcher, the image or an nccl.conf.")                        \
    X(LOG_PORT, "log.port", NI_ERROR,                                                             \
      "User: give each job its own MASTER_PORT; an earlier attempt may still listen.")            \
    X(LOG_RAILS_DIFFER, "log.rails.differ", NI_WARNING,                                           \
      "User: request the same number of RDMA devices in each pod.")                               \
    X(LOG_RANKS_MISSING, "log.ranks.missing", NI_ERROR,                                           \
      "User: check whether these pods run, and pass their logs too.")                             \
    X(LOG_RDMA_REMOTE, "log.rdma.remote", NI_ERROR,                                               \
      "User: look in the other rank's log for an event of its HCA or an earlier error.")          \
    X(LOG_RENDEZVOUS, "log.rendezvous", NI_ERROR,                                                 \
      "User: check rank 0's log, MASTER_ADDR and MASTER_PORT.")                                   \
    X(LOG_SOCKETS, "log.sockets", NI_ERROR,                                                       \
      "User: run `nccl-init doctor` in the pods of these ranks; it says why.")                    \
    X(LOG_TIMEOUT, "log.timeout", NI_ERROR,                                                       \
      "User: find the rank that is missing or in another collective; then test the rails.")       \
    X(LOG_UNFINISHED, "log.unfinished", NI_ERROR,                                                 \
      "User: look at the ranks that have no line, or whose last line is the oldest.")             \
    X(LOG_VERSION_DIFFERS, "log.version.differs", NI_ERROR,                                       \
      "User: start all ranks from the same image.")                                               \
    X(LOG_WARN, "log.warn", NI_ERROR,                                                             \
      "User: search for this text in NCCL's issues; nccl-init does not know it.")                 \
    X(MEMLOCK_LOW, "memlock.low", NI_WARNING,                                                     \
      "Cluster admin: set memlock=-1:-1 in CRI-O's default_ulimits, or LimitMEMLOCK=infinity "    \
      "for containerd.")                                                                          \
    X(MEMLOCK_TOO_LOW, "memlock.too-low", NI_ERROR,                                               \
      "Cluster admin: for all pods, set memlock=-1:-1 in CRI-O's default_ulimits, or "            \
      "LimitMEMLOCK=infinity for containerd. User: set ulimits in securityContext (KEP-5758).")   \
    X(NET_EFA, "net.efa", NI_INFO,                                                                \
      "Nothing to do if the image has the OFI plugin (aws-ofi-nccl); without it NCCL uses TCP.")  \
    X(NICS_NOT_FUSED, "nics.not-fused", NI_INFO,                                                  \
      "User: if speed counts, leave one of the first two out with --hcas. Cluster admin: give a " \
      "pod one VF of each port.")                                                                 \
    X(NVSHMEM_IBGDA, "nvshmem.ibgda", NI_WARNING,                                                 \
      "Cluster admin: load the GPU driver with NVreg_RegistryDwords=\"PeerMappingOverride=1;\", " \
      "or install GDRCopy (gdrdrv).")                                                             \
    X(OPTION_INVALID, "option.invalid", NI_WARNING,                                               \
      "It is ignored. User: `nccl-init VERB --help` lists variables and values.")                 \
    X(PCI_LINK_SLOW, "pci.link.slow", NI_WARNING,                                                 \
      "Cluster admin: reseat the card or riser; check the slot's setting and AER errors.")        \
    X(RAIL_MISSING, "rail.missing", NI_WARNING,                                                   \
      "User: request an RDMA device near each GPU. Cluster admin: allocate them together "        \
      "(Topology Manager, DRA).")                                                                 \
    X(RAIL_MTU_DIFFERS, "rail.mtu.differs", NI_WARNING,                                           \
      "Cluster admin: set one MTU for all rails on network attachments, PFs and switches.")       \
    X(RAIL_RATE_DIFFERS, "rail.rate.differs", NI_WARNING,                                         \
      "Cluster admin: check the cable, the transceiver and the switch port. User: or leave the "  \
      "rail out (--hcas).")                                                                       \
    X(RAIL_SLOW, "rail.slow", NI_WARNING,                                                         \
      "Cluster admin: check the cable and the switch port. User: or name the rails (--hcas).")    \
    X(RDMA_CGROUP_LOW, "rdma.cgroup.low", NI_WARNING,                                             \
      "Cluster admin: raise rdma.max of the pod's cgroup, or leave it at max.")                   \
    X(RDMA_NETNS_EXCLUSIVE, "rdma.netns.exclusive", NI_ERROR,                                     \
      "Cluster admin: chain the rdma CNI plugin after sriov, or run `rdma system set netns "      \
      "shared`.")                                                                                 \
    X(REQUIRE_GDR, "require.gdr", NI_ERROR,                                                       \
      "User: remove --gdr=off and request GPUs and HCAs on the same PCIe switch. Cluster admin: " \
      "load nvidia-peermem, or use the open GPU kernel modules.")                                 \
    X(REQUIRE_GPUS, "require.gpus", NI_ERROR,                                                     \
      "The command is not started. User: request GPUs (nvidia.com/gpu, amd.com/gpu).")            \
    X(REQUIRE_MEMLOCK, "require.memlock", NI_ERROR,                                               \
      "User: add --keep-caps=ipc_lock. Cluster admin: set memlock=-1:-1 in CRI-O's "              \
      "default_ulimits, or LimitMEMLOCK=infinity for containerd.")                                \
    X(REQUIRE_PREFLIGHT, "require.preflight", NI_ERROR,                                           \
      "User: read the findings that begin with `job.`; `nccl-init preflight` in all pods says "   \
      "more.")                                                                                    \
    X(REQUIRE_RAILS, "require.rails", NI_ERROR,                                                   \
      "User: request more RDMA devices; `nccl-init plan` shows why one was left out.")            \
    X(REQUIRE_RDMA, "require.rdma", NI_ERROR,                                                     \
      "User: request an RDMA resource in the pod spec, or remove the demand (--require, "         \
      "--mode=rdma).")                                                                            \
    X(REQUIRE_ROCE_V2, "require.roce-v2", NI_ERROR,                                               \
      "User: give each interface an address. Cluster admin: enable RoCE v2 (cma_roce_mode).")     \
    X(REQUIRE_SELFTEST, "require.selftest", NI_ERROR,                                             \
      "User: read the findings that begin with `verbs.`; `nccl-init selftest` shows each port.")  \
    X(REQUIRE_UNCLEAR, "require.unclear", NI_ERROR,                                               \
      "User: correct the variable in the pod spec or ConfigMap; `nccl-init run --help` lists "    \
      "names and values.")                                                                        \
    X(SHM_DEFAULT, "shm.default", NI_ERROR,                                                       \
      "User: mount an emptyDir with `medium: Memory` at /dev/shm (docker: --shm-size=1g).")       \
    X(SHM_SMALL, "shm.small", NI_WARNING,                                                         \
      "User: give the emptyDir at /dev/shm 1 GiB or more (sizeLimit, or docker --shm-size).")     \
    X(SOCKET_LEFT_OUT, "socket.left-out", NI_INFO,                                                \
      "User: if every pod reaches the others through each of them, add --sockets=rails: it "      \
      "takes all.")                                                                               \
    X(SOCKET_NONE, "socket.none", NI_ERROR,                                                       \
      "NCCL dies, or takes an address that no other node reaches. Cluster admin: give the pod a " \
      "network with a routable address, and bring its interface up.")                             \
    X(SOCKET_UNUSABLE, "socket.unusable", NI_WARNING,                                             \
      "User: name interfaces that are up and have an address, or use --sockets=auto.")            \
    X(USER_CROSS_NIC, "user.cross-nic.open", NI_INFO,                                             \
      "Nothing to do while the job connects. Cluster admin: otherwise add routes between the "    \
      "rails.")                                                                                   \
    X(USER_ENV_PLUGIN, "user.env-plugin", NI_WARNING,                                             \
      "User: set it to none, or have the plugin pass on what the environment has.")               \
    X(USER_GDR_OFF, "user.gdr-level.off", NI_WARNING,                                             \
      "User: unset NCCL_NET_GDR_LEVEL, so that nccl-init chooses.")                               \
    X(USER_GID_WRONG, "user.gid-index.wrong", NI_ERROR,                                           \
      "User: unset NCCL_IB_GID_INDEX, NCCL_IB_ADDR_* and NCCL_IB_ROCE_VERSION_NUM, even if they " \
      "are empty.")                                                                               \
    X(USER_HCA_EXTRA, "user.ib-hca.extra", NI_WARNING,                                            \
      "User: unset NCCL_IB_HCA, or name only ports that `plan` shows as chosen.")                 \
    X(USER_HCA_FOREIGN, "user.ib-hca.foreign", NI_WARNING,                                        \
      "User: unset NCCL_IB_HCA, or name devices of this pod; use '=' for exact names.")           \
    X(USER_HCA_LEFT_OUT, "user.ib-hca.left-out", NI_ERROR,                                        \
      "User: unset NCCL_IB_HCA, or name only ports that `plan` shows as chosen.")                 \
    X(USER_HCA_NONE, "user.ib-hca.none", NI_ERROR,                                                \
      "NCCL uses TCP, and does not say so. User: unset NCCL_IB_HCA, or name the pod's HCAs.")     \
    X(USER_HCA_PREFIX, "user.ib-hca.prefix", NI_WARNING,                                          \
      "User: begin the list with '=': `=mlx5_1` is exact, `mlx5_1` is a prefix.")                 \
    X(USER_NAME_MISSPELT, "user.name.misspelt", NI_WARNING,                                       \
      "User: correct the name in the pod spec or env file; until then it has no effect.")         \
    X(USER_NET_NONE, "user.net.none", NI_ERROR,                                                   \
      "User: unset NCCL_NET; NCCL then uses RDMA if it can, and otherwise TCP.")                  \
    X(USER_NET_OTHER, "user.net.other", NI_INFO,                                                  \
      "Nothing to do: the plugin has its own settings.")                                          \
    X(USER_NICS_FUSED, "user.nics.fused", NI_WARNING,                                             \
      "User: unset NCCL_IB_MERGE_NICS, NCCL_NET_MERGE_LEVEL and NCCL_NET_FORCE_MERGE.")           \
    X(USER_SOCKET_FIRST, "user.socket-ifname.first", NI_WARNING,                                  \
      "User: name the interface that reaches other nodes (NCCL_SOCKET_IFNAME==eth0).")            \
    X(USER_SOCKET_NONE, "user.socket-ifname.none", NI_ERROR,                                      \
      "User: unset the variable, or name an interface of the pod that has an address.")           \
    X(USER_TOPO_UNREADABLE, "user.topo-file.unreadable", NI_WARNING,                              \
      "User: unset NCCL_TOPO_FILE, or mount the file into the pod.")                              \
    X(USER_VALUE_EMPTY, "user.value.empty", NI_WARNING,                                           \
      "User: remove the variable, or give it a value; an empty one hides nccl-init's choice.")    \
    X(USER_VALUE_IGNORED, "user.value.ignored", NI_WARNING,                                       \
      "User: correct the value, or remove the variable.")                                         \
    X(VERBS_CONNECT, "verbs.connect", NI_ERROR,                                                   \
      "User: leave NCCL_IB_GID_INDEX unset, so that nccl-init chooses. Cluster admin: check the " \
      "interface's address and routes. NCCL fails with the same error number.")                   \
    X(VERBS_DMABUF, "verbs.dmabuf.none", NI_WARNING,                                              \
      "Cluster admin: load nvidia-peermem, or install an RDMA driver that supports DMA-BUF.")     \
    X(VERBS_GID, "verbs.gid", NI_ERROR,                                                           \
      "User: leave NCCL_IB_GID_INDEX unset, so that nccl-init chooses. Cluster admin: give the "  \
      "port's interface an address (network attachment, IPAM).")                                  \
    X(VERBS_MEMLOCK, "verbs.memlock", NI_ERROR,                                                   \
      "User: start the job with `nccl-init -- COMMAND`. Cluster admin: set memlock=-1:-1 in "     \
      "CRI-O's default_ulimits, or LimitMEMLOCK=infinity for containerd.")                        \
    X(VERBS_NONE, "verbs.none", NI_WARNING,                                                       \
      "User: request an RDMA resource in the pod spec; `nccl-init plan` shows why a device was "  \
      "left out. If TCP is meant, add --mode=tcp.")                                               \
    X(VERBS_OPEN, "verbs.open", NI_ERROR,                                                         \
      "User: request the device by its resource. Cluster admin: the device plugin must hand out " \
      "the uverbs node of a device of the pod's own network namespace.")                          \
    X(VERBS_PORT, "verbs.port", NI_ERROR,                                                         \
      "User: attach the device to the network. Cluster admin: check the cable, the switch and, "  \
      "on InfiniBand, the subnet manager.")                                                       \
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
      "came back wrong, take the HCA out of service.")                                            \
    X(WAIT_OVER, "wait.over", NI_WARNING,                                                         \
      "User: wait longer (--wait), or check the network attachment, IPAM and the link.")

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

enum {
    NI_MAX_AGAIN = 256,
    NI_MAX_FINDINGS = NI_F_COUNT + NI_MAX_AGAIN,
    NI_FINDING_MESSAGE = 480 /* names of two pods and their nodes, of 63 letters each, and why */
};

struct ni_finding {
    enum ni_finding_id id;
    char subject[96]; /* "mlx5_6/1", "PCIDEVICE_X", a path */
    char message[NI_FINDING_MESSAGE];
};

/* The findings, in the order in which they were reported. There is always room for the first of
   each id, so that its severity counts, and for NI_MAX_AGAIN others; later ones are only counted.
   */
struct ni_findings {
    unsigned n;
    unsigned dropped;
    struct ni_finding at[NI_MAX_FINDINGS];
};

const struct ni_finding_kind *ni_finding_kind(enum ni_finding_id id);
const char *ni_severity_text(enum ni_severity severity); /* "info", "warning", "error" */

/* Adds a finding. Subject and arguments may be untrusted: bytes other than printable ASCII become
   \xHH. The same id, subject and message are kept once. */
void ni_report(struct ni_findings *f, enum ni_finding_id id, const char *subject, const char *fmt,
               ...) NI_PRINTF(4, 5);
/* Sorts the findings from index `from` on by subject, id and message, for a caller that found them
   in an order without a meaning. */
void ni_findings_sort(struct ni_findings *f, unsigned from);
/* Returns the number of findings of exactly this severity. */
unsigned ni_findings_count(const struct ni_findings *f, enum ni_severity severity);
bool ni_findings_has(const struct ni_findings *f, enum ni_finding_id id);
/* Takes out each finding about a fact of which a stronger one tells. */
void ni_findings_drop_weaker(struct ni_findings *f);

#endif
