/* SPDX-License-Identifier: Apache-2.0 */
/* One rank of a trial of NCCL: it loads NCCL and CUDA, joins the other rank, sums data with it, and
   compares the sums. NCCL's functions are those of its API; no header is needed. */
#include "try/rank.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "nccl_init/base.h"
#include "try/cuda.h"
#include "try/old_glibc.h"
#include "try/try.h"

enum {
    BYTES = 16 << 20,
    WORDS = BYTES / 4,
    UINT32 = 3,      /* ncclUint32 */
    SUM = 0,         /* ncclSum */
    IN_PROGRESS = 7, /* ncclInProgress: NCCL_COMM_BLOCKING=0 */
    LOOK_NS = 200000
};

struct unique_id { /* ncclUniqueId */
    char bytes[128];
};

struct nccl {
    int (*version)(int *ret);
    int (*make_id)(struct unique_id *ret);
    int (*join)(void **comm, int n, struct unique_id id, int rank);
    int (*sum)(const void *from, void *to, size_t n, int type, int op, void *comm, void *stream);
    int (*async_error)(void *comm, int *ret);
    int (*leave)(void *comm);
};

struct work {
    const struct ni_rank *rank;
    struct nccl nccl;
    struct ni_cuda cuda;
    struct unique_id id;
    void *comm, *stream;
    ni_device_address from, to;
    uint32_t *words; /* on the host */
    int device;
    const char *of; /* what failed: "cuInit" */
};

/* ---- steps: 0, or the number of the error ---- */

/* Says which file the library is, without links, for its name has the version. */
static void say_library(struct work *w, int version)
{
    char path[PATH_MAX];
    void *at;
    Dl_info info;

    memcpy(&at, &w->nccl.version, sizeof(at));
    if (dladdr(at, &info) == 0 || !info.dli_fname)
        return;
    (void)ni_try_say("library %u %d %s", w->rank->pair, version,
                     realpath(info.dli_fname, path) ? path : info.dli_fname);
}

static int load(struct work *w)
{
    const struct ni_try_entry needed[] = {
        {"ncclGetVersion", &w->nccl.version},
        {"ncclGetUniqueId", &w->nccl.make_id},
        {"ncclCommInitRank", &w->nccl.join},
        {"ncclAllReduce", &w->nccl.sum},
        {"ncclCommGetAsyncError", &w->nccl.async_error},
        {"ncclCommDestroy", &w->nccl.leave},
    };
    const bool named = strcmp(w->rank->library, "-") != 0;
    void *library = dlopen(named ? w->rank->library : "libnccl.so.2", RTLD_NOW);
    int version;

    w->of = "dlopen";
    if (!library) {
        (void)ni_try_say("unloaded %s", dlerror());
        return ELIBACC;
    }
    if (!ni_try_find_all(library, "libnccl.so.2", needed, NI_COUNT(needed)))
        return ELIBBAD;
    w->of = "ncclGetVersion";
    const int r = w->nccl.version(&version);
    if (r == 0 && w->rank->number == 0)
        say_library(w, version);
    return r;
}

static int take_gpu(struct work *w)
{
    int err = 0;

    w->of = "dlopen";
    if (!ni_cuda_load(&w->cuda))
        return ELIBACC;
    const char *step = ni_cuda_open(&w->cuda, w->rank->bus, &w->device, &err);
    w->of = step ? step : "";
    return err;
}

static int take_memory(struct work *w)
{
    int r = w->cuda.stream(&w->stream, 0);

    w->of = "cuStreamCreate";
    if (r != 0)
        return r;
    w->of = "cuMemAlloc";
    r = w->cuda.alloc(&w->from, BYTES);
    if (r == 0)
        r = w->cuda.alloc(&w->to, BYTES);
    if (r != 0)
        return r;
    w->words = malloc(BYTES);
    w->of = "malloc";
    return w->words ? 0 : ENOMEM;
}

/* Brings the unique id from rank 0 to rank 1. */
static int share_id(struct work *w)
{
    int r = 0;

    w->of = "ncclGetUniqueId";
    if (w->rank->number == 0)
        r = w->nccl.make_id(&w->id);
    if (r != 0)
        return r;
    w->of = "pipe";
    errno = 0;
    const ssize_t n = w->rank->number == 0 ? write(w->rank->id, &w->id, sizeof(w->id))
                                           : read(w->rank->id, &w->id, sizeof(w->id));
    if (n == (ssize_t)sizeof(w->id))
        return 0;
    return errno != 0 ? errno : EPIPE;
}

static void pause_a_little(void)
{
    const struct timespec t = {0, LOOK_NS};

    (void)nanosleep(&t, NULL);
}

/* Waits while NCCL works beside its caller. */
static int settle(struct work *w, int r)
{
    while (r == IN_PROGRESS) {
        int state = 0;

        pause_a_little();
        r = w->nccl.async_error(w->comm, &state);
        r = r == 0 ? state : r;
    }
    return r;
}

static int join(struct work *w)
{
    w->of = "ncclCommInitRank";
    return settle(w, w->nccl.join(&w->comm, 2, w->id, w->rank->number));
}

/* The word at that place of a rank: no two places have the same. */
static uint32_t word_of(int rank, uint32_t at)
{
    return at * UINT32_C(2654435761) + (uint32_t)rank * UINT32_C(0x9e3779b9);
}

/* Sums the words of both ranks, and waits. What the network meets is an error of the communicator: the
   kernel on the GPU would wait for ever. */
static int sum(struct work *w)
{
    int state = 0, r = w->cuda.fill(w->to, 0, WORDS);

    w->of = "cuMemsetD32";
    if (r == 0)
        r = w->cuda.finish();
    if (r != 0)
        return r;
    w->of = "ncclAllReduce";
    r = settle(w, w->nccl.sum((const void *)(uintptr_t)w->from, (void *)(uintptr_t)w->to, WORDS,
                              UINT32, SUM, w->comm, w->stream));
    if (r != 0)
        return r;
    r = w->cuda.ask_stream(w->stream);
    while (r == NI_CUDA_NOT_READY) {
        pause_a_little();
        w->of = "ncclCommGetAsyncError";
        r = w->nccl.async_error(w->comm, &state);
        if (r == 0 && state != IN_PROGRESS)
            r = state;
        if (r != 0)
            return r;
        w->of = "cuStreamQuery";
        r = w->cuda.ask_stream(w->stream);
    }
    return r;
}

/* Connects, and sums for the first time. */
static int sum_first(struct work *w)
{
    for (uint32_t i = 0; i < WORDS; i++)
        w->words[i] = word_of(w->rank->number, i);
    w->of = "cuMemcpyHtoD";
    const int r = w->cuda.to_device(w->from, w->words, BYTES);
    return r != 0 ? r : sum(w);
}

static int compare(struct work *w)
{
    uint32_t wrong = 0, first = 0;

    w->of = "cuMemcpyDtoH";
    const int r = w->cuda.to_host(w->words, w->to, BYTES);
    if (r != 0)
        return r;
    for (uint32_t i = 0; i < WORDS; i++) {
        if (w->words[i] == word_of(0, i) + word_of(1, i))
            continue;
        first = wrong == 0 ? i : first;
        wrong++;
    }
    w->of = "sums";
    if (wrong > 0)
        (void)ni_try_say("wrong %u %d %u %u", w->rank->pair, w->rank->number, wrong, first * 4);
    return wrong > 0 ? EILSEQ : 0;
}

static int leave(struct work *w)
{
    w->of = "ncclCommDestroy";
    return settle(w, w->nccl.leave(w->comm));
}

/* ---- all of them ---- */

static long long now_us(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int ni_try_rank(const struct ni_rank *rank)
{
    static const struct {
        const char *name;
        int (*work)(struct work *w);
    } steps[] = {
        {"load", load},   {"gpu", take_gpu},    {"memory", take_memory},
        {"id", share_id}, {"join", join},       {"connect", sum_first},
        {"sum", sum},     {"compare", compare}, {"leave", leave},
    };
    struct work w = {.rank = rank};

    for (unsigned i = 0; i < NI_COUNT(steps); i++) {
        const long long begin = now_us();

        (void)ni_try_say("at %u %d %s", rank->pair, rank->number, steps[i].name);
        const int r = steps[i].work(&w);
        if (r != 0) {
            (void)ni_try_say("failed %u %d %s %s %d", rank->pair, rank->number, steps[i].name, w.of,
                             r);
            return 1;
        }
        (void)ni_try_say("done %u %d %s %lld", rank->pair, rank->number, steps[i].name,
                         now_us() - begin);
    }
    return 0;
}
