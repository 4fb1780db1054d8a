/* SPDX-License-Identifier: Apache-2.0 */
/* What progress shows: the rows of its table. */
#ifndef NCCL_INIT_CLI_PROGRESS_TABLE_H
#define NCCL_INIT_CLI_PROGRESS_TABLE_H

#include <stdint.h>
#include <sys/types.h>

enum {
    NI_PROGRESS_ROWS = 8,
    NI_PROGRESS_WHAT = 16, /* bytes of the name of a row */
    NI_PROGRESS_LINE = 320
};

/* All 0: nothing was shown yet. */
struct ni_progress_table {
    struct ni_progress_row {
        char what[NI_PROGRESS_WHAT], line[NI_PROGRESS_LINE];
    } row[NI_PROGRESS_ROWS];
    unsigned n;
    pid_t group;      /* that of the program, whose children have others; 0: that of this process */
    unsigned drawn;   /* lines that stand on the terminal, the cursor in the last; 0: none */
    unsigned columns; /* how wide it was then */
    char said[NI_PROGRESS_LINE]; /* the last line of a log, without the time that is left */
    int64_t said_ms;
};

/* How a row stands for a log: a new phase is worth a line; of the others there is one every 10 s if it has
   changed, else every 30 s. What stands behind the last "; ", the time that is left, changes nothing. */
enum ni_progress { NI_SAME_PHASE, NI_NEW_PHASE };

#endif
