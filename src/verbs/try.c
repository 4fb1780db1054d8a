/* SPDX-License-Identifier: Apache-2.0 */
/* The trial of one port, step by step. */
#include "try.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

bool ni_failed(struct ni_trial *t, int err)
{
    t->err = err != 0 ? err : EIO; /* a library that fails without an errno */
    return false;
}

/* Of this process: it tries one port. */
extern struct ibv_gid_entry ni_trial_gids[NI_TRIAL_GIDS];
struct ibv_gid_entry ni_trial_gids[NI_TRIAL_GIDS] NI_LARGE;

static void read_gids(struct ibv_context *context, struct ni_trial *t)
{
    ssize_t n = ibv_query_gid_table(context, ni_trial_gids, NI_TRIAL_GIDS, 0);

    if (n < 0) {
        t->gid_err = (int)-n;
        return;
    }
    for (ssize_t i = 0; i < n; i++) {
        struct ni_trial_gid *to = &t->table[i];

        memcpy(to->ip, ni_trial_gids[i].gid.raw, NI_GID_BYTES);
        to->index = (uint16_t)ni_trial_gids[i].gid_index;
        to->port = (uint8_t)ni_trial_gids[i].port_num;
        to->v2 = ni_trial_gids[i].gid_type == IBV_GID_TYPE_ROCE_V2;
    }
    t->n_gid = (unsigned)n;
}

/* As NCCL finds out (2.30.7 transport/net_ib/gdr.cc ibDmaBufSupportInitOnce): a descriptor that is
   none gives these two where the kernel or the driver lacks the call, else EBADF. */
static enum ni_known ask_dmabuf(struct ibv_pd *pd)
{
    struct ibv_mr *mr;

    errno = 0;
    mr = ibv_reg_dmabuf_mr(pd, 0, 0, 0, -1, 0);
    if (mr) {
        (void)ibv_dereg_mr(mr);
        return NI_KNOWN;
    }
    return errno == EOPNOTSUPP || errno == EPROTONOSUPPORT ? NI_ABSENT : NI_KNOWN;
}

static bool ask_device(struct ni_loop *loop, struct ni_trial *t)
{
    int err;

    t->step = NI_STEP_DEVICE;
    err = ibv_query_device(loop->context, &loop->device);
    if (err != 0)
        return ni_failed(t, err);
    (void)ni_copyn(t->device.firmware, sizeof(t->device.firmware), loop->device.fw_ver,
                   strnlen(loop->device.fw_ver, sizeof(t->device.firmware) - 1));
    t->device.max_mr_size = loop->device.max_mr_size;
    t->device.max_qp = loop->device.max_qp;
    t->device.max_cq = loop->device.max_cq;
    t->device.max_mr = loop->device.max_mr;
    read_gids(loop->context, t);
    errno = 0;
    loop->pd = ibv_alloc_pd(loop->context);
    if (!loop->pd)
        return ni_failed(t, errno);
    t->device.dmabuf = ask_dmabuf(loop->pd);
    return true;
}

static bool ask_port(struct ni_loop *loop, struct ni_trial *t)
{
    int err;

    t->step = NI_STEP_PORT;
    err = ibv_query_port(loop->context, (uint8_t)t->port, &loop->port);
    if (err != 0)
        return ni_failed(t, err);
    t->port_state = (int)loop->port.state;
    t->phys_state = loop->port.phys_state;
    return loop->port.state == IBV_PORT_ACTIVE;
}

/* Where sysfs and the device differ, what the device says is tried: that is what a job would use. */
static bool ask_gid(struct ni_loop *loop, struct ni_trial *t)
{
    struct ibv_gid_entry entry;
    int err;

    t->step = NI_STEP_GID;
    if (t->index < 0 && t->roce)
        return false;
    if (t->index > UINT8_MAX) /* struct ibv_global_route has no room for more, NCCL neither */
        return ni_failed(t, ERANGE);
    memset(&entry, 0, sizeof(entry));
    err = ibv_query_gid_ex(loop->context, t->port, t->roce ? (uint32_t)t->index : 0, &entry, 0);
    if (err != 0)
        return ni_failed(t, err);
    loop->gid = entry.gid;
    memcpy(t->seen, entry.gid.raw, NI_GID_BYTES);
    t->seen_v2 = entry.gid_type == IBV_GID_TYPE_ROCE_V2;
    return !t->roce || !ni_ip_is_zero(t->seen) || ni_failed(t, ENODATA);
}

static bool allocate(struct ni_loop *loop, int64_t size, struct ni_trial *t)
{
    enum { PAGE = 4096 };
    void *memory;

    t->step = NI_STEP_ALLOCATE;
    memory = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return ni_failed(t, errno);
    loop->memory = memory;
    loop->part = (size_t)size / 3 / PAGE * PAGE;
    return true;
}

static bool pin(struct ni_loop *loop, int64_t size, struct ni_trial *t)
{
    int64_t before = ni_now_ns();

    t->step = NI_STEP_REGISTER;
    errno = 0;
    loop->mr =
        ibv_reg_mr(loop->pd, loop->memory, (size_t)size,
                   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
    if (!loop->mr)
        return ni_failed(t, errno);
    t->register_us = (ni_now_ns() - before) / 1000;
    return true;
}

static void note_limit(struct ni_trial *t)
{
    struct rlimit limit;

    t->memlock = -1;
    if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0)
        t->memlock =
            limit.rlim_cur >= (rlim_t)NI_UNLIMITED ? NI_UNLIMITED : (int64_t)limit.rlim_cur;
}

void ni_try_port(const struct ni_trials *all, struct ni_trial *t)
{
    struct ni_loop loop = {0};

    note_limit(t);
    loop.context = ni_open_device(t);
    if (!loop.context || !ask_device(&loop, t))
        return;
    if (!all->probe && !(ask_port(&loop, t) && ask_gid(&loop, t) && allocate(&loop, all->size, t) &&
                         pin(&loop, all->size, t) && ni_loop_connect(&loop, t) &&
                         ni_loop_move(&loop, all->bytes, t)))
        return;
    t->err = 0;
    t->step = NI_STEP_DONE;
}
