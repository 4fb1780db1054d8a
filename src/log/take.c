/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of a line, noted for the process that printed it. */
#include "log/take.h"

#include <string.h>

#include "findings/log.h"
#include "findings/setting.h"
#include "log/line.h"
#include "log/patterns.h"
#include "log/program.h"
#include "log/stage.h"
#include "log/state.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/ip.h"
#include "nccl_init/nccl_list.h"
#include "nccl_init/number.h"
#include "nccl_init/text.h"
#include "rules/job_settings.h"

static int parse_number(struct ni_span s)
{
    uint64_t v = 0;

    return ni_parse_u64(s, INT32_MAX, &v) < 0 ? -1 : (int)v;
}

static bool has(struct ni_span s, const char *what)
{
    return memmem(s.p, s.n, what, strlen(what)) != NULL;
}

/* Returns the text between `mark` and the next `stop`; empty: there is none. */
static struct ni_span text_between(struct ni_span s, const char *mark, char stop)
{
    const char *at = memmem(s.p, s.n, mark, strlen(mark)), *end = s.p + s.n;
    const char *from = at ? at + strlen(mark) : end;
    const char *to = memchr(from, stop, (size_t)(end - from));

    return (struct ni_span){from, to ? (size_t)(to - from) : 0};
}

/* Returns the word after `mark`; empty: there is none. */
static struct ni_span text_after(struct ni_span s, const char *mark)
{
    const char *at = memmem(s.p, s.n, mark, strlen(mark)), *end = s.p + s.n;
    struct ni_span word = {at ? at + strlen(mark) : end, 0};

    while (word.p + word.n < end && !strchr(" ,';<", word.p[word.n]))
        word.n++;
    return word;
}

bool ni_log_is_sockets(struct ni_span network, bool tcp)
{
    /* "ocket" also fits FastSocket */
    return has(network, "ocket") || (tcp && has(network, "fabric"));
}

/* Notes that a line of the present file shows that stage. */
static void reach(struct ni_log *log, enum ni_log_stage stage)
{
    if (log->reached.file != log->file)
        log->reached.stage = NI_STAGE_ANY;
    log->reached.file = log->file;
    log->reached.stage = stage > log->reached.stage ? stage : log->reached.stage;
}

/* ---- who ---- */

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

/* Returns the time in front of a line, 2026-11-28T15:54:30 or with a blank for the T, as
   YYYYMMDDhhmmss; 0: there is none. */
static uint64_t time_of(const struct ni_log_line *l)
{
    static const char form[] = "0000-00-00T00:00:00";
    const size_t n = sizeof(form) - 1;
    const char *stop = l->message - l->p > 64 ? l->p + 64 : l->message;

    for (const char *p = l->p; stop - p > (ptrdiff_t)n; p++) {
        uint64_t time = 0;
        size_t i = 0;

        for (; i < n; i++) {
            const bool blank = form[i] == 'T' && p[i] == ' ';

            if (form[i] == '0' ? !ni_is_digit(p[i]) : p[i] != form[i] && !blank)
                break;
            if (form[i] == '0')
                time = 10 * time + (uint64_t)(p[i] - '0');
        }
        if (i == n)
            return time;
    }
    return 0;
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
    return digits.n == 0 ? 0 : parse_number(digits) + 1;
}

/* Notes when a process began, and what had failed before it. */
static void note_begin(const struct ni_log_line *l, struct ni_log_rank *p)
{
    p->since = time_of(l);
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

/* Returns "host:pid" of host:pid:tid, without a launcher's prefix that has no blank; or empty. The
   host is that of gethostname up to its first dot (misc/utils.cc getHostName). */
static struct ni_span origin(const char *p, const char *end)
{
    const char *tid = memrchr(p, ':', (size_t)(end - p));
    const char *pid = tid ? memrchr(p, ':', (size_t)(tid - p)) : NULL, *host = pid;

    if (!pid || parse_number((struct ni_span){pid + 1, (size_t)(tid - pid) - 1}) < 0 ||
        parse_number((struct ni_span){tid + 1, (size_t)(end - tid) - 1}) < 0)
        return (struct ni_span){p, 0};
    while (host > p && ni_is_name((struct ni_span){host - 1, 1}, 3))
        host--;
    return (struct ni_span){host, host < pid ? (size_t)(tid - host) : 0};
}

/* Reads the words before NCCL's level, from the last: file:line, (function), [dev], host:pid:tid; a
   time and a launcher's prefix are skipped. */
static void take_header(struct ni_log_line *l, const char *at)
{
    struct ni_span name = {at, 0};
    const char *end = at, *from;

    l->info = at[5] == 'I';
    l->warn = at[5] == 'W';
    l->message = at + 5; /* the level */
    while (l->message < l->end && *l->message != ' ')
        l->message++;
    for (int i = 0; i < 8 && end > l->p && name.n == 0; i++, end = from) {
        while (end > l->p && end[-1] == ' ')
            end--;
        for (from = end; from > l->p && from[-1] != ' ';)
            from--;
        if (end - from > 2 && *from == '[' && end[-1] == ']' && l->dev < 0)
            l->dev = parse_number((struct ni_span){from + 1, (size_t)(end - from) - 2});
        if (l->warn && has((struct ni_span){from, (size_t)(end - from)}, ".cc:"))
            l->source = (struct ni_span){from, (size_t)(end - from)};
        name = origin(from, end);
    }
    if (l->whole)
        l->by = process_of(l, name);
    if (l->by)
        reach(l->log, NI_STAGE_BOOTSTRAP);
}

/* Begins a new process: each prints its first contact once, so a second one, of the same host and
   pid, is another process, after a restart or in another pod. */
static void begin_anew(struct ni_log_line *l)
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

/* Returns the GPU that printed the line: by the rank, or by its number, or the first one. CUDA's
   number for the thread is 0 in some threads of any GPU. */
static struct ni_log_rank *rank_of(const struct ni_log_line *l, int dev, int rank)
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

/* Returns the GPU of that number, and adds it if it is new. NULL: no process, or no room. */
static struct ni_log_rank *gpu_of(const struct ni_log_line *l, int dev)
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
    reach(l->log, ni_log_stage_of_step(step));
}

/* Remembers a further communicator of the GPU from its start to its end: a rank may wait in it for
   one that never comes. */
static void take_further(const struct ni_log_line *l, struct ni_log_rank *r,
                         const struct ni_span *c, ni_log_text job)
{
    const ni_log_text comm = ni_log_keep(l->log, c[0]);
    const size_t n = (size_t)(c[4].p + c[4].n - c[0].p);

    if (comm == r->begun && has(c[4], "COMPLETE"))
        r->begun = 0;
    if (comm == r->again && has(c[4], "Destroy COMPLETE"))
        r->ended = true;
    if (!has(c[4], "Init START") || !r->complete || parse_number(c[2]) > r->size)
        return;
    /* it goes on after it has ended its communicators */
    r->again = r->ended ? comm : r->again;
    r->ended = false;
    r->begun = comm;
    r->begun_job = job; /* ncclCommSplit names none */
    r->begun_size = parse_number(c[2]);
    r->begun_at = (struct ni_log_quote){
        .file = l->log->file,
        .text = ni_log_keep(l->log, (struct ni_span){c[0].p, n < 200 ? n : 200}),
        .line = (uint32_t)l->log->line};
}

/* Takes a communicator; a smaller one of the same GPU is a part of the job. */
static void take_comm(struct ni_log_line *l, const struct ni_span *c)
{
    const int size = parse_number(c[2]);
    struct ni_log_rank *r = gpu_of(l, parse_number(c[3]));
    const ni_log_text job = ni_log_keep(l->log, text_after(c[4], "commId "));

    if (!r)
        return;
    r->several |= job != 0 && r->job != 0 && job != r->job;
    take_further(l, r, c, job);
    if (size < r->size)
        return;
    if (size > r->size) {
        r->rank = parse_number(c[1]);
        r->size = size;
        r->bus = ni_log_keep(l->log, text_after(c[4], "busId "));
        r->job = job;
        r->started = r->complete = r->ended = false;
    }
    if (job != 0 && r->job != 0 && job != r->job)
        return;
    r->started |= has(c[4], "Init ");
    r->complete |= has(c[4], "Init COMPLETE");
    r->ended |= has(c[4], "Destroy COMPLETE");
    r->aborted |= has(c[4], "Abort COMPLETE");
    if (r->ended)
        reach(l->log, NI_STAGE_END);
    if (has(c[4], "Init COMPLETE"))
        take_step(l, NI_STEP_COMPLETE);
    else if (has(c[4], "Init "))
        l->by->step = NI_STEP_START;
}

/* Takes a channel: "IB/0/GDRDMA/Shared", "IB/3(7)/GDRDMA(PCI)", "AWS Libfabric/0/GDRDMA", "IB/0
   comm 0x1 nRanks 02" are network and HCA, the rank that sends for this one, and further words. c:
   the words of "Channel %s : %d[%s -> %d[%s %s via NET/%r", from the number of the channel on. */
static void take_channel(struct ni_log_line *l, const struct ni_span *c)
{
    const int rank = parse_number(c[c[5].n == 6 ? 1 : 3]); /* [send] or [receive] */
    const char *slash = memchr(c[6].p, '/', c[6].n);
    /* without lines of the communicator each GPU that prints is a rank */
    struct ni_log_rank *r = l->by->size > 0 ? rank_of(l, l->dev, rank) : gpu_of(l, l->dev);
    struct ni_span hca = {slash, 0}, name = c[6];
    int n;

    /* srun -l breaks a line where a buffer ended: "IB/0/GDR", "IB/3(7" */
    if (!r || !slash || c[6].p[c[6].n - 1] == '/' || has(c[6], "(") != has(c[6], ")") ||
        has(c[6], "/G") != has(c[6], "/GDRDMA"))
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
    n = parse_number(hca);
    r->net++;
    r->gdr += has(c[6], "/GDRDMA");
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
        l->by->gid_index = parse_number(c[1]);
        l->by->gid = ni_log_keep(l->log, ni_span_of(ni_ip_text(ip, text)));
    }
}

/* ---- what went wrong ---- */

/* Returns the HCA that a line is about, "mlx5_6:1" or "mlx5_6"; empty: it names none. */
static struct ni_span find_hca(const struct ni_log_line *l)
{
    static const struct {
        const char *text;
        bool needs_port; /* words other than an HCA may follow it */
    } marks[] = {
        {" on dev ", false}, {" hca ", false},    {"open device ", false},
        {"for HCA ", true},  {"NET/IB : ", true}, {"for device /sys/class/infiniband/", false},
    };
    const struct ni_span line = {l->p, (size_t)(l->end - l->p)};

    for (size_t i = 0; i < NI_COUNT(marks); i++) {
        const struct ni_span word = text_after(line, marks[i].text);
        struct ni_span name, port;
        const bool has_port = ni_split_port(word, &name, &port);

        if (!has_port && marks[i].needs_port)
            continue;
        if (ni_is_name(name, NI_DEV_NAME) && !ni_is_digit(*name.p)) /* a number is NCCL's index */
            return word;
    }
    return (struct ni_span){l->p, 0};
}

/* Returns the part of a line that is quoted: of a line that is not NCCL's only the sentence that
   fits, since much may stand before it. */
static struct ni_span quoted(const struct ni_log_line *l, const char *at)
{
    const char *from = l->message;

    for (const char *p = l->by ? at : l->message; p + 1 < at; p++)
        if ((*p == ']' || *p == ':') && p[1] == ' ')
            from = p + 2;
    return ni_trim((struct ni_span){from, (size_t)(l->end - from)});
}

/* Returns true if the line is harmless although it fits the pattern: NCCL or torch tries again, or
   only tried something, or says it about an interface. */
static bool is_harmless(const struct ni_log_line *l, const struct ni_pattern *row,
                        struct ni_span message)
{
    const bool again =
        has(message, "retrying") || has(message, "[c10d] The client socket has failed");
    const bool by_sockets =
        l->by && ni_log_is_sockets(ni_span_of(ni_log_word(l->log, l->by->network)), l->by->tcp);

    if ((row->flags & NI_PATTERN_LAST) != 0 && again)
        return true;
    if ((row->flags & WARN) != 0 && l->info)
        return true;
    return (row->flags & OF_NET) != 0 && by_sockets;
}

/* Returns the hit for such a fault of that subject, which is added if it is new. NULL: no room. */
static struct ni_log_hit *keep_hit(struct ni_log *log, const struct ni_pattern *row, unsigned flags,
                                   ni_log_text subject, struct ni_span quote)
{
    struct ni_log_hit *h = log->hit, *stop = h + log->n_hit;

    while (h < stop && (h->row->id != row->id || h->row->cause != row->cause ||
                        h->subject != subject || ((h->flags ^ flags) & LATE) != 0))
        h++;
    if (h == log->hit + NI_LOG_HITS) {
        log->dropped++;
        return NULL;
    }
    if (h == stop) {
        struct ni_text t = ni_text_on(h->quote, sizeof(h->quote));

        *h = (struct ni_log_hit){.row = row, .flags = flags, .subject = subject, .file = log->file};
        h->line = log->line;
        h->bit = UINT64_C(1) << log->n_hit;
        log->n_hit++;
        ni_put_quoted(&t, quote.p, quote.n, 160);
    }
    return h;
}

/* Returns the variable whose value NCCL does not know, by the value in the line: `when parsing
   "Rings"` (graph/tuning.cc parseList). 0: no line before it shows the variable. */
static ni_log_text find_refused(const struct ni_log_line *l)
{
    const struct ni_span line = {l->p, (size_t)(l->end - l->p)};
    const ni_log_text value = ni_log_keep(l->log, text_between(line, "when parsing \"", '"'));
    static const char *const names[] = {"NCCL_ALGO", "NCCL_PROTO"};

    for (unsigned k = 1; l->by && value != 0 && k < l->log->n_name; k++)
        for (size_t i = 0; i < NI_COUNT(names); i++)
            if (l->by->value[k] == value &&
                strcmp(ni_log_word(l->log, l->log->name[k]), names[i]) == 0)
                return l->log->name[k];
    /* torch repeats the line without the process */
    for (unsigned i = 0; !l->by && i < l->log->n_hit; i++)
        if (l->log->hit[i].row->id == NI_F_USER_VALUE_IGNORED)
            return l->log->hit[i].subject;
    return 0;
}

static void take_fault(struct ni_log_line *l, const struct ni_pattern *row, const char *at)
{
    const struct ni_span message =
        ni_trim((struct ni_span){l->message, (size_t)(l->end - l->message)});
    const struct ni_span quote = quoted(l, at);
    struct ni_log *log = l->log;
    /* torch's warning: "[rank1]:[W1121 22:30:02.399123456 TCPStore.cpp:125]", "[W socket.cpp:663]"
       */
    const bool warns = has(message, "[W") && has(message, ".cpp:");
    const unsigned flags = warns ? row->flags : row->flags & ~(unsigned)LATE;

    if (is_harmless(l, row, message))
        return;
    const struct ni_pattern *narrow =
        ni_log_narrow(row, (struct ni_span){l->p, (size_t)(l->end - l->p)}, at);
    const unsigned its = narrow == row ? flags : narrow->flags;
    const ni_log_text subject =
        row->id == NI_F_USER_VALUE_IGNORED ? find_refused(l) : ni_log_keep(log, find_hca(l));
    struct ni_log_hit *h = keep_hit(log, narrow, its, subject, quote);
    if (!h || h->last == log->lines)
        return;
    h->last = log->lines;
    h->count++;
    if (!l->by) {
        h->nobodys_file = log->file;
        h->nobodys_line = (uint32_t)log->line;
    } else {
        l->by->said |= h->bit;
        l->by->tcp |= row->id == NI_F_LOG_SOCKETS;
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

    const bool source = has(word, ".cc:") || has(word, ".h:") || has(word, ".cu:");

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
static void take_words(struct ni_log_line *l, bool known)
{
    struct ni_log_rank *p = l->by;

    l->log->info |= l->info;
    if (p->file == l->log->file)
        p->until = (uint32_t)l->log->line;
    if (p->since != 0) {
        const uint64_t time = time_of(l);

        p->till = time > p->till ? time : p->till;
    }
    const struct ni_span message =
        ni_trim((struct ni_span){l->message, (size_t)(l->end - l->message)});
    size_t n = message.n < sizeof(p->last) ? message.n : sizeof(p->last) - 1;

    take_source(l, message);
    /* NCCL returns an error right after the warning */
    p->returned |= p->warn.file == l->log->file && p->warn.line + 1 == l->log->line && !l->warn &&
                   source_of_return(message).n > 0;
    /* "init.cc:160 -> 5", the way back from an error, and lines at exit do not show where the
       process was */
    if (p->step != NI_STEP_COMPLETE && !has(message, " -> ") &&
        !has(message, "Closing env plugin")) {
        p->last_file = l->log->file;
        p->last_line = (uint32_t)l->log->line;
        n = strnlen(message.p, n);
        memcpy(p->last, message.p, n);
        p->last[n] = '\0';
    }
    if (!l->warn || p->warn.file != 0)
        return;
    p->warn = (struct ni_log_quote){
        .file = l->log->file,
        .text = ni_log_keep(l->log, (struct ni_span){message.p, message.n < 200 ? message.n : 200}),
        .line = (uint32_t)l->log->line};
    p->unknown_warn = !known;
}

static void take_boot(struct ni_log_line *l, struct ni_span what)
{
    if (has(what, "<")) /* NCCL_OOB_NET_ENABLE has a second one, of a device */
        begin_anew(l);
    take_step(l, NI_STEP_BOOT);
    if (l->by->boot == 0)
        l->by->boot = ni_log_keep(l->log, text_after(what, what.p[0] == '[' ? "]" : ""));
}

/* Takes the number of nodes. A smaller communicator may cross nodes while the largest does not: TP
   in a node, PP across. */
static void take_nodes(const struct ni_log_line *l, const struct ni_span *c)
{
    const int nodes = parse_number(c[3]);
    struct ni_log_rank *r;

    take_step(l, NI_STEP_RANKS);
    r = rank_of(l, l->dev, parse_number(c[1]));
    if (nodes > r->nodes && (nodes > 1 || parse_number(c[2]) == r->size))
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
        take_fault(l, &diag, at);
}

/* Takes the number of a call of the program: 0 is the first. */
static void take_call(struct ni_log_line *l, struct ni_span number)
{
    if (!ni_span_is(number, "0"))
        rank_of(l, l->dev, -1)->called_again = true;
}

/* Takes what a line without words of its own says of the rank. */
static void take_mark(struct ni_log_line *l, enum ni_log_take what)
{
    struct ni_log_rank *r = rank_of(l, l->dev, -1);

    if (what == NI_TAKE_COLLNET) {
        l->by->collnet = true;
    } else if (what == NI_TAKE_CONNECTED) {
        r->connected = true;
        take_step(l, NI_STEP_RINGS);
        reach(l->log, NI_STAGE_RUNNING);
    } else {
        r->aborted = true;
    }
}

/* Returns true if the line is whole and of a known process, where that matters. */
static bool may_take(const struct ni_log_line *l, const struct ni_found *f)
{
    const enum ni_log_take what = f->row->take;
    const bool cut = l->cut && !(what == NI_TAKE_COMM && has(f->capture[4], "COMPLETE"));

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

/* Takes what a row of the patterns has found. */
static void take_found(struct ni_log_line *l, const struct ni_found *f)
{
    const struct ni_span *c = f->capture;

    if (!may_take(l, f))
        return;
    l->log->libraries |= UINT32_C(1) << f->row->library;
    switch (f->row->take) {
    case NI_TAKE_FAULT:
        take_fault(l, f->row, f->at);
        break;
    case NI_TAKE_HEADER:
        take_header(l, f->at);
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
        log->boxed = !log->boxed || log->lines > log->boxed_at + 100;
        log->boxed_at = log->lines;
        return false;
    }
    return log->boxed && log->lines == log->boxed_at + 1 && p < end;
}

void ni_log_take_line(struct ni_log *log, const char *p, const char *end, enum ni_log_cut cut)
{
    struct ni_log_line l = {
        .log = log, .p = p, .end = end, .message = p, .dev = -1, .cut = cut == NI_LOG_CUT};
    struct ni_found found[24];
    /* Ray adds a count to a line; it is not a part of it. */
    const char *ray = memmem(p, (size_t)(end - p), " [repeated ", 11), *stop = ray ? ray : end;
    bool known = false;
    const struct ni_found *error = NULL;
    unsigned headers = 0, faults = 0, n = ni_patterns_find(p, stop, found, NI_COUNT(found));

    n += ni_patterns_find(stop, end, found + n, NI_COUNT(found) - n);
    log->lines++;
    log->dropped += n == NI_COUNT(found); /* the line may have more */
    for (unsigned i = 0; i < n; i++) {
        headers += found[i].row->take == NI_TAKE_HEADER;
        faults += found[i].row->take == NI_TAKE_FAULT && (found[i].row->flags & GENERAL) == 0;
        error = !error && found[i].row->take == NI_TAKE_ERROR ? &found[i] : error;
    }
    l.whole = headers < 2;
    const unsigned notes = log->n_note;
    ni_log_end_traceback(&l);
    if (faults > 0 && log->n_note > notes)
        log->note[notes].is_fault = true;
    for (unsigned i = 0; i < n; i++) {
        if (faults == 0 || (found[i].row->flags & GENERAL) == 0 ||
            found[i].row->take != NI_TAKE_FAULT)
            take_found(&l, &found[i]);
        known |= found[i].row->take == NI_TAKE_FAULT;
    }
    const bool strong = ni_log_is_glog_error(p, end), boxed = begins_box(log, p, end);

    if ((error || strong || boxed) && headers == 0 && !known && log->n_note == notes)
        ni_log_take_error(&l, error ? error->at : p,
                          !strong && (!error || (error->row->flags & WEAK) != 0));
    if (!l.by)
        return;
    take_words(&l, known);
    if (l.cut)
        log->cut_file = log->file;
}
