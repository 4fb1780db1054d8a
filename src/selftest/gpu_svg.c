/* SPDX-License-Identifier: Apache-2.0 */
/* The trial of GPU memory, as a picture: a row for each GPU, a column for each port, and in a cell the
   rates and the way, or what went wrong. A word tells each kind from the others, not the colour alone.
   Below the matrix: what the colours mean, then why pairs did not pass. */
#include "selftest/gpu_svg.h"

#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/inventory.h"
#include "nccl_init/pci.h"
#include "nccl_init/text.h"
#include "nccl_init/tried_gpu.h"
#include "print/layout.h"
#include "print/svg.h"
#include "print/words.h"
#include "selftest/gpu.h"

enum {
    LEFT = 20,
    LABEL = 98, /* the address of a GPU */
    COLUMN = 110,
    ROW = 40,
    LINE = 18,
    NARROWEST = 860, /* room for a line of words */
    LETTERS = 112,   /* of it */
    MOST_LINES = 3,  /* of the verdict, of a reason */
    MOST_REASONS = 10
};

/* What a cell shows. The kinds are in the order of the legend. */
enum kind { RIGHT, SLOW, LATE, WRONG, FAILED, UNTRIED, KINDS };

static const struct {
    const char *fill, *edge, *ink, *words;
} kinds[KINDS] = {
    [RIGHT] = {"#56b4e9", "#888888", "#000000", "right bytes; the bluer, the faster"},
    [SLOW] = {"#e69f00", "#888888", "#000000", "slow: below half of the usual rate"},
    [LATE] = {"#f0e442", "#888888", "#000000", "late: right only in the end"},
    [WRONG] = {"#c00000", "#c00000", "#ffffff", "WRONG bytes: do not use the pair"},
    [FAILED] = {"#ffffff", "#c00000", "#c00000", "failed at the step that stands there"},
    [UNTRIED] = {"#eeeeee", "#888888", "#000000", "not tried: nothing is known"},
};

static enum kind kind_of(const struct ni_gpu_pair *p)
{
    switch (p->verdict) {
    case NI_GPU_PASSED:
        return p->slow ? SLOW : RIGHT;
    case NI_GPU_LATE:
        return LATE;
    case NI_GPU_WRONG:
        return WRONG;
    case NI_GPU_FAILED:
        return FAILED;
    case NI_GPU_UNTRIED:
    case NI_GPU_VERDICTS:
        break;
    }
    return UNTRIED;
}

/* Returns the fastest rate of all pairs; 0: none was measured. */
static int64_t best_rate(const struct ni_gpu_trial *all)
{
    int64_t best = 0;

    for (unsigned i = 0; i < all->n; i++) {
        const int64_t rate = ni_gpu_pair_rate(&all->pair[i]);

        best = rate > best ? rate : best;
    }
    return best;
}

/* Returns the colour of a cell: of one with right bytes by its share of the best rate. */
static const char *fill_of(const struct ni_gpu_pair *p, int64_t best)
{
    static const char *const blue[] = {"#e3f2fb", "#b9dff5", "#88caef", "#56b4e9"};
    const int64_t rate = ni_gpu_pair_rate(p);
    const int64_t percent = best > 0 ? rate * 100 / best : 0;
    const enum kind kind = kind_of(p);

    if (kind != RIGHT)
        return kinds[kind].fill;
    return blue[(percent >= 70) + (percent >= 80) + (percent >= 90)];
}

/* Puts the two lines of a cell. */
static void put_words(struct ni_text *first, struct ni_text *second, const struct ni_gpu_pair *p)
{
    const enum kind kind = kind_of(p);

    switch (kind) {
    case RIGHT:
    case SLOW:
    case LATE:
        ni_put_gigabytes(first, p->told.in_mbps);
        ni_put(first, " / ");
        ni_put_gigabytes(first, p->told.out_mbps);
        if (kind != RIGHT)
            ni_put(second, kind == SLOW ? "slow, " : "late, ");
        ni_put(second, ni_gdr_way_text(p->told.way));
        break;
    case WRONG:
        ni_put(first, "WRONG");
        ni_putf(second, "at %llu", (unsigned long long)p->told.first);
        break;
    case FAILED:
        ni_put(first, "failed");
        ni_put(second, ni_gdr_step_text(p->told.step));
        break;
    case UNTRIED:
    case KINDS:
        ni_put(first, "not tried");
        if (p->told.begun)
            ni_put(second, ni_gdr_step_text(p->told.step));
        break;
    }
}

/* Puts "0000:1b:00.0 mlx5_0/1". */
static void put_pair(struct ni_text *t, const struct ni_view *view, const struct ni_gpu_pair *p)
{
    char bdf[NI_BDF_TEXT];

    ni_putf(t, "%s %s", ni_bdf_text(view->inv->gpu[p->gpu].bdf, bdf),
            ni_port_name(view->inv, p->port).text);
}

static void put_cell(struct ni_text *out, const struct ni_view *view, const struct ni_gpu_pair *p,
                     int64_t best, unsigned x, unsigned y)
{
    struct ni_text first = NI_TEXT(64), second = NI_TEXT(64), pair = NI_TEXT(128);
    const enum kind kind = kind_of(p);

    put_words(&first, &second, p);
    put_pair(&pair, view, p);
    ni_putf(out, "<g fill=\"%s\"><title>", kinds[kind].ink);
    ni_put_xml(out, pair.buf);
    ni_putf(out,
            ": %s</title><rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" fill=\"%s\" "
            "stroke=\"%s\" stroke-width=\"%s\"/>\n",
            kinds[kind].words, x, y, COLUMN - 6U, ROW - 4U, fill_of(p, best), kinds[kind].edge,
            kind == FAILED ? "2" : "0.6");
    ni_put_svg_text(out, x + 6, y + 15, first.buf);
    ni_put(out, "<g font-size=\"11\">");
    ni_put_svg_text(out, x + 6, y + 30, second.buf);
    ni_put(out, "</g></g>\n");
}

static void put_matrix(struct ni_text *out, const struct ni_view *view,
                       const struct ni_gpu_trial *all, const int ports[], unsigned n, unsigned top)
{
    const int64_t best = best_rate(all);

    for (unsigned i = 0; i < n; i++)
        ni_put_svg_text(out, LEFT + LABEL + i * COLUMN + 6, top - 6,
                        ni_port_name(view->inv, ports[i]).text);
    for (unsigned g = 0; g < all->n_gpu; g++) {
        const unsigned y = top + g * ROW;
        char bdf[NI_BDF_TEXT];

        ni_put_svg_text(out, LEFT, y + 22, ni_bdf_text(view->inv->gpu[all->gpu[g]].bdf, bdf));
        for (unsigned i = 0; i < n; i++) {
            const struct ni_gpu_pair *p = ni_find_gpu_pair(all, all->gpu[g], ports[i]);

            if (p)
                put_cell(out, view, p, best, LEFT + LABEL + i * COLUMN, y);
        }
    }
}

/* Puts what the colours mean, three in a row. Returns how far down it reaches. */
static unsigned put_legend(struct ni_text *out, unsigned y)
{
    enum { ACROSS = 3, APART = 270 };

    for (unsigned i = 0; i < KINDS; i++) {
        const unsigned x = LEFT + i % ACROSS * APART, at = y + i / ACROSS * LINE;

        ni_putf(out,
                "<rect x=\"%u\" y=\"%u\" width=\"12\" height=\"12\" fill=\"%s\" stroke=\"%s\"/>", x,
                at - 11, kinds[i].fill, kinds[i].edge);
        ni_put_svg_text(out, x + 18, at, kinds[i].words);
    }
    return y + (KINDS + ACROSS - 1) / ACROSS * LINE;
}

/* Returns true if an earlier pair was not tried for the same reason. */
static bool is_said(const struct ni_gpu_trial *all, unsigned at)
{
    const struct ni_gpu_pair *p = &all->pair[at];
    bool said = false;

    for (unsigned i = 0; i < at; i++)
        said = said || (p->verdict == NI_GPU_UNTRIED && all->pair[i].verdict == NI_GPU_UNTRIED &&
                        strcmp(all->pair[i].why, p->why) == 0);
    return said;
}

/* Puts why pairs did not pass, the worst first: the reason of one that was not tried names it.
   Returns how far down it reaches. */
static unsigned put_reasons(struct ni_text *out, const struct ni_view *view,
                            const struct ni_gpu_trial *all, unsigned y)
{
    static const enum ni_gpu_verdict order[] = {NI_GPU_WRONG, NI_GPU_FAILED, NI_GPU_LATE,
                                                NI_GPU_UNTRIED};
    unsigned n = 0;

    for (unsigned k = 0; k < NI_COUNT(order) * all->n; k++) {
        const unsigned i = k % all->n;
        const struct ni_gpu_pair *p = &all->pair[i];
        struct ni_text why = NI_TEXT(512);

        if (p->verdict != order[k / all->n] || !p->why[0] || is_said(all, i))
            continue;
        n++;
        if (n > MOST_REASONS)
            continue;
        if (p->verdict != NI_GPU_UNTRIED) {
            put_pair(&why, view, p);
            ni_put(&why, ": ");
        }
        ni_put(&why, p->why);
        y += LINE * ni_put_svg_lines(out, LEFT, y, LINE, LETTERS, MOST_LINES, why.buf);
    }
    if (n > MOST_REASONS) {
        struct ni_text more = NI_TEXT(96);

        ni_putf(&more, "and %u more: the same command with --all", n - MOST_REASONS);
        ni_put_svg_text(out, LEFT, y, more.buf);
        y += LINE;
    }
    return y;
}

void ni_put_gpu_svg(struct ni_text *out, const struct ni_view *view, const struct ni_gpu_trial *all)
{
    static const char unit[] =
        "In a cell: GB/s from host to GPU / from GPU to host, and the way. A "
        "row is a GPU, a column an HCA and its port.";
    struct ni_text verdict = NI_TEXT(2 * NI_REASON), body = ni_long_text();
    int ports[NI_MAX_CHOSEN];
    const unsigned n = ni_list_gpu_ports(all, ports);
    const unsigned matrix = LEFT + LABEL + n * COLUMN + LEFT;
    const unsigned wide = matrix > NARROWEST ? matrix : NARROWEST;
    const bool passed = ni_gpus_pass(all, &verdict);

    ni_putf(&body, "<g font-weight=\"bold\" fill=\"%s\">", passed ? "#000000" : "#c00000");
    unsigned y =
        30 + LINE * ni_put_svg_lines(&body, LEFT, 30, LINE, LETTERS - 10, MOST_LINES, verdict.buf);
    ni_put(&body, "</g>\n");
    ni_put_svg_text(&body, LEFT, y, unit);
    const unsigned top = y + 38;
    put_matrix(&body, view, all, ports, n, top);
    y = put_legend(&body, top + all->n_gpu * ROW + LINE);
    y = put_reasons(&body, view, all, y + 6);
    ni_putf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %u %u\" width=\"%u\" "
            "height=\"%u\" font-family=\"sans-serif\" font-size=\"13\">\n<title>",
            wide, y, wide, y);
    ni_put_xml(out, verdict.buf);
    ni_put(out, "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
    ni_put(out, body.buf);
    ni_put(out, "</svg>\n");
    ni_free_text(&body);
}
