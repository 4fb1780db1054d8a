/* SPDX-License-Identifier: Apache-2.0 */
/* Processes: one for each rail, so that one that hangs or crashes harms no other. */
#ifndef NCCL_INIT_RAIL_PROCESSES_H
#define NCCL_INIT_RAIL_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>

#include "rail/step.h"
#include "rail/task.h"

struct ni_rails {
    unsigned n;
    struct ni_rail_task *task; /* shared memory */
    struct {
        int pid, fd; /* -1: none */
        bool busy;
    } at[NI_MAX_RAILS];
    enum ni_rail_work work; /* the present work, or the last one */
    int64_t until_ms;       /* when the present work must be done */
};

/* Starts n processes, which wait to be asked: first NI_WORK_OPEN, when each task has what it needs.
   0; or -errno, and nothing was started. */
int ni_rails_start(struct ni_rails *r, unsigned n, ni_rail_fn *fn);
/* Asks every rail that has a role in this round (OPEN: all). OPEN and QUEUES clear `result`. A rail
   whose process is gone is silent from then on. */
void ni_rails_ask(struct ni_rails *r, enum ni_rail_work work, int64_t limit_ms);
/* Waits so long at most, and takes the answers; kills rails that are over their time, and marks
   them as silent. true: none is busy. */
bool ni_rails_done(struct ni_rails *r, int64_t most_ms);
/* Puts how many rails have done the present work, and which have not: "3 of 4 done; waiting for mlx5_3/1". */
void ni_put_awaited_rails(struct ni_text *t, const struct ni_rails *r);
/* Ends the processes, and waits a second for them at most: one may hang in the kernel even then. */
void ni_rails_end(struct ni_rails *r);

#endif
