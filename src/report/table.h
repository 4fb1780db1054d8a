/* SPDX-License-Identifier: Apache-2.0 */
/* report, private: a table whose columns are as wide as their contents. Each row is made twice,
   once to measure and once to write, so that nothing of it need be kept. */
#ifndef NCCL_INIT_REPORT_TABLE_H
#define NCCL_INIT_REPORT_TABLE_H

#include "nccl_init/core.h"
#include "out.h"

enum { NI_COLUMNS = 12, NI_CELL = 256 };

enum ni_tint { NI_PLAIN, NI_GREEN, NI_YELLOW, NI_RED, NI_DIM };

struct ni_row {
    struct ni_text cell[NI_COLUMNS]; /* empty at first; an empty cell shows as "-" */
    enum ni_tint tint;
    char buf[NI_COLUMNS][NI_CELL];
};

struct ni_table {
    const char *const *head; /* n_column names, or NULL: no heading */
    unsigned n_column;       /* up to NI_COLUMNS */
    unsigned n_row;
    void (*row)(const void *ctx, unsigned i, struct ni_row *ret);
    const void *ctx;
    bool colour;
};

/* Indented by two, columns two blanks apart, no blank at a line's end. */
void ni_table_write(struct ni_text *out, const struct ni_table *table);

/* Begins and ends coloured text; nothing when colour is false or tint is NI_PLAIN. */
void ni_tint_on(struct ni_text *out, bool colour, enum ni_tint tint);
void ni_tint_off(struct ni_text *out, bool colour, enum ni_tint tint);

#endif
