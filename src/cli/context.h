/* SPDX-License-Identifier: Apache-2.0 */
/* The context: one invocation of the program. */
#ifndef NCCL_INIT_CLI_CONTEXT_H
#define NCCL_INIT_CLI_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/option.h"
#include "cli/options.h"
#include "cli/progress_table.h"
#include "nccl_init/env.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/plan.h"
#include "print/words.h"
#include "rules/decide.h"
#include "sysroot/root.h"

struct ni_program;

enum { NI_RECORDED_ENV = 1 << 21 }; /* the longest environment that is recorded, in bytes */

/* The state of the program. It is zeroed at start; a page that is not touched costs nothing. */
struct ni_context {
    struct ni_options options;
    const struct ni_program *program;
    uint64_t taken; /* options that the command line or the caller's environment gave */
    unsigned verb;  /* NI_VERB_* */
    char *const *operands;
    bool separator;        /* the operands stand after `--` */
    struct ni_again again; /* options of the command line, for commands that people paste */
    bool help;             /* --help is on the command line */
    bool acts; /* the verb changes limits and capabilities of this process, may use devices */
    struct ni_env own;   /* the caller's environment */
    struct ni_env env;   /* the pod's environment: the caller's, or the one that the root records */
    char *recorded;      /* the memory of a recorded environment; NULL: none */
    struct ni_root root; /* opened by ni_flow */
    bool opened;         /* the root is open */
    bool stderr_dead;    /* nobody reads standard error: nothing more is written to it */
    struct ni_progress_table progress;
    int64_t memlock;     /* set by ni_flow: the soft limit in force, in bytes; -1: not known */
    struct ni_work work; /* pointers to the members that follow, for the rules */
    struct ni_inventory inventory;
    struct ni_plan plan;
    struct ni_findings findings;
    unsigned n_said, dropped_said; /* findings that ni_say_findings has seen */
};
/* Sets up a zeroed context; all options have their default values. */
void ni_context_init(struct ni_context *ctx, const struct ni_program *program, char *const envp[]);

/* Gives all options their default values. */
void ni_options_init(struct ni_context *ctx);
/* Reads a value of option number i of the program. A switch takes 1 and 0. 0, or -EINVAL and
   nothing is changed. The option keeps the pointer `value`. */
int ni_option_take(struct ni_context *ctx, unsigned i, const char *value);
/* Checks a value of an option that several verbs take. 0 or -EINVAL. */
int ni_option_check(const struct ni_option *option, const char *value);

#endif
