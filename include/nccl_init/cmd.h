/* SPDX-License-Identifier: Apache-2.0 */
/* cmd: the command line. One file per verb; the only room that prints. */
#ifndef NCCL_INIT_CMD_H
#define NCCL_INIT_CMD_H

#include "nccl_init/core.h"
#include "nccl_init/decide.h"
#include "nccl_init/facts.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/plan.h"
#include "nccl_init/report.h"
#include "nccl_init/trial.h"

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

enum { NI_MAX_WAIT = 3600, NI_MAX_WITHIN = 86400, NI_MAX_MOVE_MS = 60000 };

/* The values of these enums are in the order of the words of their options (options.c).
   --selftest of `run`: what a port that fails means; --preflight: what a bad verdict means. */
enum ni_selftest_policy { NI_SELFTEST_OFF, NI_SELFTEST_WARN, NI_SELFTEST_REQUIRE };
enum ni_preflight_policy { NI_PREFLIGHT_OFF, NI_PREFLIGHT_WARN, NI_PREFLIGHT_REQUIRE };

/* --expect of `log` */
enum ni_expect { NI_EXPECT_NOTHING, NI_EXPECT_RDMA, NI_EXPECT_GDR };

enum ni_log_level { NI_LOG_ERROR, NI_LOG_WARN, NI_LOG_INFO, NI_LOG_DEBUG };

enum ni_log_format { NI_LOG_TEXT, NI_LOG_JSON };

struct ni_options {
    struct ni_policy policy;
    const char *root;
    const char *plan; /* of `log`: a file; NULL: none */
    enum ni_expect expect;
    const char *output; /* file, NULL: standard output */
    const char *termination_log;
    const char *refusal_snapshot; /* NULL: none */
    bool ignore[NI_F_COUNT];      /* findings that doctor leaves out */
    enum ni_format format;
    enum ni_log_level log_level;
    enum ni_log_format log_format;
    unsigned wait; /* seconds */
    enum ni_selftest_policy selftest;
    int64_t size, bytes; /* of the self-test: registered, moved */
    unsigned deadline;   /* of the self-test: seconds */
    enum ni_preflight_policy preflight;
    const char *peers, *job; /* NULL: as the launcher says; so do the next three, if -1, -1, 0 */
    int rank, ranks;
    unsigned port;
    unsigned within;        /* seconds */
    unsigned move_ms;       /* --seconds */
    const char *once, *svg; /* files; NULL: none */
    bool probe;
    bool json, brief;
    bool rules;
    bool gids;
    bool dot;
    bool mask;
    bool strict;
    bool secure; /* the program has file capabilities or the like (AT_SECURE, see ld.so(8)) */
    const char *network_status; /* variable, or path below the root; NULL: the usual places */
};

enum {
    NI_OPTION_POLICY = 1, /* part of the plan: a recorded value counts when a recording is read */
    NI_OPTION_FILE = 2    /* names a file: not from the environment in secure execution */
};

/* One option: `--name`, and the variable NCCLINIT_NAME. A set of options is a uint64_t with a bit
   for each row of the table. */
struct ni_option {
    const char *name;
    char letter;         /* 'o' for -o, or 0 */
    unsigned flags;      /* NI_OPTION_* */
    unsigned verbs;      /* NI_VERB_* that take it */
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
/* A switch takes 1 and 0. 0, or -EINVAL and *ret as it was. Keeps value. */
int ni_option_take(const struct ni_option *option, const char *value, struct ni_options *ret);
/* Whether the command line or the environment gave that option. */
struct ni_context;
bool ni_option_given(const struct ni_context *ctx, const char *name);
/* NCCLINIT_KEEP_CAPS */
void ni_put_variable(struct ni_text *t, const struct ni_option *option);

/* What the command line said beyond option values. */
struct ni_given {
    uint64_t options;
    bool help;
    bool separator; /* the operands stand behind `--` */
    int operand;    /* index of the first operand, argc if none */
};

/* Reads options from argv[first] on, up to `--` or the first operand. 0, or -EINVAL with one line
   in err. */
int ni_args_parse(unsigned verb, int first, int argc, char *const argv[], struct ni_options *ret,
                  struct ni_given *given, struct ni_text *err);

/* Reads NCCLINIT_* for the options that *taken lacks, and adds them there. What is wrong is ignored
   and a finding; with err it is -EINVAL and one line there. In secure execution an option that names
   a file is ignored and a finding. recorded: only options of the plan. */
int ni_args_env(unsigned verb, const struct ni_env *env, bool recorded, uint64_t *taken,
                struct ni_options *ret, struct ni_findings *f, struct ni_text *err);

/* ---- one invocation ---- */

enum { NI_RECORDED_ENV = 1 << 21 }; /* the longest environment that is recorded, in bytes */

/* All state of the program. Zeroed at start; what is not touched costs nothing. */
struct ni_context {
    struct ni_options options;
    uint64_t taken;      /* options that the command line or the caller's environment gave */
    unsigned verb;       /* NI_VERB_* */
    struct ni_env own;   /* the caller's environment */
    struct ni_env env;   /* the pod's: the caller's, or the one that the root records */
    char *recorded;      /* what the latter's entries point into; NULL: none */
    struct ni_root root; /* opened by ni_flow_open */
    bool opened;         /* the root is */
    bool stderr_dead;    /* nobody reads it: say no more */
    bool progress;       /* a line of progress stands on it */
    struct ni_inventory inventory;
    struct ni_plan plan;
    struct ni_findings findings;
    struct ni_diagnosis diagnosis; /* of doctor */
    const struct ni_log *log;      /* of `log` */
    const struct ni_env *planned;  /* NULL: no plan was given */
    struct ni_trials *trials;      /* of selftest and doctor --probe: made by ni_try_ports */
};

/* What a verb gathers beyond what the pod was given. */
enum {
    NI_GATHER_ALL = 1,    /* all HCAs, whole GID tables, all ways of GPUDirect RDMA */
    NI_GATHER_HEALTH = 2, /* what only doctor looks at */
    NI_GATHER_OFF = 4     /* with --mode=off too */
};

struct ni_verb {
    const char *name;
    unsigned bit;                                               /* NI_VERB_* */
    int (*run)(struct ni_context *ctx, char *const operands[]); /* exit status */
    unsigned gathers;                                           /* NI_GATHER_* */
    const char *operands;                                       /* for people; NULL: it has none */
    const char *help;
};

extern const struct ni_verb ni_verbs_table[];
extern const unsigned ni_verbs_count;

/* The row of a bit, of a name; NULL: there is none. */
const struct ni_verb *ni_verb_of(unsigned bit);
const struct ni_verb *ni_verb_named(struct ni_span name);

/* The program behind main. Returns the exit status; does not return when a command was started. */
int ni_main(struct ni_context *ctx, int argc, char *argv[], char *envp[]);

/* ---- what all verbs do first ---- */

/* Exit status of a verb other than `run` whose output could not be made. */
enum { NI_EXIT_FAILED = 1 };

/* Opens the root and chooses the environment. 0, or an exit status after saying why; for `run`
   always 0. */
int ni_flow_open(struct ni_context *ctx);
/* Gathers and decides. */
void ni_flow_decide(struct ni_context *ctx);
/* One look at the node, into ctx->inventory and ctx->plan, which are zeroed before; adds findings. */
void ni_look(struct ni_context *ctx, const struct ni_ask *ask);
/* The same, again and again while --wait allows and something is missing. */
void ni_wait_and_look(struct ni_context *ctx, const struct ni_ask *ask);
void ni_flow_close(struct ni_context *ctx);
/* All of it for a verb that uses the devices of this machine; limit and capabilities are then what a
   command started by `run` would have. 0, or an exit status after saying why. */
int ni_flow_as_command(struct ni_context *ctx);
/* NI_EXIT_FAILED when there is an error among the findings, with --strict also a warning; else 0. */
int ni_verdict(const struct ni_context *ctx);
struct ni_view ni_flow_view(const struct ni_context *ctx);
/* What decide/ works on: the context's own. */
struct ni_work ni_flow_work(struct ni_context *ctx);

/* ---- trying the ports ---- */

/* Tries the pod's ports, or asks its devices (probe), judges that, and leaves ctx->trials for the
   report. 0; -ENOSYS: built without libibverbs; another -errno: no memory; each is a finding. */
int ni_try_ports(struct ni_context *ctx, bool probe);
/* Runs each of ctx->trials by `try`, in a process of its own. Returns when all have ended, after
   limit_ms at most and a second for what hangs to be killed; what does not die even then is left,
   as NI_TRIAL_STUCK. Otherwise nothing is left behind: no process, descriptor, pending signal. */
typedef void ni_try_fn(const struct ni_trials *all, struct ni_trial *t);
void ni_run_trials(struct ni_context *ctx, ni_try_fn *try);
/* The same for all ports, for a verdict: whether they passed; *why: what failed first. */
bool ni_selftest_passes(struct ni_context *ctx, struct ni_text *why);
/* --selftest of `run`. false: it was demanded and does not hold; *why tells. */
bool ni_selftest_allows(struct ni_context *ctx, struct ni_text *why);

/* --preflight of `run`: meets the other pods, in a child without capabilities, which tells the
   result. false: a good verdict was demanded; the reason was told. Nothing of it is left behind. */
bool ni_preflight_allows(struct ni_context *ctx);

/* ---- talking ---- */

/* One line on standard error, if the log level wants it. Bytes that do not print are escaped. */
void ni_say(struct ni_context *ctx, enum ni_log_level level, const char *fmt, ...) NI_PRINTF(3, 4);
/* The same for wrong usage. Returns NI_EXIT_REFUSED. */
int ni_usage(struct ni_context *ctx, const char *fmt, ...) NI_PRINTF(2, 3);
/* A line of progress on standard error, which the next one replaces and "" removes; only where that
   is a terminal. */
void ni_say_progress(struct ni_context *ctx, const char *line);
/* A line without a level, printable and of less than NI_SUMMARY bytes, if the log level wants it. */
enum { NI_SUMMARY = 3072 };
void ni_say_summary(struct ni_context *ctx, const char *summary);
/* The findings that the log level wants. */
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
int ni_print(struct ni_context *ctx, const struct ni_text *text);
int ni_print_view(struct ni_context *ctx, ni_report_fn *put);

/* ---- verbs ---- */

int ni_cmd_run(struct ni_context *ctx, char *const operands[]);
int ni_cmd_env(struct ni_context *ctx, char *const operands[]);
int ni_cmd_plan(struct ni_context *ctx, char *const operands[]);
int ni_cmd_doctor(struct ni_context *ctx, char *const operands[]);
int ni_cmd_topo(struct ni_context *ctx, char *const operands[]);
int ni_cmd_selftest(struct ni_context *ctx, char *const operands[]);
int ni_cmd_preflight(struct ni_context *ctx, char *const operands[]);
int ni_cmd_snapshot(struct ni_context *ctx, char *const operands[]);
/* --snapshot-on-refusal, if it was given: what was gathered so far is gone then. Says what fails. */
void ni_leave_snapshot(struct ni_context *ctx);
int ni_cmd_log(struct ni_context *ctx, char *const operands[]);
int ni_cmd_install(struct ni_context *ctx, char *const operands[]);
int ni_cmd_help(struct ni_context *ctx, const struct ni_verb *verb); /* NULL: of the program */
int ni_cmd_version(struct ni_context *ctx);

#endif
