/* SPDX-License-Identifier: Apache-2.0 */
/* A line of a log: it is read once into this value, with all that the patterns find in it; then who
   printed it is looked up, and what it says is noted (take.c). */
#ifndef NCCL_INIT_LOG_LINE_H
#define NCCL_INIT_LOG_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "log/patterns.h"
#include "log/state.h"
#include "nccl_init/text.h"

enum { NI_LOG_FOUND = 24 }; /* places of one line that patterns fit */

/* Whether the whole line was read. */
enum ni_log_cut { NI_LOG_WHOLE, NI_LOG_CUT };

struct ni_log_line {
    struct ni_log *log;
    const char *p, *end;
    bool cut;
    struct ni_found found[NI_LOG_FOUND];
    unsigned n_found;
    unsigned faults;                /* found: faults */
    unsigned own;                   /* those of them that no general pattern found */
    const struct ni_found *error;   /* the first words of an error; NULL: it has none */
    const struct ni_pattern *alone; /* the row that alone counts; NULL: there is none */
    bool mild;                      /* it is a warning by which nothing is lost */
    bool is_nccl;                   /* a record of NCCL begins in it */
    /* at most one record begins in it; of two mixed ones neither the first's end nor the second's
       host is sure */
    bool whole;
    /* ---- of the record, from its header on ---- */
    const char *message;   /* after the header; before it: p */
    struct ni_span name;   /* "host:pid"; empty: it has none */
    struct ni_span source; /* the source file that the record names, "bootstrap.cc:285" */
    int dev;
    bool info;              /* of level INFO */
    bool warn;              /* of level WARN */
    struct ni_log_rank *by; /* its process; NULL: not known */
};

/* Reads a line, without its end and without escape sequences. log: where it will be noted. */
void ni_log_read_line(struct ni_log_line *l, struct ni_log *log, const char *p, const char *end,
                      enum ni_log_cut cut);
/* Reads the header of a record, whose level stands at that place. */
void ni_log_read_header(struct ni_log_line *l, const char *at);
/* Returns the time in front of a line, 2026-11-28T15:54:30 or with a blank for the T, as
   YYYYMMDDhhmmss; 0: there is none. */
uint64_t ni_log_time(const struct ni_log_line *l);
/* Returns the place and the time of the line. */
struct ni_log_mark ni_log_mark_of(const struct ni_log_line *l);
/* Returns the message, or before a header the whole line, without blanks at its ends. */
struct ni_span ni_log_message(const struct ni_log_line *l);

/* Words of a text. */
bool ni_log_has(struct ni_span s, const char *what);
/* Returns the text between `mark` and the next `stop`; empty: there is none. */
struct ni_span ni_log_between(struct ni_span s, const char *mark, char stop);
/* Returns the word after `mark`; empty: there is none. */
struct ni_span ni_log_after(struct ni_span s, const char *mark);
/* Returns the number; -1: it is none. */
int ni_log_number(struct ni_span s);

#endif
