/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in for HCAs (hca.c) without CUDA: two processes, which use of verbs what NCCL does. The one
   tells the other by a small write that it is ready to receive; that one writes with immediate data; the
   first compares the bytes, and reads back from itself, as NCCL flushes. Then faults. */
#define _GNU_SOURCE
#include <infiniband/verbs.h>

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_get_device_list

enum { ROUNDS = 10, SIZE = 8 << 20, WORDS = SIZE / 4, ID = 7, GID = 3, EMPTY_GID = 7, LIMIT = 60 };

#define CHECK(x)                                                                               \
    do {                                                                                       \
        if (!(x)) {                                                                            \
            fprintf(stderr, "%s:%d: process %d: not %s\n", __FILE__, __LINE__, sender ? 0 : 1, \
                    #x);                                                                       \
            exit(1);                                                                           \
        }                                                                                      \
    } while (0)

/* Declares the function of the library, with the version by which NCCL looks for it. */
#define FIND(name, version)                                                               \
    __typeof__(name) *const its_##name = (__typeof__(name) *)dlvsym(lib, #name, version); \
    CHECK(its_##name)

/* What one end tells the other. */
struct end {
    uint32_t pair, key, word_key;
    uint64_t at, word_at;
    union ibv_gid gid;
};

static bool sender;
static int other; /* a socket to the other process */
static void *lib;
static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *queue;
static uint32_t *data;
static volatile uint64_t word; /* the other's small writes */
static struct ibv_mr *data_mr, *word_mr;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void meet(void)
{
    char x = 0;

    CHECK(write(other, &x, 1) == 1 && read(other, &x, 1) == 1);
}

static struct end swap(struct end own)
{
    CHECK(write(other, &own, sizeof own) == sizeof own);
    CHECK(read(other, &own, sizeof own) == sizeof own);
    return own;
}

/* Waits for the next completion. */
static struct ibv_wc completion(void)
{
    const double until = now() + LIMIT;
    struct ibv_wc wc = {.wr_id = 0};
    int n = 0;

    while (n == 0 && now() < until)
        n = ibv_poll_cq(queue, 1, &wc);
    CHECK(n == 1);
    return wc;
}

static struct ibv_qp *make_pair(struct end *ret)
{
    FIND(ibv_create_qp, "IBVERBS_1.1");
    FIND(ibv_modify_qp, "IBVERBS_1.1");
    FIND(ibv_query_gid, "IBVERBS_1.1");
    struct ibv_qp_init_attr init = {
        .send_cq = queue, .recv_cq = queue, .qp_type = IBV_QPT_RC, .cap = {512, 256, 1, 1, 64}};
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};
    struct ibv_qp *qp = its_ibv_create_qp(pd, &init);

    CHECK(qp);
    CHECK(its_ibv_modify_qp(qp, &attr, IBV_QP_STATE) == 0);
    *ret = (struct end){.pair = qp->qp_num,
                        .key = data_mr->rkey,
                        .word_key = word_mr->rkey,
                        .at = (uintptr_t)data,
                        .word_at = (uintptr_t)&word};
    CHECK(its_ibv_query_gid(context, 1, GID, &ret->gid) == 0);
    return qp;
}

static void join(struct ibv_qp *qp, const struct end *to)
{
    FIND(ibv_modify_qp, "IBVERBS_1.1");
    struct ibv_qp_attr ready = {
        .qp_state = IBV_QPS_RTR,
        .dest_qp_num = to->pair,
        .ah_attr = {.is_global = 1, .grh = {.dgid = to->gid, .sgid_index = EMPTY_GID}}};
    struct ibv_qp_attr send = {.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7};

    CHECK(its_ibv_modify_qp(qp, &ready, IBV_QP_STATE) == EINVAL);
    ready.ah_attr.grh.sgid_index = GID;
    CHECK(its_ibv_modify_qp(qp, &ready, IBV_QP_STATE) == 0);
    CHECK(its_ibv_modify_qp(qp, &send, IBV_QP_STATE) == 0);
}

static void post(struct ibv_qp *qp, enum ibv_wr_opcode opcode, struct ibv_sge sge, uint64_t at,
                 uint32_t key, uint32_t imm, unsigned flags)
{
    struct ibv_send_wr wr = {.wr_id = ID,
                             .opcode = opcode,
                             .imm_data = imm,
                             .sg_list = &sge,
                             .num_sge = 1,
                             .send_flags = IBV_SEND_SIGNALED | flags};
    struct ibv_send_wr *bad;

    wr.wr.rdma.remote_addr = at;
    wr.wr.rdma.rkey = key;
    CHECK(ibv_post_send(qp, &wr, &bad) == 0);
}

static void post_receive(struct ibv_qp *qp)
{
    struct ibv_recv_wr wr = {.wr_id = ID};
    struct ibv_recv_wr *bad;

    CHECK(ibv_post_recv(qp, &wr, &bad) == 0);
}

static void send_rounds(struct ibv_qp *qp, const struct end *to)
{
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        const double until = now() + LIMIT;

        for (uint32_t i = 0; i < WORDS; i++)
            data[i] = i * 3 + round;
        while (word != round)
            CHECK(now() < until);
        post(qp, IBV_WR_RDMA_WRITE_WITH_IMM, (struct ibv_sge){(uintptr_t)data, SIZE, data_mr->lkey},
             to->at, to->key, round, 0);
        const struct ibv_wc wc = completion();
        CHECK(wc.status == IBV_WC_SUCCESS && wc.wr_id == ID);
    }
}

static void receive_rounds(struct ibv_qp *qp, struct ibv_qp *self, const struct end *to)
{
    static uint64_t told;
    static uint32_t flushed;
    FIND(ibv_reg_mr, "IBVERBS_1.1");
    const struct ibv_mr *told_mr = its_ibv_reg_mr(pd, &told, sizeof told, IBV_ACCESS_LOCAL_WRITE);
    const struct ibv_mr *flush_mr =
        its_ibv_reg_mr(pd, &flushed, sizeof flushed, IBV_ACCESS_LOCAL_WRITE);

    for (uint32_t round = 1; round <= ROUNDS; round++) {
        post_receive(qp);
        told = round;
        post(qp, IBV_WR_RDMA_WRITE, (struct ibv_sge){(uintptr_t)&told, sizeof told, told_mr->lkey},
             to->word_at, to->word_key, 0, round % 2 ? IBV_SEND_INLINE : 0);
        for (int i = 0; i < 2; i++) { /* of the write and of what is received, in either order */
            const struct ibv_wc wc = completion();
            CHECK(wc.status == IBV_WC_SUCCESS && wc.wr_id == ID);
            if (wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM)
                CHECK(wc.imm_data == round && wc.byte_len == SIZE);
        }
        for (uint32_t i = 0; i < WORDS; i++)
            CHECK(data[i] == i * 3 + round);
        post(self, IBV_WR_RDMA_READ,
             (struct ibv_sge){(uintptr_t)&flushed, sizeof flushed, flush_mr->lkey}, (uintptr_t)data,
             data_mr->rkey, 0, 0);
        CHECK(completion().status == IBV_WC_SUCCESS);
        CHECK(flushed == round);
    }
}

/* A wrong key: 10 and then 5 at the sender, an event and 5 at the receiver. */
static void refuse(struct ibv_qp *qp, const struct end *to)
{
    const struct ibv_sge sge = {(uintptr_t)data, 4096, data_mr->lkey};
    struct ibv_async_event event;
    FIND(ibv_get_async_event, "IBVERBS_1.1");

    if (!sender)
        post_receive(qp);
    meet();
    if (!sender) {
        CHECK(its_ibv_get_async_event(context, &event) == 0);
        CHECK(event.event_type == IBV_EVENT_QP_ACCESS_ERR && event.element.qp == qp);
        CHECK(completion().status == IBV_WC_WR_FLUSH_ERR);
        return;
    }
    post(qp, IBV_WR_RDMA_WRITE_WITH_IMM, sge, to->at, to->key + 1, 0, 0);
    post(qp, IBV_WR_RDMA_WRITE_WITH_IMM, sge, to->at, to->key, 0, 0);
    CHECK(completion().status == IBV_WC_REM_ACCESS_ERR);
    CHECK(completion().status == IBV_WC_WR_FLUSH_ERR);
}

/* The other process goes away: a write fails after the pair's time, with 12. */
static void lose(void)
{
    struct end own, to;
    struct ibv_qp *qp = make_pair(&own);

    to = swap(own);
    join(qp, &to);
    meet();
    if (!sender)
        exit(0);
    int status;
    CHECK(wait(&status) > 0 && status == 0);
    const double begin = now();
    post(qp, IBV_WR_RDMA_WRITE, (struct ibv_sge){(uintptr_t)data, 4096, data_mr->lkey}, to.at,
         to.key, 0, 0);
    CHECK(completion().status == IBV_WC_RETRY_EXC_ERR);
    CHECK(now() - begin > 0.4); /* 4.096 us * 2^14 * 8 */
}

static void open_device(void)
{
    FIND(ibv_get_device_list, "IBVERBS_1.1");
    FIND(ibv_open_device, "IBVERBS_1.1");
    FIND(ibv_alloc_pd, "IBVERBS_1.1");
    FIND(ibv_create_cq, "IBVERBS_1.1");
    FIND(ibv_reg_mr, "IBVERBS_1.1");
    FIND(ibv_reg_mr_iova2, "IBVERBS_1.8");
    FIND(ibv_reg_dmabuf_mr, "IBVERBS_1.12");
    const int all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
    int n;
    struct ibv_device **list = its_ibv_get_device_list(&n);

    CHECK(n == 1);
    context = its_ibv_open_device(list[0]);
    pd = its_ibv_alloc_pd(context);
    queue = its_ibv_create_cq(context, 512, NULL, NULL, 0);
    data = malloc(SIZE);
    CHECK(data);
    /* so NCCL asks if DMA-BUF is supported */
    CHECK(!its_ibv_reg_dmabuf_mr(pd, 0, 0, 0, -1, 0) && errno == EBADF);
    data_mr = its_ibv_reg_mr_iova2(pd, data, SIZE, (uintptr_t)data, all);
    word_mr = its_ibv_reg_mr(pd, (void *)&word, sizeof word, all);
    CHECK(data_mr && word_mr);
}

int main(void)
{
    struct end own, own_self, to;
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        return 1;
    sender = fork() != 0;
    other = pair[sender];
    (void)setenv("HCA_HOST", sender ? "0" : "1", 1);
    lib = dlopen("libibverbs.so.1", RTLD_NOW);
    CHECK(lib);
    open_device();
    struct ibv_qp *qp = make_pair(&own), *self = make_pair(&own_self);
    to = swap(own);
    join(qp, &to);
    join(self, &own_self);
    meet();
    if (sender)
        send_rounds(qp, &to);
    else
        receive_rounds(qp, self, &to);
    refuse(qp, &to);
    lose();
    printf("%d writes of %d MiB right, and three faults\n", ROUNDS, SIZE >> 20);
    return 0;
}
