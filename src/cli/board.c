/* SPDX-License-Identifier: Apache-2.0 */
/* The table of progress on a terminal. */
#include "cli/board.h"

#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/context.h"
#include "cli/options.h"
#include "cli/progress_table.h"
#include "cli/stderr.h"
#include "nccl_init/base.h"
#include "nccl_init/env.h"
#include "nccl_init/text.h"

enum {
    /* of a terminal that does not say how large it is, as a serial one */
    COLUMNS = 80,
    LINES = 24,
    NARROWEST = 40, /* less has no room for a table */
    WIDEST = 160,
    GAP = 2 /* between the name of a row and its text */
};

/* ---- the terminal ---- */

bool ni_progress_is_live(const struct ni_context *ctx)
{
    const pid_t own = ctx->progress.group > 0 ? ctx->progress.group : getpgrp();

    if (ctx->options.log_format == NI_LOG_JSON || !isatty(STDERR_FILENO))
        return false;
    const char *term = ni_env_get(&ctx->own, "TERM");

    if (!term || !term[0] || strcmp(term, "dumb") == 0)
        return false;
    const pid_t foreground = tcgetpgrp(STDERR_FILENO); /* < 0: it is not this session's terminal */

    return foreground < 0 || foreground == own;
}

/* Returns true if the terminal takes what is written: progress must not cost time on a stopped one. */
static bool takes_output(void)
{
    struct pollfd p = {.fd = STDERR_FILENO, .events = POLLOUT};

    return poll(&p, 1, 0) == 1 && (p.revents & POLLOUT) != 0;
}

static struct winsize size_of_terminal(void)
{
    struct winsize size = {.ws_col = 0};

    (void)ioctl(STDERR_FILENO, TIOCGWINSZ, &size);
    if (size.ws_col == 0)
        size.ws_col = COLUMNS;
    if (size.ws_row == 0)
        size.ws_row = LINES;
    if (size.ws_col > WIDEST)
        size.ws_col = WIDEST;
    return size;
}

static bool is_resized(const struct ni_progress_table *t)
{
    return size_of_terminal().ws_col != t->columns;
}

/* ---- lines of a row ---- */

/* Returns how many bytes of a text stand in one line: it breaks at a blank if it can. */
static size_t fit(const char *text, size_t width)
{
    size_t n = strlen(text);

    if (n <= width)
        return n;
    n = width;
    while (n > 0 && text[n] != ' ')
        n--;
    return n > 0 ? n : width;
}

static const char *next_line(const char *text, size_t width)
{
    text += fit(text, width);
    return text + (*text == ' ');
}

static unsigned count_lines(const char *text, size_t width)
{
    unsigned n = 1;

    for (text = next_line(text, width); *text; text = next_line(text, width))
        n++;
    return n;
}

static size_t width_of_names(const struct ni_progress_table *t)
{
    size_t widest = 0;

    for (unsigned i = 0; i < t->n; i++) {
        const size_t n = strlen(t->row[i].what);

        widest = n > widest ? n : widest;
    }
    return widest > 0 ? widest + GAP : 0;
}

/* Puts a row: its name, and its text in lines that begin below each other. */
static void put_row(struct ni_text *to, const struct ni_progress_row *row, size_t indent,
                    size_t width)
{
    const char *text = row->line;

    ni_putf(to, "%-*s", (int)indent, row->what);
    for (;;) {
        ni_putn(to, text, fit(text, width));
        ni_put(to, "\033[K"); /* ECMA-48 EL: erase to the end of the line */
        text = next_line(text, width);
        if (!*text)
            return;
        ni_putf(to, "\n%*s", (int)indent, "");
    }
}

/* Draws the table where it stands, or below the cursor. A terminal that has become narrower may have
   broken its lines: then it is drawn anew below them. */
static void draw(struct ni_context *ctx)
{
    struct ni_progress_table *t = &ctx->progress;
    const struct winsize size = size_of_terminal();
    const size_t indent = width_of_names(t);
    const size_t width = size.ws_col > indent ? size.ws_col - indent - 1 : 1;
    struct ni_text out = NI_TEXT(NI_PROGRESS_ROWS * 2 * NI_PROGRESS_LINE);
    unsigned lines = 0, first = t->n;

    if (size.ws_col < NARROWEST || !takes_output())
        return;
    while (first > 0) { /* the last rows for which there is room */
        const unsigned more = count_lines(t->row[first - 1].line, width);

        if (lines > 0 && lines + more >= size.ws_row)
            break;
        lines += more;
        first--;
    }
    if (t->drawn > 0 && size.ws_col < t->columns) {
        ni_put(&out, "\n");
        t->drawn = 0;
    }
    if (t->drawn > 1)
        ni_putf(&out, "\033[%uA", t->drawn - 1); /* CUU: up */
    ni_put(&out, "\r");
    for (unsigned i = first; i < t->n; i++) {
        ni_put(&out, i > first ? "\n" : "");
        put_row(&out, &t->row[i], indent, width);
    }
    ni_put(&out, "\033[J"); /* ED: erase what is below */
    ni_write_stderr(ctx, &out);
    t->drawn = lines;
    t->columns = size.ws_col;
}

void ni_progress_hide(struct ni_context *ctx)
{
    struct ni_progress_table *t = &ctx->progress;
    struct ni_text out = NI_TEXT(32);

    if (t->drawn == 0)
        return;
    if (t->drawn > 1)
        ni_putf(&out, "\033[%uA", t->drawn - 1);
    ni_put(&out, "\r\033[J");
    t->drawn = 0;
    if (ni_progress_is_live(ctx) && takes_output())
        ni_write_stderr(ctx, &out);
}

/* ---- the rows ---- */

/* Returns the row of that name; a new one if there is none. Where there is no room the second one goes:
   the first says who came. */
static struct ni_progress_row *find_row(struct ni_progress_table *t, const char *what)
{
    for (unsigned i = 0; i < t->n; i++)
        if (strcmp(t->row[i].what, what) == 0)
            return &t->row[i];
    if (t->n == NI_PROGRESS_ROWS) {
        memmove(&t->row[1], &t->row[2], (NI_PROGRESS_ROWS - 2) * sizeof(t->row[0]));
        t->n--;
    }
    struct ni_progress_row *row = &t->row[t->n++];

    (void)ni_copyn(row->what, sizeof(row->what), what, strnlen(what, sizeof(row->what) - 1));
    row->line[0] = '\0';
    return row;
}

void ni_progress_show(struct ni_context *ctx, const char *what, const char *line)
{
    struct ni_progress_table *t = &ctx->progress;
    struct ni_progress_row *row = find_row(t, what);
    struct ni_text text = NI_TEXT(NI_PROGRESS_LINE);

    ni_quote(&text, line);
    const bool changed = strcmp(row->line, text.buf) != 0;

    (void)ni_copy(row->line, sizeof(row->line), text.buf);
    if (ctx->options.log_level < NI_LOG_INFO || !ni_progress_is_live(ctx))
        t->drawn = 0; /* what stood there is no longer at the cursor */
    else if (t->drawn == 0 || changed || is_resized(t))
        draw(ctx);
}

void ni_progress_begin(struct ni_context *ctx)
{
    ctx->progress.group = getpgrp();
}

void ni_progress_end(struct ni_context *ctx)
{
    ni_progress_hide(ctx);
    ctx->progress.n = 0;
}
