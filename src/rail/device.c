/* SPDX-License-Identifier: Apache-2.0 */
/* The device of a rail, by libibverbs: what it says of itself, and memory for the data. */
#include "rail/device.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "nccl_init/base.h"
#include "nccl_init/ip.h"
#include "nccl_init/known.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "rail/neighbour.h"
#include "rail/verbs.h"

/* Variables that name a file for the job, not for nccl-init. rdma-core 56.1: the first redirects
   all reading (libibverbs/sysfs.c), to the files of the next two libibverbs and mlx5 append
   (libibverbs/init.c verbs_set_log_file, providers/mlx5/mlx5.c open_debug_file). libnl 3.7 reads
   the files of the others (lib/utils.c get_psched_settings). */
static const char *const file_variables[] = {"SYSFS_PATH", "VERBS_LOG_FILE", "MLX5_DEBUG_FILE",
                                             "PROC_NET_PSCHED", "PROC_ROOT"};

int ni_find_device(struct ni_rail_device *d, struct ni_rail *rail)
{
    struct ibv_device **list;
    int n = 0;

    /* ibv_open_device would wait 5 s for udev to make it (rdma-core 56.1 util/open_cdev.c) */
    if (rail->node_err != 0)
        return rail->node_err;
    for (size_t i = 0; i < NI_COUNT(file_variables); i++)
        (void)unsetenv(file_variables[i]);
    list = ibv_get_device_list(&n);
    if (!list)
        return ni_verbs_error(list);
    for (int i = 0; i < n; i++)
        if (strcmp(ibv_get_device_name(list[i]), rail->hca) == 0)
            d->device = list[i];
    if (d->device)
        return 0;
    (void)ni_format(rail->untried, sizeof(rail->untried),
                    "nccl-init has no provider for this device");
    return ENODEV;
}

int ni_open_device(struct ni_rail_device *d)
{
    d->context = ibv_open_device(d->device);
    return ni_verbs_error(d->context);
}

unsigned ni_mtu_bytes(enum ibv_mtu mtu)
{
    return 128U << mtu;
}

int ni_ask_port(struct ni_rail_device *d, struct ni_rail_task *task)
{
    struct ni_rail *rail = &task->rail;
    const int err = ibv_query_port(d->context, (uint8_t)rail->port, &d->port);
    __be16 pkey = 0;

    if (err != 0)
        return err;
    rail->path_mtu = ni_mtu_bytes(d->port.active_mtu);
    (void)ibv_query_pkey(d->context, (uint8_t)rail->port, task->pkey_index, &pkey);
    rail->pkey = ntohs(pkey);
    return d->port.state == IBV_PORT_ACTIVE ? 0 : ENETDOWN;
}

int ni_ask_gid(struct ni_rail_device *d, struct ni_rail *rail)
{
    const bool roce = rail->link != NI_LINK_IB;
    const uint32_t index = rail->index < 0 ? 0 : (uint32_t)rail->index;
    int err;

    if (rail->index > UINT8_MAX || (roce && rail->index < 0))
        return ERANGE;
    err = ibv_query_gid_ex(d->context, rail->port, index, &d->gid, 0);
    if (err != 0)
        return err;
    rail->v2 = d->gid.gid_type == IBV_GID_TYPE_ROCE_V2;
    if (!roce)
        memcpy(rail->gid, d->gid.gid.raw, NI_GID_BYTES); /* the pods compare its subnet */
    return roce && ni_ip_is_zero(d->gid.gid.raw) ? ENODATA : 0;
}

/* Returns whether the kernel and the driver can register a DMA-BUF. NCCL asks in the same way
   (2.30.7 transport/net_ib/gdr.cc ibDmaBufSupportInitOnce): for an invalid descriptor these two
   errnos mean that one of them lacks the call; otherwise it is EBADF. */
static enum ni_known ask_dmabuf(const struct ni_rail_device *d)
{
    (void)ibv_reg_dmabuf_mr(d->pd, 0, 0, 0, -1, 0);
    return errno == EOPNOTSUPP || errno == EPROTONOSUPPORT ? NI_ABSENT : NI_KNOWN;
}

int ni_ask_device(struct ni_rail_device *d, struct ni_rail_task *task)
{
    struct ni_rail *rail = &task->rail;
    const int err = ibv_query_device(d->context, &d->attr);

    if (err != 0)
        return err;
    if (rail->link != NI_LINK_IB)
        rail->mac = ni_own_mac(rail->netdev);
    task->max_qp = d->attr.max_qp;
    task->max_mr = d->attr.max_mr;
    (void)ni_copyn(rail->firmware, sizeof(rail->firmware), d->attr.fw_ver,
                   strnlen(d->attr.fw_ver, sizeof(rail->firmware) - 1));
    d->pd = ibv_alloc_pd(d->context);
    if (!d->pd)
        return ni_verbs_error(d->pd);
    task->dmabuf = ask_dmabuf(d);
    /* facts for the comparison; later steps show whether the port can be used */
    (void)ni_ask_port(d, task);
    if (rail->link == NI_LINK_IB)
        (void)ni_ask_gid(d, rail);
    return 0;
}

int ni_allocate_memory(struct ni_rail_device *d, int64_t size)
{
    void *memory;

    if (d->memory)
        return 0;
    d->size = size > 0 ? (size_t)size : NI_TARGET_PAGE + 3 * NI_WINDOW;
    memory = mmap(NULL, d->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return errno;
    d->window = (d->size - NI_TARGET_PAGE) / 3 / NI_TARGET_PAGE * NI_TARGET_PAGE;
    d->memory = memory;
    d->out = d->memory + NI_TARGET_PAGE + d->window;
    d->back = d->out + d->window;
    return 0;
}

int ni_register_memory(struct ni_rail_device *d)
{
    enum { RIGHTS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ };
    const size_t target = NI_TARGET_PAGE + d->window;

    if (!d->target)
        d->target = ibv_reg_mr(d->pd, d->memory, target, RIGHTS);
    if (d->target && !d->own)
        d->own = ibv_reg_mr(d->pd, d->out, d->size - target, IBV_ACCESS_LOCAL_WRITE);
    return ni_verbs_error(d->own);
}
