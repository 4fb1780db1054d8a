/* SPDX-License-Identifier: Apache-2.0 */
/* A preflight as a picture: pods by rails, each a cell that is the bluer the faster it is. What is
   not good has a shape too, and a colour that all eyes tell from blue and from the others (Okabe and
   Ito's palette). Few pods are rows with names; of many each rail has a square of its own, with the
   pods in the order of their ranks. */
#include <stdlib.h>
#include <string.h>

#include "parts.h"
#include "preflight.h"

enum {
    NAMED_PODS = 64, /* more are squares */
    LEFT = 24,       /* margin */
    CELL_W = 64,     /* of a row */
    CELL_H = 22,
    NAME_W = 300,
    SPOT = 12,   /* side of a cell of a square */
    SQUARE = 32, /* pods in a row of a square */
    LINE_H = 18,
    COLUMNS = 160, /* letters in a line of text, at most */
    LINES = 24,    /* of findings, at most */
    WIDTH = 860    /* at least */
};

struct picture {
    struct ni_text *out;
    const struct ni_job_view *view;
    struct ni_job_cell *cells;
    int64_t top; /* the fastest, Mb/s */
    unsigned w, y;
};

/* Untrusted text as a text of XML. */
static void put_xml(struct ni_text *out, const char *s, size_t most)
{
    char buf[512];
    struct ni_text t = ni_text_on(buf, sizeof(buf));
    ni_put_quoted(&t, s, strlen(s), most);
    for (const char *c = buf; *c; c++) {
        if (strchr("<>&\"'", *c))
            ni_putf(out, "&#%d;", *c);
        else
            ni_putn(out, c, 1);
    }
}

static void put_text(struct picture *p, unsigned x, unsigned y, const char *how, const char *s)
{
    ni_putf(p->out, "<text x=\"%u\" y=\"%u\"%s>", x, y, how);
    put_xml(p->out, s, COLUMNS);
    ni_put(p->out, "</text>\n");
}

/* In lines as wide as the picture, where blanks allow; a letter is mostly narrower than so many
   units. */
static void put_paragraph(struct picture *p, const char *how, const char *s, unsigned letter)
{
    const size_t room = (p->w - 2 * LEFT) / letter, columns = room < COLUMNS ? room : COLUMNS;
    while (*s) {
        char line[COLUMNS + 1];
        size_t n = strlen(s) < columns ? strlen(s) : columns;
        for (size_t i = n; s[n] && i > columns / 2; i--) {
            if (s[i] == ' ') {
                n = i;
                break;
            }
        }
        (void)ni_copyn(line, sizeof(line), s, n);
        put_text(p, LEFT, p->y, how, line);
        p->y += LINE_H;
        s += n;
        s += *s == ' ';
    }
}

/* ---- a cell ---- */

#define GONE "#999999" /* of a pod that never came, or went away */

static const char *colour_of(const struct picture *p, unsigned rank, size_t at)
{
    static const char *const not_good[] = {
        [NI_RAIL_ABSENT] = "#eeeeee", [NI_RAIL_UNTRIED] = "#ffffff", [NI_RAIL_SLOW] = "#f0e442",
        [NI_RAIL_FAILED] = "#d55e00", [NI_RAIL_PATH] = "#cc79a7",
    };
    static const char *const blue[] = {"#b7d7ea", "#7fb6d8", "#3d8fc4", "#0072b2"};
    const uint8_t v = p->view->verdicts[at];
    const int64_t mbps = ni_job_speed(&p->cells[at]);
    if (p->view->job->missing[rank])
        return GONE;
    if (v != NI_RAIL_GOOD)
        return not_good[v];
    const int64_t percent = mbps > 0 && p->top > 0 ? mbps * 100 / p->top : 100;
    return blue[percent >= 90 ? 3 : percent >= 80 ? 2 : percent >= 65 ? 1 : 0];
}

/* Drawn in a square of 12 by 12; by verdict, and of a pod that is gone. */
static const char *const shapes[] = {
    [NI_RAIL_ABSENT] = NULL,
    [NI_RAIL_UNTRIED] = "M3 6h6",
    [NI_RAIL_GOOD] = NULL,
    [NI_RAIL_SLOW] = "M2.5 3.5h7L6 9.5z",
    [NI_RAIL_FAILED] = "M2.5 2.5l7 7m0-7l-7 7",
    [NI_RAIL_PATH] = "M2 10L10 2",
    "M3 6a3 3 0 1 0 6 0a3 3 0 1 0-6 0",
};
enum { SHAPE_GONE = NI_RAIL_PATH + 1 };

static void put_shape(struct picture *p, unsigned x, unsigned y, unsigned shape)
{
    if (shapes[shape])
        ni_putf(p->out,
                "<path d=\"%s\" transform=\"translate(%u %u)\" fill=\"none\" stroke=\"#000\" "
                "stroke-width=\"1.8\"/>",
                shapes[shape], x, y);
}

static void put_cell(struct picture *p, unsigned rank, unsigned rail, unsigned x, unsigned y,
                     unsigned w, unsigned h)
{
    const struct ni_job *job = p->view->job;
    const size_t at = (size_t)rank * job->n_rail + rail;
    const uint8_t v = p->view->verdicts[at];
    const int64_t mbps = ni_job_speed(&p->cells[at]);
    char name[2 * NI_POD_NAME + 8], speed[24];
    struct ni_text t = ni_text_on(name, sizeof(name)), gbps = ni_text_on(speed, sizeof(speed));
    ni_put_pod(&t, job, rank);
    ni_put_speed(&gbps, mbps);
    ni_putf(p->out, "<g><title>rail %u of ", rail);
    put_xml(p->out, name, sizeof(name));
    ni_putf(p->out,
            ": %s%s%s</title><rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" fill=\"%s\"%s/>",
            ni_word_rail[v], mbps > 0 ? ", Gb/s " : "", mbps > 0 ? speed : "", x, y, w - 1, h - 1,
            colour_of(p, rank, at),
            v == NI_RAIL_UNTRIED ? " stroke=\"#888\" stroke-dasharray=\"2 1\"" : "");
    put_shape(p, w > SPOT ? x + 4 : x, w > SPOT ? y + 5 : y, job->missing[rank] ? SHAPE_GONE : v);
    if (w > SPOT && mbps > 0)
        ni_putf(
            p->out, "<text x=\"%u\" y=\"%u\" text-anchor=\"end\"%s>%s</text>", x + w - 6, y + h - 7,
            colour_of(p, rank, at)[1] == '0' || colour_of(p, rank, at)[1] == '3' ? " fill=\"#fff\""
                                                                                 : "",
            speed);
    ni_put(p->out, "</g>\n");
}

/* ---- rows, or squares ---- */

static void put_rows(struct picture *p)
{
    const struct ni_job *job = p->view->job;
    for (unsigned r = 0; r < job->n_rail; r++) {
        char head[24];
        (void)ni_format(head, sizeof(head), "rail %u", r);
        put_text(p, LEFT + NAME_W + r * CELL_W, p->y, "", head);
    }
    p->y += 6;
    for (unsigned k = 0; k < job->ranks; k++, p->y += CELL_H) {
        static const char *const came[] = {"", ": never came", ": went away"};
        char name[2 * NI_POD_NAME + 32];
        struct ni_text t = ni_text_on(name, sizeof(name));
        ni_putf(&t, "%u  ", k);
        ni_put_pod(&t, job, k);
        ni_put(&t, came[job->missing[k]]);
        ni_putf(p->out, "<text x=\"%d\" y=\"%u\">", LEFT, p->y + CELL_H - 7);
        put_xml(p->out, name, NAME_W / 7);
        ni_put(p->out, "</text>\n");
        for (unsigned r = 0; r < job->n_rail; r++)
            put_cell(p, k, r, LEFT + NAME_W + r * CELL_W, p->y, CELL_W, CELL_H);
    }
}

static unsigned per_row(unsigned ranks)
{
    unsigned n = SQUARE;
    while (n * n < ranks)
        n *= 2;
    return n;
}

static unsigned squares_abreast(const struct ni_job *job)
{
    const unsigned n = job->n_rail < 4 ? job->n_rail : 4;
    return per_row(job->ranks) > SQUARE ? (n > 2 ? 2 : n) : n;
}

static void put_squares(struct picture *p)
{
    enum { NUMBER_W = 44 };
    const struct ni_job *job = p->view->job;
    const unsigned n = per_row(job->ranks), abreast = squares_abreast(job);
    const unsigned rows = (job->ranks + n - 1) / n;
    for (unsigned r = 0; r < job->n_rail; r++) {
        const unsigned x = LEFT + NUMBER_W + r % abreast * (n * SPOT + NUMBER_W + 16);
        char head[24];
        (void)ni_format(head, sizeof(head), "rail %u", r);
        put_text(p, x, p->y, " font-weight=\"bold\"", head);
        for (unsigned k = 0; k < rows; k++) {
            ni_putf(p->out, "<text x=\"%u\" y=\"%u\" text-anchor=\"end\" fill=\"#555\">%u</text>\n",
                    x - 6, p->y + 8 + k * SPOT + 10, k * n);
        }
        for (unsigned k = 0; k < job->ranks; k++)
            put_cell(p, k, r, x + k % n * SPOT, p->y + 8 + k / n * SPOT, SPOT, SPOT);
        if (r % abreast == abreast - 1 || r + 1 == job->n_rail)
            p->y += rows * SPOT + 40;
    }
    put_text(
        p, LEFT, p->y - 10, " fill=\"#555\"",
        "Each square is a rail; its cells are the pods in the order of their ranks. Numbers: the "
        "first rank of a row.");
}

static void put_legend(struct picture *p)
{
    static const struct {
        unsigned shape;
        const char *colour, *text;
    } rows[] = {
        {NI_RAIL_GOOD, "#0072b2", "good"},
        {NI_RAIL_GOOD, "#b7d7ea", "good, but slower"},
        {NI_RAIL_SLOW, "#f0e442", "slow"},
        {NI_RAIL_FAILED, "#d55e00", "failed"},
        {NI_RAIL_PATH, "#cc79a7", "fails with some"},
        {NI_RAIL_UNTRIED, "#ffffff", "not tried"},
        {SHAPE_GONE, GONE, "pod is gone"},
        {NI_RAIL_ABSENT, "#eeeeee", "no such rail"},
    };
    unsigned x = LEFT;
    for (size_t i = 0; i < NI_COUNT(rows); i++) {
        ni_putf(p->out,
                "<rect x=\"%u\" y=\"%u\" width=\"11\" height=\"11\" fill=\"%s\" "
                "stroke=\"#888\" stroke-width=\"0.5\"/>",
                x, p->y - 10, rows[i].colour);
        put_shape(p, x, p->y - 10, rows[i].shape);
        put_text(p, x + 17, p->y, "", rows[i].text);
        x += 44 + 6 * (unsigned)strlen(rows[i].text);
    }
    p->y += LINE_H + 12;
}

/* What is to be read before the cells are looked at. */
static void put_words(struct picture *p)
{
    const struct ni_findings *f = p->view->findings;
    char line[1024];
    unsigned told = 0;
    struct ni_text t = ni_text_on(line, sizeof(line));
    ni_put(&t, "preflight: ");
    ni_put_verdict(&t, p->view->job, p->view->verdicts, f, p->view->bad);
    put_paragraph(p, " font-size=\"15\" font-weight=\"bold\"", line, 10);
    for (enum ni_severity s = NI_ERROR; s > NI_INFO; s--) {
        for (unsigned i = 0; i < f->n; i++) {
            if (ni_finding_kind(f->at[i].id)->severity != s || told++ >= LINES)
                continue;
            (void)ni_format(line, sizeof(line), "%s: %s%s%s", ni_severity_text(s), f->at[i].subject,
                            f->at[i].subject[0] ? ": " : "", f->at[i].message);
            put_paragraph(p, "", line, 7);
        }
    }
    p->y += LINE_H;
}

static void draw(struct picture *p)
{
    p->y = 30;
    put_words(p);
    put_legend(p);
    if (p->view->job->ranks > NAMED_PODS)
        put_squares(p);
    else
        put_rows(p);
}

static void forget(struct ni_text *t)
{
    t->len = 0;
}

void ni_put_preflight_svg(struct ni_text *out, const struct ni_job_view *view)
{
    const struct ni_job *job = view->job;
    struct picture p = {.view = view, .cells = ni_job_cells(job)};
    char nowhere[64];
    struct ni_text first = ni_text_on(nowhere, sizeof(nowhere));
    if (!p.cells)
        return;
    for (size_t i = 0; i < (size_t)job->ranks * job->n_rail; i++)
        p.top = ni_job_speed(&p.cells[i]) > p.top ? ni_job_speed(&p.cells[i]) : p.top;
    p.w = job->ranks > NAMED_PODS
              ? 2 * LEFT + squares_abreast(job) * (per_row(job->ranks) * SPOT + 60)
              : 2 * LEFT + NAME_W + job->n_rail * CELL_W;
    p.w = p.w < WIDTH ? WIDTH : p.w;
    first.full = forget; /* to know how high it becomes */
    p.out = &first;
    draw(&p);
    p.out = out;
    ni_putf(p.out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %u %u\" width=\"%u\" "
            "height=\"%u\" font-family=\"sans-serif\" font-size=\"12\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            p.w, p.y + LEFT, p.w, p.y + LEFT);
    draw(&p);
    ni_put(p.out, "</svg>\n");
    free(p.cells);
}
