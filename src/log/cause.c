/* SPDX-License-Identifier: Apache-2.0 */
/* Causes: whose exception or exit came first, in which collectives ranks wait, and where an
   initialisation stopped. */
#include "log/cause.h"

#include <stdlib.h>
#include <string.h>

#include "findings/log.h"
#include "findings/pod.h"
#include "log/attempts.h"
#include "log/line.h"
#include "log/meaning.h"
#include "log/patterns.h"
#include "log/ranks.h"
#include "log/set.h"
#include "log/stage.h"
#include "log/state.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/number.h"
#include "nccl_init/text.h"
#include "print/words.h"

/* ---- which is the cause ---- */

/* Places in the order of findings. */
enum {
    COLLECTIVE = 4,
    FAULT = 5, /* of a setting or a device: all findings that order_of does not list */
    PEER = 7,  /* what a rank says of another one */
    UNFINISHED = 11,
    NO_CAUSE = 16 /* from here on: never a cause */
};

/* Orders findings from those that are certainly a cause to those that only follow from one. */
static unsigned order_of(ni_finding_number id)
{
    static const uint8_t order[NI_F_END] = {
        [NI_F_LOG_MEMORY] = 1, /* the kernel killed a process: what others say follows from it */
        [NI_F_LOG_EXCEPTION] = 2,
        [NI_F_LOG_GPU_FAILED] = 2,
        [NI_F_LOG_EXIT] = 3,
        [NI_F_LOG_COLLECTIVE] = COLLECTIVE,
        [NI_F_LOG_WARN] = 6,
        [NI_F_LOG_CUDA] = 6, /* the line behind it may say more */
        [NI_F_LOG_PEER_REFUSED] = PEER,
        [NI_F_LOG_PEER_UNREACHABLE] = PEER,
        [NI_F_LOG_PEER_SILENT] = PEER,
        [NI_F_LOG_RDMA_REMOTE] = PEER,
        [NI_F_LOG_NAMES] = 8, /* ranks are missing, because they do not find rank 0 */
        [NI_F_LOG_RANKS_MISSING] = 9,
        [NI_F_LOG_PROXY] = 9,
        [NI_F_LOG_RENDEZVOUS] = 9,
        [NI_F_LOG_TIMEOUT] = 10,
        [NI_F_LOG_ERROR] = UNFINISHED, /* it may be the cause */
        [NI_F_LOG_UNFINISHED] = 12,
        [NI_F_LOG_LEFT] = 13,
        [NI_F_LOG_PEER_DIED] = 14,
        [NI_F_LOG_FAILED] = 15,
        [NI_F_LOG_SOCKETS] = NO_CAUSE,
        [NI_F_LOG_NONE] = NO_CAUSE,
    };

    return order[id] == 0 ? FAULT : order[id];
}

/* Returns true for faults of settings and devices, and for peers that cannot be reached: exceptions
   follow from them. */
static bool is_reason(const struct ni_log_hit *h)
{
    const ni_finding_number id = h->row->id;

    if (id == NI_F_LOG_GPU_FAILED)
        return true;
    return order_of(id) >= FAULT && order_of(id) <= PEER &&
           (ni_finding_severity(id) == NI_ERROR || (h->flags & FATAL) != 0);
}

/* ---- whose a note is ---- */

static const uint32_t SEVERAL = UINT32_MAX;

/* Returns the key by which a note finds its process. Several processes may share one. */
static ni_log_text owner_key(struct ni_log *log, ni_log_text file, ni_log_text stream, int pid)
{
    struct ni_text key = NI_TEXT(64);

    ni_putf(&key, "\x02%u %u %d", file, stream, pid);
    return ni_log_keep(log, ni_span_of(key.buf));
}

enum { ANY = 0, NO_PID = -1, STREAMS = -2 }; /* NO_PID as ni_log_pid has it */

/* Notes that the process has that key; SEVERAL if another one has it, too. */
static void note_owner(struct ni_log *log, ni_log_text key, unsigned process)
{
    uint32_t *owner = &log->owner_of[key];

    if (key != 0 && *owner != process + 1)
        *owner = *owner == 0 ? process + 1 : SEVERAL;
}

/* Returns the process that alone has that key; NULL: none has it, or several have. */
static struct ni_log_rank *find_owner_by(struct ni_log *log, ni_log_text key)
{
    const uint32_t found = log->owner_of[key];

    return key == 0 || found == 0 || found == SEVERAL ? NULL : &log->rank[found - 1];
}

static void find_owners(struct ni_log *log)
{
    for (unsigned i = 0; i < log->n_rank; i++) {
        const struct ni_log_rank *p = &log->rank[i];

        if (p->process != p || p->host == 0)
            continue;
        note_owner(log, owner_key(log, p->file, ANY, NO_PID), i);
        note_owner(log, owner_key(log, p->file, p->stream, STREAMS), i);
        note_owner(log, owner_key(log, p->file, ANY, ni_log_pid(log, p)), i);
    }
}

/* Returns the rank of that number; NULL: the log has no line of it, or several jobs have it, none of
   which, or more than one, wrote into this file. */
static struct ni_log_rank *rank_number(const struct ni_log *log, int number, ni_log_text file)
{
    unsigned from = 0, to = log->n;

    while (from < to) {
        const unsigned middle = (from + to) / 2;

        if (log->order[middle]->rank < number)
            from = middle + 1;
        else
            to = middle;
    }
    struct ni_log_rank *found = NULL;
    unsigned here = 0, all = 0;

    for (; from < log->n && log->order[from]->rank == number; from++, all++) {
        const bool is_here = log->order[from]->process->file == file;

        here += is_here;
        if (is_here || all == 0)
            found = log->order[from];
    }
    return all == 1 || here == 1 ? found : NULL;
}

/* Finds the rank of a note: by the rank that the line names, by the pid, by the launcher's prefix,
   or by the file if that belongs to one process. */
static struct ni_log_rank *rank_of_note(struct ni_log *log, const struct ni_log_note *note)
{
    struct ni_log_rank *process = NULL;

    if (note->rank >= 0)
        return rank_number(log, note->rank, note->quote.file);
    if (note->pid >= 0)
        process = find_owner_by(log, owner_key(log, note->quote.file, ANY, note->pid));
    if (!process && note->stream != 0)
        process = find_owner_by(log, owner_key(log, note->quote.file, note->stream, STREAMS));
    if (!process)
        process = find_owner_by(log, owner_key(log, note->quote.file, ANY, NO_PID));
    /* if the process has several GPUs, no line says which one it was */
    return process && process->next && process->rank < 0 ? process->next : process;
}

static bool is_before(const struct ni_log_note *a, const struct ni_log_note *b)
{
    return a->quote.file == b->quote.file && a->quote.line < b->quote.line;
}

static void keep_first(const struct ni_log_note **place, const struct ni_log_note *note)
{
    if (!*place || is_before(note, *place))
        *place = note;
}

/* Names processes that never came to their communicator and have a file of their own, by the rank
   in torch's "[rank3]:" and torchrun's lines. */
void ni_log_name_ranks(struct ni_log *log)
{
    find_owners(log);
    for (unsigned i = 0; i < log->n_note; i++) {
        const struct ni_log_note *note = &log->note[i];
        struct ni_log_rank *p = find_owner_by(log, owner_key(log, note->quote.file, ANY, NO_PID));
        struct ni_log_rank *fell = NULL;

        if (note->said == NI_SAID_END && note->pid >= 0)
            fell = find_owner_by(log, owner_key(log, note->quote.file, ANY, note->pid));
        if (fell)
            fell->fell = true;
        if (!p || note->rank < 0 || p->size > 0 || p->next || p->rank == NI_LOG_NO_RANK)
            continue;
        if (p->rank < 0)
            p->rank = note->rank;
        else if (p->rank != note->rank)
            p->rank = NI_LOG_NO_RANK;
    }
    for (unsigned i = 0; i < log->n_rank; i++)
        if (log->rank[i].rank == NI_LOG_NO_RANK)
            log->rank[i].rank = -1;
}

/* Returns true if the note is of an attempt before the last one. */
static bool is_history(const struct ni_log *log, const struct ni_log_note *note)
{
    const struct ni_log_rank *r = note->who;

    if (r && (r->earlier || (r->later && r->process->file == note->quote.file &&
                             r->process->line > note->quote.line)))
        return true;
    return ni_log_is_history(log, note->quote.file, note->quote.line);
}

void ni_log_find_owners(struct ni_log *log)
{
    for (unsigned i = 0; i < log->n_rank; i++)
        log->rank[i].called = -1;
    for (unsigned i = 0; i < log->n_note; i++) {
        struct ni_log_note *note = &log->note[i];
        struct ni_log_rank *r = rank_of_note(log, note);

        note->who = r;
        const bool old = is_history(log, note);
        if (note->said == NI_SAID_EXCEPTION && !old)
            ni_log_set_add(&log->raised, note->rank);
        if (!r || (old && !r->earlier))
            continue;
        if (note->said == NI_SAID_EXCEPTION)
            keep_first(&r->exception, note);
        if (note->said == NI_SAID_END || note->said == NI_SAID_TERM)
            keep_first(&r->end, note);
        if (note->said == NI_SAID_P2P)
            keep_first(&r->p2p, note);
        if (note->said == NI_SAID_ERROR && !note->weak)
            keep_first(&r->error, note);
        if (note->said == NI_SAID_WAIT || (note->said == NI_SAID_BROKEN && !r->wait))
            r->wait = note;
        if (note->said == NI_SAID_DONE) {
            r->called = note->number;
            r->group = r->group == 0 ? note->group : r->group;
        }
        if (note->said == NI_SAID_WAIT && note->group != 0)
            r->group = note->group;
    }
}

/* ---- words ---- */

/* Puts a line of the log and its place: FILE:LINE: "text". */
static void put_quoted_line(struct ni_text *t, const struct ni_log *log,
                            const struct ni_log_quote *quote)
{
    ni_quote(t, ni_log_word(log, quote->file));
    ni_putf(t, ":%u: \"", (unsigned)quote->line);
    const char *text = ni_log_word(log, quote->text);
    ni_put_quoted(t, text, strlen(text), 160);
    ni_put(t, "\"");
}

/* Puts the owner of the note: "rank 1 (vm)", "rank 1", or the file. */
static void put_note_owner(struct ni_text *t, const struct ni_log *log,
                           const struct ni_log_note *note)
{
    const struct ni_log_rank *r = note->who;

    if (!r || r->rank < 0) {
        if (note->rank >= 0)
            ni_putf(t, "rank %d", note->rank);
        if (note->host != 0) {
            ni_put(t, note->rank >= 0 ? " on " : "a process on ");
            ni_quote(t, ni_log_word(log, note->host));
        } else if (note->rank < 0) {
            ni_quote(t, ni_log_word(log, note->quote.file));
        }
        return;
    }
    ni_putf(t, "rank %d (", r->rank);
    ni_quote(t, ni_log_word(log, r->process->host));
    ni_put(t, ")");
}

/* Puts how far the rank had come when it failed; nothing if it is not known. */
static void put_stage(struct ni_text *t, const struct ni_log *log, const struct ni_log_rank *r)
{
    if (!r)
        return;
    if (ni_log_is_stopped(r) ||
        (!r->complete && !r->connected && r->process->place != NI_STEP_NONE))
        ni_putf(t, ", in NCCL's initialisation, %s", ni_log_step_text(log, r));
    else if (r->connected)
        ni_put(t, ", after the ranks had connected");
    else if (r->complete)
        ni_put(t, ", after NCCL's initialisation");
}

static void put_collective(struct ni_text *t, const struct ni_log *log,
                           const struct ni_log_note *wait)
{
    ni_quote(t, ni_log_word(log, wait->collective));
    ni_putf(t, " number %d", wait->number);
    if (wait->in != UINT64_MAX && wait->in == wait->out)
        ni_putf(t, " of %llu elements", (unsigned long long)wait->in);
    else if (wait->in != UINT64_MAX)
        ni_putf(t, " of %llu to %llu elements", (unsigned long long)wait->in,
                (unsigned long long)wait->out);
}

/* ---- exceptions and ends ---- */

/* Returns true if an exit that the note tells of is one that follows from any trouble: a status, or
   the abort by torch's watchdog; and not a signal from outside, or a crash. */
static bool is_mild_exit(const struct ni_log_note *note)
{
    return note->said == NI_SAID_END && (note->number > 0 || note->number == -6);
}

/* Returns true if NCCL named a fault in this process before the note: then the note is its
   consequence. */
static bool said_fault(const struct ni_log *log, const struct ni_log_note *note)
{
    const struct ni_log_rank *r = note->who;

    for (unsigned i = 0; r && i < log->n_hit; i++) {
        const struct ni_log_hit *h = &log->hit[i];
        const bool later = h->file == note->quote.file && h->line > note->quote.line;

        if ((r->process->said & h->bit) != 0 && is_reason(h) && !later)
            return true;
    }
    return false;
}

static bool all_ended(const struct ni_log *log)
{
    for (unsigned i = 0; i < log->n; i++)
        if (!log->order[i]->ended)
            return false;
    return log->n > 0;
}

/* Returns true if the note says why its attempt failed. */
static bool is_cause(const struct ni_log *log, const struct ni_log_note *note)
{
    const struct ni_log_rank *r = note->who;

    if (note->follows || said_fault(log, note))
        return false;
    /* torch did not mark the exception, and an orderly end follows: it was caught */
    if (note->said != NI_SAID_END)
        return note->rank >= 0 || !(r ? r->ended : all_ended(log));
    /* a launcher ends the others by SIGTERM; torch ends itself by SIGABRT after its watchdog
       spoke */
    if (note->number == 0 || note->number == -15)
        return false;
    if ((ni_log_set_has(&log->raised, note->rank) || (r && (r->exception || r->wait))) &&
        (note->number > 0 || note->number == -6))
        return false;
    return !(r && note->number > 0 && r->process->warn.file != 0);
}

/* Returns true if two exceptions have one text, or one meaning. */
static bool is_same_exception(const struct ni_log_note *a, const struct ni_log_note *b)
{
    return a->quote.text == b->quote.text || (a->meaning && a->meaning == b->meaning);
}

static bool has_same_number(const struct ni_log_note *a, const struct ni_log_note *b)
{
    return a->number == b->number;
}

typedef bool is_alike_fn(const struct ni_log_note *a, const struct ni_log_note *b);

/* Notes that all causes that are like this one are told, and puts their ranks. */
static void put_alike(struct ni_text *who, struct ni_log *log, const struct ni_log_note *note,
                      is_alike_fn *is_alike)
{
    struct ni_log_set ranks = {0};

    for (unsigned i = 0; i < log->n_note; i++) {
        struct ni_log_note *other = &log->note[i];

        if (other->said != note->said || !is_alike(other, note) || !is_cause(log, other) ||
            is_history(log, other))
            continue;
        other->told = true;
        if (other->who)
            ni_log_set_add(&ranks, other->who->nth);
    }
    if (ranks.n > 1 && note->who)
        ni_log_put_ranks(who, log, &ranks);
    else
        put_note_owner(who, log, note);
}

enum { MOST = 8 }; /* exceptions, and ends, with a finding of their own */

/* Reports the exceptions. A text that several ranks have is one finding. */
static void report_exceptions(struct ni_log *log, struct ni_findings *f)
{
    unsigned told = 0;

    for (unsigned i = 0; i < log->n_note && told < MOST; i++) {
        const struct ni_log_note *note = &log->note[i];
        struct ni_text who = NI_TEXT(96), t = NI_TEXT(480);

        if (note->said != NI_SAID_EXCEPTION || note->told || !is_cause(log, note) ||
            is_history(log, note))
            continue;
        put_alike(&who, log, note, is_same_exception);
        ni_put(&t, "the program raised an exception");
        put_stage(&t, log, note->who);
        const char *text = ni_log_word(log, note->quote.text);
        const struct ni_log_meaning meaning = ni_log_meaning(text);
        if (meaning.cause && !meaning.is_own)
            ni_putf(&t, ": %s", meaning.cause);
        ni_put(&t, ". ");
        put_quoted_line(&t, log, &note->quote);
        const ni_finding_number id = ni_log_exception_id(text);
        struct ni_finding *found = ni_report(f, id, who.buf, "%s", t.buf);
        if (id != meaning.about)
            ni_log_advise(found, meaning.user, meaning.admin);
        log->exception = log->exception ? log->exception : note;
        told++;
    }
}

static const char *signal_name(int number)
{
    static const struct {
        int number;
        const char *name;
    } names[] = {{4, "SIGILL"},  {6, "SIGABRT"},  {7, "SIGBUS"},   {8, "SIGFPE"},
                 {9, "SIGKILL"}, {11, "SIGSEGV"}, {15, "SIGTERM"}, {2, "SIGINT"}};

    for (size_t i = 0; i < NI_COUNT(names); i++)
        if (names[i].number == number)
            return names[i].name;
    return "?";
}

static void put_ending(struct ni_text *t, int number)
{
    if (number < 0)
        ni_putf(t, "was ended by signal %d (%s)", -number, signal_name(-number));
    else if (number > 128 && *signal_name(number - 128) != '?')
        ni_putf(t, "ended with exit status %d, which stands for signal %d (%s)", number,
                number - 128, signal_name(number - 128));
    else
        ni_putf(t, "ended with exit status %d", number);
}

/* Returns the first line of a rank, or of a file that belongs to no known rank, that says in words of
   its own that something failed, before the note; NULL: there is none. */
static const struct ni_log_note *find_error_before(const struct ni_log *log,
                                                   const struct ni_log_note *note)
{
    for (unsigned i = 0; i < log->n_note; i++) {
        const struct ni_log_note *error = &log->note[i];
        const bool its = note->who ? error->who == note->who : !error->who;

        if (error->said == NI_SAID_ERROR && !error->weak && its && is_before(error, note) &&
            !is_history(log, error))
            return error;
    }
    return NULL;
}

/* Returns what the user does after such an end; NULL: what the finding says, which is about
   signal 9. */
static const char *advice_of_end(const struct ni_log_note *note)
{
    const int signal = note->number > 128 ? note->number - 128 : -note->number;

    switch (signal) {
    case 4:
        return "take a build for this processor: it met an instruction that it does not have.";
    case 6:
        return "read the last lines of this rank before it: a library gave up and says why.";
    case 7:
        return "see `df -h /dev/shm`; mount an emptyDir with `medium: Memory` there.";
    case 8:
    case 11:
        return "read the stack in this rank's own log: the first library in it crashed, or the "
               "program gave it wrong memory. Try it without what was changed last. No other rank "
               "causes this.";
    case 9:
        return NULL;
    default:
        return "read this rank's own log: its last lines before the end say why.";
    }
}

static void report_ends(struct ni_log *log, struct ni_findings *f)
{
    unsigned told = 0;

    for (unsigned i = 0; i < log->n_note && told < MOST; i++) {
        const struct ni_log_note *note = &log->note[i];
        struct ni_text who = NI_TEXT(96), t = NI_TEXT(480);

        if (note->said != NI_SAID_END || note->told || !is_cause(log, note) ||
            is_history(log, note) || (note->who && note->who->end != note))
            continue;
        put_alike(&who, log, note, has_same_number);
        put_ending(&t, note->number);
        put_stage(&t, log, note->who);
        if (note->number == -7 || note->number == 128 + 7)
            ni_put(&t, ". A mapped file could not grow: usually /dev/shm is full");
        const struct ni_log_note *error = is_mild_exit(note) ? find_error_before(log, note) : NULL;
        if (error) {
            ni_put(&t, "; before that it said: ");
            put_quoted_line(&t, log, &error->quote);
        }
        ni_put(&t, ". ");
        put_quoted_line(&t, log, &note->quote);
        ni_log_advise(ni_report(f, NI_F_LOG_EXIT, who.buf, "%s", t.buf), advice_of_end(note), NULL);
        log->exit = log->exit ? log->exit : note;
        told++;
    }
}

/* ---- collectives ---- */

static bool is_same_note(const struct ni_log_note *a, const struct ni_log_note *b)
{
    return a->number == b->number && a->collective == b->collective && a->in == b->in &&
           a->out == b->out;
}

static bool is_waiting(const struct ni_log_rank *r)
{
    return r->wait && r->wait->said == NI_SAID_WAIT;
}

enum { COLLECTIVES = 8 }; /* collectives that are named; groups of ranks that are compared */

/* Returns true if the rank waits in the same collective as the other one does. */
static bool waits_with(const struct ni_log_rank *r, const struct ni_log_rank *other)
{
    return is_waiting(r) && r->group == other->group && is_same_note(r->wait, other->wait);
}

/* Returns the ranks that wait in the same collective as this one. */
static struct ni_log_set ranks_with(const struct ni_log *log, const struct ni_log_rank *r)
{
    struct ni_log_set ranks = {0};

    for (unsigned i = 0; i < log->n; i++)
        if (waits_with(log->order[i], r))
            ni_log_set_add(&ranks, (int)i);
    return ranks;
}

/* Puts the ranks that wait in the same collective as this one, and which that is. */
static void put_waiting(struct ni_text *t, const struct ni_log *log, const struct ni_log_rank *r)
{
    const struct ni_log_set ranks = ranks_with(log, r);

    ni_log_put_ranks(t, log, &ranks);
    ni_put(t, " in ");
    put_collective(t, log, r->wait);
}

/* Finds the collectives in which ranks of this group wait: the first rank in each. Returns how
   many there are. */
static unsigned find_collectives(const struct ni_log *log, ni_log_text group,
                                 const struct ni_log_rank *first[])
{
    unsigned n = 0;

    for (unsigned i = 0; i < log->n && n < COLLECTIVES; i++) {
        const struct ni_log_rank *r = log->order[i];
        unsigned k = 0;

        if (!is_waiting(r) || r->group != group)
            continue;
        while (k < n && !is_same_note(first[k]->wait, r->wait))
            k++;
        if (k == n)
            first[n++] = r;
    }
    return n;
}

/* Returns true if the collectives have one number and one name. */
static bool have_one_name(const struct ni_log_rank *const first[], unsigned n)
{
    for (unsigned k = 1; k < n; k++)
        if (first[k]->wait->number != first[0]->wait->number ||
            first[k]->wait->collective != first[0]->wait->collective)
            return false;
    return true;
}

/* Puts all ranks that wait in one of the collectives. */
static void put_all_waiting(struct ni_text *t, const struct ni_log *log,
                            const struct ni_log_rank *const first[], unsigned n)
{
    struct ni_log_set ranks = {0};

    for (unsigned i = 0; i < log->n; i++)
        for (unsigned k = 0; k < n; k++)
            if (waits_with(log->order[i], first[k]))
                ni_log_set_add(&ranks, (int)i);
    ni_log_put_ranks(t, log, &ranks);
}

static void report_differing(const struct ni_log *log, const struct ni_log_rank *const first[],
                             unsigned n, struct ni_findings *f)
{
    struct ni_text who = NI_TEXT(96), t = NI_TEXT(400);

    ni_put(&t, have_one_name(first, n) ? "wait in the same collective with different sizes: "
                                       : "wait in different collectives: ");
    for (unsigned k = 0; k < n; k++) {
        ni_put(&t, k > 0 ? "; " : "");
        put_waiting(&t, log, first[k]);
    }
    put_all_waiting(&who, log, first, n);
    ni_report(f, NI_F_LOG_COLLECTIVE, who.buf, "%s", t.buf);
}

/* Puts what may be at fault if all ranks wait in one collective. Their roots, peers, data types and
   operators are in no log. all: no rank of the job is missing. */
static void put_unseen(struct ni_text *t, const char *collective, bool all)
{
    static const char *const rooted[] = {"BROADCAST", "REDUCE", "SCATTER", "GATHER"};
    const char *unseen = "data types or operators";

    for (size_t i = 0; i < NI_COUNT(rooted); i++)
        if (strcmp(collective, rooted[i]) == 0)
            unseen = "roots";
    if (strcmp(collective, "SEND") == 0 || strcmp(collective, "RECV") == 0)
        unseen = "peers";
    ni_putf(t, ": the cause is the network%s or different %s, which no log shows",
            all ? "," : ", a missing rank,", unseen);
}

/* Returns true if the log ends while the rank makes a further communicator. */
static bool is_beginning(const struct ni_log_rank *r)
{
    return r->begun != 0 && r->complete && !r->ended;
}

/* Names the first of these ranks that waits in the initialisation of another communicator; nothing
   if none does. */
static void put_beginning_rank(struct ni_text *t, const struct ni_log *log,
                               const struct ni_log_set *ranks)
{
    for (int i = 0; i < ranks->end; i++) {
        const struct ni_log_rank *r = log->order[i];

        if (!ni_log_set_has(ranks, i) || !is_beginning(r))
            continue;
        ni_putf(t, "; rank %d was in the initialisation of another communicator, of %d rank%s%s",
                r->rank, r->begun_size, ni_plural((unsigned)r->begun_size),
                r->p2p ? ", for a send or receive (send/recv)" : "");
        return;
    }
}

/* Reports ranks that wait in the initialisation of a further communicator, and those of the log
   that did not begin it. */
static void report_begun(const struct ni_log *log, struct ni_findings *f)
{
    const struct ni_log_rank *first = NULL;
    struct ni_text who = NI_TEXT(96), t = NI_TEXT(400);
    struct ni_log_set begun = {0};

    for (unsigned i = 0; i < log->n; i++) {
        const struct ni_log_rank *r = log->order[i];

        if (!first && is_beginning(r))
            first = r;
        if (first && r->begun != 0 && r->begun_job == first->begun_job)
            ni_log_set_add(&begun, (int)i);
    }
    if (!first)
        return;
    ni_log_put_ranks(&who, log, &begun);
    ni_putf(&t, "NCCL's initialisation of another communicator, of %d rank%s, did not end",
            first->begun_size, ni_plural((unsigned)first->begun_size));
    if (first->p2p)
        ni_put(&t, "; torch makes one for a send or receive");
    ni_log_set_invert(&begun, (int)log->n);
    if (begun.n > 0 && first->begun_size == first->size) {
        ni_put(&t, "; not begun by ");
        ni_log_put_ranks(&t, log, &begun);
    }
    ni_put(&t, ". ");
    put_quoted_line(&t, log, &first->begun_at);
    ni_report(f, NI_F_LOG_UNFINISHED, who.buf, "%s", t.buf);
}

/* Returns the number of the last collective of all these ranks; -1: it differs or is not known. */
static int last_called(const struct ni_log *log, const struct ni_log_set *ranks)
{
    int called = -1;
    bool first = true;

    for (int i = 0; i < ranks->end; i++) {
        if (!ni_log_set_has(ranks, i))
            continue;
        if (!first && called != log->order[i]->called)
            return -1;
        called = log->order[i]->called;
        first = false;
    }
    return called;
}

/* Puts the others, for which this rank waits. */
static void put_awaited(struct ni_text *t, const struct ni_log *log, const struct ni_log_rank *r,
                        const struct ni_log_set *others)
{
    const int called = last_called(log, others);

    ni_put(t, " for ");
    ni_log_put_ranks(t, log, others);
    if (called >= 0 && called < r->wait->number)
        ni_putf(t, ", whose last collective was number %d", called);
    else
        ni_put(t, ", and the log does not show it waiting");
    put_beginning_rank(t, log, others);
}

/* Puts what may be at fault if all ranks of the log wait. */
static void put_none_awaited(struct ni_text *t, const struct ni_log *log,
                             const struct ni_log_rank *r)
{
    struct ni_text missing = NI_TEXT(96);

    ni_put(t, ", as do all ranks of the log");
    ni_log_put_missing(&missing, log);
    if (missing.len > 0)
        ni_putf(t, "; look at the ranks that have no line in it: %s (of %d)", missing.buf, r->size);
    else
        put_unseen(t, ni_log_word(log, r->wait->collective), r->size > 0);
}

/* Finds the ranks that did not call the collective in which this one waits, as far as the log shows
   it. */
static void find_awaited(struct ni_log_set *ranks, const struct ni_log *log,
                         const struct ni_log_rank *r)
{
    *ranks = (struct ni_log_set){0};
    for (unsigned i = 0; i < log->n; i++) {
        const struct ni_log_rank *other = log->order[i];
        const bool called = other->called >= r->wait->number && other->group == r->group;

        if (!waits_with(other, r) && !called)
            ni_log_set_add(ranks, (int)i);
    }
}

/* Reports the ranks for which the others wait, if all that wait do so with this one. */
static void report_waiting(const struct ni_log *log, const struct ni_log_rank *r,
                           struct ni_findings *f)
{
    struct ni_log_set ranks = ranks_with(log, r);
    struct ni_text who = NI_TEXT(96), t = NI_TEXT(400);

    ni_log_put_ranks(&who, log, &ranks);
    ni_putf(&t, "waited %d s in ", r->wait->waited / 1000);
    put_collective(&t, log, r->wait);
    find_awaited(&ranks, log, r);
    if (ranks.n == 0)
        put_none_awaited(&t, log, r);
    else
        put_awaited(&t, log, r, &ranks);
    ni_put(&t, ". ");
    put_quoted_line(&t, log, &r->wait->quote);
    ni_report(f, NI_F_LOG_TIMEOUT, who.buf, "%s", t.buf);
}

/* Reports ranks that ended in order while another is still in a collective which they did not
   miss. */
static void report_early(const struct ni_log *log, struct ni_findings *f)
{
    struct ni_text who = NI_TEXT(96), t = NI_TEXT(400);
    const struct ni_log_rank *left = NULL;
    struct ni_log_set ended = {0};

    for (unsigned i = 0; i < log->n && !left; i++)
        if (log->order[i]->wait && !log->order[i]->ended)
            left = log->order[i];
    if (!left)
        return;
    for (unsigned i = 0; i < log->n; i++) {
        const struct ni_log_rank *r = log->order[i];

        if (r->ended && (r->called < 0 || r->called >= left->wait->number))
            ni_log_set_add(&ended, (int)i);
    }
    if (ended.n == 0)
        return;
    ni_log_put_ranks(&who, log, &ended);
    ni_put(&t, "ended in order while ");
    put_note_owner(&t, log, left->wait);
    ni_put(&t, " was in ");
    put_collective(&t, log, left->wait);
    ni_put(&t, ": they called different collectives, or one called more of them. ");
    put_quoted_line(&t, log, &left->wait->quote);
    ni_report(f, NI_F_LOG_COLLECTIVE, who.buf, "%s", t.buf);
}

/* Reports ranks that wait in different collectives. Numbers count within a process group, so only
   ranks of one group are compared. If a group is smaller than the job, the log does not show its
   members. */
static void report_collectives(const struct ni_log *log, struct ni_findings *f)
{
    ni_log_text group[COLLECTIVES];
    unsigned groups = 0;

    for (unsigned i = 0; i < log->n && groups < COLLECTIVES; i++) {
        const struct ni_log_rank *r = log->order[i];
        unsigned k = 0;

        while (k < groups && group[k] != r->group)
            k++;
        if (is_waiting(r) && k == groups)
            group[groups++] = r->group;
    }
    for (unsigned k = 0; k < groups; k++) {
        const struct ni_log_rank *first[COLLECTIVES];
        const unsigned n = find_collectives(log, group[k], first);
        const bool is_whole =
            groups == 1 && (group[k] == 0 || strstr(ni_log_word(log, group[k]), "default"));

        if (n > 1)
            report_differing(log, first, n, f);
        else if (n == 1 && is_whole)
            report_waiting(log, first[0], f);
    }
    if (!ni_findings_has(f, NI_F_LOG_COLLECTIVE))
        report_early(log, f);
}

/* ---- who left ---- */

/* Returns true if the log says why the rank left. That the launcher was stopped (NI_SAID_TERM) is
   no reason, and an exception in a line without a rank may be the launcher's own. */
static bool has_reason(const struct ni_log_rank *r)
{
    const bool raised = r->exception && r->exception->rank >= 0;
    const bool exited = r->end && r->end->said == NI_SAID_END;
    const bool in_collective = r->wait != NULL; /* one that failed, or did not end in time */
    const bool warned = r->process->warn.file != 0;

    return raised || exited || in_collective || warned;
}

/* Returns true if the rank took part, and its log ends without an end in order and without a
   reason: no error, no exception, no signal. */
static bool is_silent(const struct ni_log_rank *r)
{
    return (r->complete || r->connected) && !r->ended && !r->aborted && !r->exception && !r->end &&
           !has_reason(r);
}

/* Returns true if a line of the last attempt has the fault. */
static bool is_present(const struct ni_log *log, const struct ni_log_hit *h)
{
    for (unsigned i = 0; i < log->n; i++)
        if ((log->order[i]->process->said & h->bit) != 0)
            return true;
    return ni_log_is_nobodys(log, h);
}

static bool lost_a_peer(const struct ni_log *log)
{
    for (unsigned i = 0; i < log->n_hit; i++)
        if (log->hit[i].row->id == NI_F_LOG_PEER_DIED && is_present(log, &log->hit[i]))
            return true;
    return false;
}

/* Returns true if the log says why the job failed: an exception or an end that is a cause, a line of
   NCCL about a fault that is not another rank's, or a launcher that ended the whole job. */
static bool is_explained(const struct ni_log *log)
{
    if (log->exception || log->exit)
        return true;
    for (unsigned i = 0; i < log->n_hit; i++) {
        const struct ni_log_hit *h = &log->hit[i];

        const bool faulty = is_reason(h) && order_of(h->row->id) != PEER;

        if ((faulty || (h->flags & JOB_ENDED) != 0) && is_present(log, h))
            return true;
    }
    return false;
}

/* Reports ranks whose log just ends while others lost a connection. */
static void report_silent(const struct ni_log *log, struct ni_findings *f)
{
    struct ni_text who = NI_TEXT(96), t = NI_TEXT(480);
    const struct ni_log_note *error = NULL;
    struct ni_log_set silent = {0};

    for (unsigned i = 0; i < log->n; i++) {
        const struct ni_log_rank *r = log->order[i];

        if (!is_silent(r))
            continue;
        ni_log_set_add(&silent, (int)i);
        error = error ? error : r->error;
    }
    if (silent.n == 0 || 2 * silent.n > log->n || !lost_a_peer(log) || is_explained(log))
        return;
    ni_log_put_ranks(&who, log, &silent);
    ni_put(&t, silent.n > 1 ? "left first: their logs end " : "left first: its log ends ");
    if (error) {
        ni_put(&t, "not in order, while others lost their connections. A line says, in words that "
                   "nccl-init does not know, that something failed: ");
        put_quoted_line(&t, log, &error->quote);
    } else {
        ni_put(&t,
               "without an error and not in order, while others lost their connections: killed, or "
               "the last lines are lost");
    }
    ni_report(f, NI_F_LOG_LEFT, who.buf, "%s", t.buf);
}

/* Reports launchers that a signal from outside stopped. Left out are those whose rank has a trouble
   of its own: it waited in a collective, raised an exception, or aborted. */
static void report_terminated(const struct ni_log *log, struct ni_findings *f)
{
    struct ni_text who = NI_TEXT(96), t = NI_TEXT(320);
    const struct ni_log_note *first = NULL;
    struct ni_log_set stopped = {0};

    for (unsigned i = 0; i < log->n_note; i++) {
        const struct ni_log_note *note = &log->note[i];
        const struct ni_log_rank *r = note->who;

        if (note->said != NI_SAID_TERM || is_history(log, note) ||
            (r && (r->wait || r->exception || r->aborted)))
            continue;
        if (!first)
            first = note;
        if (r)
            ni_log_set_add(&stopped, r->nth);
    }
    if (!first)
        return;
    if (stopped.n > 1)
        ni_log_put_ranks(&who, log, &stopped);
    else
        put_note_owner(&who, log, first);
    ni_putf(&t, "the launcher was stopped from outside by signal %d (%s). ", -first->number,
            signal_name(-first->number));
    put_quoted_line(&t, log, &first->quote);
    ni_report(f, NI_F_LOG_LEFT, who.buf, "%s", t.buf);
}

static void report_aborted(const struct ni_log *log, struct ni_findings *f)
{
    struct ni_text who = NI_TEXT(96);
    struct ni_log_set aborted = {0};

    if (!lost_a_peer(log))
        return;
    for (unsigned i = 0; i < log->n; i++) {
        const struct ni_log_rank *r = log->order[i];

        if (r->aborted && !has_reason(r))
            ni_log_set_add(&aborted, (int)i);
    }
    if (aborted.n == 0)
        return;
    ni_log_put_ranks(&who, log, &aborted);
    ni_report(f, NI_F_LOG_LEFT, who.buf,
              "aborted the communicator without an earlier error: the program left it");
}

/* Reports processes that left the job and gave no error as their reason: their launcher was
   stopped, they aborted the communicator, or their log just ends. */
static void report_departures(const struct ni_log *log, struct ni_findings *f)
{
    report_terminated(log, f);
    report_aborted(log, f);
    report_silent(log, f);
}

/* ---- where the initialisation stopped ---- */

/* Returns true if a line of NCCL in the rank's process names a fault. */
static bool has_reason_of_nccl(const struct ni_log *log, const struct ni_log_rank *r)
{
    for (unsigned i = 0; i < log->n_hit; i++)
        if ((r->process->said & log->hit[i].bit) != 0 && is_reason(&log->hit[i]))
            return true;
    return false;
}

/* Returns true if the rank's own warning says why its initialisation did not end. */
static bool says_why_it_stopped(const struct ni_log *log, const struct ni_log_rank *r)
{
    return r->process->unknown_warn || has_reason_of_nccl(log, r);
}

static void report_stop(const struct ni_log *log, enum ni_log_step step, struct ni_findings *f)
{
    struct ni_text who = NI_TEXT(96), t = NI_TEXT(400);
    const struct ni_log_rank *first = NULL, *p;
    struct ni_log_set stopped = {0};

    for (unsigned i = 0; i < log->n; i++) {
        const struct ni_log_rank *r = log->order[i];

        if (!ni_log_is_stopped(r) || ni_log_stopped_step(r) != step || says_why_it_stopped(log, r))
            continue;
        ni_log_set_add(&stopped, (int)i);
        first = first ? first : r;
    }
    if (!first)
        return;
    p = first->process;
    ni_log_put_ranks(&who, log, &stopped);
    ni_putf(&t, "NCCL's initialisation %s %s. ",
            p->place == NI_STEP_NONE ? "did not end: the log stops" : "failed",
            ni_log_step_text(log, first));
    ni_quote(&t, ni_log_word(log, p->last_file));
    ni_putf(&t, ":%u: \"", (unsigned)p->last_line);
    ni_put_quoted(&t, p->last, strlen(p->last), NI_LOG_LAST);
    ni_put(&t, "\"");
    ni_report(f, NI_F_LOG_UNFINISHED, who.buf, "%s", t.buf);
}

void ni_log_report_stops(struct ni_log *log, struct ni_findings *f)
{
    for (int step = NI_STEP_DRIVER; step <= NI_STEP_LAST; step++)
        report_stop(log, (enum ni_log_step)step, f);
}

/* ---- all ---- */

static void report_warnings(struct ni_log *log, struct ni_findings *f)
{
    for (unsigned i = 0; i < log->n; i++) {
        const struct ni_log_rank *r = log->order[i];
        struct ni_text who = NI_TEXT(96), t = NI_TEXT(320);

        if (!r->process->unknown_warn || has_reason_of_nccl(log, r))
            continue;
        struct ni_log_set its = {0};
        ni_log_set_add(&its, (int)i);
        ni_log_put_ranks(&who, log, &its);
        ni_put(&t, "its first NCCL WARN, which nccl-init does not know");
        put_stage(&t, log, r);
        ni_put(&t, ". ");
        put_quoted_line(&t, log, &r->process->warn);
        ni_report(f, NI_F_LOG_WARN, who.buf, "%s", t.buf);
        log->warned = r;
        return;
    }
}

/* Returns true if the note is about a group that may lack ranks of the job. The default one is "0" or
   "0(default_pg)". */
static bool is_of_part(const struct ni_log *log, const struct ni_log_note *note)
{
    const char *group = ni_log_word(log, note->group);

    if (note->said != NI_SAID_WAIT && note->said != NI_SAID_DONE)
        return false;
    return *group != '\0' && strcmp(group, "0") != 0 && !strstr(group, "default");
}

/* Returns the note of the first rank that waits in a collective, and adds the numbers of all that do
   to the set; NULL: none does, or they do not wait in the same one, or it is of a part of the ranks. */
static const struct ni_log_note *gather_waiting(const struct ni_log *log, struct ni_log_set *set)
{
    const struct ni_log_note *first = NULL;

    for (unsigned i = 0; i < log->n_note; i++) {
        const struct ni_log_note *note = &log->note[i];

        if (is_of_part(log, note))
            return NULL;
        if (note->said != NI_SAID_WAIT || note->rank < 0 || note->rank >= NI_LOG_RANKS)
            continue;
        first = first ? first : note;
        if (!is_same_note(first, note))
            return NULL;
        ni_log_set_add(set, note->rank);
    }
    return first;
}

/* Reports ranks that wait in a collective, and those below the last of them that do not, of a log
   that has no line of NCCL. */
static void report_waiting_alone(const struct ni_log *log, struct ni_findings *f)
{
    struct ni_text who = NI_TEXT(96), missing = NI_TEXT(96), t = NI_TEXT(400);
    struct ni_text subject = NI_TEXT(112);
    struct ni_log_set waiting = {0};
    const struct ni_log_note *first = log->n == 0 ? gather_waiting(log, &waiting) : NULL;

    if (!first)
        return;
    for (unsigned i = 0; i < log->n_note; i++) {
        const struct ni_log_note *note = &log->note[i];

        if (note->said == NI_SAID_DONE && note->number >= first->number)
            ni_log_set_add(&waiting, note->rank); /* it has called that collective */
    }
    ni_log_set_put(&who, &waiting);
    const unsigned others = ni_log_set_put_rest(&missing, &waiting, waiting.end);
    if (others == 0 || others >= waiting.n)
        return;
    ni_putf(&t, "waited %d s in ", first->waited / 1000);
    put_collective(&t, log, first);
    ni_putf(&t, " for rank%s %s, which the log does not show waiting: look at %s last lines. ",
            ni_plural(others), missing.buf, others == 1 ? "its" : "their");
    put_quoted_line(&t, log, &first->quote);
    ni_putf(&subject, "rank%s %s", ni_plural(waiting.n), who.buf);
    ni_report(f, NI_F_LOG_TIMEOUT, subject.buf, "%s", t.buf);
}

/* Reports processes that did not announce themselves although others, of as many, did. */
static void report_members(const struct ni_log *log, struct ni_findings *f)
{
    struct ni_text missing = NI_TEXT(96);
    unsigned n = 0;

    if (log->members > 0 && log->n == 0)
        n = ni_log_set_put_rest(&missing, &log->member, log->members);
    if (n > 0)
        ni_report(f, NI_F_LOG_RANKS_MISSING, missing.buf,
                  "of %d processes, these did not announce themselves: nothing runs on their node, "
                  "or the launcher (srun, --ntasks-per-node) was not asked for them",
                  log->members);
}

void ni_log_report_causes(struct ni_log *log, struct ni_findings *f)
{
    report_exceptions(log, f);
    report_ends(log, f);
    report_collectives(log, f);
    report_waiting_alone(log, f);
    report_members(log, f);
    report_begun(log, f);
    report_departures(log, f);
}

/* Reports a warning that no pattern fits, of a process that its line does not name, if the log has no
   rank that shows how the job went on. */
static void report_nobodys_warning(struct ni_log *log, struct ni_findings *f)
{
    struct ni_text t = NI_TEXT(320);

    if (log->n > 0)
        return;
    for (unsigned i = 0; i < log->n_rank; i++) {
        const struct ni_log_rank *p = &log->rank[i];

        if (p->process != p || !p->unknown_warn)
            continue;
        ni_put(&t, "the first NCCL WARN, which nccl-init does not know. ");
        put_quoted_line(&t, log, &p->warn);
        ni_report(f, NI_F_LOG_WARN, "", "%s", t.buf);
        return;
    }
}

void ni_log_report_unknown(struct ni_log *log, struct ni_findings *f)
{
    bool stopped = false;

    if (ni_findings_count(f, NI_ERROR) == 0)
        report_nobodys_warning(log, f);

    for (unsigned i = 0; i < log->n; i++) {
        const struct ni_log_rank *r = log->order[i];

        stopped |=
            ni_log_is_stopped(r) || (r->process->unknown_warn && r->process->returned && !r->ended);
    }
    if (stopped || ni_findings_has(f, NI_F_LOG_FAILED) || ni_findings_has(f, NI_F_LOG_UNFINISHED))
        report_warnings(log, f);
}

/* Returns true if a line that a pattern of a fault fits stands before the note in its file: then the
   note is not of what failed first. */
static bool is_after_fault(const struct ni_log *log, const struct ni_log_note *note)
{
    for (unsigned i = 0; i < log->n_hit; i++)
        if (log->hit[i].file == note->quote.file && log->hit[i].line < note->quote.line &&
            ni_finding_severity(log->hit[i].row->id) == NI_ERROR)
            return true;
    return false;
}

/* Returns the first line that says in words of its own that something failed, of the last attempt;
   NULL: there is none. weak: also one whose words stand in lines that do not matter. */
static const struct ni_log_note *find_error(const struct ni_log *log, bool weak)
{
    const struct ni_log_note *first = NULL;

    for (unsigned i = 0; i < log->n_note; i++) {
        const struct ni_log_note *note = &log->note[i];

        if (note->said != NI_SAID_ERROR || (note->weak && !weak) || is_history(log, note) ||
            is_after_fault(log, note))
            continue;
        first = first && !(first->weak && !note->weak) ? first : note;
    }
    return first;
}

/* Returns what the user does about an error in words that nccl-init does not know. NCCL's lines help
   only if NCCL had begun. */
static const char *advice_of_error(const struct ni_log_note *note)
{
    if (note->stage >= NI_STAGE_BOOTSTRAP)
        return NULL;
    return "read that line, and those around it: they are of the program, or of what starts it, "
           "which NCCL's settings do not change. Search for its words with the name of that "
           "program; if it is a launcher's, look at the node that it names.";
}

/* Returns the first exception that follows from another error, which the log does not have; NULL:
   there is none. */
static const struct ni_log_note *find_follower(const struct ni_log *log)
{
    for (unsigned i = 0; i < log->n_note; i++)
        if (log->note[i].said == NI_SAID_EXCEPTION && log->note[i].follows &&
            !is_history(log, &log->note[i]))
            return &log->note[i];
    return NULL;
}

void ni_log_report_follower(struct ni_log *log, struct ni_findings *f)
{
    struct ni_text who = NI_TEXT(96), t = NI_TEXT(480);
    const struct ni_log_note *note = find_follower(log);

    if (!note || ni_findings_count(f, NI_ERROR) > 0 || log->n > 0)
        return;
    put_note_owner(&who, log, note);
    ni_put(&t, "the program raised an exception, which follows from an error that this log does "
               "not show: another process failed, or did not come. ");
    put_quoted_line(&t, log, &note->quote);
    ni_log_advise(ni_report(f, NI_F_LOG_EXCEPTION, who.buf, "%s", t.buf),
                  "look for the first error in the logs of all ranks, by their times: rank 0, and "
                  "the process that the line names, first.",
                  NULL);
}

const struct ni_log_quote *ni_log_report_error(struct ni_log *log, bool alone,
                                               struct ni_findings *f)
{
    const struct ni_log_note *note = find_error(log, alone);
    struct ni_text who = NI_TEXT(96), t = NI_TEXT(480);

    for (unsigned i = 0; i < f->n; i++) {
        const ni_finding_number id = f->at[i].id;
        const bool told = id == NI_F_LOG_LEFT && note && note->who; /* report_silent quotes it */

        if (ni_finding_severity(id) == NI_ERROR && (order_of(id) < UNFINISHED || told))
            return NULL;
    }
    if (!note || (!alone && ni_findings_count(f, NI_ERROR) == 0))
        return note ? &note->quote : NULL;
    if (note->who)
        put_note_owner(&who, log, note);
    const struct ni_log_meaning meaning = ni_log_meaning(ni_log_word(log, note->quote.text));
    if (meaning.cause) {
        ni_put(&t, meaning.cause);
    } else {
        ni_put(&t, "the first line that says that something failed, in words that nccl-init does "
                   "not know; ");
        ni_log_put_before(&t, note->stage);
    }
    ni_put(&t, ". ");
    put_quoted_line(&t, log, &note->quote);
    struct ni_finding *found = ni_report(
        f, meaning.about != NI_F_NONE ? meaning.about : NI_F_LOG_ERROR, who.buf, "%s", t.buf);
    ni_log_advise(found, meaning.cause ? meaning.user : advice_of_error(note), meaning.admin);
    return NULL;
}

/* Returns the note that says what ended an attempt before the last one; NULL: none does. */
static const struct ni_log_note *find_old_note(const struct ni_log *log)
{
    static const enum ni_log_said kinds[] = {NI_SAID_EXCEPTION, NI_SAID_END};

    for (size_t k = 0; k < NI_COUNT(kinds); k++)
        for (unsigned i = 0; i < log->n_note; i++) {
            const struct ni_log_note *note = &log->note[i];

            if (note->said == kinds[k] && is_history(log, note) && is_cause(log, note))
                return note;
        }
    return NULL;
}

static void put_old_note(struct ni_text *t, const struct ni_log *log,
                         const struct ni_log_note *note)
{
    if (note->rank >= 0)
        ni_putf(t, "rank %d", note->rank);
    else
        put_note_owner(t, log, note);
    ni_put(t, " ");
    if (note->said == NI_SAID_END)
        put_ending(t, note->number);
    else
        ni_put(t, "raised an exception");
    ni_put(t, ". ");
    put_quoted_line(t, log, &note->quote);
}

/* Returns the fault of an earlier attempt that is first in the order of causes; NULL: there is
   none. */
static const struct ni_log_hit *find_old_hit(const struct ni_log *log)
{
    const struct ni_log_hit *first = NULL;

    for (unsigned i = 0; i < log->n_hit; i++) {
        const struct ni_log_hit *h = &log->hit[i];
        const ni_finding_number id = h->row->id;

        if (ni_finding_severity(id) == NI_ERROR &&
            ni_log_is_history(log, h->file, (uint32_t)h->line) &&
            (!first || order_of(id) < order_of(first->row->id)))
            first = h;
    }
    return first;
}

void ni_log_put_history(struct ni_text *t, const struct ni_log *log)
{
    const struct ni_log_note *note = find_old_note(log);
    const struct ni_log_hit *hit = find_old_hit(log);

    if (log->attempts < 2)
        return;
    if (log->attempts == 2)
        ni_put(t, "; attempt 1: ");
    else
        ni_putf(t, "; attempts 1-%u, the first: ", log->attempts - 1);
    /* of several attempts the one that stands first */
    const bool hit_first = hit && note && log->attempts > 2 && hit->file == note->quote.file &&
                           hit->line < note->quote.line;
    if (note && !hit_first) {
        put_old_note(t, log, note);
    } else if (hit) {
        ni_putf(t, "%s. ", hit->row->cause ? hit->row->cause : ni_log_cause[hit->row->id]);
        ni_quote(t, ni_log_word(log, hit->file));
        ni_putf(t, ":%u: \"%s\"", (unsigned)hit->line, hit->quote);
    } else {
        ni_put(t, log->old_in_order ? "it ended in order" : "the log does not say why it ended");
    }
}

enum { NEAR = 100 }; /* lines from a fault to what it may have caused, if no process tells */

/* Returns true if the fault stands before the note, in the note's process, or close before it if one
   of their processes is not known. */
static bool is_fault_before(const struct ni_log *log, const struct ni_log_hit *h,
                            const struct ni_log_note *note)
{
    const struct ni_log_rank *r = note->who;

    if (h->file != note->quote.file || h->line > note->quote.line ||
        ni_log_is_history(log, h->file, (uint32_t)h->line))
        return false;
    if (r && (r->process->said & h->bit) != 0)
        return true;
    return (!r || h->nobodys_file != 0) && note->quote.line - h->line <= NEAR;
}

/* Returns true if an error of the finding stands before the note in the job's life, and explains
   it. */
static bool explains(const struct ni_log *log, ni_finding_number id, const struct ni_log_note *note)
{
    const unsigned order = order_of(id);
    const bool late = order >= COLLECTIVE && order < UNFINISHED;
    const struct ni_log_rank *warned = log->warned;

    if (id == NI_F_LOG_WARN && warned)
        return warned->process->warn.file == note->quote.file &&
               warned->process->warn.line < note->quote.line &&
               (!note->who || note->who->process == warned->process);
    if (late && is_mild_exit(note))
        return true;
    if (order < FAULT || (order > PEER && !(late && note->is_fault)))
        return false;
    if (note->said == NI_SAID_END && !is_mild_exit(note) && id != NI_F_SHM_DEFAULT)
        return false;
    for (unsigned i = 0; i < log->n_hit; i++)
        if (log->hit[i].row->id == id && is_fault_before(log, &log->hit[i], note))
            return true;
    return false;
}

/* Returns the finding that explains the exception or the exit with which the job seems to have begun
   to fail; NULL: none does. */
static const struct ni_finding *find_earlier(const struct ni_log *log, const struct ni_findings *f,
                                             ni_finding_number id)
{
    const struct ni_log_note *note = id == NI_F_LOG_EXIT ? log->exit : log->exception;
    const struct ni_finding *first = NULL;

    if (id != NI_F_LOG_EXIT && id != NI_F_LOG_EXCEPTION)
        return NULL;
    for (unsigned i = 0; note && i < f->n; i++) {
        const struct ni_finding *it = &f->at[i];

        if ((ni_finding_severity(it->id) == NI_ERROR || log->fatal[it->id]) &&
            explains(log, it->id, note) && (!first || order_of(it->id) < order_of(first->id)))
            first = it;
    }
    return first;
}

/* Returns true if the finding only says why there is no RDMA, and the job died because a peer could not
   be reached. */
static bool is_beside(const struct ni_log *log, const struct ni_findings *f, ni_finding_number id)
{
    if (id != NI_F_LOG_PLUGIN || !(ni_findings_has(f, NI_F_LOG_PEER_UNREACHABLE) ||
                                   ni_findings_has(f, NI_F_LOG_PEER_REFUSED)))
        return false;
    for (unsigned i = 0; i < log->n_hit; i++)
        if (log->hit[i].row->id == id && (log->hit[i].flags & WHY) == 0)
            return false;
    return true;
}

/* Returns the first line of torch's barrier that counted more ranks than there are; NULL: none did. */
static const struct ni_log_hit *find_crowded_barrier(const struct ni_log *log)
{
    for (unsigned i = 0; i < log->n_hit; i++) {
        const struct ni_span text = ni_span_of(log->hit[i].quote);
        const int counted = ni_log_number(ni_log_after(text, "worker_count="));
        const int size = ni_log_number(ni_log_after(text, "world_size="));

        if (log->hit[i].row->id == NI_F_LOG_RANKS_MISSING && size > 0 && counted > size)
            return &log->hit[i];
    }
    return NULL;
}

/* Returns the finding that the line was told by; NULL: none tells its cause. */
static const struct ni_finding *find_told(const struct ni_findings *f, const struct ni_log_hit *hit)
{
    for (unsigned i = 0; i < f->n; i++)
        if (f->at[i].id == hit->row->id && ni_has_prefix(f->at[i].message, hit->row->cause))
            return &f->at[i];
    return NULL;
}

/* Returns the finding that a launcher ended the job of itself, if that is why a later start counted too
   many ranks: those that it ended are still in the store. NULL: it did not. */
static const struct ni_finding *find_job_end_before(const struct ni_log *log,
                                                    const struct ni_findings *f,
                                                    ni_finding_number id)
{
    const struct ni_log_hit *barrier =
        id == NI_F_LOG_RANKS_MISSING ? find_crowded_barrier(log) : NULL;

    if (!barrier)
        return NULL;
    for (unsigned i = 0; i < log->n_hit; i++) {
        const struct ni_log_hit *h = &log->hit[i];
        const bool ended = (h->flags & JOB_ENDED) != 0 && (h->flags & FOLLOWS) == 0;
        const bool before = h->file == barrier->file && h->line <= barrier->line;
        const struct ni_finding *told = ended && before ? find_told(f, h) : NULL;

        if (told)
            return told;
    }
    return NULL;
}

const struct ni_finding *ni_log_cause_of(const struct ni_log *log, const struct ni_findings *f,
                                         bool mixed)
{
    const struct ni_finding *cause = NULL;
    unsigned end = mixed ? PEER : NO_CAUSE; /* the cause stands before it in the order */

    if (ni_findings_count(f, NI_ERROR) == 0 && !log->died)
        return NULL;
    for (unsigned i = 0; i < f->n; i++) {
        const struct ni_finding *it = &f->at[i];

        if ((ni_finding_severity(it->id) != NI_ERROR && !log->fatal[it->id]) ||
            is_beside(log, f, it->id))
            continue;
        if (order_of(it->id) < end) {
            cause = it;
            end = order_of(it->id);
        }
    }
    if (!cause)
        return NULL;
    const struct ni_finding *earlier = find_earlier(log, f, cause->id);
    if (earlier)
        cause = earlier;
    const struct ni_finding *ended = find_job_end_before(log, f, cause->id);
    return ended ? ended : cause;
}
