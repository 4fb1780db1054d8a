/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a preflight, as a picture: first a row for each pod, a column for each rail; many
   pods stand side by side in a row. A bluer mark is a faster rail. A rail that is not good has
   another shape too, and a colour that all eyes tell from blue and from the others (Okabe and Ito's
   palette). Below, for each rail, the pairs of the last round of all pods: pods by pods. */
#include "preflight/report_svg.h"

#include <string.h>

#include "cli/flow.h"
#include "nccl_init/base.h"
#include "nccl_init/text.h"
#include "preflight/job.h"
#include "preflight/report.h"
#include "preflight/tally.h"
#include "print/svg.h"
#include "rail/step.h"

enum { LEFT = 24, ROWS = 64 /* at most, up to 1024 pods */, MARK = 12, LINE = 18 };

/* The shape and colour of a mark, by verdict. */
static const struct {
    const char *colour, *shape;
} styles[NI_RAIL_VERDICTS] = {
    [NI_RAIL_ABSENT] = {"#eeeeee", ""},
    [NI_RAIL_GONE] = {"#999999", "M3 6a3 3 0 1 0 6 0a3 3 0 1 0-6 0"},
    [NI_RAIL_UNTRIED] = {"#ffffff", "M3 6h6"},
    [NI_RAIL_GOOD] = {"#56b4e9", ""},
    [NI_RAIL_SLOW] = {"#e69f00", "M2.5 3.5h7L6 9.5z"},
    [NI_RAIL_LOSSY] = {"#f0e442", "M2.5 9.5h7L6 3.5z"},
    [NI_RAIL_PATH] = {"#cc79a7", "M2 10L10 2"},
    [NI_RAIL_FAILED] = {"#d55e00", "M2.5 2.5l7 7m0-7l-7 7"},
};

/* Draws the mark of one rail: its verdict by shape and colour, its rate by the shade. */
static void put_rail(struct ni_text *out, const struct ni_job *job, unsigned rank, unsigned rail,
                     unsigned x, unsigned y, bool named)
{
    static const char *const blue[] = {"#e3f2fb", "#b9dff5", "#88caef", "#56b4e9"};
    const struct ni_rail_tally *t = ni_tally_of(job, rank, rail);
    const struct ni_flow slower = ni_slower_flow(t);
    const bool shaded = t->verdict == NI_RAIL_GOOD && slower.percent > 0;
    const int shade = (slower.percent >= 80) + (slower.percent >= 90) + (slower.percent >= 95);
    struct ni_text pod = NI_TEXT(600), speed = NI_TEXT(24);

    ni_put_pod(&pod, job, rank);
    ni_put_speed(&speed, slower.mbps);
    ni_putf(out, "<use href=\"#%s\" x=\"%u\" y=\"%u\" fill=\"%s\"><title>rail %u of ",
            ni_rail_words[t->verdict], x, y, shaded ? blue[shade] : styles[t->verdict].colour,
            rail);
    ni_put_xml(out, pod.buf);
    ni_putf(out, ": %s%s%s</title></use>\n", ni_rail_words[t->verdict],
            speed.len > 0 ? ", Gb/s " : "", speed.buf);
    if (named && speed.len > 0)
        ni_put_svg_text(out, x + MARK + 4, y + MARK - 2, speed.buf);
}

/* Draws the legend; its marks are the originals of all others, which differ in colour only. */
static void put_verdict_legend(struct ni_text *out, unsigned y)
{
    unsigned x = LEFT;

    for (unsigned i = 0; i < NI_RAIL_VERDICTS; i++) {
        ni_putf(out,
                "<g transform=\"translate(%u %u)\" fill=\"%s\"><g id=\"%s\"><rect width=\"11\" "
                "height=\"11\" stroke=\"#888\" stroke-width=\"0.4\"/><path d=\"%s\" "
                "fill=\"none\" stroke=\"#000\" stroke-width=\"1.8\"/></g></g>",
                x, y - 10, styles[i].colour, ni_rail_words[i], styles[i].shape);
        ni_put_svg_text(out, x + 17, y, ni_rail_words[i]);
        x += 44 + 7 * (unsigned)strlen(ni_rail_words[i]);
    }
    ni_put_svg_text(out, x, y, "The bluer, the faster.");
}

/* ---- pods by pods ---- */

enum {
    SIDE = 512, /* of a square, at most */
    DOT = 8,
    SMALLEST = 3,
    SQUARES = 4,      /* in a row */
    AXIS = LEFT + 12, /* room for the numbers beside a square */
    TITLE = 56,       /* above and below it */
    PAIR_LEGEND = 52,
    SQUARE_GAP = 64 /* from a square to the next */
};

/* Returns the round that is drawn: the last of all pods. UINT32_MAX: there was none. */
static unsigned drawn_round(const struct ni_job *job)
{
    unsigned round = UINT32_MAX;

    for (unsigned i = 0; i < job->n_result; i++)
        if (job->result[i].full)
            round = job->result[i].round;
    return round;
}

static unsigned side_of(const struct ni_job *job)
{
    return job->ranks * DOT < SIDE ? job->ranks * DOT : SIDE;
}

/* Returns how far down the squares reach, with their legend. */
static unsigned squares_height(const struct ni_job *job)
{
    const unsigned rows = (job->n_rail + SQUARES - 1) / SQUARES;

    return drawn_round(job) == UINT32_MAX ? 0 : PAIR_LEGEND + rows * (side_of(job) + TITLE);
}

enum { SLOW_PERCENT = 70 /* of the median: docs/reference/preflight.md, job.rail.slow */ };

/* Returns the colour of a pair: by its verdict, and of good ones by its share of the median. */
static const char *colour_of(const struct ni_pair_result *x)
{
    static const char *const blue[] = {"#e3f2fb", "#b9dff5", "#88caef", "#56b4e9"};
    const int64_t least = x->write_mbps < x->read_mbps ? x->write_mbps : x->read_mbps;
    const int64_t parts = x->rate > 0 ? least * NI_JOB_PARTS / x->rate : 0;
    const int64_t percent = x->pair_median > 0 ? parts * 100 / x->pair_median : 100;
    const enum ni_path_verdict worst = ni_worst_path(x);

    if (x->step != NI_PAIR_DONE || worst >= NI_PATH_LOSSY)
        return styles[NI_RAIL_FAILED].colour;
    if (worst == NI_PATH_SLOW || percent < SLOW_PERCENT)
        return styles[NI_RAIL_SLOW].colour;
    if (worst == NI_PATH_ONCE)
        return styles[NI_RAIL_PATH].colour;
    return blue[(percent >= 80) + (percent >= 90) + (percent >= 95)];
}

/* Draws the numbers of pods on the left and the upper side of a square. */
static void put_axes(struct ni_text *out, const struct ni_job *job, unsigned x0, unsigned y0)
{
    enum { TICKS = 8 };
    const unsigned side = side_of(job), step = (job->ranks + TICKS - 1) / TICKS;

    for (unsigned p = 0; p < job->ranks && step > 0; p += step) {
        const unsigned at = p * side / job->ranks;
        struct ni_text t = NI_TEXT(16);

        ni_put_u64(&t, p);
        ni_put_svg_text(out, x0 + at, y0 - 4, t.buf);
        ni_put_svg_text(out, x0 - LEFT - 4, y0 + at + 10, t.buf);
    }
}

/* Draws what the colours of the squares mean. */
static void put_pair_legend(struct ni_text *out, unsigned y)
{
    static const struct {
        const char *colour, *words;
    } rows[] = {
        {"#56b4e9", "95 % of the median or more"},
        {"#88caef", "90 %"},
        {"#b9dff5", "80 %"},
        {"#e3f2fb", "70 %"},
    };
    static const enum ni_rail_verdict bad[] = {NI_RAIL_SLOW, NI_RAIL_PATH, NI_RAIL_FAILED};
    static const char *const words[] = {"less, or a slow path", "passed when tried again",
                                        "failed"};
    unsigned x = LEFT;

    for (unsigned i = 0; i < NI_COUNT(rows) + NI_COUNT(bad); i++) {
        const bool good = i < NI_COUNT(rows);
        const unsigned k = good ? i : i - (unsigned)NI_COUNT(rows);
        const char *name = good ? rows[k].words : words[k];

        ni_putf(out, "<rect x=\"%u\" y=\"%u\" width=\"11\" height=\"11\" fill=\"%s\"/>", x, y - 10,
                good ? rows[k].colour : styles[bad[k]].colour);
        ni_put_svg_text(out, x + 17, y, name);
        x += 44 + 7 * (unsigned)strlen(name);
    }
}

/* Draws one square: each pair of the round stands in the row of the pod that writes, and in the
   column of its partner. */
static void put_square(struct ni_text *out, const struct ni_job *job, unsigned rail, unsigned x0,
                       unsigned y0)
{
    const unsigned side = side_of(job), round = drawn_round(job);
    const unsigned n = job->ranks > 0 ? job->ranks : 1;
    const unsigned dot = side / n > SMALLEST ? side / n : SMALLEST;

    ni_putf(out,
            "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" fill=\"none\" stroke=\"#888\" "
            "stroke-width=\"0.4\"/>\n",
            x0, y0, side, side);
    for (unsigned i = 0; i < job->n_result; i++) {
        const struct ni_pair_result *x = &job->result[i];

        if (x->round != round || x->pair.rail != rail)
            continue;
        ni_putf(out,
                "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" fill=\"%s\"><title>%u with "
                "%u: %s</title></rect>\n",
                x0 + x->pair.to * side / n, y0 + x->pair.from * side / n, dot, dot, colour_of(x),
                x->pair.from, x->pair.to,
                x->step == NI_PAIR_DONE ? ni_path_words[ni_worst_path(x)] : "failed");
    }
}

static void put_squares(struct ni_text *out, const struct ni_job *job, unsigned top)
{
    const unsigned round = drawn_round(job);

    if (round == UINT32_MAX)
        return;
    struct ni_text title = NI_TEXT(96);

    ni_putf(&title, "Round %u: the pod of a row writes to the pod of a column.", round + 1);
    ni_put_svg_text(out, LEFT, top + 10, title.buf);
    put_pair_legend(out, top + 10 + LINE);
    for (unsigned r = 0; r < job->n_rail; r++) {
        const unsigned x = LEFT + AXIS + r % SQUARES * (side_of(job) + SQUARE_GAP);
        const unsigned y = top + PAIR_LEGEND + r / SQUARES * (side_of(job) + TITLE) + 34;
        struct ni_text t = NI_TEXT(24);

        ni_putf(&t, "rail %u", r);
        ni_put_svg_text(out, x - AXIS, y - 20, t.buf);
        put_axes(out, job, x, y);
        put_square(out, job, r, x, y);
    }
}

/* ---- the whole ---- */

/* Where the parts of the picture are. */
struct layout {
    unsigned top;    /* the upper side of the first row of pods */
    unsigned across; /* pods side by side in a row */
    bool named;      /* one pod in a row, with its name */
    unsigned first;  /* the left side of the first rail's column */
    unsigned row, column;
    unsigned squares; /* the upper side of the squares */
    unsigned width, height;
};

/* lines: of the sentence above the picture. */
static struct layout lay_out(const struct ni_job *job, unsigned lines)
{
    const unsigned n_square = job->n_rail < SQUARES ? job->n_rail : SQUARES;
    const unsigned squares_width = LEFT + n_square * (side_of(job) + SQUARE_GAP);
    struct layout l = {.top = 92 + lines * LINE, .across = 1, .width = 860};

    while ((job->ranks + l.across - 1) / l.across > ROWS)
        l.across *= 2;
    l.named = l.across == 1;
    l.first = LEFT + (l.named ? 300 : 44);
    l.row = l.named ? 20 : MARK;
    l.column = l.named ? 84 : l.across * MARK + 16;
    l.squares = l.top + (job->ranks + l.across - 1) / l.across * l.row + LEFT;
    l.height = l.squares + squares_height(job);
    const unsigned table_width = l.first + job->n_rail * l.column + LEFT;
    if (l.width < table_width)
        l.width = table_width;
    if (l.width < squares_width)
        l.width = squares_width;
    return l;
}

/* Draws the rails of all pods. */
static void put_pod_rows(struct ni_text *out, const struct ni_job *job, const struct layout *l)
{
    for (unsigned r = 0; r < job->n_rail; r++) {
        struct ni_text t = NI_TEXT(32);

        ni_putf(&t, l->named ? "rail %u, Gb/s" : "rail %u", r);
        ni_put_svg_text(out, l->first + r * l->column, l->top - 8, t.buf);
    }
    for (unsigned p = 0; p < job->ranks; p++) {
        const unsigned x = l->first + p % l->across * MARK, y = l->top + p / l->across * l->row;
        struct ni_text t = NI_TEXT(600);

        ni_putf(&t, l->named ? "%u  " : "%u", p);
        if (l->named)
            ni_put_pod(&t, job, p);
        if (p % l->across == 0)
            ni_put_svg_text(out, LEFT, y + MARK - 2, t.buf);
        for (unsigned r = 0; r < job->n_rail; r++)
            put_rail(out, job, p, r, x + r * l->column, y, l->named);
    }
}

enum { LETTERS = 110 /* of a line of the sentence */, MOST_LINES = 12 };

/* Puts the sentence, in lines; the first word, the verdict, has its colour. Returns the number of
   lines. out NULL: only counts them. */
static unsigned put_sentence(struct ni_text *out, const char *sentence, enum ni_outcome outcome)
{
    const char *colour = outcome == NI_JOB_BAD ? "#c00000" : "#000000", *weight = "bold";
    const char *rest = sentence;
    unsigned lines = 0;

    while (*rest && lines < MOST_LINES) {
        const size_t n = ni_svg_line(rest, LETTERS);
        struct ni_text line = NI_TEXT(4 * LETTERS + 8);

        ni_put_quoted(&line, rest, n, n);
        rest += n;
        rest += *rest == ' ';
        if (out) {
            ni_putf(out, "<g fill=\"%s\" font-weight=\"%s\">", colour, weight);
            ni_put_svg_text(out, LEFT, 30 + lines * LINE, line.buf);
            ni_put(out, "</g>\n");
        }
        lines++;
        colour = "#000000"; /* the first line alone has that of the verdict */
        weight = "normal";
    }
    return lines;
}

void ni_put_preflight_svg(struct ni_text *out, const struct ni_verdict *verdict)
{
    struct ni_text sentence = NI_TEXT(1024);

    ni_putf(&sentence, "preflight: %s", verdict->line);

    const unsigned lines = put_sentence(NULL, sentence.buf, verdict->outcome);
    const struct layout l = lay_out(verdict->job, lines);

    ni_putf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %u %u\" width=\"%u\" "
            "height=\"%u\" font-family=\"sans-serif\" font-size=\"12\">\n<title>",
            l.width, l.height, l.width, l.height);
    ni_put_xml(out, sentence.buf);
    ni_put(out, "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
    put_sentence(out, sentence.buf, verdict->outcome);
    put_verdict_legend(out, 42 + lines * LINE);
    put_pod_rows(out, verdict->job, &l);
    put_squares(out, verdict->job, l.squares);
    ni_put(out, "</svg>\n");
}
