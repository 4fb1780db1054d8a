/* SPDX-License-Identifier: Apache-2.0 */
/* preflight: the pods of a job meet, compare what each was given, and try each rail between them. */
#ifndef NCCL_INIT_PREFLIGHT_PREFLIGHT_H
#define NCCL_INIT_PREFLIGHT_PREFLIGHT_H

#include "cli/cli.h"
#include "selftest/selftest.h"

/* --preflight of `run`: meets the other pods, in a child without capabilities, which tells the
   result. false: a good verdict was demanded; the reason was told. Nothing of it is left behind.
   trials: of a self-test that was made already; NULL: none. */
bool ni_preflight_allows(struct ni_context *ctx, const struct ni_trials *trials);

#endif
