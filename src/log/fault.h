/* SPDX-License-Identifier: Apache-2.0 */
/* Faults: lines that say what went wrong. */
#ifndef NCCL_INIT_LOG_FAULT_H
#define NCCL_INIT_LOG_FAULT_H

#include "log/line.h"
#include "log/patterns.h"

/* Notes the fault of this row, which fits the line at that place. first: the first word that the row
   captures. */
void ni_log_take_fault(const struct ni_log_line *l, const struct ni_pattern *row, const char *at,
                       struct ni_span first);

#endif
