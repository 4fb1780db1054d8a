/* SPDX-License-Identifier: Apache-2.0 */
/* Findings: what the program reports to people. The catalogue is one table; docs/findings.md has
   a heading for each id. */
#ifndef NCCL_INIT_FINDINGS_H
#define NCCL_INIT_FINDINGS_H

#include <stdbool.h>

#include "nccl_init/base.h"

enum ni_severity { NI_INFO, NI_WARNING, NI_ERROR };

/* X(name, "permanent.id", severity, "hint: an action, and whose"). Ids are never renamed or reused.
   Kept in the order of the ids. */
#define NI_FINDINGS(X)                                                                            \
    X(ALLOC_ID_INVALID, "alloc.id.invalid", NI_WARNING,                                           \
      "Cluster admin: see what sets it: plugins write PCI addresses or auxiliary names.")         \
    X(ALLOC_INFO_INVALID, "alloc.info.invalid", NI_WARNING,                                       \
      "What it says is ignored, and the rest decides. Cluster admin: see what writes it.")        \
    X(ALLOC_METADATA_PENDING, "alloc.metadata.pending", NI_WARNING,                               \
      "User: --wait=30 waits for it. Cluster admin: see why the DRA driver does not write it.")   \
    X(ALLOC_NO_DEVICE, "alloc.no-device", NI_WARNING,                                             \
      "User: restart the pod; remove the variable if it was copied; or correct --hcas.")          \
    X(ALLOC_NOT_RDMA, "alloc.not-rdma", NI_INFO,                                                  \
      "If it is a NIC, cluster admin: set isRdma for the resource. Else nothing to do.")          \
    X(ALLOC_NO_UVERBS, "alloc.no-uverbs", NI_ERROR,                                               \
      "User: request an RDMA resource in the pod spec: it brings the device nodes.")              \
    X(ALLOC_RDMA_DEV_DIFFERS, "alloc.rdma-dev.differs", NI_WARNING,                               \
      "User: restart the pod: its variables are older than the last driver reload.")              \
    X(ALLOC_SOURCES_DIFFER, "alloc.sources.differ", NI_WARNING,                                   \
      "The first source decides. User: if the device is the pod's, restart the pod.")             \
    X(ALLOC_TOO_MANY, "alloc.too-many", NI_WARNING,                                               \
      "User: find what sets the variable; no plugin gives so many.")                              \
    X(CAPS_DROP_BOUNDING, "caps.drop.bounding", NI_WARNING,                                       \
      "User: leave it out of securityContext.capabilities, or add SETPCAP there.")                \
    X(CAPS_KEEP_MISSING, "caps.keep.missing", NI_WARNING,                                         \
      "User: add it to securityContext.capabilities, not to --drop-caps. CAP_IPC_LOCK without "   \
      "root: also `setcap cap_ipc_lock=p nccl-init` in the image, without no_new_privs.")         \
    X(CONF_CRLF, "conf.crlf", NI_WARNING,                                                         \
      "User: write the file with Unix line ends: `sed -i 's/\\r$//' FILE`.")                      \
    X(CONF_FILE_OLD, "conf.file.old", NI_INFO,                                                    \
      "Nothing to do with NCCL 2.23.4 or later. Else, user: mount the file as /etc/nccl.conf.")   \
    X(CONF_HOME_DIFFERS, "conf.home.differs", NI_WARNING,                                         \
      "User: set HOME as in /etc/passwd, or NCCL_CONF_FILE (NCCL 2.23.4 and later).")             \
    X(CONF_NVSHMEM, "conf.nvshmem", NI_WARNING,                                                   \
      "User: remove the line: NVSHMEM prefers the file to the environment.")                      \
    X(CONF_UNREADABLE, "conf.unreadable", NI_WARNING,                                             \
      "Make the file readable for the user of the pod, or remove it: NCCL reads it too.")         \
    X(EXEC_NO_ROOM, "exec.no-room", NI_ERROR,                                                     \
      "Unless something is demanded, the command starts without them. User: pass large values "   \
      "as files, or raise the stack limit (ulimit -s).")                                          \
    X(EXEC_PID1_NO_INIT, "exec.pid1.no-init", NI_INFO,                                            \
      "User: `tini -g -- nccl-init -- COMMAND` (docker: --init), or share the PID namespace.")    \
    X(FACT_TRUNCATED, "fact.truncated", NI_WARNING,                                               \
      "The rest is not looked at. User: send the developers `nccl-init snapshot --mask`.")        \
    X(FACT_UNREADABLE, "fact.unreadable", NI_WARNING,                                             \
      "The rule went without this file. Cluster admin: give the pod read access to it.")          \
    X(GDR_DMABUF_OFF, "gdr.dmabuf.off", NI_WARNING,                                               \
      "User: remove NCCL_DMABUF_ENABLE=0: without peermem GPUDirect RDMA needs DMA-BUF.")         \
    X(GDR_DMABUF_RCCL, "gdr.dmabuf.rccl", NI_WARNING,                                             \
      "User: NCCL_DMABUF_ENABLE=1; before ROCm 7.11 also mount the node's /boot, or RCCL "        \
      "crashes. Cluster admin: or load a driver with amdkfd's peer memory.")                      \
    X(GDR_DRIVER_ORDER, "gdr.driver.order", NI_WARNING,                                           \
      "Cluster admin: build the GPU driver after MLNX_OFED or DOCA, or use its open modules.")    \
    X(GDR_PEERMEM_HIDDEN, "gdr.peermem.hidden", NI_INFO,                                          \
      "User: use NCCL 2.23.4 or later; older ones do not see this nvidia-peermem.")               \
    X(GDR_UNAVAILABLE, "gdr.unavailable", NI_WARNING,                                             \
      "Cluster admin: load nvidia-peermem, or the open GPU modules (kernel 5.12 or later).")      \
    X(GID_INDEX_DIFFERS, "gid.index.differs", NI_INFO,                                            \
      "User: use no NCCL before 2.21.5 in this pod; later ones search per HCA.")                  \
    X(GID_LINK_LOCAL, "gid.link-local", NI_WARNING,                                               \
      "Cluster admin: give the interface an IPv4 or a routable IPv6 address (IPAM).")             \
    X(GID_NONE, "gid.none", NI_WARNING,                                                           \
      "User: attach the pod to the device's network. Cluster admin: an address there (IPAM).")    \
    X(GID_OWNER_UNKNOWN, "gid.owner.unknown", NI_WARNING,                                         \
      "Cluster admin: let the pod read /proc/net/fib_trie: it may be another pod's entry.")       \
    X(GID_SEARCH_WRONG, "gid.search.wrong", NI_ERROR,                                             \
      "Cluster admin: give each port one address, or one subnet that only this pod uses.")        \
    X(GID_SUBNETS, "gid.subnets.mixed", NI_INFO,                                                  \
      "Cluster admin: one subnet for each port. User: or NCCL_IB_ADDR_RANGE=SUBNET.")             \
    X(GID_V1_ONLY, "gid.v1-only", NI_WARNING,                                                     \
      "Cluster admin: enable RoCE v2 on the port (cma_roce_mode): v1 crosses no subnets.")        \
    X(GPU_HCA_FAR, "gpu.hca.far", NI_WARNING,                                                     \
      "Cluster admin: allocate GPUs and HCAs together (DRA, Topology Manager best-effort).")      \
    X(GPU_NODE_MISSING, "gpu.node.missing", NI_ERROR,                                             \
      "User: request the GPU by its resource. Cluster admin: look at the container toolkit.")     \
    X(HCA_ERRORS_LINK, "hca.errors.link", NI_WARNING,                                             \
      "Cluster admin: look at cable and switch port: numbers that grow are a failing link.")      \
    X(HCA_ERRORS_TRANSPORT, "hca.errors.transport", NI_INFO,                                      \
      "Cluster admin: if they grow during a job, look at PFC, ECN and the switches' drops.")      \
    X(HCA_LINK_MIXED, "hca.link.mixed", NI_WARNING,                                               \
      "NCCL dies where InfiniBand and RoCE are mixed. User: request devices of one kind.")        \
    X(HCA_NAME_INVALID, "hca.name.invalid", NI_WARNING,                                           \
      "NCCL_IB_HCA cannot carry it. Cluster admin: rename the device (rdma dev set name).")       \
    X(HCA_NODE_LOST, "hca.node.lost", NI_ERROR,                                                   \
      "Cluster admin: isRdma: true, so that the device plugin hands out the uverbs node.")        \
    X(HCA_NODE_MISSING, "hca.node.missing", NI_ERROR,                                             \
      "User: request the device by its resource. Cluster admin: set isRdma, load ib_uverbs.")     \
    X(HCA_NONE, "hca.none", NI_INFO,                                                              \
      "For RDMA, user: request an SR-IOV or RDMA resource in the pod spec.")                      \
    X(HCA_NONE_USABLE, "hca.none-usable", NI_ERROR,                                               \
      "User: look at each device's reason in `nccl-init plan`; over TCP a job is far slower.")    \
    X(HCA_NOT_SHOWN, "hca.not-shown", NI_INFO,                                                    \
      "Nothing to do: those the pod was given are all there; the list of the others is cut.")     \
    X(HCA_PLACE_LOST, "hca.place.lost", NI_INFO,                                                  \
      "User: set NCCL_TOPO_FILE if GPUs are at another CPU. NCCL before 2.20.3 may crash.")       \
    X(HCA_PORT_DOWN, "hca.port.down", NI_WARNING,                                                 \
      "User: attach the device to its network. Cluster admin: link, cable, subnet manager.")      \
    X(HCA_PORT_SLOW, "hca.port.slow", NI_INFO,                                                    \
      "Nothing to do if it is the management or storage port; to use it, name it in --hcas.")     \
    X(HCA_SOFTROCE_MIXED, "hca.softroce.mixed", NI_WARNING,                                       \
      "User: give the pod RDMA devices of one kind, or name those of one kind (--hcas).")         \
    X(HCA_TOO_MANY, "hca.too-many", NI_WARNING,                                                   \
      "NCCL uses 32 ports; those beyond, in PCI order, are left out. User: request fewer.")       \
    X(HCA_TRAFFIC_CLASS, "hca.traffic-class", NI_INFO,                                            \
      "Nothing to do if the fabric expects it; NCCL_IB_TC has no effect.")                        \
    X(HOST_NAME_LOOPBACK, "host.name.loopback", NI_WARNING,                                       \
      "User: --for=nccl,gloo sets GLOO_SOCKET_IFNAME; or mend /etc/hosts (hostAliases).")         \
    X(IMEX_CHANNEL_MISSING, "imex.channel.missing", NI_WARNING,                                   \
      "User: claim a ComputeDomain channel (DRA), or set NCCL_MNNVL_ENABLE=0.")                   \
    X(IOMMU_SLOW, "iommu.slow", NI_WARNING,                                                       \
      "Cluster admin: boot the node with iommu=pt (OpenShift: a MachineConfig).")                 \
    X(IOMMU_TRANSLATED, "iommu.translated", NI_ERROR,                                             \
      "Cluster admin: boot the node with iommu=pt (MachineConfig). Memlock is not the cause.")    \
    X(JOB_CPU_DIFFERS, "job.cpu.differs", NI_WARNING,                                             \
      "User: keep a job on one kind of CPU: NCCL tunes by it; unequal tuning can hang the job.")  \
    X(JOB_GPUS_DIFFER, "job.gpus.differ", NI_WARNING,                                             \
      "User: request the same number of GPUs in all pods: else NCCL may hang.")                   \
    X(JOB_HOSTID_SAME, "job.hostid.same", NI_ERROR,                                               \
      "User: leave NCCL_HOSTID unset, or give each node its own.")                                \
    X(JOB_KEY_HOST, "job.key.host", NI_WARNING,                                                   \
      "User: give all pods of the job one key that no other job has: --job=KEY.")                 \
    X(JOB_KEY_NAME, "job.key.name", NI_INFO,                                                      \
      "User: to keep pods of other attempts out, give all pods one key: --job=KEY.")              \
    X(JOB_LINK_DIFFERS, "job.link.differs", NI_ERROR,                                             \
      "Cluster admin: one link layer, RoCE v2 and one kind of address for the rail. User: "       \
      "NCCL_IB_ROCE_VERSION_NUM and NCCL_IB_ADDR_FAMILY alike in all pods, or --hcas.")           \
    X(JOB_MISSING, "job.missing", NI_ERROR,                                                       \
      "User: are these pods pending, or restarting (`kubectl get pods -o wide`)? A "              \
      "NetworkPolicy must let them reach pod 0 on the port of preflight.")                        \
    X(JOB_MTU_DIFFERS, "job.mtu.differs", NI_WARNING,                                             \
      "Cluster admin: one MTU on the rail's interfaces, and at least that on the switch.")        \
    X(JOB_PATH_FAILED, "job.path.failed", NI_ERROR,                                               \
      "Cluster admin: the ports work: look at switches, routes and filters between.")             \
    X(JOB_PATH_UNSTEADY, "job.path.unsteady", NI_WARNING,                                         \
      "Cluster admin: packets of some connections are lost, as when one of several "              \
      "links between switches is broken: look at the error counters of the uplinks.")             \
    X(JOB_PKEY_DIFFERS, "job.pkey.differs", NI_ERROR,                                             \
      "Cluster admin: give the rail one partition, of which all ports are full members. "         \
      "User: NCCL_IB_PKEY is an index: it must lead to one P_Key in all pods.")                   \
    X(JOB_POD_LOST, "job.pod.lost", NI_ERROR,                                                     \
      "User: look at the pod's log, `kubectl describe pod`, the node's memory.")                  \
    X(JOB_RAIL_ALL, "job.rail.all", NI_ERROR,                                                     \
      "Cluster admin: what all pods share on this rail is at fault: its switch, VLAN, "           \
      "routes or filters. UDP port 4791 must pass for RoCE.")                                     \
    X(JOB_RAIL_FAILED, "job.rail.failed", NI_ERROR,                                               \
      "Cluster admin: look at the port, cable, switch port, VLAN and filters. User: keep "        \
      "the job off this node, or leave the rail out in all pods (--hcas).")                       \
    X(JOB_RAIL_SLOW, "job.rail.slow", NI_ERROR,                                                   \
      "Cluster admin: look at the port's speed, PCIe link, cable and switch port. User: "         \
      "keep the job off this node: the slowest rail sets the pace.")                              \
    X(JOB_RAIL_UNTRIED, "job.rail.untried", NI_WARNING,                                           \
      "User: `nccl-init selftest` in the pod says more of the port.")                             \
    X(JOB_RAILS_DIFFER, "job.rails.differ", NI_ERROR,                                             \
      "User: request the same RDMA devices in all pods; see `nccl-init doctor` there.")           \
    X(JOB_RANK_TWICE, "job.rank.twice", NI_ERROR,                                                 \
      "User: give each pod a rank of its own; look for a pod of an earlier attempt.")             \
    X(JOB_RATE_DIFFERS, "job.rate.differs", NI_WARNING,                                           \
      "Cluster admin: look at the port's speed and cable: all rails become as slow.")             \
    X(JOB_RATE_LOW, "job.rate.low", NI_WARNING,                                                   \
      "Cluster admin: all are slow alike: look at the PCIe slots (a 400 Gb/s port "               \
      "needs Gen5 x16), at flow control and at other jobs on the fabric.")                        \
    X(JOB_RDMA_NONE, "job.rdma.none", NI_WARNING,                                                 \
      "User: request an RDMA resource in the pod spec. Where TCP is meant: --mode=tcp.")          \
    X(JOB_REFUSED, "job.refused", NI_INFO,                                                        \
      "User: give all pods of the job one image, one --ranks and one key (--job).")               \
    X(JOB_SETTING_DIFFERS, "job.setting.differs", NI_ERROR,                                       \
      "User: set it alike in all pods: NCCL does not compare it, and fails or hangs.")            \
    X(JOB_SETTING_SLOWS, "job.setting.slows", NI_WARNING,                                         \
      "User: set it alike in all pods: one rank that differs makes all of them slower.")          \
    X(JOB_SOFTWARE_DIFFERS, "job.software.differs", NI_WARNING,                                   \
      "User: run one image in all pods. Cluster admin: one GPU driver, one firmware.")            \
    X(JOB_SUBNET_DIFFERS, "job.subnet.differs", NI_WARNING,                                       \
      "Cluster admin: give the rail one subnet, or routes; are two rails swapped?")               \
    X(JOB_TRANSPORT_DIFFERS, "job.transport.differs", NI_ERROR,                                   \
      "User: NCCL_NET, NCCL_IB_DISABLE, NCCLINIT_MODE and the RDMA devices must be "              \
      "alike in all pods: NCCL with IB in one and sockets in another fails or hangs.")            \
    X(LOG_ALGO, "log.algo.none", NI_ERROR,                                                        \
      "User: unset NCCL_ALGO and NCCL_PROTO, or name a pair that has this collective.")           \
    X(LOG_COLLECTIVE, "log.collective.differs", NI_ERROR,                                         \
      "User: all ranks must call the same collectives, in one order, with the same sizes.")       \
    X(LOG_COMM_ID, "log.comm-id", NI_ERROR,                                                       \
      "User: unset NCCL_COMM_ID: torchrun and mpirun do not need it.")                            \
    X(LOG_CUDA, "log.cuda", NI_ERROR,                                                             \
      "User: compare the node's driver with the image's CUDA, and look at GPU memory.")           \
    X(LOG_DIAG, "log.diag", NI_WARNING,                                                           \
      "User: read all NCCL DIAG lines; NCCL_IB_HCA may rightly differ from pod to pod.")          \
    X(LOG_EXCEPTION, "log.exception", NI_ERROR,                                                   \
      "User: read the traceback in this rank's log; the other ranks' errors follow from it.")     \
    X(LOG_EXIT, "log.exit", NI_ERROR,                                                             \
      "User: look at this rank's own log. Signal 9 is often the kernel's OOM killer.")            \
    X(LOG_FAILED, "log.failed", NI_ERROR,                                                         \
      "User: set NCCL_DEBUG=INFO and look at the rank that failed first.")                        \
    X(LOG_FILES, "log.files", NI_ERROR,                                                           \
      "Cluster admin: raise the limit of open files (LimitNOFILE of the runtime, ulimits).")      \
    X(LOG_GDR, "log.gdr", NI_WARNING, "User: `nccl-init doctor` in the pod tells why.")           \
    X(LOG_GPU_SHARED, "log.gpu.shared", NI_ERROR,                                                 \
      "User: give each process its own GPU (LOCAL_RANK), each node its own NODE_RANK.")           \
    X(LOG_HCA_FATAL, "log.hca.fatal", NI_ERROR,                                                   \
      "Cluster admin: look at kernel log, firmware and ACS; take the HCA out of service.")        \
    X(LOG_HCA_PORT, "log.hca.port", NI_WARNING,                                                   \
      "Cluster admin: look at cable, switch port, and who changes the addresses.")                \
    X(LOG_LEFT, "log.left", NI_ERROR,                                                             \
      "User: look in this rank's program for the reason: the log does not show it.")              \
    X(LOG_LIBIBVERBS, "log.libibverbs", NI_WARNING,                                               \
      "User: install libibverbs1 and ibverbs-providers (RHEL: libibverbs) in the image.")         \
    X(LOG_LINES_LOST, "log.lines.lost", NI_INFO, "User: set RAY_DEDUP_LOGS=0 for Ray.")           \
    X(LOG_NONE, "log.none", NI_ERROR,                                                             \
      "User: run with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,BOOTSTRAP,ENV,NET,GRAPH.")           \
    X(LOG_PEER_DIED, "log.peer.died", NI_ERROR,                                                   \
      "User: find the rank that failed first; its log counts.")                                   \
    X(LOG_PEER_REFUSED, "log.peer.refused", NI_ERROR,                                             \
      "User: look whether that pod runs, and at its NCCL_SOCKET_IFNAME.")                         \
    X(LOG_PEER_SILENT, "log.peer.silent", NI_ERROR,                                               \
      "User: find the rank that failed first. Cluster admin: link, MTU, PFC, firewall.")          \
    X(LOG_PEER_STRANGER, "log.peer.stranger", NI_WARNING,                                         \
      "User: keep probes, scanners and the service mesh off the job's ports.")                    \
    X(LOG_PEER_UNREACHABLE, "log.peer.unreachable", NI_ERROR,                                     \
      "Cluster admin: look at NetworkPolicy and routes. User: at NCCL_SOCKET_IFNAME.")            \
    X(LOG_PLAN_DIFFERS, "log.plan.differs", NI_WARNING,                                           \
      "User: look at who sets it: the launcher, the image, an nccl.conf.")                        \
    X(LOG_PORT, "log.port", NI_ERROR,                                                             \
      "User: give each job its own MASTER_PORT; an earlier attempt may still listen.")            \
    X(LOG_RAILS_DIFFER, "log.rails.differ", NI_WARNING,                                           \
      "User: request the same number of RDMA devices in each pod.")                               \
    X(LOG_RANKS_MISSING, "log.ranks.missing", NI_ERROR,                                           \
      "User: look whether these pods run, and give their logs too.")                              \
    X(LOG_RDMA_REMOTE, "log.rdma.remote", NI_ERROR,                                               \
      "User: look in the other rank's log for an event of its HCA or an earlier error.")          \
    X(LOG_RENDEZVOUS, "log.rendezvous", NI_ERROR,                                                 \
      "User: look at rank 0's log, MASTER_ADDR and MASTER_PORT.")                                 \
    X(LOG_SOCKETS, "log.sockets", NI_ERROR,                                                       \
      "User: `nccl-init doctor` in the pod of these ranks tells why.")                            \
    X(LOG_TIMEOUT, "log.timeout", NI_ERROR,                                                       \
      "User: find the rank that is missing or in another collective; then test the rails.")       \
    X(LOG_UNFINISHED, "log.unfinished", NI_ERROR,                                                 \
      "User: look at the ranks that have no line, or whose last line is the oldest.")             \
    X(LOG_VERSION_DIFFERS, "log.version.differs", NI_ERROR,                                       \
      "User: start all ranks from the same image.")                                               \
    X(LOG_WARN, "log.warn", NI_ERROR,                                                             \
      "User: search for this text in NCCL's issues; nccl-init does not know it.")                 \
    X(MEMLOCK_LOW, "memlock.low", NI_WARNING,                                                     \
      "Cluster admin: memlock=-1:-1 (CRI-O's default_ulimits) or containerd's LimitMEMLOCK.")     \
    X(MEMLOCK_TOO_LOW, "memlock.too-low", NI_ERROR,                                               \
      "Cluster admin, for all pods: memlock=-1:-1 in CRI-O's default_ulimits, or "                \
      "LimitMEMLOCK=infinity for containerd. User: ulimits in securityContext (KEP-5758).")       \
    X(NET_EFA, "net.efa", NI_INFO,                                                                \
      "Nothing to do with the OFI plugin (aws-ofi-nccl); without it NCCL goes over TCP.")         \
    X(NICS_NOT_FUSED, "nics.not-fused", NI_INFO,                                                  \
      "User: leave one of the first two out by --hcas if speed counts. Cluster admin: one VF of " \
      "each port for a pod.")                                                                     \
    X(NVSHMEM_IBGDA, "nvshmem.ibgda", NI_WARNING,                                                 \
      "Cluster admin: NVreg_RegistryDwords=\"PeerMappingOverride=1;\", or GDRCopy (gdrdrv).")     \
    X(OPTION_INVALID, "option.invalid", NI_WARNING,                                               \
      "It is ignored. User: `nccl-init VERB --help` lists variables and values.")                 \
    X(PCI_LINK_SLOW, "pci.link.slow", NI_WARNING,                                                 \
      "Cluster admin: reseat card or riser; look at the slot's setting and at AER errors.")       \
    X(RAIL_MISSING, "rail.missing", NI_WARNING,                                                   \
      "User: request an RDMA device near each GPU. Cluster admin: Topology Manager, DRA.")        \
    X(RAIL_MTU_DIFFERS, "rail.mtu.differs", NI_WARNING,                                           \
      "Cluster admin: one MTU for all rails: network attachments, PFs and switches.")             \
    X(RAIL_RATE_DIFFERS, "rail.rate.differs", NI_WARNING,                                         \
      "Cluster admin: look at cable, transceiver, switch port. User: or leave it out.")           \
    X(RAIL_SLOW, "rail.slow", NI_WARNING,                                                         \
      "Cluster admin: look at cable and switch port. User: or name the rails (--hcas).")          \
    X(RDMA_CGROUP_LOW, "rdma.cgroup.low", NI_WARNING,                                             \
      "Cluster admin: raise rdma.max of the pod's cgroup, or leave it at max.")                   \
    X(RDMA_NETNS_EXCLUSIVE, "rdma.netns.exclusive", NI_ERROR,                                     \
      "Cluster admin: rdma CNI plugin behind sriov, or `rdma system set netns shared`.")          \
    X(REQUIRE_GDR, "require.gdr", NI_ERROR,                                                       \
      "User: no --gdr=off; GPUs and HCAs that are near. Cluster admin: peermem, open modules.")   \
    X(REQUIRE_GPUS, "require.gpus", NI_ERROR,                                                     \
      "The command is not started. User: request GPUs (nvidia.com/gpu, amd.com/gpu).")            \
    X(REQUIRE_MEMLOCK, "require.memlock", NI_ERROR,                                               \
      "User: --keep-caps=ipc_lock. Cluster admin: CRI-O default_ulimits, LimitMEMLOCK.")          \
    X(REQUIRE_PREFLIGHT, "require.preflight", NI_ERROR,                                           \
      "User: look at the findings about `job.`; `nccl-init preflight` in all pods tells more.")   \
    X(REQUIRE_RAILS, "require.rails", NI_ERROR,                                                   \
      "User: request more RDMA devices; `nccl-init plan` tells why one was left out.")            \
    X(REQUIRE_RDMA, "require.rdma", NI_ERROR,                                                     \
      "User: request an RDMA resource in the pod, or leave the demand or --mode out.")            \
    X(REQUIRE_ROCE_V2, "require.roce-v2", NI_ERROR,                                               \
      "User: give each interface an address. Cluster admin: enable RoCE v2 (cma_roce_mode).")     \
    X(REQUIRE_SELFTEST, "require.selftest", NI_ERROR,                                             \
      "User: look at the findings about `verbs.`; `nccl-init selftest` shows each port.")         \
    X(REQUIRE_UNCLEAR, "require.unclear", NI_ERROR,                                               \
      "User: correct the variable in the pod spec or ConfigMap; `nccl-init run --help` lists "    \
      "names and values.")                                                                        \
    X(SHM_DEFAULT, "shm.default", NI_ERROR,                                                       \
      "User: mount an emptyDir with medium Memory at /dev/shm (docker: --shm-size=1g).")          \
    X(SHM_SMALL, "shm.small", NI_WARNING,                                                         \
      "User: give the emptyDir at /dev/shm 1 GiB or more (sizeLimit, or docker --shm-size).")     \
    X(SOCKET_LEFT_OUT, "socket.left-out", NI_INFO,                                                \
      "User: if every pod reaches the others through each of them, --sockets=rails takes all.")   \
    X(SOCKET_NONE, "socket.none", NI_ERROR,                                                       \
      "NCCL dies, or takes an address that no other node reaches. Cluster admin: give the pod "   \
      "a network with a routable address, and bring its interface up.")                           \
    X(SOCKET_UNUSABLE, "socket.unusable", NI_WARNING,                                             \
      "User: name interfaces that are up and have an address, or leave --sockets=auto.")          \
    X(USER_CROSS_NIC, "user.cross-nic.open", NI_INFO,                                             \
      "Nothing to do while the job connects. Else, cluster admin: routes between the rails.")     \
    X(USER_ENV_PLUGIN, "user.env-plugin", NI_WARNING,                                             \
      "User: set it to none, or have the plugin pass on what the environment has.")               \
    X(USER_GDR_OFF, "user.gdr-level.off", NI_WARNING,                                             \
      "User: unset NCCL_NET_GDR_LEVEL, so that nccl-init chooses.")                               \
    X(USER_GID_WRONG, "user.gid-index.wrong", NI_ERROR,                                           \
      "User: unset NCCL_IB_GID_INDEX, NCCL_IB_ADDR_*, NCCL_IB_ROCE_VERSION_NUM, even if empty.")  \
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
      "User: unset NCCL_NET: NCCL then uses RDMA where it can, and else TCP.")                    \
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
      "User: remove the variable or give it a value: empty, it hides nccl-init's choice.")        \
    X(USER_VALUE_IGNORED, "user.value.ignored", NI_WARNING,                                       \
      "User: correct the value, or remove the variable.")                                         \
    X(VERBS_CONNECT, "verbs.connect", NI_ERROR,                                                   \
      "User: leave NCCL_IB_GID_INDEX unset, so that nccl-init chooses. Cluster admin: "           \
      "look at the interface's address and routes. NCCL fails with the same number.")             \
    X(VERBS_DMABUF, "verbs.dmabuf.none", NI_WARNING,                                              \
      "Cluster admin: load nvidia-peermem, or install an RDMA driver that has DMA-BUF.")          \
    X(VERBS_GID, "verbs.gid", NI_ERROR,                                                           \
      "User: leave NCCL_IB_GID_INDEX unset, so that nccl-init chooses. Cluster admin: "           \
      "give the port's interface an address (network attachment, IPAM).")                         \
    X(VERBS_MEMLOCK, "verbs.memlock", NI_ERROR,                                                   \
      "User: start the job with `nccl-init -- COMMAND`. Cluster admin: memlock=-1:-1 in "         \
      "CRI-O's default_ulimits, LimitMEMLOCK=infinity for containerd.")                           \
    X(VERBS_NONE, "verbs.none", NI_WARNING,                                                       \
      "User: request an RDMA resource in the pod spec; `nccl-init plan` tells why a device "      \
      "was left out. Where TCP is meant: --mode=tcp.")                                            \
    X(VERBS_OPEN, "verbs.open", NI_ERROR,                                                         \
      "User: request the device by its resource. Cluster admin: the device plugin must "          \
      "hand out the uverbs node of a device of the pod's own network namespace.")                 \
    X(VERBS_PORT, "verbs.port", NI_ERROR,                                                         \
      "User: attach the device to the network. Cluster admin: cable, switch, subnet manager.")    \
    X(VERBS_PROCESS, "verbs.process", NI_ERROR,                                                   \
      "Cluster admin: look at the node's kernel log (hung task, firmware, out of memory). "       \
      "User: give more time (--deadline) or memory, or raise the limit of processes.")            \
    X(VERBS_PROTECTION, "verbs.protection", NI_ERROR,                                             \
      "Cluster admin: boot the node with iommu=pt (OpenShift: a MachineConfig).")                 \
    X(VERBS_PROVIDER, "verbs.provider", NI_WARNING,                                               \
      "User: try the port with `ib_write_bw` of the image, whose libibverbs NCCL uses, too.")     \
    X(VERBS_RESOURCES, "verbs.resources", NI_ERROR,                                               \
      "Cluster admin: look at the pod's memory limit and its RDMA cgroup (rdma.max).")            \
    X(VERBS_TRANSFER, "verbs.transfer", NI_ERROR,                                                 \
      "Cluster admin: look at the node's kernel log, at firewall and spoof check. Where data "    \
      "came back wrong, take the HCA out of service.")                                            \
    X(WAIT_OVER, "wait.over", NI_WARNING,                                                         \
      "User: wait longer (--wait), or look at network attachment, IPAM and link.")

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
    NI_FINDING_MESSAGE = 480 /* two pods, whose names have 63 letters as their nodes', and why */
};

struct ni_finding {
    enum ni_finding_id id;
    char subject[96]; /* "mlx5_6/1", "PCIDEVICE_X", a path */
    char message[NI_FINDING_MESSAGE];
};

/* In the order they were reported. The first of each id has room always, so that its severity
   counts; of the others NI_MAX_AGAIN, later ones are only counted. */
struct ni_findings {
    unsigned n;
    unsigned dropped;
    struct ni_finding at[NI_MAX_FINDINGS];
};

const struct ni_finding_kind *ni_finding_kind(enum ni_finding_id id);
const char *ni_severity_text(enum ni_severity severity); /* "info", "warning", "error" */

/* Adds a finding. Subject and arguments may be untrusted: what is not printable ASCII becomes
   \xHH. The same id, subject and message are kept once. */
void ni_report(struct ni_findings *f, enum ni_finding_id id, const char *subject, const char *fmt,
               ...) NI_PRINTF(4, 5);
/* Orders those from index `from` on by subject, id and message: for who finds them in an order that
   means nothing. */
void ni_findings_sort(struct ni_findings *f, unsigned from);
/* Returns the number of findings of exactly this severity. */
unsigned ni_findings_count(const struct ni_findings *f, enum ni_severity severity);
bool ni_findings_has(const struct ni_findings *f, enum ni_finding_id id);
/* Takes out each finding about a fact of which a stronger one tells. */
void ni_findings_drop_weaker(struct ni_findings *f);

#endif
