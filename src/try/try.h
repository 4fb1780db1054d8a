/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the helper. */
#ifndef NCCL_INIT_TRY_TRY_H
#define NCCL_INIT_TRY_TRY_H

#include <stdbool.h>

/* Says one line, at once: what follows it may hang or crash. false: nobody listens. */
__attribute__((format(printf, 1, 2))) bool ni_try_say(const char *fmt, ...);

/* Loads libibverbs as NCCL does, and finds, opens and asks each HCA of the list. */
void ni_try_image(int n, char *const hcas[]);

#endif
