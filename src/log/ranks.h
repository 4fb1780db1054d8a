/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks in words: "rank 3", "ranks 0-3, 7". */
#ifndef NCCL_INIT_LOG_RANKS_H
#define NCCL_INIT_LOG_RANKS_H

#include "log/state.h"
#include "nccl_init/text.h"

/* One more range of a list of ranks, of which `last` is the last; below `from`: none. */
void ni_log_put_range(struct ni_text *t, int from, int last);
/* "ranks 0-7, 12 (node-a, node-b)": those with this mark. */
void ni_log_put_ranks(struct ni_text *t, const struct ni_log *log, unsigned mark);

#endif
