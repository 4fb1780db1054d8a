/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about what NCCL and the programs around it printed. In the order of the ids, as in
   log.h. */
#include "findings/log.h"

#include "findings/commands.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"

const struct ni_finding_kind ni_log_findings[] = {
    {
        .number = NI_F_LOG_ALGO,
        .id = "log.algo.none",
        .cost = NI_COST_FAILS,
        .user = "unset NCCL_ALGO and NCCL_PROTO, or name a pair that supports this collective.",
        .command = "In the pod: unset NCCL_ALGO NCCL_PROTO",
    },
    {
        .number = NI_F_LOG_ALONE,
        .id = "log.alone",
        .cost = NI_COST_FAILS,
        .user = "give each process its rank: torchrun's --nnodes, WORLD_SIZE, mpirun; build "
                "nccl-tests with MPI=1.",
    },
    {
        .number = NI_F_LOG_COLLECTIVE,
        .id = "log.collective.differs",
        .cost = NI_COST_FAILS,
        .user = "all ranks must call the same collectives, in the same order, with the same sizes.",
    },
    {
        .number = NI_F_LOG_COLLECTIVE_NONE,
        .id = "log.collective.none",
        .cost = NI_COST_MAY_FAIL,
        .user = "look whether the job still runs; if it hangs, test the rails (`nccl-init "
                "preflight`).",
        .command = "In the pod: nccl-init preflight",
    },
    {
        .number = NI_F_LOG_COMM_ID,
        .id = "log.comm-id",
        .cost = NI_COST_FAILS,
        .user = "unset NCCL_COMM_ID; torchrun and mpirun do not need it.",
        .command = "In the pod: unset NCCL_COMM_ID",
    },
    {
        .number = NI_F_LOG_CUDA,
        .id = "log.cuda",
        .cost = NI_COST_FAILS,
        .user = "read the error.",
        .admin = "look for Xid in the node's kernel log.",
        .command = "On the node: dmesg",
    },
    {
        .number = NI_F_LOG_CUDA_DEVICE,
        .id = "log.cuda.device",
        .cost = NI_COST_FAILS,
        .user = "request as many GPUs as processes, and let each use that of its LOCAL_RANK.",
        .command = "In the pod: nvidia-smi",
    },
    {
        .number = NI_F_LOG_CUDA_FABRIC,
        .id = "log.cuda.fabric",
        .cost = NI_COST_FAILS,
        .admin = "check nvidia-fabricmanager and the NVSwitches of that node.",
        .command = "In the pod: nvidia-smi",
    },
    {
        .number = NI_F_LOG_CUDA_IMAGE,
        .id = "log.cuda.image",
        .cost = NI_COST_FAILS,
        .user = "take an image whose CUDA fits.",
        .admin = "or install a newer driver.",
        .command = "In the pod: nvidia-smi",
    },
    {
        .number = NI_F_LOG_CUDA_KERNEL,
        .id = "log.cuda.kernel",
        .cost = NI_COST_FAILS,
        .user = "run it with CUDA_LAUNCH_BLOCKING=1.",
        .admin = "look for Xid in the kernel log.",
        .command = "On the node: dmesg",
    },
    {
        .number = NI_F_LOG_CUDA_MEMORY,
        .id = "log.cuda.memory",
        .cost = NI_COST_FAILS,
        .user = "see which processes use that GPU (nvidia-smi), and use less memory.",
        .command = "In the pod: nvidia-smi",
    },
    {
        .number = NI_F_LOG_CUMEM,
        .id = "log.cumem.differs",
        .cost = NI_COST_FAILS,
        .user = "set NCCL_CUMEM_HOST_ENABLE=0 on all ranks.",
        .command = "In the pod: export NCCL_CUMEM_HOST_ENABLE=0",
    },
    {
        .number = NI_F_LOG_DIAG,
        .id = "log.diag",
        .cost = NI_COST_MAY_FAIL,
        .user = "read all NCCL DIAG lines; NCCL_IB_HCA is allowed to differ from pod to pod.",
    },
    {
        .number = NI_F_LOG_ERROR,
        .id = "log.error",
        .cost = NI_COST_FAILS,
        .user = "read that line, and those around it.",
        .command =
            "In the pod: export NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,BOOTSTRAP,ENV,NET,GRAPH",
    },
    {
        .number = NI_F_LOG_EXCEPTION,
        .id = "log.exception",
        .cost = NI_COST_FAILS,
        .user = "read the traceback in this rank's log; the other ranks' errors follow from it.",
    },
    {
        .number = NI_F_LOG_EXIT,
        .id = "log.exit",
        .cost = NI_COST_FAILS,
        .user = "read this rank's own log. Signal 9 often comes from the kernel's OOM killer.",
        .command = "On the node: dmesg",
    },
    {
        .number = NI_F_LOG_FAILED,
        .id = "log.failed",
        .cost = NI_COST_FAILS,
        .user = "set NCCL_DEBUG=INFO and look at the rank that failed first.",
        .command =
            "In the pod: export NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,BOOTSTRAP,ENV,NET,GRAPH",
    },
    {
        .number = NI_F_LOG_FILES,
        .id = "log.files",
        .cost = NI_COST_FAILS,
        .admin = "raise the limit of open files (LimitNOFILE of the runtime, ulimits).",
        .command = "In the pod: ulimit -n",
    },
    {
        .number = NI_F_LOG_GDR,
        .id = "log.gdr",
        .cost = NI_COST_SLOWER,
        .user = "run `nccl-init doctor` in these pods; it says why.",
        .command = "In the pod: nccl-init doctor",
    },
    {
        .number = NI_F_LOG_GPU_FAILED,
        .id = "log.gpu.failed",
        .cost = NI_COST_FAILS,
        .admin =
            "drain the node; look for Xid in its kernel log (dmesg); reset or replace the GPU.",
        .command = "On the node: dmesg",
    },
    {
        .number = NI_F_LOG_GPU_SHARED,
        .id = "log.gpu.shared",
        .cost = NI_COST_FAILS,
        .user = "give each process its own GPU (LOCAL_RANK), and each node its own NODE_RANK.",
        .command = "In the pod: nvidia-smi",
    },
    {
        .number = NI_F_LOG_HCA_FATAL,
        .id = "log.hca.fatal",
        .cost = NI_COST_FAILS,
        .admin = "check the kernel log, the firmware and ACS; take the HCA out of service.",
        .command = "On the node: dmesg",
    },
    {
        .number = NI_F_LOG_HCA_PORT,
        .id = "log.hca.port",
        .cost = NI_COST_MAY_FAIL,
        .admin = "check the cable and the switch port, and find what changes the addresses.",
        .command = "In the pod: nccl-init doctor",
    },
    {
        .number = NI_F_LOG_LAUNCHER,
        .id = "log.launcher",
        .cost = NI_COST_FAILS,
        .user = "correct how the job is started; NCCL has no part in it.",
    },
    {
        .number = NI_F_LOG_LEFT,
        .id = "log.left",
        .cost = NI_COST_FAILS,
        .user = "look for the reason in that process's own log, and on its node.",
    },
    {
        .number = NI_F_LOG_LIBIBVERBS,
        .id = "log.libibverbs",
        .cost = NI_COST_SLOWER,
        .user = "install libibverbs1 and ibverbs-providers (RHEL: libibverbs) in the image.",
        .command = "In the pod: nccl-init doctor",
    },
    {
        .number = NI_F_LOG_LIBRARY,
        .id = "log.library",
        .cost = NI_COST_FAILS,
        .user = "read the first line of that library in the log: it names the device, the address "
                "or the file.",
    },
    {
        .number = NI_F_LOG_LINES_LOST,
        .id = "log.lines.lost",
        .cost = NI_COST_NOTHING,
        .user = "set RAY_DEDUP_LOGS=0 for Ray.",
        .command = "In the pod: export RAY_DEDUP_LOGS=0",
    },
    {
        .number = NI_F_LOG_MEMORY,
        .id = "log.memory",
        .cost = NI_COST_FAILS,
        .user = "ask for more memory (Slurm: --mem; Kubernetes: resources.limits.memory), or use "
                "less: fewer workers of the DataLoader, no copy of the data in each process.",
    },
    {
        .number = NI_F_LOG_NAMES,
        .id = "log.names",
        .cost = NI_COST_FAILS,
        .user = "give MASTER_ADDR (--rdzv_endpoint) as an address, or as a name that each node "
                "resolves (`getent hosts NAME`). In Kubernetes a headless Service gives pods their "
                "names; it needs their selector, and publishNotReadyAddresses.",
        .admin = "check the DNS.",
    },
    {
        .number = NI_F_LOG_NONE,
        .id = "log.none",
        .cost = NI_COST_DEMAND,
        .user = "run with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,BOOTSTRAP,ENV,NET,GRAPH.",
        .command =
            "In the pod: export NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,BOOTSTRAP,ENV,NET,GRAPH",
    },
    {
        .number = NI_F_LOG_PEER_DIED,
        .id = "log.peer.died",
        .cost = NI_COST_FAILS,
        .user = "find the rank that failed first, and read its log.",
        .command = NI_GET_PODS,
    },
    {
        .number = NI_F_LOG_PEER_REFUSED,
        .id = "log.peer.refused",
        .cost = NI_COST_FAILS,
        .user = "check whether the process at that address is of this job and still runs (its own "
                "log says why it ended), and check its NCCL_SOCKET_IFNAME.",
        .command = NI_GET_PODS,
    },
    {
        .number = NI_F_LOG_PEER_SILENT,
        .id = "log.peer.silent",
        .cost = NI_COST_FAILS,
        .user = "find the rank that failed first. If all still ran, packets were lost: leave only "
                "ports of one network in NCCL_IB_HCA, and with RoCE take a v2 GID that the other "
                "end reaches (`nccl-init plan --gids`).",
        .admin = "check link, MTU, PFC, VLAN and firewall between the two hosts.",
        .command = "In the pod: nccl-init preflight",
    },
    {
        .number = NI_F_LOG_PEER_STRANGER,
        .id = "log.peer.stranger",
        .cost = NI_COST_MAY_FAIL,
        .user = "keep probes, scanners and the service mesh off the job's ports.",
    },
    {
        .number = NI_F_LOG_PEER_UNREACHABLE,
        .id = "log.peer.unreachable",
        .cost = NI_COST_FAILS,
        .admin_first = true,
        .admin = "check the firewall of that host, whether it runs, NetworkPolicies and routes.",
        .user = "check NCCL_SOCKET_IFNAME.",
        .command = NI_GET_PODS,
    },
    {
        .number = NI_F_LOG_PINNED,
        .id = "log.pinned",
        .cost = NI_COST_FAILS,
        .user = "run `nccl-init doctor` in that pod; it sees the limit.",
        .admin = "raise the limit that is too low.",
        .command = "In the pod: nccl-init doctor",
    },
    {
        .number = NI_F_LOG_PLAN_DIFFERS,
        .id = "log.plan.differs",
        .cost = NI_COST_IGNORED,
        .user = "find what sets it: the launcher, the image or an nccl.conf.",
        .command = "In the pod: nccl-init doctor",
    },
    {
        .number = NI_F_LOG_PLUGIN,
        .id = "log.plugin",
        .cost = NI_COST_RDMA,
        .user = "request the devices of that network for the pod, and take an image whose plugin "
                "and library fit each other.",
        .admin = "check the driver and the device plugin of that network.",
        .command = "In the pod: nccl-init doctor",
    },
    {
        .number = NI_F_LOG_PORT,
        .id = "log.port",
        .cost = NI_COST_FAILS,
        .user = "find who listens there (`ss -ltnp` on that host): an earlier attempt, or a second "
                "start of the same program. Else give each job its own MASTER_PORT, outside "
                "net.ipv4.ip_local_port_range.",
    },
    {
        .number = NI_F_LOG_PROVIDER,
        .id = "log.provider",
        .cost = NI_COST_SLOWER,
        .user = "install the provider that fits the node's driver in the image (rdma-core, or its "
                "vendor's package).",
        .command = "In the pod: nccl-init doctor",
    },
    {
        .number = NI_F_LOG_PROXY,
        .id = "log.proxy",
        .cost = NI_COST_FAILS,
        .user = "keep the service mesh's sidecar out of the job's pods, with Istio by the label "
                "`sidecar.istio.io/inject: \"false\"`; without a mesh, read rank 0's log.",
    },
    {
        .number = NI_F_LOG_RAILS_DIFFER,
        .id = "log.rails.differ",
        .cost = NI_COST_MAY_FAIL,
        .user = "request the same number of RDMA devices in each pod.",
        .command = "In the pod: nccl-init doctor",
    },
    {
        .number = NI_F_LOG_RANKS_MISSING,
        .id = "log.ranks.missing",
        .cost = NI_COST_FAILS,
        .user = "check whether, and when, these pods started; pass their logs too.",
        .command = NI_GET_PODS,
    },
    {
        .number = NI_F_LOG_RDMA_REMOTE,
        .id = "log.rdma.remote",
        .cost = NI_COST_FAILS,
        .user = "look in the other rank's log for an event of its HCA or an earlier error.",
    },
    {
        .number = NI_F_LOG_RENDEZVOUS,
        .id = "log.rendezvous",
        .cost = NI_COST_FAILS,
        .user = "check rank 0's log, MASTER_ADDR and MASTER_PORT.",
        .command = NI_GET_PODS,
    },
    {
        .number = NI_F_LOG_SHM,
        .id = "log.shm",
        .cost = NI_COST_FAILS,
        .user = "check /dev/shm of the container: its owner, its mode, which ranks share it.",
        .command = "In the pod: ls -ld /dev/shm",
    },
    {
        .number = NI_F_LOG_SOCKET_FAMILY,
        .id = "log.socket-family",
        .cost = NI_COST_FAILS,
        .user = "unset NCCL_SOCKET_FAMILY, or give the pods addresses of that family.",
        .command = "In the pod: unset NCCL_SOCKET_FAMILY",
    },
    {
        .number = NI_F_LOG_SOCKETS,
        .id = "log.sockets",
        .cost = NI_COST_RDMA,
        .user = "run `nccl-init doctor` in these pods; it says why.",
        .command = "In the pod: nccl-init doctor",
    },
    {
        .number = NI_F_LOG_TIMEOUT,
        .id = "log.timeout",
        .cost = NI_COST_FAILS,
        .user =
            "find the rank that is missing or in another collective: its last lines, or its stack "
            "(`py-spy dump`); then test the rails (`nccl-init preflight`).",
        .command = "In the pod: nccl-init preflight",
    },
    {
        .number = NI_F_LOG_UNFINISHED,
        .id = "log.unfinished",
        .cost = NI_COST_FAILS,
        .user = "look at the ranks that have no line, or whose last line is the oldest.",
        .command =
            "In the pod: export NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,BOOTSTRAP,ENV,NET,GRAPH",
    },
    {
        .number = NI_F_LOG_VERSION_DIFFERS,
        .id = "log.version.differs",
        .cost = NI_COST_FAILS,
        .user = "start all ranks from the same image.",
    },
    {
        .number = NI_F_LOG_WARN,
        .id = "log.warn",
        .cost = NI_COST_FAILS,
        .user = "search for this text in NCCL's issues.",
        .command =
            "In the pod: export NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,BOOTSTRAP,ENV,NET,GRAPH",
    },
};
_Static_assert(NI_COUNT(ni_log_findings) == NI_FINDINGS_LOG_END - NI_FINDINGS_LOG,
               "one row for each");
