/* SPDX-License-Identifier: Apache-2.0 */
/* What NVML says of GPUs, before a context is made on one: who uses it, and how it may be used. No
   header of NVML is needed: the structures are those of its API, whose functions have the version in
   their names. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

#include "nccl_init/base.h"
#include "try/old_glibc.h"
#include "try/try.h"

enum {
    TOO_SMALL = 7, /* NVML_ERROR_INSUFFICIENT_SIZE: the number is right, the list has no room */
    MIB = 20
};

struct memory { /* nvmlMemory_v2_t */
    unsigned version;
    unsigned long long total, reserved, free, used;
};

struct nvml {
    int (*init)(void);
    int (*handle)(const char *bus, void **ret);
    int (*mode)(void *gpu, int *ret);
    int (*memory)(void *gpu, struct memory *ret);
    int (*mig)(void *gpu, unsigned *now, unsigned *pending);
    int (*processes)(void *gpu, unsigned *n, void *list);
};

static bool load(struct nvml *ret)
{
    const struct ni_try_entry needed[] = {
        {"nvmlInit_v2", &ret->init},
        {"nvmlDeviceGetHandleByPciBusId_v2", &ret->handle},
        {"nvmlDeviceGetComputeMode", &ret->mode},
        {"nvmlDeviceGetMemoryInfo_v2", &ret->memory},
        {"nvmlDeviceGetMigMode", &ret->mig},
        {"nvmlDeviceGetComputeRunningProcesses_v3", &ret->processes},
    };
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);

    if (!library) {
        (void)ni_try_say("unloaded %s", dlerror());
        return false;
    }
    return ni_try_find_all(library, "libnvidia-ml.so.1", needed, NI_COUNT(needed));
}

/* What cannot be asked is left out of the line. */
static void say_gpu(const struct nvml *nvml, const char *bus)
{
    struct memory memory = {.version = sizeof(memory) | 2u << 24}; /* NVML_STRUCT_VERSION */
    char mode_is[32] = "", mig_is[32] = "", used_is[96] = "", processes_are[32] = "";
    unsigned mig, pending, n = 0;
    void *gpu;
    int mode, r = nvml->handle(bus, &gpu);

    if (r != 0) {
        (void)ni_try_say("gpu %s error=%d", bus, r);
        return;
    }
    if (nvml->mode(gpu, &mode) == 0)
        (void)snprintf(mode_is, sizeof(mode_is), " mode=%d", mode);
    if (nvml->mig(gpu, &mig, &pending) == 0) /* no GPU before A100 has it */
        (void)snprintf(mig_is, sizeof(mig_is), " mig=%u", mig);
    if (nvml->memory(gpu, &memory) == 0)
        (void)snprintf(used_is, sizeof(used_is), " used=%llu free=%llu", memory.used >> MIB,
                       memory.free >> MIB);
    r = nvml->processes(gpu, &n, NULL);
    if (r == 0 || r == TOO_SMALL)
        (void)snprintf(processes_are, sizeof(processes_are), " processes=%u", n);
    (void)ni_try_say("gpu %s%s%s%s%s", bus, mode_is, mig_is, used_is, processes_are);
}

void ni_try_gpus(int n, char *const buses[])
{
    struct nvml nvml;

    if (!load(&nvml))
        return;
    const int r = nvml.init();
    (void)ni_try_say("nvml %d", r);
    for (int i = 0; i < n && r == 0; i++)
        say_gpu(&nvml, buses[i]);
}
