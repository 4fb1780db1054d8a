/* SPDX-License-Identifier: Apache-2.0 */
/* cmd: the command line. One file per verb; the only room that prints. */
#ifndef NCCL_INIT_CMD_H
#define NCCL_INIT_CMD_H

#include "nccl_init/base.h"
#include "nccl_init/env.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "node/node.h"
#include "print/report.h"
#include "rules/rules.h"
#include "sysroot/sysroot.h"

/* ---- options ---- */

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

/* Both read options of ctx->verb that ctx->taken lacks, and add them there. 0, or an exit status after
   saying what is wrong. The command line: up to `--` or the first operand. */
struct ni_context;
int ni_args_parse(struct ni_context *ctx, char *const word[]);
/* NCCLINIT_*; recorded: only options of the plan. Then the options are settled. For `run` and in a
   recording what is wrong is ignored and a finding; so is an option that names a file in secure
   execution. But a demand that cannot be understood is not met: `run` says why and ends; in a
   recording, and of an option of `run` alone for `plan` and `doctor`, the plan will refuse. */
int ni_args_env(struct ni_context *ctx, const struct ni_env *env, bool recorded);

/* ---- one invocation ---- */

enum { NI_RECORDED_ENV = 1 << 21 }; /* the longest environment that is recorded, in bytes */

/* All state of the program. Zeroed at start; what is not touched costs nothing. */
struct ni_context {
    struct ni_options options;
    const struct ni_verbs *verbs;
    uint64_t taken; /* options that the command line or the caller's environment gave */
    unsigned verb;  /* NI_VERB_* */
    char *const *operands;
    bool separator;      /* they stand behind `--` */
    bool help;           /* it is asked for */
    struct ni_env own;   /* the caller's environment */
    struct ni_env env;   /* the pod's: the caller's, or the one that the root records */
    char *recorded;      /* what the latter's entries point into; NULL: none */
    struct ni_root root; /* opened by ni_flow */
    bool opened;         /* the root is */
    bool stderr_dead;    /* nobody reads it: say no more */
    bool progress;       /* a line of progress stands on it */
    int64_t memlock;     /* from ni_flow on: the soft limit in force, in bytes; -1: not known */
    struct ni_work work; /* on what follows */
    struct ni_inventory inventory;
    struct ni_plan plan;
    struct ni_findings findings;
    unsigned n_said, dropped_said; /* of them, by ni_say_findings */
};

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

/* The first steps of the process: descriptors 0 to 2 are not left free, file capabilities are put down.
   0, or an exit status after saying why. */
int ni_start(struct ni_context *ctx);
/* A zeroed context, with options as nobody gave them. */
void ni_context_init(struct ni_context *ctx, const struct ni_verbs *verbs, char *const envp[]);
/* The program behind main. Returns the exit status; does not return when a command was started. */
int ni_main(struct ni_context *ctx, const struct ni_verbs *verbs, int argc, char *argv[],
            char *envp[]);

/* ---- what all verbs do first ---- */

/* Exit status of a verb other than `run` whose output could not be made. */
enum { NI_EXIT_FAILED = 1 };

/* Opens the root, chooses the environment, gathers and decides; for the command, and for verbs that
   use the devices as it will, then closes the root, raises the limit and sets the capabilities. 0, or
   an exit status after saying why. */
int ni_flow(struct ni_context *ctx);
/* Gathers and decides. */
void ni_flow_decide(struct ni_context *ctx);
/* One look at the node, into ctx->inventory and ctx->plan, which are zeroed before; adds findings. */
void ni_look(struct ni_context *ctx, const struct ni_ask *ask);
/* The same, again and again while --wait allows and something is missing. */
void ni_wait_and_look(struct ni_context *ctx, const struct ni_ask *ask);
/* NI_EXIT_FAILED when there is an error among the findings, with --strict also a warning; else 0. */
int ni_verdict(const struct ni_context *ctx);
struct ni_view ni_flow_view(const struct ni_context *ctx);

/* ---- talking ---- */

/* One line on standard error, if the log level wants it: of less than NI_MESSAGE bytes (the summary is
   the longest), those that do not print are escaped. */
enum { NI_MESSAGE = 3072 };
void ni_say(struct ni_context *ctx, enum ni_log_level level, const char *fmt, ...) NI_PRINTF(3, 4);
/* The same for wrong usage. Returns NI_EXIT_REFUSED. */
int ni_usage(struct ni_context *ctx, const char *fmt, ...) NI_PRINTF(2, 3);
/* The same after ni_caps_disable, ni_caps_forsake, ni_caps_apply or ni_memlock_raise gave -errno. */
int ni_caps_stay(struct ni_context *ctx, int err);
/* A line of progress on standard error, which the next one replaces and "" removes; only where that
   is a terminal. */
void ni_say_progress(struct ni_context *ctx, const char *line);
/* The findings that the log level wants, and that were not said yet. */
void ni_say_findings(struct ni_context *ctx);
/* Why the command does not run: the line on standard error; that and, if asked for, the warnings
   and errors in the termination log. Both in the form of --log-format. */
void ni_last_words(struct ni_context *ctx, const char *line, bool findings);
/* The part of it for the termination log. */
void ni_leave_reason(struct ni_context *ctx, const char *line, bool findings);
/* No command will be started any more: of this process SIGXFSZ may be ignored, so that a write past
   RLIMIT_FSIZE fails and does not kill. */
void ni_no_command(void);

/* Writes a text, a report, to --output or standard output. Return the exit status, after saying what
   failed (not of a reader that went away). */
int ni_print(struct ni_context *ctx, struct ni_text *text);
/* ... a text of ni_long_text, which it frees; a report of the plan. */
int ni_print_long(struct ni_context *ctx, struct ni_text *text);
int ni_print_view(struct ni_context *ctx, ni_report_fn *put);

/* ---- verbs ---- */

ni_verb_fn ni_cmd_run, ni_cmd_env, ni_cmd_plan, ni_cmd_topo, ni_cmd_doctor, ni_cmd_selftest,
    ni_cmd_preflight, ni_cmd_snapshot, ni_cmd_log, ni_cmd_install;
int ni_cmd_help(struct ni_context *ctx, const struct ni_verb *verb); /* NULL: of the program */
int ni_cmd_version(struct ni_context *ctx);

#endif
