/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks in words: "rank 3", "ranks 0-3, 7". */
#ifndef NCCL_INIT_LOG_RANKS_H
#define NCCL_INIT_LOG_RANKS_H

#include "log/state.h"
#include "nccl_init/text.h"

/* A set of ranks has a bit for each below NI_LOG_RAISED. Adds one, if it has room for it. */
void ni_log_add_rank(uint64_t *set, int rank);
/* Returns true if the rank is in the set. */
bool ni_log_has_rank(const uint64_t *set, int rank);
/* Puts the ranks from 0 to `end` - 1 that are in the set, or are not. Returns how many. */
unsigned ni_log_put_set(struct ni_text *t, const uint64_t *set, int end, bool in);
/* Puts one more range into a list of ranks; a `last` below `from` puts nothing. */
void ni_log_put_range(struct ni_text *t, int from, int last);
/* Puts the ranks of the job that have no line in the log: "3, 5-7". */
void ni_log_put_missing(struct ni_text *t, const struct ni_log *log);
/* Puts the hosts of the ranks with this mark, the first four by name: " (node-a, node-b)". */
void ni_log_put_hosts(struct ni_text *t, const struct ni_log *log, unsigned mark);
/* Puts the ranks with this mark: "ranks 0-7, 12 (node-a, node-b)". */
void ni_log_put_ranks(struct ni_text *t, const struct ni_log *log, unsigned mark);

#endif
