/* SPDX-License-Identifier: Apache-2.0 */
/* Reading: bytes of a log become lines. */
#ifndef NCCL_INIT_LOG_READ_H
#define NCCL_INIT_LOG_READ_H

#include <stddef.h>

#include "log/state.h"

/* Returns where the next bytes of `file` are to be read to, at most *room; ni_log_got takes them. n
   0: the end of the file. The log is all zeros at first. */
char *ni_log_room(struct ni_log *log, size_t *room);
void ni_log_got(struct ni_log *log, const char *file, size_t n);

#endif
