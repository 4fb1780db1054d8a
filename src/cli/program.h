/* SPDX-License-Identifier: Apache-2.0 */
/* A program: its verbs and its options. */
#ifndef NCCL_INIT_CLI_PROGRAM_H
#define NCCL_INIT_CLI_PROGRAM_H

#include "cli/option.h"
#include "nccl_init/text.h"

struct ni_context;

/* Facts that a verb gathers beyond those of the allocated devices. */
enum {
    NI_GATHER_ALL = 1,    /* all HCAs, whole GID tables, all ways of GPUDirect RDMA */
    NI_GATHER_HEALTH = 2, /* what only doctor looks at */
    NI_GATHER_OFF = 4     /* with --mode=off too */
};

/* Returns the exit status. */
typedef int ni_verb_fn(struct ni_context *ctx);

struct ni_verb {
    const char *name;
    unsigned bit; /* NI_VERB_* */
    ni_verb_fn *run;
    unsigned gathers;     /* NI_GATHER_* */
    const char *operands; /* for people; NULL: it has none */
    const char *help;
};

/* The first verb is the one that a command line without a verb means. The options are at most 64: a
   set of them is a uint64_t. */
struct ni_program {
    const struct ni_verb *verb;
    unsigned n_verb;
    const struct ni_option_rows *const *rows;
    unsigned n_rows;
};

/* The row of a bit NI_VERB_*; of a name, NULL: there is none. */
const struct ni_verb *ni_verb_of(const struct ni_program *program, unsigned bit);
const struct ni_verb *ni_verb_named(const struct ni_program *program, struct ni_span name);

/* Options of all rows have numbers from 0 on. */
unsigned ni_options_count(const struct ni_program *program);
const struct ni_option *ni_option_at(const struct ni_program *program, unsigned i);
/* The values of its room; NULL: those that several verbs take. */
void *ni_option_values(const struct ni_program *program, unsigned i);

#endif
