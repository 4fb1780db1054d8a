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

/* ---- CUDA ---- */

/* Codes of CUDA 13.0: driver_types.h, cuda.h; the words are those of cudaGetErrorString and
   cuGetErrorString. NCCL prints the number only for calls of the driver (include/cudawrap.h). */
static const struct {
    unsigned number;
    const char *words;
    struct ni_pattern row;
} codes[] = {
    {2, "out of memory", ROW(LOG_CUDA_MEMORY, 0, NULL)},
    {3, "initialization error",
     ROW(LOG_CUDA, 0,
         "CUDA cannot begin in this process: it was forked from one that had begun CUDA, or the "
         "driver is not ready")},
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
    {217, "peer access is not supported between these two devices",
     ROW(LOG_CUDA, 0,
         "a GPU cannot access the memory of another one on its node (P2P): NCCL_P2P_DISABLE=1 goes "
         "through host memory")},
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
     ROW(LOG_CUDA, 0,
         "CUDA may not do this here: memory of another process or node. With NVLink between nodes "
         "the pod needs an IMEX channel; on one node the ranks must be of one user")},
    {801, "operation not supported",
     ROW(LOG_CUDA, 0, "the GPU or its driver does not support this, as in a virtual machine")},
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
