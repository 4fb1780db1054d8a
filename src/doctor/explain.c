/* SPDX-License-Identifier: Apache-2.0 */
/* The verb explain: the page of a finding or a rule, the list of those whose id begins with a word,
   or of all, or what is known of a text; and what of it holds here. */
#include "doctor/explain.h"

#include <string.h>

#include "cli/context.h"
#include "cli/flow.h"
#include "cli/say.h"
#include "doctor/explain_text.h"
#include "doctor/here.h"
#include "findings/device.h"
#include "findings/job.h"
#include "findings/log.h"
#include "findings/pod.h"
#include "findings/setting.h"
#include "findings/verbs.h"
#include "nccl_init/findings.h"
#include "nccl_init/text.h"
#include "print/layout.h"
#include "rules/rules.h"

/* Puts the ids of a kind of findings, a line each, as long as a line may be. */
static void put_kind(struct ni_text *out, const char *title, unsigned first, unsigned end)
{
    enum { ID = 26, SEVERITY = 7, USUAL = 100, LEAST = 16 };
    const size_t columns = ni_columns(USUAL), before = 2 + ID + 2 + SEVERITY + 2;

    ni_putf(out, "%s\n", title);
    for (unsigned i = first; i < end; i++) {
        ni_putf(out, "  %-*s  %-*s", ID, ni_finding_id(i), SEVERITY,
                ni_severity_text(ni_finding_severity(i)));
        if (columns >= before + LEAST) {
            ni_put(out, "  ");
            ni_put_title(out, i, columns - before);
        }
        ni_put(out, "\n");
    }
    ni_put(out, "\n");
}

static void put_ids(struct ni_text *out)
{
    put_kind(out, "Devices of the node and the pod", NI_FINDINGS_DEVICE, NI_FINDINGS_DEVICE_END);
    put_kind(out, "The pod", NI_FINDINGS_POD, NI_FINDINGS_POD_END);
    put_kind(out, "Settings", NI_FINDINGS_SETTING, NI_FINDINGS_SETTING_END);
    put_kind(out, "The pods of a job (preflight)", NI_FINDINGS_JOB, NI_FINDINGS_JOB_END);
    put_kind(out, "RDMA by libibverbs (selftest)", NI_FINDINGS_VERBS, NI_FINDINGS_VERBS_END);
    put_kind(out, "Logs (log)", NI_FINDINGS_LOG, NI_FINDINGS_LOG_END);
    ni_put(out,
           "`nccl-init explain ID` shows the page of one, `explain TEXT` the one for a line of "
           "a log or\na variable. `nccl-init plan --rules` lists the rules.\n");
}

/* Returns the place of the rule that has this id; behind the last one: none has. */
static unsigned find_rule(struct ni_span id)
{
    unsigned at = 0;

    while (ni_rule_id(at) && !ni_span_is(id, ni_rule_id(at)))
        at++;
    return at;
}

static void put_rule(struct ni_text *out, unsigned at)
{
    ni_put(out, "rule ");
    ni_put_rule(out, at);
    ni_put(out, "\n");
    ni_put_rule_page(out, ni_rule_id(at));
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

/* Returns the word as an id, as copied from a line of doctor: without the colon behind it. */
static struct ni_span id_of(const char *word)
{
    struct ni_span id = ni_span_of(word);

    if (id.n > 0 && id.p[id.n - 1] == ':')
        id.n--;
    return id;
}

/* Returns true if each word is the id of a finding or a rule. */
static bool are_ids(char *const *word)
{
    for (; *word; word++) {
        const struct ni_span id = id_of(*word);

        if (ni_finding_named(id) == NI_F_NONE && !ni_rule_id(find_rule(id)))
            return false;
    }
    return true;
}

/* Puts the pages of words that are ids, and what holds here of each. 0, or an exit status. */
static int explain_ids(struct ni_context *ctx, struct ni_text *out)
{
    bool told;
    const int status = ni_look_here(ctx, &told);

    for (char *const *word = ctx->operands; status == 0 && *word; word++) {
        const struct ni_span id = id_of(*word);
        struct ni_topic topic = {.finding = ni_finding_named(id)};

        ni_put(out, out->len > 0 ? "\n" : "");
        if (topic.finding != NI_F_NONE) {
            ni_put_finding_page(out, topic.finding);
        } else {
            topic.rule = ni_rule_id(find_rule(id));
            put_rule(out, find_rule(id));
        }
        if (told)
            ni_put_here(ctx, out, &topic);
    }
    return status;
}

/* Says that nothing is known of the text, and what else can help. */
static int refuse_text(struct ni_context *ctx, struct ni_span text)
{
    struct ni_text shown = NI_TEXT(512);

    ni_put_quoted(&shown, text.p, text.n, 100);
    ni_say(
        ctx, NI_LOG_ERROR,
        "nothing is known about `%s`; `nccl-init log FILE` reads the whole log (NCCL_DEBUG=INFO), "
        "`nccl-init doctor` looks at this pod, `nccl-init explain` lists all ids",
        shown.buf);
    return NI_EXIT_FAILED;
}

/* Puts what is known of the words, which are one text, and what holds here of it. 0, or an exit
   status. */
static int explain_words(struct ni_context *ctx, struct ni_text *out)
{
    struct ni_text joined = ni_long_text();
    struct ni_topic topic = {.finding = NI_F_NONE};
    bool told = false;
    int status = 0;

    for (char *const *word = ctx->operands; *word; word++)
        ni_putf(&joined, "%s%s", word == ctx->operands ? "" : " ", *word);
    const struct ni_span text = {joined.buf, joined.len};

    if (ctx->operands[1] || !put_ids_with(out, text)) {
        if (ni_explain_text(out, text, &topic))
            status = ni_look_here(ctx, &told);
        else
            status = refuse_text(ctx, text);
    }
    if (told)
        ni_put_here(ctx, out, &topic);
    ni_free_text(&joined);
    return status;
}

int ni_cmd_explain(struct ni_context *ctx)
{
    struct ni_text text = ni_long_text();
    int status = 0;

    if (!*ctx->operands)
        put_ids(&text);
    else if (are_ids(ctx->operands))
        status = explain_ids(ctx, &text);
    else
        status = explain_words(ctx, &text);
    if (status == 0)
        return ni_print_long(ctx, &text);
    ni_free_text(&text);
    return status;
}
