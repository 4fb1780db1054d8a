/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of ranks: a value with a bit for each number. */
#ifndef NCCL_INIT_LOG_SET_H
#define NCCL_INIT_LOG_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "nccl_init/text.h"

enum { NI_LOG_RANKS = 1 << 17 }; /* processes and GPUs: jobs of 100,000 ranks */

/* A frame on the stack has room for one set (CMakeLists.txt): a function that is given one and makes
   another is not inlined. */
#define NI_LOG_OWN_FRAME __attribute__((noinline))

/* Numbers of ranks, or their places in ni_log.order. {0} is empty. */
struct ni_log_set {
    unsigned n; /* how many it has */
    int end;    /* above the last one */
    uint64_t bits[NI_LOG_RANKS / 64];
};

/* Adds a number; one that is negative or has no room is not added. */
void ni_log_set_add(struct ni_log_set *set, int number);
bool ni_log_set_has(const struct ni_log_set *set, int number);
/* Turns the set into that of the numbers below `end` that it does not have. Nothing in it is above. */
void ni_log_set_invert(struct ni_log_set *set, int end);
/* Puts the numbers of the set as ranges: "0-7, 12". */
void ni_log_set_put(struct ni_text *t, const struct ni_log_set *set);
/* Puts the numbers below `end` that are not in the set, likewise. Returns how many. */
unsigned ni_log_set_put_rest(struct ni_text *t, const struct ni_log_set *set, int end);
/* Puts one more range into a list; a `last` below `from` puts nothing. */
void ni_log_put_range(struct ni_text *t, int from, int last);

#endif
