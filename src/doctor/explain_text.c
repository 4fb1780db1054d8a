/* SPDX-License-Identifier: Apache-2.0 */
/* What explain knows of a text. An entry is sure if the text has the id of a finding, the heading of
   docs/guides/troubleshooting.md, a line that `log` knows, or begins with a variable's name. Other
   texts are compared word by word with all pages. */
#include "doctor/explain_text.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "doctor/doctor.h"
#include "findings/pages.h"
#include "log/patterns.h"
#include "nccl_init/base.h"
#include "nccl_init/guess.h"
#include "print/layout.h"
#include "rules/left_unset.h"
#include "rules/libraries.h"
#include "rules/user.h"

/* ---- pages ---- */

/* Puts a line of a page: code as it is, an item of a list with its lines below each other. */
static void put_page_line(struct ni_text *out, struct ni_span line)
{
    char buf[4096];
    struct ni_text text = ni_text_on(buf, sizeof(buf));
    const unsigned number =
        line.n > 2 && line.p[0] >= '1' && line.p[0] <= '9' && line.p[1] == '.' ? 3 : 0;
    const unsigned bullet = ni_has_prefix(line.p, "- ") ? 2 : number;

    if (line.n == 0 || line.p[0] == ' ') {
        ni_putn(out, line.p, line.n);
        ni_put(out, "\n");
        return;
    }
    ni_putn(&text, line.p + bullet, line.n - bullet);
    ni_putn(out, line.p, bullet);
    ni_put_paragraph(out, bullet, buf);
}

static void put_page(struct ni_text *out, const struct ni_page *page)
{
    const char *rest = page->text;
    struct ni_span line;

    while (ni_split(&rest, '\n', &line)) {
        if (rest) /* behind the last newline there is nothing */
            put_page_line(out, line);
    }
}

static const struct ni_page *page_of(const struct ni_pages *pages, const char *id)
{
    for (unsigned i = 0; i < pages->n; i++) {
        if (strcmp(pages->at[i].id, id) == 0)
            return &pages->at[i];
    }
    return NULL;
}

static void put_head(struct ni_text *out, ni_finding_number finding)
{
    ni_putf(out, "%s (%s)\n\n", ni_finding_id(finding),
            ni_severity_text(ni_finding_severity(finding)));
}

void ni_put_finding_page(struct ni_text *out, ni_finding_number finding)
{
    const struct ni_page *page = page_of(&ni_finding_pages, ni_finding_id(finding));

    put_head(out, finding);
    if (page)
        put_page(out, page);
}

void ni_put_rule_page(struct ni_text *out, const char *rule)
{
    const struct ni_page *page = page_of(&ni_rule_pages, rule);

    if (page)
        put_page(out, page);
    ni_putf(out,
            "\n`nccl-init plan --all` shows what it decided here. docs/reference/rules.md, `%s`\n",
            rule);
}

/* Returns the length of the first sentence, or of its part before a colon, outside of parentheses. */
static size_t clause_of(const char *text)
{
    const size_t n = strcspn(text, "\n;");
    unsigned depth = 0;

    for (size_t i = 0; i + 1 < n; i++) {
        const bool ends = (text[i] == '.' || text[i] == ':') && text[i + 1] == ' ';

        depth += text[i] == '(';
        depth -= text[i] == ')' && depth > 0;
        if (ends && depth == 0)
            return i;
    }
    return n > 0 && text[n - 1] == '.' ? n - 1 : n;
}

void ni_put_title(struct ni_text *out, ni_finding_number finding, size_t room)
{
    static const char first[] = " this. ", dots[] = " ...";
    const struct ni_page *page = page_of(&ni_finding_pages, ni_finding_id(finding));
    const char *text = page ? page->text : "", *cause = ni_log_cause[finding];
    const char *reports = strstr(text, first); /* "Only `plan` and `doctor` report this." */
    size_t n;

    if (finding >= NI_FINDINGS_LOG && cause)
        text = cause;
    else if (reports && ni_has_prefix(text, "Only ") && reports < strchr(text, '.'))
        text = reports + strlen(first);
    n = clause_of(text);
    if (n <= room) {
        ni_putn(out, text, n);
        return;
    }
    n = room - strlen(dots);
    while (n > 0 && text[n] != ' ')
        n--;
    ni_putn(out, text, n);
    ni_put(out, dots);
}

/* ---- words ---- */

enum { MIN_LETTERS = 3 };

static bool is_in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Finds the next word in *p, and moves *p behind it. false: there is none. */
static bool next_word(const char **p, const char *end, struct ni_span *ret)
{
    while (*p < end && !is_in_word(**p))
        (*p)++;
    *ret = (struct ni_span){*p, 0};
    while (*p < end && is_in_word(**p))
        (*p)++;
    ret->n = (size_t)(*p - ret->p);
    return ret->n > 0;
}

/* Returns true for a word that may tell one entry from another: no number, no short one. */
static bool tells(struct ni_span word)
{
    bool letters = false;

    for (size_t i = 0; i < word.n; i++)
        letters |= isalpha((unsigned char)word.p[i]) != 0;
    return letters && word.n >= MIN_LETTERS && word.n <= NI_EDITS_NAME;
}

/* ---- lines that `log` knows ---- */

/* How sure a line's pattern is: the first line of the surest kind counts. */
enum rank { RANK_NONE, RANK_GENERAL, RANK_FOLLOWS, RANK_CAUSE };

struct hit {
    enum rank rank;
    const struct ni_pattern *row;
    struct ni_span line;
};

static bool has(struct ni_span text, const char *words)
{
    return memmem(text.p, text.n, words, strlen(words)) != NULL;
}

static enum rank rank_of(const struct ni_pattern *row, struct ni_span line)
{
    const bool only_tried = (row->flags & WARN) != 0 && has(line, "NCCL INFO");

    if (row->take != NI_TAKE_FAULT || only_tried)
        return RANK_NONE;
    if ((row->flags & GENERAL) != 0)
        return RANK_GENERAL;
    return (row->flags & FOLLOWS) != 0 ? RANK_FOLLOWS : RANK_CAUSE;
}

/* Looks for faults in one line. */
static void find_in_line(struct ni_span line, struct hit *ret)
{
    struct ni_found found[16];
    const unsigned n = ni_patterns_find(line.p, line.p + line.n, found, NI_COUNT(found));

    for (unsigned i = 0; i < n; i++) {
        const struct ni_pattern *row = ni_log_narrow(found[i].row, line, found[i].at);
        const enum rank rank = rank_of(row, line);

        if (rank > ret->rank)
            *ret = (struct hit){rank, row, line};
    }
    if (ret->rank == RANK_NONE && has(line, "CUDA error") && ni_log_cuda(line))
        *ret = (struct hit){RANK_CAUSE, ni_log_cuda(line), line};
}

static struct hit find_fault(struct ni_span text)
{
    const char *end = text.p + text.n;
    struct hit hit = {.rank = RANK_NONE};

    for (const char *p = text.p; p < end;) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        const struct ni_span line = {p, (size_t)((stop ? stop : end) - p)};

        find_in_line(line, &hit);
        p += line.n + 1;
    }
    return hit;
}

/* Returns true if each word of the heading stands in the line, but for numbers. */
static bool has_words(struct ni_span line, const char *heading)
{
    const char *p = heading, *end = heading + strlen(heading);
    struct ni_span word;

    while (next_word(&p, end, &word)) {
        if (tells(word) && !memmem(line.p, line.n, word.p, word.n))
            return false;
    }
    return true;
}

/* Returns the section whose heading is such a line. If several are, the line has all words of one,
   and NULL if it has not. */
static const struct ni_page *section_of(const struct hit *hit)
{
    const struct ni_page *alike = NULL, *same = NULL;
    unsigned n_alike = 0, n_same = 0;

    for (unsigned i = 0; i < ni_text_pages.n; i++) {
        const struct ni_page *page = &ni_text_pages.at[i];
        struct hit of = {.rank = RANK_NONE};

        find_in_line(ni_span_of(page->id), &of);
        if (of.row != hit->row)
            continue;
        alike = page;
        n_alike++;
        if (has_words(hit->line, page->id)) {
            same = page;
            n_same++;
        }
    }
    if (n_alike == 1)
        return alike;
    return n_same == 1 ? same : NULL;
}

/* Puts what is to be known of such a line that no page says. */
static void put_notes(struct ni_text *out, unsigned flags)
{
    if ((flags & FOLLOWS) != 0)
        ni_put_paragraph(out, 0,
                         "It usually follows from a fault of another process: `nccl-init log "
                         "FILE...` with the logs of all ranks finds that.");
    if ((flags & NI_PATTERN_DEPENDS) != 0)
        ni_put_paragraph(out, 0,
                         "Alone it may be harmless: `nccl-init log FILE` judges it with the other "
                         "lines.");
    if ((flags & NI_PATTERN_INDEX) != 0)
        ni_put_paragraph(
            out, 0,
            "If you set NCCL_IB_GID_INDEX, that is the likely cause: `nccl-init explain "
            "user.gid-index.wrong`.");
}

static void put_section(struct ni_text *out, const struct ni_page *page)
{
    ni_putf(out, "`%s`\n\n", page->id);
    put_page(out, page);
    ni_put(out, "\ndocs/guides/troubleshooting.md\n");
}

static void put_fault(struct ni_text *out, const struct hit *hit)
{
    const char *cause = hit->row->cause ? hit->row->cause : ni_log_cause[hit->row->id];
    const struct ni_page *section = section_of(hit);
    struct ni_text means = NI_TEXT(512);

    put_head(out, hit->row->id);
    if (cause) {
        ni_putf(&means, "In a log: %s.", cause);
        ni_put_paragraph(out, 0, means.buf);
    }
    put_notes(out, hit->row->flags);
    ni_put(out, "\n");
    if (section) {
        put_section(out, section);
        ni_putf(out, "More: nccl-init explain %s\n", ni_finding_id(hit->row->id));
        return;
    }
    const struct ni_page *page = page_of(&ni_finding_pages, ni_finding_id(hit->row->id));

    if (page)
        put_page(out, page);
}

/* ---- headings, ids, variables ---- */

/* Returns the section whose heading is the text, or stands in it. */
static const struct ni_page *section_in(struct ni_span text)
{
    enum { LONG = 16 }; /* a shorter heading may stand in other texts */

    for (unsigned i = 0; i < ni_text_pages.n; i++) {
        const char *heading = ni_text_pages.at[i].id;

        if (ni_span_is(text, heading) || (strlen(heading) >= LONG && has(text, heading)))
            return &ni_text_pages.at[i];
    }
    return NULL;
}

static bool is_in_id(char c)
{
    return isalnum((unsigned char)c) || c == '.' || c == '-';
}

/* Returns the finding whose id is a word of the text. */
static ni_finding_number finding_in(struct ni_span text)
{
    const char *end = text.p + text.n;

    for (const char *p = text.p; p < end;) {
        struct ni_span word = {p, 0};

        while (p + word.n < end && is_in_id(p[word.n]))
            word.n++;
        const ni_finding_number finding = word.n > 0 ? ni_finding_named(word) : NI_F_NONE;
        const bool is_call = p + word.n < end && p[word.n] == '('; /* log.error("...") of Python */

        if (finding != NI_F_NONE && !is_call)
            return finding;
        p += word.n + 1;
    }
    return NI_F_NONE;
}

static bool is_in_name(char c)
{
    return isupper((unsigned char)c) || isdigit((unsigned char)c) || c == '_';
}

/* Returns the name of a variable that begins at p. */
static struct ni_span name_at(const char *p, const char *end)
{
    struct ni_span name = {p, 0};

    while (p + name.n < end && is_in_name(p[name.n]))
        name.n++;
    return name;
}

/* Returns the variable of which the text tells: it begins with the name, or NCCL says who set it. n
   is 0: it tells of none. */
static struct ni_span variable_in(struct ni_span text)
{
    static const char export[] = "export ", set[] = " set by environment to ";
    const char *end = text.p + text.n, *at = memmem(text.p, text.n, set, strlen(set));
    const char *p = text.p;
    struct ni_span name;

    if (at) {
        for (p = at; p > text.p && is_in_name(p[-1]);)
            p--;
    } else if (text.n > strlen(export) && memcmp(p, export, strlen(export)) == 0) {
        p += strlen(export);
    }
    name = name_at(p, end);
    p += name.n;
    if (p < end && p != at && *p != '=' && *p != ' ')
        name.n = 0;
    return name;
}

static bool is_of_library(struct ni_span name)
{
    struct ni_text all = NI_TEXT(1024);
    const char *rest = all.buf;
    struct ni_span word;

    ni_put_library_variables(&all);
    while (ni_split(&rest, ',', &word)) {
        if (ni_is_same_span(ni_trim(word), name))
            return true;
    }
    return false;
}

/* Puts what is known of a variable. false: there is none of this name. */
static bool put_variable(struct ni_text *out, struct ni_span name)
{
    const char *by_itself = NULL, *rule = ni_rule_of_variable(name, &by_itself);
    struct ni_text line = NI_TEXT(512);

    if (!rule && is_of_library(name))
        rule = "for.libraries";
    if (!rule && !ni_is_nccl_name(name))
        return false;
    ni_putf(out, "%.*s (variable)\n\n", (int)name.n, name.p);
    if (!rule) {
        ni_put_paragraph(out, 0,
                         "NCCL or RCCL reads it. No rule of nccl-init sets it; your value stays, "
                         "and `nccl-init plan` says if it is no value that NCCL takes. "
                         "docs/reference/rules.md, `user.values`");
        return true;
    }
    if (by_itself) {
        ni_putf(&line, "Unset: NCCL %s.", by_itself);
        ni_put_paragraph(out, 0, line.buf);
    }
    ni_put_paragraph(out, 0, "Your own value stays.");
    ni_putf(out, "\nThe rule `%s` decides it:\n\n", rule);
    ni_put_rule_page(out, rule);
    return true;
}

/* ---- texts of which nothing is sure ---- */

enum {
    MAX_WORDS = 32, /* of a text: the first ones count; bits of a mask */
    MAX_ENTRIES = 512,
    LISTED = 3
};

/* A page, and which words of the text it has; in the head that tells what it is about they count
   thrice. */
struct entry {
    ni_finding_number finding; /* NI_F_NONE: it is the section */
    const struct ni_page *page;
    uint32_t in_head, in_body;
};

struct words {
    struct ni_span at[MAX_WORDS];
    unsigned n, weight[MAX_WORDS];
    unsigned n_entry;
    struct entry entry[MAX_ENTRIES];
};

static int index_of(const struct words *words, struct ni_span word)
{
    for (unsigned i = 0; i < words->n; i++) {
        if (words->at[i].n == word.n && strncasecmp(words->at[i].p, word.p, word.n) == 0)
            return (int)i;
    }
    return -1;
}

static void take_words(struct words *words, struct ni_span text)
{
    const char *p = text.p, *end = text.p + text.n;
    struct ni_span word;

    while (words->n < MAX_WORDS && next_word(&p, end, &word)) {
        if (tells(word) && index_of(words, word) < 0)
            words->at[words->n++] = word;
    }
}

/* Returns the words of the text that stand in this one, a bit each. */
static uint32_t mask_of(const struct words *words, const char *text)
{
    const char *p = text, *end = text + strlen(text);
    struct ni_span word;
    uint32_t mask = 0;

    while (next_word(&p, end, &word)) {
        const int i = index_of(words, word);

        if (i >= 0)
            mask |= UINT32_C(1) << i;
    }
    return mask;
}

static void add_entry(struct words *words, ni_finding_number finding, const struct ni_page *page)
{
    struct entry *entry = &words->entry[words->n_entry];

    if (words->n_entry == MAX_ENTRIES)
        return;
    *entry = (struct entry){.finding = finding,
                            .page = page,
                            .in_head = mask_of(words, page->id),
                            .in_body = mask_of(words, page->text)};
    words->n_entry++;
}

/* Weighs each word by the entries that have it: two for half as many more. */
static void weigh(struct words *words)
{
    for (unsigned i = 0; i < words->n; i++) {
        unsigned n = 0;

        for (unsigned k = 0; k < words->n_entry; k++)
            n += (words->entry[k].in_head | words->entry[k].in_body) >> i & 1;
        for (unsigned many = words->n_entry; n > 0 && many / 2 >= n; many /= 2)
            words->weight[i]++;
    }
}

static void look_up(struct words *words)
{
    for (unsigned i = 0; i < ni_finding_pages.n; i++) {
        const struct ni_page *page = &ni_finding_pages.at[i];

        add_entry(words, ni_finding_named(ni_span_of(page->id)), page);
    }
    for (unsigned i = 0; i < ni_text_pages.n; i++)
        add_entry(words, NI_F_NONE, &ni_text_pages.at[i]);
    for (unsigned i = 0; i < ni_patterns_count; i++) {
        const struct ni_pattern *row = &ni_patterns[i];

        for (unsigned k = 0; row->take == NI_TAKE_FAULT && k < ni_finding_pages.n; k++) {
            if (words->entry[k].finding == row->id)
                words->entry[k].in_head |= mask_of(words, row->text);
        }
    }
    weigh(words);
}

/* Returns how well the entry fits; 0: too few of the text's words are its. */
static unsigned score_of(const struct words *words, const struct entry *entry)
{
    unsigned score = 0, known = 0, all = 0, n = 0;

    for (unsigned i = 0; i < words->n; i++) {
        const bool head = entry->in_head >> i & 1, body = entry->in_body >> i & 1;
        const unsigned weight = words->weight[i];

        all += weight > 0 ? weight : 2;
        if (!head && !body)
            continue;
        n += weight > 1;
        known += weight;
        score += head ? 3 * weight : weight;
    }
    if (n < 2 && n < words->n)
        return 0;
    return 3 * known >= all ? score : 0;
}

static void put_perhaps(struct ni_text *out, const struct entry *entry)
{
    if (entry->finding == NI_F_NONE) {
        ni_putf(out, "perhaps `%s`\n", entry->page->id);
        return;
    }
    ni_putf(out, "perhaps %s: ", ni_finding_id(entry->finding));
    ni_put_title(out, entry->finding, 80);
    ni_put(out, "\n");
}

/* Puts the best entries by words, best first. false: none is near. */
static bool put_near_words(struct ni_text *out, struct ni_span text)
{
    struct words words = {.n = 0};
    unsigned last = 0, n = 0;

    take_words(&words, text);
    look_up(&words);
    while (n < LISTED) {
        struct entry *best = NULL;
        unsigned most = 0;

        for (unsigned i = 0; i < words.n_entry; i++) {
            const unsigned score = score_of(&words, &words.entry[i]);

            if (score > most) {
                most = score;
                best = &words.entry[i];
            }
        }
        if (!best || 2 * most < last)
            break;
        put_perhaps(out, best);
        best->in_head = 0;
        best->in_body = 0;
        last = n == 0 ? most : last;
        n++;
    }
    return n > 0;
}

/* Puts the id or the variable that is misspelt. false: none is near. */
static bool put_near_name(struct ni_text *out, struct ni_span text)
{
    struct ni_guess id = ni_guess_of(text);
    struct ni_span name;

    ni_guess_finding(&id);
    if (id.best.n > 0) {
        ni_putf(out, "perhaps %.*s: ", (int)id.best.n, id.best.p);
        ni_put_title(out, ni_finding_named(id.best), 80);
        ni_put(out, "\n");
        return true;
    }
    if (name_at(text.p, text.p + text.n).n < text.n)
        return false;
    name = ni_near_name(text);
    if (name.n > 0)
        ni_putf(out, "perhaps NCCL_%.*s: a variable of NCCL\n", (int)name.n, name.p);
    return name.n > 0;
}

/* Returns true for lines of NCCL's that it also prints when all is well. */
static bool is_no_fault(struct ni_span text)
{
    return has(text, "NCCL INFO") && !has(text, "NCCL WARN");
}

bool ni_explain_text(struct ni_text *out, struct ni_span text, struct ni_topic *ret)
{
    text = ni_trim(text);

    const ni_finding_number finding = finding_in(text);
    const struct hit hit = find_fault(text);
    const struct ni_page *section = section_in(text);
    const struct ni_span variable = variable_in(text);

    *ret = (struct ni_topic){.finding = NI_F_NONE};
    if (finding != NI_F_NONE) {
        ret->finding = finding;
        ni_put_finding_page(out, finding);
        return true;
    }
    if (hit.rank > RANK_GENERAL) {
        ret->finding = hit.row->id;
        put_fault(out, &hit);
        return true;
    }
    if (section) {
        put_section(out, section);
        return true;
    }
    if (put_variable(out, variable)) {
        ret->variable = variable;
        return true;
    }
    if (hit.rank != RANK_NONE) {
        ret->finding = hit.row->id;
        put_fault(out, &hit);
        return true;
    }
    if (!put_near_name(out, text) && (is_no_fault(text) || !put_near_words(out, text)))
        return false;
    ni_put(out,
           "\nRead one: nccl-init explain ID, or 'TEXT' in quotes. With the whole log: nccl-init "
           "log FILE\n");
    return true;
}
