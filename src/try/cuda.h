/* SPDX-License-Identifier: Apache-2.0 */
/* libcuda of this image, by the names of its entry points; no header of CUDA is needed. What each does
   is in the CUDA driver API. All return 0, or a number of CUresult. */
#ifndef NCCL_INIT_TRY_CUDA_H
#define NCCL_INIT_TRY_CUDA_H

#include <stdbool.h>
#include <stddef.h>

typedef unsigned long long ni_device_address; /* CUdeviceptr */

enum { NI_CUDA_NOT_READY = 600 };

/* CUdevice is int; contexts and streams are pointers. */
struct ni_cuda {
    int (*init)(unsigned flags);
    int (*version)(int *ret);                           /* of the driver: 12080 */
    int (*device_by_bus)(int *device, const char *bus); /* "0000:1a:00.0" */
    int (*attribute)(int *ret, int attribute, int device);
    int (*retain)(void **context, int device); /* the primary context, which NCCL uses, too */
    int (*release)(int device);
    int (*use)(void *context);
    int (*alloc)(ni_device_address *ret, size_t size);
    int (*free)(ni_device_address at);
    int (*fill)(ni_device_address at, unsigned value, size_t n); /* n words of 32 bits */
    int (*to_host)(void *to, ni_device_address from, size_t size);
    int (*to_device)(ni_device_address to, const void *from, size_t size);
    int (*finish)(void); /* waits until the context has nothing to do */
    int (*stream)(void **ret, unsigned flags);
    int (*finish_stream)(void *stream);
    int (*ask_stream)(void *stream); /* NI_CUDA_NOT_READY: it has something to do */
    /* NULL where the driver is older than 11.7, 11.3, 6.0 */
    int (*export_range)(void *handle, ni_device_address at, size_t size, int type,
                        unsigned long long flags);
    int (*flush_writes)(int target, int scope);
    int (*set_pointer_attribute)(const void *value, int attribute, ni_device_address at);
};

/* Loads libcuda.so.1, as NCCL does. Where it is not whole, says "unloaded WORDS" and returns false. */
bool ni_cuda_load(struct ni_cuda *ret);
/* Takes the GPU at a PCI address: cuInit, the device, its primary context. NULL; or the step that
   failed, "cuInit", and *err, its CUresult. */
const char *ni_cuda_open(const struct ni_cuda *cuda, const char *bus, int *device, int *err);

#endif
