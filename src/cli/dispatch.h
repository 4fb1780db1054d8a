/* SPDX-License-Identifier: Apache-2.0 */
/* Which verb a command line means. */
#ifndef NCCL_INIT_CLI_DISPATCH_H
#define NCCL_INIT_CLI_DISPATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/options.h"
#include "nccl_init/env.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/plan.h"
#include "rules/decide.h"
#include "sysroot/root.h"

struct ni_program;

/* Both read options of ctx->verb that ctx->taken lacks, and add them there. 0, or an exit status after
   saying what is wrong. The command line: up to `--` or the first operand. */
enum { NI_RECORDED_ENV = 1 << 21 }; /* the longest environment that is recorded, in bytes */

/* All state of the program. Zeroed at start; what is not touched costs nothing. */
struct ni_context {
    struct ni_options options;
    const struct ni_program *program;
    uint64_t taken; /* options that the command line or the caller's environment gave */
    unsigned verb;  /* NI_VERB_* */
    char *const *operands;
    bool separator; /* they stand behind `--` */
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
/* The program behind main. Returns the exit status; does not return when a command was started. */
int ni_main(struct ni_context *ctx, const struct ni_program *program, int argc, char *argv[],
            char *envp[]);

#endif
