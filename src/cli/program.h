/* SPDX-License-Identifier: Apache-2.0 */
/* A program: its verbs and its options. */
#ifndef NCCL_INIT_CLI_PROGRAM_H
#define NCCL_INIT_CLI_PROGRAM_H

#include "cli/option.h"
#include "nccl_init/guess.h"
#include "nccl_init/text.h"

struct ni_context;

/* Facts that a verb gathers beyond those of the allocated devices. */
enum {
    NI_GATHER_ALL = 1,    /* all HCAs, whole GID tables, all ways of GPUDirect RDMA */
    NI_GATHER_HEALTH = 2, /* facts for doctor's checks */
    NI_GATHER_OFF = 4,    /* the facts are gathered with --mode=off, too */
    NI_GATHER_IMAGE = 8   /* what the image brings for NCCL */
};

/* What a verb does to the machine, beside its output. A program asks before it starts one. */
enum ni_effect {
    NI_EFFECT_READS, /* nothing: it reads files */
    NI_EFFECT_FILE,  /* it may write a file that an option or operand names */
    NI_EFFECT_USES,  /* it uses the pod's HCAs, and moves data over them */
    NI_EFFECT_STARTS /* it becomes another program */
};
const char *ni_effect_text(enum ni_effect effect); /* "reads", "file", "uses", "starts" */

/* Carries out a verb. Returns the exit status. */
typedef int ni_verb_fn(struct ni_context *ctx);

struct ni_verb {
    const char *name;
    unsigned bit; /* NI_VERB_* */
    enum ni_effect effect;
    ni_verb_fn *run;
    unsigned gathers;     /* NI_GATHER_* */
    const char *operands; /* for people; NULL: it has none */
    const char *help;
    const char *examples; /* two lines, each after a line of comment */
    const char *see_also; /* other verbs, and documents */
    const char *group;    /* title of the verbs from here on; NULL: as above */
};

/* The first verb is the default. There are at most 64 options, because a set of them is a uint64_t.
   */
struct ni_program {
    const struct ni_verb *verb;
    unsigned n_verb;
    const struct ni_option_rows *const *rows;
    unsigned n_rows;
};

/* Find the row of a verb: by its bit NI_VERB_*, or by its name. NULL: there is none. */
const struct ni_verb *ni_verb_of(const struct ni_program *program, unsigned bit);
const struct ni_verb *ni_verb_named(const struct ni_program *program, struct ni_span name);
/* Finds the verb that a word which is none is likely to mean. */
struct ni_guess ni_guess_verb(const struct ni_program *program, const char *word);

/* Count the options of all rows, and return option number i; the first has number 0. */
unsigned ni_options_count(const struct ni_program *program);
const struct ni_option *ni_option_at(const struct ni_program *program, unsigned i);
/* Returns the struct of the room into which option number i writes; NULL: struct ni_options. */
void *ni_option_values(const struct ni_program *program, unsigned i);

#endif
