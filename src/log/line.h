/* SPDX-License-Identifier: Apache-2.0 */
/* log, private: one line while it is read. */
#ifndef NCCL_INIT_LOG_LINE_H
#define NCCL_INIT_LOG_LINE_H

#include "log/log.h"
#include "log/patterns.h"
#include "log/take.h"

struct ni_log_line {
    struct ni_log *log;
    const char *p, *end;
    const char *message;    /* behind NCCL's own header, else p */
    struct ni_log_rank *by; /* the process; NULL: nobody's */
    int dev;
    bool info;  /* of level INFO */
    bool warn;  /* of level WARN */
    bool whole; /* one record only: of two neither's end nor the other's host is sure */
    bool cut;
};

/* The text that a launcher put between p and at, without what changes from line to line: times, the name
   of the stream, torch's "[rank3]:", whose number goes to *rank unless it is NULL. */
ni_log_text ni_log_stream(struct ni_log *log, const char *p, const char *at, int *rank);

/* What the program or its launcher says in this place of the line. */
void ni_log_take_program(const struct ni_log_line *l, const struct ni_found *f);
/* Whether the line ends a traceback. To be called for each line before its patterns are taken. */
void ni_log_end_traceback(const struct ni_log_line *l);

#endif
