/* SPDX-License-Identifier: Apache-2.0 */
#include "nccl_init/verbs.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>

int ni_verbs_devices(void)
{
    struct ibv_device **list;
    int n = 0;

    /* libibverbs lets it redirect all its reading (ibv_get_sysfs_path); here only this machine
       counts. */
    (void)unsetenv("SYSFS_PATH");
    errno = 0;
    list = ibv_get_device_list(&n);
    if (!list)
        return errno != 0 ? -errno : -EIO;
    ibv_free_device_list(list);
    return n;
}
