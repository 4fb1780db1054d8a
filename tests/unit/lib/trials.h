/* SPDX-License-Identifier: Apache-2.0 */
/* How often a test with random or long input tries: all times in every build, but a tenth in that of
   `./dev quick`, which is for the minute between two changes. */
#ifndef NCCL_INIT_TEST_TRIALS_H
#define NCCL_INIT_TEST_TRIALS_H

#ifdef NCCL_INIT_QUICK
#define TRIALS(n) ((n) / 10)
#else
#define TRIALS(n) (n)
#endif

#endif
