/* SPDX-License-Identifier: Apache-2.0 */
/* libibverbs of this image, by the names of its functions. */
#include "try/verbs.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "nccl_init/base.h"
#include "try/old_glibc.h"
#include "try/try.h"

/* verbs.h wraps these */
#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr

enum { DATA_DIRECT = 1 }; /* MLX5DV_REG_DMABUF_ACCESS_DATA_DIRECT (rdma-core providers/mlx5) */

static struct {
    struct ibv_device **(*get_device_list)(int *n);
    const char *(*get_device_name)(struct ibv_device *device);
    struct ibv_context *(*open_device)(struct ibv_device *device);
    int (*query_device)(struct ibv_context *context, struct ibv_device_attr *ret);
    int (*query_port)(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *ret);
    int (*query_pkey)(struct ibv_context *context, uint8_t port, int index, __be16 *ret);
    int (*query_gid)(struct ibv_context *context, uint8_t port, int index, union ibv_gid *ret);
    struct ibv_pd *(*alloc_pd)(struct ibv_context *context);
    struct ibv_mr *(*reg_mr)(struct ibv_pd *pd, void *at, size_t size, int access);
    int (*dereg_mr)(struct ibv_mr *mr);
    struct ibv_cq *(*create_cq)(struct ibv_context *context, int entries, void *ctx,
                                struct ibv_comp_channel *channel, int vector);
    int (*destroy_cq)(struct ibv_cq *cq);
    struct ibv_qp *(*create_qp)(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
    int (*modify_qp)(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
    int (*destroy_qp)(struct ibv_qp *qp);
    /* NULL in older ones: since rdma-core 28, 34, 32 */
    struct ibv_mr *(*reg_mr_iova2)(struct ibv_pd *pd, void *at, size_t size, uint64_t iova,
                                   unsigned access);
    struct ibv_mr *(*reg_dmabuf_mr)(struct ibv_pd *pd, uint64_t offset, size_t size, uint64_t iova,
                                    int fd, int access);
    int (*query_gid_ex)(struct ibv_context *context, uint32_t port, uint32_t index,
                        struct ibv_gid_entry *ret, uint32_t flags, size_t size);
    /* libmlx5; NULL: there is none, or it is too old */
    bool (*is_mlx5)(struct ibv_device *device);
    int (*direct_path)(struct ibv_context *context, char *buf, size_t size);
    struct ibv_mr *(*reg_direct)(struct ibv_pd *pd, uint64_t offset, size_t size, uint64_t iova,
                                 int fd, int access, int mlx5_access);
} verbs;

/* ---- the library ---- */

/* Says which file the library is, without links, for its name has the version. */
static void say_library(void)
{
    char path[PATH_MAX];
    void *at;
    Dl_info info;

    memcpy(&at, &verbs.get_device_list, sizeof(at));
    if (dladdr(at, &info) == 0 || !info.dli_fname)
        (void)ni_try_say("library %s", "?");
    else
        (void)ni_try_say("library %s", realpath(info.dli_fname, path) ? path : info.dli_fname);
}

/* Loads libmlx5 as NCCL does (2.30.7 misc/mlx5dvsymbols.cc). */
static void load_mlx5(void)
{
    const struct ni_try_entry entries[] = {
        {"mlx5dv_is_supported", &verbs.is_mlx5},
        {"mlx5dv_get_data_direct_sysfs_path", &verbs.direct_path},
        {"mlx5dv_reg_dmabuf_mr", &verbs.reg_direct},
    };
    void *library = dlopen("libmlx5.so", RTLD_NOW);

    if (!library)
        library = dlopen("libmlx5.so.1", RTLD_NOW);
    for (unsigned i = 0; library && i < NI_COUNT(entries); i++)
        (void)ni_try_find(library, &entries[i]);
}

bool ni_verbs_load(void)
{
    /* these have been there since 1.1 (libibverbs.map.in) */
    const struct ni_try_entry needed[] = {
        {"ibv_get_device_list", &verbs.get_device_list},
        {"ibv_get_device_name", &verbs.get_device_name},
        {"ibv_open_device", &verbs.open_device},
        {"ibv_query_device", &verbs.query_device},
        {"ibv_query_port", &verbs.query_port},
        {"ibv_query_gid", &verbs.query_gid},
        {"ibv_alloc_pd", &verbs.alloc_pd},
        {"ibv_reg_mr", &verbs.reg_mr},
        {"ibv_dereg_mr", &verbs.dereg_mr},
        {"ibv_create_cq", &verbs.create_cq},
        {"ibv_destroy_cq", &verbs.destroy_cq},
        {"ibv_create_qp", &verbs.create_qp},
        {"ibv_modify_qp", &verbs.modify_qp},
        {"ibv_destroy_qp", &verbs.destroy_qp},
    };
    const struct ni_try_entry newer[] = {
        {"ibv_query_pkey", &verbs.query_pkey},
        {"ibv_reg_mr_iova2", &verbs.reg_mr_iova2},
        {"ibv_reg_dmabuf_mr", &verbs.reg_dmabuf_mr},
        {"_ibv_query_gid_ex", &verbs.query_gid_ex},
    };
    /* by the names that NCCL uses, in its order (2.30.7 misc/ibvsymbols.cc buildIbvSymbols) */
    void *library = dlopen("libibverbs.so", RTLD_NOW);

    if (!library)
        library = dlopen("libibverbs.so.1", RTLD_NOW);
    if (!library) {
        (void)ni_try_say("unloaded %s", dlerror());
        return false;
    }
    for (unsigned i = 0; i < NI_COUNT(newer); i++)
        (void)ni_try_find(library, &newer[i]);
    if (!ni_try_find_all(library, "libibverbs", needed, NI_COUNT(needed)))
        return false;
    load_mlx5();
    say_library();
    return true;
}

/* ---- its functions ---- */

struct ibv_device **ibv_get_device_list(int *n)
{
    return verbs.get_device_list(n);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
    return verbs.get_device_name(device);
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
    return verbs.open_device(device);
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
    return verbs.query_device(context, attr);
}

int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr)
{
    return verbs.query_port(context, port, attr);
}

int ibv_query_pkey(struct ibv_context *context, uint8_t port, int index, __be16 *pkey)
{
    return verbs.query_pkey ? verbs.query_pkey(context, port, index, pkey) : -1;
}

/* An older libibverbs does not tell the type of an entry, which a queue pair does not need. */
int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index,
                      struct ibv_gid_entry *entry, uint32_t flags, size_t size)
{
    if (verbs.query_gid_ex)
        return verbs.query_gid_ex(context, port, index, entry, flags, size);
    memset(entry, 0, sizeof(*entry));
    entry->gid_index = index;
    entry->port_num = port;
    return verbs.query_gid(context, (uint8_t)port, (int)index, &entry->gid) == 0 ? 0 : EINVAL;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
    return verbs.alloc_pd(context);
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
    return verbs.reg_mr(pd, addr, length, access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
    return verbs.dereg_mr(mr);
}

/* verbs.h calls it where it does not know the access when it is compiled */
struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
                                unsigned access)
{
    if (verbs.reg_mr_iova2)
        return verbs.reg_mr_iova2(pd, addr, length, iova, access);
    return verbs.reg_mr(pd, addr, length, (int)access);
}

/* As NCCL where it is missing (2.30.7 misc/ibvwrap.cc wrap_direct_ibv_reg_dmabuf_mr) */
struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
                                 int fd, int access)
{
    if (verbs.reg_dmabuf_mr)
        return verbs.reg_dmabuf_mr(pd, offset, length, iova, fd, access);
    errno = EOPNOTSUPP;
    return NULL;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
                             struct ibv_comp_channel *channel, int comp_vector)
{
    return verbs.create_cq(context, cqe, cq_context, channel, comp_vector);
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
    return verbs.destroy_cq(cq);
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    return verbs.create_qp(pd, attr);
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    return verbs.modify_qp(qp, attr, mask);
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
    return verbs.destroy_qp(qp);
}

/* ---- memory ---- */

int ni_verbs_relaxed(void)
{
    return verbs.reg_mr_iova2 ? IBV_ACCESS_RELAXED_ORDERING : 0;
}

bool ni_verbs_has_direct(struct ibv_context *context)
{
    char path[PATH_MAX];

    return verbs.is_mlx5 && verbs.direct_path && verbs.reg_direct &&
           verbs.is_mlx5(context->device) && verbs.direct_path(context, path, sizeof(path)) == 0;
}

struct ibv_mr *ni_verbs_register_dmabuf(struct ibv_pd *pd, uint64_t address, size_t size, int fd,
                                        int access, bool direct)
{
    if (direct)
        return verbs.reg_direct(pd, 0, size, address, fd, access, DATA_DIRECT);
    return ibv_reg_dmabuf_mr(pd, 0, size, address, fd, access);
}

struct ibv_mr *ni_verbs_register_address(struct ibv_pd *pd, uint64_t address, size_t size,
                                         int access)
{
    return ibv_reg_mr_iova2(pd, (void *)(uintptr_t)address, size, address, (unsigned)access);
}
