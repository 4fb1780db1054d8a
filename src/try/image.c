/* SPDX-License-Identifier: Apache-2.0 */
/* The trial `image`: does this image's libibverbs, with its providers, find and open the HCAs? */
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "nccl_init/base.h"
#include "try/old_glibc.h"
#include "try/try.h"

/* Entries of the completion queue: its memory and its doorbell are a page each, at least. */
enum { ENTRIES = 16 };

/* What is called of libibverbs. All of these have been there since 1.1 (libibverbs.map.in). */
struct verbs {
    struct ibv_device **(*get_device_list)(int *n);
    const char *(*get_device_name)(struct ibv_device *device);
    struct ibv_context *(*open_device)(struct ibv_device *device);
    int (*query_device)(struct ibv_context *context, struct ibv_device_attr *ret);
    struct ibv_pd *(*alloc_pd)(struct ibv_context *context);
    struct ibv_cq *(*create_cq)(struct ibv_context *context, int entries, void *ctx,
                                struct ibv_comp_channel *channel, int vector);
};

/* ---- the library ---- */

/* Says which file the library is, without links, for its name has the version. */
static void say_library(const struct verbs *v)
{
    char path[PATH_MAX];
    void *at;
    Dl_info info;

    memcpy(&at, &v->get_device_list, sizeof(at));
    if (dladdr(at, &info) == 0 || !info.dli_fname)
        (void)ni_try_say("library %s", "?");
    else
        (void)ni_try_say("library %s", realpath(info.dli_fname, path) ? path : info.dli_fname);
}

/* Loads libibverbs by the names that NCCL uses, in its order (2.30.7 misc/ibvsymbols.cc
   buildIbvSymbols). */
static bool load(struct verbs *ret)
{
    const struct ni_try_entry needed[] = {
        {"ibv_get_device_list", &ret->get_device_list},
        {"ibv_get_device_name", &ret->get_device_name},
        {"ibv_open_device", &ret->open_device},
        {"ibv_query_device", &ret->query_device},
        {"ibv_alloc_pd", &ret->alloc_pd},
        {"ibv_create_cq", &ret->create_cq},
    };
    void *library = dlopen("libibverbs.so", RTLD_NOW);

    if (!library)
        library = dlopen("libibverbs.so.1", RTLD_NOW);
    if (!library) {
        (void)ni_try_say("unloaded %s", dlerror());
        return false;
    }
    return ni_try_find_all(library, "libibverbs", needed, NI_COUNT(needed));
}

/* ---- an HCA ---- */

static int error_of(void)
{
    return errno != 0 ? errno : EIO; /* a library that fails without an errno */
}

static void try_hca(const struct verbs *v, struct ibv_device **list, int n, const char *name)
{
    struct ibv_device_attr attr;
    struct ibv_context *context;
    struct ibv_pd *pd;
    int at = 0, err;

    while (at < n && strcmp(v->get_device_name(list[at]), name) != 0)
        at++;
    if (at == n) {
        (void)ni_try_say("hca %s find %d", name, ENODEV);
        return;
    }
    (void)ni_try_say("at %s", name);
    errno = 0;
    context = v->open_device(list[at]);
    if (!context) {
        (void)ni_try_say("hca %s open %d", name, error_of());
        return;
    }
    err = v->query_device(context, &attr);
    if (err != 0) {
        (void)ni_try_say("hca %s device %d", name, err < 0 ? -err : err);
        return;
    }
    errno = 0;
    pd = v->alloc_pd(context);
    if (!pd || !v->create_cq(context, ENTRIES, NULL, NULL, 0)) {
        (void)ni_try_say("hca %s queue %d", name, error_of());
        return;
    }
    (void)ni_try_say("hca %s done 0", name);
}

void ni_try_image(int n_hca, char *const hcas[])
{
    struct ibv_device **list;
    struct verbs v;
    int n = 0;

    /* then libibverbs says which device has no provider, and which provider cannot be loaded */
    (void)setenv("IBV_SHOW_WARNINGS", "1", 1);
    if (!load(&v))
        return;
    say_library(&v);
    errno = 0;
    list = v.get_device_list(&n);
    (void)ni_try_say("list %d", list ? 0 : error_of());
    if (!list)
        return;
    for (int i = 0; i < n_hca; i++)
        try_hca(&v, list, n, hcas[i]);
}
