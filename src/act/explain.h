/* SPDX-License-Identifier: Apache-2.0 */
/* Private to act: why a file could not be executed. */
#ifndef NCCL_INIT_ACT_EXPLAIN_H
#define NCCL_INIT_ACT_EXPLAIN_H

#include "nccl_init/core.h"

/* Puts the reason why execve(file) failed with err, and what to do, on `why`. Looks at the file;
   changes nothing. */
void ni_explain(int err, const char *file, char *const argv[], char *const envp[],
                struct ni_text *why);

#endif
