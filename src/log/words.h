/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of a log, each kept once. */
#ifndef NCCL_INIT_LOG_WORDS_H
#define NCCL_INIT_LOG_WORDS_H

#include "log/log.h"
#include "nccl_init/text.h"

/* The number of the text, 0 when there is no room; the text of the number. */
ni_log_text ni_log_keep(struct ni_log *log, struct ni_span s);
const char *ni_log_word(const struct ni_log *log, ni_log_text w);

#endif
