/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks in words: "rank 3", "ranks 0-3, 7". */
#ifndef NCCL_INIT_LOG_RANKS_H
#define NCCL_INIT_LOG_RANKS_H

#include "log/state.h"
#include "nccl_init/text.h"

/* Puts one more range into a list of ranks; a `last` below `from` puts nothing. */
void ni_log_put_range(struct ni_text *t, int from, int last);
/* Puts the ranks of the job that have no line in the log: "3, 5-7". */
void ni_log_put_missing(struct ni_text *t, const struct ni_log *log);
/* Puts the hosts of the ranks with this mark, the first four by name: " (node-a, node-b)". */
void ni_log_put_hosts(struct ni_text *t, const struct ni_log *log, unsigned mark);
/* Puts the ranks with this mark: "ranks 0-7, 12 (node-a, node-b)". */
void ni_log_put_ranks(struct ni_text *t, const struct ni_log *log, unsigned mark);

#endif
