/* SPDX-License-Identifier: Apache-2.0 */
/* How often a test with random or long input tries: all times in the build that ships, in the
   shard `long`; a tenth where sanitizers, valgrind or an emulator make each of them slow. */
#ifndef NCCL_INIT_TEST_TRIALS_H
#define NCCL_INIT_TEST_TRIALS_H

#ifdef NCCL_INIT_QUICK
#define TRIALS(n) ((n) / 10)
#else
#define TRIALS(n) (n)
#endif

#endif
