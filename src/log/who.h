/* SPDX-License-Identifier: Apache-2.0 */
/* Who printed a line: processes, by host and pid, and their GPUs. */
#ifndef NCCL_INIT_LOG_WHO_H
#define NCCL_INIT_LOG_WHO_H

#include "log/line.h"
#include "log/state.h"

/* Reads the header of a record, and finds or adds the process that it names. */
void ni_log_enter(struct ni_log_line *l, const char *at);
/* Begins a new process: each prints its first contact once, so a second one, of the same host and
   pid, is another process, after a restart or in another pod. */
void ni_log_begin_anew(struct ni_log_line *l);
/* Returns the GPU that printed the line: by the rank, or by its number, or the first one. CUDA's
   number for the thread is 0 in some threads of any GPU. */
struct ni_log_rank *ni_log_rank_of(const struct ni_log_line *l, int dev, int rank);
/* Returns the GPU of that number, and adds it if it is new. NULL: no process, or no room. */
struct ni_log_rank *ni_log_gpu_of(const struct ni_log_line *l, int dev);
/* Notes that a line of the present file shows that stage. */
void ni_log_reach(struct ni_log *log, enum ni_log_stage stage);

#endif
