/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of programs and launchers: what they say about ranks, exceptions and exits. */
#ifndef NCCL_INIT_LOG_PROGRAM_H
#define NCCL_INIT_LOG_PROGRAM_H

#include "log/line.h"
#include "log/patterns.h"
#include "log/state.h"

/* Returns the text that a launcher put between p and at, without parts that change from line to
   line: times, the name of the stream, torch's "[rank3]:", whose number goes to *rank unless that
   is NULL. */
ni_log_text ni_log_stream(struct ni_log *log, const char *p, const char *at, int *rank);

/* Notes the words of a program or its launcher at this place of the line. */
void ni_log_take_program(const struct ni_log_line *l, const struct ni_found *f);
/* Notes a line, which no other pattern knows, that says at this place that something failed. weak: in
   words that also stand in lines that do not matter. */
void ni_log_take_error(const struct ni_log_line *l, const char *at, bool weak);
/* Returns true if the line is of glog's level ERROR or FATAL, "E0110 16:55:35", or XLA's. */
bool ni_log_is_glog_error(const char *p, const char *end);
/* Ends a traceback if the line does not belong to it. Called for each line before its patterns are
   taken. */
void ni_log_end_traceback(const struct ni_log_line *l);

#endif
