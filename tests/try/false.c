/* SPDX-License-Identifier: Apache-2.0 */
/* Stand-ins for libcuda, libnvidia-ml and libnccl, in one library, for tests of the helper without a GPU. "GPU memory" is
   memory of the host; two ranks sum over a socket. They prove the helper's steps, not CUDA and not NCCL.

   FALSE   what goes wrong, words with blanks between: cuInit=100 and the like, ncclCommInitRank=5 and the like: that
           function returns so; hang=FUNCTION, die=FUNCTION (of rank 1); wrong: sums of rank 1 are off from byte 4096 on;
           noise: lines that are none of NCCL's; silent: no lines; flood=mlx5_1: 700 KB of lines
           where NCCL_IB_HCA has that name; mode=3 mig=1 processes=2 used=100 free=50: what NVML says; nvml=9 */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

typedef unsigned long long address;
static int rank_of = -1;

/* The number behind "name=" in FALSE; otherwise. */
static long said(const char *name, long otherwise)
{
    const char *at = getenv("FALSE");
    const size_t n = strlen(name);

    while (at && *at) {
        if (strncmp(at, name, n) == 0 && at[n] == '=')
            return atol(at + n + 1);
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
    }
    return otherwise;
}

static int word(const char *name)
{
    const char *all = getenv("FALSE");

    return all && strstr(all, name) != NULL;
}

static int enter(const char *function)
{
    char name[64];

    snprintf(name, sizeof name, "hang=%s", function);
    if (word(name) && rank_of != 0)
        pause();
    snprintf(name, sizeof name, "die=%s", function);
    if (word(name) && rank_of != 0)
        raise(SIGSEGV);
    return (int)said(function, 0);
}

/* ---- CUDA ---- */

int cuInit(unsigned flags)
{
    (void)flags;
    return enter("cuInit");
}
int cuDriverGetVersion(int *ret)
{
    *ret = 13000;
    return 0;
}
int cuDeviceGetByPCIBusId(int *device, const char *bus)
{
    (void)bus;
    *device = 0;
    return enter("cuDeviceGetByPCIBusId");
}
int cuDeviceGetAttribute(int *ret, int what, int device)
{
    (void)what;
    (void)device;
    *ret = 1;
    return 0;
}
int cuDevicePrimaryCtxRetain(void **ret, int device)
{
    (void)device;
    *ret = &rank_of;
    return enter("cuDevicePrimaryCtxRetain");
}
int cuDevicePrimaryCtxRelease_v2(int device)
{
    (void)device;
    return 0;
}
int cuCtxSetCurrent(void *context)
{
    (void)context;
    return 0;
}
int cuMemAlloc_v2(address *ret, size_t n)
{
    *ret = (address)(uintptr_t)malloc(n);
    return enter("cuMemAlloc");
}
int cuMemFree_v2(address at)
{
    free((void *)(uintptr_t)at);
    return 0;
}
int cuMemcpyDtoH_v2(void *to, address from, size_t n)
{
    memcpy(to, (void *)(uintptr_t)from, n);
    return 0;
}
int cuMemcpyHtoD_v2(address to, const void *from, size_t n)
{
    memcpy((void *)(uintptr_t)to, from, n);
    return 0;
}
int cuCtxSynchronize(void)
{
    return 0;
}
int cuStreamCreate(void **ret, unsigned flags)
{
    (void)flags;
    *ret = &rank_of;
    return 0;
}
int cuStreamSynchronize(void *stream)
{
    (void)stream;
    return 0;
}
int cuStreamQuery(void *stream)
{
    (void)stream;
    return 0;
}

int cuMemsetD32_v2(address at, unsigned value, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((unsigned *)(uintptr_t)at)[i] = value;
    return 0;
}

/* ---- NVML ---- */

int nvmlInit_v2(void)
{
    return (int)said("nvml", 0);
}
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **ret)
{
    (void)bus;
    *ret = &rank_of;
    return (int)said("handle", 0);
}
int nvmlDeviceGetComputeMode(void *gpu, int *ret)
{
    (void)gpu;
    *ret = (int)said("mode", 0);
    return 0;
}

int nvmlDeviceGetMigMode(void *gpu, unsigned *now, unsigned *later)
{
    (void)gpu;
    *now = *later = (unsigned)said("mig", 0);
    return said("mig", 0) < 0 ? 3 : 0;
}

struct memory {
    unsigned version;
    unsigned long long total, reserved, free, used;
};
int nvmlDeviceGetMemoryInfo_v2(void *gpu, struct memory *ret)
{
    (void)gpu;
    ret->used = (unsigned long long)said("used", 4) << 20;
    ret->free = (unsigned long long)said("free", 140000) << 20;
    return 0;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *gpu, unsigned *n, void *list)
{
    (void)gpu;
    (void)list;
    *n = (unsigned)said("processes", 0);
    return *n > 0 ? 7 : 0;
}

/* ---- NCCL ---- */

struct id {
    char bytes[128];
};
static int other = -1, listening = -1;

int ncclGetVersion(int *ret)
{
    *ret = 22809;
    return enter("ncclGetVersion");
}

static socklen_t place(const struct id *id, struct sockaddr_un *at)
{
    memset(at, 0, sizeof *at);
    at->sun_family = AF_UNIX;
    memcpy(at->sun_path + 1, id->bytes, 64);
    return (socklen_t)sizeof *at;
}

int ncclGetUniqueId(struct id *ret)
{
    struct sockaddr_un at;

    memset(ret, 0, sizeof *ret);
    snprintf(ret->bytes, sizeof ret->bytes, "false-nccl-%d", (int)getpid());
    listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listening, (struct sockaddr *)&at, place(ret, &at)) < 0 || listen(listening, 1) < 0)
        return 2;
    return enter("ncclGetUniqueId");
}

/* Returns true if FALSE floods the rank that has that HCA. */
static int is_flooded(void)
{
    const char *hcas = getenv("NCCL_IB_HCA"), *flood = getenv("FALSE");
    char name[16];

    flood = flood ? strstr(flood, "flood=") : NULL;
    if (!flood || !hcas || sscanf(flood, "flood=%15s", name) != 1)
        return 0;
    return strstr(hcas, name) != NULL;
}

int ncclCommInitRank(void **comm, int n, struct id id, int rank)
{
    struct sockaddr_un at;
    const socklen_t length = place(&id, &at);

    rank_of = rank;
    *comm = &rank_of;
    if (word("noise"))
        printf("%c%c noise without an end %s", 0x1b, 0x7f, n == 2 ? "\n1 not of this pair\n" : "");
    if (word("silent") && !freopen("/dev/null", "w", stdout))
        return 2;
    for (int i = 0; i < 10000 && is_flooded(); i++)
        printf("vm:%d:%d [0] NCCL INFO a line of a flood, one of very many of them\n",
               (int)getpid(), (int)getpid());
    printf("vm:%d:%d [0] NCCL INFO NCCL version 2.28.9+cuda13.0\n", (int)getpid(), (int)getpid());
    printf("vm:%d:%d [0] NCCL INFO NCCL_HOSTID set by environment to %s\n", (int)getpid(),
           (int)getpid(), getenv("NCCL_HOSTID"));
    printf("vm:%d:%d [0] NCCL INFO NCCL_IB_HCA set to %s\n", (int)getpid(), (int)getpid(),
           getenv("NCCL_IB_HCA"));
    printf("vm:%d:%d [0] NCCL INFO Using network IB\n", (int)getpid(), (int)getpid());
    const int r = enter("ncclCommInitRank");
    if (r != 0) {
        printf("vm:%d:%d [0] plugin/net.cc:379 NCCL WARN Failed to initialize any NET plugin\n",
               (int)getpid(), (int)getpid());
        return r;
    }
    if (rank == 0)
        other = accept(listening, NULL, NULL);
    else if (connect(other = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), (struct sockaddr *)&at,
                     length) < 0)
        return 6;
    return other < 0 ? 6 : 0;
}

static int swap(const char *from, char *to, size_t n)
{
    size_t out = 0, in = 0;

    while (out < n || in < n) {
        struct pollfd p = {.fd = other, .events = (short)(POLLIN | (out < n ? POLLOUT : 0))};

        (void)poll(&p, 1, -1);
        const ssize_t a =
            out < n ? send(other, from + out, n - out, MSG_DONTWAIT | MSG_NOSIGNAL) : 0;
        const ssize_t b = in < n ? recv(other, to + in, n - in, MSG_DONTWAIT) : 0;

        out += a > 0 ? (size_t)a : 0;
        in += b > 0 ? (size_t)b : 0;
        if (in < n && b == 0)
            return 6; /* it is gone */
    }
    return 0;
}

int ncclAllReduce(const void *from, void *to, size_t n, int type, int op, void *comm, void *stream)
{
    const uint32_t *own = from;
    uint32_t *sums = to;
    int r = enter("ncclAllReduce");

    if (r != 0 || type != 3 || op != 0 || comm != &rank_of || stream != &rank_of)
        return r != 0 ? r : 4;
    r = swap(from, to, n * 4);
    for (size_t i = 0; i < n; i++)
        sums[i] += own[i];
    for (size_t i = 1024; i < n && word("wrong") && rank_of == 1; i++)
        sums[i]++;
    return r;
}

int ncclCommGetAsyncError(void *comm, int *ret)
{
    (void)comm;
    *ret = 0;
    return enter("ncclCommGetAsyncError");
}
int ncclCommDestroy(void *comm)
{
    (void)comm;
    return enter("ncclCommDestroy");
}
