/* SPDX-License-Identifier: Apache-2.0 */
/* How often a test with random or long input tries: a tenth in the gcc builds, which each change waits for; all
   times in the clang and the static builds. */
#ifndef NCCL_INIT_TEST_TRIALS_H
#define NCCL_INIT_TEST_TRIALS_H

#ifdef NCCL_INIT_QUICK
#define TRIALS(n) ((n) / 10)
#else
#define TRIALS(n) (n)
#endif

#endif
