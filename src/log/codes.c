/* SPDX-License-Identifier: Apache-2.0 */
/* Codes: lines that one pattern finds, and whose other words say which of several faults it is. */
#include <string.h>

#include "findings/device.h"
#include "findings/log.h"
#include "findings/verbs.h"
#include "log/patterns.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/number.h"
#include "nccl_init/text.h"

#define ROW(finding, is, why)                                                                   \
    {                                                                                           \
        .text = "", .versions = "", .take = NI_TAKE_FAULT, .id = NI_F_##finding, .flags = (is), \
        .cause = (why)                                                                          \
    }

#define ADVISE(finding, why, user_does, admin_does)                                          \
    {                                                                                        \
        .text = "", .versions = "", .take = NI_TAKE_FAULT, .id = NI_F_##finding, .flags = 0, \
        .cause = (why), .user = (user_does), .admin = (admin_does)                           \
    }

/* ---- CUDA ---- */

static const char no_p2p[] =
    "`nvidia-smi topo -p2p r` shows which pairs have it. Set NCCL_P2P_DISABLE=1 and "
    "NCCL_CUMEM_HOST_ENABLE=0 where each worker sees them (Ray: runtime_env), for both kinds of "
    "memory need P2P; or take a newer NCCL.";
static const char own_kernel[] =
    "run it with CUDA_LAUNCH_BLOCKING=1: the traceback then shows the call.";

/* Codes of CUDA 13.0: driver_types.h, cuda.h; the words are those of cudaGetErrorString and
   cuGetErrorString. NCCL prints the number only for calls of the driver (include/cudawrap.h). */
static const struct {
    unsigned number;
    const char *words;
    struct ni_pattern row;
} codes[] = {
    {2, "out of memory", ROW(LOG_CUDA_MEMORY, 0, NULL)},
    {3, "initialization error",
     ADVISE(LOG_CUDA,
            "CUDA cannot begin in this process: it was forked from one that had begun CUDA, or the "
            "driver is not ready",
            "the program's author starts processes by spawn; `nvidia-smi` tells whether the driver "
            "answers.",
            NULL)},
    {35, "CUDA driver version is insufficient for CUDA runtime version",
     ROW(LOG_CUDA_IMAGE, 0, "the node's driver is older than the image's CUDA")},
    {36, "API call is not supported in the installed CUDA driver",
     ROW(LOG_CUDA_IMAGE, 0, "the node's driver is older than the image's CUDA")},
    {100, "no CUDA-capable device is detected", ROW(GPU_NODE_MISSING, 0, NULL)},
    {101, "invalid device ordinal", ROW(LOG_CUDA_DEVICE, 0, NULL)},
    {209, "no kernel image is available for execution on the device",
     ROW(LOG_CUDA_IMAGE, 0, "the image's CUDA code was not built for this kind of GPU")},
    {46, "CUDA-capable device(s) is/are busy or unavailable",
     ROW(LOG_CUDA_DEVICE, 0,
         "the GPU is in exclusive use by another process, or its driver does not answer")},
    {34, "CUDA driver is a stub library",
     ADVISE(LOG_CUDA_IMAGE, "the program found the stub of libcuda, which is only for linking",
            "take the folder stubs out of LD_LIBRARY_PATH.", NULL)},
    {217, "peer access is not supported between these two devices",
     ADVISE(LOG_CUDA,
            "a GPU cannot access the memory of another one on its node (P2P): these have no P2P, "
            "which is no fault of theirs",
            no_p2p, NULL)},
    {222, "PTX was compiled with an unsupported toolchain",
     ROW(LOG_CUDA_IMAGE, 0, "the node's driver is older than the image's CUDA")},
    {304, "OS call failed or operation not supported on this OS",
     ADVISE(LOG_CUDA,
            "the driver was refused by the system: often an IOMMU, a virtual machine, or memory "
            "that may not be shared between processes",
            "on one node compare the ranks' users and their /dev/shm.",
            "look for the driver's lines in the node's kernel log (dmesg).")},
    {400, "invalid resource handle",
     ADVISE(LOG_CUDA_KERNEL,
            "the program used an event, a stream or a GPU of another context: an error of the "
            "program, such as a missing set_device",
            own_kernel, NULL)},
    {701, "too many resources requested for launch",
     ADVISE(LOG_CUDA_KERNEL, "a kernel of the program needs more registers than this GPU has",
            "the program's author starts it with fewer threads.", NULL)},
    {702, "the launch timed out and was terminated",
     ROW(LOG_CUDA_KERNEL, 0, "a kernel ran longer than the driver allows on this GPU")},
    {711, "peer mapping resources exhausted",
     ADVISE(LOG_CUDA, "the GPU has P2P with as many other GPUs as it can: more than eight",
            "give the job fewer GPUs of one node, or set NCCL_P2P_LEVEL=PIX.", NULL)},
    {715, "an illegal instruction was encountered",
     ROW(LOG_CUDA_KERNEL, 0, "a kernel died on the GPU: a fault of its build, or of the GPU")},
    {716, "misaligned address",
     ADVISE(LOG_CUDA_KERNEL, "a kernel of the program used a wrong address", own_kernel, NULL)},
    {805, "MPS client failed to connect to the MPS control daemon",
     ADVISE(LOG_CUDA, "the node uses MPS, and its daemon does not answer this process",
            "share the daemon's pipe with the pod (CUDA_MPS_PIPE_DIRECTORY).",
            "look whether nvidia-cuda-mps-control runs.")},
    {214, "uncorrectable ECC error",
     ROW(LOG_GPU_FAILED, 0,
         "the memory of this GPU has failed (ECC), which no program can cause: the administrator "
         "drains the node, and resets or replaces the GPU")},
    {220, "uncorrectable NVLink error",
     ROW(LOG_GPU_FAILED, 0,
         "an NVLink of this GPU has failed, which no program can cause: the administrator drains "
         "the node, and resets or replaces the GPU or the NVSwitch")},
    {700, "an illegal memory access was encountered",
     ROW(LOG_CUDA_KERNEL, 0,
         "a kernel used memory that is not its own: a fault of the program, which ran before this "
         "call; with an Xid in the node's kernel log, of the GPU")},
    {710, "device-side assert triggered",
     ROW(LOG_CUDA_KERNEL, 0, "an assertion in a kernel of the program failed")},
    {719, "unspecified launch failure",
     ROW(LOG_CUDA_KERNEL, 0,
         "a kernel died on the GPU: a fault of the program; with an Xid in the node's kernel log, "
         "of the GPU")},
    {800, "operation not permitted",
     ADVISE(LOG_CUDA,
            "CUDA may not do this here: memory of another process or node. With NVLink between "
            "nodes the pod needs an IMEX channel; on one node the ranks must be of one user",
            "start the ranks of a node as one user, in pods that may see each other's processes.",
            "give the pods an IMEX channel, if NVLink joins the nodes.")},
    {801, "operation not supported",
     ADVISE(LOG_CUDA, "the GPU or its driver does not support this, as in a virtual machine",
            "set NCCL_CUMEM_ENABLE=0 and NCCL_NVLS_ENABLE=0, and try again.", NULL)},
    {802, "system not yet initialized",
     ROW(LOG_CUDA_FABRIC, 0,
         "CUDA cannot begin: Fabric Manager does not run on the node, is not ready yet, or does "
         "not fit the driver")},
    {803, "system has unsupported display driver / cuda driver combination",
     ROW(LOG_CUDA_IMAGE, 0,
         "the libcuda that the image brings (cuda-compat) does not fit the node's driver, and is "
         "found before the driver's own")},
    {804, "forward compatibility was attempted on non supported HW",
     ROW(LOG_CUDA_IMAGE, 0,
         "the node's driver is older than the image's CUDA, and this GPU does not allow the "
         "image's cuda-compat")},
    {999, "unknown error",
     ROW(LOG_CUDA, 0,
         "the driver failed: a GPU that fell off the bus, or device nodes (/dev/nvidia-uvm) that "
         "are missing")},
};

/* Of call of multicast memory: cuMulticastBindMem. */
static const struct ni_pattern multicast =
    ROW(LOG_CUDA_FABRIC, 0,
        "NVLink multicast (NVLS) could not be set up: Fabric Manager or an NVSwitch of the node. "
        "With NCCL_NVLS_ENABLE=0 the job runs without it");

/* transport/shm.cc: host memory that is shared by cuMem, too, needs P2P (nccl#1838). */
static const struct ni_pattern host_memory =
    ROW(LOG_CUMEM, 0,
        "NCCL shares host memory by cuMem, which needs P2P between the GPUs, and these have none");

/* transport/p2p.cc: cudaIpcGetMemHandle, hipIpcGetMemHandle (rccl#2188). */
static const struct ni_pattern shared_memory = ROW(
    LOG_CUDA, 0,
    "a GPU's memory could not be shared with another process of the node (IPC): the GPUs or the "
    "container do not allow it; NCCL_P2P_DISABLE=1 goes through host memory");

static bool has(struct ni_span s, const char *what)
{
    return memmem(s.p, s.n, what, strlen(what)) != NULL;
}

/* Returns the number that stands behind one of these words; 0: none does. */
static unsigned code_in(struct ni_span text)
{
    static const char *const before[] = {"failure ", "CUDA error ", "Error "};

    for (size_t i = 0; i < NI_COUNT(before); i++) {
        const size_t n = strlen(before[i]);
        const char *at = memmem(text.p, text.n, before[i], n), *end = text.p + text.n;
        unsigned number = 0;

        for (at = at ? at + n : end; at < end && ni_is_digit(*at) && number < 10000; at++)
            number = 10 * number + (unsigned)(*at - '0');
        if (number > 0)
            return number;
    }
    return 0;
}

const struct ni_pattern *ni_log_cuda(struct ni_span text)
{
    const unsigned number = code_in(text);

    for (size_t i = 0; i < NI_COUNT(codes); i++)
        if (number > 0 ? codes[i].number == number : has(text, codes[i].words))
            return &codes[i].row;
    return NULL;
}

/* ---- GIDs ---- */

/* The words of NCCL 2.24.3 and later: "local GID index 7, local GID ::, remote GID fe80::1" (misc/
   ibvwrap.cc). An empty entry of a table is "::". */
static const struct ni_pattern gid_here =
    ROW(VERBS_CONNECT, NI_PATTERN_LAST | NI_PATTERN_INDEX, "the GID at this rank's index is empty");
static const struct ni_pattern gid_there =
    ROW(VERBS_CONNECT, NI_PATTERN_LAST | FOLLOWS,
        "the GID that the other end sent is empty: that end's index is wrong");
static const struct ni_pattern gid_kinds = ROW(
    VERBS_CONNECT, NI_PATTERN_LAST | NI_PATTERN_INDEX,
    "one end has a link-local GID, the other one of an IPv4 address: neither reaches the other");

/* Returns the text behind `mark` up to a comma, a blank or the end. */
static struct ni_span word_behind(struct ni_span s, const char *mark)
{
    const char *at = memmem(s.p, s.n, mark, strlen(mark)), *end = s.p + s.n;
    struct ni_span word = {at ? at + strlen(mark) : end, 0};

    while (word.p + word.n < end && word.p[word.n] != ',' && word.p[word.n] != ' ')
        word.n++;
    return word;
}

static bool is_word(struct ni_span s, const char *word)
{
    return s.n == strlen(word) && memcmp(s.p, word, s.n) == 0;
}

static bool begins(struct ni_span s, const char *with)
{
    return s.n >= strlen(with) && memcmp(s.p, with, strlen(with)) == 0;
}

static const struct ni_pattern *gids_of(struct ni_span text)
{
    const struct ni_span index = word_behind(text, "local GID index ");
    const char *after = index.p + index.n;
    const struct ni_span rest = {after, (size_t)(text.p + text.n - after)};
    const struct ni_span local = word_behind(rest, "local GID ");
    const struct ni_span remote = word_behind(text, "remote GID ");

    if (is_word(local, "::"))
        return &gid_here;
    if (is_word(remote, "::"))
        return &gid_there;
    if ((begins(local, "fe80:") && begins(remote, "::ffff:")) ||
        (begins(local, "::ffff:") && begins(remote, "fe80:")))
        return &gid_kinds;
    return NULL;
}

/* ---- all ---- */

const struct ni_pattern *ni_log_narrow(const struct ni_pattern *row, struct ni_span line,
                                       const char *at)
{
    const struct ni_span text = {at, (size_t)(line.p + line.n - at)};
    const struct ni_pattern *narrow = NULL;

    if ((row->flags & MORE) == 0)
        return row;
    if (row->id == NI_F_VERBS_CONNECT)
        narrow = gids_of(text);
    else if (code_in(text) == 401 || has(text, "cannot be performed in the present state"))
        narrow = has(line, "nvls") || has(text, "NVLink SHARP") ? &multicast : NULL;
    else if (has(line, "transport/shm.cc") && has(text, "peer access is not supported"))
        narrow = &host_memory;
    else if (has(line, "transport/p2p.cc") && has(text, "invalid argument"))
        narrow = &shared_memory;
    else
        narrow = ni_log_cuda(text);
    return narrow ? narrow : row;
}
