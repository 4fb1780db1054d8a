/* SPDX-License-Identifier: Apache-2.0 */
/* The first screen. It has the rows of a terminal, 24, where the facts allow it: what a finding
   advises is left out when there is no more room, what happened never is. */
#include "print/answer.h"

#include <string.h>

#include "nccl_init/findings.h"
#include "nccl_init/text.h"
#include "print/command.h"
#include "print/findings.h"
#include "print/layout.h"
#include "print/words.h"

enum {
    ROWS = 24,
    WORST = 3, /* findings that are shown whatever their severity */
    USUAL = 100
};

static int rows_of(const char *s)
{
    int n = 0;

    for (; *s; s++)
        n += *s == '\n';
    return n;
}

static void put_verdict(struct ni_text *out, const struct ni_view *view, const struct ni_answer *a)
{
    if (strlen(a->verdict) <= ni_columns(USUAL)) {
        ni_put_tinted(out, view->colour, a->tint, a->verdict);
        ni_put(out, "\n");
    } else {
        ni_put_wrapped(out, ni_columns(USUAL), 0, a->verdict);
    }
}

/* Puts what happened: "warning: hca.port.down: mlx5_10/1: port is DOWN; left out". */
static void put_what(struct ni_text *out, const struct ni_view *view, unsigned first)
{
    static const enum ni_tint tints[] = {NI_PLAIN, NI_YELLOW, NI_RED};
    const struct ni_finding *f = &view->findings->at[first];
    const enum ni_severity severity = ni_finding_severity(f->id);
    struct ni_text head = NI_TEXT(96), what = NI_TEXT(NI_FINDING_MESSAGE + 1024);

    ni_putf(&head, "%s: %s", ni_severity_text(severity), ni_finding_id(f->id));
    ni_put_tinted(out, view->colour, tints[severity], head.buf);
    ni_put(&what, f->subject[0] ? ": " : "");
    ni_put_subjects(&what, view->findings, first);
    ni_putf(&what, ": %s", f->message);
    ni_put_wrapped(out, ni_columns(USUAL), head.len, what.buf);
}

/* Returns true if the command shows all of this verb, or stands above. */
static bool is_said(const struct ni_text *out, const struct ni_answer *answer, const char *command)
{
    const char *what = strstr(command, ": ");

    return (what && answer->all && ni_has_prefix(what + 2, answer->all)) ||
           strstr(out->buf, command);
}

/* Puts what to do, if it has so many rows at most. */
static bool put_hint_in(struct ni_text *out, const struct ni_finding *f, int rows)
{
    struct ni_text hint = NI_TEXT(NI_FINDING_HINT), advice = NI_TEXT(2 * NI_FINDING_HINT);

    ni_put_hint(&hint, f);
    ni_put_below(&advice, hint.buf);
    if (rows_of(advice.buf) > rows)
        return false;
    ni_put(out, advice.buf);
    return true;
}

/* Puts below what happened what to do, if there is room for it, and the command, never wrapped. */
static void put_help(struct ni_text *out, const struct ni_view *view,
                     const struct ni_answer *answer, const struct ni_finding *f, int room)
{
    struct ni_text command = NI_TEXT(1024);
    struct ni_finding without = *f;
    const bool has_command =
        ni_put_command(&command, view, f) && !is_said(out, answer, command.buf);

    without.no_trial = true; /* who repairs it comes before the trial */
    if (!put_hint_in(out, f, room - has_command))
        (void)put_hint_in(out, &without, room - has_command);
    if (has_command)
        ni_putf(out, "      %s\n", command.buf);
}

/* Puts "  and 1 warning, 2 infos more": those from `at` on that are not errors. */
static void put_others(struct ni_text *out, const struct ni_findings *all, const unsigned *shown,
                       unsigned at, unsigned n)
{
    unsigned count[NI_ERROR + 1] = {0};
    const char *comma = "  and ";

    for (; at < n; at++)
        count[ni_finding_severity(all->at[shown[at]].id)]++;
    for (int severity = NI_WARNING; severity >= NI_INFO; severity--) {
        if (count[severity] == 0)
            continue;
        ni_putf(out, "%s%u %s%s", comma, count[severity],
                ni_severity_text((enum ni_severity)severity), ni_plural(count[severity]));
        comma = ", ";
    }
    if (*comma == ',')
        ni_put(out, " more\n");
    if (all->dropped > 0) {
        ni_put(out, "  ");
        ni_put_not_shown(out, all->dropped);
        ni_put(out, "\n");
    }
}

/* Returns the number of rows that the findings behind `at` need. */
static int rows_behind(unsigned at, unsigned n, unsigned errors)
{
    const unsigned last = n < WORST ? n : WORST;
    const unsigned worst = at + 1 < last ? last - at - 1 : 0; /* what happened, and a command */
    const unsigned others = errors > WORST ? errors - WORST : 0;

    return (int)(2 * worst + others) + (n > last + others);
}

/* Puts the n findings that are shown, the worst first; all errors. rows: there is room for so many. */
static void put_findings(struct ni_text *out, const struct ni_view *view,
                         const struct ni_answer *answer, const unsigned *shown, unsigned n,
                         int rows)
{
    const struct ni_findings *all = view->findings;
    const unsigned errors = ni_count_shown_findings(all, NI_ERROR);
    unsigned at = 0, left = errors;

    for (; at < n && (at < WORST || left > 0); at++) {
        const struct ni_finding *f = &all->at[shown[at]];
        const bool is_info = ni_finding_severity(f->id) == NI_INFO;
        struct ni_text what = NI_TEXT(NI_FINDING_MESSAGE + 2048);

        put_what(&what, view, shown[at]);
        const int room = rows - rows_of(out->buf) - rows_of(what.buf) - rows_behind(at, n, errors);
        if (is_info && room < 0)
            break;
        ni_put(out, what.buf);
        left -= ni_finding_severity(f->id) == NI_ERROR;
        if (at < WORST && !is_info)
            put_help(out, view, answer, f, at > 0 ? room : ROWS); /* of the worst, always */
    }
    put_others(out, all, shown, at, n);
}

/* Puts a command that says more of the same; nothing if it cannot be said. */
static void put_next(struct ni_text *out, const struct ni_view *view, const char *what,
                     const char *command, enum ni_verb_again verb)
{
    struct ni_text line = NI_TEXT(8192);

    if (!command)
        return;
    ni_put(&line, command);
    if (ni_put_again(&line, view, verb))
        ni_putf(out, "%s%s\n", what, line.buf);
}

/* Lists the findings as they are shown; `first` before the others, if it is not NULL. */
static unsigned list_findings(const struct ni_findings *all, const struct ni_finding *first,
                              unsigned ret[NI_MAX_FINDINGS])
{
    const unsigned n = ni_list_shown_findings(all, NI_INFO, ret);
    unsigned at = 0;

    while (first && at < n && &all->at[ret[at]] != first)
        at++;
    if (!first || at == n)
        return n;
    const unsigned its = ret[at];
    memmove(ret + 1, ret, at * sizeof(*ret));
    ret[0] = its;
    return n;
}

void ni_put_answer(struct ni_text *out, const struct ni_view *view, const struct ni_answer *answer)
{
    unsigned shown[NI_MAX_FINDINGS];
    const unsigned n = list_findings(view->findings, answer->first, shown);
    struct ni_text verdict = NI_TEXT(2048), findings = ni_long_text();

    put_verdict(&verdict, view, answer);
    /* with More, All, and blank ones */
    const int frame = 2 * rows_of(verdict.buf) + rows_of(answer->above) + rows_of(answer->below) +
                      (answer->node != NULL) + (*answer->below != '\0') + 4;
    put_findings(&findings, view, answer, shown, n, ROWS - frame);
    const bool tall = frame + rows_of(findings.buf) > ROWS;
    ni_put(out, verdict.buf);
    ni_put(out, answer->above);
    if (findings.len > 0)
        ni_putf(out, "\n%s", findings.buf);
    if (*answer->below)
        ni_putf(out, "%s%s", tall ? "" : "\n", answer->below);
    ni_put(out, tall ? "" : "\n");
    if (n > 0)
        ni_putf(out, "More: nccl-init explain %s\n",
                ni_finding_id(view->findings->at[shown[0]].id));
    put_next(out, view, "Node: ", answer->node, NI_OTHER_VERB);
    put_next(out, view, "All:  ", answer->all, NI_SAME_VERB);
    ni_put(out, verdict.buf);
    out->cut = out->cut || findings.cut;
    ni_free_text(&findings);
}
