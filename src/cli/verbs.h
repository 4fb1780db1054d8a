/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the table of verbs. */
#ifndef NCCL_INIT_CLI_VERBS_H
#define NCCL_INIT_CLI_VERBS_H

#include "nccl_init/text.h"

struct ni_context;

/* What a verb gathers beyond what the pod was given. */
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

/* The verbs of a program. The first is the one that a command line without a verb means. */
struct ni_verbs {
    const struct ni_verb *at;
    unsigned n;
};

/* The row of ctx->verb; of a name, NULL: there is none. */
const struct ni_verb *ni_verb_of(const struct ni_context *ctx);
const struct ni_verb *ni_verb_named(const struct ni_verbs *verbs, struct ni_span name);

#endif
