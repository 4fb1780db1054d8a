/* SPDX-License-Identifier: Apache-2.0 */
/* The verb schema: the command line, the findings, the rules and the variables in one JSON object,
   made of the tables that the program itself uses. */
#include "about/schema.h"

#include <string.h>

#include "cli/context.h"
#include "cli/flow.h"
#include "cli/option.h"
#include "findings/pages.h"
#include "nccl_init/findings.h"
#include "nccl_init/text.h"
#include "print/json_write.h"
#include "print/layout.h"
#include "rules/left_unset.h"
#include "rules/libraries.h"
#include "rules/rules.h"

/* ---- the command line ---- */

static void put_verbs_of(struct ni_json *j, const struct ni_program *program, unsigned verbs)
{
    ni_json_array(j, "verbs");
    for (unsigned i = 0; i < program->n_verb; i++) {
        if ((program->verb[i].bit & verbs) != 0)
            ni_json_text(j, NULL, program->verb[i].name);
    }
    ni_json_end(j);
}

static void put_verbs(struct ni_json *j, const struct ni_program *program)
{
    ni_json_array(j, "verbs");
    for (unsigned i = 0; i < program->n_verb; i++) {
        const struct ni_verb *verb = &program->verb[i];

        ni_json_object(j, NULL);
        ni_json_text(j, "name", verb->name);
        ni_json_text(j, "operands", verb->operands);
        ni_json_text(j, "help", verb->help);
        ni_json_text(j, "effect", ni_effect_text(verb->effect));
        ni_json_end(j);
    }
    ni_json_end(j);
}

static void put_options(struct ni_json *j, const struct ni_program *program)
{
    ni_json_array(j, "options");
    for (unsigned i = 0; i < ni_options_count(program); i++) {
        const struct ni_option *option = ni_option_at(program, i);
        struct ni_text name = NI_TEXT(64), variable = NI_TEXT(64);

        ni_putf(&name, "--%s", option->name);
        ni_put_variable(&variable, option);
        ni_json_object(j, NULL);
        ni_json_text(j, "name", name.buf);
        ni_json_text(j, "variable", variable.buf);
        ni_json_text(j, "value", option->arg);
        ni_json_text(j, "default", option->initial);
        ni_json_text(j, "help", option->help);
        put_verbs_of(j, program, option->verbs);
        ni_json_end(j);
    }
    ni_json_end(j);
}

/* ---- findings and rules ---- */

static const char *page_of(const struct ni_pages *pages, const char *id)
{
    for (unsigned i = 0; i < pages->n; i++) {
        if (strcmp(pages->at[i].id, id) == 0)
            return pages->at[i].text;
    }
    return NULL;
}

static void put_findings(struct ni_json *j)
{
    ni_finding_number sorted[NI_MAX_KINDS];
    const unsigned n = ni_list_finding_kinds(sorted);

    ni_json_array(j, "findings");
    for (unsigned i = 0; i < n; i++) {
        const struct ni_finding_kind *kind = ni_finding_kind(sorted[i]);

        ni_json_object(j, NULL);
        ni_json_text(j, "id", kind->id);
        ni_json_text(j, "severity", ni_severity_text(ni_finding_severity(sorted[i])));
        ni_json_text(j, "cost", ni_cost_text(kind->cost));
        ni_json_text(j, "note", kind->note);
        ni_json_text(j, "user", kind->user);
        ni_json_text(j, "admin", kind->admin);
        ni_json_text(j, "page", page_of(&ni_finding_pages, kind->id));
        ni_json_end(j);
    }
    ni_json_end(j);
}

static void put_rules(struct ni_json *j)
{
    ni_json_array(j, "rules");
    for (unsigned i = 0; ni_rule_id(i); i++) {
        ni_json_object(j, NULL);
        ni_json_text(j, "id", ni_rule_id(i));
        ni_json_text(j, "page", page_of(&ni_rule_pages, ni_rule_id(i)));
        ni_json_end(j);
    }
    ni_json_end(j);
}

/* ---- variables that a rule may set ---- */

static void put_variable(struct ni_json *j, const char *name, const char *rule, const char *unset)
{
    ni_json_object(j, NULL);
    ni_json_text(j, "name", name);
    ni_json_text(j, "rule", rule);
    ni_json_text(j, "unset", unset);
    ni_json_end(j);
}

static void put_library_variables(struct ni_json *j)
{
    struct ni_text all = NI_TEXT(1024);
    const char *rest = all.buf;
    struct ni_span word;

    ni_put_library_variables(&all);
    while (ni_split(&rest, ',', &word)) {
        struct ni_text name = NI_TEXT(64);

        word = ni_trim(word);
        ni_putn(&name, word.p, word.n);
        put_variable(j, name.buf, "for.libraries", NULL);
    }
}

static void put_variables(struct ni_json *j)
{
    ni_json_array(j, "variables");
    for (unsigned i = 0; ni_variable_at(i); i++) {
        const struct ni_variable *variable = ni_variable_at(i);
        struct ni_text unset = NI_TEXT(512);

        ni_putf(&unset, "NCCL %s", variable->by_itself);
        put_variable(j, variable->name, variable->rule, unset.buf);
    }
    put_library_variables(j);
    ni_json_end(j);
}

int ni_cmd_schema(struct ni_context *ctx)
{
    struct ni_text out = ni_long_text();
    struct ni_json j = ni_json_on(&out, NI_JSON_INDENTED);

    ni_json_object(&j, NULL);
    ni_json_int(&j, "schema", 1);
    ni_json_text(&j, "version", NCCL_INIT_VERSION);
    put_verbs(&j, ctx->program);
    put_options(&j, ctx->program);
    put_findings(&j);
    put_rules(&j);
    put_variables(&j);
    ni_json_end(&j);
    return ni_print_long(ctx, &out);
}
