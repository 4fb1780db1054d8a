/*
 * mr [-k] DEVICE KIB...: register so much memory with an RDMA device, and say what came of it, a line for each size:
 * "64 KiB: ok" or "64 KiB: errno 12". With -k each registration is kept until the end, so that the kernel
 * counts their sum. The exit status is 0 when all went well, 1 when a registration failed, 2 otherwise.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static int complain(const char *what)
{
    fprintf(stderr, "mr: %s: %s\n", what, strerror(errno));
    return 2;
}

static struct ibv_context *open_device(const char *name)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    struct ibv_context *context = NULL;

    errno = ENODEV;
    for (size_t i = 0; list && list[i]; i++)
        if (strcmp(ibv_get_device_name(list[i]), name) == 0)
            context = ibv_open_device(list[i]);
    if (list)
        ibv_free_device_list(list);
    return context;
}

/* The memory itself stays until the process ends. */
static bool try_size(struct ibv_pd *pd, size_t kib, bool keep)
{
    size_t size = kib * 1024;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct ibv_mr *mr = NULL;

    if (memory != MAP_FAILED)
        mr = ibv_reg_mr(pd, memory, size, IBV_ACCESS_LOCAL_WRITE);
    if (mr)
        printf("%zu KiB: ok\n", kib);
    else
        printf("%zu KiB: errno %d\n", kib, errno);
    if (mr && !keep)
        ibv_dereg_mr(mr);
    return mr != NULL;
}

int main(int argc, char **argv)
{
    bool keep = argc > 1 && strcmp(argv[1], "-k") == 0;
    struct ibv_context *context;
    struct ibv_pd *pd;
    int status = 0;

    argv += 1 + keep;
    argc -= 1 + keep;
    if (argc < 2) {
        fputs("usage: mr [-k] DEVICE KIB...\n", stderr);
        return 2;
    }
    context = open_device(argv[0]);
    if (!context)
        return complain(argv[0]);
    pd = ibv_alloc_pd(context);
    if (!pd)
        return complain("ibv_alloc_pd");
    for (int i = 1; i < argc; i++)
        if (!try_size(pd, strtoul(argv[i], NULL, 10), keep))
            status = 1;
    return status;
}
