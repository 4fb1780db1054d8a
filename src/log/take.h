/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of a line, noted for the process that printed it. */
#ifndef NCCL_INIT_LOG_TAKE_H
#define NCCL_INIT_LOG_TAKE_H

#include <stdbool.h>

#include "log/state.h"
#include "nccl_init/text.h"

/* One line, without its end and without escape sequences; of one that is cut only faults count. */
void ni_log_take_line(struct ni_log *log, const char *p, const char *end, bool cut);
/* NCCL said that the process took this value; p NULL: `plan` decided it. */
void ni_log_take_value(struct ni_log *log, struct ni_log_rank *p, struct ni_span name,
                       struct ni_span value);

#endif
