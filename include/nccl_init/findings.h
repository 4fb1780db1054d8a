/* SPDX-License-Identifier: Apache-2.0 */
/* Findings: what the program reports to people. The catalogue is one table, made of rows here
   and of those of each tool; docs/reference/findings.md has a heading for each id. */
#ifndef NCCL_INIT_FINDINGS_H
#define NCCL_INIT_FINDINGS_H

#include <stdbool.h>

#include "doctor/findings.h"
#include "log/findings.h"
#include "nccl_init/base.h"
#include "preflight/findings.h"
#include "selftest/findings.h"

struct ni_span;

enum ni_severity { NI_INFO, NI_WARNING, NI_ERROR };

/* Rows of the catalogue: X(name, "permanent.id", severity, "hint: an action, and whose"). Ids are
   never renamed or reused. The rows of each file are in the order of the ids. Here are those that
   no tool has alone. */
#define NI_SHARED_FINDINGS(X)                                                                      \
    X(ALLOC_ID_INVALID, "alloc.id.invalid", NI_WARNING,                                            \
      "Cluster admin: find what sets it; device plugins write PCI addresses or auxiliary names.")  \
    X(ALLOC_INFO_INVALID, "alloc.info.invalid", NI_WARNING,                                        \
      "The invalid part is ignored. Cluster admin: find what writes it.")                          \
    X(ALLOC_METADATA_PENDING, "alloc.metadata.pending", NI_WARNING,                                \
      "User: wait for it with --wait=30. Cluster admin: find out why the DRA driver does not "     \
      "write it.")                                                                                 \
    X(ALLOC_NO_DEVICE, "alloc.no-device", NI_WARNING,                                              \
      "User: restart the pod, remove the variable if it was copied, or correct --hcas.")           \
    X(ALLOC_NO_UVERBS, "alloc.no-uverbs", NI_ERROR,                                                \
      "User: request an RDMA resource in the pod spec; it brings the device nodes.")               \
    X(ALLOC_NOT_RDMA, "alloc.not-rdma", NI_INFO,                                                   \
      "Cluster admin: if it is a NIC, set isRdma for the resource; otherwise there is nothing "    \
      "to do.")                                                                                    \
    X(ALLOC_RDMA_DEV_DIFFERS, "alloc.rdma-dev.differs", NI_WARNING,                                \
      "User: restart the pod; its variables are older than the last driver reload.")               \
    X(ALLOC_SOURCES_DIFFER, "alloc.sources.differ", NI_WARNING,                                    \
      "The first source decides. User: if the device is the pod's, restart the pod.")              \
    X(ALLOC_TOO_MANY, "alloc.too-many", NI_WARNING,                                                \
      "User: find what sets the variable; no plugin lists so many devices.")                       \
    X(CAPS_DROP_BOUNDING, "caps.drop.bounding", NI_WARNING,                                        \
      "User: remove it from securityContext.capabilities, or add SETPCAP there.")                  \
    X(CAPS_KEEP_MISSING, "caps.keep.missing", NI_WARNING,                                          \
      "User: add it to securityContext.capabilities and remove it from --drop-caps. For "          \
      "CAP_IPC_LOCK without root, also run `setcap cap_ipc_lock=p nccl-init` in the image, and "   \
      "do not set no_new_privs.")                                                                  \
    X(CONF_CRLF, "conf.crlf", NI_WARNING, "User: run `sed -i 's/\\r$//' FILE`.")                   \
    X(CONF_FILE_OLD, "conf.file.old", NI_INFO,                                                     \
      "NCCL 2.23.4 and later read it. User: with an older NCCL, mount the file as "                \
      "/etc/nccl.conf.")                                                                           \
    X(CONF_HOME_DIFFERS, "conf.home.differs", NI_WARNING,                                          \
      "User: set HOME to the home in /etc/passwd, or set NCCL_CONF_FILE (NCCL 2.23.4+).")          \
    X(CONF_NVSHMEM, "conf.nvshmem", NI_WARNING,                                                    \
      "User: remove the line; NVSHMEM prefers the file to the environment.")                       \
    X(CONF_UNREADABLE, "conf.unreadable", NI_WARNING,                                              \
      "User: make the file readable for the pod's user, or remove it; NCCL reads it too.")         \
    X(EXEC_NO_ROOM, "exec.no-room", NI_ERROR,                                                      \
      "The command starts without them, unless --require or a short form of it is given. User: "   \
      "pass large values as files, or raise the stack limit (ulimit -s).")                         \
    X(EXEC_PID1_NO_INIT, "exec.pid1.no-init", NI_INFO,                                             \
      "User: start `tini -g -- nccl-init -- COMMAND` (docker: --init), or share the PID "          \
      "namespace.")                                                                                \
    X(FACT_TRUNCATED, "fact.truncated", NI_WARNING,                                                \
      "The rest is ignored. User: send the output of `nccl-init snapshot --mask` to the "          \
      "developers.")                                                                               \
    X(FACT_UNREADABLE, "fact.unreadable", NI_WARNING,                                              \
      "The decision was made without this file. Cluster admin: give the pod read access to it.")   \
    X(GDR_DMABUF_OFF, "gdr.dmabuf.off", NI_WARNING,                                                \
      "User: remove NCCL_DMABUF_ENABLE=0; without peermem, GPUDirect RDMA needs DMA-BUF.")         \
    X(GDR_DMABUF_RCCL, "gdr.dmabuf.rccl", NI_WARNING,                                              \
      "User: set NCCL_DMABUF_ENABLE=1; before ROCm 7.11 also mount the node's /boot, "             \
      "or RCCL crashes. Cluster admin: load a driver with amdkfd's peer memory instead.")          \
    X(GDR_DRIVER_ORDER, "gdr.driver.order", NI_WARNING,                                            \
      "Cluster admin: build the GPU driver after MLNX_OFED or DOCA, or use its open modules.")     \
    X(GDR_PEERMEM_HIDDEN, "gdr.peermem.hidden", NI_INFO,                                           \
      "User: use NCCL 2.23.4 or later; older versions do not see this nvidia-peermem.")            \
    X(GDR_UNAVAILABLE, "gdr.unavailable", NI_WARNING,                                              \
      "Cluster admin: load nvidia-peermem, or use the open GPU kernel modules (kernel 5.12 or "    \
      "later).")                                                                                   \
    X(GID_INDEX_DIFFERS, "gid.index.differs", NI_INFO,                                             \
      "User: use NCCL 2.21.5 or later in this pod; it searches on each HCA.")                      \
    X(GID_LINK_LOCAL, "gid.link-local", NI_WARNING,                                                \
      "Cluster admin: give the interface an IPv4 or a routable IPv6 address (IPAM).")              \
    X(GID_NONE, "gid.none", NI_WARNING,                                                            \
      "User: attach the pod to the device's network. Cluster admin: give its interface an "        \
      "address (IPAM).")                                                                           \
    X(GID_OWNER_UNKNOWN, "gid.owner.unknown", NI_WARNING,                                          \
      "Cluster admin: let the pod read /proc/net/fib_trie; the entry may be another pod's.")       \
    X(GID_SEARCH_WRONG, "gid.search.wrong", NI_ERROR,                                              \
      "Cluster admin: give each port one address, or one subnet that only this pod uses.")         \
    X(GID_SUBNETS, "gid.subnets.mixed", NI_INFO,                                                   \
      "Cluster admin: give each port one subnet. User: until then set "                            \
      "NCCL_IB_ADDR_RANGE=SUBNET.")                                                                \
    X(GID_V1_ONLY, "gid.v1-only", NI_WARNING,                                                      \
      "Cluster admin: enable RoCE v2 on the port (cma_roce_mode); v1 does not cross subnets.")     \
    X(GPU_HCA_FAR, "gpu.hca.far", NI_WARNING,                                                      \
      "Cluster admin: allocate GPUs and HCAs together (DRA, Topology Manager best-effort).")       \
    X(GPU_HCA_PASSED_OVER, "gpu.hca.passed-over", NI_WARNING,                                      \
      "User: leave the faster HCA out (--hcas), or allow the distance with --gdr and measure. "    \
      "Cluster admin: give pods HCAs of one speed.")                                               \
    X(GPU_NODE_MISSING, "gpu.node.missing", NI_ERROR,                                              \
      "User: request the GPU by its resource. Cluster admin: check the container toolkit.")        \
    X(HCA_GUID_NONE, "hca.guid.none", NI_WARNING,                                                  \
      "Cluster admin: write GUIDs to the VF before a pod gets it: ib-kubernetes with "             \
      "ib-sriov-cni, or `ip link set PF vf N node_guid GUID` and `port_guid GUID`.")               \
    X(HCA_LINK_MIXED, "hca.link.mixed", NI_WARNING,                                                \
      "NCCL dies if InfiniBand and RoCE are mixed. User: request devices of one kind.")            \
    X(HCA_NAME_INVALID, "hca.name.invalid", NI_WARNING,                                            \
      "NCCL_IB_HCA cannot hold this name. Cluster admin: rename the device (rdma dev set name).")  \
    X(HCA_NODE_LOST, "hca.node.lost", NI_ERROR,                                                    \
      "Cluster admin: set isRdma: true, so that the device plugin hands out the uverbs node.")     \
    X(HCA_NODE_MISSING, "hca.node.missing", NI_ERROR,                                              \
      "User: request the device by its resource. Cluster admin: set isRdma, and load ib_uverbs.")  \
    X(HCA_NONE, "hca.none", NI_INFO,                                                               \
      "User: for RDMA, request an SR-IOV or RDMA resource in the pod spec.")                       \
    X(HCA_NONE_USABLE, "hca.none-usable", NI_ERROR,                                                \
      "User: `nccl-init plan` shows the reason for each device; over TCP a job is far slower.")    \
    X(HCA_NOT_SHOWN, "hca.not-shown", NI_INFO, "Nothing to do: all HCAs of the pod are shown.")    \
    X(HCA_PLACE_LOST, "hca.place.lost", NI_INFO,                                                   \
      "User: set NCCL_TOPO_FILE if the GPUs are at another CPU. NCCL before 2.20.3 may crash.")    \
    X(HCA_PORT_DOWN, "hca.port.down", NI_WARNING,                                                  \
      "User: attach the device to its network. Cluster admin: check the link, the cable and, on "  \
      "InfiniBand, the subnet manager.")                                                           \
    X(HCA_PORT_SLOW, "hca.port.slow", NI_INFO,                                                     \
      "Nothing to do if it is a management or storage port. User: to use it, name it in --hcas.")  \
    X(HCA_SOFTROCE_LEFT_OUT, "hca.softroce.left-out", NI_INFO,                                     \
      "Nothing to do: the job uses the HCAs on PCI. User: to use it alone, name it in --hcas.")    \
    X(HCA_SOFTROCE_MIXED, "hca.softroce.mixed", NI_WARNING,                                        \
      "User: name devices of one kind in --hcas.")                                                 \
    X(HCA_TOO_MANY, "hca.too-many", NI_WARNING,                                                    \
      "NCCL uses at most 32 ports; the others, in PCI order, are left out. User: request fewer.")  \
    X(IB_PKEY_EMPTY, "ib.pkey.empty", NI_ERROR,                                                    \
      "User: set NCCL_IB_PKEY to the index of the job's partition, the same partition in all "     \
      "pods. Cluster admin: let the subnet manager put the port into it.")                         \
    X(IB_PKEY_LIMITED, "ib.pkey.limited", NI_WARNING,                                              \
      "User: set NCCL_IB_PKEY to the index of the full member if the job runs in that "            \
      "partition, in all pods alike.")                                                             \
    X(IMEX_CHANNEL_MISSING, "imex.channel.missing", NI_WARNING,                                    \
      "User: claim a ComputeDomain channel (DRA), or set NCCL_MNNVL_ENABLE=0.")                    \
    X(IOMMU_SLOW, "iommu.slow", NI_WARNING,                                                        \
      "Cluster admin: boot the node with iommu=pt (OpenShift: a MachineConfig).")                  \
    X(IOMMU_TRANSLATED, "iommu.translated", NI_ERROR,                                              \
      "Locked memory is not the cause. Cluster admin: boot the node with iommu=pt "                \
      "(OpenShift: a MachineConfig).")                                                             \
    X(JOB_CPU_DIFFERS, "job.cpu.differs", NI_WARNING,                                              \
      "User: run the job on one kind of CPU; NCCL tunes itself by it, and may hang "               \
      "otherwise.")                                                                                \
    X(JOB_GPUS_DIFFER, "job.gpus.differ", NI_WARNING,                                              \
      "User: request the same number of GPUs in all pods; otherwise NCCL may hang.")               \
    X(JOB_HOSTID_SAME, "job.hostid.same", NI_ERROR,                                                \
      "User: leave NCCL_HOSTID unset, or give each node its own value.")                           \
    X(JOB_RAILS_DIFFER, "job.rails.differ", NI_ERROR,                                              \
      "User: request the same RDMA devices in all pods, and run `nccl-init doctor` in them.")      \
    X(JOB_RANK_TWICE, "job.rank.twice", NI_ERROR,                                                  \
      "User: give each pod a rank of its own; look for a pod of an earlier attempt.")              \
    X(JOB_SETTING_DIFFERS, "job.setting.differs", NI_ERROR,                                        \
      "User: set it to the same value in all pods; otherwise NCCL fails or hangs.")                \
    X(JOB_SETTING_SLOWS, "job.setting.slows", NI_WARNING,                                          \
      "User: set it to the same value in all pods; otherwise all of them are slower.")             \
    X(JOB_SOFTWARE_DIFFERS, "job.software.differs", NI_WARNING,                                    \
      "User: run the same image in all pods. Cluster admin: install one GPU driver and one "       \
      "firmware on all nodes.")                                                                    \
    X(JOB_TRANSPORT_DIFFERS, "job.transport.differs", NI_ERROR,                                    \
      "User: give all pods the same RDMA devices, NCCL_NET, NCCL_IB_DISABLE and NCCLINIT_MODE; "   \
      "with IB in one pod and sockets in another NCCL fails or hangs.")                            \
    X(MEMLOCK_ELSEWHERE, "memlock.elsewhere", NI_WARNING,                                          \
      "Nothing to do if `ulimit -l` says unlimited where the command runs, or the command has "    \
      "CAP_IPC_LOCK. Cluster admin: otherwise raise the limit for all pods (memlock.low).")        \
    X(MEMLOCK_LOW, "memlock.low", NI_WARNING,                                                      \
      "User: give a container that runs as root SYS_RESOURCE or IPC_LOCK "                         \
      "(securityContext.capabilities). Cluster admin: set memlock=-1:-1 in CRI-O's "               \
      "default_ulimits, or LimitMEMLOCK=infinity "                                                 \
      "for containerd.")                                                                           \
    X(MEMLOCK_TOO_LOW, "memlock.too-low", NI_ERROR,                                                \
      "User: give a container that runs as root SYS_RESOURCE or IPC_LOCK "                         \
      "(securityContext.capabilities). Cluster admin: set memlock=-1:-1 in CRI-O's "               \
      "default_ulimits, or "                                                                       \
      "LimitMEMLOCK=infinity for containerd.")                                                     \
    X(NET_EFA, "net.efa", NI_INFO,                                                                 \
      "Nothing to do if the image has the OFI plugin (aws-ofi-nccl); without it NCCL uses TCP.")   \
    X(NICS_NOT_FUSED, "nics.not-fused", NI_INFO,                                                   \
      "User: if speed counts, leave one of the first two out with --hcas. Cluster admin: give a "  \
      "pod one VF of each port.")                                                                  \
    X(OPTION_INVALID, "option.invalid", NI_WARNING,                                                \
      "It is ignored. User: `nccl-init VERB --help` lists variables and values.")                  \
    X(RAIL_RATE_DIFFERS, "rail.rate.differs", NI_WARNING,                                          \
      "Cluster admin: check the cable, the transceiver and the switch port. User: "                \
      "until then leave the rail out (--hcas).")                                                   \
    X(RAIL_SLOW, "rail.slow", NI_WARNING,                                                          \
      "Cluster admin: check the cable and the switch port. User: to use it as it is, "             \
      "name all rails in --hcas.")                                                                 \
    X(RDMA_CGROUP_LOW, "rdma.cgroup.low", NI_WARNING,                                              \
      "Cluster admin: raise rdma.max of the pod's cgroup, or leave it at max.")                    \
    X(RDMA_NETNS_EXCLUSIVE, "rdma.netns.exclusive", NI_ERROR,                                      \
      "Cluster admin: chain the rdma CNI plugin after sriov, or run `rdma system set netns "       \
      "shared`.")                                                                                  \
    X(REQUIRE_GDR, "require.gdr", NI_ERROR,                                                        \
      "User: remove --gdr=off and request GPUs and HCAs on the same PCIe switch. "                 \
      "Cluster admin: load nvidia-peermem, or use the open GPU kernel modules (kernel "            \
      "5.12 or later).")                                                                           \
    X(REQUIRE_GPUS, "require.gpus", NI_ERROR, "User: request GPUs (nvidia.com/gpu, amd.com/gpu).") \
    X(REQUIRE_MEMLOCK, "require.memlock", NI_ERROR,                                                \
      "User: request SYS_RESOURCE and IPC_LOCK (chart job: memlock=caps). "                        \
      "Cluster admin: set memlock=-1:-1 in CRI-O's default_ulimits, or LimitMEMLOCK=infinity "     \
      "for containerd.")                                                                           \
    X(REQUIRE_PREFLIGHT, "require.preflight", NI_ERROR,                                            \
      "User: read the findings that begin with `job.`; `nccl-init preflight` in all pods says "    \
      "more.")                                                                                     \
    X(REQUIRE_RAILS, "require.rails", NI_ERROR,                                                    \
      "User: request more RDMA devices; `nccl-init plan` shows why one was left out.")             \
    X(REQUIRE_RDMA, "require.rdma", NI_ERROR,                                                      \
      "User: request an RDMA resource in the pod spec, or remove the demand (--require, "          \
      "--mode=rdma).")                                                                             \
    X(REQUIRE_ROCE_V2, "require.roce-v2", NI_ERROR,                                                \
      "User: give each interface an address. Cluster admin: enable RoCE v2 (cma_roce_mode).")      \
    X(REQUIRE_SELFTEST, "require.selftest", NI_ERROR,                                              \
      "User: read the findings that begin with `verbs.`; `nccl-init selftest` shows each port.")   \
    X(REQUIRE_UNCLEAR, "require.unclear", NI_ERROR,                                                \
      "User: correct the variable in the pod spec or ConfigMap; `nccl-init run --help` lists "     \
      "names and values.")                                                                         \
    X(SHM_DEFAULT, "shm.default", NI_ERROR,                                                        \
      "User: mount an emptyDir with `medium: Memory` at /dev/shm (docker: --shm-size=1g).")        \
    X(SOCKET_LEFT_OUT, "socket.left-out", NI_INFO,                                                 \
      "User: if every pod reaches the others through each of them, add --sockets=rails.")          \
    X(SOCKET_NONE, "socket.none", NI_ERROR,                                                        \
      "NCCL dies, or takes an address that no other node reaches. Cluster admin: give the pod a "  \
      "network with a routable address, and bring its interface up.")                              \
    X(SOCKET_UNUSABLE, "socket.unusable", NI_WARNING,                                              \
      "User: name interfaces that are up and have an address, or use --sockets=auto.")             \
    X(USER_CROSS_NIC, "user.cross-nic.open", NI_INFO,                                              \
      "Nothing to do while the job connects. Cluster admin: otherwise add routes between the "     \
      "rails.")                                                                                    \
    X(USER_ENV_PLUGIN, "user.env-plugin", NI_WARNING,                                              \
      "User: set it to none, or use a plugin that also reads the environment.")                    \
    X(USER_GDR_OFF, "user.gdr-level.off", NI_WARNING,                                              \
      "User: unset NCCL_NET_GDR_LEVEL, so that nccl-init chooses.")                                \
    X(USER_GID_WRONG, "user.gid-index.wrong", NI_ERROR,                                            \
      "User: unset NCCL_IB_GID_INDEX, NCCL_IB_ADDR_* and NCCL_IB_ROCE_VERSION_NUM, "               \
      "even empty ones.")                                                                          \
    X(USER_HCA_EXTRA, "user.ib-hca.extra", NI_WARNING,                                             \
      "User: unset NCCL_IB_HCA, or name only ports that `plan` shows as chosen.")                  \
    X(USER_HCA_FOREIGN, "user.ib-hca.foreign", NI_WARNING,                                         \
      "User: unset NCCL_IB_HCA, or name devices of this pod; use '=' for exact names.")            \
    X(USER_HCA_LEFT_OUT, "user.ib-hca.left-out", NI_ERROR,                                         \
      "User: unset NCCL_IB_HCA, or name only ports that `plan` shows as chosen.")                  \
    X(USER_HCA_NONE, "user.ib-hca.none", NI_ERROR,                                                 \
      "NCCL uses TCP, and does not say so. User: unset NCCL_IB_HCA, or name the pod's HCAs.")      \
    X(USER_HCA_PREFIX, "user.ib-hca.prefix", NI_WARNING,                                           \
      "User: begin the list with '=': `=mlx5_1` is exact, `mlx5_1` is a prefix.")                  \
    X(USER_NAME_MISSPELT, "user.name.misspelt", NI_WARNING,                                        \
      "User: correct the name in the pod spec or env file; until then it has no effect.")          \
    X(USER_NET_NONE, "user.net.none", NI_ERROR,                                                    \
      "User: unset NCCL_NET; NCCL then uses RDMA if it can, and otherwise TCP.")                   \
    X(USER_NET_OTHER, "user.net.other", NI_INFO,                                                   \
      "Nothing to do: the plugin has its own settings.")                                           \
    X(USER_NICS_FUSED, "user.nics.fused", NI_WARNING,                                              \
      "User: unset NCCL_IB_MERGE_NICS, NCCL_NET_MERGE_LEVEL and NCCL_NET_FORCE_MERGE.")            \
    X(USER_SOCKET_FIRST, "user.socket-ifname.first", NI_WARNING,                                   \
      "User: name the interface that reaches other nodes (NCCL_SOCKET_IFNAME==eth0).")             \
    X(USER_SOCKET_NONE, "user.socket-ifname.none", NI_ERROR,                                       \
      "User: unset the variable, or name an interface of the pod that has an address.")            \
    X(USER_SOCKET_OTHERS, "user.socket-ifname.others", NI_WARNING,                                 \
      "User: name only interfaces that reach other nodes (NCCL_SOCKET_IFNAME==eth0).")             \
    X(USER_TOPO_UNREADABLE, "user.topo-file.unreadable", NI_WARNING,                               \
      "User: unset NCCL_TOPO_FILE, or mount the file into the pod.")                               \
    X(USER_VALUE_EMPTY, "user.value.empty", NI_WARNING,                                            \
      "User: remove the variable, or give it a value; an empty one hides nccl-init's choice.")     \
    X(USER_VALUE_IGNORED, "user.value.ignored", NI_WARNING,                                        \
      "User: correct the value, or remove the variable.")                                          \
    X(VERBS_CONNECT, "verbs.connect", NI_ERROR,                                                    \
      "User: leave NCCL_IB_GID_INDEX unset, so that nccl-init chooses. Cluster admin: "            \
      "check the address (IPAM) and the routes of the port's interface.")                          \
    X(VERBS_DMABUF, "verbs.dmabuf.none", NI_WARNING,                                               \
      "Cluster admin: load nvidia-peermem, or install an RDMA driver that supports DMA-BUF.")      \
    X(VERBS_GID, "verbs.gid", NI_ERROR,                                                            \
      "User: leave NCCL_IB_GID_INDEX unset, so that nccl-init chooses. Cluster admin: "            \
      "check the address (IPAM) and the routes of the port's interface.")                          \
    X(WAIT_OVER, "wait.over", NI_WARNING,                                                          \
      "User: wait longer (--wait), or check the network attachment, IPAM and the link.")

/* The catalogue. A tool's own rows stand in its folder; they are words without code. */
#define NI_FINDINGS(X)       \
    NI_SHARED_FINDINGS(X)    \
    NI_DOCTOR_FINDINGS(X)    \
    NI_SELFTEST_FINDINGS(X)  \
    NI_PREFLIGHT_FINDINGS(X) \
    NI_LOG_FINDINGS(X)

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
/* Returns the kind of finding that has this permanent id; NI_F_COUNT: none has. */
unsigned ni_finding_named(struct ni_span id);
/* Lists all kinds in the order of their permanent ids, as people read them. */
void ni_finding_kinds_sort(enum ni_finding_id sorted[NI_F_COUNT]);
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
