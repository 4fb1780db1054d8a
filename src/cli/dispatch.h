/* SPDX-License-Identifier: Apache-2.0 */
/* The verb of a command line, and the call of its function. */
#ifndef NCCL_INIT_CLI_DISPATCH_H
#define NCCL_INIT_CLI_DISPATCH_H

struct ni_context;
struct ni_program;

/* Runs the verb of the command line. Returns the exit status; does not return once a command was
   started. */
int ni_main(struct ni_context *ctx, const struct ni_program *program, int argc, char *argv[],
            char *envp[]);

#endif
