/* SPDX-License-Identifier: Apache-2.0 */
/* Who printed a line. */
#include "log/who.h"

#include <string.h>

#include "log/line.h"
#include "log/program.h"
#include "log/state.h"
#include "nccl_init/nccl_list.h"
#include "nccl_init/number.h"
#include "nccl_init/text.h"

void ni_log_reach(struct ni_log *log, enum ni_log_stage stage)
{
    if (log->reached.file != log->file)
        log->reached.stage = NI_STAGE_ANY;
    log->reached.file = log->file;
    log->reached.stage = stage > log->reached.stage ? stage : log->reached.stage;
}

static struct ni_log_rank *add_rank(struct ni_log *log, int dev)
{
    struct ni_log_rank *r = &log->rank[log->n_rank];

    if (log->n_rank == NI_LOG_RANKS) {
        log->dropped++;
        return NULL;
    }
    log->n_rank++;
    *r = (struct ni_log_rank){.process = r, .gid_index = -1, .dev = dev, .rank = -1, .nth = -1};
    return r;
}

/* Returns the number of the attempt in the path of a file, from 1 on, as torchrun names folders of
   logs: "attempt_0/1/stderr.log"; 0: it has none. */
static int attempt_of(const char *file)
{
    static const char mark[] = "attempt_";
    const char *at = strstr(file, mark);
    struct ni_span digits = {at ? at + sizeof(mark) - 1 : file, 0};

    while (at && digits.n < 6 && ni_is_digit(digits.p[digits.n]))
        digits.n++;
    return digits.n == 0 ? 0 : ni_log_number(digits) + 1;
}

/* Notes when a process began, and what had failed before it. */
static void note_begin(const struct ni_log_line *l, struct ni_log_rank *p)
{
    p->since = ni_log_time(l);
    p->till = p->since;
    p->attempt = attempt_of(ni_log_word(l->log, l->log->file));
    p->fault_before = l->log->fault.file == l->log->file ? l->log->fault.line : 0;
    if (p->fault_before != l->log->generation_line && p->fault_before != 0) {
        l->log->generation_line = p->fault_before;
        l->log->generation++;
    }
}

/* Finds or adds the process with this name, "host:pid". */
static struct ni_log_rank *process_of(const struct ni_log_line *l, struct ni_span name)
{
    struct ni_log *log = l->log;
    const ni_log_text key = ni_log_keep(log, name);
    struct ni_span host, pid;
    struct ni_log_rank *p;

    if (log->process_of[key] != 0)
        return &log->rank[log->process_of[key] - 1];
    p = key == 0 && name.n > 0 ? NULL : add_rank(log, -1);
    if (p) {
        p->host = ni_log_keep(log, ni_split_port(name, &host, &pid) ? host : ni_span_of(""));
        p->file = log->file;
        p->line = (uint32_t)log->line;
        p->stream = ni_log_stream(log, l->p, name.p, NULL);
        note_begin(l, p);
        p->name = key;
        log->process_of[key] = log->n_rank;
    }
    return p;
}

void ni_log_enter(struct ni_log_line *l, const char *at)
{
    ni_log_read_header(l, at);
    if (l->whole)
        l->by = process_of(l, l->name);
    if (l->by)
        ni_log_reach(l->log, NI_STAGE_BOOTSTRAP);
}

void ni_log_begin_anew(struct ni_log_line *l)
{
    const bool again = l->by->boot != 0 && l->by->host != 0;
    struct ni_log_rank *p = again ? add_rank(l->log, -1) : NULL;

    if (!p)
        return;
    l->log->process_of[l->by->name] = l->log->n_rank;
    p->name = l->by->name;
    p->host = l->by->host;
    p->file = l->log->file;
    p->line = (uint32_t)l->log->line;
    p->stream = l->by->stream;
    note_begin(l, p);
    /* some values stand before the first contact */
    memcpy(p->value, l->by->value, sizeof(p->value));
    l->by = p;
}

struct ni_log_rank *ni_log_rank_of(const struct ni_log_line *l, int dev, int rank)
{
    struct ni_log_rank *found = l->by, *r = l->by;

    do {
        if (rank >= 0 && r->rank == rank)
            return r;
        if (r->dev == dev)
            found = r;
        r = r->next;
    } while (r);
    return found;
}

struct ni_log_rank *ni_log_gpu_of(const struct ni_log_line *l, int dev)
{
    struct ni_log_rank *r = l->by;
    unsigned gpus = 0;

    if (!r)
        return NULL;
    for (; r && r->dev != dev && r->dev >= 0; r = r->next)
        gpus++;
    if (gpus == NI_LOG_GPUS) {
        l->log->dropped++;
        return NULL;
    }
    if (!r) {
        r = add_rank(l->log, dev);
        if (!r)
            return NULL;
        r->process = l->by;
        r->next = l->by->next;
        l->by->next = r;
    }
    r->dev = dev;
    return r;
}
