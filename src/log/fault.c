/* SPDX-License-Identifier: Apache-2.0 */
/* Faults: lines that say what went wrong. */
#include "log/fault.h"

#include <string.h>

#include "findings/log.h"
#include "findings/setting.h"
#include "log/line.h"
#include "log/patterns.h"
#include "log/state.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/nccl_list.h"
#include "nccl_init/number.h"
#include "nccl_init/text.h"

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
        const struct ni_span word = ni_log_after(line, marks[i].text);
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
    const bool again = ni_log_has(message, "retrying") ||
                       ni_log_has(message, "[c10d] The client socket has failed");
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
    const ni_log_text value = ni_log_keep(l->log, ni_log_between(line, "when parsing \"", '"'));
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

/* Returns what the fault is about: a variable, a host, an HCA; 0: the line names none. */
static ni_log_text subject_of(const struct ni_log_line *l, const struct ni_pattern *row,
                              struct ni_span first)
{
    if (row->id == NI_F_USER_VALUE_IGNORED)
        return find_refused(l);
    if ((row->flags & NAMED) == 0)
        return ni_log_keep(l->log, find_hca(l));
    while (first.n > 0 && strchr(":,;.'\")", first.p[first.n - 1]))
        first.n--;
    return ni_log_keep(l->log, first);
}

void ni_log_take_fault(const struct ni_log_line *l, const struct ni_pattern *row, const char *at,
                       struct ni_span first)
{
    const struct ni_span message = ni_log_message(l);
    const struct ni_span quote = quoted(l, at);
    struct ni_log *log = l->log;
    /* torch's warning: "[rank1]:[W1121 22:30:02.399123456 TCPStore.cpp:125]", "[W socket.cpp:663]"
       */
    const bool warns = ni_log_has(message, "[W") && ni_log_has(message, ".cpp:");
    const unsigned flags = warns ? row->flags : row->flags & ~(unsigned)LATE;

    if (is_harmless(l, row, message))
        return;
    const struct ni_pattern *narrow =
        ni_log_narrow(row, (struct ni_span){l->p, (size_t)(l->end - l->p)}, at);
    const unsigned its = narrow == row ? flags : narrow->flags;
    struct ni_log_hit *h = keep_hit(log, narrow, its, subject_of(l, row, first), quote);
    if (row->id == NI_F_LOG_TIMEOUT && log->timeout.file == 0)
        log->timeout = ni_log_mark_of(l);
    if (!h || h->last == log->records)
        return;
    h->last = log->records;
    h->count++;
    /* a WARN whose header was lost names no process */
    const bool nobodys = !l->by || l->by->host == 0;

    if (nobodys) {
        h->nobodys_file = log->file;
        h->nobodys_line = (uint32_t)log->line;
    }
    if (l->by) {
        l->by->said |= h->bit;
        l->by->tcp |= row->id == NI_F_LOG_SOCKETS;
    }
}
