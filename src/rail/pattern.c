/* SPDX-License-Identifier: Apache-2.0 */
#include "rail/pattern.h"

#include <string.h>

/* 2^64 / golden ratio, and the number by which it is 1 (mod 2^64): a word shows its place */
static const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15), inverse = UINT64_C(0xf1de83e19937733d);

static uint64_t word_at(size_t at, uint64_t key)
{
    const uint64_t word = (at / sizeof(odd) + key + 1) * odd;

    return word ^ word >> 32;
}

/* Returns the place in 8 bytes at which the word stands. */
static uint64_t place_of(uint64_t word, uint64_t key)
{
    return (word ^ word >> 32) * inverse - key - 1;
}

void ni_fill_pattern(uint8_t *out, size_t n, uint64_t key)
{
    for (size_t i = 0; i < n; i += sizeof(odd)) {
        const uint64_t word = word_at(i, key);

        memcpy(out + i, &word, sizeof(word));
    }
}

struct ni_difference ni_compare_pattern(const uint8_t *memory, size_t n, uint64_t key)
{
    struct ni_difference ret = {0};

    for (size_t i = 0; i < n; i += sizeof(odd)) {
        uint64_t word;

        memcpy(&word, memory + i, sizeof(word));
        if (word == word_at(i, key))
            continue;
        if (ret.n == 0) {
            const uint64_t place = place_of(word, key);

            ret.first = i;
            ret.holds = place < n / sizeof(odd) ? (int64_t)(place * sizeof(odd)) : -1;
        }
        ret.n += sizeof(word);
    }
    return ret;
}
