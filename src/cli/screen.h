/* SPDX-License-Identifier: Apache-2.0 */
/* The abilities of standard output: width, colour, UTF-8. */
#ifndef NCCL_INIT_CLI_SCREEN_H
#define NCCL_INIT_CLI_SCREEN_H

#include <stdbool.h>

#include "cli/context.h"

/* Makes lines as wide as COLUMNS says, or the terminal; elsewhere they stay as they are. */
void ni_screen_width(const struct ni_context *ctx);
/* Returns true if reports have colour: --color, or a terminal that can, and no NO_COLOR. */
bool ni_screen_has_colour(const struct ni_context *ctx);
/* Returns true if marks may be other than ASCII: a terminal that can, and a locale with UTF-8. */
bool ni_screen_has_utf8(const struct ni_context *ctx);

#endif
