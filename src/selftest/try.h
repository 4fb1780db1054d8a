/* SPDX-License-Identifier: Apache-2.0 */
/* What all trials by the helper share: how it is started, and why it has no result. */
#ifndef NCCL_INIT_SELFTEST_TRY_H
#define NCCL_INIT_SELFTEST_TRY_H

#include <stdint.h>

#include "cli/context.h"
#include "nccl_init/text.h"
#include "system/helper.h"

/* Variables that the helper does not get, for with them libraries write files of the job; NULL-terminated. */
extern const char *const ni_try_writing[];
/* Runs the helper for limit_ms at most, with the command's environment, but for variables that make
   libraries write files of the job. changed: "NAME=VALUE" in place of the job's, "NAME" to be left out;
   its end is NULL, as may be the whole. args: what it is to try, then the arguments of that, then NULL; at
   most NI_HELPER_ARGS. */
enum { NI_HELPER_ARGS = 160 };
void ni_try_by_helper(struct ni_context *ctx, const char *const changed[], char *const args[],
                      int64_t limit_ms, struct ni_helper_result *ret);
/* Puts why the helper has no result; nothing: it has. */
void ni_put_no_result(struct ni_text *t, const struct ni_helper_result *run);
/* Puts what an error of CUDA says of a GPU: why it cannot be tried. */
void ni_put_cuda_error(struct ni_text *t, int cuda);

#endif
