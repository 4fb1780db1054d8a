/* SPDX-License-Identifier: Apache-2.0 */
/* The report of log, for people and in JSON. */
#ifndef NCCL_INIT_LOG_REPORT_H
#define NCCL_INIT_LOG_REPORT_H

#include "log/state.h"
#include "nccl_init/text.h"
#include "print/words.h"

void ni_put_log(struct ni_text *out, const struct ni_view *view, const struct ni_log *log);
void ni_put_log_json(struct ni_text *out, const struct ni_view *view, const struct ni_log *log);

#endif
