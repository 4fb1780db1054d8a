/* SPDX-License-Identifier: Apache-2.0 */
/* Small things that the files which call libibverbs share. */
#ifndef NCCL_INIT_RAIL_VERBS_H
#define NCCL_INIT_RAIL_VERBS_H

#include <stdint.h>

#define NI_SECOND_NS INT64_C(1000000000)

/* Returns nanoseconds of CLOCK_MONOTONIC. */
int64_t ni_now_ns(void);
/* Returns the errno of a call that should have returned an object; 0 if it did. */
int ni_verbs_error(const void *object);
/* Returns the smaller one. */
int64_t ni_least(int64_t a, int64_t b);

#endif
