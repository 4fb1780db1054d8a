/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include <string.h>

void ni_tint_on(struct ni_text *out, bool colour, enum ni_tint tint)
{
    static const char *const start[] = {
        [NI_PLAIN] = "",       [NI_GREEN] = "\033[32m", [NI_YELLOW] = "\033[33m",
        [NI_RED] = "\033[31m", [NI_DIM] = "\033[2m",
    };
    if (colour)
        ni_put(out, start[tint]);
}

void ni_tint_off(struct ni_text *out, bool colour, enum ni_tint tint)
{
    if (colour && tint != NI_PLAIN)
        ni_put(out, "\033[0m");
}

static void make(const struct ni_table *table, unsigned i, struct ni_row *row)
{
    for (unsigned c = 0; c < table->n_column; c++)
        row->cell[c] = ni_text_on(row->buf[c], NI_CELL);
    row->tint = NI_PLAIN;
    table->row(table->ctx, i, row);
    for (unsigned c = 0; c < table->n_column; c++) {
        if (row->cell[c].len == 0)
            ni_put(&row->cell[c], "-");
    }
}

static void pad(struct ni_text *out, size_t n)
{
    while (n-- > 0)
        ni_put(out, " ");
}

/* The last column is not filled up. */
static void write_cell(struct ni_text *out, const struct ni_table *table, unsigned c,
                       const char *text, const size_t *width)
{
    ni_put(out, text);
    if (c + 1 < table->n_column)
        pad(out, width[c] - strlen(text) + 2);
}

static void measure(const struct ni_table *table, struct ni_row *row, size_t *width)
{
    for (unsigned c = 0; c < table->n_column; c++)
        width[c] = table->head ? strlen(table->head[c]) : 0;
    for (unsigned i = 0; i < table->n_row; i++) {
        make(table, i, row);
        for (unsigned c = 0; c < table->n_column; c++) {
            if (row->cell[c].len > width[c])
                width[c] = row->cell[c].len;
        }
    }
}

void ni_table_write(struct ni_text *out, const struct ni_table *table)
{
    struct ni_row row;
    size_t width[NI_COLUMNS] = {0};
    measure(table, &row, width);
    if (table->head) {
        ni_put(out, "  ");
        for (unsigned c = 0; c < table->n_column; c++)
            write_cell(out, table, c, table->head[c], width);
        ni_put(out, "\n");
    }
    for (unsigned i = 0; i < table->n_row; i++) {
        make(table, i, &row);
        ni_put(out, "  ");
        ni_tint_on(out, table->colour, row.tint);
        for (unsigned c = 0; c < table->n_column; c++)
            write_cell(out, table, c, row.buf[c], width);
        ni_tint_off(out, table->colour, row.tint);
        ni_put(out, "\n");
    }
}
