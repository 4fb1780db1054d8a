/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table from texts to the entries of a caller's array, which owns the texts. */
#ifndef NCCL_INIT_INDEX_H
#define NCCL_INIT_INDEX_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

#include "nccl_init/text.h"

/* The caller's memory: `room` places, a power of two, at least one more than there are entries. A
   place holds an entry's number, counted from 1; 0 is a free place. */
struct ni_index {
    uint32_t *place;
    size_t room;
    uint64_t seed; /* of ni_seed: a stranger who chooses texts must not know it */
};

/* Returns the text of the entry with this number in the array `entries`. */
typedef struct ni_span ni_entry_text(const void *entries, uint32_t number);

/* Returns random bytes that the kernel gave this process when it began; not 0. Only the room that
   owns a table calls it: functions of core give the same answer each time (tests/lint/purity.sh).
   */
static inline uint64_t ni_seed(void)
{
    const void *random = (const void *)getauxval(AT_RANDOM);
    uint64_t seed = 0;

    if (random)
        memcpy(&seed, random, sizeof(seed));
    return seed | 1;
}

/* Finds the place of the entry that has this text, or the free place for it if there is none. */
uint32_t *ni_index_find(const struct ni_index *index, struct ni_span text, ni_entry_text *text_of,
                        const void *entries);

/* Returns the hash of a text. Each of its bits depends on all bytes of the text and on the seed. */
uint64_t ni_hash(uint64_t seed, struct ni_span text);

#endif
