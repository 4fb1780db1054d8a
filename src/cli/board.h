/* SPDX-License-Identifier: Apache-2.0 */
/* The table of progress on a terminal. */
#ifndef NCCL_INIT_CLI_BOARD_H
#define NCCL_INIT_CLI_BOARD_H

#include <stdbool.h>

#include "cli/context.h"

/* Notes which process group is the program's, before a child that leads another one shows progress. */
void ni_progress_begin(struct ni_context *ctx);
/* Returns true if the table can be drawn: on a terminal that can move its cursor (term(7): "dumb" cannot),
   of which no other program has the foreground. */
bool ni_progress_is_live(const struct ni_context *ctx);
/* Shows how far something is, where the table can be drawn. what: the name of its row ("": it has none),
   which replaces the one of that name. */
void ni_progress_show(struct ni_context *ctx, const char *what, const char *line);
/* Takes the table off the terminal, so that a message can stand there; the next row draws it again. */
void ni_progress_hide(struct ni_context *ctx);
/* Ends it: takes it off, and forgets the rows. */
void ni_progress_end(struct ni_context *ctx);

#endif
