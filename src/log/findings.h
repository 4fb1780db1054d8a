/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the catalogue (nccl_init/findings.h): what only log reports. */
#ifndef NCCL_INIT_LOG_FINDINGS_H
#define NCCL_INIT_LOG_FINDINGS_H

#define NI_LOG_FINDINGS(X)                                                                        \
    X(LOG_ALGO, "log.algo.none", NI_ERROR,                                                        \
      "User: unset NCCL_ALGO and NCCL_PROTO, or name a pair that supports this collective.")      \
    X(LOG_ALONE, "log.alone", NI_ERROR,                                                           \
      "User: give each process its rank: torchrun's --nnodes, WORLD_SIZE, mpirun; build "         \
      "nccl-tests with MPI=1.")                                                                   \
    X(LOG_COLLECTIVE, "log.collective.differs", NI_ERROR,                                         \
      "User: all ranks must call the same collectives, in the same order, with the same sizes.")  \
    X(LOG_COMM_ID, "log.comm-id", NI_ERROR,                                                       \
      "User: unset NCCL_COMM_ID; torchrun and mpirun do not need it.")                            \
    X(LOG_CUDA, "log.cuda", NI_ERROR,                                                             \
      "User: read the error. Cluster admin: look for Xid in the node's kernel log.")              \
    X(LOG_CUDA_DEVICE, "log.cuda.device", NI_ERROR,                                               \
      "User: request as many GPUs as processes, and let each use that of its LOCAL_RANK.")        \
    X(LOG_CUDA_FABRIC, "log.cuda.fabric", NI_ERROR,                                               \
      "Cluster admin: check nvidia-fabricmanager and the NVSwitches of that node.")               \
    X(LOG_CUDA_IMAGE, "log.cuda.image", NI_ERROR,                                                 \
      "User: take an image whose CUDA fits. Cluster admin: or install a newer driver.")           \
    X(LOG_CUDA_KERNEL, "log.cuda.kernel", NI_ERROR,                                               \
      "User: run it with CUDA_LAUNCH_BLOCKING=1. Cluster admin: look for Xid in the kernel log.") \
    X(LOG_CUDA_MEMORY, "log.cuda.memory", NI_ERROR,                                               \
      "User: look which processes use that GPU (nvidia-smi), and need less memory.")              \
    X(LOG_CUMEM, "log.cumem.differs", NI_ERROR,                                                   \
      "User: set NCCL_CUMEM_HOST_ENABLE=0 on all ranks.")                                         \
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
    X(LOG_GDR, "log.gdr", NI_WARNING, "User: run `nccl-init doctor` in these pods; it says why.") \
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
    X(LOG_PINNED, "log.pinned", NI_ERROR,                                                         \
      "User: run `nccl-init doctor` in that pod; it sees the limit. Cluster admin: raise it.")    \
    X(LOG_PLAN_DIFFERS, "log.plan.differs", NI_WARNING,                                           \
      "User: find what sets it: the launcher, the image or an nccl.conf.")                        \
    X(LOG_PORT, "log.port", NI_ERROR,                                                             \
      "User: give each job its own MASTER_PORT; an earlier attempt may still listen.")            \
    X(LOG_PROVIDER, "log.provider", NI_WARNING,                                                   \
      "User: install the provider that fits the node's driver in the image (rdma-core, or its "   \
      "vendor's package).")                                                                       \
    X(LOG_RAILS_DIFFER, "log.rails.differ", NI_WARNING,                                           \
      "User: request the same number of RDMA devices in each pod.")                               \
    X(LOG_RANKS_MISSING, "log.ranks.missing", NI_ERROR,                                           \
      "User: check whether, and when, these pods started; pass their logs too.")                  \
    X(LOG_RDMA_REMOTE, "log.rdma.remote", NI_ERROR,                                               \
      "User: look in the other rank's log for an event of its HCA or an earlier error.")          \
    X(LOG_RENDEZVOUS, "log.rendezvous", NI_ERROR,                                                 \
      "User: check rank 0's log, MASTER_ADDR and MASTER_PORT.")                                   \
    X(LOG_SHM, "log.shm", NI_ERROR,                                                               \
      "User: check /dev/shm of the container: its owner, its mode, which ranks share it.")        \
    X(LOG_SOCKET_FAMILY, "log.socket-family", NI_ERROR,                                           \
      "User: unset NCCL_SOCKET_FAMILY, or give the pods addresses of that family.")               \
    X(LOG_SOCKETS, "log.sockets", NI_ERROR,                                                       \
      "User: run `nccl-init doctor` in these pods; it says why.")                                 \
    X(LOG_TIMEOUT, "log.timeout", NI_ERROR,                                                       \
      "User: find the rank that is missing or in another collective; then test the "              \
      "rails (`nccl-init preflight`).")                                                           \
    X(LOG_UNFINISHED, "log.unfinished", NI_ERROR,                                                 \
      "User: look at the ranks that have no line, or whose last line is the oldest.")             \
    X(LOG_VERSION_DIFFERS, "log.version.differs", NI_ERROR,                                       \
      "User: start all ranks from the same image.")                                               \
    X(LOG_WARN, "log.warn", NI_ERROR, "User: search for this text in NCCL's issues.")

#endif
