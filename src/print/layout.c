/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of any length, lines that are wrapped, tables. */
#include "print/layout.h"

#include <stdint.h>
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

void ni_put_line(struct ni_text *out, const char *s)
{
    wrap_words(out, ni_columns(SIZE_MAX), 0, INDENT, s);
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

/* The columns of a table: how many, and the widest cell of each. */
struct shape {
    unsigned n;
    size_t width[NI_COLUMNS];
};

enum {
    MARGIN = 2, /* blanks before a row, and between two cells */
    ROOM = 24   /* letters in which the last cell of a row can be wrapped */
};

/* Cuts the next cell off a row. *p then stands at the '\t' or '\n' behind it, or at the end of a
   table that is cut for lack of memory. */
static struct ni_span next_cell(const char **p)
{
    const size_t n = strcspn(*p, "\t\n");
    const struct ni_span cell = n > 0 ? (struct ni_span){*p, n} : ni_span_of("-");

    *p += n;
    return cell;
}

/* Moves from the end of a row to the next row, or stays at the end of the table. */
static const char *next_row(const char *end)
{
    return *end == '\n' ? end + 1 : end;
}

static struct shape measure_table(const struct ni_text *table)
{
    struct shape shape = {.n = 0};

    for (const char *p = table->buf; *p; p = next_row(p)) {
        unsigned column = 0;

        do {
            p++; /* the tint, or the '\t' */
            const size_t n = next_cell(&p).n;

            if (n > shape.width[column])
                shape.width[column] = n;
            column++;
        } while (*p == '\t');
        if (column > shape.n)
            shape.n = column;
    }
    return shape;
}

/* Returns the end of the columns that fit into a line beside each other, from `first` on: at least
   one. Column 0, which says what a row is about, stands in front of them. */
static unsigned fitting_columns(const struct shape *shape, unsigned first)
{
    size_t at = MARGIN + (first > 0 ? shape->width[0] + MARGIN : 0);
    unsigned end = first;

    while (end < shape->n) {
        const bool last = end == shape->n - 1;
        const size_t width = last && shape->width[end] > ROOM ? ROOM : shape->width[end];

        if (columns_known > 0 && end > first && at + width > columns_known)
            break;
        at += shape->width[end] + MARGIN;
        end++;
    }
    return end;
}

/* Puts a cell that begins in column `at`. The last one of a row is wrapped below itself, where the
   width of a line is known and leaves room for that. */
static void put_cell(struct ni_text *out, struct ni_span cell, size_t at, bool last)
{
    const size_t columns = columns_known;
    char text[1024];

    if (!last || at + cell.n <= columns || at + ROOM > columns ||
        !ni_copyn(text, sizeof(text), cell.p, cell.n)) {
        ni_putn(out, cell.p, cell.n);
        return;
    }
    wrap_words(out, columns, at, at, text);
}

/* Puts column 0 and the columns from `first` up to `end` of the row at p. Returns the row's end. */
static const char *put_row(struct ni_text *out, const struct shape *shape, const char *p,
                           unsigned first, unsigned end)
{
    size_t at = MARGIN, pad = 0;
    unsigned column = 0;

    do {
        p++; /* the tint, or the '\t' */
        const struct ni_span cell = next_cell(&p);

        if (column == 0 || (column >= first && column < end)) {
            ni_putf(out, "%*s", (int)pad, "");
            put_cell(out, cell, at, *p == '\n');
            at += shape->width[column] + MARGIN;
            pad = shape->width[column] - cell.n + MARGIN;
        }
        column++;
    } while (*p == '\t');
    return p;
}

/* A table that is wider than a line is written in parts below each other. */
void ni_table_write(struct ni_text *out, struct ni_text *table, bool colour)
{
    unsigned first = 0;

    ni_put(table, "\n");
    const struct shape shape = measure_table(table);
    while (first < shape.n) {
        const unsigned end = fitting_columns(&shape, first);

        ni_put(out, first > 0 ? "\n" : "");
        for (const char *p = table->buf; *p; p = next_row(p)) {
            const enum ni_tint tint = (enum ni_tint) * p;

            ni_putf(out, "%*s", MARGIN, "");
            begin_tint(out, colour, tint);
            p = put_row(out, &shape, p, first, end);
            end_tint(out, colour, tint);
            ni_put(out, "\n");
        }
        first = end;
    }
    out->cut = out->cut || table->cut;
    ni_free_text(table);
}
