/* SPDX-License-Identifier: Apache-2.0 */
/* The pattern of the data that is moved: each word has its place and its key. */
#ifndef NCCL_INIT_RAIL_PATTERN_H
#define NCCL_INIT_RAIL_PATTERN_H

#include <stddef.h>
#include <stdint.h>

/* Fills n bytes, a multiple of 8. No two words of it, and of patterns of other keys, are likely to be
   the same. */
void ni_fill_pattern(uint8_t *out, size_t n, uint64_t key);

/* Where memory differs from a pattern, by words of 8 bytes. */
struct ni_difference {
    uint64_t n;     /* bytes; 0: nothing differs, and the rest is 0 */
    uint64_t first; /* offset of the first of them */
    int64_t holds;  /* the word there belongs at this offset of the same pattern; -1: to none */
};
struct ni_difference ni_compare_pattern(const uint8_t *memory, size_t n, uint64_t key);

#endif
