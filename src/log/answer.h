/* SPDX-License-Identifier: Apache-2.0 */
/* The first screen of log. */
#ifndef NCCL_INIT_LOG_ANSWER_H
#define NCCL_INIT_LOG_ANSWER_H

#include "log/state.h"
#include "nccl_init/text.h"
#include "print/words.h"

/* files: the names of the logs, ended by NULL; none: standard input. */
void ni_put_log_answer(struct ni_text *out, const struct ni_view *view, const struct ni_log *log,
                       char *const files[]);

#endif
