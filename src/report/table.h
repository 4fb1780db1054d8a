/* SPDX-License-Identifier: Apache-2.0 */
/* report, private: coloured text, and tables whose columns are as wide as their contents. */
#ifndef NCCL_INIT_REPORT_TABLE_H
#define NCCL_INIT_REPORT_TABLE_H

#include "nccl_init/core.h"

enum ni_tint { NI_PLAIN = 1, NI_GREEN, NI_YELLOW, NI_RED, NI_DIM };

/* The text in that colour; untrusted, as ni_quote. */
void ni_put_tinted(struct ni_text *out, bool colour, enum ni_tint tint, const char *s);

/* The rows, kept in memory until all widths are known. Cells are divided by '\t', which no quoted
   text holds; an empty one shows as "-". */
struct ni_table {
    struct ni_text text;
};

enum { NI_COLUMNS = 12 };

/* head: "DEVICE\tADDRESS"; NULL: no heading. */
void ni_table_on(struct ni_table *table, const char *head);
/* Begins a row. Returns the text that takes its cells. */
struct ni_text *ni_row(struct ni_table *table, enum ni_tint tint);
/* At the beginning of a cell: the colour of it and of the rest of the row. */
void ni_put_tint(struct ni_text *t, enum ni_tint tint);
/* Indented by two, columns two blanks apart, no blank at a line's end. Frees the rows. */
void ni_table_write(struct ni_text *out, struct ni_table *table, bool colour);

#endif
