/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict on a pod: may its job start, and with how many of its rails. */
#ifndef NCCL_INIT_PRINT_READINESS_H
#define NCCL_INIT_PRINT_READINESS_H

#include <stdbool.h>

#include "nccl_init/findings.h"
#include "nccl_init/text.h"
#include "print/layout.h"
#include "print/words.h"

/* A pod without RDMA, or with fewer rails than it was given, may run, but nobody may take that for all
   of it. */
enum ni_readiness { NI_NOT_READY, NI_READY, NI_READY_FOR_TCP, NI_READY_WITH_FEWER };

/* ready: nothing forbids the start of the job. */
enum ni_readiness ni_readiness_of(const struct ni_view *view, bool ready);
/* By enum ni_readiness, for programs. */
extern const char *const ni_readiness_words[];
/* Returns the colour of the verdict: red, yellow if there is a warning, green. */
enum ni_tint ni_readiness_tint(const struct ni_view *view, bool ready);

/* Puts "NOT READY: 1 error, 1 info"; counted: also how many rails a pod that is ready has. */
void ni_put_readiness(struct ni_text *out, const struct ni_view *view, bool ready, bool counted);
/* Puts "1 error, 2 infos", or "no findings". */
void ni_put_counts(struct ni_text *out, const struct ni_findings *all);

#endif
