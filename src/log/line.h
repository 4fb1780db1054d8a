/* SPDX-License-Identifier: Apache-2.0 */
/* A line of a log while it is read. */
#ifndef NCCL_INIT_LOG_LINE_H
#define NCCL_INIT_LOG_LINE_H

#include "log/state.h"

struct ni_log_line {
    struct ni_log *log;
    const char *p, *end;
    const char *message;    /* after NCCL's own header, else p */
    struct ni_log_rank *by; /* the process; NULL: not known */
    struct ni_span source;  /* the source file that the record names, "bootstrap.cc:285" */
    int dev;
    bool info; /* of level INFO */
    bool warn; /* of level WARN */
    /* the line is one record; of two mixed ones neither the first's end nor the second's host is
       sure */
    bool whole;
    bool cut;
};

#endif
