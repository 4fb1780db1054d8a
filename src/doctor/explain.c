/* SPDX-License-Identifier: Apache-2.0 */
/* The verb explain: the page of a finding, or the list of all. */
#include "doctor/explain.h"

#include <string.h>

#include "cli/context.h"
#include "cli/flow.h"
#include "cli/say.h"
#include "doctor/doctor.h"
#include "nccl_init/findings.h"
#include "nccl_init/guess.h"
#include "nccl_init/text.h"
#include "print/layout.h"

static int refuse_id(struct ni_context *ctx, struct ni_span id)
{
    struct ni_guess guess = ni_guess_of(id);
    struct ni_text hint = NI_TEXT(128);

    ni_guess_finding(&guess);
    ni_put(&hint, guess.best.n > 0 ? "" : "; `nccl-init explain` lists all");
    ni_put_guess(&hint, &guess, "");
    return ni_usage(ctx, "no finding has the id `%.*s`%s", id.n < 128 ? (int)id.n : 128, id.p,
                    hint.buf);
}

/* Unpacks a text: each byte from 128 on becomes its pair, until there are only characters. Each byte
   of a pair is smaller than the byte that stands for the pair, so the stack is never deeper than
   there are such bytes. */
static void unpack(struct ni_text *out, const char *packed)
{
    unsigned char waiting[NI_PAGE_CODES + 1];
    unsigned n = 0;

    for (; *packed; packed++) {
        waiting[n++] = (unsigned char)*packed;
        while (n > 0) {
            const unsigned char byte = waiting[--n];
            const char plain = (char)byte;

            if (byte < NI_PAGE_CODES) {
                ni_putn(out, &plain, 1);
                continue;
            }
            waiting[n++] = ni_page_pairs[byte - NI_PAGE_CODES][1];
            waiting[n++] = ni_page_pairs[byte - NI_PAGE_CODES][0];
        }
    }
}

/* Puts a line of a page: code as it is, an item of a list with its lines below each other. */
static void put_page_line(struct ni_text *out, struct ni_span line)
{
    char buf[4096];
    struct ni_text text = ni_text_on(buf, sizeof(buf));
    const bool item = ni_has_prefix(line.p, "- ");

    if (line.n == 0 || line.p[0] == ' ') {
        ni_putn(out, line.p, line.n);
        ni_put(out, "\n");
        return;
    }
    ni_putn(&text, line.p + (item ? 2 : 0), line.n - (item ? 2 : 0));
    ni_put(out, item ? "- " : "");
    ni_put_paragraph(out, item ? 2 : 0, buf);
}

static void put_page(struct ni_text *out, unsigned kind)
{
    const struct ni_finding_kind *of = ni_finding_kind(kind);
    struct ni_span line;

    ni_putf(out, "%s (%s)\n\n", of->id, ni_severity_text(of->severity));
    for (unsigned i = 0; i < ni_n_pages; i++) {
        struct ni_text page;
        const char *rest;

        if (strcmp(ni_pages[i].id, of->id) != 0)
            continue;
        page = ni_long_text();
        unpack(&page, ni_pages[i].text);
        rest = page.buf;
        while (ni_split(&rest, '\n', &line)) {
            if (rest) /* behind the last newline there is nothing */
                put_page_line(out, line);
        }
        out->cut = out->cut || page.cut;
        ni_free_text(&page);
    }
}

static void put_ids(struct ni_text *out)
{
    struct ni_text table = ni_table_on("FINDING\tSEVERITY");
    enum ni_finding_id sorted[NI_F_COUNT];

    ni_finding_kinds_sort(sorted);
    for (unsigned i = 0; i < NI_F_COUNT; i++) {
        const struct ni_finding_kind *kind = ni_finding_kind(sorted[i]);

        ni_put(ni_row(&table, NI_PLAIN), kind->id);
        ni_put(ni_cell(&table), ni_severity_text(kind->severity));
    }
    ni_table_write(out, &table, false);
    ni_put(out, "\n`nccl-init explain ID` shows the page of one.\n");
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
        const unsigned kind = ni_finding_named(id);

        if (kind == NI_F_COUNT) {
            status = refuse_id(ctx, id);
            continue;
        }
        ni_put(&text, text.len > 0 ? "\n" : "");
        put_page(&text, kind);
    }
    if (status == 0)
        return ni_print_long(ctx, &text);
    ni_free_text(&text);
    return status;
}
