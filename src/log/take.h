/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of a line, noted for the process that printed it. */
#ifndef NCCL_INIT_LOG_TAKE_H
#define NCCL_INIT_LOG_TAKE_H

#include <stdbool.h>

#include "log/line.h"
#include "log/state.h"
#include "nccl_init/text.h"

/* Notes one line, without its end and without escape sequences; of a cut line only faults count. */
void ni_log_take_line(struct ni_log *log, const char *p, const char *end, enum ni_log_cut cut);
/* Notes that NCCL took this value in the process; p NULL: `plan` decided it. */
void ni_log_take_value(struct ni_log *log, struct ni_log_rank *p, struct ni_span name,
                       struct ni_span value);

#endif
