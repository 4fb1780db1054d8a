/* SPDX-License-Identifier: Apache-2.0 */
/* The trial `gpu`: each pair of a GPU and an HCA's port. A process for each GPU, which makes one
   context; all at once. One that dies goes on with its next pair in a new process. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "nccl_init/base.h"
#include "nccl_init/number.h"
#include "nccl_init/text.h"
#include "nccl_init/tried_gpu.h"
#include "rail/step.h"
#include "try/cuda.h"
#include "try/pair.h"
#include "try/try.h"
#include "try/verbs.h"

enum { COMPUTE_MODE = 20, EXCLUSIVE = 3, PROHIBITED = 2 }; /* CUdevice_attribute, CUcomputemode */
enum {
    DONE = 97
}; /* status of a GPU's process that said all; a library ends it with another one */

struct pair_args {
    char bus[16];
    unsigned gpu; /* its number among those of the arguments */
    struct ni_rail rail;
    bool pcie; /* GPU memory is to be mapped by PCIe (CUDA 12.8), not by NVLink-C2C */
};

/* What the processes tell the first one. */
struct shared {
    atomic_int measuring;
    struct {
        atomic_uint pair; /* the next one to be taken; the one that is taken, while `busy` */
        atomic_uint step;
        atomic_bool busy, open;
    } gpu[NI_MAX_GPU];
};

struct trial {
    struct ni_pair_order order;
    struct ni_cuda cuda;
    unsigned n_pair, n_gpu;
    struct pair_args pair[NI_MAX_PAIRS];
    unsigned first[NI_MAX_GPU + 1]; /* pair of each GPU */
    struct shared *shared;
    pid_t process[NI_MAX_GPU];
    unsigned began[NI_MAX_GPU]; /* the pair at which it was started */
    unsigned gpu, at;           /* in the process of a GPU: its number, its pair */
};

static struct trial trial;

/* ---- arguments ---- */

static bool take_number(const char **rest, uint64_t most, uint64_t *ret)
{
    struct ni_span item;

    return ni_split(rest, ',', &item) && ni_parse_u64(item, most, ret) == 0;
}

/* Takes "TC,SL,PKEY,MILLISECONDS,WAYS"; WAYS has the bits 1: DMA-BUF, 2: Data Direct, 4: peer memory,
   8: relaxed ordering. */
static bool take_order(const char *text, struct ni_pair_order *ret)
{
    uint64_t tc, sl, pkey, ms, ways;

    if (!take_number(&text, 255, &tc) || !take_number(&text, 15, &sl) ||
        !take_number(&text, UINT16_MAX, &pkey) || !take_number(&text, 10000, &ms) ||
        !take_number(&text, 15, &ways))
        return false;
    *ret = (struct ni_pair_order){
        .traffic_class = (int)tc,
        .service_level = (int)sl,
        .pkey_index = (int)pkey,
        .move_ms = (int)ms,
        .dmabuf = (ways & 1) != 0,
        .direct = (ways & 2) != 0,
        .peermem = (ways & 4) != 0,
        .relaxed = (ways & 8) != 0,
    };
    return true;
}

/* Takes "BUS,HCA,PORT,LINK,GID,MAPPING"; LINK is ib or roce; GID an index; MAPPING 1: by PCIe. */
static bool take_pair(const char *text, struct pair_args *ret)
{
    struct ni_span bus, hca, link;
    uint64_t port, gid, mapping;

    if (!ni_split(&text, ',', &bus) || !ni_copyn(ret->bus, sizeof(ret->bus), bus.p, bus.n) ||
        !ni_split(&text, ',', &hca) ||
        !ni_copyn(ret->rail.hca, sizeof(ret->rail.hca), hca.p, hca.n) ||
        !take_number(&text, UINT8_MAX, &port) || !ni_split(&text, ',', &link) ||
        !take_number(&text, UINT8_MAX, &gid) || !take_number(&text, 1, &mapping))
        return false;
    ret->pcie = mapping == 1;
    ret->rail.port = (unsigned)port;
    ret->rail.link = ni_span_is(link, "ib") ? NI_LINK_IB : NI_LINK_ROCE;
    ret->rail.index = (int)gid;
    return true;
}

static bool take_args(int n, char *const args[])
{
    if (n < 2 || n - 1 > NI_MAX_PAIRS || !take_order(args[0], &trial.order))
        return false;
    for (int i = 1; i < n; i++) {
        struct pair_args *p = &trial.pair[trial.n_pair];
        const bool same = i > 1 && strncmp(args[i], p[-1].bus, strcspn(args[i], ",")) == 0;

        if (!take_pair(args[i], p) || (!same && trial.n_gpu == NI_MAX_GPU))
            return false;
        if (!same)
            trial.first[trial.n_gpu++] = trial.n_pair;
        p->gpu = trial.n_gpu - 1;
        trial.n_pair++;
    }
    trial.first[trial.n_gpu] = trial.n_pair;
    return true;
}

/* ---- what is said ---- */

static void put_number(struct ni_text *t, const char *key, int64_t value)
{
    if (value > 0)
        ni_putf(t, " %s=%lld", key, (long long)value);
}

static void say_result(const char *what, unsigned n, const struct ni_tried_pair *x)
{
    struct ni_text t = NI_TEXT(512);

    if (x->way != NI_WAY_NONE)
        ni_putf(&t, " way=%s", ni_gdr_way_text(x->way));
    put_number(&t, "err", x->err);
    put_number(&t, "wc", x->wc);
    put_number(&t, "cuda", x->cuda);
    put_number(&t, "died", x->died);
    put_number(&t, "wrong", (int64_t)x->wrong);
    if (x->wrong > 0) {
        ni_putf(&t, " of=%llu first=%llu", (unsigned long long)x->of, (unsigned long long)x->first);
        if (x->holds >= 0)
            ni_putf(&t, " holds=%lld", (long long)x->holds);
    }
    put_number(&t, "late", x->late);
    put_number(&t, "once", (int64_t)x->once);
    put_number(&t, "in", x->in_mbps);
    put_number(&t, "out", x->out_mbps);
    put_number(&t, "mode", x->mode);
    put_number(&t, "driver", x->driver);
    put_number(&t, "us", x->took_us);
    (void)ni_try_say("%s %u %s%s", what, n, ni_gdr_step_text(x->step), t.buf);
}

/* Says where a pair is, before what may hang or crash. */
static void say_at(void *ctx, enum ni_gdr_step step)
{
    (void)ctx;
    atomic_store(&trial.shared->gpu[trial.gpu].step, (unsigned)step);
    (void)ni_try_say("at %u %s", trial.at, ni_gdr_step_text(step));
}

static void say_pair(void *ctx, const struct ni_tried_pair *x)
{
    (void)ctx;
    say_result("pair", trial.at, x);
    atomic_store(&trial.shared->gpu[trial.gpu].busy, false);
    atomic_store(&trial.shared->gpu[trial.gpu].pair, trial.at + 1);
}

/* ---- the process of a GPU ---- */

static int64_t now_us(void)
{
    struct timespec t = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Makes the context. A compute mode that does not allow it is told before one is asked for. */
static bool open_gpu(const char *bus, int *device, struct ni_tried_pair *x)
{
    const struct ni_cuda *cuda = &trial.cuda;
    int mode = 0, version = 0;

    x->cuda = cuda->init(0);
    if (x->cuda == 0)
        x->cuda = cuda->device_by_bus(device, bus);
    if (x->cuda != 0)
        return false;
    if (cuda->attribute(&mode, COMPUTE_MODE, *device) == 0)
        x->mode = mode;
    if (cuda->version(&version) == 0)
        x->driver = version;
    if (mode == PROHIBITED)
        return false;
    (void)ni_cuda_open(cuda, bus, device, &x->cuda);
    return x->cuda == 0;
}

/* Says that the GPU's pairs that are left were not begun, and why: it could not be opened again. */
static void say_rest(unsigned gpu, struct ni_tried_pair x)
{
    x.step = NI_GDR_CONTEXT;
    for (unsigned at = atomic_load(&trial.shared->gpu[gpu].pair); at < trial.first[gpu + 1]; at++)
        say_result("pair", at, &x);
    atomic_store(&trial.shared->gpu[gpu].pair, trial.first[gpu + 1]);
}

static _Noreturn void be_gpu(pid_t parent)
{
    const char *bus = trial.pair[trial.first[trial.gpu]].bus;
    const bool again = atomic_load(&trial.shared->gpu[trial.gpu].open);
    struct ni_tried_pair x = {.holds = -1, .step = NI_GDR_CONTEXT};
    const int64_t begin = now_us();
    int device = 0;

    ni_try_die_with(parent);
    const bool opened = open_gpu(bus, &device, &x);
    x.took_us = now_us() - begin;
    if (opened)
        x.step = NI_GDR_DONE;
    if (!again)
        say_result("gpu", trial.gpu, &x);
    else if (!opened)
        say_rest(trial.gpu, x);
    atomic_store(&trial.shared->gpu[trial.gpu].open, true);
    if (!opened)
        _exit(DONE);
    trial.at = atomic_load(&trial.shared->gpu[trial.gpu].pair);
    for (; trial.at < trial.first[trial.gpu + 1]; trial.at++) {
        atomic_store(&trial.shared->gpu[trial.gpu].busy, true);
        trial.order.pcie = trial.pair[trial.at].pcie;
        ni_pair_try(&trial.order, &trial.cuda, device, &trial.pair[trial.at].rail, say_at, say_pair,
                    NULL);
    }
    _exit(DONE);
}

/* ---- all of them ---- */

static void start(unsigned gpu)
{
    const pid_t parent = getpid();

    trial.gpu = gpu;
    trial.began[gpu] = atomic_load(&trial.shared->gpu[gpu].pair);
    const pid_t pid = fork();
    if (pid == 0)
        be_gpu(parent);
    trial.process[gpu] = pid > 0 ? pid : 0;
    if (pid > 0)
        return;
    const struct ni_tried_pair x = {.holds = -1, .step = NI_GDR_CONTEXT, .err = errno};
    if (atomic_load(&trial.shared->gpu[gpu].open))
        say_rest(gpu, x);
    else
        say_result("gpu", gpu, &x);
}

/* Says what a process that died was at. Returns true if another one is to go on. */
static bool bury(unsigned gpu, pid_t pid, int status)
{
    int measures = (int)pid;
    const unsigned at = atomic_load(&trial.shared->gpu[gpu].pair);
    struct ni_tried_pair x = {
        .holds = -1,
        .died = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
        .step = (enum ni_gdr_step)atomic_load(&trial.shared->gpu[gpu].step),
    };

    (void)atomic_compare_exchange_strong(&trial.shared->measuring, &measures, 0);
    if (x.died == 0 && WEXITSTATUS(status) == DONE)
        return false;
    if (x.died == 0)
        x.err = EIO; /* the library has ended the process */
    if (!atomic_load(&trial.shared->gpu[gpu].open)) {
        x.step = NI_GDR_CONTEXT;
        say_result("gpu", gpu, &x);
        return false;
    }
    if (atomic_load(&trial.shared->gpu[gpu].busy)) {
        say_result("pair", at, &x);
        atomic_store(&trial.shared->gpu[gpu].pair, at + 1);
        atomic_store(&trial.shared->gpu[gpu].busy, false);
    } else if (at == trial.began[gpu]) { /* it died when it opened the GPU again */
        say_rest(gpu, x);
    }
    return atomic_load(&trial.shared->gpu[gpu].pair) < trial.first[gpu + 1];
}

void ni_try_gpu(int n, char *const args[])
{
    int status;

    if (!take_args(n, args)) {
        (void)dprintf(STDERR_FILENO, "these arguments are not known\n");
        _exit(2); /* as main.c: another program's question */
    }
    if (!ni_verbs_load() || !ni_cuda_load(&trial.cuda))
        return;
    trial.shared = mmap(NULL, sizeof(*trial.shared), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (trial.shared == MAP_FAILED)
        return;
    trial.order.measuring = &trial.shared->measuring;
    for (unsigned g = 0; g < trial.n_gpu; g++) {
        atomic_store(&trial.shared->gpu[g].pair, trial.first[g]);
        start(g);
    }
    for (pid_t pid = wait(&status); pid > 0 || errno == EINTR; pid = wait(&status)) {
        for (unsigned g = 0; g < trial.n_gpu && pid > 0; g++) {
            if (trial.process[g] != pid)
                continue;
            trial.process[g] = 0;
            if (bury(g, pid, status))
                start(g);
            break;
        }
    }
}
