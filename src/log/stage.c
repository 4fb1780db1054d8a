/* SPDX-License-Identifier: Apache-2.0 */
/* Stages: how far a rank came in NCCL's initialisation, by evidence alone. */
#include "log/stage.h"

#include <string.h>

#include "log/patterns.h"
#include "log/state.h"
#include "nccl_init/number.h"
#include "nccl_init/text.h"

/* In a process of several GPUs it is at most the channels, because later steps may be those of
   another GPU. */
enum ni_log_step ni_log_stopped_step(const struct ni_log_rank *r)
{
    const enum ni_log_step step = r->process->step;
    const enum ni_log_step most = r->process->next ? NI_STEP_CHANNELS : NI_STEP_LAST;

    if (step < NI_STEP_DRIVER)
        return NI_STEP_BOOT;
    return step > most ? most : step;
}

const char *ni_log_step_text(const struct ni_log_rank *r)
{
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

    return text[ni_log_stopped_step(r)];
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

    return word[ni_log_stopped_step(r)];
}

/* Returns true if that version connects the ranks for the first collective, after the
   initialisation (init.cc runtimeConn, 2.22.3 and later). RCCL does so before. */
static bool connects_later(const struct ni_log *log, const struct ni_log_rank *r)
{
    const ni_log_text its = r->process->value[NI_LOG_VERSION];
    const char *version = ni_log_word(log, its != 0 ? its : log->version);
    struct ni_span major, minor;
    uint64_t number = 0;

    if (log->rccl || !ni_split(&version, '.', &major) || !ni_split(&version, '.', &minor) ||
        ni_parse_u64(minor, 999, &number) < 0)
        return false;
    return !ni_span_is(major, "2") || number >= 22;
}

bool ni_log_is_idle(const struct ni_log *log, const struct ni_log_rank *r)
{
    const struct ni_log_rank *p = r->process;
    /* NVLS of one node, and CollNet, connect without a line */
    const bool quiet = p->collnet || (p->nvls && r->nodes <= 1);

    return r->complete && r->size > 1 && !quiet && !r->connected && !r->called_again && !r->ended &&
           !r->aborted && connects_later(log, r);
}

bool ni_log_is_stopped(const struct ni_log_rank *r)
{
    const enum ni_log_step step = r->process->step;
    const bool began =
        step == NI_STEP_BOOT || (step == NI_STEP_DRIVER && r->process->warn.file == 0);
    const bool nameless = r->size == 0 && r->process == r && began;

    return !r->complete && !r->ended && (r->started || nameless);
}
