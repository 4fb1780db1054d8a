/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a preflight, as a picture: a row for each pod, a column for each rail; many pods
   stand side by side in a row. A bluer mark is a faster rail. A rail that is not good has
   another shape too, and a colour that all eyes tell from blue and from the others (Okabe and
   Ito's palette). */
#include "preflight/report_svg.h"

#include <string.h>

#include "cli/flow.h"
#include "nccl_init/text.h"
#include "preflight/job.h"
#include "preflight/report.h"
#include "print/svg.h"
#include "rail/step.h"

enum { LEFT = 24, TOP = 110, ROWS = 64 /* at most, up to 1024 pods */, MARK = 12 };

/* The shape and colour of a mark, by verdict. */
static const struct {
    const char *colour, *shape;
} styles[NI_RAIL_VERDICTS] = {
    [NI_RAIL_ABSENT] = {"#eeeeee", ""},
    [NI_RAIL_GONE] = {"#999999", "M3 6a3 3 0 1 0 6 0a3 3 0 1 0-6 0"},
    [NI_RAIL_UNTRIED] = {"#ffffff", "M3 6h6"},
    [NI_RAIL_GOOD] = {"#56b4e9", ""},
    [NI_RAIL_SLOW] = {"#f0e442", "M2.5 3.5h7L6 9.5z"},
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

void ni_put_preflight_svg(struct ni_text *out, const struct ni_verdict *verdict)
{
    enum { LETTERS = 110 /* of the sentence */ };
    const struct ni_job *job = verdict->job;
    unsigned across = 1;

    while ((job->ranks + across - 1) / across > ROWS)
        across *= 2;
    const bool named = across == 1;
    const unsigned first = LEFT + (named ? 300 : 44), row = named ? 20 : MARK;
    const unsigned column = named ? 60 : across * MARK + 16;
    const unsigned wide = first + job->n_rail * column + LEFT, w = wide < 860 ? 860 : wide;
    const unsigned h = TOP + (job->ranks + across - 1) / across * row + LEFT;
    struct ni_text sentence = NI_TEXT(1024), head = NI_TEXT(1024);
    ni_putf(&sentence, "preflight: %s", verdict->line);
    ni_put_quoted(&head, sentence.buf, sentence.len, LETTERS);
    ni_putf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %u %u\" width=\"%u\" "
            "height=\"%u\" font-family=\"sans-serif\" font-size=\"12\">\n<title>",
            w, h, w, h);
    ni_put_xml(out, sentence.buf);
    ni_put(out, "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
    ni_put_svg_text(out, LEFT, 30, head.buf);
    put_verdict_legend(out, 60);
    for (unsigned r = 0; r < job->n_rail; r++) {
        struct ni_text t = NI_TEXT(24);

        ni_putf(&t, "rail %u", r);
        ni_put_svg_text(out, first + r * column, TOP - 8, t.buf);
    }
    for (unsigned p = 0; p < job->ranks; p++) {
        const unsigned y = TOP + p / across * row;
        struct ni_text t = NI_TEXT(600);

        ni_putf(&t, named ? "%u  " : "%u", p);
        if (named)
            ni_put_pod(&t, job, p);
        if (p % across == 0)
            ni_put_svg_text(out, LEFT, y + MARK - 2, t.buf);
        for (unsigned r = 0; r < job->n_rail; r++)
            put_rail(out, job, p, r, first + r * column + p % across * MARK, y, named);
    }
    ni_put(out, "</svg>\n");
}
