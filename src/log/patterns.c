/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns: lines of NCCL, of programs and of launchers, and the use of each. */
#include "log/patterns.h"

#include <string.h>

#include "findings/device.h"
#include "findings/job.h"
#include "findings/log.h"
#include "findings/pod.h"
#include "findings/setting.h"
#include "findings/verbs.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/number.h"
#include "nccl_init/text.h"

/* Versions: read in the source of each of 23 tags from 2.17.1 to 2.30.7, and found in the released
   libraries from 2.27.7 to 2.32.3 by tests/nccl/texts. "log" and a version: only seen in logs of
   it. Of other libraries likewise. */
#define ALL "2.17-2.32.3"

/* A row: the text, who prints it, in which versions, in which stage of a job's life, and what is done
   with the line. Who can correct a fault is in the row of its finding (findings/log.c). */
#define FACT(words, by, since, what)                                                              \
    {                                                                                             \
        .text = (words), .library = NI_LIBRARY_##by, .versions = (since), .take = NI_TAKE_##what, \
        .id = NI_F_NONE                                                                           \
    }
#define FAULT(words, by, since, in, finding, is) BECAUSE(words, by, since, in, finding, is, NULL)
#define BECAUSE(words, by, since, in, finding, is, why)                                           \
    {                                                                                             \
        .text = (words), .library = NI_LIBRARY_##by, .versions = (since), .stage = NI_STAGE_##in, \
        .take = NI_TAKE_FAULT, .id = NI_F_##finding, .flags = (is), .cause = (why)                \
    }
/* With what the user and the cluster admin do in place of what the finding says; NULL: nothing. */
#define ADVISE(words, by, since, in, finding, is, why, user_does, admin_does)                     \
    {                                                                                             \
        .text = (words), .library = NI_LIBRARY_##by, .versions = (since), .stage = NI_STAGE_##in, \
        .take = NI_TAKE_FAULT, .id = NI_F_##finding, .flags = (is), .cause = (why),               \
        .user = (user_does), .admin = (admin_does)                                                \
    }
#define ENDED(words, by, since, is, why, advice) \
    ADVISE(words, by, since, RUNNING, LOG_LEFT, (is) | JOB_ENDED, why, advice, NULL)
#define CLUE(words, by, since, what)                                                            \
    {                                                                                           \
        .text = (words), .library = NI_LIBRARY_##by, .versions = (since), .take = NI_TAKE_CLUE, \
        .id = NI_F_NONE, .flags = NI_CLUE_##what                                                \
    }
#define MILD(words, by, since) FACT(words, by, since, MILD)
#define STEP(words, by, since, step)                                                            \
    {                                                                                           \
        .text = (words), .library = NI_LIBRARY_##by, .versions = (since), .take = NI_TAKE_STEP, \
        .id = NI_F_NONE, .flags = NI_STEP_##step                                                \
    }
#define WORDS(words, is)                                                                          \
    {                                                                                             \
        .text = (words), .library = NI_LIBRARY_PROGRAM, .versions = "all", .take = NI_TAKE_ERROR, \
        .id = NI_F_NONE, .flags = (is)                                                            \
    }
#define PROGRAM(words, by, since, said)                                                            \
    {                                                                                              \
        .text = (words), .library = NI_LIBRARY_##by, .versions = (since), .take = NI_TAKE_PROGRAM, \
        .id = NI_F_NONE, .flags = NI_PROGRAM_##said                                                \
    }

static const char unpinned[] =
    "memory could not be pinned for the HCA: the limit of locked memory is too low, or where it is "
    "unlimited, the container's memory or the host's CMA is used up";

static const char old_libfabric[] =
    "libfabric refused an option of the network plugin aws-ofi-nccl: the image has an older "
    "libfabric than the plugin was built for, or finds another one first";
static const char no_mesh[] =
    "Gloo, torch's library for the CPU, could not connect its ranks: set GLOO_SOCKET_IFNAME to the "
    "interface that all nodes share; without it each rank tells the address of its host name, "
    "which may be 127.0.0.1";
static const char no_mooncake_gid[] =
    "Mooncake found no GID on this HCA that it takes: its port has no RoCE v2 GID of an address "
    "that this pod has";
static const char look_at_gids[] =
    "look at the GIDs in `nccl-init plan --gids`. If one of RoCE v2 is there, name its index in "
    "MC_GID_INDEX; if none is there, the HCA's interface needs an address in this pod.";
static const char same_files[] =
    "give all nodes the same image, or the same paths on a shared file system; the first word of "
    "the line is the node, if the launcher puts it there.";
static const char no_hip_ipc[] =
    "a GPU's memory could not be shared with another process of the node (IPC of HIP): the image's "
    "ROCm and the node's driver do not fit each other, or the container does not allow it";
static const char compare_rocm[] =
    "compare the image's ROCm with the node's driver; try HSA_ENABLE_IPC_MODE_LEGACY with 0 and "
    "with 1. Until then NCCL_P2P_DISABLE=1 goes through host memory, which is slower.";
static const char no_queue_pair[] =
    "NVSHMEM could not connect its queue pairs: the GID (NVSHMEM_IB_GID_INDEX) or the HCA "
    "(NVSHMEM_HCA_LIST) is the wrong one, or there is no route to the other end";
static const char closed_rendezvous[] =
    "torchrun came to a rendezvous that was over: the job has ended, or its id is used again";
static const char late_rendezvous[] = "not all nodes came to torchrun's rendezvous in time";
static const char stands_still[] =
    "a rank stands still in a call of NCCL or CUDA: others did not come, or came later than "
    "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC allows";
static const char other_sizes[] =
    "compare the settings (NCCL_*) and the versions of NCCL on the two hosts. If they are equal, "
    "the program calls other collectives or sizes on these ranks: TORCH_DISTRIBUTED_DEBUG=DETAIL "
    "names them.";
static const char worker_died[] =
    "a Ray worker was killed or crashed; the line names its node and pid";
static const char look_at_worker[] =
    "look on that node for the worker's own log (/tmp/ray/session_latest/logs, by its pid), and in "
    "the kernel's log for the OOM killer.";
static const char node_lost[] =
    "Ray lost this node: the machine or its pod was stopped, crashed or was preempted, or its "
    "network broke; the deaths of its actors follow from it";
static const char find_node[] =
    "look whether that node's pod or machine still runs, and since when; if so, its raylet's log "
    "(/tmp/ray/session_latest/logs/raylet.out).";
static const char ask_cluster[] = "look whether it was preempted, restarted or lost its network.";
static const char by_oom[] =
    "the kernel killed a process, because the job or its container had used up the memory of the "
    "host that it may have";
static const char more_host_memory[] =
    "ask for more memory (Slurm: --mem, or --mem-per-cpu; Kubernetes: resources.limits.memory), or "
    "use less: fewer workers of the DataLoader, no copy of the data in each process.";
static const char no_transport[] =
    "NVSHMEM could start none of its transports here: neither those over RDMA nor, for GPUs "
    "without NVLink, P2P";
static const char for_transport[] =
    "see that the pod has RDMA devices (/dev/infiniband, `nccl-init doctor`); NVSHMEM_DEBUG=INFO "
    "says why each transport was left out. With GPUs of one node P2P must work (`nvidia-smi topo "
    "-p2p r`).";
static const char for_ibgda[] =
    "for IBGDA: load nvidia_peermem, and the NVIDIA driver with NVreg_EnableStreamMemOPs=1 and "
    "PeerMappingOverride=1.";
static const char no_registering[] =
    "the network plugin aws-ofi-nccl could not register memory with the network's device, which "
    "ends the job";
static const char for_registering[] =
    "with EFA an installer before 1.29 does not fit NCCL 2.19 and later: take a newer one in the "
    "image (libfabric, aws-ofi-nccl), or set FI_EFA_SET_CUDA_SYNC_MEMOPS=0. RC -12 is the limit of "
    "locked memory, -13 a device that the container may not use.";
static const char two_open_mpis[] =
    "the nodes have different versions of Open MPI, or of PRRTE: its daemon on another node does "
    "not understand what this mpirun sent";
static const char one_open_mpi[] =
    "compare `mpirun --version` and `which orted` on all nodes, as ssh finds them (`ssh HOST which "
    "orted`); use the same Open MPI everywhere, or --prefix.";
static const char store_gone[] =
    "the process that holds the job's store (rank 0, or its torchrun) ended before this one. That "
    "follows from something else, and is harmless if the job was over";
static const char ask_store[] =
    "read the log of rank 0, of the host that the line calls remote, also of its container before "
    "a restart: the first error there is the cause. This rank is not.";
static const char unused_parameters[] =
    "the program raised an exception: DDP waits for gradients of parameters that took no part in "
    "the loss: an error of the program, not of the cluster";
static const char use_all[] =
    "the program's author lets all parameters take part in the loss on each rank, or sets "
    "find_unused_parameters=True; TORCH_DISTRIBUTED_DEBUG=DETAIL names them.";
static const char with_mooncake[] =
    "give Mooncake a GID that the other end reaches, of RoCE v2 and this pod's IPv4 address "
    "(MC_GID_INDEX; `nccl-init plan --gids` lists them), and only HCAs that reach each other.";
static const char reach_each_other[] = "check that these ports reach each other: VLAN, subnet, "
                                       "routes.";

const char *const ni_log_library[NI_LIBRARY_END] = {
    [NI_LIBRARY_NCCL] = "NCCL",
    [NI_LIBRARY_RCCL] = "RCCL",
    [NI_LIBRARY_GIB] = "gIB",
    [NI_LIBRARY_GLOO] = "Gloo",
    [NI_LIBRARY_HOROVOD] = "Horovod",
    [NI_LIBRARY_JAX] = "JAX",
    [NI_LIBRARY_KUBERNETES] = "Kubernetes",
    [NI_LIBRARY_LIBC] = "the C library",
    [NI_LIBRARY_LIGHTNING] = "Lightning",
    [NI_LIBRARY_MOONCAKE] = "Mooncake",
    [NI_LIBRARY_MPI] = "MPI",
    [NI_LIBRARY_NVSHMEM] = "NVSHMEM",
    [NI_LIBRARY_OFI] = "aws-ofi-nccl",
    [NI_LIBRARY_PROGRAM] = "the program",
    [NI_LIBRARY_PYTHON] = "Python",
    [NI_LIBRARY_RAY] = "Ray",
    [NI_LIBRARY_SHELL] = "the shell",
    [NI_LIBRARY_SLURM] = "Slurm",
    [NI_LIBRARY_SSH] = "ssh",
    [NI_LIBRARY_TESTS] = "nccl-tests",
    [NI_LIBRARY_TORCH] = "torch",
    [NI_LIBRARY_UCX] = "UCX",
    [NI_LIBRARY_VERBS] = "libibverbs",
    [NI_LIBRARY_VLLM] = "vLLM",
};

const char *const ni_log_ask[NI_LIBRARY_END] = {
    [NI_LIBRARY_GLOO] = "look at the address in the line: each process tells that of its host name "
                        "unless GLOO_SOCKET_IFNAME names an interface that all nodes share.",
    [NI_LIBRARY_MOONCAKE] = "compare the devices and the GID index that Mooncake was told with "
                            "`nccl-init plan --gids`; its first error line names the device.",
    [NI_LIBRARY_MPI] = "read the lines of MPI around this one: they name the host. NCCL is not "
                       "concerned.",
    [NI_LIBRARY_NVSHMEM] = "read NVSHMEM's first line in the log; NVSHMEM_DEBUG=INFO shows which "
                           "devices and transports it tries.",
    [NI_LIBRARY_TORCH] = "read the lines of torch around this one: they name the address.",
    [NI_LIBRARY_UCX] = "read UCX's first line in the log: it names the device or the address. "
                       "UCX_LOG_LEVEL=info shows what it chose.",
};

const char *const ni_log_cause[NI_F_END] = {
    [NI_F_GDR_DRIVER_ORDER] = "GPU memory cannot be registered: no peer memory module fits",
    [NI_F_GDR_UNAVAILABLE] = "the HCA has neither a peer memory module nor DMA-BUF",
    [NI_F_GID_SEARCH_WRONG] = "the type of a GID cannot be read; before 2.26.2 that is fatal",
    [NI_F_GPU_HCA_FAR] = "the GPU is farther from the HCA than NCCL_NET_GDR_LEVEL allows",
    [NI_F_GPU_NODE_MISSING] = "the container has no GPU, or lacks its control nodes",
    [NI_F_HCA_LINK_MIXED] = "one end is InfiniBand, the other RoCE",
    [NI_F_HCA_NODE_MISSING] = "the container lacks the device node, or may not open it",
    [NI_F_HCA_NONE] = "NET/IB found no device: none ACTIVE, or none that fits NCCL_IB_HCA",
    [NI_F_HCA_PLACE_LOST] = "NCCL does not find the HCA's place on the PCI tree",
    [NI_F_IMEX_CHANNEL_MISSING] = "NVLink between nodes needs an IMEX channel",
    [NI_F_IOMMU_SLOW] = "the kernel's command line has no iommu=pt",
    [NI_F_IOMMU_TRANSLATED] = "the HCA could not access the memory: IOMMU or ACS",
    [NI_F_JOB_HOSTID_SAME] = "ranks of different containers count as those of one host",
    [NI_F_JOB_RANK_TWICE] = "the ranks do not agree about who they are",
    [NI_F_JOB_SETTING_DIFFERS] = "ranks do not send what others expect: sizes, algorithms",
    [NI_F_LOG_ALGO] = "NCCL_ALGO and NCCL_PROTO allow nothing that supports this collective",
    [NI_F_LOG_ALONE] = "the processes are jobs of one process each, not ranks of one job",
    [NI_F_LOG_COLLECTIVE] = "the ranks called different collectives",
    [NI_F_LOG_COMM_ID] = "NCCL_COMM_ID is set, and no interface is in its subnet",
    [NI_F_LOG_CUDA] = "a call of CUDA or HIP failed",
    [NI_F_LOG_CUDA_DEVICE] = "the process uses a GPU that it was not given",
    [NI_F_LOG_CUDA_FABRIC] = "NVLink's fabric is not ready: Fabric Manager, or an NVSwitch",
    [NI_F_LOG_CUDA_IMAGE] = "the image's CUDA does not fit the node's driver or GPU",
    [NI_F_LOG_CUDA_KERNEL] = "a kernel failed on the GPU: a fault of the program, or of the GPU",
    [NI_F_LOG_CUDA_MEMORY] = "the GPU has too little memory left",
    [NI_F_LOG_CUMEM] =
        "ranks of one node disagree: the other one shares host memory by cuMem, not in /dev/shm",
    [NI_F_LOG_DIAG] = "NCCL's own diagnostics report a difference or a failure",
    [NI_F_LOG_EXCEPTION] = "the program raised an exception",
    [NI_F_LOG_FAILED] = "NCCL gave up; an earlier WARN line says why",
    [NI_F_LOG_FILES] = "the process has reached its limit of open files",
    [NI_F_LOG_GPU_FAILED] = "the GPU or its NVLink has failed, which no program can cause",
    [NI_F_LOG_GPU_SHARED] = "two ranks use the same GPU",
    [NI_F_LOG_HCA_FATAL] = "the HCA or its driver reports a fault that ends the connection",
    [NI_F_LOG_HCA_PORT] = "a port changed its state, or its addresses, while the job ran",
    [NI_F_LOG_LAUNCHER] = "the launcher did not start all ranks",
    [NI_F_LOG_LEFT] = "the launcher was stopped from outside",
    [NI_F_LOG_LIBIBVERBS] = "the image lacks libibverbs or its providers",
    [NI_F_LOG_LIBRARY] = "a library beside NCCL reports an error",
    [NI_F_LOG_LINES_LOST] = "Ray left out lines: channels and ranks are missing",
    [NI_F_LOG_MEMORY] = by_oom,
    [NI_F_LOG_NAMES] = "a name does not resolve",
    [NI_F_LOG_PEER_DIED] = "the other rank died or left",
    [NI_F_LOG_PEER_REFUSED] =
        "nobody listens at the other end: it has not started yet, or has ended",
    [NI_F_LOG_PEER_SILENT] = "the other end of an RDMA connection does not answer",
    [NI_F_LOG_PEER_STRANGER] = "what connected is not a rank of this job, or is on another network",
    [NI_F_LOG_PEER_UNREACHABLE] = "the other end cannot be reached",
    [NI_F_LOG_PINNED] = unpinned,
    [NI_F_LOG_PLUGIN] = "the network plugin was loaded, and gave up",
    [NI_F_LOG_PORT] = "the port of the job's store is in use, or may not be used",
    [NI_F_LOG_PROVIDER] = "the image's provider (driver of libibverbs) does not fit the HCA",
    [NI_F_LOG_PROXY] = "a proxy stands in front of the job's port",
    [NI_F_LOG_RAILS_DIFFER] = "the nodes have different numbers of HCAs",
    [NI_F_LOG_RANKS_MISSING] = "not all processes reached the job's store in time",
    [NI_F_LOG_RDMA_REMOTE] = "the other end refused the access: something there was already gone",
    [NI_F_LOG_RENDEZVOUS] =
        "the launcher's rendezvous failed: rank 0 died, or its address is wrong",
    [NI_F_LOG_SHM] = "a file in /dev/shm cannot be used",
    [NI_F_LOG_SOCKET_FAMILY] =
        "no usable interface has an address of the family that NCCL_SOCKET_FAMILY demands",
    [NI_F_LOG_SOCKETS] = "the network plugin's libfabric has only TCP",
    [NI_F_LOG_TIMEOUT] =
        "a collective did not end in time: a rank is gone or in another collective",
    [NI_F_LOG_VERSION_DIFFERS] = "ranks of one job have different versions of NCCL",
    [NI_F_LOG_WARN] = "an NCCL WARN that is no setting's and no device's fault",
    [NI_F_MEMLOCK_TOO_LOW] = "the limit of locked memory is too low",
    [NI_F_RDMA_CGROUP_LOW] = "the container has used up its RDMA cgroup limit",
    [NI_F_SHM_DEFAULT] = "/dev/shm is full",
    [NI_F_SOCKET_NONE] = "the IB transport finds no interface for its handshakes",
    [NI_F_USER_GID_WRONG] = "the GID at NCCL_IB_GID_INDEX is empty, v1, or not this pod's",
    [NI_F_USER_NET_NONE] = "the network that NCCL_NET demands cannot be used",
    [NI_F_USER_NICS_APART] = "NCCL makes no NIC of HCAs of two CPUs",
    [NI_F_USER_SOCKET_NONE] = "no usable interface fits NCCL_SOCKET_IFNAME",
    [NI_F_USER_TOPO_UNREADABLE] = "NCCL cannot use the file that NCCL_TOPO_FILE names",
    [NI_F_USER_VALUE_IGNORED] =
        "NCCL does not know the value (of NCCL_ALGO or NCCL_PROTO), and stops",
    [NI_F_VERBS_CONNECT] =
        "a GID is wrong at one of the two ends, or there is no route to the other end",
    [NI_F_VERBS_DMABUF] = "the RDMA driver cannot register GPU memory as DMA-BUF",
    [NI_F_VERBS_GID] = "the GID index is beyond the table",
};

const struct ni_pattern ni_patterns[] = {
    /* ---- who says it ---- */
    FACT("NCCL INFO", NCCL, ALL, HEADER),
    FACT("NCCL WARN", NCCL, ALL, HEADER),
    FACT("NCCL ATTN", NCCL, "2.32.3", HEADER),
    FACT("NCCL CALL", NCCL, ALL, HEADER),
    FACT("NCCL TRACE", NCCL, ALL, HEADER),
    FACT("NCCL DIAG %{environment: mismatch across }%d ranks in comm %s for %s", NCCL,
         "2.31.2, 2.32.3", DIAG),
    FAULT("NCCL DIAG [INFO]%{mismatch|failed|uncorrected|inactive|inconsistent|unavailable|off "
          "median}",
          NCCL, "2.31.2, 2.32.3", ANY, LOG_DIAG, 0),
    /* ---- what it is, and what it was told ---- */
    FAULT("NCCL version mismatch with remote", NCCL, "2.24.3-2.32.3", BOOTSTRAP,
          LOG_VERSION_DIFFERS, 0),
    FACT("NCCL version %s", NCCL, ALL, VERSION),
    FACT("RCCL version : %s", RCCL, "log 2.22.3", VERSION),
    FACT("RCCL version %s", RCCL, "5.7-6.2.2", VERSION),
    FACT("is using nccl==%s", VLLM, "log", VERSION),
    FACT(" set by environment to %r", NCCL, ALL, VALUE),
    FACT(" set to %r", NCCL, ALL, VALUE),
    FACT("reset to NCCL_%{=}%r", NCCL, "2.28.7-2.32.3", VALUE),
    /* ---- the network ---- */
    FACT("Bootstrap%{: Using} %s", NCCL, ALL, BOOT),
    FACT("NET/IB : Using %r", NCCL, ALL, HCAS),
    FACT("Using network %r", NCCL, ALL, NETWORK),
    /* ---- how far the initialisation came ---- */
    STEP("cudaDriverVersion ", NCCL, ALL, DRIVER),
    STEP("Bootstrap timings total", NCCL, "2.23.4-2.32.3", MET),
    STEP("ncclTopoGetCpuAffinity: ", NCCL, "2.28.3-2.32.3", TOPOLOGY),
    STEP("Setting affinity for GPU", NCCL, "2.17-2.27.7", TOPOLOGY),
    STEP("=== System : maxBw", NCCL, ALL, TOPOLOGY),
    STEP("NVLS multicast support is", NCCL, ALL, TOPOLOGY),
    /* init.cc initTransportsRank: trees, then connections of rings and trees unless they wait for the
       first collective (2.22 and later), then NVLS, then the channels' number, and a barrier of the
       node */
    STEP("Trees [0] ", NCCL, ALL, CHANNELS),
    STEP("NVLS comm 0x", NCCL, ALL, NVLS),
    STEP("NVLS Creating Multicast group", NCCL, ALL, NVLS),
    STEP("NVLS Bind mem", NCCL, "2.17-2.24.3", NVLS),
    STEP(" coll channels, ", NCCL, ALL, LAST),
    FACT(" - Abort START", NCCL, "2.28.3-2.32.3", ABORT),
    FACT(" - Revoke START", NCCL, "2.28.9-2.32.3", ABORT),
    FAULT("NET/IB : No device found", NCCL, ALL, INIT, HCA_NONE, WHY),
    FAULT("NET/OFI Selected %{rovider is tcp|rovider is sockets}", OFI, "log", INIT, LOG_SOCKETS,
          WHY),
    FAULT("Failed to open libibverbs.so", NCCL, "2.17-2.29.7", INIT, LOG_LIBIBVERBS, WHY),
    FAULT("Count not open libibverbs", NCCL, "2.30.3-2.30.7, 2.31.2", INIT, LOG_LIBIBVERBS, WHY),
    FAULT("Could not open libibverbs", NCCL, "2.32.3", INIT, LOG_LIBIBVERBS, WHY),
    /* rdma-core init.c match_device, for HCAs whose device node is in the container alone
       (try_access_device) */
    BECAUSE("does not support the kernel ABI of %d", VERBS, "17-56", INIT, LOG_PROVIDER, WHY,
            "the image's provider (driver of libibverbs) does not fit the node's RDMA driver"),
    BECAUSE("no userspace device-specific driver found for", VERBS, "17-56", INIT, LOG_PROVIDER,
            WHY, "the image has no provider (driver of libibverbs) for the HCA"),
    FAULT("couldn't open config directory '/etc/libibverbs", VERBS, "56", INIT, LOG_LIBIBVERBS,
          WHY),
    FAULT("NET/IB : Unable to open device %s", NCCL, ALL, INIT, HCA_NODE_MISSING, WHY),
    FAULT("NET/IB : No IP interface found", NCCL, ALL, INIT, SOCKET_NONE, 0),
    FAULT("Failed to initialize any NET", NCCL, "2.27.3-2.32.3", INIT, USER_NET_NONE, 0),
    FAULT("Error: network %s not found", NCCL, "2.17-2.26.6", INIT, USER_NET_NONE, 0),
    FAULT("Try selecting NICs of only one link type", NCCL, "2.20.5-2.32.3", INIT, HCA_LINK_MIXED,
          FATAL),
    FAULT("Can't %{merge|connect} net devices", NCCL, "2.20.5-2.25.1", INIT, HCA_LINK_MIXED, FATAL),
    BECAUSE("No rails found for GPU", NCCL, "2.32.3", INIT, LOG_RAILS_DIFFER, 0,
            "NCCL, which sorts NICs into rails, found none for this GPU"),
    BECAUSE("annot use more than %d rails", NCCL, "2.32.3", INIT, LOG_RAILS_DIFFER, 0,
            "the pod has more rails than NCCL can use"),
    BECAUSE("TOPO/NET : Inconsistent rail", NCCL, "2.32.3", INIT, LOG_RAILS_DIFFER, 0,
            "the rails and planes of the NICs, as the node shows them, contradict each other"),
    BECAUSE("Invalid value %s for %s, using default", NCCL, "2.27.7-2.32.3", INIT,
            USER_VALUE_IGNORED, 0, "NCCL does not know this value, and takes its default"),
    FAULT("mixed local Net device counts", NCCL, "2.30.3-2.32.3", INIT, LOG_RAILS_DIFFER, 0),
    MILD("Could not find a path for pattern %d, falling back", NCCL, ALL),
    /* graph/topo.h ncclTopoIdToNetDev */
    BECAUSE("Could not find NET with id ", NCCL, "2.25.1-2.32.3", INIT, LOG_RAILS_DIFFER, FATAL,
            "a NIC that NCCL chose for a channel is not in this node's topology: the nodes show "
            "different NICs, or the file of NCCL_TOPO_FILE or NCCL_GRAPH_FILE does not fit them"),
    FAULT("There are mismatched physical devices", NCCL, "2.24.3-2.32.3", INIT, LOG_RAILS_DIFFER,
          0),
    /* ---- communicator and channels ---- */
    FACT("comm %s rank %d nranks %d cudaDev %d %r", NCCL, ALL, COMM),
    FACT("comm %s rank %d nRanks %d nNodes %d ", NCCL, "2.20.5-2.32.3", NODES),
    FACT("Channel %s : %d[%s -> %d[%s %s via NET/%r", NCCL, "2.17-2.32.3, RCCL 5.7-6.2.2", CHANNEL),
    /* transport/generic.cc, nvls.cc, coll_net.cc: since 2.22 the first collective connects what its
       algorithm needs */
    FACT("Connected all rings", NCCL, ALL, CONNECTED),
    FACT("Connected all trees", NCCL, ALL, CONNECTED),
    FACT("Connected binomial trees", NCCL, "2.23.4-2.32.3", CONNECTED),
    FACT("Connected NVLS tree", NCCL, "2.22.3-2.32.3", CONNECTED),
    FACT("Connected CollNet", NCCL, ALL, COLLNET),
    FACT(": opCount %x sendbuff", NCCL, ALL, CALL),
    /* src/common.cu, after the table */
    FACT("# Avg bus bandwidth", TESTS, "2.0-2.17", RESULT),
    FACT(" mtu %d%{GID} %d (%x/%x)", NCCL, ALL, GID),
    /* ---- GPUDirect RDMA and topology ---- */
    FAULT("GPU Direct RDMA Disabled for HCA %d", NCCL, ALL, NETWORK, GDR_UNAVAILABLE, NO_GDR),
    FAULT("GPU Direct RDMA Disabled for GPU%{distance}", NCCL, "2.17-2.29.7", NETWORK, GPU_HCA_FAR,
          NO_GDR),
    FAULT("GDRDMA not enabled.", RCCL, "5.7-6.2.2", NETWORK, GDR_UNAVAILABLE, NO_GDR),
    FAULT("Unrecognized %{element token|prefix token}", NCCL, "2.24.3-2.32.3", INIT,
          USER_VALUE_IGNORED, FATAL),
    FAULT("All entries except the first must have a prefix", NCCL, "2.24.3-2.32.3", INIT,
          USER_VALUE_IGNORED, FATAL),
    FAULT("Could not find real path of %s (%s", NCCL, ALL, INIT, HCA_PLACE_LOST, 0),
    FAULT("Topology detection: network path%{Attaching to first CPU}", NCCL, ALL, INIT,
          HCA_PLACE_LOST, OF_NET),
    FAULT("Could not open XML topology file", NCCL, ALL, INIT, USER_TOPO_UNREADABLE, FATAL),
    FAULT("XML %{Topology has wrong version|Parse error}", NCCL, ALL, INIT, USER_TOPO_UNREADABLE,
          FATAL),
    FAULT("Missing \"iommu=pt\"", RCCL, "5.7-6.2.2", INIT, IOMMU_SLOW, 0),
    BECAUSE("MNNVL (cliqueSize %d) is available but %{nvidia-imex-ctl}", NCCL, "2.27.3-2.32.3",
            INIT, IMEX_CHANNEL_MISSING, FATAL,
            "NVLink between nodes does not work: the pod has an IMEX channel, but the nodes' IMEX "
            "daemons do not share memory (`nvidia-imex-ctl -N` on the nodes)"),
    BECAUSE("MNNVL (cliqueSize %d) is available but", NCCL, "2.27.3-2.32.3", INIT,
            IMEX_CHANNEL_MISSING, FATAL,
            "NVLink between nodes does not work: the pod has no IMEX channel"),
    /* ---- the first contact ---- */
    BECAUSE("Bootstrap : no socket interface", NCCL, ALL, BOOTSTRAP, USER_SOCKET_NONE, 0,
            "NCCL finds no interface: none fits NCCL_SOCKET_IFNAME or has an address of "
            "NCCL_SOCKET_FAMILY, or none is up"),
    BECAUSE(
        "is neither AF_INET(%d) nor AF_INET6", NCCL, ALL, BOOTSTRAP, LOG_VERSION_DIFFERS, FATAL,
        "the id that rank 0 made did not reach this rank whole: the ranks have different versions "
        "of NCCL, or it was not handed over (MPI, the store)"),
    FAULT("No usable listening interface found", NCCL, ALL, BOOTSTRAP, LOG_COMM_ID, 0),
    BECAUSE("Invalid NCCL_COMM_ID", NCCL, ALL, BOOTSTRAP, LOG_COMM_ID, 0,
            "NCCL_COMM_ID is no address: it needs IP:PORT, or HOST:PORT with a name that resolves"),
    FAULT("Bootstrap Root : %{mismatch in|already checked in}", NCCL, ALL, BOOTSTRAP,
          JOB_RANK_TWICE, 0),
    FAULT("Message truncated : received", NCCL, ALL, BOOTSTRAP, LOG_VERSION_DIFFERS, 0),
    FAULT("Mismatched NCCL version", NCCL, "2.23.4-2.32.3", BOOTSTRAP, LOG_VERSION_DIFFERS, 0),
    FAULT("Mismatched NCCL git versions", NCCL, "2.32.3", BOOTSTRAP, LOG_VERSION_DIFFERS, 0),
    ADVISE("message truncated : receiving", NCCL, ALL, RUNNING, JOB_SETTING_DIFFERS, 0, NULL,
           other_sizes, NULL),
    ADVISE("collective mismatch error", NCCL, "2.17-2.19.4", RUNNING, JOB_SETTING_DIFFERS, 0, NULL,
           other_sizes, NULL),
    ADVISE("posted incorrect receive", NCCL, "2.20.5-2.32.3", RUNNING, JOB_SETTING_DIFFERS, 0, NULL,
           other_sizes, NULL),
    BECAUSE(
        "onnect to 169.254.%{<}%d> %{refused|timed out|No route|unreachable}", NCCL, ALL, ANY,
        LOG_PEER_UNREACHABLE, NI_PATTERN_LAST,
        "the other end told a link-local address (169.254), which no other node reaches: leave its "
        "interface out of NCCL_SOCKET_IFNAME"),
    BECAUSE("onnect to 172.17.%{<}%d> %{failed|refused|timed out|No route|unreachable}", NCCL, ALL,
            ANY, LOG_PEER_UNREACHABLE, NI_PATTERN_LAST,
            "the other end told an address of Docker's bridge (172.17), which only its own host "
            "reaches: give the containers the host's network, or an interface that all share"),
    /* "10.0.0.9<4000>" is NCCL's form: other programs print it without the brackets. */
    FAULT("onnect to %{<}%d> %{refused|caused conn|Cannot assign}", NCCL, ALL, ANY,
          LOG_PEER_REFUSED, NI_PATTERN_LAST),
    BECAUSE("onnect to %{<}%d> %{No route}", NCCL, ALL, ANY, LOG_PEER_UNREACHABLE, NI_PATTERN_LAST,
            "no way to the other end: its host is down, or a firewall rejects the connection (No "
            "route to host)"),
    BECAUSE("onnect to %{<}%d> %{unreachable}", NCCL, ALL, ANY, LOG_PEER_UNREACHABLE,
            NI_PATTERN_LAST,
            "the other end's address is of a network to which this host has no route: it told that "
            "of another interface"),
    BECAUSE("onnect to %{<}%d> %{timed out}", NCCL, ALL, ANY, LOG_PEER_UNREACHABLE, NI_PATTERN_LAST,
            "the other end does not answer: its host is down, a firewall or a NetworkPolicy throws "
            "the packets away, or it told the address of another interface"),
    FAULT("all to connect failed : Connection refused", NCCL, "log 2.3-2.7.8", ANY,
          LOG_PEER_REFUSED, 0),
    FAULT("all to connect failed : %{timed out|No route|unreachable}", NCCL, "log 2.3-2.7.8", ANY,
          LOG_PEER_UNREACHABLE, 0),
    FAULT("o algorithm/protocol %{available}", NCCL, ALL, RUNNING, LOG_ALGO, 0),
    FAULT("onnect returned %{Connection refused}", NCCL, "2.17-2.26.6", ANY, LOG_PEER_REFUSED,
          NI_PATTERN_LAST),
    FAULT("onnect returned %{timed|route|unreach}", NCCL, "2.17-2.26.6", ANY, LOG_PEER_UNREACHABLE,
          NI_PATTERN_LAST),
    /* misc/socket.cc: it counts its own retries */
    FAULT("socketStartConnect: exceeded retries (%d", NCCL, "2.17-2.18.6", ANY, LOG_PEER_REFUSED,
          0),
    FAULT("socketStartConnect: exceeded timeouts (%d", NCCL, "2.17-2.18.6", ANY,
          LOG_PEER_UNREACHABLE, 0),
    FAULT("poll() returned %d, no POLLOUT events", NCCL, "2.23.4-2.26.6", ANY, LOG_PEER_UNREACHABLE,
          0),
    FAULT("Connection closed by remote peer", NCCL, ALL, ANY, LOG_PEER_DIED, FOLLOWS),
    FAULT("Call to %{recv from|send to} %s failed :", NCCL, ALL, ANY, LOG_PEER_DIED, FOLLOWS),
    FAULT("RAS declaring peer %s as DEAD", NCCL, "2.24.3-2.32.3", ANY, LOG_PEER_DIED, 0),
    FAULT("socketFinalizeAccept: wrong magic", NCCL, "2.17-2.26.6", BOOTSTRAP, LOG_PEER_STRANGER,
          0),
    FAULT("didn't receive a valid magic from %s", NCCL, "2.27.3-2.30.4", BOOTSTRAP,
          LOG_PEER_STRANGER, 0),
    FAULT("socket magic mismatch", NCCL, "2.30.7, 2.31.2", BOOTSTRAP, LOG_PEER_STRANGER, 0),
    FAULT("Socket magic mismatch", NCCL, "2.32.3", BOOTSTRAP, LOG_PEER_STRANGER, 0),
    FAULT("wrong type %d != %d", NCCL, "2.17-2.30.4", BOOTSTRAP, LOG_PEER_STRANGER, 0),
    /* ---- RDMA ---- */
    FAULT("ibv_modify_qp failed with %{No such|Invalid}", NCCL, ALL, NETWORK, VERBS_CONNECT,
          NI_PATTERN_LAST | NI_PATTERN_INDEX | MORE),
    FAULT("ibv_modify_qp failed with ", NCCL, ALL, NETWORK, VERBS_CONNECT, NI_PATTERN_LAST),
    FAULT("ibv_query_gid failed with error", NCCL, ALL, NETWORK, VERBS_GID, NI_PATTERN_INDEX),
    FAULT("failed in ncclIbRoceGetVersionNum", NCCL, "2.23.4-2.32.3", INIT, GID_SEARCH_WRONG, 0),
    BECAUSE("Call to ibv_create_%{qp failed|cq failed}", NCCL, "log 2.4-2.8.3", NETWORK, LOG_PINNED,
            WARN | GENERAL,
            "the HCA's queues could not be made, usually because the limit of locked memory is too "
            "low"),
    BECAUSE(
        "ibv_create_%{cq|qp} failed with error Cannot", NCCL, ALL, NETWORK, LOG_PINNED, WARN,
        "the HCA's queues could not be made: the limit of locked memory is too low, or where it "
        "is unlimited, the connections to so many ranks use up the HCA's queues"),
    FAULT("ibv_%{iova2|reg_mr|_cq|_qp|dmabuf_mr} failed with error Cannot", NCCL, ALL, NETWORK,
          LOG_PINNED, WARN),
    FAULT("ibv_%{reg_mr failed|iova2 failed} with error Bad address", NCCL, ALL, NETWORK,
          GDR_DRIVER_ORDER, 0),
    BECAUSE(
        "ibv_%{reg_mr failed|iova2 failed} with error Invalid", NCCL, "2.27.7-2.32.3", NETWORK,
        GDR_DRIVER_ORDER, FATAL,
        "the HCA refused to register this memory: for that of a GPU it needs a peer memory module "
        "or DMA-BUF, of a driver that fits NCCL"),
    FAULT("Please set max locked memory", UCX, "all", NETWORK, MEMLOCK_TOO_LOW, 0),
    FAULT("ibv_reg_dmabuf_mr failed with error", NCCL, ALL, NETWORK, VERBS_DMABUF, WARN | FATAL),
    FAULT("ibv_%{ failed with error Resource temporarily}", NCCL, ALL, NETWORK, RDMA_CGROUP_LOW, 0),
    FAULT("Got completion %{error 4,|status=4 |ERR(4)}", NCCL, ALL, ANY, IOMMU_TRANSLATED, 0),
    FAULT("Got completion %{error 12|status=12|ERR(12)}", NCCL, ALL, ANY, LOG_PEER_SILENT, 0),
    FAULT("Got completion %{error 13|status=13|ERR(13)}", NCCL, ALL, ANY, LOG_PEER_SILENT, 0),
    FAULT("Got completion %{error 5,|status=5 |ERR(5)}", NCCL, ALL, ANY, LOG_PEER_SILENT, FOLLOWS),
    BECAUSE("Got completion %{error 9,|status=9 |ERR(9)}", NCCL, ALL, ANY, LOG_RDMA_REMOTE, 0,
            "the other end refused this rank's request, which does not fit its queue pair or its "
            "memory"),
    BECAUSE("Got completion %{error 10|status=10|ERR(10)}", NCCL, ALL, ANY, LOG_RDMA_REMOTE, 0,
            "the other end refused this rank's access to its memory, which is not registered for "
            "it, or no longer"),
    FAULT("Got completion %{error 11|status=11|ERR(11)}", NCCL, ALL, ANY, LOG_RDMA_REMOTE, 0),
    FAULT("Transport retry count exceeded on %s", UCX, "all", ANY, LOG_PEER_SILENT, 0),
    /* uct/ib/mlx5/ib_mlx5_log.c; the completion that NCCL calls status 4 */
    FAULT("Local protection error on %s (synd", UCX, "1.8-1.19", ANY, IOMMU_TRANSLATED, 0),
    FAULT("Remote access error on %s (synd", UCX, "1.8-1.19", ANY, LOG_RDMA_REMOTE, 0),
    /* uct/ib/base/ib_device.c, ib_iface.c */
    BECAUSE(
        "ibv_create_cq(cqe=%d) failed: Cannot allocate", UCX, "1.3-1.19", NETWORK, LOG_PINNED, 0,
        "UCX could not make its completion queue: the limit of locked memory (ulimit -l) is too "
        "low"),
    /* ucs/sys/sock.c */
    BECAUSE("connect(fd=%d, dest_addr=%s failed: ", UCX, "1.3-1.19", ANY, LOG_LIBRARY, 0,
            "UCX could not connect to this address: the process there has ended, or it told the "
            "address of an interface that others do not reach (UCX_NET_DEVICES chooses it)"),
    /* uct/tcp/tcp_ep.c */
    BECAUSE("tcp_ep %x (state=%{: send(|: recv(}%d) failed", UCX, "1.8-1.19", ANY, LOG_LIBRARY, 0,
            "UCX lost its TCP connection to another process: that has ended, or the pods' network "
            "does not let them talk; UCX_NET_DEVICES chooses the interface"),
    /* ucp/core/ucp_context.c: a warning, and usually harmless */
    BECAUSE("UCP version is incompatible, required: ", UCX, "1.3-1.19", ANY, LOG_LIBRARY, IF_FAILED,
            "the process found an older UCX than its program was built for: another libucp stands "
            "before the right one (LD_LIBRARY_PATH). The image's owner can correct it"),
    BECAUSE(
        "mlx5dv_devx_obj_create(%{failed}", UCX, "1.12-1.22", NETWORK, LOG_LIBRARY, IN_ORDER,
        "the HCA refused to make a queue for UCX (DEVX): its firmware or driver lacks that kind of "
        "queue, or the pod may not use DEVX"),
    BECAUSE(
        "Work Request Flushed Error", UCX, "1.8-1.22", RUNNING, LOG_LIBRARY, FOLLOWS | IN_ORDER,
        "UCX's requests were thrown away, because its connection to the other process had broken "
        "before: that process ended, or the network between them broke"),
    BECAUSE("NIXL_ERR_REMOTE_DISCONNECT", UCX, "log NIXL", RUNNING, LOG_LIBRARY, FOLLOWS,
            "NIXL lost the other process: that has ended, or the network between them broke"),
    BECAUSE("UCX  ERROR %r", UCX, "1.3-1.19", ANY, LOG_LIBRARY, GENERAL,
            "UCX, over which the program or MPI talks, reports an error"),
    /* rdma_endpoint.cpp, rdma_context.cpp */
    ADVISE("Failed to modify QP to RTR, check mtu, gid", MOONCAKE, "0.3", NETWORK, VERBS_CONNECT, 0,
           NULL, with_mooncake, reach_each_other),
    ADVISE("Failed to modify QP to RTS", MOONCAKE, "0.3", NETWORK, VERBS_CONNECT, 0, NULL,
           with_mooncake, reach_each_other),
    CLUE("(GID_Index %d) fe:80:00:00", MOONCAKE, "0.3", GID_LOCAL),
    CLUE("(GID_Index %d) fe80:", MOONCAKE, "0.3", GID_LOCAL),
    FAULT("Failed to register memory %x: Cannot allocate", MOONCAKE, "0.3", NETWORK, LOG_PINNED, 0),
    BECAUSE("Failed to register memory %x: %{Invalid|Bad address|not supported}", MOONCAKE, "0.3",
            ANY, LOG_LIBRARY, 0,
            "Mooncake could not register memory with the HCA: for GPU memory the node needs "
            "nvidia_peermem, or a driver with DMA-BUF. The cluster admin loads it"),
    BECAUSE("Failed to register memory %x: ", MOONCAKE, "0.3", ANY, LOG_LIBRARY, 0,
            "the HCA refused to register this memory for Mooncake: more, or larger, regions than "
            "its driver allows"),
    /* worker_pool.cpp, transfer_metadata_plugin.cpp; the words of ibv_wc_status_str */
    FAULT("Process failed for slice (%{: transport retry counter}", MOONCAKE, "0.3", ANY,
          LOG_PEER_SILENT, 0),
    FAULT("Process failed for slice (%{: local protection error}", MOONCAKE, "0.3", ANY,
          IOMMU_TRANSLATED, 0),
    FAULT("Process failed for slice (%{: remote access error}", MOONCAKE, "0.3", ANY,
          LOG_RDMA_REMOTE, 0),
    BECAUSE("Process failed for slice (", MOONCAKE, "0.3", ANY, LOG_LIBRARY, FOLLOWS,
            "a transfer of Mooncake's over RDMA failed"),
    /* rdma_context.cpp: -1 is the index where no GID of the port suits */
    ADVISE("Failed to open device %s on port%{with GID -1}", MOONCAKE, "0.3", INIT, LOG_LIBRARY, 0,
           no_mooncake_gid, look_at_gids, NULL),
    BECAUSE(
        "Failed to open device %s on port", MOONCAKE, "0.3", INIT, LOG_LIBRARY, 0,
        "Mooncake could not open the HCA: the container does not have it, or it has another name"),
    BECAUSE("cannot initialize RDMA resources", MOONCAKE, "0.3", INIT, LOG_LIBRARY, FOLLOWS,
            "Mooncake has no HCA that it can use"),
    BECAUSE("failed to get IP address of peer server", MOONCAKE, "0.3", NAMES, LOG_NAMES, 0,
            "the name of another pod does not resolve for Mooncake (DNS, the headless Service)"),
    /* ---- NVSHMEM: modules/transport/ibgda/ibgda.cpp, host/transport/transport.cpp ---- */
    BECAUSE("is not enumerated as an mlx5 device", NVSHMEM, "2.7-3.4", ANY, LOG_LIBRARY, IF_FAILED,
            "the transport IBGDA of NVSHMEM needs NVIDIA HCAs (mlx5), and this one is of another "
            "maker"),
    BECAUSE("neither nv_peer_mem, or nvidia_peermem detected", NVSHMEM, "2.7-3.4", ANY, LOG_LIBRARY,
            IF_FAILED,
            "NVSHMEM leaves its RDMA transports out, because nvidia_peermem is not loaded on the "
            "node, or does not show itself there. The cluster admin loads it"),
    BECAUSE("Peer GPU %d is not accessible, exiting", NVSHMEM, "2.7-3.4", ANY, LOG_LIBRARY, FOLLOWS,
            "NVSHMEM needs P2P between the GPUs of a node, or an RDMA transport"),
    BECAUSE("cannot allocate mlx5dv_devx_uar", NVSHMEM, "2.7-3.4", ANY, LOG_LIBRARY, 0,
            "the transport IBGDA of NVSHMEM may not use the HCA directly (DEVX), or its doorbells "
            "are used up: capabilities of the pod, fewer UCX threads"),
    BECAUSE("Unable to create ah", NVSHMEM, "2.7-3.4", ANY, LOG_LIBRARY, WORD,
            "NVSHMEM could not address the other end: the GID at NVSHMEM_IB_GID_INDEX is wrong, or "
            "there is no route to it"),
    BECAUSE("non-zero status: %d ibv_modify_qp failed", NVSHMEM, "2.7-3.4", NETWORK, LOG_LIBRARY, 0,
            no_queue_pair),
    /* modules/transport/ibrc/ibrc.cpp, host/transport/transport.cpp */
    BECAUSE("ep_connect failed", NVSHMEM, "2.7-3.4", NETWORK, LOG_LIBRARY, 0, no_queue_pair),
    BECAUSE("connect EPS failed", NVSHMEM, "2.7-3.4", NETWORK, LOG_LIBRARY, FOLLOWS, no_queue_pair),
    /* its own copies of NCCL's bootstrap and sockets */
    BECAUSE("modules/bootstrap/uid/", NVSHMEM, "2.10-3.4", STORE, LOG_LIBRARY, ALONE,
            "NVSHMEM's processes lost each other while they met: one of them ended, or their "
            "interface (NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME) does not reach all nodes"),
    BECAUSE("init.cu:%d: non-zero status: %d ", NVSHMEM, "2.7-3.4", ANY, LOG_LIBRARY,
            GENERAL | FOLLOWS, "NVSHMEM could not begin; the lines before this one may say why"),
    ADVISE("Unable to initialize any transports", NVSHMEM, "2.7-3.4", ANY, LOG_LIBRARY, FOLLOWS,
           no_transport, for_transport, for_ibgda),
    ADVISE("nvshmem detect topo failed", NVSHMEM, "2.7-3.4", ANY, LOG_LIBRARY, FOLLOWS,
           no_transport, for_transport, for_ibgda),
    ADVISE("init failed for transport: IBGDA", NVSHMEM, "2.7-3.4", ANY, LOG_LIBRARY,
           FOLLOWS | IF_FAILED, "NVSHMEM could not start its transport IBGDA", for_transport,
           for_ibgda),
    BECAUSE("nvshmem initialization failed", NVSHMEM, "2.7-3.4", ANY, LOG_LIBRARY, FOLLOWS,
            "NVSHMEM could not begin"),
    BECAUSE("nvshmem setup connections failed", NVSHMEM, "2.7-3.4", NETWORK, LOG_LIBRARY, FOLLOWS,
            no_queue_pair),
    BECAUSE("nvshmem setup heap failed", NVSHMEM, "2.7-3.4", ANY, LOG_LIBRARY, FOLLOWS,
            "NVSHMEM could not make its heap on the GPU (NVSHMEM_SYMMETRIC_SIZE), or not register "
            "it with the HCA"),
    /* ---- aws-ofi-nccl: nccl_ofi_net.cpp, nccl_ofi_rdma.cpp ---- */
    BECAUSE("OFI fi_getinfo() call failed: No data available", OFI, "1.2-1.17", INIT, LOG_PLUGIN,
            WHY,
            "the network plugin aws-ofi-nccl was loaded and found no device of its provider (EFA): "
            "the pod has none (vpc.amazonaws.com/efa), or its library does not see it"),
    BECAUSE("NET/OFI Couldn't set FI_OPT_", OFI, "1.5-1.17", INIT, LOG_PLUGIN, 0, old_libfabric),
    BECAUSE("NET/OFI Disabling shared memory failed", OFI, "1.11-1.17", INIT, LOG_PLUGIN, IN_ORDER,
            old_libfabric),
    BECAUSE("NET/OFI Creating new %{endpoint for|domain for}", OFI, "1.13-1.17", NETWORK,
            LOG_PLUGIN, FATAL,
            "the network plugin aws-ofi-nccl could not set up a connection: libfabric refused it. "
            "With FI_LOG_LEVEL=warn it says why"),
    BECAUSE("NET/OFI Request %x completed with error", OFI, "1.2-1.17", RUNNING, LOG_PLUGIN, FATAL,
            "a transfer of the network plugin aws-ofi-nccl failed: the other end is gone, or EFA's "
            "traffic is not let through between the nodes (security group)"),
    ADVISE("NET/OFI Unable to register memory (type", OFI, "1.0-1.17", NETWORK, LOG_PLUGIN, FATAL,
           no_registering, for_registering, NULL),
    ADVISE("NET/OFI Could not register memory", OFI, "1.6-1.17", NETWORK, LOG_PLUGIN, FATAL,
           no_registering, for_registering, NULL),
    ADVISE("NET/OFI Couldn't register memory", OFI, "1.17-1.20", NETWORK, LOG_PLUGIN, FATAL,
           no_registering, for_registering, NULL),
    ADVISE("NET/OFI Request completed with error", OFI, "1.4-1.17", RUNNING, LOG_PLUGIN, FATAL,
           "a transfer of the network plugin aws-ofi-nccl failed: the other end is gone, or the "
           "traffic is not let through between the nodes",
           "find the rank that ended first: its log says why. With EFA the security group must let "
           "all traffic to and from itself through.",
           "check the network of the other end."),
    ADVISE("NET/OFI Only EFA provider is supported", OFI, "1.4-1.17", INIT, LOG_PLUGIN, WHY,
           "the network plugin aws-ofi-nccl was loaded, and libfabric found no EFA device in the "
           "pod",
           "request EFA devices for the pod (vpc.amazonaws.com/efa), on a type of machine that has "
           "them.",
           NULL),
    BECAUSE("NET/OFI Couldn't open %r", OFI, "1.0-1.17", NETWORK, LOG_PLUGIN, FATAL,
            "the network plugin aws-ofi-nccl could not set up a connection: the device has no "
            "resources left, or libfabric does not fit the plugin"),
    BECAUSE(
        "NET/OFI Couldn't enable endpoint. RC: -12", OFI, "1.0-1.17", NETWORK, LOG_PINNED, FATAL,
        "EFA's endpoint could not be made: the limit of locked memory (ulimit -l) is too low, or "
        "the device has no resources left"),
    BECAUSE(
        "NET/OFI Unable to insert remote address", OFI, "1.9-1.17", NETWORK, LOG_PLUGIN, FATAL,
        "the network plugin aws-ofi-nccl does not reach the other end by EFA: often the security "
        "group lacks a rule that lets traffic out to itself"),
    BECAUSE(
        "efa_rdm_txe_handle_error():%d<warn> err: ", OFI, "log libfabric", RUNNING, LOG_PLUGIN,
        IN_ORDER,
        "libfabric could not send by EFA: the other end, which the line names, has gone, or its "
        "address is no longer valid"),
    BECAUSE("NET/OFI Couldn't initialize endpoint", OFI, "1.2-1.17", INIT, LOG_PLUGIN, FOLLOWS,
            "the network plugin aws-ofi-nccl could not set up its connection"),
    BECAUSE("NET/OFI Failed to initialize %s protocol", OFI, "1.9-1.17", INIT, LOG_PLUGIN,
            WHY | FOLLOWS, "the network plugin aws-ofi-nccl was loaded, and gave up"),
    /* the plugin's own error, which NCCL returns (llm-d, recipe "disable gke nccl tuner patch") */
    BECAUSE(
        "No NCCL_TUNER_CONFIG_PATH provided", GIB, "log 1.0-1.1", INIT, LOG_PLUGIN,
        FATAL | IN_ORDER,
        "gIB's tuner plugin was loaded without its configuration: source gIB's set_nccl_env.sh, or "
        "set NCCL_TUNER_PLUGIN=none"),
    /* plugin/plugin_open.cc: the plugin itself is missing, or a library that it needs */
    MILD("dlerror=libnccl-", NCCL, "2.19-2.20"),
    BECAUSE("dlerror=lib%{: cannot open shared object}", NCCL, "2.19-2.20", INIT, LOG_PLUGIN, WHY,
            "the network plugin is there and could not be loaded: the image lacks a library that "
            "the plugin needs"),
    BECAUSE("' not found (required by %{/libnccl-net}", LIBC, "glibc", INIT, LOG_PLUGIN, WHY,
            "the network plugin is there and could not be loaded: it was built for a newer C "
            "library than the image has"),
    BECAUSE("NET/gIB : No device found", GIB, "log", INIT, LOG_PLUGIN, WHY,
            "the network plugin gIB was loaded and found no device: the pod has no RDMA interface, "
            "or its device nodes are missing"),
    BECAUSE("aws-ofi-nccl initialization failed", OFI, "1.9-1.17", INIT, LOG_PLUGIN, WHY | FOLLOWS,
            "the network plugin aws-ofi-nccl was loaded, and gave up"),
    /* IBV_EVENT_QP_ACCESS_ERR, IBV_EVENT_QP_REQ_ERR (libibverbs ibv_event_type_str): the end that
       refuses sees them, the other one a completion error */
    BECAUSE("async fatal event%{local access violation|invalid request local}", NCCL,
            "2.23.4-2.32.3", ANY, LOG_RDMA_REMOTE, FOLLOWS,
            "this end refused an access of the other one"),
    BECAUSE("Got async event : %{local access violation|invalid request local}", NCCL,
            "2.17-2.19.4", ANY, LOG_RDMA_REMOTE, FOLLOWS,
            "this end refused an access of the other one"),
    FAULT("async fatal event", NCCL, "2.23.4-2.32.3", RUNNING, LOG_HCA_FATAL, 0),
    FAULT("Got async event : %{fatal|catastrophic|work queue}", NCCL, "2.17-2.19.4", RUNNING,
          LOG_HCA_FATAL, 0),
    BECAUSE("Got %{event: port error|event : port error}", NCCL, ALL, RUNNING, LOG_HCA_PORT, 0,
            "the port went down while the job ran"),
    FAULT("Got %{event: port active|event : port active}", NCCL, ALL, RUNNING, LOG_HCA_PORT,
          FOLLOWS),
    FAULT("Got %{async event|async error event}", NCCL, ALL, RUNNING, LOG_HCA_PORT, 0),
    FAULT("unknown event type (18)", NCCL, "2.23.4-2.28.3", RUNNING, LOG_HCA_PORT, 0),
    FAULT("GID table changed", NCCL, "2.28.3-2.32.3", RUNNING, LOG_HCA_PORT, 0),
    BECAUSE("GID refreshed: idx ", NCCL, "2.31.2, 2.32.3", RUNNING, LOG_HCA_PORT, FOLLOWS,
            "a port's address changed while the job ran, and NCCL took the new one"),
    BECAUSE("GID info query failed (", NCCL, "2.31.2, 2.32.3", RUNNING, LOG_HCA_PORT, 0,
            "a port's address changed while the job ran, and NCCL could not read the new one"),
    BECAUSE("marking device with fatal error after GID-change", NCCL, "2.31.2, 2.32.3", RUNNING,
            LOG_HCA_FATAL, 0,
            "a port's address changed while the job ran, and NCCL gave the HCA up"),
    FAULT("Device %d marked as failed", NCCL, "2.29.7-2.32.3", RUNNING, LOG_HCA_FATAL, 0),
    /* ---- memory, CUDA, the process ---- */
    BECAUSE(
        "Call to bind failed: Address already in use", NCCL, "2.27.7-2.32.3", NETWORK, LOG_PORT,
        FATAL,
        "the node has no free TCP port left: NCCL opens connections to very many ranks. The admin "
        "widens net.ipv4.ip_local_port_range; with PXN fewer connections are needed"),
    FAULT("Too many open files", LIBC, "all", ANY, LOG_FILES, 0),
    /* misc/shmutils.cc; up to 2.20.5 without the error. transport/shm.cc, proxy.cc: the name of a
       segment that a peer made by cuMem is empty */
    FAULT("Error while creating shared memory segment %{No space left}", NCCL, "2.21.5-2.32.3", ANY,
          SHM_DEFAULT, 0),
    FAULT("Error while attaching to shared memory segment %{/dev/shm/nccl- (size}", NCCL,
          "2.24.3-2.32.3", NETWORK, LOG_CUMEM, 0),
    BECAUSE("Error while attaching to shared memory segment ", NCCL, ALL, NETWORK, LOG_SHM, FOLLOWS,
            "the file of another rank in /dev/shm is not there: that rank has ended, or its "
            "/dev/shm is another one"),
    BECAUSE("Error while creating shared memory segment ", NCCL, ALL, NETWORK, LOG_SHM, FOLLOWS,
            "a file in /dev/shm could not be made, for the reason that the line or the one before "
            "it gives"),
    FAULT("failed to extend /dev/shm/%s %{No space left}", NCCL, "2.21.5-2.32.3", ANY, SHM_DEFAULT,
          0),
    BECAUSE("failed to extend /dev/shm/%s", NCCL, ALL, NETWORK, LOG_SHM, FOLLOWS,
            "a file in /dev/shm could not be made as large as NCCL needs it"),
    BECAUSE("failed to create shared memory file", NCCL, "2.21.5-2.32.3", NETWORK, LOG_SHM, 0,
            "a file in /dev/shm could not be made"),
    FAULT("allocate failed%{ : No space|: No space}", NCCL, "2.8.3", ANY, SHM_DEFAULT, 0),
    BECAUSE("insufficient shared memory (shm)", TORCH, "2.2-2.9", ANY, SHM_DEFAULT, 0,
            "a process of a DataLoader died of a bus error: usually /dev/shm is full"),
    FAULT("Failed to bind NVLink SHARP", NCCL, "2.27.3-2.32.3", ANY, LOG_CUDA_FABRIC, WARN | MORE),
    FAULT("Cuda failure ", NCCL, ALL, ANY, LOG_CUDA, WARN | MORE),
    FAULT("HIP failure ", RCCL, "log", ANY, LOG_CUDA, WARN | MORE),
    /* ROCclr: rocmemory.cpp, hip_memory.cpp */
    ADVISE("Failed to create memory for IPC, failed with hsa_status", RCCL, "log", ANY, LOG_CUDA, 0,
           no_hip_ipc, compare_rocm, NULL),
    ADVISE("hipIpcGetMemHandle -> %{invalid|not supported|out of memory}", RCCL, "log", ANY,
           LOG_CUDA, 0, no_hip_ipc, compare_rocm, NULL),
    FAULT("HIP failure: ", RCCL, "log 2.27.7", ANY, LOG_CUDA, WARN | MORE),
    BECAUSE("P2P is disabled between NVLINK connected GPUs", NCCL, "2.17-2.32.3", ANY,
            LOG_GPU_FAILED, 0,
            "NVLink joins these GPUs, and the driver allows no P2P over it: a fault of the GPU or "
            "the NVLink, or a virtual machine that does not pass it on"),
    ADVISE("nvmlDeviceGetHandleByPciBusId() failed: Not Found", NCCL, "2.17-2.32.3", INIT,
           JOB_HOSTID_SAME, 0,
           "a rank that counts as one of this host has a GPU that this container does not have: "
           "pods of one node with one host name, each with its own GPUs, need an NCCL_HOSTID of "
           "their own, or one pod with all GPUs",
           "set NCCL_HOSTID to another value in each of these pods, or start one pod with all GPUs "
           "of the node. If there is only one pod: `nvidia-smi` tells whether a GPU is lost.",
           NULL),
    BECAUSE(
        "Attribute %s of node %s not found", NCCL, ALL, INIT, USER_TOPO_UNREADABLE, FATAL | WARN,
        "the topology lacks this attribute: the file that NCCL_TOPO_FILE names, or the one that "
        "a virtual machine brings (/var/run/nvidia-topologyd), does not fit the node"),
    BECAUSE("Fusing NET devices from different NUMA domains", NCCL, "2.30.7-2.32.3", INIT,
            USER_NICS_APART, FATAL | WARN,
            "NCCL makes no NIC of HCAs of two CPUs: NCCL_NET_MERGE_LEVEL=SYS or "
            "NCCL_NET_FORCE_MERGE asks for one"),
    BECAUSE("Attempt to use communicator before the previous", NCCL, ALL, ANY, LOG_WARN, 0,
            "the program used a communicator while an earlier call for it had not ended: an error "
            "of the program, or it was built for another NCCL"),
    FAULT("Mismatched collective detected", NCCL, "log 2.4.8", RUNNING, LOG_COLLECTIVE, 0),
    FAULT("Your program may be hanging, this may be caused by a collective mismatch", NCCL,
          "log 2.7.8", RUNNING, LOG_COLLECTIVE, 0),
    ADVISE("Invalid rank requested : %d/%d", NCCL, ALL, BOOTSTRAP, JOB_RANK_TWICE, 0,
           "a process has a number that is not below the number of ranks: more processes were "
           "started than the world size that they were told",
           "RANK must be 0 to WORLD_SIZE-1, and WORLD_SIZE must count all processes, the master's "
           "too.",
           NULL),
    BECAUSE(
        "IpcGetMemHandle failed", RCCL, "log 2.18.3", NETWORK, LOG_CUDA, 0,
        "a GPU's memory cannot be shared with another process (IPC): the GPUs or the container do "
        "not allow it; NCCL_P2P_DISABLE=1 goes through host memory"),
    BECAUSE("failed to open CUDA IPC handle : ", NCCL, "log 2.7.8", ANY, LOG_CUDA, MORE,
            "a GPU could not open the memory of another one on its node"),
    BECAUSE(
        "Failed to find reverse path from remNode", NCCL, "2.17-2.32.3, log RCCL", ANY, LOG_WARN, 0,
        "the links between the GPUs, as the node shows them, lead to GPUs that are not there: a "
        "virtual machine, or a part of the GPUs. A newer NCCL or RCCL may cope"),
    BECAUSE("Failed call to cuDeviceGet: CUDA_ERROR_INVALID_DEVICE", JAX, "log 0.4", ANY,
            LOG_CUDA_DEVICE, 0,
            "the process uses a GPU that it was not given (CUDA_VISIBLE_DEVICES, the scheduler)"),
    FAULT("Test CUDA failure ", TESTS, "2.0-2.17", ANY, LOG_CUDA, MORE),
    FAULT("Failed to CUDA calloc", NCCL, ALL, ANY, LOG_CUDA_MEMORY, 0),
    FAULT("Duplicate GPU detected", NCCL, "2.17-2.29.7", INIT, LOG_GPU_SHARED, 0),
    FAULT("Multiple %{anks} %{using the same GPU}", NCCL, "2.30.3-2.32.3", INIT, LOG_GPU_SHARED, 0),
    /* ---- beside NCCL ---- */
    PROGRAM("Traceback (most recent call last):", PYTHON, "3", TRACEBACK),
    PROGRAM("Exception ignored in", PYTHON, "3", IGNORED),
    PROGRAM("what():  %r", LIBC, "libstdc++", THROWN),
    /* ProcessGroupNCCL.cpp; the watchdog's other errors follow from those that NCCL names */
    PROGRAM("watchdog thread terminated with exception: CUDA error", TORCH, "2.0-2.11", THROWN),
    PROGRAM("terminate called without an active exception", LIBC, "libstdc++", THROWN),
    PROGRAM("Fatal Python error: %r", PYTHON, "3", THROWN),
    PROGRAM("WorkNCCL(SeqNum=%d, OpType=%s NumelIn=%d, NumelOut=%d, Timeout(ms)=%d", TORCH,
            "2.1-2.11", WAIT),
    PROGRAM("WorkNCCL(SeqNum=%d, OpType=%s Timeout(ms)=%d", TORCH, "1.13-2.0", SHORT),
    PROGRAM("PG GUID %s Rank %d]%{work sequence id: }%d PG status: last enqueued work: %d", TORCH,
            "2.5-2.11", GROUP),
    PROGRAM("ast enqueued NCCL work: %d, last completed", TORCH, "2.3-2.11", CALLED),
    PROGRAM("An unbatched P2P op (send/recv) was called", TORCH, "log 2.11", P2P),
    PROGRAM("Root Cause (first observed failure)", TORCH, "1.9-2.11", FIRST),
    PROGRAM("rank      : %d (local_rank: ", TORCH, "1.9-2.11", RANK),
    PROGRAM("exitcode  : %d (pid: %d)", TORCH, "1.9-2.11", EXITCODE),
    /* lightning_fabric/utilities/distributed.py, and before it pytorch_lightning */
    PROGRAM("GLOBAL_RANK: %d, MEMBER: %d/%d", LIGHTNING, "1.0-2.5", MEMBER),
    PROGRAM("All distributed processes registered", LIGHTNING, "1.2-2.5", MET),
    PROGRAM("Worker %s pid %d died, exit code: %d", VLLM, "0.4-0.6", DIED),
    PROGRAM("failed (exitcode: %d) local_rank: %d (pid: %d)", TORCH, "1.9-2.11", FAILED),
    PROGRAM("SignalException: Process %d got signal: %d", TORCH, "1.10-2.11", TERM),
    PROGRAM(": task %d: %r", SLURM, "20-25", TASK),
    PROGRAM("mpirun noticed that process rank %d with PID %d on node %s exited on signal %d", MPI,
            "1.6-4.1", EXITED),
    /* ucs/debug/debug.c, opal/util/stacktrace.c */
    PROGRAM("Caught signal %d (", UCX, "1.3-1.19", CAUGHT),
    PROGRAM("] Signal: %{ (}%d)", MPI, "Open MPI 1.6-5.0", CAUGHT),
    PROGRAM("Segmentation fault", SHELL, "bash, Open MPI, faulthandler", SIGNAL_11),
    /* jobs.c of bash: "script: line 28:  8156 Killed   python3" */
    PROGRAM(": line %d: %{ Killed  }", SHELL, "bash", SIGNAL_9),
    PROGRAM("died with <Signals.SIG%{KILL: 9>}", PYTHON, "3", SIGNAL_9),
    PROGRAM("died with <Signals.SIG%{SEGV: 11>}", PYTHON, "3", SIGNAL_11),
    PROGRAM("exits with return code = -9", TORCH, "DeepSpeed 0.3-0.17", SIGNAL_9),
    PROGRAM("exits with return code = -11", TORCH, "DeepSpeed 0.3-0.17", SIGNAL_11),
    PROGRAM("exits with return code = -7", TORCH, "DeepSpeed 0.3-0.17", SIGNAL_7),
    PROGRAM("Bus error (core dumped)", SHELL, "bash", SIGNAL_7),
    PROGRAM("Floating point exception", SHELL, "bash, Open MPI", SIGNAL_8),
    PROGRAM("Illegal instruction", SHELL, "bash, Open MPI", SIGNAL_4),
    /* torch/csrc/distributed/c10d/reducer.cpp; also outside a traceback, if lines are mixed */
    ADVISE("Expected to have finished reduction in the prior", TORCH, "1.0-2.11", RUNNING,
           LOG_EXCEPTION, FOLLOWS, unused_parameters, use_all, NULL),
    ADVISE("arameters which did not receive grad for rank", TORCH, "1.9-2.11", RUNNING,
           LOG_EXCEPTION, FOLLOWS, unused_parameters, use_all, NULL),
    ADVISE("arameter indices which did not receive grad for", TORCH, "1.9-2.11", RUNNING,
           LOG_EXCEPTION, FOLLOWS, unused_parameters, use_all, NULL),
    ADVISE("Expected to mark a variable ready only once", TORCH, "1.0-2.11", RUNNING, LOG_EXCEPTION,
           FOLLOWS,
           "the program raised an exception: DDP got two gradients of one parameter: it is used "
           "twice, often together with checkpoints of activations",
           "the program's author calls gradient checkpointing with use_reentrant=False, or DDP "
           "with static_graph=True.",
           NULL),
    /* what explains other lines */
    CLUE("init_method%{file:/}", PROGRAM, "all", FILE_INIT),
    CLUE("init-method%{file:/}", PROGRAM, "all", FILE_INIT),
    CLUE("dist_url%{file:/}", PROGRAM, "all", FILE_INIT),
    CLUE("dist-url%{file:/}", PROGRAM, "all", FILE_INIT),
    CLUE("aving%{heckpoint}", PROGRAM, "all", CHECKPOINT),
    CLUE("aving%{model|state}", PROGRAM, "all", CHECKPOINT),
    CLUE("saved%{heckpoint}", PROGRAM, "all", CHECKPOINT),
    FAULT("Detected mismatch between collectives", TORCH, "1.11-2.11", RUNNING, LOG_COLLECTIVE, 0),
    FAULT("Watchdog caught collective operation", TORCH, "2.2-2.11", RUNNING, LOG_TIMEOUT, 0),
    BECAUSE("Heartbeat monitor timed out", TORCH, "2.3", RUNNING, LOG_TIMEOUT, 0, stands_still),
    BECAUSE("watchdog got stuck for", TORCH, "2.3-2.9", RUNNING, LOG_TIMEOUT, 0, stands_still),
    BECAUSE("but store->get(%{got error: Socket Timeout|got error: wait timeout}", TORCH,
            "2.0-2.11", STORE, LOG_RENDEZVOUS, 0,
            "rank 0 did not begin this communicator in time: it came later, stands elsewhere, or "
            "has died; its store did answer"),
    FAULT("but store->get(%{got error}", TORCH, "2.0-2.9", STORE, LOG_RENDEZVOUS, 0),
    BECAUSE("DistStoreError: wait timeout after", TORCH, "2.7-2.11", STORE, LOG_RENDEZVOUS, 0,
            "the others did not come to the store in time: one of them came later, stands "
            "elsewhere, or has died; the store did answer"),
    ADVISE("in store based barrier on rank%{worker_count=}%d, timeout", TORCH, "1.8-2.2", STORE,
           LOG_RANKS_MISSING, 0,
           "torch's first barrier did not count its ranks in time: worker_count is how many it "
           "counted, world_size how many there are to be. If it counted more, the store still has "
           "those of an earlier run: each start needs a new file or port",
           "if worker_count is lower: check whether, and when, the missing processes started; pass "
           "their logs too. If it is higher: remove the file of init_method before each start.",
           NULL),
    BECAUSE(
        "EtcdKeyNotFound: Key not found : /torch/elastic", TORCH, "1.9-2.5", STORE, LOG_RENDEZVOUS,
        0,
        "torchrun's rendezvous in etcd has no entry for this node: another node left it, or its "
        "id is used again (each run needs its own --rdzv_id)"),
    FAULT("The server socket has failed to listen", TORCH, "1.10-2.11", STORE, LOG_PORT, 0),
    BECAUSE("The client socket has timed out", TORCH, "2.0-2.11", STORE, LOG_RENDEZVOUS, NO_STORE,
            "rank 0's store did not answer: rank 0 has not started, has ended, or cannot be "
            "reached"),
    BECAUSE("seconds waiting for clients. %d/%d clients joined", TORCH, "2.1-2.11", STORE,
            LOG_RANKS_MISSING, GAVE_UP,
            "rank 0 gave up, because not all ranks had come to its store in time"),
    BECAUSE("network addresses of (%{cannot be retrieved (gai error}", TORCH, "1.10-2.11", NAMES,
            LOG_NAMES, LATE, "the name of rank 0's host does not resolve here"),
    BECAUSE("TCP client failed to connect/validate to host %s - retrying%{failed to recv, got 0}",
            TORCH, "2.4-2.11", STORE, LOG_PROXY, LATE,
            "rank 0's port accepts a connection and closes it at once, again and again: a sidecar "
            "proxy stands in front of it, or rank 0's store has ended"),
    BECAUSE("DistNetworkError: Connection reset by peer", TORCH, "2.2-2.11", STORE, LOG_PROXY, 0,
            "rank 0's port accepts a connection and breaks it off: a sidecar proxy or another "
            "program stands there, or rank 0's store has ended"),
    BECAUSE("ValueError: host not found: ", TORCH, "1.0-1.9", NAMES, LOG_NAMES, 0,
            "the name of rank 0's host, MASTER_ADDR, does not resolve here"),
    BECAUSE("gaierror: [Errno ", PYTHON, "3", NAMES, LOG_NAMES, 0,
            "a host's name does not resolve here"),
    ADVISE("\"should dump\" flag on TCPStore", TORCH, "2.5-2.11", RUNNING, LOG_LEFT,
           FOLLOWS | AFTERMATH, store_gone, ask_store, NULL),
    ADVISE("recvValue failed on SocketImpl(", TORCH, "2.6-2.11", RUNNING, LOG_LEFT,
           FOLLOWS | AFTERMATH, store_gone, ask_store, NULL),
    ADVISE("sendBytes failed on SocketImpl(", TORCH, "2.6-2.11", RUNNING, LOG_LEFT,
           FOLLOWS | AFTERMATH, store_gone, ask_store, NULL),
    ADVISE("Error: Socket Timeout", TORCH, "1.8-2.11", STORE, LOG_RENDEZVOUS, FOLLOWS,
           "a process waited in vain at the job's store: another one did not come, had ended, or "
           "could not be reached",
           "look for the process that is missing, and at what it said first; a longer time-out "
           "only delays this.",
           NULL),
    FAULT("failed to recv, got 0 bytes", TORCH, "2.2-2.9", STORE, LOG_RENDEZVOUS, FOLLOWS | LATE),
    /* gloo/transport/tcp: each rank tells the address of its own host name */
    BECAUSE("Gloo connectFullMesh failed", TORCH, "2.3-2.11", ANY, LOG_LIBRARY, 0, no_mesh),
    BECAUSE("gloo/transport/tcp/pair.cc:%d] connect [%s %{refused|timed out|route|unreachable}",
            GLOO, "log torch 1.8-2.2", ANY, LOG_LIBRARY, 0, no_mesh),
    BECAUSE("gloo/transport/tcp/%{onnection closed by peer}", GLOO, "log torch 1.8-2.11", RUNNING,
            LOG_LIBRARY, FOLLOWS,
            "Gloo lost the other process: that has ended, or the network between them broke"),
    BECAUSE("Unable to find address for: ", GLOO, "log torch 1.8-2.11", ANY, LOG_LIBRARY, 0,
            "Gloo finds no address on the interface that GLOO_SOCKET_IFNAME names: the name must "
            "be one of this node's, as it is, without ^"),
    /* dynamic_rendezvous.py, c10d_rendezvous_backend.py, api.py */
    BECAUSE(
        "has failed to send a keep-alive heartbeat", TORCH, "1.9-2.11", RUNNING, LOG_RENDEZVOUS,
        IF_FAILED | FOLLOWS,
        "torchrun lost its rendezvous store in the middle of the run: the torchrun that hosts it "
        "ended, or was another job's with the same endpoint (each job needs its own port)"),
    BECAUSE("RendezvousConnectionError: ", TORCH, "1.9-2.11", STORE, LOG_RENDEZVOUS, FOLLOWS,
            "torchrun did not get through to its rendezvous store: nobody listens at the endpoint, "
            "it cannot be reached, or it breaks off"),
    BECAUSE("RendezvousTimeoutError", TORCH, "1.9-2.11", STORE, LOG_RENDEZVOUS, FOLLOWS | IF_FAILED,
            late_rendezvous),
    BECAUSE("\"message\": \"RendezvousClosedError", TORCH, "1.9-2.11", STORE, LOG_RENDEZVOUS, 0,
            closed_rendezvous),
    BECAUSE("\"message\": \"RendezvousTimeoutError", TORCH, "1.9-2.11", STORE, LOG_RENDEZVOUS, 0,
            late_rendezvous),
    BECAUSE("RendezvousClosedError", TORCH, "1.9-2.11", STORE, LOG_RENDEZVOUS, FOLLOWS | IF_FAILED,
            closed_rendezvous),
    /* ---- launchers ---- */
    BECAUSE(
        "Permission denied (%{publickey|password|keyboard|gssapi}", SSH, "6-10", LAUNCHER,
        LOG_LAUNCHER, 0,
        "the launcher could not log in by ssh: no rank was started on that node. Give the user a "
        "key for it, or take a launcher without ssh"),
    BECAUSE("sshd: %{No such file|not found}", SHELL, "bash, dash", LAUNCHER, LOG_LAUNCHER, 0,
            "the image has no sshd, by which mpirun starts its ranks on the workers: install an "
            "SSH server in it"),
    BECAUSE("/kubexec.sh: %d: ", MPI, "mpi-operator 0.1-0.3", LAUNCHER, LOG_LAUNCHER, 0,
            "mpirun's way into the workers, kubexec.sh, found no kubectl: no rank was started "
            "there. The operator's init container brings it (kubectl-delivery)"),
    BECAUSE("Host key verification failed", SSH, "6-10", LAUNCHER, LOG_LAUNCHER, 0,
            "ssh does not know the key of that node, so no rank was started on it"),
    ADVISE("ssh: Could not resolve hostname %s", SSH, "6-10", LAUNCHER, LOG_LAUNCHER, 0,
           "the name of a node does not resolve, so no rank was started on it",
           "look up the name on the node that printed the line (`getent hosts NAME`). In "
           "Kubernetes the pods' headless Service gives it; it may be the launcher's own.",
           NULL),
    ADVISE("bash: %{bin/python: No such file|bin/python3: No such file}", SHELL, "bash", LAUNCHER,
           LOG_LAUNCHER, 0, "a node has no Python at the path that the launcher called", same_files,
           NULL),
    ADVISE("bash: line %d: cd: %{No such file}", SHELL, "bash", LAUNCHER, LOG_LAUNCHER, IF_FAILED,
           "a node does not have the folder in which the launcher starts the program", same_files,
           NULL),
    BECAUSE(
        "ssh: connect to host %s port %d: %r", SSH, "6-10", LAUNCHER, LOG_LAUNCHER, 0,
        "the launcher does not reach the ssh of a node: it does not run there yet, or is not let "
        "through"),
    BECAUSE("orted: command not found", SHELL, "bash, Open MPI 1.8-4.1", LAUNCHER, LOG_LAUNCHER, 0,
            "mpirun's daemon, orted, is not in the PATH of the shell that ssh starts on the nodes: "
            "call mpirun by its full path, or with --prefix"),
    ADVISE("A worker died or was killed while executing a task", RAY, "2.3-2.50", RUNNING, LOG_LEFT,
           0, worker_died, look_at_worker, NULL),
    ADVISE("Worker exit type: SYSTEM_ERROR", RAY, "2.3-2.50", RUNNING, LOG_LEFT, 0, worker_died,
           look_at_worker, NULL),
    ADVISE("killed due to the node running low on memory", RAY, "2.3-2.50", RUNNING, LOG_MEMORY, 0,
           "Ray killed a worker because its node had too little memory left: the program needs "
           "less of it, or the pod's limit is too low",
           more_host_memory, NULL),
    ADVISE("killed due to memory pressure (OOM)", RAY, "2.3-2.50", RUNNING, LOG_MEMORY,
           FOLLOWS | IN_ORDER, "Ray killed workers because a node had too little memory left",
           more_host_memory, NULL),
    /* gcs_node_manager.cc: "and ip: ", later "and address: ... and node name: " */
    ADVISE("and ip: %s has been marked dead because", RAY, "1.0-2.0", RUNNING, LOG_LEFT, NAMED,
           node_lost, find_node, ask_cluster),
    ADVISE("and address: %s and node name: %s has been marked dead", RAY, "2.0-2.50", RUNNING,
           LOG_LEFT, NAMED, node_lost, find_node, ask_cluster),
    ADVISE("has been marked dead because the detector has missed", RAY, "1.0-2.50", RUNNING,
           LOG_LEFT, GENERAL, node_lost, find_node, ask_cluster),
    ADVISE("he actor is dead because its node has died", RAY, "1.9-2.50", RUNNING, LOG_LEFT,
           FOLLOWS, node_lost, find_node, ask_cluster),
    ADVISE("he actor died because its node has died", RAY, "2.3-2.50", RUNNING, LOG_LEFT, FOLLOWS,
           node_lost, find_node, ask_cluster),
    ADVISE("nknown option%{hnp-topo-sig|tree-spawn|orte_|prte_}", MPI, "Open MPI 1.8-5.0", LAUNCHER,
           LOG_LAUNCHER, 0, two_open_mpis, one_open_mpi, NULL),
    ADVISE("nrecognized option%{hnp-topo-sig|tree-spawn|orte_|prte_}", MPI, "Open MPI 1.8-5.0",
           LAUNCHER, LOG_LAUNCHER, 0, two_open_mpis, one_open_mpi, NULL),
    ADVISE("Data unpack had inadequate space in file", MPI, "Open MPI 1.3-4.1", LAUNCHER,
           LOG_LAUNCHER, FOLLOWS, two_open_mpis, one_open_mpi, NULL),
    ADVISE("Data unpack would read past end of buffer in file", MPI, "Open MPI 1.3-4.1", LAUNCHER,
           LOG_LAUNCHER, FOLLOWS, two_open_mpis, one_open_mpi, NULL),
    ADVISE("prted: command not found", SHELL, "bash, Open MPI 5.0", LAUNCHER, LOG_LAUNCHER, 0,
           "mpirun's daemon, prted, is not in the PATH of the shell that ssh starts on the nodes",
           "call mpirun by its full path, or with --prefix.", NULL),
    ADVISE("hydra_pmi_proxy: %{not found|No such file}", SHELL, "bash, MPICH 3-4", LAUNCHER,
           LOG_LAUNCHER, 0,
           "mpirun's daemon, hydra_pmi_proxy, is not on a node at the path that it has here",
           "install the same MPI at the same path on each node.", NULL),
    ADVISE("orted: error while loading shared libraries: %s", SHELL, "glibc", LAUNCHER,
           LOG_LAUNCHER, 0,
           "mpirun's daemon, orted, lacks a library on a node: LD_LIBRARY_PATH of the shell that "
           "ssh starts there",
           "call mpirun by its full path, or with --prefix.", NULL),
    /* orte/mca/plm/rsh, plm/base, errmgr/base: help-*.txt */
    ADVISE("n ORTE daemon has unexpectedly failed after launch", MPI, "Open MPI 2.0-4.1", LAUNCHER,
           LOG_LAUNCHER, FOLLOWS,
           "mpirun's daemon started on a node and did not come back: no common network, a firewall "
           "between the nodes, or another Open MPI there",
           "name the network that the nodes share: --mca oob_tcp_if_include and "
           "btl_tcp_if_include; compare `mpirun --version` on all nodes.",
           "let the nodes' ports through to each other."),
    ADVISE("PRTE has lost communication with", MPI, "Open MPI 5.0", RUNNING, LOG_LEFT, FOLLOWS,
           "mpirun lost its daemon on the node that the lines after it name: that pod or node "
           "ended, or its network broke",
           "look whether that node or pod still runs.", NULL),
    ADVISE("ORTE has lost communication with", MPI, "Open MPI 1.8-4.1", RUNNING, LOG_LEFT, FOLLOWS,
           "mpirun lost its daemon on the node that the lines after it name: that pod or node "
           "ended, or its network broke",
           "look whether that node or pod still runs.", NULL),
    ADVISE("mpirun was unable to find the specified executable", MPI, "Open MPI 1.4-5.0", LAUNCHER,
           LOG_LAUNCHER, 0, "the program that mpirun is to start is not on a node, at that path",
           "give its full path, and see that each node has it there.", NULL),
    ADVISE("mpirun was unable to launch the specified application", MPI, "Open MPI 1.4-5.0",
           LAUNCHER, LOG_LAUNCHER, 0,
           "mpirun could not start the program on a node: the lines after it name the node and the "
           "path",
           "see that each node has the program at that path, and may run it.", NULL),
    ADVISE("has detected an attempt to run as root", MPI, "Open MPI 1.8-5.0", LAUNCHER,
           LOG_LAUNCHER, 0, "mpirun refuses to run as root",
           "add --allow-run-as-root in a container, or run it as another user.", NULL),
    ADVISE("t least one pair of MPI processes are unable to reach", MPI, "Open MPI 1.3-5.0",
           NETWORK, LOG_LIBRARY, FOLLOWS,
           "two processes of MPI have no network in common: no transport that both may use",
           "name one that both have: --mca btl tcp,self, btl_tcp_if_include for the interface; the "
           "lines after it name the two hosts.",
           NULL),
    ADVISE(
        "] connect() to %s failed: %{refused|timed out|No route|unreachable}", MPI,
        "Open MPI 1.4-5.0", NETWORK, LOG_LIBRARY, IN_ORDER,
        "MPI could not connect to another node by TCP: a firewall, or it chose an interface that "
        "the other one does not reach, such as docker0",
        "name the interface that all nodes share: --mca btl_tcp_if_include, oob_tcp_if_include.",
        "let the nodes' ports through to each other."),
    BECAUSE("ORTE was unable to reliably start one or more", MPI, "1.8-4.1", LAUNCHER, LOG_LAUNCHER,
            FOLLOWS,
            "mpirun could not start its daemon on all nodes: ssh, PATH or LD_LIBRARY_PATH "
            "there"),
    BECAUSE("There are not enough slots available in the system", MPI, "1.8-5.0", LAUNCHER,
            LOG_LAUNCHER, 0, "mpirun was asked for more ranks than its host file has slots"),
    /* slurmd/slurmstepd/task_cgroup_memory.c, step_terminate_monitor.c; srun */
    ADVISE("oom_kill event", SLURM, "22-25", RUNNING, LOG_MEMORY, 0,
           "the kernel killed a process of the step, because it had used up the memory that Slurm "
           "gave the job",
           more_host_memory, NULL),
    ADVISE("oom-kill event", SLURM, "17-22", RUNNING, LOG_MEMORY, 0,
           "the kernel killed a process of the step, because it had used up the memory that Slurm "
           "gave the job",
           more_host_memory, NULL),
    ADVISE(": Out Of Memory", SLURM, "18-25", RUNNING, LOG_MEMORY, FOLLOWS, NULL, more_host_memory,
           NULL),
    ADVISE("exceeded memory limit (%d > %d)", SLURM, "14-25", RUNNING, LOG_MEMORY, 0,
           "Slurm killed the step, because it used more memory than the job may have",
           more_host_memory, NULL),
    ADVISE("State: OUT_OF_MEMORY", SLURM, "17-25", RUNNING, LOG_MEMORY, FOLLOWS, NULL,
           more_host_memory, NULL),
    /* the kernel's own words, also of processes of others: mm/oom_kill.c */
    ADVISE("emory cgroup out of memory: ", LIBC, "the kernel, 3-6", RUNNING, LOG_MEMORY, IN_ORDER,
           NULL, more_host_memory, NULL),
    ADVISE("ut of memory: Killed process %d", LIBC, "the kernel, 5-6", RUNNING, LOG_MEMORY,
           IN_ORDER, "the kernel killed a process, because the whole node's memory was used up",
           more_host_memory, "look what else used the node's memory."),
    MILD("OOMKilled\": false", KUBERNETES, "docker inspect"),
    /* kubectl describe also shows it of an earlier start */
    ADVISE("OOMKilled", KUBERNETES, "1.0-1.34", RUNNING, LOG_MEMORY, WORD | IN_ORDER,
           "the kernel killed the container, because it had used up its limit of memory",
           more_host_memory, NULL),
    ADVISE("The node was low on resource: %s", KUBERNETES, "1.8-1.34", RUNNING, LOG_LEFT, IN_ORDER,
           "Kubernetes evicted the pod, because its node ran short of what the line names",
           "request as much memory and ephemeral-storage as the pod uses, and write large files to "
           "a volume.",
           "look what used it up on that node."),
    ADVISE("ImagePullBackOff", KUBERNETES, "1.2-1.34", LAUNCHER, LOG_LAUNCHER, WORD,
           "the image of a pod could not be pulled",
           "check the image's name, and the secret for its registry (imagePullSecrets).", NULL),
    ADVISE("ErrImagePull", KUBERNETES, "1.2-1.34", LAUNCHER, LOG_LAUNCHER, WORD | FOLLOWS,
           "the image of a pod could not be pulled",
           "check the image's name, and the secret for its registry (imagePullSecrets).", NULL),
    ADVISE("nvidia-container-cli: %r", KUBERNETES, "libnvidia-container 1.0-1.18", LAUNCHER,
           LOG_LAUNCHER, 0,
           "the container could not be given its GPUs: the rest of the line says why", NULL,
           "check the driver of that node (`nvidia-smi`), and the NVIDIA container toolkit."),
    ADVISE("could not select device driver", KUBERNETES, "docker 19-28", LAUNCHER, LOG_LAUNCHER, 0,
           "Docker has no runtime for GPUs", NULL, "install the NVIDIA container toolkit."),
    ADVISE("JobUnschedulable", KUBERNETES, "Volcano", LAUNCHER, LOG_LAUNCHER, WORD | FOLLOWS,
           "the scheduler found no nodes for the job", "request less, or wait.", NULL),
    /* srun/libsrun/launch.c, step_launch.c; slurmctld */
    ADVISE("Unable to allocate resources: %r", SLURM, "14-25", LAUNCHER, LOG_LAUNCHER, 0,
           "Slurm gave the job no nodes: the end of the line says why",
           "correct what the line names: partition, account, limits.", NULL),
    ADVISE("Job submit/allocate failed: %r", SLURM, "14-25", LAUNCHER, LOG_LAUNCHER, 0,
           "Slurm gave the job no nodes: the end of the line says why",
           "correct what the line names: partition, account, limits.", NULL),
    ADVISE("Batch job submission failed: %r", SLURM, "14-25", LAUNCHER, LOG_LAUNCHER, 0,
           "Slurm did not take the job: the end of the line says why",
           "correct what the line names: partition, account, limits.", NULL),
    ADVISE("srun: error: Unable to create step for job %d: %r", SLURM, "14-25", LAUNCHER,
           LOG_LAUNCHER, 0, "Slurm did not start the step: the end of the line says why",
           "ask in srun for no more nodes, tasks, memory or GPUs than the job has (sbatch).", NULL),
    ADVISE("Requested node configuration is not available", SLURM, "14-25", LAUNCHER, LOG_LAUNCHER,
           FOLLOWS, "no node of the partition has what the job asks for",
           "ask for less, or for another partition (`sinfo -N -o '%N %G %m %c'`).", NULL),
    ADVISE("srun: error: Node failure on %s", SLURM, "14-25", RUNNING, LOG_LEFT, NAMED | JOB_ENDED,
           "Slurm lost this node: it failed, restarted, or its slurmd did not answer",
           "start the job again, without that node (--exclude).", "look at that node."),
    ENDED(" CANCELLED AT %s ***", SLURM, "14-25", FOLLOWS,
          "somebody or something cancelled the job (scancel), or srun ended it after a task had "
          "failed",
          "look for a task's error before that line; else ask who cancelled it: `sacct -j JOB -X "
          "-o State` names the user."),
    ENDED(" DUE TO JOB REQUEUE", SLURM, "20-25", 0, "Slurm ended the job to start it again",
          "nothing, if it starts again; else look why: `scontrol show job`."),
    ENDED(" DUE TO TIME LIMIT", SLURM, "20-25", FOLLOWS,
          "Slurm ended the job because its time was over",
          "give the job more time (sbatch --time)."),
    BECAUSE(" DUE TO NODE FAILURE", SLURM, "20-25", RUNNING, LOG_LEFT, 0,
            "Slurm ended the job because a node failed"),
    ENDED(" DUE TO PREEMPTION", SLURM, "20-25", 0,
          "Slurm ended the job to give its nodes to another one",
          "start the job again from its last checkpoint; with sbatch --requeue Slurm does it."),
    BECAUSE(
        "E has lost communication with a remote daemon", MPI, "Open MPI 3.0-5.0", RUNNING, LOG_LEFT,
        0,
        "mpirun lost its daemon on the node that the lines after it name: that pod or node ended, "
        "or its network broke"),
    BECAUSE(
        "atal error in %{MPI_Init}", MPI, "MPICH 3.0-4.2", LAUNCHER, LOG_LIBRARY, 0,
        "MPI could not begin, before NCCL: its processes do not reach each other, or another MPI's "
        "launcher started them"),
    BECAUSE(
        "pmix_init failed", MPI, "Open MPI 4.0-5.0", LAUNCHER, LOG_LIBRARY, 0,
        "PMIx, by which MPI's processes meet, could not begin: the image's PMIx lacks a component "
        "that the launcher's has, or is of another version"),
    BECAUSE("OMPI was not built with SLURM", MPI, "Open MPI 2.1-4.1", LAUNCHER, LOG_LAUNCHER, 0,
            "srun started the program, and its Open MPI has no PMI that fits Slurm's: start it by "
            "mpirun, or by srun --mpi=pmix with an Open MPI that has PMIx"),
    BECAUSE("PMI2_Init failed to intialize", MPI, "Open MPI 2.1-4.1", LAUNCHER, LOG_LAUNCHER,
            FOLLOWS, "MPI could not begin under srun: its PMI and Slurm's do not fit each other"),
    BECAUSE(
        "mpi/pmix%{collective timeout}", SLURM, "20-25", LAUNCHER, LOG_LAUNCHER, 0,
        "Slurm's PMIx servers of the nodes do not reach each other: their port is not let through, "
        "or they use the wrong interface (SLURM_PMIX_DIRECT_CONN, the nodes' addresses)"),
    ADVISE(
        "srun: error: Task launch for %s failed on node %s%{Job credential expired}", SLURM,
        "20-25", LAUNCHER, LOG_LAUNCHER, 0,
        "Slurm could not start the processes on that node: when the node read the job's "
        "credential, it had expired. The clocks of the nodes differ, or its slurmd was very late",
        NULL, "compare the clock of that node with the controller's (chronyc tracking)."),
    ADVISE("srun: error: Task launch for %s failed on node %s%{Invalid job credential}", SLURM,
           "20-25", LAUNCHER, LOG_LAUNCHER, 0,
           "Slurm could not start the processes on that node: it does not accept the job's "
           "credential. Its munge key, its clock or its slurm.conf differs from the controller's",
           NULL, "compare munge key, clock and slurm.conf of that node with the controller's."),
    BECAUSE(
        "srun: error: Task launch for %s failed on node %s", SLURM, "20-25", LAUNCHER, LOG_LAUNCHER,
        0,
        "Slurm could not start the processes on the node that the line names: its slurmd does not "
        "answer, or refused them"),
    BECAUSE(
        "One or more tensors were submitted to be reduced", HOROVOD, "0.15-0.28", RUNNING,
        LOG_COLLECTIVE, IN_ORDER,
        "some ranks wait for tensors that others have not submitted for more than a minute: those "
        "run other code, are much slower, or stand still. The lines after it name the ranks"),
    BECAUSE(
        "Barrier timed out", JAX, "0.4-0.7", STORE, LOG_RANKS_MISSING, 0,
        "JAX's coordination service waited in vain for processes, which the lines name: they did "
        "not start, ended, or do not reach it"),
    BECAUSE(
        "heartbeat timeout. This indicates that the remote task", JAX, "0.4-0.7", RUNNING, LOG_LEFT,
        0,
        "a process of the JAX job ended or stood still, so that its heartbeat stopped; the line "
        "names it, and its own log says why"),
    /* xla/service/rendezvous.cc: it waits on, and says so after ten seconds */
    BECAUSE(
        "threads to join the rendezvous, but not all of them arrived", JAX, "0.4-0.7", NETWORK,
        LOG_TIMEOUT, IN_ORDER,
        "XLA's threads wait for each other: usually one of them stands in NCCL, whose own lines "
        "(NCCL_DEBUG=INFO) say where"),
    BECAUSE(
        "GetKeyValue() timed out", JAX, "0.4-0.7", STORE, LOG_RENDEZVOUS, 0,
        "JAX's coordination service has no answer of another process: that did not start, ended, "
        "or is elsewhere in its program"),
    BECAUSE(": task %d launch failed", SLURM, "20-25", LAUNCHER, LOG_LAUNCHER, 0,
            "Slurm could not start the processes: the line, or the log of slurmd on the node, says "
            "why; "
            "with a container often because it lacks what --mpi asks for"),
    BECAUSE("pyxis: container start failed", SLURM, "pyxis 0.11-0.20", LAUNCHER, LOG_LAUNCHER, 0,
            "the job's container did not start on a node: the lines of enroot below it say why"),
    BECAUSE("MPI_ABORT was invoked on rank %d", MPI, "Open MPI 1.6-5.0", RUNNING, LOG_LEFT, FOLLOWS,
            "the program of this rank gave up and ended all (MPI_Abort): its last lines before "
            "this one "
            "say why"),
    BECAUSE("MPI_INIT has failed because", MPI, "1.4-4.1", ANY, LOG_LIBRARY, FOLLOWS,
            "MPI could not begin; the lines before this one say why"),
    BECAUSE("An error occurred in MPI_Init", MPI, "1.4-5.0", ANY, LOG_LIBRARY, FOLLOWS,
            "MPI could not begin; the lines before this one say why"),
    /* the proxy's own WARN stands before it, or in the log of the rank that it names */
    BECAUSE("Proxy Call to rank %d failed", NCCL, "2.12.7-2.17", NETWORK, LOG_FAILED, FOLLOWS,
            "the proxy thread of a rank on this node could not do its part; its own lines say why"),
    FAULT("NCCL error in: %s", TORCH, "1.8-2.9", ANY, LOG_FAILED, FOLLOWS),
    FAULT("unhandled system error", NCCL, ALL, ANY, LOG_FAILED, FOLLOWS),
    FAULT("Test NCCL failure ", TESTS, "2.0-2.17", ANY, LOG_FAILED, FOLLOWS),
    FAULT("nccl%{SystemError: |RemoteError: |InternalError: |CudaError: |InvalidUsage: }", TORCH,
          "1.8-2.9", ANY, LOG_FAILED, FOLLOWS),
    FAULT("x across cluster]", RAY, "2.3-2.50", ANY, LOG_LINES_LOST, 0),
    /* ---- words of errors that no row above knows ---- */
    WORDS("Error: ", 0), /* RuntimeError: */
    WORDS("error: ", WORD),
    WORDS("ERROR", WORD),
    WORDS("FATAL", WORD),
    WORDS("Fatal: ", WORD),
    WORDS("fatal: ", WORD),
    WORDS("Fatal error", WORD),
    WORDS("fatal error", WORD),
    WORDS("panic: ", WORD),
    WORDS("CRITICAL", WORD),
    WORDS("Assertion ", 0),
    WORDS("command not found", 0),
    WORDS(": not found", WEAK),
    WORDS("ailed to ", WEAK),
    WORDS("ould not ", WEAK),
    WORDS("No such file or directory", WEAK),
    WORDS("Permission denied", WEAK),
};
const unsigned ni_patterns_count = NI_COUNT(ni_patterns);

bool ni_log_is_consequence(struct ni_span text)
{
    static const char *const words[] = {
        "NCCL error",           /* torch, cupy, vLLM */
        "NCCL Error",           /* torch to 2.2 */
        "ncclRemoteError",      /* torch quotes it */
        "ncclSystemError",      /* likewise */
        "ncclInternalError",    /* likewise */
        "ncclInvalidUsage",     /* likewise */
        "ncclUnhandledCudaErr", /* likewise */
        "DistBackendError",     /* torch 2.1 and later */
        "DistNetworkError",     /* torch 2.2 and later: the store is gone */
        "DistStoreError",       /* the store's time-out is a fault of its own */
        "store->get(",          /* torch */
        "failed to recv",       /* torch's store */
        "Failed to recv",       /* torch 2.11 */
        "Connection reset by peer",
        "Connection closed by peer", /* Gloo */
        "Broken pipe",
        "Watchdog caught collective",
        "Error: Socket Timeout",             /* torch's store */
        "Engine core initialization failed", /* vLLM: the root cause stands above */
        "EngineDeadError",
        "EngineCore encountered",
        "WorkerProc initialization failed",
        "CalledProcessError", /* a launcher: its process failed */
        "SystemExit",
        "failed or timed out",    /* torch: "Some NCCL operations have ..." */
        "ProcessRaisedException", /* torch.multiprocessing: the real one comes after it */
        "ChildFailedError",       /* torchrun */
        "SignalException",        /* torchrun */
        "remote process exited or there was a network error", /* ncclGetErrorString, 2.11 and later */
        "unhandled system error",                             /* likewise */
        "unhandled cuda error",                               /* likewise */
        "RayActorError",                                      /* Ray: raylet says why */
        "ActorDiedError",                                     /* likewise */
        "Rendezvous", /* torchrun: RendezvousConnectionError and others */
        "KeyboardInterrupt",
    };

    for (size_t i = 0; i < NI_COUNT(words); i++)
        if (memmem(text.p, text.n, words[i], strlen(words[i])))
            return true;
    return false;
}

/* The place of a word in a line: no word begins between `from` and `at`. */
struct next {
    const char *from, *at;
};

/* Returns the first place of the word at p or later; the end: there is none. *next keeps the last
   answer, which holds for each p from the begin of that search to the place found. So a line costs
   a step for each of its bytes and words, however often a pattern begins in it. */
static const char *find_word(struct next *next, struct ni_span word, const char *p, const char *end)
{
    if (!next->from || p < next->from || p > next->at) {
        const char *at = memmem(p, (size_t)(end - p), word.p, word.n);

        *next = (struct next){p, at ? at : end};
    }
    return next->at;
}

/* Returns the end of the first word that stands at p or later, of the words before '}', which '|'
   divides; NULL. */
static const char *find_any(const char *words, struct next *next, const char *p, const char *end)
{
    for (;;) {
        const size_t n = strcspn(words, "|}");
        const char *at = find_word(next, (struct ni_span){words, n}, p, end);

        if (at < end)
            return at + n;
        if (words[n] == '}')
            return NULL;
        words += n + 1;
        next++;
    }
}

/* Returns true if c continues the text that %s, %d, %x or %r has matched so far. */
static bool goes_on(char kind, char c)
{
    switch (kind) {
    case 's':
        return c != ' ' && c != '\t';
    case 'x':
        return ni_hex_digit(c) >= 0;
    case 'd':
        return ni_is_digit(c);
    default:
        return true;
    }
}

/* Matches %s, %d, %x or %r, at most NI_PATTERN_FAR bytes. Their end, or NULL. */
static const char *match_word(char kind, const char *p, const char *end, struct ni_span *ret)
{
    const char *from = p;

    if (end - p > NI_PATTERN_FAR)
        end = p + NI_PATTERN_FAR;
    if (kind == 'd' && p < end && *p == '-')
        p++;
    if (kind == 'x' && end - p > 2 && p[0] == '0' && p[1] == 'x')
        p += 2;
    while (p < end && goes_on(kind, *p))
        p++;
    *ret = (struct ni_span){from, (size_t)(p - from)};
    return p > from ? p : NULL;
}

/* The places of all words in a line; most lines need none. */
struct places {
    bool cleared;
    struct next of[NI_PATTERN_WORDS];
};

static void forget_places(struct places *places)
{
    memset(places->of, 0, sizeof(places->of));
    places->cleared = true;
}

/* Returns true if p to end begins with the pattern; `word` is the number of the first between its
   braces. */
static bool fits(const char *text, unsigned word, struct places *places, const char *p,
                 const char *end, struct ni_span *capture)
{
    while (p) {
        const size_t len = strcspn(text, "%"); /* the length of the literal in front */

        if ((size_t)(end - p) < len || memcmp(p, text, len) != 0)
            return false;
        p += len;
        text += len;
        if (*text == '\0')
            return true;
        const char kind = text[1];
        text += 2;
        if (kind == '{') {
            if (!places->cleared)
                forget_places(places);
            p = find_any(text, &places->of[word], p, end);
            for (word++; *text != '}'; text++)
                word += *text == '|';
            text++;
        } else {
            p = match_word(kind, p, end, capture);
            capture++;
        }
    }
    return false;
}

/* Returns true if the character can be a part of a name, or joins a name and its value. */
static bool is_of_name(char c)
{
    return ni_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '=';
}

/* Returns true if nothing of a name stands beside the row's first words, which fit at p in the line
   from `from` to `end`; true for a row that may be a part of a word. */
static bool is_apart(const struct ni_pattern *row, const char *from, const char *p, const char *end)
{
    const size_t n = strcspn(row->text, "%");

    if ((row->flags & WORD) == 0)
        return true;
    if (p > from && is_of_name(p[-1]))
        return false;
    return !is_of_name(p[n - 1]) || p + n == end || !is_of_name(p[n]);
}

/* The index of the patterns by their first four bytes: a line costs one step for each byte, however
   many patterns there are. */
enum { KEY = 4, SLOTS = 1 << 13 };

static struct {
    bool made;
    uint16_t first[SLOTS], next[NI_COUNT(ni_patterns) + 1]; /* rows + 1; 0: none */
    /* by row: the number of its first word between braces */
    uint8_t word[NI_COUNT(ni_patterns)];
} table;

static unsigned pattern_slot(const char *p)
{
    uint32_t key;

    memcpy(&key, p, KEY);
    return key * 2654435761U >> 19;
}

static void make_table(void)
{
    unsigned word = 0;

    for (unsigned row = 0; row < ni_patterns_count; row++) {
        table.word[row] = (uint8_t)word;
        for (const char *p = ni_patterns[row].text; *p; p++)
            word += *p == '{' || *p == '|';
    }
    /* backwards, so that the first row is found first */
    for (unsigned row = ni_patterns_count; row > 0; row--) {
        uint16_t *slot = &table.first[pattern_slot(ni_patterns[row - 1].text)];

        table.next[row] = *slot;
        *slot = (uint16_t)row;
    }
    table.made = true;
}

unsigned ni_patterns_find(const char *p, const char *end, struct ni_found found[], unsigned max)
{
    struct places places;
    const char *const from = p;
    unsigned n = 0;
    bool error = false; /* the first row of that kind is enough */

    places.cleared = false;
    if (!table.made)
        make_table();
    for (; end - p >= KEY && n < max; p++) {
        unsigned row = table.first[pattern_slot(p)];

        while (row != 0 && !(fits(ni_patterns[row - 1].text, table.word[row - 1], &places, p, end,
                                  found[n].capture) &&
                             is_apart(&ni_patterns[row - 1], from, p, end)))
            row = table.next[row];
        const bool again = row != 0 && error && ni_patterns[row - 1].take == NI_TAKE_ERROR;

        if (row == 0 || again)
            continue;
        error |= ni_patterns[row - 1].take == NI_TAKE_ERROR;
        found[n].row = &ni_patterns[row - 1];
        found[n++].at = p;
    }
    return n;
}
