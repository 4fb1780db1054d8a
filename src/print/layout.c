/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of any length, lines that are wrapped, tables. */
#include "print/layout.h"

#include <stdlib.h>
#include <string.h>

#include "nccl_init/text.h"

/* ---- a text that grows ---- */

/* The room of the first text, so that `env` sets up no heap for its output. */
static char initial[16384];
static char *unused = initial; /* NULL: it is in use */
static char nothing[1];        /* the text, if there is no memory */

static void grow_text(struct ni_text *t)
{
    char *buf = realloc(t->buf == initial ? NULL : t->buf, 2 * t->cap);

    if (!buf) {
        t->full = NULL;
        return;
    }
    if (t->buf == initial)
        memcpy(buf, initial, t->len + 1);
    t->buf = buf;
    t->cap *= 2;
}

struct ni_text ni_long_text(void)
{
    char *buf = unused ? unused : malloc(sizeof(initial));
    struct ni_text t =
        buf ? ni_text_on(buf, sizeof(initial)) : ni_text_on(nothing, sizeof(nothing));

    unused = NULL;
    t.full = buf ? grow_text : NULL;
    return t;
}

void ni_free_text(struct ni_text *t)
{
    if (t->buf != nothing && t->buf != initial)
        free(t->buf);
}

/* ---- wrapped lines ---- */

enum { COLUMNS = 100, INDENT = 6 };
static size_t columns_known; /* of a line; 0: nobody said */

void ni_set_columns(size_t columns)
{
    columns_known = columns;
}

size_t ni_columns(size_t usual)
{
    return columns_known > 0 ? columns_known : usual;
}

/* Puts the words of s, the first of them in column `at`, in lines that begin in column `indent`. */
static void wrap_words(struct ni_text *out, size_t columns, size_t at, size_t indent, const char *s)
{
    bool first = true;

    while (*s) {
        size_t word = strcspn(s, " "), blanks = strspn(s + word, " ");

        if (!first && at + 1 + word > columns) {
            ni_putf(out, "\n%*s", (int)indent, "");
            at = indent;
        } else if (!first) {
            ni_put(out, " ");
            at++;
        }
        ni_put_quoted(out, s, word, word);
        at += word;
        s += word + blanks;
        first = false;
    }
}

void ni_put_wrapped(struct ni_text *out, size_t columns, size_t at, const char *s)
{
    wrap_words(out, columns, at, INDENT, s);
    ni_put(out, "\n");
}

void ni_put_paragraph(struct ni_text *out, size_t indent, const char *s)
{
    wrap_words(out, ni_columns(COLUMNS), indent, indent, s);
    ni_put(out, "\n");
}

void ni_put_below(struct ni_text *out, const char *s)
{
    ni_putf(out, "%*s", INDENT, "");
    ni_put_wrapped(out, ni_columns(COLUMNS), INDENT, s);
}

void ni_put_item(struct ni_text *out, const char *title, const char *s)
{
    if (!*s)
        return;
    ni_putf(out, "  %s: ", title);
    ni_put_wrapped(out, ni_columns(COLUMNS), strlen(title) + 4, s);
}

/* ---- colour, tables ---- */

static const char *const colours[] = {
    [NI_PLAIN] = "",       [NI_GREEN] = "\033[32m", [NI_YELLOW] = "\033[33m",
    [NI_RED] = "\033[31m", [NI_DIM] = "\033[2m",
};

static void begin_tint(struct ni_text *out, bool colour, enum ni_tint tint)
{
    ni_put(out, colour ? colours[tint] : "");
}

static void end_tint(struct ni_text *out, bool colour, enum ni_tint tint)
{
    ni_put(out, colour && tint != NI_PLAIN ? "\033[0m" : "");
}

void ni_put_tinted(struct ni_text *out, bool colour, enum ni_tint tint, const char *s)
{
    begin_tint(out, colour, tint);
    ni_quote(out, s);
    end_tint(out, colour, tint);
}

void ni_put_mark(struct ni_text *out, bool colour, enum ni_tint tint, const char *s)
{
    begin_tint(out, colour, tint);
    ni_put(out, s);
    end_tint(out, colour, tint);
}

struct ni_text ni_table_on(const char *head)
{
    struct ni_text table = ni_long_text();

    ni_put(ni_row(&table, NI_PLAIN), head);
    return table;
}

/* A row is its tint and its cells, divided by '\t', which no quoted text holds. */
struct ni_text *ni_row(struct ni_text *table, enum ni_tint tint)
{
    char c = (char)tint;

    if (table->len > 0)
        ni_put(table, "\n");
    ni_putn(table, &c, 1);
    return table;
}

struct ni_text *ni_cell(struct ni_text *table)
{
    ni_put(table, "\t");
    return table;
}

/* Puts a cell that begins in column `at`. The last one of a row is wrapped below itself, where the
   width of a line is known and leaves room for that. */
static void put_cell(struct ni_text *out, struct ni_span cell, size_t at, bool last)
{
    enum { ROOM = 24 };
    const size_t columns = columns_known;
    char text[1024];

    if (!last || at + cell.n <= columns || at + ROOM > columns ||
        !ni_copyn(text, sizeof(text), cell.p, cell.n)) {
        ni_putn(out, cell.p, cell.n);
        return;
    }
    wrap_words(out, columns, at, at, text);
}

/* It goes through the rows twice, the first time to find the widths. */
void ni_table_write(struct ni_text *out, struct ni_text *table, bool colour)
{
    size_t width[NI_COLUMNS] = {0};

    ni_put(table, "\n");
    for (int writes = 0; writes <= 1; writes++) {
        for (const char *p = table->buf; *p; p++) {
            const enum ni_tint tint = (enum ni_tint) * p;
            size_t column = 0, pad = 0, at = 2;

            if (writes) {
                ni_put(out, "  ");
                begin_tint(out, colour, tint);
            }
            do {
                p++;
                const size_t n = strcspn(p, "\t\n");
                const struct ni_span cell = n > 0 ? (struct ni_span){p, n} : ni_span_of("-");

                if (writes) {
                    ni_putf(out, "%*s", (int)pad, "");
                    put_cell(out, cell, at, p[n] == '\n');
                } else if (cell.n > width[column]) {
                    width[column] = cell.n;
                }
                at += width[column] + 2;
                pad = width[column++] - cell.n + 2;
                p += n;
            } while (*p == '\t');
            if (writes) {
                end_tint(out, colour, tint);
                ni_put(out, "\n");
            }
        }
    }
    out->cut = out->cut || table->cut;
    ni_free_text(table);
}
