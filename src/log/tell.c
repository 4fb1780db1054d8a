/* SPDX-License-Identifier: Apache-2.0 */
/* What a piece of NCCL's output tells. */
#include "log/tell.h"

#include <stdlib.h>
#include <string.h>

#include "log/judge.h"
#include "log/read.h"
#include "log/state.h"
#include "nccl_init/findings.h"
#include "nccl_init/text.h"

static void feed(struct ni_log *log, struct ni_span text)
{
    while (text.n > 0) {
        size_t room;
        char *to = ni_log_room(log, &room);
        const size_t n = text.n < room ? text.n : room;

        memcpy(to, text.p, n);
        ni_log_got(log, "NCCL", n);
        text = (struct ni_span){text.p + n, text.n - n};
    }
}

static void note_network(const struct ni_log *log, struct ni_log_told *ret)
{
    for (unsigned i = 0; i < log->n; i++) {
        const struct ni_log_rank *r = log->order[i];
        const char *network = ni_log_word(log, r->process->network);

        if (r->process->network != 0)
            (void)ni_copyn(ret->network, sizeof(ret->network), network,
                           strnlen(network, sizeof(ret->network) - 1));
        ret->ends += r->net;
        ret->gdr += r->gdr;
    }
}

struct ni_log_told *ni_log_tell(ni_log_line_fn *next, void *ctx, bool rdma)
{
    /* some hundred MiB of addresses, of which a log of two ranks touches few */
    struct ni_log *log = calloc(1, sizeof(*log));
    struct ni_log_told *ret = log ? calloc(1, sizeof(*ret)) : NULL;
    struct ni_span line;

    while (ret && next(ctx, &line)) {
        feed(log, line);
        feed(log, ni_span_of("\n"));
    }
    if (ret) {
        ni_log_got(log, "NCCL", 0);
        ni_log_judge(log, rdma, false, &ret->findings);
        ret->cause = log->cause;
        note_network(log, ret);
    }
    free(log);
    return ret;
}
