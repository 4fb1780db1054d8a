/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include <stdlib.h>
#include <string.h>

static void tint_on(struct ni_text *out, bool colour, enum ni_tint tint)
{
    static const char *const start[] = {
        [NI_PLAIN] = "",       [NI_GREEN] = "\033[32m", [NI_YELLOW] = "\033[33m",
        [NI_RED] = "\033[31m", [NI_DIM] = "\033[2m",
    };
    if (colour)
        ni_put(out, start[tint]);
}

static void tint_off(struct ni_text *out, bool colour, enum ni_tint tint)
{
    if (colour && tint != NI_PLAIN)
        ni_put(out, "\033[0m");
}

void ni_put_tinted(struct ni_text *out, bool colour, enum ni_tint tint, const char *s)
{
    tint_on(out, colour, tint);
    ni_quote(out, s);
    tint_off(out, colour, tint);
}

/* Without memory the text is cut. */
static void grow(struct ni_text *t)
{
    char *buf = realloc(t->buf, 2 * t->cap);
    if (!buf) {
        t->full = NULL;
        return;
    }
    t->buf = buf;
    t->cap *= 2;
}

void ni_table_on(struct ni_table *table, const char *head)
{
    static char none[1];
    enum { FIRST = 16384 };
    char *buf = malloc(FIRST);
    table->text = buf ? ni_text_on(buf, FIRST) : ni_text_on(none, sizeof(none));
    table->text.full = buf ? grow : NULL;
    if (head)
        ni_put(ni_row(table, NI_PLAIN), head);
}

struct ni_text *ni_row(struct ni_table *table, enum ni_tint tint)
{
    if (table->text.len > 0)
        ni_put(&table->text, "\n");
    ni_put_tint(&table->text, tint);
    return &table->text;
}

void ni_put_tint(struct ni_text *t, enum ni_tint tint)
{
    char c = (char)tint;
    ni_putn(t, &c, 1);
}

struct cell {
    enum ni_tint tint;
    struct ni_span text;
    bool last; /* of its row */
};

/* Reads the cell at p; returns what follows it. A cell without a tint has that of the one before. */
static const char *read_cell(const char *p, struct cell *cell)
{
    if (*p > 0 && *p <= NI_DIM)
        cell->tint = (enum ni_tint) * p++;
    size_t n = strcspn(p, "\t\n");
    cell->text = n > 0 ? (struct ni_span){p, n} : ni_span_of("-");
    cell->last = p[n] == '\n';
    return p + n + (p[n] != '\0');
}

void ni_table_write(struct ni_text *out, struct ni_table *table, bool colour)
{
    size_t width[NI_COLUMNS] = {0}, pad = 0;
    struct cell cell = {.tint = NI_PLAIN};
    enum ni_tint tint = NI_PLAIN; /* in force */
    unsigned column = 0;
    ni_put(&table->text, "\n");
    for (const char *p = table->text.buf; *p; column = cell.last ? 0 : column + 1) {
        p = read_cell(p, &cell);
        if (cell.text.n > width[column])
            width[column] = cell.text.n;
    }
    for (const char *p = table->text.buf; *p; column = cell.last ? 0 : column + 1) {
        p = read_cell(p, &cell);
        if (cell.tint != tint)
            tint_off(out, colour, tint);
        ni_putf(out, "%*s", (int)pad + 2, "");
        if (cell.tint != tint)
            tint_on(out, colour, cell.tint);
        ni_putn(out, cell.text.p, cell.text.n);
        pad = cell.last ? 0 : width[column] - cell.text.n;
        tint = cell.last ? NI_PLAIN : cell.tint;
        if (cell.last) {
            tint_off(out, colour, cell.tint);
            ni_put(out, "\n");
        }
    }
    out->cut = out->cut || table->text.cut;
    if (table->text.full)
        free(table->text.buf);
}
