/* SPDX-License-Identifier: Apache-2.0 */
/* Attempts: which processes are ranks of the job's last attempt, and which lines are older. */
#ifndef NCCL_INIT_LOG_ATTEMPTS_H
#define NCCL_INIT_LOG_ATTEMPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "log/state.h"

/* Puts the ranks of the last attempt into order, and marks the others as earlier. */
void ni_log_sort_ranks(struct ni_log *log);
/* Returns true if the line is of an attempt before the last one. */
bool ni_log_is_history(const struct ni_log *log, ni_log_text file, uint32_t line);
/* Returns true if a line of the last attempt that names no process has the fault. */
bool ni_log_is_nobodys(const struct ni_log *log, const struct ni_log_hit *h);
/* Returns true for two processes that both say they are one rank of one communicator; a restart
   makes another communicator. */
bool ni_log_is_same_rank(const struct ni_log_rank *r, const struct ni_log_rank *other);

#endif
