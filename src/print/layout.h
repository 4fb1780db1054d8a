/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of any length, lines that are wrapped, tables. */
#ifndef NCCL_INIT_PRINT_LAYOUT_H
#define NCCL_INIT_PRINT_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "nccl_init/gpu.h"
#include "nccl_init/text.h"

enum ni_tint { NI_PLAIN = 1, NI_GREEN, NI_YELLOW, NI_RED, NI_DIM };
enum { NI_COLUMNS = 8 + NI_MAX_GPU };

/* Sets how many columns a line of text may have. Without it that is 100, and a table has what it
   needs. */
void ni_set_columns(size_t columns);
/* Returns that number; `usual`, if it was not set. */
size_t ni_columns(size_t usual);

/* Puts a line of untrusted text; where the width of a line is known it is wrapped, and goes on
   indented. */
void ni_put_line(struct ni_text *out, const char *s);
/* Puts such lines, of untrusted text, indented below the text that they explain;
   " title: text", or nothing for an empty text. */
void ni_put_below(struct ni_text *out, const char *s);
void ni_put_item(struct ni_text *out, const char *title, const char *s);

/* Puts the text in that colour; untrusted, as ni_quote. */
void ni_put_tinted(struct ni_text *out, bool colour, enum ni_tint tint, const char *s);

/* Puts trusted text in that colour, as it is: it may have UTF-8. */
void ni_put_mark(struct ni_text *out, bool colour, enum ni_tint tint, const char *s);

/* Begins a table. Its rows are kept in memory until all widths are known. head: "PORT\tADDRESS". */
struct ni_text ni_table_on(const char *head);
/* Begin a row; begin the next cell of it. Each returns the table, to put the cell's text into; an
   empty cell shows as "-". */
struct ni_text *ni_row(struct ni_text *table, enum ni_tint tint);
struct ni_text *ni_cell(struct ni_text *table);
/* Writes the table, indented by two, columns two blanks apart, without blanks at a line's end. If it
   is wider than a line, the columns that do not fit follow below, beside the first one. Frees the
   rows. */
void ni_table_write(struct ni_text *out, struct ni_text *table, bool colour);

/* Puts lines of at most so many columns, broken at blanks, of untrusted text, as ni_quote; the
   first one begins in column `at`, the others in the sixth. */
void ni_put_wrapped(struct ni_text *out, size_t columns, size_t at, const char *s);
/* Puts such lines, all of which begin in column `indent`; there the caller
   stands. */
void ni_put_paragraph(struct ni_text *out, size_t indent, const char *s);
/* Makes a text on the heap that grows as it is filled, and is cut if there is no memory; to be
   freed. */
struct ni_text ni_long_text(void);
void ni_free_text(struct ni_text *text);

#endif
