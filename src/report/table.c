/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include <string.h>

void ni_tint_on(struct ni_out *o, bool colour, enum ni_tint tint)
{
    static const char *const start[] = {
        [NI_PLAIN] = "",       [NI_GREEN] = "\033[32m", [NI_YELLOW] = "\033[33m",
        [NI_RED] = "\033[31m", [NI_DIM] = "\033[2m",
    };
    if (colour)
        ni_out_put(o, start[tint]);
}

void ni_tint_off(struct ni_out *o, bool colour, enum ni_tint tint)
{
    if (colour && tint != NI_PLAIN)
        ni_out_put(o, "\033[0m");
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

static void pad(struct ni_out *o, size_t n)
{
    while (n-- > 0)
        ni_out_put(o, " ");
}

/* The last column is not filled up. */
static void write_cell(struct ni_out *o, const struct ni_table *table, unsigned c, const char *text,
                       const size_t *width)
{
    ni_out_put(o, text);
    if (c + 1 < table->n_column)
        pad(o, width[c] - strlen(text) + 2);
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

void ni_table_write(struct ni_out *o, const struct ni_table *table)
{
    struct ni_row row;
    size_t width[NI_COLUMNS] = {0};
    measure(table, &row, width);
    if (table->head) {
        ni_out_put(o, "  ");
        for (unsigned c = 0; c < table->n_column; c++)
            write_cell(o, table, c, table->head[c], width);
        ni_out_put(o, "\n");
    }
    for (unsigned i = 0; i < table->n_row; i++) {
        make(table, i, &row);
        ni_out_put(o, "  ");
        ni_tint_on(o, table->colour, row.tint);
        for (unsigned c = 0; c < table->n_column; c++)
            write_cell(o, table, c, row.buf[c], width);
        ni_tint_off(o, table->colour, row.tint);
        ni_out_put(o, "\n");
    }
}
