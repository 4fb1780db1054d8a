/* SPDX-License-Identifier: Apache-2.0 */
/* What a line tells, taken to the process that said so. */
#include <string.h>

#include "machine.h"
#include "patterns.h"

/* One line while it is read. */
struct line {
    struct ni_log *log;
    const char *p, *end;
    const char *message;       /* behind NCCL's own header, else p */
    struct ni_log_process *by; /* NULL: nobody's */
    int dev;
    bool info; /* of level INFO */
    bool
        whole; /* one record only: with two in a line, neither's end nor the other's host is sure */
};

static int number_of(struct ni_span s)
{
    uint64_t v = 0;
    return ni_parse_u64(s, INT32_MAX, &v) < 0 ? -1 : (int)v;
}

static uint64_t hex_of(struct ni_span s)
{
    const size_t skip = s.n > 2 && s.p[1] == 'x' ? 2 : 0;
    uint64_t v = 0;
    (void)ni_parse_hex((struct ni_span){s.p + skip, s.n - skip}, UINT64_MAX,
                       &v); /* else 0: not told */
    return v;
}

static bool has(struct ni_span s, const char *what)
{
    return memmem(s.p, s.n, what, strlen(what)) != NULL;
}

/* The word behind `mark`; empty: there is none. */
static struct ni_span behind(struct ni_span s, const char *mark)
{
    const char *at = memmem(s.p, s.n, mark, strlen(mark)), *end = s.p + s.n;
    struct ni_span word = {at ? at + strlen(mark) : end, 0};
    while (word.p + word.n < end && !strchr(" ,';<", word.p[word.n]))
        word.n++;
    return word;
}

/* ---- who ---- */

static struct ni_log_process *process_of(struct ni_log *log, ni_kept host, uint32_t pid)
{
    enum { MASK = NI_COUNT(((struct ni_log *)0)->at) - 1 };
    uint32_t i = (host * 2654435761U ^ pid * 40503U) & MASK;
    for (; log->at[i] != 0; i = (i + 1) & MASK) {
        struct ni_log_process *p = &log->process[log->at[i] - 1];
        if (p->host == host && p->pid == pid)
            return p;
    }
    if (log->n_process == NI_LOG_PROCESSES) {
        log->dropped++;
        return NULL;
    }
    log->process[log->n_process] =
        (struct ni_log_process){.host = host, .pid = pid, .gid_index = -1, .first = -1};
    log->at[i] = (uint16_t)(log->n_process + 1);
    return &log->process[log->n_process++];
}

/* host:pid:tid behind whatever a launcher put in front without a blank. The host is what gethostname
   says up to its first dot (misc/utils.cc getHostName). */
static bool is_origin(struct ni_span s, struct ni_span *host, uint32_t *pid)
{
    size_t colon[2], n = s.n;
    uint64_t v;
    for (int i = 0; i < 2; i++) {
        const size_t stop = n;
        while (n > 0 && ni_is_digit(s.p[n - 1]))
            n--;
        if (n == stop || n == 0 || s.p[n - 1] != ':')
            return false;
        colon[i] = --n;
    }
    if (ni_parse_u64((struct ni_span){s.p + n + 1, colon[0] - n - 1}, UINT32_MAX, &v) < 0)
        return false;
    while (n > 0 && ni_is_name((struct ni_span){s.p + n - 1, 1}, 3))
        n--;
    *pid = (uint32_t)v;
    *host = (struct ni_span){s.p + n, colon[1] - n};
    return host->n > 0 && (n == 0 || strchr("]>:)}|", s.p[n - 1]));
}

/* The words before NCCL's level, from the last: file:line, (function), [dev], host:pid:tid; a time
   and a launcher's prefix are not read. */
static void take_header(struct line *l, const char *at)
{
    struct ni_span host = {at, 0};
    uint32_t pid = 0;
    const char *end = at, *from;
    l->log->nccl_lines++;
    l->info = at[5] == 'I';
    l->message = at + 5 + strcspn(at + 5, " ");
    for (int i = 0; i < 8 && end > l->p; i++, end = from) {
        while (end > l->p && end[-1] == ' ')
            end--;
        for (from = end; from > l->p && from[-1] != ' ';)
            from--;
        if (end - from > 2 && *from == '[' && end[-1] == ']' && l->dev < 0)
            l->dev = number_of((struct ni_span){from + 1, (size_t)(end - from) - 2});
        if (is_origin((struct ni_span){from, (size_t)(end - from)}, &host, &pid))
            break;
    }
    if (l->whole)
        l->by = process_of(l->log, ni_log_keep(l->log, host), pid);
}

/* The GPU that printed the line: by the rank, else by its number, else the first. What CUDA says of
   the thread is 0 for some threads of any GPU. make: a GPU that is not there yet is one more. */
static struct ni_log_rank *rank_of(struct line *l, int dev, int rank, bool make)
{
    struct ni_log *log = l->log;
    int best = l->by->first, same = -1;
    for (int i = best; i >= 0; i = log->rank[i].next) {
        if (log->rank[i].dev == dev)
            same = i;
        if (rank >= 0 && log->rank[i].rank == rank)
            best = i;
    }
    if (same >= 0 && (make || best < 0 || log->rank[best].rank != rank))
        best = same;
    if (!make || same >= 0)
        return best < 0 ? NULL : &log->rank[best];
    if (log->n_rank == NI_LOG_PROCESSES) {
        log->dropped++;
        return NULL;
    }
    log->rank[log->n_rank] = (struct ni_log_rank){
        .process = (int)(l->by - log->process), .next = l->by->first, .dev = dev, .rank = rank};
    l->by->first = (int)log->n_rank;
    return &log->rank[log->n_rank++];
}

/* ---- what ---- */

static void take_version(struct line *l, struct ni_span s)
{
    size_t n = 0;
    while (n < s.n &&
           (ni_is_digit(s.p[n]) || (s.p[n] == '.' && n + 1 < s.n && ni_is_digit(s.p[n + 1]))))
        n++;
    if (n >= 3)
        *(l->by ? &l->by->version : &l->log->version) =
            ni_log_keep(l->log, (struct ni_span){s.p, n});
}

/* The name stands before `at`. Integers end with a dot (misc/param.cc). */
static void take_value(struct line *l, const char *at, struct ni_span value)
{
    char buf[512];
    struct ni_text t = ni_text_on(buf, sizeof(buf));
    const char *name = at;
    unsigned i = 0;
    while (name > l->p &&
           (name[-1] == '_' || (name[-1] >= 'A' && name[-1] <= 'Z') || ni_is_digit(name[-1])))
        name--;
    value = ni_trim(value);
    if (value.n > 1 && value.p[value.n - 1] == '.' && ni_is_digit(value.p[value.n - 2]) &&
        !memchr(value.p, '.', value.n - 1))
        value.n--;
    if (at - name < 6 || memcmp(name + 1, "CCL_", 4) != 0) /* NCCL_, RCCL_ */
        return;
    ni_putn(&t, name, (size_t)(at - name));
    ni_put(&t, "=");
    ni_putn(&t, value.p, value.n);
    while (i < l->by->n_var &&
           strncmp(ni_log_word(l->log, l->by->var[i]), buf, (size_t)(at - name) + 1) != 0)
        i++;
    if (i < NI_LOG_VARS) {
        l->by->var[i] = ni_log_keep(l->log, ni_span_of(buf));
        if (i == l->by->n_var)
            l->by->n_var++;
    } else {
        l->log->dropped++;
    }
}

/* "[0]mlx5_6:1/RoCE [1]={[0] a:1/IB, [1] b:1/IB} [RO]; OOB ..." becomes
   "mlx5_6:1/RoCE,a:1/IB+b:1/IB". The place in the list is the number that channels name, whatever
   stands in the brackets; an item that was cut has no '/'. */
static void take_hcas(struct line *l, struct ni_span s)
{
    char buf[1024];
    struct ni_text t = ni_text_on(buf, sizeof(buf));
    const char *end = memchr(s.p, ';', s.n);
    bool member = false;
    struct ni_span word;
    end = end ? end : s.p + s.n;
    for (const char *p = s.p; p < end; p = word.p + word.n + (word.p + word.n < end)) {
        word = (struct ni_span){p, 0};
        while (p + word.n < end && !strchr(" ,}", p[word.n]))
            word.n++;
        while (word.n > 0 && strchr("[]={0123456789", *word.p)) /* the numbers in front */
            word = (struct ni_span){word.p + 1, word.n - 1};
        if (memchr(word.p, '/', word.n)) {
            ni_put(&t, t.len == 0 ? "" : member ? "+" : ",");
            ni_putn(&t, word.p, word.n);
            member = word.p[word.n] == ',';
        }
    }
    if (t.len > 0)
        l->by->hcas = ni_log_keep(l->log, ni_span_of(buf));
}

/* A smaller communicator of the same GPU is a part of the job. */
static void take_comm(struct line *l, const struct ni_span *c)
{
    const int rank = number_of(c[1]), size = number_of(c[2]);
    const uint64_t job = hex_of(behind(c[4], "commId "));
    struct ni_log_rank *r = rank_of(l, number_of(c[3]), rank, true);
    if (!r || size < r->size)
        return;
    if (size > r->size) {
        r->rank = rank;
        r->size = size;
        r->bus = hex_of(behind(c[4], "busId "));
        r->job = job;
        r->started = r->met = r->complete = r->ended = false;
    }
    if (job != 0 && r->job != 0 && job != r->job)
        return;
    r->started |= has(c[4], "Init ");
    r->complete |= has(c[4], "Init COMPLETE");
    r->ended |= has(c[4], "Destroy COMPLETE");
}

/* "IB/0/GDRDMA/Shared", "IB/3(7)/GDRDMA(PCI)", "AWS Libfabric/0/GDRDMA", "IB/0 comm 0x1 nRanks 02":
   network and HCA, the rank that sends for this one, what was said besides. */
static void take_channel(struct line *l, const struct ni_span *c)
{
    const int rank = number_of(c[c[5].n == 6 ? 1 : 3]); /* [send] or [receive] */
    const int first = l->by->first;
    /* Without the lines of the communicator each GPU that speaks is a rank. */
    struct ni_log_rank *r = rank_of(l, l->dev, rank, first < 0 || l->log->rank[first].size == 0);
    const char *slash = memchr(c[6].p, '/', c[6].n);
    struct ni_span net = {c[6].p, slash ? (size_t)(slash - c[6].p) : 0}, hca = {slash, 0};
    int n;
    if (!r || !slash)
        return;
    hca.p++;
    if (has(net, "ocket")) { /* Socket, FastSocket */
        r->sockets++;
        return;
    }
    while (hca.p + hca.n < l->end && ni_is_digit(hca.p[hca.n]))
        hca.n++;
    n = number_of(hca);
    r->net++;
    r->gdr += has(c[6], "/GDRDMA");
    if (n >= 0 && n < NI_LOG_HCAS && r->on_hca[n] < UINT16_MAX)
        r->on_hca[n]++;
}

/* The halves of the address are printed as little-endian numbers, their zeros in front left out. */
static void take_gid(struct line *l, const struct ni_span *c)
{
    const int index = number_of(c[2]);
    const uint64_t half[2] = {hex_of(c[3]), hex_of(c[4])};
    uint8_t ip[NI_GID_BYTES];
    char text[NI_IP_TEXT];
    for (unsigned i = 0; i < NI_GID_BYTES; i++)
        ip[i] = (uint8_t)(half[i / 8] >> (8 * (i % 8)));
    if (l->by->gid_index < 0 && index >= 0 && index <= INT16_MAX) {
        l->by->gid_index = (int16_t)index;
        l->by->gid = ni_log_keep(l->log, ni_span_of(ni_ip_text(ip, text)));
    }
}

static void take_fact(struct line *l, enum ni_log_take take, const char *at,
                      const struct ni_span *c)
{
    struct ni_log_rank *r;
    if (!l->whole || (!l->by && take > NI_TAKE_RCCL))
        return;
    switch (take) {
    case NI_TAKE_FAULT:
    case NI_TAKE_HEADER:
        return;
    case NI_TAKE_RCCL:
        l->log->rccl = true;
        __attribute__((fallthrough));
    case NI_TAKE_VERSION:
        take_version(l, c[0]);
        return;
    case NI_TAKE_VALUE:
        take_value(l, at, c[0]);
        return;
    case NI_TAKE_HCA_VALUE:
        take_value(l, at + strlen("NCCL_IB_HCA"), c[0]);
        return;
    case NI_TAKE_BOOT:
        if (l->by->boot == 0)
            l->by->boot = ni_log_keep(l->log, behind(c[0], c[0].p[0] == '[' ? "]" : ""));
        return;
    case NI_TAKE_HCAS:
        take_hcas(l, c[0]);
        return;
    case NI_TAKE_NETWORK:
        l->by->network = ni_log_keep(l->log, ni_trim(c[0]));
        return;
    case NI_TAKE_COMM:
        take_comm(l, c);
        return;
    case NI_TAKE_NODES:
        r = rank_of(l, l->dev, number_of(c[1]), false);
        if (r && number_of(c[2]) == r->size)
            r->nodes = number_of(c[3]);
        return;
    case NI_TAKE_MET:
    case NI_TAKE_CONNECTED:
        r = rank_of(l, l->dev, -1, false);
        if (r)
            *(take == NI_TAKE_MET ? &r->met : &r->connected) = true;
        return;
    case NI_TAKE_CHANNEL:
        take_channel(l, c);
        return;
    case NI_TAKE_GID:
        take_gid(l, c);
        return;
    }
}

/* ---- what went wrong ---- */

/* "mlx5_6:1" of a line about an HCA. */
static struct ni_span subject_of(const struct line *l)
{
    static const char *const marks[] = {" on dev ", " hca ", "open device ", "for HCA ",
                                        "NET/IB : "};
    for (size_t i = 0; i < NI_COUNT(marks); i++) {
        struct ni_span s = behind((struct ni_span){l->p, (size_t)(l->end - l->p)}, marks[i]);
        const char *colon = memchr(s.p, ':', s.n);
        struct ni_span name = {s.p, colon ? (size_t)(colon - s.p) : s.n};
        if (ni_is_name(name, NI_DEV_NAME) && !ni_is_digit(*s.p) && (colon || i < 3))
            return s;
    }
    return (struct ni_span){l->p, 0};
}

static struct ni_log_hit *hit_of(struct ni_log *log, unsigned row, ni_kept subject)
{
    struct ni_log_hit *h = log->hit;
    for (; h < log->hit + log->n_hit; h++)
        if (ni_patterns[h->row].id == ni_patterns[row].id && h->subject == subject)
            return h;
    if (log->n_hit == NI_LOG_HITS) {
        log->dropped++;
        return NULL;
    }
    log->n_hit++;
    *h = (struct ni_log_hit){.row = row, .subject = subject, .file = log->file, .line = log->line};
    return h;
}

static void take_fault(struct line *l, unsigned row)
{
    const unsigned flags = ni_patterns[row].flags;
    const struct ni_span message = {l->message, (size_t)(l->end - l->message)};
    const int by = l->by ? (int)(l->by - l->log->process) : -1;
    struct ni_log_hit *h;
    unsigned i = 0;
    if (((flags & NI_ROW_LAST) != 0 &&
         (has(message, "retrying") || has(message, "[c10d] The client socket has failed"))) ||
        ((flags & NI_ROW_WARN) != 0 && l->info))
        return;
    h = hit_of(l->log, row, ni_log_keep(l->log, subject_of(l)));
    if (!h || h->last == l->log->lines)
        return;
    h->last = l->log->lines;
    if ((flags & NI_ROW_WHY) != 0 && l->by)
        l->by->why = (uint16_t)(h - l->log->hit + 1);
    if (h->count++ == 0) {
        struct ni_text t = ni_text_on(h->quote, sizeof(h->quote));
        struct ni_span quote = ni_trim(message);
        ni_put_quoted(&t, quote.p, quote.n, 160);
    }
    while (i < h->n_by && h->by[i] != by)
        i++;
    if (i == h->n_by && i < NI_COUNT(h->by))
        h->by[h->n_by++] = by;
}

/* ---- a line ---- */

static bool same_key(unsigned a, unsigned b)
{
    const char *s = ni_patterns[a].text, *t = ni_patterns[b].text;
    const size_t n = strcspn(s, "%");
    return a == b || (n == strcspn(t, "%") && memcmp(s, t, n) == 0);
}

/* The first row of that key whose pattern fits; ni_patterns_count: none. */
static unsigned fitting_row(const struct ni_found *found, const char *end,
                            struct ni_span capture[NI_CAPTURES])
{
    for (unsigned row = found->row; row < ni_patterns_count && same_key(found->row, row); row++)
        if (ni_pattern_fits(ni_patterns[row].text, found->at, end, capture))
            return row;
    return ni_patterns_count;
}

void ni_log_line(struct ni_log *log, const char *p, const char *end)
{
    struct line l = {.log = log, .p = p, .end = end, .message = p, .dev = -1};
    struct ni_found found[24];
    unsigned n = ni_machine_find(log->machine, p, end, found, NI_COUNT(found)), headers = 0;
    log->lines++;
    for (unsigned i = 0; i < n; i++)
        headers += ni_patterns[found[i].row].take == NI_TAKE_HEADER;
    l.whole = headers < 2;
    for (unsigned i = 0; i < n; i++) {
        struct ni_span c[NI_CAPTURES] = {{p, 0}};
        const unsigned row = fitting_row(&found[i], end, c);
        if (row == ni_patterns_count)
            continue;
        if (ni_patterns[row].take == NI_TAKE_HEADER)
            take_header(&l, found[i].at);
        else if (ni_patterns[row].take == NI_TAKE_FAULT)
            take_fault(&l, row);
        else
            take_fact(&l, ni_patterns[row].take, found[i].at, c);
    }
}
