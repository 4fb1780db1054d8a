/* SPDX-License-Identifier: Apache-2.0 */
/* The context: one invocation of the program. */
#ifndef NCCL_INIT_CLI_CONTEXT_H
#define NCCL_INIT_CLI_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/option.h"
#include "cli/options.h"
#include "nccl_init/env.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/plan.h"
#include "rules/decide.h"
#include "sysroot/root.h"

struct ni_program;

enum { NI_RECORDED_ENV = 1 << 21 }; /* the longest environment that is recorded, in bytes */

/* All state of the program. Zeroed at start; what is not touched costs nothing. */
struct ni_context {
    struct ni_options options;
    const struct ni_program *program;
    uint64_t taken; /* options that the command line or the caller's environment gave */
    unsigned verb;  /* NI_VERB_* */
    char *const *operands;
    bool separator; /* they stand after `--` */
    bool help;      /* it is asked for */
    bool acts;      /* limits and capabilities of this process are changed, devices may be used */
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
/* A zeroed context, with options as nobody gave them. */
void ni_context_init(struct ni_context *ctx, const struct ni_program *program, char *const envp[]);

/* All options have the values that they have if nobody gives one. */
void ni_options_init(struct ni_context *ctx);
/* Reads a value of option number i of the program. A switch takes 1 and 0. 0, or -EINVAL and
   nothing is changed. Keeps value. */
int ni_option_take(struct ni_context *ctx, unsigned i, const char *value);
/* Checks a value of an option that several verbs take. 0 or -EINVAL. */
int ni_option_check(const struct ni_option *option, const char *value);

#endif
