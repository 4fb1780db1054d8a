/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for libnvidia-ml.so.1, beside that for libcuda (cuda.c): its GPUs are idle, but for what NVML_USE says:
   processes, mig, prohibited, full. */
#include <stdlib.h>
#include <string.h>

struct memory { /* nvmlMemory_v2_t */
    unsigned version;
    unsigned long long total, reserved, free, used;
};

static int is(const char *use)
{
    const char *text = getenv("NVML_USE");

    return text && strcmp(text, use) == 0;
}

int nvmlInit_v2(void)
{
    return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **gpu)
{
    *gpu = (void *)(size_t)bus;
    return 0;
}

int nvmlDeviceGetComputeMode(void *gpu, int *mode)
{
    (void)gpu;
    *mode = is("prohibited") ? 2 : 0;
    return 0;
}

int nvmlDeviceGetMemoryInfo_v2(void *gpu, struct memory *memory)
{
    (void)gpu;
    memory->total = memory->free = 1ull << 37;
    memory->used = 0;
    if (is("full"))
        memory->free = 1 << 20;
    return 0;
}

int nvmlDeviceGetMigMode(void *gpu, unsigned *now, unsigned *pending)
{
    (void)gpu;
    *now = *pending = (unsigned)is("mig");
    return 0;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *gpu, unsigned *n, void *list)
{
    (void)gpu, (void)list;
    *n = is("processes") ? 2 : 0;
    return is("processes") ? 7 : 0; /* NVML_ERROR_INSUFFICIENT_SIZE */
}
