/* SPDX-License-Identifier: Apache-2.0 */
/* Meanings: words of exceptions and errors of Python, torch, CUDA and the C library, their cause and
   who can correct it. */
#include "log/meaning.h"

#include <string.h>

#include "findings/device.h"
#include "findings/log.h"
#include "findings/pod.h"
#include "log/patterns.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/text.h"

static const char no_program[] =
    "a program that the job's start needs is not in the image, or not in its PATH";
static const char install[] = "install it in the image, or correct PATH.";
static const char unwritten[] =
    "torch could not write a file: usually no space is left on the disk, or in its quota";
static const char make_room[] = "make room, or write to another disk; see `df -h` and the quota.";
static const char no_memory[] = "the process got no more memory of the host (not of the GPU)";
static const char less_memory[] =
    "ask for more memory (Slurm: --mem; Kubernetes: resources.limits.memory), or use less: fewer "
    "workers of the DataLoader, a smaller batch, no copy of the data in each process.";
static const char too_few_processes[] =
    "the process could not start another thread or process: the limit of processes (ulimit -u, the "
    "pod's pids) is reached";
static const char fewer_threads[] = "use fewer workers, and set OMP_NUM_THREADS to a small number.";
static const char more_processes[] =
    "raise the limit of processes of pods (kubelet: podPidsLimit).";
static const char no_gpu[] = "the process sees no GPU: the pod or the task was given none, "
                             "CUDA_VISIBLE_DEVICES is empty, or torch was built without CUDA";
static const char give_gpu[] =
    "request GPUs for the pod or the task; compare `nvidia-smi -L` with CUDA_VISIBLE_DEVICES.";
static const char few_gpus[] =
    "a process asks for a GPU that it does not see: more local ranks than visible GPUs";
static const char as_many_gpus[] =
    "start as many processes on a node as it has visible GPUs, and let each use its LOCAL_RANK. "
    "Look at CUDA_VISIBLE_DEVICES and `nvidia-smi -L` in the process; Slurm's --gpus-per-task=1 "
    "shows each task only one GPU, number 0: use --gpus-per-node.";
static const char gpu_memory[] = "the GPU has too little memory left for this";
static const char less_gpu_memory[] =
    "look which processes use that GPU (nvidia-smi); then a smaller batch, more sharding, or "
    "checkpoints of activations.";
static const char full_shm[] =
    "a process of the DataLoader found no room in /dev/shm, where it hands over its data";
static const char more_shm[] =
    "mount an emptyDir with `medium: Memory` at /dev/shm (docker: --shm-size=16g); or use fewer "
    "workers.";
static const char no_internet[] =
    "the process could not reach a server on the internet, to load a model or data";
static const char offline[] =
    "load the files before the job, and set HF_HUB_OFFLINE=1; or give the pod a proxy "
    "(HTTPS_PROXY).";
static const char no_server[] =
    "the process did not reach the HTTP server that the line names: it does not run, its name or "
    "port is wrong, or the pod has no way to it";
static const char look_at_server[] =
    "if it is a server of the job or the cluster, look whether it runs, and at its own log. If it "
    "is one on the internet, load the files before the job, and set HF_HUB_OFFLINE=1, or give the "
    "pod a proxy (HTTP_PROXY, HTTPS_PROXY).";
static const char many_mappings[] =
    "the process got no further mapping of memory: often it has as many as vm.max_map_count "
    "allows, because the DataLoader hands over very many small tensors; or the file is larger than "
    "the memory that it may have";
static const char fewer_mappings[] =
    "call torch.multiprocessing.set_sharing_strategy('file_system'), or hand over few large "
    "tensors, with fewer workers. For a file of weights ask for more memory.";
static const char more_mappings[] = "raise vm.max_map_count on the node.";
static const char no_file[] =
    "a file or a folder that the program needs is not there, on this node: the path is wrong, or "
    "its volume is not mounted in this pod";
static const char check_path[] =
    "look for the path that the line names, in this pod and on this node (`ls -ld`, `findmnt`).";
static const char wrong_owner[] =
    "the process may not use the path that the line names: it belongs to another user, or is "
    "mounted read-only for this one";
static const char other_path[] =
    "compare `id` with `ls -ld` of that path: another user's run may have made it. Take another "
    "output path, or let its owner open it.";
static const char broken_storage[] =
    "the storage under the file failed (I/O error): a disk, or a network file system";
static const char unused[] =
    "DDP waits for gradients of parameters that took no part in the loss: an error of the "
    "program, not of the cluster";
static const char use_all[] =
    "the program's author lets all parameters take part in the loss on each rank, or sets "
    "find_unused_parameters=True; TORCH_DISTRIBUTED_DEBUG=DETAIL names them.";
static const char own_error[] =
    "this is an error of the program itself, its arguments or its data, not of NCCL or the "
    "network";
static const char own_advice[] =
    "read the traceback above that line: its last file is the place. This is an error of the "
    "program, its arguments or its data; the other ranks' errors follow from it.";
static const char other_listens[] =
    "the port is in use on this host: another job, or an earlier start of this one, still "
    "listens";
static const char who_listens[] =
    "find who holds the port (`ss -ltnp` on that host), and end it or take another port "
    "(MASTER_PORT, --master_port), outside net.ipv4.ip_local_port_range.";
static const char ask_rank_0[] =
    "look in rank 0's log whether it runs and still waits; then check MASTER_ADDR and MASTER_PORT.";
static const char crashed_worker[] =
    "a process of the DataLoader crashed, in a library or in the data set's own code";
static const char by_hand[] =
    "run it with num_workers=0, so that the error appears in the main process.";
static const char state_differs[] =
    "the checkpoint does not fit the model: other layers, sizes or names";

#define OWN(its_words)                                                               \
    {                                                                                \
        .words = (its_words), .cause = own_error, .user = own_advice, .is_own = true \
    }

static const struct ni_log_meaning meanings[] = {
    /* ---- libraries that do not fit each other ---- */
    {"undefined symbol: nccl",
     "the program found an older NCCL than it was built for: another libnccl stands before the "
     "right one (LD_LIBRARY_PATH, LD_PRELOAD)",
     "see which libnccl.so.2 is found (`ldd` on that library) and which packages bring one (`pip "
     "list | grep nccl`); keep the newer one.",
     NULL, NI_F_NONE, false},
    {"undefined symbol: ",
     "a library was built for another version of one that it needs, such as torch or CUDA",
     "install versions that belong together, or build that library anew.", NULL, NI_F_NONE, false},
    {"libcuda.so.1: cannot open shared",
     "the container has no libcuda: it was started without the NVIDIA runtime, or without a GPU",
     "request GPUs for the pod (docker: --gpus all).", NULL, NI_F_NONE, false},
    {"cannot open shared object file",
     "a library that the program needs is not in the image, or not in LD_LIBRARY_PATH", install,
     NULL, NI_F_NONE, false},
    {"' not found (required by",
     "a program was built for newer libraries (libc, libstdc++) than the image has",
     "take an image of a newer system, or build it there.", NULL, NI_F_NONE, false},
    {"command not found", no_program, install, NULL, NI_F_NONE, false},
    /* ---- GPUs ---- */
    {"ProcessGroupNCCL is only supported with GPUs, no GPUs found", no_gpu, give_gpu, NULL,
     NI_F_NONE, false},
    {"No CUDA GPUs are available", no_gpu, give_gpu, NULL, NI_F_GPU_NODE_MISSING, false},
    {"Torch not compiled with CUDA enabled",
     "torch was built without CUDA: pip or conda chose its version for the CPU",
     "install torch for CUDA.", NULL, NI_F_NONE, false},
    {"Found no NVIDIA driver on your system",
     "the container has no NVIDIA driver: it was started without the NVIDIA runtime, or the node "
     "has none",
     "request GPUs for the pod (docker: --gpus all).", NULL, NI_F_GPU_NODE_MISSING, false},
    {"The NVIDIA driver on your system is too old",
     "the node's driver is older than the image's CUDA", "take an image whose CUDA fits.",
     "or install a newer driver.", NI_F_LOG_CUDA_IMAGE, false},
    {"but torch.cuda.device_count() is", few_gpus, as_many_gpus, NULL, NI_F_LOG_CUDA_DEVICE, false},
    {"invalid device ordinal", few_gpus, as_many_gpus, NULL, NI_F_LOG_CUDA_DEVICE, false},
    {"CUDA out of memory", gpu_memory, less_gpu_memory, NULL, NI_F_LOG_CUDA_MEMORY, false},
    {"HIP out of memory", gpu_memory, less_gpu_memory, NULL, NI_F_LOG_CUDA_MEMORY, false},
    {"CUBLAS_STATUS_ALLOC_FAILED", gpu_memory, less_gpu_memory, NULL, NI_F_LOG_CUDA_MEMORY, false},
    {"No available memory for the cache blocks", gpu_memory,
     "raise vLLM's --gpu-memory-utilization, or lower --max-model-len.", NULL, NI_F_LOG_CUDA_MEMORY,
     false},
    {"less than desired GPU memory utilization", gpu_memory,
     "end what else uses that GPU (nvidia-smi), or lower --gpu-memory-utilization.", NULL,
     NI_F_LOG_CUDA_MEMORY, false},
    {"Cannot re-initialize CUDA in forked subprocess",
     "the program began CUDA before it forked its processes, which CUDA does not allow",
     "the program's author uses the start method spawn, and touches CUDA only in the processes.",
     NULL, NI_F_NONE, false},
    {"CUBLAS_STATUS_",
     "a library of CUDA failed: often an earlier error of a kernel, or too little GPU memory",
     "run it with CUDA_LAUNCH_BLOCKING=1; look at nvidia-smi.", NULL, NI_F_NONE, false},
    {"CUDNN_STATUS_",
     "a library of CUDA failed: often an earlier error of a kernel, or too little GPU memory",
     "run it with CUDA_LAUNCH_BLOCKING=1; look at nvidia-smi.", NULL, NI_F_NONE, false},
    /* ---- the store and its port: torch/csrc/distributed/c10d/socket.cpp ---- */
    {"errno: 111 - Connection refused",
     "nobody listens at rank 0's port: its store has not started, has ended, or is elsewhere",
     ask_rank_0, NULL, NI_F_NONE, false},
    {"errno: 113 - No route to host",
     "rank 0's port is not let through: a NetworkPolicy or firewall, or an address that is no "
     "longer that pod's",
     NULL, "check the firewall of rank 0's host, NetworkPolicies and routes.", NI_F_NONE, false},
    {"errno: 110 - Connection timed out",
     "rank 0's host does not answer: its address is wrong, or a NetworkPolicy or firewall throws "
     "the packets away",
     "check MASTER_ADDR.", "check the firewall of rank 0's host, NetworkPolicies and routes.",
     NI_F_NONE, false},
    {"connect() timed out",
     "rank 0's store did not answer: rank 0 has not started, has ended, or cannot be reached",
     ask_rank_0, NULL, NI_F_NONE, false},
    {"ddress already in use", other_listens, who_listens, NULL, NI_F_LOG_PORT, false},
    {"Cannot assign requested address",
     "the address does not belong to this host: MASTER_ADDR, or the address to listen at, is "
     "another host's",
     "start rank 0 on the host that MASTER_ADDR names.", NULL, NI_F_NONE, false},
    {" expected, but not set",
     "the program was not started by a launcher that tells each process its rank (torchrun, srun, "
     "an operator)",
     "start it by torchrun, or set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT.", NULL, NI_F_NONE,
     false},
    {"Default process group has not been initialized",
     "the program used torch.distributed before init_process_group",
     "start it by its launcher (torchrun), or call init_process_group first.", NULL, NI_F_NONE,
     false},
    {"trying to initialize the default process group twice",
     "the program calls init_process_group twice", own_advice, NULL, NI_F_NONE, false},
    /* ---- the program's use of torch.distributed ---- */
    {"DDP expects same model across all ranks",
     "the ranks hold different models; or, if each rank blames another one, the exchange between "
     "the GPUs is broken: try NCCL_P2P_DISABLE=1",
     NULL, NULL, NI_F_NONE, false},
    {"Expected to have finished reduction in the prior", unused, use_all, NULL, NI_F_NONE, false},
    {"Expected to mark a variable ready only once",
     "DDP got two gradients of one parameter: it is used twice, often together with checkpoints "
     "of activations",
     "the program's author calls gradient checkpointing with use_reentrant=False, or DDP with "
     "static_graph=True.",
     NULL, NI_F_NONE, false},
    {"parameters that were not used in producing loss", unused, use_all, NULL, NI_F_NONE, false},
    OWN("Tensors must be contiguous"),
    {"No backend type associated with device type cpu",
     "a tensor on the CPU went into a collective of NCCL, which takes tensors on GPUs only",
     "the program's author moves it to the GPU, or makes the group with backend "
     "cpu:gloo,cuda:nccl.",
     NULL, NI_F_NONE, false},
    {"Tensors must be CUDA and dense",
     "a tensor on the CPU went into a collective of NCCL, which takes tensors on GPUs only",
     "the program's author moves it to the GPU, or makes the group with backend "
     "cpu:gloo,cuda:nccl.",
     NULL, NI_F_NONE, false},
    {"doesn't have NCCL built in", "this torch has no NCCL", "install torch for CUDA.", NULL,
     NI_F_NONE, false},
    {"Distributed package doesn't have", "this torch was built without that backend",
     "install torch with it, or choose another backend.", NULL, NI_F_NONE, false},
    {"No module named 'mpi4py'",
     "the launcher gave the program no rank, so DeepSpeed asks MPI through mpi4py, which is not "
     "installed",
     "start it by the launcher `deepspeed` or torchrun; with mpirun install mpi4py.", NULL,
     NI_F_NONE, false},
    /* ---- the DataLoader: torch/utils/data ---- */
    {"is killed by signal: Killed",
     "a process of the DataLoader was killed (signal 9): usually by the kernel, because the "
     "container's or the job's memory was used up",
     less_memory, NULL, NI_F_LOG_MEMORY, false},
    {"is killed by signal: Bus error", full_shm, more_shm, NULL, NI_F_SHM_DEFAULT, false},
    {"insufficient shared memory (shm)", full_shm, more_shm, NULL, NI_F_SHM_DEFAULT, false},
    /* aten/src/ATen/MapAllocator.cpp: errno 12 of mmap, and what fallocate in /dev/shm returns */
    {"unable to mmap", many_mappings, fewer_mappings, more_mappings, NI_F_NONE, false},
    {"unable to allocate shared memory(shm)", full_shm, more_shm, NULL, NI_F_SHM_DEFAULT, false},
    {"unable to write to file </torch_", full_shm, more_shm, NULL, NI_F_SHM_DEFAULT, false},
    {"DataLoader worker (pid", crashed_worker, by_hand, NULL, NI_F_NONE, false},
    {"received 0 items of ancdata",
     "the DataLoader hands its data over through open files, and the process has too many of them",
     "raise `ulimit -n`, or call torch.multiprocessing.set_sharing_strategy('file_system').", NULL,
     NI_F_LOG_FILES, false},
    {"unable to open shared memory object",
     "a process of the DataLoader could not open the shared memory of another one: the other has "
     "ended, or too many files are open",
     "look for the error of the process that ended first; else raise `ulimit -n`.", NULL, NI_F_NONE,
     false},
    {"Pin memory thread exited", crashed_worker, by_hand, NULL, NI_F_NONE, false},
    /* ---- memory, processes and files: errno(3) ---- */
    {"std::bad_alloc", no_memory, less_memory, NULL, NI_F_LOG_MEMORY, false},
    {"DefaultCPUAllocator: ", no_memory, less_memory, NULL, NI_F_LOG_MEMORY, false},
    /* torch's and CuPy's OutOfMemoryError is about the GPU, Ray's and Python's own are not */
    {"OutOfMemoryError: Task was killed", no_memory, less_memory, NULL, NI_F_LOG_MEMORY, false},
    {"OutOfMemoryError", gpu_memory, less_gpu_memory, NULL, NI_F_LOG_CUDA_MEMORY, false},
    {"MemoryError", no_memory, less_memory, NULL, NI_F_LOG_MEMORY, false},
    {"[Errno 12]", no_memory, less_memory, NULL, NI_F_LOG_MEMORY, false},
    {"zmq.error.Again", "a process waited in vain for another one of the same program (ZeroMQ)",
     "look for the process that ended or stands still: its log has the first error.", NULL,
     NI_F_NONE, false},
    /* HDF5, H5FDsec2.c: another process has the file open, or its file system has no locks */
    {"unable to lock file, errno = ",
     "another process holds the lock of this HDF5 file, or its file system gives no locks",
     "let one process write the file and open it read-only in the others; HDF5_USE_FILE_LOCKING="
     "FALSE goes without locks, which is safe only if nobody writes.",
     NULL, NI_F_NONE, false},
    {"can't start new thread", too_few_processes, fewer_threads, more_processes, NI_F_NONE, false},
    {"pthread_create failed", too_few_processes, fewer_threads, more_processes, NI_F_NONE, false},
    {"fork: retry: ", too_few_processes, fewer_threads, more_processes, NI_F_NONE, false},
    {"fork: Resource temporarily", too_few_processes, fewer_threads, more_processes, NI_F_NONE,
     false},
    {"Resource temporarily unavailable",
     "a call would have had to wait (EAGAIN): the limit of processes (ulimit -u, the pod's pids) "
     "is reached, or another one holds a lock",
     "the traceback above the line shows which call it was: one that starts a process, or one that "
     "locks a file.",
     NULL, NI_F_NONE, false},
    {"Too many open files", "the process has reached its limit of open files",
     "raise it in the program's start (`ulimit -n`).",
     "raise the limit of the runtime (LimitNOFILE).", NI_F_LOG_FILES, false},
    {"basic_ios::clear: iostream error", unwritten, make_room, NULL, NI_F_NONE, false},
    {"PytorchStreamWriter failed writing file", unwritten, make_room, NULL, NI_F_NONE, false},
    /* caffe2/serialize/inline_container.cc: the archive is shorter than what was written */
    {". unexpected pos ", unwritten, make_room, NULL, NI_F_NONE, false},
    {"PytorchStreamReader failed",
     "a checkpoint is damaged or incomplete: the run that wrote it was ended, or its disk was full",
     "take an earlier checkpoint.", NULL, NI_F_NONE, false},
    {"HeaderTooSmall", "a file of weights is damaged or incomplete",
     "load it anew; with Git LFS it may be only a pointer.", NULL, NI_F_NONE, false},
    {"Stale file handle",
     "a file on a shared volume (NFS) was removed or replaced under the process: another node's "
     "process of the same job, or the export itself",
     "put caches that each process writes on the node's own disk: TRITON_CACHE_DIR, "
     "TORCHINDUCTOR_CACHE_DIR, HF_HOME, XDG_CACHE_HOME, TMPDIR.",
     "if no process removed it: see whether the export was changed or restarted.", NI_F_NONE,
     false},
    {"No space left on device", "a disk is full, or its inodes, or /dev/shm: the line may name it",
     "look at `df -h` and `df -i` in that pod, /tmp and /dev/shm too; write elsewhere.", NULL,
     NI_F_NONE, false},
    {"Disk quota exceeded", "the user's or the project's quota on that file system is used up",
     "make room there, or write elsewhere; `quota -s` or `lfs quota` tells.", NULL, NI_F_NONE,
     false},
    {"Read-only file system",
     "the path is on a file system that is mounted read-only: the image's own, a ConfigMap, or a "
     "disk that failed",
     "write to a volume that is mounted for writing.",
     "if it should be writable: look for I/O errors in the node's kernel log.", NI_F_NONE, false},
    {"[Errno 5]", broken_storage, "start the job again with its data elsewhere.",
     "look at the storage and at the node's kernel log.", NI_F_NONE, false},
    {"Input/output error", broken_storage, "start the job again with its data elsewhere.",
     "look at the storage and at the node's kernel log.", NI_F_NONE, false},
    {"Remote I/O error", broken_storage, "start the job again with its data elsewhere.",
     "look at the storage and at the node's kernel log.", NI_F_NONE, false},
    {"Transport endpoint is not connected",
     "the other end is gone: if the line names a path, the mount of a network or FUSE file system "
     "is dead; else a connection was lost",
     "for a path start the pod again, so that it is mounted anew; else look for the process that "
     "ended first.",
     "for a path look at the mount's own process (FUSE, CSI driver) on that node.", NI_F_NONE,
     false},
    {"Device or resource busy",
     "a file or a device is in use by another process; on NFS a removed file stays as .nfs*",
     "end the process that uses it, or take a folder of its own for each process.", NULL, NI_F_NONE,
     false},
    {"File exists",
     "several processes make the same file or folder at once, or an earlier run left it",
     "let one process make it (exist_ok=True), or remove what an earlier run left.", NULL,
     NI_F_NONE, false},
    {"Exec format error", "the program was built for another processor (amd64, arm64)",
     "take an image for the node's processor.", NULL, NI_F_NONE, false},
    {"CERTIFICATE_VERIFY_FAILED",
     "the process does not trust the certificate of the server that the line names: often a proxy "
     "of the site shows its own",
     "put the site's certificate into the image, and name it in SSL_CERT_FILE and "
     "REQUESTS_CA_BUNDLE; look at the clock, too.",
     NULL, NI_F_NONE, false},
    {"HTTPSConnectionPool(host='huggingface.co'", no_internet, offline, NULL, NI_F_NONE, false},
    {"HTTPConnectionPool", no_server, look_at_server, NULL, NI_F_NONE, false},
    {"HTTPSConnectionPool", no_server, look_at_server, NULL, NI_F_NONE, false},
    {"We couldn't connect to '", no_internet, offline, NULL, NI_F_NONE, false},
    {"MaxRetryError", no_server, look_at_server, NULL, NI_F_NONE, false},
    {"LocalEntryNotFoundError", no_internet, offline, NULL, NI_F_NONE, false},
    {"GatedRepoError", "the model or data set may be loaded only by those whom its owner allows",
     "ask for access on its page, and set HF_TOKEN.", NULL, NI_F_NONE, false},
    {"PermissionError", wrong_owner, other_path, NULL, NI_F_NONE, false},
    {"Operation not permitted",
     "the process lacks a right for this: a capability of the pod, a seccomp profile, or an owner",
     "look at what the line names, at the pod's securityContext and at `id`.", NULL, NI_F_NONE,
     false},
    {"FileNotFoundError", no_file, check_path, NULL, NI_F_NONE, false},
    {"[Errno 2] No such file", no_file, check_path, NULL, NI_F_NONE, false},
    {"NotADirectoryError", no_file, check_path, NULL, NI_F_NONE, false},
    OWN("IsADirectoryError"),
    {"ConnectionRefusedError",
     "nobody listens at the address to which the process connected: that server has not started, "
     "or has ended",
     "the traceback above the line shows which server it is; look whether that one runs.", NULL,
     NI_F_NONE, false},
    /* ---- NIXL, Ray ---- */
    {"NIXL_ERR_REMOTE_DISCONNECT",
     "NIXL lost the other process: that has ended, or the network between them broke",
     "find in the other process's own log why it ended.", NULL, NI_F_NONE, false},
    {"NIXL_ERR_BACKEND",
     "NIXL's backend, usually UCX, failed; its own lines before this one may say why",
     "set UCX_LOG_LEVEL=info: UCX's lines name the device.", NULL, NI_F_NONE, false},
    {"Failed to connect to GCS",
     "Ray's head was not reached: it has not started, its address is wrong, or its port is not "
     "let through",
     "look whether `ray start --head` runs and at which address; --address must be that one.", NULL,
     NI_F_NONE, false},
    /* ---- the program itself ---- */
    {"size mismatch for ", state_differs, "take the checkpoint of this model and its options.",
     NULL, NI_F_NONE, false},
    {"loading state_dict for", state_differs, "take the checkpoint of this model and its options.",
     NULL, NI_F_NONE, false},
    {"ModuleNotFoundError", "a Python module that the program needs is not in this environment",
     "install it in the image, and look whether this node has the same environment (`which "
     "python`).",
     NULL, NI_F_NONE, false},
    {"ImportError",
     "a Python module lacks what the program imports from it: the versions do not fit",
     "install versions that belong together, the same ones on each node.", NULL, NI_F_NONE, false},
    {"JSONDecodeError", "a file or an answer is empty or no JSON: damaged, or still being written",
     "look at the file; with several processes only one may write it.", NULL, NI_F_NONE, false},
    OWN("AssertionError"),
    OWN("AttributeError"),
    OWN("TypeError"),
    OWN("KeyError"),
    OWN("IndexError"),
    OWN("NameError"),
    OWN("UnboundLocalError"),
    OWN("SyntaxError"),
    OWN("NotImplementedError"),
    OWN("ZeroDivisionError"),
    OWN("UnicodeDecodeError"),
    OWN("OmegaConf"),
    {"unrecognized arguments: ", own_error,
     "correct the program's arguments: this version does not know that one.", NULL, NI_F_NONE,
     false},
    {"required: -", own_error, "give the program the arguments that the line names.", NULL,
     NI_F_NONE, false},
    {"rror: Permission denied", wrong_owner, other_path, NULL, NI_F_NONE, false},
    {"Permission denied: ", wrong_owner, other_path, NULL, NI_F_NONE, false},
    {": not found", no_program, install, NULL, NI_F_NONE, false},
};

/* Returns the row of the code of CUDA in a text: "CUDA error: ", "Error 803: "; NULL: it has
   none. */
static const struct ni_pattern *code_of(const char *text)
{
    const bool error = strstr(text, "rror") && strcasestr(text, "cuda");

    return error ? ni_log_cuda(ni_span_of(text)) : NULL;
}

struct ni_log_meaning ni_log_meaning(const char *text)
{
    for (size_t i = 0; i < NI_COUNT(meanings); i++)
        if (strstr(text, meanings[i].words))
            return meanings[i];
    const struct ni_pattern *code = code_of(text);

    if (!code)
        return (struct ni_log_meaning){0};
    const struct ni_finding_kind *kind = ni_finding_kind(code->id);
    const bool own = code->user || code->admin;

    return (struct ni_log_meaning){
        .words = "",
        .cause = code->cause ? code->cause : ni_log_cause[code->id],
        .user = own ? code->user : kind->user,
        .admin = own ? code->admin : kind->admin,
        .about = code->id,
    };
}

ni_finding_number ni_log_exception_id(const char *exception)
{
    const struct ni_pattern *code = code_of(exception);

    return code && code->id == NI_F_LOG_GPU_FAILED ? code->id : NI_F_LOG_EXCEPTION;
}

void ni_log_advise(struct ni_finding *f, const char *user, const char *admin)
{
    if (!f || (!user && !admin))
        return;
    f->user = user ? user : "";
    f->admin = admin ? admin : "";
    f->no_command = true;
}
