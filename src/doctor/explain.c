/* SPDX-License-Identifier: Apache-2.0 */
/* The verb explain: the page of a finding, the row of a rule, or the list of those whose id begins
   with a word, or of all. */
#include "doctor/explain.h"

#include <string.h>

#include "cli/context.h"
#include "cli/flow.h"
#include "cli/say.h"
#include "doctor/doctor.h"
#include "findings/pages.h"
#include "nccl_init/findings.h"
#include "nccl_init/guess.h"
#include "nccl_init/text.h"
#include "print/layout.h"
#include "rules/rules.h"

static int refuse_id(struct ni_context *ctx, struct ni_span id)
{
    struct ni_guess guess = ni_guess_of(id);
    struct ni_text hint = NI_TEXT(128);

    ni_guess_finding(&guess);
    for (unsigned i = 0; ni_rule_id(i); i++)
        ni_guess_try(&guess, ni_span_of(ni_rule_id(i)));
    ni_put(&hint, guess.best.n > 0 ? "" : "; `nccl-init explain` lists all");
    ni_put_guess(&hint, &guess, "");
    return ni_usage(ctx, "no finding or rule has the id `%.*s`%s", id.n < 128 ? (int)id.n : 128,
                    id.p, hint.buf);
}

/* Puts a line of a page: code as it is, an item of a list with its lines below each other. */
static void put_page_line(struct ni_text *out, struct ni_span line)
{
    char buf[4096];
    struct ni_text text = ni_text_on(buf, sizeof(buf));
    const unsigned bullet = ni_has_prefix(line.p, "- ") ? 2 : 0;

    if (line.n == 0 || line.p[0] == ' ') {
        ni_putn(out, line.p, line.n);
        ni_put(out, "\n");
        return;
    }
    ni_putn(&text, line.p + bullet, line.n - bullet);
    ni_putn(out, line.p, bullet);
    ni_put_paragraph(out, bullet, buf);
}

static void put_page(struct ni_text *out, ni_finding_number finding)
{
    const char *id = ni_finding_id(finding);
    struct ni_span line;

    ni_putf(out, "%s (%s)\n\n", id, ni_severity_text(ni_finding_severity(finding)));
    for (unsigned i = 0; i < ni_n_pages; i++) {
        const char *rest = ni_pages[i].text;

        if (strcmp(ni_pages[i].id, id) != 0)
            continue;
        while (ni_split(&rest, '\n', &line)) {
            if (rest) /* behind the last newline there is nothing */
                put_page_line(out, line);
        }
    }
}

static void put_ids(struct ni_text *out)
{
    struct ni_text table = ni_table_on("FINDING\tSEVERITY");
    ni_finding_number sorted[NI_MAX_KINDS];
    const unsigned n = ni_list_finding_kinds(sorted);

    for (unsigned i = 0; i < n; i++) {
        ni_put(ni_row(&table, NI_PLAIN), ni_finding_id(sorted[i]));
        ni_put(ni_cell(&table), ni_severity_text(ni_finding_severity(sorted[i])));
    }
    ni_table_write(out, &table, false);
    ni_put(out,
           "\n`nccl-init explain ID` shows the page of one. `nccl-init plan --rules` lists the "
           "rules.\n");
}

/* Puts the rule that has this id. false: none has. */
static bool put_rule_page(struct ni_text *out, struct ni_span id)
{
    unsigned at = 0;

    while (ni_rule_id(at) && !ni_span_is(id, ni_rule_id(at)))
        at++;
    if (!ni_rule_id(at))
        return false;
    ni_put(out, "rule ");
    ni_put_rule(out, at);
    ni_putf(out,
            "\n`nccl-init plan` shows what it decided here. What it decides, and why: "
            "docs/reference/rules.md, `%s`.\n",
            ni_rule_id(at));
    return true;
}

static bool begins_with(const char *known, struct ni_span word)
{
    return word.n > 0 && strlen(known) > word.n && memcmp(known, word.p, word.n) == 0;
}

/* Puts the rules and findings whose id begins with the word, but is longer. false: there is none.
   */
static bool put_ids_with(struct ni_text *out, struct ni_span word)
{
    struct ni_text table = ni_table_on("ID\tKIND");
    const size_t head = table.len;
    ni_finding_number sorted[NI_MAX_KINDS];
    const unsigned n = ni_list_finding_kinds(sorted);

    for (unsigned i = 0; ni_rule_id(i); i++) {
        if (!begins_with(ni_rule_id(i), word))
            continue;
        ni_put(ni_row(&table, NI_PLAIN), ni_rule_id(i));
        ni_put(ni_cell(&table), "rule");
    }
    for (unsigned i = 0; i < n; i++) {
        if (!begins_with(ni_finding_id(sorted[i]), word))
            continue;
        ni_put(ni_row(&table, NI_PLAIN), ni_finding_id(sorted[i]));
        ni_put(ni_cell(&table), ni_severity_text(ni_finding_severity(sorted[i])));
    }
    if (table.len == head) {
        ni_free_text(&table);
        return false;
    }
    ni_put(out, "Ids that begin with `");
    ni_put_quoted(out, word.p, word.n, word.n);
    ni_put(out, "`\n");
    ni_table_write(out, &table, false);
    return true;
}

/* Puts what there is for the word: a page, a rule, ids that begin so. 0, or an exit status. */
static int explain_word(struct ni_context *ctx, struct ni_text *out, struct ni_span word)
{
    const ni_finding_number finding = ni_finding_named(word);

    ni_put(out, out->len > 0 ? "\n" : "");
    if (finding != NI_F_NONE) {
        put_page(out, finding);
        return 0;
    }
    if (put_rule_page(out, word) || put_ids_with(out, word))
        return 0;
    return refuse_id(ctx, word);
}

int ni_cmd_explain(struct ni_context *ctx)
{
    struct ni_text text = ni_long_text();
    int status = 0;

    if (!*ctx->operands)
        put_ids(&text);
    for (char *const *operand = ctx->operands; *operand && status == 0; operand++) {
        struct ni_span id = ni_span_of(*operand);

        if (id.n > 0 && id.p[id.n - 1] == ':') /* as copied from a line of doctor */
            id.n--;
        status = explain_word(ctx, &text, id);
    }
    if (status == 0)
        return ni_print_long(ctx, &text);
    ni_free_text(&text);
    return status;
}
