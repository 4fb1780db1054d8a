/* SPDX-License-Identifier: Apache-2.0 */
/* Output: standard error, the termination log, and standard output or a file. */
#ifndef NCCL_INIT_CLI_SAY_H
#define NCCL_INIT_CLI_SAY_H

#include <stdbool.h>
#include <sys/types.h>

#include "cli/context.h"
#include "cli/options.h"
#include "nccl_init/base.h"
#include "nccl_init/text.h"

/* The exit status of verbs other than `run`: the output could not be made, or the result is bad. */
enum { NI_EXIT_FAILED = 1 };

/* Writes one line on standard error, if the log level wants it. The message is cut at NI_MESSAGE
   bytes (the summary is the longest); bytes that do not print are escaped. */
enum { NI_MESSAGE = 3072 };
void ni_say(struct ni_context *ctx, enum ni_log_level level, const char *fmt, ...) NI_PRINTF(3, 4);
/* Says that the usage is wrong. Returns NI_EXIT_REFUSED. */
int ni_usage(struct ni_context *ctx, const char *fmt, ...) NI_PRINTF(2, 3);
/* Says that ni_caps_disable, ni_caps_forsake, ni_caps_apply or ni_memlock_raise returned -errno,
   and that the program ends for that. Returns NI_EXIT_REFUSED. */
int ni_refuse_caps(struct ni_context *ctx, int err);
/* Writes the findings that the log level wants and that were not written before. */
void ni_say_findings(struct ni_context *ctx);
/* What the termination log gets: the reason, or also the warnings and errors. */
enum ni_leave { NI_LEAVE_REASON, NI_LEAVE_FINDINGS };
/* Says why the command does not run, on standard error and by ni_leave_reason. */
void ni_last_words(struct ni_context *ctx, const char *line, enum ni_leave leave);
/* Says the last words of `run` and `env` where they refuse: "command not started: --mode=rdma, but
   ...". Returns NI_EXIT_REFUSED. */
int ni_refuse(struct ni_context *ctx, const char *reason, enum ni_leave leave);
/* The part of it for the termination log. */
void ni_leave_reason(struct ni_context *ctx, const char *line, enum ni_leave leave);
/* Ignores SIGXFSZ, once no command will be started: a write beyond RLIMIT_FSIZE then fails and does
   not kill this process. */
void ni_ignore_sigxfsz(void);

/* The file that --output names; NULL: standard output. */
const char *ni_output_file(const struct ni_context *ctx);
/* Writes a text, a report, to --output or standard output. Returns the exit status, after saying
   what failed, unless the reader went away. */
int ni_print(struct ni_context *ctx, struct ni_text *text);
/* The same; a file gets this mode, also over one of another mode. */
int ni_print_as(struct ni_context *ctx, struct ni_text *text, mode_t mode);

#endif
