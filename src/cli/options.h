/* SPDX-License-Identifier: Apache-2.0 */
/* Options that several verbs take, and how a tool adds its own. */
#ifndef NCCL_INIT_CLI_OPTIONS_H
#define NCCL_INIT_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nccl_init/plan.h"
#include "nccl_init/text.h"

struct ni_context;

enum {
    NI_VERB_RUN = 1 << 0,
    NI_VERB_ENV = 1 << 1,
    NI_VERB_PLAN = 1 << 2,
    NI_VERB_SNAPSHOT = 1 << 3,
    NI_VERB_TOPO = 1 << 4,
    NI_VERB_DOCTOR = 1 << 5,
    NI_VERB_SELFTEST = 1 << 6,
    NI_VERB_INSTALL = 1 << 7,
    NI_VERB_PREFLIGHT = 1 << 8,
    NI_VERB_LOG = 1 << 9
};

/* Verbs that read the node, or a recording of it. */
enum {
    NI_VERBS_OF_NODE = NI_VERB_RUN | NI_VERB_ENV | NI_VERB_PLAN | NI_VERB_SNAPSHOT | NI_VERB_TOPO |
                       NI_VERB_DOCTOR | NI_VERB_SELFTEST | NI_VERB_PREFLIGHT
};

/* The values of these enums are in the order of the words of their options. */
enum ni_log_level { NI_LOG_ERROR, NI_LOG_WARN, NI_LOG_INFO, NI_LOG_DEBUG };
enum ni_log_format { NI_LOG_TEXT, NI_LOG_JSON };

/* Values of the options that several verbs take. */
struct ni_options {
    struct ni_policy policy;
    const char *root;
    const char *output;          /* file; NULL: standard output */
    const char *termination_log; /* file */
    const char *network_status;  /* variable, or path below the root; NULL: the usual places */
    enum ni_log_level log_level;
    enum ni_log_format log_format;
    unsigned wait; /* seconds */
    bool json, strict;
    bool secure;     /* the program has file capabilities or the like (AT_SECURE, see ld.so(8)) */
    bool own_rights; /* files are opened as the caller could: its user and group, no capability */
};

enum {                             /* beside NI_VERB_* */
       NI_OPTION_POLICY = 1 << 30, /* part of the plan: of a recording the recorded value counts */
       NI_OPTION_FILE = 1 << 29,   /* names a file: not from the environment in secure execution */
       NI_OPTION_CAREFUL =
           1 << 27,               /* ... but from there, too, with the caller's own rights alone */
       NI_OPTION_DEMAND = 1 << 28 /* a wrong value in its variable is a demand not met */
};

/* One option: `--name`, and the variable NCCLINIT_NAME. A set of options is a uint64_t with a bit
   for each row of the table. */
struct ni_option {
    const char *name;
    unsigned verbs;      /* NI_VERB_* that take it, NI_OPTION_* */
    const char *arg;     /* its values, for people and for `take`; NULL: a switch */
    const char *initial; /* the value that it has if nobody gives one; NULL: none */
    /* Reads a value into the member of struct ni_options that begins at `at`. 0, or -EINVAL and
       nothing is changed. */
    int (*take)(const struct ni_option *option, const char *value, void *at);
    size_t at;
    int64_t least, most; /* of a number, in the unit of that member */
    const char *help;
};

/* Rows of options that a room adds to the program. */
struct ni_option_rows {
    const struct ni_option *at;
    unsigned n;
    void *values; /* of the room: what `at` of its rows points into; NULL: struct ni_options */
    size_t size;  /* of the values */
};

/* Options that several verbs take: those that the plan depends on, and others. */
extern const struct ni_option_rows ni_policy_rows, ni_common_rows;

/* All options have the values that they have if nobody gives one. */
void ni_options_init(struct ni_context *ctx);
/* When all are read: --mode=rdma, --selftest=require and --preflight=require are short forms of words
   of --require, and where the command is to be started these words mean the test, too. */
void ni_options_settle(struct ni_options *o, bool runs);
/* Reads a value of option number i of the program. A switch takes 1 and 0. 0, or -EINVAL and nothing is
   changed. Keeps value. */
int ni_option_take(struct ni_context *ctx, unsigned i, const char *value);
/* Whether a value of an option that several verbs take is right. 0 or -EINVAL. */
int ni_option_check(const struct ni_option *option, const char *value);
/* NCCLINIT_KEEP_CAPS */
void ni_put_variable(struct ni_text *t, const struct ni_option *option);

#endif
