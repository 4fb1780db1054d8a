/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a trial against a libibverbs of this file's own, which moves memory for real and holds
   each call to the rules of the real one. Only where libibverbs is a shared library, which can be
   taken from in front. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include <infiniband/verbs.h>

#include "nccl_init/verbs.h"

#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr

enum { PAGE = 4096, MIB = 1 << 20, LKEY = 0x11, RKEY = 0x22, RING = 256 };

/* Which call fails. */
enum call {
    NONE,
    GET_DEVICE_LIST,
    OPEN_NODE,
    OPEN_DEVICE,
    QUERY_DEVICE,
    GID_TABLE,
    ALLOC_PD,
    QUERY_PORT,
    QUERY_GID,
    REG_MR,
    CREATE_CQ,
    CREATE_QP,
    MODIFY_QP,
    POST_SEND,
    POLL_CQ
};

static struct {
    enum call call;
    int err;
    unsigned nth; /* the first call is 0 */

    const char *name; /* of the device in the list */
    struct ibv_port_attr port;
    struct ibv_gid_entry gid; /* the one there is */
    struct ibv_gid_entry table[3];
    ssize_t n_table;
    int dmabuf_err; /* 0: it is registered */
    struct ibv_device_attr attr;
    enum ibv_wr_opcode wc_of; /* the completion that fails: of these, ... */
    unsigned wc_nth, vendor_err;
    enum ibv_wc_status wc_status;
    int64_t corrupt_at; /* -1: none */

    unsigned calls[POLL_CQ + 1];
    struct ibv_device device, other;
    struct ibv_device *list[3];
    struct ibv_context context;
    struct ibv_pd pd;
    struct ibv_mr mr, dmabuf_mr;
    struct ibv_cq cq;
    struct ibv_qp qp[2];
    struct ibv_qp_attr rtr[2], rts[2];
    unsigned n_qp, depth;
    int cqe;
    uint8_t *memory;
    size_t length, part;
    struct {
        enum ibv_wr_opcode opcode;
        uint64_t from, to;
        uint32_t n;
    } ring[RING];
    unsigned head, flying, most_flying, completed[IBV_WR_RDMA_READ + 1];
    uint64_t moved[IBV_WR_RDMA_READ + 1], furthest;
    unsigned dmabuf_freed;
    uint32_t asked_gid;
} fake;

static bool fails(enum call call)
{
    return fake.calls[call]++ == fake.nth && fake.call == call;
}

/* NULL with errno, as calls do that give an object. */
static void *object(enum call call, void *it)
{
    if (!fails(call))
        return it;
    errno = fake.err;
    return NULL;
}

static int status(enum call call)
{
    return fails(call) ? fake.err : 0;
}

/* ---- libibverbs ---- */

int open(const char *path, int flags, ...)
{
    va_list ap;
    mode_t mode;

    if (strcmp(path, "/dev/infiniband/uverbs7") == 0) {
        if (fails(OPEN_NODE)) {
            errno = fake.err;
            return -1;
        }
        path = "/dev/null";
    }
    va_start(ap, flags);
    mode = (flags & O_CREAT) != 0 ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

struct ibv_device **ibv_get_device_list(int *n)
{
    assert_null(getenv("SYSFS_PATH"));
    (void)strcpy(fake.other.name, "mlx5_1");
    (void)strcpy(fake.device.name, fake.name);
    (void)strcpy(fake.device.dev_name, "uverbs7");
    fake.list[0] = &fake.other;
    fake.list[1] = &fake.device;
    *n = 2;
    return object(GET_DEVICE_LIST, fake.list);
}

void ibv_free_device_list(struct ibv_device **list)
{
    assert_ptr_equal(list, fake.list);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
    return device->name;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
    assert_ptr_equal(device, &fake.device);
    return object(OPEN_DEVICE, &fake.context);
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
    assert_ptr_equal(context, &fake.context);
    *attr = fake.attr;
    return status(QUERY_DEVICE);
}

ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t max,
                             uint32_t flags, size_t entry_size)
{
    assert_ptr_equal(context, &fake.context);
    assert_int_equal(flags, 0);
    assert_int_equal(entry_size, sizeof(*entries));
    assert_in_range(fake.n_table, 0, max);
    memcpy(entries, fake.table, (size_t)fake.n_table * sizeof(*entries));
    return fails(GID_TABLE) ? -fake.err : fake.n_table;
}

int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index,
                      struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size)
{
    assert_ptr_equal(context, &fake.context);
    assert_int_equal(port, 2);
    assert_int_equal(flags, 0);
    assert_int_equal(entry_size, sizeof(*entry));
    fake.asked_gid = index;
    *entry = fake.gid;
    return status(QUERY_GID);
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
    fake.pd.context = context;
    return object(ALLOC_PD, &fake.pd);
}

/* An invalid descriptor, as NCCL does it. */
struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
                                 int fd, int access)
{
    assert_ptr_equal(pd, &fake.pd);
    assert_int_equal(offset | length | iova, 0);
    assert_int_equal(fd, -1);
    assert_int_equal(access, 0);
    errno = fake.dmabuf_err;
    return fake.dmabuf_err == 0 ? &fake.dmabuf_mr : NULL;
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
    assert_ptr_equal(mr, &fake.dmabuf_mr);
    fake.dmabuf_freed++;
    return 0;
}

int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr)
{
    assert_ptr_equal(context, &fake.context);
    assert_int_equal(port, 2);
    memcpy(attr, &fake.port, sizeof(fake.port));
    return status(QUERY_PORT);
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
    assert_ptr_equal(pd, &fake.pd);
    assert_int_equal(access,
                     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
    fake.memory = addr;
    fake.length = length;
    fake.part = length / 3 / PAGE * PAGE;
    fake.mr = (struct ibv_mr){.pd = pd, .addr = addr, .length = length, .lkey = LKEY, .rkey = RKEY};
    return object(REG_MR, &fake.mr);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
                                unsigned int access)
{
    assert_int_equal(iova, (uintptr_t)addr);
    return ibv_reg_mr(pd, addr, length, (int)access);
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
                             struct ibv_comp_channel *channel, int vector)
{
    assert_null(cq_context);
    assert_null(channel);
    assert_int_equal(vector, 0);
    fake.cq.context = context;
    fake.cqe = cqe;
    return object(CREATE_CQ, &fake.cq);
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    struct ibv_qp *qp = object(CREATE_QP, &fake.qp[fake.n_qp]);

    assert_ptr_equal(pd, &fake.pd);
    assert_ptr_equal(attr->send_cq, &fake.cq);
    assert_ptr_equal(attr->recv_cq, &fake.cq);
    assert_int_equal(attr->qp_type, IBV_QPT_RC);
    assert_int_equal(attr->sq_sig_all, 1);
    assert_int_equal(attr->cap.max_send_sge, 1);
    assert_in_range(attr->cap.max_send_wr, 1, fake.cqe);
    fake.depth = attr->cap.max_send_wr;
    if (!qp)
        return NULL;
    *qp = (struct ibv_qp){
        .context = &fake.context, .qp_num = 100 + fake.n_qp, .state = IBV_QPS_RESET};
    fake.n_qp++;
    return qp;
}

/* What each state takes for RC (include/rdma/ib_verbs.h ib_modify_qp_is_ok), no more. */
int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    static const int masks[] = {
        [IBV_QPS_INIT] = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
        [IBV_QPS_RTR] = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                        IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
        [IBV_QPS_RTS] = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                        IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC,
    };
    const ptrdiff_t i = qp - fake.qp;
    int err = status(MODIFY_QP);

    assert_int_equal(attr->qp_state, qp->state + 1);
    assert_int_equal(mask, masks[attr->qp_state]);
    if (attr->qp_state == IBV_QPS_INIT) {
        assert_int_equal(attr->port_num, 2);
        assert_int_equal(attr->qp_access_flags, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
    } else if (attr->qp_state == IBV_QPS_RTR) {
        assert_int_equal(attr->dest_qp_num, fake.qp[1 - i].qp_num);
        assert_int_equal(attr->path_mtu, fake.port.active_mtu);
        assert_int_equal(attr->ah_attr.port_num, 2);
        fake.rtr[i] = *attr;
    } else {
        fake.rts[i] = *attr;
    }
    if (err == 0)
        qp->state = attr->qp_state;
    return err;
}

static size_t offset_in(uint64_t addr, uint32_t n, unsigned part)
{
    const uint64_t begin = (uintptr_t)fake.memory + part * fake.part;

    assert_in_range(addr, begin, begin + fake.part - n);
    return addr - begin;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    const bool reads = wr->opcode == IBV_WR_RDMA_READ;
    const struct ibv_sge *sge = wr->sg_list;
    unsigned at = (fake.head + fake.flying) % RING;
    size_t offset;

    *bad = wr;
    if (fails(POST_SEND))
        return fake.err;
    assert_ptr_equal(qp, &fake.qp[0]);
    assert_int_equal(fake.qp[0].state, IBV_QPS_RTS);
    assert_int_equal(fake.qp[1].state, IBV_QPS_RTS);
    assert_true(reads || wr->opcode == IBV_WR_RDMA_WRITE);
    assert_null(wr->next);
    assert_int_equal(wr->num_sge, 1);
    assert_int_equal(sge->lkey, LKEY);
    assert_int_equal(wr->wr.rdma.rkey, RKEY);
    assert_in_range(sge->length, 1, MIB);
    offset = offset_in(sge->addr, sge->length, reads ? 2 : 0);
    assert_int_equal(offset_in(wr->wr.rdma.remote_addr, sge->length, 1), offset);
    assert_true(fake.flying < fake.depth);
    fake.ring[at].opcode = wr->opcode;
    fake.ring[at].from = reads ? wr->wr.rdma.remote_addr : sge->addr;
    fake.ring[at].to = reads ? sge->addr : wr->wr.rdma.remote_addr;
    fake.ring[at].n = sge->length;
    fake.flying++;
    if (fake.flying > fake.most_flying)
        fake.most_flying = fake.flying;
    fake.moved[wr->opcode] += sge->length;
    if (offset + sge->length > fake.furthest)
        fake.furthest = offset + sge->length;
    return 0;
}

/* Memory moves now, not when it was posted; and not at the first look. */
static int poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
    unsigned at = fake.head;
    enum ibv_wr_opcode opcode = fake.ring[at].opcode;

    assert_ptr_equal(cq, &fake.cq);
    assert_int_equal(n, 1);
    if (fails(POLL_CQ))
        return -fake.err;
    if (fake.calls[POLL_CQ] % 2 == 1)
        return 0;
    assert_true(fake.flying > 0);
    memset(wc, 0x5a, sizeof(*wc)); /* only status and opcode count */
    wc->status = IBV_WC_SUCCESS;
    wc->vendor_err = fake.vendor_err;
    fake.head = (fake.head + 1) % RING;
    fake.flying--;
    if (fake.wc_status != IBV_WC_SUCCESS && opcode == fake.wc_of &&
        fake.completed[opcode]++ == fake.wc_nth) {
        wc->status = fake.wc_status;
        return 1;
    }
    memcpy((void *)(uintptr_t)fake.ring[at].to, (const void *)(uintptr_t)fake.ring[at].from,
           fake.ring[at].n);
    if (fake.corrupt_at >= 0 && opcode == IBV_WR_RDMA_READ)
        fake.memory[2 * fake.part + (size_t)fake.corrupt_at] = 0;
    return 1;
}

/* ---- trials ---- */

static struct ni_trials all;

static struct ibv_gid_entry entry(uint8_t last, uint32_t index, uint32_t port, uint32_t type)
{
    struct ibv_gid_entry e = {.gid_index = index, .port_num = port, .gid_type = type};

    e.gid.raw[10] = e.gid.raw[11] = 0xff;
    e.gid.raw[12] = 10;
    e.gid.raw[15] = last;
    return e;
}

static int setup(void **state)
{
    (void)state;
    memset(&fake, 0, sizeof(fake));
    fake.name = "mlx5_6";
    fake.corrupt_at = -1;
    fake.dmabuf_err = EBADF;
    fake.port.state = IBV_PORT_ACTIVE;
    fake.port.phys_state = 5;
    fake.port.lid = 17;
    fake.port.active_mtu = IBV_MTU_4096;
    fake.gid = entry(6, 3, 2, IBV_GID_TYPE_ROCE_V2);
    fake.table[0] = entry(6, 2, 2, IBV_GID_TYPE_ROCE_V1);
    fake.table[1] = fake.gid;
    fake.table[2] = entry(7, 300, 1, IBV_GID_TYPE_ROCE_V2);
    fake.n_table = 3;
    fake.attr = (struct ibv_device_attr){.max_mr_size = UINT64_MAX,
                                         .max_qp = 131072,
                                         .max_cq = 16777216,
                                         .max_mr = 16777215,
                                         .max_qp_rd_atom = 16,
                                         .max_qp_init_rd_atom = 4};
    (void)strcpy(fake.attr.fw_ver, "28.37.1014");
    fake.context.device = &fake.device;
    fake.context.ops.post_send = post_send;
    fake.context.ops.poll_cq = poll_cq;
    memset(&all, 0, sizeof(all));
    all.n = 1;
    all.size = 3 * INT64_C(4) << 20;
    all.bytes = INT64_C(2) << 20;
    all.at[0].port = 2;
    all.at[0].roce = true;
    all.at[0].index = 3;
    (void)ni_copy(all.at[0].hca, sizeof(all.at[0].hca), "mlx5_6");
    return 0;
}

static const struct ni_trial *try_it(void)
{
    ni_try_port(&all, &all.at[0]);
    all.at[0].end = NI_TRIAL_ENDED;
    if (fake.memory)
        (void)munmap(fake.memory, fake.length);
    return &all.at[0];
}

static void assert_step(enum ni_step step, int err)
{
    const struct ni_trial *t = try_it();

    assert_string_equal(ni_step_text(t->step), ni_step_text(step));
    assert_int_equal(t->err, err);
    assert_int_equal(ni_trial_passed(t), step == NI_STEP_DONE);
}

/* ---- what passes ---- */

static void test_passes(void **state)
{
    struct rlimit limit;
    const struct ni_trial *t;

    (void)state;
    (void)setenv("SYSFS_PATH", "/elsewhere", 1);
    assert_step(NI_STEP_DONE, 0);
    t = &all.at[0];
    assert_string_equal(t->device.firmware, "28.37.1014");
    assert_true(t->device.max_mr_size == UINT64_MAX);
    assert_int_equal(t->device.max_qp, 131072);
    assert_int_equal(t->device.max_cq, 16777216);
    assert_int_equal(t->device.max_mr, 16777215);
    assert_int_equal(t->device.dmabuf, NI_KNOWN);
    assert_int_equal(t->port_state, NI_PORT_ACTIVE);
    assert_int_equal(t->phys_state, 5);
    assert_memory_equal(t->seen, fake.gid.gid.raw, NI_GID_BYTES);
    assert_true(t->seen_v2);
    assert_int_equal(t->n_gid, 3);
    assert_int_equal(t->gid_err, 0);
    assert_int_equal(t->table[0].index, 2);
    assert_false(t->table[0].v2);
    assert_int_equal(t->table[2].index, 300);
    assert_int_equal(t->table[2].port, 1);
    assert_true(t->table[2].v2);
    assert_memory_equal(t->table[2].ip, fake.table[2].gid.raw, NI_GID_BYTES);
    assert_int_equal(t->wc_status, 0);
    assert_int_equal(t->bad_at, -1);
    assert_true(t->latency_ns > 0);
    assert_true(t->write_us > 0 && t->read_us > 0);
    assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &limit), 0);
    if (limit.rlim_cur != RLIM_INFINITY)
        assert_int_equal(t->memlock, limit.rlim_cur);
    assert_int_equal(fake.asked_gid, 3);
    assert_true(fake.cqe >= (int)fake.depth);
}

static void test_roce_address(void **state)
{
    (void)state;
    all.at[0].index = 255;
    assert_step(NI_STEP_DONE, 0);
    assert_int_equal(fake.asked_gid, 255);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(fake.rtr[i].ah_attr.is_global, 1);
        assert_int_equal(fake.rtr[i].ah_attr.grh.sgid_index, 255);
        assert_int_equal(fake.rtr[i].ah_attr.grh.hop_limit, 255);
        assert_memory_equal(&fake.rtr[i].ah_attr.grh.dgid, &fake.gid.gid, NI_GID_BYTES);
        assert_int_equal(fake.rtr[i].max_dest_rd_atomic, 16);
        assert_int_equal(fake.rts[i].max_rd_atomic, 4);
        assert_in_range(fake.rts[i].timeout, 10, 20);
        assert_int_equal(fake.rts[i].retry_cnt, 6);
    }
}

static void test_infiniband(void **state)
{
    struct ni_trial *t = &all.at[0];

    (void)state;
    t->roce = false;
    t->index = -1;
    fake.gid.gid_type = IBV_GID_TYPE_IB;
    assert_step(NI_STEP_DONE, 0);
    assert_int_equal(fake.asked_gid, 0);
    assert_false(t->seen_v2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(fake.rtr[i].ah_attr.is_global, 0);
        assert_int_equal(fake.rtr[i].ah_attr.dlid, 17);
    }
    /* A virtual port shares its LID with others (NCCL does so too). */
    setup(NULL);
    t->roce = false;
    t->index = -1;
    fake.port.flags = IBV_QPF_GRH_REQUIRED;
    assert_step(NI_STEP_DONE, 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(fake.rtr[i].ah_attr.is_global, 1);
        assert_int_equal(fake.rtr[i].ah_attr.dlid, 17);
        assert_int_equal(fake.rtr[i].ah_attr.grh.sgid_index, 0);
        assert_memory_equal(&fake.rtr[i].ah_attr.grh.dgid, &fake.gid.gid, NI_GID_BYTES);
    }
}

/* A device that tells no number of outstanding reads. */
static void test_few_reads(void **state)
{
    (void)state;
    fake.attr.max_qp_rd_atom = 0;
    fake.attr.max_qp_init_rd_atom = 1000;
    assert_step(NI_STEP_DONE, 0);
    assert_int_equal(fake.rtr[0].max_dest_rd_atomic, 1);
    assert_int_equal(fake.rts[0].max_rd_atomic, 16);
}

/* Each byte is written and read once, beside the small writes that are timed. */
static void moves(int64_t size, int64_t bytes)
{
    const uint64_t small = 64 * 8;

    setup(NULL);
    all.size = size;
    all.bytes = bytes;
    assert_step(NI_STEP_DONE, 0);
    assert_int_equal(fake.length, size);
    assert_int_equal(fake.moved[IBV_WR_RDMA_WRITE], (uint64_t)bytes + small);
    assert_int_equal(fake.moved[IBV_WR_RDMA_READ], bytes);
    assert_int_equal(fake.flying, 0);
    assert_in_range(fake.furthest, 1, bytes < 8 ? 8 : (uint64_t)bytes);
    if (bytes >= (int64_t)fake.part)
        assert_int_equal(fake.furthest, fake.part); /* to the last byte */
    if (bytes >= 16 * INT64_C(1048576) && fake.part >= 16 * INT64_C(1048576))
        assert_int_equal(fake.most_flying, fake.depth);
}

static void test_sizes(void **state)
{
    static const int64_t sizes[] = {NI_TRIAL_SIZE_MIN, NI_TRIAL_SIZE_MIN + 1, 100000,
                                    3 * INT64_C(1048576) + 3 * PAGE, 51 * INT64_C(1048576)};
    static const int64_t bytes[] = {1,    7,       8,       9,           4095,        4096,
                                    4097, 1048575, 1048576, 1048577 * 2, 16777216 + 5};

    (void)state;
    for (unsigned i = 0; i < NI_COUNT(sizes); i++)
        for (unsigned k = 0; k < NI_COUNT(bytes); k++)
            moves(sizes[i], bytes[k]);
}

/* A large region of which little is moved: the rest is not worth the time. */
static void test_touches_little(void **state)
{
    unsigned char in_core[64];

    (void)state;
    all.size = INT64_C(3) << 30;
    all.bytes = 4096;
    ni_try_port(&all, &all.at[0]);
    assert_int_equal(all.at[0].step, NI_STEP_DONE);
    assert_int_equal(mincore(fake.memory + fake.part / 2, sizeof(in_core) * PAGE, in_core), 0);
    for (unsigned i = 0; i < sizeof(in_core); i++)
        assert_int_equal(in_core[i] & 1, 0);
    (void)munmap(fake.memory, fake.length);
}

static void test_probe(void **state)
{
    (void)state;
    all.probe = true;
    fake.port.state = IBV_PORT_DOWN;
    assert_step(NI_STEP_DONE, 0);
    assert_int_equal(all.at[0].device.dmabuf, NI_KNOWN);
    assert_int_equal(all.at[0].n_gid, 3);
    assert_int_equal(fake.calls[QUERY_PORT] + fake.calls[QUERY_GID] + fake.calls[REG_MR], 0);
    assert_int_equal(fake.calls[CREATE_CQ] + fake.calls[POST_SEND], 0);
    setup(NULL);
    all.probe = true;
    fake.call = OPEN_DEVICE;
    fake.err = EACCES;
    assert_step(NI_STEP_OPEN, EACCES);
}

/* ---- what fails ---- */

static void test_calls(void **state)
{
    static const struct {
        enum call call;
        unsigned nth;
        int err;
        enum ni_step step;
        int seen; /* 0: err */
    } cases[] = {
        {GET_DEVICE_LIST, 0, ENOSYS, NI_STEP_FIND, 0},
        {GET_DEVICE_LIST, 0, 0, NI_STEP_FIND, EIO},
        {OPEN_NODE, 0, ENOENT, NI_STEP_OPEN, 0},
        {OPEN_NODE, 0, EPERM, NI_STEP_OPEN, 0},
        {OPEN_DEVICE, 0, ENOMEM, NI_STEP_OPEN, 0},
        {OPEN_DEVICE, 0, 0, NI_STEP_OPEN, EIO},
        {QUERY_DEVICE, 0, EIO, NI_STEP_DEVICE, 0},
        {ALLOC_PD, 0, ENOMEM, NI_STEP_DEVICE, 0},
        {ALLOC_PD, 0, 0, NI_STEP_DEVICE, EIO},
        {QUERY_PORT, 0, EINVAL, NI_STEP_PORT, 0},
        {QUERY_GID, 0, ENODATA, NI_STEP_GID, 0},
        {REG_MR, 0, ENOMEM, NI_STEP_REGISTER, 0},
        {REG_MR, 0, 0, NI_STEP_REGISTER, EIO},
        {CREATE_CQ, 0, ENOMEM, NI_STEP_QUEUES, 0},
        {CREATE_QP, 0, ENOMEM, NI_STEP_QUEUES, 0},
        {CREATE_QP, 1, ENOSPC, NI_STEP_QUEUES, 0},
        {POST_SEND, 0, ENOMEM, NI_STEP_WRITE, 0},
        {POST_SEND, 71, EINVAL, NI_STEP_WRITE, 0},
        {POST_SEND, 72, EINVAL, NI_STEP_READ, 0},
        /* its number is no errno: providers have their own */
        {POLL_CQ, 0, 2, NI_STEP_WRITE, EIO},
        {POLL_CQ, 145, 1, NI_STEP_READ, EIO},
    };

    (void)state;
    for (unsigned i = 0; i < NI_COUNT(cases); i++) {
        setup(NULL);
        fake.call = cases[i].call;
        fake.nth = cases[i].nth;
        fake.err = cases[i].err;
        assert_step(cases[i].step, cases[i].seen ? cases[i].seen : cases[i].err);
        assert_int_equal(all.at[0].wc_status, 0);
        if (cases[i].call == OPEN_NODE) /* which would wait for 5 s */
            assert_int_equal(fake.calls[OPEN_DEVICE], 0);
        if (cases[i].step < NI_STEP_DEVICE)
            assert_int_equal(all.at[0].device.dmabuf, NI_UNSET);
    }
}

static void test_modify(void **state)
{
    (void)state;
    for (unsigned nth = 0; nth < 6; nth++) {
        setup(NULL);
        fake.call = MODIFY_QP;
        fake.nth = nth;
        fake.err = ENETUNREACH;
        assert_step(NI_STEP_CONNECT, ENETUNREACH);
        assert_int_equal(all.at[0].qp_state, nth % 3); /* RESET, INIT, RTR: before the call */
        assert_int_equal(fake.calls[POST_SEND], 0);
    }
}

static void test_not_listed(void **state)
{
    (void)state;
    fake.name = "mlx5_60";
    assert_step(NI_STEP_FIND, ENODEV);
}

static void test_port(void **state)
{
    (void)state;
    fake.port.state = IBV_PORT_DOWN;
    fake.port.phys_state = 3;
    assert_step(NI_STEP_PORT, 0);
    assert_int_equal(all.at[0].port_state, NI_PORT_DOWN);
    assert_int_equal(all.at[0].phys_state, 3);
    setup(NULL);
    fake.port.state = IBV_PORT_INIT;
    assert_step(NI_STEP_PORT, 0);
    assert_int_equal(all.at[0].port_state, NI_PORT_INIT);
}

static void test_gid(void **state)
{
    (void)state;
    memset(&fake.gid.gid, 0, sizeof(fake.gid.gid));
    assert_step(NI_STEP_GID, ENODATA);
    setup(NULL);
    all.at[0].index = 256;
    assert_step(NI_STEP_GID, ERANGE);
    assert_int_equal(fake.calls[QUERY_GID], 0);
    setup(NULL);
    all.at[0].index = -1;
    assert_step(NI_STEP_GID, 0);
    assert_int_equal(fake.calls[QUERY_GID], 0);
    setup(NULL);
    fake.gid.gid_type = IBV_GID_TYPE_ROCE_V1;
    assert_step(NI_STEP_DONE, 0);
    assert_false(all.at[0].seen_v2);
}

static void test_gid_table(void **state)
{
    (void)state;
    fake.call = GID_TABLE;
    fake.err = EOPNOTSUPP;
    assert_step(NI_STEP_DONE, 0); /* nothing to compare, no more */
    assert_int_equal(all.at[0].gid_err, EOPNOTSUPP);
    assert_int_equal(all.at[0].n_gid, 0);
}

static void test_dmabuf(void **state)
{
    static const struct {
        int err;
        enum ni_known known;
    } cases[] = {{EBADF, NI_KNOWN},
                 {EINVAL, NI_KNOWN},
                 {EOPNOTSUPP, NI_ABSENT},
                 {EPROTONOSUPPORT, NI_ABSENT},
                 {0, NI_KNOWN}};

    (void)state;
    for (unsigned i = 0; i < NI_COUNT(cases); i++) {
        setup(NULL);
        fake.dmabuf_err = cases[i].err;
        assert_step(NI_STEP_DONE, 0);
        assert_int_equal(all.at[0].device.dmabuf, cases[i].known);
        assert_int_equal(fake.dmabuf_freed, cases[i].err == 0);
    }
}

static void test_no_memory(void **state)
{
    (void)state;
    all.size = INT64_C(1) << 60;
    assert_step(NI_STEP_ALLOCATE, ENOMEM);
}

static void test_completions(void **state)
{
    static const enum ibv_wc_status statuses[] = {
        IBV_WC_LOC_LEN_ERR,       IBV_WC_LOC_QP_OP_ERR,  IBV_WC_LOC_PROT_ERR,
        IBV_WC_WR_FLUSH_ERR,      IBV_WC_REM_ACCESS_ERR, IBV_WC_RETRY_EXC_ERR,
        IBV_WC_RNR_RETRY_EXC_ERR, IBV_WC_FATAL_ERR,      IBV_WC_GENERAL_ERR,
    };
    static const struct {
        enum ibv_wr_opcode of;
        unsigned nth;
        enum ni_step step;
    } when[] = {{IBV_WR_RDMA_WRITE, 0, NI_STEP_WRITE},
                {IBV_WR_RDMA_WRITE, 71, NI_STEP_WRITE},
                {IBV_WR_RDMA_READ, 1, NI_STEP_READ}};

    (void)state;
    for (unsigned i = 0; i < NI_COUNT(statuses) * NI_COUNT(when); i++) {
        setup(NULL);
        fake.wc_status = statuses[i / NI_COUNT(when)];
        fake.wc_of = when[i % NI_COUNT(when)].of;
        fake.wc_nth = when[i % NI_COUNT(when)].nth;
        fake.vendor_err = 81;
        assert_step(when[i % NI_COUNT(when)].step, 0);
        assert_int_equal(all.at[0].wc_status, fake.wc_status);
        assert_int_equal(all.at[0].vendor_err, 81);
    }
}

static void test_corrupted(void **state)
{
    static const int64_t at[] = {0, 8, 4095, 1048576, 2097151};

    (void)state;
    for (unsigned i = 0; i < NI_COUNT(at); i++) {
        setup(NULL);
        fake.corrupt_at = at[i];
        assert_step(NI_STEP_COMPARE, 0);
        assert_int_equal(all.at[0].bad_at, at[i]);
    }
    setup(NULL);
    all.bytes = 5; /* less than a word */
    fake.corrupt_at = 4;
    assert_step(NI_STEP_COMPARE, 0);
    assert_int_equal(all.at[0].bad_at, 4);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup(f, setup)
    const struct CMUnitTest tests[] = {
        CASE(test_passes),      CASE(test_roce_address), CASE(test_infiniband),
        CASE(test_few_reads),   CASE(test_sizes),        CASE(test_touches_little),
        CASE(test_probe),       CASE(test_calls),        CASE(test_modify),
        CASE(test_not_listed),  CASE(test_port),         CASE(test_gid),
        CASE(test_gid_table),   CASE(test_dmabuf),       CASE(test_no_memory),
        CASE(test_completions), CASE(test_corrupted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
