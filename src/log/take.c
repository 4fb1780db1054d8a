/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of a line, noted for the process that printed it. */
#include "log/take.h"

#include <string.h>

#include "findings/log.h"
#include "log/fault.h"
#include "log/line.h"
#include "log/patterns.h"
#include "log/program.h"
#include "log/stage.h"
#include "log/state.h"
#include "log/who.h"
#include "nccl_init/findings.h"
#include "nccl_init/ip.h"
#include "nccl_init/number.h"
#include "nccl_init/text.h"
#include "rules/job_settings.h"

bool ni_log_is_sockets(struct ni_span network, bool tcp)
{
    /* "ocket" also fits FastSocket */
    return ni_log_has(network, "ocket") || (tcp && ni_log_has(network, "fabric"));
}

/* ---- what ---- */

void ni_log_take_value(struct ni_log *log, struct ni_log_rank *p, struct ni_span name,
                       struct ni_span value)
{
    const ni_log_text word = ni_log_keep(log, name);
    unsigned i = 1;

    while (i < log->n_name && log->name[i] != word)
        i++;
    if (word == 0 || i == NI_LOG_NAMES) {
        log->dropped += i == NI_LOG_NAMES;
        return;
    }
    log->name[i] = word;
    log->n_name = i < log->n_name ? log->n_name : i + 1;
    if (p)
        p->value[i] = ni_log_keep(log, value);
    else
        log->plan[i] = ni_log_keep(log, value);
}

/* Takes the value of a variable, whose name stands before `at`. Integers end with a dot
   (misc/param.cc). */
static void take_value(struct ni_log_line *l, const char *at, struct ni_span value)
{
    const char *name = at;

    while (name > l->p &&
           (name[-1] == '_' || (name[-1] >= 'A' && name[-1] <= 'Z') || ni_is_digit(name[-1])))
        name--;
    value = ni_trim(value);
    if (value.n > 1 && value.p[value.n - 1] == '.' && ni_is_digit(value.p[value.n - 2]) &&
        !memchr(value.p, '.', value.n - 1))
        value.n--;
    if (at - name >= 6 && at - name < 64 && memcmp(name + 1, "CCL_", 4) == 0) /* NCCL_, RCCL_ */
        ni_log_take_value(l->log, l->by, (struct ni_span){name, (size_t)(at - name)}, value);
}

/* Takes NCCL's version: the digits and dots at the start of s. */
static void take_version(struct ni_log_line *l, const char *at, struct ni_span s)
{
    size_t n = 0;

    l->log->rccl |= *at == 'R';
    while (n < s.n && (ni_is_digit(s.p[n]) || s.p[n] == '.'))
        n++;
    while (n > 0 && s.p[n - 1] == '.')
        n--;
    if (n < strlen("2.4"))
        return;
    const ni_log_text version = ni_log_keep(l->log, (struct ni_span){s.p, n});
    if (l->by)
        l->by->value[NI_LOG_VERSION] = version;
    else
        l->log->version = version;
}

/* Takes the list of HCAs: "[0]mlx5_6:1/RoCE [1]={[0] a:1/IB, [1] b:1/IB} [RO]; OOB ..." becomes
   "mlx5_6:1/RoCE,a:1/IB+b:1/IB". The place in the list is the number that channels use, whatever
   stands in the brackets. A list without its end was cut, and is not taken. */
static void take_hcas(struct ni_log_line *l, struct ni_span s)
{
    struct ni_text t = NI_TEXT(1024);
    const char *end = memchr(s.p, ';', s.n), *comma = "";
    struct ni_span word;

    for (const char *p = s.p; end && p < end; p = word.p + word.n + 1) {
        word = (struct ni_span){p, 0};
        while (p + word.n < end && !strchr(" ,}", p[word.n]))
            word.n++;
        while (word.n > 0 && strchr("[]={0123456789", *word.p)) /* the numbers in front */
            word = (struct ni_span){word.p + 1, word.n - 1};
        if (memchr(word.p, '/', word.n)) {
            ni_put(&t, comma);
            ni_putn(&t, word.p, word.n);
            comma = word.p[word.n] == ',' ? "+" : ",";
        }
    }
    if (t.len > 0)
        l->by->hcas = ni_log_keep(l->log, ni_span_of(t.buf));
}

static void take_step(const struct ni_log_line *l, enum ni_log_step step)
{
    l->by->nvls |= step == NI_STEP_NVLS;
    if (l->by->step < step)
        l->by->step = step;
    ni_log_reach(l->log, ni_log_stage_of_step(step));
}

/* Remembers a further communicator of the GPU from its start to its end: a rank may wait in it for
   one that never comes. */
static void take_further(const struct ni_log_line *l, struct ni_log_rank *r,
                         const struct ni_span *c, ni_log_text job)
{
    const ni_log_text comm = ni_log_keep(l->log, c[0]);
    const size_t n = (size_t)(c[4].p + c[4].n - c[0].p);

    if (comm == r->begun && ni_log_has(c[4], "COMPLETE"))
        r->begun = 0;
    if (comm == r->again && ni_log_has(c[4], "Destroy COMPLETE"))
        r->ended = true;
    if (!ni_log_has(c[4], "Init START") || !r->complete || ni_log_number(c[2]) > r->size)
        return;
    /* it goes on after it has ended its communicators */
    r->again = r->ended ? comm : r->again;
    r->ended = false;
    r->begun = comm;
    r->begun_job = job; /* ncclCommSplit names none */
    r->begun_size = ni_log_number(c[2]);
    r->begun_at = (struct ni_log_quote){
        .file = l->log->file,
        .text = ni_log_keep(l->log, (struct ni_span){c[0].p, n < 200 ? n : 200}),
        .line = (uint32_t)l->log->line};
}

/* Takes a communicator; a smaller one of the same GPU is a part of the job. */
static void take_comm(struct ni_log_line *l, const struct ni_span *c)
{
    const int size = ni_log_number(c[2]);
    struct ni_log_rank *r = ni_log_gpu_of(l, ni_log_number(c[3]));
    const ni_log_text job = ni_log_keep(l->log, ni_log_after(c[4], "commId "));

    if (!r)
        return;
    r->several |= job != 0 && r->job != 0 && job != r->job;
    take_further(l, r, c, job);
    if (size < r->size)
        return;
    if (size > r->size) {
        r->rank = ni_log_number(c[1]);
        r->size = size;
        r->bus = ni_log_keep(l->log, ni_log_after(c[4], "busId "));
        r->job = job;
        r->started = r->complete = r->ended = false;
    }
    if (job != 0 && r->job != 0 && job != r->job)
        return;
    r->started |= ni_log_has(c[4], "Init ");
    r->complete |= ni_log_has(c[4], "Init COMPLETE");
    r->ended |= ni_log_has(c[4], "Destroy COMPLETE");
    r->aborted |= ni_log_has(c[4], "Abort COMPLETE");
    if (r->ended)
        ni_log_reach(l->log, NI_STAGE_END);
    if (ni_log_has(c[4], "Init COMPLETE"))
        take_step(l, NI_STEP_COMPLETE);
    else if (ni_log_has(c[4], "Init "))
        l->by->step = NI_STEP_START;
}

/* Takes a channel: "IB/0/GDRDMA/Shared", "IB/3(7)/GDRDMA(PCI)", "AWS Libfabric/0/GDRDMA", "IB/0
   comm 0x1 nRanks 02" are network and HCA, the rank that sends for this one, and further words. c:
   the words of "Channel %s : %d[%s -> %d[%s %s via NET/%r", from the number of the channel on. */
static void take_channel(struct ni_log_line *l, const struct ni_span *c)
{
    const int rank = ni_log_number(c[c[5].n == 6 ? 1 : 3]); /* [send] or [receive] */
    const char *slash = memchr(c[6].p, '/', c[6].n);
    /* without lines of the communicator each GPU that prints is a rank */
    struct ni_log_rank *r =
        l->by->size > 0 ? ni_log_rank_of(l, l->dev, rank) : ni_log_gpu_of(l, l->dev);
    struct ni_span hca = {slash, 0}, name = c[6];
    int n;

    /* srun -l breaks a line where a buffer ended: "IB/0/GDR", "IB/3(7" */
    if (!r || !slash || c[6].p[c[6].n - 1] == '/' ||
        ni_log_has(c[6], "(") != ni_log_has(c[6], ")") ||
        ni_log_has(c[6], "/G") != ni_log_has(c[6], "/GDRDMA"))
        return;
    hca.p++;
    r->rank = r->rank < 0 ? rank : r->rank;
    name.n = (size_t)(slash - c[6].p);
    if (ni_log_is_sockets(name, l->by->tcp)) {
        r->sockets++;
        return;
    }
    while (hca.p + hca.n < l->end && ni_is_digit(hca.p[hca.n]))
        hca.n++;
    n = ni_log_number(hca);
    r->net++;
    r->gdr += ni_log_has(c[6], "/GDRDMA");
    if (n >= NI_LOG_HCAS)
        l->log->dropped++;
    else if (n >= 0 && r->on_hca[n] < UINT16_MAX)
        r->on_hca[n]++;
}

/* Takes a GID. NCCL prints the halves of the address as little-endian numbers, without their
   leading zeros. */
static void take_gid(struct ni_log_line *l, const struct ni_span *c)
{
    uint64_t half[2] = {0, 0};
    uint8_t ip[NI_GID_BYTES];
    char text[NI_IP_TEXT];

    (void)ni_parse_hex(c[2], UINT64_MAX, &half[0]);
    (void)ni_parse_hex(c[3], UINT64_MAX, &half[1]);
    for (unsigned i = 0; i < NI_GID_BYTES; i++)
        ip[i] = (uint8_t)(half[i / 8] >> (8 * (i % 8)));
    if (l->by->gid_index < 0) {
        l->by->gid_index = ni_log_number(c[1]);
        l->by->gid = ni_log_keep(l->log, ni_span_of(ni_ip_text(ip, text)));
    }
}

/* A difference that RAS reports. */
static const struct ni_pattern diag = {
    .text = "", .versions = "", .take = NI_TAKE_FAULT, .id = NI_F_LOG_DIAG};

static const char *kept_text(struct ni_log *log, struct ni_span s)
{
    return ni_log_word(log, ni_log_keep(log, s));
}

/* ---- a line ---- */

/* Returns the source file of a line on the way back from an error, "transport/net.cc:597 -> 2";
   empty: it is none. */
static struct ni_span source_of_return(struct ni_span message)
{
    const char *blank = memchr(message.p, ' ', message.n);
    const struct ni_span word = {message.p, blank ? (size_t)(blank - message.p) : 0};
    const struct ni_span rest = {message.p + word.n, message.n - word.n};

    const bool source =
        ni_log_has(word, ".cc:") || ni_log_has(word, ".h:") || ni_log_has(word, ".cu:");

    if (!source || rest.n < 5 || memcmp(rest.p, " -> ", 4) != 0)
        return (struct ni_span){message.p, 0};
    return word;
}

/* Notes where in its initialisation an error was, by the source files that its WARN and the way back
   from it name. The outermost of them tells. */
static void take_source(const struct ni_log_line *l, struct ni_span message)
{
    struct ni_log_rank *p = l->by;
    const struct ni_span source = l->warn ? l->source : source_of_return(message);
    enum ni_log_step step;

    if (p->step == NI_STEP_COMPLETE || source.n == 0)
        return;
    step = ni_log_step_of_source(source);
    p->place = step > p->place ? step : p->place;
}

/* Keeps the first warning of a process, and its last line until it has a communicator. */
static void take_words(struct ni_log_line *l)
{
    struct ni_log_rank *p = l->by;

    l->log->info |= l->info;
    if (p->file == l->log->file)
        p->until = (uint32_t)l->log->line;
    if (p->since != 0) {
        const uint64_t time = ni_log_time(l);

        p->till = time > p->till ? time : p->till;
    }
    const struct ni_span message = ni_log_message(l);
    size_t n = message.n < sizeof(p->last) ? message.n : sizeof(p->last) - 1;

    take_source(l, message);
    /* NCCL returns an error right after the warning */
    p->returned |= p->warn.file == l->log->file && p->warn.line + 1 == l->log->line && !l->warn &&
                   source_of_return(message).n > 0;
    /* "init.cc:160 -> 5", the way back from an error, and lines at exit do not show where the
       process was */
    if (p->step != NI_STEP_COMPLETE && !ni_log_has(message, " -> ") &&
        !ni_log_has(message, "Closing env plugin")) {
        p->last_file = l->log->file;
        p->last_line = (uint32_t)l->log->line;
        n = strnlen(message.p, n);
        memcpy(p->last, message.p, n);
        p->last[n] = '\0';
    }
    if (!l->warn || l->mild || p->warn.file != 0)
        return;
    p->warn = (struct ni_log_quote){
        .file = l->log->file,
        .text = ni_log_keep(l->log, (struct ni_span){message.p, message.n < 200 ? message.n : 200}),
        .line = (uint32_t)l->log->line};
    p->unknown_warn = l->faults == 0;
}

static void take_boot(struct ni_log_line *l, struct ni_span what)
{
    if (ni_log_has(what, "<")) /* NCCL_OOB_NET_ENABLE has a second one, of a device */
        ni_log_begin_anew(l);
    take_step(l, NI_STEP_BOOT);
    if (l->by->boot == 0)
        l->by->boot = ni_log_keep(l->log, ni_log_after(what, what.p[0] == '[' ? "]" : ""));
}

/* Takes the number of nodes. A smaller communicator may cross nodes while the largest does not: TP
   in a node, PP across. */
static void take_nodes(const struct ni_log_line *l, const struct ni_span *c)
{
    const int nodes = ni_log_number(c[3]);
    struct ni_log_rank *r;

    take_step(l, NI_STEP_RANKS);
    r = ni_log_rank_of(l, l->dev, ni_log_number(c[1]));
    if (nodes > r->nodes && (nodes > 1 || ni_log_number(c[2]) == r->size))
        r->nodes = nodes;
}

/* Notes that the collectives of the jobs in this file have run. A file without ranks has the results
   of a job whose lines stand elsewhere. */
static void take_result(struct ni_log *log)
{
    bool found = log->result_file == log->file;

    for (; log->n_result < log->n_rank; log->n_result++) {
        const struct ni_log_rank *r = &log->rank[log->n_result];

        if (r->process->file != log->file)
            continue;
        log->job_ran[r->job] = true;
        found = true;
    }
    if (found)
        log->result_file = log->file;
    else
        log->job_ran[0] = true;
}

/* Addresses, names of HCAs and indexes may differ from rank to rank. */
static void take_diag(struct ni_log_line *l, struct ni_span setting, const char *at)
{
    if (ni_find_job_setting(kept_text(l->log, setting)))
        ni_log_take_fault(l, &diag, at, (struct ni_span){at, 0});
}

/* Takes the number of a call of the program: 0 is the first. */
static void take_call(struct ni_log_line *l, struct ni_span number)
{
    if (!ni_span_is(number, "0"))
        ni_log_rank_of(l, l->dev, -1)->called_again = true;
}

/* Takes what a line without words of its own says of the rank. */
static void take_mark(struct ni_log_line *l, enum ni_log_take what)
{
    struct ni_log_rank *r = ni_log_rank_of(l, l->dev, -1);

    if (what == NI_TAKE_COLLNET) {
        l->by->collnet = true;
    } else if (what == NI_TAKE_CONNECTED) {
        r->connected = true;
        take_step(l, NI_STEP_RINGS);
        ni_log_reach(l->log, NI_STAGE_RUNNING);
    } else {
        r->aborted = true;
    }
}

/* Returns true if the line is whole and of a known process, where that matters. */
static bool may_take(const struct ni_log_line *l, const struct ni_found *f)
{
    const enum ni_log_take what = f->row->take;
    const bool cut = l->cut && !(what == NI_TAKE_COMM && ni_log_has(f->capture[4], "COMPLETE"));

    if (what > NI_TAKE_VERSION && !l->by)
        return false;
    return what < NI_TAKE_VERSION || (l->whole && !cut);
}

/* Takes what says how far a rank is: its communicator, channels, connections and collectives. */
static void take_progress(struct ni_log_line *l, const struct ni_found *f)
{
    const enum ni_log_take what = f->row->take;

    if (what == NI_TAKE_COMM)
        take_comm(l, f->capture);
    else if (what == NI_TAKE_NODES)
        take_nodes(l, f->capture);
    else if (what == NI_TAKE_CHANNEL)
        take_channel(l, f->capture);
    else if (what == NI_TAKE_CALL)
        take_call(l, f->capture[0]);
    else if (what == NI_TAKE_GID)
        take_gid(l, f->capture);
    else if (what == NI_TAKE_STEP)
        take_step(l, (enum ni_log_step)f->row->flags);
    else
        take_mark(l, what);
}

/* Returns false for a pattern of a fault, if another one knows the line better. */
static bool counts(const struct ni_log_line *l, const struct ni_pattern *row)
{
    if (l->alone && row != l->alone && row->take == NI_TAKE_FAULT)
        return false;
    return row->take != NI_TAKE_FAULT || (row->flags & GENERAL) == 0 || l->own == 0;
}

/* Keeps a line that may explain another one. */
static void take_clue(const struct ni_log_line *l, const struct ni_found *f)
{
    if (l->log->timeout.file == 0)
        l->log->clue[f->row->flags] = ni_log_mark_of(l);
}

/* Takes what a row of the patterns has found. */
static void take_found(struct ni_log_line *l, const struct ni_found *f)
{
    const struct ni_span *c = f->capture;

    if (!may_take(l, f))
        return;
    l->log->libraries |= UINT32_C(1) << f->row->library;
    switch (f->row->take) {
    case NI_TAKE_FAULT:
        ni_log_take_fault(l, f->row, f->at, c[0]);
        break;
    case NI_TAKE_HEADER:
        ni_log_enter(l, f->at);
        break;
    case NI_TAKE_DIAG:
        take_diag(l, c[2], f->at);
        break;
    case NI_TAKE_PROGRAM:
        ni_log_take_program(l, f);
        break;
    case NI_TAKE_RESULT:
        take_result(l->log);
        break;
    case NI_TAKE_VERSION:
        take_version(l, f->at, c[0]);
        break;
    case NI_TAKE_VALUE:
        take_value(l, *f->at == 'r' ? c[0].p - 1 : f->at, c[0]);
        break;
    case NI_TAKE_BOOT:
        take_boot(l, c[0]);
        break;
    case NI_TAKE_HCAS:
        take_hcas(l, c[0]);
        break;
    case NI_TAKE_NETWORK:
        l->by->network = ni_log_keep(l->log, ni_trim(c[0]));
        break;
    case NI_TAKE_COMM:
    case NI_TAKE_NODES:
    case NI_TAKE_CHANNEL:
    case NI_TAKE_CONNECTED:
    case NI_TAKE_COLLNET:
    case NI_TAKE_CALL:
    case NI_TAKE_GID:
    case NI_TAKE_ABORT:
    case NI_TAKE_STEP:
        take_progress(l, f);
        break;
    case NI_TAKE_CLUE:
        take_clue(l, f);
        break;
    case NI_TAKE_MILD:
    case NI_TAKE_ERROR: /* ni_log_take_line takes it, if nothing else knows the line */
        break;
    }
}

/* Returns true if the line is the first of a message that Open MPI puts between two lines of
   dashes. */
static bool begins_box(struct ni_log *log, const char *p, const char *end)
{
    enum { DASHES = 60 };
    const char *at = end;

    while (at > p && at[-1] == '-')
        at--;
    if (end - at >= DASHES) {
        log->boxed = !log->boxed || log->records > log->boxed_at + 100;
        log->boxed_at = log->records;
        return false;
    }
    return log->boxed && log->records == log->boxed_at + 1 && p < end;
}

/* Notes a line that says in words of its own that something failed, if nothing else knows it. */
static void take_unknown(const struct ni_log_line *l, bool boxed)
{
    const bool strong = ni_log_is_glog_error(l->p, l->end);
    const bool weak = !strong && (!l->error || (l->error->row->flags & WEAK) != 0);

    if (l->is_nccl || l->faults > 0)
        return;
    if (l->error)
        ni_log_take_error(l, l->error->at, weak);
    else if (strong || boxed)
        ni_log_take_error(l, l->p, weak);
}

/* A line passes one way: it is read and matched, then each thing that a pattern found in it is noted,
   from the left, then what is left of it. */
void ni_log_take_line(struct ni_log *log, const char *p, const char *end, enum ni_log_cut cut)
{
    const unsigned notes = log->n_note;
    const bool boxed = begins_box(log, p, end);
    struct ni_log_line l;

    ni_log_read_line(&l, log, p, end, cut);
    log->records++;
    log->dropped += l.n_found == NI_LOG_FOUND; /* the line may have more */
    ni_log_end_traceback(&l);
    for (unsigned i = 0; i < l.n_found; i++)
        if (counts(&l, l.found[i].row))
            take_found(&l, &l.found[i]);
    if (log->n_note == notes)
        take_unknown(&l, boxed);
    if (!l.by)
        return;
    take_words(&l);
    if (l.cut)
        log->cut_file = log->file;
}
