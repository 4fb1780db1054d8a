/* SPDX-License-Identifier: Apache-2.0 */
/* The one table of options. */
#ifndef NCCL_INIT_CLI_OPTIONS_H
#define NCCL_INIT_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nccl_init/findings.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"

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

/* The values of these enums are in the order of the words of their options (options.c). */
enum ni_demand { NI_DEMAND_OFF, NI_DEMAND_WARN, NI_DEMAND_REQUIRE };
enum ni_expect { NI_EXPECT_NOTHING, NI_EXPECT_RDMA, NI_EXPECT_GDR }; /* of `log` */
enum ni_log_level { NI_LOG_ERROR, NI_LOG_WARN, NI_LOG_INFO, NI_LOG_DEBUG };
enum ni_log_format { NI_LOG_TEXT, NI_LOG_JSON };

enum ni_format { NI_FMT_SH, NI_FMT_K8S, NI_FMT_DOCKER, NI_FMT_CONF, NI_FMT_JSON };

/* What the options say of it; what is not given is NULL, or below 0. */
struct ni_party_options {
    const char *peers, *job, *self; /* self: this machine's own name */
    int rank, ranks;
    unsigned port;
};

struct ni_options {
    struct ni_policy policy;
    const char *root;
    const char *plan; /* of `log`: a file; NULL: none */
    enum ni_expect expect;
    const char *output;                             /* file, NULL: standard output */
    const char *termination_log, *refusal_snapshot; /* NULL: no snapshot */
    bool ignore[NI_F_COUNT];                        /* findings that doctor leaves out */
    enum ni_format format;
    enum ni_log_level log_level;
    enum ni_log_format log_format;
    unsigned wait;                      /* seconds */
    enum ni_demand selftest, preflight; /* of `run`: what a port that fails, a bad verdict means */
    int64_t size, bytes;                /* of the self-test: registered; moved, 0: not given */
    unsigned deadline;                  /* of the self-test: seconds */
    struct ni_party_options party;
    unsigned within;        /* seconds */
    unsigned move_ms;       /* --seconds */
    const char *once, *svg; /* files; NULL: none */
    bool json, brief, probe;
    bool rules, gids, dot, mask, strict;
    bool secure;     /* the program has file capabilities or the like (AT_SECURE, see ld.so(8)) */
    bool own_rights; /* files are opened as the caller could: its user and group, no capability */
    const char *network_status; /* variable, or path below the root; NULL: the usual places */
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

extern const struct ni_option ni_options_table[];
extern const unsigned ni_options_count;

/* What an option has that nobody gave. */
void ni_options_init(struct ni_options *ret);
/* When all are read: --mode=rdma, --selftest=require and --preflight=require are short forms of words
   of --require, and where the command is to be started these words mean the test, too. */
void ni_options_settle(struct ni_options *o, bool runs);
/* A switch takes 1 and 0. 0, or -EINVAL and *ret as it was. Keeps value. */
int ni_option_take(const struct ni_option *option, const char *value, struct ni_options *ret);
/* SECONDS from 0 to 3600 */
void ni_put_values(struct ni_text *t, const struct ni_option *option);
/* NCCLINIT_KEEP_CAPS */
void ni_put_variable(struct ni_text *t, const struct ni_option *option);

#endif
