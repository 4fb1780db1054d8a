/* SPDX-License-Identifier: Apache-2.0 */
/* A libibverbs.so.1 without devices behind it, for NCCL to load: it lists RoCE devices by name, answers what NCCL asks
   before the first connection, and refuses to connect. So a machine with GPUs and no HCA shows what NCCL makes of the
   variables that nccl-init wrote for another machine.

   FAKE_HCAS   names, with "-" in front when the port is down: mlx5_0,-mlx5_1
   FAKE_ERRNO  what ibv_modify_qp to RTR answers, 19 if not set */
#include <infiniband/verbs.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_get_device_list
#undef ibv_reg_mr_iova

enum { MOST = 64 };

static struct ibv_device devices[MOST];
static int down[MOST];
static int count;

static void list(void)
{
    const char *names = getenv("FAKE_HCAS");
    char copy[2048];
    char *rest = copy;
    char *name;

    if (count > 0)
        return;
    snprintf(copy, sizeof copy, "%s", names ? names : "mlx5_0");
    while ((name = strsep(&rest, ",")) && count < MOST) {
        down[count] = *name == '-';
        snprintf(devices[count].name, sizeof devices[count].name, "%s", name + down[count]);
        snprintf(devices[count].dev_name, sizeof devices[count].dev_name, "uverbs%d", count);
        devices[count].node_type = IBV_NODE_CA;
        devices[count].transport_type = IBV_TRANSPORT_IB;
        count++;
    }
}

static int number(const struct ibv_context *context)
{
    return (int)(context->device - devices);
}

struct ibv_device **ibv_get_device_list(int *num)
{
    struct ibv_device **all = calloc(MOST + 1, sizeof *all);

    list();
    for (int i = 0; all && i < count; i++)
        all[i] = &devices[i];
    *num = count;
    return all;
}

void ibv_free_device_list(struct ibv_device **all)
{
    free(all);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
    return device->name;
}

static int nothing_polled(struct ibv_cq *cq, int most, struct ibv_wc *wc)
{
    (void)cq, (void)most, (void)wc;
    return 0;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
    struct ibv_context *context = calloc(1, sizeof *context);

    if (context) {
        context->device = device;
        context->ops.poll_cq = nothing_polled;
    }
    return context;
}

int ibv_close_device(struct ibv_context *context)
{
    (void)context; /* its thread of asynchronous events still waits */
    return 0;
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
    (void)context, (void)event;
    for (;;)
        pause();
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
    (void)event;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
    memset(attr, 0, sizeof *attr);
    attr->sys_image_guid = 0x1000u + (unsigned)number(context);
    attr->phys_port_cnt = 1;
    attr->max_qp = 1 << 16;
    return 0;
}

/* the symbol is declared with the old, shorter struct; NCCL passes the whole one of its day */
int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *old)
{
    struct ibv_port_attr attr = {
        .state = down[number(context)] ? IBV_PORT_DOWN : IBV_PORT_ACTIVE,
        .max_mtu = IBV_MTU_4096,
        .active_mtu = IBV_MTU_4096,
        .gid_tbl_len = 16,
        .max_msg_sz = 1u << 30,
        .active_width = 2,   /* 4X */
        .active_speed = 128, /* NDR */
        .link_layer = IBV_LINK_LAYER_ETHERNET,
    };

    (void)port;
    memcpy((void *)old, &attr, sizeof attr);
    return 0;
}

/* the classic table: link-local v1 and v2, an IPv4 address v1 and v2, nothing */
int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
    (void)port;
    memset(gid, 0, sizeof *gid);
    if (index == 0 || index == 1) {
        gid->raw[0] = 0xfe;
        gid->raw[1] = 0x80;
        gid->raw[15] = (uint8_t)(number(context) + 1);
    } else if (index == 2 || index == 3) {
        gid->raw[10] = gid->raw[11] = 0xff;
        gid->raw[12] = 10;
        gid->raw[14] = (uint8_t)number(context);
        gid->raw[15] = (uint8_t)(getpid() % 250 + 1);
    }
    return 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
    struct ibv_pd *pd = calloc(1, sizeof *pd);

    if (pd)
        pd->context = context;
    return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
    free(pd);
    return 0;
}

static struct ibv_mr *region(struct ibv_pd *pd, void *at, size_t length)
{
    struct ibv_mr *mr = calloc(1, sizeof *mr);

    if (mr) {
        mr->context = pd->context;
        mr->pd = pd;
        mr->addr = at;
        mr->length = length;
        mr->lkey = mr->rkey = 1;
    }
    return mr;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *at, size_t length, int access)
{
    (void)access;
    return region(pd, at, length);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *at, size_t length, uint64_t iova,
                                unsigned access)
{
    (void)iova, (void)access;
    return pd ? region(pd, at, length) : NULL; /* without: NCCL only looks whether it is there */
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
                                 int fd, int access)
{
    (void)offset, (void)iova, (void)access;
    if (fd < 0) {
        errno = EBADF; /* as kernels and devices with DMA-BUF do */
        return NULL;
    }
    return region(pd, NULL, length);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
    free(mr);
    return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int entries, void *mine,
                             struct ibv_comp_channel *channel, int vector)
{
    struct ibv_cq *cq = calloc(1, sizeof *cq);

    (void)channel, (void)vector;
    if (cq) {
        cq->context = context;
        cq->cq_context = mine;
        cq->cqe = entries;
    }
    return cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
    free(cq);
    return 0;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    static unsigned last;
    struct ibv_qp *qp = calloc(1, sizeof *qp);

    if (qp) {
        qp->context = pd->context;
        qp->pd = pd;
        qp->send_cq = attr->send_cq;
        qp->recv_cq = attr->recv_cq;
        qp->qp_type = attr->qp_type;
        qp->qp_num = ++last;
    }
    return qp;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    const char *text = getenv("FAKE_ERRNO");

    if ((mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_RTR)
        return text ? atoi(text) : ENODEV;
    if (mask & IBV_QP_STATE)
        qp->state = attr->qp_state;
    return 0;
}

int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
                 struct ibv_qp_init_attr *init)
{
    (void)mask, (void)init;
    memset(attr, 0, sizeof *attr);
    attr->qp_state = qp->state;
    return 0;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
    free(qp);
    return 0;
}

int ibv_fork_init(void)
{
    return 0;
}

const char *ibv_event_type_str(enum ibv_event_type type)
{
    (void)type;
    return "event";
}
