/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for libcuda.so.1 whose GPU memory is host memory, for trials of GPU memory where there is
   no GPU: SoftRoCE registers it by the way of peer memory, hca.c also by DMA-BUF. It shows what our code
   does and says, and nothing of a GPU.

   CUDA_GPUS     0000:1b:00.0,0000:43:00.0   its GPUs
   CUDA_FAULT    what goes wrong, for each GPU or, after "@", one: swap@0000:1b:00.0
     export      no DMA-BUF descriptor (801)
     nodmabuf    the attribute says that there is no DMA-BUF
     pin         memory that no HCA can register, and no DMA-BUF
     swap        two pages of what an HCA wrote are swapped when CUDA looks
     late        what an HCA wrote is there when CUDA looks a second time
     shift       what an HCA wrote stands 4096 bytes further on
     hang        a copy never ends
     crash       a copy dies by a signal
     reopen      a copy dies by a signal, and after that cuInit does, too
     exit        a copy ends the process, with status 0
     ecc         a copy fails (214)
     banner      cuInit prints a line on standard output
     once        two pages of what an HCA wrote first are swapped for good
     first       as swap, in the first buffer only
     full        no memory (2)
     used        no context: another process has the GPU (46)
     tardy       a context takes a second
     mode        compute mode PROHIBITED */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef unsigned long long address;

enum {
    GPUS = 16,
    BUFFERS = 64,
    PAGE = 4096,
    INVALID = 1,
    NO_MEMORY = 2,
    NO_DEVICE = 100,
    ECC = 214,
    BAD_DEVICE = 101,
    BUSY = 46,
    NOT_SUPPORTED = 801
};

static char names[GPUS][16];
static int n_gpu;
static int current = -1; /* the GPU whose context is current; a process has one */

/* GPU memory, and what CUDA saw of it last. */
static struct buffer {
    char *at, *seen;
    size_t size;
} buffers[BUFFERS];

static bool is(const char *fault)
{
    const char *text = getenv("CUDA_FAULT");
    const size_t n = strlen(fault);

    if (!text || strncmp(text, fault, n) != 0 || (text[n] != '\0' && text[n] != '@'))
        return false;
    return text[n] == '\0' || (current >= 0 && strcmp(text + n + 1, names[current]) == 0);
}

static struct buffer *find(address at)
{
    for (int i = 0; i < BUFFERS; i++) {
        struct buffer *b = &buffers[i];

        if (b->at && at >= (address)(size_t)b->at && at < (address)(size_t)b->at + b->size)
            return b;
    }
    return NULL;
}

/* The file by which later processes know that one has died. */
static const char *marker(void)
{
    static char path[512];

    snprintf(path, sizeof path, "%s/died", getenv("HCA_DIR"));
    return path;
}

int cuInit(unsigned flags)
{
    const char *text = getenv("CUDA_GPUS");
    char copy[512], *rest = copy, *name;

    (void)flags;
    if (is("reopen") && access(marker(), F_OK) == 0)
        raise(SIGSEGV);
    if (is("banner")) {
        printf("CUDA says hello\n");
        fflush(stdout);
    }
    snprintf(copy, sizeof copy, "%s", text ? text : "");
    n_gpu = 0;
    name = strsep(&rest, ",");
    while (name && *name && n_gpu < GPUS) {
        snprintf(names[n_gpu], sizeof names[n_gpu], "%.15s", name);
        n_gpu++;
        name = strsep(&rest, ",");
    }
    return n_gpu > 0 ? 0 : NO_DEVICE;
}

int cuDriverGetVersion(int *version)
{
    *version = 12080;
    return 0;
}

int cuDeviceGetByPCIBusId(int *device, const char *bus)
{
    for (int i = 0; i < n_gpu; i++) {
        if (strcmp(names[i], bus) == 0) {
            *device = i;
            return 0;
        }
    }
    return BAD_DEVICE;
}

int cuDeviceGet(int *device, int number)
{
    *device = number;
    return number >= 0 && number < n_gpu ? 0 : BAD_DEVICE;
}

int cuDeviceGetAttribute(int *ret, int attribute, int device)
{
    current = device; /* the helper asks before it makes a context */
    *ret = attribute == 124 ? !is("nodmabuf") && !is("pin") : 0;
    if (attribute == 20 && is("mode"))
        *ret = 2;
    return 0;
}

/* hca.c asks for one, too */
int cuDevicePrimaryCtxRetain(void **context, int device)
{
    if (current < 0)
        current = device;
    *context = names[device];
    if (is("tardy"))
        sleep(1);
    if (is("used"))
        return BUSY;
    return is("nocontext") ? NO_MEMORY : 0;
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

int cuCtxGetCurrent(void **context)
{
    *context = names[0];
    return 0;
}

int cuCtxSynchronize(void)
{
    return 0;
}

int cuMemAlloc_v2(address *ret, size_t size)
{
    const int rights = is("pin") ? PROT_NONE : PROT_READ | PROT_WRITE;

    for (int i = 0; i < BUFFERS && !is("full"); i++) {
        struct buffer *b = &buffers[i];

        if (b->at)
            continue;
        b->at = mmap(NULL, size, rights, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        b->seen = calloc(1, size);
        b->size = size;
        *ret = (address)(size_t)b->at;
        return 0;
    }
    return NO_MEMORY;
}

int cuMemFree_v2(address at)
{
    struct buffer *b = find(at);

    if (!b)
        return INVALID;
    munmap(b->at, b->size);
    free(b->seen);
    b->at = NULL;
    return 0;
}

int cuMemsetD32_v2(address at, unsigned value, size_t n)
{
    unsigned *to = (unsigned *)(size_t)at;
    struct buffer *b = find(at);

    for (size_t i = 0; i < n && !is("pin"); i++)
        to[i] = value;
    if (!is("pin"))
        memcpy(b->seen, b->at, b->size);
    return 0;
}

static void swap(char *at)
{
    char page[PAGE];

    memcpy(page, at + 3 * PAGE, PAGE);
    memcpy(at + 3 * PAGE, at + 5 * PAGE, PAGE);
    memcpy(at + 5 * PAGE, page, PAGE);
}

static void stumble(void)
{
    if (is("reopen"))
        close(open(marker(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    if (is("exit"))
        exit(0);
    if (is("reopen"))
        raise(SIGSEGV);
    if (is("crash"))
        raise(SIGSEGV);
    while (is("hang"))
        pause();
}

int cuMemcpyHtoD_v2(address to, const void *from, size_t size)
{
    struct buffer *b = find(to);

    if (!b)
        return INVALID;
    memcpy((void *)(size_t)to, from, size);
    memcpy(b->seen, b->at, b->size);
    return 0;
}

int cuMemcpyDtoH_v2(void *to, address from, size_t size)
{
    struct buffer *b = find(from);
    char *at = (char *)(size_t)from;
    char *out = to;
    static bool swapped;

    if (!b)
        return INVALID;
    stumble();
    if (is("ecc"))
        return ECC;
    const bool changed = memcmp(b->seen, b->at, b->size) != 0;
    if (changed && is("once") && size >= 8 * PAGE && !swapped) {
        swap(at);
        swapped = true;
    }
    memcpy(out, changed && is("late") ? b->seen : at, size);
    if (changed && (is("swap") || (is("first") && b == buffers)) && size >= 8 * PAGE)
        swap(out);
    if (changed && is("shift") && size > PAGE)
        memmove(out + PAGE, out, size - PAGE);
    if (is("late"))
        memcpy(b->seen, b->at, b->size);
    return 0;
}

/* hca.c knows by the name that it is a DMA-BUF */
int cuMemGetHandleForAddressRange(void *handle, address at, size_t size, int type,
                                  unsigned long long flags)
{
    (void)type;
    (void)flags;
    if (is("export"))
        return NOT_SUPPORTED;
    const int fd = memfd_create("dmabuf", MFD_CLOEXEC);
    if (fd < 0 || !find(at) || ftruncate(fd, (off_t)size) < 0)
        return INVALID;
    memcpy(handle, &fd, sizeof fd);
    return 0;
}

int cuPointerSetAttribute(const void *value, int attribute, address at)
{
    (void)value;
    (void)attribute;
    return find(at) ? 0 : INVALID;
}

/* ---- what hca.c asks for ---- */

int cuPointerGetAttribute(void *ret, int attribute, address at)
{
    const unsigned device = 2;
    const int ordinal = 0;

    if (!find(at))
        return INVALID;
    if (attribute == 2)
        memcpy(ret, &device, sizeof device);
    else
        memcpy(ret, &ordinal, sizeof ordinal);
    return 0;
}

int cuStreamCreate(void **stream, unsigned flags)
{
    (void)flags;
    *stream = names;
    return 0;
}

int cuStreamQuery(void *stream)
{
    (void)stream;
    return 0;
}

int cuStreamSynchronize(void *stream)
{
    (void)stream;
    return 0;
}

int cuMemHostAlloc(void **ret, size_t size, unsigned flags)
{
    (void)flags;
    *ret = malloc(size);
    return *ret ? 0 : NO_MEMORY;
}

int cuMemcpyHtoDAsync_v2(address to, const void *from, size_t size, void *stream)
{
    (void)stream;
    memcpy((void *)(size_t)to, from, size);
    return 0;
}

int cuMemcpyDtoHAsync_v2(void *to, address from, size_t size, void *stream)
{
    (void)stream;
    memcpy(to, (const void *)(size_t)from, size);
    return 0;
}
