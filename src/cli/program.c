/* SPDX-License-Identifier: Apache-2.0 */
/* A program: its verbs and its options. */
#include "cli/program.h"

#include "cli/option.h"
#include "nccl_init/guess.h"
#include "nccl_init/text.h"

const char *ni_effect_text(enum ni_effect effect)
{
    static const char *const text[] = {
        [NI_EFFECT_READS] = "reads",
        [NI_EFFECT_FILE] = "file",
        [NI_EFFECT_USES] = "uses",
        [NI_EFFECT_STARTS] = "starts",
    };

    return text[effect];
}

const struct ni_verb *ni_verb_of(const struct ni_program *program, unsigned bit)
{
    for (unsigned i = 0; i < program->n_verb; i++) {
        if (program->verb[i].bit == bit)
            return &program->verb[i];
    }
    return NULL;
}

const struct ni_verb *ni_verb_named(const struct ni_program *program, struct ni_span name)
{
    for (unsigned i = 0; i < program->n_verb; i++) {
        if (ni_span_is(name, program->verb[i].name))
            return &program->verb[i];
    }
    return NULL;
}

struct ni_guess ni_guess_verb(const struct ni_program *program, const char *word)
{
    struct ni_guess guess = ni_guess_of(ni_span_of(word));

    for (unsigned i = 0; i < program->n_verb; i++)
        ni_guess_try(&guess, ni_span_of(program->verb[i].name));
    return guess;
}

unsigned ni_options_count(const struct ni_program *program)
{
    unsigned n = 0;

    for (unsigned i = 0; i < program->n_rows; i++)
        n += program->rows[i]->n;
    return n;
}

/* Finds the rows that have option number *i. *i becomes its number among these rows. */
static const struct ni_option_rows *rows_of(const struct ni_program *program, unsigned *i)
{
    unsigned k = 0;

    while (*i >= program->rows[k]->n) {
        *i -= program->rows[k]->n;
        k++;
    }
    return program->rows[k];
}

const struct ni_option *ni_option_at(const struct ni_program *program, unsigned i)
{
    const struct ni_option_rows *rows = rows_of(program, &i);

    return &rows->at[i];
}

void *ni_option_values(const struct ni_program *program, unsigned i)
{
    return rows_of(program, &i)->values;
}
