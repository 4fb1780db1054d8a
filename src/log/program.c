/* SPDX-License-Identifier: Apache-2.0 */
/* Lines beside NCCL's: exceptions of the program, its exit as the launcher saw it, and
   collectives that torch's watchdog reports as unfinished. The first of each kind is kept as a
   note. */
#include "log/program.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "log/line.h"
#include "log/meaning.h"
#include "log/patterns.h"
#include "log/set.h"
#include "log/state.h"
#include "nccl_init/base.h"
#include "nccl_init/number.h"
#include "nccl_init/text.h"

enum {
    STREAM = 80,      /* bytes of a launcher's prefix */
    QUOTE = 200,      /* bytes of a quoted line */
    TRACEBACK = 1000, /* lines; Python ends one of recursion after about 1,000 frames */
    RANK_MAX = 1 << 24
};

/* ---- in front of a line ---- */

/* Returns the length of torch's "[rank3]:", or 0. */
static size_t rank_mark(const char *p, const char *end, int *rank)
{
    const char *digit = p + 5;
    int number = 0;

    if (end - p < 8 || memcmp(p, "[rank", 5) != 0)
        return 0;
    while (digit < end && ni_is_digit(*digit) && number < RANK_MAX)
        number = 10 * number + (*digit++ - '0');
    if (digit == p + 5 || end - digit < 2 || digit[0] != ']' || digit[1] != ':')
        return 0;
    if (rank)
        *rank = number;
    return (size_t)(digit - p) + 2;
}

/* Returns the length of a time, or 0: "2026-11-23T15:31:58.123Z", "[2026-11-23", "15:31:58]",
   "+08:00". */
static size_t time_mark(const char *p, const char *end)
{
    const char *at = p;
    unsigned digits = 0, marks = 0;

    while (at < end && *at != ' ') {
        if (ni_is_digit(*at))
            digits++;
        else if (*at == ':' || *at == '-' || *at == '+')
            marks++;
        else if (!strchr("[].,TZ/", *at))
            return 0;
        at++;
    }
    return digits >= 4 && marks > 0 && at - p >= 6 ? (size_t)(at - p) : 0;
}

/* Returns the length of a part that differs between lines of one stream, or 0. `word`: a word
   begins here. */
static size_t changing_mark(const char *p, const char *end, bool word, int *rank)
{
    static const char *const streams[] = {"<stdout>", "<stderr>", "stdout F ", "stderr F "};
    size_t n = rank_mark(p, end, rank);

    if (n == 0 && word)
        n = time_mark(p, end);
    for (size_t i = 0; n == 0 && i < NI_COUNT(streams); i++) {
        const size_t len = strlen(streams[i]);

        if ((size_t)(end - p) >= len && memcmp(p, streams[i], len) == 0)
            n = len;
    }
    return n;
}

ni_log_text ni_log_stream(struct ni_log *log, const char *p, const char *at, int *rank)
{
    char text[STREAM];
    size_t n = 0;
    const char *from = p;

    while (p < at && n < sizeof(text)) {
        const size_t mark = changing_mark(p, at, p == from || p[-1] == ' ', rank);

        if (mark > 0) {
            p += mark;
            continue;
        }
        if (*p != ' ' && *p != '\0')
            text[n++] = *p;
        p++;
    }
    return ni_log_keep(log, (struct ni_span){text, n});
}

/* Returns the text after that stream's prefix; NULL if the line belongs to another stream. */
static const char *behind_stream(const struct ni_log_line *l, const struct ni_log_trace *trace)
{
    const char *key = ni_log_word(l->log, trace->stream);
    const char *p = l->p;
    int rank = -1;

    for (;;) {
        const char *word = p;
        size_t mark;

        while (word < l->end && *word == ' ')
            word++;
        mark = changing_mark(word, l->end, true, &rank);
        if (mark == 0 && word == p)
            mark = changing_mark(p, l->end, p == l->p, &rank);
        if (mark > 0) {
            p = word + mark;
        } else if (*key != '\0' && word < l->end && *word == *key) {
            p = word + 1;
            key++;
        } else {
            break;
        }
    }
    if (*key != '\0' || rank != trace->rank)
        return NULL;
    for (unsigned i = 0; i < trace->blanks && p < l->end && *p == ' '; i++)
        p++;
    return p;
}

/* ---- notes ---- */

static void note_fault(const struct ni_log_line *l)
{
    l->log->fault.file = l->log->file;
    l->log->fault.line = (uint32_t)l->log->line;
}

static int signed_number(struct ni_span s)
{
    const bool minus = s.n > 1 && *s.p == '-';
    const struct ni_span digits = {s.p + minus, s.n - minus};
    uint64_t v = 0;

    if (ni_parse_u64(digits, INT32_MAX, &v) < 0)
        return 0;
    return minus ? -(int)v : (int)v;
}

static struct ni_log_quote quote(const struct ni_log_line *l, struct ni_span text)
{
    text = ni_trim(text);
    text.n = text.n < QUOTE ? text.n : QUOTE;
    return (struct ni_log_quote){
        .file = l->log->file, .text = ni_log_keep(l->log, text), .line = (uint32_t)l->log->line};
}

/* Adds a note if it is the first of that kind, file, stream and rank since processes of NCCL began
   after a failure, and there is room; otherwise NULL. */
static struct ni_log_note *new_note(const struct ni_log_line *l, enum ni_log_said said,
                                    ni_log_text stream, int rank, int other)
{
    struct ni_log *log = l->log;
    struct ni_text key = NI_TEXT(64);
    struct ni_log_note *note;
    ni_log_text word;

    ni_putf(&key, "\x01%d %u %u %d %d %u", (int)said, log->file, stream, rank, other,
            log->generation);
    word = ni_log_keep(log, ni_span_of(key.buf));
    if (word == 0 || log->note_of[word] != 0)
        return NULL;
    if (log->n_note == NI_LOG_NOTES) {
        log->dropped++;
        return NULL;
    }
    note = &log->note[log->n_note++];
    log->note_of[word] = log->n_note;
    *note = (struct ni_log_note){.said = said, .rank = rank, .pid = -1, .stream = stream};
    return note;
}

static struct ni_log_note *note_exception(const struct ni_log_line *l, ni_log_text stream, int rank,
                                          struct ni_span text)
{
    static const char watchdog[] = "watchdog thread terminated with exception: CUDA error";
    const char *behind = memmem(text.p, text.n, watchdog, sizeof(watchdog) - 1);

    /* torch says it twice: in a line that names the rank, and in what() */
    if (behind)
        text = (struct ni_span){behind, (size_t)(text.p + text.n - behind)};
    const bool follows = ni_log_is_consequence(text);
    struct ni_log_note *note;

    if (text.n == 0 || memmem(text.p, text.n, "ChildFailedError", 16) ||
        memmem(text.p, text.n, "SignalException", 15)) /* torchrun's own */
        return NULL;
    note_fault(l);
    note = new_note(l, NI_SAID_EXCEPTION, stream, rank, follows);
    if (!note)
        return NULL;
    note->quote = quote(l, text);
    note->follows = follows;
    const struct ni_log_meaning meaning = ni_log_meaning(ni_log_word(l->log, note->quote.text));
    note->meaning = meaning.is_own ? NULL : meaning.cause;
    return note;
}

/* Notes an end by a status or a signal; pid -1: not known. */
static struct ni_log_note *note_end(const struct ni_log_line *l, const char *at, ni_log_text stream,
                                    int rank, int pid, int number)
{
    struct ni_log_note *note = new_note(l, NI_SAID_END, stream, rank, rank < 0 ? pid : -1);

    note_fault(l);
    if (!note)
        return NULL;
    note->pid = pid;
    note->number = number;
    note->quote = quote(l, (struct ni_span){at, (size_t)(l->end - at)});
    return note;
}

/* ---- tracebacks ---- */

/* Opens a traceback whose first line begins at `at`, in the place of the oldest one. One right
   after "Exception ignored in" is left out: it does not end the program. */
static void begin_traceback(const struct ni_log_line *l, const char *at)
{
    struct ni_log *log = l->log;
    struct ni_log_trace *trace = &log->trace[log->n_trace % NI_LOG_TRACES];
    const char *blank = at;

    if (log->ignored != 0 && log->records <= log->ignored + 1)
        return;
    log->n_trace++;
    if (trace->lines == 0) /* else it takes the place of one that counts as open */
        log->open++;
    while (blank > l->p && blank[-1] == ' ')
        blank--;
    *trace = (struct ni_log_trace){.rank = -1, .lines = TRACEBACK};
    trace->blanks = (unsigned)(at - blank);
    trace->stream = ni_log_stream(log, l->p, at, &trace->rank);
}

void ni_log_end_traceback(const struct ni_log_line *l)
{
    struct ni_log *log = l->log;

    for (unsigned i = 0; i < NI_LOG_TRACES && log->open > 0; i++) {
        struct ni_log_trace *trace = &log->trace[i];
        const char *p;

        if (trace->lines == 0)
            continue;
        trace->lines--;
        log->open -= trace->lines == 0;
        p = behind_stream(l, trace);
        if (!p || p == l->end || *p == ' ' || *p == '\t')
            continue;
        log->open -= trace->lines > 0;
        trace->lines = 0;
        const struct ni_span text = {p, (size_t)(l->end - p)};
        struct ni_log_note *note = note_exception(l, trace->stream, trace->rank, text);

        if (note)
            note->is_fault = l->own > 0;
        return;
    }
}

/* ---- collectives ---- */

/* Keeps the name of a collective: "ALLREDUCE,". */
static ni_log_text name_of(struct ni_log *log, struct ni_span s)
{
    while (s.n > 0 && s.p[s.n - 1] == ',')
        s.n--;
    return ni_log_keep(log, s);
}

/* Returns the process group, "0(default_pg)" of "[PG ID 0 PG GUID 0(default_pg) Rank 1]", "1" of "[PG 1
   Rank 3]", as torch 2.3 and 2.4 have it; empty: the line has none. */
static struct ni_span group_of(struct ni_span line)
{
    static const char *const marks[] = {"PG GUID ", "[PG "};

    for (size_t i = 0; i < NI_COUNT(marks); i++) {
        const char *at = memmem(line.p, line.n, marks[i], strlen(marks[i]));
        struct ni_span group = {at ? at + strlen(marks[i]) : line.p, 0};

        while (at && group.p + group.n < line.p + line.n && group.p[group.n] != ' ')
            group.n++;
        if (group.n > 0)
            return group;
    }
    return (struct ni_span){line.p, 0};
}

/* Notes that a rank waits in a collective, as PyTorch's watchdog says: which one, since when,
   and of how many elements if the line has their numbers. */
static void note_wait(const struct ni_log_line *l, const struct ni_found *f)
{
    const bool elements = (enum ni_log_program)f->row->flags == NI_PROGRAM_WAIT;
    const struct ni_span *c = f->capture;
    const struct ni_span line = {l->p, (size_t)(l->end - l->p)};
    const bool timeout = memmem(line.p, line.n, "caught collective operation", 27) ||
                         memmem(line.p, line.n, "timed out in blocking wait", 26);
    struct ni_log_note *note;
    int rank = -1;
    const ni_log_text stream =
        ni_log_stream(l->log, l->p, l->p + (line.n < 64 ? line.n : 64), &rank);

    const enum ni_log_said said = timeout ? NI_SAID_WAIT : NI_SAID_BROKEN;

    note = new_note(l, said, rank < 0 ? stream : 0, rank, 0);
    if (!note)
        return;
    note->number = signed_number(c[0]);
    note->collective = name_of(l->log, c[1]);
    note->group = ni_log_keep(l->log, group_of((struct ni_span){l->p, (size_t)(f->at - l->p)}));
    note->quote = quote(l, (struct ni_span){f->at, (size_t)(l->end - f->at)});
    note->waited = signed_number(c[elements ? 4 : 2]);
    note->in = UINT64_MAX;
    note->out = UINT64_MAX;
    if (elements) {
        (void)ni_parse_u64(c[2], UINT64_MAX - 1, &note->in);
        (void)ni_parse_u64(c[3], UINT64_MAX - 1, &note->out);
    }
}

/* Notes the last collective that the rank called in the group, from a line that names the rank. */
static void note_called(const struct ni_log_line *l, const struct ni_found *f, struct ni_span group,
                        struct ni_span called)
{
    int rank = -1;
    struct ni_log_note *note;

    (void)ni_log_stream(l->log, l->p, f->at, &rank);
    if (rank < 0)
        return;
    note = new_note(l, NI_SAID_DONE, 0, rank, 0);
    if (!note)
        return;
    note->number = signed_number(called);
    note->quote = quote(l, (struct ni_span){f->at, (size_t)(l->end - f->at)});
    note->group = ni_log_keep(l->log, group);
}

/* ---- launchers ---- */

/* Returns the status, or minus the signal, of "Killed", "Segmentation fault (core dumped)", "Exited
   with exit code 1"; 0: it is no end. */
static int ending_of(struct ni_span s)
{
    static const struct {
        const char *text;
        int number;
    } words[] = {
        {"Killed", -9},
        {"Segmentation fault", -11},
        {"Aborted", -6},
        {"Bus error", -7},
        {"Terminated", -15},
        {"Illegal instruction", -4},
        {"Floating point exception", -8},
    };
    static const char exited[] = "Exited with exit code ";
    const size_t n = sizeof(exited) - 1;

    for (size_t i = 0; i < NI_COUNT(words); i++)
        if (s.n >= strlen(words[i].text) && memcmp(s.p, words[i].text, strlen(words[i].text)) == 0)
            return words[i].number;
    if (s.n <= n || memcmp(s.p, exited, n) != 0)
        return 0;
    return signed_number(ni_trim((struct ni_span){s.p + n, s.n - n}));
}

static void take_exitcode(const struct ni_log_line *l, const struct ni_found *f)
{
    const struct ni_span *c = f->capture;
    struct ni_log *log = l->log;
    struct ni_log_note *note;

    if (log->launcher.file != log->file || log->launcher.rank < 0)
        return;
    note = note_end(l, f->at, 0, log->launcher.rank, signed_number(c[1]), signed_number(c[0]));
    if (note)
        note->first = log->launcher.first;
    log->launcher.rank = -1;
    log->launcher.first = false;
}

static void take_term(const struct ni_log_line *l, const struct ni_found *f)
{
    const ni_log_text stream = ni_log_stream(l->log, l->p, f->at, NULL);
    struct ni_log_note *note = new_note(l, NI_SAID_TERM, stream, -1, 0);

    if (!note)
        return;
    note->number = -signed_number(f->capture[1]);
    note->quote = quote(l, (struct ni_span){f->at, (size_t)(l->end - f->at)});
}

/* Returns true if the last note is of an end that this line tells. */
static bool has_told_end(const struct ni_log_line *l)
{
    const struct ni_log *log = l->log;
    const struct ni_log_note *last = log->n_note > 0 ? &log->note[log->n_note - 1] : NULL;

    return last && last->said == NI_SAID_END && last->quote.file == log->file &&
           last->quote.line == (uint32_t)log->line;
}

/* Notes a signal that the words of the row stand for. */
static void note_signal(const struct ni_log_line *l, const struct ni_found *f)
{
    static const int numbers[] = {
        [NI_PROGRAM_SIGNAL_4] = 4, [NI_PROGRAM_SIGNAL_7] = 7,   [NI_PROGRAM_SIGNAL_8] = 8,
        [NI_PROGRAM_SIGNAL_9] = 9, [NI_PROGRAM_SIGNAL_11] = 11,
    };
    const int number = numbers[f->row->flags];
    int rank = -1;

    if (has_told_end(l))
        return;
    const ni_log_text stream = ni_log_stream(l->log, l->p, f->at, &rank);

    (void)note_end(l, f->at, stream, rank, -1, -number);
}

/* Returns the pid of "[host:pid" in front of `at`; -1: none stands there. */
static int pid_before(const struct ni_log_line *l, const char *at)
{
    const char *open = memrchr(l->p, '[', (size_t)(at - l->p));
    const char *colon = open ? memchr(open, ':', (size_t)(at - open)) : NULL;
    struct ni_span digits = {colon ? colon + 1 : at, 0};

    while (digits.p + digits.n < at && ni_is_digit(digits.p[digits.n]))
        digits.n++;
    return digits.n > 0 ? signed_number(digits) : -1;
}

/* Returns the host of "[host:pid" in front of `at`; 0: none stands there. */
static ni_log_text host_before(const struct ni_log_line *l, const char *at)
{
    const char *open = memrchr(l->p, '[', (size_t)(at - l->p));
    const char *colon = open ? memchr(open, ':', (size_t)(at - open)) : NULL;

    return colon ? ni_log_keep(l->log, (struct ni_span){open + 1, (size_t)(colon - open) - 1}) : 0;
}

/* Returns the rank of mpirun's "[1,50]<stderr>:" (--tag-output), job and rank, at the start of the
   line; -1: it has none. */
static int tagged_rank(const struct ni_log_line *l)
{
    const struct ni_span line = {l->p, (size_t)(l->end - l->p)};
    const struct ni_span tag =
        line.n > 0 && *line.p == '[' ? ni_log_between(line, "[", ']') : (struct ni_span){l->p, 0};
    const char *comma = memchr(tag.p, ',', tag.n);

    if (!comma || tag.p + tag.n + 1 >= l->end ||
        ni_log_number((struct ni_span){tag.p, (size_t)(comma - tag.p)}) < 0 ||
        tag.p[tag.n + 1] != '<')
        return -1;
    return ni_log_number((struct ni_span){comma + 1, (size_t)(tag.p + tag.n - comma) - 1});
}

/* Notes a crash that the process's own handler reports. Other signals may be caught and survived. */
static void note_caught(const struct ni_log_line *l, const struct ni_found *f)
{
    static const int crashes[] = {4, 6, 7, 8, 11};
    const int number = signed_number(f->capture[0]);
    int rank = -1;
    const ni_log_text stream = ni_log_stream(l->log, l->p, f->at, &rank);

    for (size_t i = 0; i < NI_COUNT(crashes); i++) {
        if (crashes[i] != number)
            continue;
        struct ni_log_note *note = note_end(l, f->at, stream, rank < 0 ? tagged_rank(l) : rank,
                                            pid_before(l, f->at), -number);
        if (note)
            note->host = host_before(l, f->at);
    }
}

/* A number in a line: where it ends, and what it is. */
struct number {
    const char *end; /* NULL: none stands there as a word */
    bool point, zero;
};

/* Skips the exponent at p, "e-05". */
static const char *behind_exponent(const char *p, const char *end)
{
    const char *digit = p + 1;

    if (p == end || (*p != 'e' && *p != 'E'))
        return p;
    if (digit < end && (*digit == '-' || *digit == '+'))
        digit++;
    if (digit == end || !ni_is_digit(*digit))
        return p;
    while (digit < end && ni_is_digit(*digit))
        digit++;
    return digit;
}

/* Reads the number that begins at p: "0", "-0.031", "1.2e-05", "0.5%"; an address, a version and a
   time are none. */
static struct number number_at(const char *p, const char *end)
{
    struct number n = {.zero = true};

    if (p < end && *p == '-')
        p++;
    if (p == end || !ni_is_digit(*p))
        return n;
    for (; p < end && ni_is_digit(*p); p++)
        n.zero &= *p == '0';
    if (end - p > 1 && *p == '.' && ni_is_digit(p[1])) {
        n.point = true;
        for (p++; p < end && ni_is_digit(*p); p++)
            n.zero &= *p == '0';
    }
    p = behind_exponent(p, end);
    if (p < end && *p == '%')
        p++;
    if (p < end && *p == '.' && (p + 1 == end || p[1] == ' ')) /* a full stop */
        p++;
    if (p == end || strchr(" \t,;)]}|", *p))
        n.end = p;
    return n;
}

/* Returns true if p is a word for nothing, and its sentence ends there: "none", but not "None of
   the GPUs". */
static bool is_nothing(const char *p, const char *end)
{
    static const char *const words[] = {"none", "null", "nil", "nothing"};

    for (size_t i = 0; i < NI_COUNT(words); i++) {
        const size_t n = strlen(words[i]);

        if ((size_t)(end - p) >= n && strncasecmp(p, words[i], n) == 0 &&
            (p + n == end || strchr(".,;)]}|", p[n])))
            return true;
    }
    return false;
}

/* Returns true if the words after `at` belong to a value, or to a message that is no error's:
   "error: 0.031", "Error: 0 of 100 skipped", "ERROR: none", "ERROR rate per step". */
static bool is_value(const char *at, const char *end)
{
    const char *p = at;
    bool colon = false;

    if (end - at > 10 && memcmp(at, "ERROR rate", 10) == 0)
        return true;
    while (p < end && *p != ' ' && *p != ':')
        p++;
    for (; p < end && (*p == ' ' || *p == ':'); p++)
        colon |= *p == ':';
    const struct number number = number_at(p, end);

    if (!number.end)
        return colon && is_nothing(p, end);
    /* without a colon it may be a time that stands before the message */
    if (!colon && number.end < end)
        return false;
    return number.point || number.zero;
}

/* Returns true if the line says of itself that it is not an error, or that it is tried again. */
static bool is_mild(struct ni_span line)
{
    static const char *const words[] = {"INFO",  "DEBUG", "WARN",    "arning", "etry",    "etried",
                                        "Ignor", "ignor", "frame #", "again",  "on-fatal"};

    for (size_t i = 0; i < NI_COUNT(words); i++)
        if (memmem(line.p, line.n, words[i], strlen(words[i])))
            return true;
    return false;
}

/* Returns true if the line is of level ERROR of TensorFlow and XLA: "2024-10-09 15:47:38.5: E
   external/xla/a.cc:38] ". */
static bool is_xla_error(const char *p, const char *end)
{
    const size_t n = end - p > 40 ? 40 : (size_t)(end - p);
    const char *level = memmem(p, n, ": E ", 4);
    const char *blank = level ? memchr(level + 4, ' ', (size_t)(end - level - 4)) : NULL;

    return n > 0 && ni_is_digit(*p) && blank && blank[-1] == ']';
}

bool ni_log_is_glog_error(const char *p, const char *end)
{
    static const char form[] = "0000 00:00:00";
    const size_t n = sizeof(form) - 1;

    if (is_xla_error(p, end))
        return true;
    if (end - p <= (ptrdiff_t)n || (*p != 'E' && *p != 'F'))
        return false;
    for (size_t i = 0; i < n; i++)
        if (form[i] == '0' ? !ni_is_digit(p[i + 1]) : p[i + 1] != form[i])
            return false;
    return true;
}

void ni_log_take_error(const struct ni_log_line *l, const char *at, bool weak)
{
    struct ni_log *log = l->log;
    struct ni_span line = {l->p, (size_t)(l->end - l->p)};
    struct ni_log_note *note;
    int rank = -1;

    /* the lines of a traceback, and those below a heading, begin with blanks */
    if (log->open > 0 || line.n == 0 || *line.p == ' ' || *line.p == '\t' || is_value(at, l->end) ||
        is_mild(line) || ni_log_is_consequence(line))
        return;
    (void)ni_log_stream(log, l->p, line.n < 64 ? l->end : l->p + 64, &rank);
    note = new_note(l, NI_SAID_ERROR, 0, rank, weak);
    if (!note)
        return;
    note->weak = weak;
    note->stage = log->reached.file == log->file ? log->reached.stage : NI_STAGE_ANY;
    note->quote = quote(l, line);
}

static void note_thrown(const struct ni_log_line *l, const struct ni_found *f)
{
    int rank = -1;
    const ni_log_text stream = ni_log_stream(l->log, l->p, f->at, &rank);

    (void)note_exception(l, stream, rank, (struct ni_span){f->at, (size_t)(l->end - f->at)});
}

/* Notes that a rank sends or receives, from a line that names the rank. */
static void note_p2p(const struct ni_log_line *l, const struct ni_found *f)
{
    int rank = -1;
    struct ni_log_note *note;

    (void)ni_log_stream(l->log, l->p, f->at, &rank);
    note = rank < 0 ? NULL : new_note(l, NI_SAID_P2P, 0, rank, 0);
    if (note)
        note->quote = quote(l, (struct ni_span){f->at, (size_t)(l->end - f->at)});
}

static void note_task(const struct ni_log_line *l, const struct ni_found *f)
{
    const int number = ending_of(f->capture[1]);

    if (number != 0)
        (void)note_end(l, f->at, 0, signed_number(f->capture[0]), -1, number);
}

/* Notes that a process of so many has announced itself, or that all have come. */
static void take_member(struct ni_log *log, const struct ni_found *f)
{
    if ((enum ni_log_program)f->row->flags == NI_PROGRAM_MET) {
        log->members = 0;
        return;
    }
    const int rank = signed_number(f->capture[0]), members = signed_number(f->capture[2]);

    if (members > 0 && members <= NI_LOG_RANKS && rank < members)
        log->members = members;
    ni_log_set_add(&log->member, rank);
}

/* Notes the end of a process, as its launcher tells it, or its own handler. */
static void take_ended(const struct ni_log_line *l, const struct ni_found *f)
{
    const struct ni_span *c = f->capture;

    if ((enum ni_log_program)f->row->flags == NI_PROGRAM_CAUGHT)
        note_caught(l, f);
    else if ((enum ni_log_program)f->row->flags == NI_PROGRAM_EXITED)
        (void)note_end(l, f->at, 0, signed_number(c[0]), -1, -signed_number(c[3]));
    else if ((enum ni_log_program)f->row->flags == NI_PROGRAM_DIED)
        (void)note_end(l, f->at, 0, -1, signed_number(c[1]), signed_number(c[2]));
    else
        (void)note_end(l, f->at, 0, -1, signed_number(c[2]), signed_number(c[0]));
}

/* Notes the last collective that a rank called, from a line of torch's watchdog. */
static void take_called(const struct ni_log_line *l, const struct ni_found *f)
{
    const struct ni_span *c = f->capture;

    if ((enum ni_log_program)f->row->flags == NI_PROGRAM_GROUP)
        note_called(l, f, c[0], c[3]);
    else
        note_called(l, f, group_of((struct ni_span){l->p, (size_t)(f->at - l->p)}), c[0]);
}

void ni_log_take_program(const struct ni_log_line *l, const struct ni_found *f)
{
    struct ni_log *log = l->log;

    switch ((enum ni_log_program)f->row->flags) {
    case NI_PROGRAM_TRACEBACK:
        begin_traceback(l, f->at);
        break;
    case NI_PROGRAM_IGNORED:
        log->ignored = log->records;
        break;
    case NI_PROGRAM_THROWN:
        note_thrown(l, f);
        break;
    case NI_PROGRAM_WAIT:
    case NI_PROGRAM_SHORT:
        note_wait(l, f);
        break;
    case NI_PROGRAM_GROUP:
    case NI_PROGRAM_CALLED:
        take_called(l, f);
        break;
    case NI_PROGRAM_P2P:
        note_p2p(l, f);
        break;
    case NI_PROGRAM_FIRST:
        log->launcher.first = true;
        break;
    case NI_PROGRAM_RANK:
        log->launcher.file = log->file;
        log->launcher.rank = signed_number(f->capture[0]);
        break;
    case NI_PROGRAM_EXITCODE:
        take_exitcode(l, f);
        break;
    case NI_PROGRAM_MEMBER:
    case NI_PROGRAM_MET:
        take_member(log, f);
        break;
    case NI_PROGRAM_CAUGHT:
    case NI_PROGRAM_FAILED:
    case NI_PROGRAM_DIED:
    case NI_PROGRAM_EXITED:
        take_ended(l, f);
        break;
    case NI_PROGRAM_TERM:
        take_term(l, f);
        break;
    case NI_PROGRAM_TASK:
        note_task(l, f);
        break;
    case NI_PROGRAM_SIGNAL_4:
    case NI_PROGRAM_SIGNAL_7:
    case NI_PROGRAM_SIGNAL_8:
    case NI_PROGRAM_SIGNAL_9:
    case NI_PROGRAM_SIGNAL_11:
        note_signal(l, f);
        break;
    }
}
