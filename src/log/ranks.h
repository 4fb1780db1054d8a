/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks in words: "rank 3", "ranks 0-3, 7". A set of ranks has their places in ni_log.order. */
#ifndef NCCL_INIT_LOG_RANKS_H
#define NCCL_INIT_LOG_RANKS_H

#include "log/set.h"
#include "log/state.h"
#include "nccl_init/text.h"

/* Puts the ranks of the job that have no line in the log: "3, 5-7". */
void ni_log_put_missing(struct ni_text *t, const struct ni_log *log);
/* Puts the hosts of these ranks, the first four by name: " (node-a, node-b)". */
void ni_log_put_hosts(struct ni_text *t, const struct ni_log *log, const struct ni_log_set *ranks);
/* Puts these ranks: "ranks 0-7, 12 (node-a, node-b)". */
void ni_log_put_ranks(struct ni_text *t, const struct ni_log *log, const struct ni_log_set *ranks);

#endif
