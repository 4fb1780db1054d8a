/* SPDX-License-Identifier: Apache-2.0 */
/* Stages: how far a rank came in NCCL's initialisation, by evidence alone. */
#include "log/stage.h"

#include <string.h>

#include "log/patterns.h"
#include "log/state.h"
#include "nccl_init/base.h"
#include "nccl_init/number.h"
#include "nccl_init/text.h"

/* Source files of NCCL 2.7 to 2.32.3 whose code runs in one step: init.cc initTransportsRank calls
   graph/ and transport.cc in this order. bootstrap.cc also carries the exchanges of later steps, and
   the plugins' own files (transport/net_ib.cc) are run in several. */
enum ni_log_step ni_log_step_of_source(struct ni_span source)
{
    static const struct {
        const char *file;
        enum ni_log_step step;
    } files[] = {
        {"bootstrap.cc", NI_STEP_START},
        {"graph/xml.cc", NI_STEP_MET},
        {"graph/topo.cc", NI_STEP_MET},
        {"graph/paths.cc", NI_STEP_MET},
        {"graph/search.cc", NI_STEP_MET},
        {"graph/connect.cc", NI_STEP_RANKS},
        {"graph/rings.cc", NI_STEP_RANKS},
        {"graph/trees.cc", NI_STEP_RANKS},
        {"graph/tuning.cc", NI_STEP_RANKS},
        {"transport.cc", NI_STEP_CHANNELS},
        {"transport/generic.cc", NI_STEP_CHANNELS},
        {"transport/p2p.cc", NI_STEP_CHANNELS},
        {"transport/shm.cc", NI_STEP_CHANNELS},
        {"transport/net.cc", NI_STEP_CHANNELS},
        {"transport/coll_net.cc", NI_STEP_CHANNELS},
        {"transport/nvls.cc", NI_STEP_NVLS},
    };
    const char *colon = memrchr(source.p, ':', source.n);
    const size_t n = colon ? (size_t)(colon - source.p) : source.n;

    for (size_t i = 0; i < NI_COUNT(files); i++) {
        const size_t len = strlen(files[i].file);

        if (n >= len && memcmp(source.p + n - len, files[i].file, len) == 0 &&
            (n == len || source.p[n - len - 1] == '/'))
            return files[i].step;
    }
    return NI_STEP_NONE;
}

/* Returns true if that version of NCCL is 2.NUMBER or later. RCCL has NCCL's numbers. */
static bool is_version(const struct ni_log *log, const struct ni_log_rank *r, uint64_t least)
{
    const ni_log_text its = r->process->value[NI_LOG_VERSION];
    const char *version = ni_log_word(log, its != 0 ? its : log->version);
    struct ni_span major, minor;
    uint64_t number = 0;

    if (!ni_split(&version, '.', &major) || !ni_split(&version, '.', &minor) ||
        ni_parse_u64(minor, 999, &number) < 0)
        return false;
    return !ni_span_is(major, "2") || number >= least;
}

/* Where the error came from counts, if that is later than the last step with a line of its own. In a
   process of several GPUs it is at most the channels, because later steps may be those of another
   GPU. */
enum ni_log_step ni_log_stopped_step(const struct ni_log_rank *r)
{
    const struct ni_log_rank *p = r->process;
    const enum ni_log_step step = p->step > p->place ? p->step : p->place;
    const enum ni_log_step most = r->process->next ? NI_STEP_CHANNELS : NI_STEP_LAST;

    if (step < NI_STEP_DRIVER)
        return NI_STEP_BOOT;
    return step > most ? most : step;
}

void ni_log_find_met(struct ni_log *log)
{
    for (unsigned i = 0; i < log->n; i++) {
        const struct ni_log_rank *r = log->order[i];

        log->job_met[r->job] |=
            r->rank >= 0 && (r->complete || ni_log_stopped_step(r) > NI_STEP_START);
    }
    for (unsigned i = 0; i < log->n; i++) {
        struct ni_log_rank *r = log->order[i];

        r->met = r->rank >= 0 && log->job_met[r->job] && (r->job != 0 || log->jobs == 0);
    }
}

const char *ni_log_step_text(const struct ni_log *log, const struct ni_log_rank *r)
{
    /* "Bootstrap timings total" is in 2.23.4 and later */
    enum { TIMINGS = 23 };
    const enum ni_log_step step = ni_log_stopped_step(r);
    static const char nvls[] =
        "while it set up NVLink multicast (NVLS), for which all ranks of the node wait for each "
        "other and for Fabric Manager; NCCL_NVLS_ENABLE=0 tells whether that is the reason";
    static const char *const text[] = {
        [NI_STEP_DRIVER] = "before it had an interface",
        [NI_STEP_BOOT] = "while it chose the network: plugins, HCAs",
        [NI_STEP_START] = "in the bootstrap: not all ranks had met",
        [NI_STEP_MET] = "while it read the topology: PCI, NVLink, NICs",
        [NI_STEP_TOPOLOGY] = "while it waited for the other ranks' topology",
        [NI_STEP_RANKS] = "while it computed the channels",
        [NI_STEP_CHANNELS] = "while it set up its channels and connected the ranks",
        [NI_STEP_RINGS] = "while it connected the ranks, after the rings",
        [NI_STEP_NVLS] = nvls,
        [NI_STEP_LAST] = "in its last step: the ranks of the node wait for each other",
    };

    if (step == NI_STEP_BOOT && r->process->network != 0)
        return "after it had chosen the network";
    if (step == NI_STEP_START && r->met)
        return "after all ranks had met: another one came farther";
    if (step == NI_STEP_START && r->process->place != step && !is_version(log, r, TIMINGS))
        return "in the bootstrap, where the ranks meet, or while it read the topology: before 2.23 "
               "no line tells which";
    return text[step];
}

const char *ni_log_step_word(const struct ni_log_rank *r)
{
    static const char *const word[] = {
        [NI_STEP_DRIVER] = "driver",     [NI_STEP_BOOT] = "network",
        [NI_STEP_START] = "bootstrap",   [NI_STEP_MET] = "topology",
        [NI_STEP_TOPOLOGY] = "exchange", [NI_STEP_RANKS] = "channels",
        [NI_STEP_CHANNELS] = "connect",  [NI_STEP_RINGS] = "connect",
        [NI_STEP_NVLS] = "nvls",         [NI_STEP_LAST] = "last",
    };

    const enum ni_log_step step = ni_log_stopped_step(r);

    return word[step == NI_STEP_START && r->met ? NI_STEP_MET : step];
}

enum ni_log_stage ni_log_stage_of_step(enum ni_log_step step)
{
    if (step <= NI_STEP_START)
        return NI_STAGE_BOOTSTRAP;
    return step < NI_STEP_CHANNELS ? NI_STAGE_INIT : NI_STAGE_NETWORK;
}

enum ni_log_stage ni_log_stage_of(const struct ni_log_rank *r)
{
    if (r->ended)
        return NI_STAGE_END;
    if (r->connected || r->called_again || r->wait)
        return NI_STAGE_RUNNING;
    return r->complete ? NI_STAGE_NETWORK : ni_log_stage_of_step(ni_log_stopped_step(r));
}

const char *ni_log_stage_word(enum ni_log_stage stage)
{
    static const char *const words[] = {
        [NI_STAGE_ANY] = "",
        [NI_STAGE_LAUNCHER] = "launcher",
        [NI_STAGE_NAMES] = "names",
        [NI_STAGE_STORE] = "store",
        [NI_STAGE_BOOTSTRAP] = "bootstrap",
        [NI_STAGE_INIT] = "initialisation",
        [NI_STAGE_NETWORK] = "network",
        [NI_STAGE_RUNNING] = "running",
        [NI_STAGE_END] = "end",
    };

    return words[stage];
}

void ni_log_put_before(struct ni_text *t, enum ni_log_stage stage)
{
    static const char *const words[] = {
        [NI_STAGE_ANY] = "no line of NCCL stands before it: the program, or what starts it",
        [NI_STAGE_BOOTSTRAP] = "NCCL had begun, and no line shows that its ranks had met",
        [NI_STAGE_INIT] = "NCCL's ranks had met, and its initialisation went on",
        [NI_STAGE_NETWORK] = "NCCL had set up its channels",
        [NI_STAGE_RUNNING] = "NCCL's ranks had connected: the program itself, or what broke later",
        [NI_STAGE_END] = "a rank of NCCL's had ended in order",
    };

    if (words[stage])
        ni_put(t, words[stage]);
}

/* init.cc runtimeConn, 2.22.3 and later. RCCL does so before. */
bool ni_log_connects_later(const struct ni_log *log, const struct ni_log_rank *r)
{
    return !log->rccl && is_version(log, r, 22);
}

bool ni_log_is_idle(const struct ni_log *log, const struct ni_log_rank *r)
{
    const struct ni_log_rank *p = r->process;
    /* NVLS of one node, and CollNet, connect without a line */
    const bool quiet = p->collnet || (p->nvls && r->nodes <= 1);

    return r->complete && r->size > 1 && !quiet && !r->connected && !r->called_again && !r->ended &&
           !r->aborted && ni_log_connects_later(log, r);
}

bool ni_log_is_stopped(const struct ni_log_rank *r)
{
    const enum ni_log_step step = r->process->step;
    const bool began =
        step == NI_STEP_BOOT || (step == NI_STEP_DRIVER && r->process->warn.file == 0);
    const bool nameless = r->size == 0 && r->process == r && began;

    return !r->complete && !r->ended && (r->started || nameless);
}
