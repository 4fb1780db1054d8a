/* SPDX-License-Identifier: Apache-2.0 */
/* The judgement after the last line: ranks, their network, and the findings about them. */
#ifndef NCCL_INIT_LOG_JUDGE_H
#define NCCL_INIT_LOG_JUDGE_H

#include <stdbool.h>

#include "log/state.h"
#include "nccl_init/findings.h"
#include "nccl_init/text.h"

/* Sorts and reports, after the last byte. rdma, gdr: the user expects it; gdr includes rdma. */
void ni_log_judge(struct ni_log *log, bool rdma, bool gdr, struct ni_findings *f);
/* Puts the HCA to which the rank's channels give this number: "mlx5_6:1/RoCE", "a:1/IB+b:1/IB";
   "fused number 8" beyond its list, "number 0" without a list. Returns whether the list names
   it. */
bool ni_log_put_hca(struct ni_text *t, const struct ni_log *log, const struct ni_log_rank *r,
                    unsigned number);

#endif
