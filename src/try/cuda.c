/* SPDX-License-Identifier: Apache-2.0 */
/* libcuda of this image. */
#include "try/cuda.h"

#include <dlfcn.h>

#include "nccl_init/base.h"
#include "try/old_glibc.h"
#include "try/try.h"

bool ni_cuda_load(struct ni_cuda *ret)
{
    /* the names that CUDA's own header gives these functions: _v2 has the sizes of 64 bits */
    const struct ni_try_entry needed[] = {
        {"cuInit", &ret->init},
        {"cuDriverGetVersion", &ret->version},
        {"cuDeviceGetByPCIBusId", &ret->device_by_bus},
        {"cuDeviceGetAttribute", &ret->attribute},
        {"cuDevicePrimaryCtxRetain", &ret->retain},
        {"cuDevicePrimaryCtxRelease_v2", &ret->release},
        {"cuCtxSetCurrent", &ret->use},
        {"cuMemAlloc_v2", &ret->alloc},
        {"cuMemFree_v2", &ret->free},
        {"cuMemsetD32_v2", &ret->fill},
        {"cuMemcpyDtoH_v2", &ret->to_host},
        {"cuMemcpyHtoD_v2", &ret->to_device},
        {"cuCtxSynchronize", &ret->finish},
        {"cuStreamCreate", &ret->stream},
        {"cuStreamSynchronize", &ret->finish_stream},
        {"cuStreamQuery", &ret->ask_stream},
    };
    const struct ni_try_entry newer[] = {
        {"cuMemGetHandleForAddressRange", &ret->export_range},
        {"cuFlushGPUDirectRDMAWrites", &ret->flush_writes},
        {"cuPointerSetAttribute", &ret->set_pointer_attribute},
    };
    void *library = dlopen("libcuda.so.1", RTLD_NOW);

    if (!library) {
        (void)ni_try_say("unloaded %s", dlerror());
        return false;
    }
    for (unsigned i = 0; i < NI_COUNT(newer); i++)
        (void)ni_try_find(library, &newer[i]);
    return ni_try_find_all(library, "libcuda.so.1", needed, NI_COUNT(needed));
}

const char *ni_cuda_open(const struct ni_cuda *cuda, const char *bus, int *device, int *err)
{
    void *context;

    *err = cuda->init(0);
    if (*err != 0)
        return "cuInit";
    *err = cuda->device_by_bus(device, bus);
    if (*err != 0)
        return "cuDeviceGetByPCIBusId";
    *err = cuda->retain(&context, *device);
    if (*err != 0)
        return "cuDevicePrimaryCtxRetain";
    *err = cuda->use(context);
    return *err != 0 ? "cuCtxSetCurrent" : NULL;
}
