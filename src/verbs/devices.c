/* SPDX-License-Identifier: Apache-2.0 */
/* libibverbs' list of devices, and one of them opened. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "try.h"

/* What registers the providers and libnl's parts: constructors of the static libraries that
   .dev/deps has deferred. None with shared ones, which run them at the start. */
typedef void ni_constructor_fn(void);
extern ni_constructor_fn
    *const __start_ni_verbs_init[] /* NOLINT(bugprone-reserved-identifier): the linker's */
    __attribute__((weak));
extern ni_constructor_fn *const __stop_ni_verbs_init[] /* NOLINT(bugprone-reserved-identifier) */
    __attribute__((weak));

static void construct_libraries(void)
{
    static bool done; /* as the state of the libraries, of the process */

    for (ni_constructor_fn *const *c = __start_ni_verbs_init; !done && c < __stop_ni_verbs_init;
         c++)
        (*c)();
    done = true;
}

/* Variables that name a file; they are the job's and not ours. rdma-core 56.1: the first redirects
   all reading (libibverbs/sysfs.c), to the files of the next two libibverbs and mlx5 append
   (libibverbs/init.c verbs_set_log_file, providers/mlx5/mlx5.c open_debug_file). libnl 3.7 reads
   those of the others (lib/utils.c get_psched_settings). */
static const char *const files[] = {"SYSFS_PATH", "VERBS_LOG_FILE", "MLX5_DEBUG_FILE",
                                    "PROC_NET_PSCHED", "PROC_ROOT"};

static struct ibv_device **list_devices(int *ret_n)
{
    *ret_n = 0;
    construct_libraries();
    for (size_t i = 0; i < NI_COUNT(files); i++)
        (void)unsetenv(files[i]);
    errno = 0;
    return ibv_get_device_list(ret_n);
}

int ni_verbs_devices(void)
{
    int n;
    struct ibv_device **list = list_devices(&n);

    if (!list)
        return errno != 0 ? -errno : -EIO;
    ibv_free_device_list(list);
    return n;
}

/* Where it cannot be opened, ibv_open_device waits 5 s for udev to make it (rdma-core 56.1
   util/open_cdev.c), and its errno is that of the wait. */
static int try_node(const char *uverbs)
{
    char path[NI_PATH];
    int fd;

    if (!ni_format(path, sizeof(path), "/dev/infiniband/%s", uverbs))
        return ENAMETOOLONG;
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return errno;
    (void)close(fd);
    return 0;
}

struct ibv_context *ni_open_device(struct ni_trial *t)
{
    struct ibv_context *context = NULL;
    struct ibv_device **list;
    int n;

    t->step = NI_STEP_FIND;
    list = list_devices(&n);
    if (!list) {
        (void)ni_failed(t, errno);
        return NULL;
    }
    t->err = ENODEV;
    for (int i = 0; i < n; i++) {
        if (strcmp(ibv_get_device_name(list[i]), t->hca) != 0)
            continue;
        t->step = NI_STEP_OPEN;
        t->err = try_node(list[i]->dev_name);
        errno = 0;
        context = t->err == 0 ? ibv_open_device(list[i]) : NULL;
        if (!context && t->err == 0)
            (void)ni_failed(t, errno);
        break;
    }
    ibv_free_device_list(list);
    return context;
}
