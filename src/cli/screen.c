/* SPDX-License-Identifier: Apache-2.0 */
/* The abilities of standard output: width, colour, UTF-8. */
#include "cli/screen.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/context.h"
#include "cli/options.h"
#include "nccl_init/base.h"
#include "nccl_init/env.h"
#include "nccl_init/number.h"
#include "nccl_init/text.h"
#include "print/layout.h"

enum {
    NARROWEST = 40, /* less is laid out for so many */
    WIDEST = 120,   /* of a terminal: longer lines are hard to read */
    WIDEST_ASKED = 1000
};

/* Returns the columns to lay out for on a terminal of so many. */
static size_t bounded(size_t columns)
{
    if (columns < NARROWEST)
        return NARROWEST;
    return columns < WIDEST ? columns : WIDEST;
}

void ni_screen_width(const struct ni_context *ctx)
{
    const char *columns = ni_env_get(&ctx->own, "COLUMNS");
    struct winsize size = {.ws_col = 0};
    uint64_t n = 0;

    if (columns && ni_parse_u64(ni_span_of(columns), WIDEST_ASKED, &n) == 0 && n > 0) {
        ni_set_columns(n > NARROWEST ? (size_t)n : NARROWEST);
        return;
    }
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0) /* 0: not known */
        return;
    ni_set_columns(bounded(size.ws_col));
}

/* Returns true if standard output is a terminal that can do more than print letters. */
static bool is_able_terminal(const struct ni_context *ctx)
{
    const char *term = ni_env_get(&ctx->own, "TERM");

    return !(term && strcmp(term, "dumb") == 0) && isatty(STDOUT_FILENO);
}

bool ni_screen_has_colour(const struct ni_context *ctx)
{
    /* https://no-color.org: set and not empty */
    const char *no_color = ni_env_get(&ctx->own, "NO_COLOR");

    if (ctx->options.color != NI_COLOR_AUTO)
        return ctx->options.color == NI_COLOR_ALWAYS;
    return !(no_color && *no_color) && is_able_terminal(ctx);
}

bool ni_screen_has_utf8(const struct ni_context *ctx)
{
    /* locale(7): the first of the three that is set counts */
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *value = NULL;

    for (unsigned i = 0; i < NI_COUNT(names) && !(value && *value); i++)
        value = ni_env_get(&ctx->own, names[i]);
    return value && (strstr(value, "UTF-8") || strstr(value, "utf8")) && is_able_terminal(ctx);
}
