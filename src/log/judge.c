/* SPDX-License-Identifier: Apache-2.0 */
/* The judgement after the last line: ranks, their network, and the findings about them. */
#include "log/judge.h"

#include <stdlib.h>
#include <string.h>

#include "findings/device.h"
#include "findings/job.h"
#include "findings/log.h"
#include "findings/pod.h"
#include "findings/setting.h"
#include "findings/verbs.h"
#include "log/attempts.h"
#include "log/cause.h"
#include "log/line.h"
#include "log/meaning.h"
#include "log/patterns.h"
#include "log/ranks.h"
#include "log/set.h"
#include "log/stage.h"
#include "log/state.h"
#include "nccl_init/findings.h"
#include "nccl_init/text.h"
#include "print/words.h"
#include "rules/job_settings.h"

/* ---- what each rank is ---- */

/* Returns the value that NCCL said it took; NULL: it said nothing. */
static const char *rank_value(const struct ni_log *log, const struct ni_log_rank *r,
                              const char *name)
{
    for (unsigned k = 1; k < log->n_name; k++)
        if (r->process->value[k] != 0 && strcmp(ni_log_word(log, log->name[k]), name) == 0)
            return ni_log_word(log, r->process->value[k]);
    return NULL;
}

/* Returns the variable that switches RDMA off; NULL: none does. */
static const char *switched_off(const struct ni_log *log, const struct ni_log_rank *r)
{
    const char *off = rank_value(log, r, "NCCL_IB_DISABLE"), *net = rank_value(log, r, "NCCL_NET");

    if (off && strcmp(off, "0") != 0)
        return "NCCL_IB_DISABLE";
    return net && strcasecmp(net, "socket") == 0 ? "NCCL_NET" : NULL;
}

/* Properties of a rank, a bit each. The first ones are the way of its data between nodes. */
enum {
    UNKNOWN = 1, /* the log does not say */
    LOCAL = 2,   /* one node: no network is needed */
    RDMA = 4,    /* IB, or a plugin of another network */
    SOCKETS = 8,
    NO_RDMA = SOCKETS | UNKNOWN,
    LACKS_GDR = 16,
    MEANT = 32, /* RDMA, or HCAs are named and not switched off */
    WAITING = 64
};

/* Returns true if the user switched GPUDirect RDMA off. */
static bool without_gdr(const struct ni_log *log, const struct ni_log_rank *r)
{
    const char *level = rank_value(log, r, "NCCL_NET_GDR_LEVEL");

    return level && strcmp(level, "LOC") == 0;
}

/* Returns true if all ranks of the log are of one host. */
static bool have_one_host(const struct ni_log *log)
{
    for (unsigned i = 0; i < log->n; i++)
        if (log->order[i]->process->host != log->order[0]->process->host)
            return false;
    return log->n > 0 && log->order[0]->process->host != 0;
}

/* Returns the bits above that hold for the rank. one_host: that of have_one_host. */
static unsigned flags_of(const struct ni_log *log, const struct ni_log_rank *r, bool one_host)
{
    const struct ni_log_rank *p = r->process;
    const char *network = ni_log_word(log, p->network);
    /* up to 2.20.3 no line has the number of nodes. Channels to other nodes are printed at the
       start, but only by some ranks of a node, so all of the job must be there. */
    const bool complete = r->size > 0 && log->n >= (unsigned)r->size;
    const bool by_host = r->nodes == 0 && r->connected && one_host && complete;
    const bool local = r->nodes == 1 || r->size == 1 || by_host;
    unsigned is = r->gdr < r->net && !without_gdr(log, r) ? LACKS_GDR : 0;
    const bool sockets = ni_log_is_sockets(ni_span_of(network), p->tcp);

    if (r->sockets > 0 || (r->net == 0 && !local && sockets))
        is |= SOCKETS;
    else if (r->net > 0 || (!local && *network))
        is |= RDMA | MEANT;
    else
        is |= local ? LOCAL : UNKNOWN;
    if (ni_log_is_stopped(r))
        is |= WAITING;
    if ((p->hcas != 0 || rank_value(log, r, "NCCL_IB_HCA")) && !switched_off(log, r))
        is |= MEANT;
    return is;
}

/* ---- what is told ---- */

/* Returns the ranks with any of these properties. */
static struct ni_log_set ranks_with(const struct ni_log *log, unsigned what)
{
    struct ni_log_set ranks = {0};

    for (unsigned i = 0; i < log->n; i++)
        if ((log->order[i]->is & what) != 0)
            ni_log_set_add(&ranks, (int)i);
    return ranks;
}

/* Returns how many ranks have any of these properties. */
static unsigned count_with(const struct ni_log *log, unsigned what)
{
    unsigned n = 0;

    for (unsigned i = 0; i < log->n; i++)
        n += (log->order[i]->is & what) != 0;
    return n;
}

/* Returns the meaning of the hit: its line's own, or that of the finding. */
static const char *cause_text(const struct ni_log *log, const struct ni_log_hit *h,
                              ni_finding_number id)
{
    const bool by_family = id == NI_F_LOG_SOCKET_FAMILY;

    if (id == NI_F_LOG_FAILED && log->n_rank == 0)
        return "NCCL gave up, and no line of it says why: set NCCL_DEBUG=WARN";
    return h->row->cause && !by_family ? h->row->cause : ni_log_cause[id];
}

/* Puts what may have kept a rank away that found no store. */
static void put_latecomer(struct ni_text *t, const struct ni_log *log)
{
    for (unsigned i = 0; i < log->n_hit; i++) {
        const struct ni_log_hit *h = &log->hit[i];
        const char *address = strchr(h->quote, '('); /* "(HOST, PORT)" */

        if ((h->flags & NO_STORE) == 0)
            continue;
        ni_put(t, "; another one found nobody");
        if (address)
            ni_putf(t, " at %.*s)", (int)strcspn(address, ")"), address);
        ni_put(t, " (");
        ni_quote(t, ni_log_word(log, h->file));
        ni_putf(t,
                ":%u): it came too late, or the address is wrong, or it is not let through; the "
                "times at which both started tell",
                (unsigned)h->line);
        return;
    }
}

/* Returns the address or the host name of the other end in a line, "10.0.0.3" of "10.0.0.3<4000>";
   empty: it has none. */
static struct ni_span find_peer(const struct ni_log_hit *h)
{
    const char *end = strchr(h->quote, '<'), *from = end;

    if (!end)
        return (struct ni_span){h->quote, 0};
    while (from > h->quote && from[-1] != ' ')
        from--;
    return (struct ni_span){from, (size_t)(end - from)};
}

/* Returns the ranks of that address, or that host. */
static struct ni_log_set ranks_at(const struct ni_log *log, struct ni_span address)
{
    struct ni_log_set ranks = {0};

    for (unsigned i = 0; i < log->n; i++) {
        const struct ni_log_rank *p = log->order[i]->process;
        const char *colon = strchr(ni_log_word(log, p->boot), ':');

        if (ni_span_is(address, ni_log_word(log, p->host)) ||
            (colon && ni_span_is(address, colon + 1)))
            ni_log_set_add(&ranks, (int)i);
    }
    return ranks;
}

/* Returns true if the log of one of these ranks says how it ended, or warned. */
static bool has_words(const struct ni_log *log, const struct ni_log_set *ranks)
{
    for (int i = 0; i < ranks->end; i++) {
        const struct ni_log_rank *r = log->order[i];

        if (ni_log_set_has(ranks, i) && (r->ended || r->aborted || r->exception || r->error ||
                                         r->end || r->wait || r->process->warn.file != 0))
            return true;
    }
    return false;
}

/* Returns the line by which a launcher ended the whole job; NULL: there is none. */
static const struct ni_log_hit *find_job_end(const struct ni_log *log)
{
    for (unsigned i = 0; i < log->n_hit; i++)
        if ((log->hit[i].flags & JOB_ENDED) != 0 && ni_log_is_nobodys(log, &log->hit[i]))
            return &log->hit[i];
    return NULL;
}

/* Puts the ranks at the other end's address if their own log does not say why they left. */
static void put_peer(struct ni_text *t, const struct ni_log *log, const struct ni_log_hit *h)
{
    const struct ni_span peer = find_peer(h);
    const struct ni_log_set ranks = ranks_at(log, peer);

    if (peer.n == 0 || ranks.n == 0 || has_words(log, &ranks)) {
        ni_put(t, ", and its own log says why");
        return;
    }
    ni_putf(t, "; the log of the rank at %.*s, ", (int)peer.n, peer.p);
    ni_log_put_ranks(t, log, &ranks);
    ni_put(t, ", shows neither an end nor an error: ");
    const struct ni_log_hit *end = find_job_end(log);
    if (end)
        ni_putf(t, "it may have left when %s ended the job", ni_log_library[end->row->library]);
    else
        ni_put(t, "look at that node");
}

/* Returns true if only ranks that are in the bootstrap still have the hit. */
static bool is_early(const struct ni_log *log, const struct ni_log_hit *h)
{
    unsigned early = 0;

    for (unsigned i = 0; i < log->n; i++) {
        const struct ni_log_rank *r = log->order[i];

        if ((r->process->said & h->bit) == 0)
            continue;
        if (!ni_log_is_stopped(r) || ni_log_stopped_step(r) != NI_STEP_START || r->met)
            return false;
        early++;
    }
    return early > 0;
}

/* Returns true if the other end is no rank of the job: the log has the address of each rank's first
   contact, and a rank that is in the bootstrap still met another one there. */
static bool is_stranger(const struct ni_log *log, const struct ni_log_hit *h)
{
    const struct ni_span peer = find_peer(h);
    bool early = false;

    for (unsigned i = 0; i < log->n; i++) {
        const struct ni_log_rank *r = log->order[i];

        if (r->rank < 0 || r->size != (int)log->n || r->process->boot == 0)
            return false;
        early |= (r->process->said & h->bit) != 0 && ni_log_is_stopped(r) &&
                 ni_log_stopped_step(r) == NI_STEP_START;
    }
    return early && peer.n > 0 && ranks_at(log, peer).n == 0;
}

static void put_stranger(struct ni_text *t, const struct ni_log_hit *h)
{
    const struct ni_span peer = find_peer(h);

    ni_putf(t,
            "; no rank has the address %.*s: a port scanner, a health check, or another job. NCCL "
            "2.27.3 and later does not fail from it",
            (int)peer.n, peer.p);
}

/* Puts the address of the other end, if the line has it. */
static void put_address(struct ni_text *t, const struct ni_log_hit *h)
{
    const struct ni_span peer = find_peer(h);

    if (peer.n == 0)
        return;
    ni_put(t, h->count > 1 ? "; the first such end is " : "; the other end is ");
    ni_putn(t, peer.p, peer.n);
}

/* Returns the seconds of a time YYYYMMDDhhmmss within its month. */
static int64_t seconds_of(uint64_t time)
{
    const uint64_t day = time / 1000000 % 100, hour = time / 10000 % 100;

    return (int64_t)(((day * 24 + hour) * 60 + time / 100 % 100) * 60 + time % 100);
}

/* Returns the first line that says how long a rank waited in a collective; NULL: there is none. */
static const struct ni_log_note *first_wait(const struct ni_log *log)
{
    for (unsigned i = 0; i < log->n_note; i++)
        if (log->note[i].said == NI_SAID_WAIT)
            return &log->note[i];
    return NULL;
}

/* Returns true if the ranks have waited in a collective since the line about a checkpoint. */
static bool waits_since(const struct ni_log *log, const struct ni_log_mark *clue)
{
    const struct ni_log_mark *end = &log->timeout;

    if (clue->file == 0 || clue->file != end->file || clue->line >= end->line)
        return false;
    if (clue->time == 0 || end->time == 0)
        return clue->line + 1 == end->line;
    const struct ni_log_note *wait = first_wait(log);
    const int64_t since = seconds_of(end->time) - seconds_of(clue->time);
    const int64_t late = wait ? since - wait->waited / 1000 : 0;

    return wait && late > -30 && late < 60;
}

/* Puts what another line of the log adds to such a finding. */
static void put_clue(struct ni_text *t, const struct ni_log *log, ni_finding_number id)
{
    const struct ni_log_mark *clue = NULL;
    const char *text = "";

    if (id == NI_F_LOG_PEER_REFUSED) {
        clue = &log->clue[NI_CLUE_FILE_INIT];
        text = "the ranks meet by a file, and one of an earlier run has that run's address";
    } else if (id == NI_F_VERBS_CONNECT) {
        clue = &log->clue[NI_CLUE_GID_LOCAL];
        text = "this end's GID is link-local (fe80), which no router lets through";
    } else if (id == NI_F_LOG_TIMEOUT && waits_since(log, &log->clue[NI_CLUE_CHECKPOINT])) {
        clue = &log->clue[NI_CLUE_CHECKPOINT];
        text =
            "the ranks wait since a checkpoint was written: the one that writes it, often rank 0, "
            "did not come back, so look at the storage first";
    }
    if (!clue || clue->file == 0)
        return;
    ni_putf(t, "; %s (", text);
    ni_quote(t, ni_log_word(log, clue->file));
    ni_putf(t, ":%u)", (unsigned)clue->line);
}

/* Puts the meaning of the hit, and its line. */
static void put_hit(struct ni_text *t, const struct ni_log *log, const struct ni_log_hit *h,
                    ni_finding_number id)
{
    ni_put(t, cause_text(log, h, id));
    if (id == NI_F_LOG_PEER_DIED && is_early(log, h))
        ni_put(
            t,
            " before all had met; or a stranger, such as a port scanner, connected and left, from "
            "which NCCL before 2.27.3 fails");
    else if (id == NI_F_LOG_PEER_DIED)
        put_peer(t, log, h);
    if (id == NI_F_LOG_PEER_STRANGER && h->row->id == NI_F_LOG_PEER_DIED)
        put_stranger(t, h);
    if ((h->flags & GAVE_UP) != 0)
        put_latecomer(t, log);
    if (id == NI_F_LOG_PEER_UNREACHABLE || id == NI_F_LOG_PEER_REFUSED ||
        id == NI_F_LOG_PEER_SILENT)
        put_address(t, h);
    put_clue(t, log, id);
    ni_put(t, ". ");
    ni_quote(t, ni_log_word(log, h->file));
    ni_putf(t, ":%u: \"%s\"", (unsigned)h->line, h->quote);
    if (h->count > 1)
        ni_putf(t, " (%u times)", (unsigned)h->count);
}

/* Returns the properties that a rank needs so that a hit with these flags has harmed it: bits of
   `is`. */
static unsigned harmed_by(unsigned flags)
{
    if (flags & WHY)
        return NO_RDMA;
    if (flags & NO_GDR)
        return LACKS_GDR | UNKNOWN;
    if (flags & LATE)
        return WAITING | UNKNOWN;
    return ~0U;
}

/* Returns the finding about the setting from which the fault comes, if the rank has it; else
   `id`. */
static ni_finding_number id_by_setting(const struct ni_log *log, const struct ni_log_hit *h,
                                       const struct ni_log_rank *r, ni_finding_number id)
{
    if ((h->flags & NI_PATTERN_INDEX) != 0 && rank_value(log, r, "NCCL_IB_GID_INDEX"))
        return NI_F_USER_GID_WRONG;
    if (id == NI_F_USER_SOCKET_NONE && rank_value(log, r, "NCCL_SOCKET_FAMILY"))
        return NI_F_LOG_SOCKET_FAMILY;
    return id;
}

/* Returns true if a port came back after the fault, and before that line of its file. */
static bool is_back(const struct ni_log *log, const struct ni_log_hit *h, uint64_t line)
{
    for (unsigned i = 0; i < log->n_hit; i++) {
        const struct ni_log_hit *other = &log->hit[i];

        if (other->row->id == NI_F_LOG_HCA_PORT && !other->row->cause && other->file == h->file &&
            other->line > h->line && other->line < line)
            return true;
    }
    return false;
}

/* Returns true if the job died of the fault although its finding is a warning: NCCL returned an
   error, or the port went down before its connections died. */
static bool is_deadly(const struct ni_log *log, const struct ni_log_hit *h)
{
    if ((h->flags & FATAL) != 0)
        return true;
    if (h->row->id != NI_F_LOG_HCA_PORT || !h->row->cause)
        return false;
    for (unsigned i = 0; i < log->n_hit; i++) {
        const uint64_t both = log->hit[i].bit | h->bit;

        if (log->hit[i].row->id != NI_F_LOG_PEER_SILENT)
            continue;
        /* the other end does not answer, because its port is down */
        if (log->hit[i].file == h->file && log->hit[i].line > h->line &&
            !is_back(log, h, log->hit[i].line))
            return true;
        for (unsigned k = 0; k < log->n; k++)
            if ((log->order[k]->process->said & both) == both)
                return true;
    }
    return false;
}

/* Returns true if a rank with the hit has no complete communicator, or the log names no rank. */
static bool has_incomplete(const struct ni_log *log, const struct ni_log_hit *h)
{
    for (unsigned i = 0; i < log->n; i++) {
        const struct ni_log_rank *r = log->order[i];
        const bool its = (r->process->said & h->bit) != 0;

        if (its && !r->complete && !r->connected && !r->ended)
            return true;
    }
    return log->n == 0;
}

/* Returns true if the log has a line that leads to that finding. */
static bool has_hit(const struct ni_log *log, ni_finding_number id)
{
    for (unsigned i = 0; i < log->n_hit; i++)
        if (log->hit[i].row->id == id)
            return true;
    return false;
}

/* Returns true for findings about the way to rank 0's store: one follows from the other. */
static bool is_of_store(ni_finding_number id)
{
    return id == NI_F_LOG_NAMES || id == NI_F_LOG_PROXY || id == NI_F_LOG_RENDEZVOUS;
}

/* Returns true if torch only warns of the fault and the log does not show that it lasted: no rank, and
   neither an end nor an error of that kind; or if such an error has the same words. */
static bool is_warning_only(const struct ni_log *log, const struct ni_log_hit *h)
{
    bool lasted = log->n_note > 0;

    if ((h->flags & LATE) == 0 || log->n > 0)
        return false;
    for (unsigned i = 0; i < log->n_hit; i++) {
        const struct ni_log_hit *other = &log->hit[i];

        const bool same = other->row->id == h->row->id ||
                          (is_of_store(other->row->id) && is_of_store(h->row->id));

        if (!same || (other->flags & LATE) != 0)
            continue;
        if (other->row->cause == h->row->cause)
            return true;
        lasted = true;
    }
    return !lasted;
}

/* Returns true if an exception was raised, or a process ended with an error. */
static bool has_failed(const struct ni_log *log)
{
    for (unsigned i = 0; i < log->n_note; i++) {
        const struct ni_log_note *note = &log->note[i];

        if (note->said == NI_SAID_EXCEPTION || (note->said == NI_SAID_END && note->number != 0))
            return true;
    }
    return false;
}

/* Returns true if a rank finished its initialisation: the launcher has started all. */
static bool have_begun(const struct ni_log *log)
{
    for (unsigned i = 0; i < log->n; i++)
        if (log->order[i]->complete)
            return true;
    return false;
}

/* Returns true if all ranks ended in order. */
static bool have_ended(const struct ni_log *log)
{
    for (unsigned i = 0; i < log->n; i++)
        if (!log->order[i]->ended)
            return false;
    return log->n > 0;
}

/* Returns true if the fault is of a stage that the job has left behind: the ranks then met. A name is
   looked up, and the store is asked, again and again. */
static bool is_passed(const struct ni_log *log, const struct ni_log_hit *h)
{
    const enum ni_log_stage stage = h->row->stage;

    if (stage == NI_STAGE_LAUNCHER && have_begun(log))
        return true;
    if ((stage != NI_STAGE_NAMES && stage != NI_STAGE_STORE) || has_failed(log))
        return false;
    for (unsigned i = 0; i < log->n; i++) {
        const struct ni_log_rank *r = log->order[i], *p = r->process;
        const bool before = p->file != h->file || p->line > h->nobodys_line;

        if (!r->ended && !(r->complete && before))
            return false;
    }
    return log->n > 0;
}

/* Returns true if what a program beside NCCL says of itself did not end the job. */
static bool is_survived(const struct ni_log *log, const struct ni_log_hit *h)
{
    if ((h->flags & IF_FAILED) != 0 && !has_failed(log))
        return true;
    if ((h->flags & IN_ORDER) != 0 && have_ended(log) && !has_failed(log))
        return true;
    if ((h->flags & AFTERMATH) != 0 && log->n > 0 && !has_failed(log))
        return true;
    if (is_passed(log, h))
        return true;
    return (h->flags & GENERAL) != 0 && have_ended(log);
}

/* Returns true if the log has a line of a fault that is more than a warning of torch's. */
static bool has_fault(const struct ni_log *log)
{
    for (unsigned i = 0; i < log->n_hit; i++)
        if (!is_warning_only(log, &log->hit[i]) && !is_survived(log, &log->hit[i]) &&
            (log->hit[i].flags & AFTERMATH) == 0)
            return true;
    return false;
}

/* Returns true if a better finding says what the line does, or it did not end the job. */
static bool is_told(const struct ni_log *log, const struct ni_log_hit *h,
                    const struct ni_findings *f)
{
    const ni_finding_number id = h->row->id;
    const bool over_sockets = count_with(log, SOCKETS) > 0;

    if ((h->flags & FOLLOWS) != 0 && ni_findings_has(f, id))
        return true;
    if ((h->flags & AFTERMATH) != 0 && ni_findings_count(f, NI_ERROR) > 0)
        return true;
    if ((h->flags & FOLLOWS) != 0 && is_of_store(id) &&
        (ni_findings_has(f, NI_F_LOG_NAMES) || ni_findings_has(f, NI_F_LOG_PROXY)))
        return true;
    switch (id) {
    case NI_F_HCA_NONE:
    case NI_F_LOG_SOCKETS:
        return over_sockets; /* judge_network reports it */
    case NI_F_LOG_TIMEOUT:
    case NI_F_LOG_COLLECTIVE:
        return ni_findings_has(f, id);
    case NI_F_LOG_SHM:
        return ni_findings_has(f, NI_F_SHM_DEFAULT);
    case NI_F_LOG_PEER_STRANGER:
        return over_sockets && count_with(log, RDMA) > 0;
    case NI_F_LOG_CUDA:
        return has_hit(log, NI_F_IMEX_CHANNEL_MISSING); /* CUDA failure 800 */
    case NI_F_LOG_FAILED:
        return ni_findings_count(f, NI_ERROR) > 0;
    default:
        return false;
    }
}

/* Returns true if the fault has harmed a rank. *id becomes the finding about a setting of such a
   rank from which it comes. */
static bool has_harmed(const struct ni_log *log, const struct ni_log_hit *h, ni_finding_number *id)
{
    const unsigned harmful = harmed_by(h->flags);
    const bool nobodys = ni_log_is_nobodys(log, h);
    bool harms = log->n == 0;

    for (unsigned i = 0; i < log->n; i++) {
        const struct ni_log_rank *r = log->order[i];
        const bool its = (r->process->said & h->bit) != 0;

        harms |= (its || nobodys) && (r->is & harmful) != 0;
        if (its)
            *id = id_by_setting(log, h, r, *id);
    }
    return harms;
}

/* Puts the device or the variable that the line names, and the ranks whose process printed it. */
static void put_subject(struct ni_text *t, const struct ni_log *log, const struct ni_log_hit *h)
{
    struct ni_log_set ranks = {0};

    for (unsigned i = 0; i < log->n; i++)
        if ((log->order[i]->process->said & h->bit) != 0)
            ni_log_set_add(&ranks, (int)i);
    ni_put(t, ni_log_word(log, h->subject));
    ni_put(t, t->len > 0 && ranks.n > 0 ? ", " : "");
    ni_log_put_ranks(t, log, &ranks);
}

/* Reports what the log says, unless a better finding says it or it harms no rank. */
static void report_hit(struct ni_log *log, const struct ni_log_hit *h, struct ni_findings *f)
{
    ni_finding_number id = h->row->id;
    struct ni_text who = NI_TEXT(96), t = NI_TEXT(720);

    if (is_told(log, h, f) || is_warning_only(log, h) || is_survived(log, h) ||
        !has_harmed(log, h, &id))
        return;
    put_subject(&who, log, h);
    log->fatal[id] |= is_deadly(log, h);
    log->died |= (h->flags & FATAL) != 0 && has_incomplete(log, h);
    if (id == NI_F_LOG_PEER_DIED && is_stranger(log, h)) {
        id = NI_F_LOG_PEER_STRANGER;
        log->fatal[id] = true;
    }
    if (id == NI_F_USER_NET_NONE && has_hit(log, NI_F_HCA_NONE))
        ni_putf(&t, "%s: ", ni_log_cause[NI_F_HCA_NONE]);
    put_hit(&t, log, h, id);
    struct ni_finding *found = ni_report(f, id, who.buf, "%s", t.buf);
    if (h->row->user || h->row->admin)
        ni_log_advise(found, h->row->user, h->row->admin);
    else if (id == NI_F_LOG_LIBRARY && ni_log_ask[h->row->library])
        ni_log_advise(found, ni_log_ask[h->row->library], NULL);
    if (id == NI_F_LOG_PEER_REFUSED && log->clue[NI_CLUE_FILE_INIT].file != 0)
        ni_log_advise(found,
                      "remove that file before each start, or name a new one for each run; look "
                      "whether the address is one of this job's hosts.",
                      NULL);
    /* pods are not where Slurm's jobs are */
    if (found && id == NI_F_LOG_PEER_DIED && find_job_end(log)) {
        found->user = "nothing, if it left with the job; else find in its log why it left earlier.";
        found->no_command = true;
    }
}

/* Finds the line that says why the rank's process uses sockets; NULL: there is none. Those of
   libibverbs name no process. They say more than NCCL's line that it found no device. */
static const struct ni_log_hit *find_why(const struct ni_log *log, const struct ni_log_rank *r)
{
    const struct ni_log_hit *why = NULL;

    for (unsigned i = 0; i < log->n_hit; i++) {
        const struct ni_log_hit *h = &log->hit[i];
        const bool its = (r->process->said & h->bit) != 0 || ni_log_is_nobodys(log, h);

        if ((h->row->flags & WHY) != 0 && its && (!why || why->row->id == NI_F_HCA_NONE))
            why = h;
    }
    return why;
}

/* Returns true if each of the ranks has the same reason: the line, or without one the variable that
   switches RDMA off. */
static bool have_all_reason(const struct ni_log *log, const struct ni_log_set *ranks,
                            const struct ni_log_hit *h, const char *off)
{
    for (int i = 0; i < ranks->end; i++) {
        const struct ni_log_rank *r = log->order[i];
        const bool same = h ? (r->process->said & h->bit) != 0 || ni_log_is_nobodys(log, h)
                            : switched_off(log, r) == off;

        if (ni_log_set_has(ranks, i) && !same)
            return false;
    }
    return true;
}

enum detail { REASON, REASON_AND_LINE };

/* Puts the first reason that one of the ranks gave, and which one unless all did. */
static void put_socket_reason(struct ni_text *t, const struct ni_log *log,
                              const struct ni_log_set *ranks, enum detail detail)
{
    for (int i = 0; i < ranks->end; i++) {
        const struct ni_log_rank *r = log->order[i];
        const struct ni_log_hit *h = find_why(log, r);
        const char *off = switched_off(log, r);

        if (!ni_log_set_has(ranks, i) || (!h && !off))
            continue;
        if (r->rank >= 0 && !have_all_reason(log, ranks, h, off))
            ni_putf(t, "rank %d: ", r->rank);
        if (!h)
            ni_putf(t, "%s is %.16s", off, rank_value(log, r, off));
        else if (detail == REASON_AND_LINE)
            put_hit(t, log, h, h->row->id);
        else
            ni_put(t, cause_text(log, h, h->row->id));
        return;
    }
    ni_put(t, "NCCL gives no reason");
}

static void report_sockets(const struct ni_log *log, bool meant, struct ni_findings *f)
{
    const struct ni_log_set ranks = ranks_with(log, SOCKETS);
    struct ni_text who = NI_TEXT(96), t = NI_TEXT(300);

    if (ranks.n == 0)
        return;
    ni_log_put_ranks(&who, log, &ranks);
    put_socket_reason(&t, log, &ranks, REASON_AND_LINE);
    if (meant)
        ni_report(f, NI_F_LOG_SOCKETS, who.buf, "went over sockets: %s", t.buf);
    else
        ni_report(f, NI_F_HCA_NONE, who.buf,
                  "went over sockets, and nothing in the log asks for RDMA: %s", t.buf);
}

static void report_gdr(struct ni_log *log, struct ni_findings *f)
{
    const struct ni_log_set ranks = ranks_with(log, LACKS_GDR);
    struct ni_text who = NI_TEXT(96);

    for (unsigned i = 0; i < log->n; i++) {
        log->net += log->order[i]->net;
        log->gdr += log->order[i]->gdr;
    }
    if (ranks.n == 0)
        return;
    ni_log_put_ranks(&who, log, &ranks);
    ni_report(f, NI_F_LOG_GDR, who.buf,
              "%u of %u ends of channels to other nodes have no GPUDirect RDMA",
              log->net - log->gdr, log->net);
}

static void judge_network(struct ni_log *log, bool rdma, bool gdr, struct ni_findings *f)
{
    /* a provider is lacking for an HCA that the container has */
    const bool meant = rdma || has_hit(log, NI_F_LOG_PROVIDER) || has_hit(log, NI_F_LOG_PLUGIN) ||
                       count_with(log, MEANT) > 0;
    const bool all_local = count_with(log, LOCAL) == log->n;

    report_sockets(log, meant, f);
    report_gdr(log, f);
    log->unmet = (rdma && (log->n == 0 || count_with(log, NO_RDMA) > 0)) ||
                 (gdr && (log->gdr < log->net || (log->net == 0 && !all_local)));
    log->failed = log->unmet;
}

static void judge_start(struct ni_log *log, struct ni_findings *f)
{
    const int size = log->n > 0 ? log->order[log->n - 1]->size : 0;
    struct ni_text missing = NI_TEXT(96);

    if (ni_findings_has(f, NI_F_LOG_LINES_LOST) || count_with(log, WAITING) == 0)
        return;
    ni_log_put_missing(&missing, log);
    ni_log_report_stops(log, f);
    if (log->n > 1 && log->order[0]->rank >= 0 && missing.len > 0)
        ni_report(f, NI_F_LOG_RANKS_MISSING, missing.buf,
                  "of %d ranks, these have no line in the log", size);
}

/* Returns true if a result shows that the collectives of the rank's job ran. */
static bool has_run(const struct ni_log *log, const struct ni_log_rank *r)
{
    return log->job_ran[r->job] || (log->job_ran[0] && log->jobs == 0);
}

/* Reports ranks that finished their initialisation, after which nothing shows that a collective
   ran, unless an error says why. */
static void judge_idle(struct ni_log *log, struct ni_findings *f)
{
    struct ni_text who = NI_TEXT(96);
    struct ni_log_set idle = {0};
    unsigned began = 0;

    if (ni_findings_has(f, NI_F_LOG_LINES_LOST) || ni_findings_count(f, NI_ERROR) > 0)
        return;
    for (unsigned i = 0; i < log->n; i++) {
        const struct ni_log_rank *r = log->order[i];

        if (!ni_log_is_idle(log, r) || has_run(log, r))
            continue;
        ni_log_set_add(&idle, (int)i);
        began += r->net > 0 || r->sockets > 0;
    }
    if (idle.n == 0)
        return;
    ni_log_put_ranks(&who, log, &idle);
    ni_report(
        f, NI_F_LOG_COLLECTIVE_NONE, who.buf,
        "NCCL's initialisation is complete, and nothing shows that a collective ran%s: the log "
        "ends early, or the first collective hangs",
        began > 0 ? "; connections to other nodes began, and no line shows their end" : "");
    log->failed = true;
}

/* Reports processes each of which is a job of its own. */
static void judge_alone(const struct ni_log *log, struct ni_findings *f)
{
    struct ni_text who = NI_TEXT(96);

    if (log->alone == 0)
        return;
    const struct ni_log_set all = ranks_with(log, ~0U);
    ni_putf(&who, "%u processes", log->alone);
    ni_log_put_hosts(&who, log, &all);
    ni_report(
        f, NI_F_LOG_ALONE, who.buf,
        "each of them is a job of its own: %u jobs of one process each, not one job of %u ranks. "
        "The launcher gave them no ranks, or nccl-tests was built without MPI=1",
        log->alone, log->n);
}

/* Reports ranks that began with the communicator of the attempt before. */
static void judge_stale(const struct ni_log *log, struct ni_findings *f)
{
    const struct ni_log_rank *first = NULL;
    struct ni_text who = NI_TEXT(96);
    struct ni_log_set stale = {0};

    for (unsigned i = 0; i < log->n; i++) {
        const struct ni_log_rank *r = log->order[i];

        if (!r->stale)
            continue;
        ni_log_set_add(&stale, (int)i);
        first = first ? first : r;
    }
    if (!first)
        return;
    ni_log_put_ranks(&who, log, &stale);
    ni_report(f, NI_F_LOG_RENDEZVOUS, who.buf,
              "began with the communicator of the attempt before (commId %s), which is over: the "
              "job's store still had its id. Start the job anew, with a store of its own",
              ni_log_word(log, first->job));
}

static void judge_ranks(struct ni_log *log, struct ni_findings *f)
{
    for (unsigned i = 0; i + 1 < log->n; i++) {
        const struct ni_log_rank *r = log->order[i], *next = log->order[i + 1];
        struct ni_text who = NI_TEXT(96);

        if (!ni_log_is_same_rank(r, next))
            continue;
        ni_putf(&who, "rank %d", r->rank);
        ni_report(f, NI_F_JOB_RANK_TWICE, who.buf,
                  "two processes say that they are this rank of one communicator: %s and %s",
                  ni_log_word(log, r->process->name), ni_log_word(log, next->process->name));
        return;
    }
}

/* Reports ranks whose value differs from that of the first one of the job. */
static void report_differing_value(const struct ni_log *log, unsigned k, const char *name,
                                   ni_finding_number id, struct ni_findings *f)
{
    struct ni_text who = NI_TEXT(96);
    struct ni_log_set others = {0};
    ni_log_text first = 0, job = 0;

    for (unsigned i = 0; i < log->n; i++) {
        const struct ni_log_rank *r = log->order[i];
        const ni_log_text value = r->process->value[k];
        const ni_log_text its = r->several ? 0 : r->job;

        if (first == 0) {
            first = value;
            job = its;
        }
        /* ranks of another job may differ */
        if (value != first && value != 0 && (its == job || its == 0 || job == 0))
            ni_log_set_add(&others, (int)i);
    }
    if (others.n == 0)
        return;
    ni_log_put_ranks(&who, log, &others);
    ni_report(f, id, name, "%s: the value differs from %s=%s of the others", who.buf, name,
              ni_log_word(log, first));
}

/* Reports a value that differs from the plan. */
static void report_off_plan(const struct ni_log *log, unsigned k, const char *name,
                            struct ni_findings *f)
{
    unsigned others = 0;

    if (log->plan[k] == 0)
        return;
    for (unsigned i = 0; i < log->n; i++) {
        const ni_log_text value = log->order[i]->process->value[k];

        others += value != log->plan[k] && value != 0;
    }
    if (others > 0)
        ni_report(f, NI_F_LOG_PLAN_DIFFERS, name,
                  "the plan has %s, and %u of %u rank%s took another value",
                  ni_log_word(log, log->plan[k]), others, log->n, ni_plural(log->n));
}

/* Reports each setting that differs between ranks where it must not, or from the plan. */
static void judge_settings(const struct ni_log *log, struct ni_findings *f)
{
    report_differing_value(log, NI_LOG_VERSION, "version", NI_F_LOG_VERSION_DIFFERS, f);
    for (unsigned k = NI_LOG_VERSION + 1; k < log->n_name; k++) {
        const char *name = ni_log_word(log, log->name[k]);
        const struct ni_job_setting *row = ni_find_job_setting(name);

        if (row && row->id != NI_F_NONE && row->id != NI_F_JOB_HOSTID_SAME)
            report_differing_value(log, k, name, row->id, f);
        report_off_plan(log, k, name, f);
    }
}

/* ---- the first sentence ---- */

bool ni_log_put_hca(struct ni_text *t, const struct ni_log *log, const struct ni_log_rank *r,
                    unsigned number)
{
    const char *network = ni_log_word(log, r->process->network);
    const char *list = ni_log_word(log, r->process->hcas);
    /* other plugins number HCAs in their own way */
    const bool its = *list && (!*network || strncmp(network, "IB", 2) == 0 ||
                               ni_log_is_sockets(ni_span_of(network), false));
    struct ni_span hca = {list, 0};
    unsigned i = 0;

    while (its && i <= number && ni_split(&list, ',', &hca))
        i++;
    if (i > number)
        ni_put_quoted(t, hca.p, hca.n, hca.n);
    else
        ni_putf(t, its ? "fused number %u" : "number %u", number);
    return i > number;
}

/* HCAs of the hosts of a job: the least and the most of a host, and in how many ways they were
   used. */
struct hca_counts {
    unsigned min, max; /* of hosts that have HCAs */
    unsigned hosts;    /* hosts that have HCAs */
    unsigned uses, fused;
    bool connected;
};

/* Counts the HCAs of the ranks of_host[first] to of_host[end - 1], which are of one host. */
static void count_host_hcas(struct ni_log *log, unsigned first, unsigned end, struct hca_counts *to)
{
    unsigned n = 0;

    for (unsigned i = first; i < end; i++) {
        const struct ni_log_rank *r = log->of_host[i];

        to->connected |= r->connected;
        /* without a channel none of them is used */
        for (unsigned h = 0; h < NI_LOG_HCAS && r->net > 0; h++) {
            struct ni_text name = NI_TEXT(320);

            if (r->on_hca[h] == 0)
                continue;
            ni_log_put_hca(&name, log, r, h);
            const ni_log_text word = ni_log_keep(log, ni_span_of(name.buf));
            if (log->hca_of[word] != first + 1)
                n++;
            log->hca_of[word] = first + 1;
            to->uses++;
            if (strchr(name.buf, '+') || ni_has_prefix(name.buf, "fused "))
                to->fused++;
        }
    }
    if (n == 0)
        return;
    to->hosts++;
    if (n < to->min)
        to->min = n;
    if (n > to->max)
        to->max = n;
}

static int by_host(const void *a, const void *b)
{
    const struct ni_log_rank *x = *(struct ni_log_rank *const *)a;
    const struct ni_log_rank *y = *(struct ni_log_rank *const *)b;

    return (x->process->host > y->process->host) - (x->process->host < y->process->host);
}

/* Puts the number of HCAs that the ranks of a node use. */
static void put_ranks_hcas(struct ni_text *t, struct ni_log *log)
{
    struct hca_counts c = {.min = UINT32_MAX};

    memcpy(log->of_host, log->order, log->n * sizeof(void *));
    qsort(log->of_host, log->n, sizeof(void *), by_host);
    for (unsigned first = 0, next; first < log->n; first = next) {
        const ni_log_text host = log->of_host[first]->process->host;

        next = first;
        while (next < log->n && log->of_host[next]->process->host == host)
            next++;
        count_host_hcas(log, first, next, &c);
    }
    if (c.max == 0) {
        ni_put(t, ", RDMA chosen, but the log shows no channel to another node");
        return;
    }
    const bool all_fused = c.fused > 0 && c.fused == c.uses;

    ni_putf(t, ", RDMA %s ", c.connected ? "on" : "set up on");
    if (c.min < c.max)
        ni_putf(t, "%u to ", c.min);
    ni_putf(t, "%u %sHCA%s", c.max, all_fused ? "fused " : "", ni_plural(c.max));
    ni_put(t, c.hosts > 1 ? " of each node" : "");
    ni_put(t, c.fused > 0 && !all_fused ? ", some fused" : "");
}

/* Returns true if the ranks, all of one node, connected for their first collective, and nothing shows
   that it ended. */
static bool is_in_first(const struct ni_log *log)
{
    for (unsigned i = 0; i < log->n; i++) {
        const struct ni_log_rank *r = log->order[i];

        if (!(r->is & LOCAL) || r->size < 2 || !r->complete || !r->connected || r->called_again ||
            r->ended || r->aborted || has_run(log, r) || !ni_log_connects_later(log, r))
            return false;
    }
    return log->n > 0;
}

/* Puts the first warning that no pattern fits, of a rank that has not ended; nothing if there is none. */
static void put_unknown_warn(struct ni_text *t, const struct ni_log *log)
{
    for (unsigned i = 0; i < log->n; i++) {
        const struct ni_log_rank *r = log->order[i];
        const char *text = ni_log_word(log, r->process->warn.text);

        if (!r->process->unknown_warn || r->ended || has_run(log, r))
            continue;
        ni_put(t, "; ");
        ni_quote(t, ni_log_word(log, r->process->warn.file));
        ni_putf(t, ":%u has an NCCL WARN that nccl-init does not know: \"",
                (unsigned)r->process->warn.line);
        ni_put_quoted(t, text, strlen(text), 160);
        ni_put(t, "\", and no line shows that the job ended in order");
        return;
    }
}

/* Puts the state in which the log ends. */
static void put_end(struct ni_text *t, const struct ni_log *log, const struct ni_findings *f)
{
    unsigned ended = 0;

    for (unsigned i = 0; i < log->n; i++)
        ended += log->order[i]->ended;
    if (log->attempts > 1)
        ni_putf(t, "; attempt %u of %u", log->attempts, log->attempts);
    if (ended > 0 && ended == log->n)
        ni_put(t, log->attempts > 1 ? " ended in order" : "; all ended in order");
    if (ni_findings_has(f, NI_F_LOG_COLLECTIVE_NONE))
        ni_put(t, "; initialised, and nothing shows that a collective ran");
    if (is_in_first(log) && ni_findings_count(f, NI_ERROR) == 0)
        ni_put(t, "; no line shows that the first collective ended: if the job hangs here, "
                  "NCCL_P2P_DISABLE=1 tells whether the GPUs' P2P is the reason (ACS, IOMMU)");
    if (ni_findings_count(f, NI_ERROR) == 0)
        put_unknown_warn(t, log);
    if (log->doubt && ended < log->n) {
        ni_put(t, "; ");
        ni_quote(t, ni_log_word(log, log->doubt->file));
        ni_putf(t, ":%u says that something failed, and no line shows that the job ended in order",
                (unsigned)log->doubt->line);
    }
    if (log->cut_file != 0) {
        ni_put(t, "; ");
        ni_quote(t, ni_log_word(log, log->cut_file));
        ni_put(t, " is cut within a line of NCCL");
    }
    ni_log_put_history(t, log);
}

/* Puts that the log has no line of NCCL, and whose lines it has. */
static void put_lines(struct ni_text *t, const struct ni_log *log)
{
    const char *comma = "; it has lines of ";

    ni_putf(t, "none of %u line%s is from NCCL", (unsigned)log->lines,
            ni_plural((unsigned)log->lines));
    for (unsigned k = NI_LIBRARY_RCCL; k < NI_LIBRARY_END; k++) {
        if ((log->libraries & UINT32_C(1) << k) == 0 || k == NI_LIBRARY_PROGRAM)
            continue;
        ni_putf(t, "%s%s", comma, ni_log_library[k]);
        comma = ", ";
    }
}

/* Puts the number of ranks, or of processes if none is named. */
static void put_count(struct ni_text *t, const struct ni_log *log)
{
    const struct ni_log_rank *last = log->n > 0 ? log->order[log->n - 1] : NULL;
    unsigned nameless = 0;

    while (nameless < log->n && log->order[nameless]->rank < 0)
        nameless++;
    const unsigned named = log->n - nameless;
    if (log->alone > 0)
        ni_putf(t, "%u jobs of one process each", log->alone);
    else if (last && last->size > (int)named)
        ni_putf(t, "%u of %d ranks", named, last->size);
    else if (named > 0)
        ni_putf(t, "%u rank%s", named, ni_plural(named));
    if (nameless > 0) {
        ni_put(t, named > 0 ? " and " : "");
        ni_putf(t, "%u process%s", nameless, nameless == 1 ? "" : "es");
        ni_put(t, named > 0 ? " without a number" : "");
    }
    if (log->jobs > 1 && log->at_once)
        ni_putf(t, " of %u jobs", log->jobs);
    else if (log->jobs > 1)
        ni_putf(t, " of %u jobs, or of attempts of one: no line says which came first", log->jobs);
    if (last)
        return;
    if (log->n_rank > 0 || log->version != 0)
        ni_put(t, "no rank named");
    else
        put_lines(t, log);
}

/* Puts NCCL's version: that of the first rank that has one, else that of the log. */
static void put_version(struct ni_text *t, const struct ni_log *log, const struct ni_findings *f)
{
    ni_log_text version = 0;

    for (unsigned i = 0; version == 0 && i < log->n; i++)
        version = log->order[i]->process->value[NI_LOG_VERSION];
    if (version == 0)
        version = log->version;
    if (version == 0)
        return;
    ni_putf(t, ", %s %s", log->rccl ? "RCCL" : "NCCL", ni_log_word(log, version));
    ni_put(t, ni_findings_has(f, NI_F_LOG_VERSION_DIFFERS) ? " and others" : "");
}

/* Puts the share of channel ends that use GPUDirect RDMA. */
static void put_gdr_share(struct ni_text *t, const struct ni_log *log, bool some_sockets)
{
    const bool as_set = count_with(log, LACKS_GDR) == 0;

    if (log->net == 0)
        return;
    if (log->gdr == log->net)
        ni_putf(t, ", GPUDirect on all %u channel ends", log->net);
    else
        ni_putf(t, ", GPUDirect on %u of %u channel ends%s", log->gdr, log->net,
                as_set ? ", as NCCL_NET_GDR_LEVEL=LOC says" : "");
    if (some_sockets)
        ni_put(t, " over RDMA");
}

/* Returns the network that a line names which has lost its process; empty: none does. */
static const char *nobodys_network(const struct ni_log *log)
{
    for (unsigned i = 0; i < log->n_rank; i++)
        if (log->rank[i].host == 0 && log->rank[i].network != 0)
            return ni_log_word(log, log->rank[i].network);
    return "";
}

/* Puts that no line of a rank names the network, and what one without a process says. */
static void put_network_not_told(struct ni_text *t, const struct ni_log *log)
{
    const char *network = nobodys_network(log);

    if (*network) {
        ni_put(t, ", network ");
        ni_quote(t, network);
        ni_put(t, " by a line that names no process");
        return;
    }
    ni_put(t, log->info ? ", and no line says which network"
                        : ", and the log does not show which network: set NCCL_DEBUG=INFO");
}

/* Puts the network of all ranks, or says that the log does not name it. */
static void put_network_of_job(struct ni_text *t, struct ni_log *log)
{
    const unsigned local = count_with(log, LOCAL), rdma = count_with(log, RDMA);
    const struct ni_log_set sockets = ranks_with(log, SOCKETS);

    if (sockets.n > 0 && local + rdma == 0) {
        ni_put(t, ", over sockets: ");
        put_socket_reason(t, log, &sockets, REASON);
    } else if (local > 0 && local == log->n) {
        ni_put(t, log->alone > 0 ? ", without a network" : ", one node: no network needed");
    } else if (rdma > 0) {
        put_ranks_hcas(t, log);
    } else if (log->n_rank > 0 || log->version != 0) {
        put_network_not_told(t, log);
    }
}

/* Puts the ranks that went over sockets, and why, while others did not. */
static void put_those_over_sockets(struct ni_text *t, const struct ni_log *log)
{
    const struct ni_log_set ranks = ranks_with(log, SOCKETS);

    ni_log_put_ranks(t, log, &ranks);
    ni_put(t, " went over sockets: ");
    put_socket_reason(t, log, &ranks, REASON);
    ni_put(t, "; ");
}

/* Makes the one sentence about the job: its cause of failure, its ranks, version, network, end,
   errors. */
static void make_sentence(struct ni_log *log, struct ni_findings *f)
{
    struct ni_text t = ni_text_on(log->sentence, sizeof(log->sentence));
    const unsigned sockets = count_with(log, SOCKETS);
    const bool mixed = sockets > 0 && count_with(log, RDMA | LOCAL) > 0;
    const struct ni_finding *found = ni_log_cause_of(log, f, mixed);
    const struct ni_finding *cause = found ? found : log->untold;

    log->cause = cause;
    if (cause)
        ni_putf(&t, "%s%s%s; ", cause->subject, cause->subject[0] ? ": " : "", cause->message);
    log->job_at = t.len;
    if (mixed)
        put_those_over_sockets(&t, log);
    put_count(&t, log);
    put_version(&t, log, f);
    put_network_of_job(&t, log);
    put_gdr_share(&t, log, sockets > 0);
    put_end(&t, log, f);
    if (log->dropped > 0)
        ni_put(&t, "; not all of the log fitted");
    log->job_end = t.len;
    const unsigned errors = ni_findings_count(f, NI_ERROR);
    if (errors > 0)
        ni_putf(&t, "; %u error%s below", errors, ni_plural(errors));
    log->failed |= errors > 0 || log->died;
    /* a log without NCCL's lines is an error of the log, not of the job */
    const unsigned of_job = errors - ni_findings_has(f, NI_F_LOG_NONE);
    log->not_known = log->failed && !log->unmet && !log->died && of_job == 0;
}

/* Returns the first line that is left of a job whose store has gone; NULL: there is none. */
static const struct ni_log_hit *find_aftermath(const struct ni_log *log)
{
    for (unsigned i = 0; i < log->n_hit; i++)
        if ((log->hit[i].flags & AFTERMATH) != 0)
            return &log->hit[i];
    return NULL;
}

/* Reports that the log has nothing of NCCL, and no error that tells. */
static void report_nothing(struct ni_log *log, struct ni_findings *f)
{
    if (log->n_rank > 0 || log->version != 0 || has_fault(log) ||
        ni_findings_count(f, NI_ERROR) > 0)
        return;
    (void)ni_log_report_error(log, true, f);
    ni_log_report_follower(log, f);
    if (ni_findings_count(f, NI_ERROR) > 0)
        return;
    const struct ni_log_hit *h = find_aftermath(log);
    struct ni_text t = NI_TEXT(480);

    if (!h) {
        ni_report(f, NI_F_LOG_NONE, "",
                  "the log has no `NCCL INFO` or `NCCL WARN`, no version of NCCL or RCCL, and no "
                  "error that goes with them");
        return;
    }
    put_hit(&t, log, h, h->row->id);
    struct ni_finding *found = ni_report(f, NI_F_LOG_NONE, "", "%s", t.buf);
    ni_log_advise(found, h->row->user, h->row->admin);
    log->untold = found;
}

void ni_log_judge(struct ni_log *log, bool rdma, bool gdr, struct ni_findings *f)
{
    ni_log_name_ranks(log);
    ni_log_sort_ranks(log);
    ni_log_find_met(log);
    const bool one_host = have_one_host(log);
    f->no_trial = f->no_trial || log->rccl;
    for (unsigned i = 0; i < log->n; i++)
        log->order[i]->is = flags_of(log, log->order[i], one_host);
    ni_log_find_owners(log);
    ni_log_report_causes(log, f);
    report_nothing(log, f);
    for (unsigned follows = 0; follows <= FOLLOWS; follows++)
        for (unsigned i = 0; i < log->n_hit; i++)
            if ((log->hit[i].row->flags & FOLLOWS) == follows)
                report_hit(log, &log->hit[i], f);
    judge_network(log, rdma, gdr, f);
    judge_alone(log, f);
    judge_stale(log, f);
    judge_ranks(log, f);
    judge_start(log, f);
    judge_settings(log, f);
    judge_idle(log, f);
    ni_log_report_unknown(log, f);
    log->doubt = ni_log_report_error(log, log->n == 0 && !log->job_ran[0], f);
    ni_log_report_follower(log, f);
    if (log->dropped > 0)
        ni_report(f, NI_F_FACT_TRUNCATED, "log",
                  "%u fact%s of it did not fit, so what is said here is not said of the whole log",
                  log->dropped, ni_plural(log->dropped));
    log->failed |= log->dropped > 0;
    make_sentence(log, f);
}
