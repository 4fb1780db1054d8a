/* SPDX-License-Identifier: Apache-2.0 */
/* The last step: the process becomes the command. */
#ifndef NCCL_INIT_SYSTEM_EXEC_H
#define NCCL_INIT_SYSTEM_EXEC_H

#include <stdbool.h>

#include "nccl_init/env.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"

enum { NI_EXIT_REFUSED = 125, NI_EXIT_NOT_EXECUTABLE = 126, NI_EXIT_NOT_FOUND = 127 };

/* Makes the command's environment: every entry of env in its order, byte for byte, also duplicates
   and entries without '=', but not NCCLINIT_*; then the plan's own settings (plan NULL: none). It
   points into env; its memory is never freed. NULL: no memory. */
char *const *ni_command_env(const struct ni_env *env, const struct ni_plan *plan);

/* Replaces the process by the command, looked up in PATH of envp as execvp(3) does, but never
   through a shell. Returns only on failure: 126 or 127; *why then holds one line without newline:
   what failed, why, and what to do. *too_big: arguments and environment are more than the kernel
   takes, so less may do. Nothing of the process is changed before the execve. */
int ni_exec(char *const argv[], char *const envp[], struct ni_text *why, bool *too_big);

#endif
