/* SPDX-License-Identifier: Apache-2.0 */
/* Output: standard error, the termination log, and standard output or a file. */
#ifndef NCCL_INIT_CLI_SAY_H
#define NCCL_INIT_CLI_SAY_H

#include <stdbool.h>

#include "cli/context.h"
#include "cli/options.h"
#include "nccl_init/base.h"
#include "nccl_init/text.h"

/* Exit status of a verb other than `run` whose output could not be made. */
enum { NI_EXIT_FAILED = 1 };

/* One line on standard error, if the log level wants it: of less than NI_MESSAGE bytes (the summary
   is the longest), those that do not print are escaped. */
enum { NI_MESSAGE = 3072 };
void ni_say(struct ni_context *ctx, enum ni_log_level level, const char *fmt, ...) NI_PRINTF(3, 4);
/* Says that the usage is wrong. Returns NI_EXIT_REFUSED. */
int ni_usage(struct ni_context *ctx, const char *fmt, ...) NI_PRINTF(2, 3);
/* Says that ni_caps_disable, ni_caps_forsake, ni_caps_apply or ni_memlock_raise gave -errno.
   Returns NI_EXIT_REFUSED. */
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

/* Writes a text, a report, to --output or standard output. Return the exit status, after saying
   what failed (not of a reader that went away). */
int ni_print(struct ni_context *ctx, struct ni_text *text);

#endif
