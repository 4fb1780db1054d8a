/* SPDX-License-Identifier: Apache-2.0 */
/* The finding exec.pid1: PID 1 of the pod should be an init. */
#ifndef NCCL_INIT_RULES_INIT_PROCESS_H
#define NCCL_INIT_RULES_INIT_PROCESS_H

#include <stdbool.h>

#include "rules/decide.h"

/* Reports that PID 1 is not an init; for `run`, and a part of doctor's check. */
void ni_note_init(const struct ni_work *w);
/* Reports a shell as PID 1: it passes no signal on to the job. Other programs without an init are
   PID 1 of almost every pod, and many of them have a handler. */
void ni_note_shell(const struct ni_work *w);
/* Returns true if a process of that name is an init. */
bool ni_is_init(const char *name);

#endif
