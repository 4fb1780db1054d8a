/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for HCAs: a libibverbs.so.1 (and libmlx5.so.1) of RC queue pairs between the processes of
   one machine, over Unix sockets, so that real NCCL runs its whole IB transport, GPUDirect by DMA-BUF
   too. It shows what NCCL and our settings do, and nothing of a NIC.

   A queue pair number has 12 bits for the process, which is its socket in HCA_DIR, and 12 for the pair.
   A thread for each pair sends, one for each connection receives; each request has an answer. Only what
   NCCL and our trials need is there: RDMA WRITE, with immediate data or without, and RDMA READ of the own process
   (a flush).
   A write into GPU memory goes to the iova that NCCL gives, which is the address in CUDA. On an error
   the pair goes to ERR, and what is posted is flushed with 5, as on a ConnectX; vendor_err is that of
   public logs.

   HCA_DEVICES   mlx5_0,-mlx5_1   names in the driver's order; "-": the port is down
   HCA_HOST      number of the node: GID 10.0.(100 + device).(host + 1) at index 2 and 3 (v1, v2), and a
                 link-local one at 0 and 1; LID
   HCA_DIR       folder of the sockets, one for all ranks of a job, and a new one for each job
   HCA_LINK      ib: InfiniBand
   HCA_RAILS     1: devices of different numbers do not reach each other (status 12)
   HCA_RTR       errno=19         ibv_modify_qp to RTR gives it: no connection
   HCA_REG       errno=12,after=6,on=any   registrations fail; on=gpu: those of GPU memory
   HCA_FAIL      status=12,after=200,on=data   a completion error at write 201 of this process; on: data,
                 fifo, any; 12 and 13 for all pairs from then on, others once
   HCA_EVENT     type=port_err,after=200   an asynchronous event, by name or number
   HCA_HANG      after=200        from then on nothing is sent or completed
   HCA_SLOW      usec=5000        before each write
   HCA_WAIT      microseconds until an unanswered write fails, in place of the pair's own time-out
   HCA_DMABUF    0: not supported
   HCA_PEERMEM   1: ibv_reg_mr takes GPU memory
   HCA_GPU       what goes wrong with writes into GPU memory. swap: two pages change places; shift: they
                 land 4096 bytes further on; late: they land 20 ms later; refuse: none lands (status 12)
   HCA_LOG       a file, for what happens

   NCCL needs NCCL_GIN_TYPE=0 beside it: GPU-initiated networking wants a real mlx5. */
#define _GNU_SOURCE
#include <infiniband/verbs.h>

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_get_device_list
#undef ibv_reg_mr_iova

enum {
    DEVICES = 32,
    QPS = 4096,
    MRS = 1 << 14,
    LANES = 64,
    PIECE = 1 << 20,
    SGES = 4,
    INLINE = 256
};

/* ---- what the environment says ------------------------------------------------------------------- */

static struct ibv_device devices[DEVICES];
static int down[DEVICES];
static int count;
static int host;        /* HCA_HOST: makes GIDs, GUIDs and LIDs differ between "nodes" */
static bool infiniband; /* HCA_LINK=ib */
static bool rails;      /* HCA_RAILS=1: devices of different numbers do not reach each other */
static long
    patience; /* HCA_WAIT: microseconds until a write that nobody answers fails; else by the timeout */
static const char *folder; /* HCA_DIR: sockets */
static FILE *trace;        /* HCA_LOG: a file */
struct plan {
    long status, type, errnum, usec, after; /* after < 0: not planned */
    char on[16];
};
static struct plan fail_plan, event_plan, hang_plan, slow_plan, rtr_plan, reg_plan;
static atomic_long data_writes, fifo_writes, registrations;

static void note(const char *form, ...)
{
    char line[512];
    struct timespec now;
    va_list list;
    int at;

    if (!trace)
        return;
    clock_gettime(CLOCK_MONOTONIC, &now);
    at = snprintf(line, sizeof line, "%ld.%06ld %d ", (long)now.tv_sec, now.tv_nsec / 1000,
                  (int)getpid());
    va_start(list, form);
    vsnprintf(line + at, sizeof line - (size_t)at - 1, form, list);
    va_end(list);
    strcat(line, "\n");
    fputs(line, trace);
    fflush(trace);
}

/* "status=12 after=100 on=data" */
static struct plan planned(const char *name, const char *on)
{
    struct plan plan = {.after = -1};
    const char *text = getenv(name);
    char copy[256], *rest = copy, *word;
    static const char *const events[] = {[IBV_EVENT_QP_FATAL] = "qp_fatal",
                                         [IBV_EVENT_QP_ACCESS_ERR] = "qp_access",
                                         [IBV_EVENT_DEVICE_FATAL] = "device_fatal",
                                         [IBV_EVENT_PORT_ACTIVE] = "port_active",
                                         [IBV_EVENT_PORT_ERR] = "port_err",
                                         [IBV_EVENT_LID_CHANGE] = "lid_change",
                                         [IBV_EVENT_CQ_ERR] = "cq_err",
                                         [IBV_EVENT_PKEY_CHANGE] = "pkey_change",
                                         [IBV_EVENT_SM_CHANGE] = "sm_change",
                                         [IBV_EVENT_CLIENT_REREGISTER] = "reregister",
                                         [IBV_EVENT_GID_CHANGE] = "gid_change"};

    snprintf(plan.on, sizeof plan.on, "%s", on);
    if (!text || !*text)
        return plan;
    plan.after = 0;
    snprintf(copy, sizeof copy, "%s", text);
    while ((word = strsep(&rest, " ,"))) {
        char *value = strchr(word, '=');
        if (!value)
            continue;
        *value++ = 0;
        if (!strcmp(word, "status"))
            plan.status = atol(value);
        else if (!strcmp(word, "after"))
            plan.after = atol(value);
        else if (!strcmp(word, "errno"))
            plan.errnum = atol(value);
        else if (!strcmp(word, "usec"))
            plan.usec = atol(value);
        else if (!strcmp(word, "on"))
            snprintf(plan.on, sizeof plan.on, "%s", value);
        else if (!strcmp(word, "type")) {
            plan.type = atol(value);
            for (size_t i = 0; i < sizeof events / sizeof *events; i++)
                if (events[i] && !strcmp(events[i], value))
                    plan.type = (long)i;
        }
    }
    return plan;
}

static void configure(void)
{
    const char *text;
    char copy[2048], *rest = copy, *name;

    signal(SIGPIPE, SIG_IGN);
    host = (text = getenv("HCA_HOST")) ? atoi(text) : getpid() % 250;
    patience = (text = getenv("HCA_WAIT")) ? atol(text) : 0;
    infiniband = (text = getenv("HCA_LINK")) && !strcasecmp(text, "ib");
    rails = (text = getenv("HCA_RAILS")) && atoi(text);
    folder = (text = getenv("HCA_DIR")) && *text ? text : "/tmp/hca";
    mkdir(folder, 0700);
    if ((text = getenv("HCA_LOG")) && *text)
        trace = fopen(text, "ae");
    fail_plan = planned("HCA_FAIL", "data");
    event_plan = planned("HCA_EVENT", "data");
    hang_plan = planned("HCA_HANG", "data");
    slow_plan = planned("HCA_SLOW", "data");
    rtr_plan = planned("HCA_RTR", "");
    reg_plan = planned("HCA_REG", "any");
    text = getenv("HCA_DEVICES");
    snprintf(copy, sizeof copy, "%s", text ? text : "mlx5_0");
    while ((name = strsep(&rest, ",")) && count < DEVICES) {
        down[count] = *name == '-';
        snprintf(devices[count].name, sizeof devices[count].name, "%s", name + down[count]);
        snprintf(devices[count].dev_name, sizeof devices[count].dev_name, "uverbs%d", count);
        devices[count].node_type = IBV_NODE_CA;
        devices[count].transport_type = IBV_TRANSPORT_IB;
        count++;
    }
}

static void ready(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, configure);
}

static void doze(long usec)
{
    struct timespec t = {usec / 1000000, usec % 1000000 * 1000};

    while (nanosleep(&t, &t) && errno == EINTR)
        ;
}

static pthread_t thread(void *(*run)(void *), void *of)
{
    sigset_t all, old;
    pthread_t made = 0;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    if (pthread_create(&made, NULL, run, of) == 0)
        pthread_detach(made);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return made;
}

/* ---- GPU memory: copies through pinned memory, on streams of our own ------------------------------ */

static int (*cu_attribute)(void *, int, unsigned long long);
static int (*cu_device)(int *, int);
static int (*cu_primary)(void **, int);
static int (*cu_current)(void *);
static int (*cu_get_current)(void **);
static int (*cu_stream)(void **, unsigned);
static int (*cu_sync)(void *);
static int (*cu_to_device)(unsigned long long, const void *, size_t, void *);
static int (*cu_from_device)(void *, unsigned long long, size_t, void *);
static int (*cu_pinned)(void **, size_t, unsigned);
static int (*cu_capture)(int *);
static int (*cu_create)(void **, unsigned, int);
static int (*cu_pop)(void **);

static struct lane {
    pthread_mutex_t lock;
    void *stream;
    char *memory;
} lanes[LANES];
static void *own; /* a context beside the primary one */

/* the driver, if the process has loaded it */
static bool cuda(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool have;
    void *lib;

    pthread_mutex_lock(&lock);
    if (!have && (lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD))) {
        cu_device = (int (*)(int *, int))dlsym(lib, "cuDeviceGet");
        cu_primary = (int (*)(void **, int))dlsym(lib, "cuDevicePrimaryCtxRetain");
        cu_current = (int (*)(void *))dlsym(lib, "cuCtxSetCurrent");
        cu_get_current = (int (*)(void **))dlsym(lib, "cuCtxGetCurrent");
        cu_stream = (int (*)(void **, unsigned))dlsym(lib, "cuStreamCreate");
        cu_sync = (int (*)(void *))dlsym(lib, "cuStreamSynchronize");
        cu_to_device = (int (*)(unsigned long long, const void *, size_t, void *))dlsym(
            lib, "cuMemcpyHtoDAsync_v2");
        cu_from_device =
            (int (*)(void *, unsigned long long, size_t, void *))dlsym(lib, "cuMemcpyDtoHAsync_v2");
        cu_pinned = (int (*)(void **, size_t, unsigned))dlsym(lib, "cuMemHostAlloc");
        cu_capture = (int (*)(int *))dlsym(lib, "cuThreadExchangeStreamCaptureMode");
        cu_create = (int (*)(void **, unsigned, int))dlsym(lib, "cuCtxCreate_v2");
        cu_pop = (int (*)(void **))dlsym(lib, "cuCtxPopCurrent_v2");
        cu_attribute =
            (int (*)(void *, int, unsigned long long))dlsym(lib, "cuPointerGetAttribute");
        have = cu_attribute && cu_current && cu_stream && cu_sync && cu_to_device &&
               cu_from_device && cu_pinned;
    }
    pthread_mutex_unlock(&lock);
    return have;
}

/* is there GPU memory at this address? Then streams and pinned memory are made now, before kernels of the communicator
   run: an allocation could wait for those, and they wait for us. The streams are of a context of their own: copies that
   the program has queued behind a collective would else block the hardware's queues, ours with them, and the collective
   waits for us. That helps for memory of cuMemCreate, which NCCL uses; copies of other memory go by its own context. */
static bool on_gpu(uint64_t address)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    unsigned type = 0;
    int ordinal = 0, device = 0, error = 0;
    void *away = NULL, *before = NULL;
    char *memory = NULL;

    if (!cuda() || cu_attribute(&type, 2 /* MEMORY_TYPE */, address) || type != 2 /* DEVICE */)
        return false;
    pthread_mutex_lock(&lock);
    if (!own) {
        bool second = cu_create && cu_pop;

        cu_attribute(&ordinal, 9 /* DEVICE_ORDINAL */, address);
        cu_get_current(&before);
        error = cu_device(&device, ordinal);
        if (!error && second && cu_create(&own, 0, device) != 0)
            second = false;
        if (!error && !second)
            error = cu_primary(&own, device);
        if (!error && !second)
            error = cu_current(own);
        if (!error)
            error = cu_pinned((void **)&memory, (size_t)LANES * PIECE, 1 /* PORTABLE */);
        for (int i = 0; !error && i < LANES; i++) {
            pthread_mutex_init(&lanes[i].lock, NULL);
            lanes[i].memory = memory + (size_t)i * PIECE;
            error = cu_stream(&lanes[i].stream, 1 /* NON_BLOCKING */);
        }
        if (second)
            cu_pop(&away);
        else
            cu_current(before);
        note("GPU %d: streams and pinned memory of the %s context, error %d", ordinal,
             second ? "second" : "primary", error);
    }
    pthread_mutex_unlock(&lock);
    return true;
}

static struct lane *take_lane(void)
{
    static atomic_int next;
    static __thread struct lane *mine;
    int relaxed = 2;

    if (!mine) {
        mine = &lanes[atomic_fetch_add(&next, 1) % LANES];
        cu_current(own);
        if (cu_capture)
            cu_capture(&relaxed);
    }
    pthread_mutex_lock(&mine->lock);
    return mine;
}

/* ---- memory regions ------------------------------------------------------------------------------- */

struct region {
    struct ibv_mr mr;
    uint64_t start;
    int access;
    bool gpu;
};
static struct region *regions[MRS];
static pthread_rwlock_t regions_lock = PTHREAD_RWLOCK_INITIALIZER;

static uint32_t key_of(unsigned slot)
{
    return 0x180000u + slot * 0x101u;
}

/* 0, or what is wrong: no such key, outside of it, not allowed */
static int find(uint32_t key, uint64_t at, uint64_t length, int access, bool *gpu)
{
    unsigned slot = (key - 0x180000u) / 0x101u;
    int wrong = 1;

    pthread_rwlock_rdlock(&regions_lock);
    if (key >= 0x180000u && slot < MRS && key_of(slot) == key && regions[slot]) {
        struct region *r = regions[slot];
        wrong = at < r->start || at + length > r->start + r->mr.length ? 2
                : (r->access & access) != access                       ? 3
                                                                       : 0;
        *gpu = r->gpu;
    }
    pthread_rwlock_unlock(&regions_lock);
    return wrong;
}

static struct ibv_mr *enter(struct ibv_pd *pd, void *at, size_t length, uint64_t start, int access,
                            bool gpu)
{
    static unsigned last;
    struct region *r;
    unsigned slot = 0;

    if (reg_plan.errnum && (strcmp(reg_plan.on, "gpu") != 0 || gpu) &&
        atomic_fetch_add(&registrations, 1) >= reg_plan.after) {
        errno = (int)reg_plan.errnum;
        return NULL;
    }
    if (!(r = calloc(1, sizeof *r)))
        return NULL;
    pthread_rwlock_wrlock(&regions_lock);
    for (unsigned i = 0; i < MRS && !slot; i++)
        if (!regions[(last + i) % (MRS - 1) + 1])
            slot = (last + i) % (MRS - 1) + 1;
    if (slot) {
        last = slot;
        regions[slot] = r;
    }
    pthread_rwlock_unlock(&regions_lock);
    if (!slot) {
        free(r);
        errno = ENOMEM;
        return NULL;
    }
    r->mr = (struct ibv_mr){.context = pd->context,
                            .pd = pd,
                            .addr = at,
                            .length = length,
                            .handle = slot,
                            .lkey = key_of(slot),
                            .rkey = key_of(slot)};
    r->start = start;
    r->access = access;
    r->gpu = gpu;
    note("mr %#x: %#llx+%zu access %#x%s", r->mr.lkey, (unsigned long long)start, length, access,
         gpu ? " GPU" : "");
    return &r->mr;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *at, size_t length, int access)
{
    bool gpu = on_gpu((uint64_t)(uintptr_t)at);
    const char *peermem = getenv("HCA_PEERMEM");

    if (gpu && !(peermem &&
                 atoi(peermem))) { /* without nvidia-peermem the kernel does not find the pages */
        errno = EFAULT;
        return NULL;
    }
    return enter(pd, at, length, (uint64_t)(uintptr_t)at, access, gpu);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *at, size_t length, uint64_t iova,
                                unsigned access)
{
    struct ibv_mr *mr;

    if (!pd)
        return NULL;
    mr = ibv_reg_mr(pd, at, length, (int)access);
    if (mr)
        regions[mr->handle]->start = iova;
    return mr;
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
                                 int fd, int access)
{
    const char *text = getenv("HCA_DMABUF");
    char link[64], to[128];
    ssize_t got;

    if (text && !atoi(text)) {
        errno = EOPNOTSUPP;
        return NULL;
    }
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    got = fd < 0 ? -1 : readlink(link, to, sizeof to - 1);
    if (got < 0) {
        errno = EBADF;
        return NULL;
    }
    to[got] = 0;
    note("dmabuf fd %d is %s, offset %llu", fd, to, (unsigned long long)offset);
    if (!strstr(to, "dmabuf")) {
        errno = EINVAL;
        return NULL;
    }
    /* the iova that NCCL gives is the address in CUDA: that is where the bytes go */
    if (!on_gpu(iova)) {
        errno = EINVAL;
        return NULL;
    }
    return enter(pd, NULL, length, iova, access, true);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
    pthread_rwlock_wrlock(&regions_lock);
    regions[mr->handle] = NULL;
    pthread_rwlock_unlock(&regions_lock);
    free(mr);
    return 0;
}

/* ---- devices -------------------------------------------------------------------------------------- */

struct device_context {
    struct ibv_context context;
    int events[2];
};
static struct device_context *opened[DEVICES];

static int number(const struct ibv_context *context)
{
    return (int)(context->device - devices);
}

struct ibv_device **ibv_get_device_list(int *num)
{
    struct ibv_device **all = calloc(DEVICES + 1, sizeof *all);

    ready();
    for (int i = 0; all && i < count; i++)
        all[i] = &devices[i];
    if (num)
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

static int poll_cq(struct ibv_cq *, int, struct ibv_wc *);
static int post_send(struct ibv_qp *, struct ibv_send_wr *, struct ibv_send_wr **);
static int post_recv(struct ibv_qp *, struct ibv_recv_wr *, struct ibv_recv_wr **);

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
    struct device_context *c = calloc(1, sizeof *c);

    if (!c || pipe(c->events))
        return NULL;
    c->context.device = device;
    c->context.async_fd = c->events[0];
    c->context.ops.poll_cq = poll_cq;
    c->context.ops.post_send = post_send;
    c->context.ops.post_recv = post_recv;
    pthread_mutex_init(&c->context.mutex, NULL);
    opened[device - devices] = c;
    return &c->context;
}

int ibv_close_device(struct ibv_context *context)
{
    (void)context; /* its thread of asynchronous events still waits */
    return 0;
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
    struct device_context *c = (struct device_context *)context;

    return read(c->events[0], event, sizeof *event) == (ssize_t)sizeof *event ? 0 : -1;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
    (void)event;
}

static void happen(struct ibv_context *context, struct ibv_async_event event)
{
    struct device_context *c = (struct device_context *)context;

    note("%s: event %d", context->device->name, (int)event.event_type);
    if (event.event_type == IBV_EVENT_PORT_ERR)
        down[number(context)] = 1;
    if (write(c->events[1], &event, sizeof event) < 0)
        perror("hca: event");
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
    memset(attr, 0, sizeof *attr);
    attr->sys_image_guid = 0x1000u + (unsigned)(number(context) + 16 * host);
    attr->node_guid = attr->sys_image_guid;
    attr->vendor_id = 0x2c9;
    attr->vendor_part_id = 4129;
    attr->phys_port_cnt = 1;
    attr->max_qp = 1 << 17;
    attr->max_qp_wr = 1 << 15;
    attr->max_cqe = (1 << 22) - 1;
    attr->max_mr_size = UINT64_MAX;
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
        .pkey_tbl_len = 1,
        .lid = infiniband ? (uint16_t)(1 + number(context) + 16 * host) : 0,
        .active_width = 2,   /* 4X */
        .active_speed = 128, /* NDR */
        .phys_state = 5,
        .link_layer = infiniband ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET,
    };

    if (port != 1)
        return EINVAL;
    memcpy((void *)old, &attr, sizeof attr);
    return 0;
}

/* RoCE: link-local v1 and v2, an IPv4 address v1 and v2, nothing. InfiniBand: one GID */
int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
    (void)port;
    memset(gid, 0, sizeof *gid);
    if (index < 0 || index >= 16)
        return EINVAL;
    if (index == 0 || (index == 1 && !infiniband)) {
        gid->raw[0] = 0xfe;
        gid->raw[1] = 0x80;
        gid->raw[8] = 0x0c;
        gid->raw[9] = 0x42;
        gid->raw[14] = (uint8_t)host;
        gid->raw[15] = (uint8_t)(number(context) + 1);
    } else if (!infiniband && (index == 2 || index == 3)) {
        gid->raw[10] = gid->raw[11] = 0xff;
        gid->raw[12] = 10;
        gid->raw[14] = (uint8_t)(100 + number(context));
        gid->raw[15] = (uint8_t)(host + 1);
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

int ibv_fork_init(void)
{
    return 0;
}

const char *ibv_event_type_str(enum ibv_event_type type)
{
    static const char *const names[] = {"CQ error",
                                        "local work queue catastrophic error",
                                        "invalid request local work queue error",
                                        "local access violation work queue error",
                                        "communication established",
                                        "send queue drained",
                                        "path migrated",
                                        "path migration request error",
                                        "local catastrophic error",
                                        "port active",
                                        "port error",
                                        "LID change",
                                        "P_Key change",
                                        "SM change",
                                        "SRQ catastrophic error",
                                        "SRQ limit reached",
                                        "last WQE reached",
                                        "client reregistration",
                                        "GID table change"};

    return (unsigned)type < sizeof names / sizeof *names ? names[type] : "unknown";
}

/* ---- completion queues ---------------------------------------------------------------------------- */

struct queue { /* never freed: threads may still hold it */
    struct ibv_cq cq;
    pthread_mutex_t lock;
    struct ibv_wc *ring;
    unsigned head, tail, mask;
};

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int entries, void *mine,
                             struct ibv_comp_channel *channel, int vector)
{
    struct queue *q = calloc(1, sizeof *q);
    unsigned size = 1024;

    (void)channel, (void)vector;
    while (size < 4u * (unsigned)entries)
        size *= 2;
    if (!q || !(q->ring = calloc(size, sizeof *q->ring)))
        return NULL;
    q->mask = size - 1;
    q->cq.context = context;
    q->cq.cq_context = mine;
    q->cq.cqe = entries;
    pthread_mutex_init(&q->lock, NULL);
    return &q->cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
    (void)cq;
    return 0;
}

static void complete(struct ibv_cq *cq, const struct ibv_wc *wc)
{
    struct queue *q = (struct queue *)cq;

    pthread_mutex_lock(&q->lock);
    if (q->head - q->tail <= q->mask)
        q->ring[q->head++ & q->mask] = *wc;
    pthread_mutex_unlock(&q->lock);
}

static int poll_cq(struct ibv_cq *cq, int most, struct ibv_wc *wc)
{
    struct queue *q = (struct queue *)cq;
    int got = 0;

    if (__atomic_load_n(&q->head, __ATOMIC_RELAXED) == __atomic_load_n(&q->tail, __ATOMIC_RELAXED))
        return 0;
    pthread_mutex_lock(&q->lock);
    for (; got < most && q->tail != q->head; got++) {
        struct ibv_wc *from = &q->ring[q->tail++ & q->mask];
        if (from->status == IBV_WC_SUCCESS) {
            wc[got] = *from;
        } else { /* as mlx5: nothing else of a failed completion is written */
            wc[got].wr_id = from->wr_id;
            wc[got].status = from->status;
            wc[got].vendor_err = from->vendor_err;
            wc[got].qp_num = from->qp_num;
        }
    }
    pthread_mutex_unlock(&q->lock);
    return got;
}

/* ---- queue pairs ---------------------------------------------------------------------------------- */

struct work {
    struct work *next;
    uint64_t id, remote;
    uint32_t rkey, imm, length;
    int opcode, flags, sges;
    struct ibv_sge sge[SGES];
    char inlined[INLINE];
};

struct pair { /* never freed */
    struct ibv_qp qp;
    pthread_mutex_t lock;
    pthread_cond_t change;
    struct work *first, **last;
    uint64_t *recvs;
    unsigned recv_head, recv_tail, recv_mask;
    bool stop, hung, started, signals; /* signals: each request */
    int socket;
    long wait; /* microseconds until a write that nobody answers fails; 0: for ever */
    struct ibv_qp_attr attr;
    struct ibv_qp_cap cap;
};
static struct pair *pairs[QPS];
static pthread_mutex_t pairs_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned process; /* upper half of this process's queue pair numbers */

enum { HELLO = 0x48434130, NOBODY = 0xffff };
struct hello {
    uint32_t magic, from, to, device;
};
struct head {
    uint32_t opcode, rkey, imm, length;
    uint64_t remote;
};

static unsigned vendor_error(int status)
{
    switch (status) {
    case IBV_WC_LOC_PROT_ERR:
        return 81;
    case IBV_WC_WR_FLUSH_ERR:
        return 249;
    case IBV_WC_REM_INV_REQ_ERR:
        return 138;
    case IBV_WC_REM_ACCESS_ERR:
        return 136;
    case IBV_WC_REM_OP_ERR:
        return 137;
    case IBV_WC_RETRY_EXC_ERR:
        return 129;
    case IBV_WC_RNR_RETRY_EXC_ERR:
        return 135;
    default:
        return 0x68;
    }
}

static void failed(struct ibv_cq *cq, uint32_t number_, uint64_t id, int status)
{
    struct ibv_wc wc = {.wr_id = id,
                        .status = (enum ibv_wc_status)status,
                        .vendor_err = vendor_error(status),
                        .qp_num = number_};

    complete(cq, &wc);
}

/* with the lock held: what was posted to receive is flushed; the requester flushes the rest */
static void to_error(struct pair *p)
{
    if (p->qp.state == IBV_QPS_ERR)
        return;
    p->qp.state = IBV_QPS_ERR;
    while (p->recv_tail != p->recv_head)
        failed(p->qp.recv_cq, p->qp.qp_num, p->recvs[p->recv_tail++ & p->recv_mask],
               IBV_WC_WR_FLUSH_ERR);
    pthread_cond_broadcast(&p->change);
    note("qp %#x: error state", p->qp.qp_num);
}

static bool send_all(int to, const void *data, size_t size)
{
    const char *at = data;

    while (size > 0) {
        ssize_t sent = send(to, at, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        at += sent;
        size -= (size_t)sent;
    }
    return true;
}

static bool recv_all(int from, void *data, size_t size)
{
    char *at = data;

    while (size > 0) {
        ssize_t got = recv(from, at, size, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        size -= (size_t)got;
    }
    return true;
}

static struct pair *pair_of(uint32_t number_)
{
    struct pair *p = NULL;

    if (number_ >> 12 == process) {
        pthread_mutex_lock(&pairs_lock);
        p = pairs[number_ & (QPS - 1)];
        pthread_mutex_unlock(&pairs_lock);
    }
    return p;
}

/* ---- the responder: one thread for each connection that comes in ---------------------------------- */

static bool sink(int from, size_t size)
{
    char away[65536];

    for (size_t now; size > 0; size -= now) {
        now = size < sizeof away ? size : sizeof away;
        if (!recv_all(from, away, now))
            return false;
    }
    return true;
}

struct late {
    uint64_t at;
    size_t size;
    char bytes[];
};

static void *arrive_late(void *of)
{
    struct late *late = of;

    doze(20000);
    struct lane *lane = take_lane();
    for (size_t now, at = 0; at < late->size; at += now) {
        now = late->size - at < PIECE ? late->size - at : PIECE;
        memcpy(lane->memory, late->bytes + at, now);
        if (cu_to_device(late->at + at, lane->memory, now, lane->stream) || cu_sync(lane->stream))
            note("a late copy to the GPU failed");
    }
    pthread_mutex_unlock(&lane->lock);
    free(late);
    return NULL;
}

/* Copies to the GPU, with what is planted (HCA_GPU). */
static int to_gpu(uint64_t at, struct lane *lane, size_t size)
{
    const char *fault = getenv("HCA_GPU");
    char page[4096];
    int error;

    if (fault && !strcmp(fault, "late")) {
        struct late *late = malloc(sizeof *late + size);

        if (!late)
            return -1;
        late->at = at;
        late->size = size;
        memcpy(late->bytes, lane->memory, size);
        return thread(arrive_late, late) ? 0 : -1;
    }
    if (fault && !strcmp(fault, "swap") && size >= 8 * sizeof page) {
        memcpy(page, lane->memory + 3 * sizeof page, sizeof page);
        memcpy(lane->memory + 3 * sizeof page, lane->memory + 5 * sizeof page, sizeof page);
        memcpy(lane->memory + 5 * sizeof page, page, sizeof page);
    }
    if (fault && !strcmp(fault, "shift"))
        at += sizeof page;
    if (fault && !strcmp(fault, "refuse"))
        return -1;
    error = cu_to_device(at, lane->memory, size, lane->stream);
    return error ? error : cu_sync(lane->stream);
}

static bool place(int from, uint64_t at, size_t size, bool gpu)
{
    bool fine = true;

    if (!gpu)
        return recv_all(from, (void *)(uintptr_t)at, size);
    struct lane *lane = take_lane();
    for (size_t now; fine && size > 0; size -= now, at += now) {
        int error = 0;
        now = size < PIECE ? size : PIECE;
        fine = recv_all(from, lane->memory, now);
        if (fine && (error = to_gpu(at, lane, now))) {
            note("copy to the GPU at %#llx: error %d", (unsigned long long)at, error);
            fprintf(stderr, "hca: copy to the GPU: CUDA error %d\n", error);
            fine = false;
        }
    }
    pthread_mutex_unlock(&lane->lock);
    return fine;
}

/* Refuses a request whose key does not allow it. */
static bool refuse(struct pair *p, int from, const struct head *head)
{
    struct ibv_async_event event = {.element.qp = &p->qp, .event_type = IBV_EVENT_QP_ACCESS_ERR};

    note("qp %#x: rkey %#x does not allow %#llx+%u", p->qp.qp_num, head->rkey,
         (unsigned long long)head->remote, head->length);
    if (!sink(from, head->length))
        return false;
    pthread_mutex_lock(&p->lock);
    to_error(p);
    pthread_mutex_unlock(&p->lock);
    happen(p->qp.context, event);
    return true;
}

/* Completes what was posted to receive; waits for it, as a receiver that is not ready. false: the pair
   has ended. */
static bool tell_receiver(struct pair *p, const struct head *head, uint32_t sender)
{
    struct ibv_wc wc = {.status = IBV_WC_SUCCESS,
                        .opcode = IBV_WC_RECV_RDMA_WITH_IMM,
                        .byte_len = head->length,
                        .imm_data = head->imm,
                        .qp_num = p->qp.qp_num,
                        .src_qp = sender,
                        .wc_flags = IBV_WC_WITH_IMM};

    pthread_mutex_lock(&p->lock);
    while (p->recv_head == p->recv_tail && !p->stop && p->qp.state != IBV_QPS_ERR)
        pthread_cond_wait(&p->change, &p->lock);
    const bool over = p->stop || p->qp.state == IBV_QPS_ERR;
    if (!over)
        wc.wr_id = p->recvs[p->recv_tail++ & p->recv_mask];
    pthread_mutex_unlock(&p->lock);
    if (!over)
        complete(p->qp.recv_cq, &wc);
    return !over;
}

/* Returns true if the pair does not listen to that sender. */
static bool is_deaf(struct pair *p, const struct hello *hello)
{
    const bool apart = rails && hello->device != (uint32_t)number(p->qp.context);

    pthread_mutex_lock(&p->lock);
    const bool deaf = apart || p->stop ||
                      (p->qp.state != IBV_QPS_RTR && p->qp.state != IBV_QPS_RTS) ||
                      p->attr.dest_qp_num != hello->from;
    pthread_mutex_unlock(&p->lock);
    return deaf;
}

static void *responder(void *of)
{
    int from = (int)(intptr_t)of;
    struct hello hello;
    struct head head;
    struct pair *p = NULL;

    if (recv_all(from, &hello, sizeof hello) && hello.magic == HELLO)
        p = pair_of(hello.to);
    while (p && recv_all(from, &head, sizeof head)) {
        bool gpu = false, fine;
        uint32_t answer = IBV_WC_SUCCESS;

        if (is_deaf(p, &hello)) { /* no answer: the sender's retries will be exceeded */
            if (!sink(from, head.length))
                break;
            continue;
        }
        if (head.length > 0 &&
            find(head.rkey, head.remote, head.length, IBV_ACCESS_REMOTE_WRITE, &gpu)) {
            answer = IBV_WC_REM_ACCESS_ERR;
            fine = refuse(p, from, &head);
        } else {
            fine = place(from, head.remote, head.length, gpu);
            if (fine && head.opcode == IBV_WR_RDMA_WRITE_WITH_IMM &&
                !tell_receiver(p, &head, hello.from))
                continue;
        }
        if (!fine || !send_all(from, &answer, sizeof answer))
            break;
    }
    close(from);
    return NULL;
}

static void *listener(void *of)
{
    int at = (int)(intptr_t)of;

    for (;;) {
        int one = accept4(at, NULL, NULL, SOCK_CLOEXEC);
        if (one >= 0)
            thread(responder, (void *)(intptr_t)one);
        else if (errno != EINTR && errno != ECONNABORTED)
            doze(10000);
    }
    return NULL;
}

static void address_of(unsigned which, struct sockaddr_un *to)
{
    memset(to, 0, sizeof *to);
    to->sun_family = AF_UNIX;
    snprintf(to->sun_path, sizeof to->sun_path, "%s/%u", folder, which);
}

static void listen_once(void)
{
    unsigned start = (unsigned)getpid() % 4000;

    for (unsigned i = 0; i < 4000; i++) {
        unsigned which = 1 + (start + i) % 4000;
        int at = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), try;
        struct sockaddr_un to;

        address_of(which, &to);
        if (bind(at, (struct sockaddr *)&to, sizeof to) && errno == EADDRINUSE) {
            try = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
            if (connect(try, (struct sockaddr *)&to, sizeof to) && errno == ECONNREFUSED)
                unlink(
                    to.sun_path); /* of a process that is gone; its number is not taken now, only later */
            close(try);
            close(at);
            continue;
        }
        if (listen(at, 512)) {
            close(at);
            break;
        }
        process = which;
        thread(listener, (void *)(intptr_t)at);
        return;
    }
    fprintf(stderr, "hca: no socket in %s\n", folder);
}

/* ---- the requester: one thread for each queue pair ------------------------------------------------ */

static int reach(struct pair *p)
{
    struct hello hello = {HELLO, p->qp.qp_num, p->attr.dest_qp_num,
                          (uint32_t)number(p->qp.context)};
    struct sockaddr_un to;
    int size = 1 << 22;

    address_of(p->attr.dest_qp_num >> 12, &to);
    p->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(p->socket, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size);
    if (connect(p->socket, (struct sockaddr *)&to, sizeof to) ||
        !send_all(p->socket, &hello, sizeof hello)) {
        close(p->socket);
        p->socket = -1;
        return -1;
    }
    return 0;
}

/* the bytes of a request, from this process's memory to the socket */
static bool fetch(int to, uint64_t at, size_t size, bool gpu)
{
    bool fine = true;

    if (!gpu)
        return send_all(to, (const void *)(uintptr_t)at, size);
    struct lane *lane = take_lane();
    for (size_t now; fine && size > 0; size -= now, at += now) {
        int error;
        now = size < PIECE ? size : PIECE;
        if ((error = cu_from_device(lane->memory, at, now, lane->stream)) ||
            (error = cu_sync(lane->stream))) {
            note("copy from the GPU at %#llx: error %d", (unsigned long long)at, error);
            fprintf(stderr, "hca: copy from the GPU: CUDA error %d\n", error);
            fine = false;
        } else {
            fine = send_all(to, lane->memory, now);
        }
    }
    pthread_mutex_unlock(&lane->lock);
    return fine;
}

/* a read of this process's own memory: NCCL's flush, and what a queue pair reads of another of this process */
static int read_own(struct work *w)
{
    bool from_gpu = false, gpu = false, fine = true;

    if (w->sges != 1 ||
        find(w->sge[0].lkey, w->sge[0].addr, w->length, IBV_ACCESS_LOCAL_WRITE, &gpu) || gpu)
        return IBV_WC_LOC_PROT_ERR;
    if (find(w->rkey, w->remote, w->length, IBV_ACCESS_REMOTE_READ, &from_gpu))
        return IBV_WC_REM_ACCESS_ERR;
    if (!from_gpu) {
        memcpy((void *)(uintptr_t)w->sge[0].addr, (void *)(uintptr_t)w->remote, w->length);
        return IBV_WC_SUCCESS;
    }
    struct lane *lane = take_lane();
    for (uint32_t at = 0, now; fine && at < w->length; at += now) {
        now = w->length - at < PIECE ? w->length - at : PIECE;
        fine = !cu_from_device(lane->memory, w->remote + at, now, lane->stream) &&
               !cu_sync(lane->stream);
        if (fine)
            memcpy((void *)(uintptr_t)(w->sge[0].addr + at), lane->memory, now);
    }
    pthread_mutex_unlock(&lane->lock);
    return fine ? IBV_WC_SUCCESS : IBV_WC_REM_OP_ERR;
}

static bool due(const struct plan *plan, bool data, long writes)
{
    if (plan->after < 0)
        return false;
    return (!strcmp(plan->on, "any") || !strcmp(plan->on, data ? "data" : "fifo")) &&
           writes > plan->after;
}

enum { NEVER = -1 };

/* The event that is planned, once. */
static void happen_planned(struct pair *p)
{
    static atomic_bool told;
    struct ibv_async_event event = {.event_type = (enum ibv_event_type)event_plan.type};

    if (atomic_exchange(&told, true))
        return;
    if (event_plan.type <= IBV_EVENT_QP_ACCESS_ERR)
        event.element.qp = &p->qp;
    if (event_plan.type == IBV_EVENT_CQ_ERR)
        event.element.cq = p->qp.send_cq;
    else if (event_plan.type > IBV_EVENT_QP_ACCESS_ERR)
        event.element.port_num = p->attr.port_num;
    happen(p->qp.context, event);
}

/* What is planned for this write: a status, NEVER, or 0: it is sent, perhaps with a wrong key. */
static int mishap(struct pair *p, struct head *head, bool data)
{
    static atomic_bool broken;
    const long writes = atomic_fetch_add(data ? &data_writes : &fifo_writes, 1) + 1;

    if (due(&event_plan, data, writes))
        happen_planned(p);
    if (due(&hang_plan, data, writes)) {
        note("qp %#x: hangs at write %ld", p->qp.qp_num, writes);
        return NEVER;
    }
    if (due(&slow_plan, data, writes))
        doze(slow_plan.usec);
    if (due(&fail_plan, data, writes)) {
        bool again = atomic_exchange(&broken, true);
        note("qp %#x: status %ld at write %ld", p->qp.qp_num, fail_plan.status, writes);
        switch (fail_plan.status) {
        case IBV_WC_RETRY_EXC_ERR: /* the path is gone: it stays so for every queue pair */
        case IBV_WC_RNR_RETRY_EXC_ERR:
            doze(p->wait ? p->wait : 1000000);
            return (int)fail_plan.status;
        case IBV_WC_REM_ACCESS_ERR: /* the other side is made to refuse: only once */
            if (!again)
                head->rkey = 0xdead;
            break;
        default:
            if (!again)
                return (int)fail_plan.status;
        }
    }
    return 0;
}

/* Sends the request and its bytes. */
static bool send_request(struct pair *p, struct work *w, const struct head *head,
                         const bool gpu[SGES])
{
    if (p->socket < 0 || !send_all(p->socket, head, sizeof *head))
        return false;
    if (w->flags & IBV_SEND_INLINE)
        return send_all(p->socket, w->inlined, w->length);
    for (int i = 0; i < w->sges; i++)
        if (!fetch(p->socket, w->sge[i].addr, w->sge[i].length, gpu[i]))
            return false;
    return true;
}

/* Does a request; its status, or NEVER. */
static int perform(struct pair *p, struct work *w)
{
    bool gpu[SGES] = {false}, data = w->opcode == IBV_WR_RDMA_WRITE_WITH_IMM || w->length > 4096;
    struct head head = {(uint32_t)w->opcode, w->rkey, w->imm, w->length, w->remote};
    struct timespec start, now;
    uint32_t answer;

    if (w->opcode == IBV_WR_RDMA_READ && p->attr.dest_qp_num >> 12 == process)
        return read_own(w);
    if (w->opcode != IBV_WR_RDMA_WRITE && w->opcode != IBV_WR_RDMA_WRITE_WITH_IMM)
        return IBV_WC_LOC_QP_OP_ERR;
    const int planned_status = mishap(p, &head, data);
    if (planned_status != 0)
        return planned_status;
    for (int i = 0; i < w->sges && !(w->flags & IBV_SEND_INLINE); i++)
        if (w->sge[i].length &&
            find(w->sge[i].lkey, w->sge[i].addr, w->sge[i].length, 0, &gpu[i])) {
            note("qp %#x: lkey %#x does not hold %#llx+%u", p->qp.qp_num, w->sge[i].lkey,
                 (unsigned long long)w->sge[i].addr, w->sge[i].length);
            return IBV_WC_LOC_PROT_ERR;
        }
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (bool sent = send_request(p, w, &head, gpu); sent;) {
        struct pollfd wait = {p->socket, POLLIN, 0};
        int got = poll(&wait, 1, p->wait ? (int)(p->wait / 1000 + 1) : -1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0)
            return IBV_WC_RETRY_EXC_ERR;
        if (got < 0 || !recv_all(p->socket, &answer, sizeof answer))
            break;
        return (int)answer;
    }
    /* the other process is gone: that looks like a network that loses everything */
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (!p->wait)
        return NEVER;
    long left =
        p->wait - ((now.tv_sec - start.tv_sec) * 1000000 + (now.tv_nsec - start.tv_nsec) / 1000);
    note("qp %#x: nobody answers, fails in %ld us", p->qp.qp_num, left);
    if (left > 0)
        doze(left);
    return IBV_WC_RETRY_EXC_ERR;
}

static void *requester(void *of)
{
    struct pair *p = of;

    for (;;) {
        struct work *w;
        int status;
        bool error;

        pthread_mutex_lock(&p->lock);
        while (!p->first && !p->stop)
            pthread_cond_wait(&p->change, &p->lock);
        if (p->stop) {
            pthread_mutex_unlock(&p->lock);
            break;
        }
        w = p->first;
        p->first = w->next;
        if (!p->first)
            p->last = &p->first;
        error = p->qp.state == IBV_QPS_ERR;
        pthread_mutex_unlock(&p->lock);

        status = error ? IBV_WC_WR_FLUSH_ERR : p->hung ? NEVER : perform(p, w);
        if (status == NEVER) {
            p->hung = true;
        } else if (status) {
            failed(p->qp.send_cq, p->qp.qp_num, w->id, status);
            pthread_mutex_lock(&p->lock);
            to_error(p);
            pthread_mutex_unlock(&p->lock);
        } else if (p->signals || (w->flags & IBV_SEND_SIGNALED)) {
            struct ibv_wc wc = {.wr_id = w->id,
                                .status = IBV_WC_SUCCESS,
                                .byte_len = w->length,
                                .opcode = w->opcode == IBV_WR_RDMA_READ ? IBV_WC_RDMA_READ
                                                                        : IBV_WC_RDMA_WRITE,
                                .qp_num = p->qp.qp_num};
            complete(p->qp.send_cq, &wc);
        }
        free(w);
    }
    return NULL;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    struct pair *p = (struct pair *)qp;

    for (; wr; wr = wr->next) {
        struct work *w = calloc(1, sizeof *w);

        *bad = wr;
        if (!w)
            return ENOMEM;
        if (wr->num_sge > SGES || qp->state < IBV_QPS_RTS) {
            free(w);
            return EINVAL;
        }
        w->id = wr->wr_id;
        w->opcode = (int)wr->opcode;
        w->flags = (int)wr->send_flags;
        w->imm = wr->imm_data;
        w->remote = wr->wr.rdma.remote_addr;
        w->rkey = wr->wr.rdma.rkey;
        w->sges = wr->num_sge;
        for (int i = 0; i < wr->num_sge; i++) {
            w->sge[i] = wr->sg_list[i];
            if (wr->send_flags & IBV_SEND_INLINE) {
                if (w->length + wr->sg_list[i].length > INLINE) {
                    free(w);
                    return ENOMEM;
                }
                memcpy(w->inlined + w->length, (void *)(uintptr_t)wr->sg_list[i].addr,
                       wr->sg_list[i].length);
            }
            w->length += wr->sg_list[i].length;
        }
        pthread_mutex_lock(&p->lock);
        *p->last = w;
        p->last = &w->next;
        pthread_cond_broadcast(&p->change);
        pthread_mutex_unlock(&p->lock);
    }
    *bad = NULL;
    return 0;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    struct pair *p = (struct pair *)qp;
    int error = 0;

    pthread_mutex_lock(&p->lock);
    for (; wr; wr = wr->next) {
        *bad = wr;
        if (qp->state == IBV_QPS_ERR) {
            failed(qp->recv_cq, qp->qp_num, wr->wr_id, IBV_WC_WR_FLUSH_ERR);
        } else if (p->recv_head - p->recv_tail > p->recv_mask) {
            error = ENOMEM;
            break;
        } else {
            p->recvs[p->recv_head++ & p->recv_mask] = wr->wr_id;
        }
    }
    pthread_cond_broadcast(&p->change);
    pthread_mutex_unlock(&p->lock);
    return error;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static unsigned last;
    struct pair *p;
    unsigned size = 256, n = 0;

    pthread_once(&once, listen_once);
    if (!process || init->qp_type != IBV_QPT_RC || !(p = calloc(1, sizeof *p))) {
        errno = init->qp_type != IBV_QPT_RC ? EOPNOTSUPP : ENOMEM;
        return NULL;
    }
    while (size < init->cap.max_recv_wr)
        size *= 2;
    p->recvs = calloc(size, sizeof *p->recvs);
    p->recv_mask = size - 1;
    p->last = &p->first;
    p->socket = -1;
    p->cap = init->cap;
    p->signals = init->sq_sig_all != 0;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->change, NULL);
    p->qp.context = pd->context;
    p->qp.qp_context = init->qp_context;
    p->qp.pd = pd;
    p->qp.send_cq = init->send_cq;
    p->qp.recv_cq = init->recv_cq;
    p->qp.qp_type = init->qp_type;
    p->qp.state = IBV_QPS_RESET;
    pthread_mutex_lock(&pairs_lock);
    for (unsigned i = 0; i < QPS - 1 && !n; i++)
        if (!pairs[(last + i) % (QPS - 1) + 1])
            n = (last + i) % (QPS - 1) + 1;
    last = n;
    if (n)
        pairs[n] = p;
    pthread_mutex_unlock(&pairs_lock);
    if (!n) {
        errno = ENOMEM;
        return NULL;
    }
    p->qp.qp_num = process << 12 | n;
    return &p->qp;
}

static bool zero(const union ibv_gid *gid)
{
    static const union ibv_gid none;

    return !memcmp(gid, &none, sizeof none);
}

static int to_rtr(struct pair *p, struct ibv_qp_attr *attr)
{
    union ibv_gid own;

    if (rtr_plan.errnum)
        return (int)rtr_plan.errnum;
    if (!infiniband) {
        if (!attr->ah_attr.is_global)
            return EINVAL;
        ibv_query_gid(p->qp.context, 1, attr->ah_attr.grh.sgid_index, &own);
        if (zero(&own) || zero(&attr->ah_attr.grh.dgid))
            return EINVAL;
        if (own.raw[0] == 0xfe && attr->ah_attr.grh.dgid.raw[0] != 0xfe)
            return EINVAL; /* as rdma_resolve_ip: families differ. The other way round the kernel says nothing */
    }
    p->attr.ah_attr = attr->ah_attr;
    p->attr.path_mtu = attr->path_mtu;
    p->attr.dest_qp_num = attr->dest_qp_num;
    if (p->socket < 0 && reach(p) && !infiniband)
        return ETIMEDOUT;
    return 0;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    struct pair *p = (struct pair *)qp;
    int error = 0;

    if (!(mask & IBV_QP_STATE))
        return 0;
    if (attr->qp_state == IBV_QPS_ERR) {
        pthread_mutex_lock(&p->lock);
        to_error(p);
        pthread_mutex_unlock(&p->lock);
        return 0;
    }
    if (attr->qp_state == IBV_QPS_INIT) {
        p->attr.port_num = attr->port_num;
        p->attr.pkey_index = attr->pkey_index;
        p->attr.qp_access_flags = attr->qp_access_flags;
        error = attr->port_num != 1 || attr->pkey_index != 0 ? EINVAL : 0;
    } else if (attr->qp_state == IBV_QPS_RTR) {
        error = to_rtr(p, attr);
    } else if (attr->qp_state == IBV_QPS_RTS) {
        if (attr->timeout)
            p->wait = patience ? patience
                               : (long)(4.096 * (double)(1ull << (attr->timeout & 31)) *
                                        (attr->retry_cnt + 1));
        if (!p->started)
            p->started = thread(requester, p) != 0;
    }
    note("qp %#x: state %d, to %#x, sgid %d, tc %d, timeout %d: %d", qp->qp_num,
         (int)attr->qp_state, p->attr.dest_qp_num, p->attr.ah_attr.grh.sgid_index,
         p->attr.ah_attr.grh.traffic_class, attr->timeout, error);
    if (!error) {
        pthread_mutex_lock(&p->lock);
        qp->state = attr->qp_state;
        pthread_cond_broadcast(&p->change);
        pthread_mutex_unlock(&p->lock);
    }
    return error;
}

int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
                 struct ibv_qp_init_attr *init)
{
    struct pair *p = (struct pair *)qp;

    (void)mask;
    *attr = p->attr;
    attr->qp_state = attr->cur_qp_state = qp->state;
    attr->cap = p->cap;
    if (init) {
        memset(init, 0, sizeof *init);
        init->cap = p->cap;
        init->qp_type = qp->qp_type;
        init->send_cq = qp->send_cq;
        init->recv_cq = qp->recv_cq;
        init->qp_context = qp->qp_context;
    }
    return 0;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
    struct pair *p = (struct pair *)qp;

    pthread_mutex_lock(&pairs_lock);
    pairs[qp->qp_num & (QPS - 1)] = NULL;
    pthread_mutex_unlock(&pairs_lock);
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    qp->state = IBV_QPS_RESET;
    pthread_cond_broadcast(&p->change);
    pthread_mutex_unlock(&p->lock);
    if (p->socket >= 0)
        shutdown(p->socket, SHUT_RDWR);
    return 0;
}

int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
    (void)qp;
    *ece = (struct ibv_ece){.vendor_id = 0x15b3, .options = 0x30000002};
    return 0;
}

int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
    (void)qp, (void)ece;
    return 0;
}

/* ---- what NCCL asks of libmlx5 -------------------------------------------------------------------- */

bool mlx5dv_is_supported(struct ibv_device *device)
{
    return !strncmp(device->name, "mlx5_", 5);
}

int mlx5dv_get_data_direct_sysfs_path(struct ibv_context *context, char *path, size_t size)
{
    (void)context, (void)path, (void)size;
    return ENODEV;
}

struct ibv_mr *mlx5dv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
                                    uint64_t iova, int fd, int access, int mlx5_access)
{
    (void)mlx5_access;
    return ibv_reg_dmabuf_mr(pd, offset, length, iova, fd, access);
}
